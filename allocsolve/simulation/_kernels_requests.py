"""Requests of running jobs for more nodes, in the order in which they are made."""

from __future__ import annotations

from allocsolve.kernels import inner_kernel
from allocsolve.simulation._kernels_resizing_state import REQUEST, REQUESTS, Resizing

__all__ = ["ask", "withdraw"]


@inner_kernel
def ask(resizing: Resizing, job: int, size: int) -> None:
    """Open a request of a job, which has none, to run on so many nodes."""
    evolving = resizing.evolving
    evolving.numbers[job, REQUEST] = size
    evolving.requests[resizing.counts[REQUESTS]] = job
    resizing.counts[REQUESTS] += 1


@inner_kernel
def withdraw(resizing: Resizing, job: int) -> None:
    """Take the request of a job off the list of open ones, if it has made one. O(open requests)."""
    evolving = resizing.evolving
    if not evolving.numbers[job, REQUEST]:
        return
    evolving.numbers[job, REQUEST] = 0
    last, at = resizing.counts[REQUESTS] - 1, 0
    while evolving.requests[at] != job:
        at += 1
    for place in range(at, last):
        evolving.requests[place] = evolving.requests[place + 1]
    resizing.counts[REQUESTS] = last
