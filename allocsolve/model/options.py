"""Options of solvers: annotated fields, from which checks, messages, names and invalid examples are made.

A solver is a frozen dataclass whose fields are its options, see `Options`::

    @dataclass(frozen=True, slots=True)
    class SlurmBackfill(Options):
        bf_interval: Annotated[int, Within(1, 10_800)] = 30
        order: Literal["submission", "shortest"] = "submission"
        scan_limit: Annotated[int, Within(0)] | None = None
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import itertools
import math
import sys
import types
import typing
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import numpy as np

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.model.arrays import MAX_INTEGER
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

#: What the text of an option can say.
OptionValue: TypeAlias = bool | int | float | str | None

#: Beyond it a float is not taken for a whole number.
_EXACT: Final = 2**53
#: A text that no option takes.
_NO_WORD: Final = "no such value"


@dataclass(frozen=True, slots=True)
class Within:
    """The numbers from `low` to `high` that an option takes; NaN is never one of them.

    `above` says whether `low` itself is left out, `infinite` whether infinity is taken, too.
    """

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    infinite: bool = False

    def __contains__(self, number: float) -> bool:
        """Tell whether it takes a number; integers beyond 64 bits are taken nowhere."""
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            return False
        if math.isinf(number):
            return self.infinite and number > 0
        return (self.low < number if self.above else self.low <= number) and number <= self.high

    def __str__(self) -> str:
        ends = "" if self.low == -math.inf else f"{'above' if self.above else 'of at least'} {self.low}"
        if self.high < math.inf:
            ends = f"in {self.low}..{'2^53' if self.high == MAX_INTEGER else self.high}"
        return f"{ends} or inf" if ends and self.infinite else ends

    def outside(self) -> Iterator[float]:
        """Yield numbers that it does not take."""
        if self.low > -math.inf:
            yield from (self.low - 1, *((self.low,) if self.above else ()))
        if self.high < math.inf:
            yield self.high + 1
        yield from (math.nan, -math.inf, *(() if self.infinite else (math.inf,)))


@dataclass(frozen=True, slots=True)
class Parsed:
    """An option whose value a function reads.

    `parse` returns the value as the field holds it, or raises `InvalidOption` or `UnknownName`. `takes` says
    what it takes, for people, and `invalid` are examples of what it does not.
    """

    parse: Callable[[Any], Any]
    takes: str
    invalid: tuple[object, ...]


#: What values of a type are called.
_TYPES: Final[dict[type, str]] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    types.NoneType: "None",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a solver, with its value there; of a class, with the default."""

    name: str
    #: The field of the solver whose dataclass has this field; empty if the solver has it itself.
    part: str
    #: The words and numbers that it takes, if these are listed.
    choices: tuple[OptionValue, ...]
    #: The types of all other values, and the numbers among them that it takes.
    types: tuple[type, ...]
    within: Within
    #: A function that reads the value in place of types and choices.
    parsed: Parsed | None
    #: `dataclasses.MISSING` if a class has no default.
    value: Any

    @property
    def takes(self) -> str:
        """What it takes, for people."""
        words = [] if self.parsed is None else [self.parsed.takes]
        if self.parsed is None:
            words += [
                choice if isinstance(choice, str) and choice else repr(choice) for choice in self.choices
            ]
            words += [
                f"{_TYPES.get(type_, type_.__name__)} {self.within if type_ in (int, float) else ''}".strip()
                for type_ in self.types
            ]
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))

    @property
    def has_text(self) -> bool:
        """Whether a text can give its value."""
        return bool(self.choices) or any(type_ in _TYPES for type_ in self.types)

    def read(self, value: object) -> Any:  # noqa: ANN401 - whatever the field holds
        """Return a value as the field holds it: whole floats as integers, and NumPy's as Python's.

        `InvalidOption` if it is not of what the field takes: one line that names the option, what it takes
        and the value; `UnknownName` of a word where others are listed.
        """
        if self.parsed is not None:
            return self.parsed.parse(value)
        if not self.choices and not self.types:  # the annotation says nothing that could be checked
            return value
        if isinstance(value, np.generic):
            value = value.item()
        if any(type(value) is type(choice) and value == choice for choice in self.choices):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            # One spelling of a number, so that equal solvers have one repr.
            whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
            number = int(value) if whole else value
            if (
                float in self.types or (int in self.types and isinstance(number, int))
            ) and number in self.within:
                return self.value if same(number, self.value) else number
        elif any(type_ not in (int, float) and isinstance(value, type_) for type_ in self.types):
            return value
        if isinstance(value, str) and any(isinstance(choice, str) for choice in self.choices):
            raise UnknownName(self.name, value, map(str, self.choices))
        raise InvalidOption(f"{self.name} takes {self.takes}, not {shown(value)}")

    def invalid_examples(self) -> Iterator[object]:
        """Yield values that it does not take, of every kind that there is."""
        if self.parsed is not None:
            yield from self.parsed.invalid
        if self.parsed is not None or not (self.choices or self.types):
            return
        by_type: Mapping[type, tuple[object, ...]] = {
            bool: (True,),
            int: (2**60 + 1,),
            float: (0.5,),
            str: (_NO_WORD,),
            types.NoneType: (None,),
            tuple: ((),),
        }
        takes_numbers = float in self.types or int in self.types
        accepted = {*self.types, *((int,) if takes_numbers else ())}
        for type_, examples in by_type.items():
            if type_ not in accepted:
                yield from examples
        if takes_numbers:
            yield from self.within.outside()


