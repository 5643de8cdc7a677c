"""One instant on nodes that are places: as many waiting jobs as possible, by CP-SAT."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model import Budget, packed_places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ortools.sat.python import cp_model

    from allocsolve.model import IntArray, PackedPlaces, WorkloadProblem


#: Stands for all jobs that take whole devices.
_WHOLE: Final = -1


class AtOnce(NamedTuple):
    """Which jobs start at an instant, and where."""

    #: Of each job that starts: how many chunks it has on which node.
    placed: Mapping[int, Mapping[int, int]]
    #: The sum of their values, and what no choice of jobs exceeds.
    value: int
    bound: int
    #: Of each job that starts, on each node: how many chunks have a part of each device, or all of it; empty
    #: if nothing is on devices.
    devices: Mapping[int, Mapping[int, tuple[int, ...]]]


class _Left(NamedTuple):
    """What is free at the instant, and where anybody is."""

    #: Shape (nodes, resources), and (nodes, devices): there is none of those that a node has not.
    free: IntArray
    devices: IntArray
    #: Shape (nodes,): how many jobs are there, -1 if one is that is exclusive.
    anybody: IntArray


class _Variables(NamedTuple):
    """What is decided: of each group how many jobs start, how many chunks are where, and on which devices."""

    numbers: Sequence[cp_model.IntVar]
    on: Sequence[Mapping[int, cp_model.IntVar]]
    #: By group and node; see `_on_devices`.
    parts: Mapping[tuple[int, int], Sequence[cp_model.IntVar]]


class _Group(NamedTuple):
    """Jobs of one shape and value that the model does not tell apart."""

    jobs: list[int]
    shape: int
    value: int
    #: Shape (nodes,): for how many chunks of all of them a node has room.
    room: IntArray
    #: Whether each node is held by one of them alone.
    exclusive: bool


def most_at_once(
    problem: WorkloadProblem,
    values: Sequence[int] | None = None,
    running: Mapping[int, Mapping[int, int]] | None = None,
    budget: Budget | None = None,
    devices: Mapping[int, Mapping[int, Sequence[int]]] | None = None,
) -> AtOnce:
    """Place jobs of the largest value at one instant on nodes that are places.

    Parameters
    ----------
    problem
        With `node_types`; when its jobs come and how long they run does not matter.
    values
        Of each job, whole numbers >= 0: its GPUs, say. 1 of each if left out.
    running
        Jobs that hold chunks already: how many on which node.
    budget
        60 s if left out.
    devices
        Of running jobs that have some: as in `AtOnce`.

    Returns
    -------
    AtOnce
        The best choice that was found; it is proven best if its bound is its value.

    Raises
    ------
    InvalidProblem
        If nodes are counted, there are not as many values as jobs, or running jobs are not on as many devices
        as they have to be.

    Notes
    -----
    A variable says how many chunks of equal jobs lie on a node; jobs whose chunks would not tell whose they
    are, as exclusive ones of several chunks on a node, are told apart. Nodes with the same room come in one
    order. Further variables say which devices chunks have; then it is far harder, and the answer is at least
    that of a rule: jobs of most value for what they take first, each where least is left.
    *Complexity*: it is a packing problem with several resources, NP-hard; 60 nodes with jobs of six shapes
    take .1 s, 200 take a second, 400 may stay open by some per cent.

    Examples
    --------
    >>> from allocsolve.model import Job, NodeType, WorkloadProblem
    >>> sizes = [3, 3, 5, 2, 3]
    >>> jobs = [Job(0, 1, 60, chunks=1, each={"gpus": size}) for size in sizes]
    >>> problem = WorkloadProblem(None, jobs, node_types=[NodeType("gpu", 2, {"gpus": 8})])
    >>> at_once = most_at_once(problem, values=sizes)
    >>> sorted(at_once.placed), at_once.value, at_once.bound
    ([0, 1, 2, 3, 4], 16, 16)
    """
    from ortools.sat.python import cp_model  # noqa: PLC0415 - slow to import

    from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

    places, budget = packed_places(problem), budget or Budget(seconds=60)
    worth = [1] * len(problem.jobs) if values is None else [int(value) for value in values]
    if len(worth) != len(problem.jobs) or min(worth, default=0) < 0:
        raise InvalidProblem(f"{len(worth)} values, none below 0, for {len(problem.jobs)} jobs")
    left = _left(places, running or {}, devices or {})
    groups = _groups(places, worth, {*(running or {})}, left)
    model = cp_model.CpModel()
    numbers = [model.new_int_var(0, len(group.jobs), "") for group in groups]
    on = [_chunks_on(model, places, group, number) for group, number in zip(groups, numbers, strict=True)]
    _keep_capacities(model, places, groups, on, left.free)
    parts = _on_devices(model, places, groups, on, left.devices)
    if places.devices is None:
        _order_equal_nodes(model, on, places.type_of_node, left)
    else:
        _hint_full_nodes(model, places, groups, _Variables(numbers, on, parts), left)
    lost = cp_model.LinearExpr.sum(
        [group.value * (len(group.jobs) - number) for group, number in zip(groups, numbers, strict=True)]
    )
    model.minimize(lost)
    best: dict[int, dict[int, int]] = {}
    found_on: dict[int, dict[int, tuple[int, ...]]] = {}

    def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
        best.clear()
        found_on.clear()
        pools = {
            (idx, node): [device for device, part in enumerate(mine) for _ in range(value(part))]
            for (idx, node), mine in parts.items()
        }
        for idx, (group, number, chunks) in enumerate(zip(groups, numbers, on, strict=True)):
            found = {node: count for node, amount in chunks.items() if (count := value(amount))}
            shared = _shared_out(group, value(number), found, places)
            best.update(shared)
            if places.devices is not None:
                share = int(places.each[group.shape, places.devices.resource])
                key = idx if share < places.devices.size else _WHOLE
                each = max(1, share // places.devices.size) if share else 0
                for job, mine in shared.items():
                    taken = {
                        node: [pools[key, node].pop() for _ in range(each * count)]
                        for node, count in mine.items()
                    }
                    found_on[job] = {
                        node: tuple(devices.count(device) for device in range(left.devices.shape[1]))
                        for node, devices in taken.items()
                    }
        return True

    outcome = run_cpsat(model, budget, budget.start(), take, linear=True)
    total = sum(group.value * len(group.jobs) for group in groups)
    value = sum(worth[job] for job in best)
    bound = value if outcome.optimal else total - int(np.ceil(outcome.bound - 1e-6))
    return AtOnce(best, value, max(bound, value), found_on)


def _left(
    places: PackedPlaces,
    running: Mapping[int, Mapping[int, int]],
    on: Mapping[int, Mapping[int, Sequence[int]]],
) -> _Left:
    """Return what running jobs leave."""
    free = places.has[places.type_of_node].copy()
    anybody = np.zeros(len(free), dtype=np.int64)
    devices = np.zeros((len(free), 0), dtype=np.int64)
    if places.devices is not None:
        number = places.devices.number[places.type_of_node]
        devices = np.where(np.arange(number.max()) < number[:, None], places.devices.size, 0)
    for job, chunks in running.items():
        shape = places.shape[job]
        for node, count in chunks.items():
            anybody[node] += -1 if places.exclusive[shape] else 1
            free[node] -= count * places.each[shape]
            if places.devices is not None:
                share = places.each[shape, places.devices.resource]
                mine = np.array([*on.get(job, {}).get(node, ()), *[0] * devices.shape[1]])
                devices[node] -= mine[: devices.shape[1]] * min(share, places.devices.size)
                wanted = count * max(1, share // places.devices.size) if share else 0
                if mine.sum() != wanted or devices[node].min() < 0:
                    raise InvalidProblem(f"devices of job {job} on node {node}: {mine.sum()} of {wanted}")
    return _Left(free, devices, anybody)


def _groups(places: PackedPlaces, worth: Sequence[int], running: set[int], left: _Left) -> list[_Group]:
    """Return the jobs that wait, those of one shape and value together where they need not be told apart."""
    together: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for job, shape in enumerate(places.shape.tolist()):
        if job not in running:
            spread = places.least_nodes[shape] > -(-places.chunks[shape] // places.per_node[shape])
            apart = spread or (places.exclusive[shape] and places.most[shape].max() > 1)
            together[shape, worth[job], job if apart else -1].append(job)
    groups = []
    for (shape, value, _), jobs in together.items():
        alone = bool(places.exclusive[shape])
        groups.append(_Group(jobs, shape, value, _room(places, shape, left, len(jobs)), alone))
    return groups


def _room(places: PackedPlaces, shape: int, left: _Left, jobs: int) -> IntArray:
    """Return for how many chunks of so many jobs of a shape each node has room."""
    room = np.where(places.allowed[shape][places.type_of_node], places.per_node[shape] * jobs, 0)
    needed = places.each[shape]
    for resource in np.flatnonzero(needed):
        room = np.minimum(room, left.free[:, resource] // needed[resource])
    if places.devices is not None and (share := needed[places.devices.resource]):
        parts = (left.devices // share).sum(axis=1)
        if share >= places.devices.size:
            whole = (left.devices == places.devices.size).sum(axis=1)
            parts = whole // (share // places.devices.size)
        room = np.minimum(room, parts)
    room[(left.anybody < 0) | (places.exclusive[shape] & (left.anybody > 0))] = 0
    return np.maximum(room, 0)


def _hint_full_nodes(
    model: cp_model.CpModel,
    places: PackedPlaces,
    groups: Sequence[_Group],
    variables: _Variables,
    left: _Left,
) -> None:
    """Hint at a first answer: jobs of most value for what they take first, each where least is left.

    O(jobs x nodes x resources).
    """
    numbers, on, parts = variables
    left = _Left(*(each.copy() for each in left))
    largest = np.maximum(places.has.max(axis=0, initial=0), 1)
    hints: dict[int, int] = Counter()
    size = 0 if places.devices is None else places.devices.size

    def rank(idx: int) -> tuple[float, float]:
        taken = places.chunks[groups[idx].shape] * places.each[groups[idx].shape] / largest
        return -groups[idx].value / max(float(taken.sum()), 1e-9), -float(taken.max(initial=0))

    for idx in sorted(range(len(groups)), key=rank):
        group, shape = groups[idx], groups[idx].shape
        for _ in group.jobs:
            room, rest = _room(places, shape, left, 1), int(places.chunks[shape])
            least = int(places.least_nodes[shape])
            if room.sum() < rest or (room > 0).sum() < least:
                break
            hints[numbers[idx].index] += 1
            for node in sorted(
                np.flatnonzero(room).tolist(), key=lambda node: float((left.free[node] / largest).sum())
            ):
                taken = min(int(room[node]), rest - max(0, least - 1))
                rest, least = rest - taken, least - 1
                hints[on[idx][node].index] += taken
                left.anybody[node] += -1 if group.exclusive else 1
                left.free[node] -= taken * places.each[shape]
                share = 0 if places.devices is None else int(places.each[shape, places.devices.resource])
                for _ in range(taken * max(1, share // size) if share else 0):
                    amount = min(share, size)
                    enough = np.where(left.devices[node] >= amount, left.devices[node], size + 1)
                    device = int(enough.argmin())
                    left.devices[node, device] -= amount
                    hints[parts[idx if share < size else _WHOLE, node][device].index] += 1
                if not rest:
                    break
    for some in (numbers, *(chunks.values() for chunks in on), *parts.values()):
        for variable in some:
            model.add_hint(variable, hints[variable.index])


def _chunks_on(
    model: cp_model.CpModel, places: PackedPlaces, group: _Group, number: cp_model.IntVar
) -> dict[int, cp_model.IntVar]:
    """Add how many chunks of some jobs lie on each node, if so many of them start."""
    most = np.minimum(group.room, places.per_node[group.shape]) if group.exclusive else group.room
    nodes = np.flatnonzero(most).tolist()
    on = {node: model.new_int_var(0, int(most[node]), "") for node in nodes}
    model.add(sum(on.values()) == int(places.chunks[group.shape]) * number)
    if places.least_nodes[group.shape] > -(-places.chunks[group.shape] // places.per_node[group.shape]):
        used = [model.new_bool_var("") for _ in nodes]
        for node, there in zip(nodes, used, strict=True):
            model.add(on[node] >= there)
        model.add(sum(used) >= int(places.least_nodes[group.shape]) * number)
    return on


def _keep_capacities(
    model: cp_model.CpModel,
    places: PackedPlaces,
    groups: Sequence[_Group],
    on: Sequence[Mapping[int, cp_model.IntVar]],
    free: IntArray,
) -> None:
    """Let the chunks on each node take what is free at most, and none be beside an exclusive job."""
    for node in range(len(free)):
        here = [idx for idx, chunks in enumerate(on) if node in chunks]
        for resource in range(free.shape[1]):
            taken = [(int(places.each[groups[idx].shape, resource]), on[idx][node]) for idx in here]
            if any(each for each, _ in taken):
                model.add(sum(each * chunks for each, chunks in taken) <= int(free[node, resource]))
        alone = {idx: model.new_bool_var("") for idx in here if groups[idx].exclusive}
        for idx, there in alone.items():
            model.add(on[idx][node] == 0).only_enforce_if(~there)
            for other in here:
                if other not in alone:
                    model.add(on[other][node] == 0).only_enforce_if(there)
        model.add_at_most_one(alone.values())


def _on_devices(
    model: cp_model.CpModel,
    places: PackedPlaces,
    groups: Sequence[_Group],
    on: Sequence[Mapping[int, cp_model.IntVar]],
    free: IntArray,
) -> dict[tuple[int, int], list[cp_model.IntVar]]:
    """Let the chunks on each node be on devices that have room for them.

    Return how many chunks of a group are on each device of a node, and, as those of the group `_WHOLE`, which
    devices any chunks have as a whole.
    """
    parts: dict[tuple[int, int], list[cp_model.IntVar]] = {}
    if places.devices is None:
        return parts
    size = places.devices.size
    shares = places.each[[group.shape for group in groups], places.devices.resource].tolist()
    for node, count in enumerate(places.devices.number[places.type_of_node].tolist()):
        here = [idx for idx, chunks in enumerate(on) if shares[idx] and node in chunks]
        left = free[node, :count].tolist()
        taken: list[list[cp_model.LinearExpr]] = [[] for _ in left]
        for idx in [*(idx for idx in here if shares[idx] < size), _WHOLE]:
            part = size if idx == _WHOLE else shares[idx]
            mine = parts[idx, node] = [model.new_int_var(0, amount // part, "") for amount in left]
            whose = [at for at in here if shares[at] >= size] if idx == _WHOLE else [idx]
            model.add(sum(mine) == sum(max(1, shares[at] // size) * on[at][node] for at in whose))
            for device, number in enumerate(mine):
                taken[device].append(part * number)
        for amounts, amount in zip(taken, left, strict=True):
            model.add(sum(amounts) <= amount)
    return parts


def _order_equal_nodes(
    model: cp_model.CpModel,
    on: Sequence[Mapping[int, cp_model.IntVar]],
    type_of_node: IntArray,
    left: _Left,
) -> None:
    """Let equal nodes have ever less of what jobs hold, by a weighted sum: any order of them will do."""
    last: dict[tuple[int, ...], int] = {}
    for node, kind in enumerate(type_of_node.tolist()):
        before = last.get(key := (kind, int(np.sign(left.anybody[node])), *left.free[node].tolist()))
        last[key] = node
        if before is not None:
            sums = [
                sum((idx + 1) * chunks[at] for idx, chunks in enumerate(on) if at in chunks)
                for at in (before, node)
            ]
            model.add(sums[0] >= sums[1])


def _shared_out(
    group: _Group, number: int, chunks: dict[int, int], places: PackedPlaces
) -> dict[int, dict[int, int]]:
    """Return whose chunks lie where: each job has at most so many on a node as it may."""
    most, left = int(places.per_node[group.shape]), dict(chunks)
    placed: dict[int, dict[int, int]] = {}
    for others, job in zip(range(number - 1, -1, -1), group.jobs, strict=False):
        # What the others could not hold is for this one, and then what is largest.
        mine = {node: max(0, count - others * most) for node, count in left.items()}
        rest = int(places.chunks[group.shape]) - sum(mine.values())
        for node in sorted(left, key=lambda node: -left[node]):
            more = min(rest, min(most, left[node]) - mine[node])
            mine[node] += more
            rest -= more
        left = {node: count - mine[node] for node, count in left.items()}
        placed[job] = {node: count for node, count in mine.items() if count}
    return placed
