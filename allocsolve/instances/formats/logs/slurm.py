"""What Slurm's accounting tells beside plain columns: trackable resources, and the JSON of ``sacct --json``.

The JSON is read one job at a time, whatever the lines are. Its numbers are plain in older versions of Slurm;
in newer ones they are objects ``{"set": true, "infinite": false, "number": 120}``.

Source: the pages sacct and "Trackable RESources" of Slurm's documentation, and its data_parser plugins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.logs.lines import Dropped, JsonText, LogRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.instances.formats.logs.lines import LogText

_TRES: Final = re.compile(r"(?:^|,)(node|cpu|gres/gpu)(:[^=,]*)?=([^,]*)")
_COUNT: Final = re.compile(r"\d{1,15}", re.ASCII)


def tres_count(resource: str, text: str) -> str:
    """Return how many of a resource a list such as ``cpu=8,gres/gpu:a100=4,gres/gpu=4,node=2`` has.

    The resource is ``node``, ``cpu`` or ``gpu``. GPUs may be counted with and without their type; these
    counts are of the same ones. An empty list tells nothing.
    """
    if not text:
        return ""
    if "=" not in text:
        raise ValueError(f"{text[:20]!r} is no list such as cpu=8,node=2")
    plain = typed = 0
    for name, kind, count in _TRES.findall(text):
        if name.rpartition("/")[2] != resource:
            continue
        if not _COUNT.fullmatch(count):
            raise ValueError(f"{count[:20]!r} is no number")
        if kind:
            typed += int(count)
        else:
            plain = max(plain, int(count))
    return str(max(plain, typed))


#: Where the cells of a job are, by the names of columns.
_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "job_id": ("job_id",),
    "time.submission": ("time", "submission"),
    "time.start": ("time", "start"),
    "time.end": ("time", "end"),
    "time.elapsed": ("time", "elapsed"),
    "time.limit": ("time", "limit"),
    "allocation_nodes": ("allocation_nodes",),
    "required.CPUs": ("required", "CPUs"),
    "state.current": ("state", "current"),
    "user": ("user",),
}
#: Those of what is read if it is asked for.
_ASKED_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "partition": ("partition",),
    "time.eligible": ("time", "eligible"),
    "priority": ("priority",),
    "NodeList": ("nodes",),
}
_TITLES: Final = (*_PATHS, "AllocTRES", "ReqTRES", *_ASKED_PATHS)


def begins_json(first: str) -> bool:
    """Tell whether a text may be what ``sacct --json`` prints, by its first line."""
    return first.lstrip().startswith("{")


def json_rows(text: LogText) -> LogRows | None:
    """Return the jobs of ``sacct --json``; None if the text is no JSON."""
    if not begins_json(text.head):
        return None
    return LogRows(_TITLES, _rows(text), "job")


def _rows(text: LogText) -> Iterator[tuple[int, Sequence[str] | Dropped]]:
    document = JsonText(text, ": sacct -X leaves out the steps")
    document.expect("{")
    number = 0
    seen = False
    while document.next_of("}", is_first=not seen):
        seen = True
        key = document.value()
        document.expect(":")
        if key != "jobs" or document.peek() != "[":
            document.value()
            continue
        for job in document.jobs():
            number += 1
            yield number, _cells(job)
    document.finish()


def _cells(job: object) -> Sequence[str] | Dropped:
    if not isinstance(job, dict):
        return Dropped("faulty", f"{show(job)} is no object")
    if "time" not in job:
        return Dropped(
            "faulty", "has no field time; squeue and scontrol print other fields than sacct --json"
        )
    try:
        cells = [json_cell(_found(job, path), name) for name, path in _PATHS.items()]
        tres = job.get("tres")
        lists = tres if isinstance(tres, dict) else {}
        cells += [_tres(lists.get(name), name) for name in ("allocated", "requested")]
    except ValueError as fault:
        return Dropped("faulty", str(fault))
    if not cells[-3] and isinstance(job.get("association"), dict):
        cells[-3] = str(job["association"].get("user") or "")
    return [*cells, *(_asked_cell(job, path, name) for name, path in _ASKED_PATHS.items())]


def _found(job: Mapping[str, Any], path: Sequence[str]) -> object:
    value: object = job
    for key in path:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise ValueError(f"{path[0]} {show(value)} is no object")
        value = value.get(key)
    return value


def json_cell(value: object, name: str) -> str:
    """Return a text or a number, which newer versions wrap; empty where it is not set or infinite."""
    if isinstance(value, dict):
        if value.get("infinite") is True or value.get("set") is False:
            return ""
        value = value.get("number")
        if value is None:
            raise ValueError(f"{name} has no number")
    if isinstance(value, list) and name == "state.current":  # the state and its flags
        value = next(iter(value), None)
    if value is None:
        return ""
    if isinstance(value, bool | dict | list):
        raise ValueError(f"{name} {show(value)} is neither a text nor a number")
    return str(value)


def _asked_cell(job: Mapping[str, Any], path: Sequence[str], name: str) -> str:
    """Return a cell that few ask for: who does not is not troubled by what is wrong with it."""
    try:
        return json_cell(_found(job, path), name)
    except ValueError as fault:
        return str(fault)


def _tres(entries: object, name: str) -> str:
    """Return a list of resources as ``sacct -P`` writes it."""
    if entries is None:
        return ""
    if not isinstance(entries, list):
        raise ValueError(f"tres.{name} {show(entries)} is no list")
    parts = []
    for entry in entries:
        if not isinstance(entry, dict):
            raise ValueError(f"tres.{name}: {show(entry)} is no object")
        kind = "/".join(str(entry[key]) for key in ("type", "name") if entry.get(key))
        parts.append(f"{kind}={json_cell(entry.get('count'), f'tres.{name}')}")
    return ",".join(part for part in parts if not part.endswith("="))
