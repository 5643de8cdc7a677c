"""The tables of the tree knapsack: how they are laid out, filled, and read back.

A table holds, for each number of nodes below a switch or a part of its children, the least charges of the
links and switches there. Numbers of nodes are counted in *units*, as segments and balance want multiples.
"""
# Kernels take their arguments by position, and each is a single loop or a pass over all tables.

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray

#: Kinds of tables: equal leaf switches, filled by their free nodes, largest first; two tables merged; one
#: table of which every `factor`-th entry is kept.
BUNDLE: Final = 0
MERGE: Final = 1
ONE: Final = 2
#: The charge of what is not allowed: the sum of two is no overflow.
NEVER: Final = 2**61
#: Columns of coefficients: for a half hop, for a touched switch of level 1, 2 and 3, for a node left over.
HALF_HOP: Final = 0
LEFTOVER: Final = 4
NUM_COEFFICIENTS: Final = 5
#: The highest level whose switches may be charged for.
_TOP_DOMAIN: Final = 3


class Switches(NamedTuple):
    """The switches, and what may be chosen below each; all arrays have shape (switches,) but `begins`."""

    parent: IntArray
    level: IntArray
    weight: IntArray  #: half hops of the link to the parent
    capacity: IntArray  #: of the link to the parent
    top_down: IntArray
    order: IntArray  #: all switches, those with the same parent side by side, equal leaf switches too
    begins: IntArray  #: where the children of each switch begin in `order`; shape (switches + 1,)
    free: IntArray  #: free nodes of each leaf switch
    unit: IntArray  #: the number of nodes in a unit at the table of each switch
    factor: IntArray  #: how many units of its children make a unit of a switch
    is_top: BoolArray  #: whether all nodes may be chosen below this switch; never one above another
    most: IntArray  #: the most units below each switch
    rising: BoolArray  #: of a leaf switch: whether all numbers of units up to the most are allowed


class Tables(NamedTuple):
    """The tables, each after those that it is made from; all arrays have shape (any,)."""

    kind: IntArray
    left: IntArray  #: of `MERGE` and `ONE` a table, of `BUNDLE` the first place in the order of switches
    right: IntArray  #: of `MERGE` a table, of `BUNDLE` the first place after its last one
    switch: IntArray  #: the switch that is charged for once the table is complete, or -1
    most: IntArray  #: units that there are
    low: IntArray  #: the least and the greatest number of units that is of use for the whole
    high: IntArray
    offset: IntArray  #: where the table begins in the memory
    root: IntArray  #: the table of each switch, or -1; shape (switches,)


class Charges(NamedTuple):
    """What is to be paid for, by words of 64 bits, the first of which counts first."""

    size: int
    limit: float  #: the largest load of a link that is allowed
    coefficients: IntArray  #: shape (words, coefficients)


@inner_kernel
def _is_allowed(switches: Switches, charges: Charges, switch: int, nodes: int) -> bool:
    """Return whether the link of a switch may have so many nodes below it."""
    load: float = nodes * (charges.size - nodes) / switches.capacity[switch]
    return load <= charges.limit


@kernel
def bound_units(switches: Switches, charges: Charges, unit: int, is_balanced: bool) -> None:
    """Write the most units below each switch, and whether those of a leaf switch are a range from 0.

    All are 0 and true before.
    If the problem is balanced, a leaf switch has 0 or `unit` nodes. O(switches + free nodes).
    """
    most, rising = switches.most, switches.rising
    for at in range(len(most) - 1, -1, -1):
        switch = switches.top_down[at]
        if switches.level[switch] == 1:
            units = switches.free[switch] // unit
            most[switch] = min(units, 1) if is_balanced else units
        most[switch] //= switches.factor[switch]
        if switches.level[switch] == 1:
            first = 1
            while first <= most[switch] and _is_allowed(
                switches, charges, switch, first * switches.unit[switch]
            ):
                first += 1
            for units in range(first + 1, most[switch] + 1):
                if _is_allowed(switches, charges, switch, units * switches.unit[switch]):
                    rising[switch] = False
            if rising[switch]:
                most[switch] = first - 1
        if switches.parent[switch] >= 0:
            most[switches.parent[switch]] += most[switch]


@inner_kernel
def _add_table(tables: Tables, count: int, kind: int, left: int, right: int, switch: int, most: int) -> int:
    """Write table `count`, and return the number of tables then."""
    tables.kind[count] = kind
    tables.left[count] = left
    tables.right[count] = right
    tables.switch[count] = switch
    tables.most[count] = most
    tables.low[count] = tables.high[count] = 0
    return count + 1


