"""The family of evolution problems."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import UnsupportedProblem
from allocsolve.families import (
    Alias,
    CertificateKind,
    Codec,
    Family,
    Feature,
    Rules,
    Setting,
    SolverRow,
    imported,
)
from allocsolve.instances.formats.own import evolution as codec, evolution as tables
from allocsolve.instances.generators.examples import evolution_examples
from allocsolve.instances.generators.klein2011 import klein2011
from allocsolve.judge.evolution.rules import EVOLUTION_TERMS, evolution_metrics, evolution_violations
from allocsolve.model import MAX_INTEGER, EvolutionProblem, EvolutionProfile, EvolutionSchedule, expand_ratio
from allocsolve.pictures.evolution import EVOLUTION_VIEW
from allocsolve.registry.table import CP_SAT, exact, heuristic, quick_solvers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.families import AnySolver, ProofText

_TABLE = (
    heuristic("list-scheduling", "base fit in list order, as early as possible", "ListScheduling"),
    heuristic("rigid", "peak nodes for the whole duration, CBF-like", "Rigid"),
    heuristic("annealing", "annealing over list orders, both ways", "Annealing", searches=True),
    SolverRow(
        "lns",
        "heuristic",
        "neighbourhoods of the best schedule by CP-SAT",
        "allocsolve.exact:EvolutionLns",
        CP_SAT,
        searches=True,
    ),
    exact("cpsat", "CP-SAT, order literals and lazy covers", "EvolutionCpSat", CP_SAT),
    exact(
        "conflict-search",
        "clause learning on start differences, else cpsat",
        "EvolutionConflictSearch",
        CP_SAT,
    ),
    exact("milp", "time-indexed MILP by CBC, for very small problems", "EvolutionMilp", ("pulp", "scipy")),
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


def _finds_below(problem: EvolutionProblem, term: str, bound: int, seconds: float) -> bool | None:
    from allocsolve.backends.checkers import has_schedule  # noqa: PLC0415 - when asked for

    del term  # the makespan: no other term has certificates
    if problem.expand_limit != 1:
        msg = f"makespans under the expand limit {problem.expand_limit:g} are not cross-checked"
        raise UnsupportedProblem(msg)
    profiles = [profile.steps for profile in problem.applications]
    return has_schedule(
        problem.num_nodes, [*zip(problem.releases, profiles, strict=True)], bound - 1, seconds
    )


#: Nodes of the steps, of a second each, of a problem for two nodes whose optimum, 8 s with any expand limit,
#: is above the combinatorial bounds: exact solvers have to search.
_TINY_NODES: Final = ((1, 1, 2, 1), (2, 1, 2), (1, 2))


def _warm_up_problems(problem: EvolutionProblem) -> tuple[EvolutionProblem, ...]:
    """Return problems that together take the solvers through all the kernels that they need for this one."""
    from allocsolve.heuristics.evolution.list_scheduling import MANY  # noqa: PLC0415 - loaded when asked for
    from allocsolve.heuristics.evolution.order_search import SEGMENT_LIMIT  # noqa: PLC0415 - loaded when asked for

    packed = problem.packed
    # Limits round down to whole seconds: whether any step has room decides, and a second has none below 2.
    elastic = bool((packed.max_durations > packed.durations).any())
    limit = max(2, problem.expand_limit) if elastic else min(1.5, problem.expand_limit)
    # Long lists have kernels of their own, and so has annealing of many applications with many steps.
    if len(packed.releases) >= MANY:
        count = MANY
    elif len(packed.releases) * len(packed.durations) > SEGMENT_LIMIT:
        count = math.isqrt(SEGMENT_LIMIT) + 1
    else:
        count = 0
    return _tiny_problems(limit, count)


@functools.cache
def _tiny_problems(limit: float, count: int) -> tuple[EvolutionProblem, ...]:
    """Return a problem with gaps and, if the number is above 0, one with this number of applications."""
    apps = tuple(EvolutionProfile(tuple((1, nodes) for nodes in app)) for app in _TINY_NODES)
    tiny = EvolutionProblem(2, apps, expand_limit=limit)
    many = (EvolutionProfile(((1, 1),)),) * count
    return (tiny, EvolutionProblem(count, many, expand_limit=limit)) if count else (tiny,)


def _read_expand_limit(value: object) -> float:
    try:
        limit = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]  # raises TypeError
    except (TypeError, ValueError):
        limit = math.nan
    except OverflowError:  # an integer beyond all doubles
        limit = sys.float_info.max
    if isinstance(value, int) and value > MAX_INTEGER:  # even if the nearest double is 2^53
        limit = sys.float_info.max
    if math.isnan(limit):
        raise ValueError(f"{value!r} is not a number")
    if limit < 1:
        raise ValueError(f"{value} is below 1")
    expand_ratio(limit)  # refuses what is beyond 2^53
    return limit


_EXPAND_LIMIT: Final[Setting[EvolutionProblem]] = Setting(
    values="a number in 1..2^53, or inf",
    read=_read_expand_limit,
    apply=lambda problem, limit: replace(problem, expand_limit=limit),
    tightens=lambda problem, limit: limit <= problem.expand_limit,
    schema={"type": ["number", "string", "null"], "minimum": 1, "maximum": MAX_INTEGER},
)


def _quick_solvers(*_: object) -> tuple[AnySolver, ...]:
    return quick_solvers(EVOLUTION)


_VERIFIED: Final = "expand limit 1; with a schedule as an optimum"


def _proof_text(
    problem: EvolutionProblem,
    certificate: Mapping[str, Any],
    term: str,
    bound: int,
    answer: EvolutionSchedule | None,
) -> ProofText:
    from allocsolve.judge.evolution.proof_text import evolution_proof_text  # noqa: PLC0415 - when asked for

    del term  # the makespan, the only one
    return evolution_proof_text(problem, certificate, bound, answer)


def _kind(
    name: str, title: str, check: str, *, term: str = "makespan", verified: bool = True
) -> CertificateKind[EvolutionProblem, EvolutionSchedule]:
    return CertificateKind(
        name,
        (term,),
        title,
        imported(f"allocsolve.judge.evolution.{check}"),
        functools.partial(codec.certificate_schema, name),
        names_term=False,
        proof_text=_proof_text if verified else None,
        verified_for=_VERIFIED if verified else "",
    )


_CERTIFICATES: Final = (
    _kind("area", "areas of the applications", "certificate:area_bound"),
    _kind("step-prices", "prices of steps", "step_prices:step_price_bound", verified=False),
    _kind(
        "falling-prices",
        "prices of steps that fall with time",
        "falling_prices:falling_price_bound",
        term="completion",
        verified=False,
    ),
    _kind(
        "learned-clauses", "what a search has learned, up to a contradiction", "certificate:refutation_bound"
    ),
)


EVOLUTION: Final = Family(
    kind="evolution",
    problem=EvolutionProblem,
    answer=EvolutionSchedule,
    objectives=EVOLUTION_TERMS,
    rules=Rules(evolution_violations, evolution_metrics, _CERTIFICATES, finds_below=_finds_below),
    codec=Codec(
        answer_kind="evolution-schedule",
        problem=codec.PROBLEM,
        answer=codec.ANSWER,
        problem_table=tables.PROBLEM_TABLE,
        answer_table=tables.SCHEDULE_TABLE,
    ),
    view=EVOLUTION_VIEW,
    solvers=_TABLE,
    aliases=_ALIASES,
    baseline="cpsat",
    features=_features,
    warm_up=_warm_up_problems,
    examples=evolution_examples,
    large_example=lambda: klein2011(8),
    timing_problems={
        f"{count}-applications": functools.partial(klein2011, 1, num_apps=(count, count))
        for count in (10, 30, 100, 300, 1000, 3000)
    },
    settings={"expand_limit": _EXPAND_LIMIT},
    quick_solvers=_quick_solvers,
)
