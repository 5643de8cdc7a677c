"""What operators ask of a log: each question changes one thing."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.instances import closed_window
from allocsolve.instances.formats.logs.times import zone
from allocsolve.instances.formats.logs.windows import TimeOrigin
from allocsolve.pictures.chart import size_classes
from allocsolve.registry import canonical_name
from allocsolve.report.logs.words import EXACT_LIMITS, ORDER_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from allocsolve.heuristics.workload.policies import QueueOrder
    from allocsolve.instances import JobLog
    from allocsolve.model import IntArray, WorkloadProblem

#: The policy of all questions that do not ask for another one.
EASY: Final = "easy"

#: EASY with the true run times, as `with_exact_limits` asks for it.
EXACT: Final = "easy(estimate=actual)"

#: Which run times a policy plans with: those that users asked for, or the true ones.
LimitSource: TypeAlias = Literal["given", "actual"]
LIMIT_SOURCES: Final[tuple[LimitSource, ...]] = get_args(LimitSource)

#: By what the waits of a log are split.
Split: TypeAlias = Literal["partition", "size", "user"]
SPLITS: Final[tuple[Split, ...]] = get_args(Split)


class Question(NamedTuple):
    """One thing that could have been otherwise."""

    #: ``nodes``, ``closed``, ``merge``, or an option of EASY: ``order``, ``estimates``; empty: as it is
    option: str
    value: str  #: as it was asked for
    label: str  #: what tables call it
    clause: str  #: how sentences about it begin
    problem: WorkloadProblem  #: that of the log if its jobs and its machine stay
    policy: str = EASY  #: the solver that runs the jobs
    size: int = 0  #: of the machine, where that is asked for
    note: str = ""  #: what else has changed


#: A point in time as the judge writes it: run times are written otherwise.
_MOMENT: Final = re.compile(r"\b(from|to|at) (-?\d+(?:\.\d+)?(?:e[+-]\d+)?) s\b")


def dated(text: str, problem: WorkloadProblem, timezone: tzinfo) -> str:
    """Return a text of the judge with dates in place of seconds of the problem, if dates are known."""
    epoch = problem.meta.get("unix_time")
    if not isinstance(epoch, int | float):
        return text

    def date(moment: re.Match[str]) -> str:
        try:
            shown = datetime.fromtimestamp(round(epoch + float(moment[2])), timezone)
        except (OverflowError, ValueError, OSError):  # beyond what calendars know
            return moment[0]
        return f"{moment[1]} {shown:%Y-%m-%d %H:%M:%S}"

    return _MOMENT.sub(date, text)


def as_it_is(problem: WorkloadProblem, unit: str) -> Question:
    """Return the question that changes nothing."""
    label = f"as it is: {problem.num_nodes:,} {unit}"
    return Question("", "", label, "As it is", problem, size=problem.num_nodes)


def of_size(problem: WorkloadProblem, unit: str, size: int) -> Question:
    """Ask for a machine of another size.

    Jobs that are larger than it hold all of it, and run as long: so all jobs are there in each row. Raises
    `InvalidOption` if more is closed at times than such a machine has.
    """
    nodes = problem.jobs.packed.nodes
    try:
        asked = replace(problem, num_nodes=size, jobs=problem.jobs.replace(nodes=np.minimum(nodes, size)))
    except InvalidProblem as fault:
        raise InvalidOption(f"--nodes {size}: {fault}") from None
    asked = _named(asked, problem, f"{size}-{unit}")
    larger = int((nodes > size).sum())
    jobs = "1 job holds" if larger == 1 else f"{larger:,} jobs hold"
    kept = f" With {size:,} {unit} the partitions keep their sizes." if problem.resources else ""
    note = f"{jobs} more than {size:,} {unit} in the log, and all {size:,} in this row." if larger else ""
    note = (note + kept).strip()
    label = f"{size:,} {unit}"
    return Question("nodes", str(size), label, f"With {label}", asked, size=size, note=note)


def in_order(problem: WorkloadProblem, order: QueueOrder) -> Question:
    """Ask for another order of the queue."""
    name = ORDER_NAMES[order]
    return Question("order", order, name, f"With {name}", problem, order_policy(order))


def order_policy(order: QueueOrder) -> str:
    """Return the solver that takes the queue in an order."""
    return canonical_name(f"{EASY}(order={order})")


def with_exact_limits(problem: WorkloadProblem) -> Question:
    """Ask for users who know how long their jobs will run."""
    return Question("estimates", "actual", EXACT_LIMITS, f"With {EXACT_LIMITS}", problem, EXACT)


def with_closed(log: JobLog, problem: WorkloadProblem, window: str, timezone: str) -> Question:
    """Ask for a time in which the machine, or a part of it, is closed.

    Raises `InvalidOption` if the text is not that of a window, or it begins when all is over.
    """
    packed = problem.jobs.packed
    zero = float(log.submits[0] - packed.submit[0])
    closed = closed_window(window, TimeOrigin(log.epoch, zero, timezone))
    ends = np.concatenate([log.ends - zero, packed.submit + packed.runtime])
    if closed.start > np.nanmax(ends):
        raise InvalidOption(f"closed window {window!r}: begins after the last job of {log.source} has ended")
    try:
        shut = replace(problem, closed=(*problem.closed, closed))
    except InvalidProblem as fault:  # it closes more than there is
        raise InvalidOption(f"--closed {window}: {dated(str(fault), problem, zone(timezone))}") from None
    asked = _named(shut, problem, f"closed {window}")
    return Question("closed", window, f"closed {window}", f"Closed {window},", asked)


def with_merged(problem: WorkloadProblem, names: Sequence[str]) -> Question:
    """Ask for one pool in place of several partitions.

    Raises `InvalidOption` if there are not two of them at least, or the machine has none of that name.
    """
    value = ",".join(names)
    sizes = dict(problem.resources)
    jobs, asked = problem.jobs, problem.jobs.requirements
    used = {*asked.partitions, *(name for need in asked.needs for name, _ in need)}
    if len(names) < 2:
        raise InvalidOption(f"--merge {value}: one pool is made of two partitions at least, such as std,long")
    for name in names:
        if name not in sizes:
            msg = f"--merge {value}: --partitions does not say how many nodes the jobs of {name!r} may hold"
            raise InvalidOption(msg)
        if name not in used:
            raise InvalidOption(f"--merge {value}: the log has no job in {name!r}")
    pool = "+".join(names)
    there = {name: size for name, size in sizes.items() if name not in names}
    size = sum(sizes[name] for name in names)
    needs, partitions = [], []
    for idx, partition in enumerate(asked.partitions or [None] * len(jobs)):
        mine = dict(asked.needs[idx]) if asked.needs else {}
        large = mine.keys() & {*names}  # it holds all of its partition, see `LogFields`
        mine = {name: amount for name, amount in mine.items() if name not in large}
        fits = int(jobs.packed.nodes[idx]) <= size
        partitions.append(pool if partition in names or (large and fits) else partition)
        needs.append(mine if fits or not large else mine | {pool: size})
    together = jobs.replace(needs=needs, partitions=partitions)
    resources = there | {pool: size}
    merged = replace(problem, jobs=together, resources=tuple(sorted(resources.items())))
    label = f"{' and '.join((', '.join(names[:-1]), names[-1]))} as one"
    return Question("merge", value, label, f"With {label}", _named(merged, problem, label))


def questions(
    log: JobLog,
    problem: WorkloadProblem,
    *,
    nodes: Sequence[int] = (),
    orders: Sequence[QueueOrder] = (),
    closed: Sequence[str] = (),
    limits: Sequence[LimitSource] = (),
    merged: Sequence[Sequence[str]] = (),
    timezone: str = "UTC",
) -> tuple[Question, ...]:
    """Return what is asked of a log, a question for each value; those of the log itself ask for nothing.

    Raises `InvalidOption` if something cannot be asked of this log.

    Parameters
    ----------
    nodes
        Sizes of the machine, in the unit of the log.
    orders
        Of the queue.
    closed
        Windows, each for itself; see `allocsolve.instances.closed_window`.
    limits
        With which run times a policy plans.
    merged
        Partitions that become one pool, each list for itself.
    timezone
        Of times of windows without one.
    """
    asked = [of_size(problem, log.machine.unit, size) for size in sorted(nodes) if size != problem.num_nodes]
    asked += [in_order(problem, order) for order in orders if order != "submission"]
    asked += [with_closed(log, problem, window, timezone) for window in closed]
    asked += [with_exact_limits(problem) for source in limits if source == "actual"]
    asked += [with_merged(problem, names) for names in merged]
    values = [(question.option, question.value) for question in asked]
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise InvalidOption(f"--{twice[0]} {twice[1]} is asked twice")
    return tuple(asked)


def _named(asked: WorkloadProblem, problem: WorkloadProblem, what: str) -> WorkloadProblem:
    """Return a workload whose name tells how it differs from that of the log."""
    return replace(asked, name=f"{problem.name}, {what}")


class Classes(NamedTuple):
    """The jobs of a log, split into classes."""

    by: Split
    labels: tuple[str, ...]  #: of the classes
    of_jobs: IntArray  #: shape (jobs,)


def classes_of(log: JobLog, problem: WorkloadProblem, by: Split) -> Classes:
    """Split the jobs of a log.

    Raises `InvalidOption` if the log does not tell what they are split by.
    """
    if by == "size":
        of_jobs = size_classes(problem.jobs.packed.nodes)[0]
        return Classes(by, tuple(map(size_label, range(int(of_jobs.max(initial=0)) + 1))), of_jobs)
    told = problem.jobs.users if by == "user" else log.asked.told_partitions
    if not any(told):
        raise InvalidOption(f"--by {by}: {log.source} does not tell the {by}s of jobs")
    names = [name or "not known" for name in told]
    labels, numbers = np.unique(np.array(names), return_inverse=True)
    return Classes(by, tuple(labels.tolist()), numbers.astype(np.int64))


def size_label(size_class: int) -> str:
    """Return the sizes of a class, see `size_classes`.

    >>> size_label(0), size_label(1), size_label(4)
    ('1', '2', '9 to 16')
    """
    most = 2**size_class
    return str(most) if most <= 2 else f"{most // 2 + 1:,} to {most:,}"
