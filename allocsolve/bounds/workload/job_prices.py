"""Prices per job: the bound on workloads of rigid jobs where jobs are wide or few.

The ascent goes in rounds: temperatures fall, windows are cut, and slots are halved.
"""

from __future__ import annotations

import heapq
import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload.costs import MEAN_TERMS, job_costs
from allocsolve.bounds.workload.job_price_dual import DualJobs, JobDual, JobWindows, climb, joined, slots_of
from allocsolve.bounds.workload.time_prices import PriceBound
from allocsolve.errors import InvalidAnswer
from allocsolve.judge.quantiles import quantile
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.kernels.threads import run_in_threads
from allocsolve.model import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from allocsolve.model import Clock, FloatArray, IntArray, WorkloadProblem, WorkloadTerm


class Ascended(NamedTuple):
    """Prices and the lower bound that they give, apart from the rounding of doubles."""

    windows: JobWindows
    value: float


def ascended(
    jobs: DualJobs,
    capacity: int,
    windows: JobWindows,
    temperatures: Sequence[float],
    *,
    steps: int,
    clock: Clock,
    halt: threading.Event | None = None,
    workers: int = 1,
) -> Ascended:
    """Return the best prices met on the way from those of the windows through falling temperatures.

    The ascent ends when the clock has run out or `halt` is set.
    """

    def stop() -> bool:
        return not clock.remaining or (halt is not None and halt.is_set())

    dual = JobDual(jobs, capacity, windows, workers)
    lengths = windows.lengths
    best, value = climb(dual, windows.prices * lengths, temperatures, steps=steps, stop=stop)
    return Ascended(windows.with_prices(best / lengths), value)


def ascended_pieces(
    jobs: DualJobs,
    capacity: int,
    windows: JobWindows,
    pieces: Sequence[IntArray],
    temperatures: Sequence[float],
    *,
    steps: int,
    clock: Clock,
    workers: int,
) -> JobWindows:
    """Return prices of all jobs after an ascent of each piece of them by itself; pieces run in threads.

    Each has its share of the time.
    """
    parts: list[tuple[IntArray, JobWindows]] = []
    waiting = list(pieces)[::-1]
    halt = threading.Event()

    def work() -> None:
        while waiting:
            left = len(waiting)
            try:
                piece = waiting.pop()
            except IndexError:  # another thread took the last piece
                return
            own = ascended(
                jobs.of(piece),
                capacity,
                windows.of_jobs(piece),
                temperatures,
                steps=steps,
                clock=clock.stage(min(1.0, workers / left)),
                halt=halt,
            )
            parts.append((piece, own.windows))

    run_in_threads([work] * min(workers, len(pieces)), halt)
    return joined(parts, windows.edges, len(jobs.submit))


#: The most jobs with which every job may have a price until all are done.
_FEW: Final = 100

#: Consecutive jobs of a log that are priced together at first, apart from all others.
PIECE: Final = 1200

#: With few jobs: the most slots as fine as the times themselves, and about how many coarser slots come first.
_FINE, _COARSE = 400, 100

#: With a log: the most slots at first, and the length of a slot as a share of the mean run time.
_MOST_SLOTS, _LENGTH = 20_000, 0.8

#: Slots by which a window of a log reaches beyond what the first prices ask for.
_FIRST_MARGIN: Final = 6

#: Slots by which a window reaches behind its last price after a round.
MARGIN: Final = 2


class Round(NamedTuple):
    """An ascent on slots of 1/`divisor` of the first length; temperatures in costs of a delay by a slot."""

    divisor: int
    temperatures: tuple[float, ...]
    by_pieces: bool = False


#: The rounds of few jobs on slots as fine as the times themselves.
_FINE_ROUNDS = (Round(1, (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)),)
#: The rounds of few jobs on coarser slots, which are halved from round to round.
_COARSE_ROUNDS = (
    Round(1, (0.5, 0.15, 0.05)),
    Round(2, (0.05, 0.015)),
    Round(4, (0.03, 0.01)),
    Round(8, (0.02,)),
)
#: The rounds of a log.
_ROUNDS = (Round(1, (0.14, 0.042)), Round(2, (0.028, 0.0083)), Round(4, (0.028, 0.011)), Round(8, (0.022,)))
#: The rounds that go on from the prices of an earlier ascent.
_FURTHER_ROUNDS = (Round(1, (0.022, 0.011)), Round(2, (0.022, 0.011)), Round(4, (0.022, 0.011)))
#: The first rounds of a log of many jobs, piece by piece.
_PIECE_ROUNDS = tuple(each._replace(by_pieces=True) for each in _ROUNDS[:2])


