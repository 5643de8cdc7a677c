"""The engine step by step: the loop is yours, and so is what happens between two views.

Here a person looks at the queue once an hour and puts a job first that has waited for too long; otherwise
EASY backfilling decides. What comes out is judged beside EASY alone.

    python engine_steps.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics import Easy
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.model import Jobs, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import Engine, Start, Wake, simulate

if TYPE_CHECKING:
    from allocsolve.simulation import Decision, QueueView

HOUR = 3600.0


class Watched:
    """EASY backfilling, but no other job starts while one waits that a person has put first."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.policy = Easy(order="shortest-estimate")
        self.looks_at = 0.0
        self.first: int | None = None

    def decide(self, view: QueueView) -> list[Decision]:
        """Return what starts now, and when to look at the queue again."""
        wake: list[Decision] = []
        if view.now >= self.looks_at:
            self.look(view)
            self.looks_at = (view.now // HOUR + 1) * HOUR
            wake = [Wake(self.looks_at)] if len(view.queue) or len(view.running) else []
        if self.first is None:
            return [*wake, *self.policy.decide(view)]
        nodes = int(view.jobs.nodes[self.first])
        if nodes > view.free:
            return [*wake]
        start, self.first = Start(self.first, nodes), None
        return [*wake, start]

    def look(self, view: QueueView) -> None:
        """Put the job first that has waited longest, if that is too long."""
        waits = view.now - view.jobs.submit[view.queue]
        if self.first is None and len(waits) and waits.max() > self.patience:
            self.first = int(view.queue[waits.argmax()])


def drawn_jobs(count: int = 1000, seed: int = 1) -> WorkloadProblem:
    """Draw a workload of high load on 64 nodes."""
    rng = np.random.default_rng(seed)
    nodes, runs = 2 ** rng.integers(0, 6, count), np.ceil(rng.lognormal(7, 1, count))
    submits = np.floor(np.cumsum(rng.exponential((nodes * runs).mean() / (0.85 * 64), count)))
    return WorkloadProblem(64, Jobs(submits, nodes, runs, np.ceil(runs * rng.uniform(1, 5, count))))


def watched_schedule(problem: WorkloadProblem, patience: float, *, shown: int = 0) -> WorkloadSchedule:
    """Run the loop; print the first decisions."""
    engine, watched, calls = Engine(problem), Watched(patience), 0
    while (view := engine.advance()) is not None:
        decisions = watched.decide(view)
        engine.apply(decisions)  # raises IllegalDecision, and then changes nothing
        calls += 1
        if calls <= shown:
            starts = [decision.job for decision in decisions if isinstance(decision, Start)]
            print(f"{view.now:6.0f} s  {len(view.queue)} wait, {view.free} nodes are free: start {starts}")
    return engine.result()


def main() -> None:
    """Print what patience costs, and whom it serves."""
    problem = drawn_jobs()
    watched_schedule(problem, HOUR, shown=6)
    print("\npatience   mean turnaround  longest wait")
    for hours in (4, 12, 24):
        _tell(problem, f"{hours} h", watched_schedule(problem, hours * HOUR))
    _tell(problem, "no end", simulate(problem, Easy(order="shortest-estimate")))


def _tell(problem: WorkloadProblem, name: str, schedule: WorkloadSchedule) -> None:
    assert not workload_violations(problem, schedule)
    metrics = workload_metrics(problem, schedule)
    print(f"{name:8}  {metrics.turnaround:14.0f} s  {metrics.max_wait / HOUR:9.1f} h")


if __name__ == "__main__":
    main()
