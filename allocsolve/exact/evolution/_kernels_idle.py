"""What a window loses: seconds in which steps are held that nothing with a price can run beside.

A step is *alone* while no step with a price of another application is held. Which steps may be held beside it
follows from their nodes, and for how long from the differences: each of them overlaps with it no longer than
from its start to the other one's end, nor from the other one's start to its end. What is left is alone. All
that is paid in such a second is the price of the step itself; the rest of the most is *lost*.

Seconds in which different steps with a price are alone are different, and so are seconds in which a step
without a price is. Those of several steps without a price are if each step ends before the next one starts:
of such *chains* the one that loses most counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.exact.evolution._expansion import LATEST
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

#: Columns of `PriceLimit.windows`, and of `PriceLimit.steps`: a point and the seconds from it to the start,
#: a point and the seconds from it to the end; of a step also its price.
START, DELAY, END, END_DELAY, PRICE = range(5)


class PriceLimit(NamedTuple):
    """Steps and their prices, and windows in which they have to be paid for."""

    windows: IntArray
    #: All steps, if one of them has a price.
    steps: IntArray
    #: The steps with a price, of other applications, that fit beside step s:
    #: ``partners[partner_offsets[s]:partner_offsets[s + 1]]``.
    partner_offsets: IntArray
    partners: IntArray
    #: The most that steps pay in a second; shape (1,).
    most: IntArray
    #: Work space: the values of all arcs before an entry of the trail.
    before: IntArray
    #: Work space: for how many seconds each step is held within a window, and at most beside partners;
    #: whether it counts as alone; steps without a price in the order of their earliest starts, what a chain
    #: that ends with each of them loses, and the one before it.
    inside: IntArray
    beside: IntArray
    chosen: IntArray
    order: IntArray
    chain: IntArray
    previous: IntArray


@inner_kernel
def apart(p: PriceLimit, n: int, values: IntArray, one: int, two: int) -> int:
    """Return the least seconds from the end of a step to the start of another one, < 0 if they overlap."""
    steps = p.steps
    between = values[steps[one, END] * n + steps[two, START]]
    return int(between + steps[two, DELAY] - steps[one, END_DELAY])


@inner_kernel
def _longest(p: PriceLimit, n: int, ground: IntArray, step: int) -> int:
    """Return for how many seconds a step is held at most, whatever is decided."""
    steps = p.steps
    length = ground[steps[step, END] * n + steps[step, START]]
    return int(steps[step, END_DELAY] - steps[step, DELAY] - length)


@inner_kernel
def overlap(p: PriceLimit, n: int, values: IntArray, ground: IntArray, one: int, two: int) -> int:
    """Return for how many seconds two steps overlap at most."""
    most = -max(apart(p, n, values, one, two), apart(p, n, values, two, one))
    return max(0, min(most, _longest(p, n, ground, one), _longest(p, n, ground, two)))


@inner_kernel
def find_beside(p: PriceLimit, n: int, values: IntArray, ground: IntArray) -> None:
    """Note for how many seconds each step is at most beside steps with a price; sort those without one.

    Where this is as long as the step is held, it counts as never alone: raises may follow before the next
    call.
    """
    steps, order, count = p.steps, p.order, 0
    earliest = values[(n - 1) * n :]
    for step in range(len(steps)):
        if steps[step, PRICE] >= p.most[0]:
            continue
        total, held = 0, values[steps[step, START] * n + steps[step, END]]
        held += steps[step, END_DELAY] - steps[step, DELAY]
        for at in range(p.partner_offsets[step], p.partner_offsets[step + 1]):
            total += overlap(p, n, values, ground, step, p.partners[at])
            if total >= held:
                total = LATEST
                break
        p.beside[step] = total
        if steps[step, PRICE] == 0:
            start = earliest[steps[step, START]] + steps[step, DELAY]
            at = count
            while at > 0 and earliest[steps[order[at - 1], START]] + steps[order[at - 1], DELAY] > start:
                order[at] = order[at - 1]
                at -= 1
            order[at] = step
            count += 1


@inner_kernel
def find_inside(p: PriceLimit, n: int, values: IntArray, window: int) -> None:
    """Note for how many seconds each step is held within a window at least."""
    windows, steps = p.windows, p.steps
    start, end = windows[window, START], windows[window, END]
    for step in range(len(steps)):
        late = values[start * n + steps[step, START]] + steps[step, DELAY] - windows[window, DELAY]
        early = values[steps[step, END] * n + end] + windows[window, END_DELAY] - steps[step, END_DELAY]
        held = values[steps[step, START] * n + steps[step, END]]
        held += steps[step, END_DELAY] - steps[step, DELAY]
        p.inside[step] = max(0, held + min(0, late, early))


@inner_kernel
def alone(p: PriceLimit, step: int) -> int:
    """Return for how many seconds a step is alone at least in the window."""
    if p.steps[step, PRICE] >= p.most[0]:
        return 0
    return int(max(0, p.inside[step] - p.beside[step]))


@inner_kernel
def lost(p: PriceLimit, n: int, values: IntArray, enough: int) -> int:
    """Return what is lost at least in the window, and choose the steps that lose it.

    The chain is looked for only if all steps without a price together lose `enough`. O(steps^2).
    """
    steps, chosen, most = p.steps, p.chosen, p.most[0]
    total = together = count = 0
    for step in range(len(steps)):
        price, seconds = steps[step, PRICE], alone(p, step)
        chosen[step] = price > 0 and seconds > 0
        if price > 0:
            total += (most - price) * seconds
        else:
            together += seconds
            count += 1
    if total + most * together < enough:
        return total
    best = -1
    for at in range(count):
        step = p.order[at]
        seconds = alone(p, step)
        p.chain[at], p.previous[at] = 0, -1
        if seconds == 0:
            continue
        for earlier in range(at):
            if p.chain[earlier] > p.chain[at] and apart(p, n, values, p.order[earlier], step) >= 0:
                p.chain[at], p.previous[at] = p.chain[earlier], earlier
        p.chain[at] += seconds
        if best < 0 or p.chain[at] > p.chain[best]:
            best = at
    if best >= 0:
        total += most * p.chain[best]
    while best >= 0:
        chosen[p.order[best]] = 1
        best = p.previous[best]
    return total
