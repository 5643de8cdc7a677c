"""Networks of Kubernetes: Kueue's Topology, the models of topograph, and the HyperNodes of Volcano.

A Topology lists labels, from the highest level down; a domain is the path of their values that nodes bear.
A ResourceFlavor may choose the Topology, by its name, and the nodes, by their labels. Nodes that lack a label
of a level are left out.

A model of topograph has the children of switches under ``switches`` and the nodes, with their switch, under
``blocks``; a child that is no key there is a switch without nodes. Without any switch, blocks stand below one
root.

Of the objects that kubectl prints, a node is free if it is Ready, not cordoned, and has no taint that keeps
pods away; which pods are there, the nodes do not tell.

HyperNodes of Volcano have members, which are nodes or other HyperNodes.

::

    apiVersion: topology.volcano.sh/v1alpha1
    kind: HyperNode
    metadata: {name: s0}
    spec: {tier: 1, members: [{type: Node, selector: {regexMatch: {pattern: "^n[12]$"}}}]}

Nodes are chosen by their names (exactMatch, or regexMatch anywhere in the name) or their labels (labelMatch),
which the nodes of the cluster tell; names are told by the file of the free nodes, too. HyperNodes are chosen
by exactMatch only. The tiers tell no more than who is a member of whom, and are not looked at.

Sources: the API of Kueue, v1beta2; tas_flavor_snapshot.go; the models in the tests of topograph; the API of
Volcano, topology/v1alpha1; hyper_node_info.go.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import numpy as np

from allocsolve.errors import FormatError, InvalidProblem
from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.networks.hostlist import is_host_name, shown_text
from allocsolve.instances.formats.networks.network import (
    CLUSTER,
    Entry,
    NetworkFile,
    StatedNodes,
    block_network,
    listed,
    names_at,
    switch_network,
)
from allocsolve.model import SwitchTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: Taints that keep pods away.
_REPELLING: Final = {"NoSchedule", "NoExecute"}


class Document(NamedTuple):
    """A value of a file, in which all numbers are texts."""

    value: Any
    source: str  #: what messages call the file
    place: str  #: where it begins, such as ``line 3``

    def refuse(self, fault: str) -> NoReturn:
        """Raise what is wrong here."""
        raise FormatError(self.source, [f"{self.place}: {fault}"])


def is_kubernetes(value: object) -> bool:
    """Tell whether a document is an object of Kubernetes, or a list of them."""
    words = {"kind", "apiVersion", "metadata", "items"}
    values = value if isinstance(value, list) else [value]
    return any(isinstance(one, dict) and not words.isdisjoint(one) for one in values)


def objects(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield all objects, also those inside of lists.

    Raises `FormatError` if one is none.
    """
    for value, source, place in documents:
        items = value
        if isinstance(value, dict):
            if not str(value.get("kind", "List")).endswith("List") or "items" not in value:
                yield Document(value, source, place)
                continue
            items = value["items"]
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise FormatError(source, [f"{place}: must be objects of Kubernetes, not {show(items)}"])
        yield from (Document(item, source, f"{place}, items[{idx}]") for idx, item in enumerate(items))


def part(document: Document, *path: str, kind: type[dict[str, Any] | str] = dict) -> Any:  # noqa: ANN401 - of a file
    """Return a field of a field, empty if it is missing.

    Raises `FormatError` if it is of another kind.
    """
    value = document.value
    for idx, name in enumerate(path):
        value = value.get(name)
        if value is None or value == "":
            return kind()
        wanted = kind if idx == len(path) - 1 else dict
        if not isinstance(value, wanted):
            noun = "a string" if wanted is str else "an object"
            document.refuse(f"{'.'.join(path[: idx + 1])} must be {noun}, not {show(value)}")
    return value


def name_of(document: Document) -> str:
    """Return the name of an object, empty if it has none."""
    return str(part(document, "metadata", "name", kind=str))


def is_node(document: Document) -> bool:
    """Tell whether an object is a node."""
    return document.value.get("kind", "Node") == "Node" and "metadata" in document.value


def stated_nodes(documents: Iterable[Document]) -> StatedNodes:
    """Return what objects of Kubernetes say of nodes.

    Raises `FormatError` if there is no node, or one is not of its form.
    """
    documents = [*documents]
    nodes = [document for document in objects(documents) if is_node(document)]
    if not nodes:
        raise FormatError(documents[0].source, ["has no nodes"])
    return StatedNodes.of({name: is_free(node) for name, node in named_nodes(nodes).items()})


