"""The instance library on disk: suites of problems, what is known of them, and selections across suites.

::

    library.json                            names and summaries of suites, members of selections
    <suite>/<instance>.json                 a problem, format allocsolve/1
    <suite>/best_known.json                 see `allocsolve.instances.library.best_known`
    <suite>/solutions/<instance>.<objective>.json    the best solution that is known
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import FormatError, UnknownName
from allocsolve.instances.formats.checker import Checker, show
from allocsolve.instances.formats.envelope import read_problem
from allocsolve.instances.formats.json_text import load, save
from allocsolve.instances.library.best_known import BestKnown, read_best_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import Problem

__all__ = ["BEST_KNOWN", "PACKAGED", "Library", "Member", "Selection", "Suite", "write_index"]

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
            check.add("format", f"{show(top['format'])} is not {show(FORMAT)}")
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