@inner_kernel
def _are_alike(switches: Switches, one: int, other: int, by_free: bool) -> bool:
    """Return whether two leaf switches below one parent have the same charge for the same nodes."""
    if switches.level[other] > 1 or not switches.rising[one] or not switches.rising[other]:
        return False
    if switches.weight[one] != switches.weight[other] or not switches.most[other]:
        return False
    alike = switches.free[one] == switches.free[other] and switches.most[one] == switches.most[other]
    return alike or not by_free


@inner_kernel
def _mark_used(switches: Switches, size: int, is_used: BoolArray) -> None:
    """Say which switches have nodes that may be chosen, below a switch with room for all."""
    for at in range(len(is_used)):
        switch = switches.top_down[at]
        if switches.is_top[switch]:
            is_used[switch] = switches.most[switch] * switches.unit[switch] >= size
        elif switches.parent[switch] >= 0:
            is_used[switch] = is_used[switches.parent[switch]] and switches.most[switch] > 0


@inner_kernel
def _lay_children(
    switches: Switches, tables: Tables, queue: IntArray, switch: int, count: int, by_free: bool
) -> tuple[int, int]:
    """Put the tables of the children of a switch into `queue`; return how many, and the number of tables."""
    order, most = switches.order, switches.most
    parts, begin, end = 0, switches.begins[switch], switches.begins[switch + 1]
    while begin < end:
        child = order[begin]
        begin += 1
        if not most[child]:
            continue
        if switches.level[child] > 1:
            queue[parts] = tables.root[child]
        else:
            first, units = begin - 1, most[child]
            while begin < end and _are_alike(switches, child, order[begin], by_free):
                units += most[order[begin]]
                begin += 1
            queue[parts] = count
            count = _add_table(tables, count, BUNDLE, first, begin, -1, units)
        parts += 1
    return parts, count


@inner_kernel
def _lay_merges(tables: Tables, queue: IntArray, parts: int, count: int) -> int:
    """Merge the first tables of `queue` in pairs until one is left; return the number of tables."""
    while parts > 1:
        half = 0
        for pair in range(0, parts - 1, 2):
            left, right = queue[pair], queue[pair + 1]
            queue[half] = count
            half += 1
            count = _add_table(tables, count, MERGE, left, right, -1, tables.most[left] + tables.most[right])
        if parts % 2:
            queue[half] = queue[parts - 1]
            half += 1
        parts = half
    return count


@inner_kernel
def _limit_tables(switches: Switches, tables: Tables, size: int, count: int) -> None:
    """Write which entries of the tables are of use: so many that the other tables have room for the rest."""
    for switch in range(len(switches.parent)):
        if switches.is_top[switch] and tables.root[switch] >= 0:
            tables.low[tables.root[switch]] = size // switches.unit[switch]
            tables.high[tables.root[switch]] = size // switches.unit[switch]
    for table in range(count - 1, -1, -1):
        left, right = tables.left[table], tables.right[table]
        low, high = tables.low[table], tables.high[table]
        if tables.kind[table] == MERGE:
            tables.low[left] = max(0, low - tables.most[right])
            tables.low[right] = max(0, low - tables.most[left])
            tables.high[left] = min(high, tables.most[left])
            tables.high[right] = min(high, tables.most[right])
        elif tables.kind[table] == ONE:
            factor = switches.factor[tables.switch[table]]
            tables.low[left] = low * factor
            tables.high[left] = high * factor
    offset = 0
    for table in range(count):
        tables.offset[table] = offset
        offset += tables.high[table] - tables.low[table] + 1
    tables.offset[count] = offset


