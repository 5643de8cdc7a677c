"""Logs that are tables of jobs: which column of each format says what.

A format is data: the names of its columns, and how its cells are meant. `log_rows` reads them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FIELDS", "LOG_TABLES", "LogTable", "plain_name"]

#: What is read of a job, and what it is; all but the id and the submission may be missing or unknown.
FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "id": "the job's name",
        "submit": "when it entered the queue",
        "start": "when it started",
        "end": "when it ended",
        "run": "its run time; End minus Start where there is no such column",
        "limit": "the run time that the user asked for",
        "nodes": "nodes that it held",
        "requested_nodes": "taken where those are unknown",
        "processors": "processors that it held",
        "requested_processors": "taken where those are unknown",
        "state": "how it ended; tells jobs that were cancelled before they ran",
        "user": "who submitted it",
    }
)


@dataclass(frozen=True, slots=True)
class LogTable:
    """A format of logs with a line or row per job.

    Parameters
    ----------
    name
        Of the format, as the command line has it.
    summary
        What such a file is, in a few words.
    columns
        Names of columns by field (`FIELDS`). Upper and lower case, ``_`` and blanks make no difference; the
        first that is there is taken. Of sizes all are looked at, in this order, for one that is known.
    separators
        What may stand between the cells of a line; empty for Parquet files.
    limit
        What a plain number in the column of limits counts: ``minutes`` or ``seconds``.
    cancelled
        How states begin that tell of a job which was cancelled; in upper case.
    has_steps
        Whether ids with a dot are steps of jobs, which are left out.
    is_cut
        Whether a job that runs over midnight has a line per day, each from 0:00:00 or up to 23:59:59.
    is_relative
        Whether times are seconds that may count from anywhere, and 0 is one.
    max_line
        Characters of a line; a longer one is faulty.
    machine, num_nodes
        The machine that all such logs are of, and its size in nodes; empty and None if there is none.
    source
        Where such logs are published; empty for those of any machine.
    """

    name: str
    summary: str
    columns: Mapping[str, tuple[str, ...]]
    separators: tuple[str, ...] = (",",)
    limit: str = "seconds"
    cancelled: tuple[str, ...] = ("CANCEL",)
    has_steps: bool = False
    is_cut: bool = False
    is_relative: bool = False
    max_line: int = 10_000
    machine: str = ""
    num_nodes: int | None = None
    source: str = ""


def plain_name(column: str) -> str:
    """Return the name of a column without what makes no difference."""
    return column.strip().lower().replace("_", "").replace(" ", "")


_SACCT: Final = LogTable(
    name="sacct",
    summary="what Slurm's sacct -P prints, or such columns as CSV",
    columns={
        "id": ("JobID", "JobIDRaw", "job", "id"),
        "submit": ("Submit", "submit_time", "submit_ts"),
        "start": ("Start", "start_time", "start_ts"),
        "end": ("End", "end_time", "end_ts"),
        "run": ("ElapsedRaw", "Elapsed", "run_time", "runtime_seconds"),
        "limit": ("TimelimitRaw", "Timelimit"),
        "nodes": ("AllocNodes", "NNodes", "num_nodes", "nodes"),
        "requested_nodes": ("ReqNodes",),
        "processors": ("AllocCPUS", "NCPUS", "num_cpus", "cpus"),
        "requested_processors": ("ReqCPUS",),
        "state": ("State", "job_state"),
        "user": ("User", "UID", "user_id"),
    },
    separators=("|", ",", "\t", ";"),
    limit="minutes",
    has_steps=True,
)
_NERSC: Final = LogTable(
    name="nersc",
    summary="a CSV file of jobs of NERSC, such as Cori or Perlmutter",
    columns={
        "id": ("Job", "job_id"),
        "submit": ("Submit", "submit_time"),
        "start": ("Start",),
        "end": ("End",),
        "run": ("Elapsed Secs", "runtime_seconds"),
        "nodes": ("Nodes Allocated", "num_nodes"),
        "processors": ("CPUs",),
        "user": ("User",),
    },
    is_cut=True,
    source="https://github.com/davideberius/elastic-sim",
)
_ALCF: Final = LogTable(
    name="alcf",
    summary="a CSV file of jobs of the ALCF (DIM_JOB_COMPOSITE), such as Theta or Aurora",
    columns={
        "id": ("COBALT_JOBID",),
        "submit": ("QUEUED_TIMESTAMP",),
        "start": ("START_TIMESTAMP",),
        "end": ("END_TIMESTAMP",),
        "run": ("RUNTIME_SECONDS",),
        "limit": ("WALLTIME_SECONDS",),
        "nodes": ("NODES_USED",),
        "requested_nodes": ("NODES_REQUESTED",),
        "processors": ("CORES_USED",),
        "requested_processors": ("CORES_REQUESTED",),
        "user": ("USERNAME_GENID",),
    },
    max_line=2**20,  # the column LOCATION names all nodes of a job
    source="https://reports.alcf.anl.gov/data/",
)
_PM100: Final = LogTable(
    name="pm100",
    summary="the table of jobs of PM100 (Marconi100), a Parquet file",
    columns={
        "id": ("job_id",),
        "submit": ("submit_time",),
        "start": ("start_time",),
        "end": ("end_time",),
        "run": ("run_time",),
        "limit": ("time_limit",),
        "nodes": ("num_nodes_alloc",),
        "requested_nodes": ("num_nodes_req",),
        "processors": ("num_cores_alloc",),
        "requested_processors": ("num_cores_req",),
        "state": ("job_state",),
        "user": ("user_id",),
    },
    separators=(),
    limit="minutes",
    machine="Marconi100",
    num_nodes=980,
    source="https://doi.org/10.5281/zenodo.10127767",
)
_FDATA: Final = LogTable(
    name="fdata",
    summary="a month of F-DATA (Fugaku), a Parquet file",
    columns={
        "id": ("jid",),
        "submit": ("adt",),
        "start": ("sdt",),
        "end": ("edt",),
        "run": ("duration",),
        "limit": ("elpl",),
        "nodes": ("nnuma",),
        "requested_nodes": ("nnumr",),
        "processors": ("cnumat",),
        "requested_processors": ("cnumr",),
        "state": ("exit state",),
        "user": ("usr",),
    },
    separators=(),
    machine="Fugaku",
    num_nodes=158_976,
    source="https://doi.org/10.5281/zenodo.11467483",
)
_HPCOPT: Final = LogTable(
    name="hpcopt",
    summary="a Parquet file of jobs as hpcopt writes it, with its .metadata.json beside it if that is there",
    columns={
        "id": ("job_id",),
        "submit": ("submit_ts",),
        "start": ("start_ts",),
        "end": ("end_ts",),
        "run": ("runtime_actual_sec",),
        "limit": ("runtime_requested_sec",),
        "nodes": ("allocated_nodes",),
        "processors": ("allocated_cpus",),
        "requested_processors": ("requested_cpus",),
        "state": ("status",),
        "user": ("user_id",),
    },
    separators=(),
    cancelled=("CANCEL", "5"),  # the number is that of the Standard Workload Format
    is_relative=True,
    source="https://github.com/ErenAri/HPC-workload-optimizer",
)

#: All formats, by name.
LOG_TABLES: Final[Mapping[str, LogTable]] = MappingProxyType(
    {table.name: table for table in (_SACCT, _NERSC, _ALCF, _PM100, _FDATA, _HPCOPT)}
)
