"""The judge of prices per job on machines with counted resources and closed windows, in integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import malformed, positive_integer
from allocsolve.judge.workload._kernels_machine_jobs import (
    fullest_sets_on_machine,
    least_costs_beside_windows,
)
from allocsolve.judge.workload.job_prices import (
    _REALS,
    check_kind,
    check_work,
    edges_of,
    job_price_bound,
    job_rows,
    mean_of,
    price_windows,
    ticks_of,
)
from allocsolve.judge.workload.machine import needed
from allocsolve.model import MAX_INTEGER
from allocsolve.model.arrays import frozen
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import IntArray, WorkloadProblem

#: The most cells of the table of a knapsack (160 MB), slots times resources, and looks of jobs at slots.
_MAX_CELLS: Final = 2 * 10**7
_MAX_ROOMS: Final = 10**7
_MAX_LOOKS: Final = 2 * 10**10
#: Ticks by which closed windows end earlier where times are rounded: more than the tolerance of the judge of
#: schedules and the rounding of starts together.
_EARLIER: Final = 2


def any_job_price_bound(problem: WorkloadProblem, certificate: Mapping[str, Any], term: str) -> float:
    """Return the bound of prices per job on a plain or a general machine."""
    if not problem.is_plain:
        return machine_job_price_bound(problem, certificate, term)
    _units(problem, certificate)  # of which there are none
    return job_price_bound(problem, certificate, term)


def machine_job_price_bound(
    problem: WorkloadProblem, certificate: Mapping[str, Any], objective: str
) -> float:
    """Return a lower bound on a weighted mean, recomputed from prices per job on any machine.

    Parameters
    ----------
    problem
        A problem of rigid jobs.
    certificate
        As for `allocsolve.judge.workload.job_prices.job_price_bound`, and perhaps ``units``: for the name of
        each other resource that counts the divisor >= 1 by which its amounts are coarsened, as ``nodes`` is
        that of the nodes.
    objective
        ``turnaround``, ``slowdown`` or ``wait``.

    Raises
    ------
    InvalidAnswer
        If the certificate does not have this form or is not for this problem and objective, if units are not
        those of resources of the machine, if the sums of its numbers do not fit into 64 bits, or if checking
        it would take minutes.

    Notes
    -----
    *Proof.* That of `job_price_bound`, with two more things known. The jobs that run at an instant fit by
    each resource, so the greatest sum W of their prices is a knapsack of several resources, each with the
    most that is there within the slot; floor(n / g) of each fit into floor(c / g). And a job that needs more
    than that runs nowhere in the slot: that bars starts, and of the spans of starts that are left the ends
    are compared, too. Nothing is barred outside of the slots. With fewer resources even more fits.

    *Rounding.* As there. Releases are rounded as submissions; where times are rounded closed windows begin at
    the next tick and end 2 ticks earlier, which is more than the tolerance and the rounding of starts.

    *Complexity*: O(jobs * slots + prices * product of what is there of each resource). No code is shared with
    the solver.
    """
    check_kind(problem, certificate, "job-prices", objective)
    tick = ticks_of(problem)
    unit, divisor = (positive_integer(certificate, key) for key in ("unit", "nodes"))
    windows = price_windows(certificate, edges_of(certificate, tick), len(problem.jobs))
    rows = job_rows(problem, objective, unit, tick)
    units = {"nodes": divisor, **_units(problem, certificate)}
    slots = len(windows.edges) - 1
    if slots * len(units) > _MAX_ROOMS or float(len(rows.submit)) * slots * len(units) > _MAX_LOOKS:
        raise InvalidAnswer(f"{slots} slots of the certificate for {len(rows.submit)} jobs are too many")
    needs = [needed(problem, name) // unit for name, unit in units.items()]
    room = np.stack(
        [_room(problem, name, windows.edges, tick) // unit for name, unit in units.items()], axis=1
    )
    cells = max(math.prod(each + 1 for each in row) for row in np.unique(room, axis=0).tolist())
    if cells > _MAX_CELLS:
        raise InvalidAnswer(f"units of the certificate make {cells} sums in a slot, which are too many")
    release = np.floor(problem.jobs.requirements.release(problem.jobs.packed.submit) * tick).astype(np.int64)
    if tick == _REALS:
        release -= 1
    rows = rows._replace(submit=frozen(np.maximum(rows.submit, release)))
    check_work(rows, windows, cells, int(windows.edges[-1]))
    amounts, there = frozen(np.stack(needs, axis=1)), frozen(room)
    costs = np.empty(len(rows.submit), dtype=np.int64)
    least_costs_beside_windows(rows, windows, amounts, there, costs)
    fullest = np.empty(slots, dtype=np.int64)
    fullest_sets_on_machine(windows, amounts, there, cells, fullest)
    lengths = np.diff(windows.edges).tolist()
    paid = sum(length * full for length, full in zip(lengths, fullest.tolist(), strict=True))
    return mean_of(problem, Fraction(sum(costs.tolist()) - paid, unit * tick), objective)


def _units(problem: WorkloadProblem, certificate: Mapping[str, Any]) -> dict[str, int]:
    """Return the units of the resources other than nodes that count."""
    listed = certificate.get("units", {})
    if not isinstance(listed, dict):
        msg = f"units {shown(listed)} of the certificate are not a mapping from resources to integers"
        raise malformed(msg)
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
    there = {"nodes": problem.num_nodes, **dict(problem.resources)}[name]
    earlier = _EARLIER if tick == _REALS else 0
    closed = []
    for window in problem.closed:
        amount = dict(window.amounts).get(name, 0) if window.amounts else there
        begin = math.ceil(Fraction(window.start) * tick)
        end = math.floor(Fraction(window.end) * tick) - earlier
        if amount and begin < end:
            closed.append((begin, end, amount))
    room = np.zeros(len(edges) - 1, dtype=np.int64)
    moments = sorted({int(edges[0]), *(moment for begin, end, _ in closed for moment in (begin, end))})
    for at, begin in enumerate(moments):
        end = moments[at + 1] if at + 1 < len(moments) else max(begin, int(edges[-1])) + 1
        left = max(0, there - sum(amount for first, last, amount in closed if first <= begin < last))
        overlaps = (edges[:-1] < end) & (edges[1:] > begin)
        room[overlaps] = np.maximum(room[overlaps], left)
    return room