class Plan(NamedTuple):
    """Windows with the first prices, the rounds that follow, and other rounds in case those gain nothing."""

    windows: JobWindows
    rounds: Sequence[Sequence[Round]]


def plan(jobs: DualJobs, capacity: int, sizes: FloatArray, starts: FloatArray, given: PriceBound) -> Plan:
    """Return where to begin: with the prices per node-second of a bound.

    The jobs are those that count; they share the capacity, have so many nodes (`sizes`), and their cheapest
    starts under the prices of the bound.
    """
    rounds: tuple[tuple[Round, ...], ...]
    paid = np.concatenate(([0.0], np.cumsum(given.prices * np.diff(given.edges))))
    low = math.floor(jobs.submit.min())
    if len(jobs.submit) <= _FEW:
        horizon = _serial_horizon(jobs, capacity)
        unit = _unit(jobs, low)
        if horizon - low <= _FINE * unit:
            length, rounds = unit, (_FINE_ROUNDS,)
        else:
            length, rounds = 8 * math.ceil((horizon - low) / (8 * _COARSE)), (_COARSE_ROUNDS,)
        ends = np.full(len(sizes), float(horizon))
    else:
        ends = _latest_ends(jobs, sizes, starts, given, paid)
        span = float(jobs.submit.max() + jobs.runtime.max()) - low
        eighth = max(_LENGTH * float(jobs.runtime.mean()), span / _MOST_SLOTS) / 8
        length = 8 * max(1, round(eighth))
        ends += _FIRST_MARGIN * length
        rounds = (_ROUNDS,) if len(sizes) <= PIECE else (_PIECE_ROUNDS + _ROUNDS[1:], _ROUNDS)
    edges = low + length * np.arange(math.ceil((float(ends.max()) - low) / length) + 1, dtype=np.float64)
    windows = JobWindows.empty(edges, slots_of(edges, jobs.submit), slots_of(edges, ends - 1e-6 * length))
    price = np.diff(np.interp(edges, given.edges, paid)) / length
    return Plan(windows.with_prices(price[windows.slots] * sizes[windows.owners]), rounds)


def further(windows: JobWindows, submit: FloatArray) -> Plan:
    """Return how the ascent goes on from prices of an earlier one: on their slots, then on finer ones."""
    return Plan(windows.cut(submit, MARGIN * windows.usual_length), (_FURTHER_ROUNDS,))


def _latest_ends(
    jobs: DualJobs, sizes: FloatArray, starts: FloatArray, given: PriceBound, paid: FloatArray
) -> FloatArray:
    """Return the latest end of each job, at which the cost of its delay equals what it pays now."""
    ends = starts + jobs.runtime
    prices = np.interp(ends, given.edges, paid) - np.interp(starts, given.edges, paid)
    costs = np.maximum(jobs.floor, jobs.slope * (ends - jobs.submit)) + sizes * prices
    latest: FloatArray = jobs.submit + costs / jobs.slope
    return latest


def _unit(jobs: DualJobs, low: int) -> int:
    """Return the greatest whole number of seconds that divides all times; 1 if there is none."""
    times = np.concatenate((jobs.submit - low, jobs.runtime))
    if (times != np.floor(times)).any():
        return 1
    return max(1, int(np.gcd.reduce(times.astype(np.int64))))


def _serial_horizon(jobs: DualJobs, capacity: int) -> int:
    """Return when the last job ends if they start in order of submission."""
    running: list[tuple[float, int]] = []
    now, free = 0.0, capacity
    order: IntArray = np.argsort(jobs.submit, kind="stable")
    rows = zip(
        jobs.submit[order].tolist(), jobs.runtime[order].tolist(), jobs.nodes[order].tolist(), strict=True
    )
    for submit, runtime, nodes in rows:
        now = max(now, submit)
        while running and (running[0][0] <= now or free < nodes):
            end, freed = heapq.heappop(running)
            now, free = max(now, end), free + freed
        heapq.heappush(running, (now + runtime, nodes))
        free -= nodes
    return math.ceil(max((end for end, _ in running), default=now))


