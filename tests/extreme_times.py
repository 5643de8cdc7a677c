"""Run evolution solvers on small and huge times under every objective, with little memory: a line per fault.

A process of its own, whose memory is limited: ``python extreme_times.py SEEDS SOLVER...``.
"""

from __future__ import annotations

import json
import math
import random
import resource
import sys
import time
from itertools import permutations

from memory_tools import peak_mb

from allocsolve.errors import AllocsolveError
from allocsolve.judge import confirm
from allocsolve.model import EVOLUTION_OBJECTIVES, Budget, EvolutionProblem, EvolutionProfile
from allocsolve.registry import make_solver, ready

#: Of addresses and of memory: an import of everything and the stacks of threads take a part of both.
ADDRESSES, MEMORY = 6 << 30, 1 << 30
#: Of one run, and how far the wall may be beyond it: a busy machine, never the horizon.
SECONDS, BEYOND = 0.5, 30.0

OBJECTIVES = [terms for count in (1, 2, 3) for terms in permutations(EVOLUTION_OBJECTIVES, count)]


def problem_of(seed: int) -> EvolutionProblem:
    """A problem of two to four applications: times of a few seconds beside those of up to 2^50."""
    rng = random.Random(seed)
    num_nodes = rng.choice([2, 5, 2**9])
    applications = [
        EvolutionProfile(
            [
                (rng.choice([1, 10, 1000, 2**46 - rng.randint(0, 9)]), rng.randint(0, num_nodes))
                for _ in range(rng.randint(1, 4))
            ]
        )
        for _ in range(rng.randint(2, 4))
    ]
    releases = [rng.choice([0, 5, 10**7, 2**50]) for _ in applications]
    limit = rng.choice([1, 1.5, 2, math.inf])
    return EvolutionProblem(num_nodes, tuple(applications), tuple(releases), limit, name=f"seed {seed}")


def late_release() -> EvolutionProblem:
    """Two applications that never meet; whoever searches second by second takes minutes and gigabytes."""
    long = EvolutionProfile([(10, 5), (10, 3), (10, 1), (1, 0)])
    return EvolutionProblem(
        5, (EvolutionProfile([(3, 3)]), long), releases=(2**50, 0), expand_limit=2, name="late release"
    )


def faults(name: str, problem: EvolutionProblem) -> list[str]:
    """What is wrong with the runs of a solver under each order of terms, with one and two workers."""
    found = []
    for objective in OBJECTIVES:
        solver = make_solver(name, problem, objective)
        ready(solver, problem)
        for workers in (1, 2):
            begun = time.perf_counter()
            try:
                confirm(problem, solver(problem, Budget(SECONDS, workers=workers)), objective)
            except (AllocsolveError, MemoryError) as error:
                found.append(f"{name}, {objective}, {problem}: {type(error).__name__}: {error}")
            took = time.perf_counter() - begun
            if took > SECONDS + BEYOND:
                found.append(f"{name}, {objective}, {problem}: {took:.1f} s of {SECONDS}")
    return found


def main(seeds: int, names: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    problems = [late_release(), *map(problem_of, range(seeds))]
    found = [fault for name in names for problem in problems for fault in faults(name, problem)]
    if peak_mb() > MEMORY / 1e6:
        found.append(f"{names}: {peak_mb():.0f} MB at most")
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
