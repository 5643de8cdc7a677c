"""What the paper says of its results, each claim held against the runs in several readings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reproductions.claims import Claims, Sentence
from reproductions.linnert2024.experiment import (
    COUNT,
    FREE_LEAK,
    HILBERT,
    LEAK,
    LOADS,
    MEDIAN,
    PRINTED_COUNTS,
    PROGRAMS,
    READINGS,
    STATIC,
    STRATEGIES,
    SYNCHRONOUS,
    Figures,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from reproductions.claims import Judgement
    from reproductions.linnert2024.experiment import Reproduction

#: In the order of the paper.
CLAIMS: Final = Claims[Figures]()
claim = CLAIMS.add

_NORMAL, _HEAVY, _VERY_HEAVY = LOADS
_LEAKS: Final = (LEAK, FREE_LEAK)
_MIXED: Final = PROGRAMS[-1]
#: How tables and claims call the strategies.
_SHORT: Final = {HILBERT: "Hilbert", MEDIAN: "MM", LEAK: "leak", FREE_LEAK: "non-contiguous"}

#: By how many points the shares of synchronous messages may differ to be similar; and those of MM by load.
_SIMILAR: Final = 0.10
_STEADY: Final = 0.08


def sentences(reproduction: Reproduction) -> tuple[Sentence, ...]:
    """Return the claims of section 5 with what the runs say of them.

    A claim ``holds`` if it does in all readings with asynchronous messages, and ``depends`` if in some; the
    readings after the first one have fewer seeds. The comparisons with synchronous messages are of the first
    reading.
    """
    names = [reading.name for reading in READINGS if reading.name != SYNCHRONOUS]
    figures = {name: Figures(reproduction, name) for name in names}
    return tuple(paraphrase.held_in(figures) for paraphrase in CLAIMS)


def _by_name(
    on: Figures,
    load: str,
    program: object,
    figure: str = "cancelled_share",
    names: Iterable[str] = STRATEGIES,
) -> dict[str, float]:
    """Return a figure by strategy; by default the cancelled share of the accepted jobs."""
    return {name: on.executed(load, name, program, figure).mean for name in names}


def _by_program(
    on: Figures, load: str, programs: Iterable[object], names: Iterable[str] = STRATEGIES
) -> dict[object, dict[str, float]]:
    """Return the cancelled shares by kind of programs and strategy."""
    return {program: _by_name(on, load, program, names=names) for program in programs}


def _path(on: Figures, name: str, program: object) -> list[float]:
    """Return the cancelled share of a strategy, load by load."""
    return [on.executed(load, name, program, "cancelled_share").mean for load in LOADS]


def _points(values: Mapping[str, float]) -> str:
    return ", ".join(f"{_SHORT[name]} {100 * value:.1f}" for name, value in values.items())


def _counted(values: Mapping[str, float]) -> str:
    return ", ".join(f"{_SHORT[name]} {value:.0f}" for name, value in values.items())


def _listed(
    rows: Mapping[object, Mapping[str, float]], text: Callable[[Mapping[str, float]], str] = _points
) -> str:
    return "; ".join(f"{program}: {text(values)}" for program, values in rows.items())


@claim("5.1", "by free nodes alone 510, 400 and 260 jobs are accepted [within 10 %]", by_reading=False)
def _counts(on: Figures) -> Judgement:
    ours = {load: on.booked(load, COUNT, "accepted").mean for load in LOADS}
    text = ", ".join(f"{value:.0f}" for value in ours.values())
    return all(abs(value / PRINTED_COUNTS[load] - 1) <= 0.1 for load, value in ours.items()), text


@claim("5.1", "at heavy load Hilbert accepts more than 120 % of that", by_reading=False)
def _hilbert_gains(on: Figures) -> Judgement:
    ratio = on.ratio(_HEAVY, HILBERT)
    return ratio.mean > 1.2, f"{ratio.text(100)} %"


@claim("5.1", "at normal load MM accepts slightly more than Hilbert [by up to 15 %]", by_reading=False)
def _median_slightly_above(on: Figures) -> Judgement:
    ratio = on.ratio(_NORMAL, MEDIAN, HILBERT)
    counts = [on.booked(_NORMAL, name, "accepted").mean for name in (MEDIAN, HILBERT)]
    return 1 < ratio.mean <= 1.15, f"{counts[0]:.0f} and {counts[1]:.0f}, ratio {ratio.mean:.2f}"


@claim(
    "5.1", "at very heavy load MM accepts about half [.4 to .6] of what Hilbert does there", by_reading=False
)
def _half_of_hilbert(on: Figures) -> Judgement:
    ratio = on.ratio(_VERY_HEAVY, MEDIAN, HILBERT)
    return 0.4 <= ratio.mean <= 0.6, f"{ratio.text(1, 2)} of Hilbert's"


@claim("5.1", "or: about half [.4 to .6] of what MM itself does at normal load", by_reading=False)
def _half_of_its_own(on: Figures) -> Judgement:
    high, low = (on.booked(load, MEDIAN, "accepted").mean for load in (_NORMAL, _VERY_HEAVY))
    return 0.4 <= low / high <= 0.6, f"{low:.0f} of {high:.0f}: {low / high:.2f}"


@claim("5.1", "both leaks accept nearly all jobs [95 %] at all loads")
def _leak_accepts(on: Figures) -> Judgement:
    counts = [on.executed(load, name, _MIXED, "accepted").mean for load in LOADS for name in _LEAKS]
    return min(counts) >= 950, f"{min(counts):.0f} to {max(counts):.0f}"


@claim("5.1", "what static strategies accept does not depend on the kind of programs")
def _independent(on: Figures) -> Judgement:
    alike, texts = True, []
    for name in STATIC:
        counts = {on.executed(_NORMAL, name, program, "accepted").mean for program in PROGRAMS}
        alike &= len(counts) == 1
        texts.append(f"{_SHORT[name]} {' '.join(f'{count:.0f}' for count in sorted(counts))}")
    return alike, ", ".join(texts)


def _static_better(on: Figures, name: str) -> tuple[list[bool], str]:
    """Return for kinds 0 and 1 and each leak whether a strategy cancels less at normal load, and figures."""
    rows = _by_program(on, _NORMAL, (0, 1))
    return [row[name] < row[leak] for row in rows.values() for leak in _LEAKS], _listed(rows)


@claim("5.2", "normal load, kinds 0 and 1: MM cancels less than both leaks")
def _median_better(on: Figures) -> Judgement:
    lower, text = _static_better(on, MEDIAN)
    return all(lower), text


@claim("5.2", "so does Hilbert, to a certain extent [for a kind, than a leak]")
def _hilbert_better(on: Figures) -> Judgement:
    lower, text = _static_better(on, HILBERT)
    return any(lower), text


def _best(load: str, strategy: str, program: object) -> Callable[[Figures], Judgement]:
    """Return a test whether a strategy cancels the least."""

    def test(on: Figures) -> Judgement:
        row = _by_name(on, load, program)
        return row[strategy] == min(row.values()), _points(row)

    return test


claim("5.2", "normal load, kind 1: MM is the best of the four")(_best(_NORMAL, MEDIAN, 1))


@claim(
    "5.2",
    "normal load, kinds 2 and 3: the non-contiguous leak cancels much less [half] than static strategies",
)
def _leak_supports(on: Figures) -> Judgement:
    rows = _by_program(on, _NORMAL, (2, 3))
    return all(2 * row[FREE_LEAK] <= row[name] for row in rows.values() for name in STATIC), _listed(rows)


claim("5.2", "normal load, mixed kinds: the non-contiguous leak is the best")(
    _best(_NORMAL, FREE_LEAK, _MIXED)
)


@claim("5.2", "the share that the leaks cancel rises with the load, for all kinds")
def _rises(on: Figures) -> Judgement:
    rises, texts = True, []
    for name in _LEAKS:
        paths = [_path(on, name, program) for program in PROGRAMS]
        rises &= all(path[0] < path[1] < path[2] for path in paths)
        first, _, last = zip(*paths, strict=True)
        spans = [f"{100 * min(some):.0f}-{100 * max(some):.0f}" for some in (first, last)]
        texts.append(f"{_SHORT[name]} {spans[0]} to {spans[1]} %")
    return rises, ", ".join(texts)


@claim("5.2", "very heavy load, kinds 2 and 3: the non-contiguous leak is worse than the contiguous one")
def _contiguous_better(on: Figures) -> Judgement:
    rows = _by_program(on, _VERY_HEAVY, (2, 3), _LEAKS)
    return all(row[LEAK] < row[FREE_LEAK] for row in rows.values()), _listed(rows)


@claim("5.2", "very heavy load: MM is the best for almost all kinds [4 of 5]")
def _median_nearly_always_best(on: Figures) -> Judgement:
    rows = _by_program(on, _VERY_HEAVY, PROGRAMS)
    best = sum(row[MEDIAN] == min(row.values()) for row in rows.values())
    return best >= 4, f"{best} of {len(rows)} kinds"


@claim("5.2", "very heavy load, kind 0: Hilbert is better than MM")
def _hilbert_beats_median(on: Figures) -> Judgement:
    row = _by_name(on, _VERY_HEAVY, 0, names=STATIC)
    return row[HILBERT] < row[MEDIAN], _points(row)


def _span(path: list[float]) -> float:
    return max(path) - min(path)


@claim("5.2", "the share that MM cancels hardly changes with the load [8 points]")
def _median_steady(on: Figures) -> Judgement:
    widest = max(_span(_path(on, MEDIAN, program)) for program in PROGRAMS)
    return widest <= _STEADY, f"by up to {100 * widest:.1f} points"


@claim("5.2", "that of Hilbert does for kind 0 [more than MM's]")
def _hilbert_moves_more(on: Figures) -> Judgement:
    spans = {name: _span(_path(on, name, 0)) for name in STATIC}
    return spans[HILBERT] > spans[MEDIAN], f"by points: {_points(spans)}"


def _free_leak_wins(on: Figures, figure: str, sign: int) -> Judgement:
    """Test whether the non-contiguous leak has more (less, for sign -1) than both static strategies."""
    wins = 0
    for load in LOADS:
        for program in PROGRAMS:
            row = _by_name(on, load, program, figure)
            wins += all(sign * row[FREE_LEAK] > sign * row[name] for name in STATIC)
    return wins >= 12, f"{wins} of {len(LOADS) * len(PROGRAMS)} cells"


@claim(
    "Fig. 15",
    "the non-contiguous leak cancels less than both static strategies almost everywhere [12 of 15 cells]",
)
def _free_leak_cancels_less(on: Figures) -> Judgement:
    return _free_leak_wins(on, "cancelled_share", -1)


def _synchronous(on: Figures, load: str, name: str, program: object) -> tuple[float, float, float]:
    """Return the cancelled share, that with synchronous messages, and the change."""
    spreads = on.change(load, name, program, "cancelled_share", (on.reading, SYNCHRONOUS))
    before, after, change = (spread.mean for spread in spreads)
    return before, after, change


@claim("5.2", "shares are similar with synchronous messages [within 10 points]", by_reading=False)
def _similar(on: Figures) -> Judgement:
    changes = [
        _synchronous(on, load, name, program)[2]
        for load in LOADS
        for name in STRATEGIES
        for program in PROGRAMS
    ]
    similar = all(abs(change) <= _SIMILAR for change in changes)
    return similar, f"by {100 * min(changes):.1f} to {100 * max(changes):.1f} points"


def _falls(names: tuple[str, ...], programs: tuple[object, ...]) -> Callable[[Figures], Judgement]:
    """Return a test whether less is cancelled where messages are synchronous, in the mean over loads."""

    def test(on: Figures) -> Judgement:
        falls, texts = True, []
        for name in names:
            for program in programs:
                rows = [_synchronous(on, load, name, program) for load in LOADS]
                before, after, _ = (sum(column) / len(LOADS) for column in zip(*rows, strict=True))
                falls &= after < before
                texts.append(f"{_SHORT[name]} {program}: {100 * before:.1f} to {100 * after:.1f}")
        return falls, ", ".join(texts)

    return test


claim("Fig. 16", "they are better for MM then, above all for kinds 1 and 3", by_reading=False)(
    _falls((MEDIAN,), (1, 3))
)


def _successes(on: Figures, load: str, programs: Iterable[object]) -> dict[object, dict[str, float]]:
    """Return the successful jobs by kind of programs and strategy."""
    return {program: _by_name(on, load, program, "successful") for program in programs}


@claim("5.3", "normal load, kinds 2 and 3: static strategies complete half as many jobs [1/1.6] as leaks")
def _half_the_successes(on: Figures) -> Judgement:
    rows = _successes(on, _NORMAL, (2, 3))
    ratios = [row[FREE_LEAK] / row[MEDIAN] for row in rows.values()]
    text = f"{_listed(rows, _counted)}: {', '.join(f'{ratio:.1f}' for ratio in ratios)} times MM"
    return min(ratios) >= 1.6, text


@claim("5.3", "this is even more evident at the other loads")
def _more_evident(on: Figures) -> Judgement:
    ratios: dict[str, float] = {}
    for load in LOADS:
        rows = _successes(on, load, (2, 3)).values()
        ratios[load] = sum(row[FREE_LEAK] for row in rows) / sum(row[MEDIAN] for row in rows)
    normal, *others = ratios.values()
    return min(others) > normal, ", ".join(f"{load} {ratio:.2f}" for load, ratio in ratios.items())


@claim(
    "5.3", "very heavy load: static strategies complete more jobs than the contiguous leak only for kind 0"
)
def _static_only_for_kind_0(on: Figures) -> Judgement:
    rows = _successes(on, _VERY_HEAVY, PROGRAMS[:4])
    wins = [program for program, row in rows.items() if max(row[name] for name in STATIC) > row[LEAK]]
    kinds = f"kinds {', '.join(map(str, wins))}" if wins else "no kind"
    return wins == [0], f"static has more for {kinds}; 0: {_counted(rows[0])}"


@claim("5.3", "there the non-contiguous leak is better still")
def _free_leak_better_still(on: Figures) -> Judgement:
    row = _by_name(on, _VERY_HEAVY, 0, "successful")
    return row[FREE_LEAK] > max(row[name] for name in STATIC), _counted(row)


@claim("Fig. 17", "the non-contiguous leak completes more jobs than both almost everywhere [12 of 15 cells]")
def _free_leak_completes_more(on: Figures) -> Judgement:
    return _free_leak_wins(on, "successful", 1)


claim(
    "5.3",
    "with synchronous messages Hilbert and the contiguous leak cancel fewer jobs [mixed kinds]",
    by_reading=False,
)(_falls((HILBERT, LEAK), (_MIXED,)))
claim("5.3", "so does the contiguous leak above all for kind 1", by_reading=False)(_falls((LEAK,), (1,)))
