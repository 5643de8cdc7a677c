"""From records to a page: what is stored is decoded once, and nothing is measured again."""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pytest
from first_fit import first_fit, in_order

from allocsolve.bench import RecordStore, plan
from allocsolve.bench.runs import store as store_module
from allocsolve.bench.runs.execution import judged_outcome
from allocsolve.instances import log_problem, read_swf_log
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import Budget, Result, Status, WorkloadProblem
from allocsolve.report import examine, html
from allocsolve.report.whatif import findings, variants, what_if

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.bench import Task

NODES = 8


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often what is stored is decoded, and how often the judge measures an answer."""
    counts: Counter[str] = Counter()

    def watch(place: Any, name: str) -> None:
        real = getattr(place, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            counts[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(place, name, watched)

    watch(store_module, "decoded")
    watch(store_module, "parse_problem")
    watch(store_module, "parse_solution")
    watch(findings, "workload_metrics")
    return counts


def _append(store: RecordStore, task: Task) -> None:
    assert isinstance(task.problem, WorkloadProblem)
    result = Result(Status.FEASIBLE, first_fit(task.problem))
    record, judged, _, certificate = judged_outcome(task, result, 0.5)
    assert not record.error
    store.append(record, task.problem, judged, certificate)


def test_a_report_decodes_each_problem_and_each_answer_once(tmp_path: Path, counted: Counter[str]) -> None:
    logs = [("logs", random_workload(seed, 30)) for seed in (1, 2, 3)]
    tasks = plan(logs, ["fcfs", "first-fit"], objective="wait", budgets=[Budget()])
    with RecordStore(tmp_path / "study.sqlite") as store:
        for task in tasks:
            _append(store, task)
    counted.clear()
    with RecordStore(tmp_path / "study.sqlite", read_only=True) as store:
        assert "jobs on nodes" in html(examine(store), store)
    assert counted == {"decoded": len(tasks), "parse_problem": len(logs), "parse_solution": len(tasks)}


def test_whatif_decodes_each_record_once_and_measures_nothing_again(
    tmp_path: Path, counted: Counter[str]
) -> None:
    path = tmp_path / "log.swf"
    made = random_workload(3, 40, NODES)
    waits = (in_order(made).first_starts - made.packed.submit).tolist()
    lines = [
        f"{idx + 1} {job.submit} {wait} {job.runtime} {job.nodes} -1 -1 {job.nodes} 90000 -1 1" + 7 * " -1"
        for idx, (job, wait) in enumerate(zip(made.jobs, waits, strict=True))
    ]
    path.write_text("\n".join([f"; MaxNodes: {NODES}", *lines, ""]))
    log = read_swf_log(path)
    planned = variants(log_problem(log), (0.5,), seconds=1, workers=1)
    tasks = [task for variant in planned for task in variant.tasks]
    with RecordStore(tmp_path / "page.sqlite") as store:
        for task in tasks:
            _append(store, task)
    counted.clear()
    with RecordStore(tmp_path / "page.sqlite", read_only=True) as store:
        found = what_if(log, planned, store, UTC)
    assert len(found.cases) == len(planned[0].tasks) + 1
    assert {case.metrics.wait for case in found.policies} == {found.policies[0].metrics.wait}
    assert found.elastic[0].metrics.keys() == {task.solver for task in planned[1].tasks}
    assert counted == {
        "decoded": len(tasks),
        "parse_solution": len(planned[0].tasks),  # of malleable jobs the metrics are shown, not the schedule
        "workload_metrics": 1,  # of the schedule that the log records
    }
