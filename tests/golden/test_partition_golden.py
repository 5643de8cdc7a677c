"""Files of partitions that must keep their meaning, their digest and their bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from allocsolve.instances import digest, read_problem, read_solution, write_problem, write_solution
from allocsolve.model import Mesh, Partition, PartitionProblem, Topology

GOLDEN = Path(__file__).parent

FULL = PartitionProblem.of(
    Topology((5, 4, 2), (True, False, False)),
    busy=(0, 7, 8, 21, 39),
    size=6,
    contiguous=True,
    name="golden: übung",
    meta={"generator": "by hand", "seed": [7, 3], "busy_share": 0.125, "none": None},
)
MINIMAL = PartitionProblem.of(Mesh((4, 3)), busy=(1, 5), size=4)
PARTITION = Partition(np.array([1, 2, 3, 4, 6, 9]))
META = {"solver": "branch-and-bound", "seconds": 0.5}

DIGESTS = {
    "partition-full.json": "86b622e6f119208e61eba78b1b958553907f11ea6c145b16d5e632b9ddd66726",
    "partition-minimal.json": "86147894734e12889cc8dd80a4b68b5076fe1362c490dfb56d4eefbc7d013a6a",
    "partition-minimal-rewritten.json": "86147894734e12889cc8dd80a4b68b5076fe1362c490dfb56d4eefbc7d013a6a",
}


def test_the_files_mean_what_they_meant() -> None:
    full = read_problem(GOLDEN / "partition-full.json")
    assert full == FULL
    assert full.meta == FULL.meta
    assert read_problem(GOLDEN / "partition-minimal.json") == MINIMAL
    assert read_problem(GOLDEN / "partition-minimal-rewritten.json") == MINIMAL
    assert read_solution(GOLDEN / "partition-set.json", FULL) == PARTITION


@pytest.mark.parametrize(("name", "expected"), DIGESTS.items(), ids=DIGESTS)
def test_the_digest_is_frozen(name: str, expected: str) -> None:
    assert digest(read_problem(GOLDEN / name)) == expected


@pytest.mark.parametrize("name", ["partition-full.json", "partition-minimal-rewritten.json"])
def test_the_digest_can_be_rebuilt_from_the_file_alone(name: str) -> None:
    document = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    del document["name"], document["meta"]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(text.encode("utf-8")).hexdigest() == DIGESTS[name]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("partition-full.json", "partition-full.json"),
        ("partition-minimal.json", "partition-minimal-rewritten.json"),
        ("partition-minimal-rewritten.json", "partition-minimal-rewritten.json"),
    ],
)
def test_a_problem_is_rewritten_byte_for_byte(tmp_path: Path, source: str, target: str) -> None:
    write_problem(read_problem(GOLDEN / source), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (GOLDEN / target).read_bytes()


def test_a_solution_is_rewritten_byte_for_byte(tmp_path: Path) -> None:
    write_solution(tmp_path / "again.json", FULL, PARTITION, META)
    assert (tmp_path / "again.json").read_bytes() == (GOLDEN / "partition-set.json").read_bytes()
