"""How figures look in print: their size, letters, colours, and what tells series apart in grey."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from allocsolve.errors import SolverUnavailable
from allocsolve.pictures.chart import Axis, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: In which figures can be written.
FigureFormat: TypeAlias = Literal["pdf", "svg", "png"]
FORMATS: Final[tuple[FigureFormat, ...]] = get_args(FigureFormat)

#: Inches: the width of a column of a paper with two of them, and that of its page.
COLUMN: Final = 3.4
PAGE: Final = 7.0

#: Those of Okabe & Ito (2008), which the colour-blind tell apart, too: blue, orange, green, vermilion,
#: purple, sky blue, yellow. Their black is for what is the same in all figures.
COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442")
BLACK: Final = "#000000"
_GREY: Final = "#999999"

#: Series that can be told apart, in grey by their dashes.
SERIES: Final = len(COLOURS)
_DASHES: Final[tuple[tuple[float, ...], ...]] = (
    *((), (4, 1.5), (1, 1), (5, 1.2, 1, 1.2), (8, 2), (3, 1, 1, 1, 1, 1), (1, 3)),
)

#: Points: small letters. How many of them fit across a column, and how many the mark in a legend takes.
LETTERS_PT: Final = 7
_ACROSS: Final = 60
_MARK: Final = 8


def _mark(marker: str, colour: str, face: str, size: float, *, clip_on: bool) -> dict[str, Any]:
    edge = {"markeredgecolor": BLACK, "markeredgewidth": 0.5, "markerfacecolor": face, "markersize": size}
    return {"marker": marker, "color": colour, "linestyle": "", "zorder": 4, "clip_on": clip_on, **edge}


#: What marks look like, by their names in legends.
LOOKS: Final[dict[str, dict[str, Any]]] = {
    "median": {"color": BLACK, "linewidth": 1.8, "clip_on": False},
    "mean": _mark("D", COLOURS[3], COLOURS[3], 4.5, clip_on=False),
    "outliers": _mark("o", BLACK, "none", 3, clip_on=False),
    "waits": {"color": _GREY, "linewidth": 0.8, "linestyle": (0, (1, 1.5))},
    "held longer than asked": {"color": "none", "edgecolor": BLACK, "linewidth": 0, "hatch": "//////"},
    "grows": _mark("^", BLACK, BLACK, 3.4, clip_on=True),
    "shrinks": _mark("v", BLACK, "white", 3.4, clip_on=True),
    "closed": {"color": "#DDDDDD", "edgecolor": _GREY, "linewidth": 0, "hatch": "////", "zorder": 0},
}

#: Its type differs between versions of matplotlib.
_STYLE: Final[Any] = {
    "font.size": 8,
    "axes.titlesize": "medium",
    "axes.linewidth": 0.6,
    "axes.formatter.useoffset": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": LETTERS_PT,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,  # letters that publishers take
    "svg.hashsalt": "allocsolve",  # the same figure is the same file
    "savefig.dpi": 300,
}


@contextmanager
def style() -> Iterator[None]:
    """Have matplotlib draw and write for print; `SolverUnavailable` where it is not installed."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415 - an optional dependency
    except ImportError:
        msg = "figures for print need matplotlib: pip install 'allocsolve[plots]'"
        raise SolverUnavailable(msg) from None
    with rc_context(_STYLE):
        yield


@contextmanager
def drawn(ax: Axes | Figure | None, width: float, height: float) -> Iterator[Axes]:
    """Yield the axes to draw into: those of others, or new ones in a figure of this size in inches."""
    with style():
        from matplotlib import figure  # noqa: PLC0415 - an optional dependency
    if ax is not None and not isinstance(ax, figure.Figure):
        yield ax
        return
    with style():
        if ax is None:
            from matplotlib import pyplot as plt  # noqa: PLC0415 - it looks for a screen

            ax = plt.figure()
        ax.set_size_inches(width, height)
        ax.set_layout_engine("constrained")
        axes = ax.add_subplot()
        axes.tick_params(labelsize=LETTERS_PT, width=0.6, length=2.5)
        yield axes


def name(text: str, length: int = 30) -> str:
    """Return a name that matplotlib writes letter by letter, cut where it is too long."""
    shown = visible(text)
    return (shown if len(shown) <= length else f"{shown[: length - 1]}…").replace("$", r"\$")


def line(idx: int) -> dict[str, Any]:
    """Return what the line of a series looks like."""
    dashes = _DASHES[idx % SERIES]
    return {"color": COLOURS[idx % SERIES], "linestyle": (0, dashes) if dashes else "-"}


def pale(colour: str) -> tuple[float, float, float]:
    """Return a colour on which black letters can be read, from its six digits."""
    red, green, blue = (1 - 0.55 * (1 - int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return red, green, blue


def log_axis(axes: Axes, low: float, high: float) -> None:
    """Make the horizontal axis logarithmic, with plain numbers."""
    ticks = Axis("", low, high, log=True, steps=6).ticks()
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(low, high)


def legend(axes: Axes, width: float = COLUMN) -> None:
    """Write the legend below the axis, in as many columns as fit in so many inches."""
    _, labels = axes.get_legend_handles_labels()
    if labels:
        fitting = int(_ACROSS * width / COLUMN) // (max(map(len, labels)) + _MARK)
        place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 4.4}
        axes.legend(ncols=max(1, min(len(labels), fitting)), handlelength=2.6, columnspacing=1.2, **place)
