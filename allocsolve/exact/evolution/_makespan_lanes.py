"""The lanes of a proof of a makespan or a mean completion: searches that share knowledge and add to it."""

from __future__ import annotations

import itertools
import math
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allocsolve.bounds import (
    makespan_bound,
    mean_busy_time,
    step_prices,
    strong_completion_bound,
    strong_makespan_bound,
    total_completion,
)
from allocsolve.exact.evolution._conflicts import violated_covers
from allocsolve.exact.evolution._kernels_offset_search import ANSWER, NO_ANSWER
from allocsolve.exact.evolution._offset_model import OffsetModel
from allocsolve.exact.evolution._proof_log import ProofLog
from allocsolve.exact.evolution._segments import segments_of
from allocsolve.heuristics import Fit, list_starts
from allocsolve.heuristics.evolution.order_search import anneal_in_rounds, mirrored, mirrored_starts
from allocsolve.model import Budget, Limit
from allocsolve.model.options import Params

if TYPE_CHECKING:
    from allocsolve.model import EvolutionObjective, IntArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from ortools.sat.python import cp_model

    from allocsolve.bounds.evolution import StepPrices
    from allocsolve.exact.evolution._conflicts import Block
    from allocsolve.exact.evolution._offset_model import Lemmas
    from allocsolve.model import Clock, EvolutionObjective, EvolutionProblem, IntArray

    class Lane(Protocol):
        """One search of several."""

        def advance(self) -> None:
            """Search for a while."""


@dataclass(frozen=True, slots=True)
class LaneParams(Params):
    """The numbers of the lanes of `EvolutionConflictSearch`, measured on 10 to 20 applications."""

    #: The first step of the search from below is the gap over this number; with expansion that of the
    #: second, since conflicts grow by a factor of 3 to 4 for each 4 % of the bound.
    first_steps: int = 6
    first_steps_with_expansion: int = 40
    #: The length of the next one is chosen for so many times the conflicts of the last.
    conflict_growth: float = 2.0
    #: It is at most so many times the length of the last.
    most_longer: float = 1.2
    most_longer_with_expansion: float = 2.0
    #: A step that takes so many times the expected conflicts is cut to a share of its length.
    patience: int = 3
    shorter: float = 0.6
    #: Fewer conflicts than these say nothing about growth.
    least_conflicts: int = 5_000
    #: The conflicts of the search from below, as a multiple of those of the search from above beside it:
    #: while bounds are cheap, that is, for its first conflicts, and later.
    below_share: float = 2
    cheap_conflicts: int = 300_000
    later_below_share: float = 0.25
    #: The search from below yields to the one beside it for the first conflicts of that one, but no longer
    #: than the time limit over a number: short proofs need no bound.
    alone_conflicts: int = 50_000
    alone_parts: int = 4
    #: Conflicts of a slice, times the square of the points: about a tenth of a second for 20 applications.
    slice_conflicts: int = 500_000
    #: The share of the time left that the bound by configurations may take.
    bound_share: float = 0.05
    #: The share of the time left that the bound by falling prices may take: at Klein size the search from
    #: below takes a minute to come up to it, where it does.
    falling_bound_share: float = 0.2
    #: The most levels of a learned clause that is sent to other searches: short clauses help most.
    shared_levels: int = 5
    #: Looks at the clock that the annealing takes in a slice, about 3 ms each.
    looks: int = 16


