"""Processes into which code of others is loaded: started, looked at, and killed with all their children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["exit_reason", "family_of_processes", "held_mb", "kill", "start"]


def start(function: str, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process that calls a function, with pipes to it.

    Parameters
    ----------
    function
        Such as ``package.module:function``.
    stderr
        Where it writes what it has to complain of.
    """
    module, _, name = function.partition(":")
    return subprocess.Popen(  # noqa: S603 - this interpreter, and a function of this package
        [sys.executable, "-c", f"from {module} import {name}; {name}()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        start_new_session=True,  # Ctrl-C is for the runner: it knows what is to be kept
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started, as far as that can be known."""
    import psutil  # noqa: PLC0415 - loaded only in processes that start others

    if process.poll() is None:
        for pid in family_of_processes(process.pid):
            with contextlib.suppress(psutil.Error):
                psutil.Process(pid).kill()
    with contextlib.suppress(OSError):  # those whose parents have died are in its group
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def exit_reason(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> str:
    """Say how a process ended, with the last line that it wrote to stderr."""
    code = process.poll()
    cause = "it closed its end" if code is None else f"exit status {code}"
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            cause = signal.Signals(-code).name
    tail = _stderr_tail(stderr)
    return f"{cause}; {tail}" if tail else cause


def _stderr_tail(stderr: IO[bytes]) -> str:
    """Return the last line that a process has written to stderr, at most 200 characters of it."""
    stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - 2000))
    lines = [line for line in stderr.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


def family_of_processes(pid: int) -> Iterable[int]:
    """Return a process and all that it has started, by id."""
    import psutil  # noqa: PLC0415 - loaded only in processes that start others

    family = [pid]
    with contextlib.suppress(psutil.Error):
        family += [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return family


def held_mb(pid: int) -> float:
    """Return the memory of a process and of those that it has started, in MB."""
    import psutil  # noqa: PLC0415 - loaded only in processes that start others

    held = 0
    for one in family_of_processes(pid):
        with contextlib.suppress(psutil.Error):
            held += psutil.Process(one).memory_info().rss
    return held / 1e6
