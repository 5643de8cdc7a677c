"""`allocsolve import topology` and `place`, and the hostlist of the chosen nodes."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json
from network_texts import SAMPLES

from allocsolve.cli import main
from allocsolve.instances import expand_hostlist, read_problem
from allocsolve.model import PartitionProblem, PlacementProblem

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Two blocks of four nodes."""
    path = tmp_path / "topology.conf"
    path.write_text(SAMPLES["conf-blocks-1"].text)
    return path


@pytest.fixture
def free(tmp_path: Path) -> Path:
    """Three free nodes of the first block, two of the second."""
    path = tmp_path / "free.txt"
    path.write_text("c[01-03],c[05-06]")
    return path


def test_a_network_becomes_a_problem(blocks: Path, free: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "p.json"
    asked = ("--within", 2, "--segment", 2, "--segment-level", 1, "--balanced")
    told = run(capsys, "import", "topology", blocks, "--free", free, "--size", 4, *asked, "--out", out)
    assert told.startswith(
        f"{out}: 4 of 5 free nodes on a tree of 8 nodes, 2 switches of level 1, within level 2"
    )
    problem = placement(out)
    assert (problem.name, problem.size, problem.busy) == ("topology", 4, (3, 6, 7))
    assert (problem.within, problem.segment, problem.segment_level, problem.balanced) == (2, 2, 1, True)
    assert problem.meta == {"nodes": "c[01-08]", "switches": ["(cluster)", "b1", "b2"], "block_sizes": [4, 8]}
    again = ("import", "topology", blocks, "--free", free, "--size", 4, "--out", out)
    assert "exists; --force replaces it" in refused(capsys, *again)
    document = run_json(capsys, *again, "--force")
    assert document["notes"] == []
    assert (document["problem"], document["free"], document["size"]) == (str(out), 5, 4)


def placement(path: Path) -> PlacementProblem:
    problem = read_problem(path)
    assert isinstance(problem, PlacementProblem)
    return problem


def test_free_nodes_of_stdin(
    blocks: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"c[02-07] idle\nc04 mixed\nx1 down\n")))
    run(capsys, "import", "topology", blocks, "--free", "-", "--size", 2, "--out", tmp_path / "p.json")
    assert placement(tmp_path / "p.json").busy == (0, 3, 7)


def test_chosen_nodes_by_their_names(blocks: Path, free: Path, tmp_path: Path, capsys: Capture) -> None:
    problem, answer, hosts = (tmp_path / name for name in ("p.json", "s.json", "hosts.txt"))
    run(capsys, "import", "topology", blocks, "--free", free, "--size", 4, "--out", problem)
    solved = run(capsys, "solve", problem, "--solver", "first-free", "--out", answer, "--hosts", hosts)
    assert f"hosts written to {hosts}" in solved
    assert hosts.read_text() == "c[01-03,05]\n"
    check = ("check", problem, answer, "--hosts", hosts, "--force")
    run(capsys, *check)
    assert hosts.read_text() == "c[01-03,05]\n"
    assert "--window is for --perfetto and --evalys and --swf" in refused(capsys, *check, "--window", "0:1")
    document = json.loads(answer.read_text())
    answer.write_text(json.dumps({**document, "nodes": [0, 1, 2, 99]}))
    assert main([*map(str, check)]) == 2
    assert "--hosts: node 99 is not in 0..7" in capsys.readouterr().err


def test_nodes_without_names_are_told_by_their_ids(tmp_path: Path, capsys: Capture) -> None:
    problem, hosts = tmp_path / "p.json", tmp_path / "hosts.txt"
    document = {"format": "allocsolve/1", "kind": "partition", "size": 3}
    document |= {"topology": {"shape": [4, 2]}, "busy": [1]}
    for meta, expected in (({}, ["0", "4", "5"]), ({"nodes": "n[1-8]"}, ["n1", "n5", "n6"])):
        problem.write_text(json.dumps({**document, "meta": meta}))
        run(capsys, "solve", problem, "--solver", "manhattan-median", "--hosts", hosts, "--force")
        assert expand_hostlist(hosts.read_text()) == expected
    problem.write_text(json.dumps({**document, "meta": {"nodes": "n[1-7]"}}))
    said = refused(capsys, "solve", problem, "--solver", "manhattan-median", "--hosts", hosts, "--force")
    assert "meta.nodes of the problem has 7 names for 8 nodes" in said


