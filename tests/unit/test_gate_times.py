"""The times of the gate, on clocks that only solvers move: what is slower is found, what disturbs is not."""

from __future__ import annotations

import json
import math
import platform
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gate_tools import TINY, Swapped, nothing, raising
from hypothesis import given, strategies as st
from process_tools import python

from allocsolve.bench import run_gate
from allocsolve.bench.gate import timing
from allocsolve.bench.gate.baseline import read_baseline
from allocsolve.bench.gate.timing import References, Stopwatch, ladder_problem, rung, timing_problems
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import digest
from allocsolve.model import Budget, EvolutionProblem, Limit, Result, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allocsolve.bench import GateReport

#: Of each reference work but those that a test makes slower or faster.
REFERENCE_S = 0.5e-3


@dataclass
class Clocks:
    """What the stopwatch reads, in seconds."""

    cpu: float = 0.0
    own: float = 0.0  #: CPU time of the thread that makes the calls
    wall: float = 0.0
    queued: float = 0.0
    calls: int = 0
    ratios: dict[str, float] = field(default_factory=dict)  #: how many times as long works take here

    def work(self, seconds: float) -> None:
        self.cpu += seconds
        self.own += seconds
        self.wall += seconds

    def wait(self, seconds: float) -> None:
        """Wait for a processor that others have."""
        self.queued += seconds
        self.wall += seconds

    def put_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(timing, "_cpu_s", lambda: self.cpu)
        monkeypatch.setattr(timing, "thread_time", lambda: self.own)
        monkeypatch.setattr(timing, "perf_counter", lambda: self.wall)
        monkeypatch.setattr(timing, "_queued_s", lambda: self.queued)
        monkeypatch.setattr(timing, "do", lambda name: self.work(REFERENCE_S * self.ratios.get(name, 1)))


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    made.put_up(monkeypatch)
    monkeypatch.setattr("allocsolve.bench.gate.gate.suite_problems", lambda _: TINY[:1])
    return made


@dataclass(frozen=True)
class Timed:
    """The answers of a list schedule, after some milliseconds of work for each application."""

    clocks: Clocks
    ms: float = 0.1
    besides: Callable[[Clocks], None] = lambda _: None

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[Any]:
        self.clocks.calls += 1
        self.clocks.work(self.ms * 1e-3 * len(problem.applications))
        self.besides(self.clocks)
        return ListScheduling()(problem, budget)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.json"


def gate(file: Path, solver: Timed, *, update: bool = False) -> GateReport:
    return run_gate(file, update=update, solvers=[Swapped(solver)])


def sleep(clocks: Clocks) -> None:
    clocks.wall += 5e-3


def burn_in_a_thread(clocks: Clocks) -> None:
    clocks.cpu += 5e-3


def busy(clocks: Clocks) -> None:
    clocks.wait(20e-3)


def disturbed(clocks: Clocks) -> None:
    """Be kept waiting for a lock, and have cold caches, in all calls but a few late ones."""
    if not 60 < clocks.calls < 65:
        clocks.work(2e-3)
        sleep(clocks)


def nothing_else(_: Clocks) -> None:
    """Take no time besides."""


ALL = dict.fromkeys(References._fields, 3)


