"""Workloads as ElastiSim reads them: a folder of jobs, models of applications, platform and configuration.

======================  ================================================================================
``configuration.json``  what ElastiSim is started with, from within the folder: all paths are relative
``jobs.json``           the jobs, in the order of the problem
``MODEL.json``          an application model for each law of jobs, see `NODE_FLOPS`
``platform.xml``        a cluster of equal hosts, a host for the batch system, one for the file system
``schedule.csv``        a schedule, if one is given, with the columns of ``job_statistics.csv``
======================  ================================================================================

What is exact: sizes, times of submission, run times of rigid jobs and of tables (tasks that idle for so many
seconds), the laws of Amdahl, of powers and of overhead (tasks that compute), the points of malleable jobs
(``divide`` iterations), requests of evolving jobs, a fixed stall (``on_reconfiguration``). In a run of the
simulator with 300 jobs of these kinds, on sizes drawn at random, run times differed from the laws by 3e-6 s
at most (SimGrid 3.32, at times up to 10^8 s). ElastiSim numbers jobs from 0 in order of submission, and nodes
by the names of the hosts: host ``NODE_PREFIX + (10^k + i)`` is node i. A limit is the ``walltime``, in whole
seconds, rounded up; no job is killed for it. ``arguments`` and ``attributes`` are texts: ElastiSim gives
numbers 6 decimals.

References
----------
Özden, Beringer, Mazaheri, Mohammadi Fard, Wolf, "ElastiSim: A batch-system simulator for malleable
workloads", ICPP 2022. The arguments ``num_nodes_pref``, ``divide`` and ``parallel_percentage`` are those of
Zojer et al. 2025.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.instances.formats.files import replace_file, save, show
from allocsolve.instances.formats.simulators.foreign import Unheld
from allocsolve.instances.formats.simulators.formula import parse_formula
from allocsolve.model import Amdahl, Overhead, PowerLaw, Requests, SpeedupTable, Stall
from allocsolve.model.columns import plain
from allocsolve.model.job_kinds import ALL_SIZES, job_kind, size_set

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.instances.formats.files import Document, PathLike
    from allocsolve.model import Speedup, WorkloadProblem, WorkloadSchedule

#: Operations that a host does in a second: a task of a model computes as many for each second of its law.
NODE_FLOPS: Final = 1e9
#: What the names of hosts begin with.
NODE_PREFIX: Final = "node"
#: Longer than any job: a walltime tells what the user asked for, and nobody is killed.
_GRACE_S: Final = 10**9
#: More iterations than that of a job that may change at any time are of no more use.
_MOST_POINTS: Final = 100_000

_AMDAHL: Final = "((1-parallel_percentage)+parallel_percentage/{0})"
_OVERHEAD: Final = "(1/{0}+overhead/((1-overhead)*num_nodes_pref^2)*{0})"
#: By law: name of the model, its argument, the operations on any nodes over those on the preferred ones.
_LAWS: Final[dict[type[Any], tuple[str, str, str]]] = {
    Amdahl: ("amdahl", "parallel_percentage", f"{_AMDAHL}/{_AMDAHL.replace('{0}', '{1}')}"),
    PowerLaw: ("power", "alpha", "({1}/{0})^alpha"),
    Overhead: ("overhead", "overhead", f"{_OVERHEAD}/{_OVERHEAD.replace('{0}', '{1}')}"),
}
_PARAMETERS: Final = {Amdahl: "parallel", PowerLaw: "exponent", Overhead: "overhead"}


def write_elastisim(
    problem: WorkloadProblem,
    folder: PathLike,
    *,
    schedule: WorkloadSchedule | None = None,
    tick: float = 10.0,
    zmq_url: str = "ipc://elastisim.ipc",
) -> Unheld:
    """Write all that ElastiSim needs to run a workload, see the module for the files and what is exact.

    Parameters
    ----------
    problem
        The problem. Jobs with phases or a profile cannot be written.
    folder
        Where the files go; made if there is none. Files of these names are replaced.
    schedule
        An answer to the problem, written as ``schedule.csv``; it tells first starts and last ends.
    tick
        Seconds of work, above 0, between two scheduling points of malleable jobs that may change at any time.

    Returns
    -------
    Unheld
        What the files do not hold, or ElastiSim does not do.

    Raises
    ------
    InvalidProblem
        If a job has phases or a profile.
    """
    if not 0 < tick < math.inf:
        raise InvalidOption(f"tick {tick} is not above 0")
    unheld = Unheld()
    models: dict[str, Document] = {}
    rows = [_job(problem, idx, tick, models, unheld) for idx in range(len(problem.jobs))]
    unheld.add("meta of the problem", bool(problem.meta))
    table = None if schedule is None else _statistics(problem, schedule, unheld)
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    save({"name": problem.name, "jobs": rows}, where / "jobs.json")
    for name, model in models.items():
        replace_file(where / name, (json.dumps(model, indent=2) + "\n").encode())
    replace_file(where / "platform.xml", _platform(problem.num_nodes).encode())
    save(_configuration(zmq_url), where / "configuration.json")
    if table is not None:
        replace_file(where / "schedule.csv", table.encode())
    return unheld


def _job(
    problem: WorkloadProblem, idx: int, tick: float, models: dict[str, Document], unheld: Unheld
) -> Document:
    """Return a job, and add its application model to the others."""
    jobs, packed = problem.jobs, problem.packed
    kind, limit = job_kind(packed.kind[idx]), float(jobs.limit[idx])
    law = jobs.speedups[idx] if jobs.speedups else None
    evolution = jobs.evolutions[idx] if jobs.evolutions else None
    stall = jobs.reconfigurations[idx] if jobs.reconfigurations else None
    if evolution is not None and not isinstance(evolution, Requests):
        msg = f"job {jobs.names[idx]!r} has {type(evolution).__name__.lower()}, which ElastiSim cannot run"
        raise InvalidProblem(msg)
    row: Document = {"type": kind, "submit_time": plain(packed.submit[idx])}
    if kind == "rigid":
        row["num_nodes"] = int(packed.nodes[idx])
    else:
        limits = int(packed.min_nodes[idx]), int(packed.max_nodes[idx])
        row["num_nodes_min"], row["num_nodes_max"] = limits
    if not math.isnan(limit):
        row["walltime"] = math.ceil(limit)
    arguments = {"runtime": _text(packed.runtime[idx])}
    if kind != "rigid":
        arguments["num_nodes_pref"] = str(packed.nodes[idx])
    if kind == "malleable":
        points = int(packed.points[idx])
        unheld.add(f"malleable jobs that may change at any time, now every {tick:g} s of work", not points)
        free = max(1, min(math.ceil(packed.runtime[idx] / tick), _MOST_POINTS))
        arguments["divide"] = str(points or free)
    if law is not None and not isinstance(law, SpeedupTable):
        arguments[_LAWS[type(law)][1]] = _text(getattr(law, _PARAMETERS[type(law)]))
    for number, (remaining, _) in enumerate(evolution.events if evolution is not None else ()):
        arguments[f"remaining_{number:04}"] = _text(remaining)
    if isinstance(stall, Stall):
        unheld.add("stalls that depend on sizes", bool(stall.per_node or stall.shared))
        unheld.add("stalls that hold the larger number of nodes", stall.holds != "new")
        if stall.fixed:
            arguments["stall"] = _text(stall.fixed)
    model = _model_name(models, *_model(kind, law, evolution, stalls="stall" in arguments))
    attributes = _attributes(problem, idx, law, unheld)
    return {**row, "application_model": model, "arguments": arguments, "attributes": attributes}


def _attributes(problem: WorkloadProblem, idx: int, law: Speedup | None, unheld: Unheld) -> dict[str, str]:
    """Return what of a job ElastiSim passes on to a scheduler without a look at it."""
    jobs, packed = problem.jobs, problem.packed
    attributes, limit = {"name": jobs.names[idx]}, float(jobs.limit[idx])
    if jobs.users and jobs.users[idx] is not None:
        attributes["user"] = str(jobs.users[idx])
    if packed.weight[idx] != 1:
        attributes["weight"] = _text(packed.weight[idx])
    if not math.isnan(limit) and not limit.is_integer():
        attributes["limit"] = _text(limit)
        unheld.add("limits of a fraction of a second, rounded up (exact in attributes only)")
    gaps = packed.size_step[idx] != ALL_SIZES
    if gaps:
        attributes["size_set"] = str(size_set(packed.size_step[idx]))
    if isinstance(law, SpeedupTable):
        attributes["sizes"] = " ".join(str(size) for size, _ in law.rows)
        gaps = len(law.rows) <= packed.max_nodes[idx] - packed.min_nodes[idx]
    unheld.add("jobs whose sizes are not all from min to max (in attributes only)", gaps)
    return attributes


def _model_name(models: dict[str, Document], name: str, model: Document) -> str:
    """Return the file of a model, which is added if there is none."""
    same = next((file for file, other in models.items() if other == model), None)
    if same is not None:
        return same
    file, number = f"{name}.json", 2
    while file in models:
        file, number = f"{name}-{number}.json", number + 1
    models[file] = model
    return file


def _model(
    kind: str, law: Speedup | None, evolution: Requests | None, *, stalls: bool
) -> tuple[str, Document]:
    """Return an application model and a name for it."""
    divided = "/divide" if kind == "malleable" else ""
    if law is None:
        name, what, amount = "rigid", "delay", "runtime"
    elif isinstance(law, SpeedupTable):
        name, what, amount = "table", "delay", f"({_by_size(law.rows)}){divided}"
    else:
        name, _, formula = _LAWS[type(law)]
        share = formula.format("num_nodes", "num_nodes_pref")
        what, amount = "flops", f"{NODE_FLOPS:.0f}*runtime{divided}*{share}"
    phases: list[Document] = []
    marks = [f"remaining_{number:04}" for number in range(len(evolution.events) if evolution else 0)]
    for number, (before, after) in enumerate(zip(["1", *marks], [*marks, "0"], strict=True)):
        phase: Document = {"iterations": "divide" if divided else 1, "scheduling_point": bool(divided)}
        if number and evolution is not None:
            phase["evolving_request"] = f"num_nodes{evolution.events[number - 1][1]:+d}"
        phases.append({**phase, "tasks": [_task(what, f"({before}-{after})*{amount}" if marks else amount)]})
    model: Document = {"phases": phases}
    if stalls:
        model = {"on_reconfiguration": {"tasks": [_task("delay", "stall")]}, **model}
    parts = (name, "malleable" if divided else "", "requests" if marks else "", "stall" if stalls else "")
    return "_".join(part for part in parts if part), model


def _task(what: str, amount: str) -> Document:
    if what == "delay":
        return {"type": "idle", "delay": amount, "pattern": "uniform"}
    return {"type": "cpu", "flops": amount, "computation_pattern": "uniform"}


def _by_size(rows: Sequence[tuple[int, float]]) -> str:
    """Return the formula of a table: sizes between two rows take as long as the smaller one."""
    if len(rows) == 1:
        return _text(rows[0][1])
    half = len(rows) // 2
    return f"(num_nodes<{rows[half][0]}?{_by_size(rows[:half])}:{_by_size(rows[half:])})"


def _platform(num_nodes: int) -> str:
    router = f"{NODE_PREFIX}cluster_router"  # SimGrid's name for it
    first = 10 ** len(str(num_nodes - 1))  # all names have as many digits: they are in order as texts
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="machine" routing="Full">
    <zone id="batch_zone" routing="Full">
      <host id="batch_system" speed="1Gf">
        <prop id="batch_system" value="true"/>
      </host>
    </zone>
    <cluster id="cluster" prefix="{NODE_PREFIX}" radical="{first}-{first + num_nodes - 1}" suffix=""
             speed="{NODE_FLOPS / 1e9:g}Gf" bw="100Gbps" lat="0us">
      <prop id="node_local_bb" value="false"/>
      <prop id="pfs_targets" value="pfs"/>
    </cluster>
    <zone id="pfs_zone" routing="Full">
      <host id="pfs" speed="1Gf">
        <prop id="pfs_host" value="true"/>
      </host>
    </zone>
    <link id="pfs_read" bandwidth="80GBps" latency="0us"/>
    <link id="pfs_write" bandwidth="50GBps" latency="0us"/>
    <zoneRoute src="pfs_zone" dst="cluster" gw_src="pfs" gw_dst="{router}" symmetrical="NO">
      <link_ctn id="pfs_read"/>
    </zoneRoute>
    <zoneRoute src="cluster" dst="pfs_zone" gw_src="{router}" gw_dst="pfs" symmetrical="NO">
      <link_ctn id="pfs_write"/>
    </zoneRoute>
  </zone>
</platform>
"""


