"""Small problems of each family at the edges of what the models allow, on which solvers fail first.

Counterexamples come last: each refutes a belief that comes easily. So does the worst case of
the median method of Bender et al. 2008, in any size.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._streams import recipe
from allocsolve.instances.generators.klein2011 import klein2011
from allocsolve.instances.generators.occupancy import uniform_occupancy
from allocsolve.instances.library.files import Library
from allocsolve.model import (
    PROGRAM_KINDS,
    Amdahl,
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    HyperX,
    Job,
    Jobs,
    Mesh,
    PartitionProblem,
    PlacementProblem,
    PowerLaw,
    ReservationProblem,
    SpeedupTable,
    SwitchTree,
    Topology,
    Torus,
    WorkloadProblem,
)
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import Problem, ReservationShape, Speedup


def evolution_examples() -> Iterator[EvolutionProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds."""
    single = EvolutionProfile(((3, 5), (4, 0), (1, 2)))
    wide, thin = EvolutionProfile(((2, 3),)), EvolutionProfile(((1, 1), (2, 2)))
    yield EvolutionProblem(3, (), name="no application")
    yield EvolutionProblem(5, (single,), releases=(7,), name="one application, released late")
    yield EvolutionProblem(1, (EvolutionProfile(((1, 1),)), EvolutionProfile(((2, 1),))), name="one node")
    yield EvolutionProblem(3, (EvolutionProfile(((2, 0),)), wide), name="an application without nodes")
    yield EvolutionProblem(3, (wide,) * 3, name="three times the full machine")
    yield EvolutionProblem(3, (wide, thin, thin), releases=(5, 0, 2), name="releases out of order")
    yield EvolutionProblem(
        3,
        (
            EvolutionProfile(((1, 2), (2, 2), (2, 3))),
            EvolutionProfile(((2, 1),)),
            EvolutionProfile(((2, 1),)),
        ),
        expand_limit=1,
        name="no list order is optimal",
    )
    # The second application fits around the three seconds of the first at once if it may hold a node that
    # long.
    first, second = EvolutionProfile(((1, 0), (3, 1))), EvolutionProfile(((1, 2), (1, 1), (1, 2)))
    for limit in (1, 2.9, 3):
        name = f"expanding 3 times would help, limit {limit:g}"
        yield EvolutionProblem(2, (first, second), expand_limit=limit, name=name)
    # A search second by second would never end here.
    late, long = EvolutionProfile(((3, 3),)), EvolutionProfile(((10, 5), (10, 3), (10, 1), (1, 0)))
    yield EvolutionProblem(
        5, (late, long), releases=(2**50, 0), expand_limit=2, name="released after 2^50 seconds"
    )
    yield EvolutionProblem(
        5,
        (EvolutionProfile(((2**50, 3),)), EvolutionProfile(((2**48, 5), (2**49, 3), (2**48, 2)))),
        expand_limit=1.5,
        name="steps of 2^50 seconds",
    )
    draw = functools.partial(
        klein2011, num_apps=(4, 4), num_steps=(1, 3), duration=(1, 5), nodes=(0, 6), num_nodes=7
    )
    for seed, limit in enumerate((1, 1.5, 2, math.inf)):
        yield replace(draw(seed, expand_limit=limit), name=f"random, expand limit {limit:g}")
    yield replace(draw(4, expand_limit=2), releases=(9, 0, 3, 3), name="random, releases")


