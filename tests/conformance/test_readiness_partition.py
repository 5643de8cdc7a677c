"""Once a solver of partition problems is ready, it compiles nothing for the problem itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from allocsolve.model import PartitionProblem
from allocsolve.registry import make_solver, solver_names
from allocsolve.registry.partition import PARTITION

if TYPE_CHECKING:
    from pathlib import Path

#: Solvers that differ in their node order only run the same kernels.
_BY_KERNELS = {
    re.sub(r"order='[\w-]*'", "", repr(make_solver(name, PartitionProblem))): name
    for name in solver_names(PARTITION)
    if name not in ("cpsat", "milp")  # they compile nothing of their own
}

#: Runs in a process of its own, whose cache is empty: prints what each problem still compiles.
_SCRIPT = """
import sys
import numba.core.event as events
from allocsolve.instances import uniform_occupancy
from allocsolve.model import Budget, Mesh, PartitionProblem, Topology, Torus
from allocsolve.registry import make_solver, ready

class Listener(events.Listener):
    compiled = []
    def on_start(self, event):
        self.compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

events.register("numba:compile", Listener())
solver = make_solver(sys.argv[1], PartitionProblem)
machines = (
    Mesh((40,)), Torus((9, 8)), Topology((12, 6), (True, False)), Mesh((16, 8)), Torus((15,)),
    Mesh((5, 4, 4)), Torus((4, 5, 3)), Torus((2, 16)), Mesh((3, 40)), Mesh((1, 7)),
)
for machine in machines[int(sys.argv[2]) :]:
    for contiguous in (False, True):
        for share, size in ((0, 1), (0, 7), (0.3, 4), (0, min(machine.num_nodes, 40))):
            problem = uniform_occupancy(machine, share, size, 3, contiguous=contiguous)
            ready(solver, problem)
            before = len(Listener.compiled)
            solver(problem, Budget(seconds=2, workers=2))
            for name in Listener.compiled[before:]:
                print(machine, contiguous, share, size, name)
print(len(Listener.compiled), "compiled")
"""


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1], ids=["line-first", "torus-first"])
@pytest.mark.parametrize("name", _BY_KERNELS.values())
def test_nothing_is_compiled_once_ready(name: str, first: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SCRIPT, name, str(first)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    *late, last = run.stdout.splitlines()
    assert not late
    assert last.endswith(" compiled")
    if name == "branch-and-bound":
        assert int(last.split()[0]) > 0, "the listener hears nothing"
