"""Which steps of an application move by themselves: the times that proofs of makespans are about.

A *point* is the start of a step that does not always follow at once: the first of an application, and each
one before which a step may have to be expanded. All other steps are at fixed distances from a point.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import EvolutionProblem, IntArray

__all__ = ["Points", "points_of"]


class Points(NamedTuple):
    """The points of a problem, by application and step; the *origin*, time 0, is one more behind them."""

    #: Application and step of each.
    steps: list[list[int]]
    #: Of each step of all applications: a point and the seconds from there to its start, and to its end.
    start: IntArray
    delay: IntArray
    end: IntArray
    end_delay: IntArray
    #: Of each point: its earliest time, and the seconds from there to the completion, at least.
    earliest: IntArray
    tail: IntArray
    #: Differences that always hold: rows (point, point, seconds that the second is later than the first).
    always: list[tuple[int, int, int]]
    #: Pairs of differences of which one holds.
    clauses: list[tuple[tuple[int, int, int], tuple[int, int, int]]]


def points_of(problem: EvolutionProblem, beyond: int) -> Points:
    """Return the points of the schedules that end before `beyond`.

    *Lemma.* If a schedule ends by some time, then also one in which a step is expanded only if all steps
    below it are expanded to their limits. Below step i are the steps j after it with fewer nodes and those
    before it with no more, if nodes never rise on the way from i to j; the last step is below i also with
    as many.

    *Proof.* Let i be expanded and j, below it, not be at its limit. Expand j by a second more, i by one less,
    and shift what is between. At any time no more nodes are held than before. If j is the last step, complete
    a second earlier instead; if it is the first, start a second later. Each time node-seconds are saved, or
    else seconds of expansion, or else an expanded second passes to an earlier step: that comes to an end.

    So neither the first nor the last step is ever expanded, nor one with such a step below it, nor one with
    a step below it whose limit is out of reach.
    """
    packed = problem.packed
    steps: list[list[int]] = []
    times: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    windows: list[tuple[int, int]] = []
    always: list[tuple[int, int, int]] = []
    clauses: list[tuple[tuple[int, int, int], tuple[int, int, int]]] = []
    for app, ((a, b), release) in enumerate(
        zip(pairwise(packed.offsets.tolist()), problem.releases, strict=True)
    ):
        durations, longest = packed.durations[a:b].tolist(), packed.max_durations[a:b].tolist()
        below = _below(packed.nodes[a:b].tolist(), durations, longest, beyond - release)
        for step, duration in enumerate(durations):
            if step == 0 or step - 1 in below:
                steps.append([app, step])
                windows.append((release + sum(durations[:step]), sum(durations[step:])))
                delay = 0
            times.append((len(steps) - 1, delay))
            delay += duration
            ends.append((len(steps), 0) if step in below else (len(steps) - 1, delay))
        for step, lower in below.items():
            point, before = times[a + step]
            always.append((point, point + 1, before + durations[step]))
            if longest[step] < beyond:
                always.append((point + 1, point, -before - longest[step]))
            for other in lower:
                its_point, its_delay = times[a + other]
                clauses.append(
                    (
                        (point + 1, point, -before - durations[step]),
                        (its_point, its_point + 1, its_delay + longest[other]),
                    )
                )

    def columns(rows: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
        one, two = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
        return one, two

    return Points(steps, *columns(times), *columns(ends), *columns(windows), always, clauses)


def _below(nodes: list[int], durations: list[int], longest: list[int], beyond: int) -> dict[int, list[int]]:
    """Return, for each step that may have to be expanded, the steps that are then at their limits."""
    last, room = len(nodes) - 1, beyond - sum(durations)
    below = {}
    for step in range(1, last):
        lower = [
            *(
                j
                for j in range(step + 1, last + 1)
                if _never_rise(nodes[step : j + 1]) and (nodes[j] < nodes[step] or j == last)
            ),
            *(j for j in range(step) if _never_rise(nodes[j : step + 1][::-1])),
        ]
        out_of_reach = any(j in (0, last) or longest[j] - durations[j] > room for j in lower)
        if longest[step] > durations[step] and not out_of_reach:
            below[step] = [j for j in lower if longest[j] > durations[j]]
    return below


def _never_rise(nodes: Sequence[int]) -> bool:
    return all(one >= two for one, two in pairwise(nodes))
