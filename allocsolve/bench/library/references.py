"""What is stated of the instances of a study: by the library, and by the folders of users."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from allocsolve.bench.library.design import SUITES, folder_problems
from allocsolve.bench.scores.catalogue import LIBRARY, Catalogue, Reference
from allocsolve.errors import FormatError
from allocsolve.families import family_of
from allocsolve.instances import BEST_KNOWN, digest, read_statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from allocsolve.bench.runs.records import Record


def with_library(catalogue: Catalogue) -> Catalogue:
    """Return a catalogue with what the library states, too, of the instances in suites of the library.

    The library is read each time, and its statements are kept in no study: what it has learned since the
    records were made counts.
    """
    references = dict(catalogue.references)
    for name in dict.fromkeys(name for names in catalogue.suites.values() for name in names):
        for row in SUITES[name].best_known() if name in SUITES else ():
            if row.digest in catalogue.suites:  # a study may have changed the problems of a suite
                stated = Reference(row.lower, row.upper, LIBRARY)
                place = row.digest, row.objective
                references[place] = references[place].merged(stated) if place in references else stated
    return replace(catalogue, references=references)


def library_statements(records: Iterable[Record]) -> Catalogue:
    """Return a catalogue of what the library states of the instances in the suites that records name."""
    suites: dict[str, dict[str, None]] = {}
    for row in records:
        suites.setdefault(row.digest, {})[row.suite] = None
    named = Catalogue({identity: tuple(names) for identity, names in suites.items()})
    return replace(with_library(named), suites={})


def folder_references(folder: Path) -> Mapping[tuple[str, str], Reference]:
    """Return what a folder states of its problems, by digest and objective; nothing if it is no suite.

    Raises `FormatError` if ``best_known.json`` is faulty, or states something of what is no problem of the
    folder, of a problem that it was not written for, or of what is no objective of its family.
    """
    path = folder / BEST_KNOWN
    if not path.is_file():
        return {}
    problems = {file.stem: (suite, problem) for suite, file, problem in folder_problems(folder)}
    references: dict[tuple[str, str], Reference] = {}
    faults = []
    for statement in read_statements(path):
        if statement.instance not in problems:
            faults.append(f"{statement.instance}: there is no file {statement.instance}.json")
            continue
        suite, problem = problems[statement.instance]
        identity, objectives = digest(problem), family_of(problem).term_names
        if statement.digest not in ("", identity):
            faults.append(
                f"{statement.instance} is another problem, {identity[:12]}, not {statement.digest[:12]}"
            )
        elif statement.objective not in objectives:
            faults.append(
                f"{statement.instance}: {statement.objective} is not one of {', '.join(objectives)}"
            )
        else:
            references[identity, statement.objective] = Reference(statement.lower, statement.upper, suite)
    if faults:
        raise FormatError(str(path), faults)
    return references
