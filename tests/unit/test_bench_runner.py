"""The runner: every row judged, kept at once, never run twice; what is no part of the time of a call."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve import __version__, registry
from allocsolve.bench import Record, RecordStore, plan, run as run_tasks
from allocsolve.bench.runs import reply
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.families import family_of
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import digest, klein2011, uniform_occupancy
from allocsolve.judge import evolution_metrics
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Limit,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from allocsolve.families import AnySolver
    from allocsolve.model import Problem


Answer = Result[EvolutionSchedule]

PROBLEMS = tuple(replace(klein2011([9, idx], num_apps=(3, 3)), name=f"p{idx}") for idx in range(3))
BUDGET = Budget(seconds=60, seed=3)
#: So wide that it is not feasible to start everything at once.
WIDE = EvolutionProblem(4, tuple(EvolutionProfile(((10, 3),)) for _ in range(3)), name="wide")


def _greedy(problem: EvolutionProblem, budget: Budget) -> Answer:
    return ListScheduling()(problem, budget)


def run(
    problems: Iterable[Problem],
    solvers: Sequence[str],
    *,
    objective: str | None = None,
    budget: Budget = BUDGET,
    store: RecordStore | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Record]:
    """Run in this process, where solvers can be faked."""
    named = [("", problem) for problem in problems]
    tasks = plan(named, solvers, objective=objective, budgets=[budget])
    return run_tasks(tasks, store=store, progress=progress)


@dataclass(frozen=True)
class Fake:
    """Runs `act` on the problems of this test, greedy list scheduling on the tiny one of the warm-up."""

    name: str
    act: Callable[[EvolutionProblem], Any]

    def __repr__(self) -> str:
        return f"Fake({self.name})"

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Any:
        return self.act(problem) if problem.name else _greedy(problem, budget)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Add fake solvers to the registry."""
    real = registry.make_solver

    def add(**acts: Callable[[EvolutionProblem], Any]) -> None:
        def make(name: str, *told: Any) -> AnySolver:
            return Fake(name, acts[name]) if name in acts else real(name, *told)

        monkeypatch.setattr(registry, "make_solver", make)

    return add


def _boom(_: EvolutionProblem) -> Answer:
    msg = "two\nlines"
    raise RuntimeError(msg)


def test_rows_say_what_was_run_and_what_the_judge_found(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    told: list[tuple[int, int, str]] = []
    records = run(
        PROBLEMS, ["noX", "infX"], store=RecordStore(path), progress=lambda *news: told.append(news)
    )
    assert [(row.instance, row.solver) for row in records] == [
        (problem.name, solver) for problem in PROBLEMS for solver in ("noX", "infX")
    ]
    assert told == [
        (0, 6, "noX on p0"),
        *((done, 6, f"{row.solver} on {row.instance}") for done, row in enumerate(records, start=1)),
    ]
    row = records[0]
    assert (row.digest, row.kind, row.version) == (digest(PROBLEMS[0]), "evolution", __version__)
    assert (row.objective, row.seconds, row.workers, row.seed) == ("makespan", 60, 1, 3)
    assert row.solver_repr == repr(registry.make_solver("noX", EvolutionProblem))
    assert (row.status, row.limit, row.error) == (Status.FEASIBLE, None, "")
    answer = registry.make_solver("noX", EvolutionProblem)(PROBLEMS[0], BUDGET).answer
    assert answer is not None
    judged = evolution_metrics(PROBLEMS[0], answer)
    assert row.value == row.metrics["makespan"] == judged.makespan
    assert row.metrics["mean_waiting"] == judged.mean_waiting
    assert isinstance(row.combinatorial_bound, int)
    assert 0 < row.combinatorial_bound <= judged.makespan
    assert 0 < row.runtime_s < 1
    assert row.when.endswith("+00:00")
    assert {"platform", "cpus", "python", "numpy", "numba", "ortools"} <= row.machine.keys()
    assert list(RecordStore(path)) == records


def test_finished_rows_are_not_run_again(tmp_path: Path, register: Callable[..., None]) -> None:
    path = tmp_path / "records.sqlite"
    seen: list[str] = []

    def act(problem: EvolutionProblem) -> Answer:
        seen.append(problem.name)
        return _greedy(problem, Budget())

    register(fake=act, boom=_boom)
    first = run(PROBLEMS[:2], ["fake", "boom"], store=RecordStore(path))
    told: list[int] = []
    store = RecordStore(path)
    again = run(PROBLEMS, ["fake", "boom"], store=store, progress=lambda done, *_: told.append(done))
    assert again[:4] == first
    assert seen == ["p0", "p1", "p2"]
    assert told == [4, 5, 6]
    assert len(RecordStore(path)) == 6
    run(PROBLEMS[:1], ["fake"], budget=replace(BUDGET, seed=4), store=RecordStore(path))
    run(PROBLEMS[:1], ["fake"], objective="waste", store=RecordStore(path))
    run([replace(PROBLEMS[0], expand_limit=2)], ["fake"], store=RecordStore(path))
    assert seen == ["p0", "p1", "p2", "p0", "p0", "p0"]


def test_equal_problems_and_repeated_names_are_one_row() -> None:
    records = run([PROBLEMS[0], replace(PROBLEMS[0], name="twin")], ["noX", "noX"])
    assert [row.instance for row in records] == ["p0"]


def test_a_solver_that_raises_is_a_failed_row(register: Callable[..., None]) -> None:
    register(boom=_boom)
    failed, fine = run(PROBLEMS[:1], ["boom", "noX"])
    assert failed.error == "RuntimeError: two lines"
    assert (failed.status, failed.value, failed.bound) == (Status.UNKNOWN, None, -math.inf)
    assert (failed.limit, failed.metrics) == (None, {})
    assert failed.runtime_s > 0
    assert fine.error == ""


def _claiming(**claims: Any) -> Callable[[EvolutionProblem], Answer]:
    return lambda problem: replace(_greedy(problem, Budget()), **claims)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (_claiming(objective=1), "InvalidAnswer: the solver claims makespan 1, the judge finds"),
        (_claiming(bound=math.nan), "InvalidAnswer: contradictory result: bound nan is not"),
        (
            lambda _: Result(Status.UNKNOWN, bound=math.inf),
            "InvalidAnswer: contradictory result: bound inf is not",
        ),
        (lambda _: None, "InvalidAnswer: the solver returned NoneType, not a Result"),
    ],
)
def test_a_lying_solver_is_a_failed_row(
    register: Callable[..., None], act: Callable[[EvolutionProblem], Any], message: str
) -> None:
    register(liar=act)
    (row,) = run([WIDE], ["liar"])
    assert row.error.startswith(message)
    assert (row.status, row.value, row.bound) == (Status.UNKNOWN, None, -math.inf)


