"""Malleable and evolving jobs after Lina et al. 2022: laws of the draw, shrunk arrivals, the command."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import refused, run, run_json
from hypothesis import given, strategies as st
from workload_traces import kit_problem

from allocsolve.errors import AllocsolveError
from allocsolve.instances import lina_workload, lublin1999, read_problem, shrunk_arrivals, write_problem
from allocsolve.model import Job, Overhead, Requests, Stall, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

SEEDS = st.integers(0, 2**32)


def converted(seed: int, **options: Any) -> list[Job]:
    problem = lublin1999(3, num_jobs=30)
    return list(lina_workload(problem, **{"share": 1, "seed": seed, **options}).jobs)


@given(SEEDS, st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_has_the_jobs_of_a_smaller_one(seed: int, one: float, other: float) -> None:
    problem = lublin1999(1, num_jobs=60)
    few, many = (lina_workload(problem, share=share, seed=seed) for share in sorted((one, other)))
    for rigid, less, more in zip(problem.jobs, few.jobs, many.jobs, strict=True):
        assert less in (rigid, more)
        assert (more.submit, more.nodes, more.runtime) == (rigid.submit, rigid.nodes, rigid.runtime)


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


def test_what_else_a_job_has_stays() -> None:
    job = Job(3, 4, 61.5, limit=70, name="a", user="me", weight=0)
    elastic = lina_workload(WorkloadProblem(64, [job], meta={"log": "x"}), share=1, seed=[4, 2])
    after = elastic.jobs[0]
    same = ("submit", "nodes", "runtime", "limit", "name", "user", "weight")
    assert all(getattr(after, name) == getattr(job, name) for name in same)
    assert elastic.meta["workload"] == {"name": "", "log": "x"}
    assert elastic.name == "workload-lina1-s4-2"


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


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"share": 1.5}, r"share takes a number in 0\.\.1, not 1\.5"),
        ({"share": "x"}, r"share takes a number in 0\.\.1, not 'x'"),
        ({"seed": -1}, "seed -1 is not made of integers"),
        ({"flexibility": "free"}, "flexibility 'free'"),
        ({"moments": "now"}, "unknown moments 'now'"),
        ({"holds": "none"}, "unknown holds 'none'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(AllocsolveError, match=fault):
        lina_workload(lublin1999(1, num_jobs=3), **{"share": 0.5, "seed": 1, **options})


def test_elastic_jobs_and_bad_factors_are_refused() -> None:
    elastic = lina_workload(lublin1999(1, num_jobs=3), share=1, seed=1)
    with pytest.raises(AllocsolveError, match="only rigid jobs can be made elastic"):
        lina_workload(elastic, share=1, seed=1)
    for factor in (0, -1, math.nan, math.inf):
        with pytest.raises(AllocsolveError, match="is not above 0"):
            shrunk_arrivals(elastic, factor)


def test_a_real_log(traces: Path) -> None:
    """The first 10,000 jobs of KIT FH2 without the 12 largest."""
    problem = kit_problem(traces)
    elastic = lina_workload(problem, share=0.4, seed=1)
    assert sum(job.kind == "malleable" for job in elastic.jobs) == 1947
    assert sum(job.kind == "evolving" for job in elastic.jobs) == 1997
    assert lina_workload(problem, share=0, seed=1).jobs == problem.jobs


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    problem = lublin1999(1, num_jobs=50)
    write_problem(problem, tmp_path / "rigid.json")
    out = tmp_path / "lina.json"
    argv = ("generate", "lina", "--from", tmp_path / "rigid.json", "--share", 0.4, "--seed", 1, "--out", out)
    text = run(capsys, *argv)
    expected = lina_workload(problem, share=0.4, seed=1)
    counts = {kind: sum(job.kind == kind for job in expected.jobs) for kind in ("malleable", "evolving")}
    assert text.endswith(f"; malleable: {counts['malleable']}, evolving: {counts['evolving']} of 50\n")
    assert read_problem(out) == expected
    assert "exists; --force replaces it" in refused(capsys, *argv)
    options = ("--arrivals", 0.65, "--flexibility", "full", "--moments", "recursive", "--holds", "larger")
    told = run_json(capsys, *argv, *options, "--force")
    assert {name: told[name] for name in counts} == counts
    rigid = shrunk_arrivals(problem, 0.65)
    chosen: dict[str, Any] = {"flexibility": "full", "moments": "recursive", "holds": "larger"}
    again = lina_workload(rigid, share=0.4, seed=1, **chosen)
    assert read_problem(out) == again
    assert read_problem(out).meta == again.meta
    assert "factor 0 of the times" in refused(capsys, *argv, "--arrivals", 0, "--force")
