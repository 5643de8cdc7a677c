"""Application models of ElastiSim as they are read: how long a job computes and idles on so many nodes.

Communication and file systems take a time that only the simulator knows: such tasks are passed over and
counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import InvalidOption
from allocsolve.instances.formats.checker import show
from allocsolve.instances.formats.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.instances.formats.checker import Document

__all__ = ["Application", "Phase", "as_texts", "read_application"]

_SIZES: Final = frozenset({"num_nodes", "num_nodes_min", "num_nodes_max", "num_gpus", "num_gpus_per_node"})
_REQUEST_NAMES: Final = _SIZES | {"phase_iteration"}
_MOST_ITERATIONS: Final = 10_000_000
#: Tasks whose time depends on the network, the file system, or processors of another sort.
_NOT_READ: Final = ("pfs_read", "pfs_write", "bb_read", "bb_write", "gpu")


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: what is done so many times, with a chance to change the number of nodes before each."""

    iterations: int
    has_point: bool
    #: The number of nodes that an evolving job asks for, by the present one and the iteration; None for none.
    request: Callable[[int, int], int] | None
    #: Seconds of one iteration on so many nodes.
    seconds: Callable[[int], Fraction]


@dataclass(slots=True)
class Application:
    """What a job of these arguments does."""

    phases: list[Phase] = field(default_factory=list)
    #: Seconds that each change of the number of nodes costs.
    stall: Fraction = Fraction(0)
    #: What takes time in the simulator only.
    passed_over: set[str] = field(default_factory=set)

    def seconds(self, nodes: int) -> Fraction:
        """Return the run time on so many nodes that never change."""
        return sum((phase.iterations * phase.seconds(nodes) for phase in self.phases), Fraction(0))


def as_texts(values: Mapping[str, object]) -> dict[str, str]:
    """Return arguments or attributes as ElastiSim understands them: numbers have 6 decimals."""
    return {
        name: f"{value:.6f}" if isinstance(value, float) else str(value) for name, value in values.items()
    }


def read_application(
    model: Document, arguments: Mapping[str, str], limits: Mapping[str, int], flops: float
) -> Application:
    """Read the application of one job.

    Parameters
    ----------
    model
        The application model.
    arguments
        Of the job: each is put into formulas as a text, as ElastiSim does.
    limits
        ``num_nodes_min`` and ``num_nodes_max``.
    flops
        Operations that a host does in a second.

    Raises
    ------
    InvalidOption
        If the model is not understood; the message names the place in it and the value.
    """
    reader = _Reader(arguments, limits, Fraction(flops))
    found = Application()
    if model.get("on_init") is not None:
        found.passed_over.add("on_init")
    if model.get("on_expansion") is not None:
        found.passed_over.add("on_expansion")
    if (change := model.get("on_reconfiguration")) is not None:
        cost = reader.tasks(_tasks(change, "on_reconfiguration"), "on_reconfiguration", found.passed_over)
        costs = {cost(nodes) for nodes in (limits["num_nodes_min"], limits["num_nodes_max"])}
        found.stall = min(costs)
        if len(costs) > 1:
            found.passed_over.add("on_reconfiguration beyond its fixed part")
    phases = model.get("phases")
    if not isinstance(phases, list) or not phases:
        msg = f"phases: must be a list of at least one phase, not {show(phases)}"
        raise InvalidOption(msg)
    for idx, phase in enumerate(phases):
        place = f"phases[{idx}]"
        tasks = _tasks(phase, place)
        iterations = reader.iterations(phase.get("iterations", 1), f"{place}.iterations")
        request = phase.get("evolving_request")
        found.phases.append(
            Phase(
                iterations,
                phase.get("scheduling_point", True) is not False,
                None if request is None else reader.request(request, f"{place}.evolving_request"),
                reader.tasks(tasks, place, found.passed_over),
            )
        )
    return found


def _tasks(phase: object, place: str) -> list[Any]:
    if not isinstance(phase, dict):
        msg = f"{place}: must be an object, not {show(phase)}"
        raise InvalidOption(msg)
    tasks = phase.get("tasks")
    if not isinstance(tasks, list):
        msg = f"{place}.tasks: must be a list, not {show(tasks)}"
        raise InvalidOption(msg)
    return tasks


