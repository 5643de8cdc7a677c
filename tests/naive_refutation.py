"""A slow, obvious checker of refuted makespans: the twin of the replay that writes them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: A step: the seconds from the start of its application to its own start and to its end, and its nodes.
Step = tuple[int, int, int]
#: Point `second` is at least so many seconds after point `first`.
Fact = tuple[int, int, int]


def refuted_makespan(text: str) -> int | None:
    """Return the makespan below which a text refutes all schedules; None if a part of it is wrong."""
    words = iter(text.split())

    def number() -> int:
        return int(next(words))

    assert next(words) == "evolution-profiles"
    num_nodes, applications = number(), []
    for _ in range(number()):
        release, at, steps = number(), 0, []
        for _ in range(number()):
            seconds, nodes = number(), number()
            steps.append((at, at + seconds, nodes))
            at += seconds
        applications.append((release, steps))
    word = next(words)
    if word == "schedule":
        for _ in range(1 + len(applications)):
            number()
        word = next(words)
    assert word == "refutation"
    value, variables, axioms, lines = number(), number(), number(), number()
    facts = {variable: (number(), number(), number()) for variable in range(1, variables + 1)}
    clauses: dict[int, set[int]] = {}
    for axiom in range(1, axioms + 1):
        is_right = _axiom(number, next(words), num_nodes, value - 1, applications)
        literals = [*_until_zero(number)]
        stated = [_stated(facts, literal) for literal in literals]
        if not is_right(stated):
            return None
        clauses[axiom] = {*literals}
    for _ in range(lines):
        line, literals = number(), [*_until_zero(number)]
        hints = [*_until_zero(number)]
        if not _follows({*literals}, [clauses[hint] for hint in hints]):
            return None
        clauses[line] = {*literals}
    return value if next(words, None) is None and set() in clauses.values() else None


def _until_zero(number: Callable[[], int]) -> Iterator[int]:
    while (found := number()) != 0:
        yield found


def _stated(facts: dict[int, Fact], literal: int) -> Fact:
    first, second, gap = facts[abs(literal)]
    return (first, second, gap) if literal > 0 else (second, first, 1 - gap)


def _axiom(
    number: Callable[[], int],
    kind: str,
    num_nodes: int,
    horizon: int,
    applications: list[tuple[int, list[Step]]],
) -> Callable[[list[Fact]], bool]:
    """Read what a kind of axiom has before its literals; return whether facts are an axiom of that kind."""
    origin = len(applications)
    if kind == "release":
        app = number()
        return lambda facts: (origin, app, applications[app][0]) in facts
    if kind == "deadline":
        app = number()
        return lambda facts: (app, origin, applications[app][1][-1][1] - horizon) in facts
    if kind == "cycle":
        return _is_cycle
    blocks = []
    for _ in range(number()):
        app, first, count = number(), number(), number()
        steps = applications[app][1][first : first + count]
        blocks.append((app, steps[0][0], steps[-1][1], min(nodes for *_, nodes in steps)))
    owners = [block[0] for block in blocks]
    excludes = sum(block[3] for block in blocks) > num_nodes and len({*owners}) == len(owners)
    orders = {(one, two, end - begin) for one, _, end, _ in blocks for two, begin, *_ in blocks if one != two}
    return lambda facts: excludes and orders <= {*facts}


def _is_cycle(facts: list[Fact]) -> bool:
    """Whether the negations, one after the other, lead back to where they begin, over more than 0 seconds."""
    around = [*facts, facts[0]]
    closes = all(one[0] == two[1] for one, two in pairwise(around))
    return closes and sum(1 - gap for *_, gap in facts) > 0


def _follows(clause: set[int], hints: list[set[int]]) -> bool:
    """Whether the clauses of the hints become units one after the other, and the last one empty."""
    known = {-literal for literal in clause}
    for hint in hints:
        left = {literal for literal in hint if -literal not in known}
        if not left:
            return True
        if len(left) > 1:
            return False
        known |= left
    return False
