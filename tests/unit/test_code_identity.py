"""Records know the code that made them; plug-ins are asked what they are in a process of their own."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from process_tools import python

from allocsolve.bench import RecordStore, Study, describe, open_executor, plan, run
from allocsolve.bench.runs import describe as describe_module
from allocsolve.errors import AllocsolveError, InvalidOption, PluginError
from allocsolve.exact import EvolutionCpSat
from allocsolve.families import families
from allocsolve.heuristics import ListScheduling
from allocsolve.instances import klein2011, write_problem
from allocsolve.model import Budget, EvolutionProblem
from allocsolve.registry import code as code_module, code_of, identity, make_solver, solve

if TYPE_CHECKING:
    from plugin_tools import Site

    from allocsolve.bench import Task


DOCS = Path(__file__).parents[2] / "docs"
PROBLEMS = [("", klein2011([5, idx], num_apps=(4, 4))) for idx in range(2)]
BUDGETS = [Budget(seconds=60)]
NO_EXPANSION = make_solver("noX", EvolutionProblem)

NAMED_LIKE_CPSAT = f"""
class Cuckoo:
    def __repr__(self):
        return {str(EvolutionCpSat())!r}
    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Result:
        return greedy(problem, budget)
Cuckoo.__module__ = {EvolutionCpSat.__module__!r}
Cuckoo.__qualname__ = Cuckoo.__name__ = "EvolutionCpSat"
cuckoo = Cuckoo()
"""


class Desk:
    """An author's folder, in which commands run as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for idx, (_, problem) in enumerate(PROBLEMS):
            write_problem(problem, folder / "problems" / f"p{idx}.json")

    def score(self, solvers: str) -> dict[str, Any]:
        """Return what `score` says of solvers."""
        argv = ["score", "problems", "--solvers", solvers, "--baseline", "noX", "--out", "out", "--json"]
        printed, said = python("-m", "allocsolve", *argv, cwd=self.folder)
        assert "Traceback" not in said
        document: dict[str, Any] = json.loads(printed)
        return document


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "problems").mkdir()
    return Desk(tmp_path)


def _gap(scores: dict[str, Any], solver: str) -> float:
    (gap,) = (one["gap"]["mean"] for one in scores["scores"] if one["solver"] == solver)
    return float(gap)


def test_an_edited_heuristic_is_scored_anew(desk: Desk) -> None:
    """The page `docs/heuristic.md`, and then the slip that everybody makes."""
    source = re.search(r":caption: widest\.py\n\n(.*?)```", (DOCS / "heuristic.md").read_text(), re.DOTALL)
    assert source is not None
    module, name = desk.folder / "widest.py", "widest:WidestFirst"
    module.write_text(source[1])
    first = desk.score(name)
    assert first["reused"] == {"runs": 0, "of": 4, "days": []}
    module.write_text(source[1].replace("-apps[app].peak", "apps[app].peak"))
    edited = desk.score(name)
    assert edited["reused"]["runs"] == 2, "those of noX"
    assert _gap(edited, name) != _gap(first, name)
    module.write_text(source[1])
    again = desk.score(name)
    assert again["reused"]["runs"] == 4
    assert _gap(again, name) == _gap(first, name)


def test_a_module_beside_it_belongs_to_it(desk: Desk) -> None:
    (desk.folder / "mine.py").write_text(
        "from allocsolve import Budget, EvolutionProblem\n"
        "def solver(problem: EvolutionProblem, budget: Budget):\n"
        "    import helper\n"
        "    return helper.best(problem, budget)\n"
    )
    text = "import deeper\ndef best(problem, budget): return deeper.rule(problem, budget)\n"
    (desk.folder / "helper.py").write_text(text)
    rule = "from allocsolve.heuristics import ListScheduling\nrule = ListScheduling(order='{}')\n"
    (desk.folder / "deeper.py").write_text(rule.format("longest"))
    (desk.folder / "stranger.py").write_text("")
    first = desk.score("mine:solver")
    (desk.folder / "stranger.py").write_text("pass")
    assert desk.score("mine:solver")["reused"]["runs"] == 4
    (desk.folder / "deeper.py").write_text(rule.format("shortest"))
    edited = desk.score("mine:solver")
    assert edited["reused"]["runs"] == 2
    assert _gap(edited, "mine:solver") != _gap(first, "mine:solver")


def _plan(*solvers: Any) -> list[Task]:
    return plan(PROBLEMS, solvers, budgets=BUDGETS)


#: Two classes, two objects of one class, two options, and one that is shown as ours.
SHOWN_ALIKE = (
    ("acme:Wide", "acme:Long"),
    ("acme:wide", "acme:long"),
    ("acme:Any(order=highest)", "acme:Any"),
    ("acme:shown.Wide", "noX"),
)


