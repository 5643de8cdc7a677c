"""What the paper says of its results, each claim held against the runs, with both readings of System."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from allocsolve.pictures.chart import percent
from reproductions.lina2022.figures import Figures, MissingRunsError, better
from reproductions.lina2022.reproduction import METRICS
from reproductions.lina2022.runs import PRINTED_SYSTEM, RULES, TEXT_SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reproductions.lina2022.figures import Contrast
    from reproductions.lina2022.reproduction import Reproduction

__all__ = ["Claim", "Verdict", "claims"]

#: Of a claim; it ``depends`` if it holds with one reading of System only; ``not run`` if runs are missing.
Verdict: TypeAlias = Literal["holds", "does not hold", "depends on the reading", "not run"]

#: Whether a claim holds, and our figures.
_Found: TypeAlias = tuple[bool, str]

_PAIRS: Final = (("KIT", "KIT_shrunk"), ("LLNL", "LLNL_shrunk"))


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, paraphrased, and what became of it."""

    section: str
    text: str
    verdict: Verdict
    figures: str


def claims(reproduction: Reproduction) -> tuple[Claim, ...]:
    """Return the claims of sections 5.3 and 5.4 with what the runs say of them.

    Where a claim is vague ("most", "insignificant"), what it is held to stands in its text, in brackets.
    Figures are means over seeds, where no order of victims is named over all of them, too.
    """
    return tuple(_claims(Figures(reproduction)))


def _claims(on: Figures) -> Iterator[Claim]:
    for section, text, of_system in _OF_SYSTEM:
        yield _judged(section, text, partial(_both_readings, on, of_system))
    for section, text, of_all in _OF_ALL:
        yield _judged(section, text, partial(_one_reading, on, of_all))


def _judged(section: str, text: str, judge: Callable[[], tuple[Verdict, str]]) -> Claim:
    try:
        return Claim(section, text, *judge())
    except MissingRunsError as missing:
        return Claim(section, text, "not run", str(missing))


def _verdict(found: _Found) -> Verdict:
    return "holds" if found[0] else "does not hold"


def _one_reading(on: Figures, of_all: Callable[[Figures], _Found]) -> tuple[Verdict, str]:
    found = of_all(on)
    return _verdict(found), found[1]


def _both_readings(on: Figures, of_system: Callable[[Figures, str], _Found]) -> tuple[Verdict, str]:
    text, printed = of_system(on, TEXT_SYSTEM), of_system(on, PRINTED_SYSTEM)
    told = f"as in the text: {text[1]}; as printed: {printed[1]}"
    return (_verdict(text) if text[0] == printed[0] else "depends on the reading"), told


def _algorithms(system: str) -> tuple[str, ...]:
    return ("default", "application", system)


def _gains(on: Figures, system: str, share: float) -> dict[tuple[str, str], float]:
    """Return by what part turnaround is better than without elastic jobs."""
    return {
        (log, name): 1 - on.mean(log, share, name, "turnaround") / on.rigid(log, "turnaround")
        for log in on.logs
        for name in _algorithms(system)
    }


def _little_suffices(on: Figures, system: str) -> _Found:
    gains = _gains(on, system, on.shares[0])
    texts = []
    for log in on.logs:
        some = (f"{name.split('-')[0]} {percent(gains[log, name])}" for name in _algorithms(system))
        texts.append(f"{log} {', '.join(some)}")
    return all(gain > 0 for gain in gains.values()), "; ".join(texts)


def _always_better(on: Figures, system: str) -> _Found:
    worse = [
        f"{log} {name} {100 * share:g} %"
        for share in on.shares
        for (log, name), gain in _gains(on, system, share).items()
        if gain <= 0
    ]
    count = len(on.shares) * len(on.logs) * 3
    return not worse, f"{count - len(worse)} of {count} cells"


def _system_is(metric: str, *, best: bool, logs: tuple[str, ...] = ()) -> Callable[[Figures, str], _Found]:
    """Return a claim: System is the best, or the worst, of the three in all cells."""

    def of_system(on: Figures, system: str) -> _Found:
        on.need(*logs)
        names, texts, holds = logs or on.logs, [], True
        for log in names:
            count = 0
            for share in on.shares:
                for rule in RULES:
                    values = {name: on.one(log, share, name, rule, metric) for name in _algorithms(system)}
                    own = values.pop(system)
                    count += all(better(metric, *((own, v) if best else (v, own))) for v in values.values())
            total = len(on.shares) * len(RULES)
            holds &= count == total
            texts.append(f"{log} {count}/{total}")
        return holds, ", ".join(texts)

    return of_system


def _application_is_best(metric: str) -> Callable[[Figures, str], _Found]:
    def of_system(on: Figures, system: str) -> _Found:
        texts, counts = [], 0
        for log in on.logs:
            count = 0
            for share in on.shares:
                for rule in RULES:
                    own = on.one(log, share, "application", rule, metric)
                    others = (on.one(log, share, name, rule, metric) for name in ("default", system))
                    count += all(own <= other for other in others)
            counts += count
            texts.append(f"{log} {count}")
        total = len(on.logs) * len(on.shares) * len(RULES)
        return counts > total / 2, f"{counts} of {total}: {', '.join(texts)}"

    return of_system


def _contrasts(on: Figures, system: str, metric: str) -> list[Contrast]:
    return [on.contrast(log, name, metric) for log in on.logs for name in _algorithms(system)]


def _rules_hardly_matter(on: Figures, system: str) -> _Found:
    found = max(_contrasts(on, system, "turnaround"), key=lambda one: one.difference)
    return found.difference <= 0.057, f"at most {percent(found.difference)} ({found.log}, {found.algorithm})"


