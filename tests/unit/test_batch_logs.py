"""Logs of batch systems: which lines are runs, how large they are, when they ran, and which format it is."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from batch_logs import EPOCH, WRITERS, good, jobs, lsf, pbs, read, sacct_json, sge, text
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from json_tools import saved
from table_logs import counted
from workload_traces import trace

from allocsolve.errors import AllocsolveError, FormatError
from allocsolve.instances import log_format, log_problem, read_swf_log, read_table_log, recorded_schedule
from allocsolve.instances.formats.logs import lines as log_lines, pbs as log_pbs, slurm as log_slurm
from allocsolve.instances.formats.logs.lines import LogText, read_text
from allocsolve.judge import workload_metrics
from allocsolve.judge.workload.rules import workload_violations

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_tells_the_same_jobs(name: str, packed: bool, tmp_path: Path) -> None:
    content = WRITERS[name](good(name)).encode()
    unit = {"unit": "nodes"} if name in {"pbs", "lsf", "sacct", "philly", "evalys"} else {}
    log = read(name, tmp_path, gzip.compress(content) if packed else content, **unit)
    assert log.names == ("501", "502", "503", "504", "505")
    zero = 0 if name in {"alibaba-gpu", "evalys"} else EPOCH
    assert log.submits.tolist() == [zero + 600 * idx for idx in range(5)]
    assert (log.starts - log.submits).tolist() == [60] * 5
    assert (log.ends - log.starts).tolist() == log.runs.tolist() == [3600] * 5
    sizes = {"sge": [8, 8, 8, 8, 12], "alibaba-gpu": [1000, 1000, 1000, 1000, 1500]}
    assert log.nodes.tolist() == sizes.get(name, [2, 2, 2, 2, 3])
    no_limit = name in {"lsf", "alibaba-gpu", "philly"}
    assert all(map(math.isnan, log.limits)) if no_limit else log.limits.tolist() == [7200] * 5
    assert log.users == ((None,) * 5 if name in {"alibaba-gpu", "evalys"} else ("ann",) * 5)
    assert log.report.faults == ()
    assert workload_violations(log_problem(log), recorded_schedule(log)) == ()
    assert log_format(tmp_path / "log") == name
    twice = WRITERS[name]([*good(name), *good(name)[:2]])
    log = read(name, tmp_path, twice)
    assert (log.report.dropped["duplicates"], len(log.names)) == (2, 5)
    for end in ("\r\n", "\n\n"):
        marked = "\ufeff" + content.decode().replace("\n", end)
        assert len(read(name, tmp_path, marked).names) == 5


def test_processors_and_gpus(tmp_path: Path) -> None:
    for name, unit, sizes in (
        ("pbs", "processors", [8, 8, 8, 8, 12]),
        ("lsf", "processors", [8, 8, 8, 8, 12]),
        ("sacct", "processors", [8, 8, 8, 8, 12]),
        ("sacct", "gpus", [2] * 5),
        ("philly", "gpus", [8, 8, 8, 8, 12]),
        ("alibaba-gpu", "gpus", [2, 2, 2, 2, 3]),
    ):
        log = read(name, tmp_path, WRITERS[name](good(name)), unit=unit)
        assert (name, unit, log.nodes.tolist()) == (name, unit, sizes)
        assert log.machine.unit == unit


# --- PBS -----------------------------------------------------------------------------------------------


def test_spellings_of_pbs() -> None:
    for held, *counts in (
        ("n1/0", "1", "1"),
        ("n1/0+n1/1+n2/0", "2", "3"),
        ("n1/0-3", "1", "4"),
        ("n1/0-3+n2/0-1,7", "2", "7"),
        ("n1/0*4+n2/0*4", "2", "8"),
        ("n1/1*16+n1/2*16", "1", "32"),
        ("n01[0]/0*16+n01[1]/0*16", "1", "32"),
        ("n01[0]/0*16+n02[0]/0*16", "2", "32"),
        ("n1.cluster.org/0*2", "1", "2"),
        ("n1", "1", "1"),
    ):
        assert [log_pbs.hosts_of_exec_host(held), log_pbs.slots_of_exec_host(held)] == counts, held
    for held, hosts, *sums in (
        ("(n1:ncpus=4)", "1", "4", ""),
        ("(n1[0]:ncpus=4:mem=2gb+n1[1]:ncpus=2)+(n2:ncpus=4:ngpus=2)", "2", "10", "2"),
        ("(n1:mem=4gb)", "1", "", ""),
        ("", "", "", ""),
    ):
        assert log_pbs.hosts_of_exec_vnode(held) == hosts, held
        assert [log_pbs.sum_of_exec_vnode(name, held) for name in ("ncpus", "ngpus")] == sums, held
    several = "2:fat:ppn=4:gpus=1+n07:ppn=2"
    for asked, told in {
        "2:ppn=4": {"": "2", "ppn": "8"},
        several: {"": "3", "ppn": "10", "gpus": "2"},
        "n01+n02:ppn=2": {"ppn": "3"},
        "3:fat+2:ppn=4": {"ppn": "11"},
        "2:mem=4gb+1:ncpus=8": {"ncpus": "10"},
        "n01:ppn=0+n02": {"ppn": "1"},
        "2:gpus=1+n07": {"gpus": "2"},
        "n01+n02": {"": "2"},
        "4": {"ppn": ""},
        "2:ncpus=16:mpiprocs=16+1:ncpus=8": {"ncpus": "40"},
        "2#excl": {"": "2"},
    }.items():
        assert {name: log_pbs.chunks(name, asked) for name in told} == told, asked


def test_records_of_pbs_that_are_no_runs(tmp_path: Path) -> None:
    lines = pbs(jobs())
    lines += [
        "03/04/2024 00:00:00;L;license;floating license hour:0 day:0",
        "03/04/2024 08:30:00;A;601[3].head01;aborted",
        "03/04/2024 10:00:00;D;602.head01;requestor=cem@head01",
        f"03/04/2024 11:30:00;R;603.head01;user=dee ctime={EPOCH} start={EPOCH + 1} end={EPOCH + 2}",
        f"03/04/2024 11:30:00;E;604[].head01;user=dee ctime={EPOCH} start={EPOCH + 1} end={EPOCH + 2}",
    ]
    assert counted(read("pbs", tmp_path, text(lines))) == {"job_lines": 15, "other_records": 10, "kept": 5}


def record(name: str, values: str, stamp: str = "03/04/2024 09:00:00") -> str:
    return f"{stamp};E;{name};user=ann {values}"


TIMES = f"ctime={EPOCH} start={EPOCH + 60} end={EPOCH + 660}"


def test_traps_of_pbs(tmp_path: Path) -> None:
    held = "exec_host=n1/0*4"
    second, used = f"ctime={EPOCH} start={EPOCH} end={EPOCH + 1}", "resources_used.walltime"
    lines = [
        record("1.a", f"jobname=user=bob start=5 end=7 queue=q {TIMES} {held}"),
        record("2[7].a", f"{TIMES} {held} run_count=2"),
        record("2[8].a", f"{TIMES} {held} {used}=00:02:00"),  # it was suspended
        record("3.a", f"qtime={EPOCH} start={EPOCH + 60} {held}", "03/04/2024 08:11:00.123456"),
        record("4.a", f"{second} Resource_List.nodes=3:ppn=2"),
        record("5.a", f"{second} exec_vnode=(n1:ncpus=2)+(n2:ncpus=2)"),
        record("1.b", f"{TIMES} {held}"),  # of another server
        record("6.a", f"ctime={EPOCH} start=0 end={EPOCH + 9} {held} {used}=00:00:00"),
        record("7.a", f"{TIMES} {held} Resource_List.walltime=00:05:00 Exit_status=-11"),
    ]
    log = read("pbs", tmp_path, text(lines))
    assert log.names == ("1", "2[7]", "2[8]", "3", "4", "5", "1.b", "7")
    assert log.users == ("ann",) * 8
    assert log.runs.tolist() == [600, 600, 600, 600, 1, 1, 600, 600]
    assert log.nodes.tolist() == [1, 1, 1, 1, 3, 2, 1, 1]
    assert log.limits.tolist()[-1] == 600
    changed = {"requested_size": 1, "raised_limit": 1, "no_limit": 7}
    assert counted(log) == {"job_lines": 9, "no_run_time": 1, "kept": 8, **changed}


def test_a_run_that_was_queued_again(tmp_path: Path) -> None:
    later = f"ctime={EPOCH} start={EPOCH + 1000} end={EPOCH + 1600}"
    lines = [record("1.a", f"{times} exec_host=n1/0") for times in (TIMES, later, TIMES)]
    log = read("pbs", tmp_path, text(lines))
    assert log.names == ("1", "1#2")
    assert counted(log)["duplicates"] == counted(log)["requeued"] == 1


# --- Grid Engine ---------------------------------------------------------------------------------------


def test_traps_of_sge(tmp_path: Path) -> None:
    made = jobs()
    lines = sge(made)
    lines[1] = lines[1].replace(":a:b:", ":12:34:56:run 7:")  # a name of numbers and colons
    lines[2] = lines[2].replace("h_rt=7200", "h_rt=02:00:00")
    lines[3] = lines[3].replace(":mpi:8:0:", ":mpi:8:3:")  # a task of an array
    lines[4] = lines[4].replace("h_rt=7200", "h_rt=INFINITY")
    lines[5] = lines[5].replace(str(made[4].start), "0")  # could not be started
    lines.insert(0, "# Another comment")
    lines += ["", "#", lines[2].replace(":NONE:", ":1.n2:")]  # a task of a parallel job
    log = read("sge", tmp_path, text(lines))
    assert log_format(tmp_path / "log") == "sge"
    assert log.names == ("501", "502", "503.3", "504")
    assert [limit == 7200 for limit in log.limits] == [True, True, True, False]
    assert counted(log) == {"job_lines": 6, "steps": 1, "no_run_time": 1, "kept": 4, "no_limit": 1}


def test_short_lines_of_old_versions_and_milliseconds(tmp_path: Path) -> None:
    lines = [line.partition(":-pe")[0] for line in sge(jobs())]
    assert read("sge", tmp_path, text(lines)).nodes.tolist() == [8, 8, 8, 8, 12]
    made = [
        replace(job, submit=1000 * job.submit, start=1000 * job.start, end=1000 * job.end) for job in jobs()
    ]
    with pytest.raises(FormatError, match="say --time-unit ms"):
        read("sge", tmp_path, text(sge(made)))
    assert read("sge", tmp_path, text(sge(made)), time_unit="ms").runs.tolist() == [3600] * 5


# --- LSF -----------------------------------------------------------------------------------------------


def test_traps_of_lsf(tmp_path: Path) -> None:
    made = jobs()
    lines = lsf(made)
    lines[0] = lines[0].replace(' 0 2 "4*n0"', ' 2 "n0" "n 1" 2 "4*n0"')  # hosts that were asked for
    lines[1] = lines[1].replace('2 "4*n0" "4*n1"', '4 "n0" "n0" "n0" "n1"')
    lines[2] = lines[2].replace('0 8 "" "" 0 0 0', '0 8 "" "" 17 0 0')
    lines[3] = lines[3].replace(f'{made[3].start} "ann"', '0 "ann"').replace('2 "4*n0" "4*n1"', "0")
    lines.append(f'"EVENT_ADRSV_FINISH" "10.1" {EPOCH} 1 2 3')
    log = read("lsf", tmp_path, text(lines))
    assert log.names == ("501", "502", "503[17]", "505")
    assert log.nodes.tolist() == [2, 2, 2, 3]
    assert read("lsf", tmp_path, text(lines), unit="processors").nodes.tolist() == [8, 4, 8, 12]
    assert counted(log)["other_records"] == counted(log)["no_run_time"] == 1


# --- sacct ---------------------------------------------------------------------------------------------


def test_numbers_of_older_and_newer_versions(tmp_path: Path) -> None:
    document = json.loads(sacct_json(jobs(limit=120)))
    first, second, third, fourth, fifth = document["jobs"]
    first["time"]["limit"] = 120  # plain, as before 22.05
    first["state"] = {"current": "COMPLETED"}
    second["time"]["limit"] = {"set": False, "infinite": True, "number": 0}
    second["user"] = "bob"
    third["time"] |= {"start": 0, "elapsed": 0}
    third["state"]["current"] = ["CANCELLED"]
    fourth["time"] |= {"end": 0}
    fourth["state"]["current"] = ["RUNNING"]
    fifth["allocation_nodes"] = {"set": True, "infinite": False, "number": 3}
    fifth["het"] = {"job_id": 500, "job_offset": {"set": True, "infinite": False, "number": 1}}
    log = read("sacct", tmp_path, json.dumps(document))
    assert log.names == ("501", "502", "505")
    assert log.users == ("ann", "bob", "ann")
    assert log.limits.tolist()[0] == 7200
    assert log.nodes.tolist() == [2, 2, 3]
    assert counted(log) == {"job_lines": 5, "cancelled": 1, "unfinished": 1, "kept": 3, "no_limit": 1}


KEYS = st.text(max_size=3)
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=9)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)
JOBS = st.lists(st.dictionaries(KEYS, st.integers() | st.text(max_size=9), max_size=3), max_size=5)


@given(st.dictionaries(KEYS, VALUES, max_size=4), JOBS, st.integers(1, 9), st.sampled_from([None, 1]))
def test_a_document_is_read_in_parts_as_in_one(
    tmp_path_factory: pytest.TempPathFactory, rest: Any, inner: list[Any], part: int, indent: int | None
) -> None:
    """Whatever stands around the jobs, and wherever the parts end."""
    document = {**{key: value for key, value in rest.items() if key != "jobs"}, "jobs": inner}
    path = tmp_path_factory.mktemp("json") / "log"
    path.write_text(json.dumps(document, indent=indent, ensure_ascii=False), encoding="utf-8")
    seen: list[object] = []

    def parse(log: LogText) -> None:
        read_rows = log_slurm.json_rows(log)
        assert read_rows is not None
        assert len([*read_rows.rows]) == len(inner)

    def keep(job: object) -> list[str]:
        seen.append(job)
        return []

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(log_lines, "_PART", part)
        patched.setattr(log_slurm, "_cells", keep)
        read_text(path, parse)
    assert seen == inner


def test_gpus_with_and_without_a_type_are_not_added() -> None:
    for resources, gpus in {
        "billing=64,cpu=64,gres/gpu:a100=4,gres/gpu=4,mem=480G,node=2": "4",
        "gres/gpu:a100=4,gres/gpu:v100=2,node=2": "6",
        "gres/gpu=1,gres/gpu:1g.5gb=1": "1",
        "gres/gpumem=80G,gres/gpuutil=99,cpu=4": "0",
        "gres/gpu=3": "3",
        "": "",
    }.items():
        assert log_slurm.tres_count("gpu", resources) == gpus, resources


def test_columns_of_trackable_resources(tmp_path: Path) -> None:
    rows = [
        "JobID|User|Submit|Start|End|Timelimit|ReqTRES|AllocTRES|State",
        f"1|ann|{EPOCH}|{EPOCH}|{EPOCH + 60}|5|node=9|cpu=64,gres/gpu:h100=8,gres/gpu=8,node=2|COMPLETED",
        f"1.batch|ann|{EPOCH}|{EPOCH}|{EPOCH + 60}|5|node=9|cpu=64,node=2|COMPLETED",
        f"2|bob|{EPOCH}|{EPOCH}|{EPOCH + 60}|5|cpu=4,gres/gpu=2,node=1||COMPLETED",
        f"3|bob|{EPOCH}|{EPOCH}|{EPOCH + 60}|5||cpu=4,node=1,mem=4G|COMPLETED",
        f"4|bob|{EPOCH}|{EPOCH}|{EPOCH + 60}|5||cpu=4,node=x|COMPLETED",
    ]
    for unit, sizes in (("nodes", [2, 1, 1]), ("processors", [64, 4, 4]), ("gpus", [8, 2])):
        lines = rows if unit == "nodes" else rows[:-1]
        log = read("sacct", tmp_path, text(lines), unit=unit)
        assert (unit, log.nodes.tolist()) == (unit, sizes)
        faults = ("line 6: AllocTRES node: 'x' is no number",) if unit == "nodes" else ()
        assert log.report.faults == faults
    assert counted(log)["no_size"] == 1  # GPUs: it has none


def test_all_columns_that_would_tell_a_size_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read("sacct", tmp_path, "JobID|Submit|Start|End\n")
    for column in ("AllocNodes", "NNodes", "AllocTRES", "AllocCPUS", "NCPUS", "ReqCPUS"):
        assert column in str(caught.value)
    with pytest.raises(FormatError, match=r"no column of gpus \(it tells nodes\): AllocTRES, ReqTRES; its"):
        read("sacct", tmp_path, "JobID|Submit|Start|End|NNodes\n", unit="gpus")
    with pytest.raises(FormatError, match="logs of sge tell no gpus; --unit: processors"):
        read("sge", tmp_path, text(sge(jobs())), unit="gpus")
    with pytest.raises(AllocsolveError, match="unit"):
        read_swf_log(tmp_path / "log", unit="gpus")


# --- Tables of simulators and of GPUs ------------------------------------------------------------------


def test_pods_have_run_whatever_their_state_is_called(tmp_path: Path) -> None:
    head = WRITERS["alibaba-gpu"]([])
    rows = [
        "p0,1,1,1,460,,LS,Running,0,100,0",
        "p1,1,1,2,1000,,LS,Pending,5,105,7",
        "p2,1,1,1,1000,,LS,Failed,6,106,6",
        "p3,1,1,1,1000,,LS,Pending,7,107,",
        "p4,1,1,0,0,,LS,Running,8,108,8",
    ]
    log = read("alibaba-gpu", tmp_path, head + text(rows), num_nodes=None)
    assert (log.names, log.nodes.tolist()) == (("p0", "p1", "p2"), [460, 2000, 1000])
    assert log.num_nodes == 6_212_000
    assert counted(log)["no_run_time"] == counted(log)["no_size"] == 1
    log = read("alibaba-gpu", tmp_path, head + text(rows), unit="gpus", num_nodes=8)
    assert log.nodes.tolist() == [1, 2, 1]
    assert counted(log)["part_of_a_node"] == 1


def test_the_trace_of_alibaba(traces: Path) -> None:
    log = read_table_log(trace(traces, "openb_pod_list_default.csv.gz"), "alibaba-gpu")
    assert len(log.names) == 6203  # of 7255 pods that ran these have GPUs
    assert log.report.dropped["no_run_time"] == 897


def test_a_schedule_of_batsim_is_a_workload_and_an_answer_to_it(tmp_path: Path, capsys: Capture) -> None:
    path, problem = tmp_path / "jobs.csv", tmp_path / "w.json"
    head = WRITERS["evalys"]([])
    rows = [
        "1,w0,8,0,4,-1,COMPLETED_SUCCESSFULLY,0.000000,100.000000,100.000000,0-3",
        "2,w0,8,10,6,200.0,COMPLETED_FAILED,100,50,150,0-1 4-7",
        "3,w0,8,20,9,-1.000000,REJECTED,-1,-1,-1,",
        "4,w0,8,30,1,-1,COMPLETED_WALLTIME_REACHED,100,100,200,2",
    ]
    path.write_text(head + text(rows))
    log = read_table_log(path, "evalys")
    assert log.names == ("1", "2", "4")
    assert (log.num_nodes, log.nodes.tolist()) == (8, [4, 6, 1])
    assert counted(log) == {"job_lines": 4, "cancelled": 1, "kept": 3, "no_limit": 2}
    metrics = workload_metrics(log_problem(log), recorded_schedule(log))
    assert (metrics.makespan, metrics.wait) == (200, 160 / 3)
    assert run_json(capsys, "convert", path, problem)["from_format"] == "evalys"
    path.write_text(head + text([rows[0], rows[1], rows[3]]))
    told = run(capsys, "check", problem, path)
    assert told.startswith("feasible (3 jobs")
    assert "makespan                200 s" in told


def test_tables_that_other_systems_can_print(tmp_path: Path) -> None:
    """As docs/logs.md has them: Flux, Kubernetes, HTCondor; who did not run, or has not ended, is dropped."""
    flux = "7,ann,1709539200.5,1709539260.2,1709542860.7,2\n8,bob,1709539201.5,0.0,1709539202.0,1\n"
    kubernetes = "c0-ffee,ns,2024-03-04T08:00:00Z,2024-03-04T08:01:00Z,2024-03-04T09:01:00Z,3\n"
    htcondor = "12_0,ann,1709539200,1709539260,1709542860,4\n12_1,ann,1709539200,1709539260,0,4\n"
    for lines, unit, size in ((flux, "nodes", 2), (kubernetes, "nodes", 3), (htcondor, "processors", 4)):
        column = "NNodes" if unit == "nodes" else "NCPUS"
        log = read("sacct", tmp_path, f"JobID,User,Submit,Start,End,{column}\n{lines}")
        assert (log.machine.unit, log.nodes.tolist()) == (unit, [size])
        assert log.report.faults == ()
        assert round(float(log.runs[0])) in {3600, 3601}


# --- Philly --------------------------------------------------------------------------------------------

#: Attempts of a job by when they start and end, in minutes after the submission, and how many GPUs they have.
ATTEMPTS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 8)), min_size=1, max_size=4
)


@given(gaps=ATTEMPTS, order=st.randoms(), never=st.integers(0, 2))
def test_attempts_are_one_job(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[tuple[int, int, int]], order: Any, never: int
) -> None:
    """Its run time is the sum of theirs, its size that of the largest; it runs from the first to the last."""

    def time(minute: int) -> str:
        return datetime.fromtimestamp(EPOCH + 60 * minute, UTC).strftime("%Y-%m-%d %H:%M:%S")

    attempts: list[dict[str, Any]] = []
    now = 0
    for gap, minutes, gpus in gaps:
        start, now = now + gap, now + gap + minutes
        detail = [{"ip": f"m{gpu % 2}", "gpus": [f"gpu{gpu}"]} for gpu in range(gpus)]
        attempts.append({"start_time": time(start), "end_time": time(now), "detail": detail})
    attempts += [{"start_time": None, "end_time": "None", "detail": []}] * never
    order.shuffle(attempts)
    job = {"jobid": "a", "submitted_time": time(0), "status": "Pass", "user": None, "attempts": attempts}
    log = read("philly", tmp_path_factory.mktemp("philly"), json.dumps([job]))
    largest = max(gpus for _, _, gpus in gaps)
    assert log.report.dropped["other_records"] == never
    if not largest:
        assert log.report.dropped["no_size"] == 1
        return
    assert (log.names, log.users, log.nodes.tolist()) == (("a",), (None,), [largest])
    assert log.runs.tolist() == [60 * sum(minutes for _, minutes, _ in gaps)]
    assert (log.starts - EPOCH).tolist() == [60 * gaps[0][0]]
    assert (log.ends - EPOCH).tolist() == [60 * now]
    assert log.report.counts()["retried"] == len(gaps) - 1
    assert log.report.unusual["other_span"] == any(gap for gap, _, _ in gaps[1:])


def test_jobs_that_never_ran(tmp_path: Path) -> None:
    job = {"submitted_time": "2017-10-09 07:00:00", "user": "u", "vc": "v"}
    lasts = {"start_time": "2017-10-09 07:00:00", "end_time": None, "detail": [{"ip": "m", "gpus": ["g"]}]}
    told: Any = (("a", "Killed", []), ("b", "Failed", []), ("c", "Pass", [lasts]))
    jobs = [{**job, "jobid": name, "status": state, "attempts": runs} for name, state, runs in told]
    log = read("philly", tmp_path, json.dumps(jobs))
    assert counted(log) == {"job_lines": 3, "cancelled": 1, "unfinished": 1, "no_run_time": 1}
    assert log.names == ()


# --- Which format it is --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("PK\x03\x04\x14", "looks like a zip archive or a workbook"),
        ("PAR1\x15\x04", "looks like a Parquet file: say --format pm100, fdata or hpcopt"),
    ],
)
def test_binary_files_are_told_what_they_look_like(
    content: str, said: str, tmp_path: Path, capsys: Capture
) -> None:
    path = saved(tmp_path, content, "log.txt")
    assert f"{path}: {said}" in refused(capsys, "whatif", path, "--nodes", 4)


def test_a_log_of_another_format_is_named(tmp_path: Path) -> None:
    pairs = [(name, other) for name in WRITERS for other in ("pbs", "sge", "lsf") if other != name]
    for name, other in (*pairs, ("evalys", "sacct"), ("alibaba-gpu", "nersc"), ("evalys", "alibaba-gpu")):
        content = WRITERS[name](good(name))
        if name in {"alibaba-gpu", "evalys"} and other in {"pbs", "sge", "lsf"}:
            log = read(other, tmp_path, content)
            assert (log.names, log.report.dropped["faulty"]) == ((), 6)
            continue
        with pytest.raises(FormatError, match=f"its format is {name}, not {other}"):
            read(other, tmp_path, content)


def test_every_command_that_takes_a_log(tmp_path: Path, capsys: Capture) -> None:
    for name, write in WRITERS.items():
        path, problem = tmp_path / f"{name}.unknown", tmp_path / f"{name}.json"
        path.write_bytes(gzip.compress(write(good(name)).encode()))
        path = path.rename(path.with_suffix(".gz"))
        nodes = () if name == "evalys" else ("--nodes", 10_000)
        assert run_json(capsys, "convert", path, problem, *nodes)["from_format"] == name
        out = ("--out", problem, "--force", *nodes)
        assert run_json(capsys, "import", "--format", name, path, *out)["log"]["kept"] == 5
        path = saved(tmp_path, write(good(name)), f"{name}.{'csv' if name == 'evalys' else 'log'}")
        told = refused(capsys, "solve", path, "--solver", "easy")
        assert f"is a log ({name}), not a problem: allocsolve convert, or import, makes one" in told
    path.write_text(text(["submit,nodes,runtime,job", "0,1,5,a"]))
    assert "there is no column 'num_nodes'" in refused(capsys, "solve", path, "--solver", "easy")


def test_shared_nodes_are_advised_on_in_both_commands(tmp_path: Path, capsys: Capture) -> None:
    made = jobs()
    made[0] = replace(made[0], nodes=1, processors=1)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(text(pbs(made)).encode()))
    advice = "Jobs that had a part of a node only: 1. Here they count as whole nodes"
    assert advice in run(capsys, "import", path, "--nodes", 20, "--out", tmp_path / "w.json")
    told = run(capsys, "whatif", path, "--nodes", 20, "--out", tmp_path / "p.html", "--seconds", "0.1")
    assert advice in told
    assert "--unit processors" in told
