"""The same again: runs with equal iterations are equal, in other processes and with other time limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from distinct_solvers import distinct_solvers
from offenders import all_offenders

from allocsolve.families import families

if TYPE_CHECKING:
    from collections.abc import Sequence

TOOL = Path(__file__).resolve().parents[1] / "same_again.py"

#: Time limits beside the iterations: none of them may be felt.
SECONDS = ("inf", "600")

#: Solvers with several stages, or threads.
STAGED = {
    "evolution and partition": ("evolution:lns", "evolution:cpsat", "partition:branch-and-bound"),
    "evolution by clauses, reservation": (
        "evolution:conflict-search",
        "reservation:prices",
        "reservation:cpsat",
    ),
    "workload": ("workload:prices", "workload:market", "workload:list-annealing", "workload:milp"),
}


def answers(process: int, workers: int, solvers: Sequence[str]) -> dict[str, list[str]]:
    """What a process answers, which has a hash seed, an order and a time limit of its own."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(process + 1),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    argv = [sys.executable, str(TOOL), str(process), SECONDS[process], str(workers), *solvers]
    output = subprocess.run(argv, env=environment, check=True, stdout=subprocess.PIPE).stdout
    found: dict[str, list[str]] = json.loads(output)
    return found


def check_same_again(workers: int, solvers: Sequence[str]) -> None:
    """Compare two processes: answers, bounds, certificates and limits."""
    first, second = (answers(process, workers, solvers) for process in range(len(SECONDS)))
    assert {name.partition(" ")[0] for name in first} == {*solvers}
    with all_offenders() as offender:
        for name, claims in first.items():
            with offender(name):
                assert second[name] == claims


@pytest.mark.parametrize("solvers", STAGED.values(), ids=STAGED)
def test_ten_solvers_with_stages_and_threads(solvers: Sequence[str]) -> None:
    check_same_again(2, solvers)


@pytest.mark.parametrize("workers", [1, 3])
def test_every_solver(workers: int) -> None:
    """All registered ones that differ in more than an order of nodes."""
    every = [f"{family.kind}:{name}" for family in families() for name in distinct_solvers(family)]
    check_same_again(workers, every)
