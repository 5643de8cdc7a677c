"""Generators of mesh refinement and of task trees, as evolution problems and as workloads: recipes, seeds."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import refused, run
from hypothesis import given, strategies as st

from allocsolve.errors import AllocsolveError, InvalidProblem
from allocsolve.instances import (
    amr,
    amr_stream,
    digest,
    evotree,
    evotree_batch,
    evotree_stream,
    read_problem,
    regenerate,
)
from allocsolve.instances.generators.amr import amr_nodes, amr_seconds
from allocsolve.model import Join, Phases, Profile, SpeedupTable
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli_tools import Capture

    from allocsolve.model import EvolutionProblem

#: The peak of the paper, 3.16 TiB, in MiB.
PEAK = 3.16 * 1024**2


@given(data=st.floats(0, 2 * PEAK))
def test_the_demand_is_the_largest_efficient_one(data: float) -> None:
    nodes = amr_nodes(data)
    assert nodes >= 1
    alone = amr_seconds(1, data)
    if nodes > 1:
        assert alone >= 0.75 * nodes * amr_seconds(nodes, data) * (1 - 1e-9)
    assert alone < 0.75 * (nodes + 1) * amr_seconds(nodes + 1, data) * (1 + 1e-9)


def test_the_demand_at_the_peak_of_the_paper() -> None:
    assert amr_nodes(PEAK) == 1511


@given(
    seed=st.integers(0, 2**32),
    num_apps=st.tuples(st.integers(0, 2), st.integers(0, 2)).map(sorted),
    peak=st.tuples(st.integers(2, 60), st.integers(2, 60)).map(sorted),
    change=st.sampled_from((0.05, 0.1, 0.5)),
)
def test_amr_is_in_its_ranges(seed: int, num_apps: list[int], peak: list[int], change: float) -> None:
    (few, many), (low, high) = num_apps, peak
    problem = amr(seed, num_apps=(few, many), peak=(low, high), change=change, num_nodes=60)
    assert few <= len(problem.applications) <= many
    for app in problem.applications:
        assert low <= max(nodes for _, nodes in app.steps) <= high
        assert min(nodes for _, nodes in app.steps) >= 1


def test_steps_of_amr_are_far_apart() -> None:
    """Merged steps hold the most of their demands, which are within the change round the first of them."""
    for seed in range(20):
        coarse, fine = amr(seed, change=0.5), amr(seed, change=0.1)
        for few, many in zip(coarse.applications, fine.applications, strict=True):
            assert 1 < len(few.steps) < len(many.steps) < 200
            assert max(nodes for _, nodes in few.steps) == max(nodes for _, nodes in many.steps)
            # 1000 steps of 1.4 s and more, and not slower than on one node
            assert sum(duration for duration, _ in many.steps) > 1380


def test_seeds_are_frozen() -> None:
    assert amr([7644, 0], num_apps=(3, 5)) == amr([7644, 0], num_apps=(3, 5))
    assert len({digest(amr(seed)) for seed in (0, 1, [0, 1])}) == 3
    assert len({digest(evotree_stream(seed, num_jobs=5)) for seed in (0, 1, [0, 1])}) == 3
    drawn = (amr(0), evotree_batch(42), evotree_stream(0, num_jobs=50), amr_stream(0, num_jobs=3))
    digests = ["2d6a939be58484b7", "9e4f7ae0b1aa6a6e", "84c33f2df8c805fd", "0689e30fddcda2e1"]
    assert [digest(problem)[:16] for problem in drawn] == digests


def test_batches_are_those_of_the_paper(traces: Path) -> None:
    document = json.loads((traces / "evotree_batches.json").read_text())
    assert [batch["seed"] for batch in document["batches"]] == [42, 43, 44, 45, 46]
    for batch in document["batches"]:
        seed, nodes, submits = batch["seed"], batch["nodes"], batch["effective_submit"]
        problem, jobs = evotree(seed), evotree_batch(seed, share=0).packed
        assert [max(n for _, n in app.steps) for app in problem.applications] == jobs.nodes.tolist() == nodes
        assert list(problem.releases) == jobs.submit.tolist() == submits
        for percent, indices in batch["evolving_indices"].items():
            apps = evotree(seed, evolving=int(percent)).applications
            trees = [idx for idx, app in enumerate(apps) if len(app.steps) == 3]
            assert trees == [idx for idx in indices if nodes[idx] > 1]
            workload = evotree_batch(seed, share=int(percent) / 100)
            assert np.flatnonzero(workload.jobs.evolving.reading).tolist() == indices
            ranges = {(job.nodes, job.min_nodes, job.max_nodes) for job in workload.jobs if job.evolution}
            assert ranges == {(nodes[idx], *document["ranges"][str(nodes[idx])]) for idx in indices}


@pytest.mark.parametrize(("seed", "seconds"), [(42, 1140), (43, 1420), (44, 1200), (45, 1040), (46, 1940)])
def test_the_area_of_the_batches_if_nothing_evolves(seed: int, seconds: int) -> None:
    problem = evotree(seed, evolving=0)
    assert (problem.num_nodes, len(problem.applications), problem.releases[:5]) == (10, 20, (0,) * 5)
    assert list(problem.releases) == sorted(problem.releases)
    assert sum(d * n for app in problem.applications for d, n in app.steps) == 10 * seconds


def test_a_job_that_evolves_needs_less() -> None:
    for rigid, tree in zip(evotree(42, evolving=0).applications, evotree(42).applications, strict=True):
        ((whole, size),) = rigid.steps
        assert whole == 200
        assert tree.steps == (rigid.steps if size == 1 else ((50, size), (100, 1), (50, size)))


def test_a_batch_in_figures() -> None:
    """Seed 42, as the published configuration draws it."""
    problem = evotree_batch(42, share=0.2)
    packed = problem.packed
    assert problem.num_nodes == 10
    assert packed.nodes.tolist() == [4, 1, 2, 1, 1, 4, 4, 4, 4, 1, 1, 8, 2, 1, 4, 8, 1, 1, 4, 1]
    assert packed.submit[4:10].tolist() == [0, 23, 55, 59, 116, 166]
    assert np.flatnonzero(packed.min_nodes < packed.max_nodes).tolist() == [0, 3, 7, 8]
    assert evotree_batch(43).packed.nodes[:6].tolist() == [2, 4, 2, 2, 2, 1]
    assert evotree_batch(46).packed.submit[-1] == 401


@pytest.mark.parametrize("share", [0, 0.2, 0.4, 0.6, 0.8, 1])
def test_all_jobs_of_a_batch_have_one_estimate(share: float) -> None:
    """Exactly: with estimates that differ in the last digit the paper's EASY would backfill."""
    for kind in ("evolving", "moldable"):
        problem = evotree_batch(44, share=share, kind=kind)
        assert (problem.packed.runtime == 181).all()
        assert len(set(problem.packed.estimate.tolist())) == 1
        assert sum(job.kind == kind for job in problem.jobs) == int(20 * share)


