"""A paper in one module: what a new one needs, run, measured and shown by the shared course of reproductions.

It would be ``reproductions/toy2026/command.py``, beside an ``__init__.py`` with one docstring; a function
with its options, here `_toy2026`, enters it in ``reproductions/commands.py``. That is all: three files.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cli_tools import run, run_json

from allocsolve import bench
from allocsolve.bench import RecordStore
from allocsolve.bench.runs.execution import failed_outcome
from allocsolve.instances import lublin1999
from allocsolve.model import Budget, terms
from reproductions.claims import Claims, looked_up
from reproductions.commands import PAPERS, add_records, add_seconds, paper
from reproductions.runs import BOUND, best_values, certified, check_bound, planned
from reproductions.study import Part, Recorded, Study
from reproductions.tables import say_verdicts, show, show_claims

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from cli_tools import Capture

    from reproductions.claims import Judgement, Sentence

#: What the toy prints: mean turnarounds in seconds.
PRINTED = {"first-fit": 4000.0, "easy": 3000.0}


class Run(NamedTuple):
    """A policy on a workload; seconds."""

    policy: str
    turnaround: float
    bound: float


class Measured(NamedTuple):
    """All that is measured."""

    runs: tuple[Run, ...]


Figures = dict[str, Run]
CLAIMS = Claims[Figures]()


@CLAIMS.add("1", "first fit has a mean turnaround of at most that of EASY")
def _first_fit_is_better(on: Figures) -> Judgement:
    first, easy = (looked_up(on, name, name).turnaround for name in PRINTED)
    return first <= easy, f"{first:.0f} and {easy:.0f}"


@CLAIMS.add("2", "conservative backfilling is the best")
def _conservative_is_best(on: Figures) -> Judgement:
    best = looked_up(on, "conservative", "conservative").turnaround
    return best == min(run.turnaround for run in on.values()), f"{best:.0f}"


def _sentences(measured: Measured) -> list[Sentence]:
    on = {run.policy: run for run in measured.runs}
    return [claim.held(on) for claim in CLAIMS]


class Toy(Study[str, Measured]):
    """Two policies on ten jobs, and the bound beside them."""

    RUN = Run

    def parts(self) -> Iterator[Part[str]]:
        problem, budget = lublin1999(7, num_jobs=10), Budget(seconds=self.args.seconds)
        solvers = {name: name for name in (*PRINTED, BOUND)}
        yield Part("toy", planned(problem, solvers, objective="turnaround", budget=budget))

    def measured(self, recorded: Recorded[str]) -> Measured:
        records = {label: recorded.records[task.key] for task, label in recorded.runs}
        bound = certified(records[BOUND])
        for value in best_values(records.values()).values():
            check_bound(bound, value)
        values = {name: records[name].value for name in PRINTED}
        return Measured(
            tuple(Run(name, terms(value)[0], bound) for name, value in values.items() if value is not None)
        )

    def document(self, measured: Measured) -> dict[str, Any]:
        return {"claims": [sentence.document() for sentence in _sentences(measured)]}

    def show(self, measured: Measured) -> None:
        rows = [(run.policy, f"{PRINTED[run.policy]:.0f}", f"{run.turnaround:.0f}") for run in measured.runs]
        show(("policy", "paper", "ours"), rows, title="Mean turnaround in seconds")
        show_claims(_sentences(measured))
        say_verdicts(_sentences(measured))

    def remarks(self) -> Iterator[str]:
        yield "The paper is made up."


def _toy2026(parser: argparse.ArgumentParser) -> None:
    add_seconds(parser, "bound in seconds", 0.5)
    add_records(parser, "")


pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture(autouse=True)
def entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the toy among the papers."""
    monkeypatch.setattr("reproductions.commands.PAPERS", {**PAPERS})
    paper("A toy")(_toy2026)
    module = types.ModuleType("reproductions.toy2026.command")
    vars(module)["toy2026"] = Toy.command
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_a_paper_is_run_measured_written_and_shown(tmp_path: Path, capsys: Capture) -> None:
    command = ("reproduce", "toy2026", "--out", tmp_path)
    document = run_json(capsys, *command)
    assert list(document) == ["paper", "claims", "failures", "records", "runs"]
    assert [claim["verdict"] for claim in document["claims"]] == ["holds", "not run"]
    assert document["claims"][1]["figures"] == "no runs of conservative"
    head, *lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert head == "policy,turnaround,bound"
    assert [line.split(",")[0] for line in lines] == [*PRINTED]
    for line in lines:
        _, turnaround, bound = line.split(",")
        assert 0 < float(bound) <= float(turnaround)
    with RecordStore(tmp_path / "records.sqlite", read_only=True) as store:
        kept = list(store)
    text = run(capsys, *command)
    assert "2 claims: 1 holds, 1 not run" in text
    assert text.endswith(f"Records: {tmp_path}/records.sqlite; runs one by one: {tmp_path}/runs.csv\n")
    with RecordStore(tmp_path / "records.sqlite", read_only=True) as store:
        assert list(store) == kept, "nothing was run again"


def test_a_failed_run_is_told(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(tasks: list[bench.Task], **_: Any) -> list[bench.Record]:
        return [failed_outcome(task, "RuntimeError: boom", 0.1).record for task in tasks]

    monkeypatch.setattr(bench, "run", failing)
    document = run_json(capsys, "reproduce", "toy2026", "--out", tmp_path, status=1)
    assert {failure["error"] for failure in document["failures"]} == {"RuntimeError: boom"}
    assert {claim["verdict"] for claim in document["claims"]} == {"not run"}
