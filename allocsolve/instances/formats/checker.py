"""What the codecs of all kinds share: checking the fields of a JSON object, and naming what is wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from allocsolve.errors import FormatError
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Checker", "Document", "show"]

#: A JSON object as `json.loads` returns it.
Document: TypeAlias = dict[str, Any]

T = TypeVar("T", str, list[Any], Document)

_NOUNS = {str: "a string", list: "a list", dict: "an object"}


def show(value: object) -> str:
    """Return a JSON value as it may stand in a one-line message."""
    if isinstance(value, list | dict):
        return f"{_NOUNS[type(value)]} of {len(value)}"
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 50 else f"{text[:47]}..."


class Checker:
    """Checks fields one by one and keeps the faults; a faulty value is replaced by a harmless one."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def add(self, place: str, fault: str) -> None:
        """Note a fault; the place is the path of a field, empty for the document itself."""
        self.faults.append(f"{place}: {fault}" if place else fault)

    def typed(self, kind: type[T], value: object, place: str) -> T:
        """Return a string, list or object, empty if the value is none."""
        if isinstance(value, kind):
            return value
        self.add(place, f"must be {_NOUNS[kind]}, not {show(value)}")
        return kind()

    def boolean(self, value: object, place: str) -> bool:
        """Return a truth value; 0 and 1 are none."""
        if not isinstance(value, bool):
            self.add(place, f"must be true or false, not {show(value)}")
            return False
        return value

    def fields(self, value: object, place: str, required: Iterable[str], optional: Iterable[str]) -> Document:
        """Return the known fields of an object; a missing one is a fault only if it is required."""
        if not isinstance(value, dict):
            return self.typed(dict, value, place)
        names = {*required, *optional}
        prefix = f"{place}." if place else ""
        self.faults += [f"{prefix}{name}: missing" for name in required if name not in value]
        for name in value:
            if name not in names:
                self.add(place, f"unknown field {show(name)} (extra data belongs in meta)")
        return {name: value[name] for name in value if name in names}

    def integer(
        self,
        value: object,
        place: str,
        what: str,
        low: int,
        *,
        high: int = MAX_INTEGER,
        high_is: str = "num_nodes",
        fallback: int = 1,
    ) -> int:
        """Return an integer in low..2^53 that is at most `most`, which the message calls `most_is`."""
        if type(value) is not int:  # a bool is no integer, nor is 5.0
            self.add(place, f"{what} must be an integer, not {show(value)}")
        elif value < low:
            self.add(place, f"{what} {show(value)} is below {low}")
        elif value > MAX_INTEGER:
            self.add(place, f"{what} {show(value)} is beyond 2^53")
        elif value > high:
            self.add(place, f"{what} {value} is above {high_is} {high}")
        else:
            return value
        return fallback

    def real_number(
        self,
        value: object,
        place: str,
        what: str,
        low: float,
        *,
        above: bool = False,
        high: float = MAX_INTEGER,
    ) -> float:
        """Return a number in low..high, or above `low` if that is asked for; 1 for what is none."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.add(place, f"{what} must be a number, not {show(value)}")
        elif value < low or (above and value == low):
            self.add(place, f"{what} {show(value)} is {'not above' if above else 'below'} {low:g}")
        elif value > high:
            self.add(place, f"{what} {show(value)} is beyond {'2^53' if high == MAX_INTEGER else high}")
        else:
            return value
        return 1

    def finish(self, source: str) -> None:
        """Raise a FormatError that names every fault, if there is one."""
        if self.faults:
            raise FormatError(source, self.faults)
