"""What problems and answers of all families have in common."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName
from allocsolve.model.checks import instance, items, shown
from allocsolve.model.options import Parsed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from dataclasses import Field

A_co = TypeVar("A_co", covariant=True)


class Problem(Protocol):
    """A problem of any family: a frozen dataclass that is compared and hashed by what it holds."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def name(self) -> str:
        """For people; no solver reads it."""
        ...

    @property
    def meta(self) -> Mapping[str, object]:
        """Where the problem comes from: carried along, never read by a solver."""
        ...

    def __hash__(self) -> int:
        """Return a hash; equal problems have equal hashes."""
        ...


class Answerable(Problem, Protocol[A_co]):
    """A problem that tells type checkers the type of its answers; a new family may leave that out."""

    @property
    def answer_type(self) -> type[A_co]:
        """The type of its answers, as `allocsolve.families.Family.answer`."""
        ...


def checked_labels(name: object, meta: Mapping[str, object]) -> Mapping[str, object]:
    """Return the `meta` of a problem as a read-only copy, after a check of it and of the name."""
    instance("name", name, str)
    try:
        return MappingProxyType(dict(meta))
    except (TypeError, ValueError):
        msg = f"meta {shown(meta)} is not a mapping"
        raise InvalidProblem(msg) from None


#: An answer to a problem of any family; its type is `allocsolve.families.Family.answer`.
Answer: TypeAlias = Any


Term = TypeVar("Term", bound=str)


def objective_option(family_terms: Sequence[str]) -> Parsed:
    """Return how solvers of a family read their option ``objective``."""
    takes = f"terms out of {', '.join(family_terms)}"
    invalid = ("no such term", (), (family_terms[0],) * 2, 1)
    return Parsed(partial(parse_objective, family_terms=family_terms), takes, invalid)


def parse_objective(objective: str | Sequence[str], family_terms: Sequence[Term]) -> tuple[Term, ...]:
    """Read an objective such as ``makespan``, ``makespan,waste`` or ``("makespan", "waste")``.

    A text has commas between terms. `family_terms` are those of the family of problems, such as
    `allocsolve.model.EVOLUTION_OBJECTIVES`.
    """
    names = (
        objective.split(",") if isinstance(objective, str) else items("objective", objective, InvalidOption)
    )
    if not names:
        msg = "the objective has no terms"
        raise InvalidOption(msg)
    terms: list[Term] = []
    for name in map(str.strip, map(str, names)):
        term = next((known for known in family_terms if known == name), None)
        if term is None:
            raise UnknownName("objective", name, family_terms)
        if term in terms:
            msg = f"objective {','.join(map(str, names))!r} names {term} twice"
            raise InvalidOption(msg)
        terms.append(term)
    return tuple(terms)
