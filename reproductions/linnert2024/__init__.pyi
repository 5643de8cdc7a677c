from .claims import CLAIMS as CLAIMS, sentences as sentences
from .picture import reproduction_picture as reproduction_picture
from .reproduction import (
    BoundRow as BoundRow,
    Figures as Figures,
    Reproduction as Reproduction,
    Run as Run,
    Spread as Spread,
    examine as examine,
    spread as spread,
)
from .runs import (
    ADMISSIONS as ADMISSIONS,
    COUNT as COUNT,
    FREE_LEAK as FREE_LEAK,
    LEAK as LEAK,
    LOADS as LOADS,
    NUM_JOBS as NUM_JOBS,
    PRINTED_COUNTS as PRINTED_COUNTS,
    PROGRAMS as PROGRAMS,
    READING_SEEDS as READING_SEEDS,
    READINGS as READINGS,
    SEEDS as SEEDS,
    STRATEGIES as STRATEGIES,
    SYNCHRONOUS as SYNCHRONOUS,
    TERMS as TERMS,
    Label as Label,
    Reading as Reading,
    planned_runs as planned_runs,
)
