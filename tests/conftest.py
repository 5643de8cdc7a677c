"""Hypothesis profiles and fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline in either: the first call of a jitted kernel compiles it.
settings.register_profile("dev", max_examples=60, deadline=None)
settings.register_profile("ci", max_examples=500, deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("ALLOCSOLVE_HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real workload logs, which may not be bundled with the repository."""
    named = os.environ.get("ALLOCSOLVE_TRACES")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip(f"no real logs: ALLOCSOLVE_TRACES={named or ''} does not name a folder")
    return folder
