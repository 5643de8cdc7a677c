"""Tests of the figures in one reading, one for each claim of the paper or for several that are alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from reproductions.linnert2024.runs import (
    COUNT,
    FREE_LEAK,
    HILBERT,
    LEAK,
    LOADS,
    MEDIAN,
    PROGRAMS,
    STATIC,
    STRATEGIES,
    SYNCHRONOUS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reproductions.linnert2024.figures import Figures
    from reproductions.linnert2024.reproduction import Spread

__all__ = [
    "PRINTED_COUNTS",
    "Found",
    "best",
    "contiguous_better",
    "counts",
    "falls",
    "free_leak_better_still",
    "free_leak_mostly_best",
    "half_of_hilbert",
    "half_of_its_own",
    "half_the_successes",
    "hilbert_beats_median",
    "hilbert_gains",
    "hilbert_moves_more",
    "independent",
    "leak_accepts",
    "leak_supports",
    "median_nearly_always_best",
    "median_slightly_above",
    "median_steady",
    "more_evident",
    "rises",
    "similar",
    "static_better",
    "static_only_for_kind_0",
]

#: Jobs of 1000 that the paper accepts by the number of free nodes alone.
PRINTED_COUNTS: Final = {"normal": 510, "heavy": 400, "very heavy": 260}

#: Whether a claim holds, and our figures.
Found: TypeAlias = tuple[bool, str]

_NORMAL, _HEAVY, _VERY_HEAVY = LOADS
_LEAKS: Final = (LEAK, FREE_LEAK)
_MIXED: Final = PROGRAMS[-1]
#: How tables and claims call the strategies.
_SHORT: Final = {HILBERT: "Hilbert", MEDIAN: "MM", LEAK: "leak", FREE_LEAK: "non-contiguous"}

#: By how many points the shares of synchronous messages may differ to be similar; and those of MM by load.
_SIMILAR: Final = 0.10
_STEADY: Final = 0.08


def _share(on: Figures, load: str, strategy: str, program: object, reading: str) -> float:
    """Return the cancelled share of the accepted jobs."""
    return on.executed(load, strategy, program, "cancelled_share", reading).mean


def _shares(on: Figures, load: str, program: object, reading: str) -> dict[str, float]:
    return {name: _share(on, load, name, program, reading) for name in STRATEGIES}


def _text(one: Spread, factor: float, digits: int) -> str:
    """Return a mean with its interval, if there is one."""
    half = f" +- {factor * one.half:.{digits}f}" if math.isfinite(one.half) else ""
    return f"{factor * one.mean:.{digits}f}{half}"


def _points(values: dict[str, float]) -> str:
    return ", ".join(f"{_SHORT[name]} {100 * value:.1f}" for name, value in values.items())


def _by_program(rows: Iterable[tuple[object, dict[str, float]]]) -> str:
    return "; ".join(f"{program}: {_points(values)}" for program, values in rows)


def counts(on: Figures, _: str) -> Found:
    """Test the jobs accepted by the number of free nodes."""
    ours = {load: on.booked(load, COUNT, "accepted").mean for load in LOADS}
    text = ", ".join(f"{value:.0f}" for value in ours.values())
    return all(abs(value / PRINTED_COUNTS[load] - 1) <= 0.1 for load, value in ours.items()), text


def hilbert_gains(on: Figures, _: str) -> Found:
    """Test what Hilbert accepts of each job that the count does, at heavy load."""
    ratio = on.ratio(_HEAVY, HILBERT)
    return ratio.mean > 1.2, f"{_text(ratio, 100, 0)} %"


def median_slightly_above(on: Figures, _: str) -> Found:
    """Test what MM accepts against Hilbert at normal load."""
    ratio = on.ratio(_NORMAL, MEDIAN, HILBERT)
    counts = [on.booked(_NORMAL, name, "accepted").mean for name in (MEDIAN, HILBERT)]
    return 1 < ratio.mean <= 1.15, f"{counts[0]:.0f} and {counts[1]:.0f}, ratio {ratio.mean:.2f}"


def half_of_hilbert(on: Figures, _: str) -> Found:
    """Test what MM accepts against Hilbert at very heavy load."""
    ratio = on.ratio(_VERY_HEAVY, MEDIAN, HILBERT)
    return 0.4 <= ratio.mean <= 0.6, f"{_text(ratio, 1, 2)} of Hilbert's"


def half_of_its_own(on: Figures, _: str) -> Found:
    """Test what MM accepts at very heavy load against normal load."""
    high, low = (on.booked(load, MEDIAN, "accepted").mean for load in (_NORMAL, _VERY_HEAVY))
    return 0.4 <= low / high <= 0.6, f"{low:.0f} of {high:.0f}: {low / high:.2f}"


def leak_accepts(on: Figures, reading: str) -> Found:
    """Test whether the leaks accept nearly all jobs."""
    rows = [on.executed(load, name, _MIXED, "accepted", reading).mean for load in LOADS for name in _LEAKS]
    return min(rows) >= 950, f"{min(rows):.0f} to {max(rows):.0f}"


def independent(on: Figures, reading: str) -> Found:
    """Test whether static strategies accept as many jobs of each kind."""
    alike, told = True, []
    for name in STATIC:
        counts = {on.executed(_NORMAL, name, program, "accepted", reading).mean for program in PROGRAMS}
        alike &= len(counts) == 1
        told.append(f"{_SHORT[name]} {' '.join(f'{count:.0f}' for count in sorted(counts))}")
    return alike, ", ".join(told)


def static_better(name: str, *, everywhere: bool) -> Callable[[Figures, str], Found]:
    """Return a test whether a static strategy cancels less than the leaks at normal load for kinds 0, 1."""

    def test(on: Figures, reading: str) -> Found:
        rows = [(program, _shares(on, _NORMAL, program, reading)) for program in (0, 1)]
        lower = [row[name] < row[leak] for _, row in rows for leak in _LEAKS]
        return (all if everywhere else any)(lower), _by_program(rows)

    return test


def best(load: str, strategy: str, program: object) -> Callable[[Figures, str], Found]:
    """Return a test whether a strategy cancels the least."""

    def test(on: Figures, reading: str) -> Found:
        row = _shares(on, load, program, reading)
        return row[strategy] == min(row.values()), _points(row)

    return test


def leak_supports(on: Figures, reading: str) -> Found:
    """Test the non-contiguous leak against static strategies for programs that fork."""
    rows = [(program, _shares(on, _NORMAL, program, reading)) for program in (2, 3)]
    holds = all(2 * row[FREE_LEAK] <= row[name] for _, row in rows for name in STATIC)
    return holds, _by_program(rows)


def rises(on: Figures, reading: str) -> Found:
    """Test whether the leaks cancel more with more load."""
    rises, told = True, []
    for name in _LEAKS:
        for program in PROGRAMS:
            path = [_share(on, load, name, program, reading) for load in LOADS]
            rises &= path[0] < path[1] < path[2]
        ends = [[_share(on, load, name, one, reading) for one in PROGRAMS] for load in (_NORMAL, _VERY_HEAVY)]
        spans = [f"{100 * min(some):.0f}-{100 * max(some):.0f}" for some in ends]
        told.append(f"{_SHORT[name]} {spans[0]} to {spans[1]} %")
    return rises, ", ".join(told)


def contiguous_better(on: Figures, reading: str) -> Found:
    """Test the contiguous leak against the other for programs that fork, at very heavy load."""
    rows = [
        (program, {name: _share(on, _VERY_HEAVY, name, program, reading) for name in _LEAKS})
        for program in (2, 3)
    ]
    return all(row[LEAK] < row[FREE_LEAK] for _, row in rows), _by_program(rows)


def median_nearly_always_best(on: Figures, reading: str) -> Found:
    """Test whether MM cancels the least for nearly all kinds at very heavy load."""
    rows = [(program, _shares(on, _VERY_HEAVY, program, reading)) for program in PROGRAMS]
    best = sum(row[MEDIAN] == min(row.values()) for _, row in rows)
    return best >= 4, f"{best} of {len(rows)} kinds"


def hilbert_beats_median(on: Figures, reading: str) -> Found:
    """Test whether Hilbert cancels less than MM for kind 0 at very heavy load."""
    row = {name: _share(on, _VERY_HEAVY, name, 0, reading) for name in STATIC}
    return row[HILBERT] < row[MEDIAN], _points(row)


def median_steady(on: Figures, reading: str) -> Found:
    """Test whether the share that MM cancels is much the same at all loads."""
    spans = []
    for program in PROGRAMS:
        path = [_share(on, load, MEDIAN, program, reading) for load in LOADS]
        spans.append(max(path) - min(path))
    return max(spans) <= _STEADY, f"by up to {100 * max(spans):.1f} points"


def hilbert_moves_more(on: Figures, reading: str) -> Found:
    """Test whether that of Hilbert moves more than that of MM, for kind 0."""
    spans = {}
    for name in STATIC:
        path = [_share(on, load, name, 0, reading) for load in LOADS]
        spans[name] = max(path) - min(path)
    return spans[HILBERT] > spans[MEDIAN], f"by points: {_points(spans)}"


def free_leak_mostly_best(figure: str, *, least: bool) -> Callable[[Figures, str], Found]:
    """Return a test whether the non-contiguous leak beats both static strategies in most cells."""

    def test(on: Figures, reading: str) -> Found:
        wins = 0
        for load in LOADS:
            for program in PROGRAMS:
                row = {name: on.executed(load, name, program, figure, reading).mean for name in STRATEGIES}
                statics = [row[name] for name in STATIC]
                wins += row[FREE_LEAK] < min(statics) if least else row[FREE_LEAK] > max(statics)
        return wins >= 12, f"{wins} of {len(LOADS) * len(PROGRAMS)} cells"

    return test


def _successes(on: Figures, load: str, program: object, reading: str) -> dict[str, float]:
    return {name: on.executed(load, name, program, "successful", reading).mean for name in STRATEGIES}


def _counted(row: dict[str, float]) -> str:
    return ", ".join(f"{_SHORT[name]} {value:.0f}" for name, value in row.items())


def half_the_successes(on: Figures, reading: str) -> Found:
    """Test the successes of the non-contiguous leak against those of MM for programs that fork."""
    rows = {program: _successes(on, _NORMAL, program, reading) for program in (2, 3)}
    quotients = [row[FREE_LEAK] / row[MEDIAN] for row in rows.values()]
    told = "; ".join(f"{program}: {_counted(row)}" for program, row in rows.items())
    return min(quotients) >= 1.6, f"{told}: {', '.join(f'{one:.1f}' for one in quotients)} times MM"


def more_evident(on: Figures, reading: str) -> Found:
    """Test whether their quotient is larger at the other loads."""
    quotients: dict[str, float] = {}
    for load in LOADS:
        rows = [_successes(on, load, program, reading) for program in (2, 3)]
        quotients[load] = sum(row[FREE_LEAK] for row in rows) / sum(row[MEDIAN] for row in rows)
    normal, *others = quotients.values()
    return min(others) > normal, ", ".join(f"{load} {one:.2f}" for load, one in quotients.items())


def static_only_for_kind_0(on: Figures, reading: str) -> Found:
    """Test for which kinds static strategies complete more than the contiguous leak."""
    wins = []
    for program in PROGRAMS[:4]:
        row = _successes(on, _VERY_HEAVY, program, reading)
        if max(row[name] for name in STATIC) > row[LEAK]:
            wins.append(program)
    row = _successes(on, _VERY_HEAVY, 0, reading)
    told = f"kinds {', '.join(map(str, wins))}" if wins else "no kind"
    return wins == [0], f"static has more for {told}; 0: {_counted(row)}"


def free_leak_better_still(on: Figures, reading: str) -> Found:
    """Test the successes of the non-contiguous leak for kind 0 at very heavy load."""
    row = _successes(on, _VERY_HEAVY, 0, reading)
    return row[FREE_LEAK] > max(row[name] for name in STATIC), _counted(row)


def similar(on: Figures, reading: str) -> Found:
    """Test how far the shares are from those of synchronous messages."""
    differences = [
        on.change(load, name, program, "cancelled_share", (reading, SYNCHRONOUS))[2].mean
        for load in LOADS
        for name in STRATEGIES
        for program in PROGRAMS
    ]
    far = sum(abs(one) > _SIMILAR for one in differences)
    return not far, f"by {100 * min(differences):.1f} to {100 * max(differences):.1f} points"


def falls(names: tuple[str, ...], programs: tuple[object, ...]) -> Callable[[Figures, str], Found]:
    """Return a test whether less is cancelled where messages are synchronous, in the mean over loads."""

    def test(on: Figures, reading: str) -> Found:
        falls, told = True, []
        for name in names:
            for program in programs:
                pairs = [
                    on.change(load, name, program, "cancelled_share", (reading, SYNCHRONOUS))
                    for load in LOADS
                ]
                before, after = (sum(pair[place].mean for pair in pairs) / len(LOADS) for place in (0, 1))
                falls &= after < before
                told.append(f"{_SHORT[name]} {program}: {100 * before:.1f} to {100 * after:.1f}")
        return falls, ", ".join(told)

    return test
