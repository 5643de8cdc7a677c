"""Rigid jobs whose sizes and run times have uniform logarithms: Downey's model as Lina et al. 2022 use it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._streams import (
    MOST_JOBS,
    Seed,
    check_range,
    recipe,
    seed_name,
    seed_words,
)
from allocsolve.model import Jobs, WorkloadProblem
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import FloatArray


def downey1997(
    seed: Seed,
    *,
    num_jobs: Annotated[int, Within(0, MOST_JOBS)] = 10_000,
    num_nodes: Annotated[int, Within(1)] = 10_000,
    load: Annotated[float, Within(0, above=True)] = 0.75,
    nodes: Annotated[Sequence[int], Within(1)] = (2, 5000),
    runtime: Annotated[Sequence[int], Within(1)] = (296, 20_131),
) -> WorkloadProblem:
    """Draw a workload of rigid jobs that arrive at random.

    The logarithms of numbers of nodes and of run times are uniform, independently; the times between
    submissions are exponential, with a mean such that the jobs need the share `load` of the cluster.
    Sizes and times are rounded to whole nodes and seconds; jobs have no limits. O(num_jobs).

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    num_jobs
        Jobs of a problem; at most 2^24.
    num_nodes
        Nodes of the cluster.
    load
        Share of the cluster that the jobs need, above 0; from 1 on the queue grows without limit.
    nodes
        Nodes of a job: the smallest and the largest number.
    runtime
        Seconds of a job: the smallest and the largest number.

    Notes
    -----
    By default with the parameters of Lina et al. 2022, table 1, where the largest logarithm of sizes is
    rounded: jobs of 4994 nodes, as they report one, need 5000. They draw run times; in Downey's model it is
    the total work and the average parallelism of jobs that have uniform logarithms.

    References
    ----------
    Downey, "A parallel workload model and its implications for processor allocation", HPDC 1997.
    Lina, Ghafoor & Hines, "Scheduling of elastic message passing applications on HPC systems", JSSPP 2022.

    Examples
    --------
    >>> problem = downey1997(17)
    >>> problem.name, problem.num_nodes, len(problem.jobs)
    ('downey1997-s17', 10000, 10000)
    >>> round(problem.area / (problem.num_nodes * float(problem.packed.submit.max())), 2)
    0.73
    """
    words = seed_words(seed)
    num_jobs, num_nodes, load = checked(downey1997, num_jobs=num_jobs, num_nodes=num_nodes, load=load)
    smallest, largest = check_range("nodes", nodes, 1)
    shortest, longest = check_range("runtime", runtime, 1)
    if largest > num_nodes:
        raise InvalidOption(f"num_nodes {num_nodes} is below {largest}: jobs have up to {largest} nodes")
    gap = _mean(smallest, largest) * _mean(shortest, longest) / (load * num_nodes)
    rng = np.random.default_rng(words)
    size, length = (
        _log_uniform(rng, num_jobs, *limits) for limits in ((smallest, largest), (shortest, longest))
    )
    gaps = gap * rng.exponential(size=num_jobs)
    gaps[:1] = 0
    return WorkloadProblem(
        num_nodes,
        Jobs(np.rint(np.cumsum(gaps)), size.astype(np.int64), length),
        name=f"downey1997-s{seed_name(words)}",
        meta=recipe(
            "downey1997",
            seed=words,
            num_jobs=num_jobs,
            num_nodes=num_nodes,
            load=float(load),
            nodes=[smallest, largest],
            runtime=[shortest, longest],
        ),
    )


def _mean(low: int, high: int) -> float:
    """Return the mean of a variable with a uniform logarithm."""
    return float(low) if low == high else (high - low) / math.log(high / low)


def _log_uniform(rng: np.random.Generator, count: int, low: int, high: int) -> FloatArray:
    values: FloatArray = np.clip(
        np.rint(np.exp(rng.uniform(math.log(low), math.log(high), count))), low, high
    )
    return values