def partition_examples() -> Iterator[PartitionProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds."""
    mesh, line = Mesh((4, 3)), Mesh((7,))
    yield PartitionProblem.of(Mesh((1,)), size=1, name="a machine of one node")
    yield PartitionProblem.of(mesh, busy=[0, 5], size=1, name="one node")
    yield PartitionProblem.of(mesh, size=12, contiguous=True, name="the full machine")
    yield PartitionProblem.of(mesh, busy=[1, 6], size=10, name="all free nodes")
    yield PartitionProblem.of(mesh, busy=[4, 5, 6], size=6, name="two halves")
    yield PartitionProblem.of(line, busy=[3], size=3, contiguous=True, name="a component of just that size")
    yield PartitionProblem.of(line, busy=[3], size=4, contiguous=True, name="no component is large enough")
    yield PartitionProblem.of(line, busy=[3], size=4, name="the same, not contiguous")
    yield PartitionProblem.of(Torus((1, 5)), busy=[2], size=3, name="a ring of one node")
    yield PartitionProblem.of(Torus((2, 4)), busy=[3], size=4, contiguous=True, name="a ring of two nodes")
    yield PartitionProblem.of(Torus((5,)), busy=[2], size=4, contiguous=True, name="round a ring")
    for seed, topology in enumerate(
        (mesh, Torus((4, 3)), Topology((3, 4), (False, True)), Mesh((3, 2, 2)), Torus((3, 2, 2)))
    ):
        drawn = uniform_occupancy(topology, 0.3, 4, seed)
        name = f"random, {list(topology.shape)} with rings {[int(ring) for ring in topology.wrap]}"
        yield replace(drawn, name=name)
        yield replace(drawn, name=f"{name}, contiguous", contiguous=True)
    yield uniform_occupancy(HyperX((3, 4)), 0.3, 4, 5)


def placement_examples() -> Iterator[PlacementProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds."""
    pods, racks = SwitchTree.regular((2, 2, 3)), SwitchTree.regular((4, 3))
    yield PlacementProblem.of(SwitchTree.regular((1,)), size=1, name="a machine of one node")
    yield PlacementProblem.of(SwitchTree.regular((5,)), busy=[2], size=3, name="one switch")
    yield PlacementProblem.of(pods, size=12, name="the full machine")
    yield PlacementProblem.of(racks, busy=[1, 4, 8], size=9, name="all free nodes")
    yield PlacementProblem.of(pods, busy=[1, 4, 8], size=4, within=2, name="within a pod")
    yield PlacementProblem.of(pods, busy=[0], size=6, within=1, name="no rack is large enough")
    yield PlacementProblem.of(pods, busy=[0, 5], size=8, segment=2, name="segments of two in racks")
    yield PlacementProblem.of(pods, busy=[0, 5], size=8, segment=4, segment_level=2, name="segments in pods")
    yield PlacementProblem.of(pods, busy=[0, 4, 5], size=4, balanced=True, name="balanced over racks")
    yield PlacementProblem.of(racks, busy=[0, 3, 6, 9], size=7, balanced=True, name="cannot be balanced")
    fabrics = SwitchTree(np.array([-1, -1, 0, 0, 1]), np.array([2, 2, 3, 4, 4, 4]))
    yield PlacementProblem.of(fabrics, size=3, name="two fabrics")
    yield PlacementProblem.of(fabrics, size=4, name="no fabric is large enough")
    uneven = SwitchTree(
        parent=np.array([-1, 0, 1, 1, 0, 0]),
        switch=np.array([2, 2, 3, 3, 3, 4, 5, 5]),
        weight=np.array([0, 1, 2, 4, 3, 1]),
        capacity=np.array([1, 4, 2, 2, 3, 1]),
    )
    for seed, tree in enumerate((pods, racks, uneven, SwitchTree.regular((2, 2, 3), (2, 3, 5), (3, 4)))):
        drawn = uniform_occupancy(tree, 0.3, 5, seed)
        yield replace(drawn, name=f"random, on {tree.num_nodes} nodes, seed {seed}")


def random_reservations(
    seed: int, num_jobs: int, topology: Topology, *, load: float = 1.5, shape: ReservationShape = "any"
) -> ReservationProblem:
    """Draw jobs whose area is that of the machine over their arrivals, times a load.

    Sizes are powers of two or any, run times exponential with a mean of ten minutes, the slack of a deadline
    up to four run times.
    """
    random = np.random.default_rng((seed, 20_240))
    num_nodes = topology.num_nodes
    wide = random.integers(1, num_nodes + 1, num_jobs)
    nodes = np.where(random.random(num_jobs) < 0.5, 2 ** np.log2(wide).astype(np.int64), wide)
    runtime = np.maximum(1, np.rint(random.exponential(600, num_jobs)).astype(np.int64))
    span = float((nodes * runtime).sum()) / (load * num_nodes)
    arrival = np.sort(np.rint(random.random(num_jobs) * span).astype(np.int64))
    slack = np.rint(random.random(num_jobs) * 4 * runtime).astype(np.int64)
    rows = zip(arrival.tolist(), nodes.tolist(), runtime.tolist(), slack.tolist(), strict=True)
    jobs = tuple(
        DeadlineJob(start, size, seconds, start + seconds + spare) for start, size, seconds, spare in rows
    )
    return ReservationProblem(topology, jobs, shape, meta={"seed": seed, "load": load})


def leaking_reservations(
    seed: int, num_jobs: int, topology: Topology, *, load: float = 1.5, shape: ReservationShape = "any"
) -> ReservationProblem:
    """Draw jobs as `random_reservations` does, with programs of the kinds 0 to 3 in turn, that may leak."""
    drawn = random_reservations(seed, num_jobs, topology, load=load, shape=shape)
    jobs = tuple(replace(job, program=idx % PROGRAM_KINDS) for idx, job in enumerate(drawn.jobs))
    return replace(drawn, jobs=jobs, leaking=True)


def reservation_examples() -> Iterator[ReservationProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds.

    Where jobs may leak, all can be accepted: otherwise nothing would be proven.
    """
    mesh = Mesh((3, 2))
    yield ReservationProblem(mesh, (), name="no jobs")
    yield ReservationProblem(Mesh((1,)), (DeadlineJob(0, 1, 1, 1),), name="one job on one node")
    late = (DeadlineJob(5, 2, 10, 14), DeadlineJob(5, 2, 10, 15))
    yield ReservationProblem(mesh, late, name="a job that cannot end in time")
    yield ReservationProblem(mesh, late[:1], name="no job can end in time")
    nobody = tuple(DeadlineJob(0, 6, 10, 10, weight=0) for _ in range(2))
    yield ReservationProblem(mesh, nobody, name="no job counts")
    heavy = (DeadlineJob(0, 4, 10, 10), DeadlineJob(0, 4, 10, 10, weight=2.5), DeadlineJob(0, 2, 9, 10))
    yield ReservationProblem(mesh, heavy, name="the second job counts more")
    same = tuple(DeadlineJob(0, 6, 10, 10 * idx + 10) for idx in range(3))
    yield ReservationProblem(mesh, same, name="the full machine, one after another")
    small = (DeadlineJob(0, 1, 100, 100), DeadlineJob(0, 5, 10, 100), DeadlineJob(20, 6, 20, 60))
    yield ReservationProblem(mesh, small, name="one small job against two large ones")
    yield ReservationProblem(
        mesh, (DeadlineJob(2**52, 2, 3, 2**52 + 3), DeadlineJob(2**52, 6, 1, 2**52 + 4)), name="late times"
    )
    alone = DeadlineJob(0, 3, 10, 15, 1)
    yield ReservationProblem(mesh, (alone,), leaking=True, name="one job that may leak")
    yield ReservationProblem(
        mesh, (alone, late[1]), leaking=True, name="a job without a program that may leak"
    )
    for topology in (mesh, Torus((3, 2)), Mesh((5,))):
        sides, rings = "x".join(map(str, topology.shape)), " rings" if any(topology.wrap) else ""
        shape: ReservationShape = "connected" if len(topology.shape) == 1 else "any"
        drawn = leaking_reservations(1, 6, topology, load=0.3, shape=shape)
        yield replace(drawn, name=f"random on {sides}{rings}, leaking")
    for seed, topology in ((2, mesh), (3, Torus((3, 2))), (11, Mesh((5,)))):
        sides, rings = "x".join(map(str, topology.shape)), " rings" if any(topology.wrap) else ""
        for shape in ("any", "connected", "run"):
            drawn = random_reservations(seed, 6, topology, load=8, shape=shape)
            yield replace(drawn, name=f"random on {sides}{rings}, shape {shape}")


def random_workload(seed: int, num_jobs: int, num_nodes: int = 64, *, load: float = 0.9) -> WorkloadProblem:
    """Return rigid jobs of log-uniform sizes and log-normal run times, submitted by a Poisson process.

    A job has at most half of the nodes of the cluster; the load is expected node-seconds per node and second.
    """
    rng = np.random.default_rng(seed)
    nodes = np.exp(rng.uniform(0, math.log(max(num_nodes // 2, 1) + 1), num_jobs)).astype(np.int64)
    runtimes = np.ceil(rng.lognormal(6, 1.5, num_jobs))
    mean_area = float((nodes * runtimes).mean()) if num_jobs else 1.0
    gaps = rng.exponential(mean_area / (load * num_nodes), num_jobs)
    limits = np.ceil(runtimes * rng.uniform(1, 4, num_jobs))
    jobs = Jobs(np.floor(np.cumsum(gaps)), np.maximum(nodes, 1), runtimes, limits)
    meta = {"generator": "random_workload", "seed": seed, "load": load}
    return WorkloadProblem(num_nodes, jobs, f"random-{num_jobs}-jobs-{num_nodes}-nodes-s{seed}", meta)


def workload_examples() -> Iterator[WorkloadProblem]:
    """Yield problems whose names say what is at the edge; the random ones have fixed seeds."""
    yield WorkloadProblem(3, (), name="no job")
    yield WorkloadProblem(5, [Job(7, 5, 3)], name="one job, submitted late")
    yield WorkloadProblem(1, [Job(0, 1, 1), Job(0, 1, 2)], name="one node")
    yield WorkloadProblem(3, [Job(0, 3, 2)] * 3, name="three times the full machine")
    yield WorkloadProblem(4, [Job(0, 2, 2), Job(0, 2, 2)], name="two halves of the machine")
    yield WorkloadProblem(4, [Job(5, 3, 2), Job(0, 1, 9), Job(2, 4, 1)], name="submitted out of order")
    yield WorkloadProblem(
        4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)], name="backfilling would delay the head"
    )
    yield WorkloadProblem(
        4, [Job(0, 3, 100, 80), Job(1, 4, 10, 10), Job(2, 1, 90, 95)], name="over the limit"
    )
    yield WorkloadProblem(
        2, [Job(0, 2, 10.25), Job(0.75, 1, 1.5), Job(1, 1, 0.25)], name="quarters of seconds"
    )
    yield WorkloadProblem(3, [Job(0, 2, 1 / 3), Job(0.1, 2, 0.7), Job(0.2, 1, math.pi)], name="real times")
    yield WorkloadProblem(2, [Job(0, 2, 5, weight=0), Job(0, 1, 3), Job(0, 1, 1, weight=4)], name="weights")
    yield WorkloadProblem(2, [Job(0, 2, 5, weight=0)], name="no job counts")
    yield WorkloadProblem(
        3, [Job(0, 3, 2), Job(2**40, 2, 5), Job(2**40, 2, 1)], name="submitted after 2^40 s"
    )
    laws: tuple[Speedup, ...] = (Amdahl(0.9), PowerLaw(0.5), SpeedupTable([(1, 8), (2, 5), (3, 4)]))
    yield WorkloadProblem(
        3,
        [Job(idx, 2, 5, min_nodes=1, max_nodes=3, speedup=law) for idx, law in enumerate(laws)],
        name="moldable jobs of each law",
    )
    yield WorkloadProblem(
        4,
        [
            Job(0, 2, 8, 10),
            Job(0, 2, 6, 8, min_nodes=1, max_nodes=4, speedup=SpeedupTable([(1, 10), (2, 6), (4, 4)])),
            Job(1, 3, 4, 5),
        ],
        name="rigid and moldable jobs",
    )
    yield WorkloadProblem(
        4,
        [
            Job(0, 3, 6),
            *(
                Job(idx, 2, 5, min_nodes=1, max_nodes=3, speedup=law, kind="malleable", points=2 * idx)
                for idx, law in enumerate(laws)
            ),
            Job(1, 2, 4, min_nodes=1, max_nodes=4, speedup=laws[0], size_set="powers-of-two"),
        ],
        name="malleable jobs of each law",
    )
    for seed in range(2):
        yield _tiny(seed)


def _tiny(seed: int) -> WorkloadProblem:
    rng = np.random.default_rng(seed)
    highest = ((0, 8), (1, 5), (1, 7), (1, 12))  # the jobs: submit, nodes, run time, limit
    rows = [[int(rng.integers(low, high)) for low, high in highest] for _ in range(5)]
    jobs = [Job(submit, nodes, runtime, limit) for submit, nodes, runtime, limit in rows]
    return WorkloadProblem(4, jobs, name=f"random, seed {seed}")


@cache
def _suite(name: str) -> tuple[Any, ...]:
    """Return the problems of a suite, each named as its case is."""
    return tuple(replace(problem, name=problem.meta["case"]) for problem in Library()[name].problems())


def counterexamples() -> tuple[Problem, ...]:
    """Return the counterexamples of evolution and partition; ``meta`` of each has its ``reason``.

    Examples
    --------
    >>> counterexamples()[0].name
    'compacting-gap-is-left'
    """
    return _suite("counterexamples")


def shape_counterexamples() -> tuple[ReservationProblem, ...]:
    """Return two lines of nodes with seven jobs without slack, each for every shape.

    At no time do the jobs ask for more nodes than there are, so that all can be accepted with the shape
    ``any``. No seven runs exist, and on a line connected sets are runs. ``meta["accepted"]`` says how many
    jobs can be accepted. On the line of 4 the jobs of two nodes at the start fill nodes 0, 1 and 2, 3; the
    job from 12 to 16 needs the place of the one that ends at 12 and a free one beside it; so the two other
    jobs of one node sit at both ends of the line, or one of them in the way, and no two neighbours are left
    for the last job.

    Examples
    --------
    >>> for case in shape_counterexamples():
    ...     print(case.name, case.meta["accepted"])
    line-of-4-any 7
    line-of-4-connected 6
    line-of-4-run 6
    line-of-6-any 7
    line-of-6-connected 6
    line-of-6-run 6
    """
    return _suite("shape-counterexamples")


def easy_counterexamples() -> tuple[WorkloadProblem, ...]:
    """Return small workloads, each of which tells a published "EASY" from EASY.

    ``meta`` of each has its ``reason``, the ``tool`` that it refutes, and as ``starts`` when each job starts
    (seconds) by each rule: ``"easy"`` (shadow time and extra nodes), ``"fcfs"``, ``"first-fit"``,
    ``"conservative"``, and the rule of the tool, under the name of the preset or of the solver with options
    that follows it, or, where none here does, of the cause.

    Examples
    --------
    >>> case = next(case for case in easy_counterexamples() if case.name == "reservation-without-nodes")
    >>> case.meta["tool"], case.meta["starts"]["easy"], case.meta["starts"]["accasim"]
    ('AccaSim 1.1.3', [0, 100, 110], [0, 1002, 2])
    """
    return _suite("easy-counterexamples")


def network_counterexamples() -> tuple[PlacementProblem, ...]:
    """Return small trees on which rules of schedulers do not take the nearest nodes, or none.

    But for ``rest-by-name`` and ``stall`` they are the smallest such trees. ``meta`` of each has its
    ``reason``; ``takes``, how many nodes each rule takes from each switch of level 1 (None if it takes no
    nodes), by the name of its solver; the total distance of these (``cost``) and the least one
    (``optimum``); and the ``seed`` for which a rule with random choices does so.

    Examples
    --------
    >>> case = next(case for case in network_counterexamples() if case.name == "nodes-by-name")
    >>> case.meta["takes"], case.meta["cost"], case.meta["optimum"]
    ({'kueue': [2, 2], 'kueue(mode=balanced)': [2, 2]}, 20, 18)
    """
    return _suite("network-counterexamples")


def median_worst_case(
    size: Annotated[int, Within(8)], distance: Annotated[int, Within(1)], step: Annotated[int, Within(1)] = 2
) -> PartitionProblem:
    """Return a problem on which the median method of Bender et al. is nearly 7/4 times the optimum.

    Two compact blobs of size/2 free nodes lie at a distance from each other, and are the optimum. In each of
    the other three directions from either blob lies a decoy of size/8 free nodes, a little nearer: seen from
    a blob, its own nodes, the three decoys and size/8 nodes of the other blob are nearest. Nothing else is
    free.

    Parameters
    ----------
    size
        Nodes to choose, a multiple of 8.
    distance
        Hops between the two blobs.
    step
        Hops that the decoys are nearer; with too few, other nodes are nearest.

    Returns
    -------
    PartitionProblem
        On the smallest mesh that holds the free nodes: 3 * `distance` - 3 times 2 * `distance` - 3 nodes for
        size 8 and step 2.

    Raises
    ------
    InvalidOption
        If `size` is no positive multiple of 8, `step` is below 1, or the groups would touch each other.

    Notes
    -----
    For size 8 and step 2, the optimum is 16 * `distance` + 24, and the median method (centres on the grid of
    coordinates of free nodes) finds 28 * `distance` - 33 (checked by brute force).

    References
    ----------
    Bender, Bunde, Demaine, Fekete, Leung, Meijer & Phillips, "Communication-aware processor allocation for
    supercomputers: finding point sets of small average distance", Algorithmica 50(2), 2008, pp. 279-298: the
    bound of 7/4 is tight. This construction is a version of our own, with the constants above.
    """
    size, distance, step = checked(median_worst_case, size=size, distance=distance, step=step)
    if size % 8:
        raise InvalidOption(f"size {size} is not a multiple of 8")
    blob, decoy, near = _compact(size // 2), _compact(size // 8), distance - step
    groups = [
        *((blob, x, 0) for x in (0, distance)),
        *((decoy, x, y) for x in (0, distance) for y in (near, -near)),
        *((decoy, x, 0) for x in (-near, distance + near)),
    ]
    cells = [(x + dx, y + dy) for group, dx, dy in groups for x, y in group]
    reach = max(abs(c) for cell in blob for c in cell)
    if near <= 2 * reach + 1:
        msg = f"distance {distance} less step {step} is below {2 * reach + 2}, too near for size {size}"
        raise InvalidOption(msg)
    corner = np.min(cells, axis=0)
    topology = Mesh((np.max(cells, axis=0) - corner + 1).tolist())
    nodes = {topology.node_at(cell) for cell in (np.array(cells) - corner).tolist()}
    return PartitionProblem.of(
        topology,
        busy=[node for node in range(topology.num_nodes) if node not in nodes],
        size=size,
        name=f"median-worst-case-k{size}-d{distance}-s{step}",
        meta=recipe("median-worst-case", size=size, distance=distance, step=step),
    )


def _compact(count: int) -> list[tuple[int, int]]:
    """Return cells round the origin with a small sum of pairwise distances: the best of three discs.

    It is the least sum for up to 36 cells, except for 30 cells, where it is 1 above (checked).
    """
    reach = range(-math.isqrt(count) - 1, math.isqrt(count) + 2)
    plane = [(x, y) for x in reach for y in reach]
    discs = [
        sorted(plane, key=lambda cell: ((2 * cell[0] - cx) ** 2 + (2 * cell[1] - cy) ** 2, cell))[:count]
        for cx, cy in ((1, 1), (1, 0), (0, 0))
    ]
    return min(discs, key=_pairwise)


def _pairwise(cells: Sequence[tuple[int, int]]) -> int:
    return sum(abs(x - u) + abs(y - v) for idx, (x, y) in enumerate(cells) for u, v in cells[:idx])
