"""Hypothesis strategies for reservation problems and schedules, tiny so that slow definitions can follow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st
from strategies import topologies

from allocsolve.model import (
    BOOKED,
    CANCELLED,
    RESERVATION_SHAPES,
    SUCCESSFUL,
    DeadlineJob,
    ReservationProblem,
    ReservationSchedule,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import ReservationShape


@st.composite
def reservation_problems(
    draw: st.DrawFn,
    *,
    max_jobs: int = 6,
    max_nodes: int = 12,
    longest: int = 5,
    shapes: Sequence[ReservationShape] = RESERVATION_SHAPES,
    may_leak: bool = False,
) -> ReservationProblem:
    """Problems with few instants, so that times are often equal; some jobs cannot end in time."""
    topology = draw(topologies(max_nodes=max_nodes))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 2),
                st.integers(1, topology.num_nodes),
                st.integers(1, longest),
                st.integers(-1, 8),
                st.sampled_from([1, 1, 1, 0, 2, 0.5]),
                st.sampled_from([None, 0, 1, 2, 3]),
            ),
            max_size=max_jobs,
        )
    )
    jobs, arrival = [], 0
    for gap, nodes, runtime, slack, weight, program in rows:
        arrival += gap
        deadline = max(0, arrival + runtime + slack)
        jobs.append(DeadlineJob(arrival, nodes, runtime, deadline, program, weight))
    shape = draw(st.sampled_from(shapes))
    return ReservationProblem(
        topology,
        tuple(jobs),
        shape,
        program_seed=draw(st.integers(0, 3)),
        leaking=may_leak and draw(st.booleans()),
    )


@st.composite
def reservation_schedules(draw: st.DrawFn, problem: ReservationProblem) -> ReservationSchedule:
    """Schedules of any kind: bookings at random times on random nodes, executed jobs with random holds."""
    nodes = st.integers(0, problem.topology.num_nodes - 1)
    outcomes, ends, computed, counts = [], [], [], []
    flat: list[tuple[int, float, float]] = []
    is_executed = bool(problem.jobs) and draw(st.booleans())
    for job in problem.jobs:
        chosen = [0, SUCCESSFUL, CANCELLED] if is_executed else [0, BOOKED, BOOKED]
        outcome = draw(st.sampled_from(chosen))
        outcomes.append(outcome)
        start = draw(st.integers(job.arrival - (1 if job.arrival else 0), job.deadline + 1))
        holds: list[tuple[int, float, float]] = []
        if outcome == BOOKED:
            size = job.nodes if draw(st.integers(0, 5)) else draw(st.integers(0, problem.topology.num_nodes))
            chosen_nodes = draw(st.lists(nodes, min_size=min(size, 1), max_size=size))
            if draw(st.integers(0, 3)):
                first = draw(nodes)
                chosen_nodes = [(first + idx) % problem.topology.num_nodes for idx in range(size)]
            holds = [(node, start, start + job.runtime) for node in sorted(chosen_nodes)]
        elif outcome and not problem.leaking:
            first, late = draw(nodes), draw(st.integers(0, 3))
            size = job.nodes if draw(st.integers(0, 5)) else draw(st.integers(0, job.nodes))
            end = start + job.runtime + draw(st.sampled_from([0, 0, 0, 0.5, -0.5]))
            chosen_nodes = sorted((first + idx) % problem.topology.num_nodes for idx in range(size))
            holds = [(node, start, end + (late == 3 and node == first)) for node in chosen_nodes]
        elif outcome:
            spans = st.tuples(nodes, st.integers(0, 6), st.integers(1, 4))
            drawn = draw(st.lists(spans, max_size=3))
            holds = sorted(
                [(node, start + late / 4, start + (late + long) / 4) for node, late, long in drawn],
                key=lambda hold: (hold[1], hold[0]),
            )
        ends.append(start + job.runtime if outcome == BOOKED else start + 2.5 if outcome else math.nan)
        held = sum(end - begin for _, begin, end in holds)
        computed.append(held * draw(st.sampled_from([0, 0.5, 1, 1.5])) if outcome else 0.0)
        counts.append(len(holds))
        flat += holds
    rows = np.array(flat, dtype=float).reshape(-1, 3)
    return ReservationSchedule(
        np.array(outcomes, dtype=np.int64),
        np.array(ends, dtype=float),
        np.cumsum([0, *counts], dtype=np.int64),
        rows[:, 0].astype(np.int64),
        rows[:, 1],
        rows[:, 2],
        np.array(computed, dtype=float) if is_executed else None,
    )
