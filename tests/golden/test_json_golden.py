"""Files of the format ``allocsolve/1`` that must keep their meaning, their digest and their bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from allocsolve.instances import digest, read_problem, read_solution, write_problem, write_solution
from allocsolve.model import (
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Mesh,
    Partition,
    PartitionProblem,
    Topology,
)

if TYPE_CHECKING:
    from allocsolve.model import Problem

GOLDEN = Path(__file__).parent


class Kind(NamedTuple):
    """The files of a family: a problem with all fields, one with few of them as written twice, an answer."""

    full: Problem
    minimal: Problem
    answer: Any
    meta: dict[str, object]  #: of the answer
    digest: str  #: of the full problem
    minimal_digest: str


KINDS = {
    ("problem", "solution"): Kind(
        EvolutionProblem(
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
            meta={
                "generator": "by hand",
                "seed": [7, 3],
                "share": 0.25,
                "units": {"time": "s"},
                "none": None,
            },
        ),
        EvolutionProblem(4, (EvolutionProfile(((60, 2), (30, 4))),)),
        EvolutionSchedule.of(
            [2000, 120, 6500],
            [
                EvolutionProfile(((515, 5), (3600, 10))),
                EvolutionProfile(((3600, 75), (900, 0), (501, 100))),
                EvolutionProfile(((9007199254730000, 1),)),
            ],
        ),
        {"solver": "ListScheduling()", "seconds": 0.5},
        "263d74069a0ce278b8fc2c66a312b20e95789d65d107376d8922a178815c89d2",
        "2e333752b051fd2823b63a82c065041651b4de76a65e47e73e6c8c99645fec47",
    ),
    ("partition", "partition-set"): Kind(
        PartitionProblem.of(
            Topology((5, 4, 2), (True, False, False)),
            busy=(0, 7, 8, 21, 39),
            size=6,
            contiguous=True,
            name="golden: übung",
            meta={"generator": "by hand", "seed": [7, 3], "busy_share": 0.125, "none": None},
        ),
        PartitionProblem.of(Mesh((4, 3)), busy=(1, 5), size=4),
        Partition(np.array([1, 2, 3, 4, 6, 9])),
        {"solver": "branch-and-bound", "seconds": 0.5},
        "86b622e6f119208e61eba78b1b958553907f11ea6c145b16d5e632b9ddd66726",
        "86147894734e12889cc8dd80a4b68b5076fe1362c490dfb56d4eefbc7d013a6a",
    ),
}

of_each_kind = pytest.mark.parametrize(
    ("names", "kind"), [pytest.param(*one, id=one[0][0]) for one in KINDS.items()]
)


@of_each_kind
def test_the_files_mean_what_they_meant(names: tuple[str, str], kind: Kind) -> None:
    problem, answer = names
    full = read_problem(GOLDEN / f"{problem}-full.json")
    assert full == kind.full
    assert full.meta == kind.full.meta
    assert digest(full) == kind.digest
    for name in ("minimal", "minimal-rewritten"):
        minimal = read_problem(GOLDEN / f"{problem}-{name}.json")
        assert minimal == kind.minimal
        assert digest(minimal) == kind.minimal_digest
    assert read_solution(GOLDEN / f"{answer}.json", kind.full) == kind.answer


@of_each_kind
def test_the_digest_can_be_rebuilt_from_the_file_alone(names: tuple[str, str], kind: Kind) -> None:
    for name, expected in (("full", kind.digest), ("minimal-rewritten", kind.minimal_digest)):
        document = json.loads((GOLDEN / f"{names[0]}-{name}.json").read_text(encoding="utf-8"))
        del document["name"], document["meta"]
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode("utf-8")).hexdigest() == expected


@of_each_kind
def test_files_are_rewritten_byte_for_byte(tmp_path: Path, names: tuple[str, str], kind: Kind) -> None:
    problem, answer = names
    again = tmp_path / "again.json"
    for source, target in (
        ("full", "full"),
        ("minimal", "minimal-rewritten"),
        ("minimal-rewritten", "minimal-rewritten"),
    ):
        write_problem(read_problem(GOLDEN / f"{problem}-{source}.json"), again)
        assert again.read_bytes() == (GOLDEN / f"{problem}-{target}.json").read_bytes()
    write_solution(again, kind.full, kind.answer, kind.meta)
    assert again.read_bytes() == (GOLDEN / f"{answer}.json").read_bytes()
