"""Proofs of makespans for tests: their items as lists, and a slow, obvious checker of them."""

from __future__ import annotations

import base64
import itertools
import math
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

from naive import longest

from allocsolve.bounds import step_prices
from allocsolve.exact.evolution._kernels_offset_search import ANSWER, NO_ANSWER
from allocsolve.exact.evolution._offset_model import OffsetModel
from allocsolve.exact.evolution._proof_log import ProofLog
from allocsolve.model import Budget

if TYPE_CHECKING:
    from allocsolve import EvolutionProblem

HORIZON, COVER, CLAUSE, DELETION = range(4)
#: Bytes for which the log of a solver has room.
SIZE = 10**8

#: Its kind, then: the horizon; blocks (application, first, last); facts (arc, value); the number of a clause.
Item: TypeAlias = tuple[int, Any]
Fact: TypeAlias = tuple[int, int]
#: Of the steps of each application.
Prices: TypeAlias = list[list[int]]
#: Greatest lower bounds of differences.
Values: TypeAlias = dict[tuple[int, int], int]


def items_of(certificate: Any) -> list[Item]:
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


def certificate_of(
    problem: EvolutionProblem, items: list[Item], prices: Prices | None = None
) -> dict[str, Any]:
    """Return the certificate with these items, and prices if there are any."""
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
    log = base64.b64encode(zlib.compress(bytes(out))).decode()
    certificate = {"kind": "learned-clauses", "points": _Moves(problem).steps, "log": log}
    return certificate if prices is None else {**certificate, "prices": prices}


def refutation(
    problem: EvolutionProblem, time: int, slices: int, prices: Prices | None = None
) -> dict[str, Any]:
    """Return the proof that nothing ends by a time, by a search that knows these prices."""
    known = None if prices is None else step_prices(problem, prices)
    model = OffsetModel(problem, time, Budget().start(), seed=0, log=ProofLog(SIZE), prices=known)
    while not model.contradiction:
        outcome = model.search(slices)
        if outcome == NO_ANSWER:
            break
        if outcome == ANSWER:
            for cover in model.violated(*model.read_times()):
                model.exclude(cover)
    certificate = model.certificate(time)
    assert certificate is not None
    return certificate


class _Contradiction(Exception):  # noqa: N818 - no error: what is looked for
    """A difference has no value left."""


def refuted_horizon(problem: EvolutionProblem, items: list[Item], prices: Prices | None = None) -> int | None:
    """Return the horizon that a log refutes, None if an item is wrong or nothing is refuted in the end."""
    checker = _Checker(problem, prices)
    for item in items:
        try:
            if not checker.take(*item):
                return None
        except _Contradiction:
            return checker.horizon
    return None


def implied(problem: EvolutionProblem, items: list[Item], prices: Prices | None = None) -> Values | None:
    """Return the differences that follow from items without any assumption; None for a contradiction."""
    checker = _Checker(problem, prices)
    for item in items:
        try:
            assert checker.take(*item)
        except _Contradiction:
            return None
    return checker.ground


