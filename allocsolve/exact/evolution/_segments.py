"""Step times as points and offsets: the parts of an application that move by themselves.

A *segment* is a run of steps of which only the last is ever expanded; its steps start at fixed offsets from
its first one. Without expansion each application is one segment; with expansion it has one more for each
step that some optimal schedule needs to expand (see `_expansion`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.exact.evolution._expansion import LATEST, expansion_order

if TYPE_CHECKING:
    from allocsolve.model import EvolutionProblem


class Fact(NamedTuple):
    """Point `after` is at least `seconds` later than point `before`."""

    before: int
    after: int
    seconds: int


class Segments(NamedTuple):
    """The points of a problem: the segments of its applications in order, then the origin, time 0."""

    #: Number of points.
    num_points: int
    #: (point, seconds after it) of the start of each step of each application, then of its completion.
    times: list[list[tuple[int, int]]]
    #: (release plus the durations before, seconds from there to the completion) of each segment, unexpanded.
    extents: list[tuple[int, int]]
    #: Facts that hold between the segments of an application, and clauses of which one fact holds in some
    #: optimal schedule.
    facts: list[Fact]
    clauses: list[tuple[Fact, Fact]]
    #: For each step that may be expanded, the fact that it is held for its duration, and its nodes.
    holds: list[tuple[Fact, int]]

    @property
    def first_steps(self) -> list[list[int]]:
        """The pair [application, step] of the first step of each segment."""
        return [
            [app, step]
            for app, own in enumerate(self.times)
            for step, (_, offset) in enumerate(own[:-1])
            if offset == 0
        ]

    def ends_before(self, first: tuple[int, int], second: tuple[int, int]) -> Fact:
        """Return the fact that step `first`, a pair (application, step), ends before step `second` starts."""
        (before, end), (after, start) = self.times[first[0]][first[1] + 1], self.times[second[0]][second[1]]
        return Fact(before, after, end - start)


def segments_of(problem: EvolutionProblem) -> Segments:
    """Return the segments of the schedules that end by `LATEST`."""
    packed = problem.packed
    times: list[list[tuple[int, int]]] = []
    extents: list[tuple[int, int]] = []
    facts: list[Fact] = []
    clauses: list[tuple[Fact, Fact]] = []
    holds: list[tuple[Fact, int]] = []
    orders = expansion_order(problem)
    for (a, b), order, release in zip(
        pairwise(packed.offsets.tolist()), orders, problem.releases, strict=True
    ):
        durations = packed.durations[a:b].tolist()
        total, passed, offset = sum(durations), 0, 0
        extents.append((release, total))
        own = [(len(extents) - 1, 0)]
        for step, duration in enumerate(durations):
            passed, offset = passed + duration, offset + duration
            if order[step] is not None:
                held = Fact(len(extents) - 1, len(extents), offset)
                facts.append(held)
                holds.append((held, int(packed.nodes[a + step])))
                extents.append((release + passed, total - passed))
                offset = 0
            own.append((len(extents) - 1, offset))
        times.append(own)
        for step, full in enumerate(order):
            if full is None:
                continue
            (point, start), (following, _) = own[step], own[step + 1]
            longest = int(packed.max_durations[a + step])
            if longest <= LATEST:
                facts.append(Fact(following, point, -start - longest))
            for taker in full:
                begin, at = own[taker]
                limit = int(packed.max_durations[a + taker])
                clauses.append(
                    (
                        Fact(following, point, -start - durations[step]),
                        Fact(begin, own[taker + 1][0], at + limit),
                    )
                )
    return Segments(len(extents) + 1, times, extents, facts, clauses, holds)
