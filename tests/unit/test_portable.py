"""Each module can be imported where there is nothing of POSIX, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CODE = """
import importlib, os, pkgutil, select, signal, sys
import distributed, gymnasium, numba, ortools.sat.python.cp_model, psutil, pulp
import rich.console, scipy.optimize, yaml
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for module, names in (
    (os, ("fork", "getuid", "killpg", "mkfifo", "sched_getaffinity", "setsid", "wait4")),
    (select, ("poll", "epoll", "POLLIN", "POLLOUT")),
    (signal, ("SIGALRM", "SIGHUP", "SIGKILL", "SIGSTOP", "SIGUSR1", "setitimer")),
):
    for name in names:
        delattr(module, name)
import allocsolve
for found in pkgutil.walk_packages(allocsolve.__path__, "allocsolve."):
    if found.name.rpartition(".")[2] == "__main__":
        continue
    try:
        importlib.import_module(found.name)
    except Exception as error:
        print(f"{found.name}: {type(error).__name__}: {error}")
try:
    allocsolve.bench.PolicyEvaluator(["."])
except allocsolve.errors.SolverUnavailable as error:
    assert "forked" in str(error)
else:
    print("policies are evaluated without a fork")
"""


def test_modules_import_nothing_of_posix(tmp_path: Path) -> None:
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, env=where, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ""
