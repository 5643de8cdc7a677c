"""Policies that cheat: none has a score that its schedule is not worth, and nothing else is touched."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hostile_policies import HONEST, MOMENTS, TECHNIQUES, texts

from allocsolve.bench import PolicyEvaluator
from allocsolve.bench.evaluation import evaluator, sealed, windows
from allocsolve.bench.evaluation.sandbox import unheld
from allocsolve.instances import write_problem
from allocsolve.model import Jobs, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: One process has them all: they are forked from one, and the last test looks at what all of them have done.
pytestmark = [
    pytest.mark.xdist_group("hostile_policies"),
    pytest.mark.skipif(bool(unheld()), reason="this system does not seal processes"),
]

JOBS = 40


class Arena(NamedTuple):
    """Where cheats are evaluated."""

    evaluator: PolicyEvaluator
    folder: Path
    log: Path
    bounds: Path
    honest: float

    def digests(self) -> dict[str, str]:
        """Return what all files are that a cheat would like to change."""
        files = [self.log, *self.bounds.iterdir()]
        return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("hostile")
    log, bounds = (tmp_path_factory.mktemp(name) / name for name in ("log.json", "bounds"))
    # Many wait, and limits tell little: who knew run times would decide otherwise.
    rng = np.random.default_rng(3)
    submits, runtimes = np.cumsum(rng.integers(0, 200, 200)), rng.integers(10, 2000, 200)
    jobs = Jobs(submits, rng.integers(1, 17, 200), runtimes, runtimes * rng.integers(1, 11, 200))
    write_problem(WorkloadProblem(16, jobs), log)
    (folder / "honest.py").write_text(HONEST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALLOCSOLVE_SECRET", f"seed 5 of {log}")
        patch.setattr(sealed, "LOADING_S", 1.0)
        patch.setattr(windows, "bounds_folder", lambda: bounds)
        patch.setattr(evaluator, "bounds_folder", lambda: bounds)
        tried = PolicyEvaluator([log], windows=1, jobs=JOBS, seed=5, seconds=0.5, memory_mb=200.0)
        honest = tried.evaluate(str(folder / "honest.py"))
        assert 0 < honest["combined_score"] < 0.9
        yield Arena(tried, folder, log, bounds, honest["combined_score"])


def test_there_are_two_hundred() -> None:
    assert len(TECHNIQUES) * len(MOMENTS) >= 200


@pytest.mark.parametrize("name", TECHNIQUES)
def test_no_score_is_forged(name: str, arena: Arena) -> None:
    technique, before = TECHNIQUES[name], arena.digests()
    for moment, text in texts(technique, arena.folder, log=arena.log, bounds=arena.bounds, jobs=JOBS):
        path = arena.folder / f"{name}_{moment}.py"
        path.write_text(text)
        evaluation = arena.evaluator.evaluate(str(path))
        score, said = evaluation["combined_score"], evaluation["artifacts"]
        assert "SUCCEEDED" not in str(said)
        assert score in (0.0, arena.honest), moment
        assert score == evaluation["metrics"]["window_1"]
        assert (score > 0) == (not said), said
        if technique.reason is not None and moment != "import":
            assert re.search(technique.reason, said.get("window_1", "")), (moment, said)
            assert (score > 0) == (technique.reason == "")
    assert arena.digests() == before
    assert not (arena.folder / "mark").exists()


def test_the_honest_policy_is_worth_as_much_as_before(arena: Arena) -> None:
    assert arena.evaluator.evaluate(str(arena.folder / "honest.py"))["combined_score"] == arena.honest
