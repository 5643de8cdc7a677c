"""Evolution-profile scheduling as a time-indexed MILP, solved by CBC through PuLP: a cross-check on toys.

Four steps: variables, constraints, objective, read-back. Z[i, t] is 1 iff step i has started by time t (one
past the last: iff the last has ended).

*Unit of time.* Times are multiples of the greatest common divisor of all durations, releases and binding
limits on a hold. That is exact. Take an optimal schedule and keep every relation "step i ends before step j
starts" that it satisfies: with durations, limits, releases and horizon these are difference constraints whose
right-hand sides are multiples of the unit. Every schedule that satisfies them fits the cluster: steps that
overlap in it pairwise did so before, and intervals that overlap pairwise share an instant (Helly). The matrix
is totally unimodular, so the vertices of this polyhedron are multiples of the unit; and makespan, sum of
completions and waste are attained at a vertex, lexicographic combinations too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from allocsolve.backends.cbc import run_cbc
from allocsolve.bounds import makespan_bound, strong_makespan_bound, total_completion
from allocsolve.model import EvolutionObjective, EvolutionProfile, EvolutionSchedule, Limit, Result, Status
from allocsolve.model.options import Options, Within
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from allocsolve.model import Budget, Clock, EvolutionProblem, Value

#: For each application, the starts of its steps and the end of the last one.
Times: TypeAlias = "Sequence[Sequence[int]]"


def time_unit(problem: EvolutionProblem) -> int:
    """Return the greatest common divisor of all times that bind, in seconds (proof: see the module)."""
    limits = problem.packed.max_durations
    binding = limits[limits < problem.horizon]  # other limits never bind within the horizon
    return math.gcd(*problem.packed.durations.tolist(), *problem.releases, *binding.tolist()) or 1


def coarsened(problem: EvolutionProblem, unit: int) -> EvolutionProblem:
    """Return the problem in units of `unit` seconds, a divisor of `time_unit`.

    The limits stay exact: if the unit divides floor(limit * d), this is unit * floor(limit * d / unit); and a
    limit that does not bind within the horizon still does not.
    """
    apps = (
        EvolutionProfile(tuple((duration // unit, nodes) for duration, nodes in app.steps))
        for app in problem.applications
    )
    releases = tuple(release // unit for release in problem.releases)
    return replace(problem, applications=tuple(apps), releases=releases)


class Window(NamedTuple):
    """The times at which the boundaries of an application can lie: its steps' starts and the last end."""

    #: The time of each boundary if nothing delays or expands the application.
    earliest: list[int]
    #: The latest time minus the earliest, which is the same for all boundaries.
    width: int
    #: Boundaries that do not follow the previous one at a fixed distance.
    free: list[int]


def windows(problem: EvolutionProblem, objective: EvolutionObjective, *, max_cells: int) -> list[Window]:
    """Return windows that contain some optimal schedule.

    The first and the last step are not expanded: to start later, or to release earlier, harms no objective.

    All times of the problem are in the unit of the windows. List schedules narrow the windows unless
    applications times seconds of the horizon exceed `max_cells`.
    """
    places = []
    limits = problem.packed.max_durations.tolist()
    for idx, deadline in enumerate(_deadlines(problem, objective, max_cells)):
        app, release = problem.applications[idx], problem.releases[idx]
        first = int(problem.packed.offsets[idx])
        inner = range(1, len(app.steps) - 1)
        places.append(
            Window(
                earliest=list(accumulate(app.durations, initial=release)),
                width=deadline - release - app.duration,
                free=[0, *(step + 1 for step in inner if limits[first + step] > app.durations[step])],
            )
        )
    return places


def _deadlines(problem: EvolutionProblem, objective: EvolutionObjective, max_cells: int) -> list[int]:
    """Return completions that some optimal schedule keeps.

    A schedule without expansion wastes nothing. So an optimal schedule is at least as good in the first other
    term, whether or not waste comes before it; and if waste is the only term, the schedule is optimal.
    """
    apps = problem.applications
    if not apps or len(apps) * (problem.horizon - min(problem.releases)) > max_cells:
        return [problem.horizon] * len(apps)
    term = next((term for term in objective if term != "waste"), "makespan")
    value = max if term == "makespan" else sum
    orders = (
        sorted(range(len(apps)), key=lambda idx: -keys[idx])
        for keys in ([0] * len(apps), [app.area for app in apps], [app.duration for app in apps])
    )
    best = min((list_schedule(problem, order) for order in orders), key=value)
    if term == "makespan":
        return [max(best)] * len(apps)
    spare = sum(best) - total_completion(problem)
    released = zip(problem.releases, apps, strict=True)
    return [min(problem.horizon, release + app.duration + spare) for release, app in released]


