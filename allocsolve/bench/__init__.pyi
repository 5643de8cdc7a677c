from .evaluation.evaluator import PolicyEvaluator as PolicyEvaluator
from .gate.baseline import GateChange as GateChange
from .gate.gate import GateReport as GateReport, run_gate as run_gate
from .library.design import SUITES as SUITES, build_library as build_library, suite as suite
from .library.improve import (
    Change as Change,
    claimed_bounds as claimed_bounds,
    improve_suites as improve_suites,
    verify_suite as verify_suite,
)
from .runs.describe import Description as Description, describe as describe
from .runs.records import Record as Record, RecordKey as RecordKey
from .runs.runner import (
    Progress as Progress,
    open_executor as open_executor,
    run as run,
    run_missing as run_missing,
)
from .runs.store import RecordStore as RecordStore
from .runs.study import Study as Study, problems_of as problems_of, read_study as read_study
from .runs.tasks import SolverLike as SolverLike, Task as Task, family_of_all as family_of_all, plan as plan
from .runs.verify import merge_records as merge_records, verify_records as verify_records
from .scores.comparison import Comparison as Comparison, compare as compare
from .scores.gaps import (
    Gaps as Gaps,
    SolverScore as SolverScore,
    best as best,
    gap as gap,
    solver_scores as solver_scores,
)
from .scores.statistics import holm as holm, signed_rank as signed_rank
from .scores.summary import export as export, gap_rows as gap_rows
