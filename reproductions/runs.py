"""Runs of a reproduction: each task with a label that says what it stands for, and what its record says."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from allocsolve import registry
from allocsolve.bench.runs.describe import Description, identity_of
from allocsolve.bench.runs.store import RecordStore
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.families import family_named, family_of
from allocsolve.model import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.model import Answer, Budget, Problem

#: The solver that gives certified bounds of workloads and reservations.
BOUND = "prices"

LabelT = TypeVar("LabelT")


class PlannedRun(NamedTuple, Generic[LabelT]):
    """A task, and what it stands for. Several runs may share one task."""

    task: Task
    label: LabelT


def planned(
    problem: Problem, labels: Mapping[str, LabelT], *, objective: str, budget: Budget
) -> list[PlannedRun[LabelT]]:
    """Return a run of each solver on a problem.

    The labels say what each run stands for, by the name of its solver; no two names mean the same solver.
    A solver of a reproduction is named as ``package.module:object``.
    """
    solvers = [_described(name, family_of(problem).kind, objective) for name in labels]
    tasks = plan([("", problem)], solvers, objective=objective, budgets=[budget])
    return [PlannedRun(task, label) for task, label in zip(tasks, labels.values(), strict=True)]


@functools.cache
def _described(name: str, kind: str, objective: str) -> Description:
    """Return what a solver is; it is made here, where `describe` would start a process for one of ours."""
    canonical = registry.canonical_name(name)
    identity = identity_of(canonical, family_named(kind), objective)
    return Description(canonical, (kind,), {(kind, objective): identity})


def tasks_of(runs: Iterable[PlannedRun[Any]]) -> list[Task]:
    """Return the tasks of runs, each once."""
    return list({run.task.key: run.task for run in runs}.values())


def check_draws(shares: Sequence[float], seeds: int) -> None:
    """Refuse shares and seeds that leave nothing to run, or a share that stands twice, by `InvalidOption`."""
    if seeds < 1 or not shares or len({*shares}) < len(shares):
        listed = ", ".join(f"{share:g}" for share in shares)
        msg = f"shares {listed} of {seeds} seeds: nothing, or some twice"
        raise InvalidOption(msg)


class BoundStore(RecordStore):
    """Records with the answers of `BOUND` only: the others are many, and each is computed in a moment."""

    def append(
        self,
        record: Record,
        problem: Problem,
        answer: Answer | None,
        certificate: Mapping[str, Any] | None = None,
    ) -> bool:
        """Add a row; its answer only if it is of the solver that gives bounds."""
        return super().append(record, problem, answer if record.solver == BOUND else None, certificate)


def certified(record: Record) -> float:
    """Return the largest bound of a record that the judge has recomputed; -inf without one."""
    return max(terms(record.certified_bound)[0], terms(record.combinatorial_bound)[0])


def best_values(records: Iterable[Record]) -> Mapping[str, float]:
    """Return the least value of each problem, by its digest; infinite without an answer."""
    best: dict[str, float] = defaultdict(lambda: math.inf)
    for record in records:
        if record.value is not None:
            best[record.digest] = min(best[record.digest], terms(record.value)[0])
    return best


def check_bound(bound: float, value: float) -> None:
    """Refuse a value below a bound of the same problem by `InvalidAnswer`; both are in seconds."""
    if value < bound:
        msg = f"contradiction: a bound of {bound:.10g} s, yet a schedule of {value:.10g} s"
        raise InvalidAnswer(msg)
