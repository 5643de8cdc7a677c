"""Files of Slurm: the networks of topology.conf and topology.yaml, and what sinfo says of nodes.

::

    SwitchName=top Switches=leaf[1-2]      # topology.conf: a tree
    SwitchName=leaf1 Nodes=n[1-3]

    BlockName=b1 Nodes=c[01-18]            # or blocks
    BlockSizes=16,64

What ``scontrol show topology`` prints is read, too. There each switch has a Level and all nodes below it, and
blocks have a BlockSize; an AggregatedBlock tells a larger size::

    SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-6] Switches=leaf[1-2]
    BlockName=b1 BlockIndex=0 Nodes=c[01-18] BlockSize=18
    AggregatedBlock=b[1-2] BlockIndex=2 Nodes=c[01-36] BlockSize=36

Keys are read in any case; ``#`` begins a comment, a backslash goes on in the next line, and a blank ends a
value that is not quoted. Switches may stand in any order. Of blocks the first size is the base, the others
are its multiples by powers of two (by 1 to 16 if none are given, of the first block); a block has at least as
many nodes, or none: it keeps its place among the others. A free node is one of which each line of sinfo says
``idle``, without a sign behind it.

Sources: the manual pages topology.conf(5), topology.yaml(5) and sinfo(1); the plug-ins of Slurm.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from allocsolve.errors import FormatError
from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.networks.hostlist import shown_text
from allocsolve.instances.formats.networks.network import (
    Entry,
    StatedNodes,
    block_network,
    box_network,
    listed,
    names_at,
    switch_network,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet

    from allocsolve.instances.formats.networks.network import NetworkFile

_PAIR: Final = re.compile(r'\s*(\w+)\s*=\s*(?:"([^"]*)"|([^\s="]+))(?=\s|$)', re.ASCII)
_COMMENT: Final = re.compile(r"(?<!\\)#.*")
#: What names something, what messages call it, and which keys may stand beside.
_KINDS: Final = {
    "switchname": ("switch", {"nodes", "switches", "linkspeed", "level"}),
    "blockname": ("block", {"nodes", "blockindex", "blocksize"}),
    "ringname": ("ring", {"nodes"}),
    "aggregatedblock": ("block of blocks", {"nodes", "blockindex", "blocksize"}),
}
_CONF: Final = re.compile(r"(?im)^\s*(?:(?:switch|block|ring)name|aggregatedblock|blocksizes)\s*=")
_FIRST_LINE: Final = re.compile(r"(?m)^[ \t]*([^\s#].*)")
_FIRST_PAIR: Final = re.compile(r"\w+\s*=", re.ASCII)

#: The power of two up to which the default sizes of blocks go, and the largest that Slurm takes.
_DEFAULT_POWER: Final = 4
_LARGEST_POWER: Final = 15


def is_conf(text: str) -> bool:
    """Tell whether a text is a topology.conf: nothing but comments, or lines of keys and values."""
    first = _FIRST_LINE.search(text)
    if first is None or _FIRST_PAIR.match(first[1]):
        return True
    return first[1][0] not in "{[" and _CONF.search(text) is not None  # JSON may be long


def conf_network(text: str, source: str) -> NetworkFile:
    """Return the network of a topology.conf.

    Raises `FormatError` if a line is not of its form, or the switches, blocks or rings are none.
    """
    entries: list[Entry] = []
    kind = begun = ""
    above: set[str] = set()  # switches that name the nodes of those below them, too
    lines = [*_conf_lines(text, source)]
    for place, pairs in lines:
        names = [key for key in pairs if key in _KINDS]
        allowed = {"blocksizes", *names[:1], *(_KINDS[names[0]][1] if names else ())}
        strange = next((key for key in pairs if key not in allowed), None)
        if strange is not None:
            known = strange in {*_KINDS, *(key for _, keys in _KINDS.values() for key in keys)}
            beside = f"beside {names[0]}" if names else "without a name of a switch or block"
            fault = f"key {strange!r} {beside}" if known else f"unknown key {strange!r}"
            raise FormatError(source, [f"{place}: {fault}"])
        if not names or names[0] == "aggregatedblock":
            continue
        if kind and names[0] != kind:
            raise FormatError(source, [f"{place}: {names[0]!r} in a file that has {kind!r} at {begun}"])
        kind, begun = names[0], begun or place
        nodes, children = (names_at(source, place, pairs.get(key, "")) for key in ("nodes", "switches"))
        entries.append(Entry(pairs[kind], place, nodes, children))
        above |= {pairs[kind]} if "level" in pairs and children else set()
    if not entries:
        raise FormatError(source, ["has neither SwitchName nor BlockName lines"])
    sizes, sized = _told_sizes(lines, source)
    if sizes and kind != "blockname":
        raise FormatError(source, [f"{sized}: BlockSizes without BlockName"])
    if kind == "switchname":
        return switch_network(source, _own_nodes(source, entries, above))
    if kind == "ringname":
        return _ring(source, entries)
    return _blocks(source, entries, sizes, sized)


def _told_sizes(lines: Sequence[tuple[str, Mapping[str, str]]], source: str) -> tuple[list[str], str]:
    """Return the sizes of blocks, which stand in one line, or each with its block; and where the first is."""
    told = [(place, pairs["blocksizes"].split(",")) for place, pairs in lines if "blocksizes" in pairs]
    if len(told) > 1:
        raise FormatError(source, [f"{told[1][0]}: BlockSizes also stand at {told[0][0]}"])
    if told:
        return told[0][1], told[0][0]
    printed = [(pairs["blocksize"], place) for place, pairs in lines if "blocksize" in pairs]
    return list(dict.fromkeys(size for size, _ in printed)), printed[0][1] if printed else ""


def _own_nodes(source: str, entries: Sequence[Entry], above: AbstractSet[str]) -> list[Entry]:
    """Return switches without the nodes of those below them, which scontrol prints for each."""
    known = {entry.name: entry for entry in entries}
    found = []
    for entry in entries:
        if entry.name in above and entry.nodes:
            below = {node for child in entry.children if child in known for node in known[child].nodes}
            if other := {*entry.nodes} ^ below:
                fault = f"has other nodes than the switches below it: {listed(sorted(other))}"
                raise FormatError(source, [f"{entry.place}: switch {shown_text(entry.name)} {fault}"])
            entry = entry._replace(nodes=())  # noqa: PLW2901 - the same switch
        found.append(entry)
    return found


def _conf_lines(text: str, source: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place and the values of each line that is no comment, by keys in small letters."""
    held, begun = "", 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = _COMMENT.sub("", raw).rstrip()
        begun = begun or number
        held += line.removesuffix("\\")
        if line.endswith("\\"):
            held += " "
            continue
        place, line = f"line {begun}", held
        held, begun = "", 0
        pairs: dict[str, str] = {}
        at = 0
        while at < len(line.rstrip()):
            pair = _PAIR.match(line, at)
            if pair is None:
                raise FormatError(source, [f"{place}: {shown_text(line[at:].split()[0])} is not key=value"])
            key = pair[1].lower()
            if key in pairs:
                raise FormatError(source, [f"{place}: the key {key!r} stands twice"])
            pairs[key] = pair[3] if pair[2] is None else pair[2]
            at = pair.end()
        if pairs:
            yield place, pairs


