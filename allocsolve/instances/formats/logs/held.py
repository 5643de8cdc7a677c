"""What jobs of a log hold where nodes are places: chunks, of what the log says that they had in all.

A job on one node is one chunk; one on N nodes is N chunks, one on each node, that take as much as each other.
Where its amounts are no multiples of N they are rounded up, and the job is counted. A log that says chunks
(PBS) is taken at its word. A job that had all processors of its nodes shares them with nobody.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.instances.formats.logs.fields import PlaceColumns, listed_needs
from allocsolve.instances.formats.networks.hostlist import host_names
from allocsolve.model.places import Shape, num_places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from allocsolve.instances.formats.logs.site_nodes import SiteNodes
    from allocsolve.model import FloatArray, NodeType

#: What stands in a list of amounts and is none.
CHUNKS: Final = "chunks"
PER_NODE: Final = "per_node"
EXCLUSIVE: Final = "exclusive"
_SAID: Final = frozenset({CHUNKS, PER_NODE, EXCLUSIVE})

#: What TRES are called that are amounts of nodes; generic resources have a name of their own.
_TRES: Final = {"cpu": "cpus", "mem": "mem", "gres/gpu": "gpus"}
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([kmgtp]?)b?", re.ASCII | re.IGNORECASE)
#: MiB, by the letter behind a number.
_MIB: Final = {"k": 2**-10, "m": 1, "g": 2**10, "t": 2**20, "p": 2**30}


def mebibytes(text: str, plain: str = "m") -> int:
    """Return a size such as ``57600M`` or ``1.5T`` in MiB, rounded up; `plain` is its unit without a letter.

    A ValueError tells what is wrong.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:20]!r} is no size of memory")
    factor = 2**-20 if plain == "b" and not found[2] else _MIB[found[2].lower() or plain]
    return int(-(-float(found[1]) * factor // 1))


def tres_held(text: str, submit_line: str = "") -> str:
    """Return what a list such as ``cpu=36,mem=57600M,node=1,gres/gpu:a100=4`` has, in all.

    GPUs of all types are counted together, with and without their type. A job that was submitted by
    ``sbatch --exclusive`` shares its nodes with nobody.
    """
    if not text:
        return ""
    if "=" not in text:
        raise ValueError(f"{text[:20]!r} is no list such as cpu=8,mem=4G")
    plain: dict[str, int] = {}
    typed: dict[str, int] = {}
    for part in text.split(","):
        full, _, number = part.partition("=")
        kind, _, of_type = full.partition(":")
        name = _TRES.get(kind) or (kind.removeprefix("gres/") if kind.startswith("gres/") else "")
        if not name:
            continue
        if name != "mem" and not re.fullmatch(r"\d{1,15}", number, re.ASCII):
            raise ValueError(f"{number[:20]!r} is no number")
        counts = typed if of_type else plain
        counts[name] = counts.get(name, 0) + (mebibytes(number) if name == "mem" else int(number))
    held = {name: max(plain.get(name, 0), typed.get(name, 0)) for name in {**plain, **typed}}
    if re.search(r"\s--exclusive(?:\s|$)", submit_line):
        held[EXCLUSIVE] = 1
    return listed_needs(held)


def place_columns(
    machine: SiteNodes,
    nodes: FloatArray,
    processors: FloatArray,
    amounts: Sequence[tuple[tuple[str, int], ...] | None],
    partitions: Sequence[str | None],
    hostlists: Sequence[str | None],
) -> PlaceColumns:
    """Return what the rows of a log hold on the nodes of a machine.

    Parameters
    ----------
    machine
        Its nodes; there are some.
    nodes, processors
        Shape (rows,): what the log says, 0 where that is not known.
    amounts
        What rows hold in all, see `tres_held`; where it is not known the processors count.
    partitions, hostlists
        Of each row, None where unknown.
    """
    count = len(nodes)
    flags = {name: np.zeros(count, dtype=np.bool_) for name in ("too_large", "uneven", "unknown")}
    left_out: dict[str, NDArray[np.bool_]] = {}
    shapes: list[Shape] = []
    known: dict[object, tuple[Shape, bool, bool, bool, tuple[str, ...]]] = {}
    rows = zip(nodes.tolist(), processors.tolist(), amounts, partitions, strict=True)
    for row, key in enumerate(rows):
        if key not in known:
            known[key] = _held(machine, *key)
        shape, *found, others = known[key]
        shapes.append(shape)
        for flag, value in zip(flags.values(), found, strict=True):
            flag[row] = value
        for name in others:
            left_out.setdefault(name, np.zeros(count, dtype=np.bool_))[row] = True
    ids = machine.ids
    listed = {text: _ids(ids, text) for text in {*hostlists}}
    return PlaceColumns(shapes, **flags, left_out=left_out, node_ids=[listed[text] for text in hostlists])


def _ids(ids: Mapping[str, int], hostlist: str | None) -> tuple[int, ...] | None:
    """Return the nodes of a hostlist; None if it is none, or one of them is not known."""
    try:
        names = host_names(hostlist or "")
    except ValueError:
        return None
    known = tuple(ids[name] for name in names if name in ids)
    return known if known and len({*known}) == len(names) else None


def _held(
    machine: SiteNodes,
    nodes: float,
    processors: float,
    amounts: tuple[tuple[str, int], ...] | None,
    partition: str | None,
) -> tuple[Shape, bool, bool, bool, tuple[str, ...]]:
    """Return the shape of a row, whether it fits nowhere, is uneven or unknown, and what is left out."""
    number = max(int(nodes), 1)
    allowed = dict(machine.partitions).get(partition or "", ())
    if partition and "|" in partition:  # any of several models
        allowed = tuple(
            {kind for name in partition.split("|") for kind in dict(machine.partitions).get(name, ())}
        )
    kinds = [kind for kind in machine.types if not allowed or kind.name in allowed]
    types = tuple(sorted(kind.name for kind in kinds)) if len(kinds) < len(machine.types) else ()
    if amounts is None:
        amounts = (("cpus", int(processors)),) if processors > 0 else ()
    said = {name: value for name, value in amounts if name in _SAID}
    total = {name: value for name, value in amounts if value and name not in _SAID}
    others = tuple(name for name in total if not any(name in dict(kind.has) for kind in machine.types))
    total = {name: value for name, value in total.items() if name not in others}
    whole = Shape.whole(min(number, num_places(kinds)), types)
    if not total:
        return (whole, num_places(kinds) < number, False, not amounts, others)
    chunks, divided = (said[CHUNKS], 1) if CHUNKS in said else (number, number)
    per_node = min(said.get(PER_NODE, chunks if CHUNKS in said else 1), chunks)
    each = {name: -(-value // divided) for name, value in total.items()}
    uneven = any(value % divided for value in total.values())
    fits = [kind for kind in kinds if all(dict(kind.has).get(name, 0) >= each[name] for name in each)]
    room = sum(kind.count * _most(kind, each, per_node) for kind in fits)
    least = -(-chunks // per_node)
    if room < chunks or num_places(fits) < least:
        return (whole, True, uneven, False, others)
    cores = max(dict(kind.has).get("cpus", 0) for kind in fits)
    alone = bool(said.get(EXCLUSIVE)) or (per_node == 1 and each.get("cpus", 0) == cores > 0)
    if alone and per_node == 1 and len(fits) == len(kinds) == 1:
        return (Shape.whole(chunks, types), False, uneven, False, others)
    shape = Shape(chunks, tuple(sorted(each.items())), per_node, least, alone, types)
    return (shape, False, uneven, False, others)


def _most(kind: NodeType, each: Mapping[str, int], per_node: int) -> int:
    """Return how many chunks an empty node has room for."""
    has = dict(kind.has)
    return min(per_node, *(has[name] // amount for name, amount in each.items()))
