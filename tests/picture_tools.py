"""Reading pictures back: what of a drawing is visible, in the units in which it was drawn."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from typing import NamedTuple

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing: object) -> ET.Element:
    """The root of a drawing or of its text."""
    return ET.fromstring(str(drawing))  # noqa: S314 - made by the package under test


class Plane(NamedTuple):
    """Where the origin of a group is and how large its units are, in pixels."""

    x: float
    y: float
    x_unit: float
    y_unit: float


def _paths(root: ET.Element) -> list[tuple[Plane | None, ET.Element]]:
    """All paths in the order in which they are painted, with the plane in which they are."""
    paths: list[tuple[Plane | None, ET.Element]] = [(None, path) for path in root.findall(f"{SVG}path")]
    for group in root.findall(f"{SVG}g"):
        numbers = re.fullmatch(r"translate\((\S+) (\S+)\)scale\((\S+) (\S+)\)", group.attrib["transform"])
        assert numbers, group.attrib["transform"]
        plane = Plane(*map(float, numbers.groups()))
        paths += [(plane, path) for path in group.findall(f"{SVG}path")]
    return paths


def squares(root: ET.Element, kind: str) -> list[tuple[int, int]]:
    """Column and row of each square of a class, in units; the legend is left out."""
    planes = [(plane, path) for plane, path in _paths(root) if path.get("class") == kind and plane]
    return [
        (int(x) + step, int(y))
        for _, path in planes[1:]
        for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)", path.attrib["d"])
        for step in range(int(length))
    ]


def boxes(root: ET.Element, kind: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of all squares of a class, in pixels; the legend is left out."""
    planes = [plane for plane, path in _paths(root) if path.get("class") == kind and plane]
    if len(planes) < 2:
        return []
    x0, y0, side, _ = planes[1]
    return [
        (x0 + x * side, y0 + (y - 0.5) * side, x0 + (x + 1) * side, y0 + (y + 0.5) * side)
        for x, y in squares(root, kind)
    ]


class Axes(NamedTuple):
    """The frame of a chart, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


def axes(root: ET.Element) -> Axes:
    """The frame of the only chart."""
    (path,) = (path for _, path in _paths(root) if path.get("class") == "axis")
    (left, top), _, (right, bottom) = (
        map(float, point.split()) for point in path.attrib["d"].strip("M").split("L")
    )
    return Axes(left, top, right, bottom)


class Skyline(NamedTuple):
    """What is filled between 0 and a step function."""

    label: str
    plane: Plane
    #: By whole x, how high it is from there to the next one.
    heights: dict[int, int]


def skylines(root: ET.Element) -> list[Skyline]:
    """All skylines in the order in which they are painted."""
    found = []
    for plane, path in _paths(root):
        if plane is None or "fill" not in path.attrib:
            continue
        shape = re.fullmatch(r"M(-?\d+) 0((?:v-?\d+h\d+)+)V0", path.attrib["d"])
        assert shape, path.attrib["d"]
        x, height = int(shape[1]), 0
        heights: dict[int, int] = {}
        for rise, width in re.findall(r"v(-?\d+)h(\d+)", shape[2]):
            height += int(rise)
            heights |= dict.fromkeys(range(x, x + int(width)), height)
            x += int(width)
        found.append(Skyline(path[0].text or "", plane, heights))
    return found


def visible(skylines: list[Skyline]) -> dict[str, Counter[int]]:
    """By label and x, how much of a skyline those painted later leave to be seen: that above all of them."""
    seen: dict[str, Counter[int]] = {}
    covered: Counter[int] = Counter()
    for skyline in reversed(skylines):
        rest = {x: height - covered[x] for x, height in skyline.heights.items()}
        assert min(rest.values()) >= 0, "a skyline that lies below those that cover it cannot be seen"
        seen[skyline.label] = Counter({x: height for x, height in rest.items() if height})
        covered |= Counter(skyline.heights)
    return seen
