"""`study verify` recomputes what is in a file, `study merge` brings files together."""

from __future__ import annotations

import re
import shutil
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import refused, run, run_json
from sample_records import ANSWER, PROBLEM, RECORD, VARIANTS

from allocsolve.bench import RecordStore, merge_records, plan, run as run_tasks, verify_records
from allocsolve.bench.runs.rows import packed
from allocsolve.cli import main
from allocsolve.instances import digest, klein2011, uniform_occupancy
from allocsolve.model import Budget, Mesh, Status, terms

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

MESH = uniform_occupancy(Mesh((6, 5)), 0.3, 6, 1)
KIND = {"format": "allocsolve/1", "kind": "partition-set"}
TOO_FEW = {**KIND, "problem": digest(MESH), "nodes": [0, 1], "meta": {}}
UPDATE = "UPDATE records SET {} WHERE id = ?"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real runs: a heuristic, an exact solver, bounds with certificates, two terms."""
    path = tmp_path_factory.mktemp("honest") / "study.sqlite"
    budgets = [Budget(seconds=60)]
    evolution = [("s", klein2011([4, idx], num_apps=(3, 3))) for idx in range(2)]
    mesh = [("m", MESH)]
    tasks = [
        *plan(evolution, ["noX", "cpsat"], budgets=budgets),
        *plan(evolution[:1], ["noX"], objective="makespan,waste", budgets=budgets),
        *plan(mesh, ["branch-and-bound", "growth"], budgets=budgets),
    ]
    with RecordStore(path) as store:
        rows = run_tasks(tasks, store=store)
        assert not [row.error for row in rows if row.error]
        assert [row.solver for row in rows] == ["noX", "cpsat"] * 2 + ["noX", "branch-and-bound", "growth"]
        assert terms(rows[5].certified_bound) > (0,)
        assert store.certificate(rows[5].key) is not None
    return path


def _tampered(honest: Path, folder: Path, change: str, *values: Any) -> Path:
    path = folder / "study.sqlite"
    shutil.copy(honest, path)
    base = sqlite3.connect(path)
    base.execute("DROP TRIGGER no_change")
    base.execute("DROP TRIGGER no_loss")
    base.execute(change, values)
    base.commit()
    base.close()
    return path


def test_what_was_run_is_confirmed(honest: Path, capsys: Capture) -> None:
    before = honest.read_bytes()
    assert run(capsys, "study", "verify", honest) == f"{honest}: 7 records, 0 faults\n"
    assert run_json(capsys, "study", "verify", honest) == {"records": 7, "faults": [], "left_out": []}
    assert honest.read_bytes() == before


@pytest.mark.parametrize(
    ("row", "change", "values", "fault"),
    [
        (1, "value = value - 1", (), "noX on .*: the judge finds makespan"),
        (
            *(3, "metrics = json_set(metrics, '$.waste', 0.125)", ()),
            "noX on .*: the judge finds waste .*, the record has 0.125",
        ),
        (
            *(3, "answer = (SELECT answer FROM records WHERE id = 1)", ()),
            "noX on .*: there is no answer to its value",
        ),
        (7, "answer = ?", (packed(TOO_FEW),), "growth on .*: the answer is not feasible"),
        (2, "answer = NULL", (), "cpsat on .*: there is no answer"),
        (
            *(2, "bound = 10 * bound, status = 'feasible'", ()),
            "cpsat on .*: the bound is [0-9]+, row [12] has [0-9]+",
        ),
        (7, "status = 'optimal'", (), "growth on .*: it is called optimal, with the value"),
        (
            *(6, "certified_bound = certified_bound + 1", ()),
            "branch-and-bound on .*: the certified bound is [0-9]+, the record has [0-9]+",
        ),
        (
            6,
            "certificate = ?",
            (packed({"scale": -1}),),
            "branch-and-bound on .*: axes None of the certificate",
        ),
        (
            7,
            "combinatorial_bound = 1",
            (),
            "growth on .*: the combinatorial bound is [0-9]+, the record has 1",
        ),
        (
            *(2, "value = NULL, answer = NULL, status = 'infeasible'", ()),
            "cpsat on .*: it is called infeasible, row 1 has an answer",
        ),
    ],
)
def test_what_was_tampered_with_is_named(
    honest: Path, tmp_path: Path, row: int, change: str, values: tuple[Any, ...], fault: str
) -> None:
    path = _tampered(honest, tmp_path, UPDATE.format(change), *values, row)
    (named,) = _faults(path)
    assert re.match(f"row {row}, {fault}", named), named


def _faults(path: Path) -> list[str]:
    with RecordStore(path, read_only=True, tell=lambda _: None) as store:
        return list(verify_records(store))


def test_a_problem_that_is_missing_is_named_at_each_of_its_rows(honest: Path, tmp_path: Path) -> None:
    change = "DELETE FROM problems WHERE digest = (SELECT digest FROM records WHERE id = 6)"
    first, second = _faults(_tampered(honest, tmp_path, change))
    assert re.match("row 6, branch-and-bound on .*: its problem is missing", first)
    assert re.match("row 7, growth on .*: its problem", second)


def test_faults_and_damages_are_the_exit_status(honest: Path, tmp_path: Path, capsys: Capture) -> None:
    path = _tampered(honest, tmp_path, "UPDATE records SET value = value + 1 WHERE id = 1")
    said = run(capsys, "study", "verify", path, status=1)
    assert said.endswith(f"{path}: 7 records, 1 fault\n")
    path = _tampered(honest, tmp_path, "UPDATE records SET value = 'x' WHERE id = 1")
    assert main(["study", "verify", str(path)]) == 1
    out, err = capsys.readouterr()
    assert out == f"{path}: 6 records, 0 faults, 1 thing left out\n"
    assert err.startswith(f"allocsolve: {path}: row 1: column value: 'x' ")
    assert "there is no such file" in refused(capsys, "study", "verify", tmp_path / "none.sqlite")


def _file(path: Path, *records: Any) -> Path:
    with RecordStore(path) as store:
        for record in records:
            assert store.append(
                record, PROBLEM, ANSWER if record.value is not None else None, {"of": record.seed}
            )
    return path


def test_merging_takes_the_newest_of_each_and_doubles_nothing(tmp_path: Path, capsys: Capture) -> None:
    newer = replace(RECORD, when="2024-01-05T00:00:00+00:00", attempt=2, runtime_s=9.0)
    failed = replace(RECORD, error="Boom: no", value=None, status=Status.UNKNOWN)
    one = _file(tmp_path / "one.sqlite", failed, VARIANTS[1], VARIANTS[2])
    two = _file(tmp_path / "two.sqlite", failed, newer, VARIANTS[3])
    out = tmp_path / "all.sqlite"
    merge = "study", "merge", out, one, two
    assert run(capsys, *merge) == f"{out}: 4 records added, 4 in all\n"
    assert run(capsys, *merge) == f"{out}: 0 records added, 4 in all\n"
    with RecordStore(out, read_only=True) as store:
        assert {row.seed: row for row in store} == {0: newer, 1: VARIANTS[1], 2: VARIANTS[2], 3: VARIANTS[3]}
        assert store.problem(RECORD.digest) == PROBLEM
        assert store.answer(newer.key) == ANSWER
        assert store.answer(VARIANTS[1].key) is None
        assert store.certificate(VARIANTS[3].key) == {"of": 3}
    # Something newer comes later: a further attempt, and what is older stays away.
    newest = replace(RECORD, when="2024-01-06T00:00:00+00:00", runtime_s=10.0)
    three = _file(tmp_path / "three.sqlite", newest, replace(VARIANTS[1], when="2023-01-01T00:00:00+00:00"))
    assert run_json(capsys, "study", "merge", out, three) == {"records": str(out), "added": 1, "in_all": 4}
    with RecordStore(out, read_only=True) as store:
        assert store[RECORD.key] == replace(newest, attempt=3)
        assert store[VARIANTS[1].key] == VARIANTS[1]
    assert "is merged into itself" in refused(capsys, "study", "merge", out, one, out)


def test_merging_is_the_same_in_any_order(tmp_path: Path) -> None:
    newer = replace(RECORD, when="2024-01-05T00:00:00+00:00", runtime_s=9.0)
    paths = [_file(tmp_path / "a.sqlite", RECORD, VARIANTS[1])]
    paths.append(_file(tmp_path / "b.sqlite", newer, VARIANTS[2]))
    for idx, order in enumerate((paths, paths[::-1])):
        stores = [RecordStore(path, read_only=True) for path in order]
        with RecordStore(tmp_path / f"{idx}.sqlite") as into:
            assert merge_records(into, stores) == 3
            assert {row.seed: row for row in into} == {0: newer, 1: VARIANTS[1], 2: VARIANTS[2]}
        for store in stores:
            store.close()


def test_what_is_damaged_is_not_merged(tmp_path: Path) -> None:
    path = _file(tmp_path / "one.sqlite", RECORD, VARIANTS[1])
    bad = _tampered(path, tmp_path, "UPDATE records SET answer = 'x' WHERE id = 1")
    told: list[str] = []
    with RecordStore(bad, read_only=True, tell=told.append) as store, RecordStore() as into:
        assert merge_records(into, [store]) == 1
        assert list(into) == [VARIANTS[1]]
    assert told == [f"{bad}: row 1: answer: column answer: 'x' is no compressed JSON object; it is left out"]
