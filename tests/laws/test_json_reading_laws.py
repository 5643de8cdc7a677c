"""Whoever reads JSON by the short way finds what the walk over all places finds, faults included."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.errors import FormatError
from allocsolve.instances.formats import files

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

#: Pieces of strings in which the short way could be led astray: colons, quotes, blanks, surrogates.
_TEXTS = st.text(
    st.sampled_from(["a", ":", " ", '"', "\\", "u", "d", "8", "\t", "{", "é", "\ud800", "\U0001f600"])
)
_SCALARS = st.one_of(
    _TEXTS.map(json.dumps),
    st.integers(-9, 9).map(str),
    st.sampled_from(
        [
            "NaN",
            "-Infinity",
            "1e400",
            "-1e999",
            "1.5",
            "9" * 199,
            "9" * 200,
            "9" * 310,
            "1" + "0" * 250 + "e99",
        ]
    ),
    st.sampled_from(["true", "null"]),
)


@st.composite
def _objects(draw: DrawFn, values: st.SearchStrategy[str]) -> str:
    """Return an object with few different keys, which may stand twice, and blanks where JSON allows them."""
    blank = st.sampled_from(["", "", " ", "\n", "\t"])
    keys = draw(st.lists(st.one_of(st.sampled_from(["a", "b"]), _TEXTS).map(json.dumps), max_size=4))
    return "{" + ", ".join(f"{key}{draw(blank)}:{draw(blank)}{draw(values)}" for key in keys) + "}"


def _lists(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=3).map(lambda items: f"[{', '.join(items)}]")


_VALUES = st.recursive(_SCALARS, lambda values: _lists(values) | _objects(values), max_leaves=8)


def _read(data: bytes) -> object:
    try:
        return files.parse(data, "text")
    except FormatError as error:
        return str(error)


def _read_by_the_walk(data: bytes) -> object:
    with patch.object(files, "_plain_document", return_value=None):
        return _read(data)


@given(text=_objects(_VALUES))
@settings(max_examples=examples(2000))
def test_the_short_way_finds_what_the_walk_finds(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    assert repr(_read(data)) == repr(_read_by_the_walk(data))  # by text: -0.0 and 0 differ, true and 1 too


def test_both_ways_refuse_what_is_nested_too_deeply() -> None:
    for depth in (99, 100, 101, 102):
        data = b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
        found = _read(data)
        assert repr(found) == repr(_read_by_the_walk(data))
        assert isinstance(found, str) is (depth > files.MAX_DEPTH)
