"""When queued jobs start on nodes that are places: where squeue says that jobs run, else at both ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from squeue_files import NOW, TITLES, as_text, at

from allocsolve.errors import FormatError
from allocsolve.instances import SQUEUE_NODES_FORMAT, read_squeue

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, nothing is told of what lasts."""
    monkeypatch.setattr("allocsolve.cli.output.DELAY_S", 1e9)


NODES = "".join(f"n{idx}|4|8000|(null)|1||std*\n" for idx in (1, 2))


OWN = """
from allocsolve.simulation import Start

def fitting(view):
    table = view.places.table()
    for job in view.queue.tolist():
        if table.fits(job):
            yield Start(job, 1, places=table.start(job))
"""


def _job(name: str, cpus: int, limit: str, node: str = "", gres: str = "N/A", **more: str) -> dict[str, str]:
    """Return the cells of a job of one node; it has run since an hour ago if it says where."""
    runs = {"STATE": "RUNNING", "START_TIME": at(-3600), "TIME": "1:00:00"}
    waits = {"STATE": "PENDING", "START_TIME": "N/A", "TIME": "0:00"}
    common = {"USER": "ann", "PARTITION": "std", "QOS": "n", "NODES": "1", "PRIORITY": "5", "REASON": "None"}
    own = {"JOBID": name, "CPUS": str(cpus), "TIME_LIMIT": limit, "SUBMIT_TIME": at(-7200), "DEPENDENCY": ""}
    told = {"NODELIST": node.removeprefix("?"), "TRES_PER_NODE": gres}
    return {**common, **own, **(runs if node else waits), **told, **more}


