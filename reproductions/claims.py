"""Claims of a paper: each is held against the runs, in one reading of the paper or in several."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from allocsolve.cli.output import say, show_table
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

#: Of a claim. It ``depends`` if it holds in some readings only; it is ``not run`` if runs are missing.
Verdict: TypeAlias = Literal[
    "holds", "does not hold", "depends", "depends on the reading", "cannot be tested", "not run"
]
#: Whether a claim holds, or another verdict.
Holds: TypeAlias = "bool | Verdict"
#: What a test of a claim says: whether it holds; and our figures, or why there is another verdict.
Judgement: TypeAlias = "tuple[Holds, str]"

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class MissingRunsError(LookupError):
    """There are no runs of what a claim or a table speaks of; the message names it."""


def looked_up(rows: Mapping[KeyT, ValueT], key: KeyT, what: str) -> ValueT:
    """Return a row.

    Raises
    ------
    MissingRunsError
        If there is none; it says what.
    """
    if key not in rows:
        msg = f"no runs of {what}"
        raise MissingRunsError(msg)
    return rows[key]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A claim of a paper, paraphrased, and what became of it."""

    section: str
    text: str  #: where it is vague, or has a number, what it is held to stands in brackets
    verdict: Verdict
    readings: tuple[str, ...] | None  #: in which it holds, of those that it depends on; None if on none
    figures: str  #: ours in the first reading; or what is missing, or why it cannot be tested

    def document(self) -> dict[str, Any]:
        """Return the fields as they stand in JSON, without readings where there are none."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def judged(section: str, text: str, test: Callable[[], Judgement]) -> Sentence:
    """Hold a claim against the runs."""
    try:
        holds, figures = test()
    except MissingRunsError as missing:
        return Sentence(section, text, "not run", None, str(missing))
    return Sentence(section, text, _verdict(holds), None, figures)


def judged_in(section: str, text: str, test: Callable[[str], Judgement], readings: Sequence[str]) -> Sentence:
    """Hold a claim against the runs of each reading; those after the first may be missing.

    With one reading only, the claim does not depend on readings.
    """
    first, *others = readings
    try:
        holds, figures = test(first)
    except MissingRunsError as missing:
        return Sentence(section, text, "not run", (), str(missing))
    if not others:
        return Sentence(section, text, _verdict(holds), (), figures)
    held = {first: holds}
    for reading in others:
        try:
            held[reading] = test(reading)[0]
        except MissingRunsError:
            continue
    names = tuple(reading for reading, holds in held.items() if holds)
    verdict = _verdict(bool(names)) if len(names) in {0, len(held)} else "depends"
    return Sentence(section, text, verdict, names, figures)


def _verdict(holds: Holds) -> Verdict:
    if isinstance(holds, str):
        return holds
    return "holds" if holds else "does not hold"


def show_claims(
    claims: Sequence[Sentence],
    source: str = "the paper",
    ours: str = "ours",
    *,
    sections: bool = True,
    listed: Callable[[Sentence], str] | None = None,
) -> None:
    """Show a table of claims.

    Parameters
    ----------
    claims
        The claims.
    source, ours
        What the claims are of, and the head of our figures.
    sections
        Whether their sections are shown.
    listed
        Returns in which readings a claim holds, as it is shown; without it readings are not.
    """
    heads = *(("section",) if sections else ()), source, "", *(("in",) if listed else ()), ours
    cells = (
        (
            *((claim.section,) if sections else ()),
            *(claim.text, claim.verdict),
            *((listed(claim),) if listed else ()),
            claim.figures,
        )
        for claim in claims
    )
    title = f"What {source} says of its results"
    show_table(heads, cells, title=title, texts=range(len(heads)))


def say_verdicts(claims: Sequence[Sentence]) -> None:
    """Say how many claims have each verdict."""
    verdicts = dict.fromkeys(claim.verdict for claim in claims)
    parts = (f"{sum(claim.verdict == verdict for claim in claims)} {verdict}" for verdict in verdicts)
    say(f"{counted(len(claims), 'claim')}: {', '.join(parts)}", "")


def falling(values: Iterable[float]) -> bool:
    """Return whether each value is less than the one before it."""
    return all(after < before for before, after in pairwise(values))


def numbers(values: Iterable[float], digits: int = 0, factor: float = 1) -> str:
    """Return numbers in a row, multiplied by a factor, with this many digits behind the point."""
    return " ".join(f"{factor * value:.{digits}f}" for value in values)
