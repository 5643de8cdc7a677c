"""The figures of a log as a text file for Prometheus, in its text format of version 0.0.4.

The textfile collector of node_exporter reads such files. All figures are gauges without a time: that of the
file counts.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allocsolve.judge import WorkloadMetrics
    from allocsolve.report.logs.findings import WhatIf

#: All names begin like this.
PREFIX: Final = "allocsolve_whatif_"

#: What each gauge is, by its name without the prefix.
_HELP: Final = {
    "jobs": "Jobs of the log that are compared.",
    "mean_wait_seconds": "Mean wait of the jobs under a schedule.",
    "median_wait_seconds": "Half of the jobs wait so long or less under a schedule.",
    "p95_wait_seconds": "95 % of the jobs wait so long or less under a schedule.",
    "max_wait_seconds": "The longest wait under a schedule.",
    "utilisation_ratio": "Share of the machine that jobs hold, from the first submission to the last end.",
    "wait_bound_seconds": "No schedule has a lower mean wait than this: proved, and recomputed by the judge.",
    "violations": "Rules that the schedule of the log breaks, such as more nodes in use than there are.",
    "question_mean_wait_seconds": "Mean wait under a schedule if one thing were otherwise.",
    "question_wait_bound_seconds": "No schedule has a lower mean wait if one thing were otherwise.",
    "malleable_mean_turnaround_seconds": "Mean time from submission to end if a share of the jobs could "
    "change their size.",
    "malleable_turnaround_bound_seconds": "No schedule has a lower mean time from submission to end then.",
    "failed_runs": "Runs that failed: their figures are not there.",
    "missing_runs": "Runs that have not been made yet: their figures are not there.",
}

_OF_A_SCHEDULE: Final = {
    "mean_wait_seconds": "wait",
    "median_wait_seconds": "median_wait",
    "p95_wait_seconds": "p95_wait",
    "max_wait_seconds": "max_wait",
    "utilisation_ratio": "utilisation",
}


def prometheus_text(figures: WhatIf) -> str:
    """Return the figures of a log in the text format of Prometheus; what is not known is left out.

    The label ``log`` is the name of its file, ``schedule`` that of a solver, or ``recorded`` for what the log
    tells; ``question`` says what is otherwise, ``share`` which part of the jobs could change their size.
    """
    samples: dict[str, dict[str, float]] = {name: {} for name in _HELP}
    for name, labels, value in _samples(figures):
        listed = {"log": PurePath(figures.log.source).name, **labels}
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in listed.items())
        samples[name].setdefault(shown, value)  # of what was asked for twice, one
    lines = []
    for name, rows in samples.items():
        if rows:
            lines += [f"# HELP {PREFIX}{name} {_HELP[name]}", f"# TYPE {PREFIX}{name} gauge"]
            lines += [f"{PREFIX}{name}{{{labels}}} {value!r}" for labels, value in rows.items()]
    return "\n".join([*lines, ""])


def _samples(figures: WhatIf) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield name, labels and value of each figure."""
    yield "jobs", {}, len(figures.problem.jobs)
    for case in figures.cases:
        yield from _of_a_schedule(case.key, case.metrics)
    if figures.bound is not None:
        yield "wait_bound_seconds", {}, float(figures.bound)
    if figures.recorded is not None:
        yield "violations", {}, len(figures.faults)
    for outlook in figures.outlooks:
        question = {"question": outlook.question.label}
        for solver, case in outlook.policies.items():
            labels = {**question, "schedule": solver}
            yield "question_mean_wait_seconds", labels, float(case.metrics.wait)
        if outlook.bound is not None:
            yield "question_wait_bound_seconds", question, float(outlook.bound)
    for elastic in figures.elastic:
        share = {"share": f"{elastic.share:g}"}
        for solver, metrics in elastic.metrics.items():
            labels = {**share, "schedule": solver}
            yield "malleable_mean_turnaround_seconds", labels, float(metrics.turnaround)
        if elastic.bound is not None:
            yield "malleable_turnaround_bound_seconds", share, float(elastic.bound)
    yield "failed_runs", {}, len(figures.failed)
    yield "missing_runs", {}, len(figures.missing)


def _of_a_schedule(key: str, metrics: WorkloadMetrics) -> Iterator[tuple[str, Mapping[str, str], float]]:
    for name, field in _OF_A_SCHEDULE.items():
        yield name, {"schedule": key}, float(getattr(metrics, field))


def _escaped(text: str) -> str:
    """Return the value of a label as the format has it between quotes."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def is_prometheus_text(data: bytes) -> bool:
    """Tell whether a file is one that `prometheus_text` has made."""
    return data.startswith(f"# HELP {PREFIX}".encode())
