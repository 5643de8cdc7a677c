"""Suites, runs, records and scores: what every solver is worth, as the judge found it."""

from __future__ import annotations

from allocsolve.bench.bender2008 import HEURISTICS, OccupancyTable, TightCase, occupancy_tables, tight_family
from allocsolve.bench.klein2011 import ALGORITHMS, Reproduction, reproduce
from allocsolve.bench.klein2011_sample import SampleTable, sample
from allocsolve.bench.klein2011_tables import COLUMNS, EPSILON, PAPER, Column, Spread
from allocsolve.bench.executors import open_executor
from allocsolve.bench.export import EXPORTS, export
from allocsolve.bench.records import Record, RecordKey
from allocsolve.bench.runner import MEMORY_MB, Progress, run
from allocsolve.bench.store import RecordStore
from allocsolve.bench.tasks import Task, family_of_all, plan
from allocsolve.bench.scores import Best, Gaps, SolverScore, best, gap, scores
from allocsolve.bench.study import Study, problems_of, read_study
from allocsolve.bench.suites import SUITES, Suite, suite

__all__ = [
    "ALGORITHMS",
    "COLUMNS",
    "EPSILON",
    "EXPORTS",
    "HEURISTICS",
    "MEMORY_MB",
    "PAPER",
    "SUITES",
    "Best",
    "Column",
    "Gaps",
    "OccupancyTable",
    "Progress",
    "Record",
    "RecordKey",
    "RecordStore",
    "Reproduction",
    "SampleTable",
    "SolverScore",
    "Spread",
    "Study",
    "Suite",
    "Task",
    "TightCase",
    "best",
    "export",
    "family_of_all",
    "gap",
    "occupancy_tables",
    "open_executor",
    "plan",
    "problems_of",
    "read_study",
    "reproduce",
    "run",
    "sample",
    "scores",
    "suite",
    "tight_family",
]
