"""The nodes of a machine whose nodes are places: as people write them, and as schedulers list them.

``cpu=360x128c512g,gpu=40x64c512g4gpu`` are 360 nodes of the type ``cpu`` with 128 processors and 512 GiB of
memory each, and 40 of the type ``gpu``. Files are what ``sinfo -N -h -o '%N|%c|%m|%G|%w|%f|%P'`` or
``scontrol show node`` printed, or the table of nodes of Alibaba's GPU trace (``openb_node_list``).

Amounts are ``cpus``, ``mem`` in MiB, ``gpus`` of any type, and other generic resources by name; of Alibaba's
nodes processors and GPUs are counted in thousandths, as its pods are, and GPUs are devices.

Source: the pages sinfo and scontrol of Slurm's documentation.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.errors import FormatError, InvalidOption, InvalidProblem
from allocsolve.instances.formats.logs.lines import read_lines
from allocsolve.instances.formats.networks.hostlist import compress_hostlist, host_names
from allocsolve.model.places import NodeType, checked_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from allocsolve.instances.formats.files import PathLike


class SiteNodes(NamedTuple):
    """The nodes of a machine, and what partitions they are in; there may be none."""

    types: tuple[NodeType, ...] = ()
    #: Partitions, and the types of nodes that their jobs may use; any type, if it is not here.
    partitions: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def ids(self) -> dict[str, int]:
        """The ids of the nodes that have names."""
        found: dict[str, int] = {}
        first = 0
        for kind in self.types:
            names = [name for listed in kind.names for name in host_names(listed)]
            found |= {name: first + idx for idx, name in enumerate(names)}
            first += kind.count
        return found


_TYPE: Final = re.compile(r"([^=|,\s]{1,80})=(\d{1,7})x((?:\d{1,12}[a-z]+)+)", re.ASCII)
_AMOUNT: Final = re.compile(r"(\d{1,12})([a-z]+)", re.ASCII)
#: What stands behind a number: the resource, and how much of it one is.
_SUFFIXES: Final = {
    "c": ("cpus", 1),
    "m": ("mem", 1),
    "g": ("mem", 2**10),
    "t": ("mem", 2**20),
    "gpu": ("gpus", 1),
}


def parse_node_types(text: str) -> tuple[NodeType, ...]:
    """Return the types of nodes that a text such as ``cpu=360x128c512g,gpu=40x64c512g4gpu`` says.

    ``c`` are processors, ``g`` GiB of memory (``m`` MiB, ``t`` TiB), ``gpu`` GPUs; what is left out does not
    limit jobs. Raises `InvalidOption` if the text is of another form.

    Examples
    --------
    >>> parse_node_types("gpu=40x64c512g4gpu")[0].has
    (('cpus', 64), ('gpus', 4), ('mem', 524288))
    """
    types = []
    for part in text.split(","):
        found = _TYPE.fullmatch(part.strip())
        if found is None:
            raise InvalidOption(f"node types: {part[:40]!r} is not of the form gpu=40x64c512g4gpu")
        has: dict[str, int] = {}
        for number, suffix in _AMOUNT.findall(found[3]):
            if suffix not in _SUFFIXES:
                known = ", ".join(_SUFFIXES)
                raise InvalidOption(f"node types: {suffix[:20]!r} in {part[:40]!r} is none of {known}")
            name, factor = _SUFFIXES[suffix]
            if name in has:
                raise InvalidOption(f"node types: {name} stands twice in {part[:40]!r}")
            has[name] = factor * int(number)
        types.append((found[1], int(found[2]), has))
    try:
        return checked_types([NodeType(*each) for each in types], {})
    except InvalidProblem as fault:
        raise InvalidOption(f"node types: {fault}") from None


def site_nodes(node_types: Iterable[NodeType] = (), node_list: PathLike | None = None) -> SiteNodes:
    """Return the nodes of a machine by their types, or by a file; none if neither is given.

    Raises `InvalidOption` if both are, or types contradict themselves.
    """
    types = tuple(node_types)
    if node_list is None:
        try:
            return SiteNodes(checked_types(types, {}))
        except InvalidProblem as fault:
            raise InvalidOption(str(fault)) from None
    if types:
        raise InvalidOption("node_types and node_list: the nodes are said twice")
    return read_node_list(node_list)


class _Node(NamedTuple):
    """A node as a file lists it; nodes that differ in their names only are of one type."""

    has: tuple[tuple[str, int], ...]
    weight: int
    features: str
    partitions: tuple[str, ...]
    devices: tuple[tuple[str, int], ...] = ()


def read_node_list(path: PathLike) -> SiteNodes:
    """Return the nodes of a file that ``sinfo`` or ``scontrol show node`` printed; see the module.

    A node stands there once for each of its partitions. Nodes with equal amounts, weights, features and
    partitions are of one type, called after what they have. Raises `FormatError` if a line is of another
    form.
    """
    nodes, _ = read_lines(path, lambda lines: _listed(str(path), lines))
    kinds: dict[_Node, list[str]] = {}
    for name, node in nodes.items():
        kinds.setdefault(node, []).append(name)
    types: list[NodeType] = []
    partitions: dict[str, list[str]] = {}
    for node, names in kinds.items():
        title = _title(dict(node.has))
        same = sum(each.name.partition("#")[0] == title for each in types)
        title += f"#{same + 1}" if same else ""
        try:
            listed = (compress_hostlist(names),)
            types.append(NodeType(title, len(names), node.has, node.weight, listed, node.devices))
        except InvalidProblem as fault:
            raise FormatError(str(path), [str(fault)]) from None
        for partition in node.partitions:
            partitions.setdefault(partition, []).append(title)
    if not types:
        raise FormatError(str(path), ["lists no node"])
    return SiteNodes(tuple(types), tuple((name, tuple(titles)) for name, titles in partitions.items()))


def _title(has: Mapping[str, int]) -> str:
    """Return what nodes are called, in the notation of `parse_node_types`."""
    suffixes = {"cpus": "c", "mem": "m", "gpus": "gpu"}
    return "".join(f"{has[name]}{suffix}" for name, suffix in suffixes.items() if has.get(name)) or "node"


def _listed(source: str, lines: Iterator[tuple[int, str]]) -> dict[str, _Node]:
    """Return the nodes of a file by name."""
    nodes: dict[str, _Node] = {}
    numbered = [(number, line.strip()) for number, line in lines if line.strip()]
    first = numbered[0][1] if numbered else ""
    rows: Iterable[tuple[int, Mapping[str, str] | None]] = map(_sinfo, numbered)
    if first.startswith("NodeName="):
        rows = _scontrol(numbered)
    elif first.startswith("sn,"):
        rows = _alibaba(numbered)
    for number, row in rows:
        try:
            if row is None:
                raise ValueError("is not what sinfo -N -h -o '%N|%c|%m|%G|%w|%f|%P' prints")
            has = {"cpus": _count(row["cpus"]), "mem": _count(row["mem"])} | _generic(row["gres"])
            partitions = {name.rstrip("*") for name in row["partitions"].split(",") if name}
            for name in host_names(row["name"]):
                before = nodes[name].partitions if name in nodes else ()
                nodes[name] = _Node(
                    tuple((what, amount) for what, amount in has.items() if amount),
                    _count(row["weight"]),
                    row["features"],
                    tuple(sorted({*before, *partitions})),
                    tuple(_generic(row.get("devices", "")).items()),
                )
        except ValueError as fault:
            raise FormatError(source, [f"line {number}: {fault}"]) from None
    return nodes


def _count(text: str) -> int:
    if not (text.isascii() and text.removesuffix("+").isdigit() and len(text) < 16):
        raise ValueError(f"{text[:20]!r} is no number")
    return int(text.removesuffix("+"))


def _generic(text: str) -> dict[str, int]:
    """Return what a list such as ``gpu:a100:4(S:0-1),nvme:2`` says; GPUs of all types together."""
    has: dict[str, int] = {}
    for entry in re.sub(r"\([^)]*\)", "", text).split(","):
        name, *rest = entry.split(":")
        if name in {"", "null", "N/A"}:
            continue
        count = _count(rest[-1]) if rest and rest[-1][:1].isdigit() else 1
        name = "gpus" if name == "gpu" else name
        has[name] = has.get(name, 0) + count
    return has


#: In the order of the columns of ``sinfo``.
_SINFO: Final = ("name", "cpus", "mem", "gres", "weight", "features", "partitions")


def _sinfo(numbered: tuple[int, str]) -> tuple[int, Mapping[str, str] | None]:
    number, line = numbered
    cells = [cell.strip() for cell in line.split("|")]
    return number, dict(zip(_SINFO, cells, strict=True)) if len(cells) == len(_SINFO) else None


#: What ``scontrol`` calls these, the first that is there.
_SCONTROL: Final = {
    "cpus": ("CPUEfctv", "CPUTot"),
    "mem": ("RealMemory",),
    "gres": ("Gres",),
    "weight": ("Weight",),
    "features": ("AvailableFeatures",),
    "partitions": ("Partitions",),
}


def _scontrol(numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the nodes of ``scontrol show node``, with or without ``-o``."""
    blocks: list[tuple[int, str]] = []
    for number, line in numbered:
        if line.startswith("NodeName="):
            blocks.append((number, line))
        else:
            blocks[-1] = blocks[-1][0], f"{blocks[-1][1]} {line}"
    for number, block in blocks:
        said = dict(re.findall(r"(\w+)=(\S*)", block))
        row = {
            what: next((said[name] for name in names if name in said), "")
            for what, names in _SCONTROL.items()
        }
        yield number, {**row, "weight": row["weight"] or "1", "name": said["NodeName"]}


def _alibaba(numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Mapping[str, str] | None]]:
    """Yield the nodes of Alibaba's table, whose models of GPU are what pods may ask for."""
    numbers, lines = zip(*numbered, strict=True)
    for number, row in zip(numbers[1:], csv.DictReader(lines), strict=True):
        cells = [row.get(name) or "" for name in ("sn", "cpu_milli", "memory_mib", "gpu", "model")]
        name, cpus, mem, gpus, model = cells
        gres, devices = (f"gpu:{gpus}000", f"gpu:{gpus}") if gpus not in {"", "0"} else ("", "")
        listed = zip(_SINFO, (name, cpus, mem, gres, "0", "", model), strict=True)
        yield number, {**dict(listed), "devices": devices}