def _configuration(zmq_url: str) -> Document:
    return {
        "jobs_file": "jobs.json",
        "platform_file": "platform.xml",
        "zmq_url": zmq_url,
        "schedule_on_job_submit": True,
        "schedule_on_job_finalize": True,
        "schedule_on_scheduling_point": True,
        "schedule_on_reconfiguration": False,
        "scheduling_interval": 0,
        "min_scheduling_interval": 0,
        "allow_oversubscription": False,
        "clip_evolving_requests": True,
        "forward_io_information": False,
        "job_kill_grace_period": _GRACE_S,
        "show_progress_bar": False,
        "sensing": False,
        "log_task_times": False,
        "pfs_read_links": ["pfs_read"],
        "pfs_write_links": ["pfs_write"],
        "job_statistics": "job_statistics.csv",
        "node_utilization": "node_utilization.csv",
    }


def _statistics(problem: WorkloadProblem, schedule: WorkloadSchedule, unheld: Unheld) -> str:
    """Return a schedule with the columns of ElastiSim's statistics, but all digits of times."""
    packed = problem.packed
    if len(schedule.offsets) != len(problem.jobs) + 1:
        raise InvalidAnswer(f"{len(schedule.offsets) - 1} scheduled jobs for {len(problem.jobs)} submitted")
    lines = ["ID,Type,Submit Time,Start Time,End Time,Wait Time,Makespan,Turnaround Time,Status"]
    for number, idx in enumerate(np.argsort(packed.submit, kind="stable").tolist()):
        pieces, submit = schedule.pieces(idx), float(packed.submit[idx])
        if not pieces:
            unheld.add("scheduled jobs that never run")
            continue
        start, end, size = pieces[0][0], pieces[-1][1], pieces[0][2]
        unheld.add("scheduled jobs that change their size (first start and last end only)", len(pieces) > 1)
        unheld.add(
            "scheduled jobs of another size than their own", len(pieces) == 1 and size != packed.nodes[idx]
        )
        figures = (submit, start, end, start - submit, end - start, end - submit)
        lines.append(",".join((str(number), job_kind(packed.kind[idx]), *map(_text, figures), "completed")))
    return "\n".join(lines) + "\n"


