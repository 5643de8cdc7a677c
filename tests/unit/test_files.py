"""Files: evolution problems and solutions in JSON, read, refused and written; all that is packed by gzip."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from json_tools import (
    MINIMAL,
    PROBLEM,
    SOLUTION,
    changed,
    faults_of,
    problem_faults,
    saved,
    without,
)
from network_texts import FREE, SAMPLES
from offenders import all_offenders
from readme_tools import ROOT
from squeue_files import good, written

from allocsolve.bench.gate.baseline import read_baseline
from allocsolve.bench.library.design import folder_problems
from allocsolve.bench.runs.study import read_study
from allocsolve.errors import FormatError, InvalidAnswer, InvalidProblem
from allocsolve.instances import (
    digest,
    parse_solution,
    problem_columns,
    problem_from_columns,
    read_certificate,
    read_free_nodes,
    read_network,
    read_node_events,
    read_problem,
    read_solution,
    read_squeue,
    solution_columns,
    solution_from_columns,
    write_certificate,
    write_problem,
    write_solution,
)
from allocsolve.instances.formats import files
from allocsolve.judge import evolution_metrics, evolution_violations
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule, Mesh, PartitionProblem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_absent_fields_have_their_defaults(tmp_path: Path) -> None:
    """A file may say where its schema is."""
    for document in (MINIMAL, {"$schema": "evolution.schema.json", **MINIMAL}):
        assert read_problem(saved(tmp_path, document)) == PROBLEM


def test_whole_numbers_are_integers_however_they_are_written(tmp_path: Path) -> None:
    document = json.dumps({**MINIMAL, "num_nodes": 8.0}).replace("60", "6e1").replace("8]", "8.0]")
    problem = read_problem(saved(tmp_path, document))
    assert problem == PROBLEM
    assert digest(problem) == digest(PROBLEM)
    assert problem_faults(tmp_path, {**MINIMAL, "num_nodes": 1e300})[0].endswith(" is beyond 2^53")


def test_all_faults_of_a_problem_are_told_at_once(tmp_path: Path) -> None:
    document = {
        "format": "allocsolve/1",
        "kind": "evolution",
        "num_nodes": 0,
        "applications": [{"steps": [[0, 9], [1, -1]]}, {"name": 1, "steps": []}, {"name": 2, "step": []}],
    }
    assert problem_faults(tmp_path, document) == (
        "num_nodes: 0 is below 1",
        "applications[0].steps[0][0]: duration 0 is below 1",
        "applications[0].steps[1][1]: nodes -1 is below 0",
        "applications[1].name: must be a string, not 1",
        "applications[1].steps: has 0 entries, at least 1 are needed",
        "applications[2].steps: missing",
        "applications[2].name: must be a string, not 2",
        "applications[2]: unknown field 'step' (known: name, release, steps)",
    )


def test_an_unreadable_file_is_told_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "latin.json"
    path.write_bytes(b'{\n"name": "Gr\xf6\xdfe"}')
    assert faults_of(lambda: read_problem(path)) == ("line 2: byte 0xf6 is not UTF-8",)
    missing = tmp_path / "missing.json"
    assert faults_of(lambda: read_problem(missing)) == ("cannot be read: No such file or directory",)
    assert faults_of(lambda: read_solution(str(tmp_path), PROBLEM)) == ("cannot be read: Is a directory",)


@pytest.mark.parametrize("limit", [1, 1.0, 2, 1.5, 2.0**53 - 1, 2.0**53, math.inf])
def test_every_expand_limit_survives_the_file(tmp_path: Path, limit: float) -> None:
    path = tmp_path / "p.json"
    write_problem(EvolutionProblem(8, PROBLEM.applications, expand_limit=limit), path)
    again = read_problem(path)
    assert isinstance(again, EvolutionProblem)
    assert again.expand_limit == limit


def test_the_kind_of_number_does_not_change_the_digest() -> None:
    plain = EvolutionProblem(8, PROBLEM.applications, expand_limit=2)
    numpy = EvolutionProblem(8, PROBLEM.applications, expand_limit=np.float64(2))
    assert digest(plain) == digest(numpy)


@pytest.mark.parametrize("value", [math.nan, {1, 2}, "\ud800"])
def test_meta_that_json_cannot_hold_is_refused_and_the_old_file_kept(tmp_path: Path, value: object) -> None:
    path = saved(tmp_path, MINIMAL)
    problem = EvolutionProblem(8, PROBLEM.applications, meta={"value": value})
    (fault,) = faults_of(lambda: write_problem(problem, path))
    assert fault.startswith("cannot be written as JSON: ")
    assert read_problem(path) == PROBLEM
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_told_with_the_reason(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "p.json"
    assert faults_of(lambda: write_problem(PROBLEM, nowhere)) == (
        "cannot be written: No such file or directory",
    )
    assert faults_of(lambda: write_problem(PROBLEM, tmp_path)) == ("cannot be written: Is a directory",)
    assert list(tmp_path.iterdir()) == []


def test_writing_replaces_the_file_at_once_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = saved(tmp_path, "old")
    reader = path.open(encoding="utf-8")
    write_problem(PROBLEM, path)
    with reader:
        assert reader.read() == "old"
    assert read_problem(path) == PROBLEM
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_problem(PROBLEM, pipe)
        assert json.loads(os.read(reader, 10_000))["num_nodes"] == 8
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# --- solutions -----------------------------------------------------------------------------------------


def test_a_solution_is_matched_by_name(tmp_path: Path) -> None:
    schedule = read_solution(saved(tmp_path, SOLUTION), PROBLEM)
    expected = EvolutionSchedule.of(
        [0, 5], [EvolutionProfile(((60, 2), (31, 8))), EvolutionProfile(((11, 0), (20, 3)))]
    )
    assert schedule == expected
    assert read_solution(saved(tmp_path, without(SOLUTION, "problem")), PROBLEM) == expected


@pytest.mark.parametrize("field", [("start",), ("durations", 0), ("durations", 1)])
@given(value=st.integers(-(2**53), 2**53))
def test_what_the_judge_says_of_any_times_is_no_fault_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, field: tuple[str | int, ...], value: int
) -> None:
    folder = tmp_path_factory.mktemp("times")
    problem = EvolutionProblem(8, PROBLEM.applications, expand_limit=1)
    document = changed(without(SOLUTION, "problem"), (*ANSWER, *field), value)
    answer = read_solution(saved(folder, document), problem)
    assert isinstance(answer, EvolutionSchedule)
    assert evolution_violations(problem, answer)  # a0 is expanded, whatever a1 is
    metrics = evolution_metrics(problem, answer)
    assert metrics.total_waste == metrics.allocated_area - metrics.useful_area


ANSWER = ("applications", 0)


def test_a_solution_that_ends_beyond_64_bits_is_refused(tmp_path: Path) -> None:
    problem = EvolutionProblem(1, (EvolutionProfile(((1, 1),) * 512),))
    answer = {"name": "a0", "start": 0, "durations": [2**53] * 512}
    document = {**SOLUTION, "problem": digest(problem), "applications": [answer]}
    last = read_solution(saved(tmp_path, document), problem).completions
    assert last.tolist() == [2**62]
    late = changed(document, ("applications", 0, "start"), 1)
    assert faults_of(lambda: read_solution(saved(tmp_path, late), problem)) == (
        "applications[0]: start plus durations is 4611686018427387905 s, beyond 2^62",
    )


def test_a_schedule_of_other_steps_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    shorter = EvolutionSchedule.of([0], PROBLEM.applications[:1])
    with pytest.raises(InvalidAnswer, match="does not belong to the problem: its steps have other offsets"):
        write_solution(path, PROBLEM, shorter, {})
    richer = EvolutionSchedule.of([0, 0], [EvolutionProfile(((60, 2), (30, 7))), PROBLEM.applications[1]])
    with pytest.raises(InvalidAnswer, match="does not belong to the problem: its steps have other nodes"):
        write_solution(path, PROBLEM, richer, {})
    assert not path.exists()


STRANGE: list[object] = [True, 1.0, None, "1", [], 2**53, 2**53 + 1, 2**63]
VALUES: st.SearchStrategy[object] = st.one_of(st.integers(-2, 3), st.sampled_from(STRANGE))


@given(edits=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["start", "0", "1"]), VALUES), max_size=2))
def test_answers_in_the_order_of_the_problem_are_read_as_those_in_any_other(
    edits: list[tuple[int, str, object]],
) -> None:
    """A faultless answer in the order of the problem is read at a glance."""
    problem = EvolutionProblem(8, (EvolutionProfile([(1, 2), (3, 8)]),) * 3)
    apps: list[dict[str, Any]] = [{"name": f"a{i}", "start": i, "durations": [2, 4]} for i in range(3)]
    for app, place, value in edits:
        if place == "start":
            apps[app]["start"] = value
        else:
            apps[app]["durations"][int(place)] = value
    assert _read(apps, problem) == _read(apps[::-1], problem)


def _read(apps: list[dict[str, Any]], problem: EvolutionProblem) -> EvolutionSchedule | int:
    """Return the schedule, or how many faults there are: their places depend on the order."""
    document = {
        "format": "allocsolve/1",
        "kind": "evolution-schedule",
        "problem": digest(problem),
        "applications": apps,
    }
    try:
        schedule: EvolutionSchedule = parse_solution(document, "answer", problem)
    except FormatError as error:
        return len(error.faults)
    return schedule


# --- Packed files -------------------------------------------------------------------------------------


PROFILES = EvolutionProfile([(2, 3)]), EvolutionProfile([(3, 2)])
PACKED = EvolutionProblem(4, PROFILES, name="p")
EVENTS = "NodeName|TimeStart|TimeEnd|State\nn1|2024-03-04T08:10:00|2024-03-04T09:00:00|DOWN\n"
PACKED_ANSWER = EvolutionSchedule.of([0, 2], PROFILES)


def _solution(path: Path) -> object:
    return read_solution(path, PACKED).starts.tolist()


def _kinds(folder: Path) -> dict[str, tuple[bytes, Callable[[Path], object]]]:
    """Return what is in a file of each kind, by its name, and who reads it."""
    kinds: dict[str, tuple[bytes, Callable[[Path], object]]] = {}
    for end in ("json", "csv"):
        write_problem(PACKED, folder / f"p.{end}")
        write_solution(folder / f"s.{end}", PACKED, PACKED_ANSWER, {})
        kinds[f"problem.{end}"] = (folder / f"p.{end}").read_bytes(), read_problem
        kinds[f"solution.{end}"] = (folder / f"s.{end}").read_bytes(), _solution
    write_certificate(folder / "c.json", PACKED, ("makespan",), {"kind": "x", "price": 1})
    kinds["certificate.json"] = (
        (folder / "c.json").read_bytes(),
        lambda path: read_certificate(path, PACKED),
    )
    for name, sample in SAMPLES.items():
        kinds[name] = sample.text.encode(), lambda path, sample=sample: _network(path, sample.topology)  # type: ignore[misc]  # bound
    kinds |= {f"free {name}": (text.encode(), read_free_nodes) for name, (text, _) in FREE.items()}
    for version in ("text", "22.05"):
        kinds[f"queue {version}"] = written(version, good()).encode(), lambda path: read_squeue(path).queued
    kinds["events.txt"] = EVENTS.encode(), lambda path: read_node_events(path).events
    kinds["study.toml"] = b'suites = ["tiny"]\nsolvers = ["noX"]\n', read_study
    kinds["gate.json"] = (ROOT / ".ci" / "gate-placement.json").read_bytes(), read_baseline
    return kinds


def _network(path: Path, topology: str) -> object:
    network = read_network(path, topology=topology)
    return network.nodes, network.switches, network.free, network.block_sizes


def test_what_is_packed_is_read_as_what_is_not(tmp_path: Path) -> None:
    with all_offenders() as offender:
        for name, (content, read) in _kinds(tmp_path).items():
            plain = tmp_path / name
            plain.write_bytes(content)
            expected = read(plain)
            for packed in (tmp_path / f"{name}.gz", plain):  # what is in it tells, its name may not
                packed.write_bytes(gzip.compress(content))
                with offender(packed.name):
                    assert read(packed) == expected
            in_two = gzip.compress(content[:9]) + gzip.compress(content[9:])
            plain.write_bytes(in_two)
            with offender(f"{name} in two parts"):
                assert read(plain) == expected


def test_what_is_written_to_a_packed_name_is_packed(tmp_path: Path) -> None:
    for end in ("json.gz", "csv.gz"):
        path = tmp_path / f"p.{end}"
        write_problem(PACKED, path)
        assert path.read_bytes()[:2] == files.GZIP
        assert digest(read_problem(path)) == digest(PACKED)
    (file,) = [file for _, file, _ in folder_problems(tmp_path)]
    assert file.name == "p.json.gz"


def test_commands_read_and_write_packed_files(tmp_path: Path, capsys: Capture) -> None:
    problem, answer = tmp_path / "p.json.gz", tmp_path / "s.csv.gz"
    write_problem(PACKED, problem)
    write_solution(answer, PACKED, PACKED_ANSWER, {})
    assert run_json(capsys, "check", problem, answer)["feasible"]
    network, free = tmp_path / "topology.conf.gz", tmp_path / "free.gz"
    network.write_bytes(gzip.compress(SAMPLES["conf-tree-1"].text.encode()))
    free.write_bytes(gzip.compress(b"n[1-4]\n"))
    told = run_json(capsys, "place", network, "--free", free, "--size", 3, "--rules", "first-free")
    assert told["hosts"] == "n[1-3]"


def test_stdin_may_be_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"n1 idle\nn2 mixed\n"))))
    assert read_free_nodes("-").free == ("n1",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[:-12], "cannot be unpacked: Compressed file ended before the end-of-stream"),
        (lambda data: data[:2], "cannot be unpacked: "),
        (lambda data: data[:20] + bytes(9) + data[29:], "cannot be unpacked: "),
        (lambda data: data[:-8] + bytes(8), "cannot be unpacked: CRC check failed"),
        (lambda data: data + b"more", "cannot be unpacked: Not a gzipped file"),
        (lambda _: gzip.compress(bytes(2**21)), "is larger than 1 MiB unpacked"),
        (lambda _: gzip.compress(np.random.default_rng(1).bytes(2**21)), "is larger than 1 MiB"),
        (lambda _: gzip.compress(gzip.compress(bytes(2**21))), "is not UTF-8"),
    ],
)
def test_what_cannot_be_unpacked_is_refused_in_one_line(
    change: Callable[[bytes], bytes],
    said: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also what is small and becomes large: no more is unpacked than may be read."""
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    path = tmp_path / "p.json.gz"
    write_problem(PACKED, path)
    path.write_bytes(change(path.read_bytes()))
    assert said in refused(capsys, "solve", path, "--solver", "noX")