def _blocks(source: str, entries: Sequence[Entry], sizes: Sequence[str], place: str) -> NetworkFile:
    """Return the network of blocks, with the sizes that are told, or the default ones."""
    network = block_network(source, entries)
    if sizes:
        numbers = [_size(source, place, text) for text in sizes]
        base = numbers[0]
        for number in numbers:
            factor, rest = divmod(number, base)
            if rest or factor.bit_count() != 1 or factor >= 2 << _LARGEST_POWER:
                fault = f"the block size {number} is not {base} times a power of two up to 2^{_LARGEST_POWER}"
                raise FormatError(source, [f"{place}: {fault}"])
    else:
        base = next(len({*entry.nodes}) for entry in entries if entry.nodes)
        numbers = [base << power for power in range(_DEFAULT_POWER + 1)]
    for entry in entries:
        if 0 < (count := len({*entry.nodes})) < base:
            fault = f"block {shown_text(entry.name)} has {count} nodes, fewer than the base block size {base}"
            raise FormatError(source, [f"{entry.place}: {fault}"])
    return replace(network, block_sizes=tuple(sorted({*numbers})))


def _size(source: str, place: str, text: object) -> int:
    """Return a number of nodes, or of places along an axis."""
    if not isinstance(text, str) or re.fullmatch(r"\s*0*[1-9]\d{0,8}\s*", text, re.ASCII) is None:
        told = shown_text(text) if isinstance(text, str) else show(text)
        raise FormatError(source, [f"{place}: {told} is not a number from 1 on"])
    return int(text)


