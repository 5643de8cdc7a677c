"""Files that are packed by gzip: read wherever a file is read, within the same bounds."""

from __future__ import annotations

import gzip
import io
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import Capture, refused, run_json
from network_texts import FREE, SAMPLES
from offenders import all_offenders
from readme_tools import ROOT
from squeue_files import good, written

from allocsolve.bench.gate.baseline import read_baseline
from allocsolve.bench.library.design import folder_problems
from allocsolve.bench.runs.study import read_study
from allocsolve.errors import FormatError
from allocsolve.instances import (
    digest,
    read_certificate,
    read_free_nodes,
    read_network,
    read_node_events,
    read_problem,
    read_solution,
    read_squeue,
    write_certificate,
    write_problem,
    write_solution,
)
from allocsolve.instances.formats import files
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROFILES = EvolutionProfile([(2, 3)]), EvolutionProfile([(3, 2)])
PROBLEM = EvolutionProblem(4, PROFILES, name="p")
EVENTS = "NodeName|TimeStart|TimeEnd|State\nn1|2024-03-04T08:10:00|2024-03-04T09:00:00|DOWN\n"
ANSWER = EvolutionSchedule.of([0, 2], PROFILES)


def _solution(path: Path) -> object:
    return read_solution(path, PROBLEM).starts.tolist()


def _kinds(folder: Path) -> dict[str, tuple[bytes, Callable[[Path], object]]]:
    """Return what is in a file of each kind, by its name, and who reads it."""
    kinds: dict[str, tuple[bytes, Callable[[Path], object]]] = {}
    for end in ("json", "csv"):
        write_problem(PROBLEM, folder / f"p.{end}")
        write_solution(folder / f"s.{end}", PROBLEM, ANSWER, {})
        kinds[f"problem.{end}"] = (folder / f"p.{end}").read_bytes(), read_problem
        kinds[f"solution.{end}"] = (folder / f"s.{end}").read_bytes(), _solution
    write_certificate(folder / "c.json", PROBLEM, ("makespan",), {"kind": "x", "price": 1})
    kinds["certificate.json"] = (
        (folder / "c.json").read_bytes(),
        lambda path: read_certificate(path, PROBLEM),
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
        write_problem(PROBLEM, path)
        assert path.read_bytes()[:2] == files.GZIP
        assert digest(read_problem(path)) == digest(PROBLEM)
    (file,) = [file for _, file, _ in folder_problems(tmp_path)]
    assert file.name == "p.json.gz"


def test_commands_read_and_write_packed_files(tmp_path: Path, capsys: Capture) -> None:
    problem, answer = tmp_path / "p.json.gz", tmp_path / "s.csv.gz"
    write_problem(PROBLEM, problem)
    write_solution(answer, PROBLEM, ANSWER, {})
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
    write_problem(PROBLEM, path)
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
