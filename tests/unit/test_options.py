"""Options: annotated fields and what they take, those of solvers, and that what is named exists."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import inspect
import math
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from offenders import all_offenders

from allocsolve import exact, heuristics
from allocsolve.cli.parser import make_parser
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.exact.workload.prices import PricesParams
from allocsolve.families import families
from allocsolve.model.options import Options, Parsed, Within, field_options
from allocsolve.registry import solver_options
from allocsolve.registry.table import identity
from allocsolve.testing.conformance import check_options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal  # noqa: TC004 - it is what cannot be resolved


def even(value: object) -> int:
    if not isinstance(value, int) or value % 2:
        msg = f"pair takes even numbers, not {value!r}"
        raise InvalidOption(msg)
    return value


@dataclass(frozen=True, slots=True)
class Part(Options):
    depth: Annotated[int, Within(1, 10)] = 3


@dataclass(frozen=True, slots=True)
class Solver(Options):
    """One option of each kind."""

    flag: bool = False
    count: Annotated[int, Within(1, 2**53)] = 1
    share: Annotated[float, Within(0, 1, above=True)] = 0.5
    factor: Annotated[float, Within(1, infinite=True)] = math.inf
    limit: Annotated[int, Within(0)] | None = None
    free: float = 0.0
    label: str = ""
    word: Literal["first", "best"] = "first"
    level: Literal[1, 2] = 1
    first: Annotated[int, Within(1)] | Literal["all"] = "all"
    pair: Annotated[int, Parsed(even, "even numbers", (1, "x"))] = 2
    part: Part = field(default_factory=Part)
    anything: Any = None
    state: int = field(default=0, repr=False)  # what the repr does not show is no option


OPTIONS = {option.name: option for option in field_options(Solver)}

#: By option: what it takes, what is read as what, and what is refused.
KINDS: dict[str, tuple[str, list[tuple[Any, Any]], list[Any]]] = {
    "flag": ("True or False", [(True, True), (np.True_, True)], [0, 1, 1.0, "True", None]),
    "count": (
        "a whole number in 1..2^53",
        [(1, 1), (5.0, 5), (np.int32(7), 7), (np.float64(3), 3), (2**53, 2**53)],
        [0, 1.5, True, "1", None, 2**53 + 1, 2**64, math.inf, math.nan, 10**5000, np.array([1])],
    ),
    "share": (
        "a number in 0..1",
        [(1, 1), (0.25, 0.25), (np.float32(0.5), 0.5)],
        [0, 0.0, 1.5, -0.5, False, math.nan, math.inf, "0.5"],
    ),
    "factor": ("a number of at least 1 or inf", [(math.inf, math.inf), (2.0, 2)], [0.5, -math.inf, math.nan]),
    "limit": ("a whole number of at least 0 or None", [(None, None), (0, 0)], [-1, 0.5, "None", math.inf]),
    "free": ("a number", [(-1e300, -1e300), (math.inf, math.inf)], [math.nan, -math.inf, 2**63, "x", True]),
    "label": ("text", [("", ""), ("x y", "x y")], [1, None, b"x", True]),
    "word": ("first or best", [("best", "best")], ["First", "", 0, None, True]),
    "level": ("1 or 2", [(2, 2), (np.int8(1), 1)], [True, 3, 1.5, "1", None]),
    "first": ("all or a whole number of at least 1", [("all", "all"), (2, 2)], ["none", 0, True, None]),
    "pair": ("even numbers", [(4, 4)], [3, "4"]),
    "part": ("Part", [(Part(2), Part(2))], [None, 1, "Part()"]),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_an_option_takes(name: str) -> None:
    takes, read, refused = KINDS[name]
    assert OPTIONS[name].takes == takes
    for value, held in read:
        found = getattr(Solver(**{name: value}), name)
        assert (found, type(found)) == (held, type(held))
    for value in refused:
        with pytest.raises((InvalidOption, UnknownName)) as caught:
            Solver(**{name: value})
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)


@pytest.mark.parametrize("name", KINDS)
def test_bad_examples_are_never_missing_and_always_refused(name: str) -> None:
    bad: list[Any] = [*OPTIONS[name].invalid_examples()]
    assert bad
    for value in bad:
        with pytest.raises((InvalidOption, UnknownName), match=name):
            Solver(**{name: value})
    _, read, _ = KINDS[name]
    assert not [value for value, _ in read if any(value is one for one in bad)]


def test_bad_examples_are_just_outside() -> None:
    assert {0, 11} <= {*Within(1, 10).outside()}
    assert {0, -1} <= {*Within(0, above=True).outside()}
    assert math.inf in {*Within(0).outside()}
    assert math.inf not in {*Within(0, infinite=True).outside()}
    assert all(-math.inf in {*within.outside()} for within in (Within(), Within(infinite=True)))
    types = {type(value) for value in OPTIONS["flag"].invalid_examples()}
    assert types == {int, float, str, type(None), tuple}


@given(
    *(st.integers(-5, 5) for _ in range(2)),
    st.booleans(),
    st.booleans(),
    st.floats(-9, 9) | st.integers(-9, 9),
)
def test_a_range_is_what_it_says(low: int, size: int, above: bool, infinite: bool, number: float) -> None:
    high = low + abs(size)
    within = Within(low, high, above=above, infinite=infinite)
    assert (number in within) == (low <= number <= high and not (above and number == low))
    assert (math.inf in within) is infinite
    assert not [outside for outside in within.outside() if outside in within]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"count": 0}, InvalidOption, "count takes a whole number in 1..2^53, not 0"),
        ({"share": 0}, InvalidOption, "share takes a number in 0..1, not 0"),
        ({"label": None}, InvalidOption, "label takes text, not None"),
        ({"count": 10**5000}, InvalidOption, "count takes a whole number in 1..2^53, not beyond 10^18"),
        ({"word": "frist"}, UnknownName, "unknown word 'frist'; did you mean first?"),
        ({"word": 3}, InvalidOption, "word takes first or best, not 3"),
        ({"part": 3}, InvalidOption, "part takes Part, not 3"),
        ({"pair": 3}, InvalidOption, "pair takes even numbers, not 3"),
    ],
)
def test_messages(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        Solver(**given)
    assert str(caught.value) == said


def test_equal_solvers_have_one_repr() -> None:
    assert repr(Solver(count=2.0, share=np.float64(1))) == repr(Solver(count=2, share=1))  # type: ignore[arg-type]  # what people give
    assert repr(Solver(share=0.5, factor=2.0)) == repr(Solver(share=np.float32(0.5), factor=2))  # type: ignore[arg-type]  # the same
    assert Solver(anything=object()).anything is not None
    assert "state" not in OPTIONS
    assert [*OPTIONS["anything"].invalid_examples()] == []


def test_annotations_that_cannot_be_resolved_are_told() -> None:
    @dataclass(frozen=True)
    class Unresolved(Options):
        exact: Decimal | None = None

    with pytest.raises(TypeError, match=r"^option exact of Unresolved: the annotation 'Decimal \| None'"):
        Unresolved()


def test_the_contract_looks_at_options_and_those_of_parts() -> None:
    check_options(Solver(), None, ())  # type: ignore[arg-type]  # of no family

    @dataclass(frozen=True, slots=True)
    class Lax(Part):
        def __post_init__(self) -> None:
            """Check nothing."""

    with pytest.raises(AssertionError, match="takes depth="):
        check_options(Lax(), None, ())  # type: ignore[arg-type]  # of no family
    with pytest.raises(AssertionError, match="takes depth="):
        check_options(Solver(part=Lax()), None, ())  # type: ignore[arg-type]  # of no family


def vague(value: object) -> object:
    if value:
        raise InvalidOption({1: "no good", 2: "colour:\nno good"}[value])  # type: ignore[index]  # the examples
    return value


@dataclass(frozen=True)
class Unnamed(Options):
    colour: Annotated[int, Parsed(vague, "nothing", (1,))] = 0


@dataclass(frozen=True)
class Long(Options):
    colour: Annotated[int, Parsed(vague, "nothing", (2,))] = 0


@pytest.mark.parametrize(
    ("solver", "said"), [(Unnamed(), "does not name it: no good"), (Long(), "has several lines: colour:")]
)
def test_the_contract_looks_at_messages(solver: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_options(solver, None, ())  # type: ignore[arg-type]  # of no family


# --- Named options ------------------------------------------------------------------------------------

ROOT: Final = Path(__file__).parents[2]
OLD: Final = ROOT / "allocsolve" / "cli" / "old_names.py"
#: Options of other programs that we name, each with its program, which stands in the same file.
FOREIGN: Final = {
    "--allocsolve-update-gate": "pytest",  # of our fixture for it, `allocsolve.testing.gate`
    "--benchmark-json": "pytest",
    "--benchmark-only": "pytest",
    "--config": "openevolve-run",
    "--consolidate-segments": "Slurm",
    "--directory": "make",
    "--enable-dynamic-jobs": "Batsim",
    "--exclusive": "sbatch",
    "--force-reinstall": "pip",
    "--network": "podman",
    "--parsable2": "sacctmgr",
    "--rm": "podman",
    "--schemafile": "check-jsonschema",
    "--shell": "shtab",
    "--tag": "podman",
    "--volume": "podman",
}
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
#: A command with what follows it on its line, and what marks it as one rather than as prose about us.
_COMMAND: Final = re.compile(r"(`|\$ |&& )?\ballocsolve ([^`|;#>\n]*)")


class Text(NamedTuple):
    """What somebody may read, and where it is."""

    place: str
    text: str
    file: str  #: the whole text of its file
    own: frozenset[str]  #: options that its file defines


@functools.cache
def _texts() -> tuple[Text, ...]:
    return (*_read(),)


def _read() -> Iterator[Text]:
    """Yield the texts of the code, string by string, and the pages."""
    scripts: dict[str, set[str]] = {}
    for folder in ("allocsolve", "reproductions", "examples"):
        for path in sorted({*(ROOT / folder).rglob("*.py")} - {OLD}):
            file = path.read_text(encoding="utf-8")
            nodes = [*ast.walk(ast.parse(file))]
            calls = [node for node in nodes if isinstance(node, ast.Call)]
            own: set[str] = {
                word.value
                for call in calls
                if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
                for word in call.args
                if isinstance(word, ast.Constant) and isinstance(word.value, str)
            }
            for node in nodes:
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    place = f"{path.relative_to(ROOT)}:{node.lineno}"
                    is_script = folder == "examples"
                    yield Text(place, node.value, file, frozenset(own) if is_script else frozenset())
            if folder == "examples":
                scripts[path.name] = own
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").glob("*.md")),
    ):
        file = path.read_text(encoding="utf-8")
        options = frozenset[str]().union(*(own for name, own in scripts.items() if name in file))
        yield Text(str(path.relative_to(ROOT)), file.replace("\\\n", " "), file, options)


@functools.cache
def _options() -> set[str]:
    return _all_options(_parser())


@functools.cache
def _parser() -> argparse.ArgumentParser:
    return make_parser()


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands below a parser by name."""
    actions = parser._actions
    return {
        name: one
        for action in actions
        if isinstance(action, argparse._SubParsersAction)
        for name, one in action.choices.items()
    }