def _ring(source: str, entries: Sequence[Entry]) -> NetworkFile:
    if len(entries) > 1:
        raise FormatError(source, [_several("rings", entries)])
    return box_network(source, (len(entries[0].nodes) or 1,), entries[0])


def _several(what: str, entries: Sequence[Entry]) -> str:
    names = listed([entry.name for entry in entries])
    return f"has {len(entries)} {what} ({names}): one that stands alone can be read"


#: The kinds of topology.yaml.
_YAML_KINDS: Final = ("tree", "block", "flat", "ring", "torus3d")


def is_yaml(value: object) -> bool:
    """Tell whether a document is, or is meant to be, a topology.yaml."""
    documents = value if isinstance(value, list) else [value]
    words = {"topology", "cluster_default", *_YAML_KINDS}
    return any(isinstance(one, dict) and not words.isdisjoint(one) for one in documents)


def yaml_network(value: object, source: str, name: str, nodes: Sequence[str]) -> NetworkFile:
    """Return one of the networks of a topology.yaml.

    Raises `FormatError` if the document is not of its form, there is no such network, or it cannot be
    represented. In the document all numbers are texts. Without a name it is the network of
    ``cluster_default``, or the only one. `nodes` are all of the machine, for a flat network, which names
    none.
    """
    if isinstance(value, dict) and "topology" in value:
        value = [value]
    if not isinstance(value, list):
        raise FormatError(source, ["is not a list of entries that begin with - topology: NAME"])
    entries = dict[str, dict[str, Any]]()
    for idx, entry in enumerate(value):
        title = entry.get("topology") if isinstance(entry, dict) else None
        if not isinstance(title, str) or not title:
            raise FormatError(source, [f"[{idx}] has no topology: NAME"])
        if title in entries:
            raise FormatError(source, [f"[{idx}]: the topology {shown_text(title)} stands twice"])
        entries[title] = entry
    chosen = _chosen(source, entries, name)
    place = f"topology {shown_text(chosen)}"
    entry = entries[chosen]
    kinds = [kind for kind in _YAML_KINDS if kind in entry]
    if len(kinds) != 1:
        told = " and ".join(kinds) or "none"
        raise FormatError(source, [f"{place} has {told} of {', '.join(_YAML_KINDS)}, not one"])
    strange = next((key for key in entry if key not in {"topology", "cluster_default", *kinds}), None)
    if strange is not None:
        raise FormatError(source, [f"{place}: unknown key {shown_text(strange)}"])
    if kinds[0] == "flat":
        return _flat(source, place, entry, nodes)
    return _Yaml(source, f"{place}: {kinds[0]}", entry[kinds[0]]).network(kinds[0])


def _chosen(source: str, entries: Mapping[str, Mapping[str, object]], name: str) -> str:
    """Return the name of the network that is asked for."""
    there = f"there are {listed(entries, 8)}" if entries else "there is none"
    if name:
        if name not in entries:
            raise FormatError(source, [f"has no topology {shown_text(name)}; {there}"])
        return name
    defaults = [title for title, entry in entries.items() if _is_true(entry.get("cluster_default"))]
    if not defaults and len(entries) != 1:
        raise FormatError(source, [f"has no topology with cluster_default: true; {there}"])
    return next(iter([*defaults, *entries]))  # of several, Slurm takes the first


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() in {"true", "yes", "on"})


