"""The submissions of streams of jobs, and the seeds of all generators: how they are checked and named."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.model.checks import real
from allocsolve.model.job_kinds import RIGID

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, WorkloadProblem

#: The most jobs of a stream: far more than a file of a workload has.
MOST_JOBS = 2**24


def check_stream(num_jobs: int, load: float) -> float:
    """Return the load as a float.

    Raises `InvalidOption` if the number of jobs is negative or too large, or the load is not a finite number
    above 0.
    """
    if not 0 <= num_jobs <= MOST_JOBS:
        raise InvalidOption(f"num_jobs {num_jobs} is not in 0..{MOST_JOBS}")
    load = real("load", load, InvalidOption)
    if not 0 < load < math.inf:
        raise InvalidOption(f"load {load:g} is not a finite number above 0")
    return load


def check_share(share: float) -> float:
    """Return the share of the jobs that become elastic as a float; `InvalidOption` if it is not in 0..1."""
    share = real("share", share, InvalidOption)
    if not 0 <= share <= 1:
        raise InvalidOption(f"share {share:g} is not in 0..1")
    return share


def check_rigid(problem: WorkloadProblem, aim: str) -> None:
    """Raise `InvalidProblem` that names the first job that is not rigid, if there is one."""
    if not problem.is_rigid:
        jobs = problem.jobs
        idx = int(np.argmax(problem.packed.kind != RIGID))
        msg = f"job {jobs.names[idx]!r} is {jobs[idx].kind}: only rigid jobs can be made {aim}"
        raise InvalidProblem(msg)


def poisson_submits(rng: np.random.Generator, num_jobs: int, mean_gap: float) -> FloatArray:
    """Draw the submissions of a Poisson process in whole seconds, the first at 0; shape (num_jobs,)."""
    coming = np.floor(np.cumsum(rng.exponential(mean_gap, num_jobs)))
    submits: FloatArray = coming - coming[:1].sum()
    return submits


#: A seed for `numpy.random.default_rng`: the same seed gives the same problem, which is named after it,
#: such as ``lublin1999-s7``, and has every parameter of its generator in its ``meta``.
Seed: TypeAlias = int | Sequence[int]


def seed_words(seed: Seed) -> tuple[int, ...]:
    """Return the integers of a seed."""
    try:
        words = tuple(map(operator.index, seed if isinstance(seed, Sequence) else [seed]))
    except TypeError:
        words = ()
    if not words or min(words) < 0:
        raise InvalidOption(f"seed {seed!r} is not made of integers >= 0")
    return words


def seed_name(words: Sequence[int]) -> str:
    """Return the seed as it stands in the name of a problem."""
    return "-".join(map(str, words))


def recipe(generator: str, version: int = 1, /, **parameters: object) -> dict[str, object]:
    """Return the ``meta`` of a generated problem: the seed as a number or list, None for no limit.

    A generator gets a higher version whenever the same parameters give other problems than before.
    """
    entries = {name: None if value == math.inf else value for name, value in parameters.items()}
    words = entries.get("seed")
    if isinstance(words, tuple):
        entries["seed"] = words[0] if len(words) == 1 else list(words)
    return {"generator": generator, "version": version, **entries}
