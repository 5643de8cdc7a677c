"""The file of the regression gate: what every solver was worth on every problem of a suite, and how fast.

JSON with a line for each problem, solver and result, sorted, so that a change shows as a short diff;
`baseline_schema` states its fields. The bound of a problem is the best of all solvers and of
`allocsolve.bounds`; ``mean_gap`` is a fraction, ``time`` the CPU time of a call on the problem ``timed_on``
in units of the reference work that is called the walk, ``wall_time`` by the clock. Older files have no
``wall_time``, which is then not compared, or no ``references``: then all machines count as the same. The
budget and ``time_factor`` may be edited: updates keep them.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from allocsolve.bench.gate.timing import References, ratios, timing_problems
from allocsolve.errors import AllocsolveError, InvalidAnswer
from allocsolve.families import Fields
from allocsolve.instances.formats.files import Checker, load, save, show
from allocsolve.instances.formats.schema import (
    choice,
    file_schema,
    listing,
    maybe,
    read_fields,
    record,
    text,
    whole,
)
from allocsolve.model import Budget, Status

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from allocsolve.instances.formats.files import Document

FORMAT: Final = "allocsolve-gate/1"


@dataclass(frozen=True, slots=True, order=True)
class GateProblem:
    """A problem of the suite."""

    problem: str  #: its name
    kind: str
    digest: str
    bound: float  #: the best that is known: gaps are to it; minus infinity for none


@dataclass(frozen=True, slots=True, order=True)
class GateSolver:
    """A solver on all problems of one kind."""

    kind: str
    solver: str
    mean_gap: float | None  #: of its answers to the best bounds, a fraction; None if there is none
    timed_on: str | None  #: the problem of `Family.timing_problems`; None if it is not timed
    time: float | None  #: CPU time of one call there, in units of the walk
    wall_time: float | None = None  #: the same by the clock
    references: References | None = None  #: measured together with the times; never in a file


@dataclass(frozen=True, slots=True, order=True)
class GateResult:
    """A solver on one problem, as the judge found it."""

    problem: str
    solver: str
    status: Status
    value: float | None  #: None without an answer
    bound: float  #: minus infinity for none
    error: str = ""  #: of a solver that raised, or whose claim was refuted; never in a file


Row = TypeVar("Row", GateProblem, GateSolver, GateResult)


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a gate holds the next run to."""

    suite: str
    asked: tuple[str, ...] | None  #: names of the solvers; None for the default ones
    budget: Budget  #: of each run
    time_factor: float  #: how many times the `GateSolver.time` is too slow
    problems: tuple[GateProblem, ...]
    solvers: tuple[GateSolver, ...]
    results: tuple[GateResult, ...]
    references: References | None = None  #: of the machine that wrote it; None if it is not known


def write_baseline(baseline: Baseline, path: str | os.PathLike[str]) -> None:
    """Write a baseline. The file appears whole or not at all.

    Raises `FormatError` if the file cannot be written.
    """
    budget = baseline.budget
    document = {
        "format": FORMAT,
        "suite": baseline.suite,
        "solvers_asked": None if baseline.asked is None else list(baseline.asked),
        "budget": {"seconds": budget.seconds, "iterations": budget.iterations, "seed": budget.seed},
        "time_factor": baseline.time_factor,
        "references": None if baseline.references is None else baseline.references._asdict(),
        "problems": _rows(baseline.problems, GateProblem),
        "solvers": _rows(baseline.solvers, GateSolver),
        "results": _rows(baseline.results, GateResult),
    }
    save(document, path)


def _rows(rows: Iterable[Row], kind: type[Row]) -> list[Document]:
    names = [column.name for column in _columns(kind)]
    listed = [{name: getattr(row, name) for name in names} for row in sorted(rows)]
    return [{name: None if cell == -math.inf else cell for name, cell in row.items()} for row in listed]


