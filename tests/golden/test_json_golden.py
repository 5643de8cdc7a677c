"""Files of the format ``allocsolve/1`` that must keep their meaning, their digest and their bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from allocsolve.instances import digest, read_problem, read_solution, write_problem, write_solution
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule

GOLDEN = Path(__file__).parent

FULL = EvolutionProblem(
    num_nodes=100,
    applications=(
        EvolutionProfile(((500, 5), (3600, 10))),
        EvolutionProfile(((3600, 75), (600, 0), (501, 100))),
        EvolutionProfile(((9007199254730000, 1),)),
    ),
    releases=(0, 120, 0),
    expand_limit=1.5,
    name="golden: übung",
    application_names=("a0", 'ß "beta"\n', "long"),
    meta={"generator": "by hand", "seed": [7, 3], "share": 0.25, "units": {"time": "s"}, "none": None},
)
MINIMAL = EvolutionProblem(4, (EvolutionProfile(((60, 2), (30, 4))),))
SCHEDULE = EvolutionSchedule.of(
    [2000, 120, 6500],
    [
        EvolutionProfile(((515, 5), (3600, 10))),
        EvolutionProfile(((3600, 75), (900, 0), (501, 100))),
        EvolutionProfile(((9007199254730000, 1),)),
    ],
)
META = {"solver": "ListScheduling()", "seconds": 0.5}

DIGESTS = {
    "problem-full.json": "263d74069a0ce278b8fc2c66a312b20e95789d65d107376d8922a178815c89d2",
    "problem-minimal.json": "2e333752b051fd2823b63a82c065041651b4de76a65e47e73e6c8c99645fec47",
    "problem-minimal-rewritten.json": "2e333752b051fd2823b63a82c065041651b4de76a65e47e73e6c8c99645fec47",
}


def test_the_files_mean_what_they_meant() -> None:
    full = read_problem(GOLDEN / "problem-full.json")
    assert full == FULL
    assert full.meta == FULL.meta
    assert read_problem(GOLDEN / "problem-minimal.json") == MINIMAL
    assert read_problem(GOLDEN / "problem-minimal-rewritten.json") == MINIMAL
    assert read_solution(GOLDEN / "solution.json", FULL) == SCHEDULE


@pytest.mark.parametrize(("name", "expected"), DIGESTS.items(), ids=DIGESTS)
def test_the_digest_is_frozen(name: str, expected: str) -> None:
    assert digest(read_problem(GOLDEN / name)) == expected


@pytest.mark.parametrize("name", ["problem-full.json", "problem-minimal-rewritten.json"])
def test_the_digest_can_be_rebuilt_from_the_file_alone(name: str) -> None:
    document = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    del document["name"], document["meta"]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(text.encode("utf-8")).hexdigest() == DIGESTS[name]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("problem-full.json", "problem-full.json"),
        ("problem-minimal.json", "problem-minimal-rewritten.json"),
        ("problem-minimal-rewritten.json", "problem-minimal-rewritten.json"),
    ],
)
def test_a_problem_is_rewritten_byte_for_byte(tmp_path: Path, source: str, target: str) -> None:
    write_problem(read_problem(GOLDEN / source), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (GOLDEN / target).read_bytes()


def test_a_solution_is_rewritten_byte_for_byte(tmp_path: Path) -> None:
    write_solution(tmp_path / "again.json", FULL, SCHEDULE, META)
    assert (tmp_path / "again.json").read_bytes() == (GOLDEN / "solution.json").read_bytes()