def list_schedule(problem: EvolutionProblem, order: Iterable[int]) -> list[int]:
    """Return the completions when each application in turn starts as early as it fits, without expansion.

    It works on an array of the whole time line, O(steps * span): an exact model must not rest on the kernels
    that it is meant to check.
    """
    origin = min(problem.releases)
    used = np.zeros(problem.horizon - origin, dtype=np.int64)
    completions = [0] * len(problem.applications)
    for idx in order:
        app, first = problem.applications[idx], problem.releases[idx] - origin
        num_starts = len(used) - app.duration - first + 1
        possible = np.ones(num_starts, dtype=bool)
        begin = first
        for duration, nodes in app.steps:
            over = np.cumsum(np.concatenate([[0], used > problem.num_nodes - nodes]))
            end = begin + duration
            possible &= over[end : end + num_starts] == over[begin : begin + num_starts]
            begin = end
        start = first + int(possible.argmax())  # behind all others it fits
        used[start : start + app.duration] += np.repeat(app.nodes, app.durations)
        completions[idx] = origin + start + app.duration
    return completions


def fits(problem: EvolutionProblem, times: Times) -> bool:
    """Return whether times keep releases, durations and limits, and never need more nodes than there are."""
    limits = iter(problem.packed.max_durations.tolist())
    changes = []
    for release, app, row in zip(problem.releases, problem.applications, times, strict=True):
        if row[0] < release:
            return False
        for (duration, nodes), (start, end) in zip(app.steps, pairwise(row), strict=True):
            if not duration <= end - start <= next(limits):
                return False
            changes += [(start, nodes), (end, -nodes)]
    # At equal times, releases of nodes come before requests.
    return max(accumulate(nodes for _, nodes in sorted(changes)), default=0) <= problem.num_nodes


def objective_values(
    problem: EvolutionProblem, times: Times, objective: EvolutionObjective
) -> tuple[int, ...]:
    """Return the terms of the objective: makespan, total completion, waste."""
    ends = [row[-1] for row in times]
    held = sum(
        nodes * (end - start)
        for app, row in zip(problem.applications, times, strict=True)
        for nodes, (start, end) in zip(app.nodes, pairwise(row), strict=True)
    )
    values = {"makespan": max(ends, default=0), "completion": sum(ends), "waste": held - problem.area}
    return tuple(values[term] for term in objective)


#: The most nodes: with more, the tolerance of CBC (1e-6 on a variable that is 0 or 1) weighs a whole node.
_MAX_NODES = 10**6
#: The share of the time of a search that the bound by configurations may take after it.
_BOUND_SHARE = 0.1
#: Windows are not narrowed by list schedules if that would have to save more than this factor.
_NARROWING = 10


@dataclass(frozen=True, slots=True)
class EvolutionMilp(Options):
    """Find a best schedule by a time-indexed MILP (CBC through PuLP).

    Parameters
    ----------
    objective
        Terms to minimise, the first one first: ``makespan`` (seconds), ``completion`` (mean absolute
        completion time, seconds), ``waste`` (node-seconds held beyond the requests).
    max_variables
        Most binary variables that are tried; a larger instance ends at once, with the limit SIZE.

    Notes
    -----
    Of the budget, `seconds` and `workers` (threads of CBC) count. Without a proof the status is FEASIBLE and
    the bound is a combinatorial one of `allocsolve.bounds`: PuLP does not report the bound of CBC. CBC
    computes in doubles; its times are rounded, then checked and valued in integers.
    """

    objective: EvolutionObjective = ("makespan",)
    max_variables: Annotated[int, Within(0)] = 60_000

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        """Solve within the budget."""
        clock = budget.start()
        unit = time_unit(problem)
        grid = coarsened(problem, unit)
        places = windows(grid, self.objective, max_cells=_NARROWING * self.max_variables)
        num_variables = sum(window.width * len(window.free) for window in places)
        if num_variables > self.max_variables or problem.num_nodes > _MAX_NODES:
            return self._result(problem, None, 0, Limit.SIZE, clock)
        if num_variables:
            times, proven = _minimise(grid, places, self.objective, clock, budget.racing_workers)
        else:  # each application has only one place
            times, proven = [window.earliest for window in places], len(self.objective)
        seconds = None if times is None else [[unit * time for time in row] for row in times]
        limit = None if math.isinf(budget.seconds) else Limit.TIME
        return self._result(problem, seconds, proven, limit, clock)

    def _result(
        self, problem: EvolutionProblem, times: Times | None, proven: int, limit: Limit | None, clock: Clock
    ) -> Result[EvolutionSchedule]:
        cheap = {"makespan": makespan_bound(problem), "completion": total_completion(problem), "waste": 0}
        floors = [cheap[term] for term in self.objective]
        if times is None:
            bound = self._shown(problem, floors)
            return Result(Status.UNKNOWN, bound=bound, limit=limit, runtime=clock.elapsed)
        values = objective_values(problem, times, self.objective)
        while proven < len(values) and values[proven] == floors[proven]:
            proven += 1
        if proven == 0 and self.objective[0] == "makespan":
            floors[0] = strong_makespan_bound(problem, seconds=_BOUND_SHARE * clock.elapsed).value
        profiles = [
            app.expanded([end - start for start, end in pairwise(row)])
            for app, row in zip(problem.applications, times, strict=True)
        ]
        schedule = EvolutionSchedule.of([row[0] for row in times], profiles)
        bounds = (*values[:proven], *floors[proven:])
        return search_result(schedule, values, bounds, limit, clock, shown=partial(self._shown, problem))

    def _shown(self, problem: EvolutionProblem, values: Sequence[int]) -> Value:
        """Return the total completion as the mean, and a single term as a plain number."""
        num_apps = max(len(problem.applications), 1)
        pairs = zip(self.objective, values, strict=True)
        shown = tuple(value / num_apps if term == "completion" else value for term, value in pairs)
        return shown if len(shown) > 1 else shown[0]


