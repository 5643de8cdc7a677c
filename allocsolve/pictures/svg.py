"""A small writer of SVG, enough for charts, meshes and profiles, on light and dark screens."""

from __future__ import annotations

from colorsys import hls_to_rgb
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final, Literal
from xml.sax.saxutils import escape

from allocsolve.pictures.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["SERIES", "Drawing", "rules"]

#: Classes of shapes: their colours on a light and on a dark screen.
_FILLED: Final = {
    "text": ("#212529", "#e9ecef"),
    "soft": ("#5c636a", "#a5adb5"),
    "heading": ("#212529", "#e9ecef"),
    "box": ("#a5c8e8", "#2b5279"),
}
#: Of strokes that are rows of squares: one in each unit, a ninth of which stays free.
_SQUARES: Final = "stroke-width:.889;stroke-dasharray:.889 .111"
_STROKED: Final = {
    "line": (("#c92a2a", "#ff8787"), "stroke-dasharray:4 3"),
    "axis": (("#495057", "#adb5bd"), ""),
    "grid": (("#e3e6ea", "#343a40"), ""),
    "whisker": (("#1864ab", "#74c0fc"), "stroke-width:1.4"),
    "median": (("#0b2e4f", "#e7f5ff"), "stroke-width:2.4"),
    "mean": (("#c92a2a", "#ff8787"), "stroke-width:1.8"),
    "outlier": (("#1864ab", "#74c0fc"), "stroke-linecap:round;stroke-width:3.2;opacity:.55"),
    "chosen": (("#1864ab", "#74c0fc"), _SQUARES),
    "busy": (("#868e96", "#7d868f"), _SQUARES),
    "free": (("#e3e7eb", "#343b42"), _SQUARES),
}
#: Different to readers who are colour-blind, too; the dashes of `_DASHES` help in print.
_SERIES: Final = (
    ("#0b6fb8", "#6cb6f5"),
    ("#d1540a", "#ff9f5a"),
    ("#0a8a63", "#4fd1a5"),
    ("#b3368b", "#f08bcd"),
    ("#8a6d00", "#e0c341"),
    ("#6a4fb3", "#b7a3f7"),
    ("#b3261e", "#ff8a80"),
    ("#3e6b75", "#8fc1cc"),
    ("#7a4a21", "#d4a373"),
    ("#4d4d4d", "#c9c9c9"),
)
_PAGE: Final = ("#ffffff", "#16191c")
_DASHES: Final = ("", "7 3", "2 3", "9 3 2 3")

#: How many series have classes, each in one colour: ``s0`` is a line with the dashes of the series, ``c0`` a
#: thin whole one, ``o0`` a thin dotted one, ``d0`` dots, and ``f0`` fills shapes; ``s1`` and so on.
#: Shapes that are ``edged``, too, are set apart from their neighbours; those that are ``faded`` are pale.
SERIES: Final = len(_SERIES)

_FONT: Final = "font:12px system-ui,sans-serif"