@pytest.mark.parametrize(
    ("ratios", "ms", "besides", "found"),
    [
        ({}, 0.1, nothing_else, None),
        ({}, 0.145, nothing_else, None),
        ({}, 0.2, nothing_else, "slower: Swapped() on 10-applications: 2.0 -> 4.0 (2.00 times)"),
        ({}, 0.05, nothing_else, "faster: Swapped() on 10-applications: 2.0 -> 1.0 (0.50 times)"),
        ({}, 0.1, sleep, "slower (wall time): Swapped() on 10-applications: 2.0 -> 12.0 (6.00 times)"),
        ({}, 0.1, burn_in_a_thread, "slower: Swapped() on 10-applications: 2.0 -> 12.0 (6.00 times)"),
        ({}, 0.1, busy, None),
        ({}, 0.1, disturbed, None),
        ({"scan": 2}, 0.2, nothing_else, None),
        ({"scan": 2}, 0.29, nothing_else, None),
        ({"scan": 2}, 0.31, nothing_else, "slower: Swapped() on 10-applications: 2.0 -> 3.1 (1.55 times)"),
        ({"scan": 0.5, "sort": 2}, 0.06, nothing_else, None),
        ({"scan": 0.5}, 0.04, nothing_else, None),
        ({"scan": 0.5}, 0.03, nothing_else, "faster: Swapped() on 10-applications: 2.0 -> 1.2 (0.60 times)"),
        ({"scan": 0.5}, 0.16, nothing_else, "slower: Swapped() on 10-applications: 2.0 -> 3.2 (1.60 times)"),
        ({"walk": 0.25}, 0.1, nothing_else, None),
        (ALL, 0.3, nothing_else, None),
    ],
)
def test_what_is_slower_or_faster_here_or_on_another_processor(
    file: Path, clocks: Clocks, ratios: dict[str, float], ms: float, besides: Any, found: str | None
) -> None:
    assert gate(file, Timed(clocks), update=True).timed == 1
    assert read_baseline(file).references == (1, 1, 1, 1, 1, 1)
    clocks.calls, clocks.ratios = 0, ratios
    report = gate(file, Timed(clocks, ms, besides))
    told = [*map(str, report.changes)], [*map(str, report.faster)]
    is_slower = found is not None and found.startswith("slower")
    expected = [found] if found else []
    assert told == ((expected, []) if is_slower else ([], expected))
    assert report.passed is not is_slower


def test_an_update_writes_the_references_of_the_machine(file: Path, clocks: Clocks) -> None:
    gate(file, Timed(clocks), update=True)
    clocks.ratios = {"walk": 2, "sort": 3}
    assert gate(file, Timed(clocks, ms=0.2), update=True).passed
    assert read_baseline(file).references == (1, 0.5, 1.5, 0.5, 0.5, 0.5)
    assert gate(file, Timed(clocks, ms=0.2)).changes == ()


@pytest.mark.parametrize("name", References._fields)
def test_a_reference_work_that_finds_something_else_is_not_believed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing.do(name)
    monkeypatch.setattr(timing, "RESULTS", timing.RESULTS._replace(**{name: 7}))
    with pytest.raises(AssertionError, match=f"the reference work {name} found"):
        timing.do(name)


def test_a_baseline_of_a_busy_machine_is_that_of_an_idle_one(file: Path, clocks: Clocks) -> None:
    gate(file, Timed(clocks, besides=busy), update=True)
    (row,) = read_baseline(file).solvers
    assert (row.timed_on, row.time, row.wall_time) == ("10-applications", 2.0, 2.0)


def test_work_of_other_threads_has_no_wall_time(file: Path, clocks: Clocks) -> None:
    """They have waited for processors, too, and nobody says for how long."""

    def busy_elsewhere(clocks: Clocks) -> None:
        clocks.cpu += 5e-3
        clocks.wall += 20e-3

    gate(file, Timed(clocks, besides=burn_in_a_thread), update=True)
    (row,) = read_baseline(file).solvers
    assert (row.time, row.wall_time) == (12.0, None)
    assert gate(file, Timed(clocks, besides=busy_elsewhere)).passed
    assert [str(change) for change in gate(file, Timed(clocks, ms=1, besides=burn_in_a_thread)).changes] == [
        "slower: Swapped() on 10-applications: 12.0 -> 30.0 (2.50 times)"
    ]


