"""Another program's snapshots: what our policies make of them, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.adaptors import ForeignJobs, IllegalOrder, Order, PolicyDriver, RunningJob, named_policy
from allocsolve.errors import InvalidOption, InvalidProblem, PluginError, UnknownName
from allocsolve.model import Amdahl, SpeedupTable
from allocsolve.simulation import Answer, Promise, Resize, Start, Wake

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.simulation import Decision, QueueView


def driver_of(*decisions: Decision, kind: Any = "rigid") -> PolicyDriver:
    """Return a driver of a policy that decides this, on 8 nodes, with two jobs of 4."""
    driver = PolicyDriver(lambda _: decisions, 8)
    sizes: dict[str, Any] = {} if kind == "rigid" else {"min_nodes": 2, "max_nodes": 8, "kind": kind}
    for key in ("a", "b"):
        driver.jobs.add(key, submit=0, nodes=4, estimate=100, **sizes)
    return driver


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Start(0, 3), "job 'a': cannot run on 3 nodes"),
        (Start(7, 4), "job 7: is not in the queue"),
        (Start(-1, 4), "job -1: is not in the queue"),
        (Start(0.5, 4), "is malformed"),  # type: ignore[arg-type]  # no job
        (Resize(0, 2), "is for jobs that are not rigid"),
        (Wake(0), "wake-up at 0.0 is not after now, 0"),
        (Wake("soon"), "wake-up at 'soon' is at no time"),  # type: ignore[arg-type]  # no time
    ],
)
def test_what_breaks_a_rule_is_refused_by_key(decision: Decision, message: str) -> None:
    with pytest.raises(IllegalOrder) as caught:
        driver_of(decision).decide(0, free=8, queue=["a", "b"])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ([Start(0, 8), Start(1, 2)], "job 'b': starts on 2 nodes, but 0 are free"),
        ([Start(0, 2), Start(0, 2)], "job 'a': is not in the queue: it was started or promised nodes"),
        ([Resize(0, 2)], "job 'a': does not run"),
        ([Answer(0)], "job 'a': has no open request"),
        ([Promise(0, 9)], "job 'a': cannot run on 9 nodes"),
        ([3], "3 is no decision"),
    ],
)
def test_malleable_decisions_are_checked_as_the_engine_does(decisions: Any, message: str) -> None:
    with pytest.raises(IllegalOrder) as caught:
        driver_of(*decisions, kind="malleable").decide(0, free=8, queue=["a", "b"])
    assert message in str(caught.value)


def test_two_starts_that_do_not_fit_together_are_refused_and_a_start_twice() -> None:
    driver = driver_of(Start(0, 4), Start(1, 4))
    with pytest.raises(IllegalOrder, match="job 'b': starts on 4 nodes, but 1 are free"):
        driver.decide(0, free=5, queue=["a", "b"])
    with pytest.raises(IllegalOrder, match="job 'a': is not in the queue"):
        driver_of(Start(0, 4), Start(0, 4)).decide(0, free=8, queue=["a", "b"])


def test_snapshots_that_contradict_themselves_are_refused() -> None:
    driver = driver_of()
    with pytest.raises(InvalidOption, match="job 'c' is in the snapshot, but has not been added"):
        driver.decide(0, free=8, queue=["a", "c"])
    with pytest.raises(InvalidOption, match="job 'd' is in the snapshot"):
        driver.decide(0, free=4, queue=[], running=[RunningJob("d", 4, 0)])
    with pytest.raises(InvalidOption, match="at 3 s 5 of 8 nodes are free, 4 are held"):
        driver.decide(3, free=5, queue=["b"], running=[RunningJob("a", 4, 0)])


def test_nodes_given_up_for_a_queued_job_wait_for_it() -> None:
    calls: list[QueueView] = []

    def policy(view: QueueView) -> list[Decision]:
        calls.append(view)
        return [Resize(0, 4, for_job=1), Promise(1, 4)] if len(calls) == 2 else []

    driver = PolicyDriver(policy, 8)
    for at, key in enumerate(("wide", "waits", "last")):
        driver.jobs.add(
            key, submit=at, nodes=4, estimate=100, min_nodes=2, max_nodes=8, kind="malleable", points=5
        )
    wide = RunningJob("wide", 8, 0)
    assert driver.decide(0, free=0, queue=["waits", "last"], running=[wide]) == []
    assert driver.decide(5, free=0, queue=["waits", "last"], running=[wide]) == [Order("resize", "wide", 4)]
    # Until its next point the job holds its nodes.
    pending = wide._replace(target=4)
    assert driver.decide(9, free=0, queue=["waits", "last"], running=[pending]) == []
    assert calls[-1].promises.tolist() == [1]
    assert (calls[-1].targets.tolist(), calls[-1].queue.tolist()) == ([4], [2])
    shrunk = wide._replace(nodes=4)
    assert driver.decide(20, free=4, queue=["waits", "last"], running=[shrunk]) == [
        Order("start", "waits", 4)
    ]
    assert calls[-1].running.tolist() == [0, 1]
    assert (calls[-1].free, calls[-1].pool, calls[-1].resized.tolist()) == (0, 0, [0])


def test_requests_are_granted_and_refused() -> None:
    driver = PolicyDriver(lambda _: [Answer(0), Answer(1, granted=False)], 8)
    for key in ("a", "b"):
        driver.jobs.add(key, submit=0, nodes=2, estimate=9, min_nodes=1, max_nodes=4, kind="evolving")
    running = [RunningJob("a", 2, 0), RunningJob("b", 2, 0)]
    asked = [("a", 4), ("b", 3)]
    orders = driver.decide(1, free=4, queue=[], running=running, requests=asked)
    assert orders == [Order("grant", "a", 4), Order("refuse", "b", 3)]


def test_expected_ends_are_starts_and_estimates_or_what_is_told() -> None:
    seen: list[QueueView] = []

    def policy(view: QueueView) -> tuple[Decision, ...]:
        seen.append(view)
        return ()

    driver = PolicyDriver(policy, 8)
    driver.jobs.add("a", submit=0, nodes=2, estimate=50)
    driver.jobs.add("b", submit=0, nodes=2, runtime=100)
    driver.jobs.add("c", submit=0, nodes=2)
    rows = [RunningJob("a", 2, 0), RunningJob("b", 2, 0), RunningJob("c", 2, 0)]
    driver.decide(60, free=2, queue=[], running=rows)
    assert seen[0].expected_ends.tolist() == [60, 125, math.inf]
    driver.decide(70, free=2, queue=[], running=[rows[0]._replace(expected_end=300), *rows[1:]])
    assert seen[1].running.tolist() == [1, 0, 2]
    assert seen[1].expected_ends.tolist() == [125, 300, math.inf]
    assert np.isnan(seen[1].jobs.runtime).all()


def test_a_job_that_was_not_started_after_all_waits_again() -> None:
    driver = PolicyDriver("fcfs", 4)
    driver.jobs.add("a", submit=0, nodes=4, estimate=1)
    assert driver.decide(0, free=4, queue=["a"]) == driver.decide(1, free=4, queue=["a"])


def test_who_does_not_look_at_wake_is_told_once() -> None:
    driver = PolicyDriver(lambda view: [Wake(view.now + 10)], 4)
    driver.decide(0, free=4, queue=[])
    driver.decide(10, free=4, queue=[])
    with pytest.warns(
        UserWarning, match=r"asked to be called at 20 s, and is called at 20\.5 s: call"
    ) as told:
        driver.decide(20.5, free=4, queue=[])
    driver.decide(99, free=4, queue=[])
    assert [Path(warning.filename).name for warning in told] == [Path(__file__).name]


def test_a_job_that_can_never_start_is_refused_and_so_is_a_machine_without_nodes() -> None:
    driver = PolicyDriver("fcfs", 4)
    with pytest.raises(InvalidProblem, match="job 'wide': it needs 5 of 4 nodes, and can never start"):
        driver.jobs.add("wide", submit=0, nodes=5, estimate=1)
    driver.jobs.add("moldable", submit=0, nodes=5, min_nodes=4, max_nodes=8, kind="moldable", estimate=1)
    assert driver.decide(0, free=4, queue=["moldable"]) == [Order("start", "moldable", 4)]
    with pytest.raises(InvalidOption, match="num_nodes 0 is not in 1"):
        PolicyDriver("fcfs", 0)


def test_wake_ups_are_told_and_forgotten() -> None:
    driver = PolicyDriver(lambda view: [Wake(view.now + 10)] if view.now < 5 else [], 4)
    assert driver.wake == math.inf
    driver.decide(0, free=4, queue=[])
    driver.decide(1, free=4, queue=[])
    assert driver.wake == 10
    driver.decide(10.5, free=4, queue=[])
    assert driver.wake == 11


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        *[("fcsf", UnknownName), ("easy(like=slurm)", InvalidOption), ("no_such_module:x", PluginError)],
        *[("lina", InvalidOption), ("cpsat", InvalidOption), (17, InvalidOption)],
    ],
)
def test_what_is_no_policy_is_refused(policy: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        named_policy(policy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": 0}, "job 'x': nodes 0 is not at least 1"),
        ({"nodes": 2.5}, "job 'x': nodes 2.5 is not an integer"),
        ({"submit": math.inf}, "job 'x': submit inf is no time"),
        ({"estimate": -1}, "job 'x': estimate -1.0 is not at least 0"),
        ({"runtime": math.nan}, "job 'x': runtime nan is not at least 0"),
        ({"min_nodes": 5}, "job 'x': nodes 4 are not from 5 to 4"),
        ({"speedup": SpeedupTable([(2, 9)])}, "job 'x': nodes 4 are not in its table"),
    ],
)
def test_broken_jobs_are_refused_by_key(change: dict[str, Any], message: str) -> None:
    jobs, whole = ForeignJobs(), {"submit": 0, "nodes": 4, "estimate": 10}
    with pytest.raises(InvalidProblem) as caught:
        jobs.add("x", **whole | change)
    assert message in str(caught.value)
    assert len(jobs) == 0
    assert jobs.add("x", submit=0, nodes=4, estimate=10) == 0
    assert jobs.columns().speedup.tolist() == [0]


def test_the_table_grows_and_windows_stay() -> None:
    jobs, laws = ForeignJobs("actual"), (None, Amdahl(0.5), SpeedupTable([(1, 9), (2, 5)]))
    windows = []
    for at in range(200):
        jobs.add(at, submit=at, nodes=2, runtime=at, speedup=laws[at % 3], max_nodes=2, min_nodes=1, user="u")
        windows.append(jobs.columns())
    assert [len(window.submit) for window in windows] == [*range(1, 201)]
    last = windows[-1]
    assert last.runtime.tolist() == [*range(200)]
    assert last.estimate[100] == 125
    assert last.table_offsets[-1] == len(last.table_nodes) == 2 * 66
    assert last.table_seconds[:2].tolist() == [1.8, 1]
    assert set(last.user.tolist()) == {0}
    with pytest.raises(InvalidOption, match="job 7 is submitted twice"):
        jobs.add(7, submit=0, nodes=1)


def _orders(policy: Callable[[QueueView], Any], *keys: str) -> list[Order]:
    driver = PolicyDriver(policy, 4)
    for key in keys:
        driver.jobs.add(key, submit=-ord(key), nodes=1, estimate=1)
    return driver.decide(0, free=4, queue=keys)


def test_the_queue_is_in_the_order_of_submission_whatever_is_told() -> None:
    orders = _orders(lambda view: [Start(int(job), 1) for job in view.queue], "a", "c", "b")
    assert [order.key for order in orders] == ["c", "b", "a"]
