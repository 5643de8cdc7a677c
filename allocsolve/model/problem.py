"""What problems and answers of all families have in common."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from allocsolve.errors import InvalidProblem
from allocsolve.model.checks import instance, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

__all__ = ["Answer", "Answerable", "Problem", "checked_labels"]

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
        """Return a hash; equal problems have equal ones."""
        ...


class Answerable(Problem, Protocol[A_co]):
    """A problem that tells type checkers what answers it; whoever adds a family may leave that out."""

    @property
    def answer_type(self) -> type[A_co]:
        """The type of its answers, as `allocsolve.families.Family.answer`."""
        ...


def checked_labels(name: object, meta: Mapping[str, object]) -> Mapping[str, object]:
    """Return where a problem comes from as a read-only copy, if that and its name are what they should be.

    Raises
    ------
    InvalidProblem
        If the name is no text, or `meta` no mapping.
    """
    instance("name", name, str)
    try:
        return MappingProxyType(dict(meta))
    except (TypeError, ValueError):
        msg = f"meta {shown(meta)} is not a mapping"
        raise InvalidProblem(msg) from None


#: An answer to a problem of any family; its type is `allocsolve.families.Family.answer`.
Answer: TypeAlias = Any
