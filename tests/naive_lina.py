"""The three algorithms of Lina et al. 2022 with their six orders of victims, as plainly as can be.

All in one: the machine, the events and the policy. Rigid jobs, malleable ones that may change at any time,
and evolving ones with `Requests`, with and without a `Stall`. This is the definition of what `lina` does.

**Events.** At one instant: jobs end; nodes that stalled jobs still held come free; evolving jobs give nodes
back, by position; others ask for more, by position; jobs are submitted, by position. Then one call.

**A call.**

1. Each request, in the order made: if so many nodes are free it is granted. Else victims give all of them
   (with `combine` what the free nodes lack); if they cannot, it is refused, for good.
2. Queued jobs start on their own nodes P, by `backfill`, in the order of the queue.
3. For each job that still waits, in that order: victims give all that it needs (with `combine` what the free
   nodes lack), its `min_nodes` if it is malleable, else P. It starts on them at once. If they cannot, nothing
   happens, and the next job is tried.
4. Running malleable jobs that were no victims in this call grow to `max_nodes` while nodes are free, in the
   order of the longest time left, of equals by position.

**Victims** are running malleable jobs above `min_nodes`, those started in this call, too, if `fresh`. All
together must have enough to give, else none is shrunk. In their order each gives as much as it can down to
its `min_nodes`, the last one only the rest. Before that the algorithm may forbid it, by how things are then,
within the call: ``default`` never; ``application`` if some running job ends within `soon` seconds at its
present size, its stall included (and jobs with a share `done` or more of their work done are no victims);
``system-printed`` if more than `utilisation` of all nodes are not free and, moreover, some job ends so soon;
``system-text`` if more than that are not free.

**Changes** take effect at once. Each costs a stall, and stalls queue up. With a stall that holds the larger
number, nodes given up come free only when that stall is over: then the job that they are for has the promise
of them, and starts when so many promised nodes are there, first come, first served; and requests are granted
from free nodes only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from allocsolve.model import Requests, Stall
from allocsolve.model.jobs import DEFAULT_LIMIT_FACTOR

if TYPE_CHECKING:
    from allocsolve.model import Job, WorkloadProblem

_MASK = 2**64 - 1


@dataclass(frozen=True)
class LinaRules:
    """The options of a run."""

    candidates: Literal["default", "application", "system-printed", "system-text"] = "default"
    victims: Literal["random", "gain", "shrinkable", "expansions", "cost", "remaining"] = "gain"
    seed: int = 0
    soon: float = 5.0
    utilisation: float = 0.8
    done: float = 1.0
    backfill: Literal["first-fit", "easy"] = "first-fit"
    combine: bool = False
    fresh: bool = True
    starts_below: bool = False  # malleable jobs start on fewer than P nodes if no more are free
    expands: Literal["always", "empty-queue"] = "always"


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
    gain: int = 0
    expansions: int = 0
    #: Nodes that it still holds: until when, how many, how many of them are promised.
    leaving: list[tuple[float, int, int]] = field(default_factory=list)
    pieces: list[tuple[float, float, int]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        if self.job.speedup is None or self.size == self.job.nodes:
            return 1.0
        return 1 / self.job.speedup.time_ratio(self.size, self.job.nodes)

    @property
    def spare(self) -> int:
        assert self.job.min_nodes is not None
        return self.size - self.job.min_nodes

    @property
    def request(self) -> tuple[float, int] | None:
        """What it asks for next, and when."""
        evolution = self.job.evolution
        if not isinstance(evolution, Requests) or self.asked == len(evolution.events):
            return None
        remaining, change = evolution.events[self.asked]
        left = max(0.0, self.left - remaining * self.job.runtime)
        return max(self.since, self.resume) + left / self.rate, change

    @property
    def cost(self) -> float:
        """What it costs to shrink it as far as it goes."""
        assert self.job.min_nodes is not None
        stall = self.job.reconfiguration
        return stall.seconds(self.size, self.job.min_nodes) if isinstance(stall, Stall) else 0.0

    def work_left(self, now: float) -> float:
        return self.left - self.rate * max(0.0, now - max(self.since, self.resume))

    def piece(self, now: float, size: int) -> None:
        """Close the piece that began when what it holds last changed."""
        begin = self.pieces[-1][1] if self.pieces else self.start
        if now > begin:
            self.pieces.append((begin, now, size))


class Machine:
    def __init__(self, problem: WorkloadProblem, rules: LinaRules) -> None:
        self.jobs = list(problem.jobs)
        self.rules = rules
        self.num_nodes = self.free = problem.num_nodes
        self.pool = 0
        self.now = 0.0
        self.calls = 0
        self.future = sorted(range(len(self.jobs)), key=lambda idx: (self.jobs[idx].submit, idx))
        self.queue: list[int] = []
        self.running: dict[int, Run] = {}
        self.done: dict[int, Run] = {}
        self.requests: list[tuple[int, int]] = []  # job, change
        self.promises: list[tuple[int, int]] = []  # job, nodes
        self.victims: set[int] = set()
        self.refused = 0
        stalls = [job.reconfiguration for job in self.jobs]
        self.is_late = any(isinstance(stall, Stall) and stall.holds == "larger" for stall in stalls)

    # What happens.

    def start(self, idx: int, size: int) -> None:
        job = self.jobs[idx]
        run = Run(idx, job, size, self.now, job.runtime, self.now, self.now)
        run.end, run.expected = self.now + run.left / run.rate, self.now + self.estimate(idx, size)
        self.running[idx] = run
        self.free -= size
        assert self.free >= 0

    def held(self, run: Run) -> int:
        return run.size + sum(nodes for _, nodes, _ in run.leaving)

    def resize(self, run: Run, size: int, promised: int = 0) -> None:
        """Change a size at once; `promised` of the nodes given up are for a job that waits."""
        run.piece(self.now, self.held(run))
        stall, change = run.job.reconfiguration, size - run.size
        left, before, resumed = run.work_left(self.now), run.rate, max(self.now, run.resume)
        cost = stall.seconds(run.size, size) if isinstance(stall, Stall) else 0.0
        run.left, run.since, run.resume, run.size = left, self.now, resumed + cost, size
        run.end = run.resume + max(0.0, left) / run.rate
        run.expected = run.resume + max(0.0, run.expected - resumed) * (before / run.rate)
        if change < 0 and isinstance(stall, Stall) and stall.holds == "larger" and run.resume > self.now:
            run.leaving.append((run.resume, -change, promised))
        else:
            self.pool += promised
            self.free -= change + promised
        assert self.free >= 0

    def release(self, run: Run, until: float) -> None:
        """Let go of the nodes that a job still held."""
        due = [row for row in run.leaving if row[0] <= until]
        if due:
            run.piece(self.now, self.held(run))
        run.leaving = [row for row in run.leaving if row[0] > until]
        for _, nodes, promised in due:
            self.pool += promised
            self.free += nodes - promised

    def complete(self, run: Run) -> None:
        run.piece(self.now, self.held(run))
        self.release(run, math.inf)
        self.free += run.size
        self.done[run.idx] = self.running.pop(run.idx)

    def reach(self, run: Run) -> None:
        """Come to a moment of the work at which a job asks."""
        assert run.request is not None
        _, change = run.request
        run.asked += 1
        job = run.job
        assert job.min_nodes is not None
        assert job.max_nodes is not None
        size = min(max(run.size + change, job.min_nodes), job.max_nodes)
        if size < run.size:
            self.resize(run, size)
        elif size > run.size:
            self.requests.append((run.idx, size - run.size))

    def start_promised(self) -> None:
        while self.promises and self.promises[0][1] <= self.pool:
            idx, nodes = self.promises.pop(0)
            self.pool -= nodes
            self.free += nodes
            self.start(idx, nodes)

    def check(self) -> None:
        held = sum(self.held(run) for run in self.running.values())
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
            self.now = min(times)
            for idx in sorted(self.running):
                if self.running[idx].end <= self.now:
                    self.complete(self.running[idx])
            for idx in sorted(self.running):
                self.release(self.running[idx], self.now)
            asking = [
                run
                for _, run in sorted(self.running.items())
                if run.request is not None and run.request[0] <= self.now
            ]
            for run in sorted(asking, key=lambda run: run.request is not None and run.request[1] > 0):
                self.reach(run)
            while self.future and self.jobs[self.future[0]].submit <= self.now:
                self.queue.append(self.future.pop(0))
            self.start_promised()
            self.check()
            self.call()
            self.check()
            self.calls += 1

    # What Lina's policy does.

    def call(self) -> None:
        self.victims = set()
        for idx, nodes in self.requests:
            self.answer(self.running[idx], nodes)
        self.requests = []
        self.backfill()
        waiting = list(self.queue)
        for idx in waiting:
            job = self.jobs[idx]
            need = job.min_nodes if job.kind == "malleable" else job.nodes
            assert need is not None
            from_free = min(need, self.free) if self.rules.combine else 0
            if self.shrink(idx, need - from_free):
                self.queue.remove(idx)
                self.free -= from_free
                self.pool += from_free
                self.promises.append((idx, need))
                self.start_promised()
        if self.rules.expands == "always" or not self.queue:
            self.expand()

    def answer(self, run: Run, nodes: int) -> None:
        if nodes > self.free:
            lack = nodes - self.free if self.rules.combine else nodes
            if self.is_late or not self.shrink(run.idx, lack):
                self.refused += 1
                return
            self.pool -= lack
            self.free += lack
        self.resize(run, run.size + nodes)

    def may_change(self) -> list[Run]:
        runs = [run for _, run in sorted(self.running.items()) if run.job.kind == "malleable"]
        return [run for run in runs if self.rules.fresh or run.start < self.now]

    def forbidden(self) -> bool:
        """Return whether the algorithm lets nobody be shrunk now."""
        soon = any(run.end - self.now <= self.rules.soon for run in self.running.values())
        loaded = self.num_nodes - self.free > self.rules.utilisation * self.num_nodes
        return {
            "default": False,
            "application": soon,
            "system-printed": loaded and soon,
            "system-text": loaded,
        }[self.rules.candidates]

    def shrink(self, asking: int, lack: int) -> bool:
        """Take so many nodes from victims, promised to whom they are for; return whether they can."""
        if lack == 0:
            return True
        runs = [run for run in self.may_change() if run.spare > 0]
        if self.rules.candidates == "application" and self.rules.done < 1:
            done = self.rules.done
            runs = [run for run in runs if 1 - run.work_left(self.now) / run.job.runtime < done]
        if sum(run.spare for run in runs) < lack or self.forbidden():
            return False
        for run in sorted(runs, key=lambda run: (*self.priority(run, asking), run.idx)):
            given = min(lack, run.spare)
            if given > 0:
                lack -= given
                run.gain -= given
                self.victims.add(run.idx)
                self.resize(run, run.size - given, given)
        return True

    def priority(self, run: Run, asking: int) -> tuple[float, ...]:
        """Return what victims are sorted by; equals are taken by position."""
        if self.rules.victims == "random":
            return (draw(self.rules.seed, asking, run.idx),)
        return {
            "gain": (-run.gain,),
            "shrinkable": (-run.spare, -run.size),
            "expansions": (-run.expansions,),
            "cost": (run.cost,),
            "remaining": (run.end,),
        }[self.rules.victims]

    def backfill(self) -> None:
        """Start queued jobs on free nodes."""
        while self.queue and (nodes := self.start_size(self.queue[0])):
            self.start(self.queue.pop(0), nodes)
        if not self.queue:
            return
        shadow_time, extra = math.inf, self.num_nodes
        if self.rules.backfill == "easy":
            shadow_time, extra = self.shadow(self.jobs[self.queue[0]].nodes)
        waiting = self.queue[:1]
        for idx in self.queue[1:]:
            nodes = self.start_size(idx)
            in_time = bool(nodes) and self.now + self.estimate(idx, nodes) <= shadow_time
            if nodes and (in_time or nodes <= extra):
                extra -= 0 if in_time else nodes
                self.start(idx, nodes)
            else:
                waiting.append(idx)
        self.queue = waiting

    def start_size(self, idx: int) -> int:
        """Return the nodes on which a job starts now; 0 if it does not."""
        job = self.jobs[idx]
        assert job.min_nodes is not None
        if job.nodes <= self.free:
            return job.nodes
        below = self.rules.starts_below and job.kind == "malleable" and job.min_nodes <= self.free
        return self.free if below else 0

    def shadow(self, needed: int) -> tuple[float, int]:
        """Return when so many nodes will be free, by the limits, and how many more then."""
        rows = [(max(self.now, run.expected), run.size) for run in self.running.values()]
        shadow_time = self.now
        for end, _ in sorted(rows):
            if self.free + sum(size for other, size in rows if other <= shadow_time) >= needed:
                break
            shadow_time = end
        return shadow_time, self.free + sum(size for end, size in rows if end <= shadow_time) - needed

    def estimate(self, idx: int, nodes: int) -> float:
        job = self.jobs[idx]
        limit = DEFAULT_LIMIT_FACTOR * job.runtime if job.limit is None else job.limit
        same = job.speedup is None or nodes == job.nodes
        return limit if same else limit * job.speedup.time_ratio(nodes, job.nodes)

    def expand(self) -> None:
        """Let those with the longest time left grow."""
        runs = [run for run in self.may_change() if run.idx not in self.victims]
        for run in sorted(runs, key=lambda run: (-run.end, run.idx)):
            assert run.job.max_nodes is not None
            nodes = min(self.free, run.job.max_nodes - run.size)
            if nodes > 0:
                run.expansions += 1
                run.gain += nodes
                self.resize(run, run.size + nodes)


def draw(seed: int, asking: int, victim: int) -> int:
    """Return the place of a victim for a job: 64 random bits."""
    return mixed(mixed(mixed(seed) + asking) + victim)


def mixed(bits: int) -> int:
    """Return the next number of SplitMix64 (Steele, Lea & Flood 2014)."""
    bits = (bits + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)
