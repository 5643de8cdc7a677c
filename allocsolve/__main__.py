"""``python -m allocsolve``."""

from __future__ import annotations

from allocsolve.cli import entry

if __name__ == "__main__":
    entry()
