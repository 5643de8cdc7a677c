"""The evaluator of policies: scores, failures, the bounds that are kept, and its command."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run, run_json

from allocsolve.bench import PolicyEvaluator
from allocsolve.bench.evaluation import evaluator as evaluator_module, windows
from allocsolve.bench.evaluation.fork_server import unheld
from allocsolve.errors import FormatError, InvalidOption, UnknownName, UnsupportedProblem
from allocsolve.instances import lublin1999, write_problem
from allocsolve.model import Amdahl, Job, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: One process has them all: the evaluator is made once.
pytestmark = pytest.mark.xdist_group("evaluation")

POLICIES = """
from allocsolve.heuristics import Easy
from allocsolve.simulation import Start

five = 5
easy = Easy()
clairvoyant = Easy(estimate="actual")

def shortest(view):
    free = view.free
    for job in sorted(view.queue, key=lambda job: view.jobs.estimate[job]):
        nodes = int(view.jobs.nodes[job])
        if nodes <= free:
            free -= nodes
            yield Start(job, nodes)

def stops_on_the_second(view):
    if view.now > 10 * 86400:
        raise ValueError("too late")
    return shortest(view)

def forgets(view):
    pass

class Remembers:
    def reset(self, seed):
        self.calls = 0
    def decide(self, view):
        self.calls += 1
        assert self.calls <= 2 * len(view.jobs.nodes)
        return shortest(view)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with policies, and one with logs; bounds are kept beside them."""
    path: Path = tmp_path_factory.mktemp("evaluation")
    (path / "mine.py").write_text(POLICIES)
    (path / "logs").mkdir()
    for seed in (3, 4):
        write_problem(lublin1999(seed, num_jobs=200), path / "logs" / f"log-{seed}.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        for module in (windows, evaluator_module):
            patch.setattr(module, "bounds_folder", lambda: path / "bounds")
        yield path


@pytest.fixture(scope="module")
def evaluator(folder: Path) -> PolicyEvaluator:
    return PolicyEvaluator([folder / "logs"], windows=2, jobs=50)


def test_what_runs_sealed_is_worth_what_it_is_worth_here(evaluator: PolicyEvaluator) -> None:
    easy = evaluator.evaluate("easy")
    assert easy == evaluator.evaluate("mine:easy") == evaluator.evaluate("mine.py:easy")
    metrics = easy["metrics"]
    assert easy["artifacts"] == {}
    assert easy["combined_score"] == metrics["combined_score"]
    assert metrics["combined_score"] == pytest.approx((metrics["window_1"] + metrics["window_2"]) / 2)
    assert metrics["worst_window"] == min(metrics["window_1"], metrics["window_2"])
    assert 0 < metrics["worst_window"] <= 1 == metrics["finished"]
    assert evaluator.evaluate("mine:shortest") == evaluator.evaluate("mine:Remembers")
    assert evaluator.evaluate("conservative")["combined_score"] <= 1


def test_what_cannot_be_used_is_worth_nothing(evaluator: PolicyEvaluator) -> None:
    for policy, reason in {
        "mine:five": "mine:five: 5 is no queue policy: it has no method decide",
        "mine:missing": "plug-in 'mine:missing': module 'mine' has no attribute 'missing'",
        "nowhere:policy": "plug-in 'nowhere:policy': there is no module 'nowhere'",
        "mine.py": "mine.py:policy': the file has no 'policy'",
        "nowhere.py": "nowhere.py:policy': there is no such file",
        "mine:clairvoyant": "asks for knowledge='actual': all are evaluated with knowledge='estimate'",
    }.items():
        made = evaluator.evaluate(policy)
        assert made["combined_score"] == made["metrics"]["finished"] == made["metrics"]["window_2"] == 0
        assert list(made["artifacts"]) == ["policy"]
        assert made["artifacts"]["policy"].endswith(reason)


def test_a_failure_costs_its_window(evaluator: PolicyEvaluator) -> None:
    whole, part = evaluator.evaluate("mine:shortest"), evaluator.evaluate("mine:stops_on_the_second")
    for name in ("window_1", "window_2"):
        if name in part["artifacts"]:
            assert part["artifacts"][name] == "ValueError: too late"
            assert part["metrics"][name] == 0
        else:
            assert part["metrics"][name] == whole["metrics"][name]
    assert evaluator.evaluate("mine:forgets")["artifacts"] == {
        f"window_{idx}": "the policy returned None, no decisions" for idx in (1, 2)
    }


def test_registered_names_are_checked(evaluator: PolicyEvaluator) -> None:
    with pytest.raises(UnknownName, match="did you mean easy"):
        evaluator.evaluate("eazy")
    with pytest.raises(InvalidOption, match="is no queue policy"):
        evaluator.evaluate("prices")
    with pytest.raises(InvalidOption, match="asks for knowledge='actual'"):
        evaluator.evaluate("easy(estimate=actual)")


def test_bounds_are_kept_and_never_believed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> list[float]:
        evaluator = PolicyEvaluator([folder / "logs"], windows=2, jobs=30, seed=9)
        return [window.bound for window in evaluator.windows]

    bounds = read()
    with monkeypatch.context() as patch:
        patch.setattr(windows, "time_prices", None)  # nothing is computed that is there
        assert read() == bounds
    for path in (folder / "bounds").iterdir():
        document = json.loads(gzip.decompress(path.read_bytes()))
        document["certificate"]["prices"] = [10 * price for price in document["certificate"]["prices"]]
        document["meta"] = {"bound": 10**9}
        path.write_bytes(gzip.compress(json.dumps(document).encode()))
    assert all(low <= high for low, high in zip(read(), bounds, strict=True))
    for path in (folder / "bounds").iterdir():
        path.write_bytes(b"nonsense")
    assert read() == bounds


@pytest.mark.skipif(bool(unheld(offline=True)), reason="this system does not close files")
def test_a_module_reads_its_own_code_and_nothing_beside_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module, a package, a namespace: by name or by file, from the working folder or the search path."""
    evaluator = PolicyEvaluator([folder / "logs"], windows=1, jobs=30)
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        for name in ("whole", "spread"):
            (place / name).mkdir(parents=True)
            (place / name / "inner.py").write_text(f"from {name}.rules import *")
            (place / name / "rules.py").write_text(POLICIES)
            (place / name / "weights.txt").write_text("1")
        (place / "whole" / "__init__.py").write_text("")
        (place / "alone.py").write_text(POLICIES)
        (place / "notes.txt").write_text("of last time")
        (place / "private.py").write_text(POLICIES)
    monkeypatch.chdir(here)
    for name in ("alone:shortest", "whole.inner:shortest", "spread.inner:shortest", "alone.py:shortest"):
        assert evaluator.evaluate(name)["combined_score"] > 0, name
    reading = "told = open({!r}).read()\n"
    for file, module in (("alone.py", "alone"), ("whole/inner.py", "whole.inner")):
        for other in ("notes.txt", "private.py"):
            (here / file).write_text(POLICIES + reading.format(str(here / other)))
            reason = evaluator.evaluate(f"{module}:shortest")["artifacts"]["policy"]
            assert "Permission denied" in reason
    (here / "whole/inner.py").write_text(POLICIES + reading.format(str(here / "whole/weights.txt")))
    assert evaluator.evaluate("whole.inner:shortest")["combined_score"] > 0
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(there)
    assert evaluator.evaluate("whole.rules:shortest")["combined_score"] > 0


