"""Elastic jobs made of rigid ones, as published and after Lina et al. 2022: recipes, laws of the draw."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from workload_traces import kit_problem, knl_problem

from allocsolve.instances import elastic_workload, lina_workload, lublin1999, shrunk_arrivals
from allocsolve.model import Amdahl, Job, Overhead, Requests, Stall, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

SEEDS = st.integers(0, 2**32)
#: Preferred nodes, parallel share, fewest and most nodes on a cluster of 9,688.
PUBLISHED = [
    (1, 0.95, 1, 20),
    *((nodes, 0.95, 1, 20) for nodes in (2, 3, 4, 5)),
    *((6, 0.955, 1, 23), (7, 0.96, 1, 25), (8, 0.965, 1, 29), (9, 0.97, 1, 34), (10, 0.975, 2, 40)),
    *((nodes, 0.98, 2, 50) for nodes in (12, 13)),
    *((nodes, 0.985, 3, 67) for nodes in (16, 17)),
    *((18, 0.99, 3, 100), (20, 0.99, 4, 100), (24, 0.99, 4, 100)),
    *((26, 0.995, 5, 200), (32, 0.995, 6, 200), (50, 0.995, 10, 200)),
    *((51, 0.999, 10, 1000), (64, 0.999, 12, 1000), (128, 0.999, 25, 1000)),
    *((250, 0.999, 50, 1000), (251, 0.999, 50, 1000), (256, 0.999, 51, 1000), (512, 0.999, 102, 1000)),
    *((1000, 0.999, 200, 1000), (1024, 0.999, 204, 1024), (4096, 0.999, 819, 4096)),
]


def malleable(nodes: int, *, num_nodes: int = 9688, runtime: float = 600, tick: float = 10) -> Job:
    return elastic_workload(
        WorkloadProblem(num_nodes, [Job(0, nodes, runtime)]), share=1, seed=1, tick=tick
    ).jobs[0]


def test_the_published_limits() -> None:
    for nodes, parallel, *limits in PUBLISHED:
        job = malleable(nodes)
        assert (job.speedup, job.min_nodes, job.max_nodes) == (Amdahl(parallel), *limits), nodes
        assert (job.nodes, job.kind) == (nodes, "malleable")
    assert malleable(4, runtime=600.5, tick=1).points == 600
    assert malleable(4, runtime=0.5, tick=1).points == 1
    assert malleable(4, tick=0).points == 0


@given(st.integers(1, 3000), st.integers(0, 3000))
def test_limits_are_what_the_efficiencies_say(nodes: int, more: int) -> None:
    job = malleable(nodes, num_nodes=nodes + more)
    assert isinstance(job.speedup, Amdahl)
    parallel = Fraction(str(job.speedup.parallel))

    def efficiency(size: int, share: Fraction = parallel) -> Fraction:
        return 1 / ((1 - share) * size + share)

    listed = [Fraction(thousandths, 1000) for thousandths in (*range(950, 1000, 5), 999)]
    good = [share for share in listed if efficiency(nodes, share) > Fraction(4, 5)]
    assert parallel == min(good, default=listed[-1])
    assert job.max_nodes is not None
    assert nodes <= job.max_nodes <= nodes + more
    assert job.max_nodes == nodes or efficiency(job.max_nodes) > Fraction(1, 2)
    assert job.max_nodes == nodes + more or efficiency(job.max_nodes + 1) <= Fraction(1, 2)
    assert job.min_nodes == max(1, nodes // 5)


@pytest.mark.parametrize("made", [elastic_workload, lina_workload])
@given(seed=SEEDS, one=st.floats(0, 1), other=st.floats(0, 1))
def test_a_larger_share_has_the_jobs_of_a_smaller_one(made: Any, seed: int, one: float, other: float) -> None:
    problem = lublin1999(1, num_jobs=60)
    few, many = (made(problem, share=share, seed=seed) for share in sorted((one, other)))
    for rigid, less, more in zip(problem.jobs, few.jobs, many.jobs, strict=True):
        assert less in (rigid, more)
        assert (more.submit, more.nodes, more.runtime) == (rigid.submit, rigid.nodes, rigid.runtime)


def test_what_else_a_job_has_stays() -> None:
    first = Job(3, 4, 61.5, limit=70, name="a", user="me", weight=0)
    problem = WorkloadProblem(64, [first, Job(0, 64, 9)], meta={"log": "x"})
    for made, name in ((elastic_workload, "elastic"), (lina_workload, "lina")):
        elastic = made(problem, share=1, seed=[4, 2])
        same = ("submit", "nodes", "runtime", "limit", "name", "user", "weight")
        assert all(getattr(elastic.jobs[0], field) == getattr(first, field) for field in same)
        assert elastic.meta["workload"] == {"name": "", "log": "x"}
        assert elastic.name == f"workload-{name}1-s4-2"
    kind: dict[str, Any] = {"kind": "malleable"}
    malleable = replace(first, min_nodes=1, max_nodes=20, speedup=Amdahl(0.95), points=6, **kind)
    elastic = elastic_workload(problem, share=1, seed=[4, 2])
    assert elastic.jobs[0] == malleable
    assert elastic.jobs[1].points == 1


def test_the_draw_is_one_number_per_job() -> None:
    problem = lublin1999(1, num_jobs=1000)
    for share in (0, 0.2, 0.4, 1):
        elastic = elastic_workload(problem, share=share, seed=1)
        chosen = np.random.default_rng(1).random(1000) < share
        assert [job.kind == "malleable" for job in elastic.jobs] == chosen.tolist()


def test_real_logs(traces: Path) -> None:
    """41,524 jobs of Cori KNL, whose area on the preferred nodes stays; 9,988 of KIT FH2."""
    knl, kit = knl_problem(traces), kit_problem(traces)
    elastic, lina = elastic_workload(knl, share=0.4, seed=1), lina_workload(kit, share=0.4, seed=1)
    assert sum(job.kind == "malleable" for job in elastic.jobs) == 16_666
    assert elastic.area == knl.area
    assert sum(job.kind == "malleable" for job in lina.jobs) == 1947
    assert sum(job.kind == "evolving" for job in lina.jobs) == 1997
    assert elastic_workload(knl, share=0, seed=1).jobs == knl.jobs
    assert lina_workload(kit, share=0, seed=1).jobs == kit.jobs


# --- Lina et al. 2022 ----------------------------------------------------------------------------------


def converted(seed: int, **options: Any) -> list[Job]:
    problem = lublin1999(3, num_jobs=30)
    return list(lina_workload(problem, **{"share": 1, "seed": seed, **options}).jobs)


@given(SEEDS, st.sampled_from(["limited", "full", "uncapped"]), st.sampled_from(["new", "larger"]))
def test_what_is_drawn_is_in_the_ranges_of_the_paper(seed: int, flexibility: str, holds: str) -> None:
    for job in converted(seed, flexibility=flexibility, holds=holds):
        assert isinstance(job.speedup, Overhead)
        x, own = job.speedup.overhead, job.nodes
        assert 0.005 <= x <= 0.01
        fastest = min(128, math.floor(own * math.sqrt((1 - x) / x)))
        limits = {"limited": (math.ceil(own / 2), min(8 * own, 128)), "full": (1, fastest)}
        assert (job.min_nodes, job.max_nodes) == limits.get(flexibility, (1, 128))
        assert isinstance(job.reconfiguration, Stall)
        assert 0.02 <= job.reconfiguration.fixed <= 0.15
        assert 0.005 <= job.reconfiguration.per_node <= 0.05
        assert 0.005 <= job.reconfiguration.shared <= 0.05
        assert job.reconfiguration.holds == holds
        assert (job.kind == "evolving") == isinstance(job.evolution, Requests)
        events = job.evolution.events if isinstance(job.evolution, Requests) else ()
        assert len(events) <= 4
        for remaining, change in events:
            assert 0.3 <= remaining <= 0.6
            assert 1 <= change <= own or 1 <= -change <= max(1, own // 2)


@given(SEEDS)
def test_recursive_moments(seed: int) -> None:
    for absolute, recursive in zip(converted(seed), converted(seed, moments="recursive"), strict=True):
        if isinstance(absolute.evolution, Requests):
            assert isinstance(recursive.evolution, Requests)
            shares = [1.0, *(remaining for remaining, _ in recursive.evolution.events)]
            factors = [after / before for before, after in pairwise(shares)]
            assert sorted(factors, reverse=True) == pytest.approx([e[0] for e in absolute.evolution.events])
            changes = [change for _, change in absolute.evolution.events]
            assert [change for _, change in recursive.evolution.events] == changes


def test_the_draw_in_words() -> None:
    """First one number for each job, whether it is chosen; then 19 for each, in the order of the paper."""
    problem = lublin1999(1, num_jobs=300)
    rng = np.random.default_rng([5, 2])
    chosen, rows = rng.random(300) < 0.6, rng.random((300, 19))
    elastic = lina_workload(problem, share=0.6, seed=[5, 2])
    for job, is_chosen, row in zip(elastic.jobs, chosen, rows, strict=True):
        if not is_chosen:
            assert job.kind == "rigid"
            continue
        assert job.kind == ("malleable" if row[0] < 0.5 else "evolving")
        assert isinstance(job.speedup, Overhead)
        assert job.speedup.overhead == pytest.approx(0.005 + 0.005 * row[1])
        assert isinstance(job.reconfiguration, Stall)
        assert job.reconfiguration.per_node == pytest.approx(0.005 + 0.045 * row[2])
        assert job.reconfiguration.shared == pytest.approx(0.005 + 0.045 * row[3])
        assert job.reconfiguration.fixed == pytest.approx(0.02 + 0.085 * row[4] + 0.045 * row[5])
        if isinstance(job.evolution, Requests):
            count = 1 + int(4 * row[6])
            moments = sorted((0.3 + 0.3 * row[7 : 7 + count]).tolist(), reverse=True)
            changes = [
                1 + int(u * job.nodes) if grows < 0.8 else -1 - int(u * (job.nodes // 2))
                for grows, u in zip(row[11:15], row[15:], strict=True)
            ]
            assert job.evolution.events == tuple(zip(moments, changes[:count], strict=True))


def test_shrunk_arrivals() -> None:
    problem = lina_workload(lublin1999(2, num_jobs=40), share=0.5, seed=1)
    shrunk = shrunk_arrivals(problem, 0.65)
    gaps, before = np.diff(shrunk.packed.submit), np.diff(problem.packed.submit)
    assert gaps == pytest.approx(0.65 * before)
    assert shrunk.packed.submit[0] == problem.packed.submit[0]
    assert shrunk.jobs.evolutions == problem.jobs.evolutions
    assert shrunk.name == f"{problem.name}-arrivals0.65"
    assert shrunk.meta == {"arrivals": 0.65, "workload": {"name": problem.name, **problem.meta}}
    assert len(shrunk_arrivals(WorkloadProblem(1, []), 2).jobs) == 0
