"""Files of networks and of free nodes: what a file is, its content tells.

JSON and YAML may hold several values, one after another, as kubectl and its users write them. Scalars are
texts, whatever they look like: a rack may be called 01, on or 1e3.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import FormatError, SolverUnavailable
from allocsolve.instances.formats.files import open_input, read_stream
from allocsolve.instances.formats.networks.hostlist import host_names
from allocsolve.instances.formats.networks.kubernetes import (
    Document,
    has_hypernodes,
    is_kubernetes,
    is_model,
    kueue_network,
    model_network,
    stated_nodes,
    volcano_network,
)
from allocsolve.instances.formats.networks.network import StatedNodes
from allocsolve.instances.formats.networks.slurm import (
    conf_network,
    is_conf,
    is_sinfo,
    is_yaml,
    other_table,
    sinfo_json,
    sinfo_lines,
    yaml_network,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.instances.formats.files import PathLike
    from allocsolve.instances.formats.networks.network import NetworkFile

#: Bytes of a file: 25,000 nodes as kubectl writes them.
_MAX_BYTES: Final = 2**29

_SECTION: Final = re.compile(r"(?m)^---(?=\s|$)")
_MARK: Final = re.compile(r"\S")
_JSON: Final = re.compile(r'[\[{\s]*(?:"|\Z|[\]}])')
_YAML_OBJECT: Final = re.compile(r"(?m)^(apiVersion|kind|items)\s*:")


def read_network(*paths: PathLike, topology: str = "", nodes: Sequence[str] = ()) -> NetworkFile:
    """Read a network: Slurm's topology.conf, topology.yaml or what scontrol prints, or one of Kubernetes.

    Those are Kueue's Topology, Volcano's HyperNodes and the models of topograph.

    Parameters
    ----------
    paths
        One file; for Kueue also several, which hold the Topology, the nodes (``kubectl get nodes -o json``)
        and perhaps the ResourceFlavor; for Volcano those of the HyperNodes and of the nodes.
    topology
        The name of the one to read of a topology.yaml or of several Topology objects; the default one if
        empty.
    nodes
        All nodes of the machine, for a flat network of Slurm, which names none, and for HyperNodes that
        choose nodes by patterns.

    Raises
    ------
    FormatError
        If a file cannot be read, is none of these, or does not describe a tree, a ring or a torus; the
        message names the place.
    """
    documents: list[Document] = []
    for path in paths:
        source = str(path)
        text = _text(path, source)
        if is_conf(text):
            _check_alone(paths)
            if topology:
                raise FormatError(source, ["is a topology.conf, which has one topology without a name"])
            return conf_network(text, source)
        documents += _documents(text, source)
    for document in documents:
        if is_yaml(document.value):
            _check_alone(paths)
            return yaml_network(document.value, document.source, topology, nodes)
        if is_model(document.value):
            _check_alone(paths)
            return model_network(document)
        if not is_kubernetes(document.value):
            fault = (
                "is no network: neither Slurm's topology.conf or topology.yaml, "
                "nor a Topology and nodes of Kueue, nor HyperNodes of Volcano, nor a model of topograph"
            )
            raise FormatError(document.source, [fault])
    if not documents:
        raise FormatError(str(paths[0]) if paths else "network", ["is empty"])
    if has_hypernodes(documents):
        if topology:
            raise FormatError(documents[0].source, ["has HyperNodes, which are one topology without a name"])
        return volcano_network(documents, nodes)
    return kueue_network(documents, topology)


def _check_alone(paths: Sequence[PathLike]) -> None:
    if len(paths) > 1:
        raise FormatError(str(paths[1]), ["is a second file: only objects of Kubernetes may be in several"])


def read_free_nodes(path: PathLike) -> StatedNodes:
    """Read which nodes are free, and which the file names at all.

    Raises `FormatError` if it cannot be read, or is none of these; the message names the place.

    Parameters
    ----------
    path
        What ``sinfo -h -N -o '%N %T'`` or ``sinfo --json`` prints, nodes of Kubernetes
        (``kubectl get nodes -o json``), or a hostlist of the free nodes; ``-`` for stdin.
    """
    source = "stdin" if str(path) == "-" else str(path)
    text = _text(path, source)
    if text.lstrip().startswith("{") or _JSON.match(text) or _YAML_OBJECT.search(text):
        documents = [*_documents(text, source)]
        if documents:
            first = documents[0].value
            if isinstance(first, dict) and "sinfo" in first:
                return sinfo_json(first, source)
            if all(is_kubernetes(document.value) for document in documents):
                return stated_nodes(documents)
            raise FormatError(source, ["is neither of sinfo --json nor of kubectl get nodes -o json"])
    if (fault := other_table(text)) is not None:
        raise FormatError(source, [fault])
    if is_sinfo(text):
        return sinfo_lines(text, source)
    names: dict[str, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            names |= dict.fromkeys(host_names(line))
        except ValueError as fault:
            raise FormatError(source, [f"line {number}: {fault}"]) from None
    return StatedNodes(tuple(names), tuple(names))


def _text(path: PathLike, source: str) -> str:
    try:
        if source == "stdin":
            data = read_stream(sys.stdin.buffer, source, _MAX_BYTES)
        else:
            with open_input(path) as stream:
                data = read_stream(stream, source, _MAX_BYTES)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        fault = f"line {line}: byte 0x{error.object[error.start]:02x} is not UTF-8"
        raise FormatError(source, [fault]) from None
    except OSError as error:
        raise FormatError(source, [f"cannot be read: {error.strerror}"]) from None


def _documents(text: str, source: str) -> Iterator[Document]:
    """Yield the values of a text of JSON and YAML."""
    begins = [0, *(mark.start() for mark in _SECTION.finditer(text))]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        mark = _SECTION.match(text, begin)
        first = begin if mark is None else mark.end()
        section = text[first:end]
        line = text.count("\n", 0, first)
        if section.lstrip()[:1] in {"{", "["} and _JSON.match(section):
            yield from _json_values(section, source, line)
        elif any(line.strip() and line[0] not in "#%" for line in section.splitlines()):
            yield from _yaml_values(section, source, line)


def _json_values(text: str, source: str, lines: int) -> Iterator[Document]:
    """Yield values of JSON that stand one after another; `lines` stand before them."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    at, line = 0, lines + 1
    while True:
        mark = _MARK.search(text, at)
        if mark is None:
            return
        begin = mark.start()
        line += text.count("\n", at, begin)
        try:
            value, at = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as error:
            raise FormatError(
                source, [f"line {lines + error.lineno}, column {error.colno}: {error.msg}"]
            ) from None
        except RecursionError:
            raise FormatError(source, [f"line {line}: lists and objects are nested too deeply"]) from None
        yield Document(value, source, f"line {line}")
        line += text.count("\n", begin, at)


