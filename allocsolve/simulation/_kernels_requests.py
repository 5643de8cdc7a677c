"""Requests of running jobs for more nodes, in the order in which they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.simulation.state import Resizing

__all__ = ["ask", "withdraw"]


@inner_kernel
def ask(resizing: Resizing, job: int, size: int) -> None:
    """Open a request of a job, which has none, to run on so many nodes."""
    resizing.job[job].request = size
    resizing.requests[resizing.ledger.requests] = job
    resizing.ledger.requests += 1


@inner_kernel
def withdraw(resizing: Resizing, job: int) -> None:
    """Take the request of a job off the list of open ones, if it has made one. O(open requests)."""
    elastic = resizing.job[job]
    if not elastic.request:
        return
    elastic.request = 0
    last, at = resizing.ledger.requests - 1, 0
    while resizing.requests[at] != job:
        at += 1
    for place in range(at, last):
        resizing.requests[place] = resizing.requests[place + 1]
    resizing.ledger.requests = last
