"""Charts: a frame with two axes, on which series are drawn in the units of the data."""

from __future__ import annotations

import math
import unicodedata
from colorsys import hls_to_rgb
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from allocsolve.model import IntArray

#: Units of durations that people wait for, with their seconds, the longest first.
_LONG_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a duration in the unit in which it has few digits.

    >>> duration(59), duration(90), duration(5400), duration(200_000)
    ('59 s', '1.5 min', '1.5 h', '2.3 d')
    """
    unit, size = next((entry for entry in _LONG_UNITS if seconds >= entry[1]), ("s", 1))
    return f"{float(f'{seconds / size:.1f}'):g} {unit}"


def limit_text(limit: float) -> str:
    """Return an expand limit as it is given on the command line."""
    return str(int(limit)) if float(limit).is_integer() else str(limit)


def percent(fraction: float | None, digits: int = 1) -> str:
    """Return a fraction in per cent, - if there is none."""
    return "-" if fraction is None or not math.isfinite(fraction) else f"{100 * fraction:.{digits}f} %"


def time_text(seconds: float, *, exact: bool = False) -> str:
    """Return a duration in a unit in which it is easy to read; with three digits in all if exact."""
    unit, size = ("us", 1e-6) if seconds < 0.001 else ("ms", 1e-3) if seconds < 1 else ("s", 1.0)
    digits = max(0, 2 - math.floor(math.log10(max(seconds / size, 1.0)))) if exact else int(unit == "s")
    return f"{seconds / size:.{digits}f} {unit}"


def number(value: float) -> str:
    """Return a number with six digits at most behind the point, and whole ones with all their digits."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}" if abs(value) < 1e6 else f"{value:.1f}"


def short_number(value: float) -> str:
    """Return a number with one digit behind the point, below 10 with three; whole ones as they are.

    >>> short_number(4641.23), short_number(0.14285), short_number(12.0)
    ('4641.2', '0.143', '12')
    """
    digits = 1 if abs(value) >= 10 else 3
    return str(int(value)) if float(value).is_integer() else f"{value:.{digits}f}"


