"""Laws of the rules of placement: what each takes, and its slow twin."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import naive_placement_rules as naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from placement_strategies import placement_problems

from allocsolve import heuristics, judge
from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics import FLUXION_POLICIES, KUEUE_MODES
from allocsolve.model import Budget, PlacementProblem, SwitchTree
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import BoolArray, IntArray

    Request = tuple[SwitchTree, BoolArray, int]

#: Rules with their twins.
RULES: dict[str, tuple[Callable[..., IntArray | None], Callable[..., list[int] | None]]] = {
    "first-free": (heuristics.first_free, naive.first_free),
    "lowest-switch": (heuristics.lowest_switch, naive.lowest_switch),
    "slurm-tree": (heuristics.slurm_tree, naive.slurm_tree),
    "slurm-block": (heuristics.slurm_block, naive.slurm_block),
    "kai": (heuristics.kai, naive.kai),
    "spur": (heuristics.spur, naive.spur),
    **{
        f"kueue(mode={mode})": (partial(heuristics.kueue, mode=mode), partial(naive.kueue, mode=mode))
        for mode in KUEUE_MODES
    },
    **{
        f"fluxion(policy={policy})": (
            partial(heuristics.fluxion, policy=policy),
            partial(naive.fluxion, policy=policy),
        )
        for policy in FLUXION_POLICIES
    },
    **{
        f"pbs-placement(wait={wait})": (
            partial(heuristics.pbs_placement, wait=wait),
            partial(naive.pbs_placement, wait=wait),
        )
        for wait in (False, True)
    },
    **{
        f"volcano, seed {seed}": (partial(heuristics.volcano, seed=seed), partial(naive.volcano, seed=seed))
        for seed in range(3)
    },
}
#: Names of solvers, and what the problems may ask of each.
SOLVERS = {
    "lowest-switch": {"within"},
    "slurm-tree": set(),
    "slurm-block": {"segment"},
    "slurm-block(consolidate=True)": {"segment"},
    "kueue": {"within"},
    "kueue(mode=balanced)": {"within"},
    "kai": {"within"},
    "volcano": {"within"},
    "spur": set(),
    "pbs-placement": set(),
    "fluxion": set(),
    "first-free": set(),
    "random": set(),
}


@st.composite
def requests(draw: st.DrawFn, max_nodes: int = 24) -> Request:
    problem = draw(placement_problems(max_nodes=max_nodes, asked=False))
    return problem.tree, problem.free, problem.size


def listed(nodes: IntArray | None) -> list[int] | None:
    return None if nodes is None else nodes.tolist()


@pytest.mark.parametrize("name", RULES)
@given(request=requests())
def test_a_rule_takes_what_its_twin_takes(name: str, request: Request) -> None:
    rule, twin = RULES[name]
    assert listed(rule(*request)) == twin(*request)


@pytest.mark.parametrize("mode", ["best-fit", "balanced"])
@given(request=requests(), within=st.integers(1, 4))
def test_kueue_heeds_a_required_level(mode: Any, request: Request, within: int) -> None:
    assert listed(heuristics.kueue(*request, mode=mode, within=within)) == naive.kueue(
        *request, mode=mode, within=within
    )


@given(
    request=requests(max_nodes=30),
    base=st.integers(1, 4),
    levels=st.sets(st.integers(1, 4)),
    segment=st.integers(0, 8),
    consolidate=st.booleans(),
)
def test_blocks_of_any_sizes(
    request: Request, base: int, levels: set[int], segment: int, consolidate: bool
) -> None:
    sizes = [base * 2**level for level in (0, *sorted(levels))]
    expected = naive.slurm_block(*request, sizes, segment, consolidate=consolidate)
    chosen = heuristics.slurm_block(*request, block_sizes=sizes, segment=segment, consolidate=consolidate)
    assert listed(chosen) == expected
    text = ", ".join(map(str, sizes))
    again = heuristics.slurm_block(*request, block_sizes=text, segment=segment, consolidate=consolidate)
    assert listed(again) == expected


def test_blocks_that_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Base blocks of three nodes, some of them empty, in numbers that are no power of two."""
    outcomes: list[str] = []
    attempt = naive.Blocks.attempt

    def noted(blocks: naive.Blocks, k: int, segment: int, consolidate: bool) -> str:
        outcomes.append(attempt(blocks, k, segment, consolidate))
        return outcomes[-1]

    monkeypatch.setattr(naive.Blocks, "attempt", noted)
    random = np.random.default_rng(0)
    endings = dict.fromkeys(("chosen", "refused", "chosen after stalls", "waits after stalls"), 0)
    for _ in range(300):
        racks = int(random.integers(8, 15))
        tree = SwitchTree(np.append(-1, np.zeros(racks, dtype=np.int64)), np.repeat(np.arange(racks) + 1, 3))
        held = random.choice([3, 3, 3, 3, 2, 0], racks)
        free = (np.arange(3) < held[:, None]).ravel()
        k = int(random.integers(13, max(14, free.sum())))
        if k > free.sum():
            continue
        sizes = [3, 6, 12] if random.random() < 0.5 else [3, 12]
        segment = k // 2 if k % 2 == 0 and random.random() < 0.2 else 0
        outcomes.clear()
        expected = naive.slurm_block(tree, free, k, sizes, segment)
        assert listed(heuristics.slurm_block(tree, free, k, block_sizes=sizes, segment=segment)) == expected
        stalls = " after stalls" if "stalled" in outcomes else ""
        endings[f"{'waits' if stalls and expected is None else outcomes[-1]}{stalls}"] += 1
    assert endings["chosen"] > 50
    assert endings["refused"] > 50
    assert endings["waits after stalls"] > 10


def test_blocks_that_are_found_after_stalls() -> None:
    """Pods without a busy rack are tried when the others have lost so many nodes that they are smaller."""
    racks = np.ones((7, 4, 6), dtype=np.bool_)
    racks[:5, 1] = False
    racks[5:, :, :2] = False
    tree, free = SwitchTree.regular((7, 4, 6)), racks.ravel()
    chosen = heuristics.slurm_block(tree, free, 25, block_sizes="6,24")
    assert chosen is not None
    assert chosen.tolist() == naive.slurm_block(tree, free, 25, [6, 24])
    assert np.isin(chosen // 24, [5, 6]).sum() == 16


@pytest.mark.parametrize("name", SOLVERS)
@given(problem=placement_problems(max_nodes=16))
def test_no_answer_is_other_than_the_problem_asks_for(name: str, problem: PlacementProblem) -> None:
    asked = {field for field in ("within", "segment", "balanced") if getattr(problem, field)}
    solver = make_solver(name, PlacementProblem)
    if asked - SOLVERS[name]:
        with pytest.raises(UnsupportedProblem, match=r"does not know what (within|segment|balanced)"):
            solver(problem, Budget())
        return
    result = solver(problem, Budget())
    if result.answer is not None:
        assert judge.violations(problem, result.answer) == ()


@given(problem=placement_problems(max_nodes=16, asked=False), level=st.integers(1, 4))
def test_rules_that_begin_at_the_lowest_level_keep_within_one(problem: PlacementProblem, level: int) -> None:
    """They have no answer exactly if no switch of the level holds the job."""
    asked = PlacementProblem(problem.tree, problem.free, problem.size, within=level)
    counts = problem.tree.nodes_below(problem.free)
    holds = (counts[problem.tree.level <= level] >= problem.size).any()
    for name in ("lowest-switch", "kueue", "kai", "volcano"):
        result = make_solver(name, PlacementProblem)(asked, Budget())
        assert (result.answer is not None) == holds
