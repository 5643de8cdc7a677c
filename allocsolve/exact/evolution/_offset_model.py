"""The ordering relaxation as facts on differences of times, on which the conflict search works.

The relaxation and its clauses are those of `_order_model` beside this module: among the blocks of a
conflicting set (see `_conflicts`), one ends before another starts. For two blocks that each lie within a
segment (see `_segments`), such a clause is a hole in the difference of the two segments.
"""

from __future__ import annotations

from itertools import pairwise, permutations, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.exact.evolution._choices import choices_of, merged_holes, places_of
from allocsolve.exact.evolution._conflicts import blocks_of, conflicting_sets, violated_covers
from allocsolve.exact.evolution._expansion import LATEST
from allocsolve.exact.evolution._kernels_closure import (
    BASE,
    CLAUSES,
    CLEANED,
    CONFLICTS,
    KEEP,
    LOGGED,
    NOTED,
    RANGES,
    SHIFT,
    STATE_SIZE,
    TOWARDS,
    WIDEST,
)
from allocsolve.exact.evolution._kernels_conflict import UNNEEDED
from allocsolve.exact.evolution._kernels_idle import PriceLimit
from allocsolve.exact.evolution._kernels_limits import Limits
from allocsolve.exact.evolution._kernels_offset_search import add_fact, search
from allocsolve.exact.evolution._kernels_offsets import Engine
from allocsolve.exact.evolution._kernels_sum import LIMIT, SumLimit
from allocsolve.exact.evolution._kernels_waste import WasteLimit
from allocsolve.exact.evolution._segments import segments_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from allocsolve.bounds.evolution import StepPrices
    from allocsolve.exact.evolution._choices import Holes
    from allocsolve.exact.evolution._conflicts import Block
    from allocsolve.exact.evolution._proof_log import ProofLog
    from allocsolve.exact.evolution._segments import Fact
    from allocsolve.model import Clock, EvolutionProblem, IntArray

#: Room for clauses, and for the facts in them.
_ROOM_CLAUSES, _ROOM_FACTS = 60_000, 3_000_000
#: Watches per clause. Two are in use; with buckets that double, at most 16 are taken after a clean-up.
_ROOM_WATCHES = 40
#: Trail entries per arc for which there is room.
_ROOM_TRAIL = 400
#: The most trail entries, a quarter of a gigabyte.
_MOST_TRAIL = 10_000_000
#: Integers of room for the notes for a proof, beyond those of one clause with all arcs.
_ROOM_LOG = 300_000
#: Learned clauses that stay at a clean-up.
_KEEP = 12_000
#: Ranges into which the watches of an arc are grouped, times the arcs, and the fewest ranges of an arc: there
#: are then some watches in each.
_RANGES, _FEWEST_RANGES = 64_000, 4


class Lemmas(NamedTuple):
    """Clauses and differences that a search has learned about all answers that end by a time."""

    time: int
    #: The clauses one after another, in rows (arc, value); the number of facts and the span of each clause.
    facts: NDArray[np.int32]
    lengths: IntArray
    spans: IntArray
    #: Their numbers in the proof.
    numbers: IntArray
    #: The least difference of each arc.
    ground: IntArray


