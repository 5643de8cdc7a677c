"""Going on from earlier runs by example: files of certificates, the command, who can and who cannot."""

from __future__ import annotations

import gzip
import json
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import Capture, refused, run, run_json

from allocsolve import Budget, solve
from allocsolve.cli import main
from allocsolve.errors import FormatError, InvalidAnswer, InvalidOption
from allocsolve.exact import EvolutionConflictSearch
from allocsolve.exact.workload import Prices
from allocsolve.families import families
from allocsolve.heuristics import Annealing
from allocsolve.heuristics.workload import SerialGeneration
from allocsolve.instances import (
    digest,
    klein2011,
    read_certificate,
    read_outcome,
    read_problem,
    read_solution,
    write_certificate,
    write_problem,
    write_solution,
)
from allocsolve.judge import Verdict, assess, certified_bound, confirm, value
from allocsolve.kernels.threads import run_in_threads
from allocsolve.model import (
    Amdahl,
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Jobs,
    Limit,
    Mesh,
    PartitionProblem,
    ReservationProblem,
    Result,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.model.result import terms
from allocsolve.registry import make_solver, ready, resumed, searches

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.model import Problem


TURNAROUND = ("turnaround",)
#: One job after the other.
TWO = WorkloadProblem(2, [Job(0, 2, 4), Job(0, 2, 6)])
#: Of `TWO`; it proves 6, the optimum is 7.
PROOF = {"kind": "time-prices", "term": "turnaround", "edges": [0, 4, 10], "prices": [2, 1], "unit": 4}


def log(count: int) -> WorkloadProblem:
    """A busy log."""
    random = np.random.default_rng(0)
    nodes, runtime = random.integers(1, 17, count), random.integers(10, 500, count)
    return WorkloadProblem(32, Jobs(np.sort(random.integers(0, 60 * count, count)), nodes, runtime))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a problem, a schedule of serial generation, and the certificate of a short run."""
    problem = log(60)
    write_problem(problem, tmp_path / "log.json")
    result = Prices()(problem, Budget(iterations=20))
    start = SerialGeneration("submit")(problem, Budget()).answer
    assert result.certificate is not None
    assert start is not None
    write_certificate(tmp_path / "proof.json.gz", problem, TURNAROUND, result.certificate)
    write_solution(tmp_path / "start.json", problem, start, {})
    return tmp_path


@pytest.mark.parametrize("name", ["proof.json", "proof.json.gz"])
def test_a_certificate_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    path, again = tmp_path / name, tmp_path / f"again-{name}"
    write_certificate(path, TWO, TURNAROUND, PROOF, {"bound": 7})
    write_certificate(again, TWO, TURNAROUND, PROOF, {"bound": 7})
    assert path.read_bytes() == again.read_bytes()
    proof = read_certificate(path, TWO)
    assert proof == (TURNAROUND, PROOF)
    assert read_outcome(path, TWO) == (None, proof)
    data = path.read_bytes() if name.endswith("json") else gzip.decompress(path.read_bytes())
    assert json.loads(data).items() >= {"kind": "certificate", "problem": digest(TWO)}.items()


def document(**changed: object) -> dict[str, object]:
    whole = {"format": "allocsolve/1", "kind": "certificate", "problem": digest(TWO)}
    return {**whole, "objective": ["turnaround"], "certificate": PROOF, **changed}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format": "allocsolve/2"}, "format: must be 'allocsolve/1'"),
        ({"kind": "workload"}, "kind: must be 'certificate'"),
        ({"problem": "0" * 64}, "problem: this is of another problem, '000000000000'"),
        ({"problem": 7}, "problem: must be a string, not 7"),
        ({"objective": []}, "objective: "),
        ({"objective": "turnaround"}, "objective: must be a list"),
        ({"objective": ["turnround"]}, "objective: unknown objective 'turnround'"),
        ({"certificate": [1]}, "certificate: must be an object"),
        ({"extra": 1}, "unknown field 'extra'"),
    ],
)
def test_faulty_certificate_files(changed: dict[str, object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(document(**changed)))
    with pytest.raises(FormatError) as error:
        read_certificate(path, TWO)
    assert str(path) in str(error.value)
    assert words in str(error.value)


def test_solve_goes_on(files: Path, capsys: Capture) -> None:
    problem = log(60)
    given = read_certificate(files / "proof.json.gz", problem).certificate
    known = certified_bound(problem, given, TURNAROUND)
    before = value(problem, read_solution(files / "start.json", problem), TURNAROUND)
    names = f"{files / 'start.json'},{files / 'proof.json.gz'}"
    args = ("solve", files / "log.json", "--solver", "prices", "--seconds", 1)
    out, certificate = files / "best.json", files / "best-proof.json"
    text = run(capsys, *args, "--start", names, "--out", out, "--certificate", certificate)
    assert f"certificate written to {certificate}" in text
    reached = value(problem, read_solution(out, problem), TURNAROUND)
    assert terms(reached) <= terms(before)
    proof = read_certificate(certificate, problem)
    bound = certified_bound(problem, proof.certificate, TURNAROUND)
    assert (known,) <= (bound,) <= terms(reached)
    found = run_json(capsys, "check", files / "log.json", certificate)
    assert found == {**found, "objective_name": "turnaround", "certified_bound": bound}
    said = run(capsys, "check", files / "log.json", certificate)
    assert said.startswith(f"certified: turnaround is at least {bound:.1f} s (60 jobs, ")


def test_solve_refuses_what_it_cannot_start_from(files: Path, capsys: Capture) -> None:
    problem = log(60)
    args = ("solve", files / "log.json", "--solver", "prices", "--seconds", 1, "--start")
    start, proof = files / "start.json", files / "proof.json.gz"
    bad = files / "bad.json"
    assert "is the second solution" in refused(capsys, *args, f"{start},{start}")
    assert "is the second certificate" in refused(capsys, *args, f"{proof},{proof}")
    write_solution(bad, problem, WorkloadSchedule.of(problem, problem.packed.submit), {})
    said = refused(capsys, *args, bad)
    assert "bad.json: is not feasible: " in said
    assert "of 32" in said
    write_certificate(bad, problem, TURNAROUND, {**PROOF, "prices": [1, -1]})
    assert "bad.json: prices of the certificate: -1 at position 1" in refused(capsys, *args, bad)
    said = refused(capsys, *args, proof, "--objective", "wait")
    assert "proof.json.gz: the certificate bounds 'turnaround', not wait" in said
    assert "cannot be read" in refused(capsys, *args, files / "none.json")
    said = refused(capsys, *args, start, "--out", start, "--force")
    assert "this command reads it" in said
    easy = ("solve", files / "log.json", "--solver", "easy", "--start")
    assert "easy cannot go on from the answer of an earlier run" in refused(capsys, *easy, start)
    said = refused(capsys, "solve", files / "log.json", "--solver", "cpsat", "--start", proof)
    assert "cpsat cannot go on from the certificate of an earlier run" in said
    said = refused(capsys, "check", files / "log.json", proof, "--plot", files / "p.svg")
    assert "is a certificate, not a solution" in said
    write_problem(TWO, bad)
    assert "of another problem" in refused(capsys, "check", bad, proof)


def test_without_a_certificate_none_is_written(files: Path, capsys: Capture) -> None:
    path = files / "none.json"
    text = run(capsys, "solve", files / "log.json", "--solver", "serial-generation", "--certificate", path)
    assert f"no certificate, so {path} was not written" in text
    assert not path.exists()


def test_interrupted_both_files_are_written(
    files: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(problem: WorkloadProblem, *_: object) -> Verdict:
        start = SerialGeneration()(problem, Budget()).answer
        certificate = {**PROOF, "edges": [0, 1], "prices": [0]}
        result = Result(Status.FEASIBLE, start, limit=Limit.INTERRUPTED, certificate=certificate)
        return assess(problem, result, ("turnaround",))

    monkeypatch.setattr("allocsolve.registry.solve_and_assess", interrupted)
    out, proof = files / "best.json", files / "best-proof.json.gz"
    args = ["solve", str(files / "log.json"), "--solver", "prices", "--out", str(out)]
    assert main([*args, "--certificate", str(proof)]) == 130
    assert "interrupted; the best answer so far is in" in capsys.readouterr().err
    problem = read_problem(files / "log.json")
    assert read_outcome(out, problem)[0] is not None
    assert read_outcome(proof, problem)[1] is not None


def test_an_earlier_run_is_judged_by_the_solver_itself() -> None:
    late = WorkloadSchedule.of(TWO, [0, 5])
    assert Prices(start=late, certificate=PROOF)(TWO, Budget()).objective == 7
    with pytest.raises(InvalidAnswer, match="to start from is not feasible"):
        Prices(start=WorkloadSchedule.of(TWO, [0, 3]))(TWO, Budget())
    with pytest.raises(InvalidAnswer, match="unit 0"):
        Prices(certificate={**PROOF, "unit": 0})(TWO, Budget())


@pytest.mark.parametrize("count", [1, 15])
def test_a_schedule_of_jobs_in_pieces_is_kept(count: int) -> None:
    """No plan repeats it, so the search begins from the beginning."""
    elastic = Job(0, 2, 4, kind="malleable", min_nodes=1, max_nodes=2, speedup=Amdahl(0.5))
    problem = WorkloadProblem(2 * count, [elastic] * count)
    begins, ends = np.tile([0.0, 3.0], count), np.tile([3.0, 4.0], count)
    start = WorkloadSchedule(np.arange(count + 1) * 2, begins, ends, np.full(2 * count, 2))
    result = Prices(start=start)(problem, Budget(iterations=10))
    assert result.objective == 4


@dataclass(frozen=True)
class Remembering:
    """A solver that says what it is called with."""

    calls: list[Any]
    start: WorkloadSchedule | None = field(default=None, repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        del budget
        self.calls.append(self.start)
        return Result(Status.FEASIBLE, WorkloadSchedule.of(problem, 100 * np.arange(len(problem.jobs))))


def test_solvers_warm_up_from_the_beginning() -> None:
    """A start of one problem is none of another."""
    start = WorkloadSchedule.of(TWO, [0, 4])
    calls: list[Any] = []
    solver = resumed("mine", Remembering(calls), start, None)
    ready(solver, TWO)
    assert calls
    assert not any(calls)
    solve(TWO, solver)
    assert calls[-1] is start


def test_who_cannot_go_on() -> None:
    start = WorkloadSchedule.of(TWO, [0, 4])
    with pytest.raises(InvalidOption, match="mine cannot go on from the certificate"):
        resumed("mine", Remembering([]), start, PROOF)
    with pytest.raises(InvalidOption, match="f cannot go on from the answer"):
        resumed("f", lambda problem, budget: Result(Status.UNKNOWN), start, None)  # noqa: ARG005 - never called
    problem = PartitionProblem.of(Mesh((4, 2)), size=4)
    solver = make_solver("growth", problem)
    assert resumed("growth", solver, None, None) is solver


#: Rectangles that fill 12 nodes for 10 s; nine of them, so that not all of their orders are tried.
SIDES = ((4, 5), (6, 5), (10, 1), (3, 3), (7, 3), (2, 3), (8, 1), (8, 1), (8, 1))
FULL = EvolutionProblem(12, tuple(EvolutionProfile([side]) for side in SIDES), expand_limit=1)
PROBLEMS: dict[str, Problem] = {
    "evolution": FULL,
    "workload": WorkloadProblem(4, [Job(0, 1 + idx % 2 * 2, 10) for idx in range(60)]),
    "reservation": ReservationProblem(Mesh((2, 2)), tuple(DeadlineJob(idx, 2, 10, 400) for idx in range(70))),
    "partition": PartitionProblem.of(Mesh((8, 8)), size=16),
}
HOUR = Budget(seconds=3600)
SEARCHES = [
    (family.kind, row.name)
    for family in families()
    for row in family.solvers
    if family.kind in PROBLEMS and searches(row.name, family) and row.name not in {"market", "milp"}
]


@pytest.mark.parametrize(("kind", "name"), SEARCHES)
def test_a_search_ends_when_its_value_meets_the_bound(kind: str, name: str) -> None:
    problem = PROBLEMS[kind]
    objective = "makespan" if kind in {"evolution", "workload"} else None
    result = solve(problem, name, objective, seconds=HOUR.seconds)
    assert (result.status, result.bound, result.limit) == (Status.OPTIMAL, result.objective, None)


@pytest.mark.parametrize("name", ["annealing", "lns"])
def test_the_answer_does_not_depend_on_the_workers(name: str) -> None:
    """Of several threads that meet the bound, the earliest round has the answer, as with one."""
    budgets = (Budget(iterations=50_000, workers=workers) for workers in (1, 2, 3))
    first, *others = (make_solver(name, FULL)(FULL, budget).answer for budget in budgets)
    assert all(answer == first for answer in others)


def test_a_fault_in_one_stops_the_others_and_is_raised() -> None:
    stop, stopped = threading.Event(), []

    def fails() -> None:
        msg = "broken"
        raise ArithmeticError(msg)

    def waits() -> None:
        stopped.append(stop.wait(60))

    with pytest.raises(ArithmeticError, match="broken"):
        run_in_threads([waits, fails, waits], stop)
    assert stopped == [True, True]


@pytest.mark.parametrize("solver", [Annealing(), EvolutionConflictSearch()])
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_the_search_with_what_is_known(
    solver: Annealing | EvolutionConflictSearch, workers: int, press_ctrl_c: Callable[[], None]
) -> None:
    problem = replace(klein2011([2011, 18]), expand_limit=1)
    ready(solver, problem)
    press_ctrl_c()
    result = solver(problem, Budget(seconds=120, workers=workers))
    assert result.limit is Limit.INTERRUPTED
    confirm(problem, result, ("makespan",))
    assert result.runtime < 60
