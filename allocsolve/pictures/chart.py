"""Charts: a frame with two axes, on which series are drawn in the units of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Literal

from allocsolve.pictures.svg import SERIES, Drawing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

__all__ = ["Axis", "Chart", "plain_tick", "seconds_tick"]

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
    steps: int = 10  #: at most so many between ticks

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


def _step(span: float, most: int = 10) -> float:
    """Return 1, 2 or 5 times a power of ten, such that a span has `most` steps, or half as many or so."""
    size = 10.0 ** math.floor(math.log10(span))
    parts = (0.1, 0.2, 0.5, 1, 2, 5, 10)
    return next(size * part for part in parts if span / (size * part) <= most + 1e-9)


class Chart:
    """A frame in which data are drawn.

    Parameters
    ----------
    title
        What a browser calls it.
    x, y
        The axes; y is None where the rows have names.
    rows
        Names of the rows, from the top.
    legend
        Names of the series, at most `SERIES`; of any number if they are filled.
    marks
        What series are drawn with, and so is their legend.
    pitch
        Pixels from a row to the next.
    width
        In pixels.
    height
        Of the plane between the axes, in pixels, where there are no rows.
    heading
        Lines above all else: the first is the title of the picture.
    names_above
        Whether the name of a row stands over it, and not left of it.
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