def test_older_baselines_still_compare(file: Path, clocks: Clocks) -> None:
    """Without wall times; without references machines count as the same."""
    gate(file, Timed(clocks), update=True)
    document = json.loads(file.read_text(encoding="utf-8"))
    del document["solvers"][0]["wall_time"]
    file.write_text(json.dumps(document), encoding="utf-8")
    before = file.read_bytes()
    assert gate(file, Timed(clocks, besides=sleep)).passed
    assert [change.what for change in gate(file, Timed(clocks, ms=0.2)).changes] == ["slower"]
    assert file.read_bytes() == before
    del document["references"]
    file.write_text(json.dumps(document), encoding="utf-8")
    clocks.ratios = {"scan": 2}
    assert [change.what for change in gate(file, Timed(clocks, ms=0.2)).changes] == ["slower"]
    gate(file, Timed(clocks), update=True)
    assert read_baseline(file).solvers[0].wall_time == 2.0


@pytest.mark.parametrize(
    ("ms", "rung_of"),
    [
        (1e-6, "3000-applications"),
        (0.001, "1000-applications"),
        (0.002, "300-applications"),
        (0.04, "30-applications"),
        (20, "10-applications"),
        (2000, "10-applications"),
    ],
)
def test_every_solver_is_timed_at_a_size_that_it_manages(clocks: Clocks, ms: float, rung_of: str) -> None:
    def solver(problem: EvolutionProblem, _: Budget) -> Result[Any]:
        clocks.calls += 1
        clocks.work(ms * 1e-3 * len(problem.applications))
        return Result(Status.UNKNOWN)

    chosen = rung("evolution", solver, Budget())
    assert chosen is not None
    assert chosen[0] == rung_of
    calls = clocks.calls
    chosen[1].measure()
    if ms == 2000:
        assert clocks.calls == calls + 1  # a batch of ten would take minutes


@given(st.lists(st.floats(0, 10), min_size=40, max_size=40), st.floats(0.5e-3, 5e-3))
def test_the_least_time_is_what_is_measured(delays: list[float], work: float) -> None:
    """Whatever delays the calls, one that is not delayed is enough."""
    clocks = Clocks()
    coming: Iterator[float] = iter([*delays, 0.0])

    def solver(_: object, __: Budget) -> Result[Any]:
        clocks.work(work)
        clocks.wall += next(coming, 0.0)
        return Result(Status.UNKNOWN)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(timing, "ready", lambda *_: None)
        clocks.put_up(patched)
        watch = Stopwatch(solver, TINY[0], Budget())
        for _ in range(42):
            times = watch.measure()
    assert times[:2] == pytest.approx((work / REFERENCE_S, work / REFERENCE_S))
    assert times.references == pytest.approx([1] * len(References._fields))


BURN = "import time\nwhile time.thread_time() < 0.05: pass"


def test_the_real_clocks_see_threads_processes_and_sleep() -> None:
    def in_a_thread() -> None:
        thread = threading.Thread(target=exec, args=(BURN, {}))
        thread.start()
        thread.join()

    def in_a_process() -> None:
        subprocess.run([sys.executable, "-S", "-c", BURN], check=True)

    for call in in_a_thread, in_a_process:
        sample = timing._sample(call)
        assert sample.cpu >= 0.04
        assert not sample.alone
    assert timing._sample(lambda: time.sleep(0.02)).wall >= 0.02
    assert timing._sample(lambda: exec(BURN, {})).alone  # noqa: S102 - a loop


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is about the allocator of glibc")
def test_memory_is_kept_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that has freed no large block before."""
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)  # dask sets it for all who come after it
    code = """
import resource
import numpy as np
from allocsolve.bench.gate import timing

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def some():
    before = faults()
    for _ in range(20):
        np.zeros(2_000_000, dtype=np.int8).fill(1)
    return faults() - before

