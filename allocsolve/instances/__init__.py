"""Where problems come from: generators, the JSON format, logs of real machines, the instance library."""

from __future__ import annotations

from allocsolve.instances.formats.certificates import (
    Proof,
    read_certificate,
    read_outcome,
    write_certificate,
)
from allocsolve.instances.formats.envelope import (
    digest,
    parse_problem,
    parse_solution,
    problem_columns,
    problem_document,
    problem_from_columns,
    read_problem,
    read_solution,
    solution_columns,
    solution_digest,
    solution_document,
    solution_from_columns,
    write_problem,
    write_solution,
)
from allocsolve.instances.formats.log_format import LOG_FORMATS, log_format
from allocsolve.instances.formats.log_jobs import read_table_log
from allocsolve.instances.formats.log_swf import read_swf_log
from allocsolve.instances.formats.log_tables import LOG_TABLES, LogTable
from allocsolve.instances.formats.logs import CleaningReport, JobLog, log_problem, recorded_schedule
from allocsolve.instances.formats.sacct import read_sacct_log
from allocsolve.instances.formats.swf import SwfLog, read_swf, swf_problem
from allocsolve.instances.formats.unheld import ReadWorkload, Unheld
from allocsolve.instances.formats.workload_batsim import BATSIM_VERSIONS, read_batsim, write_batsim
from allocsolve.instances.formats.workload_elastisim import write_elastisim
from allocsolve.instances.formats.workload_elastisim_jobs import read_elastisim
from allocsolve.instances.generators.amr import amr
from allocsolve.instances.generators.amr_stream import amr_stream
from allocsolve.instances.generators.counterexamples import counterexamples
from allocsolve.instances.generators.downey1997 import downey1997
from allocsolve.instances.generators.easy_counterexamples import easy_counterexamples
from allocsolve.instances.generators.elastic import elastic_workload
from allocsolve.instances.generators.evolution_workload import (
    evolution_of_workload,
    evolution_schedule_of_workload,
    workload_of_evolution,
    workload_schedule_of_evolution,
)
from allocsolve.instances.generators.evotree import evotree
from allocsolve.instances.generators.evotree_workload import EVOTREE_KINDS, evotree_batch, evotree_stream
from allocsolve.instances.generators.klein2011 import klein2011
from allocsolve.instances.generators.lina import (
    LINA_FLEXIBILITIES,
    LINA_MOMENTS,
    STALL_HOLDS,
    lina_workload,
    shrunk_arrivals,
)
from allocsolve.instances.generators.linnert2024 import LINNERT_STREAMS, linnert2024
from allocsolve.instances.generators.lublin1999 import LUBLIN_MODELS, lublin1999
from allocsolve.instances.generators.median_worst_case import median_worst_case
from allocsolve.instances.generators.occupancy import MACHINES, churned_occupancy, uniform_occupancy
from allocsolve.instances.generators.shape_counterexamples import shape_counterexamples
from allocsolve.instances.library.best_known import (
    BestKnown,
    HistoryEntry,
    Statement,
    read_best_known,
    read_statements,
    write_best_known,
)
from allocsolve.instances.library.files import (
    BEST_KNOWN,
    PACKAGED,
    Library,
    Member,
    Selection,
    Suite,
    write_index,
)
from allocsolve.instances.library.regenerate import regenerate

__all__ = [
    "BATSIM_VERSIONS",
    "BEST_KNOWN",
    "EVOTREE_KINDS",
    "LINA_FLEXIBILITIES",
    "LINA_MOMENTS",
    "LINNERT_STREAMS",
    "LOG_FORMATS",
    "LOG_TABLES",
    "LUBLIN_MODELS",
    "MACHINES",
    "PACKAGED",
    "STALL_HOLDS",
    "BestKnown",
    "CleaningReport",
    "HistoryEntry",
    "JobLog",
    "Library",
    "LogTable",
    "Member",
    "Proof",
    "ReadWorkload",
    "Selection",
    "Statement",
    "Suite",
    "SwfLog",
    "Unheld",
    "amr",
    "amr_stream",
    "churned_occupancy",
    "counterexamples",
    "digest",
    "downey1997",
    "easy_counterexamples",
    "elastic_workload",
    "evolution_of_workload",
    "evolution_schedule_of_workload",
    "evotree",
    "evotree_batch",
    "evotree_stream",
    "klein2011",
    "lina_workload",
    "linnert2024",
    "log_format",
    "log_problem",
    "lublin1999",
    "median_worst_case",
    "parse_problem",
    "parse_solution",
    "problem_columns",
    "problem_document",
    "problem_from_columns",
    "read_batsim",
    "read_best_known",
    "read_certificate",
    "read_elastisim",
    "read_outcome",
    "read_problem",
    "read_sacct_log",
    "read_solution",
    "read_statements",
    "read_swf",
    "read_swf_log",
    "read_table_log",
    "recorded_schedule",
    "regenerate",
    "shape_counterexamples",
    "shrunk_arrivals",
    "solution_columns",
    "solution_digest",
    "solution_document",
    "solution_from_columns",
    "swf_problem",
    "uniform_occupancy",
    "workload_of_evolution",
    "workload_schedule_of_evolution",
    "write_batsim",
    "write_best_known",
    "write_certificate",
    "write_elastisim",
    "write_index",
    "write_problem",
    "write_solution",
]
