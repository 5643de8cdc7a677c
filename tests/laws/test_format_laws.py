"""Laws of files: formats of simulators, tables of any order, networks."""

from __future__ import annotations

import csv
import itertools
import math
import string
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from format_draws import random_schedule, random_workload_of
from hypothesis import assume, given, strategies as st
from network_texts import nodes_of, switches_of
from strategies import (
    box_problems,
    evolution_problems,
    partition_problems,
    partitions,
    workload_problems,
    workload_schedules,
)
from tiers import draws

from allocsolve.errors import InvalidProblem
from allocsolve.instances import (
    compress_hostlist,
    digest,
    expand_hostlist,
    log_problem,
    problem_columns,
    problem_from_columns,
    read_batsim,
    read_elastisim,
    read_network,
    read_problem,
    read_solution,
    read_swf_log,
    recorded_schedule,
    solution_columns,
    solution_from_columns,
    write_batsim,
    write_elastisim,
    write_problem,
    write_solution,
)
from allocsolve.instances.formats.simulators.conversion import CONVERSIONS, read_workload, write_workload
from allocsolve.instances.formats.simulators.swf import swf_with_unheld
from allocsolve.model import (
    EvolutionProblem,
    EvolutionSchedule,
    Job,
    SpeedupTable,
    Stall,
    WorkloadProblem,
    WorkloadSchedule,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hypothesis.strategies import DataObject, SearchStrategy

    from allocsolve.instances import NetworkFile
    from allocsolve.model import Answer, PartitionProblem, Problem


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


def workload(problem: WorkloadProblem, change: Callable[[int, Job], Job]) -> WorkloadProblem:
    """Return a problem whose jobs are changed, each by its place."""
    jobs = [change(idx, job) for idx, job in enumerate(problem.jobs)]
    return WorkloadProblem(problem.num_nodes, jobs, problem.name, problem.meta)


def rigid(job: Job) -> Job:
    named = {"limit": job.limit, "name": job.name, "user": job.user, "weight": job.weight}
    return Job(job.submit, job.nodes, job.runtime, **named)  # type: ignore[arg-type]  # fields by their names


def elastic(problem: WorkloadProblem, kind: str) -> int:
    return sum(job.kind == kind for job in problem.jobs)


def said(problem: WorkloadProblem, reasons: dict[str, int]) -> dict[str, int]:
    """Return the reasons that count, and what all formats lack."""
    if problem.meta:
        reasons["meta of the problem"] = 1
    return {reason: count for reason, count in reasons.items() if count}


def held_by_elastisim(problem: WorkloadProblem) -> tuple[WorkloadProblem, dict[str, int]]:
    jobs = [*problem.jobs]
    stalls = [job.reconfiguration for job in jobs if isinstance(job.reconfiguration, Stall)]
    stepped = [job.size_set != 1 or _has_gaps(job) for job in jobs]
    any_time = [job.kind == "malleable" and not job.points for job in jobs]
    reasons = {
        "jobs whose sizes are not all from min to max (in attributes only)": sum(stepped),
        "limits of a fraction of a second, rounded up (exact in attributes only)": sum(
            job.limit is not None and job.limit % 1 != 0 for job in jobs
        ),
        "malleable jobs that may change at any time, now every 10 s of work": sum(any_time),
        "stalls that depend on sizes": sum(stall.per_node + stall.shared > 0 for stall in stalls),
        "stalls that hold the larger number of nodes": sum(stall.holds == "larger" for stall in stalls),
    }

    def held(idx: int, job: Job) -> Job:
        stall = job.reconfiguration
        fixed = Stall(stall.fixed) if isinstance(stall, Stall) and stall.fixed else None
        points = math.ceil(job.runtime / 10) if any_time[idx] else job.points
        return replace(job, reconfiguration=fixed, points=points)

    return workload(problem, held), said(problem, reasons)


def _has_gaps(job: Job) -> bool:
    rows = getattr(job.speedup, "rows", None)
    return rows is not None and len(rows) < rows[-1][0] - rows[0][0] + 1


def test_elastisim_and_back(folder: Path) -> None:
    for seed in draws(1000):
        problem = random_workload_of(seed, "roaq")
        target = folder / "elastisim" / str(seed % 7)
        target.mkdir(parents=True, exist_ok=True)
        unheld = write_elastisim(problem, target)
        back = read_elastisim(target)
        held, reasons = held_by_elastisim(problem)
        assert (back.problem, unheld.counts, back.unheld.counts) == (held, reasons, {}), f"seed {seed}"


@pytest.mark.parametrize("kinds", ["p", "s"])
def test_elastisim_refuses_jobs_that_it_cannot_run(folder: Path, kinds: str) -> None:
    for seed in range(50):
        problem = random_workload_of(seed, kinds)
        what = "phases" if kinds == "p" else "profile"
        with pytest.raises(InvalidProblem, match=f"has {what}, which ElastiSim cannot run"):
            write_elastisim(problem, folder / "refused")
    assert not (folder / "refused").exists()


@pytest.mark.parametrize("version", ["5", "4"])
def test_batsim_and_back(folder: Path, version: str) -> None:
    for seed in draws(1000):
        problem = random_workload_of(seed, "roaqps")
        unheld = write_batsim(problem, folder / "workload.json", version=version)
        back = read_batsim(folder / "workload.json")
        reasons = {
            f"{kind} jobs, which Batsim runs as rigid ones (the rest is in extra_data)": elastic(
                problem, kind
            )
            for kind in ("moldable", "malleable", "evolving")
        }
        cut = sum(job.limit is not None and job.limit < job.runtime for job in problem.jobs)
        reasons["limits below the run time, at which Batsim would end jobs (in extra_data)"] = cut
        found = back.problem, unheld.counts, back.unheld.counts
        assert found == (problem, said(problem, reasons), {}), f"seed {seed}"


def held_by_swf(problem: WorkloadProblem) -> tuple[WorkloadProblem, dict[str, int]]:
    jobs = [*problem.jobs]
    order = sorted(range(len(jobs)), key=lambda idx: jobs[idx].submit)
    numbered = all(str(int(job.name)) == job.name if job.name.isdecimal() else False for job in jobs)
    users = [*dict.fromkeys(job.user for job in jobs if job.user is not None)]
    are_numbers = all(user.isdecimal() and str(int(user)) == user for user in users)
    number_of = {user: user if are_numbers else str(1 + users.index(user)) for user in users}
    reasons = {
        "order of the jobs, now by submission": int(order != sorted(order)),
        "names of jobs, now numbers": 0 if numbered else len(jobs),
        "users, now numbers": sum(number_of[user] != user for user in users),
        "weights of jobs": sum(job.weight != 1 for job in jobs),
        "name of the problem": int(problem.name != ""),
    }
    for kind in ("moldable", "malleable", "evolving"):
        reasons[f"{kind} jobs, as rigid ones"] = elastic(problem, kind)

    def held(idx: int, job: Job) -> Job:
        name = job.name if numbered else str(1 + idx)
        user = None if job.user is None else number_of[job.user]
        return replace(rigid(job), name=name, user=user, weight=1)

    plain = workload(problem, held)
    return replace_order(plain, order), said(problem, reasons)


def replace_order(problem: WorkloadProblem, order: list[int]) -> WorkloadProblem:
    jobs = [*problem.jobs]
    return WorkloadProblem(problem.num_nodes, [jobs[idx] for idx in order], "workload", problem.meta)


def test_swf_and_back(folder: Path) -> None:
    path = folder / "workload.swf"
    for seed in draws(1000):
        problem = random_workload_of(seed, "roaqps")
        unheld = write_workload(problem, None, path, "swf")
        held, reasons = held_by_swf(problem)
        fractions = unheld.counts.pop("jobs with fractions of seconds, which some readers refuse", 0)
        times = ((job.submit, job.runtime, job.limit or 0) for job in problem.jobs)
        assert fractions == sum(any(time % 1 for time in three) for three in times)
        name, back, unread = read_workload(path)
        assert (name, back, unheld.counts, unread.counts) == ("swf", held, reasons, {}), f"seed {seed}"


def test_swf_holds_when_rigid_jobs_ran(folder: Path) -> None:
    path = folder / "schedule.swf"
    for seed in draws(1000):
        problem = random_workload_of(seed, "r", exact=True)
        schedule = random_schedule(seed, problem)
        problem = held_by_swf(problem)[0]
        late = problem.packed.submit + schedule.first_starts
        schedule = WorkloadSchedule.of(problem, late)
        path.write_text(swf_with_unheld(problem, schedule)[0])
        log = read_swf_log(path, limits="keep")
        assert log.report.counts()["kept"] == len(problem.jobs)
        assert log_problem(log, origin="header").jobs == problem.jobs
        assert recorded_schedule(log, origin="header") == schedule, f"seed {seed}"


@pytest.mark.parametrize("name", ["evalys", "elastisim"])
def test_schedules_of_others_and_back(folder: Path, name: str) -> None:
    for seed in draws(1000):
        problem = random_workload_of(seed, "r", exact=True)
        schedule = random_schedule(seed, problem)
        target = folder / "schedules" if CONVERSIONS[name].is_folder else folder / "jobs.csv"
        unheld = write_workload(problem, schedule, target, name)
        assert not {reason for reason in unheld.counts if "schedule" in reason}
        found = read_solution(target / "schedule.csv" if target.is_dir() else target, problem)
        assert found == schedule, f"seed {seed}"


def test_a_schedule_for_evalys_tells_its_workload(folder: Path) -> None:
    path = folder / "ran.csv"
    for seed in draws(1000):
        problem = random_workload_of(seed, "r", exact=True)
        late = problem.packed.submit + random_schedule(seed, problem).first_starts
        schedule = WorkloadSchedule.of(problem, late)
        write_workload(problem, schedule, path, "evalys")
        name, back, _ = read_workload(path)
        assert isinstance(back, WorkloadProblem)
        assert (name, back.num_nodes) == ("evalys", problem.num_nodes), f"seed {seed}"
        jobs = [
            (job.name.strip(), job.submit, job.nodes, job.runtime, job.limit or -1) for job in problem.jobs
        ]
        found = [(job.name, job.submit, job.nodes, job.runtime, job.limit or -1) for job in back.jobs]
        assert sorted(found) == sorted(jobs), f"seed {seed}"


@pytest.mark.parametrize("name", ["json", "csv"])
def test_own_files_and_back(folder: Path, name: str) -> None:
    path = folder / f"own.{name}"
    for seed in draws(1000):
        problem = random_workload_of(seed, "roaqps" if name == "json" else "r")
        unheld = write_workload(problem, None, path, name)
        found, back, unread = read_workload(path)
        named = back if name == "json" else replace_name(back, problem.name)
        assert (found, named, unread.counts) == (name, problem, {}), f"seed {seed}"
        assert unheld.counts == (
            {} if name == "json" else said(problem, {"name of the problem": int(problem.name != "")})
        )


def replace_name(problem: object, name: str) -> WorkloadProblem:
    assert isinstance(problem, WorkloadProblem)
    return WorkloadProblem(problem.num_nodes, problem.jobs, name, problem.meta)


# --- Network file -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks") / "network"


def _read(place: Path, text: str) -> NetworkFile:
    place.write_text(text)
    return read_network(place)


def _told(network: NetworkFile) -> tuple[object, ...]:
    return switches_of(network), nodes_of(network), network.block_sizes, network.notes


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, list[str], list[str]]]:
    """Switches, each with its nodes or its children; some leaf switches have none of both."""
    count = draw(st.integers(1, 8))
    parent = [draw(st.integers(-1, number - 1)) for number in range(count)]
    children = [[f"s{child}" for child in range(count) if parent[child] == number] for number in range(count)]
    switches, nodes = [], 0
    for number in range(count):
        own = 0 if children[number] else draw(st.integers(0, 3))
        switches.append((f"s{number}", [f"n{nodes + node}" for node in range(own)], children[number]))
        nodes += own
    if not nodes:
        last = max(number for number in range(count) if not children[number])
        switches[last] = (f"s{last}", ["n0"], [])
    return draw(st.permutations(switches))


