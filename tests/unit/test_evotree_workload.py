"""Workloads of evolving tree-search jobs and of adaptive mesh refinement: recipes, ranges, commands."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import refused, run
from hypothesis import given, strategies as st

from allocsolve.errors import AllocsolveError
from allocsolve.instances import (
    amr_stream,
    digest,
    evotree_batch,
    evotree_stream,
    read_problem,
    regenerate,
)
from allocsolve.model import Join, Phases, Profile, SpeedupTable
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli_tools import Capture

    from allocsolve.model import WorkloadProblem


def test_batches_are_those_of_the_paper(traces: Path) -> None:
    document = json.loads((traces / "evotree_batches.json").read_text())
    for batch in document["batches"]:
        jobs = evotree_batch(batch["seed"], share=0).packed
        assert jobs.nodes.tolist() == batch["nodes"]
        assert jobs.submit.tolist() == batch["effective_submit"]
        for percent, indices in batch["evolving_indices"].items():
            problem = evotree_batch(batch["seed"], share=int(percent) / 100)
            assert np.flatnonzero(problem.jobs.evolving.reading).tolist() == indices
            assert {(job.nodes, job.min_nodes, job.max_nodes) for job in problem.jobs if job.evolution} == {
                (batch["nodes"][idx], *document["ranges"][str(batch["nodes"][idx])]) for idx in indices
            }


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
        assert sum(work for work, _ in job.evolution.phases) == pytest.approx(
            (181 - 4.82) * (job.nodes + 1) / 2
        )
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
    seed: int, num_jobs: int, num_nodes: int, share: float, kind: str
) -> None:
    problem = evotree_stream(
        *(seed,),
        num_jobs=num_jobs,
        num_nodes=num_nodes,
        share=share,
        kind=kind,  # type: ignore[arg-type]
    )
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


def test_seeds_of_streams_are_frozen() -> None:
    assert len({digest(evotree_stream(seed, num_jobs=5)) for seed in (0, 1, [0, 1])}) == 3
    assert digest(evotree_batch(42))[:16] == "9e4f7ae0b1aa6a6e"
    assert digest(evotree_stream(0, num_jobs=50))[:16] == "84c33f2df8c805fd"
    assert digest(amr_stream(0, num_jobs=3))[:16] == "0689e30fddcda2e1"


@pytest.mark.parametrize(
    ("draw", "options", "fault"),
    [
        (evotree_batch, {"share": 1.5}, "share 1.5 is not in 0..1"),
        (evotree_batch, {"kind": "rigid"}, "unknown kind 'rigid'"),
        (evotree_batch, {"release_delay": -1}, "release_delay -1 is not in"),
        (evotree_batch, {"seed": -1}, "seed .* is not made of integers >= 0"),
        (evotree_stream, {"num_jobs": -1}, "num_jobs -1 is not in"),
        (evotree_stream, {"num_jobs": 1, "num_nodes": 9}, "num_nodes 9 is below 10"),
        (evotree_stream, {"num_jobs": 1, "load": 0}, "load 0 is not a finite number above 0"),
        (evotree_stream, {"num_jobs": 1, "load": math.inf}, "load inf is not a finite"),
        (amr_stream, {"num_jobs": 1, "peak": (1, 5)}, "peak 1-5 is not within 2..100"),
        (amr_stream, {"num_jobs": 1, "change": 0}, "change 0 is not a finite number above 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    draw: Callable[..., WorkloadProblem], options: dict[str, object], fault: str
) -> None:
    with pytest.raises(AllocsolveError, match=fault):
        draw(**{"seed": 1, **options})


def test_the_command_draws_the_batches_of_the_paper(tmp_path: Path, capsys: Capture) -> None:
    argv = ("generate", "evotree", "--count", 2, "--seed", 42, "--out", tmp_path)
    text = run(capsys, *argv, "--share", 0.6, "--release-delay", 5)
    assert text == f"2 problems in {tmp_path}: evotree-s42-0000.json to evotree-s42-0001.json\n"
    for idx in range(2):
        problem = read_problem(tmp_path / f"evotree-s42-000{idx}.json")
        assert problem == evotree_batch(42 + idx, share=0.6, release_delay=5)
    err = refused(capsys, *argv, "--load", 0.5, "--force")
    assert "--load is of a stream" in err


def test_the_commands_draw_streams(tmp_path: Path, capsys: Capture) -> None:
    argv = ("--count", 1, "--seed", 3, "--jobs", 4, "--out", tmp_path)
    run(capsys, "generate", "evotree", *argv, "--num-nodes", 20, "--load", 1.2, "--kind", "moldable")
    problem = read_problem(tmp_path / "evotree-s3-0000.json")
    assert problem == evotree_stream([3, 0], num_jobs=4, num_nodes=20, load=1.2, kind="moldable")
    run(capsys, "generate", "amr", *argv, "--peak", "20-30", "--expand-limit", 2)
    problem = read_problem(tmp_path / "amr-s3-0000.json")
    assert problem == amr_stream([3, 0], num_jobs=4, peak=(20, 30), expand_limit=2)
