"""Reports of studies: an HTML page, Markdown, figures; and pictures of problems with their answers."""

from __future__ import annotations

from allocsolve.report.expansion import expansion_picture
from allocsolve.report.figures import figures
from allocsolve.report.markdown import markdown
from allocsolve.report.page import html
from allocsolve.report.pictures import describe, plot, undrawable, units
from allocsolve.report.study import Findings, Section, StudyRecords, examine
from allocsolve.report.svg import Drawing

__all__ = [
    "Drawing",
    "Findings",
    "Section",
    "StudyRecords",
    "describe",
    "examine",
    "expansion_picture",
    "figures",
    "html",
    "markdown",
    "plot",
    "undrawable",
    "units",
]
