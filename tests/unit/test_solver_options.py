"""Options of solvers are annotated fields, which editors show; numbers of searches are no options."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from offenders import all_offenders

from allocsolve import exact, heuristics
from allocsolve.errors import InvalidOption
from allocsolve.exact.workload.prices import PricesParams
from allocsolve.families import families
from allocsolve.model.options import Options, field_options
from allocsolve.registry import solver_options
from allocsolve.registry.table import identity

ROOT: Final = Path(__file__).parents[2]

#: Solvers that check how their options fit each other; `allocator` has the names that `allocators` knows.
RELATED: Final = (heuristics.Easy, heuristics.Static)


#: The classes of numbers in a module, each with its name and body.
CLASS: Final = r"\nclass (\w+)\(Params\):(.*?)(?=\n\n\n|\Z)"


def _classes() -> list[type]:
    """Return the registered classes of solvers, and those of their parts that hold options."""
    solvers = {type(row.load()) for family in families() for row in family.solvers}
    parts = {
        type(option.value)
        for solver in solvers
        for option in field_options(solver)
        if isinstance(option.value, Options)
    }
    return sorted(solvers | parts, key=lambda cls: cls.__qualname__)


CLASSES: Final = _classes()
SEARCHES: Final = [cls for cls in CLASSES if any(field.name == "params" for field in dataclasses.fields(cls))]


def test_solvers_with_options_state_them_in_annotated_fields() -> None:
    """Only relations between options are checked by hand, in the few classes that have any."""
    with all_offenders() as offender:
        for cls in CLASSES:
            with offender(cls.__qualname__):
                if dataclasses.fields(cls):
                    assert issubclass(cls, Options), "it has fields, and does not derive from Options"
                    by_hand = cls.__post_init__ is not Options.__post_init__
                    assert by_hand == (cls in RELATED), "a __post_init__ of its own is for relations"


def test_the_numbers_of_a_search_are_no_options_but_tell_it_apart() -> None:
    """A repr shows those that are not the usual ones, and gives the same solver again."""
    assert len(SEARCHES) >= 15
    with all_offenders() as offender:
        for cls in SEARCHES:
            with offender(cls.__qualname__):
                solver: Any = cls()
                assert "params" not in repr(solver)
                assert "params" not in solver_options(solver)
                for field in dataclasses.fields(solver.params):
                    value = getattr(solver.params, field.name)
                    if not isinstance(value, int | float):
                        continue
                    params = dataclasses.replace(solver.params, **{field.name: value + 1})
                    other = dataclasses.replace(solver, params=params)
                    assert identity(other) != identity(solver)
                    shown = getattr(params, field.name)  # whole numbers have one spelling
                    assert f"params={type(params).__name__}({field.name}={shown})" in repr(other)
                    names = {type(params).__name__: type(params), cls.__name__: cls}
                    assert eval(repr(other), names) == other  # noqa: S307 - made here


def test_numbers_within_numbers() -> None:
    params = PricesParams(windows=dataclasses.replace(PricesParams().windows, free_jobs=9))
    assert repr(exact.Prices(params=params)) == (
        "Prices(objective=('turnaround',), params=PricesParams(windows=WindowParams(free_jobs=9)))"
    )


def test_numbers_of_a_wrong_type_are_refused() -> None:
    with pytest.raises(InvalidOption, match=r"few_jobs takes a whole number, not 1\.5"):
        PricesParams(few_jobs=1.5)  # type: ignore[arg-type]  # the test is about it


def test_numbers_of_searches_are_explained_where_they_stand() -> None:
    """A comment says what a number is; up to three numbers share it, in the order of its words."""
    found = 0
    with all_offenders() as offender:
        for path in sorted((ROOT / "allocsolve").rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for name, body in re.findall(CLASS, text, re.DOTALL):
                with offender(name):
                    found += 1
                    fields = body.split('"""', 2)[2].split("\n    def ")[0]
                    lines = [line.strip() for line in fields.split("\n")]
                    kinds = "".join("#" if line.startswith("#:") else "=" for line in lines if line)
                    assert re.fullmatch(r"(#+={1,3})+", kinds)
    assert found >= len(SEARCHES)


SIGNATURES: Final = {
    heuristics.best_fit_run: {"topology", "free", "size", "order", "bits", "fallback"},
    heuristics.slurm_tree: {"tree", "free", "k"},
    heuristics.workload.conservative_plan: {"problem", "compression", "estimate"},
    heuristics.CurveFit: {"method", "order", "bits", "fallback"},
    heuristics.PbsPlacement: {"wait"},
    heuristics.Conservative: {"compression", "estimate"},
}


@pytest.mark.parametrize("called", SIGNATURES, ids=lambda called: called.__name__)
def test_signatures_show_the_options(called: Any) -> None:
    """Help, notebooks and completion read them; each has its type, and where there is one its default."""
    shown = inspect.signature(called).parameters
    assert {*shown} == SIGNATURES[called]
    assert all(one.annotation is not one.empty for one in shown.values())
    fields = dataclasses.fields(called) if dataclasses.is_dataclass(called) else ()
    assert {name: shown[name].default for name in shown if fields} == {
        field.name: field.default for field in fields
    }


def test_type_checkers_show_the_options(tmp_path: Path) -> None:
    """What an editor shows on hovering: names, types, and which may be left out."""
    pytest.importorskip("mypy")
    file = tmp_path / "hover.py"
    file.write_text(
        "from allocsolve.heuristics import Conservative, best_fit_run, slurm_tree\n"
        "reveal_type(Conservative)\n"
        "reveal_type(best_fit_run)\n"
        "reveal_type(slurm_tree)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert len(revealed) == 3, done.stdout + done.stderr
    solver, function, rule = revealed
    assert "compression: Literal['compress'] | Literal['replan'] | Literal['none'] =" in solver
    assert solver.endswith("-> allocsolve.heuristics.workload.conservative.Conservative")
    assert "bits: int | None =" in function
    assert "fallback: Literal['min-span'] | Literal['largest-runs'] | Literal['fail'] =" in function
    assert rule.startswith("def (tree: allocsolve.model.placement.SwitchTree, free: ")
    assert "k: int) -> " in rule
