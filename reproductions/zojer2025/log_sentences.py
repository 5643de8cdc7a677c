"""What the thesis says of the jobs of Cori KNL, held against the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import WorkloadProblem

__all__ = ["LOG_SENTENCES", "Found"]

#: Whether a sentence holds (None: that cannot be tested), and our figures, or why not.
Found: TypeAlias = "tuple[bool | None, str]"

#: By how much a share may differ that is printed with one digit, and with none and an "about".
_DIGIT: Final = 0.0005
_WHOLE: Final = 0.01
#: The window: from 6 November 22:00 to the end of 11 November.
_WINDOW_S: Final = 122 * 3600.0


def _jobs(log: WorkloadProblem) -> Found:
    last = float(log.packed.submit.max())
    return len(log.jobs) == 41_524 and last <= _WINDOW_S, f"{len(log.jobs):,} in {last / 86400:.2f} days"


def _raw_lines(log: WorkloadProblem) -> Found:
    lines = log.meta.get("lines")
    if not isinstance(lines, int) or lines == len(log.jobs):
        return None, "needs the daily files: in the log at hand their lines are joined"
    fewer = lines - len(log.jobs)
    return (lines, fewer) == (55_587, 14_063), f"{lines:,} lines, {fewer:,} of them left out or joined"


def _small(log: WorkloadProblem) -> Found:
    share = float((log.packed.nodes <= 32).mean())
    return abs(share - 0.944) <= _DIGIT, f"{100 * share:.2f} %"


def _four(log: WorkloadProblem) -> Found:
    share = float((log.packed.nodes == 4).mean())
    return abs(share - 0.63) <= _WHOLE, f"{100 * share:.2f} %"


def _less_than_four(log: WorkloadProblem) -> Found:
    share = float((log.packed.nodes < 4).mean())
    return abs(share - 0.19) <= _WHOLE, f"{100 * share:.2f} %"


def _short(log: WorkloadProblem) -> Found:
    share = float((log.packed.runtime <= 1000).mean())
    return abs(share - 0.8) <= _WHOLE, f"{100 * share:.2f} %"


def _peak(log: WorkloadProblem) -> Found:
    counts = np.bincount((log.packed.runtime // 200).astype(np.int64))
    share = counts[3] / len(log.jobs) if len(counts) > 3 else 0.0
    return int(np.argmax(counts)) == 3, f"{100 * share:.1f} % of the jobs, of steps of 200 s the most"


def _rate(log: WorkloadProblem) -> Found:
    rate = len(log.jobs) / (_WINDOW_S / 3600)
    return abs(rate - 340.36) <= 0.005, f"{rate:.2f} over 122 h"


#: Section, sentence, and what the log says of it.
LOG_SENTENCES: Final[tuple[tuple[str, str, Callable[[WorkloadProblem], Found]], ...]] = (
    ("3.2", "55,587 raw jobs, 14,063 fewer after cleaning", _raw_lines),
    ("4.2", "41,524 jobs are submitted over five days", _jobs),
    ("4.2", "94.4 % of the jobs request 32 nodes or fewer", _small),
    ("4.2", "about 63 % request exactly four [1 point]", _four),
    ("4.2", "about 19 % request less than four [1 point]", _less_than_four),
    ("4.2", "80 % of the jobs complete within 1,000 s [1 point]", _short),
    ("4.2", "there is a peak of jobs of 600-800 s", _peak),
    ("4.5", "340.36 jobs are submitted per hour", _rate),
)