def test_a_met_bound_is_a_proof_and_numpy_numbers_are_kept(
    tmp_path: Path, register: Callable[..., None]
) -> None:
    path = tmp_path / "records.sqlite"
    register(tight=_claiming(bound=np.int64(30)))
    (row,) = run([WIDE], ["tight"], store=RecordStore(path))
    assert (row.status, row.value, row.bound) == (Status.OPTIMAL, 30, 30)
    assert list(RecordStore(path)) == [row]


def test_no_answer_is_no_failure(register: Callable[..., None]) -> None:
    register(slow=lambda _: Result(Status.UNKNOWN, limit=Limit.TIME, bound=7))
    (row,) = run(PROBLEMS[:1], ["slow"])
    assert (row.status, row.limit) == (Status.UNKNOWN, Limit.TIME)
    assert (row.value, row.bound, row.error) == (None, 7, "")


@pytest.mark.parametrize("polite", [False, True])
def test_an_interrupt_keeps_the_rows_so_far(
    tmp_path: Path, register: Callable[..., None], polite: bool
) -> None:
    path = tmp_path / "records.sqlite"

    def act(problem: EvolutionProblem) -> Answer:
        if problem.name != "p2":
            return _greedy(problem, Budget())
        if not polite:
            raise KeyboardInterrupt
        return replace(_greedy(problem, Budget()), limit=Limit.INTERRUPTED)

    register(fake=act)
    with pytest.raises(KeyboardInterrupt):
        run(PROBLEMS, ["fake"], store=RecordStore(path))
    assert [row.instance for row in RecordStore(path)] == ["p0", "p1"]


def test_a_function_is_named_by_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "make_solver", lambda *_: _greedy)
    (row,) = run(PROBLEMS[:1], ["greedy"])
    assert row.solver_repr == f"{_greedy.__module__}._greedy"


def test_combinatorial_bound() -> None:
    problem = EvolutionProblem(4, (EvolutionProfile(((10, 4),)), EvolutionProfile(((10, 4),))))
    bounds = {
        "makespan": 20,
        "completion": 10,
        "waste": 0,
        "makespan,waste": (20,),
        "completion, waste": (10,),
    }
    for objective, bound in bounds.items():
        (row,) = run([problem], ["noX"], objective=objective)
        assert (row.combinatorial_bound, row.objective) == (bound, objective.replace(" ", ""))
        assert row.instance == row.digest[:12]
        (row,) = run([EvolutionProblem(4, ())], ["noX"], objective=objective)
        assert (row.value, row.error) == (0 if row.value == 0 else (0, 0), "")


