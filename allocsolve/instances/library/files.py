"""The instance library on disk: suites of problems, what is known of them, and selections across suites.

docs/formats.md shows which files there are, and their fields. In a ``best_known.json``, ``lower``, ``upper``
and ``status`` follow from the history, which only grows.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from allocsolve.errors import FormatError, InvalidAnswer, UnknownName
from allocsolve.families import Fields
from allocsolve.instances.formats.files import Checker, Document, load, save, show
from allocsolve.instances.formats.own.envelope import read_problem
from allocsolve.instances.formats.schema import (
    amounts,
    choice,
    file_schema,
    listing,
    read_fields,
    record,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.instances.formats.files import PathLike
    from allocsolve.model import Problem

BEST_KNOWN_FORMAT: Final = "allocsolve-best-known/1"

Kind: TypeAlias = Literal["solution", "bound"]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One step of a history: a better solution, or a better bound."""

    kind: Kind
    value: float  #: of the objective; an integer where the objective is
    date: str  #: ISO 8601, a day
    solver: str  #: with its options
    versions: Mapping[str, str] = field(hash=False)  #: of allocsolve and the backends
    seconds: float  #: wall time of the run
    solution: str = ""  #: digest of the solution; empty for a bound


@dataclass(frozen=True, slots=True)
class BestKnown:
    """What is known of one instance under one objective.

    Raises `InvalidAnswer` if an entry of the history does not better what was known before it, or contradicts
    it: a bound above the value of a solution.
    """

    instance: str
    objective: str
    digest: str  #: of the problem
    history: tuple[HistoryEntry, ...] = ()

    def __post_init__(self) -> None:
        for fault in _disorder(self.history):
            raise InvalidAnswer(f"{self.instance} ({self.objective}): {fault}")

    @property
    def lower(self) -> float:
        """The largest proven bound; minus infinity if there is none."""
        return max((entry.value for entry in self.history if entry.kind == "bound"), default=-math.inf)

    @property
    def upper(self) -> float:
        """The least value of a solution; infinite if there is none."""
        return min((entry.value for entry in self.history if entry.kind == "solution"), default=math.inf)

    @property
    def optimal(self) -> bool:
        """Whether the bound proves the solution optimal."""
        return self.lower == self.upper

    @property
    def solution(self) -> HistoryEntry | None:
        """The entry of the best solution."""
        return next((entry for entry in reversed(self.history) if entry.kind == "solution"), None)

    def with_entry(self, entry: HistoryEntry) -> BestKnown:
        """Return the same with one more entry.

        Raises `InvalidAnswer` if it is no better than what is known, or contradicts it.
        """
        return replace(self, history=(*self.history, entry))


def _disorder(history: Iterable[HistoryEntry]) -> Iterator[str]:
    """Yield what is wrong with the order of a history."""
    lower, upper, date = -math.inf, math.inf, ""
    for idx, entry in enumerate(history):
        place = f"history[{idx}]: the {entry.kind} {entry.value}"
        if entry.kind == "bound" and entry.value <= lower:
            yield f"{place} is no better than the bound {lower}"
        elif entry.kind == "solution" and entry.value >= upper:
            yield f"{place} is no better than the solution {upper}"
        elif entry.kind == "bound" and entry.value > upper:
            yield f"{place} is above the solution {upper}"
        elif entry.kind == "solution" and entry.value < lower:
            yield f"{place} is below the bound {lower}"
        elif entry.kind == "bound":
            lower = entry.value
        else:
            upper = entry.value
        if entry.date < date:
            yield f"{place} is of {entry.date}, before {date}"
        date = max(date, entry.date)


def read_best_known(path: PathLike) -> tuple[BestKnown, ...]:
    """Read the rows of a file, each with its history.

    Raises `FormatError` if the file cannot be read, or has faulty or contradictory fields: every one is
    named.
    """
    check = Checker()
    rows = [*_rows(check, path)]
    for place, row in rows:
        if "history" not in row:
            check.add_shape(f"{place}.history", "missing")
    known = [_known(check, row, place) for place, row in rows if "history" in row]
    check.finish(str(path))
    return tuple(filter(None, known))