@given(switches=trees())
def test_trees_as_printed_are_trees_as_configured(
    place: Path, switches: list[tuple[str, list[str], list[str]]]
) -> None:
    """With the nodes of all switches below each, in the order of the file; HyperNodes are the same tree."""
    of = {name: (nodes, children) for name, nodes, children in switches}

    def below(name: str) -> list[str]:
        nodes, children = of[name]
        beneath = [*nodes, *(node for child in children for node in below(child))]
        return sorted(beneath, key=lambda node: int(node[1:]))

    configured, printed, hypernodes = "", "", []
    for name, nodes, children in switches:
        beneath = f" Switches={','.join(children)}" if children else ""
        own = f" Nodes={compress_hostlist(nodes)}" if nodes else ""
        all_of_them = f" Nodes={compress_hostlist(below(name))}" if below(name) else ""
        configured += f"SwitchName={name}{own}{beneath}\n"
        printed += f"SwitchName={name} Level={int(bool(children))} LinkSpeed=1{all_of_them}{beneath}\n"
        members = [("Node", node) for node in nodes] + [("HyperNode", child) for child in children]
        listed = ", ".join(
            f"{{type: {kind}, selector: {{exactMatch: {{name: {member}}}}}}}" for kind, member in members
        )
        hypernodes.append(f"kind: HyperNode\nmetadata: {{name: {name}}}\nspec: {{members: [{listed}]}}\n")
    expected = _told(_read(place, configured))
    assert _told(_read(place, printed)) == expected
    assert _told(_read(place, "---\n".join(hypernodes))) == expected


