"""The file of the regression gate: what every solver was worth on every problem of a suite, and how fast.

JSON with a line for each problem, solver and result, sorted, so that a change shows as a short diff::

    {"format": "allocsolve-gate/1", "suite": "tiny", "solvers_asked": null,
     "budget": {"seconds": 60, "iterations": 200, "seed": 0}, "time_factor": 1.5,
     "problems": [{"problem": "tiny-00", "kind": "evolution", "digest": "<sha256>", "bound": 96810}, ...],
     "solvers": [{"kind": "evolution", "solver": "noX", "mean_gap": 0.374, "timed_on": "300-applications",
                  "time": 2.69}, ...],
     "results": [{"problem": "tiny-00", "solver": "noX", "status": "feasible", "value": 133325,
                  "bound": null}, ...]}

``solvers_asked`` are the names that an update was asked to take, null for the default ones; a ``bound`` is
null for none, that of a problem is the best of all solvers and of `allocsolve.bounds`; ``mean_gap`` a
fraction (0.05 is 5 %) or null, ``time`` the CPU time of a call on the problem ``timed_on`` in units of the
reference kernel, both null for a solver that is not timed. The budget and ``time_factor`` may be edited:
updates keep them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from allocsolve.bench.gate.timing import timing_problems
from allocsolve.errors import AllocsolveError, FormatError
from allocsolve.instances.formats.checker import Checker, show
from allocsolve.instances.formats.json_text import load, save
from allocsolve.model import Budget, Status

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from allocsolve.instances.formats.checker import Document

__all__ = ["Baseline", "GateProblem", "GateResult", "GateSolver", "read_baseline", "write_baseline"]

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
    time: float | None  #: CPU time of one call there, in units of the reference kernel


@dataclass(frozen=True, slots=True, order=True)
class GateResult:
    """A solver on one problem, as the judge found it."""

    problem: str
    solver: str
    status: Status
    value: float | None  #: None without an answer
    bound: float  #: minus infinity for none
    error: str = ""  #: of a solver that raised, or whose claim was refuted; never in a file


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


def write_baseline(baseline: Baseline, path: str | os.PathLike[str]) -> None:
    """Write a baseline. The file appears whole or not at all.

    Raises
    ------
    FormatError
        If the file cannot be written.
    """
    budget = baseline.budget
    document = {
        "format": FORMAT,
        "suite": baseline.suite,
        "solvers_asked": None if baseline.asked is None else list(baseline.asked),
        "budget": {"seconds": budget.seconds, "iterations": budget.iterations, "seed": budget.seed},
        "time_factor": baseline.time_factor,
        "problems": _rows(baseline.problems, GateProblem),
        "solvers": _rows(baseline.solvers, GateSolver),
        "results": _rows(baseline.results, GateResult),
    }
    save(document, path)


def _rows(rows: Iterable[Any], kind: type) -> list[Document]:
    return [{name: _plain(getattr(row, name)) for name in _names(kind)} for row in sorted(rows)]


def _names(kind: type) -> list[str]:
    return [name for name in kind.__dataclass_fields__ if name != "error"]  # type: ignore[attr-defined]  # every type of rows is a dataclass


def _plain(value: object) -> object:
    return None if value == -math.inf else value


def read_baseline(path: str | os.PathLike[str]) -> Baseline:
    """Read a baseline.

    Raises
    ------
    FormatError
        If the file cannot be read, or is no baseline of this version: every faulty field is named.
    """
    document = load(path)
    source = str(path)
    if document.get("format") != FORMAT:
        fault = f"format: {show(document.get('format'))} is not {show(FORMAT)}"
        raise FormatError(source, [fault])
    check = _Reader()
    required = ("suite", "solvers_asked", "budget", "time_factor", "problems", "solvers", "results")
    fields = check.fields(document, "", ("format", *required), ())
    check.finish(source)
    asked = fields["solvers_asked"]
    baseline = Baseline(
        suite=check.typed(str, fields["suite"], "suite"),
        asked=None if asked is None else tuple(check.strings(asked, "solvers_asked")),
        budget=check.budget(fields["budget"]),
        time_factor=check.number(fields["time_factor"], "time_factor", above=1),
        problems=tuple(check.problems(fields["problems"])),
        solvers=tuple(check.solvers(fields["solvers"])),
        results=tuple(check.results(fields["results"])),
    )
    check.finish(source)
    check.references(baseline)
    check.finish(source)
    return baseline


class _Reader(Checker):
    """The checks of this format."""

    def number(self, value: object, place: str, *, above: float = -math.inf) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.add(place, f"must be a number, not {show(value)}")
        elif not value > above:
            self.add(place, f"{show(value)} is not above {above}")
        else:
            return value
        return 2

    def optional(self, value: object, place: str, *, above: float = -math.inf) -> float | None:
        return None if value is None else self.number(value, place, above=above)

    def bound(self, value: object, place: str) -> float:
        return -math.inf if value is None else self.number(value, place)

    def strings(self, value: object, place: str) -> Iterator[str]:
        for idx, item in enumerate(self.typed(list, value, place)):
            yield self.typed(str, item, f"{place}[{idx}]")

    def budget(self, value: object) -> Budget:
        names = ("seconds", "iterations", "seed")
        given = self.fields(value, "budget", names, ())
        if self.faults or len(given) < len(names):
            return Budget()
        seconds = self.number(given["seconds"], "budget.seconds", above=0)
        iterations = self.integer(given["iterations"], "budget.iterations", "the count", 0)
        seed = self.integer(given["seed"], "budget.seed", "the seed", 0)
        try:
            return Budget(seconds=seconds, iterations=iterations, seed=seed)
        except AllocsolveError as error:
            self.add("budget", str(error))
            return Budget()

    def rows(self, value: object, place: str, kind: type) -> Iterator[tuple[str, Document]]:
        """Yield the complete rows of a list, with their places."""
        names = _names(kind)
        for idx, item in enumerate(self.typed(list, value, place)):
            row = self.fields(item, f"{place}[{idx}]", names, ())
            if len(row) == len(names):
                yield f"{place}[{idx}]", row

    def problems(self, value: object) -> Iterator[GateProblem]:
        for place, row in self.rows(value, "problems", GateProblem):
            yield GateProblem(
                self.typed(str, row["problem"], f"{place}.problem"),
                self.typed(str, row["kind"], f"{place}.kind"),
                self.typed(str, row["digest"], f"{place}.digest"),
                self.bound(row["bound"], f"{place}.bound"),
            )

    def solvers(self, value: object) -> Iterator[GateSolver]:
        for place, row in self.rows(value, "solvers", GateSolver):
            kind = self.typed(str, row["kind"], f"{place}.kind")
            timed_on = row["timed_on"]
            if timed_on is not None and timed_on not in [*timing_problems(kind)]:
                self.add(f"{place}.timed_on", f"{show(timed_on)} is no timing problem of this version")
            if (timed_on is None) != (row["time"] is None):
                self.add(f"{place}.time", "must be null where timed_on is, and only there")
            yield GateSolver(
                kind,
                self.typed(str, row["solver"], f"{place}.solver"),
                self.optional(row["mean_gap"], f"{place}.mean_gap"),
                timed_on,
                self.optional(row["time"], f"{place}.time", above=0),
            )

    def results(self, value: object) -> Iterator[GateResult]:
        for place, row in self.rows(value, "results", GateResult):
            status = self.typed(str, row["status"], f"{place}.status")
            if status not in {*Status}:
                self.add(f"{place}.status", f"{show(status)} is not {', '.join(Status)}")
                continue
            yield GateResult(
                self.typed(str, row["problem"], f"{place}.problem"),
                self.typed(str, row["solver"], f"{place}.solver"),
                Status(status),
                self.optional(row["value"], f"{place}.value"),
                self.bound(row["bound"], f"{place}.bound"),
            )

    def references(self, baseline: Baseline) -> None:
        """Check that there is one result for each solver and each problem of its kind."""
        solvers = [(row.kind, row.solver) for row in baseline.solvers]
        problems = {row.problem: row.kind for row in baseline.problems}
        results = [(row.problem, row.solver) for row in baseline.results]
        for place, keys in ("problems", [row.problem for row in baseline.problems]), ("solvers", solvers):
            if len({*keys}) < len(keys):
                self.add(place, "one stands twice")
        expected = {(name, solver) for name, kind in problems.items() for of, solver in solvers if of == kind}
        present = {*results}
        if len(present) < len(results):
            self.add("results", "one stands twice")
        for problem, solver in sorted(expected - present):
            self.add("results", f"none of {show(solver)} on {show(problem)}")
        for problem, solver in sorted(present - expected):
            self.add("results", f"{show(solver)} on {show(problem)} is not of these solvers and problems")
