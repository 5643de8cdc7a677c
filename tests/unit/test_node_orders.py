"""Golden node orders, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.model import Mesh, NodeOrder, node_order
from allocsolve.model.node_orders import SLURM_BITS


def as_text(shape: tuple[int, ...], name: NodeOrder, bits: int | None = None) -> str:
    mesh = Mesh(shape)
    points = mesh.coordinates(node_order(mesh, name, bits=bits)).tolist()
    return " ".join("".join(map(str, point)) for point in points)


def jumps(shape: tuple[int, ...], name: NodeOrder, bits: int | None = None) -> list[int]:
    mesh = Mesh(shape)
    moved = np.abs(np.diff(mesh.coordinates(node_order(mesh, name, bits=bits)), axis=0)).sum(axis=1)
    return sorted(moved[moved > 1].tolist())


def test_slurm_orders() -> None:
    assert as_text((2, 2, 2), "hilbert", SLURM_BITS) == "000 010 110 100 101 111 011 001"
    assert as_text((4, 4), "hilbert", SLURM_BITS) == "00 01 11 10 20 30 31 21 22 32 33 23 13 12 02 03"


def test_without_bits_hilbert_takes_five_or_as_many_as_the_longest_side_needs() -> None:
    for shape, bits in (((16, 8), 5), ((32, 3), 5), ((33, 3), 6), ((1,), 5), ((3, 70), 7)):
        mesh = Mesh(shape)
        assert node_order(mesh, "hilbert") is node_order(mesh, "hilbert", bits=bits)


def test_jumps_of_hilbert_orders() -> None:
    for shape, bits, count in (
        *(((16, 8), 5, 0), ((8, 16), 4, 0), ((12, 10), 4, 2), ((100, 100), 7, 15)),
        *(((16, 8, 8), 4, 1), ((8, 8, 16), 4, 0), ((5, 5, 5), 3, 8)),
    ):
        assert len(jumps(shape, "hilbert", bits)) == count
    assert jumps((16, 8), "hilbert", 4) == jumps((8, 16), "hilbert", 5) == [15]


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("row-major", (3, 2), "00 10 20 01 11 21"),
        ("snake", (3, 2), "00 10 20 21 11 01"),
        ("snake", (2, 2, 2), "000 100 110 010 011 111 101 001"),
        ("short-side-snake", (3, 2), "00 01 11 10 20 21"),
        ("short-side-snake", (2, 3), "00 10 11 01 02 12"),
        ("morton", (4, 2), "00 10 01 11 20 30 21 31"),
        ("generalised-hilbert", (4, 4), "00 10 11 01 02 03 13 12 22 23 33 32 31 21 20 30"),
        ("generalised-hilbert", (3, 2), "00 10 01 11 21 20"),
        ("generalised-hilbert", (2, 2, 2), "000 010 011 001 101 111 110 100"),
        ("generalised-hilbert", (1, 3), "00 01 02"),
    ],
)
def test_small_orders(name: NodeOrder, shape: tuple[int, ...], expected: str) -> None:
    assert as_text(shape, name) == expected


def test_many_axes_and_bits_need_more_than_one_word() -> None:
    shape = (2,) * 8
    assert sorted(node_order(Mesh(shape), "hilbert", bits=20).tolist()) == list(range(256))
    assert jumps(shape, "hilbert", 1) == []


@pytest.mark.parametrize(
    ("shape", "name", "bits", "message"),
    [
        ((16, 8), "hilbert", 3, r"bits 3 is not in 4\.\.62, which shape \[16, 8\] asks for"),
        ((16, 8), "hilbert", 63, r"bits 63 is not in 4\.\.62"),
        ((1,), "hilbert", 0, r"bits 0 is not in 1\.\.62"),
        ((16, 8), "snake", 5, "bits 5 given for the order snake, which has none"),
        ((2, 2, 1, 2, 2), "generalised-hilbert", None, r"shape \[2, 2, 1, 2, 2\] has 4"),
    ],
)
def test_bad_options_are_named(
    shape: tuple[int, ...], name: NodeOrder, bits: int | None, message: str
) -> None:
    with pytest.raises(InvalidOption, match=message):
        node_order(Mesh(shape), name, bits=bits)
    with pytest.raises(UnknownName, match="unknown node order 'hilbrt'; did you mean hilbert"):
        node_order(Mesh((2, 2)), "hilbrt")  # type: ignore[arg-type]  # the test is that it is refused
