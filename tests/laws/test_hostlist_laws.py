"""Laws of hostlists: they are short for names, and stand for the same ones when they are read."""

from __future__ import annotations

import itertools
import string

from hypothesis import given, strategies as st

from allocsolve.instances import compress_hostlist, expand_hostlist

NAMES = st.lists(st.text(string.digits + "abn-.é٣\"'#=", min_size=1, max_size=24), max_size=30)
#: A range with its width, or a number; what it stands for, by the definition.
RANGES = st.tuples(st.integers(0, 120), st.integers(0, 12), st.integers(0, 4)).map(
    lambda drawn: (
        f"{drawn[0]:0{drawn[2]}}-{drawn[0] + drawn[1]}",
        [f"{number:0{max(drawn[2], 1)}}" for number in range(drawn[0], drawn[0] + drawn[1] + 1)],
    )
)
TEXTS = st.text("abn-", max_size=3).map(lambda text: (text, [text]))


def _bracket(ranges: list[tuple[str, list[str]]]) -> tuple[str, list[str]]:
    return f"[{','.join(text for text, _ in ranges)}]", [name for _, names in ranges for name in names]


BRACKETS = st.lists(RANGES, min_size=1, max_size=3).map(_bracket)


@given(NAMES)
def test_what_is_compressed_expands_to_the_same_names(names: list[str]) -> None:
    text = compress_hostlist(names)
    assert expand_hostlist(text) == names
    assert len(text) <= len(",".join(names)) + 2 * text.count("[")


@given(
    st.lists(st.lists(TEXTS | BRACKETS, min_size=1, max_size=3), max_size=3),
    st.sampled_from([",", " ", "\n", ", "]),
)
def test_brackets_multiply_the_last_one_fastest(
    words: list[list[tuple[str, list[str]]]], between: str
) -> None:
    text = between.join("".join(part for part, _ in word) for word in words)
    expected = ["".join(name) for word in words for name in itertools.product(*(names for _, names in word))]
    assert expand_hostlist(text) == [name for name in expected if name]
    assert compress_hostlist(expand_hostlist(compress_hostlist(expand_hostlist(text)))) == (
        compress_hostlist(expand_hostlist(text))
    )


@given(st.integers(0, 10**6), st.integers(1, 300), st.sampled_from(["", "-ib"]))
def test_a_row_of_numbers_is_one_word(first: int, count: int, suffix: str) -> None:
    width = len(str(first + count))
    names = [f"n{number:0{width}}{suffix}" for number in range(first, first + count)]
    assert "," not in compress_hostlist(names)
    assert len(compress_hostlist(names)) <= 1 + 2 * width + 3 + len(suffix)
