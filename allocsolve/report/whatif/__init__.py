"""What-if pages: of the log of a machine, for those who run it."""

from __future__ import annotations

from allocsolve.report.whatif.findings import RECORDED, Variant, WhatIf, means_by, variants, what_if
from allocsolve.report.whatif.page import whatif_page
from allocsolve.report.whatif.sentences import cautions, headlines, subject
from allocsolve.report.whatif.tables import cases_table, elastic_table
from allocsolve.report.whatif.words import plain

__all__ = [
    "RECORDED",
    "Variant",
    "WhatIf",
    "cases_table",
    "cautions",
    "elastic_table",
    "headlines",
    "means_by",
    "plain",
    "subject",
    "variants",
    "what_if",
    "whatif_page",
]
