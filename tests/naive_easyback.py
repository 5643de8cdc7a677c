"""A slow twin of evolv-easyback on the machine of `naive_evolving`; what it means for reactive jobs, exactly.

Time is continuous. What falls on one instant happens in this order, jobs by their index:

1. completions;
2. other ends of phases; starting costs that are over; nodes that become useful;
3. nodes that have left become free; jobs give nodes back;
4. new requests;
5. submissions; the clock of the policy.

Then the policy is called once if a job ended or was submitted, a node became free, a request is new, or the
clock ticks: a phase that ends, a node that becomes useful, or one that begins to leave are no reason. What a
call brings about at the same instant (a job that starts without cost and asks) leads to another round.

A job with phases
* makes no progress, asks for nothing and counts nothing in its first `Join.start` seconds;
* works at the rate min(useful nodes, most useful nodes of the phase). Useful are the nodes that it holds
  without one that joins and one that leaves; a node is held from the grant on and joins for `Join.grow`
  seconds; a node that leaves is held for `Join.shrink` seconds more;
* asks for one node as soon as it has no open request, no node joins, and it holds fewer than
  min(most useful, `max_nodes`). The request is open until it is granted, the job ends or gives back a node;
  so it may still be granted in a phase that has no use for the node;
* counts `release_delay` seconds while it has more useful nodes than the phase can use, then gives one back:
  the node leaves, an open request is dropped, and the count starts again at once if there are still too many.
  Whenever there are not, the count stops. A count that is over while a node leaves waits until that is free.
  There is no lower limit but what the phase can use: `min_nodes` holds at the start only.

EASY as Posner's program has it: in submission order, a job starts on min(max_nodes, free) nodes if that is at
least min_nodes, and only if nobody is blocked or its limit ends before (not at) the shadow time of the first
blocked job; there is no use of extra nodes. Limits do not depend on sizes. With equal limits nothing is ever
backfilled: a job that starts now cannot end before one that started earlier.

`evolv-easyback` first grants requests, in the order in which they were made, one node each, while nodes are
free; one whose job changed its size less than `cooldown` seconds ago keeps its place. Then, with what is
left, EASY. A job changes its size when it is granted a node and when it gives one back (begins to let it go).
The clock ticks at the multiples of `polling`: with `wake_up` only a request that cools down ever waits for
it, without it everything does.

Jobs with requests or a profile ask for all of what they need at once; one with requests is expected to run
longer on fewer nodes. One with a profile gets nodes, and starts, only if then all running jobs can end one
after another, each with the most nodes that it may need as far as the policy knows.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from naive_evolving import ElasticCluster, ElasticRun, naive_elastic
from naive_malleable import limit_of
from naive_workload_engine import earliest_start

from allocsolve.model import Profile, Requests

if TYPE_CHECKING:
    from allocsolve.heuristics import EvolvEasyback
    from allocsolve.model import WorkloadProblem


def naive_easyback(problem: WorkloadProblem, options: EvolvEasyback) -> ElasticCluster:
    """Run a workload to its end."""
    return naive_elastic(problem, NaiveEasyback(options), polling=options.polling)


class NaiveEasyback:
    """The policy."""

    def __init__(self, options: EvolvEasyback) -> None:
        self.options = options

    def __call__(self, cluster: ElasticCluster) -> None:
        self.cluster = cluster
        if self.options.wake_up or cluster.ticks:
            if self.options.requests == "last":
                self.start()
            self.grant()
            if self.options.requests == "first":
                self.start()

    def grant(self) -> None:
        for job, size in list(self.cluster.requests):
            run = self.cluster.running[job]
            more = size - run.size
            if more <= self.cluster.free and self.is_cool(run) and self.is_safe(job, more):
                self.cluster.answer(job, granted=True)

    def is_cool(self, run: ElasticRun) -> bool:
        altered = max(run.altered, run.start) if self.options.start_counts else run.altered
        return self.cluster.now - altered >= self.options.cooldown

    def start(self) -> None:
        cluster, shadow_time = self.cluster, math.inf
        for job in list(cluster.queue):
            row, limit = cluster.rows[job], limit_of(cluster.rows[job])
            sizes = [row.nodes] if isinstance(row.evolution, Profile) else cluster.sizes(job)
            nodes = max((size for size in sizes if size <= cluster.free), default=0)
            if nodes and isinstance(row.evolution, Requests):
                limit = cluster.estimate(job, nodes)
            in_time = shadow_time == math.inf or cluster.now + limit < shadow_time
            if nodes and in_time and self.is_safe(job, nodes):
                cluster.start(job, nodes)
            elif shadow_time == math.inf:
                needed = (row.max_nodes or row.nodes) if nodes else sizes[0]
                ends = [(self.expected_end(run), run.size) for run in cluster.running.values()]
                shadow_time = earliest_start(cluster, needed, ends)

    def expected_end(self, run: ElasticRun) -> float:
        row = self.cluster.rows[run.job]
        end = run.expected if isinstance(row.evolution, Requests) else run.start + limit_of(row)
        return max(self.cluster.now, end)

    def claim(self, job: int) -> int:
        """Return the most nodes that a job with a profile may still need, as far as the policy knows."""
        row = self.cluster.rows[job]
        assert isinstance(row.evolution, Profile)
        left = self.cluster.running[job].plan if job in self.cluster.running else row.evolution.steps
        known = {"none": False, "next": len(left) == 1, "all": True}[self.options.knowledge]
        return max(int(nodes) for _, nodes in (left if known else row.evolution.steps))

    def is_safe(self, job: int, more: int) -> bool:
        """Return whether running jobs can end one after another, by trying all orders."""
        profiles = {idx for idx, row in enumerate(self.cluster.rows) if isinstance(row.evolution, Profile)}
        if not self.options.safe or job not in profiles:
            return True
        held = {run.job: run.size for run in self.cluster.running.values()}
        held[job] = held.get(job, 0) + more
        lacks = {one: self.claim(one) - held[one] if one in profiles else 0 for one in held}
        for order in itertools.permutations(held):
            free = self.cluster.free - more
            for one in order:
                if lacks[one] > free:
                    break
                free += held[one]
            else:
                return True
        return False
