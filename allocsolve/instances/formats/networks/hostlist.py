"""Hostlists: names of nodes with ranges of numbers in brackets, as Slurm writes them.

``r[1-2]n[01-02],login`` stands for r1n01, r1n02, r2n01, r2n02 and login. Blanks, commas and ends of lines
separate names; several brackets multiply, the last one fastest; the lower end of a range gives its width.
Order and repetitions stay.

Source: hostlist.c of Slurm. It reads ``n[1-]`` as n1, which is refused here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from allocsolve.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Numbers of one range, and names of a whole hostlist.
MAX_RANGE: Final = 2**16
MAX_NAMES: Final = 2**20

_TOKEN: Final = re.compile(
    r"(?P<text>[^\s,\[\]]+)|\[(?P<ranges>[^\[\]]*)\]|(?P<end>[\s,]+)|(?P<stray>[\[\]])"
)
_NUMBER: Final = re.compile(r"\d+", re.ASCII)
_RANGE: Final = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)
_NAME: Final = re.compile(r"[^\s,\[\]]+")
_LAST_NUMBER: Final = re.compile(r"(\d{1,18})(\D*)\Z", re.ASCII)


def expand_hostlist(text: str) -> list[str]:
    """Return the names that a hostlist stands for, in its order, as often as they stand there.

    Raises `FormatError` if a bracket is not closed or within another one, a range runs downwards or has more
    than 65,536 numbers, or there are more than 2^20 names.

    Examples
    --------
    >>> expand_hostlist("n[08-10], login")
    ['n08', 'n09', 'n10', 'login']
    """
    try:
        return host_names(text)
    except ValueError as fault:
        raise FormatError("hostlist", [str(fault)]) from None


def compress_hostlist(names: Iterable[str]) -> str:
    """Return a hostlist that stands for names, in their order: the inverse of `expand_hostlist`.

    Neighbours that differ in their last number only share a bracket. Takes time in proportion to the names.

    Raises `FormatError` if a name is empty or has a blank, a comma, a bracket or a character that cannot be
    printed.

    Examples
    --------
    >>> compress_hostlist(["n08", "n09", "n10", "n12", "login"])
    'n[08-10,12],login'
    """
    words: list[str] = []
    around, numbers = ("", ""), _Ranges()
    for name in names:
        if not is_host_name(name):
            raise FormatError("hostlist", [f"{shown_text(name)} is not the name of a node"])
        found = _LAST_NUMBER.search(name)
        if found is None:
            words += [*numbers.words(*around), name]
            numbers = _Ranges()
            continue
        if (name[: found.start()], found[2]) != around:
            words += numbers.words(*around)
            around, numbers = (name[: found.start()], found[2]), _Ranges()
        numbers.add(found[1])
    return ",".join([*words, *numbers.words(*around)])


class _Ranges:
    """Numbers in their order, of which neighbours become ranges."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, int, int]] = []  # the lower end as it is written, and both ends

    def add(self, text: str) -> None:
        value = int(text)
        if self._texts:
            low, first, last = self._texts[-1]
            follows = value == last + 1 and text == str(value).zfill(len(low))
            if follows and value - first < MAX_RANGE:
                self._texts[-1] = low, first, value
                return
        self._texts.append((text, value, value))

    def words(self, before: str, behind: str) -> list[str]:
        """Return the word for all of them, none if there are none."""
        if not self._texts:
            return []
        texts = [
            low if first == last else f"{low}-{str(last).zfill(len(low))}" for low, first, last in self._texts
        ]
        inside = ",".join(texts)
        return [f"{before}{inside}{behind}" if inside.isdigit() else f"{before}[{inside}]{behind}"]


def is_host_name(text: str) -> bool:
    """Tell whether a text can be a name in a hostlist."""
    return _NAME.fullmatch(text) is not None and text.isprintable()


def host_names(text: str) -> list[str]:
    """Return what `expand_hostlist` does; a ValueError tells what is wrong."""
    names: list[str] = []
    for word, parts in _words(text):
        made = [""]
        for part in parts:
            if len(names) + len(made) * len(part) > MAX_NAMES:
                raise ValueError(_too_many(word))
            made = [before + one for before in made for one in part]
        if not word.isprintable():
            raise ValueError(f"{shown_text(word)} has a character that cannot be printed")
        names += made
    return names


def _words(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the words between separators: each as it is written, and in parts, with what each can be."""
    begin, parts = 0, list[list[str]]()
    for token in _TOKEN.finditer(text):
        if token["stray"] is not None:
            rest = shown_text(text[begin:].partition("\n")[0])
            if token["stray"] == "]":
                msg = f"{rest} has a closing bracket without an opening one"
            elif "[" in text[token.end() :]:
                msg = f"{rest} has a bracket within a bracket"
            else:
                msg = f"{rest} has an opening bracket that is not closed"
            raise ValueError(msg)
        if token["end"] is not None:
            if parts:
                yield text[begin : token.start()], parts
            begin, parts = token.end(), []
        elif token["text"] is not None:
            parts.append([token["text"]])
        else:
            parts.append(_choices(token["ranges"]))
    if parts:
        yield text[begin:], parts


def _choices(ranges: str) -> list[str]:
    """Return the numbers in a bracket."""
    numbers: list[str] = []
    for part in ranges.split(","):
        numbers += _numbers(part.strip())
        if len(numbers) > MAX_NAMES:
            raise ValueError(_too_many(f"[{ranges}]"))
    return numbers


def _too_many(word: str) -> str:
    return f"{shown_text(word)} makes more than {MAX_NAMES} names"


def _numbers(part: str) -> list[str]:
    """Return the numbers of a range, or the number itself."""
    if _NUMBER.fullmatch(part):
        return [part]
    ends = _RANGE.fullmatch(part)
    if ends is None:
        raise ValueError(f"{shown_text(part)} is neither a number nor a range")
    low, high = int(ends[1]), int(ends[2])
    if low > high:
        raise ValueError(f"the range '{part}' runs downwards")
    if high - low >= MAX_RANGE:
        raise ValueError(f"the range '{part}' has more than {MAX_RANGE} names")
    return [str(value).zfill(len(ends[1])) for value in range(low, high + 1)]


def shown_text(text: str) -> str:
    """Return a text in quotes as it may stand in a message of one line."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
