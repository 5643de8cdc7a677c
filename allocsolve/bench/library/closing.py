"""What rows of a library say of each other: problems that differ in a setting share schedules and bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from allocsolve import judge
from allocsolve.errors import InvalidAnswer
from allocsolve.families import family_of
from allocsolve.instances import Library, digest, read_solution, solution_digest
from allocsolve.model import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.instances import BestKnown, HistoryEntry, Member, Suite
    from allocsolve.model import Answer, Problem


class Implied(NamedTuple):
    """A row of a library that another one betters."""

    suite: Suite
    member: Member
    problem: Problem
    before: BestKnown
    after: BestKnown
    #: The answer of the other problem, if it is better.
    answer: Answer | None
    #: The instance of the other row.
    source: str


class _Instance(NamedTuple):
    suite: Suite
    member: Member
    problem: Problem


def implied_rows(suites: Sequence[Suite]) -> Iterator[Implied]:
    """Yield the rows of suites that rows of the same library better, one after the other.

    Let two problems be the same but for a setting, such as the expand limit, which is tighter in one. Every
    answer of the tighter problem answers the other one, too: so its value is one of the other problem, and a
    lower bound of the other problem is one of its own. The answers are judged anew for the problem that they
    come to: `InvalidAnswer` if one does not have the value of its row. What is yielded should be written
    before the next row is asked for.
    """
    if not suites:
        return
    instances = _instances(Library(suites[0].root))
    members = {member for suite in suites for member in suite.members}
    for identity, own in instances.items():
        if own.member in members:
            for other in _variants(instances, identity):
                yield from _implied(own, other)


def _instances(library: Library) -> dict[str, _Instance]:
    """Return the instances of a library whose families have settings, by their digests."""
    found: dict[str, _Instance] = {}
    for name in library.folders:
        suite = library[name]
        for member in suite.members:
            problem = suite.problem(member)
            if not family_of(problem).settings:
                break
            found[digest(problem)] = _Instance(suite, member, problem)
    return found


def _variants(instances: dict[str, _Instance], identity: str) -> list[_Instance]:
    """Return the instances that are the same problem as one of them but for a setting."""
    problem = instances[identity].problem
    family = family_of(problem)
    return [
        instances[same]
        for name, setting in family.settings.items()
        for value in {getattr(other.problem, name, None) for other in instances.values()} - {None}
        if (same := digest(setting.apply(problem, value))) in instances and same != identity
    ]


def _implied(own: _Instance, other: _Instance) -> Iterator[Implied]:
    """Yield each row of an instance as a row of the other one betters it."""
    theirs = {row.objective: row for row in _rows(other)}
    for row in _rows(own):
        known = theirs.get(row.objective)
        if known is None:
            continue
        after, answer = row, None
        if _is_tighter(other, own) and known.upper < row.upper and known.solution is not None:
            answer = read_solution(other.suite.solution_path(other.member, row.objective), other.problem)
            place = f"the solution of {other.member.instance}"
            for fault in judge.violations(own.problem, answer):
                raise InvalidAnswer(f"{place}: {fault}")
            value = terms(judge.value(own.problem, answer, (row.objective,)))[0]
            if value != known.upper:
                raise InvalidAnswer(f"{place}: the judge finds {value}, its row has {known.upper}")
            identity = solution_digest(own.problem, answer)
            after = after.with_entry(_taken_over(known.solution, other, identity))
        if _is_tighter(own, other) and known.lower > row.lower:
            bound = next(entry for entry in reversed(known.history) if entry.kind == "bound")
            after = after.with_entry(_taken_over(bound, other))
        if after != row:
            yield Implied(*own, row, after, answer, other.member.instance)


def _rows(instance: _Instance) -> list[BestKnown]:
    return [row for row in instance.suite.best_known() if row.instance == instance.member.instance]


def _taken_over(entry: HistoryEntry, other: _Instance, solution: str = "") -> HistoryEntry:
    """Return the entry of another instance as one of today; it says where it comes from."""
    solver = f"{entry.solver.partition(', on ')[0]}, on {other.member.instance}"
    return replace(entry, solver=solver, date=datetime.now(UTC).date().isoformat(), solution=solution)


def _is_tighter(one: _Instance, other: _Instance) -> bool:
    """Return whether every answer of one problem answers the other, of which it is a variant."""
    return any(
        setting.tightens(other.problem, getattr(one.problem, name))
        for name, setting in family_of(one.problem).settings.items()
    )
