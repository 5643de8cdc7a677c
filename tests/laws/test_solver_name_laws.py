"""Names of solvers with options: each gives its solver, which does the same again; the rest is one line."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from distinct_solvers import distinct_solvers
from hypothesis import assume, example, given, strategies as st
from offenders import all_offenders

from allocsolve.errors import AllocsolveError, InvalidOption, PluginError, UnknownName
from allocsolve.families import AnyFamily, SolverRow, families, family_named
from allocsolve.model import EvolutionProblem
from allocsolve.registry import (
    canonical_name,
    families_named,
    make_solver,
    solver_names,
    solver_options,
    solver_row,
    solver_rows,
    split_names,
)
from allocsolve.registry.names import SolverName, name_of, parse_name, parse_value, value_text, with_options
from allocsolve.registry.table import registered_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model.options import Option


ROWS = [pytest.param(family, row, id=f"{family.kind}-{row.name}") for family, row in solver_rows()]
CURVE_FIT = "its options: method, order, bits, fallback"
LIST_SCHEDULING = "its options: expand_limit, compacting, order"
NAMES = sorted({name for family in families() for name in registered_names(family)})

numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
values = st.none() | st.booleans() | numbers | st.text(max_size=10)
words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)


def drawn(option: Option) -> st.SearchStrategy[Any]:
    """What the type of an option allows; its class may allow less."""
    by_type = {
        bool: st.booleans(),
        int: st.integers(0, 100),
        float: st.floats(min_value=1, allow_nan=False) | st.integers(1, 9),
        str: st.sampled_from(["growth", "count", "town", "any"]),  # allocators
        type(None): st.none(),
    }
    return st.one_of(
        st.sampled_from(option.choices or [option.value]), *map(by_type.__getitem__, option.types)
    )


@pytest.mark.parametrize(("family", "row"), ROWS)
@given(data=st.data())
def test_a_solver_is_what_its_name_says(family: AnyFamily, row: SolverRow, data: st.DataObject) -> None:
    options = solver_options(row.load())
    given = data.draw(st.fixed_dictionaries({}, optional={name: drawn(one) for name, one in options.items()}))
    try:
        solver = with_options(row.load(), given)
    except InvalidOption:  # not this value
        assume(False)  # noqa: FBT003 - takes nothing else
    name = name_of(row.name, row.load(), solver)
    again = make_solver(name, family.problem)
    assert again == solver
    assert repr(again) == repr(solver), "records are found by it"
    if parse_name(name).options:
        assert canonical_name(name) == name
    order = data.draw(st.permutations(list(given.items())))
    typed = str(SolverName(row.name, tuple(order)))
    assert make_solver(typed, family.problem) == solver
    if len(families_named(typed)) == 1 and given:
        assert canonical_name(typed) == name


@pytest.mark.parametrize(("family", "row"), ROWS)
def test_every_field_is_an_option_or_the_run_sets_it(family: AnyFamily, row: SolverRow) -> None:
    solver: Any = row.load()
    fields = {field.name for field in dataclasses.fields(solver)}
    parts = {option.part for option in solver_options(solver).values()} - {""}
    names = {option.name for option in solver_options(solver).values() if not option.part}
    assert fields - names - parts <= {"objective", "start", "certificate", "allocators", "params"}
    assert family.problem is not None


@given(values)
def test_values_have_texts(value: object) -> None:
    text = value_text(value)  # type: ignore[arg-type]  # drawn
    again = parse_value(text)
    assert (again, type(again)) == (value, type(value))
    assert "\n" not in text


@given(words, st.dictionaries(words, values, max_size=3))
def test_names_have_texts(base: str, options: dict[str, Any]) -> None:
    name = SolverName(base, tuple(options.items()))
    assert parse_name(str(name)) == name
    assert split_names(f"{base}, {name},{name} ,{base}") == [base, str(name), str(name), base]


@given(st.lists(words | st.builds("{}(a={},b='x)(,')".format, words, words), min_size=1))
def test_commas_part_names(names: list[str]) -> None:
    assert split_names(", ".join(names)) == names


nonsense = st.text(alphabet="(),=:'\"\\ ab.-+_1eX\n\0é", max_size=12)
almost = st.builds(
    "{}({}={})".format, st.sampled_from([*NAMES, "a:b", "math:inf"]), st.text(max_size=5), nonsense
)


@pytest.mark.parametrize("kind", [family.kind for family in families()])
@given(nonsense | almost | st.builds("growth({})".format, nonsense))
@example("growth(")
@example("growth(seeds='\\x')")
@example(f"paging(exponent={'9' * 5000})")
@example(f"paging(exponent={'(' * 500})")
@example("list-scheduling(expand_limit=1e999)")
def test_nonsense_is_refused_in_one_line(kind: str, text: str) -> None:
    problem = family_named(kind).problem
    for call in (
        lambda: make_solver(text, problem),
        lambda: canonical_name(text),
        lambda: families_named(text),
    ):
        try:
            call()
        except AllocsolveError as error:
            assert "\n" not in str(error)  # noqa: PT017 - most texts are refused
    assert (
        solver_row(text, family_named(kind)) is None
        or "(" not in text
        or callable(make_solver(text, problem))
    )


def test_aliases_are_of_solvers_that_there_are() -> None:
    for family in families():
        expanded = dict(itertools.chain.from_iterable(alias.expanded() for alias in family.aliases))
        assert len(expanded) == sum(len(list(alias.expanded())) for alias in family.aliases)
        assert not {*expanded} & {row.name for row in family.solvers}
        for name, stands_for in expanded.items():
            assert make_solver(name, family.problem) == make_solver(stands_for, family.problem)
            assert name not in canonical_name(stands_for).split("(")


def test_each_solver_has_one_of_the_registered_names() -> None:
    for family in families():
        solvers = {name: make_solver(name, family.problem) for name in registered_names(family)}
        names = solver_names(family)
        assert len({repr(solvers[name]) for name in names}) == len(names)
        assert {repr(solvers[name]) for name in names} == set(map(repr, solvers.values()))
        assert family.baseline in names
    assert {"infX", "rigid"} <= {*solver_names(family_named("evolution"))}
    assert "list-scheduling" not in solver_names(family_named("evolution"))


@pytest.mark.parametrize(
    ("kind", "name", "reason", "options"),
    [
        ("partition", "curve-fit(ordr=hilbert)", "unknown option 'ordr'; did you mean order?", CURVE_FIT),
        ("partition", "curve-fit(order=hilbrt)", "unknown order 'hilbrt'; did you mean hilbert?", CURVE_FIT),
        (
            "partition",
            "curve-fit(bits=1.5)",
            "bits takes a whole number of at least 0 or None, not 1.5",
            CURVE_FIT,
        ),
        ("partition", "gen-alg(x=1)", "unknown option 'x'", "it has no options"),
        (
            "evolution",
            "noX(expand_limit=0.5)",
            "expand_limit takes a number in 1..2^53 or inf, not 0.5",
            LIST_SCHEDULING,
        ),
        (
            "evolution",
            "annealing(objective=waste)",
            "the objective is no option of a name, it is given beside the solver",
            "it has no options",
        ),
    ],
)
def test_what_is_wrong_with_an_option(kind: str, name: str, reason: str, options: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        canonical_name(name)
    assert str(caught.value) == f"{kind} solver {name}: {reason} ({options})"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("growth(seeds=all, seeds=all)", ": the option seeds is given twice"),
        ("growth(all)", ": 'all' is not of the form option=value"),
        ("growth(seeds=all", " is not of the form name(option=value, ...)"),
        ("growth(seeds=)", ": seeds: '' is no number, True, False, None, word or quoted text"),
    ],
)
def test_what_is_no_list_of_options(name: str, reason: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        canonical_name(name)
    assert str(caught.value) == f"{name!r}{reason}"


def test_solvers_of_one_name_have_their_own_options() -> None:
    assert families_named("cpsat") == families()
    assert [family.kind for family in families_named("cpsat(max_nodes=5)")] == ["partition", "placement"]
    both = "evolution solver cpsat.* unknown option 'x'.*; partition solver cpsat.* unknown option 'x'"
    with pytest.raises(InvalidOption, match=both):
        families_named("cpsat(x=5)")
    with pytest.raises(UnknownName, match="unknown solver 'grwth'; did you mean growth"):
        families_named("grwth(seeds=all)")


def test_canonical_names() -> None:
    assert canonical_name("noX") == "noX", "as typed"
    assert canonical_name("noX()") == "noX"
    assert canonical_name("noX( order = longest )") == "list-scheduling(expand_limit=1, order=longest)"
    assert canonical_name("list-scheduling(expand_limit=1.0)") == "list-scheduling(expand_limit=1)"
    assert canonical_name("list-scheduling(expand_limit=inf, compacting=False)") == "list-scheduling"
    assert canonical_name("hilbert-first-fit(bits=2)") == "curve-fit(method=first-fit, bits=2)"
    evolution = family_named("evolution")
    assert make_solver("infX(expand_limit=2)", evolution.problem) == make_solver("2X", evolution.problem)
    assert make_solver("infX", evolution.problem).fit.expand_limit == math.inf  # type: ignore[attr-defined]  # list scheduling has a fit


REGISTERED = {name for family in families() for name in registered_names(family)}

words_of_lines = st.text(max_size=8) | st.sampled_from(
    ["no_such_module", "math", "allocsolve", "lambda", "..", " "]
)


#: What is in parentheses are options: `test_solver_name_laws`.
plain = words_of_lines.filter(lambda word: not {*"()"} & {*word})


@given(st.lists(plain, min_size=2, max_size=4))
def test_references_to_nothing(parts: list[str]) -> None:
    name = ":".join(parts)
    with pytest.raises(PluginError) as caught:
        make_solver(name, EvolutionProblem)
    assert repr(name) in str(caught.value)
    assert "\n" not in str(caught.value)


@given(plain.filter(lambda word: ":" not in word and word not in REGISTERED))
def test_unknown_names(name: str) -> None:
    with pytest.raises(UnknownName) as caught:
        make_solver(name, EvolutionProblem)
    assert repr(name) in str(caught.value)


# --- Same again ---------------------------------------------------------------------------------------

TOOL = Path(__file__).resolve().parents[1] / "same_again.py"

#: Time limits beside the iterations: none of them may be felt.
SECONDS = ("inf", "600")

#: Solvers with several stages, or threads.
STAGED = {
    "evolution and partition": ("evolution:lns", "evolution:cpsat", "partition:branch-and-bound"),
    "evolution by clauses, reservation": (
        "evolution:conflict-search",
        "reservation:prices",
        "reservation:cpsat",
    ),
    "workload": ("workload:prices", "workload:market", "workload:list-annealing", "workload:milp"),
}


def answers(process: int, workers: int, solvers: Sequence[str]) -> dict[str, list[str]]:
    """What a process answers, which has a hash seed, an order and a time limit of its own."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(process + 1),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    argv = [sys.executable, str(TOOL), str(process), SECONDS[process], str(workers), *solvers]
    output = subprocess.run(argv, env=environment, check=True, stdout=subprocess.PIPE).stdout
    found: dict[str, list[str]] = json.loads(output)
    return found


def check_same_again(workers: int, solvers: Sequence[str]) -> None:
    """Compare two processes: answers, bounds, certificates and limits."""
    first, second = (answers(process, workers, solvers) for process in range(len(SECONDS)))
    assert {name.partition(" ")[0] for name in first} == {*solvers}
    with all_offenders() as offender:
        for name, claims in first.items():
            with offender(name):
                assert second[name] == claims


@pytest.mark.parametrize("solvers", STAGED.values(), ids=STAGED)
def test_ten_solvers_with_stages_and_threads(solvers: Sequence[str]) -> None:
    check_same_again(2, solvers)


@pytest.mark.parametrize("workers", [1, 3])
def test_every_solver(workers: int) -> None:
    """All registered ones that differ in more than an order of nodes."""
    every = [f"{family.kind}:{name}" for family in families() for name in distinct_solvers(family)]
    check_same_again(workers, every)
