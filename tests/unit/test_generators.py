"""Generators: what their commands draw and refuse, and those of applications that evolve."""

from __future__ import annotations

import inspect
import io
import json
import math
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from offenders import all_offenders

from allocsolve import instances as made
from allocsolve.errors import AllocsolveError
from allocsolve.instances import digest, klein2011, linnert2024, lublin1999, read_problem, write_problem
from allocsolve.instances.generators.klein2011 import amr_nodes, amr_seconds
from allocsolve.model import Job, Join, Phases, Profile, SpeedupTable, WorkloadProblem, options
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.model import EvolutionProblem, Problem


RIGID = lublin1999(1, num_jobs=50)
ELASTIC = made.elastic_workload(RIGID, share=1, seed=1)
elastic, lina = (partial(one, RIGID, share=0.5) for one in (made.elastic_workload, made.lina_workload))
shrunk, lublin = partial(made.shrunk_arrivals, RIGID), partial(lublin1999, num_jobs=1)
tree_stream, mesh_stream = partial(made.evotree_stream, num_jobs=1), partial(made.amr_stream, num_jobs=1)
tree_batch = made.evotree_batch
BEYOND = 2**53 + 1

#: Generators, an option, and what is said of it.
REFUSED: list[tuple[tuple[Callable[..., object], ...], dict[str, Any], str]] = [
    ((made.amr, made.downey1997, elastic, lina, lublin), {"seed": -1}, "seed -1 is not made of integers"),
    ((made.evotree, tree_batch), {"seed": -1}, "seed [-1] is not made of integers >= 0"),
    ((made.evotree,), {"seed": 1.5}, "seed [1.5] is not made of integers >= 0"),
    ((linnert2024,), {"seed": -1}, "seed takes a whole number in 0..2^53, not -1"),
    *(((klein2011,), {"seed": seed}, f"seed {seed!r} is not ") for seed in (-1, [], [3, -1], 1.5, "7", None)),
    ((made.amr, klein2011), {"num_apps": (20, 15)}, "num_apps 20-15 is empty"),
    ((made.amr,), {"num_apps": (-1, 3)}, "num_apps -1-3 is not within 0..2^53"),
    ((made.amr, mesh_stream), {"peak": (1, 3)}, "peak 1-3 is not within 2..100"),
    ((made.amr,), {"peak": (50, 101)}, "peak 50-101 is not within 2..100"),
    ((made.amr, made.evotree), {"expand_limit": 0.5}, "expand limit 0.5 is below 1"),
    ((made.downey1997,), {"num_nodes": 4999}, "num_nodes 4999 is below 5000"),
    ((made.downey1997,), {"nodes": (5, 4)}, "nodes 5-4 is empty"),
    ((made.downey1997,), {"runtime": (0, 4)}, "runtime 0-4 is not within 1..2^53"),
    ((made.downey1997,), {"runtime": (1, 2, 3)}, "runtime 1-2-3 is not within"),
    ((elastic,), {"tick": 1e-20}, "tick 1e-20 parts a job of "),
    ((partial(made.elastic_workload, ELASTIC, share=1),), {}, "only rigid jobs can be made malleable"),
    ((partial(made.lina_workload, ELASTIC, share=1),), {}, "only rigid jobs can be made elastic"),
    ((klein2011,), {"num_apps": (-1, 15)}, "num_apps -1-15 is not within 0..2^53"),
    ((klein2011,), {"num_steps": (0, 3)}, "num_steps 0-3 is not within 1..2^53"),
    ((klein2011,), {"duration": (0, 3)}, "duration 0-3 is not within 1..2^53"),
    ((klein2011,), {"duration": (1, BEYOND)}, f"duration 1-{BEYOND} is not within 1..2^53"),
    ((klein2011,), {"nodes": (-2, -1)}, "nodes -2--1 is not within 0..2^53"),
    ((klein2011,), {"nodes": (1, 101)}, "nodes 1-101 reach above num_nodes 100"),
    ((klein2011,), {"num_nodes": 74}, "nodes 1-75 reach above num_nodes 74"),
    ((linnert2024,), {"program": 4}, "program takes mixed, a whole number in 0..3 or None, not 4"),
]


def test_what_cannot_be_drawn_is_refused() -> None:
    with all_offenders() as offender:
        for draws, options, said in REFUSED:
            for draw in draws:
                with offender(f"{draw}: {said}"), pytest.raises(AllocsolveError, match=re.escape(said)):
                    draw(**{"seed": 1, **options})
    for factor in (0, -1, math.nan, math.inf):
        with pytest.raises(AllocsolveError, match="is not above 0"):
            shrunk(factor)


#: What draws, with what it needs besides a seed; sequences and limits of expansion are not stated as options.
DRAWS: tuple[Callable[..., object], ...] = (
    *(made.amr, klein2011, linnert2024, lublin, made.downey1997, elastic, lina, made.evotree),
    *(tree_batch, tree_stream, mesh_stream),
)


