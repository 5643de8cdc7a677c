"""Where problems come from: generators, the JSON format, logs of real machines."""

from __future__ import annotations

from allocsolve.instances.json_format import (
    digest,
    read_problem,
    read_solution,
    solution_document,
    write_problem,
    write_solution,
)
from allocsolve.instances.klein2011 import klein2011
from allocsolve.instances.swf import CleaningReport, SwfLog, read_swf, swf_problem

__all__ = [
    "CleaningReport",
    "SwfLog",
    "digest",
    "klein2011",
    "read_problem",
    "read_solution",
    "read_swf",
    "solution_document",
    "swf_problem",
    "write_problem",
    "write_solution",
]