def test_jobs_take_what_their_phases_take() -> None:
    evolving, moldable = evotree_batch(45, release_delay=5), evotree_batch(45, kind="moldable")
    for job, table in zip(evolving.jobs, moldable.jobs, strict=True):
        assert isinstance(job.evolution, Phases)
        assert isinstance(table.speedup, SpeedupTable)
        assert job.evolution.release_delay == 5
        assert job.reconfiguration == Join(4.82, 3.94, 3.89)
        assert [most for _, most in job.evolution.phases] == [None, 1, None]
        work = (181 - 4.82) * (job.nodes + 1) / 2
        assert sum(work for work, _ in job.evolution.phases) == pytest.approx(work)
        for nodes, seconds in table.speedup.rows:
            assert seconds == pytest.approx(4.82 + job.evolution.run_time(nodes))


@given(
    st.integers(0, 2**32),
    st.integers(0, 100),
    st.integers(10, 100),
    st.floats(0, 1),
    st.sampled_from(("evolving", "moldable")),
)
def test_every_stream_is_a_workload(
    seed: int, num_jobs: int, num_nodes: int, share: float, kind: Any
) -> None:
    problem = evotree_stream(seed, num_jobs=num_jobs, num_nodes=num_nodes, share=share, kind=kind)
    packed = problem.packed
    assert len(problem.jobs) == num_jobs
    assert not num_jobs or packed.submit[0] == 0
    assert (np.diff(packed.submit) >= 0).all()
    assert set(packed.nodes.tolist()) <= {1, 2, 4, 8}
    assert regenerate(problem.meta, make_allocator) == problem


def test_shares_of_streams_are_nested_and_draw_nothing_else() -> None:
    few, many = (evotree_stream(1, num_jobs=500, share=share) for share in (0.3, 0.7))
    chosen = [np.flatnonzero(problem.jobs.evolving.reading) for problem in (few, many)]
    assert set(chosen[0]) < set(chosen[1])
    assert abs(len(chosen[1]) / 500 - 0.7) < 0.08
    assert few.packed.submit.tolist() == many.packed.submit.tolist()
    assert few.packed.nodes.tolist() == many.packed.nodes.tolist()


@pytest.mark.parametrize("load", [0.5, 1.5])
def test_streams_have_their_load(load: float) -> None:
    problem = evotree_stream(1, num_jobs=20_000, num_nodes=40, load=load, share=0)
    assert problem.area / (40 * problem.packed.submit[-1]) == pytest.approx(load, rel=0.03)


