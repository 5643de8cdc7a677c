"""What the script of the page draws single instances from: JSON, compressed, in blocks."""

from __future__ import annotations

import base64
import gzip
import json
import math
from typing import TYPE_CHECKING, Any, Final

from allocsolve.model import terms
from allocsolve.pictures.views import answer_data, describe, problem_data, undrawable, units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.bench import Cell, Comparison
    from allocsolve.report.study import Findings, StudyRecords

__all__ = ["MOST_BYTES", "embedded"]

#: Of all pictures together, compressed; base64 makes a third more of it.
MOST_BYTES: Final = 12_000_000

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
        return self._packed_size >= MOST_BYTES

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
    names = {entrant: idx for idx, entrant in enumerate(comparison.entrants)}
    unit: dict[str, str] = {}
    for place, (digest, on) in enumerate(comparison.known.items()):
        mine = {names[name]: row[digest] for name, row in comparison.cells.items() if digest in row}
        problem = study.problem(digest)
        unit |= units(problem)
        missing = undrawable(problem)
        if not missing and blocks.full:
            missing = "left out: the page would be too large"
        at = None if missing else blocks.add([problem_data(problem), _answers(mine, study, problem)])
        instances.append(
            {
                "name": on.instance,
                "about": describe(problem),
                "best": None if on.value is None else _plain(terms(on.value)),
                "bound": _plain(terms(on.bound)),
                "proven": on.proven,
                "at": at,
                "missing": missing,
            }
        )
        cells += [[place, entrant, *_cell(cell)] for entrant, cell in mine.items()]
    return {
        "kind": comparison.kind,
        "units": unit,
        "solvers": comparison.entrants,
        "instances": instances,
        "cells": cells,
    }


def _cell(cell: Cell) -> list[object]:
    gap = None if cell.gap is None else "inf" if math.isinf(cell.gap) else float(f"{cell.gap:.6g}")
    value = None if cell.value is None else _plain(cell.value)
    return [value, gap, float(f"{cell.runtime_s:.4g}"), len(cell.runs), cell.failed + cell.unanswered]


def _answers(mine: dict[int, Cell], study: StudyRecords, problem: Any) -> dict[int, object]:  # noqa: ANN401 - of any family
    """Return the answer of the best run of each entrant that has one, with its seed and value."""
    found: dict[int, object] = {}
    for entrant, cell in mine.items():
        run = cell.best_run
        answer = None if run is None else study.answer(run.key)
        if run is not None and run.value is not None and answer is not None:
            found[entrant] = [answer_data(problem, answer), run.seed, _plain(terms(run.value))]
    return found


def _plain(values: Sequence[float]) -> list[float | None]:
    """Return numbers as JSON has them: whole ones without a point, infinite ones as null."""
    return [None if math.isinf(x) else int(x) if x == int(x) else float(f"{x:.10g}") for x in values]


def _json(document: object) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
