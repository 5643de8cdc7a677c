"""Suites, runs, records and scores: what every solver is worth, as the judge found it."""

from __future__ import annotations

from allocsolve.bench.bender2008 import HEURISTICS, OccupancyTable, TightCase, occupancy_tables, tight_family
from allocsolve.bench.brackets import FEWEST, Bracket, Ratios
from allocsolve.bench.comparison import Cell, Comparison, compare
from allocsolve.bench.executors import open_executor
from allocsolve.bench.expansion import (
    ExpansionInstance,
    ExpansionStudy,
    HeuristicRow,
    WorthRow,
    examine_expansion,
)
from allocsolve.bench.expansion_runs import (
    HEURISTIC_SECONDS,
    ExpansionDraw,
    Heuristic,
    expansion_draws,
    expansion_tasks,
)
from allocsolve.bench.export import EXPORTS, export
from allocsolve.bench.gate import GateReport, SolverLike, run_gate
from allocsolve.bench.gate_compare import GateChange
from allocsolve.bench.klein2011 import ALGORITHMS, Reproduction, reproduce
from allocsolve.bench.klein2011_tables import COLUMNS, EPSILON, PAPER, Column, Spread
from allocsolve.bench.library_design import DESIGN, KLEIN, SuiteDesign, build_library, klein_problem
from allocsolve.bench.library_improve import Change, improve_suites, improved
from allocsolve.bench.library_selections import SELECTIONS
from allocsolve.bench.library_verify import verify_suite
from allocsolve.bench.records import Record, RecordKey
from allocsolve.bench.runner import MEMORY_MB, Progress, complete, run
from allocsolve.bench.scores import Best, Gaps, SolverScore, best, gap, scores
from allocsolve.bench.statistics import (
    bootstrap_interval,
    holm,
    performance_profile,
    primal_gap,
    primal_integral,
    quantile,
    shifted_geometric_mean,
    signed_rank,
)
from allocsolve.bench.store import RecordStore
from allocsolve.bench.study import Study, problems_of, read_study
from allocsolve.bench.suites import SUITES, suite
from allocsolve.bench.summary import (
    GAP_SHIFT,
    TIME_SHIFT,
    Distribution,
    Duel,
    PrimalCurve,
    Summary,
    duels,
    primal_curves,
    profiles,
    proof_profiles,
    summaries,
)
from allocsolve.bench.tasks import Task, family_of_all, plan

__all__ = [
    "ALGORITHMS",
    "COLUMNS",
    "DESIGN",
    "EPSILON",
    "EXPORTS",
    "FEWEST",
    "GAP_SHIFT",
    "HEURISTICS",
    "HEURISTIC_SECONDS",
    "KLEIN",
    "MEMORY_MB",
    "PAPER",
    "SELECTIONS",
    "SUITES",
    "TIME_SHIFT",
    "Best",
    "Bracket",
    "Cell",
    "Change",
    "Column",
    "Comparison",
    "Distribution",
    "Duel",
    "ExpansionDraw",
    "ExpansionInstance",
    "ExpansionStudy",
    "Gaps",
    "GateChange",
    "GateReport",
    "Heuristic",
    "HeuristicRow",
    "OccupancyTable",
    "PrimalCurve",
    "Progress",
    "Ratios",
    "Record",
    "RecordKey",
    "RecordStore",
    "Reproduction",
    "SolverLike",
    "SolverScore",
    "Spread",
    "Study",
    "SuiteDesign",
    "Summary",
    "Task",
    "TightCase",
    "WorthRow",
    "best",
    "bootstrap_interval",
    "build_library",
    "compare",
    "complete",
    "duels",
    "examine_expansion",
    "expansion_draws",
    "expansion_tasks",
    "export",
    "family_of_all",
    "gap",
    "holm",
    "improve_suites",
    "improved",
    "klein_problem",
    "occupancy_tables",
    "open_executor",
    "performance_profile",
    "plan",
    "primal_curves",
    "primal_gap",
    "primal_integral",
    "problems_of",
    "profiles",
    "proof_profiles",
    "quantile",
    "read_study",
    "reproduce",
    "run",
    "run_gate",
    "scores",
    "shifted_geometric_mean",
    "signed_rank",
    "suite",
    "summaries",
    "tight_family",
    "verify_suite",
]
