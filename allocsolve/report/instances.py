"""What a report embeds of single instances: pictures of the answers, and exhibits, read in one pass.

Problems and answers of a study may be large, and are decoded each time when they are asked for. So each
instance of a section is read once, for all that is shown of it.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.bench.runs.given import is_given
from allocsolve.bench.runs.records import objective_terms
from allocsolve.families import family_of
from allocsolve.model import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench import Comparison, Record
    from allocsolve.bench.scores.comparison import InstanceResult
    from allocsolve.bench.scores.gaps import Best
    from allocsolve.families import Exhibit
    from allocsolve.model import Answer, Problem
    from allocsolve.report.study import Findings, Section, StudyRecords

#: Of all exhibits of a page: of instances beyond it none are made.
EXHIBIT_BYTES: Final = 6_000_000

#: Certificates may be large: only those of the tightest bounds are read.
_CERTIFICATES: Final = 3


class InstanceExhibits(NamedTuple):
    """What there is to see of one instance; nothing but a remark where the page would be too large."""

    name: str
    about: str
    exhibits: tuple[Exhibit, ...]


class ShownInstances(NamedTuple):
    """What a report embeds of the instances of a study."""

    #: The index of all instances, then the blocks of their pictures: gzip'ed JSON in base64.
    blocks: list[str]
    #: Of all instances whose families have any.
    exhibits: list[InstanceExhibits]


def shown_instances(findings: Findings, study: StudyRecords) -> ShownInstances:
    """Return the pictures and the exhibits of all instances of a study.

    Of each solver the answer of its best run is shown. Exhibits show them in the order of their values under
    the objective of the first section that has the instance. Each section reads the problem of an instance
    once, and each answer that it shows once. Pictures beyond `PICTURE_BYTES` are left out, last sections
    first; likewise exhibits beyond `EXHIBIT_BYTES`.
    """
    index, exhibits = _Index(), _Exhibits(findings, study)
    for section in findings.sections:
        index.begin(section)
        for digest, best in section.comparison.best_by_digest.items():
            instance = _Instance(section.comparison, digest, best, study)
            index.add(instance)
            exhibits.add(instance)
    return ShownInstances(index.packed(), list(exhibits.collected.values()))


class _Instance:
    """One instance in one section; what is stored of it is read when it is asked for, and once."""

    def __init__(self, comparison: Comparison, digest: str, best: Best, study: StudyRecords) -> None:
        self.comparison = comparison
        self.digest = digest
        self.best = best
        self._study = study

    @cached_property
    def problem(self) -> Problem | None:
        """The problem; None if the records lack it."""
        try:
            return self._study.problem(self.digest)
        except KeyError:
            return None

    @cached_property
    def cells(self) -> dict[str, InstanceResult]:
        """The runs of each entrant that has any."""
        cells = self.comparison.cells.items()
        return {entrant: row[self.digest] for entrant, row in cells if self.digest in row}

    @cached_property
    def answers(self) -> dict[str, tuple[Record, Answer]]:
        """The best run of each entrant and its answer, if it has one."""
        answers: dict[str, tuple[Record, Answer]] = {}
        for entrant, cell in self.cells.items():
            run = cell.best_run
            answer = None if run is None or run.value is None else self._study.answer(run.key)
            if run is not None and answer is not None:
                answers[entrant] = run, answer
        return answers


#: Of all pictures together, compressed; base64 makes a third more of it.
PICTURE_BYTES: Final = 12_000_000

#: A block is unpacked when one of its pictures is asked for.
_BLOCK: Final = 1_000_000


class _Blocks:
    """Collects pictures in blocks of about a megabyte of JSON."""

    def __init__(self) -> None:
        self.packed: list[str] = []
        self._open: list[str] = []
        self._open_size = self._packed_size = 0

    @property
    def full(self) -> bool:
        return self._packed_size >= PICTURE_BYTES

    def add(self, picture: object) -> tuple[int, int]:
        """Take a picture in and return its block and its place there; the first block is the index."""
        place = len(self.packed) + 1, len(self._open)
        self._open.append(_json(picture))
        self._open_size += len(self._open[-1])
        if self._open_size >= _BLOCK:
            self.close()
        return place

    def close(self) -> None:
        """Compress what there is."""
        if self._open:
            self.packed.append(_packed(f"[{','.join(self._open)}]"))
            self._packed_size += 3 * len(self.packed[-1]) // 4
        self._open, self._open_size = [], 0


class _Index:
    """Collects the index of all instances, section by section, and the blocks of their pictures."""

    def __init__(self) -> None:
        self._blocks = _Blocks()
        self._sections: list[dict[str, Any]] = []

    def begin(self, section: Section) -> None:
        """Let the instances that follow be those of a section."""
        comparison = section.comparison
        self._sections.append(
            {
                "name": section.name,
                "terms": objective_terms(comparison.objective),
                "units": {},
                "solvers": comparison.entrants,
                "instances": [],
                "cells": [],
            }
        )

    def add(self, instance: _Instance) -> None:
        """Take in an instance of the section."""
        section = self._sections[-1]
        if instance.problem is None:
            about = missing = "the problem is not in the records"
        else:
            family = family_of(instance.problem)
            view = family.view
            section["units"] |= {term.name: term.unit for term in family.objectives}
            about, missing = view.about(instance.problem), view.undrawable(instance.problem)
        if not missing and self._blocks.full:
            missing = "left out: the page would be too large"
        place = len(section["instances"])
        entrants = {entrant: idx for idx, entrant in enumerate(section["solvers"])}
        at = None if missing else self._blocks.add(_pictures(instance, entrants))
        best = instance.best
        section["instances"].append(
            {
                "name": best.instance,
                "about": about,
                "best": None if best.value is None else _plain(terms(best.value)),
                "bound": _plain(terms(best.bound)),
                "standing": best.standing,
                "stated": best.bound_stated_by or best.value_stated_by,
                "proven": best.proven,
                "at": at,
                "missing": missing,
            }
        )
        section["cells"] += [
            [place, entrants[entrant], *_cell_values(cell)] for entrant, cell in instance.cells.items()
        ]

    def packed(self) -> list[str]:
        """Return the index, then the blocks."""
        self._blocks.close()
        return [_packed(_json({"sections": self._sections})), *self._blocks.packed]


def _cell_values(cell: InstanceResult) -> list[object]:
    gap = None if cell.gap is None else "inf" if math.isinf(cell.gap) else float(f"{cell.gap:.6g}")
    value = None if cell.value is None else _plain(cell.value)
    return [value, gap, float(f"{cell.runtime_s:.4g}"), len(cell.runs), cell.failed + cell.unanswered]


def _pictures(
    instance: _Instance, entrants: Mapping[str, int]
) -> dict[int, tuple[str, int, list[float | None]]]:
    """Return drawing, seed and value of the best run of each entrant that has an answer, by its number."""
    assert instance.problem is not None, "it is drawn"
    view = family_of(instance.problem).view
    drawings = view.plots(instance.problem, [answer for _, answer in instance.answers.values()])
    return {
        entrants[entrant]: (drawing.inline(), run.seed, [] if run.value is None else _plain(terms(run.value)))
        for (entrant, (run, _)), drawing in zip(instance.answers.items(), drawings, strict=True)
    }


def _plain(values: Sequence[float]) -> list[float | None]:
    """Return numbers as JSON has them: whole ones without a point, infinite ones as null."""
    return [None if math.isinf(x) else int(x) if x == int(x) else float(f"{x:.10g}") for x in values]


def _json(document: object) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


class _Exhibits:
    """Collects the exhibits of instances, each where it is met first."""

    def __init__(self, findings: Findings, study: StudyRecords) -> None:
        self.collected: dict[str, InstanceExhibits] = {}
        self._findings = findings
        self._study = study
        self._size = 0

    def add(self, instance: _Instance) -> None:
        """Take in an instance, if its family has exhibits and it has not been met before."""
        problem, digest = instance.problem, instance.digest
        if digest in self.collected or problem is None or (view := family_of(problem).view).exhibits is None:
            return
        name, about = instance.best.instance, view.about(problem)
        if self._size >= EXHIBIT_BYTES:
            about += "; its pictures are left out: the page would be too large"
            self.collected[digest] = InstanceExhibits(name, about, ())
            return
        given = _given(instance.comparison, digest)
        certificates = _certificates(self._findings, self._study, digest)
        shown = tuple(view.exhibits(problem, _by_value(instance), certificates, given))
        self._size += sum(len(exhibit.drawing.inline()) for exhibit in shown if exhibit.drawing is not None)
        self.collected[digest] = InstanceExhibits(name, about, shown)


def _by_value(instance: _Instance) -> dict[str, Answer]:
    """Return the answers to an instance by entrant, the best first."""
    ranked = sorted(
        (terms(run.value), entrant) for entrant, (run, _) in instance.answers.items() if run.value is not None
    )
    return {entrant: instance.answers[entrant][1] for _, entrant in ranked}


def _given(comparison: Comparison, digest: str) -> frozenset[str]:
    """Return the entrants whose answer to an instance is no solver's."""
    runs = ((entrant, cells[digest].runs) for entrant, cells in comparison.cells.items() if digest in cells)
    return frozenset(entrant for entrant, row in runs if any(is_given(run) for run in row))


def _certificates(findings: Findings, study: StudyRecords, digest: str) -> list[Mapping[str, Any]]:
    """Return the certificates of the tightest bounds on an instance."""
    certified = [
        run
        for run in findings.records
        if run.digest == digest and math.isfinite(terms(run.certified_bound)[0])
    ]
    certified.sort(key=lambda run: terms(run.certified_bound), reverse=True)
    read = (study.certificate(run.key) for run in certified[:_CERTIFICATES])
    return [certificate for certificate in read if certificate is not None]
