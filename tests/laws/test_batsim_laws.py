"""Laws: what a policy of ours does under pybatsim, the real one, is what it does under our engine."""

from __future__ import annotations

import random
from typing import Any

import batsim.batsim as pybatsim
import pytest
from batsim_fake import WORKLOAD, BatsimFake
from client_tools import rigid, under_our_engine

from allocsolve.adaptors import node_chooser
from allocsolve.adaptors.batsim import PybatsimScheduler
from allocsolve.model import Job, SpeedupTable, WorkloadProblem

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
