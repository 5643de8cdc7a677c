"""Sizes of jobs: those of a slow twin, bit for bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from strategies import workload_problems

from allocsolve.heuristics.workload.serial import job_sizes
from allocsolve.instances import elastic_workload
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import Amdahl, Job, PowerLaw, SpeedupTable, WorkloadProblem
from allocsolve.model.job_kinds import ALL_SIZES, allowed_sizes

MANY_SIZES = 16


def naive_job_sizes(problem: WorkloadProblem, *, every: bool = False) -> list[list[tuple[int, float]]]:
    """Return pairs of nodes and seconds of each job, the fastest first."""
    return [_sizes_of(problem, idx, every=every) for idx in range(len(problem.jobs))]


def _sizes_of(problem: WorkloadProblem, idx: int, *, every: bool) -> list[tuple[int, float]]:
    packed = problem.packed
    nodes, runtime = int(packed.nodes[idx]), float(packed.runtime[idx])
    law = problem.jobs.speedups[idx] if problem.jobs.speedups else None
    if law is None:
        return [(nodes, runtime)]
    least, most, step = int(packed.min_nodes[idx]), int(packed.max_nodes[idx]), int(packed.size_step[idx])
    times: dict[int, float] = {}
    if isinstance(law, SpeedupTable):
        times = dict(law.rows)
        numbers = sorted(times)
    else:
        listed = every or most - least < MANY_SIZES or step != ALL_SIZES
        numbers = list(allowed_sizes(least, most, step)) if listed else []
    if not numbers or (len(numbers) > MANY_SIZES and not every):
        wanted = np.geomspace(least, most, MANY_SIZES)
        allowed = np.array(numbers) if numbers else None
        near = np.rint(wanted) if allowed is None else allowed[np.searchsorted(allowed, wanted - 0.5)]
        numbers = sorted({*near.astype(int).tolist(), nodes})
    rows: list[tuple[int, float]] = []
    for number in numbers:
        if isinstance(law, SpeedupTable):
            seconds = float(times[number])
        elif number == nodes:
            seconds = runtime
        else:
            seconds = runtime * (law.time_ratio(number, nodes))
        if not rows or seconds < rows[-1][1]:
            rows.append((number, seconds))
    return rows[::-1]


def check(problem: WorkloadProblem, *, every: bool) -> None:
    """Compare with the slow twin."""
    sizes = job_sizes(problem, every=every)
    rows = [*zip(sizes.nodes.tolist(), sizes.seconds.tolist(), strict=True)]
    assert len(sizes.offsets) == len(problem.jobs) + 1
    assert sizes.offsets[-1] == len(rows)
    bounds = zip(sizes.offsets[:-1].tolist(), sizes.offsets[1:].tolist(), strict=True)
    assert [rows[start:end] for start, end in bounds] == naive_job_sizes(problem, every=every)
    assert not any(column.flags.writeable for column in sizes)


@given(workload_problems(max_jobs=8, max_nodes=40, times=st.floats(1e-3, 1e6), malleable=True), st.booleans())
def test_sizes_are_those_of_the_slow_twin(problem: WorkloadProblem, every: bool) -> None:
    check(problem, every=every)


@given(st.floats(1e-3, 1e9), st.floats(0, 1), st.sampled_from((1, 2, "powers-of-two")), st.booleans())
def test_of_large_ranges(runtime: float, share: float, size_set: int, every: bool) -> None:
    """Of nearly flat laws, sizes whose times differ by rounding only are left out, too."""
    laws = (Amdahl(share), PowerLaw(share), Amdahl(share * 1e-15), PowerLaw(1e-16))
    jobs = [
        Job(0, 64, runtime * scale, min_nodes=2, max_nodes=512, speedup=law, size_set=size_set)
        for law in laws
        for scale in (1, 1 / 3)
    ]
    table = SpeedupTable([(nodes, 1000 / nodes) for nodes in range(1, 60)])
    jobs.append(Job(0, 8, 125, min_nodes=1, max_nodes=59, speedup=table))
    check(WorkloadProblem(512, [*jobs, Job(1, 5, runtime)]), every=every)


def test_of_a_log_with_some_malleable_jobs() -> None:
    problem = elastic_workload(random_workload(1, 500, 512), share=0.5, seed=1)
    assert len(np.unique(problem.packed.speedup)) == 2
    check(problem, every=False)
