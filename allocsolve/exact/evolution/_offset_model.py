"""The ordering relaxation without expansion as facts on start differences: what the conflict search works on.

The same relaxation as that of `_order_model` beside this module, and the same clauses: of the blocks of a
conflicting set (see `_conflicts`), some one ends before some other starts. For two applications these
clauses are holes in the difference of their starts.
"""

from __future__ import annotations

from itertools import permutations, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.exact.evolution._conflicts import blocks_of, conflicting_sets, violated_covers
from allocsolve.exact.evolution._kernels_conflict import UNNEEDED
from allocsolve.exact.evolution._kernels_offset_search import add_fact, search
from allocsolve.exact.evolution._kernels_offsets import (
    CLAUSES,
    CLEANED,
    CONFLICTS,
    KEEP,
    LOGGED,
    NOTED,
    PACE,
    STATE_SIZE,
    Engine,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.exact.evolution._conflicts import Block
    from allocsolve.exact.evolution._proof_log import ProofLog
    from allocsolve.model import Clock, EvolutionProblem, IntArray

__all__ = ["LATEST", "Lemmas", "OffsetModel"]

#: Seconds up to which a horizon is allowed, so that all differences fit 32 bits.
LATEST = 1 << 29

#: Room for learned clauses, and for facts in them.
_ROOM_CLAUSES, _ROOM_FACTS = 60_000, 3_000_000
#: Watches per clause. Two are in use; with buckets that double, at most 16 are taken after a clean-up.
_ROOM_WATCHES = 40
#: Trail entries per arc.
_ROOM_TRAIL = 400
#: Room for what is noted for a proof, beside that of one clause with all arcs.
_ROOM_LOG = 300_000
#: Learned clauses to keep at a clean-up; conflicts between restarts.
_KEEP, _PACE = 12_000, 128
#: Ranges in which the watches of an arc without holes are grouped.
_RANGES = 60
#: A boundary above every value.
_BEYOND = 1 << 60


class Lemmas(NamedTuple):
    """What a search has learned about all answers that end by a time."""

    time: int
    #: Clauses one after the other, rows (arc, value); the number of facts and the span of each.
    facts: NDArray[np.int32]
    lengths: IntArray
    spans: IntArray
    #: What the proof calls them.
    numbers: IntArray
    #: The least difference of each arc.
    ground: IntArray


class OffsetModel:
    """The relaxation of a problem without expansion, and one search in it.

    Parameters
    ----------
    problem
        With at least one application; its expand limit is taken to be 1.
    horizon
        Seconds, at most `LATEST`; only answers that end by then count. Nothing is known about others.
    clock
        Clauses are collected while it has time left; what is missing only makes the relaxation weaker.
    seed
        Of the first decisions.
    log
        Where what the search learns is written; None: nowhere.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        horizon: int,
        clock: Clock,
        *,
        seed: int,
        log: ProofLog | None = None,
    ) -> None:
        self.blocks = blocks_of(problem)
        self._problem = problem
        self._offsets = [[0, *np.cumsum(app.durations).tolist()] for app in problem.applications]
        self._points = len(problem.applications) + 1
        self._covers: set[tuple[Block, ...]] = set()
        self._time, self._log = horizon, log
        #: The numbers of the clauses when the last slice had ended.
        self._held = np.empty(0, dtype=np.int64)
        holes = self._holes()
        triples = list(
            takewhile(lambda _: clock.remaining > 0, conflicting_sets(self.blocks, problem.num_nodes, 3))
        )
        clauses = [self._clause(cover) for cover in triples]
        self._engine = self._empty(holes, horizon, len(clauses), sum(map(len, clauses)))
        spread = np.random.default_rng(seed).random(len(self._engine.pair_activity))
        lengths = self._engine.holes[:, 1] - self._engine.holes[:, 0] + 1
        owners = np.repeat(np.arange(self._points**2), np.diff(self._engine.hole_offsets))
        # Pairs with the longest holes first; little enough that the first conflicts take over.
        self._engine.pair_activity[:] = np.bincount(owners, lengths, self._points**2) * (1 + spread)
        self._engine.pair_activity[:] /= 1e6 * max(1, horizon)
        for cover, clause in zip(triples, clauses, strict=True):
            self._append(cover, clause)
        self.contradiction = self._ground(horizon)

    def _holes(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """No two blocks that exceed the cluster overlap: the differences at which they would, merged."""
        overlaps: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for one, two in conflicting_sets(self.blocks, self._problem.num_nodes, 2):
            a, b = self._offsets[one.app], self._offsets[two.app]
            low, high = a[one.first] - b[two.last + 1] + 1, a[one.last + 1] - b[two.first] - 1
            overlaps.setdefault((one.app, two.app), []).append((low, high))
        holes = {}
        for (a_app, b_app), own in overlaps.items():
            merged: list[tuple[int, int]] = []
            for low, high in sorted(own):
                if merged and low <= merged[-1][1] + 1:
                    merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
                else:
                    merged.append((low, high))
            holes[a_app, b_app] = merged
            holes[b_app, a_app] = [(-high, -low) for low, high in reversed(merged)]
        return holes

    def _clause(self, cover: tuple[Block, ...]) -> list[tuple[int, int]]:
        """Of blocks that do not all fit, one ends before another starts: (arc, value) of each case."""
        return [
            (
                one.app * self._points + two.app,
                self._offsets[one.app][one.last + 1] - self._offsets[two.app][two.first],
            )
            for one, two in permutations(cover, 2)
        ]

    def _empty(
        self, holes: dict[tuple[int, int], list[tuple[int, int]]], horizon: int, clauses: int, facts: int
    ) -> Engine:
        """Return an engine with holes, without clauses or facts."""
        n = self._points
        arcs = n * n
        own = [holes.get(divmod(arc, n), []) for arc in range(arcs)]
        # Ranges of the watches: between holes, and no longer than a part of the horizon.
        even = np.linspace(-horizon, horizon, _RANGES).astype(np.int64).tolist()
        cuts = [sorted({*even, *(high for _, high in part)}) for part in own]
        ends = [end for cut in cuts for end in [*cut, _BEYOND]]
        clauses, facts = clauses + _ROOM_CLAUSES, facts + _ROOM_FACTS

        def zeros(*shape: int) -> IntArray:
            return np.zeros(shape, dtype=np.int64)

        def small_zeros(*shape: int) -> NDArray[np.int32]:
            return np.zeros(shape, dtype=np.int32)

        engine = Engine(
            values=zeros(arcs),
            ground=zeros(arcs),
            latest=np.full(arcs, -1, dtype=np.int64),
            trail=zeros(arcs * _ROOM_TRAIL, 6),
            marks=zeros(arcs * _ROOM_TRAIL),
            hole_offsets=np.cumsum([0, *map(len, own)]),
            holes=np.array([hole for part in own for hole in part], dtype=np.int64).reshape(-1, 2),
            pair_activity=np.zeros(arcs),
            hole_activity=np.zeros(sum(map(len, own))),
            clause_offsets=zeros(clauses + 1),
            clause_facts=small_zeros(facts, 2),
            clause_span=zeros(clauses),
            clause_activity=np.zeros(clauses),
            clause_number=zeros(clauses),
            log=small_zeros(_ROOM_LOG + 4 * arcs),
            watches=small_zeros(_ROOM_WATCHES * clauses, 4),
            buckets=small_zeros(len(ends), 3),
            bucket_offsets=np.cumsum([0, *(len(cut) + 1 for cut in cuts)]),
            bucket_ends=np.array(ends, dtype=np.int64),
            needed=np.full(arcs, UNNEEDED, dtype=np.int64),
            needed_at=zeros(arcs),
            listed=zeros(arcs),
            touched=zeros(arcs),
            premise_arcs=zeros(arcs),
            premise_values=zeros(arcs),
            ranked=np.zeros(clauses),
            target=zeros(n - 1),
            growth=np.ones(2),
            state=zeros(STATE_SIZE),
        )
        engine.state[KEEP], engine.state[PACE] = _KEEP, _PACE
        return engine

    def _ground(self, horizon: int) -> bool:
        """release <= start <= horizon - duration; tell whether this contradicts itself."""
        n = self._points
        earliest = np.array([*self._problem.releases, 0])
        latest = np.array([*(horizon - offsets[-1] for offsets in self._offsets), 0])
        if (earliest > latest).any():
            return True
        # A value for every arc, implied by earliest and latest starts, so that nothing is minus infinity.
        table = earliest[None, :] - latest[:, None]
        np.fill_diagonal(table, 0)
        engine = self._engine
        engine.values[:] = engine.ground[:] = table.ravel() - 1  # so that every arc is raised, and propagated
        return any(add_fact(engine, n, arc, int(table.flat[arc])) for arc in range(n * n) if arc % (n + 1))

    def _append(self, cover: tuple[Block, ...], clause: list[tuple[int, int]]) -> None:
        """Add a clause of the problem; the next search takes it up."""
        engine, number = self._engine, int(self._engine.state[CLAUSES])
        begin = int(engine.clause_offsets[number])
        for at, (arc, value) in enumerate(clause, begin):
            engine.clause_facts[at] = arc, value
        engine.clause_offsets[number + 1] = begin + len(clause)
        engine.clause_span[number] = 0
        engine.clause_number[number] = self._log.add_cover(cover) if self._log else 0
        engine.state[CLAUSES] = number + 1

    def exclude(self, cover: tuple[Block, ...]) -> None:
        """Add the clause of blocks that do not all fit, unless it is there already."""
        if cover not in self._covers:
            self._covers.add(cover)
            self._append(cover, self._clause(cover))

    def must_end_by(self, time: int) -> None:
        """Count only answers that end at `time` or earlier, from now on."""
        n = self._points
        self._time = min(self._time, time)
        for app, offsets in enumerate(self._offsets):
            if add_fact(self._engine, n, app * n + n - 1, offsets[-1] - time):
                self.contradiction = True

    def lean_away_from(self, starts: IntArray) -> None:
        """Tell the decisions the best schedule known: starts of the applications."""
        self._engine.target[:] = starts

    def search(self, conflicts: int) -> int:
        """Look for an answer, for so many conflicts."""
        outcome = search(self._engine, self._points, conflicts)
        engine = self._engine
        if self._log:
            noted, numbers = engine.log[: engine.state[LOGGED]], engine.clause_number[: engine.state[CLAUSES]]
            self._held = self._log.add_slice(self._time, noted, int(engine.state[NOTED]), numbers, self._held)
        engine.state[LOGGED] = engine.state[NOTED] = 0
        return outcome

    def lemmas(self, time: int, span: int) -> Lemmas:
        """Return what the last search learned of answers that end by `time`: clauses of few levels."""
        engine = self._engine
        first, last = int(engine.state[CLEANED]), int(engine.state[CLAUSES])
        offsets, spans = engine.clause_offsets[first : last + 1], engine.clause_span[first:last]
        lengths = np.diff(offsets)
        good = (spans > 0) & (spans <= span)
        facts = engine.clause_facts[offsets[0] : offsets[-1]][np.repeat(good, lengths)]
        numbers = engine.clause_number[first:last][good]
        return Lemmas(time, facts, lengths[good], spans[good], numbers, engine.ground.copy())

    def adopt(self, lemmas: Lemmas) -> None:
        """Use from now on what was learned about answers that end by the same time or later."""
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
            return  # nothing is lost but help
        engine.clause_facts[begin : begin + len(lemmas.facts)] = lemmas.facts
        engine.clause_offsets[number + 1 : number + count + 1] = begin + np.cumsum(lemmas.lengths)
        engine.clause_span[number : number + count] = lemmas.spans
        engine.clause_number[number : number + count] = lemmas.numbers
        self._held = np.concatenate([self._held, lemmas.numbers])
        engine.clause_activity[number : number + count] = engine.growth[1]
        engine.state[CLAUSES] = number + count

    def certificate(self, time: int) -> dict[str, Any] | None:
        """Return the proof that no answer ends by `time`, which the search has just met; None: not kept."""
        return (
            self._log.certificate(time, [[app, 0] for app in range(self._points - 1)]) if self._log else None
        )

    @property
    def conflicts(self) -> int:
        """Conflicts met so far."""
        return int(self._engine.state[CONFLICTS])

    def read_times(self) -> tuple[IntArray, IntArray]:
        """Return starts and ends of all steps of the answer that the search has just met."""
        packed = self._problem.packed
        origin = self._points - 1
        starts = self._engine.values[origin * self._points : -1]
        before = np.concatenate([offsets[:-1] for offsets in self._offsets]).astype(np.int64)
        times = before + np.repeat(starts, np.diff(packed.offsets))
        return times, times + packed.durations

    def violated(self, starts: IntArray, ends: IntArray) -> set[tuple[Block, ...]]:
        """Return the covers that step times violate."""
        return violated_covers(self.blocks, self._problem.num_nodes, starts, ends)
