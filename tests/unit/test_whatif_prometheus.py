"""What `whatif --out` writes: read back by Prometheus's own parser, figure by figure."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from prometheus_client.parser import text_string_to_metric_families
from whatif_logs import NODES, SECONDS, fixed_work, sacct

from allocsolve.bench import RecordStore
from allocsolve.cli import main
from allocsolve.instances import log_problem, read_table_log
from allocsolve.instances.formats.logs.times import zone
from allocsolve.report.logs import prometheus_text, variants, what_if

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.report.logs import WhatIf

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana_whatif.json"
LOG = 'jobs "of\\today".txt'
Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


work = pytest.fixture(scope="module", autouse=True)(fixed_work)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log whose name has to be escaped, with all that was asked of it."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / LOG).write_text(sacct())
    assert main([str(word) for word in command(folder)]) == 0
    return folder


def command(folder: Path) -> tuple[object, ...]:
    asked = ("--nodes", f"{NODES},20", "--order", "submit,shortest-estimate", "--malleable", "50", *SECONDS)
    return "whatif", folder / LOG, *asked, "--out", folder / "p.html", "--out", folder / "p.prom"


def samples_of(text: str) -> Samples:
    """Return the values by name and labels, in the order of the names; each stands there once."""
    assert text.endswith("\n")
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation.endswith(".")
        assert re.fullmatch(r"allocsolve_whatif_[a-z0-9_]+", family.name)
        assert family.name not in found
        rows = found.setdefault(family.name, {})
        for sample in family.samples:
            key = tuple(sorted(sample.labels.items()))
            assert sample.name == family.name
            assert sample.timestamp is None
            assert key not in rows
            assert math.isfinite(sample.value)
            rows[key] = sample.value
    return found


def of(labels: Mapping[str, str], log: str = LOG) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({"log": log, **labels}.items()))


def test_its_figures_are_those_of_the_json(made: Path, capsys: Capture) -> None:
    told = run_json(capsys, *command(made))
    assert told["prometheus"] == str(made / "p.prom")
    found = samples_of((made / "p.prom").read_text(encoding="utf-8"))
    prefix = "allocsolve_whatif_"
    schedules: dict[str, Any] = {"recorded": told["recorded"], **told["schedules"]}
    fields = {
        "mean_wait_seconds": "wait",
        "median_wait_seconds": "median_wait",
        "p95_wait_seconds": "p95_wait",
        "max_wait_seconds": "max_wait",
        "utilisation_ratio": "utilisation",
    }
    expected: Samples = {
        f"{prefix}{name}": {of({"schedule": key}): metrics[field] for key, metrics in schedules.items()}
        for name, field in fields.items()
    }
    expected |= {f"{prefix}jobs": {of({}): 60}, f"{prefix}wait_bound_seconds": {of({}): told["wait_bound"]}}
    expected |= {f"{prefix}{name}": {of({}): 0} for name in ("violations", "failed_runs", "missing_runs")}
    asked = told["questions"]
    assert len(asked) == 3
    expected[f"{prefix}question_mean_wait_seconds"] = {
        of({"question": row["label"], "schedule": solver}): metrics["wait"]
        for row in asked
        for solver, metrics in row["schedules"].items()
    }
    expected[f"{prefix}question_wait_bound_seconds"] = {
        of({"question": row["label"]}): row["wait_bound"] for row in asked
    }
    (half,) = told["malleable"]
    expected[f"{prefix}malleable_mean_turnaround_seconds"] = {
        of({"share": "0.5", "schedule": solver}): metrics["turnaround"]
        for solver, metrics in half["schedules"].items()
    }
    expected[f"{prefix}malleable_turnaround_bound_seconds"] = {of({"share": "0.5"}): half["turnaround_bound"]}
    assert found == expected


def test_the_next_run_replaces_it_at_once_and_nothing_of_others(
    made: Path, tmp_path: Path, capsys: Capture
) -> None:
    file = made / "p.prom"
    before = file.open(encoding="utf-8")
    inode = file.stat().st_ino
    assert run(capsys, *command(made)).endswith(f"For Prometheus: {file}\n")
    assert file.stat().st_ino != inode, (
        "the file is another one: whoever reads sees the old one or the new one"
    )
    assert before.read() == file.read_text(encoding="utf-8")
    before.close()
    assert [path.name for path in made.iterdir() if ".prom" in path.name] == ["p.prom"]
    own = tmp_path / "own.prom"
    own.write_text("my_metric 1\n")
    words = [*command(made)[:-1], own]
    assert refused(capsys, *words).endswith(f"{own}: exists; --force replaces it\n")
    assert own.read_text() == "my_metric 1\n"
    assert "there is no directory" in refused(capsys, *words[:-1], tmp_path / "no" / "x.prom")


def figures_of(folder: Path, **changes: object) -> WhatIf:
    """Return the figures of a log before anything has run."""
    path = folder / "log.txt"
    path.write_text(sacct())
    log = read_table_log(path, "sacct", num_nodes=NODES)
    planned = variants(log_problem(log), seconds=1, workers=1)
    with RecordStore(folder / "rows.sqlite") as store:
        return replace(what_if(log, planned, store, zone("UTC")), **changes)  # type: ignore[arg-type]  # fields by name


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> WhatIf:
    return figures_of(tmp_path_factory.mktemp("bare"))


def test_what_is_not_known_is_left_out(bare: WhatIf) -> None:
    found = samples_of(prometheus_text(bare))
    assert "allocsolve_whatif_wait_bound_seconds" not in found
    assert [*found["allocsolve_whatif_mean_wait_seconds"]] == [of({"schedule": "recorded"}, "log.txt")]
    assert found["allocsolve_whatif_missing_runs"][of({}, "log.txt")] == 5
    nothing = samples_of(prometheus_text(replace(bare, recorded=None)))
    assert {*nothing} == {f"allocsolve_whatif_{name}" for name in ("jobs", "failed_runs", "missing_runs")}


@given(name=st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1))
def test_every_name_of_a_log_comes_back(name: str, bare: WhatIf) -> None:
    shown = samples_of(prometheus_text(replace(bare, log=replace(bare.log, source=f"folder/{name}"))))
    ((labels, value),) = shown["allocsolve_whatif_jobs"].items()
    assert value == 60
    if name not in {".", ".."}:
        assert labels == (("log", name),)


def test_the_dashboard_asks_for_what_is_written(made: Path) -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    written = samples_of((made / "p.prom").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [variable["query"] for variable in board["templating"]["list"]]
    names = re.findall(r"allocsolve_whatif_\w+", " ".join(asked))
    assert len(names) >= len(board["panels"])
    assert {*names} <= {*written}
    schedules = {dict(key)["schedule"] for key in written["allocsolve_whatif_mean_wait_seconds"]}
    assert {*re.findall(r'schedule="([^"]+)"', " ".join(asked))} <= schedules
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
