"""Solvers by kind of problem and name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, assert_type

import numpy as np
import pytest

from allocsolve import (
    AllocsolveError,
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
    exact,
    heuristics,
    solve,
)
from allocsolve.bounds import makespan_bound
from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName
from allocsolve.exact import EvolutionCpSat, PartitionBranchAndBound
from allocsolve.families import family_of
from allocsolve.heuristics import Annealing, GenAlg, ListScheduling, Submesh
from allocsolve.heuristics.workload.queue_lengths import has_long_queue
from allocsolve.instances import klein2011, solution_document, uniform_occupancy
from allocsolve.model import (
    NOT_EVOLVING,
    PROFILE,
    REACTIVE,
    REQUESTED,
    Amdahl,
    Job,
    Jobs,
    Phases,
    Solver,
    WorkloadProblem,
)
from allocsolve.registry import make_allocator, make_solver

if TYPE_CHECKING:
    from allocsolve.model import Problem


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
        tiny, *exact = family.warm_up(problem)
        assert (tiny, *exact) == family.warm_up(problem)
        assert len(exact) == problem.is_rigid
        assert all(job.limit == job.runtime for other in exact for job in other.jobs)
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
        tiny, _, *more = family.warm_up(WorkloadProblem(4, Jobs(submit, ones, ones)))
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


PROBLEM = EvolutionProblem(4, tuple(EvolutionProfile([(10, n), (5, 1)]) for n in (3, 2, 1)))
MACHINE = PartitionProblem.of(Mesh((4, 2)), busy=[1, 6], size=4)


def greedy(problem: EvolutionProblem, budget: Budget) -> Result[EvolutionSchedule]:
    return ListScheduling()(problem, budget)


@dataclass(frozen=True)
class Named:
    """A solver of a third party: its class needs an argument."""

    name: str

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        return GenAlg()(problem, budget)


def test_results_are_typed_by_the_problem_or_the_solver() -> None:
    assert_type(solve(PROBLEM, "noX"), Result[EvolutionSchedule])
    assert_type(solve(MACHINE, "gen-alg"), Result[Partition])
    assert_type(solve(PROBLEM, EvolutionCpSat()), Result[EvolutionSchedule])
    assert_type(solve(PROBLEM, EvolutionCpSat), Result[EvolutionSchedule])
    assert_type(solve(MACHINE, Named("mine")), Result[Partition])
    assert_type(solve(PROBLEM, greedy), Result[EvolutionSchedule])
    answer = solve(MACHINE, "gen-alg").answer
    assert answer is not None
    assert_type(answer, Partition)
    some: Problem = MACHINE
    assert_type(solve(some, "gen-alg"), Result[Any])


@pytest.mark.parametrize(
    "solver", ["cpsat", EvolutionCpSat(), EvolutionCpSat, "allocsolve.exact:EvolutionCpSat"]
)
def test_a_solver_is_a_name_an_instance_or_a_class(solver: Any) -> None:
    result = solve(PROBLEM, solver)
    assert (result.status, result.objective) == (Status.OPTIMAL, 25)


@pytest.mark.parametrize("objective", ["makespan,waste", ("makespan", "waste"), ["makespan", " waste"]])
def test_an_objective_is_a_text_or_a_sequence(objective: Any) -> None:
    values = {solve(PROBLEM, solver, objective).objective for solver in ("cpsat", EvolutionCpSat(("waste",)))}
    assert values == {(25, 0)}
    assert EvolutionCpSat(objective) == EvolutionCpSat(("makespan", "waste"))


def test_the_objective_of_a_solver_stays_unless_another_is_given() -> None:
    assert solve(PROBLEM, Annealing(("waste",))).objective == 0
    assert solve(PROBLEM, Annealing(("waste",)), "makespan").objective == 25
    assert Annealing("makespan,waste").objective == ("makespan", "waste")  # type: ignore[arg-type]  # as a text


@pytest.mark.parametrize(
    ("problem", "solver", "objective", "message"),
    [
        (PROBLEM, PartitionBranchAndBound(), None, "solves partition problems, not evolution problems"),
        (MACHINE, EvolutionCpSat, None, "solves evolution problems, not partition problems"),
        (MACHINE, Named, None, r"Named\(\) raised TypeError"),
        (PROBLEM, None, None, "solver None is no name and not called with a problem and a budget"),
        (PROBLEM, len, None, "is no name and not called with a problem and a budget"),
        (PROBLEM, Submesh(), ("makespan",), "solves partition problems"),
        (PROBLEM, "noX", (), "the objective has no terms"),
        (PROBLEM, "noX", 7, "objective 7 is not a sequence"),
        (PROBLEM, "noX", (7,), "unknown objective '7'"),
        (PROBLEM, "noX", ("waste", "waste"), "objective 'waste,waste' names waste twice"),
        (PROBLEM, EvolutionCpSat(), "wast", "unknown objective 'wast'; did you mean waste"),
        ("problem.json", "noX", None, "unknown type of problem 'str'"),
    ],
)
def test_what_is_refused_gets_one_line(problem: Any, solver: Any, objective: Any, message: str) -> None:
    with pytest.raises(AllocsolveError, match=message) as caught:
        solve(problem, solver, objective)
    assert "\n" not in str(caught.value)


EVOLUTION_SOLVERS: Final[tuple[type[Solver[EvolutionProblem, EvolutionSchedule]], ...]] = (
    heuristics.ListScheduling,
    heuristics.Rigid,
    heuristics.Annealing,
    exact.EvolutionCpSat,
    exact.EvolutionConflictSearch,
    exact.EvolutionLns,
    exact.EvolutionMilp,
)
PARTITION_SOLVERS: Final[tuple[type[Solver[PartitionProblem, Partition]], ...]] = (
    heuristics.ManhattanMedian,
    heuristics.GenAlg,
    heuristics.Mc1x1,
    heuristics.Growth,
    heuristics.Leak,
    heuristics.CurveFit,
    heuristics.Submesh,
    heuristics.MultipleBuddy,
    heuristics.Paging,
    heuristics.RandomNodes,
    exact.PartitionBranchAndBound,
    exact.PartitionCpSat,
    exact.PartitionMilp,
)


@pytest.mark.parametrize(
    ("problem", "solvers"), [(EvolutionProblem, EVOLUTION_SOLVERS), (PartitionProblem, PARTITION_SOLVERS)]
)
def test_every_registered_class_is_checked_here(problem: type, solvers: tuple[type, ...]) -> None:
    assert {type(row.load()) for row in family_of(problem).solvers} == set(solvers)


@pytest.mark.parametrize("solver", [*EVOLUTION_SOLVERS, *PARTITION_SOLVERS])
def test_a_solver_is_called_as_the_protocol_says(solver: type) -> None:
    own, described = (inspect.signature(called.__call__).parameters for called in (solver, Solver))
    required = [one.name for one in own.values() if one.default is one.empty]
    assert required == list(described)


def _with_a_number(problem: EvolutionProblem, budget: float) -> Result[EvolutionSchedule]:
    raise NotImplementedError


def _of_partitions(problem: EvolutionProblem, budget: Budget) -> Result[Partition]:
    raise NotImplementedError


#: Unlike the protocol: without these two comments mypy fails.
_FIRST: Solver[EvolutionProblem, EvolutionSchedule] = _with_a_number  # type: ignore[assignment]  # a budget is no number
_SECOND: Solver[EvolutionProblem, EvolutionSchedule] = _of_partitions  # type: ignore[assignment]  # another answer