@pytest.mark.skipif(bool(unheld(offline=True)), reason="this system does not close files")
def test_a_policy_beside_the_log_is_found_and_does_not_read_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log.json"
    log.write_bytes((folder / "logs" / "log-3.json").read_bytes())
    (tmp_path / "beside.py").write_text(f"{POLICIES}\ntold = open({str(log)!r}).read()\n")
    (tmp_path / "beside_too.py").write_text(POLICIES)
    evaluator = PolicyEvaluator([log], windows=1, jobs=30)
    assert evaluator.evaluate("beside_too:shortest")["combined_score"] > 0
    assert "Permission denied" in evaluator.evaluate("beside:shortest")["artifacts"]["policy"]
    (tmp_path / "around").mkdir()
    (tmp_path / "around" / "__init__.py").write_text(POLICIES)
    inside = log.rename(tmp_path / "around" / "log.json")
    evaluator = PolicyEvaluator([inside], windows=1, jobs=30)
    reason = evaluator.evaluate("around:shortest")["artifacts"]["policy"]
    holds = f"{tmp_path / 'around'} holds {inside}"
    assert reason == f"{holds}, which no policy is to read: move one of them elsewhere"


def test_a_log_counts_once(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    logs = folder / "logs"
    one = logs / "log-3.json"
    copy, link = tmp_path / "copy.json", tmp_path / "link.json"
    copy.write_bytes(one.read_bytes())
    link.symlink_to(one)
    for given in ([one, one], [logs, one], [one, copy], [logs, link]):
        with pytest.raises(InvalidOption, match=r"has the jobs of .*; windows are drawn from each log once"):
            PolicyEvaluator(given, windows=1, jobs=30)
    with pytest.raises(InvalidOption, match="no log is given"):
        PolicyEvaluator([])
    for empty in ("", " ", ",", " , "):
        said = refused(capsys, "evaluate", "easy", f"--log={empty}")
        assert f"argument --log: {empty!r} names no file" in said


def test_options_out_of_range(folder: Path, tmp_path: Path) -> None:
    logs = [folder / "logs"]
    for name in ("windows", "jobs", "seconds", "memory_mb"):
        with pytest.raises(InvalidOption, match=f"{name} 0.* is not positive"):
            PolicyEvaluator(logs, **{name: 0})  # type: ignore[arg-type]  # a number
    with pytest.raises(UnknownName, match="split"):
        PolicyEvaluator(logs, split="all")  # type: ignore[arg-type]  # the fault
    with pytest.raises(InvalidOption, match="150 jobs to train are less than 4 windows of 50 jobs"):
        PolicyEvaluator(logs, windows=8, jobs=50)
    moldable = Job(0, 2, 5, min_nodes=1, max_nodes=4, speedup=Amdahl(0.9))
    write_problem(WorkloadProblem(4, [Job(0, 1, 5, weight=0)] * 8), tmp_path / "idle.json")
    write_problem(WorkloadProblem(4, [moldable] * 8), tmp_path / "moldable.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidOption, match="no job that counts"):
        PolicyEvaluator([tmp_path / "idle.json"], windows=1, jobs=2)
    with pytest.raises(UnsupportedProblem, match="jobs that are not rigid"):
        PolicyEvaluator([tmp_path / "moldable.json"], windows=1, jobs=2)
    with pytest.raises(FormatError, match="there is no log in this directory"):
        PolicyEvaluator([tmp_path / "empty"])


def test_the_command(folder: Path, capsys: Capture) -> None:
    asked = ("--log", folder / "logs", "--count", 2, "--num-jobs", 50)
    told = run(capsys, "evaluate", "mine:forgets", *asked, status=1)
    assert "mine:forgets, window 1, 2: the policy returned None, no decisions" in told
    made = run_json(capsys, "evaluate", "easy", *asked, "--split", "test", "--num-jobs", "20")
    assert (made["windows"], made["jobs"], made["split"], made["seed"]) == (2, 20, "test", 0)
    assert made["policies"]["easy"]["metrics"]["finished"] == 1


def test_the_command_says_in_a_line_what_is_wrong(folder: Path, capsys: Capture) -> None:
    empty = folder / "empty"
    empty.mkdir()
    for policy, logs, said in (
        ("mine:five", "logs", "mine:five: 5 is no queue policy: it has no method decide"),
        ("eazy", "logs", "did you mean easy?"),
        ("easy", "empty", "there is no log in this directory"),
    ):
        asked = ("evaluate", policy, "--log", folder / logs, "--count", 1, "--num-jobs", 50)
        assert said in refused(capsys, *asked)
