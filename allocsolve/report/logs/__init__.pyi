from .call import Inquiry as Inquiry, WhatIfAnswer as WhatIfAnswer, inquire as inquire
from .findings import (
    RECORDED as RECORDED,
    Outlook as Outlook,
    Variant as Variant,
    WhatIf as WhatIf,
    means_by as means_by,
    variants as variants,
    what_if as what_if,
)
from .network import (
    Network as Network,
    Replay as Replay,
    network_of as network_of,
    network_table as network_table,
)
from .outlooks import (
    orders_table as orders_table,
    outlook_notes as outlook_notes,
    outlook_sentences as outlook_sentences,
    outlooks_table as outlooks_table,
    split_means as split_means,
    split_tables as split_tables,
)
from .page import (
    cases_table as cases_table,
    cautions as cautions,
    elastic_table as elastic_table,
    headlines as headlines,
    subject as subject,
    whatif_page as whatif_page,
)
from .prometheus import is_prometheus_text as is_prometheus_text, prometheus_text as prometheus_text
from .questions import (
    LIMIT_SOURCES as LIMIT_SOURCES,
    SPLITS as SPLITS,
    Classes as Classes,
    Question as Question,
    classes_of as classes_of,
    questions as questions,
)
from .slurm_conf import SlurmSettings as SlurmSettings, read_slurm_conf as read_slurm_conf
from .words import plain as plain
