"""The claims of the paper, each held against the runs in the readings that it may depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from reproductions.linnert2024.claims import CLAIMS
from reproductions.linnert2024.figures import Figures, MissingRunsError
from reproductions.linnert2024.runs import READINGS, SYNCHRONOUS

if TYPE_CHECKING:
    from reproductions.linnert2024.claims import Claim
    from reproductions.linnert2024.reproduction import Reproduction

__all__ = ["Sentence", "Verdict", "sentences"]

#: Of a claim, over all readings; ``not run`` if runs are missing.
Verdict: TypeAlias = Literal["holds", "does not hold", "depends", "not run"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A claim of the paper, paraphrased, and what became of it."""

    section: str
    text: str
    verdict: Verdict
    readings: tuple[str, ...]  #: in which it holds, of those that it depends on
    figures: str  #: ours in the first reading; or what is missing


def sentences(reproduction: Reproduction) -> tuple[Sentence, ...]:
    """Return the claims of section 5 with what the runs say of them.

    A claim ``holds`` if it does in all readings with asynchronous messages, and ``depends`` if in some; the
    readings after the first one have fewer seeds. Where it is vague, or has a number, what it is held to
    stands in its text, in brackets. The comparisons with synchronous messages are of the first reading.

    Parameters
    ----------
    reproduction
        See `reproductions.linnert2024.examine`.
    """
    on = Figures(reproduction)
    return tuple(_sentence(on, claim) for claim in CLAIMS)


def _sentence(on: Figures, claim: Claim) -> Sentence:
    first = READINGS[0].name
    try:
        holds, told = claim.test(on, first)
    except MissingRunsError as missing:
        return Sentence(claim.section, claim.text, "not run", (), str(missing))
    verdict: Verdict = "holds" if holds else "does not hold"
    if not claim.by_reading:
        return Sentence(claim.section, claim.text, verdict, (), told)
    held = {first: holds}
    for reading in READINGS[1:]:
        if reading.name != SYNCHRONOUS:
            try:
                held[reading.name] = claim.test(on, reading.name)[0]
            except MissingRunsError:
                continue
    names = tuple(name for name, true in held.items() if true)
    if 0 < len(names) < len(held):
        verdict = "depends"
    return Sentence(claim.section, claim.text, verdict, names, told)
