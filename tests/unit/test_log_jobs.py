"""What logs tell of jobs: machine, windows, limits; needs, partitions, eligible times, priorities."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import random
from typing import TYPE_CHECKING

import batch_logs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_tools import Capture, refused, run, run_json
from fuzz_changes import with_changed_bytes
from hypothesis import given, strategies as st
from json_tools import saved
from table_logs import counted
from workload_traces import atlas_problem, kit_problem, knl_problem, kth_problem, swf_log

from allocsolve.errors import AllocsolveError, FormatError, InvalidOption
from allocsolve.instances import (
    LogFields,
    log_problem,
    read_problem,
    read_solution,
    read_swf_log,
    read_table_log,
    recorded_schedule,
)
from allocsolve.instances.formats.logs.fields import head_starts, tres_needs
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.instances import JobLog


HEAD = "JobID|Submit|Eligible|Start|End|Timelimit|NNodes|Partition|Priority|AllocTRES|ReqTRES|State|User"
#: Half an hour on two nodes: GPUs with and without a type, a licence, a partition, a job without any of it.
ROWS = (
    "1|{d}08:00:00|{d}08:00:00|{d}08:10:00|{d}08:40:00|60|2|std|2000|{tres}|cpu=64,gres/gpu=8|COMPLETED|ann",
    "2|{d}08:01:00|{d}08:20:00|{d}08:30:00|{d}09:00:00|60|2|long|1500|cpu=64,mem=1T,node=2|cpu=64|COMPLETED|bob",
    "3|{d}08:02:00|Unknown|{d}08:30:00|{d}09:00:00|60|1|debug|3000||gres/gpu=1,node=1|COMPLETED|cem",
    "4|{d}08:03:00|{d}08:50:00|{d}08:30:00|{d}09:00:00|60|1|std|||| COMPLETED|dee",
    "4.batch|{d}08:03:00|x|{d}08:30:00|{d}09:00:00|60|1|std|||| COMPLETED|dee",
)
#: What the first one held.
TRES = "billing=8,cpu=64,gres/gpu:a100=8,gres/gpu=8,license/cfd=2,mem=480G,node=2"


def written(folder: Path, *rows: str, head: str = HEAD) -> Path:
    return saved(folder, "\n".join([head, *rows]).format(d="2024-03-04T", tres=TRES) + "\n", "log.txt")


def fields_of(problem: WorkloadProblem) -> list[dict[str, object]]:
    return [problem.jobs.requirements.of_job(idx) for idx in range(len(problem.jobs))]


def test_a_plain_import_leaves_all_of_it_out(tmp_path: Path) -> None:
    log = read_table_log(written(tmp_path, *ROWS), "sacct", num_nodes=10)
    assert log_problem(log).is_plain
    assert not {"no_needs", "no_partition", "no_priority"} & log.report.counts().keys()
    log = read_table_log(written(tmp_path, *ROWS), "sacct", num_nodes=10, fields=LogFields({"gpus:a100": 16}))
    assert log.asked.remark() == "left out, as no option names them (jobs): cfd (1), gpus (1)"
    assert fields_of(log_problem(log))[0] == {"needs": {"gpus:a100": 8}}


def test_what_is_asked_for_is_read(tmp_path: Path) -> None:
    fields = LogFields({"gpus": 16, "cfd": 4}, {"std": 6, "long": 4}, eligible=True, priority_age=(1000, 1))
    log = read_table_log(written(tmp_path, *ROWS), "sacct", num_nodes=10, fields=fields)
    problem = log_problem(log)
    assert dict(problem.resources) == {"gpus": 16, "cfd": 4, "std": 6, "long": 4}
    day = 86_400
    assert fields_of(problem) == [
        {"needs": {"gpus": 8, "cfd": 2}, "partition": "std", "boost": 2 * day - 600},
        {"partition": "long", "eligible": 1200, "boost": 1.5 * day - 1740},
        {"needs": {"gpus": 1}, "boost": 3 * day - 1680},
        {"partition": "std", "eligible": 1800},  # it was eligible when it started
    ]
    counts = log.report.counts()
    assert counts["no_needs"] == 1
    assert counts["no_partition"] == 0
    assert counts["no_priority"] == 1
    assert counts["eligible_after_start"] == 1
    assert log.asked.remark() == "left out, as no option names them (jobs): partition debug (1)"


def test_a_job_larger_than_what_there_is_is_dropped(tmp_path: Path) -> None:
    path = written(tmp_path, *ROWS)
    for fields in (LogFields({"gpus": 7}), LogFields(partitions={"long": 1})):
        log = read_table_log(path, "sacct", num_nodes=10, fields=fields)
        assert log.report.dropped["too_large"] == 1
        assert len(log.names) == 3


def test_a_resized_job_has_the_needs_of_its_largest_size(tmp_path: Path) -> None:
    rows = (
        "7|{d}08:00:00|{d}08:00:00|{d}08:00:00|{d}08:10:00|60|1|std|5|gres/gpu=4,node=1||RESIZING|u",
        "7|{d}08:00:00|{d}08:00:00|{d}08:10:00|{d}08:20:00|60|3|std|5|gres/gpu=12,node=3||RESIZING|u",
        "7|{d}08:00:00|{d}08:00:00|{d}08:20:00|{d}08:30:00|60|2|std|5|gres/gpu=8,node=2||COMPLETED|u",
    )
    log = read_table_log(
        written(tmp_path, *rows), "sacct", num_nodes=9, fields=LogFields({"gpus": 16}, {"std": 9})
    )
    assert fields_of(log_problem(log)) == [{"needs": {"gpus": 12}, "partition": "std"}]


def test_json_says_the_same(tmp_path: Path) -> None:
    job = json.loads(batch_logs.sacct_json(batch_logs.jobs(limit=120)[:1]))["jobs"][0]
    job |= {"job_id": 5, "partition": "std", "priority": {"set": True, "infinite": False, "number": 2000}}
    begin = batch_logs.EPOCH
    job["time"] |= {"eligible": begin + 60, "start": begin + 600, "end": begin + 4200}
    job["tres"]["allocated"] = [
        {"type": "node", "name": "", "count": 2},
        {"type": "gres", "name": "gpu:a100", "count": 8},
        {"type": "gres", "name": "gpu", "count": 8},
        {"type": "license", "name": "cfd", "count": 2},
    ]
    strange = {**job, "job_id": 6, "partition": ["x"], "priority": True}
    path = saved(tmp_path, {"jobs": [job, strange]}, "log.json")
    assert len(read_table_log(path, "sacct", num_nodes=9).names) == 2  # nobody asked
    fields = LogFields({"gpus": 16, "cfd": 2}, {"std": 6}, eligible=True, priority_age=(1000, 1))
    log = read_table_log(path, "sacct", num_nodes=9, fields=fields)
    assert log.names == ("5",)
    assert len(log.report.faults) == 1
    assert fields_of(log_problem(log)) == [
        {"needs": {"gpus": 8, "cfd": 2}, "partition": "std", "eligible": 60, "boost": 2 * 86_400 - 600}
    ]


def test_swf_tells_partitions(tmp_path: Path) -> None:
    line = "{0} {0}0 5 60 4 -1 -1 4 100 -1 1 7 1 1 0 {1} -1 -1\n"
    lines = [line.format(idx, number) for idx, number in enumerate((1, 2, -1, 1), 1)]
    path = saved(tmp_path, "; MaxProcs: 9\n" + "".join(lines), "log.swf")
    log = read_swf_log(path, fields=LogFields(partitions={"1": 5}))
    assert fields_of(log_problem(log)) == [{"partition": "1"}, {}, {}, {"partition": "1"}]
    assert log.asked.remark() == "left out, as no option names them (jobs): partition 2 (1)"
    assert log_problem(read_swf_log(path)).is_plain
    with pytest.raises(InvalidOption, match="--resources: the Standard Workload Format does not tell it"):
        read_swf_log(path, fields=LogFields({"gpus": 3}))


def test_pbs_tells_gpus_queues_and_eligible_times(tmp_path: Path) -> None:
    made = batch_logs.jobs()
    lines = batch_logs.pbs(made)
    begin = batch_logs.EPOCH
    lines[1] = lines[1].replace("Resource_List", f"etime={begin + 30} Resource_List.ngpus=3 Resource_List", 1)
    lines[3] = lines[3].replace("Resource_List", "Resource_List.select=2:ncpus=4:ngpus=2 Resource_List", 1)
    lines[5] = lines[5].replace(
        "exec_host", "exec_vnode=(n1:ncpus=4:ngpus=1)+(n2:ncpus=4:ngpus=2) exec_host", 1
    )
    path = saved(tmp_path, "\n".join(lines), "pbs.txt")
    fields = LogFields({"gpus": 9}, {"batch": 7}, eligible=True)
    log = read_table_log(path, "pbs", num_nodes=9, fields=fields)
    batch = {"partition": "batch"}
    assert fields_of(log_problem(log)) == [
        {"needs": {"gpus": 3}, "eligible": 30, **batch},
        {"needs": {"gpus": 4}, **batch},
        {"needs": {"gpus": 3}, **batch},
        batch,
        batch,
    ]
    assert log.report.counts()["no_needs"] == 0


def test_pods_tell_processors_and_memory(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
        "scheduled_time\n"
        "a,12000,16384,1,460,,LS,Running,0,90,0\n"
        "b,500,64,2,1000,T4,LS,Running,5,90,6\n"
        "c,500,64,1,1000,T4|P100,LS,Running,5,90,6\n",
        encoding="utf-8",
    )
    fields = LogFields({"millicpus": 99_000, "mib": 99_999, "milligpus:T4": 5000})
    log = read_table_log(path, "alibaba-gpu", fields=fields)
    assert fields_of(log_problem(log)) == [
        {"needs": {"millicpus": 12_000, "mib": 16_384}},
        {"needs": {"millicpus": 500, "mib": 64, "milligpus:T4": 2000}},
        {"needs": {"millicpus": 500, "mib": 64}},
    ]


def test_tables_of_parquet_tell_them(tmp_path: Path) -> None:
    begin = batch_logs.EPOCH
    rows: dict[str, list[object]] = {
        "job_id": [1, 2],
        "submit_time": [begin, begin],
        "start_time": [begin + 90, begin + 90],
        "end_time": [begin + 690, begin + 690],
        "run_time": [600, 600],
        "time_limit": [20, 20],
        "num_nodes_alloc": [1, 2],
        "num_gpus_alloc": [4, None],
        "num_gpus_req": [2, 8],
        "partition": ["p1", "p2"],
        "eligible_time": [begin, begin + 60],
        "priority": [2000, 1000],
        "unread": ["x", "y"],
    }
    pq.write_table(pa.table(rows), tmp_path / "jobs.parquet")
    fields = LogFields({"gpus": 99}, {"p1": 9}, eligible=True, priority_age=(1000, 1))
    log = read_table_log(tmp_path / "jobs.parquet", "pm100", fields=fields)
    assert fields_of(log_problem(log)) == [
        {"needs": {"gpus": 4}, "partition": "p1", "boost": 2 * 86_400 - 90},
        {"needs": {"gpus": 8}, "eligible": 60, "boost": 86_400 - 90},
    ]
    assert log_problem(read_table_log(tmp_path / "jobs.parquet", "pm100")).is_plain


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("", ""),
        ("cpu=8,mem=5G,node=1,billing=3", "none=0"),
        ("gres/gpu=4", "gpus=4"),
        ("gres/gpu:a100=2,gres/gpu:h100=3", "gpus:a100=2,gpus:h100=3,gpus=5"),
        ("gres/gpu=4,gres/gpu:a100=2", "gpus=4,gpus:a100=2"),
        ("license/cfd=2,gres/nvme=1,fs/disk=5,bb/datawarp=4", "cfd=2,nvme=1"),
        ("gres/gpumem=80G,gres/gpuutil=3", None),
    ],
)
def test_lists_of_resources(text: str, needs: str | None) -> None:
    if needs is None:
        with pytest.raises(ValueError, match="'80G' is no number"):
            tres_needs(text)
    else:
        assert tres_needs(text) == needs


def test_faults_are_told(tmp_path: Path) -> None:
    path = written(
        tmp_path, *ROWS, "9|{d}08:00:00|soon|{d}08:10:00|{d}08:40:00|60|2|std|high|gres/gpu=x||COMPLETED|u"
    )
    for fields, said in (
        (LogFields({"gpus": 9}), "line 7: AllocTRES needs: 'x' is no number"),
        (LogFields(eligible=True), "line 7: Eligible 'soon' is no time that is read"),
        (LogFields(priority_age=(1, 1)), "line 7: Priority 'high' is no whole number"),
    ):
        faults = read_table_log(path, "sacct", num_nodes=9, unit="nodes", fields=fields).report.faults
        assert len(faults) == 1
        assert faults[0].startswith(said)
    plain = written(tmp_path, "1|{d}08:00:00|{d}08:00:00|{d}09:00:00|1", head="JobID|Submit|Start|End|NNodes")
    for fields, option in (
        (LogFields({"gpus": 1}), "--resources: AllocTRES, ReqTRES"),
        (LogFields(partitions={"p": 1}), "--partitions: Partition"),
        (LogFields(eligible=True), "--eligible: Eligible, eligible_time, time.eligible"),
        (LogFields(priority_age=(1, 1)), "--priority-age: Priority"),
    ):
        with pytest.raises(FormatError) as caught:
            read_table_log(plain, "sacct", num_nodes=9, fields=fields)
        assert f"no column for {option}" in str(caught.value)
    for bad in (
        {"resources": {"gpus": 0}},
        {"resources": {"nodes": 4}},
        {"resources": {"p": 4}, "partitions": {"p": 4}},
        {"priority_age": (0, 7)},
        {"priority_age": (5, float("nan"))},
    ):
        with pytest.raises(InvalidOption):
            LogFields(**bad)


def _broken(folder: Path, name: str, good: bytes, rng: random.Random) -> str:
    """Return what is said of a file whose bytes are changed: faults of lines, or why it is refused."""
    path = folder / f"broken.{name}"
    path.write_bytes(with_changed_bytes(rng, good, b"|=;,:+- \n"))
    fields = LogFields({} if name == "swf" else {"gpus": 16}, {"std": 6, "batch": 6, "1": 5}, name != "swf")
    try:
        if name == "swf":
            log = read_swf_log(path, num_nodes=10, fields=fields)
        else:
            log = read_table_log(path, name, num_nodes=10, fields=fields)
        log_problem(log)
    except AllocsolveError as fault:
        return str(fault)
    return " ".join(log.report.faults)


@pytest.mark.parametrize("name", ["sacct", "pbs", "swf"])
def test_broken_files_give_one_line(name: str, tmp_path: Path) -> None:
    """60 files and more."""
    good = {
        "sacct": written(tmp_path, *ROWS).read_bytes(),
        "pbs": "\n".join(batch_logs.pbs(batch_logs.jobs())).encode(),
        "swf": b"; MaxProcs: 9\n"
        + b"".join(
            b"%d %d 5 60 4 -1 -1 4 100 -1 1 7 1 1 0 %d -1 -1\n" % (idx, idx, idx % 2) for idx in range(1, 5)
        ),
    }[name]
    rng = random.Random(name)
    said = [_broken(tmp_path, name, good, rng) for _ in range(150)]
    assert not [fault for fault in said if "\n" in fault]
    assert len([fault for fault in said if fault]) >= 60


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)), min_size=2, max_size=6
    ),
    weight=st.integers(1, 10**4),
)
def test_the_head_start_gives_the_order_by_priority(jobs: list[tuple[int, int, int]], weight: int) -> None:
    """At any instant jobs below the maximal age stand by submission minus head start as by priority."""
    submits, others, waits = (np.array(column, dtype=float) for column in zip(*jobs, strict=True))
    days = 30.0
    oldest = 86_400 * days
    at_start = others + weight * waits / oldest  # the last priority
    boost = head_starts(at_start, submits, submits + waits, weight, days)
    now = submits.max()
    by_priority = others + weight * (now - submits) / oldest
    ahead = submits - boost
    for one in range(len(jobs)):
        for other in range(len(jobs)):
            if ahead[one] < ahead[other] - 2:  # whole seconds
                assert by_priority[one] > by_priority[other]


def test_the_command_asks(tmp_path: Path, capsys: Capture) -> None:
    path, out = written(tmp_path, *ROWS), tmp_path / "p.json"
    asked = ("--nodes", 10, "--resources", "gpus=16", "--partitions", "std=6,long=4,debug=1", "--eligible")
    closed = ("--closed", "2024-03-04T08:15+30m,gpus=12", "--closed", "2024-03-04T12:00/2024-03-04T13:00")
    said = run(capsys, "import", path, *asked, *closed, "--out", out)
    assert "left out, as no option names them (jobs): cfd (1)\n" in said
    assert "2 recorded jobs ran when more was in use than the closed windows leave" in said
    problem = read_problem(out)
    assert isinstance(problem, WorkloadProblem)
    assert [(window.start, window.end, dict(window.amounts)) for window in problem.closed] == [
        (900, 2700, {"gpus": 12}),
        (14_400, 18_000, {}),
    ]
    command = ("import", path, "--nodes", 10, "--out", out, "--force")
    document = run_json(capsys, *command, "--resources", "gpus=16")
    assert document["remarks"] == ["left out, as no option names them (jobs): cfd (1)"]
    for option, value, words in (
        ("--resources", "gpus", "'gpus' is not of the form NAME=N"),
        ("--resources", "gpus=0", "'0' is below 1"),
        ("--resources", "a=1,a=2", "'a' stands there twice"),
        ("--priority-age", "5", "'5' is not of the form WEIGHT,DAYS"),
        ("--priority-age", "5,0", "'5,0' is not two finite numbers above 0"),
        ("--closed", "8h", "is no window such as"),
        ("--closed", "2024-03-04T08:15+30m,tapes=1", "the machine has no 'tapes'"),
        ("--events", "nowhere.txt", "nowhere.txt: cannot be read"),
    ):
        message = refused(capsys, *command, option, value)
        assert words in message


# --- The Standard Workload Format ---------------------------------------------------------------------


HEADER = "; MaxProcs: 100\n; UnixStartTime: 1000000\n"


def job(
    number: object,
    submit: object = 0,
    run: object = 60,
    size: object = 4,
    *,
    wait: object = 5,
    requested: object = -1,
    limit: object = 3600,
    status: object = 1,
    user: object = 3,
    more: str = "",
) -> str:
    fields = [number, submit, wait, run, size, -1, -1, requested, limit, -1, status, user, *[-1] * 6]
    return f"{' '.join(map(str, fields))}{more}\n"


def read(folder: Path, text: str, **options: object) -> JobLog:
    path = saved(folder, text, "log.swf")
    return read_swf_log(path, **options)  # type: ignore[arg-type]  # as the test has them


@given(
    rows=st.lists(
        st.tuples(*(st.sampled_from([-1, 0, 5, 2.5]) for _ in range(3)), st.sampled_from([4, 999])),
        min_size=1,
        max_size=6,
    )
)
def test_what_holds_jobs_back_and_is_left_out_is_told(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float, float, int]]
) -> None:
    """Of the jobs that are kept, those with a requested memory, a dependency or a think time above 0."""
    text = ""
    for number, (memory, before, think, size) in enumerate(rows, 1):
        fields = job(number, number, size=size).split()
        fields[9], fields[16], fields[17] = map(str, (memory, before, think))
        text += f"{' '.join(fields)}\n"
    log = read(tmp_path_factory.mktemp("log"), HEADER + text)
    kept = [row for row in rows if row[3] == 4]
    counts = [sum(row[column] > 0 for row in kept) for column in range(3)]
    named = dict(zip(("requested memory", "dependency", "think time"), counts, strict=True))
    assert log.asked.left_out == {name: count for name, count in named.items() if count}
    assert (log.asked.remark() is None) == (not any(counts))


def test_the_commands_tell_what_is_left_out(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "log.swf"
    first, second = job(1).split(), job(2, 9).split()
    second[16:] = ["1", "10"]
    log.write_text(f"{HEADER}{' '.join(first)}\n{' '.join(second)}\n")
    line = "left out, as no option names them (jobs): dependency (1), think time (1)"
    assert line in run(capsys, "import", log, "--out", tmp_path / "p.json").splitlines()
    told = run_json(capsys, "convert", log, tmp_path / "q.json")
    assert {"dependency of jobs", "think time of jobs"} <= {*told["not_read"]}


def test_a_clean_log_is_a_workload(tmp_path: Path) -> None:
    log = read(tmp_path, HEADER + job(7, 50) + job(9, 60.5, 61.25, 100, wait=0, user=-1))
    problem = log_problem(log)
    assert problem.num_nodes == 100
    assert problem.name == "log"
    assert [dataclasses.astuple(row)[:6] for row in problem.jobs] == [
        (0, 4, 60, 3600, "7", "3"),
        (10.5, 100, 61.25, 3600, "9", None),
    ]
    assert problem.meta["unix_time"] == 1_000_050
    assert str(log.machine) == "100 processors (MaxProcs of the header)"
    assert not any(column.flags.writeable for column in (log.submits, log.runs, log.nodes, log.limits))
    schedule = recorded_schedule(log)
    assert [schedule.pieces(idx) for idx in range(2)] == [((5, 65, 4),), ((10.5, 71.75, 100),)]
    assert workload_violations(problem, schedule) == (
        "from 10.5 s to 65 s up to 104 nodes are held (first at 10.5 s) on a cluster of 100",
    )
    assert log_problem(log, origin="header").jobs[0].submit == 50


def test_every_line_is_counted(tmp_path: Path) -> None:
    lines = [
        job(1),
        "garbage\n",
        job(2, run=0, status=5),
        job(3, run=-1, size=-1, status=5),
        job(4, run=0),
        job(5, size=-1),
        job(6, size=101),
        job(7, size=-1, requested=8),
        job(8, 3, limit=-1),
        job(1, 1),
        job(9, 2, limit=59),
        job(10, wait=-1),
        job(11, 4, status=0),
        job(11, 4, 20, status=2),
        job(11, 4, 40, status=3),
        job(12, 4, more=" 0 0 x"),
    ]
    log = read(tmp_path, HEADER + "".join(lines))
    once = ["faulty", "no_run_time", "no_size", "too_large", "duplicates", "requested_size", "raised_limit"]
    once += ["no_limit", "no_recorded_start", "more_fields"]
    counts = {"job_lines": 16, "partial": 2, "cancelled": 2, "kept": 7, "unsorted": 2}
    assert counted(log) == counts | dict.fromkeys(once, 1)
    assert log.names == ("1", "7", "10", "9", "8", "11", "12")
    assert log.limits[3] == 60
    assert math.isnan(log.limits[4])
    assert log_problem(log).jobs[4].limit is None
    assert log.report.faults == ("line 4: 1 fields instead of 18",)
    assert workload_violations(log_problem(log), recorded_schedule(log)) == ("job '10' never runs",)


def test_limits_are_left_and_jobs_cut_at_them_if_asked(tmp_path: Path) -> None:
    """The run time and the recorded end are the limit; a job without one is left alone."""
    log = read(tmp_path, HEADER + job(1, limit=59), limits="keep")
    assert log.limits.tolist() == [59]
    assert counted(log) == {"job_lines": 1, "kept": 1, "above_limit": 1}
    assert log_problem(log).jobs[0].limit == 59
    lines = HEADER + job(1, limit=59) + job(2, limit=61) + job(3, limit=-1)
    log = read(tmp_path, lines, limits="cut")
    assert log.limits.tolist()[:2] == [59, 61]
    assert log.runs.tolist() == [59, 60, 60]
    assert (log.ends - log.starts).tolist() == [59, 60, 60]
    assert log.report.changed["cut_at_limit"] == 1
    assert log.report.unusual["above_limit"] == log.report.changed["raised_limit"] == 0
    assert log_problem(log).meta["limits"] == "cut"


def test_a_later_run_of_one_job_has_a_name_of_its_own(tmp_path: Path) -> None:
    log = read(tmp_path, HEADER + job(1) + job(1, 100) + job(1, 60, 1) + job(1, 110))
    assert log.names == ("1", "1#3", "1#2")
    assert counted(log) == {"job_lines": 4, "duplicates": 1, "kept": 3, "requeued": 2, "unsorted": 1}


BOTH = "MaxProcs: 64\n; MaxNodes: 8"


@pytest.mark.parametrize(
    ("header", "sizes", "options", "machine", "taken"),
    [
        (BOTH, (8, 64), {}, "8 nodes (MaxNodes of the header; 8 processors each)", (1, 8)),
        (BOTH, (8, 63), {}, "64 processors (MaxProcs of the header)", (8, 63)),
        (BOTH, (8, 63), {"unit": "nodes"}, "8 nodes (MaxNodes of the header; 8 processors each)", (1, 8)),
        (BOTH, (8, 64), {"unit": "processors"}, "64 processors (MaxProcs of the header)", (8, 64)),
        (BOTH, (8, 64), {"num_nodes": 64}, "64 processors (given)", (8, 64)),
        (BOTH, (8, 56), {"num_nodes": 7}, "7 nodes (given; 8 processors each)", (1, 7)),
        ("MaxProcs: 512", (8, 338), {"num_nodes": 338}, "338 processors (given)", (8, 338)),
        ("MaxNodes: 16 (of 4)", (4, 16), {}, "16 nodes (MaxNodes of the header)", (4, 16)),
        ("MaxProcs: 100\n; MaxNodes: 100", (4, 16), {}, "100 nodes (MaxNodes of the header)", (4, 16)),
        ("MaxProcs: 24048\n; MaxNodes: 1172", (20,), {}, "24048 processors (MaxProcs of the header)", (20,)),
        ("Note: none", (4, 16), {"num_nodes": 20}, "20 processors (given)", (4, 16)),
    ],
)
def test_the_machine_is_told(
    header: str,
    sizes: tuple[int, ...],
    options: dict[str, object],
    machine: str,
    taken: object,
    tmp_path: Path,
) -> None:
    text = f"; {header}\n" + "".join(job(idx, size=size) for idx, size in enumerate(sizes))
    log = read(tmp_path, text, **options)
    assert str(log.machine) == machine
    assert tuple(log.nodes.tolist()) == taken


def test_a_part_of_a_node_counts_as_a_whole_one(tmp_path: Path) -> None:
    text = "; MaxProcs: 64\n; MaxNodes: 8\n" + job(1, size=9) + job(2, size=8)
    log = read(tmp_path, text, unit="nodes")
    assert log.nodes.tolist() == [2, 1]
    assert counted(log) == {"job_lines": 2, "kept": 2, "part_of_a_node": 1}


def test_logs_of_frontier_tell_nodes_in_field_21(tmp_path: Path) -> None:
    text = (
        "; UnixStartTime: 5\n"
        + job(1, size=280000, more=" 8 60 frontier:excl:2500x112")
        + job(2, size=2, more=" 8 60 frontier:excl:2x112")
    )
    log = read(tmp_path, text, num_nodes=9408)
    assert log.nodes.tolist() == [2500, 2]
    assert str(log.machine) == "9408 nodes (sizes of field 21, given)"
    assert read(tmp_path, text, num_nodes=10**6, unit="processors").nodes.tolist() == [280_000, 224]
    with pytest.raises(FormatError, match=r"size of the machine: .*jobs held up to 2502 at a time"):
        read(tmp_path, text)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="MaxProcs 100 of the header is no multiple of MaxNodes 33"):
        read(tmp_path, "; MaxProcs: 100\n; MaxNodes: 33\n" + job(1), unit="nodes")
    for options, fault in (
        ({"num_nodes": 0}, r"num_nodes 0 is not in 1\.\.2\^53"),
        ({"unit": "cores"}, "unknown unit 'cores'"),
        ({"limits": "none"}, "unknown limits 'none'"),
    ):
        with pytest.raises(AllocsolveError, match=fault):
            read(tmp_path, HEADER + job(1), **options)
    log = read(tmp_path, HEADER + job(1, wait=-1))
    with pytest.raises(FormatError, match="it tells the start of no job"):
        recorded_schedule(log)
    with pytest.raises(InvalidOption, match=r"jobs from 2 on of log\.swf: it has 1"):
        log_problem(log, from_job=2)
    with pytest.raises(InvalidOption, match=r"log.swf: none of its jobs can be used \(0 job lines\)"):
        log_problem(read(tmp_path, HEADER))
    with pytest.raises(InvalidOption, match="warm_up -1 is not in"):
        log_problem(log, warm_up=-1)


def test_windows_and_weights(tmp_path: Path) -> None:
    log = read(tmp_path, HEADER + "".join(job(idx, 10 * idx) for idx in range(1, 9)))
    problem = log_problem(log, from_job=3, jobs=5, warm_up=10, cool_down=15)
    assert problem.name == "log-from3-jobs5"
    assert problem.packed.submit.tolist() == [0, 10, 20, 30, 40]
    assert problem.packed.weight.tolist() == [0, 1, 1, 0, 0]
    assert problem.meta["unix_time"] == 1_000_030
    assert recorded_schedule(log, from_job=3, jobs=5).first_starts.tolist() == [5, 15, 25, 35, 45]


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    log, out, recorded = tmp_path / "log.swf.gz", tmp_path / "p.json", tmp_path / "r.csv"
    lines = [job(idx, idx, 60 + idx, idx) for idx in range(1, 8)]
    log.write_bytes(gzip.compress((HEADER + "".join(lines) + "not a job\n").encode()))
    argv = ("import", log, "--out", out, "--recorded", recorded, "--num-jobs", 3)
    text = run(capsys, *argv)
    assert text.startswith("8 job lines, 1 faulty, 7 kept; line 10: 3 fields instead of 18\n")
    assert "machine: 100 processors (MaxProcs of the header)\n" in text
    assert "the schedule as recorded, no violation" in text
    problem = read_problem(out)
    assert isinstance(problem, WorkloadProblem)
    assert problem.packed.runtime.tolist() == [61, 62, 63]
    assert read_solution(recorded, problem) == recorded_schedule(read_swf_log(log), jobs=3)
    told = run_json(capsys, *argv, "--force", "--nodes", 5, "--warm-up", 1)
    assert (told["log"]["kept"], told["log"]["too_large"]) == (5, 2)
    assert told["violations"] == ["from 7 s to 66 s up to 6 nodes are held (first at 7 s) on a cluster of 5"]
    assert told["machine"] == "5 processors (given)"
    assert "r.csv: exists" in refused(capsys, "import", log, "--out", tmp_path / "q", "--recorded", recorded)


def test_real_logs(traces: Path) -> None:
    kth, atlas, kit, knl = (make(traces) for make in (kth_problem, atlas_problem, kit_problem, knl_problem))
    assert (kth.num_nodes, len(kth.jobs)) == (100, 28_467)
    dropped = {"no_run_time": 8, "no_size": 1}
    assert kth.meta["cleaning"] == {"job_lines": 28_476, "kept": 28_467, "raised_limit": 475, **dropped}
    assert (atlas.num_nodes, len(atlas.jobs)) == (1152, 36_600)
    assert atlas.meta["machine"] == "1152 nodes (MaxNodes of the header; 8 processors each)"
    assert (kit.num_nodes, len(kit.jobs)) == (24_048, 9988)
    assert (knl.num_nodes, len(knl.jobs)) == (9688, 41_524)
    recorded = recorded_schedule(swf_log(traces, "KTH-SP2-1996-2.1-cln"))
    broken = workload_violations(kth, recorded)
    assert len(broken) == 23
    assert broken[0].startswith("from 1889398 s to 1889419 s up to 101 nodes are held")
