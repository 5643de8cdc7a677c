"""A slow, obvious twin of queue policies where nodes are places: nothing is remembered from test to test."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from naive_places import Placement, nodes_of, room, shape_of
from naive_resources import place_in_queue, release_of

from allocsolve.heuristics import Easy, Fcfs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.heuristics import FirstFit
    from allocsolve.heuristics.workload.places import NodeChoice
    from allocsolve.model import WorkloadProblem

#: Jobs, and where they are.
Held: TypeAlias = "Mapping[int, Placement]"
#: What a chunk takes, and the types of nodes that it may use.
Typical: TypeAlias = tuple[tuple[int, ...], tuple[str, ...]]


class Machine:
    """Nodes, and jobs that hold chunks on them."""

    def __init__(self, problem: WorkloadProblem, choice: NodeChoice) -> None:
        self.problem, self.choice, self.jobs = problem, choice, list(problem.jobs)
        self.weight = [kind.weight for kind in problem.node_types for _ in range(kind.count)]
        self.kind = [kind for kind, _ in nodes_of(problem)]
        there = {name for _, has in nodes_of(problem) for name in has}
        first = [name for name in ("cpus", "mem", "gpus") if name in there]
        self.names = [*first, *sorted(there - {*first})] or ["nothing"]
        self.has = [{name: has.get(name, 0) for name in self.names} for _, has in nodes_of(problem)]
        self.typical = self._typical([kind.name for kind in problem.node_types])

    def each(self, job: int) -> dict[str, int]:
        return {name: shape_of(self.jobs[job])[1].get(name, 0) for name in self.names}

    def may_use(self, job: int, kind: str) -> bool:
        types = self.jobs[job].types
        return not types or kind in types

    def free(self, node: int, held: Held) -> dict[str, int]:
        left = dict(self.has[node])
        for job in (job for job, spots in held.items() if node in spots):
            alone, each = shape_of(self.jobs[job])[4], self.each(job)
            left = {
                name: 0 if alone else amount - held[job][node] * each[name] for name, amount in left.items()
            }
        return left

    def rooms(self, job: int, *situations: Held) -> Placement:
        """Return the room on each node that has some in all of these situations."""
        seen = [
            room(self.problem, self.jobs[job], [(self.jobs[other], spots) for other, spots in held.items()])
            for held in situations
        ]
        return {node: least for node, least in enumerate(map(min, zip(*seen, strict=True))) if least}

    def fits(self, job: int, rooms: Placement) -> bool:
        return sum(rooms.values()) >= shape_of(self.jobs[job])[0] and len(rooms) >= self.jobs[job].nodes

    def fill(self, job: int, rooms: Placement, nodes: Iterable[int]) -> Placement:
        """Put a job on nodes in this order; some chunks stay for as many nodes as it needs at least."""
        spots: Placement = {}
        for node in nodes:
            rest = shape_of(self.jobs[job])[0] - sum(spots.values())
            to_come = max(0, self.jobs[job].nodes - len(spots) - 1)
            if rest:
                spots[node] = min(rooms[node], rest - to_come)
        return spots

    def chosen(self, job: int, rooms: Placement, held: Held) -> Placement:
        if self.choice == "slurm":
            return self._in_runs(job, dict(rooms), held)
        key = {node: self.key(job, node, rooms[node], held) for node in rooms}
        return self.fill(job, rooms, sorted(rooms, key=lambda node: (self.weight[node], key[node], node)))

    def late(self, job: int, held: Held, later: Held) -> Placement:
        """Return the plan of the head: where least of it would fit now comes first."""
        rooms, now = self.rooms(job, later), self.rooms(job, held)
        return self.fill(job, rooms, sorted(rooms, key=lambda node: (now.get(node, 0), node)))

    # --- choices -----------------------------------------------------------------------------------------

    def named(self, name: str, otherwise: int) -> str:
        return name if name in self.names else self.names[otherwise]

    def key(self, job: int, node: int, room: int, held: Held) -> Fraction:
        """Return what orders nodes of one weight, exactly."""
        if self.choice == "first":
            return Fraction(0)
        free, has, each = self.free(node, held), self.has[node], self.each(job)
        if self.choice == "least-loaded":
            cpus = self.named("cpus", 0)
            return -Fraction(free[cpus], has[cpus]) if has[cpus] else Fraction(0)
        if self.choice == "most-allocated":
            looked_at = {self.named("cpus", 0), "mem"}
            shares = [
                Fraction(has[name] - free[name] + each[name], has[name])
                for name in sorted(looked_at)
                if has.get(name)
            ]
            return -sum(shares, Fraction(0)) / max(len(shares), 1)
        largest = {name: max(1, *(node[name] for node in self.has)) for name in self.names}
        if self.choice == "best-fit":
            return sum((Fraction(free[name] - each[name], largest[name]) for name in self.names), Fraction(0))
        if self.choice == "dot":
            return sum(
                (Fraction(free[name] * each[name], largest[name] ** 2) for name in self.names), Fraction(0)
            )
        taken = min(room, shape_of(self.jobs[job])[0])
        after = {name: free[name] - taken * need for name, need in each.items()}
        if shape_of(self.jobs[job])[4]:
            after = dict.fromkeys(after, 0)
        growth = self.fragments(node, after) - self.fragments(node, free)
        if self.choice == "fgd":
            return growth
        return Fraction(-math.floor(100 / (1 + math.exp(float(growth)))))

    def fragments(self, node: int, free: Mapping[str, int]) -> Fraction:
        saved = self.named("gpus", -1)
        lost = Fraction(0)
        for (each, kinds), share in self.typical.items():
            needs = dict(zip(self.names, each, strict=True))
            fits = self.kind[node] in kinds and all(needs[name] <= free[name] for name in self.names)
            if not fits or (self.choice == "fgd-scores" and not needs[saved]):
                lost += share * free[saved]
        return lost

    def _typical(self, kinds: Sequence[str]) -> dict[Typical, Fraction]:
        """Return the commonest kinds of chunks that make up 95 % of the jobs, with their shares."""
        seen = Counter(
            (tuple(self.each(job).values()), tuple(kind for kind in kinds if self.may_use(job, kind)))
            for job in range(len(self.jobs))
        )

        def place(item: Typical) -> tuple[object, ...]:
            each, allowed = item
            bits = sum(2**idx for idx, kind in enumerate(kinds) if kind in allowed)
            return -seen[item], each, -1 if len(allowed) == len(kinds) else bits

        typical: dict[Typical, int] = {}
        for item in sorted(seen, key=place):
            if sum(typical.values()) * 100 < 95 * len(self.jobs):
                typical[item] = seen[item]
        return {item: Fraction(count, sum(typical.values())) for item, count in typical.items()}

    def _in_runs(self, job: int, rooms: Placement, held: Held) -> Placement:
        """Choose as Slurm does: from runs of consecutive nodes of one weight."""
        spots: Placement = {}
        cpus = {node: self.free(node, held)[self.named("cpus", 0)] for node in rooms}
        while rest := shape_of(self.jobs[job])[0] - sum(spots.values()):
            missing = self.jobs[job].nodes - len(spots)
            runs: list[list[int]] = []
            for node in sorted(rooms):
                joined = runs and runs[-1][-1] == node - 1 and self.weight[node - 1] == self.weight[node]
                runs = [*runs[:-1], [*runs[-1], node]] if joined else [*runs, [node]]
            least = min(self.weight[run[0]] for run in runs)
            runs = [run for run in runs if self.weight[run[0]] == least]
            enough = [run for run in runs if sum(rooms[node] for node in run) >= rest and len(run) >= missing]
            total = {tuple(run): sum(cpus[node] for node in run) for run in runs}
            run = min(enough or runs, key=lambda run: total[tuple(run)] if enough else -total[tuple(run)])
            alone = [node for node in run if missing <= 1 and rooms[node] >= rest]
            for node in [min(alone, key=lambda node: cpus[node])] if alone else run:
                taken = min(rooms[node], rest - max(0, missing - 1))
                spots[node], rest, missing = taken, rest - taken, missing - 1
                del rooms[node]
                if not rest:
                    break
        return spots


def naive_places(
    problem: WorkloadProblem, policy: Fcfs | FirstFit | Easy
) -> tuple[list[float], list[Placement]]:
    """Return when each job starts, and on which nodes."""
    easy = policy if isinstance(policy, Easy) else Easy(choice=policy.choice)
    machine = Machine(problem, policy.choice)
    estimates: list[float] = problem.jobs.packed.estimate.tolist()
    jobs, count = machine.jobs, len(problem.jobs)
    starts: dict[int, float] = {}
    where: dict[int, Placement] = {}
    now = -math.inf

    def expected(job: int) -> float:
        return max(now, starts[job] + estimates[job])

    while len(starts) < count:
        ends = [starts[job] + jobs[job].runtime for job in starts]
        now = min(time for time in (*ends, *map(release_of, jobs)) if time > now)
        held = {job: where[job] for job in starts if starts[job] + jobs[job].runtime > now}
        queue = [job for job in range(count) if job not in starts and release_of(jobs[job]) <= now]
        queue.sort(key=lambda job: place_in_queue(jobs[job], job, now, estimates[job], easy.order))
        head, shadow_time, tested = None, math.inf, 0
        for job in queue:
            rooms = machine.rooms(job, held)
            if head is not None:
                tested += 1
                if easy.scan_limit is not None and tested > easy.scan_limit:
                    break
                end = now + estimates[job]
                late = end > shadow_time or (easy.strict and end == shadow_time)
                if policy is easy and late:
                    later = {other: where[other] for other in held if expected(other) > shadow_time}
                    plan = machine.late(head, held, later)
                    rooms = machine.rooms(job, held, {**later, head: plan}) if easy.extra_nodes else {}
            if machine.fits(job, rooms):
                where[job] = held[job] = machine.chosen(job, rooms, held)
                starts[job] = now
            elif head is None:
                head = job
                if isinstance(policy, Fcfs):
                    break
                shadow_time = first_fit_time(machine, job, {other: expected(other) for other in held}, where)
    return [starts[job] for job in range(count)], [where[job] for job in range(count)]


def first_fit_time(
    machine: Machine, job: int, ends: Mapping[int, float], where: Mapping[int, Placement]
) -> float:
    """Return the first of these ends at which a job fits beside those that end later."""

    def staying(at: float) -> Held:
        return {other: where[other] for other in ends if ends[other] > at}

    return next(at for at in sorted(ends.values()) if machine.fits(job, machine.rooms(job, staying(at))))
