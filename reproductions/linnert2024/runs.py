"""The runs behind the reproduction: four strategies, three loads, kinds of programs, several readings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from allocsolve.errors import InvalidOption
from allocsolve.instances import linnert2024
from allocsolve.model import Budget
from reproductions.runs import BOUND, PlannedRun, planned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import ReservationProblem

#: What the jobs of a stream do: all the same kind, or one drawn for each.
Program: TypeAlias = int | Literal["mixed"]

#: The loads of the paper: seconds between arrivals in the mean.
LOADS: Final[dict[str, float]] = {"normal": 1500, "heavy": 150, "very heavy": 1}
PROGRAMS: Final[tuple[Program, ...]] = (0, 1, 2, 3, "mixed")
NUM_JOBS: Final = 1000

#: Jobs of 1000 that the paper accepts by the number of free nodes alone.
PRINTED_COUNTS: Final = {"normal": 510, "heavy": 400, "very heavy": 260}

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

#: What bounds are of: jobs, and their area.
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


class Label(NamedTuple):
    """What a run is about."""

    load: str  #: of `LOADS`
    seed: int
    program: Program | None  #: None if nothing is executed
    strategy: str  #: of `STRATEGIES` with a reading, else of `ADMISSIONS`, or `BOUND`
    reading: str  #: of `READINGS`; empty if nothing is executed


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
) -> list[PlannedRun[Label]]:
    """Return all runs of a load. One task may stand for several readings that ask for the same.

    Streams have the seeds 0, 1, .. below `seeds`, of which the readings after the first one have those below
    `reading_seeds` only. Each bound takes some seconds. `InvalidOption` is raised if there is no such load,
    or nothing to run.
    """
    if load not in LOADS or seeds < 1 or reading_seeds < 0:
        msg = f"load {load!r} of {seeds} seeds, {reading_seeds} of readings: no load, or nothing to run"
        raise InvalidOption(msg)
    runs: list[PlannedRun[Label]] = []
    for seed in range(seeds):
        for program in PROGRAMS:
            problem = linnert2024(seed, gap=LOADS[load], num_jobs=num_jobs, program=program)
            if program == PROGRAMS[-1]:
                runs += _unexecuted(load, seed, problem, seconds)
            readings = READINGS if seed < reading_seeds else READINGS[:1]
            runs += _executed(load, seed, program, problem, readings)
    return runs


def _unexecuted(
    load: str, seed: int, problem: ReservationProblem, seconds: float
) -> Iterator[PlannedRun[Label]]:
    """Yield what books only, and the bounds."""
    labels = {f"static(allocator={name})": Label(load, seed, None, name, "") for name in ADMISSIONS}
    yield from planned(problem, labels, objective=TERMS[0], budget=Budget(seconds=_STRATEGY_SECONDS))
    bound = {BOUND: Label(load, seed, None, BOUND, "")}
    for term in TERMS:
        yield from planned(problem, bound, objective=term, budget=Budget(seconds=seconds))


def _executed(
    load: str, seed: int, program: Program, problem: ReservationProblem, readings: Sequence[Reading]
) -> Iterator[PlannedRun[Label]]:
    """Yield the strategies of the paper in all readings."""
    solvers = {
        Label(load, seed, program, strategy, reading.name): solver_of(strategy, reading)
        for reading in readings
        for strategy in STRATEGIES
    }
    runs = planned(
        replace(problem, leaking=True),
        {solver: solver for solver in solvers.values()},
        objective="unsuccessful",
        budget=Budget(seconds=_STRATEGY_SECONDS),
    )
    tasks = {run.label: run.task for run in runs}
    yield from (PlannedRun(tasks[solver], label) for label, solver in solvers.items())
