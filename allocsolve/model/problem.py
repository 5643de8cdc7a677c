"""What problems and answers of all families have in common, and what those have that choose nodes.

They are equal, hashed and copied by their fields, though arrays and mappings have no equality of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem, UnknownName
from allocsolve.model.arrays import IntArray, array_of, frozen, packed_integers
from allocsolve.model.checks import instance, integer, items, shown
from allocsolve.model.options import Parsed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from dataclasses import Field

    from allocsolve.model.arrays import BoolArray


class Keyed:
    """What is equal if its keys are."""

    __slots__ = ()

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


class Rebuilt:
    """A dataclass that is copied and pickled by construction, so that arrays stay read-only."""

    __slots__ = ()

    def _given(self) -> dict[str, Any]:
        """Return the values of the fields that it is made of."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]  # a mixin

    def __reduce__(self) -> tuple[object, ...]:
        values = {
            name: dict(each) if isinstance(each, MappingProxyType) else each
            for name, each in self._given().items()
        }
        return _rebuilt, (type(self), values)


def _rebuilt(kind: type[Any], values: dict[str, Any]) -> Any:  # noqa: ANN401 - of that type
    return kind(**values)


class KeyedByFields(Keyed, Rebuilt):
    """A dataclass that is equal if its fields are, arrays included; where it comes from does not count."""

    __slots__ = ()

    def _key(self) -> tuple[object, ...]:
        values = (value for name, value in self._given().items() if name != "meta")
        return tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in values)


class OfArrays(Rebuilt):
    """A dataclass of arrays, some perhaps None, that is equal if these are; NaN is equal to NaN."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        pairs = zip(self._given().values(), other._given().values(), strict=True)
        return all(
            mine is theirs
            if mine is None or theirs is None
            else np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
            for mine, theirs in pairs
        )

    def __hash__(self) -> int:
        # Numbers with a fraction may be equal whose bytes differ: 0 and -0.
        arrays = (array for array in self._given().values() if array is not None)
        return hash(tuple(array.tobytes() for array in arrays if array.dtype.kind == "i"))


def checked_free(
    free: Sequence[bool] | BoolArray, size: int, num_nodes: int, machine: str
) -> tuple[BoolArray, int]:
    """Return the mask of free nodes read-only, contiguous and unshared, and the size as an integer.

    `InvalidProblem` if `free` is not a mask over the nodes, or the size is below 1 or above the number of
    free nodes; messages call the machine by the noun `machine`.
    """
    mask = free if isinstance(free, np.ndarray) else array_of(free)
    if mask.dtype != np.bool_ or mask.shape != (num_nodes,):
        msg = (
            f"free is {mask.dtype} of shape {mask.shape}, not a mask over the {num_nodes} nodes of {machine}"
        )
        raise InvalidProblem(msg)
    size = integer("size", size)
    if size < 1:
        raise InvalidProblem(f"size {shown(size)} is below 1")
    if size > (num_free := int(np.count_nonzero(mask))):
        raise InvalidProblem(f"size {shown(size)} is above the {num_free} free nodes")
    if mask.flags.writeable or not mask.flags.c_contiguous:
        mask = np.array(mask, order="C")
        mask.setflags(write=False)
    return mask, size


def mask_without(busy: Sequence[int], num_nodes: int) -> BoolArray:
    """Return the mask of the nodes that are not busy, shape (nodes,)."""
    free = np.ones(num_nodes, dtype=np.bool_)
    for node in (integer("busy node", node) for node in items("busy", busy)):
        if not 0 <= node < num_nodes:
            raise InvalidProblem(f"busy node {shown(node)} is not in 0..{num_nodes - 1}")
        if not free[node]:
            raise InvalidProblem(f"busy node {node} is named twice")
        free[node] = False
    return free


@dataclass(frozen=True, slots=True, eq=False)
class NodeSet(OfArrays):
    """A set of nodes, kept in increasing order."""

    nodes: IntArray

    def __post_init__(self) -> None:
        nodes = packed_integers(self.nodes, "nodes")
        if nodes.ndim != 1:
            raise InvalidAnswer(f"nodes of shape {nodes.shape} are not a list of integers")
        # A stable sort: the default has vector instructions that take eight times as long on some processors.
        object.__setattr__(self, "nodes", frozen(np.sort(nodes, kind="stable")))


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
        raise InvalidProblem(f"meta {shown(meta)} is not a mapping") from None


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
        raise InvalidOption("the objective has no terms")
    terms: list[Term] = []
    for name in map(str.strip, map(str, names)):
        term = next((known for known in family_terms if known == name), None)
        if term is None:
            raise UnknownName("objective", name, family_terms)
        if term in terms:
            raise InvalidOption(f"objective {','.join(map(str, names))!r} names {term} twice")
        terms.append(term)
    return tuple(terms)