# ---- Variables ------------------------------------------------------------------------------------------


class _Boundary(NamedTuple):
    """The start of a step or the last end: ``columns[k]`` is 1 iff it is passed by time earliest + k."""

    earliest: int
    #: Shared with the previous boundary if the step between them is not expanded.
    columns: list[Any]

    @property
    def latest(self) -> int:
        return self.earliest + len(self.columns)

    def passed(self, time: int) -> Any:  # noqa: ANN401 - PuLP has no types
        """Return the variable, or 0 before the window and 1 after it."""
        if self.earliest <= time < self.latest:
            return self.columns[time - self.earliest]
        return int(time >= self.latest)


class _Variables(NamedTuple):
    #: The boundaries of each application, one more than its steps.
    boundaries: list[list[_Boundary]]
    #: The time before which no schedule ends.
    first_end: int
    #: ``busy[k]`` is 1 if some application ends after first_end + k; empty if the makespan is no term.
    busy: list[Any]

    def busy_at(self, time: int) -> Any:  # noqa: ANN401 - PuLP has no types
        """Return the variable, or 1 where there is none."""
        k = time - self.first_end
        return self.busy[k] if 0 <= k < len(self.busy) else 1


def _variables(model: Any, places: list[Window], objective: EvolutionObjective) -> _Variables:  # noqa: ANN401 - PuLP has no types
    import pulp  # noqa: PLC0415 - heavy, and other solvers do without

    # PuLP 3.3.1 deprecates the constructor in favour of a method that earlier versions do not have.
    new = getattr(model, "add_variable", pulp.LpVariable)
    boundaries = []
    for app, window in enumerate(places):
        row: list[_Boundary] = []
        for idx, earliest in enumerate(window.earliest):
            if idx in window.free:
                columns = [new(f"z_{app}_{idx}_{k}", 0, 1, pulp.LpInteger) for k in range(window.width)]
            row.append(_Boundary(earliest, columns))
        boundaries.append(row)
    ends = [row[-1] for row in boundaries]
    first, last = max(end.earliest for end in ends), max(end.latest for end in ends)
    span = last - first if "makespan" in objective else 0
    return _Variables(boundaries, first, [new(f"busy_{k}", 0, 1) for k in range(span)])


def _linear(terms: Iterable[tuple[int, Any]]) -> Any:  # noqa: ANN401 - PuLP has no types
    """Return the sum of coefficient * x; x is a number, or a variable that occurs once."""
    import pulp  # noqa: PLC0415 - heavy, and other solvers do without

    terms = list(terms)
    constant = sum(coefficient * x for coefficient, x in terms if isinstance(x, int))
    pairs = [(x, coefficient) for coefficient, x in terms if not isinstance(x, int)]
    return pulp.LpAffineExpression(pairs, constant)


# ---- Constraints ----------------------------------------------------------------------------------------


def _monotone(_: EvolutionProblem, variables: _Variables) -> Iterator[Any]:
    """Z[i, t] <= Z[i, t + 1]: a passed boundary stays passed."""
    for row in variables.boundaries:
        distinct = {id(boundary.columns): boundary.columns for boundary in row}
        for columns in distinct.values():
            yield from (now <= then for now, then in pairwise(columns))