class OffsetModel:
    """The relaxation of a problem, and one search in it.

    Only answers that end by `horizon`, in seconds and at most `LATEST`, count; nothing is known about others.
    Clauses are collected while the clock has time left: missing ones only weaken the relaxation. Learned
    clauses are written to `log`, if there is one. `prices` limit what steps take; see `_kernels_prices`.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        horizon: int,
        clock: Clock,
        *,
        seed: int,
        log: ProofLog | None = None,
        prices: StepPrices | None = None,
    ) -> None:
        self.blocks = blocks_of(problem)
        self._problem = problem
        self._segments = segments_of(problem)
        self._points = self._segments.num_points
        self._covers: set[tuple[Block, ...]] = set()
        self._time, self._log, self._prices = horizon, log, prices
        #: The numbers of the clauses when the last slice had ended.
        self._held = np.empty(0, dtype=np.int64)
        holes, pairs = self._separated()
        triples = takewhile(
            lambda _: clock.remaining > 0, conflicting_sets(self.blocks, problem.num_nodes, 3)
        )
        covers = [*pairs, *((cover, self._clause(cover)) for cover in triples)]
        given = self._segments.clauses
        facts = 2 * len(given) + sum(len(clause) for _, clause in covers)
        self._engine = self._empty(
            holes, [clause for _, clause in pairs], horizon, len(given) + len(covers), facts
        )
        self._lean(seed, horizon)
        for number, clause in enumerate(given):
            self._append(clause, number)
        for cover, facts_of_cover in covers:
            self._append(facts_of_cover, self._number(cover))
        self._limits = Limits(SumLimit.none(self._points), self._waste_limit(), self._price_limit())
        self.contradiction = self._ground(horizon)

    def _separated(self) -> tuple[Holes, list[tuple[tuple[Block, ...], list[Fact]]]]:
        """Return the merged holes of differences for pairs of blocks in conflict, and pairs with clauses."""
        overlaps: Holes = {}
        clauses: list[tuple[tuple[Block, ...], list[Fact]]] = []
        for pair in conflicting_sets(self.blocks, self._problem.num_nodes, 2):
            first, second = self._clause(pair)
            if (first.before, first.after) == (second.after, second.before):
                hole = (1 - second.seconds, first.seconds - 1)
                overlaps.setdefault((first.before, first.after), []).append(hole)
            else:
                clauses.append((pair, [first, second]))
        holes = {}
        for (before, after), own in overlaps.items():
            merged = merged_holes(own)
            holes[before, after] = merged
            holes[after, before] = [(-high, -low) for low, high in reversed(merged)]
        return holes, clauses

    def _clause(self, cover: tuple[Block, ...]) -> list[Fact]:
        """Return the facts of the clause of blocks that do not all fit: one ends before another starts."""
        return [
            self._segments.ends_before((first.app, first.last), (second.app, second.first))
            for first, second in permutations(cover, 2)
        ]

    def _empty(self, holes: Holes, pairs: list[list[Fact]], horizon: int, clauses: int, facts: int) -> Engine:
        """Return an engine with holes and choices, without clauses or facts."""
        n = self._points
        arcs = n * n
        own = [holes.get(divmod(arc, n), []) for arc in range(arcs)]
        choices = choices_of(n, holes, pairs)
        places = places_of(holes, pairs)
        ranges = max(_FEWEST_RANGES, _RANGES // arcs)
        clauses, facts = clauses + _ROOM_CLAUSES, facts + _ROOM_FACTS
        trail = min(arcs * _ROOM_TRAIL, _MOST_TRAIL)

        def zeros(*shape: int) -> IntArray:
            return np.zeros(shape, dtype=np.int64)

        def small_zeros(*shape: int) -> NDArray[np.int32]:
            return np.zeros(shape, dtype=np.int32)

        engine = Engine(
            values=zeros(arcs),
            ground=zeros(arcs),
            reverses=np.arange(arcs).reshape(n, n).T.ravel().copy(),
            latest=np.full(arcs, -1, dtype=np.int64),
            trail=small_zeros(trail, 6),
            marks=zeros(trail),
            hole_offsets=np.cumsum([0, *map(len, own)]),
            holes=np.array([hole for part in own for hole in part], dtype=np.int64).reshape(-1, 2),
            choices=np.array(choices, dtype=np.int64).reshape(-1, 4),
            place_offsets=np.cumsum([0, *(len(places.get(divmod(arc, n), ())) for arc in range(arcs))]),
            places=np.array(
                [place for arc in range(arcs) for place in places.get(divmod(arc, n), ())], dtype=np.int64
            ).reshape(-1, 3),
            pair_activity=np.zeros(arcs),
            choice_activity=np.zeros(len(choices)),
            clause_offsets=zeros(clauses + 1),
            clause_facts=small_zeros(facts, 2),
            clause_span=zeros(clauses),
            clause_activity=np.zeros(clauses),
            clause_number=zeros(clauses),
            log=small_zeros(_ROOM_LOG + 4 * arcs),
            watches=small_zeros(_ROOM_WATCHES * clauses, 4),
            buckets=small_zeros(arcs * ranges, 3),
            needed=np.full(arcs, UNNEEDED, dtype=np.int64),
            needed_at=zeros(arcs),
            listed=zeros(arcs),
            touched=zeros(arcs),
            missing=zeros(arcs),
            heads=zeros(n),
            beyond=zeros(n),
            inside=zeros(arcs),
            waits=zeros(arcs),
            premise_arcs=zeros(arcs),
            premise_values=zeros(arcs),
            ranked=np.zeros(clauses),
            target=zeros(n - 1),
            growth=np.ones(2),
            mean_spans=np.zeros(2),
            state=zeros(STATE_SIZE),
        )
        engine.state[KEEP] = _KEEP
        engine.state[BASE], engine.state[RANGES] = horizon, ranges
        engine.state[SHIFT] = (2 * horizon // ranges).bit_length()
        return engine

    def _lean(self, seed: int, horizon: int) -> None:
        """Give the pairs with the longest holes a start, so small that the first conflicts take over."""
        engine = self._engine
        spread = np.random.default_rng(seed).random(len(engine.pair_activity))
        first, high, _, low = engine.choices.T
        lengths = np.maximum(high + low - 1, 1)
        engine.pair_activity[:] = np.bincount(first, lengths, self._points**2) * (1 + spread)
        engine.pair_activity[:] /= 1e6 * max(1, horizon)

    def _ground(self, horizon: int) -> bool:
        """Add release <= start <= horizon - duration; return whether this is a contradiction."""
        n, extents = self._points, self._segments.extents
        earliest = np.array([*(release for release, _ in extents), 0])
        latest = np.array([*(horizon - left for _, left in extents), 0])
        if (earliest > latest).any():
            return True
        # Earliest and latest starts imply a value for every arc, so that none is minus infinity.
        table = earliest[None, :] - latest[:, None]
        np.fill_diagonal(table, 0)
        engine = self._engine
        engine.values[:] = engine.ground[:] = table.ravel()
        owners = np.repeat(np.arange(n * n), np.diff(engine.hole_offsets))
        low, high = engine.holes.T
        inside = (low <= engine.values[owners]) & (engine.values[owners] <= high)
        facts = [*zip(owners[inside].tolist(), (high[inside] + 1).tolist(), strict=True)]
        facts += [(fact.before * n + fact.after, fact.seconds) for fact in self._segments.facts]
        return any(add_fact(engine, n, arc, value) for arc, value in facts)

    def _waste_limit(self) -> WasteLimit:
        """Return the budget for waste of the schedules that end by the horizon; see `_kernels_waste`.

        There are no steps in it if sums of node-seconds might not fit 64 bits.
        """
        holds = self._segments.holds
        if (len(holds) + 2) * self._problem.num_nodes * LATEST >= 1 << 62:
            holds = []
        rows = [
            (fact.before * self._points + fact.after, fact.seconds, nodes) for fact, nodes in holds if nodes
        ]
        arcs, least, nodes = np.array(rows, dtype=np.int64).reshape(-1, 3).T.copy()
        work = np.zeros((2, len(rows)), dtype=np.int64)
        return WasteLimit(arcs, least, nodes, np.array([self._budget()], dtype=np.int64), *work)

    def _budget(self) -> int:
        """Return the node-seconds that a schedule which ends in time can hold beyond what its steps need.

        -1 if it cannot even hold these; numbers beyond 64 bits are cut.
        """
        problem = self._problem
        available = problem.num_nodes * (self._time - min(problem.releases))
        return max(-1, min(available - problem.area, 1 << 62))

    def _price_limit(self) -> PriceLimit:
        """Return the steps and prices, and the windows of which they take their share."""
        rows: list[tuple[int, int, int, int, int]] = []
        owners: list[tuple[int, int]] = []
        if self._prices:
            for app, (times, prices) in enumerate(
                zip(self._segments.times, self._prices.of_steps, strict=True)
            ):
                rows += [
                    (*start, *end, price) for (start, end), price in zip(pairwise(times), prices, strict=True)
                ]
                owners += [(app, nodes) for nodes in self._problem.applications[app].nodes]
        partners = [
            [
                other
                for other, (app, nodes) in enumerate(owners)
                if app != own_app and rows[other][4] and own_nodes + nodes <= self._problem.num_nodes
            ]
            for own_app, own_nodes in owners
        ]
        origin, release = self._points - 1, min(self._problem.releases)
        priced = [row for row in rows if row[4]]
        starts, ends = sorted({row[:2] for row in priced}), sorted({row[2:4] for row in priced})
        windows = [(origin, release, origin, self._time)]
        windows += [(origin, release, *end) for end in ends]
        windows += [(*start, origin, self._time) for start in starts]
        most = self._prices.most if self._prices else 0
        if (len(rows) + 2) * most * LATEST >= 1 << 62:
            priced = []  # sums of what is paid or lost might not fit 64 bits
        return PriceLimit(
            np.array(windows if priced else [], dtype=np.int64).reshape(-1, 4),
            np.array(rows if priced else [], dtype=np.int64).reshape(-1, 5),
            np.cumsum([0, *map(len, partners)]),
            np.array([other for own in partners for other in own], dtype=np.int64),
            np.array([most], dtype=np.int64),
            np.zeros(self._points**2, dtype=np.int64),
            *np.zeros((6, len(rows)), dtype=np.int64),
        )

    def _number(self, cover: tuple[Block, ...]) -> int:
        """Return the number of the clause of a cover in the proof."""
        return self._log.add_cover(cover) if self._log else 0

    def _append(self, clause: Sequence[Fact], number: int) -> None:
        """Add a clause of the problem; the next search takes it up."""
        engine, place = self._engine, int(self._engine.state[CLAUSES])
        begin = int(engine.clause_offsets[place])
        for at, (before, after, seconds) in enumerate(clause, begin):
            engine.clause_facts[at] = before * self._points + after, seconds
        engine.clause_offsets[place + 1] = begin + len(clause)
        engine.clause_span[place] = 0
        engine.clause_number[place] = number
        engine.state[CLAUSES] = place + 1

    def exclude(self, cover: tuple[Block, ...]) -> None:
        """Add the clause of blocks that do not all fit, unless the model has it already."""
        if cover not in self._covers:
            self._covers.add(cover)
            self._append(self._clause(cover), self._number(cover))

    def must_end_by(self, time: int) -> None:
        """Accept only answers that end at `time` or earlier, from now on."""
        n = self._points
        self._time = min(self._time, time)
        self._limits.waste.budget[0] = self._budget()
        windows = self._limits.prices.windows
        windows[windows[:, 2] == n - 1, 3] = self._time
        for point, (_, left) in enumerate(self._segments.extents):
            if add_fact(self._engine, n, point * n + n - 1, left - time):
                self.contradiction = True

    def lean(self, starts: IntArray, *, towards: bool) -> None:
        """Set the best known schedule, as starts of all steps, and whether decisions lean towards it."""
        self._engine.state[TOWARDS] = towards
        first: dict[int, int] = {}
        for (point, offset), start in zip(
            (time for times in self._segments.times for time in times[:-1]), starts.tolist(), strict=True
        ):
            first.setdefault(point, start - offset)
        self._engine.target[:] = [first[point] for point in range(self._points - 1)]

    def widest_first(self) -> None:
        """Decide on pairs with much room first, where the search else prefers those with little.

        Where prices of steps refute, they do it early, from the order of the applications at large.
        """
        self._engine.state[WIDEST] = 1

    def must_total(self, total: int) -> None:
        """Accept only answers whose completions add up to `total` or less, from now on."""
        lengths = sum(app.duration for app in self._problem.applications)
        limit = self._limits.starts.state
        limit[LIMIT] = min(total - lengths, int(limit[LIMIT]))

    def search(self, conflicts: int) -> int:
        """Search for an answer, for up to `conflicts` conflicts."""
        outcome = search(self._engine, self._limits, self._points, conflicts)
        engine = self._engine
        if self._log:
            noted, numbers = engine.log[: engine.state[LOGGED]], engine.clause_number[: engine.state[CLAUSES]]
            self._held = self._log.add_slice(self._time, noted, int(engine.state[NOTED]), numbers, self._held)
        engine.state[LOGGED] = engine.state[NOTED] = 0
        return outcome

    def lemmas(self, time: int, span: int) -> Lemmas:
        """Return what the last search learned about answers that end by `time`: clauses of few levels."""
        engine = self._engine
        first, last = int(engine.state[CLEANED]), int(engine.state[CLAUSES])
        offsets, spans = engine.clause_offsets[first : last + 1], engine.clause_span[first:last]
        lengths = np.diff(offsets)
        good = (spans > 0) & (spans <= span)
        facts = engine.clause_facts[offsets[0] : offsets[-1]][np.repeat(good, lengths)]
        numbers = engine.clause_number[first:last][good]
        return Lemmas(time, facts, lengths[good], spans[good], numbers, engine.ground.copy())

    def adopt(self, lemmas: Lemmas) -> None:
        """Add what was learned about answers that end by the same time or later."""
        engine, number = self._engine, int(self._engine.state[CLAUSES])
        count, begin = len(lemmas.lengths), int(engine.clause_offsets[number])
        for arc in np.flatnonzero(lemmas.ground > engine.values).tolist():
            if add_fact(engine, self._points, arc, int(lemmas.ground[arc])):
                self.contradiction = True
        if (
            number + count >= len(engine.clause_span) // 2
            or begin + len(lemmas.facts) > len(engine.clause_facts) // 2
        ):
            if self._log:
                self._log.release(lemmas.numbers)
            return  # only help is lost
        engine.clause_facts[begin : begin + len(lemmas.facts)] = lemmas.facts
        engine.clause_offsets[number + 1 : number + count + 1] = begin + np.cumsum(lemmas.lengths)
        engine.clause_span[number : number + count] = lemmas.spans
        engine.clause_number[number : number + count] = lemmas.numbers
        self._held = np.concatenate([self._held, lemmas.numbers])
        engine.clause_activity[number : number + count] = engine.growth[1]
        engine.state[CLAUSES] = number + count

    def certificate(self, time: int) -> dict[str, Any] | None:
        """Return the proof, just met, that no answer ends by `time`; None without a log."""
        if self._log is None:
            return None
        prices = self._prices.of_steps if self._prices else None
        return self._log.certificate(time, self._segments.first_steps, prices)

    @property
    def points(self) -> int:
        """Segments of all applications, and the origin."""
        return self._points

    @property
    def conflicts(self) -> int:
        """Conflicts met so far."""
        return int(self._engine.state[CONFLICTS])

    def read_times(self) -> tuple[IntArray, IntArray]:
        """Return starts and ends of all steps of the answer that the search has just met."""
        origin = self._points - 1
        times = self._engine.values[origin * self._points :]
        every = [[int(times[point]) + offset for point, offset in own] for own in self._segments.times]
        starts = [start for own in every for start in own[:-1]]
        ends = [end for own in every for end in own[1:]]
        return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)

    def violated(self, starts: IntArray, ends: IntArray) -> set[tuple[Block, ...]]:
        """Return the covers that step times violate."""
        return violated_covers(self.blocks, self._problem.num_nodes, starts, ends)
