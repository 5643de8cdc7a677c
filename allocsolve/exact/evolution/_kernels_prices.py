"""What steps pay: how long it takes to pay for the steps before and after a step, with explanations.

Steps have prices per second, such that steps which are held at the same time pay at most so much together,
the *most*; see `allocsolve.bounds.configuration_lp`. So in a *window*, a time that is not shorter than its
length l, steps pay at most l times the most. The windows are the time from the least release to the horizon,
those from the least release to the end of each step with a price, and from the start of each one to the
horizon. A step that is held for h seconds, of which at most c lie behind that end, or before that start, is
held within it for h - c seconds. In a shorter time it is held for no longer than that. What is lost is not
paid either; see `_kernels_idle`. While all that is too much, the window is longer than l.

The checker of learned clauses derives the same raises by itself, from the prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.exact.evolution._kernels_closure import (
    ARC,
    CULPRIT,
    OLD,
    TRAIL,
    before_hole,
    raise_arc,
)
from allocsolve.exact.evolution._kernels_idle import (
    DELAY,
    END,
    END_DELAY,
    PRICE,
    START,
    PriceLimit,
    alone,
    apart,
    find_beside,
    find_inside,
    lost,
    overlap,
)
from allocsolve.exact.evolution._kernels_offsets import Engine, arcs_of
from allocsolve.exact.evolution._kernels_sum import CONFLICT, QUIET, RAISED, write_culprit
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray


@inner_kernel
def _paid(p: PriceLimit, length: int) -> int:
    """Return what steps pay in a window of so many seconds."""
    paid = 0
    for step in range(len(p.steps)):
        paid += p.steps[step, PRICE] * min(p.inside[step], length)
    return paid


@inner_kernel
def hold_prices(e: Engine, p: PriceLimit, n: int, first_reason: int) -> int:
    """Raise what follows from the prices when all else is propagated; see the module.

    The reason of a raise by window w is `first_reason` - w. The results are those of `hold_sum`.
    O(windows * steps^2), and what each raise costs.
    """
    values, state = e.values, e.state
    if 4 * state[TRAIL] > 3 * len(e.trail):
        return QUIET
    arcs = arcs_of(e)
    most = p.most[0]
    outcome = QUIET
    find_beside(p, n, values, e.ground)
    for window in range(len(p.windows)):
        start, end = p.windows[window, START], p.windows[window, END]
        delay, end_delay = p.windows[window, DELAY], p.windows[window, END_DELAY]
        arc = start * n + end
        length = values[arc] + end_delay - delay
        if length < 1:
            continue
        find_inside(p, n, values, window)
        paid = _paid(p, length)
        unpaid = lost(p, n, values, most * length - paid + 1)
        if paid + unpaid <= most * length:
            continue
        if start == end:
            return write_culprit(e, explain_prices(e, p, n, window, state[TRAIL], 1))
        while paid + unpaid > most * length:
            length = (paid + unpaid + most - 1) // most
            paid = _paid(p, length)
        outcome = RAISED
        if raise_arc(arcs, n, arc, length + delay - end_delay, first_reason - window):
            state[CULPRIT] = -1
            return CONFLICT
    return outcome


@inner_kernel
def _premise(e: Engine, arc: int, value: int, count: int) -> int:
    """Write a premise, once an arc, unless it always holds; return the number of premises."""
    if value <= e.ground[arc]:
        return count
    for at in range(count):
        if e.premise_arcs[at] == arc:
            e.premise_values[at] = max(e.premise_values[at], value)
            return count
    e.premise_arcs[count], e.premise_values[count] = arc, value
    return count + 1


@inner_kernel
def _look_back(e: Engine, entry: int, before: IntArray) -> None:
    """Write the values that all arcs had before an entry of the trail."""
    for arc in range(len(before)):
        before[arc] = e.values[arc]
    for at in range(e.state[TRAIL] - 1, entry - 1, -1):
        before[e.trail[at, ARC]] = e.trail[at, OLD]


@inner_kernel
def explain_prices(e: Engine, p: PriceLimit, n: int, window: int, entry: int, value: int) -> int:
    """Write premises from before `entry` with which the arc of a window has `value`; return their number.

    Steps that lose or pay little are left out, as far as the surplus lasts; what is left of it lets others
    overlap, and shortens them. O(trail entries behind + steps^2).
    """
    steps, inside, chosen, before = p.steps, p.inside, p.chosen, p.before
    arc = p.windows[window, START] * n + p.windows[window, END]
    more = p.windows[window, END_DELAY] - p.windows[window, DELAY]
    most = p.most[0]
    _look_back(e, entry, before)
    find_beside(p, n, before, e.ground)
    find_inside(p, n, before, window)
    length = before_hole(e.hole_offsets, e.holes, arc, value) + more - 1  # it cannot be so short
    surplus = lost(p, n, before, 0) + _paid(p, length) - most * length - 1
    if surplus < 0:
        raise AssertionError("the explanation of a window does not hold")
    while True:
        least, pays = -1, surplus + 1
        for step in range(len(steps)):
            loses = (most - steps[step, PRICE]) * alone(p, step)
            if chosen[step] == 1 and loses < pays:
                least, pays = step, loses
        if least < 0:
            break
        surplus -= pays
        chosen[least] = 0
    for step in range(len(steps)):
        if steps[step, PRICE] == 0 and chosen[step] == 0:
            inside[step] = 0
    while True:
        least, pays = -1, surplus + 1
        for step in range(len(steps)):
            price = steps[step, PRICE] * min(inside[step], length)
            if inside[step] > 0 and chosen[step] == 0 and price < pays:
                least, pays = step, price
        if least < 0:
            break
        surplus -= pays
        inside[least] = 0
    count = _premise(e, arc, 1 - more, 0)
    count, surplus = _explain_alone(e, p, n, surplus, count)
    for step in range(len(steps)):
        if inside[step] == 0:
            continue
        seconds = min(inside[step], length)
        pays = most if chosen[step] else steps[step, PRICE]
        less = min(surplus // pays, seconds - 1)
        surplus -= less * pays
        count = _explain_step(e, p, n, window, step, seconds - less, count)
    return count


@inner_kernel
def _explain_alone(e: Engine, p: PriceLimit, n: int, surplus: int, count: int) -> tuple[int, int]:
    """Write premises with which the chosen steps are alone; return their number and the surplus left.

    Where the surplus lasts, a step with a price may overlap with them for longer.
    """
    steps, before, ground = p.steps, p.before, e.ground
    last = -1
    for at in range(_count_free(p)):
        step = p.order[at]
        if p.chosen[step] == 0:
            continue
        if last >= 0:
            arc = steps[last, END] * n + steps[step, START]
            count = _premise(e, arc, steps[last, END_DELAY] - steps[step, DELAY], count)
        last = step
    for step in range(len(steps)):
        if p.chosen[step] == 0:
            continue
        loses = p.most[0] - steps[step, PRICE]
        for at in range(p.partner_offsets[step], p.partner_offsets[step + 1]):
            other = p.partners[at]
            seconds = overlap(p, n, before, ground, step, other)
            more = overlap(p, n, ground, ground, step, other) - seconds
            if loses * more <= surplus:
                surplus -= loses * more
                continue
            one, two = step, other
            if apart(p, n, before, other, step) > apart(p, n, before, step, other):
                one, two = other, step
            arc = steps[one, END] * n + steps[two, START]
            count = _premise(e, arc, steps[one, END_DELAY] - steps[two, DELAY] - seconds, count)
    return count, surplus


@inner_kernel
def _count_free(p: PriceLimit) -> int:
    """Return the number of steps without a price."""
    count = 0
    for step in range(len(p.steps)):
        count += p.steps[step, PRICE] == 0
    return count


@inner_kernel
def _explain_step(e: Engine, p: PriceLimit, n: int, window: int, step: int, seconds: int, count: int) -> int:
    """Write premises with which a step is held for so many seconds within a window; return their number.

    What is needed of its start and its end is as little as its duration allows.
    """
    start, end = p.windows[window, START], p.windows[window, END]
    delay, end_delay = p.windows[window, DELAY], p.windows[window, END_DELAY]
    own_start, own_end = p.steps[step, START], p.steps[step, END]
    own_delay, own_end_delay = p.steps[step, DELAY], p.steps[step, END_DELAY]
    held_arc, late_arc, early_arc = own_start * n + own_end, start * n + own_start, own_end * n + end
    late = p.before[late_arc] + own_delay - delay
    early = p.before[early_arc] + end_delay - own_end_delay
    # The least seconds of its hold with which both ends, as they are, leave enough inside.
    held = max(e.ground[held_arc] + own_end_delay - own_delay, seconds - min(0, late, early))
    count = _premise(e, held_arc, held + own_delay - own_end_delay, count)
    outside = seconds - held
    count = _premise(e, late_arc, min(late, outside) + delay - own_delay, count)
    return _premise(e, early_arc, min(early, outside) + own_end_delay - end_delay, count)
