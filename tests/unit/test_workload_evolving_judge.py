"""The judge of evolving jobs, on answers that people can follow by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest

from allocsolve.judge.workload.rules import workload_metrics, workload_violations
from allocsolve.model import (
    Job,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    Stall,
    WorkloadProblem,
    WorkloadSchedule,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Twice as fast on twice as many nodes.
LINEAR = PowerLaw(1)

#: 100 s on 4 nodes; asks for 4 more with half of its work left, and gives 6 back with a quarter left.
ASKS = Job(0, 4, 100, min_nodes=2, max_nodes=16, speedup=LINEAR, evolution=Requests([(0.5, 4), (0.25, -6)]))
#: A change costs 10 s.
STALL = Stall(fixed=2, per_node=1, shared=48)
STALLS = replace(ASKS, evolution=Requests([(0.5, 4)]), reconfiguration=STALL)
STALL = Stall(fixed=10, holds="larger")
MALLEABLE = replace(ASKS, kind="malleable", evolution=None, points=4, reconfiguration=STALL)
#: 200 node-seconds on any nodes, 100 on one, 200 on any; gives a node back 10 s after it is of no use.
REACTS = Job(
    0,
    2,
    5 + 100 + 100 + 100,
    min_nodes=2,
    max_nodes=4,
    evolution=Phases([(200, None), (100, 1), (200, None)], release_delay=10),
    reconfiguration=Join(start=5, grow=4, shrink=3),
)
#: Asks for a third node from the start on; gives one back at 15 s, where nobody gave it one before.
ASKS_ON = Job(0, 2, 30, min_nodes=2, max_nodes=4, evolution=Phases([(20, None), (20, 1)], release_delay=5))
LEAVES_LATE = replace(ASKS_ON, reconfiguration=Join(shrink=3))
STEPS = Job(0, 2, 100, min_nodes=2, max_nodes=8, evolution=Profile([(60, 2), (30, 8), (10, 4)], 2))


#: Start and end in seconds, nodes.
Piece: TypeAlias = tuple[float, float, int]
Case: TypeAlias = tuple[Job, list[Piece]]


def schedule(pieces: Sequence[Piece]) -> WorkloadSchedule:
    starts, ends = (np.array([piece[column] for piece in pieces], dtype=np.float64) for column in (0, 1))
    return WorkloadSchedule(
        np.array([0, len(pieces)]), starts, ends, np.array([piece[2] for piece in pieces])
    )


def matters(job: Job, pieces: Sequence[Piece]) -> tuple[str, ...]:
    return workload_violations(WorkloadProblem(16, [job]), schedule(pieces))


GOOD: dict[str, Case] = {
    "nothing granted": (ASKS, [(0, 75, 4), (75, 125, 2)]),
    "granted at once": (ASKS, [(0, 50, 4), (50, 62.5, 8), (62.5, 112.5, 2)]),
    "granted later": (ASKS, [(0, 60, 4), (60, 67.5, 8), (67.5, 117.5, 2)]),
    "little to give back": (ASKS, [(0, 100, 2), (100, 350 / 3, 6), (350 / 3, 500 / 3, 2)]),
    "starts later": (ASKS, [(7, 82, 4), (82, 132, 2)]),
    "stalls": (STALLS, [(0, 50, 4), (50, 85, 8)]),
    "stall refused": (STALLS, [(0, 100, 4)]),
    "larger number held": (MALLEABLE, [(0, 35, 4), (35, 185, 2)]),
    "two stalls": (MALLEABLE, [(0, 25, 4), (25, 57.5, 8), (57.5, 157.5, 2)]),
    "asks for nobody": (REACTS, [(0, 118, 2), (118, 405, 1)]),
    "a node comes and goes at 15 s": (ASKS_ON, [(0, 20, 2), (20, 30, 1)]),
    "a node comes as one begins to leave": (LEAVES_LATE, [(0, 15, 2), (15, 18, 3), (18, 23, 2), (23, 30, 1)]),
    "a node leaves at the end": (REACTS, [(0, 118, 2), (118, 405 - 1e-9, 1), (405 - 1e-9, 405, 1)]),
    "profile": (STEPS, [(0, 60, 2), (60, 90, 8), (90, 100, 4)]),
    "profile waits": (STEPS, [(3, 123, 2), (123, 160, 8), (160, 180, 4)]),
}


@pytest.mark.parametrize("case", ["larger number held", "profile waits", *GOOD])
def test_good_answers(case: str) -> None:
    assert matters(*GOOD[case]) == ()


BROKEN: dict[str, Case] = {
    "no give-back": (ASKS, [(0, 100, 4)]),
    "gives back too much": (ASKS, [(0, 75, 4), (75, 125, 3)]),
    "gives back late": (ASKS, [(0, 80, 4), (80, 120, 2)]),
    "gives back early": (ASKS, [(0, 70, 4), (70, 130, 2)]),
    "takes early": (ASKS, [(0, 40, 4), (40, 57.5, 8), (57.5, 107.5, 2)]),
    "takes after the next moment": (ASKS, [(0, 75, 4), (75, 80, 2), (80, 91.25, 8)]),
    "takes half of it": (ASKS, [(0, 50, 4), (50, 200 / 3, 6), (200 / 3, 200 / 3 + 50, 2)]),
    "takes twice": (ASKS, [(0, 50, 4), (50, 55, 8), (55, 60, 12), (60, 110, 2)]),
    "too little work": (ASKS, [(0, 75, 4), (75, 120, 2)]),
    "too few nodes": (ASKS, [(0, 400, 1)]),
    "gap": (ASKS, [(0, 75, 4), (76, 126, 2)]),
    "no stall": (STALLS, [(0, 50, 4), (50, 75, 8)]),
    "stalls too long": (STALLS, [(0, 50, 4), (50, 95, 8)]),
    "leaves before its stall is over": (MALLEABLE, [(0, 25, 4), (25, 185, 2)]),
    "no room for the stall": (MALLEABLE, [(0, 25, 4), (25, 34, 8), (34, 184, 2)]),
    "off its points": (MALLEABLE, [(0, 40, 4), (40, 180, 2)]),
    "gives back nothing": (REACTS, [(0, 305, 2)]),
    "node leaves early": (REACTS, [(0, 115, 2), (115, 405, 1)]),
    "node leaves late": (REACTS, [(0, 121, 2), (121, 405, 1)]),
    "takes two": (REACTS, [(0, 10, 2), (10, 300, 4)]),
    "starts below": (REACTS, [(0, 505, 1)]),
    "ends early": (REACTS, [(0, 118, 2), (118, 400, 1)]),
    "keeps a node": (ASKS_ON, [(0, 30, 2)]),
    "keeps a node and gives it back later": (ASKS_ON, [(0, 17, 2), (17, 30, 1)]),
    "useless node": (REACTS, [(0, 118, 2), (118, 150, 1), (150, 360, 2)]),
    "step too short": (STEPS, [(0, 60, 2), (60, 80, 8), (80, 90, 4)]),
    "step too long": (STEPS, [(0, 130, 2), (130, 160, 8), (160, 170, 4)]),
    "wrong nodes": (STEPS, [(0, 60, 2), (60, 90, 7), (90, 100, 4)]),
    "step left out": (STEPS, [(0, 60, 2), (60, 90, 8)]),
    "steps apart": (STEPS, [(0, 60, 2), (61, 91, 8), (91, 101, 4)]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_answers(case: str) -> None:
    (matter,) = matters(*BROKEN[case])
    assert matter.startswith("job 'j0' ")


def test_messages_name_what_is_wrong() -> None:
    said = {case: matters(*BROKEN[case])[0] for case in BROKEN}
    assert said["no give-back"] == "job 'j0' does not give back 2 of 4 nodes with 25 % of its work left"
    assert said["takes half of it"] == "job 'j0' changes from 4 to 6 nodes at 50 s, but asks for 8 nodes"
    assert said["takes early"] == "job 'j0' changes from 4 to 8 nodes at 40 s, but asks for nothing"
    assert "gives up nodes at 34 s, before its stall of 10 s is over" in said["no room for the stall"]
    assert said["gives back nothing"] == "job 'j0' gives back a node at 118 s, but holds 2 after that"
    assert said["step too long"] == "job 'j0' holds the nodes of step 0 for 130 s instead of 60 to 120 s"


def test_a_node_joins_and_leaves() -> None:
    # 5 s nothing, from 15 s on 2 nodes and from 19 s on 3 useful ones: 200 node-seconds are done at
    # 19 + (200 - 28) / 3, and so on.
    first = 19 + 172 / 3
    second = first + 100
    last = second + 200
    pieces: list[Piece] = [
        (0, 15, 2),
        (15, first + 13, 3),
        (first + 13, first + 23, 2),
        (first + 23, last, 1),
    ]
    assert matters(REACTS, pieces) == ()
    metrics = workload_metrics(WorkloadProblem(16, [REACTS]), schedule(pieces))
    assert (metrics.expansions_per_job, metrics.shrinks_per_job) == (1, 2)
    held = sum((end - start) * nodes for start, end, nodes in pieces)
    assert metrics.useful_share == pytest.approx(500 / held)


def test_overhead_is_fastest_where_its_paper_says() -> None:
    law = Overhead(0.01)
    times = [law.time_ratio(nodes, 10) for nodes in range(1, 200)]
    assert times[9] == 1
    assert abs(1 + times.index(min(times)) - 10 * (0.99 / 0.01) ** 0.5) < 1
