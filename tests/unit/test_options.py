"""Options as annotated fields: what each kind of annotation takes, says, converts and gives as bad examples.

The contract of solvers refuses the bad examples of each option of each solver, so what is tested here holds
for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.model.options import Options, Parsed, Within, field_options
from allocsolve.testing.conformance import check_options

if TYPE_CHECKING:
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
