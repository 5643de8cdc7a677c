"""Hill climbing from a certificate towards a higher bound: anything in it is changed, whatever it means."""

from __future__ import annotations

import copy
import functools
import math
from typing import TYPE_CHECKING, Any, TypeAlias

from allocsolve.cli.schema import schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

Document: TypeAlias = dict[str, Any]

#: How many changes are made before a judge is asked.
_TOGETHER = (1, 1, 1, 2, 2, 3, 5)
#: The share of the judged documents after which the climb begins again.
_RESTARTS = 0.03
#: The share of the steps downhill that are taken.
_DOWNHILL = 0.2
#: The share of the changes that are made to a list or an object as a whole, and not to something in it.
_WHOLE = 0.4


def climb(
    start: Document, bound_of: Callable[[Document], float | None], rng: Random, steps: int
) -> Iterator[tuple[int, float, Document]]:
    """Yield each document that is accepted, and go on from those with a bound as high as the one before.

    Sometimes a climb goes on from a lower bound, too: what an optimiser has found is a peak.

    Parameters
    ----------
    start
        What is changed, again and again.
    bound_of
        What a document proves; None if it is refused.
    rng
        Where chance comes from.
    steps
        How many changed documents are judged.

    Yields
    ------
    tuple
        How many documents have been judged so far, the bound, and the document.
    """
    words = _words()
    first = bound_of(start)
    if first is not None:
        yield 0, first, start
    current, height = start, -math.inf
    for step in range(1, steps + 1):
        if rng.random() < _RESTARTS:
            current, height = start, -math.inf
        changed = copy.deepcopy(current)
        for _ in range(rng.choice(_TOGETHER)):
            _change(changed, words, rng)
        bound = bound_of(changed)
        if bound is not None:
            yield step, bound, changed
            if bound >= height or rng.random() < _DOWNHILL:
                current, height = changed, bound


@functools.cache
def _words() -> list[str]:
    """Return all words that certificates may have."""

    def within(schema: Any) -> Iterator[str]:
        if isinstance(schema, dict):
            known = [*schema.get("enum", ()), schema.get("const")]
            yield from (word for word in known if isinstance(word, str))
        for part in schema.values() if isinstance(schema, dict) else schema:
            if isinstance(part, dict | list):
                yield from within(part)

    return sorted(set(within(schemas()["certificate"])))


def _change(document: Document, words: list[str], rng: Random) -> None:
    """Change one thing somewhere in a document; what lies deeper is not chosen more often."""
    holder: Any = {"": document}
    key: Any = ""
    while isinstance(value := holder[key], dict | list) and value and (key == "" or rng.random() > _WHOLE):
        holder, key = value, rng.choice([*value] if isinstance(value, dict) else range(len(value)))
    if isinstance(value, list):
        _change_list(_beside(value, holder, rng), document, rng)
    elif isinstance(value, dict):
        holder[key] = copy.deepcopy(rng.choice(_alike(document, dict)))
    elif isinstance(value, str):
        holder[key] = rng.choice(words)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = _number(value, document, rng)
    else:
        holder[key] = rng.choice([None, True, False, 0, 1])
    if isinstance(holder, dict) and rng.random() < 0.02:
        del holder[key]


def _number(value: Any, document: Document, rng: Random) -> Any:
    """Return another number: one nearby mostly, one from elsewhere, or one at the edge of a range."""
    what, sign = rng.randrange(12), rng.choice((-1, 1))
    if what < 4:
        return value + sign * rng.choice((1, 1, 1, 2, 3, 5, 10, 100))
    if what < 8:
        share = 2 ** rng.randint(1, 12)
        return value + sign * (abs(value) // share if isinstance(value, int) else value / share)
    known = rng.choice(_alike(document, int, float))
    return rng.choice((known, -value, rng.choice((0, 1, -1, 2 * value, 0.5, 2**31, 2**53, 2**62))))


def _beside(values: list[Any], holder: Any, rng: Random) -> list[list[Any]]:
    """Return a list, and in half of the cases those beside it that are as long, or one longer or shorter."""
    others = [*holder.values()] if isinstance(holder, dict) and rng.random() < 0.5 else []
    near = (other for other in others if isinstance(other, list) and abs(len(other) - len(values)) < 2)
    return [values, *(other for other in near if other is not values)]


def _change_list(lists: list[list[Any]], document: Document, rng: Random) -> None:
    """Drop, repeat, turn round or add entries, or change some alike; in all lists at the same place."""
    what, at, other = rng.randrange(8), *(rng.randrange(len(lists[0]) + 1) for _ in range(2))
    low, high = sorted((at, other))
    later, shift = rng.choice((0, 1, 3, 10, 100)), rng.choice((-5, -1, 1, 5))
    factor = rng.choice((0.5, 0.9, 1.1, 2))
    for each in lists:
        (entry, *_) = each[at : at + 1] or each[-1:] or [0]
        numbers = [value for value in each[low:high] if type(value) is int]
        if what == 0:
            del each[at : at + 1]
        elif what in (1, 2):
            near = rng.choice((entry + later, entry, -entry)) if type(entry) is int else copy.deepcopy(entry)
            each.insert(at + 1, near)
        elif what == 3:
            each[low:high] = each[low:high][::-1]
        elif what == 4:
            each.insert(at, copy.deepcopy(rng.choice(_alike(document, type(entry)))))
        elif len(numbers) == len(each[low:high]):
            each[low:high] = [value + shift if what < 6 else round(value * factor) for value in numbers]


def _alike(document: Any, *kinds: type) -> list[Any]:
    """Return everything in a document that is of one of these types; itself at least, or 0."""
    found: list[Any] = []
    waiting = [document]
    for part in waiting:  # grows while it is read
        if type(part) in kinds:
            found.append(part)
        if isinstance(part, dict | list):
            waiting += part.values() if isinstance(part, dict) else part
    return found or [0]
