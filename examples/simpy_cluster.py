"""SimPy owns the clock, `allocsolve.heuristics.ResourceProfile` the plan: conservative backfilling.

Each job is a process of SimPy that submits itself, waits for its start, runs and gives its nodes back. A
process of the cluster keeps a reservation for each job that waits. The starts are compared with those of the
policy ``conservative`` in the engine of allocsolve, and judged.

    python simpy_cluster.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import simpy

from allocsolve import EvolutionProfile
from allocsolve.heuristics import Conservative, ResourceProfile
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.model import Job, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Generator

NUM_NODES = 64


class Cluster:
    """Reservations of jobs that wait or run; the event at which a job starts is its permission to run."""

    def __init__(self, env: simpy.Environment, jobs: list[Job]) -> None:
        self.env, self.jobs = env, jobs
        self.profile = ResourceProfile(NUM_NODES)
        self.start = [env.event() for _ in jobs]
        self.planned: dict[int, tuple[int, int]] = {}  # jobs that wait: start and reservation
        self.held: dict[int, tuple[int, int]] = {}  # jobs that run
        self.arrived: list[int] = []
        self.early = False
        self.changed = env.event()
        env.process(self.plan())

    def submit(self, job: int) -> simpy.Event:
        """Queue a job; return the event of its start."""
        self.arrived.append(job)
        self._tell()
        return self.start[job]

    def end(self, job: int) -> None:
        """Take the nodes of a job back."""
        start, reservation = self.held.pop(job)
        if self.env.now < start + _asked(self.jobs[job]):
            self.profile.release(reservation)
            self.early = True
        self._tell()

    def plan(self) -> Generator[simpy.Event, None, None]:
        """Plan after all that happens at an instant: who waits moves up if a job has ended early."""
        while True:
            yield self.changed
            yield self.env.timeout(0)  # everything else of this instant has been scheduled before
            self.changed = self.env.event()
            self.profile.forget(int(self.env.now))
            for job in [*(self.planned if self.early else ()), *self.arrived]:
                self._reserve(job)
            self.arrived, self.early = [], False
            for job in [job for job, (start, _) in self.planned.items() if start == self.env.now]:
                self.held[job] = self.planned.pop(job)
                self.start[job].succeed()

    def _reserve(self, job: int) -> None:
        nodes, asked = self.jobs[job].nodes, _asked(self.jobs[job])
        if job in self.planned:
            self.profile.release(self.planned[job][1])
        start = self.profile.earliest_window(nodes, asked, earliest_start=int(self.env.now))
        self.planned[job] = start, self.profile.reserve(start, EvolutionProfile([(asked, nodes)]))

    def _tell(self) -> None:
        if not self.changed.triggered:
            self.changed.succeed()


def _asked(job: Job) -> int:
    assert job.limit is not None
    return int(job.limit)


def run(
    env: simpy.Environment, cluster: Cluster, job: int, starts: list[float]
) -> Generator[simpy.Event, None, None]:
    """Be a job."""
    yield env.timeout(cluster.jobs[job].submit)
    yield cluster.submit(job)
    starts[job] = env.now
    yield env.timeout(cluster.jobs[job].runtime)
    cluster.end(job)


def drawn_jobs(count: int, seed: int) -> list[Job]:
    """Draw jobs that ask for up to five times their run time."""
    rng = np.random.default_rng(seed)
    submits = np.cumsum(rng.integers(0, 400, count)).tolist()
    sizes, runs = 2 ** rng.integers(0, 6, count), rng.integers(10, 2000, count)
    limits = np.ceil(runs * rng.uniform(1, 5, count)).astype(int)
    rows = zip(submits, sizes.tolist(), runs.tolist(), limits.tolist(), strict=True)
    return [Job(*row) for row in rows]


def main() -> None:
    """Run the jobs in SimPy and in the engine."""
    jobs = drawn_jobs(500, seed=1)
    env, starts = simpy.Environment(), [0.0] * len(jobs)
    cluster = Cluster(env, jobs)
    for job in range(len(jobs)):
        env.process(run(env, cluster, job, starts))
    env.run()
    problem = WorkloadProblem(NUM_NODES, jobs)
    schedule = WorkloadSchedule.of(problem, starts)
    assert not workload_violations(problem, schedule)
    print(f"{len(jobs)} jobs, mean wait {workload_metrics(problem, schedule).wait:.1f} s")
    engine = simulate(problem, Conservative()).first_starts
    print(f"{(engine == np.array(starts)).sum()} start when they do in the engine under 'conservative'")


if __name__ == "__main__":
    main()
