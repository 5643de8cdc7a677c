"""A queue as squeue prints it: text, the JSON of Slurm 22.05 with plain numbers, and that of later ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from allocsolve.instances import read_squeue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from allocsolve.instances import QueueListing

#: When the queue was printed: 25 November 2025, 9:30 UTC.
NOW: Final = 1_764_063_000
TITLES: Final = (
    *("JOBID", "USER", "PARTITION", "QOS", "STATE", "NODES", "CPUS", "SUBMIT_TIME", "START_TIME"),
    *("TIME_LIMIT", "TIME", "PRIORITY", "REASON", "DEPENDENCY"),
)


def at(seconds: int) -> str:
    """Return the time so many seconds from now as squeue prints it."""
    return f"{datetime.fromtimestamp(NOW + seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def good() -> list[dict[str, str]]:
    """Return the cells of a queue, by title."""
    common = {"PARTITION": "std,long", "QOS": "normal", "REASON": "None", "DEPENDENCY": "(null)"}
    running = {**common, "STATE": "RUNNING"}
    waiting = {**common, "STATE": "PENDING", "START_TIME": "N/A", "TIME": "0:00", "NODES": "1", "CPUS": "32"}

    def cells(**changed: str) -> dict[str, str]:
        return changed

    rows = [
        {**running, **cells(JOBID="801", USER="ann", NODES="3", CPUS="96", SUBMIT_TIME=at(-4000))},
        {**waiting, **cells(JOBID="802", USER="bob", NODES="4-4", CPUS="128", SUBMIT_TIME=at(-1000))},
        {**running, **cells(JOBID="803_2", USER="cem", NODES="1", CPUS="32", SUBMIT_TIME=at(-900))},
        {**waiting, **cells(JOBID="803_[4-9%2]", USER="cem", SUBMIT_TIME=at(-900), TIME_LIMIT="30:00")},
        {**waiting, **cells(JOBID="804", USER="dee", SUBMIT_TIME=at(-800), TIME_LIMIT="1-00:00:00")},
        {**waiting, **cells(JOBID="805", USER="eve", SUBMIT_TIME=at(-700), TIME_LIMIT="1:00:00")},
        {**waiting, **cells(JOBID="806", USER="eve", SUBMIT_TIME=at(-600), TIME_LIMIT="UNLIMITED")},
        {**waiting, **cells(JOBID="807", USER="eve", SUBMIT_TIME=at(-500), TIME_LIMIT="1:00:00")},
    ]
    rows[0] |= cells(START_TIME=at(-3600), TIME_LIMIT="4:00:00", TIME="1:00:00", PRIORITY="1200")
    rows[1] |= cells(START_TIME=at(7200), TIME_LIMIT="2:00:00", PRIORITY="1100", REASON="Resources")
    rows[2] |= cells(START_TIME=at(-600), TIME_LIMIT="30:00", TIME="10:00", PRIORITY="1000")
    rows[3] |= cells(PRIORITY="1000", REASON="Priority")
    rows[4] |= cells(PRIORITY="900", REASON="Dependency", DEPENDENCY="afterok:802(unfulfilled)")
    rows[5] |= cells(PRIORITY="800", REASON="BeginTime", START_TIME=at(40_000))
    rows[6] |= cells(PRIORITY="0", REASON="JobHeldUser")
    rows[7] |= cells(PRIORITY="5", REASON="AssocGrpCpuLimit")
    return rows


def as_text(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the lines of a queue."""
    return (
        "\n".join("|".join(line) for line in [TITLES, *([row[title] for title in TITLES] for row in rows)])
        + "\n"
    )


_MINUTES: Final = {"4:00:00": 240, "2:00:00": 120, "30:00": 30, "1-00:00:00": 1440, "1:00:00": 60}


def as_json(rows: Sequence[Mapping[str, str]], version: str) -> dict[str, Any]:
    """Return the document of a queue: ``plain`` numbers, or ``wrapped`` ones."""

    def number(value: int | None) -> Any:
        if version == "plain":
            return value or 0
        return {"set": value is not None, "infinite": False, "number": value or 0}

    def time(text: str) -> Any:
        moment = None if text == "N/A" else round(datetime.fromisoformat(f"{text}+00:00").timestamp())
        return number(moment)

    jobs = []
    for row in rows:
        base, _, tasks = row["JOBID"].partition("_")
        listed = tasks.strip("[]").partition("%")
        is_array = tasks.startswith("[")
        jobs.append(
            {
                "job_id": int(base) + (1000 if tasks and not is_array else 0),
                "array_job_id": number(int(base) if tasks else None),
                "array_task_id": number(int(tasks) if tasks and not is_array else None)
                if version == "wrapped" or (tasks and not is_array)
                else None,
                "array_task_string": listed[0] if is_array else "",
                "array_max_tasks": number(int(listed[2]) if listed[2] else None),
                "job_state": row["STATE"] if version == "plain" else [row["STATE"]],
                "state_reason": row["REASON"],
                "user_name": row["USER"],
                "partition": row["PARTITION"],
                "qos": row["QOS"],
                "submit_time": time(row["SUBMIT_TIME"]),
                "eligible_time": time(
                    row["START_TIME"] if row["REASON"] == "BeginTime" else row["SUBMIT_TIME"]
                ),
                "start_time": time(row["START_TIME"]),
                "time_limit": number(_MINUTES.get(row["TIME_LIMIT"])),
                "priority": number(int(row["PRIORITY"])),
                "hold": row["REASON"] == "JobHeldUser",
                "dependency": row["DEPENDENCY"].replace("(null)", ""),
                "node_count": number(int(row["NODES"].partition("-")[0])),
                "cpus": number(int(row["CPUS"])),
                "tres_req_str": f"cpu={row['CPUS']}",
            }
        )
    return {"meta": {}, "last_update": number(NOW), "jobs": jobs, "errors": []}


def written(version: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Return a queue as a text."""
    return as_text(rows) if version == "text" else json.dumps(as_json(rows, version))


def read(version: str, folder: Path, rows: Sequence[Mapping[str, str]]) -> QueueListing:
    """Read a queue."""
    path = folder / "queue"
    path.write_text(written(version, rows))
    return read_squeue(path)
