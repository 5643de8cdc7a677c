"""The judge of evolution schedules: feasibility, objectives and metrics, from the definitions alone."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.families import Term, imported, value_of
from allocsolve.judge.messages import overloads
from allocsolve.judge.sums import held_after, summable
from allocsolve.model import UNLIMITED, expand_ratio

if TYPE_CHECKING:
    from allocsolve.model import EvolutionObjective, EvolutionProblem, EvolutionSchedule, IntArray, Value


def _step_starts(schedule: EvolutionSchedule) -> IntArray:
    """Return the start of each step; refuse sums that do not fit into 64 bits."""
    latest = float(np.abs(schedule.starts.astype(float)).max(initial=0))
    for what, total in (
        ("times", latest + float(np.abs(schedule.durations.astype(float)).sum())),
        ("node counts", float(np.abs(schedule.nodes.astype(float)).sum())),
    ):
        if total > UNLIMITED:
            msg = f"{what} of the schedule add up to {total:.3g}, beyond 2^62"
            raise InvalidAnswer(msg)
    before = np.cumsum(schedule.durations) - schedule.durations
    sizes = np.diff(schedule.offsets)
    starts: IntArray = before + np.repeat(schedule.starts - before[schedule.offsets[:-1]], sizes)
    return starts


def evolution_violations(problem: EvolutionProblem, schedule: EvolutionSchedule) -> tuple[str, ...]:
    """Return what is wrong with a schedule; empty if it answers the problem.

    C1: each scheduled profile is its request, delayed (not before the release) and expanded within the limit.
    C2: the sum of all scheduled profiles is at no time above `num_nodes`.

    Messages name the application, the step, the time (seconds) and the value. O(steps log steps).

    `InvalidAnswer` if times or node counts are so large that their sums do not fit into 64 bits.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", 2011, section 3.3.
    """
    if len(schedule.starts) != len(problem.applications):
        return (f"{len(schedule.starts)} scheduled applications for {len(problem.applications)} requested",)
    step_starts = _step_starts(schedule)
    return (*_profile_violations(problem, schedule), *_capacity_violations(problem, schedule, step_starts))


def _keeps_profiles(problem: EvolutionProblem, schedule: EvolutionSchedule) -> bool:
    """Check C1 for all steps at once; False if anything breaks it, or if a product might overflow."""
    requested = problem.packed
    ratio = expand_ratio(problem.expand_limit)
    if not (
        np.array_equal(schedule.offsets, requested.offsets)
        and np.array_equal(schedule.nodes, requested.nodes)
        and (schedule.starts >= requested.releases).all()
        and (schedule.durations >= requested.durations).all()
    ):
        return False
    if ratio is None:
        return True
    if int(schedule.durations.max(initial=0)) * ratio.numerator > UNLIMITED:
        return False
    # numerator >= denominator, so neither product overflows
    return bool((schedule.durations * ratio.denominator <= requested.durations * ratio.numerator).all())


def _profile_violations(problem: EvolutionProblem, schedule: EvolutionSchedule) -> list[str]:
    """Return what breaks C1, after a comparison with the request step by step."""
    ratio = expand_ratio(problem.expand_limit)
    if _keeps_profiles(problem, schedule):
        return []
    violations = []
    for app_idx, (name, request, release) in enumerate(
        zip(problem.application_names, problem.applications, problem.releases, strict=True)
    ):
        start = int(schedule.starts[app_idx])
        steps = slice(schedule.offsets[app_idx], schedule.offsets[app_idx + 1])
        held, nodes = schedule.durations[steps].tolist(), schedule.nodes[steps].tolist()
        where = f"application {name!r}"
        if start < release:
            violations.append(f"{where} starts at {start} s, before its release at {release} s")
        if len(held) != len(request.steps):
            violations.append(f"{where} has {len(held)} steps, requested are {len(request.steps)}")
            continue
        for idx, (duration, wanted) in enumerate(request.steps):
            if nodes[idx] != wanted:
                violations.append(f"{where}, step {idx} holds {nodes[idx]} nodes, requested are {wanted}")
            if held[idx] < duration:
                violations.append(f"{where}, step {idx} lasts {held[idx]} s, requested are {duration} s")
            elif ratio is not None and held[idx] * ratio.denominator > duration * ratio.numerator:
                violations.append(
                    f"{where}, step {idx} is expanded from {duration} s to {held[idx]} s, "
                    f"beyond the limit of {problem.expand_limit:g}"
                )
    return violations


def _capacity_violations(
    problem: EvolutionProblem, schedule: EvolutionSchedule, step_starts: IntArray
) -> list[str]:
    """Return what breaks C2, by a sweep over all moments at which a step starts or ends."""
    times = np.concatenate([step_starts, step_starts + schedule.durations])
    moments, slot = np.unique(times, return_inverse=True)
    held = held_after(len(moments), schedule.nodes, *np.split(slot, 2))
    return overloads(moments, held, problem.num_nodes)


def _areas(durations: IntArray, nodes: IntArray, offsets: IntArray) -> IntArray:
    """Return the node-seconds of each application, as Python integers where 64 bits might not suffice."""
    longest, most = (int(np.abs(column).max(initial=0)) for column in (durations, nodes))
    if longest * most * len(nodes) > UNLIMITED:
        durations, nodes = durations.astype(object), nodes.astype(object)
    areas: IntArray = np.add.reduceat(durations * nodes, offsets[:-1])
    return areas


@dataclass(frozen=True, slots=True)
class ApplicationMetrics:
    """What each application is worth: arrays of shape (applications,)."""

    #: Start minus release, in seconds.
    waiting: IntArray
    #: When the last node is released, in seconds.
    completion: IntArray
    #: Node-seconds that are held.
    allocated: IntArray
    #: Node-seconds of the request.
    useful: IntArray
    #: Total duration of the scheduled over the requested profile, minus 1.
    expansion: np.ndarray[tuple[int], np.dtype[np.float64]]
    #: Wasted over useful node-seconds.
    waste: np.ndarray[tuple[int], np.dtype[np.float64]]


def application_metrics(
    problem: EvolutionProblem, schedule: EvolutionSchedule, *, rigid: bool = False
) -> ApplicationMetrics:
    """Return the metrics of each application of a non-empty problem; see `evolution_metrics`."""
    _step_starts(schedule)  # refuses what would overflow
    requested = problem.packed
    offsets, durations, nodes = schedule.offsets, schedule.durations, schedule.nodes
    spans = np.add.reduceat(durations, offsets[:-1])
    if rigid:
        nodes = np.repeat(np.maximum.reduceat(nodes, offsets[:-1]), np.diff(offsets))
    allocated = _areas(durations, nodes, offsets)
    useful = _areas(requested.durations, requested.nodes, requested.offsets)
    requested_spans = np.add.reduceat(requested.durations, requested.offsets[:-1])
    wasted = (allocated - useful).astype(float)
    useful_or_one = np.maximum(useful, 1).astype(float)  # an application of 0 nodes wastes nothing
    return ApplicationMetrics(
        waiting=schedule.starts - requested.releases,
        completion=schedule.starts + spans,
        allocated=allocated,
        useful=useful,
        expansion=spans / requested_spans - 1,
        waste=wasted / useful_or_one,
    )


@dataclass(frozen=True, slots=True)
class EvolutionMetrics:
    """What a schedule is worth: the metrics of Klein & Perez 2011, tables 1 and 2, and their raw terms.

    Ratios are fractions (0.05 is 5 %). Waste counts relative to the useful area, as in the paper.
    """

    makespan: int  #: latest completion, seconds
    mean_completion: float  #: mean completion time, seconds from time 0
    mean_turnaround: float  #: mean of completion minus release, seconds
    mean_waiting: float  #: mean of start minus release, seconds
    total_waste: int  #: held but not requested, node-seconds
    allocated_area: int  #: held, node-seconds
    useful_area: int  #: requested, node-seconds
    waste: float  #: total_waste / useful_area
    utilisation: float  #: allocated_area / (num_nodes * makespan)
    effective_utilisation: float  #: useful_area / (num_nodes * makespan)
    expanded: float  #: share of the applications that were expanded
    mean_expansion: float  #: mean over applications of (scheduled / requested duration) - 1
    max_expansion: float  #: largest of these
    mean_application_waste: float  #: mean over applications of wasted / useful node-seconds
    max_application_waste: float  #: largest of these


def evolution_metrics(
    problem: EvolutionProblem, schedule: EvolutionSchedule, *, rigid: bool = False
) -> EvolutionMetrics:
    """Return all metrics of a schedule. The schedule need not be feasible, but must be of this problem.

    With `rigid` each application counts as a reservation of its peak for its whole span, as a resource
    manager that knows no evolution would make it.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", 2011, section 5.1.
    """
    if len(schedule.starts) != len(problem.applications):
        msg = f"{len(schedule.starts)} scheduled applications for {len(problem.applications)} requested"
        raise InvalidAnswer(msg)
    if not problem.applications:
        return EvolutionMetrics(0, *(0.0,) * 3, *(0,) * 3, *(0.0,) * 8)
    apps = application_metrics(problem, schedule, rigid=rigid)
    makespan = int(apps.completion.max())
    allocated, useful = int(apps.allocated.sum()), int(apps.useful.sum())
    capacity = problem.num_nodes * makespan or 1
    return EvolutionMetrics(
        makespan=makespan,
        mean_completion=_mean(apps.completion),
        mean_turnaround=_mean(apps.completion - problem.packed.releases),
        mean_waiting=_mean(apps.waiting),
        total_waste=allocated - useful,
        allocated_area=allocated,
        useful_area=useful,
        waste=(allocated - useful) / max(useful, 1),
        utilisation=allocated / capacity,
        effective_utilisation=useful / capacity,
        expanded=int(np.count_nonzero(apps.expansion > 0)) / len(apps.expansion),
        mean_expansion=float(apps.expansion.mean()),
        max_expansion=float(apps.expansion.max()),
        mean_application_waste=float(apps.waste.mean()),
        max_application_waste=float(apps.waste.max()),
    )


def _mean(values: IntArray) -> float:
    """Return the mean; the sum is exact."""
    return int(summable(values).sum()) / len(values)


def evolution_value(
    problem: EvolutionProblem, schedule: EvolutionSchedule, objective: EvolutionObjective
) -> Value:
    """Return the objective value: a number for one term, a tuple for several.

    ``makespan`` in seconds, ``completion`` the mean completion time in seconds, ``waste`` the total waste in
    node-seconds; all from time 0 and to be minimised. 0 for the empty problem.
    """
    return value_of(EVOLUTION_TERMS, evolution_metrics(problem, schedule), objective)


def _mean_completion_bound(problem: EvolutionProblem) -> float:
    """Return the least sum of completion times, over their number."""
    least_sum: int = imported("allocsolve.bounds:total_completion")(problem)
    return least_sum / max(len(problem.applications), 1)


#: What can be minimised of a schedule.
EVOLUTION_TERMS: Final[tuple[Term[EvolutionProblem], ...]] = (
    Term(
        *("makespan", "end of the last application", "s", attrgetter("makespan")),
        bound=imported("allocsolve.bounds:makespan_bound"),
    ),
    Term(
        *("completion", "mean completion time", "s", attrgetter("mean_completion")),
        bound=_mean_completion_bound,
    ),
    Term("waste", "node-seconds held beyond the profiles", "node-s", attrgetter("total_waste")),
)
