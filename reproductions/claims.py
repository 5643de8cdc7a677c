"""Claims of a paper: each is held against the runs, in one reading of the paper or in several."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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
FiguresT = TypeVar("FiguresT")


class MissingRunsError(LookupError):
    """There are no runs of what a claim or a table speaks of; the message names it."""


def looked_up(rows: Mapping[KeyT, ValueT], key: KeyT, what: str) -> ValueT:
    """Return a row; if there is none, a `MissingRunsError` says of what."""
    if key not in rows:
        msg = f"no runs of {what}"
        raise MissingRunsError(msg)
    return rows[key]


def if_run(figure: Callable[..., ValueT], *args: Any) -> ValueT | None:  # noqa: ANN401 - of the figure
    """Return a figure; None if its runs are missing."""
    try:
        return figure(*args)
    except MissingRunsError:
        return None


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


class Claim(NamedTuple, Generic[FiguresT]):
    """A claim of a paper, paraphrased."""

    section: str
    text: str  #: where it is vague, or has a number, what it is held to stands in brackets
    test: Callable[[FiguresT], Judgement]
    by_reading: bool = True  #: whether it is tested in each reading of the paper, or in the first only

    def held(self, on: FiguresT) -> Sentence:
        """Hold the claim against figures, of a paper that is read in one way."""
        try:
            holds, figures = self.test(on)
        except MissingRunsError as missing:
            return Sentence(self.section, self.text, "not run", None, str(missing))
        return Sentence(self.section, self.text, _verdict(holds), None, figures)

    def held_in(self, readings: Mapping[str, FiguresT]) -> Sentence:
        """Hold the claim against the figures of each reading; those after the first may lack runs."""
        (first, on), *others = readings.items()
        whole = self.held(on)
        if whole.verdict == "not run" or not self.by_reading:
            return replace(whole, readings=())
        held = {first: whole} | {name: self.held(on) for name, on in others}
        run = {name: own.verdict for name, own in held.items() if own.verdict != "not run"}
        names = tuple(name for name, verdict in run.items() if verdict == "holds")
        verdict = whole.verdict if len(names) in {0, len(run)} else "depends"
        return replace(whole, verdict=verdict, readings=names)


class Claims(list[Claim[FiguresT]]):
    """The claims of a paper, each with its test, in the order in which they are added."""

    def add(
        self, section: str, text: str, *, by_reading: bool = True
    ) -> Callable[[Callable[[FiguresT], Judgement]], Callable[[FiguresT], Judgement]]:
        """Return a decorator that adds a test; see `Claim`."""

        def decorate(test: Callable[[FiguresT], Judgement]) -> Callable[[FiguresT], Judgement]:
            self.append(Claim(section, text, test, by_reading))
            return test

        return decorate


def _verdict(holds: Holds) -> Verdict:
    if isinstance(holds, str):
        return holds
    return "holds" if holds else "does not hold"


def falling(values: Iterable[float]) -> bool:
    """Return whether each value is less than the one before it."""
    return all(after < before for before, after in pairwise(values))


def numbers(values: Iterable[float], digits: int = 0, factor: float = 1) -> str:
    """Return numbers in a row, multiplied by a factor, with this many digits behind the point."""
    return " ".join(f"{factor * value:.{digits}f}" for value in values)
