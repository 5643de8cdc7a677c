from .gate.compare import GateChange as GateChange
from .gate.gate import GateReport as GateReport, run_gate as run_gate
from .library.design import build_library as build_library
from .library.improve import Change as Change, improve_suites as improve_suites
from .library.suites import SUITES as SUITES, suite as suite
from .library.verify import claimed_bounds as claimed_bounds, verify_suite as verify_suite
from .runs.describe import Description as Description, describe as describe
from .runs.executors import open_executor as open_executor
from .runs.merge import merge_records as merge_records
from .runs.records import Record as Record, RecordKey as RecordKey
from .runs.runner import Progress as Progress, run as run, run_missing as run_missing
from .runs.store import RecordStore as RecordStore
from .runs.study import Study as Study, problems_of as problems_of, read_study as read_study
from .runs.tasks import SolverLike as SolverLike, Task as Task, family_of_all as family_of_all, plan as plan
from .runs.verify import verify_records as verify_records
from .scores.comparison import Comparison as Comparison, compare as compare
from .scores.export import EXPORTS as EXPORTS, export as export
from .scores.gaps import (
    Gaps as Gaps,
    SolverScore as SolverScore,
    best as best,
    gap as gap,
    solver_scores as solver_scores,
)
from .scores.statistics import holm as holm, signed_rank as signed_rank
