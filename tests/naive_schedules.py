"""The best schedule of a tiny workload: plain Python, nothing shared with the judge, bounds and solvers.

Jobs are small machines of their own, written from what `allocsolve.model` says of them: what they hold, when
something happens within them next, and what they may be told to do. At each instant all that may be done is
tried. Times are fractions, so nothing is rounded before the schedule is written.

Instants are all events, and whole seconds where there are profiles. So the value is the least of all
schedules where times are whole seconds and no job is malleable or evolves by phases or requests; else it is
that of a schedule, and there may be better ones.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from naive_malleable import seconds_on, sizes_of
from naive_resources import available, edges_of
from naive_workload_optimum import cost_of

from allocsolve.model import Job, Join, Phases, Profile, Requests, Stall, WorkloadSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import WorkloadProblem


class TooLarge(Exception):  # noqa: N818 - the name says what is wrong
    """There are more situations than are looked at."""


NEVER = Fraction(10**9)


def exact(value: float) -> Fraction:
    """Return a number as the fraction that it is."""
    return Fraction(value)


@dataclass(frozen=True)
class Fixed:
    """A job that keeps its size, until it ends."""

    held: int
    until: Fraction

    @property
    def event(self) -> Fraction:
        return self.until

    def after(self, now: Fraction) -> Life | None:
        return None if now >= self.until else self

    def choices(self, now: Fraction) -> Iterator[Life]:
        del now
        yield self


@dataclass(frozen=True)
class Steps:
    """A job with a profile, in one of its steps."""

    job: Job
    step: int
    since: Fraction

    @property
    def _profile(self) -> Profile:
        assert isinstance(self.job.evolution, Profile)
        return self.job.evolution

    @property
    def held(self) -> int:
        return self._profile.steps[self.step][1]

    @property
    def _done(self) -> Fraction:
        return self.since + self._profile.steps[self.step][0]

    @property
    def _latest(self) -> Fraction:
        limit = self._profile.expand_limit
        if math.isinf(limit):
            return NEVER
        return self.since + math.floor(Fraction(str(limit)) * self._profile.steps[self.step][0])

    @property
    def event(self) -> Fraction:
        return self._done

    def after(self, now: Fraction) -> Life | None:
        is_last = self.step + 1 == len(self._profile.steps)
        return None if is_last and now >= self._done else self

    def choices(self, now: Fraction) -> Iterator[Life]:
        if now < self._done:
            yield self
            return
        yield replace(self, step=self.step + 1, since=now)
        if now < self._latest:
            yield self


@dataclass(frozen=True)
class Work:
    """A job with a law that may change its size: when it is told to, or when it has asked for it."""

    job: Job
    size: int
    #: The share of the work that is left when the job works on, at `since`.
    left: Fraction
    since: Fraction
    #: What it holds until it works on, if that is more than its size.
    holds: int
    #: The requests that are to come, and the size for which it asks.
    events: tuple[tuple[float, int], ...] = ()
    asked: int | None = None

    @property
    def held(self) -> int:
        return max(self.holds, self.size)

    def _left(self, now: Fraction) -> Fraction:
        return self.left - max(Fraction(0), now - self.since) / exact(seconds_on(self.job, self.size))

    def _when(self, left: Fraction) -> Fraction:
        """Return when only so much of the work is left."""
        return self.since + (self.left - left) * exact(seconds_on(self.job, self.size))

    @property
    def event(self) -> Fraction:
        moments = [self._when(Fraction(0))]
        if self.holds:
            moments.append(self.since)
        if self.events:
            moments.append(self._when(exact(self.events[0][0])))
        if self.job.points:
            moments.append(self._when(Fraction(math.ceil(self.left * self.job.points) - 1, self.job.points)))
        return min(moments)

    def after(self, now: Fraction) -> Life | None:
        if now < self.since:
            return self
        life = replace(self, holds=0, left=self._left(now), since=now)
        if life.left <= 0:
            return None
        while life.events and life.since <= now and life.left <= exact(life.events[0][0]):
            change = life.events[0][1]
            life = replace(life, events=life.events[1:], asked=None)
            assert self.job.min_nodes is not None
            assert self.job.max_nodes is not None
            wanted = min(max(life.size + change, self.job.min_nodes), self.job.max_nodes)
            if wanted < life.size:
                life = life._resized(now, wanted)
            elif wanted > life.size:
                life = replace(life, asked=wanted)
        return life

    def _resized(self, now: Fraction, size: int) -> Work:
        cost = self.job.reconfiguration
        stall = exact(cost.seconds(self.size, size)) if isinstance(cost, Stall) else Fraction(0)
        keeps = isinstance(cost, Stall) and cost.holds == "larger" and size < self.size and stall > 0
        since = max(now, self.since) + stall
        return replace(
            self, size=size, left=self._left(now), since=since, holds=self.size if keeps else 0, asked=None
        )

    def choices(self, now: Fraction) -> Iterator[Life]:
        yield self
        if self.asked is not None:
            yield self._resized(now, self.asked)
        if self.job.kind == "malleable" and now > self.since:
            done = 1 - self._left(now)
            if not self.job.points or (done * self.job.points).denominator == 1:
                for size in sizes_of(self.job):
                    if size != self.size:
                        yield self._resized(now, size)


@dataclass(frozen=True)
class Reactive:
    """A job with phases. Times are those at which something will happen."""

    job: Job
    phase: int
    left: Fraction
    since: Fraction
    held: int
    ready: bool = False
    joins: Fraction = NEVER
    leaves: Fraction = NEVER
    gives: Fraction = NEVER
    asks: bool = False

    @property
    def _phases(self) -> Phases:
        assert isinstance(self.job.evolution, Phases)
        return self.job.evolution

    @property
    def _most(self) -> float:
        most = self._phases.phases[self.phase][1]
        return math.inf if most is None else most

    @property
    def _join(self) -> Join:
        cost = self.job.reconfiguration
        return cost if isinstance(cost, Join) else Join()

    @property
    def useful(self) -> int:
        return self.held - (self.joins < NEVER) - (self.leaves < NEVER)

    @property
    def _rate(self) -> int:
        return int(min(self.useful, self._most))

    @property
    def event(self) -> Fraction:
        if not self.ready:
            return self.since
        gives = self.gives if self.leaves == NEVER else NEVER
        return min(self.since + self.left / self._rate, self.joins, self.leaves, gives)

    def _at(self, now: Fraction) -> Reactive:
        return replace(self, left=self.left - (now - self.since) * self._rate, since=now)

    def after(self, now: Fraction) -> Life | None:
        if now < self.event:
            return self
        life = replace(self, ready=True) if not self.ready else self._at(now)
        if life.left <= 0:
            if life.phase + 1 == len(self._phases.phases):
                return None
            life = replace(life, phase=life.phase + 1, left=exact(self._phases.phases[life.phase + 1][0]))
        if life.joins <= now:
            life = replace(life, joins=NEVER)
        life = life._watched(now)
        while min(life.leaves, life.gives if life.leaves == NEVER else NEVER) <= now:
            if life.leaves <= now:
                life = replace(life, leaves=NEVER, held=life.held - 1)
            else:
                leaves = now + exact(self._join.shrink)
                life = replace(life, leaves=leaves, gives=NEVER, asks=False)
            life = life._watched(now)
        return life._asking()

    def _watched(self, now: Fraction) -> Reactive:
        if self.useful <= self._most:
            return replace(self, gives=NEVER)
        if self.gives == NEVER:
            return replace(self, gives=now + exact(self._phases.release_delay))
        return self

    def _asking(self) -> Reactive:
        assert self.job.max_nodes is not None
        wants = self.joins == NEVER and self.held < min(self._most, self.job.max_nodes)
        return replace(self, asks=self.asks or wants)

    def choices(self, now: Fraction) -> Iterator[Life]:
        life = self
        yield life
        while life.asks:
            life = replace(life._at(now), held=life.held + 1, asks=False)
            if self._join.grow:
                life = replace(life, joins=now + exact(self._join.grow))
            life = life._watched(now)._asking()
            yield life


#: What a job does after its start; None once it has ended.
Life: TypeAlias = Fixed | Steps | Work | Reactive


def _starts(job: Job, now: Fraction) -> Iterator[Life]:
    """Yield all ways in which a job may start."""
    if isinstance(job.evolution, Profile):
        yield Steps(job, 0, now)
    elif isinstance(job.evolution, Phases):
        assert job.min_nodes is not None
        assert job.max_nodes is not None
        start = exact(job.reconfiguration.start) if isinstance(job.reconfiguration, Join) else Fraction(0)
        for nodes in range(job.min_nodes, job.max_nodes + 1):
            yield Reactive(job, 0, exact(job.evolution.phases[0][0]), now + start, nodes)
    elif job.kind in ("malleable", "evolving"):
        events = job.evolution.events if isinstance(job.evolution, Requests) else ()
        for nodes in sizes_of(job):
            yield Work(job, nodes, Fraction(1), now, 0, events)
    else:
        for nodes in sizes_of(job):
            yield Fixed(nodes, now + exact(seconds_on(job, nodes)))


class Best(NamedTuple):
    """The best schedule that was met."""

    value: Fraction
    schedule: WorkloadSchedule


#: Changes of what jobs hold, the newest first: the job, the instant, the nodes from then on.
_History: TypeAlias = "tuple[tuple[int, Fraction, int], _History] | None"


class _Place(NamedTuple):
    """A job in the search: None stands for a start or an end that it does not have yet."""

    life: Life | None = None
    start: Fraction | None = None
    end: Fraction | None = None


class _Situation(NamedTuple):
    """What there is at an instant."""

    now: Fraction
    #: Of the jobs that have ended.
    cost: Fraction
    places: tuple[_Place, ...]
    history: _History = None


class _Search:
    def __init__(self, problem: WorkloadProblem, term: str) -> None:
        self.problem, self.term = problem, term
        self.jobs = [*problem.jobs]
        self.weight = sum((exact(job.weight) for job in self.jobs), Fraction(0))
        self.release = [max(exact(job.submit), exact(job.eligible or 0)) for job in self.jobs]
        self.edges = {*map(exact, edges_of(problem)), *self.release}
        #: A later step that waits for nodes may make it best to start at any whole second.
        self.by_seconds = any(isinstance(job.evolution, Profile) for job in self.jobs)
        self.heap: list[tuple[Fraction, int, _Situation]] = []
        self.serial = itertools.count()
        self.seen: set[object] = set()
        self.best: tuple[Fraction, _Situation] | None = None

    def run(self, most: int) -> Best:
        self.push(_Situation(min(self.release), Fraction(0), (_Place(),) * len(self.jobs)))
        while self.heap:
            _, _, situation = heapq.heappop(self.heap)
            key = situation[:3]
            if key in self.seen or (self.best is not None and self.least(situation) >= self.best[0]):
                continue
            self.seen.add(key)
            if len(self.seen) > most:
                raise TooLarge
            options = [[*self.options(j, place, situation.now)] for j, place in enumerate(situation.places)]
            for places in itertools.product(*options):
                if self.fits(places, situation.now):
                    self.go_on(situation, places)
        assert self.best is not None
        return Best(self.best[0], self.schedule(self.best[1]))

    def push(self, situation: _Situation) -> None:
        heapq.heappush(self.heap, (situation.now, next(self.serial), situation))

    def value(self, cost: Fraction, now: Fraction) -> Fraction:
        if self.term == "makespan":
            return now
        return cost / self.weight if self.weight else Fraction(0)

    def least(self, situation: _Situation) -> Fraction:
        """Return what the value cannot be below: jobs that have not ended do so from now on."""
        cost = situation.cost
        for job, release, place in zip(self.jobs, self.release, situation.places, strict=True):
            if place.end is None:
                soonest = max(situation.now, release)
                cost += cost_of(job, self.term, soonest if place.start is None else place.start, soonest)
        return self.value(cost, situation.now)

    def options(self, j: int, place: _Place, now: Fraction) -> Iterator[_Place]:
        """Yield what a job may be told to do."""
        if place.life is not None:
            yield from (place._replace(life=life) for life in place.life.choices(now))
            return
        yield place
        if place.start is None and now >= self.release[j]:
            for begun in _starts(self.jobs[j], now):
                first = begun.after(now)  # what happens at its start happens before anything else
                assert first is not None
                yield from (_Place(life, now) for life in first.choices(now))

    def fits(self, places: Sequence[_Place], now: Fraction) -> bool:
        """Return whether all that jobs hold is there."""
        for name, there in available(self.problem, now).items():
            used = 0
            for job, place in zip(self.jobs, places, strict=True):
                if place.life is not None:
                    as_nodes = name in ("nodes", job.partition)
                    used += place.life.held if as_nodes else dict(job.needs or {}).get(name, 0)
            if used > there:
                return False
        return True

    def go_on(self, before: _Situation, places: Sequence[_Place]) -> None:
        """Go to the next instant, at which jobs may end."""
        cost, history = before.cost, before.history
        for j, (was, place) in enumerate(zip(before.places, places, strict=True)):
            if place.life is not None and _is_another_piece(was.life, place.life):
                history = (j, before.now, place.life.held), history
        moments = [place.life.event for place in places if place.life is not None]
        moments += [edge for edge in self.edges if edge > before.now]
        if self.by_seconds:
            moments.append(Fraction(math.floor(before.now) + 1))
        if not moments:
            return  # nothing runs, and nothing is to come for which others wait
        now = min(moments)
        then: list[_Place] = []
        for j, place in enumerate(places):
            life = None if place.life is None else place.life.after(now)
            if place.life is not None and life is None:
                assert place.start is not None
                cost += cost_of(self.jobs[j], self.term, place.start, now)
                then.append(place._replace(life=None, end=now))
                continue
            if life is not None and _is_another_piece(place.life, life):
                history = (j, now, life.held), history
            then.append(place._replace(life=life))
        after = _Situation(now, cost, tuple(then), history)
        if any(place.end is None for place in then):
            self.push(after)
        elif self.best is None or self.value(cost, now) < self.best[0]:
            self.best = self.value(cost, now), after

    def schedule(self, last: _Situation) -> WorkloadSchedule:
        """Return the pieces of the jobs."""
        changes: list[list[tuple[Fraction, int]]] = [[] for _ in self.jobs]
        history = last.history
        while history is not None:
            (j, time, held), history = history
            changes[j].insert(0, (time, held))
        rows: list[tuple[float, float, int]] = []
        offsets = [0]
        for mine, place in zip(changes, last.places, strict=True):
            assert place.end is not None
            ends = [*(time for time, _ in mine[1:]), place.end]
            rows += [
                (float(time), float(end), held)
                for (time, held), end in zip(mine, ends, strict=True)
                if end > time
            ]
            offsets.append(len(rows))
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        return WorkloadSchedule(np.array(offsets), *columns)


def _is_another_piece(before: Life | None, life: Life) -> bool:
    """Return whether a job begins another piece of its schedule: it holds other nodes, or has a new step."""
    if before is None or life.held != before.held:
        return True
    return isinstance(life, Steps) and isinstance(before, Steps) and life.step != before.step


def best_schedule(problem: WorkloadProblem, term: str, most: int) -> Best:
    """Return the best schedule of a tiny problem with at least one job.

    Parameters
    ----------
    term
        ``turnaround``, ``slowdown``, ``wait`` or ``makespan``.
    most
        Situations that are looked at.

    Raises
    ------
    TooLarge
        If there are more.
    """
    return _Search(problem, term).run(most)
