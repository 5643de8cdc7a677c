"""Solvers of third parties by reference and by entry point: what works, and one line for what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from plugin_tools import Site, site

from allocsolve import EvolutionProblem, Job, Mesh, PartitionProblem, WorkloadProblem, solve
from allocsolve.bench import plan, run
from allocsolve.errors import PluginError, UnknownName
from allocsolve.families import families, family_of
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011, uniform_occupancy
from allocsolve.model import Budget
from allocsolve.registry import (
    canonical_name,
    code_of,
    families_named,
    families_solved,
    identity,
    load_plugin,
    make_allocator,
    make_solver,
    plugins,
    solver_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVOLUTION = klein2011(1, num_apps=(3, 3))
PARTITION = uniform_occupancy(Mesh((6, 4)), 0.3, 5, 1)
LONGEST = ListScheduling(order="longest")

SOLVERS = """
@dataclass(frozen=True)
class Longest:
    order: str = "longest"
    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Result:
        return ListScheduling(order=self.order)(problem, budget)

class Plain:
    def __repr__(self):
        return "Plain()"
    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Result:
        return greedy(problem, budget)
    @classmethod
    def method(cls, problem: EvolutionProblem, budget: Budget) -> Result:
        return greedy(problem, budget)

longest = Longest()

def whatever(problem: EvolutionProblem | PartitionProblem, budget: Budget) -> Result:
    return (greedy if isinstance(problem, EvolutionProblem) else Growth())(problem, budget)
"""


@pytest.fixture
def third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Where third parties put their code."""
    with site(tmp_path, monkeypatch) as made:
        yield made


def _refused(name: str, problem: EvolutionProblem | PartitionProblem = EVOLUTION) -> str:
    with pytest.raises(PluginError) as caught:
        make_solver(name, problem)
    text = str(caught.value)
    assert text.startswith(f"plug-in {name!r}: ")
    assert "\n" not in text
    return text.removeprefix(f"plug-in {name!r}: ")


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("greedy", "acme.greedy"),
        ("Longest", "Longest(order='longest')"),
        ("longest", "Longest(order='longest')"),
        ("Plain", "Plain()"),
        ("whatever", "acme.whatever"),
    ],
)
def test_references_of_every_form(name: str, called: str, third: Site) -> None:
    third.module("acme", SOLVERS)
    expected = LONGEST(EVOLUTION, Budget()).answer
    assert solve(EVOLUTION, f"acme:{name}").answer == expected
    assert identity(make_solver(f"acme:{name}", EVOLUTION)) == called
    (row,) = run(plan([("", EVOLUTION)], [f"acme:{name}"], budgets=[Budget(seconds=60)]))
    assert (row.solver, row.solver_repr, row.error) == (f"acme:{name}", called, "")
    third.module("deep.down.solvers", SOLVERS)
    assert solve(EVOLUTION, "deep.down.solvers:Plain.method").answer == expected


def test_a_union_solves_both_kinds(third: Site) -> None:
    third.module("acme", SOLVERS)
    _, families = load_plugin("acme:whatever")
    assert [family.kind for family in families] == ["evolution", "partition"]
    for problem in (EVOLUTION, PARTITION):
        assert solve(problem, "acme:whatever").answer is not None
    nodes = make_allocator("acme:whatever")(PARTITION.topology, PARTITION.free, 5)
    assert nodes is not None
    assert len(nodes) == 5


def test_registered_solvers_say_what_they_solve() -> None:
    for family in families():
        for name in solver_names(family):
            assert families_solved(make_solver(name, family.problem)) == (family,)


@pytest.mark.parametrize(
    "annotation", ["EvolutionProblem", "model.EvolutionProblem", "Problem", "allocsolve.EvolutionProblem"]
)
def test_names_that_are_imported_for_type_checkers_only(annotation: str, third: Site) -> None:
    head = """
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import allocsolve
    from allocsolve import model
    from allocsolve.model import Budget, EvolutionProblem, Problem, Result
"""
    third.module(
        "acme", f"def greedy(problem: {annotation}, budget: Budget) -> Nowhere[Result]: ...", head=head
    )
    _, families = load_plugin("acme:greedy")
    assert families[0].kind == "evolution"


