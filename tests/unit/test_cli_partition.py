"""The commands on partition problems and networks: what they write, show and refuse."""

from __future__ import annotations

import io
import json
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from json_tools import saved
from network_texts import SAMPLES
from picture_tools import SVG, parsed, skylines, squares

from allocsolve.cli import main
from allocsolve.heuristics import kueue
from allocsolve.instances import (
    MACHINES,
    SWITCH_TREES,
    churned_occupancy,
    expand_hostlist,
    klein2011,
    median_worst_case,
    read_problem,
    regenerate,
    uniform_occupancy,
    write_problem,
)
from allocsolve.model import HyperX, Mesh, PartitionProblem, PlacementProblem, Topology, Torus
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from pathlib import Path


SQUARE = PartitionProblem.of(Mesh((4, 3)), busy=[5, 8], size=4, name="square")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "square.json"
    write_problem(SQUARE, path)
    return path


MESHES = {
    "--machine 7": Mesh((7,)),
    "--machine 3x3x3 --wrap all": Torus((3, 3, 3)),
    "--machine 3x4 --complete 1,1": HyperX((3, 4)),
    "--machine 3x4 --complete 0,1 --wrap 1,0": Topology((3, 4), (True, False), (False, True)),
    "--machine 6x5 --wrap 1,0": Topology((6, 5), (True, False)),
    "--machine titan": MACHINES["titan"],
    "--machine hlrn-ii": Mesh((16, 8)),
}


@pytest.mark.parametrize("options", MESHES)
def test_generate_occupancy(options: str, tmp_path: Path, capsys: Capture) -> None:
    args = ("generate", "occupancy", "--count", 2, "--seed", 9, "--out", tmp_path / "new", "--size", 5)
    text = run(capsys, *args, "--busy", 0.2, "--contiguous", *options.split())
    assert text == f"2 problems in {tmp_path / 'new'}: occupancy-s9-0000.json to occupancy-s9-0001.json\n"
    for idx, path in enumerate(sorted((tmp_path / "new").iterdir())):
        expected = uniform_occupancy(MESHES[options], 0.2, 5, [9, idx], contiguous=True)
        assert read_problem(path) == expected
        assert read_problem(path).meta == expected.meta


@pytest.mark.parametrize(
    ("option", "box"),
    [(["--box"], True), (["--box", "2x3"], (2, 3)), ([], False)],
    ids=["any", "sides", "none"],
)
def test_generate_boxes(
    option: list[str], box: bool | tuple[int, ...], tmp_path: Path, capsys: Capture
) -> None:
    args = ("--count", 1, "--seed", 3, "--machine", "4x4", "--busy", 0.2, "--size", 6, *option)
    for words, out in ((["occupancy"], "u"), (["churn", "--allocator", "growth"], "c")):
        run(capsys, "generate", *words, *args, "--out", tmp_path / out)
        (file,) = (tmp_path / out).iterdir()
        problem = read_problem(file)
        assert isinstance(problem, PartitionProblem)
        assert problem.box == box
        assert problem.meta.get("box", False) == ([*box] if isinstance(box, tuple) else box)
        assert regenerate(problem.meta, make_allocator) == problem


@pytest.mark.parametrize(
    "allocator", ["growth", "hilbert-best-fit+largest-runs", "random", "kueue(mode=balanced)"]
)
def test_generate_churn(allocator: str, tmp_path: Path, capsys: Capture) -> None:
    tree = allocator.startswith("kueue")
    machine, size, jobs = (SWITCH_TREES["nvl72"], 40, (9, 300)) if tree else (Mesh((8, 8)), 6, (2, 5))
    args = ("generate", "churn", "--count", 2, "--seed", 3, "--out", tmp_path, "--busy", 0.5, "--size", size)
    where = ("--machine", "nvl72") if tree else ("--machine", "8x8")
    options = ("--allocator", allocator, "--job-nodes", f"{jobs[0]}-{jobs[1]}", "--num-jobs", 20)
    run(capsys, *args, *where, *options)
    for idx in range(2):
        chosen = partial(kueue, mode="balanced") if tree else make_allocator(allocator, seed=3 + idx)
        given: dict[str, Any] = {"allocator": chosen, "allocator_name": allocator, "job_sizes": jobs}
        expected = churned_occupancy(machine, 0.5, size, [3, idx], steps=20, **given)
        problem = read_problem(tmp_path / f"churn-s3-000{idx}.json")
        assert problem == expected
        assert problem.meta["allocator"] == allocator


