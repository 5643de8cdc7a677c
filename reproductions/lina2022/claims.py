"""What the paper says of its results, each claim held against the runs, with both readings of System."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from allocsolve.pictures.chart import percent
from reproductions.claims import Claim, Claims, Sentence, falling, numbers
from reproductions.lina2022.experiment import METRICS, PRINTED_SYSTEM, RULES, TEXT_SYSTEM, Figures, sign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reproductions.claims import Judgement
    from reproductions.lina2022.experiment import Reproduction

CLAIMS: Final = Claims[Figures]()
claim = CLAIMS.add

_PAIRS: Final = (("KIT", "KIT_shrunk"), ("LLNL", "LLNL_shrunk"))


def claims(reproduction: Reproduction) -> tuple[Sentence, ...]:
    """Return the claims of sections 5.3 and 5.4 with what the runs say of them.

    Those that speak of System are held against the runs of both of its readings. Figures are means over
    seeds, where no order of victims is named over all of them, too.
    """
    text, printed = (Figures(reproduction, system) for system in (TEXT_SYSTEM, PRINTED_SYSTEM))
    return tuple(_held(paraphrase, text, printed) for paraphrase in CLAIMS)


def _held(paraphrase: Claim[Figures], text: Figures, printed: Figures) -> Sentence:
    sentence = paraphrase.held(text)
    if not paraphrase.by_reading or sentence.verdict == "not run":
        return sentence
    other = paraphrase.held(printed)
    if other.verdict == "not run":
        return other
    figures = f"as in the text: {sentence.figures}; as printed: {other.figures}"
    verdict = sentence.verdict if sentence.verdict == other.verdict else "depends on the reading"
    return replace(sentence, verdict=verdict, figures=figures)


def _gains(on: Figures, share: float) -> dict[tuple[str, str], float]:
    """Return by what part turnaround is better than without elastic jobs."""
    return {
        (log, name): 1 - on.mean(log, share, name, "turnaround") / on.rigid(log, "turnaround")
        for log in on.logs
        for name in on.algorithms
    }


@claim("5.4", "10 % of elastic jobs already improve turnaround, in all cases")
def _little_suffices(on: Figures) -> Judgement:
    gains = _gains(on, on.shares[0])
    texts = []
    for log in on.logs:
        some = (f"{name.split('-')[0]} {percent(gains[log, name])}" for name in on.algorithms)
        texts.append(f"{log} {', '.join(some)}")
    return all(gain > 0 for gain in gains.values()), "; ".join(texts)


@claim("5.3", "in all cases elastic jobs improve turnaround")
def _always_better(on: Figures) -> Judgement:
    gains = [gain for share in on.shares for gain in _gains(on, share).values()]
    better = sum(gain > 0 for gain in gains)
    return better == len(gains), f"{better} of {len(gains)} cells"


def _beaten(on: Figures, log: str, metric: str, own: str, side: int) -> tuple[int, int]:
    """Return in how many cells an algorithm is above (side -1: below) both others, and how many there are."""
    others = [name for name in on.algorithms if name != own]
    cells = [(share, rule) for share in on.shares for rule in RULES]
    count = 0
    for share, rule in cells:
        value = on.of(log, share, own, rule, metric)
        count += all(side * value > side * on.of(log, share, name, rule, metric) for name in others)
    return count, len(cells)


def _system_is(metric: str, *logs: str, best: bool) -> Callable[[Figures], Judgement]:
    """Return a test whether System is the best, or the worst, of the three in all cells."""

    def test(on: Figures) -> Judgement:
        on.need(*logs)
        names = logs or on.logs
        counts = [
            _beaten(on, log, metric, on.system, sign(metric) if best else -sign(metric)) for log in names
        ]
        texts = (f"{log} {count}/{total}" for log, (count, total) in zip(names, counts, strict=True))
        return all(count == total for count, total in counts), ", ".join(texts)

    return test


claim("5.3", "System has the best utilisation on KIT and KIT_shrunk")(
    _system_is("utilisation", "KIT", "KIT_shrunk", best=True)
)
claim("5.4", "System always has the best utilisation")(_system_is("utilisation", best=True))
claim("5.3", "System has the worst turnaround on KIT, KIT_shrunk and Synthetic")(
    _system_is("turnaround", "KIT", "KIT_shrunk", "Synthetic", best=False)
)
claim("5.3", "System has the worst slowdown on KIT and KIT_shrunk")(
    _system_is("slowdown", "KIT", "KIT_shrunk", best=False)
)


def _application_is_best(metric: str) -> Callable[[Figures], Judgement]:
    """Return a test whether no other is better than Application in more than half of the cells."""

    def test(on: Figures) -> Judgement:
        others, counts = ("default", on.system), dict.fromkeys(on.logs, 0)
        for log in on.logs:
            for share in on.shares:
                for rule in RULES:
                    own = on.of(log, share, "application", rule, metric)
                    counts[log] += all(own <= on.of(log, share, name, rule, metric) for name in others)
        total, best = len(on.logs) * len(on.shares) * len(RULES), sum(counts.values())
        return best > total / 2, f"{best} of {total}: {', '.join(f'{log} {n}' for log, n in counts.items())}"

    return test


claim("5.4", "Application mostly has the lowest turnaround [half]")(_application_is_best("turnaround"))
claim("5.4", "Application mostly has the lowest slowdown [half]")(_application_is_best("slowdown"))


@claim("5.4", "orders of victims differ little in turnaround [5.7 %]")
def _rules_hardly_matter(on: Figures) -> Judgement:
    widest = max(on.contrasts(on.algorithms, ["turnaround"]), key=lambda contrast: contrast.difference)
    text = f"at most {percent(widest.difference)} ({widest.log}, {widest.algorithm})"
    return widest.difference <= 0.057, text


@claim("5.4", "at higher load they differ less in turnaround")
def _load_evens_out(on: Figures) -> Judgement:
    texts, holds = [], True
    for pair in _PAIRS:
        on.need(*pair)
        for name in on.algorithms:
            first, last = (on.contrast(log, name, "turnaround").difference for log in pair)
            holds &= last < first
            texts.append(f"{pair[0]} {name.split('-')[0]} {percent(first)} then {percent(last)}")
    return holds, "; ".join(texts)


def _mostly(metric: str, best: str, worst: str) -> Callable[[Figures], Judgement]:
    """Return a test which orders of victims are the best and the worst in more than half of the contrasts."""

    def test(on: Figures) -> Judgement:
        contrasts = on.contrasts(on.algorithms, [metric])
        firsts = sum(contrast.best == best for contrast in contrasts)
        lasts = sum(contrast.worst == worst for contrast in contrasts)
        half = len(contrasts) / 2
        text = f"{RULES[best]} best in {firsts}, {RULES[worst]} worst in {lasts} of {len(contrasts)}"
        return firsts > half and lasts > half, text

    return test


claim("5.4", "mostly Gain has the best turnaround, Random the worst [half]")(
    _mostly("turnaround", "gain", "random")
)
claim("5.4", "mostly Random has the best utilisation, Resource the worst [half]")(
    _mostly("utilisation", "random", "shrinkable")
)


@claim("5.4", "they differ most in slowdown")
def _slowdown_differs_most(on: Figures) -> Judgement:
    widest = {
        metric: max(contrast.difference for contrast in on.contrasts(on.algorithms, [metric]))
        for metric in METRICS
    }
    holds = widest["slowdown"] > max(widest["turnaround"], widest["utilisation"])
    return holds, ", ".join(f"{metric} {percent(value)}" for metric, value in widest.items())


def _apart(on: Figures, logs: Sequence[str], name: str, other: str) -> float:
    """Return by what part two algorithms differ at most, in turnaround and utilisation."""
    return max(
        abs(on.mean(log, share, name, metric) / on.mean(log, share, other, metric) - 1)
        for log in logs
        for share in on.shares
        for metric in METRICS[:2]
    )


@claim("5.3", "Application and Default are mostly the same on KIT [.5 %, but slowdown]", by_reading=False)
def _same_as_default(on: Figures) -> Judgement:
    on.need("KIT")
    apart = _apart(on, ["KIT"], "application", "default")
    return apart <= 0.005, f"at most {percent(apart, 2)} apart"


@claim("4", "System is an algorithm of its own, not Application [.5 %]", by_reading=False)
def _printed_is_application(on: Figures) -> Judgement:
    apart = _apart(on, on.logs, PRINTED_SYSTEM, "application")
    return apart > 0.005, f"its listing and that of Application are at most {percent(apart, 2)} apart"


@claim("5.4", "turnaround falls with each share on Synthetic, on other workloads it stops", by_reading=False)
def _saturates(on: Figures) -> Judgement:
    on.need("Synthetic")
    paths = {log: on.path(log, "default", "turnaround") for log in on.logs}
    falls = [log for log, path in paths.items() if falling(path)]
    return falls == ["Synthetic"], "; ".join(f"{log} {numbers(path)}" for log, path in paths.items())


def _highest_utilisation(log: str, printed: float) -> Callable[[Figures], Judgement]:
    """Return a test whether utilisation comes to a figure, within 3 points."""

    def test(on: Figures) -> Judgement:
        on.need(log)
        highest = max(
            on.of(log, share, name, rule, "utilisation")
            for share in on.shares
            for name in ("default", TEXT_SYSTEM, PRINTED_SYSTEM)
            for rule in (("gain",) if log.endswith("_full") else RULES)
        )
        return abs(highest - printed) <= 0.03, f"at most {percent(highest)}"

    return test


claim("5.4", "utilisation of KIT comes to 91 % [3 points]", by_reading=False)(
    _highest_utilisation("KIT", 0.91)
)
claim("5.4", "with full flexibility it comes to 90 % on KIT", by_reading=False)(
    _highest_utilisation("KIT_full", 0.90)
)
claim("5.4", "and to 98.5 % on KIT_shrunk", by_reading=False)(_highest_utilisation("KIT_shrunk_full", 0.985))