def test_an_objective_is_told_to_who_has_a_field_for_it(third: Site) -> None:
    third.module(
        "acme",
        """
        @dataclass(frozen=True)
        class Told:
            objective: tuple[str, ...] = ("makespan",)
            def __call__(self, problem: EvolutionProblem, budget: Budget) -> Result:
                return greedy(problem, budget)

        greedy.objective = "mine"
        """,
    )
    assert identity(make_solver("acme:Told", EVOLUTION, "waste")) == "Told(objective=('waste',))"
    assert identity(make_solver("acme:Told", EVOLUTION)) == "Told(objective=('makespan',))"
    assert identity(make_solver("acme:greedy", EVOLUTION, "waste")) == "acme.greedy"


@pytest.mark.parametrize(
    ("source", "name", "reason"),
    [
        ("", "nowhere:greedy", "there is no module 'nowhere'"),
        ("", "nowhere.deep:greedy", "there is no module 'nowhere'"),
        ("", "acme.deep:greedy", "there is no module 'acme.deep'"),
        ("", "acme:gredy", "module 'acme' has no attribute 'gredy'"),
        ("", "acme:", "'acme:' is not of the form package.module:object"),
        ("", ":greedy", "':greedy' is not of the form package.module:object"),
        ("", "/acme/x.py:greedy", "'/acme/x.py:greedy' is not of the form package.module:object, or file.py"),
        ("", "acme:a:b", "'acme:a:b' is not of the form package.module:object"),
        ("", "acme:Status", "Status() raised TypeError: "),
        ("seven = 7", "acme:seven", "7 is not callable"),
        ("import nowhere", "acme:greedy", "importing acme raised ModuleNotFoundError: No module named"),
        ("1 / 0", "acme:greedy", "importing acme raised ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "acme:greedy", "importing acme raised SystemExit: 3"),
        ("raise OSError('two\\nlines')", "acme:greedy", "importing acme raised OSError: two lines"),
        ("def (", "acme:greedy", "importing acme raised SyntaxError: "),
        ("class C:\n    def __init__(self): raise SystemExit('no')", "acme:C", "C() raised SystemExit: no"),
        ("class C:\n    def __init__(self, x): ...", "acme:C", "C() raised TypeError: "),
        ("def f(of: EvolutionProblem): ...", "acme:f", "acme.f lacks the parameter budget: it is called"),
        ("def f(problem): ...", "acme:f", "acme.f lacks the parameter budget: it is called with a problem"),
        ("def policy(view): ...", "acme:policy", "it solves workload problems, not evolution problems"),
        ("def f(): ...", "acme:f", "acme.f is not called with a problem and a budget"),
        (
            "def f(problem, budget): ...",
            "acme:f",
            "annotate its first parameter with what it solves: EvolutionProblem or PartitionProblem",
        ),
        ("def f(problem: list[EvolutionProblem], budget): ...", "acme:f", "annotate its first parameter"),
        (
            "def f(problem: Nowhere, budget): ...",
            "acme:f",
            "the annotation 'Nowhere' cannot be resolved: name",
        ),
        ("f = lambda problem, budget: 0", "acme:f", "acme.<lambda> is no name to find its records by"),
        (
            "def g():\n    def f(problem: EvolutionProblem, budget): ...\n    return f\nf = g()",
            "acme:f",
            "acme.g.<locals>.f is no name to find its records by: take a function of a module or",
        ),
        (
            "class C:\n    def __call__(self, problem: EvolutionProblem, budget): ...",
            "acme:C",
            "<acme.C object at ",
        ),
        (
            "import functools\nf = functools.partial(greedy)",
            "acme:f",
            "functools.partial(<function greedy at ",
        ),
    ],
)
def test_what_cannot_be_used_is_one_line(source: str, name: str, reason: str, third: Site) -> None:
    third.module("acme", source)
    assert _refused(name).startswith(reason)


POLICIES = """
from allocsolve.simulation import Start
def first(view): return [Start(int(job), 1) for job in view.queue[:view.free]]
@dataclass(frozen=True)
class Some:
    most: int = 9
    def decide(self, view): return first(view)[:self.most]
"""


def test_a_policy_is_a_solver_by_name(third: Site) -> None:
    third.module("acme", POLICIES)
    workload = WorkloadProblem(2, [Job(0, 1, 5), Job(0, 1, 7), Job(1, 1, 3)])
    named = {
        "acme.py:first": ("acme:first", "PolicySolver(acme.first)", 19 / 3),
        "acme:Some": ("acme:Some", "PolicySolver(acme.Some)", 19 / 3),
        "./acme.py:Some(most=1)": ("acme:Some(most=1)", "PolicySolver(Some(most=1))", 20 / 3),
    }
    rows = run(plan([("", workload)], [*named], budgets=[Budget(seconds=60)]))
    for (name, told), row in zip(named.items(), rows, strict=True):
        solver = make_solver(name, workload)
        assert (canonical_name(name), identity(solver), solve(workload, name).objective) == told
        assert (row.solver, row.solver_repr, row.value, row.error) == (*told, "")
        assert families_named(name) == (family_of(workload),)
        assert code_of(solver, name).startswith(f"{told[0]}#")


def test_interrupting_an_import_interrupts(third: Site) -> None:
    third.module("acme", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        make_solver("acme:greedy", EVOLUTION)


def test_entry_points_are_solvers_by_name(third: Site) -> None:
    third.module("acme", SOLVERS)
    third.distribution("acme-solvers", longest_first="acme:Longest", any="acme:whatever")
    assert list(plugins()) == ["any", "longest-first"]
    assert solve(EVOLUTION, "longest-first").answer == LONGEST(EVOLUTION, Budget()).answer
    assert solve(PARTITION, "any").answer is not None
    assert make_allocator("any")(PARTITION.topology, PARTITION.free, 5) is not None
    assert _refused("longest-first", PARTITION) == "it solves evolution problems, not partition problems"
    named = [("", EVOLUTION)]
    records = run(plan(named, ["noX", "longest-first"], budgets=[Budget(seconds=60)]))
    assert not [row.error for row in records if row.error]
    with pytest.raises(UnknownName, match="did you mean longest-first"):
        make_solver("longest_first", EVOLUTION)
    with pytest.raises(UnknownName, match="unknown plug-in 'noX'"):
        load_plugin("noX")


def test_a_broken_entry_point_breaks_nothing_else(third: Site) -> None:
    third.module("acme", "raise SystemExit(1)")
    third.module("fine")
    third.distribution("acme-solvers", broken="acme:greedy", malformed="no colon")
    third.distribution("fine-solvers", fine="fine:greedy")
    assert solve(EVOLUTION, "noX").answer is not None
    assert solve(EVOLUTION, "fine").answer is not None
    assert _refused("broken") == "importing acme raised SystemExit: 1"
    assert _refused("malformed").startswith("'no colon' is not of the form package.module:object")


def test_a_name_that_several_use_is_nobodys(third: Site) -> None:
    third.module("acme")
    third.distribution("acme-solvers", noX="acme:greedy", growth="acme:greedy", mine="acme:greedy")
    third.distribution("zeta-solvers", mine="acme:greedy")
    says = "acme-solvers 1.5 and zeta-solvers 1.5 have a solver of this name; name it as acme:greedy"
    assert _refused("mine").startswith(says)
    says = "allocsolve itself and acme-solvers 1.5 have a solver of this name; name it as acme:greedy"
    assert _refused("noX") == says
    assert _refused("growth", PARTITION) == says
    assert solve(EVOLUTION, "acme:greedy").answer is not None
    assert solve(EVOLUTION, "infX").answer is not None
