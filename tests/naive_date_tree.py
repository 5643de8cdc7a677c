"""Trees of dates: workloads of a few jobs, and slow twins of the bound, which try every start and set."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from naive_conservative import naive_list_starts
from naive_resources import available, edges_of, needs_of, release_of

from allocsolve.model import Job, Jobs, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: Job, second, whether the job starts from then on.
Cut = tuple[int, int, bool]

#: Cuts and edges end here, in seconds.
LAST = 40


def problem_of(seed: int, most: int = 5) -> WorkloadProblem:
    """A few jobs, wide ones among them."""
    random = np.random.default_rng(seed)
    num_nodes = int(random.integers(2, 7))
    return WorkloadProblem(
        num_nodes,
        [
            Job(
                int(random.integers(0, 10)),
                num_nodes if random.random() < 0.4 else int(random.integers(1, num_nodes + 1)),
                int(random.integers(1, 9)),
                weight=int(random.integers(0, 3)),
            )
            for _ in range(int(random.integers(1, most + 1)))
        ],
    )


def walls(seed: int) -> WorkloadProblem:
    """Six jobs, some as wide as the machine, that meet."""
    random = np.random.default_rng(seed)
    return WorkloadProblem(
        4,
        [
            Job(
                int(random.integers(0, 8)),
                4 if idx < 2 else int(random.integers(1, 4)),
                int(random.integers(2, 9)),
            )
            for idx in range(6)
        ],
    )


def holds(path: list[Cut], starts: list[int]) -> bool:
    """Return whether starts are on these sides of the cuts."""
    return all(starts[job] >= cut if later else starts[job] <= cut for job, cut, later in path)


def leaves(certificate: Mapping[str, Any]) -> list[tuple[int, list[Cut]]]:
    """The leaves of a tree: the number of the price list, and the cuts on the way."""
    entries: Iterator[tuple[int, int]] = iter(zip(certificate["jobs"], certificate["cuts"], strict=True))

    def below(path: list[Cut]) -> list[tuple[int, list[Cut]]]:
        job, cut = next(entries)
        if job < 0:
            return [(cut, path)]
        return below([*path, (job, cut, False)]) + below([*path, (job, cut, True)])

    return below([])


def prices_of(certificate: Mapping[str, Any], number: int, jobs: int) -> list[list[int]]:
    """The prices of a list: one row a job, one column a slot."""
    each = certificate["lists"][number]
    slots = len(certificate["edges"]) - 1
    rows = (
        [[0] * slots for _ in range(jobs)]
        if each["parent"] < 0
        else prices_of(certificate, each["parent"], jobs)
    )
    for at, job in enumerate(each["jobs"]):
        for shift, more in enumerate(each["differences"][each["offsets"][at] : each["offsets"][at + 1]]):
            rows[job][each["first_slots"][at] + shift] += more
    return rows


def totals(
    problem: WorkloadProblem, certificate: Mapping[str, Any], shared: list[list[int]] | None = None
) -> list[int | None]:
    """The totals of the leaves, for the turnaround, whole seconds and whole weights.

    `shared` is what jobs pay besides: one row a job, one column a slot.
    """
    count = len(problem.jobs)
    shared = [[0] * (len(certificate["edges"]) - 1)] * count if shared is None else shared
    return [
        _total(problem, certificate, prices_of(certificate, number, count), shared, path)
        for number, path in leaves(certificate)
    ]


def shared_prices(certificate: Mapping[str, Any]) -> list[list[int]]:
    """The shared prices of trees of stretches: one row a job, one column a slot."""
    one, slots = certificate["shared"], len(certificate["edges"]) - 1
    rows = []
    for first, begin, end in zip(one["first_slots"], one["offsets"][:-1], one["offsets"][1:], strict=True):
        row = [0] * slots
        row[first : first + end - begin] = one["prices"][begin:end]
        rows.append(row)
    return rows


def stretches(
    problem: WorkloadProblem, certificate: Mapping[str, Any]
) -> list[tuple[list[int], WorkloadProblem, dict[str, Any], list[list[int]]]]:
    """Of each stretch its jobs, also as a problem, its tree as a certificate, and its shared prices."""
    if "trees" not in certificate:
        count, slots = len(problem.jobs), len(certificate["edges"]) - 1
        return [([*range(count)], problem, {**certificate}, [[0] * slots] * count)]
    found, shared = [], shared_prices(certificate)
    for number, tree in enumerate(certificate["trees"]):
        own = [job for job, stretch in enumerate(certificate["stretches"]) if stretch == number]
        low, high = tree["slots"]
        edges = certificate["edges"][low : high + 1]
        alone = replace(problem, jobs=Jobs.of(problem.jobs[job] for job in own))
        common = {key: certificate[key] for key in ("nodes", "units", "unit") if key in certificate}
        one = {**tree, "edges": edges, **common}
        found.append((own, alone, one, [shared[job][low:high] for job in own]))
    return found


def earned(problem: WorkloadProblem, certificate: Mapping[str, Any]) -> int:
    """What the cluster earns by shared prices at most."""
    shared, edges = shared_prices(certificate), certificate["edges"]
    needs, rooms = _in_units(problem, certificate)
    return sum(
        (edges[slot + 1] - edges[slot])
        * max(
            sum(shared[idx][slot] for idx in chosen)
            for chosen in _sets([*range(len(needs))])
            if _fit([needs[idx] for idx in chosen], room)
        )
        for slot, room in enumerate(rooms)
    )


def _in_units(
    problem: WorkloadProblem, certificate: Mapping[str, Any]
) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """What each job needs, and the most that is there within each slot, in units of each resource."""
    units = {"nodes": certificate["nodes"], **certificate.get("units", {})}
    needs = [
        {name: needs_of(job).get(name, 0) // unit for name, unit in units.items()} for job in problem.jobs
    ]
    rooms = []
    for low, high in itertools.pairwise(certificate["edges"]):
        moments = [low, *(edge for edge in edges_of(problem) if low < edge < high)]
        there = [available(problem, moment) for moment in moments]
        rooms.append({name: max(at[name] for at in there) // unit for name, unit in units.items()})
    return needs, rooms


def _fit(needs: Sequence[Mapping[str, int]], room: Mapping[str, int]) -> bool:
    """Whether jobs fit into what is there, resource by resource."""
    return all(sum(own[name] for own in needs) <= there for name, there in room.items())


def shared_paid(certificate: Mapping[str, Any], starts: Sequence[int], lengths: Sequence[int]) -> list[int]:
    """What each job pays of shared prices with its start."""
    if "shared" not in certificate:
        return [0] * len(starts)
    edges = certificate["edges"]
    return [
        sum(
            price * max(0, min(start + length, edges[slot + 1]) - max(start, edges[slot]))
            for slot, price in enumerate(row)
        )
        for row, start, length in zip(shared_prices(certificate), starts, lengths, strict=True)
    ]


def _total(
    problem: WorkloadProblem,
    certificate: Mapping[str, Any],
    prices: list[list[int]],
    shared: list[list[int]],
    path: list[Cut],
) -> int | None:
    jobs, edges = list(problem.jobs), certificate["edges"]
    slots = range(len(edges) - 1)
    needs, rooms = _in_units(problem, certificate)
    lengths, releases = [int(job.runtime) for job in jobs], [int(release_of(job)) for job in jobs]
    never = max([*edges, *(cut for _, cut, _ in path), *releases]) + sum(lengths) + 1
    starts = [
        [
            start
            for start in range(releases[idx], never + 1)
            if all(start >= cut if later else start <= cut for own, cut, later in path if own == idx)
        ]
        for idx in range(len(jobs))
    ]
    known = -1
    while known != sum(map(len, starts)):
        known = sum(map(len, starts))
        if not all(starts):
            return None
        surely = [
            {slot for slot in slots if own[-1] <= edges[slot] and edges[slot + 1] <= own[0] + length}
            for own, length in zip(starts, lengths, strict=True)
        ]
        left = [
            {
                name: there - sum(own[name] for own, its in zip(needs, surely, strict=True) if slot in its)
                for name, there in rooms[slot].items()
            }
            for slot in slots
        ]
        if min((amount for room in left for amount in room.values()), default=0) < 0:
            return None
        barred = [
            [slot for slot in slots if slot not in its and not _fit([own], left[slot])]
            for own, its in zip(needs, surely, strict=True)
        ]
        starts = [
            [
                start
                for start in own
                if not any(start < edges[slot + 1] and edges[slot] < start + length for slot in barred[idx])
            ]
            for idx, (own, length) in enumerate(zip(starts, lengths, strict=True))
        ]
    unit, total = certificate["unit"], 0
    for idx, job in enumerate(jobs):
        total += min(
            int(job.weight) * unit * (start + lengths[idx] - int(job.submit))
            + sum(
                (shared[idx][slot] + (0 if slot in surely[idx] else prices[idx][slot]))
                * max(0, min(start + lengths[idx], edges[slot + 1]) - max(start, edges[slot]))
                for slot in slots
            )
            for start in starts[idx]
        )
    for slot in slots:
        there = [
            idx
            for idx in range(len(jobs))
            if slot not in surely[idx]
            and edges[slot + 1] > starts[idx][0]
            and edges[slot] < starts[idx][-1] + lengths[idx]
        ]
        fullest = max(
            sum(prices[idx][slot] for idx in chosen)
            for chosen in _sets(there)
            if _fit([needs[idx] for idx in chosen], left[slot])
        )
        total -= (edges[slot + 1] - edges[slot]) * fullest
    return total


def _sets(items: list[int]) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(items, n) for n in range(len(items) + 1))


def placed(problem: WorkloadProblem, order: Iterable[int]) -> list[int]:
    """The starts of jobs that are put at their earliest place, one after the other, in whole seconds."""
    return [int(start) for start in naive_list_starts(problem, order)]


def cost(problem: WorkloadProblem, starts: Sequence[int]) -> int:
    """The sum of the turnarounds, weighted."""
    return sum(
        int(job.weight) * (start + int(job.runtime) - int(job.submit))
        for job, start in zip(problem.jobs, starts, strict=True)
    )


def optimal_starts(problem: WorkloadProblem) -> list[int]:
    """Starts of a best schedule: some order of the jobs, each at its earliest place, has them."""
    plans = (placed(problem, order) for order in itertools.permutations(range(len(problem.jobs))))
    return min(plans, key=lambda starts: cost(problem, starts))


def tree(
    random: np.random.Generator, jobs: int, lists: int, depth: int, last: int
) -> tuple[list[int], list[int]]:
    """Any tree of at most a depth."""
    if depth == 0 or random.random() < 0.2:
        return [-1], [int(random.integers(lists))]
    one, two = (tree(random, jobs, lists, depth - 1, last) for _ in range(2))
    job, cut = int(random.integers(jobs)), int(random.integers(last + 1))
    return [job, *one[0], *two[0]], [cut, *one[1], *two[1]]
