"""What a file of a network tells: the switches, the nodes at them, and their names.

A node without a switch, a switch below two others or below itself, and a node at two switches are refused;
switches without nodes and several roots are told in a note.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import FormatError, InvalidOption, InvalidProblem
from allocsolve.instances.formats.networks.hostlist import compress_hostlist, host_names, shown_text
from allocsolve.model import PartitionProblem, PlacementProblem, SwitchTree, Topology

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.model import BoolArray

#: The root that is put above blocks and domains, which have none in their files.
CLUSTER: Final = "(cluster)"


@dataclass(frozen=True, slots=True)
class NetworkFile:
    """A network with the names of its nodes and switches, as a file tells them.

    Names stand in the order of the file, those of Kueue's domains and nodes in that of the alphabet: the
    schedulers take them in these orders.
    """

    #: The switches; a box for a ring or a torus.
    topology: SwitchTree | Topology
    #: The name of each node.
    nodes: tuple[str, ...]
    #: The name of each switch; none of a box.
    switches: tuple[str, ...] = ()
    #: Of blocks of Slurm, in nodes: the base size and those of the blocks of blocks.
    block_sizes: tuple[int, ...] = ()
    #: What an operator should know: switches without nodes, several roots, nodes left out.
    notes: tuple[str, ...] = ()
    #: The names of the free nodes; None if the file does not tell.
    free: tuple[str, ...] | None = None
    #: The names of nodes that the file has, but does not place.
    left_out: tuple[str, ...] = field(default=(), repr=False)

    @property
    def meta(self) -> dict[str, object]:
        """What problems keep of the names: nodes as a hostlist in the order of their ids, switches, sizes."""
        names: dict[str, object] = {"nodes": compress_hostlist(self.nodes)}
        if self.switches:
            names["switches"] = list(self.switches)
        if self.block_sizes:
            names["block_sizes"] = list(self.block_sizes)
        return names

    def mask(self, free: Iterable[str], source: str = "free nodes") -> BoolArray:
        """Return which nodes are among those that are free, shape (nodes,).

        Raises `FormatError` if the network does not know some of the names.

        Parameters
        ----------
        free
            Names of nodes. What is not named is busy; nodes that the network leaves out are passed over.
        source
            What messages call the file of the free nodes.
        """
        ids = {name: node for node, name in enumerate(self.nodes)}
        mask = np.zeros(len(ids), dtype=np.bool_)
        strange = dict.fromkeys(free)
        for name in self.left_out:
            strange.pop(name, None)
        for name in [name for name in strange if name in ids]:
            mask[ids[name]] = True
            del strange[name]
        if strange:
            how = "leave them out of it (sinfo -p PARTITION, kubectl get nodes -l LABEL)"
            raise FormatError(source, [f"not in the network, but free: {listed(strange)}; {how}"])
        return mask


def network_problem(
    network: NetworkFile,
    free: BoolArray,
    size: int,
    *,
    within: int = 0,
    segment: int = 0,
    segment_level: int = 1,
    balanced: bool = False,
    name: str = "",
) -> PlacementProblem | PartitionProblem:
    """Return the problem to choose free nodes of a network, which keeps the names of its nodes.

    Raises `InvalidOption` if levels, segments or balance are asked of a ring or a torus.

    Parameters
    ----------
    free
        Which nodes may be chosen, such as `NetworkFile.mask` tells; shape (nodes,).
    size, within, segment, segment_level, balanced, name
        As in `PlacementProblem`.
    """
    topology = network.topology
    if isinstance(topology, SwitchTree):
        asked = within, segment, segment_level, balanced
        return PlacementProblem(topology, free, size, *asked, name=name, meta=network.meta)
    if within or segment or balanced:
        msg = "levels, segments and balance are asked of switches: this network is a ring or a torus"
        raise InvalidOption(msg)
    return PartitionProblem(topology, free, size, name=name, meta=network.meta)


class StatedNodes(NamedTuple):
    """What a file says of nodes."""

    free: tuple[str, ...]
    named: tuple[str, ...]  #: all of them

    @classmethod
    def of(cls, is_free: Mapping[str, bool]) -> StatedNodes:
        """Return the nodes of a mapping."""
        return cls(tuple(name for name, free in is_free.items() if free), tuple(is_free))


class Entry(NamedTuple):
    """What a file tells of a switch, a block or a ring."""

    name: str
    place: str  #: of the entry in the file, such as ``line 3``
    nodes: Sequence[str] = ()
    children: Sequence[str] = ()


def names_at(source: str, place: str, text: str) -> list[str]:
    """Return the names of a hostlist in a file."""
    try:
        return host_names(text)
    except ValueError as fault:
        raise FormatError(source, [f"{place}: {fault}"]) from None


def switch_network(source: str, entries: Sequence[Entry]) -> NetworkFile:
    """Return the network of switches of which each names its nodes or its children.

    Raises `FormatError` if they are no tree, or several; see the module.
    """
    places = _by_name(source, entries, "switch")
    numbers = {entry.name: number for number, entry in enumerate(entries)}
    parents = dict[str, str]()
    for entry in entries:
        if entry.nodes and entry.children:
            raise FormatError(
                source, [f"{entry.place}: switch {shown_text(entry.name)} has nodes and child switches"]
            )
        for child in entry.children:
            if child not in places:
                fault = f"has the child {shown_text(child)}, which is defined nowhere"
                raise FormatError(source, [f"{entry.place}: switch {shown_text(entry.name)} {fault}"])
            if parents.setdefault(child, entry.name) != entry.name:
                both = f"below {shown_text(parents[child])} and below {shown_text(entry.name)}"
                raise FormatError(source, [f"{entry.place}: switch {shown_text(child)} is {both}"])
    _check_no_circle(source, entries, parents)
    parent = [numbers[parents[entry.name]] if entry.name in parents else -1 for entry in entries]
    roots = [entry.name for entry in entries if entry.name not in parents]
    notes = [f"several roots, no job may span them: {listed(roots)}"] if len(roots) > 1 else []
    return _tree(source, entries, parent, notes)


def block_network(source: str, entries: Sequence[Entry]) -> NetworkFile:
    """Return the network of blocks of nodes below one root.

    Raises `FormatError` if there is no node, a name stands twice, or a node is in two blocks.
    """
    _by_name(source, entries, "block")
    entries = [Entry(CLUSTER, ""), *entries]
    return _tree(source, entries, [-1, *(0 for _ in entries[1:])], [])


def _tree(source: str, entries: Sequence[Entry], parent: Sequence[int], notes: Sequence[str]) -> NetworkFile:
    owners = _owners(source, entries)
    above = {*parent}
    empty = [entry.name for number, entry in enumerate(entries) if number not in above and not entry.nodes]
    if not owners:
        raise FormatError(source, ["has no nodes"])
    if empty:
        notes = [*notes, f"switches without nodes: {listed(empty)}"]
    try:
        tree = SwitchTree(np.array(parent), np.array(list(owners.values())))
    except InvalidProblem as error:
        raise FormatError(source, [str(error)]) from None
    return NetworkFile(tree, tuple(owners), tuple(entry.name for entry in entries), notes=tuple(notes))


def box_network(source: str, shape: Sequence[int], entry: Entry) -> NetworkFile:
    """Return the network of a ring or a torus, of which all axes are rings and the first varies fastest.

    Raises `FormatError` if a side is out of range, or there are not as many nodes as places for them.
    """
    place = f"{entry.place}: {shown_text(entry.name)}"
    try:
        box = Topology(tuple(shape), (True,) * len(shape))
    except InvalidProblem as error:
        raise FormatError(source, [f"{place}: {error}"]) from None
    _owners(source, [entry])
    if len({*entry.nodes}) != len(entry.nodes):
        raise FormatError(source, [f"{place} names a node twice"])
    if box.num_nodes != len(entry.nodes):
        sides = "x".join(map(str, shape))
        raise FormatError(source, [f"{place} has {len(entry.nodes)} nodes for {sides} places"])
    return NetworkFile(box, tuple(entry.nodes))


def _by_name(source: str, entries: Iterable[Entry], what: str) -> dict[str, Entry]:
    known = dict[str, Entry]()
    for entry in entries:
        if not entry.name or not entry.name.isprintable():
            raise FormatError(source, [f"{entry.place}: {shown_text(entry.name)} is no name of a {what}"])
        first = known.setdefault(entry.name, entry)
        if first is not entry:
            also = f"is also defined at {Path(source).name} {first.place}"
            raise FormatError(source, [f"{entry.place}: {what} {shown_text(entry.name)} {also}"])
    return known


def _check_no_circle(source: str, entries: Iterable[Entry], parents: dict[str, str]) -> None:
    """Refuse switches that are below themselves; each is looked at once."""
    rooted = set[str]()
    for entry in entries:
        way = dict.fromkeys([entry.name])
        name = entry.name
        while name in parents and parents[name] not in rooted:
            name = parents[name]
            if name in way:
                raise FormatError(source, [f"switch {shown_text(name)} is below itself"])
            way[name] = None
        rooted.update(way)


def _owners(source: str, entries: Iterable[Entry]) -> dict[str, int]:
    """Return the number of the entry that has each node."""
    owners = dict[str, int]()
    names = list[str]()
    for number, entry in enumerate(entries):
        names.append(entry.name)
        for node in entry.nodes:
            first = owners.setdefault(node, number)
            if first != number:
                both = f"hangs at {shown_text(names[first])} and at {shown_text(entry.name)}"
                raise FormatError(source, [f"{entry.place}: node {shown_text(node)} {both}"])
    return owners


def listed(names: Iterable[str], shown: int = 3) -> str:
    """Return the first of some names, and how many more there are."""
    names = [*names]
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    first = [name if name and name.isprintable() and len(name) <= 40 else shown_text(name) for name in names]
    return f"{', '.join(first[:shown])}{more}"
