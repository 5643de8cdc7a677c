"""Zojer 2025: malleable jobs on the log of Cori KNL, its four strategies, and the best that is possible."""

from __future__ import annotations

from allocsolve.papers.zojer2025.picture import reproduction_picture
from allocsolve.papers.zojer2025.reproduction import (
    FIGURES,
    PRINTED,
    BoundRow,
    PolicyRow,
    Reproduction,
    Spread,
    examine,
)
from allocsolve.papers.zojer2025.runs import (
    BOUND,
    COMPARED,
    POLICIES,
    REFERENCES,
    SEEDS,
    SHARES,
    PlannedRun,
    Run,
    Variant,
    planned_runs,
    variants,
)
from allocsolve.papers.zojer2025.sentences import Sentence, Verdict, sentences
from allocsolve.papers.zojer2025.trace import NUM_NODES, SOURCE, cori_knl, trace_files

__all__ = [
    "BOUND",
    "COMPARED",
    "FIGURES",
    "NUM_NODES",
    "POLICIES",
    "PRINTED",
    "REFERENCES",
    "SEEDS",
    "SHARES",
    "SOURCE",
    "BoundRow",
    "PlannedRun",
    "PolicyRow",
    "Reproduction",
    "Run",
    "Sentence",
    "Spread",
    "Variant",
    "Verdict",
    "cori_knl",
    "examine",
    "planned_runs",
    "reproduction_picture",
    "sentences",
    "trace_files",
    "variants",
]
