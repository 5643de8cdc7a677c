"""Who starts now: the queue policies as functions on arrays, for simulators with a state of their own.

They decide as the policies of the engine do, by the same kernels; nothing is kept from call to call.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.heuristics.workload._kernels_queue import (
    ORDER_CODES,
    RESERVING,
    SLURM,
    Blocked,
    Estimates,
    one_pass,
    score_of,
)
from allocsolve.heuristics.workload._kernels_reservations import planning_pass
from allocsolve.heuristics.workload.policies import (
    ALL_JOBS,
    QUEUE_ORDERS,
    Easy,
    Fcfs,
    FirstFit,
    QueueOrder,
    queue_rule,
)
from allocsolve.heuristics.workload.slurm_backfill import SlurmBackfill
from allocsolve.kernels import kernel
from allocsolve.kernels.free_nodes import new_free_nodes
from allocsolve.model.checks import choice, integer, moment, shown
from allocsolve.model.packed_jobs import PackedJobs
from allocsolve.simulation.kernels import initial_state

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as Array, NDArray

    from allocsolve.heuristics.workload._kernels_queue import QueueRule
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray
    from allocsolve.simulation.kernels import State

#: A kind of `QueueRule` beside those of the policies: nobody starts, jobs get their scores.
SCORES: Final = -1
#: What `starts_now` returns for columns that are none of a queue.
REFUSED: Final = -1


class Room(NamedTuple):
    """What a call works in, with room for its jobs; made once, and used again and again."""

    state: State
    free: FreeNodes
    #: Shape (jobs,) at least: the scores of jobs, written; what rigid jobs are like, all zeros and all ones.
    scores: FloatArray
    zeros: IntArray
    ones: IntArray


@kernel
def starts_now(
    now: float,
    free: int,
    nodes: IntArray,
    limits: FloatArray,
    submits: FloatArray,
    running_nodes: IntArray,
    running_ends: FloatArray,
    by_end: IntArray,
    rule: QueueRule,
    room: Room,
) -> int:
    """Return how many jobs start, the first of ``room.state.started``, by their places in the queue.

    `by_end` are the running jobs by their expected ends. `REFUSED` if a column has what cannot be.
    """
    state, engine, zeros, most = room.state, room.state.engine, room.zeros, free
    for at in range(len(by_end)):
        held, end = running_nodes[by_end[at]], running_ends[by_end[at]]
        most += held
        if not (held >= 0 and end >= end):  # noqa: PLR0124 - not of NaN
            return REFUSED
        state.held[at].key, state.held[at].job, state.held[at].nodes = end, 0, held
    for job in range(len(nodes)):
        if not (1 <= nodes[job] <= most and limits[job] > 0):
            return REFUSED
        state.queue[job] = job
    if free < 0:
        return REFUSED
    rest = zeros, limits, zeros, zeros, limits, zeros, zeros, room.ones
    jobs = PackedJobs(submits, nodes, nodes, nodes, limits, limits, limits, *rest)
    estimates = Estimates(limits, limits, limits, room.scores, zeros, limits)
    engine.clock, engine.free, engine.ordered = now, free, 1
    engine.first, engine.last, engine.head, engine.tail = 0, len(by_end), 0, len(nodes)
    engine.running = engine.started = engine.completed = engine.submitted = 0
    if rule.kind == SCORES:
        for job in range(len(nodes)):
            room.scores[job] = score_of(jobs, job, limits[job], now, rule.order)
    elif rule.kind in (RESERVING, SLURM):
        if rule.kind == SLURM:  # a plan has whole steps, which infinite times have not
            for job in range(len(nodes)):
                limits[job] = min(limits[job], 2.0**53)
        planning_pass(jobs, state, estimates, rule, room.free)
    else:
        one_pass(jobs, state, estimates, rule, Blocked(zeros, room.scores, zeros), 0)
    return int(engine.started)


def easy_starts(
    now: float,
    free: int,
    queue_nodes: Array,
    queue_limits: Array,
    running_nodes: Array,
    running_ends: Array,
    *,
    reservations: int | Literal["all"] = 1,
    extra_nodes: bool = True,
    strict: bool = False,
    scan_limit: int | None = None,
) -> IntArray:
    """Return who starts now under EASY backfilling, as `Easy` decides.

    `InvalidProblem`, in one line, if columns differ in length or hold what cannot be, or if a job asks for
    more than is free and held together: it could never start, and others would wait for it. Who has nodes
    that are down leaves out the jobs that need them.

    Parameters
    ----------
    now
        Seconds.
    free
        Nodes, or cores or GPUs, that can be used and that no job holds.
    queue_nodes, queue_limits
        Shape (queued,): jobs that wait, in the order of the queue; nodes, and how long each is expected to
        run, in seconds; infinite if nobody knows.
    running_nodes, running_ends
        Shape (running,), in any order: nodes held, and when each job is expected to end, in seconds.
    reservations, extra_nodes, strict, scan_limit
        As of `Easy`, which says what is guaranteed and from where it is.

    Returns
    -------
    IntArray
        Places in the queue, in the order in which the jobs start.

    Notes
    -----
    A job that runs longer than expected is expected to end now. The queue may be in any order, such as one of
    `queue_order`. *Complexity*: 10 microseconds for 100 jobs that wait and 100 that run; O(running jobs log
    running jobs + queue), with more than one reservation as `Easy`. Threads may call at the same time.

    Examples
    --------
    Of 4 nodes 3 are held until 100. The head needs 4; who ends by then may start, and who does not may not:

    >>> easy_starts(1, 1, [4, 1, 1], [10, 200, 50], running_nodes=[3], running_ends=[100])
    array([2])
    """
    rule = _easy(reservations=reservations, extra_nodes=extra_nodes, strict=strict, scan_limit=scan_limit)
    return _starts(rule, now, free, queue_nodes, queue_limits, running_nodes, running_ends)


def conservative_starts(
    now: float, free: int, queue_nodes: Array, queue_limits: Array, running_nodes: Array, running_ends: Array
) -> IntArray:
    """Return who starts now under conservative backfilling, as `Easy` decides with ``reservations="all"``.

    Parameters, result and errors are those of `easy_starts`. No reservation is kept from call to call, so a
    job may get later than an earlier plan had it: `allocsolve.adaptors.PolicyDriver` remembers reservations.

    Notes
    -----
    *Guarantee*: no job that starts delays one before it in the queue, as far as is known now. Called at each
    event, where no job runs longer than expected, it gives the schedule of `Conservative` with compression
    ``replan``. *Complexity*: O(running jobs + queue x steps of the plan).

    Examples
    --------
    The head is planned at 100 on 3 of 4 nodes, and who needs all of them when it has ended, at 110. The last
    job may not delay that, for which EASY does not care:

    >>> queue, running = ([3, 4, 1], [10, 10, 200]), ([3], [100])
    >>> conservative_starts(1, 1, *queue, *running), easy_starts(1, 1, *queue, *running)
    (array([], dtype=int64), array([2]))
    """
    rule = _easy(reservations="all")
    return _starts(rule, now, free, queue_nodes, queue_limits, running_nodes, running_ends)


def slurm_backfill_starts(
    now: float,
    free: int,
    queue_nodes: Array,
    queue_limits: Array,
    running_nodes: Array,
    running_ends: Array,
    *,
    bf_interval: int = 30,
    bf_window: int = 1440,
    bf_resolution: int = 60,
    bf_max_job_test: int = 500,
) -> IntArray:
    """Return who starts now under Slurm's two schedulers, as `SlurmBackfill` decides; times are in seconds.

    Heads start in every call, others only when `now` is a multiple of `bf_interval`. So a simulator in which
    jobs wait calls at ``(now // bf_interval + 1) * bf_interval``, too: without these *wake-ups* jobs are
    backfilled by chance only.

    Parameters, result and errors are those of `easy_starts`, the options those of `SlurmBackfill`.

    Examples
    --------
    Of 4 nodes 3 are held until 100; the last job may start before the head, but at 30 only:

    >>> [slurm_backfill_starts(now, 1, [4, 1], [10, 25], [3], [100]).tolist() for now in (1, 30)]
    [[], [1]]
    """
    rule = _slurm(bf_interval, bf_window, bf_resolution, bf_max_job_test)
    return _starts(rule, now, free, queue_nodes, queue_limits, running_nodes, running_ends)


def first_fit_starts(
    now: float, free: int, queue_nodes: Array, queue_limits: Array, running_nodes: Array, running_ends: Array
) -> IntArray:
    """Return who starts now if every job starts that fits, in the order of the queue, as `FirstFit` decides.

    Parameters, result and errors are those of `easy_starts`; of limits and running jobs nothing depends.

    Examples
    --------
    >>> first_fit_starts(1, 3, [4, 1, 3, 2], [10, 10, 10, 10], [1], [100])
    array([1, 3])
    """
    return _starts(_FIRST_FIT, now, free, queue_nodes, queue_limits, running_nodes, running_ends)


def fcfs_starts(
    now: float, free: int, queue_nodes: Array, queue_limits: Array, running_nodes: Array, running_ends: Array
) -> IntArray:
    """Return who starts now if nobody overtakes: jobs from the head on, while they fit, as `Fcfs` decides.

    Parameters, result and errors are those of `easy_starts`; of limits and running jobs nothing depends.

    Examples
    --------
    >>> fcfs_starts(1, 3, [1, 1, 3, 1], [10, 10, 10, 10], [1], [100])
    array([0, 1])
    """
    return _starts(_FCFS, now, free, queue_nodes, queue_limits, running_nodes, running_ends)


def queue_order(order: QueueOrder, now: float, nodes: Array, limits: Array, submits: Array) -> IntArray:
    """Return the queue in an order of the engine: the places of jobs among those given, the first one first.

    Parameters
    ----------
    order
        See `allocsolve.heuristics.workload.policies.QueueOrder`; ``shortest-estimate`` is SJF.
    now
        Seconds; ``wfp3`` and ``unicef`` change with time, so that they are asked for at each call.
    nodes, limits, submits
        Shape (queued,): nodes; how long jobs are expected to run, and when they were submitted, in seconds.

    Notes
    -----
    Ties go to the job that was submitted first, then to the one given first. *Complexity*: O(n log n).

    Examples
    --------
    >>> nodes, limits = np.array([4, 1, 1]), np.array([10, 200, 50])
    >>> order = queue_order("shortest-estimate", 1, nodes, limits, submits=[0, 0, 1])
    >>> order, order[easy_starts(1, 1, nodes[order], limits[order], [3], [100])]
    (array([0, 2, 1]), array([2]))
    """
    rule = queue_rule(SCORES, order=ORDER_CODES[choice("order", order, QUEUE_ORDERS)])
    wide, long = _jobs(nodes=nodes, limits=limits)
    _, since = _jobs(nodes=nodes, submits=submits)
    clock, nobody, room = moment("now", now), (wide[:0], long[:0], wide[:0]), _taken(len(wide))
    count = starts_now(clock, ALL_JOBS, wide, long, since, *nobody, rule, room)
    places: IntArray = np.lexsort((since, room.scores[: len(wide)]))
    _rooms.append(room)
    if count == REFUSED:
        _refuse("nodes", wide, wide < 1, "is not at least 1")
        _refuse("limits", long, ~(long > 0), "is not above 0")
    return places


_FIRST_FIT: Final = FirstFit().queue_policy.rule
_FCFS: Final = Fcfs().queue_policy.rule


@functools.lru_cache(typed=True)
def _easy(**options: Any) -> QueueRule:  # noqa: ANN401 - `Easy` checks them
    return Easy(**options).queue_policy.rule


@functools.lru_cache(typed=True)
def _slurm(*options: Any) -> QueueRule:  # noqa: ANN401 - `SlurmBackfill` checks them
    return SlurmBackfill(*options).queue_policy.rule


def _starts(rule: QueueRule, now: float, free: int, *columns: Array) -> IntArray:
    """Return who starts now under a rule; the columns are those of `easy_starts`."""
    queue_nodes, queue_limits, running_nodes, running_ends = columns
    nodes, limits = _jobs(queue_nodes=queue_nodes, queue_limits=queue_limits)
    held, ends = _jobs(running_nodes=running_nodes, running_ends=running_ends)
    clock, idle = moment("now", now), integer("free", free)
    room = _taken(len(nodes) + len(held))
    count = starts_now(clock, idle, nodes, limits, limits, held, ends, ends.argsort(), rule, room)
    starts: IntArray = room.state.started[: max(count, 0)].copy()
    _rooms.append(room)
    if count == REFUSED:
        if idle < 0:
            raise InvalidProblem(f"free {idle} is negative")
        _refuse("running_nodes", held, held < 0, "is negative")
        _refuse("running_ends", ends, np.isnan(ends), "is no time")
        _refuse("queue_nodes", nodes, nodes < 1, "is not at least 1")
        _refuse("queue_limits", limits, ~(limits > 0), "is not above 0")
        most = idle + int(held.sum())
        _refuse("queue_nodes", nodes, nodes > most, f"can never start: {most} are free or held")
    return starts


def _refuse(name: str, column: NDArray[Any], is_wrong: NDArray[np.bool_], fault: str) -> None:
    """Refuse the first number of a column with which something is wrong."""
    if is_wrong.any():
        at = int(np.argmax(is_wrong))
        raise InvalidProblem(f"{name}[{at}] {column[at]} {fault}")


#: Rooms that no call works in: a call takes one and puts it back, so that two threads never share one.
_rooms: Final[list[Room]] = []


def _taken(count: int) -> Room:
    """Return a room for so many jobs, which the caller puts back."""
    with contextlib.suppress(IndexError):  # where there is none
        room = _rooms.pop()
        if count <= len(room.ones):
            return room
    size = max(2 * count, 256)
    return Room(
        state=initial_state(0, np.empty(0), ordered=True, num_jobs=size),
        free=new_free_nodes(0, 2 * size),
        scores=np.zeros(size),
        zeros=np.zeros(size, dtype=np.int64),
        ones=np.ones(size, dtype=np.int64),
    )


def _jobs(**columns: Array) -> tuple[IntArray, FloatArray]:
    """Return the nodes of jobs and their seconds, as kernels take them."""
    (nodes_name, nodes), (seconds_name, seconds) = columns.items()
    first, second = _column(nodes_name, nodes, "iu"), _column(seconds_name, seconds, "iuf")
    if len(first) != len(second):
        raise InvalidProblem(f"{nodes_name} has {len(first)} jobs, {seconds_name} has {len(second)}")
    return first.astype(np.int64), second.astype(np.float64)  # copies: kernels take what can be written


def _column(name: str, values: Array, kinds: str) -> NDArray[Any]:
    """Return a column whose numbers are of one of these kinds of numpy."""
    try:
        column = np.asarray(values)
    except ValueError:
        raise InvalidProblem(f"{name} {shown(values)} is no column") from None
    if column.ndim != 1 or (column.dtype.kind not in kinds and column.size):
        what = "numbers" if "f" in kinds else "whole numbers"
        raise InvalidProblem(f"{name} {shown(values)} is no column of {what}")
    return column
