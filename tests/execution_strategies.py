"""Programs that end, by construction, and small problems whose jobs have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from allocsolve.heuristics import ExecutionRules, LeakRules
from allocsolve.model import DeadlineJob, Program, ReservationProblem, ReservationSchedule, Topology

if TYPE_CHECKING:
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


@st.composite
def executable_problems(draw: DrawFn, *, max_jobs: int = 5) -> ReservationProblem:
    """Jobs with programs of users and of the first kinds, which come close after each other."""
    topology = draw(_topologies())
    own = draw(st.lists(programs(), min_size=1, max_size=2))
    named = {f"own{k}": program for k, program in enumerate(own)}
    choices = st.one_of(st.sampled_from(sorted(named)), st.sampled_from([0, 3]))
    jobs, arrival = [], 0
    for _ in range(draw(st.integers(1, max_jobs))):
        arrival += draw(st.sampled_from([0, 0, 1, 3, 10]))
        runtime = draw(st.integers(1, 12))
        slack = draw(st.sampled_from([0, 0, 1, 10, 40]))
        nodes = min(draw(_NODES), topology.num_nodes)
        jobs.append(DeadlineJob(arrival, nodes, runtime, arrival + runtime + slack, draw(choices)))
    return ReservationProblem(
        topology, tuple(jobs), programs=named, program_seed=draw(st.integers(0, 3)), leaking=True
    )


@st.composite
def booked_problems(draw: DrawFn) -> tuple[ReservationProblem, ReservationSchedule]:
    """Problems, and bookings of as many of their jobs as find nodes one after the other."""
    problem = draw(executable_problems())
    free_from = dict.fromkeys(range(problem.topology.num_nodes), 0)
    bookings = {}
    for idx, job in enumerate(problem.jobs):
        nodes = draw(st.permutations(sorted(free_from)))[: job.nodes]
        start = max([job.arrival, *(free_from[node] for node in nodes)])
        if start + job.runtime <= job.deadline:
            bookings[idx] = start, nodes
            free_from |= dict.fromkeys(nodes, start + job.runtime)
    return problem, ReservationSchedule.of(problem, bookings)
