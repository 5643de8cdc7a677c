"""Elastic jobs made from the rigid ones of logs, after Zojer et al. 2025 and after Lina et al. 2022.

The first makes malleable jobs, the second evolving ones, too, and denser arrivals.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._streams import Seed, check_rigid, recipe, seed_name, seed_words
from allocsolve.model import MAX_INTEGER, Amdahl, Overhead, Requests, Stall, WorkloadProblem
from allocsolve.model.checks import real
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, FloatArray, IntArray, JobKind

#: The parallel shares of which a job gets one, in thousandths.
_SHARES: Final = (950, 955, 960, 965, 970, 975, 980, 985, 990, 995, 999)
#: Lower limits of the efficiency on the preferred number of nodes, and on the largest.
_PREFERRED_EFFICIENCY: Final = Fraction(8, 10)
_LEAST_EFFICIENCY: Final = Fraction(5, 10)
#: The preferred number of nodes divided by the smallest, which is rounded down.
_SHRINKING: Final = 5


def _most_nodes(thousandths: int, efficiency: Fraction) -> int:
    """Return the largest n at which ``1 / ((1 - p) n + p)``, Amdahl's efficiency, is above a value.

    It is exact: several limits are integers, where floats would decide by rounding.
    """
    parallel = Fraction(thousandths, 1000)
    return math.ceil((1 / efficiency - parallel) / (1 - parallel)) - 1


_PREFERRED_MOST: Final = tuple(_most_nodes(share, _PREFERRED_EFFICIENCY) for share in _SHARES)
_MOST: Final = tuple(_most_nodes(share, _LEAST_EFFICIENCY) for share in _SHARES)


def elastic_workload(
    problem: WorkloadProblem,
    *,
    share: Annotated[float, Within(0, 1)],
    seed: Seed,
    tick: Annotated[float, Within(0)] = 10,
) -> WorkloadProblem:
    """Make malleable jobs of a share of the jobs of a rigid workload.

    The nodes of such a job become those it prefers, on which it runs as long as before. Elsewhere it follows
    Amdahl's law; of the parallel shares .95, .955, .. .995, .999 it gets the one with which its efficiency on
    the preferred nodes is nearest above .8, and .999 where none reaches that. It runs on at least a fifth of
    the preferred nodes (rounded down, 1 at least), and on at most as many as leave the efficiency above .5,
    or as the cluster has; its work is parted so that a part takes about `tick` seconds. O(jobs).

    Parameters
    ----------
    problem
        A workload all jobs of which are rigid.
    share
        Share of the jobs that become malleable, 0..1: each with this probability.
    seed
        One or more integers >= 0 for `numpy.random.default_rng`, from which one number is drawn per job: jobs
        that are malleable at one share are so at every larger one.
    tick
        Seconds between the points where a size may change, 0 for any time; on the preferred nodes a part of
        the work takes so long. There are run time / tick parts, rounded down, one at least.

    Returns
    -------
    WorkloadProblem
        Named after the workload, share and seed, such as ``cori-knl-elastic0.4-s1``. Its ``meta`` has the
        recipe with its parameters, and under ``workload`` the ``meta`` and the name of `problem`.

    Notes
    -----
    A job of one node gets .95, so that it cannot take 1000. On more than 250 nodes no parallel share of the
    list reaches the efficiency .8; a job on 1000 nodes or more cannot grow.

    References
    ----------
    Zojer 2025, sections 3.1 and 3.2; where the thesis leaves a step open (the list of parallel shares, the
    smallest size), the program that Zojer's group published later. That program makes a rigid job, too, run
    longer on its own nodes; here t(preferred) is the run time, as in equation 3.2 of the thesis.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> problem = WorkloadProblem(100, [Job(0, 4, 600), Job(0, 50, 60)], name="two")
    >>> elastic = elastic_workload(problem, share=1, seed=1)
    >>> [(job.min_nodes, job.nodes, job.max_nodes, job.points) for job in elastic.jobs]
    [(1, 4, 20, 60), (10, 50, 100, 6)]
    >>> elastic.name, elastic.jobs[1].speedup
    ('two-elastic1-s1', Amdahl(parallel=0.995))
    """
    words = seed_words(seed)
    share, tick = checked(elastic_workload, share=share, tick=tick)
    jobs, packed = problem.jobs, problem.packed
    check_rigid(problem, "malleable")
    chosen = np.random.default_rng(words).random(len(jobs)) < share
    nodes = packed.nodes
    law = np.minimum(np.searchsorted(_PREFERRED_MOST, nodes), len(_SHARES) - 1)
    fewest = np.maximum(nodes // _SHRINKING, 1)
    largest = np.minimum(np.maximum(nodes, np.array(_MOST)[law]), problem.num_nodes)
    laws = [Amdahl(thousandths / 1000) for thousandths in _SHARES]
    kinds: tuple[JobKind, JobKind] = ("rigid", "malleable")
    return WorkloadProblem(
        problem.num_nodes,
        jobs.replace(
            min_nodes=np.where(chosen, fewest, nodes),
            max_nodes=np.where(chosen, largest, nodes),
            speedups=[
                laws[place] if is_chosen else None
                for place, is_chosen in zip(law.tolist(), chosen.tolist(), strict=True)
            ],
            kinds=[kinds[is_chosen] for is_chosen in chosen.tolist()],
            points=np.where(chosen, _parts(packed.runtime, tick), 0),
        ),
        name=f"{problem.name or 'workload'}-elastic{share:g}-s{seed_name(words)}",
        meta=recipe(
            "elastic",
            recipe="zojer2025",
            seed=words,
            share=float(share),
            tick=float(tick),
            workload={"name": problem.name, **problem.meta},
        ),
    )


def _parts(runtime: FloatArray, tick: float) -> IntArray:
    """Return the number of parts of the work of each job; 0 if its size may change at any time."""
    if tick == 0:
        return np.zeros(len(runtime), dtype=np.int64)
    if runtime.max(initial=0) > MAX_INTEGER * tick:
        raise InvalidOption(f"tick {tick:g} parts a job of {runtime.max():g} s into more than 2^53")
    return np.maximum(np.floor(runtime / tick), 1).astype(np.int64)


#: Ranges of sizes: from half of the nodes to 8 times as many; from 1 to the number on which a job is fastest;
#: or from 1 to all nodes.
Flexibility: TypeAlias = Literal["limited", "full", "uncapped"]
#: Moments of requests as shares of all work of a job, or of the work left at the request before.
Moments: TypeAlias = Literal["absolute", "recursive"]
#: Nodes that a job holds while it stalls.
Holds: TypeAlias = Literal["new", "larger"]

#: Ranges of uniform draws: the share of parallel overhead; the costs of a change in seconds per node, in
#: seconds times nodes, and in seconds for synchronisation and for negotiation; the share of work left at a
#: request.
_OVERHEAD: Final = (0.005, 0.01)
_PER_NODE: Final = (0.005, 0.05)
_SHARED: Final = (0.005, 0.05)
_SYNCHRONISATION_S: Final = (0.015, 0.1)
_NEGOTIATION_S: Final = (0.005, 0.05)
_REMAINING: Final = (0.3, 0.6)
#: The most requests of an evolving job.
_MOST_REQUESTS: Final = 4
#: The largest size of a job as a multiple of its nodes.
_MOST_TIMES: Final = 8
#: The probability that a request is for more nodes.
_GROWS: Final = 0.8


class _Draws(NamedTuple):
    """The drawn values of the jobs, in this order: first `chosen`, then a row of 19 numbers for each job.

    Arrays have the shape (jobs,), those of requests (jobs, 4); all are uniform in 0..1.
    """

    chosen: FloatArray
    kind: FloatArray
    overhead: FloatArray
    per_node: FloatArray
    shared: FloatArray
    synchronisation: FloatArray
    negotiation: FloatArray
    requests: FloatArray
    moments: FloatArray
    grows: FloatArray
    change: FloatArray


def lina_workload(
    problem: WorkloadProblem,
    *,
    share: Annotated[float, Within(0, 1)],
    seed: Seed,
    flexibility: Flexibility = "limited",
    moments: Moments = "absolute",
    holds: Holds = "new",
) -> WorkloadProblem:
    """Make malleable and evolving jobs of a share of the jobs of a rigid workload.

    Of the chosen jobs, one in two is malleable, the others evolve; on its own P nodes each runs as long as
    before. It runs on ceil(P / 2) to 8 P nodes, or as many as the cluster has. Of its run time, .5 to 1 % is
    parallel overhead (`Overhead`). Each change of its size stalls it (`Stall`): alpha seconds for each node
    that joins or leaves, beta seconds over the nodes before and after together, .015 to .1 s for
    synchronisation and .005 to .05 s for negotiation, with alpha and beta of .005 to .05. An evolving job has
    1 to 4 requests (`Requests`) when 30 to 60 % of its work are left. Each is for more nodes with probability
    .8, for 1 to P; else it gives back 1 to P / 2 of them. O(jobs).

    Parameters
    ----------
    problem
        A workload all jobs of which are rigid.
    share
        Share of the jobs that become malleable or evolving, one in two each, 0..1: each with
        this probability.
    seed
        One or more integers >= 0 for `numpy.random.default_rng`. The jobs chosen are those that
        `elastic_workload` chooses. What a job becomes does not depend on the share: those of a share are at
        every larger one, the same.
    flexibility
        The sizes of such a job of P nodes. ``limited``: P/2 to 8 P nodes. ``full``: from 1
        node to floor(P sqrt((1 - x) / x)), x being the overhead, on which the job is fastest. ``uncapped``:
        from 1 node to all of the cluster, as the paper has it for "100 % flexibility"; on many of them a job
        is slower.
    moments
        Requests at shares of all work, or of what is left at the one before. ``absolute``: to all work;
        requests come in the order of what is drawn. ``recursive``: to what is left at the request before.
    holds
        Nodes that a job holds while it stalls: the ``new`` number, or the ``larger`` one of both.

    Returns
    -------
    WorkloadProblem
        Named after the workload, share and seed, such as ``kit-lina0.4-s1``. Its ``meta`` has the recipe
        with its parameters, and under ``workload`` the ``meta`` and the name of `problem`.

    Notes
    -----
    The paper leaves open how many nodes a request is for, and when a job gives nodes back. The cost of the
    creation of processes is given without a number; here it is 0.

    References
    ----------
    Lina, Ghafoor & Hines, "Scheduling of elastic message passing applications on HPC systems", JSSPP 2022,
    sections 3 and 5.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> problem = WorkloadProblem(100, [Job(0, 5, 600), Job(0, 50, 60)], name="two")
    >>> elastic = lina_workload(problem, share=1, seed=5)
    >>> elastic.name
    'two-lina1-s5'
    >>> [(job.kind, job.min_nodes, job.nodes, job.max_nodes) for job in elastic.jobs]
    [('evolving', 3, 5, 40), ('malleable', 25, 50, 100)]
    """
    words = seed_words(seed)
    share, *_ = checked(lina_workload, share=share, flexibility=flexibility, moments=moments, holds=holds)
    jobs, packed = problem.jobs, problem.packed
    check_rigid(problem, "elastic")
    draws, nodes = _draws(np.random.default_rng(words), len(jobs)), packed.nodes
    chosen = draws.chosen < share
    evolves = chosen & (draws.kind >= 0.5)
    overhead = _between(draws.overhead, _OVERHEAD)
    fewest, largest = _sizes(nodes, problem.num_nodes, overhead, flexibility)
    kinds: tuple[JobKind, JobKind, JobKind] = ("rigid", "malleable", "evolving")
    return WorkloadProblem(
        problem.num_nodes,
        jobs.replace(
            min_nodes=np.where(chosen, fewest, nodes),
            max_nodes=np.where(chosen, largest, nodes),
            speedups=[
                Overhead(x) if is_chosen else None
                for x, is_chosen in zip(overhead.tolist(), chosen.tolist(), strict=True)
            ],
            kinds=[kinds[code] for code in (chosen.astype(int) + evolves).tolist()],
            evolutions=_requests(draws, nodes, evolves, recursive=moments == "recursive"),
            reconfigurations=_stalls(draws, chosen, holds),
        ),
        name=f"{problem.name or 'workload'}-lina{share:g}-s{seed_name(words)}",
        meta=recipe(
            "lina",
            recipe="lina2022",
            seed=words,
            share=float(share),
            flexibility=flexibility,
            moments=moments,
            holds=holds,
            workload={"name": problem.name, **problem.meta},
        ),
    )


def shrunk_arrivals(problem: WorkloadProblem, factor: float) -> WorkloadProblem:
    """Return a workload with the times between submissions multiplied by a factor.

    Parameters
    ----------
    factor
        Between 0 and 1 jobs arrive faster: Lina et al. take .95 and .65.

    Returns
    -------
    WorkloadProblem
        Named after workload and factor, such as ``kit-arrivals0.65``.

    Raises
    ------
    InvalidOption
        If the factor is not above 0, or submissions would be too late for a workload.

    Examples
    --------
    >>> from allocsolve.model import Job
    >>> problem = WorkloadProblem(1, [Job(10, 1, 60), Job(110, 1, 60)])
    >>> [job.submit for job in shrunk_arrivals(problem, 0.65).jobs]
    [10, 75]
    """
    factor = real("factor", factor, InvalidOption)
    if not 0 < factor < math.inf:
        raise InvalidOption(f"factor {factor:g} of the times between submissions is not above 0")
    first = float(problem.packed.submit.min(initial=math.inf))
    return WorkloadProblem(
        problem.num_nodes,
        [replace(job, submit=first + factor * (job.submit - first)) for job in problem.jobs],
        name=f"{problem.name or 'workload'}-arrivals{factor:g}",
        meta={"arrivals": factor, "workload": {"name": problem.name, **problem.meta}},
    )


def _draws(rng: np.random.Generator, count: int) -> _Draws:
    """Draw the numbers of `count` jobs."""
    chosen = rng.random(count)
    rows = rng.random((count, 7 + 3 * _MOST_REQUESTS))
    return _Draws(chosen, *rows[:, :7].T, *np.split(rows[:, 7:], 3, axis=1))


def _between(draw: FloatArray, limits: tuple[float, float]) -> FloatArray:
    low, high = limits
    values: FloatArray = low + (high - low) * draw
    return values


def _sizes(
    nodes: IntArray, num_nodes: int, overhead: FloatArray, flexibility: Flexibility
) -> tuple[IntArray, IntArray]:
    """Return the fewest and the most nodes of each job."""
    if flexibility == "limited":
        return (nodes + 1) // 2, np.minimum(_MOST_TIMES * nodes, num_nodes)
    largest = np.full_like(nodes, num_nodes)
    if flexibility == "full":
        fastest = np.floor(nodes * np.sqrt((1 - overhead) / overhead))
        largest = np.minimum(fastest, num_nodes).astype(np.int64)
    return np.ones_like(nodes), largest


def _requests(
    draws: _Draws, nodes: IntArray, evolves: BoolArray, *, recursive: bool
) -> list[Requests | None]:
    """Return the requests of each job."""
    count = 1 + np.floor(_MOST_REQUESTS * draws.requests).astype(np.int64)
    made = np.arange(_MOST_REQUESTS) < count[:, None]
    remaining = np.where(made, _between(draws.moments, _REMAINING), 0)
    remaining = np.cumprod(remaining, axis=1) if recursive else -np.sort(-remaining, axis=1)
    more = 1 + np.floor(draws.change * nodes[:, None])
    fewer = 1 + np.floor(draws.change * (nodes[:, None] // 2))
    change = np.where(draws.grows < _GROWS, more, -fewer).astype(np.int64)
    return [
        Requests(zip(remaining[idx, : count[idx]].tolist(), change[idx, : count[idx]].tolist(), strict=True))
        if is_evolving
        else None
        for idx, is_evolving in enumerate(evolves.tolist())
    ]


def _stalls(draws: _Draws, chosen: BoolArray, holds: Holds) -> list[Stall | None]:
    """Return the cost of a change of size for each job."""
    fixed = _between(draws.synchronisation, _SYNCHRONISATION_S) + _between(draws.negotiation, _NEGOTIATION_S)
    rows = zip(
        *(chosen.tolist(), fixed.tolist(), _between(draws.per_node, _PER_NODE).tolist()),
        _between(draws.shared, _SHARED).tolist(),
        strict=True,
    )
    return [
        Stall(fixed, per_node, shared, holds) if is_chosen else None
        for is_chosen, fixed, per_node, shared in rows
    ]
