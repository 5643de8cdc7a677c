"""Suites, runs, records and scores: what every solver is worth, as the judge found it."""

from __future__ import annotations

from allocsolve.bench.bender2008 import HEURISTICS, OccupancyTable, TightCase, occupancy_tables, tight_family
from allocsolve.bench.klein2011 import ALGORITHMS, Reproduction, reproduce
from allocsolve.bench.klein2011_sample import SampleTable, sample
from allocsolve.bench.klein2011_tables import COLUMNS, EPSILON, PAPER, Column, Spread
from allocsolve.bench.records import Record, RecordKey, RecordStore, write_csv
from allocsolve.bench.runner import Progress, family_of_all, run
from allocsolve.bench.scores import Best, Gaps, SolverScore, best, gap, scores
from allocsolve.bench.suites import SUITES, Suite, suite

__all__ = [
    "ALGORITHMS",
    "COLUMNS",
    "EPSILON",
    "HEURISTICS",
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
    "Suite",
    "TightCase",
    "best",
    "family_of_all",
    "gap",
    "occupancy_tables",
    "reproduce",
    "run",
    "sample",
    "scores",
    "suite",
    "tight_family",
    "write_csv",
]
