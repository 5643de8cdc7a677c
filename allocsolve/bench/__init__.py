"""Suites, runs, records and scores: what every solver is worth, as the judge found it."""

from __future__ import annotations

from allocsolve.bench.gate.compare import GateChange
from allocsolve.bench.gate.gate import GateReport, SolverLike, run_gate
from allocsolve.bench.library.design import DESIGN, KLEIN, SuiteDesign, build_library, klein_problem
from allocsolve.bench.library.improve import Change, improve_suites, improved
from allocsolve.bench.library.selections import SELECTIONS
from allocsolve.bench.library.suites import SUITES, suite
from allocsolve.bench.library.verify import verify_suite
from allocsolve.bench.runs.executors import open_executor
from allocsolve.bench.runs.records import Record, RecordKey
from allocsolve.bench.runs.runner import MEMORY_MB, Progress, complete, run
from allocsolve.bench.runs.store import RecordStore
from allocsolve.bench.runs.study import Study, problems_of, read_study
from allocsolve.bench.runs.tasks import Task, family_of_all, plan
from allocsolve.bench.scores.brackets import FEWEST, Bracket, Ratios
from allocsolve.bench.scores.comparison import Cell, Comparison, compare
from allocsolve.bench.scores.export import EXPORTS, export
from allocsolve.bench.scores.gaps import Best, Gaps, SolverScore, best, gap, scores
from allocsolve.bench.scores.statistics import (
    bootstrap_interval,
    holm,
    performance_profile,
    primal_gap,
    primal_integral,
    quantile,
    shifted_geometric_mean,
    signed_rank,
)
from allocsolve.bench.scores.summary import (
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

__all__ = [
    "DESIGN",
    "EXPORTS",
    "FEWEST",
    "GAP_SHIFT",
    "KLEIN",
    "MEMORY_MB",
    "SELECTIONS",
    "SUITES",
    "TIME_SHIFT",
    "Best",
    "Bracket",
    "Cell",
    "Change",
    "Comparison",
    "Distribution",
    "Duel",
    "Gaps",
    "GateChange",
    "GateReport",
    "PrimalCurve",
    "Progress",
    "Ratios",
    "Record",
    "RecordKey",
    "RecordStore",
    "SolverLike",
    "SolverScore",
    "Study",
    "SuiteDesign",
    "Summary",
    "Task",
    "best",
    "bootstrap_interval",
    "build_library",
    "compare",
    "complete",
    "duels",
    "export",
    "family_of_all",
    "gap",
    "holm",
    "improve_suites",
    "improved",
    "klein_problem",
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
    "run",
    "run_gate",
    "scores",
    "shifted_geometric_mean",
    "signed_rank",
    "suite",
    "summaries",
    "verify_suite",
]
