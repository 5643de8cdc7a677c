"""What workloads show: jobs on nodes where there are few, else busy nodes and the queue over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.families import Export, View
from allocsolve.instances.formats.workload_evalys import evalys_text
from allocsolve.instances.formats.workload_perfetto import perfetto_text
from allocsolve.instances.formats.workload_swf import swf_text
from allocsolve.model.job_kinds import JOB_KINDS
from allocsolve.pictures._workload_gantt import GANTT_PIECES, gantt
from allocsolve.pictures._workload_series import span
from allocsolve.pictures._workload_timeline import Scale, timeline
from allocsolve.pictures.text import counted, duration, percent
from allocsolve.pictures.workload_exhibits import workload_exhibits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.judge.workload import WorkloadMetrics
    from allocsolve.model import WorkloadProblem, WorkloadSchedule
    from allocsolve.pictures.svg import Drawing

__all__ = ["WORKLOAD_VIEW"]


def _describe(problem: WorkloadProblem) -> str:
    jobs, nodes = counted(len(problem.jobs), "job"), counted(problem.num_nodes, "node")
    submit = problem.packed.submit
    over = f", submitted over {duration(float(submit.max() - submit.min()))}" if len(submit) else ""
    kinds = ""
    if not problem.is_rigid:
        counts = np.bincount(problem.packed.kind, minlength=len(JOB_KINDS)).tolist()
        kinds = "".join(f", {count} {kind}" for kind, count in zip(JOB_KINDS, counts, strict=True) if count)
    return f"{jobs}, {nodes}{over}{kinds}"


def _undrawable(problem: WorkloadProblem) -> str:
    """Return nothing: what is drawn of many jobs are means over time, however many they are."""
    del problem
    return ""


def _plot(problem: WorkloadProblem, schedule: WorkloadSchedule) -> Drawing:
    return _plot_together(problem, [schedule])[0]


def _plot_together(problem: WorkloadProblem, schedules: Sequence[WorkloadSchedule]) -> list[Drawing]:
    heading = [problem.name or "Workload", _describe(problem)]
    if max((len(one.starts) for one in schedules), default=0) > GANTT_PIECES:
        scale = Scale.of(problem, schedules)
        return [timeline(problem, {"": one}, scale, heading=heading) for one in schedules]
    first, last = span(problem, schedules)
    window = first, last if last > first else first + 1
    heading.append("what a job is shows under the mouse")
    return [gantt(problem, one, window, heading[0], heading) for one in schedules]


def _metric_fields(problem: WorkloadProblem, metrics: WorkloadMetrics) -> list[tuple[str, str]]:
    fields = [
        (name, f"mean {mean:.1f} s, median {median:.1f} s, 95 % up to {p95:.1f} s, max {highest:.1f} s")
        for name, mean, median, p95, highest in (
            (
                "turnaround",
                metrics.turnaround,
                metrics.median_turnaround,
                metrics.p95_turnaround,
                metrics.max_turnaround,
            ),
            ("wait", metrics.wait, metrics.median_wait, metrics.p95_wait, metrics.max_wait),
        )
    ]
    slowdown = (
        f"mean {metrics.slowdown:.2f}, median {metrics.median_slowdown:.2f}, "
        f"95 % up to {metrics.p95_slowdown:.2f}, max {metrics.max_slowdown:.2f}"
    )
    share = percent(metrics.backfilled_jobs / max(len(problem.jobs), 1))
    return [
        *fields,
        ("slowdown", slowdown),
        ("makespan", f"{metrics.makespan:.10g} s ({duration(metrics.makespan)})"),
        ("utilisation", percent(metrics.utilisation)),
        ("queue length", f"mean {metrics.mean_queue_length:.1f} jobs"),
        ("backfilled jobs", f"{metrics.backfilled_jobs}, {share} of all"),
        ("area-weighted response", f"{metrics.area_weighted_response:.1f} s"),
    ]


WORKLOAD_VIEW: Final[View[WorkloadProblem, WorkloadSchedule]] = View(
    units={"turnaround": "s", "slowdown": "", "wait": "s", "makespan": "s"},
    describe=_describe,
    undrawable=_undrawable,
    plot=_plot,
    metric_fields=_metric_fields,
    plot_together=_plot_together,
    exhibits=workload_exhibits,
    exports={
        "perfetto": Export("a trace for Perfetto and Chrome's trace viewer", perfetto_text),
        "evalys": Export("a jobs.csv as evalys and Batsim's tools read it", evalys_text),
        "swf": Export("a log in the Standard Workload Format, with waits", swf_text),
    },
)