class Statement(NamedTuple):
    """What a file states of an instance under an objective, with a history or without one."""

    instance: str
    objective: str
    digest: str  #: of the problem; empty if the file does not say
    lower: float  #: bound; minus infinity if there is none
    upper: float  #: value of a solution; infinite if there is none


def read_statements(path: PathLike) -> tuple[Statement, ...]:
    """Read what a file states, of which rows may be short: a bound, a value, or both, without a history.

    Such rows have ``instance``, ``objective``, and ``lower`` or ``upper`` or both::

        {"format": "allocsolve-best-known/1", "rows": [
          {"instance": "one", "objective": "makespan", "lower": 38000, "upper": 38135}]}

    Raises `FormatError` if the file cannot be read, or has faulty or contradictory fields: every one is
    named.
    """
    check = Checker()
    stated = []
    for place, row in _rows(check, path):
        lower = -math.inf if row.get("lower") is None else row["lower"]
        upper = math.inf if row.get("upper") is None else row["upper"]
        if "history" in row:
            known = _known(check, row, place)
            lower, upper = (known.lower, known.upper) if known else (lower, upper)
        elif math.isinf(lower) and math.isinf(upper):
            check.add(place, "states neither lower nor upper")
        elif lower > upper:
            check.add(place, f"the bound {lower} is above the solution {upper}")
        stated.append(Statement(row["instance"], row["objective"], row["digest"], lower, upper))
    check.finish(str(path))
    return tuple(stated)


def _rows(check: Checker, path: PathLike) -> Iterator[tuple[str, Document]]:
    """Yield the rows of a file, each with its place; two on the same are a fault."""
    first: dict[tuple[str, str], str] = {}
    for idx, row in enumerate(read_fields(load(path), best_known_schema(), str(path))["rows"]):
        instance, objective, place = row["instance"], row["objective"], f"rows[{idx}]"
        other = first.setdefault((instance, objective), place)
        if other != place:
            check.add(place, f"{objective} of {instance} is also {other}")
        yield place, row


def _known(check: Checker, row: Document, place: str) -> BestKnown | None:
    """Return what a row with a history says; None if the history has a fault, which is noted."""
    before = len(check.faults)
    for idx, entry in enumerate(row["history"]):
        kind, at = entry["kind"], f"{place}.history[{idx}]"
        if (kind == "solution") != ("solution" in entry):
            with_it = "without" if kind == "solution" else "with"
            check.add(at, f"a {kind} {with_it} the digest of a solution")
        if not _is_day(entry["date"]):
            check.add(f"{at}.date", f"{show(entry['date'])} is no day of the calendar")
    history = tuple(HistoryEntry(**entry) for entry in row["history"])
    for fault in _disorder(history):
        check.add(place, fault)
    if len(check.faults) > before:
        return None
    known = BestKnown(row["instance"], row["objective"], row["digest"], history)
    for name, value in _statement(known).items():
        if row[name] != value:
            check.add(f"{place}.{name}", f"{show(row[name])}, but the history says {show(value)}")
    return known


