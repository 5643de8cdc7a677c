"""``python -m allocsolve`` and the command ``allocsolve``."""

from __future__ import annotations

import sys

from allocsolve.errors import SolverUnavailable, require_packages

__all__ = ["entry"]


def entry() -> None:
    """Run the command line, or say in one line what a light installation lacks for it."""
    try:
        require_packages("the command line", ("psutil", "rich"))
    except SolverUnavailable as error:
        sys.exit(f"allocsolve: error: {error}")
    from allocsolve.cli import entry as run  # noqa: PLC0415 - what it imports may be missing

    run()


if __name__ == "__main__":
    entry()
