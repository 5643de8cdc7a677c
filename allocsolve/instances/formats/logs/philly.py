"""The trace of Philly, Microsoft's cluster of GPUs: a JSON list of jobs, each with the attempts to run it.

::

    [{"status": "Pass", "vc": "v1", "jobid": "application_1_0001", "submitted_time": "2017-10-09 07:00:00",
      "user": "u1", "attempts": [{"start_time": "2017-10-09 07:02:30", "end_time": "2017-10-09 08:02:30",
                                  "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}]}, ...]

Each attempt becomes a row, and those of a job are joined: its run time is their sum. An attempt without any
time never ran; a job without attempts was ended before it ran.

Source: https://github.com/msr-fiddle/philly-traces, the file cluster_job_log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.logs.lines import Dropped, JsonText, LogRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.instances.formats.logs.lines import LogText

_OF_JOB: Final = ("jobid", "submitted_time", "status", "user", "vc")
_TITLES: Final = (*_OF_JOB, "start_time", "end_time", "gpus of detail", "hosts of detail")
_NEVER: Final = ("", "", "", "")  # the cells of an attempt that never ran


def begins(first: str) -> bool:
    """Tell whether a text is a list of jobs with attempts."""
    return first.lstrip().startswith("[") and '"attempts"' in first


def rows(text: LogText) -> LogRows:
    """Return the attempts of all jobs."""
    return LogRows(_TITLES, _rows(text), "job")


def _rows(text: LogText) -> Iterator[tuple[int, Sequence[str] | Dropped]]:
    document = JsonText(text)
    for number, job in enumerate(document.jobs(), 1):
        try:
            cells, attempts = _cells(job)
        except ValueError as fault:
            yield number, Dropped("faulty", str(fault))
            continue
        ran = [attempt for attempt in attempts if any(attempt[:2])]
        yield from ((number, Dropped("other_records")) for _ in attempts[max(len(ran), 1) :])
        yield from ((number, [*cells, *attempt]) for attempt in ran or [_NEVER])
    document.finish()


def _cells(job: object) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the cells of a job, and those of its attempts."""
    if not isinstance(job, dict):
        raise ValueError(f"{show(job)} is no object")
    attempts = _objects(job, "attempts")
    return [_text(job, name) for name in _OF_JOB], [
        (_text(attempt, "start_time"), _text(attempt, "end_time"), *_sizes(attempt)) for attempt in attempts
    ]


def _sizes(attempt: Mapping[str, Any]) -> tuple[str, str]:
    """Return how many GPUs and hosts an attempt had."""
    hosts = _objects(attempt, "detail")
    gpus = 0
    for host in hosts:
        held = host.get("gpus")
        if not isinstance(held, list):
            raise ValueError(f"gpus {show(held)} is no list")
        gpus += len(held)
    return str(gpus), str(len({_text(host, "ip") for host in hosts}))


def _objects(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError(f"{name} {show(found)} is no list of objects")
    return found


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{name} {show(found)} is no text")
    return "" if found is None or found == "None" else found
