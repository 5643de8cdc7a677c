"""What a policy sees of a queue that is given as bare columns: nothing is remembered from view to view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.model import MOLDABLE, RIGID, frozen
from allocsolve.simulation.columns import NO_PROFILES
from allocsolve.simulation.view import NO_CHANGES, NO_JOBS, JobColumns, QueueView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import FloatArray

#: Of a job, what such columns do not tell.
_UNKNOWN: Final = (
    *("parameter", "stall_fixed", "stall_per_node", "stall_shared"),
    *("join_start", "join_grow", "join_shrink"),
)
_UNKNOWN_INTS: Final = ("speedup", "points", "reading", "holds_larger")


def stateless_view(
    now: float,
    num_nodes: int,
    free: int,
    queue: Sequence[tuple[float, int, int, float]] | FloatArray,
    running: Sequence[tuple[float, int]] | FloatArray,
) -> QueueView:
    """Return a view of rigid and moldable jobs, numbered anew: those that wait, then those that run.

    The queue is in the order in which the policy is to see it: of each job its submission, its fewest and its
    most nodes, and how long it is expected to run, on however many. Of running jobs, rising, it is told when
    each will end, and its nodes; such a job is shown as if it had started now, for the time that it has left.
    Why the policy is called, and who a job is of, a snapshot does not say. O(queued and running jobs).

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
    nodes, largest = frozen(rows[1:3].astype(np.int64))
    zeros, naughts = frozen(np.zeros(count, dtype=np.int64)), frozen(np.zeros(count))
    constant: dict[str, Any] = {**dict.fromkeys(_UNKNOWN_INTS, zeros), **dict.fromkeys(_UNKNOWN, naughts)}
    jobs = JobColumns(
        submit=submit,
        nodes=nodes,
        min_nodes=nodes,
        max_nodes=largest,
        runtime=expected,
        estimate=expected,
        weight=frozen(np.ones(count)),
        table_offsets=frozen(np.zeros(count + 1, dtype=np.int64)),
        table_nodes=NO_JOBS,
        table_seconds=frozen(np.empty(0)),
        kind=frozen(np.where(nodes < largest, MOLDABLE, RIGID)),
        size_step=frozen(np.ones(count, dtype=np.int64)),
        start=start,
        end=frozen(np.full(count, np.nan)),
        user=frozen(np.full(count, -1)),
        **constant,
    )
    return QueueView(
        now=float(now),
        woken=False,
        num_nodes=num_nodes,
        free=free,
        queue=frozen(np.arange(waiting)),
        running=frozen(np.arange(waiting, count)),
        expected_ends=frozen(ends.copy()),
        held=nodes[waiting:],
        targets=nodes[waiting:],
        completed=NO_JOBS,
        submitted=NO_JOBS,
        jobs=jobs,
        profiles=NO_PROFILES,
        **NO_CHANGES,
    )
