"""Moves of the search for schedules of reservations, on lists: nothing is kept but the starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allocsolve.heuristics.reservation.schedule_search import Guide, Walk
    from allocsolve.model import ReservationProblem

MOST_EJECTED, TRIED, SCATTERED, DRAWS = 12, 3, 0.5, 20


class Xorshift:
    random: int

    def uniform(self) -> float:
        """Draw a number from 0 to 1: xorshift64*."""
        x = self.random
        x ^= x >> 12
        x = (x ^ (x << 25)) % 2**64
        x ^= x >> 27
        self.random = x
        return ((x * 0x2545F4914F6CDD1D) % 2**64 >> 11) / 2**53


@dataclass
class NaiveSearch(Xorshift):
    """The jobs, what is to be gained, and where the search is."""

    problem: ReservationProblem
    guide: Guide
    starts: list[int]
    random: int
    best_starts: list[int] = field(default_factory=list)
    reached: list[float] = field(default_factory=lambda: [0.0, 0.0])
    best: list[float] = field(default_factory=lambda: [0.0, 0.0])
    rejected: list[int] = field(default_factory=list)

    @staticmethod
    def of(problem: ReservationProblem, guide: Guide, walk: Walk) -> NaiveSearch:
        """Begin where a walk is."""
        search = NaiveSearch(problem, guide, walk.starts.tolist(), int(walk.random[0]))
        for job, start in enumerate(search.starts):
            if start >= 0:
                search._count(job, 1)
        search.best, search.best_starts = [*search.reached], [*search.starts]
        return search

    def below(self, count: int) -> int:
        """Draw a number in 0..count - 1."""
        return min(count - 1, int(self.uniform() * count))

    def fits(self, job: int, start: int) -> bool:
        """Whether nodes are free by count for all of its run time."""
        end = start + self.problem.jobs[job].runtime
        booked = [(at, other) for other, at in enumerate(self.starts) if at >= 0]
        moments = {start, *(at for at, _ in booked if start < at < end)}
        for moment in moments:
            running = (o for at, o in booked if at <= moment < at + self.problem.jobs[o].runtime)
            used = sum(self.problem.jobs[other].nodes for other in running)
            if used + self.problem.jobs[job].nodes > self.problem.topology.num_nodes:
                return False
        return True

    def latest(self, job: int) -> int:
        """The last start with which a job ends in time."""
        return self.problem.jobs[job].deadline - self.problem.jobs[job].runtime

    def earliest(self, job: int, after: int) -> int:
        """The first start from a moment on, -1 if there is none in time."""
        ends = {at + self.problem.jobs[other].runtime for other, at in enumerate(self.starts) if at >= 0}
        for start in sorted({after, *(end for end in ends if end > after)}):
            if start <= self.latest(job) and self.fits(job, start):
                return start
        return -1

    def paid(self, moment: int) -> float:
        """What a node costs up to a moment."""
        edges, until = self.guide.edges.tolist(), self.guide.until.tolist()
        if moment >= edges[-1]:
            return float(until[-1])
        if moment <= edges[0]:
            return 0.0
        low = max(idx for idx, edge in enumerate(edges) if edge <= moment)
        part = (moment - edges[low]) / (edges[low + 1] - edges[low])
        return float(until[low] + part * (until[low + 1] - until[low]))

    def worth(self, job: int, start: int) -> float:
        """The score of a job less a part of what it costs."""
        paid = self.paid(start + self.problem.jobs[job].runtime) - self.paid(start)
        charge = float(self.guide.charge[0]) * self.problem.jobs[job].nodes
        return float(self.guide.score[job]) - charge * paid

    def _count(self, job: int, sign: int) -> None:
        for term in range(2):
            self.reached[term] += sign * float(self.guide.counts[term, job])

    def put(self, job: int, start: int) -> float:
        """Put a job in."""
        self.starts[job] = start
        self._count(job, 1)
        return self.worth(job, start)

    def take(self, job: int) -> float:
        """Take a job out."""
        start, self.starts[job] = self.starts[job], -1
        self._count(job, -1)
        return self.worth(job, start)

    def may_be_accepted(self, job: int) -> bool:
        """Whether it is rejected, could be in time and counts."""
        row = self.problem.jobs[job]
        return self.starts[job] < 0 and row.arrival <= self.latest(job) and bool(self.guide.score[job] > 0)

    def is_ahead(self) -> tuple[bool, bool]:
        """Whether what is reached is better than the best, and whether it is as good, but for rounding."""
        margin = 1e-9 * (1 + abs(self.best[0]))
        ahead = self.reached[0] - self.best[0]
        second, most = self.reached[1], self.best[1]
        better = ahead > margin or (ahead > -margin and second > most * (1 + 1e-9) + 1e-9)
        return better, ahead > margin or (ahead > -margin and second >= most * (1 - 1e-9))

    def is_tried(self, job: int) -> bool:
        """Jobs that cost more than they count are seldom tried."""
        return self.uniform() <= math.exp(min(0.0, 10.0 * float(self.guide.gains[job])))

    def eject(self, temperature: float, moves: int) -> int:
        """Make so many moves."""
        jobs = range(len(self.starts))
        self.rejected = [job for job in jobs if self.may_be_accepted(job)]
        for _ in range(moves):
            if not self.rejected:
                break
            job = self.rejected[self.below(len(self.rejected))]
            if not self.is_tried(job):
                continue
            before = [*self.reached]
            if self._moved(job, temperature):
                if self.is_ahead()[0]:
                    self.best, self.best_starts = [*self.reached], [*self.starts]
                self.rejected = [job for job in jobs if self.may_be_accepted(job)]
            else:
                assert all(
                    math.isclose(a, b, abs_tol=1e-9) for a, b in zip(before, self.reached, strict=True)
                )
        return len(self.rejected)

    def _moved(self, job: int, temperature: float) -> bool:
        row = self.problem.jobs[job]
        start = row.arrival + self.below(self.latest(job) - row.arrival + 1)
        in_way = [
            other
            for other, at in enumerate(self.starts)
            if 0 <= at < start + row.runtime and at + self.problem.jobs[other].runtime > start
        ]
        taken: list[tuple[int, int]] = []
        gained = 0.0
        lost = 0.0
        while len(taken) < MOST_EJECTED and in_way and not self.fits(job, start):
            drawn = self.below(len(in_way))
            other, in_way[drawn] = in_way[drawn], in_way[0]
            del in_way[0]
            taken.append((other, self.starts[other]))
            lost += self.take(other)
        gained = -lost
        added: list[int] = []
        if self.fits(job, start):
            gained += self.put(job, start)
            added.append(job)
            gained += self._put_back(taken)
            for _ in range(TRIED):
                other = self.rejected[self.below(len(self.rejected))]
                at = self.earliest(other, self.problem.jobs[other].arrival) if self.starts[other] < 0 else -1
                if at >= 0:
                    gained += self.put(other, at)
                    added.append(other)
            if gained >= 0 or self.uniform() < math.exp(gained / temperature):
                return True
        for other in (*added, *(other for other, _ in taken if self.starts[other] >= 0)):
            self.take(other)
        for other, at in taken:
            self.put(other, at)
        return False

    def _put_back(self, taken: list[tuple[int, int]]) -> float:
        gained = 0.0
        for at in range(len(taken)):
            drawn = at + self.below(len(taken) - at)
            taken[at], taken[drawn] = taken[drawn], taken[at]
            job = taken[at][0]
            first, start = self.problem.jobs[job].arrival, -1
            if self.uniform() < SCATTERED:
                start = self.earliest(job, first + self.below(self.latest(job) - first + 1))
            if start < 0:
                start = self.earliest(job, first)
            if start >= 0:
                gained += self.put(job, start)
        return gained

    def search_orders(self, order: list[int], rounds: int) -> int:
        """Try so many orders; the best one ends up in the list."""
        self._replay(order)
        places: list[int] = []
        kept = [*order]
        for done in range(rounds + 1):
            if done == 0 or self.is_ahead()[1]:
                self.best, self.best_starts, kept = [*self.reached], [*self.starts], [*order]
                places = [at for at, job in enumerate(order) if self.may_be_accepted(job)]
            else:
                order[:] = kept
            if not places or done == rounds:
                break
            place = places[self.below(len(places))]
            for _ in range(DRAWS):
                if self.is_tried(order[place]):
                    break
                place = places[self.below(len(places))]
            job = order.pop(place)
            order.insert(self.below(place + 1), job)
            self._replay(order)
        return len(places)

    def _replay(self, order: list[int]) -> None:
        self.starts, self.reached = [-1] * len(order), [0.0, 0.0]
        for job in order:
            start = self.earliest(job, self.problem.jobs[job].arrival)
            if start >= 0:
                self.put(job, start)
