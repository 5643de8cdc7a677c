"""Proofs of makespans for tests: their items as lists, and a slow, obvious checker of them."""

from __future__ import annotations

import base64
import itertools
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from allocsolve import EvolutionProblem

__all__ = ["CLAUSE", "COVER", "DELETION", "HORIZON", "certificate_of", "items_of", "refuted_horizon"]

HORIZON, COVER, CLAUSE, DELETION = range(4)

#: Its kind, then: the horizon; blocks (application, first, last); facts (arc, value); the number of a clause.
Item: TypeAlias = tuple[int, Any]
Fact: TypeAlias = tuple[int, int]


def items_of(certificate: Any) -> list[Item]:  # noqa: ANN401 - as JSON holds it
    """Return the items of a log."""
    data = iter(zlib.decompress(base64.b64decode(certificate["log"])))

    def number() -> int:
        total = shift = 0
        for byte in data:
            total |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return total
        raise StopIteration

    def signed(coded: int) -> int:
        return coded // 2 if coded % 2 == 0 else -(coded // 2) - 1

    items: list[Item] = []
    last = 0
    while True:
        try:
            head = number()
        except StopIteration:
            return items
        kind, rest = head % 4, head // 4
        if kind == HORIZON:
            items.append((kind, rest))
        elif kind == COVER:
            items.append((kind, [(number(), number(), number()) for _ in range(rest)]))
        elif kind == CLAUSE:
            items.append((kind, [(number(), signed(number())) for _ in range(rest)]))
        else:
            last += signed(rest)
            items.append((kind, last))


def certificate_of(problem: EvolutionProblem, items: list[Item]) -> dict[str, Any]:
    """Return the certificate with these items."""
    out = bytearray()

    def put(number: int) -> None:
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)

    def coded(value: int) -> int:
        return 2 * value if value >= 0 else -2 * value - 1

    last = 0
    for kind, content in items:
        if kind == HORIZON:
            put(4 * content)
        elif kind == COVER:
            put(4 * len(content) + COVER)
            for part in itertools.chain.from_iterable(content):
                put(part)
        elif kind == CLAUSE:
            put(4 * len(content) + CLAUSE)
            for arc, value in content:
                put(arc)
                put(coded(value))
        else:
            put(4 * coded(content - last) + DELETION)
            last = content
    points = [[app, 0] for app in range(len(problem.applications))]
    log = base64.b64encode(zlib.compress(bytes(out))).decode()
    return {"kind": "learned-clauses", "points": points, "log": log}


class _Contradiction(Exception):  # noqa: N818 - no error: what is looked for
    """A difference has no value left."""


def refuted_horizon(problem: EvolutionProblem, items: list[Item]) -> int | None:
    """Return the horizon that a log refutes, None if an item is wrong or nothing is refuted in the end."""
    n = len(problem.applications) + 1
    ground: dict[tuple[int, int], int] = {}
    clauses: list[list[Fact] | None] = []
    horizon: int | None = None
    bad = _bad_differences(problem)

    def close(values: dict[tuple[int, int], int]) -> None:
        """Raise values until nothing changes."""
        before = None
        while values != before:
            before = dict(values)
            for k, i, j in itertools.product(range(n), repeat=3):
                if (i, k) in values and (k, j) in values:
                    raise_to(values, i, j, values[i, k] + values[k, j])
            for clause in clauses:
                if clause is not None:
                    force(values, clause)

    def force(values: dict[tuple[int, int], int], clause: list[Fact]) -> None:
        """Raise the last fact of a clause that is not refuted."""
        none = -(10**12)
        left = [(arc, value) for arc, value in clause if values.get((arc % n, arc // n), none) < 1 - value]
        if not left:
            raise _Contradiction
        if len(left) == 1:
            (arc, value), *_ = left
            raise_to(values, arc // n, arc % n, value)

    def raise_to(values: dict[tuple[int, int], int], i: int, j: int, value: int) -> None:
        if i == j:
            if value > 0:
                raise _Contradiction
            return
        while (i, j) in bad and value in bad[i, j]:
            value += 1
        values[i, j] = max(value, values.get((i, j), value))

    for kind, content in items:
        try:
            if kind == HORIZON:
                if horizon is not None and content >= horizon:
                    return None
                horizon = content
                for app, (release, profile) in enumerate(
                    zip(problem.releases, problem.applications, strict=True)
                ):
                    raise_to(ground, n - 1, app, release)
                    raise_to(ground, app, n - 1, profile.duration - content)
            elif kind == COVER:
                clause = _cover_clause(problem, content)
                if clause is None:
                    return None
                clauses.append(clause)
            elif kind == CLAUSE:
                arcs = [arc for arc, _ in content]
                if arcs != sorted(set(arcs)) or any(not 0 <= arc < n * n or arc % (n + 1) == 0 for arc in arcs):
                    return None
                assumed = dict(ground)
                try:
                    for arc, value in content:
                        raise_to(assumed, arc % n, arc // n, 1 - value)
                    close(assumed)
                except _Contradiction:
                    clauses.append(list(content))
                else:
                    return None
            else:
                if not 0 <= content < len(clauses):
                    return None
                clauses[content] = None
            close(ground)
        except _Contradiction:
            return horizon
    return None


def _bad_differences(problem: EvolutionProblem) -> dict[tuple[int, int], set[int]]:
    """Return the differences of starts at which two applications over-commit the cluster, second by second."""
    held = [
        [nodes for duration, nodes in profile.steps for _ in range(duration)]
        for profile in problem.applications
    ]
    bad = {}
    for (a, one), (b, two) in itertools.permutations(enumerate(held), 2):
        bad[a, b] = {
            s - t
            for s, t in itertools.product(range(len(one)), range(len(two)))
            if one[s] + two[t] > problem.num_nodes
        }
    return bad


def _cover_clause(problem: EvolutionProblem, blocks: list[tuple[int, int, int]]) -> list[Fact] | None:
    """Return the clause of some blocks; None if they are none, or fit."""
    n, apps = len(problem.applications) + 1, [app for app, _, _ in blocks]
    if len(blocks) < 2 or apps != sorted(set(apps)) or apps[-1] >= n - 1:
        return None
    total, clause = 0, []
    for app, first, last in blocks:
        nodes = [nodes for _, nodes in problem.applications[app].steps]
        if not first <= last < len(nodes):
            return None
        total += min(nodes[first : last + 1])
    if total <= problem.num_nodes:
        return None
    for (one, _, last), (two, first, _) in itertools.permutations(blocks, 2):
        end = sum(duration for duration, _ in problem.applications[one].steps[: last + 1])
        start = sum(duration for duration, _ in problem.applications[two].steps[:first])
        clause.append((one * n + two, end - start))
    return clause
