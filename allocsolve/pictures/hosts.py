"""The chosen nodes by their names, for the programs that start jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from allocsolve.errors import InvalidOption
from allocsolve.families import Export
from allocsolve.instances import compress_hostlist, expand_hostlist

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import BoolArray
    from allocsolve.model.problem import NodeSet


class _NodeProblem(Protocol):
    """A problem whose answers are sets of nodes."""

    @property
    def free(self) -> BoolArray:
        """Which nodes may be chosen, shape (nodes,)."""

    @property
    def meta(self) -> Mapping[str, object]:
        """Where it comes from."""


def _names(problem: _NodeProblem) -> Sequence[str]:
    """Return the names of all nodes of a problem: those of ``meta.nodes``, else their ids.

    Raises `InvalidOption` if ``meta.nodes`` is no hostlist of as many names as there are nodes.
    """
    count, told = len(problem.free), problem.meta.get("nodes")
    if not isinstance(told, str):
        return [str(node) for node in range(count)]
    names = expand_hostlist(told)
    if len(names) != count:
        raise InvalidOption(f"meta.nodes of the problem has {len(names)} names for {count} nodes")
    return names


def _hosts_text(problem: _NodeProblem, answer: NodeSet, window: object) -> str:
    """Return a line with the hostlist of the chosen nodes."""
    del window
    names, nodes = _names(problem), answer.nodes.tolist()
    strange = next((node for node in nodes if not 0 <= node < len(names)), None)
    if strange is not None:
        raise InvalidOption(f"hosts: node {strange} is not in 0..{len(names) - 1}")
    return f"{compress_hostlist(names[node] for node in nodes)}\n"


HOSTS: Final = Export("the hostlist of the chosen nodes", _hosts_text, windowed=False)
