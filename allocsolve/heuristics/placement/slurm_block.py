"""The choice of nodes of Slurm on blocks, topology/block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.placement._kernels_slurm import fill_blocks
from allocsolve.heuristics.placement.rule import Request, Rule
from allocsolve.model.checks import instance, shown
from allocsolve.model.options import Parsed, Within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


#: Blocks have at most 2^15 base blocks.
_LEVELS: Final = 16
#: What is configured if no sizes are: 1, 2, 4, 8 and 16 base blocks.
_DEFAULT_LEVELS: Final = 5


def _configured(block_sizes: str, first: int) -> tuple[int, BoolArray]:
    """Return the nodes of a base block, and whether blocks of 2^i base blocks are configured, shape (16,)."""
    levels = np.zeros(_LEVELS, dtype=np.bool_)
    texts = [text.strip() for text in block_sizes.split(",")] if block_sizes.strip() else []
    for text in texts:
        if not (text.isascii() and text.isdigit()):
            raise InvalidOption(f"block_sizes {shown(block_sizes)}: {shown(text)} is no number of nodes")
    sizes = [int(text) for text in texts]
    if not sizes:
        levels[:_DEFAULT_LEVELS] = True
        return first, levels
    base = sizes[0]
    for size in sizes:
        times = size // base if base > 0 else 0
        if size < 1 or size % base or times & (times - 1) or times >= 1 << _LEVELS:
            msg = f"block_sizes: {shown(size)} is not {base} times a power of two up to 2^{_LEVELS - 1}"
            raise InvalidOption(msg)
        levels[times.bit_length() - 1] = True
    return base, levels


def _checked_sizes(block_sizes: object) -> str:
    """Return the option as it is."""
    text = instance("block_sizes", block_sizes, str, InvalidOption)
    _configured(text, 1)
    return text


@dataclass(frozen=True, slots=True)
class SlurmBlock(Rule):
    """Take the nodes that Slurm takes with topology/block, or none where it lets the job wait.

    The switches of level 1 are the *base blocks*, in the order of the file, and one without nodes keeps
    its place; all switches above them are ignored. Blocks are aligned groups of so many base blocks as
    are configured. A job gets nodes of one block of the smallest size that holds it (of the whole machine
    if it is larger than all sizes): of those blocks in which the fewest *lower blocks* (of the next
    smaller size) that can hold the job have enough free nodes, the one with fewest free nodes, the last
    of equal ones. There base blocks give their nodes one after the other: first those in a lower block in
    use, then the smallest that holds the rest, else the largest, the last of equal ones. Segments are
    placed one after the other by the same rule.

    If an attempt does not find all nodes, Slurm tries again without the first node that it has found, one
    node less each time. Two defects are kept, since they are what Slurm does. Of the whole machine, the last
    lower block does not count if it has fewer base blocks than the others. And a base block without free
    nodes in a lower block in use is preferred to those in others: nothing is taken from it, and the attempt
    ends. With one busy rack of 18 nodes in each of 8 pods of 16, a job of 300 nodes waits while 2,160 of
    2,304 are free.

    A job in segments (``segment``) is placed in segments, each in a block; if one of them is not within the
    level that the problem names, there is no answer.

    The job waits, too, if `segment` does not divide its size. The nodes may lie below several roots.

    Parameters
    ----------
    block_sizes
        ``BlockSizes`` of topology.conf, in nodes, as text or numbers: the first is that of a base block, the
        others are that times powers of two. Empty: 1, 2, 4, 8 and 16 times the nodes of the first base block.
    segment
        ``--segment``: the job consists of segments of so many nodes, each in one block of the smallest size
        that holds it, wherever the others are. 0 for none; ignored if it is above `k`.
    consolidate
        ``--consolidate-segments``: all segments lie in one block of the smallest size that holds them.

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

    name = "slurm-block"
    knows = ("segment",)
    block_sizes: Annotated[
        str, Parsed(_checked_sizes, "sizes of blocks such as 18,288", ("18,36,54", "x", 18))
    ] = ""
    segment: Annotated[int, Within(0)] = 0
    consolidate: bool = False

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, *_ = request
        numbers = np.bincount(tree.switch)
        blocks = np.flatnonzero(tree.level == 1)
        base, levels = _configured(self.block_sizes, int(numbers[numbers > 0][0]))
        segment = self.segment or request.segment
        if not 0 < segment <= k:
            segment = k
        if k % segment:
            return None
        nodes = np.flatnonzero(free)
        nodes = nodes[np.argsort(tree.switch[nodes], kind="stable")]
        starts = np.searchsorted(tree.switch[nodes], np.append(blocks, tree.num_switches))
        chosen = fill_blocks(nodes, starts, base, levels, k, segment, int(self.consolidate))
        return np.sort(chosen, kind="stable") if len(chosen) else None


def slurm_block(
    tree: SwitchTree,
    free: Sequence[bool] | BoolArray,
    k: int,
    *,
    block_sizes: str | Sequence[int] = "",
    segment: int = 0,
    consolidate: bool = False,
) -> IntArray | None:
    """Take nodes by `SlurmBlock`; see `Request.of` for the arguments."""
    sizes = block_sizes if isinstance(block_sizes, str) else ",".join(map(str, block_sizes))
    return SlurmBlock(sizes, segment, consolidate).take(Request.of(tree, free, k))