class Knowledge:
    """The best schedule and the bound on its makespan, shared by the lanes of one solve (threads).

    Where this class speaks of the time by which a schedule ends, a child class means the value of its
    objective.

    There is at least one application; `starts` are those of all steps in a feasible schedule. The log of a
    search that grows beyond `max_proof_bytes` is dropped.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        clock: Clock,
        starts: IntArray,
        max_proof_bytes: int = 0,
        params: LaneParams = LaneParams(),
    ) -> None:
        self.problem = problem
        self.params = params
        self.clock = clock
        self.stop = threading.Event()
        #: The limit that ends the search if it is not done by then.
        self.limit = Limit.TIME
        self.bound = self.combinatorial_bound()
        self.max_proof_bytes = max_proof_bytes
        #: Prices of steps, which models make use of.
        self.prices: StepPrices | None = None
        self._given = segments_of(problem).clauses
        #: The certificate of the best bound that can be checked.
        self.certificate: dict[str, Any] | None = self.first_certificate()
        self._certified = self.bound
        self.starts = starts
        self.value = self.measure(starts)
        #: The seconds at which each better schedule was met, and its value.
        self.incumbents: list[tuple[float, int]] = []
        self._lock = threading.Lock()

    @property
    def objective(self) -> EvolutionObjective:
        """What is minimised."""
        return ("makespan",)

    def combinatorial_bound(self) -> int:
        """Return a bound that needs no search."""
        return makespan_bound(self.problem)

    def first_certificate(self) -> dict[str, Any] | None:
        """Return what the judge recomputes that bound from, if it can."""
        return {"kind": "area"}

    def strengthen(self) -> None:
        """Note a bound that takes longer, still without search, and the prices behind it.

        This takes up to a second for 20 applications. Models of earlier calls know no prices.
        """
        seconds = self.params.bound_share * self.clock.remaining
        strong = strong_makespan_bound(self.problem, seconds=seconds)
        self.prove(*strong)
        if "prices" in strong.certificate:
            self.prices = step_prices(self.problem, strong.certificate["prices"])

    def strengthen_below(self) -> None:
        """Note a bound that takes longer than the search from above should wait; here there is none."""

    def measure(self, starts: IntArray) -> int:
        """Return the value of a schedule, as step starts."""
        return int((starts + self.problem.packed.durations).max())

    def new_model(self, time: int, seed: int, log: ProofLog | None = None) -> OffsetModel:
        """Return a model of the schedules that end by a time."""
        return OffsetModel(self.problem, time, self.clock, seed=seed, log=log, prices=self.prices)

    def new_log(self) -> ProofLog:
        """Return an empty log for the models of this problem."""
        return ProofLog(self.max_proof_bytes, len(self._given))

    def lower(self, model: OffsetModel, time: int) -> None:
        """Restrict a model to the schedules that end by an earlier time."""
        model.must_end_by(time)

    def offer(self, starts: IntArray) -> None:
        """Keep a feasible schedule, as step starts, if it is better than the best."""
        value = self.measure(starts)
        with self._lock:
            if value < self.value:
                self.value, self.starts = value, starts
                self.incumbents.append((self.clock.elapsed, value))

    def take(self, starts: IntArray, ends: IntArray, covers: set[tuple[Block, ...]]) -> None:
        """Offer an answer of the relaxation; if it violates covers, offer list schedules in its order."""
        if not covers:
            self.offer(starts)
            return
        problem = self.problem
        offsets = problem.packed.offsets
        fits = (Fit(1), Fit(compacting=True)) if problem.expand_limit > 1 else (Fit(1),)
        for key, fit in itertools.product((starts[offsets[:-1]], ends[offsets[1:] - 1]), fits):
            order = np.argsort(key, kind="stable")
            self.offer(list_starts(problem, order, fit))
            if not any(problem.releases):
                backward = list_starts(mirrored(problem), order[::-1].copy(), fit)
                self.offer(mirrored_starts(problem, backward))

    def prove(self, bound: int, certificate: dict[str, Any] | None = None) -> None:
        """Note a lower bound, and its certificate if there is one."""
        with self._lock:
            self.bound = max(self.bound, bound)
            if certificate is not None and bound > self._certified:
                self._certified, self.certificate = bound, certificate

    @property
    def open(self) -> bool:
        """Whether a gap and some time are left."""
        return self.bound < self.value and self.clock.remaining > 0 and not self.stop.is_set()


class Refutation:
    """Conflict search for a schedule that ends by a time and is better than the best one known.

    With `towards` its decisions first follow that schedule, as better ones are often near; else they oppose
    it.
    """

    def __init__(
        self, shared: Knowledge, time: int, seed: int, log: ProofLog, *, towards: bool = False
    ) -> None:
        self._shared = shared
        self._towards = towards
        self.time = time
        self.log = log
        self.model = shared.new_model(time, seed, log)
        self._slice = max(20, shared.params.slice_conflicts // self.model.points**2)

    def lower(self, time: int) -> None:
        """Look only for schedules that end by this time, if it is earlier than before."""
        if time < self.time:
            self.time = time
            self._shared.lower(self.model, time)

    def advance(self) -> None:
        """Search for one slice of conflicts and share the outcome."""
        shared, model = self._shared, self.model
        self.lower(shared.value - 1)
        model.lean(shared.starts, towards=self._towards)
        try:
            outcome = NO_ANSWER if model.contradiction else model.search(self._slice)
        except MemoryError:  # a branch has more raises than there is room for; never seen so far
            shared.limit = Limit.SIZE
            shared.stop.set()
            return
        if outcome == NO_ANSWER:
            shared.prove(self.time + 1, model.certificate(self.time))
        elif outcome == ANSWER:
            starts, ends = model.read_times()
            covers = model.violated(starts, ends)
            shared.take(starts, ends, covers)
            for cover in sorted(covers):
                model.exclude(cover)


class FromAbove(Refutation):
    """Search for a schedule better than the best one, until none is left: a proof.

    Several such searches, each in a thread of its own, exchange learned clauses; they share a log.
    """

    def __init__(self, shared: Knowledge, seed: int, log: ProofLog, *, towards: bool = False) -> None:
        super().__init__(shared, shared.value - 1, seed, log, towards=towards)
        self._inbox: deque[Lemmas] = deque()
        self._others: list[FromAbove] = []

    def share_with(self, others: Iterable[FromAbove]) -> None:
        """Send what this search learns from now on to these searches of the same problem."""
        self._others = [other for other in others if other is not self]

    def advance(self) -> None:
        """Search for one slice of conflicts, with the clauses that the others have learned."""
        self.lower(self._shared.value - 1)
        while self._inbox:
            lemmas = self._inbox.popleft()
            if lemmas.time >= self.time:  # else they hold for only some of the answers that are sought
                self.model.adopt(lemmas)
            else:
                self.log.release(lemmas.numbers)
        super().advance()
        if self._others:
            lemmas = self.model.lemmas(self.time, self._shared.params.shared_levels)
            for other in self._others:
                self.log.hold(lemmas.numbers)
                other._inbox.append(lemmas)  # noqa: SLF001 - another lane of this class


class FromBelow:
    """Refute times a little above the bound, one after the other: the bound rises long before the proof.

    Each time has a model of its own: with the horizon among its facts, refuting it is several times as fast
    as with the horizon as an assumption. Clauses learned under a time hold only under earlier times, so they
    are kept when a step was too long.
    """

    def __init__(self, shared: Knowledge, seed: int) -> None:
        self._shared, self._seed = shared, seed
        params, elastic = shared.params, shared.problem.expand_limit > 1
        self._most_longer = params.most_longer_with_expansion if elastic else params.most_longer
        self._first_steps = params.first_steps_with_expansion if elastic else params.first_steps
        self._step: float | None = None
        #: The bound at which the last step began, and the conflicts of that step. With expansion even the
        #: first step may take any number of them: then it is not cut short for that.
        self._begin = shared.bound
        self._effort: float = math.inf if elastic else params.least_conflicts
        #: Conflicts after which a step is cut short, and seconds left at which it is.
        self._limit, self._alarm = 0.0, 0.0
        self._before = 0
        self._now: Refutation | None = None

    def advance(self) -> None:
        """Search for one slice of conflicts; go up if the time is refuted, go back if that takes too long."""
        shared, params = self._shared, self._shared.params
        if self._step is None:
            shared.strengthen_below()
            self._step = (shared.value - shared.bound) / self._first_steps
        if self._now is None:
            time = min(shared.bound + int(self._step), shared.value - 1)
            self._now = Refutation(shared, time, self._seed, shared.new_log())
            if shared.prices:
                self._now.model.widest_first()
            self._begin, self._limit = shared.bound, params.patience * params.conflict_growth * self._effort
            self._alarm = shared.clock.remaining / 2
        now = self._now
        now.advance()
        conflicts = now.model.conflicts
        if shared.bound > now.time:
            grown = max(1.01, conflicts / self._effort)
            length = now.time + 1 - self._begin
            self._step = length * min(self._most_longer, math.log(params.conflict_growth) / math.log(grown))
            self._effort = max(params.least_conflicts, conflicts)
            self._before += conflicts
            self._now = None
        elif conflicts > self._limit or shared.clock.remaining < self._alarm:
            self._step *= params.shorter
            now.lower(shared.bound + int(self._step))
            self._limit, self._alarm = 2 * self._limit, self._alarm / 2

    @property
    def time(self) -> int:
        """The time that is being refuted; between two of them, the bound."""
        return self._now.time if self._now else self._shared.bound

    @property
    def conflicts(self) -> int:
        """Conflicts met so far."""
        return self._before + (self._now.model.conflicts if self._now else 0)


class Beside:
    """The search from below and one from above, in one thread.

    At first only the one from above searches, since most proofs are short; then the one from below makes up
    for it. A proof that is not found in half the time seldom follows in the other half: then only the bound
    counts.
    """

    def __init__(self, shared: Knowledge, below: FromBelow, above: FromAbove) -> None:
        self._shared, self._below, self._above = shared, below, above

    def advance(self) -> None:
        """Let one of them search for a slice."""
        clock, params, above = self._shared.clock, self._shared.params, self._above.model.conflicts
        early = above < params.alone_conflicts and clock.elapsed * (params.alone_parts - 1) < clock.divisible
        late = clock.elapsed > clock.remaining
        share = (
            params.below_share if self._below.conflicts < params.cheap_conflicts else params.later_below_share
        )
        below = late or (not early and self._below.conflicts <= share * above)
        (self._below if below else self._above).advance()


class Orders:
    """Continue the annealing of list orders: a better schedule helps all searches."""

    def __init__(self, shared: Knowledge, seed: int) -> None:
        self._shared = shared
        rounds = anneal_in_rounds(shared.problem, shared.objective, max_schedules=math.inf, seed=seed)
        self._walk = itertools.chain.from_iterable(rounds)

    def advance(self) -> None:
        """Anneal for about half as long as the slice of a conflict search."""
        for _, starts in itertools.islice(self._walk, self._shared.params.looks):
            self._shared.offer(starts.copy())


class CpSatLane:
    """A search from above by CP-SAT, with one thread, on the same relaxation."""

    def __init__(self, shared: Knowledge, seed: int) -> None:
        self._shared = shared
        self._seed = seed
        self._covers: set[tuple[Block, ...]] = set()

    def advance(self) -> None:
        """Search until the model has a new answer or a proof, or another lane has a better schedule."""
        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools
        from allocsolve.exact.evolution._order_model import OrderModel  # noqa: PLC0415 - imports ortools

        shared = self._shared
        horizon = shared.value - 1
        model = OrderModel(shared.problem, horizon, shared.clock, largest_cover=3)
        for cover in sorted(self._covers):
            model.exclude(cover)

        def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
            starts, ends = model.read_times(value)
            covers = violated_covers(model.blocks, shared.problem.num_nodes, starts, ends)
            shared.take(starts, ends, covers)
            self._covers |= covers
            return False

        outcome = run_cpsat(
            model.model,
            Budget(seed=self._seed),
            shared.clock,
            take,
            stop=lambda: not shared.open or shared.value <= horizon,
        )
        if outcome.infeasible:
            shared.prove(horizon + 1)


class TotalKnowledge(Knowledge):
    """The best schedule and the bound on its total completion, shared by the lanes of one solve."""

    @property
    def objective(self) -> EvolutionObjective:
        """What is minimised."""
        return ("completion",)

    def combinatorial_bound(self) -> int:
        """Return the bound by mean busy times."""
        return mean_busy_time(self.problem)

    def first_certificate(self) -> None:
        """Return None: the judge has no mean busy times."""

    def strengthen(self) -> None:
        """Do nothing: the search from above takes no notice of bounds, and short proofs need none."""

    def strengthen_below(self) -> None:
        """Note the bound of falling prices, which takes some seconds for 20 applications."""
        seconds = self.params.falling_bound_share * self.clock.remaining
        self.prove(*strong_completion_bound(self.problem, seconds=seconds))

    def measure(self, starts: IntArray) -> int:
        """Return the sum of all completions."""
        offsets, durations, _, _, _ = self.problem.packed
        last = offsets[1:] - 1
        return int((starts[last] + durations[last]).sum())

    def new_model(self, time: int, seed: int, log: ProofLog | None = None) -> OffsetModel:
        """Return a model of the schedules whose completions add up to `time` or less.

        An application ends latest when all others complete as soon as they can: then it has the rest of the
        total. The horizon of the problem has room for the best schedules.
        """
        problem = self.problem
        pairs = zip(problem.releases, problem.applications, strict=True)
        earliest = max(release + app.duration for release, app in pairs)
        horizon = min(problem.horizon, earliest + time - total_completion(problem))
        model = OffsetModel(problem, horizon, self.clock, seed=seed, log=log)
        model.must_total(time)
        return model

    def lower(self, model: OffsetModel, time: int) -> None:
        """Restrict a model to the schedules whose completions add up to `time` or less."""
        model.must_total(time)
