"""Hypothesis profiles and fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# No deadline in either: the first call of a jitted kernel compiles it.
settings.register_profile("dev", max_examples=60, deadline=None)
settings.register_profile("ci", max_examples=250, deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("ALLOCSOLVE_HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real workload logs, which may not be bundled with the repository."""
    named = os.environ.get("ALLOCSOLVE_TRACES")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip(f"no real logs: ALLOCSOLVE_TRACES={named or ''} does not name a folder")
    return folder


@pytest.fixture
def press_ctrl_c() -> Iterator[Callable[[], None]]:
    """Return a function that has Ctrl-C pressed after 1.5 s more of work, in CPU time, not waiting for it.

    SIGINT is handled as in a terminal, also if it was ignored: so it is in a shell's background jobs. While
    memory is collected nothing else may be called: what is raised in a callback of that is lost.
    """
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    over = threading.Event()
    threads = []

    def wait(until: float) -> None:
        while time.process_time() < until:
            if over.wait(0.01):
                return
        signal.raise_signal(signal.SIGINT)

    def press() -> None:
        threads.append(threading.Thread(target=wait, args=(time.process_time() + 1.5,)))
        threads[-1].start()

    yield press
    over.set()
    for thread in threads:
        thread.join()
    gc.callbacks[:] = callbacks
    signal.signal(signal.SIGINT, handler)