def _flat(source: str, place: str, entry: Mapping[str, Any], nodes: Sequence[str]) -> NetworkFile:
    if not isinstance(entry["flat"], dict) and not _is_true(entry["flat"]):
        raise FormatError(source, [f"{place}: flat must be true, not {show(entry['flat'])}"])
    if not nodes:
        fault = "is flat and names no nodes: they are taken from the file of the free ones, which has none"
        raise FormatError(source, [f"{place} {fault}"])
    return switch_network(source, [Entry(entry["topology"], place, list(dict.fromkeys(nodes)))])


class _Yaml(NamedTuple):
    """A part of a topology.yaml and where it stands."""

    source: str
    place: str
    value: Any

    def network(self, kind: str) -> NetworkFile:
        """Return the network of an entry of a kind."""
        if kind == "tree":
            rows = self.rows("switches", "switch", {"nodes", "children"})
            return switch_network(self.source, rows)
        if kind == "block":
            rows = self.rows("blocks", "block", {"nodes"}, {"block_sizes"})
            sizes = self.field("block_sizes") or []
            if not isinstance(sizes, list):
                self.refuse(f"block_sizes must be a list, not {show(sizes)}")
            return _blocks(self.source, rows, sizes, f"{self.place}.block_sizes")
        if kind == "ring":
            return _ring(self.source, self.rows("rings", "ring", {"nodes"}))
        return self.torus()

    def torus(self) -> NetworkFile:
        """Return the network of the only torus, whose regions cover all of it."""
        asked = {"dims", "nodes", "regions", "placements"}
        rows = self.rows("toruses", "name", asked)
        if len(rows) != 1:
            self.refuse(_several("toruses", rows))
        value = self.field("toruses")
        torus = _Yaml(self.source, rows[0].place, value[0] if isinstance(value, list) else value)
        if torus.field("regions"):
            torus.refuse("regions are not read: nodes must be given as one list, x varying fastest")
        dims = _Yaml(self.source, f"{torus.place}.dims", torus.field("dims"))
        sides = [_size(self.source, f"{dims.place}.{axis}", dims.field(axis)) for axis in "xyz"]
        network = box_network(self.source, sides, rows[0])
        if torus.field("placements"):
            network = replace(network, notes=("placements are not read: a job may have any shape",))
        return network

    def refuse(self, fault: str) -> NoReturn:
        """Raise what is wrong here."""
        raise FormatError(self.source, [f"{self.place}: {fault}"])

    def field(self, key: str) -> Any:  # noqa: ANN401 - of a file
        """Return a field of an object, None if it is missing."""
        if not isinstance(self.value, dict):
            self.refuse(f"must be an object, not {show(self.value)}")
        return self.value.get(key)

    def check_keys(self, known: AbstractSet[str]) -> None:
        """Refuse an object with other keys."""
        strange = next((key for key in self.value if key not in known), None)
        if strange is not None:
            self.refuse(f"unknown key {shown_text(strange)}")

    def rows(
        self, key: str, title: str, known: AbstractSet[str], beside: AbstractSet[str] = frozenset()
    ) -> list[Entry]:
        """Return the entries of a list, each with its name and the hostlists of its fields."""
        values = self.field(key)
        values = [values] if isinstance(values, dict) else values
        self.check_keys({key, *beside})
        if not isinstance(values, list) or not values:
            self.refuse(f"{key} must be a list of entries, not {show(values)}")
        return [
            _Yaml(self.source, f"{self.place}.{key}[{idx}]", value).row(title, known)
            for idx, value in enumerate(values)
        ]

    def row(self, title: str, known: AbstractSet[str]) -> Entry:
        """Return an entry of a list."""
        name = self.field(title)
        if not isinstance(name, str) or not name:
            self.refuse(f"has no {title}: NAME")
        self.check_keys({title, *known})
        return Entry(name, self.place, self.names("nodes"), self.names("children"))

    def names(self, key: str) -> list[str]:
        """Return the names of a hostlist; none if it is missing."""
        text = self.field(key) or ""
        if not isinstance(text, str):
            self.refuse(f"{key} must be a hostlist, not {show(text)}")
        return names_at(self.source, f"{self.place}.{key}", text)


