"""Named suites: generated problems with fixed seeds, the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from allocsolve.errors import UnknownName
from allocsolve.instances import klein2011, uniform_occupancy
from allocsolve.model import Mesh, Torus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.model import EvolutionProblem, PartitionProblem, Problem, Topology

__all__ = ["SUITES", "Suite", "suite"]


@dataclass(frozen=True, slots=True)
class Suite:
    """A named sequence of problems of one kind; problem ``i`` is called ``<name>-<i, two digits>``."""

    name: str
    summary: str
    count: int  #: number of problems
    seed: int
    draw: Callable[[int, int], Problem]  #: from the seed and the place in the suite


def _klein(name: str, num_apps: tuple[int, int], *, count: int = 10, seed: int, summary: str = "") -> Suite:
    """`klein2011` problems without an expand limit; problem ``i`` has the seed ``[seed, i]``."""
    least, most = num_apps
    text = f"{least} applications" if least == most else f"{least}-{most} applications"

    def draw(seed: int, idx: int) -> EvolutionProblem:
        return klein2011([seed, idx], num_apps=num_apps)

    return Suite(name, f"{text}: {summary}" if summary else text, count, seed, draw)


def _occupancy(name: str, topology: Topology, sizes: Sequence[int], seed: int) -> Suite:
    """Each size with 30 % of the nodes busy, then each with 60 %; problem ``i`` has seed ``[seed, i]``."""

    def draw(seed: int, idx: int) -> PartitionProblem:
        busier, which = divmod(idx, len(sizes))
        return uniform_occupancy(topology, (0.3, 0.6)[busier], sizes[which], [seed, idx])

    summary = f"{sizes[0]}-{sizes[-1]} of {topology.num_nodes} nodes, 30 and 60 % busy"
    return Suite(name, summary, 2 * len(sizes), seed, draw)


#: The suites by name.
SUITES: Final[Mapping[str, Suite]] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            _klein("tiny", (4, 5), count=4, seed=4, summary="seconds for an exact solver"),
            _klein("klein-5", (5, 5), seed=5),
            _klein("klein-8", (8, 8), seed=8),
            _klein("klein-10", (10, 10), seed=10),
            _klein("klein-12", (12, 12), seed=12),
            _klein("klein", (15, 20), seed=2011, summary="the first tests of `reproduce`"),
            _occupancy("mesh-16x8", Mesh((16, 8)), (4, 8, 16, 24, 32), seed=168),
            _occupancy("mesh-16x16", Mesh((16, 16)), (8, 16, 32, 48, 64), seed=1616),
            _occupancy("mesh-32x32", Mesh((32, 32)), (8, 16, 32, 64, 96), seed=3232),
            _occupancy("torus-16x16", Torus((16, 16)), (4, 8, 16, 24, 32), seed=161600),
            _occupancy("mesh-8x8x8", Mesh((8, 8, 8)), (4, 8, 16, 32, 48), seed=888),
        )
    }
)


def suite(name: str) -> tuple[Problem, ...]:
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
        replace(chosen.draw(chosen.seed, idx), name=f"{name}-{idx:02}") for idx in range(chosen.count)
    )
