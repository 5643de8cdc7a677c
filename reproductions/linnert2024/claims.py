"""What the paper says of its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from reproductions.linnert2024.measures import (
    best,
    contiguous_better,
    counts,
    falls,
    free_leak_better_still,
    free_leak_mostly_best,
    half_of_hilbert,
    half_of_its_own,
    half_the_successes,
    hilbert_beats_median,
    hilbert_gains,
    hilbert_moves_more,
    independent,
    leak_accepts,
    leak_supports,
    median_nearly_always_best,
    median_slightly_above,
    median_steady,
    more_evident,
    rises,
    similar,
    static_better,
    static_only_for_kind_0,
)
from reproductions.linnert2024.runs import FREE_LEAK, HILBERT, LEAK, LOADS, MEDIAN, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from reproductions.linnert2024.figures import Figures
    from reproductions.linnert2024.measures import Found

__all__ = ["CLAIMS", "Claim"]

_NORMAL: Final = next(iter(LOADS))
_MIXED: Final = PROGRAMS[-1]


class Claim(NamedTuple):
    """A claim of the paper, paraphrased; what it is held to stands in brackets."""

    section: str
    text: str
    test: Callable[[Figures, str], Found]
    #: Whether it is tested in each reading, or once.
    by_reading: bool = True


#: In the order of the paper.
CLAIMS: Final = (
    Claim(
        "5.1",
        "by free nodes alone 510, 400 and 260 jobs are accepted [within 10 %]",
        counts,
        by_reading=False,
    ),
    Claim(
        "5.1",
        "at heavy load Hilbert accepts more than 120 % of that",
        hilbert_gains,
        by_reading=False,
    ),
    Claim(
        "5.1",
        "at normal load MM accepts slightly more than Hilbert [by up to 15 %]",
        median_slightly_above,
        by_reading=False,
    ),
    Claim(
        "5.1",
        "at very heavy load MM accepts about half [.4 to .6] of what Hilbert does there",
        half_of_hilbert,
        by_reading=False,
    ),
    Claim(
        "5.1",
        "or: about half [.4 to .6] of what MM itself does at normal load",
        half_of_its_own,
        by_reading=False,
    ),
    Claim("5.1", "both leaks accept nearly all jobs [95 %] at all loads", leak_accepts),
    Claim("5.1", "what static strategies accept does not depend on the kind of programs", independent),
    Claim(
        "5.2",
        "normal load, kinds 0 and 1: MM cancels less than both leaks",
        static_better(MEDIAN, everywhere=True),
    ),
    Claim(
        "5.2",
        "so does Hilbert, to a certain extent [for a kind, than a leak]",
        static_better(HILBERT, everywhere=False),
    ),
    Claim("5.2", "normal load, kind 1: MM is the best of the four", best(_NORMAL, MEDIAN, 1)),
    Claim(
        "5.2",
        "normal load, kinds 2 and 3: the non-contiguous leak cancels much less [half] than static strategies",
        leak_supports,
    ),
    Claim(
        "5.2",
        "normal load, mixed kinds: the non-contiguous leak is the best",
        best(_NORMAL, FREE_LEAK, _MIXED),
    ),
    Claim("5.2", "the share that the leaks cancel rises with the load, for all kinds", rises),
    Claim(
        "5.2",
        "very heavy load, kinds 2 and 3: the non-contiguous leak is worse than the contiguous one",
        contiguous_better,
    ),
    Claim(
        "5.2",
        "very heavy load: MM is the best for almost all kinds [4 of 5]",
        median_nearly_always_best,
    ),
    Claim("5.2", "very heavy load, kind 0: Hilbert is better than MM", hilbert_beats_median),
    Claim("5.2", "the share that MM cancels hardly changes with the load [8 points]", median_steady),
    Claim("5.2", "that of Hilbert does for kind 0 [more than MM's]", hilbert_moves_more),
    Claim(
        "Fig. 15",
        "the non-contiguous leak cancels less than both static strategies almost everywhere [12 of 15 cells]",
        free_leak_mostly_best("cancelled_share", least=True),
    ),
    Claim(
        "5.2", "shares are similar with synchronous messages [within 10 points]", similar, by_reading=False
    ),
    Claim(
        "Fig. 16",
        "they are better for MM then, above all for kinds 1 and 3",
        falls((MEDIAN,), (1, 3)),
        by_reading=False,
    ),
    Claim(
        "5.3",
        "normal load, kinds 2 and 3: static strategies complete half as many jobs [1/1.6] as leaks",
        half_the_successes,
    ),
    Claim("5.3", "this is even more evident at the other loads", more_evident),
    Claim(
        "5.3",
        "very heavy load: static strategies complete more jobs than the contiguous leak only for kind 0",
        static_only_for_kind_0,
    ),
    Claim("5.3", "there the non-contiguous leak is better still", free_leak_better_still),
    Claim(
        "Fig. 17",
        "the non-contiguous leak completes more jobs than both almost everywhere [12 of 15 cells]",
        free_leak_mostly_best("successful", least=False),
    ),
    Claim(
        "5.3",
        "with synchronous messages Hilbert and the contiguous leak cancel fewer jobs [mixed kinds]",
        falls((HILBERT, LEAK), (_MIXED,)),
        by_reading=False,
    ),
    Claim("5.3", "so does the contiguous leak above all for kind 1", falls((LEAK,), (1,)), by_reading=False),
)
