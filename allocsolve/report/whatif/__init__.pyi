from .findings import (
    RECORDED as RECORDED,
    Variant as Variant,
    WhatIf as WhatIf,
    means_by as means_by,
    variants as variants,
    what_if as what_if,
)
from .page import (
    cases_table as cases_table,
    cautions as cautions,
    elastic_table as elastic_table,
    headlines as headlines,
    subject as subject,
    whatif_page as whatif_page,
)
from .words import plain as plain
