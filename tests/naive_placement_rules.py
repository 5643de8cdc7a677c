"""Slow, obvious twins of the rules of placement: lists of nodes, ways through the tree, no arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import BoolArray, SwitchTree


class Machine:
    """A tree with its free nodes, which are taken one after the other."""

    def __init__(self, tree: SwitchTree, free: BoolArray) -> None:
        self.tree = tree
        self.free = [node for node in range(tree.num_nodes) if free[node]]

    def way(self, switch: int) -> list[int]:
        """The switch and those above it."""
        way = [switch]
        while self.tree.parent[way[-1]] >= 0:
            way.append(int(self.tree.parent[way[-1]]))
        return way

    def children(self, switch: int) -> list[int]:
        return [other for other in range(self.tree.num_switches) if self.tree.parent[other] == switch]

    def below(self, switch: int) -> list[int]:
        """The free nodes below a switch."""
        return [node for node in self.free if switch in self.way(int(self.tree.switch[node]))]

    def count(self, switch: int) -> int:
        return len(self.below(switch))

    def total(self, switch: int) -> int:
        """All nodes below a switch."""
        return sum(switch in self.way(int(own)) for own in self.tree.switch)

    def racks(self) -> list[int]:
        return [switch for switch in range(self.tree.num_switches) if self.tree.level[switch] == 1]

    def domain(self, switch: int, level: int) -> int:
        return [above for above in self.way(switch) if self.tree.level[above] <= level][-1]

    def domains(self, level: int) -> list[int]:
        return sorted({self.domain(rack, level) for rack in self.racks()})

    def links(self, one: int, other: int) -> float:
        """Links between two switches."""
        way, other_way = self.way(one), self.way(other)
        common = [switch for switch in way if switch in other_way]
        return way.index(common[0]) + other_way.index(common[0]) if common else math.inf

    def take(self, nodes: Sequence[int]) -> None:
        self.free = [node for node in self.free if node not in nodes]

    def fitting(self, k: int, levels: range) -> list[int]:
        """The domains of the lowest level at which there is one with k free nodes."""
        for level in levels:
            fitting = [domain for domain in self.domains(level) if self.count(domain) >= k]
            if fitting:
                return fitting
        return []


def first_free(tree: SwitchTree, free: BoolArray, k: int) -> list[int]:
    return Machine(tree, free).free[:k]


def fluxion(tree: SwitchTree, free: BoolArray, k: int, policy: str) -> list[int]:
    nodes = Machine(tree, free).free
    if policy == "low":
        return nodes[:k]
    if policy == "high":
        return nodes[len(nodes) - k :]
    runs: list[list[int]] = []
    for node in nodes:
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    return sorted([node for run in reversed(runs) for node in run][:k])


def best_fit(names: Sequence[int], count: Callable[[int], int], k: int) -> list[tuple[int, int]]:
    """Whole ones, the largest first, until one holds the rest, then the smallest that does, with shares."""
    chosen: list[tuple[int, int]] = []
    left = list(names)
    while True:
        holding = [name for name in left if count(name) >= k]
        if holding:
            return [*chosen, (min(holding, key=lambda name: (count(name), name)), k)]
        largest = min(left, key=lambda name: (-count(name), name))
        chosen.append((largest, count(largest)))
        k -= count(largest)
        left.remove(largest)


def lowest_switch(tree: SwitchTree, free: BoolArray, k: int) -> list[int] | None:
    machine = Machine(tree, free)
    fitting = machine.fitting(k, range(1, tree.height + 1))
    if not fitting:
        return None

    def below(switch: int, share: int) -> list[int]:
        children = machine.children(switch)
        if not children:
            return machine.below(switch)[:share]
        return [
            node for child, part in best_fit(children, machine.count, share) for node in below(child, part)
        ]

    return sorted(below(min(fitting, key=lambda switch: (machine.count(switch), switch)), k))


class Leaves:
    """What Slurm has taken below a root, leaf switch after leaf switch."""

    def __init__(self, machine: Machine, top: int, k: int) -> None:
        self.machine = machine
        self.top = top
        self.rest = k
        self.used: list[int] = []
        self.taken: list[int] = []

    def distance(self, leaf: int) -> float:
        return sum(self.machine.links(leaf, other) for other in self.used)

    def fits_better(self, one: int, other: int) -> tuple[bool, bool]:
        """Whether a leaf switch fits better than another, and whether it fits where that is decided."""
        machine, level = self.machine, self.machine.tree.level
        for above, other_above in zip(machine.way(one), machine.way(other), strict=False):
            held, other_held = machine.count(above), machine.count(other_above)
            if held >= self.rest and other_held >= self.rest:
                # Of equal ones the lower switch fits better.
                return (held, level[above]) < (other_held, level[other_above]), True
            if held >= self.rest or other_held >= self.rest:
                return held >= self.rest, held >= self.rest
            if machine.tree.parent[above] == machine.tree.parent[other_above]:
                return (-held, level[above]) < (-other_held, level[other_above]), False
        raise AssertionError

    def next_leaf(self) -> int:
        machine = self.machine
        best, *later = (
            leaf for leaf in machine.racks() if machine.below(leaf) and self.top in machine.way(leaf)
        )
        for leaf in later:
            is_better, fits = self.fits_better(leaf, best)
            closer = self.distance(leaf) - self.distance(best)
            if (closer < 0 and fits) or (closer == 0 and is_better):
                best = leaf
        return best

    def fill(self) -> list[int]:
        while self.rest:
            leaf = self.next_leaf()
            nodes = self.machine.below(leaf)[: self.rest]
            self.used.append(leaf)
            self.taken += nodes
            self.rest -= len(nodes)
            self.machine.take(nodes)
        return sorted(self.taken)


def slurm_tree(tree: SwitchTree, free: BoolArray, k: int) -> list[int] | None:
    machine = Machine(tree, free)
    roots = [switch for switch in range(tree.num_switches) if tree.parent[switch] < 0]
    roots = [root for root in roots if machine.count(root) >= k]
    if not roots:
        return None
    return Leaves(machine, max(roots, key=lambda root: (tree.level[root], root)), k).fill()


class Blocks:
    """One attempt of Slurm on blocks: what is free, and what is found so far."""

    def __init__(self, base_blocks: list[list[int]], base: int, sizes: list[int]) -> None:
        self.base_blocks = base_blocks
        self.base = base
        self.sizes = sizes  # in base blocks
        self.found: list[int] = []

    def groups(self, size: int) -> list[list[int]]:
        """Aligned groups of so many base blocks."""
        numbers = range(len(self.base_blocks))
        return [list(numbers[first : first + size]) for first in range(0, len(numbers), size)]

    def count(self, group: list[int]) -> int:
        return sum(len(self.base_blocks[block]) for block in group)

    def size_for(self, nodes: int) -> int:
        """The smallest block for so many nodes, all base blocks if there is none."""
        enough = [size for size in self.sizes if size >= math.ceil(nodes / self.base)]
        return min(enough) if enough else len(self.base_blocks)

    def lower_for(self, nodes: int) -> int:
        """The next smaller block than that for so many nodes."""
        needed = math.ceil(nodes / self.base)
        smaller = [size for size in self.sizes if size <= 2 ** (math.ceil(math.log2(needed)) - 1)]
        return max(smaller) if smaller else 1

    def attempt(self, k: int, segment: int, consolidate: bool) -> str:
        size, lower = self.size_for(segment), self.lower_for(segment)
        most_lower = math.ceil(segment / (lower * self.base))
        heeds_lower = size != lower * most_lower
        candidates = self.groups(size)
        if consolidate:
            around = self.groups(max(self.size_for(k), size))
        for turn in range(k // segment):
            best, fewest = None, 0
            for group in candidates:
                if consolidate and turn == 0:
                    (outer,) = [outer for outer in around if group[0] in outer]
                    if self.count(outer) < k:
                        continue
                usable = self.count(group)
                if heeds_lower:
                    whole = [part for part in self.groups(lower) if part[0] in group]
                    if size == len(self.base_blocks):
                        whole = whole[: size // lower]  # a shorter last one is not counted
                    usable = sum(sorted(map(self.count, whole), reverse=True)[:most_lower])
                if usable >= segment and (best is None or self.count(group) <= fewest):
                    best, fewest = group, self.count(group)
            if best is None:
                return "refused"
            if consolidate and turn == 0:
                (outer,) = [outer for outer in around if best[0] in outer]
                candidates = [group for group in candidates if group[0] in outer]
            if not self.fill(best, segment, lower, most_lower if heeds_lower else None):
                return "stalled"
        return "chosen"

    def fill(self, group: list[int], rest: int, lower: int, most_lower: int | None) -> bool:
        before = {block // lower: 0 for block in group}
        for block in group:
            before[block // lower] += len(self.base_blocks[block])
        left, in_use = list(group), set[int]()
        while left:
            best = left[0]
            for block in left[1:]:
                if self.prefers(block, best, rest, before if most_lower is not None else None, in_use, lower):
                    best = block
            is_new = best // lower not in in_use
            if most_lower is not None and is_new and len(in_use) >= most_lower:
                return False
            left.remove(best)
            in_use.add(best // lower)
            nodes = self.base_blocks[best][:rest]
            self.base_blocks[best] = self.base_blocks[best][rest:]
            self.found += nodes
            rest -= len(nodes)
            if rest == 0:
                return True
            if not nodes:
                return False
        return False

    def prefers(
        self, block: int, best: int, rest: int, before: dict[int, int] | None, in_use: set[int], lower: int
    ) -> bool:
        """Whether a base block is preferred to the best so far; it comes later."""
        if before is not None and block // lower != best // lower:
            ours, theirs = block // lower in in_use, best // lower in in_use
            if ours != theirs:
                return ours
            held, best_held = before[block // lower], before[best // lower]
            if held != best_held:
                if held >= rest and best_held >= rest:
                    return held < best_held
                return held > best_held if max(held, best_held) < rest else held >= rest
        held, best_held = len(self.base_blocks[block]), len(self.base_blocks[best])
        if held >= rest and best_held >= rest:
            return held <= best_held
        if held < rest and best_held < rest:
            return held >= best_held
        return held >= rest


def slurm_block(
    tree: SwitchTree,
    free: BoolArray,
    k: int,
    sizes: Sequence[int] = (),
    segment: int = 0,
    *,
    consolidate: bool = False,
) -> list[int] | None:
    machine = Machine(tree, free)
    racks = machine.racks()
    first = next(machine.total(rack) for rack in racks if machine.total(rack))
    sizes = list(sizes) or [first * 2**level for level in range(5)]
    if segment > k:
        segment = 0
    if segment and k % segment:
        return None
    while True:
        blocks = Blocks(
            [machine.below(rack) for rack in racks], sizes[0], [size // sizes[0] for size in sizes]
        )
        outcome = blocks.attempt(k, segment or k, consolidate and segment > 0)
        if outcome == "chosen":
            return sorted(blocks.found)
        if outcome == "refused" or len(machine.free) <= k:
            return None
        machine.take([min(blocks.found)])


def kueue(
    tree: SwitchTree, free: BoolArray, k: int, mode: str = "best-fit", within: int = 0
) -> list[int] | None:
    machine = Machine(tree, free)
    if mode == "unconstrained":
        return machine.free[:k]
    racks = None
    if mode == "balanced" and within == 0 and tree.height > 1:
        racks = balanced_racks(machine, k)
    if racks is None:
        racks = best_fit_racks(machine, k, within)
    if racks is None:
        return None
    return [node for node in machine.free if tree.switch[node] in racks][:k]


def best_fit_racks(machine: Machine, k: int, within: int) -> list[int] | None:
    asked = min(within, machine.tree.height) or 1
    fitting = machine.fitting(k, range(asked, (asked if within else machine.tree.height) + 1))
    if not fitting:
        return None
    chosen = [min(fitting, key=lambda domain: (machine.count(domain), domain))]
    levels = range(1, machine.tree.height + 1)
    level = next(level for level in levels if level >= asked and chosen[0] in machine.domains(level))
    while level > 1:
        level -= 1
        pool = [domain for domain in machine.domains(level) if machine.domain(domain, level + 1) in chosen]
        chosen = [name for name, _ in best_fit(pool, machine.count, k)]
    return chosen


def balanced_racks(machine: Machine, k: int) -> list[int] | None:
    best: list[int] | None = None
    for pod in machine.domains(2):
        racks = [rack for rack in machine.racks() if machine.domain(rack, 2) == pod and machine.count(rack)]
        racks.sort(key=lambda rack: (-machine.count(rack), rack))
        if machine.count(pod) < k:
            continue
        needed = next(n for n in range(len(racks) + 1) if sum(map(machine.count, racks[:n])) >= k)
        if best is not None and len(best) <= needed:
            continue
        # Choices by their number and what they lack, each the first that was met.
        choices: dict[tuple[int, int], list[int]] = {(0, k): []}
        for rack in racks:
            for (number, lacking), chosen in list(choices.items()):
                if lacking > 0:
                    choices.setdefault((number + 1, lacking - machine.count(rack)), [*chosen, rack])
        lacking = max(lacking for number, lacking in choices if number == needed and lacking <= 0)
        best = choices[needed, lacking]
        # How many nodes so many racks can have, over all choices of them: many choices have as many.
        held = {(0, 0)}
        for rack in racks:
            held |= {(number + 1, nodes + machine.count(rack)) for number, nodes in held}
        assert -lacking == min(nodes - k for number, nodes in held if number == needed and nodes >= k)
    return best


def kai(tree: SwitchTree, free: BoolArray, k: int) -> list[int] | None:
    machine = Machine(tree, free)
    fitting = machine.fitting(k, range(1, tree.height + 1))
    if not fitting:
        return None

    def in_order(switches: Sequence[int]) -> list[int]:
        """All switches at and below these, in the order of the sorted tree."""
        ordered: list[int] = []
        for switch in sorted(switches, key=lambda switch: (machine.count(switch), switch)):
            ordered += [switch, *in_order(machine.children(switch))]
        return ordered

    ordered = in_order([switch for switch in range(tree.num_switches) if tree.parent[switch] < 0])
    domain = next(switch for switch in ordered if switch in fitting)
    racks = [switch for switch in ordered if tree.level[switch] == 1 and machine.total(switch)]
    score = {rack: 10 * (place + 1) // len(racks) for place, rack in enumerate(racks)}
    nodes = sorted(machine.below(domain), key=lambda node: (-score[int(tree.switch[node])], node))
    return sorted(nodes[:k])


def volcano(tree: SwitchTree, free: BoolArray, k: int, seed: int) -> list[int] | None:
    machine = Machine(tree, free)
    random = np.random.default_rng(seed)
    fitting = machine.fitting(k, range(1, tree.height + 1))
    if not fitting:
        return None

    def equally_busy(one: int, other: int) -> bool:
        return (machine.count(one) - k) * machine.total(other) == (machine.count(other) - k) * machine.total(
            one
        )

    best = min(fitting, key=lambda domain: (machine.count(domain) - k) / machine.total(domain))
    reached = int(random.choice([domain for domain in fitting if equally_busy(domain, best)]))
    draws = random.random(k)
    taken: list[int] = []
    for draw in draws:
        reached = next(switch for switch in machine.way(reached) if machine.below(switch))
        alike = sorted(int(tree.switch[node]) for node in machine.below(reached))
        rack = alike[int(draw * len(alike))]
        reached = reached if taken else rack
        nodes = machine.below(rack)[: k - len(taken)]
        taken += nodes
        machine.take(nodes)
        if len(taken) == k:
            break
    return sorted(taken)


def spur(tree: SwitchTree, free: BoolArray, k: int) -> list[int] | None:
    machine = Machine(tree, free)
    largest = min(machine.racks(), key=lambda rack: (-machine.count(rack), rack))
    near = [rack for rack in machine.racks() if machine.links(largest, rack) < math.inf]
    near.sort(key=lambda rack: (machine.links(largest, rack), -machine.count(rack), rack))
    nodes = [node for rack in near for node in machine.below(rack)]
    return sorted(nodes[:k]) if len(nodes) >= k else None


def pbs_placement(tree: SwitchTree, free: BoolArray, k: int, wait: bool) -> list[int] | None:
    machine = Machine(tree, free)
    in_list = sorted(
        range(tree.num_switches),
        key=lambda switch: (machine.total(switch), machine.count(switch), -tree.level[switch], switch),
    )
    sets = [switch for switch in in_list if tree.parent[switch] >= 0]
    for switch in sets:
        if machine.count(switch) >= k:
            return machine.below(switch)[:k]
    if wait and any(machine.total(switch) >= k for switch in sets):
        return None
    for root in in_list:
        if tree.parent[root] < 0 and machine.count(root) >= k:
            return machine.below(root)[:k]
    return None
