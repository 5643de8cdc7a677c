"""Laws of nodes as places: room, files, the judge against its slow twin, counts, and who refuses them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_places import first_fit, is_feasible, room, schedule_of, serial
from place_strategies import place_problems, place_problems_with_windows

from allocsolve.bounds.workload import machine_prices, workload_bound
from allocsolve.errors import InvalidAnswer, InvalidProblem, UnsupportedProblem
from allocsolve.heuristics import FirstFit
from allocsolve.instances import (
    digest,
    parse_problem,
    parse_solution,
    problem_columns,
    problem_document,
    problem_from_columns,
    solution_columns,
    solution_document,
    solution_from_columns,
)
from allocsolve.judge import certified_bound, violations, workload_metrics, workload_value
from allocsolve.model import (
    Amdahl,
    Budget,
    ClosedWindow,
    Job,
    Jobs,
    NodeType,
    WorkloadProblem,
    WorkloadSchedule,
    packed_places,
)
from allocsolve.registry import make_solver, solver_names
from allocsolve.registry.workload import WORKLOAD

if TYPE_CHECKING:
    from random import Random

    from naive_places import Placement

    from allocsolve.model import WorkloadTerm

FOUR = (
    NodeType("std", 3, {"cpus": 8, "mem": 64}),
    NodeType("gpu", 1, {"cpus": 8, "mem": 64, "gpus": 4}, weight=5),
)


@given(place_problems(max_jobs=5))
def test_arrays_say_what_fits(problem: WorkloadProblem) -> None:
    """What has room by the formula of `PackedPlaces` has room by the definition, whoever is there."""
    places = packed_places(problem)
    here: list[tuple[Job, Placement]] = []
    for idx, job in enumerate(problem.jobs):
        shape, kind = places.shape[idx], places.type_of_node
        empty = places.most[shape][kind]
        assert empty.tolist() == room(problem, job, [])
        free, anybody, alone = places.has[kind].copy(), np.zeros(len(kind), bool), np.zeros(len(kind), bool)
        for other, placed in here:
            at = places.shape[list(problem.jobs).index(other)]
            for node, chunks in placed.items():
                free[node] -= chunks * places.each[at]
                anybody[node] = True
                alone[node] |= places.exclusive[at]
        needed = places.each[shape]
        limits = [free[:, r] // needed[r] for r in np.flatnonzero(needed)]
        rooms = np.minimum.reduce([np.full(len(kind), places.per_node[shape]), *limits])
        rooms[~places.allowed[shape][kind] | alone | (anybody & places.exclusive[shape])] = 0
        assert rooms.tolist() == room(problem, job, here)
        fits = rooms.sum() >= places.chunks[shape] and (rooms > 0).sum() >= places.least_nodes[shape]
        found = first_fit(problem, job, here)
        assert fits == (found is not None)
        if found is not None:
            here.append((job, found))


@given(place_problems_with_windows())
def test_files_give_back_problems_and_answers(problem: WorkloadProblem) -> None:
    again = parse_problem(problem_document(problem), "a file")
    assert again == problem
    assert digest(again) == digest(problem)
    problem = replace(problem, closed=())  # windows have no place in tables
    assert digest(problem_from_columns(problem_columns(problem))) == digest(problem)
    assert Jobs.of(list(problem.jobs)) == problem.jobs
    schedule = schedule_of(problem, *serial(problem))
    document = solution_document(problem, schedule, {})
    assert violations(problem, parse_solution(document, "a file", problem)) == ()
    assert solution_document(problem, parse_solution(document, "a file", problem), {}) == document
    columns = solution_columns(problem, schedule)
    assert solution_document(problem, solution_from_columns(columns, problem), {}) == document


@given(place_problems_with_windows(), st.randoms(use_true_random=False))
def test_the_judge_says_of_any_placement_what_its_twin_says(problem: WorkloadProblem, rng: Random) -> None:
    starts, placements = serial(replace(problem, closed=()))
    later = max((window.end for window in problem.closed), default=0)  # all nodes are open then
    starts = [start + later for start in starts]
    assert is_feasible(problem, starts, placements)
    schedule = schedule_of(problem, starts, placements)
    assert violations(problem, schedule) == ()
    metrics = workload_metrics(problem, schedule)
    assert 0 <= metrics.utilisation <= 1 + 1e-9
    for _ in range(10):
        changed = [dict(placed) for placed in placements]
        moved = list(starts)
        _mutate(rng, problem, moved, changed)
        good = is_feasible(problem, moved, changed)
        assert (violations(problem, schedule_of(problem, moved, changed)) == ()) == good


def _mutate(rng: Random, problem: WorkloadProblem, starts: list[float], placements: list[Placement]) -> None:
    """Change where or when a job runs, in one of many ways."""
    job = rng.randrange(len(starts))
    placed = placements[job]
    node = rng.choice(list(placed))
    how = rng.randrange(6)
    if how == 0:
        starts[job] = float(rng.randrange(int(max(starts)) + 2))
    elif how == 1:
        placed[rng.randrange(-1, problem.num_nodes + 1)] = placed.pop(node)
    elif how == 2:
        placed[node] += rng.choice([-placed[node], -1, 1])
    elif how == 3:
        placed[rng.randrange(problem.num_nodes)] = 1
    elif how == 4:
        del placed[node]
    else:
        other = rng.randrange(len(starts))
        starts[job], starts[other] = starts[other], starts[job]


def test_a_hundred_wrong_placements_are_refused() -> None:
    """Each breaks a rule by its making: 100 of 100 are refused, in lines that name the job or the node."""
    jobs = [
        Job(0, 1, 10, chunks=6, each={"cpus": 3, "mem": 8}, per_node=2, name="wide"),
        Job(0, 1, 10, chunks=1, each={"gpus": 4, "cpus": 8}, types=["gpu"], name="gpu"),
        Job(0, 2, 10, chunks=4, name="whole", exclusive=True),
        Job(0, 1, 10, name="node"),
        Job(0, 1, 10, chunks=2, name="nothing"),
        Job(0, 1, 10, chunks=1, each={"cpus": 3}, name="odd"),
    ]
    problem = WorkloadProblem(None, jobs, node_types=FOUR)
    starts = [0.0, 0.0, 10.0, 10.0, 20.0, 20.0]
    placements = [{0: 2, 1: 2, 2: 2}, {3: 1}, {0: 2, 1: 2}, {2: 1}, {3: 2}, {0: 1}]
    assert violations(problem, schedule_of(problem, starts, placements)) == ()
    wrong: list[tuple[int, Placement, float]] = [(job, {}, starts[job]) for job in range(6)]
    for job, placed in enumerate(placements):  # on no such node; with more or fewer chunks
        wrong += [(job, {**placed, node: 1}, starts[job]) for node in (-1, 4, 10**15)]
        for node, more in itertools.product(placed, (-1, 1, 10**12, 2**62)):
            wrong.append((job, {**placed, node: placed[node] + more}, starts[job]))
    wrong += [(1, {node: 1}, 0) for node in range(3)]  # of another type
    wrong += [(2, {node: 4}, 10) for node in (0, 1, 3)]  # on fewer nodes than it needs
    wrong += [(2, {node: 2, 2: 2}, 10) for node in (0, 1)]  # beside another exclusive job
    wrong += [(3, {2: 1}, at) for at in range(8)]  # exclusive, where somebody is
    wrong += [(4, {node: 2}, at) for node in range(3) for at in (10, 13, 16, 19)]  # beside an exclusive job
    wrong += [(5, {node: 1}, at) for node in range(3) for at in (0, 3, 6, 9)]  # one more than a node has
    assert len(wrong) == 100
    for job, placed, at in wrong:
        moved, changed = (
            [*starts[:job], at, *starts[job + 1 :]],
            [*placements[:job], placed, *placements[job + 1 :]],
        )
        (fault, *_) = violations(problem, schedule_of(problem, moved, changed))
        assert "job" in fault
        assert "\n" not in fault


@given(place_problems_with_windows())
def test_schedules_on_places_keep_the_counts(problem: WorkloadProblem) -> None:
    """So bounds by counts, cheap ones and those by prices, are none above any schedule on places."""
    problem = problem.cut_at_limits()
    schedule = FirstFit(choice="best-fit").simulated(problem).schedule
    assert violations(problem, schedule) == ()
    counts = problem.on_counts()
    assert not counts.node_types
    same = WorkloadSchedule.of(counts, schedule.starts)
    assert violations(counts, same) == ()
    terms: tuple[WorkloadTerm, ...] = ("turnaround", "makespan")
    for term in terms:
        worth = float(getattr(workload_metrics(problem, schedule), term))
        assert worth == getattr(workload_metrics(counts, same), term)
        assert workload_bound(problem.on_plain_machine(), term) <= worth * (1 + 1e-12)


@pytest.mark.parametrize("size", [5, 8])
def test_prices_of_counts_know_chunks_above_half_a_node(size: int) -> None:
    """Five of eight GPUs: by totals more jobs run at once than nodes can hold."""
    jobs = [Job(0, 1, 60, chunks=1, each={"gpus": size}) for _ in range(12)]
    problem = WorkloadProblem(None, jobs, node_types=[NodeType("gpu", 3, {"gpus": 8})])
    optimum = (60 + 120 + 180 + 240) / 4  # three at once
    schedule = schedule_of(problem, *serial(problem))
    assert workload_value(problem, schedule, ("turnaround",)) == optimum
    found = machine_prices(problem.on_counts(), "turnaround")
    assert 0.95 * optimum <= found.value <= optimum
    assert certified_bound(problem, found.certificate) == found.value
    with pytest.raises(InvalidAnswer, match="nodes as places"):
        certified_bound(problem, {**found.certificate, "kind": "job-prices"})


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(1, 9)), max_size=6))
def test_whole_nodes_are_a_plain_problem(rows: list[tuple[int, int, int]]) -> None:
    """Also if the jobs say it in chunks."""
    plain = WorkloadProblem(5, [Job(*row) for row in rows])
    types = [NodeType("a", 2, {"cpus": 4}), NodeType("b", 3, {"cpus": 6})]
    whole = WorkloadProblem(5, plain.jobs, node_types=types)
    chunks = [
        Job(submit, 1, runtime, chunks=nodes, per_node=1, exclusive=True) for submit, nodes, runtime in rows
    ]
    assert WorkloadProblem(None, chunks, node_types=types) == whole
    assert whole.on_counts() == plain
    assert digest(whole.on_counts()) == digest(plain)
    assert plain.on_counts() is plain


def test_who_counts_nodes_refuses_places_in_a_line() -> None:
    problem = WorkloadProblem(None, [Job(0, 1, 6, chunks=3, each={"cpus": 4}), Job(0, 2, 5)], node_types=FOUR)
    known = {"fcfs", "first-fit", "easy", "slurm-backfill", "prices", "date-branching", "cpsat"}
    for name in {*solver_names(WORKLOAD)} - known:
        with pytest.raises(UnsupportedProblem, match=r"^[^\n]*places[^\n]*$"):
            make_solver(name, problem)(problem, Budget(iterations=1))


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("chunks [1, 4]: several kinds of chunk are not modelled", {"chunks": [1, 4]}),
        ("(parts of a device are not modelled): gpus 0.5", {"chunks": 1, "each": {"gpus": 0.5}}),
        ("has each or per_node, but no chunks", {"each": {"gpus": 1}}),
        ("2 nodes for 1 chunks", {"chunks": 1, "nodes": 2}),
        ("no node is or has 'old', only std, gpu", {"types": ["old"]}),
        ("no node is or has 'fpgas', only cpus, mem, gpus", {"chunks": 1, "each": {"fpgas": 1}}),
        ("empty nodes have room for 0 of its 1 chunks", {"chunks": 1, "each": {"cpus": 9}}),
        ("empty nodes have room for 8 of its 9 chunks", {"chunks": 9, "each": {"cpus": 4}}),
        ("on 1 nodes of 2", {"chunks": 4, "nodes": 2, "each": {"gpus": 1}}),
        ("is not True or False", {"chunks": 4, "exclusive": "no"}),
        ("types is empty", {"types": []}),
        ("job 'j0' is moldable", {"min_nodes": 1, "max_nodes": 2, "speedup": Amdahl(0.5)}),
    ],
)
def test_what_fits_no_machine_or_is_not_modelled_is_refused_by_name(
    line: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(InvalidProblem, match=rf"^[^\n]*{re.escape(line)}[^\n]*$"):
        WorkloadProblem(None, [Job(**{"submit": 0, "nodes": 1, "runtime": 1, **fields})], node_types=FOUR)


def test_machines_that_contradict_themselves_are_refused() -> None:
    plain = WorkloadProblem(4, [Job(0, 1, 1)])
    wrong: dict[str, dict[str, Any]] = {
        "num_nodes 5, but node_types have 4 nodes": {"num_nodes": 5, "node_types": FOUR},
        "a window closes node_ids, or all": {
            "node_types": FOUR,
            "closed": [ClosedWindow(0, 5, {"nodes": 1})],
        },
        "has node_ids, but there are no node_types": {"closed": [ClosedWindow(0, 5, node_ids=(1,))]},
        "closes node 4, none of 0..3": {"node_types": FOUR, "closed": [ClosedWindow(0, 5, node_ids=(4,))]},
        "node type 'std' stands twice": {"node_types": (FOUR[0], FOUR[0])},
        "the name 'cpus' of a resource is taken": {"node_types": FOUR, "resources": {"cpus": 1}},
        "has chunks or types, but there are no node_types": {"jobs": [Job(0, 1, 1, chunks=2)]},
    }
    for matter, fields in wrong.items():
        with pytest.raises(InvalidProblem, match=matter):
            replace(plain, **fields)
    with pytest.raises(InvalidProblem, match="its nodes are counted"):
        packed_places(plain)
