"""The batches of evolving tree-search jobs of Posner et al. 2024."""

from __future__ import annotations

import math
import random
from typing import Final, NamedTuple

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._seeds import seed_words
from allocsolve.model import EvolutionProblem, EvolutionProfile

__all__ = ["BRANCH", "JOBS", "NUM_NODES", "SIZES", "TREE", "EvotreeBatch", "draw_evotree", "evotree"]

#: Counted up whenever the same seed gives other problems than before.
_VERSION = 1

JOBS: Final = 20
NUM_NODES: Final = 10
SIZES: Final = (1, 2, 4, 8)
#: Seconds of a job's first tree, the sequential branch behind it, and its second tree, at nominal size.
TREE: Final = 50
BRANCH: Final = 100
_LAST_SUBMIT: Final = 599
#: So many jobs are submitted at once; the others follow at the distances that were drawn.
_AT_ONCE: Final = 5


class EvotreeBatch(NamedTuple):
    """What is drawn of a batch; jobs in order of submission."""

    #: Nominal sizes.
    sizes: tuple[int, ...]
    #: Seconds.
    submits: tuple[int, ...]
    #: Which jobs evolve.
    evolving: frozenset[int]


def draw_evotree(seed: int, evolving: int) -> EvotreeBatch:
    """Draw a batch as its published configuration does, of which so many jobs evolve."""
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


def evotree(seed: int, *, evolving: int = 100, expand_limit: float = math.inf) -> EvolutionProblem:
    """Draw a batch of 20 jobs on 10 nodes: a task tree, a sequential branch, another tree.

    A job of nominal size k works 50 s on k nodes, 100 s on one, and again 50 s on k. Those that do not
    evolve hold k nodes all the time, and so does a job of size 1.

    Parameters
    ----------
    seed
        For `random.Random`; the batches of the paper have 42 to 46.
    evolving
        How many per cent of the jobs evolve, 0..100 (rounded down to jobs); which ones is drawn as well.
    expand_limit
        Of the problem; draws nothing.

    Returns
    -------
    EvolutionProblem
        Named after the seed, such as ``evotree-s42``, with every parameter in its ``meta``. Jobs are in order
        of submission, from which their releases are counted.

    Raises
    ------
    InvalidOption
        If `seed` is no integer >= 0, or `evolving` is not in 0..100.
    InvalidProblem
        If `expand_limit` is below 1.

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
    if not 0 <= evolving <= 100:
        msg = f"evolving {evolving} is not in 0..100 per cent"
        raise InvalidOption(msg)
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
        meta={
            "generator": "evotree",
            "version": _VERSION,
            "seed": seed,
            "evolving": evolving,
            "expand_limit": None if math.isinf(expand_limit) else expand_limit,
        },
    )
