"""Workloads of Batsim: JSON files of jobs and of the profiles that say what they do.

What Batsim has no field for is in ``extra_data``, a JSON text that schedulers get: ``{"allocsolve": {...}}``
with the fields of a job of `allocsolve.instances.formats.own.workload`. docs/formats.md tells which profiles
are read, and what becomes of limits.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import FormatError
from allocsolve.instances.formats.files import Checker, load, parse, save, show
from allocsolve.instances.formats.own import workload
from allocsolve.instances.formats.schema import (
    listing,
    open_record,
    read_fields,
    read_problem_fields,
    read_value,
    real,
    text,
    whole,
)
from allocsolve.instances.formats.simulators.foreign import ReadWorkload, Unheld, elastic_kinds
from allocsolve.model import MAX_INTEGER
from allocsolve.model.checks import choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.instances.formats.files import Document, PathLike
    from allocsolve.model import WorkloadProblem

#: The versions of Batsim that files may be written for: their names of profiles differ.
BATSIM_VERSIONS: Final = ("5", "4")
_DELAYS: Final = {"5": "DelayProfile", "4": "delay"}
_SEQUENCES: Final = ("SequentialCompositionProfile", "composed")
_OURS: Final = "allocsolve"
#: Batsim parts the names of workload and job by an exclamation mark, its tables cells by commas.
_PLAIN_NAME: Final = re.compile(r"[\w.#:+-]+")
_DEEPEST: Final = 50

_FIELDS: Final[Mapping[str, Document]] = {
    "id": {"type": ["string", "integer"]},
    "subtime": real(0),
    "res": whole(1),
    "profile": text(),
}
_JOB: Final = open_record(
    {**_FIELDS, "walltime": {"type": ["number", "null"], "maximum": MAX_INTEGER}}, _FIELDS
)
_CONTENT: Final[Mapping[str, Document]] = {
    "nb_res": whole(1),
    "profiles": {"type": "object"},
    "jobs": listing(_JOB),
}
_FILE: Final = open_record(_CONTENT, _CONTENT)
_DELAY: Final = open_record({"delay": real(0, above=True)}, ("delay",))
_SEQUENCE: Final = open_record({"repeat": whole(1, default=1), "seq": listing({}, minItems=1)}, ("seq",))


def write_batsim(problem: WorkloadProblem, path: PathLike, *, version: str = "5") -> Unheld:
    """Write a workload for Batsim; see the module for what is in it.

    Parameters
    ----------
    version
        One of `BATSIM_VERSIONS`.

    Returns
    -------
    Unheld
        What the file does not hold, or Batsim does not do.
    """
    choice("version of Batsim", version, BATSIM_VERSIONS)
    unheld, jobs = Unheld(), []
    for kind, count in elastic_kinds(problem).items():
        unheld.add(f"{kind} jobs, which Batsim runs as rigid ones (the rest is in extra_data)", count)
    profiles: dict[str, Document] = {}
    taken = set(problem.jobs.names)
    for idx, row in enumerate(workload.PROBLEM.values(problem)["jobs"]):
        job = {"id": row.pop("name"), "subtime": row.pop("submit"), "res": row.pop("nodes")}
        if not _PLAIN_NAME.fullmatch(job["id"]):
            row["name"], job["id"] = job["id"], _unlike(taken, f"job{idx}")
        runtime = row.pop("runtime")
        if row.get("limit", 0) >= runtime:
            job["walltime"] = row.pop("limit")
        unheld.add(
            "limits below the run time, at which Batsim would end jobs (in extra_data)", "limit" in row
        )
        job["profile"] = f"wait_{runtime}"
        profiles[job["profile"]] = {"type": _DELAYS[version], "delay": runtime}
        if row:
            job["extra_data"] = json.dumps({_OURS: row}, ensure_ascii=False)
        jobs.append(job)
    unheld.add("meta of the problem", bool(problem.meta))
    save({"name": problem.name, "nb_res": problem.num_nodes, "jobs": jobs, "profiles": profiles}, path)
    return unheld


def _unlike(taken: set[str], name: str) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def read_batsim(path: PathLike, *, num_nodes: int | None = None, limits: str = "cut") -> ReadWorkload:
    """Read a workload of Batsim 4 or 5, whose names of profiles may be mixed.

    Parameters
    ----------
    num_nodes
        Nodes of the machine; None for ``nb_res``.
    limits
        ``cut``: a job ends at its walltime if it has not ended before, as in Batsim. ``keep``: it runs to its
        end.
    """
    choice("limits", limits, ("cut", "keep"))
    document = load(path) | ({} if num_nodes is None else {"nb_res": num_nodes})
    document, check, unheld = read_fields(document, _FILE, str(path)), Checker(), Unheld()
    num_nodes, seconds = document["nb_res"], _Delays(check, document["profiles"])
    rows = [
        _row(check, job, f"jobs[{idx}]", (num_nodes, seconds, limits), unheld)
        for idx, job in enumerate(document["jobs"])
    ]
    check.finish(str(path))
    name = document.get("name", "")
    fields = {"num_nodes": num_nodes, "name": name if isinstance(name, str) else "", "jobs": rows}
    problem = read_problem_fields(workload.PROBLEM, fields, str(path))
    return ReadWorkload(problem, unheld)


def _row(
    check: Checker, job: Document, place: str, context: tuple[int, _Delays, str], unheld: Unheld
) -> Document:
    """Return a job with the fields of the JSON format."""
    num_nodes, delays, limits = context
    row: Document = {
        "name": str(job["id"]),
        "submit": job["subtime"],
        "nodes": job["res"],
        "runtime": delays.of(job["profile"], f"{place}.profile"),
    }
    if job["res"] > num_nodes:
        check.add(f"{place}.res", f"{job['res']} is above the number of resources {num_nodes}")
    limit = job.get("walltime")
    if limit not in (None, -1):  # -1: there is none
        if limit <= 0:
            check.add(f"{place}.walltime", f"{show(limit)} is not above 0")
        row["limit"] = limit
        if limits == "cut":
            unheld.add(
                "jobs that Batsim ends at their walltime, read as running until then", limit < row["runtime"]
            )
            row["runtime"] = min(limit, row["runtime"])
    extra = _extra(check, job.get("extra_data"), f"{place}.extra_data")
    row |= extra.pop(_OURS, {})
    others = {*job} - {*_FIELDS, "walltime", "extra_data"} | {*extra}
    for other in sorted(others):
        unheld.add(f"jobs with {show(other)}")
    return row


def _extra(check: Checker, value: object, place: str) -> Document:
    """Return what extra data say; texts that are no JSON objects are data of somebody else."""
    if value is None:
        return {}
    if isinstance(value, str) and value.startswith(f'{{"{_OURS}"'):
        try:
            value = parse(value.encode(), place)
        except FormatError as error:
            check.faults.append(str(error))
            return {}
    if isinstance(value, dict):
        ours = read_value(check, value.get(_OURS, {}), {"type": "object"}, f"{place}.{_OURS}", {}) or {}
        known = {"submit", "nodes", "runtime"} & {*ours}
        for name in sorted(known):
            check.add(f"{place}.{_OURS}", f"{show(name)} is a field of the job itself: leave it out here")
        return {**value, _OURS: ours}
    return {"extra_data": value}


class _Delays:
    """The run times of profiles; one that has none is a fault of the first job that names it."""

    def __init__(self, check: Checker, profiles: Mapping[str, Any]) -> None:
        self._check, self._profiles = check, profiles
        self._seconds: dict[str, float] = {}

    def of(self, name: object, place: str, depth: int = 0) -> float:
        """Return the seconds of a profile, 1 if that is not known."""
        if not isinstance(name, str) or name not in self._profiles:
            self._check.add(place, f"there is no profile {show(name)}")
            return 1
        if depth > _DEEPEST:
            self._check.add(place, f"profile {show(name)} is made of more than {_DEEPEST} levels of others")
            return 1
        if name not in self._seconds:
            self._seconds[name] = self._read(name, f"profiles.{name}", depth)
        return self._seconds[name]

    def _read(self, name: str, place: str, depth: int) -> float:
        check = self._check
        profile, before = self._profiles[name], len(check.faults)
        kind = profile.get("type") if isinstance(profile, dict) else _DELAYS["5"]
        if kind not in _SEQUENCES and kind not in _DELAYS.values():
            fault = f"the run time of {show(kind)} follows from a platform: only delays are read"
            check.add(f"{place}.type", fault)
            return 1
        fields = read_value(check, profile, _SEQUENCE if kind in _SEQUENCES else _DELAY, place, {})
        if len(check.faults) > before:
            return 1
        if kind not in _SEQUENCES:
            delay: float = fields["delay"]
            return delay
        names = enumerate(fields["seq"])
        total: float = fields["repeat"] * sum(
            self.of(part, f"{place}.seq[{idx}]", depth + 1) for idx, part in names
        )
        return total or 1
