"""The streams after Linnert et al. 2024: their laws, and what is drawn in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from cli_tools import refused, run
from hypothesis import given, strategies as st

from allocsolve.errors import AllocsolveError
from allocsolve.heuristics.reservation.admission import admit
from allocsolve.instances import LINNERT_STREAMS, linnert2024, read_problem, regenerate
from allocsolve.model import Mesh, Torus
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

    from allocsolve.model import ReservationProblem


def _sizes(num_nodes: int, order: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    weights = [n**-order * (10 if n & (n - 1) == 0 else 1) for n in range(1, num_nodes + 1)]
    return np.array([weight / sum(weights) for weight in weights])


def test_the_stream_is_drawn_in_one_order() -> None:
    """All sizes, all classes, short and long run times, kinds, gaps; the times are rounded half to even."""
    rng = np.random.default_rng((3, 20240))
    nodes = rng.choice(np.arange(1, 129), 50, p=_sizes(128, 0.5))
    is_short = rng.random(50) < 0.84 - 0.05 * nodes / 128
    short, long = rng.exponential(360, 50), rng.exponential(57_600, 50)
    kinds = rng.integers(0, 4, 50)
    arrival = [round(time) for time in np.cumsum(rng.exponential(150, 50)).tolist()]
    runtime = [max(1, round(time)) for time in np.where(is_short, short, long).tolist()]
    problem = linnert2024(3, gap=150, num_jobs=50)
    rows = [(job.arrival, job.nodes, job.runtime, job.deadline, job.program) for job in problem.jobs]
    deadlines = [at + 18 * time for at, time in zip(arrival, runtime, strict=True)]
    assert rows == list(zip(arrival, nodes, runtime, deadlines, kinds, strict=True))
    assert problem.program_seed == 3
    assert problem.topology == Mesh((16, 8))


def test_sizes_and_run_times_have_their_shares() -> None:
    packed = linnert2024(1, num_jobs=100_000).packed
    share = np.bincount(packed.nodes, minlength=129)[1:] / 100_000
    assert np.abs(share - _sizes(128, 0.5)).max() < 0.005
    assert packed.nodes.mean() == pytest.approx(25.9, abs=0.4)
    assert (packed.nodes == 1).mean() == pytest.approx(0.20, abs=0.01)
    assert (packed.nodes >= 16).mean() == pytest.approx(0.41, abs=0.01)
    assert (packed.nodes >= 64).mean() == pytest.approx(0.17, abs=0.01)
    assert packed.runtime.mean() == pytest.approx(2.8 * 3600, rel=0.03)
    long = packed.runtime > 3600  # next to no short one is
    for low, high in ((1, 8), (64, 128)):
        some = (packed.nodes >= low) & (packed.nodes <= high)
        expected = (0.16 + 0.05 * packed.nodes[some].mean() / 128) * np.exp(-3600 / 57_600)
        assert long[some].mean() == pytest.approx(expected, abs=0.01)
    assert np.diff(packed.arrival).mean() == pytest.approx(1500, rel=0.02)


def test_jobs_of_feitelson_come_again_at_once() -> None:
    packed = linnert2024(1, num_jobs=50_000, gap=150, stream="feitelson96").packed
    rows = np.stack([packed.arrival, packed.nodes, packed.runtime])
    is_first = np.concatenate([[True], (np.diff(rows) != 0).any(axis=0)])
    repeats = np.diff(np.flatnonzero(np.append(is_first, True)))
    assert (repeats == 1).mean() == pytest.approx(1 / 1.341487, abs=0.01)  # 1 / zeta(2.5)
    assert (repeats == 2).mean() == pytest.approx(2**-2.5 / 1.341487, abs=0.01)
    share = np.bincount(packed.nodes[is_first], minlength=129)[1:] / is_first.sum()
    assert np.abs(share - _sizes(128, 1.5)).max() < 0.01
    assert (packed.deadline == packed.arrival + 5 * packed.runtime).all()
    long = 0.05 + 0.20 * packed.nodes[is_first].mean() / 128
    mean = 14 * 3600 * (1 + 6 * long)
    assert packed.runtime[is_first].mean() == pytest.approx(mean, rel=0.03)


def _without(problem: ReservationProblem, *columns: str) -> list[list[int]]:
    names = {"arrival", "nodes", "runtime", "program"} - {*columns}
    return [[getattr(job, name) for name in sorted(names)] for job in problem.jobs]


@given(
    st.integers(0, 2**53),
    st.integers(0, 30),
    st.sampled_from(LINNERT_STREAMS),
    st.sampled_from([None, "mixed", 0, 1, 2, 3]),
    st.floats(0.001, 1e5),
    st.sampled_from([Mesh((16, 8)), Mesh((3,)), Torus((2, 3, 2))]),
)
def test_what_is_drawn(seed: int, jobs: int, stream: Any, program: Any, gap: float, machine: Any) -> None:
    problem = linnert2024(seed, gap=gap, num_jobs=jobs, stream=stream, program=program, topology=machine)
    assert len(problem.jobs) == jobs
    packed = problem.packed
    assert ((packed.nodes >= 1) & (packed.nodes <= machine.num_nodes)).all()
    slack = 17 if stream == "linnert" else 4
    assert (packed.deadline - packed.arrival == (1 + slack) * packed.runtime).all()
    kinds = {job.program for job in problem.jobs}
    assert kinds <= ({0, 1, 2, 3} if program == "mixed" else {program})
    assert regenerate(problem.meta, make_allocator) == problem
    other = linnert2024(seed, gap=1, num_jobs=jobs, stream=stream, program=None, topology=machine)
    assert _without(other, "arrival", "program") == _without(problem, "arrival", "program")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"seed": -1}, r"seed takes a whole number in 0\.\.2\^53, not -1"),
        ({"seed": 1.5}, r"seed takes a whole number in 0\.\.2\^53, not 1\.5"),
        ({"gap": 0}, "gap takes a number above 0, not 0"),
        ({"gap": float("nan")}, "gap takes a number above 0, not nan"),
        ({"num_jobs": -1}, r"num_jobs takes a whole number in 0\.\.16777216, not -1"),
        ({"stream": "lublin"}, "lublin"),
        ({"program": 4}, r"program takes mixed, a whole number in 0\.\.3 or None, not 4"),
        ({"program": "0"}, "unknown program '0'"),
        ({"topology": (16, 8)}, "topology"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(AllocsolveError, match=fault):
        linnert2024(**{"seed": 1, **options})


#: Of the gaps: jobs that a count of free nodes accepts, and the day of the last deadline; means and medians.
PUBLISHED: Final = {1500: (497, 74.7), 150: (371, 65.8), 1: (260, 64.9)}


@pytest.mark.parametrize("gap", PUBLISHED)
def test_the_stream_has_the_figures_that_the_paper_prints(gap: int) -> None:
    streams = [linnert2024(seed, gap=gap) for seed in range(100)]
    counts = []
    for one in streams:
        jobs = one.packed.arrival, one.packed.nodes, one.packed.runtime, one.packed.deadline
        counts.append(int((admit(one.topology, *jobs, "count").starts >= 0).sum()))
    accepted, days = PUBLISHED[gap]
    assert np.mean(counts) == pytest.approx(accepted, rel=0.05)
    assert np.median([one.horizon for one in streams]) / 86400 == pytest.approx(days, rel=0.02)
    assert counts[:2] == {1500: [474, 415], 150: [422, 385], 1: [302, 216]}[gap]


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    argv = ("generate", "linnert2024", "--count", 2, "--seed", 5, "--out", tmp_path, "--jobs", 20)
    run(capsys, *argv)
    assert read_problem(tmp_path / "linnert2024-s5-0001.json") == linnert2024(6, num_jobs=20)
    options = ("--gap", 1.5, "--stream", "feitelson96", "--program", 2)
    run(capsys, *argv, *options, "--force")
    drawn = linnert2024(5, gap=1.5, num_jobs=20, stream="feitelson96", program=2)
    assert read_problem(tmp_path / "linnert2024-s5-0000.json") == drawn
    for option, value in (("--gap", 0), ("--stream", "lublin"), ("--program", 4)):
        refused(capsys, *argv, "--force", option, value)
