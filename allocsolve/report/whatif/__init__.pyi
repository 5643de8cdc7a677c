from .findings import (
    RECORDED as RECORDED,
    Variant as Variant,
    WhatIf as WhatIf,
    means_by as means_by,
    variants as variants,
    what_if as what_if,
)
from .page import whatif_page as whatif_page
from .sentences import cautions as cautions, headlines as headlines, subject as subject
from .tables import cases_table as cases_table, elastic_table as elastic_table
from .words import plain as plain
