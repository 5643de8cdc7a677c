"""Schedules over time: busy nodes, waiting jobs, and under them the price of a node-second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.pictures._workload_series import (
    busy_nodes,
    level_axis,
    node_prices,
    span,
    time_unit,
    waiting_jobs,
)
from allocsolve.pictures.chart import Axis, Chart
from allocsolve.pictures.svg import SERIES, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import FloatArray, WorkloadProblem, WorkloadSchedule

__all__ = ["Scale", "timeline"]

#: Pixels: of the drawing, of the plane of each strip, and what the next strip covers of the one above.
_WIDTH: Final = Chart.NARROW
_STRIP: Final = 110
_OVERLAP: Final = 24

#: A mean for each two pixels or so.
_BINS: Final = 150

#: The series whose colour is that of prices.
_PRICE: Final = SERIES - 2

#: Jobs: a shorter queue is drawn as none beside one that is far longer.
_LEAST_QUEUE: Final = 0.1


@dataclass(frozen=True)
class Scale:
    """The axes that several drawings have in common."""

    #: Shape (bins + 1,), seconds.
    edges: FloatArray
    #: Of waiting jobs.
    queue: Axis

    @classmethod
    def of(cls, problem: WorkloadProblem, schedules: Sequence[WorkloadSchedule]) -> Scale:
        """Return the axes on which all of these schedules fit."""
        first, last = span(problem, schedules)
        edges = np.linspace(first, last if last > first else first + 1, _BINS + 1)
        queues = [float(waiting_jobs(problem, one, edges).max()) for one in schedules]
        return cls(edges, level_axis("waiting jobs", queues, _LEAST_QUEUE))


def timeline(
    problem: WorkloadProblem,
    schedules: Mapping[str, WorkloadSchedule],
    scale: Scale,
    *,
    heading: Sequence[str] = (),
    certificate: Mapping[str, Any] | None = None,
) -> Drawing:
    """Return strips, one under another, over the same time.

    Parameters
    ----------
    problem
        The problem.
    schedules
        By their names in the legend, at most as many as series have colours; a single one has no legend.
    scale
        Of the axes.
    heading
        Lines above all.
    certificate
        The bound that prices node-seconds; no strip without one that does.
    """
    names = list(schedules)
    busy = [100 * busy_nodes(one, scale.edges) / problem.num_nodes for one in schedules.values()]
    queues = [waiting_jobs(problem, one, scale.edges) for one in schedules.values()]
    prices = None if certificate is None else node_prices(problem, certificate, scale.edges)
    title = heading[0] if heading else "busy nodes and waiting jobs"
    legend = names if len(names) > 1 else []
    strips = [
        _strip(
            title, scale, Axis("busy nodes [%]", 0, 100, steps=5), busy, names, legend=legend, heading=heading
        ),
        _strip(title, scale, scale.queue, queues, names, last=prices is None),
    ]
    if prices is not None:
        price = Axis.around("price", [float(prices.max())], steps=5)
        strips.append(_strip(title, scale, price, [prices], ["price"], last=True, first_idx=_PRICE))
    heights = [strip.size[1] - _OVERLAP for strip in strips]
    whole = Drawing(_WIDTH, sum(heights) + _OVERLAP, title)
    for idx, strip in enumerate(strips):
        whole.place(strip, 0, sum(heights[:idx]))
    return whole


def _strip(
    title: str,
    scale: Scale,
    y: Axis,
    series: Sequence[FloatArray],
    names: Sequence[str],
    *,
    legend: Sequence[str] = (),
    heading: Sequence[str] = (),
    last: bool = False,
    first_idx: int = 0,
) -> Drawing:
    low, high = float(scale.edges[0]), float(scale.edges[-1])
    unit = time_unit(high - low)
    chart = Chart(
        title,
        unit.axis(low, high, title=last),
        y,
        legend=legend,
        marks="solid",
        width=_WIDTH,
        height=_STRIP,
        heading=heading,
    )
    times = (scale.edges[1:-1] / unit.seconds).tolist()
    for idx, means in enumerate(series):
        first, *others = means.tolist()
        chart.steps(first_idx + idx, list(zip(times, others, strict=True)), first, label=names[idx], sort="c")
    return chart.drawing
