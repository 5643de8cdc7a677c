"""Laws: a policy of ours as a scheduler of Flux starts jobs when it does under our engine."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from client_tools import policy, rigid, under_our_engine
from flux_fake import FluxFake, Scheduler

from allocsolve.adaptors.flux import FluxScheduler
from allocsolve.model import Amdahl, WorkloadProblem
from allocsolve.simulation.forecast import promised_starts

CASES = 30


def scheduler(name: str, **attributes: object) -> type:
    """Return a scheduler as its user would write it."""
    return type(
        "OurScheduler", (FluxScheduler, Scheduler), {"policy": name, "most_forecast": 0, **attributes}
    )


def moldable(draw: random.Random) -> WorkloadProblem:
    """Return such jobs that may run on more nodes; run times are those on any number of nodes."""
    drawn, rows = rigid(draw), []
    for job in drawn.jobs:
        high = draw.randint(job.nodes, drawn.num_nodes)
        law = Amdahl(0) if high > job.nodes else None
        rows.append(replace(job, min_nodes=job.nodes, max_nodes=high, speedup=law, kind=None))
    return WorkloadProblem(drawn.num_nodes, rows)


@pytest.mark.parametrize(
    "name", ["fcfs", "first-fit", "easy", "easy(like=flux)", "easy(order=smallest-area)"]
)
def test_rigid_jobs_start_when_they_do_here(name: str) -> None:
    draw = random.Random(name)
    for _ in range(CASES):
        problem = rigid(draw)
        fake = FluxFake(problem, scheduler(name))
        fake.run()
        assert fake.starts == under_our_engine(problem, name).first_starts.tolist()


@pytest.mark.parametrize("unit", ["nodes", "cores"])
def test_nodes_of_one_core_are_cores(unit: str) -> None:
    problem = rigid(random.Random(unit))
    fake = FluxFake(problem, scheduler("easy", unit=unit))
    fake.run()
    assert fake.starts == under_our_engine(problem, "easy").first_starts.tolist()


@pytest.mark.parametrize("name", ["fcfs", "easy", "easy(moldable=fit)", "easy(moldable=min)"])
def test_ranges_are_moldable_jobs(name: str) -> None:
    draw = random.Random(name)
    for _ in range(CASES):
        problem = moldable(draw)
        fake = FluxFake(problem, scheduler(name))
        fake.run()
        schedule = under_our_engine(problem, name)
        assert fake.starts == schedule.first_starts.tolist()
        for jobid, job in enumerate(fake.order):
            granted = fake.jobs[jobid].request.granted
            assert granted is not None
            assert len(granted.ranks) == schedule.pieces(job)[0][2]
            end = fake.starts[job] + problem.packed.estimate[job]
            assert granted.times == {"starttime": fake.starts[job], "expiration": end}


def test_the_first_estimate_of_a_start_is_the_forecast_at_the_submission() -> None:
    draw = random.Random(4)
    told = 0
    for _ in range(10):
        problem = rigid(draw)
        fake = FluxFake(problem, scheduler("easy", most_forecast=64))
        fake.run()
        expected = promised_starts(problem, policy("easy"))
        for jobid, job in enumerate(fake.order):
            annotations = fake.jobs[jobid].request.annotations
            if annotations:
                told += 1
                assert np.isclose(annotations[0]["sched"]["t_estimate"], expected[job])
            else:
                assert fake.starts[job] == problem.packed.submit[job]
    assert told > 10
