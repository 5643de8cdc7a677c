"""The generator of Klein & Perez 2011: ranges, seeds, names, and that it never changes unnoticed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from allocsolve.errors import InvalidOption
from allocsolve.instances import digest, klein2011, read_problem, write_problem

if TYPE_CHECKING:
    from pathlib import Path


def test_the_defaults_are_those_of_the_paper() -> None:
    problems = [klein2011([0, idx]) for idx in range(200)]
    apps = [app for problem in problems for app in problem.applications]
    steps = [step for app in apps for step in app.steps]
    assert {problem.num_nodes for problem in problems} == {100}
    assert {problem.expand_limit for problem in problems} == {math.inf}
    assert {len(problem.applications) for problem in problems} == set(range(15, 21))
    assert {len(app.steps) for app in apps} == set(range(1, 11))
    assert {nodes for _, nodes in steps} == set(range(1, 76))
    durations = [duration for duration, _ in steps]
    assert (min(durations), max(durations)) == (500, 3600)
    # The mean of that many uniform draws is within 5 standard errors of the middle of the range.
    error = 5 / math.sqrt(len(steps))
    assert sum(durations) / len(steps) == pytest.approx(2050, abs=895 * error)
    assert sum(nodes for _, nodes in steps) / len(steps) == pytest.approx(38, abs=21.7 * error)


@given(
    seed=st.integers(0, 2**64),
    apps=st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted),
    steps=st.tuples(st.integers(1, 4), st.integers(1, 4)).map(sorted),
    times=st.tuples(st.integers(1, 9), st.integers(1, 9)).map(sorted),
    sizes=st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted),
)
def test_every_draw_is_in_its_range(
    seed: int, apps: list[int], steps: list[int], times: list[int], sizes: list[int]
) -> None:
    ranges: Any = {"num_apps": apps, "num_steps": steps, "duration": times, "nodes": sizes}
    ranges = {name: tuple(range_) for name, range_ in ranges.items()}
    problem = klein2011(seed, **ranges, num_nodes=9, expand_limit=2)
    assert (problem.num_nodes, problem.expand_limit) == (9, 2)
    assert apps[0] <= len(problem.applications) <= apps[1]
    for app in problem.applications:
        assert steps[0] <= len(app.steps) <= steps[1]
        assert all(times[0] <= d <= times[1] and sizes[0] <= n <= sizes[1] for d, n in app.steps)


def test_the_seed_alone_decides() -> None:
    assert klein2011(7) == klein2011(7) == klein2011([7])
    digests = [digest(klein2011(seed)) for seed in (7, 8, [7, 1], [1, 7], 2**40)]
    assert len(set(digests)) == len(digests)
    assert digest(klein2011([7, 0])) == digests[0]
    for seed in (-1, [], [3, -1], 1.5, "7", None):
        with pytest.raises(InvalidOption) as caught:
            klein2011(seed)  # type: ignore[arg-type]  # on purpose
        assert str(caught.value) == f"seed {seed!r} is not made of integers >= 0"


def test_the_problem_of_a_seed_is_frozen() -> None:
    # Published results name seeds: a change here needs a new version in the generator.
    problem = klein2011([1, 2], num_apps=(2, 3), num_steps=(1, 3))
    assert [app.steps for app in problem.applications] == [
        ((772, 4), (1802, 11)),
        ((886, 7), (1359, 25), (3016, 66)),
        ((3048, 32), (520, 50)),
    ]
    assert digest(klein2011(0)) == "c2a985310785e4df5e505c9d1e472a2033494df82ae612854011172bee389040"


def test_name_and_meta_tell_how_to_make_it_again(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    assert klein2011(7).name == "klein2011-s7"
    write_problem(klein2011([7, 3], duration=(5, 6)), path)
    again = read_problem(path)
    assert again.name == "klein2011-s7-3"
    assert again.meta == {
        "generator": "klein2011",
        "version": 1,
        "seed": [7, 3],
        "num_apps": [15, 20],
        "num_steps": [1, 10],
        "duration": [5, 6],
        "nodes": [1, 75],
        "num_nodes": 100,
        "expand_limit": None,
    }
    assert klein2011(7, expand_limit=1.5).meta["expand_limit"] == 1.5
    assert klein2011(7).meta["seed"] == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_apps": (20, 15)}, "num_apps 20-15 is empty"),
        ({"num_apps": (-1, 15)}, "num_apps -1-15 is not within 0..2^53"),
        ({"num_steps": (0, 3)}, "num_steps 0-3 is not within 1..2^53"),
        ({"duration": (0, 3)}, "duration 0-3 is not within 1..2^53"),
        ({"duration": (1, 2**53 + 1)}, f"duration 1-{2**53 + 1} is not within 1..2^53"),
        ({"nodes": (-2, -1)}, "nodes -2--1 is not within 0..2^53"),
        ({"nodes": (1, 101)}, "nodes 1-101 reach above num_nodes 100"),
        ({"num_nodes": 74}, "nodes 1-75 reach above num_nodes 74"),
    ],
)  # fmt: skip
def test_an_impossible_range_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        klein2011(1, **options)
    assert str(caught.value) == message
