"""Hypothesis strategies for problems and profiles, tiny by default so that brute force can follow."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from allocsolve.model import (
    Amdahl,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Job,
    Partition,
    PartitionProblem,
    PowerLaw,
    SpeedupTable,
    Topology,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.model.job_kinds import allowed_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

#: No expansion, a limit that floors, small whole limits, no limit.
EXPAND_LIMITS: tuple[float, ...] = (1, 1.5, 2, 3, math.inf)


def evolution_profiles(
    *, min_steps: int = 1, max_steps: int = 3, max_duration: int = 3, max_nodes: int = 4
) -> SearchStrategy[EvolutionProfile]:
    """Profiles with steps of 1 to `max_duration` seconds on 0 to `max_nodes` nodes."""
    step = st.tuples(st.integers(1, max_duration), st.integers(0, max_nodes))
    steps = st.lists(step, min_size=min_steps, max_size=max_steps)
    return steps.map(lambda chosen: EvolutionProfile(tuple(chosen)))


def occupied_profiles(
    num_nodes: int, *, max_steps: int = 8, max_duration: int = 4
) -> SearchStrategy[EvolutionProfile]:
    """Resource profiles that never exceed `num_nodes`, the idle cluster (no steps) included."""
    return evolution_profiles(
        min_steps=0, max_steps=max_steps, max_duration=max_duration, max_nodes=num_nodes
    )


@st.composite
def evolution_problems(
    draw: DrawFn,
    *,
    min_apps: int = 1,
    max_apps: int = 3,
    max_steps: int = 3,
    max_duration: int = 3,
    max_nodes: int = 4,
    expand_limits: Sequence[float] = EXPAND_LIMITS,
    releases: bool = False,
    max_release: int = 4,
) -> EvolutionProblem:
    """Problems on 1 to `max_nodes` nodes; every application fits the cluster.

    All releases are 0 unless `releases`, in which case they are 0 to `max_release`.
    """
    num_nodes = draw(st.integers(1, max_nodes))
    profile = evolution_profiles(max_steps=max_steps, max_duration=max_duration, max_nodes=num_nodes)
    apps = draw(st.lists(profile, min_size=min_apps, max_size=max_apps))
    times = st.lists(st.integers(0, max_release), min_size=len(apps), max_size=len(apps))
    return EvolutionProblem(
        num_nodes,
        tuple(apps),
        releases=tuple(draw(times)) if releases else (),
        expand_limit=draw(st.sampled_from(expand_limits)),
    )


@st.composite
def evolution_schedules(draw: DrawFn, problem: EvolutionProblem) -> EvolutionSchedule:
    """Any schedule with the right number of steps: mostly wrong, sometimes by one second."""
    starts = [draw(st.integers(0, 12)) for _ in problem.applications]
    profiles = []
    for app in problem.applications:
        held = [draw(st.integers(max(1, d - 1), 2 * d + 1)) for d in app.durations]
        profiles.append(EvolutionProfile(tuple(zip(held, app.nodes, strict=True))))
    return EvolutionSchedule.of(starts, profiles)


@functools.cache
def _shapes(max_nodes: int, max_axes: int) -> list[tuple[int, ...]]:
    shapes: list[tuple[int, ...]] = [()]
    for shape in shapes:  # grows while it is read: each shape is one of the axes before and a side
        if len(shape) < max_axes:
            shapes += [(*shape, side) for side in range(1, max_nodes // math.prod(shape) + 1)]
    return sorted(shapes[1:], key=lambda shape: (math.prod(shape), shape))


@st.composite
def topologies(
    draw: DrawFn,
    *,
    max_nodes: int = 16,
    max_axes: int = 3,
    wraps: Sequence[bool] = (False, True),
    complete: bool = False,
) -> Topology:
    """Boxes of 1 to `max_nodes` nodes with 1 to `max_axes` axes; rings are drawn from `wraps`.

    Axes may also be complete if that is said.
    """
    shape = draw(st.sampled_from(_shapes(max_nodes, max_axes)))
    kinds = st.sampled_from([(False, ring) for ring in wraps] + [(True, False)] * complete)
    full, rings = zip(*(draw(kinds) for _ in shape), strict=True)
    return Topology(shape, rings, full)


@st.composite
def partition_problems(
    draw: DrawFn,
    *,
    max_nodes: int = 12,
    max_axes: int = 3,
    wraps: Sequence[bool] = (False, True),
    max_size: int | None = None,
    contiguous: bool | None = False,
) -> PartitionProblem:
    """Problems on `topologies` with at least one free node and a size of 1 to all of them.

    The default sizes are tiny enough for brute force: 12 over 6 is 924. Contiguous as told, either if None.
    Where axes may be rings, they may be complete, too.
    """
    topology = draw(topologies(max_nodes=max_nodes, max_axes=max_axes, wraps=wraps, complete=True in wraps))
    everything = range(topology.num_nodes)
    busy = draw(st.sets(st.sampled_from(everything), max_size=topology.num_nodes - 1))
    size = draw(st.integers(1, min(topology.num_nodes - len(busy), max_size or topology.num_nodes)))
    linked = draw(st.booleans()) if contiguous is None else contiguous
    return PartitionProblem.of(topology, busy=sorted(busy), size=size, contiguous=linked)


@st.composite
def box_problems(draw: DrawFn, *, max_nodes: int = 40, max_axes: int = 4) -> PartitionProblem:
    """Problems that ask for a box, of any sides or of those told; the size is mostly one that boxes have."""
    topology = draw(topologies(max_nodes=max_nodes, max_axes=max_axes, complete=True))
    sides = tuple(draw(st.integers(1, side)) for side in topology.shape)
    size = math.prod(sides)
    busy = draw(st.sets(st.integers(0, topology.num_nodes - 1), max_size=topology.num_nodes - size))
    if draw(st.integers(0, 9)) == 0:
        sides, size = (), min(size + 1, topology.num_nodes - len(busy))
    told, linked = draw(st.booleans()), draw(st.booleans())
    box: bool | tuple[int, ...] = sides if sides and told else True
    return PartitionProblem.of(topology, busy=sorted(busy), size=size, box=box, contiguous=linked)


@st.composite
def partitions(draw: DrawFn, problem: PartitionProblem) -> Partition:
    """Any `size` distinct free nodes; they need not be connected."""
    free = st.permutations([node for node, free in enumerate(problem.free.tolist()) if free])
    return Partition(np.array(draw(free)[: problem.size], dtype=np.int64))


@st.composite
def workload_problems(
    draw: DrawFn,
    *,
    min_jobs: int = 0,
    max_jobs: int = 5,
    max_nodes: int = 4,
    max_runtime: int = 6,
    max_submit: int = 8,
    times: SearchStrategy[float] | None = None,
    moldable: bool = True,
    weights: bool = True,
    malleable: bool = False,
) -> WorkloadProblem:
    """Few jobs on few nodes; run times and submissions are integers, or of `times` (above 0) if given.

    With `malleable`, half of the jobs with a speedup are.
    """
    num_nodes = draw(st.integers(1, max_nodes))
    rows = []
    for _ in range(draw(st.integers(min_jobs, max_jobs))):
        runtime = draw(times if times is not None else st.integers(1, max_runtime))
        nodes = draw(st.integers(1, num_nodes))
        elastic: dict[str, Any] = {}
        if moldable and draw(st.integers(0, 3)) == 0:
            elastic = draw(ways_to_run(num_nodes, nodes, runtime))
            if malleable and draw(st.booleans()):
                elastic |= {"kind": "malleable", "points": draw(st.sampled_from([0, 0, 1, 2, 3, 10]))}
        rows.append(
            Job(
                submit=draw(st.integers(0, max_submit) if times is None else st.just(0) | times),
                nodes=nodes,
                runtime=runtime,
                limit=draw(st.none() | st.integers(1, 3 * max_runtime)),
                user=draw(st.sampled_from([None, "ada", "ben"])),
                weight=draw(st.sampled_from([1, 1, 1, 0, 3])) if weights else 1,
                **elastic,
            )
        )
    return WorkloadProblem(num_nodes, rows)


@st.composite
def ways_to_run(draw: DrawFn, num_nodes: int, nodes: int, runtime: float) -> dict[str, Any]:
    """Draw the fields of a moldable job."""
    low, high = draw(st.integers(1, nodes)), draw(st.integers(nodes, num_nodes))
    kind = draw(st.sampled_from(["amdahl", "power", "table"]))
    if kind == "table":
        sizes = sorted({low, nodes, high})
        rows = [(size, runtime if size == nodes else draw(st.integers(1, 9))) for size in sizes]
        return {"min_nodes": low, "max_nodes": high, "speedup": SpeedupTable(rows)}
    share = draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
    law = Amdahl(share) if kind == "amdahl" else PowerLaw(share)
    sets: list[Any] = [1]
    if all(size & (size - 1) == 0 for size in (low, nodes, high)):
        sets.append("powers-of-two")
    sets += [step for step in (2, 3) if all(size % step == 0 for size in (low, nodes, high))]
    return {"min_nodes": low, "max_nodes": high, "speedup": law, "size_set": draw(st.sampled_from(sets))}


@st.composite
def workload_schedules(draw: DrawFn, problem: WorkloadProblem, *, max_start: int = 20) -> WorkloadSchedule:
    """Any schedule with sizes that the jobs allow: mostly one that over-commits the cluster."""
    packed = problem.packed
    sizes = []
    for idx in range(len(problem.jobs)):
        low, high = int(packed.min_nodes[idx]), int(packed.max_nodes[idx])
        law = problem.jobs.speedups[idx] if problem.jobs.speedups else None
        if isinstance(law, SpeedupTable):
            sizes.append(draw(st.sampled_from([nodes for nodes, _ in law.rows])))
        else:
            sizes.append(draw(st.sampled_from([*allowed_sizes(low, high, int(packed.size_step[idx]))])))
    starts = [draw(st.integers(0, max_start)) for _ in problem.jobs]
    return WorkloadSchedule.of(problem, starts, np.array(sizes, dtype=np.int64))


@st.composite
def changing_schedules(draw: DrawFn, problem: WorkloadProblem, *, max_start: int = 20) -> WorkloadSchedule:
    """Schedules in which malleable jobs change their sizes at their points: feasible but for the capacity."""
    pieces: list[list[tuple[float, float, int]]] = []
    for idx, job in enumerate(problem.jobs):
        assert job.min_nodes is not None
        assert job.max_nodes is not None
        if isinstance(job.speedup, SpeedupTable):
            sizes = [nodes for nodes, _ in job.speedup.rows]
        else:
            step = int(problem.packed.size_step[idx])
            sizes = [*allowed_sizes(job.min_nodes, job.max_nodes, step)]
        parts = [1]
        if job.kind == "malleable":
            ends = {draw(st.integers(1, job.points or 8)) for _ in range(3)} | {job.points or 8}
            parts = np.diff(sorted({0, *ends})).tolist()
        now = float(job.submit + draw(st.integers(0, max_start)))
        pieces.append([])
        for part in parts:
            size = draw(st.sampled_from(sizes))
            (time,) = problem.run_times(np.array([size]), np.array([idx])).tolist()
            pieces[-1].append((now, now + time * part / sum(parts), size))
            now = pieces[-1][-1][1]
    rows = [row for listed in pieces for row in listed]
    bounds = np.cumsum([0, *map(len, pieces)])
    begins, leaves, nodes = (np.array([row[at] for row in rows], dtype=np.float64) for at in range(3))
    return WorkloadSchedule(bounds, begins, leaves, nodes.astype(np.int64))
