"""The three algorithms of Lina et al. 2022 with their six orders of victims: what `lina` does, by definition.

All in one: machine, events, policy; rigid jobs, malleable ones that change at any time, evolving ones with
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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from allocsolve.model import Requests, SpeedupTable, Stall

if TYPE_CHECKING:
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


@dataclass
class Run:
    """A job that runs, or ran. `left` is what it needs at P nodes, in seconds, at `since`."""

    idx: int
    job: Job
    size: int
    start: float
    left: float
    since: float
    resume: float
    end: float = math.inf
    expected: float = math.inf
    asked: int = 0  # requests made
    #: Its last change: when, from which size, from when on its stall counts.
    changed: float = -math.inf
    before: int = 0
    base: float = 0.0
    gain: int = 0
    expansions: int = 0
    #: Nodes that it still holds: until when, how many, how many of them are promised.
    leaving: list[tuple[float, int, int]] = field(default_factory=list)
    #: When the last ones came free: another change at that instant has a stall of its own.
    released: float = -math.inf
    pieces: list[tuple[float, float, int]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return 1 / time_ratio(self.job, self.size)

    @property
    def request(self) -> tuple[float, int] | None:
        evolution = self.job.evolution
        if not isinstance(evolution, Requests) or self.asked == len(evolution.events):
            return None
        remaining, change = evolution.events[self.asked]
        left = max(0.0, self.left - remaining * self.job.runtime)
        return max(self.since, self.resume) + left / self.rate, change

    def work_left(self, now: float) -> float:
        return self.left - self.rate * max(0.0, now - max(self.since, self.resume))

    @property
    def held(self) -> int:
        return self.size + sum(nodes for _, nodes, _ in self.leaving)

    def piece(self, now: float) -> None:
        """Note what it has held up to now, before that changes."""
        since = self.pieces[-1][1] if self.pieces else self.start
        if now > since or self.released == now:
            self.pieces.append((since, now, self.held))
        self.released = -math.inf


class Machine:
    def __init__(self, problem: WorkloadProblem, rules: LinaRules) -> None:
        self.jobs, self.rules, columns = list(problem.jobs), rules, problem.packed
        self.fewest: list[int] = columns.min_nodes.tolist()
        self.most: list[int] = columns.max_nodes.tolist()
        self.estimates: list[float] = columns.estimate.tolist()
        self.num_nodes = self.free = problem.num_nodes
        self.pool = self.calls = 0
        self.now = 0.0
        self.future = sorted(range(len(self.jobs)), key=lambda idx: (self.jobs[idx].submit, idx))
        self.queue: list[int] = []
        self.running, self.done = dict[int, Run](), dict[int, Run]()
        self.requests: list[tuple[int, int]] = []  # job, change
        self.promises: list[tuple[int, int]] = []  # job, nodes
        self.victims: set[int] = set()
        self.is_late = any(map(holds_larger, self.jobs))

    def start(self, idx: int, size: int) -> None:
        run = Run(idx, self.jobs[idx], size, self.now, self.jobs[idx].runtime, self.now, self.now)
        run.end = self.now + run.left * time_ratio(run.job, size)
        run.expected = self.now + self.estimate(idx, size)
        self.running[idx] = run
        self.free -= size
        assert self.free >= 0

    def resize(self, run: Run, size: int, promised: int = 0) -> None:
        """Change a size at once; `promised` of the nodes given up are for a job that waits."""
        held, goes_on, before = run.held, max(self.now, run.resume), run.rate
        if run.changed != self.now:
            run.changed, run.before, run.base = self.now, held, goes_on
        resume = run.base
        if run.before != size and run.start < self.now:
            resume += cost(run.job, run.before, size)
        is_late = size < held and holds_larger(run.job) and resume > self.now
        if not is_late:
            run.piece(self.now)
        run.left, run.since = run.work_left(self.now), self.now
        run.resume, run.size = resume, size
        run.end = resume + max(0.0, run.left) / run.rate
        if run.expected > goes_on:
            run.expected = resume + (run.expected - goes_on) * (before / run.rate)
        if is_late:
            promised += sum(row[2] for row in run.leaving)
            run.leaving = [(resume, held - size, promised)]
        else:
            self.pool += promised
            self.free += held - size - promised
        assert self.free >= 0

    def release(self, run: Run, until: float) -> bool:
        """Take the nodes from a job that it held until then; return whether there are any."""
        if not run.leaving or run.leaving[0][0] > until:
            return False
        run.piece(self.now)
        _, nodes, promised = run.leaving.pop()
        self.pool += promised
        self.free += nodes - promised
        run.released = self.now
        return True

    def complete(self, run: Run) -> None:
        self.release(run, math.inf)
        run.piece(self.now)
        self.free += run.size
        self.done[run.idx] = self.running.pop(run.idx)

    def reach(self, run: Run, change: int) -> bool:
        """Let a job ask for nodes, or shrink; return whether it asks or holds fewer now."""
        run.asked += 1
        held = run.held
        size = min(max(run.size + change, self.fewest[run.idx]), self.most[run.idx])
        if size < run.size:
            self.resize(run, size)
        elif size > run.size:
            self.requests.append((run.idx, size - run.size))
        return size > held or run.held < held

    def start_promised(self) -> None:
        while self.promises and self.promises[0][1] <= self.pool:
            idx, nodes = self.promises.pop(0)
            self.pool -= nodes
            self.free += nodes
            self.start(idx, nodes)

    def check(self) -> None:
        held = sum(run.held for run in self.running.values())
        assert held + self.free + self.pool == self.num_nodes
        coming = sum(promised for run in self.running.values() for _, _, promised in run.leaving)
        assert self.pool + coming == sum(nodes for _, nodes in self.promises)

    def run(self) -> None:
        while self.future or self.running:
            times = [self.jobs[idx].submit for idx in self.future[:1]]
            for run in self.running.values():
                times += [run.end, *(row[0] for row in run.leaving)]
                if (request := run.request) is not None:
                    times.append(request[0])
            self.now, noticed = min(times), False
            for idx in sorted(self.running):
                if self.running[idx].end <= self.now:
                    self.complete(self.running[idx])
                    noticed = True
            for idx in sorted(self.running):
                noticed |= self.release(self.running[idx], self.now)
            rows = [(run.request, idx) for idx, run in self.running.items() if run.request]
            asking = sorted((change > 0, idx, change) for (time, change), idx in rows if time <= self.now)
            for _, idx, change in asking:
                noticed |= self.reach(self.running[idx], change)
            while self.future and self.jobs[self.future[0]].submit <= self.now:
                self.queue.append(self.future.pop(0))
                noticed = True
            if not noticed:
                continue
            self.start_promised()
            self.check()
            self.call()
            self.check()
            self.calls += 1

    def call(self) -> None:
        self.victims = set()
        for idx, nodes in self.requests:
            self.answer(self.running[idx], nodes)
        self.requests = []
        self.backfill()
        waiting = list(self.queue)
        for idx in waiting:
            job = self.jobs[idx]
            need = self.fewest[idx] if job.kind == "malleable" else job.nodes
            if self.shrink(idx, need):
                self.queue.remove(idx)
                self.promises.append((idx, need))
                self.start_promised()
        self.expand()

    def answer(self, run: Run, nodes: int) -> None:
        if nodes > self.free:
            if self.is_late or not self.shrink(run.idx, nodes):
                return
            self.pool -= nodes
            self.free += nodes
        self.resize(run, run.size + nodes)

    def spare(self, run: Run) -> int:
        return run.size - self.fewest[run.idx]

    def may_change(self) -> list[Run]:
        runs = [run for _, run in sorted(self.running.items()) if run.job.kind == "malleable"]
        return [run for run in runs if not run.leaving or run.idx in self.victims]

    def forbidden(self) -> bool:
        soon = any(run.end - self.now <= self.rules.soon for run in self.running.values())
        loaded = self.num_nodes - self.free > self.rules.utilisation * self.num_nodes
        answers = {"application": soon, "system-printed": loaded and soon, "system-text": loaded}
        return answers.get(self.rules.candidates, False)

    def shrink(self, asking: int, lack: int) -> bool:
        """Take so many nodes from victims, promised to whom they are for; return whether they can."""
        if lack == 0:
            return True
        done = self.rules.done if self.rules.candidates == "application" else math.inf
        runs = [run for run in self.may_change() if self.spare(run) > 0]
        runs = [run for run in runs if 1 - run.work_left(self.now) / run.job.runtime < done]
        if sum(self.spare(run) for run in runs) < lack or self.forbidden():
            return False
        for run in sorted(runs, key=lambda run: (*self.priority(run, asking), run.idx)):
            if given := min(lack, self.spare(run)):
                lack -= given
                run.gain -= given
                self.victims.add(run.idx)
                self.resize(run, run.size - given, given)
        return True

    def priority(self, run: Run, asking: int) -> tuple[float, ...]:
        return {
            "random": (draw(self.rules.seed, asking, run.idx),),
            "gain": (-run.gain,),
            "shrinkable": (-self.spare(run), -run.size),
            "expansions": (-run.expansions,),
            "cost": (cost(run.job, run.size, self.fewest[run.idx]),),
            "remaining": (run.end,),
        }[self.rules.victims]

    def backfill(self) -> None:
        for idx in list(self.queue):
            if self.jobs[idx].nodes <= self.free:
                self.queue.remove(idx)
                self.start(idx, self.jobs[idx].nodes)

    def estimate(self, idx: int, nodes: int) -> float:
        return self.estimates[idx] * time_ratio(self.jobs[idx], nodes)

    def expand(self) -> None:
        runs = [run for run in self.may_change() if run.idx not in self.victims]
        for run in sorted(runs, key=lambda run: (-run.end, run.idx)):
            if nodes := min(self.free, self.most[run.idx] - run.size):
                run.expansions += 1
                run.gain += nodes
                self.resize(run, run.size + nodes)


def time_ratio(job: Job, nodes: int) -> float:
    if nodes == job.nodes or job.speedup is None:
        return 1.0
    assert not isinstance(job.speedup, SpeedupTable)
    return job.speedup.time_ratio(nodes, job.nodes)


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
