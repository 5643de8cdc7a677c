"""The generators of adaptive mesh refinement and of task trees: formulas, ranges, seeds."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.instances import amr, digest, evotree
from allocsolve.instances.generators.amr import amr_nodes, amr_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    problem = amr(
        seed, num_apps=(num_apps[0], num_apps[1]), peak=(peak[0], peak[1]), change=change, num_nodes=60
    )
    assert num_apps[0] <= len(problem.applications) <= num_apps[1]
    for app in problem.applications:
        assert peak[0] <= max(nodes for _, nodes in app.steps) <= peak[1]
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


def test_seeds_of_amr_are_frozen() -> None:
    assert amr([7644, 0], num_apps=(3, 5)) == amr([7644, 0], num_apps=(3, 5))
    assert len({digest(amr(seed)) for seed in (0, 1, [0, 1])}) == 3
    assert digest(amr(0))[:16] == "2d6a939be58484b7"


def test_batches_are_those_of_the_paper(traces: Path) -> None:
    document = json.loads((traces / "evotree_batches.json").read_text())
    assert [batch["seed"] for batch in document["batches"]] == [42, 43, 44, 45, 46]
    for batch in document["batches"]:
        problem = evotree(batch["seed"])
        assert [max(n for _, n in app.steps) for app in problem.applications] == batch["nodes"]
        assert list(problem.releases) == batch["effective_submit"]
        for percent, indices in batch["evolving_indices"].items():
            apps = evotree(batch["seed"], evolving=int(percent)).applications
            trees = [idx for idx, app in enumerate(apps) if len(app.steps) == 3]
            assert trees == [idx for idx in indices if batch["nodes"][idx] > 1]


@pytest.mark.parametrize(("seed", "seconds"), [(42, 1140), (43, 1420), (44, 1200), (45, 1040), (46, 1940)])
def test_the_area_of_the_batches_if_nothing_evolves(seed: int, seconds: int) -> None:
    problem = evotree(seed, evolving=0)
    assert problem.num_nodes == 10
    assert len(problem.applications) == 20
    assert problem.releases[:5] == (0,) * 5
    assert list(problem.releases) == sorted(problem.releases)
    assert sum(d * n for app in problem.applications for d, n in app.steps) == 10 * seconds


def test_a_job_that_evolves_needs_less() -> None:
    for rigid, tree in zip(evotree(42, evolving=0).applications, evotree(42).applications, strict=True):
        ((whole, size),) = rigid.steps
        assert whole == 200
        assert tree.steps == (rigid.steps if size == 1 else ((50, size), (100, 1), (50, size)))


@pytest.mark.parametrize("draw", [amr, evotree])
def test_the_limit_draws_nothing(draw: Callable[..., EvolutionProblem]) -> None:
    unlimited, limited = draw(42), draw(42, expand_limit=1.5)
    assert unlimited.expand_limit == math.inf
    assert limited.expand_limit == limited.meta["expand_limit"] == 1.5
    assert limited.applications == unlimited.applications
    with pytest.raises(InvalidProblem, match=r"expand limit 0\.5 is below 1"):
        draw(42, expand_limit=0.5)


@pytest.mark.parametrize(
    ("draw", "seed", "options", "message"),
    [
        (amr, 1, {"num_apps": (5, 3)}, "num_apps 5-3 is empty"),
        (amr, 1, {"num_apps": (-1, 3)}, f"num_apps -1-3 is not within 0..{2**53}"),
        (amr, 1, {"peak": (1, 3)}, "peak 1-3 is not within 2..100"),
        (amr, 1, {"peak": (50, 101)}, "peak 50-101 is not within 2..100"),
        (amr, 1, {"change": 0}, "change 0 is not a finite number above 0"),
        (amr, 1, {"change": math.nan}, "change nan is not a finite number above 0"),
        (amr, -1, {}, "seed -1 is not made of integers >= 0"),
        (evotree, 1.5, {}, "seed [1.5] is not made of integers >= 0"),
        (evotree, -1, {}, "seed [-1] is not made of integers >= 0"),
        (evotree, 1, {"evolving": 101}, "evolving 101 is not in 0..100 per cent"),
        (evotree, 1, {"evolving": -1}, "evolving -1 is not in 0..100 per cent"),
    ],
)
def test_impossible_options_are_refused(
    draw: Callable[..., EvolutionProblem], seed: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidOption) as caught:
        draw(seed, **options)
    assert str(caught.value) == message