def _load_evens_out(on: Figures, system: str) -> _Found:
    texts, holds = [], True
    for pair in _PAIRS:
        on.need(*pair)
        for name in _algorithms(system):
            first, last = (on.contrast(log, name, "turnaround").difference for log in pair)
            holds &= last < first
            texts.append(f"{pair[0]} {name.split('-')[0]} {percent(first)} then {percent(last)}")
    return holds, "; ".join(texts)


def _most(metric: str, best: str, worst: str) -> Callable[[Figures, str], _Found]:
    def of_system(on: Figures, system: str) -> _Found:
        found = _contrasts(on, system, metric)
        firsts, lasts = (sum(rule == own for own in some) for rule, some in _sides(found, best, worst))
        half = len(found) / 2
        text = f"{RULES[best]} best in {firsts}, {RULES[worst]} worst in {lasts} of {len(found)}"
        return firsts > half and lasts > half, text

    return of_system


def _sides(found: list[Contrast], best: str, worst: str) -> tuple[tuple[str, list[str]], ...]:
    return (best, [one.best for one in found]), (worst, [one.worst for one in found])


def _slowdown_differs_most(on: Figures, system: str) -> _Found:
    most = {metric: max(one.difference for one in _contrasts(on, system, metric)) for metric in METRICS}
    holds = most["slowdown"] > max(most["turnaround"], most["utilisation"])
    return holds, ", ".join(f"{metric} {percent(value)}" for metric, value in most.items())


def _saturates(on: Figures) -> _Found:
    on.need("Synthetic")
    paths = {log: on.path(log, "default", "turnaround") for log in on.logs}
    falls = {log: all(b < a for a, b in pairwise(path)) for log, path in paths.items()}
    told = "; ".join(f"{log} {' '.join(f'{value:.0f}' for value in path)}" for log, path in paths.items())
    return falls["Synthetic"] and not any(falls[log] for log in falls if log != "Synthetic"), told


def _same_as_default(on: Figures) -> _Found:
    on.need("KIT")
    apart = max(
        abs(on.mean("KIT", s, "application", m) / on.mean("KIT", s, "default", m) - 1)
        for s in on.shares
        for m in METRICS[:2]
    )
    return apart <= 0.005, f"at most {percent(apart, 2)} apart"


def _printed_is_application(on: Figures) -> _Found:
    apart = max(
        abs(on.mean(log, s, PRINTED_SYSTEM, m) / on.mean(log, s, "application", m) - 1)
        for log in on.logs
        for s in on.shares
        for m in METRICS[:2]
    )
    return apart > 0.005, f"its listing and that of Application are at most {percent(apart, 2)} apart"


def _most_used(log: str, printed: float) -> Callable[[Figures], _Found]:
    """Return a claim: utilisation comes to a figure, within 3 points."""

    def of_all(on: Figures) -> _Found:
        on.need(log)
        rules = ("gain",) if log.endswith("_full") else tuple(RULES)
        most = max(
            on.one(log, share, name, rule, "utilisation")
            for share in on.shares
            for name in ("default", TEXT_SYSTEM, PRINTED_SYSTEM)
            for rule in rules
        )
        return abs(most - printed) <= 0.03, f"at most {percent(most)}"

    return of_all


_OF_SYSTEM: Final[tuple[tuple[str, str, Callable[[Figures, str], _Found]], ...]] = (
    ("5.4", "10 % of elastic jobs already improve turnaround, in all cases", _little_suffices),
    ("5.3", "in all cases elastic jobs improve turnaround", _always_better),
    (
        "5.3",
        "System has the best utilisation on KIT and KIT_shrunk",
        _system_is("utilisation", best=True, logs=("KIT", "KIT_shrunk")),
    ),
    ("5.4", "System always has the best utilisation", _system_is("utilisation", best=True)),
    (
        "5.3",
        "System has the worst turnaround on KIT, KIT_shrunk and Synthetic",
        _system_is("turnaround", best=False, logs=("KIT", "KIT_shrunk", "Synthetic")),
    ),
    (
        "5.3",
        "System has the worst slowdown on KIT and KIT_shrunk",
        _system_is("slowdown", best=False, logs=("KIT", "KIT_shrunk")),
    ),
    ("5.4", "Application mostly has the lowest turnaround [half]", _application_is_best("turnaround")),
    ("5.4", "Application mostly has the lowest slowdown [half]", _application_is_best("slowdown")),
    ("5.4", "orders of victims differ little in turnaround [5.7 %]", _rules_hardly_matter),
    ("5.4", "at higher load they differ less in turnaround", _load_evens_out),
    (
        "5.4",
        "mostly Gain has the best turnaround, Random the worst [half]",
        _most("turnaround", "gain", "random"),
    ),
    (
        "5.4",
        "mostly Random has the best utilisation, Resource the worst [half]",
        _most("utilisation", "random", "shrinkable"),
    ),
    ("5.4", "they differ most in slowdown", _slowdown_differs_most),
)

_OF_ALL: Final[tuple[tuple[str, str, Callable[[Figures], _Found]], ...]] = (
    ("5.3", "Application and Default are mostly the same on KIT [.5 %, but slowdown]", _same_as_default),
    ("4", "System is an algorithm of its own, not Application [.5 %]", _printed_is_application),
    ("5.4", "turnaround falls with each share on Synthetic, on other workloads it stops", _saturates),
    ("5.4", "utilisation of KIT comes to 91 % [3 points]", _most_used("KIT", 0.91)),
    ("5.4", "with full flexibility it comes to 90 % on KIT", _most_used("KIT_full", 0.90)),
    ("5.4", "and to 98.5 % on KIT_shrunk", _most_used("KIT_shrunk_full", 0.985)),
)
