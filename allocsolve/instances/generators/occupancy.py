"""Machines by name, and problems that choose nodes of one with random busy nodes: boxes and switch trees."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, overload

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.instances.generators._streams import Seed, check_range, recipe, seed_name, seed_words
from allocsolve.model import Mesh, PartitionProblem, PlacementProblem, SwitchTree, Topology, Torus
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.model import BoolArray, IntArray


class Machine(NamedTuple):
    """A machine that can be named."""

    network: Topology | SwitchTree
    #: Who says that it is so.
    source: str


def _tree(*sizes: int, hops: tuple[int, ...] = (), capacities: tuple[int, ...] = ()) -> SwitchTree:
    return SwitchTree.regular(sizes, hops, capacities)


_TABLE: Final = {
    "hlrn-ii": Machine(Mesh((16, 8)), "Linnert et al. 2024"),
    "mesh-32x32": Machine(Mesh((32, 32)), "a common size of studies"),
    "mesh-8x8x8": Machine(Mesh((8, 8, 8)), "a common size of studies"),
    "titan": Machine(Torus((25, 16, 24)), "a torus like that of Titan, Oak Ridge"),
    "fugaku": Machine(
        Topology((24, 23, 24, 2, 3, 2), (True, True, True, False, True, False)),
        "Tofu D of 158,976 nodes (Ajima et al., CLUSTER 2018)",
    ),
    "tpu-v5e": Machine(Torus((16, 16)), "a pod of 256 chips (Google Cloud, TPU v5e)"),
    "summit": Machine(_tree(256, 18), "256 racks of 18 nodes (EE Times, 2018)"),
    "meta-24k": Machine(
        # Racks have all that their nodes need, in sevenths of what a node needs; pods have a seventh of it.
        _tree(8, 192, 2, capacities=(14, 384)),
        "8 pods of 192 racks of 2 nodes, pods 7 to 1 oversubscribed (The Llama 3 herd of models, 2024)",
    ),
    "nvl72": Machine(_tree(8, 16, 18), "128 racks of 18 nodes, pods of 16 racks (DGX SuperPOD GB200)"),
    "perlmutter-cpu": Machine(
        _tree(12, 16, 16, hops=(2, 3, 5)), "12 groups of 16 routers of 16 nodes, a dragonfly (NERSC)"
    ),
    "frontier": Machine(
        _tree(74, 128, hops=(3, 5)),
        "74 groups of 128 nodes, a dragonfly; the links of a node end at several routers of its group",
    ),
    "jupiter": Machine(
        _tree(25, 5, 48, hops=(2, 3, 5)), "25 groups of 5 leaf switches of 48 nodes, a dragonfly+ (JSC)"
    ),
    "tpu-v4": Machine(
        _tree(64, 2, 2, 2, 2, 4),
        "64 cubes of 4x4x4 chips, in which slices of 2x2x1, 2x2x2, 2x2x4 and 2x4x4 chips are nested "
        "(Jouppi et al., ISCA 2023; Google Cloud, TPU v4)",
    ),
}

#: Machines that are boxes of nodes, by name.
MACHINES: Mapping[str, Topology] = MappingProxyType(
    {name: row.network for name, row in _TABLE.items() if isinstance(row.network, Topology)}
)

#: Machines that are switch trees, by name.
SWITCH_TREES: Mapping[str, SwitchTree] = MappingProxyType(
    {name: row.network for name, row in _TABLE.items() if isinstance(row.network, SwitchTree)}
)

#: Who says so, by the names of both.
MACHINE_SOURCES: Mapping[str, str] = MappingProxyType({name: row.source for name, row in _TABLE.items()})


@overload
def uniform_occupancy(
    topology: Topology,
    busy_share: float,
    size: int,
    seed: Seed,
    *,
    contiguous: bool = ...,
    box: bool | Sequence[int] = ...,
) -> PartitionProblem: ...
@overload
def uniform_occupancy(
    topology: SwitchTree,
    busy_share: float,
    size: int,
    seed: Seed,
    *,
    contiguous: bool = ...,
    box: bool | Sequence[int] = ...,
) -> PlacementProblem: ...
def uniform_occupancy(
    topology: Topology | SwitchTree,
    busy_share: float,
    size: int,
    seed: Seed,
    *,
    contiguous: bool = False,
    box: bool | Sequence[int] = False,
) -> PartitionProblem | PlacementProblem:
    """Draw a problem whose busy nodes are a random set; all sets of that size are equally likely.

    Parameters
    ----------
    topology
        The machine: a box of nodes for a partition problem, a switch tree for a placement problem.
    busy_share
        Busy nodes over all nodes, in 0..1; the number of busy nodes is rounded to the nearest (half to even).
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    contiguous
        Whether the chosen nodes must be connected; it does not influence the draws.
    box
        Whether they must be a box, or its sides; it does not influence the draws either. Neither is asked of
        a switch tree.

    Returns
    -------
    PartitionProblem or PlacementProblem
        Named after the options, such as ``uniform-16x8-b0.3-k32-s7``, with all of them in its ``meta``.

    Raises
    ------
    InvalidOption
        If `busy_share` is not in 0..1, the seed is not made of integers >= 0, or the nodes of a tree must be
        connected.

    Examples
    --------
    >>> from allocsolve.instances import MACHINES
    >>> problem = uniform_occupancy(MACHINES["hlrn-ii"], 0.3, 32, 7)
    >>> problem.name, len(problem.busy)
    ('uniform-16x8-b0.3-k32-s7', 38)
    """
    num_busy = _num_busy(topology, busy_share)
    chosen = np.random.default_rng(seed_words(seed)).choice(topology.num_nodes, num_busy, replace=False)
    busy = sorted(chosen.tolist())
    return _problem("uniform", topology, busy, busy_share, size, seed, contiguous=contiguous, box=box)


@overload
def churned_occupancy(
    topology: Topology,
    busy_share: float,
    size: int,
    seed: Seed,
    *,
    allocator: Callable[[Topology, BoolArray, int], IntArray | None],
    allocator_name: str = ...,
    job_sizes: tuple[int, int] = ...,
    steps: int = ...,
    contiguous: bool = ...,
    box: bool | Sequence[int] = ...,
) -> PartitionProblem: ...
@overload
def churned_occupancy(
    topology: SwitchTree,
    busy_share: float,
    size: int,
    seed: Seed,
    *,
    allocator: Callable[[SwitchTree, BoolArray, int], IntArray | None],
    allocator_name: str = ...,
    job_sizes: tuple[int, int] = ...,
    steps: int = ...,
    contiguous: bool = ...,
    box: bool | Sequence[int] = ...,
) -> PlacementProblem: ...
def churned_occupancy(
    topology: Topology | SwitchTree,
    busy_share: float,
    size: int,
    seed: Seed,
    *,
    allocator: Callable[[Any, BoolArray, int], IntArray | None],
    allocator_name: str = "",
    job_sizes: tuple[int, int] = (1, 16),
    steps: Annotated[int, Within(0)] = 200,
    contiguous: bool = False,
    box: bool | Sequence[int] = False,
) -> PartitionProblem | PlacementProblem:
    """Draw a problem whose busy nodes belong to jobs that an allocator placed while others came and went.

    Jobs of random sizes arrive, first come, first served, and fill the machine; whenever the next one finds
    no place, a random job departs. After `steps` departures no job arrives any more, and random jobs depart
    until the busy share is met; some nodes of the last of them stay busy if necessary.

    Parameters
    ----------
    topology, busy_share, size, seed, contiguous, box
        As in `uniform_occupancy`; `seed` draws sizes and departures: a random allocator needs its own.
    allocator
        Takes the topology, the mask of free nodes (read-only) and a number of nodes; returns the ids of that
        many free nodes, or None.
    allocator_name
        Its name in the problem's name and ``meta``; by default that of the function.
    job_sizes
        Least and largest number of nodes of a job, drawn uniformly.
    steps
        Number of departures before the end, >= 0.

    Returns
    -------
    PartitionProblem or PlacementProblem
        Named after the options; ``meta`` has all of them, and ``jobs``, the number of jobs that hold the busy
        nodes. They hold less than the share only where the allocator did not fill the machine so far.

    Raises
    ------
    InvalidOption
        As in `uniform_occupancy`, or if `job_sizes` is no range within 1..nodes, or `steps` is negative.
    InvalidAnswer
        If the allocator returns another number of nodes, or one that is not free.
    """
    rng = np.random.default_rng(seed_words(seed))
    low, high = check_range("job_sizes", job_sizes, 1, topology.num_nodes)
    (steps,) = checked(churned_occupancy, steps=steps)
    num_busy = _num_busy(topology, busy_share)
    free = np.ones(topology.num_nodes, dtype=np.bool_)
    jobs: list[IntArray] = []

    def draw() -> int:
        return int(rng.integers(low, high, endpoint=True))

    def depart() -> IntArray:
        return jobs.pop(int(rng.integers(len(jobs))))

    waiting = draw()
    for _ in range(steps + 1):
        while (nodes := _allocated(allocator, topology, free, waiting)) is not None:
            free[nodes] = False
            jobs.append(nodes)
            waiting = draw()
        if jobs:
            free[depart()] = True
        else:  # the job finds no place on the empty machine and is lost
            waiting = draw()
    while (surplus := int(np.count_nonzero(~free)) - num_busy) > 0:
        nodes = depart()
        free[nodes[-surplus:]] = True
        if surplus < len(nodes):
            jobs.append(nodes[:-surplus])
    name = allocator_name or getattr(allocator, "__name__", type(allocator).__name__)
    return _problem(
        f"churned-{name}",
        topology,
        np.flatnonzero(~free).tolist(),
        busy_share,
        size,
        seed,
        contiguous=contiguous,
        box=box,
        generator="churned",
        allocator=name,
        job_sizes=[low, high],
        steps=int(steps),
        jobs=len(jobs),
    )


def _allocated(
    allocator: Callable[[Any, BoolArray, int], IntArray | None],
    topology: Topology | SwitchTree,
    free: BoolArray,
    size: int,
) -> IntArray | None:
    """Return the allocator's checked choice; None if too few nodes are free or it has no answer."""
    if size > np.count_nonzero(free):
        return None
    mask = free.copy()
    mask.setflags(write=False)
    nodes = allocator(topology, mask, size)
    if nodes is not None:
        if not len(np.unique(nodes)) == len(nodes) == size:
            raise InvalidAnswer(f"the allocator returns {len(np.unique(nodes))} nodes, asked for {size}")
        taken = nodes[~np.isin(nodes, np.flatnonzero(free))]
        if len(taken):
            raise InvalidAnswer(f"the allocator returns node {taken[0]}, which is not free")
    return nodes


