"""A slow twin of moves on the pieces of a schedule: free nodes are counted anew each time."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from naive_list_decoding import naive_pieces, useful_sizes

if TYPE_CHECKING:
    from naive_list_decoding import Piece

    from allocsolve.model import WorkloadProblem


class NaiveMoves:
    """Jobs with their pieces and caps (numbers of nodes), and the order and the costs of the beginning.

    The cost is the weighted sum of turnarounds above the least ones.
    """

    def __init__(
        self, problem: WorkloadProblem, pieces: list[list[Piece]], caps: list[int], random: int
    ) -> None:
        self.problem, self.pieces, self.caps, self.random = problem, pieces, caps, random
        self.sizes = [useful_sizes(problem, job)[::-1] for job in problem.jobs]
        self.by_start = sorted(range(len(pieces)), key=lambda job: pieces[job][0][0])
        self.starts = [pieces[job][0][0] for job in self.by_start]
        self.sums = list(accumulate(self.cost(job) for job in self.by_start))

    def uniform(self) -> float:
        """Draw a number from 0 to 1: xorshift64*."""
        x = self.random
        x ^= x >> 12
        x = (x ^ (x << 25)) % 2**64
        x ^= x >> 27
        self.random = x
        return ((x * 0x2545F4914F6CDD1D) % 2**64 >> 11) / 2**53

    def cost(self, job: int) -> float:
        row = self.problem.jobs[job]
        least = self.sizes[job][0][1]
        return row.weight * (self.pieces[job][-1][1] - row.submit) - row.weight * least

    def move(self, temperature: float) -> None:
        """Take jobs out, let them take nodes again, and undo it if they cost too much."""
        most = 1 + int(self.uniform() * self.uniform() * MOST_MOVED)
        jobs = self._arranged(self._drawn(most))
        old = {job: (self.pieces[job], self.caps[job]) for job in jobs}
        before = 0.0
        for job in jobs:
            before += self.cost(job)
        limit = before - temperature * math.log(1 - self.uniform())
        for job in jobs:
            self.pieces[job] = []
        after = 0.0
        for job in jobs:
            self.caps[job] = self._new_cap(job)
            taken = [piece for pieces in self.pieces for piece in pieces]
            self.pieces[job] = naive_pieces(self.problem, self.problem.jobs[job], self.caps[job], taken)
            after += self.cost(job)
            if after > limit:
                break
        if after > limit:
            for job, (pieces, cap) in old.items():
                self.pieces[job], self.caps[job] = pieces, cap

    def _drawn(self, most: int) -> list[int]:
        count = len(self.starts)
        if self.uniform() < 0.5:
            at = min(bisect_right(self.sums, self.uniform() * self.sums[-1]), count - 1)
        else:
            at = int(self.uniform() * count)
        job = self.by_start[at]
        start, end = self.pieces[job][0][0], self.pieces[job][-1][1]
        begin: float = self.problem.jobs[job].submit
        if self.uniform() < 0.5:
            seconds = end - start
            begin += self.uniform() * (start - begin)
            end = begin + seconds
        last, first = bisect_right(self.starts, end), bisect_right(self.starts, begin)
        first = max(0, first - (last - first) // 2 - 16)
        jobs, tries, most = [job], 0, min(most, last - first)
        while len(jobs) < most and tries < 3 * most:
            tries += 1
            other = self.by_start[first + int(self.uniform() * (last - first))]
            overlaps = self.pieces[other][0][0] < end and self.pieces[other][-1][1] > begin
            if overlaps and other not in jobs:
                jobs.append(other)
        return jobs

    def _arranged(self, jobs: list[int]) -> list[int]:
        kind = int(self.uniform() * 4)
        keys = {}
        for job in jobs:
            seconds = dict(self.sizes[job])
            if kind == 0:
                keys[job] = self.pieces[job][0][0]
            elif kind == 1:
                keys[job] = self.uniform()
            elif kind == 2:
                keys[job] = self.pieces[job][-1][1]
            else:
                area = self.caps[job] * seconds[self.caps[job]]
                keys[job] = area / (self.problem.jobs[job].weight + 1e-300) * (1 + self.uniform())
        if self.uniform() < 0.5:
            keys[jobs[0]] = -math.inf
        return sorted(jobs, key=keys.__getitem__)

    def _new_cap(self, job: int) -> int:
        sizes = [nodes for nodes, _ in self.sizes[job]]
        kind = self.uniform() if len(sizes) > 1 else 0.0
        if kind < 0.6:
            return self.caps[job]
        return sizes[0] if kind < 0.8 else sizes[int(self.uniform() * len(sizes))]


#: The largest number of jobs of a move.
MOST_MOVED = 20
