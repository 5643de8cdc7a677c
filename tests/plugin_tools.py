"""Modules and distributions of third parties, made for one test."""

from __future__ import annotations

import importlib
import sys
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING

from allocsolve import registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    import pytest

__all__ = ["GREEDY", "Site", "site"]

#: The usual head of such a module; `greedy` answers evolution problems.
GREEDY = """
from __future__ import annotations
from dataclasses import dataclass, field
from allocsolve import Budget, EvolutionProblem, PartitionProblem, Result, Status
from allocsolve.heuristics import Growth, ListScheduling

def greedy(problem: EvolutionProblem, budget: Budget) -> Result:
    "Place the longest first.\\n\\nMore."
    return ListScheduling(order="longest")(problem, budget)
"""


class Site:
    """A folder of importable modules and installed distributions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def module(self, name: str, source: str = "", *, head: str = GREEDY) -> None:
        """Write a module, after `head`."""
        path = self.folder / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + textwrap.dedent(source))
        importlib.invalidate_caches()

    def distribution(self, name: str, **solvers: str) -> None:
        """Install a distribution, version 1.5, with these entry points (``_`` in names is ``-``)."""
        info = self.folder / f"{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        lines = (f"{solver.replace('_', '-')} = {value}\n" for solver, value in solvers.items())
        (info / "entry_points.txt").write_text("[allocsolve.solvers]\n" + "".join(lines))
        registry.plugins.cache_clear()
        importlib.invalidate_caches()


@contextmanager
def site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Put a folder in front of the path of modules, and forget what was imported from it afterwards."""
    before = set(sys.modules)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "path", [str(folder), *sys.path])
        registry.plugins.cache_clear()
        yield Site(folder)
    registry.plugins.cache_clear()
    new = {name: sys.modules[name] for name in set(sys.modules) - before}
    # All are looked at before one is forgotten: the path of a namespace asks its parent.
    ours = [name for name, module in new.items() if _is_below(folder, module)]
    for name in ours:
        del sys.modules[name]


def _is_below(folder: Path, module: ModuleType) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", [])]
    return any(str(place).startswith(str(folder)) for place in places)
