"""All kinds of certificates as they are attacked: problems, what proves a bound, and the optimum.

Optima are by brute force, which shares nothing with judge, bounds and solvers.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import naive_partition
import naive_placement
from evolution_proofs import certificate_of, items_of, refutation
from hypothesis import strategies as st
from naive_evolving_prices import slotted_optimum_of_evolving
from naive_malleable_optimum import optimum as malleable_optimum
from naive_optimum import optimum as evolution_optimum, profile_optimum
from naive_reservation import naive_optimum as reservation_optimum
from naive_workload_optimum import workload_optimum
from placement_strategies import placement_problems
from price_strategies import evolving_toys, malleable_jobs, overhead_jobs, profile_jobs
from reservation_strategies import reservation_problems
from resource_strategies import general_problems
from strategies import box_problems, evolution_problems, partition_problems, workload_problems

from allocsolve.bounds import strong_completion_bound, strong_makespan_bound
from allocsolve.bounds.reservation import node_prices
from allocsolve.bounds.workload import machine_prices, makespan_bound, time_prices
from allocsolve.bounds.workload.job_prices import job_prices
from allocsolve.bounds.workload.machine_job_prices import machine_job_prices
from allocsolve.errors import InvalidAnswer
from allocsolve.exact import PartitionBranchAndBound, TreeKnapsack
from allocsolve.exact.partition import _cut_search
from allocsolve.exact.workload._date_forest import DateForest
from allocsolve.exact.workload._date_tree import DateTreeParams
from allocsolve.judge.partition.certificate import PartitionAxes
from allocsolve.judge.workload.date_trees import tree_totals
from allocsolve.model import (
    EVOLUTION_OBJECTIVES,
    PLACEMENT_OBJECTIVES,
    RESERVATION_OBJECTIVES,
    Budget,
    Clock,
    Job,
    Mesh,
    PartitionProblem,
    Topology,
    Torus,
    WorkloadProblem,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from allocsolve.model import EvolutionProblem, PlacementProblem

MEANS = ("turnaround", "slowdown", "wait")
ENDS = ("turnaround", "slowdown")
MAKESPAN = ("makespan",)


def _as_it_is(_problem: Any, _term: str, document: dict[str, Any]) -> dict[str, Any]:
    return document


class Attacked(NamedTuple):
    """A kind of certificate, for one kind of problems."""

    #: As the schema calls it.
    kind: str
    problems: SearchStrategy[Any]
    terms: Sequence[str]
    #: What is changed, for a problem and a term: a certificate that holds, but for what `sealed` adds to it.
    document: Callable[[Any, str], dict[str, Any]]
    #: The least value of a term of all answers, infinity if there is none. For reservations of a shape, and
    #: jobs with phases or requests, that of problems which allow more.
    optimum: Callable[[Any, Any], Any]
    #: The certificate that a changed document becomes.
    sealed: Callable[[Any, str, dict[str, Any]], dict[str, Any]] = _as_it_is
    #: By how much optima may be too low, relative to them if they are above 1: linear programs and sums of
    #: real times are rounded.
    tolerance: float = 0.0


# --- Evolution ---


def _learned(problem: EvolutionProblem, term: str) -> dict[str, Any]:
    """Return the items of a refutation with prices, written out."""
    prices = _step_prices(problem, term)["prices"]
    certificate = refutation(problem, int(_least_of_applications(problem, term)) - 1, 1000, prices)
    return {**certificate, "log": _listed(items_of(certificate))}


def _step_prices(problem: EvolutionProblem, _: str) -> dict[str, Any]:
    """Return prices of a linear program; where it needs none, the nodes of the steps."""
    certificate = strong_makespan_bound(problem).certificate
    if certificate["kind"] == "area":
        rows = [[nodes for _, nodes in app.steps] for app in problem.applications]
        return {"kind": "step-prices", "prices": rows}
    return certificate


def _falling_prices(problem: EvolutionProblem, _: str) -> dict[str, Any]:
    """Return prices of a linear program; where they say no more than cheap bounds, some."""
    certificate = strong_completion_bound(problem).certificate
    last = 2 * (max(problem.releases) + sum(app.duration for app in problem.applications))
    falls = [[nodes for _, nodes in app.steps] for app in problem.applications]
    return certificate or {
        "kind": "falling-prices",
        "unit": max(1, *(app.area for app in problem.applications)),
        "times": [0, last // 4, last],
        "prices": [[fall * last // 4 for fall in row] for row in falls],
        "falls": falls,
    }


@functools.lru_cache(maxsize=1)
def _least_of_applications(problem: EvolutionProblem, term: Any) -> float:
    return evolution_optimum(problem, (term,))[0]


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, list | tuple) else value


def _logged(problem: EvolutionProblem, _: str, document: dict[str, Any]) -> dict[str, Any]:
    """Write the items of a log as the bytes that they are; what is no item is left out of it."""
    items = document.get("log")
    if not isinstance(items, list):
        return document
    written = []
    for item in items:
        if isinstance(item, list) and len(item) == 2:
            kind, content = item
            try:
                certificate_of(problem, [(kind, content)])
            except (TypeError, ValueError):
                continue
            written.append((kind, content))
    return {**document, "log": certificate_of(problem, written)["log"]}


# --- Partitions ---


def _branched(problem: PartitionProblem, _: str) -> dict[str, Any]:
    found = PartitionBranchAndBound()(problem, Budget()).certificate
    if found is None:  # there is no answer: what holds without the links holds here, too
        found = PartitionBranchAndBound()(replace(problem, contiguous=False), Budget()).certificate
    return dict(found or {"kind": "boxes", "bound": 0})


def _multipliers(problem: PartitionProblem, term: str) -> dict[str, Any]:
    """Return multipliers of a solver; where it needs none, those that are 0."""
    with mock.patch.object(_cut_search, "_MAX_LOG", -1):
        found = _branched(problem, term)
    if "kind" not in found:
        return found
    axes = PartitionAxes.of(problem, found["axes"], found["scale"])
    zeros = [[0] * (side + 1) for side in axes.sides[1:]]
    medians = itertools.product(*map(range, axes.sides[axes.first_median :]))
    roots = [{"medians": [*each], "multipliers": copy.deepcopy(zeros)} for each in medians]
    return {"axes": found["axes"], "scale": found["scale"], "roots": roots}


#: Lines, rings and complete axes: small enough for all sets of nodes, large enough for trees.
MACHINES_OF_NODES = (
    *(Mesh((3, 4)), Mesh((2, 6)), Mesh((2, 2, 3)), Mesh((13,)), Torus((3, 4)), Torus((12,))),
    *(Topology((3, 4), (False, False), (True, full)) for full in (False, True)),
    Topology((4, 3), (True, False), (False, True)),
    Topology((2, 2, 3), (False, False, False), (True, False, False)),
)


@st.composite
def spread_problems(draw: DrawFn) -> PartitionProblem:
    topology = draw(st.sampled_from(MACHINES_OF_NODES))
    busy = draw(st.sets(st.integers(0, topology.num_nodes - 1), min_size=2, max_size=5))
    size = draw(st.integers(3, topology.num_nodes - len(busy) - 1))
    return PartitionProblem.of(topology, busy=sorted(busy), size=size, contiguous=draw(st.booleans()))


def _partition_optimum(problem: PartitionProblem, _: str) -> float:
    least = naive_partition.optimum(problem)
    return math.inf if least is None else least


# --- Workloads ---


def _job_prices(problem: WorkloadProblem, term: Any) -> dict[str, Any]:
    """Return prices per job; where those of node-seconds leave no gap, what these are for each job."""
    by_time = time_prices(problem, term)
    if not by_time.certificate["prices"]:  # no job waits: there is nothing to pay, in one slot as well
        by_time = replace(by_time, certificate={**by_time.certificate, "edges": [0, 9], "prices": [0]})
    found: dict[str, Any] = dict(job_prices(problem, term, by_time, clock=Clock(math.inf)).certificate)
    if found["kind"] == "job-prices":
        return found
    return _of_each(problem, found, found["prices"])


def _of_each(problem: WorkloadProblem, found: dict[str, Any], prices: list[int]) -> dict[str, Any]:
    """Return the prices per job that those of node-seconds are."""
    slots, count = len(prices), len(problem.jobs)
    return {
        **found,
        "kind": "job-prices",
        "nodes": 1,
        "first_slots": [0] * count,
        "offsets": [slots * job for job in range(count + 1)],
        "prices": [job.nodes * price for job in problem.jobs for price in prices],
    }


def _machine_job_prices(problem: WorkloadProblem, term: Any) -> dict[str, Any]:
    """Return prices per job of a machine; where prices of resources leave no gap, those of its nodes."""
    if problem.is_plain:
        return _job_prices(problem, term)
    by_resource = machine_prices(problem, term)
    found: dict[str, Any] = dict(
        machine_job_prices(problem, term, by_resource, clock=Clock(math.inf)).certificate
    )
    if found["kind"] == "job-prices":
        return found
    slots = max(1, len(found["edges"]) - 1)
    edges = found["edges"] if len(found["edges"]) > 1 else [0, 9]
    prices = found["prices"].get("nodes", [0] * slots)
    units = {name: 1 for name, _ in problem.resources}
    return _of_each(problem, {**found, "edges": edges, "units": units}, prices)


def _dates(problem: WorkloadProblem, term: Any, params: DateTreeParams = DateTreeParams()) -> dict[str, Any]:
    """Return trees with a few cuts; without jobs that count there is one without any."""
    by_job = _machine_job_prices(problem, term)
    if not problem.jobs.packed.weight.any():
        return _one_leaf(by_job)
    forest = DateForest(problem, term, by_job, params)
    for tree in [stretch.tree for stretch in forest.stretches]:
        for leaf in [tree.root, *itertools.islice(tree.root.leaves(), 2)]:
            tree.value(leaf)
            tree.split(leaf, leaf.bound + 4 * problem.horizon)
        for leaf in itertools.islice(tree.root.leaves(), 2):
            tree.climb(leaf, lambda: False)
    try:
        return forest.certificate()[0]
    except InvalidAnswer:  # prices of real times may be too large for what trees add up
        return _one_leaf(by_job)


def _one_leaf(by_job: dict[str, Any]) -> dict[str, Any]:
    """Return the tree without cuts that has the prices of another certificate."""
    prices = {"first_slots": by_job["first_slots"], "offsets": by_job["offsets"]}
    jobs = [*range(len(by_job["first_slots"]))]
    first = {"parent": -1, "jobs": jobs, **prices, "differences": by_job["prices"]}
    common: dict[str, Any] = {
        key: by_job[key] for key in ("term", "edges", "nodes", "units", "unit") if key in by_job
    }
    return {"kind": "date-tree", **common, "lists": [first], "jobs": [-1], "cuts": [0]}


def _forest(problem: WorkloadProblem, term: Any) -> dict[str, Any]:
    """Return trees of one or two jobs each."""
    found = _dates(
        problem, term, DateTreeParams(one_tree_jobs=1, fewest_jobs=1, most_jobs=2, margin_slots=30)
    )
    if found["kind"] == "date-trees":
        return found
    count = len(problem.jobs)
    tree = {"slots": [0, len(found["edges"]) - 1], **{key: found[key] for key in ("lists", "jobs", "cuts")}}
    common: dict[str, Any] = {
        key: found[key] for key in ("term", "edges", "nodes", "units", "unit") if key in found
    }
    shared = {"first_slots": [0] * count, "offsets": [0] * (count + 1), "prices": []}
    return {"kind": "date-trees", **common, "shared": shared, "stretches": [0] * count, "trees": [tree]}


def _with_total(problem: WorkloadProblem, term: str, document: dict[str, Any]) -> dict[str, Any]:
    """Add the totals that the judge wants to read, without which no change would be accepted."""
    return {**document, "totals": tree_totals(problem, document, term)[0]}


def _with_totals(problem: WorkloadProblem, term: str, document: dict[str, Any]) -> dict[str, Any]:
    """Add the totals of each tree."""
    totals = tree_totals(problem, document, term)
    trees = zip(document["trees"], totals, strict=True)
    return {**document, "trees": [{**tree, "totals": listed} for tree, listed in trees]}


QUARTERS = st.integers(1, 40).map(lambda quarters: quarters / 4)
SECONDS = st.integers(1, 6)
REALS = st.floats(0.1, 9) | st.just(1 / 3)


@st.composite
def rigid_problems(draw: DrawFn, units: Sequence[SearchStrategy[float] | None]) -> WorkloadProblem:
    times = draw(st.sampled_from(units))
    return draw(
        workload_problems(min_jobs=3, max_jobs=5, max_nodes=3, max_submit=3, moldable=False, times=times)
    )


@st.composite
def profile_problems(draw: DrawFn) -> WorkloadProblem:
    """Jobs with profiles, of which steps may hold no node, and others beside them."""
    others = draw(workload_problems(max_jobs=1, max_nodes=3, max_submit=4, moldable=False))
    jobs = [*others.jobs]
    for _ in range(draw(st.integers(1, 2))):
        job = draw(profile_jobs(others.num_nodes, SECONDS, st.integers(0, 4)))
        jobs.append(replace(job, weight=draw(st.sampled_from([1, 1, 0, 3]))))
    return WorkloadProblem(others.num_nodes, [replace(job, name=f"j{at}") for at, job in enumerate(jobs)])


@st.composite
def malleable_problems(draw: DrawFn) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 4))
    malleable = st.one_of(
        malleable_jobs(num_nodes, QUARTERS, SECONDS), overhead_jobs(num_nodes, QUARTERS, SECONDS)
    )
    rigid = st.builds(Job, SECONDS, st.integers(1, num_nodes), QUARTERS)
    return WorkloadProblem(num_nodes, [draw(malleable), *draw(st.lists(malleable | rigid, max_size=1))])


RIGID = rigid_problems([None, QUARTERS])
RIGID_REALS = rigid_problems([REALS])
MOLDABLE = workload_problems(min_jobs=1, max_jobs=3, max_submit=3).filter(lambda toy: not toy.is_rigid)
PROFILES = profile_problems()
MALLEABLE = malleable_problems()
EVOLVING = evolving_toys(("phases", "requests")) | evolving_toys(("requests", "phases", "rigid"))
MACHINES_REALS = general_problems(min_jobs=3, max_jobs=4, max_nodes=3, times=REALS)
MACHINES = general_problems(min_jobs=3, max_jobs=4, max_nodes=3, max_submit=3)


def _time_prices(problem: WorkloadProblem, term: Any) -> dict[str, Any]:
    return dict(time_prices(problem, term).certificate)


def _machine_prices(problem: WorkloadProblem, term: Any) -> dict[str, Any]:
    return dict(machine_prices(problem, term).certificate)


def _makespan(problem: WorkloadProblem, _: str) -> dict[str, Any]:
    return dict(makespan_bound(problem).certificate)


# --- Reservations and placements ---


def _node_prices(problem: Any, term: Any) -> dict[str, Any]:
    return {**(node_prices(replace(problem, leaking=False), term).certificate or {})}


def _reserved(problem: Any, term: str) -> float:
    """Return the least share that is rejected where nodes only count; 0 where jobs may leak."""
    return 0.0 if problem.leaking else reservation_optimum(problem, (term,))[0]


def _knapsack(problem: PlacementProblem, term: Any) -> dict[str, Any]:
    found = TreeKnapsack((term,))(problem, Budget()).certificate
    return {**(found or {"kind": "knapsack", "term": term, "bound": 0})}


def _placed(problem: PlacementProblem, term: str) -> float:
    sets = naive_placement.feasible_sets(problem)
    return min((naive_placement.values(problem, nodes)[term] for nodes in sets), default=math.inf)


SPREAD = spread_problems() | partition_problems(contiguous=None)
PLACEMENTS = placement_problems(max_nodes=8)
WHOLE_TERMS = tuple(term for term in PLACEMENT_OBJECTIVES if term != "bottleneck")

#: Kinds of jobs: problems, means that prices of node-seconds bound, their optimum, and how far off it may be.
JOBS: tuple[tuple[str, SearchStrategy[WorkloadProblem], Sequence[str], Any, float], ...] = (
    ("rigid jobs", RIGID, MEANS, workload_optimum, 0.0),
    ("moldable jobs", MOLDABLE, ENDS, workload_optimum, 0.0),
    ("profiles", PROFILES, ENDS, profile_optimum, 0.0),
    ("malleable jobs", MALLEABLE, ENDS, malleable_optimum, 1e-7),
    ("phases and requests", EVOLVING, ENDS, slotted_optimum_of_evolving, 1e-9),
    ("real times", RIGID_REALS, MEANS, workload_optimum, 1e-12),
)

#: By name: the kind, and the jobs if there are several.
ATTACKED: dict[str, Attacked] = {
    "area": Attacked(
        "area",
        evolution_problems(releases=True),
        EVOLUTION_OBJECTIVES,
        lambda *_: {"kind": "area"},
        _least_of_applications,
    ),
    "step-prices": Attacked(
        "step-prices",
        evolution_problems(releases=True),
        EVOLUTION_OBJECTIVES,
        _step_prices,
        _least_of_applications,
    ),
    "falling-prices": Attacked(
        "falling-prices",
        evolution_problems(max_apps=4, max_steps=3, max_nodes=6, releases=True),
        EVOLUTION_OBJECTIVES,
        _falling_prices,
        _least_of_applications,
    ),
    "learned-clauses": Attacked(
        "learned-clauses",
        evolution_problems(min_apps=2, max_steps=4, releases=True),
        MAKESPAN,
        _learned,
        _least_of_applications,
        _logged,
    ),
    "boxes": Attacked("boxes", box_problems(max_nodes=24), ("pairwise",), _branched, _partition_optimum),
    "cut-tree": Attacked("cut-tree", SPREAD, ("pairwise",), _branched, _partition_optimum),
    "partition-certificate": Attacked(
        "partition-certificate", SPREAD, ("pairwise",), _multipliers, _partition_optimum
    ),
    **{
        f"{kind} of {jobs}": Attacked(kind, problems, terms, document, optimum, tolerance=tolerance)
        for jobs, problems, means, optimum, tolerance in JOBS
        for kind, terms, document in (("time-prices", means, _time_prices), ("makespan", MAKESPAN, _makespan))
    },
    "job-prices": Attacked("job-prices", RIGID, MEANS, _job_prices, workload_optimum),
    "job-prices of real times": Attacked(
        "job-prices", RIGID_REALS, MEANS, _job_prices, workload_optimum, tolerance=1e-12
    ),
    "job-prices on machines": Attacked("job-prices", MACHINES, MEANS, _machine_job_prices, workload_optimum),
    "job-prices on machines of real times": Attacked(
        "job-prices", MACHINES_REALS, MEANS, _machine_job_prices, workload_optimum, tolerance=1e-12
    ),
    "date-tree": Attacked("date-tree", RIGID, MEANS, _dates, workload_optimum, _with_total),
    "date-tree of real times": Attacked(
        "date-tree", RIGID_REALS, MEANS, _dates, workload_optimum, _with_total, 1e-12
    ),
    "date-trees": Attacked("date-trees", RIGID, MEANS, _forest, workload_optimum, _with_totals),
    "date-tree on machines": Attacked("date-tree", MACHINES, MEANS, _dates, workload_optimum, _with_total),
    "date-tree on machines of real times": Attacked(
        "date-tree", MACHINES_REALS, MEANS, _dates, workload_optimum, _with_total, 1e-12
    ),
    "date-trees on machines": Attacked(
        "date-trees", MACHINES, MEANS, _forest, workload_optimum, _with_totals
    ),
    "machine-prices": Attacked("machine-prices", MACHINES, MEANS, _machine_prices, workload_optimum),
    "machine-prices of real times": Attacked(
        "machine-prices", MACHINES_REALS, MEANS, _machine_prices, workload_optimum, tolerance=1e-12
    ),
    "reservation-certificate": Attacked(
        "reservation-certificate",
        st.one_of(*[reservation_problems(max_jobs=5)] * 4, reservation_problems(may_leak=True)),
        RESERVATION_OBJECTIVES,
        _node_prices,
        _reserved,
    ),
    "knapsack": Attacked("knapsack", PLACEMENTS, WHOLE_TERMS, _knapsack, _placed),
    "knapsack of bottlenecks": Attacked("knapsack", PLACEMENTS, ("bottleneck",), _knapsack, _placed),
}
