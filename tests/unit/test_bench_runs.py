"""Runs: every row judged and kept at once, never run twice; what is written is read, whatever happened."""

from __future__ import annotations

import csv
import json
import math
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest
from json_tools import saved
from old_records import write_old
from sample_records import ANSWER, PROBLEM, RECORD, VARIANTS

from allocsolve import __version__, registry
from allocsolve.bench import Record, RecordStore, export, plan, run as run_tasks
from allocsolve.bench.runs import worker
from allocsolve.errors import FormatError, InvalidOption, SolverUnavailable, UnknownName
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

    monkeypatch.setattr(worker, "clock", lambda: now[0])
    monkeypatch.setattr(worker, "_fingerprint", fingerprint)
    call = worker.call_solver(
        solver,
        klein2011(1, num_apps=(3, 3)),
        Budget(),
        begun=lambda: told.setdefault("begun", now[0]),
        done=lambda: told.setdefault("done", now[0]),
    )
    assert (call.runtime, call.cause) == (0.25, None)
    assert told == {"begun": 105.0, "done": 105.25}
    assert now[0] == 110.25


# --- The store ----------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "records.sqlite"


def _fill(path: Path) -> None:
    with RecordStore(path) as store:
        for record in VARIANTS:
            assert store.append(record, PROBLEM, ANSWER if record.value == 120 else None)


def test_every_row_is_read_as_it_was_written(path: Path) -> None:
    _fill(path)
    for read_only in (False, True):
        with RecordStore(path, read_only=read_only) as store:
            assert tuple(store) == VARIANTS
            assert list(store.keys()) == [record.key for record in VARIANTS]
            assert store[RECORD.key] == RECORD
            assert RECORD.key in store
            assert len(store) == len(VARIANTS)
            assert store.problem(RECORD.digest) == PROBLEM
            assert store.answer(RECORD.key) == ANSWER
            assert store.answer(VARIANTS[1].key) is None
            with pytest.raises(KeyError):
                store.problem("d1")
    assert list(path.parent.iterdir()) == [path], "one file"


def test_a_row_is_in_the_file_before_the_next_is_made(path: Path) -> None:
    store = RecordStore(path)
    for count, record in enumerate(VARIANTS, start=1):
        store.append(record, PROBLEM, None)
        # What a kill would leave: the file and its log as they are now.
        with RecordStore(path, read_only=True) as witness:
            assert tuple(witness) == VARIANTS[:count]


def test_no_key_is_stored_twice(path: Path) -> None:
    first, second = RecordStore(path), RecordStore(path)
    assert first.append(RECORD, PROBLEM, None)
    assert not first.append(replace(RECORD, value=7), PROBLEM, None)
    assert not second.append(replace(RECORD, value=7), PROBLEM, None), "from another process"
    assert second.append(VARIANTS[1], PROBLEM, None)
    assert tuple(first) == (RECORD, VARIANTS[1])
    unlimited = replace(RECORD, iterations=None, seed=9)
    assert first.append(unlimited, PROBLEM, None)
    assert not second.append(unlimited, PROBLEM, None), "although null is not equal to null"
    for code in ("mine:solver#1", "mine:solver#2"):
        assert first.append(replace(RECORD, code=code), PROBLEM, None), "other code has rows of its own"


