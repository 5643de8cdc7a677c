"""The three algorithms of Lina et al. 2022 with their six orders of victims: what `lina` does, by definition.

On the machine of `naive_evolving`: rigid jobs, malleable ones that change at any time, evolving ones with
`Requests`. **At one instant**: jobs end; nodes that stalled jobs still held come free; evolving jobs give
nodes back; others ask for more; jobs are submitted, all by position. Unless nothing of that changed what is
held, asked for or queued, one call follows:

1. Each request, in the order made: if so many nodes are free it is granted. Else victims give all of them;
   if they cannot, it is refused, for good.
2. Queued jobs that fit start on their own nodes P, in the order of the queue.
3. For each job that still waits, in that order: victims give all that it needs, its `min_nodes` if it is
   malleable, else P. It starts on them at once. If they cannot, nothing happens, and the next job is tried.
4. Running malleable jobs that were no victims in this call grow to `max_nodes` while nodes are free, in the
   order of the longest time left.

**Victims** are running malleable jobs above `min_nodes`, those started in this call, too. All together must
have enough to give, else none is shrunk. In their order, equals by position, each gives what it can down to
`min_nodes`, the last one only the rest. Before that the algorithm may forbid it, by how things are then,
within the call: ``application`` if some running job ends within `soon` seconds at its present size, its stall
included (and jobs with a share `done` of their work done are no victims); ``system-printed`` if more than
`utilisation` of all nodes are not free and, moreover, some job ends so soon; ``system-text`` if more than
that are not free.

**Changes** take effect at once and cost a stall; stalls queue up. All changes of a job at one instant are
one; at its start they cost nothing. With a stall that holds the larger number,
nodes given up come free only when it is over: the job that they are for has the promise of them until then,
first come, first served; who gave them is neither victim nor grows in later calls; and requests are granted
from free nodes only.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from naive_evolving import ElasticCluster, naive_elastic

from allocsolve.model import Stall

if TYPE_CHECKING:
    from naive_evolving import ElasticRun

    from allocsolve.model import Job, WorkloadProblem

Candidates = Literal["default", "application", "system-printed", "system-text"]
Victims = Literal["random", "gain", "shrinkable", "expansions", "cost", "remaining"]

_MASK = 2**64 - 1


@dataclass(frozen=True)
class LinaRules:
    """The options of a run."""

    candidates: Candidates = "default"
    victims: Victims = "gain"
    seed: int = 0
    soon: float = 5.0
    utilisation: float = 0.8
    done: float = math.inf


def naive_lina(problem: WorkloadProblem, rules: LinaRules) -> ElasticCluster:
    """Run a workload to its end."""
    return naive_elastic(problem, NaiveLina(problem, rules))


class NaiveLina:
    """The policy."""

    def __init__(self, problem: WorkloadProblem, rules: LinaRules) -> None:
        self.rules, columns = rules, problem.packed
        self.fewest: list[int] = columns.min_nodes.tolist()
        self.most: list[int] = columns.max_nodes.tolist()
        self.gain, self.expansions = Counter[int](), Counter[int]()
        self.victims: set[int] = set()
        self.is_late = any(map(holds_larger, problem.jobs))

    def __call__(self, cluster: ElasticCluster) -> None:
        self.cluster, self.victims = cluster, set()
        for job, size in list(cluster.requests):
            cluster.answer(job, granted=self.is_granted(job, size - cluster.running[job].size))
        for job in list(cluster.queue):
            if cluster.rows[job].nodes <= cluster.free:
                cluster.start(job, cluster.rows[job].nodes)
        for job in list(cluster.queue):
            row = cluster.rows[job]
            need = self.fewest[job] if row.kind == "malleable" else row.nodes
            if self.shrink(job, need):
                cluster.promise(job, need, 0)
        self.expand()

    def is_granted(self, job: int, nodes: int) -> bool:
        """Return whether so many nodes are free for a request, if need be by victims."""
        if nodes > self.cluster.free:
            if self.is_late or not self.shrink(job, nodes):
                return False
            self.cluster.pool -= nodes
            self.cluster.free += nodes
        return True

    def spare(self, run: ElasticRun) -> int:
        return run.target - self.fewest[run.job]

    def may_change(self) -> list[ElasticRun]:
        runs = [run for _, run in sorted(self.cluster.running.items())]
        runs = [run for run in runs if self.cluster.rows[run.job].kind == "malleable"]
        return [run for run in runs if run.size == run.target or run.job in self.victims]

    def forbidden(self) -> bool:
        cluster, rules = self.cluster, self.rules
        soon = any(run.end - cluster.now <= rules.soon for run in cluster.running.values())
        loaded = cluster.num_nodes - cluster.free > rules.utilisation * cluster.num_nodes
        answers = {"application": soon, "system-printed": loaded and soon, "system-text": loaded}
        return answers.get(rules.candidates, False)

    def work_done(self, run: ElasticRun) -> float:
        return 1 - self.cluster.work_left(run) / self.cluster.rows[run.job].runtime

    def shrink(self, asking: int, lack: int) -> bool:
        """Take so many nodes from victims, promised to whom they are for; return whether they can."""
        if lack == 0:
            return True
        done = self.rules.done if self.rules.candidates == "application" else math.inf
        runs = [run for run in self.may_change() if self.spare(run) > 0 and self.work_done(run) < done]
        if sum(self.spare(run) for run in runs) < lack or self.forbidden():
            return False
        for run in sorted(runs, key=lambda run: (*self.priority(run, asking), run.job)):
            if given := min(lack, self.spare(run)):
                lack -= given
                self.gain[run.job] -= given
                self.victims.add(run.job)
                self.cluster.resize(run, run.target - given, given)
        return True

    def priority(self, run: ElasticRun, asking: int) -> tuple[float, ...]:
        return {
            "random": (draw(self.rules.seed, asking, run.job),),
            "gain": (-self.gain[run.job],),
            "shrinkable": (-self.spare(run), -run.target),
            "expansions": (-self.expansions[run.job],),
            "cost": (cost(self.cluster.rows[run.job], run.target, self.fewest[run.job]),),
            "remaining": (run.end,),
        }[self.rules.victims]

    def expand(self) -> None:
        runs = [run for run in self.may_change() if run.job not in self.victims]
        for run in sorted(runs, key=lambda run: (-run.end, run.job)):
            if nodes := min(self.cluster.free, self.most[run.job] - run.size):
                self.expansions[run.job] += 1
                self.gain[run.job] += nodes
                self.cluster.resize(run, run.size + nodes)


def cost(job: Job, before: int, after: int) -> float:
    stall = job.reconfiguration
    return stall.seconds(before, after) if isinstance(stall, Stall) else 0.0


def holds_larger(job: Job) -> bool:
    return isinstance(job.reconfiguration, Stall) and job.reconfiguration.holds == "larger"


def draw(seed: int, asking: int, victim: int) -> int:
    """Return the place of a victim for a job: 64 random bits."""
    return mixed(mixed(mixed(seed) + asking) + victim)


def mixed(bits: int) -> int:  # SplitMix64 (Steele, Lea & Flood 2014)
    bits = (bits + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)
