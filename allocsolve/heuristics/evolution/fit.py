"""Base fit with an expand limit, and compacting (Klein & Perez 2011, section 4.2).

Plain functions for other simulators: they place an application on any resource profile of the caller, at any
time of the simulation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.heuristics._kernels_fit import Request, Segments, compact_request, fit_request
from allocsolve.model import MAX_INTEGER, EvolutionProfile, expand_ratio, frozen, max_expanded_durations
from allocsolve.model.checks import in_range, instance, integer, natural, shown

if TYPE_CHECKING:
    from allocsolve.model import IntArray


class PlacedProfile(NamedTuple):
    """Where an application goes."""

    #: Seconds from time 0 of the resource profile.
    start: int
    #: The request, expanded; without the delay.
    profile: EvolutionProfile

    @property
    def completion(self) -> int:
        """When the last step ends, in seconds."""
        return self.start + self.profile.duration


def _segments(occupied: EvolutionProfile) -> Segments:
    """Return the resource profile as the kernels take it, with an idle last segment."""
    instance("occupied", occupied, EvolutionProfile)
    times = np.zeros(len(occupied.steps) + 1, dtype=np.int64)
    usage = np.zeros(len(occupied.steps) + 1, dtype=np.int64)
    np.cumsum(np.array(occupied.durations, dtype=np.int64), out=times[1:])
    usage[:-1] = occupied.nodes
    return Segments(times, usage, np.array([len(times)]))


def request_arrays(profile: EvolutionProfile, num_nodes: int, limit: float) -> Request:
    """Return the request as the kernels take it; refuse a request that never fits."""
    if not instance("profile", profile, EvolutionProfile).steps:
        raise InvalidProblem("the requested profile has no steps")
    if profile.peak > num_nodes:
        msg = f"step {profile.nodes.index(profile.peak)}: {profile.peak} nodes on a cluster of {num_nodes}"
        raise InvalidProblem(msg)
    durations = frozen(np.array(profile.durations, dtype=np.int64))
    nodes = frozen(np.array(profile.nodes, dtype=np.int64))
    return Request(durations, nodes, max_expanded_durations(durations, expand_ratio(limit)))


def placement_of(profile: EvolutionProfile, starts: IntArray) -> PlacedProfile:
    """Return the placement of a request whose steps begin at `starts`."""
    held = [*np.diff(starts).tolist(), profile.steps[-1][0]]
    return PlacedProfile(int(starts[0]), profile.expanded(held))


def fit(
    profile: EvolutionProfile,
    occupied: EvolutionProfile,
    num_nodes: int,
    expand_limit: float = math.inf,
    *,
    earliest_start: int = 0,
) -> PlacedProfile:
    """Place a requested profile on a resource profile with the earliest possible completion.

    `InvalidProblem` if the request is empty or needs more than `num_nodes`, if these are not in 1..2^53, or
    the limit is below 1.

    Parameters
    ----------
    profile
        The request.
    occupied
        Busy nodes as a function of time (the resource profile). May exceed `num_nodes` in places (draining
        nodes, say): nothing is placed there.
    num_nodes
        Nodes of the cluster.
    expand_limit
        How many times its duration a step may hold its nodes: 1 (no expansion) to infinity.
    earliest_start
        Seconds; nothing starts before.

    Returns
    -------
    PlacedProfile
        The first step is delayed, never expanded; the last step is never expanded.

    Notes
    -----
    *Guarantee*: no placement within the limit completes earlier, and among those that complete then every
    step starts as early as it can.
    *Complexity*: O(steps x segments of `occupied`), usually near-linear. The published recursion is
    exponential for finite limits above 1; this is the same answer as a monotone fixpoint: one lower bound
    per step, only ever raised.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", 2011, Algorithm 2 (with line 17 read as
    ``if i > 1``: the first step is delayed, not expanded).

    Examples
    --------
    >>> busy = EvolutionProfile([(100, 6), (50, 8)])
    >>> fit(EvolutionProfile([(30, 2), (30, 2), (30, 6)]), busy, 10)
    PlacedProfile(start=0, profile=EvolutionProfile(steps=((30, 2), (120, 2), (30, 6))))
    """
    num_nodes = in_range("num_nodes", integer("num_nodes", num_nodes), 1)
    earliest_start = natural("earliest_start", earliest_start)
    if earliest_start > MAX_INTEGER:
        raise InvalidOption(f"earliest_start {shown(earliest_start)} is above 2^53")
    request = request_arrays(profile, num_nodes, expand_limit)
    starts = np.empty(len(profile.steps), dtype=np.int64)
    work = np.empty((2, len(profile.steps)), dtype=np.int64)
    fit_request(_segments(occupied), request, num_nodes, earliest_start, starts, work)
    return placement_of(profile, starts)


def compact(
    profile: EvolutionProfile,
    occupied: EvolutionProfile,
    num_nodes: int,
    expand_limit: float = math.inf,
    *,
    placement: PlacedProfile,
) -> PlacedProfile:
    """Return the placement with the same completion that starts as late as possible.

    `InvalidProblem` if `fit` refuses the application, and if nothing fits that ends when `placement` does.

    Parameters
    ----------
    profile, occupied, num_nodes, expand_limit
        See `fit`.
    placement
        What `fit` returned for them.

    Notes
    -----
    *Guarantee*: every step starts as late as any placement with this completion allows (whose last step is
    not expanded), so the time from start to completion is least. That is not always the least waste.
    *Complexity*: that of `fit`.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", 2011, section 4.2. A gap between two steps
    belongs to the left one: it holds its nodes until the right one starts.

    Examples
    --------
    >>> busy = EvolutionProfile([(100, 6), (50, 8)])
    >>> request = EvolutionProfile([(30, 2), (30, 2), (30, 6)])
    >>> placement = fit(request, busy, 10)
    >>> placement.start, compact(request, busy, 10, placement=placement).start
    (0, 90)
    """
    num_nodes = in_range("num_nodes", integer("num_nodes", num_nodes), 1)
    request = request_arrays(profile, num_nodes, expand_limit)
    completion = instance("placement", placement, PlacedProfile).completion
    starts = np.empty(len(profile.steps), dtype=np.int64)
    if not compact_request(_segments(occupied), request, num_nodes, completion, starts):
        raise InvalidProblem(f"nothing fits that ends at {completion}")
    return placement_of(profile, starts)