def _execute(path: Path, *statements: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as base, base:
        return [base.execute(statement).fetchone() for statement in statements]


def _refuses(path: Path, *changes: str) -> None:
    for change in changes:
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            _execute(path, change)


CHANGES = ("UPDATE records SET value = 1", "DELETE FROM records")


def test_rows_are_never_changed_or_deleted(path: Path) -> None:
    _fill(path)
    _refuses(path, *CHANGES)


def test_values_beyond_the_words_of_a_machine_and_errors_that_are_no_text_are_kept() -> None:
    store = RecordStore()
    large = replace(RECORD, value=2**70, bound=2**64 + 1, metrics={"makespan": 2**70}, seed=1)
    store.append(replace(RECORD, error="half \ud800"), PROBLEM, None)
    store.append(large, PROBLEM, None)
    assert store[RECORD.key].error == "half \\ud800"
    assert store[large.key] == large


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b'{"format": "allocsolve-record/2"}\n' * 100, "file is not a database"),
        ("CREATE TABLE other (x)", "is a database, but none of allocsolve's records"),
        (
            "PRAGMA user_version = 99",
            "holds records of format 99, this version of allocsolve reads formats 1 to 4",
        ),
    ],
)
def test_what_is_no_file_of_records_is_refused_and_not_left_open(
    path: Path, content: bytes | str, fault: str, read_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        if "version" in content:
            _fill(path)
        _execute(path, content)
    before = path.read_bytes()
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def watched(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", watched)
    with pytest.raises(FormatError) as caught:
        RecordStore(path, read_only=read_only)
    assert str(caught.value) == f"{path}: {fault}"
    assert path.read_bytes() == before
    (base,) = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        base.execute("SELECT 1")


def test_places_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, fault in (
        (tmp_path, "is a directory"),
        (tmp_path / "file" / "records.sqlite", "cannot be written: .*file is not a directory"),
    ):
        with pytest.raises(FormatError, match=fault):
            RecordStore(path)
    with pytest.raises(FormatError, match="there is no such file"):
        RecordStore(tmp_path / "none.sqlite", read_only=True)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_full_disk_costs_the_row_that_does_not_fit(path: Path) -> None:
    store = RecordStore(path)
    store.append(RECORD, PROBLEM, None)
    pages = store._base.execute("PRAGMA page_count").fetchone()[0]
    store._base.execute(f"PRAGMA max_page_count = {pages}")  # SQLite says the same of a full disk
    long = replace(VARIANTS[1], error="x" * 50_000)
    with pytest.raises(FormatError, match=r"records\.sqlite: database or disk is full"):
        store.append(long, PROBLEM, None)
    store._base.execute("PRAGMA max_page_count = 1000000")
    assert tuple(store) == (RECORD,)
    store.append(long, PROBLEM, None)
    assert tuple(RecordStore(path)) == (RECORD, long)


def test_a_further_attempt_counts_and_takes_nothing_away(path: Path) -> None:
    first = replace(RECORD, error="Boom: no", value=None, status=Status.UNKNOWN)
    again = replace(RECORD, attempt=2, traceback="Traceback: ...", when="2024-01-02T00:00:00+00:00")
    with RecordStore(path) as store, RecordStore(path) as other:
        assert store.append(first, PROBLEM, None)
        assert store.append(VARIANTS[1], PROBLEM, None)
        assert store.append(again, PROBLEM, ANSWER)
        assert not store.append(replace(again, value=1), PROBLEM, None), "the second attempt is there"
        assert not store.append(replace(first, value=1), PROBLEM, None)
        other.refresh()
        for one in (store, other):
            assert list(one) == [VARIANTS[1], again]
            assert one[RECORD.key] == again
            assert (len(one), one.attempts(RECORD.key), one.attempts(VARIANTS[1].key)) == (2, 2, 1)
            assert one.answer(RECORD.key) == ANSWER
            assert one.days([RECORD.key, VARIANTS[1].key]) == ("2024-01-01", "2024-01-02")
    assert _execute(path, "SELECT count(*) FROM records") == [(3,)]


def test_what_is_verified_is_kept_once(path: Path) -> None:
    proven = replace(RECORD, verified_bound="271/3", verified_digest="5" * 64)
    with RecordStore(path) as store:
        for record in VARIANTS:
            store.append(record, PROBLEM, None)
        store.add_verified(RECORD.key, "271/3", "5" * 64)
        store.add_verified(RECORD.key, "300", "6" * 64)
        assert list(store) == [proven, *VARIANTS[1:]]
        assert store.append(replace(proven, seed=9), PROBLEM, None)
    with RecordStore(path, read_only=True) as store:
        assert [row.verified_bound for row in store] == ["271/3", *[""] * (len(VARIANTS) - 1), "271/3"]
    _refuses(path, "UPDATE verified SET bound = '1'", "DELETE FROM verified")
    _execute(path, "INSERT INTO verified VALUES (2, 'much', '')")
    told = "row 2: column verified_bound: 'much' is no fraction; it is left out"
    with pytest.warns(UserWarning, match=told):
        assert len(list(RecordStore(path, read_only=True))) == len(VARIANTS)


def test_files_without_verified_bounds_are_read_and_get_them(path: Path) -> None:
    _fill(path)
    _execute(path, "DROP TABLE verified", "PRAGMA user_version = 3")
    before = path.read_bytes()
    with RecordStore(path, read_only=True) as store:
        assert tuple(store) == VARIANTS
    assert path.read_bytes() == before
    with RecordStore(path) as store:
        store.add_verified(RECORD.key, "100", "5" * 64)
        assert store[RECORD.key].verified_bound == "100"
        assert tuple(store)[1:] == VARIANTS[1:]


@pytest.mark.parametrize("version", [1, 2])
def test_older_formats_are_read_and_brought_to_this_one(path: Path, version: int) -> None:
    path.parent.mkdir()
    certified = -math.inf if version == 1 else 90
    rows = [replace(record, certified_bound=certified) for record in VARIANTS]
    write_old(path, version, [(row, ANSWER if row.value == 120 else None) for row in rows], PROBLEM)
    before = path.read_bytes()
    with RecordStore(path, read_only=True) as store:
        assert list(store) == rows
        assert store.answer(RECORD.key) == ANSWER
        assert store.certificate(RECORD.key) is None
    assert path.read_bytes() == before, "reading does not touch it"
    with RecordStore(path) as store:
        assert list(store) == rows
        assert not store.append(rows[0], PROBLEM, None)
        assert store.append(replace(rows[0], attempt=2), PROBLEM, None)
        assert store.append(replace(rows[0], code="mine:solver#1"), PROBLEM, None, {"scale": 3})
    with RecordStore(path, read_only=True) as store:
        new = replace(rows[0], code="mine:solver#1")
        assert list(store) == [*rows[1:], replace(rows[0], attempt=2), new]
        assert store.certificate(new.key) == {"scale": 3}
    assert _execute(path, "PRAGMA user_version") == [(4,)]
    _refuses(path, *CHANGES)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("ext4", "wal"), ("nfs4", "delete"), ("lustre", "delete"), ("fuse.sshfs", "delete"), ("cifs", "delete")],
)
def test_no_log_in_shared_memory_on_file_systems_of_networks(
    path: Path, kind: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = psutil.disk_partitions(all=True)[0]._replace(mountpoint="/", fstype="ext4")
    mounts = [root, root._replace(mountpoint=str(path.parent.resolve()), fstype=kind)]
    monkeypatch.setattr("psutil.disk_partitions", lambda **_: mounts)
    with RecordStore(path) as store:
        assert store._base.execute("PRAGMA journal_mode").fetchone() == (mode,)
        store.append(RECORD, PROBLEM, ANSWER)
        assert list(RecordStore(path, read_only=True)) == [RECORD]


def test_a_corrupt_page_is_one_line(path: Path) -> None:
    with RecordStore(path) as store:
        for seed in range(300):
            store.append(replace(RECORD, seed=seed), PROBLEM, ANSWER)
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 12288) + whole[-4096:])
    with pytest.raises(FormatError, match=r"records\.sqlite: database disk image is malformed") as caught:
        list(RecordStore(path, read_only=True))
    assert "\n" not in str(caught.value)


