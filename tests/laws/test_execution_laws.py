"""Executions: the slow machine that follows the rules one by one, and what has to hold in any case."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given, strategies as st
from naive_execution import naive_execute, naive_leak, naive_linnert
from naive_jobs import NaiveRules

from allocsolve.errors import InvalidAnswer, InvalidProblem, UnsupportedProblem
from allocsolve.model import (
    CANCELLED,
    SUCCESSFUL,
    DeadlineJob,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
    Topology,
    Torus,
)
from reproductions.linnert2024.programs import (
    ExecutionRules,
    LeakRules,
    Program,
    execute,
    execute_leaking,
    linnert_program,
)
from reproductions.linnert2024.programs.calibration import calibrate, reference_partition
from reproductions.linnert2024.programs.program_set import program_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy


#: Works and weights: ties are likely, and so is nothing at all.
_AMOUNTS = st.one_of(st.sampled_from([0, 0.25, 0.5, 1, 1, 2]), st.floats(0.01, 3))

_NODES = st.integers(1, 4)


@st.composite
def programs(draw: DrawFn, *, max_operations: int = 20) -> Program:
    """Programs whose operations are drawn in an order in which they could be done one after the other.

    So nobody waits for ever: what is received was sent before, who is joined has been forked and is done.
    A channel has one receiver; some messages are never received, and some processes never joined.
    """
    rows: list[list[tuple[object, ...]]] = [[] for _ in range(draw(st.integers(1, 4)))]
    parents: dict[int, int] = {}
    pending: dict[int, int] = {}
    done: set[int] = set()
    for _ in range(draw(st.integers(1, max_operations))):
        active = [p for p in range(len(rows)) if p not in done]
        p = draw(st.sampled_from(active))
        kind = draw(st.sampled_from(["compute", "compute", "message", "send", "receive", "fork", "join"]))
        if kind == "compute":
            rows[p].append(("compute", draw(_AMOUNTS)))
        elif kind == "fork":
            parents[len(rows)] = p
            rows[p].append(("fork", len(rows), draw(_AMOUNTS)))
            rows.append([("compute", draw(_AMOUNTS))] if draw(st.booleans()) else [])
        elif kind == "join":
            children = [q for q in active if parents.get(q) == p]
            if children:
                q = draw(st.sampled_from(children))
                rows[p].append(("join", q))
                done.add(q)
        elif kind == "receive":
            if pending.get(p):
                rows[p].append(("receive", 7 * p))
                pending[p] -= 1
        else:
            q = draw(st.sampled_from(active))
            rows[p].append(("send", 7 * q, draw(_AMOUNTS)))
            if kind == "message":
                rows[q].append(("receive", 7 * q))
            else:
                pending[q] = pending.get(q, 0) + 1
    rows[0].append(("compute", 1))
    return Program(rows)


def execution_rules(**fixed: object) -> SearchStrategy[ExecutionRules]:
    """All rules of the machine."""
    options: dict[str, SearchStrategy[object]] = {
        "cores": st.sampled_from([1, 2, 4]),
        "communication": st.sampled_from([0.1, 0.5, 0, 1]),
        "hop_part": st.sampled_from([1, 0.5, 0]),
        "synchronous": st.booleans(),
        "contention": st.booleans(),
        "reference": st.sampled_from(["booked", "demand"]),
    }
    options |= {name: st.just(value) for name, value in fixed.items()}
    return st.builds(ExecutionRules, **options)


def leak_rules() -> SearchStrategy[LeakRules]:
    """All rules of the leak."""
    return st.builds(
        LeakRules,
        contiguous=st.booleans(),
        waiting=st.sampled_from(["queue", "queue", "reject"]),
        own_first=st.booleans(),
        need_all=st.booleans(),
    )


def _topologies() -> SearchStrategy[Topology]:
    shapes = st.sampled_from([(3, 2), (4, 3), (5,), (2, 2, 2), (3, 3), (1, 1)])
    return st.builds(lambda shape, ring: Topology(shape, (ring,) * len(shape)), shapes, st.booleans())


class Asked(NamedTuple):
    """A problem, and programs of its jobs by their index; the others run those of their kinds."""

    problem: ReservationProblem
    own: dict[int, Program]


@st.composite
def executable_problems(draw: DrawFn, *, max_jobs: int = 5) -> Asked:
    """Jobs with programs of users and of the first kinds, which come close after each other."""
    topology = draw(_topologies())
    drawn = draw(st.lists(programs(), min_size=1, max_size=2))
    choices = st.one_of(st.sampled_from(drawn), st.sampled_from([0, 3]))
    jobs, arrival, own = [], 0, dict[int, Program]()
    for _ in range(draw(st.integers(1, max_jobs))):
        arrival += draw(st.sampled_from([0, 0, 1, 3, 10]))
        runtime = draw(st.integers(1, 12))
        slack = draw(st.sampled_from([0, 0, 1, 10, 40]))
        nodes = min(draw(_NODES), topology.num_nodes)
        choice = draw(choices)
        kind = choice if isinstance(choice, int) else None
        if isinstance(choice, Program):
            own[len(jobs)] = choice
        jobs.append(DeadlineJob(arrival, nodes, runtime, arrival + runtime + slack, kind))
    seed = draw(st.integers(0, 3))
    return Asked(ReservationProblem(topology, tuple(jobs), program_seed=seed, leaking=True), own)


@st.composite
def booked_problems(draw: DrawFn) -> tuple[Asked, ReservationSchedule]:
    """Problems, and bookings of as many of their jobs as find nodes one after the other."""
    asked = draw(executable_problems())
    problem = asked.problem
    free_from = dict.fromkeys(range(problem.topology.num_nodes), 0)
    bookings = {}
    for idx, job in enumerate(problem.jobs):
        nodes = draw(st.permutations(sorted(free_from)))[: job.nodes]
        start = max([job.arrival, *(free_from[node] for node in nodes)])
        if start + job.runtime <= job.deadline:
            bookings[idx] = start, nodes
            free_from |= dict.fromkeys(nodes, start + job.runtime)
    return asked, ReservationSchedule.of(problem, bookings)


def program_by_index(asked: Asked) -> Callable[[int], Program]:
    """Return a function that gives the program of a job."""

    def program(idx: int) -> Program:
        if idx in asked.own:
            return asked.own[idx]
        kind = asked.problem.jobs[idx].program
        assert kind is not None
        return naive_linnert(kind, asked.problem.jobs[idx].nodes, idx, asked.problem.program_seed)

    return program


def executed_or_refused(run: Callable[[], ReservationSchedule]) -> ReservationSchedule:
    """Run; a program without communication takes no time if communication is all that takes time."""
    try:
        return run()
    except InvalidProblem as error:
        assert "takes no time" in str(error)  # noqa: PT017 - anything else is a failure
        assume(False)  # noqa: FBT003 - takes nothing else
        raise


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("kind", range(4))
def test_a_program_is_its_description(kind: int, nodes: int) -> None:
    for job_idx in range(3):
        assert linnert_program(kind, nodes, job_idx, 5) == naive_linnert(kind, nodes, job_idx, 5)


def rejected_before_it_could_be_cancelled() -> Asked:
    """A job that is rejected on arrival while a deadline, its own, is what comes next."""
    program = Program([[("compute", 0.0), ("compute", 1.0)]])
    jobs = (DeadlineJob(0, 1, 3, 3), DeadlineJob(1, 1, 1, 2))
    return Asked(ReservationProblem(Mesh((1, 1)), jobs, leaking=True), {0: program, 1: program})


@example(rejected_before_it_could_be_cancelled(), ExecutionRules(), LeakRules(waiting="reject"))
@given(executable_problems(), execution_rules(), leak_rules())
def test_a_leak_is_its_rules(asked: Asked, rules: ExecutionRules, leak: LeakRules) -> None:
    schedule = executed_or_refused(lambda: execute_leaking(asked.problem, rules, leak, asked.own))
    naive = NaiveRules(*astuple(rules), *astuple(leak))
    assert schedule == naive_leak(asked.problem, program_by_index(asked), naive)


@given(booked_problems(), execution_rules(), st.sampled_from(["end", "grace"]))
def test_an_execution_is_its_rules(
    booked: tuple[Asked, ReservationSchedule], rules: ExecutionRules, overrun: Any
) -> None:
    (problem, own), schedule = booked
    done = executed_or_refused(lambda: execute(problem, schedule, rules, overrun=overrun, programs=own))
    naive = NaiveRules(*astuple(rules))
    assert done == naive_execute(problem, schedule, program_by_index(booked[0]), naive, overrun)


@given(programs(), st.integers(1, 6), execution_rules(), st.sampled_from([Mesh((4, 3)), Torus((3, 3))]))
def test_a_job_on_its_reference_partition_takes_its_run_time(
    program: Program, nodes: int, rules: ExecutionRules, topology: Topology
) -> None:
    jobs = [DeadlineJob(start, nodes, 10, 100) for start in (0, 7, 13)]
    problem, own = ReservationProblem(topology, tuple(jobs), leaking=True), dict.fromkeys(range(3), program)
    if rules.reference == "booked":
        sets = reference_partition(topology, nodes).tolist()
        for idx, job in enumerate(jobs):
            booked = ReservationSchedule.of(problem, {idx: (job.arrival, sets)})
            done = executed_or_refused(lambda given_=booked: execute(problem, given_, rules, programs=own))  # type: ignore[misc]  # of a default
            assert done.outcomes[idx] == SUCCESSFUL
            assert done.ends[idx] == job.arrival + job.runtime


@pytest.mark.parametrize("contention", [False, True])
@pytest.mark.parametrize("kind", range(4))
def test_a_program_of_each_kind_takes_its_run_time_on_its_reference(kind: int, contention: bool) -> None:
    topology = Mesh((8, 4))
    jobs = [DeadlineJob(100 * k, nodes, 97, 10**6, kind) for k, nodes in enumerate((1, 2, 5, 8, 13))]
    problem = ReservationProblem(topology, tuple(jobs), program_seed=3, leaking=True)
    bookings = {k: (job.arrival, reference_partition(topology, job.nodes)) for k, job in enumerate(jobs)}
    booked = ReservationSchedule.of(problem, bookings)
    done = execute(problem, booked, ExecutionRules(contention=contention))
    assert np.abs(done.ends - booked.ends).max() <= 97e-9
    assert (done.outcomes == SUCCESSFUL).all()


@given(booked_problems(), execution_rules())
def test_all_work_of_a_successful_job_is_computed(
    booked: tuple[Asked, ReservationSchedule], rules: ExecutionRules
) -> None:
    (problem, own), schedule = booked
    done = executed_or_refused(lambda: execute(problem, schedule, rules, overrun="grace", programs=own))
    assert done.computed is not None
    program_of_job = program_by_index(booked[0])
    for idx in np.flatnonzero(done.outcomes == SUCCESSFUL).tolist():
        scales = calibrate(problem, [idx], program_set(problem, [idx], own), rules)
        program, computed = program_of_job(idx), done.computed[idx]
        work = program.work * scales.compute[0] * scales.factor[0]
        assert computed <= work * (1 + 1e-9)
        assert work <= computed * rules.cores * (1 + 1e-9)
        if program.packed.is_forked.sum() == 0 and len(program.processes) <= problem.jobs[idx].nodes:
            assert computed == pytest.approx(work)  # one process at most on each node


def test_who_cannot_be_executed_is_refused() -> None:
    waits = Program([[("receive", 0), ("send", 1, 1)], [("receive", 1), ("send", 0, 1)]])
    idle = Program([[("send", 0, 0)]])
    for program, why in ((waits, "does not end"), (idle, "takes no time")):
        problem, own = (
            ReservationProblem(Mesh((2, 2)), (DeadlineJob(0, 2, 5, 9),), leaking=True),
            {0: program},
        )
        with pytest.raises(InvalidProblem, match=f"job 'j0': its program {why}"):
            execute_leaking(problem, programs=own)
        with pytest.raises(InvalidProblem, match=f"job 'j0': its program {why}"):
            execute(problem, ReservationSchedule.of(problem, {0: (0, [0, 1])}), programs=own)
    problem = ReservationProblem(
        Mesh((2, 2)), (DeadlineJob(0, 2, 5, 9), DeadlineJob(0, 2, 5, 9, 0)), leaking=True
    )
    with pytest.raises(UnsupportedProblem, match="job 'j0' has no program"):
        execute_leaking(problem)
    overlapping = ReservationSchedule.of(problem, {0: (0, [0, 1]), 1: (4, [1, 2])})
    with pytest.raises(InvalidAnswer, match="jobs 'j0' and 'j1' have node 1 at the same time"):
        execute(problem, overlapping)
    booked = ReservationSchedule.of(problem, {0: (0, [0, 1]), 1: (5, [1, 3])})
    done = execute(problem, booked)
    assert done.outcomes.tolist() == [SUCCESSFUL, SUCCESSFUL]
    with pytest.raises(InvalidAnswer, match="job 'j0' is neither rejected nor booked"):
        execute(problem, done)


def test_a_job_that_is_stopped_does_not_meet_the_next_one() -> None:
    jobs = [DeadlineJob(0, 4, 60, 90, 1), DeadlineJob(0, 4, 60, 120, 1)]
    problem = ReservationProblem(Mesh((8, 1)), tuple(jobs), leaking=True)
    apart = [0, 2, 5, 7]
    booked = ReservationSchedule.of(problem, {0: (0, apart), 1: (60, apart)})
    for rules in (ExecutionRules(), ExecutionRules(contention=True)):
        done = execute(problem, booked, rules)
        assert done.outcomes.tolist() == [CANCELLED, CANCELLED]
        assert done.ends.tolist() == [60.0, 120.0]
        assert execute(problem, booked, rules, overrun="grace").ends.tolist() == [60.0, 120.0]