timing._keep_memory()
some()
print(some())
"""
    assert int(python("-c", code)[0]) < 500  # 20 times 488 pages if they are not kept


@pytest.mark.parametrize("text", [None, b"", b"12 x 3", b"not counted"])
def test_a_system_that_does_not_count_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes | None
) -> None:
    path = tmp_path / "schedstat"
    if text is not None:
        path.write_bytes(text)
    monkeypatch.setattr(timing, "_SCHEDSTAT", path)
    assert timing._queued_s() == 0
    path.write_bytes(b"149272 2000000000 2\n")
    assert timing._queued_s() == 2


def test_slow_and_failing_solvers_are_not_timed() -> None:
    def hasty(problem: EvolutionProblem, budget: Budget) -> Result[Any]:
        return replace(ListScheduling()(problem, budget), limit=Limit.TIME)

    def small(problem: EvolutionProblem, budget: Budget) -> Result[Any]:
        assert len(problem.applications) <= 300
        return nothing(problem, budget)

    assert rung("evolution", hasty, Budget()) is None
    assert rung("evolution", raising, Budget()) is None
    chosen = rung("evolution", small, Budget())
    assert chosen is not None
    assert chosen[0] == "300-applications"


def test_failing_where_it_was_timed_is_slower(file: Path, clocks: Clocks) -> None:
    """Also in later calls only."""

    def tire(clocks: Clocks) -> None:
        if clocks.calls > 8:
            msg = "too many calls"
            raise RuntimeError(msg)

    def small(problem: EvolutionProblem, budget: Budget) -> Result[Any]:
        assert len(problem.applications) < 100
        return ListScheduling()(problem, budget)

    gate(file, Timed(clocks), update=True)
    clocks.calls = 0
    (change,) = gate(file, Timed(clocks, besides=tire)).changes
    assert str(change) == "slower: Swapped() on 10-applications: 2.0 -> inf (it fails)"
    gate(file, Timed(clocks, ms=0.01), update=True)
    (change,) = run_gate(file, solvers=[Swapped(small)]).changes
    assert (change.what, change.problem, change.now) == ("slower", "100-applications", math.inf)


#: Of problems whose names stand in baselines: a problem that is changed needs a new name.
DIGESTS = {
    "10-applications": "6500c8d44b4e",
    "30-applications": "25f150470391",
    "100-applications": "379a7711ac2e",
    "300-applications": "312f49c01b1d",
    "1000-applications": "18b5a0f7f4df",
    "3000-applications": "aeb6599231fd",
    "4-of-8x8": "4489a1e2ffa0",
    "16-of-16x16": "ad67f86bdf5d",
    "64-of-32x32": "256704e93966",
    "256-of-64x64": "498618797038",
    "4096-of-256x256": "a3a89317c1a1",
    "10-jobs": "c1d3303392e7",
    "100-jobs": "15902cee1c87",
    "1000-jobs": "a2220cdbd615",
    "10000-jobs": "fce45c21d4b7",
    "100000-jobs": "2548e23a377c",
    "10-jobs-on-4x4": "db5c7e7cc2bb",
    "100-jobs-on-8x8": "0cd716c25da8",
    "1000-jobs-on-8x8": "eb5e5ecd262c",
    "3000-jobs-on-16x16": "c6da0a7958a8",
    "10000-jobs-on-16x16": "e53858e6146a",
}


@pytest.mark.parametrize("kind", ["evolution", "partition", "workload", "reservation"])
def test_problems_in_baselines_grow_and_never_change(kind: str) -> None:
    names = [*timing_problems(kind)]
    assert {name: digest(ladder_problem(kind, name))[:12] for name in names} == {
        name: DIGESTS[name] for name in names
    }
    assert names == sorted(names, key=lambda name: int(name.split("-")[0]))


def test_the_baseline_of_this_project_times_known_problems() -> None:
    committed = read_baseline(Path(__file__).resolve().parents[2] / ".ci" / "gate.json")
    timed = {row.timed_on for row in committed.solvers if row.timed_on is not None}
    assert timed
    assert timed <= set(DIGESTS)
