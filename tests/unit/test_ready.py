"""Readiness: until nothing more is compiled, once, and with a word to people when it takes long."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from allocsolve.instances import klein2011
from allocsolve.kernels import compilation
from allocsolve.kernels.cache import compiling
from allocsolve.model import Budget, Limit, Result, Status
from allocsolve.registry import front_door, make_allocator, ready, solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import EvolutionProblem

PROBLEM = klein2011(1, num_apps=(3, 3), expand_limit=1)


class Compiling:
    """A solver that compiles something in some of its first calls, and says which limit stopped each."""

    def __init__(self, *calls: tuple[int, Limit | None]) -> None:
        self.calls = calls
        self.called = 0
        self.made = 0

    def __repr__(self) -> str:
        return f"Compiling({self.calls})"

    def __call__(self, *_: object) -> Result[None]:
        kernels, limit = self.calls[self.called] if self.called < len(self.calls) else (0, None)
        self.called += 1
        self.made += kernels
        return Result(Status.UNKNOWN, limit=limit)


@pytest.fixture(autouse=True)
def _as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_door, "_warmed_up", set())
    monkeypatch.setattr(front_door, "_announced", [])


@given(
    calls=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([None, Limit.TIME, Limit.ITERATIONS])), max_size=12
    )
)
def test_calls_go_on_until_nothing_more_is_compiled(calls: list[tuple[int, Limit | None]]) -> None:
    solver = Compiling(*calls)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(front_door, "_warmed_up", set())
        patch.setattr(front_door, "_made", lambda: (solver.made, 0))
        ready(solver, PROBLEM)
        made, limit = calls[solver.called - 1] if solver.called <= len(calls) else (0, None)
        assert made == 0, "the last call has compiled nothing"
        idle = [limit for made, limit in calls[: solver.called] if not made]
        assert limit is not Limit.TIME or len(idle) == 3, "it was done, or it was given up"
        assert all(limit is Limit.TIME for limit in idle[:-1]), "no call in vain"
        called = solver.called
        ready(solver, PROBLEM)
        assert solver.called == called, "once in a process"


def test_a_solver_that_fails_is_left_to_the_call_that_counts() -> None:
    def broken(problem: EvolutionProblem, budget: Budget) -> Result[None]:
        msg = f"cannot do {len(problem.applications)} applications in {budget.seconds} s"
        raise RuntimeError(msg)

    ready(broken, PROBLEM)


def test_an_interrupt_is_passed_on_and_the_solver_is_not_ready() -> None:
    solver = Compiling((0, Limit.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        ready(solver, PROBLEM)
    ready(solver, PROBLEM)
    assert solver.called == 2


class Announce:
    """Is announced to, and followed until it has heard twice how far kernels are."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.followed: list[str] = []
        self.heard = threading.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line)

    def follow(self, line: str) -> None:
        self.followed.append(line)
        if len(self.followed) == 2:
            self.heard.set()


def test_long_compilations_are_announced_once_and_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    announce = Announce()

    def compiling(_: EvolutionProblem, __: Budget) -> Result[None]:
        made[0] += 1
        assert announce.heard.wait(60)
        return Result(Status.UNKNOWN)

    made = [0]
    monkeypatch.setattr(front_door, "_MOMENT_S", 0.01)
    monkeypatch.setattr(front_door, "_made", lambda: (min(made[0], 1), 0))
    ready(compiling, PROBLEM, announce=announce)
    front_door.announce_once(announce, "again")
    assert announce.lines == ["compiling kernels: the first call of a solver takes a while"]
    assert announce.followed[:2] == announce.lines * 2


def test_an_announcement_names_the_kernel_and_how_far_it_is() -> None:
    with compiling("search", 54):
        assert front_door._announcement() == (
            "compiling kernels: search, 0 of 54 functions; the first call of a solver takes a while"
        )
    assert compilation() is None


def test_what_is_loaded_from_the_cache_is_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = [0]

    def made() -> Iterator[int]:
        loaded[0] += loaded[0] < 3
        yield from (0, loaded[0])

    monkeypatch.setattr(front_door, "_MOMENT_S", 0.001)
    monkeypatch.setattr(front_door, "_made", lambda: tuple(made()))
    lines: list[str] = []
    ready(Compiling(), PROBLEM, announce=lines.append)
    assert lines == []


def test_whoever_solves_makes_ready_before(monkeypatch: pytest.MonkeyPatch) -> None:
    made_ready: list[object] = []
    for place in ("front_door", "place"):
        module = importlib.import_module(f"allocsolve.registry.{place}")
        monkeypatch.setattr(module, "ready", lambda solver, *_: made_ready.append(solver))
    solve(PROBLEM, "noX")
    make_allocator("first-fit")
    assert len(made_ready) == 1
