"""Python in processes of their own, which import what this one can."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def environment(**variables: str) -> dict[str, str]:
    """Return the variables of such a process."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}


def python(*argv: object, cwd: Path | None = None, status: int = 0, **variables: str) -> tuple[str, str]:
    """Run Python to the end, which has to have this exit status; return what it prints and what it says."""
    command = [sys.executable, *map(str, argv)]
    done = subprocess.run(
        command, cwd=cwd, env=environment(**variables), capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr
