from .figures import Figures as Figures, MissingRunsError as MissingRunsError
from .measures import PRINTED_COUNTS as PRINTED_COUNTS
from .picture import reproduction_picture as reproduction_picture
from .reproduction import (
    BoundRow as BoundRow,
    Reproduction as Reproduction,
    Run as Run,
    Spread as Spread,
    examine as examine,
    joined as joined,
    spread as spread,
)
from .runs import (
    ADMISSIONS as ADMISSIONS,
    BOUND as BOUND,
    COUNT as COUNT,
    FREE_LEAK as FREE_LEAK,
    LEAK as LEAK,
    LOADS as LOADS,
    NUM_JOBS as NUM_JOBS,
    PROGRAMS as PROGRAMS,
    READING_SEEDS as READING_SEEDS,
    READINGS as READINGS,
    SEEDS as SEEDS,
    STRATEGIES as STRATEGIES,
    SYNCHRONOUS as SYNCHRONOUS,
    TERMS as TERMS,
    FigureStore as FigureStore,
    PlannedRun as PlannedRun,
    Reading as Reading,
    planned_runs as planned_runs,
)
from .sentences import Sentence as Sentence, Verdict as Verdict, sentences as sentences
