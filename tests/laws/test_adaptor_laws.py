"""Adaptors: schedules in the programs of others are those of our engine."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import batsim.batsim as pybatsim
import hpcopt_fake
import numpy as np
import pytest
from batsim_fake import WORKLOAD, BatsimFake
from client_tools import policy, rigid, under_our_engine
from flux_fake import FluxFake, Scheduler
from foreign_tools import driven, submit
from naive_malleable import draw_malleable
from naive_workload_engine import draw_problem

from allocsolve.adaptors import PolicyDriver, node_chooser
from allocsolve.adaptors.batsim import PybatsimScheduler
from allocsolve.adaptors.flux import FluxScheduler
from allocsolve.adaptors.hpcopt import HpcoptPlugin, HpcoptPolicy, easy, fcfs
from allocsolve.instances.generators.examples import random_workload, workload_examples
from allocsolve.model import Amdahl, Job, SpeedupTable, WorkloadProblem
from allocsolve.registry import make_solver
from allocsolve.simulation import Engine, EngineRules, simulate
from allocsolve.simulation.forecast import promised_starts

if TYPE_CHECKING:
    from allocsolve.simulation import Decision, QueueView


#: Policies of rigid and moldable jobs that are called at all events.
QUEUE = (
    *("fcfs", "first-fit", "easy", "easy(estimate=user-average)", "easy(order=f1)", "easy(like=cqsim)"),
    *("easy(like=hpcopt)", "easy(like=raps)", "easy(moldable=fit)"),
)
CONSERVATIVE = tuple(
    f"conservative(compression={compression})" for compression in ("compress", "replan", "none")
)
MALLEABLE = (
    *("malleable-min", "malleable-average", "malleable-pref"),
    *("malleable-prefkeeper", "static-price"),
)


def _in_order(problem: WorkloadProblem) -> WorkloadProblem:
    """Return the workload with its jobs in the order of submission, as other programs number them."""
    return WorkloadProblem(problem.num_nodes, sorted(problem.jobs, key=lambda job: job.submit))


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("name", QUEUE)
def test_queue_policies_start_all_jobs_when_our_engine_does(name: str, coalesce: bool) -> None:
    policy: Any = make_solver(name, WorkloadProblem)
    rules = EngineRules(coalesce, getattr(policy, "rules", EngineRules()).knowledge)
    rng = random.Random(f"{name}{coalesce}")
    drawn = [_in_order(draw_problem(rng, moldable=True)) for _ in range(25)]
    for problem in (*drawn, random_workload(5, 300, 16)):
        assert driven(problem, name, rules) == simulate(problem, policy, rules)


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_conservative_backfilling_call_by_call_is_that_of_the_whole_workload(name: str) -> None:
    policy: Any = make_solver(name, WorkloadProblem)
    rng = random.Random(name)
    drawn = [_in_order(draw_problem(rng, moldable=False)) for _ in range(60)]
    rigid = [_in_order(problem) for problem in workload_examples() if problem.is_rigid]
    for problem in (*drawn, *rigid, random_workload(6, 300, 16)):
        assert driven(problem, name) == simulate(problem, policy)


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("name", MALLEABLE)
def test_malleable_policies_change_sizes_when_our_engine_does(name: str, coalesce: bool) -> None:
    policy: Any = make_solver(name, WorkloadProblem)
    rng = random.Random(f"{name}{coalesce}")
    for _ in range(25):
        problem = _in_order(draw_malleable(rng))
        rules = EngineRules(coalesce)
        assert driven(problem, name, rules) == simulate(problem, policy, rules)


def test_what_a_view_shows_is_what_the_view_of_our_engine_shows() -> None:
    problem = random_workload(7, 200, 16)
    seen: list[QueueView] = []

    def policy(view: QueueView) -> tuple[Decision, ...]:
        seen.append(view)
        return ()

    driver = PolicyDriver(policy, 16)
    engine = Engine(problem)
    view = engine.advance()
    assert view is not None
    submit(driver, problem, 0)
    driver.decide(view.now, free=16, queue=["job-0"])
    ours, columns = seen[0], view.jobs
    for name in ("now", "num_nodes", "free", "pool", "reserved", "woken"):
        assert getattr(ours, name) == getattr(view, name)
    for name in ("completed", "submitted", "queue", "running", "expected_ends", "held", "targets"):
        assert getattr(ours, name).tolist() == getattr(view, name).tolist()
        assert not getattr(ours, name).flags.writeable
    for name in ("submit", "nodes", "min_nodes", "max_nodes", "estimate", "weight", "kind", "size_step"):
        assert getattr(ours.jobs, name).tolist() == getattr(columns, name)[:1].tolist()
    for column in ours.jobs:
        assert not column.flags.writeable


# --- Batsim -------------------------------------------------------------------------------------------

#: Of each policy, random workloads.
CASES = 40


def run(problem: WorkloadProblem, policy: Any, **options: Any) -> BatsimFake:
    """Run a workload under pybatsim and a policy of ours; all of it in one process."""
    told = {name: options.pop(name) for name in ("acknowledged", "first_machine") if name in options}
    fake = BatsimFake(problem, **told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pybatsim, "NetworkHandler", lambda *_, **__: fake)
        pybatsim.Batsim(PybatsimScheduler(policy, **options), "", 1).start()
    return fake


def moldable(draw: random.Random) -> WorkloadProblem:
    """Return a workload of jobs with tables of whole seconds, and of rigid ones."""
    nodes, rows = draw.randint(3, 9), []
    for _ in range(draw.randint(1, 15)):
        sizes = sorted(draw.sample(range(1, nodes + 1), draw.randint(1, 3)))
        seconds = sorted(draw.sample(range(1, 30), len(sizes)), reverse=True)
        at = draw.randrange(len(sizes))
        table = SpeedupTable(zip(sizes, seconds, strict=True)) if len(sizes) > 1 else None
        low, high = (sizes[0], sizes[-1]) if table else (None, None)
        submit, run_time = draw.randint(0, 30), seconds[at]
        rows.append(Job(submit, sizes[at], run_time, run_time, min_nodes=low, max_nodes=high, speedup=table))
    return WorkloadProblem(nodes, rows)


def _starts(fake: BatsimFake, problem: WorkloadProblem, sizes: list[int]) -> list[float]:
    """Return the start of each job, whose static or registered self has run on so many nodes."""
    packed = problem.packed
    names = [
        f"{WORKLOAD}!{job}" if size == packed.nodes[job] else f"{WORKLOAD}!{job}_{size}"
        for job, size in enumerate(sizes)
    ]
    assert fake.starts.keys() == {*names}
    return [fake.starts[name] for name in names]


@pytest.mark.parametrize(
    "name", ["fcfs", "first-fit", "easy", "easy(like=cqsim)", "easy(coalesce=False)", "easy(order=wfp3)"]
)
def test_rigid_jobs_start_when_they_do_here(name: str) -> None:
    draw = random.Random(name)
    for case in range(CASES):
        problem = rigid(draw, unlimited=0.1)
        fake = run(problem, name, first_machine=case % 3)
        expected = under_our_engine(problem, name).first_starts
        assert _starts(fake, problem, problem.packed.nodes.tolist()) == expected.tolist()
        assert not fake.rejected


@pytest.mark.filterwarnings("ignore:The 'warn' method:DeprecationWarning")  # pybatsim calls it
@pytest.mark.parametrize("acknowledged", [False, True])
@pytest.mark.parametrize("name", ["fcfs", "easy", "easy(moldable=fit)", "easy(moldable=min)"])
def test_moldable_jobs_start_when_and_on_what_they_do_here(name: str, acknowledged: bool) -> None:
    draw = random.Random(name)
    registered = 0
    for _ in range(CASES):
        problem = moldable(draw)
        fake = run(problem, name, acknowledged=acknowledged)
        schedule = under_our_engine(problem, name)
        sizes = [schedule.pieces(job)[0][2] for job in range(len(problem.jobs))]
        assert _starts(fake, problem, sizes) == schedule.first_starts.tolist()
        registered += len(fake.rejected)
    assert registered > CASES


@pytest.mark.parametrize("allocator", ["sorted-free-list", "curve-fit(method=best-fit, order=row-major)"])
def test_an_allocator_chooses_the_machines_and_not_the_starts(allocator: str) -> None:
    draw = random.Random(allocator)
    differ = 0
    for _ in range(10):
        problem = rigid(draw, 32, unlimited=0.1)
        plain = run(problem, "easy")
        chosen = run(problem, "easy", choose=node_chooser(allocator, problem.num_nodes))
        assert chosen.starts == plain.starts
        differ += chosen.allocations != plain.allocations
    assert (differ > 0) == (allocator != "sorted-free-list")


# --- Hpcopt -------------------------------------------------------------------------------------------


def narrowest(snapshot: Any) -> Any:
    """Start the narrowest jobs first: a plug-in as others write them."""
    free, chosen = snapshot.free_cpus, []
    for job in sorted(snapshot.queued_jobs, key=lambda job: (job.requested_cpus, job.job_id)):
        if job.requested_cpus <= free:
            free -= job.requested_cpus
            end = snapshot.clock_ts + job.runtime_estimate_sec
            chosen.append(
                SimpleNamespace(
                    job_id=job.job_id,
                    requested_cpus=job.requested_cpus,
                    runtime_estimate_sec=job.runtime_estimate_sec,
                    estimated_completion_ts=end,
                    reason="",
                )
            )
    return SimpleNamespace(policy_id="NARROWEST", reservation_ts=None, decisions=tuple(chosen))


@pytest.mark.parametrize("name", ["fcfs", "first-fit", "easy", "easy(strict=True)", "easy(order=f1)"])
def test_with_exact_estimates_a_plugin_does_what_the_policy_does_here(name: str) -> None:
    draw = random.Random(name)
    for _ in range(CASES):
        problem = rigid(draw, most_spare=0)
        expected = under_our_engine(problem, name).first_starts
        assert hpcopt_fake.run(problem, HpcoptPlugin(name, "OURS")) == expected.tolist()


def test_with_loose_estimates_plugins_see_the_true_ends_of_running_jobs() -> None:
    """So do all policies in hpcopt's engine; only a preset that wants it so is the same here."""
    draw = random.Random(1)
    differ = 0
    for _ in range(CASES):
        problem = rigid(draw, most_spare=20)
        for name in ("fcfs", "easy(like=hpcopt)"):
            expected = under_our_engine(problem, name).first_starts
            assert hpcopt_fake.run(problem, HpcoptPlugin(name, "OURS")) == expected.tolist()
        expected = under_our_engine(problem, "easy").first_starts
        differ += hpcopt_fake.run(problem, easy) != expected.tolist()
    assert differ


