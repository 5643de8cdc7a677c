"""A slow, obvious twin of queue policies where nodes are places: nothing is remembered from test to test."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from naive_places import Placement, is_closed, nodes_of, room, shape_of
from naive_resources import place_in_queue, release_of

from allocsolve.heuristics import Easy, Fcfs, FirstFit, SlurmBackfill

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.model import WorkloadProblem
    from allocsolve.simulation.node_choice import NodeChoice

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

    def rooms(self, job: int, begin: float, seconds: float, *situations: Held) -> Placement:
        """Return the room on each node that has some in all of these situations, and stays open."""
        seen = [
            room(self.problem, self.jobs[job], [(self.jobs[other], spots) for other, spots in held.items()])
            for held in situations
        ]
        return {
            node: least
            for node, least in enumerate(map(min, zip(*seen, strict=True)))
            if least and not is_closed(self.problem, node, begin, begin + seconds)
        }

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

    def late(self, job: int, rooms: Placement, now: Placement) -> Placement:
        """Return the plan of a job in the room that there is then: where least fits now comes first."""
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
    problem: WorkloadProblem, policy: Fcfs | FirstFit | Easy | SlurmBackfill
) -> tuple[list[float], list[Placement]]:
    """Return when each job starts, and on which nodes."""
    order = "submission" if isinstance(policy, Fcfs | FirstFit) else policy.order
    machine = Machine(problem, policy.choice)
    estimates: list[float] = problem.jobs.packed.estimate.tolist()
    jobs, count = machine.jobs, len(problem.jobs)
    starts: dict[int, float] = {}
    where: dict[int, Placement] = {}
    now = -math.inf
    while len(starts) < count:
        ends = [starts[job] + jobs[job].runtime for job in starts]
        passes = [] if now == -math.inf or not isinstance(policy, SlurmBackfill) else [next_pass(policy, now)]
        passes += [window.end for window in problem.closed]
        now = min(time for time in (*ends, *map(release_of, jobs), *passes) if time > now)
        held = {job: where[job] for job in starts if starts[job] + jobs[job].runtime > now}
        queue = [job for job in range(count) if job not in starts and release_of(jobs[job]) <= now]
        queue.sort(key=lambda job: place_in_queue(jobs[job], job, now, estimates[job], order))
        call = Call(
            machine, estimates, now, held, {job: max(now, starts[job] + estimates[job]) for job in held}
        )
        while queue and machine.fits(queue[0], call.rooms(queue[0], now, held)):
            call.start(queue.pop(0), held)
        if queue and isinstance(policy, SlurmBackfill):
            if now % policy.bf_interval == 0:
                call.plan(queue[: policy.bf_max_job_test], policy, count)
        elif queue and isinstance(policy, Easy):
            tested = queue[: None if policy.scan_limit is None else policy.scan_limit + 1]
            if policy.reservations == 1:
                call.backfill(tested, policy)
            else:
                call.plan(tested, None, count if policy.reservations == "all" else policy.reservations)
        elif isinstance(policy, FirstFit):
            for job in queue[1:]:
                if machine.fits(job, call.rooms(job, now, held)):
                    call.start(job, held)
        where |= held
        starts |= dict.fromkeys(held.keys() - starts.keys(), now)
    return [starts[job] for job in range(count)], [where[job] for job in range(count)]


def next_pass(policy: SlurmBackfill, now: float) -> float:
    """Return when the next pass is made."""
    return (now // policy.bf_interval + 1) * policy.bf_interval


class Planned(NamedTuple):
    """A reservation, and from when on nobody may be in its way."""

    job: int
    begin: float
    end: float
    blocks: float
    spots: Placement


class Call:
    """One call of a policy: jobs that are held now, when they are expected to end, and what is planned."""

    def __init__(
        self,
        machine: Machine,
        estimates: Sequence[float],
        now: float,
        held: dict[int, Placement],
        ends: dict[int, float],
    ) -> None:
        self.machine, self.estimates, self.now, self.held, self.ends = machine, estimates, now, held, ends
        self.made: list[Planned] = []

    def rooms(self, job: int, begin: float, *situations: Held) -> Placement:
        """Return the room of a job that begins at an instant, in all situations."""
        return self.machine.rooms(job, begin, self.estimates[job], *situations)

    def late(self, job: int, rooms: Placement) -> Placement:
        """Return the plan of a job in this room."""
        return self.machine.late(job, rooms, self.machine.rooms(job, self.now, 0, self.held))

    def start(self, job: int, *situations: Held) -> None:
        """Start a job in the room that it has in all situations."""
        self.held[job] = self.machine.chosen(job, self.rooms(job, self.now, *situations), self.held)
        self.ends[job] = self.now + self.estimates[job]

    def held_at(self, time: float, made: Sequence[Planned]) -> Held:
        """Return who holds something at an instant, if all is as expected."""
        running = {job: spots for job, spots in self.held.items() if self.ends[job] > time}
        return running | {each.job: each.spots for each in made if each.begin <= time < each.end}

    def backfill(self, queue: Sequence[int], policy: Easy) -> None:
        """Start jobs beside a reservation of the first one."""
        head, machine = queue[0], self.machine
        shadow_time = self.shadow_time(head)
        for job in queue[1:]:
            end, situations = self.now + self.estimates[job], [self.held]
            if end > shadow_time or (policy.strict and end == shadow_time):
                if not policy.extra_nodes:
                    continue
                later = self.held_at(shadow_time, [])
                situations.append({**later, head: self.late(head, self.rooms(head, shadow_time, later))})
            if machine.fits(job, self.rooms(job, self.now, *situations)):
                self.start(job, *situations)

    def plan(self, queue: Sequence[int], slurm: SlurmBackfill | None, most: int) -> None:
        """Start jobs beside reservations of those that cannot start, of so many at most."""
        for job in queue:
            end = self.now + self.estimates[job]
            begins = sorted({each.begin for each in self.made if each.blocks < end})
            situations = [self.held, *(self.held_at(time, self.made) for time in begins)]
            if self.machine.fits(job, self.rooms(job, self.now, *situations)):
                self.start(job, *situations)
                if slurm is None:
                    self.made = self.laid(self.made, 0) or self.made
            elif len(self.made) < most:
                fits = self.machine.fits(job, self.rooms(job, self.now, self.held))
                times = sorted({*self.times(), *(each.end for each in self.made), self.now})
                for time in times:
                    if (time > self.now or not fits) and self.reserve(job, time, slurm):
                        break

    def laid(self, made: Sequence[Planned], first: int) -> list[Planned]:
        """Return reservations with new nodes from one on; none if one does not fit when it begins."""
        new = list(made[:first])
        for each in made[first:]:
            rooms = self.rooms(each.job, each.begin, self.held_at(each.begin, new))
            if not self.machine.fits(each.job, rooms):
                return []
            new.append(each._replace(spots=self.late(each.job, rooms)))
        return new

    def reserve(self, job: int, time: float, slurm: SlurmBackfill | None) -> bool:
        """Plan a job at an instant, if it fits; return whether nothing is left to be done."""
        first, end = sum(each.begin <= time for each in self.made), time + self.estimates[job]
        if slurm is None:
            made = [*self.made[:first], Planned(job, time, end, time, {}), *self.made[first:]]
            new = self.laid(made, first)
            self.made = new or self.made
            return bool(new)
        step = slurm.bf_resolution
        horizon = (self.now + 60 * slurm.bf_window) // step * step
        if time >= horizon:
            return True
        later = sorted({each.begin for each in self.made if each.begin > time and each.blocks < end})
        situations = [self.held_at(moment, self.made) for moment in (time, *later)]
        rooms = self.rooms(job, time, *situations)
        if not self.machine.fits(job, rooms):
            return False
        spots = self.late(job, rooms)
        blocks = math.nextafter(time // step * step, -math.inf)
        mine = Planned(job, time, min(-(-end // step) * step, horizon), blocks, spots)
        self.made = [*self.made[:first], mine, *self.made[first:]]
        return True

    def times(self) -> set[float]:
        """Return when somebody is expected to end, or a node opens."""
        return {
            *self.ends.values(),
            *(each.end for each in self.machine.problem.closed if each.end > self.now),
        }

    def shadow_time(self, job: int) -> float:
        """Return the first of these times at which a job fits beside those that end later."""
        return next(
            time
            for time in sorted(self.times())
            if self.machine.fits(job, self.rooms(job, time, self.held_at(time, [])))
        )
