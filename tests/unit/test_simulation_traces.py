"""Queue policies on the log of Cori KNL: figures of two independent programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from workload_traces import knl_problem, window_turnaround

from allocsolve.heuristics.workload.policies import Easy, Fcfs, FirstFit

if TYPE_CHECKING:
    from pathlib import Path


def test_window_turnaround_of_cori_knl(traces: Path) -> None:
    problem = knl_problem(traces)
    expected: dict[Fcfs | FirstFit | Easy, float] = {
        FirstFit(): 4550.60,
        Easy(): 5077.82,
        Fcfs(): 6822.59,
        Easy(strict=True): 5077.98,
        Easy(extra_nodes=False): 5205.63,
        Easy(like="flux"): 5205.63,
        Easy(like="accasim"): 4550.60,
        Easy(estimate="actual"): 5664.49,
    }
    values = {policy: window_turnaround(problem, policy.simulated(problem).schedule) for policy in expected}
    assert values == pytest.approx(expected, abs=0.05)
