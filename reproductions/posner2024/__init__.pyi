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
from .reproduction import (
    FIGURES as FIGURES,
    PRINTED as PRINTED,
    BoundRow as BoundRow,
    Reproduction as Reproduction,
    Row as Row,
    Run as Run,
    examine as examine,
)
from .runs import (
    COMPARED as COMPARED,
    EASY as EASY,
    EVOLV as EVOLV,
    READINGS as READINGS,
    SCHEDULERS as SCHEDULERS,
    Cell as Cell,
    Reading as Reading,
    planned_runs as planned_runs,
)
