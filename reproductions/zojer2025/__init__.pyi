from .claims import sentences as sentences
from .command import reproduction_picture as reproduction_picture
from .reproduction import (
    FIGURES as FIGURES,
    PRINTED as PRINTED,
    BoundRow as BoundRow,
    PolicyRow as PolicyRow,
    Reproduction as Reproduction,
    Run as Run,
    Spread as Spread,
    examine as examine,
)
from .runs import (
    COMPARED as COMPARED,
    POLICIES as POLICIES,
    REFERENCES as REFERENCES,
    SEEDS as SEEDS,
    SHARES as SHARES,
    Variant as Variant,
    planned_runs as planned_runs,
    variants as variants,
)
from .trace import NUM_NODES as NUM_NODES, SOURCE as SOURCE, cori_knl as cori_knl, trace_files as trace_files