class Drawing:
    """Shapes and texts in pixels from the top left corner.

    Parameters
    ----------
    width, height
        Of the drawing.
    title
        What a browser calls it.
    """

    def __init__(self, width: float, height: float, title: str) -> None:
        self._size = width, height
        self._parts = [f"<title>{_text(title)}</title>"]

    def rectangles(
        self, kind: str, boxes: Sequence[tuple[float, float, float, float]], label: str = ""
    ) -> None:
        """Fill boxes (left, top, width, height) in the colour of a class, as one shape.

        `label` shows under the mouse.
        """
        d = "".join(f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z" for x, y, w, h in boxes)
        title = f"><title>{_text(label)}</title></path>" if label else "/>"
        if d:
            self._parts.append(f'<path class="{kind}" d="{d}"{title}')

    def squares(self, kind: str, rows: Iterable[tuple[int, int, int]]) -> None:
        """Draw rows of unit squares as one shape: of each the left end, the middle line and the length."""
        d = "".join(f"M{x} {y}h{length}" for x, y, length in rows)
        if d:
            self._parts.append(f'<path class="{kind}" d="{d}"/>')

    def skyline(self, start: int, steps: Iterable[tuple[int, int]], idx: int, label: str) -> None:
        """Fill what lies between 0 and a step function, in a colour of its own.

        Parameters
        ----------
        start
            Where the function begins.
        steps
            The width of each step, and how much it is above the one before; the first begins at 0.
        idx
            Neighbours in this order have colours that are easy to tell apart.
        label
            Shows under the mouse.
        """
        d = "".join(f"v{rise}h{width}" for width, rise in steps)
        fill = _colour(idx)
        self._parts.append(f'<path fill="{fill}" d="M{start} 0{d}V0"><title>{_text(label)}</title></path>')

    def swatch(self, idx: int, box: tuple[float, float, float, float]) -> None:
        """Fill a box (left, top, width, height) in the colour of a skyline: its mark in a legend."""
        x, y, width, height = box
        self._parts.append(f'<path fill="{_colour(idx)}" d="M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"/>')

    def line(self, *points: tuple[float, float], kind: str = "line", label: str = "") -> None:
        """Draw a line through points; `label` shows under the mouse."""
        d = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        title = f"><title>{_text(label)}</title></path>" if label else "/>"
        self._parts.append(f'<path class="{kind}" d="{d}"{title}')

    def dots(self, kind: str, points: Iterable[tuple[float, float]]) -> None:
        """Draw round dots, as one shape."""
        d = "".join(f"M{x:g} {y:g}h0" for x, y in points)
        if d:
            self._parts.append(f'<path class="{kind}" d="{d}"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: Literal["start", "middle", "end"] = "start",
        kind: Literal["text", "soft", "heading"] = "text",
        turned: bool = False,
    ) -> None:
        """Write a text from a point on its base line, upwards if turned."""
        where = f' text-anchor="{anchor}"' if anchor != "start" else ""
        where += f' transform="rotate(-90 {x:g} {y:g})"' if turned else ""
        self._parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}"{where}>{_text(text)}</text>')

    @contextmanager
    def plane(self, x: float, y: float, x_unit: float, y_unit: float) -> Iterator[None]:
        """Draw from another origin and in other units, given in pixels, as long as the context lasts."""
        self._parts.append(f'<g transform="translate({x:g} {y:g})scale({x_unit:g} {y_unit:g})">')
        yield
        self._parts.append("</g>")

    def place(self, other: Drawing, x: float, y: float) -> None:
        """Put another drawing into this one, its top left corner at a point."""
        self._parts += [f'<g transform="translate({x:g} {y:g})">', *other._parts, "</g>"]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return self._size

    def inline(self) -> str:
        """Return the drawing as part of a page that has the `rules`."""
        width, height = (f"{side:g}" for side in self._size)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">'
        )
        return "\n".join([head, *self._parts, "</svg>\n"])

    def _repr_svg_(self) -> str:
        """Return what notebooks show."""
        return str(self)

    def __str__(self) -> str:
        """Return the document."""
        head, rest = self.inline().split("\n", 1)
        return f"{head}\n<style>{rules()}</style>\n{rest}"


@cache
def _colour(idx: int) -> str:
    """Return one of many colours: the golden angle keeps neighbours apart."""
    # Neither light nor dark, to stand out from both backgrounds; not every viewer knows hsl().
    parts = hls_to_rgb(int(idx * 137.508) % 360 / 360, 0.55, 0.55)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def rules() -> str:
    """Return the style of all classes of shapes, for light and dark screens."""
    light, dark = (_coloured(shade) for shade in (0, 1))
    shape = "".join(f"svg .{kind}{{fill:none;{more}}}" for kind, (_, more) in _STROKED.items())
    for idx in range(SERIES):
        dash = _DASHES[idx % len(_DASHES)]
        shape += f"svg .s{idx}{{fill:none;stroke-width:2;stroke-dasharray:{dash or 'none'}}}"
        shape += f"svg .c{idx}{{fill:none;stroke-width:1.6}}svg .o{idx}{{fill:none;stroke-width:1.6;"
        shape += (
            f"stroke-dasharray:2 3}}svg .d{idx}{{fill:none;stroke-width:4.4;stroke-linecap:round;opacity:.6}}"
        )
    text = f"svg text{{{_FONT}}}svg .heading{{font-weight:600}}svg .faded{{opacity:.4}}"
    return f"{text}{shape}{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _coloured(shade: int) -> str:
    filled = "".join(f"svg .{kind}{{fill:{pair[shade]}}}" for kind, pair in _FILLED.items())
    stroked = "".join(f"svg .{kind}{{stroke:{pair[shade]}}}" for kind, (pair, _) in _STROKED.items())
    series = "".join(
        f"{','.join(f'svg .{sort}{idx}' for sort in 'scod')}{{stroke:{pair[shade]}}}"
        for idx, pair in enumerate(_SERIES)
    )
    solid = "".join(f"svg .f{idx}{{fill:{pair[shade]}}}" for idx, pair in enumerate(_SERIES))
    # Neighbours of one colour are parted by the colour of the page.
    return f"{filled}{stroked}{series}{solid}svg .edged{{stroke:{_PAGE[shade]};stroke-width:.5}}"


def _text(text: str) -> str:
    """Return a text as XML can hold it."""
    return escape(visible(text))
