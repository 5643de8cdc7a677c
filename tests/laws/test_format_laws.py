"""Laws of conversions: to a format and back is the same problem, but for what the format is said not to hold.

What a format holds is written down here once more, job by job: `held_by_*` are the problems that must come
back, and what they lack is what must have been said, with the number of jobs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from format_draws import random_schedule, random_workload_of
from tiers import draws

from allocsolve.errors import InvalidProblem
from allocsolve.instances import (
    log_problem,
    read_batsim,
    read_elastisim,
    read_solution,
    read_swf_log,
    recorded_schedule,
    write_batsim,
    write_elastisim,
)
from allocsolve.instances.formats.simulators.conversion import CONVERSIONS, read_workload, write_workload
from allocsolve.instances.formats.simulators.swf import swf_with_unheld
from allocsolve.model import Job, Stall, WorkloadProblem, WorkloadSchedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


def workload(problem: WorkloadProblem, change: Callable[[int, Job], Job]) -> WorkloadProblem:
    """Return a problem whose jobs are changed, each by its place."""
    jobs = [change(idx, job) for idx, job in enumerate(problem.jobs)]
    return WorkloadProblem(problem.num_nodes, jobs, problem.name, problem.meta)


def rigid(job: Job) -> Job:
    named = {"limit": job.limit, "name": job.name, "user": job.user, "weight": job.weight}
    return Job(job.submit, job.nodes, job.runtime, **named)  # type: ignore[arg-type]  # fields by their names


def elastic(problem: WorkloadProblem, kind: str) -> int:
    return sum(job.kind == kind for job in problem.jobs)


def said(problem: WorkloadProblem, reasons: dict[str, int]) -> dict[str, int]:
    """Return the reasons that count, and what all formats lack."""
    if problem.meta:
        reasons["meta of the problem"] = 1
    return {reason: count for reason, count in reasons.items() if count}


def held_by_elastisim(problem: WorkloadProblem) -> tuple[WorkloadProblem, dict[str, int]]:
    jobs = [*problem.jobs]
    stalls = [job.reconfiguration for job in jobs if isinstance(job.reconfiguration, Stall)]
    stepped = [job.size_set != 1 or _has_gaps(job) for job in jobs]
    any_time = [job.kind == "malleable" and not job.points for job in jobs]
    reasons = {
        "jobs whose sizes are not all from min to max (in attributes only)": sum(stepped),
        "limits of a fraction of a second, rounded up (exact in attributes only)": sum(
            job.limit is not None and job.limit % 1 != 0 for job in jobs
        ),
        "malleable jobs that may change at any time, now every 10 s of work": sum(any_time),
        "stalls that depend on sizes": sum(stall.per_node + stall.shared > 0 for stall in stalls),
        "stalls that hold the larger number of nodes": sum(stall.holds == "larger" for stall in stalls),
    }

    def held(idx: int, job: Job) -> Job:
        stall = job.reconfiguration
        fixed = Stall(stall.fixed) if isinstance(stall, Stall) and stall.fixed else None
        points = math.ceil(job.runtime / 10) if any_time[idx] else job.points
        return replace(job, reconfiguration=fixed, points=points)

    return workload(problem, held), said(problem, reasons)


def _has_gaps(job: Job) -> bool:
    rows = getattr(job.speedup, "rows", None)
    return rows is not None and len(rows) < rows[-1][0] - rows[0][0] + 1


def test_elastisim_and_back(folder: Path) -> None:
    for seed in draws(1000):
        problem = random_workload_of(seed, "roaq")
        target = folder / "elastisim" / str(seed % 7)
        target.mkdir(parents=True, exist_ok=True)
        unheld = write_elastisim(problem, target)
        back = read_elastisim(target)
        held, reasons = held_by_elastisim(problem)
        assert (back.problem, unheld.counts, back.unheld.counts) == (held, reasons, {}), f"seed {seed}"


@pytest.mark.parametrize("kinds", ["p", "s"])
def test_elastisim_refuses_jobs_that_it_cannot_run(folder: Path, kinds: str) -> None:
    for seed in range(50):
        problem = random_workload_of(seed, kinds)
        what = "phases" if kinds == "p" else "profile"
        with pytest.raises(InvalidProblem, match=f"has {what}, which ElastiSim cannot run"):
            write_elastisim(problem, folder / "refused")
    assert not (folder / "refused").exists()


@pytest.mark.parametrize("version", ["5", "4"])
def test_batsim_and_back(folder: Path, version: str) -> None:
    for seed in draws(1000):
        problem = random_workload_of(seed, "roaqps")
        unheld = write_batsim(problem, folder / "workload.json", version=version)
        back = read_batsim(folder / "workload.json")
        reasons = {
            f"{kind} jobs, which Batsim runs as rigid ones (the rest is in extra_data)": elastic(
                problem, kind
            )
            for kind in ("moldable", "malleable", "evolving")
        }
        cut = sum(job.limit is not None and job.limit < job.runtime for job in problem.jobs)
        reasons["limits below the run time, at which Batsim would end jobs (in extra_data)"] = cut
        found = back.problem, unheld.counts, back.unheld.counts
        assert found == (problem, said(problem, reasons), {}), f"seed {seed}"


def held_by_swf(problem: WorkloadProblem) -> tuple[WorkloadProblem, dict[str, int]]:
    jobs = [*problem.jobs]
    order = sorted(range(len(jobs)), key=lambda idx: jobs[idx].submit)
    numbered = all(str(int(job.name)) == job.name if job.name.isdecimal() else False for job in jobs)
    users = [*dict.fromkeys(job.user for job in jobs if job.user is not None)]
    are_numbers = all(user.isdecimal() and str(int(user)) == user for user in users)
    number_of = {user: user if are_numbers else str(1 + users.index(user)) for user in users}
    reasons = {
        "order of the jobs, now by submission": int(order != sorted(order)),
        "names of jobs, now numbers": 0 if numbered else len(jobs),
        "users, now numbers": sum(number_of[user] != user for user in users),
        "weights of jobs": sum(job.weight != 1 for job in jobs),
        "name of the problem": int(problem.name != ""),
    }
    for kind in ("moldable", "malleable", "evolving"):
        reasons[f"{kind} jobs, as rigid ones"] = elastic(problem, kind)

    def held(idx: int, job: Job) -> Job:
        name = job.name if numbered else str(1 + idx)
        user = None if job.user is None else number_of[job.user]
        return replace(rigid(job), name=name, user=user, weight=1)

    plain = workload(problem, held)
    return replace_order(plain, order), said(problem, reasons)


def replace_order(problem: WorkloadProblem, order: list[int]) -> WorkloadProblem:
    jobs = [*problem.jobs]
    return WorkloadProblem(problem.num_nodes, [jobs[idx] for idx in order], "workload", problem.meta)


def test_swf_and_back(folder: Path) -> None:
    path = folder / "workload.swf"
    for seed in draws(1000):
        problem = random_workload_of(seed, "roaqps")
        unheld = write_workload(problem, None, path, "swf")
        held, reasons = held_by_swf(problem)
        fractions = unheld.counts.pop("jobs with fractions of seconds, which some readers refuse", 0)
        times = ((job.submit, job.runtime, job.limit or 0) for job in problem.jobs)
        assert fractions == sum(any(time % 1 for time in three) for three in times)
        name, back, unread = read_workload(path)
        assert (name, back, unheld.counts, unread.counts) == ("swf", held, reasons, {}), f"seed {seed}"


def test_swf_holds_when_rigid_jobs_ran(folder: Path) -> None:
    path = folder / "schedule.swf"
    for seed in draws(1000):
        problem = random_workload_of(seed, "r", exact=True)
        schedule = random_schedule(seed, problem)
        problem = held_by_swf(problem)[0]
        late = problem.packed.submit + schedule.first_starts
        schedule = WorkloadSchedule.of(problem, late)
        path.write_text(swf_with_unheld(problem, schedule)[0])
        log = read_swf_log(path, limits="keep")
        assert log.report.counts()["kept"] == len(problem.jobs)
        assert log_problem(log, origin="header").jobs == problem.jobs
        assert recorded_schedule(log, origin="header") == schedule, f"seed {seed}"


@pytest.mark.parametrize("name", ["evalys", "elastisim"])
def test_schedules_of_others_and_back(folder: Path, name: str) -> None:
    for seed in draws(1000):
        problem = random_workload_of(seed, "r", exact=True)
        schedule = random_schedule(seed, problem)
        target = folder / "schedules" if CONVERSIONS[name].is_folder else folder / "jobs.csv"
        unheld = write_workload(problem, schedule, target, name)
        assert not {reason for reason in unheld.counts if "schedule" in reason}
        found = read_solution(target / "schedule.csv" if target.is_dir() else target, problem)
        assert found == schedule, f"seed {seed}"


def test_a_schedule_for_evalys_tells_its_workload(folder: Path) -> None:
    path = folder / "ran.csv"
    for seed in draws(1000):
        problem = random_workload_of(seed, "r", exact=True)
        late = problem.packed.submit + random_schedule(seed, problem).first_starts
        schedule = WorkloadSchedule.of(problem, late)
        write_workload(problem, schedule, path, "evalys")
        name, back, _ = read_workload(path)
        assert isinstance(back, WorkloadProblem)
        assert (name, back.num_nodes) == ("evalys", problem.num_nodes), f"seed {seed}"
        jobs = [
            (job.name.strip(), job.submit, job.nodes, job.runtime, job.limit or -1) for job in problem.jobs
        ]
        found = [(job.name, job.submit, job.nodes, job.runtime, job.limit or -1) for job in back.jobs]
        assert sorted(found) == sorted(jobs), f"seed {seed}"


@pytest.mark.parametrize("name", ["json", "csv"])
def test_own_files_and_back(folder: Path, name: str) -> None:
    path = folder / f"own.{name}"
    for seed in draws(1000):
        problem = random_workload_of(seed, "roaqps" if name == "json" else "r")
        unheld = write_workload(problem, None, path, name)
        found, back, unread = read_workload(path)
        named = back if name == "json" else replace_name(back, problem.name)
        assert (found, named, unread.counts) == (name, problem, {}), f"seed {seed}"
        assert unheld.counts == (
            {} if name == "json" else said(problem, {"name of the problem": int(problem.name != "")})
        )


def replace_name(problem: object, name: str) -> WorkloadProblem:
    assert isinstance(problem, WorkloadProblem)
    return WorkloadProblem(problem.num_nodes, problem.jobs, name, problem.meta)
