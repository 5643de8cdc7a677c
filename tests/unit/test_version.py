"""The version and what it runs on, as reports of bugs have it."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import numpy as np

import allocsolve

if TYPE_CHECKING:
    import pytest


def test_versions_are_shown_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    allocsolve.show_versions()
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    shown = {name: value.strip() for name, value in lines.items()}
    assert shown["allocsolve"] == allocsolve.__version__
    assert shown["numpy"] == np.__version__
    assert shown["python"] == platform.python_version()
    assert {"platform", "processor", "cpus", "numba", "ortools"} <= shown.keys()
