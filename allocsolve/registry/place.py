"""The best set of nodes for a job, and what the rules of schedulers take instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from allocsolve.errors import UnsupportedProblem
from allocsolve.families import family_of
from allocsolve.model import Budget, PartitionProblem, PlacementProblem, Status, SwitchTree, terms
from allocsolve.model.arrays import array_of
from allocsolve.registry.front_door import solve_and_assess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.families import AnyFamily
    from allocsolve.model import BoolArray, IntArray, Result, Topology, Value


class RuleChoice(NamedTuple):
    """What a rule takes."""

    rule: str
    #: Rising ids; None if the rule takes no nodes.
    nodes: IntArray | None
    #: Under the objective, as the judge has it; None without nodes.
    value: Value | None
    #: How far the first term that differs from the best is above it; 0 if none does, None without nodes or
    #: without a proof that the best is the best.
    gap: float | None
    #: That term; empty if there is none.
    worse_term: str
    #: Why it takes no nodes, empty if it takes some: the job waits, or the rule does not know what is asked.
    refusal: str


class Placed(NamedTuple):
    """The best set of nodes, and what rules take."""

    problem: PlacementProblem | PartitionProblem
    #: Of the exact solver; its status says whether the set is proven to be the best.
    best: Result[Any]
    #: In the order of the rules.
    choices: tuple[RuleChoice, ...]


def place(
    topology: SwitchTree | Topology,
    free: Sequence[bool] | BoolArray,
    size: int,
    *,
    within: int = 0,
    segment: int = 0,
    segment_level: int = 1,
    balanced: bool = False,
    objective: str = "pairwise",
    rules: Sequence[str] = (),
    seconds: float = 60.0,
    seed: int = 0,
) -> Placed:
    """Return the best set of free nodes for a job, and what the rules of schedulers take instead.

    Parameters
    ----------
    topology
        The machine: a switch tree, or a box of nodes.
    free
        Which nodes may be chosen, shape (nodes,); not changed.
    within, segment, segment_level, balanced
        What is asked of a set on a switch tree, see `allocsolve.model.PlacementProblem`.
    objective
        What is minimised, terms in order of importance, such as ``domains,leftover``.
    rules
        Names of solvers of such problems: ``slurm-tree``, ``kueue(mode='balanced')``.
    seconds, seed
        The limit of the exact solver, and the seed of all.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or what is asked for is out of range.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = [True, False, True, True, True, True]
    >>> placed = place(SwitchTree.regular((3, 2)), free, 3, rules=["first-free"])
    >>> placed.best.answer.nodes.tolist(), placed.best.objective, placed.best.status.value
    ([2, 3, 4], 10, 'optimal')
    >>> [(choice.rule, choice.value, choice.gap, choice.worse_term) for choice in placed.choices]
    [('first-free', 10, 0.0, '')]
    """
    problem: PlacementProblem | PartitionProblem
    mask = array_of(free)
    if isinstance(topology, SwitchTree):
        asked = within, segment, segment_level, balanced
        problem = PlacementProblem(topology, mask, size, *asked)
    else:
        problem = PartitionProblem(topology, mask, size)
    return place_problem(problem, objective=objective, rules=rules, budget=Budget(seconds=seconds, seed=seed))


def place_problem(
    problem: PlacementProblem | PartitionProblem, *, objective: str, rules: Sequence[str], budget: Budget
) -> Placed:
    """Return the best set of nodes of a problem, and what rules take."""
    family = family_of(problem)
    objective_terms = family.parse_objective(objective)
    best = solve_and_assess(problem, family.baseline, objective_terms, budget).result
    choices = []
    for rule in rules:
        try:
            result = solve_and_assess(problem, rule, objective_terms, budget).result
        except UnsupportedProblem as error:
            choices.append(RuleChoice(rule, None, None, None, "", str(error)))
            continue
        if result.answer is None:
            choices.append(RuleChoice(rule, None, None, None, "", "takes no nodes: the job waits"))
            continue
        value = result.objective
        gap, term = _gap(family, objective_terms, value, best) if value is not None else (None, "")
        choices.append(RuleChoice(rule, result.answer.nodes, value, gap, term, ""))
    return Placed(problem, best, tuple(choices))


def _gap(
    family: AnyFamily, objective: Sequence[str], value: Value, best: Result[Any]
) -> tuple[float | None, str]:
    """Return how far the first term that differs from the best is above it, and that term."""
    if best.status is not Status.OPTIMAL or best.objective is None:
        return None, ""
    for term, own, least in zip(objective, terms(value), terms(best.objective), strict=True):
        if own != least:
            return family.gap(term, own, least), term
    return 0.0, ""
