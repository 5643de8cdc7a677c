"""Folders of problems: suites of their own if they say what is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.bench.library.suites import SUITES
from allocsolve.bench.scores.catalogue import Reference
from allocsolve.errors import FormatError
from allocsolve.families import family_of
from allocsolve.instances import BEST_KNOWN, digest, read_problem, read_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from allocsolve.model import Problem

__all__ = ["folder_problems", "folder_references"]


def folder_problems(folder: Path) -> Iterator[tuple[str, Path, Problem]]:
    """Yield the name of the suite, empty if the folder is none, the file and the problem of each problem.

    A folder is a suite, called like the folder, if there is a ``best_known.json`` in it.

    Raises
    ------
    FormatError
        If a file is no problem, there is none, or the suite is called like one of the package.
    """
    files = sorted(path for path in folder.glob("*.json") if path.name != BEST_KNOWN)
    if not files:
        raise FormatError(str(folder), ["there is no .json file in this directory"])
    suite = folder.resolve().name if (folder / BEST_KNOWN).is_file() else ""
    if suite in SUITES:
        raise FormatError(str(folder), [f"a suite of the package is called {suite}: rename the folder"])
    for file in files:
        yield suite, file, read_problem(file)


def folder_references(folder: Path) -> Mapping[tuple[str, str], Reference]:
    """Return what a folder states of its problems, by digest and objective; nothing if it is no suite.

    Raises
    ------
    FormatError
        If ``best_known.json`` is faulty, or states something of what is no problem of the folder, of a
        problem that it was not written for, or of what is no objective of its family.
    """
    path = folder / BEST_KNOWN
    if not path.is_file():
        return {}
    problems = {file.stem: (suite, problem) for suite, file, problem in folder_problems(folder)}
    references: dict[tuple[str, str], Reference] = {}
    faults = []
    for one in read_statements(path):
        if one.instance not in problems:
            faults.append(f"{one.instance}: there is no file {one.instance}.json")
            continue
        suite, problem = problems[one.instance]
        identity, objectives = digest(problem), family_of(problem).objectives
        if one.digest not in ("", identity):
            faults.append(f"{one.instance} is another problem, {identity[:12]}, not {one.digest[:12]}")
        elif one.objective not in objectives:
            faults.append(f"{one.instance}: {one.objective} is not one of {', '.join(objectives)}")
        else:
            references[identity, one.objective] = Reference(one.lower, one.upper, suite)
    if faults:
        raise FormatError(str(path), faults)
    return references
