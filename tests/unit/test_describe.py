"""Plug-ins are asked what they are in a process of their own; none enters that of the runner."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from allocsolve.bench import Study, describe, open_executor, plan, run
from allocsolve.bench.runs import describe as describe_module
from allocsolve.errors import PluginError
from allocsolve.families import families
from allocsolve.instances import klein2011
from allocsolve.model import Budget
from allocsolve.registry import code_of, identity, make_solver

if TYPE_CHECKING:
    from plugin_tools import Site

PROBLEM = klein2011([3, 0], num_apps=(3, 3))
SORTED = """
@dataclass(frozen=True)
class Sorted:
    order: str = "longest"
    objective: tuple[str, ...] = ("makespan",)
    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Result:
        return ListScheduling(order=self.order)(problem, budget)
"""


NONSENSE = """
import os
for number in range(3, 64):
    try:
        os.write(number, b"nonsense")
    except OSError:
        pass
"""


def test_a_plug_in_is_planned_and_run_without_being_imported_here(third: Site) -> None:
    third.module("acme", SORTED)
    names = ("acme:Sorted(order=largest)", "noX")
    study = Study((("", PROBLEM),), names, budgets=(Budget(60.0),))
    with open_executor("local", jobs=1) as executor:
        rows = run(study.tasks(), executor=executor)
    assert "acme" not in sys.modules
    assert [row.error for row in rows] == ["", ""]
    assert [row.solver for row in rows] == list(names)


@pytest.mark.parametrize("name", ["acme:Sorted(order=largest)", "acme:greedy", "noX", "growth", "cpsat"])
def test_what_another_process_says_is_what_this_one_would(name: str, third: Site) -> None:
    third.module("acme", SORTED)
    objectives = [None, "completion", "makespan,waste"]
    (described,) = describe([name], objectives)
    assert described.name == name
    for (kind, objective), found in described.identities.items():
        (family,) = (one for one in families() if one.kind == kind)
        solver = make_solver(name, family.problem, objective)
        assert found == (identity(solver), code_of(solver, name))
    assert {kind for kind, _ in described.identities} == {*described.kinds}


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("raise RuntimeError('no luck')", "importing acme raised RuntimeError: no luck"),
        ("import sys; sys.exit(3)", "importing acme raised SystemExit: 3"),
        ("import os; os._exit(3)", "its process died: exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", "its process died: SIGKILL"),
        (NONSENSE, "its process"),
        ("import time; time.sleep(600)", "importing it takes longer than 3 s"),
        ("print('hello'); solver = 5", "5 is not callable"),
    ],
)
def test_whatever_a_plug_in_does_when_it_is_imported_is_one_line(
    source: str, fault: str, third: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describe_module, "_IMPORT_S", 3.0 if "sleep" in source else 300.0)
    third.module("acme", source)
    with pytest.raises(PluginError) as caught:
        plan([("", PROBLEM)], ["acme:solver"], budgets=[Budget()])
    assert str(caught.value).startswith(f"plug-in 'acme:solver': {fault}")
    assert len(str(caught.value).splitlines()) == 1


def test_a_plug_in_cannot_pass_for_another_solver(third: Site) -> None:
    """It can forge what its process says, but not the place of its code, by which its records are found."""
    third.module(
        "acme",
        """
        import allocsolve.registry as registry
        registry.code_of = lambda *_: "allocsolve.exact.evolution.cpsat:CpSat"
        registry.identity = lambda *_: "CpSat()"
        """,
    )
    with pytest.raises(PluginError, match="it says that its code is"):
        describe(["acme:greedy"])
