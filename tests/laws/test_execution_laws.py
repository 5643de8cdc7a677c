"""Executions of programs: what they were when a slow machine agreed, and what has to hold in any case.

`tests/golden/executions.txt` has digests of drawn programs and executions, under all rules. They were written
when a machine in plain Python, which looked for the next event among all that could happen, had the same of
each and of 3,500 others. The simulator redoes one paper and does not change, so that machine is gone.
``PYTHONPATH=. python tests/laws/test_execution_laws.py`` writes them again.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from allocsolve.errors import InvalidAnswer, InvalidProblem, UnsupportedProblem
from allocsolve.model import (
    CANCELLED,
    REJECTED,
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
    from collections.abc import Callable, Iterator

GOLDEN = Path(__file__).parents[1] / "golden" / "executions.txt"
SEEDS = st.integers(0, 2**32)


def drawn_program(rng: random.Random, most: int = 20) -> Program:
    """Return a program; its operations are drawn in an order in which they could be done one after the other.

    So nobody waits for ever: what is received was sent before, who is joined has been forked and is done.
    A channel has one receiver; some messages are never received, and some processes never joined. Ties are
    likely, and so is nothing at all.
    """

    def amount() -> float:
        return rng.choice([0, 0.25, 0.5, 1, 1, 2, round(rng.uniform(0.01, 3), 3)])

    rows: list[list[tuple[object, ...]]] = [[] for _ in range(rng.randint(1, 4))]
    parents: dict[int, int] = {}
    pending: dict[int, int] = {}
    done: set[int] = set()
    for _ in range(rng.randint(1, most)):
        active = [p for p in range(len(rows)) if p not in done]
        p = rng.choice(active)
        kind = rng.choice(["compute", "compute", "message", "send", "receive", "fork", "join"])
        if kind == "compute":
            rows[p].append(("compute", amount()))
        elif kind == "fork":
            parents[len(rows)] = p
            rows[p].append(("fork", len(rows), amount()))
            rows.append([("compute", amount())] if rng.random() < 0.5 else [])
        elif kind == "join":
            children = [q for q in active if parents.get(q) == p]
            if children:
                q = rng.choice(children)
                rows[p].append(("join", q))
                done.add(q)
        elif kind == "receive":
            if pending.get(p):
                rows[p].append(("receive", 7 * p))
                pending[p] -= 1
        else:
            q = rng.choice(active)
            rows[p].append(("send", 7 * q, amount()))
            if kind == "message":
                rows[q].append(("receive", 7 * q))
            else:
                pending[q] = pending.get(q, 0) + 1
    rows[0].append(("compute", 1))
    return Program(rows)


def drawn_rules(rng: random.Random) -> ExecutionRules:
    """Return rules of the machine."""
    return ExecutionRules(
        cores=rng.choice([1, 2, 4]),
        communication=rng.choice([0.1, 0.5, 0, 1]),
        hop_part=rng.choice([1, 0.5, 0]),
        synchronous=rng.random() < 0.5,
        contention=rng.random() < 0.5,
        reference=rng.choice(["booked", "demand"]),
    )


def drawn_leak(rng: random.Random) -> LeakRules:
    """Return rules of the leak."""
    return LeakRules(
        contiguous=rng.random() < 0.5,
        waiting=rng.choice(["queue", "queue", "reject"]),
        own_first=rng.random() < 0.5,
        need_all=rng.random() < 0.5,
    )


class Drawn(NamedTuple):
    """Jobs that come close after each other; some have programs of their own, others those of their kinds."""

    problem: ReservationProblem
    own: dict[int, Program]
    booked: ReservationSchedule  #: of as many of them as find nodes one after the other
    rules: ExecutionRules


def drawn(rng: random.Random) -> Drawn:
    shape = rng.choice([(3, 2), (4, 3), (5,), (2, 2, 2), (3, 3), (1, 1)])
    topology = Topology(shape, (rng.random() < 0.5,) * len(shape))
    programs = [drawn_program(rng) for _ in range(rng.randint(1, 2))]
    jobs, arrival, own = [], 0, dict[int, Program]()
    for idx in range(rng.randint(1, 5)):
        arrival += rng.choice([0, 0, 1, 3, 10])
        runtime, slack = rng.randint(1, 12), rng.choice([0, 0, 1, 10, 40])
        kind = rng.choice([None, None, 0, 3])
        if kind is None:
            own[idx] = rng.choice(programs)
        nodes = min(rng.randint(1, 4), topology.num_nodes)
        jobs.append(DeadlineJob(arrival, nodes, runtime, arrival + runtime + slack, kind))
    problem = ReservationProblem(topology, tuple(jobs), program_seed=rng.randint(0, 3), leaking=True)
    free_from = dict.fromkeys(range(topology.num_nodes), 0)
    bookings = {}
    for idx, job in enumerate(jobs):
        nodes_of_job = rng.sample(sorted(free_from), job.nodes)
        start = max([job.arrival, *(free_from[node] for node in nodes_of_job)])
        if start + job.runtime <= job.deadline:
            bookings[idx] = start, nodes_of_job
            free_from |= dict.fromkeys(nodes_of_job, start + job.runtime)
    return Drawn(problem, own, ReservationSchedule.of(problem, bookings), drawn_rules(rng))


def told(run: Callable[[], ReservationSchedule]) -> str:
    """Return what becomes of jobs, to the microsecond; a program without communication may take no time."""
    try:
        done = run()
    except InvalidProblem as error:
        assert "takes no time" in str(error)  # noqa: PT017 - anything else is a failure
        return "takes no time"
    assert done.computed is not None
    times = [done.ends, done.hold_starts, done.hold_ends, done.computed]
    numbers = [[round(time, 6) + 0.0 for time in column.tolist()] for column in times]
    return repr((done.outcomes.tolist(), done.offsets.tolist(), done.nodes.tolist(), numbers))


def digest_of(parts: Iterator[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def leaks(rng: random.Random) -> str:
    problem, own, _, rules = drawn(rng)
    leak = drawn_leak(rng)
    return told(lambda: execute_leaking(problem, rules, leak, own))


def executions(rng: random.Random) -> str:
    problem, own, booked, rules = drawn(rng)
    overrun: Any = rng.choice(["end", "grace"])
    return told(lambda: execute(problem, booked, rules, overrun=overrun, programs=own))


def recorded() -> Iterator[str]:
    """Yield the lines of the file: digests of 20 draws each, and of the programs of each kind."""
    for name, run in {"leak": leaks, "execution": executions}.items():
        for block in range(25):
            texts = (run(random.Random(f"{name} {seed}")) for seed in range(20 * block, 20 * block + 20))
            yield f"{name} {block} {digest_of(texts)}"
    for kind in range(4):
        for nodes in (1, 2, 3, 5, 8, 13):
            texts = (repr(linnert_program(kind, nodes, job_idx, 5).processes) for job_idx in range(3))
            yield f"program {kind} {nodes} {digest_of(texts)}"


def test_executions_are_what_they_were() -> None:
    assert [*recorded()] == GOLDEN.read_text(encoding="utf-8").splitlines()


def executed_or_refused(run: Callable[[], ReservationSchedule]) -> ReservationSchedule:
    """Run; a program without communication takes no time if communication is all that takes time."""
    try:
        return run()
    except InvalidProblem as error:
        assert "takes no time" in str(error)  # noqa: PT017 - anything else is a failure
        assume(False)  # noqa: FBT003 - takes nothing else
        raise


@given(SEEDS, st.integers(1, 6), st.sampled_from([Mesh((4, 3)), Torus((3, 3))]))
def test_a_job_on_its_reference_partition_takes_its_run_time(
    seed: int, nodes: int, topology: Topology
) -> None:
    rng = random.Random(seed)
    program, rules = drawn_program(rng), replace(drawn_rules(rng), reference="booked")
    jobs = [DeadlineJob(start, nodes, 10, 100) for start in (0, 7, 13)]
    problem, own = ReservationProblem(topology, tuple(jobs), leaking=True), dict.fromkeys(range(3), program)
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


@given(SEEDS)
def test_all_work_of_a_successful_job_is_computed(seed: int) -> None:
    problem, own, schedule, rules = drawn(random.Random(seed))
    done = executed_or_refused(lambda: execute(problem, schedule, rules, overrun="grace", programs=own))
    assert done.computed is not None
    for idx in np.flatnonzero(done.outcomes == SUCCESSFUL).tolist():
        scales = calibrate(problem, [idx], program_set(problem, [idx], own), rules)
        job, computed = problem.jobs[idx], done.computed[idx]
        program = own.get(idx) or linnert_program(job.program or 0, job.nodes, idx, problem.program_seed)
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


def test_a_job_may_be_rejected_on_arrival_while_a_deadline_comes_next() -> None:
    program = Program([[("compute", 0.0), ("compute", 1.0)]])
    jobs = (DeadlineJob(0, 1, 3, 3), DeadlineJob(1, 1, 1, 2))
    problem = ReservationProblem(Mesh((1, 1)), jobs, leaking=True)
    done = execute_leaking(
        problem, leak=LeakRules(waiting="reject"), programs=dict.fromkeys(range(2), program)
    )
    assert done.outcomes.tolist() == [SUCCESSFUL, REJECTED]


if __name__ == "__main__":
    GOLDEN.write_text("".join(f"{line}\n" for line in recorded()), encoding="utf-8")