def test_values_that_no_option_takes_are_refused() -> None:
    """Each option refuses what is just outside of what it takes, and values of all other types."""
    with all_offenders() as offender:
        for draw in DRAWS:
            function: Any = getattr(draw, "func", draw)
            names = {*inspect.signature(function).parameters} - {"seed", "problem", "expand_limit"}
            for option in options._parameters(function, tuple(sorted(names))):
                for value in option.invalid_examples():
                    given_: dict[str, Any] = {"seed": 1, option.name: value}
                    with (
                        offender(f"{function.__name__}({option.name}={value!r})"),
                        pytest.raises(AllocsolveError, match=option.name),
                    ):
                        draw(**given_)


DOWNEY: dict[str, Any] = {"num_jobs": 20, "num_nodes": 100, "nodes": (2, 50), "runtime": (60, 60)}
#: What is typed behind `generate` in a folder with `rigid.json`, a file that it writes, and what is in that.
DRAWN: dict[str, tuple[str, Problem]] = {
    "downey1997 --count 2 --seed 17 --num-jobs 20 --load .5 --job-nodes 2-50 --duration 60 --nodes 100": (
        "downey1997-s17-0001",
        made.downey1997([17, 1], load=0.5, **DOWNEY),
    ),
    "lublin1999 --count 2 --seed 3 --num-jobs 5 --nodes 256": (
        "lublin1999-s3-0001",
        lublin1999([3, 1], num_jobs=5, num_nodes=256),
    ),
    "linnert2024 --count 2 --seed 5 --num-jobs 20": ("linnert2024-s5-0001", linnert2024(6, num_jobs=20)),
    "linnert2024 --count 2 --seed 5 --num-jobs 20 --gap 1.5 --kind feitelson96 --program 2": (
        "linnert2024-s5-0000",
        linnert2024(5, gap=1.5, num_jobs=20, stream="feitelson96", program=2),
    ),
    "evotree --count 2 --seed 42 --share .6 --release-delay 5": (
        "evotree-s42-0001",
        tree_batch(43, share=0.6, release_delay=5),
    ),
    "evotree --count 1 --seed 3 --num-jobs 4 --nodes 20 --load 1.2 --kind moldable": (
        "evotree-s3-0000",
        made.evotree_stream([3, 0], num_jobs=4, num_nodes=20, load=1.2, kind="moldable"),
    ),
    "amr --count 1 --seed 3 --num-jobs 4 --job-nodes 20-30 --expand-limit 2": (
        "amr-s3-0000",
        made.amr_stream([3, 0], num_jobs=4, peak=(20, 30), expand_limit=2),
    ),
    "klein2011 --count 3 --seed 9 --num-jobs 2-3 --steps 1 --duration 5-6 --job-nodes 1-9": (
        "klein2011-s9-0002",
        klein2011([9, 2], num_apps=(2, 3), num_steps=(1, 1), duration=(5, 6), nodes=(1, 9)),
    ),
    "klein2011 --count 1 --seed 3": ("klein2011-s3-0000", klein2011([3, 0])),
    "klein2011 --count 1 --seed 0 --job-nodes 2-8 --nodes 8 --expand-limit 1.5": (
        "klein2011-s0-0000",
        klein2011([0, 0], nodes=(2, 8), num_nodes=8, expand_limit=1.5),
    ),
    "elastic rigid.json --share .4 --seed 1": ("out", made.elastic_workload(RIGID, share=0.4, seed=1)),
    "elastic rigid.json --share .4 --seed 1 --tick 0": (
        "out",
        made.elastic_workload(RIGID, share=0.4, seed=1, tick=0),
    ),
    "lina rigid.json --share .4 --seed 1": ("out", made.lina_workload(RIGID, share=0.4, seed=1)),
    "lina rigid.json --share .4 --seed 1 --arrivals .65 --flexibility full --moments recursive "
    "--holds larger": (
        "out",
        made.lina_workload(
            shrunk(0.65), share=0.4, seed=1, flexibility="full", moments="recursive", holds="larger"
        ),
    ),
}