@given(
    counts=st.lists(st.one_of(st.none(), st.integers(0, 2)), min_size=1, max_size=6),
    base=st.integers(1, 3),
    levels=st.sets(st.integers(1, 3)),
)
def test_blocks_without_nodes_keep_their_place(
    place: Path, counts: list[int | None], base: int, levels: set[int]
) -> None:
    """None is a block without nodes, a number how many more than the base size a block has."""
    if counts.count(None) == len(counts):
        counts = [*counts, 0]
    blocks, nodes = [], 0
    for count in counts:
        held = 0 if count is None else base + count
        blocks.append(compress_hostlist(f"n{nodes + node}" for node in range(held)))
        nodes += held
    sizes = [base << level for level in (0, *sorted(levels))]
    configured, printed, listed = "", "", ""
    for number, names in enumerate(blocks):
        own = f" Nodes={names}" if names else ""
        configured += f"BlockName=b{number}{own}\n"
        printed += f"BlockName=b{number} BlockIndex={number}{own} BlockSize={base}\n"
        listed += f"    - {{block: b{number}{f', nodes: {names!r}' if names else ''}}}\n"
    printed += "".join(f"AggregatedBlock=b0 BlockIndex={9 + size} BlockSize={size}\n" for size in sizes[1:])
    network = _read(place, f"{configured}BlockSizes={','.join(map(str, sizes))}\n")
    assert network.switches == ("(cluster)", *(f"b{number}" for number in range(len(blocks))))
    assert network.block_sizes == tuple(sizes)
    assert _told(_read(place, printed)) == _told(network)
    as_yaml = f"- topology: t\n  block:\n    block_sizes: {sizes}\n    blocks:\n{listed}"
    assert _told(_read(place, as_yaml)) == _told(network)


