"""Readiness: after it, no registered solver compiles or loads anything, on problems of whatever sort."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allocsolve.families import families
from allocsolve.registry import solver_names

TOOL = Path(__file__).resolve().parents[1] / "readiness.py"


@functools.cache
def _unready(kind: str) -> dict[str, list[str]]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    output = subprocess.run([sys.executable, TOOL, kind], env=environment, check=True, stdout=subprocess.PIPE)
    unready: dict[str, list[str]] = json.loads(output.stdout)
    return unready


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "solver"), [(family.kind, name) for family in families() for name in solver_names(family)]
)
def test_a_solver_is_ready(kind: str, solver: str) -> None:
    assert _unready(kind)[solver] == []
