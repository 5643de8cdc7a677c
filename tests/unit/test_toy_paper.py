"""A paper in few lines: what a new one needs, run, measured and shown by the shared course of reproductions.

Its folder would hold this one module as ``reproductions/toy2026/command.py`` (and an empty ``__init__.py``);
a line in `reproductions.commands.PAPERS` names it.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from allocsolve import bench
from allocsolve.bench import RecordStore
from allocsolve.cli.output import show_table
from allocsolve.instances import lublin1999
from allocsolve.model import Budget, terms
from reproductions.claims import Claims, looked_up, say_verdicts, show_claims
from reproductions.commands import PAPERS, Paper, add_papers, add_records
from reproductions.runs import BOUND, best_values, certified, check_bound, planned
from reproductions.study import Part, Recorded, Study

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from reproductions.claims import Judgement

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


@CLAIMS.add("1", "first fit has a lower mean turnaround than EASY")
def _first_fit_is_better(on: Figures) -> Judgement:
    first, easy = (looked_up(on, name, name).turnaround for name in PRINTED)
    return first < easy, f"{first:.0f} and {easy:.0f}"


@CLAIMS.add("2", "conservative backfilling is the best")
def _conservative_is_best(on: Figures) -> Judgement:
    best = looked_up(on, "conservative", "conservative").turnaround
    return best == min(run.turnaround for run in on.values()), f"{best:.0f}"


class Toy(Study[str, Measured]):
    """Two policies on ten jobs, and the bound beside them."""

    RUN = Run

    def parts(self) -> Iterator[Part[str]]:
        problem, budget = lublin1999(7, num_jobs=10), Budget(seconds=0.5)
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
        claims = [claim.held({run.policy: run for run in measured.runs}) for claim in CLAIMS]
        return {"claims": [claim.document() for claim in claims]}

    def show(self, measured: Measured) -> None:
        rows = [(run.policy, f"{PRINTED[run.policy]:.0f}", f"{run.turnaround:.0f}") for run in measured.runs]
        show_table(("policy", "paper", "ours"), rows, title="Mean turnaround in seconds")
        claims = [claim.held({run.policy: run for run in measured.runs}) for claim in CLAIMS]
        show_claims(claims)
        say_verdicts(claims)

    def remarks(self) -> Iterator[str]:
        yield "The paper is made up."


def _options(out: Path, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_records(parser, "")
    return argparse.Namespace(
        **vars(parser.parse_args(["--out", str(out), *words])), paper="toy2026", json=True
    )


def test_a_paper_is_run_measured_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Toy.command(_options(tmp_path)) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["paper", "claims", "failures", "records", "runs"]
    assert [claim["verdict"] for claim in document["claims"]] in (
        ["holds", "not run"],
        ["does not hold", "not run"],
    )
    assert document["claims"][1]["figures"] == "no runs of conservative"
    head, *lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert head == "policy,turnaround,bound"
    assert [line.split(",")[0] for line in lines] == [*PRINTED]
    for line in lines:
        _, turnaround, bound = line.split(",")
        assert 0 < float(bound) <= float(turnaround)
    with RecordStore(tmp_path / "records.sqlite", read_only=True) as store:
        kept = list(store)
    args = _options(tmp_path)
    args.json = False
    assert Toy.command(args) == 0
    text = capsys.readouterr().out
    assert "2 claims: " in text
    assert text.endswith(f"Records: {tmp_path}/records.sqlite; runs one by one: {tmp_path}/runs.csv\n")
    with RecordStore(tmp_path / "records.sqlite", read_only=True) as store:
        assert list(store) == kept, "nothing was run again"


def test_a_failed_run_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from allocsolve.bench.runs.execution import failed_outcome  # noqa: PLC0415 - what the harness does with them

    def failing(tasks: list[bench.Task], **_: Any) -> list[bench.Record]:
        return [failed_outcome(task, "RuntimeError: boom", 0.1).record for task in tasks]

    monkeypatch.setattr(bench, "run", failing)
    assert Toy.command(_options(tmp_path)) == 1
    document = json.loads(capsys.readouterr().out)
    assert {failure["error"] for failure in document["failures"]} == {"RuntimeError: boom"}
    assert {claim["verdict"] for claim in document["claims"]} == {"not run"}


def test_an_entry_in_the_table_makes_it_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    papers: Mapping[str, Paper] = {"toy2026": Paper("A toy", add_records)}
    monkeypatch.setattr("reproductions.commands.PAPERS", {**PAPERS, **papers})
    parser = argparse.ArgumentParser()
    add_papers(parser)
    args = parser.parse_args(["toy2026", "--out", "d"])
    assert (args.paper, str(args.out), args.plot) == ("toy2026", "d", None)
    with pytest.raises(ModuleNotFoundError, match=r"reproductions\.toy2026"):
        args.run(args)
    with pytest.raises(SystemExit):
        parser.parse_args(["toy2026", "--help"])
    assert "A toy." in capsys.readouterr().out