NAMES = st.lists(st.text(string.digits + "abn-.é٣\"'#=", min_size=1, max_size=24), max_size=30)
#: A range with its width, or a number; what it stands for, by the definition.
RANGES = st.tuples(st.integers(0, 120), st.integers(0, 12), st.integers(0, 4)).map(
    lambda drawn: (
        f"{drawn[0]:0{drawn[2]}}-{drawn[0] + drawn[1]}",
        [f"{number:0{max(drawn[2], 1)}}" for number in range(drawn[0], drawn[0] + drawn[1] + 1)],
    )
)
TEXTS = st.text("abn-", max_size=3).map(lambda text: (text, [text]))


def _bracket(ranges: list[tuple[str, list[str]]]) -> tuple[str, list[str]]:
    return f"[{','.join(text for text, _ in ranges)}]", [name for _, names in ranges for name in names]


BRACKETS = st.lists(RANGES, min_size=1, max_size=3).map(_bracket)


@given(NAMES)
def test_what_is_compressed_expands_to_the_same_names(names: list[str]) -> None:
    text = compress_hostlist(names)
    assert expand_hostlist(text) == names
    assert len(text) <= len(",".join(names)) + 2 * text.count("[")


@given(
    st.lists(st.lists(TEXTS | BRACKETS, min_size=1, max_size=3), max_size=3),
    st.sampled_from([",", " ", "\n", ", "]),
)
def test_brackets_multiply_the_last_one_fastest(
    words: list[list[tuple[str, list[str]]]], between: str
) -> None:
    text = between.join("".join(part for part, _ in word) for word in words)
    expected = ["".join(name) for word in words for name in itertools.product(*(names for _, names in word))]
    assert expand_hostlist(text) == [name for name in expected if name]
    assert compress_hostlist(expand_hostlist(compress_hostlist(expand_hostlist(text)))) == (
        compress_hostlist(expand_hostlist(text))
    )


