from .claims import claims as claims
from .logs import FULL as FULL, LOGS as LOGS, Log as Log, paper_logs as paper_logs
from .reproduction import (
    METRICS as METRICS,
    TABLE_3 as TABLE_3,
    BoundRow as BoundRow,
    Cell as Cell,
    Contrast as Contrast,
    Figures as Figures,
    Printed as Printed,
    Reproduction as Reproduction,
    Run as Run,
    examine as examine,
)
from .runs import (
    ALGORITHMS as ALGORITHMS,
    BOUND_SHARES as BOUND_SHARES,
    RIGID as RIGID,
    RULES as RULES,
    SEEDS as SEEDS,
    SHARES as SHARES,
    Label as Label,
    Variant as Variant,
    planned_runs as planned_runs,
    variants as variants,
)
