"""The judge of reservations: feasibility, values and metrics, from the definitions alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.families import Term, imported, value_of
from allocsolve.judge.sums import are_sums
from allocsolve.model import BOOKED, CANCELLED, PROGRAM_KINDS, REJECTED, SUCCESSFUL, node_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import (
        BoolArray,
        FloatArray,
        IntArray,
        ReservationProblem,
        ReservationSchedule,
        ReservationShape,
        ReservationTerm,
        Topology,
        Value,
    )

#: Bits of each axis of the Hilbert curve, as in Slurm; more where a side needs more.
_CURVE_BITS: Final = 5

#: Counters in memory at a time, the number of sets times the side of an axis: 32 MB.
_MAX_COUNTERS: Final = 2**22


def curve_bits(topology: Topology) -> int:
    """Return the bits of each axis of the Hilbert curve on which runs are consecutive."""
    return max(_CURVE_BITS, *((side - 1).bit_length() for side in topology.shape))


def has_shape(topology: Topology, nodes: IntArray, shape: ReservationShape) -> bool:
    """Return whether distinct nodes have this shape; O(nodes * axes) once the curve is made."""
    if shape == "run":
        rank = np.empty(topology.num_nodes, dtype=np.int64)
        rank[node_order(topology, "hilbert", bits=curve_bits(topology))] = np.arange(topology.num_nodes)
        ranks = rank[nodes]
        return bool(ranks.max() - ranks.min() + 1 == len(nodes))
    if shape == "any":
        return True
    members = set(nodes.tolist())
    reached, front = {int(nodes[0])}, [int(nodes[0])]
    while front:
        near = [node for node in topology.neighbours(front.pop()) if node in members and node not in reached]
        reached.update(near)
        front += near
    return len(reached) == len(members)


def mean_hops(topology: Topology, offsets: IntArray, nodes: IntArray) -> FloatArray:
    """Return the mean pairwise hop distance of each set of nodes.

    Distances add up over the axes, and along an axis over the cuts between two nodes: a cut with s of the k
    nodes on one side lies between s (k - s) pairs. On a ring of n nodes, the n arcs of floor(n / 2) nodes
    take the place of cuts: the number of arcs that hold just one of two nodes is twice their distance.

    The nodes of set ``i`` are ``nodes[offsets[i]:offsets[i + 1]]``; one that is listed twice counts once.
    Shape (sets,), NaN for a set of fewer than two nodes.
    """
    count, num_nodes = len(offsets) - 1, topology.num_nodes
    of = np.repeat(np.arange(count), np.diff(offsets))
    pairs = np.unique(of * num_nodes + nodes)
    of, at = pairs // num_nodes, topology.coordinates(pairs % num_nodes)
    size = np.bincount(of, minlength=count)
    total = np.zeros(count)
    for along, side, ring in zip(at.T, topology.shape, topology.wrap, strict=True):
        step = max(1, _MAX_COUNTERS // side)
        for first in range(0, count, step):
            last = min(first + step, count)
            rows = slice(*np.searchsorted(of, [first, last]).tolist())
            cells = (of[rows] - first) * side + along[rows]
            held = np.bincount(cells, minlength=(last - first) * side).reshape(-1, side)
            below = np.cumsum(held, axis=1)
            whole = size[first:last, None]
            if ring:
                around = np.concatenate([np.zeros_like(whole), below, below + whole], axis=1)
                arcs = around[:, side // 2 : side // 2 + side] - around[:, :side]
                total[first:last] += (arcs * (whole - arcs)).sum(axis=1) / 2
            else:
                total[first:last] += (below * (whole - below)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(size > 1, total / (size * (size - 1) / 2), np.nan)


#: Seconds by which times of an execution, which are rounded, may be beyond a limit.
EXECUTION_TOLERANCE_S: Final = 1e-6

#: The least number of nodes of a job in each class of sizes.
SIZE_CLASSES: Final = (1, 2, 16, 64)


def reservation_violations(problem: ReservationProblem, schedule: ReservationSchedule) -> tuple[str, ...]:
    """Return what is wrong with a schedule; empty if it answers the problem.

    A booked job holds as many nodes as it asks for, in the shape of the problem, from one start on for its
    run time, between its arrival and its deadline; times are compared exactly, as they are whole seconds. A
    job that was executed holds the same for its run time or longer. If jobs may leak, it holds any nodes
    between arrival and deadline, and those on which it starts have the shape. It computes no longer than it
    holds nodes; whether its program takes that long is not recomputed. No node belongs to two jobs at a time.
    Messages name the job. O(holds log holds + jobs * axes * sides).
    """
    count = len(problem.jobs)
    if len(schedule.outcomes) != count:
        return (f"outcomes of {len(schedule.outcomes)} jobs, the problem has {count}",)
    nodes, num_nodes = schedule.nodes, problem.topology.num_nodes
    outside = np.flatnonzero((nodes < 0) | (nodes >= num_nodes))
    faults = [
        f"job {problem.names[schedule.job_of_hold[row]]!r}: node {nodes[row]} is not in 0..{num_nodes - 1}"
        for row in outside.tolist()
    ]
    if faults:
        return tuple(faults)
    for fault_of in (_rejected, _empty, _times_of_bookings, _times_of_executions, _shapes, _shared_nodes):
        faults += fault_of(problem, schedule)
    return tuple(faults)


def _lines(problem: ReservationProblem, wrong: BoolArray, fault: str) -> Iterator[str]:
    """Yield a line for each job that has a fault."""
    for idx in np.flatnonzero(wrong).tolist():
        yield f"job {problem.names[idx]!r} {fault}"


def _sizes(schedule: ReservationSchedule) -> IntArray:
    """Return the number of holds of each job."""
    return np.diff(schedule.offsets)


def _rejected(problem: ReservationProblem, schedule: ReservationSchedule) -> Iterator[str]:
    rejected = schedule.outcomes == REJECTED
    yield from _lines(problem, rejected & (_sizes(schedule) > 0), "is rejected and holds nodes")
    yield from _lines(problem, ~rejected & np.isnan(schedule.ends), "is accepted and has no end")
    if schedule.computed is not None:
        idle = rejected & (schedule.computed != 0)
        yield from _lines(problem, idle, "is rejected and computes")


def _empty(problem: ReservationProblem, schedule: ReservationSchedule) -> Iterator[str]:
    """Yield which holds end before they begin, and which successful jobs have no hold."""
    backward = np.flatnonzero(schedule.hold_starts >= schedule.hold_ends)
    for row in backward.tolist():
        name = problem.names[schedule.job_of_hold[row]]
        start, end = schedule.hold_starts[row], schedule.hold_ends[row]
        yield f"job {name!r} holds node {schedule.nodes[row]} from {start:.16g} to {end:.16g}"
    none = (schedule.outcomes == SUCCESSFUL) & (_sizes(schedule) == 0)
    yield from _lines(problem, none, "is successful and holds no node")


def _times_of_bookings(problem: ReservationProblem, schedule: ReservationSchedule) -> Iterator[str]:
    jobs = problem.packed
    booked = schedule.outcomes == BOOKED
    sizes = _sizes(schedule)
    for idx in np.flatnonzero(booked & (sizes != jobs.nodes)).tolist():
        yield f"job {problem.names[idx]!r} books {sizes[idx]} nodes, it asks for {jobs.nodes[idx]}"
    starts = np.where(booked, schedule.first_starts, 0)
    ends = np.where(booked, schedule.ends, 0)
    of = schedule.job_of_hold
    apart = np.zeros(len(booked), dtype=np.bool_)
    differs = (schedule.hold_starts != starts[of]) | (schedule.hold_ends != ends[of])
    np.logical_or.at(apart, of, differs)
    yield from _lines(problem, booked & apart, "books nodes for different times")
    for idx in np.flatnonzero(booked & (starts < jobs.arrival)).tolist():
        yield (
            f"job {problem.names[idx]!r} starts at {starts[idx]:.16g}, before its arrival {jobs.arrival[idx]}"
        )
    for idx in np.flatnonzero(booked & ~are_sums(ends, starts, jobs.runtime)).tolist():
        yield (
            f"job {problem.names[idx]!r} is booked from {starts[idx]:.16g} to {ends[idx]:.16g}, "
            f"its run time is {jobs.runtime[idx]}"
        )
    for idx in np.flatnonzero(booked & (ends > jobs.deadline)).tolist():
        yield f"job {problem.names[idx]!r} ends at {ends[idx]:.16g}, after its deadline {jobs.deadline[idx]}"


def _times_of_executions(problem: ReservationProblem, schedule: ReservationSchedule) -> Iterator[str]:
    jobs = problem.packed
    executed = (schedule.outcomes == SUCCESSFUL) | (schedule.outcomes == CANCELLED)
    earliest, latest = jobs.arrival - EXECUTION_TOLERANCE_S, jobs.deadline + EXECUTION_TOLERANCE_S
    of = schedule.job_of_hold
    beyond = np.zeros(len(executed), dtype=np.bool_)
    np.logical_or.at(beyond, of, (schedule.hold_starts < earliest[of]) | (schedule.hold_ends > latest[of]))
    yield from _lines(problem, executed & beyond, "holds nodes before its arrival or after its deadline")
    if not problem.leaking:
        yield from _lines(problem, executed & ~_is_booking(problem, schedule), "does not keep a booking")
    late = executed & ((schedule.ends > latest) | (schedule.ends < earliest))
    for idx in np.flatnonzero(late).tolist():
        window = f"{jobs.arrival[idx]} to {jobs.deadline[idx]}"
        yield f"job {problem.names[idx]!r} ends at {schedule.ends[idx]:.16g}, outside of {window}"
    early = executed & (schedule.ends < np.nan_to_num(schedule.first_starts) - EXECUTION_TOLERANCE_S)
    yield from _lines(problem, early, "ends before it starts")
    if schedule.computed is None:
        yield from _lines(problem, executed, "was executed, and the schedule says nothing of its computing")
    else:
        held = _held(schedule)
        wrong = (schedule.computed < 0) | (schedule.computed > held * (1 + 1e-9) + EXECUTION_TOLERANCE_S)
        for idx in np.flatnonzero(wrong).tolist():
            areas = f"{schedule.computed[idx]:.16g} node-seconds and holds {held[idx]:.16g}"
            yield f"job {problem.names[idx]!r} computes {areas}"


def _is_booking(problem: ReservationProblem, schedule: ReservationSchedule) -> BoolArray:
    """Return which jobs hold as many nodes as they ask for, all at once, for their run time or longer."""
    jobs, of = problem.packed, schedule.job_of_hold
    starts, ends = schedule.first_starts, np.full(len(schedule.outcomes), -np.inf)
    np.maximum.at(ends, of, schedule.hold_ends)
    booking: BoolArray = (_sizes(schedule) == jobs.nodes) & (
        ends - starts >= jobs.runtime - EXECUTION_TOLERANCE_S
    )
    apart = (schedule.hold_starts != starts[of]) | (schedule.hold_ends != ends[of])
    booking[of[apart]] = False
    return booking


def _held(schedule: ReservationSchedule) -> FloatArray:
    """Return the node-seconds that each job holds."""
    spans = schedule.hold_ends - schedule.hold_starts
    held = np.zeros(len(schedule.outcomes))
    np.add.at(held, schedule.job_of_hold, spans)
    return held


def _shapes(problem: ReservationProblem, schedule: ReservationSchedule) -> Iterator[str]:
    if problem.shape == "any":
        return
    starts = schedule.first_starts
    for idx in schedule.accepted.tolist():
        at = slice(schedule.offsets[idx], schedule.offsets[idx + 1])
        nodes = schedule.nodes[at][schedule.hold_starts[at] == starts[idx]]
        if len(nodes) and not has_shape(problem.topology, nodes, problem.shape):
            what = "connected" if problem.shape == "connected" else "consecutive on the Hilbert curve"
            yield f"job {problem.names[idx]!r}: its nodes are not {what}"


def _shared_nodes(problem: ReservationProblem, schedule: ReservationSchedule) -> Iterator[str]:
    order = np.lexsort((schedule.hold_starts, schedule.nodes))
    before, after = order[:-1], order[1:]
    same = schedule.nodes[before] == schedule.nodes[after]
    clash = same & (schedule.hold_starts[after] < schedule.hold_ends[before])
    of = schedule.job_of_hold
    for row in np.flatnonzero(clash).tolist():
        first, second = before[row], after[row]
        names = f"{problem.names[of[first]]!r} and {problem.names[of[second]]!r}"
        yield (
            f"node {schedule.nodes[first]} belongs to jobs {names} at {schedule.hold_starts[second]:.16g}, "
            f"the first has it until {schedule.hold_ends[first]:.16g}"
        )


@dataclass(frozen=True, slots=True)
class ReservationMetrics:
    """What a schedule is worth. Shares and means of nothing are 0."""

    #: The terms of objectives, see `allocsolve.model.ReservationProblem`.
    rejected: float
    rejected_area: float
    unsuccessful: float
    accepted_jobs: int
    successful_jobs: int  #: ended by themselves in an execution
    cancelled_jobs: int
    cancelled_share: float  #: cancelled jobs / accepted jobs
    accepted_area: float  #: node-seconds of the accepted jobs / those of all jobs
    #: Mean pairwise hop distance of all nodes that a job ever holds: mean over the accepted jobs that hold
    #: two or more.
    mean_hops: float
    mean_wait: float  #: start minus arrival in seconds: mean over the jobs that start
    #: Node-seconds that are held, and node-seconds of computing, / those of the machine from the first
    #: arrival to the last end.
    booked_utilisation: float
    computing_utilisation: float
    #: Accepted jobs / all jobs of 1, 2-15, 16-63 and at least 64 nodes; see `SIZE_CLASSES`.
    accepted_by_size: tuple[float, ...]
    #: Accepted jobs / all jobs, and cancelled jobs / accepted jobs, of the program kinds 0 to 3.
    accepted_by_kind: tuple[float, ...]
    cancelled_by_kind: tuple[float, ...]


def reservation_metrics(problem: ReservationProblem, schedule: ReservationSchedule) -> ReservationMetrics:
    """Return all metrics of a schedule. It need not be feasible, but its jobs and nodes must exist.

    Notes
    -----
    *Complexity*: O(holds log holds + jobs * axes * longest side).
    """
    jobs, outcomes = problem.packed, schedule.outcomes
    if len(outcomes) != len(problem.jobs):
        raise InvalidAnswer(f"outcomes of {len(outcomes)} jobs, the problem has {len(problem.jobs)}")
    if ((schedule.nodes < 0) | (schedule.nodes >= problem.topology.num_nodes)).any():
        raise InvalidAnswer(f"a node of the schedule is not in 0..{problem.topology.num_nodes - 1}")
    accepted, cancelled = outcomes != REJECTED, outcomes == CANCELLED
    area = jobs.nodes.astype(np.float64) * jobs.runtime
    hops = mean_hops(problem.topology, schedule.offsets, schedule.nodes)
    waits = schedule.first_starts - jobs.arrival
    ends = schedule.ends[~np.isnan(schedule.ends)]
    span = float(ends.max() - jobs.arrival.min()) if len(ends) else 0.0
    machine = problem.topology.num_nodes * span
    computed = 0.0 if schedule.computed is None else float(schedule.computed.sum())
    sizes = np.searchsorted(SIZE_CLASSES, jobs.nodes, side="right") - 1
    kinds = np.array([-1 if job.program is None else job.program for job in problem.jobs], int)

    def shares(part: BoolArray, whole: BoolArray, classes: IntArray, count: int) -> tuple[float, ...]:
        members = [whole & (classes == number) for number in range(count)]
        return tuple(_ratio(int((part & each).sum()), int(each.sum())) for each in members)

    everyone = np.ones(len(outcomes), dtype=np.bool_)
    return ReservationMetrics(
        rejected=_weighted_share(jobs.weight, outcomes == REJECTED),
        rejected_area=_weighted_share(jobs.weight * area, outcomes == REJECTED),
        unsuccessful=_weighted_share(jobs.weight, ~accepted | cancelled),
        accepted_jobs=int(accepted.sum()),
        successful_jobs=int((outcomes == SUCCESSFUL).sum()),
        cancelled_jobs=int(cancelled.sum()),
        cancelled_share=_ratio(int(cancelled.sum()), int(accepted.sum())),
        accepted_area=_ratio(float(area[accepted].sum()), float(area.sum())),
        mean_hops=_mean(hops[~np.isnan(hops)]),
        mean_wait=_mean(waits[~np.isnan(waits)]),
        booked_utilisation=_ratio(float(_held(schedule).sum()), machine),
        computing_utilisation=_ratio(computed, machine),
        accepted_by_size=shares(accepted, everyone, sizes, len(SIZE_CLASSES)),
        accepted_by_kind=shares(accepted, everyone, kinds, PROGRAM_KINDS),
        cancelled_by_kind=shares(cancelled, accepted, kinds, PROGRAM_KINDS),
    )


def _weighted_share(weights: FloatArray, part: BoolArray) -> float:
    """Return the part's share of the weights: the quotient of two correctly rounded sums."""
    return _ratio(math.fsum(weights[part].tolist()), math.fsum(weights.tolist()))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _term(name: ReservationTerm, title: str) -> Term[ReservationProblem]:
    capacity_bound = imported("allocsolve.bounds.reservation_capacity:reservation_capacity_bound")
    share = attrgetter(name.replace("-", "_"))
    return Term(
        *(name, title, "", lambda metrics: float(share(metrics))),
        bound=lambda problem: capacity_bound(problem, name),
        is_lost_share=True,
    )


#: What can be minimised of a schedule.
RESERVATION_TERMS: Final = (
    _term("rejected", "share of the jobs that are rejected"),
    _term("rejected-area", "share of the node-seconds of rejected jobs"),
    _term("unsuccessful", "share of the jobs that do not end in time"),
)


def reservation_value(
    problem: ReservationProblem, schedule: ReservationSchedule, objective: Sequence[str] = ("rejected",)
) -> Value:
    """Return the value of a schedule, to be minimised; see `allocsolve.model.ReservationProblem`."""
    return value_of(RESERVATION_TERMS, reservation_metrics(problem, schedule), objective)
