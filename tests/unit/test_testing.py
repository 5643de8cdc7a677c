"""The public suite catches every fault of a solver, and says what it is and where."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve import (
    Budget,
    EvolutionProblem,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
)
from allocsolve.errors import InvalidProblem, UnknownName
from allocsolve.exact.evolution.cpsat import EvolutionCpSat
from allocsolve.families import families
from allocsolve.heuristics import Fit, Growth, ListScheduling, ManhattanMedian
from allocsolve.judge import evolution_value
from allocsolve.model import Limit
from allocsolve.registry import make_solver
from allocsolve.testing import SolverConformance, check_solver, conformance, example_problems

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Answer = Result[EvolutionSchedule]


def greedy(problem: EvolutionProblem, budget: Budget) -> Answer:
    return ListScheduling()(problem, budget)


def both(problem: EvolutionProblem | PartitionProblem, budget: Budget) -> Result[Any]:
    return greedy(problem, budget) if isinstance(problem, EvolutionProblem) else Growth()(problem, budget)


def unlabelled(problem, budget):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - a solver of a stranger has no annotations
    return greedy(problem, budget)


def _value(problem: EvolutionProblem, answer: EvolutionSchedule) -> Any:
    return evolution_value(problem, answer, ("makespan",))


@dataclass(frozen=True)
class Bad:
    """A solver with one fault."""

    fault: Callable[[EvolutionProblem, Budget], Any]

    def __repr__(self) -> str:
        return f"Bad({self.fault.__name__})"

    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Any:
        return self.fault(problem, budget)


def raises(problem: EvolutionProblem, budget: Budget) -> Answer:
    if not problem.applications:
        msg = "no applications"
        raise InvalidProblem(msg)
    return greedy(problem, budget)


def leaves(problem: EvolutionProblem, budget: Budget) -> Answer:
    if budget.iterations == 0:
        sys.exit(1)
    return greedy(problem, budget)


def rubbish(_: EvolutionProblem, __: Budget) -> int:
    return 7


def another_kind(_: EvolutionProblem, __: Budget) -> Result[Partition]:
    return Result(Status.FEASIBLE, Partition(np.array([1])))


def early(problem: EvolutionProblem, budget: Budget) -> Answer:
    return greedy(replace(problem, releases=()), budget)


def stretched(problem: EvolutionProblem, budget: Budget) -> Answer:
    return greedy(replace(problem, expand_limit=float("inf")), budget)


def crowded(problem: EvolutionProblem, budget: Budget) -> Answer:
    return greedy(replace(problem, num_nodes=2 * problem.num_nodes), budget)


def boasts(problem: EvolutionProblem, budget: Budget) -> Answer:
    found = greedy(problem, budget)
    assert found.answer is not None
    return replace(found, objective=_value(problem, found.answer) - 1)


def bounds_too_high(problem: EvolutionProblem, budget: Budget) -> Answer:
    found = greedy(problem, budget)
    assert found.answer is not None
    return replace(found, bound=_value(problem, found.answer))


def bounds_without_an_answer(_: EvolutionProblem, __: Budget) -> Answer:
    return Result(Status.UNKNOWN, bound=10**6)


def gives_up(problem: EvolutionProblem, budget: Budget) -> Answer:
    return Result(Status.INFEASIBLE) if len(problem.applications) == 1 else greedy(problem, budget)


def never_answers(_: EvolutionProblem, __: Budget) -> Answer:
    return Result(Status.UNKNOWN)


def invents_a_limit(problem: EvolutionProblem, budget: Budget) -> Answer:
    return replace(greedy(problem, budget), limit=Limit.INTERRUPTED)


def unseeded(problem: EvolutionProblem, budget: Budget) -> Answer:
    seed = int.from_bytes(os.urandom(2))
    return ListScheduling(order="random")(problem, replace(budget, seed=seed))


CALLS = itertools.count()


def remembers(problem: EvolutionProblem, budget: Budget) -> Answer:
    order = ("largest", "smallest", "longest")[next(CALLS) % 3]
    return ListScheduling(order=order)(problem, budget)  # type: ignore[arg-type]  # one of the literals


def writes_arrays(problem: EvolutionProblem, budget: Budget) -> Answer:
    found = greedy(problem, budget)
    problem.packed.releases.setflags(write=True)
    problem.packed.releases[:] += 1
    return found


def unlocks_arrays(problem: EvolutionProblem, budget: Budget) -> Answer:
    problem.packed.nodes.setflags(write=True)
    return greedy(problem, budget)


def renames(problem: EvolutionProblem, budget: Budget) -> Answer:
    object.__setattr__(problem, "name", problem.name + "!")
    return greedy(problem, budget)


def prints(problem: EvolutionProblem, budget: Budget) -> Answer:
    print("best so far: 7")  # noqa: T201 - the fault
    return greedy(problem, budget)


def prints_by_number(problem: EvolutionProblem, budget: Budget) -> Answer:
    os.write(1, b"best so far: 7\n")
    return greedy(problem, budget)


def prints_by_a_child(problem: EvolutionProblem, budget: Budget) -> Answer:
    subprocess.run([sys.executable, "-c", "print('best so far: 7')"], check=True)
    return greedy(problem, budget)


def ignores_the_time(problem: EvolutionProblem, budget: Budget) -> Answer:
    if len(problem.applications) > 5:
        time.sleep(budget.seconds + 0.3)
    return greedy(problem, budget)


def needs_iterations(problem: EvolutionProblem, budget: Budget) -> Answer:
    if budget.iterations == 0:
        return 1 // budget.iterations  # type: ignore[return-value]  # the fault
    return greedy(problem, budget)


def needs_time(problem: EvolutionProblem, budget: Budget) -> Answer:
    if budget.seconds < 1:
        raise TimeoutError
    return greedy(problem, budget)


FAULTS: list[tuple[Callable[..., Any], str, str]] = [
    (raises, "test_answers_hold", "on 'no application': raises InvalidProblem: no applications"),
    (leaves, "test_budget_is_kept", "on 'no application': raises SystemExit: 1"),
    (rubbish, "test_answers_hold", "on 'no application': the solver returned int, not a Result"),
    (another_kind, "test_answers_hold", "the answer is of type Partition, not EvolutionSchedule"),
    (early, "test_answers_hold", "on 'one application, released late': .* before its release at 7 s"),
    (stretched, "test_answers_hold", "on 'expanding 3 times would help, limit 1': .* beyond the limit of 1"),
    (crowded, "test_answers_hold", "on 'one node': .* 2 nodes are held .* on a cluster of 1"),
    (boasts, "test_answers_hold", "the solver claims makespan -1, the judge finds 0"),
    (bounds_too_high, "test_answers_hold", r"claims the bound \d+; there is an answer with \d+"),
    (bounds_without_an_answer, "test_answers_hold", "claims the bound 1000000; there is an answer with 0"),
    (
        gives_up,
        "test_answers_hold",
        "on 'one application, .*': claims that there is no answer; there is one with 15",
    ),
    (never_answers, "test_answers_hold", "answers none of 17 evolution problems"),
    (invents_a_limit, "test_answers_hold", "claims the limit interrupted; there was none"),
    (unseeded, "test_same_seed_same_answer", "seed 0 gives different results: feasible .*, then feasible "),
    (remembers, "test_same_seed_same_answer", "seed 0 gives different results"),
    (writes_arrays, "test_input_stays", "changes the problem: packed"),
    (unlocks_arrays, "test_input_stays", "changes the problem: packed"),
    (renames, "test_input_stays", "changes the problem: name"),
    (prints, "test_nothing_is_printed", r"prints 'best so far: 7\\n'"),
    (prints_by_number, "test_nothing_is_printed", r"prints 'best so far: 7\\n'"),
    (prints_by_a_child, "test_nothing_is_printed", r"prints 'best so far: 7\\n'"),
    (ignores_the_time, "test_budget_is_kept", r"takes \d+\.\d s with a budget of 1 s"),
    (needs_iterations, "test_budget_is_kept", "raises ZeroDivisionError: "),
    (needs_time, "test_budget_is_kept", "raises TimeoutError: "),
]


@pytest.mark.parametrize(("fault", "test", "message"), FAULTS, ids=[fault.__name__ for fault, *_ in FAULTS])
def test_every_fault_is_caught(
    fault: Callable[..., Any], test: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Suite(SolverConformance):
        solver = Bad(fault)

    if fault is ignores_the_time:  # others may be slow: the machine may be busy
        monkeypatch.setattr(conformance, "OVERRUN_S", 0.2)
    if "child" in fault.__name__:
        Suite.examples = example_problems("evolution")[:2]
    with pytest.raises(AssertionError, match=rf"^Bad\({fault.__name__}\) .*{message}"):
        getattr(Suite(), test)()
    with pytest.raises(AssertionError):
        check_solver(Bad(fault), examples=Suite.examples)


def test_each_rule_is_looked_at_by_itself() -> None:
    class Suite(SolverConformance):
        solver = Bad(prints)

    suite = Suite()
    for name in dir(suite):
        if name.startswith("test_") and name != "test_nothing_is_printed":
            getattr(suite, name)()


@pytest.mark.parametrize(
    "solver", [greedy, both, ListScheduling(Fit(1)), ListScheduling, ManhattanMedian, Growth("all")]
)
def test_good_solvers_of_every_form_pass(solver: Any) -> None:
    check_solver(solver)


def test_what_is_no_solver_is_said() -> None:
    for wrong, message in (
        (7, "7 is not callable"),
        (lambda problem: problem, "lacks the parameter budget: it is called with a problem and a budget"),
        (lambda view: view, "budget; a queue policy is checked by allocsolve.testing.policies.check_policy"),
        (lambda problem, budget: (problem, budget), "is no name to find its records by"),
        (unlabelled, "annotate its first parameter with what it solves"),
    ):
        with pytest.raises(AssertionError, match=message):
            check_solver(wrong)  # type: ignore[arg-type]  # what is wrong with it
    check_solver(unlabelled, kind="evolution")
    with pytest.raises(AssertionError, match="raises InvalidProblem"):
        check_solver(unlabelled, kind="partition")
    with pytest.raises(UnknownName, match="unknown kind of problems 'partitions'; did you mean partition"):
        check_solver(unlabelled, kind="partitions")
    with pytest.raises(AssertionError, match="Forgetful has no attribute 'solver'"):
        type("Forgetful", (SolverConformance,), {})().test_answers_hold()


def test_own_examples_are_what_it_is_tried_on() -> None:
    problem = PartitionProblem.of(Mesh((3, 3)), size=4, name="mine")
    check_solver(Growth(), examples=[problem])

    class Suite(SolverConformance):
        solver = make_solver("submesh-first-fit", PartitionProblem)
        examples = (PartitionProblem.of(Mesh((3, 3)), busy=[4], size=4, name="no square"),)

    with pytest.raises(AssertionError, match="answers none of 1 partition problems"):
        Suite().test_answers_hold()


def test_an_exact_solver_is_tried_with_every_objective() -> None:
    seen = set()

    @dataclass(frozen=True)
    class Watched:
        objective: tuple[str, ...] = ("makespan",)

        def __call__(self, problem: EvolutionProblem, budget: Budget) -> Answer:
            seen.add(self.objective)
            return EvolutionCpSat(self.objective)(problem, budget)  # type: ignore[arg-type]  # terms that a family lists are terms of its solvers

    check_solver(Watched())
    assert seen == {("makespan",), ("completion",), ("waste",), ("makespan", "waste"), ("waste", "makespan")}


@pytest.mark.parametrize("family", families(), ids=lambda family: family.kind)
def test_examples_are_of_every_family_and_proven(family: Any) -> None:
    problems = example_problems(family.kind)
    assert len({problem.name for problem in problems}) == len(problems)
    assert all(isinstance(problem, family.problem) for problem in (*problems, family.large_example()))
    solver = make_solver(family.baseline, family.problem)
    # Real times are rounded down in a model: its bound holds, but no schedule meets it. Malleable jobs have
    # no exact solver.
    open_ = {"real times", "moldable jobs of each law", "malleable jobs of each law"}
    seconds = {problem.name: 2 if problem.name in open_ else 600 for problem in problems}
    found = {
        problem.name: solver(problem, Budget(seconds=seconds[problem.name])).status for problem in problems
    }
    infeasible = {name for name, status in found.items() if status is Status.INFEASIBLE}
    unproven = {name for name, status in found.items() if status is Status.FEASIBLE}
    assert unproven == (open_ if family.kind == "workload" else set())
    assert {*found.values()} <= {Status.OPTIMAL, Status.INFEASIBLE, Status.FEASIBLE}
    impossible = {
        "partition": {"no component is large enough"},
        "placement": {"no rack is large enough", "cannot be balanced", "no fabric is large enough"},
    }
    assert infeasible == impossible.get(family.kind, set())


def test_under_pytest_and_without_it(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from allocsolve.heuristics import ListScheduling\n"
        "from allocsolve.testing import SolverConformance\n"
        "def mine(problem, budget): return ListScheduling()(problem, budget)\n"
        "class TestMine(SolverConformance):\n    solver, kind = mine, 'evolution'\n"
    )
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "6 passed" in done.stdout, done.stdout
    code = (
        "import sys; sys.modules.update(pytest=None, hypothesis=None)\n"
        "from allocsolve.heuristics import ListScheduling\n"
        "from allocsolve.testing import check_solver\n"
        "check_solver(ListScheduling())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
