"""What is knowing the future worth? Evolving jobs come over time; policies know all, the next or no steps.

The applications of Klein & Perez are submitted at random times, as jobs whose demand for nodes changes in
steps. What online policies make of them is held against the best schedule of the evolution family, which
knows all jobs from the start, and a certified lower bound.

    python knowing.py --suite klein-8-inf --seeds 3 --seconds 10    # optima, where they are proven
    python knowing.py --jobs 100 --seeds 10 --seconds 10            # streams: annealing for optima
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve import Budget, EvolutionProblem
from allocsolve.bench import suite
from allocsolve.bounds.workload import time_prices
from allocsolve.exact import EvolutionCpSat
from allocsolve.heuristics import Annealing, EvolvEasyback, ProfileFit
from allocsolve.instances import (
    evolution_schedule_of_workload,
    klein2011,
    workload_of_evolution,
    workload_schedule_of_evolution,
)
from allocsolve.judge import certified_bound, evolution_violations, workload_metrics, workload_violations

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

#: What a policy does with what it does not know, and what it knows of the steps of a job.
POLICIES: dict[str, ProfileFit | EvolvEasyback] = {
    "reserved, no step": ProfileFit("none"),
    "reserved, next step": ProfileFit("next"),
    "safe, no step": EvolvEasyback(cooldown=0),
    "safe, next step": EvolvEasyback(cooldown=0, knowledge="next"),
    "safe, all steps": EvolvEasyback(cooldown=0, knowledge="all"),
    "planned, all steps": ProfileFit("all"),
    "planned late, all steps": ProfileFit("all", compacting=True),
}

#: So many applications are solved to the optimum.
FEW = 12


def released(problem: EvolutionProblem, load: float, seed: int) -> EvolutionProblem:
    """Return the problem with its applications released by a Poisson process of such a load."""
    rng = np.random.default_rng([seed, len(problem.applications)])
    area = sum(seconds * nodes for app in problem.applications for seconds, nodes in app.steps)
    gap = area / (len(problem.applications) * load * problem.num_nodes)
    coming = np.floor(np.cumsum(rng.exponential(gap, len(problem.applications)))).astype(int)
    return replace(problem, releases=tuple((coming - coming[0]).tolist()))


def offline(
    problem: EvolutionProblem, workload: WorkloadProblem, seconds: float
) -> tuple[WorkloadSchedule, float]:
    """Return the best schedule if all is known from the start, and a lower bound on the mean turnaround."""
    bound = certified_bound(workload, time_prices(workload).certificate, ("turnaround",))
    budget = Budget(seconds=seconds, workers=2)
    if len(problem.applications) > FEW:
        best = Annealing(("completion",))(problem, budget)
    else:
        best = EvolutionCpSat(("completion",))(problem, budget)
        bound = max(bound, float(np.mean(best.bound) - np.mean(problem.releases)))
    assert best.answer is not None
    return workload_schedule_of_evolution(best.answer), bound


def turnaround_and_makespan(problem: WorkloadProblem, schedule: WorkloadSchedule) -> tuple[float, float]:
    """Return both, after the judges of both families have seen the schedule."""
    assert not workload_violations(problem, schedule)
    metrics = workload_metrics(problem, schedule)
    return metrics.turnaround, metrics.makespan


def table(problems: list[EvolutionProblem], seconds: float) -> None:
    """Print what each policy makes of the problems."""
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in [*POLICIES, "offline", "bound"]}
    proven = 0
    for problem in problems:
        workload = workload_of_evolution(problem)
        for name, policy in POLICIES.items():
            schedule = policy(workload, Budget()).answer
            assert schedule is not None
            rows[name].append(turnaround_and_makespan(workload, schedule))
            if isinstance(policy, ProfileFit):
                assert not evolution_violations(problem, evolution_schedule_of_workload(schedule))
        schedule, bound = offline(problem, workload, seconds)
        rows["offline"].append(turnaround_and_makespan(workload, schedule))
        rows["bound"].append((bound, np.nan))
        proven += bound > rows["offline"][-1][0] * (1 - 1e-6)
    best = np.mean(rows["offline"], axis=0)
    for name, values in rows.items():
        turnaround, makespan = np.mean(values, axis=0)
        more = f"{turnaround / best[0] - 1:+8.1%}"
        print(f"{name:24} {turnaround:9.0f} s {more}" + (f" {makespan:9.0f} s" if makespan > 0 else ""))
    print(f"{proven} of {len(problems)} offline schedules are proven to be optimal")


def main() -> None:
    """Print a table for each load."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="klein-8-inf")
    parser.add_argument("--jobs", type=int, help="draw streams of so many jobs instead")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.5, 0.8])
    parser.add_argument("--seconds", type=float, default=10, help="for each offline schedule")
    options = parser.parse_args()
    for load in options.loads:
        problems = []
        for seed in range(options.seeds):
            jobs = options.jobs
            drawn = [klein2011(seed, num_apps=(jobs, jobs))] if jobs else suite(options.suite)
            problems += [released(one, load, seed) for one in drawn if isinstance(one, EvolutionProblem)]
        print(f"load {load:g}: mean turnaround, above offline, makespan of {len(problems)} problems")
        table(problems, options.seconds)


if __name__ == "__main__":
    main()
