"""Comparing what a page shows with what a command prints."""

from __future__ import annotations

import doctest
import re

#: Run times and days, which are never the same.
TIME = re.compile(r"\b(\d+ (us|ms)|\d+\.\d s|\d{4}-\d\d-\d\d( to \d{4}-\d\d-\d\d)?)\b")


def matches(shown: str, printed: str) -> bool:
    """Compare; a line "..." stands for any lines; times, days and the widths of columns do not count."""
    want, got = (re.sub("─+", "─", TIME.sub("TIME", text)) for text in (shown, printed))
    return doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
