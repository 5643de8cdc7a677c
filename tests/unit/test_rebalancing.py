"""Sizes at a clearing price: what comes out on Cori KNL, online and clairvoyant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from workload_traces import knl_problem, window_turnaround

from allocsolve.bounds.workload import time_prices
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.exact.workload import prices
from allocsolve.heuristics import Market, StaticPrice
from allocsolve.heuristics.workload import rebalancing
from allocsolve.heuristics.workload.market import market_schedule, or_coarse_market
from allocsolve.instances.generators.elastic import elastic_workload
from allocsolve.judge.workload import workload_metrics, workload_violations
from allocsolve.model import Amdahl, Budget, Clock, Job, WorkloadProblem
from allocsolve.model.job_kinds import MALLEABLE
from allocsolve.model.result import terms
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.model import WorkloadSchedule


def sizes(schedule: WorkloadSchedule, job: int) -> list[int]:
    return [piece[2] for piece in schedule.pieces(job)]


def malleable(submit: float, share: float = 0.9, **other: Any) -> Job:
    """Return a job of 110 s on 2 nodes."""
    given = {"min_nodes": 1, "max_nodes": 12} | other
    return Job(submit, 2, 110, speedup=Amdahl(share), kind="malleable", **given)


def test_whose_nodes_do_more_gets_more() -> None:
    # By the square root of the parallel share over the serial one: three to one.
    problem = WorkloadProblem(12, [malleable(0, 0.9), malleable(0, 0.5)])
    schedule = StaticPrice().simulated(problem).schedule
    assert (sizes(schedule, 0)[0], sizes(schedule, 1)[0]) == (9, 3)


def test_who_is_near_stays() -> None:
    # With a second job on 1 node the first wants 11, and shrinks for it; when that has ended it wants 12.
    problem = WorkloadProblem(12, [malleable(0), Job(10, 1, 5)])
    assert sizes(StaticPrice().simulated(problem).schedule, 0) == [12, 11]
    assert sizes(StaticPrice(0).simulated(problem).schedule, 0) == [12, 11, 12]


def test_options_are_checked() -> None:
    assert make_solver("static-price(hysteresis=1)", WorkloadProblem) == StaticPrice(1.0)
    for value in (-1, float("inf"), float("nan")):
        with pytest.raises(InvalidOption, match="is not a number"):
            StaticPrice(value)
    with pytest.raises(UnknownName):
        StaticPrice(order="age")  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        StaticPrice(resize_takes_effect="soon")  # type: ignore[arg-type]


def test_nothing_to_do() -> None:
    problem = WorkloadProblem(4, [])
    for solver in (StaticPrice(), Market()):
        answer = solver(problem, Budget()).answer
        assert answer is not None
        assert len(answer.starts) == 0


def test_a_market_whose_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = WorkloadProblem(12, [malleable(submit) for submit in range(20)])
    bound = time_prices(problem)
    whole = market_schedule(problem, bound)
    monkeypatch.setattr(rebalancing, "_CALLS", 1)
    assert market_schedule(problem, bound, Clock(np.inf)) == whole
    with pytest.raises(TimeoutError):
        market_schedule(problem, bound, Clock(0))
    # The schedule that there is stays.
    assert or_coarse_market(problem, ("turnaround",), whole, Clock(0), 0.1) is whole
    assert or_coarse_market(problem, ("turnaround",), whole, Clock(np.inf), np.inf) is whole


@pytest.mark.parametrize(("error", "limit"), [(KeyboardInterrupt, "interrupted"), (TimeoutError, "time")])
def test_the_baseline_survives_a_market_that_stops(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], limit: str
) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise error

    problem = WorkloadProblem(12, [malleable(submit) for submit in range(20)])
    monkeypatch.setattr(prices, "market_schedule", stopped)
    result = prices.Prices()(problem, Budget(iterations=100))
    assert result.limit is not None
    assert result.limit.value == limit
    assert result.answer is not None
    assert not workload_violations(problem, result.answer)
    assert terms(result.bound)[0] > 0


#: Hysteresis and seconds of work between points: the most that turnarounds of all jobs and of the window may
#: be, and changes of size for each malleable job. Another program has 1180.9, 1215.5 and, in the window,
#: 1278.5 s, where nodes that a job is to give up are promised to nobody.
ONLINE: dict[tuple[float, float], tuple[float, float, float]] = {
    (0, 0): (1190, np.inf, 20),
    (0.25, 0): (1225, np.inf, 2),
    (0.25, 10): (np.inf, 1278 * 1.03, 1.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("run", ONLINE, ids=str)
def test_cori_knl_online(traces: Path, run: tuple[float, float]) -> None:
    hysteresis, tick = run
    problem = elastic_workload(knl_problem(traces), share=1, seed=1, tick=tick)
    schedule = StaticPrice(hysteresis).simulated(problem).schedule
    assert not workload_violations(problem, schedule)
    turnaround, window, resizes = ONLINE[run]
    assert workload_metrics(problem, schedule).turnaround <= turnaround
    assert window_turnaround(problem, schedule) <= window
    changes = int(schedule.offsets[-1]) - len(problem.jobs)
    assert changes <= resizes * int((problem.packed.kind == MALLEABLE).sum())


@pytest.mark.slow
@pytest.mark.parametrize(("share", "turnaround"), [(1, 1165), (0.6, np.inf), (0.2, np.inf)])
def test_cori_knl_clairvoyant(traces: Path, share: float, turnaround: float) -> None:
    """Another program has 1162.4 s at 100 %."""
    problem = elastic_workload(knl_problem(traces), share=share, seed=1, tick=0)
    time_prices(problem, clock=Budget(seconds=1e-3).start())  # compiled
    bound = time_prices(problem, clock=Budget(seconds=15).start())
    schedule = market_schedule(problem, bound)
    assert not workload_violations(problem, schedule)
    value = workload_metrics(problem, schedule).turnaround
    assert bound.value <= value <= min(turnaround, 1.006 * bound.value)