@given(st.integers(0, 10**6), st.integers(1, 300), st.sampled_from(["", "-ib"]))
def test_a_row_of_numbers_is_one_word(first: int, count: int, suffix: str) -> None:
    width = len(str(first + count))
    names = [f"n{number:0{width}}{suffix}" for number in range(first, first + count)]
    assert "," not in compress_hostlist(names)
    assert len(compress_hostlist(names)) <= 1 + 2 * width + 3 + len(suffix)


# --- Table --------------------------------------------------------------------------------------------

#: Names that a careless reader or writer of CSV would change.
ODD_NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    ["7", "007", "1e5", "NA", "true", " a ", '"', ",", "\r", "\n", "\r\n", "\ufeff", "-", "=1+1"]
)


@st.composite
def named_problems(draw: st.DrawFn) -> EvolutionProblem:
    problem = draw(evolution_problems().filter(lambda drawn: drawn.applications))
    count = len(problem.applications)
    names = draw(st.lists(ODD_NAMES, min_size=count, max_size=count, unique=True))
    parts = problem.num_nodes, problem.applications, problem.releases, problem.expand_limit, "", tuple(names)
    return EvolutionProblem(*parts)


@st.composite
def named_workloads(draw: st.DrawFn) -> WorkloadProblem:
    """Workloads without tables of speedups, which tables of jobs cannot hold."""
    problem = draw(workload_problems(min_jobs=1, moldable=draw(st.booleans())))
    rows = [row for row in problem.jobs if not isinstance(row.speedup, SpeedupTable)]
    names = draw(st.lists(ODD_NAMES, min_size=len(rows), max_size=len(rows), unique=True))
    assume(rows and "" not in names)  # no name is the default one
    jobs = [replace(row, name=name) for row, name in zip(rows, names, strict=True)]
    return WorkloadProblem(problem.num_nodes, jobs)


PROBLEMS: SearchStrategy[Problem] = st.one_of(
    named_problems(), partition_problems(), box_problems(), named_workloads()
)