#: A state of a node, with signs of nodes that do not respond, power up, and so on.
_STATE: Final = re.compile(r"[A-Za-z_][A-Za-z_+]*[*~#!%$@^+-]*")
_STATES: Final = re.compile(
    r"(?i)(alloc|allocated|blocked|comp|completing|down|drain|drained|draining|drng|err|error|fail|failing|failg|"
    r"futr|future|idle|inval|maint|mix|mixed|no_respond|npc|perfctrs|plnd|planned|power(ed|ing)?_(down|up)|"
    r"pow_(dn|up)|reboot\w*|boot|resv|reserved|unk|unknown)([*~#!%$@^+-]+|\+.*)?"
)
_TITLE: Final = ["NODELIST", "STATE"]


#: Titles of tables that sinfo and others print by themselves.
_TITLES: Final = frozenset({"PARTITION", "NODELIST", "HOSTNAMES", "REASON", "NODES"})


def other_table(text: str) -> str | None:
    """Return what is wrong with a table that has not a node and a state a line; None if the text is none."""
    lines = ((number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip())
    for number, words in islice(lines, 3):  # a date may stand above the titles
        if len(words) <= len(_TITLE):
            break
        if (
            not _TITLES.isdisjoint(words)
            or words[0].startswith("NodeName=")
            or any(map(_STATES.fullmatch, words[1:]))
        ):
            how = "sinfo -h -N -o '%N %T' prints a node and its state a line"
            return f"line {number}: is of another table: {how}"
    return None


def is_sinfo(text: str) -> bool:
    """Tell whether a text is of lines of nodes and states: one of them has a state that Slurm knows."""
    lines = (line.split() for line in text.splitlines())
    return any(len(words) == 2 and (words == _TITLE or _STATES.fullmatch(words[1])) for words in lines)


def sinfo_lines(text: str, source: str) -> StatedNodes:
    """Return the nodes of ``sinfo -h -N -o '%N %T'``.

    Raises `FormatError` if a line is not a node, or a hostlist, and a state.
    """
    is_free = dict[str, bool]()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or (number == 1 and words == _TITLE):
            continue
        if len(words) != 2 or _STATE.fullmatch(words[1]) is None:
            raise FormatError(
                source, [f"line {number}: {shown_text(line.strip())} is not a node and a state"]
            )
        for name in names_at(source, f"line {number}", words[0]):
            is_free[name] = is_free.get(name, True) and words[1].lower() == "idle"
    return StatedNodes.of(is_free)


def sinfo_json(document: Mapping[str, object], source: str) -> StatedNodes:
    """Return the nodes of ``sinfo --json``."""
    rows = document.get("sinfo")
    if not isinstance(rows, list):
        raise FormatError(source, [f"sinfo must be a list, not {show(rows)}"])
    is_free = dict[str, bool]()
    for idx, row in enumerate(rows):
        place = f"sinfo[{idx}]"
        states, lists = _inside(row, "node", "state"), _inside(row, "nodes", "nodes")
        for what, texts in (("node.state", states), ("nodes.nodes", lists)):
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise FormatError(source, [f"{place}.{what} must be a list of strings, not {show(texts)}"])
        for text in lists:
            for name in names_at(source, f"{place}.nodes.nodes", text):
                is_free[name] = is_free.get(name, True) and [state.lower() for state in states] == ["idle"]
    return StatedNodes.of(is_free)


def _inside(row: object, outer: str, inner: str) -> Any:  # noqa: ANN401 - of a file
    found = row.get(outer) if isinstance(row, dict) else None
    return found.get(inner) if isinstance(found, dict) else None
