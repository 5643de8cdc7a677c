"""Files of networks and of free nodes: what is read from samples, and what is said of broken ones."""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pytest
from cli_tools import refused, run, run_json
from network_texts import BROKEN, BROKEN_FREE, FREE, SAMPLES, nodes_of, switches_of
from offenders import all_offenders

from allocsolve import judge, solve
from allocsolve.cli import main
from allocsolve.errors import AllocsolveError, FormatError, InvalidOption, SolverUnavailable
from allocsolve.heuristics import slurm_block
from allocsolve.instances import (
    compress_hostlist,
    expand_hostlist,
    network_counterexamples,
    network_problem,
    read_free_nodes,
    read_network,
    read_problem,
)
from allocsolve.model import (
    PartitionProblem,
    Placement,
    PlacementProblem,
    SwitchTree,
    Topology,
    WorkloadProblem,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from allocsolve.instances import NetworkFile, StatedNodes

    Case: TypeAlias = Callable[[str], Path]


T = TypeVar("T")

HOSTLISTS = {
    "n[1-3]": "n1 n2 n3",
    "n[08-10]": "n08 n09 n10",
    "n[8-010]": "n8 n9 n10",
    "n[1,02,003]": "n1 n02 n003",
    "r[1-2]n[01-02]": "r1n01 r1n02 r2n01 r2n02",
    "a[1-2]-ib,login": "a1-ib a2-ib login",
    "b2,,b1, b1": "b2 b1 b1",
    "": "",
    "x[0]": "x0",
    "n[1, 3]\tm\nk\r\n": "n1 n3 m k",
    "[1-2]": "1 2",
    "n[9-10]x[1]": "n9x1 n10x1",
    "n99999999999999999999": "n99999999999999999999",
    "n[99999999999999999999]": "n99999999999999999999",
}
BROKEN_HOSTLISTS = {
    "n[1-3": "'n[1-3' has an opening bracket that is not closed",
    "n1-3]": "'n1-3]' has a closing bracket without an opening one",
    "n[3-1]": "range '3-1' runs downwards",
    "n[a-c]": "'a-c' is neither a number nor a range",
    "n[1-]": "'1-' is neither a number nor a range",
    "n[-3]": "'-3' is neither a number nor a range",
    "n[]": "'' is neither a number nor a range",
    "n[1-2-3]": "'1-2-3' is neither a number nor a range",
    "n[٣]": "'٣' is neither a number nor a range",
    "n[0-99999]": "more than 65536 names",
    "n[1-60000][1-60000]": "'n[1-60000][1-60000]' makes more than 1048576 names",
    f"n[{'1-65536,' * 40}1]": "makes more than 1048576 names",
    "n[[1-2]]": "bracket within a bracket",
    "m,n[1\n]": "",
    "n\x07": "'n\\x07' has a character that cannot be printed",
    f"n[1-{'9' * 5000}]": "is neither a number nor a range",
}


def _said(use: Callable[[], object]) -> str:
    """Return what is said of something that is refused, in one line."""
    with pytest.raises(FormatError) as refusal:
        use()
    said = str(refusal.value)
    assert "\n" not in said
    assert len(said) < 400
    return said


def test_hostlists() -> None:
    with all_offenders() as offender:
        for text, names in HOSTLISTS.items():
            with offender(text):
                assert expand_hostlist(text) == names.split()
                assert expand_hostlist(compress_hostlist(names.split())) == names.split()


def test_hostlists_are_short() -> None:
    assert compress_hostlist(expand_hostlist("n[08-10,12],login,r[1-2]n[1-3]")) == (
        "n[08-10,12],login,r1n[1-3],r2n[1-3]"
    )
    assert compress_hostlist(["n1"]) == "n1"
    names = [f"n{number:06}" for number in range(100_000)]
    text = compress_hostlist(names)
    assert text == "n[000000-065535,065536-099999]"  # no range has more than 65,536 numbers
    assert expand_hostlist(text) == names


def test_broken_hostlists() -> None:
    with all_offenders() as offender:
        for text, fault in BROKEN_HOSTLISTS.items():
            with offender(text[:40]):
                said = _said(partial(expand_hostlist, text))
                assert said.startswith("hostlist: ")
                assert fault in said
        for name in ("", "a b", "a,b", "a[1]", "a\n", "a\ud800"):
            with offender(repr(name)):
                assert "is not the name of a node" in _said(partial(compress_hostlist, [name]))


def test_samples(tmp_path: Path) -> None:
    with all_offenders() as offender:
        for name, sample in SAMPLES.items():
            path = tmp_path / name
            for mark, end in (("", "\n"), ("\ufeff", "\r\n")):
                path.write_bytes((mark + sample.text.replace("\n", end)).encode())
                with offender(f"{name} {mark!r}"):
                    network = read_network(path, topology=sample.topology)
                    assert switches_of(network) == sample.switches
                    assert nodes_of(network) == sample.nodes
                    assert network.block_sizes == sample.sizes
                    assert network.notes == sample.notes
                    free = None if sample.free is None else tuple(sample.free.split(", "))
                    assert network.free == free


def test_free_nodes(tmp_path: Path) -> None:
    with all_offenders() as offender:
        for name, (text, free) in FREE.items():
            path = tmp_path / "free"
            path.write_text(text)
            with offender(name):
                stated = read_free_nodes(path)
                assert ", ".join(stated.free) == free
                assert {*stated.free} <= {*stated.named}


def test_broken_networks(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    with all_offenders() as offender:
        for kind, files in BROKEN.items():
            for text, fault in files:
                path.write_text(text)
                with offender(f"{kind} {text[:60]!r}"):
                    said = _said(lambda: read_network(path))
                    assert said.startswith(f"{path}: ")
                    assert fault in said


def test_no_more_than_16_levels(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    chain = "\n".join(f"SwitchName=s{at} Switches=s{at + 1}" for at in range(16))
    path.write_text(f"{chain}\nSwitchName=s16 Nodes=n")
    assert _said(lambda: read_network(path)) == f"{path}: the tree has more than 16 levels of switches"


def test_broken_free_nodes(tmp_path: Path) -> None:
    path = tmp_path / "free"
    with all_offenders() as offender:
        for text, fault in BROKEN_FREE:
            path.write_text(text)
            with offender(text[:60]):
                said = _said(lambda: read_free_nodes(path))
                assert said.startswith(f"{path}: ")
                assert fault in said


def test_objects_of_kueue_may_be_in_several_files(tmp_path: Path) -> None:
    sample = SAMPLES["kueue-1"]
    topology, nodes, other = (tmp_path / name for name in ("topology.yaml", "nodes.json", "conf"))
    objects, _, rows = sample.text.partition("---\n")
    topology.write_text(objects)
    nodes.write_text(json.dumps({"kind": "List", "items": [json.loads(row) for row in rows.splitlines()]}))
    network = read_network(topology, nodes)
    assert (switches_of(network), nodes_of(network)) == (sample.switches, sample.nodes)
    assert network.left_out == ("h4",)
    assert network.mask(read_free_nodes(nodes).free).tolist() == [True, False, True]
    other.write_text(SAMPLES["conf-tree-1"].text)
    for files in ((topology, other), (other, topology)):
        assert _said(partial(read_network, *files)) == (
            f"{files[1]}: is a second file: only objects of Kubernetes may be in several"
        )


def test_a_flavor_chooses_the_topology_and_its_nodes(tmp_path: Path) -> None:
    path = tmp_path / "kueue"
    topologies = "---\n".join(
        f"kind: Topology\nmetadata: {{name: {name}}}\nspec: {{levels: [{{nodeLabel: {label}}}]}}\n"
        for name, label in (("t", "rack"), ("u", "row"))
    )
    flavor = "kind: ResourceFlavor\nspec: {topologyName: u, nodeLabels: {pool: gpu}}\n"
    nodes = "\n".join(
        json.dumps({"metadata": {"name": name, "labels": {"rack": "1", "row": "2", "pool": pool}}})
        for name, pool in (("b", "gpu"), ("a", "gpu"), ("c", "cpu"))
    )
    path.write_text(f"{topologies}---\n{flavor}---\n{nodes}")
    network = read_network(path)
    assert nodes_of(network) == "a: 2, b: 2"
    assert network.notes == ("nodes that are not of the ResourceFlavor, left out: c",)
    assert nodes_of(read_network(path, topology="t")) == "a: 1, b: 1, c: 1"
    assert "has 0 Topology objects of the name 'v'; there are t, u" in _said(
        lambda: read_network(path, topology="v")
    )


def test_names_are_texts_whatever_they_look_like(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    switches = "[{switch: 010, nodes: 2024-02-30}, {switch: on, nodes: 1e3}]"
    path.write_text(f"- topology: 1_0\n  tree: {{switches: {switches}}}")
    assert nodes_of(read_network(path, topology="1_0")) == "2024-02-30: 010, 1e3: on"


def test_a_flat_network_takes_the_nodes_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    for value in ("true", "{alpha_step_rank: true}"):
        path.write_text(f"- topology: all\n  flat: {value}")
        network = read_network(path, nodes=("n2", "n1", "n2"))
        assert (switches_of(network), nodes_of(network)) == ("all", "n2: all, n1: all")


def test_hypernodes_choose_among_the_nodes_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "hypernodes.yaml"
    member = "{type: Node, selector: {regexMatch: {pattern: '^n[12]'}}}"
    path.write_text(f"kind: HyperNode\nmetadata: {{name: s}}\nspec: {{members: [{member}]}}\n")
    network = read_network(path, nodes=("n3", "n20", "n1", "n20"))
    assert (nodes_of(network), network.free, network.left_out) == ("n20: s, n1: s", None, ())
    assert "HyperNodes, which are one topology without a name" in _said(
        lambda: read_network(path, topology="t", nodes=("n1",))
    )


def test_rings_and_tori_are_boxes(tmp_path: Path) -> None:
    path = tmp_path / "topology"
    path.write_text("RingName=r Nodes=n[4-1]")
    assert "runs downwards" in _said(lambda: read_network(path))
    path.write_text("RingName=r Nodes=n[3-4],n[1-2]")
    ring = read_network(path)
    assert (ring.topology, ring.nodes) == (Topology((4,), (True,)), ("n3", "n4", "n1", "n2"))
    path.write_text("- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[3-4],n[1-2]'}]}")
    assert read_network(path) == ring
    path.write_text(
        "- topology: a\n  torus3d:\n    toruses:\n    - name: pod\n      dims: {x: 4, y: 2, z: 1}\n"
        "      nodes: n[1-8]\n      placements: [{dims: {x: 2, y: 2, z: 1}}]\n"
    )
    torus = read_network(path)
    assert torus.notes == ("placements are not read: a job may have any shape",)
    assert torus.topology == Topology((4, 2, 1), (True, True, True))
    problem = network_problem(torus, torus.mask(["n5", "n1"]), 2)
    assert isinstance(problem, PartitionProblem)
    assert problem.busy == (1, 2, 3, 5, 6, 7)  # n5 is the first of the second row
    assert problem.meta == {"nodes": "n[1-8]"}
    for asked in ({"within": 1}, {"segment": 1}, {"balanced": True}):
        with pytest.raises(InvalidOption, match="a ring or a torus"):
            network_problem(torus, torus.mask(torus.nodes), 2, **asked)


def test_a_problem_keeps_the_names(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text(SAMPLES["conf-blocks-1"].text)
    network = read_network(path)
    problem = network_problem(network, network.mask(["c02", "c07", "c08"]), 2, segment=2, name="c")
    assert isinstance(problem, PlacementProblem)
    assert problem.tree == SwitchTree(np.array([-1, 0, 0]), np.repeat([1, 2], 4))
    assert (problem.free.nonzero()[0].tolist(), problem.segment, problem.name) == ([1, 6, 7], 2, "c")
    assert problem.meta == {"nodes": "c[01-08]", "switches": ["(cluster)", "b1", "b2"], "block_sizes": [4, 8]}


def test_a_free_node_must_be_one_of_the_network(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=s Nodes=n[1-2]")
    how = "leave them out of it (sinfo -p PARTITION, kubectl get nodes -l LABEL)"
    said = _said(lambda: read_network(path).mask(["n1", "m1", "m2", "m3", "m4", "m4"], "free.txt"))
    assert said == f"free.txt: not in the network, but free: m1, m2, m3 and 1 more; {how}"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "f"
    for read in (read_network, read_free_nodes):
        path.unlink(missing_ok=True)
        assert "cannot be read: No such file" in _said(partial(read, path))
        path.write_bytes(b"# \n\xff=1")
        assert _said(partial(read, path)) == f"{path}: line 2: byte 0xff is not UTF-8"
        path.write_bytes("SwitchName=a Nodes=b".encode("utf-16"))
        assert "line 1: byte 0xff is not UTF-8" in _said(partial(read, path))
    assert "is empty" in _said(read_network)
    path.write_text("SwitchName=a Nodes=b")
    assert "has one topology without a name" in _said(lambda: read_network(path, topology="x"))


def test_yaml_needs_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_text(SAMPLES["model-2"].text)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(SolverUnavailable, match=r"^YAML needs PyYAML: pip install pyyaml$"):
        read_network(path)


def test_deep_and_wide_values(tmp_path: Path) -> None:
    path = tmp_path / "f"
    bomb = "\n".join(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 40))
    texts = (
        "[" * 100_000,
        "[" * 100_000 + "x",
        '{"a":' * 100_000,
        "- " * 5_000 + "a",
        "{a: " * 3_000,
        f"a0: &a0 [x]\n{bomb}\nblocks: *a39",
        f"a0: &a0 [x]\n{bomb}\nblocks: [*a39]",
        "kind: &s {a: *s}",
    )
    with all_offenders() as offender:
        for text in texts:
            path.write_text(text)
            with offender(text[:30]):
                _said(lambda: read_network(path))
                taken = _taken(lambda: read_free_nodes(path))
                assert taken is None or text.startswith("- ")  # a hostlist


def _taken(read: Callable[[], T]) -> T | None:
    """Return what is read from a file; None if it is refused, which must be said in one line."""
    try:
        return read()
    except AllocsolveError as refusal:
        said = str(refusal)
    assert "\n" not in said
    return None


#: Of all files: what may take the place of a piece.
_PIECES: tuple[str, ...] = (*'[]=,"{}:- \n\\#\x00٣', "", "9" * 30)


def _mutated(rng: random.Random, text: str) -> str:
    """Return a text of which some pieces are left out, written twice or replaced."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        begin = rng.randrange(len(text) + 1)
        end = min(len(text), begin + rng.choice((0, 1, 1, 3, 20)))
        piece = rng.choice((*_PIECES, text[begin:end] * 2))
        text = text[:begin] + piece + text[end:]
    return text


def _broken_by_seed(
    name: str, text: str, path: Path, read: Callable[[], T], check: Callable[[T], None]
) -> None:
    """Read variants of a file until 60 are refused; what is not is sound."""
    rng = random.Random(name)
    refused = number = 0
    with all_offenders() as offender:
        while refused < 60 and (number := number + 1) < 600:
            variant = _mutated(rng, text)
            path.write_bytes(variant.encode("utf-8", "replace"))
            with offender(f"number {number}: {variant!r}"):
                taken = _taken(read)
                refused += taken is None
                if taken is not None:
                    check(taken)
    assert refused == 60


def _sound(network: NetworkFile) -> None:
    assert len({*network.nodes}) == len(network.nodes) == network.topology.num_nodes
    assert expand_hostlist(str(network.meta["nodes"])) == [*network.nodes]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_a_seed_breaks(name: str, tmp_path: Path) -> None:
    path, (text, *_, topology) = tmp_path / "network", SAMPLES[name]
    _broken_by_seed(name, text, path, lambda: read_network(path, topology=topology), _sound)


def _stated(stated: StatedNodes) -> None:
    assert {*stated.free} <= {*stated.named}


@pytest.mark.parametrize(
    "name", ["sinfo-1", "sinfo-2", "sinfo-3", "hostlist", "nodes of kubectl", "nodes as YAML"]
)
def test_what_a_seed_breaks_of_free_nodes(name: str, tmp_path: Path) -> None:
    path = tmp_path / "free"
    _broken_by_seed(name, FREE[name][0], path, lambda: read_free_nodes(path), _stated)


Capture = pytest.CaptureFixture[str]

CASES = "when_and_networks"


def _imported(capsys: Capture, kind: str, log: Path, *options: object) -> list[tuple[str, int, float, float]]:
    """Return name, size, submission and run time of each job of a log."""
    run_json(capsys, "import", "--format", kind, log, "--nodes", 8, "--out", "read.json", "--force", *options)
    problem = read_problem("read.json")
    assert isinstance(problem, WorkloadProblem)
    return [(job.name, job.nodes, job.submit, job.runtime) for job in problem.jobs]


def test_parts_of_pbs_without_processors(case: Case, capsys: Capture) -> None:
    log = case(f"{CASES}/pbs_mixed.txt")
    assert [job[1] for job in _imported(capsys, "pbs", log, "--unit", "processors")] == [3]
    assert [job[1] for job in _imported(capsys, "pbs", log)] == [2]


def test_clusters_of_gpus(case: Case, capsys: Capture) -> None:
    helios, acme = case(f"{CASES}/helios.csv"), case(f"{CASES}/acme.csv")
    assert _imported(capsys, "helios", helios) == [
        ("5001", 1, 0, 3600),
        ("5002", 2, 300, 3600),
        ("5003", 1, 360, 600),
        ("5005", 1, 480, 30),
    ]
    assert [job[1] for job in _imported(capsys, "helios", helios, "--unit", "gpus", "--force")] == [8, 1]
    assert _imported(capsys, "helios", acme) == [("a1", 1, 0, 3600), ("a2", 4, 591, 600), ("a3", 1, 651, 60)]
    gpus = ("--unit", "gpus", "--resources", "gpus=64", "--nodes", 64)
    assert [job[1] for job in _imported(capsys, "helios", acme, *gpus)] == [8, 32]
    for log in (helios, acme):
        assert "its format is helios, not sacct" in refused(
            capsys, "import", "--format", "sacct", log, "--nodes", 8, "--out", "no.json"
        )


def test_philly(case: Case, capsys: Capture) -> None:
    log = case(f"{CASES}/philly.json")
    ran = ("application_1_0001", 2, 0, 3600)
    assert _imported(capsys, "philly", log) == [ran]
    told = run(capsys, "import", log, "--nodes", 8, "--out", "read.json", "--force")
    assert told.startswith("2 job lines, 1 cancelled, 1 kept")
    assert run_json(capsys, "convert", log, "converted.json", "--nodes", 8)["from_format"] == "philly"


def test_fields_of_swf_that_are_left_out(case: Case, capsys: Capture) -> None:
    told = run(capsys, "import", case(f"{CASES}/deps.swf"), "--out", "read.json")
    assert [line for line in told.splitlines() if "dependency" in line and "think time" in line]


def _place(capsys: Capture, network: Path, free: str, size: int, rule: str) -> str:
    listed = Path("free.txt")
    listed.write_text(free)
    argv = ("place", network, "--free", listed, "--size", size, "--rules", rule, "--json")
    assert main([str(arg) for arg in argv]) == 0
    (chosen,) = json.loads(capsys.readouterr().out)["rules"]  # what stderr tells are notes
    return str(chosen["hosts"])


def test_networks_as_they_are_printed(case: Case, capsys: Capture) -> None:
    assert _place(capsys, case(f"{CASES}/scontrol_topo_tree.txt"), "n[3-8]", 4, "slurm-tree") == "n[5-8]"
    # A block of eight is a0 and the block without nodes, or b0 and b1.
    assert _place(capsys, case(f"{CASES}/phantom.yaml"), "n[01-12]", 8, "slurm-block") == "n[05-12]"
    assert _place(capsys, case(f"{CASES}/hypernodes.yaml"), "n[2-4]", 2, "lowest-switch") == "n[3-4]"


def test_another_table_of_sinfo(case: Case, capsys: Capture) -> None:
    network, free = case(f"{CASES}/scontrol_topo_tree.txt"), case(f"{CASES}/sinfo_default.txt")
    told = refused(capsys, "place", network, "--free", free, "--size", 2)
    assert "sinfo -h -N -o '%N %T'" in told
    assert told.count("\n") == 1


REFUTED = {problem.name: problem for problem in network_counterexamples()}


def expected(problem: PlacementProblem) -> dict[str, Any]:
    return dict(problem.meta)


RUNS = [(name, rule) for name, problem in REFUTED.items() for rule in expected(problem)["takes"]]


def test_each_has_a_reason_and_another_name() -> None:
    assert len(REFUTED) == len(network_counterexamples()) == 10
    for problem in REFUTED.values():
        assert str(problem.meta["reason"]).endswith(".")
        assert problem.meta["case"] == problem.name


@pytest.mark.parametrize(("name", "rule"), RUNS)
def test_a_rule_takes_what_is_said_at_the_cost_that_is_said(name: str, rule: str) -> None:
    problem = REFUTED[name]
    said = expected(problem)
    answer = solve(problem, rule, seed=said.get("seed", 0)).answer
    if said["takes"][rule] is None:
        assert answer is None
        assert said["cost"] is None
        return
    assert answer is not None
    racks = np.flatnonzero(problem.tree.level == 1)
    taken = np.bincount(problem.tree.switch[answer.nodes], minlength=problem.tree.num_switches)
    assert taken[racks].tolist() == said["takes"][rule]
    assert judge.value(problem, answer, ("pairwise",)) == said["cost"] > said["optimum"]


@pytest.mark.parametrize("name", REFUTED)
def test_the_optimum_is_what_is_said(name: str) -> None:
    """By all choices of how many nodes each rack gives; of the large machine by the sizes of its pods."""
    problem = REFUTED[name]
    tree, size = problem.tree, problem.size
    free = np.bincount(tree.switch[problem.free], minlength=tree.num_switches)
    racks = np.flatnonzero(free)
    if name == "stall":
        # One pod gives all its 15 free racks. Of the other 30 nodes 18 are of one rack, 12 of another one: a
        # rack may be split only if no other is, and the largest first is best (Schur-concavity of s (k - s)).
        shares: Any = [[18] * 15 + [0] * 15 + [18, 12] + [0] * (len(racks) - 32)]
    else:
        every = itertools.product(*(range(free[rack] + 1) for rack in racks))
        shares = (share for share in every if sum(share) == size)
    best = min(judge.value(problem, _placement(problem, racks, share), ("pairwise",)) for share in shares)
    assert best == expected(problem)["optimum"]


def _placement(problem: PlacementProblem, racks: np.ndarray[Any, Any], share: Any) -> Placement:
    nodes: list[int] = []
    for rack, count in zip(racks, share, strict=True):
        nodes += np.flatnonzero(problem.free & (problem.tree.switch == rack))[:count].tolist()
    return Placement(np.array(nodes))


def test_a_job_of_300_nodes_waits_while_2160_are_free() -> None:
    problem = REFUTED["stall"]
    tree, free = problem.tree, problem.free
    assert (tree.num_nodes, int(free.sum())) == (2304, 2160)
    regular = SwitchTree.regular((8, 16, 18))
    assert Counter(regular.nodes_below(free).tolist()) == Counter(tree.nodes_below(free).tolist())
    assert slurm_block(tree, free, 300) is None
    # A job that one pod holds is placed, and so is one of 300 where no rack is without free nodes.
    for size, mask in ((270, free), (300, np.ones(2304, dtype=bool))):
        nodes = slurm_block(tree, mask, size)
        assert nodes is not None
        assert mask[nodes].all()
