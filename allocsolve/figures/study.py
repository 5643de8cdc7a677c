"""Figures of a study: gaps as boxes, performance profiles, primal gaps over time."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from allocsolve.bench.scores.summary import box_of
from allocsolve.errors import InvalidOption
from allocsolve.figures import style

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from allocsolve.bench.scores.summary import Box
    from allocsolve.report import Section

#: An axis of gaps is logarithmic if the largest is more than this multiple of the median.
_SKEWED: Final = 20

#: Of a profile: an axis up to more is logarithmic.
_MANY_TIMES: Final = 10

#: Per cent: a smaller primal gap is drawn as this one.
_LEAST_GAP: Final = 0.01


def gap_boxes(section: Section, *, ax: Axes | Figure | None = None) -> Axes:
    """Draw boxes of the gaps of each solver, in per cent: the kind ``gaps`` of `plot`."""
    gaps = {one.entrant: [100 * gap for gap in section.gaps(one.entrant)] for one in section.summaries}
    everything = sorted(gap for own in gaps.values() for gap in own)
    if not everything:
        raise InvalidOption(f"{section.name}: no instance has a gap to draw")
    positive = [gap for gap in everything if 0 < gap < math.inf] or [1.0]
    skewed = positive[-1] > _SKEWED * positive[len(positive) // 2]
    end = positive[-1] * (4 if skewed else 1.2)
    with style.drawn(ax, style.COLUMN, 1.1 + 0.34 * len(gaps)) as axes:
        if skewed:
            axes.set_xscale("symlog", linthresh=10.0 ** math.floor(math.log10(positive[0])))
        places = {len(gaps) - idx: box_of(own) for idx, own in enumerate(gaps.values()) if own}
        parts = axes.bxp(
            [_clipped(box, end) for box in places.values()],
            [*places],
            widths=0.4,
            orientation="horizontal",
            manage_ticks=False,
            patch_artist=True,
            showmeans=True,
            boxprops={"linewidth": 0.6},
            medianprops=style.LOOKS["median"],
            meanprops=style.LOOKS["mean"],
            flierprops=style.LOOKS["outliers"],
        )
        for label, part in (("median", "medians"), ("mean", "means"), ("outliers", "fliers")):
            parts[part][0].set_label(label)
        for rings in parts["fliers"]:
            rings.set_in_layout(False)  # where there are none matplotlib makes room for them in a corner
        for place, patch in zip(places, parts["boxes"], strict=True):
            patch.set_facecolor(style.pale(style.COLOURS[(len(gaps) - place) % style.SERIES]))
        for idx, one in enumerate(section.summaries):
            count, corner = len(gaps[one.entrant]), (0.01, len(gaps) - idx + 0.29)
            label = f"{style.name(one.entrant)}, n = {count}"
            label += f" of {one.instances}" if count < one.instances else ""
            axes.text(*corner, label, transform=axes.get_yaxis_transform(), fontsize=style.LETTERS_PT)
        axes.set_xlim(0, end if everything[-1] > end else None)
        if everything[-1] > end:
            ticks = [tick for tick in axes.get_xticks() if 0 <= tick < end / 1.1]
            axes.set_xticks([*ticks, end], [*(f"{tick:g}" for tick in ticks), "inf"])
        axes.set_yticks([])
        axes.set_ylim(0.5, len(gaps) + 0.8)
        axes.set_xlabel("gap to the best known bound [%]")
        axes.set_title(f"{style.name(section.name, 48)}\ngaps; n: the instances with a gap")
        style.legend(axes)
    return axes


def _clipped(box: Box, end: float) -> dict[str, Any]:
    """Return a box as matplotlib takes it; what lies beyond the end of the axis is drawn there."""
    marks = {"med": box.median, "mean": box.mean, "q1": box.low, "q3": box.high}
    marks |= {"whislo": box.whiskers[0], "whishi": box.whiskers[1]}
    shown: dict[str, Any] = {key: min(mark, end) for key, mark in marks.items()}
    return {**shown, "fliers": [min(gap, end) for gap in box.beyond]}


def profile_curves(
    section: Section, *, of: Literal["value", "time"] = "value", ax: Axes | Figure | None = None
) -> Axes:
    """Draw performance profiles of values or of times: ``profile`` and ``proof-profile`` of `plot`."""
    profiles = section.profiles if of == "value" else section.proof_profiles
    if not profiles:
        what = "an instance with a run of each solver" if of == "value" else "two solvers that prove optima"
        raise InvalidOption(f"{section.name}: a performance profile needs {what}")
    highest = max((ratio for steps in profiles.values() for ratio, _ in steps), default=1.0)
    end = 1.05 * highest if highest > 1 else 2.0
    curves = {
        entrant: [(1.0, 0.0), *steps, (end, steps[-1][1] if steps else 0.0)]
        for entrant, steps in profiles.items()
    }
    title = "performance profile" if of == "value" else "time to a proven optimum"
    with _with_curves(section, curves, f"{title}, n = {len(section.comparison.common)}", ax) as axes:
        axes.set_xlim(1, end)
        if highest > _MANY_TIMES:
            style.log_axis(axes, 1, end)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(f"{of}, as a multiple of the least of all solvers")
        axes.set_ylabel("share of the instances")
    return axes


@contextmanager
def _with_curves(
    section: Section, curves: Mapping[str, list[tuple[float, float]]], title: str, ax: Axes | Figure | None
) -> Iterator[Axes]:
    """Draw the curves of the leading solvers; the caller says what the axes are."""
    chosen = [entrant for entrant in section.leading(style.SERIES) if entrant in curves]
    with style.drawn(ax, style.COLUMN, 2.4 + 0.08 * len(chosen)) as axes:
        for idx, entrant in enumerate(chosen):
            at, levels = zip(*curves[entrant], strict=True)
            axes.step(at, levels, where="post", label=style.name(entrant), **style.line(idx))
        yield axes
        count = len(section.summaries)
        more = f", {len(chosen)} of {count} solvers" if len(chosen) < count else ""
        axes.set_title(f"{style.name(section.name, 48)}\n{title}{more}")
        style.legend(axes)


def primal_gaps(section: Section, *, ax: Axes | Figure | None = None) -> Axes:
    """Draw mean primal gaps, in per cent, over time in seconds: the kind ``primal`` of `plot`."""
    times = [time for curve in section.primal_curves for time, _ in curve.steps if time > 0]
    if not times:
        raise InvalidOption(f"{section.name}: no record says what its solver met on its way")
    first, end = min(times) / 2, max(*times, *(curve.end for curve in section.primal_curves))
    curves = {}
    for one in section.primal_curves:
        steps = [(first, 100.0), *((max(time, first), max(100 * gap, _LEAST_GAP)) for time, gap in one.steps)]
        curves[one.entrant] = [*steps, (end, steps[-1][1])]
    known = sum(best.value is not None for best in section.comparison.best_by_digest.values())
    with _with_curves(section, curves, f"primal gap over time, n = {known}", ax) as axes:
        style.log_axis(axes, first, end)
        axes.set_yscale("log")
        axes.set_ylim(_LEAST_GAP, 110)
        axes.set_yticks([_LEAST_GAP, 0.1, 1, 10, 100], [f"<{_LEAST_GAP:g}", "0.1", "1", "10", "100"])
        axes.set_xlabel("time [s]")
        axes.set_ylabel("mean primal gap [%]")
    return axes