def _is_day(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _statement(row: BestKnown) -> Document:
    """Return what a row states and its history implies."""
    return {
        "lower": None if row.lower == -math.inf else row.lower,
        "upper": None if row.upper == math.inf else row.upper,
        "status": "optimal" if row.optimal else "open",
    }


def write_best_known(path: PathLike, rows: Sequence[BestKnown]) -> None:
    """Write rows, in order of instance and objective. The file appears whole or not at all.

    Raises `InvalidAnswer` if the file has an entry that the new rows do not have at its place: a history only
    grows; `FormatError` if the file cannot be read or written.
    """
    new_rows = {(row.instance, row.objective): row for row in rows}
    for old in read_best_known(path) if Path(path).exists() else ():
        new = new_rows.get((old.instance, old.objective))
        if new is None or new.digest != old.digest or new.history[: len(old.history)] != old.history:
            msg = f"{path}: the history of {old.objective} of {old.instance} would lose entries"
            raise InvalidAnswer(msg)
    save({"format": BEST_KNOWN_FORMAT, "rows": [_encode(row) for _, row in sorted(new_rows.items())]}, path)


def _encode(row: BestKnown) -> Document:
    return {
        "instance": row.instance,
        "objective": row.objective,
        "digest": row.digest,
        **_statement(row),
        "history": [_encode_entry(entry) for entry in row.history],
    }


def _encode_entry(entry: HistoryEntry) -> Document:
    document = {column.name: getattr(entry, column.name) for column in fields(entry)}
    document["versions"] = dict(entry.versions)
    if entry.kind == "bound":
        del document["solution"]
    return document


FORMAT: Final = "allocsolve-library/1"

#: The library that comes with the package.
PACKAGED: Final = Path(__file__).parent

_INDEX: Final = "library.json"
#: The file in the folder of a suite that says what is known of its instances.
BEST_KNOWN: Final = "best_known.json"


class Member(NamedTuple):
    """An instance and the suite whose folder it is in."""

    suite: str
    instance: str

    def __str__(self) -> str:
        return "/".join(self)


class Selection(NamedTuple):
    """Name, summary and members of a selection of instances of several suites."""

    name: str
    summary: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """A named sequence of instances, in one folder or selected from several; nothing is read before asked."""

    name: str
    summary: str
    members: tuple[Member, ...]
    root: Path  #: of the library

    def problems(self) -> tuple[Problem, ...]:
        """Read the problems, in the order of the members.

        Raises `FormatError` if a file cannot be read as a problem, or its problem is not named like the file.
        """
        return tuple(map(self.problem, self.members))

    def problem(self, member: Member) -> Problem:
        """Read the problem of a member; errors as in `problems`."""
        path = self.root / member.suite / f"{member.instance}.json"
        problem = read_problem(path)
        if problem.name != member.instance:
            raise FormatError(str(path), [f"name: {show(problem.name)} is not that of the file"])
        return problem

    def best_known(self) -> tuple[BestKnown, ...]:
        """Read what is known of the members, instance by instance; nothing of those never solved.

        Raises `FormatError` if a ``best_known.json`` cannot be read.
        """
        rows: dict[Member, list[BestKnown]] = {}
        for suite in dict.fromkeys(member.suite for member in self.members):
            path = self.best_known_path(suite)
            for row in read_best_known(path) if path.exists() else ():
                rows.setdefault(Member(suite, row.instance), []).append(row)
        return tuple(row for member in self.members for row in rows.get(member, ()))

    def best_known_path(self, suite: str) -> Path:
        """Return where what is known of the instances in the folder of a suite is kept."""
        return self.root / suite / BEST_KNOWN

    def solution_path(self, member: Member, objective: str) -> Path:
        """Return where the best solution of a member is kept."""
        return self.root / member.suite / "solutions" / f"{member.instance}.{objective}.json"


@dataclass(frozen=True, slots=True)
class Library(Mapping[str, Suite]):
    """Suites and selections by name, read from a folder when asked for.

    Parameters
    ----------
    root
        The folder; by default that of the library which comes with the package.

    Examples
    --------
    >>> suite = Library()["klein-5-inf"]
    >>> suite.members[0].instance, len(suite.problems())
    ('klein-5-inf-00', 10)
    """

    root: Path = PACKAGED

    def __getitem__(self, name: str) -> Suite:
        """Return a suite.

        Raises `UnknownName` if there is none of this name; the message offers the nearest names;
        `FormatError` if the index of the library cannot be read.
        """
        suites, selections = self._index()
        if name in selections:
            chosen = selections[name]
            return Suite(name, chosen.summary, chosen.members, self.root)
        if name not in suites:
            raise UnknownName("suite", name, (*suites, *selections))
        files = sorted(path.stem for path in (self.root / name).glob("*.json") if path.name != BEST_KNOWN)
        return Suite(name, suites[name], tuple(Member(name, stem) for stem in files), self.root)

    def __contains__(self, name: object) -> bool:
        return any(name in names for names in self._index())

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names, those of selections last."""
        for names in self._index():
            yield from names

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of the suites that are no selections."""
        return tuple(self._index()[0])

    def _index(self) -> tuple[dict[str, str], dict[str, Selection]]:
        """Read summaries of suites, and selections."""
        path = self.root / _INDEX
        index, check = read_fields(load(path), library_schema(), str(path)), Checker()
        summaries: dict[str, str] = {}
        for what in "suites", "selections":
            for idx, item in enumerate(index[what]):
                if item["name"] in summaries:
                    check.add(f"{what}[{idx}].name", f"{show(item['name'])} stands twice")
                summaries[item["name"]] = item["summary"]
        suites = {item["name"]: item["summary"] for item in index["suites"]}
        selections = {}
        for idx, item in enumerate(index["selections"]):
            members = []
            for number, name in enumerate(item["instances"]):
                suite, _, instance = name.partition("/")
                if suite not in suites or not instance or "/" in instance:
                    fault = f"{show(name)} is not <suite>/<instance> of a suite above"
                    check.add(f"selections[{idx}].instances[{number}]", fault)
                members.append(Member(suite, instance))
            selections[item["name"]] = Selection(item["name"], item["summary"], tuple(members))
        check.finish(str(path))
        return suites, selections


def write_index(root: Path, suites: Mapping[str, str], selections: Sequence[Selection]) -> None:
    """Write names and summaries of suites, and selections.

    Raises `FormatError` if the file cannot be written.
    """
    document = {
        "format": FORMAT,
        "suites": [{"name": name, "summary": summary} for name, summary in suites.items()],
        "selections": [
            {"name": name, "summary": summary, "instances": [str(member) for member in members]}
            for name, summary, members in selections
        ],
    }
    save(document, root / _INDEX)


def best_known_schema() -> Document:
    """Return the schema of ``best_known.json``, whose rows may be short (see `read_statements`)."""
    number = {"type": ["number", "null"]}
    about = {"instance": text("its name"), "objective": text("its terms, separated by commas")}
    found = {
        "kind": choice(("solution", "bound"), "what was found"),
        "value": {"type": "number", "description": "of the objective"},
        "date": text("a day such as 2026-11-20", pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$", maxLength=10),
        "solver": text("with its options"),
        "versions": amounts(text(), "of allocsolve and the backends"),
        "seconds": {"type": "number", "minimum": 0, "description": "wall time of the run"},
    }
    entry = record({**found, "solution": text("digest of the solution; a bound has none")}, found)
    stated = {
        "lower": {**number, "description": "the largest proven bound; null if there is none"},
        "upper": {**number, "description": "the least value of a judged solution; null if there is none"},
    }
    proven = {
        "status": choice(("optimal", "open"), "`optimal` if they meet"),
        "history": listing(entry, "all steps that led there, oldest first; it only grows"),
    }
    full = {**about, "digest": text("of the problem"), **stated, **proven}
    short = record({**about, "digest": text(default=""), **stated}, about)
    content = Fields(
        "What is known of the instances of a suite",
        {"rows": listing({"anyOf": [record(full, full), short]}, "one for each instance and objective")},
        ("rows",),
        (
            "an instance and objective have one row",
            "a row without a history states lower or upper, and lower is not above upper",
            "each step of a history is better than those before it, not older, and contradicts none",
            "lower, upper and status are what the history says",
            "a step has the digest of a solution if it is one; its date is a day of the calendar",
        ),
    )
    return file_schema(content, BEST_KNOWN_FORMAT)


def library_schema() -> Document:
    """Return the schema of ``library.json``."""
    named = {"name": text("of its folder, or of the selection"), "summary": text("what it is for")}
    members = listing(text("<suite>/<instance>"), "`SUITE/INSTANCE` of each member, in this order")
    suites = listing(record(named, tuple(named)), "the folders")
    chosen = {**named, "instances": members}
    content = Fields(
        "The index of an instance library: its suites, and selections of their instances",
        {"suites": suites, "selections": listing(record(chosen, tuple(chosen)), "across suites")},
        ("suites", "selections"),
        ("no name stands twice", "an instance is named with one of the suites, and without further slashes"),
    )
    return file_schema(content, FORMAT)
