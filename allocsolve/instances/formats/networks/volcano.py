"""Networks of Volcano: HyperNodes, each with its members, which are nodes or other HyperNodes.

::

    apiVersion: topology.volcano.sh/v1alpha1
    kind: HyperNode
    metadata: {name: s0}
    spec: {tier: 1, members: [{type: Node, selector: {regexMatch: {pattern: "^n[12]$"}}}]}

Nodes are chosen by their names (exactMatch, or regexMatch anywhere in the name) or their labels (labelMatch),
which the nodes of the cluster tell; names are told by the file of the free nodes, too. HyperNodes are chosen
by exactMatch only. The tiers tell no more than who is a member of whom, and are not looked at.

Sources: the API of Volcano, topology/v1alpha1; hyper_node_info.go.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.networks.hostlist import is_host_name, shown_text
from allocsolve.instances.formats.networks.kubernetes import (
    Document,
    dicts,
    is_free,
    is_node,
    name_of,
    named_nodes,
    objects,
    part,
)
from allocsolve.instances.formats.networks.network import Entry, listed, switch_network

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.instances.formats.networks.network import NetworkFile

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
