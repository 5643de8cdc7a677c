"""Seeds of generators: one or more integers, checked, named and recorded in the same way everywhere."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TypeAlias

from allocsolve.errors import InvalidOption

__all__ = ["Seed", "seed_entry", "seed_name", "seed_words"]

#: For `numpy.random.default_rng`: the same seed gives the same problem.
Seed: TypeAlias = int | Sequence[int]


def seed_words(seed: Seed) -> tuple[int, ...]:
    """Return the integers of a seed.

    Raises
    ------
    InvalidOption
        If it is not made of integers >= 0.
    """
    try:
        words = tuple(map(operator.index, seed if isinstance(seed, Sequence) else [seed]))
    except TypeError:
        words = ()
    if not words or min(words) < 0:
        msg = f"seed {seed!r} is not made of integers >= 0"
        raise InvalidOption(msg)
    return words


def seed_name(words: Sequence[int]) -> str:
    """Return the seed as it stands in the name of a problem."""
    return "-".join(map(str, words))


def seed_entry(words: Sequence[int]) -> int | list[int]:
    """Return the seed as it stands in the ``meta`` of a problem."""
    return words[0] if len(words) == 1 else list(words)
