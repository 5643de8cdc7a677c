"""Malleable jobs made of rigid ones: the published recipe, laws of the draw, the command."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import refused, run, run_json
from hypothesis import given, strategies as st
from workload_traces import knl_problem

from allocsolve.errors import AllocsolveError
from allocsolve.instances import elastic_workload, klein2011, lublin1999, read_problem, write_problem
from allocsolve.model import Amdahl, Job, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

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


@given(st.integers(0, 2**32), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_has_the_jobs_of_a_smaller_one(seed: int, one: float, other: float) -> None:
    problem = lublin1999(1, num_jobs=60)
    few, many = (elastic_workload(problem, share=share, seed=seed) for share in sorted((one, other)))
    for rigid, less, more in zip(problem.jobs, few.jobs, many.jobs, strict=True):
        assert less in (rigid, more)
        assert (more.submit, more.nodes, more.runtime) == (rigid.submit, rigid.nodes, rigid.runtime)


def test_what_else_a_job_has_stays() -> None:
    problem = WorkloadProblem(
        64, [Job(3, 4, 61.5, limit=70, name="a", user="me", weight=0), Job(0, 64, 9)], meta={"log": "x"}
    )
    elastic = elastic_workload(problem, share=1, seed=[4, 2])
    kind: dict[str, Any] = {"kind": "malleable"}
    first = replace(problem.jobs[0], min_nodes=1, max_nodes=20, speedup=Amdahl(0.95), points=6, **kind)
    assert elastic.jobs[0] == first
    assert elastic.jobs[1].points == 1
    assert elastic.meta["workload"] == {"name": "", "log": "x"}
    assert elastic.name == "workload-elastic1-s4-2"


def test_the_draw_is_one_number_per_job() -> None:
    problem = lublin1999(1, num_jobs=1000)
    for share in (0, 0.2, 0.4, 1):
        elastic = elastic_workload(problem, share=share, seed=1)
        chosen = np.random.default_rng(1).random(1000) < share
        assert [job.kind == "malleable" for job in elastic.jobs] == chosen.tolist()


def test_a_real_log(traces: Path) -> None:
    """41,524 jobs of Cori KNL; their area on the preferred nodes stays."""
    problem = knl_problem(traces)
    elastic = elastic_workload(problem, share=0.4, seed=1)
    assert sum(job.kind == "malleable" for job in elastic.jobs) == 16_666
    assert elastic.area == problem.area
    assert elastic_workload(problem, share=0, seed=1).jobs == problem.jobs


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"share": 1.5}, r"share takes a number in 0\.\.1, not 1\.5"),
        ({"share": float("nan")}, r"share takes a number in 0\.\.1, not nan"),
        ({"seed": -1}, "seed -1 is not made of integers"),
        ({"tick": -1}, "tick takes a number of at least 0, not -1"),
        ({"tick": float("inf")}, "tick takes a number of at least 0, not inf"),
        ({"tick": 1e-20}, "tick 1e-20 parts a job of .* into more than"),
        ({"share": "x"}, r"share takes a number in 0\.\.1, not 'x'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(AllocsolveError, match=fault):
        elastic_workload(lublin1999(1, num_jobs=3), **{"share": 0.5, "seed": 1, **options})


def test_jobs_that_are_malleable_already_are_refused() -> None:
    elastic = elastic_workload(lublin1999(1, num_jobs=3), share=1, seed=1)
    with pytest.raises(AllocsolveError, match="is malleable: only rigid jobs can be made malleable"):
        elastic_workload(elastic, share=1, seed=1)


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    problem = lublin1999(1, num_jobs=50)
    write_problem(problem, tmp_path / "rigid.json")
    out = tmp_path / "elastic.json"
    argv = ("generate", "elastic", "--from", tmp_path / "rigid.json", "--share", 0.4, "--seed", 1)
    text = run(capsys, *argv, "--out", out)
    expected = elastic_workload(problem, share=0.4, seed=1)
    count = sum(job.kind == "malleable" for job in expected.jobs)
    assert text.endswith(f"; malleable: {count} of 50\n")
    assert read_problem(out) == expected
    assert "exists; --force replaces it" in refused(capsys, *argv, "--out", out)
    told = run_json(capsys, *argv, "--tick", 0, "--out", out, "--force")
    assert told["malleable"] == count
    again = read_problem(out)
    assert again == elastic_workload(problem, share=0.4, seed=1, tick=0)
    assert again.meta == {**expected.meta, "tick": 0}
    assert "--tick: -1 is below 0" in refused(capsys, *argv, "--tick", -1, "--out", out, "--force")
    other = tmp_path / "evolution.json"
    write_problem(klein2011(1, num_apps=(2, 2)), other)
    said = "is a problem of the kind evolution, not a workload"
    for path, fault in ((out, "only rigid jobs"), (other, said)):
        assert fault in refused(capsys, *argv[:3], path, *argv[4:], "--out", tmp_path / "x.json")


def test_the_command_takes_logs_and_stdin(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, out = tmp_path / "log.swf", tmp_path / "elastic.json"
    log.write_text("; MaxNodes: 64\n; MaxProcs: 64\n1 0 0 600 4 -1 -1 4 700 -1 1 1 1 1 1 1 -1 -1\n")
    options = ("--share", 1, "--seed", 1, "--out", out, "--force")
    run(capsys, "generate", "elastic", "--from", log, *options)
    made: Any = read_problem(out)
    assert [(job.nodes, job.max_nodes, job.limit) for job in made.jobs] == [(4, 20, 700)]
    write_problem(WorkloadProblem(8, [Job(0, 1, 60)]), tmp_path / "one.json")
    stdin = io.TextIOWrapper(io.BytesIO((tmp_path / "one.json").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    run(capsys, "generate", "elastic", "--from", "-", *options)
    made = read_problem(out)
    assert made.jobs[0].max_nodes == 8
