"""How jobs evolve, asking for nodes and giving them back by themselves, and the costs of changes of size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, frozen
from allocsolve.model.checks import choice, in_range, integer, items, real, shown
from allocsolve.model.job_kinds import ALL_SIZES, EVOLVING, MALLEABLE
from allocsolve.model.profile import EvolutionProfile, Step, expand_ratio
from allocsolve.model.speedup import NO_SPEEDUP, SPEEDUP_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs

#: Codes of the ways in which jobs evolve, in the arrays of `allocsolve.model.PackedEvolving`.
NOT_EVOLVING: Final = 0
REQUESTED: Final = 1
REACTIVE: Final = 2
PROFILE: Final = 3


@dataclass(frozen=True, slots=True)
class Requests:
    """A job that asks for other numbers of nodes at certain moments of its work (Lina et al. 2022).

    When only the share `remaining` of its work is left, the job asks for `change` more nodes, or gives nodes
    back at once if `change` is negative. Its new number is clipped to `Job.min_nodes` .. `Job.max_nodes`; if
    that is the present number, nothing happens. A request for more nodes is granted in full or not at all. It
    is open until it is answered, the job comes to its next moment, or the job ends.

    Parameters
    ----------
    events
        Pairs (remaining, change): shares in 0..1, exclusive, that fall; changes other than 0.
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

    Its phases come one after another. In each, the work is done at a rate of one node-second a second on
    every useful node, up to the most useful nodes of the phase. The job asks for one node at a time as long
    as it holds fewer than the phase can use and `Job.max_nodes` allow. When it has more useful nodes than the
    phase can use, it gives one of them back after `release_delay` seconds, and so on, down to what the phase
    can use, even below `Job.min_nodes`. When a node is given back, an open request is withdrawn. One node at
    a time joins or leaves.

    Parameters
    ----------
    phases
        Pairs (work, most useful nodes): node-seconds above 0, and 1 or more nodes; None for any number.
    release_delay
        Seconds, >= 0.
    """

    phases: tuple[tuple[float, int | None], ...]
    release_delay: float
    code: ClassVar[int] = REACTIVE

    def __init__(self, phases: Iterable[tuple[float, int | None]], release_delay: float = 0) -> None:
        rows: list[tuple[float, int | None]] = []
        for idx, phase in enumerate(items("phases", phases)):
            given, limit = _pair("phase", idx, phase)
            work = real(f"phase {idx}: work", given)
            if not 0 < work <= MAX_INTEGER:
                msg = f"phase {idx}: work {shown(given)} is not in 0..2^53, above 0"
                raise InvalidProblem(msg)
            useful = None if limit is None else integer(f"phase {idx}: useful nodes", limit)
            if useful is not None and not 1 <= useful <= MAX_INTEGER:
                msg = f"phase {idx}: {shown(limit)} useful nodes are not in 1..2^53"
                raise InvalidProblem(msg)
            rows.append((work, useful))
        if not rows:
            msg = "a job without phases has no work"
            raise InvalidProblem(msg)
        object.__setattr__(self, "phases", tuple(rows))
        object.__setattr__(self, "release_delay", _seconds("release_delay", release_delay))

    def run_time(self, nodes: int) -> float:
        """Return the time of all phases on a constant number of nodes, in seconds."""
        return math.fsum(work / min(nodes, useful or nodes) for work, useful in self.phases)


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
    """

    steps: tuple[Step, ...]
    expand_limit: float
    code: ClassVar[int] = PROFILE

    def __init__(self, steps: EvolutionProfile | Iterable[Step], expand_limit: float = math.inf) -> None:
        profile = steps if isinstance(steps, EvolutionProfile) else EvolutionProfile(tuple(steps))
        if not profile.steps:
            msg = "a profile without steps has no work"
            raise InvalidProblem(msg)
        expand_ratio(expand_limit)  # refuses values that are not limits
        object.__setattr__(self, "steps", tuple(profile.steps))
        object.__setattr__(self, "expand_limit", float(expand_limit))


#: How a job evolves.
Evolution: TypeAlias = Requests | Phases | Profile