def _queue(folder: Path, first: str, second: str) -> Path:
    """Write a queue: two jobs share nodes or not, one waits for a whole node, and one for a processor."""
    rows = [
        *(_job("1", 2, "3:00:00", first), _job("2", 2, "2:00:00", second)),
        *(_job("3", 4, "1:00:00"), _job("4", 1, "1:00:00", PRIORITY="4")),
    ]
    path = folder / "queue.txt"
    lines = ["|".join(rows[0]), *("|".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    (folder / "nodes.txt").write_text(NODES, encoding="utf-8")
    return path


def _hours(told: dict[str, Any]) -> dict[str, float]:
    """Return when jobs start, in hours from now, by name and by what is assumed."""
    return {
        f"{row['job']} {row.get('assumed', '')}".strip(): (row["by_limits"] - NOW) / 3600
        for row in told["jobs"]
    }


@pytest.mark.parametrize(("second", "starts"), [("n1", {"3": 0, "4": 1}), ("n2", {"3": 1, "4": 0})])
def test_jobs_run_where_the_queue_says(
    second: str, starts: dict[str, int], tmp_path: Path, capsys: Capture
) -> None:
    """Who waits for a node gets it now, or in an hour; who needs a processor gets it then, or now."""
    queue = _queue(tmp_path, "n1", second)
    told = run_json(capsys, "when", queue, "--node-types", tmp_path / "nodes.txt")
    assert _hours(told) == starts
    assert "running jobs are where the queue says" in " ".join(told["remarks"])


def test_both_ends_are_shown_where_it_does_not(tmp_path: Path, capsys: Capture) -> None:
    queue, nodes = _queue(tmp_path, "?", "?"), ("--node-types", tmp_path / "nodes.txt")
    told = run_json(capsys, "when", queue, *nodes)
    assert _hours(told) == {"3 packed": 0, "4 packed": 1, "3 spread": 1, "4 spread": 0}
    assert "Of 2 of 2 running jobs the queue does not say on which nodes they are." in told["remarks"]
    assert any(remark.startswith("Packed: ") for remark in told["remarks"])
    named = run_json(capsys, "when", queue, *nodes, "--policy", "fcfs(choice=most-allocated)", "--job", "3")
    assert _hours(named) == {"3 as most-allocated": 0}
    printed = run(capsys, "when", queue, *nodes, "--job", "3")
    assert "3 packed" in printed
    assert "3 spread" in printed


def test_who_cannot_be_where_the_queue_says_is_assumed_to_be_elsewhere(
    tmp_path: Path, capsys: Capture
) -> None:
    """Three times two of four processors on one node: the third job is on the other one, or nowhere."""
    queue = _queue(tmp_path, "n1", "n1")
    rows = [_job(str(name), 3, "2:00:00", "n1") for name in (5, 6, 7)]
    queue.write_text(queue.read_text() + "\n" + "\n".join("|".join(row.values()) for row in rows))
    told = run_json(capsys, "when", queue, "--node-types", tmp_path / "nodes.txt", "--job", "4")
    assert "Of 1 of 5 running jobs the queue does not say on which nodes they are." in told["remarks"]
    assert any(remark.startswith("2 running jobs have no room beside others") for remark in told["remarks"])


def test_a_policy_of_ones_own_is_asked_at_both_ends(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no choice, so that running jobs only are packed or spread."""
    monkeypatch.chdir(tmp_path)
    queue = _queue(tmp_path, "?", "?")
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    told = run_json(
        capsys, "when", queue, "--node-types", tmp_path / "nodes.txt", "--policy", "own.py:fitting"
    )
    assert _hours(told) == {"3 packed": 0, "4 packed": 1, "3 spread": 1, "4 spread": 0}


def test_a_new_job_asks_for_a_part_of_a_node(tmp_path: Path, capsys: Capture) -> None:
    queue, nodes = _queue(tmp_path, "n1", "n1"), ("--node-types", "n=2x4c8g1gpu", "--job")
    for asked, packed, spread in (("cpus=4", 1, 2), ("cpus=1,mem=1g", 1, 0), ("gpus=1", 0, 0)):
        told = run_json(capsys, "when", queue, *nodes, f"nodes=1,limit=0:30:00,{asked}")
        assert _hours(told) == {"new job packed": packed, "new job spread": spread}, asked
    assert _hours(run_json(capsys, "when", queue, *nodes, "nodes=2,limit=0:30:00"))["new job packed"] == 2
    for asked in (
        "nodes=1,limit=1:00,mem=x",
        "nodes=1,limit=1:00,disks=1",
        "nodes=1,limit=1:00,cpus=1,cpus=1",
    ):
        assert "argument --job" in refused(capsys, "when", queue, *nodes, asked)
    blocked = run_json(capsys, "when", queue, *nodes, "nodes=1,limit=0:30:00,cpus=5")
    assert blocked["jobs"][0]["blocked"] == "fits no nodes"


def test_the_past_is_asked_on_the_same_nodes(tmp_path: Path, capsys: Capture) -> None:
    """Also where the log does not say on which nodes jobs ran."""
    queue = _queue(tmp_path, "n1", "n2")
    head = "JobID|Submit|Start|End|Elapsed|Timelimit|NNodes|AllocCPUS|State|AllocTRES"
    for told_nodes in (False, True):
        lines = [head + "|NodeList" * told_nodes]
        for idx in range(12):
            begin, node = 600 * idx - 90_000, f"|n{1 + idx % 2}" * told_nodes
            times = [at(begin - 300 * (idx % 3)), at(begin), at(begin + 900)]
            cpus = 1 + idx % 3
            cells = [str(idx), *times, "00:15:00", "01:00:00", "1", str(cpus), "COMPLETED", f"cpu={cpus}"]
            lines.append("|".join(cells) + node)
        log = tmp_path / "log.txt"
        log.write_text("\n".join(lines), encoding="utf-8")
        told = run_json(capsys, "when", queue, "--node-types", tmp_path / "nodes.txt", "--log", log)
        assert all(row["earliest"] <= row["median"] <= row["latest"] for row in told["jobs"])
        assert told["questions"] == 8
        assert any("The log does not say" in remark for remark in told["remarks"]) is not told_nodes


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--nodes", 2), "--node-types says what nodes there are, without --nodes"),
        (("--partitions", "std=1", "--unit", "nodes"), "without --unit, --partitions"),
        (("--closed", "2030-01-01/2030-01-02"), "without --closed"),
        (("--policy", "easy(choice=worst)"), "worst"),
        (("--policy", "conservative"), "only 'replan' is possible"),
        (("--policy", "malleable-min"), "nodes"),
    ],
)
def test_what_places_do_not_know_is_refused(
    options: tuple[Any, ...], fault: str, tmp_path: Path, capsys: Capture
) -> None:
    queue = _queue(tmp_path, "n1", "n2")
    assert fault in refused(capsys, "when", queue, "--node-types", tmp_path / "nodes.txt", *options)


def test_amounts_need_nodes(tmp_path: Path, capsys: Capture) -> None:
    queue = _queue(tmp_path, "n1", "n2")
    asked = refused(capsys, "when", queue, "--nodes", 2, "--job", "nodes=1,limit=1:00,cpus=1")
    assert "cpus, mem and gpus of each node need --node-types" in asked


def test_lines_and_json_tell_where_jobs_run(tmp_path: Path) -> None:
    rows = [
        _job("1", 2, "3:00:00", "n[1-2]", "gres/gpu:a100:2,gres:nvme", NODES="2"),
        _job("2", 4, "1:00:00", gres="gres:gpu:1"),
    ]
    lines, path = ["|".join(row.values()) for row in rows], tmp_path / "queue"
    titled, plain = "\n".join(["|".join(rows[0]), *lines]), as_text(rows).splitlines()[1:]
    both = [f"{line}|{row['NODELIST']}|{row['TRES_PER_NODE']}" for line, row in zip(plain, rows, strict=True)]
    for text in (titled, "\n".join(both)):
        path.write_text(text, encoding="utf-8")
        listing = read_squeue(path)
        assert (listing.running[0].node_list, listing.running[0].amounts) == (
            "n[1-2]",
            (("cpus", 2), ("gpus", 4), ("nvme", 2)),
        )
        assert listing.queued[0].amounts == (("cpus", 4), ("gpus", 1))
    assert SQUEUE_NODES_FORMAT.count("|") == len(TITLES) + 1
    path.write_text(titled.replace("gres:gpu:1", "gpu:x:y:z"), encoding="utf-8")
    with pytest.raises(
        FormatError, match="resources of each node 'gpu:x:y:z' are no list such as gres/gpu:2"
    ):
        read_squeue(path)
    job = {
        "job_id": 1,
        "job_state": "RUNNING",
        "node_count": 2,
        "cpus": 8,
        "submit_time": NOW,
        "start_time": NOW,
    }
    told = job | {"nodes": "n[1-2]", "tres_alloc_str": "cpu=8,mem=16G,node=2,gres/gpu=2"}
    odd = job | {"job_id": 2, "nodes": {"list": []}, "tres_alloc_str": "eight", "tres_req_str": ""}
    path.write_text(json.dumps({"jobs": [told, odd], "last_update": NOW}), encoding="utf-8")
    first, second = read_squeue(path).running
    assert (first.node_list, first.amounts) == ("n[1-2]", (("cpus", 8), ("mem", 16384), ("gpus", 2)))
    assert (second.node_list, second.amounts) == ("", None)