def same(value: object, other: object) -> bool:
    """Tell whether two values of an option are the same one: 1 is 1.0, but not True."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


class Options:
    """The base of solvers: it checks the options, the fields of the dataclass, by their annotations.

    An option is annotated with ``bool``, ``int``, ``float``, ``str``, ``None``, ``Literal`` or a union of
    these; ``Annotated`` adds the numbers that it takes (`Within`) or a function that reads it (`Parsed`). A
    field whose class is a dataclass holds some of the options. Fields that the repr does not show are no
    options. What a field is annotated with is imported when the module is, not for type checkers only.
    The numbers of a search are one more field, which the repr shows where they differ from the usual ones:
    see `Params`.

    A solver that checks how options fit each other has a ``__post_init__`` that calls this one first, by its
    name: ``Options.__post_init__(self)``.

    Examples
    --------
    >>> @dataclass(frozen=True, slots=True)
    ... class Greedy(Options):
    ...     depth: Annotated[int, Within(1, 10)] = 1
    >>> Greedy(depth=11)
    Traceback (most recent call last):
    ...
    allocsolve.errors.InvalidOption: depth takes a whole number in 1..10, not 11
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Give a class the repr of this one, as ``dataclass`` writes its own where a class has none."""
        super().__init_subclass__()
        if "__repr__" not in vars(cls):
            cls.__repr__ = Options.__repr__  # type: ignore[method-assign]  # of a class that is being made

    def __post_init__(self) -> None:
        """Check each option, and hold it as its field does."""
        for option in field_options(type(self)):
            object.__setattr__(self, option.name, option.read(getattr(self, option.name)))

    def __repr__(self) -> str:
        """Show the fields as ``dataclass`` does, and the numbers of a search that are not the usual ones."""
        values = ((field, getattr(self, field.name)) for field in dataclasses.fields(self))  # type: ignore[arg-type]
        shown = [
            f"{field.name}={value!r}"
            for field, value in values
            if (
                value != field.default
                if isinstance(self, Params) or isinstance(value, Params)
                else field.repr
            )
        ]
        return f"{type(self).__qualname__}({', '.join(shown)})"


class Params(Options):
    """The base of the numbers of a search: shares of its time, temperatures, sizes of neighbourhoods.

    They are one field of a solver and no options: names do not give them. Its repr shows those that differ
    from the usual ones, so that records tell solvers apart by them::

        @dataclass(frozen=True, slots=True)
        class AnnealingParams(Params):
            #: The share of the time that is for lists.
            lists_share: float = 0.5


        @dataclass(frozen=True, slots=True)
        class ListAnnealing(Options):
            params: AnnealingParams = field(default=AnnealingParams(), repr=False)
    """

    __slots__ = ()


def field_options(holder: type) -> tuple[Option, ...]:
    """Return the options of a dataclass with their defaults; an `Options` inside is one of them.

    `TypeError` if the annotation of a field of an `Options` cannot be resolved.
    """
    key: Any = holder  # for mypy classes are not hashable
    return _field_options(key)


@functools.cache
def _field_options(holder: type) -> tuple[Option, ...]:
    return tuple(_option(holder, field) for field in dataclasses.fields(holder) if field.init and field.repr)


def _option(holder: type, field: dataclasses.Field[Any]) -> Option:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    owner = next(base for base in holder.__mro__ if field.name in inspect.get_annotations(base))
    try:
        hint = resolve(inspect.get_annotations(owner)[field.name], vars(sys.modules[owner.__module__]))
    except ValueError as error:  # imported for type checkers only: what the default is
        if issubclass(holder, Options):
            raise TypeError(f"option {field.name} of {holder.__name__}: {error}") from error
        hint = type(default)
    return _option_of(field.name, hint, default)


def _option_of(name: str, hint: object, default: object) -> Option:
    """Return the option of this name, annotation and default."""
    choices: list[OptionValue] = []
    accepted: list[type] = []
    extras: list[object] = []
    for member in _members(hint, extras):
        if typing.get_origin(member) is Literal:
            choices += typing.get_args(member)
        elif isinstance(member, type) and member is not Any:
            accepted.append(member)
    within = next((extra for extra in extras if isinstance(extra, Within)), Within(infinite=True))
    parsed = next((extra for extra in extras if isinstance(extra, Parsed)), None)
    return Option(name, "", tuple(choices), tuple(accepted), within, parsed, default)


def checked(function: Callable[..., object], **values: object) -> list[Any]:
    """Return values of parameters of a function, each read by its annotation, as `Options` reads its fields.

    Raises `InvalidOption` or `UnknownName` of the first one that is not taken.
    """
    return [option.read(values[option.name]) for option in _parameters(function, tuple(values))]


@functools.cache
def _parameters(function: Callable[..., object], names: tuple[str, ...]) -> tuple[Option, ...]:
    parameters = inspect.signature(function).parameters
    namespace = vars(sys.modules[function.__module__])
    return tuple(
        _option_of(name, resolve(parameters[name].annotation, namespace), parameters[name].default)
        for name in names
    )


def _members(hint: Any, extras: list[object]) -> Iterator[Any]:  # noqa: ANN401 - any type
    """Yield the members of a union, and what annotations add to them."""
    origin = typing.get_origin(hint)
    if origin is Annotated:
        extras += hint.__metadata__
        yield from _members(hint.__origin__, extras)
    elif origin in (typing.Union, types.UnionType):
        yield from itertools.chain.from_iterable(_members(member, extras) for member in typing.get_args(hint))
    else:
        yield hint


def resolve(annotation: object, namespace: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any type
    """Return the type that an annotation stands for, with what ``Annotated`` adds to it.

    Texts may use `allocsolve`, `allocsolve.model` and the names in it without importing them: they often are
    imported for type checkers only.
    """
    holder = type("Annotated", (), {"__annotations__": {"it": annotation}})
    try:
        with contextlib.suppress(NameError):
            return typing.get_type_hints(holder, globalns=dict(namespace), include_extras=True)["it"]
        from allocsolve import model  # noqa: PLC0415 - which imports this module, and loads all of its own here

        public = {name: getattr(model, name) for name in dir(model)}
        names = {**public, "model": model, "allocsolve": sys.modules["allocsolve"], **namespace}
        return typing.get_type_hints(holder, globalns=names, include_extras=True)["it"]
    except Exception as error:
        raise ValueError(f"the annotation {annotation!r} cannot be resolved: {error}") from error