@dataclass(frozen=True, slots=True)
class Stall:
    """The cost of a change of a job's size: seconds without progress (Lina et al. 2022, section 3).

    A change from m to n nodes costs ``fixed + per_node |n - m| + shared / (n + m)`` seconds. If a job
    is already stalled, its stall gets longer.

    Parameters
    ----------
    fixed, per_node, shared
        Seconds, seconds a node and seconds times nodes, >= 0.
    holds
        Which nodes the job holds while it stalls: the ``new`` number, or the ``larger`` one of both.
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
        """Return the cost of a change from `before` to `after` nodes, in seconds."""
        return self.fixed + self.per_node * abs(after - before) + self.shared / (before + after)


@dataclass(frozen=True, slots=True)
class Join:
    """The costs of joining and leaving nodes for a job with phases (Posner et al. 2024, section 4.2).

    Parameters
    ----------
    start
        Seconds without progress at the start of the job.
    grow
        Seconds from the arrival of a node until it is useful.
    shrink
        Seconds for which a node is still held when it is no longer useful.
    """

    start: float = 0
    grow: float = 0
    shrink: float = 0

    def __post_init__(self) -> None:
        for name in ("start", "grow", "shrink"):
            object.__setattr__(self, name, _seconds(name, getattr(self, name)))


#: The cost of changes of a job's size.
Reconfiguration: TypeAlias = Stall | Join


def _pair(what: str, idx: int, row: object) -> tuple[Any, Any]:
    pair: tuple[Any, ...] = items(f"{what} {idx}", row)  # type: ignore[arg-type]  # it is refused if it is not a sequence
    if len(pair) != 2:
        msg = f"{what} {idx}: {shown(row)} is no pair"
        raise InvalidProblem(msg)
    return pair


def _seconds(what: str, value: float) -> float:
    number = real(what, value)
    in_range(what, value, 0)
    return number


class PackedEvolving(NamedTuple):
    """How jobs evolve and what changes cost them, as read-only arrays of shape (jobs,) unless noted.

    The events, phases or steps of job ``j`` are ``offsets[j]:offsets[j + 1]``.
    """

    #: `NOT_EVOLVING`, `REQUESTED`, `REACTIVE` or `PROFILE`.
    reading: IntArray
    #: Shape (jobs + 1,).
    offsets: IntArray
    #: Shape (rows,): the remaining share of the work for an event, node-seconds for a phase, seconds for a
    #: step.
    amounts: FloatArray
    #: Shape (rows,): the change for an event, the most useful nodes for a phase (`MAX_INTEGER`: any number),
    #: the nodes for a step.
    nodes: IntArray
    #: Seconds, for a job with phases.
    release_delay: FloatArray
    #: How many times its duration a step of a profile may last; infinity for other jobs.
    expand_limit: FloatArray
    #: For a `Stall`: seconds, seconds per node, seconds times nodes; 1 if the larger number of nodes is held.
    stall_fixed: FloatArray
    stall_per_node: FloatArray
    stall_shared: FloatArray
    holds_larger: IntArray
    #: For a `Join`: seconds.
    join_start: FloatArray
    join_grow: FloatArray
    join_shrink: FloatArray


def packed_evolving(
    evolutions: Sequence[Evolution | None], reconfigurations: Sequence[Reconfiguration | None], count: int
) -> PackedEvolving:
    """Return the columns of `count` jobs; either sequence may be empty."""
    reading, lengths = np.zeros(count, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    release_delay, expand_limit = np.zeros(count), np.full(count, math.inf)
    rows: list[tuple[float, int]] = []
    for idx, evolution in enumerate(evolutions[:count]):
        if isinstance(evolution, Requests):
            rows += evolution.events
            lengths[idx + 1] = len(evolution.events)
        elif isinstance(evolution, Phases):
            rows += [(work, MAX_INTEGER if useful is None else useful) for work, useful in evolution.phases]
            lengths[idx + 1] = len(evolution.phases)
            release_delay[idx] = evolution.release_delay
        elif isinstance(evolution, Profile):
            rows += evolution.steps
            lengths[idx + 1] = len(evolution.steps)
            expand_limit[idx] = evolution.expand_limit
        elif evolution is not None:
            msg = f"evolution {shown(evolution)} of job {idx} is none of Requests, Phases and Profile"
            raise InvalidProblem(msg)
        if evolution is not None:
            reading[idx] = evolution.code
    costs = {name: np.zeros(count) for name in ("fixed", "per_node", "shared", "start", "grow", "shrink")}
    larger = np.zeros(count, dtype=np.int64)
    for idx, cost in enumerate(reconfigurations[:count]):
        if isinstance(cost, Stall):
            larger[idx] = cost.holds == "larger"
        elif cost is not None and not isinstance(cost, Join):
            msg = f"reconfiguration {shown(cost)} of job {idx} is none of Stall and Join"
            raise InvalidProblem(msg)
        for name in () if cost is None else costs:
            costs[name][idx] = getattr(cost, name, 0)
    return PackedEvolving(
        reading=frozen(reading),
        offsets=frozen(np.cumsum(lengths)),
        amounts=frozen(np.array([amount for amount, _ in rows], dtype=np.float64)),
        nodes=frozen(np.array([nodes for _, nodes in rows], dtype=np.int64)),
        release_delay=frozen(release_delay),
        expand_limit=frozen(expand_limit),
        stall_fixed=frozen(costs["fixed"]),
        stall_per_node=frozen(costs["per_node"]),
        stall_shared=frozen(costs["shared"]),
        holds_larger=frozen(larger),
        join_start=frozen(costs["start"]),
        join_grow=frozen(costs["grow"]),
        join_shrink=frozen(costs["shrink"]),
    )


def evolving_faults(
    packed: PackedJobs, evolving: PackedEvolving, reconfigurations: Sequence[Reconfiguration | None]
) -> Iterable[tuple[NDArray[np.bool_], str]]:
    """Yield pairs of the jobs at fault and a description of the fault."""
    evolves, reading = packed.kind == EVOLVING, evolving.reading
    requested, law = reading == REQUESTED, packed.speedup
    yield evolves & (reading == NOT_EVOLVING), "is evolving, but has neither requests, phases nor a profile"
    yield ~evolves & (reading != NOT_EVOLVING), "has requests, phases or a profile, but is not evolving"
    yield requested & (law == NO_SPEEDUP), "has requests, but no speedup"
    yield requested & (law == SPEEDUP_TABLE), "has requests, but a table of speedups"
    yield evolves & ~requested & (law != NO_SPEEDUP), "has a speedup besides its phases or profile"
    yield evolves & (packed.size_step != ALL_SIZES), "has a size set, but is evolving"
    steps = np.flatnonzero(reading == PROFILE)
    first = np.zeros(len(reading), dtype=bool)
    first[steps] = np.maximum(1, evolving.nodes[evolving.offsets[steps]]) != packed.nodes[steps]
    yield first, "has other nodes than the first step of its profile"
    for what, given, ufunc in (
        ("min_nodes", packed.min_nodes, np.minimum),
        ("max_nodes", packed.max_nodes, np.maximum),
    ):
        wrong = np.zeros(len(reading), dtype=bool)
        wrong[steps] = [
            max(1, ufunc.reduce(evolving.nodes[slice(*evolving.offsets[j : j + 2])])) != given[j]
            for j in steps
        ]
        yield wrong, f"has {what} other than those of its profile"
    stalls = np.array([isinstance(cost, Stall) for cost in reconfigurations], dtype=bool)
    joins = np.array([isinstance(cost, Join) for cost in reconfigurations], dtype=bool)
    if len(stalls):
        stalling = (packed.kind == MALLEABLE) | requested
        yield stalls & ~stalling, "has a stall, but is neither malleable nor has requests"
        yield joins & (reading != REACTIVE), "has costs of joining, but no phases"


def wrong_run_times(
    packed: PackedJobs, evolving: PackedEvolving, evolutions: Sequence[Evolution | None]
) -> Iterable[tuple[int, float]]:
    """Yield jobs whose run time is not that of their phases or profile, with that time, in seconds."""
    for idx, evolution in enumerate(evolutions):
        if isinstance(evolution, Profile):
            runtime = float(sum(seconds for seconds, _ in evolution.steps))
        elif isinstance(evolution, Phases):
            runtime = float(evolving.join_start[idx] + evolution.run_time(int(packed.nodes[idx])))
        else:
            continue
        if not math.isclose(runtime, packed.runtime[idx], rel_tol=1e-9):
            yield idx, runtime
