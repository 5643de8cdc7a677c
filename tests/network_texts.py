"""Small files of networks and of free nodes, and what is to be read from them: those of networks.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from allocsolve.instances import NetworkFile


class Sample(NamedTuple):
    """A file of a network."""

    text: str
    switches: str  #: root first, as ``name < parent``
    nodes: str  #: as ``node: switch``
    sizes: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    free: str | None = None
    topology: str = ""  #: which one is asked for


_TEXTS: Final = tomllib.loads(Path(__file__).with_name("networks.toml").read_text(encoding="utf-8"))

SAMPLES: Final[dict[str, Sample]] = {
    name: Sample(**(fields | {key: tuple(fields.get(key, ())) for key in ("sizes", "notes")}))
    for name, fields in _TEXTS["sample"].items()
}

#: Files of free nodes, and those that are.
FREE: Final[dict[str, tuple[str, str]]] = {
    name: (fields["text"], fields["nodes"]) for name, fields in _TEXTS["free"].items()
}

_LEVELS, _MARK, _NODES = SAMPLES["kueue-1"].text.partition("---\n")
_LEVELS += _MARK


def _node(name: str, labels: str, *, ready: str = "True", spec: str = "{}") -> str:
    condition = f'{{"type": "Ready", "status": "{ready}"}}'
    metadata = f'{{"name": "{name}", "labels": {{{labels}}}}}'
    return f'{{"metadata": {metadata}, "spec": {spec}, "status": {{"conditions": [{condition}]}}}}'


_RACK: Final = '"x/block": "a", "x/rack": "1"'


def _member(selector: str, kind: str = "Node") -> str:
    return f"  - {{type: {kind}, selector: {{{selector}}}}}\n"


def _hypernode(name: str, *members: str) -> str:
    head = f"apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {{name: {name}}}\n"
    return f"{head}spec:\n  tier: 1\n  members:\n{''.join(members)}"


#: Files of Kueue that are broken, as the others below.
_KUEUE: Final = [
    (_LEVELS.replace("x/rack", "x/block") + _NODES, "'x/block' stands twice"),
    (_LEVELS.replace("x/block", "kubernetes.io/hostname") + _NODES, "may only be the last one"),
    ("kind: ResourceFlavor", "0 Topology objects"),
    (_LEVELS, "has no nodes: name the output of kubectl get nodes -o json"),
    (_NODES, "0 Topology objects"),
    (_LEVELS + _LEVELS.replace("name: t", "name: u") + _NODES, "has 2 Topology objects; there are t, u"),
    (_LEVELS + _node("h1", ""), "no node has all labels of the levels of the Topology 't': x/block, x/rack"),
    (f"{_LEVELS}{_NODES}\n{_node('h1', '')}", "line 14: the node 'h1' stands twice"),
    (_LEVELS + _node("h 1", ""), "line 10: 'h 1' is not the name of a node"),
    (_LEVELS.replace("levels:", "level:") + _NODES, "line 1: spec.levels is empty"),
    (_LEVELS.replace("nodeLabel: x/rack", "label: x/rack") + _NODES, "spec.levels[1] has no nodeLabel"),
    (_LEVELS + '{"metadata": 5}', "line 10: metadata must be an object, not '5'"),
    (_LEVELS + '{"metadata": {"name": "h", "labels": [1]}}', "metadata.labels must be an object, not a list"),
    (_LEVELS + _node("h1", _RACK, spec='{"taints": {"a": 1}}'), "spec.taints must be a list of objects"),
    (_LEVELS + '{"items": [{"metadata": {}}, 5]}', "line 10: must be objects of Kubernetes, not a list of 2"),
    (_LEVELS + '{"metadata": {"name": "h1"}', "line 10, column 28: "),
    (_LEVELS + _node("h1", '"x/block": "\\u0007", "x/rack": "1"'), "cannot be printed"),
]


#: HyperNodes that are broken.
_VOLCANO: Final = [
    (
        _hypernode("s", _member("regexMatch: {pattern: n}")),
        "chooses nodes by regexMatch, and nothing tells which",
    ),
    (
        _hypernode("s", _member("labelMatch: {matchLabels: {a: b}}")),
        "chooses nodes by labelMatch, and nothing",
    ),
    (_hypernode("s", _member('regexMatch: {pattern: "("}')) + "---\n" + _NODES, "the pattern '(' is none: "),
    (_hypernode("s", _member("regexMatch: {}")) + "---\n" + _NODES, "the pattern '' is none: "),
    (_hypernode("s", _member("exactMatch: {}")), "line 1: spec.members[0]: exactMatch: '' is not a name"),
    (_hypernode("s", _member("exactMatch: {name: 'a b'}")), "exactMatch: 'a b' is not a name"),
    (_hypernode("s", _member("exactMatch: n1")), "selector.exactMatch must be an object, not 'n1'"),
    (_hypernode("s", _member("")), "has none of exactMatch, regexMatch, labelMatch, not one"),
    (
        _hypernode("s", _member("exactMatch: {name: a}, regexMatch: {pattern: b}")),
        "spec.members[0]: has exactMatch and regexMatch of exactMatch, regexMatch, labelMatch, not one",
    ),
    (_hypernode("s", _member("exactMatch: {name: a}", "Rack")), "type must be Node or HyperNode, not 'Rack'"),
    (_hypernode("s", "  - 5\n"), "line 1: spec.members must be a list of objects, not a list of 1"),
    (_hypernode("s"), "has no nodes"),
    (
        _hypernode("s", _member("exactMatch: {name: t}", "HyperNode")),
        "the child 't', which is defined nowhere",
    ),
    (_hypernode("s", _member("exactMatch: {name: s}", "HyperNode")), "switch 's' is below itself"),
    (
        _hypernode("s", _member("exactMatch: {name: t}", "HyperNode"), _member("exactMatch: {name: n}"))
        + "---\n"
        + _hypernode("t", _member("exactMatch: {name: m}")),
        "line 1: switch 's' has nodes and child switches",
    ),
    (
        _hypernode("s", _member("exactMatch: {name: n}"))
        + "---\n"
        + _hypernode("t", _member("exactMatch: {name: n}")),
        "line 9: node 'n' hangs at 's' and at 't'",
    ),
    (_hypernode("''", _member("exactMatch: {name: n}")), "'' is no name of a switch"),
    (
        _hypernode("s", _member("labelMatch: {matchExpressions: [{key: a, operator: Gt}]}"))
        + "---\n"
        + _NODES,
        "the operator must be one of In, NotIn, Exists, DoesNotExist, not 'Gt'",
    ),
    (
        _hypernode("s", _member("labelMatch: {matchExpressions: [{operator: In}]}")) + "---\n" + _NODES,
        "matchExpressions must have a key, an operator and a list of values",
    ),
]


def _broken(text: str) -> list[tuple[str, str]]:
    """Return pairs of a file and what is said of it, each on a line; ``⏎`` ends a line of the file."""
    lines = text.strip("\n").split("\n")
    return [(file.replace("⏎", "\n"), said) for file, said in zip(lines[::2], lines[1::2], strict=True)]


#: Files that are broken, by their kind, and what the message holds.
BROKEN: Final[dict[str, list[tuple[str, str]]]] = {
    **{kind: _broken(text) for kind, text in _TEXTS["broken"].items()},
    "kueue": _KUEUE,
    "volcano": _VOLCANO,
}
#: The same of files of free nodes.
BROKEN_FREE: Final = BROKEN.pop("free")


def switches_of(network: NetworkFile) -> str:
    """Return the switches of a tree as samples tell them, each followed by those below it."""
    tree = network.topology
    assert hasattr(tree, "parent")
    parent: list[int] = tree.parent.tolist()
    told: list[str] = []
    stack = [number for number, above in reversed([*enumerate(parent)]) if above < 0]
    while stack:
        number = stack.pop()
        above = f" < {network.switches[parent[number]]}" if parent[number] >= 0 else ""
        told.append(f"{network.switches[number]}{above}")
        stack += [below for below, above in reversed([*enumerate(parent)]) if above == number]
    return ", ".join(told)


def nodes_of(network: NetworkFile) -> str:
    """Return the nodes of a tree as samples tell them."""
    tree = network.topology
    assert hasattr(tree, "switch")
    pairs = zip(network.nodes, tree.switch.tolist(), strict=True)
    return ", ".join(f"{name}: {network.switches[switch]}" for name, switch in pairs)