def named_nodes(nodes: Iterable[Document]) -> dict[str, Document]:
    """Return nodes by their names, in the order of the alphabet, as Kueue takes them."""
    named: dict[str, Document] = {}
    for node in nodes:
        name = name_of(node)
        if not is_host_name(name):
            node.refuse(f"{shown_text(name)} is not the name of a node")
        if name in named:
            node.refuse(f"the node {shown_text(name)} stands twice")
        named[name] = node
    return dict(sorted(named.items()))


def is_free(node: Document) -> bool:
    """Tell whether a node is free, see the module."""
    spec, status = part(node, "spec"), part(node, "status")
    conditions = dicts(node, "status.conditions", status.get("conditions"))
    taints = dicts(node, "spec.taints", spec.get("taints"))
    ready = any(one.get("type") == "Ready" and _is_true(one.get("status")) for one in conditions)
    repelled = any(one.get("effect") in _REPELLING for one in taints if isinstance(one.get("effect"), str))
    return ready and not _is_true(spec.get("unschedulable")) and not repelled


def dicts(document: Document, place: str, values: object) -> Sequence[Mapping[str, object]]:
    """Return a list of objects, empty if it is missing."""
    if values is None or values == "":
        return []
    if not isinstance(values, list) or not all(isinstance(one, dict) for one in values):
        document.refuse(f"{place} must be a list of objects, not {show(values)}")
    return values


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


#: The label that all nodes have, each with its own value.
_HOSTNAME: Final = "kubernetes.io/hostname"


def kueue_network(documents: Sequence[Document], name: str) -> NetworkFile:
    """Return the network of a Topology and the nodes of a cluster.

    Raises `FormatError` if the Topology is not told, its levels are none, or no node has all of its labels.
    Other kinds than Topology, ResourceFlavor and Node are passed over. Without a name the Topology is that of
    the only ResourceFlavor which has one, or the only one.
    """
    everything = [*objects(documents)]
    topology, wanted = _chosen(everything, name, documents[0].source)
    levels = _levels(topology)
    labels = [level for level in levels if level != _HOSTNAME]
    nodes = named_nodes(filter(is_node, everything))
    if not nodes:
        fault = "has no nodes: name the output of kubectl get nodes -o json as another file"
        raise FormatError(topology.source, [fault])
    paths: dict[str, tuple[str, ...]] = {}
    lacking, unwanted = [], []
    for host, node in nodes.items():
        borne = part(node, "metadata", "labels")
        if any(borne.get(label) != value for label, value in wanted.items()):
            unwanted.append(host)
        elif not all(isinstance(borne.get(label), str) for label in labels):
            lacking.append(host)
        else:
            paths[host] = tuple(borne[label] for label in labels)
    if not paths:
        fault = f"no node has all labels of the levels of the Topology {shown_text(name_of(topology))}"
        raise FormatError(topology.source, [f"{fault}: {listed(levels)}"])
    notes = [
        f"{why}, left out: {listed(hosts)}"
        for why, hosts in (
            ("nodes that lack a label of the levels", lacking),
            ("nodes that are not of the ResourceFlavor", unwanted),
        )
        if hosts
    ]
    network = _domains(topology.source, paths)
    free = tuple(host for host in paths if is_free(nodes[host]))
    return replace(network, notes=tuple(notes), free=free, left_out=(*lacking, *unwanted))


def _chosen(objects: Sequence[Document], name: str, source: str) -> tuple[Document, Mapping[str, object]]:
    """Return the Topology, and the labels that its nodes must bear."""
    topologies = [one for one in objects if one.value.get("kind") == "Topology"]
    flavors = [one for one in objects if one.value.get("kind") == "ResourceFlavor"]
    flavors = [one for one in flavors if part(one, "spec", "topologyName", kind=str)]
    if name:
        flavors = [one for one in flavors if one.value["spec"]["topologyName"] == name]
    flavor = flavors[0] if len(flavors) == 1 else None
    name = name or (flavor.value["spec"]["topologyName"] if flavor else "")
    chosen = [one for one in topologies if not name or name_of(one) == name]
    if len(chosen) != 1:
        called = f" of the name {shown_text(name)}" if name else ""
        there = f"; there are {listed(map(name_of, topologies), 8)}" if topologies else ""
        raise FormatError(source, [f"has {len(chosen)} Topology objects{called}{there}"])
    return chosen[0], part(flavor, "spec", "nodeLabels") if flavor else {}