def test_objects_of_kueue_tell_which_nodes_are_free(tmp_path: Path, capsys: Capture) -> None:
    topology, nodes, out = (tmp_path / name for name in ("topology.yaml", "nodes.json", "p.json"))
    objects, _, rows = SAMPLES["kueue-1"].text.partition("---\n")
    topology.write_text(objects)
    nodes.write_text(rows)
    assert main(["import", "topology", str(topology), str(nodes), "--size", "2", "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert told.err == f"allocsolve: {topology}: nodes that lack a label of the levels, left out: h4\n"
    assert placement(out).busy == (1,)


def test_a_torus_becomes_a_partition_problem(tmp_path: Path, free: Path, capsys: Capture) -> None:
    path, out = tmp_path / "topology.yaml", tmp_path / "p.json"
    path.write_text(
        "- topology: a\n  flat: true\n- topology: t\n  torus3d:\n    toruses:\n"
        "    - {name: pod, dims: {x: 2, y: 2, z: 2}, nodes: 'c[01-08]'}\n"
    )
    command = ("import", "topology", path, "--free", free, "--size", 4, "--out", out)
    run(capsys, *command, "--topology", "t")
    problem = read_problem(out)
    assert isinstance(problem, PartitionProblem)
    assert (problem.topology.shape, problem.busy) == ((2, 2, 2), (3, 6, 7))
    said = refused(capsys, *command, "--topology", "t", "--force", "--within", 1)
    assert "levels, segments and balance are asked of switches" in said
    run(capsys, *command, "--topology", "a", "--force")  # flat: all that the file of free nodes names
    assert read_problem(out).meta == {"nodes": "c[01-03,05-06]", "switches": ["a"]}


def test_what_is_refused(blocks: Path, free: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "p.json"

    def said(*options: object) -> str:
        return refused(capsys, "import", "topology", blocks, "--out", out, *options)

    assert f"{blocks} does not tell which nodes are free: --free names the file" in said("--size", 2)
    assert "size 6 is above the 5 free nodes" in said("--size", 6, "--free", free)
    assert "size 4 is no multiple of the segment 3" in said("--size", 4, "--free", free, "--segment", 3)
    assert "cannot be written: this command reads it" in said("--size", 2, "--free", out.parent / "p.json")
    free.write_text("c[01-03],d[1-9]")
    assert f"{free}: not in the network, but free: d1, d2, d3 and 6 more" in said("--size", 2, "--free", free)
    assert not out.exists()


def test_place_names_hosts(blocks: Path, free: Path, capsys: Capture, tmp_path: Path) -> None:
    picture = tmp_path / "best.svg"
    command = ("place", blocks, "--free", free, "--size", 2, "--plot", picture)
    told = run(capsys, *command, "--rules", "slurm-block")
    assert told.splitlines()[-1] == "c[01-02]"
    assert "slurm-block(block_sizes='4,8')" in told
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert "exists; --force replaces it" in refused(capsys, *command)


def test_place_for_machines(blocks: Path, free: Path, capsys: Capture) -> None:
    document = run_json(capsys, "place", blocks, "--free", free, "--size", 3)
    assert (document["status"], document["objective"], document["hosts"]) == ("optimal", 6, "c[01-03]")
    rules = {choice["rule"].partition("(")[0]: choice for choice in document["rules"]}
    assert {"slurm-tree", "slurm-block", "kueue", "lowest-switch"} <= {*rules}
    assert "random" not in rules
    assert len(expand_hostlist(rules["kueue"]["hosts"])) == 3
    assert rules["lowest-switch"]["gap"] == 0


def test_where_no_set_answers_place_has_the_exit_status_1(blocks: Path, free: Path, capsys: Capture) -> None:
    status = main(["place", str(blocks), "--free", str(free), "--size", "4", "--within", "1", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (status, document["status"], document["hosts"]) == (1, "infeasible", None)