def _text(value: float) -> str:
    """Return the shortest decimals that read back as the same double."""
    return str(plain(value))


_SIZES: Final = frozenset({"num_nodes", "num_nodes_min", "num_nodes_max", "num_gpus", "num_gpus_per_node"})
_REQUEST_NAMES: Final = _SIZES | {"phase_iteration"}
_MOST_ITERATIONS: Final = 10_000_000
#: Tasks whose time depends on the network, the file system, or processors of another sort.
_NOT_READ: Final = ("pfs_read", "pfs_write", "bb_read", "bb_write", "gpu")


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: iterations, before each of which the number of nodes may change."""

    iterations: int
    has_point: bool
    #: The number of nodes that an evolving job asks for, by the present one and the iteration; None for none.
    request: Callable[[int, int], int] | None
    #: Seconds of one iteration, by the number of nodes.
    seconds: Callable[[int], Fraction]


@dataclass(slots=True)
class Application:
    """What a job of these arguments does."""

    phases: list[Phase] = field(default_factory=list)
    #: Seconds that each change of the number of nodes costs.
    stall: Fraction = Fraction(0)
    #: What takes time in the simulator only.
    passed_over: set[str] = field(default_factory=set)

    def seconds(self, nodes: int) -> Fraction:
        """Return the run time on a number of nodes that never changes."""
        return sum((phase.iterations * phase.seconds(nodes) for phase in self.phases), Fraction(0))


def as_texts(values: Mapping[str, object]) -> dict[str, str]:
    """Return arguments or attributes as ElastiSim understands them: numbers have 6 decimals."""
    return {
        name: f"{value:.6f}" if isinstance(value, float) else str(value) for name, value in values.items()
    }


def read_application(
    model: Document, arguments: Mapping[str, str], limits: Mapping[str, int], flops: float
) -> Application:
    """Read the application of one job.

    Raises `InvalidOption` if the model is not understood; the message names the place in it and the value.
    Each argument of the job is put into formulas as a text, as ElastiSim does; the limits are
    ``num_nodes_min`` and ``num_nodes_max``; a host does `flops` operations in a second.
    """
    reader = _Reader(arguments, limits, Fraction(flops))
    application = Application()
    if model.get("on_init") is not None:
        application.passed_over.add("on_init")
    if model.get("on_expansion") is not None:
        application.passed_over.add("on_expansion")
    if (change := model.get("on_reconfiguration")) is not None:
        cost = reader.tasks(
            _tasks(change, "on_reconfiguration"), "on_reconfiguration", application.passed_over
        )
        costs = {cost(nodes) for nodes in (limits["num_nodes_min"], limits["num_nodes_max"])}
        application.stall = min(costs)
        if len(costs) > 1:
            application.passed_over.add("on_reconfiguration beyond its fixed part")
    phases = model.get("phases")
    if not isinstance(phases, list) or not phases:
        raise InvalidOption(f"phases: must be a list of at least one phase, not {show(phases)}")
    for idx, phase in enumerate(phases):
        place = f"phases[{idx}]"
        tasks = _tasks(phase, place)
        iterations = reader.iterations(phase.get("iterations", 1), f"{place}.iterations")
        request = phase.get("evolving_request")
        application.phases.append(
            Phase(
                iterations,
                phase.get("scheduling_point", True) is not False,
                None if request is None else reader.request(request, f"{place}.evolving_request"),
                reader.tasks(tasks, place, application.passed_over),
            )
        )
    return application


def _tasks(phase: object, place: str) -> list[Any]:
    if not isinstance(phase, dict):
        raise InvalidOption(f"{place}: must be an object, not {show(phase)}")
    tasks = phase.get("tasks")
    if not isinstance(tasks, list):
        raise InvalidOption(f"{place}.tasks: must be a list, not {show(tasks)}")
    return tasks


class _Reader:
    def __init__(self, arguments: Mapping[str, str], limits: Mapping[str, int], flops: Fraction) -> None:
        # ElastiSim's order of replacement.
        self._arguments = sorted(arguments.items())
        self._sizes = {**limits, "num_gpus": 0, "num_gpus_per_node": 0}
        self._flops = flops

    def _formula(self, value: object, place: str, names: frozenset[str] = _SIZES) -> Callable[..., Fraction]:
        """Return the value of a formula by the number of nodes, and the iteration if there is one."""
        text = value
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = format(value, ".6f") if isinstance(value, float) else str(value)
        if not isinstance(text, str):
            raise InvalidOption(f"{place}: must be a number or a formula, not {show(value)}")
        if names is not _REQUEST_NAMES:
            for name, argument in self._arguments:
                text = text.replace(name, argument)
        try:
            formula = parse_formula(text, names)
        except InvalidOption as error:
            raise InvalidOption(_at(place, value, error)) from None
        sizes = self._sizes

        def evaluate(nodes: int, iteration: int = 0) -> Fraction:
            try:
                return formula({**sizes, "num_nodes": nodes, "phase_iteration": iteration})
            except InvalidOption as error:
                raise InvalidOption(_at(place, value, error)) from None

        return evaluate

    def iterations(self, value: object, place: str) -> int:
        count = self._formula(value, place, frozenset())(0)
        if not 1 <= math.trunc(count) <= _MOST_ITERATIONS:
            raise InvalidOption(f"{place}: {show(value)} are not in 1..{_MOST_ITERATIONS}")
        return math.trunc(count)

    def request(self, value: object, place: str) -> Callable[[int, int], int]:
        formula = self._formula(value, place, _REQUEST_NAMES)
        return lambda nodes, iteration: math.trunc(formula(nodes, iteration))

    def tasks(self, tasks: list[Any], place: str, passed_over: set[str]) -> Callable[[int], Fraction]:
        """Return the seconds of tasks, one after another, by the number of nodes."""
        parts = [self._task(task, f"{place}.tasks[{idx}]", passed_over) for idx, task in enumerate(tasks)]
        return lambda nodes: sum((part(nodes) for part in parts), Fraction(0))

    def _task(self, task: object, place: str, passed_over: set[str]) -> Callable[[int], Fraction]:
        if not isinstance(task, dict):
            raise InvalidOption(f"{place}: must be an object, not {show(task)}")
        kind = str(task.get("type")).lower()
        times = self._formula(task.get("iterations", 1), f"{place}.iterations")
        if kind == "sequence":
            inner = self.tasks(_tasks(task, place), place, passed_over)
            return lambda nodes: math.trunc(times(nodes)) * inner(nodes)
        if kind in _NOT_READ:
            passed_over.add(kind)
            return lambda _: Fraction(0)
        if kind in ("idle", "busy_wait"):
            seconds = self._load(task, "delay", "pattern", place)
            return lambda nodes: math.trunc(times(nodes)) * seconds(nodes)
        if kind != "cpu":
            raise InvalidOption(f"{place}.type: {show(task.get('type'))} is none of ElastiSim's")
        if task.get("bytes") is not None:
            passed_over.add("communication")
        if task.get("flops") is None:
            return lambda _: Fraction(0)
        work, speed = self._load(task, "flops", "computation_pattern", place), self._flops
        return lambda nodes: math.trunc(times(nodes)) * work(nodes) / speed

    def _load(self, task: Document, name: str, pattern: str, place: str) -> Callable[[int], Fraction]:
        """Return the largest part that a node has of a load."""
        how = str(task.get(pattern)).lower()
        if how == "vector":
            listed = task.get(name)
            if not isinstance(listed, list) or not listed:
                msg = f"{place}.{name}: must be a list of at least one number, not {show(listed)}"
                raise InvalidOption(msg)
            parts = [self._formula(part, f"{place}.{name}[{idx}]") for idx, part in enumerate(listed)]
            return lambda nodes: max(part(nodes) for part in parts)
        value = self._formula(task.get(name), f"{place}.{name}")
        if how in ("uniform", "root_only"):
            return value
        shares: dict[str, Callable[[int], int]] = {
            "all_ranks": lambda nodes: nodes,
            "total": lambda nodes: nodes,
            "even_ranks": lambda nodes: (nodes + 1) // 2,
            "odd_ranks": lambda nodes: max(nodes // 2, 1),
        }
        if how not in shares:
            raise InvalidOption(f"{place}.{pattern}: {show(task.get(pattern))} is none of ElastiSim's")
        share = shares[how]
        return lambda nodes: value(nodes) / share(nodes)


def _at(place: str, value: object, error: InvalidOption) -> str:
    return f"{place}: {show(value)}: {error}"
