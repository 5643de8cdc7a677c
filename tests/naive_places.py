"""Nodes as places, slowly, from the definitions: who fits, where first fit puts them, what is wrong."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, Self

import numpy as np

from allocsolve.model import WorkloadSchedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import Job, WorkloadProblem


class Spot(int):
    """A number of chunks on a node, and how many are on each of its devices; or how much is left there."""

    devices: tuple[int, ...]

    def __new__(cls, chunks: int, devices: tuple[int, ...] = ()) -> Self:
        """Return so many chunks."""
        spot = super().__new__(cls, chunks)
        spot.devices = devices
        return spot

    def __eq__(self, other: object) -> bool:
        mine, theirs = ([*filter(itemgetter(1), enumerate(devices_of(spot)))] for spot in (self, other))
        return isinstance(other, int) and int(self) == int(other) and mine == theirs

    def __hash__(self) -> int:
        return super().__hash__()


def devices_of(spot: object) -> tuple[int, ...]:
    """Return on which devices chunks are; none if that is not said."""
    return getattr(spot, "devices", ())


#: The nodes of a job, each with how many of its chunks it has.
Placement = dict[int, int]


def divided(problem: WorkloadProblem) -> tuple[str, int]:
    """Return what is on devices, and how much one has."""
    kinds = [kind for kind in problem.node_types if kind.devices]
    if not kinds:
        return "", 0
    ((name, count),) = dict(kinds[0].devices).items()
    return name, dict(kinds[0].has)[name] // count


def left_on_devices(problem: WorkloadProblem, here: list[tuple[Job, Placement]]) -> list[list[int]]:
    """Return how much is left on each device of each node beside jobs that are there."""
    name, size = divided(problem)
    left = []
    for node, (_, has) in enumerate(nodes_of(problem)):
        there = [size] * (has.get(name, 0) // max(size, 1))
        for job, placed in here:
            if node in placed:
                _, each, _, _, alone = shape_of(job)
                for device, parts in enumerate(devices_of(placed[node])[: len(there)]):
                    there[device] -= parts * min(size, each.get(name, 0))
                there = [0] * len(there) if alone else there
        left.append(there)
    return left


def fitting(left: Sequence[int], size: int, amount: int) -> int:
    """Return how many chunks that take an amount fit on devices."""
    if amount < size:
        return sum(device // amount for device in left)
    return sum(device == size for device in left) // (amount // size)


def laid_tight(left: Sequence[int], size: int, amount: int, chunks: int) -> tuple[int, ...]:
    """Return how many chunks go to each device: each to the first of those with least room that do."""
    counts, rest = [0] * len(left), [*left]
    for _ in range(chunks * max(amount // max(size, 1), 1) if amount else 0):
        need = min(amount, size)
        device = min((idx for idx in range(len(rest)) if rest[idx] >= need), key=lambda idx: (rest[idx], idx))
        counts[device] += 1
        rest[device] -= need
    return tuple(counts)


def nodes_of(problem: WorkloadProblem) -> list[tuple[str, dict[str, int]]]:
    """Return the type and the amounts of each node."""
    return [(each.name, dict(each.has)) for each in problem.node_types for _ in range(each.count)]


def shape_of(job: Job) -> tuple[int, dict[str, int], int, int, bool]:
    """Return chunks, what each takes, the most on a node, the fewest nodes, and whether it is exclusive."""
    if job.chunks is None:
        return job.nodes, {}, 1, job.nodes, True
    return job.chunks, dict(job.each or {}), job.per_node or job.chunks, job.nodes, job.exclusive


def room(problem: WorkloadProblem, job: Job, *situations: list[tuple[Job, Placement]]) -> list[int]:
    """Return how many chunks of a job fit on each node beside jobs that are there, in each situation.

    And what is left on each device in all of them.
    """
    name, size = divided(problem)
    amount = shape_of(job)[1].get(name, 0)
    rooms = []
    lefts = zip(*(left_on_devices(problem, here) for here in situations), strict=True)
    for most, left in zip(
        zip(*(_room(problem, job, here) for here in situations), strict=True), lefts, strict=True
    ):
        least = tuple(map(min, zip(*left, strict=True)))
        rooms.append(Spot(min(*most, most[0], *([fitting(least, size, amount)] if amount else [])), least))
    return [*rooms]


def _room(problem: WorkloadProblem, job: Job, here: list[tuple[Job, Placement]]) -> list[int]:
    """Return the same, whatever is on which device."""
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
    name, size = divided(problem)
    if sum(rooms) < chunks or sum(each > 0 for each in rooms) < fewest:
        return None
    placed: Placement = {}
    for node in sorted(range(len(rooms)), key=lambda node: (weights[node], node)):
        if rooms[node] and chunks:
            taken = min(int(rooms[node]), chunks - max(0, fewest - len(placed) - 1))
            amount = shape_of(job)[1].get(name, 0)
            placed[node] = Spot(taken, laid_tight(devices_of(rooms[node]), size, amount, taken))
            chunks -= taken
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
    nodes, chunks = ([int(pair[at]) for pair in pairs] for at in (0, 1))
    most = max((count for kind in problem.node_types for count in dict(kind.devices).values()), default=0)
    on = [[*devices_of(spot), *[0] * most][:most] for _, spot in pairs]
    devices = np.array(on, dtype=np.int64).reshape(len(pairs), most) if most else None
    return WorkloadSchedule.on_places(problem, starts, offsets, nodes, chunks, devices)


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
    name, size = divided(problem)
    for job, at, placed in zip(jobs, starts, placements, strict=True):
        chunks, _, most, fewest, _ = shape_of(job)
        if at < job.submit or sum(placed.values()) != chunks or len(placed) < fewest:
            return False
        for node, here in placed.items():
            if not (0 <= node < len(machine) and 1 <= here <= most):
                return False
            if job.types is not None and machine[node][0] not in job.types:
                return False
            if not has_its_devices(here, size, shape_of(job)[1].get(name, 0)):
                return False
            if is_closed(problem, node, at, at + job.runtime):
                return False
    return all(_fits(problem, now, starts, placements) for now in starts)


def _fits(problem: WorkloadProblem, now: float, starts: list[float], placements: list[Placement]) -> bool:
    """Tell whether there is as much on each node as is taken at an instant."""
    (name, size), jobs = divided(problem), list(problem.jobs)
    there = [
        (job, placed)
        for job, at, placed in zip(jobs, starts, placements, strict=True)
        if at <= now < at + job.runtime
    ]
    for node, (_, has) in enumerate(nodes_of(problem)):
        mine = [(job, placed[node]) for job, placed in there if node in placed]
        if len(mine) > 1 and any(shape_of(job)[4] for job, _ in mine):
            return False
        for what in {what for job, _ in mine for what in shape_of(job)[1]}:
            if sum(shape_of(job)[1].get(what, 0) * count for job, count in mine) > has.get(what, 0):
                return False
        taken = Counter[int]()
        for job, spot in mine:
            part = min(size, shape_of(job)[1].get(name, 0))
            taken.update({device: parts * part for device, parts in enumerate(devices_of(spot))})
        count = has.get(name, 0) // max(size, 1)
        if any(amount > (size if device < count else 0) for device, amount in taken.items()):
            return False
    return True


def has_its_devices(spot: int, size: int, amount: int) -> bool:
    """Tell whether chunks that take an amount of devices are on as many as they have to be."""
    devices = devices_of(spot)
    if size and amount >= size:
        return {*devices} <= {0, 1} and sum(devices) == int(spot) * (amount // size)
    return min(devices, default=0) >= 0 and sum(devices) == (int(spot) if size and amount else 0)