class _Reader:
    def __init__(self, arguments: Mapping[str, str], limits: Mapping[str, int], flops: Fraction) -> None:
        # ElastiSim's order of replacement.
        self._arguments = sorted(arguments.items())
        self._sizes = {**limits, "num_gpus": 0, "num_gpus_per_node": 0}
        self._flops = flops

    def _formula(self, value: object, place: str, names: frozenset[str] = _SIZES) -> Callable[..., Fraction]:
        """Return the value of a formula by the number of nodes, and the iteration if there is one."""
        text = value
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = format(value, ".6f") if isinstance(value, float) else str(value)
        if not isinstance(text, str):
            msg = f"{place}: must be a number or a formula, not {show(value)}"
            raise InvalidOption(msg)
        if names is not _REQUEST_NAMES:
            for name, argument in self._arguments:
                text = text.replace(name, argument)
        try:
            formula = parse_formula(text, names)
        except InvalidOption as error:
            raise InvalidOption(_at(place, value, error)) from None
        sizes = self._sizes

        def evaluate(nodes: int, iteration: int = 0) -> Fraction:
            try:
                return formula({**sizes, "num_nodes": nodes, "phase_iteration": iteration})
            except InvalidOption as error:
                raise InvalidOption(_at(place, value, error)) from None

        return evaluate

    def iterations(self, value: object, place: str) -> int:
        count = self._formula(value, place, frozenset())(0)
        if not 1 <= math.trunc(count) <= _MOST_ITERATIONS:
            msg = f"{place}: {show(value)} are not in 1..{_MOST_ITERATIONS}"
            raise InvalidOption(msg)
        return math.trunc(count)

    def request(self, value: object, place: str) -> Callable[[int, int], int]:
        formula = self._formula(value, place, _REQUEST_NAMES)
        return lambda nodes, iteration: math.trunc(formula(nodes, iteration))

    def tasks(self, tasks: list[Any], place: str, passed_over: set[str]) -> Callable[[int], Fraction]:
        """Return the seconds of tasks, one after another, by the number of nodes."""
        parts = [self._task(task, f"{place}.tasks[{idx}]", passed_over) for idx, task in enumerate(tasks)]
        return lambda nodes: sum((part(nodes) for part in parts), Fraction(0))

    def _task(self, task: object, place: str, passed_over: set[str]) -> Callable[[int], Fraction]:
        if not isinstance(task, dict):
            msg = f"{place}: must be an object, not {show(task)}"
            raise InvalidOption(msg)
        kind = str(task.get("type")).lower()
        times = self._formula(task.get("iterations", 1), f"{place}.iterations")
        if kind == "sequence":
            inner = self.tasks(_tasks(task, place), place, passed_over)
            return lambda nodes: math.trunc(times(nodes)) * inner(nodes)
        if kind in _NOT_READ:
            passed_over.add(kind)
            return lambda _: Fraction(0)
        if kind in ("idle", "busy_wait"):
            seconds = self._load(task, "delay", "pattern", place)
            return lambda nodes: math.trunc(times(nodes)) * seconds(nodes)
        if kind != "cpu":
            msg = f"{place}.type: {show(task.get('type'))} is none of ElastiSim's"
            raise InvalidOption(msg)
        if task.get("bytes") is not None:
            passed_over.add("communication")
        if task.get("flops") is None:
            return lambda _: Fraction(0)
        work, speed = self._load(task, "flops", "computation_pattern", place), self._flops
        return lambda nodes: math.trunc(times(nodes)) * work(nodes) / speed

    def _load(self, task: Document, name: str, pattern: str, place: str) -> Callable[[int], Fraction]:
        """Return the largest part that a node has of a load."""
        how = str(task.get(pattern)).lower()
        if how == "vector":
            listed = task.get(name)
            if not isinstance(listed, list) or not listed:
                msg = f"{place}.{name}: must be a list of at least one number, not {show(listed)}"
                raise InvalidOption(msg)
            parts = [self._formula(part, f"{place}.{name}[{idx}]") for idx, part in enumerate(listed)]
            return lambda nodes: max(part(nodes) for part in parts)
        value = self._formula(task.get(name), f"{place}.{name}")
        if how in ("uniform", "root_only"):
            return value
        shares: dict[str, Callable[[int], int]] = {
            "all_ranks": lambda nodes: nodes,
            "total": lambda nodes: nodes,
            "even_ranks": lambda nodes: (nodes + 1) // 2,
            "odd_ranks": lambda nodes: max(nodes // 2, 1),
        }
        if how not in shares:
            msg = f"{place}.{pattern}: {show(task.get(pattern))} is none of ElastiSim's"
            raise InvalidOption(msg)
        share = shares[how]
        return lambda nodes: value(nodes) / share(nodes)


def _at(place: str, value: object, error: InvalidOption) -> str:
    return f"{place}: {show(value)}: {error}"
