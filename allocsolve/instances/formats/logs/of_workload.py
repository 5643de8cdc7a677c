"""Workloads as logs: what a problem tells of its jobs where a log is asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.formats.logs.fields import AskedJobs
from allocsolve.instances.formats.logs.log import (
    UNITS,
    CleaningReport,
    JobLog,
    LogOptions,
    MachineSize,
    sharing_of,
)
from allocsolve.instances.formats.own.envelope import read_problem
from allocsolve.model import JOB_KINDS, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.instances.formats.files import PathLike


#: What tells the size of the machine of such a log.
OF_PROBLEM: Final = "of the problem"


def read_workload_log(path: PathLike, *, unit: str | None = None) -> tuple[JobLog, WorkloadProblem]:
    """Read a workload, such as `allocsolve import` writes, and return its jobs as those of a log, too.

    Such a log tells no starts. A problem that says of no log that its sizes are whole nodes may as well count
    processors of nodes that jobs share. Raises `FormatError` if the file is no problem; `InvalidOption` if it
    is of another kind, has no jobs, or some that are not rigid, or its log counted something else. The unit,
    one of `UNITS`, is by default what the problem tells of its log.
    """
    problem = read_problem(path)
    if not isinstance(problem, WorkloadProblem) or not len(problem.jobs):
        raise InvalidOption(f"{path}: is no workload with jobs")
    jobs, packed = problem.jobs, problem.jobs.packed
    if packed.kind.any():
        job = int(np.argmax(packed.kind > 0))
        kind = JOB_KINDS[packed.kind[job]]
        raise InvalidOption(f"{path}: job {jobs.names[job]!r} is {kind}: only rigid jobs are compared")
    told = _told_unit(problem.meta)
    if unit is not None and told not in (None, unit):
        raise InvalidOption(f"{path}: its sizes count {told}, not {unit}")
    unit = unit or told
    count = len(jobs)
    epoch, timezone = problem.meta.get("unix_time"), problem.meta.get("timezone")
    sharing, may_share = sharing_of(problem.meta)
    if problem.node_types:
        sharing = may_share = 0  # each lies on nodes as they are
    elif told is None and unit != "nodes":
        may_share = count
    nothing = np.full(count, np.nan)
    log = JobLog(
        source=Path(path).name,
        sha256=hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        header={},
        machine=MachineSize(problem.num_nodes, unit or "nodes", OF_PROBLEM),
        epoch=epoch if isinstance(epoch, int | float) else None,
        timezone=timezone if isinstance(timezone, str) else "",
        names=jobs.names,
        users=jobs.users or (None,) * count,
        submits=packed.submit,
        starts=nothing,
        ends=nothing,
        runs=packed.runtime,
        limits=jobs.limit,
        nodes=packed.nodes,
        options=LogOptions(problem.num_nodes),
        report=CleaningReport(
            count, {}, {"no_limit": int(np.isnan(jobs.limit).sum()), "no_recorded_start": count}, ()
        ),
        asked=AskedJobs(told_partitions=jobs.requirements.partitions),
        sharing=sharing,
        may_share=may_share,
    )
    return log, problem


def _told_unit(meta: Mapping[str, object]) -> str | None:
    """Return what the sizes of the log of a problem counted, as the size of its machine says."""
    words = str(meta.get("machine", "")).split()
    return next(
        (unit for unit in UNITS if words[1:] and unit.removesuffix("s") == words[1].removesuffix("s")), None
    )
