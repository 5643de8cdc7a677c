"""The best set of nodes for a job, what the rules of schedulers take instead, and solvers as allocators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from allocsolve.errors import PluginError, UnknownName, UnsupportedProblem
from allocsolve.families import family_of
from allocsolve.heuristics import Static
from allocsolve.model import Budget, PartitionProblem, PlacementProblem, Status, SwitchTree, Topology, terms
from allocsolve.model.arrays import array_of
from allocsolve.registry.front_door import ready, solve_and_assess
from allocsolve.registry.table import make_solver, registered_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.families import AnyFamily, AnySolver
    from allocsolve.model import BoolArray, IntArray, Result, Value

    #: From a machine, its free nodes and a number to so many of them, rising; None if none are found.
    Allocator: TypeAlias = Callable[[Topology | SwitchTree, BoolArray, int], IntArray | None]


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


#: What chooses nodes of a machine of each sort.
_PROBLEMS: dict[type, Any] = {Topology: PartitionProblem, SwitchTree: PlacementProblem}


def make_allocator(name: str, *, seed: int = 0) -> Allocator:
    """Return the solver of this name as a function from free nodes to chosen ones.

    That is what `allocsolve.instances.churned_occupancy` takes. On a `Topology` it is the solver of partition
    problems of this name, on a `SwitchTree` that of placement problems.

    Parameters
    ----------
    name
        As `make_solver` takes it.
    seed
        Of every call.

    Examples
    --------
    >>> from allocsolve.model import Mesh, SwitchTree
    >>> import numpy as np
    >>> free = np.array([0, 1, 0, 1, 0, 1], dtype=bool)
    >>> make_allocator("sorted-free-list")(Mesh((3, 2)), free, 2).tolist()
    [1, 3]
    >>> make_allocator("lowest-switch")(SwitchTree.regular((2, 3)), free, 2).tolist()
    [3, 5]
    """
    budget = Budget(seed=seed)
    solvers: dict[type, AnySolver] = {}
    faults: list[UnknownName | PluginError] = []
    for sort, kind in _PROBLEMS.items():
        try:
            solvers[sort] = make_solver(name, kind)
        except (UnknownName, PluginError) as fault:
            faults.append(fault)
    if not solvers:
        if isinstance(faults[0], PluginError):
            raise faults[0]
        names = [known for kind in _PROBLEMS.values() for known in registered_names(family_of(kind))]
        raise UnknownName("allocator", name, names)
    ready_for: set[Topology | SwitchTree] = set()
    latest: Topology | SwitchTree | None = None

    def allocate(machine: Topology | SwitchTree, free: BoolArray, size: int) -> IntArray | None:
        nonlocal latest
        sort = SwitchTree if isinstance(machine, SwitchTree) else Topology
        problem = _PROBLEMS[sort](machine, free, size)
        # Where there is none, this says so.
        solver = solvers[sort] if sort in solvers else make_solver(name, problem)
        if machine is not latest and machine not in ready_for:
            ready(solver, problem)
            ready_for.add(machine)
        latest = machine
        nodes: IntArray | None = getattr(solver(problem, budget).answer, "nodes", None)
        return nodes

    return allocate


def static() -> Static:
    """Return `allocsolve.heuristics.Static`, whose allocators may be of any name here."""
    return Static(allocators=make_allocator)
