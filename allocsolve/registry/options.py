"""Options of solvers: the fields of their dataclasses, as far as the text of a name can give them."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import sys
import types
import typing
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any, Final

from allocsolve import model
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.registry.names import OptionValue, SolverName, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["SolverOption", "name_of", "resolve", "solver_options", "with_options"]

#: What values of a type are called.
_TYPES: Final[dict[type, str]] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    types.NoneType: "None",
}
#: Beyond it a float is not taken for a whole number.
_EXACT: Final = 2**53


@dataclass(frozen=True, slots=True)
class SolverOption:
    """One option of a solver, with its value there; of a class, with the default."""

    name: str
    #: The field of the solver whose dataclass has this field; empty if the solver has it itself.
    part: str
    #: The words and numbers that it takes, if these are listed.
    choices: tuple[OptionValue, ...]
    #: The types of all other values.
    types: tuple[type, ...]
    #: `dataclasses.MISSING` if a class has no default.
    value: Any

    @property
    def takes(self) -> str:
        """What it takes, for people."""
        words = [*map(value_text, self.choices), *(_TYPES[type_] for type_ in self.types)]
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))

    def read(self, value: OptionValue) -> OptionValue:
        """Return a value as the field holds it.

        Raises
        ------
        ValueError
            If it is not of what the field takes.
        """
        if any(type(value) is type(choice) and value == choice for choice in self.choices):
            return value
        if type(value) in self.types or (float in self.types and type(value) is int):
            # One spelling of a number, so that equal solvers have one repr.
            whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
            number = int(value) if whole else value  # type: ignore[arg-type]  # a whole float
            return typing.cast("OptionValue", self.value if _same(number, self.value) else number)
        if isinstance(value, str) and any(isinstance(choice, str) for choice in self.choices):
            raise ValueError(UnknownName(self.name, value, map(value_text, self.choices)))
        msg = f"{self.name} takes {self.takes}, not {value_text(value)}"
        raise ValueError(msg)


def solver_options(solver: Any) -> dict[str, SolverOption]:  # noqa: ANN401 - a solver or its class
    """Return the options of a solver, or of a class of solvers, by name, in the order of the fields.

    A field that is a dataclass itself is replaced by its fields. No options are the objective, which the run
    sets, fields that the repr does not show, since records could not tell them apart, and what no text gives.
    """
    if not dataclasses.is_dataclass(solver):
        return {}
    options: dict[str, SolverOption] = {}
    for field, value in _fields(solver):
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            inner = [_option(value, part, held, field.name) for part, held in _fields(value)]
        else:
            inner = [_option(solver, field, value, "")]
        options |= {option.name: option for option in inner if option.choices or option.types}
    return options


def _fields(holder: Any) -> Iterator[tuple[dataclasses.Field[Any], Any]]:  # noqa: ANN401 - any dataclass
    """Yield the fields that may be options, with their values; of a class, with the defaults."""
    for field in dataclasses.fields(holder):
        if field.init and field.repr and field.name != "objective":
            yield field, _default(field) if isinstance(holder, type) else getattr(holder, field.name)


def _default(field: dataclasses.Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _option(holder: Any, field: dataclasses.Field[Any], value: object, part: str) -> SolverOption:  # noqa: ANN401 - any dataclass
    """Return a field as an option; one without choices and types if no text gives its values."""
    kinds: tuple[type, type] = (holder if isinstance(holder, type) else type(holder), type(value))
    return SolverOption(field.name, part, *_taken(*kinds, field.name), value)


@functools.cache
def _taken(holder: type, value_type: type, name: str) -> tuple[tuple[OptionValue, ...], tuple[type, ...]]:
    """Return the single values and the types that a field takes, by its annotation."""
    owner = next(one for one in holder.__mro__ if name in inspect.get_annotations(one))
    try:
        hint = resolve(inspect.get_annotations(owner)[name], vars(sys.modules[owner.__module__]))
    except ValueError:  # imported for type checkers only: what the default is
        hint = value_type
    members = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    literals = [typing.get_args(one) for one in members if typing.get_origin(one) is typing.Literal]
    accepted = tuple(one for one in members if one in _TYPES)
    return tuple(itertools.chain(*literals)), accepted


def resolve(annotation: object, namespace: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any type
    """Return the type that an annotation stands for.

    Texts may use `allocsolve`, `allocsolve.model` and the names in it without importing them: they often are
    imported for type checkers only.

    Raises
    ------
    ValueError
        If a text cannot be resolved.
    """
    holder = type("Annotated", (), {"__annotations__": {"it": annotation}})
    public = {name: getattr(model, name) for name in dir(model)}
    names = {**public, "model": model, "allocsolve": sys.modules["allocsolve"], **namespace}
    try:
        return typing.get_type_hints(holder, globalns=names)["it"]
    except Exception as error:
        msg = f"the annotation {annotation!r} cannot be resolved: {error}"
        raise ValueError(msg) from error


def with_options(solver: Any, given: Mapping[str, OptionValue]) -> Any:  # noqa: ANN401 - a solver or its class
    """Return a solver with other options; of a class, a solver of it.

    Raises
    ------
    InvalidOption
        If it has no such option, or the value is none for it: one line that names both, and the options that
        there are.
    """
    options = solver_options(solver)
    changes: dict[str, dict[str, OptionValue]] = {}  # by part
    try:
        for name, value in given.items():
            option = _named(name, options)
            changes.setdefault(option.part, {})[name] = option.read(value)
        fields: dict[str, Any] = {**changes.pop("", {})}
        parts = {field.name: value for field, value in _fields(solver)} if changes else {}
        fields |= {part: dataclasses.replace(parts[part], **inner) for part, inner in changes.items()}
        return solver(**fields) if isinstance(solver, type) else dataclasses.replace(solver, **fields)
    except Exception as error:  # a dataclass refuses values as it likes
        reason = " ".join(str(error).split()) or type(error).__name__
        listed = f"its options: {', '.join(options)}" if options else "it has no options"
        msg = f"{reason} ({listed})"
        raise InvalidOption(msg) from error


def _named(name: str, options: Mapping[str, SolverOption]) -> SolverOption:
    if name in options:
        return options[name]
    if name == "objective":
        msg = "the objective is no option of a name, it is given beside the solver"
        raise InvalidOption(msg)
    if options:
        raise UnknownName("option", name, options)
    msg = f"unknown option {name!r}"
    raise InvalidOption(msg)


def name_of(base: str, default: Any, solver: Any) -> str:  # noqa: ANN401 - a solver or its class, and a solver
    """Return the name of a solver: options in the order of the fields, those as in `default` left out.

    Equal solvers have equal names.
    """
    defaults = solver_options(default)
    values = ((name, option.value) for name, option in solver_options(solver).items())
    return str(SolverName(base, tuple((name, v) for name, v in values if not _same(v, defaults[name].value))))


def _same(value: object, other: object) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)
