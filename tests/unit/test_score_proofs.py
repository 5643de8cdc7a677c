"""What `make score` proves is checked: its own commands, and the judge's word on their records."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, run, run_json

from allocsolve.bench import RecordStore
from allocsolve.model import Status, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("in_process")

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def score_commands() -> Iterator[list[str]]:
    """Yield the arguments of each `allocsolve score` of the Makefile."""
    for line in MAKEFILE.read_text(encoding="utf-8").splitlines():
        words = shlex.split(line) if line.startswith("\t$(BIN)/allocsolve score ") else []
        if words:
            yield words[1:]


@pytest.mark.parametrize("suite", ["klein-5-inf", "klein-10-l1"])
def test_all_optima_of_a_suite_are_certified(suite: str, tmp_path: Path, capsys: Capture) -> None:
    (words,) = (words for words in score_commands() if words[1] == suite)
    words[words.index("--out") + 1] = str(tmp_path)
    shown = run_json(capsys, *words)
    assert shown["optima_proven"] == shown["bounds_certified"] == shown["problems"]
    baseline = words[words.index("--baseline") + 1]
    with RecordStore(tmp_path / "records.sqlite") as store:
        proofs = [record for record in store if record.solver == baseline]
    assert len(proofs) == shown["problems"] >= 10
    for record in proofs:
        assert record.status is Status.OPTIMAL
        assert terms(record.certified_bound) == terms(record.value or 0)
    run(capsys, "study", "verify", tmp_path / "records.sqlite")
