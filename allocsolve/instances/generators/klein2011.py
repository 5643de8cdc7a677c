"""The evolving applications of Klein & Perez (IEEE Cluster 2011), random and with adaptive meshes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._streams import (
    MOST_JOBS,
    Seed,
    check_range,
    poisson_submits,
    recipe,
    seed_name,
    seed_words,
)
from allocsolve.instances.generators.evolution_workload import workload_of_evolution
from allocsolve.model import EvolutionProblem, EvolutionProfile
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import WorkloadProblem

#: More applications or steps are no problem that anybody keeps in files.
_MANY = 10**6


def klein2011(
    seed: Seed,
    *,
    num_apps: Annotated[tuple[int, int], Within(1, _MANY)] = (15, 20),
    num_steps: Annotated[tuple[int, int], Within(1, _MANY)] = (1, 10),
    duration: Annotated[tuple[int, int], Within(1)] = (500, 3600),
    nodes: Annotated[tuple[int, int], Within(0)] = (1, 75),
    num_nodes: Annotated[int, Within(1)] = 100,
    expand_limit: Annotated[float, Within(1, infinite=True)] = math.inf,
) -> EvolutionProblem:
    """Draw a problem of applications with random steps; everything is uniform over a range of integers.

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem (and
        so does a seed with zeros at its end, which numpy adds itself).
    num_apps
        Applications of a problem: the least and the largest number, which both can be drawn, as in all these
        ranges.
    num_steps
        Steps of an application; 1 or more.
    duration
        Seconds of a step; 1 or more.
    nodes
        Nodes of a step; at most `num_nodes`.
    num_nodes
        Nodes of the cluster.
    expand_limit
        The expand limit of the problem; it does not influence the draws.

    Raises
    ------
    InvalidOption
        If a range is empty or reaches below its least value, `nodes` reaches above `num_nodes`, or the seed
        is not made of integers >= 0.
    InvalidProblem
        If `num_nodes` or `expand_limit` is below 1, or times grow beyond 2^53 s.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", CoreGRID/ERCIM workshop 2011, section 5.1. The
    size of the cluster is not printed there; 100 nodes reproduce its averages.

    Examples
    --------
    >>> problem = klein2011(7)
    >>> problem.name, problem.num_nodes, len(problem.applications)
    ('klein2011-s7', 100, 20)
    """
    words = seed_words(seed)
    ranges = {"num_apps": num_apps, "num_steps": num_steps, "duration": duration, "nodes": nodes}
    for name, least in ("num_apps", 0), ("num_steps", 1), ("duration", 1), ("nodes", 0):
        check_range(name, ranges[name], least)
    (num_nodes,) = checked(klein2011, num_nodes=num_nodes)
    if nodes[1] > num_nodes:
        raise InvalidOption(f"nodes {nodes[0]}-{nodes[1]} reach above num_nodes {num_nodes}")
    rng = np.random.default_rng(words)
    sizes = rng.integers(*num_steps, size=rng.integers(*num_apps, endpoint=True), endpoint=True)
    total = int(sizes.sum())
    durations = rng.integers(*duration, size=total, endpoint=True).tolist()
    steps = list(zip(durations, rng.integers(*nodes, size=total, endpoint=True).tolist(), strict=True))
    ends = np.cumsum(sizes).tolist()
    told: dict[str, Any] = {name: list(bounds) for name, bounds in ranges.items()}
    return EvolutionProblem(
        num_nodes=num_nodes,
        applications=tuple(
            EvolutionProfile(tuple(steps[end - size : end]))
            for end, size in zip(ends, sizes.tolist(), strict=True)
        ),
        expand_limit=expand_limit,
        name=f"klein2011-s{seed_name(words)}",
        meta=recipe("klein2011", seed=words, **told, num_nodes=num_nodes, expand_limit=expand_limit),
    )


#: The fit of the paper: a step on n nodes with S MiB takes A S / n + B n + C S + D seconds.
_A, _B, _C, _D = 7.26e-3, 1.23e-4, 1.13e-6, 1.38
#: The steps of an application, and the most steps of a phase.
_STEPS, _PHASE = 1000, 200
#: By how much the speed of the data grows per step of a growing phase, its factor per step of a calm phase,
#: the deviation of the noise, and the peak of the data: all in units in which the peak is 1000.
_GROWTH, _DECAY, _NOISE, _PEAK = 0.01, 0.95, 2.0, 1000.0
#: The parallel efficiency at which the demand aims.
_EFFICIENCY: Final = 0.75


def amr_seconds(nodes: float, data: float) -> float:
    """Return the seconds of a step on `nodes` nodes with `data` MiB."""
    return _A * data / nodes + _B * nodes + _C * data + _D


def amr_nodes(data: float) -> int:
    """Return the largest number of nodes on which a step is efficient: t(1) >= 0.75 n t(n); at least 1."""
    linear = _C * data + _D
    rest = _A * data - amr_seconds(1, data) / _EFFICIENCY
    root = (-linear + math.sqrt(linear**2 - 4 * _B * rest)) / (2 * _B)
    return max(1, math.floor(root))


def _data_at(nodes: float) -> float:
    """Return the MiB of data for which `amr_nodes` is `nodes`: its equation is linear in them."""
    return (_EFFICIENCY * (_B * nodes**2 + _D * nodes) - _B - _D) / (
        _A + _C - _EFFICIENCY * (_C * nodes + _A)
    )


def amr(
    seed: Seed,
    *,
    num_apps: tuple[int, int] = (4, 6),
    peak: tuple[int, int] = (25, 75),
    change: Annotated[float, Within(0, above=True)] = 0.1,
    num_nodes: Annotated[int, Within(1)] = 100,
    expand_limit: float = math.inf,
) -> EvolutionProblem:
    """Draw a problem of applications that refine their mesh, each with its own peak demand.

    An application makes 1000 steps. Its data grows in phases of 1 to 200 steps: by a speed v per step, which
    rises by 0.01 per step in one phase and falls by 5 % per step in the next; with Gaussian noise (deviation
    2 where the peak is 1000), then scaled such that the peak demands the nodes that were drawn. Each step
    asks for the most nodes that it uses with an efficiency of 75 %. Steps are merged until the demand leaves
    the range of `change` round that of the first of them; together they hold the largest demand among them.

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    num_apps
        Least and largest number of applications, drawn uniformly.
    peak
        Peak demand of an application in nodes, >= 2 and at most `num_nodes`, drawn uniformly.
    change
        Relative change of the demand that begins a new step of the profile, > 0.
    num_nodes
        Nodes of the cluster.
    expand_limit
        The expand limit of the problem; it does not influence the draws.

    References
    ----------
    Klein & Perez, "An RMS for non-predictably evolving applications", IEEE International Conference on
    Cluster Computing 2011, pp. 326-334. The model follows the paper, with its fit of times and demand to
    Uintah, but it is AMR-like and no replica.

    Examples
    --------
    >>> problem = amr(7)
    >>> problem.name, max(app.peak for app in problem.applications) <= 75
    ('amr-s7', True)
    """
    words = seed_words(seed)
    check_range("num_apps", num_apps, 0)
    change, num_nodes = checked(amr, change=change, num_nodes=num_nodes)
    check_range("peak", peak, 2, num_nodes)
    rng = np.random.default_rng(words)
    count = int(rng.integers(*num_apps, endpoint=True))
    return EvolutionProblem(
        num_nodes=num_nodes,
        applications=tuple(draw_amr(rng, peak, change) for _ in range(count)),
        expand_limit=expand_limit,
        name=f"amr-s{seed_name(words)}",
        meta=recipe(
            "amr",
            seed=words,
            num_apps=list(num_apps),
            peak=list(peak),
            change=change,
            num_nodes=num_nodes,
            expand_limit=expand_limit,
        ),
    )


def draw_amr(rng: np.random.Generator, peak: tuple[int, int], change: float) -> EvolutionProfile:
    """Draw an application; see `amr`."""
    return _profile(_data(rng) / _PEAK * _data_at(int(rng.integers(*peak, endpoint=True)) + 0.5), change)


def _data(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the data of each step, in units in which the peak is 1000; shape (steps,)."""
    sizes: list[float] = []
    size = speed = 0.0
    growing = True
    while len(sizes) < _STEPS:
        for _ in range(int(rng.integers(1, _PHASE, endpoint=True))):
            speed = speed + _GROWTH if growing else speed * _DECAY
            size += speed
            sizes.append(size)
        growing = not growing
    noisy = np.array(sizes[:_STEPS]) * (_PEAK / sizes[_STEPS - 1]) + rng.normal(0, _NOISE, _STEPS)
    data: NDArray[np.float64] = np.maximum(noisy, 0.0) * (_PEAK / noisy.max())
    return data


