"""How problems and answers are written: the envelope, one codec per family, logs.

Authors of codecs take `Checker` from here, and `Rows` for tables.
"""

from __future__ import annotations

from allocsolve.instances.formats.checker import Checker, Document, show
from allocsolve.instances.formats.tables import Rows

__all__ = ["Checker", "Document", "Rows", "show"]
