"""The log of Cori KNL, if it is there, and the mean that is published of it."""

from __future__ import annotations

import csv
import gzip
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import Jobs, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.model import WorkloadSchedule

#: Jobs that were submitted before do not count.
WARM_UP_S = 12 * 3600


def knl_workload(traces: Path) -> WorkloadProblem:
    """Return the 41,524 jobs, submitted in seconds from the first, none with a limit."""
    with gzip.open(traces / "cori_knl_merged.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    times = [datetime.fromisoformat(row["submit_time"]).replace(tzinfo=UTC).timestamp() for row in rows]
    submit = np.array(times) - min(times)
    nodes = [int(row["num_nodes"]) for row in rows]
    return WorkloadProblem(9688, Jobs(submit, nodes, [float(row["runtime_seconds"]) for row in rows]), "knl")


def window_turnaround(problem: WorkloadProblem, schedule: WorkloadSchedule) -> float:
    """Return the mean turnaround of what is submitted after the warm-up and ends by the last submission."""
    submit, ends = problem.packed.submit, schedule.last_ends
    counting = (submit >= WARM_UP_S) & (ends <= submit.max())
    return float((ends - submit)[counting].mean())
