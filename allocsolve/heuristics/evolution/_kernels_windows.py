"""Kernels that place one application on a resource profile in leaves, with the index of window peaks.

The least feasible vector of step starts is the least fixpoint of operators that only raise bounds (see
`_kernels_fit` beside this module), so they may come in any order. Here they are windows: a table of
(variable, offset, capacity, duration), each of which says that from ``starts[variable] + offset`` on at most
`capacity` nodes may be busy for `duration` seconds. An unexpanded application has one variable, its start;
otherwise there is one for each step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics.evolution._kernels_leaves import STALE, Tree, first_busy, first_free, last_busy
from allocsolve.heuristics.evolution._kernels_peaks import class_of, next_leaf, repair, rules_out
from allocsolve.kernels.jit import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["TABLE_COLUMNS", "compact_in", "place_in"]

#: Columns of the table of windows. EXACT is 0 for a composite, which only the index tests. VERIFIED is the
#: time at which the window was last found free, FIRST the first leaf that the index allows. Column RANK has
#: nothing to do with the row: there stands the row of the window of this rank.
VARIABLE, OFFSET, CAPACITY, DURATION, CLASS, EXACT, VERIFIED, FIRST, RANK = range(9)
TABLE_COLUMNS = 9


@inner_kernel
def _fill(row: IntArray, variable: int, offset: int, capacity: int, duration: int) -> None:
    row[VARIABLE] = variable
    row[OFFSET] = offset
    row[CAPACITY] = capacity
    row[DURATION] = duration
    row[EXACT] = 1
    row[VERIFIED] = -1


@inner_kernel
def _windows(durations: IntArray, nodes: IntArray, num_nodes: int, elastic: bool, table: IntArray) -> int:
    """Fill the table; return the number of windows, at most three per step.

    However the steps are stretched, a run of them holds its least nodes from ``durations[i]`` before step
    i + 1 on, for the sum of its durations. A composite is the longest run on at least the nodes of a step.
    """
    num_steps = len(durations)
    count = 0
    begin = 0  # of step i, from the first step on
    for i in range(num_steps):
        free = num_nodes - nodes[i]
        if i > 0 or not elastic:
            _fill(table[count], i if elastic else 0, 0 if elastic else begin, free, durations[i])
            count += 1
        if elastic and i + 1 < num_steps:  # what step i holds when step i + 1 begins
            _fill(table[count], i + 1, -durations[i], free, durations[i])
            count += 1
        left = i
        offset = begin
        while left > 0 and nodes[left - 1] > nodes[i]:  # of equal ones, the first stands for all
            left -= 1
            offset -= durations[left]
        right = i + 1
        length = begin + durations[i] - offset
        while right < num_steps and nodes[right] >= nodes[i]:
            length += durations[right]
            right += 1
        if right - left > 1 and (left == 0 or nodes[left - 1] < nodes[i]):
            _fill(
                table[count],
                left + 1 if elastic else 0,
                -durations[left] if elastic else offset,
                free,
                length,
            )
            table[count, EXACT] = 0
            count += 1
        begin += durations[i]
    return count


@inner_kernel
def _raise(starts: IntArray, variable: int, value: int, durations: IntArray, longest: IntArray) -> None:
    """Raise a bound, and the bounds of the other steps as far as durations and limits ask for it."""
    starts[variable] = value
    for i in range(variable + 1, len(starts)):
        least = starts[i - 1] + durations[i - 1]
        if starts[i] >= least:
            break
        starts[i] = least
    for i in range(variable - 1, -1, -1):
        least = starts[i + 1] - (longest[i] if i > 0 else durations[0])
        if starts[i] >= least:
            break
        starts[i] = least


@inner_kernel
def _ranked(
    tree: Tree, table: IntArray, count: int, starts: IntArray, durations: IntArray, longest: IntArray
) -> None:
    """Raise the bounds to what the index says and rank the windows by it, the latest first."""
    for c in range(count):
        table[c, CLASS] = class_of(tree, table[c, DURATION])
        at = starts[table[c, VARIABLE]] + table[c, OFFSET]
        leaf = (at - tree.origin) >> tree.shift
        first = next_leaf(tree, leaf, table[c, CLASS], table[c, CAPACITY])
        table[c, FIRST] = first
        if first > leaf:
            value = tree.origin + (first << tree.shift) - table[c, OFFSET]
            _raise(starts, table[c, VARIABLE], value, durations, longest)
        k = c
        while k > 0 and table[table[k - 1, RANK], FIRST] < first:
            table[k, RANK] = table[k - 1, RANK]
            k -= 1
        table[k, RANK] = c


@inner_kernel
def _ruled_out(tree: Tree, table: IntArray, count: int, starts: IntArray) -> int:
    """Return a window that the index rules out where it is, -1 if none. Its FIRST gets the next leaf.

    A window that fails moves forward by one rank: it is likely to fail again.
    """
    k = 0
    found = -1
    while k < count and found < 0:
        c = table[k, RANK]
        leaf = (starts[table[c, VARIABLE]] + table[c, OFFSET] - tree.origin) >> tree.shift
        if rules_out(tree, leaf, table[c, CLASS], table[c, CAPACITY]):
            table[c, FIRST] = next_leaf(tree, leaf + 1, table[c, CLASS], table[c, CAPACITY])
            if k > 0:
                table[k, RANK] = table[k - 1, RANK]
                table[k - 1, RANK] = c
            found = c
        k += 1
    return found


@inner_kernel
def _blocked(tree: Tree, table: IntArray, count: int, starts: IntArray) -> int:
    """Return a window that is not free where it is, -1 if all are. Its VERIFIED says where to look next.

    Looks at one leaf for each window.
    """
    k = 0
    found = -1
    while k < count and found < 0:
        c = table[k, RANK]
        at = starts[table[c, VARIABLE]] + table[c, OFFSET]
        if table[c, EXACT] and table[c, VERIFIED] != at:
            table[c, VERIFIED] = first_free(tree, at, table[c, DURATION], table[c, CAPACITY])
            if table[c, VERIFIED] > at:
                found = c
        k += 1
    return found


@inner_kernel
def _hold(
    tree: Tree,
    starts: IntArray,
    durations: IntArray,
    longest: IntArray,
    nodes: IntArray,
    num_nodes: int,
    held: IntArray,
) -> bool:
    """Raise the bounds of steps that cannot hold their nodes until the next begins; tell whether any was.

    Goes once from the last step to the first. The windows at both ends of a step cover what it holds if that
    is at most twice its duration. Up to ``held[i]`` its nodes were found free: bounds only rise.
    """
    raised = False
    for i in range(len(starts) - 2, 0, -1):
        end = starts[i + 1]
        if end - starts[i] > 2 * durations[i]:
            to = last_busy(tree, max(starts[i], held[i]), end, num_nodes - nodes[i])
            held[i] = end
            if to >= 0:
                _raise(starts, i, to, durations, longest)
                raised = True
    return raised


@inner_kernel
def place_in(
    tree: Tree,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    num_nodes: int,
    earliest: int,
    starts: IntArray,
    table: IntArray,
    work: IntArray,
) -> None:
    """Write the least feasible vector into `starts`, as `_kernels_fit.place` does.

    Parameters
    ----------
    tree
        Must reach beyond its last busy second and beyond `earliest`, each plus the sum of the durations.
    table
        Shape (>= 3 * steps, `TABLE_COLUMNS`), work space.
    work
        Shape (2, >= steps and >= classes), work space.
    """
    num_steps = len(durations)
    starts[0] = earliest
    for i in range(1, num_steps):
        starts[i] = starts[i - 1] + durations[i - 1]
    elastic = _is_elastic(durations, max_durations)
    variables = starts if elastic else starts[:1]
    count = _windows(durations, nodes, num_nodes, elastic, table)
    _ranked(tree, table, count, variables, durations, max_durations)
    work[0] = -1
    while True:
        c = _ruled_out(tree, table, count, variables)
        if c >= 0:
            to = tree.origin + (table[c, FIRST] << tree.shift)
        elif elastic and _hold(tree, starts, durations, max_durations, nodes, num_nodes, work[0]):
            continue
        else:
            c = _blocked(tree, table, count, variables)
            if c < 0:
                break
            to = table[c, VERIFIED]
            leaf = (variables[table[c, VARIABLE]] + table[c, OFFSET] - tree.origin) >> tree.shift
            if (to - tree.origin) >> tree.shift > leaf:
                table[c, VERIFIED] = -1
                if tree.leaves[leaf, STALE]:
                    repair(tree, leaf, work[1, : len(tree.classes)])
        _raise(variables, table[c, VARIABLE], to - table[c, OFFSET], durations, max_durations)
    for i in range(1, num_steps):
        starts[i] = max(starts[i], starts[i - 1] + durations[i - 1])


@inner_kernel
def _is_elastic(durations: IntArray, max_durations: IntArray) -> bool:
    """Tell whether any step may be stretched; the first and the last never are."""
    elastic = False
    for i in range(1, len(durations) - 1):
        elastic = elastic or max_durations[i] > durations[i]
    return elastic


@inner_kernel
def compact_in(
    tree: Tree,
    durations: IntArray,
    nodes: IntArray,
    max_durations: IntArray,
    num_nodes: int,
    completion: int,
    starts: IntArray,
) -> bool:
    """Write the greatest feasible vector that ends at `completion` into `starts`.

    As `allocsolve.heuristics.evolution._kernels_fit.compact`, whose least time is the origin here.
    """
    num_steps = len(durations)
    end = completion
    for i in range(num_steps - 1, -1, -1):
        end -= durations[i]
        starts[i] = end
    i = num_steps - 1
    while i >= 0:
        last = i == num_steps - 1
        end = completion if last else starts[i + 1]
        starts[i] = min(starts[i], end - durations[i])
        if starts[i] < tree.origin:
            return False
        if end - starts[i] > (durations[i] if last else max_durations[i]):
            lowered = starts[i] + max_durations[i]
        else:
            lowered = first_busy(tree, starts[i], end, num_nodes - nodes[i])
        if lowered >= 0:
            if last:
                return False
            i += 1
            starts[i] = lowered
        else:
            i -= 1
    return True