@pytest.mark.parametrize("chooser", [fcfs, easy, HpcoptPlugin("easy(like=hpcopt)", "OURS"), narrowest])
def test_a_plugin_under_our_engine_does_what_it_does_in_hpcopt(chooser: Any) -> None:
    draw = random.Random(2)
    for _ in range(CASES):
        problem = rigid(draw, most_spare=20)
        starts = simulate(problem, HpcoptPolicy(chooser)).first_starts
        assert starts.tolist() == hpcopt_fake.run(problem, chooser)


def test_a_plugin_may_see_what_a_scheduler_can_know() -> None:
    draw = random.Random(3)
    for _ in range(CASES):
        problem = rigid(draw, most_spare=20)
        expected = under_our_engine(problem, "easy").first_starts
        found = simulate(problem, HpcoptPolicy(easy, ends="estimate")).first_starts
        assert found.tolist() == expected.tolist()


# --- Flux ---------------------------------------------------------------------------------------------

FLUX_CASES = 30


def scheduler(name: str, **attributes: object) -> type:
    """Return a scheduler as its user would write it."""
    return type(
        "OurScheduler", (FluxScheduler, Scheduler), {"policy": name, "most_forecast": 0, **attributes}
    )


def moldable_nodes(draw: random.Random) -> WorkloadProblem:
    """Return such jobs that may run on more nodes; run times are those on any number of nodes."""
    drawn, rows = rigid(draw), []
    for job in drawn.jobs:
        high = draw.randint(job.nodes, drawn.num_nodes)
        law = Amdahl(0) if high > job.nodes else None
        rows.append(replace(job, min_nodes=job.nodes, max_nodes=high, speedup=law, kind=None))
    return WorkloadProblem(drawn.num_nodes, rows)


