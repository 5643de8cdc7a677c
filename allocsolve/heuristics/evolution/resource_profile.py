"""A resource profile that changes, with which a simulator keeps track of its cluster.

Base fit with an expand limit, and compacting (Klein & Perez 2011, section 4.2), are plain functions, too, for
other simulators: they place an application on any resource profile of the caller, at any
time of the simulation.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.heuristics._kernels_fit import (
    Request,
    Segments,
    compact as compact_steps,
    compact_request,
    fit_request,
)
from allocsolve.heuristics.evolution._kernels_windows import (
    BASE,
    COUNT,
    END,
    LAZY,
    LIMIT,
    SIZE,
    TABLE_COLUMNS,
    TIME,
    USED,
    PeakIndex,
    change,
    duration_classes,
    first_busy,
    flat,
    make_index,
    place_in,
)
from allocsolve.heuristics.evolution.list_scheduling import Fit
from allocsolve.kernels import kernel
from allocsolve.model import (
    MAX_INTEGER,
    EvolutionProfile,
    IntArray,
    expand_ratio,
    frozen,
    max_expanded_durations,
)
from allocsolve.model.checks import in_range, instance, integer, natural, shown, whole_time


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


@kernel
def fit_on_index(
    index: PeakIndex,
    request: Request,
    num_nodes: int,
    earliest: int,
    compacting: bool,
    starts: IntArray,
    table: IntArray,
    work: IntArray,
) -> None:
    """Write the starts of the steps, shape (steps,): see `_kernels_windows.place_in` and `compact`."""
    place_in(index, request, num_nodes, earliest, starts, table, work)
    num_steps = len(starts)
    late = work[0, :num_steps]
    completion = starts[num_steps - 1] + request.durations[num_steps - 1]
    if compacting and compact_steps(index, first_busy, index.origin, request, num_nodes, completion, late):
        for i in range(num_steps):
            starts[i] = late[i]


@kernel
def add(index: PeakIndex, starts: IntArray, nodes: IntArray, completion: int, num_nodes: int) -> int:
    """Add a placed application and return -1, or return its first step for which too few nodes are free."""
    for i in range(len(starts)):
        end = starts[i + 1] if i + 1 < len(starts) else completion
        if first_busy(index, starts[i], end, num_nodes - nodes[i]) >= 0:
            return i
    change(index, starts, nodes, completion, 1)
    return -1


@kernel
def take_away(index: PeakIndex, starts: IntArray, nodes: IntArray, completion: int) -> None:
    """Remove an added application."""
    change(index, starts, nodes, completion, -1)


#: The last requests that are remembered for the choice of the index.
_REMEMBERED = 256


class _Reservation(NamedTuple):
    starts: IntArray
    nodes: IntArray
    completion: int


class ResourceProfile:
    """How many nodes of a cluster are busy at any time from now on, as reservations come and go.

    `InvalidOption` if the origin is negative, or a value is not an integer.

    Parameters
    ----------
    num_nodes
        Nodes of the homogeneous cluster, 1 to 2^53.
    origin
        The present, in seconds: no request or reservation is before it. Moved on by `forget`. All times are
        integers, so sums of them are exact; who has fractions counts in milliseconds, or rounds them up.

    Notes
    -----
    *Complexity*: O(log n) for a change or a look at one time. A search leaps over the stretches of time of
    which an index proves that nothing fits there; how many leaps it takes is not bounded by theory (tens to
    hundreds when 100,000 applications are queued). Room is made by building the whole anew when it is full,
    O(n) and rarely: redundant segments and the past are dropped then.
    *Guarantee*: the answers of `fit` are those of `allocsolve.heuristics.fit`, on any history of changes.

    Examples
    --------
    >>> cluster = ResourceProfile(10)
    >>> first = cluster.reserve(0, EvolutionProfile([(100, 6), (50, 8)]))
    >>> cluster.earliest_window(nodes=4, duration=60), cluster.earliest_window(nodes=5, duration=60)
    (0, 150)
    >>> request = EvolutionProfile([(30, 2), (30, 2), (30, 6)])
    >>> second = cluster.reserve(*cluster.fit(request, compacting=True))
    >>> cluster.used_at(90), cluster.free_at(150)
    (8, 4)
    >>> cluster.release(first, since=70)      # it ended early
    >>> cluster.forget(70)
    >>> cluster.occupied()                    # from the origin on
    EvolutionProfile(steps=((20, 0), (60, 2), (30, 6)))
    """

    def __init__(self, num_nodes: int, *, origin: int = 0) -> None:
        self._origin = 0
        self._num_nodes = in_range("num_nodes", integer("num_nodes", num_nodes, InvalidOption), 1)
        self._origin = self._time("origin", origin)
        self._reservations: dict[int, _Reservation] = {}
        self._ends: list[tuple[int, int]] = []  # heap of (completion, reservation), released ones included
        self._issued = 0
        self._windows: deque[int] = deque([1], maxlen=_REMEMBERED)
        self._spans: deque[int] = deque([1], maxlen=_REMEMBERED)
        self._index = make_index(
            np.array([self._origin]),
            np.zeros(1, dtype=np.int64),
            num_nodes=self._num_nodes,
            until=self._origin + 1,
            segments=1,
            classes=np.ones(1, dtype=np.int64),
        )

    @property
    def num_nodes(self) -> int:
        """Nodes of the cluster."""
        return self._num_nodes

    @property
    def origin(self) -> int:
        """The present, in seconds: what lies before is forgotten."""
        return self._origin

    def used_at(self, time: int) -> int:
        """Return how many nodes are busy at a time (seconds, not before the origin)."""
        index = self._index
        leaf = (self._time("time", time) - index.origin) >> index.shift
        if leaf >= len(index.leaves):
            return 0
        row = index.leaves[leaf]
        segments = index.segments[row[BASE] : row[BASE] + row[SIZE]]
        k = np.searchsorted(segments[:, TIME], time, side="right") - 1
        return int(segments[k, USED] + row[LAZY])

    def free_at(self, time: int) -> int:
        """Return how many nodes are free at a time (seconds, not before the origin)."""
        return self._num_nodes - self.used_at(time)

    def occupied(self) -> EvolutionProfile:
        """Return the busy nodes as a function of the time since the origin, as `fit` and `compact` take it.

        O(segments).
        """
        times, used = flat(self._index, self._origin)
        return EvolutionProfile(tuple(zip(np.diff(times).tolist(), used[:-1].tolist(), strict=True)))

    def earliest_window(self, nodes: int, duration: int, *, earliest_start: int | None = None) -> int:
        """Return the earliest time from which on `nodes` nodes are free for `duration` seconds.

        `nodes` are 0 to all of the cluster, `duration` is at least 1. No window starts before the origin.
        """
        start = None if earliest_start is None else self._time("earliest_start", earliest_start)
        step = whole_time("duration", duration), integer("nodes", nodes)
        return self.fit(EvolutionProfile((step,)), earliest_start=start).start

    def fit(
        self,
        profile: EvolutionProfile,
        expand_limit: float = math.inf,
        *,
        compacting: bool = False,
        earliest_start: int | None = None,
    ) -> PlacedProfile:
        """Return where a requested profile completes as early as possible; reserves nothing.

        Profile and limit are as for `allocsolve.heuristics.fit`, with `compacting` as for
        `allocsolve.heuristics.compact`; nothing starts before the origin. ``reserve(*placement)`` takes what
        is returned.
        """
        request = request_arrays(profile, self._num_nodes, expand_limit)
        earliest = self._origin if earliest_start is None else self._time("earliest_start", earliest_start)
        self._windows.extend(profile.durations[:_REMEMBERED])
        self._spans.append(profile.duration)
        num_steps = len(profile.steps)
        self._make_room(max(int(self._index.state[END]), earliest) + profile.duration, num_steps)
        index = self._index
        table = np.empty((3 * num_steps, TABLE_COLUMNS), dtype=np.int64)
        work = np.empty((2, max(num_steps, len(index.classes))), dtype=np.int64)
        starts = np.empty(num_steps, dtype=np.int64)
        late = Fit(compacting=compacting).compacting
        fit_on_index(index, request, self._num_nodes, earliest, late, starts, table, work)
        return placement_of(profile, starts)

    def reserve(self, start: int, profile: EvolutionProfile) -> int:
        """Let a profile hold its nodes from a time on, and return the number of this reservation.

        `InvalidOption` if it starts before the origin or ends after 2^53 s; `InvalidAnswer` if too few nodes
        are free; nothing is reserved then.
        """
        begin = self._time("start", start)
        durations, nodes, _ = request_arrays(profile, self._num_nodes, 1)
        completion = self._time("completion", begin + profile.duration)
        starts = frozen(begin + np.cumsum(durations) - durations)
        self._make_room(completion, len(starts))
        step = add(self._index, starts, nodes, completion, self._num_nodes)
        if step >= 0:
            begin, asked = int(starts[step]), int(nodes[step])
            msg = (
                f"step {step}: fewer than {asked} of {self._num_nodes} nodes are free "
                f"on [{begin}, {begin + int(durations[step])})"
            )
            raise InvalidAnswer(msg)
        self._issued += 1
        self._reservations[self._issued] = _Reservation(starts, nodes, completion)
        heapq.heappush(self._ends, (completion, self._issued))
        return self._issued

    def release(self, reservation: int, *, since: int | None = None) -> None:
        """Give back what a reservation holds from a time on: early completion, or cancellation.

        The reservation is unknown afterwards; what it held before `since`, from the origin on, stays on
        record. `InvalidOption` if there is no such reservation, because it was released or ended before the
        origin, or `since` lies before the origin.
        """
        time = self._origin if since is None else self._time("since", since)
        held = self._reservations.pop(integer("reservation", reservation, InvalidOption), None)
        if held is None:
            raise InvalidOption(f"reservation {shown(reservation)} is unknown: never made, released or past")
        if time < held.completion:
            first = max(int(np.searchsorted(held.starts, time, side="right")) - 1, 0)
            starts = np.maximum(held.starts[first:], time)
            self._make_room(held.completion, len(starts))
            take_away(self._index, frozen(starts), held.nodes[first:], held.completion)

    def forget(self, before: int) -> None:
        """Move the origin on: what happened before a time, and reservations that ended by then, are gone."""
        self._origin = self._time("before", before)
        while self._ends and self._ends[0][0] <= self._origin:
            self._reservations.pop(heapq.heappop(self._ends)[1], None)

    def _time(self, what: str, time: int) -> int:
        value = whole_time(what, time, InvalidOption)
        where = " (seconds from the origin on)"
        return in_range(what, value, self._origin, error=InvalidOption, where=where)

    def _make_room(self, last: int, num_steps: int) -> None:
        """Make the index reach beyond a time and have room for `num_steps` steps, each with begin and end."""
        index = self._index
        reach = index.origin + (len(index.leaves) << index.shift)
        if last < reach and int(index.state[COUNT]) + num_steps < int(index.state[LIMIT]):
            return
        times, used = flat(index, self._origin)
        last = max(last, int(times[-1]))
        self._index = make_index(
            times,
            used,
            num_nodes=self._num_nodes,
            until=last + (last - self._origin),
            segments=2 * len(times) + 64 + num_steps,
            classes=duration_classes(np.array(self._windows), np.array(self._spans)),
        )
