"""Reports of studies: an HTML page, Markdown, figures; and pictures of problems with their answers."""

from __future__ import annotations

from allocsolve.report.exhibits import log_page
from allocsolve.report.figures import figures
from allocsolve.report.markdown import markdown
from allocsolve.report.page import html
from allocsolve.report.study import Findings, Section, StudyRecords, examine

__all__ = [
    "Findings",
    "Section",
    "StudyRecords",
    "examine",
    "figures",
    "html",
    "log_page",
    "markdown",
]
