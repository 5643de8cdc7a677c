"""The batches of evolving tree-search jobs of Posner et al. 2024."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from allocsolve.instances.generators._streams import (
    MOST_JOBS,
    Seed,
    poisson_submits,
    recipe,
    seed_name,
    seed_words,
)
from allocsolve.model import (
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Join,
    Phases,
    SpeedupTable,
    WorkloadProblem,
)
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from collections.abc import Iterable

JOBS: Final = 20
NUM_NODES: Final = 10
SIZES: Final = (1, 2, 4, 8)
#: Seconds of each of the two trees of a job at nominal size.
TREE: Final = 50
#: Seconds of the sequential branch between them.
BRANCH: Final = 100
#: The latest submission, in seconds.
_LAST_SUBMIT: Final = 599
#: The jobs that are submitted at once; the others follow at the drawn distances.
_AT_ONCE: Final = 5


class EvotreeBatch(NamedTuple):
    """The drawn values of a batch, with jobs in order of submission."""

    #: Nominal sizes.
    sizes: tuple[int, ...]
    #: Seconds.
    submits: tuple[int, ...]
    #: Which jobs evolve.
    evolving: frozenset[int]


def draw_evotree(seed: int, evolving: int) -> EvotreeBatch:
    """Draw a batch as its published configuration does, with `evolving` evolving jobs."""
    rng = random.Random(seed)  # noqa: S311 - the paper's generator, not a secret
    sizes = rng.choices(SIZES, k=JOBS)
    submits = [rng.randint(0, _LAST_SUBMIT) for _ in range(JOBS)]
    order = sorted(range(JOBS), key=submits.__getitem__)
    chosen = random.Random(seed).sample(range(JOBS), evolving)  # noqa: S311 - the paper's generator, not a secret
    first = submits[order[_AT_ONCE - 1]]
    return EvotreeBatch(
        tuple(sizes[job] for job in order),
        tuple(max(0, submits[job] - first) for job in order),
        frozenset(chosen),
    )


def evotree(
    seed: int, *, evolving: Annotated[int, Within(0, 100)] = 100, expand_limit: float = math.inf
) -> EvolutionProblem:
    """Draw a batch of 20 jobs on 10 nodes: a task tree, a sequential branch, another tree.

    A job of nominal size k works 50 s on k nodes, 100 s on one, and again 50 s on k. Jobs that do not
    evolve hold k nodes all the time, and so does a job of size 1.

    Parameters
    ----------
    seed
        For `random.Random`; the batches of the paper have 42 to 46.
    evolving
        How many per cent of the jobs evolve, 0..100 (rounded down to jobs); which ones is drawn as well.
    expand_limit
        The expand limit of the problem; it does not influence the draws.

    Returns
    -------
    EvolutionProblem
        Named after the seed, such as ``evotree-s42``, with every parameter in its ``meta``. Jobs are in order
        of submission, from which their releases are counted.

    References
    ----------
    Posner et al. 2024, batches of the evolving benchmark EvoTree; formulas and draws as in the configuration
    that was published with it. A task lasts 20 % more or less there: here every job lasts its mean.

    Examples
    --------
    >>> problem = evotree(42)
    >>> problem.applications[0].steps, problem.releases[5]
    (((50, 4), (100, 1), (50, 4)), 23)
    """
    (seed,) = seed_words([seed])
    (evolving,) = checked(evotree, evolving=evolving)
    batch = draw_evotree(seed, JOBS * evolving // 100)
    whole = 2 * TREE + BRANCH
    return EvolutionProblem(
        num_nodes=NUM_NODES,
        applications=tuple(
            EvolutionProfile(((TREE, size), (BRANCH, 1), (TREE, size)))
            if place in batch.evolving and size > 1
            else EvolutionProfile(((whole, size),))
            for place, size in enumerate(batch.sizes)
        ),
        releases=batch.submits,
        expand_limit=expand_limit,
        name=f"evotree-s{seed}",
        meta=recipe("evotree", seed=seed, evolving=evolving, expand_limit=expand_limit),
    )


#: The kinds of the jobs that are not rigid.
EvotreeKind: TypeAlias = Literal["evolving", "moldable"]

#: The fewest and most nodes of a job, by nominal size.
_RANGES: Final = {1: (1, 2), 2: (1, 4), 4: (2, 8), 8: (4, 10)}
#: Measured seconds: of a start, until a joining node is useful, until a leaving node is free.
_JOIN: Final = Join(start=4.82, grow=3.94, shrink=3.89)
#: Measured seconds of a rigid job; its phases are a little shorter than the nominal ones.
_RUNTIME: Final = 181.0
_SCALE: Final = (_RUNTIME - _JOIN.start) / (2 * TREE + BRANCH)


def evotree_batch(
    seed: int,
    *,
    share: Annotated[float, Within(0, 1)] = 1,
    kind: EvotreeKind = "evolving",
    release_delay: Annotated[float, Within(0)] = 10,
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
        Share of the jobs that are not rigid, 0..1: rounded down to jobs. Which ones is drawn; those of a
        smaller share are not always among those of a larger one.
    kind
        What they are: ``evolving``, or ``moldable`` with a table of the run times on every size.
    release_delay
        Seconds after which an evolving job gives back an idle node; see `allocsolve.model.Phases`. The
        paper does not give it; 10 s fit its figures.

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
    share, kind, release_delay = checked(evotree_batch, share=share, kind=kind, release_delay=release_delay)
    batch = draw_evotree(seed, int(share * JOBS))
    rows = zip(batch.submits, batch.sizes, (idx in batch.evolving for idx in range(JOBS)), strict=True)
    return WorkloadProblem(
        NUM_NODES,
        evotree_jobs(rows, kind, release_delay),
        name=f"evotree-batch-s{seed}",
        meta=recipe("evotree-batch", seed=seed, share=float(share), kind=kind, release_delay=release_delay),
    )


def evotree_stream(
    seed: Seed,
    *,
    num_jobs: Annotated[int, Within(0, MOST_JOBS)],
    num_nodes: Annotated[int, Within(NUM_NODES)] = NUM_NODES,
    load: Annotated[float, Within(0, above=True)] = 0.8,
    share: Annotated[float, Within(0, 1)] = 1,
    kind: EvotreeKind = "evolving",
    release_delay: Annotated[float, Within(0)] = 10,
) -> WorkloadProblem:
    """Draw a stream of the jobs of `evotree_batch`, submitted by a Poisson process in whole seconds.

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    num_jobs
        Jobs of a stream.
    num_nodes
        Nodes of the cluster of a stream: 10 or more, since jobs have the sizes of the paper on every cluster.
    load
        Expected node-seconds of a stream per node and second if all jobs were rigid, above 0.
    share
        How many jobs are not rigid, 0..1: each with this probability; those of a smaller share are among
        those of a larger one.
    kind, release_delay
        As in `evotree_batch`.

    Examples
    --------
    >>> problem = evotree_stream(7, num_jobs=1000, num_nodes=40)
    >>> problem.name, problem.num_nodes, len(problem.jobs)
    ('evotree-stream-s7', 40, 1000)
    """
    words = seed_words(seed)
    num_jobs, num_nodes, load, share, kind, release_delay = checked(
        evotree_stream,
        num_jobs=num_jobs,
        num_nodes=num_nodes,
        load=load,
        share=share,
        kind=kind,
        release_delay=release_delay,
    )
    rng = np.random.default_rng(words)
    sizes = rng.choice(SIZES, num_jobs).tolist()
    chosen = (rng.random(num_jobs) < share).tolist()
    mean_area = _RUNTIME * sum(SIZES) / len(SIZES)
    submits = poisson_submits(rng, num_jobs, mean_area / (load * num_nodes)).tolist()
    return WorkloadProblem(
        num_nodes,
        evotree_jobs(zip(submits, sizes, chosen, strict=True), kind, release_delay),
        name=f"evotree-stream-s{seed_name(words)}",
        meta=recipe(
            "evotree-stream",
            seed=words,
            num_jobs=num_jobs,
            num_nodes=num_nodes,
            load=float(load),
            share=float(share),
            kind=kind,
            release_delay=release_delay,
        ),
    )


def evotree_jobs(
    rows: Iterable[tuple[float, int, bool]], kind: EvotreeKind, release_delay: float
) -> list[Job]:
    """Return jobs like those of `evotree_batch` by submissions, nominal sizes, and which are not rigid."""
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
