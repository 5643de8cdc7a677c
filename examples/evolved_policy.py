"""A queue policy that a search has found: backfilling with one reservation, the queue ordered by a formula.

`evolve_policy.py` searches such policies: it writes this text with other numbers. Searches for programs,
such as OpenEvolve, may begin with it, and are free to change all of it but the name `policy`.
"""

from collections.abc import Iterator

import numpy as np

from allocsolve.simulation import QueueView, Start

#: The job with the least limit^LIMIT nodes^NODES + 10^AGE log10(submission) is next. Others start before it
#: if TRUST times their limits end before it is expected to start: 1 is EASY backfilling, 0 lets all start.
LIMIT, NODES, AGE, TRUST = 1.284, 0.902, 3.570, 0.708


def order(view: QueueView) -> list[int]:
    """Return the jobs that wait, the next one first."""
    jobs, queue = view.jobs, view.queue
    since = np.log10(np.maximum(jobs.submit[queue], 1))
    key = jobs.estimate[queue] ** LIMIT * jobs.nodes[queue] ** NODES + 10**AGE * since
    return [int(job) for job in queue[key.argsort(kind="stable")]]


def policy(view: QueueView) -> Iterator[Start]:
    """Start the head of the queue while it fits; others if they hardly delay the first that does not."""
    jobs, now, free = view.jobs, view.now, view.free
    if not free or not len(view.queue):
        return
    running = sorted(zip(view.expected_ends.tolist(), view.held.tolist(), strict=True))
    waiting = order(view)
    while waiting and jobs.nodes[waiting[0]] <= free:
        job = waiting.pop(0)
        nodes = int(jobs.nodes[job])
        free -= nodes
        running.append((now + float(jobs.estimate[job]), nodes))
        yield Start(job, nodes)
    if not waiting or not free:
        return
    # When the head is expected to start, and how many nodes it leaves then.
    available, head, shadow = free, int(jobs.nodes[waiting[0]]), now
    for end, nodes in sorted(running):
        if available >= head and end > shadow:
            break
        available += nodes
        shadow = end
    extra = available - head
    for job in waiting[1:]:
        nodes = int(jobs.nodes[job])
        if nodes > free:
            continue
        ends_in_time = now + TRUST * float(jobs.estimate[job]) <= shadow
        if ends_in_time or nodes <= extra:
            free -= nodes
            extra -= 0 if ends_in_time else nodes
            yield Start(job, nodes)
