"""Inputs of users, networks and logs, that once did not work, each with the right answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json

from allocsolve.cli import main
from allocsolve.instances import read_problem
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    #: From the name of a case to its place.
    Case: TypeAlias = Callable[[str], Path]

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
