"""A cluster in SimPy that asks `allocsolve.heuristics` who starts now, by functions on arrays.

Each job is a process of SimPy. A process of the cluster decides after all that happens at an instant, and, as
Slurm's rule wants it, at each multiple of 30 s at which jobs wait. The starts are compared with those in the
engine of allocsolve.

    python embed_simpy.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import simpy

from allocsolve.heuristics import Easy, SlurmBackfill, easy_starts, slurm_backfill_starts
from allocsolve.model import Jobs, WorkloadProblem
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from allocsolve.model import IntArray

NUM_NODES, INTERVAL = 64, 30


class Job(NamedTuple):
    """What arrives; times in seconds."""

    number: int
    submit: int
    nodes: int
    runtime: int
    limit: int


# the cluster
class Cluster:
    """The queue and the running jobs; `rule` is one of the functions that say who starts now."""

    def __init__(self, env: simpy.Environment, rule: Callable[..., IntArray]) -> None:
        self.env, self.rule, self.free = env, rule, NUM_NODES
        self.queue: list[tuple[Job, simpy.Event]] = []
        self.running: dict[Job, float] = {}  # and when each is expected to end
        self.changed = env.event()
        env.process(self.decide())

    def job(self, job: Job, starts: dict[int, float]) -> Generator[simpy.Event, None, None]:
        """Be a job: arrive, wait, run, leave."""
        yield self.env.timeout(job.submit)
        start = self.env.event()
        self.queue.append((job, start))
        self.tell()
        yield start
        starts[job.number] = self.env.now
        yield self.env.timeout(job.runtime)
        self.free += job.nodes
        del self.running[job]
        self.tell()

    def tell(self) -> None:
        """Have the cluster decide after all that happens now."""
        if not self.changed.triggered:
            self.changed.succeed()

    def decide(self) -> Generator[simpy.Event, None, None]:
        """Start jobs when something has changed and, while jobs wait, at multiples of the interval."""
        while True:
            wake = self.env.timeout(INTERVAL - self.env.now % INTERVAL) if self.queue else self.env.event()
            yield self.changed | wake
            yield self.env.timeout(0)  # everything else of this instant has been scheduled before
            self.changed = self.env.event()
            chosen = self.rule(
                self.env.now,
                self.free,
                [job.nodes for job, _ in self.queue],
                [job.limit for job, _ in self.queue],
                [job.nodes for job in self.running],
                [*self.running.values()],
            )
            for job, event in [self.queue[place] for place in chosen]:
                self.queue.remove((job, event))
                self.free -= job.nodes
                self.running[job] = self.env.now + job.limit
                event.succeed()


# end of the cluster
def drawn_jobs(count: int, seed: int) -> list[Job]:
    """Draw jobs that ask for up to five times their run time."""
    rng = np.random.default_rng(seed)
    submits, runs = np.cumsum(rng.integers(0, 400, count)), rng.integers(10, 2000, count)
    limits = np.ceil(runs * rng.uniform(1, 5, count)).astype(int)
    rows = zip(
        submits.tolist(),
        (2 ** rng.integers(0, 6, count)).tolist(),
        runs.tolist(),
        limits.tolist(),
        strict=True,
    )
    return [Job(number, *row) for number, row in enumerate(rows)]


def main() -> None:
    """Run the jobs in SimPy and in the engine."""
    jobs = drawn_jobs(500, seed=1)
    problem = WorkloadProblem(NUM_NODES, Jobs(*np.array(jobs).T[1:]))
    for rule, policy in ((easy_starts, Easy()), (slurm_backfill_starts, SlurmBackfill())):
        env = simpy.Environment()
        starts: dict[int, float] = {}
        cluster = Cluster(env, rule)
        for job in jobs:
            env.process(cluster.job(job, starts))
        env.run()
        engine = simulate(problem, policy).first_starts.tolist()
        same = sum(starts[job.number] == engine[job.number] for job in jobs)
        wait = np.mean([starts[job.number] - job.submit for job in jobs])
        print(f"{rule.__name__}: mean wait {wait:.1f} s, {same} of {len(jobs)} start as in the engine")


if __name__ == "__main__":
    main()
