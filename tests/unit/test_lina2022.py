"""The reproduction of Lina et al. 2022: its workloads, runs, means, contrasts and claims."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from workload_traces import trace

from allocsolve.bench import RecordStore, run
from allocsolve.errors import AllocsolveError, InvalidAnswer
from allocsolve.heuristics import Lina
from allocsolve.instances import lublin1999
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model import Budget
from reproductions.lina2022 import (
    ALGORITHMS,
    FULL,
    LOGS,
    METRICS,
    RULES,
    SHARES,
    TABLE_3,
    Cell,
    Figures,
    Log,
    Reproduction,
    claims,
    examine,
    paper_logs,
    planned_runs,
    variants,
)
from reproductions.runs import BoundStore
from reproductions.study import joined

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SMALL = Log("KIT", lublin1999(1, num_jobs=40), full=False)


def test_workloads_of_the_paper(traces: Path) -> None:
    """Its table 2, but for 12 jobs of KIT, 9160 processors of LLNL and 4994 of the synthetic one."""
    for pattern in ("KIT-FH2-2016-1-first25326", "LLNL-Atlas-2006-2.1-cln"):
        trace(traces, f"{pattern}.swf.gz")
    expected = {
        "KIT": (9988, 10_240, 24_048),
        "KIT_shrunk": (9988, 10_240, 24_048),
        "LLNL": (10_000, 9120, 9216),
        "LLNL_shrunk": (10_000, 9120, 9216),
        "Synthetic": (10_000, 4996, 10_000),
    }
    logs = {log.name: log for log in paper_logs(traces)}
    assert list(logs) == [*LOGS, *FULL]
    for name, row in expected.items():
        problem = logs[name].problem
        assert (len(problem.jobs), problem.packed.nodes.max(), problem.num_nodes) == row
    assert [log.full for log in logs.values()] == [name in FULL for name in logs]
    assert logs["KIT_full"].problem == logs["KIT"].problem


def test_what_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALLOCSOLVE_TRACES", raising=False)
    with pytest.raises(AllocsolveError, match="no folder of traces"):
        paper_logs(None, ["KIT"])
    with pytest.raises(AllocsolveError, match=r"holds no KIT-FH2-2016\*"):
        paper_logs(tmp_path, ["KIT"])
    with pytest.raises(AllocsolveError, match="workload of the paper 'CTC'"):
        paper_logs(tmp_path, ["CTC"])
    with pytest.raises(AllocsolveError, match="some twice"):
        paper_logs(tmp_path, ["KIT", "KIT"])
    for shares, seeds in (([], 1), ([0.5, 0.5], 1), ([0.5], 0)):
        with pytest.raises(AllocsolveError, match="nothing, or some twice"):
            variants(SMALL, shares, seeds)
    with pytest.raises(AllocsolveError, match="not all are above 0"):
        variants(SMALL, [0.0, 0.5], 1)


def test_runs_of_a_workload() -> None:
    chosen = variants(SMALL, [1.0, 0.5], 2)
    assert [(one.share, one.seed) for one in chosen] == [(0, 1), (0.5, 1), (0.5, 2), (1, 1), (1, 2)]
    planned = planned_runs(chosen, full=False, seconds=1)
    assert len(planned) == 2 + 4 * len(ALGORITHMS) * len(RULES) + 3
    full = Log("KIT_full", SMALL.problem, full=True)
    chosen = variants(full, [1.0], 2)
    assert [(one.share, one.seed) for one in chosen] == [(0, 1), (1, 1)]
    assert {job.min_nodes for job in chosen[1].problem.jobs} == {1}
    assert len(planned_runs(chosen, full=True, seconds=1)) == 2 + len(ALGORITHMS)


def test_records_tell_what_the_runs_are() -> None:
    planned = planned_runs(variants(SMALL, [0.7], 1), full=False, seconds=0.2)
    planned = [one for one in planned if one.label.algorithm != "prices"]
    store = BoundStore()
    records = {record.key: record for record in run([one.task for one in planned], store=store)}
    found = examine(planned, records)
    assert len(found.runs) == len(planned)
    for one, (task, (variant, algorithm, rule)) in zip(found.runs, planned, strict=True):
        assert (one.log, one.share, one.algorithm, one.rule) == ("KIT", variant.share, algorithm, rule)
        assert store.answer(task.key) is None
        if rule:
            schedule = Lina(algorithm, rule, variant.seed)(variant.problem, Budget()).answer  # type: ignore[arg-type]
            assert schedule is not None
            measured = workload_metrics(variant.problem, schedule)
            assert [getattr(one, name) for name in METRICS] == [getattr(measured, name) for name in METRICS]
    twice = joined([found, found])
    assert len(twice.runs) == 2 * len(planned)


def test_bounds_stand_beside_and_contradictions_are_refused() -> None:
    planned = planned_runs(variants(SMALL, [0.5], 1), full=False, seconds=0.3)
    planned = [one for one in planned if not one.label.variant.share]
    store = RecordStore()
    records = {record.key: record for record in run([one.task for one in planned], store=store)}
    (row,) = examine(planned, records).bounds
    assert (row.log, row.share) == ("KIT", 0)
    assert 0 < row.bound <= row.best <= min(one.turnaround for one in examine(planned, records).runs)
    key = planned[0].task.key
    records[key] = replace(records[key], value=1.0)
    with pytest.raises(InvalidAnswer, match="contradiction: a bound of"):
        examine(planned, records)


def fake(figure: Callable[[str, float, str, str, str], float]) -> Reproduction:
    """Return a reproduction with these figures, of workload, share, algorithm, rule and metric."""
    rows = [(log, 0.0, "first-fit", "") for log in (*LOGS, *FULL)]
    rows += itertools.product(LOGS, SHARES, ALGORITHMS, RULES)
    rows += itertools.product(FULL, SHARES, ALGORITHMS, ["gain"])
    cells = tuple(Cell(*row, 3, {name: figure(*row, name) for name in METRICS}) for row in rows)
    return Reproduction((), cells, ())


def as_told(log: str, share: float, algorithm: str, rule: str, metric: str) -> float:
    """Return figures for which all holds that the paper says, with either reading of System."""
    rank = ["application", "default", *ALGORITHMS[2:]].index(algorithm) if share else 0
    flat = 0.5 if log == "Synthetic" else min(share, 0.6)
    spread = {"gain": -1, "random": 1}.get(rule, 0) * (0.005 if "shrunk" in log else 0.01)
    if metric == "turnaround":
        gain = share if log == "Synthetic" else flat
        return 1000 * (1 - 0.5 * gain + 0.0001 * rank * (share > 0)) * (1 + spread)
    if metric == "slowdown":
        return 10 * (1 - flat + 0.001 * rank) * (1 + 5 * spread)
    most = {"KIT_full": 0.9, "KIT_shrunk_full": 0.98}.get(log, 0.9)
    use = {"random": 0.01, "shrinkable": -0.005}.get(rule, 0.0)
    return (most - 0.02 * (1 - share) + 0.00002 * (rank > 1)) * (1 + use)


def test_claims_hold_where_figures_are_as_told() -> None:
    told = {one.text: one for one in claims(fake(as_told))}
    failed = [one for one in told.values() if one.verdict != "holds"]
    # System as printed cannot both be its own and close to Application, as the others demand.
    assert [one.text for one in failed] == ["System is an algorithm of its own, not Application [.5 %]"]
    assert len(told) == 19


def test_claims_that_depend_on_the_reading() -> None:
    def harmful_text(log: str, share: float, algorithm: str, rule: str, metric: str) -> float:
        worse = 3 if algorithm == "system-text" and metric == "turnaround" else 1
        return worse * as_told(log, share, algorithm, rule, metric)

    told = {one.text: one for one in claims(fake(harmful_text))}
    assert told["in all cases elastic jobs improve turnaround"].verdict == "depends on the reading"
    assert told["System is an algorithm of its own, not Application [.5 %]"].verdict == "does not hold"


def test_claims_without_runs_say_so() -> None:
    few = fake(as_told)
    few = Reproduction((), tuple(cell for cell in few.cells if cell.log == "LLNL"), ())
    told = {one.text: one for one in claims(few)}
    assert told["and to 98.5 % on KIT_shrunk"].figures == "KIT_shrunk_full was not run"
    assert sum(one.verdict == "not run" for one in told.values()) == 9


def test_table_3_is_as_printed() -> None:
    assert len(TABLE_3) == 45
    assert TABLE_3["KIT", "default", "turnaround"] == ("gain", "random", 5.7, 70)
    found = Figures(fake(as_told)).contrast("KIT", "default", "turnaround")

    assert (found.best, found.worst) == ("gain", "random")
    assert found.printed == TABLE_3["KIT", "default", "turnaround"]
    assert found.difference == pytest.approx(1 - 0.99 / 1.01)
