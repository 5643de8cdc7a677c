"""Static admission: each job is accepted or rejected as it arrives (Linnert et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem, UnsupportedProblem
from allocsolve.heuristics.partition.allocator import pieces
from allocsolve.heuristics.reservation.shapes import ALLOCATORS, COUNT_ONLY, Allocator, Rule, rule_of
from allocsolve.heuristics.reservation.timetable import Requests, Timetable, labelled_nodes, sort_sets
from allocsolve.model import (
    BOOKED,
    MAX_INTEGER,
    REJECTED,
    RESERVATION_SHAPES,
    Clock,
    Limit,
    ReservationSchedule,
    Result,
    Status,
    Topology,
    frozen,
)
from allocsolve.model.arrays import packed_integers
from allocsolve.model.checks import choice, instance
from allocsolve.model.options import Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import Budget, IntArray, ReservationProblem, ReservationShape


class Admission(NamedTuple):
    """Which jobs were accepted, when they start, and on which nodes."""

    #: Shape (jobs,), seconds; -1 for rejected jobs.
    starts: IntArray
    #: Shape (jobs + 1,): the nodes of job ``j`` are ``nodes[offsets[j]:offsets[j + 1]]``.
    offsets: IntArray
    #: Node ids, increasing for each job.
    nodes: IntArray


def admit(
    topology: Topology,
    arrival: Sequence[int] | IntArray,
    nodes: Sequence[int] | IntArray,
    runtime: Sequence[int] | IntArray,
    deadline: Sequence[int] | IntArray,
    allocator: str | Allocator = "hilbert",
    *,
    shape: ReservationShape = "any",
) -> Admission:
    """Accept or reject jobs as they arrive, by which nodes an allocator finds free.

    A job is tried at its arrival and then, in order, at the ends of the bookings made so far that lie between
    its arrival and its deadline minus its run time. It books the nodes that the allocator chooses from those
    that are free from there on throughout its run time, at the first start for which there are any, and is
    rejected if there is none.

    `InvalidProblem` if the columns are no jobs of the machine; `UnsupportedProblem` if jobs are accepted by
    count and the shape is not ``any``; `InvalidAnswer` if a function takes nodes that are not free, or not
    the number that it was asked for.

    Parameters
    ----------
    arrival, nodes, runtime, deadline
        Shape (jobs,): as of `allocsolve.model.DeadlineJob`. Arrivals never fall.
    allocator
        ``hilbert``
            The first run of free nodes on the Hilbert curve, as `first_fit_run`.
        ``any``
            The free nodes of least id.
        ``count``
            Jobs are accepted by how many nodes are free, whichever these are. The accepted ones get theirs
            afterwards, in order of their starts those that were left last: there are always enough.
        ``growth``
            Greedy growth from the free nodes by id, as `growth`.
        ``literal``
            The same, but busy nodes compete to be taken: where one is chosen, the growth from this seed ends.
            So the set is that which would be grown from its seed on the empty machine. Among equals the one
            that was met first. The recommended reading of Fig. 8.
        ``literal-set``
            The same, but all equals are taken at once: those that are free, while at least one is; a busy one
            that was passed over competes no more. The last set is cut to what is needed.
        ``literal-exact``
            The same, but a last set of more free nodes than needed ends the growth.
        ``growth-one``, ``literal-one``, ``literal-set-one``, ``literal-exact-one``
            The same, but only the first free node is a seed: Fig. 8 word by word.
        ``town``
            The cheapest growth from all free nodes, as ``growth(..., seeds="all")``.
        ``manhattan-median``
            The method of Bender et al., as `manhattan_median`.

        Or any function from a topology, the mask of free nodes (read-only) and a number of nodes to the nodes
        it takes, or to None; it is called where at least that number of nodes is free.
        ``allocsolve.registry.make_allocator`` makes one from the name of any solver of partition problems.
    shape
        What sets of nodes may be booked, see `allocsolve.model.ReservationProblem`. A set that has not the
        shape counts as none: the next start is tried.

    Notes
    -----
    *Guarantee*: none on what is accepted. With ``hilbert``, ``any``, ``count``, ``growth`` and ``literal``,
    if any shape will do, the start is the earliest of all at which the job has nodes, not just of those that
    are tried: at a start between two of these no other nodes are free than at the one before, and a rule that
    has nodes still has some if more are free.
    *Complexity*: per job O(segments * words) for all its starts together, words being nodes / 64 and segments
    those between its arrival and its deadline, and the choice of nodes for each start with enough of them.
    The past is dropped, so that the memory beside the answer is that of the bookings which have not ended.

    References
    ----------
    Linnert et al. 2024, sections 3.1 and 3.2, Fig. 6 and 8.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> arrival, nodes, runtime, deadline = [0, 0, 0, 5], [3, 2, 4, 1], [10, 5, 5, 5], [10, 20, 14, 10]
    >>> admit(Mesh((2, 2)), arrival, nodes, runtime, deadline).starts.tolist()
    [0, 10, -1, 5]
    """
    rule = _rule(allocator, choice("shape", shape, RESERVATION_SHAPES))
    requests = _requests(instance("topology", topology, Topology), arrival, nodes, runtime, deadline)
    return _admitted(Timetable(topology, topology.num_nodes, rule, shape, 0), requests, Clock(math.inf))[0]


@dataclass(frozen=True, slots=True)
class Static(Options):
    """Accept or reject each job at its arrival by which nodes are free: see `admit`.

    Parameters
    ----------
    allocator
        One of the names that `admit` describes, or a name that `allocators` knows.
    allocators
        From other names to functions as `admit` takes them. That of the registry, which
        ``make_solver("static(allocator=...)")`` gives, knows all solvers of partition problems.

    Notes
    -----
    *Guarantee*, *complexity*, *references*: as `admit`. When the time is up, jobs that have not been tried
    are rejected.

    Examples
    --------
    >>> from allocsolve.model import Budget, DeadlineJob, Mesh, ReservationProblem
    >>> jobs = [DeadlineJob(0, 3, 10, 10), DeadlineJob(0, 2, 5, 20), DeadlineJob(0, 4, 5, 14)]
    >>> schedule = Static()(ReservationProblem(Mesh((2, 2)), jobs), Budget()).answer
    >>> schedule.outcomes.tolist(), schedule.first_starts.tolist()
    ([1, 1, 0], [0.0, 10.0, nan])
    """

    allocator: str = "hilbert"
    allocators: Callable[[str], Allocator] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        rule_of(self._allocator())

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Admit jobs until the time of the budget is up.

        `UnsupportedProblem` if jobs are accepted by count and the problem asks for a shape.
        """
        clock = budget.start()
        rule = _rule(self._allocator(), problem.shape)
        topology, jobs = problem.topology, problem.packed
        requests = Requests(jobs.arrival, jobs.nodes, jobs.runtime, jobs.deadline)
        timetable = Timetable(topology, topology.num_nodes, rule, problem.shape, 0)
        (starts, offsets, nodes), limit = _admitted(timetable, requests, clock)
        outcomes = frozen(np.where(starts < 0, REJECTED, BOOKED))
        answer = ReservationSchedule.of_sets(problem, outcomes, starts, offsets, nodes)
        return Result(Status.FEASIBLE, answer, limit=limit, runtime=clock.elapsed)

    def _allocator(self) -> str | Allocator:
        """Return the allocator of the name: one of `admit`, or a function."""
        if self.allocator in ALLOCATORS or self.allocators is None:
            return self.allocator
        return self.allocators(self.allocator)


