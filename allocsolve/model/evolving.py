"""How jobs evolve: they ask for nodes and give them back by themselves; and what changes of sizes cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER
from allocsolve.model.checks import choice, integer, items, real, shown
from allocsolve.model.profile import EvolutionProfile, Step, expand_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "NOT_EVOLVING",
    "PROFILE",
    "REACTIVE",
    "REQUESTED",
    "Evolution",
    "Join",
    "Phases",
    "Profile",
    "Reconfiguration",
    "Requests",
    "Stall",
]

#: Codes of the ways in which jobs evolve, in the arrays of `allocsolve.model.PackedEvolving`.
NOT_EVOLVING: Final = 0
REQUESTED: Final = 1
REACTIVE: Final = 2
PROFILE: Final = 3


@dataclass(frozen=True, slots=True)
class Requests:
    """A job that asks for other numbers of nodes at certain moments of its work (Lina et al. 2022).

    When only the share `remaining` of its work is left, the job asks for so many nodes more, or gives so many
    back at once; its new number is clipped to `Job.min_nodes` .. `Job.max_nodes`, and if that is the present
    one nothing happens. A request for more is granted in full or not at all. It is open until it is answered,
    the job comes to the next moment, or it ends.

    Parameters
    ----------
    events
        Pairs (remaining, change): shares in 0..1, exclusive, that fall; changes other than 0.

    Raises
    ------
    InvalidProblem
        If the pairs are not so, or there is none.
    """

    events: tuple[tuple[float, int], ...]
    code: ClassVar[int] = REQUESTED

    def __init__(self, events: Iterable[tuple[float, int]]) -> None:
        checked = tuple(_pair("request", idx, event) for idx, event in enumerate(items("requests", events)))
        rows = []
        for idx, (remaining, change) in enumerate(checked):
            share, nodes = real(f"request {idx}: remaining", remaining), integer(f"request {idx}", change)
            if not 0 < share < 1:
                msg = f"request {idx}: remaining {shown(remaining)} is not in 0..1, exclusive"
                raise InvalidProblem(msg)
            if not 1 <= abs(nodes) <= MAX_INTEGER:
                msg = f"request {idx}: a change of {shown(nodes)} nodes is none of 1..2^53 or -1..-2^53"
                raise InvalidProblem(msg)
            rows.append((share, nodes))
        for idx, ((before, _), (after, _)) in enumerate(pairwise(rows)):
            if after >= before:
                msg = f"request {idx + 1}: remaining {after} does not fall, after {before}"
                raise InvalidProblem(msg)
        if not rows:
            msg = "a job without requests does not evolve"
            raise InvalidProblem(msg)
        object.__setattr__(self, "events", tuple(rows))


@dataclass(frozen=True, slots=True)
class Phases:
    """A job that asks for nodes when it has work for more, and gives back idle ones (Posner et al. 2024).

    Its phases come one after another. In each the work is done at a rate of one node-second a second on every
    useful node, of which the phase can use so many. The job asks for one node at a time as long as it holds
    fewer than the phase can use and `Job.max_nodes` allow. When it has more useful nodes than the phase can
    use it gives one of them back `release_delay` seconds after that began, and so on, down to what the phase
    can use, even below `Job.min_nodes`. A node that is given back takes an open request along. One node at a
    time joins or leaves.

    Parameters
    ----------
    phases
        Pairs (work, most useful nodes): node-seconds above 0, and 1 or more nodes; None for any number.
    release_delay
        Seconds, >= 0.

    Raises
    ------
    InvalidProblem
        If the pairs are not so, or there is none.
    """

    phases: tuple[tuple[float, int | None], ...]
    release_delay: float
    code: ClassVar[int] = REACTIVE

    def __init__(self, phases: Iterable[tuple[float, int | None]], release_delay: float = 0) -> None:
        rows: list[tuple[float, int | None]] = []
        for idx, phase in enumerate(items("phases", phases)):
            given, most = _pair("phase", idx, phase)
            work = real(f"phase {idx}: work", given)
            if not 0 < work <= MAX_INTEGER:
                msg = f"phase {idx}: work {shown(given)} is not in 0..2^53, above 0"
                raise InvalidProblem(msg)
            useful = None if most is None else integer(f"phase {idx}: useful nodes", most)
            if useful is not None and not 1 <= useful <= MAX_INTEGER:
                msg = f"phase {idx}: {shown(most)} useful nodes are not in 1..2^53"
                raise InvalidProblem(msg)
            rows.append((work, useful))
        if not rows:
            msg = "a job without phases has no work"
            raise InvalidProblem(msg)
        object.__setattr__(self, "phases", tuple(rows))
        object.__setattr__(self, "release_delay", _seconds("release_delay", release_delay))

    def run_time(self, nodes: int) -> float:
        """Return the time of all phases on so many nodes that never change, in seconds."""
        return math.fsum(work / min(nodes, most or nodes) for work, most in self.phases)


@dataclass(frozen=True, slots=True)
class Profile:
    """A job whose demand for nodes changes in known steps (Klein & Perez 2011).

    Each step needs exactly its nodes. After its duration the job goes on to the next step, for which it may
    have to wait; it holds the nodes of its step until then, up to `expand_limit` times the duration.

    Parameters
    ----------
    steps
        Pairs (seconds, nodes) of integers, seconds >= 1 and nodes >= 0, or an `EvolutionProfile`.
    expand_limit
        How many times its duration a step may hold its nodes, >= 1; no limit by default.

    Raises
    ------
    InvalidProblem
        If the steps are not so, or there is none.
    """

    steps: tuple[Step, ...]
    expand_limit: float
    code: ClassVar[int] = PROFILE

    def __init__(self, steps: EvolutionProfile | Iterable[Step], expand_limit: float = math.inf) -> None:
        profile = steps if isinstance(steps, EvolutionProfile) else EvolutionProfile(tuple(steps))
        if not profile.steps:
            msg = "a profile without steps has no work"
            raise InvalidProblem(msg)
        expand_ratio(expand_limit)  # refuses what is no limit
        object.__setattr__(self, "steps", tuple(profile.steps))
        object.__setattr__(self, "expand_limit", float(expand_limit))


#: How a job evolves.
Evolution: TypeAlias = Requests | Phases | Profile


@dataclass(frozen=True, slots=True)
class Stall:
    """What a change of its size costs a job: seconds without progress (Lina et al. 2022, section 3).

    A change from m to n nodes costs ``fixed + per_node |n - m| + shared / (n + m)`` seconds. A job
    that stalls already does so for longer.

    Parameters
    ----------
    fixed, per_node, shared
        Seconds, seconds a node and seconds times nodes, >= 0.
    holds
        Which nodes the job holds while it stalls: the ``new`` number, or the ``larger`` one of both.

    Raises
    ------
    InvalidProblem
        If a cost is out of range.
    UnknownName
        If `holds` is neither.
    """

    fixed: float = 0
    per_node: float = 0
    shared: float = 0
    holds: Literal["new", "larger"] = "new"

    def __post_init__(self) -> None:
        for name in ("fixed", "per_node", "shared"):
            object.__setattr__(self, name, _seconds(name, getattr(self, name)))
        choice("nodes held while a job stalls", self.holds, ("new", "larger"))

    def seconds(self, before: int, after: int) -> float:
        """Return the cost of a change from so many to so many nodes, in seconds."""
        return self.fixed + self.per_node * abs(after - before) + self.shared / (before + after)


@dataclass(frozen=True, slots=True)
class Join:
    """What coming and leaving nodes cost a job with phases (Posner et al. 2024, section 4.2).

    Parameters
    ----------
    start
        Seconds without progress at its start.
    grow
        Seconds from when a node comes until it is useful.
    shrink
        Seconds that a node is still held after it is of no more use.

    Raises
    ------
    InvalidProblem
        If a cost is out of range.
    """

    start: float = 0
    grow: float = 0
    shrink: float = 0

    def __post_init__(self) -> None:
        for name in ("start", "grow", "shrink"):
            object.__setattr__(self, name, _seconds(name, getattr(self, name)))


#: What changes of its size cost a job.
Reconfiguration: TypeAlias = Stall | Join


def _pair(what: str, idx: int, row: object) -> tuple[Any, Any]:
    pair: tuple[Any, ...] = items(f"{what} {idx}", row)  # type: ignore[arg-type]  # refused if it is no sequence
    if len(pair) != 2:
        msg = f"{what} {idx}: {shown(row)} is no pair"
        raise InvalidProblem(msg)
    return pair


def _seconds(what: str, value: float) -> float:
    number = real(what, value)
    if not 0 <= number <= MAX_INTEGER:
        msg = f"{what} {shown(value)} is not in 0..2^53"
        raise InvalidProblem(msg)
    return number
