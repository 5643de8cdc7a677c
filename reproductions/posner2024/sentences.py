"""The sentences of the paper's results, each held against the runs in every reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from reproductions.posner2024.claims import CLAIMS, Figures, MissingRunsError
from reproductions.posner2024.runs import READINGS

if TYPE_CHECKING:
    from reproductions.posner2024.reproduction import Reproduction

__all__ = ["Sentence", "Verdict", "sentences"]

#: Of a sentence, over all readings; ``not run`` if shares are missing that it speaks of.
Verdict: TypeAlias = Literal["holds", "does not hold", "depends", "not run"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the paper, paraphrased, and what became of it."""

    section: str
    text: str
    verdict: Verdict
    readings: tuple[str, ...]  #: in which it holds
    figures: str  #: ours in the first reading; or what is missing


def sentences(reproduction: Reproduction) -> tuple[Sentence, ...]:
    """Return the sentences of sections 4.2 and 4.3 that speak of results, with what the runs say of them.

    A sentence ``holds`` if it does in all readings, and ``depends`` if in some. Where it is vague, or has a
    number, what it is held to stands in its text, in brackets.

    Parameters
    ----------
    reproduction
        See `reproductions.posner2024.examine`.
    """
    return tuple(_sentence(reproduction, section, text) for section, text in CLAIMS)


def _sentence(reproduction: Reproduction, section: str, text: str) -> Sentence:
    claim = CLAIMS[section, text]
    holds, told = [], ""
    for reading in READINGS:
        try:
            true, figures = claim(Figures(reproduction, reading.name))
        except MissingRunsError as missing:
            return Sentence(section, text, "not run", (), str(missing))
        told = told or figures
        if true:
            holds.append(reading.name)
    verdict: Verdict = "depends" if holds else "does not hold"
    return Sentence(section, text, "holds" if len(holds) == len(READINGS) else verdict, tuple(holds), told)
