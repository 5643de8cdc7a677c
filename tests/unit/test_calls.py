"""The call of a solver: what is looked at before and after is no part of its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allocsolve.bench.runs import reply
from allocsolve.instances import klein2011
from allocsolve.model import Budget, Result, Status

if TYPE_CHECKING:
    import pytest

    from allocsolve.model import EvolutionProblem


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
