"""How problems and answers are written: the envelope, one codec per family, logs.

Authors of codecs take `Checker` from here.
"""

from __future__ import annotations

from allocsolve.instances.formats.checker import Checker, Document, show

__all__ = ["Checker", "Document", "show"]
