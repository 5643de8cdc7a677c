"""What the thesis says of its simulations of Cori KNL, held against ours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from allocsolve.pictures.chart import percent
from reproductions.zojer2025.figures import Figures, MissingRunsError, each, numbers
from reproductions.zojer2025.resize_sentences import RESIZE_SENTENCES
from reproductions.zojer2025.runs import POLICIES, REFERENCES

if TYPE_CHECKING:
    from collections.abc import Callable

    from reproductions.zojer2025.log_sentences import Found

__all__ = ["RUN_SENTENCES"]

_KEEPER: Final = "malleable-prefkeeper"
_RIGID: Final = REFERENCES[0]
#: Those that start more jobs by shrinking others to whatever they allow.
_OTHERS: Final = tuple(name for name in POLICIES if name != _KEEPER)
#: What is compared with rigid jobs, in this order.
_METRICS: Final = ("turnaround", "run", "wait", "utilisation")
#: Quartiles of fewer seeds mean nothing.
_FEWEST_SEEDS: Final = 4


def _changes(first: list[float], last: list[float]) -> str:
    """Return by how many per cent figures have changed."""
    return " ".join(f"{100 * (new / old - 1):+.0f}" for new, old in zip(last, first, strict=True)) + " %"


def _same_when_rigid(on: Figures) -> Found:
    turnarounds = {policy: on.mean(policy, 0, "turnaround") for policy in POLICIES}
    base, easy = (on.mean(policy, 0, "turnaround") for policy in REFERENCES)
    same = all(abs(value - base) <= 0.005 for value in turnarounds.values())
    texts = {policy: f"{value:.1f}" for policy, value in turnarounds.items()}
    return same, f"{each(texts)}; {_RIGID} {base:.1f}; textbook EASY {easy:.1f}"


def _rigid_baseline(on: Figures) -> Found:
    base, easy = (on.mean(policy, 0, "turnaround") for policy in REFERENCES)
    text = f"{_RIGID} {base:.1f}, textbook EASY {easy:.1f}: consistent with backfilling without a reservation"
    return abs(base - 4551) <= 1, text


def _full_malleability(on: Figures) -> Found:
    values = {policy: on.mean(policy, 1, "turnaround") for policy in POLICIES}
    close = any(abs(value / 1696 - 1) <= 0.02 for value in values.values())
    return close, each({policy: f"{value:.0f}" for policy, value in values.items()})


def _turnaround_falls(on: Figures) -> Found:
    paths = {policy: on.from_rigid(policy, "turnaround") for policy in POLICIES}
    falls = all(after < before for path in paths.values() for before, after in pairwise(path))
    return falls, each({policy: numbers(path) for policy, path in paths.items()})


def _steps(on: Figures) -> Found:
    steps = {
        policy: [1 - after / before for before, after in pairwise(on.from_rigid(policy, "turnaround"))]
        for policy in POLICIES
    }
    within = all(0.095 <= step <= 0.205 for some in steps.values() for step in some)
    return within, each({policy: f"{numbers(some, factor=100)} %" for policy, some in steps.items()})


def _run_follows(on: Figures) -> Found:
    paths = {policy: on.from_rigid(policy, "run") for policy in POLICIES}
    falls = all(after < before for path in paths.values() for before, after in pairwise(path))
    apart = max(
        on.mean(policy, share, "wait") / on.mean(policy, share, "turnaround")
        for policy in POLICIES
        for share in on.shares
    )
    return (
        falls,
        f"{each({p: numbers(path) for p, path in paths.items()})}; waiting is at most {percent(apart)}",
    )


def _little_wait(on: Figures) -> Found:
    shares = [share for share in on.shares if share >= 0.4]
    waits = {policy: on.series(policy, "wait", shares) for policy in _OTHERS}
    below = all(value < 20 for some in waits.values() for value in some)
    return below, each({policy: numbers(some, 1) for policy, some in waits.items()})


def _keeper_waits(on: Figures) -> Found:
    text = {
        policy: numbers([on.mean(policy, share, "wait") for share in (0.4, 0.6)], 1) for policy in POLICIES
    }
    stands_out = all(
        on.mean(_KEEPER, share, "wait") > 2 * max(on.mean(policy, share, "wait") for policy in _OTHERS)
        for share in (0.4, 0.6)
    )
    return stands_out, each(text)


def _utilisation_first(on: Figures) -> Found:
    value = on.mean(_RIGID, 0, "utilisation")
    return abs(value - 0.85) <= 0.006, f"{percent(value)}"


def _utilisation_later(on: Figures) -> Found:
    values = {policy: on.mean(policy, 0.6, "utilisation") for policy in POLICIES}
    near = all(abs(value - 0.95) <= 0.02 for value in values.values())
    return near, each({policy: f"{percent(value)}" for policy, value in values.items()})


def _utilisation_stagnates(on: Figures) -> Found:
    texts, stagnates = {}, True
    for policy in POLICIES:
        low, middle, high = (
            on.mean(_RIGID, 0, "utilisation"),
            on.mean(policy, 0.6, "utilisation"),
            on.mean(policy, 1, "utilisation"),
        )
        stagnates &= high - middle < 0.5 * (middle - low)
        texts[policy] = f"+{100 * (middle - low):.1f} then {100 * (high - middle):+.1f} points"
    return stagnates, each(texts)


def _quartiles_narrow(on: Figures) -> Found:
    if on.row(POLICIES[0], 0.2).seeds < _FEWEST_SEEDS:
        msg = f"less than {_FEWEST_SEEDS} seeds"
        raise MissingRunsError(msg)
    widths = {
        policy: [
            spread.high - spread.low
            for spread in (on.spread(policy, share, "utilisation") for share in (0.2, 0.8))
        ]
        for policy in POLICIES
    }
    narrow = all(last < first for first, last in widths.values())
    return narrow, each({policy: f"{numbers(some, 2, 100)} points" for policy, some in widths.items()})


def _all_better(on: Figures) -> Found:
    better, texts = True, {}
    for policy in POLICIES:
        first, last = (
            [on.mean(who, share, name) for name in _METRICS] for who, share in ((_RIGID, 0), (policy, 1))
        )
        better &= all(new < old for new, old in zip(last[:3], first[:3], strict=True)) and last[3] > first[3]
        texts[policy] = _changes(first, last)
    return better, each(texts)


def _rigid_is_worst(on: Figures) -> Found:
    base = on.mean(_RIGID, 0, "turnaround")
    worst = max(on.mean(policy, share, "turnaround") for policy in POLICIES for share in on.shares)
    return worst < base, f"{base:.0f} against at most {worst:.0f}"


def _keeper_below_four_minutes(on: Figures) -> Found:
    waits = on.series(_KEEPER, "wait")
    base = on.mean(_RIGID, 0, "wait")
    others = max(value for policy in _OTHERS for value in on.series(policy, "wait"))
    longer = max(waits) > base
    text = f"prefkeeper {numbers(waits)} s, the others at most {others:.0f}, rigid {base:.0f}"
    return longer and others <= base and max(waits) < 240, text


def _little_difference(on: Figures) -> Found:
    values = {policy: on.mean(policy, 1, "turnaround") for policy in _OTHERS}
    apart = max(values.values()) / min(values.values()) - 1
    return apart <= 0.1, f"{each({p: f'{v:.0f}' for p, v in values.items()})}: {percent(apart, 0)} apart"


def _little_share_suffices(on: Figures) -> Found:
    base = {name: on.mean(_RIGID, 0, name) for name in _METRICS}
    better, texts = True, {}
    for policy in POLICIES:
        now = {name: on.mean(policy, 0.2, name) for name in base}
        better &= now["turnaround"] < base["turnaround"] and now["run"] < base["run"]
        better &= now["utilisation"] > base["utilisation"]
        better &= policy == _KEEPER or now["wait"] < base["wait"]
        texts[policy] = _changes(list(base.values()), list(now.values()))
    return better, each(texts)


def _keeper_gains_less(on: Figures) -> Found:
    values = {policy: on.series(policy, "turnaround") for policy in POLICIES}
    less = all(
        values[_KEEPER][idx] >= max(values[policy][idx] for policy in _OTHERS)
        for idx in range(len(on.shares))
    )
    return less, each({policy: numbers(some) for policy, some in values.items()})


def _turnaround_range(on: Figures) -> Found:
    base = on.mean(_RIGID, 0, "turnaround")
    gains = {policy: 1 - on.mean(policy, 1, "turnaround") / base for policy in POLICIES}
    within = all(0.369 <= gain <= 0.6687 for gain in gains.values())
    return within, each({policy: f"{percent(gain)}" for policy, gain in gains.items()})


def _utilisation_range(on: Figures) -> Found:
    base = on.mean(_RIGID, 0, "utilisation")
    gains = {policy: on.mean(policy, 1, "utilisation") / base - 1 for policy in POLICIES}
    within = all(0.1623 <= gain <= 0.5194 for gain in gains.values())
    return within, each({policy: f"{percent(gain)}" for policy, gain in gains.items()})


def _a_third_more(on: Figures) -> Found:
    base = on.mean(_RIGID, 0, "utilisation")
    gains = [on.mean(policy, 1, "utilisation") / base - 1 for policy in POLICIES]
    most = percent(1 / base - 1)
    text = f"{percent(min(gains))} to {percent(max(gains))}; from {percent(base)} at most {most} is possible"
    return any(abs(gain - 0.35) <= 0.02 for gain in gains), text


def _tick_hardly_matters(on: Figures) -> Found:
    coarse, fine = on.tick_runs()
    return abs(coarse / fine - 1) <= 0.05, f"min at 100 %: {fine:.0f} s with 1 s, {coarse:.0f} s with 10 s"


#: Section, sentence, and what the runs say of it.
RUN_SENTENCES: Final[tuple[tuple[str, str, Callable[[Figures], Found]], ...]] = (
    ("3.3", "points 10 s apart instead of 1 s change results very slightly [5 %]", _tick_hardly_matters),
    ("3.3, 4.5", "with rigid jobs only, all schedulers behave identically", _same_when_rigid),
    ("4.2", "without malleable jobs EASY has a mean turnaround of 4551 s", _rigid_baseline),
    ("4.2", "with malleable jobs only it is 1696 s [one strategy within 2 %]", _full_malleability),
    ("4.2", "turnaround falls consistently with rising malleability", _turnaround_falls),
    ("4.2", "each 20 % more yield about 10-20 % [9.5-20.5]", _steps),
    ("4.2", "the run times of jobs show the same pattern", _run_follows),
    ("4.2", "waits fall below 20 s at 40 % [all but prefkeeper]", _little_wait),
    ("4.2", "prefkeeper stands out with longer waits, above all at 40 and 60 % [twice]", _keeper_waits),
    ("4.2", "utilisation begins at 85 %", _utilisation_first),
    ("4.2", "and reaches around 95 % at 60 % [2 points]", _utilisation_later),
    ("4.2", "beyond that the gains stagnate [half of those before]", _utilisation_stagnates),
    ("4.2", "its quartiles over seeds narrow with malleability [80 % against 20 %]", _quartiles_narrow),
    *RESIZE_SENTENCES,
    ("4.5", "the rigid scheduler is the worst", _rigid_is_worst),
    ("4.5", "malleability improves turnaround, run times, waits and utilisation [100 %]", _all_better),
    ("4.5", "only prefkeeper lengthens waits, to less than four minutes", _keeper_below_four_minutes),
    ("5", "on KNL utilisation improves by about 35 %", _a_third_more),
    ("6.1", "strategies do not differ much, prefkeeper aside [10 % at 100 %]", _little_difference),
    ("6.1", "the benefits of prefkeeper are less", _keeper_gains_less),
    (
        "6.1",
        "effects on the four are evident at 20 % already [prefkeeper's wait aside]",
        _little_share_suffices,
    ),
    ("1", "turnaround decreases by 36.9-66.87 %, by log", _turnaround_range),
    ("1", "utilisation increases by 16.23-51.94 %, by log", _utilisation_range),
)
