"""The family of evolution problems."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Final

from allocsolve.families import Alias, AnySolver, Codec, Family, Feature, Rules, Setting, SolverRow
from allocsolve.instances.formats import evolution as codec
from allocsolve.instances.generators.evolution_examples import evolution_examples
from allocsolve.instances.generators.klein2011 import klein2011
from allocsolve.judge.evolution import evolution_metrics, evolution_value, evolution_violations
from allocsolve.model import EVOLUTION_OBJECTIVES, EvolutionProblem, EvolutionProfile, EvolutionSchedule

__all__ = ["EVOLUTION"]


def _list_scheduling() -> AnySolver:
    from allocsolve.heuristics import ListScheduling  # noqa: PLC0415 - loaded when asked for

    return ListScheduling()


def _rigid() -> AnySolver:
    from allocsolve.heuristics import Rigid  # noqa: PLC0415 - loaded when asked for

    return Rigid()


def _annealing() -> AnySolver:
    from allocsolve.heuristics import Annealing  # noqa: PLC0415 - loaded when asked for

    return Annealing()


def _cpsat() -> AnySolver:
    from allocsolve.exact import CpSat  # noqa: PLC0415 - loaded when asked for

    return CpSat()


def _conflict_search() -> AnySolver:
    from allocsolve.exact import ConflictSearch  # noqa: PLC0415 - loaded when asked for

    return ConflictSearch()


def _lns() -> AnySolver:
    from allocsolve.exact import Lns  # noqa: PLC0415 - loaded when asked for

    return Lns()


def _milp() -> AnySolver:
    from allocsolve.exact import Milp  # noqa: PLC0415 - loaded when asked for

    return Milp()


_TABLE = (
    SolverRow(
        "list-scheduling", "heuristic", "base fit in list order, as early as possible", _list_scheduling
    ),
    SolverRow("rigid", "heuristic", "peak nodes for the whole duration, CBF-like", _rigid),
    SolverRow("annealing", "heuristic", "annealing over list orders, both ways", _annealing),
    SolverRow("lns", "heuristic", "neighbourhoods of the best schedule by CP-SAT", _lns),
    SolverRow("cpsat", "exact", "CP-SAT, order literals and lazy covers", _cpsat),
    SolverRow(
        "conflict-search",
        "exact",
        "clause learning on start differences, else cpsat",
        _conflict_search,
    ),
    SolverRow("milp", "exact", "time-indexed MILP by CBC, toys only", _milp),
)

#: The names of Klein & Perez.
_ALIASES = (
    Alias("noX", "list-scheduling(expand_limit=1)"),
    Alias("2X", "list-scheduling(expand_limit=2)"),
    Alias("2X+c", "list-scheduling(expand_limit=2, compacting=True)"),
    Alias("infX", "list-scheduling(expand_limit=inf)"),
    Alias("infX+c", "list-scheduling(expand_limit=inf, compacting=True)"),
)


def _features(problem: EvolutionProblem) -> dict[str, Feature]:
    limit = problem.expand_limit
    return {
        "num_nodes": problem.num_nodes,
        "num_applications": len(problem.applications),
        "expand_limit": limit if math.isfinite(limit) else None,
    }


def _bound(problem: EvolutionProblem, term: str) -> float:
    from allocsolve import bounds  # noqa: PLC0415 - loaded when asked for

    if term == "makespan":
        return bounds.makespan_bound(problem)
    if term == "completion":
        return bounds.total_completion(problem) / max(len(problem.applications), 1)
    return 0


def _warm_up(problem: EvolutionProblem) -> EvolutionProblem:
    apps = (EvolutionProfile(((1, 2), (1, 1))), EvolutionProfile(((1, 1), (1, 2))))
    # Kernels are compiled per type of array, which depends on the expand limit.
    return EvolutionProblem(2, apps, expand_limit=problem.expand_limit)


def _read_expand_limit(value: object) -> float:
    try:
        limit = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]  # raises TypeError
    except (TypeError, ValueError):
        limit = math.nan
    if math.isnan(limit):
        msg = f"{value!r} is not a number"
        raise ValueError(msg)
    if limit < 1:
        msg = f"{value} is below 1"
        raise ValueError(msg)
    return limit


_EXPAND_LIMIT: Final[Setting[EvolutionProblem]] = Setting(
    values="a number >= 1, or inf",
    read=_read_expand_limit,
    apply=lambda problem, limit: replace(problem, expand_limit=limit),
    tightens=lambda problem, limit: limit <= problem.expand_limit,
)

EVOLUTION: Final = Family(
    kind="evolution",
    problem=EvolutionProblem,
    answer=EvolutionSchedule,
    objectives=EVOLUTION_OBJECTIVES,
    rules=Rules(evolution_violations, evolution_value, evolution_metrics),
    codec=Codec(
        answer_kind="evolution-schedule",
        decode_problem=codec.decode_problem,
        encode_problem=codec.encode_problem,
        decode_answer=codec.decode_solution,
        encode_answer=codec.encode_solution,
    ),
    solvers=_TABLE,
    aliases=_ALIASES,
    baseline="cpsat",
    features=_features,
    bound=_bound,
    warm_up=_warm_up,
    examples=evolution_examples,
    large_example=lambda: klein2011(8),
    timing_problems={
        f"{count}-applications": functools.partial(klein2011, 1, num_apps=(count, count))
        for count in (300, 1000, 3000)
    },
    settings={"expand_limit": _EXPAND_LIMIT},
)
