"""What solvers compile or load after they were made ready: a process for each, whatever the cache holds.

``python readiness.py KIND`` writes a JSON object: for each registered solver of the kind, the kernels that
were first needed in a run.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from distinct_solvers import distinct_solvers
from numba.core.dispatcher import Dispatcher

from allocsolve.errors import InvalidOption
from allocsolve.families import AnyFamily, family_named
from allocsolve.instances import elastic_workload, evotree_batch, klein2011, lina_workload, uniform_occupancy
from allocsolve.instances.generators.examples import (
    leaking_reservations,
    random_reservations,
    random_workload,
)
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    Mesh,
    PartitionProblem,
    PlacementProblem,
    ReservationProblem,
    SwitchTree,
    Topology,
    Torus,
    WorkloadProblem,
)
from allocsolve.registry import make_solver, ready

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import Problem, ReservationShape

#: Of these only the start is compiled, the rest is building a model: few problems will do.
BUILT = ("cpsat", "milp")
#: Short: what a solver may need, it needs at the start or not at all; a search goes through all of its parts.
BUDGET = Budget(seconds=0.15, iterations=40)


def evolution() -> list[EvolutionProblem]:
    """Return problems that take other ways through the solvers: limits, releases, many applications."""
    nine = klein2011(3, num_apps=(9, 9))
    rounded = EvolutionProfile([(1, 1), (1, 2), (1, 3)])
    return [
        replace(nine, expand_limit=1),
        nine,
        replace(nine, expand_limit=1.5),
        replace(nine, expand_limit=1.01, releases=tuple(range(0, 9000, 1000))),
        EvolutionProblem(3, (rounded,) * 9, expand_limit=1.5),  # which rounds down to no expansion
        klein2011(1, num_apps=(300, 300), expand_limit=1),
        klein2011(1, num_apps=(1600, 1600)),
    ]


def partition() -> list[PartitionProblem]:
    """Return problems that take other ways through the solvers: lines, meshes, rings, few and many nodes."""
    machines = [Mesh((16, 8)), Mesh((5, 4, 4)), Torus((9, 8)), Topology((12, 6), (True, False)), Mesh((40,))]
    machines += [Torus((15,)), Torus((4, 5, 3)), Torus((2, 16)), Mesh((3, 40)), Mesh((1, 7))]
    return [
        uniform_occupancy(machine, share, min(machine.num_nodes, size), 3, contiguous=contiguous)
        for machine in machines
        for share, size, contiguous in ((0.3, 4, False), (0, 40, True))
    ]


def workload() -> list[WorkloadProblem]:
    """Return problems that take other ways through the solvers: jobs few, many, elastic; quarters."""
    few, many = random_workload(1, 8, 8), random_workload(2, 300)
    quarters = replace(few.jobs[0], name="quarter", runtime=0.75)
    malleable = elastic_workload(random_workload(4, 40, 32), share=0.7, seed=1)
    at_any_time = elastic_workload(few, share=1, seed=1, tick=0)
    rigid = [many, few, WorkloadProblem(8, [*few.jobs, quarters]), random_workload(3, 30, 16)]
    evolving = [evotree_batch(42, share=0.7), lina_workload(random_workload(4, 40, 32), share=0.7, seed=1)]
    return [*rigid, malleable, at_any_time, *evolving]


def reservation() -> list[ReservationProblem]:
    """Return problems that take other ways through the solvers: shapes, rings, one axis, jobs that leak."""
    machines = [Mesh((8, 8)), Mesh((9,)), Torus((4, 3)), Topology((4, 3, 2), (True, False, False))]
    shapes: tuple[ReservationShape, ...] = ("any", "connected", "run")
    fixed = [random_reservations(seed, 40, one, shape=shapes[seed % 3]) for seed, one in enumerate(machines)]
    return [*fixed, *(leaking_reservations(seed, 20, one) for seed, one in enumerate(machines))]


def placement() -> list[PlacementProblem]:
    """Return problems that take other ways through the solvers: racks, pods, roots, segments, balance."""
    trees = [SwitchTree.regular(sizes) for sizes in ((30, 8), (4, 6, 5), (3, 2, 4, 3), (40,))]
    trees.append(SwitchTree(np.array([-1, -1, 0, 0, 1]), np.repeat([2, 3, 4], 9), np.array([0, 0, 2, 4, 2])))
    asked: list[dict[str, Any]] = [{}, {"within": 2}, {"segment": 4}, {"balanced": True}]
    return [
        replace(uniform_occupancy(tree, share, 8, 3), **fields)
        for tree in trees
        for share in (0.1, 0.4)
        for fields in asked
    ]


#: By kind, those from which most is to be done first.
PROBLEMS: dict[str, Callable[[], Sequence[Problem]]] = {
    "evolution": evolution,
    "partition": partition,
    "workload": workload,
    "reservation": reservation,
    "placement": placement,
}


def dispatchers() -> list[Dispatcher]:
    """Return the kernels of this package that were made since the garbage collector was last frozen."""
    return [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, Dispatcher) and thing.py_func.__module__.startswith("allocsolve.")
    ]


def compiled(kernels: Sequence[Dispatcher]) -> set[str]:
    """Return the kernels that have machine code, with the types of their arguments."""
    return {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__}{signature}"
        for kernel in kernels
        for signature in kernel.overloads
    }


def unready(family: AnyFamily, name: str, *, backwards: bool) -> list[str]:
    """Return the kernels that a solver needs in runs although it was ready."""
    late: set[str] = set()
    problems = PROBLEMS[family.kind]()
    problems = [*reversed(problems)] if backwards else [*problems, *family.examples()]
    if name in BUILT:
        problems = problems[::4]
    old = dispatchers()
    gc.freeze()  # what there is already need not be looked through again
    for idx, problem in enumerate(problems):
        try:
            solver = make_solver(name, problem, family.term_names[idx % len(family.term_names)])
        except InvalidOption:  # it is made for other objectives
            continue
        ready(solver, problem)
        before = compiled(old + dispatchers())
        with contextlib.suppress(Exception):
            solver(problem, replace(BUDGET, workers=1 + 2 * (idx % 2)))
        late |= compiled(old + dispatchers()) - before
    return sorted(late)


def main(kind: str) -> None:
    """Look at all solvers of a kind, each in processes of its own: a problem may hide what the next needs."""
    family = family_named(kind)
    late: dict[str, list[str]] = {}
    for name, backwards in product(distinct_solvers(family), (False, True)):
        if backwards and name in BUILT:
            continue
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            with os.fdopen(writing, "w") as pipe:
                json.dump(unready(family, name, backwards=backwards), pipe)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            late[name] = late.get(name, []) + json.load(pipe)
        os.waitpid(child, 0)
    sys.stdout.write(json.dumps(late))


if __name__ == "__main__":
    main(sys.argv[1])
