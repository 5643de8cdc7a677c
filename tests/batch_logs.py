"""Small logs of batch systems, of pods and of Batsim, all written from the same five jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from allocsolve.instances import read_table_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from allocsolve.instances import JobLog

#: Submission of the first job, in Unix seconds: 4 March 2024, 8:00.
EPOCH: Final = 1_709_539_200


@dataclass(frozen=True)
class Job:
    """What a log tells of a job, as it stands in the file: a broken cell can take the place of a good one."""

    id: str
    submit: Any
    start: Any
    end: Any
    #: The limit, in the notation of the format.
    limit: Any
    nodes: Any = 2
    #: Of each node.
    processors: Any = 4
    user: str = "ann"
    held: Any = ""  #: the nodes as the format writes them; made of `nodes` and `processors` if empty


def jobs(*, epoch: int = EPOCH, limit: Any = 7200) -> list[Job]:
    """Jobs of an hour that waited a minute, every ten minutes; the last one is larger."""
    times = [epoch + 600 * idx for idx in range(5)]
    made = [Job(str(501 + idx), at, at + 60, at + 3660, limit) for idx, at in enumerate(times)]
    return [*made[:-1], replace(made[-1], nodes=3)]


def pbs(made: Sequence[Job]) -> list[str]:
    """Return lines of an accounting file of Torque, with records that are no runs in between."""
    lines = []
    for job in made:
        held = job.held or "+".join(
            f"n{node}/{slot}" for node in range(job.nodes) for slot in range(job.processors)
        )
        asked = f"user={job.user} group=g jobname=md run queue=batch ctime={job.submit} qtime={job.submit}"
        used = f"end={job.end} Exit_status=0 resources_used.walltime=01:00:00"
        values = f"{asked} start={job.start} exec_host={held} Resource_List.walltime={job.limit} {used}"
        lines.append(f"03/04/2024 08:00:00;Q;{job.id}.head01;queue=batch")
        lines.append(f"03/04/2024 09:00:00;E;{job.id}.head01;{values}")
    return lines


def sge(made: Sequence[Job]) -> list[str]:
    """Return lines of the file accounting, with a comment before them."""
    usage = "0.0:0.0:12000.000000:" + "0:" * 14
    return [
        "# Version: 8.1.9",
        *(
            f"long.q:n1:chem:{job.user}:a:b:{job.id}:sge:0:{job.submit}:{job.start}:{job.end}:0:0:3600:{usage}"
            f"CFD:defaultdepartment:mpi:{job.held or job.nodes * job.processors}:0:57000.0:0.0:0.0:"
            f"-pe mpi 8 -l h_rt={job.limit},h_vmem=4G:0.000000:NONE:0.000000:0:0"
            for job in made
        ),
    ]


def lsf(made: Sequence[Job]) -> list[str]:
    """Return lines of lsb.acct."""
    lines = []
    for job in made:
        hosts = job.held or " ".join(
            [str(job.nodes), *(f'"{job.processors}*n{node}"' for node in range(job.nodes))]
        )
        texts = '"normal" "select[type==any]" "" "" "host" "runs" "" "out ""of"" md" "" "1.501"'
        usage = " ".join(["-1"] * 19)
        times = f'{job.end} {job.id} 1001 33554438 8 {job.submit} 0 0 {job.start} "{job.user}"'
        names = '"a ""name""" "mpirun md"'
        rest = f'64 60.0 {names} {usage} "" "default" 0 8 "" "" 0 0 0 "" ""'
        lines.append(f'"JOB_FINISH" "10.1" {times} {texts} 0 {hosts} {rest}')
    return lines


