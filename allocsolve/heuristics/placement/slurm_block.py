"""The choice of nodes of Slurm on blocks, topology/block.

A plain function for simulators, which returns the nodes by id, and the solver over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.placement._kernels_slurm import fill_blocks
from allocsolve.heuristics.placement.answers import check_asked, checked_tree_request, placement_result
from allocsolve.model import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import (
        BoolArray,
        Budget,
        IntArray,
        Placement,
        PlacementProblem,
        Result,
        SwitchTree,
    )

#: Blocks have at most 2^15 base blocks.
_LEVELS: Final = 16
#: What is configured if no sizes are: 1, 2, 4, 8 and 16 base blocks.
_DEFAULT_LEVELS: Final = 5


def slurm_block(
    tree: SwitchTree,
    free: Sequence[bool] | BoolArray,
    k: int,
    *,
    block_sizes: str | Sequence[int] = "",
    segment: int = 0,
    consolidate: bool = False,
) -> IntArray | None:
    """Take the nodes that Slurm takes with topology/block, or none where it lets the job wait.

    The switches of level 1 with nodes are the *base blocks*, in the order of the file; all switches above
    them are ignored. Blocks are aligned groups of so many base blocks as are configured. A job gets nodes of
    one block of the smallest size that holds it (of the whole machine if it is larger than all sizes): of
    those blocks in which the fewest *lower blocks* (of the next smaller size) that can hold the job have
    enough free nodes, the one with fewest free nodes, the last of equal ones. There base blocks give their
    nodes one after the other: first those in a lower block in use, then the smallest that holds the rest,
    else the largest, the last of equal ones. Segments are placed one after the other by the same rule.

    If an attempt does not find all nodes, Slurm tries again without the first node that it has found, one
    node less each time. Two defects are kept, since they are what Slurm does. Of the whole machine, the last
    lower block does not count if it has fewer base blocks than the others. And a base block without free
    nodes in a lower block in use is preferred to those in others: nothing is taken from it, and the attempt
    ends. With one busy rack of 18 nodes in each of 8 pods of 16, a job of 300 nodes waits while 2,160 of
    2,304 are free.

    Parameters
    ----------
    tree
        The machine.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    k
        How many to take.
    block_sizes
        ``BlockSizes`` of topology.conf, in nodes, as text or numbers: the first is that of a base block, the
        others are that times powers of two. Empty: 1, 2, 4, 8 and 16 times the nodes of the first base block.
    segment
        ``--segment``: the job consists of segments of so many nodes, each in one block of the smallest size
        that holds it, wherever the others are. 0 for none; ignored if it is above `k`.
    consolidate
        ``--consolidate-segments``: all segments lie in one block of the smallest size that holds them.

    Returns
    -------
    IntArray or None
        Shape (k,), rising; None if the job waits, or `segment` does not divide `k`. The nodes may lie below
        several roots.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `k` is below 1 or above the number of free nodes.
    InvalidOption
        If the block sizes are not as said, `segment` is negative, or `consolidate` is no truth value.

    Notes
    -----
    *Guarantee*: each segment lies in one aligned block; none on distances. *Complexity*: O(nodes + b * r)
    for b base blocks, of which r are used, in one attempt; there are at most as many as free nodes.

    References
    ----------
    Slurm, commit 284c3b95 (26.11-rc): ``eval_nodes_block.c`` and ``block_record.c`` in
    src/plugins/topology/block, ``common_topo.c`` in src/plugins/topology/common (the further attempts).

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0], dtype=np.bool_)
    >>> slurm_block(SwitchTree.regular((4, 3)), free, 4).tolist()
    [6, 7, 9, 10]
    """
    mask, k = checked_tree_request(tree, free, k)
    segment = checks.natural("segment", segment)
    consolidate = checks.flag("consolidate", consolidate)
    numbers = np.bincount(tree.switch)
    blocks = np.flatnonzero(numbers)
    base, levels = _configured(block_sizes, int(numbers[blocks[0]]))
    if not 0 < segment <= k:
        segment = k
    if k % segment:
        return None
    nodes = np.flatnonzero(mask)
    nodes = nodes[np.argsort(tree.switch[nodes], kind="stable")]
    starts = np.searchsorted(tree.switch[nodes], np.append(blocks, tree.num_switches))
    chosen = fill_blocks(nodes, starts, base, levels, k, segment, int(consolidate))
    return np.sort(chosen, kind="stable") if len(chosen) else None


def _configured(block_sizes: str | Sequence[int], first: int) -> tuple[int, BoolArray]:
    """Return the nodes of a base block, and whether blocks of 2^i base blocks are configured, shape (16,)."""
    levels = np.zeros(_LEVELS, dtype=np.bool_)
    if isinstance(block_sizes, str):
        texts = [text.strip() for text in block_sizes.split(",")] if block_sizes.strip() else []
        for text in texts:
            if not (text.isascii() and text.isdigit()):
                msg = f"block_sizes {checks.shown(block_sizes)}: {checks.shown(text)} is no number of nodes"
                raise InvalidOption(msg)
        sizes = [int(text) for text in texts]
    else:
        sizes = [checks.integer("block size", size, InvalidOption) for size in block_sizes]
    if not sizes:
        levels[:_DEFAULT_LEVELS] = True
        return first, levels
    base = sizes[0]
    for size in sizes:
        times = size // base if base > 0 else 0
        if size < 1 or size % base or times & (times - 1) or times >= 1 << _LEVELS:
            msg = (
                f"block_sizes: {checks.shown(size)} is not {base} times a power of two up to 2^{_LEVELS - 1}"
            )
            raise InvalidOption(msg)
        levels[times.bit_length() - 1] = True
    return base, levels


@dataclass(frozen=True, slots=True)
class SlurmBlock:
    """Choose nodes as Slurm does on blocks, stalls included: see `slurm_block`.

    A job in segments (``segment``) is placed in segments, each in a block; if one of them is not within the
    level that the problem names, there is no answer.

    Parameters
    ----------
    block_sizes
        As in `slurm_block`: ``slurm-block(block_sizes='18,288')``.
    segment
        As in `slurm_block`; 0 for that of the problem, if it asks for one.
    consolidate
        As in `slurm_block`.

    Raises
    ------
    InvalidOption
        If an option is not as said.

    Examples
    --------
    >>> from allocsolve.model import Budget, PlacementProblem, SwitchTree
    >>> problem = PlacementProblem.of(SwitchTree.regular((4, 3)), busy=[2, 4, 5, 8, 11], size=4)
    >>> SlurmBlock()(problem, Budget()).answer.nodes.tolist()
    [6, 7, 9, 10]
    """

    block_sizes: str = ""
    segment: int = 0
    consolidate: bool = False

    def __post_init__(self) -> None:
        _configured(self.block_sizes, 1)
        checks.natural("segment", self.segment)
        checks.flag("consolidate", self.consolidate)

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for a level or equal parts.
        """
        clock = budget.start()
        check_asked(problem, "slurm-block", "segment")
        nodes = slurm_block(
            problem.tree,
            problem.free,
            problem.size,
            block_sizes=self.block_sizes,
            segment=self.segment or problem.segment,
            consolidate=self.consolidate,
        )
        return placement_result(problem, nodes, clock)
