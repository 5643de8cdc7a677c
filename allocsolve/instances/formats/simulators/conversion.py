"""Files of workloads from one program to another: which formats there are, and what each cannot hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances.formats.files import load, replace_file, unpacked_path
from allocsolve.instances.formats.logs.jobs import read_table_log
from allocsolve.instances.formats.logs.lines import read_text
from allocsolve.instances.formats.logs.log import log_problem
from allocsolve.instances.formats.logs.tables import LOG_TABLES, certain_format, format_of
from allocsolve.instances.formats.own.envelope import (
    is_problem_table,
    parse_problem,
    read_problem,
    write_problem,
)
from allocsolve.instances.formats.simulators.batsim import read_batsim, write_batsim
from allocsolve.instances.formats.simulators.elastisim import write_elastisim
from allocsolve.instances.formats.simulators.elastisim_jobs import read_elastisim
from allocsolve.instances.formats.simulators.foreign import (
    ReadWorkload,
    Unheld,
    elastic_kinds,
    evalys_text,
    perfetto_text,
)
from allocsolve.instances.formats.simulators.swf import swf_with_unheld
from allocsolve.instances.formats.tables import is_table
from allocsolve.model import WorkloadProblem, WorkloadSchedule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.model import Answer, Problem


@dataclass(frozen=True, slots=True)
class Conversion:
    """A format that workloads are converted to."""

    summary: str
    #: Whether a schedule is written as well.
    answer: Literal["never", "maybe", "needed"]
    #: Writes a problem, and a schedule of it, to a path; returns what the format cannot hold.
    write: Callable[[WorkloadProblem, WorkloadSchedule | None, Path], Unheld]
    #: Whether the path is that of a folder.
    is_folder: bool = False


def _write_own(problem: WorkloadProblem, schedule: WorkloadSchedule | None, path: Path) -> Unheld:
    del schedule
    unheld = Unheld()
    write_problem(problem, path)
    if is_table(path):
        unheld.add("name of the problem", bool(problem.name))
        unheld.add("meta of the problem", bool(problem.meta))
    return unheld


def _write_swf(problem: WorkloadProblem, schedule: WorkloadSchedule | None, path: Path) -> Unheld:
    text, unheld = swf_with_unheld(problem, schedule)
    replace_file(path, text.encode())
    return unheld


def _write_batsim(
    version: str, problem: WorkloadProblem, schedule: WorkloadSchedule | None, path: Path
) -> Unheld:
    del schedule
    return write_batsim(problem, path, version=version)


def _write_text(
    text_of: Callable[[WorkloadProblem, WorkloadSchedule], str],
    not_held: tuple[str, ...] | None,
    problem: WorkloadProblem,
    schedule: WorkloadSchedule | None,
    path: Path,
) -> Unheld:
    """Write a file that shows a schedule; `not_held` is what it does not hold of a problem, None for all."""
    assert schedule is not None
    replace_file(path, text_of(problem, schedule).encode("utf-8", errors="replace"))
    unheld = Unheld()
    jobs, packed = problem.jobs, problem.packed
    for kind, count in elastic_kinds(problem).items():
        unheld.add(f"laws and sizes of {kind} jobs", count)
    present = {
        "weights of jobs": int((packed.weight != 1).sum()),
        "users of jobs": sum(user is not None for user in jobs.users),
        "jobs without a limit, for which stands 1.25 times the run time": int(
            (jobs.limit != jobs.limit).sum()
        ),
        "jobs that never run": int((schedule.offsets[1:] == schedule.offsets[:-1]).sum()),
    }
    for what in present if not_held is None else not_held:
        unheld.add(what, present[what])
    unheld.add("number of nodes", 1)
    unheld.add("meta of the problem", bool(problem.meta))
    return unheld


#: By name; those of problem files of this program are chosen by the ends of their names.
CONVERSIONS: Final[dict[str, Conversion]] = {
    "json": Conversion("a problem of allocsolve (.json)", "never", _write_own),
    "csv": Conversion("a problem of allocsolve as a table (.csv)", "never", _write_own),
    "swf": Conversion("a log in the Standard Workload Format (.swf)", "maybe", _write_swf),
    "elastisim": Conversion(
        "the input of ElastiSim (a folder)",
        "maybe",
        lambda problem, schedule, path: write_elastisim(problem, path, schedule=schedule),
        is_folder=True,
    ),
    "batsim": Conversion("a workload of Batsim 5", "never", partial(_write_batsim, "5")),
    "batsim4": Conversion("a workload of Batsim 4 or before", "never", partial(_write_batsim, "4")),
    "evalys": Conversion(
        "a schedule as Batsim and evalys have it (jobs.csv)",
        "needed",
        partial(_write_text, evalys_text, None),
    ),
    "perfetto": Conversion(
        "a schedule for trace viewers",
        "needed",
        partial(_write_text, perfetto_text, ("weights of jobs", "jobs that never run")),
    ),
}


def format_by_name(path: Path) -> str:
    """Return the format that the name of a file or folder tells.

    Raises `InvalidOption` if it tells none.
    """
    by_end = {".json": "json", ".csv": "csv", ".swf": "swf"}
    end = unpacked_path(path).suffix.lower()
    if path.is_dir() or not end:
        return "elastisim"
    if end not in by_end:
        raise InvalidOption(f"{path}: its name tells no format; --format is one of {', '.join(CONVERSIONS)}")
    return by_end[end]


def write_workload(problem: Problem, schedule: Answer | None, path: Path, name: str) -> Unheld:
    """Write a problem in one of `CONVERSIONS`, with a schedule where the format has room for one.

    Raises `InvalidOption` if the format takes no problems of this family, needs a schedule, or holds none;
    `InvalidProblem` if it cannot hold a job at all. Returns what the format cannot hold.
    """
    conversion = CONVERSIONS[name]
    if schedule is not None and conversion.answer == "never":
        raise InvalidOption(f"--solution: there is no room for a schedule in --format {name}")
    if not isinstance(problem, WorkloadProblem):
        if conversion.write is not _write_own:
            raise InvalidOption(f"--format {name} is for workloads")
        write_problem(problem, path)
        return Unheld()
    if schedule is None and conversion.answer == "needed":
        raise InvalidOption(f"--format {name} shows a solution: --solution FILE names it")
    assert schedule is None or isinstance(schedule, WorkloadSchedule), "it answers a workload"
    return conversion.write(problem, schedule, path)


def read_workload(
    path: Path, *, num_nodes: int | None = None, limits: str | None = None, time_unit: str | None = None
) -> tuple[str, Problem, Unheld]:
    """Read a problem from a file of any format that tells one, found out by what is in it.

    Raises `InvalidOption` if a number of nodes is given for a problem of this program, or limits for another
    one than a workload. The path is that of a problem of this program, a log of any format that is told by
    its content (limits stay as they are there, and second 0, too, if its times do not count from 1970), a
    workload of Batsim, or jobs of ElastiSim (the file or its folder). A number of nodes is for files that do
    not tell it, or to have another one. A job that outlives its limit ends there by ``cut``, and runs to its
    end by ``keep``; None cuts workloads of Batsim only, which kills such jobs. `time_unit` is that of
    `read_table_log`. Returns the format, the problem, and what of the file it does not hold.
    """
    name, problem, unheld = _read(path, num_nodes, "cut" if limits is None else limits, time_unit)
    if limits is not None and not isinstance(problem, WorkloadProblem):
        raise InvalidOption(f"--limits is for workloads, and {path} is none")
    if isinstance(problem, WorkloadProblem) and limits == "cut":
        beyond = int((problem.packed.runtime > problem.jobs.limit).sum())
        unheld.add("jobs that outlive their limit, cut there", beyond)
        problem = problem.cut_at_limits()
    return name, problem, unheld


def _read(
    path: Path, num_nodes: int | None, batsim_limits: str, time_unit: str | None
) -> tuple[str, Problem, Unheld]:
    """Read a problem as it is in the file; of Batsim, with these limits."""
    log = _log_format(path)
    if log is not None:
        return log, *_parts(_read_log(path, log, num_nodes, time_unit))
    document = load(path) if not path.is_dir() and not is_table(path) else {}
    name = "elastisim" if path.is_dir() else _format_of(document)
    if name == "sacct":
        return name, *_parts(_read_log(path, name, num_nodes, time_unit))
    if time_unit is not None:
        raise InvalidOption(f"--time-unit is for logs, and {path} is none")
    if name == "elastisim":
        return name, *_parts(read_elastisim(path, num_nodes=num_nodes))
    if name == "batsim":
        return name, *_parts(read_batsim(path, num_nodes=num_nodes, limits=batsim_limits))
    if num_nodes is not None:
        raise InvalidOption(f"--nodes is not for problems of allocsolve: {path} tells the number of nodes")
    if is_table(path):
        return "csv", read_problem(path), Unheld()
    return "json", parse_problem(document, str(path)), Unheld()


def _parts(workload: ReadWorkload) -> tuple[WorkloadProblem, Unheld]:
    return workload.problem, workload.unheld


def _format_of(document: dict[str, object]) -> str:
    jobs = document.get("jobs")
    if "format" in document or not isinstance(jobs, list):
        return "json"
    if "profiles" in document or "nb_res" in document:
        return "batsim"
    first = jobs[0] if jobs else None
    return "sacct" if isinstance(first, dict) and "job_id" in first and "time" in first else "elastisim"


def _log_format(path: Path) -> str | None:
    """Return the format of a log; None if the path is that of something else."""
    if path.name.lower().endswith((".swf", ".swf.gz")):
        return "swf"
    if not path.is_file():
        return None
    head = read_text(path, lambda text: text.head)[0]
    if is_table(path) and is_problem_table(head):
        return None
    if head.lstrip().startswith(("{", "[")):
        return certain_format(head)  # other JSON is told apart when it is read
    return None if unpacked_path(path).suffix.lower() == ".json" else format_of(head)


def _read_log(path: Path, name: str, num_nodes: int | None, time_unit: str | None) -> ReadWorkload:
    log = read_table_log(path, name, num_nodes=num_nodes, limits="keep", time_unit=time_unit)
    unheld = Unheld()
    for reason, count in log.report.dropped.items():
        unheld.add(f"job lines that were dropped ({reason.replace('_', ' ')})", count)
    for fault in log.report.faults:
        unheld.add(fault)
    for field, count in log.asked.left_out.items():
        unheld.add(f"{field} of jobs", count)
    unheld.add(
        "recorded starts (`allocsolve import --recorded` writes them)",
        int((log.starts == log.starts).sum()),
    )
    if not len(log.names):
        raise FormatError(str(path), [f"there is no job in it ({log.report})"])
    is_relative = name == "swf" or LOG_TABLES[name].is_relative
    return ReadWorkload(log_problem(log, origin="header" if is_relative else "first"), unheld)
