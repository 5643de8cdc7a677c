"""Linnert, De Rose & Heiss 2024: jobs with deadlines on a mesh, booked or leaking, and what is possible."""

from __future__ import annotations

from allocsolve.papers.linnert2024.figures import Figures, MissingRunsError
from allocsolve.papers.linnert2024.measures import PRINTED_COUNTS
from allocsolve.papers.linnert2024.picture import reproduction_picture
from allocsolve.papers.linnert2024.reproduction import (
    BoundRow,
    Reproduction,
    Run,
    Spread,
    examine,
    joined,
    spread,
)
from allocsolve.papers.linnert2024.runs import (
    ADMISSIONS,
    BOUND,
    COUNT,
    FREE_LEAK,
    LEAK,
    LOADS,
    NUM_JOBS,
    PROGRAMS,
    READING_SEEDS,
    READINGS,
    SEEDS,
    STRATEGIES,
    SYNCHRONOUS,
    TERMS,
    FigureStore,
    PlannedRun,
    Reading,
    planned_runs,
)
from allocsolve.papers.linnert2024.sentences import Sentence, Verdict, sentences

__all__ = [
    "ADMISSIONS",
    "BOUND",
    "COUNT",
    "FREE_LEAK",
    "LEAK",
    "LOADS",
    "NUM_JOBS",
    "PRINTED_COUNTS",
    "PROGRAMS",
    "READINGS",
    "READING_SEEDS",
    "SEEDS",
    "STRATEGIES",
    "SYNCHRONOUS",
    "TERMS",
    "BoundRow",
    "FigureStore",
    "Figures",
    "MissingRunsError",
    "PlannedRun",
    "Reading",
    "Reproduction",
    "Run",
    "Sentence",
    "Spread",
    "Verdict",
    "examine",
    "joined",
    "planned_runs",
    "reproduction_picture",
    "sentences",
    "spread",
]
