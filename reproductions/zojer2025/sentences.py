"""The sentences of the thesis' results, each held against the runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from reproductions.zojer2025.figures import Figures, MissingRunsError
from reproductions.zojer2025.log_sentences import LOG_SENTENCES
from reproductions.zojer2025.run_sentences import RUN_SENTENCES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reproductions.zojer2025.log_sentences import Found
    from reproductions.zojer2025.reproduction import Reproduction

__all__ = ["Sentence", "Verdict", "sentences"]

#: Of a sentence; ``not run`` if shares, seeds or policies are missing that it speaks of.
Verdict: TypeAlias = Literal["holds", "does not hold", "cannot be tested", "not run"]

#: Sentences about what is not at hand: section, what they say, why they cannot be tested.
_UNTESTABLE = (
    ("4.1", "Cori Haswell: all sentences on its jobs and metrics", "a day of the published log is missing"),
    ("4.3", "Eagle: all sentences on its jobs and metrics", "the log is not at hand"),
    ("4.4", "Theta: all sentences on its jobs and metrics", "the log of 2023 is not at hand"),
    ("4.5", "rates of submission of the other three logs", "the logs are not at hand"),
    (
        "4.5",
        "except on Theta the rigid scheduler is the worst; there prefkeeper is the best",
        "no log of Theta",
    ),
    (
        "6.1",
        "over all logs: turnaround -51.46 %, wait -83.36 %, run time -39.47 %, utilisation +24.05 %",
        "three of the four logs are not at hand",
    ),
    (
        "3.3",
        "the rigid scheduler is neither better nor worse with malleable jobs",
        "by definition: it does not see which jobs are malleable",
    ),
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the thesis, paraphrased, and what became of it."""

    section: str
    text: str
    verdict: Verdict
    figures: str  #: ours; or why it cannot be tested


def sentences(reproduction: Reproduction) -> tuple[Sentence, ...]:
    """Return the sentences of sections 3.3 to 6.1 that speak of results, with what the runs say of them.

    Where a sentence is vague ("about", "significantly"), the bound that it is held against stands in its
    text, in brackets.

    Parameters
    ----------
    reproduction
        See `reproductions.zojer2025.examine`.
    """
    return tuple(_sentences(reproduction))


def _sentences(reproduction: Reproduction) -> Iterator[Sentence]:
    for section, text, on_log in LOG_SENTENCES:
        yield _judged(section, text, on_log(reproduction.log))
    figures = Figures(reproduction)
    for section, text, on_runs in RUN_SENTENCES:
        try:
            yield _judged(section, text, on_runs(figures))
        except MissingRunsError as missing:
            yield Sentence(section, text, "not run", str(missing))
    yield from (Sentence(section, text, "cannot be tested", why) for section, text, why in _UNTESTABLE)


def _judged(section: str, text: str, found: Found) -> Sentence:
    holds, figures = found
    verdict: Verdict = "cannot be tested" if holds is None else "holds" if holds else "does not hold"
    return Sentence(section, text, verdict, figures)