def _num_busy(topology: Topology | SwitchTree, busy_share: float) -> int:
    if not 0 <= busy_share <= 1:  # also catches NaN
        raise InvalidOption(f"busy_share {busy_share} is not in 0..1")
    return round(busy_share * topology.num_nodes)


def _problem(
    stem: str,
    topology: Topology | SwitchTree,
    busy: Sequence[int],
    busy_share: float,
    size: int,
    seed: Seed,
    *,
    contiguous: bool,
    box: bool | Sequence[int],
    generator: str = "",
    **meta: object,
) -> PartitionProblem | PlacementProblem:
    words = seed_words(seed)
    drawn = recipe(generator or stem, seed=words)
    shares = {"busy_share": float(busy_share), "size": int(size)}
    suffix = f"-b{busy_share:g}-k{size}"
    if isinstance(topology, SwitchTree):
        if contiguous or box:
            raise InvalidOption(
                "nodes of a switch tree are not linked to one another: they are neither contiguous nor a box"
            )
        shape, machine = _tree_described(topology)
        name = f"{stem}-{machine}{suffix}-s{seed_name(words)}"
        return PlacementProblem.of(
            topology, busy=busy, size=size, name=name, meta={**drawn, **shape, **shares, **meta}
        )
    problem = PartitionProblem.of(topology, busy=busy, size=size, contiguous=contiguous, box=box)
    connected = "-contiguous" if contiguous else ""
    used: dict[str, object] = {}
    if any(topology.complete):
        used["complete"] = list(topology.complete)
    if problem.box:
        connected += "-box"
        used["box"] = True
    if isinstance(problem.box, tuple):
        connected += "x".join(map(str, problem.box))
        used["box"] = list(problem.box)
    kinds = zip(topology.shape, topology.wrap, topology.complete, strict=True)
    machine = "x".join(f"{side}{'r' if ring else 'c' if full else ''}" for side, ring, full in kinds)
    return replace(
        problem,
        name=f"{stem}-{machine}{suffix}{connected}-s{seed_name(words)}",
        meta={
            **drawn,
            "shape": list(topology.shape),
            "wrap": list(topology.wrap),
            **shares,
            "contiguous": bool(contiguous),
            **used,
            **meta,
        },
    )


def _tree_described(tree: SwitchTree) -> tuple[dict[str, object], str]:
    """Return what the ``meta`` of a problem says of its switch tree, and what its name says."""
    form = tree.regular_form()
    if form is None:
        return {"nodes": tree.num_nodes}, f"tree{tree.num_nodes}"
    shape: dict[str, object] = {name: list(values) for name, values in form._asdict().items()}
    return shape, "x".join(map(str, form.sizes))