def _durations(problem: EvolutionProblem, variables: _Variables) -> Iterator[Any]:
    """Z[i + 1, t + d_i] <= Z[i, t] <= Z[i + 1, t + max_d_i]: step i lasts from d_i to max_d_i."""
    limits = iter(problem.packed.max_durations.tolist())
    for app, row in zip(problem.applications, variables.boundaries, strict=True):
        for duration, (start, end) in zip(app.durations, pairwise(row), strict=True):
            slack = next(limits) - duration
            if start.columns is not end.columns:
                # Both windows are equally wide, and d_i apart.
                yield from (z_end <= z for z, z_end in zip(start.columns, end.columns, strict=True))
                yield from (z <= z_end for z, z_end in zip(start.columns, end.columns[slack:], strict=False))


def _capacity(problem: EvolutionProblem, variables: _Variables) -> Iterator[Any]:
    """Sum over i of n_i (Z[i, t] - Z[i + 1, t]) <= num_nodes * Busy[t] at every t (1 if Busy is unused)."""
    changes = [  # the terms of the sum, by boundaries
        (after - before, boundary)
        for app, row in zip(problem.applications, variables.boundaries, strict=True)
        for before, after, boundary in zip((0, *app.nodes), (*app.nodes, 0), row, strict=True)
        if before != after
    ]
    for time in range(min(problem.releases), max(row[-1].latest for row in variables.boundaries)):
        used = _linear((change, boundary.passed(time)) for change, boundary in changes)
        if used.keys():  # otherwise no variable is involved
            yield used <= problem.num_nodes * variables.busy_at(time)


def _makespan(_: EvolutionProblem, variables: _Variables) -> Iterator[Any]:
    """Busy[t] >= 1 - Z[end of a, t]: the cluster is busy until the last application a has ended."""
    for time, busy in enumerate(variables.busy, start=variables.first_end):
        for *_steps, end in variables.boundaries:
            if time < end.latest:
                yield busy + end.passed(time) >= 1


# ---- Objective ------------------------------------------------------------------------------------------


def _objective(term: str, problem: EvolutionProblem, variables: _Variables) -> Any:  # noqa: ANN401 - PuLP has no types
    """Return a term as an expression: a boundary is at its latest time minus the sum of its columns."""
    if term == "makespan":
        return _linear([(1, variables.first_end), *((1, busy) for busy in variables.busy)])
    if term == "completion":
        ends = [row[-1] for row in variables.boundaries]
        return _linear([*((1, end.latest) for end in ends), *((-1, z) for end in ends for z in end.columns)])
    waste = _linear([])
    for app, row in zip(problem.applications, variables.boundaries, strict=True):
        for nodes, (start, end) in zip(app.nodes, pairwise(row), strict=True):
            if start.columns is not end.columns:
                waste += _linear((nodes, z) for z in start.columns)
                waste -= _linear((nodes, z) for z in end.columns)
    return waste


# ---- Solving and read-back ------------------------------------------------------------------------------


def _minimise(
    problem: EvolutionProblem, places: list[Window], objective: EvolutionObjective, clock: Clock, workers: int
) -> tuple[Times | None, int]:
    """Return the best times, and the number of first terms whose minima are proven."""
    import pulp  # noqa: PLC0415 - heavy, and other solvers do without

    model = pulp.LpProblem("evolution", pulp.LpMinimize)
    variables = _variables(model, places, objective)
    families = (_monotone, _durations, _capacity, _makespan)
    for constraint in chain.from_iterable(family(problem, variables) for family in families):
        if not clock.remaining:
            return None, 0
        model.addConstraint(constraint)
    anchor = next(z for row in variables.boundaries for z in row[0].columns)
    best: Times | None = None
    best_values: tuple[int, ...] | None = None
    for proven, term in enumerate(objective):
        expression = _objective(term, problem, variables)
        expression.addterm(anchor, 0)  # CBC does not read rows without variables
        model.setObjective(expression)
        status = run_cbc(model, clock.remaining, workers)
        # The plain status of PuLP is "Optimal" also for an incumbent at the time limit; this status is not.
        if status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
            return best, proven
        times = _read_back(variables)
        values = objective_values(problem, times, objective)
        if not fits(problem, times) or round(expression.value()) != values[proven]:
            return best, proven
        if best_values is None or values < best_values:
            best, best_values = times, values
        if status != pulp.LpSolutionOptimal or values[: proven + 1] != best_values[: proven + 1]:
            return best, proven
        model.addConstraint(expression <= values[proven])
    return best, len(objective)


def _read_back(variables: _Variables) -> Times:
    """Return the boundaries as integers: each is passed behind the last of its columns that is 0."""
    return [
        [boundary.earliest + sum(round(z.value() or 0) == 0 for z in boundary.columns) for boundary in row]
        for row in variables.boundaries
    ]
