"""Broken files of ElastiSim and Batsim: each is refused in one line that names the place and the value."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cli_tools import refused
from offenders import all_offenders

from allocsolve.errors import FormatError
from allocsolve.instances import read_batsim, read_elastisim, write_batsim, write_elastisim
from allocsolve.instances.formats.files import show
from allocsolve.model import Amdahl, Job, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cli_tools import Capture

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
def test_broken_files(name: str, tmp_path: Path) -> None:
    cases, read = (ELASTISIM, read_elastisim) if name == "elastisim" else (BATSIM, read_batsim)
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
                    read(folder if name == "elastisim" else file)
                assert "\n" not in str(caught.value)
                assert case.said in str(caught.value)


def test_files_that_end_too_early(tmp_path: Path) -> None:
    write_elastisim(PROBLEM, tmp_path)
    write_batsim(PROBLEM, tmp_path / "workload.json")
    for name, read in ("jobs.json", read_elastisim), (MODEL, read_elastisim), ("workload.json", read_batsim):
        file = tmp_path / name
        whole = file.read_bytes()
        for end in range(0, len(whole) - 2, max(len(whole) // 60, 1)):
            file.write_bytes(whole[:end])
            with pytest.raises(FormatError) as caught:
                read(file if name != MODEL else tmp_path)
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
