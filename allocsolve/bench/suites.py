"""Named suites: generated problems with fixed seeds, the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from allocsolve.errors import UnknownName
from allocsolve.instances import klein2011

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import EvolutionProblem

__all__ = ["SUITES", "Suite", "suite"]


@dataclass(frozen=True, slots=True)
class Suite:
    """A named sequence of `allocsolve.instances.klein2011` problems without an expand limit.

    Problem ``i`` is called ``<name>-<i, two digits>`` and drawn with the seed ``[seed, i]``.
    """

    name: str
    summary: str
    count: int  #: number of problems
    num_apps: tuple[int, int]  #: least and largest number of applications
    seed: int


#: The suites by name.
SUITES: Final[Mapping[str, Suite]] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            Suite("tiny", "4-5 applications: seconds for an exact solver", 4, (4, 5), seed=4),
            Suite("klein-5", "5 applications", 10, (5, 5), seed=5),
            Suite("klein-8", "8 applications", 10, (8, 8), seed=8),
            Suite("klein-10", "10 applications", 10, (10, 10), seed=10),
            Suite("klein-12", "12 applications", 10, (12, 12), seed=12),
            Suite("klein", "15-20 applications: the first tests of `reproduce`", 10, (15, 20), seed=2011),
        )
    }
)


def suite(name: str) -> tuple[EvolutionProblem, ...]:
    """Return the problems of the suite of this name.

    Raises
    ------
    UnknownName
        If there is no such suite; the message offers the nearest names.

    Examples
    --------
    >>> [problem.name for problem in suite("tiny")]
    ['tiny-00', 'tiny-01', 'tiny-02', 'tiny-03']
    """
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    chosen = SUITES[name]
    return tuple(
        replace(klein2011([chosen.seed, idx], num_apps=chosen.num_apps), name=f"{name}-{idx:02}")
        for idx in range(chosen.count)
    )