def sacct_json(made: Sequence[Job]) -> str:
    """Return what ``sacct --json`` prints."""

    def wrapped(number: Any) -> Any:
        return {"set": True, "infinite": False, "number": number}

    documents = [
        {
            "allocation_nodes": job.nodes,
            "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
            "association": {"account": "a", "user": job.user},
            "job_id": int(job.id) if job.id.isdigit() else job.id,
            "required": {"CPUs": 1},
            "state": {"current": ["COMPLETED"], "reason": "None"},
            "steps": [{"step": {"id": f"{job.id}.batch"}, "time": {"start": 0}}],
            "time": {
                "elapsed": 3600,
                "start": job.start,
                "end": job.end,
                "submission": job.submit,
                "limit": wrapped(job.limit),
            },
            "tres": {
                "allocated": [
                    {"type": "cpu", "name": "", "count": job.nodes * job.processors}
                    if isinstance(job.nodes, int)
                    else {},
                    {"type": "gres", "name": "gpu", "count": 2},
                    {"type": "gres", "name": "gpu:a100", "count": 2},
                ]
            },
        }
        for job in made
    ]
    meta = {"Slurm": {"version": {"major": "23"}}}
    return json.dumps({"meta": meta, "jobs": documents, "errors": []}, indent=1)


def philly(made: Sequence[Job]) -> str:
    """Return a list of jobs, each with an attempt on hosts of four GPUs."""

    def time(value: Any) -> Any:
        is_time = isinstance(value, int) and EPOCH <= value < 2 * EPOCH
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S") if is_time else value

    documents = []
    for job in made:
        gpus = [f"gpu{slot}" for slot in range(job.processors)]
        held = job.held or [{"ip": f"m{node}", "gpus": gpus} for node in range(job.nodes)]
        attempt = {"start_time": time(job.start), "end_time": time(job.end), "detail": held}
        known = {"status": "Pass", "vc": "v1", "jobid": job.id, "user": job.user}
        documents.append({**known, "submitted_time": time(job.submit), "attempts": [attempt]})
    return json.dumps(documents, indent=1)


PODS: Final = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)
SCHEDULE: Final = (
    "job_id,workload_name,workload_num_machines,submission_time,requested_number_of_resources,"
    "requested_time,final_state,starting_time,execution_time,finish_time,allocated_resources"
)


def alibaba(made: Sequence[Job]) -> list[str]:
    """Return lines of a file of pods, each of two GPUs, of which it has half."""
    lines = [PODS]
    for job in made:
        times = f"{job.submit},{job.end},{job.start}"
        lines.append(f"{job.id},12000,16384,{job.nodes},{job.held or 500},,LS,Failed,{times}")
    return lines


def evalys(made: Sequence[Job]) -> list[str]:
    """Return lines of jobs.csv."""
    lines = [SCHEDULE]
    for job in made:
        times = f"{job.start},3600,{job.end}"
        asked = f"{job.submit},{job.nodes},{job.limit},COMPLETED_SUCCESSFULLY"
        lines.append(f"{job.id},w0,100,{asked},{times},{job.held or f'0-{job.nodes - 1}'}")
    return lines


def text(lines: Sequence[str]) -> str:
    """Return lines as a text."""
    return "\n".join(lines) + "\n"


#: Formats that are one JSON value.
JSON: Final = frozenset({"sacct", "philly"})

#: How each format is written, by its name.
WRITERS: Final[dict[str, Callable[[Sequence[Job]], str]]] = {
    "pbs": lambda made: text(pbs(made)),
    "sge": lambda made: text(sge(made)),
    "lsf": lambda made: text(lsf(made)),
    "sacct": sacct_json,
    "alibaba-gpu": lambda made: text(alibaba(made)),
    "philly": philly,
    "evalys": lambda made: text(evalys(made)),
}


def good(name: str) -> list[Job]:
    """Return the jobs as a format has them: limits in its unit, times from its origin."""
    if name == "sacct":
        return jobs(limit=120)
    return jobs(epoch=0) if name in {"alibaba-gpu", "evalys"} else jobs()


def read(name: str, folder: Path, content: str | bytes, **options: Any) -> JobLog:
    """Read a log."""
    path = folder / "log"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table_log(path, name, **{"num_nodes": 10_000, **options})
