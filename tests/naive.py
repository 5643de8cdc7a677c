"""Slow obvious twins of the fast code: plain Python, nothing shared with any solver."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.model import EvolutionProfile, EvolutionSchedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allocsolve.model import EvolutionObjective, EvolutionProblem


class NaiveFit(NamedTuple):
    """Where an application goes: its start and the durations of its expanded steps, in seconds."""

    start: int
    durations: tuple[int, ...]


class PublishedFit(NamedTuple):
    """The same with the work done: ``published_fit(...)[:2] == earliest_fit(...)``."""

    start: int
    durations: tuple[int, ...]
    #: Passes through the loop of Algorithm 2, over all calls of the recursion.
    loops: int


class TooManyLoops(Exception):  # noqa: N818 - says what happened
    """The published recursion took more loops than it was allowed."""


@functools.cache
def longest(duration: int, expand_limit: float) -> float:
    """How long a step may hold its nodes: floor(limit * duration), the limit read as a decimal."""
    return expand_limit if math.isinf(expand_limit) else Fraction(str(float(expand_limit))) * duration // 1


def _refuse_too_large(request: EvolutionProfile, num_nodes: int) -> None:
    if request.peak > num_nodes:
        msg = f"{request.peak} nodes never fit on {num_nodes}"
        raise ValueError(msg)


# --- Algorithm 2 of Klein & Perez 2011, to the letter -------------------------------------------------


class _Recursion:
    """Algorithm 2 with what its calls share; numbers in comments are its lines."""

    def __init__(
        self,
        request: EvolutionProfile,
        occupied: EvolutionProfile,
        num_nodes: int,
        expand_limit: float,
        max_loops: float,
    ) -> None:
        self.request, self.num_nodes, self.expand_limit = request, num_nodes, expand_limit
        self.loops, self.max_loops = 0, max_loops
        #: (begin, end, nodes) from the beginning to the end of time.
        self.stretches: list[tuple[float, float, int]] = [(-math.inf, 0, 0)]
        for duration, nodes in (*occupied.steps, (math.inf, 0)):
            begin = self.stretches[-1][1]
            self.stretches.append((begin, begin + duration, nodes))

    def met(self, t0: int, t1: int) -> list[tuple[float, int]]:
        return [(min(end, t1), n) for begin, end, n in self.stretches if begin < t1 and end > t0]

    def highest(self, t0: int, t1: int) -> int:
        return max(n for _, n in self.met(t0, t1)) if t0 < t1 else 0

    def loc(self, t0: int, t1: int) -> int:
        top = self.highest(t0, t1)
        return int(max(end for end, n in self.met(t0, t1) if n == top))

    def fit(self, i: int, t0: int) -> tuple[int, tuple[int, ...] | None]:
        if i > len(self.request.steps):  # 1
            return t0, ()  # 2
        d, n = self.request.steps[i - 1]  # 3
        ts = t0  # 4
        while True:  # 5
            self.loops += 1
            if self.loops > self.max_loops:
                raise TooManyLoops(self.max_loops)
            if self.num_nodes - self.highest(ts, ts + d) < n:  # 6
                ts = self.loc(ts, ts + d)  # 7
                continue
            if i > 1:  # 8
                previous_d, previous_n = self.request.steps[i - 2]
                earliest = ts - longest(previous_d, self.expand_limit)  # 9
                if earliest > t0 - previous_d:  # 10
                    return int(earliest), None  # 11
                if self.num_nodes - self.highest(t0, ts) < previous_n:  # 12
                    return self.loc(t0, ts), None  # 13
            tail_start, tail = self.fit(i + 1, ts + d)  # 14
            if tail is None:  # 15
                ts = tail_start  # 16
                continue
            if i > 1:  # 17
                return ts, (tail_start - ts, *tail)
            return tail_start - d, (d, *tail)  # 18-21


def published_fit(
    request: EvolutionProfile,
    occupied: EvolutionProfile,
    num_nodes: int,
    expand_limit: float,
    earliest_start: int = 0,
    *,
    max_loops: float = math.inf,
) -> PublishedFit:
    """Fit by the published recursion.

    One correction: line 17 is printed "if i > 0" (no step is its first), and must be "if i > 1". With
    integer times, l * d is rounded down.

    Raises
    ------
    TooManyLoops
        After `max_loops` passes through the loop: the recursion is exponential for 1 < limit < infinity.
    """
    _refuse_too_large(request, num_nodes)
    recursion = _Recursion(request, occupied, num_nodes, expand_limit, max_loops)
    start, durations = recursion.fit(1, earliest_start)
    assert durations is not None
    return PublishedFit(start, durations, recursion.loops)


def exponential_instance(num_steps: int) -> tuple[EvolutionProfile, EvolutionProfile, int]:
    """Request, occupation and nodes on which the recursion is exponential for limits from 1.5 to 5.

    Both nodes are free for one second in ten, and one node else. The request ends in (1, 2), (1, 1), (1, 2):
    the two steps that need both nodes are at least nine seconds apart, which the step between them may not
    last and which the first of them may not be held for. So nothing fits before the cluster is idle; but the
    failure shows at the end of the recursion only, and each leading step, 20 seconds on one node that is
    always there, tries several starts per start of the step before it. Without a limit, the step in between
    is simply held.

    `num_steps` is at least 4; the loops grow by a factor of about 2 (limit 1.5), 3 (limit 2) or more with
    each step.
    """
    request = EvolutionProfile((((20, 1),) * (num_steps - 3)) + ((1, 2), (1, 1), (1, 2)))
    occupied = EvolutionProfile(((1, 0), (9, 1)) * (10 * num_steps))
    return request, occupied, 2


# --- fits by looking at every second -------------------------------------------------------------------


class _Holds:
    """For each step, all (begin, end) over which it may hold its nodes, in a window of time."""

    def __init__(
        self,
        request: EvolutionProfile,
        occupied: EvolutionProfile,
        num_nodes: int,
        expand_limit: float,
        window: tuple[int, int],
    ) -> None:
        self.first, self.last = window
        self.pairs: list[set[tuple[int, int]]] = []
        for duration, nodes in request.steps:
            pairs = set()
            for begin in range(self.first, self.last + 1):
                for end in range(begin + 1, self.last + 1):
                    if occupied.value(end - 1) + nodes > num_nodes or end - begin > longest(
                        duration, expand_limit
                    ):
                        break
                    if end - begin >= duration:
                        pairs.add((begin, end))
            self.pairs.append(pairs)

    def rigid(self, step_idx: int, duration: int) -> None:
        """Forbid to expand a step."""
        self.pairs[step_idx] = {
            (begin, end) for begin, end in self.pairs[step_idx] if end - begin == duration
        }

    def times(self, completions: set[int]) -> list[set[int]]:
        """For each step, the starts that occur in some whole placement; then the completions."""
        seconds = set(range(self.first, self.last + 1))
        reached = [seconds]
        for pairs in self.pairs:
            reached.append({end for begin, end in pairs if begin in reached[-1]})
        left = [completions]
        for pairs in reversed(self.pairs):
            left.append({begin for begin, end in pairs if end in left[-1]})
        return [forth & back for forth, back in zip(reached, reversed(left), strict=True)]

    def checked(self, times: Sequence[int]) -> NaiveFit:
        """Return the placement, which must be possible as a whole and not only step by step."""
        steps = list(itertools.pairwise(times))
        assert all(step in pairs for step, pairs in zip(steps, self.pairs, strict=True)), "not a lattice"
        return NaiveFit(times[0], tuple(end - begin for begin, end in steps))


def earliest_fit(
    request: EvolutionProfile,
    occupied: EvolutionProfile,
    num_nodes: int,
    expand_limit: float,
    earliest_start: int = 0,
) -> NaiveFit:
    """Return the componentwise least starts, and so the least completion, without expanding the first step.

    When the cluster is idle everything fits, so no other time needs a look.
    """
    _refuse_too_large(request, num_nodes)
    if not request.steps:
        return NaiveFit(earliest_start, ())
    last = max(earliest_start, occupied.duration) + request.duration
    holds = _Holds(request, occupied, num_nodes, expand_limit, (earliest_start, last))
    holds.rigid(0, request.durations[0])
    return holds.checked([min(times) for times in holds.times(set(range(earliest_start, last + 1)))])


def latest_fit(
    request: EvolutionProfile,
    occupied: EvolutionProfile,
    num_nodes: int,
    expand_limit: float,
    completion: int,
    earliest_start: int = 0,
) -> NaiveFit:
    """Return the componentwise greatest starts among those that end at `completion`.

    The last step is not expanded. This is what compacting gives.

    Raises
    ------
    ValueError
        If nothing ends at `completion`.
    """
    _refuse_too_large(request, num_nodes)
    if not request.steps:
        return NaiveFit(completion, ())
    holds = _Holds(request, occupied, num_nodes, expand_limit, (earliest_start, completion))
    holds.rigid(-1, request.durations[-1])
    times = holds.times({completion})
    if not all(times):
        msg = f"nothing from {earliest_start} on ends at {completion}"
        raise ValueError(msg)
    return holds.checked([max(each) for each in times])


def list_schedule(
    problem: EvolutionProblem,
    order: Sequence[int],
    fit: Callable[[EvolutionProfile, EvolutionProfile, int, float, int], NaiveFit] = earliest_fit,
) -> EvolutionSchedule:
    """Algorithm 1: place the applications in the given order, each by `fit` and not before its release."""
    occupied = EvolutionProfile()
    placed: dict[int, NaiveFit] = {}
    for idx in order:
        app = problem.applications[idx]
        placed[idx] = fit(app, occupied, problem.num_nodes, problem.expand_limit, problem.releases[idx])
        occupied += app.expanded(placed[idx].durations).delayed(placed[idx].start)
    return _schedule(problem, [placed[idx] for idx in range(len(problem.applications))])


# --- schedules by looking at every second --------------------------------------------------------------


def _schedule(problem: EvolutionProblem, placed: Sequence[NaiveFit]) -> EvolutionSchedule:
    return EvolutionSchedule.of(
        [fit.start for fit in placed],
        [app.expanded(fit.durations) for app, fit in zip(problem.applications, placed, strict=True)],
    )


def violates(problem: EvolutionProblem, schedule: EvolutionSchedule) -> bool:
    """Tell whether the schedule breaks C1 or C2, or starts before a release."""
    if len(schedule.starts) != len(problem.applications):
        return True
    usage: dict[int, int] = {}
    for idx, (app, release) in enumerate(zip(problem.applications, problem.releases, strict=True)):
        steps = range(schedule.offsets[idx], schedule.offsets[idx + 1])
        time = int(schedule.starts[idx])
        if time < release or len(steps) != len(app.steps):
            return True
        for step, (duration, nodes) in zip(steps, app.steps, strict=True):
            held = int(schedule.durations[step])
            if schedule.nodes[step] != nodes or not duration <= held <= longest(
                duration, problem.expand_limit
            ):
                return True
            for _ in range(held):
                usage[time] = usage.get(time, 0) + nodes
                time += 1
    return any(nodes > problem.num_nodes for nodes in usage.values())


def objective_values(
    problem: EvolutionProblem, schedule: EvolutionSchedule, objective: EvolutionObjective
) -> tuple[float, ...]:
    """Value of each term: last completion, mean completion (from time 0), node-seconds held for nothing."""
    ends, waste = [], 0
    for idx, app in enumerate(problem.applications):
        held = schedule.profile(idx)
        ends.append(int(schedule.starts[idx]) + sum(held.durations))
        waste += sum(
            (long - short) * nodes for long, (short, nodes) in zip(held.durations, app.steps, strict=True)
        )
    values = {"makespan": max(ends, default=0), "completion": mean(sum(ends), len(ends)), "waste": waste}
    return tuple(float(values[term]) for term in objective)


def mean(total: int, count: int) -> float:
    return total / count if count else 0.0


def all_schedules(problem: EvolutionProblem, horizon: int | None = None) -> Iterator[EvolutionSchedule]:
    """Every schedule without violations that ends by the horizon (for very few, very short steps)."""
    last = problem.horizon if horizon is None else horizon
    placements = []
    for app, release in zip(problem.applications, problem.releases, strict=True):
        ranges = [
            range(duration, int(min(longest(duration, problem.expand_limit), last)) + 1)
            for duration in app.durations
        ]
        placements.append(
            [
                NaiveFit(start, durations)
                for durations in itertools.product(*ranges)
                for start in range(release, last - sum(durations) + 1)
            ]
        )
    for placed in itertools.product(*placements):
        schedule = _schedule(problem, placed)
        if not violates(problem, schedule):
            yield schedule
