"""Names of solvers as people type them: ``name``, or ``name(option=value, ...)``.

Options are the fields of the dataclass of the solver, as far as a text can give their values.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.model.options import Option, OptionValue, field_options, same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CONSTANTS: Final[dict[str, OptionValue]] = {
    "True": True,
    "False": False,
    "None": None,
    "inf": float("inf"),
    "+inf": float("inf"),
    "-inf": float("-inf"),
}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
#: The escapes that `repr` writes.
_ESCAPE: Final = r"""\\(?:[\\'"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_QUOTED: Final = re.compile(rf"""'(?:[^'\\\n]|{_ESCAPE})*'|"(?:[^"\\\n]|{_ESCAPE})*\"""")
_WORD: Final = re.compile(r"\w[\w.+-]*")
#: What messages quote of a text that is no name.
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class SolverName:
    """The name of a solver, and the options that it gives, in the order of the text."""

    base: str
    options: tuple[tuple[str, OptionValue], ...] = ()

    def __str__(self) -> str:
        if not self.options:
            return self.base
        return f"{self.base}({', '.join(f'{name}={value_text(value)}' for name, value in self.options)})"


def parse_name(text: str) -> SolverName:
    """Return the name and the options of a text; whether they exist is for the registry to say.

    A file in the current folder or below it is its module: ``mine.py:f`` is ``mine:f``.

    Raises `InvalidOption` if there are parentheses, and what they hold is no list of options.

    Examples
    --------
    >>> parse_name("curve-fit(order=snake, bits=None)")
    SolverName(base='curve-fit', options=(('order', 'snake'), ('bits', None)))
    >>> print(parse_name("./solvers/mine.py:Search(depth=3)"), parse_name("mine.py:f"))
    solvers.mine:Search(depth=3) mine:f
    """
    if not {*"()"} & {*text}:
        return SolverName(_of_module(text))
    whole = re.fullmatch(r"\s*([^()\s](?:[^()]*[^()\s])?)\s*\((.*)\)\s*", text, re.DOTALL)
    if whole is None:
        raise InvalidOption(f"{_short(text)} is not of the form name(option=value, ...)")
    options: dict[str, OptionValue] = {}
    for piece in split_names(whole[2]) if whole[2].strip() else ():
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not (name.isidentifier() and equals):
            raise InvalidOption(f"{_short(text)}: {_short(piece)} is not of the form option=value")
        if name in options:
            raise InvalidOption(f"{_short(text)}: the option {name} is given twice")
        try:
            options[name] = parse_value(value)
        except ValueError as error:
            raise InvalidOption(f"{_short(text)}: {name}: {error}") from None
    return SolverName(_of_module(whole[1]), tuple(options.items()))


def _of_module(base: str) -> str:
    file, dot_py, attribute = base.partition(".py:")
    if not dot_py:
        return base
    place = file.removeprefix("./").replace("/", ".")
    return f"{place}:{attribute}" if all(part.isidentifier() for part in place.split(".")) else base


def split_names(text: str) -> list[str]:
    """Return what commas outside parentheses and quotes part, stripped.

    Examples
    --------
    >>> split_names("noX, curve-fit(order=snake, bits=2),growth")
    ['noX', 'curve-fit(order=snake, bits=2)', 'growth']
    """
    pieces, depth, quote, escaped = [""], 0, "", False
    for letter in text:
        if letter == "," and not depth and not quote:
            pieces.append("")
            continue
        pieces[-1] += letter
        if quote:
            quote = "" if letter == quote and not escaped else quote
            escaped = letter == "\\" and not escaped
        elif letter in "'\"":
            quote = letter
        else:
            depth = max(0, depth + (letter == "(") - (letter == ")"))
    return [piece.strip() for piece in pieces]


def parse_value(text: str) -> OptionValue:
    """Return the value of a text: a number, ``inf``, True, False, None, quoted text, or a word as it is."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _NUMBER.fullmatch(text):
            return float(text)
        if _QUOTED.fullmatch(text):
            return str(ast.literal_eval(text))
    except (ValueError, SyntaxError):  # more digits than are read, or an escape that is none
        pass
    else:
        if _WORD.fullmatch(text):
            return text
    raise ValueError(f"{_short(text)} is no number, True, False, None, word or quoted text")


def value_text(value: OptionValue) -> str:
    """Return the text of a value; `parse_value` reads it back."""
    if not isinstance(value, str):
        return repr(value)
    try:
        bare = _WORD.fullmatch(value) is not None and isinstance(parse_value(value), str)
    except ValueError:
        bare = False
    return value if bare else repr(value)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")


def solver_options(solver: Any) -> dict[str, Option]:  # noqa: ANN401 - a solver or its class
    """Return the options of a solver, or of a class of solvers, by name, in the order of the fields.

    A field that is a dataclass itself is replaced by its fields. No options are the objective, which the run
    sets, fields that the repr does not show, since records could not tell them apart, and what no text gives.
    """
    if not dataclasses.is_dataclass(solver):
        return {}
    options: dict[str, Option] = {}
    for option in _valued(solver):
        is_part = dataclasses.is_dataclass(option.value) and not isinstance(option.value, type)
        inner = [replace(one, part=option.name) for one in _valued(option.value)] if is_part else [option]
        options |= {one.name: one for one in inner if one.has_text}
    return options


def _valued(holder: Any) -> Iterator[Option]:  # noqa: ANN401 - any dataclass
    """Yield the fields that may be options, with their values; of a class, with the defaults."""
    is_class = isinstance(holder, type)
    for option in field_options(holder if is_class else type(holder)):
        if option.name != "objective":
            yield option if is_class else replace(option, value=getattr(holder, option.name))


def with_options(solver: Any, given: Mapping[str, OptionValue]) -> Any:  # noqa: ANN401 - a solver or its class
    """Return a solver with other options; of a class, a solver of it.

    Raises `InvalidOption` if it has no such option, or the value is none for it: one line that names both,
    and the options that there are.
    """
    options = solver_options(solver)
    changes: dict[str, dict[str, OptionValue]] = {}  # by part
    try:
        for name, value in given.items():
            option = _named(name, options)
            changes.setdefault(option.part, {})[name] = option.read(value)
        fields: dict[str, Any] = {**changes.pop("", {})}
        parts = {option.name: option.value for option in _valued(solver)} if changes else {}
        fields |= {part: replace(parts[part], **inner) for part, inner in changes.items()}
        return solver(**fields) if isinstance(solver, type) else replace(solver, **fields)
    except Exception as error:  # a dataclass refuses values as it likes
        msg = " ".join(str(error).split()) or type(error).__name__
        listed = ", ".join(options)
        if not options:
            msg += " (it has no options)"
        elif f"known: {listed}" not in msg:
            msg += f" (its options: {listed})"
        raise InvalidOption(msg) from error


def _named(name: str, options: Mapping[str, Option]) -> Option:
    if name in options:
        return options[name]
    if name == "objective":
        raise InvalidOption("the objective is no option of a name, it is given beside the solver")
    if options:
        raise UnknownName("option", name, options)
    raise InvalidOption(f"unknown option {name!r}")


def name_of(base: str, default: Any, solver: Any) -> str:  # noqa: ANN401 - a solver or its class, and a solver
    """Return the name of a solver: options in the order of the fields, those as in `default` left out.

    Equal solvers have equal names.
    """
    defaults = solver_options(default)
    values = ((name, option.value) for name, option in solver_options(solver).items())
    return str(SolverName(base, tuple((name, v) for name, v in values if not same(v, defaults[name].value))))
