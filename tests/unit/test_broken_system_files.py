"""Broken logs, queues and workloads of batch systems and simulators, 60 and more of each: one line."""

from __future__ import annotations

import gzip
import json
import re
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from batch_logs import JSON, WRITERS, good, read
from broken_files import NO_TEXT, check_changed_bytes, mangled_json, refusal
from cli_tools import Capture, refused
from offenders import all_offenders
from squeue_files import as_json, good as good_queue, written

from allocsolve.errors import FormatError
from allocsolve.instances import (
    log_problem,
    read_batsim,
    read_elastisim,
    read_squeue,
    write_batsim,
    write_elastisim,
)
from allocsolve.instances.formats.files import show
from allocsolve.model import Amdahl, Job, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from allocsolve.instances import JobLog


#: The job that is broken.
ROW = 2
TIMES = (
    *("x", "-5", "1e9", "9" * 17, "2024-13-01T00:00:00", "04.03.2024 08:00", "0x5f", "1.5.5", "True"),
    "1_0",
)
LIMITS = ("x", "-7", "1e3", "9" * 17, "inf", "1:", "7-", "1_0")
#: What stands for the size of a job, by format.
SIZES: dict[str, tuple[Any, ...]] = {
    "pbs": ("n1/x", "n1/0*x", "/0", "n1//0", "n1/0-", "n1/0+", "+", "n1/-1", "n1/0*", "n1/0,,1", "n1/0*4*4"),
    "sge": ("x", "-4", "2.5", "4K", "1e3", "1_0", "0x4", "٣", "9" * 17),
    "lsf": (
        *('x "n1"', '-1 "n1"', '2.5 "n1"', '99 "n1"', '1 "*n1"', '1 "x*n1"', '1 "2*"', '1 "1*n1*2"'),
        '9e9 "n1"',
    ),
    "sacct": ("x", "-4", "2.5", "4K", "1e3", True, [2], {"set": True}, {"a": 1}, "1_0", -1.5),
    "alibaba-gpu": ("x", "-4", "2.5", "4K", "1e3", "1_0", "٣", "9" * 17),
    "philly": (
        *("x", 5, [5], [[]], {"a": 1}, [{"ip": 5, "gpus": []}], [{"ip": "m1"}]),
        [{"ip": "m1", "gpus": 8}],
    ),
    "evalys": ("x", "1-", "-3", "5-1", "0-9-9", "0;1", "0-3 x", "1e3", "9" * 17),
}
#: Values of JSON that are no times.
NO_TIMES: tuple[Any, ...] = ("x", -5, True, [1], {"set": True}, {"number": "x"}, "1_0", 10**17)


def _changed(name: str, **cells: Any) -> str:
    made = good(name)
    made[ROW] = replace(made[ROW], **cells)
    return WRITERS[name](made)


def _cells(name: str) -> Iterator[tuple[str, str]]:
    """Yield logs with one cell that cannot be read."""
    times = NO_TIMES if name in JSON else TIMES
    for field in ("submit", "start", "end"):
        yield from ((f"{field} {value}", _changed(name, **{field: value})) for value in times)
    if name not in {"lsf", "alibaba-gpu", "philly"}:
        limits = NO_TIMES if name == "sacct" else LIMITS
        values = [value for value in limits if name != "sge" or value != "1:"]  # a colon ends it
        yield from ((f"limit {value}", _changed(name, limit=value)) for value in values)
    size = "nodes" if name == "sacct" else "held"
    yield from ((f"size {value}", _changed(name, **{size: value})) for value in SIZES[name])
    job = good(name)[ROW]
    yield "ends before it starts", _changed(name, end=job.start - 1)
    yield "no id", _changed(name, id="")


