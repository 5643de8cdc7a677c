"""What the paper says of its experiments, each claim held against the runs in every reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from reproductions.claims import Claims, MissingRunsError, Sentence, falling, looked_up, numbers
from reproductions.posner2024.experiment import EASY, EVOLV, READINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from reproductions.claims import Judgement
    from reproductions.posner2024.experiment import Reproduction

    _Test: TypeAlias = Callable[["Figures"], Judgement]


class Figures:
    """The means of one reading."""

    def __init__(self, reproduction: Reproduction, reading: str) -> None:
        self._rows = {(row.scheduler, row.share): row for row in reproduction.rows if row.reading == reading}

    def of(self, scheduler: str, share: float, name: str) -> float:
        """Return a figure."""
        row = looked_up(self._rows, (scheduler, share), f"{scheduler} at {100 * share:g} %")
        return row.figures[name]

    def series(self, scheduler: str, name: str, *, rigid: bool = True) -> list[float]:
        """Return a figure by share, increasing; with that of no such jobs first, or without."""
        shares = sorted(share for known, share in self._rows if known == scheduler and share > 0)
        if len(shares) < 2 or shares[-1] < 1:
            msg = "less than two shares, or not 100 %"
            raise MissingRunsError(msg)
        return [self.of(scheduler, share, name) for share in ([0.0] if rigid else []) + shares]

    def changes(self) -> tuple[list[float], list[float], str]:
        """Return how often jobs grow and shrink by share, and both as a text."""
        ups, downs = (self.series(EVOLV, name, rigid=False) for name in ("expansions", "shrinks"))
        return ups, downs, f"grow {numbers(ups, 1)}; shrink {numbers(downs, 1)}"


#: In the order of the paper.
CLAIMS: Final = Claims[Figures]()
claim = CLAIMS.add


def sentences(reproduction: Reproduction) -> tuple[Sentence, ...]:
    """Return the claims of sections 4.2 and 4.3 that speak of results, with what the runs say of them.

    A claim ``holds`` if it does in all readings, and ``depends`` if in some.
    """
    figures = {reading.name: Figures(reproduction, reading.name) for reading in READINGS}
    return tuple(paraphrase.held_in(figures) for paraphrase in CLAIMS)


def _near(scheduler: str, share: float, name: str, printed: float, part: float) -> _Test:
    """Return a test whether a figure is what is printed, but for a part of it."""
    digits, factor = (1, 1) if name in {"expansions", "shrinks"} else (0, 1)
    if name == "utilisation":
        digits, factor = 1, 100

    def test(on: Figures) -> Judgement:
        value = factor * on.of(scheduler, share, name)
        return abs(value - printed) <= part * printed, f"{value:.{digits}f}"

    return test


def _less(name: str, base: tuple[str, float], percent: float) -> _Test:
    """Return a test by how many per cent a figure falls to where all jobs evolve, but for three points."""

    def test(on: Figures) -> Judgement:
        before, after = on.of(*base, name), on.of(EVOLV, 1, name)
        less = 100 * (1 - after / before)
        return abs(less - percent) <= 3, f"{less:.0f} %: {before:.0f} to {after:.0f}"

    return test


def _falls(name: str, digits: int = 0, *, rigid: bool = True) -> _Test:
    """Return a test whether a figure falls with every share of evolving jobs."""

    def test(on: Figures) -> Judgement:
        path = on.series(EVOLV, name, rigid=rigid)
        return falling(path), numbers(path, digits)

    return test


claim("4.2", "the number of shrinks per job falls with the share [every step]")(
    _falls("shrinks", 1, rigid=False)
)
claim("4.2", "with 20 % evolving jobs there are 3.5 shrinks per job [10 %]")(
    _near(EVOLV, 0.2, "shrinks", 3.5, 0.1)
)
claim("4.2", "with 100 % there are 2.2 [10 %]")(_near(EVOLV, 1, "shrinks", 2.2, 0.1))


@claim("4.2", "there are 1.9 to 2.2 growing events per job [0.1]")
def _growing(on: Figures) -> Judgement:
    path = on.series(EVOLV, "expansions", rigid=False)
    return all(1.8 <= value <= 2.3 for value in path), numbers(path, 1)


@claim("4.2", "growing events fluctuate less than shrinking ones")
def _steady(on: Figures) -> Judgement:
    ups, downs, text = on.changes()
    return max(ups) - min(ups) < max(downs) - min(downs), text


@claim("4.2", "jobs shrink more often than they grow [every share]")
def _more_shrinks(on: Figures) -> Judgement:
    ups, downs, text = on.changes()
    return all(down > up for up, down in zip(ups, downs, strict=True)), text


claim("4.2", "without evolving jobs makespans are 1507 and 1510 s [3 %]")(
    _near(EASY, 0, "makespan", 1508.5, 0.03)
)


@claim("4.2", "EasyBackfilling's makespan is less with 100 % moldable jobs")
def _moldable_gains(on: Figures) -> Judgement:
    before, after = on.of(EASY, 0, "makespan"), on.of(EASY, 1, "makespan")
    return after < before, f"{before:.0f} to {after:.0f}"


claim("4.2", "it is 1385 s then [5 %]")(_near(EASY, 1, "makespan", 1385, 0.05))


@claim("4.2", "between 20 and 80 % it does not improve, or gets worse [3 %]")
def _no_improvement(on: Figures) -> Judgement:
    first, *path, _ = on.series(EASY, "makespan")
    return all(value > 0.97 * first for value in path), f"{numbers(path)} against {first:.0f}"


claim("4.2", "EvolvEasyBack's makespan falls with the share of evolving jobs [every step]")(
    _falls("makespan")
)
claim("4.2", "with 100 % evolving jobs it is 1157 s [5 %]")(_near(EVOLV, 1, "makespan", 1157, 0.05))
claim("4.2", "which is 23 % less than without [3 points]")(_less("makespan", (EVOLV, 0), 23))
claim("4.2", "and 16 % less than with 100 % moldable jobs [3 points]")(_less("makespan", (EASY, 1), 16))
claim("4.2", "utilisation is 81 % without evolving jobs [2 points]")(
    _near(EASY, 0, "utilisation", 81, 2 / 81)
)


@claim("4.2", "and increases with the share of either kind [100 % against 0 %]")
def _fuller(on: Figures) -> Judgement:
    paths = {name: on.series(name, "utilisation") for name in (EASY, EVOLV)}
    text = "; ".join(f"{name} {numbers(path, 1, 100)}" for name, path in paths.items())
    return all(path[-1] > path[0] for path in paths.values()), text


claim("4.2", "EasyBackfilling reaches 91 % with 100 % moldable jobs [2 points]")(
    _near(EASY, 1, "utilisation", 91, 2 / 91)
)
claim("4.2", "EvolvEasyBack has 85 % with 100 % evolving jobs [2 points]")(
    _near(EVOLV, 1, "utilisation", 85, 2 / 85)
)
claim("4.2", "and 88 % with 80 % [2 points]")(_near(EVOLV, 0.8, "utilisation", 88, 2 / 88))


@claim("4.2", "which is more than with 100 %")
def _fullest_at_80(on: Figures) -> Judgement:
    value, last = on.of(EVOLV, 0.8, "utilisation"), on.of(EVOLV, 1, "utilisation")
    return value > last, f"{100 * value:.1f}, then {100 * last:.1f}"


@claim("4.2", "EasyBackfilling uses more of the nodes and yet takes longer [100 %]")
def _fuller_yet_later(on: Figures) -> Judgement:
    rows = [[on.of(name, 1, figure) for figure in ("utilisation", "makespan")] for name in (EASY, EVOLV)]
    (full, late), (less, early) = rows
    text = f"{100 * full:.1f} % and {late:.0f} against {100 * less:.1f} % and {early:.0f}"
    return full > less and late > early, text


@claim("4.2", "waits are 425 to 438 s without evolving jobs [3 %]")
def _rigid_wait(on: Figures) -> Judgement:
    value = on.of(EASY, 0, "wait")
    return 0.97 * 425 <= value <= 1.03 * 438, f"{value:.0f}"


claim("4.2", "and run times 181 s [.1 %]")(_near(EASY, 0, "run", 181, 0.001))
claim("4.2", "turnaround is 605 s then [3 %]")(_near(EASY, 0, "turnaround", 605, 0.03))
claim("4.2", "EvolvEasyBack's wait falls with the share of evolving jobs [every step]")(_falls("wait"))
claim("4.2", "it is 191 s with 100 % [5 %]")(_near(EVOLV, 1, "wait", 191, 0.05))
claim("4.2", "against 376 s under EasyBackfilling [5 %]")(_near(EASY, 1, "wait", 376, 0.05))


@claim("4.2", "run times grow, and turnaround is better all the same")
def _longer_run(on: Figures) -> Judgement:
    (before, after), (early, late) = (
        [on.of(EVOLV, share, name) for share in (0, 1)] for name in ("run", "turnaround")
    )
    text = f"run {before:.0f} to {after:.0f}, turnaround {early:.0f} to {late:.0f}"
    return after > before and late < early, text


claim("4.2", "with 100 % evolving jobs turnaround is 428 s [5 %]")(_near(EVOLV, 1, "turnaround", 428, 0.05))
claim("4.2", "which is 29 % less than without [3 points]")(_less("turnaround", (EASY, 0), 29))
claim("4.2", "with 100 % moldable jobs it is 564 s [5 %]")(_near(EASY, 1, "turnaround", 564, 0.05))
claim("4.2", "so that evolving jobs have 23 % less [3 points]")(_less("turnaround", (EASY, 1), 23))


@claim("4.3", "100 % evolving jobs under EvolvEasyBack is the best of all settings")
def _best_setting(on: Figures) -> Judgement:
    texts, best = [], True
    for name in ("makespan", "turnaround"):
        moldable, evolving = (on.series(scheduler, name) for scheduler in (EASY, EVOLV))
        least = min(*moldable, *evolving)
        best &= evolving[-1] == least
        texts.append(f"{name} {evolving[-1]:.0f}, the least is {least:.0f}")
    return best, "; ".join(texts)


@claim("4.3", "evolving jobs improve turnaround [every share]")
def _below_rigid(on: Figures) -> Judgement:
    first, *path = on.series(EVOLV, "turnaround")
    return all(value < first for value in path), f"{numbers(path)} against {first:.0f}"


@claim("4.3", "utilisation is only slightly improved by EvolvEasyBack [6 points]")
def _slightly_fuller(on: Figures) -> Judgement:
    before, after = (100 * on.of(EVOLV, share, "utilisation") for share in (0, 1))
    return 0 < after - before <= 6, f"{before:.1f} to {after:.1f}"
