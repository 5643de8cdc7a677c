from .batches import (
    FIRST_SEED as FIRST_SEED,
    NUM_BATCHES as NUM_BATCHES,
    SHARES as SHARES,
    Batch as Batch,
    drawn_batches as drawn_batches,
    read_batches as read_batches,
)
from .claims import sentences as sentences
from .command import reproduction_picture as reproduction_picture
from .experiment import (
    COMPARED as COMPARED,
    EASY as EASY,
    EVOLV as EVOLV,
    FIGURES as FIGURES,
    PRINTED as PRINTED,
    READINGS as READINGS,
    SCHEDULERS as SCHEDULERS,
    SEARCH as SEARCH,
    BoundRow as BoundRow,
    Cell as Cell,
    Reading as Reading,
    Reproduction as Reproduction,
    Row as Row,
    Run as Run,
    examine as examine,
    planned_runs as planned_runs,
)
