"""Compiled, for the judge: how long steps that have to be paid for take, and what cannot be paid meanwhile.

At most `most` is paid in a second, and less in a second in which a step is held beside which no step with a
price is. `allocsolve.judge.evolution.certificate.refutation_bound` says why that follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

#: Columns of `Prices.steps`.
FROM, DELAY, TO, TO_DELAY, PRICE = range(5)


class Prices(NamedTuple):
    """The steps of all applications, none of them without prices."""

    #: Rows (the point of the start, the seconds from there to it, the point of the end, the seconds from
    #: there to it, the price of a second). Those that are held at the same time pay `most` together; none is
    #: before `release`.
    steps: IntArray
    most: int
    release: int
    #: Whether sums of what cannot be paid fit 64 bits; if not, nothing is said of it.
    can_lose: bool
    #: The steps with a price that fit beside step s are ``company[company_offsets[s]:company_offsets[s +
    #: 1]]``: those of other applications which together with it need no more than all nodes.
    company_offsets: IntArray
    company: IntArray
    #: Work space: for how long each step is at most in company, for how long it is held within a window;
    #: the steps without a price, the earliest end first, and the most that those up to each of them are
    #: alone.
    beside: IntArray
    inside: IntArray
    free: IntArray
    alone: IntArray


@inner_kernel
def _between(p: Prices, n: int, values: IntArray, one: int, two: int) -> int:
    """Return the least seconds from the end of a step to the start of another one."""
    end, start = p.steps[one], p.steps[two]
    return int(values[end[TO] * n + start[FROM]] - end[TO_DELAY] + start[DELAY])


@inner_kernel
def _longest(p: Prices, n: int, values: IntArray, step: int) -> int:
    """Return the most seconds for which a step is held."""
    own = p.steps[step]
    return int(own[TO_DELAY] - own[DELAY] - values[own[TO] * n + own[FROM]])


@inner_kernel
def find_company(p: Prices, n: int, values: IntArray) -> None:
    """Find for how long each step is in company at most; sort those without a price by earliest ends."""
    count = 0
    for step in range(len(p.steps)):
        seconds = 0
        for at in range(p.company_offsets[step], p.company_offsets[step + 1]):
            other = p.company[at]
            both = min(_longest(p, n, values, step), _longest(p, n, values, other))
            both = min(both, -_between(p, n, values, step, other), -_between(p, n, values, other, step))
            seconds += max(both, 0)
        p.beside[step] = seconds
        if p.steps[step, PRICE] == 0:
            p.free[count] = step
            count += 1
    for last in range(1, count):
        at = last
        while at > 0 and _end(p, n, values, p.free[at]) < _end(p, n, values, p.free[at - 1]):
            p.free[at], p.free[at - 1] = p.free[at - 1], p.free[at]
            at -= 1


@inner_kernel
def _end(p: Prices, n: int, values: IntArray, step: int) -> int:
    return int(values[(n - 1) * n + p.steps[step, TO]] + p.steps[step, TO_DELAY])


@inner_kernel
def _longest_chain(p: Prices, n: int, values: IntArray) -> int:
    """Return the most seconds that steps without a price, one after the other, are alone."""
    count, most = 0, 0
    for step in range(len(p.steps)):
        count += p.steps[step, PRICE] == 0
    for last in range(count):
        step, before = p.free[last], 0
        seconds = p.inside[step] - p.beside[step]
        p.alone[last] = 0
        if seconds <= 0:
            continue
        for at in range(last):
            if p.alone[at] > before and _between(p, n, values, p.free[at], step) >= 0:
                before = p.alone[at]
        p.alone[last] = before + seconds
        most = max(most, p.alone[last])
    return most


@inner_kernel
def _unpaid(p: Prices, n: int, values: IntArray) -> int:
    """Return what cannot be paid at least in the window."""
    if not p.can_lose:
        return 0
    unpaid = p.most * _longest_chain(p, n, values)
    for step in range(len(p.steps)):
        price = p.steps[step, PRICE]
        if price > 0:
            unpaid += (p.most - price) * max(0, p.inside[step] - p.beside[step])
    return unpaid


@inner_kernel
def _paid(p: Prices, length: int) -> int:
    """Return what steps pay at least in so many seconds."""
    paid = 0
    for step in range(len(p.steps)):
        paid += p.steps[step, PRICE] * min(p.inside[step], length)
    return paid


@inner_kernel
def least_length(
    p: Prices, n: int, values: IntArray, start: int, delay: int, end: int, end_delay: int, length: int
) -> int:
    """Return how long a window is at least that is known to be so long, as long as 1 s or more.

    It lasts from `delay` seconds after a point to `end_delay` seconds after another one. Call `find_company`
    before.
    """
    for step in range(len(p.steps)):
        own = p.steps[step]
        held = values[own[FROM] * n + own[TO]] + own[TO_DELAY] - own[DELAY]
        late = values[start * n + own[FROM]] + own[DELAY] - delay
        early = values[own[TO] * n + end] + end_delay - own[TO_DELAY]
        p.inside[step] = max(0, min(held, held + late, held + early))
    unpaid = _unpaid(p, n, values)
    paid = unpaid + _paid(p, length)
    while paid > p.most * length:
        length = -(-paid // p.most)
        paid = unpaid + _paid(p, length)
    return length
