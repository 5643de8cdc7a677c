"""The runs behind the reproduction: four strategies, three loads, kinds of programs, several readings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from allocsolve.bench.runs.store import RecordStore
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import InvalidOption
from allocsolve.instances import linnert2024
from allocsolve.model import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.model import Answer, Problem, ReservationProblem

__all__ = [
    "ADMISSIONS",
    "BOUND",
    "COUNT",
    "FREE_LEAK",
    "HILBERT",
    "LEAK",
    "LOADS",
    "MEDIAN",
    "NUM_JOBS",
    "PROGRAMS",
    "READINGS",
    "READING_SEEDS",
    "SEEDS",
    "STATIC",
    "STRATEGIES",
    "SYNCHRONOUS",
    "TERMS",
    "FigureStore",
    "PlannedRun",
    "Program",
    "Reading",
    "planned_runs",
]

#: What the jobs of a stream do: all the same kind, or one drawn for each.
Program: TypeAlias = int | Literal["mixed"]

#: The loads of the paper: seconds between arrivals in the mean.
LOADS: Final[dict[str, float]] = {"normal": 1500, "heavy": 150, "very heavy": 1}
PROGRAMS: Final[tuple[Program, ...]] = (0, 1, 2, 3, "mixed")
NUM_JOBS: Final = 1000

#: Streams of each load and kind of programs; the paper has 320 of each. The readings after the first one have
#: fewer.
SEEDS: Final = 30
READING_SEEDS: Final = 5

#: The strategies of the paper. Its Manhattan median approach is read as Fig. 8 says, where a busy node that
#: is chosen ends a growth.
HILBERT: Final = "hilbert"
MEDIAN: Final = "literal"
LEAK: Final = "leak"
FREE_LEAK: Final = "leak-noncontiguous"
STATIC: Final = (HILBERT, MEDIAN)
STRATEGIES: Final = (*STATIC, LEAK, FREE_LEAK)

#: Allocators that only book: the first counts free nodes and nothing else.
COUNT: Final = "count"
ADMISSIONS: Final = (COUNT, "any", HILBERT, "growth", MEDIAN, "literal-set", "town", "manhattan-median")

#: The solver that gives bounds, and the terms that it bounds: jobs, and their area.
BOUND: Final = "prices"
TERMS: Final = ("rejected", "rejected-area")

#: Seconds for a strategy, of which none takes that long.
_STRATEGY_SECONDS: Final = 120.0


class Reading(NamedTuple):
    """One way to read what the paper leaves open, as options of solvers."""

    name: str
    text: str
    static: str = ""
    leak: str = ""


SYNCHRONOUS: Final = "synchronous"
#: The first takes the paper at its word.
READINGS: Final = (
    Reading("as printed", "a booked job is cancelled when its booking ends; asynchronous messages"),
    Reading("grace", "not before its deadline or the next booking of its nodes", "overrun=grace"),
    Reading(
        "demand",
        "programs that fork take their run time on as many nodes as they ask for",
        "reference=demand",
        "reference=demand",
    ),
    Reading("no queue", "the leak rejects a job that finds no node when it arrives", leak="waiting=reject"),
    Reading(SYNCHRONOUS, "senders wait until a message has arrived", "synchronous=True", "synchronous=True"),
)


class PlannedRun(NamedTuple):
    """A task, and what it is about."""

    task: Task
    load: str  #: of `LOADS`
    seed: int
    program: Program | None  #: None if nothing is executed
    strategy: str  #: of `STRATEGIES` with a reading, else of `ADMISSIONS`, or `BOUND`
    reading: str  #: of `READINGS`; empty if nothing is executed


class FigureStore(RecordStore):
    """Records without the answers of strategies: there are thousands, and each is made again in a moment."""

    def append(
        self,
        record: Record,
        problem: Problem,
        answer: Answer | None,
        certificate: Mapping[str, Any] | None = None,
    ) -> bool:
        """Add a row; its answer only if it is of the solver that gives bounds."""
        return super().append(record, problem, answer if record.solver == BOUND else None, certificate)


def solver_of(strategy: str, reading: Reading) -> str:
    """Return the solver that is a strategy of the paper in a reading."""
    if strategy in STATIC:
        return f"static-execution({','.join(filter(None, (f'allocator={strategy}', reading.static)))})"
    options = ",".join(filter(None, ("contiguous=False" if strategy == FREE_LEAK else "", reading.leak)))
    return f"leak({options})" if options else "leak"


def planned_runs(
    load: str,
    *,
    seeds: int = SEEDS,
    reading_seeds: int = READING_SEEDS,
    num_jobs: int = NUM_JOBS,
    seconds: float,
) -> list[PlannedRun]:
    """Return all runs of a load. One task may stand for several readings that ask for the same.

    Parameters
    ----------
    load
        Of `LOADS`.
    seeds
        Streams have the seeds 0, 1, .. below this number.
    reading_seeds
        The readings after the first one have those below this number only.
    num_jobs
        Jobs of a stream.
    seconds
        Of each bound.

    Raises
    ------
    InvalidOption
        If there is no such load, or nothing to run.
    """
    if load not in LOADS or seeds < 1 or reading_seeds < 0:
        msg = f"load {load!r} of {seeds} seeds, {reading_seeds} of readings: no load, or nothing to run"
        raise InvalidOption(msg)
    runs: list[PlannedRun] = []
    for seed in range(seeds):
        for program in PROGRAMS:
            problem = linnert2024(seed, gap=LOADS[load], num_jobs=num_jobs, program=program)
            if program == PROGRAMS[-1]:
                runs += _unexecuted(load, seed, problem, seconds)
            readings = READINGS if seed < reading_seeds else READINGS[:1]
            runs += _executed(load, seed, program, problem, readings)
    return runs


def _unexecuted(load: str, seed: int, problem: ReservationProblem, seconds: float) -> Iterator[PlannedRun]:
    """Yield what books only, and the bounds."""
    solvers = {f"static(allocator={name})": name for name in ADMISSIONS}
    budget = Budget(seconds=_STRATEGY_SECONDS)
    tasks = plan([("", problem)], list(solvers), objective=TERMS[0], budgets=[budget])
    for task, name in zip(tasks, solvers.values(), strict=True):
        yield PlannedRun(task, load, seed, None, name, "")
    for term in TERMS:
        (task,) = plan([("", problem)], [BOUND], objective=term, budgets=[Budget(seconds=seconds)])
        yield PlannedRun(task, load, seed, None, BOUND, "")


def _executed(
    load: str, seed: int, program: Program, problem: ReservationProblem, readings: Sequence[Reading]
) -> Iterator[PlannedRun]:
    """Yield the strategies of the paper in all readings."""
    wanted = [
        (strategy, reading, solver_of(strategy, reading)) for reading in readings for strategy in STRATEGIES
    ]
    solvers = list(dict.fromkeys(solver for _, _, solver in wanted))
    tasks = plan(
        [("", replace(problem, leaking=True))],
        solvers,
        objective="unsuccessful",
        budgets=[Budget(seconds=_STRATEGY_SECONDS)],
    )
    of = dict(zip(solvers, tasks, strict=True))
    for strategy, reading, solver in wanted:
        yield PlannedRun(of[solver], load, seed, program, strategy, reading.name)
