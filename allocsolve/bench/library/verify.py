"""The judge's word on the instance library: every solution, every digest, every bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from allocsolve import judge
from allocsolve.errors import AllocsolveError
from allocsolve.families import family_of
from allocsolve.instances import Member, digest, read_best_known, read_solution, solution_digest
from allocsolve.model import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from allocsolve.instances import BestKnown, Suite
    from allocsolve.model import Problem

__all__ = ["claimed_bounds", "verify_suite"]


def verify_suite(suite: Suite) -> Iterator[str]:
    """Yield what is wrong with the instances of a suite and with what is known of them, a line each.

    Each problem is read and its digest compared; the judge recomputes each solution, which must have the
    value and the digest that its row states; no bound, that of `allocsolve.bounds` among them, may be above
    it; every file must belong to a row. That a bound is proven cannot be recomputed.
    """
    rows: dict[Member, list[BestKnown]] = {}
    expected: dict[Path, set[str]] = {}
    for folder in dict.fromkeys(member.suite for member in suite.members):
        path = suite.best_known_path(folder)
        try:
            listed = read_best_known(path)
        except AllocsolveError as error:
            yield str(error)
            return
        for row in listed:
            rows.setdefault(Member(folder, row.instance), []).append(row)
            solution = suite.solution_path(Member(folder, row.instance), row.objective)
            names = expected.setdefault(solution.parent, set())
            if row.solution is not None:
                names.add(solution.name)
            if not (suite.root / folder / f"{row.instance}.json").is_file():
                yield f"{path}: there is no instance {row.instance}"
    for member in suite.members:
        try:
            problem = suite.problem(member)
        except AllocsolveError as error:
            yield str(error)
            continue
        family = family_of(problem)
        if not any(row.objective == family.objectives[0] for row in rows.get(member, ())):
            yield f"{member}: nothing is known of its {family.objectives[0]}"
        for row in rows.get(member, ()):
            yield from _row_faults(suite, member, problem, row)
    yield from _strangers(expected)


def _strangers(expected: dict[Path, set[str]]) -> Iterator[str]:
    for solutions, names in expected.items():
        for path in sorted(solutions.glob("*")):
            if path.name not in names:
                yield f"{path}: belongs to no row of best_known.json"


def _row_faults(suite: Suite, member: Member, problem: Problem, row: BestKnown) -> Iterator[str]:
    place = f"{member} ({row.objective})"
    if digest(problem) != row.digest:
        yield f"{place}: best_known.json is of another problem, {row.digest[:12]}"
        return
    family = family_of(problem)
    if row.objective not in family.objectives:
        yield f"{place}: no objective of {family.kind} problems"
        return
    floor = family.bound(problem, row.objective)
    if floor > row.upper:
        yield f"{place}: the solution {row.upper} is below the combinatorial bound {floor}"
    entry = row.solution
    if entry is None:
        return
    path = suite.solution_path(member, row.objective)
    try:
        answer = read_solution(path, problem)
        faults = judge.violations(problem, answer)
        value = math.nan if faults else terms(judge.value(problem, answer, (row.objective,)))[0]
        identity = solution_digest(problem, answer)
    except AllocsolveError as error:
        yield str(error)
        return
    if faults:
        yield f"{path}: {faults[0]}"
    elif value != row.upper:
        yield f"{path}: the judge finds {value}, best_known.json has {row.upper}"
    elif identity != entry.solution:
        yield f"{path}: this is solution {identity[:12]}, best_known.json has {entry.solution[:12]}"


def claimed_bounds(suites: Iterable[Suite]) -> tuple[int, int]:
    """Return how many lower bounds of suites nothing here recomputes, and how many there are.

    One up to that of `allocsolve.bounds` is recomputed; the others are as exact solvers claim them, which no
    judged solution has refuted. Instances that are in several suites count once.
    """
    recomputed: dict[tuple[str, str], bool] = {}
    for suite in suites:
        problems = {digest(problem): problem for problem in suite.problems()}
        for row in suite.best_known():
            if row.lower > -math.inf:
                bound = family_of(problems[row.digest]).bound(problems[row.digest], row.objective)
                recomputed[row.digest, row.objective] = row.lower <= bound
    return sum(not one for one in recomputed.values()), len(recomputed)
