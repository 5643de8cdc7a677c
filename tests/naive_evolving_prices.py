"""Slow twins: least costs of evolving jobs under prices, by trying all; best slotted schedules of toys."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import TYPE_CHECKING, Any

from naive_malleable_prices import TOY_SLOT_S, delay_cost, rates_of

from allocsolve.model import Join, Phases, Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allocsolve.model import Job, WorkloadProblem

#: Slots of a toy schedule.
_MOST_SLOTS = 80

#: Of a price list: begin, end and price of each slot, from the submission to infinity.
Slot = tuple[float, float, float]
#: Nodes in a slot, what is left after it, and the end of the job, if it ends in the slot.
Choice = tuple[int, object, Fraction | float | None]


def slots_from(edges: Sequence[float], prices: Sequence[float], submit: float) -> list[Slot]:
    begins, ends = [-math.inf, *edges], [*edges, math.inf]
    rows = zip(begins, ends, [0.0, *prices, 0.0], strict=True)
    return [(max(begin, submit), end, price) for begin, end, price in rows if end > submit]


def least_rows(job: Job) -> list[tuple[float, int]]:
    """Return the seconds of each phase, the start among them, on the most nodes, and these."""
    evolution, most, fewest = job.evolution, job.max_nodes or job.nodes, job.min_nodes or job.nodes
    assert isinstance(evolution, Phases)
    rows = [
        (work / min(most, useful or most), min(most, useful or most)) for work, useful in evolution.phases
    ]
    if isinstance(job.reconfiguration, Join) and job.reconfiguration.start:
        rows.insert(0, (job.reconfiguration.start, min(fewest, rows[0][1])))
    merged = rows[:1]
    for seconds, nodes in rows[1:]:
        if nodes == merged[-1][1]:
            merged[-1] = (merged[-1][0] + seconds, nodes)
        else:
            merged.append((seconds, nodes))
    return merged


def _cheapest(slots: Sequence[Slot], since: float, until: float, seconds: float) -> float:
    """Return what a node pays for so many of the cheapest seconds between two moments."""
    offers = sorted((price, min(end, until) - max(begin, since)) for begin, end, price in slots)
    left, paid = seconds, 0.0
    for price, length in offers:
        if length > 0:
            paid += price * min(left, length)
            left -= min(left, length)
    return paid if left <= 1e-9 else math.inf


def least_cost_of_phases(
    problem: WorkloadProblem,
    term: str,
    j: int,
    edges: Sequence[float],
    prices: Sequence[float],
    *,
    in_order: bool,
) -> float:
    """Return the least cost of a job whose phases may each use all of the slots in which they begin and end.

    Without an order: of all its node-seconds, on the most nodes of any phase.
    """
    job = problem.jobs[j]
    slots = slots_from(edges, prices, job.submit)
    phases = least_rows(job)
    shortest = sum(seconds for seconds, _ in phases)
    if not in_order:
        most = max(nodes for _, nodes in phases)
        phases = [(sum(seconds * nodes for seconds, nodes in phases) / most, most)]
    *inner, (last_seconds, last_nodes) = phases
    best = math.inf
    for ended in combinations_with_replacement(range(len(slots)), len(inner)):
        ready, paid = job.submit, 0.0
        for (seconds, nodes), (a, b) in zip(inner, pairwise((0, *ended)), strict=True):
            paid += nodes * _cheapest(slots[a : b + 1], ready, slots[b][1], seconds)
            ready += seconds
        if paid == math.inf:
            continue
        begun = ended[-1] if ended else 0
        cost = functools.partial(_cost_at, problem, term, j, slots[begun:], (ready, last_seconds, last_nodes))
        since = max(ready, slots[begun][0])
        best = min(
            best, paid + _least_end(cost, slots[begun:], max(since + last_seconds, job.submit + shortest))
        )
    return best


def _cost_at(
    problem: WorkloadProblem,
    term: str,
    j: int,
    slots: Sequence[Slot],
    phase: tuple[float, float, int],
    end: float,
) -> float:
    ready, seconds, nodes = phase
    return delay_cost(problem, term, j, end) + nodes * _cheapest(slots, ready, end, seconds)


def _least_end(cost: Callable[[float], float], slots: Sequence[Slot], earliest: float) -> float:
    """Return the least value of a function that is convex in each slot."""
    best = math.inf
    for begin, end, _ in slots:
        low, high = max(begin, earliest), min(end, max(begin, earliest) + 1000)
        for _ in range(80 if high > low else 0):
            first, second = low + (high - low) / 3, high - (high - low) / 3
            if cost(first) <= cost(second) < math.inf:
                high = second
            else:
                low = first
        if high >= low:
            best = min(best, cost(low), cost(high), cost(max(begin, earliest)))
    return best


def least_cost_of_profile(
    problem: WorkloadProblem, term: str, j: int, edges: Sequence[float], prices: Sequence[float]
) -> float:
    """Return the least cost over all delays of the start and of the ends of steps that may be best."""
    job = problem.jobs[j]
    profile = job.evolution
    assert isinstance(profile, Profile)
    ends = [0.0]
    for seconds, _ in profile.steps:
        ends.append(ends[-1] + seconds)
    slots = slots_from(edges, prices, job.submit)

    free = job.submit + max(job.runtime, 10.0) - ends[-1]
    delays = sorted({job.submit, free, *(edge - end for edge in edges for end in ends)})
    delays = [delay for delay in delays if delay >= job.submit]
    late = [delay_cost(problem, term, j, delay + ends[-1]) for delay in delays]
    # What a node pays from the submission to each end with each delay.
    paid = [
        [
            sum(price * max(0.0, min(until, delay + end) - begin) for begin, until, price in slots)
            for end in ends
        ]
        for delay in delays
    ]
    waits = any(seconds * profile.expand_limit >= seconds + 1 for seconds, _ in profile.steps)
    choices = range(len(delays))
    each: Any = (
        combinations_with_replacement(choices, len(ends)) if waits else ((k,) * len(ends) for k in choices)
    )
    costs: Iterator[float] = (
        late[row[-1]]
        + sum(
            nodes * (paid[row[i + 1]][i + 1] - paid[row[i]][i]) for i, (_, nodes) in enumerate(profile.steps)
        )
        for row in each
    )
    return min(costs)


def slotted_optimum_of_evolving(problem: WorkloadProblem, term: str) -> float:
    """Return the value of the best schedule whose sizes change between slots only.

    Jobs with phases or requests may change their size in each slot, and stop for a while, without any cost
    but that of the start: more than a schedule may, so this is at most its value if it keeps to the slots.
    Malleable jobs may stop for a while, too, and end within a slot. Jobs with profiles, and rigid ones, do
    what they may. The times of toys are whole slots.
    """
    some = _search(problem, term, math.inf, beam=10)
    return _search(problem, term, some, beam=10**9)


def _search(problem: WorkloadProblem, term: str, best: float, beam: int) -> float:
    """Return the least value below `best`, or that, from so many most promising states of each slot."""
    jobs = list(problem.jobs)
    weight = sum(job.weight for job in jobs)

    def whole_cost(ends: Sequence[float]) -> float:
        if term == "makespan":
            return max(ends) * TOY_SLOT_S
        costs = (delay_cost(problem, term, j, float(end) * TOY_SLOT_S) for j, end in enumerate(ends))
        return sum(costs) / weight

    @functools.lru_cache(maxsize=100_000)
    def earliest(j: int, left: Any, now: int) -> float:
        return max(now, jobs[j].submit / TOY_SLOT_S if left is None else 0) + _least_slots(problem, j, left)

    states: dict[tuple[Any, ...], tuple[float, tuple[float, ...]]]
    states = {tuple(None for _ in jobs): (0.0, tuple(math.inf for _ in jobs))}
    for now in range(_MOST_SLOTS):
        after: dict[tuple[Any, ...], tuple[float, tuple[float, ...]]] = {}
        for state, (_, ended) in states.items():
            for row in product(*(_choices(problem, j, left, now) for j, left in enumerate(state))):
                if sum(nodes for nodes, _, _ in row) > problem.num_nodes:
                    continue
                ends = tuple(
                    float(was if end is None else end) for was, (_, _, end) in zip(ended, row, strict=True)
                )
                key = tuple(left for _, left, _ in row)
                least = whole_cost(
                    [end if end < math.inf else earliest(j, key[j], now + 1) for j, end in enumerate(ends)]
                )
                if least >= best:
                    continue
                if max(ends) < math.inf:
                    best = least
                elif key not in after or least < after[key][0]:
                    after[key] = least, ends
        states = dict(sorted(after.items(), key=lambda item: item[1][0])[:beam])
    assert not states or beam < 10**9
    return best


def _least_slots(problem: WorkloadProblem, j: int, left: Any) -> float:
    """Return how many slots a job takes at least from now on."""
    job = problem.jobs[j]
    if isinstance(job.evolution, Phases):
        works, useful, start = _phases(job)
        phase, work, stall = left or (0, works[0], start)
        rest = [work, *works[phase + 1 :]]
        return float(stall + sum(each / cap for each, cap in zip(rest, useful[phase:], strict=True)))
    if isinstance(job.evolution, Profile):
        step, had = left or (0, 0)
        rest_s = sum(seconds for seconds, _ in job.evolution.steps[step:])
        return max(rest_s - had * TOY_SLOT_S, sum(s for s, _ in job.evolution.steps[step + 1 :])) / TOY_SLOT_S
    if job.speedup is not None:
        return (
            (1.0 if left is None else left)
            / max(rate for _, rate in rates_of(problem, j, whole=True))
            / TOY_SLOT_S
        )
    return float(round(job.runtime / TOY_SLOT_S) if left is None else left)


def _phases(job: Job) -> tuple[list[Fraction], list[int], Fraction]:
    """Return node-slots and most useful nodes of the phases of a job, and the slots of its start."""
    evolution, most = job.evolution, job.max_nodes or job.nodes
    assert isinstance(evolution, Phases)
    start = Fraction(job.reconfiguration.start) if isinstance(job.reconfiguration, Join) else Fraction(0)
    works = [Fraction(work) / TOY_SLOT_S for work, _ in evolution.phases]
    return works, [min(cap or most, most) for _, cap in evolution.phases], start / TOY_SLOT_S


def _choices(problem: WorkloadProblem, j: int, left: Any, now: int) -> Iterator[Choice]:
    """Yield what a job may do in a slot: None is left before its start, and "done" behind its end."""
    job = problem.jobs[j]
    if left == "done":
        yield 0, "done", None
        return
    if left is None:
        yield 0, None, None
        if now * TOY_SLOT_S < job.submit:
            return
    if isinstance(job.evolution, Phases):
        yield from _of_phases(job, left, now)
    elif isinstance(job.evolution, Profile):
        yield from _of_profile(job.evolution, left, now)
    elif job.speedup is not None:
        work = 1.0 if left is None else left
        for nodes, rate in rates_of(problem, j, whole=True):
            done = rate * TOY_SLOT_S
            if work <= done * (1 + 1e-9):
                yield int(nodes), "done", now + work / done
            else:
                yield int(nodes), round(work - done, 12), None
        if left is not None:
            yield 0, left, None
    else:
        slots = (round(job.runtime / TOY_SLOT_S) if left is None else left) - 1
        yield job.nodes, slots or "done", None if slots else now + 1


def _of_phases(job: Job, left: Any, now: int) -> Iterator[Choice]:
    """Yield what a job with phases may do; of it there is left a phase, its work and that of the start."""
    most, fewest = job.max_nodes or job.nodes, job.min_nodes or job.nodes
    works, useful, start = _phases(job)
    phase, work, stall = left or (0, works[0], start)
    least = fewest if left is None else min(fewest, useful[0]) if stall else 0
    for nodes in range(least, most + 1):
        if nodes == 0:
            yield 0, left, None
            continue
        at, rest, time = phase, work, 1 - min(stall, Fraction(1))
        while time > 0 and at < len(works):
            rate = min(nodes, useful[at])
            if rest > rate * time:
                rest -= rate * time
                break
            time -= rest / rate
            at += 1
            rest = works[at] if at < len(works) else Fraction(0)
        if at == len(works):
            yield nodes, "done", now + 1 - time
        else:
            yield nodes, (at, rest, max(stall - 1, Fraction(0))), None


def _of_profile(profile: Profile, left: Any, now: int) -> Iterator[Choice]:
    """Yield what a job with a profile may do; of it there is left a step, and the slots that it had."""
    step, had = left or (0, 0)
    options = [(step, had + 1)]
    if had * TOY_SLOT_S >= profile.steps[step][0]:
        options.append((step + 1, 1))
    for at, slots in options:
        seconds, nodes = profile.steps[at]
        if (
            slots * TOY_SLOT_S > max(seconds, math.floor(seconds * profile.expand_limit + 1e-9))
            if (profile.expand_limit < math.inf)
            else False
        ):
            continue
        if at + 1 == len(profile.steps) and slots * TOY_SLOT_S >= seconds:
            yield nodes, "done", now + 1
        else:
            yield nodes, (at, slots), None
