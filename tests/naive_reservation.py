"""What a reservation schedule may be and is worth, node by node, and what can be accepted at most."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

from naive_admission import NaiveCounts, has_shape

from allocsolve.model import BOOKED, CANCELLED, REJECTED, SUCCESSFUL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import ReservationProblem, ReservationSchedule, Topology


def naive_counts(problem: ReservationProblem, term: str) -> list[Fraction]:
    """What the jobs count in a term."""
    return [Fraction(job.weight) * (job.area if term == "rejected-area" else 1) for job in problem.jobs]


def naive_greedy(problem: ReservationProblem, order: Sequence[int]) -> list[int]:
    """The starts of jobs that are placed in an order; -1 for a rejected one."""
    booked = NaiveCounts(problem.topology.num_nodes)
    starts = [-1] * len(problem.jobs)
    for idx in order:
        job = problem.jobs[idx]
        start = booked.ask(job.nodes, job.runtime, job.deadline, job.arrival)
        if start is not None:
            starts[idx] = start
            booked.bookings.append((start, start + job.runtime, job.nodes))
    return starts


def naive_optimum(problem: ReservationProblem, objective: Sequence[str]) -> tuple[float, ...]:
    """The least terms by count: in the order of the starts of an optimal schedule nothing starts later."""
    values = []
    for order in itertools.permutations(range(len(problem.jobs))):
        starts = naive_greedy(problem, order)
        values.append(_values(problem, objective, [start < 0 for start in starts]))
    return min(values)


def naive_shape_optimum(problem: ReservationProblem, objective: Sequence[str]) -> tuple[float, ...]:
    """The least terms over all starts and all sets of the shape, job by job."""
    return min(
        _values(problem, objective, [at is None for at in placed]) for placed in _placements(problem, [])
    )


Placement = tuple[int, tuple[int, ...]]


def _placements(
    problem: ReservationProblem, placed: list[Placement | None]
) -> Iterator[list[Placement | None]]:
    if len(placed) == len(problem.jobs):
        yield placed
        return
    yield from _placements(problem, [*placed, None])
    job = problem.jobs[len(placed)]
    for nodes in itertools.combinations(range(problem.topology.num_nodes), job.nodes):
        if not has_shape(problem.topology, list(nodes), problem.shape):
            continue
        for start in range(job.arrival, job.deadline - job.runtime + 1):
            end = start + job.runtime
            clash = any(
                other is not None
                and other[0] < end
                and start < other[0] + problem.jobs[idx].runtime
                and set(other[1]) & set(nodes)
                for idx, other in enumerate(placed)
            )
            if not clash:
                yield from _placements(problem, [*placed, (start, nodes)])


def _values(
    problem: ReservationProblem, objective: Sequence[str], rejected: Sequence[bool]
) -> tuple[float, ...]:
    values = []
    for term in objective:
        counts = naive_counts(problem, term)
        lost = sum((c for c, out in zip(counts, rejected, strict=True) if out), Fraction(0))
        values.append(float(lost / sum(counts)) if sum(counts) else 0.0)
    return tuple(values)


TOLERANCE = 1e-6


def is_feasible(problem: ReservationProblem, schedule: ReservationSchedule) -> bool:
    """Return whether a schedule answers a problem."""
    jobs = range(len(problem.jobs))
    taken = [hold for idx in jobs for hold in schedule.holds(idx)]
    return (
        all(hold.start < hold.end for hold in taken)
        and all(_is_allowed(problem, schedule, idx) for idx in jobs)
        and not any(
            one.node == two.node and one.start < two.end and two.start < one.end
            for one, two in itertools.combinations(taken, 2)
        )
    )


def _is_allowed(problem: ReservationProblem, schedule: ReservationSchedule, idx: int) -> bool:
    """Return whether a job may hold these nodes, had it no others beside it."""
    holds, outcome = schedule.holds(idx), schedule.outcomes[idx]
    if outcome == REJECTED:
        return not holds and not (schedule.computed is not None and schedule.computed[idx])
    first = min((hold.start for hold in holds), default=0)
    start_nodes = [hold.node for hold in holds if hold.start == first]
    if holds and not has_shape(problem.topology, start_nodes, problem.shape):
        return False
    times_are_right = _is_booking if outcome == BOOKED else _is_execution
    return times_are_right(problem, schedule, idx)


def _is_booking(problem: ReservationProblem, schedule: ReservationSchedule, idx: int) -> bool:
    job, holds, end = problem.jobs[idx], schedule.holds(idx), float(schedule.ends[idx])
    start = Fraction(end) - job.runtime
    return (
        all(hold.start == start and hold.end == end for hold in holds)
        and len(holds) == job.nodes
        and job.arrival <= start
        and end <= job.deadline
    )


def _is_execution(problem: ReservationProblem, schedule: ReservationSchedule, idx: int) -> bool:
    job, holds, end = problem.jobs[idx], schedule.holds(idx), float(schedule.ends[idx])
    if schedule.computed is None or (schedule.outcomes[idx] == SUCCESSFUL and not holds):
        return False
    if not problem.leaking and not (
        len({(hold.start, hold.end) for hold in holds}) == 1
        and len(holds) == job.nodes
        and holds[0].end - holds[0].start >= job.runtime - TOLERANCE
    ):
        return False
    times = [end, *(time for hold in holds for time in (hold.start, hold.end))]
    held = sum(hold.end - hold.start for hold in holds)
    return (
        job.arrival - TOLERANCE <= min(times)
        and max(times) <= job.deadline + TOLERANCE
        and end >= min((hold.start for hold in holds), default=end) - TOLERANCE
        and 0 <= schedule.computed[idx] <= held * (1 + 1e-9) + TOLERANCE
    )


def value(problem: ReservationProblem, schedule: ReservationSchedule, term: str) -> float:
    """Return a term in rational numbers, rounded once."""
    lost = {"unsuccessful": (REJECTED, CANCELLED)}.get(term, (REJECTED,))
    weights = naive_counts(problem, term)
    part = sum(w for w, outcome in zip(weights, schedule.outcomes, strict=True) if outcome in lost)
    return float(part / sum(weights)) if sum(weights) else 0.0


def mean_hops(topology: Topology, nodes: set[int]) -> float:
    """Return the mean pairwise distance of at least two nodes."""
    pairs = list(itertools.combinations(sorted(nodes), 2))
    return sum(topology.hop_distance(*pair) for pair in pairs) / len(pairs)
