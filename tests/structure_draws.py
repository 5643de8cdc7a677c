"""Tiny workloads whose structure breaks what a bound may take for granted of a job or of a machine.

Profiles with steps of no nodes, jobs that fall to one node, tables in which the fewest nodes have not the
least work, overheads with which they are the fastest, jobs that do not count, windows in which nothing is
open, needs of 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allocsolve.model import (
    Amdahl,
    ClosedWindow,
    Job,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    SpeedupTable,
    Stall,
    WorkloadProblem,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from allocsolve.model import Speedup

LAWS: tuple[Speedup, ...] = (
    *(Amdahl(share) for share in (0, 0.5, 1)),
    *(PowerLaw(exponent) for exponent in (0, 0.5, 1)),
    *(Overhead(share) for share in (0, 0.5, 0.9)),
)
STALLS = (None, None, Stall(1), Stall(0, 1, 0, "larger"), Stall(0, 0.5, 1))


def draw_structure(
    rng: random.Random, kinds: Sequence[str], *, most: int = 3, machine: bool = False
) -> WorkloadProblem:
    """Return up to `most` jobs of these kinds on one to three nodes.

    The kinds are ``rigid``, ``table``, ``law``, ``malleable``, ``requests``, ``phases`` and ``profile``. With
    `machine` there may be counted resources, closed windows and jobs that are eligible later.
    """
    num_nodes, scale = rng.randint(1, 3), rng.choice([1, 1, 5])
    jobs = [_job(rng, rng.choice(kinds), num_nodes, scale) for _ in range(rng.randint(1, most))]
    if not machine:
        return WorkloadProblem(num_nodes, jobs)
    resources = {"gpus": rng.randint(1, 2), "licences": 1} if rng.random() < 0.6 else {}
    closed = [_window(rng, num_nodes, resources) for _ in range(rng.randint(0, 2))]
    asking = [_asking(rng, job, resources) for job in jobs]
    return WorkloadProblem(num_nodes, asking, resources=resources, closed=closed)


def _job(rng: random.Random, kind: str, num_nodes: int, scale: int) -> Job:
    low, nodes, high = sorted(rng.choices(range(1, num_nodes + 1), k=3))
    row: dict[str, Any] = {
        "submit": scale * rng.choice([0, 0, rng.randint(0, 6)]),
        "weight": rng.choice([1, 1, 1, 0, 2, 0.5]),
    }
    if kind == "profile":
        return _profile(rng, row, num_nodes, scale)
    if kind == "phases":
        return _phases(rng, {**row, "min_nodes": low, "nodes": nodes, "max_nodes": high})
    row |= {"nodes": nodes, "runtime": scale * rng.randint(1, 5)}
    if kind == "rigid":
        return Job(**row)
    if kind == "table":
        rows = [(size, float(scale * rng.randint(1, 5))) for size in sorted({low, nodes, high})]
        row["runtime"] = dict(rows)[nodes]
        return Job(**row, speedup=SpeedupTable(rows), kind=rng.choice(["moldable", "malleable"]))
    row |= {"min_nodes": low, "max_nodes": high, "speedup": rng.choice(LAWS)}
    if kind == "malleable":
        points = rng.choice([0, 0, 1, 2, 3])
        return Job(**row, kind="malleable", points=points, reconfiguration=rng.choice(STALLS))
    if kind == "requests":
        shares = sorted({rng.choice([0.25, 0.5, 0.75]) for _ in range(2)}, reverse=True)
        asked = Requests([(share, rng.choice([-2, -1, 1, 2])) for share in shares])
        return Job(**row, evolution=asked, reconfiguration=rng.choice(STALLS))
    return Job(**row)


def _profile(rng: random.Random, row: dict[str, Any], num_nodes: int, scale: int) -> Job:
    steps = [(scale * rng.randint(1, 4), rng.randint(0, num_nodes)) for _ in range(rng.randint(1, 4))]
    profile = Profile(steps, rng.choice([1, 1, 1.5, 2, float("inf"), float("inf")]))
    return Job(
        **row, nodes=max(1, steps[0][1]), runtime=sum(seconds for seconds, _ in steps), evolution=profile
    )


def _phases(rng: random.Random, row: dict[str, Any]) -> Job:
    works = (1, 2, 3, 0.5, 5)
    listed = [(rng.choice(works), rng.choice([None, 1, rng.randint(1, 3)])) for _ in range(rng.randint(1, 3))]
    phases = Phases(listed, release_delay=rng.choice([0, 0, 1]))
    join = Join(*(rng.choice([0, 0, 1, 2]) for _ in range(3)))
    return Job(
        **row, runtime=join.start + phases.run_time(row["nodes"]), evolution=phases, reconfiguration=join
    )


def _window(rng: random.Random, num_nodes: int, resources: Mapping[str, int]) -> ClosedWindow:
    start = rng.randint(0, 8)
    amounts: list[dict[str, int]] = [{}, {"nodes": rng.randint(1, num_nodes)}]
    if resources:
        amounts += [{"gpus": 1}, {"nodes": 1, "licences": 1}]
    return ClosedWindow(start, start + rng.randint(1, 6), rng.choice(amounts))


def _asking(rng: random.Random, job: Job, resources: Mapping[str, int]) -> Job:
    changes: dict[str, Any] = {}
    if resources and job.kind in (None, "rigid") and job.speedup is None and job.evolution is None:
        most = resources["gpus"]
        choices = (None, {"gpus": 0}, {"gpus": 1}, {"gpus": most, "licences": 1}, {"licences": 0, "gpus": 1})
        changes["needs"] = rng.choice(choices)
    if rng.random() < 0.4:
        changes["eligible"] = rng.randint(0, 9)
    if rng.random() < 0.3:
        changes["boost"] = rng.choice([-3, 5])
    return replace(job, **changes)
