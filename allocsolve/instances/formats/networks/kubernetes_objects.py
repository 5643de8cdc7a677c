"""Objects of Kubernetes in files: what kubectl prints, nodes among them, and which of those are free.

A node is free if it is Ready, not cordoned, and has no taint that keeps pods away; which pods are there, the
nodes do not tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from allocsolve.errors import FormatError
from allocsolve.instances.formats.files import show
from allocsolve.instances.formats.networks.hostlist import is_host_name, shown_text
from allocsolve.instances.formats.networks.network import StatedNodes

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
