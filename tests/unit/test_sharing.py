"""Logs whose jobs share nodes: what is counted is told wherever their figures stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_tools import run

from allocsolve.instances import log_problem, read_swf_log, read_table_log
from allocsolve.pictures.workload import WORKLOAD_VIEW

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

pytestmark = pytest.mark.usefixtures("in_process")

#: Two jobs on whole nodes of 32 processors, two on a part of one, one that tells no nodes.
SACCT = (
    "JobID|NCPUS|NNodes|Submit|Start|End|Timelimit|State\n"
    "1|64|2|1703688800|1703688800|1703689800|60|COMPLETED\n"
    "2|96|3|1703688810|1703688810|1703689800|60|COMPLETED\n"
    "3|1|1|1703688820|1703688820|1703689800|60|COMPLETED\n"
    "4|31|1|1703688830|1703688830|1703689800|60|COMPLETED\n"
    "5|8|x|1703688840|1703688840|1703689800|60|COMPLETED\n"
)
SAID = "Nodes not modelled: 2 jobs had a part of a node or GPU only"


def sacct(folder: Path) -> Path:
    path = folder / "log.txt"
    path.write_text(SACCT, encoding="utf-8")
    return path


def test_processors_of_shared_nodes_are_told(tmp_path: Path) -> None:
    log = read_table_log(sacct(tmp_path), "sacct", num_nodes=320, unit="processors")
    problem = log_problem(log)
    assert (log.sharing, len(log.names)) == (2, 5)
    assert problem.meta["shared_nodes"] == 2
    assert WORKLOAD_VIEW.caution(problem).startswith(SAID)
    whole = read_table_log(sacct(tmp_path), "sacct", num_nodes=10, unit="nodes")
    assert (whole.sharing, whole.report.changed["part_of_a_node"]) == (0, 2)
    assert "shared_nodes" not in log_problem(whole).meta
    assert WORKLOAD_VIEW.caution(log_problem(whole)) == ""


def test_a_header_tells_which_jobs_share(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    line = "{0} {0}0 5 60 {1} -1 -1 4 100 -1 1 7 1 1 0 1 -1 -1\n"
    jobs = "".join(line.format(idx, size) for idx, size in enumerate((8, 4, 3, 16), 1))
    path.write_text("; MaxProcs: 64\n; MaxNodes: 8\n" + jobs, encoding="utf-8")
    log = read_swf_log(path)
    assert (log.machine.unit, log.sharing) == ("processors", 2)
    path.write_text("; MaxProcs: 64\n; MaxNodes: 64\n" + jobs, encoding="utf-8")
    assert read_swf_log(path).sharing == 0


def test_the_commands_say_so(tmp_path: Path, capsys: Capture) -> None:
    problem = tmp_path / "p.json"
    options = ("--nodes", 320, "--unit", "processors", "--out", problem)
    assert SAID in run(capsys, "import", sacct(tmp_path), *options)
    said = run(capsys, "score", problem, "--solvers", "easy", "--seconds", 1, "--out", tmp_path / "scores")
    assert said.count(SAID) == 1
    run(capsys, "study", "report", tmp_path / "scores" / "records.sqlite", "--out", tmp_path / "report.html")
    assert SAID in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_rows_of_what_never_was_say_so(tmp_path: Path, capsys: Capture) -> None:
    options = ("--nodes", 320, "--unit", "processors", "--seconds", 1, "--out", tmp_path / "page.html")
    said = run(capsys, "whatif", sacct(tmp_path), *options)
    rows = said[said.index("Waits and use") : said.index("certainly impossible")].splitlines()
    marked = [row for row in rows if "nodes not modelled" in row]
    assert any(row.startswith("EASY backfilling, nodes not modelled") for row in marked)
    assert [row for row in rows if row.startswith("as it was") and row not in marked]
