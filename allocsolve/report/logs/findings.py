"""What was, what each policy would have been, and what is impossible: the figures of one log."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.bench import Task, plan
from allocsolve.errors import FormatError, InvalidAnswer, UnsupportedProblem
from allocsolve.instances import elastic_workload, recorded_schedule
from allocsolve.judge import WorkloadMetrics, workload_metrics, workload_violations
from allocsolve.model import MALLEABLE, Budget, WorkloadSchedule, terms
from allocsolve.pictures.chart import size_classes
from allocsolve.report.logs.questions import EASY, as_it_is, dated
from allocsolve.report.logs.words import POLICIES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import tzinfo

    from allocsolve.bench import Record, RecordKey, RecordStore
    from allocsolve.instances import JobLog
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem
    from allocsolve.report.logs.network import Replay
    from allocsolve.report.logs.questions import Classes, Question

_DAY_S: Final = 86400.0
_WEEK: Final = 7
#: Days: a longer log is divided into weeks.
_BY_DAY: Final = 21
#: Days: no calendar beyond, as times of so long a log are no times.
_LONGEST: Final = 36_525


class Periods(NamedTuple):
    """The days or weeks of a log."""

    unit: str  #: ``day`` or ``week``
    labels: dict[int, str]  #: of each period in which a job is submitted; of a week its first day
    of_jobs: IntArray  #: shape (jobs,)


def periods_of(submits: FloatArray, epoch: object, zone: tzinfo) -> Periods:
    """Return the days of a log of up to three weeks, else its weeks, which begin on Mondays.

    Submissions are in seconds; there is at least one. The epoch is the Unix time of second 0; anything else
    than a number counts days and weeks from the first submission. Days begin in the zone.
    """
    first, last = float(submits.min()), float(submits.max())
    unit, days = ("day", 1) if last - first <= _BY_DAY * _DAY_S else ("week", _WEEK)
    if isinstance(epoch, int | float) and last - first <= _LONGEST * _DAY_S:
        try:
            begins, names = _calendar(first + epoch, last + epoch, days, zone)
        except (OverflowError, ValueError, OSError):  # beyond what calendars know
            pass
        else:
            of_jobs: IntArray = np.searchsorted(begins, submits + epoch, side="right") - 1
            return Periods(unit, {int(period): names[period] for period in np.unique(of_jobs)}, of_jobs)
    counted: IntArray = np.floor((submits - first) / (days * _DAY_S)).astype(np.int64)
    distinct, places = np.unique(counted, return_inverse=True)
    labels = {idx: f"{unit} {number + 1}" for idx, number in enumerate(distinct.tolist())}
    return Periods(unit, labels, places.astype(np.int64))


def _calendar(first: float, last: float, days: int, zone: tzinfo) -> tuple[list[float], list[str]]:
    """Return when each period begins, in Unix seconds, and its first day."""
    day = datetime.fromtimestamp(first, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    day -= timedelta(days=day.weekday()) if days == _WEEK else timedelta()
    begins: list[float] = []
    names: list[str] = []
    while not begins or day.timestamp() <= last:
        begins.append(day.timestamp())
        names.append(day.date().isoformat())
        day += timedelta(days=days)
    return begins, names


#: Names of solvers: what knows all jobs beforehand and proves the bound, and policies that change sizes.
HINDSIGHT: Final = "prices"
ELASTIC_POLICIES: Final = ("malleable-min", "static-price")
#: What stands beside them for the schedule that the log records.
RECORDED: Final = "recorded"

#: How the error of a solver begins that does not take the machine of a problem.
_REFUSED: Final = f"{UnsupportedProblem.__name__}: "
#: Of what is shown of an error.
_MOST_LETTERS: Final = 200

#: The seed draws the jobs that can change their size; their points are this number of seconds apart.
_SEED: Final = 1
_TICK_S: Final = 10.0


class Variant(NamedTuple):
    """The jobs of a log, of which a share can change their size, and the runs that tell about them."""

    share: float  #: 0 if none can
    problem: WorkloadProblem
    tasks: tuple[Task, ...]  #: the longest first
    what: str = ""  #: how it differs from the log as it is


def variants(
    problem: WorkloadProblem,
    shares: Sequence[float] = (),
    asked: Sequence[Question] = (),
    *,
    seconds: float,
    workers: int,
    policies: Sequence[str] = POLICIES,
) -> tuple[Variant, ...]:
    """Return the variants of a log: as it is, with what is asked for, with jobs that change their size.

    All but the last are about the mean wait. A job that changes its size may start earlier and end later, so
    those are about the mean time from submission to end. Questions that leave jobs and machine as they are
    add policies to the first variant; the others have one each, with EASY and all orders that are asked for.

    Parameters
    ----------
    problem
        The log; all of its jobs are rigid.
    shares
        Of the jobs that can change their size, each above 0 and at most 1.
    asked
        What is asked of the log, see `questions`.
    seconds, workers
        Of each search for the best schedule and for the bound: the same for all, so that they compare.
    policies
        Names of the policies that are compared on the log as it is.
    """
    budgets = [Budget(seconds=seconds, workers=workers)]
    here = [question.policy for question in asked if question.problem is problem]
    run = dict.fromkeys((HINDSIGHT, *policies, *([EASY] * bool(asked)), *here))
    rigid = plan([("", problem)], list(run), objective="wait", budgets=budgets)
    planned = [Variant(0.0, problem, tuple(rigid))]
    there = {id(problem)}
    for question in asked:
        if id(question.problem) not in there:
            there.add(id(question.problem))
            own = [other.policy for other in asked if other.problem is question.problem]
            solvers = [*dict.fromkeys((HINDSIGHT, *_policies_everywhere(asked), *own))]
            tasks = plan([("", question.problem)], solvers, objective="wait", budgets=budgets)
            planned.append(Variant(0.0, question.problem, tuple(tasks), f" with {question.label}"))
    for share in sorted(set(shares)):
        elastic = elastic_workload(problem, share=share, seed=_SEED, tick=_TICK_S)
        solvers = [HINDSIGHT, *ELASTIC_POLICIES]
        tasks = plan([("", elastic)], solvers, objective="turnaround", budgets=budgets)
        planned.append(Variant(share, elastic, tuple(tasks), f" at {100 * share:g} %"))
    return tuple(planned)


def _policies_everywhere(asked: Sequence[Question]) -> list[str]:
    """Return the policies that are run on every machine that is asked for."""
    return [EASY, *(question.policy for question in asked if question.option == "order")]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One way in which the jobs were run, or would have been."""

    key: str  #: name of the solver, or `RECORDED`
    schedule: WorkloadSchedule
    metrics: WorkloadMetrics