@pytest.mark.parametrize("command", DRAWN)
def test_a_command_draws_what_its_generator_does(
    command: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_problem(RIGID, "rigid.json")
    name, expected = DRAWN[command]
    words = ("generate", *command.split(), "--out", "out.json" if name == "out" else "new/folder")
    told = run(capsys, *words)
    problem = read_problem(f"{'' if name == 'out' else 'new/folder/'}{name}.json")
    assert (problem, problem.name, problem.meta) == (expected, expected.name, expected.meta)
    if name == "out":
        kinds = [job.kind for job in problem.jobs]  # type: ignore[attr-defined]  # a workload
        counts = {kind: kinds.count(kind) for kind in ("malleable", "evolving") if kind in kinds}
        shown = ", ".join(f"{kind}: {count}" for kind, count in counts.items())
        assert told.endswith(f"; {shown} of 50\n")
        assert run_json(capsys, *words, "--force").items() >= counts.items()
    else:
        files = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
        assert files == [f"{name[:-1]}{idx}.json" for idx in range(int(words[3]))]
        assert told.startswith(f"{len(files)} problem")
        assert files[0] in told
        assert files[-1] in told
    assert "exists; --force replaces" in refused(capsys, *words)


def test_workloads_to_change_are_logs_or_come_by_stdin(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, out = tmp_path / "log.swf", tmp_path / "elastic.json"
    log.write_text("; MaxNodes: 64\n; MaxProcs: 64\n1 0 0 600 4 -1 -1 4 700 -1 1 1 1 1 1 1 -1 -1\n")
    options = ("--share", 1, "--seed", 1, "--out", out, "--force")
    run(capsys, "generate", "elastic", log, *options)
    found: Any = read_problem(out)
    assert [(job.nodes, job.max_nodes, job.limit) for job in found.jobs] == [(4, 20, 700)]
    write_problem(WorkloadProblem(8, [Job(0, 1, 60)]), tmp_path / "one.json")
    stdin = io.TextIOWrapper(io.BytesIO((tmp_path / "one.json").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    run(capsys, "generate", "elastic", "-", *options)
    found = read_problem(out)
    assert found.jobs[0].max_nodes == 8


# --- Applications that evolve -------------------------------------------------------------------------


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
    problem = made.amr(seed, num_apps=(few, many), peak=(low, high), change=change, num_nodes=60)
    assert few <= len(problem.applications) <= many
    for app in problem.applications:
        assert low <= max(nodes for _, nodes in app.steps) <= high
        assert min(nodes for _, nodes in app.steps) >= 1


def test_steps_of_amr_are_far_apart() -> None:
    """Merged steps hold the most of their demands, which are within the change round the first of them."""
    for seed in range(20):
        coarse, fine = made.amr(seed, change=0.5), made.amr(seed, change=0.1)
        for few, many in zip(coarse.applications, fine.applications, strict=True):
            assert 1 < len(few.steps) < len(many.steps) < 200
            assert max(nodes for _, nodes in few.steps) == max(nodes for _, nodes in many.steps)
            # 1000 steps of 1.4 s and more, and not slower than on one node
            assert sum(duration for duration, _ in many.steps) > 1380


def test_seeds_are_frozen() -> None:
    assert made.amr([7644, 0], num_apps=(3, 5)) == made.amr([7644, 0], num_apps=(3, 5))
    assert len({digest(made.amr(seed)) for seed in (0, 1, [0, 1])}) == 3
    assert len({digest(made.evotree_stream(seed, num_jobs=5)) for seed in (0, 1, [0, 1])}) == 3
    drawn = (
        made.amr(0),
        made.evotree_batch(42),
        made.evotree_stream(0, num_jobs=50),
        made.amr_stream(0, num_jobs=3),
    )
    digests = ["2d6a939be58484b7", "9e4f7ae0b1aa6a6e", "84c33f2df8c805fd", "0689e30fddcda2e1"]
    assert [digest(problem)[:16] for problem in drawn] == digests


def test_batches_are_those_of_the_paper(traces: Path) -> None:
    document = json.loads((traces / "evotree_batches.json").read_text())
    assert [batch["seed"] for batch in document["batches"]] == [42, 43, 44, 45, 46]
    for batch in document["batches"]:
        seed, nodes, submits = batch["seed"], batch["nodes"], batch["effective_submit"]
        problem, jobs = made.evotree(seed), made.evotree_batch(seed, share=0).packed
        assert [max(n for _, n in app.steps) for app in problem.applications] == jobs.nodes.tolist() == nodes
        assert list(problem.releases) == jobs.submit.tolist() == submits
        for percent, indices in batch["evolving_indices"].items():
            apps = made.evotree(seed, evolving=int(percent)).applications
            trees = [idx for idx, app in enumerate(apps) if len(app.steps) == 3]
            assert trees == [idx for idx in indices if nodes[idx] > 1]
            workload = made.evotree_batch(seed, share=int(percent) / 100)
            assert np.flatnonzero(workload.jobs.evolving.reading).tolist() == indices
            ranges = {(job.nodes, job.min_nodes, job.max_nodes) for job in workload.jobs if job.evolution}
            assert ranges == {(nodes[idx], *document["ranges"][str(nodes[idx])]) for idx in indices}


@pytest.mark.parametrize(("seed", "seconds"), [(42, 1140), (43, 1420), (44, 1200), (45, 1040), (46, 1940)])
def test_the_area_of_the_batches_if_nothing_evolves(seed: int, seconds: int) -> None:
    problem = made.evotree(seed, evolving=0)
    assert (problem.num_nodes, len(problem.applications), problem.releases[:5]) == (10, 20, (0,) * 5)
    assert list(problem.releases) == sorted(problem.releases)
    assert sum(d * n for app in problem.applications for d, n in app.steps) == 10 * seconds


def test_a_job_that_evolves_needs_less() -> None:
    for rigid, tree in zip(
        made.evotree(42, evolving=0).applications, made.evotree(42).applications, strict=True
    ):
        ((whole, size),) = rigid.steps
        assert whole == 200
        assert tree.steps == (rigid.steps if size == 1 else ((50, size), (100, 1), (50, size)))


def test_a_batch_in_figures() -> None:
    """Seed 42, as the published configuration draws it."""
    problem = made.evotree_batch(42, share=0.2)
    packed = problem.packed
    assert problem.num_nodes == 10
    assert packed.nodes.tolist() == [4, 1, 2, 1, 1, 4, 4, 4, 4, 1, 1, 8, 2, 1, 4, 8, 1, 1, 4, 1]
    assert packed.submit[4:10].tolist() == [0, 23, 55, 59, 116, 166]
    assert np.flatnonzero(packed.min_nodes < packed.max_nodes).tolist() == [0, 3, 7, 8]
    assert made.evotree_batch(43).packed.nodes[:6].tolist() == [2, 4, 2, 2, 2, 1]
    assert made.evotree_batch(46).packed.submit[-1] == 401


@pytest.mark.parametrize("share", [0, 0.2, 0.4, 0.6, 0.8, 1])
def test_all_jobs_of_a_batch_have_one_estimate(share: float) -> None:
    """Exactly: with estimates that differ in the last digit the paper's EASY would backfill."""
    for kind in ("evolving", "moldable"):
        problem = made.evotree_batch(44, share=share, kind=kind)
        assert (problem.packed.runtime == 181).all()
        assert len(set(problem.packed.estimate.tolist())) == 1
        assert sum(job.kind == kind for job in problem.jobs) == int(20 * share)


def test_jobs_take_what_their_phases_take() -> None:
    evolving, moldable = made.evotree_batch(45, release_delay=5), made.evotree_batch(45, kind="moldable")
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
    problem = made.evotree_stream(seed, num_jobs=num_jobs, num_nodes=num_nodes, share=share, kind=kind)
    packed = problem.packed
    assert len(problem.jobs) == num_jobs
    assert not num_jobs or packed.submit[0] == 0
    assert (np.diff(packed.submit) >= 0).all()
    assert set(packed.nodes.tolist()) <= {1, 2, 4, 8}
    assert made.regenerate(problem.meta, make_allocator) == problem


def test_shares_of_streams_are_nested_and_draw_nothing_else() -> None:
    few, many = (made.evotree_stream(1, num_jobs=500, share=share) for share in (0.3, 0.7))
    chosen = [np.flatnonzero(problem.jobs.evolving.reading) for problem in (few, many)]
    assert set(chosen[0]) < set(chosen[1])
    assert abs(len(chosen[1]) / 500 - 0.7) < 0.08
    assert few.packed.submit.tolist() == many.packed.submit.tolist()
    assert few.packed.nodes.tolist() == many.packed.nodes.tolist()


@pytest.mark.parametrize("load", [0.5, 1.5])
def test_streams_have_their_load(load: float) -> None:
    problem = made.evotree_stream(1, num_jobs=20_000, num_nodes=40, load=load, share=0)
    assert problem.area / (40 * problem.packed.submit[-1]) == pytest.approx(load, rel=0.03)


@given(st.integers(0, 2**32), st.integers(0, 3), st.sampled_from((1.0, 1.5, math.inf)))
def test_every_stream_of_mesh_refinement_is_a_workload(seed: int, num_jobs: int, expand_limit: float) -> None:
    problem = made.amr_stream(seed, num_jobs=num_jobs, num_nodes=80, peak=(10, 60), expand_limit=expand_limit)
    assert len(problem.jobs) == num_jobs
    for job in problem.jobs:
        assert isinstance(job.evolution, Profile)
        assert job.evolution.expand_limit == expand_limit
        assert 10 <= (job.max_nodes or 0) <= 60
    assert made.regenerate(problem.meta, make_allocator) == problem


@pytest.mark.parametrize("draw", [made.amr, made.evotree])
def test_the_limit_draws_nothing(draw: Callable[..., EvolutionProblem]) -> None:
    unlimited, limited = draw(42), draw(42, expand_limit=1.5)
    assert unlimited.expand_limit == math.inf
    assert limited.expand_limit == limited.meta["expand_limit"] == 1.5
    assert limited.applications == unlimited.applications


# --- Klein & Perez 2011 --------------------------------------------------------------------------------


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