def _all_options(parser: argparse.ArgumentParser) -> set[str]:
    return {*parser._option_string_actions}.union(*map(_all_options, _below(parser).values()))


def faults(text: Text) -> Iterator[str]:
    """Yield what a text tells people to type that does not exist."""
    known = _options() | text.own
    for option in dict.fromkeys(_OPTION.findall(text.text)):
        if option not in known and FOREIGN.get(option, "\0") not in text.file:
            yield f"{text.place}: {option}"
    for mark, words in _COMMAND.findall(text.text):
        parser, names = _parser(), ["allocsolve"]
        todo = words.removeprefix("help ").split()
        while todo and todo[0] in _below(parser):
            parser = _below(parser)[todo[0]]
            names.append(todo.pop(0))
        wanted = _below(parser)
        if wanted and todo and todo[0].isalpha() and todo[0].islower():
            if mark:
                yield f"{text.place}: {' '.join(names)} has no {todo[0]}"
            continue
        allowed = _all_options(parser) if wanted else parser._option_string_actions
        for option in _OPTION.findall(" ".join(todo)):
            if option not in allowed and option not in text.own:
                yield f"{text.place}: {' '.join(names)} has no {option}"


def test_what_is_named_exists() -> None:
    offenders = [fault for text in _texts() for fault in faults(text)]
    assert not offenders, "\n".join(offenders)


