"""The instance library on disk: suites of problems, what is known of them, and selections across suites.

::

    library.json                            names and summaries of suites, members of selections
    <suite>/<instance>.json                 a problem, format allocsolve/1
    <suite>/best_known.json                 what is known of them, see below
    <suite>/solutions/<instance>.<objective>.json    the best solution that is known

The file ``best_known.json`` (``allocsolve-best-known/1``) has one row per instance and objective::

    {"format": "allocsolve-best-known/1", "rows": [
      {"instance": "klein-5-l1-00", "objective": "makespan", "digest": "<of the problem>",
       "lower": 38135, "upper": 38135, "status": "optimal", "history": [
         {"kind": "solution", "value": 38135, "date": "2026-11-20", "solver": "CpSat(...)",
          "versions": {"allocsolve": "0.1.0"}, "seconds": 0.4, "solution": "<its digest>"},
         {"kind": "bound", "value": 38135, "date": ..., "solver": ..., "versions": ..., "seconds": 0.4}]}]}

``lower`` is the largest proven bound and ``upper`` the least value of a judged solution, null if there is
none; ``status`` is ``optimal`` if they are equal, else ``open``. Both follow from the history, which only
grows.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from allocsolve.errors import FormatError, InvalidAnswer, UnknownName
from allocsolve.families import Fields
from allocsolve.instances.formats.envelope import read_problem
from allocsolve.instances.formats.files import Checker, Document, load, save, show
from allocsolve.instances.formats.schema import amounts, choice, file_schema, listing, record, text

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

    Raises
    ------
    InvalidAnswer
        If an entry of the history does not better what was known before it, or contradicts it: a bound above
        the value of a solution.
    """

    instance: str
    objective: str
    digest: str  #: of the problem
    history: tuple[HistoryEntry, ...] = ()

    def __post_init__(self) -> None:
        for fault in _disorder(self.history):
            msg = f"{self.instance} ({self.objective}): {fault}"
            raise InvalidAnswer(msg)

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

        Raises
        ------
        InvalidAnswer
            If it is no better than what is known, or contradicts it.
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
    """Read the rows of a file.

    Raises
    ------
    FormatError
        If the file cannot be read, or has faulty or contradictory fields: every one is named.
    """
    check = Checker()
    decoded = [_decode(check, item, place) for place, item in _rows(check, load(path))]
    first: dict[tuple[str, str], int] = {}
    for idx, (instance, objective, _, _) in enumerate(decoded):
        if first.setdefault((instance, objective), idx) != idx:
            check.add(f"rows[{idx}]", f"{objective} of {instance} is also rows[{first[instance, objective]}]")
    check.finish(str(path))
    return tuple(BestKnown(*row) for row in decoded)


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

    Raises
    ------
    FormatError
        If the file cannot be read, or has faulty or contradictory fields: every one is named.
    """
    check = Checker()
    stated: dict[tuple[str, str], Statement] = {}
    for place, item in _rows(check, load(path)):
        if isinstance(item, dict) and "history" not in item:
            statement = _decode_short(check, item, place)
        else:
            row = _decode(check, item, place)
            known = BestKnown(*row)
            statement = Statement(*row[:3], known.lower, known.upper)
        if (statement.instance, statement.objective) in stated:
            check.add(place, f"{statement.objective} of {statement.instance} is stated twice")
        stated[statement.instance, statement.objective] = statement
    check.finish(str(path))
    return tuple(stated.values())


def _rows(check: Checker, document: object) -> list[tuple[str, object]]:
    """Return the rows of a document, each with its place."""
    top = check.fields(document, "", ("format", "rows"), ())
    if top.get("format", BEST_KNOWN_FORMAT) != BEST_KNOWN_FORMAT:
        check.add_shape("format", f"{show(top['format'])} is not {show(BEST_KNOWN_FORMAT)}")
    return [(f"rows[{idx}]", item) for idx, item in enumerate(check.typed(list, top.get("rows", []), "rows"))]


def _decode_short(check: Checker, item: Document, place: str) -> Statement:
    fields = check.fields(item, place, ("instance", "objective"), ("digest", "lower", "upper"))
    texts = [
        check.typed(str, fields.get(name, ""), f"{place}.{name}")
        for name in ("instance", "objective", "digest")
    ]
    lower, upper = (
        otherwise if fields.get(name) is None else _number(check, fields[name], f"{place}.{name}")
        for name, otherwise in (("lower", -math.inf), ("upper", math.inf))
    )
    if not (lower > -math.inf or upper < math.inf):
        check.add(place, "states neither lower nor upper")
    if lower > upper:
        check.add(place, f"the bound {lower} is above the solution {upper}")
    return Statement(texts[0], texts[1], texts[2], lower, upper)


_ROW: Final = ("instance", "objective", "digest", "lower", "upper", "status", "history")
_STATUSES: Final = ("optimal", "open")
_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ENTRY: Final = ("kind", "value", "date", "solver", "versions", "seconds")


def _decode(check: Checker, item: object, place: str) -> tuple[str, str, str, tuple[HistoryEntry, ...]]:
    fields = check.fields(item, place, _ROW, ())
    for name in ("lower", "upper"):
        if fields.get(name) is not None:
            _number(check, fields[name], f"{place}.{name}")
    if fields.get("status", "open") not in _STATUSES:
        check.add_shape(f"{place}.status", f"{show(fields['status'])} is not {' or '.join(_STATUSES)}")
    texts = [check.typed(str, fields.get(name, ""), f"{place}.{name}") for name in _ROW[:3]]
    listed = check.typed(list, fields.get("history", []), f"{place}.history")
    before = len(check.faults)
    history = tuple(
        _decode_entry(check, entry, f"{place}.history[{idx}]") for idx, entry in enumerate(listed)
    )
    if len(check.faults) > before:
        return texts[0], texts[1], texts[2], ()
    faults = list(_disorder(history))
    for fault in faults:
        check.add(place, fault)
    if faults:
        return texts[0], texts[1], texts[2], ()
    stated = _statement(BestKnown(texts[0], texts[1], texts[2], history))
    for name, value in stated.items():
        if name in fields and fields[name] != value:
            check.add(f"{place}.{name}", f"{show(fields[name])}, but the history says {show(value)}")
    return texts[0], texts[1], texts[2], history


def _decode_entry(check: Checker, item: object, place: str) -> HistoryEntry:
    fields = check.fields(item, place, _ENTRY, ("solution",))
    kind: Kind = "solution" if fields.get("kind") == "solution" else "bound"
    if fields.get("kind", kind) != kind:
        check.add_shape(f"{place}.kind", f"{show(fields['kind'])} is not 'solution' or 'bound'")
    elif kind in fields.values() and (kind == "solution") != ("solution" in fields):
        check.add(place, f"a {kind} {'without' if kind == 'solution' else 'with'} the digest of a solution")
    date = check.typed(str, fields.get("date", "2000-01-01"), f"{place}.date")
    if not _is_day(date):
        tell = check.add if _DAY.fullmatch(date) else check.add_shape
        tell(f"{place}.date", f"{show(date)} is not a day such as 2026-11-20")
    versions = check.typed(dict, fields.get("versions", {}), f"{place}.versions")
    for name, version in versions.items():
        check.typed(str, version, f"{place}.versions.{name}")
    seconds = _number(check, fields.get("seconds", 0), f"{place}.seconds")
    if seconds < 0:
        check.add_shape(f"{place}.seconds", f"{seconds} is below 0")
    return HistoryEntry(
        kind,
        _number(check, fields.get("value", 0), f"{place}.value"),
        date,
        check.typed(str, fields.get("solver", ""), f"{place}.solver"),
        versions,
        seconds,
        check.typed(str, fields.get("solution", ""), f"{place}.solution"),
    )


def _number(check: Checker, value: object, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        check.add_shape(place, f"must be a number, not {show(value)}")
        return 0
    return value


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

    Raises
    ------
    InvalidAnswer
        If the file has an entry that the new rows do not have at its place: a history only grows.
    FormatError
        If the file cannot be read or written.
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
    document = {name: getattr(entry, name) for name in _ENTRY} | {"versions": dict(entry.versions)}
    return document | ({"solution": entry.solution} if entry.kind == "solution" else {})


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

        Raises
        ------
        FormatError
            If a file cannot be read as a problem, or its problem is not named like the file.
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

        Raises
        ------
        FormatError
            If a ``best_known.json`` cannot be read.
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

        Raises
        ------
        UnknownName
            If there is none of this name; the message offers the nearest names.
        FormatError
            If the index of the library cannot be read.
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
        document = load(path)
        check = Checker()
        top = check.fields(document, "", ("format", "suites", "selections"), ())
        if top.get("format", FORMAT) != FORMAT:
            check.add_shape("format", f"{show(top['format'])} is not {show(FORMAT)}")
        suites: dict[str, str] = {}
        selections: dict[str, Selection] = {}
        for what, extra in ("suites", ()), ("selections", ("instances",)):
            for idx, item in enumerate(check.typed(list, top.get(what, []), what)):
                place = f"{what}[{idx}]"
                fields = check.fields(item, place, ("name", "summary", *extra), ())
                name = check.typed(str, fields.get("name", ""), f"{place}.name")
                summary = check.typed(str, fields.get("summary", ""), f"{place}.summary")
                if name and (name in suites or name in selections):
                    check.add(f"{place}.name", f"{show(name)} stands twice")
                if what == "suites":
                    suites[name] = summary
                    continue
                members = [
                    _decode_member(check, text, f"{place}.instances[{number}]", suites)
                    for number, text in enumerate(
                        check.typed(list, fields.get("instances", []), f"{place}.instances")
                    )
                ]
                selections[name] = Selection(name, summary, tuple(members))
        check.finish(str(path))
        return suites, selections


def _decode_member(check: Checker, text: object, place: str, suites: Mapping[str, str]) -> Member:
    suite, _, instance = check.typed(str, text, place).partition("/")
    if isinstance(text, str) and (suite not in suites or not instance or "/" in instance):
        check.add(place, f"{show(text)} is not <suite>/<instance> of a suite above")
    return Member(suite, instance)


def write_index(root: Path, suites: Mapping[str, str], selections: Sequence[Selection]) -> None:
    """Write names and summaries of suites, and selections.

    Raises
    ------
    FormatError
        If the file cannot be written.
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
    number: Document = {"type": "number"}
    value = {"type": ["number", "null"]}
    named = {"instance": text(), "objective": text(), "digest": text("of the problem")}
    entry = record(
        {
            "kind": choice(("solution", "bound"), "what was found"),
            "value": number,
            "date": text("a day such as 2026-11-20", pattern=f"^{_DAY.pattern}$", maxLength=10),
            "solver": text("with its options"),
            "versions": amounts(text(), "of allocsolve and the backends"),
            "seconds": {"type": "number", "minimum": 0},
            "solution": text("digest of the solution"),
        },
        _ENTRY,
    )
    stated = {
        "lower": {**value, "description": "the largest proven bound; null if there is none"},
        "upper": {**value, "description": "the least value of a solution; null if there is none"},
    }
    history = listing(entry, "all steps that led there, oldest first")
    status = choice(_STATUSES, "optimal if the bound proves it")
    full = record({**named, **stated, "status": status, "history": history}, _ROW)
    short = record({**named, **stated}, ("instance", "objective"))
    fields = Fields(
        "What is known of the instances of a suite",
        {"rows": listing({"anyOf": [full, short]}, "one for each instance and objective")},
        ("rows",),
        (
            "an instance and objective have one row",
            "a row without a history states lower or upper, and lower is not above upper",
            "each step of a history is better than those before it, not older, and contradicts none",
            "lower, upper and status are what the history says",
            "a step has the digest of a solution if it is one; its date is a day of the calendar",
        ),
    )
    return file_schema(fields, BEST_KNOWN_FORMAT)


def library_schema() -> Document:
    """Return the schema of ``library.json``."""
    named = {"name": text("of its folder, or of the selection"), "summary": text("what it is for")}
    members = listing(text("<suite>/<instance>"), "in this order")
    suites = listing(record(named, tuple(named)), "the folders")
    chosen = {**named, "instances": members}
    fields = Fields(
        "The index of an instance library: its suites, and selections of their instances",
        {"suites": suites, "selections": listing(record(chosen, tuple(chosen)), "across suites")},
        ("suites", "selections"),
        ("no name stands twice", "an instance is named with one of the suites, and without further slashes"),
    )
    return file_schema(fields, FORMAT)
