"""What our policies see of another program's snapshot if nothing is remembered from one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.model.arrays import frozen
from allocsolve.model.job_kinds import MOLDABLE, RIGID
from allocsolve.simulation.columns import NO_PROFILES
from allocsolve.simulation.view import JobColumns, QueueView

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["stateless_view"]

_FLOATS: Final = ("stall_fixed", "stall_per_node", "stall_shared", "join_start", "join_grow", "join_shrink")
_INTS: Final = ("speedup", "points", "reading", "holds_larger")


_NONE: Final = frozen(np.empty(0, dtype=np.int64))
_NO_SECONDS: Final = frozen(np.empty(0))


def stateless_view(
    now: float,
    num_nodes: int,
    free: int,
    queue: Sequence[tuple[float, int, int, float]],
    running: Sequence[tuple[float, int]],
) -> QueueView:
    """Return a view of rigid and moldable jobs, numbered anew: those that wait, then those that run.

    Parameters
    ----------
    now, num_nodes, free
        Seconds; nodes.
    queue
        In the order in which the policy is to see them: when each job was submitted, its fewest and its most
        nodes, and how long it is expected to run, on however many.
    running
        Rising: when each running job will end, and its nodes.

    Notes
    -----
    A running job is shown as if it had started now, for the time that it has left. Run times are those that
    are expected. Why the policy is called, and who a job is of, a snapshot does not say.
    *Complexity*: O(queued and running jobs).

    Examples
    --------
    >>> view = stateless_view(5, 4, 1, [(0, 4, 4, 10)], [(100, 3)])
    >>> view.queue.tolist(), view.running.tolist(), view.expected_ends.tolist(), view.jobs.estimate.tolist()
    ([0], [1], [100.0], [10.0, 95.0])
    """
    waiting, count = len(queue), len(queue) + len(running)
    # submissions, fewest and most nodes, expected seconds, starts
    rows = np.full((5, count), now, dtype=float)
    rows[:4, :waiting] = np.array(queue, dtype=float).reshape(waiting, 4).T
    rows[4, :waiting] = np.nan
    ends, held = np.array(running, dtype=float).reshape(-1, 2).T
    rows[1:3, waiting:], rows[3, waiting:] = held, ends - now
    submit, _, _, expected, start = frozen(rows)
    nodes, most = frozen(rows[1:3].astype(np.int64))
    ones = frozen(np.ones(count, dtype=np.int64))
    zeros, naughts = frozen(np.zeros(count, dtype=np.int64)), frozen(np.zeros(count))
    constant: dict[str, Any] = {**dict.fromkeys(_INTS, zeros), **dict.fromkeys(_FLOATS, naughts)}
    jobs = JobColumns(
        submit=submit,
        nodes=nodes,
        min_nodes=nodes,
        max_nodes=most,
        runtime=expected,
        estimate=expected,
        weight=frozen(np.ones(count)),
        parameter=naughts,
        table_offsets=frozen(np.zeros(count + 1, dtype=np.int64)),
        table_nodes=_NONE,
        table_seconds=_NO_SECONDS,
        kind=frozen(np.where(nodes < most, MOLDABLE, RIGID)),
        size_step=ones,
        start=start,
        end=frozen(np.full(count, np.nan)),
        user=frozen(np.full(count, -1)),
        **constant,
    )
    held_now = nodes[waiting:]
    return QueueView(
        now=float(now),
        completed=_NONE,
        submitted=_NONE,
        woken=False,
        num_nodes=num_nodes,
        free=free,
        queue=frozen(np.arange(waiting)),
        running=frozen(np.arange(waiting, count)),
        expected_ends=frozen(ends.copy()),
        held=held_now,
        targets=held_now,
        resized=_NONE,
        pool=0,
        reserved=0,
        promises=_NONE,
        promised_nodes=_NONE,
        requests=_NONE,
        requested_nodes=_NONE,
        jobs=jobs,
        profiles=NO_PROFILES,
    )
