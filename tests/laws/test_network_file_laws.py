"""The same network in every form that tells it: as configured, as printed, and as objects of Kubernetes."""

from __future__ import annotations

import itertools
import string
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from network_texts import nodes_of, switches_of

from allocsolve.instances import compress_hostlist, expand_hostlist, read_network

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.instances import NetworkFile


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("networks") / "network"


def _read(place: Path, text: str) -> NetworkFile:
    place.write_text(text)
    return read_network(place)


def _told(network: NetworkFile) -> tuple[object, ...]:
    return switches_of(network), nodes_of(network), network.block_sizes, network.notes


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, list[str], list[str]]]:
    """Switches, each with its nodes or its children; some leaf switches have none of both."""
    count = draw(st.integers(1, 8))
    parent = [draw(st.integers(-1, number - 1)) for number in range(count)]
    children = [[f"s{child}" for child in range(count) if parent[child] == number] for number in range(count)]
    switches, nodes = [], 0
    for number in range(count):
        own = 0 if children[number] else draw(st.integers(0, 3))
        switches.append((f"s{number}", [f"n{nodes + node}" for node in range(own)], children[number]))
        nodes += own
    if not nodes:
        last = max(number for number in range(count) if not children[number])
        switches[last] = (f"s{last}", ["n0"], [])
    return draw(st.permutations(switches))


@given(switches=trees())
def test_trees_as_printed_are_trees_as_configured(
    place: Path, switches: list[tuple[str, list[str], list[str]]]
) -> None:
    """With the nodes of all switches below each, in the order of the file; HyperNodes are the same tree."""
    of = {name: (nodes, children) for name, nodes, children in switches}

    def below(name: str) -> list[str]:
        nodes, children = of[name]
        beneath = [*nodes, *(node for child in children for node in below(child))]
        return sorted(beneath, key=lambda node: int(node[1:]))

    configured, printed, hypernodes = "", "", []
    for name, nodes, children in switches:
        beneath = f" Switches={','.join(children)}" if children else ""
        own = f" Nodes={compress_hostlist(nodes)}" if nodes else ""
        all_of_them = f" Nodes={compress_hostlist(below(name))}" if below(name) else ""
        configured += f"SwitchName={name}{own}{beneath}\n"
        printed += f"SwitchName={name} Level={int(bool(children))} LinkSpeed=1{all_of_them}{beneath}\n"
        members = [("Node", node) for node in nodes] + [("HyperNode", child) for child in children]
        listed = ", ".join(
            f"{{type: {kind}, selector: {{exactMatch: {{name: {member}}}}}}}" for kind, member in members
        )
        hypernodes.append(f"kind: HyperNode\nmetadata: {{name: {name}}}\nspec: {{members: [{listed}]}}\n")
    expected = _told(_read(place, configured))
    assert _told(_read(place, printed)) == expected
    assert _told(_read(place, "---\n".join(hypernodes))) == expected


@given(
    counts=st.lists(st.one_of(st.none(), st.integers(0, 2)), min_size=1, max_size=6),
    base=st.integers(1, 3),
    levels=st.sets(st.integers(1, 3)),
)
def test_blocks_without_nodes_keep_their_place(
    place: Path, counts: list[int | None], base: int, levels: set[int]
) -> None:
    """None is a block without nodes, a number how many more than the base size a block has."""
    if counts.count(None) == len(counts):
        counts = [*counts, 0]
    blocks, nodes = [], 0
    for count in counts:
        held = 0 if count is None else base + count
        blocks.append(compress_hostlist(f"n{nodes + node}" for node in range(held)))
        nodes += held
    sizes = [base << level for level in (0, *sorted(levels))]
    configured, printed, listed = "", "", ""
    for number, names in enumerate(blocks):
        own = f" Nodes={names}" if names else ""
        configured += f"BlockName=b{number}{own}\n"
        printed += f"BlockName=b{number} BlockIndex={number}{own} BlockSize={base}\n"
        listed += f"    - {{block: b{number}{f', nodes: {names!r}' if names else ''}}}\n"
    printed += "".join(f"AggregatedBlock=b0 BlockIndex={9 + size} BlockSize={size}\n" for size in sizes[1:])
    network = _read(place, f"{configured}BlockSizes={','.join(map(str, sizes))}\n")
    assert network.switches == ("(cluster)", *(f"b{number}" for number in range(len(blocks))))
    assert network.block_sizes == tuple(sizes)
    assert _told(_read(place, printed)) == _told(network)
    as_yaml = f"- topology: t\n  block:\n    block_sizes: {sizes}\n    blocks:\n{listed}"
    assert _told(_read(place, as_yaml)) == _told(network)


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