@dataclass(frozen=True, slots=True)
class ElasticCase:
    """What would have been if a share of the jobs could change their size."""

    share: float
    changeable: int  #: jobs that can
    bound: float | None  #: on the mean time from submission to end, in seconds
    metrics: Mapping[str, WorkloadMetrics]  #: by the names of the solvers


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What would have been if one thing had been otherwise."""

    question: Question
    policies: Mapping[str, Case]  #: by the names of the solvers
    hindsight: float | None  #: mean wait of the best schedule that the search has found, in seconds
    bound: float | None  #: on the mean wait, in seconds
    faults: Mapping[str, str]  #: why solvers have no answer, a line for each that has none

    @property
    def wait(self) -> float | None:
        """The mean wait, in seconds, under the policy of the question."""
        case = self.policies.get(self.question.policy)
        return None if case is None else case.metrics.wait

    @property
    def searched(self) -> bool:
        """Whether the search for the best schedule and the bound is over."""
        return self.hindsight is not None or HINDSIGHT in self.faults

    @property
    def best(self) -> float | None:
        """The least mean wait that is known, in seconds."""
        known = [case.metrics.wait for case in self.policies.values()]
        return min(known if self.hindsight is None else [*known, self.hindsight], default=None)


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf:
    """All figures of the page of a log."""

    log: JobLog
    problem: WorkloadProblem
    recorded: Case | None
    no_record: str  #: why there is no recorded schedule
    faults: tuple[str, ...]  #: rules that the recorded schedule breaks
    policies: tuple[Case, ...]
    hindsight: Case | None
    bound: float | None  #: on the mean wait in seconds, recomputed by the judge; None if nothing is proved
    mean_runtime: float  #: seconds
    outlooks: tuple[Outlook, ...]  #: what was asked for, after the log as it is; empty if nothing was
    elastic: tuple[ElasticCase, ...]
    split: Classes | None  #: the jobs in classes that were asked for
    sizes: IntArray  #: shape (jobs,), see `size_classes`
    periods: Periods
    failed: tuple[str, ...]  #: solvers that have failed
    missing: tuple[str, ...]  #: solvers that have not been run
    replayed: tuple[Replay, ...] = ()  #: schedules on the network of the machine, if one is given

    @property
    def cases(self) -> tuple[Case, ...]:
        """All that there is to compare: the log first, what knows the future last."""
        ends = (() if case is None else (case,) for case in (self.recorded, self.hindsight))
        first, last = ends
        return (*first, *self.policies, *last)

    @property
    def best_policy(self) -> Case | None:
        """The policy with the least mean wait."""
        return min(self.policies, key=lambda case: case.metrics.wait, default=None)

    def waits(self, case: Case) -> FloatArray:
        """Return how long each job waits, in seconds."""
        return case.schedule.first_starts - self.problem.jobs.packed.submit


def means_by(classes: IntArray, values: FloatArray) -> dict[int, float]:
    """Return the mean of the values of each class that has any."""
    counts = np.bincount(classes)
    sums = np.bincount(classes, weights=values)
    return {int(number): float(sums[number] / counts[number]) for number in np.flatnonzero(counts)}


def what_if(
    log: JobLog,
    planned: Sequence[Variant],
    store: RecordStore,
    zone: tzinfo,
    *,
    asked: Sequence[Question] = (),
    split: Classes | None = None,
    policies: Sequence[str] = POLICIES,
) -> WhatIf:
    """Return what the records say of a log; runs that have no record are named as missing."""
    first, *others = planned
    _, problem, tasks, _ = first
    recorded, no_record, faults = _recorded(log, problem)
    faults = tuple(dated(fault, problem, zone) for fault in faults)
    runs = _Runs(store)
    cases = {case.key: case for task in tasks if (case := runs.case(task, problem)) is not None}
    rows = {
        f"{task.solver}{variant.what}": runs.record(task) for variant in planned for task in variant.tasks
    }
    packed = problem.jobs.packed
    outlooks: list[Outlook] = []
    if asked:
        everywhere = {*_policies_everywhere(asked), *(question.policy for question in asked)}
        by_problem = {id(variant.problem): variant for variant in planned}
        outlooks += [
            runs.outlook(question, by_problem[id(question.problem)].tasks, everywhere)
            for question in (as_it_is(problem, log.machine.unit), *asked)
        ]
    return WhatIf(
        log=log,
        problem=problem,
        recorded=recorded,
        no_record=no_record,
        faults=faults,
        policies=tuple(cases[name] for name in policies if name in cases),
        hindsight=cases.get(HINDSIGHT),
        bound=runs.bound(tasks),
        mean_runtime=float(packed.runtime.mean()),
        outlooks=tuple(outlooks),
        elastic=tuple(runs.elastic_case(variant) for variant in others if variant.share),
        split=split,
        sizes=size_classes(problem.jobs.packed.nodes)[0],
        periods=periods_of(packed.submit, problem.meta.get("unix_time"), zone),
        failed=tuple(
            name for name, row in rows.items() if row is not None and row.error and not row.is_unsupported
        ),
        missing=tuple(name for name, row in rows.items() if row is None),
    )


def _fault(record: Record) -> str:
    """Return why a run has no answer, in one line; empty if it has one."""
    return record.error.removeprefix(_REFUSED)[:_MOST_LETTERS]


def _recorded(log: JobLog, problem: WorkloadProblem) -> tuple[Case | None, str, tuple[str, ...]]:
    """Return the schedule of the log, or why there is none, and what is wrong with it."""
    unknown = log.report.unusual.get("no_recorded_start", 0)
    if unknown:
        return None, f"the log does not tell when {unknown:,} of its {len(problem.jobs):,} jobs started", ()
    try:
        schedule = recorded_schedule(log)
        measured = workload_metrics(problem, schedule)
    except FormatError as error:
        return None, "; ".join(error.faults), ()
    except InvalidAnswer as error:
        return None, str(error), ()
    if problem.node_types and schedule.place_offsets is None:  # it says nothing of nodes
        return Case(RECORDED, schedule, measured), "", ()
    return Case(RECORDED, schedule, measured), "", workload_violations(problem, schedule)


#: A record of an earlier version may lack some.
_METRICS: Final = frozenset(field.name for field in fields(WorkloadMetrics))


class _Runs:
    """What is recorded of the runs: each record is read once, and holds what the judge has measured."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._records: dict[RecordKey, Record | None] = {}

    def record(self, task: Task) -> Record | None:
        """Return the record of a run; None if there is none, or it is damaged."""
        if task.key not in self._records:
            try:
                self._records[task.key] = self._store[task.key]
            except KeyError:
                self._records[task.key] = None
        return self._records[task.key]

    def metrics(self, task: Task, problem: WorkloadProblem) -> WorkloadMetrics | None:
        """Return what the judge has measured of the answer of a run, if it has one."""
        record = self.record(task)
        if record is None or record.value is None:
            return None
        if record.metrics.keys() == _METRICS:
            measured: dict[str, Any] = dict(record.metrics)
            return WorkloadMetrics(**measured)
        answer = self._store.answer(task.key, problem)
        return workload_metrics(problem, answer) if isinstance(answer, WorkloadSchedule) else None

    def case(self, task: Task, problem: WorkloadProblem) -> Case | None:
        """Return what a solver has made of its problem, if it has."""
        measured = self.metrics(task, problem)
        if measured is None:
            return None
        answer = self._store.answer(task.key, problem)
        return Case(task.solver, answer, measured) if isinstance(answer, WorkloadSchedule) else None

    def bound(self, tasks: Sequence[Task]) -> float | None:
        """Return the largest bound that the judge has recomputed; None if none says anything."""
        records = map(self.record, tasks)
        largest = max(
            (terms(row.certified_bound)[0] for row in records if row is not None), default=-math.inf
        )
        return float(largest) if largest > 0 else None

    def outlook(self, question: Question, tasks: Sequence[Task], policies: Collection[str]) -> Outlook:
        """Return what would have been if one thing had been otherwise."""
        found = {task.solver: self.case(task, question.problem) for task in tasks}
        cases = {solver: case for solver, case in found.items() if case is not None}
        hindsight = cases.get(HINDSIGHT)
        records = {task.solver: self.record(task) for task in tasks}
        faults = {solver: _fault(record) for solver, record in records.items() if record is not None}
        return Outlook(
            question,
            {solver: case for solver, case in cases.items() if solver in policies},
            None if hindsight is None else hindsight.metrics.wait,
            self.bound(tasks),
            {solver: fault for solver, fault in faults.items() if fault},
        )

    def elastic_case(self, variant: Variant) -> ElasticCase:
        """Return what would have been if a share of the jobs could change their size."""
        measured = {task.solver: self.metrics(task, variant.problem) for task in variant.tasks}
        return ElasticCase(
            variant.share,
            int((variant.problem.packed.kind == MALLEABLE).sum()),
            self.bound(variant.tasks),
            {solver: metrics for solver, metrics in measured.items() if metrics is not None},
        )