def probability(p: float) -> str:
    """Return a p-value, three digits behind the point."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def visible(text: str) -> str:
    r"""Return a text without what would command a terminal or turn a line round: that is escaped.

    Names of files, problems and solvers come from anybody.

    >>> visible("a\x1b[2J\u202eb c")
    'a\\x1b[2J\\u202eb c'
    """
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or unicodedata.category(char) == "Zs"
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


#: Classes of shapes: their colours on a light and on a dark screen.
_FILLED: Final = {
    "text": ("#212529", "#e9ecef"),
    "soft": ("#5c636a", "#a5adb5"),
    "heading": ("#212529", "#e9ecef"),
    "box": ("#a5c8e8", "#2b5279"),
    "chosen-area": ("#1864ab", "#74c0fc"),
    "busy-area": ("#868e96", "#7d868f"),
    "free-area": ("#e3e7eb", "#343b42"),
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
    """Shapes and texts in pixels from the top left corner."""

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
    return escape(visible(text), quote=False)


#: Pixels: of a letter on average, and from a line of a heading to the next.
_LETTER: Final = 6.6
_LINE: Final = 18
#: A name in a legend is not longer.
_LEGEND_LETTERS: Final = 44

#: Width of a band for what a logarithmic axis cannot show: 0 below it, infinity above.
_BAND: Final = 30.0


def plain_tick(value: float) -> str:
    """Return the number of a tick."""
    return f"{value:.10g}"


def seconds_tick(value: float) -> str:
    """Return the duration of a tick, in the unit that has the fewest digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.10g} {unit}"
    return f"{value / 1e-6:.10g} us"


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high` in the units of the data.

    A logarithmic axis may have a band for 0 before it and a band for infinity behind it, each with a name.
    """

    title: str
    low: float
    high: float
    log: bool = False
    zero: str = ""
    infinity: str = ""
    write: Callable[[float], str] = plain_tick
    whole: bool = False  #: whether a linear axis has ticks at whole numbers only
    steps: int = 10  #: at most this number between ticks

    @classmethod
    def around(
        cls,
        title: str,
        values: Iterable[float],
        *,
        log: bool = False,
        zero: str = "",
        infinity: str = "",
        write: Callable[[float], str] = plain_tick,
        steps: int = 10,
    ) -> Axis:
        """Return an axis on which the finite values find room, from a tick to a tick; a linear one from 0."""
        shown = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
        if not log:
            high = max(shown, default=0) or 1.0
            step = _step(high, steps)
            return cls(title, 0.0, step * math.ceil(high / step - 1e-9), write=write, steps=steps)
        low, high = _round_down(min(shown, default=1.0)), _round_up(max(shown, default=1.0))
        high = high if high > low else 10 * low
        return cls(title, low, high, log=True, zero=zero, infinity=infinity, write=write, steps=steps)

    def fraction(self, value: float) -> float:
        """Return where a value of the range lies between `low` (0) and `high` (1)."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return round values of the range, 3 to 11 of them unless `steps` asks for fewer."""
        if not self.log:
            step = max(_step(self.high - self.low, self.steps), float(self.whole))
            first = math.ceil(self.low / step - 1e-9)
            return [step * idx for idx in range(first, math.floor(self.high / step + 1e-9) + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        digits = (1, 2, 5) if 3 * (last - first) <= self.steps else (1,)
        every = -(-(last - first) // self.steps)
        values = [digit * 10.0**power for power in range(first, last + 1, every) for digit in digits]
        return [value for value in values if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


def _round_down(value: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next((power * digit for digit in (5, 2) if power * digit <= value * (1 + 1e-9)), power)


def _round_up(value: float) -> float:
    """Return the least of 1, 2 and 5 times a power of ten that is not below a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= value * (1 - 1e-9))


def _step(span: float, max_steps: int = 10) -> float:
    """Return 1, 2 or 5 times a power of ten, such that a span has `most` steps, or half as many or so."""
    size = 10.0 ** math.floor(math.log10(span))
    parts = (0.1, 0.2, 0.5, 1, 2, 5, 10)
    return next(size * part for part in parts if span / (size * part) <= max_steps + 1e-9)


class Chart:
    """A frame in which data are drawn.

    There is no axis y where the rows have names, which stand from the top, over a row or left of it. Lengths
    are in pixels: the pitch from a row to the next, the height of the plane between the axes where there are
    no rows. The legend has names of series, at most `SERIES`, of any number if they are filled, and the marks
    that they are drawn with. Of the heading the first line is the title of the picture.
    """

    WIDTH: Final = 560
    HEIGHT: Final = 300
    #: What fits a column of a page, and the screen of a phone.
    NARROW: Final = 390

    def __init__(
        self,
        title: str,
        x: Axis,
        y: Axis | None = None,
        *,
        rows: Sequence[str] = (),
        legend: Sequence[str] = (),
        marks: Literal["line", "dots", "filled", "solid"] = "line",
        pitch: float = 26.0,
        width: float = WIDTH,
        height: float = HEIGHT,
        heading: Sequence[str] = (),
        names_above: bool = False,
    ) -> None:
        assert len(legend) <= SERIES or marks == "filled", "the caller has chosen"
        self._x, self._y, self._pitch, self._width, self._above = x, y, pitch, width, names_above
        widest = (width - 32) / _LETTER
        lines = [line for text in heading for line in wrap(text, int(widest))]
        left_names = rows and not names_above
        self.left = 66.0 if y else 22 + 7.3 * max(len(_short(name)) for name in rows) if left_names else 18.0
        self._top = 10.0 + _LINE * len(lines)
        places = self._legend_places(legend)
        self._top += 20.0 * len({y for _, y in places})
        high = height if y else self._pitch * len(rows)
        self.right, self._bottom = width - 24.0, self._top + high
        self.drawing = Drawing(width, self._bottom + 48, title)
        for idx, line in enumerate(lines):
            self.drawing.text(16, 18 + _LINE * idx, line, kind="soft" if idx else "heading")
        for idx, ((at, middle), name) in enumerate(zip(places, legend, strict=True)):
            self._mark(idx, at, middle, marks)
            self.drawing.text(at + 32, middle + 4, _short(name, _LEGEND_LETTERS))
        self._frame(rows)

    def _legend_places(self, legend: Sequence[str]) -> list[tuple[float, float]]:
        """Return left end and middle line of each entry: in as many columns as the longest name allows."""
        longest = max((len(_short(name, _LEGEND_LETTERS)) for name in legend), default=0)
        columns = max(1, min(4, int((self._width - 32) / (44 + _LETTER * longest))))
        step = (self._width - 32) / columns
        return [
            (16 + step * (idx % columns), self._top + 4 + 20 * (idx // columns)) for idx in range(len(legend))
        ]

    def _mark(self, idx: int, x: float, y: float, marks: Literal["line", "dots", "filled", "solid"]) -> None:
        if marks == "dots":
            self.drawing.dots(f"d{idx}", [(x + 18, y)])
        elif marks == "solid":
            self.drawing.rectangles(f"f{idx}", [(x, y - 6, 26, 12)])
        elif marks == "filled":
            self.drawing.swatch(idx, (x, y - 6, 26, 12))
        else:
            self.drawing.line((x, y), (x + 26, y), kind=f"s{idx}")

    def x(self, value: float) -> float:
        """Return the pixel of a value of the x axis."""
        return self._pixel(self._x, value, self.left, self.right)

    def y(self, value: float) -> float:
        """Return the pixel of a value of the y axis."""
        assert self._y is not None, "there are rows"
        return self._pixel(self._y, value, self._bottom, self._top)

    def plane(self, x_unit: float, y_unit: float) -> AbstractContextManager[None]:
        """Draw in these units of the data as long as the context lasts; both axes are linear and from 0.

        What is drawn is far shorter in integers than in pixels, and more exact.
        """
        assert self._y is not None, "there are rows"
        across, up = (self.right - self.left) / self._x.high, (self._bottom - self._top) / self._y.high
        return self.drawing.plane(self.left, self._bottom, across * x_unit, -up * y_unit)

    def row(self, idx: int) -> float:
        """Return the pixel of the middle of a row."""
        return self._top + self._pitch * (idx + (0.72 if self._above else 0.5))

    @staticmethod
    def _pixel(axis: Axis, value: float, start: float, end: float) -> float:
        ahead = math.copysign(_BAND, end - start)
        first = start + (ahead if axis.zero else 0)
        last = end - (ahead if axis.infinity else 0)
        if axis.log and value < axis.low:
            return start + ahead / 2 if axis.zero else first
        if value > axis.high:
            return end - ahead / 2 if axis.infinity else last
        return round(first + (last - first) * axis.fraction(value), 1)

    def _frame(self, rows: Sequence[str]) -> None:
        draw, left, right, top, bottom = self.drawing, self.left, self.right, self._top, self._bottom
        for at, name in self._marks(self._x, self.x, math.inf):
            draw.line((at, top), (at, bottom), kind="grid")
            draw.text(at, bottom + 17, name, anchor="middle", kind="soft")
        draw.text((left + right) / 2, bottom + 38, self._x.title, anchor="middle")
        if self._y:
            for at, name in self._marks(self._y, self.y, math.inf):
                draw.line((left, at), (right, at), kind="grid")
                draw.text(left - 7, at + 4, name, anchor="end", kind="soft")
            draw.text(15, (top + bottom) / 2, self._y.title, anchor="middle", turned=True)
        for idx, name in enumerate(rows):
            if self._above:
                draw.text(left + 6, top + self._pitch * idx + 14, _short(name, _LEGEND_LETTERS))
            else:
                draw.text(left - 9, self.row(idx) + 4, _short(name), anchor="end")
        draw.line((left, top), (left, bottom), (right, bottom), kind="axis")

    @staticmethod
    def _marks(axis: Axis, pixel: Callable[[float], float], beyond: float) -> list[tuple[float, str]]:
        marks = [(pixel(value), axis.write(value)) for value in axis.ticks()]
        marks += [(pixel(0.0), axis.zero)] if axis.zero else []
        marks += [(pixel(beyond), axis.infinity)] if axis.infinity else []
        return marks

    def steps(
        self,
        idx: int,
        points: Sequence[tuple[float, float]],
        start: float,
        *,
        label: str,
        sort: Literal["s", "c"] = "s",
    ) -> None:
        """Draw a step function as a series: `start` at the left end, each value from its x on.

        `sort` is that of the line, see `SERIES`.
        """
        at, level = self.x(self._x.low), self.y(start)
        path = [(at, level)]
        for x, y in points:
            path += [(self.x(x), level), (self.x(x), self.y(y))]
            level = path[-1][1]
        path.append((self.right, level))
        self.drawing.line(*_without_repeats(path), kind=f"{sort}{idx}", label=label)


def _without_repeats(path: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a path of steps without the points that lie on its straight parts."""
    corners: list[tuple[float, float]] = []
    for point in path:
        while len(corners) > 1 and (
            corners[-2][0] == corners[-1][0] == point[0] or corners[-2][1] == corners[-1][1] == point[1]
        ):
            corners.pop()
        if not corners or corners[-1] != point:
            corners.append(point)
    return corners


def _short(name: str, length: int = 28) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


def size_classes(nodes: IntArray) -> tuple[IntArray, Axis]:
    """Return the class of each job by its size, and the axis of the classes.

    Class k holds the jobs of at most 2^k nodes that are in no class before it.
    """
    largest = int(nodes.max())
    classes: IntArray = sum((nodes > 2**power for power in range(largest.bit_length())), start=0 * nodes)

    def write(power: float) -> str:
        return str(min(2 ** int(power), largest))

    top = max(int(classes.max()), 1)
    return classes, Axis("nodes of the job, up to", 0, top, write=write, whole=True, steps=8)


def too_many_nodes(count: int, most: int) -> str:
    """Return why nodes are not drawn, empty if they are."""
    return f"{count} nodes are more than the {most} that can be drawn" if count > most else ""


def head_of_nodes(drawing: Drawing, left: float, title: str, line: str, kinds: Iterable[str]) -> None:
    """Write the title of a drawing of nodes, a line below it, and a square for each kind of them."""
    drawing.text(left, 18, title, kind="heading")
    drawing.text(left, 36, line, kind="soft")
    for place, kind in enumerate(kinds):
        x = left + 75 * place
        with drawing.plane(x, 52, 12, 12):
            drawing.squares(kind, [(0, 0, 1)])
        drawing.text(x + 15, 56, kind)