def _columns(kind: type[Row]) -> list[dataclasses.Field[Any]]:
    return [column for column in dataclasses.fields(kind) if column.name not in ("error", "references")]


def read_baseline(path: str | os.PathLike[str]) -> Baseline:
    """Read a baseline.

    Raises `FormatError` if the file cannot be read, or is no baseline of this version: every faulty field is
    named.
    """
    fields, check = read_fields(load(path), baseline_schema(), str(path)), Checker()
    asked, references = fields["solvers_asked"], fields.get("references")
    try:
        budget = Budget(**fields["budget"])
    except AllocsolveError as error:
        check.add("budget", str(error))
        budget = Budget()
    baseline = Baseline(
        suite=fields["suite"],
        asked=None if asked is None else tuple(asked),
        budget=budget,
        time_factor=fields["time_factor"],
        problems=tuple(_made(GateProblem, row) for row in fields["problems"]),
        solvers=tuple(_made(GateSolver, row) for row in fields["solvers"]),
        results=tuple(_made(GateResult, row) for row in fields["results"]),
        references=None if references is None else References(**references),
    )
    _check_times(check, baseline.solvers)
    _check_completeness(check, baseline)
    check.finish(str(path))
    return baseline


def _made(kind: type[Row], row: Document) -> Row:
    """Return a row with bounds and statuses as they are in it."""
    bound = {"bound": -math.inf} if "bound" in row and row["bound"] is None else {}
    status = {"status": Status(row["status"])} if "status" in row else {}
    return kind(**{**row, **bound, **status})


def _check_times(check: Checker, solvers: Iterable[GateSolver]) -> None:
    for idx, row in enumerate(solvers):
        place = f"solvers[{idx}]"
        if row.timed_on is not None and row.timed_on not in [*timing_problems(row.kind)]:
            check.add(f"{place}.timed_on", f"{show(row.timed_on)} is no timing problem of this version")
        if (row.timed_on is None) != (row.time is None):
            check.add(f"{place}.time", "must be null where timed_on is, and only there")
        if row.timed_on is None and row.wall_time is not None:
            check.add(f"{place}.wall_time", "must be null where timed_on is")


def _check_completeness(check: Checker, baseline: Baseline) -> None:
    """Check that there is one result for each solver and each problem of its kind."""
    solvers = [(row.kind, row.solver) for row in baseline.solvers]
    problems = {row.problem: row.kind for row in baseline.problems}
    results = [(row.problem, row.solver) for row in baseline.results]
    names = [row.problem for row in baseline.problems]
    for place, keys in ("problems", names), ("solvers", solvers), ("results", results):
        if len({*keys}) < len(keys):
            check.add(place, "one stands twice")
    expected = {(name, solver) for name, kind in problems.items() for of, solver in solvers if of == kind}
    present = {*results}
    for problem, solver in sorted(expected - present):
        check.add("results", f"none of {show(solver)} on {show(problem)}")
    for problem, solver in sorted(present - expected):
        check.add("results", f"{show(solver)} on {show(problem)} is not of these solvers and problems")


