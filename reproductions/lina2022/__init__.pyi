from .claims import Claim as Claim, Verdict as Verdict, claims as claims
from .figures import Contrast as Contrast, Figures as Figures, MissingRunsError as MissingRunsError
from .logs import FULL as FULL, LOGS as LOGS, Log as Log, paper_logs as paper_logs
from .printed import TABLE_3 as TABLE_3, Printed as Printed
from .reproduction import (
    METRICS as METRICS,
    BoundRow as BoundRow,
    Cell as Cell,
    Reproduction as Reproduction,
    Run as Run,
    examine as examine,
    joined as joined,
)
from .runs import (
    ALGORITHMS as ALGORITHMS,
    BOUND as BOUND,
    BOUND_SHARES as BOUND_SHARES,
    RIGID as RIGID,
    RULES as RULES,
    SEEDS as SEEDS,
    SHARES as SHARES,
    FigureStore as FigureStore,
    PlannedRun as PlannedRun,
    Variant as Variant,
    planned_runs as planned_runs,
    variants as variants,
)
