from .picture import reproduction_picture as reproduction_picture
from .reproduction import (
    FIGURES as FIGURES,
    PRINTED as PRINTED,
    BoundRow as BoundRow,
    PolicyRow as PolicyRow,
    Reproduction as Reproduction,
    Spread as Spread,
    examine as examine,
)
from .runs import (
    BOUND as BOUND,
    COMPARED as COMPARED,
    POLICIES as POLICIES,
    REFERENCES as REFERENCES,
    SEEDS as SEEDS,
    SHARES as SHARES,
    PlannedRun as PlannedRun,
    Run as Run,
    Variant as Variant,
    planned_runs as planned_runs,
    variants as variants,
)
from .sentences import Sentence as Sentence, Verdict as Verdict, sentences as sentences
from .trace import NUM_NODES as NUM_NODES, SOURCE as SOURCE, cori_knl as cori_knl, trace_files as trace_files