_KIND: Final = "job-prices"

#: The most units of the cluster: sizes are coarsened to them, since time grows with their number.
_CAPACITY: Final = 1024

#: The most prices of windows whose slots are still halved.
_MOST_HALVED: Final = 1_000_000

#: Relative: a gain below this is only the rounding of sums.
_NO_GAIN: Final = 1e-10

#: Steps of the ascent at each temperature.
_STEPS: Final = 120

#: The share of the remaining time that each round except the last may take.
_SHARE: Final = 0.4

#: Units of a median price, if sums of prices fit 64 bits. With very many prices the units are coarser, since
#: roundings cancel and certificates become large files.
_MIDDLE, _MIDDLE_OF_MANY, _MANY = 1e5, 1e2, 100_000
#: The largest sum of prices, in units: it leaves some room in 64 bits.
_ROOM: Final = 2.0**58


def job_prices(
    problem: WorkloadProblem, term: WorkloadTerm, start: PriceBound, *, clock: Clock, workers: int = 1
) -> PriceBound:
    """Return a lower bound by prices that differ from job to job, never below the given one.

    The ascent begins with a bound by prices that are the same for all jobs, or by prices per job, which are
    improved where they are and on finer slots. If jobs are moldable, or the term is no mean over the jobs,
    the bound is returned as it was given. When the time of the clock is over, or at Ctrl-C, the best bound so
    far is returned.

    Notes
    -----
    With a price list w_j(t) >= 0 for each job, the cost of any schedule is at least the sum over the jobs of
    the least f_j(end) + (integral of w_j while the job runs), less the integral over t of the greatest sum of
    w_j(t) over jobs that fit into the cluster together. Prices per node-second are the special case
    w_j = nodes_j * price; they charge for the whole cluster even where no set of jobs fills it, and let a
    wide job run at a fraction of its size beside long narrow ones. Prices per job know both.

    The prices are constant on slots within a window of each job. Both minima are smoothed (entropy), which
    gives a concave function with an exact gradient; the temperature falls, slots are halved. Logs are priced
    in pieces of consecutive jobs before all together. Certificates hold integers: see `job_price_bound`.

    *Complexity* of a step: O(prices * nodes). Clusters beyond 1024 nodes are coarsened, which costs quality,
    not validity.
    """
    if not problem.is_rigid or term not in MEAN_TERMS or not problem.packed.weight.any():
        return start
    priced = PricedWorkload.of(problem, term)
    search = _Search(priced.jobs, priced.capacity, clock, workers)
    interrupted = start.interrupted
    try:
        search.run(_ahead(problem, priced, start))
    except KeyboardInterrupt:
        interrupted = True
    if search.best is None:
        return replace(start, interrupted=interrupted)
    windows = search.best.windows
    certificate = price_certificate(windows, priced, len(problem.jobs), term)
    try:
        value = job_price_bound(problem, certificate, term)
    except InvalidAnswer:  # it is too large for 64 bits
        return replace(start, interrupted=interrupted)
    if value <= start.value:
        return replace(start, interrupted=interrupted)
    return replace(
        start,
        value=value,
        certificate=certificate,
        starts=_cheapest_starts(start.starts, priced, windows),
        interrupted=interrupted,
    )


def job_prices_of(problem: WorkloadProblem, term: WorkloadTerm, certificate: Mapping[str, Any]) -> PriceBound:
    """Return the bound of a certificate of prices per job; it has no prices of node-seconds.

    `InvalidAnswer` if the judge does not admit the certificate.
    """
    value = job_price_bound(problem, certificate, term)
    nobody = frozen(np.zeros(0))
    starts = problem.packed.submit
    if problem.packed.weight.any():
        priced = PricedWorkload.of(problem, term)
        starts = _cheapest_starts(starts, priced, JobWindows.of_certificate(certificate, priced.counted))
    return PriceBound(
        value, certificate, starts, problem.packed.nodes, frozen(np.zeros(1, dtype=np.int64)), nobody
    )


