"""Logs on nodes that are places: nodes as people and schedulers write them, chunks of jobs, both ends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json
from workload_traces import trace

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances import (
    LogFields,
    SiteNodes,
    log_problem,
    parse_node_types,
    ran_while_closed,
    read_node_list,
    read_problem,
    read_swf_log,
    read_table_log,
    recorded_schedule,
    site_nodes,
    write_problem,
)
from allocsolve.instances.formats.logs.held import mebibytes, tres_held
from allocsolve.instances.formats.logs.pbs import held_chunks
from allocsolve.judge import workload_violations
from allocsolve.model import Job, NodeType, WorkloadProblem
from allocsolve.report import whatif
from allocsolve.report.closed import closed_parts

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

    from allocsolve.instances import JobLog
    from allocsolve.model import Shape

pytestmark = pytest.mark.usefixtures("in_process")

#: The same nodes, as sinfo and scontrol list them: 3 of 8 processors, of which one has 4 GPUs.
SINFO = (
    "n1|8|16000|(null)|1|avx|std*\n"
    "n2|8|16000|(null)|1|avx|std*\n"
    "g1|8|16000|gpu:a100:4(S:0-1),nvme:2|10|avx|std*\n"
    "g1|8|16000|gpu:a100:4(S:0-1),nvme:2|10|avx|gpu\n"
)
SCONTROL = (
    "NodeName=n1 CoresPerSocket=4\n   CPUAlloc=0 CPUEfctv=8 CPUTot=8\n   AvailableFeatures=avx\n"
    "   Gres=(null)\n   RealMemory=16000 Weight=1\n   Partitions=std \n\n"
    "NodeName=n2 CPUTot=8 AvailableFeatures=avx Gres=(null) RealMemory=16000 Weight=1 Partitions=std\n"
    "NodeName=g1 CPUTot=8 AvailableFeatures=avx Gres=gpu:a100:4(S:0-1),nvme:2 RealMemory=16000 Weight=10 "
    "Partitions=gpu,std\n"
)
CPU = NodeType("8c16000m", 2, {"cpus": 8, "mem": 16000}, 1, ("n[1-2]",))
GPU = NodeType("8c16000m4gpu", 1, {"cpus": 8, "mem": 16000, "gpus": 4, "nvme": 2}, 10, ("g1",))


def _file(folder: Path, text: str) -> Path:
    path = folder / "file.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [SINFO, SCONTROL])
def test_nodes_as_slurm_lists_them(text: str, tmp_path: Path) -> None:
    site = read_node_list(_file(tmp_path, text))
    assert site.types == (CPU, GPU)
    assert dict(site.partitions) == {"std": (CPU.name, GPU.name), "gpu": (GPU.name,)}
    assert site.ids == {"n1": 0, "n2": 1, "g1": 2}


def test_nodes_as_people_write_them() -> None:
    assert parse_node_types("cpu=360x128c512g, gpu=40x64c500m4gpu") == (
        NodeType("cpu", 360, {"cpus": 128, "mem": 524288}),
        NodeType("gpu", 40, {"cpus": 64, "mem": 500, "gpus": 4}),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "'' is not of the form"),
        ("cpu=3y4c", "'cpu=3y4c' is not of the form"),
        ("cpu=3x4q", "'q' in 'cpu=3x4q' is none of c, m, g, t, gpu"),
        ("cpu=3x4c5c", "cpus stands twice"),
        ("cpu=0x4c", "count 0"),
        ("cpu=3x4c,cpu=1x4c", "'cpu' stands twice"),
    ],
)
def test_what_is_no_list_of_types_is_told_in_a_line(text: str, fault: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        parse_node_types(text)
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "lists no node"),
        ("n1|8|16000", "line 1: is not what sinfo"),
        ("n1|x|16000|(null)|1|avx|std\n", "line 1: 'x' is no number"),
        ("NodeName=n1 RealMemory=16000\n", "line 1: '' is no number"),
        ("sn,cpu_milli,memory_mib,gpu,model\na,1,,0,\n", "line 2: '' is no number"),
    ],
)
def test_what_is_no_list_of_nodes_is_told_in_a_line(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=fault):
        read_node_list(_file(tmp_path, text))


def test_amounts() -> None:
    assert [mebibytes(text) for text in ("57600M", "1.5T", "4", "1025K")] == [57600, 1572864, 4, 2]
    assert mebibytes("1048577", plain="b") == 2
    assert tres_held("billing=9,cpu=36,gres/gpu:a100=4,gres/gpu=4,mem=2G,node=2") == "cpus=36,gpus=4,mem=2048"
    assert tres_held("cpu=2", "sbatch --exclusive -n 2 x.sh") == "cpus=2,exclusive=1"
    assert tres_held("cpu=2", "sbatch --exclusive=user x.sh") == "cpus=2"
    assert held_chunks("8:ncpus=36:mem=90gb", "free", "") == "chunks=8,cpus=36,mem=92160"
    assert held_chunks("8:ncpus=4", "scatter:excl", "") == "chunks=8,per_node=1,exclusive=1,cpus=4"
    assert held_chunks("8:ngpus=1", "pack", "") == "chunks=1,cpus=8,gpus=8"
    assert held_chunks("1:ncpus=4+2:ncpus=8", "", "(n1:ncpus=4)+(n2:ncpus=8:mem=1gb)+(n3:ncpus=8)") == (
        "cpus=20,mem=1024"
    )


def _sacct(
    folder: Path, jobs: list[tuple[int, str, str, str]], machine: SiteNodes, *, large: bool = False
) -> JobLog:
    """Read jobs of an hour: nodes, AllocTRES, partition and nodes by name."""
    lines = ["JobID|Submit|Start|End|NNodes|AllocTRES|Partition|NodeList"]
    for idx, cells in enumerate(jobs):
        lines.append("|".join(map(str, (idx, 1e9 + idx, 2e9 + 9e3 * idx, 2e9 + 9e3 * idx + 3600, *cells))))
    path = _file(folder, "\n".join(lines).replace(".0|", "|"))
    return read_table_log(path, "sacct", fields=LogFields(site=machine, keeps_large=large))


def _shapes(log: JobLog) -> list[Shape]:
    return [*log_problem(log).jobs.shapes]


def test_jobs_have_chunks_of_what_they_were_given(tmp_path: Path) -> None:
    site = site_nodes(node_list=_file(tmp_path, SINFO))
    jobs = [
        (1, "cpu=2,mem=1G", "std", "n1"),
        (3, "cpu=7,mem=3G", "std", "n[1-2],g1"),
        (2, "cpu=16,mem=2G", "std", "n[1-2]"),
        (1, "cpu=1,gres/gpu=2", "gpu", "g1"),
        (1, "cpu=1,gres/gpu=5", "gpu", "g1"),
        (2, "cpu=2,gres/gpu=2", "gpu", "g1"),
        (1, "", "std", "n1"),
        (1, "cpu=1,license/x=2,gres/mps=7", "", "n2"),
    ]
    log = _sacct(tmp_path, jobs, site)
    one, three, two, gpu, whole, other = _shapes(log)
    assert (one.chunks, dict(one.each), one.exclusive, one.types) == (1, {"cpus": 2, "mem": 1024}, False, ())
    assert (three.chunks, dict(three.each), three.per_node) == (3, {"cpus": 3, "mem": 1024}, 1)
    assert two.exclusive, "all processors of its nodes"
    assert (two.least_nodes, dict(two.each)) == (2, {"cpus": 8, "mem": 1024})
    assert (dict(gpu.each), gpu.types) == ({"cpus": 1, "gpus": 2}, (GPU.name,))
    assert whole.is_whole
    assert dict(other.each) == {"cpus": 1}
    counts = log.report.counts()
    assert (counts["too_large"], counts["uneven_chunks"], counts["no_amounts"]) == (2, 1, 1)
    assert log.asked.left_out == {"mps": 1}
    was, problem = recorded_schedule(log), log_problem(log)
    assert was.place_nodes is not None
    assert was.place_nodes.tolist() == [0, 0, 1, 2, 0, 1, 2, 0, 1]
    assert workload_violations(problem, was) == ()
    write_problem(problem, tmp_path / "p.json")
    assert read_problem(tmp_path / "p.json") == problem
    kept = _sacct(tmp_path, jobs, site, large=True)
    assert kept.report.unusual["fits_no_node"] == 2
    assert sum(shape.is_whole for shape in _shapes(kept)) == 3


def test_a_node_that_is_not_known_leaves_all_places_unknown(tmp_path: Path) -> None:
    site = site_nodes(node_list=_file(tmp_path, SINFO))
    log = _sacct(tmp_path, [(1, "cpu=2", "std", "n1"), (1, "cpu=2", "std", "n7")], site)
    assert recorded_schedule(log).place_nodes is None


def test_pbs_says_where_jobs_ran(tmp_path: Path) -> None:
    site = site_nodes(node_list=_file(tmp_path, SINFO))
    record = (
        "03/04/2024 09:00:0{0};E;{0}.s;user=a queue=std ctime=170954000{0} start=170954100{0} {1} end={2}"
    )
    where = (
        "exec_host=n1/0*2+n2/0*2 exec_vnode=(n1[0]:ncpus=2)+(n2:ncpus=2) Resource_List.select=2:ncpus=2",
        "exec_host=g1/0+g1/1 Resource_List.select=1:ncpus=2",
    )
    lines = [record.format(idx, said, 1_709_542_000 + idx) for idx, said in enumerate(where)]
    path = _file(tmp_path, "\n".join(lines) + "\n")
    was = recorded_schedule(read_table_log(path, "pbs", fields=LogFields(site=site)))
    assert was.place_nodes is not None
    assert was.place_nodes.tolist() == [0, 1, 2]


def test_events_close_the_nodes_that_they_name(tmp_path: Path) -> None:
    site = site_nodes(node_list=_file(tmp_path, SINFO))
    log = _sacct(tmp_path, [(1, "cpu=2", "std", "n1"), (1, "cpu=2", "std", "n2")], site)
    when = [datetime.fromtimestamp(2e9 + hours * 3600, UTC).isoformat()[:19] for hours in (0, 1, 3)]
    events = tmp_path / "events.txt"
    lines = ["NodeName|TimeStart|TimeEnd|State"]
    lines += [f"{node}|{when[0]}|{when[1]}|DOWN" for node in ("n1", "g1")]
    lines += [f"n1|{when[1]}|{when[2]}|DRAIN", f"n9|{when[0]}|{when[2]}|DOWN"]
    events.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = closed_parts(log, events_file=events)
    problem = log_problem(log, closed=found.windows)
    closed = [(each.start, each.end - each.start, each.node_ids) for each in problem.closed]
    assert closed == [(1e9, 3600, (2,)), (1e9, 10_800, (0,))]
    assert found.lines[-1] == "left out: 1 node that the machine does not have"
    assert ran_while_closed(problem, recorded_schedule(log)) == 1
    unnamed = _sacct(tmp_path, [(1, "cpu=2", "std", "n1")], site_nodes(parse_node_types("n=3x8c")))
    with pytest.raises(InvalidOption, match="has no names of nodes"):
        closed_parts(unnamed, events_file=events)


def test_whole_nodes_of_one_type_are_a_plain_problem(tmp_path: Path) -> None:
    log = _sacct(tmp_path, [(2, "cpu=16", "std", "")] * 3, SiteNodes(parse_node_types("n=4x8c")))
    assert log_problem(log).on_counts().is_plain


def test_counts_find_room_that_nodes_have_not(tmp_path: Path) -> None:
    """Three jobs of 7, 6 and 7 of 8 GPUs leave 4 free, and none to a job that needs 4 on one node."""
    lines = ["JobID|Submit|Start|End|AllocTRES"]
    for idx, (start, run_time, gpus) in enumerate([(0, 36000, 7), (0, 36000, 6), (0, 36000, 7), (60, 60, 4)]):
        times = (1_700_000_000 + at for at in (start, start, start + run_time))
        lines.append("|".join(map(str, (idx, *times, f"gres/gpu={gpus},node=1"))))
    path = _file(tmp_path, "\n".join(lines))
    answer = whatif(path, node_types=parse_node_types("g=3x8gpu"), policies=["easy"], seconds=0.1)
    schedules = answer.document()["schedules"]
    waits = {name: each["wait"] for name, each in schedules.items()}
    assert waits["easy(choice=best-fit)"] == waits["easy(choice=least-loaded)"] == (36000 - 60) / 4
    assert "EASY backfilling, packed" in answer.page()
    assert "EASY backfilling, spread" in answer.page()


SHARING = (
    "JobID|NCPUS|NNodes|Submit|Start|End\n"
    "1|64|2|1703688800|1703688800|1703689800\n"
    "2|1|1|1703688820|1703688820|1703689800\n"
    "3|31|1|1703688830|1703688830|1703689800\n"
)


@pytest.mark.parametrize(("nodes", "unit"), [(4, "nodes"), (128, "processors")])
def test_a_log_that_shares_nodes_has_both_ends(nodes: int, unit: str, tmp_path: Path) -> None:
    answer = whatif(_file(tmp_path, SHARING), nodes, unit=unit, policies=["easy"], seconds=0.1)
    document = answer.document()
    rows = {each["label"]: each for each in document["questions"]}
    for rule in ("packed", "spread"):
        row = rows[f"4 nodes of 32 processors, {rule}"]
        assert row["schedules"][row["policy"]]["wait"] == 0
    assert any("4 equal nodes of 32 processors" in line for line in document["cautions"])
    assert "4 nodes of 32 processors, packed" in answer.page()


def test_a_workload_on_places_is_modelled(tmp_path: Path) -> None:
    jobs = [Job(0, 1, 60, chunks=1, each={"gpus": 3}), Job(0, 1, 60, chunks=1, each={"gpus": 2})]
    write_problem(
        WorkloadProblem(None, jobs, node_types=[NodeType("g", 1, {"gpus": 4})]), tmp_path / "w.json"
    )
    answer = whatif(tmp_path / "w.json", policies=["easy"], seconds=0.1)
    assert answer.document()["schedules"]["easy(choice=best-fit)"]["wait"] == 30
    assert "not modelled" not in answer.page().lower()


def test_where_nothing_tells_the_nodes_an_option_is_named(tmp_path: Path) -> None:
    path = _file(
        tmp_path, "JobID|Submit|Start|End|AllocTRES\n1|1703688800|1703688800|1703689800|gres/gpu=1\n"
    )
    document = whatif(path, 8, unit="gpus", policies=["easy"], seconds=0.1).document()
    assert [line for line in document["cautions"] if line.startswith("--node-types")]


def test_the_commands(tmp_path: Path, capsys: Capture) -> None:
    nodes, log, out = tmp_path / "nodes.txt", _file(tmp_path, SHARING), tmp_path / "p.json"
    nodes.write_text("n[1-4]|32|1|(null)|1||\n", encoding="utf-8")
    told = run_json(capsys, "import", log, "--node-types", nodes, "--out", out)
    assert told["machine"] == "4 nodes (given: 4 32c1m)"
    run(capsys, "import", log, "--node-types", "n=4x32c", "--out", out, "--force")
    named = read_problem(out)
    asked = "fcfs,easy(choice=slurm),easy(choice=first)"
    again = run_json(capsys, "whatif", out, "--seconds", 1, "--policy", asked)
    assert {*again["schedules"]} == {
        *("fcfs(choice=best-fit)", "fcfs(choice=least-loaded)"),
        *("easy(choice=slurm)", "easy", "prices"),
    }
    assert getattr(named, "node_types", ()) == (NodeType("n", 4, {"cpus": 32}),)
    for options, fault in (
        (("--node-types", "n=4x"), "is not of the form"),
        (("--node-types", nodes / "none"), "cannot be read"),
        (("--node-types", "n=4x32c", "--nodes", 4), "without --nodes"),
        (("--node-types", "n=4x32c", "--partitions", "a=1"), "no --partitions"),
    ):
        assert fault in refused(capsys, "import", log, *options, "--out", tmp_path / "q.json")
    assert "keep their sizes" in refused(
        capsys, "whatif", log, "--node-types", "n=4x32c", "--malleable", "20"
    )
    assert "a choice of nodes needs --node-types" in refused(
        capsys, "when", log, "--policy", "easy(choice=best-fit)"
    )
    swf = _file(tmp_path, SWF)
    assert "no node has any" in refused(
        capsys, "import", swf, "--node-types", "n=4x8g", "--out", out, "--force"
    )


#: Two jobs on whole nodes of 8 processors, one on a part of one.
SWF = "; MaxProcs: 64\n; MaxNodes: 8\n" + "".join(
    f"{idx} {idx} 5 60 {size} -1 -1 4 100 -1 1 7 1 1 0 1 -1 -1\n" for idx, size in enumerate((8, 16, 3), 1)
)


def test_processors_of_a_header_lie_on_few_nodes(tmp_path: Path) -> None:
    path = _file(tmp_path, SWF)
    fields = LogFields(site=SiteNodes(parse_node_types("n=8x8c")))
    one, two, part = _shapes(read_swf_log(path, fields=fields))
    assert (one.is_whole, two.is_whole, two.chunks, dict(part.each)) == (True, True, 2, {"cpus": 3})
    document = whatif(path, policies=["easy"], seconds=0.1).document()
    assert [row["label"] for row in document["questions"]][1:] == [
        "8 nodes of 8 processors, packed",
        "8 nodes of 8 processors, spread",
    ]


def test_pods_of_a_published_trace(traces: Path) -> None:
    site = read_node_list(trace(traces, "openb_node_list_gpu_node.csv.gz"))
    assert sum(kind.count for kind in site.types) == 1213
    log = read_table_log(
        trace(traces, "openb_pod_list_default.csv.gz"), "alibaba-gpu", fields=LogFields(site=site)
    )
    shapes = _shapes(log)
    assert len(shapes) == 7255
    assert {shape.chunks for shape in shapes} == {1}
    assert {dict(kind.has)["gpus"] // dict(kind.devices)["gpus"] for kind in site.types} == {1000}
    assert log.report.dropped["too_large"] == 0
