"""evolv-easyback: two slow twins, the EASY that it is without jobs that evolve, and the judge."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest
from evolving_strategies import evolving_problems
from hypothesis import given, strategies as st
from naive_malleable import pieces_of
from naive_reactive import NaiveEvolvEasyback, naive_reactive
from strategies import workload_problems
from tiers import draws

from allocsolve.errors import Deadlock
from allocsolve.heuristics import Easy, EvolvEasyback
from allocsolve.heuristics.workload.easyback import final_states
from allocsolve.judge import workload_violations
from allocsolve.model import Amdahl, Budget, Job, Join, Phases, WorkloadProblem
from allocsolve.model.evolving import PROFILE, REACTIVE, REQUESTED
from allocsolve.simulation import Answer, EngineRules, Start, Wake, run_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.simulation import Decision, QueueView
    from allocsolve.simulation.rules import ProfileKnowledge


def draw_reactive(rng: random.Random, most: int = 12) -> WorkloadProblem:
    """Return a small workload with few distinct times, so that events meet."""
    num_nodes = rng.choice([1, 2, 4, 7, 16])
    unit = rng.choice([1, 1, 0.25])
    span = rng.choice([0, 5, 60])

    def seconds(limit: int, least: int = 0) -> float:
        return unit * rng.randint(least, limit)

    def job() -> Job:
        row: dict[str, Any] = {"submit": seconds(span), "limit": rng.choice([None, 60, seconds(60, 1)])}
        low, nodes, high = sorted(rng.choices(range(1, num_nodes + 1), k=3))
        kind = rng.choice(["rigid", "moldable", "evolving", "evolving", "evolving"])
        if kind == "rigid":
            return Job(nodes=nodes, runtime=seconds(40, 1), **row)
        row |= {"nodes": nodes, "min_nodes": low, "max_nodes": high}
        if kind == "moldable":
            return Job(runtime=seconds(40, 1), speedup=Amdahl(rng.choice([0, 0.5, 0.9, 1])), **row)
        phases = Phases(
            [(seconds(60, 1), rng.choice([None, 1, 1, 2, 5])) for _ in range(rng.randint(1, 5))],
            rng.choice([0, 0, 1, 5, 10]) * unit,
        )
        join = Join(*(rng.choice([0, seconds(6)]) for _ in range(3)))
        runtime = join.start + phases.run_time(nodes)
        return Job(runtime=runtime, evolution=phases, reconfiguration=join, **row)

    return WorkloadProblem(num_nodes, [job() for _ in range(rng.randint(0, most))])


def draw_policy(rng: random.Random) -> NaiveEvolvEasyback:
    return NaiveEvolvEasyback(
        cooldown=rng.choice([0, 1, 7.5, 60]),
        polling=rng.choice([1, 5, 30]),
        wake_up=rng.random() < 0.7,
        requests=rng.choice(["first", "last"]),
        start_counts=rng.random() < 0.3,
    )


class NaiveEasyback:
    """The policy; jobs with phases may not cool down, as it does not see when they begin to let a node go."""

    def __init__(self, problem: WorkloadProblem, options: EvolvEasyback) -> None:
        self.reading = problem.jobs.evolving.reading.tolist()
        self.most = problem.packed.max_nodes.tolist()
        self.options, self.rules = options, options.rules
        self.changed: dict[int, float] = {}
        self.last_tick = -math.inf

    def __call__(self, view: QueueView) -> Iterator[Decision]:
        self.changed |= dict.fromkeys(view.resized.tolist(), view.now)
        ticks = 0
        while ticks * self.options.polling < view.now:
            ticks += 1
        is_tick = ticks * self.options.polling == view.now
        yield Wake((ticks + is_tick) * self.options.polling)
        if not self.options.wake_up and (not is_tick or self.last_tick == view.now):
            return
        self.last_tick = view.now
        self.free, self.view = view.free, view
        self.held = dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
        self.ends: dict[int, float] = dict(
            zip(view.running.tolist(), view.expected_ends.tolist(), strict=True)
        )
        for job in self.held:
            if self.reading[job] != REQUESTED:
                self.ends[job] = float(view.jobs.start[job] + view.jobs.estimate[job])
        if self.options.requests == "first":
            yield from self.grants(view)
            yield from self.starts(view)
        else:
            yield from self.starts(view)
            yield from self.grants(view)

    def grants(self, view: QueueView) -> Iterator[Answer]:
        for job, size in zip(view.requests.tolist(), view.requested_nodes.tolist(), strict=True):
            more = size - self.held[job]
            changed = self.changed.get(job, -math.inf)
            if self.options.start_counts:
                changed = max(changed, view.jobs.start[job])
            cool = view.now - changed >= self.options.cooldown
            if more <= self.free and cool and self.is_safe(job, more):
                self.free -= more
                self.held[job] += more
                self.changed[job] = view.now
                yield Answer(job)

    def starts(self, view: QueueView) -> Iterator[Start]:
        blocked, shadow_time = None, math.inf
        for job in view.queue.tolist():
            least, nodes = self.start_sizes(view, job)
            limit = float(view.jobs.estimate[job])
            if nodes and self.reading[job] == REQUESTED:
                limit = view.estimate(job, nodes)
            in_time = blocked is None or view.now + limit < shadow_time
            if nodes and in_time and self.is_safe(job, nodes):
                self.free -= nodes
                self.held[job], self.ends[job] = nodes, view.now + limit
                yield Start(job, nodes)
            elif blocked is None:
                blocked, shadow_time = job, self.shadow_time(view.now, self.most[job] if nodes else least)

    def start_sizes(self, view: QueueView, job: int) -> tuple[int, int]:
        """Return the fewest nodes, and those on which it would start now."""
        sizes = view.sizes(job)
        if self.reading[job] == REACTIVE:
            sizes = tuple(range(int(view.jobs.min_nodes[job]), self.most[job] + 1))
        return sizes[0], max((size for size in sizes if size <= self.free), default=0)

    def shadow_time(self, now: float, needed: int) -> float:
        free = self.free
        for end, job in sorted((end, job) for job, end in self.ends.items()):
            free += self.held[job]
            if free >= needed:
                return max(now, end)
        raise AssertionError

    def claim(self, job: int) -> int:
        """Return the most nodes that a job with a profile may still need, as far as the view shows."""
        known = [nodes for _, nodes in self.view.profile(job)]
        if self.options.knowledge == "all" or len(known) == 1:
            return int(max(known))
        return int(self.most[job])

    def is_safe(self, job: int, more: int) -> bool:
        """Return whether running jobs can end one after another, by trying all orders."""
        if not self.options.safe or self.reading[job] != PROFILE:
            return True
        held = {**self.held, job: self.held.get(job, 0) + more}
        lacks = {one: self.claim(one) - held[one] if self.reading[one] == PROFILE else 0 for one in held}
        for order in itertools.permutations(held):
            free = self.free - more
            for one in order:
                if lacks[one] > free:
                    break
                free += held[one]
            else:
                return True
        return False


options = st.builds(
    EvolvEasyback,
    cooldown=st.sampled_from([0, 1, 2.5, 60]),
    polling=st.sampled_from([0.3, 1, 5]),
    wake_up=st.booleans(),
    requests=st.sampled_from(["first", "last"]),
    start_counts=st.booleans(),
)


def check_against_twin(rng: random.Random, most: int) -> None:
    problem, policy = draw_reactive(rng, most), draw_policy(rng)
    schedule = EvolvEasyback(**asdict(policy)).simulated(problem).schedule
    twin = naive_reactive(problem, policy)
    for job in range(len(problem.jobs)):
        assert schedule.pieces(job) == pieces_of(twin, job)
    assert workload_violations(problem, schedule) == ()


def test_300_workloads_of_up_to_60_jobs() -> None:
    for seed in draws(300):
        rng = random.Random(seed)
        check_against_twin(rng, rng.choice([12, 60]))


@given(st.randoms(use_true_random=False))
def test_it_is_called_as_often(rng: random.Random) -> None:
    """Where the clock ticks at 0 s only, at which it calls nobody here."""
    problem, policy = draw_reactive(rng), replace(draw_policy(rng), polling=1e6, wake_up=True)
    calls = naive_reactive(problem, policy).calls
    idle = bool(len(problem.jobs)) and problem.packed.submit.min() > 0
    _, resizing = final_states(problem, EvolvEasyback(**asdict(policy)), EngineRules())
    assert resizing.ledger["calls"] == calls - idle


@given(workload_problems(max_jobs=9, max_nodes=8), st.sampled_from(["first", "last"]))
def test_without_evolving_jobs_it_is_strict_easy(problem: WorkloadProblem, requests: str) -> None:
    if problem.is_rigid:
        easy = Easy(extra_nodes=False, strict=True).simulated(problem)
        run = EvolvEasyback(requests=requests).simulated(problem)  # type: ignore[arg-type]
        assert run.schedule == easy.schedule
        assert run.log.started.tolist() == easy.log.started.tolist()
        assert run.log.reasons.tolist() == easy.log.reasons.tolist()
        assert run.log.blocked.tolist() == easy.log.blocked.tolist()


def check_in_python(problem: WorkloadProblem, policy: EvolvEasyback) -> None:
    run = policy.simulated(problem)
    twin = run_policy(problem, NaiveEasyback(problem, policy))
    assert run.schedule == twin.schedule
    assert run.log.started.tolist() == twin.log.started.tolist()
    assert workload_violations(problem, run.schedule) == ()


@given(evolving_problems(max_jobs=6), options)
def test_all_kinds_of_jobs(problem: WorkloadProblem, policy: EvolvEasyback) -> None:
    check_in_python(problem, replace(policy, cooldown=0, start_counts=False))


@given(
    evolving_problems(max_jobs=7, max_nodes=6, readings=("profile",)),
    st.sampled_from(["none", "next", "all"]),
    options,
)
def test_profiles_end_whatever_they_need(
    problem: WorkloadProblem, knowledge: ProfileKnowledge, policy: EvolvEasyback
) -> None:
    check_in_python(problem, replace(policy, knowledge=knowledge))


@given(evolving_problems(max_jobs=7, readings=("profile", "requested")), options, st.booleans())
def test_unsafe_or_by_event_it_is_feasible_or_no_answer(
    problem: WorkloadProblem, policy: EvolvEasyback, coalesce: bool
) -> None:
    schedule = policy.simulated(problem, EngineRules(coalesce)).schedule
    assert workload_violations(problem, schedule) == ()
    unsafe = replace(policy, safe=False)
    stopped = unsafe.simulated(problem).standstill
    if stopped is None:
        answer = unsafe(problem, Budget()).answer
        assert answer is not None
        assert workload_violations(problem, answer) == ()
    else:  # nobody could be granted what he waits for, and all waiting jobs and free nodes are the cluster
        assert all(waits.asked - waits.held > stopped.free for waits in stopped.waiting)
        assert sum(waits.held for waits in stopped.waiting) + stopped.free == problem.num_nodes
        with pytest.raises(
            Deadlock, match=rf"^deadlock at {stopped.now:.15g} s \(free nodes: {stopped.free}\)"
        ):
            unsafe(problem, Budget())