# --- Exports ------------------------------------------------------------------------------------------


def test_csv_has_one_column_per_field_and_metric(tmp_path: Path) -> None:
    path = saved(tmp_path, "old", "table.csv")
    export(VARIANTS[:3], path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["instance"] for row in rows] == ["tiny-00"] * 3
    assert [row["value"] for row in rows] == ["120", "", "120;1152921504606846977"]
    assert [row["bound"] for row in rows] == ["-inf", "-inf", "100;-inf"]
    assert [row["error"] for row in rows] == ["", "Boom: no", ""]
    assert [row["metrics.waste"] for row in rows] == ["0.1", "", "0.1"]
    assert rows[0]["status"] == "feasible"
    assert rows[0]["machine.cpus"] == "2"
    assert (rows[0]["features.num_nodes"], rows[0]["features.expand_limit"]) == ("100", "")
    assert json.loads(rows[0]["incumbents"]) == [[0.1, 130], [0.25, 120]]
    assert list(tmp_path.iterdir()) == [path]


def test_json_and_parquet_have_the_same_rows(tmp_path: Path) -> None:
    export(VARIANTS, tmp_path / "t.json")
    export(VARIANTS, tmp_path / "t.parquet")
    rows = json.loads((tmp_path / "t.json").read_text())
    table = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert len(rows) == len(table) == len(VARIANTS)
    assert [row["instance"] for row in rows] == [row["instance"] for row in table]
    assert [row["seed"] for row in rows] == [row["seed"] for row in table] == [0, 1, 2, 3]
    assert rows[0]["bound"] is None, "JSON has no infinity"
    assert table[0]["bound"] == "-inf", "text, as other rows have two terms"
    assert table[2]["value"] == rows[2]["value"] == "120;1152921504606846977"
    assert [row.get("features.shape") for row in table] == [None, None, None, "4x2"]


def test_the_ending_says_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match=r"unknown format '.xlsx'; known: .csv, .json, .parquet"):
        export(VARIANTS, tmp_path / "t.xlsx")
    with pytest.raises(FormatError, match="cannot be written: No such file"):
        export(VARIANTS, tmp_path / "none" / "t.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SolverUnavailable, match=r"pip install 'allocsolve\[parquet\]'"):
        export(VARIANTS, tmp_path / "t.parquet")


def test_a_failed_export_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, "old", "table.csv")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("csv.DictWriter.writerows", full)
    with pytest.raises(FormatError, match="No space left on device"):
        export(VARIANTS, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
