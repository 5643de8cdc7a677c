"""The reproduction of Posner 2024: batches, what is run, sentences, picture."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances import digest, evotree_batch
from reproductions.posner2024 import (
    COMPARED,
    EASY,
    EVOLV,
    FIGURES,
    READINGS,
    SEARCH,
    SHARES,
    BoundRow,
    Reproduction,
    Row,
    drawn_batches,
    planned_runs,
    read_batches,
    reproduction_picture,
    sentences,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_batches_are_those_of_the_published_configuration(traces: Path) -> None:
    assert read_batches(traces / "evotree_batches.json") == drawn_batches()


def test_batches_are_workloads() -> None:
    (batch,) = drawn_batches(43, 1)
    for share in SHARES:
        for kind in ("evolving", "moldable"):
            problem = batch.problem(share, kind, 5.0)
            assert digest(problem) == digest(evotree_batch(43, share=share, kind=kind, release_delay=5))
    assert batch.problem(0.4, "moldable", 5.0).name == "evotree-s43-moldable40"


@pytest.mark.parametrize(
    ("first", "count", "shares"), [(1, 0, SHARES), (1, 1, ()), (1, 1, (0.2, 0.2)), (1, 1, (1.2,))]
)
def test_what_cannot_be_drawn_is_refused(first: int, count: int, shares: tuple[float, ...]) -> None:
    with pytest.raises(InvalidOption, match="nothing to draw"):
        drawn_batches(first, count, shares)


ROW = {"seed": 1, "nodes": [1, 8], "effective_submit": [0, 5], "evolving_indices": {"50": [1]}}


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"nodes": 12, "batches": [ROW]}))
    (batch,) = read_batches(path)
    problem = batch.problem(0.5, "evolving", 1.0)
    assert [(job.submit, job.nodes, job.kind) for job in problem.jobs] == [
        (0, 1, "rigid"),
        (5, 8, "evolving"),
    ]
    assert problem.num_nodes == 12
    with pytest.raises(InvalidOption, match=r"share 20 %: evotree-s1 has 0, 50"):
        planned_runs([batch], (0.2,), seconds=1)


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "TypeError"),
        ('{"nodes": 10, "batches": []}', "no batches"),
        (json.dumps({"nodes": 10, "batches": [{**ROW, "nodes": [1, 3]}]}), "are not all of"),
        (json.dumps({"nodes": 10, "batches": [{**ROW, "nodes": 3}]}), "is none"),
        (
            json.dumps({"nodes": 10, "batches": [{**ROW, "evolving_indices": {"50": [2]}}]}),
            "beyond the 2 of the batch",
        ),
        (json.dumps({"nodes": 10, "batches": [{"seed": 1}]}), "KeyError 'nodes'"),
    ],
)
def test_faulty_files_are_refused(document: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(document)
    with pytest.raises(FormatError, match=fault):
        read_batches(path)


def test_what_is_run() -> None:
    batches = drawn_batches(42, 2, (0, 1))
    planned = planned_runs(batches, (0, 1), seconds=1)
    # Both schedulers are the same where no job evolves, and so are most readings.
    tasks = {one.task.key: one.task for one in planned}
    assert len(planned) == 2 * (4 * (len(READINGS) + 1) + 2)
    assert len(tasks) == 2 * (4 + 4 + 9 + 2)
    assert {task.key.seconds for task in tasks.values() if task.solver == "prices"} == {1}
    assert {cell.share for _, cell in planned if cell.scheduler == COMPARED} == {1}
    searches = [(task.key.seconds, cell.share) for task, cell in planned if cell.scheduler == SEARCH]
    assert searches == [(math.inf, 1), (math.inf, 1)], "its work is fixed: it finds the same on any machine"


#: Of every share, as the paper has it where it prints a figure, and in between where it does not.
AS_PRINTED: dict[str, dict[str, list[float]]] = {
    EASY: {
        "makespan": [1507, 1520, 1505, 1530, 1490, 1385],
        "utilisation": [0.81, 0.84, 0.87, 0.88, 0.9, 0.91],
        "wait": [425, 430, 420, 425, 410, 376],
        "run": [181, 182, 184, 186, 187, 188],
    },
    EVOLV: {
        "makespan": [1510, 1440, 1350, 1290, 1210, 1157],
        "utilisation": [0.81, 0.83, 0.85, 0.86, 0.88, 0.85],
        "wait": [438, 400, 340, 290, 240, 191],
        "run": [181, 190, 200, 210, 220, 237],
        "expansions": [0, 1.9, 2.0, 2.1, 2.2, 2.0],
        "shrinks": [0, 3.5, 3.1, 2.8, 2.5, 2.2],
    },
}


def rows_of(reading: str, **changed: list[float]) -> list[Row]:
    rows = []
    for scheduler, columns in AS_PRINTED.items():
        for place, share in enumerate(SHARES):
            figures = dict.fromkeys(FIGURES, 0.0) | {name: path[place] for name, path in columns.items()}
            figures["turnaround"] = figures["wait"] + figures["run"]
            if scheduler == EVOLV:
                figures |= {name: path[place] for name, path in changed.items()}
            rows.append(Row(reading, scheduler, share, 5, figures))
    return rows


def reproduction(**changed: list[float]) -> Reproduction:
    """Return what the paper has, in all readings but the last one, in which something is changed."""
    rows = [row for reading in READINGS[:-1] for row in rows_of(reading.name)]
    bounds = [BoundRow(name, share, 5, 900, 250, 250, 300) for name in (EASY, EVOLV) for share in SHARES]
    return Reproduction((), (*rows, *rows_of(READINGS[-1].name, **changed)), tuple(bounds))


def test_the_paper_says_what_it_says() -> None:
    told = sentences(reproduction())
    assert {(one.text, one.verdict) for one in told} == {(one.text, "holds") for one in told}
    assert all(one.readings == tuple(reading.name for reading in READINGS) for one in told)


def test_a_sentence_may_depend_on_the_reading() -> None:
    told = {one.text: one for one in sentences(reproduction(makespan=[1500, 1400, 1450, 1200, 1100, 1000]))}
    falls = told["EvolvEasyBack's makespan falls with the share of evolving jobs [every step]"]
    assert falls.verdict == "depends"
    assert falls.readings == tuple(reading.name for reading in READINGS[:-1])
    assert falls.figures == "1510 1440 1350 1290 1210 1157"
    assert sum(one.verdict != "holds" for one in told.values()) == 4


def test_a_sentence_may_hold_in_no_reading() -> None:
    whole = reproduction()
    turned = [replace(row, figures={**row.figures, "shrinks": 10 * row.share}) for row in whole.rows]
    told = sentences(replace(whole, rows=tuple(turned)))
    assert "does not hold" in {one.verdict for one in told}
    assert next(one for one in told if "shrinks per job falls" in one.text).readings == ()


def test_without_runs_nothing_is_said() -> None:
    whole = reproduction()
    few = replace(whole, rows=tuple(row for row in whole.rows if row.share in {0, 1}))
    told: dict[str, Any] = {one.text: one for one in sentences(few)}
    assert told["and 88 % with 80 % [2 points]"].verdict == "not run"
    assert told["and 88 % with 80 % [2 points]"].figures == "no runs of EvolvEasyBack at 80 %"
    assert told["evolving jobs improve turnaround [every share]"].verdict == "not run"
    assert told["with 100 % evolving jobs it is 1157 s [5 %]"].verdict == "holds"


def test_the_picture_has_lines_bounds_and_what_is_printed() -> None:
    text = str(reproduction_picture(reproduction()))
    ET.fromstring(text)  # noqa: S314 - the picture that was just drawn
    for name in ("EasyBackfilling, moldable jobs", "certified bound, evolving jobs"):
        assert name in text
    assert text.count("paper, 100 %: 1157") == 2
    assert not reproduction_picture(Reproduction((), (), ())).size[1]
