"""What the script of the page shows of single instances: drawings in JSON, compressed, in blocks."""

from __future__ import annotations

import base64
import gzip
import json
import math
from typing import TYPE_CHECKING, Final

from allocsolve.families import family_of
from allocsolve.model import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench import Comparison
    from allocsolve.bench.scores.comparison import InstanceResult
    from allocsolve.model import Problem
    from allocsolve.report.study import Findings, StudyRecords

__all__ = ["PICTURE_BYTES", "embedded"]

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


def embedded(findings: Findings, study: StudyRecords) -> list[str]:
    """Return the index of all instances, then the blocks of their pictures: gzip'ed JSON in base64."""
    blocks = _Blocks()
    sections = [
        {
            "name": section.name,
            "terms": section.comparison.objective.split(","),
            **_instances(section.comparison, study, blocks),
        }
        for section in findings.sections
    ]
    blocks.close()
    return [_packed(_json({"sections": sections})), *blocks.packed]


def _instances(comparison: Comparison, study: StudyRecords, blocks: _Blocks) -> dict[str, object]:
    instances, cells = [], []
    places = {entrant: idx for idx, entrant in enumerate(comparison.entrants)}
    units: dict[str, str] = {}
    for place, (digest, best) in enumerate(comparison.best_by_digest.items()):
        by_entrant = {places[name]: row[digest] for name, row in comparison.cells.items() if digest in row}
        try:
            problem = study.problem(digest)
        except KeyError:
            about, missing = "the problem is not in the records", "the problem is not in the records"
        else:
            view = family_of(problem).view
            units |= view.units
            about, missing = view.describe(problem), view.undrawable(problem)
        if not missing and blocks.full:
            missing = "left out: the page would be too large"
        at = None if missing else blocks.add(_pictures(by_entrant, study, problem))
        instances.append(
            {
                "name": best.instance,
                "about": about,
                "best": None if best.value is None else _plain(terms(best.value)),
                "bound": _plain(terms(best.bound)),
                "proven": best.proven,
                "at": at,
                "missing": missing,
            }
        )
        cells += [[place, entrant, *_cell(cell)] for entrant, cell in by_entrant.items()]
    return {"units": units, "solvers": comparison.entrants, "instances": instances, "cells": cells}


def _cell(cell: InstanceResult) -> list[object]:
    gap = None if cell.gap is None else "inf" if math.isinf(cell.gap) else float(f"{cell.gap:.6g}")
    value = None if cell.value is None else _plain(cell.value)
    return [value, gap, float(f"{cell.runtime_s:.4g}"), len(cell.runs), cell.failed + cell.unanswered]


def _pictures(
    by_entrant: Mapping[int, InstanceResult], study: StudyRecords, problem: Problem
) -> dict[int, tuple[str, int, list[float | None]]]:
    """Return drawing, seed and value of the best run of each entrant that has an answer to it."""
    answered = []
    for entrant, cell in by_entrant.items():
        run = cell.best_run
        answer = None if run is None else study.answer(run.key)
        if run is not None and run.value is not None and answer is not None:
            answered.append((entrant, answer, run.seed, _plain(terms(run.value))))
    drawings = family_of(problem).view.plots(problem, [answer for _, answer, _, _ in answered])
    return {
        entrant: (drawing.inline(), seed, value)
        for (entrant, _, seed, value), drawing in zip(answered, drawings, strict=True)
    }


def _plain(values: Sequence[float]) -> list[float | None]:
    """Return numbers as JSON has them: whole ones without a point, infinite ones as null."""
    return [None if math.isinf(x) else int(x) if x == int(x) else float(f"{x:.10g}") for x in values]


def _json(document: object) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
