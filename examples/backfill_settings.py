"""Should I change my backfill settings? Slurm's knobs, turned one at a time, on the logs of machines.

Each row of a table replays all jobs of a log under sched/backfill with one setting changed. The interval of
a change is over the weeks of the log: weeks are drawn with replacement, and a change is clear if its interval
has no 0 in it. No setting goes below the certified bound.

    python backfill_settings.py KTH-SP2-1996-2.1-cln.swf.gz KIT-FH2-2016-1.swf.gz --seconds 60
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from allocsolve import Budget
from allocsolve.instances import log_problem, read_swf_log
from allocsolve.judge import certified_bound, workload_violations
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem

#: Values of each knob beside its default: of 30 s, 500 jobs, 1,440 min and 60 s.
KNOBS = {
    "bf_max_job_test": (10, 50, 100, 2000),
    "bf_interval": (1, 60, 300, 900),
    "bf_window": (60, 360, 4320, 10080),
    "bf_resolution": (1, 300, 1800),
}
WEEK_S = 7 * 86_400


def settings() -> dict[str, str]:
    """Return the policies by what their rows are called, the default first."""
    slurm = "slurm-backfill"
    knobs = [f"{knob}={value}" for knob, values in KNOBS.items() for value in values]
    return {
        "Slurm's defaults": slurm,
        **{knob: f"{slurm}({knob})" for knob in knobs},
        "shortest limit first": f"{slurm}(order=shortest-estimate)",
        "EASY": "easy",
        "conservative": "conservative",
    }


def waits(problem: WorkloadProblem, policy: str) -> FloatArray:
    """Return how long each job waits, in seconds; the judge has seen the schedule."""
    schedule = make_solver(policy, problem)(problem, Budget()).answer
    assert schedule is not None
    assert not workload_violations(problem, schedule)
    mine: FloatArray = schedule.first_starts - problem.jobs.packed.submit
    return mine


def change_interval(before: FloatArray, after: FloatArray, weeks: IntArray, draws: int = 2000) -> FloatArray:
    """Return the change of the mean in per cent, and the ends of its 95 % bootstrap interval over weeks."""
    sums = np.array([np.bincount(weeks, column) for column in (before, after)])
    random = np.random.default_rng(1)
    drawn = random.integers(0, sums.shape[1], size=(draws, sums.shape[1]))
    old, new = sums[:, drawn].sum(axis=2)
    low, high = np.quantile(100 * (new / old - 1), [0.025, 0.975])
    return np.array([100 * (after.mean() / before.mean() - 1), low, high])


def bound_and_best(problem: WorkloadProblem, seconds: float) -> tuple[float, float]:
    """Return what no mean wait is below, and the best that is known with hindsight, in seconds."""
    result = make_solver("prices", problem, "wait")(problem, Budget(seconds=seconds))
    assert result.answer is not None
    assert result.certificate is not None
    assert not workload_violations(problem, result.answer)
    best = result.answer.first_starts - problem.jobs.packed.submit
    return float(np.max(certified_bound(problem, result.certificate, ("wait",)))), float(best.mean())


def report(log: Path, seconds: float) -> None:
    """Print the table of a log."""
    problem = log_problem(read_swf_log(log))
    jobs = problem.jobs.packed
    weeks = (jobs.submit // WEEK_S).astype(np.int64)
    wide = jobs.nodes >= np.quantile(jobs.nodes, 0.95)
    print(f"{log.name}: {len(problem.jobs):,} jobs on {problem.num_nodes:,}, {weeks.max() + 1} weeks")
    bound, best = bound_and_best(problem, seconds)
    print(f"certified bound {bound / 60:.1f} min, best known with hindsight {best / 60:.1f} min\n")
    print("| setting | mean wait | 95 % | widest 5 % | longest | change of the mean | clear |")
    print("|---|---|---|---|---|---|---|")
    before: FloatArray | None = None
    for name, policy in settings().items():
        mine = waits(problem, policy)
        times = f"{mine.mean() / 60:.1f} min | {np.quantile(mine, 0.95) / 60:,.0f} min"
        times += f" | {mine[wide].mean() / 60:,.0f} min | {mine.max() / 3600:.0f} h"
        if before is None:
            before = mine
            print(f"| {name} | {times} | | |")
            continue
        change, low, high = change_interval(before, mine, weeks)
        clear = "yes" if low * high > 0 else "no"
        print(f"| {name} | {times} | {change:+.1f} % ({low:+.1f} to {high:+.1f}) | {clear} |")
    print()


def main() -> None:
    """Print a table for each log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path, nargs="+", metavar="LOG.swf.gz")
    parser.add_argument("--seconds", type=float, default=60, help="for each bound")
    options = parser.parse_args()
    for log in options.logs:
        report(log, options.seconds)


if __name__ == "__main__":
    main()
