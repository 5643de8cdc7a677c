"""Suites, runs, records and scores: what every solver is worth, as the judge found it."""

from __future__ import annotations

from allocsolve.bench.bender2008 import HEURISTICS, OccupancyTable, TightCase, occupancy_tables, tight_family
from allocsolve.bench.gate import GateReport, SolverLike, run_gate
from allocsolve.bench.gate_compare import GateChange
from allocsolve.bench.klein2011 import ALGORITHMS, Reproduction, reproduce
from allocsolve.bench.klein2011_sample import SampleTable, sample
from allocsolve.bench.klein2011_tables import COLUMNS, EPSILON, PAPER, Column, Spread
from allocsolve.bench.executors import open_executor
from allocsolve.bench.export import EXPORTS, export
from allocsolve.bench.library_design import DESIGN, SuiteDesign, build_library
from allocsolve.bench.library_improve import Change, improve_suites, improved
from allocsolve.bench.library_selections import SELECTIONS
from allocsolve.bench.library_verify import verify_suite
from allocsolve.bench.records import Record, RecordKey
from allocsolve.bench.runner import MEMORY_MB, Progress, complete, run
from allocsolve.bench.scores import Best, Gaps, SolverScore, best, gap, scores
from allocsolve.bench.store import RecordStore
from allocsolve.bench.study import Study, problems_of, read_study
from allocsolve.bench.suites import SUITES, suite
from allocsolve.bench.tasks import Task, family_of_all, plan

__all__ = [
    "ALGORITHMS",
    "COLUMNS",
    "DESIGN",
    "EPSILON",
    "EXPORTS",
    "HEURISTICS",
    "MEMORY_MB",
    "PAPER",
    "SELECTIONS",
    "SUITES",
    "Best",
    "Change",
    "Column",
    "GateChange",
    "GateReport",
    "Gaps",
    "OccupancyTable",
    "Progress",
    "Record",
    "RecordKey",
    "RecordStore",
    "Reproduction",
    "SampleTable",
    "SolverLike",
    "SolverScore",
    "Spread",
    "Study",
    "SuiteDesign",
    "Task",
    "TightCase",
    "best",
    "build_library",
    "complete",
    "export",
    "family_of_all",
    "gap",
    "improve_suites",
    "improved",
    "occupancy_tables",
    "open_executor",
    "plan",
    "problems_of",
    "read_study",
    "reproduce",
    "run",
    "run_gate",
    "sample",
    "scores",
    "suite",
    "tight_family",
    "verify_suite",
]