def same_columns(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return list(one) == list(other) and all(
        # NaN stands for a limit that is not given.
        bool(((one[name] == other[name]) | ((one[name] != one[name]) & (other[name] != other[name]))).all())
        and len(one[name]) == len(one[next(iter(one))])
        for name in one
    )


@given(PROBLEMS)
def test_columns_are_read_back(problem: Problem) -> None:
    columns = problem_columns(problem)
    again = problem_from_columns(columns)
    assert digest(again) == digest(problem)
    assert same_columns(problem_columns(again), columns)


@given(PROBLEMS)
def test_files_are_read_back(problem: Problem) -> None:
    with TemporaryDirectory() as folder:
        path, other = Path(folder, "problem.csv"), Path(folder, "again.CSV")
        write_problem(problem, path)
        write_problem(read_problem(path), other)
        assert digest(read_problem(path)) == digest(problem)
        assert other.read_bytes() == path.read_bytes()


@given(PROBLEMS, st.randoms())
def test_the_order_of_rows_and_columns_matters_to_the_order_of_applications_only(
    problem: Problem, random: Any
) -> None:
    columns = problem_columns(problem)
    rows = list(range(len(next(iter(columns.values())))))
    random.shuffle(rows)
    names = list(columns)
    random.shuffle(names)
    again = problem_from_columns({name: columns[name][rows] for name in names})
    if isinstance(problem, EvolutionProblem):
        assert isinstance(again, EvolutionProblem)
        assert _by_name(again) == _by_name(problem)
    elif isinstance(problem, WorkloadProblem):
        assert isinstance(again, WorkloadProblem)
        assert {job.name: job for job in again.jobs} == {job.name: job for job in problem.jobs}
    else:
        assert digest(again) == digest(problem)


def _by_name(problem: EvolutionProblem) -> dict[str, object]:
    return dict(
        zip(problem.application_names, zip(problem.releases, problem.applications, strict=True), strict=True)
    )


def some_schedule(problem: EvolutionProblem) -> EvolutionSchedule:
    """Return one of which only the shape is right: a table says what is, not what should be."""
    packed = problem.packed
    starts = packed.releases + 5 * np.arange(len(packed.releases))
    return EvolutionSchedule(starts, packed.offsets, packed.durations + 1, packed.nodes)


def assert_read_back(problem: Problem, answer: Answer) -> None:
    """An answer comes back from columns, from a table and from JSON."""
    assert solution_from_columns(solution_columns(problem, answer), problem) == answer
    with TemporaryDirectory() as folder:
        for name in ("answer.csv", "answer.json"):
            write_solution(Path(folder, name), problem, answer, {})
            assert read_solution(Path(folder, name), problem) == answer


@given(evolution_problems())
def test_schedules_are_read_back(problem: EvolutionProblem) -> None:
    assert_read_back(problem, some_schedule(problem))


@given(named_problems())
def test_a_schedule_has_a_row_for_each_step_one_after_another(problem: EvolutionProblem) -> None:
    schedule = some_schedule(problem)
    columns = solution_columns(problem, schedule)
    for app, name in enumerate(problem.application_names):
        # One by one: numpy takes zeros off the end of a text that it compares with an array.
        rows = np.flatnonzero([other == name for other in columns["application"].tolist()])
        assert columns["start"][rows[0]] == schedule.starts[app]
        assert columns["nodes"][rows].tolist() == list(problem.applications[app].nodes)
        ends = columns["start"][rows] + columns["duration"][rows]
        assert all(end == columns["start"][row] for end, (_, row) in zip(ends, pairwise(rows), strict=False))
        assert ends[-1] == schedule.completions[app]


@given(partition_problems(), st.data())
def test_partitions_are_read_back(problem: PartitionProblem, data: DataObject) -> None:
    partition = data.draw(partitions(problem))
    assert_read_back(problem, partition)
    assert solution_from_columns({"node": partition.nodes}, problem) == partition


@given(named_workloads(), st.data())
def test_schedules_of_workloads_are_read_back(problem: WorkloadProblem, data: DataObject) -> None:
    assert_read_back(problem, data.draw(workload_schedules(problem)))


@given(named_problems())
def test_a_table_that_others_write_is_the_same_table(problem: EvolutionProblem) -> None:
    """As R and spreadsheets write it: marks, quotes everywhere, whole numbers as 1e+05, steps from 1 on."""
    columns = problem_columns(problem)
    with TemporaryDirectory() as folder:
        path = Path(folder, "others.csv")
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(columns)
            for row in range(len(columns["step"])):
                cells = {name: column[row] for name, column in columns.items()}
                cells |= {"step": cells["step"] + 1, "duration": f"{float(cells['duration']):.15e}"}
                if np.isinf(cells["expand_limit"]):
                    cells["expand_limit"] = ""
                writer.writerow(cells.values())
        assert digest(read_problem(path)) == digest(problem)
