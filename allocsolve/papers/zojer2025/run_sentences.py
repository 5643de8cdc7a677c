"""What the thesis says of its simulations of Cori KNL, held against ours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from allocsolve.papers.zojer2025.runs import FINE_TICK, POLICIES, REFERENCES, TICK
from allocsolve.pictures.text import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allocsolve.papers.zojer2025.log_sentences import Found
    from allocsolve.papers.zojer2025.reproduction import PolicyRow, Reproduction, Spread

__all__ = ["RUN_SENTENCES", "Figures", "MissingRunsError"]

_KEEPER: Final = "malleable-prefkeeper"
_RIGID: Final = REFERENCES[0]
#: Those that start more jobs by shrinking others to whatever they allow.
_OTHERS: Final = tuple(name for name in POLICIES if name != _KEEPER)
#: Quartiles of fewer seeds mean nothing.
_FEWEST_SEEDS: Final = 4


class MissingRunsError(LookupError):
    """There are no runs of a policy and share that a sentence speaks of; the message names them."""


class Figures:
    """The figures of the policies of the thesis, by policy and share."""

    def __init__(self, reproduction: Reproduction) -> None:
        self._rows = {(row.policy, row.share): row for row in reproduction.policies}
        self._runs = reproduction.runs

    @property
    def shares(self) -> list[float]:
        """Shares with malleable jobs, increasing; at least one."""
        shares = sorted({share for _, share in self._rows if share > 0})
        if not shares:
            msg = "no runs with malleable jobs"
            raise MissingRunsError(msg)
        return shares

    def row(self, policy: str, share: float) -> PolicyRow:
        """Return a row."""
        row = self._rows.get((policy, share))
        if row is None:
            msg = f"no runs of {policy} at {100 * share:g} %"
            raise MissingRunsError(msg)
        return row

    def spread(self, policy: str, share: float, name: str) -> Spread:
        """Return a figure with its quartiles over seeds."""
        return self.row(policy, share).figures[name]

    def mean(self, policy: str, share: float, name: str) -> float:
        """Return the mean of a figure over seeds."""
        return self.spread(policy, share, name).mean

    def series(self, policy: str, name: str, shares: Iterable[float] | None = None) -> list[float]:
        """Return the means of a figure by share; of all with malleable jobs by default, which are several."""
        chosen = self.shares if shares is None else [*shares]
        if len(chosen) < 2:
            msg = "less than two shares"
            raise MissingRunsError(msg)
        return [self.mean(policy, share, name) for share in chosen]

    def falls(self, policy: str, name: str) -> bool:
        """Tell whether a figure falls with every share, from the first to the last."""
        return all(after < before for before, after in pairwise(self.series(policy, name)))

    def from_rigid(self, policy: str, name: str) -> list[float]:
        """Return the means of a figure by share, with that of rigid jobs first."""
        return [self.mean(_RIGID, 0, name), *self.series(policy, name)]

    def tick_runs(self) -> tuple[float, float]:
        """Return the turnaround of one policy where all jobs are malleable: with either tick."""
        by_tick = {run.tick: run for run in self._runs if run.share == 1 and run.policy == POLICIES[0]}
        if {TICK, FINE_TICK} - {*by_tick}:
            msg = f"no runs of {POLICIES[0]} at 100 % with both ticks"
            raise MissingRunsError(msg)
        return by_tick[TICK].turnaround, by_tick[FINE_TICK].turnaround


def _each(values: dict[str, str]) -> str:
    """Return a text for each policy."""
    return "; ".join(f"{policy.removeprefix('malleable-')} {text}" for policy, text in values.items())


def _path(values: Iterable[float], digits: int = 0, factor: float = 1) -> str:
    return " ".join(f"{factor * value:.{digits}f}" for value in values)


def _same_when_rigid(on: Figures) -> Found:
    turnarounds = {policy: on.mean(policy, 0, "turnaround") for policy in POLICIES}
    base, easy = (on.mean(policy, 0, "turnaround") for policy in REFERENCES)
    same = all(abs(value - base) <= 0.005 for value in turnarounds.values())
    texts = {policy: f"{value:.1f}" for policy, value in turnarounds.items()}
    return same, f"{_each(texts)}; {_RIGID} {base:.1f}; textbook EASY {easy:.1f}"


def _rigid_baseline(on: Figures) -> Found:
    base, easy = (on.mean(policy, 0, "turnaround") for policy in REFERENCES)
    text = f"{_RIGID} {base:.1f}, textbook EASY {easy:.1f}: consistent with backfilling without a reservation"
    return abs(base - 4551) <= 1, text


def _full_malleability(on: Figures) -> Found:
    values = {policy: on.mean(policy, 1, "turnaround") for policy in POLICIES}
    close = any(abs(value / 1696 - 1) <= 0.02 for value in values.values())
    return close, _each({policy: f"{value:.0f}" for policy, value in values.items()})


def _turnaround_falls(on: Figures) -> Found:
    paths = {policy: on.from_rigid(policy, "turnaround") for policy in POLICIES}
    falls = all(after < before for path in paths.values() for before, after in pairwise(path))
    return falls, _each({policy: _path(path) for policy, path in paths.items()})


def _steps(on: Figures) -> Found:
    steps = {
        policy: [1 - after / before for before, after in pairwise(on.from_rigid(policy, "turnaround"))]
        for policy in POLICIES
    }
    within = all(0.095 <= step <= 0.205 for some in steps.values() for step in some)
    return within, _each({policy: f"{_path(some, factor=100)} %" for policy, some in steps.items()})


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
        f"{_each({p: _path(path) for p, path in paths.items()})}; waiting is at most {percent(apart)}",
    )


def _little_wait(on: Figures) -> Found:
    shares = [share for share in on.shares if share >= 0.4]
    waits = {policy: on.series(policy, "wait", shares) for policy in _OTHERS}
    below = all(value < 20 for some in waits.values() for value in some)
    return below, _each({policy: _path(some, 1) for policy, some in waits.items()})


def _keeper_waits(on: Figures) -> Found:
    text = {policy: _path([on.mean(policy, share, "wait") for share in (0.4, 0.6)], 1) for policy in POLICIES}
    stands_out = all(
        on.mean(_KEEPER, share, "wait") > 2 * max(on.mean(policy, share, "wait") for policy in _OTHERS)
        for share in (0.4, 0.6)
    )
    return stands_out, _each(text)


def _utilisation_first(on: Figures) -> Found:
    value = on.mean(_RIGID, 0, "utilisation")
    return abs(value - 0.85) <= 0.006, f"{percent(value)}"


def _utilisation_later(on: Figures) -> Found:
    values = {policy: on.mean(policy, 0.6, "utilisation") for policy in POLICIES}
    near = all(abs(value - 0.95) <= 0.02 for value in values.values())
    return near, _each({policy: f"{percent(value)}" for policy, value in values.items()})


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
    return stagnates, _each(texts)


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
    return narrow, _each({policy: f"{_path(some, 2, 100)} points" for policy, some in widths.items()})


def _expansions_fall(on: Figures) -> Found:
    falls = all(on.falls(policy, "expansions") for policy in POLICIES)
    return falls, _each({policy: _path(on.series(policy, "expansions"), 1) for policy in POLICIES})


def _two_expand_most(on: Figures) -> Found:
    most = ("malleable-prefkeeper", "malleable-average")
    rest = [policy for policy in POLICIES if policy not in most]
    ratios = [
        min(on.mean(policy, share, "expansions") for policy in most)
        / max(on.mean(policy, share, "expansions") for policy in rest)
        for share in on.shares
    ]
    return all(ratio > 2 for ratio in ratios), f"least of the two / most of the others: {_path(ratios, 2)}"


def _shrinks_stable(on: Figures) -> Found:
    paths = {policy: on.series(policy, "shrinks") for policy in (*_OTHERS, _KEEPER) if policy != POLICIES[0]}
    stable = all(path[0] >= path[-1] >= 0.5 * path[0] for path in paths.values())
    return stable, _each({policy: _path(path, 1) for policy, path in paths.items()})


def _twenty_shrinks(on: Figures) -> Found:
    events = {policy: on.mean(policy, 0.2, "shrinks") for policy in POLICIES}
    nodes = {policy: on.mean(policy, 0.2, "nodes_lost") for policy in POLICIES}
    near = sum(15 <= value <= 25 for value in events.values()) >= 3
    texts = {policy: f"{events[policy]:.1f} shrinks of {nodes[policy]:.1f} nodes" for policy in POLICIES}
    return near, _each(texts)


def _min_shrinks_more(on: Figures) -> Found:
    path = on.series(POLICIES[0], "shrinks")
    lost = on.series(POLICIES[0], "nodes_lost")
    return path[-1] > path[0], f"{_path(path, 1)} shrinks, {_path(lost, 1)} nodes"


def _all_better(on: Figures) -> Found:
    better, texts = True, {}
    for policy in POLICIES:
        first, last = (
            [on.mean(who, share, name) for name in ("turnaround", "run", "wait", "utilisation")]
            for who, share in ((_RIGID, 0), (policy, 1))
        )
        better &= all(new < old for new, old in zip(last[:3], first[:3], strict=True)) and last[3] > first[3]
        texts[policy] = " ".join(f"{new / old - 1:+.0%}" for new, old in zip(last, first, strict=True))
    return better, _each(texts)


def _rigid_is_worst(on: Figures) -> Found:
    base = on.mean(_RIGID, 0, "turnaround")
    worst = max(on.mean(policy, share, "turnaround") for policy in POLICIES for share in on.shares)
    return worst < base, f"{base:.0f} against at most {worst:.0f}"


def _keeper_below_four_minutes(on: Figures) -> Found:
    waits = on.series(_KEEPER, "wait")
    base = on.mean(_RIGID, 0, "wait")
    others = max(value for policy in _OTHERS for value in on.series(policy, "wait"))
    longer = max(waits) > base
    text = f"prefkeeper {_path(waits)} s, the others at most {others:.0f}, rigid {base:.0f}"
    return longer and others <= base and max(waits) < 240, text


def _pref_resizes_least(on: Figures) -> Found:
    totals = {
        policy: [
            on.mean(policy, share, "expansions") + on.mean(policy, share, "shrinks") for share in on.shares
        ]
        for policy in POLICIES
    }
    least = all(
        min(POLICIES, key=lambda p: totals[p][idx]) == "malleable-pref" for idx in range(len(on.shares))
    )
    return least, _each({policy: _path(some, 1) for policy, some in totals.items()})


def _little_difference(on: Figures) -> Found:
    values = {policy: on.mean(policy, 1, "turnaround") for policy in _OTHERS}
    apart = max(values.values()) / min(values.values()) - 1
    return apart <= 0.1, f"{_each({p: f'{v:.0f}' for p, v in values.items()})}: {percent(apart, 0)} apart"


def _little_share_suffices(on: Figures) -> Found:
    base = {name: on.mean(_RIGID, 0, name) for name in ("turnaround", "wait", "run", "utilisation")}
    better, texts = True, {}
    for policy in POLICIES:
        now = {name: on.mean(policy, 0.2, name) for name in base}
        better &= now["turnaround"] < base["turnaround"] and now["run"] < base["run"]
        better &= now["utilisation"] > base["utilisation"]
        better &= policy == _KEEPER or now["wait"] < base["wait"]
        texts[policy] = " ".join(f"{now[name] / base[name] - 1:+.0%}" for name in base)
    return better, _each(texts)


def _keeper_gains_less(on: Figures) -> Found:
    values = {policy: on.series(policy, "turnaround") for policy in POLICIES}
    less = all(
        values[_KEEPER][idx] >= max(values[policy][idx] for policy in _OTHERS)
        for idx in range(len(on.shares))
    )
    return less, _each({policy: _path(some) for policy, some in values.items()})


def _turnaround_range(on: Figures) -> Found:
    base = on.mean(_RIGID, 0, "turnaround")
    gains = {policy: 1 - on.mean(policy, 1, "turnaround") / base for policy in POLICIES}
    within = all(0.369 <= gain <= 0.6687 for gain in gains.values())
    return within, _each({policy: f"{percent(gain)}" for policy, gain in gains.items()})


def _utilisation_range(on: Figures) -> Found:
    base = on.mean(_RIGID, 0, "utilisation")
    gains = {policy: on.mean(policy, 1, "utilisation") / base - 1 for policy in POLICIES}
    within = all(0.1623 <= gain <= 0.5194 for gain in gains.values())
    return within, _each({policy: f"{percent(gain)}" for policy, gain in gains.items()})


def _a_third_more(on: Figures) -> Found:
    base = on.mean(_RIGID, 0, "utilisation")
    gains = [on.mean(policy, 1, "utilisation") / base - 1 for policy in POLICIES]
    most = percent(1 / base - 1)
    text = f"{percent(min(gains))} to {percent(max(gains))}; from {percent(base)} at most {most} is possible"
    return any(abs(gain - 0.35) <= 0.02 for gain in gains), text


def _tick_hardly_matters(on: Figures) -> Found:
    coarse, fine = on.tick_runs()
    return abs(coarse / fine - 1) <= 0.02, f"min at 100 %: {fine:.0f} s with 1 s, {coarse:.0f} s with 10 s"


#: Section, sentence, and what the runs say of it.
RUN_SENTENCES: Final[tuple[tuple[str, str, Callable[[Figures], Found]], ...]] = (
    ("3.3", "points 10 s apart instead of 1 s change results very slightly [2 %]", _tick_hardly_matters),
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
    ("4.2", "expansions per job decrease steadily", _expansions_fall),
    ("4.2", "prefkeeper and average expand most, more than twice as often", _two_expand_most),
    ("4.2", "most strategies begin at around 20 shrinks per job [15-25, three of four]", _twenty_shrinks),
    ("4.2", "shrinks decrease slightly [not below half; all but min]", _shrinks_stable),
    ("4.2", "those of min increase", _min_shrinks_more),
    ("4.5", "the rigid scheduler is the worst", _rigid_is_worst),
    ("4.5", "malleability improves turnaround, run times, waits and utilisation [100 %]", _all_better),
    ("4.5", "only prefkeeper lengthens waits, to less than four minutes", _keeper_below_four_minutes),
    ("4.5", "pref expands and shrinks least", _pref_resizes_least),
    ("5", "on KNL utilisation improves by about 35 %", _a_third_more),
    ("6.1", "strategies do not differ much, prefkeeper aside [10 % at 100 %]", _little_difference),
    ("6.1", "the benefits of prefkeeper are less", _keeper_gains_less),
    (
        "6.1",
        "effects are evident at 20 % already [all metrics but the wait of prefkeeper]",
        _little_share_suffices,
    ),
    ("1", "turnaround decreases by 36.9-66.87 %, by log", _turnaround_range),
    ("1", "utilisation increases by 16.23-51.94 %, by log", _utilisation_range),
)