def test_generate_median_worst_case(tmp_path: Path, capsys: Capture) -> None:
    expected = median_worst_case(8, 12, 2)
    told = run_json(capsys, "generate", "median-worst-case", "--distance", 12, "--out", tmp_path)
    assert [*map(read_problem, told["problems"])] == [expected]


def test_slices_stand_side_by_side_and_fill_the_width(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "p.json"
    write_problem(PartitionProblem.of(Torus((2, 3, 4)), busy=[0, 23], size=22), file)
    shown = {}
    for width in (5, 20, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run(capsys, "solve", file, "--solver", "gen-alg").splitlines()
        shown[width] = [line for line in lines if line]
    assert "2x3x4 torus" in shown[80][0]
    for width, first, last in ((80, 4, 1), (20, 2, 2), (5, 1, 4)):
        heads = [line for line in shown[width] if line.startswith("z =")]
        assert len(heads) == last
        assert heads[0].count("z =") == first
    rows = [line for line in shown[80] if set(line) <= set("#x ")]
    assert rows == [
        "x #     # #     # #     # #",
        "# #     # #     # #     # #",
        "# #     # #     # #     # x",
    ]


def drawn_squares(svg: Path) -> dict[str, set[tuple[int, int]]]:
    """Row and column of the squares of each class; free ones are those that nothing covers."""
    root = parsed(svg.read_text(encoding="utf-8"))
    at = {kind: squares(root, kind) for kind in ("free", "busy", "chosen")}
    assert all(len(set(places)) == len(places) for places in at.values())
    shown = {kind: {(row, column) for column, row in places} for kind, places in at.items()}
    assert shown["busy"] | shown["chosen"] <= shown["free"]
    return shown | {"free": shown["free"] - shown["busy"] - shown["chosen"]}


def test_solve_shows_fields_and_pictures(file: Path, capsys: Capture, tmp_path: Path) -> None:
    svg, out = tmp_path / "a.svg", tmp_path / "a.json"
    text = run(capsys, "solve", file, "--solver", "branch-and-bound", "--plot", svg, "--out", out)
    assert text.endswith(f"\nsolution written to {out}\nplot written to {svg}\n")
    for part in (
        "(4 of 10 free nodes on a 4x3 mesh)",
        "8 hops, certified bound 8 hops, gap 0.0 %",
        "8 hops, mean 1.333",
        "8 hops, ratio 1.000",
        "2x2, 100 % of its 4 nodes",
    ):
        assert part in text
    lines = text.splitlines()
    top = next(idx for idx, line in enumerate(lines) if set(line) == {".", "#", " "})
    assert lines[top : top + 5] == [". . # #", ". x # #", "x . . .", "", "# chosen, . free, x busy"]
    drawn = drawn_squares(svg)
    assert {kind: len(places) for kind, places in drawn.items()} == {"chosen": 4, "busy": 2, "free": 6}
    assert drawn["busy"] == {(1, 1), (2, 0)}
    assert drawn["chosen"] == {(0, 2), (0, 3), (1, 2), (1, 3)}
    style = svg.read_text()
    assert "prefers-color-scheme:dark" in style
    run_json(capsys, "solve", file, "--solver", "growth", "--plot", svg, "--force")
    assert sum(map(len, drawn_squares(svg).values())) == 12


def test_plot_of_a_schedule(tmp_path: Path, capsys: Capture) -> None:
    file, svg = tmp_path / "<e> & f.json", tmp_path / "e.svg"
    write_problem(klein2011(1, num_apps=(5, 5)), file)
    run(capsys, "solve", file, "--solver", "infX", "--plot", svg)
    root = parsed(svg.read_text())
    assert [skyline.label for skyline in skylines(root)] == ["a4", "a3", "a2", "a1", "a0"]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"nodes", "time [h]"} <= {*texts}
    assert texts[:2] == ["klein2011-s1", "5 applications, 100 nodes, expand limit inf"]
    assert re.fullmatch(r"makespan \d+ s \(\d+\.\d\d h\)", texts[2] or "")
    assert texts[3:8] == ["a0", "a1", "a2", "a3", "a4"]


def test_too_many_applications_to_be_drawn(tmp_path: Path, capsys: Capture) -> None:
    file, svg = tmp_path / "p.json", tmp_path / "p.svg"
    write_problem(klein2011(1, num_apps=(500, 500)), file)
    assert "too many to draw" in refused(capsys, "solve", file, "--solver", "noX", "--plot", svg)
    assert not svg.exists()


# --- Networks -----------------------------------------------------------------------------------------


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Two blocks of four nodes."""
    return saved(tmp_path, SAMPLES["conf-blocks-1"].text, "topology.conf")


@pytest.fixture
def free(tmp_path: Path) -> Path:
    """Three free nodes of the first block, two of the second."""
    return saved(tmp_path, "c[01-03],c[05-06]", "free.txt")


def placement(path: Path) -> PlacementProblem:
    problem = read_problem(path)
    assert isinstance(problem, PlacementProblem)
    return problem


def test_free_nodes_of_stdin(
    blocks: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"c[02-07] idle\nc04 mixed\nx1 down\n")))
    run(capsys, "import", blocks, "--free", "-", "--size", 2, "--out", tmp_path / "p.json")
    assert placement(tmp_path / "p.json").busy == (0, 3, 7)


def test_nodes_without_names_are_told_by_their_ids(tmp_path: Path, capsys: Capture) -> None:
    problem, hosts = tmp_path / "p.json", tmp_path / "hosts.txt"
    document = {"format": "allocsolve/1", "kind": "partition", "size": 3}
    document |= {"topology": {"shape": [4, 2]}, "busy": [1]}
    for meta, expected in (({}, ["0", "4", "5"]), ({"nodes": "n[1-8]"}, ["n1", "n5", "n6"])):
        problem.write_text(json.dumps({**document, "meta": meta}))
        answer = tmp_path / "s.json"
        run(capsys, "solve", problem, "--solver", "manhattan-median", "--out", answer, "--force")
        convert = ("convert", problem, hosts, "--solution", answer, "--format", "hosts", "--force")
        run(capsys, *convert)
        assert expand_hostlist(hosts.read_text()) == expected
    problem.write_text(json.dumps({**document, "meta": {"nodes": "n[1-7]"}}))
    run(capsys, "solve", problem, "--solver", "manhattan-median", "--out", answer, "--force")
    assert "meta.nodes of the problem has 7 names for 8 nodes" in refused(capsys, *convert)


def test_objects_of_kueue_tell_which_nodes_are_free(tmp_path: Path, capsys: Capture) -> None:
    topology, nodes, out = (tmp_path / name for name in ("topology.yaml", "nodes.json", "p.json"))
    objects, _, rows = SAMPLES["kueue-1"].text.partition("---\n")
    topology.write_text(objects)
    nodes.write_text(rows)
    assert main(["import", str(topology), str(nodes), "--size", "2", "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert told.err == f"allocsolve: {topology}: nodes that lack a label of the levels, left out: h4\n"
    assert placement(out).busy == (1,)


def test_a_torus_becomes_a_partition_problem(tmp_path: Path, free: Path, capsys: Capture) -> None:
    path, out = tmp_path / "topology.yaml", tmp_path / "p.json"
    path.write_text(
        "- topology: a\n  flat: true\n- topology: t\n  torus3d:\n    toruses:\n"
        "    - {name: pod, dims: {x: 2, y: 2, z: 2}, nodes: 'c[01-08]'}\n"
    )
    command = ("import", path, "--free", free, "--size", 4, "--out", out)
    run(capsys, *command, "--topology", "t")
    problem = read_problem(out)
    assert isinstance(problem, PartitionProblem)
    assert (problem.topology.shape, problem.busy) == ((2, 2, 2), (3, 6, 7))
    said = refused(capsys, *command, "--topology", "t", "--force", "--within", 1)
    assert "levels, segments and balance are asked of switches" in said
    run(capsys, *command, "--topology", "a", "--force")  # flat: all that the file of free nodes names
    assert read_problem(out).meta == {"nodes": "c[01-03,05-06]", "switches": ["a"]}


def test_place_for_machines(blocks: Path, free: Path, capsys: Capture) -> None:
    document = run_json(capsys, "place", blocks, "--free", free, "--size", 3)
    assert (document["status"], document["objective"], document["hosts"]) == ("optimal", 6, "c[01-03]")
    rules = {choice["rule"].partition("(")[0]: choice for choice in document["rules"]}
    assert {"slurm-tree", "slurm-block", "kueue", "lowest-switch"} <= {*rules}
    assert "random" not in rules
    assert len(expand_hostlist(rules["kueue"]["hosts"])) == 3
    assert rules["lowest-switch"]["gap"] == 0
