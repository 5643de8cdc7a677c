"""Suites, runs, records and scores: what every solver brings, as the judge found it."""

from __future__ import annotations

from allocsolve.bench.gate.compare import GateChange
from allocsolve.bench.gate.gate import GateReport, run_gate
from allocsolve.bench.library.design import build_library
from allocsolve.bench.library.improve import Change, improve_suites
from allocsolve.bench.library.suites import SUITES, suite
from allocsolve.bench.library.verify import claimed_bounds, verify_suite
from allocsolve.bench.runs.describe import Description, describe
from allocsolve.bench.runs.executors import open_executor
from allocsolve.bench.runs.merge import merge_records
from allocsolve.bench.runs.records import Record, RecordKey
from allocsolve.bench.runs.runner import Progress, run, run_missing
from allocsolve.bench.runs.store import RecordStore
from allocsolve.bench.runs.study import Study, problems_of, read_study
from allocsolve.bench.runs.tasks import SolverLike, Task, family_of_all, plan
from allocsolve.bench.runs.verify import verify_records
from allocsolve.bench.scores.comparison import Comparison, compare
from allocsolve.bench.scores.export import EXPORTS, export
from allocsolve.bench.scores.gaps import Gaps, SolverScore, best, gap, solver_scores
from allocsolve.bench.scores.statistics import holm, signed_rank

__all__ = [
    "EXPORTS",
    "SUITES",
    "Change",
    "Comparison",
    "Description",
    "Gaps",
    "GateChange",
    "GateReport",
    "Progress",
    "Record",
    "RecordKey",
    "RecordStore",
    "SolverLike",
    "SolverScore",
    "Study",
    "Task",
    "best",
    "build_library",
    "claimed_bounds",
    "compare",
    "describe",
    "export",
    "family_of_all",
    "gap",
    "holm",
    "improve_suites",
    "merge_records",
    "open_executor",
    "plan",
    "problems_of",
    "read_study",
    "run",
    "run_gate",
    "run_missing",
    "signed_rank",
    "solver_scores",
    "suite",
    "verify_records",
    "verify_suite",
]
