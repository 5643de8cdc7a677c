"""Is it the bound or the schedule that is far from the optimum? Small workloads, whose optima CP-SAT proves.

Of a gap one sees the sum of both sides. Where the optimum is known, each side is seen by itself: bounds and
schedules divided by it, by load, without and with walls, which are jobs as wide as the machine. Or on
machines with other resources beside the nodes, and with windows in which a part of each is closed.

    python gap_to_optimum.py                                     # 4 draws a row, some minutes
    python gap_to_optimum.py --loads 0.8 --walls 0 --seeds 2     # a first look
    python gap_to_optimum.py --resources 1 2 3 --jobs 14         # machines, by resources, windows and load
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import platform
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allocsolve import Budget, Jobs, WorkloadProblem, solve
from allocsolve.bounds.workload import job_prices, machine_job_prices, machine_prices, time_prices
from allocsolve.judge import certified_bound
from allocsolve.model import ClosedWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import WorkloadTerm

TERM: WorkloadTerm = "turnaround"
#: Nothing here has a time limit but the proof: bounds and searches do a fixed amount of work.
SCHEDULES = ("reinsertion", "date-branching", "first-fit", "easy", "conservative")
#: On machines trees of dates are not grown.
MACHINE_SCHEDULES = ("reinsertion", "first-fit", "easy", "conservative")
BOUNDS = ("time prices", "job prices", "date-branching")


def draw(num_jobs: int, num_nodes: int, load: float, walls: float, seed: int) -> WorkloadProblem:
    """Return jobs whose area is `load` times that of the machine until the last submission.

    Sizes are log-uniform up to half of the nodes, run times log-normal (median 5 minutes), estimates up to
    four times as long. The share `walls` of the jobs, rounded, needs all nodes.
    """
    rng = np.random.default_rng([seed, num_jobs, num_nodes])
    nodes = np.exp(rng.uniform(0, np.log(num_nodes // 2 + 1), num_jobs)).astype(np.int64)
    runtime = np.ceil(rng.lognormal(np.log(300), 1, num_jobs))
    limit = np.ceil(runtime * rng.uniform(1, 4, num_jobs))
    gaps = rng.exponential(1, num_jobs)
    nodes[rng.permutation(num_jobs)[: round(walls * num_jobs)]] = num_nodes
    submit = np.cumsum(gaps) - gaps[0]
    span = float(nodes @ runtime) / (load * num_nodes)
    return WorkloadProblem(num_nodes, Jobs(np.round(submit * span / submit[-1]), nodes, runtime, limit))


def draw_machine(
    num_jobs: int, num_nodes: int, load: float, kinds: int, windows: int, seed: int
) -> WorkloadProblem:
    """Return jobs as `draw` does on a machine with so many kinds of resources and so many closed windows.

    There is as much of each as there are nodes, and jobs need an amount of each that is drawn as their nodes.
    A window lasts a tenth of the time until the last submission and closes half of each resource or more.
    """
    plain = draw(num_jobs, num_nodes, load, 0, seed)
    rng = np.random.default_rng([seed, num_jobs, num_nodes, kinds, windows])
    names = [f"resource {kind}" for kind in range(2, kinds + 1)]
    packed = plain.jobs.packed
    most = np.log(num_nodes // 2 + 1)
    amounts = np.exp(rng.uniform(0, most, (num_jobs, kinds - 1))).astype(np.int64).tolist()
    needs = [dict(zip(names, each, strict=True)) for each in amounts]
    jobs = Jobs(packed.submit, packed.nodes, packed.runtime, packed.estimate, needs=needs if names else None)
    tenth = max(1, round(float(packed.submit[-1]) / 10))
    closed = [
        ClosedWindow(
            begin * tenth,
            (begin + 1) * tenth,
            {name: int(rng.integers(num_nodes // 2, num_nodes + 1)) for name in ("nodes", *names)},
        )
        for begin in np.sort(rng.choice(np.arange(1, 10), windows, replace=False)).tolist()
    ]
    return WorkloadProblem(num_nodes, jobs, resources=dict.fromkeys(names, num_nodes), closed=closed)


def ratios(problem: WorkloadProblem, optimum: float, schedules: Sequence[str]) -> dict[str, float]:
    """Return the bounds and the schedules, divided by the optimum."""
    by_time = (time_prices if problem.is_plain else machine_prices)(problem, TERM)
    per_job = job_prices if problem.is_plain else machine_job_prices
    by_job = per_job(problem, TERM, by_time, clock=Budget().start())
    found = {
        f"bound: {name}": certified_bound(problem, prices.certificate, (TERM,))
        for name, prices in zip(BOUNDS, (by_time, by_job), strict=False)
    }
    for name in schedules:
        result = solve(problem, name, TERM)
        assert isinstance(result.objective, float)
        found[name] = result.objective
        if name == "date-branching":
            assert isinstance(result.bound, float)
            found[f"bound: {name}"] = result.bound
    for name, value in found.items():  # a proven optimum lies between them
        assert value <= optimum * (1 + 1e-9) if name.startswith("bound") else value >= optimum * (1 - 1e-9)
    return {name: value / optimum for name, value in found.items()}


def table(
    head: str,
    draws: dict[str, Callable[[int], WorkloadProblem]],
    columns: Sequence[str],
    seeds: int,
    seconds: float,
) -> None:
    """Print a row for each kind of draws: means, and the worst of them."""
    schedules = [name for name in columns if not name.startswith("bound")]
    print(f"| {head} | " + " | ".join(columns) + " |")
    print("|" + "---|" * (len(columns) + 1))
    for row, drawn in draws.items():
        rows = []
        for seed in range(seeds):
            problem = drawn(seed)
            best = solve(problem, "cpsat", TERM, seconds=seconds, workers=2)
            if best.status.value == "optimal":
                assert isinstance(best.objective, float)
                rows.append(ratios(problem, best.objective, schedules))
        cells = [
            f"{np.mean(of):.3f} ({min(of) if name.startswith('bound') else max(of):.3f})"
            for name in columns
            for of in [[row[name] for row in rows] or [np.nan]]
        ]
        open_ones = f", {seeds - len(rows)} not proven" if len(rows) < seeds else ""
        print(f"| {row}{open_ones} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print a row for each load and share of walls, or for each kind of machine."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.5, 0.8, 1.2])
    parser.add_argument("--walls", type=float, nargs="+", default=[0, 0.15], help="shares of the jobs")
    parser.add_argument("--resources", type=int, nargs="+", help="their numbers, on machines without walls")
    parser.add_argument("--windows", type=int, nargs="+", default=[0, 1, 2], help="closed, of these machines")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60, help="for each proof")
    options = parser.parse_args()
    size, bounds = (options.jobs, options.nodes), [f"bound: {name}" for name in BOUNDS]
    draws: dict[str, Callable[[int], WorkloadProblem]]
    if options.resources:
        head, columns = "resources, windows, load", [*bounds[:2], *MACHINE_SCHEDULES]
        kinds = itertools.product(options.resources, options.windows, options.loads)
        draws = {
            f"{number}, {windows}, {load:g}": partial(draw_machine, *size, load, number, windows)
            for number, windows, load in kinds
        }
    else:
        head, columns = "load, walls", [*bounds, *SCHEDULES]
        draws = {
            f"{load:g}, {walls:.0%}": partial(draw, *size, load, walls)
            for walls, load in itertools.product(options.walls, options.loads)
        }
    table(head, draws, columns, options.seeds, options.seconds)
    versions = (f"{name} {importlib.metadata.version(name)}" for name in ("allocsolve", "numba", "ortools"))
    print(f"Python {platform.python_version()}, {', '.join(versions)}")


if __name__ == "__main__":
    main()
