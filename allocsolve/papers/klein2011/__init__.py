"""Klein & Perez 2011: their experiments, and what expansion is worth."""

from __future__ import annotations

from allocsolve.papers.klein2011.expansion import (
    ExpansionGain,
    ExpansionInstance,
    ExpansionStudy,
    HeuristicRow,
    examine_expansion,
)
from allocsolve.papers.klein2011.expansion_runs import (
    HEURISTIC_SECONDS,
    ExpansionDraw,
    Heuristic,
    expansion_draws,
    expansion_tasks,
)
from allocsolve.papers.klein2011.picture import expansion_picture
from allocsolve.papers.klein2011.reproduction import Reproduction, reproduce
from allocsolve.papers.klein2011.tables import COLUMNS, EPSILON, PAPER, Column, Spread

__all__ = [
    "COLUMNS",
    "EPSILON",
    "HEURISTIC_SECONDS",
    "PAPER",
    "Column",
    "ExpansionDraw",
    "ExpansionGain",
    "ExpansionInstance",
    "ExpansionStudy",
    "Heuristic",
    "HeuristicRow",
    "Reproduction",
    "Spread",
    "examine_expansion",
    "expansion_draws",
    "expansion_picture",
    "expansion_tasks",
    "reproduce",
]
