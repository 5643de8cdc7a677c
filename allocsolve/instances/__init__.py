"""Where problems come from: generators, the JSON format, logs of real machines."""

from __future__ import annotations

from allocsolve.instances.json_format import (
    digest,
    parse_problem,
    parse_solution,
    problem_document,
    read_problem,
    read_solution,
    solution_document,
    write_problem,
    write_solution,
)
from allocsolve.instances.klein2011 import klein2011
from allocsolve.instances.median_worst_case import median_worst_case
from allocsolve.instances.occupancy import MACHINES, churned_occupancy, uniform_occupancy
from allocsolve.instances.swf import CleaningReport, SwfLog, read_swf, swf_problem

__all__ = [
    "MACHINES",
    "CleaningReport",
    "SwfLog",
    "churned_occupancy",
    "digest",
    "klein2011",
    "median_worst_case",
    "parse_problem",
    "parse_solution",
    "problem_document",
    "read_problem",
    "read_solution",
    "read_swf",
    "solution_document",
    "swf_problem",
    "uniform_occupancy",
    "write_problem",
    "write_solution",
]
