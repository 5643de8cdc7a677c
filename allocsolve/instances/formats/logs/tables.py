"""The formats of logs that are tables of jobs, each a value: names of columns, and what cells mean.

A log of a batch system that is no table of columns has a module of its own, which turns it into one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import FormatError
from allocsolve.instances.formats.logs import (
    lsf as log_lsf,
    pbs as log_pbs,
    philly as log_philly,
    sge as log_sge,
)
from allocsolve.instances.formats.logs.fields import listed_needs, tres_needs
from allocsolve.instances.formats.logs.held import tres_held
from allocsolve.instances.formats.logs.lines import read_text
from allocsolve.instances.formats.logs.log import UNITS
from allocsolve.instances.formats.logs.no_logs import looks_like
from allocsolve.instances.formats.logs.slurm import begins_json, json_rows, tres_count
from allocsolve.instances.formats.simulators.foreign import interval_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.instances.formats.files import PathLike
    from allocsolve.instances.formats.logs.lines import LogRows, LogText

#: What is read of a job, and what it is; all but the id and the submission may be missing or unknown.
FIELDS: Final[Mapping[str, str]] = {
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
    "gpus": "GPUs that it held",
    "requested_gpus": "taken where those are unknown",
    "milligpus": "thousandths of GPUs that it held, where jobs share one",
    "machine": "size of the machine, the same in all lines",
    "state": "how it ended; tells jobs that were cancelled before they ran",
    "user": "who submitted it",
    "needs": "what it held of counted resources; read with `--resources`",
    "requested_needs": "taken where that is unknown",
    "partition": "of which it was; read with `--partitions`",
    "eligible": "from when on it might start; read with `--eligible`",
    "priority": "the last one, a number of Slurm; read with `--priority-age`",
    "held": "what it held on its nodes in all, or its chunks; read with `--node-types`",
    "requested_held": "taken where that is unknown",
    "node_names": "the nodes on which it ran, a hostlist; read with `--node-types`",
}


class Derived(NamedTuple):
    """A column that a format computes of others."""

    sources: tuple[str, ...]  #: their names
    #: Takes their cells; returns a cell, empty if it is not known, or raises ValueError with what is wrong.
    cell: Callable[..., str]


@dataclass(frozen=True, slots=True)
class LogTable:
    """A format of logs with a line, row or record per job.

    Parameters
    ----------
    name
        Of the format, as the command line has it.
    columns
        Names of columns by field (`FIELDS`). Upper and lower case, ``_`` and blanks make no difference; the
        first that is there is taken. Of sizes all are looked at, in this order, for one that is known; what
        sizes count is, unless told, the first unit that there is.
    derived
        Columns that are computed of others, by name.
    separators
        What may stand between the cells of a line; empty for Parquet files.
    rows
        Turns the text of a file that is no table into one; returns None if it is a table. None if all are.
    begins
        Tells by the first line that is not empty whether a text that is no table is of this format.
    limit
        What a plain number in the column of limits counts: ``minutes`` or ``seconds``.
    cancelled
        How states begin that tell of a job which was cancelled; in upper case.
    has_steps
        Whether ids with a dot are steps of jobs, which are left out.
    is_cut
        Whether a job that runs over midnight has a line per day, each from 0:00:00 or up to 23:59:59.
    has_attempts
        Whether a job has a row for each attempt to run it.
    is_relative
        Whether times are seconds that may count from anywhere, and 0 is one.
    max_line
        Characters of a line; a longer one is faulty.
    machine, num_nodes
        The machine that all such logs are of, and its size in the first unit; empty and None if there is
        none.
    source
        Where such logs are published; empty for those of any machine.
    """

    name: str
    summary: str
    columns: Mapping[str, tuple[str, ...]]
    derived: Mapping[str, Derived] = field(default_factory=dict)
    separators: tuple[str, ...] = (",",)
    rows: Callable[[LogText], LogRows | None] | None = None
    begins: Callable[[str], bool] | None = None
    limit: str = "seconds"
    cancelled: tuple[str, ...] = ("CANCEL",)
    has_steps: bool = False
    is_cut: bool = False
    has_attempts: bool = False
    is_relative: bool = False
    max_line: int = 10_000
    machine: str = ""
    num_nodes: int | None = None
    source: str = ""

    @property
    def units(self) -> tuple[str, ...]:
        """What sizes may count, the default first."""
        fields = dict.fromkeys(name.removeprefix("requested_") for name in self.columns)
        return tuple(name for name in fields if name in UNITS)

    def sources(self, *fields: str) -> list[tuple[str, ...]]:
        """Return for each column that may tell these fields the columns of a file of which it is made."""
        names = [name for field in fields for name in self.columns.get(field, ())]
        return [self.derived[name].sources if name in self.derived else (name,) for name in names]

    def sources_of_sizes(self, *units: str) -> list[tuple[str, ...]]:
        """Return the same for the sizes in these units, allocated or requested."""
        return self.sources(*(field for unit in units for field in (unit, f"requested_{unit}")))


def plain_name(column: str) -> str:
    """Return the name of a column without what makes no difference."""
    return column.strip().lower().replace("_", "").replace(" ", "")


_SACCT: Final = LogTable(
    name="sacct",
    summary="what Slurm's sacct -P or --json prints, or such columns as CSV",
    columns={
        "id": ("JobID", "JobIDRaw", "job", "id"),
        "submit": ("Submit", "submit_time", "submit_ts", "time.submission"),
        "start": ("Start", "start_time", "start_ts", "time.start"),
        "end": ("End", "end_time", "end_ts", "time.end"),
        "run": ("ElapsedRaw", "Elapsed", "run_time", "runtime_seconds", "time.elapsed"),
        "limit": ("TimelimitRaw", "Timelimit", "time.limit"),
        "nodes": ("AllocNodes", "NNodes", "num_nodes", "nodes", "allocation_nodes", "AllocTRES node"),
        "requested_nodes": ("ReqNodes", "ReqTRES node"),
        "processors": ("AllocCPUS", "NCPUS", "num_cpus", "cpus", "AllocTRES cpu"),
        "requested_processors": ("ReqCPUS", "required.CPUs", "ReqTRES cpu"),
        "gpus": ("AllocTRES gpu",),
        "requested_gpus": ("ReqTRES gpu",),
        "state": ("State", "job_state", "state.current"),
        "user": ("User", "UID", "user_id"),
        "needs": ("AllocTRES needs",),
        "requested_needs": ("ReqTRES needs",),
        "partition": ("Partition",),
        "eligible": ("Eligible", "eligible_time", "time.eligible"),
        "priority": ("Priority",),
        "held": ("AllocTRES of SubmitLine", "AllocTRES held"),
        "requested_held": ("ReqTRES held",),
        "node_names": ("NodeList",),
    },
    derived={
        "AllocTRES of SubmitLine": Derived(("AllocTRES", "SubmitLine"), tres_held),
        **{f"{column} held": Derived((column,), tres_held) for column in ("AllocTRES", "ReqTRES")},
        **{
            f"{column} {resource}": Derived((column,), partial(tres_count, resource))
            for column in ("AllocTRES", "ReqTRES")
            for resource in ("node", "cpu", "gpu")
        },
        **{f"{column} needs": Derived((column,), tres_needs) for column in ("AllocTRES", "ReqTRES")},
    },
    separators=("|", ",", "\t", ";"),
    rows=json_rows,
    begins=begins_json,
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


def _gpus_of(text: str) -> str:
    return listed_needs({"gpus": text.removesuffix(".0")}) if text else ""


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
        "needs": ("gpus of num_gpus_alloc",),
        "requested_needs": ("gpus of num_gpus_req",),
        "partition": ("partition",),
        "eligible": ("eligible_time",),
        "priority": ("priority",),
    },
    derived={f"gpus of {name}": Derived((name,), _gpus_of) for name in ("num_gpus_alloc", "num_gpus_req")},
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


def _gpus(exec_vnode: str, select: str, nodes: str, ngpus: str) -> str:
    held = log_pbs.sum_of_exec_vnode("ngpus", exec_vnode)
    asked = (log_pbs.chunks("ngpus", select), log_pbs.chunks("gpus", nodes), ngpus)
    return listed_needs({"gpus": next((text for text in (held, *asked) if text), "")})


_PBS: Final = LogTable(
    name="pbs",
    summary="an accounting file of PBS, PBS Pro, OpenPBS or Torque",
    columns={
        "id": ("id",),
        "submit": ("ctime",),
        "start": ("start",),
        "end": ("end",),
        "run": ("resources_used.walltime",),
        "limit": ("Resource_List.walltime",),
        "nodes": ("exec_host hosts", "exec_vnode hosts"),
        "requested_nodes": (
            "Resource_List.nodect",
            "Resource_List.nodes count",
            "Resource_List.select count",
        ),
        "processors": ("exec_vnode ncpus", "exec_host slots"),
        "requested_processors": (
            *("Resource_List.select ncpus", "Resource_List.nodes ppn"),
            *("Resource_List.ncpus", "Resource_List.nodect"),
            *("Resource_List.nodes count", "Resource_List.select count"),  # a part has one unless it says so
        ),
        "gpus": ("exec_vnode ngpus",),
        "requested_gpus": ("Resource_List.select ngpus", "Resource_List.nodes gpus", "Resource_List.ngpus"),
        "user": ("user",),
        "needs": ("ngpus",),
        "partition": ("queue",),
        "eligible": ("etime",),
        "held": ("chunks of select",),
        "node_names": ("names of nodes",),
    },
    derived={
        "chunks of select": Derived(
            ("Resource_List.select", "Resource_List.place", "exec_vnode"), log_pbs.held_chunks
        ),
        "ngpus": Derived(
            ("exec_vnode", *(f"Resource_List.{name}" for name in ("select", "nodes", "ngpus"))), _gpus
        ),
        "names of nodes": Derived(("exec_vnode", "exec_host"), log_pbs.node_names),
        "exec_host hosts": Derived(("exec_host",), log_pbs.hosts_of_exec_host),
        "exec_host slots": Derived(("exec_host",), log_pbs.slots_of_exec_host),
        "exec_vnode hosts": Derived(("exec_vnode",), log_pbs.hosts_of_exec_vnode),
        "Resource_List.nodes count": Derived(("Resource_List.nodes",), partial(log_pbs.chunks, "")),
        "Resource_List.select count": Derived(("Resource_List.select",), partial(log_pbs.chunks, "")),
        "Resource_List.nodes ppn": Derived(("Resource_List.nodes",), partial(log_pbs.chunks, "ppn")),
        "Resource_List.nodes gpus": Derived(("Resource_List.nodes",), partial(log_pbs.chunks, "gpus")),
        **{
            f"exec_vnode {name}": Derived(("exec_vnode",), partial(log_pbs.sum_of_exec_vnode, name))
            for name in ("ncpus", "ngpus")
        },
        **{
            f"Resource_List.select {name}": Derived(("Resource_List.select",), partial(log_pbs.chunks, name))
            for name in ("ncpus", "ngpus")
        },
    },
    rows=log_pbs.rows,
    begins=log_pbs.begins,
    max_line=2**24,  # exec_host names all slots of a job
)
_SGE: Final = LogTable(
    name="sge",
    summary="an accounting file of Sun, Univa, Altair or Open Grid Engine",
    columns={
        "id": ("job_number",),
        "submit": ("submission_time",),
        "start": ("start_time",),
        "end": ("end_time",),
        "limit": ("h_rt of category",),
        "processors": ("slots",),
        "user": ("owner",),
    },
    derived={"h_rt of category": Derived(("category",), log_sge.hard_limit)},
    rows=log_sge.rows,
    begins=log_sge.begins,
    max_line=2**20,
)
_LSF: Final = LogTable(
    name="lsf",
    summary="the file lsb.acct of LSF",
    columns={
        "id": ("jobId",),
        "submit": ("submitTime",),
        "start": ("startTime",),
        "end": ("eventTime",),
        "nodes": ("execHosts hosts",),
        "processors": ("execHosts slots",),
        "requested_processors": ("numProcessors",),
        "user": ("userName",),
    },
    derived={
        "execHosts hosts": Derived(("execHosts",), log_lsf.hosts),
        "execHosts slots": Derived(("execHosts",), log_lsf.slots),
    },
    rows=log_lsf.rows,
    begins=log_lsf.begins,
    max_line=2**24,  # execHosts names the host of each slot
)


def _thousandths(num_gpu: str, gpu_milli: str) -> str:
    for text in (num_gpu, gpu_milli):
        if not re.fullmatch(r"\d{0,9}", text, re.ASCII):
            raise ValueError(f"{text[:20]!r} is no number of GPUs, or of thousandths of one")
    return str(int(num_gpu) * int(gpu_milli)) if num_gpu and gpu_milli else ""


def _chunk_of_pod(cpu_milli: str, memory_mib: str, num_gpu: str, gpu_milli: str) -> str:
    return listed_needs(
        {"cpus": cpu_milli, "mem": memory_mib, "gpus": _thousandths(num_gpu, gpu_milli) or "0"}
    )


def _needs_of_pod(cpu_milli: str, memory_mib: str, num_gpu: str, gpu_milli: str, gpu_spec: str) -> str:
    needs = {"millicpus": cpu_milli, "mib": memory_mib}
    if gpu_spec and "|" not in gpu_spec:  # a pod that may use several types is counted for none
        needs[f"milligpus:{gpu_spec}"] = _thousandths(num_gpu, gpu_milli)
    return listed_needs(needs)


_ALIBABA: Final = LogTable(
    name="alibaba-gpu",
    summary="the CSV file of pods of Alibaba's GPU cluster trace of 2023 (openb_pod_list)",
    columns={
        "id": ("name",),
        "submit": ("creation_time",),
        "start": ("scheduled_time",),
        "end": ("deletion_time",),
        "milligpus": ("num_gpu x gpu_milli",),
        "gpus": ("num_gpu",),
        "needs": ("needs of a pod",),
        "held": ("chunk of a pod",),
        "partition": ("gpu_spec",),
    },
    derived={
        "chunk of a pod": Derived(("cpu_milli", "memory_mib", "num_gpu", "gpu_milli"), _chunk_of_pod),
        "num_gpu x gpu_milli": Derived(("num_gpu", "gpu_milli"), _thousandths),
        "needs of a pod": Derived(
            ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"), _needs_of_pod
        ),
    },
    is_relative=True,
    machine="the cluster",
    num_nodes=6_212_000,
    source="https://github.com/alibaba/clusterdata",
)
_HELIOS: Final = LogTable(
    name="helios",
    summary="a CSV file of jobs of Helios or Acme, clusters of GPUs",
    columns={
        "id": ("job_id",),
        "submit": ("submit_time",),
        "start": ("start_time",),
        "end": ("end_time",),
        "run": ("duration",),
        "nodes": ("node_num",),
        "processors": ("cpu_num",),
        "gpus": ("gpu_num",),
        "state": ("state",),
        "user": ("user",),
        "needs": ("gpus of gpu_num",),
        "partition": ("vc",),
    },
    derived={"gpus of gpu_num": Derived(("gpu_num",), _gpus_of)},
    source="https://github.com/S-Lab-System-Group/HeliosData",
)
_PHILLY: Final = LogTable(
    name="philly",
    summary="the JSON list of jobs of Philly (cluster_job_log)",
    columns={
        "id": ("jobid",),
        "submit": ("submitted_time",),
        "start": ("start_time",),
        "end": ("end_time",),
        "gpus": ("gpus of detail",),
        "nodes": ("hosts of detail",),
        "state": ("status",),
        "user": ("user",),
        "needs": ("needs of detail",),
        "partition": ("vc",),
    },
    derived={"needs of detail": Derived(("gpus of detail",), _gpus_of)},
    rows=log_philly.rows,
    begins=log_philly.begins,
    cancelled=("KILL",),
    has_attempts=True,
    source="https://github.com/msr-fiddle/philly-traces",
)
_EVALYS: Final = LogTable(
    name="evalys",
    summary="the schedule that Batsim and evalys write (jobs.csv)",
    columns={
        "id": ("job_id",),
        "submit": ("submission_time",),
        "start": ("starting_time",),
        "end": ("finish_time",),
        "run": ("execution_time",),
        "limit": ("requested_time",),
        "nodes": ("allocated_resources count",),
        "requested_nodes": ("requested_number_of_resources",),
        "state": ("final_state",),
        "machine": ("workload_num_machines",),
    },
    derived={"allocated_resources count": Derived(("allocated_resources",), interval_count)},
    cancelled=("REJECTED",),
    is_relative=True,
    max_line=2**20,  # allocated_resources names all intervals
)

#: All formats, by name.
LOG_TABLES: Final[Mapping[str, LogTable]] = MappingProxyType(
    {
        table.name: table
        for table in (
            *(_SACCT, _PBS, _SGE, _LSF, _NERSC, _ALCF),
            *(_PM100, _FDATA, _HPCOPT, _ALIBABA, _HELIOS, _PHILLY, _EVALYS),
        )
    }
)

#: Names of formats of logs, the Standard Workload Format among them.
LOG_FORMATS: Final = ("swf", *LOG_TABLES)

#: Fields of a line of the Standard Workload Format, at least.
_SWF_FIELDS: Final = 18


def log_format(path: PathLike) -> str:
    """Return the format of a log, one of `LOG_FORMATS`, by what is in it; its name does not count.

    Raises `FormatError` if the file cannot be read, or is none of these: with what it looks like.

    Parameters
    ----------
    path
        The file; it may be gzipped.
    """
    head = read_text(path, lambda text: text.head)[0]
    name = format_of(head)
    if name is None:
        raise FormatError(str(path), [looks_like(head) or _unknown(head)])
    return name


def format_of(head: str) -> str | None:
    """Return the format of a log that begins with these characters; None if it looks like none."""
    if looks_like(head) is not None:
        return None
    first = _first(head)
    words = first.split()
    if first.lstrip().startswith(";") or (len(words) >= _SWF_FIELDS and all(map(_is_number, words))):
        return "swf"
    for table in LOG_TABLES.values():
        if table.begins is not None and table.begins(first):
            return table.name
    # Not all columns are there, perhaps; then the reader tells which are missing.
    return _fitting(first) or ("sacct" if "submit" in first.lower() else None)


def certain_format(head: str) -> str | None:
    """Return the format of a log that begins with these characters; None where it may be something else."""
    name, first = format_of(head), _first(head)
    if begins_json(first):
        return name if '"allocation_nodes"' in head else None
    if name is None or name == "swf" or _begins(name, first):
        return name
    return _fitting(first)


def refusal(head: str, name: str) -> str | None:
    """Return why a text that begins so cannot be a log of a format; None if nothing speaks against it."""
    if (strange := looks_like(head)) is not None:
        return strange
    found, first = format_of(head), _first(head)
    if found is None or found == name:
        return None
    if found == "swf":
        return f"looks like a log in the Standard Workload Format: its format is swf, not {name}"
    is_table = (name != "swf" and LOG_TABLES[name].begins is None) or name == "sacct"
    if _begins(found, first) or (is_table and _fitting(first) and not _fits(LOG_TABLES[name], _names(first))):
        return f"looks like {LOG_TABLES[found].summary}: its format is {found}, not {name}"
    return None


def _begins(name: str, first: str) -> bool:
    begins = LOG_TABLES[name].begins
    return begins is not None and begins(first)


def _fitting(first: str) -> str | None:
    """Return the first format that has what it needs among the names of columns in a line."""
    names = _names(first)
    return next(
        (table.name for table in LOG_TABLES.values() if table.separators and _fits(table, names)), None
    )


def _names(first: str) -> set[str]:
    return {plain_name(name) for name in re.split(r"[|,;\t]", first.replace('"', ""))}


def _fits(table: LogTable, names: set[str]) -> bool:
    needed = table.sources("id"), table.sources("submit"), table.sources_of_sizes(*table.units)
    return all(any(names.issuperset(map(plain_name, source)) for source in sources) for sources in needed)


def _first(head: str) -> str:
    """Return the first line that is neither empty nor a comment; of a JSON list all that there is."""
    if head.lstrip().startswith("["):
        return head
    return next((line for line in head.splitlines() if line.strip() and not line.startswith("#")), "")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unknown(head: str) -> str:
    first = _first(head).strip()
    begins = f"begins with {first[:40]!r}" if first else "is empty"
    names = ", ".join(LOG_FORMATS)
    return (
        f"{begins}, like no log that is read ({names}; --format NAME): neither with jobs of the Standard "
        "Workload Format, records of a batch system nor names of columns with Submit among them"
    )
