from .claims import sentences as sentences
from .command import reproduction_picture as reproduction_picture
from .experiment import (
    COMPARED as COMPARED,
    FIGURES as FIGURES,
    POLICIES as POLICIES,
    PRINTED as PRINTED,
    REFERENCES as REFERENCES,
    SEEDS as SEEDS,
    SHARES as SHARES,
    BoundRow as BoundRow,
    PolicyRow as PolicyRow,
    Reproduction as Reproduction,
    Run as Run,
    Spread as Spread,
    Variant as Variant,
    examine as examine,
    planned_runs as planned_runs,
    variants as variants,
)
from .trace import NUM_NODES as NUM_NODES, SOURCE as SOURCE, cori_knl as cori_knl, trace_files as trace_files