def test_two_solvers_of_one_repr_have_their_own_rows(third: Site) -> None:
    third.module(
        "acme",
        f"""
        @dataclass(repr=False)
        class Any:
            order: str = "longest"
            def __repr__(self):
                return {str(NO_EXPANSION)!r}
            def __call__(self, problem: EvolutionProblem, budget: Budget) -> Result:
                return ListScheduling(order=self.order)(problem, budget)

        class Wide(Any):
            def __init__(self): self.order = "highest"
        class Long(Any):
            def __init__(self): self.order = "longest"
        wide, long = Any("highest"), Any("longest")
        class shown:
            Wide = Wide
        """,
    )
    names = [name for pair in SHOWN_ALIKE for name in pair]
    described = dict(zip(names, describe(names), strict=True))
    store = RecordStore()
    apart = [row for name in names for row in run(_plan(described[name]), store=store)]
    assert len(store) == len(apart) == 2 * len(names)
    for idx, name in enumerate(names):
        for (_, problem), row in zip(PROBLEMS, apart[2 * idx :], strict=False):
            assert (row.solver, row.value) == (described[name].name, solve(problem, name).objective)
    for pair in SHOWN_ALIKE:
        together = run(_plan(*(described[name] for name in pair)))
        assert [row.solver for row in together] == [described[name].name for name in pair] * 2
        values = {(row.solver, row.instance): row.value for row in apart}
        assert all(row.value == values[row.solver, row.instance] for row in together)


def test_who_forges_a_repr_gets_no_rows_of_others(third: Site) -> None:
    third.module("acme", NAMED_LIKE_CPSAT)
    store = RecordStore()
    proofs = run(_plan("cpsat"), store=store)
    assert {row.status.value for row in proofs} == {"optimal"}
    for name in ("acme:Cuckoo", "acme:cuckoo"):
        forged = run(_plan(name), store=store)
        assert {row.solver_repr for row in forged} == {row.solver_repr for row in proofs}
        assert {row.status.value for row in forged} == {"feasible"}
        assert all(row.code.startswith(f"{name}#") for row in forged)
        solver = make_solver(name, EvolutionProblem)
        assert code_of(solver) != code_of(EvolutionCpSat()), "nor as an object without a name"


@dataclass(frozen=True)
class Hidden:
    """Does not tell its option."""

    order: str

    def __repr__(self) -> str:
        return "Hidden()"

    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Any:
        return ListScheduling(order=self.order)(problem, budget)  # type: ignore[arg-type]  # one of its orders


class Other(Hidden):
    """Has the same repr."""


def test_one_name_for_two_solvers_is_refused() -> None:
    for one, other in (
        (Hidden("longest"), Hidden("shortest")),
        (Hidden("longest"), Other("longest")),
        (_function("longest"), _function("shortest")),
    ):
        with pytest.raises(InvalidOption, match=r"^two solvers are called .*: let the repr of each tell.*$"):
            _plan(one, other)
        assert len(_plan(one, one)) == len(PROBLEMS)
    for one, equal in ((Hidden("longest"), Hidden("longest")), (_Bag([1]), _Bag([1]))):
        assert len(_plan(one, equal)) == len(PROBLEMS), "equal by what they hold"


def _function(order: str) -> Any:
    def solver(problem: EvolutionProblem, budget: Budget) -> Any:
        return Hidden(order)(problem, budget)

    return solver


class _Bag:
    def __init__(self, things: list[int]) -> None:
        self.things = things

    def __repr__(self) -> str:
        return "Bag()"

    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Any:
        return Hidden("longest")(problem, budget)


def _forget() -> None:
    """Have sources read anew."""
    code_module._sources.clear()


def test_the_code_of_what_is_installed(third: Site) -> None:
    third.module("acme.solvers")
    third.module("acme.helper", "one = 1")
    third.module("beside", "two = 2")
    info = third.folder / "acme_solvers-2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-solvers\nVersion: 2.3\n")
    (info / "RECORD").write_text(
        "acme/solvers.py,,\nacme/helper.py,,\nbeside.py,,\nlost.py,,\nacme/x.bin,,\n"
    )

    def code() -> str:
        _forget()
        return code_of(make_solver("acme.solvers:greedy", EvolutionProblem), "acme.solvers:greedy")

    first = code()
    assert re.fullmatch(r"acme\.solvers:greedy@2\.3#[0-9a-f]{16}", first)
    (third.folder / "acme" / "x.bin").write_text("data")
    (third.folder / "other.py").write_text("")
    assert code() == first
    (third.folder / "beside.py").write_text("two = 3")
    second = code()
    assert second != first
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-solvers\nVersion: 2.4\n")
    assert code() == second.replace("@2.3", "@2.4")


def test_the_code_of_our_own_solvers() -> None:
    code = code_of(make_solver("noX", EvolutionProblem), "noX")
    assert re.fullmatch(r"allocsolve\.heuristics\.[a-z_.]+:ListScheduling@[0-9.]+#[0-9a-f]{16}", code)
    assert code == code_of(ListScheduling())


def test_code_that_is_another_one_where_it_runs_is_refused(third: Site) -> None:
    """The file was edited after the plan was made, or a worker has another version of it."""
    third.module("acme", "MINE = 1")
    (task, _) = _plan("acme:greedy")
    assert task.make_solver() is not None
    third.module("acme", "MINE = 2")
    _forget()
    with pytest.raises(AllocsolveError, match=r"the code of acme:greedy is .* here, the run was planned"):
        task.make_solver()


# --- Descriptions -------------------------------------------------------------------------------------


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