def _yaml_values(text: str, source: str, lines: int) -> Iterator[Document]:
    """Yield the value of a section of YAML, none if there are only comments; `lines` stand before it."""
    try:
        import yaml  # noqa: PLC0415 - not in the light installation
    except ImportError:
        raise SolverUnavailable("YAML needs PyYAML: pip install pyyaml") from None

    base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

    class Loader(base):  # type: ignore[misc]  # which base, PyYAML tells when it is loaded
        """Reads all scalars as texts, and no key twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:  # noqa: ANN401, FBT001, FBT002 - as PyYAML has it
            seen = set[str]()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.value == "<<" or key.value in seen:
                    name = key.value if isinstance(key, yaml.ScalarNode) else "a list or object"
                    twice = name in seen
                    fault = f"the key {name!r} stands twice" if twice else f"{name!r} is no key that is read"
                    raise yaml.constructor.ConstructorError(None, None, fault, key.start_mark)
                seen.add(key.value)
            made: dict[str, Any] = super().construct_mapping(node, deep=deep)
            return made

    try:
        value = yaml.load(text, Loader=Loader)  # noqa: S506 - texts, lists and objects only
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        if mark is None:
            position = getattr(error, "position", 0)
            line = text.count("\n", 0, position if isinstance(position, int) else 0)
        else:
            line = mark.line
        fault = str(getattr(error, "problem", None) or getattr(error, "reason", "cannot be read"))
        raise FormatError(source, [f"line {lines + line + 1}: {' '.join(fault.split())}"]) from None
    except RecursionError:
        raise FormatError(source, [f"line {lines + 1}: lists and objects are nested too deeply"]) from None
    if value is not None and value != "":
        blank = text[: len(text) - len(text.lstrip())]
        yield Document(value, source, f"line {lines + blank.count(chr(10)) + 1}")
