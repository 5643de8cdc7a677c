"""What steps pay: how long it takes to pay for the steps before and after a step, with explanations.

Steps have prices per second, such that steps which are held at the same time pay at most so much together,
the *most*; see `allocsolve.bounds.configuration_lp`. So in a *window*, a time that is not shorter than its
length l, steps pay at most l times the most. The windows are those from the least release to the end of each
step with a price, and from the start of each one to the horizon. A step that is held for h seconds, of which
at most c lie outside of the window, is held within it for min(h - c, l) seconds. While that is too much to
pay for, the window is longer than l.

The checker of learned clauses derives the same raises by itself, from the prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.exact.evolution._kernels_closure import (
    CULPRIT,
    NEW,
    PREVIOUS,
    TRAIL,
    before_hole,
    raise_arc,
)
from allocsolve.exact.evolution._kernels_offsets import Engine, arcs_of
from allocsolve.exact.evolution._kernels_sum import CONFLICT, QUIET, RAISED, write_culprit
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

#: Columns of `PriceLimit.windows`, and of `PriceLimit.steps`: a point and the seconds from it to the start,
#: a point and the seconds from it to the end; of a step also its price.
_START, _DELAY, _END, _END_DELAY, _PRICE = range(5)


#: Steps with lower prices are not looked at alone: 0 all, 1 priced.
LOWEST = int(__import__('os').environ.get('LOWEST','0'))


class PriceLimit(NamedTuple):
    """Steps with prices, and windows in which they have to be paid for."""

    windows: IntArray
    #: All steps, application by application.
    steps: IntArray
    apps: IntArray
    partner_offsets: IntArray
    partners: IntArray
    #: The most that steps pay in a second; shape (1,).
    most: IntArray
    #: Work space: for how many seconds each step is held within a window; with partners; and marks.
    inside: IntArray
    beside: IntArray
    kept: IntArray


@inner_kernel
def _value_before(e: Engine, arc: int, entry: int) -> int:
    """Return the value that an arc had before an entry of the trail."""
    at = e.latest[arc]
    while at >= entry:
        at = e.trail[at, PREVIOUS]
    return int(e.trail[at, NEW] if at >= 0 else e.ground[arc])


@inner_kernel
def _longest(e: Engine, p: PriceLimit, n: int, step: int) -> int:
    """Return how long a step is held at most, whatever is decided."""
    s = p.steps
    return s[step, _END_DELAY] - s[step, _DELAY] - e.ground[s[step, _END] * n + s[step, _START]]


@inner_kernel
def _overlap(e: Engine, p: PriceLimit, n: int, values: IntArray, one: int, two: int) -> int:
    """Return for how many seconds two steps overlap at most, as ends and starts of the two allow."""
    s = p.steps
    most = s[one, _END_DELAY] - s[two, _DELAY] - values[s[one, _END] * n + s[two, _START]]
    most = min(most, s[two, _END_DELAY] - s[one, _DELAY] - values[s[two, _END] * n + s[one, _START]])
    return max(0, min(most, _longest(e, p, n, one), _longest(e, p, n, two)))


@inner_kernel
def _paid(p: PriceLimit, length: int) -> int:
    """Return what steps pay in a window of so many seconds."""
    paid = 0
    for step in range(len(p.steps)):
        if p.steps[step, _PRICE] > 0:
            paid += p.steps[step, _PRICE] * min(p.inside[step], length)
    return paid


@inner_kernel
def _unpaid(p: PriceLimit, length: int) -> tuple[int, int]:
    """Return what cannot be paid in a window of so many seconds or more, and the application to blame."""
    unpaid, most = 0, p.most[0]
    best, best_app = 0, len(p.apps) - 1
    for app in range(len(p.apps) - 1):
        own = 0
        for step in range(p.apps[app], p.apps[app + 1]):
            price = p.steps[step, _PRICE]
            alone = max(0, min(p.inside[step], length) - p.beside[step])
            if price > 0:
                unpaid += (most - price) * alone
            else:
                own += alone
        if own > best:
            best, best_app = own, app
    return unpaid + most * best, best_app


@inner_kernel
def hold_prices(e: Engine, p: PriceLimit, n: int, first_reason: int) -> int:
    """Raise what follows from the prices when all else is propagated; see the module.

    The reason of a raise by window w is `first_reason` - w. The results are those of `hold_sum`.
    O(windows * steps), and what each raise costs.
    """
    values, state, inside = e.values, e.state, p.inside
    if 4 * state[TRAIL] > 3 * len(e.trail):
        return QUIET
    arcs = arcs_of(e)
    most = p.most[0]
    outcome = QUIET
    for step in range(len(p.steps)):
        beside = 1 << 30
        if p.steps[step, _PRICE] < most and p.steps[step, _PRICE] >= LOWEST:
            beside = 0
            for at in range(p.partner_offsets[step], p.partner_offsets[step + 1]):
                beside += _overlap(e, p, n, values, step, p.partners[at])
        p.beside[step] = beside
    for window in range(len(p.windows)):
        start, end = p.windows[window, _START], p.windows[window, _END]
        delay, end_delay = p.windows[window, _DELAY], p.windows[window, _END_DELAY]
        arc = start * n + end
        length = values[arc] + end_delay - delay
        if length < 1:
            continue
        for step in range(len(p.steps)):
            own_start, own_end = p.steps[step, _START], p.steps[step, _END]
            own_delay, own_end_delay = p.steps[step, _DELAY], p.steps[step, _END_DELAY]
            late = values[start * n + own_start] + own_delay - delay
            early = values[own_end * n + end] + end_delay - own_end_delay
            held = values[own_start * n + own_end] + own_end_delay - own_delay
            inside[step] = max(0, held + min(0, late, early))
        unpaid, app = _unpaid(p, length)
        paid = unpaid + _paid(p, length)
        if paid <= most * length:
            continue
        if start == end:
            return write_culprit(e, explain_prices(e, p, n, window, app, state[TRAIL], 1))
        while paid > most * length:
            length = (paid + most - 1) // most
            paid = unpaid + _paid(p, length)
        outcome = RAISED
        if raise_arc(
            arcs, n, arc, length + delay - end_delay, first_reason - window * len(p.apps) - app
        ):
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
def _overlap_before(e: Engine, p: PriceLimit, n: int, one: int, two: int, entry: int) -> tuple[int, int]:
    """Return the overlap before an entry, and whether by the ends (0: ground)."""
    s = p.steps
    a, b = s[one, _START], s[one, _END]
    c, d = s[two, _START], s[two, _END]
    da, db, dc, dd = s[one, _DELAY], s[one, _END_DELAY], s[two, _DELAY], s[two, _END_DELAY]
    least = _overlap(e, p, n, e.ground, one, two)
    arc = -1
    other = max(0, -_value_before(e, b * n + c, entry) + db - dc)
    if other < least:
        least, arc = other, b * n + c
    other = max(0, -_value_before(e, d * n + a, entry) + dd - da)
    if other < least:
        least, arc = other, d * n + a
    return least, arc


@inner_kernel
def explain_prices(e: Engine, p: PriceLimit, n: int, window: int, app: int, entry: int, value: int) -> int:
    """Write premises from before `entry` with which the arc of a window has `value`; return their number.

    Steps that pay little are left out, as far as the surplus lasts; what is left of it shortens others.
    O(steps^2).
    """
    start, end = p.windows[window, _START], p.windows[window, _END]
    delay, end_delay = p.windows[window, _DELAY], p.windows[window, _END_DELAY]
    steps, inside, beside, kept = p.steps, p.inside, p.beside, p.kept
    most = p.most[0]
    value = before_hole(e.hole_offsets, e.holes, start * n + end, value)
    length = value + end_delay - delay - 1  # it cannot be so short
    shortest = min(length, _value_before(e, start * n + end, entry) + end_delay - delay)
    surplus = -most * length - 1
    for own in range(len(p.apps) - 1):
        for step in range(p.apps[own], p.apps[own + 1]):
            kept[step] = 0
            inside[step] = 0
            price = steps[step, _PRICE]
            if price == 0 and own != app:
                continue
            own_start, own_end = p.steps[step, _START], p.steps[step, _END]
            late = _value_before(e, start * n + own_start, entry) + steps[step, _DELAY] - delay
            early = _value_before(e, own_end * n + end, entry) + end_delay - steps[step, _END_DELAY]
            held = _value_before(e, own_start * n + own_end, entry)
            held += steps[step, _END_DELAY] - steps[step, _DELAY]
            inside[step] = max(0, min(length, held + min(0, late, early)))
            surplus += price * inside[step]
            if price < most and price >= LOWEST:
                beside[step] = 0
                for at in range(p.partner_offsets[step], p.partner_offsets[step + 1]):
                    beside[step] += _overlap_before(e, p, n, step, p.partners[at], entry)[0]
                if min(inside[step], shortest) > beside[step]:
                    kept[step] = 1
                    surplus += (most - price) * (min(inside[step], shortest) - beside[step])
                    if price == 0:
                        inside[step] = min(inside[step], shortest)
            if price == 0 and kept[step] == 0:
                inside[step] = 0
    if surplus < 0:
        raise AssertionError("the explanation of a window does not hold")
    # What is alone for a short time is left out first.
    while True:
        least, pays = -1, surplus + 1
        for step in range(len(steps)):
            if kept[step] == 1:
                pay = (most - steps[step, _PRICE]) * (min(inside[step], shortest) - beside[step])
                if pay < pays:
                    least, pays = step, pay
        if least < 0:
            break
        surplus -= pays
        kept[least] = 0
        if steps[least, _PRICE] == 0:
            inside[least] = 0
    while True:
        least, pays = -1, surplus + 1
        for step in range(len(steps)):
            pay = inside[step] * steps[step, _PRICE]
            if inside[step] > 0 and kept[step] == 0 and pay < pays:
                least, pays = step, pay
        if least < 0:
            break
        surplus -= pays
        inside[least] = 0
    needed = 1
    for step in range(len(steps)):
        if kept[step] == 1:
            needed = max(needed, min(inside[step], shortest))
    count = _premise(e, start * n + end, needed + delay - end_delay, 0)
    for step in range(len(steps)):
        if kept[step] == 0:
            continue
        own_start, own_end = steps[step, _START], steps[step, _END]
        price = most - steps[step, _PRICE]
        for at in range(p.partner_offsets[step], p.partner_offsets[step + 1]):
            other = p.partners[at]
            overlap, arc = _overlap_before(e, p, n, step, other, entry)
            if arc < 0:
                continue
            more = _overlap(e, p, n, e.ground, step, other) - overlap
            if price * more <= surplus:
                surplus -= price * more
                continue
            if arc == own_end * n + steps[other, _START]:
                least = steps[step, _END_DELAY] - steps[other, _DELAY] - overlap
            else:
                least = steps[other, _END_DELAY] - steps[step, _DELAY] - overlap
            count = _premise(e, arc, least, count)
    for step in range(len(steps)):
        if inside[step] == 0:
            continue
        price = most if kept[step] else steps[step, _PRICE]
        less = min(surplus // price, inside[step] - 1)
        surplus -= less * price
        count = _explain_step(e, p, n, window, step, entry, inside[step] - less, count)
    return count


@inner_kernel
def _explain_step(
    e: Engine, p: PriceLimit, n: int, window: int, step: int, entry: int, seconds: int, count: int
) -> int:
    """Write premises with which a step is held for so many seconds within a window; return their number.

    What is needed of its start and its end is as little as its duration allows.
    """
    start, end = p.windows[window, _START], p.windows[window, _END]
    delay, end_delay = p.windows[window, _DELAY], p.windows[window, _END_DELAY]
    own_start, own_end = p.steps[step, _START], p.steps[step, _END]
    own_delay, own_end_delay = p.steps[step, _DELAY], p.steps[step, _END_DELAY]
    held_arc, late_arc, early_arc = own_start * n + own_end, start * n + own_start, own_end * n + end
    late = _value_before(e, late_arc, entry) + own_delay - delay
    early = _value_before(e, early_arc, entry) + end_delay - own_end_delay
    # The least seconds of its hold with which both ends, as they are, leave enough inside.
    held = max(e.ground[held_arc] + own_end_delay - own_delay, seconds - min(0, late, early))
    count = _premise(e, held_arc, held + own_delay - own_end_delay, count)
    outside = seconds - held
    count = _premise(e, late_arc, min(late, outside) + delay - own_delay, count)
    return _premise(e, early_arc, min(early, outside) + own_end_delay - end_delay, count)
