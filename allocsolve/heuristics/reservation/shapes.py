"""The rules by which static admission chooses nodes: by name, or as a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.heuristics.partition.allocator import component_sizes, hops
from allocsolve.heuristics.partition.growth import grow, grow_first, growth, spread
from allocsolve.heuristics.partition.nearest import manhattan_median
from allocsolve.kernels import allocating_kernel, inner_kernel, kernel
from allocsolve.model import MAX_INTEGER, BoolArray, IntArray, Topology
from allocsolve.model.checks import choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.heuristics.partition.allocator import Lattice

    WordArray: TypeAlias = NDArray[np.uint64]

#: A single bit, and the masks of `count_bits` for pairs of bits, groups of four, and bytes; the last one adds
#: the bytes of a word.
_ONE = np.uint64(1)
_PAIRS = np.uint64(0x5555555555555555)
_QUADS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM = np.uint64(0x0101010101010101)


@inner_kernel
def count_bits(word: np.uint64) -> int:
    """Return the number of bits of a word that are set."""
    pairs = word - ((word >> _ONE) & _PAIRS)
    quads = (pairs & _QUADS) + ((pairs >> np.uint64(2)) & _QUADS)
    return np.int64((((quads + (quads >> np.uint64(4))) & _BYTES) * _SUM) >> np.uint64(56))  # type: ignore[return-value]  # signed, else sums with int are floats


@inner_kernel
def trailing_zeros(word: np.uint64) -> int:
    """Return the place of the lowest bit that is set; 64 if no bit is."""
    return count_bits(~word & (word - _ONE))


@allocating_kernel
def grow_together(lattice: Lattice, free: BoolArray, exact: bool, nodes: IntArray) -> bool:
    """Grow `nodes` from its first entry, each time by all cheapest free neighbours; return False if stuck.

    The cost of a neighbour, ``increase``, is the sum of its distances to the chosen nodes. Growth is stuck if
    all cheapest neighbours are busy; otherwise the busy ones among them are dropped. Neighbours are met when
    a node is chosen, by increasing id. If the last set is too large, the nodes that were met first are taken,
    or, if `exact`, growth is stuck.
    """
    size = len(nodes)
    met = np.zeros(len(free), dtype=np.bool_)
    frontier = np.empty(len(free), dtype=np.int64)
    increase = np.empty(len(free), dtype=np.int64)
    met[nodes[0]] = True
    waiting, done, count = 0, 0, 1  # the neighbours of the first `done` nodes have been met
    while count < size:
        for new in range(done, count):
            for k in range(waiting):
                increase[k] += hops(lattice, nodes[new], frontier[k])
        for new in range(done, count):
            for link in range(lattice.offsets[nodes[new]], lattice.offsets[nodes[new] + 1]):
                other = lattice.neighbours[link]
                if met[other]:
                    continue
                met[other] = True
                frontier[waiting], increase[waiting] = other, 0
                for k in range(count):
                    increase[waiting] += hops(lattice, nodes[k], other)
                waiting += 1
        done = count
        cheapest, equals = -1, 0
        for k in range(waiting):
            if cheapest < 0 or increase[k] < cheapest:
                cheapest, equals = increase[k], 0
            if increase[k] == cheapest and free[frontier[k]]:
                equals += 1
        if equals == 0 or (exact and count + equals > size):
            return False
        left = 0
        for k in range(waiting):
            if increase[k] > cheapest:
                frontier[left], increase[left] = frontier[k], increase[k]
                left += 1
            elif free[frontier[k]] and count < size:
                nodes[count] = frontier[k]
                count += 1
        waiting = left
    return True


#: Codes of the rules of `choose`, see `allocsolve.heuristics.admit`.
ANY, RUN, GROWTH, LITERAL, LITERAL_SET, LITERAL_EXACT, COUNT_ONLY = range(7)

#: Codes of the shapes of `has_shape`: their places in `allocsolve.model.RESERVATION_SHAPES`.
ANY_SHAPE, CONNECTED, ON_CURVE = range(3)

#: A word with all bits set.
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Machine(NamedTuple):
    """The machine as the bits of a timeline, and arrays to work on."""

    lattice: Lattice
    #: Shape (words,): the bits of all nodes; if nodes are only counted, one word with their number.
    everything: WordArray
    #: Shape (nodes,): the node of each bit, and the bit of each node.
    node_of: IntArray
    bit_of: IntArray
    #: Shape (nodes,): the place of each node on the Hilbert curve.
    places: IntArray
    #: Shape (nodes,): the mask of free nodes, which kernels write.
    free: BoolArray
    #: Shape (nodes,): the mask of the empty machine, all True.
    empty: BoolArray
    #: Shape (nodes, width): the order in which nodes are taken from a seed on the empty machine, as far as it
    #: is known.
    paths: IntArray
    #: Shape (nodes,): the number of nodes up to which it is known, at least 1.
    lengths: IntArray
    #: Shape (nodes,): where the path was blocked the last time; it is often blocked there again.
    blocks: IntArray


@kernel
def write_free(machine: Machine, words: WordArray) -> None:
    """Write the nodes whose bits are set in words to the mask of free nodes."""
    for bit in range(len(machine.free)):
        is_free = (words[bit >> 6] >> np.uint64(bit & 63)) & _ONE != 0
        machine.free[machine.node_of[bit]] = is_free


@kernel
def write_bits(machine: Machine, nodes: IntArray, words: WordArray) -> None:
    """Write the bits of nodes to words."""
    words[:] = np.uint64(0)
    for node in nodes:
        bit = machine.bit_of[node]
        words[bit >> 6] |= _ONE << np.uint64(bit & 63)


@inner_kernel
def _first_run(words: WordArray, size: int) -> int:
    """Return the first bit of the first run of `size` bits that are set; -1 if there is none."""
    length = 0
    for k in range(len(words)):
        word = words[k]
        if word == _FULL:
            length += 64
            if length >= size:
                return 64 * (k + 1) - length
            continue
        bit = 0
        while bit < 64:
            rest = word >> np.uint64(bit)
            zeros = trailing_zeros(rest)
            if zeros > 0:
                length = 0
            if zeros == 64:
                break
            bit += zeros
            ones = trailing_zeros(~(rest >> np.uint64(zeros)))
            length += ones
            bit += ones
            if length >= size:
                return 64 * k + bit - length
    return -1


@inner_kernel
def _first_bits(words: WordArray, node_of: IntArray, nodes: IntArray) -> None:
    """Fill `nodes` with the nodes of the first bits that are set; there must be enough of them."""
    count, k = 0, 0
    while count < len(nodes):
        word = words[k]
        while word != 0 and count < len(nodes):
            nodes[count] = node_of[64 * k + trailing_zeros(word)]
            count += 1
            word &= word - _ONE
        k += 1


@allocating_kernel
def _follow(machine: Machine, seed: int, nodes: IntArray) -> bool:
    """Fill `nodes` with the nodes taken from a seed on the empty machine; return False if one is busy.

    The path is computed only as far as it is needed, each time at least twice as far as before.
    """
    size, width, path = len(nodes), machine.paths.shape[1], machine.paths[seed]
    stored, done = min(size, width), 0
    while done < stored:
        if done == machine.lengths[seed]:
            length = machine.lengths[seed] = min(max(16, 2 * done), width)
            grow(machine.lattice, machine.empty, path[:length], MAX_INTEGER)
        reach = min(machine.lengths[seed], stored)
        while done < reach:
            if not machine.free[path[done]]:
                machine.blocks[seed] = done
                return False
            done += 1
    if done < size:
        nodes[0] = seed
        grow(machine.lattice, machine.empty, nodes, MAX_INTEGER)
        while done < size and machine.free[nodes[done]]:
            done += 1
        return done == size
    for k in range(size):
        nodes[k] = path[k]
    return True


@allocating_kernel
def _literal(machine: Machine, rule: int, first_only: bool, nodes: IntArray) -> bool:
    """Grow literally (Fig. 8 of Linnert et al. 2024) from the free nodes by id, or from the first only."""
    lattice, free, paths, blocks = machine.lattice, machine.free, machine.paths, machine.blocks
    stored = min(len(nodes), paths.shape[1])
    sizes = machine.lengths  # never read, but sets the type of the variable for numba
    if rule != LITERAL:
        sizes = component_sizes(lattice.offsets, lattice.neighbours, free)
    for seed in range(len(free)):
        if not free[seed]:
            continue
        if rule == LITERAL:
            is_blocked = blocks[seed] < stored and not free[paths[seed, blocks[seed]]]
            if not is_blocked and _follow(machine, seed, nodes):
                return True
        elif sizes[seed] >= len(nodes):
            nodes[0] = seed
            if grow_together(lattice, free, rule == LITERAL_EXACT, nodes):
                return True
        if first_only:
            return False
    return False


@allocating_kernel
def choose(machine: Machine, rule: int, first_only: bool, words: WordArray, nodes: IntArray) -> bool:
    """Fill `nodes` by a rule from the free nodes, of which there are enough; False if the rule finds none."""
    if rule == ANY:
        _first_bits(words, machine.node_of, nodes)
        return True
    if rule == RUN:
        bit = _first_run(words, len(nodes))
        if bit < 0:
            return False
        for k in range(len(nodes)):
            nodes[k] = machine.node_of[bit + k]
        return True
    write_free(machine, words)
    if rule != GROWTH:
        return _literal(machine, rule, first_only, nodes)
    lattice, free = machine.lattice, machine.free
    if not first_only:
        return grow_first(lattice, free, nodes)
    seed = 0
    while not free[seed]:
        seed += 1
    if component_sizes(lattice.offsets, lattice.neighbours, free)[seed] < len(nodes):
        return False
    nodes[0] = seed
    grow(lattice, free, nodes, MAX_INTEGER)
    return True


@kernel
def has_shape(machine: Machine, shape: int, nodes: IntArray) -> bool:
    """Return whether nodes have a shape; the mask of free nodes is overwritten."""
    if shape == CONNECTED:
        machine.free[:] = False
        for node in nodes:
            machine.free[node] = True
        lattice = machine.lattice
        return len(spread(lattice, machine.free, nodes, 0, len(nodes), True)) == len(nodes)
    if shape == ON_CURVE:
        first, last = len(machine.places), -1
        for node in nodes:
            first, last = min(first, machine.places[node]), max(last, machine.places[node])
        return last - first + 1 == len(nodes)
    return True


#: A function from a topology, the mask of free nodes and a number of nodes to the nodes taken, or to None.
Allocator: TypeAlias = Callable[[Topology, BoolArray, int], IntArray | None]


class Rule(NamedTuple):
    """A rule by its code for kernels; a rule with an allocator calls a function in Python instead."""

    number: int
    #: Whether growth starts from the first free node only.
    first_only: bool = False
    allocate: Allocator | None = None


def _town(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
    """Return the cheapest growth from all free nodes."""
    return growth(topology, free, size, seeds="all")


#: The rules by name.
_RULES: Final[dict[str, Rule]] = {
    "hilbert": Rule(RUN),
    "any": Rule(ANY),
    "count": Rule(COUNT_ONLY),
    "growth": Rule(GROWTH),
    "growth-one": Rule(GROWTH, first_only=True),
    "literal": Rule(LITERAL),
    "literal-one": Rule(LITERAL, first_only=True),
    "literal-set": Rule(LITERAL_SET),
    "literal-set-one": Rule(LITERAL_SET, first_only=True),
    "literal-exact": Rule(LITERAL_EXACT),
    "literal-exact-one": Rule(LITERAL_EXACT, first_only=True),
    "town": Rule(ANY, allocate=_town),
    "manhattan-median": Rule(ANY, allocate=manhattan_median),
}

#: The names of rules; `allocsolve.heuristics.admit` describes them.
ALLOCATORS: Final = tuple(_RULES)


def rule_of(allocator: str | Allocator) -> Rule:
    """Return the rule of a name, or the rule that calls a function."""
    if callable(allocator):
        return Rule(ANY, allocate=allocator)
    return _RULES[choice("allocator", allocator, ALLOCATORS)]