def baseline_schema() -> Document:
    """Return the schema of the files of baselines."""
    positive: Document = {"type": "number", "exclusiveMinimum": 0}
    columns: dict[str, Document] = {
        "str": text(),
        "str | None": {"type": ["string", "null"]},
        "float": {"type": ["number", "null"]},
        "float | None": {"type": ["number", "null"]},
        "Status": choice([*Status], "as the judge found it"),
    }

    def table(known: list[dataclasses.Field[Any]], **special: Document) -> Document:
        fields = {column.name: columns[str(column.type)] for column in known} | special
        return listing(record(fields, [column.name for column in known if column.default is MISSING]))

    budget = {"seconds": positive, "iterations": whole(0), "seed": whole(0)}
    time = {"type": ["number", "null"], "exclusiveMinimum": 0}
    references = record(dict.fromkeys(References._fields, positive), References._fields)
    fields = Fields(
        "The baseline of a regression gate: what every solver was worth, and how fast",
        {
            "suite": text("name of a suite, or a folder of problems with a slash, as seen from here"),
            "solvers_asked": maybe(listing(text(), "names that an update was asked to take; null: default")),
            "budget": record(budget, tuple(budget), "of each run"),
            "time_factor": {"type": "number", "exclusiveMinimum": 1, "description": "how much is too slow"},
            "references": {"anyOf": [references, {"type": "null"}], "description": "of the machine"},
            "problems": table(_columns(GateProblem)),
            "solvers": table(_columns(GateSolver), time=time, wall_time=time),
            "results": table(_columns(GateResult)),
        },
        ("suite", "solvers_asked", "budget", "time_factor", "problems", "solvers", "results"),
        (
            "no problem and no solver stands twice",
            "there is one result of each solver on each problem of its kind",
            "timed_on is a timing problem of this version",
            "time and wall_time are null where timed_on is, and time only there",
        ),
    )
    return file_schema(fields, FORMAT)


#: Proofs are statuses, and so is having no answer.
_PROOFS = (Status.OPTIMAL, Status.INFEASIBLE)


@dataclass(frozen=True, slots=True)
class GateChange:
    """One difference; solver or problem are empty where it concerns all of them."""

    what: str  #: such as ``worse``, ``proof lost``, ``slower``, ``slower (wall time)``, ``timed on``
    kind: str
    solver: str
    problem: str
    before: float | str | None
    now: float | str | None

    @property
    def relative(self) -> str:
        """How much a number has changed, for people; empty for all else."""
        if not isinstance(self.before, int | float) or not isinstance(self.now, int | float):
            return ""
        if self.what.startswith(("slower", "faster")):
            return f"{self.now / self.before:.2f} times" if math.isfinite(self.now) else "it fails"
        if self.what == "mean gap":
            return f"{100 * (self.now - self.before):+.2f} points"
        return f"{100 * (self.now / self.before - 1):+.2f} %" if self.before else ""

    def __str__(self) -> str:
        """Return one line."""
        where = " on ".join(filter(None, (self.solver, self.problem)))
        values = " -> ".join(str(value) for value in (self.before, self.now) if value is not None)
        return f"{self.what}: {where}: {values}" + (f" ({self.relative})" if self.relative else "")


@dataclass(frozen=True, slots=True)
class Measured:
    """All rows of a run, sorted."""

    problems: tuple[GateProblem, ...]
    solvers: tuple[GateSolver, ...]
    results: tuple[GateResult, ...]


def failures(now: Measured) -> Iterator[GateChange]:
    """Yield the results of solvers that raised or were refuted by the judge: no baseline has any."""
    kinds = {row.problem: row.kind for row in now.problems}
    for row in now.results:
        if row.error:
            what = "refuted" if row.error.startswith(InvalidAnswer.__name__) else "failed"
            yield GateChange(what, kinds[row.problem], row.solver, row.problem, None, row.error)


def changes(before: Baseline, now: Measured) -> Iterator[GateChange]:
    """Yield all differences but the failures.

    Solvers that only one of the two has are left out. The times of now are those on the machine of the
    baseline, at the least: see `timing` on the ratios of two machines.
    """
    kinds = {row.kind for row in now.solvers}
    old = {row.problem: row for row in before.problems if row.kind in kinds}
    new = {row.problem: row for row in now.problems if row.kind in kinds}
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield GateChange("problem gone", old[name].kind, "", name, old[name].digest[:12], None)
        elif name not in old:
            yield GateChange("problem new", new[name].kind, "", name, None, new[name].digest[:12])
        elif not _same(old[name], new[name]):
            digests = old[name].digest[:12], new[name].digest[:12]
            yield GateChange("problem changed", new[name].kind, "", name, *digests)
    same = {name for name in old.keys() & new.keys() if _same(old[name], new[name])}
    old_results = {(row.problem, row.solver): row for row in before.results if row.problem in same}
    for row in now.results:
        if (row.problem, row.solver) in old_results and not row.error:
            for what, *values in _differences(old_results[row.problem, row.solver], row):
                yield GateChange(what, new[row.problem].kind, row.solver, row.problem, *values)
    yield from _of_solvers(before, now, same_problems=old.keys() == new.keys() == same)


