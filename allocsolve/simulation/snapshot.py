"""A queue at an instant as its users see it: who runs since when, who waits, with which limits."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.model import (
    MOLDABLE,
    RIGID,
    ClosedWindow,
    Jobs,
    WorkloadProblem,
    frozen,
    packed_machine,
    packed_places,
)
from allocsolve.model.packed_places import all_shapes, places_of
from allocsolve.model.places import SHAPE_FIELDS
from allocsolve.simulation.decisions import IllegalDecision
from allocsolve.simulation.forecast import starts_in_scenarios
from allocsolve.simulation.node_choice import NODE_CHOICES
from allocsolve.simulation.node_table import NodeTable, PlacesView
from allocsolve.simulation.view import NO_CHANGES, NO_JOBS, NO_PROFILES, JobColumns, QueueView

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.model import Amounts, FloatArray, IntArray, NodeType
    from allocsolve.simulation.node_choice import Pieces
    from allocsolve.simulation.node_table import NodeChunks
    from allocsolve.simulation.policy import PolicyLike


@dataclass(frozen=True, slots=True, eq=False)
class QueueSnapshot:
    """The rigid jobs that run or wait at an instant, without the future of any.

    This is the one way from a state of your own to what policies and forecasts take: `view` is what a policy
    sees, `allocsolve.prediction.when` and `starts` take the snapshot itself.

    `InvalidProblem` if shapes do not belong together, running jobs hold more nodes than there are, a queued
    job asks for more, or a time or limit is impossible; the message names the job.

    Parameters
    ----------
    num_nodes
        Nodes of the machine, >= 1.
    now
        Seconds, from any origin.
    running_nodes, running_starts, running_limits
        Shape (running,): nodes held, when each job started, and its limit, in seconds.
    nodes, submits, limits
        Shape (queued,): the jobs that wait, in the order in which the machine serves them.
    eligible
        Shape (queued,): before when a job must not start, in seconds; now or earlier if it may.
    closed
        When a part of the machine is closed, in seconds from the same origin; see
        `allocsolve.model.WorkloadProblem`. Jobs that run keep what they hold.
    resources
        Counted resources beside the nodes, and how much there is of each.
    running_needs, needs
        What each job needs of them, for all running and all queued jobs; nothing if left out.
    node_types
        If there are any, nodes are places, and `num_nodes` is how many there are.
    running_shapes, shapes
        What each job holds on them: the fields ``chunks``, ``each``, ``per_node``, ``exclusive`` and
        ``types`` of `allocsolve.model.Job`; without ``chunks`` whole nodes. The nodes of a job with chunks
        are the fewest on which it may lie.
    running_places
        Where each running job is: pairs of a node and how many chunks are there.

    Examples
    --------
    >>> from allocsolve.heuristics import Easy
    >>> state = QueueSnapshot(
    ...     num_nodes=4, now=5, running_nodes=[3], running_starts=[0], running_limits=[100],
    ...     nodes=[4, 1], submits=[1, 2], limits=[10, 50], eligible=[1, 2],
    ... )
    >>> [(start.job, start.nodes) for start in Easy().decide(state.view())]
    [(1, 1)]
    """

    num_nodes: int
    now: float
    running_nodes: IntArray
    running_starts: FloatArray
    running_limits: FloatArray
    nodes: IntArray
    submits: FloatArray
    limits: FloatArray
    eligible: FloatArray
    closed: tuple[ClosedWindow, ...] = ()
    resources: Mapping[str, int] | Amounts = ()
    running_needs: tuple[Mapping[str, int], ...] = ()
    needs: tuple[Mapping[str, int], ...] = ()
    node_types: tuple[NodeType, ...] = ()
    running_shapes: tuple[Mapping[str, Any], ...] = ()
    shapes: tuple[Mapping[str, Any], ...] = ()
    running_places: tuple[NodeChunks, ...] = ()
    #: Where the running jobs are, if nodes are places.
    pieces: Pieces | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("running_nodes", "nodes"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.int64)))
        for name in ("running_starts", "running_limits", "submits", "limits", "eligible"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.float64)))
        for fault in self._faults():
            raise InvalidProblem(fault)
        if self.node_types:
            self._place()

    def _place(self) -> None:
        """Find out where the running jobs are; refuse places that are not there."""
        told, count = [*self.running_places], len(self.running_nodes)
        if not len(told) == len(self.running_shapes) == count or len(self.shapes) != len(self.nodes):
            told_of = f"{len(told)} places, {len(self.running_shapes)} and {len(self.shapes)} shapes"
            raise InvalidProblem(f"{told_of} for {count} running and {len(self.nodes)} queued jobs")
        table = NodeTable(packed_places(self._problem()[0]))
        try:
            for job, places in enumerate(told):
                table.start(job, places)
        except IllegalDecision as fault:
            raise InvalidProblem(f"running {fault}") from None
        object.__setattr__(self, "pieces", table.pieces(range(count)))

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong, the first first."""
        running = (self.running_nodes, self.running_starts, self.running_limits)
        queued = (self.nodes, self.submits, self.limits, self.eligible)
        for what, columns in (("running", running), ("queued", queued)):
            shapes = {column.shape for column in columns}
            if len(shapes) > 1 or columns[0].ndim != 1:
                yield f"the columns of {what} jobs have the shapes {sorted(shapes)}"
        held = 0 if self.node_types else int(self.running_nodes.sum())
        if held > self.num_nodes:
            yield f"running jobs hold {held} nodes of a machine of {self.num_nodes}"
        checks = (
            ("running job", self.running_nodes >= 1, "nodes are below 1"),
            ("running job", self.running_starts <= self.now, "starts after now"),
            ("running job", self.running_limits > 0, "limit is not above 0"),
            ("queued job", self.nodes >= 1, "nodes are below 1"),
            (
                "queued job",
                self.nodes <= self.num_nodes,
                f"nodes are above those of the machine, {self.num_nodes}",
            ),
            ("queued job", self.submits <= self.now, "is submitted after now"),
            ("queued job", self.limits > 0, "limit is not above 0"),
            ("queued job", np.isfinite(self.eligible), "its earliest start is no time"),
        )
        for what, is_right, fault in checks:
            if not is_right.all():
                yield f"{what} {int(np.argmin(is_right))}: {fault}"

    @classmethod
    def of(cls, view: QueueView) -> QueueSnapshot:
        """Return the snapshot of a view, whose jobs must be rigid.

        `InvalidOption` if a job that runs or waits is not rigid, or is promised nodes.
        """
        jobs, queue, running = view.jobs, view.queue, view.running
        members = np.concatenate([running, queue, view.promises])
        other = members[jobs.kind[members] != RIGID]
        if len(other) or len(view.promises):
            job = int(other[0]) if len(other) else int(view.promises[0])
            raise InvalidOption(f"job {job} is not rigid: there is no interval for such jobs")
        return cls(
            view.num_nodes,
            view.now,
            view.held,
            jobs.start[running],
            jobs.estimate[running],
            jobs.nodes[queue],
            jobs.submit[queue],
            jobs.estimate[queue],
            jobs.submit[queue],
            **({} if view.places is None else view.places.snapshot(running, queue)),
        )

    def view(self) -> QueueView:
        """Return what a policy sees of it. Jobs have the numbers of their places in the queue; others run.

        Who must not start yet is not in the queue. `InvalidOption` if the machine has counted resources or
        closed windows, which a view does not show. O(running jobs log running jobs + queued jobs).
        """
        if self.closed or self.resources:
            raise InvalidOption("a view shows neither closed windows nor counted resources")
        ends = np.maximum(self.running_starts + self.running_limits, self.now)
        order = np.argsort(ends, kind="stable")
        queue = np.column_stack([self.submits, self.nodes, self.nodes, self.limits])
        running = np.column_stack([ends, self.running_nodes])[order]
        idle = max(self.num_nodes - int(self.running_nodes.sum()), 0)
        view = stateless_view(self.now, self.num_nodes, idle, queue, running)
        jobs = view.jobs._replace(
            estimate=frozen(np.append(self.limits, self.running_limits[order])),
            runtime=frozen(np.full(len(view.jobs.submit), np.nan)),
            start=frozen(np.append(np.full(len(queue), np.nan), self.running_starts[order])),
        )
        eligible = frozen(np.flatnonzero(self.eligible <= self.now))
        places = None if self.pieces is None else self._places(self.pieces, order)
        free = idle if places is None else places.idle
        return dataclasses.replace(view, queue=eligible, jobs=jobs, free=free, places=places)

    def _places(self, pieces: Pieces, order: IntArray) -> PlacesView:
        """Return what is shown of the nodes if jobs that wait come first, then those that run in an order."""
        jobs, count = self._problem()[0].jobs, len(self.running_nodes)
        columns = np.concatenate([np.arange(count, len(jobs)), order])
        given = places_of(self.node_types, jobs)
        table = NodeTable(given)
        for job in range(count):
            table.hold(job, pieces.spots(job))
        return PlacesView(
            node_types=self.node_types,
            given=given._replace(shape=frozen(given.shape[columns])),
            shapes=tuple(dict.fromkeys(all_shapes(jobs))),
            mix=frozen(np.bincount(given.shape, minlength=len(given.chunks))),
            choice=NODE_CHOICES[0],
            free=frozen(table.free),
            occupants=frozen(table.occupants),
            pieces=table.pieces(order.tolist()),
        )

    def starts(self, policy: PolicyLike, running_times: FloatArray, run_times: FloatArray) -> FloatArray:
        """Return when each queued job starts if jobs run so long, and no more are submitted.

        What a policy keeps from call to call, such as reservations, it makes now, in the order of the queue:
        it does not matter when jobs were submitted, but to a policy whose order tells that.

        The policy sees limits, not run times. These are whole run times, in seconds, of the shapes (running,)
        and (queued,), or (scenarios, running) and (scenarios, queued); a running job ends a moment after now
        at the earliest. Shape of `run_times`, seconds; NaN for a job that the policy never starts.
        """
        if not len(self.nodes):
            return np.empty(run_times.shape)
        count = len(self.running_nodes)
        problem, origin = self._problem()
        begun = problem.jobs.packed.submit[:count] + origin
        before = begun - self.running_starts  # who has started now counts as started a moment before
        over = np.maximum(np.atleast_2d(running_times) - before, self.now - begun + _MOMENT_S)
        runtimes = frozen(np.column_stack([over, np.atleast_2d(run_times)]))
        told = starts_in_scenarios(
            problem, np.arange(count), self.now - origin, policy, runtimes, pieces=self.pieces
        )
        starts: FloatArray = np.maximum(told[:, count:] + origin, self.now)
        return starts.reshape(run_times.shape)

    def first_open(self, starts: FloatArray) -> FloatArray:
        """Return when each queued job can start at the earliest, whoever runs: windows are closed to it.

        It is not before `starts`, shape (queued, n), in seconds, of which infinite and NaN ones stay as they
        are: from these times on what is open is enough for the job until its limit. Same shape.
        """
        if not self.closed or not len(self.nodes):
            return starts
        problem, origin = self._problem()
        machine, count = packed_machine(problem), len(self.running_nodes)
        first = starts - origin
        ends = np.append(machine.times[1:], np.inf)
        for job, times in enumerate(first):
            rows = slice(machine.offsets[count + job], machine.offsets[count + job + 1])
            short = (machine.capacity[:, machine.resource[rows]] < machine.amount[rows]).any(axis=1)
            for step in np.flatnonzero(short).tolist():
                meets = (times < ends[step]) & (times + self.limits[job] > machine.times[step])
                times[meets] = ends[step]
        return first + origin

    def _problem(self) -> tuple[WorkloadProblem, float]:
        """Return the jobs that run, then those that wait, as a workload, and the time of its second 0.

        Whoever waits keeps his place in the queue, by submissions in that order; who must not start yet is
        submitted when he may. Times are as they are, so that what a policy does at multiples of an interval
        it does then; only those before 0 are moved, by a multiple of usual intervals.
        """
        first = np.minimum.accumulate(self.submits[::-1])[::-1]
        arrival = np.where(self.eligible > self.now, self.eligible, first)
        begun = np.minimum(self.running_starts, self.now - _MOMENT_S)
        earliest = min(float(begun.min(initial=self.now)), float(arrival.min(initial=self.now)))
        origin = min(math.floor(earliest / _SHIFT_S) * _SHIFT_S, 0.0)
        limits = np.concatenate([self.running_limits + (self.running_starts - begun), self.limits])
        rows = [*self.running_shapes, *self.shapes]
        columns: dict[str, Any] = {what: [row.get(what) for row in rows] or None for what in SHAPE_FIELDS}
        return WorkloadProblem(
            self.num_nodes,
            Jobs(
                np.concatenate([begun, arrival]) - origin,
                np.concatenate([self.running_nodes, self.nodes]),
                limits,
                limits,
                needs=[*self.running_needs, *self.needs] or None,
                **columns,
            ),
            node_types=self.node_types,
            resources=self.resources,
            closed=[
                ClosedWindow(window.start - origin, window.end - origin, window.amounts)
                for window in self.closed
            ],
        ), origin