def test_the_clock_starts_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    for tiny in family_of(EvolutionProblem).warm_up(PROBLEMS[0]):
        _greedy(tiny, BUDGET)  # loads the kernels that it needs

    def watched(problem: EvolutionProblem, budget: Budget) -> Answer:
        seen.append(problem.name)
        return _greedy(problem, budget)

    monkeypatch.setattr(registry, "make_solver", lambda *_: watched)
    store = RecordStore()
    run(PROBLEMS[:2], ["watched"], store=store)
    run(PROBLEMS[:2], ["watched"], store=store)
    assert seen == ["", "p0", "p1"], "one warm-up, and none if nothing is left to do"


def test_partition_problems_have_rows_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    problems = [
        uniform_occupancy(Mesh((6, 5)), 0.3, 6, 1),
        uniform_occupancy(Mesh((3, 3, 3)), 0.3, 6, 1, contiguous=True),
    ]
    solvers = ["manhattan-median", "random", "branch-and-bound"]
    records = run(problems, solvers, store=RecordStore(path))
    assert not [row.error for row in records if row.error]
    assert {(row.kind, row.objective) for row in records} == {("partition", "pairwise")}
    flat, solid = records[2], records[5]
    assert flat.features == {"shape": "6x5", "wrap": "0x0", "free": 21, "size": 6, "contiguous": False}
    assert (flat.status, solid.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert flat.value == flat.bound == flat.metrics["total_distance"]
    assert flat.metrics["box.0"] * flat.metrics["box.1"] == flat.metrics["box_volume"]
    assert {"box.0", "box.1", "box.2"} <= solid.metrics.keys()
    store = RecordStore(path)
    assert list(store) == records
    assert store.problem(flat.digest) == problems[0]
    assert isinstance(store.answer(flat.key), Partition)
    assert run(problems, solvers, store=store) == records


def test_unknown_names_and_several_kinds_are_refused_before_anything_runs(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    mixed: list[Problem] = [PROBLEMS[0], uniform_occupancy(Mesh((6, 5)), 0.3, 6, 1)]
    with pytest.raises(InvalidOption, match="several kinds cannot be compared: evolution, partition"):
        run(mixed, ["cpsat"], store=RecordStore(path))
    with pytest.raises(UnknownName, match="infX"):
        run(PROBLEMS, ["noX", "infx"], store=RecordStore(path))
    with pytest.raises(UnknownName, match="makespan"):
        run(PROBLEMS, ["noX"], objective="makspan", store=RecordStore(path))
    with pytest.raises(UnknownName, match="unknown partition solver 'noX'"):
        run(mixed[1:], ["noX"], store=RecordStore(path))
    with pytest.raises(UnknownName, match="unknown objective 'makespan'"):
        run(mixed[1:], ["growth"], objective="makespan", store=RecordStore(path))
    assert not RecordStore(path).keys()
    assert run([], ["noX"]) == []


def test_one_warm_up_for_each_sort_of_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []

    def watched(problem: PartitionProblem, _: Budget) -> Result[Partition]:
        seen.append(problem.topology.shape)
        return Result(Status.UNKNOWN)

    monkeypatch.setattr(registry, "make_solver", lambda *_: watched)
    shapes = ((6, 6), (9, 9), (4, 4, 4))
    run([PartitionProblem.of(Mesh(shape), size=3) for shape in shapes], ["watched"])
    flat, solid = 3 * [(5, 5)], 3 * [(4, 4, 4)]
    assert seen == [*flat, (6, 6), (9, 9), *solid, (4, 4, 4)], "the second mesh needs none of its own"


def test_a_warm_up_that_ran_out_of_time_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def compiling(problem: EvolutionProblem, _: Budget) -> Answer:
        seen.append(problem.name)
        return Result(Status.UNKNOWN, limit=Limit.TIME if len(seen) < 3 else None)

    monkeypatch.setattr(registry, "make_solver", lambda *_: compiling)
    run(PROBLEMS[:1], ["compiling"])
    assert seen == ["", "", "", "p0"]


def test_the_clock_runs_from_begun_to_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever watches from outside takes the same time: a problem without a hash takes long to look at."""
    now = [100.0]
    told: dict[str, float] = {}

    def takes(seconds: float) -> None:
        now[0] += seconds

    def fingerprint(_: object) -> int:
        takes(5.0)
        return 0

    def solver(_: EvolutionProblem, __: Budget) -> Result[Any]:
        takes(0.25)
        return Result(Status.UNKNOWN)

    monkeypatch.setattr(reply, "clock", lambda: now[0])
    monkeypatch.setattr(reply, "_fingerprint", fingerprint)
    call = reply.call_solver(
        solver,
        klein2011(1, num_apps=(3, 3)),
        Budget(),
        begun=lambda: told.setdefault("begun", now[0]),
        done=lambda: told.setdefault("done", now[0]),
    )
    assert (call.runtime, call.cause) == (0.25, None)
    assert told == {"begun": 105.0, "done": 105.25}
    assert now[0] == 110.25