def _cut(name: str) -> Iterator[tuple[str, str]]:
    """Yield logs of lines with one that is cut, twice there, or another one."""
    if name in JSON:
        return
    content = WRITERS[name](good(name))
    lines = content.split("\n")
    at = next(idx for idx, line in enumerate(lines) if "503" in line and ";Q;" not in line)
    line = lines[at]

    def put(text: str) -> str:
        return "\n".join([*lines[:at], text, *lines[at + 1 :]])

    for share in (5, 10, 20, 30, 40):
        yield f"{share} % of a line", put(line[: len(line) * share // 100])
    traceback, control = "Traceback (most recent call last):", "\x00\x1b[2J\x07"
    for words in (traceback, "-----|-----", control, "�", "1 2 3", ";;;;"):
        yield f"{words!r} for a line", put(words)
    yield "other separators", put(line.translate(str.maketrans(':;," ', "\t||' ".replace(" ", "_"))))
    yield "a line without end", put(line[:60] + "9" * 2**24)


#: Of all formats: what may be refused as a whole.
WHOLE: dict[str, Callable[[bytes], bytes]] = {
    **NO_TEXT,
    "a cut archive": lambda data: gzip.compress(data)[:-12],
    "half an archive": lambda data: gzip.compress(data)[:100],
}


def _checked(log: JobLog, name: str) -> None:
    """Look whether what was kept can be: no job of a time that is none, or that is not written."""
    assert len({*log.names}) == len(log.names)
    assert ((log.runs > 0) & (log.runs < 10**9)).all()
    assert ((log.nodes >= 1) & (log.nodes <= log.num_nodes)).all()
    written = {job.id: job for job in good(name)}
    for idx, job in enumerate(log.names):
        assert log.submits[idx] == written[job].submit
        assert log.runs[idx] == 3600
    report = log.report
    assert report.job_lines == sum(report.dropped.values()) + len(log.names)
    assert all("\n" not in fault and len(fault) < 300 for fault in report.faults)


def _whole(name: str) -> Iterator[tuple[str, bytes]]:
    data = WRITERS[name](good(name)).encode()
    yield from ((case, change(data)) for case, change in WHOLE.items())
    if name in JSON:
        yield from mangled_json(data)
        lists: tuple[Any, ...] = (None, 5, "x", [5], [None], [[]], {}, [{"job_id": 1, "time": 3}])
        lists += ([{"attempts": 5}], [{"attempts": [5]}], [{"attempts": []}], [{"jobid": [], "attempts": []}])
        wrapped = ({"jobs": jobs} if name == "sacct" else jobs for jobs in lists)
        yield from ((f"jobs {jobs}", json.dumps(jobs).encode()) for jobs in wrapped)
        yield "two values", data + data


@pytest.mark.parametrize("name", WRITERS)
def test_broken_lines(name: str, tmp_path: Path) -> None:
    """One job is broken: it is counted, the others are as they were."""
    with all_offenders() as offender:
        for case, content in [*_cells(name), *_cut(name)]:
            with offender(case):
                log = read(name, tmp_path, content)
                _checked(log, name)
                assert "503" not in log.names
                assert {"501", "502", "504", "505"} <= {*log.names}
                others = 5 if name == "pbs" else 0
                # What stands there instead of a line may be a comment, or a record of something else.
                assert sum(log.report.dropped.values()) > others or "line" in case


def _possible(log: JobLog) -> None:
    assert (log.runs > 0).all()
    assert (log.nodes >= 1).all()
    assert len({*log.names}) == len(log.names)


@pytest.mark.parametrize("name", WRITERS)
def test_broken_files(name: str, tmp_path: Path) -> None:
    """The file is broken: it is refused in one line, or nothing of it is a job."""
    cases = dict(_whole(name))
    assert len(cases) + len([*_cells(name), *_cut(name)]) >= 60
    with all_offenders() as offender:
        for case, content in cases.items():
            with offender(case):
                said = refusal(lambda content=content: log_problem(read(name, tmp_path, content)))  # type: ignore[misc]  # bound
                assert said is not None
                assert re.fullmatch(rf"({re.escape(str(tmp_path))}/)?log: .*", said), "one line"
    data = WRITERS[name](good(name)).encode()
    check_changed_bytes(data, lambda changed: refusal(lambda: _possible(read(name, tmp_path, changed))))


# --- Queues -------------------------------------------------------------------------------------------


#: What cannot stand in a column of the text.
CELLS: dict[str, tuple[str, ...]] = {
    "JOBID": (
        *("", "x", "-1", "1e3", "9_[", "9_[]", "9_[a-b]", "9_[4-1]", "9_[1-9:0]", "9_[0-99999999]", "٣"),
        "9_[%2]",
    ),
    "STATE": ("", "running", "P D", "?"),
    "NODES": ("", "x", "-4", "2.5", "1e3", "4-", "4G", "٣"),
    "CPUS": ("", "x", "-4", "2.5", "1_0"),
    "SUBMIT_TIME": ("", "N/A", "x", "-5", "2025-13-01T00:00:00", "25.11.2025 09:13", "9" * 17, "1_0"),
    "START_TIME": ("x", "tomorrow", "2025-11-25T25:00:00", "9" * 17),
    "TIME_LIMIT": ("x", "-7", "1e3", "1:", "7-", "1_0", "2h"),
    "TIME": ("x", "-7", "1:", "1_0"),
    "PRIORITY": ("x", "-1", "1.5", "1e3", "9" * 17),
}
#: What cannot stand in a field of the JSON.
VALUES: dict[str, tuple[Any, ...]] = {
    "job_id": (None, "x", -1, True, [1], 1.5, {"set": True}),
    "job_state": (None, 5, [], [5], "pending", {"a": 1}, True),
    "node_count": (None, "x", -4, 2.5, True, [4], {"set": True}, {"number": "x"}),
    "cpus": (None, "x", -4, True, {"number": None}),
    "submit_time": (None, 0, "x", -5, True, [1], {"set": False, "number": 7}, 10**17),
    "start_time": ("x", -5, True, [1], {"number": "x"}),
    "time_limit": ("x", -5, True, [1], "2:00:00", {"number": "x"}),
    "priority": ("x", -1, True, 1.5, [1]),
    "hold": (1.5, "yes", [], {"set": True}),
    "array_task_string": (True, [1], "x", "5-1"),
    "eligible_time": ("x", -5, True),
}
#: Of both: what is no queue.
NO_QUEUE: dict[str, Callable[[bytes], bytes]] = {
    **NO_TEXT,
    "twice": lambda data: data + data,
    "the default columns": lambda _: b"JOBID PARTITION NAME USER ST TIME NODES\n1 a b c R 1:00 1\n",
    "sinfo": lambda _: b"PARTITION AVAIL  TIMELIMIT  NODES  STATE\nstd* up 1-00:00:00 4 idle\n",
    "an error": lambda _: b"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
}


def _texts() -> Iterator[tuple[str, bytes]]:
    rows = good_queue()
    for title, cells in CELLS.items():
        for cell in cells:
            changed = [rows[0], {**rows[1], title: cell}, *rows[2:]]
            yield f"{title} {cell}", written("text", changed).encode()
    lines = written("text", rows).splitlines()
    for name, line in {
        "a line that is cut": lines[2][:30],
        "a cell more": lines[2] + "|x",
        "other separators": lines[2].replace("|", ";"),
        "words": "Traceback (most recent call last):",
        "control characters": "\x00\x1b[2J\x07",
    }.items():
        yield name, "\n".join([*lines[:2], line, *lines[3:]]).encode()
    yield "a column less", "\n".join(line.rpartition("|")[0] for line in lines).encode()
    yield "a job twice", "\n".join([*lines, lines[2]]).encode()
    yield "a start of a running job", written("text", [{**rows[0], "START_TIME": "N/A"}, *rows[1:]]).encode()
    yield from ((name, change("\n".join(lines).encode())) for name, change in NO_QUEUE.items())


def _jsons() -> Iterator[tuple[str, bytes]]:
    document = as_json(good_queue(), "wrapped")
    jobs = document["jobs"]
    for field, values in VALUES.items():
        for value in values:
            changed = {**document, "jobs": [jobs[0], {**jobs[1], field: value}, *jobs[2:]]}
            yield f"{field} {value}", json.dumps(changed).encode()
    for value in (None, 5, "x", {}, [5], [None], [[]]):
        yield f"jobs {value}", json.dumps({**document, "jobs": value}).encode()
    for value in ("x", True, [1], -5, 10**17, {"number": "x"}):
        yield f"last_update {value}", json.dumps({**document, "last_update": value}).encode()
    yield "a job twice", json.dumps({**document, "jobs": [*jobs, jobs[0]]}).encode()
    data = json.dumps(document).encode()
    yield from mangled_json(data)
    yield from ((name, change(data)) for name, change in NO_QUEUE.items())


CASES = {"text": _texts, "wrapped": _jsons}


def _said(folder: Path, content: bytes) -> str | None:
    path = folder / "queue"
    path.write_bytes(content)
    return refusal(lambda: read_squeue(path))


@pytest.mark.parametrize("kind", CASES)
def test_broken_queues(kind: str, tmp_path: Path) -> None:
    cases = [*CASES[kind]()]
    assert len(cases) >= 60
    with all_offenders() as offender:
        for case, content in cases:
            with offender(case):
                said = _said(tmp_path, content)
                assert said is not None
                assert len(said) < 400
                assert re.fullmatch(r".*queue: .*", said), "one line"
    check_changed_bytes(written(kind, good_queue()).encode(), lambda data: _said(tmp_path, data))


# --- ElastiSim and Batsim -----------------------------------------------------------------------------


PROBLEM = WorkloadProblem(
    8,
    [
        Job(0, 3, 100, limit=120, user="ada", weight=2),
        Job(5, 4, 60, min_nodes=2, max_nodes=8, speedup=Amdahl(0.9), kind="malleable", points=3),
    ],
)
#: What stands for a field that is taken away.
GONE = object()
YES: object = True


class Broken(NamedTuple):
    """One fault: where it is put, what is put there, and what is to be said of it."""

    path: str
    value: object
    said: str
    file: str = "jobs.json"


def times(path: str, *, above: bool = False) -> Iterator[Broken]:
    """Yield faults of a field that holds seconds."""
    value: object
    for value in ("soon", None, True, [], {}):
        yield Broken(path, value, f"{path}: must be a number")
    yield Broken(path, -1, f"{path}: -1 is {'not above' if above else 'below'} 0")
    yield Broken(path, 2**60, f"{path}: {2**60} is beyond 2^53")
    if above:
        yield Broken(path, 0, f"{path}: 0 is not above 0")


def counts(path: str, *, high: str) -> Iterator[Broken]:
    """Yield faults of a field that holds a number of nodes."""
    value: object
    for value in ("4", None, 2.5, [], True):
        yield Broken(path, value, f"{path}: must be an integer, not {show(value)}")
    yield Broken(path, 0, f"{path}: 0 is below 1")
    yield Broken(path, -3, f"{path}: -3 is below 1")
    yield Broken(path, 9, f"{path}: 9 is above {high} 8")


JOB, TASK = "jobs[1]", "phases[0].tasks[0]"
MODEL = "amdahl_malleable.json"
PLACE = f"{JOB}: '{MODEL}': "
ARGUMENTS, FLOPS, PATTERN = f"{JOB}.arguments", f"{TASK}.flops", f"{TASK}.computation_pattern"
ELASTISIM = [
    *times(f"{JOB}.submit_time"),
    *counts("jobs[0].num_nodes", high="num_nodes"),
    *counts(f"{JOB}.num_nodes_max", high="num_nodes"),
    Broken(f"{JOB}.num_nodes_min", 9, f"{JOB}.num_nodes_min: 9 is above num_nodes 8"),
    Broken(f"{JOB}.num_nodes_max", 1, f"{JOB}: num_nodes_min 2 is above num_nodes_max 1"),
    Broken("jobs", GONE, "jobs: missing"),
    Broken("jobs", {"a": 1}, "jobs: must be a list, not an object of 1"),
    Broken(JOB, 7, f"{JOB}: must be an object, not 7"),
    Broken(f"{JOB}.type", "elastic", f"{JOB}.type: 'elastic' is not one of rigid, moldable, malleable, "),
    Broken("jobs[0].walltime", -5, "jobs[0].walltime: -5 is below 0"),
    Broken(f"{JOB}.application_model", "no.json", f"{JOB}: 'no.json': there is no file 'no.json' in "),
    Broken(f"{ARGUMENTS}.divide", [2], f"{ARGUMENTS}.divide: must be a string or a number, not a li"),
    Broken(f"{ARGUMENTS}.divide", "0", f"{PLACE}phases[0].iterations: 'divide' are not in 1..10000000"),
    Broken(f"{ARGUMENTS}.divide", "many", f"{PLACE}phases[0].iterations: 'divide': 'many' is not known"),
    Broken(f"{ARGUMENTS}.runtime", "-3", f"{PLACE}a job of -3 s has no run time of its own"),
    Broken(f"{ARGUMENTS}.runtime", GONE, f"{PLACE}{FLOPS}: '1000000000*runtime"),
    Broken(f"{ARGUMENTS}.num_nodes_pref", "9", f"{ARGUMENTS}.num_nodes_pref: 9 is not in 2..8"),
    Broken(f"{ARGUMENTS}.num_nodes_pref", "x", f"{ARGUMENTS}.num_nodes_pref: must be a number in 0.."),
    Broken("jobs[0].attributes.weight", "-1", "jobs[0].attributes.weight: must be a number in 0..2^53, not "),
    Broken("jobs[0].attributes.name", "j1", "job name 'j1' is used twice"),
    Broken("phases", GONE, f"{PLACE}phases: must be a list of at least one phase, not null", MODEL),
    Broken("phases", [], f"{PLACE}phases: must be a list of at least one phase, not a list of 0", MODEL),
    Broken("phases[0]", 1, f"{PLACE}phases[0]: must be an object, not 1", MODEL),
    Broken("phases[0].tasks", GONE, f"{PLACE}phases[0].tasks: must be a list, not null", MODEL),
    Broken("phases[0].tasks", [], f"{PLACE}a job of 0 s has no run time of its own", MODEL),
    Broken("phases[0].iterations", -1, f"{PLACE}phases[0].iterations: -1 are not in 1..10000000", MODEL),
    Broken("phases[0].iterations", YES, f"{PLACE}phases[0].iterations: must be a number or a form", MODEL),
    Broken(TASK, None, f"{PLACE}{TASK}: must be an object, not null", MODEL),
    Broken(f"{TASK}.type", "fly", f"{PLACE}{TASK}.type: 'fly' is none of ElastiSim's", MODEL),
    Broken(f"{TASK}.type", "pfs_read", f"{PLACE}a job of 0 s without pfs_read has no run time", MODEL),
    Broken(PATTERN, "x", f"{PLACE}{PATTERN}: 'x' is none of El", MODEL),
    Broken(PATTERN, "vector", f"{PLACE}{FLOPS}: must be a list of at least", MODEL),
    *(
        Broken(FLOPS, formula, f"{PLACE}{FLOPS}: '{formula}': {said}", MODEL)
        for formula, said in {
            "1+": "ends too early",
            "(1": "')' is expected, not the end",
            "1 2": "'2' is not expected",
            "1$2": "'$' is not expected",
            "1/0": "has no value for num_gpus = 0, num_g",
            "10^10^10": "has no value for",
            "sqrt(-1)": "has no value for",
            "1e999": "1e999 is no finite number",
            "pow(2)": "pow takes 2 values, not 1",
        }.items()
    ),
    Broken(FLOPS, "(" * 200, f"{PLACE}{FLOPS}: '((((((", MODEL),
    Broken(FLOPS, YES, f"{PLACE}{FLOPS}: must be a number or a formula, not true", MODEL),
]

DELAY, EXTRA = "profiles.wait_60", f"{JOB}.extra_data"
BATSIM = [
    *times(f"{JOB}.subtime"),
    *times(f"{DELAY}.delay", above=True),
    *(fault for fault in times("jobs[0].walltime", above=True) if fault.value not in (None, -1)),
    *counts(f"{JOB}.res", high="the number of resources"),
    Broken("nb_res", 0, "nb_res: 0 is below 1"),
    Broken("nb_res", GONE, "nb_res: missing"),
    Broken("nb_res", "8", "nb_res: must be an integer, not '8'"),
    Broken("nb_res", 8.5, "nb_res: must be an integer, not 8.5"),
    Broken("nb_res", 3, f"{JOB}.res: 4 is above the number of resources 3"),
    Broken("jobs", GONE, "jobs: missing"),
    Broken("jobs", "none", "jobs: must be a list, not 'none'"),
    Broken("profiles", GONE, "profiles: missing"),
    Broken("profiles", [], "profiles: must be an object, not a list of 0"),
    Broken("profiles", {}, "jobs[0].profile: there is no profile 'wait_100'"),
    *(Broken(f"{JOB}.{name}", GONE, f"{JOB}.{name}: missing") for name in ("id", "subtime", "res")),
    Broken(f"{JOB}.profile", GONE, f"{JOB}.profile: missing"),
    Broken(JOB, None, f"{JOB}: must be an object, not null"),
    Broken(f"{JOB}.id", 1.5, f"{JOB}.id: must be a string or an integer, not 1.5"),
    Broken(f"{JOB}.id", "j0", f"{JOB}.name: 'j0' also names jobs[0]"),
    Broken(f"{JOB}.profile", "other", f"{JOB}.profile: there is no profile 'other'"),
    Broken(DELAY, [], f"{DELAY}: must be an object, not a list of 0"),
    Broken(f"{DELAY}.delay", GONE, f"{DELAY}.delay: missing"),
    Broken(f"{DELAY}.type", GONE, f"{DELAY}.type: the run time of null follows from a platform"),
    *(
        Broken(f"{DELAY}.type", kind, f"{DELAY}.type: the run time of '{kind}' follows from a platform")
        for kind in ("smpi", "parallel_homogeneous", "ParallelTaskProfile")
    ),
    Broken(DELAY, {"type": "composed"}, f"{DELAY}.seq: missing"),
    Broken(DELAY, {"type": "composed", "seq": []}, f"{DELAY}.seq: has 0 entries, at least 1"),
    Broken(DELAY, {"type": "composed", "seq": [60]}, f"{DELAY}.seq[0]: there is no profile 60"),
    Broken(DELAY, {"type": "composed", "seq": ["no"]}, f"{DELAY}.seq[0]: there is no profile 'no'"),
    Broken(DELAY, {"type": "composed", "seq": ["wait_60"]}, "profile 'wait_60' is made of more than 50 "),
    Broken(DELAY, {"type": "composed", "seq": ["wait_100"], "repeat": 0}, f"{DELAY}.repeat: 0 is below 1"),
    Broken(EXTRA, '{"allocsolve": {', f"{EXTRA}: line 1, column 17: Expecting proper"),
    Broken(EXTRA, '{"allocsolve": 7}', f"{EXTRA}.allocsolve: must be an object, not 7"),
    Broken(EXTRA, '{"allocsolve": {"nodes": 7}}', f"{EXTRA}.allocsolve: 'nodes' is a"),
    Broken(EXTRA, '{"allocsolve": {"wings": 2}}', f"{JOB}: unknown field 'wings'"),
    Broken(EXTRA, '{"allocsolve": {"weight": -1}}', f"{JOB}.weight: -1 is below 0"),
]
assert min(len(ELASTISIM), len(BATSIM)) >= 60


def broken(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a document with another value at a path such as jobs[1].res."""
    changed: Any = deepcopy(document)
    inner = changed
    steps = path.replace("[", ".#").replace("]", "").split(".")
    keys = [int(step[1:]) if step[0] == "#" else step for step in steps]
    for key in keys[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    assert isinstance(changed, dict)
    return changed


@pytest.mark.parametrize("name", ["elastisim", "batsim"])
def test_broken_workload_files(name: str, tmp_path: Path) -> None:
    cases, take = (ELASTISIM, read_elastisim) if name == "elastisim" else (BATSIM, read_batsim)
    with all_offenders() as offender:
        for number, case in enumerate(cases):
            folder = tmp_path / str(number)
            folder.mkdir()
            file = folder / case.file
            with offender(f"{case.path}={case.value!r:.40}"):
                if name == "elastisim":
                    write_elastisim(PROBLEM, folder)
                else:
                    write_batsim(PROBLEM, file)
                document = json.loads(file.read_text(encoding="utf-8"))
                file.write_text(json.dumps(broken(document, case.path, case.value)), encoding="utf-8")
                with pytest.raises(FormatError) as caught:
                    take(folder if name == "elastisim" else file)
                assert "\n" not in str(caught.value)
                assert case.said in str(caught.value)


def test_files_that_end_too_early(tmp_path: Path) -> None:
    write_elastisim(PROBLEM, tmp_path)
    write_batsim(PROBLEM, tmp_path / "workload.json")
    for name, take in ("jobs.json", read_elastisim), (MODEL, read_elastisim), ("workload.json", read_batsim):
        file = tmp_path / name
        whole = file.read_bytes()
        for end in range(0, len(whole) - 2, max(len(whole) // 60, 1)):
            file.write_bytes(whole[:end])
            with pytest.raises(FormatError) as caught:
                take(file if name != MODEL else tmp_path)
            assert "\n" not in str(caught.value)
        file.write_bytes(whole)


def test_platforms(tmp_path: Path) -> None:
    write_elastisim(PROBLEM, tmp_path)
    platform = tmp_path / "platform.xml"
    whole = platform.read_text(encoding="utf-8")
    platform.write_text(whole.replace('radical="10-17"', 'radical="0-3,9,20-22"'), encoding="utf-8")
    assert read_elastisim(tmp_path).problem.num_nodes == 8
    platform.write_text(whole.replace('radical="10-17"', 'radical="17-10"'), encoding="utf-8")
    with pytest.raises(FormatError, match="radical '17-10' is no set of numbers such as 0-99"):
        read_elastisim(tmp_path)
    platform.unlink()
    with pytest.raises(FormatError, match="nothing tells the number of nodes"):
        read_elastisim(tmp_path)
    found = read_elastisim(tmp_path, num_nodes=8)
    assert found.problem == PROBLEM
    assert found.unheld.counts == {"no platform.xml: hosts are taken to do 1e+09 operations a second": 1}


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "workload.json"
    write_batsim(PROBLEM, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document = broken(broken(document, "jobs[0].res", 0), "jobs[1].subtime", "x")
    path.write_text(json.dumps(document), encoding="utf-8")
    said = refused(capsys, "convert", path, tmp_path / "out.json")
    assert "jobs[0].res: 0 is below 1; jobs[1].subtime: must be a number, not 'x'" in said
