"""Modules and distributions of third parties, made for one test."""

from __future__ import annotations

import importlib
import sys
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING

from allocsolve import registry
from allocsolve.families import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    import pytest

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
        """Install a distribution, version 1.5, with these solvers (``_`` in names is ``-``)."""
        self.entry_points(name, "allocsolve.solvers", **solvers)

    def entry_points(self, name: str, group: str, **objects: str) -> None:
        """Install a distribution, version 1.5, with entry points of a group (``_`` in names is ``-``)."""
        info = self.folder / f"{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        lines = (f"{key.replace('_', '-')} = {value}\n" for key, value in objects.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(lines))
        _forget()
        importlib.invalidate_caches()


@contextmanager
def site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Put a folder in front of the path of modules, and forget what was imported from it afterwards."""
    before = set(sys.modules)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "path", [str(folder), *sys.path])
        _forget()
        yield Site(folder)
    _forget()
    new = {name: sys.modules[name] for name in set(sys.modules) - before}
    # All are looked at before one is forgotten: the path of a namespace asks its parent.
    ours = [name for name, module in new.items() if _is_below(folder, module)]
    for name in ours:
        del sys.modules[name]


def _forget() -> None:
    """Have entry points looked up anew."""
    registry.plugins.cache_clear()
    table._loaded.cache_clear()


def _is_below(folder: Path, module: ModuleType) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", [])]
    return any(str(place).startswith(str(folder)) for place in places)
