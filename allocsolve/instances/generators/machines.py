"""Machines by name: boxes of nodes and switch trees."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.model import Mesh, SwitchTree, Topology, Torus

if TYPE_CHECKING:
    from collections.abc import Mapping


class Machine(NamedTuple):
    """A machine that can be named."""

    network: Topology | SwitchTree
    #: Who says that it is so.
    source: str


def _tree(*sizes: int, hops: tuple[int, ...] = (), capacities: tuple[int, ...] = ()) -> SwitchTree:
    return SwitchTree.regular(sizes, hops, capacities)


_TABLE: Final = {
    "hlrn-ii": Machine(Mesh((16, 8)), "Linnert et al. 2024"),
    "mesh-32x32": Machine(Mesh((32, 32)), "a common size of studies"),
    "mesh-8x8x8": Machine(Mesh((8, 8, 8)), "a common size of studies"),
    "titan": Machine(Torus((25, 16, 24)), "a torus like that of Titan, Oak Ridge"),
    "fugaku": Machine(
        Topology((24, 23, 24, 2, 3, 2), (True, True, True, False, True, False)),
        "Tofu D of 158,976 nodes (Ajima et al., CLUSTER 2018)",
    ),
    "tpu-v5e": Machine(Torus((16, 16)), "a pod of 256 chips (Google Cloud, TPU v5e)"),
    "summit": Machine(_tree(256, 18), "256 racks of 18 nodes (EE Times, 2018)"),
    "meta-24k": Machine(
        # Racks have all that their nodes need, in sevenths of what a node needs; pods have a seventh of it.
        _tree(8, 192, 2, capacities=(14, 384)),
        "8 pods of 192 racks of 2 nodes, pods 7 to 1 oversubscribed (The Llama 3 herd of models, 2024)",
    ),
    "nvl72": Machine(_tree(8, 16, 18), "128 racks of 18 nodes, pods of 16 racks (DGX SuperPOD GB200)"),
    "perlmutter-cpu": Machine(
        _tree(12, 16, 16, hops=(2, 3, 5)), "12 groups of 16 routers of 16 nodes, a dragonfly (NERSC)"
    ),
    "frontier": Machine(
        _tree(74, 128, hops=(3, 5)),
        "74 groups of 128 nodes, a dragonfly; the links of a node end at several routers of its group",
    ),
    "jupiter": Machine(
        _tree(25, 5, 48, hops=(2, 3, 5)), "25 groups of 5 leaf switches of 48 nodes, a dragonfly+ (JSC)"
    ),
    "tpu-v4": Machine(
        _tree(64, 2, 2, 2, 2, 4),
        "64 cubes of 4x4x4 chips, in which slices of 2x2x1, 2x2x2, 2x2x4 and 2x4x4 chips are nested "
        "(Jouppi et al., ISCA 2023; Google Cloud, TPU v4)",
    ),
}

#: Machines that are boxes of nodes, by name.
MACHINES: Mapping[str, Topology] = MappingProxyType(
    {name: row.network for name, row in _TABLE.items() if isinstance(row.network, Topology)}
)

#: Machines that are switch trees, by name.
SWITCH_TREES: Mapping[str, SwitchTree] = MappingProxyType(
    {name: row.network for name, row in _TABLE.items() if isinstance(row.network, SwitchTree)}
)

#: Who says so, by the names of both.
MACHINE_SOURCES: Mapping[str, str] = MappingProxyType({name: row.source for name, row in _TABLE.items()})
