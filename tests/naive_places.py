"""Nodes as places, slowly, from the definitions: who fits, where first fit puts them, what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.model import WorkloadSchedule

if TYPE_CHECKING:
    from allocsolve.model import Job, WorkloadProblem

#: The nodes of a job, each with how many of its chunks it has.
Placement = dict[int, int]


def nodes_of(problem: WorkloadProblem) -> list[tuple[str, dict[str, int]]]:
    """Return the type and the amounts of each node."""
    return [(each.name, dict(each.has)) for each in problem.node_types for _ in range(each.count)]


def shape_of(job: Job) -> tuple[int, dict[str, int], int, int, bool]:
    """Return chunks, what each takes, the most on a node, the fewest nodes, and whether it is exclusive."""
    if job.chunks is None:
        return job.nodes, {}, 1, job.nodes, True
    return job.chunks, dict(job.each or {}), job.per_node or job.chunks, job.nodes, job.exclusive


def room(problem: WorkloadProblem, job: Job, here: list[tuple[Job, Placement]]) -> list[int]:
    """Return how many chunks of a job fit on each node beside jobs that are there."""
    _, each, most, _, _ = shape_of(job)
    rooms = []
    for node, (kind, has) in enumerate(nodes_of(problem)):
        others = [(other, placed[node]) for other, placed in here if node in placed]
        alone = any(shape_of(other)[4] for other in (job, *(other for other, _ in others)))
        if (job.types is not None and kind not in job.types) or (alone and others):
            rooms.append(0)
        else:
            left = dict(has)
            for other, chunks in others:
                for name, amount in shape_of(other)[1].items():
                    left[name] -= chunks * amount
            rooms.append(min([most, *(left.get(name, 0) // amount for name, amount in each.items())]))
    return rooms


def first_fit(problem: WorkloadProblem, job: Job, here: list[tuple[Job, Placement]]) -> Placement | None:
    """Return where a job lies on the first nodes of the least weight; None if it does not fit."""
    chunks, _, _, fewest, _ = shape_of(job)
    weights = [each.weight for each in problem.node_types for _ in range(each.count)]
    rooms = room(problem, job, here)
    if sum(rooms) < chunks or sum(each > 0 for each in rooms) < fewest:
        return None
    placed: Placement = {}
    for node in sorted(range(len(rooms)), key=lambda node: (weights[node], node)):
        if rooms[node] and chunks:
            placed[node] = min(rooms[node], chunks - max(0, fewest - len(placed) - 1))
            chunks -= placed[node]
    assert chunks == 0
    return placed


def serial(problem: WorkloadProblem) -> tuple[list[float], list[Placement]]:
    """Start the jobs in their order, none before the one before it, as early as each fits, by first fit."""
    starts: list[float] = []
    placements: list[Placement] = []
    now = 0.0
    for job in problem.jobs:
        now = max(now, job.submit)
        while True:
            before = [*zip(problem.jobs, starts, placements, strict=False)]
            here = [(other, placed) for other, at, placed in before if at <= now < at + other.runtime]
            found = first_fit(problem, job, here)
            if found is not None:
                break
            now = min(at + other.runtime for other, at, _ in before if at + other.runtime > now)
        starts.append(now)
        placements.append(found)
    return starts, placements


def schedule_of(
    problem: WorkloadProblem, starts: list[float], placements: list[Placement]
) -> WorkloadSchedule:
    """Return the schedule of these starts and placements."""
    pairs = [pair for placed in placements for pair in placed.items()]
    offsets = [sum(map(len, placements[:idx])) for idx in range(len(placements) + 1)]
    nodes, chunks = ([pair[at] for pair in pairs] for at in (0, 1))
    return WorkloadSchedule.on_places(problem, starts, offsets, nodes, chunks)


def is_closed(problem: WorkloadProblem, node: int, begin: float, end: float) -> bool:
    """Tell whether a node is closed at an instant, or from then until another one."""
    return any(
        window.start <= begin < window.end or begin <= window.start < end
        for window in problem.closed
        if not window.node_ids or node in window.node_ids
    )


def is_feasible(problem: WorkloadProblem, starts: list[float], placements: list[Placement]) -> bool:
    """Tell whether placements keep all rules: each node at each start of a job, counted anew."""
    machine = nodes_of(problem)
    jobs = list(problem.jobs)
    for job, at, placed in zip(jobs, starts, placements, strict=True):
        chunks, _, most, fewest, _ = shape_of(job)
        if at < job.submit or sum(placed.values()) != chunks or len(placed) < fewest:
            return False
        for node, here in placed.items():
            if not (0 <= node < len(machine) and 1 <= here <= most):
                return False
            if job.types is not None and machine[node][0] not in job.types:
                return False
            if is_closed(problem, node, at, at + job.runtime):
                return False
    for now in starts:
        there = [
            (job, placed)
            for job, at, placed in zip(jobs, starts, placements, strict=True)
            if at <= now < at + job.runtime
        ]
        for node, (_, has) in enumerate(machine):
            mine = [(job, placed[node]) for job, placed in there if node in placed]
            if len(mine) > 1 and any(shape_of(job)[4] for job, _ in mine):
                return False
            for name in {name for job, _ in mine for name in shape_of(job)[1]}:
                if sum(shape_of(job)[1].get(name, 0) * count for job, count in mine) > has.get(name, 0):
                    return False
    return True
