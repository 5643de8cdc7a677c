"""The version of the installed distribution, and what it runs on."""

from __future__ import annotations

import functools
import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__", "machine", "show_versions"]

__version__ = version("allocsolve")


@functools.cache
def machine() -> dict[str, str | int | None]:
    """Return platform, processors and the versions of what solvers are built on."""
    facts: dict[str, str | int | None] = {
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
    for package in ("numpy", "scipy", "numba", "ortools", "pulp"):
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    return facts


def show_versions() -> None:
    """Print the version, what it is built on and the machine: what a report of a bug needs.

    One line `name: value` each; a package that is not installed is left out.
    """
    facts = {"allocsolve": __version__, **machine()}
    print("\n".join(f"{name + ':':<11} {value}" for name, value in facts.items()))  # noqa: T201 - it is for reading


def _processor() -> str:
    """Return the model of the processor as Linux names it; elsewhere what `platform` tells."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - read line by line until the model is named
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
