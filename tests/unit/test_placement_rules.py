"""Placement: rules of schedulers, solvers, choices by name, pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from placement_strategies import placement_problems, placements

from allocsolve import heuristics, place
from allocsolve.adaptors import node_chooser
from allocsolve.bounds import placement_bound
from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName, UnsupportedProblem
from allocsolve.exact import PlacementCpSat, TreeKnapsack
from allocsolve.exact.placement import cpsat, tree_knapsack
from allocsolve.families import family_of
from allocsolve.heuristics import SlurmBlock, kueue, pbs_placement, slurm_block
from allocsolve.instances import SWITCH_TREES, uniform_occupancy
from allocsolve.judge import confirm
from allocsolve.model import (
    Budget,
    Limit,
    Mesh,
    PartitionProblem,
    Placement,
    PlacementProblem,
    Status,
    SwitchTree,
    Topology,
)
from allocsolve.pictures.placement import PLACEMENT_VIEW
from allocsolve.registry import make_solver, solver_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import IntArray


RULES = ("lowest-switch", "kueue", "kai", "spur", "slurm-tree", "pbs-placement", "fluxion", "slurm-block")
PODS = SwitchTree.regular((2, 2, 3))
#: A root with two racks of two nodes, and one that is a rack of three.
ROOTS = SwitchTree(np.array([-1, 0, 0, -1]), np.array([1, 1, 2, 2, 3, 3, 3]))


def all_free(tree: SwitchTree) -> Any:
    return np.ones(tree.num_nodes, dtype=np.bool_)


def listed(nodes: IntArray | None) -> list[int] | None:
    return None if nodes is None else nodes.tolist()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("18,36x", "block_sizes '18,36x': '36x' is no number of nodes"),
        ("18,,36", "block_sizes '18,,36': '' is no number of nodes"),
        ("3,9", "block_sizes: 9 is not 3 times a power of two up to 2^15"),
        ("3,7", "block_sizes: 7 is not 3 times a power of two up to 2^15"),
        ("0", "block_sizes: 0 is not 0 times a power of two up to 2^15"),
        ((3, 2.5), "block_sizes '3,2.5': '2.5' is no number of nodes"),
        ((1, 65536), "block_sizes: 65536 is not 1 times a power of two up to 2^15"),
    ],
)
def test_wrong_block_sizes_are_refused(sizes: Any, message: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        slurm_block(PODS, all_free(PODS), 2, block_sizes=sizes)
    assert str(caught.value) == message
    if isinstance(sizes, str):
        with pytest.raises(InvalidOption):
            SlurmBlock(block_sizes=sizes)


def test_what_a_mode_does_not_know_is_refused() -> None:
    with pytest.raises(UnsupportedProblem, match="within 1: Kueue's unconstrained jobs know nothing of it"):
        kueue(PODS, all_free(PODS), 1, mode="unconstrained", within=1)


@pytest.mark.parametrize("k", [0, 13])
def test_wrong_sizes_are_refused(k: int) -> None:
    for name in RULES:
        with pytest.raises(InvalidProblem, match=f"size {k} is"):
            getattr(heuristics, name.replace("-", "_"))(PODS, all_free(PODS), k)


def test_blocks_decide_what_waits() -> None:
    """Three racks have two free nodes, the last one three; by default racks form pairs."""
    free = all_free(PODS)
    free[[0, 5, 8]] = False

    def taken(k: int, **options: Any) -> list[int] | None:
        return listed(slurm_block(PODS, free, k, **options))

    assert taken(4) == [1, 2, 3, 4]  # the pair with fewest
    assert taken(5) == [6, 7, 9, 10, 11]
    assert taken(6) is None  # two racks could hold it, but no pair does
    assert taken(6, block_sizes="3,12") is None
    assert taken(7) == [3, 4, 6, 7, 9, 10, 11]  # of all four racks
    assert taken(6, segment=2) == [1, 2, 3, 4, 6, 7]
    assert taken(6, segment=2, consolidate=True) is None
    assert taken(7, segment=3) is None
    assert taken(4, segment=5) == taken(4)


def test_segments_of_the_problem_are_slurms() -> None:
    problem = PlacementProblem.of(PODS, busy=[0, 5, 8], size=4, segment=2)
    result = SlurmBlock()(problem, Budget())
    assert result.status is Status.FEASIBLE
    # The first rack with two free nodes, from the end, twice.
    assert result.answer is not None
    assert result.answer.nodes.tolist() == [3, 4, 6, 7]
    # Placed in segments of three, the job has no segments of two.
    other = PlacementProblem.of(PODS, size=6, segment=2)
    assert SlurmBlock(segment=3)(other, Budget()).answer is None


def test_a_job_lies_below_one_root() -> None:
    free = all_free(ROOTS)
    for name in RULES:
        solver = make_solver(name, PlacementProblem)
        assert solver(PlacementProblem(ROOTS, free, 5), Budget()).answer is None, name
    # The highest root that holds a job, though the other is one rack.
    assert listed(heuristics.slurm_tree(ROOTS, free, 3)) == [0, 1, 2]
    assert listed(heuristics.lowest_switch(ROOTS, free, 3)) == [4, 5, 6]
    # What knows no roots takes what it takes; it is no answer.
    assert heuristics.fluxion(ROOTS, free, 5, policy="high").tolist() == [2, 3, 4, 5, 6]
    assert listed(kueue(ROOTS, free, 5, mode="unconstrained")) == [0, 1, 2, 3, 4]


def test_pbs_spans_sets_or_waits() -> None:
    free = all_free(PODS)
    free[[0, 1, 6, 7]] = False
    assert listed(pbs_placement(PODS, free, 5)) == [2, 3, 4, 5, 8]
    assert pbs_placement(PODS, free, 5, wait=True) is None
    assert listed(pbs_placement(PODS, free, 8, wait=True)) == np.flatnonzero(free).tolist()


# --- Placement solvers --------------------------------------------------------------------------------

SMALL_PODS = uniform_occupancy(SwitchTree.regular((3, 4, 6), (), (4, 3)), 0.4, 20, 1)
ORDER = ("domains", "pairwise")


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("make", [TreeKnapsack, PlacementCpSat])
def test_objectives_are_those_of_the_family(make: Callable[..., object]) -> None:
    assert repr(make("domains, pairwise")) == repr(make(ORDER))
    with pytest.raises(UnknownName, match="makespan"):
        placement_bound(SMALL_PODS, "makespan")


@pytest.mark.parametrize("make", [TreeKnapsack, PlacementCpSat])
def test_a_term_without_a_model_is_refused_in_a_line(make: Any) -> None:
    solver = make()
    object.__setattr__(solver, "objective", ("cable",))  # a term that its family has, and it has not
    with pytest.raises(UnsupportedProblem, match=r"objective 'cable': this solver has no model of it"):
        solver(SMALL_PODS, Budget())


def test_tables_that_are_too_large_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_knapsack, "_MAX_MEMORY", 10)
    result = confirm(SMALL_PODS, TreeKnapsack(ORDER)(SMALL_PODS, Budget()), ORDER)
    assert (result.status, result.limit, result.certificate) == (Status.FEASIBLE, Limit.SIZE, None)
    assert result.bound == (placement_bound(SMALL_PODS, "domains"),)


def test_a_stop_between_terms_keeps_what_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    first = TreeKnapsack()(SMALL_PODS, Budget())
    monkeypatch.setattr(tree_knapsack.TableSearch, "check_clock", interrupt)
    order = ("pairwise", "bottleneck")
    result = confirm(SMALL_PODS, TreeKnapsack(order)(SMALL_PODS, Budget()), order)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    assert result.bound == (first.objective, placement_bound(SMALL_PODS, "bottleneck"))
    assert result.certificate == first.certificate


def test_cpsat_bounds_what_it_cannot_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    result = PlacementCpSat(max_nodes=3)(SMALL_PODS, Budget())
    assert (result.status, result.limit) == (Status.UNKNOWN, Limit.SIZE)
    assert result.bound == placement_bound(SMALL_PODS, "pairwise")
    monkeypatch.setattr(cpsat, "_balance", interrupt)
    result = PlacementCpSat(ORDER)(SMALL_PODS, Budget())
    assert (result.status, result.limit) == (Status.UNKNOWN, Limit.INTERRUPTED)
    monkeypatch.undo()
    run: Any = cpsat._Search._run
    outcomes: list[object] = []

    def stopped(*args: object) -> object:
        outcome, least = run(*args)
        outcomes.append(outcome)
        return outcome._replace(optimal=len(outcomes) < 2, interrupted=len(outcomes) > 1), least

    monkeypatch.setattr(cpsat._Search, "_run", stopped)
    result = PlacementCpSat((*ORDER, "leftover"))(SMALL_PODS, Budget())
    optimum = TreeKnapsack(ORDER)(SMALL_PODS, Budget()).objective
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    assert result.bound == optimum  # the bound of the run that was said not to be done


def test_a_machine_of_many_levels_and_of_one() -> None:
    chain = SwitchTree(np.arange(-1, 15), np.array([15, 15, 15]))
    for tree, hops in (chain, 2), (SwitchTree.regular((3,)), 2):
        problem = PlacementProblem.of(tree, size=3)
        for term, value in (("pairwise", 3 * hops), ("bottleneck", 0), ("domains", 1), ("leftover", 0)):
            result = confirm(problem, TreeKnapsack((term,))(problem, Budget()), (term,))
            assert (result.status, result.objective) == (Status.OPTIMAL, value)


# --- Place --------------------------------------------------------------------------------------------

#: Two pods; in the first, racks with two and one free nodes, in the second three racks with one each: Slurm's
#: rule for trees leaves the pod.
TWO_PODS = SwitchTree(np.array([-1, 0, 0, 1, 1, 2, 2]), np.repeat([3, 5, 6, 4], [2, 1, 1, 1]))


def test_the_best_nodes_beside_those_of_rules() -> None:
    placed = place(TWO_PODS, [True] * 5, 3, rules=["slurm-tree", "first-free"])
    assert placed.best.status is Status.OPTIMAL
    assert placed.best.objective == 2 + 4 + 4
    assert [choice.rule for choice in placed.choices] == ["slurm-tree", "first-free"]
    for choice in placed.choices:
        assert choice.nodes is not None
        assert isinstance(choice.value, int)  # one term
        assert choice.gap == (choice.value - 10) / 10


def test_several_terms_are_compared_by_the_first_that_differs() -> None:
    free = np.array([1, 1, 1, 1, 1, 0, 1, 1, 1], dtype=np.bool_)
    racks = SwitchTree.regular((3, 3))
    placed = place(racks, free, 2, objective="domains,leftover", rules=["first-free"])
    assert placed.best.objective == (1, 0)
    assert placed.best.answer is not None
    assert placed.best.answer.nodes.tolist() == [3, 4]
    (choice,) = placed.choices
    assert (choice.value, choice.gap, choice.worse_term) == ((1, 1), float("inf"), "leftover")


def test_a_rule_that_waits_and_one_that_does_not_know_what_is_asked() -> None:
    placed = place(TWO_PODS, [True] * 5, 4, segment=2, rules=["slurm-block(block_sizes='2')", "first-free"])
    waits, unknowing = placed.choices
    assert waits.nodes is None
    assert unknowing.refusal == "first-free does not know what segment 2 asks for"


def test_boxes_have_no_rules_but_a_best_set() -> None:
    placed = place(Mesh((4, 2)), [True] * 8, 4)
    assert (placed.best.status, placed.best.objective, placed.choices) == (Status.OPTIMAL, 8, ())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="size 6 is above the 5 free nodes"):
        place(TWO_PODS, [True] * 5, 6)
    with pytest.raises(UnknownName, match="nearest-first"):
        place(TWO_PODS, [True] * 5, 3, rules=["nearest-first"])


# --- Node choice --------------------------------------------------------------------------------------

_ALLOCATORS = [
    name for name, row in solver_names(family_of(PartitionProblem)).items() if row.method == "heuristic"
]


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        *((name, Mesh((4, 3))) for name in _ALLOCATORS),
        *((name, SwitchTree.regular((2, 2, 3))) for name in solver_names(family_of(PlacementProblem))),
    ],
)
def test_free_nodes_are_chosen_or_none(name: str, nodes: Topology | SwitchTree) -> None:
    choose = node_chooser(name, nodes)
    free = [0, 1, 2, 4, 5, 6, 9, 11]
    for size in (1, 4, 8):
        chosen = choose(free, size)
        if chosen is not None:
            assert chosen == sorted({*chosen} & {*free})
            assert len(chosen) == size


def test_a_name_is_that_of_a_solver_for_the_machine() -> None:
    tree, free = SwitchTree.regular((2, 3)), [0, 1, 3, 4, 5]
    assert node_chooser("lowest-switch", tree)(free, 2) == [0, 1]
    assert node_chooser("kueue(mode=unconstrained)", tree)(free, 3) == [0, 1, 3]
    assert node_chooser("slurm-block", tree)(free, 3) == [3, 4, 5]
    assert node_chooser("random", tree, seed=1)(free, 5) == free
    for name, nodes in (("growth", tree), ("slurm-tree", Mesh((6,)))):
        with pytest.raises(UnknownName):
            node_chooser(name, nodes)


@pytest.mark.parametrize(
    ("free", "size", "message"),
    [
        ([0, 4], 1, "free node 4 is none of the 4 nodes"),
        (["n1"], 1, "free node 'n1' is none of the 4 nodes"),
        ([1, 1], 1, "free node 1 is there twice"),
        ([0, 1], 3, "3 nodes are asked for, 2 are free"),
        ([0, 1], 0, "0 nodes are asked for, 2 are free"),
        (np.ones(3, dtype=bool), 1, "free is a mask of the shape (3,), not of 4 nodes"),
    ],
)
def test_wrong_questions_are_refused(free: Any, size: int, message: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        node_chooser("growth", 4)(free, size)
    assert str(caught.value) == message


def test_wrong_choosers_are_refused() -> None:
    with pytest.raises(InvalidOption, match="nodes 0"):
        node_chooser("growth", 0)
    with pytest.raises(UnknownName):
        node_chooser("grow", 4)


# --- Placement pictures -------------------------------------------------------------------------------


def areas(picture: str) -> dict[str, float]:
    """Return the area of each kind of nodes, in pixels."""
    found = {}
    for kind, path in re.findall(r'<path class="(\w+)-area" d="([^"]*)"', picture):
        boxes = re.findall(r"h([\d.]+)v([\d.]+)h-", path)
        found[kind] = sum(float(width) * float(height) for width, height in boxes)
    return found


@settings(deadline=None)
@given(st.data(), placement_problems())
def test_the_areas_are_those_of_the_nodes(data: st.DataObject, problem: PlacementProblem) -> None:
    placement = data.draw(placements(problem))
    left = int(problem.free.sum()) - problem.size
    counts = {"chosen": problem.size, "free": left, "busy": len(problem.busy)}
    found = areas(str(PLACEMENT_VIEW.plot(problem, placement)))
    unit = found["chosen"] / problem.size
    assert unit == pytest.approx(round(unit**0.5) ** 2)
    assert {kind: count * unit for kind, count in counts.items() if count} == found
    text = "".join(
        piece for line in PLACEMENT_VIEW.terminal_picture(problem, placement, 80) for piece, _ in line
    )
    told = re.findall(r"(\d+) chosen, (\d+) left", text)
    assert sum(int(chosen) for chosen, _ in told) == problem.size
    assert sum(int(left) for _, left in told) == counts["free"]


@pytest.mark.parametrize("name", [*SWITCH_TREES])
def test_named_machines_are_drawn_within_the_width(name: str) -> None:
    tree = SWITCH_TREES[name]
    problem = PlacementProblem.of(tree, busy=range(0, tree.num_nodes, 2), size=300)
    drawing = PLACEMENT_VIEW.plot(problem, Placement(np.flatnonzero(problem.free)[:300]))
    width = drawing.size[0]
    for path in re.findall(r'<path class="\w+-area" d="([^"]*)"', str(drawing)):
        for left, box in re.findall(r"M([\d.]+) [\d.]+h([\d.]+)v", path):
            assert float(left) + float(box) <= width


def test_a_machine_of_too_many_nodes_is_not_drawn() -> None:
    problem = PlacementProblem.of(SwitchTree.regular((1024, 256)), size=5)
    assert PLACEMENT_VIEW.undrawable(problem) == "262144 nodes are more than the 131072 that can be drawn"


def test_names_of_switches_stand_below_their_groups() -> None:
    names = ["top", "east", "west", *(f"rack{number}" for number in range(16))]
    tree = SwitchTree.regular((2, 8, 3))
    problem = PlacementProblem.of(tree, busy=[0], size=4, meta={"switches": names})
    picture = str(PLACEMENT_VIEW.plot(problem, Placement(np.array([1, 2, 3, 4]))))
    assert ">east: 4 chosen<" in picture
    assert "west" not in picture
