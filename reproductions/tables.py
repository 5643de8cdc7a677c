"""Tables of a reproduction, as they are shown on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.output import say, show_table
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reproductions.claims import Sentence


def show(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, title: str, texts: Sequence[int] = (0,)
) -> None:
    """Show a table, and an empty line below it; `texts` are the columns aligned to the left."""
    show_table(heads, rows, title=title, texts=texts)
    say("")


def once(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table, the first cell only where it is another one than above."""
    last = None
    for first, *others in rows:
        yield ("" if first == last else first, *others)
        last = first


def show_claims(
    claims: Sequence[Sentence],
    source: str = "the paper",
    ours: str = "ours",
    *,
    sections: bool = True,
    listed: Callable[[Sentence], str] | None = None,
) -> None:
    """Show a table of claims.

    It has the heads `source`, what the claims are of, and `ours`, that of our figures; the sections if they
    are shown; and the readings in which a claim holds, if a function `listed` returns how they are shown.
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
