"""Branch and bound over the schedules of a few jobs in order of starts, bounded by prices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from allocsolve.exact.workload._kernels_chronological import MAX_JOBS, Instance, Tables, new_tree, search
from allocsolve.heuristics.workload.serial import plan_costs
from allocsolve.model.arrays import frozen
from allocsolve.model.options import Params

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.bounds.workload import PriceBound
    from allocsolve.exact.workload._windows import Grid
    from allocsolve.heuristics.workload.serial import Costs, Sizes
    from allocsolve.model import Clock, FloatArray, IntArray, WorkloadProblem, WorkloadTerm

#: States hold 32-bit numbers of nodes.
_MOST_NODES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ChronologicalParams(Params):
    """The numbers of a search in order of starts."""

    #: States between two looks at the clock.
    look_states: int = 20_000
    #: The most states that are visited: about two minutes.
    most_states: int = 50_000_000
    #: The longest plan, in units of the grid, and the most entries of a table of prices (32 MB).
    most_units: int = 2_000_000
    most_entries: int = 4_000_000


class ChronologicalOutcome(NamedTuple):
    """How a search ended."""

    #: Nothing is better than the best schedule: a proof.
    proven: bool
    #: Starts in seconds and indices of sizes, shape (jobs,) each, by start; None if nothing better
    #: was met. Jobs that do not count come last.
    order: IntArray | None
    chosen: IntArray | None


def chronological_search(
    problem: WorkloadProblem,
    term: WorkloadTerm,
    sizes: Sizes,
    grid: Grid,
    prices: PriceBound,
    *,
    latest: Sequence[int],
    value: float,
    gain: float,
    clock: Clock,
    params: ChronologicalParams = ChronologicalParams(),
) -> ChronologicalOutcome:
    """Search for a schedule that is better than `value` by at least `gain`, or prove that there is none.

    Times are exact on the grid, and the term is a mean over the jobs; value and gain are in its units. No job
    ends later in a better schedule than `latest` says, shape (jobs,), in units of the grid. Better prices, of
    node-seconds or per job, make the search shorter.

    Notes
    -----
    Some optimum arises when the jobs are started one by one in order of their starts, each as early as the
    jobs that run allow. A state is the jobs that have started, and what runs. Its bound is what has been paid
    so far, plus the price bound on the rest, in which the past is not charged: idle nodes have been paid for.
    States with the same jobs are compared: one that began no later, cost no more and holds no more nodes at
    any time makes the other one superfluous.

    *Guarantee*: a proof, in doubles with a margin below `gain`. *Complexity*: exponential; 20 jobs take
    10^3 to 10^6 states, of which 10^6 take some seconds.
    """
    costs = plan_costs(problem, term, sizes)
    counted = np.flatnonzero(costs.slope > 0)
    total = math.fsum(problem.packed.weight.tolist())
    units = max(latest, default=0) + 1
    if (
        not 0 < len(counted) <= MAX_JOBS
        or units > params.most_units
        or not grid.exact
        or problem.num_nodes > _MOST_NODES
    ):
        return ChronologicalOutcome(proven=False, order=None, chosen=None)
    instance, index = _instance(problem, costs, sizes, grid, latest, counted)
    tables = _tables(problem, grid, prices, instance, counted, params.most_entries)
    # A better schedule costs less by at least `gain`; three quarters of that leave room for rounding.
    step = 0.75 * gain * total
    tree = new_tree(len(counted), len(instance.nodes), value * total - step)
    over = False
    while not over and clock.remaining > 0 and tree.at[1] < params.most_states:
        over = search(instance, tables, tree, step, params.look_states)
    if tree.cutoff[1] == math.inf:
        return ChronologicalOutcome(over, None, None)
    chosen = sizes.offsets[:-1].copy()
    chosen[counted] = index[tree.best_sizes]
    starts = np.full(len(problem.jobs), np.inf)
    starts[counted] = tree.best_starts
    return ChronologicalOutcome(over, frozen(np.argsort(starts, kind="stable")), chosen)


def _instance(
    problem: WorkloadProblem,
    costs: Costs,
    sizes: Sizes,
    grid: Grid,
    latest: Sequence[int],
    counted: IntArray,
) -> tuple[Instance, IntArray]:
    """Return the jobs that count, and the index of each of their sizes among all sizes."""
    packed = problem.packed
    spans = [np.arange(sizes.offsets[job], sizes.offsets[job + 1]) for job in counted.tolist()]
    index = np.concatenate(spans)
    offsets = np.cumsum([0, *(len(span) for span in spans)])
    twin = np.full(len(counted), -1, dtype=np.int64)
    last: dict[tuple[float, ...], int] = {}
    for at in np.argsort(packed.submit[counted], kind="stable").tolist():
        job = int(counted[at])
        if len(spans[at]) == 1:
            shape = (float(packed.nodes[job]), float(packed.runtime[job]), float(packed.weight[job]))
            twin[at] = last.get(shape, -1)
            last[shape] = at

    def integers(values: list[int]) -> IntArray:
        return frozen(np.array(values, dtype=np.int64))

    release = integers([grid.point(time) for time in packed.submit[counted].tolist()])
    unit = float(grid.unit)
    instance = Instance(
        num_nodes=problem.num_nodes,
        release=release,
        latest=integers([latest[job] for job in counted.tolist()]),
        slope=frozen(costs.slope[counted] * unit),
        floor=frozen(costs.floor[counted]),
        reference=release,
        twin=frozen(twin),
        offsets=frozen(offsets),
        nodes=frozen(sizes.nodes[index]),
        times=integers([grid.down(time) for time in sizes.seconds[index].tolist()]),
        of_end=int(costs.of_end[0]),
    )
    return instance, index


def _tables(
    problem: WorkloadProblem,
    grid: Grid,
    prices: PriceBound,
    instance: Instance,
    counted: IntArray,
    most_entries: int,
) -> Tables:
    """Return the prices of the jobs that count, by cells of the grid."""
    jobs, units = len(counted), int(instance.latest.max()) + 1
    step = max(1, -(-jobs * units // most_entries))
    cells = -(-units // step) + 1
    by_job = prices.certificate["kind"] == "job-prices"
    edges, rows, charged = _job_rows(problem, prices, counted) if by_job else _time_rows(problem, prices)
    points = np.arange(units + 1)
    seconds = float(grid.origin) + points * float(grid.unit)
    paid, ahead = np.empty((jobs, cells)), np.full((jobs, cells), np.inf)
    sampled = np.minimum(np.arange(cells) * step, units)
    share = np.ones(len(instance.nodes)) if by_job else instance.nodes.astype(np.float64)
    for job in range(jobs):
        integral = np.interp(seconds, edges, rows[job if by_job else 0])
        paid[job] = integral[sampled]
        release, cheapest = int(instance.release[job]), np.full(units + 1, np.inf)
        for size in range(instance.offsets[job], instance.offsets[job + 1]):
            length = int(instance.times[size])
            starts = points[release : max(release, int(instance.latest[job]) - length) + 1]
            ends = starts + length * instance.of_end
            cost = np.maximum(instance.floor[job], instance.slope[job] * (ends - instance.reference[job]))
            cost += share[size] * (integral[np.minimum(starts + length, units)] - integral[starts])
            cheapest[starts] = np.minimum(cheapest[starts], cost)
        ahead[job] = np.minimum.accumulate(cheapest[::-1])[::-1][sampled]
    left = charged[-1] - np.interp(seconds, edges, charged)
    return Tables(step, frozen(paid), frozen(share), frozen(ahead), frozen(left[sampled]))


def _time_rows(problem: WorkloadProblem, prices: PriceBound) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return edges, the integral of the price of a node-second up to each, and that of all nodes."""
    integral = np.concatenate([[0.0], np.cumsum(prices.prices * np.diff(prices.edges))])
    edges = prices.edges.astype(np.float64)
    if not len(edges):
        edges = np.zeros(1)
    return edges, integral[None, :], problem.num_nodes * integral


