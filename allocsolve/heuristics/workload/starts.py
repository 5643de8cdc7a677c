"""Who starts now: the queue policies as functions on arrays, for simulators with a state of their own.

They decide as the policies of the engine do, by the same kernels; nothing is kept from call to call.
"""

from __future__ import annotations

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
    Passes,
    QueueRule,
    one_pass,
    score_of,
)
from allocsolve.heuristics.workload._kernels_reservations import reserving_pass, slurm_pass
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
from allocsolve.kernels.free_nodes import FreeNodes, new_free_nodes
from allocsolve.model.checks import choice, integer, moment, shown
from allocsolve.model.packed_jobs import PackedJobs
from allocsolve.simulation.kernels import State, initial_state

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as Array, NDArray

    from allocsolve.model import FloatArray, IntArray

#: A kind of `QueueRule` beside those of the policies: nobody starts, jobs get their scores.
SCORES: Final = -1
#: What `starts_now` returns for columns that are none of a queue.
REFUSED: Final = -1
#: The fields of a `State`, and those of a `QueueRule` before its passes.
_STATE: Final = len(State._fields)
_OWN: Final = len(QueueRule._fields) - 1


class Room(NamedTuple):
    """What a call works in, with room for its jobs; made once, and used again and again."""

    #: Shape (jobs,) at least: the jobs that start, and the scores of jobs, both written.
    started: IntArray
    scores: FloatArray
    #: What the kernel takes: the fields of a `State` and of `FreeNodes`, the scores, and what rigid jobs are
    #: like, all zeros and all ones. Of plain tuples numba takes the parts in half of the time, 2 microseconds
    #: less a call.
    parts: tuple[Any, ...]


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
    numbers: tuple[Any, ...],
    parts: tuple[Any, ...],
) -> int:
    """Return how many jobs start, the first of ``Room.started``, by their places in the queue.

    `by_end` are the running jobs by their expected ends, `numbers` those of a rule, see `_numbers`, and
    `parts` those of a room. `REFUSED` if a column has what cannot be.
    """
    rule = QueueRule(*(*numbers[:_OWN], Passes(*numbers[_OWN:])))
    state, profile, scores, zeros, ones = State(*parts[:_STATE]), FreeNodes(*parts[_STATE:-3]), *parts[-3:]
    engine, most = state.engine, free
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
    rest = zeros, limits, zeros, zeros, limits, zeros, zeros, ones
    jobs = PackedJobs(submits, nodes, nodes, nodes, limits, limits, limits, *rest)
    estimates = Estimates(limits, limits, limits, scores, zeros, limits)
    engine.clock, engine.free, engine.ordered = now, free, 1
    engine.first, engine.last, engine.head, engine.tail = 0, len(by_end), 0, len(nodes)
    engine.running = engine.started = engine.completed = engine.submitted = 0
    if rule.kind == SCORES:
        for job in range(len(nodes)):
            scores[job] = score_of(jobs, job, limits[job], now, rule.order)
    elif rule.kind == RESERVING:
        reserving_pass(jobs, state, estimates, rule, profile)
    elif rule.kind == SLURM:
        slurm_pass(jobs, state, estimates, rule, profile)
    else:
        one_pass(jobs, state, estimates, rule, Blocked(zeros, scores, zeros), 0)
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
    `queue_order`. *Complexity*: 7 microseconds for 100 jobs that wait and 100 that run; O(running jobs log
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
    rule = _numbers(queue_rule(SCORES, order=ORDER_CODES[choice("order", order, QUEUE_ORDERS)]))
    wide, long = _jobs("nodes", nodes, "limits", limits)
    _, since = _jobs("nodes", nodes, "submits", submits)
    clock, nobody, room = moment("now", now), (wide[:0], long[:0], wide[:0]), _taken(len(wide))
    count = starts_now(clock, ALL_JOBS, wide, long, since, *nobody, rule, room.parts)
    places: IntArray = np.lexsort((since, room.scores[: len(wide)]))
    _rooms.append(room)
    if count == REFUSED:
        _refuse("nodes", wide, wide < 1, "is not at least 1")
        _refuse("limits", long, ~(long > 0), "is not above 0")
    return places


def _numbers(rule: QueueRule) -> tuple[Any, ...]:
    """Return the numbers of a rule, those of its passes last."""
    return *rule[:_OWN], *rule.passes


_FIRST_FIT: Final = _numbers(FirstFit().queue_policy.rule)
_FCFS: Final = _numbers(Fcfs().queue_policy.rule)


@functools.lru_cache(typed=True)
def _easy(**options: Any) -> tuple[Any, ...]:  # noqa: ANN401 - `Easy` checks them
    return _numbers(Easy(**options).queue_policy.rule)


@functools.lru_cache(typed=True)
def _slurm(*options: Any) -> tuple[Any, ...]:  # noqa: ANN401 - `SlurmBackfill` checks them
    return _numbers(SlurmBackfill(*options).queue_policy.rule)


def _starts(rule: tuple[Any, ...], now: float, free: int, *columns: Array) -> IntArray:
    """Return who starts now under a rule; the columns are those of `easy_starts`."""
    queue_nodes, queue_limits, running_nodes, running_ends = columns
    nodes, limits = _jobs("queue_nodes", queue_nodes, "queue_limits", queue_limits)
    held, ends = _jobs("running_nodes", running_nodes, "running_ends", running_ends)
    clock, idle = moment("now", now), integer("free", free)
    room = _taken(len(nodes) + len(held))
    count = starts_now(clock, idle, nodes, limits, limits, held, ends, ends.argsort(), rule, room.parts)
    starts: IntArray = room.started[: max(count, 0)].copy()
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
    try:
        room = _rooms.pop()
    except IndexError:
        room = None
    if room is not None and count <= len(room.started):
        return room
    size = max(2 * count, 256)
    state = initial_state(0, np.empty(0), ordered=True, num_jobs=size)
    scores, zeros, ones = np.zeros(size), np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.int64)
    return Room(state.started, scores, (*state, *new_free_nodes(0, 2 * size), scores, zeros, ones))


def _jobs(nodes_name: str, nodes: Array, seconds_name: str, seconds: Array) -> tuple[IntArray, FloatArray]:
    """Return the nodes of jobs and their seconds, as kernels take them."""
    first, second = _column(nodes_name, nodes, "iu", _INT), _column(seconds_name, seconds, "iuf", _FLOAT)
    if len(first) != len(second):
        raise InvalidProblem(f"{nodes_name} has {len(first)} jobs, {seconds_name} has {len(second)}")
    return first, second


_INT: Final = np.dtype(np.int64)
_FLOAT: Final = np.dtype(np.float64)


def _column(name: str, values: Array, kinds: str, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return a column whose numbers are of one of these kinds of numpy, as a writable array of one kind.

    Kernels only read it, but are compiled for arrays that can be written; others are copied.
    """
    try:
        column = np.asarray(values)
    except ValueError:
        raise InvalidProblem(f"{name} {shown(values)} is no column") from None
    if column.ndim != 1 or (column.dtype.kind not in kinds and column.size):
        what = "numbers" if "f" in kinds else "whole numbers"
        raise InvalidProblem(f"{name} {shown(values)} is no column of {what}")
    return column if column.dtype is kind and column.flags.carray else column.astype(kind)
