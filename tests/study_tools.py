"""Studies in memory: real runs of solvers, and rows written by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from allocsolve import judge, registry
from allocsolve.bench import Record, RecordKey
from allocsolve.families import family_of
from allocsolve.instances import digest
from allocsolve.model import Budget, Limit, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allocsolve.model import Answer, Problem, Value

MACHINE = {"platform": "Linux-6.1-x86_64", "cpus": 2, "python": "3.11.2", "ortools": "9.15.6755"}


def row(
    instance: str,
    solver: str,
    value: Value | None,
    bound: Value = -math.inf,
    *,
    runtime: float = 1.0,
    suite: str = "s",
    status: Status | None = None,
    **fields: Any,
) -> Record:
    """A row of a makespan study; optimal if the value is the bound, unknown without a value."""
    proven = Status.OPTIMAL if value == bound else Status.FEASIBLE
    base: dict[str, Any] = {
        "suite": suite,
        "instance": instance,
        "digest": f"digest of {instance}",
        "kind": "evolution",
        "features": {},
        "solver": solver,
        "solver_repr": f"{solver}()",
        "objective": "makespan",
        "seconds": 10.0,
        "iterations": None,
        "workers": 1,
        "seed": 0,
        "version": "0.1.0",
        "status": status or (Status.UNKNOWN if value is None else proven),
        "limit": None,
        "value": value,
        "bound": bound,
        "certified_bound": -math.inf,
        "combinatorial_bound": -math.inf,
        "runtime_s": runtime,
        "incumbents": (),
        "error": "",
        "metrics": {},
        "when": "2026-01-31T12:00:00+00:00",
        "machine": MACHINE,
    }
    return Record(**(base | fields))


@dataclass
class MemoryStudy:
    """Records with their problems and answers."""

    records: list[Record] = field(default_factory=list)
    problems: dict[str, Problem] = field(default_factory=dict)
    answers: dict[RecordKey, Answer] = field(default_factory=dict)
    certificates: dict[RecordKey, Mapping[str, Any]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def problem(self, digest: str, /) -> Problem:
        return self.problems[digest]

    def answer(self, key: RecordKey, /) -> Answer | None:
        return self.answers.get(key)

    def certificate(self, key: RecordKey, /) -> Mapping[str, Any] | None:
        return self.certificates.get(key)


def run_study(
    suites: Iterable[tuple[str, Sequence[Problem]]],
    solvers: Mapping[str, Sequence[str]],
    *,
    seeds: Sequence[int] = (0,),
    objective: str | None = None,
    seconds: float = 10.0,
) -> MemoryStudy:
    """Run every solver of the kind of each suite on its problems."""
    study = MemoryStudy()
    for suite, problems in suites:
        for problem in problems:
            family = family_of(problem)
            terms = family.parse_objective(objective if family.kind == "evolution" else None)
            floor = family.bound(problem, terms[0])
            study.problems[digest(problem)] = problem
            for name in solvers[family.kind]:
                for seed in seeds:
                    solver = registry.make_solver(name, problem, ",".join(terms))
                    result = judge.confirm(
                        problem, solver(problem, Budget(seconds=seconds, seed=seed)), terms
                    )
                    record = row(
                        problem.name,
                        name,
                        result.objective,
                        result.bound,
                        suite=suite,
                        runtime=max(result.runtime, 1e-6),
                        status=result.status,
                        kind=family.kind,
                        digest=digest(problem),
                        objective=",".join(terms),
                        seed=seed,
                        seconds=seconds,
                        limit=result.limit,
                        combinatorial_bound=floor if len(terms) == 1 else (floor,),
                        features=family.features(problem),
                        incumbents=result.incumbents,
                    )
                    study.records.append(record)
                    if result.answer is not None:
                        study.answers[record.key] = result.answer
    return study


def failed(record: Record, error: str) -> Record:
    """The row of a run that raised."""
    return replace(record, value=None, bound=-math.inf, status=Status.UNKNOWN, limit=None, error=error)


def timed_out(record: Record) -> Record:
    """The row of a run that the time limit stopped before it had an answer."""
    return replace(record, value=None, bound=-math.inf, status=Status.UNKNOWN, limit=Limit.TIME)