def root_prices(problem: WorkloadProblem, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prices with which trees of dates that the judge admits begin, as prices per job.

    Those are the first lists of the trees, and what is shared.
    """
    every = np.arange(len(problem.jobs))
    if certificate["kind"] == "date-tree":
        parts = [_entries(certificate["lists"][0], every, 0)]
    else:
        shared, owner = certificate["shared"], np.array(certificate["stretches"])
        parts = [_entries({**shared, "jobs": every, "differences": shared["prices"]}, every, 0)]
        for number, tree in enumerate(certificate["trees"]):
            own = np.flatnonzero(owner == number)
            parts.append(_entries(tree["lists"][0], own, tree["slots"][0]))
    jobs, slots, prices = (np.concatenate(column) for column in zip(*parts, strict=True))
    first, end = np.full(len(every), len(certificate["edges"])), np.zeros(len(every), dtype=np.int64)
    np.minimum.at(first, jobs, slots)
    np.maximum.at(end, jobs, slots + 1)
    first = np.minimum(first, end)
    offsets = np.concatenate(([0], np.cumsum(end - first)))
    summed = np.zeros(int(offsets[-1]), dtype=np.int64)
    np.add.at(summed, offsets[jobs] + slots - first[jobs], prices)
    return {
        "kind": _KIND,
        **{
            key: certificate[key] for key in ("term", "edges", "nodes", "units", "unit") if key in certificate
        },
        "first_slots": first.tolist(),
        "offsets": offsets.tolist(),
        "prices": summed.tolist(),
    }


def _entries(each: Mapping[str, Any], names: IntArray, shift: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the job, the slot and the price of each entry of a list; `names` are the jobs that it counts."""
    offsets = np.array(each["offsets"], dtype=np.int64)
    counts = np.diff(offsets)
    begins = np.array(each["first_slots"], dtype=np.int64) + shift - offsets[:-1]
    slots = np.arange(int(offsets[-1])) + np.repeat(begins, counts)
    owners = np.repeat(names[np.array(each["jobs"], dtype=np.int64)], counts)
    return owners, slots, np.array(each["differences"], dtype=np.int64)


class PricedWorkload(NamedTuple):
    """The jobs that get prices, which are those that count."""

    jobs: DualJobs
    #: Their indices in the problem.
    counted: IntArray
    #: The number by which sizes are divided, and the units of the cluster.
    divisor: int
    capacity: int

    @classmethod
    def of(cls, problem: WorkloadProblem, term: WorkloadTerm) -> PricedWorkload:
        """Return the jobs of a problem with their costs under a term."""
        costs, packed = job_costs(problem, term), problem.packed
        counted = np.flatnonzero(costs.slope > 0)
        divisor = _divisor(packed.nodes, problem.num_nodes)
        nodes = frozen(packed.nodes // divisor)
        jobs = DualJobs(packed.submit, packed.runtime, costs.slope, costs.floor, nodes).of(counted)
        return cls(jobs, counted, divisor, problem.num_nodes // divisor)


def _ahead(problem: WorkloadProblem, priced: PricedWorkload, start: PriceBound) -> Plan:
    """Return where the ascent begins: with the given prices."""
    counted = priced.counted
    if start.certificate.get("kind") == _KIND:
        return further(JobWindows.of_certificate(start.certificate, counted), priced.jobs.submit)
    sizes = problem.packed.nodes[counted].astype(np.float64)
    return plan(priced.jobs, priced.capacity, sizes, start.starts[counted], start)


def _cheapest_starts(others: FloatArray, priced: PricedWorkload, windows: JobWindows) -> FloatArray:
    """Return a cheapest start of each job; jobs that do not count keep the given start."""
    starts = others.copy()
    dual = JobDual(priced.jobs, priced.capacity, windows)
    _, starts[priced.counted] = dual.cheapest(windows.prices * windows.lengths)
    return frozen(starts)


class _Search:
    """The best prices so far, which stay after Ctrl-C."""

    def __init__(self, jobs: DualJobs, capacity: int, clock: Clock, workers: int) -> None:
        self.jobs, self.capacity, self.clock, self.workers = jobs, capacity, clock, workers
        self.best: Ascended | None = None
        # The typical cost of a delay by a second.
        self._slope = float(np.exp(np.log(jobs.slope).mean()))

    def run(self, ahead: Plan) -> None:
        """Go through the rounds."""
        for rounds in ahead.rounds:
            if not self.clock.remaining or self._gained(ahead.windows, rounds):
                return

    def _gained(self, windows: JobWindows, rounds: Sequence[Round]) -> bool:
        """Go through rounds; return False when pieces lose because jobs of one wait into the next."""
        divisor = 1
        self._note(self._valued(windows))
        for number, each in enumerate(rounds):
            if not self.clock.remaining:
                break
            while divisor < each.divisor:
                if np.diff(windows.edges).min() < 2 or len(windows.prices) > _MOST_HALVED:
                    return True
                windows, divisor = windows.halved(), 2 * divisor
            length = windows.usual_length
            temperatures = [share * length * self._slope for share in each.temperatures]
            own = self.clock.stage(1.0 if number + 1 == len(rounds) else _SHARE)
            step = self._pieces if each.by_pieces else self._together
            done = step(windows, temperatures, own)
            if each.by_pieces and self.best is not None and done.value < self.best.value:
                return False
            self._note(done)
            windows = done.windows.cut(self.jobs.submit, MARGIN * length)
        return True

    def _together(self, windows: JobWindows, temperatures: Sequence[float], clock: Clock) -> Ascended:
        return ascended(
            self.jobs, self.capacity, windows, temperatures, steps=_STEPS, clock=clock, workers=self.workers
        )

    def _pieces(self, windows: JobWindows, temperatures: Sequence[float], clock: Clock) -> Ascended:
        order = np.argsort(self.jobs.submit, kind="stable")
        pieces = np.array_split(order, math.ceil(len(order) / PIECE))
        done = ascended_pieces(
            self.jobs,
            self.capacity,
            windows,
            [np.sort(piece) for piece in pieces],
            temperatures,
            steps=_STEPS,
            clock=clock,
            workers=self.workers,
        )
        return self._valued(done)

    def _valued(self, windows: JobWindows) -> Ascended:
        dual = JobDual(self.jobs, self.capacity, windows, self.workers)
        return Ascended(windows, dual.exact(windows.prices * windows.lengths))

    def _note(self, done: Ascended) -> None:
        if self.best is None or done.value - self.best.value > _NO_GAIN * abs(self.best.value):
            self.best = done


def _divisor(nodes: IntArray, num_nodes: int) -> int:
    """Return the number by which sizes are divided: a common divisor, with which nothing is lost, or more."""
    common = int(np.gcd.reduce(nodes))
    return common * max(1, math.ceil(num_nodes / common / _CAPACITY))


def price_certificate(
    windows: JobWindows, priced_jobs: PricedWorkload, num_jobs: int, term: WorkloadTerm
) -> dict[str, Any]:
    """Return the prices of each job as integers, from its first to its last one above 0."""
    unit, counted = _price_unit(windows), priced_jobs.counted
    prices = np.rint(windows.prices * unit).astype(np.int64)
    owners, slots = windows.owners, windows.slots
    priced = np.flatnonzero(prices)
    first, last = np.zeros(num_jobs, dtype=np.int64), np.full(num_jobs, -1)
    if len(priced):
        jobs, begins = np.unique(owners[priced], return_index=True)
        ends = np.append(begins[1:], len(priced)) - 1
        first[counted[jobs]], last[counted[jobs]] = slots[priced[begins]], slots[priced[ends]]
    inside = (slots >= first[counted][owners]) & (slots <= last[counted][owners])
    return {
        "kind": _KIND,
        "term": term,
        "edges": np.rint(windows.edges).astype(np.int64).tolist(),
        "nodes": priced_jobs.divisor,
        "unit": unit,
        "first_slots": first.tolist(),
        "offsets": np.concatenate(([0], np.cumsum(last - first + 1))).tolist(),
        "prices": prices[inside].tolist(),
    }


def _price_unit(windows: JobWindows) -> int:
    """Return a power of ten with which a median price has some digits and sums fit into 64 bits."""
    positive: FloatArray = windows.prices[windows.prices > 0]
    if not len(positive):
        return 1
    paid = np.bincount(windows.owners, windows.prices * windows.lengths)
    fullest = np.bincount(windows.slots, windows.prices)
    middle = _MIDDLE if len(positive) < _MANY else _MIDDLE_OF_MANY
    fine = math.floor(math.log10(middle / quantile(positive, 0.5))) + 1
    large = math.floor(math.log10(_ROOM / max(float(paid.max()), float(fullest.max()))))
    return int(10 ** max(0, min(fine, large, 15)))
