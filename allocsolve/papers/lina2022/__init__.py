"""Lina, Ghafoor & Hines 2022: three algorithms, six orders of victims, and the best that is possible."""

from __future__ import annotations

from allocsolve.papers.lina2022.claims import Claim, Verdict, claims
from allocsolve.papers.lina2022.figures import Contrast, Figures, MissingRunsError
from allocsolve.papers.lina2022.logs import FULL, LOGS, Log, paper_logs
from allocsolve.papers.lina2022.printed import TABLE_3, Printed
from allocsolve.papers.lina2022.reproduction import (
    METRICS,
    BoundRow,
    Cell,
    Reproduction,
    Run,
    examine,
    joined,
)
from allocsolve.papers.lina2022.runs import (
    ALGORITHMS,
    BOUND,
    BOUND_SHARES,
    RIGID,
    RULES,
    SEEDS,
    SHARES,
    FigureStore,
    PlannedRun,
    Variant,
    planned_runs,
    variants,
)

__all__ = [
    "ALGORITHMS",
    "BOUND",
    "BOUND_SHARES",
    "FULL",
    "LOGS",
    "METRICS",
    "RIGID",
    "RULES",
    "SEEDS",
    "SHARES",
    "TABLE_3",
    "BoundRow",
    "Cell",
    "Claim",
    "Contrast",
    "FigureStore",
    "Figures",
    "Log",
    "MissingRunsError",
    "PlannedRun",
    "Printed",
    "Reproduction",
    "Run",
    "Variant",
    "Verdict",
    "claims",
    "examine",
    "joined",
    "paper_logs",
    "planned_runs",
    "variants",
]
