"""Evolving tree-search jobs of Posner et al. 2024 as workloads: their batches, and streams of such jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._seeds import Seed, seed_entry, seed_name, seed_words
from allocsolve.instances.generators._streams import check_stream, poisson_submits
from allocsolve.instances.generators.evotree import BRANCH, JOBS, NUM_NODES, SIZES, TREE, draw_evotree
from allocsolve.model import Job, Join, Phases, SpeedupTable, WorkloadProblem
from allocsolve.model.checks import choice, real

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EVOTREE_KINDS", "EvotreeKind", "evotree_batch", "evotree_jobs", "evotree_stream"]

#: Counted up whenever the same seed gives other problems than before.
_VERSION = 1

#: What a job that is not rigid may be.
EvotreeKind: TypeAlias = Literal["evolving", "moldable"]
EVOTREE_KINDS: Final[tuple[EvotreeKind, ...]] = get_args(EvotreeKind)

#: Fewest and most nodes of a job of a nominal size.
_RANGES: Final = {1: (1, 2), 2: (1, 4), 4: (2, 8), 8: (4, 10)}
#: Seconds, as measured: of a start, until a node that comes is useful, until one that goes is free.
_JOIN: Final = Join(start=4.82, grow=3.94, shrink=3.89)
#: Seconds of a rigid job, as measured; its phases are a bit shorter than the nominal ones.
_RUNTIME: Final = 181.0
_SCALE: Final = (_RUNTIME - _JOIN.start) / (2 * TREE + BRANCH)


def evotree_batch(
    seed: int, *, share: float = 1, kind: EvotreeKind = "evolving", release_delay: float = 10
) -> WorkloadProblem:
    """Draw a batch of 20 jobs on 10 nodes, as the published configuration of the experiments does.

    A job of nominal size k has three phases: a task tree that takes 44 s on k nodes and can use any number, a
    sequential branch of 88 s, and another tree. With its start of 4.82 s it takes 181 s on k nodes. Sizes 1,
    2, 4 and 8 are equally likely and stand for 1-2, 1-4, 2-8 and 4-10 nodes of a job that is not rigid. Five
    jobs are submitted at once, the others at distances of times that are uniform in 10 minutes. No job has a
    limit: all have the same estimate on their nominal size.

    Parameters
    ----------
    seed
        For `random.Random`; the batches of the paper have 42 to 46.
    share
        How many jobs are not rigid, 0..1, rounded down to jobs. Which ones is drawn; those of a smaller
        share are not always among those of a larger one.
    kind
        What they are: ``evolving``, or ``moldable`` with a table of the run times on every size.
    release_delay
        Of evolving jobs, see `allocsolve.model.Phases`. The paper does not say it; 10 s fit its figures.

    Returns
    -------
    WorkloadProblem
        Named after the seed, such as ``evotree-batch-s42``, with every parameter in its ``meta``.

    Raises
    ------
    InvalidOption, UnknownName
        If an option is not as said.
    InvalidProblem
        If `release_delay` is out of range.

    References
    ----------
    Posner 2024, section 4.1. Tasks last 20 % more or less there: here every phase lasts its mean.

    Examples
    --------
    >>> problem = evotree_batch(42)
    >>> [(job.submit, job.min_nodes, job.nodes, job.max_nodes) for job in problem.jobs[4:6]]
    [(0, 1, 1, 2), (23, 2, 4, 8)]
    """
    (seed,) = seed_words([seed])
    share = _share(share)
    choice("kind", kind, EVOTREE_KINDS)
    batch = draw_evotree(seed, int(share * JOBS))
    rows = zip(batch.submits, batch.sizes, (idx in batch.evolving for idx in range(JOBS)), strict=True)
    return WorkloadProblem(
        NUM_NODES,
        evotree_jobs(rows, kind, release_delay),
        name=f"evotree-batch-s{seed}",
        meta={
            "generator": "evotree-batch",
            "version": _VERSION,
            "seed": seed,
            "share": share,
            "kind": kind,
            "release_delay": release_delay,
        },
    )


def evotree_stream(
    seed: Seed,
    *,
    num_jobs: int,
    num_nodes: int = NUM_NODES,
    load: float = 0.8,
    share: float = 1,
    kind: EvotreeKind = "evolving",
    release_delay: float = 10,
) -> WorkloadProblem:
    """Draw a stream of the jobs of `evotree_batch`, submitted by a Poisson process in whole seconds.

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    num_jobs
        How many jobs, >= 0.
    num_nodes
        Nodes of the cluster, 10 or more: jobs have the sizes of the paper on every cluster.
    load
        Expected node-seconds per node and second if all jobs were rigid, above 0.
    share
        How many jobs are not rigid, 0..1: each with this probability; those of a smaller share are among
        those of a larger one.
    kind, release_delay
        As of `evotree_batch`.

    Returns
    -------
    WorkloadProblem
        Named after the seed, such as ``evotree-stream-s7``, with every parameter in its ``meta``.

    Raises
    ------
    InvalidOption, UnknownName
        If an option is not as said.
    InvalidProblem
        If `release_delay` is out of range.

    Examples
    --------
    >>> problem = evotree_stream(7, num_jobs=1000, num_nodes=40)
    >>> problem.name, problem.num_nodes, len(problem.jobs)
    ('evotree-stream-s7', 40, 1000)
    """
    words = seed_words(seed)
    share, load = _share(share), check_stream(num_jobs, load)
    choice("kind", kind, EVOTREE_KINDS)
    if not num_nodes >= NUM_NODES:
        msg = f"num_nodes {num_nodes} is below {NUM_NODES}, the most of a job"
        raise InvalidOption(msg)
    rng = np.random.default_rng(words)
    sizes = rng.choice(SIZES, num_jobs).tolist()
    chosen = (rng.random(num_jobs) < share).tolist()
    mean_area = _RUNTIME * sum(SIZES) / len(SIZES)
    submits = poisson_submits(rng, num_jobs, mean_area / (load * num_nodes)).tolist()
    return WorkloadProblem(
        num_nodes,
        evotree_jobs(zip(submits, sizes, chosen, strict=True), kind, release_delay),
        name=f"evotree-stream-s{seed_name(words)}",
        meta={
            "generator": "evotree-stream",
            "version": _VERSION,
            "seed": seed_entry(words),
            "num_jobs": num_jobs,
            "num_nodes": num_nodes,
            "load": load,
            "share": share,
            "kind": kind,
            "release_delay": release_delay,
        },
    )


def _share(share: float) -> float:
    number = real("share", share, InvalidOption)
    if not 0 <= number <= 1:
        msg = f"share {number:g} is not in 0..1"
        raise InvalidOption(msg)
    return number


def evotree_jobs(
    rows: Iterable[tuple[float, int, bool]], kind: EvotreeKind, release_delay: float
) -> list[Job]:
    """Return jobs as those of `evotree_batch`: submissions, nominal sizes, which ones are not rigid."""
    tree, branch = TREE * _SCALE, BRANCH * _SCALE
    phases = {
        size: Phases([(size * tree, None), (branch, 1), (size * tree, None)], release_delay) for size in SIZES
    }
    jobs = []
    for submit, size, chosen in rows:
        low, high = _RANGES[size]
        if not chosen:
            jobs.append(Job(submit, size, _RUNTIME))
        elif kind == "evolving":
            jobs.append(
                Job(
                    *(submit, size, _RUNTIME),
                    min_nodes=low,
                    max_nodes=high,
                    evolution=phases[size],
                    reconfiguration=_JOIN,
                )
            )
        else:
            table = SpeedupTable(
                (nodes, _RUNTIME if nodes == size else _JOIN.start + phases[size].run_time(nodes))
                for nodes in range(low, high + 1)
            )
            jobs.append(Job(submit, size, _RUNTIME, min_nodes=low, max_nodes=high, speedup=table))
    return jobs