@given(st.integers(0, 2**32), st.integers(0, 3), st.sampled_from((1.0, 1.5, math.inf)))
def test_every_stream_of_mesh_refinement_is_a_workload(seed: int, num_jobs: int, expand_limit: float) -> None:
    problem = amr_stream(seed, num_jobs=num_jobs, num_nodes=80, peak=(10, 60), expand_limit=expand_limit)
    assert len(problem.jobs) == num_jobs
    for job in problem.jobs:
        assert isinstance(job.evolution, Profile)
        assert job.evolution.expand_limit == expand_limit
        assert 10 <= (job.max_nodes or 0) <= 60
    assert regenerate(problem.meta, make_allocator) == problem


@pytest.mark.parametrize("draw", [amr, evotree])
def test_the_limit_draws_nothing(draw: Callable[..., EvolutionProblem]) -> None:
    unlimited, limited = draw(42), draw(42, expand_limit=1.5)
    assert unlimited.expand_limit == math.inf
    assert limited.expand_limit == limited.meta["expand_limit"] == 1.5
    assert limited.applications == unlimited.applications
    with pytest.raises(InvalidProblem, match=r"expand limit 0\.5 is below 1"):
        draw(42, expand_limit=0.5)


@pytest.mark.parametrize(
    ("draw", "options", "message"),
    [
        (amr, {"num_apps": (5, 3)}, "num_apps 5-3 is empty"),
        (amr, {"num_apps": (-1, 3)}, "num_apps -1-3 is not within 0..2^53"),
        (amr, {"peak": (1, 3)}, "peak 1-3 is not within 2..100"),
        (amr, {"peak": (50, 101)}, "peak 50-101 is not within 2..100"),
        (amr, {"change": 0}, "change takes a number above 0, not 0"),
        (amr, {"change": math.nan}, "change takes a number above 0, not nan"),
        (amr, {"seed": -1}, "seed -1 is not made of integers >= 0"),
        (evotree, {"seed": 1.5}, "seed [1.5] is not made of integers >= 0"),
        (evotree, {"seed": -1}, "seed [-1] is not made of integers >= 0"),
        (evotree, {"evolving": 101}, "evolving takes a whole number in 0..100, not 101"),
        (evotree, {"evolving": -1}, "evolving takes a whole number in 0..100, not -1"),
        (evotree_batch, {"share": 1.5}, "share takes a number in 0..1, not 1.5"),
        (evotree_batch, {"kind": "rigid"}, "unknown kind 'rigid'"),
        (evotree_batch, {"release_delay": -1}, "release_delay takes a number of at least 0, not -1"),
        (evotree_batch, {"seed": -1}, "is not made of integers >= 0"),
        (evotree_stream, {"num_jobs": -1}, "num_jobs takes a whole number in 0..16777216, not -1"),
        (
            evotree_stream,
            {"num_jobs": 1, "num_nodes": 9},
            "num_nodes takes a whole number of at least 10, not 9",
        ),
        (evotree_stream, {"num_jobs": 1, "load": 0}, "load takes a number above 0, not 0"),
        (evotree_stream, {"num_jobs": 1, "load": math.inf}, "load takes a number above 0, not inf"),
        (amr_stream, {"num_jobs": 1, "peak": (1, 5)}, "peak 1-5 is not within 2..100"),
        (amr_stream, {"num_jobs": 1, "change": 0}, "change takes a number above 0, not 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    draw: Callable[..., object], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(AllocsolveError) as caught:
        draw(**{"seed": 1, **options})
    assert message in str(caught.value)


def test_the_commands_draw_batches_and_streams(tmp_path: Path, capsys: Capture) -> None:
    argv = ("generate", "evotree", "--count", 2, "--seed", 42, "--out", tmp_path)
    text = run(capsys, *argv, "--share", 0.6, "--release-delay", 5)
    assert text == f"2 problems in {tmp_path}: evotree-s42-0000.json to evotree-s42-0001.json\n"
    for idx in range(2):
        problem = read_problem(tmp_path / f"evotree-s42-000{idx}.json")
        assert problem == evotree_batch(42 + idx, share=0.6, release_delay=5)
    assert "--load is of a stream" in refused(capsys, *argv, "--load", 0.5, "--force")
    stream = ("--count", 1, "--seed", 3, "--jobs", 4, "--out", tmp_path)
    run(capsys, "generate", "evotree", *stream, "--num-nodes", 20, "--load", 1.2, "--kind", "moldable")
    problem = read_problem(tmp_path / "evotree-s3-0000.json")
    assert problem == evotree_stream([3, 0], num_jobs=4, num_nodes=20, load=1.2, kind="moldable")
    run(capsys, "generate", "amr", *stream, "--peak", "20-30", "--expand-limit", 2)
    problem = read_problem(tmp_path / "amr-s3-0000.json")
    assert problem == amr_stream([3, 0], num_jobs=4, peak=(20, 30), expand_limit=2)
