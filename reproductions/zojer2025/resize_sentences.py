"""What the thesis says of expansions and shrinks per job.

It does not say whether one of several nodes counts once, or as many times as nodes: both are tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from reproductions.zojer2025.figures import each, numbers
from reproductions.zojer2025.runs import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from reproductions.zojer2025.figures import Figures
    from reproductions.zojer2025.log_sentences import Found

__all__ = ["RESIZE_SENTENCES"]


class _Count(NamedTuple):
    """A way to count changes: fields of `Run`."""

    name: str
    up: str
    down: str


_COUNTS: Final = (
    _Count("changes", "expansions", "shrinks"),
    _Count("nodes", "nodes_gained", "nodes_lost"),
)
_MIN: Final = POLICIES[0]


def _either(check: Callable[[Figures, _Count], Found]) -> Callable[[Figures], Found]:
    """Return the check that holds if it does with one way to count."""

    def checked(on: Figures) -> Found:
        found = {count.name: check(on, count) for count in _COUNTS}
        words = {True: "yes", False: "no"}
        texts = [f"{name} ({words[bool(holds)]}): {text}" for name, (holds, text) in found.items()]
        return any(holds for holds, _ in found.values()), " | ".join(texts)

    return checked


def _expansions_fall(on: Figures, count: _Count) -> Found:
    falls = all(on.falls(policy, count.up) for policy in POLICIES)
    return falls, each({policy: numbers(on.series(policy, count.up), 1) for policy in POLICIES})


def _two_expand_most(on: Figures, count: _Count) -> Found:
    most = ("malleable-prefkeeper", "malleable-average")
    rest = [policy for policy in POLICIES if policy not in most]
    ratios = [
        min(on.mean(policy, share, count.up) for policy in most)
        / max(*(on.mean(policy, share, count.up) for policy in rest), 1e-9)
        for share in on.shares
    ]
    return all(
        ratio > 2 for ratio in ratios
    ), f"the less of the two / the more of the others {numbers(ratios, 2)}"


def _twenty_shrinks(on: Figures, count: _Count) -> Found:
    values = {policy: on.mean(policy, 0.2, count.down) for policy in POLICIES}
    near = sum(15 <= value <= 25 for value in values.values()) >= 3
    return near, each({policy: f"{value:.1f}" for policy, value in values.items()})


def _shrinks_stable(on: Figures, count: _Count) -> Found:
    paths = {policy: on.series(policy, count.down) for policy in POLICIES if policy != _MIN}
    stable = all(some[0] >= some[-1] >= 0.5 * some[0] for some in paths.values())
    return stable, each({policy: numbers(some, 1) for policy, some in paths.items()})


def _min_shrinks_more(on: Figures, count: _Count) -> Found:
    some = on.series(_MIN, count.down)
    return some[-1] > some[0], numbers(some, 1)


def _pref_resizes_least(on: Figures, count: _Count) -> Found:
    totals = {
        policy: [on.mean(policy, share, count.up) + on.mean(policy, share, count.down) for share in on.shares]
        for policy in POLICIES
    }
    least = all(
        min(column) == column[POLICIES.index("malleable-pref")]
        for column in zip(*totals.values(), strict=True)
    )
    return least, each({policy: numbers(some, 1) for policy, some in totals.items()})


#: Section, sentence, and what the runs say of it.
RESIZE_SENTENCES: Final[tuple[tuple[str, str, Callable[[Figures], Found]], ...]] = (
    ("4.2", "expansions per job decrease steadily", _either(_expansions_fall)),
    ("4.2", "prefkeeper and average expand most, more than twice as often", _either(_two_expand_most)),
    ("4.2", "most strategies begin at around 20 shrinks per job [15-25, three]", _either(_twenty_shrinks)),
    ("4.2", "shrinks decrease slightly [not below half; all but min]", _either(_shrinks_stable)),
    ("4.2", "those of min increase", _either(_min_shrinks_more)),
    ("4.5", "pref expands and shrinks least", _either(_pref_resizes_least)),
)
