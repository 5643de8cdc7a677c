"""What policies see and decide where nodes are places: on views, on snapshots, by choosers, and by agents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_place_policies import Machine
from naive_places import room
from place_strategies import POLICIES, SLURM, problems, seen
from tiers import examples

from allocsolve.adaptors import AgentPolicy, node_chooser
from allocsolve.adaptors.gymnasium import WorkloadEnv
from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName, UnsupportedProblem
from allocsolve.exact import WorkloadCpSat
from allocsolve.heuristics import Conservative, Easy, Fcfs, FirstFit, MalleableMin, SlurmBackfill
from allocsolve.heuristics.workload.on_places import continued_on_places
from allocsolve.judge import violations
from allocsolve.model import Budget, Job, Jobs, NodeType, WorkloadProblem, packed_places
from allocsolve.model.plain_only import NO_DEVICES
from allocsolve.report import when
from allocsolve.simulation import (
    Engine,
    EngineRules,
    IllegalDecision,
    NodeTable,
    QueueSnapshot,
    Start,
    forecast,
    run_policy,
    simulate,
)
from allocsolve.simulation.compiled import PolicySolver
from allocsolve.simulation.node_choice import NODE_CHOICES, Pieces
from allocsolve.simulation.node_table import seated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allocsolve.simulation import Decision, QueueView

ALL: dict[str, st.SearchStrategy[Any]] = {
    **POLICIES,
    "slurm": SLURM,
    "conservative": st.builds(
        Conservative, compression=st.just("replan"), estimate=st.sampled_from(["limit", "actual"])
    ),
}


def shown(problem: WorkloadProblem) -> WorkloadProblem:
    """Return a workload without what views do not show."""
    return replace(problem, jobs=Jobs.of(replace(job, eligible=None, boost=0) for job in problem.jobs))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=examples(400), deadline=None)
@given(problem=problems(devices=False), data=st.data())
def test_decisions_on_views_are_those_of_the_compiled_loop(
    name: str, problem: WorkloadProblem, data: st.DataObject
) -> None:
    """Starts, their nodes and reasons, of a policy that wraps another one as a plug-in does."""
    problem, policy = shown(problem), data.draw(ALL[name])
    if name != "conservative":
        estimates = {} if name != "easy" else {"estimate": data.draw(st.sampled_from(["limit", "actual"]))}
        policy = replace(policy, **estimates)
    compiled, called = policy.simulated(problem), run_policy(problem, policy)
    assert violations(problem, called.schedule) == ()
    assert seen(called.schedule) == seen(compiled.schedule)
    for column in ("started", "reasons", "blocked"):
        assert getattr(called.log, column).tolist() == getattr(compiled.log, column).tolist()


@pytest.mark.parametrize("name", [name for name in ALL if name != "conservative"])
@settings(max_examples=examples(100), deadline=None)
@given(problem=problems(devices=False), data=st.data())
def test_snapshots_and_forecasts_go_on_from_views(
    name: str, problem: WorkloadProblem, data: st.DataObject
) -> None:
    """A simulator with a state of its own decides as the engine does, and sees the same future.

    Rules that ask which jobs are typical are left out: a snapshot knows those only that wait or run.
    """
    policy = data.draw(ALL[name].filter(lambda one: not one.choice.startswith("fgd")))

    def by_views(view: QueueView) -> Sequence[Decision]:
        """Decide as the policy does, without its compiled loop."""
        decided: Sequence[Decision] = policy.decide(view)
        return decided

    engine = Engine(shown(problem))
    while (view := engine.advance()) is not None:
        snapshot = QueueSnapshot.of(view)
        decided, again = policy.decide(view), policy.decide(snapshot.view())
        assert [(int(view.queue[one.job]), one.places) for one in again if isinstance(one, Start)] == [
            (one.job, one.places) for one in decided if isinstance(one, Start)
        ]
        if len(view.queue):
            called = forecast(view, by_views)
            np.testing.assert_array_equal(forecast(view, policy), called)
            run_times = snapshot.running_limits, snapshot.limits
            starts = snapshot.starts(by_views, *run_times)
            np.testing.assert_array_equal(snapshot.starts(policy, *run_times), starts)
        engine.apply(decided)


@settings(max_examples=examples(200), deadline=None)
@given(problem=problems(devices=False), choice=st.sampled_from(NODE_CHOICES))
def test_views_show_what_is_free_and_choosers_take_what_rules_do(
    problem: WorkloadProblem, choice: Any
) -> None:
    """By the slow twin; first fit, around a chooser that is told what is free, is that of the engine."""
    problem = shown(problem)
    jobs, machine = list(problem.jobs), Machine(problem, choice)
    choose = node_chooser(choice, problem.node_types, jobs=jobs)
    names = [name for name in machine.names if name != "nothing"]

    def first_fit(view: QueueView) -> Iterator[Start]:
        places = view.places
        assert places is not None
        where = [dict(places.pieces.pairs(at)) for at in range(len(view.running))]
        held = dict(zip(view.running.tolist(), where, strict=True))
        nodes = range(problem.num_nodes)
        assert places.free.tolist() == [[machine.free(node, held)[name] for name in names] for node in nodes]
        assert view.free == sum(not any(node in spots for spots in held.values()) for node in nodes)
        table, has = places.table(), places.given.has[places.given.type_of_node]
        for job in view.queue.tolist():
            there = room(problem, jobs[job], [(jobs[other], spots) for other, spots in held.items()])
            assert table.room(job).tolist() == there
            if not machine.fits(job, machine.rooms(job, 0, 0, held)):
                assert not table.fits(job)
                continue
            # What is free tells who is on a node, unless that takes nothing, or all.
            told = np.where((table.free < has).any(axis=1), 1, 0)
            told[has.any(axis=1) & ~table.free.any(axis=1)] = -1
            free = table.free.tolist()
            tells = bool(names) and told.tolist() == np.sign(table.occupants).tolist()
            held[job] = machine.chosen(job, machine.rooms(job, 0, 0, held), held)
            assert table.start(job) == tuple(sorted(held[job].items()))
            assert not tells or choose(free, jobs[job]) == tuple(sorted(held[job].items()))
            yield Start(job, len(held[job]), places=tuple(held[job].items()))

    expected = FirstFit(choice=choice).simulated(problem).schedule
    assert seen(run_policy(problem, first_fit, EngineRules(choice=choice)).schedule) == seen(expected)


@settings(max_examples=examples(100), deadline=None)
@given(problem=problems(devices=False), choice=st.sampled_from(NODE_CHOICES))
def test_starts_without_nodes_go_where_the_rule_says(problem: WorkloadProblem, choice: Any) -> None:
    problem = shown(problem)

    class Fitting:
        rules = EngineRules(choice=choice)

        def decide(self, view: QueueView) -> Iterator[Start]:
            assert view.places is not None
            table = view.places.table()
            for job in view.queue.tolist():
                if table.fits(job):
                    table.start(job)
                    yield Start(job, 1)

    agent = AgentPolicy(lambda _, mask: int(np.argmax(mask)), window=32, choice=choice)
    expected = seen(FirstFit(choice=choice).simulated(problem).schedule)
    answer = PolicySolver(Fitting)(problem, Budget()).answer
    assert answer is not None
    assert seen(answer) == expected
    assert seen(simulate(problem, agent)) == expected


TYPES = [NodeType("cpu", 2, {"cpus": 4}), NodeType("gpu", 1, {"cpus": 4, "gpus": 2}, weight=1)]
TWO = WorkloadProblem(
    None,
    [Job(0, 2, 9, chunks=3, each={"cpus": 2}, per_node=2), Job(0, 1, 9, types=["gpu"]), Job(5, 1, 9)],
    node_types=TYPES,
)


@pytest.mark.parametrize(
    ("places", "fault"),
    [
        ([(0, 2), (1, 2)], "job 0: starts with 4 of its 3 chunks"),
        ([(0, 2)], "job 0: starts with 2 of its 3 chunks"),
        ([(0, 3)], "job 0: 3 chunks on node 0, which has room for 2"),
        ([(0, 0), (1, 2)], "job 0: 0 chunks on node 0, which has room for 2"),
        ([(0, 1), (0, 2)], "job 0: node 0 stands twice"),
        ([(0, 1), (3, 2)], "job 0: node 3 is none of the 3 nodes"),
        ([0, 1], "job 0: places [0, 1] are no pairs of node and chunks"),
        ([(0, 1.5)], "job 0: places [(0, 1.5)] are no pairs of node and chunks"),
    ],
)
def test_nodes_that_cannot_be_are_refused_in_one_line(places: Any, fault: str) -> None:
    """Nothing has changed then, also of starts before the one that is wrong."""
    engine = Engine(TWO)
    engine.advance()
    with pytest.raises(IllegalDecision) as caught:
        engine.apply([Start(1, 1, places=((2, 1),)), Start(0, 2, places=places)])
    assert str(caught.value) == fault
    engine.apply([Start(0, 2, places=((0, 2), (2, 1)))])
    with pytest.raises(
        IllegalDecision, match=r"job 1: does not fit what is free: room for 0 of its 1 chunks"
    ):
        engine.apply([Start(1, 1)])
    view = engine.advance()
    assert view is not None
    assert view.places is not None
    assert (view.free, view.places.free.tolist()) == (1, [[0, 0], [4, 0], [2, 2]])
    assert view.places.given.names == ("cpus", "gpus")


def test_what_is_not_shown_is_refused() -> None:
    counted = WorkloadProblem(2, [Job(0, 1, 1)])
    with pytest.raises(IllegalDecision, match="nodes are counted"):
        run_policy(counted, lambda view: [Start(int(job), 1, places=((0, 1),)) for job in view.queue])
    late = WorkloadProblem(None, [Job(0, 1, 1, boost=2)], node_types=TYPES)
    with pytest.raises(UnsupportedProblem, match="head starts and nodes as places, but policies that are"):
        run_policy(late, Fcfs())
    for policy in (MalleableMin(), Easy(like="raps"), Conservative()):
        with pytest.raises(UnsupportedProblem, match="places"):
            run_policy(TWO, policy)
    view = Engine(TWO).advance()
    assert view is not None
    snapshot = QueueSnapshot.of(view)
    state: dict[str, Any] = {
        "num_nodes": 3,
        "now": 5,
        "running_nodes": [1],
        "running_starts": [0],
        "running_limits": [9],
        "nodes": [1],
        "submits": [5],
        "limits": [9],
        "eligible": [5],
        "node_types": snapshot.node_types,
        "running_shapes": ({},),
        "shapes": ({},),
        "running_places": (((2, 1),),),
    }
    assert QueueSnapshot(**state).starts(Fcfs(), np.array([9.0]), np.array([9.0])).tolist() == [5.0]
    with pytest.raises(InvalidProblem, match="running job 0: node 3 is none of the 3 nodes"):
        QueueSnapshot(**state | {"running_places": (((3, 1),),)})
    with pytest.raises(InvalidProblem, match="0 places, 1 and 1 shapes for 1 running and 1 queued jobs"):
        QueueSnapshot(**state | {"running_places": ()})


DEVICES = WorkloadProblem(
    None,
    [Job(0, 1, 9, chunks=1, each={"gpus": 500}), Job(0, 1, 9, chunks=1, each={"gpus": 1000})],
    node_types=[NodeType("gpu", 2, {"gpus": 2000}, devices={"gpus": 2})],
)


def _snapshot() -> QueueSnapshot:
    """Return a state in which nobody runs and a job waits."""
    none, one = np.zeros(0, dtype=np.int64), np.ones(1, dtype=np.int64)
    return QueueSnapshot(
        num_nodes=2,
        now=0,
        running_nodes=none,
        running_starts=np.zeros(0),
        running_limits=np.zeros(0),
        nodes=one,
        submits=np.zeros(1),
        limits=np.ones(1),
        eligible=np.zeros(1),
        node_types=DEVICES.node_types,
        shapes=({"chunks": 1, "each": {"gpus": 500}},),
    )


@pytest.mark.parametrize(
    "asked",
    [
        lambda: run_policy(DEVICES, Fcfs()),
        lambda: simulate(DEVICES, lambda view: [Start(int(job), 1) for job in view.queue]),
        lambda: Engine(DEVICES),
        lambda: DEVICES.on_nodes,
        lambda: NodeTable(packed_places(DEVICES)),
        _snapshot,
        lambda: node_chooser("first", DEVICES.node_types),
        lambda: WorkloadEnv(DEVICES, jobs=2, test_share=0).reset(),
        lambda: WorkloadCpSat()(DEVICES, Budget(seconds=1)),
        lambda: seated(DEVICES.node_types, [], [], "first"),
        lambda: continued_on_places(DEVICES, Easy().queue_policy.rule, "first", np.arange(0), Pieces.of([])),
        lambda: when(__file__, node_types=DEVICES.node_types),
    ],
)
def test_who_does_not_know_devices_says_so_in_one_line(asked: Callable[[], object]) -> None:
    """The compiled loops do know them."""
    with pytest.raises(UnsupportedProblem) as caught:
        asked()
    assert str(caught.value) == NO_DEVICES
    assert "\n" not in NO_DEVICES
    for policy in (Fcfs(), FirstFit(), Easy(), SlurmBackfill(), Conservative("replan")):
        assert violations(DEVICES, policy.simulated(DEVICES).schedule) == ()


def test_choosers_are_told_what_they_need() -> None:
    job = Job(0, 1, 1, chunks=1, each={"cpus": 2})
    choose = node_chooser("least-loaded", TYPES)
    assert choose([{"cpus": 2}, {"cpus": 3}, {"gpus": 1}], job) == ((1, 1),)
    assert choose([[1, 0], [1, 0], [0, 0]], job) is None
    assert choose([[3, 0], [4, 0], [4, 2]], Job(0, 2, 1)) == ((1, 1), (2, 1))
    for free in ([[1, 0]], [[1, 0], [5, 0], [0, 0]], [[-1, 0], [0, 0], [0, 0]], [[0.5, 0], [0, 0], [0, 0]]):
        with pytest.raises(InvalidOption, match="free does not tell cpus, gpus of 3 nodes"):
            choose(free, job)
    with pytest.raises(InvalidOption, match="fgd asks which jobs are typical"):
        node_chooser("fgd", TYPES)
    with pytest.raises(UnknownName):
        node_chooser("growth", TYPES)
    with pytest.raises(InvalidProblem):
        choose([[4, 0], [4, 0], [4, 2]], Job(0, 4, 1))
