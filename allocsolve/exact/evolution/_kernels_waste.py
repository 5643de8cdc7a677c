"""The budget for waste: what follows from the time that is left over for expansion, with explanations.

A schedule that ends by T holds at most N * (T - r) node-seconds, where N is the number of nodes and r the
least release. The steps need `area` of them; while a step is expanded, its nodes are held for nothing. So
over all steps the number of nodes times the seconds of expansion adds up to at most N * (T - r) - area, the
*budget*. The seconds of a step are a difference of two points: the budget is one linear inequality with
coefficients above 0 over arcs. Without expansion it says nothing that the horizon does not say.

The checker of learned clauses derives the same raises by itself, since the budget follows from the problem
and the horizon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.exact.evolution._kernels_closure import (
    CULPRIT,
    NEW,
    OLD,
    PREVIOUS,
    TRAIL,
    WASTE_REASON,
    raise_arc,
)
from allocsolve.exact.evolution._kernels_offsets import Engine, arcs_of
from allocsolve.exact.evolution._kernels_sum import (
    CONFLICT,
    QUIET,
    RAISED,
    write_culprit,
)
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray


class WasteLimit(NamedTuple):
    """The steps that may be expanded, and the budget for their waste."""

    #: For each such step the arc between its segment and the next, its least value, and its nodes.
    arcs: IntArray
    least: IntArray
    nodes: IntArray
    #: The budget in node-seconds; shape (1,).
    budget: IntArray
    #: Work space of explanations: the value of each of these arcs, and its trail entry.
    values: IntArray
    entries: IntArray


@inner_kernel
def _waste(e: Engine, w: WasteLimit) -> int:
    """Return the least waste that the values of the arcs leave possible. O(expandable steps)."""
    total = 0
    for step in range(len(w.arcs)):
        total += w.nodes[step] * (e.values[w.arcs[step]] - w.least[step])
    return total


@inner_kernel
def explain_waste(e: Engine, w: WasteLimit, entry: int, own: int, own_value: int) -> int:
    """Write premises from before `entry` that exceed the budget if `own` has `own_value`.

    `own` is an arc, -1 for none. Returns the number of premises. They are weakened, the latest first, to
    values that they had earlier, as far as the surplus over the budget lasts; what is left of it lowers
    values further. O(expandable steps^2 + trail entries of their arcs).
    """
    trail, ground, values, entries = e.trail, e.ground, w.values, w.entries
    surplus = -w.budget[0] - 1
    for step in range(len(w.arcs)):
        arc = w.arcs[step]
        at = e.latest[arc]
        while at >= entry:
            at = trail[at, PREVIOUS]
        entries[step] = at
        values[step] = trail[at, NEW] if at >= 0 else ground[arc]
        counted = values[step]
        if arc == own:
            entries[step], values[step], counted = -1, ground[arc], own_value
        surplus += w.nodes[step] * (counted - w.least[step])
    if surplus < 0:
        raise AssertionError("the explanation of a budget does not hold")
    while True:
        best, latest = -1, -1
        for step in range(len(w.arcs)):
            if entries[step] > latest:
                best, latest = step, entries[step]
        if best < 0:
            break
        entries[best] = -1
        value, nodes = values[best], w.nodes[best]
        while latest >= 0 and nodes * (value - trail[latest, OLD]) <= surplus:
            surplus -= nodes * (value - trail[latest, OLD])
            value = trail[latest, OLD]
            latest = trail[latest, PREVIOUS]
        values[best] = value
    count = 0
    for step in range(len(w.arcs)):
        arc, nodes = w.arcs[step], w.nodes[step]
        if values[step] > ground[arc]:
            less = min(surplus // nodes, values[step] - ground[arc] - 1)
            surplus -= less * nodes
            e.premise_arcs[count], e.premise_values[count] = arc, values[step] - less
            count += 1
    return count


@inner_kernel
def hold_waste(e: Engine, w: WasteLimit, n: int) -> int:
    """Raise what follows from the budget when all else is propagated; see the module.

    A step may be expanded only so long that the waste of all steps stays within the budget. The results are
    those of `hold_sum`. O(expandable steps), and what each raise costs.
    """
    state = e.state
    left = w.budget[0] - _waste(e, w)
    if left < 0:
        return write_culprit(e, explain_waste(e, w, state[TRAIL], -1, 0))
    if 4 * state[TRAIL] > 3 * len(e.trail):
        return QUIET
    arcs = arcs_of(e)
    outcome = QUIET
    for step in range(len(w.arcs)):
        arc = w.arcs[step]
        reverse = e.reverses[arc]
        most = e.values[arc] + left // w.nodes[step]
        if -most > e.values[reverse]:
            outcome = RAISED
            if raise_arc(arcs, n, reverse, -most, WASTE_REASON):
                state[CULPRIT] = -1
                return CONFLICT
    return outcome
