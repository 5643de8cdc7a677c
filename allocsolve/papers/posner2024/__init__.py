"""Posner 2024: evolving jobs in batches of tree searches, two schedulers, and the best that is possible."""

from __future__ import annotations

from allocsolve.papers.posner2024.batches import (
    FIRST_SEED,
    NUM_BATCHES,
    SHARES,
    Batch,
    drawn_batches,
    read_batches,
)
from allocsolve.papers.posner2024.picture import reproduction_picture
from allocsolve.papers.posner2024.reproduction import (
    FIGURES,
    PRINTED,
    BoundRow,
    Reproduction,
    Row,
    Run,
    examine,
)
from allocsolve.papers.posner2024.runs import (
    BOUND,
    COMPARED,
    EASY,
    EVOLV,
    READINGS,
    SCHEDULERS,
    PlannedRun,
    Reading,
    planned_runs,
)
from allocsolve.papers.posner2024.sentences import Sentence, Verdict, sentences

__all__ = [
    "BOUND",
    "COMPARED",
    "EASY",
    "EVOLV",
    "FIGURES",
    "FIRST_SEED",
    "NUM_BATCHES",
    "PRINTED",
    "READINGS",
    "SCHEDULERS",
    "SHARES",
    "Batch",
    "BoundRow",
    "PlannedRun",
    "Reading",
    "Reproduction",
    "Row",
    "Run",
    "Sentence",
    "Verdict",
    "drawn_batches",
    "examine",
    "planned_runs",
    "read_batches",
    "reproduction_picture",
    "sentences",
]
