"""Formulas of other programs: arithmetic on numbers and names, evaluated exactly where that is possible.

The language is the part of ExprTk's that performance models of ElastiSim use: numbers, names,
``+ - * / % ^``, comparisons, ``and``, ``or``, ``condition ? value : value``, parentheses, and the functions
`FUNCTIONS`.
Numbers are fractions, so that ``20 / 3 * 3`` is 20; roots and the like are rounded as doubles are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Final, TypeAlias

from allocsolve.errors import InvalidOption

#: What a formula is read to: from the values of its names to its own.
Formula: TypeAlias = Callable[[Mapping[str, int]], Fraction]

_TOKEN: Final = re.compile(
    r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[A-Za-z_]\w*|<=|>=|==|!=|&&|\|\||[-+*/%^()?:,<>])",
    re.ASCII,
)
_LONGEST: Final = 100_000
_DEEPEST: Final = 100
#: Beyond this a power is no longer computed exactly.
_LARGEST_EXPONENT: Final = 64

_Binary: TypeAlias = Callable[[Fraction, Fraction], Fraction]


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator == 1 and abs(exponent) <= _LARGEST_EXPONENT:
        return base**exponent.numerator
    return Fraction(math.pow(base, exponent))


def _remainder(left: Fraction, right: Fraction) -> Fraction:
    return left - right * math.trunc(left / right)


def _rounded(function: Callable[[float], float]) -> Callable[..., Fraction]:
    return lambda value: Fraction(function(float(value)))


#: Functions by name, with how many arguments they take (0: one or more).
FUNCTIONS: Final[dict[str, tuple[int, Callable[..., Fraction]]]] = {
    "abs": (1, abs),
    "ceil": (1, lambda value: Fraction(math.ceil(value))),
    "exp": (1, _rounded(math.exp)),
    "floor": (1, lambda value: Fraction(math.floor(value))),
    "log": (1, _rounded(math.log)),
    "log10": (1, _rounded(math.log10)),
    "log2": (1, _rounded(math.log2)),
    "max": (0, lambda *values: max(values)),
    "min": (0, lambda *values: min(values)),
    "pow": (2, _power),
    "round": (1, lambda value: Fraction(math.floor(value + Fraction(1, 2)))),
    "sqrt": (1, _rounded(math.sqrt)),
    "trunc": (1, lambda value: Fraction(math.trunc(value))),
}

#: Operators of two numbers, those that bind least first.
_LEVELS: Final[tuple[dict[str, _Binary], ...]] = (
    {op: lambda left, right: Fraction(bool(left or right)) for op in ("or", "||")},
    {op: lambda left, right: Fraction(bool(left and right)) for op in ("and", "&&")},
    {
        "<": lambda left, right: Fraction(left < right),
        "<=": lambda left, right: Fraction(left <= right),
        ">": lambda left, right: Fraction(left > right),
        ">=": lambda left, right: Fraction(left >= right),
        "==": lambda left, right: Fraction(left == right),
        "!=": lambda left, right: Fraction(left != right),
    },
    {"+": lambda left, right: left + right, "-": lambda left, right: left - right},
    {"*": lambda left, right: left * right, "/": lambda left, right: left / right, "%": _remainder},
)


class _Parser:
    def __init__(self, text: str, names: frozenset[str]) -> None:
        self._tokens = _tokens(text)
        self._names = names
        self._at = 0
        self._depth = 0

    def whole(self) -> Formula:
        value = self._choice()
        if self._at < len(self._tokens):
            raise InvalidOption(f"{self._tokens[self._at]!r} is not expected")
        return value

    def _take(self, *expected: str) -> str | None:
        """Return the next token and pass it if it is one of these."""
        if self._at < len(self._tokens) and self._tokens[self._at] in expected:
            self._at += 1
            return self._tokens[self._at - 1]
        return None

    def _need(self, token: str) -> None:
        if self._take(token) is None:
            actual = repr(self._tokens[self._at]) if self._at < len(self._tokens) else "the end"
            raise InvalidOption(f"{token!r} is expected, not {actual}")

    def _choice(self) -> Formula:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InvalidOption(f"is nested deeper than {_DEEPEST}")
        value = self._binary(0)
        if self._take("?"):
            first = self._choice()
            self._need(":")
            value = _chosen(value, first, self._choice())
        self._depth -= 1
        return value

    def _binary(self, level: int) -> Formula:
        if level == len(_LEVELS):
            return self._signed()
        value = self._binary(level + 1)
        while token := self._take(*_LEVELS[level]):
            value = _applied(_LEVELS[level][token], value, self._binary(level + 1))
        return value

    def _signed(self) -> Formula:
        negative = False
        while sign := self._take("-", "+"):
            negative ^= sign == "-"
        value = self._atom()
        if self._take("^"):
            value = _applied(_power, value, self._signed())
        return (lambda names: -value(names)) if negative else value

    def _atom(self) -> Formula:
        if self._take("("):
            value = self._choice()
            self._need(")")
            return value
        token = self._tokens[self._at] if self._at < len(self._tokens) else ""
        self._at += 1
        if token[:1].isdigit() or token[:1] == ".":
            return _Constant(_number(token))
        if token in FUNCTIONS:
            return self._call(token)
        if token in self._names:
            return lambda names: Fraction(names[token])
        raise InvalidOption(f"{token!r} is not known" if token else "ends too early")

    def _call(self, name: str) -> Formula:
        self._need("(")
        arguments = [self._choice()]
        while self._take(","):
            arguments.append(self._choice())
        self._need(")")
        count, function = FUNCTIONS[name]
        if count and count != len(arguments):
            raise InvalidOption(f"{name} takes {count} values, not {len(arguments)}")
        return lambda names: function(*(argument(names) for argument in arguments))


def parse_formula(text: str, names: frozenset[str]) -> Formula:
    """Read a formula.

    Raises `InvalidOption` if it is none; the message says what is wrong with it. The function that is
    returned raises it, too, where there is no finite value. Only these names may stand in it.

    Examples
    --------
    >>> work = parse_formula("600 / 4 * (0.1 + 0.9 / num_nodes)", frozenset({"num_nodes"}))
    >>> float(work({"num_nodes": 3}))
    60.0
    """
    value = _Parser(text, names).whole()

    def evaluate(given: Mapping[str, int]) -> Fraction:
        try:
            return value(given)
        except (ArithmeticError, ValueError):
            shown = ", ".join(f"{name} = {given[name]}" for name in sorted(given))
            raise InvalidOption(f"has no value for {shown}") from None

    return evaluate


def _tokens(text: str) -> list[str]:
    if len(text) > _LONGEST:
        raise InvalidOption(f"is longer than {_LONGEST} characters")
    tokens, at, text = [], 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidOption(f"{text[at:].lstrip()[:1]!r} is not expected")
        tokens.append(match[1])
        at = match.end()
    return tokens


def _number(token: str) -> Fraction:
    if not math.isfinite(float(token)):
        raise InvalidOption(f"{token} is no finite number")
    # What a double takes for 0 has a denominator that would take long to write down.
    return Fraction(token) if float(token) else Fraction(0)


class _Constant:
    """A part of a formula without names: it is computed once."""

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def __call__(self, _: Mapping[str, int]) -> Fraction:
        return self.value


def _applied(operator: _Binary, left: Formula, right: Formula) -> Formula:
    if isinstance(left, _Constant) and isinstance(right, _Constant):
        with suppress(ArithmeticError, ValueError):  # that there is no value is said where it is asked for
            return _Constant(operator(left.value, right.value))
    return lambda names: operator(left(names), right(names))


def _chosen(condition: Formula, first: Formula, second: Formula) -> Formula:
    return lambda names: first(names) if condition(names) else second(names)