def _levels(topology: Document) -> list[str]:
    """Return the labels of the levels, from the highest down."""
    rows = dicts(topology, "spec.levels", part(topology, "spec").get("levels"))
    if not rows:
        topology.refuse("spec.levels is empty")
    levels: list[str] = []
    for idx, row in enumerate(rows):
        label = row.get("nodeLabel")
        if not isinstance(label, str) or not label:
            topology.refuse(f"spec.levels[{idx}] has no nodeLabel")
        if label in levels:
            topology.refuse(f"spec.levels[{idx}]: the label {shown_text(label)} stands twice")
        if _HOSTNAME in levels:
            topology.refuse(f"spec.levels[{idx - 1}]: {_HOSTNAME} may only be the last one")
        levels.append(label)
    return levels


def _domains(source: str, paths: Mapping[str, tuple[str, ...]]) -> NetworkFile:
    """Return the tree of the paths of nodes, each domain after those that come before it in the alphabet."""
    domains = sorted({path[:depth] for path in paths.values() for depth in range(len(path) + 1)})
    numbers = {domain: number for number, domain in enumerate(domains)}
    parent = [numbers[domain[:-1]] if domain else -1 for domain in domains]
    try:
        tree = SwitchTree(np.array(parent), np.array([numbers[path] for path in paths.values()]))
    except InvalidProblem as error:
        raise FormatError(source, [str(error)]) from None
    names = tuple("/".join(domain) or ("''" if domain else CLUSTER) for domain in domains)
    strange = next((name for name in names if not name.isprintable()), None)
    if strange is not None:
        raise FormatError(source, [f"the labels of the domain {shown_text(strange)} cannot be printed"])
    return NetworkFile(tree, tuple(paths), names)


def is_model(value: object) -> bool:
    """Tell whether a document is a model of topograph."""
    return isinstance(value, dict) and not {"switches", "blocks"}.isdisjoint(value)


def model_network(document: Document) -> NetworkFile:
    """Return the network of a model of topograph.

    Raises `FormatError` if the model is not of its form, or its switches are no tree.
    """
    value, source, _ = document
    switches, blocks = value.get("switches") or {}, value.get("blocks") or []
    if not isinstance(switches, dict):
        raise FormatError(source, [f"switches must be an object of switches by name, not {show(switches)}"])
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise FormatError(source, [f"blocks must be a list of objects, not {show(blocks)}"])
    children = {name: _children(source, name, switch) for name, switch in switches.items()}
    known = dict.fromkeys([*children, *(child for below in children.values() for child in below)])
    nodes: dict[str, list[str]] = {}
    for idx, block in enumerate(blocks):
        place, switch = f"blocks[{idx}]", block.get("switch") or ""
        found = _texts(source, f"{place}.nodes", block.get("nodes"))
        if not found:
            raise FormatError(source, [f"{place}: has no nodes"])
        if not isinstance(switch, str):
            raise FormatError(source, [f"{place}.switch must be a string, not {show(switch)}"])
        if switch and switch not in known:
            fault = f"names the switch {shown_text(switch)}, which is neither a key of switches nor a child"
            raise FormatError(source, [f"{place}: {fault}"])
        if not switch and known:
            raise FormatError(source, [f"{place}: has no switch"])
        held = nodes.setdefault(switch or f"block-{idx}", [])
        held += [name for text in found for name in names_at(source, f"{place}.nodes", text)]
    if not known:
        return block_network(source, [Entry(name, name, hosts) for name, hosts in nodes.items()])
    rows = [
        Entry(name, f"switches.{name}" if name in children else "blocks", nodes.get(name, ()), below)
        for name, below in ((name, children.get(name, ())) for name in known)
    ]
    return switch_network(source, rows)


def _children(source: str, name: str, switch: object) -> list[str]:
    if switch is None or switch == "":
        return []
    place = f"switches.{name}"
    if not isinstance(switch, dict):
        raise FormatError(source, [f"{place} must be an object, not {show(switch)}"])
    if switch.get("nodes"):
        raise FormatError(source, [f"{place} has nodes: those of a switch stand in blocks"])
    texts = _texts(source, f"{place}.switches", switch.get("switches"))
    return [child for text in texts for child in names_at(source, f"{place}.switches", text)]


def _texts(source: str, place: str, values: object) -> list[str]:
    if values is None or values == "":
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise FormatError(source, [f"{place} must be a list of strings, not {show(values)}"])
    return values


_SELECTORS: Final = ("exactMatch", "regexMatch", "labelMatch")


def has_hypernodes(documents: Iterable[Document]) -> bool:
    """Tell whether there is a HyperNode among objects of Kubernetes."""
    return any(_is_hypernode(one) for one in objects(documents))


