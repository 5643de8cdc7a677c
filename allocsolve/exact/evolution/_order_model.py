"""The ordering relaxation of evolution-profile scheduling as a CP-SAT model.

Variables are step times; the only resource constraints are clauses over "block I ends before block J
starts" (see `_conflicts` beside this module). With the pairs alone, or pairs and triples, it is a relaxation,
whose optimum is a lower bound; with every cover that an answer violates added in turn it becomes exact. A
cumulative constraint is not among them: it only slows the search down.

The two timings differ in their time variables. Without expansion an application has one variable, its
start; with expansion each step has one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import pairwise, permutations, takewhile
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from ortools.sat.python import cp_model

from allocsolve.exact.evolution._choices import merged_holes
from allocsolve.exact.evolution._conflicts import blocks_of, conflicting_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from allocsolve.exact.evolution._conflicts import Block
    from allocsolve.model import Clock, EvolutionProblem, EvolutionTerm, IntArray

T = TypeVar("T")


class _Timing(Protocol):
    """Time variables, and literals that compare them."""

    def separate_all(self, pairs: Iterable[tuple[Block, ...]]) -> None:
        """Forbid that the two blocks of any pair overlap."""

    def before(self, first: Block, second: Block) -> cp_model.LiteralT:
        """Return a literal that implies that `first` ends before `second` starts."""

    def orders(self, times: list[list[int]], apps: list[int]) -> list[cp_model.LiteralT]:
        """Return the literals between some applications that are true at given step times."""

    def step_times(self, app: int) -> list[cp_model.LinearExpr]:
        """Return the starts of the steps of an application, then its completion."""


class _FixedTiming:
    """Times without expansion: one start per application; all constraints are on start differences.

    For each pair of applications a < b, D = start_b - start_a. Pairs of blocks that conflict forbid an
    interval of D (a *hole*). A threshold literal means D >= v, its negation D <= v - 1, both rounded to the
    next value outside the holes; thresholds of one pair form a chain.
    """

    def __init__(self, model: cp_model.CpModel, problem: EvolutionProblem, horizon: int) -> None:
        self._model = model
        self._offsets = [
            [0, *np.cumsum(profile.durations, dtype=np.int64).tolist()] for profile in problem.applications
        ]
        self._earliest = list(problem.releases)
        self._latest = [horizon - offsets[-1] for offsets in self._offsets]
        self._starts = [
            model.new_int_var(low, high, f"start {name}")
            for low, high, name in zip(self._earliest, self._latest, problem.application_names, strict=True)
        ]
        self._holes: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._thresholds: dict[tuple[int, int], list[int]] = {}
        self._literals: dict[tuple[int, int, int], cp_model.IntVar] = {}

    def separate_all(self, pairs: Iterable[tuple[Block, ...]]) -> None:
        """For every pair, D <= start(first) - end(second) or D >= end(first) - start(second), in offsets."""
        for first, second in pairs:
            a, b = self._offsets[first.app], self._offsets[second.app]
            low = a[first.first] - b[second.last + 1] + 1
            high = a[first.last + 1] - b[second.first] - 1
            self._holes.setdefault((first.app, second.app), []).append((low, high))
        for key, holes in self._holes.items():
            self._holes[key] = merged_holes(holes)
            for low, high in self._holes[key]:
                self._at_least(*key, high + 1)
                self._keep_out(*key, low, high)

    def _keep_out(self, a: int, b: int, low: int, high: int) -> None:
        """Forbid a hole that covers an end of the domain of D, where its threshold is a constant."""
        least, greatest = self._range(a, b)
        if least <= greatest and high >= greatest >= low:
            self._model.add(self._starts[b] - self._starts[a] <= low - 1)
        if least <= greatest and low <= least <= high:
            self._model.add(self._starts[b] - self._starts[a] >= high + 1)

    def _range(self, a: int, b: int) -> tuple[int, int]:
        return self._earliest[b] - self._latest[a], self._latest[b] - self._earliest[a]

    def _at_least(self, a: int, b: int, value: int) -> cp_model.LiteralT:
        """Return the literal of start_b - start_a >= value, for a < b."""
        holes = self._holes.get((a, b), [])
        below = value - 1  # the largest allowed difference under the threshold
        at = bisect_left(holes, (value, value)) - 1  # the last hole that begins before `value`
        for low, high in holes[max(at, 0) : at + 2]:
            if low <= value <= high:
                value = high + 1
            if low <= below <= high:
                below = low - 1
        least, greatest = self._range(a, b)
        if value <= least:
            return True
        if value > greatest:
            return False
        literal = self._literals.get((a, b, value))
        if literal is None:
            difference = self._starts[b] - self._starts[a]
            literal = self._literals[a, b, value] = self._model.new_bool_var(f"{b}-{a}>={value}")
            self._model.add(difference >= value).only_enforce_if(literal)
            self._model.add(difference <= below).only_enforce_if(~literal)
            self._chain(a, b, value, literal)
        return literal

    def _chain(self, a: int, b: int, value: int, literal: cp_model.IntVar) -> None:
        """Add that D >= v implies D >= u for the next smaller threshold u."""
        chain = self._thresholds.setdefault((a, b), [])
        at = bisect_left(chain, value)
        if at > 0:
            self._model.add_implication(literal, self._literals[a, b, chain[at - 1]])
        if at < len(chain):
            self._model.add_implication(self._literals[a, b, chain[at]], literal)
        insort(chain, value)

    def before(self, first: Block, second: Block) -> cp_model.LiteralT:
        """Return the literal that the starts differ by at least the gap of the two offsets."""
        gap = self._offsets[first.app][first.last + 1] - self._offsets[second.app][second.first]
        if first.app < second.app:
            return self._at_least(first.app, second.app, gap)
        literal = self._at_least(second.app, first.app, 1 - gap)
        return (not literal) if isinstance(literal, bool) else ~literal

    def orders(self, times: list[list[int]], apps: list[int]) -> list[cp_model.LiteralT]:
        """Return D >= v or its negation, for every threshold."""
        among = set(apps)
        return [
            literal if times[b][0] - times[a][0] >= value else ~literal
            for (a, b, value), literal in self._literals.items()
            if a in among and b in among
        ]

    def step_times(self, app: int) -> list[cp_model.LinearExpr]:
        """Return start + offset of each step."""
        return [self._starts[app] + offset for offset in self._offsets[app]]


class _ElasticTiming:
    """Times with expansion: a start per step; the first and the last step need not be expanded.

    Literals "end of step i of a <= start of step j of b"; earlier i and later j are implied (a staircase).
    """

    def __init__(self, model: cp_model.CpModel, problem: EvolutionProblem, horizon: int) -> None:
        self._model = model
        self._times: list[list[cp_model.LinearExpr]] = []
        offsets, _, _, longest, _ = problem.packed
        for app, profile in enumerate(problem.applications):
            limits = longest[offsets[app] : offsets[app + 1]].tolist()
            self._times.append(self._variables(problem, app, profile.durations, limits, horizon))
        self._literals: dict[tuple[int, int], dict[tuple[int, int], cp_model.IntVar]] = {}

    def _variables(
        self, problem: EvolutionProblem, app: int, durations: tuple[int, ...], limits: list[int], horizon: int
    ) -> list[cp_model.LinearExpr]:
        """Add duration <= time[i + 1] - time[i] <= limit, with equality for the first and the last step."""
        name = problem.application_names[app]
        before = np.cumsum([0, *durations[:-1]]).tolist()
        total = sum(durations)
        num_steps = len(durations)
        variables = [
            self._model.new_int_var(
                problem.releases[app] + before[i], horizon - (total - before[i]), f"start {name}.{i}"
            )
            for i in range(min(1, num_steps - 1), num_steps)
        ]
        for i in range(1, num_steps - 1):
            held = variables[i] - variables[i - 1]
            self._model.add(held >= durations[i])
            if limits[i] < horizon:
                self._model.add(held <= limits[i])
        first = [variables[0] - durations[0]] if num_steps > 1 else []
        return [*first, *variables, variables[-1] + durations[-1]]

    def separate_all(self, pairs: Iterable[tuple[Block, ...]]) -> None:
        """For every pair, exactly one of the two blocks ends before the other starts."""
        for first, second in pairs:
            self._model.add_exactly_one(self.before(first, second), self.before(second, first))

    def before(self, first: Block, second: Block) -> cp_model.LiteralT:
        """Return the literal "end of `first` <= start of `second`"."""
        own = self._literals.setdefault((first.app, second.app), {})
        key = first.last, second.first
        if key not in own:
            literal = self._model.new_bool_var(f"{first.app}.{key[0]}<{second.app}.{key[1]}")
            end, start = self._times[first.app][key[0] + 1], self._times[second.app][key[1]]
            self._model.add(end <= start).only_enforce_if(literal)
            self._staircase(own, key, literal)
            own[key] = literal
        return own[key]

    def _staircase(
        self, own: dict[tuple[int, int], cp_model.IntVar], key: tuple[int, int], literal: cp_model.IntVar
    ) -> None:
        """Add that i before j implies i' before j' for i' <= i and j' >= j (the nearest ones suffice)."""
        implied = [k for k in own if k[0] <= key[0] and k[1] >= key[1]]
        implying = [k for k in own if k[0] >= key[0] and k[1] <= key[1]]
        for k in implied:
            if not any(o != k and o[0] >= k[0] and o[1] <= k[1] for o in implied):
                self._model.add_implication(literal, own[k])
        for k in implying:
            if not any(o != k and o[0] <= k[0] and o[1] >= k[1] for o in implying):
                self._model.add_implication(own[k], literal)

    def orders(self, times: list[list[int]], apps: list[int]) -> list[cp_model.LiteralT]:
        """Return the literals "end of i <= start of j" that hold; the others stay open."""
        among = set(apps)
        return [
            literal
            for (a, b), own in self._literals.items()
            if a in among and b in among
            for (i, j), literal in own.items()
            if times[a][i + 1] <= times[b][j]
        ]

    def step_times(self, app: int) -> list[cp_model.LinearExpr]:
        """Return the variables themselves."""
        return self._times[app]


class OrderModel:
    """The relaxation, built once and tightened by covers and cutoffs.

    Every application completes by `horizon`, in seconds. Covers of up to `largest_cover` blocks, 2 for the
    pairs alone, are in the model from the beginning if they are collected in the time of the clock; missing
    covers only weaken the relaxation.
    """

    def __init__(self, problem: EvolutionProblem, horizon: int, clock: Clock, *, largest_cover: int) -> None:
        self.model = cp_model.CpModel()
        self.blocks = blocks_of(problem)
        self._problem = problem
        self._covers: set[tuple[Block, ...]] = set()
        fixed = bool((problem.packed.max_durations == problem.packed.durations).all())
        self._timing: _Timing = (_FixedTiming if fixed else _ElasticTiming)(self.model, problem, horizon)
        self._times = [self._timing.step_times(app) for app in range(len(problem.applications))]
        self._horizon = horizon
        self._waste: cp_model.LinearExpr | None = None
        self._makespan = self.model.new_int_var(0, horizon, "makespan")
        for times in self._times:
            self.model.add(times[-1] <= self._makespan)
        self._timing.separate_all(_until(clock, conflicting_sets(self.blocks, problem.num_nodes, 2)))
        for size in range(3, largest_cover + 1):
            for cover in _until(clock, conflicting_sets(self.blocks, problem.num_nodes, size)):
                self.exclude(cover)

    def exclude(self, cover: tuple[Block, ...]) -> None:
        """Add that, of blocks that do not all fit, one ends before another starts."""
        if cover not in self._covers:
            self._covers.add(cover)
            self.model.add_bool_or(
                [self._timing.before(first, second) for first, second in permutations(cover, 2)]
            )

    def term(self, term: EvolutionTerm) -> cp_model.LinearExpr:
        """Return an objective term: makespan, total completion time, or total waste.

        Waste adds variables to the model when it is first asked for.
        """
        if term == "makespan":
            return self._makespan
        if term == "completion":
            return cp_model.LinearExpr.sum([times[-1] for times in self._times])
        if self._waste is None:
            self._waste = cp_model.LinearExpr.sum(self._wasted())
        return self._waste

    def _wasted(self) -> list[cp_model.LinearExpr]:
        """Return nodes * idle of each step that may be expanded; idle = end - start - duration is a variable.

        A sum over the times themselves would hide that no idle time is negative: times cancel out in it, and
        its bounds would be propagated second by second, up to the horizon.
        """
        idle_limits = (self._problem.packed.max_durations - self._problem.packed.durations).tolist()
        offsets, terms = self._problem.packed.offsets.tolist(), []
        for app, times in enumerate(self._times):
            steps = self._problem.applications[app].steps
            for idx in range(1, len(steps) - 1):
                (duration, nodes), max_idle = steps[idx], min(idle_limits[offsets[app] + idx], self._horizon)
                if nodes and max_idle:
                    idle = self.model.new_int_var(0, max_idle, f"idle {app}.{idx}")
                    self.model.add(times[idx + 1] - times[idx] - duration == idle)
                    terms.append(nodes * idle)
        return terms

    def orders(self, starts: IntArray, ends: IntArray, apps: list[int]) -> list[cp_model.LiteralT]:
        """Return the literals between some applications that are true at given step times."""
        offsets = self._problem.packed.offsets.tolist()
        times = [[*starts[a:b].tolist(), int(ends[b - 1])] for a, b in pairwise(offsets)]
        return self._timing.orders(times, apps)

    def read_times(self, value: Callable[[cp_model.LinearExpr], int]) -> tuple[IntArray, IntArray]:
        """Return starts and ends of all steps, given the value of an expression."""
        values = [[value(time) for time in times] for times in self._times]
        starts = [start for times in values for start in times[:-1]]
        ends = [end for times in values for end in times[1:]]
        return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)


def _until(clock: Clock, items: Iterator[T]) -> Iterator[T]:
    """Yield the items while there is time."""
    return takewhile(lambda _: clock.remaining > 0, items)
