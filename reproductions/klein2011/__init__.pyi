from .expansion import (
    ExpansionGain as ExpansionGain,
    ExpansionInstance as ExpansionInstance,
    ExpansionStudy as ExpansionStudy,
    HeuristicRow as HeuristicRow,
    examine_expansion as examine_expansion,
)
from .expansion_runs import (
    HEURISTIC_SECONDS as HEURISTIC_SECONDS,
    ExpansionDraw as ExpansionDraw,
    Heuristic as Heuristic,
    expansion_draws as expansion_draws,
    expansion_tasks as expansion_tasks,
)
from .picture import expansion_picture as expansion_picture
from .reproduction import Reproduction as Reproduction, reproduce as reproduce
from .tables import COLUMNS as COLUMNS, EPSILON as EPSILON, PAPER as PAPER, Column as Column, Spread as Spread
