"""Logs that are tables of jobs, and slurm.conf: what is read, and in which unit times are."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import sys
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from offenders import all_offenders
from readme_tools import ROOT
from table_logs import EPOCH, JOBS, PARQUET, TABLES, TEXT, counted, good, title, titled, write
from workload_traces import knl_problem, trace

from allocsolve.errors import FormatError, InvalidOption, SolverUnavailable, UnknownName
from allocsolve.heuristics import SlurmBackfill
from allocsolve.instances import LOG_TABLES, log_problem, read_problem, read_table_log, recorded_schedule
from allocsolve.instances.formats.logs.swf import FIELDS as SWF_FIELDS
from allocsolve.instances.formats.logs.tables import FIELDS
from allocsolve.instances.formats.logs.times import TIME_UNITS, check_times, time_limit
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import WorkloadProblem
from allocsolve.registry import canonical_name, make_solver
from allocsolve.report.logs import SlurmSettings, read_slurm_conf

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


#: Fields of the Standard Workload Format, as the documented table has them.
SWF = {
    "id": "1",
    "submit": "2",
    "start": "2 + 3",
    "end": "2 + 3 + 4",
    "run": "4",
    "limit": "9",
    "nodes": "21",
}
SWF |= {"requested_nodes": "", "processors": "5", "requested_processors": "8", "state": "11", "user": "12"}
SWF |= {"partition": "16"}


@pytest.mark.parametrize("name", TABLES)
def test_every_format_tells_the_same_jobs(name: str, tmp_path: Path) -> None:
    path = write(name, tmp_path / "log", titled(name, good(name)))
    log = read_table_log(path, name, num_nodes=100)
    assert log.names == ("1", "2", "3", "4", "5")
    assert log.users == ("u", "v, w", "u", "u", "u")
    assert log.submits.tolist() == [EPOCH + 100 * idx for idx in range(JOBS)]
    assert (log.starts - log.submits).tolist() == [50] * JOBS
    assert (log.ends - log.starts).tolist() == log.runs.tolist() == [600] * JOBS
    assert log.nodes.tolist() == [4] * JOBS
    tells_limits = "limit" in good(name)
    assert log.limits.tolist() == [1200] * JOBS or not tells_limits
    assert str(log.machine) == f"100 nodes (given; sizes are those of {title(name, 'nodes')})"
    assert log.epoch == 0
    assert log.timezone == ("UTC" if name in TEXT else "")
    assert counted(log) == {"job_lines": JOBS, "kept": JOBS} | ({} if tells_limits else {"no_limit": 5})
    assert log.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert workload_violations(log_problem(log), recorded_schedule(log)) == ()
    processors = read_table_log(path, name, num_nodes=1000, unit="processors")
    assert processors.nodes.tolist() == [64] * JOBS


@pytest.mark.parametrize("name", TABLES)
def test_columns_stand_in_any_order_under_names_of_any_case(name: str, tmp_path: Path) -> None:
    columns = [(column.upper().replace("_", " "), cells) for column, cells in titled(name, good(name))]
    path = write(name, tmp_path / "log", [("other", [None] * JOBS), *reversed(columns)])
    assert read_table_log(path, name, num_nodes=100).names == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("name", TABLES)
def test_what_is_unknown(name: str, tmp_path: Path) -> None:
    columns = good(name)
    for row, field in enumerate(("nodes", "limit", "user", "run")):
        if field in columns:
            columns[field] = [None if idx == row else cell for idx, cell in enumerate(columns[field])]
    log = read_table_log(write(name, tmp_path / "log", titled(name, columns)), name, num_nodes=100)
    asks = "requested_nodes" in columns
    assert counted(log).get("requested_size", 0) == asks
    assert counted(log).get("no_size", 0) == (not asks)
    assert log.runs.tolist() == [600] * (5 if asks else 4)
    assert [math.isnan(limit) for limit in log.limits].count(True) == (1 if "limit" in columns else 4)
    assert log.users.count(None) == 1


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("fdata", tmp_path / "log", titled("fdata", good("fdata")))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SolverUnavailable, match=r"^Parquet needs pyarrow: pip install 'allocsolve"):
        read_table_log(path, "fdata")
    with pytest.raises(UnknownName, match=r"unknown format of logs 'pm10'; did you mean pm100\?"):
        read_table_log(path, "pm10")


# --- NERSC ---------------------------------------------------------------------------------------------


def test_the_days_of_a_job_become_one(tmp_path: Path) -> None:
    head = '"Job","User","Host Name","QOS","Submit","Start","End","Elapsed Secs","CPUs","Nodes Allocated"'
    nights = (
        "7 20:00:00,8 00:00:00,8 23:59:59,86399",
        "7 20:00:00,7 23:00:00,7 23:59:59,3599",
        "7 20:00:00,9 00:00:00,9 00:12:28,748",
        "7 20:00:00,9 00:13:00,9 00:14:00,60",
    )
    rows = [f'"7","A, b","knl","q",{_november(night)},"8","2"' for night in nights]
    other = f'"8","c","knl","q",{_november("7 21:00:00,8 00:00:00,8 00:00:10,10")},"2","1"'
    rows += [other, f"\ufeff{head}", other]
    path = tmp_path / "knl.csv"
    path.write_text("\n".join([f"\ufeff{head}", *rows]), encoding="utf-8")
    log = read_table_log(path, "nersc", num_nodes=9688, timezone="America/Los_Angeles")
    assert (log.names, log.runs.tolist()) == (("7", "7#2", "8"), [90_748, 60, 10])
    assert (log.ends - log.starts).tolist() == log.runs.tolist()
    once = dict.fromkeys(("headers", "duplicates", "part_of_a_node", "requeued"), 1)
    assert counted(log) == {"job_lines": 7, "kept": 3, "continued": 2, "no_limit": 3, **once}
    assert log.starts[0] == datetime(2022, 11, 8, 7, tzinfo=UTC).timestamp()
    assert log.users[0] == "A, b"


def _november(times: str) -> str:
    *days, seconds = times.split(",")
    return ",".join([*(f'"2022-11-0{day}"' for day in days), f'"{seconds}"'])


def test_days_that_stand_twice(tmp_path: Path) -> None:
    """As in a file of two exports that overlap."""
    day = [0, 86_400, 0, 86_400]
    columns: dict[str, Sequence[object]] = {
        "Job": ["7"] * 4,
        "Submit": [EPOCH] * 4,
        "Nodes Allocated": [2] * 4,
    }
    columns["Start"] = [EPOCH + second for second in day]
    columns |= {"End": [EPOCH + second + 86_399 for second in day], "Elapsed Secs": [86_399] * 4}
    log = read_table_log(write("nersc", tmp_path / "log", [*columns.items()]), "nersc", num_nodes=2)
    assert (log.names, log.runs.tolist()) == (("7",), [172_799])
    assert counted(log) == {"job_lines": 4, "duplicates": 1, "kept": 1, "continued": 2, "no_limit": 1}


def test_cori(traces: Path) -> None:
    log = read_table_log(trace(traces, "cori_knl_merged.csv.gz"), "nersc", num_nodes=9688)
    known = knl_problem(traces).jobs
    jobs = log_problem(log).jobs
    assert counted(log) == {"job_lines": 41_524, "kept": 41_524, "requeued": 21_978, "no_limit": 41_524}
    for field in ("submit", "nodes", "runtime"):
        assert getattr(jobs.packed, field).tolist() == getattr(known.packed, field).tolist()
    assert workload_violations(log_problem(log), recorded_schedule(log)) == ()


def test_a_job_on_all_nodes_of_aurora_has_a_long_line(tmp_path: Path) -> None:
    nodes = ",".join(f"x4{idx:05}c0s0b0n0" for idx in range(10_624))
    columns = titled("alcf", good("alcf") | {"nodes": ["4.0"] * JOBS, "limit": ["1200.0"] * JOBS})
    path = write("alcf", tmp_path / "log.csv", [*columns, ("LOCATION", [nodes] * JOBS)])
    log = read_table_log(path, "alcf", num_nodes=10_624)
    assert (log.nodes.tolist(), log.limits.tolist()) == ([4] * JOBS, [1200] * JOBS)


# --- Parquet -------------------------------------------------------------------------------------------


def test_limits_of_slurm_that_are_none(tmp_path: Path) -> None:
    texts = ("4294967295", "4294967294", "INFINITE", "30")
    assert [time_limit(text) for text in texts] == [None, None, None, 1800]
    columns = good("pm100") | {"limit": [4_294_967_295, 30, 30, 30, 5]}
    log = read_table_log(write("pm100", tmp_path / "log", titled("pm100", columns)), "pm100")
    assert (counted(log)["no_limit"], counted(log)["raised_limit"]) == (1, 1)
    assert log.limits.tolist()[1:] == [1800, 1800, 1800, 600]


@pytest.mark.parametrize(
    ("kind", "zone", "start"),
    [
        (pa.timestamp("s"), "", 1_704_063_650),
        (pa.timestamp("us"), "", 1_704_063_650.25),
        (pa.timestamp("ns"), "", 1_704_063_650.25),
        (pa.timestamp("ms", tz="UTC"), "UTC", 1_704_067_250.25),
        (pa.timestamp("us", tz="Asia/Tokyo"), "UTC", 1_704_067_250.25),
    ],
)
def test_points_in_time(kind: pa.DataType, zone: str, start: float, tmp_path: Path) -> None:
    """2024-01-01 00:00:50.25 is, without a zone, that of Berlin."""
    path = write("pm100", tmp_path / "log.parquet", titled("pm100", good("pm100")))
    table = pq.read_table(path)
    ticks = (
        pa.array([EPOCH * 1000 + 50_250] * JOBS).cast(pa.timestamp("ms", tz=kind.tz)).cast(kind, safe=False)
    )
    table = table.set_column(table.schema.get_field_index("start_time"), "start_time", ticks)
    pq.write_table(table, path)
    log = read_table_log(path, "pm100", timezone="Europe/Berlin")
    assert log.starts[0] == start
    assert log.timezone == ("" if zone else "Europe/Berlin")


def test_the_machine_of_a_data_set_is_known(tmp_path: Path, capsys: Capture) -> None:
    for name, nodes, machine in (("pm100", 980, "Marconi100"), ("fdata", 158_976, "Fugaku")):
        path = write(name, tmp_path / name, titled(name, good(name)))
        log = read_table_log(path, name)
        column = title(name, "nodes")
        assert str(log.machine) == f"{nodes} nodes (all of {machine}; sizes are those of {column})"
        with pytest.raises(FormatError, match="size of the machine"):
            read_table_log(path, name, unit="processors")
    path = write("hpcopt", tmp_path / "h", titled("hpcopt", good("hpcopt")))
    assert "jobs held up to 20 at a time" in refused(
        capsys, "import", path, "--format", "hpcopt", "--out", tmp_path / "p"
    )


def test_columns_that_are_not_asked_for_are_not_unpacked(tmp_path: Path) -> None:
    """A page of the column in the middle is destroyed: nobody notices."""
    path = tmp_path / "log.parquet"
    embedding = pa.array([[0.25 * idx] * 64 for idx in range(JOBS)], pa.list_(pa.float32()))
    write("fdata", path, titled("fdata", good("fdata")))
    pq.write_table(pq.read_table(path).add_column(3, "embedding", embedding), path, compression="none")
    column = pq.ParquetFile(path).metadata.row_group(0).column(3)
    assert column.path_in_schema.startswith("embedding")
    data = bytearray(path.read_bytes())
    first = column.dictionary_page_offset or column.data_page_offset
    data[first : first + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(data)
    assert len(read_table_log(path, "fdata").names) == JOBS
    with pytest.raises(OSError, match=r"\w"):
        pq.read_table(path)


def test_a_log_is_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allocsolve.instances.formats.logs.lines._BATCH", 2)
    columns = good("fdata") | {"nodes": [4, 4, 4, 4, "4K"]}
    log = read_table_log(write("fdata", tmp_path / "log", titled("fdata", columns)), "fdata")
    assert log.names == ("1", "2", "3", "4")
    assert log.report.faults == ("row 5: nnuma '4K' is no number of nodes",)
    monkeypatch.setattr("allocsolve.instances.formats.logs.lines._PARQUET_TOTAL", 99)
    with pytest.raises(FormatError, match="its columns are larger than 0 MiB: cut it before"):
        read_table_log(tmp_path / "log", "fdata")


def test_a_run_time_that_is_not_the_span_is_counted(tmp_path: Path) -> None:
    columns = good("fdata") | {"run": [600.0, 601.0, 599.5, 300.0, math.nan]}
    log = read_table_log(write("fdata", tmp_path / "log", titled("fdata", columns)), "fdata")
    assert log.runs.tolist() == [600, 601, 599.5, 300, 600]
    assert counted(log)["other_span"] == 2


# --- hpcopt --------------------------------------------------------------------------------------------


def test_seconds_that_begin_with_the_log(tmp_path: Path, capsys: Capture) -> None:
    """As hpcopt makes them of logs in the Standard Workload Format, whose status 5 is: cancelled."""
    columns = good("hpcopt")
    for field in ("submit", "start", "end"):
        columns[field] = [int(str(cell)) - EPOCH for cell in columns[field]]
    columns |= {"nodes": [None] * JOBS, "run": [600, 0, 600, 600, 600], "state": [1, 5, 1, 5, 0]}
    columns["limit"] = [1200, 1200, -1, 1200, 0]
    path = write("hpcopt", tmp_path / "log.parquet", titled("hpcopt", columns))
    log = read_table_log(path, "hpcopt", num_nodes=100, unit="processors")
    assert (log.epoch, log.submits.tolist()) == (None, [0, 200, 300, 400])
    assert counted(log) == {"job_lines": 5, "cancelled": 1, "kept": 4, "no_limit": 2}
    argv = ("import", path, "--format", "hpcopt", "--unit", "processors", "--nodes", 100, "--from-job", 2)
    for origin, submit in (("first", 0), ("header", 200)):
        out = tmp_path / f"{origin}.json"
        run_json(capsys, *argv, "--origin", origin, "--out", out)
        assert json.loads(out.read_text())["jobs"][0]["submit"] == submit


def test_metadata_beside_a_log_must_be_its_own(tmp_path: Path, capsys: Capture) -> None:
    path = write("hpcopt", tmp_path / "log.parquet", titled("hpcopt", good("hpcopt")))
    beside, report = tmp_path / "log.metadata.json", tmp_path / "report.json"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    told = {"dataset_id": "log", "dataset_sha256": digest, "source_trace_filename": "KTH.swf", "row_count": 5}
    beside.write_text(json.dumps(told))
    argv = ("import", path, "--format", "hpcopt", "--nodes", 100, "--out", tmp_path / "p.json", "--force")
    run_json(capsys, *argv, "--report", report)
    written = json.loads(report.read_text())
    assert written["header"] == {key: str(value) for key, value in told.items()}
    assert (written["import"], written["kept"], written["faults"]) == ("hpcopt", 5, [])
    beside.write_text(json.dumps(told | {"dataset_sha256": "abc"}))
    said = f"{beside}: dataset_sha256: 'abc' is not that of log.parquet, {digest}"
    assert said in refused(capsys, *argv)


# --- Documentation -------------------------------------------------------------------------------------


def test_the_documented_table_is_that_of_the_code() -> None:
    """The tables of docs/logs.md, cell by cell."""
    page = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| ")]
    rows = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in listed]
    documented: dict[tuple[str, str], str] = {}
    for heads in (row[1:] for row in rows if not row[0]):
        at = rows.index(["", *heads]) + 1
        for row in itertools.takewhile(lambda row: row[0].replace(" ", "_") in FIELDS, rows[at:]):
            documented |= {(row[0], head): cell for head, cell in zip(heads, row[1:], strict=True)}
    columns = {name: table.columns for name, table in LOG_TABLES.items()}
    told = {"swf": SWF} | {
        name: {field: ", ".join(one) for field, one in of.items()} for name, of in columns.items()
    }
    named = {(field.replace("_", " "), name): cell for name, of in told.items() for field, cell in of.items()}
    assert {key: cell for key, cell in documented.items() if cell} == {
        key: cell for key, cell in named.items() if cell
    }
    numbers = {int(word) for cell in SWF.values() for word in cell.split() if word.isdigit()}
    assert numbers == {*SWF_FIELDS, 16, 21}  # these two are no columns of every line
    for table in LOG_TABLES.values():
        assert table.columns.keys() <= FIELDS.keys()
        assert not table.source or table.source in page
    for name in PARQUET:
        assert f"`{name}`" in page


# --- Units of times -----------------------------------------------------------------------------------


START = int(datetime(2024, 3, 4, 8, tzinfo=UTC).timestamp())
#: Submission, start and end, in seconds from the first one.
SPANS = ((0, 0, 7200, 3), (600, 7200, 10800, 4), (1200, 10800, 12600, 1), (1800, 10800, 12000, 1))


def log_in(path: Path, unit: str, first: float = START) -> Path:
    second, epoch = TIME_UNITS[unit]

    def text(at: float) -> str:
        number = (first + at) / second + epoch
        return f"{number:.10f}" if unit == "days" else str(round(number))

    rows = [f"{k},{text(a)},{text(b)},{text(c)},{nodes}" for k, (a, b, c, nodes) in enumerate(SPANS)]
    path.write_text("\n".join(["job_id,submit_time,start_time,end_time,num_nodes", *rows]) + "\n")
    return path


def waits(path: Path, unit: str | None) -> list[float]:
    log = read_table_log(path, "sacct", num_nodes=4, time_unit=unit)
    problem, recorded = log_problem(log), recorded_schedule(log)
    seconds: list[float] = np.round(recorded.first_starts - problem.packed.submit, 3).tolist()
    return seconds


@pytest.mark.parametrize("unit", [name for name in TIME_UNITS if name not in {"s", "ns"}])
def test_a_unit_that_is_not_seconds(tmp_path: Path, unit: str) -> None:
    path = log_in(tmp_path / "log.csv", unit)
    with pytest.raises(FormatError, match=f"they begin on 2024-03-04: say --time-unit {unit}"):
        read_table_log(path, "sacct", num_nodes=4)
    assert waits(path, unit) == [0, 6600, 9600, 9000]


def test_seconds_of_unix_and_of_an_origin_of_their_own(tmp_path: Path) -> None:
    for first in (START, 10**6):
        for unit in (None, "s"):
            assert waits(log_in(tmp_path / "log.csv", "s", first), unit) == [0, 6600, 9600, 9000]


def test_second_0_is_a_time_unless_others_are_of_this_century(tmp_path: Path) -> None:
    assert waits(log_in(tmp_path / "log.csv", "s", 0), None) == [0, 6600, 9600, 9000]
    path = log_in(tmp_path / "slurm.csv", "s")
    path.write_text(path.read_text().replace(f"{START + 10800}", "0"))  # two jobs that never started
    assert read_table_log(path, "sacct", num_nodes=4).names == ("0",)


@given(
    st.lists(st.integers(631_152_001, 4_102_444_799), min_size=1),
    st.sampled_from([name for name in TIME_UNITS if name not in {"s", "days"}]),
)
def test_no_plausible_log_passes_in_a_wrong_unit(seconds: list[int], unit: str) -> None:
    times = np.array(seconds, dtype=np.float64)
    check_times(times, "log", None)
    with pytest.raises(FormatError, match=f"--time-unit {unit}"):
        check_times(np.floor(times / TIME_UNITS[unit][0]), "log", None)


def test_numbers_that_are_dates_are_no_seconds() -> None:
    days = np.array([20240304.0, 20240305, 20240229])
    with pytest.raises(FormatError, match="from 20240229 to 20240305, which look like dates without hours"):
        check_times(days, "log", None)
    with pytest.raises(FormatError, match="no unit makes of them times between 1990 and 2100"):
        check_times(np.array([5.0, 1e15]), "log", None)
    check_times(days, "log", "s")
    check_times(np.append(days, 20240399), "log", None)


def test_the_commands(tmp_path: Path, capsys: Capture) -> None:
    path = log_in(tmp_path / "log.csv", "ms")
    for command in (["whatif", path], ["import", path, "--out", tmp_path / "w.json"]):
        assert "say --time-unit ms" in refused(capsys, *command, "--nodes", 4)
    out = tmp_path / "w.json"
    assert "4 jobs" in run(capsys, "import", path, "--nodes", 4, "--time-unit", "ms", "--out", out)


def test_dates_that_are_not_read(tmp_path: Path) -> None:
    path = log_in(tmp_path / "log.csv", "s")
    path.write_text(path.read_text().replace(str(START), "04.03.2024 08:00"))
    log = read_table_log(path, "sacct", num_nodes=4)
    assert "is no time that is read: Unix seconds, or as 2024-03-04T08:00:00" in log.report.faults[0]
    lines = [line.replace(",17", ",x17") for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidOption, match=r"none of its jobs can be used.*is no time that is read: Unix "):
        log_problem(read_table_log(path, "sacct", num_nodes=4))
    with pytest.raises(FormatError, match="is no time that is read: Unix seconds, or as 2024-03-04T08:00:00"):
        read_table_log(path, "sacct")


def test_convert_takes_the_unit_that_its_error_names(tmp_path: Path, capsys: Capture) -> None:
    path, problem = log_in(tmp_path / "log.csv", "ms"), tmp_path / "problem.json"
    said = refused(capsys, "convert", path, problem, "--nodes", 4)
    assert "say --time-unit ms" in said
    run(capsys, "convert", path, problem, "--nodes", 4, "--time-unit", "ms")
    assert read_problem(problem) == log_problem(read_table_log(path, "sacct", num_nodes=4, time_unit="ms"))
    said = refused(capsys, "convert", problem, tmp_path / "other.json", "--time-unit", "ms")
    assert "--time-unit is for logs" in said


# --- Slurm conf ---------------------------------------------------------------------------------------


def read(folder: Path, text: str) -> SlurmSettings:
    file = folder / "slurm.conf"
    file.write_text(text, "utf-8")
    return read_slurm_conf(file)


def lines(folder: Path, text: str) -> list[str]:
    """What is said of a file, without its name."""
    return [one.removeprefix(f"{folder / 'slurm.conf'}, ") for one in read(folder, text).remarks]


#: What slurm.conf(5) says that these options take.
RANGES = {
    "bf_interval": (1, 10_800),
    "bf_window": (1, 43_200),
    "bf_resolution": (1, 3_600),
    "bf_max_job_test": (1, 1_000_000),
}


@given(st.data())
def test_every_modelled_option_is_taken(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    assert [*RANGES] == [one.name for one in fields(SlurmBackfill) if one.name.startswith("bf_")]
    names = data.draw(st.lists(st.sampled_from([*RANGES]), unique=True))
    chosen = {name: data.draw(st.integers(*RANGES[name])) for name in names}
    texts = [
        f"{name.upper() if data.draw(st.booleans()) else name}={value}" for name, value in chosen.items()
    ]
    folder = tmp_path_factory.mktemp("conf")
    made = read(folder, f"SchedulerParameters={','.join(texts)}\n")
    assert make_solver(made.policy, WorkloadProblem) == SlurmBackfill(**chosen)  # type: ignore[arg-type]  # they are integers
    assert made.remarks == ()


@pytest.mark.parametrize(
    ("conf", "policy"),
    [
        ("SelectTypeParameters=CR_Core_Memory,CR_LLN\n", "slurm-backfill(choice=least-loaded)"),
        ("SelectTypeParameters=CR_Core\n", "slurm-backfill(choice=slurm)"),
        ("SchedulerType=sched/builtin\n", "fcfs(choice=slurm)"),
    ],
)
def test_nodes_that_are_places_are_chosen_as_slurm_does(tmp_path: Path, conf: str, policy: str) -> None:
    file = tmp_path / "slurm.conf"
    file.write_text(conf, "utf-8")
    assert read_slurm_conf(file, chooses_nodes=True) == SlurmSettings(canonical_name(policy), ())


def test_files_as_sites_have_them(tmp_path: Path) -> None:
    conf = (
        "# SchedulerParameters=bf_interval=1\nClusterName=c\nInclude /etc/slurm/nodes.conf\n"
        "SchedulerType=sched/backfill   # the default\n"
        "SchedulerParameters=bf_interval=60,bf_max_job_test=1000,\\\nbf_continue,bf_max_job_user=20,my_own=3\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory,CR_LLN\n"
        "PriorityType=priority/multifactor\nPriorityWeightAge=1000\nPriorityWeightFairshare=5000\n"
        "PriorityWeightQOS=0\nPriorityMaxAge=14-0\nPreemptType=preempt/qos\n"
        "PartitionName=p Nodes=n[1-4] MaxTime=60 LLN=yes\n"
    )
    made = read(tmp_path, conf)
    assert made.policy == "slurm-backfill(bf_interval=60, bf_max_job_test=1000)"
    said = lines(tmp_path, conf)
    for begins in (
        "line 3: Include /etc/slurm/nodes.conf: ",
        "line 5: bf_continue is not modelled: passes take no time here",
        "line 5: bf_max_job_user=20 is not modelled: ",
        "line 5: my_own=3 is not modelled: it is no scheduler parameter",
        "line 8: CR_Core_Memory is not modelled: ",
        "line 8: CR_LLN is not modelled: it spreads jobs",
        "line 11: PriorityWeightFairshare=5000 is not modelled: the queue is in the order of submission",
        "line 14: PreemptType=preempt/qos is not modelled: ",
        "line 15: LLN=yes is not modelled: it spreads jobs",
    ):
        assert [one for one in said if one.startswith(begins)], begins
    assert any("--priority-age 1000,14 " in one for one in said)
    assert len(said) == 10, "a line each, and none of weights of 0"
    shown = (
        "Configuration data as of 2026-03-04T10:00:00\n"
        "PriorityFavorSmall      = No\nPriorityType            = priority/basic\n"
        "SchedulerParameters     = bf_window=2880,max_job_bf=200\nSchedulerType           = sched/backfill\n"
        "SelectTypeParameters    = (null)\nMailProg = /bin/mail\n"
    )
    assert read(tmp_path, shown) == ("slurm-backfill(bf_window=2880, bf_max_job_test=200)", ())


@pytest.mark.parametrize(
    ("conf", "policy"),
    [
        ("ClusterName=c", "slurm-backfill"),
        ("SchedulerType=sched/builtin", "fcfs"),
        ("SchedulerParameters=bf_interval=-1", "fcfs"),
        ("PriorityWeightAge=100", "slurm-backfill"),
        ("PriorityWeightJobSize=100", "slurm-backfill(order=largest)"),
        ("PriorityWeightJobSize=100\nPriorityFavorSmall=YES", "slurm-backfill(order=smallest)"),
        ("SchedulerType=sched/backfill SchedulerParameters=bf_interval=90", "slurm-backfill(bf_interval=90)"),
        ("SchedulerParameters=bf_max_job_user=0,bf_interval=30", "slurm-backfill"),
    ],
)
def test_schedulers_and_priorities(conf: str, policy: str, tmp_path: Path) -> None:
    assert read(tmp_path, conf) == (policy, ())


def test_what_is_left_out_of_priorities_is_said(tmp_path: Path) -> None:
    for conf in (
        "PriorityWeightJobSize=1\nPriorityFlags=SMALL_RELATIVE_TO_TIME",
        "PriorityWeightJobSize=1\nPriorityWeightTRES=CPU=1000",
    ):
        made = read(tmp_path, conf)
        assert made.policy == "slurm-backfill"
        assert "line 1: PriorityWeightJobSize=1 is not modelled" in made.remarks[0]
    sizes = "SchedulerType=sched/builtin\nPriorityWeightJobSize=1"
    assert "without backfill" in read(tmp_path, sizes).remarks[0]


def test_bad_values_name_file_line_and_value(tmp_path: Path) -> None:
    with all_offenders() as offender:
        for conf, message in (
            ("\nSchedulerParameters=bf_interval=soon", "line 2: bf_interval=soon: is not a whole number"),
            ("SchedulerParameters=bf_interval=0", "line 1: bf_interval=0: "),
            ("SchedulerParameters=bf_resolution=4000", "line 1: bf_resolution=4000: "),
            ("SchedulerParameters=bf_max_time=x", "line 1: bf_max_time=x: is not a whole number"),
            ("SchedulerType=sched/wiki", "line 1: SchedulerType=sched/wiki: is neither"),
            ("PriorityType=priority/mine", "line 1: PriorityType=priority/mine: is neither"),
            ("PriorityWeightAge=much", "line 1: PriorityWeightAge=much: is not a whole number"),
            (
                "PriorityWeightAge=1\nPriorityWeightQOS=1\nPriorityMaxAge=old",
                "line 3: PriorityMaxAge=old: 'old' is no duration",
            ),
            ("nothing", "is no slurm.conf"),
        ):
            with offender(conf):
                with pytest.raises(FormatError) as caught:
                    read(tmp_path, conf)
                assert str(caught.value).startswith(f"{tmp_path / 'slurm.conf'}: {message}"), caught.value
                assert "\n" not in str(caught.value)
    with pytest.raises(FormatError, match=r"none\.conf: cannot be read"):
        read_slurm_conf(tmp_path / "none.conf")
