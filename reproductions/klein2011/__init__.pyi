from .expansion import (
    HEURISTIC_SECONDS as HEURISTIC_SECONDS,
    ExpansionDraw as ExpansionDraw,
    ExpansionGain as ExpansionGain,
    ExpansionInstance as ExpansionInstance,
    ExpansionStudy as ExpansionStudy,
    Heuristic as Heuristic,
    HeuristicRow as HeuristicRow,
    examine_expansion as examine_expansion,
    expansion_draws as expansion_draws,
    expansion_tasks as expansion_tasks,
    heuristics as heuristics,
)
from .picture import expansion_picture as expansion_picture
from .reproduction import (
    ALGORITHMS as ALGORITHMS,
    COLUMNS as COLUMNS,
    EPSILON as EPSILON,
    PAPER as PAPER,
    Column as Column,
    Reproduction as Reproduction,
    Spread as Spread,
    reproduce as reproduce,
)