def _profile(data: NDArray[np.float64], change: float) -> EvolutionProfile:
    """Merge the steps of an application into those of a profile; times are rounded up to seconds."""
    demand = [amr_nodes(mib) for mib in data.tolist()]
    steps = []
    begin = 0
    for end in range(1, len(demand) + 1):
        if end == len(demand) or abs(demand[end] - demand[begin]) > change * demand[begin]:
            nodes = max(demand[begin:end])
            seconds = sum(amr_seconds(nodes, mib) for mib in data[begin:end].tolist())
            steps.append((math.ceil(seconds), nodes))
            begin = end
    return EvolutionProfile(tuple(steps))


def amr_stream(
    seed: Seed,
    *,
    num_jobs: Annotated[int, Within(0, MOST_JOBS)],
    num_nodes: Annotated[int, Within(1)] = 100,
    load: Annotated[float, Within(0, above=True)] = 0.8,
    peak: Annotated[tuple[int, int], Within(2)] = (25, 75),
    change: Annotated[float, Within(0, above=True)] = 0.1,
    expand_limit: Annotated[float, Within(1, infinite=True)] = math.inf,
) -> WorkloadProblem:
    """Draw jobs with the profiles of `amr`, submitted by a Poisson process in whole seconds.

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    num_jobs
        Jobs of a problem. Each is drawn step by step: 1000 jobs take a few seconds.
    num_nodes
        Nodes of the cluster.
    load
        Expected node-seconds of the profiles per node and second; above 0.
    peak
        Largest demand of a job in nodes; see `amr`.
    change
        As in `amr`.
    expand_limit
        The expand limit of the jobs; see `allocsolve.model.Profile`; it does not influence the draws.

    Examples
    --------
    >>> problem = amr_stream(7, num_jobs=3)
    >>> problem.name, problem.jobs[0].submit, problem.jobs[0].kind
    ('amr-stream-s7', 0, 'evolving')
    """
    words = seed_words(seed)
    num_jobs, num_nodes, load, change = checked(
        amr_stream, num_jobs=num_jobs, num_nodes=num_nodes, load=load, change=change
    )
    check_range("peak", peak, 2, num_nodes)
    rng = np.random.default_rng(words)
    applications = tuple(draw_amr(rng, peak, change) for _ in range(num_jobs))
    areas = [sum(seconds * nodes for seconds, nodes in app.steps) for app in applications]
    mean_gap = sum(areas) / (max(num_jobs, 1) * load * num_nodes)
    return workload_of_evolution(
        EvolutionProblem(
            num_nodes,
            applications,
            releases=tuple(int(submit) for submit in poisson_submits(rng, num_jobs, mean_gap)),
            expand_limit=expand_limit,
            name=f"amr-stream-s{seed_name(words)}",
            meta=recipe(
                "amr-stream",
                seed=words,
                num_jobs=num_jobs,
                num_nodes=num_nodes,
                load=load,
                peak=list(peak),
                change=change,
                expand_limit=expand_limit,
            ),
        )
    )
