"""`place`: the best nodes for a job and what rules take, in Python and as a command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import refused, run, run_json
from network_texts import SAMPLES

from allocsolve import place
from allocsolve.cli import main
from allocsolve.errors import InvalidProblem, UnknownName
from allocsolve.instances import expand_hostlist
from allocsolve.model import Mesh, Status, SwitchTree

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

#: Two pods; in the first, racks with two and one free nodes, in the second three racks with one each: Slurm's
#: rule for trees leaves the pod.
PODS = SwitchTree(np.array([-1, 0, 0, 1, 1, 2, 2]), np.repeat([3, 5, 6, 4], [2, 1, 1, 1]))


def test_the_best_nodes_beside_those_of_rules() -> None:
    placed = place(PODS, [True] * 5, 3, rules=["slurm-tree", "first-free"])
    assert placed.best.status is Status.OPTIMAL
    assert placed.best.objective == 2 + 4 + 4
    assert [choice.rule for choice in placed.choices] == ["slurm-tree", "first-free"]
    for choice in placed.choices:
        assert choice.nodes is not None
        assert choice.value is not None
        assert choice.gap == (choice.value - 10) / 10  # type: ignore[operator]  # one term, so one number


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
    placed = place(PODS, [True] * 5, 4, segment=2, rules=["slurm-block(block_sizes='2')", "first-free"])
    waits, unknowing = placed.choices
    assert waits.nodes is None
    assert unknowing.refusal == "first-free does not know what segment 2 asks for"


def test_boxes_have_no_rules_but_a_best_set() -> None:
    placed = place(Mesh((4, 2)), [True] * 8, 4)
    assert (placed.best.status, placed.best.objective, placed.choices) == (Status.OPTIMAL, 8, ())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="size 6 is above the 5 free nodes"):
        place(PODS, [True] * 5, 6)
    with pytest.raises(UnknownName, match="nearest-first"):
        place(PODS, [True] * 5, 3, rules=["nearest-first"])


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Two blocks of four nodes, sizes 4 and 8."""
    path = tmp_path / "topology.conf"
    path.write_text(SAMPLES["conf-blocks-1"].text)
    return path


@pytest.fixture
def free(tmp_path: Path) -> Path:
    """Three free nodes of the first block, two of the second."""
    path = tmp_path / "free.txt"
    path.write_text("c[01-03],c[05-06]")
    return path


def test_the_command_names_hosts(blocks: Path, free: Path, capsys: Capture, tmp_path: Path) -> None:
    picture = tmp_path / "best.svg"
    told = run(
        capsys, "place", blocks, "--free", free, "--size", 2, "--rules", "slurm-block", "--plot", picture
    )
    assert told.splitlines()[-1] == "c[01-02]"
    assert "slurm-block(block_sizes='4,8')" in told
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert "exists; --force replaces it" in refused(
        capsys, "place", blocks, "--free", free, "--size", 2, "--plot", picture
    )


def test_the_command_for_machines(blocks: Path, free: Path, capsys: Capture) -> None:
    document = run_json(capsys, "place", blocks, "--free", free, "--size", 3)
    assert (document["status"], document["objective"], document["hosts"]) == ("optimal", 6, "c[01-03]")
    rules = {choice["rule"].partition("(")[0]: choice for choice in document["rules"]}
    assert {"slurm-tree", "slurm-block", "kueue", "lowest-switch"} <= {*rules}
    assert "random" not in rules
    assert len(expand_hostlist(rules["kueue"]["hosts"])) == 3
    assert rules["lowest-switch"]["gap"] == 0


def test_where_no_set_answers_the_exit_status_is_1(blocks: Path, free: Path, capsys: Capture) -> None:
    status = main(["place", str(blocks), "--free", str(free), "--size", "4", "--within", "1", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (status, document["status"], document["hosts"]) == (1, "infeasible", None)
