"""The plainest rules of placement: the first free nodes, and random ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement.rule import Request, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


@dataclass(frozen=True, slots=True)
class FirstFree(Rule):
    """Take the free nodes with the lowest ids; what links them plays no part.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> first_free(SwitchTree.regular((2, 3)), [False, True, True, False, True, True], 3).tolist()
    [1, 2, 4]
    """

    name = "first-free"

    def take(self, request: Request) -> IntArray:
        """Return the nodes that the job gets."""
        return np.flatnonzero(request.free)[: request.size]


def first_free(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray:
    """Take nodes by `FirstFree`; see `Request.of` for the arguments."""
    return FirstFree().take(Request.of(tree, free, k))


@dataclass(frozen=True, slots=True)
class RandomFree(Rule):
    """Take random free nodes, each set of them equally likely; what links them plays no part."""

    name = "random"

    def take(self, request: Request) -> IntArray:
        """Return the nodes that the job gets."""
        random = np.random.default_rng(request.seed)
        return np.sort(
            random.choice(np.flatnonzero(request.free), request.size, replace=False), kind="stable"
        )


def random_free(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int, *, seed: int) -> IntArray:
    """Take nodes by `RandomFree`; see `Request.of` for the arguments."""
    return RandomFree().take(Request.of(tree, free, k, seed=seed))
