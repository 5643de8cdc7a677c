"""How jobs evolve and what changes cost them, as arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, frozen
from allocsolve.model.checks import shown
from allocsolve.model.evolving import (
    NOT_EVOLVING,
    PROFILE,
    REACTIVE,
    REQUESTED,
    Join,
    Phases,
    Profile,
    Requests,
    Stall,
)
from allocsolve.model.job_kinds import ALL_SIZES, EVOLVING, MALLEABLE
from allocsolve.model.speedup import NO_SPEEDUP, SPEEDUP_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.evolving import Evolution, Reconfiguration
    from allocsolve.model.jobs import PackedJobs

__all__ = ["PackedEvolving", "evolving_faults", "packed_evolving", "wrong_run_times"]


class PackedEvolving(NamedTuple):
    """How jobs evolve and what changes cost them, as read-only arrays of shape (jobs,) or as said.

    The events, phases or steps of job ``j`` are ``offsets[j]:offsets[j + 1]``.
    """

    #: `NOT_EVOLVING`, `REQUESTED`, `REACTIVE` or `PROFILE`.
    reading: IntArray
    #: Shape (jobs + 1,).
    offsets: IntArray
    #: Shape (rows,): of an event the remaining share of the work, of a phase node-seconds, of a step seconds.
    amounts: FloatArray
    #: Shape (rows,): of an event the change, of a phase its most useful nodes (`MAX_INTEGER`: any number), of
    #: a step its nodes.
    nodes: IntArray
    #: Seconds, of a job with phases.
    release_delay: FloatArray
    #: How many times its duration a step of a profile may last; infinite for other jobs.
    expand_limit: FloatArray
    #: Of a `Stall`: seconds, seconds a node, seconds times nodes; 1 if the larger number is held.
    stall_fixed: FloatArray
    stall_per_node: FloatArray
    stall_shared: FloatArray
    holds_larger: IntArray
    #: Of a `Join`: seconds.
    join_start: FloatArray
    join_grow: FloatArray
    join_shrink: FloatArray


def packed_evolving(
    evolutions: Sequence[Evolution | None], reconfigurations: Sequence[Reconfiguration | None], count: int
) -> PackedEvolving:
    """Return the columns of so many jobs; either sequence may be empty."""
    reading, lengths = np.zeros(count, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    release_delay, expand_limit = np.zeros(count), np.full(count, math.inf)
    rows: list[tuple[float, int]] = []
    for idx, evolution in enumerate(evolutions[:count]):
        if isinstance(evolution, Requests):
            rows += evolution.events
            lengths[idx + 1] = len(evolution.events)
        elif isinstance(evolution, Phases):
            rows += [(work, MAX_INTEGER if most is None else most) for work, most in evolution.phases]
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
    """Yield pairs of the jobs at fault and what is the matter with them."""
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
    """Yield jobs whose run time is not that of their phases or profile, and what it is, in seconds."""
    for idx, evolution in enumerate(evolutions):
        if isinstance(evolution, Profile):
            runtime = float(sum(seconds for seconds, _ in evolution.steps))
        elif isinstance(evolution, Phases):
            runtime = float(evolving.join_start[idx] + evolution.run_time(int(packed.nodes[idx])))
        else:
            continue
        if not math.isclose(runtime, packed.runtime[idx], rel_tol=1e-9):
            yield idx, runtime