def test_what_does_not_exist_is_found() -> None:
    def found(text: str) -> list[str]:
        return [*faults(Text("here", text, text, frozenset()))]

    assert found("try --no-such-option") == ["here: --no-such-option"]
    assert found("print it with --parsable2") == ["here: --parsable2"]
    assert found("print it with sacctmgr --parsable2") == []
    assert found("`allocsolve library list --seconds 5`") == [
        "here: allocsolve library list has no --seconds"
    ]
    assert found("`allocsolve library improve --solvers x`") == []
    assert found("$ allocsolve solve problem.json --window 3") == ["here: allocsolve solve has no --window"]
    assert found("`allocsolve frobnicate x`, as allocsolve is") == ["here: allocsolve has no frobnicate"]
    assert found("`allocsolve study papers x`") == ["here: allocsolve study has no papers"]
    assert found("`allocsolve import FILE --out P`, `allocsolve --version`") == []
    assert found("`allocsolve import FILE --solver P`") == ["here: allocsolve import has no --solver"]


def test_options_of_others_are_named_somewhere() -> None:
    named = {option for text in _texts() for option in _OPTION.findall(text.text)}
    assert {*FOREIGN} <= named
    assert not {*FOREIGN} & _options()


# --- Solver options -----------------------------------------------------------------------------------


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
