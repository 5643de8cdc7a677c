"""Is it the bound or the schedule that is far from the optimum? Small workloads, whose optima CP-SAT proves.

Of a gap one sees the sum of both sides. Where the optimum is known, each side is seen by itself: bounds and
schedules divided by it, by load, without and with walls, which are jobs as wide as the machine.

    python gap_to_optimum.py                                     # 4 draws a row, some minutes
    python gap_to_optimum.py --loads 0.8 --walls 0 --seeds 2     # a first look
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
from typing import TYPE_CHECKING

import numpy as np

from allocsolve import Budget, Jobs, WorkloadProblem, solve
from allocsolve.bounds.workload import job_prices, time_prices
from allocsolve.judge import certified_bound

if TYPE_CHECKING:
    from allocsolve.model import WorkloadTerm

TERM: WorkloadTerm = "turnaround"
#: Nothing here has a time limit but the proof: bounds and searches do a fixed amount of work.
SCHEDULES = ("reinsertion", "date-branching", "first-fit", "easy", "conservative")
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


def ratios(problem: WorkloadProblem, optimum: float) -> dict[str, float]:
    """Return the bounds and the schedules, divided by the optimum."""
    by_time = time_prices(problem, TERM)
    by_job = job_prices(problem, TERM, by_time, clock=Budget().start())
    found = {
        f"bound: {name}": certified_bound(problem, prices.certificate, (TERM,))
        for name, prices in zip(BOUNDS, (by_time, by_job), strict=False)
    }
    for name in SCHEDULES:
        result = solve(problem, name, TERM)
        assert isinstance(result.objective, float)
        found[name] = result.objective
        if name == "date-branching":
            assert isinstance(result.bound, float)
            found[f"bound: {name}"] = result.bound
    for name, value in found.items():  # a proven optimum lies between them
        assert value <= optimum * (1 + 1e-9) if name.startswith("bound") else value >= optimum * (1 - 1e-9)
    return {name: value / optimum for name, value in found.items()}


def main() -> None:
    """Print a row for each load and share of walls: means, and the worst of the draws."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.5, 0.8, 1.2])
    parser.add_argument("--walls", type=float, nargs="+", default=[0, 0.15], help="shares of the jobs")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60, help="for each proof")
    options = parser.parse_args()
    columns = [*(f"bound: {name}" for name in BOUNDS), *SCHEDULES]
    print("| load, walls | " + " | ".join(columns) + " |")
    print("|" + "---|" * (len(columns) + 1))
    for walls in options.walls:
        for load in options.loads:
            rows = []
            for seed in range(options.seeds):
                problem = draw(options.jobs, options.nodes, load, walls, seed)
                best = solve(problem, "cpsat", TERM, seconds=options.seconds, workers=2)
                if best.status.value == "optimal":
                    assert isinstance(best.objective, float)
                    rows.append(ratios(problem, best.objective))
            cells = [
                f"{np.mean(of):.3f} ({min(of) if name.startswith('bound') else max(of):.3f})"
                for name in columns
                for of in [[row[name] for row in rows] or [np.nan]]
            ]
            open_ones = f", {options.seeds - len(rows)} not proven" if len(rows) < options.seeds else ""
            print(f"| {load:g}, {walls:.0%}{open_ones} | " + " | ".join(cells) + " |", flush=True)
    versions = (f"{name} {importlib.metadata.version(name)}" for name in ("allocsolve", "numba", "ortools"))
    print(f"Python {platform.python_version()}, {', '.join(versions)}")


if __name__ == "__main__":
    main()
