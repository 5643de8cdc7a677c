"""A slow twin of evolv-easyback for reactive evolving jobs, on the machine of `naive_evolving`, exactly.

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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from naive_evolving import ElasticCluster, naive_elastic
from naive_malleable import limit_of
from naive_workload_engine import earliest_start

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem


@dataclass(frozen=True)
class NaiveEvolvEasyback:
    """Options of the policy; plain EASY is this one, as only jobs with phases ask."""

    cooldown: float = 60
    polling: float = 5
    wake_up: bool = True
    requests: Literal["first", "last"] = "first"
    start_counts: bool = False


def naive_reactive(problem: WorkloadProblem, policy: NaiveEvolvEasyback) -> ElasticCluster:
    """Run a workload of rigid and moldable jobs and jobs with phases to its end."""

    def decide(cluster: ElasticCluster) -> None:
        if not (policy.wake_up or cluster.ticks):
            return
        if policy.requests == "last":
            easy(cluster, policy)
        for job, _ in list(cluster.requests):
            if cluster.free and cluster.now - cluster.running[job].changed >= policy.cooldown:
                cluster.answer(job, granted=True)
        if policy.requests == "first":
            easy(cluster, policy)

    return naive_elastic(problem, decide, polling=policy.polling)


def easy(cluster: ElasticCluster, policy: NaiveEvolvEasyback) -> None:
    shadow_time = math.inf
    for job in list(cluster.queue):
        least, most = min(cluster.sizes(job)), max(cluster.sizes(job))
        in_time = shadow_time == math.inf or cluster.now + limit_of(cluster.rows[job]) < shadow_time
        if least <= cluster.free and in_time:
            cluster.start(job, min(most, cluster.free))
            if policy.start_counts:
                cluster.running[job].changed = cluster.now
        elif shadow_time == math.inf:
            ends = [
                (run.start + limit_of(cluster.rows[run.job]), run.size) for run in cluster.running.values()
            ]
            shadow_time = earliest_start(cluster, least, ends)
