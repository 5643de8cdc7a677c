"""Selections of instances across the suites of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.instances import Member, Selection

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SELECTIONS"]

_LIMITS: Final = ("l1", "l2", "inf")
_KLEIN: Final = ("klein-5", "klein-8", "klein-10", "klein-12", "klein")
#: Suites of partition problems, with the sizes of each.
_MACHINES: Final = {
    "mesh-16x8": (4, 8, 16, 24, 32),
    "mesh-16x16": (8, 16, 32, 48, 64),
    "mesh-32x32": (8, 16, 32, 64, 96),
    "mesh-8x8x8": (4, 8, 16, 32, 48),
    "torus-16x16": (4, 8, 16, 24, 32),
    "torus-8x8x8": (4, 8, 16, 24, 32),
}
#: Occupancies, each with the places of its sizes.
_STANDARD_CELLS: Final = {"u30": (1, 2, 4), "c30": (2,), "u60": (2, 4), "c60": (3,)}


def _selection(name: str, summary: str, chosen: Mapping[str, str]) -> Selection:
    """Return a selection from the rests of the names of instances, by suite."""
    members = (Member(suite, f"{suite}-{rest}") for suite, rests in chosen.items() for rest in rests.split())
    return Selection(name, summary, tuple(members))


def _cells(sizes: tuple[int, ...]) -> str:
    return " ".join(f"{cell}-k{sizes[at]:02}" for cell, places in _STANDARD_CELLS.items() for at in places)


_ALL: Final = "00 01 02 03 04 05 06 07 08 09"

#: The members of a selection never change: scores on it can be compared.
SELECTIONS: Final = (
    _selection(
        "tiny",
        "both families, each proven within about a second",
        {
            "klein-5-l1": "01 02 06",
            "klein-5-l2": "04 06",
            "klein-5-inf": "04 06",
            "klein-8-l1": "05 08",
            "klein-8-inf": "08",
            "mesh-16x8": "u30-k08 u60-k16 c30-k32 c60-k24",
            "mesh-16x16": "u60-k16",
            "mesh-8x8x8": "u60-k08",
            "torus-16x16": "u60-k04 c60-k08",
            "median-worst-case": "d08",
            "towns": "16x16-k16",
            "counterexamples": "list-scheduling-incomplete connected-costs-more",
        },
    ),
    _selection(
        "standard",
        "some of every suite of both families",
        {
            **{f"{stem}-{limit}": "00 01 02" for stem in _KLEIN for limit in _LIMITS},
            **{f"amr-{limit}": "00 03" for limit in _LIMITS},
            **{f"evotree-{limit}": "s42 s45" for limit in ("l1", "inf")},
            **{suite: _cells(sizes) for suite, sizes in _MACHINES.items()},
            "median-worst-case": "d33",
            "towns": "16x16-k32",
            "counterexamples": "list-scheduling-incomplete",
        },
    ),
    _selection(
        "hard",
        "both families, open when selected, or proven after many seconds",
        {
            "klein-8-inf": "06 09",
            "klein-10-l2": "00 01 08",
            "klein-10-inf": "00 01 05 06 07 08 09",
            "klein-12-l1": "07 08",
            "klein-12-l2": "00 01 03 04 05 06 07 08",
            "klein-12-inf": _ALL,
            **{f"klein-{limit}": _ALL for limit in _LIMITS},
            "amr-l1": "01 02",
            "amr-l2": "00 01 02",
            "amr-inf": "00 01 02",
            **{f"evotree-{limit}": "s42 s43 s44 s45 s46" for limit in ("l1", "inf")},
            "mesh-8x8x8": "u30-k48 c30-k48",
            "torus-16x16": "u30-k16 u30-k24 u30-k32 u60-k24 u60-k32 c30-k32 c60-k32",
            "torus-8x8x8": "u30-k16 u30-k24 u30-k32 u60-k16 u60-k24 u60-k32"
            " c30-k08 c30-k16 c30-k24 c30-k32 c60-k16 c60-k24 c60-k32",
        },
    ),
)
