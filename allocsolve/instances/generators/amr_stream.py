"""A stream of applications with adaptive mesh refinement: jobs whose demand follows a profile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.instances.generators._seeds import Seed, seed_entry, seed_name, seed_words
from allocsolve.instances.generators._streams import check_stream, poisson_submits
from allocsolve.instances.generators.amr import check_amr, draw_amr
from allocsolve.instances.generators.evolution_workload import workload_of_evolution
from allocsolve.model import EvolutionProblem

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

__all__ = ["amr_stream"]

#: Counted up whenever the same seed gives other problems than before.
_VERSION = 1


def amr_stream(
    seed: Seed,
    *,
    num_jobs: int,
    num_nodes: int = 100,
    load: float = 0.8,
    peak: tuple[int, int] = (25, 75),
    change: float = 0.1,
    expand_limit: float = math.inf,
) -> WorkloadProblem:
    """Draw jobs with the profiles of `amr`, submitted by a Poisson process in whole seconds.

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    num_jobs
        How many jobs, >= 0. Each is drawn step by step: 1000 jobs take a few seconds.
    num_nodes
        Nodes of the cluster.
    load
        Expected node-seconds of the profiles per node and second, above 0.
    peak, change
        As of `amr`.
    expand_limit
        Of the jobs, see `allocsolve.model.Profile`; draws nothing.

    Returns
    -------
    WorkloadProblem
        Named after the seed, such as ``amr-stream-s7``, with every parameter in its ``meta``.

    Raises
    ------
    InvalidOption
        If an option is not as said.
    InvalidProblem
        If `expand_limit` is below 1.

    Examples
    --------
    >>> problem = amr_stream(7, num_jobs=3)
    >>> problem.name, problem.jobs[0].submit, problem.jobs[0].kind
    ('amr-stream-s7', 0, 'evolving')
    """
    words = seed_words(seed)
    load = check_stream(num_jobs, load)
    check_amr(peak, change, num_nodes)
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
            meta={
                "generator": "amr-stream",
                "version": _VERSION,
                "seed": seed_entry(words),
                "num_jobs": num_jobs,
                "num_nodes": num_nodes,
                "load": load,
                "peak": list(peak),
                "change": change,
                "expand_limit": None if math.isinf(expand_limit) else expand_limit,
            },
        )
    )
