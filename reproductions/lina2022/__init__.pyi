from .claims import claims as claims
from .experiment import (
    ALGORITHMS as ALGORITHMS,
    BOUND_SHARES as BOUND_SHARES,
    METRICS as METRICS,
    RIGID as RIGID,
    RULES as RULES,
    SEEDS as SEEDS,
    SHARES as SHARES,
    TABLE_3 as TABLE_3,
    BoundRow as BoundRow,
    Cell as Cell,
    Contrast as Contrast,
    Figures as Figures,
    Label as Label,
    Printed as Printed,
    Reproduction as Reproduction,
    Run as Run,
    Variant as Variant,
    examine as examine,
    planned_runs as planned_runs,
    variants as variants,
)
from .logs import FULL as FULL, LOGS as LOGS, Log as Log, paper_logs as paper_logs
