"""The command line; each command imports what it needs when it runs."""

from __future__ import annotations

from allocsolve.cli.main import entry, main

__all__ = ["entry", "main"]
