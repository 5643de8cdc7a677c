"""Small reservation problems at the edges of what the model allows, on which solvers go wrong first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import PROGRAM_KINDS, DeadlineJob, Mesh, ReservationProblem, Torus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import ReservationShape, Topology

__all__ = ["leaking_reservations", "random_reservations", "reservation_examples"]


def random_reservations(
    seed: int, num_jobs: int, topology: Topology, *, load: float = 1.5, shape: ReservationShape = "any"
) -> ReservationProblem:
    """Draw jobs whose area is that of the machine over their arrivals, times a load.

    Sizes are powers of two or any, run times exponential with a mean of ten minutes, the slack of a deadline
    up to four run times.
    """
    random = np.random.default_rng((seed, 20_240))
    most = topology.num_nodes
    wide = random.integers(1, most + 1, num_jobs)
    nodes = np.where(random.random(num_jobs) < 0.5, 2 ** np.log2(wide).astype(np.int64), wide)
    runtime = np.maximum(1, np.rint(random.exponential(600, num_jobs)).astype(np.int64))
    span = float((nodes * runtime).sum()) / (load * most)
    arrival = np.sort(np.rint(random.random(num_jobs) * span).astype(np.int64))
    slack = np.rint(random.random(num_jobs) * 4 * runtime).astype(np.int64)
    rows = zip(arrival.tolist(), nodes.tolist(), runtime.tolist(), slack.tolist(), strict=True)
    jobs = tuple(
        DeadlineJob(start, size, seconds, start + seconds + spare) for start, size, seconds, spare in rows
    )
    return ReservationProblem(topology, jobs, shape, meta={"seed": seed, "load": load})


def leaking_reservations(
    seed: int, num_jobs: int, topology: Topology, *, load: float = 1.5, shape: ReservationShape = "any"
) -> ReservationProblem:
    """Draw jobs as `random_reservations` does, with programs of the kinds 0 to 3 in turn, that may leak."""
    drawn = random_reservations(seed, num_jobs, topology, load=load, shape=shape)
    jobs = tuple(replace(job, program=idx % PROGRAM_KINDS) for idx, job in enumerate(drawn.jobs))
    return replace(drawn, jobs=jobs, leaking=True)


def reservation_examples() -> Iterator[ReservationProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds.

    Where jobs may leak, all can be accepted: otherwise nothing would be proven.
    """
    mesh = Mesh((3, 2))
    yield ReservationProblem(mesh, (), name="no jobs")
    yield ReservationProblem(Mesh((1,)), (DeadlineJob(0, 1, 1, 1),), name="one job on one node")
    late = (DeadlineJob(5, 2, 10, 14), DeadlineJob(5, 2, 10, 15))
    yield ReservationProblem(mesh, late, name="a job that cannot end in time")
    yield ReservationProblem(mesh, late[:1], name="no job can end in time")
    nobody = tuple(DeadlineJob(0, 6, 10, 10, weight=0) for _ in range(2))
    yield ReservationProblem(mesh, nobody, name="no job counts")
    heavy = (DeadlineJob(0, 4, 10, 10), DeadlineJob(0, 4, 10, 10, weight=2.5), DeadlineJob(0, 2, 9, 10))
    yield ReservationProblem(mesh, heavy, name="the second job counts more")
    same = tuple(DeadlineJob(0, 6, 10, 10 * idx + 10) for idx in range(3))
    yield ReservationProblem(mesh, same, name="the full machine, one after another")
    small = (DeadlineJob(0, 1, 100, 100), DeadlineJob(0, 5, 10, 100), DeadlineJob(20, 6, 20, 60))
    yield ReservationProblem(mesh, small, name="one small job against two large ones")
    yield ReservationProblem(
        mesh, (DeadlineJob(2**52, 2, 3, 2**52 + 3), DeadlineJob(2**52, 6, 1, 2**52 + 4)), name="late times"
    )
    alone = DeadlineJob(0, 3, 10, 15, 1)
    yield ReservationProblem(mesh, (alone,), leaking=True, name="one job that may leak")
    yield ReservationProblem(
        mesh, (alone, late[1]), leaking=True, name="a job without a program that may leak"
    )
    for topology in (mesh, Torus((3, 2)), Mesh((5,))):
        sides, rings = "x".join(map(str, topology.shape)), " rings" if any(topology.wrap) else ""
        shape: ReservationShape = "connected" if len(topology.shape) == 1 else "any"
        drawn = leaking_reservations(1, 6, topology, load=0.3, shape=shape)
        yield replace(drawn, name=f"random on {sides}{rings}, leaking")
    for seed, topology in ((2, mesh), (3, Torus((3, 2))), (11, Mesh((5,)))):
        sides, rings = "x".join(map(str, topology.shape)), " rings" if any(topology.wrap) else ""
        for shape in ("any", "connected", "run"):
            drawn = random_reservations(seed, 6, topology, load=8, shape=shape)
            yield replace(drawn, name=f"random on {sides}{rings}, shape {shape}")
