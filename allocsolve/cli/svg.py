"""A small writer of SVG, enough for meshes and profiles; it takes the colours of the reader's screen."""

from __future__ import annotations

from colorsys import hls_to_rgb
from typing import Final
from xml.sax.saxutils import escape

__all__ = ["Drawing"]

#: Classes of shapes: their colours on a light and on a dark screen.
_COLOURS: Final = {
    "chosen": ("#1864ab", "#74c0fc"),
    "busy": ("#adb5bd", "#5c636a"),
    "free": ("#f1f3f5", "#25292e"),
    "line": ("#c92a2a", "#ff8787"),
    "text": ("#212529", "#e9ecef"),
}
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

    def rectangles(self, kind: str, boxes: list[tuple[float, float, float, float]]) -> None:
        """Fill boxes (left, top, width, height) in the colour of a class, as one shape."""
        d = "".join(f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z" for x, y, w, h in boxes)
        if d:
            self._parts.append(f'<path class="{kind}" d="{d}"/>')

    def area(self, points: list[tuple[float, float]], hue: int, label: str) -> None:
        """Fill a polygon in a colour of its own; `label` shows under the mouse."""
        d = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
        # To be told from both backgrounds; not every viewer knows hsl().
        red, green, blue = (round(255 * part) for part in hls_to_rgb(hue / 360, 0.55, 0.55))
        fill = f"#{red:02x}{green:02x}{blue:02x}"
        self._parts.append(f'<path fill="{fill}" d="{d}z"><title>{_text(label)}</title></path>')

    def line(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a dashed line."""
        d = f"M{start[0]:g} {start[1]:g}L{end[0]:g} {end[1]:g}"
        self._parts.append(f'<path class="line" d="{d}"/>')

    def text(self, x: float, y: float, text: str) -> None:
        """Write a text from a point on its base line."""
        self._parts.append(f'<text class="text" x="{x:g}" y="{y:g}">{_text(text)}</text>')

    def __str__(self) -> str:
        """Return the document."""
        width, height = (f"{side:g}" for side in self._size)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">'
        )
        light, dark = (
            "".join(_rule(kind, pair[shade]) for kind, pair in _COLOURS.items()) for shade in (0, 1)
        )
        style = f"<style>text{{{_FONT}}}{light}@media(prefers-color-scheme:dark){{{dark}}}</style>"
        return "\n".join([head, style, *self._parts, "</svg>\n"])


def _rule(kind: str, colour: str) -> str:
    if kind == "line":
        return f".{kind}{{stroke:{colour};stroke-dasharray:4 3;fill:none}}"
    edge = ";stroke:#868e96;stroke-width:.5" if kind == "free" else ""
    return f".{kind}{{fill:{colour}{edge}}}"


def _text(text: str) -> str:
    """Return a text as XML can hold it: control characters are left out."""
    return escape("".join(char for char in text if char.isprintable()))