def _job_rows(
    problem: WorkloadProblem, prices: PriceBound, counted: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return edges, the integral of the price of each job up to each, and of the dearest sets of jobs."""
    certificate = cast("dict[str, Any]", prices.certificate)
    edges = np.array(certificate["edges"], dtype=np.float64)
    lengths = np.diff(edges)
    offsets, listed = certificate["offsets"], np.array(certificate["prices"], dtype=np.float64)
    rates = np.zeros((len(counted), len(lengths)))
    for row, job in enumerate(counted.tolist()):
        own = listed[offsets[job] : offsets[job + 1]] / certificate["unit"]
        first = certificate["first_slots"][job]
        rates[row, first : first + len(own)] = own
    integral = np.concatenate([np.zeros((len(counted), 1)), np.cumsum(rates * lengths, axis=1)], axis=1)
    divisor = certificate["nodes"]
    nodes, capacity = problem.packed.nodes[counted] // divisor, problem.num_nodes // divisor
    # The dearest set of jobs that fit together, for all slots at once.
    table = np.zeros((len(lengths), capacity + 1))
    for row, size in enumerate(nodes.tolist()):
        table[:, size:] = np.maximum(table[:, size:], table[:, : capacity + 1 - size] + rates[row][:, None])
    charged = np.concatenate([[0.0], np.cumsum(table[:, -1] * lengths)])
    return edges, integral, charged
