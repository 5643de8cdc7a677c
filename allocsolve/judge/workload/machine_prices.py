"""Bounds of workloads that the judge recomputes from prices of counted resources, in integers."""

from __future__ import annotations

import bisect
import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import PriceList, malformed, price_list
from allocsolve.judge.workload._kernels_prices import HIGHEST, _delay_cost, _product
from allocsolve.judge.workload.certificate import delays_of, mean_of_costs, packed_prices, units_of_time
from allocsolve.judge.workload.machine import closures_in_units, needed, resources_of
from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.model import frozen
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.judge.workload._kernels_prices import Delays
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem


class ResourcePrices(NamedTuple):
    """Prices of several resources in the same slots, in integers; outside of the slots there are none.

    Read-only.
    """

    #: Shape (slots + 1,), rising, in units of time.
    edges: IntArray
    #: Shape (slots + 1, resources): the prices in each slot, and 0.
    prices: IntArray
    #: Shape (slots + 1, resources): what one of each resource costs up to each edge.
    integral: IntArray


class Runs(NamedTuple):
    """Rigid jobs in units of time, read-only; shape (jobs,) unless another one is given."""

    #: No job starts before.
    release: IntArray
    length: IntArray
    #: The latest end at which the delay costs the floor.
    free: IntArray
    #: Shape (jobs, resources).
    needs: IntArray


@inner_kernel
def _paid(listed: ResourcePrices, moment: int, resource: int) -> int:
    """Return what one of a resource costs up to a moment."""
    slot = bisect_right(listed.edges, len(listed.edges), moment) - 1
    if slot < 0:
        return 0
    within = moment - listed.edges[slot]  # after the last edge the price is 0
    return int(listed.integral[slot, resource] + listed.prices[slot, resource] * within)


@inner_kernel
def _cost(listed: ResourcePrices, delays: Delays, runs: Runs, j: int, start: int) -> int:
    """Return the cost of a job that starts then, all that it holds paid for, at most `HIGHEST`."""
    end = start + runs.length[j]
    cost = _delay_cost(delays, j, end - delays.submit[j])
    for resource in range(runs.needs.shape[1]):
        amount = runs.needs[j, resource]
        if amount > 0:
            paid = _paid(listed, end, resource) - _paid(listed, start, resource)
            cost = min(cost + _product(amount, paid), HIGHEST)
    return cost


@inner_kernel
def _changes(listed: ResourcePrices, runs: Runs, j: int, k: int, sign: int) -> bool:
    """Return whether at an edge some price that the job pays rises (sign 1), or falls (sign -1)."""
    for resource in range(runs.needs.shape[1]):
        before = listed.prices[k - 1, resource] if k > 0 else 0
        if runs.needs[j, resource] > 0 and sign * (listed.prices[k, resource] - before) > 0:
            return True
    return False


@kernel
def least_costs_on_machine(listed: ResourcePrices, delays: Delays, runs: Runs, steps: int) -> tuple[int, int]:
    """Return the sum of the least costs of the jobs as ``(high, low)``: ``high * 2^31 + low``.

    Starts are compared at the release, where the floor is left, at edges at which some price falls, and a run
    time before edges at which some price rises. The search ends when the delay of a start alone costs more.
    After so many steps, which are edges, a job counts with the delay of its next start, a lower bound.
    """
    high, low, edges = 0, 0, listed.edges
    for j in range(len(runs.release)):
        release, length = runs.release[j], runs.length[j]
        best = min(HIGHEST, _cost(listed, delays, runs, j, release))
        if delays.whole[j] == 0 and delays.rest[j] == 0:
            best = delays.floor[j]
        if runs.free[j] - length > release:
            best = min(best, _cost(listed, delays, runs, j, runs.free[j] - length))
        for ends in range(2):
            shift = ends * length
            for k in range(bisect_right(edges, len(edges), release + shift), len(edges)):
                start = edges[k] - shift
                delay = _delay_cost(delays, j, start + length - delays.submit[j])
                if delay >= best:
                    break
                if steps <= 0:
                    best = delay
                    break
                steps -= 1
                if _changes(listed, runs, j, k, 2 * ends - 1):
                    best = min(best, _cost(listed, delays, runs, j, start))
        high += best >> 31
        low += best & (2**31 - 1)
    return high, low


#: Edges that are looked at, of all jobs together: some seconds.
_MAX_STEPS: Final = 2 * 10**8