@pytest.mark.parametrize(
    "name", ["fcfs", "first-fit", "easy", "easy(like=flux)", "easy(order=smallest-area)"]
)
def test_rigid_jobs_start_in_flux_when_they_do_here(name: str) -> None:
    draw = random.Random(name)
    for _ in range(FLUX_CASES):
        problem = rigid(draw)
        fake = FluxFake(problem, scheduler(name))
        fake.run()
        assert fake.starts == under_our_engine(problem, name).first_starts.tolist()


@pytest.mark.parametrize("unit", ["nodes", "cores"])
def test_nodes_of_one_core_are_cores(unit: str) -> None:
    problem = rigid(random.Random(unit))
    fake = FluxFake(problem, scheduler("easy", unit=unit))
    fake.run()
    assert fake.starts == under_our_engine(problem, "easy").first_starts.tolist()


@pytest.mark.parametrize("name", ["fcfs", "easy", "easy(moldable=fit)", "easy(moldable=min)"])
def test_ranges_are_moldable_jobs(name: str) -> None:
    draw = random.Random(name)
    for _ in range(FLUX_CASES):
        problem = moldable_nodes(draw)
        fake = FluxFake(problem, scheduler(name))
        fake.run()
        schedule = under_our_engine(problem, name)
        assert fake.starts == schedule.first_starts.tolist()
        for jobid, job in enumerate(fake.order):
            granted = fake.jobs[jobid].request.granted
            assert granted is not None
            assert len(granted.ranks) == schedule.pieces(job)[0][2]
            end = fake.starts[job] + problem.packed.estimate[job]
            assert granted.times == {"starttime": fake.starts[job], "expiration": end}


def test_the_first_estimate_of_a_start_is_the_forecast_at_the_submission() -> None:
    draw = random.Random(4)
    told = 0
    for _ in range(10):
        problem = rigid(draw)
        fake = FluxFake(problem, scheduler("easy", most_forecast=64))
        fake.run()
        expected = promised_starts(problem, policy("easy"))
        for jobid, job in enumerate(fake.order):
            annotations = fake.jobs[jobid].request.annotations
            if annotations:
                told += 1
                assert np.isclose(annotations[0]["sched"]["t_estimate"], expected[job])
            else:
                assert fake.starts[job] == problem.packed.submit[job]
    assert told > 10