class _Checker:
    """What a proof has shown so far."""

    def __init__(self, problem: EvolutionProblem, prices: Prices | None) -> None:
        self.problem = problem
        self.moves = _Moves(problem)
        self.prices = prices or []
        self.most = _most_paid(problem, self.prices)
        self.n = len(self.moves.steps) + 1
        self.horizon: int | None = None
        self.ground: Values = {}
        self.clauses: list[list[Fact] | None] = [*self.moves.clauses()]
        self.bad = self.moves.bad_differences()

    def take(self, kind: int, content: Any) -> bool:
        """Take an item, False if it is wrong."""
        if kind == HORIZON:
            is_right = self.lower(content)
        elif kind == DELETION:
            is_right = 0 <= content < len(self.clauses)
            if is_right:
                self.clauses[content] = None
        else:
            clause = self.moves.cover_clause(content) if kind == COVER else self.learned(content)
            is_right = clause is not None
            self.clauses.append(clause)
        if is_right:
            self.close(self.ground)
        return is_right

    def lower(self, horizon: int) -> bool:
        """Count only what ends by the horizon."""
        if self.horizon is not None and horizon >= self.horizon:
            return False
        self.horizon = horizon
        origin = self.n - 1
        for app, profile in enumerate(self.problem.applications):
            first, (last, length) = self.moves.start(app, 0)[0], self.moves.end(app, len(profile.steps) - 1)
            self.raise_to(self.ground, origin, first, self.problem.releases[app])
            self.raise_to(self.ground, last, origin, length - horizon)
        for before, after, seconds in self.moves.always():
            self.raise_to(self.ground, before, after, seconds)
        return True

    def learned(self, facts: list[Fact]) -> list[Fact] | None:
        """Return a clause whose negation leads to a contradiction, else None."""
        arcs, size = [arc for arc, _ in facts], self.n * self.n
        if arcs != sorted({*arcs} & {*range(size)} - {*range(0, size, self.n + 1)}):
            return None
        assumed = dict(self.ground)
        try:
            for arc, value in facts:
                self.raise_to(assumed, arc % self.n, arc // self.n, 1 - value)
            self.close(assumed)
        except _Contradiction:
            return list(facts)
        return None

    def close(self, values: Values) -> None:
        """Raise values until nothing changes."""
        before: Values | None = None
        while values != before:
            before = dict(values)
            for k, i, j in itertools.product(range(self.n), repeat=3):
                if (i, k) in values and (k, j) in values:
                    self.raise_to(values, i, j, values[i, k] + values[k, j])
            for clause in self.clauses:
                if clause is not None:
                    self.force(values, clause)
            self.spend(values)
            self.pay(values)

    def force(self, values: Values, clause: list[Fact]) -> None:
        """Raise the last fact of a clause that is not refuted."""
        n, none = self.n, -(10**12)
        left = [(arc, value) for arc, value in clause if values.get((arc % n, arc // n), none) < 1 - value]
        if not left:
            raise _Contradiction
        if len(left) == 1:
            (arc, value), *_ = left
            self.raise_to(values, arc // n, arc % n, value)

    def spend(self, values: Values) -> None:
        """Limit each step that may be expanded to what all others leave of the node-seconds there are."""
        steps = self.moves.wasteful()
        if self.horizon is None or not steps:
            return
        left = self.problem.num_nodes * (self.horizon - min(self.problem.releases))
        left -= sum(d * n for profile in self.problem.applications for d, n in profile.steps)
        left -= sum(nodes * (values[point, point + 1] - least) for point, least, nodes in steps)
        if left < 0:
            raise _Contradiction
        for point, _, nodes in steps:
            self.raise_to(values, point + 1, point, -(values[point, point + 1] + left // nodes))

    def pay(self, values: Values) -> None:
        """Make room for what steps pay up to the end and from the start of each one, second by second."""
        origin = self.n - 1
        held = [
            (self.moves.start(app, step), self.moves.end(app, step), price)
            for app, row in enumerate(self.prices)
            for step, price in enumerate(row)
        ]
        if self.horizon is None or not self.most:
            return
        release, horizon = (origin, min(self.problem.releases)), (origin, self.horizon)
        windows = [(release, horizon)]
        for start, end, price in held:
            windows += [(release, end), (start, horizon)] if price else []
        for left, right in windows:
            while (length := self.apart(values, left, right)) > 0:
                inside = [
                    min(
                        self.apart(values, a, b),
                        self.apart(values, left, b),
                        self.apart(values, a, right),
                        length,
                    )
                    for a, b, _ in held
                ]
                paid = sum(price * max(0, own) for own, (_, _, price) in zip(inside, held, strict=True))
                if paid + self.unpaid(values, inside) <= self.most * length:
                    break
                self.raise_to(values, left[0], right[0], length + 1 + left[1] - right[1])

    def unpaid(self, values: Values, inside: list[int]) -> int:
        """Return what cannot be paid as nothing with a price fits beside a step, which is held so long."""
        steps = [
            (self.moves.start(app, step), self.moves.end(app, step), app, nodes, self.prices[app][step])
            for app, profile in enumerate(self.problem.applications)
            for step, (_, nodes) in enumerate(profile.steps)
        ]
        alone: dict[Any, int] = {}
        unpaid = 0
        for own, (start, end, app, nodes, price) in zip(inside, steps, strict=True):
            seconds = own
            for begin, stop, other, more, other_price in steps:
                if other != app and nodes + more <= self.problem.num_nodes and other_price:
                    pairs = itertools.product((start, begin), (end, stop))
                    # How long after the one's start the other ends, at most.
                    seconds -= max(0, min(-self.apart(values, late, early) for early, late in pairs))
            if seconds > 0 and price:
                unpaid += (self.most - price) * seconds
            elif seconds > 0:
                alone[start, end] = seconds

        def longest(after: tuple[int, int] | None, left: dict[Any, int]) -> int:
            """Return the most seconds of steps that follow each other, of those that are left."""
            return max(
                (
                    seconds + longest(step[1], {other: left[other] for other in left if other != step})
                    for step, seconds in left.items()
                    if after is None or self.apart(values, after, step[0]) >= 0
                ),
                default=0,
            )

        return unpaid + self.most * longest(None, alone)

    def apart(self, values: Values, first: tuple[int, int], second: tuple[int, int]) -> int:
        """Return the least seconds from a moment to another one; each is some seconds after a point."""
        (i, before), (j, after) = first, second
        return (0 if i == j else values.get((i, j), -(10**12))) + after - before

    def raise_to(self, values: Values, i: int, j: int, value: int) -> None:
        """Raise a difference, past what is bad."""
        if i == j:
            if value > 0:
                raise _Contradiction
            return
        while (i, j) in self.bad and value in self.bad[i, j]:
            value += 1
        values[i, j] = max(value, values.get((i, j), value))


def _most_paid(problem: EvolutionProblem, prices: Prices) -> int:
    """Return the largest price of steps that fit together, at most one of each application."""
    most = 0
    choices = [
        [(0, 0), *zip((nodes for _, nodes in profile.steps), row, strict=True)]
        for profile, row in zip(problem.applications, prices, strict=bool(prices))
    ]
    for chosen in itertools.product(*choices):
        if sum(nodes for nodes, _ in chosen) <= problem.num_nodes:
            most = max(most, sum(price for _, price in chosen))
    return most


class _Moves:
    """Which steps move with which point; nothing that the judge or a solver uses."""

    def __init__(self, problem: EvolutionProblem) -> None:
        self.problem = problem
        self.longest = [
            [longest(duration, problem.expand_limit) for duration, _ in profile.steps]
            for profile in problem.applications
        ]
        #: For each application the steps that may be expanded, and what is at its limit then.
        self.below = [self._below(app) for app in range(len(problem.applications))]
        self.steps = [
            [app, step]
            for app, profile in enumerate(problem.applications)
            for step in range(len(profile.steps))
            if step == 0 or step - 1 in self.below[app]
        ]

    def _below(self, app: int) -> dict[int, list[int]]:
        nodes, durations = zip(*((n, d) for d, n in self.problem.applications[app].steps), strict=True)
        spare = [most - least for most, least in zip(self.longest[app], durations, strict=True)]
        below = {}
        for step in range(len(nodes)):
            lower, at = [], step
            while at + 1 < len(nodes) and nodes[at + 1] <= nodes[at]:
                at += 1
                if nodes[at] < nodes[step] or at + 1 == len(nodes):
                    lower.append(at)
            at = step
            while at > 0 and nodes[at - 1] <= nodes[at]:
                at -= 1
                lower.append(at)
            ends = {0, len(nodes) - 1}
            if spare[step] > 0 and not ends & {step, *lower} and math.inf not in [spare[j] for j in lower]:
                below[step] = [j for j in lower if spare[j] > 0]
        return below

    def start(self, app: int, step: int) -> tuple[int, int]:
        """Return the point that a step moves with, and the seconds from there to its start."""
        first = max(own for one, own in self.steps if one == app and own <= step)
        seconds = sum(duration for duration, _ in self.problem.applications[app].steps[first:step])
        return self.steps.index([app, first]), seconds

    def end(self, app: int, step: int) -> tuple[int, int]:
        """Return the point that the end of a step moves with, and the seconds from there to it."""
        if step in self.below[app]:
            return self.start(app, step + 1)
        point, seconds = self.start(app, step)
        return point, seconds + self.problem.applications[app].steps[step][0]

    def always(self) -> list[tuple[int, int, int]]:
        """Return what holds of the differences of points of the same application."""
        facts = []
        for app, below in enumerate(self.below):
            for step in below:
                point, before = self.start(app, step)
                facts.append((point, point + 1, before + self.problem.applications[app].steps[step][0]))
                if not math.isinf(most := self.longest[app][step]):
                    facts.append((point + 1, point, -before - int(most)))
        return facts

    def wasteful(self) -> list[tuple[int, int, int]]:
        """Return point, least seconds to the next one and nodes of each step that may waste some."""
        found = []
        for app, below in enumerate(self.below):
            for step in below:
                (point, before), (seconds, nodes) = (
                    self.start(app, step),
                    self.problem.applications[app].steps[step],
                )
                if nodes:
                    found.append((point, before + seconds, nodes))
        return found

    def clauses(self) -> list[list[Fact]]:
        """Return for each step and each one below it: the one is not expanded, or the other to its limit."""
        n, found = len(self.steps) + 1, []
        for app, below in enumerate(self.below):
            for step, lower in below.items():
                point, before = self.start(app, step)
                unexpanded = -before - self.problem.applications[app].steps[step][0]
                for other in lower:
                    at, passed = self.start(app, other)
                    full = at * n + at + 1, passed + int(self.longest[app][other])
                    found.append([((point + 1) * n + point, unexpanded), full])
        return found

    def bad_differences(self) -> dict[tuple[int, int], set[int]]:
        """Return the differences of points at which steps that move with them over-commit the cluster."""
        held: list[dict[int, int]] = [{} for _ in self.steps]
        for app, profile in enumerate(self.problem.applications):
            for step, (duration, nodes) in enumerate(profile.steps):
                point, seconds = self.start(app, step)
                if self.end(app, step)[0] == point:
                    held[point] |= dict.fromkeys(range(seconds, seconds + duration), nodes)
        bad = {}
        for (a, one), (b, two) in itertools.permutations(enumerate(held), 2):
            if self.steps[a][0] != self.steps[b][0]:
                bad[a, b] = {
                    s - t for s, t in itertools.product(one, two) if one[s] + two[t] > self.problem.num_nodes
                }
        return bad

    def cover_clause(self, blocks: list[tuple[int, int, int]]) -> list[Fact] | None:
        """Return the clause of some blocks; None if they are none, or fit."""
        n, apps = len(self.steps) + 1, [app for app, _, _ in blocks]
        if len(blocks) < 2 or apps != sorted(set(apps)) or apps[-1] >= len(self.below):
            return None
        total, clause = 0, []
        for app, first, last in blocks:
            nodes = [nodes for _, nodes in self.problem.applications[app].steps]
            if not first <= last < len(nodes):
                return None
            total += min(nodes[first : last + 1])
        if total <= self.problem.num_nodes:
            return None
        for (one, _, last), (two, first, _) in itertools.permutations(blocks, 2):
            (before, end), (after, start) = self.end(one, last), self.start(two, first)
            clause.append((before * n + after, end - start))
        return clause