def machine_price_bound(problem: WorkloadProblem, certificate: Mapping[str, Any], term: str) -> float:
    """Return a lower bound on a weighted mean over rigid jobs, recomputed from prices of resources.

    `InvalidAnswer` if the certificate does not have this form, the term is another one, or a job is not
    rigid.

    *Certificate.* ``edges``, rising integers >= 0, the seconds at which slots begin and end; ``prices``, for
    the name of a resource an integer >= 0 for each slot (resources without prices may be left out); ``unit``
    Q >= 1: a price q is q / Q units of cost for a second of one node, GPU and the like.

    The term is ``turnaround``, ``slowdown`` or ``wait``.

    Notes
    -----
    *Proof.* Let c_r(t) be how much of resource r is there at t, and l_r(t) >= 0 its price. In any schedule
    the jobs that run at t need at most c_r(t), so what all of them pay is at most what the whole machine can
    earn, the sum over r of the integral of l_r c_r. Hence the cost of all jobs is at least the sum of the
    least costs of each job alone, all that it holds paid for, less these earnings. Nothing is asked of c_r:
    it may change at any time, and where it is 0 any price earns nothing. Where nodes are places, resources
    are those of `WorkloadProblem.on_counts`, which each schedule on places keeps.

    A job that needs n_r of each resource pays the *composite* price, the sum of n_r l_r, which is a step
    function as each price is. So its cost is linear in the start except where it leaves its floor or starts
    or ends at an edge, and is least at its release, where it leaves its floor, where it starts at an edge at
    which the composite price falls, or where it ends at one at which it rises. Head starts (`boost`) order
    queues and cost nothing.

    *Numbers.* Times are integers: quarters of a second; or units of 2^-16 s and more, to which submissions
    and releases are rounded down, with runs shortened by 2 units. A closed window is rounded to the units
    inside of it and 2 more at its end are taken from it, so that no capacity is too small. Sums of prices
    over time are checked to be below 2^61 for each resource, so that each fits 64 bits; a product with an
    amount, and the cost of a job, which has at most as many terms as there are resources, is cut off at 2^61
    each time before the next one is added; the sum over the jobs is kept in two words; earnings, which have
    factors up to 2^53, are integers of Python. What is cut off or rounded only lowers the bound.

    *Complexity*: O(jobs * (log slots + edges up to where the delay of a job alone costs more than its best
    start) * resources).
    """
    problem = problem.on_counts()
    lists = _price_lists(problem, certificate)
    (edges, _, unit), *_ = lists.values()
    per_second, shorter = units_of_time(problem, edges[-1])
    total = _least_costs(problem, lists, term, per_second, shorter)
    for name, listed in lists.items():
        total -= _earned(problem, name, listed, per_second, shorter)
    return mean_of_costs(problem, Fraction(total, unit * per_second), term)


def _price_lists(problem: WorkloadProblem, certificate: Mapping[str, Any]) -> dict[str, PriceList]:
    """Return the prices of each resource that has some; of nodes if none has."""
    listed = certificate.get("prices")
    if not isinstance(listed, dict):
        msg = f"prices {shown(listed)} of the certificate are not a mapping from resources to lists"
        raise malformed(msg)
    there = resources_of(problem)
    for name in listed:
        if name not in there:
            msg = f"prices of the certificate: the machine has no {shown(name)}, only {', '.join(there)}"
            raise InvalidAnswer(msg)
    if not listed:
        edges = certificate.get("edges")
        slots = len(edges) - 1 if isinstance(edges, list) else 0
        listed = {"nodes": [0] * max(0, slots)}
    return {name: price_list({**certificate, "prices": prices}) for name, prices in listed.items()}


def _least_costs(
    problem: WorkloadProblem, lists: Mapping[str, PriceList], term: str, per_second: int, shorter: int
) -> int:
    """Return the sum of the least costs of the jobs, in 1 / (unit * per_second) units of cost."""
    (edges, _, unit), *_ = lists.values()
    jobs, asked = problem.jobs.packed, problem.jobs.requirements
    columns = [packed_prices(listed, per_second, f" of {name}") for name, listed in lists.items()]
    listed = ResourcePrices(
        frozen(np.array(edges, dtype=np.int64) * per_second),
        frozen(np.stack([column.prices for column in columns], axis=1)),
        frozen(np.stack([column.integral for column in columns], axis=1)),
    )
    length = np.maximum(np.floor(jobs.runtime * per_second).astype(np.int64) - shorter, 0)
    delays, free = delays_of(problem, term, unit, per_second, _lower_products)
    runs = Runs(
        frozen(np.floor(asked.release(jobs.submit) * per_second).astype(np.int64)),
        frozen(length),
        free,
        frozen(np.stack([needed(problem, name) for name in lists], axis=1)),
    )
    high, low = least_costs_on_machine(listed, delays, runs, _MAX_STEPS)
    return (int(high) << 31) + int(low)


def _earned(problem: WorkloadProblem, name: str, listed: PriceList, per_second: int, shorter: int) -> int:
    """Return what a resource earns at most: the sum over time of its price times what is there."""
    there = resources_of(problem)[name]
    edges = [edge * per_second for edge in listed.edges]
    spans = zip(listed.prices, pairwise(edges), strict=True)
    integral = [0]
    for price, (begin, end) in spans:
        integral.append(integral[-1] + price * (end - begin))
    changes = {edges[0]: 0, edges[-1]: 0}
    for begin, end, amount in closures_in_units(problem, name, per_second, shorter):
        changes[begin] = changes.get(begin, 0) + amount
        changes[end] = changes.get(end, 0) - amount

    def paid(moment: int) -> int:
        slot = bisect.bisect_right(edges, moment) - 1
        if slot < 0:
            return 0
        price = listed.prices[slot] if slot < len(listed.prices) else 0
        return integral[slot] + price * (moment - edges[slot])

    earned = closed = 0
    for begin, end in pairwise(sorted(changes)):
        closed += changes[begin]
        earned += max(there - closed, 0) * (paid(end) - paid(begin))
    return earned


def _lower_products(weight: FloatArray, factor: int) -> IntArray:
    """Return weights times a factor, rounded down; at most 2^61."""
    if factor == 0 or not len(weight):
        return np.zeros(len(weight), dtype=np.int64)
    distinct, place = np.unique(weight, return_inverse=True)
    products = [min(math.floor(Fraction(value) * factor), HIGHEST) for value in distinct.tolist()]
    return np.array(products, dtype=np.int64)[place]
