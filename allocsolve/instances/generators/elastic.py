"""Malleable jobs made from rigid ones, as Zojer et al. 2025 make them from the logs of real machines."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._streams import (
    Seed,
    check_rigid,
    recipe,
    seed_name,
    seed_words,
)
from allocsolve.model import MAX_INTEGER, Amdahl, WorkloadProblem
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, JobKind

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
