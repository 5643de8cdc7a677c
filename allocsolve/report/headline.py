"""The sentence of a report on all instances of a kind that all solvers were run on."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from allocsolve.bench.runs.records import objective_terms
from allocsolve.bench.scores.gaps import is_lost_share, stated_remark
from allocsolve.pictures.chart import counted, percent, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.bench.scores.comparison import Comparison, InstanceResult


def headline(comparison: Comparison) -> str:
    """Return the sentence on all instances that all entrants were run on.

    Best is who answers most of them, of these who has the least mean gap to the best known bound, and of
    these who has the best known value most often.
    """
    common = comparison.common
    entrants = counted(len(comparison.cells), "solver")
    if not common:
        return f"No {comparison.kind} problem was run by all of {entrants} ({comparison.objective})."
    standings = {}
    for entrant, cells in comparison.cells.items():
        results = [cells[digest] for digest in common]
        met = sum(_meets(cells[digest], comparison, digest) for digest in common)
        gaps = [result.gap for result in results if result.gap is not None]
        unanswered = sum(result.value is None for result in results)
        standings[entrant] = (unanswered, fmean(gaps or [math.inf]), -met)
    first = min(standings.values())
    names = [visible(entrant) for entrant, standing in standings.items() if standing == first]
    unanswered, gap, met = first
    problems = counted(len(common), f"{comparison.kind} problem")
    if unanswered == len(common):
        return f"None of {entrants} has an answer to any of {problems} ({comparison.objective})."
    facts = [f"answers {len(common) - unanswered} of them"] if unanswered else []
    if gap < math.inf:
        facts.append(_distance(comparison, gap))
    facts.append(f"best known value on {-met} of {len(common)}")
    whose = f"Of {entrants} on {problems}, {_listed(names)} {'is' if len(names) == 1 else 'are'} best: "
    sentence = f"{whose if len(standings) > 1 else f'{names[0]} on {problems}: '}{', '.join(facts)}."
    stated = stated_remark([comparison.best_by_digest[digest] for digest in common])
    return f"{sentence} {stated}".rstrip()


def _distance(comparison: Comparison, gap: float) -> str:
    """Return a mean gap in words."""
    term = objective_terms(comparison.objective)[0]
    if is_lost_share(comparison.kind, comparison.objective):
        return f"{term}: {percent(gap)} of what the best known bound leaves is lost on average"
    return f"{term} {percent(gap)} above the best known bound on average"


def _meets(result: InstanceResult, comparison: Comparison, digest: str) -> bool:
    """Return whether every seed has the best known value."""
    best = comparison.best_by_digest[digest].value
    return best is not None and all(run.value == best for run in result.runs)


def _listed(names: Sequence[str], max_names: int = 3) -> str:
    """Return names as a sentence has them."""
    if len(names) > max_names:
        return f"{', '.join(names[:max_names])} and {len(names) - max_names} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
