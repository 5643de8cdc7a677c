"""What problems and answers of all families have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

__all__ = ["Answer", "Problem"]


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


#: An answer to a problem of any family; its type is `allocsolve.families.Family.answer`.
Answer: TypeAlias = Any
