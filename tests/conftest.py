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
from cli_tools import in_this_process
from plugin_tools import Site, site
from wheel_tools import build_wheel, install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

pytest_plugins = ["tiers"]


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real workload logs, which may not be bundled with the repository."""
    named = os.environ.get("ALLOCSOLVE_TRACES")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip(f"no real logs: ALLOCSOLVE_TRACES={named or ''} does not name a folder")
    return folder


@pytest.fixture
def case(traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """From the name of an input of users to its place; commands write into a folder of their own."""
    cases = traces.parent / "cases"
    if not cases.is_dir():
        pytest.skip(f"no inputs of users: {cases} is no folder")
    monkeypatch.chdir(tmp_path)

    def place(name: str) -> Path:
        assert (cases / name).exists(), f"no {name} among the inputs of users in {cases}"
        return cases / name

    return place


@pytest.fixture
def third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The folder in which third parties have their code, and in which commands are given."""
    monkeypatch.chdir(tmp_path)
    with site(tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a shell in which the wheel is installed, and nothing of the source can be found."""
    return install(wheel, tmp_path_factory.mktemp("installed"))


@pytest.fixture
def in_process() -> Iterator[None]:
    """Have the commands of a test run solvers in this process."""
    with in_this_process():
        yield


@pytest.fixture
def press_ctrl_c() -> Iterator[Callable[[], None]]:
    """Return a function that has Ctrl-C pressed after 1.5 s more of work, in CPU time, not waiting for it.

    SIGINT is handled as in a terminal, also if it was ignored: so it is in a shell's background jobs. While
    memory is collected nothing else may be called: what is raised in a callback of that, or of a weak
    reference, is lost. While coverage is measured it would leave a lock that nobody ever opens: it waits.
    """
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    over = threading.Event()
    threads: list[threading.Thread] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        place = "" if frame is None else frame.f_code.co_filename
        if not (f"{os.sep}coverage{os.sep}" in place or place.endswith("_weakrefset.py")):
            signal.default_int_handler(number, frame)
        threads.append(threading.Timer(0.01, signal.raise_signal, [number]))
        threads[-1].start()

    handler = signal.signal(signal.SIGINT, interrupt)

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