def _same(old: GateProblem, new: GateProblem) -> bool:
    return (old.kind, old.digest) == (new.kind, new.digest)


def _differences(
    old: GateResult, new: GateResult
) -> Iterator[tuple[str, float | str | None, float | str | None]]:
    """Yield what has become of one result, with the values or statuses."""
    if old.status in _PROOFS and new.status not in _PROOFS:
        yield "proof lost", old.status, new.status
    elif new.status in _PROOFS and old.status not in _PROOFS:
        yield "proof won", old.status, new.status
    if (old.value is None) != (new.value is None):
        yield f"answer {'lost' if new.value is None else 'won'}", old.value, new.value
    elif old.value is not None and new.value is not None and old.value != new.value:
        yield "worse" if new.value > old.value else "better", old.value, new.value
    elif old.status != new.status and (old.status in _PROOFS) == (new.status in _PROOFS):
        yield "status", old.status, new.status
    if old.bound != new.bound and {old.status, new.status}.isdisjoint(_PROOFS):
        yield f"bound {'weaker' if new.bound < old.bound else 'stronger'}", old.bound, new.bound


def _of_solvers(before: Baseline, now: Measured, *, same_problems: bool) -> Iterator[GateChange]:
    """Yield what concerns a solver as a whole: its mean gap, if over the same problems, and its time."""
    old_solvers = {(row.kind, row.solver): row for row in before.solvers}
    for row in now.solvers:
        old = old_solvers.get((row.kind, row.solver))
        if old is None:
            continue
        gap, least = row.mean_gap, old.mean_gap
        if same_problems and gap is not None and least is not None and gap > least:
            yield GateChange("mean gap", row.kind, row.solver, "", least, gap)
        if None not in {old.timed_on, row.timed_on} and old.timed_on != row.timed_on:
            yield GateChange("timed on", row.kind, row.solver, "", old.timed_on, row.timed_on)
        largest = ratios(before.references, row.references).largest
        # Wall time alone is no second change where CPU time has grown, too.
        for what, time, time_now in _times("slower", old, row):
            if time_now > before.time_factor * largest * time:
                yield GateChange(
                    what, row.kind, row.solver, row.timed_on or "", time, digits(time_now / largest)
                )
                break


def faster(before: Baseline, now: Measured) -> Iterator[GateChange]:
    """Yield the solvers that take less time than in the baseline, by more than the factor, CPU and wall.

    The times of now are those on the machine of the baseline, at the most; see `timing`.
    """
    old_solvers = {(row.kind, row.solver): row for row in before.solvers}
    for row in now.solvers:
        old = old_solvers.get((row.kind, row.solver))
        if old is not None:
            smallest = ratios(before.references, row.references).smallest
            times = [*_times("faster", old, row)]
            if times and all(now * before.time_factor < smallest * time for _, time, now in times):
                what, time, time_now = times[0]
                yield GateChange(
                    what, row.kind, row.solver, row.timed_on or "", time, digits(time_now / smallest)
                )


def _times(what: str, old: GateSolver, new: GateSolver) -> Iterator[tuple[str, float, float]]:
    """Yield the CPU times before and now, then the wall times, where both are known and of one problem."""
    if old.timed_on != new.timed_on:
        return
    if old.time is not None and new.time is not None:
        yield what, old.time, new.time
    if old.wall_time is not None and new.wall_time is not None:
        yield f"{what} (wall time)", old.wall_time, new.wall_time


def digits(time: float) -> float:
    """Return a time as baselines have it."""
    return float(f"{time:.4g}")
