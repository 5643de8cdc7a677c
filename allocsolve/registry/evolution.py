"""The family of evolution problems."""

from __future__ import annotations

import math
from typing import Final

from allocsolve.model import EVOLUTION_OBJECTIVES, EvolutionProblem, EvolutionProfile
from allocsolve.registry.family import AnySolver, Entry, Family, Feature

__all__ = ["EVOLUTION"]


def _list_scheduling(expand_limit: float, *, compacting: bool = False) -> AnySolver:
    from allocsolve.heuristics import Fit, ListScheduling  # noqa: PLC0415 - loaded when asked for

    return ListScheduling(Fit(expand_limit, compacting))


def _rigid() -> AnySolver:
    from allocsolve.heuristics import Rigid  # noqa: PLC0415 - as above

    return Rigid()


def _annealing() -> AnySolver:
    from allocsolve.heuristics import Annealing  # noqa: PLC0415 - as above

    return Annealing()


def _cpsat() -> AnySolver:
    from allocsolve.exact import CpSat  # noqa: PLC0415 - as above

    return CpSat()


def _conflict_search() -> AnySolver:
    from allocsolve.exact import ConflictSearch  # noqa: PLC0415 - as above

    return ConflictSearch()


def _lns() -> AnySolver:
    from allocsolve.exact import Lns  # noqa: PLC0415 - as above

    return Lns()


def _milp() -> AnySolver:
    from allocsolve.exact import Milp  # noqa: PLC0415 - as above

    return Milp()


_TABLE = (
    Entry("rigid", EvolutionProblem, "heuristic", "peak nodes for the whole duration, CBF-like", _rigid),
    Entry("noX", EvolutionProblem, "heuristic", "base fit without expansion", lambda: _list_scheduling(1)),
    Entry("2X", EvolutionProblem, "heuristic", "base fit, expand limit 2", lambda: _list_scheduling(2)),
    Entry(
        "2X+c",
        EvolutionProblem,
        "heuristic",
        "base fit, expand limit 2, compacting",
        lambda: _list_scheduling(2, compacting=True),
    ),
    Entry(
        "infX", EvolutionProblem, "heuristic", "base fit, no expand limit", lambda: _list_scheduling(math.inf)
    ),
    Entry(
        "infX+c",
        EvolutionProblem,
        "heuristic",
        "base fit, no expand limit, compacting",
        lambda: _list_scheduling(math.inf, compacting=True),
    ),
    Entry("annealing", EvolutionProblem, "heuristic", "annealing over list orders, both ways", _annealing),
    Entry("lns", EvolutionProblem, "heuristic", "neighbourhoods of the best schedule by CP-SAT", _lns),
    Entry("cpsat", EvolutionProblem, "exact", "CP-SAT, order literals and lazy covers", _cpsat),
    Entry(
        "conflict-search",
        EvolutionProblem,
        "exact",
        "clause learning on start differences, else cpsat",
        _conflict_search,
    ),
    Entry("milp", EvolutionProblem, "exact", "time-indexed MILP by CBC, toys only", _milp),
)


def _features(problem: EvolutionProblem) -> dict[str, Feature]:
    limit = problem.expand_limit
    return {
        "num_nodes": problem.num_nodes,
        "num_applications": len(problem.applications),
        "expand_limit": limit if math.isfinite(limit) else None,
    }


def _bound(problem: EvolutionProblem, term: str) -> float:
    from allocsolve import bounds  # noqa: PLC0415 - as above

    if term == "makespan":
        return bounds.makespan_bound(problem)
    if term == "completion":
        return bounds.total_completion(problem) / max(len(problem.applications), 1)
    return 0


def _tiny(problem: EvolutionProblem) -> EvolutionProblem:
    apps = (EvolutionProfile(((1, 2), (1, 1))), EvolutionProfile(((1, 1), (1, 2))))
    # Kernels are compiled per type of array, which depends on the expand limit.
    return EvolutionProblem(2, apps, expand_limit=problem.expand_limit)


EVOLUTION: Final = Family(
    kind="evolution",
    problem=EvolutionProblem,
    objectives=EVOLUTION_OBJECTIVES,
    baseline="cpsat",
    entries=_TABLE,
    features=_features,
    bound=_bound,
    tiny=_tiny,
)
