"""The model of Lublin & Feitelson: reference statistics of the published program, other machines, seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pytest
from cli_tools import refused, run
from hypothesis import given, strategies as st

from allocsolve.errors import AllocsolveError
from allocsolve.instances import LUBLIN_MODELS, lublin1999, read_problem, regenerate
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

    from allocsolve.instances.generators.lublin1999 import LublinModel
    from allocsolve.model import WorkloadProblem


Range: TypeAlias = tuple[float, float] | None


class Reference(NamedTuple):
    """Ranges over three seeds of 200,000 jobs of the published program; None: not known."""

    serial: Range
    powers: Range
    nodes: Range
    log_nodes: Range
    runtime: Range
    median_runtime: Range
    log_runtime: Range
    sd_log_runtime: Range
    gap: Range
    median_gap: Range
    correlation: Range
    batch: Range = None


REFERENCES = {
    "types": Reference(
        *((0.1736, 0.1755), (0.686, 0.691), (8.90, 8.93), (2.270, 2.279), (1592, 1624), (18, 18)),
        *((3.468, 3.489), (2.383, 2.394), (523, 528), (51, 52), (0.1226, 0.1233), (0.1455, 0.1489)),
    ),
    "batch": Reference(
        *((0.291, 0.296), None, (13.8, 14.0), None, (9491, 9545), None),
        *((6.945, 6.968), None, None, None, None),
    ),
    "interactive": Reference(
        *((0.153, 0.155), None, (8.03, 8.09), None, (239, 247), None),
        *((2.876, 2.883), None, None, None, None),
    ),
    "typeless": Reference(
        *((0.2428, 0.2448), (0.6247, 0.6255), (12.10, 12.13), (2.318, 2.322), (4364, 4374), (107, 108)),
        *((5.458, 5.463), (2.969, 2.972), (907, 913), (115, 116), (0.159, 0.161)),
    ),
}


def statistics(problem: WorkloadProblem) -> Reference:
    """Return the same of a problem, each as a point."""
    packed = problem.packed
    nodes, logs, runs = packed.nodes, np.log2(packed.nodes), np.log(packed.runtime)
    powers = (nodes & (nodes - 1) == 0) & (nodes > 1)
    gaps = np.diff(packed.submit)
    values = [
        *((nodes == 1).mean(), powers.mean(), nodes.mean(), logs.mean(), packed.runtime.mean()),
        *(np.median(packed.runtime), runs.mean(), runs.std(), gaps.mean(), np.median(gaps)),
        np.corrcoef(logs, runs)[0, 1],
        np.mean([name.startswith("batch") for name in problem.jobs.names]),
    ]
    return Reference(*((float(value), float(value)) for value in values))


@pytest.mark.parametrize("model", LUBLIN_MODELS)
def test_the_statistics_are_those_of_the_published_program(model: LublinModel) -> None:
    """3 seeds x 200,000 jobs.

    The mean over the seeds lies in the range of the published program, widened by its width and 1 %
    (medians by 1 s): the mean of 200,000 gaps has a standard error of more than that, as a few of them are
    weeks; that of the run times of both types moves with the share of batch jobs.
    """
    drawn = [statistics(lublin1999(seed, num_jobs=200_000, model=model)) for seed in (1, 2, 3)]
    for field, expected in REFERENCES[model]._asdict().items():
        if expected is None:
            continue
        low, high = expected
        mean = float(np.mean([getattr(one, field)[0] for one in drawn]))
        slack = high - low + 0.01 * high + (1 if field.startswith("median") else 0)
        assert low - slack <= mean <= high + slack, field


@given(
    st.integers(0, 2**32),
    st.integers(0, 300),
    st.one_of(st.integers(32, 500), st.sampled_from([2**12, 9688, 2**30])),
    st.sampled_from(LUBLIN_MODELS),
)
def test_every_draw_is_a_workload(seed: int, num_jobs: int, num_nodes: int, model: LublinModel) -> None:
    problem = lublin1999(seed, num_jobs=num_jobs, num_nodes=num_nodes, model=model)
    packed = problem.packed
    assert len(problem.jobs) == num_jobs
    assert (np.diff(packed.submit) >= 0).all()
    assert not num_jobs or packed.submit[0] == 0
    assert problem.is_exact
    assert packed.nodes.max(initial=1) <= num_nodes
    assert packed.runtime.max(initial=1) <= np.exp(12)
    assert regenerate(problem.meta, make_allocator) == problem


@pytest.mark.parametrize("num_nodes", [256, 1000, 9688])
def test_on_another_machine_sizes_reach_all_of_its_nodes(num_nodes: int) -> None:
    sizes = lublin1999(1, num_jobs=20_000, num_nodes=num_nodes, model="typeless").packed.nodes
    assert 0.95 * num_nodes <= sizes.max() <= num_nodes
    middle = num_nodes / 2**2.5
    assert abs((sizes[sizes > 1] <= middle).mean() - 0.86) < 0.04


def test_jobs_come_by_day() -> None:
    hours = lublin1999(1, num_jobs=50_000, model="batch").packed.submit // 3600 % 24
    by_hour = np.bincount(hours.astype(np.int64), minlength=24)
    assert by_hour[9:18].mean() > 3 * by_hour[1:6].mean()


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"num_nodes": 31}, r"num_nodes takes a whole number in 32\.\.1073741824, not 31"),
        ({"num_jobs": -1}, r"num_jobs takes a whole number in 0\.\.16777216, not -1"),
        ({"model": "random"}, "unknown model 'random'"),
        ({"seed": -1}, "seed -1 is not made of integers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, object], fault: str) -> None:
    with pytest.raises(AllocsolveError, match=fault):
        lublin1999(**{"seed": 1, "num_jobs": 1, **options})  # type: ignore[arg-type]  # that is the test


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    argv = ("generate", "lublin1999", "--count", 2, "--seed", 3, "--out", tmp_path)
    text = run(capsys, *argv, "--jobs", 5, "--num-nodes", 256)
    assert text == f"2 problems in {tmp_path}: lublin1999-s3-0000.json to lublin1999-s3-0001.json\n"
    problem = read_problem(tmp_path / "lublin1999-s3-0001.json")
    assert problem == lublin1999([3, 1], num_jobs=5, num_nodes=256)
    err = refused(capsys, *argv, "--jobs", 5, "--num-nodes", 9, "--force")
    assert "argument --num-nodes: '9' is below 32" in err