def _rule(allocator: str | Allocator, shape: ReservationShape) -> Rule:
    rule = rule_of(allocator)
    if rule.number == COUNT_ONLY and shape != "any":
        msg = f"the allocator count knows no shapes: it cannot give sets of nodes that are {shape!r}"
        raise UnsupportedProblem(msg)
    return rule


def _admitted(timetable: Timetable, requests: Requests, clock: Clock) -> tuple[Admission, Limit | None]:
    """Admit jobs until the time is up; return the admission, and the limit that ended it, if any."""
    jobs = len(requests.arrival)
    starts = np.full(jobs, -1, dtype=np.int64)
    offsets = np.zeros(jobs + 1, dtype=np.int64)
    nodes = np.empty(int(requests.size.sum()), dtype=np.int64)
    done = 0
    for piece in pieces(jobs, clock):
        timetable.admit(requests, piece, starts, offsets, nodes)
        done = piece.stop
    offsets[done + 1 :] = offsets[done]
    frozen(starts)
    frozen(offsets)
    if timetable.rule.number == COUNT_ONLY:
        nodes = labelled_nodes(starts, requests.runtime, offsets, timetable.num_nodes)
    nodes = nodes[: offsets[-1]].copy()
    sort_sets(timetable.num_nodes, offsets, nodes)
    return Admission(starts, offsets, frozen(nodes)), Limit.TIME if done < jobs else None


def _requests(topology: Topology, *columns: Sequence[int] | IntArray) -> Requests:
    """Check columns of jobs, and return them as read-only arrays."""
    names = ("arrival", "nodes", "runtime", "deadline")
    try:
        arrays = [packed_integers(column, name) for name, column in zip(names, columns, strict=True)]
    except InvalidAnswer as error:
        raise InvalidProblem(str(error)) from None
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        msg = f"columns of jobs have the shapes {[array.shape for array in arrays]}, not one shape (jobs,)"
        raise InvalidProblem(msg)
    highest = (MAX_INTEGER, topology.num_nodes, MAX_INTEGER, MAX_INTEGER)
    for name, array, low, high in zip(names, arrays, (0, 1, 1, 0), highest, strict=True):
        strange = (array < low) | (array > high)
        if strange.any():
            idx = int(np.argmax(strange))
            raise InvalidProblem(f"job {idx}: {name} {array[idx]} is not in {low}..{high}")
    arrival = arrays[0]
    if (falls := np.flatnonzero(arrival[1:] < arrival[:-1])).size:
        idx = int(falls[0]) + 1
        msg = (
            f"job {idx}: arrival {arrival[idx]} is before that of the job in front of it, {arrival[idx - 1]}"
        )
        raise InvalidProblem(msg)
    return Requests(*arrays)