@kernel
def lay_out(
    switches: Switches, tables: Tables, queue: IntArray, is_used: BoolArray, size: int, by_free: bool
) -> int:
    """Write which tables there are and how long, and return how many; their memory follows from `offset`.

    The root of each switch is -1 before; `queue` and `is_used`, all false, have room for all switches. If
    leftover nodes are charged for, leaf switches are alike `by_free` nodes only. Tables are merged in pairs,
    so that all together are O(nodes log nodes) long. O(switches).
    """
    count = 0
    _mark_used(switches, size, is_used)
    for at in range(len(switches.order) - 1, -1, -1):
        switch = switches.top_down[at]
        if not is_used[switch] or switches.level[switch] == 1:
            continue
        parts, count = _lay_children(switches, tables, queue, switch, count, by_free)
        count = _lay_merges(tables, queue, parts, count)
        if parts > 1 and switches.factor[switch] == 1:
            tables.switch[count - 1] = switch
        else:
            count = _add_table(tables, count, ONE, queue[0], -1, switch, switches.most[switch])
        tables.root[switch] = count - 1
    for at in range(len(switches.order)):  # leaf switches that have to hold all nodes themselves
        switch = switches.order[at]
        if switches.level[switch] == 1 and switches.is_top[switch] and is_used[switch]:
            tables.root[switch] = count
            count = _add_table(tables, count, BUNDLE, at, at + 1, -1, switches.most[switch])
    _limit_tables(switches, tables, size, count)
    return count


@inner_kernel
def _leaf_charge(switches: Switches, charges: Charges, word: int, switch: int, nodes: int) -> int:
    """Return a word of the charge for nodes of a leaf switch."""
    if nodes == 0:
        return 0
    if not _is_allowed(switches, charges, switch, nodes):
        return NEVER
    prices = charges.coefficients[word]
    crossing = nodes * (charges.size - nodes)
    charge: int = prices[HALF_HOP] * switches.weight[switch] * crossing + prices[1]
    return charge + prices[LEFTOVER] * (switches.free[switch] - nodes)  # type: ignore[no-any-return]  # an integer


@inner_kernel
def _fill_bundle(
    switches: Switches, tables: Tables, charges: Charges, memory: IntArray, table: int, word: int
) -> None:
    """Fill leaf switches by their free nodes, largest first: the best for a concave charge, the same for all.

    The numbers of nodes majorise all others with the same sum. O(units + leaf switches).
    """
    low, high, at = tables.low[table], tables.high[table], tables.left[table]
    full, done = 0, 0  # the charge and the units of the switches that are used up
    entry = tables.offset[table] - low
    for units in range(high + 1):
        switch = switches.order[at]
        if units > done + switches.most[switch]:
            full += _leaf_charge(
                switches, charges, word, switch, switches.most[switch] * switches.unit[switch]
            )
            done += switches.most[switch]
            at += 1
            switch = switches.order[at]
        if units >= low:
            own = _leaf_charge(switches, charges, word, switch, (units - done) * switches.unit[switch])
            memory[word, entry + units] = min(full + own, NEVER)


@inner_kernel
def _charge_switch(
    switches: Switches, tables: Tables, charges: Charges, memory: IntArray, table: int, word: int
) -> None:
    """Add what the switch of a table and its link cost."""
    switch, low = tables.switch[table], tables.low[table]
    prices, touched = charges.coefficients[word], 0
    if switches.level[switch] <= _TOP_DOMAIN:
        touched = prices[switches.level[switch]]
    half_hop = prices[HALF_HOP] * switches.weight[switch]
    for units in range(max(low, 1), tables.high[table] + 1):
        entry, nodes = tables.offset[table] + units - low, units * switches.unit[switch]
        if not _is_allowed(switches, charges, switch, nodes):
            memory[word, entry] = NEVER
        elif memory[word, entry] < NEVER:
            memory[word, entry] += half_hop * nodes * (charges.size - nodes) + touched


@inner_kernel
def _merge_row(target: IntArray, source: IntArray, charge: int) -> None:
    """Take the lesser of each entry and that of the source plus a charge."""
    for at in range(len(source)):
        target[at] = min(target[at], source[at] + charge)


@inner_kernel
def _merge_row_of_words(memory: IntArray, target: int, source: int, length: int, row: int) -> None:
    """Take the lesser of each entry and that of the source plus the charges at `row`, word by word."""
    words = len(memory)
    for at in range(length):
        if memory[0, source + at] >= NEVER:
            continue
        for word in range(words):
            new = memory[word, source + at] + memory[word, row]
            old = memory[word, target + at]
            if new > old:
                break
            if new < old:
                for later in range(words):
                    memory[later, target + at] = memory[later, source + at] + memory[later, row]
                break