#: A running job has started so much before now at the latest, and ends so much after it at the earliest, in
#: seconds: at the instant at which the policy is called first nothing happens but what it decides.
_MOMENT_S = 1.0
#: 77 days, a multiple of all whole seconds up to 12 and of all that divide a day.
_SHIFT_S = 6_652_800
#: Of what the columns of jobs are arrays.
_KINDS = JobColumns.__annotations__


def stateless_view(
    now: float,
    num_nodes: int,
    free: int,
    queue: Sequence[tuple[float, int, int, float]] | FloatArray,
    running: Sequence[tuple[float, int]] | FloatArray,
) -> QueueView:
    """Return a view of rigid and moldable jobs, numbered anew: those that wait, then those that run.

    The queue is in the order in which the policy is to see it: of each job its submission, its fewest and its
    most nodes, and how long it is expected to run, on however many. Of running jobs, rising, it is told when
    each will end, and its nodes; such a job is shown as if it had started now, for the time that it has left.
    Why the policy is called, and who a job is of, a snapshot does not say. O(queued and running jobs).

    Examples
    --------
    >>> view = stateless_view(5, 4, 1, [(0, 4, 4, 10)], [(100, 3)])
    >>> view.queue.tolist(), view.running.tolist(), view.expected_ends.tolist(), view.jobs.estimate.tolist()
    ([0], [1], [100.0], [10.0, 95.0])
    """
    waiting, count = len(queue), len(queue) + len(running)
    # submissions, fewest and most nodes, expected seconds, starts
    rows = np.full((5, count), now, dtype=float)
    rows[:4, :waiting] = np.array(queue, dtype=float).reshape(waiting, 4).T
    rows[4, :waiting] = np.nan
    ends, held = np.array(running, dtype=float).reshape(-1, 2).T
    rows[1:3, waiting:], rows[3, waiting:] = held, ends - now
    submit, _, _, expected, start = frozen(rows)
    nodes, largest = frozen(rows[1:3].astype(np.int64))
    zeros, naughts = frozen(np.zeros(count, dtype=np.int64)), frozen(np.zeros(count))
    # What such columns do not tell is 0.
    columns: Any = {name: zeros if kind == "IntArray" else naughts for name, kind in _KINDS.items()}
    jobs = JobColumns(**columns)._replace(
        submit=submit,
        nodes=nodes,
        min_nodes=nodes,
        max_nodes=largest,
        runtime=expected,
        estimate=expected,
        start=start,
        end=frozen(np.full(count, np.nan)),
        weight=frozen(np.ones(count)),
        kind=frozen(np.where(nodes < largest, MOLDABLE, RIGID)),
        size_step=frozen(np.ones(count, dtype=np.int64)),
        user=frozen(np.full(count, -1)),
        table_offsets=frozen(np.zeros(count + 1, dtype=np.int64)),
        table_nodes=NO_JOBS,
        table_seconds=frozen(np.empty(0)),
    )
    return QueueView(
        now=float(now),
        woken=False,
        num_nodes=num_nodes,
        free=free,
        queue=frozen(np.arange(waiting)),
        running=frozen(np.arange(waiting, count)),
        expected_ends=frozen(ends.copy()),
        held=nodes[waiting:],
        targets=nodes[waiting:],
        completed=NO_JOBS,
        submitted=NO_JOBS,
        jobs=jobs,
        profiles=NO_PROFILES,
        **NO_CHANGES,
    )
