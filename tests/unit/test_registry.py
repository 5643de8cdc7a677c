"""Solvers by kind of problem and name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from allocsolve.bounds import makespan_bound
from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName
from allocsolve.families import family_of
from allocsolve.heuristics.workload.queue_lengths import has_long_queue
from allocsolve.instances import klein2011, solution_document, uniform_occupancy
from allocsolve.model import (
    NOT_EVOLVING,
    PROFILE,
    REACTIVE,
    REQUESTED,
    Amdahl,
    Budget,
    EvolutionProblem,
    Job,
    Jobs,
    Mesh,
    PartitionProblem,
    Phases,
    WorkloadProblem,
)
from allocsolve.registry import make_allocator, make_solver, solve

EVOLUTION = klein2011(1, num_apps=(3, 3))
PARTITION = uniform_occupancy(Mesh((6, 4)), 0.3, 5, 1)


@pytest.mark.parametrize(("problem", "kind"), [(EVOLUTION, "evolution"), (PARTITION, "partition")])
def test_a_problem_and_its_type_have_the_family_of_their_files(
    problem: EvolutionProblem | PartitionProblem, kind: str
) -> None:
    family = family_of(problem)
    assert family is family_of(type(problem))
    assert family.kind == kind
    assert family.baseline in [row.name for row in family.solvers]
    answer = solve(problem, family.solvers[0].name).answer
    assert answer is not None
    assert solution_document(problem, answer, {})["kind"].startswith(kind)
    with pytest.raises(UnknownName, match="unknown type of problem 'int'"):
        family_of(int)


def test_unknown_solvers_of_a_kind() -> None:
    for name, problem, message in (
        ("growht", PARTITION, "unknown partition solver 'growht'; did you mean growth"),
        ("noX", PARTITION, "unknown partition solver 'noX'"),
        ("growth", EVOLUTION, "unknown evolution solver 'growth'"),
        ("nox", EVOLUTION, "unknown evolution solver 'nox'; did you mean noX"),
    ):
        with pytest.raises(UnknownName, match=message):
            make_solver(name, problem)
        with pytest.raises(UnknownName, match=message):
            solve(problem, name)


def test_objectives_are_those_of_the_family() -> None:
    assert solve(EVOLUTION, "noX").objective == solve(EVOLUTION, "noX", "makespan").objective
    assert solve(PARTITION, "growth").objective == solve(PARTITION, "growth", "pairwise").objective
    with pytest.raises(UnknownName, match="unknown objective 'makespan'; known: pairwise"):
        solve(PARTITION, "growth", "makespan")
    with pytest.raises(UnknownName, match="unknown objective 'pairwise'"):
        make_solver("cpsat", EVOLUTION, "pairwise")
    with pytest.raises(InvalidOption, match="pairwise twice"):
        solve(PARTITION, "growth", "pairwise,pairwise")


def test_features_and_bounds() -> None:
    family = family_of(EvolutionProblem)
    assert family.features(EVOLUTION) == {"num_nodes": 100, "num_applications": 3, "expand_limit": None}
    assert family.features(replace(EVOLUTION, expand_limit=1.5))["expand_limit"] == 1.5
    assert family.bound(EVOLUTION, "makespan") == makespan_bound(EVOLUTION)
    assert family.bound(EVOLUTION, "waste") == 0
    family = family_of(PartitionProblem)
    shown = {"shape": "6x4", "wrap": "0x0", "free": 17, "size": 5, "contiguous": False}
    assert family.features(PARTITION) == shown
    assert 16 <= family.bound(PARTITION, "pairwise") <= solve(PARTITION, "manhattan-median+swaps").objective  # type: ignore[operator]  # the value of one term is a number


def test_tiny_workloads_have_jobs_of_the_kinds_of_the_problem() -> None:
    family = family_of(WorkloadProblem)
    elastic: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(0.9)}
    jobs = [Job(0, 1, 5), Job(0, 2, 5, **elastic), Job(0, 2, 5, **elastic, kind="malleable", points=3)]
    kinds, counted = [], []
    for count in (1, 2, 3):
        problem = WorkloadProblem(4, jobs[:count])
        (tiny,) = family.warm_up(problem)
        assert (tiny,) == family.warm_up(problem)
        kinds.append({job.kind for job in tiny.jobs})
        features = family.features(problem)
        counted.append((features["moldable_jobs"], features["malleable_jobs"]))
    assert kinds == [{"rigid"}, {"rigid", "moldable"}, {"rigid", "moldable", "malleable"}]
    assert counted == [(0, 0), (1, 0), (1, 1)]
    assert {job.points > 0 for job in tiny.jobs if job.kind == "malleable"} == {False, True}


def test_kernels_of_long_queues_are_compiled_for_problems_that_have_one() -> None:
    family = family_of(WorkloadProblem)
    cases = [(np.zeros(2500), True), (np.arange(2500.0), False), (np.arange(100_000.0), True)]
    # one node-second for each job: of the two on 4 nodes, 3/5 and none of the jobs wait in the end
    cases += [(np.arange(20_000.0) / 10, True), (np.arange(20_000.0) / 4, False)]
    for submit, long in cases:
        ones = np.ones(len(submit), dtype=np.int64)
        tiny, *more = family.warm_up(WorkloadProblem(4, Jobs(submit, ones, ones)))
        assert len(tiny.jobs) < 10
        assert [has_long_queue(problem) for problem in more] == [True] * long
        if long:
            made = make_solver("easy", more[0])(more[0], Budget()).answer
            assert made is not None
            assert made.first_starts.tolist() == np.repeat(np.arange(500), 4).tolist()


def test_tiny_workloads_of_evolving_jobs() -> None:
    family = family_of(WorkloadProblem)
    tree = Phases([(4, None)])
    problem = WorkloadProblem(4, [Job(0, 1, 4, min_nodes=1, max_nodes=4, evolution=tree)])
    several = family.warm_up(problem)
    readings = [{*tiny.jobs.evolving.reading.tolist()} for tiny in several]
    assert readings[:2] == [{NOT_EVOLVING, REQUESTED, REACTIVE}, {NOT_EVOLVING, PROFILE}]
    assert {job.kind for job in several[0].jobs} == {"rigid", "moldable", "malleable", "evolving"}
    assert family.features(problem)["evolving_jobs"] == 1
    for tiny in several:
        assert make_solver("evolv-easyback", tiny)(tiny, Budget()).answer is not None
    assert make_solver("static-price", several[0])(several[0], Budget()).answer is not None


def test_allocators_of_other_kinds_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown allocator 'infX'"):
        make_allocator("infX")
    free = np.ones(6, dtype=np.bool_)
    with pytest.raises(InvalidProblem, match="size 7 is above the 6 free nodes"):
        make_allocator("growth")(Mesh((3, 2)), free, 7)
    chosen = make_allocator("branch-and-bound")(Mesh((3, 2)), free, 4)
    assert chosen is not None
    assert len(chosen) == 4