def test_no_more_is_unpacked_than_may_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    read = gzip.GzipFile.read

    def noted(file: gzip.GzipFile, size: int | None = -1) -> Any:
        asked.append(-1 if size is None else size)
        return read(file, size)

    monkeypatch.setattr(gzip.GzipFile, "read", noted)
    with pytest.raises(FormatError, match="is larger than 1 MiB unpacked"):
        files.read_stream(io.BytesIO(gzip.compress(bytes(2**24))), "bomb", 2**20)
    assert asked == [2**20 + 1]


TABLED = EvolutionProblem(8, (EvolutionProfile([(60, 2), (30, 8)]), EvolutionProfile([(90, 4)])), (0, 10), 2)
TABLE = """application,duration,nodes,num_nodes,release,expand_limit
a0,60,2,8,,2
a0,30,8,8,,2
a1,90,4,8,10,2
"""
MESH = "node,x,y,free,size\n0,0,0,1,2\n1,1,0,1,2\n2,0,1,0,2\n3,1,1,1,2\n"


def test_a_table_of_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"node,\xff")
    with pytest.raises(FormatError, match="byte 5: 0xff is not UTF-8"):
        read_problem(path)
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        read_problem(tmp_path / "none.csv")


def test_columns_that_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    assert read_problem(path) == TABLED
    path.write_text(MESH, encoding="utf-8")
    assert read_problem(path) == PartitionProblem.of(Mesh((2, 2)), busy=[2], size=2)


