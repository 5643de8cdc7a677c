"""Bounds of workloads that the judge recomputes from a price list for each job, in integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import integers, lower_float, malformed, positive_integer
from allocsolve.judge.workload._kernels_dates import Machine
from allocsolve.judge.workload._kernels_job_prices import fullest_sets, least_job_costs
from allocsolve.judge.workload._kernels_prices import JobRows, WindowPrices
from allocsolve.judge.workload.machine import closures_in_units, needed, resources_of
from allocsolve.model import MAX_INTEGER
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import shown
from allocsolve.model.workload import SLOWDOWN_FLOOR_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from allocsolve.model import IntArray
    from allocsolve.model.workload import WorkloadProblem

#: Ticks in a second: for whole seconds, for quarters, and for other times, which are rounded down to ticks.
_WHOLE, _QUARTERS, _REALS = 1, 4, 1024

#: Sums from here on are refused: they are estimated in doubles, so a bit of 64-bit integers is left for
#: rounding.
LARGEST: Final = 2.0**62

#: Prices times cells of a knapsack in all of them together, and looks of jobs at slots: some minutes.
_MAX_STEPS: Final = 2 * 10**10
#: The most units in a knapsack (160 MB), and slots times resources of a machine that is not plain.
MAX_UNITS: Final = 2 * 10**7
_MAX_ROOMS: Final = 10**7
#: Ticks by which closed windows end earlier where times are rounded: more than the tolerance of the judge of
#: schedules and the rounding of starts together.
_EARLIER: Final = 2


def job_price_bound(problem: WorkloadProblem, certificate: Mapping[str, object], objective: str) -> float:
    """Return a lower bound on a weighted mean, recomputed from prices per job.

    `InvalidAnswer` if the certificate does not have this form or is not for this problem and objective, if
    the sums of its numbers do not fit into 64 bits, or if checking it would take minutes.

    *Certificate.* ``kind``: "job-prices". ``term``: the objective. ``edges``: rising integers, the seconds at
    which slots begin and end. ``nodes``: the divisor g >= 1 by which sizes are coarsened. ``unit``: Q >= 1; a
    price q is q / Q units of cost per second. ``first_slots``: for each job the first slot with a price.
    ``offsets``: one more; job j has the prices ``prices[offsets[j]:offsets[j + 1]]``, integers >= 0.
    ``units``, which may be left out: for the name of each other resource that counts the divisor >= 1 by
    which its amounts are coarsened, as ``nodes`` is that of the nodes.

    Jobs are rigid, the machine is any; the objective is ``turnaround``, ``slowdown`` or ``wait``.

    Notes
    -----
    *Proof.* Let w(j, t) >= 0 be the price of job j at t, f_j(C) the cost of job j if it ends at C, and A(t)
    the jobs that run at t in some schedule. The cost of the schedule is the sum over the jobs of f_j(C_j) and
    the integral of w(j, .) while j runs, less the integral of the sum of w(j, t) over A(t). The first sum is
    at least the sum of each job's minimum over all starts from its submission on. The sum over A(t) is at
    most W(t), the greatest sum of prices of any set of jobs that fits into the cluster. So the sum of the
    minima less the integral of W is a lower bound.

    The cost of a start is piecewise linear. It bends at starts and ends at edges and where the slowdown
    leaves 1, and after the last edge it never falls: so one of these starts, or the release, is the cheapest.
    W is a 0/1 knapsack for each slot, of several resources, each with the most that is there within the slot.
    With sizes floor(n / g) and the capacity floor(c / g) even more sets fit, and so they do with fewer
    resources. A job that needs more than that runs nowhere in the slot: that bars starts, and of the spans of
    starts that are left the ends are compared, too. Nothing is barred outside of the slots.

    *Rounding.* Multiples of 1/4 s are integers in ticks; then everything is exact except weights that are no
    integers and the division of a slowdown by the run time, which are rounded down for each job to 1/Q. Other
    submissions and run times are rounded down to ticks of 1/1024 s and lowered by one more tick. This is much
    more than the tolerance of the judge: the bound holds for every schedule that the judge admits, and is
    lower by at most 4 ticks of delay for each job. Releases are rounded as submissions; closed windows then
    begin at the next tick and end 2 ticks earlier, which is more than the tolerance and the rounding of
    starts. The bound is rounded down to a double once, at the end.

    *Complexity*: O(prices * (log slots + product of what is there of each resource)), and jobs * slots for
    those that somewhere do not fit. No code is shared with the solver.
    """
    tick = ticks_of(problem)
    unit = positive_integer(certificate, "unit")
    windows = price_windows(certificate, edges_of(certificate, tick), len(problem.jobs))
    machine, cells = machine_in_slots(problem, certificate, windows.edges, tick)
    needs, room = machine
    rows, slots = job_rows(problem, objective, unit, tick), len(room)
    barred = (needs > room.min(axis=0)).any(axis=1)
    check_work(rows, windows, cells, int(windows.edges[-1]) if barred.any() else 0)
    costs = np.empty(len(needs), dtype=np.int64)
    least_job_costs(rows, windows, needs, room, frozen(barred), costs)
    fullest = np.empty(slots, dtype=np.int64)
    fullest_sets(windows, needs, room, cells, fullest)
    paid = earned(windows.edges, fullest)
    return mean_of(problem, Fraction(sum(costs.tolist()) - paid, unit * tick), objective)


def machine_in_slots(
    problem: WorkloadProblem, certificate: Mapping[str, object], edges: IntArray, tick: int
) -> tuple[Machine, int]:
    """Return what jobs need and what is there in each slot, in the units of a certificate, and the cells.

    Cells are the most that the product of one more than the room of each resource is in any slot.
    `InvalidAnswer` if there are so many that knapsacks take gigabytes, or if looks of all jobs at all slots
    in which they do not fit take minutes.
    """
    units = {"nodes": positive_integer(certificate, "nodes"), **_units(problem, certificate)}
    slots = len(edges) - 1
    if slots * len(units) > _MAX_ROOMS and not problem.is_plain:
        raise InvalidAnswer(f"{slots} slots of the certificate for {len(units)} resources are too many")
    amounts = [needed(problem, name) // size for name, size in units.items()]
    there = [_room(problem, name, edges, tick) // size for name, size in units.items()]
    needs, room = (frozen(np.stack(columns, axis=1)) for columns in (amounts, there))
    barred = (needs > room.min(axis=0)).any(axis=1)
    if float(barred.sum()) * slots * len(units) > _MAX_STEPS:
        raise InvalidAnswer(f"{slots} slots of the certificate for {barred.sum()} jobs are too many")
    cells = max(math.prod(each + 1 for each in row) for row in np.unique(room, axis=0).tolist())
    if cells > MAX_UNITS + 1:
        raise InvalidAnswer(f"units of the certificate make {cells} sums in a slot, which are too many")
    return Machine(needs, room), cells


def _units(problem: WorkloadProblem, certificate: Mapping[str, Any]) -> dict[str, int]:
    """Return the units of the resources other than nodes that count."""
    listed = certificate.get("units", {})
    if not isinstance(listed, dict):
        raise malformed(
            f"units {shown(listed)} of the certificate are not a mapping from resources to integers"
        )
    there = [name for name, _ in problem.resources]
    for name, unit in listed.items():
        if name not in there:
            msg = f"units of the certificate: the machine has no {shown(name)} beside its nodes"
            raise InvalidAnswer(msg)
        if type(unit) is not int or not 1 <= unit <= MAX_INTEGER:
            raise malformed(f"units of the certificate: {name} {shown(unit)} is not an integer in 1..2^53")
    return dict(listed)


def _room(problem: WorkloadProblem, name: str, edges: IntArray, tick: int) -> IntArray:
    """Return the most that is there of a resource in each slot. O(windows * (windows + slots))."""
    there = resources_of(problem)[name]
    closed = [*closures_in_units(problem, name, tick, _EARLIER if tick == _REALS else 0)]
    room = np.zeros(len(edges) - 1, dtype=np.int64)
    moments = sorted({int(edges[0]), *(moment for begin, end, _ in closed for moment in (begin, end))})
    for at, begin in enumerate(moments):
        end = moments[at + 1] if at + 1 < len(moments) else max(begin, int(edges[-1])) + 1
        left = max(0, there - sum(amount for first, last, amount in closed if first <= begin < last))
        overlaps = (edges[:-1] < end) & (edges[1:] > begin)
        room[overlaps] = np.maximum(room[overlaps], left)
    return room


def earned(edges: IntArray, fullest: IntArray) -> int:
    """Return what the cluster earns at most, from the greatest sum of prices in each slot."""
    pairs = zip(np.diff(edges).tolist(), fullest.tolist(), strict=True)
    return sum(length * full for length, full in pairs if full)


def ticks_of(problem: WorkloadProblem) -> int:
    """Return the number of ticks in a second; estimates of run times do not matter.

    `InvalidAnswer` if there are too many ticks until the last job ends.
    """
    submit, edges = problem.jobs.packed.submit, [(window.start, window.end) for window in problem.closed]
    release = problem.jobs.requirements.release(submit)
    times = np.concatenate((submit, problem.jobs.packed.runtime, release, np.ravel(edges)))
    quarters = times * _QUARTERS
    tick = _QUARTERS if (quarters == np.floor(quarters)).all() else _REALS
    if (times == np.floor(times)).all():
        tick = _WHOLE
    if problem.horizon * tick > MAX_INTEGER:
        msg = f"the last job may end at {problem.horizon:.3g} s, beyond 2^53 ticks of 1/{tick} s"
        raise InvalidAnswer(msg)
    return tick


def edges_of(certificate: Mapping[str, object], tick: int) -> IntArray:
    """Return the edges of a certificate in ticks."""
    edges = integers(certificate, "edges", -MAX_INTEGER // _REALS)
    if len(edges) < 2 or (np.diff(edges) <= 0).any():
        raise InvalidAnswer(f"{len(edges)} edges of the certificate do not rise")
    if edges[-1] > MAX_INTEGER // tick:
        raise InvalidAnswer(f"edges of the certificate end at {edges[-1]} s, beyond 2^53 ticks of 1/{tick} s")
    return edges * tick


def price_windows(certificate: Mapping[str, object], edges: IntArray, jobs: int) -> WindowPrices:
    """Return the prices of each job in the slots between edges, in ticks."""
    first, offsets = integers(certificate, "first_slots", 0), integers(certificate, "offsets", 0)
    prices = integers(certificate, "prices", 0)
    if len(first) != jobs or len(offsets) != jobs + 1:
        msg = f"{len(first)} first slots and {len(offsets)} offsets in the certificate for {jobs} jobs"
        raise InvalidAnswer(msg)
    if offsets[0] != 0 or offsets[-1] != len(prices) or (np.diff(offsets) < 0).any():
        raise InvalidAnswer(f"offsets of the certificate do not rise from 0 to its {len(prices)} prices")
    beyond = first + np.diff(offsets) > len(edges) - 1
    if beyond.any():
        job = int(np.argmax(beyond))
        msg = f"prices of job {job} in the certificate reach beyond the last of {len(edges) - 1} slots"
        raise InvalidAnswer(msg)
    return WindowPrices(*map(frozen, (edges, first, offsets, prices)))


def job_rows(problem: WorkloadProblem, objective: str, unit: int, tick: int) -> JobRows:
    """Return the jobs in ticks; costs are in units of 1 / (unit * tick)."""
    packed = problem.jobs.packed
    late, runtime = _ticks(packed.submit, tick), _ticks(packed.runtime, tick)
    submit = _ticks(problem.jobs.requirements.release(packed.submit), tick)
    if tick == _REALS:
        submit, runtime, late = submit - 1, np.maximum(runtime - 1, 0), late + 1
    slope = _scaled(packed.weight, unit, tick)
    if objective == "slowdown":
        # The divisor is rounded up: that lowers the slowdown.
        divisor = -_ticks(-np.maximum(packed.runtime, SLOWDOWN_FLOOR_S), tick)
        slope, floor = slope * tick, divisor
    else:
        divisor, floor = np.ones_like(slope), np.zeros_like(slope)
    return JobRows(*map(frozen, (submit, runtime, slope, floor, late, divisor)))


def _ticks(times: NDArray[np.float64], tick: int) -> IntArray:
    """Return times in ticks, rounded down; the product is exact in doubles, as ticks are powers of two."""
    return np.floor(times * tick).astype(np.int64)


def _scaled(weights: NDArray[np.float64], unit: int, tick: int) -> IntArray:
    """Return weights times the unit, rounded down."""
    if not len(weights):
        return np.zeros(0, dtype=np.int64)
    if float(weights.max()) * unit * tick >= LARGEST:
        msg = f"unit {unit} of the certificate times the weight {weights.max():g} in ticks is beyond 2^62"
        raise InvalidAnswer(msg)
    if (weights == np.floor(weights)).all():
        return weights.astype(np.int64) * unit
    return np.array([math.floor(Fraction(weight) * unit) for weight in weights.tolist()], dtype=np.int64)


def check_work(rows: JobRows, windows: WindowPrices, cells: int, latest: int = 0) -> None:
    """Refuse sums that might not fit into 64 bits, and knapsacks of so many cells that would take minutes.

    Starts are compared about the prices of a job and up to the tick `latest`.
    """
    steps = float(len(windows.prices)) * cells + len(windows.edges)
    if steps > _MAX_STEPS:
        msg = f"{len(windows.prices)} prices of the certificate on {cells - 1} units of nodes are too many"
        raise InvalidAnswer(msg)
    last = np.maximum(rows.submit, windows.edges[windows.first + np.diff(windows.offsets)])
    check_sums(rows, windows, windows.prices, np.maximum(last, latest))


def check_sums(rows: JobRows, windows: WindowPrices, prices: IntArray, last: IntArray) -> None:
    """Refuse prices whose sums might not fit into 64 bits, if each job starts by `last`, in ticks."""
    counts = np.diff(windows.offsets)
    owners = np.repeat(np.arange(len(counts)), counts)
    slots = np.arange(len(prices)) + np.repeat(windows.first - windows.offsets[:-1], counts)
    lengths = np.diff(windows.edges).astype(np.float64)[slots]
    paid = np.bincount(owners, prices * lengths, minlength=len(counts))
    ends = np.maximum(last + rows.runtime - np.minimum(rows.submit, rows.late), rows.floor)
    sums = rows.slope.astype(np.float64) * ends + rows.divisor.astype(np.float64) * paid
    if sums.max(initial=0.0) >= LARGEST:
        msg = f"costs of job {int(np.argmax(sums))} under the certificate's prices are beyond 2^62"
        raise InvalidAnswer(msg)
    check_slots(windows)


def check_slots(windows: WindowPrices) -> None:
    """Refuse prices of which those in one slot might not fit into 64 bits together."""
    counts = np.diff(windows.offsets)
    slots = np.arange(len(windows.prices)) + np.repeat(windows.first - windows.offsets[:-1], counts)
    full = np.bincount(slots, windows.prices.astype(np.float64))
    if full.max(initial=0.0) >= LARGEST:
        msg = f"prices in slot {int(np.argmax(full))} of the certificate sum up to more than 2^62"
        raise InvalidAnswer(msg)


def mean_of(problem: WorkloadProblem, total: Fraction, objective: str) -> float:
    """Return the mean of a total, rounded down; for the wait, run times are subtracted."""
    packed = problem.jobs.packed
    weight = _exact_sum(packed.weight)
    if not weight:
        return 0.0
    if objective == "wait":
        total -= _exact_dot(packed.weight, packed.runtime)
    return lower_float(total / weight)


def _exact_sum(values: NDArray[np.float64]) -> Fraction:
    if (values == np.floor(values)).all():
        return Fraction(sum(map(int, values.tolist())))
    return sum(map(Fraction, values.tolist()), Fraction(0))


def _exact_dot(weights: NDArray[np.float64], times: NDArray[np.float64]) -> Fraction:
    quarters = times * _QUARTERS
    if (weights == np.floor(weights)).all() and (quarters == np.floor(quarters)).all():
        pairs = zip(weights.tolist(), quarters.tolist(), strict=True)
        return Fraction(sum(int(a) * int(b) for a, b in pairs), _QUARTERS)
    pairs = zip(weights.tolist(), times.tolist(), strict=True)
    return sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
