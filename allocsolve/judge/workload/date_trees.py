"""Bounds of workloads that the judge recomputes from trees of dates, one for each stretch of the jobs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import integers, items, malformed, positive_integer
from allocsolve.judge.workload._kernels_dates import (
    OPEN,
    Knapsacks,
    Machine,
    StartWindows,
    least_costs_in_windows,
)
from allocsolve.judge.workload._kernels_job_prices import fullest_sets
from allocsolve.judge.workload._kernels_prices import JobRows, WindowPrices
from allocsolve.judge.workload.job_prices import (
    LARGEST,
    check_slots,
    check_sums,
    earned,
    edges_of,
    job_rows,
    machine_in_slots,
    mean_of,
    price_windows,
    ticks_of,
)
from allocsolve.model import MAX_INTEGER, frozen
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allocsolve.model import IntArray, WorkloadProblem

#: Prices times units of nodes in all knapsacks of all leaves together (some minutes), and prices of all lists
#: (1 GB).
_MAX_STEPS: Final = 2 * 10**10
_MAX_PRICES: Final = 2**27


def check_totals(certificate: Mapping[str, object], totals: list[int | None], where: str = "") -> None:
    """Refuse ``totals`` that are not those which the judge has found."""
    said = items(certificate, "totals")
    if len(said) != len(totals):
        raise InvalidAnswer(f"{len(said)} totals{where} in the certificate for {len(totals)} leaves")
    for leaf, (total, claim) in enumerate(zip(totals, said, strict=True)):
        if type(claim) is not type(total) or claim != total:
            msg = f"totals[{leaf}] {shown(claim)}{where} of the certificate: the judge finds {total}"
            raise InvalidAnswer(msg)


def check_steps(steps: float, leaves: int) -> None:
    """Refuse what would take minutes to check."""
    if steps > _MAX_STEPS:
        raise InvalidAnswer(f"{leaves} leaves of the certificate take {steps:.3g} steps, which are too many")


class DateTree(NamedTuple):
    """A tree of cuts between dates, as it was read.

    ``jobs`` and ``cuts`` are the tree in preorder. An entry of ``jobs`` that is a job cuts its starts at a
    second, which ``cuts`` has in its place: the subtree of starts up to it follows, then that of starts from
    it on. An entry -1 is a leaf, and ``cuts`` has the number of its price list. ``lists``: the price lists;
    each has a ``parent``, the number of an earlier list or -1 for no prices, and what it adds to it: job
    ``jobs[i]`` (rising) pays ``differences[offsets[i]:offsets[i + 1]]`` more, from the slot
    ``first_slots[i]`` on. ``totals``: for each leaf the least cost of all jobs less what the cluster earns,
    in units of 1 / (unit ticks); None where no schedule has its starts.

    Notes
    -----
    *Proof.* Both sides of a cut have the starts at the cut itself and together all starts, so every schedule
    has its starts in the windows of some leaf, and the least bound of the leaves bounds all schedules. In a
    leaf the proof of `job_price_bound` holds with what is known there. A job whose start lies in [a, b]
    surely runs in [b, a + p), where p is its run time: there it needs no price, and all others share what it
    leaves of each resource. Jobs that do not fit beside it may not run there, as where too much is closed,
    which bars the starts that would. Outside of [a, b + p) a job does not run, so no knapsack has it. What is
    barred makes windows narrower, so more is known; the judge repeats this eight times. A slot is a part of
    [b, a + p) if it lies within it.

    Starts and cuts are in seconds of the schedule; where times are no multiples of 1/4 s a start counts as
    what it is plus the tolerance of the judge. Numbers are rounded as in `job_price_bound`.

    *Complexity*: O(leaves * prices * product of what is there of each resource, in units). No code is shared
    with the solver.
    """

    leaves: list[_Leaf]
    #: The price lists, each with the same room for each job.
    lists: list[WindowPrices]
    #: What jobs pay besides, in the same room.
    fixed: IntArray
    rows: JobRows

    @classmethod
    def read(
        cls,
        certificate: Mapping[str, object],
        edges: IntArray,
        rows: JobRows,
        tick: int,
        shared: WindowPrices,
    ) -> DateTree:
        """Return the ``lists``, ``jobs`` and ``cuts`` of some jobs, which pay `shared` prices besides."""
        lists = _price_lists(certificate, edges, len(rows.submit), shared)
        leaves = [*_leaves(certificate, len(rows.submit), len(lists), tick)]
        fixed = np.zeros(len(lists[0].prices), dtype=np.int64)
        counts = np.diff(shared.offsets)
        begin = lists[0].offsets[:-1] + shared.first - lists[0].first
        fixed[np.arange(len(shared.prices)) + np.repeat(begin - shared.offsets[:-1], counts)] = shared.prices
        latest = max(int(edges[-1]), *(cut for leaf in leaves for _, cut, _ in leaf.cuts), 0)
        for each in lists:
            check_sums(rows, each, each.prices + fixed, np.maximum(rows.submit, latest))
        return cls(leaves, lists, frozen(fixed), rows)

    @property
    def steps(self) -> float:
        """How many prices and slots all leaves have."""
        return float(len(self.leaves)) * (len(self.lists[0].prices) + len(self.lists[0].edges))

    def totals(self, machine: Machine, cells: int) -> list[int | None]:
        """Return the total of each leaf; None if it has no schedule."""
        slots, prices = len(self.lists[0].edges) - 1, len(self.lists[0].prices)
        begins, fullest = np.zeros(slots + 1, dtype=np.int64), np.zeros(slots, dtype=np.int64)
        jobs, gains = np.zeros(prices, dtype=np.int64), np.zeros(prices, dtype=np.int64)
        last = Knapsacks(begins, jobs, gains, np.full_like(machine.room, -1), fullest)
        return [_total(self, machine, cells, leaf, last) for leaf in self.leaves]


class _Leaf(NamedTuple):
    #: The number of its price list.
    prices: int
    #: From the root on: job, tick of the cut, whether the job starts from then on and not up to then.
    cuts: list[tuple[int, int, bool]]


def _leaves(certificate: Mapping[str, object], num_jobs: int, num_lists: int, tick: int) -> Iterator[_Leaf]:
    """Yield the leaves of the tree in order."""
    jobs, cuts = integers(certificate, "jobs", -1).tolist(), integers(certificate, "cuts", 0).tolist()
    if len(jobs) != len(cuts):
        raise InvalidAnswer(f"{len(jobs)} jobs and {len(cuts)} cuts in the certificate")
    path: list[tuple[int, int, bool]] = []
    for at, (job, cut) in enumerate(zip(jobs, cuts, strict=True)):
        if job >= num_jobs:
            raise InvalidAnswer(f"jobs[{at}] {job} of the certificate is none of {num_jobs} jobs")
        if at and not path:
            msg = f"the tree of the certificate has {len(jobs)} entries and ends before entry {at}"
            raise InvalidAnswer(msg)
        if job >= 0:
            if cut > MAX_INTEGER // tick:
                raise InvalidAnswer(f"cuts[{at}] {cut} of the certificate is beyond 2^53 ticks of 1/{tick} s")
            path.append((job, cut * tick, False))
            continue
        if cut >= num_lists:
            raise InvalidAnswer(f"cuts[{at}] {cut} of the certificate is none of {num_lists} lists")
        yield _Leaf(cut, [*path])
        while path and path[-1][2]:
            path.pop()
        if path:
            path[-1] = (*path[-1][:2], True)
        elif at == len(jobs) - 1:
            return
    raise InvalidAnswer(f"the tree of the certificate has {len(jobs)} entries and does not end")


class _Added(NamedTuple):
    """What a list adds to the prices of its parent."""

    parent: int
    jobs: IntArray
    first: IntArray
    counts: IntArray
    differences: IntArray


def _price_lists(
    certificate: Mapping[str, object], edges: IntArray, num_jobs: int, shared: WindowPrices
) -> list[WindowPrices]:
    """Return the price lists, each with the same room for each job, also for its shared prices."""
    added = [
        _added(each, number, num_jobs, len(edges) - 1)
        for number, each in enumerate(items(certificate, "lists"))
    ]
    if not added:
        raise InvalidAnswer("the certificate has no lists of prices")
    counts = np.diff(shared.offsets)
    first = np.where(counts > 0, shared.first, len(edges) - 1)
    end = np.where(counts > 0, shared.first + counts, 0)
    for each in added:
        np.minimum.at(first, each.jobs, each.first)
        np.maximum.at(end, each.jobs, each.first + each.counts)
    first = np.minimum(first, end)
    offsets = np.concatenate(([0], np.cumsum(end - first)))
    if float(offsets[-1]) * len(added) > _MAX_PRICES:
        raise InvalidAnswer(f"{len(added)} lists of {offsets[-1]} prices in the certificate are too many")
    lists: list[WindowPrices] = []
    room = frozen(edges), frozen(first), frozen(offsets)
    for number, each in enumerate(added):
        prices = np.zeros(int(offsets[-1]), dtype=np.int64)
        if each.parent >= 0:
            prices[:] = lists[each.parent].prices
        own = np.concatenate(([0], np.cumsum(each.counts)))
        begin = offsets[each.jobs] + each.first - first[each.jobs]
        prices[np.arange(own[-1]) + np.repeat(begin - own[:-1], each.counts)] += each.differences
        if len(prices) and not 0 <= prices.min() <= prices.max() <= MAX_INTEGER:
            raise InvalidAnswer(f"lists[{number}] of the certificate has prices that are not in 0..2^53")
        lists.append(WindowPrices(*room, frozen(prices)))
    return lists


def _added(each: Any, number: int, num_jobs: int, num_slots: int) -> _Added:  # noqa: ANN401 - JSON
    name = f"lists[{number}]"
    if not isinstance(each, dict):
        raise malformed(f"{name} of the certificate is {type(each).__name__}, not an object")
    parent = each.get("parent")
    if type(parent) is not int or parent < -1:
        raise malformed(f"parent {shown(parent)} of {name} in the certificate is not an integer from -1 on")
    if parent >= number:
        raise InvalidAnswer(f"parent {shown(parent)} of {name} in the certificate is not in -1..{number - 1}")
    jobs, first, offsets = (integers(each, key, 0) for key in ("jobs", "first_slots", "offsets"))
    differences = integers(each, "differences", -MAX_INTEGER)
    if len(first) != len(jobs) or len(offsets) != len(jobs) + 1:
        lengths = f"{len(jobs)} jobs, {len(first)} first slots and {len(offsets)} offsets"
        raise InvalidAnswer(f"{lengths} in {name} of the certificate")
    if (np.diff(jobs) <= 0).any() or (len(jobs) and jobs[-1] >= num_jobs):
        raise InvalidAnswer(f"jobs of {name} in the certificate do not rise to at most {num_jobs - 1}")
    counts = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != len(differences) or (counts < 0).any():
        raise InvalidAnswer(f"offsets of {name} in the certificate do not rise from 0 to {len(differences)}")
    if (first + counts > num_slots).any():
        raise InvalidAnswer(f"{name} of the certificate has prices beyond the last of {num_slots} slots")
    return _Added(parent, jobs, first, counts, differences)


def _total(tree: DateTree, machine: Machine, cells: int, leaf: _Leaf, last: Knapsacks) -> int | None:
    """Return the least cost of all jobs less what the cluster earns; None if the leaf has no schedule."""
    rows, prices = tree.rows, tree.lists[leaf.prices]
    windows = StartWindows(rows.submit.copy(), np.full(len(rows.submit), OPEN))
    for job, cut, later in leaf.cuts:
        if later:
            windows.earliest[job] = max(windows.earliest[job], cut)
        else:
            windows.latest[job] = min(windows.latest[job], cut)
    costs = np.zeros(len(rows.submit), dtype=np.int64)
    if not least_costs_in_windows(rows, prices, tree.fixed, machine, cells, windows, last, costs):
        return None
    lengths = np.diff(prices.edges)
    if float(lengths.astype(np.float64) @ last.fullest.astype(np.float64)) < LARGEST:
        paid = int(lengths @ last.fullest)
    else:
        paid = earned(prices.edges, last.fullest)
    return int(sum(costs.tolist()) - paid)


def date_trees_bound(problem: WorkloadProblem, certificate: Mapping[str, object], objective: str) -> float:
    """Return a lower bound on a weighted mean, recomputed from a tree of cuts between dates for each stretch.

    *Certificate.* ``kind``: "date-trees". ``term``, ``edges``, ``nodes``, ``units`` and ``unit`` as in
    `job_price_bound`. ``shared``: prices, by ``first_slots``, ``offsets`` and ``prices`` as there.
    ``stretches``: the number of the tree of each job. ``trees``: each has ``slots``, two edges by their
    numbers; ``lists``, ``jobs``, ``cuts`` and ``totals`` as `DateTree` has them, with jobs counted within
    the stretch, slots from the first edge on and prices between the edges only. One of the kind "date-tree"
    has the tree of a single stretch in itself, from the first edge to the last, and nothing is shared.
    `InvalidAnswer` as for `job_price_bound`, and if a total is not what the judge finds.

    Jobs are rigid, the machine is any; the objective is ``turnaround``, ``slowdown`` or ``wait``.

    Notes
    -----
    *Proof.* In any schedule the jobs pay at most W(t) of shared prices at the instant t, the greatest sum of
    the shared prices of jobs that fit into the cluster together. So the cost of all jobs is at least the sum
    over the stretches of the cost of their jobs and the shared prices that these pay, less the integral of
    W. The schedule of the jobs of one stretch, by itself, is a schedule of the machine. So the proof of
    `DateTree` holds for the first sum, stretch by stretch, where shared prices are a part of the cost
    of a start: jobs pay them also where they surely run.

    *Complexity*: the sum of that of the trees. No code is shared with the solver.
    """
    found = tree_totals(problem, certificate, objective)
    for (name, tree), totals in zip(_trees(certificate), found, strict=True):
        check_totals(tree, totals, name and f" of {name}")
    return bound_of_trees(problem, certificate, objective)


def _trees(certificate: Mapping[str, object]) -> list[tuple[str, Any]]:
    """Return the trees of a certificate by what messages call them: nothing if it is a tree itself."""
    if certificate.get("kind") == "date-tree":
        return [("", certificate)]
    return [(f"trees[{number}]", tree) for number, tree in enumerate(items(certificate, "trees"))]


def _shared(certificate: Mapping[str, object], edges: IntArray, jobs: int) -> WindowPrices:
    """Return the shared prices, of which a single tree has none."""
    if certificate.get("kind") == "date-tree":
        nowhere = np.zeros(jobs + 1, dtype=np.int64)
        return WindowPrices(frozen(edges), frozen(nowhere[1:]), frozen(nowhere), frozen(nowhere[:0]))
    listed = certificate.get("shared")
    if not isinstance(listed, dict):
        raise malformed(f"shared of the certificate is {type(listed).__name__}, not an object")
    shared = price_windows(listed, edges, jobs)
    check_slots(shared)
    return shared


def bound_of_trees(problem: WorkloadProblem, certificate: Mapping[str, Any], objective: str) -> float:
    """Return the bound of a certificate whose ``totals`` are those of `tree_totals`."""
    tick = ticks_of(problem)
    unit = positive_integer(certificate, "unit")
    shared = _shared(certificate, edges_of(certificate, tick), len(problem.jobs))
    fullest = np.zeros(len(shared.edges) - 1, dtype=np.int64)
    machine, cells = machine_in_slots(problem, certificate, shared.edges, tick)
    fullest_sets(shared, *machine, cells, fullest)
    total = -earned(shared.edges, fullest)
    for name, tree in _trees(certificate):
        reached = [each for each in tree["totals"] if each is not None]
        if not reached:
            where = name and f"{name} of "
            raise InvalidAnswer(f"no leaf of {where}the certificate has room for a schedule, which cannot be")
        total += min(reached)
    return mean_of(problem, Fraction(total, unit * tick), objective)


def tree_totals(
    problem: WorkloadProblem, certificate: Mapping[str, object], objective: str
) -> list[list[int | None]]:
    """Return the totals of the leaves of each tree as the judge finds them, whatever ``totals`` it has."""
    is_one = certificate.get("kind") == "date-tree"
    tick = ticks_of(problem)
    unit = positive_integer(certificate, "unit")
    edges = edges_of(certificate, tick)
    rows = job_rows(problem, objective, unit, tick)
    count = len(problem.jobs)
    shared, trees = _shared(certificate, edges, count), _trees(certificate)
    owner = np.zeros(count, dtype=np.int64) if is_one else integers(certificate, "stretches", 0)
    if len(owner) != count:
        raise InvalidAnswer(f"{len(owner)} stretches in the certificate for {count} jobs")
    if count and owner.max() >= len(trees):
        job = int(np.argmax(owner))
        raise InvalidAnswer(f"stretches[{job}] {owner[job]} of the certificate is none of {len(trees)} trees")
    machine, cells = machine_in_slots(problem, certificate, edges, tick)
    order = np.argsort(owner, kind="stable")
    begins = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(trees)))))
    read: list[tuple[DateTree, Machine]] = []
    steps, leaves = float(len(shared.prices)) * cells, 0
    looks = float((machine.needs > machine.room.min(axis=0)).any(axis=1).sum()) * machine.room.size
    for number, (name, tree) in enumerate(trees):
        own = order[begins[number] : begins[number + 1]]
        low, high = (0, len(edges) - 1) if is_one else _slots(tree, name, len(edges))
        part = _part(shared, own, low, high, name)
        own_rows = JobRows(*(frozen(column[own]) for column in rows))
        try:
            one = DateTree.read(tree, part.edges, own_rows, tick, part)
        except InvalidAnswer as fault:
            if is_one:
                raise
            raise InvalidAnswer(f"{name}: {fault}", breaks_schema=fault.breaks_schema) from fault
        read.append((one, Machine(frozen(machine.needs[own]), frozen(machine.room[low:high].copy()))))
        steps += one.steps * cells + len(one.leaves) * looks
        leaves += len(one.leaves)
        check_steps(steps, leaves)
    return [tree.totals(there, cells) for tree, there in read]


def _slots(tree: Any, name: str, num_edges: int) -> tuple[int, int]:  # noqa: ANN401 - JSON
    """Return the numbers of the first and the last edge of a tree."""
    if not isinstance(tree, dict):
        raise malformed(f"{name} of the certificate is {type(tree).__name__}, not an object")
    slots = integers(tree, "slots", 0).tolist()
    if len(slots) != 2 or not slots[0] < slots[1] < num_edges:
        msg = f"slots {shown(slots)} of {name} in the certificate are not two of {num_edges} edges"
        raise InvalidAnswer(msg)
    return slots[0], slots[1]


def _part(shared: WindowPrices, jobs: IntArray, low: int, high: int, name: str) -> WindowPrices:
    """Return the shared prices of some jobs, which must lie between two edges."""
    counts = np.diff(shared.offsets)[jobs]
    first = np.where(counts > 0, shared.first[jobs] - low, 0)
    if (first < 0).any() or (first + counts > high - low).any():
        job = int(jobs[np.argmax((first < 0) | (first + counts > high - low))])
        raise InvalidAnswer(f"job {job} has shared prices outside of the slots of {name} in the certificate")
    offsets = np.concatenate(([0], np.cumsum(counts)))
    entries = np.arange(int(offsets[-1])) + np.repeat(shared.offsets[jobs] - offsets[:-1], counts)
    return WindowPrices(
        frozen(shared.edges[low : high + 1]), frozen(first), frozen(offsets), frozen(shared.prices[entries])
    )
