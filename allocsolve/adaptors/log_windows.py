"""Parts of a log: windows of successive jobs, and which of them are to train on and which to test on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.model import WorkloadProblem
from allocsolve.model.checks import natural, real, shown

__all__ = ["checked_count", "train_test_ranges", "window_of_log"]


def train_test_ranges(problem: WorkloadProblem, test_share: float = 0.25) -> tuple[range, range]:
    """Divide the jobs of a log, in the order of their submission, into those to train on and later ones.

    Parameters
    ----------
    problem
        The log.
    test_share
        The share of the jobs that agents are not to see in training, from 0 to 1.

    Raises
    ------
    InvalidOption
        If the share is not in that range.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> train_test_ranges(WorkloadProblem(1, [Job(t, 1, 5) for t in range(10)]), test_share=0.3)
    (range(0, 7), range(7, 10))
    """
    share = real("test_share", test_share, InvalidOption)
    if not 0 <= share <= 1:
        msg = f"test_share {shown(test_share)} is not in 0..1"
        raise InvalidOption(msg)
    count = len(problem.jobs)
    first = count - round(share * count)
    return range(first), range(first, count)


def window_of_log(problem: WorkloadProblem, offset: int, jobs: int) -> WorkloadProblem:
    """Return successive jobs of a log as a workload of its own: the first is submitted at time 0.

    What ran before them is not there: the machine is empty at first.

    Parameters
    ----------
    problem
        The log.
    offset, jobs
        The first job, counted from 0 in the order of submission, and how many there are.

    Raises
    ------
    InvalidOption
        If the log has no such jobs.
    """
    first, count = natural("offset", offset), checked_count("jobs", jobs)
    if first + count > len(problem.jobs):
        msg = f"offset {first} and jobs {count} in a log of {len(problem.jobs)} jobs"
        raise InvalidOption(msg)
    chosen = np.argsort(problem.packed.submit, kind="stable")[first : first + count].tolist()
    rows = [problem.jobs[idx] for idx in chosen]
    rows = [replace(row, submit=row.submit - rows[0].submit) for row in rows]
    return WorkloadProblem(problem.num_nodes, rows, name=f"{problem.name}-{first}-{first + count}")


def checked_count(what: str, value: object) -> int:
    """Return an option that is a whole number of at least 1."""
    number = natural(what, value)
    if not number:
        msg = f"{what} 0 is not positive"
        raise InvalidOption(msg)
    return number
