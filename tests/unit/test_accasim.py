"""AccaSim itself, in a process of its own, with our policies as its scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from process_tools import python

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("accasim", reason="AccaSim is not installed")

#: AccaSim 1.1.3 expects names in `collections` that Python 3.10 has moved, and warns.
SCRIPT = """
import collections, collections.abc, json, sys, warnings

warnings.simplefilter("ignore")  # AccaSim 1.1.3 is older than Python 3.10 and its libraries
for name in ("Mapping", "MutableMapping", "Sequence", "Iterable", "Callable"):
    setattr(collections, name, getattr(collections.abc, name))
from accasim.base.allocator_class import FirstFit
from accasim.base.event_class import EventManager
from accasim.base.scheduler_class import FirstInFirstOut, SchedulerBase
from accasim.base.simulator_class import Simulator

from allocsolve.adaptors import AccasimScheduler
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import WorkloadProblem
from allocsolve.registry import make_solver
from allocsolve.simulation import simulate


class Ours(AccasimScheduler, SchedulerBase):
    pass


class Starts(EventManager):
    def dispatch_event(self, job, *others):
        outcome = super().dispatch_event(job, *others)
        starts[int(job.id) - 1] = job.start_time
        return outcome


problem, starts = random_workload(3, 150, 16, load=0.95), {}
packed = problem.packed
with open("log.swf", "w") as file:
    print("; UnixStartTime: 0\\n; MaxProcs: 16", file=file)
    for job in range(len(problem.jobs)):
        fields = [-1] * 18
        fields[0], fields[1], fields[3] = job + 1, packed.submit[job], packed.runtime[job]
        fields[7], fields[8], fields[11] = packed.nodes[job], packed.estimate[job], 1
        print(*map(int, fields), file=file)
with open("system.json", "w") as file:
    json.dump({"groups": {"node": {"core": 1}}, "resources": {"node": 16}}, file)
import accasim.base.simulator_class
accasim.base.simulator_class.EventManager = Starts
options = {"scheduling_output": False, "statistics_output": False, "show_statistics": False}
rows = [(FirstInFirstOut(FirstFit()), "fcfs")]
rows += [(Ours(name, FirstFit()), name) for name in ("fcfs", "easy", "conservative(compression=none)")]
for dispatcher, name in rows:
    starts.clear()
    Simulator("log.swf", "system.json", dispatcher, **options).start_simulation()
    ours = simulate(problem, make_solver(name, WorkloadProblem)).first_starts.tolist()
    print(dispatcher.get_id(), sum(starts[job] == start for job, start in enumerate(ours)))
"""


def test_our_policies_inside_accasim_start_all_jobs_when_our_engine_does(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(SCRIPT, encoding="utf-8")
    printed, _ = python("run.py", cwd=tmp_path, MPLCONFIGDIR=str(tmp_path))
    lines = [line for line in printed.splitlines() if line.endswith(" 150")]
    assert [line.split()[0] for line in lines] == [
        "FirstInFirstOut-FIFO-FirstFit",
        "allocsolve-fcfs-FirstFit",
        "allocsolve-easy-FirstFit",
        "allocsolve-conservative(compression=none)-FirstFit",
    ]
