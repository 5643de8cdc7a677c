from .contract import (
    Alias as Alias,
    AnyFamily as AnyFamily,
    AnySolver as AnySolver,
    Breach as Breach,
    CertificateKind as CertificateKind,
    Claims as Claims,
    Codec as Codec,
    Family as Family,
    Feature as Feature,
    Fields as Fields,
    FileKind as FileKind,
    ProofText as ProofText,
    Rules as Rules,
    Setting as Setting,
    SolverRow as SolverRow,
    TableFormat as TableFormat,
    Term as Term,
    imported as imported,
    relative_gap as relative_gap,
    value_of as value_of,
)
from .quick import quick_answers as quick_answers
from .settings import setting_fault as setting_fault, with_settings as with_settings
from .table import (
    families as families,
    family_named as family_named,
    family_of as family_of,
    unusable_families as unusable_families,
)
from .view import (
    Exhibit as Exhibit,
    Export as Export,
    GanttRow as GanttRow,
    Line as Line,
    Picture as Picture,
    Timeline as Timeline,
    View as View,
)