@inner_kernel
def _merge(tables: Tables, memory: IntArray, table: int, row: int, work: int) -> tuple[int, int]:
    """Merge two tables from a row of the shorter one on; return the next row and the work that is left.

    The row is -1 when all are done. Each row adds one entry to all of the longer table.
    """
    left, right, low, high = tables.left[table], tables.right[table], tables.low[table], tables.high[table]
    if tables.high[right] - tables.low[right] > tables.high[left] - tables.low[left]:
        left, right = right, left
    begin = tables.offset[table]
    here, there = tables.offset[left] - tables.low[left], tables.offset[right] - tables.low[right]
    if row == 0:
        for word in range(len(memory)):
            for entry in range(begin, begin + high - low + 1):
                memory[word, entry] = NEVER
    for units in range(tables.low[right] + row, tables.high[right] + 1):
        if work <= 0:
            return units - tables.low[right], work
        first = max(tables.low[left], low - units)
        length = min(tables.high[left], high - units) - first + 1
        if memory[0, there + units] >= NEVER or length <= 0:
            continue
        work -= length
        target, source = begin + first + units - low, here + first
        if len(memory) == 1:
            _merge_row(
                memory[0, target : target + length],
                memory[0, source : source + length],
                memory[0, there + units],
            )
        else:
            _merge_row_of_words(memory, target, source, length, there + units)
    return -1, work


@kernel
def fill(
    switches: Switches, tables: Tables, charges: Charges, memory: IntArray, state: IntArray, work: int
) -> None:
    """Fill the tables until so many steps are done.

    `state` says from which table and which of its rows on, and how many tables there are; the first two are
    written, and the first is the last when all is done. O(work).
    """
    words = len(memory)
    while state[0] < state[2] and work > 0:
        table = state[0]
        left, low, high = tables.left[table], tables.low[table], tables.high[table]
        begin = tables.offset[table]
        if tables.kind[table] == BUNDLE:
            for word in range(words):
                _fill_bundle(switches, tables, charges, memory, table, word)
        elif tables.kind[table] == ONE:
            factor = switches.factor[tables.switch[table]]
            for word in range(words):
                for units in range(low, high + 1):
                    kept = tables.offset[left] + units * factor - tables.low[left]
                    memory[word, begin + units - low] = memory[word, kept]
        else:
            state[1], work = _merge(tables, memory, table, state[1], work)
            if state[1] >= 0:
                return
        if tables.switch[table] >= 0:
            for word in range(words):
                _charge_switch(switches, tables, charges, memory, table, word)
        work -= high - low + 1
        state[0] += 1
        state[1] = 0


@inner_kernel
def _best_split(tables: Tables, memory: IntArray, table: int, units: int) -> int:
    """Return how many units the left part of a merged table has in the best split of `units`."""
    left, right = tables.left[table], tables.right[table]
    here, there = tables.offset[left] - tables.low[left], tables.offset[right] - tables.low[right]
    first = max(tables.low[left], units - tables.high[right])
    best = -1
    for part in range(first, min(tables.high[left], units - tables.low[right]) + 1):
        if memory[0, here + part] >= NEVER or memory[0, there + units - part] >= NEVER:
            continue
        if best < 0:
            best = part
            continue
        for word in range(len(memory)):
            new = memory[word, here + part] + memory[word, there + units - part]
            old = memory[word, here + best] + memory[word, there + units - best]
            if new < old:
                best = part
            if new != old:
                break
    return best


@kernel
def read_back(
    switches: Switches, tables: Tables, memory: IntArray, table: int, units: IntArray, counts: IntArray
) -> None:
    """Write into `counts` how many nodes of each leaf switch the best choice of a table has.

    Before, they are 0; `units` holds the number of units to choose at `table`, and -1 for those before it.
    Without memory the left part of each split has as much as it holds. O(units * levels).
    """
    for at in range(table, -1, -1):
        left, right = tables.left[at], tables.right[at]
        if units[at] < 0:
            continue
        if tables.kind[at] == MERGE:
            part = min(units[at], tables.most[left])
            if len(memory):
                part = _best_split(tables, memory, at, units[at])
            units[left], units[right] = part, units[at] - part
        elif tables.kind[at] == ONE:
            units[left] = units[at] * switches.factor[tables.switch[at]]
        else:
            rest = units[at]
            for place in range(left, right):
                switch = switches.order[place]
                part = min(rest, switches.most[switch])
                counts[switch] = part * switches.unit[switch]
                rest -= part


@kernel
def take_nodes(switch: IntArray, free: BoolArray, counts: IntArray, nodes: IntArray) -> None:
    """Write the first free nodes of each leaf switch, as many as `counts` says, which then holds zeros.

    O(nodes).
    """
    taken = 0
    for node in range(len(switch)):
        if free[node] and counts[switch[node]] > 0:
            counts[switch[node]] -= 1
            nodes[taken] = node
            taken += 1