def _is_hypernode(document: Document) -> bool:
    return bool(document.value.get("kind") == "HyperNode")


def volcano_network(documents: Sequence[Document], nodes: Sequence[str]) -> NetworkFile:
    """Return the network of HyperNodes.

    Raises `FormatError` if a member is not of its form, nothing tells the nodes that it chooses among, or the
    HyperNodes are no tree, or several. Other kinds than HyperNode and Node are passed over. `nodes` are the
    names of the nodes, where there is no Node among the objects.
    """
    everything = [*objects(documents)]
    there = named_nodes(filter(is_node, everything))
    hypernodes = [*filter(_is_hypernode, everything)]
    choice = _Choice(tuple(there or dict.fromkeys(nodes)), there)
    network = switch_network(hypernodes[0].source, [choice.entry(one) for one in hypernodes])
    if not there:
        return network
    placed = {*network.nodes}
    left_out = tuple(host for host in there if host not in placed)
    notes = [f"nodes of no HyperNode, left out: {listed(left_out)}"] if left_out else []
    free = tuple(host for host, node in there.items() if host in placed and is_free(node))
    return replace(network, notes=(*network.notes, *notes), free=free, left_out=left_out)


class _Choice(NamedTuple):
    """What the members of HyperNodes are chosen among."""

    names: Sequence[str]
    nodes: Mapping[str, Document]  #: those of which labels are told

    def entry(self, hypernode: Document) -> Entry:
        """Return a HyperNode as a switch."""
        hosts, children = dict[str, None](), dict[str, None]()
        members = dicts(hypernode, "spec.members", part(hypernode, "spec").get("members"))
        for idx, value in enumerate(members):
            member = Document(value, hypernode.source, f"{hypernode.place}: spec.members[{idx}]")
            kind = part(member, "type", kind=str)
            if kind == "HyperNode":
                children[_exact(member)] = None
            elif kind == "Node":
                hosts |= dict.fromkeys(self._hosts(member))
            else:
                member.refuse(f"type must be Node or HyperNode, not {show(kind)}")
        return Entry(name_of(hypernode), hypernode.place, [*hosts], [*children])

    def _hosts(self, member: Document) -> list[str]:
        selector = part(member, "selector")
        kinds = [kind for kind in _SELECTORS if kind in selector]
        if len(kinds) != 1:
            member.refuse(f"has {' and '.join(kinds) or 'none'} of {', '.join(_SELECTORS)}, not one")
        if kinds[0] == "exactMatch":
            return [_exact(member)]
        if not (self.names if kinds[0] == "regexMatch" else self.nodes):
            fault = f"chooses nodes by {kinds[0]}, and nothing tells which there are"
            member.refuse(f"{fault}: name the output of kubectl get nodes -o json as another file")
        if kinds[0] == "labelMatch":
            wanted = Document(part(member, "selector", "labelMatch"), member.source, member.place)
            labels_of = {host: part(node, "metadata", "labels") for host, node in self.nodes.items()}
            return [host for host, labels in labels_of.items() if _bears(labels, wanted)]
        pattern = part(member, "selector", "regexMatch", "pattern", kind=str)
        try:
            chosen = re.compile(pattern or "[")
        except re.error as error:
            member.refuse(f"the pattern {shown_text(pattern)} is none: {error}")
        return [host for host in self.names if chosen.search(host)]


def _exact(member: Document) -> str:
    name = str(part(member, "selector", "exactMatch", "name", kind=str))
    if not is_host_name(name):
        member.refuse(f"exactMatch: {shown_text(name)} is not a name")
    return name


def _bears(labels: Mapping[str, Any], wanted: Document) -> bool:
    """Tell whether labels are those of a selector: an empty one chooses nothing."""
    equal = part(wanted, "matchLabels")
    terms = dicts(wanted, "matchExpressions", wanted.value.get("matchExpressions"))
    return bool(equal or terms) and (
        all(labels.get(key) == value for key, value in equal.items())
        and all(_holds(labels, term, wanted) for term in terms)
    )


def _holds(labels: Mapping[str, Any], term: Mapping[str, Any], wanted: Document) -> bool:
    operator, key, values = term.get("operator"), term.get("key"), term.get("values") or []
    if not isinstance(key, str) or not isinstance(values, list):
        wanted.refuse("matchExpressions must have a key, an operator and a list of values")
    held = {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    if operator not in held:
        wanted.refuse(f"the operator must be one of {', '.join(held)}, not {show(operator)}")
    return held[operator]