def test_single_values_stand_for_columns() -> None:
    columns = {"application": [1, 1, 2], "duration": np.array([60.0, 30, 90]), "nodes": [2, 8, 4]}
    problem = problem_from_columns({**columns, "num_nodes": 8, "release": [0, 0, 10], "expand_limit": 2})
    assert isinstance(problem, EvolutionProblem)
    assert problem.applications == TABLED.applications
    assert problem.application_names == ("1", "2")
    with pytest.raises(FormatError, match=r"^table: 3 rows, but 2 of nodes$"):
        problem_from_columns({**columns, "nodes": [1, 2], "num_nodes": 8})
    with pytest.raises(FormatError, match=r"^jobs: row 1: nodes must be an integer, not 'x'$"):
        problem_from_columns({**columns, "nodes": [2, "x", 4], "num_nodes": 8}, "jobs")


def test_data_frames_are_columns_and_columns_are_data_frames() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(problem_columns(TABLED))
    assert list(frame["duration"]) == [60, 30, 90]
    assert problem_from_columns(frame) == TABLED


def test_what_has_no_rows_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="without applications"):
        write_problem(EvolutionProblem(8, ()), tmp_path / "empty.csv")
    assert not (tmp_path / "empty.csv").exists()


SCHEDULE = EvolutionSchedule.of([0, 60], TABLED.applications)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"nodes": [2, 7, 4]}, "row 1: nodes 7, but the step requests 8"),
        ({"start": [0, 61, 60]}, "row 1: start 61, but the step before ends at 60"),
        ({"duration": [60, 1.5, 90]}, "row 1: duration must be an integer, not 1.5"),
        ({"application": ["a0", "a0", "b"]}, "row 2: the problem has no application 'b'"),
    ],
)
def test_schedules_that_say_what_cannot_be_are_refused(changed: dict[str, object], fault: str) -> None:
    columns = {**solution_columns(TABLED, SCHEDULE), **changed}
    with pytest.raises(FormatError) as refusal:
        solution_from_columns(columns, TABLED)
    assert fault in refusal.value.faults


def test_tables_on_the_command_line(tmp_path: Path, capsys: Capture) -> None:
    problem, answer = tmp_path / "jobs.csv", tmp_path / "schedule.csv"
    problem.write_text(TABLE, encoding="utf-8")
    shown = run(capsys, "solve", problem, "--solver", "noX", "--out", answer)
    assert "2 applications, 8 nodes, expand limit 2" in shown
    assert "feasible" in run(capsys, "check", problem, answer)
    with answer.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["application"], row["step"]) for row in rows] == [("a0", "0"), ("a0", "1"), ("a1", "0")]
    assert isinstance(read_solution(answer, TABLED), EvolutionSchedule)
    problem.write_text(TABLE.replace("a0,60", "a0,-60"), encoding="utf-8")
    assert "jobs.csv: line 2: duration -60 is below 1" in refused(capsys, "check", problem, answer)
