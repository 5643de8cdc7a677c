"""What `whatif` takes: machines as they are, problems, policies by name; and where counts are not all."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from whatif_logs import NODES, PROBLEM, SECONDS, fixed_work, sacct

from allocsolve.cli.parser import make_parser
from allocsolve.instances import (
    LogFields,
    elastic_workload,
    log_problem,
    read_table_log,
    recorded_schedule,
    write_problem,
)
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.pictures.workload import longest_bar, wait_bars
from allocsolve.report.logs.questions import with_merged

if TYPE_CHECKING:
    from pathlib import Path

work = pytest.fixture(scope="module", autouse=True)(fixed_work)

MORNING = datetime(2024, 3, 4, 8, tzinfo=UTC)

work = pytest.fixture(scope="module", autouse=True)(fixed_work)


def _log(path: Path, rows: list[tuple[Any, ...]], columns: str = "NNodes|Partition") -> Path:
    """A log of rows (seconds of submission, of start, of run, further cells)."""
    lines = [f"JobID|Submit|Start|End|Timelimit|State|{columns}"]
    for idx, (submit, start, length, *cells) in enumerate(rows, 1):
        times = (MORNING + timedelta(seconds=at) for at in (submit, start, start + length))
        shown = "|".join(f"{time:%Y-%m-%dT%H:%M:%S}" for time in times)
        lines.append("|".join((str(idx), shown, "10:00:00", "COMPLETED", *map(str, cells))))
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def test_a_job_larger_than_its_partition_is_told_and_stays(tmp_path: Path, capsys: Capture) -> None:
    rows = [(0, 0, 3600, 3, "std"), (600, 600, 4800, 5, "long"), (900, 5400, 1800, 2, "long")]
    log = _log(tmp_path / "jobs.txt", rows)
    argv = ("whatif", log, "--nodes", 8, *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv, "--partitions", "long=4")
    assert (told["jobs"], told["recorded"]["wait"], told["violations"]) == (3, 1500, [])
    (said,) = told["cautions"]
    assert said.startswith("1 job had more nodes than the partition long has: up to 5 of 4. It ran")
    assert told["cleaning"]["too_large"] == 0
    assert told["cleaning"]["more_than_there_is"] == 1
    assert told["schedules"]["easy"]["wait"] == 1500, (
        "it holds all of its partition, so the third waits for it"
    )
    assert "left out" not in run(capsys, *argv, "--partitions", "long=4")
    assert run_json(capsys, *argv, "--partitions", "long=5")["cautions"] == []


@pytest.mark.parametrize("more", [(), ("--by", "partition")])
def test_a_need_beyond_what_there_is_is_told_in_the_same_way(
    more: tuple[str, ...], tmp_path: Path, capsys: Capture
) -> None:
    had = enumerate(((1, 3), (1, 7), (2, 9)))
    rows = [(0, 60 * idx, 60, nodes, "a", f"gres/gpu={gpus}") for idx, (nodes, gpus) in had]
    log = _log(tmp_path / "jobs.txt", rows, "NNodes|Partition|AllocTRES")
    out = ("--nodes", 4, *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, "whatif", log, *out, "--resources", "gpus=4", *more)
    assert told["jobs"] == 3
    assert told["cautions"][0].startswith("2 jobs had more gpus than the machine has: up to 9 of 4. They ran")


_SIZED = st.lists(
    st.tuples(st.integers(1, 8), st.sampled_from(["std", "long", "other"])), min_size=1, max_size=6
)


@given(_SIZED, st.integers(1, 8), st.integers(1, 8))
def test_whoever_ran_stays_and_fits(
    tmp_path_factory: pytest.TempPathFactory, sized: list[tuple[int, str]], std: int, long: int
) -> None:
    rows = [(60 * idx, 6000 * idx, 600, *one) for idx, one in enumerate(sized)]
    path = _log(tmp_path_factory.mktemp("log") / "jobs.txt", rows)
    fields = LogFields(partitions={"std": std, "long": long}, keeps_large=True)
    log = read_table_log(path, "sacct", num_nodes=8, fields=fields)
    problem = log_problem(log)
    assert problem.jobs.packed.nodes.tolist() == [nodes for nodes, _ in sized]
    large = [nodes for nodes, name in sized if nodes > {"std": std, "long": long}.get(name, 8)]
    assert sorted(nodes for had in log.asked.had.values() for nodes in had) == sorted(large)
    was = recorded_schedule(log)
    assert workload_violations(problem, was) == (), "no two of them run at a time"
    dropped = read_table_log(
        path, "sacct", num_nodes=8, fields=LogFields(partitions={"std": std, "long": long})
    )
    assert len(dropped.names) == len(sized) - len(large)
    if {"std", "long"} <= {name for _, name in sized}:
        merged = with_merged(problem, ["std", "long"]).problem
        assert workload_metrics(merged, was) == workload_metrics(problem, was)
        held = [max(dict(need).get("std+long", 0) for need in [*merged.jobs.requirements.needs, ()])]
        assert max(held) in {0, std + long}


def test_counted_gpus_are_no_nodes(tmp_path: Path, capsys: Capture) -> None:
    rows = [(0, 0, 36000, f"gres/gpu={count},node=1") for count in (7, 6, 7)]
    rows.append((3600, 36000, 3600, "gres/gpu=4,node=1"))
    log = _log(tmp_path / "jobs.txt", rows, "AllocTRES")
    argv = ("whatif", log, "--nodes", 24, "--unit", "gpus", *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv)
    assert told["schedules"]["easy"]["wait"] == 0, "by counts the last job fits at once"
    assert told["cautions"][0].startswith("Nodes not modelled: 4 jobs may have had a part of a node")
    assert_no_promises(told["sentences"], (tmp_path / "page.html").read_text(encoding="utf-8"))
    notes = (tmp_path / "page.html").read_text(encoding="utf-8").count("Nodes not modelled, but as it was.")
    assert notes == 3, "under each drawing of schedules"
    shown = run(capsys, *argv)
    assert "EASY backfilling, nodes not modelled" in shown
    problem = tmp_path / "p.json"
    said = run(capsys, "import", log, "--nodes", 24, "--unit", "gpus", "--out", problem)
    assert "Nodes not modelled: 4 jobs may have had" in said
    again = run_json(capsys, "whatif", problem, *SECONDS, "--out", tmp_path / "again.html")
    assert again["cautions"][0] == told["cautions"][0]


def assert_no_promises(sentences: list[str], page: str) -> None:
    """No headline says what the wait would have been: only the bound, and why no more can be said."""
    assert not [one for one in sentences if re.search("would have|could have brought the mean wait to", one)]
    assert any("cannot be told" in one for one in sentences)
    assert not re.search("class=.card.[^>]*><b>[^<]*</b><span>(with|the best)", page)


def test_processors_on_one_node_each_may_share_it(tmp_path: Path, capsys: Capture) -> None:
    log = _log(tmp_path / "jobs.txt", [(0, 0, 60, 1, 4), (0, 60, 60, 1, 4)], "NNodes|NCPUS")
    argv = ("whatif", log, "--nodes", 12, "--unit", "processors", *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv, "--closed", "2024-03-04T08:00+1m,nodes=6", "--order", "submit,smallest")
    assert told["cautions"][0].startswith("Nodes not modelled: 2 jobs may have had")
    assert_no_promises(told["sentences"], (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert not [one for one in told["answers"] if "EASY backfilling has" in one or "with hindsight" in one]


def test_a_problem_that_import_has_written_gives_the_same(tmp_path: Path, capsys: Capture) -> None:
    log, problem = tmp_path / "jobs.txt", tmp_path / "p.json"
    log.write_text(sacct(limits=True))
    run(capsys, "import", log, "--nodes", NODES, "--out", problem)
    asked = ("--nodes", f"{NODES},20", "--closed", "2024-01-11T00:00+2h", "--by", "user", *SECONDS)
    told = run_json(capsys, "whatif", log, *asked, "--out", tmp_path / "a.html")
    again = run_json(capsys, "whatif", problem, *asked, "--out", tmp_path / "b.html")
    assert again["recorded"] is None
    assert "does not tell when 60 of its 60 jobs started" in again["no_record"]
    assert again["cautions"] == []
    for name in ("fcfs", "first-fit", "easy", "conservative"):
        assert again["schedules"][name] == told["schedules"][name]
    for before, after in zip(told["questions"], again["questions"], strict=True):
        assert before["label"] == after["label"]
        assert before["schedules"] == after["schedules"]
    for option in (("--partitions", "a=3"), ("--eligible",), ("--events", log), ("--format", "sacct")):
        said = refused(capsys, "whatif", problem, *option, "--out", tmp_path / "b.html")
        assert f"{option[0]} is for logs: {problem} is a problem" in said


def test_a_problem_without_a_log_does_not_say_what_it_counts(tmp_path: Path, capsys: Capture) -> None:
    job = '{"submit": 0, "nodes": 3, "runtime": 100, "limit": 100}'
    problem = tmp_path / "executors.json"
    problem.write_text(
        f'{{"format": "allocsolve/1", "kind": "workload", "num_nodes": 20, "jobs": [{job}, {job}]}}'
    )
    argv = ("whatif", problem, *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv)
    assert told["cautions"][0].startswith("Nodes not modelled: 2 jobs may have had")
    assert "--unit nodes" in told["cautions"][1]
    assert_no_promises(told["sentences"], (tmp_path / "page.html").read_text(encoding="utf-8"))
    whole = run_json(capsys, *argv, "--unit", "nodes")
    assert whole["cautions"] == []
    assert any("would have been" in one for one in whole["sentences"])
    write_problem(elastic_workload(PROBLEM, share=1, seed=1, tick=10), problem)
    assert "only rigid jobs are compared" in refused(capsys, *argv)


def test_it_has_the_options_of_import(capsys: Capture) -> None:
    shown = {}
    for argv in (["whatif"], ["import"]):
        with pytest.raises(SystemExit):
            make_parser(argv).parse_args([*argv, "--help"])
        shown[argv[0]] = capsys.readouterr().out
    for option in ("--resources", "--partitions", "--eligible", "--priority-age", "--events"):
        about = [re.search(rf"^  {option} [^-]*", text, flags=re.MULTILINE) for text in shown.values()]
        first, second = (" ".join(found[0].split()) for found in about if found)
        assert first == second
    assert "--policy" in shown["whatif"]
    assert "(default:fcfs,first-fit,easy,conservative)" in "".join(shown["whatif"].split())


def test_policies_are_chosen_by_name(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "jobs.txt"
    log.write_text(sacct(limits=True))
    argv = ("whatif", log, "--nodes", NODES, *SECONDS, "--out", tmp_path / "page.html")
    told = run_json(capsys, *argv, "--policy", "first-fit,easy(order=smallest)")
    assert [*told["schedules"]] == ["first-fit", "easy(order=smallest)", "prices"]
    assert any(one.startswith("Of these policies ") for one in told["sentences"])
    shown = run(capsys, *argv, "--policy", "fcfs", "--order", "submit,smallest")
    assert "strict order" in shown
    assert re.search("^as it is: 16 nodes +[0-9]", shown, flags=re.MULTILINE), "questions are asked of EASY"
    assert "--policy: unknown policy 'cpsat'" in refused(capsys, *argv, "--policy", "cpsat")
    assert "easy is named twice" in refused(capsys, *argv, "--policy", "easy,easy")


def test_what_is_closed_and_eligible_counts(tmp_path: Path, capsys: Capture) -> None:
    log = _log(tmp_path / "jobs.txt", [(0, 3600, 60, 2), (0, 3600, 60, 2)], "NNodes")
    argv = ("whatif", log, "--nodes", 4, *SECONDS, "--out", tmp_path / "page.html")
    assert run_json(capsys, *argv)["schedules"]["easy"]["wait"] == 0
    events = tmp_path / "events.txt"
    events.write_text(
        "NodeName|TimeStart|TimeEnd|State|Reason|\n"
        "n[1-4]|2024-03-04T07:00:00|2024-03-04T08:30:00|DOWN|power|\n"
    )
    assert run_json(capsys, *argv, "--events", events)["schedules"]["easy"]["wait"] == 1800
    (remark,) = run_json(capsys, *argv, "--events", events)["remarks"]
    assert remark.endswith("events.txt: 1 event; 4 nodes, 1 window")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "nodes that were down are not known" not in page


@pytest.mark.parametrize("command", ["import", "whatif"])
def test_no_event_closes_nothing(command: str, tmp_path: Path, capsys: Capture) -> None:
    log = _log(tmp_path / "jobs.txt", [(0, 0, 60, 2)], "NNodes")
    (tmp_path / "events.txt").write_text("NodeName|TimeStart|TimeEnd|State|Reason|\n")
    made: tuple[object, ...] = ("import", log, "--out", tmp_path / "p.json")
    if command == "whatif":
        made = ("whatif", log, *SECONDS, "--out", tmp_path / "page.html")
    said = run(capsys, *made, "--nodes", 4, "--events", tmp_path / "events.txt")
    assert f"{tmp_path / 'events.txt'}: 0 events; 0 nodes, 0 windows\n" in said


def test_points_in_time_are_dates_where_the_log_has_them(tmp_path: Path, capsys: Capture) -> None:
    log = _log(tmp_path / "jobs.txt", [(0, 600, 3600, 3), (60, 1200, 1800, 2)], "NNodes")
    argv = (
        "whatif",
        log,
        "--nodes",
        4,
        *SECONDS,
        "--out",
        tmp_path / "page.html",
        "--timezone",
        "Asia/Tokyo",
    )
    (fault,) = run_json(capsys, *argv)["violations"]
    assert "from 2024-03-04 08:20:00 to 2024-03-04 08:50:00 up to 5 nodes are held" in fault
    assert not re.search(r"\d s\b", fault)
    early = refused(capsys, *argv, "--closed", "2024-03-03T08:00+1h")
    assert "it ends before the first submission, 2024-03-04T08:00:00" in early


def test_waits_by_size_stand_on_the_page_once(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "jobs.txt"
    log.write_text(sacct(limits=True))
    argv = ("whatif", log, "--nodes", NODES, *SECONDS, "--out", tmp_path / "page.html", "--by", "size")
    assert run(capsys, *argv).count("What if, by size") == 1
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count(">Mean wait by size</h3>") == 2, "a table and a chart"
    assert "What if, by size" not in page
    assert 'href="#asked"' not in page
    run(capsys, *argv, "--order", "submit,smallest")
    assert "What if, by size" in (tmp_path / "page.html").read_text(encoding="utf-8"), "of the questions"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8))
def test_bars_that_can_be_told_apart(means: list[float]) -> None:
    longest = longest_bar(means)
    shown = sorted(mean for mean in means if 0 < mean <= longest)
    cut = [mean for mean in means if mean > longest]
    assert longest in {*means, 0.0}
    assert len(cut) <= len(shown)
    assert all(mean > 8 * longest for mean in cut)


def test_one_policy_thirty_times_the_others() -> None:
    means = {"a": 300.0, "b": 280.0, "c": 9000.0, "d": 0.0}
    assert longest_bar(means.values()) == 300
    drawing = str(wait_bars("Mean wait", "mean wait", means, 100.0))
    widths = [float(width) for width in re.findall(r'class="box" d="M\S+ \S+h(\S+?)v', drawing)]
    assert widths[0] > 0.7 * widths[2], "the others are seen"
    assert "c: 2.5 h" in drawing, "its figure says how long it is"
    assert "mean wait [s]" in drawing
