"""Streams after Downey, Lublin & Feitelson, and Linnert, and elastic jobs made of rigid ones: the draws."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import pytest
from hypothesis import given, strategies as st
from workload_traces import kit_problem, knl_problem

from allocsolve.heuristics.reservation.admission import admit
from allocsolve.instances import (
    LINNERT_STREAMS,
    LUBLIN_MODELS,
    downey1997,
    elastic_workload,
    lina_workload,
    linnert2024,
    lublin1999,
    regenerate,
    shrunk_arrivals,
)
from allocsolve.model import Amdahl, Job, Mesh, Overhead, Requests, Stall, Torus, WorkloadProblem
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.instances.generators.rigid import LublinModel
    from allocsolve.model import ReservationProblem


# --- Downey -------------------------------------------------------------------------------------------


def test_the_workload_of_the_paper() -> None:
    """10,000 jobs: 4,700 s and 639 nodes in the mean, one in 400 s, 75 % of 10,000 nodes."""
    for seed in (17, 18):
        packed = downey1997(seed).packed
        assert len(packed.nodes) == 10_000
        assert 2 <= packed.nodes.min() <= 3
        assert 4900 <= packed.nodes.max() <= 5000
        assert 296 <= packed.runtime.min() <= 300
        assert 20_000 <= packed.runtime.max() <= 20_131
        assert packed.runtime.mean() == pytest.approx(4700.3, rel=0.05)
        assert packed.nodes.mean() == pytest.approx(638.8, rel=0.06)
        gaps = np.diff(packed.submit)
        assert gaps.mean() == pytest.approx(400.3, rel=0.03)
        assert gaps.std() == pytest.approx(400.3, rel=0.05)
        assert (packed.nodes @ packed.runtime) / (10_000 * packed.submit[-1]) == pytest.approx(0.75, rel=0.06)


def test_logarithms_are_uniform_and_independent() -> None:
    packed = downey1997(3).packed
    shares = []
    for values, low, high in ((packed.nodes, 2, 5000), (packed.runtime, 296, 20_131)):
        share = (np.log(values) - math.log(low)) / math.log(high / low)
        # Kolmogorov's distance; whole nodes add up to .07 at the smallest sizes.
        above = share[values > 20]
        ranks = np.searchsorted(np.sort(share), above, side="right") / len(share)
        assert np.abs(ranks - above).max() < 0.02
        shares.append(share)
    assert abs(np.corrcoef(shares[0], shares[1])[0, 1]) < 0.03


@given(
    st.integers(0, 2**32),
    st.integers(0, 30),
    st.lists(st.integers(1, 60), min_size=2, max_size=2).map(sorted),
    st.lists(st.integers(1, 600), min_size=2, max_size=2).map(sorted),
    st.floats(0.01, 3),
)
def test_what_is_drawn_after_downey(
    seed: int, jobs: int, nodes: list[int], runtime: list[int], load: float
) -> None:
    problem = downey1997(seed, num_jobs=jobs, num_nodes=60, load=load, nodes=nodes, runtime=runtime)
    packed = problem.packed
    assert len(problem.jobs) == jobs
    for values, (low, high) in ((packed.nodes, nodes), (packed.runtime, runtime)):
        assert ((values >= low) & (values <= high)).all()
        assert (values % 1 == 0).all()
    assert (np.diff(packed.submit, prepend=0) >= 0).all()
    assert not jobs or packed.submit[0] == 0
    assert regenerate(problem.meta, make_allocator) == problem


# --- Lublin & Feitelson -------------------------------------------------------------------------------


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
    """The mean over 3 seeds of 200,000 jobs is in the range, wider by its width and 1 % (medians by 1 s)."""
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


# --- Linnert ------------------------------------------------------------------------------------------


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
def test_what_is_drawn_after_linnert(
    seed: int, jobs: int, stream: Any, program: Any, gap: float, machine: Any
) -> None:
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


# --- Elastic jobs -------------------------------------------------------------------------------------


SEEDS = st.integers(0, 2**32)
#: Preferred nodes, parallel share, fewest and most nodes on a cluster of 9,688.
LIMITS = [
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
    for nodes, parallel, *limits in LIMITS:
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
