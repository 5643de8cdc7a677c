"""What the terminal shows of evolution problems and their schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.pictures.text import percent

if TYPE_CHECKING:
    from allocsolve.judge import EvolutionMetrics
    from allocsolve.model import EvolutionProblem, EvolutionSchedule

__all__ = ["metric_fields", "show_picture"]


def metric_fields(problem: EvolutionProblem, worth: EvolutionMetrics) -> list[tuple[str, str]]:
    """Return the metrics of a schedule as names and values."""
    del problem
    return [
        ("makespan", f"{worth.makespan} s"),
        ("mean completion", f"{worth.mean_completion:.1f} s"),
        ("mean turnaround", f"{worth.mean_turnaround:.1f} s"),
        ("mean waiting", f"{worth.mean_waiting:.1f} s"),
        ("useful area", f"{worth.useful_area} node-s"),
        ("waste", f"{worth.total_waste} node-s, {percent(worth.waste)} of the useful area"),
        (
            "waste by application",
            f"mean {percent(worth.mean_application_waste)}, max {percent(worth.max_application_waste)}",
        ),
        (
            "utilisation",
            f"{percent(worth.utilisation)}, effective {percent(worth.effective_utilisation)}",
        ),
        ("expanded applications", percent(worth.expanded)),
        ("expansion", f"mean {percent(worth.mean_expansion)}, max {percent(worth.max_expansion)}"),
    ]


def show_picture(problem: EvolutionProblem, schedule: EvolutionSchedule) -> None:
    """Print nothing: a schedule has too many seconds for a terminal."""
    del problem, schedule
