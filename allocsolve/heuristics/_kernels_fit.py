"""Kernels that place one application on a resource profile.

A placement is a vector ``s`` of step starts: step i holds ``nodes[i]`` on ``[s[i], s[i + 1])``, the last
step on ``[s[-1], s[-1] + durations[-1])``. Feasible vectors are closed under componentwise minimum and
maximum, so a least and a greatest one exist, and both are fixpoints that are reached by only raising
(`place`) or only lowering (`compact`) bounds, in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from allocsolve.kernels import bisect_right, inner_kernel, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import IntArray

    ProfileT = TypeVar("ProfileT")


class Request(NamedTuple):
    """The steps of one application, each array of shape (steps,)."""

    #: Seconds.
    durations: IntArray
    nodes: IntArray
    #: Seconds.
    max_durations: IntArray


class Segments(NamedTuple):
    """A resource profile: ``usage[k]`` nodes are busy on ``[times[k], times[k + 1])``.

    ``times[0] == 0``; the last segment in use lasts for ever and has usage 0.
    """

    #: Seconds, increasing.
    times: IntArray
    usage: IntArray
    #: One number: how many segments are in use.
    in_use: IntArray


@inner_kernel
def place(
    segments: Segments, request: Request, num_nodes: int, earliest: int, starts: IntArray, work: IntArray
) -> None:
    """Write the least feasible vector into `starts`; step 0 is delayed, but never expanded.

    `work` has shape (2, >= steps): for each step the segment that has its start, and the start at which its
    window of ``durations[i]`` was last seen free, so that an unmoved step is not scanned again.
    """
    times, usage, count = segments.times, segments.usage, segments.in_use[0]
    durations, nodes, max_durations = request
    segment, verified = work[0], work[1]
    num_steps = len(durations)
    first = bisect_right(times, count, earliest) - 1
    for i in range(num_steps):
        starts[i] = earliest
        segment[i] = first
        verified[i] = -1
    i = 0
    while i < num_steps:
        prev_end = starts[i - 1] + durations[i - 1] if i > 0 else earliest
        starts[i] = max(starts[i], prev_end)
        if verified[i] != starts[i]:  # the window of step i moves behind each busy segment
            start = starts[i]
            k = max(segment[i], segment[i - 1]) if i > 0 else segment[0]
            while k + 1 < count and times[k + 1] <= start:
                k += 1
            at = k
            end = start + durations[i]
            free = num_nodes - nodes[i]
            while k < count and times[k] < end:
                if usage[k] > free:
                    at = k + 1
                    start = times[at]
                    end = start + durations[i]
                k += 1
            starts[i] = start
            segment[i] = at
            verified[i] = start
        if (
            starts[i] > prev_end and i > 0
        ):  # step i - 1 must wait for step i, within its limit and on free nodes
            longest = max_durations[i - 1] if i > 1 else durations[0]
            raised = starts[i] - longest
            if raised <= starts[i - 1]:
                raised = -1
                free = num_nodes - nodes[i - 1]
                k = segment[i]
                if times[k] >= starts[i]:
                    k -= 1
                while k >= 0 and (k + 1 == count or times[k + 1] > prev_end):
                    if usage[k] > free:
                        raised = times[k + 1]
                        break
                    k -= 1
            if raised > starts[i - 1]:
                i -= 1
                starts[i] = raised
                continue
        i += 1


@inner_kernel
def first_busy(segments: Segments, begin: int, end: int, capacity: int) -> int:
    """Return where the first segment with more than `capacity` busy nodes that meets ``[begin, end)`` begins.

    That may be before `begin`; it is -1 if there is none.
    """
    times, usage, count = segments.times, segments.usage, segments.in_use[0]
    k = bisect_right(times, count, begin) - 1
    while k < count and times[k] < end:
        if usage[k] > capacity:
            return int(times[k])
        k += 1
    return -1


@inner_kernel
def compact(
    profile: ProfileT,
    first_busy: Callable[[ProfileT, int, int, int], int],
    origin: int,
    request: Request,
    num_nodes: int,
    completion: int,
    starts: IntArray,
) -> bool:
    """Write the greatest feasible vector that ends at `completion` into `starts`.

    The last step is not expanded. Returns False if no such vector begins at `origin` or later, which never
    happens after `place` with the same arguments; `starts` is then meaningless. `profile` is any resource
    profile from `origin` on for which `first_busy` is given; it returns what `first_busy` of this module
    does.
    """
    durations, nodes, max_durations = request
    num_steps = len(durations)
    end = completion
    for i in range(num_steps - 1, -1, -1):
        end -= durations[i]
        starts[i] = end
    i = num_steps - 1
    while i >= 0:
        last = i == num_steps - 1
        end = completion if last else starts[i + 1]
        starts[i] = min(starts[i], end - durations[i])
        if starts[i] < origin:
            return False
        if end - starts[i] > (durations[i] if last else max_durations[i]):
            lowered = starts[i] + max_durations[i]
        else:
            lowered = first_busy(profile, starts[i], end, num_nodes - nodes[i])  # step i must end by then
        if lowered >= 0:
            if last:
                return False
            i += 1
            starts[i] = lowered
        else:
            i -= 1
    return True


@inner_kernel
def add(segments: Segments, starts: IntArray, nodes: IntArray, completion: int) -> None:
    """Add a placed application to the resource profile.

    The arrays need room for ``in_use + steps + 1`` segments. O(segments after the start).
    """
    times, usage, count = segments.times, segments.usage, segments.in_use[0]
    num_steps = len(starts)
    fresh = 0
    for j in range(num_steps + 1):
        bound = starts[j] if j < num_steps else completion
        if times[bisect_right(times, count, bound) - 1] != bound:
            fresh += 1
    src = count - 1
    dst = src + fresh
    for j in range(num_steps, -1, -1):
        bound = starts[j] if j < num_steps else completion
        held = nodes[j] if j < num_steps else 0
        while times[src] > bound:
            times[dst] = times[src]
            usage[dst] = usage[src] + held
            src -= 1
            dst -= 1
        times[dst] = bound
        usage[dst] = usage[src] + held
        dst -= 1
        if times[src] == bound:
            src -= 1
    segments.in_use[0] = count + fresh


@kernel
def fit_request(
    segments: Segments, request: Request, num_nodes: int, earliest: int, starts: IntArray, work: IntArray
) -> None:
    """Call `place` from Python."""
    place(segments, request, num_nodes, earliest, starts, work)


@kernel
def compact_request(
    segments: Segments, request: Request, num_nodes: int, completion: int, starts: IntArray
) -> bool:
    """Call `compact` from Python."""
    return compact(segments, first_busy, 0, request, num_nodes, completion, starts)
