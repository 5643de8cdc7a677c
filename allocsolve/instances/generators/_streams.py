"""The submissions of streams of jobs, and the seeds of all generators: how they are checked and named."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER
from allocsolve.model.checks import integer
from allocsolve.model.job_kinds import RIGID

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, WorkloadProblem

#: The most jobs of a stream: far more than a file of a workload has.
MOST_JOBS = 2**24


def check_range(name: str, limits: Sequence[int], lower: int, upper: int = MAX_INTEGER) -> tuple[int, int]:
    """Return the two ends of a range of integers; `InvalidOption` if it is none within these limits."""
    ends = [integer(name, end, InvalidOption) for end in limits]
    if len(ends) != 2 or not lower <= ends[0] <= ends[1] <= upper:
        last = "2^53" if upper == MAX_INTEGER else upper
        fault = "is empty" if len(ends) == 2 and ends[0] > ends[1] else f"is not within {lower}..{last}"
        raise InvalidOption(f"{name} {'-'.join(map(str, ends))} {fault}")
    return ends[0], ends[1]


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
