"""A whole family of problems in one module, to be read as an example: jobs on identical machines.

Each job runs on one machine, a machine runs one job at a time, and the last job is to end as early as
possible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from allocsolve.errors import InvalidAnswer
from allocsolve.families import (
    Alias,
    Breach,
    CertificateKind,
    Claims,
    Codec,
    Export,
    Family,
    Fields,
    FileKind,
    Rules,
    Setting,
    SolverRow,
    Term,
    View,
)
from allocsolve.model import Budget, Result, Status
from allocsolve.pictures import Drawing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True)
class MachinesProblem:
    """Seconds of each job, and how many machines there are."""

    machines: int
    jobs: tuple[int, ...]
    name: str = ""
    meta: Mapping[str, object] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class MachineSchedule:
    """The machine of each job."""

    machine_of: tuple[int, ...]


# Rules: what the judge knows. It shares no code with the solvers.


@dataclass(frozen=True)
class MachineMetrics:
    """Seconds: the end of the last job, and all that machines are idle before it."""

    makespan: int
    idle: int


def violations(problem: MachinesProblem, answer: MachineSchedule) -> tuple[str, ...]:
    """Return what is wrong with an answer, a line each."""
    if len(answer.machine_of) != len(problem.jobs):
        return (f"{len(answer.machine_of)} machines for {len(problem.jobs)} jobs",)
    placed = enumerate(answer.machine_of)
    return tuple(f"job {j}: there is no machine {m}" for j, m in placed if not 0 <= m < problem.machines)


def metrics(problem: MachinesProblem, answer: MachineSchedule) -> MachineMetrics:
    """Add up the seconds of each machine."""
    loads = [0] * problem.machines
    for seconds, machine in zip(problem.jobs, answer.machine_of, strict=True):
        loads[machine] += seconds
    return MachineMetrics(max(loads), sum(max(loads) - load for load in loads))


def bound(problem: MachinesProblem) -> int:
    """Return what the jobs of the busiest machine take at least."""
    return max([-(-sum(problem.jobs) // problem.machines), *problem.jobs])


MAKESPAN: Term[MachinesProblem] = Term(
    "makespan", "end of the last job", "s", lambda measured: measured.makespan, bound
)
IDLE: Term[MachinesProblem] = Term(
    "idle", "time of machines without a job before the last end", "s", lambda measured: measured.idle
)


def longest(problem: MachinesProblem, certificate: Mapping[str, Any], term: str) -> int:
    """Return how long a job takes: no schedule ends before."""
    job = certificate.get("job")
    if type(job) is not int or not 0 <= job < len(problem.jobs):
        raise InvalidAnswer(
            f"{term}: job {job!r} of the certificate is none of the problem", breaks_schema=True
        )
    return problem.jobs[job]


LONGEST: CertificateKind[MachinesProblem, MachineSchedule] = CertificateKind(
    *("longest", ("makespan",), "a job that takes so long", longest),
    schema=lambda: {
        "type": "object",
        "properties": {"kind": {"const": "longest"}, "job": {"type": "integer", "minimum": 0}},
        "required": ["kind", "job"],
    },
    names_term=False,
)


@dataclass(frozen=True)
class Gap(Breach):
    """Where a machine has no job although another one runs."""

    machine: int


def gaps(
    problem: MachinesProblem, answer: MachineSchedule, claims: Sequence[str], *, tolerance: float
) -> tuple[Gap, ...]:
    """Return the machine that is idle first before the last end, if any is for longer than the tolerance."""
    (claim,) = claims
    ends = [0] * problem.machines
    for seconds, machine in zip(problem.jobs, answer.machine_of, strict=True):
        ends[machine] += seconds
    first = min(ends)
    machine, message = ends.index(first), f"machine {ends.index(first)} is idle from {first} s on"
    return (Gap(claim, first, message, machine),) if max(ends) > first + tolerance else ()


# Codec: a kind of file is the schema of its fields, and the way from them to a problem or an answer and back.

COUNT = {"type": "integer", "minimum": 1, "maximum": 2**53}
PROBLEM_FIELDS = Fields(
    "Jobs on identical machines",
    {
        "machines": {**COUNT, "description": "how many there are"},
        "jobs": {"type": "array", "items": COUNT, "description": "seconds of each"},
    },
    ("machines", "jobs"),
)
MACHINE_OF = {"type": "array", "items": {**COUNT, "minimum": 0}, "description": "the machine of each job"}
ANSWER_FIELDS = Fields("A solution of jobs on machines", {"machine_of": MACHINE_OF}, ("machine_of",))


def problem_values(problem: MachinesProblem) -> dict[str, Any]:
    """Return the fields in the order in which they are written."""
    jobs = list(problem.jobs)
    return {"name": problem.name, "machines": problem.machines, "jobs": jobs, "meta": dict(problem.meta)}


PROBLEM = FileKind(
    lambda: PROBLEM_FIELDS,
    lambda _check, machines, jobs, name, meta: MachinesProblem(machines, tuple(jobs), name, meta),
    problem_values,
)
#: Whether an answer is feasible is for the judge to say.
ANSWER = FileKind(
    lambda: ANSWER_FIELDS,
    lambda _check, _problem, machine_of: MachineSchedule(tuple(machine_of)),
    lambda _problem, answer: {"machine_of": list(answer.machine_of)},
)


# Solvers: frozen dataclasses of their options.


@dataclass(frozen=True)
class Greedy:
    """Each job goes to the machine that is free first."""

    longest_first: bool = False

    def __call__(self, problem: MachinesProblem, budget: Budget) -> Result[MachineSchedule]:
        """Place the jobs one by one."""
        del budget
        loads, place = [0] * problem.machines, [0] * len(problem.jobs)
        order = range(len(problem.jobs))
        for job in sorted(order, key=lambda job: -problem.jobs[job]) if self.longest_first else order:
            place[job] = loads.index(min(loads))
            loads[place[job]] += problem.jobs[job]
        return Result(Status.FEASIBLE, MachineSchedule(tuple(place)))


@dataclass(frozen=True)
class Exhaustive:
    """Try everything, if there are few jobs."""

    def __call__(self, problem: MachinesProblem, budget: Budget) -> Result[MachineSchedule]:
        """Look at all assignments of at most 8 jobs."""
        if len(problem.jobs) > 8:
            return Greedy(longest_first=True)(problem, budget)
        places = map(MachineSchedule, product(range(problem.machines), repeat=len(problem.jobs)))
        best = min(places, key=lambda answer: metrics(problem, answer).makespan)
        least = metrics(problem, best).makespan
        most = max(range(len(problem.jobs)), key=problem.jobs.__getitem__, default=None)
        certificate = None if most is None else {"kind": "longest", "job": most}
        return Result(Status.OPTIMAL, best, objective=least, bound=least, certificate=certificate)


# View: what people see.


def plot(problem: MachinesProblem, answer: MachineSchedule) -> Drawing:
    """Draw a bar of seconds for each machine."""
    longest = max(metrics(problem, answer).makespan, 1)
    drawing = Drawing(300, 20 * problem.machines + 20, problem.name or "machines")
    ends = [0] * problem.machines
    for seconds, machine in zip(problem.jobs, answer.machine_of, strict=True):
        left, width = 300 * ends[machine] / longest, 300 * seconds / longest
        drawing.rectangles("chosen", [(left, 20 * machine + 10, width - 1, 15)])
        ends[machine] += seconds
    return drawing


def metric_fields(problem: MachinesProblem, shown: MachineMetrics) -> list[tuple[str, str]]:
    """Return the metrics as names and texts."""
    return [("makespan", f"{shown.makespan} s"), ("idle", f"{shown.idle} s on {problem.machines} machines")]


def examples() -> Iterator[MachinesProblem]:
    """Yield problems at the edges of what the model allows."""
    yield MachinesProblem(2, (), "no jobs")
    yield MachinesProblem(1, (3, 1, 2), "one machine")
    yield MachinesProblem(3, (5,), "more machines than jobs")
    yield MachinesProblem(2, (3, 3, 2, 2, 2), "the greedy order is not optimal")


TOY: Family[MachinesProblem, MachineSchedule] = Family(
    kind="machines",
    problem=MachinesProblem,
    answer=MachineSchedule,
    objectives=(MAKESPAN, IDLE),
    rules=Rules(violations, metrics, (LONGEST,)),
    codec=Codec(answer_kind="machine-schedule", problem=PROBLEM, answer=ANSWER),
    view=View(
        describe=lambda problem: f"{len(problem.jobs)} jobs on {problem.machines} machines",
        undrawable=lambda problem: "too many jobs to draw" if len(problem.jobs) > 1000 else "",
        plot=plot,
        metric_fields=metric_fields,
        exports={
            "listing": Export(
                "a line of text",
                lambda problem, answer, window: f"{problem.jobs} on {answer.machine_of} in {window}\n",
            )
        },
    ),
    solvers=(
        SolverRow("greedy", "heuristic", "each job to the machine that is free first", f"{__name__}:Greedy"),
        SolverRow("exhaustive", "exact", "all assignments of at most 8 jobs", f"{__name__}:Exhaustive"),
    ),
    claims=Claims({"busy": "all machines end at once"}, gaps, lambda *args: plot(*args[:2])),
    aliases=(Alias("greedy+longest", "greedy(longest_first=True)"),),
    baseline="exhaustive",
    features=lambda problem: {"machines": problem.machines, "jobs": len(problem.jobs)},
    warm_up=lambda problem: (MachinesProblem(problem.machines, (1,)),),
    examples=examples,
    large_example=lambda: MachinesProblem(8, tuple(range(1, 2000))),
    timing_problems={"2000-jobs": lambda: MachinesProblem(8, tuple(range(1, 2001)))},
    settings={
        "machines": Setting(
            values="an integer >= 1",
            read=lambda text: max(int(str(text)), 1),
            apply=lambda problem, machines: MachinesProblem(machines, problem.jobs, problem.name),
            tightens=lambda problem, machines: machines <= problem.machines,
        )
    },
)
