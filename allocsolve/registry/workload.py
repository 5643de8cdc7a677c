"""The family of workloads."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.families import CertificateKind, Claims, Codec, Family, Feature, Rules, imported
from allocsolve.heuristics.workload.queue_lengths import LONG_QUEUE, has_long_queue
from allocsolve.instances.formats.own import workload as codec, workload_certificates
from allocsolve.instances.formats.simulators import swf as tables
from allocsolve.instances.formats.simulators.foreign import FOREIGN_TABLES
from allocsolve.instances.generators.examples import random_workload, workload_examples
from allocsolve.judge.workload.claims import WORKLOAD_CLAIMS, workload_breaches
from allocsolve.judge.workload.rules import WORKLOAD_TERMS, workload_metrics, workload_violations
from allocsolve.judge.workload.tolerance import rounded_schedule
from allocsolve.model import (
    Amdahl,
    ClosedWindow,
    Job,
    Jobs,
    NodeType,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    SpeedupTable,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.model.job_kinds import EVOLVING, MALLEABLE, MOLDABLE
from allocsolve.pictures.workload import WORKLOAD_VIEW, breach_picture, never_run
from allocsolve.registry.names import parse_name
from allocsolve.registry.table import CP_SAT, exact, heuristic, quick_solvers, registered_solver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.families import ProofText
    from allocsolve.model import JobKind, Solver
    from allocsolve.simulation.compiled import PolicySolver

#: By what part of a mean the sum of a solver may differ from the correctly rounded one of the judge.
_TOLERANCE: Final = 1e-9


_TABLE = (
    heuristic("fcfs", "first come, first served", "Fcfs"),
    heuristic("first-fit", "the first job that fits starts, no reservation", "FirstFit"),
    heuristic("easy", "backfilling that never delays the head of the queue", "Easy"),
    heuristic("slurm-backfill", "Slurm: heads at events, others in passes that plan", "SlurmBackfill"),
    heuristic("conservative", "backfilling with a reservation for every job", "Conservative"),
    heuristic("evolv-easyback", "running jobs that evolve come first, then backfilling", "EvolvEasyback"),
    heuristic("profile-fit", "jobs with profiles are planned at their earliest", "ProfileFit"),
    heuristic("lina", "running jobs shrink for requests and for the queue", "Lina"),
    heuristic("malleable-min", "running jobs shrink for waiting ones, largest surplus", "MalleableMin"),
    heuristic("malleable-average", "running jobs shrink and grow node by node", "MalleableAverage"),
    heuristic("malleable-pref", "running jobs shrink, preferred nodes last", "MalleablePref"),
    heuristic("malleable-prefkeeper", "running jobs keep preferred nodes", "MalleablePrefkeeper"),
    heuristic("static-price", "all running jobs take sizes at a clearing price", "StaticPrice"),
    heuristic("market", "clairvoyant: sizes at a clearing price, work has a price", "Market", searches=True),
    heuristic("srpt-area", "clairvoyant: the least area left comes first", "SrptArea"),
    heuristic("serial-generation", "clairvoyant: earliest place, small jobs first", "SerialGeneration"),
    heuristic(
        "reinsertion", "clairvoyant: jobs are taken out and put back better", "Reinsertion", searches=True
    ),
    heuristic(
        "list-annealing", "clairvoyant: malleable jobs by an annealed list", "ListAnnealing", searches=True
    ),
    heuristic(
        "evolving-annealing",
        "clairvoyant: who is served when evolving jobs ask",
        "EvolvingAnnealing",
        searches=True,
    ),
    exact("prices", "clairvoyant schedules, bounds by prices of nodes, anytime", "Prices", CP_SAT),
    exact("date-branching", "rigid jobs under load: a tree over dates, anytime", "DateBranching", CP_SAT),
    exact("cpsat", "CP-SAT, optional intervals for sizes, small problems", "WorkloadCpSat", CP_SAT),
    exact("milp", "few malleable jobs, the order of events by HiGHS", "WorkloadMilp", CP_SAT),
)


def _features(problem: WorkloadProblem) -> dict[str, Feature]:
    num_nodes, problem = problem.num_nodes, problem.on_counts()
    packed = problem.jobs.packed
    count = len(problem.jobs)
    span = float(packed.submit.max() - packed.submit.min()) if count else 0.0
    return {
        "num_nodes": num_nodes,
        "num_jobs": count,
        "moldable_jobs": int((packed.kind == MOLDABLE).sum()),
        "malleable_jobs": int((packed.kind == MALLEABLE).sum()),
        "evolving_jobs": int((packed.kind == EVOLVING).sum()),
        "load": problem.area / (problem.num_nodes * span) if span else None,
        "widest_share": float(packed.nodes.max(initial=0)) / problem.num_nodes,
        **(
            {"resources": len(problem.resources), "windows": len(problem.closed)}
            if problem.beyond_plain
            else {}
        ),
    }


def _warm_up_problems(problem: WorkloadProblem) -> tuple[WorkloadProblem, ...]:
    """Return problems that together take the solvers through all the kernels that they need for this one."""
    if problem.node_types:
        tiny, closed = _tiny_places(), (ClosedWindow(4, 9, node_ids=(1,)),)
        return (tiny, replace(tiny, closed=closed)) if problem.closed else (tiny,)
    if not problem.is_plain:
        return (_tiny_machine(), _tiny_window())
    if problem.is_evolving:
        # Some solvers refuse profiles, or phases, too.
        return (*_tiny_problems("evolving"), _tiny_profiles(), *_tiny_problems("malleable"))
    if problem.is_malleable:
        return _tiny_problems("malleable")
    if not problem.is_rigid:
        return _tiny_problems("moldable")
    very_many = len(problem.jobs) >= _VERY_MANY or has_long_queue(problem)
    return (*_tiny_problems("rigid"), _tiny_exact(), *([_long_queue()] if very_many else []))


#: Among so many jobs, a long queue is taken for granted; so `allocsolve warm`, which knows such a problem,
#: compiles what long queues take.
_VERY_MANY: Final = 100_000


@functools.cache
def _tiny_problems(kind: JobKind) -> tuple[WorkloadProblem, ...]:
    """Return a problem with a queue that no greedy rule solves, with jobs of all kinds up to this one."""
    jobs = [
        *(Job(0, 2, 8, 10), Job(0, 3, 6, 9), Job(1, 1, 9, 12)),
        *(Job(1, 2, 2, 4), Job(2, 4, 1, 2), Job(2, 1, 3, 3)),
    ]
    law = SpeedupTable([(1, 10), (2, 6), (4, 4)])
    if kind != "rigid":
        jobs += [Job(submit, 2, 6, min_nodes=1, max_nodes=4, speedup=law) for submit in (0, 3)]
    if kind in {"malleable", "evolving"}:
        # Sizes that may change at any time, and at points only.
        rows = ((0, law, 0), (0, Amdahl(0.9), 3), (1, PowerLaw(0.8), 0), (3, law, 2))
        jobs += [
            Job(submit, 2, 6, min_nodes=1, max_nodes=4, speedup=law, kind="malleable", points=points)
            for submit, law, points in rows
        ]
    if kind == "evolving":
        jobs += [
            Job(0, 2, 6, min_nodes=1, max_nodes=4, speedup=Amdahl(0.9), evolution=Requests([(0.5, 1)])),
            Job(1, 2, 6, min_nodes=1, max_nodes=4, speedup=Overhead(0.1), evolution=Requests([(0.5, 2)])),
            Job(0, 1, 9, min_nodes=1, max_nodes=3, evolution=Phases([(4, None), (1, 1), (4, None)])),
        ]
    return (WorkloadProblem(4, jobs),)


@functools.cache
def _tiny_exact() -> WorkloadProblem:
    """Return the rigid problem where all jobs end as expected, for which `replan` has another kernel."""
    (plain,) = _tiny_problems("rigid")
    return WorkloadProblem(plain.num_nodes, [replace(job, limit=job.runtime) for job in plain.jobs])


@functools.cache
def _tiny_machine() -> WorkloadProblem:
    """Return a problem with a queue on a machine of two resources, of which a part is closed for a time."""
    (plain,) = _tiny_problems("rigid")
    return WorkloadProblem(
        plain.num_nodes,
        [replace(job, boost=idx % 2, needs={"gpus": idx % 2}) for idx, job in enumerate(plain.jobs)],
        resources={"gpus": 1},
        closed=[ClosedWindow(4, 9, {"nodes": 2})],
    )


@functools.cache
def _tiny_places() -> WorkloadProblem:
    """Return a problem with a queue on nodes that are places."""
    (plain,) = _tiny_problems("rigid")
    jobs = [
        Job(job.submit, 1, job.runtime, job.limit, chunks=job.nodes, each={"gpus": 1}) for job in plain.jobs
    ]
    return WorkloadProblem(None, jobs, node_types=[NodeType("gpu", 2, {"gpus": 2})])


@functools.cache
def _tiny_window() -> WorkloadProblem:
    """Return a problem with a queue on nodes alone, of which a part is closed for a time."""
    (plain,) = _tiny_problems("rigid")
    return replace(plain, closed=(ClosedWindow(4, 9, {"nodes": 2}),))


@functools.cache
def _long_queue() -> WorkloadProblem:
    """Return the smallest problem with a long queue."""
    ones = np.ones(LONG_QUEUE, dtype=np.int64)
    return WorkloadProblem(4, Jobs(np.zeros(LONG_QUEUE), ones, ones))


@functools.cache
def _tiny_profiles() -> WorkloadProblem:
    """Return a problem of jobs with profiles that wait for each other."""
    steps = Profile([(2, 1), (3, 3)])
    jobs = [Job(submit, 1, 5, min_nodes=1, max_nodes=3, evolution=steps) for submit in range(4)]
    return WorkloadProblem(4, [*jobs, Job(0, 2, 4)])


#: Policies of which others are the same where no job changes its size, with kernels that take less time to
#: compile: first fit, and those of `_SAME_IF_RIGID`.
_NOT_IF_RIGID: Final = frozenset(
    {
        *("lina", "static-price", "malleable-min", "malleable-average"),
        *("malleable-pref", "malleable-prefkeeper", "evolv-easyback", "profile-fit"),
    }
)
_SAME_IF_RIGID: Final = ("easy(extra_nodes=False,strict=True)", "conservative(estimate=actual)")

#: Whose time grows with the square of the queue: quick for few jobs only.
_SLOW_IF_MANY: Final = frozenset({"conservative", "profile-fit"})
_MANY: Final = 1000


def _quick_solvers(
    problem: WorkloadProblem, _: tuple[str, ...]
) -> tuple[Solver[WorkloadProblem, WorkloadSchedule], ...]:
    left_out = _NOT_IF_RIGID if problem.is_rigid else frozenset[str]()
    if len(problem.jobs) > _MANY and not problem.is_evolving:
        left_out |= _SLOW_IF_MANY
    same = [parse_name(name) for name in _SAME_IF_RIGID if problem.is_rigid]
    others = (registered_solver(name, WORKLOAD) for name in same if name.base not in left_out)
    return (*quick_solvers(WORKLOAD, left_out), *others)


def _policy_as_solver(thing: Any) -> PolicySolver | None:  # noqa: ANN401 - anything
    """Return a solver that runs a policy; None if it is no policy."""
    from allocsolve.simulation.compiled import PolicySolver  # noqa: PLC0415 - imports numba

    return PolicySolver(thing) if hasattr(thing, "decide") or callable(thing) else None


_MEANS: Final = ("turnaround", "slowdown", "wait")
_MOLDABLE: Final = (
    "rigid jobs, whole weights, times in quarters of a second; jobs that are moldable by a table"
)


def _proof_text(
    problem: WorkloadProblem,
    certificate: Mapping[str, Any],
    term: str,
    bound: float,
    answer: WorkloadSchedule | None,
) -> ProofText:
    from allocsolve.judge.workload.proof_text import workload_proof_text  # noqa: PLC0415 - when asked for

    del bound, answer  # the checker computes bounds itself, and has no rules for schedules of workloads
    return workload_proof_text(problem, certificate, term)


def _kind(
    name: str,
    title: str,
    place: str,
    *,
    general: bool = False,
    places: bool = False,
    rigid: bool = True,
    verified_for: str = "",
) -> CertificateKind[WorkloadProblem, WorkloadSchedule]:
    """Return a kind that bounds the makespan or means, of plain machines unless it is general.

    Of machines whose nodes are places only if `places` says so, too.
    """
    is_mean = name != "makespan"

    def beyond(problem: WorkloadProblem) -> str:
        if rigid and not problem.is_rigid:
            return "jobs that are not rigid"
        return "" if places or (general and not problem.node_types) else problem.beyond_plain

    return CertificateKind(
        *(name, _MEANS if is_mean else (name,), title, imported(f"allocsolve.judge.workload.{place}")),
        schema=functools.partial(workload_certificates.certificate_schema, name),
        names_term=is_mean,
        beyond=beyond,
        proof_text=_proof_text if verified_for else None,
        verified_for=verified_for,
    )


_CERTIFICATES: Final = (
    _kind(
        *("time-prices", "prices of node-seconds, slot by slot", "certificate:time_price_bound"),
        rigid=False,
        verified_for=f"{_MOLDABLE}, for the turnaround",
    ),
    _kind(
        *("job-prices", "prices per second, job by job", "job_prices:job_price_bound"),
        general=True,
        verified_for="rigid jobs on plain machines, whole weights, times in quarters of a second",
    ),
    _kind("date-tree", "a tree of cuts between starts", "date_trees:date_trees_bound", general=True),
    _kind("date-trees", "a tree for each stretch of jobs", "date_trees:date_trees_bound", general=True),
    _kind(
        *("makespan", "a single job, areas, or wide jobs", "certificate:makespan_rule_bound"),
        rigid=False,
        verified_for=_MOLDABLE,
    ),
    _kind(
        *(
            "machine-prices",
            "prices of counted resources, slot by slot",
            "machine_prices:machine_price_bound",
        ),
        general=True,
        places=True,
        verified_for="rigid jobs on any machine, whole weights, times in quarters of a second",
    ),
)


WORKLOAD: Final = Family(
    kind="workload",
    problem=WorkloadProblem,
    answer=WorkloadSchedule,
    objectives=WORKLOAD_TERMS,
    rules=Rules(
        workload_violations,
        workload_metrics,
        _CERTIFICATES,
        tolerance=_TOLERANCE,
        violations_within=workload_violations,
        rounded=rounded_schedule,
    ),
    codec=Codec(
        answer_kind="workload-schedule",
        problem=codec.PROBLEM,
        answer=codec.ANSWER,
        problem_table=tables.PROBLEM_TABLE,
        answer_table=tables.SCHEDULE_TABLE,
        foreign_tables=FOREIGN_TABLES,
    ),
    view=WORKLOAD_VIEW,
    solvers=_TABLE,
    baseline="prices",
    features=_features,
    warm_up=_warm_up_problems,
    examples=workload_examples,
    large_example=lambda: random_workload(1, 1000),
    timing_problems={
        f"{count}-jobs": functools.partial(random_workload, 1, count)
        for count in (10, 100, 1000, 10_000, 100_000)
    },
    claims=Claims(WORKLOAD_CLAIMS, workload_breaches, breach_picture, never_run),
    quick_solvers=_quick_solvers,
    adapted=_policy_as_solver,
)
