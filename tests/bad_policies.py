"""Queue policies with one fault each."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from allocsolve.simulation import Start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.simulation import QueueView


def first_fit(view: QueueView) -> Iterator[Start]:
    free = view.free
    for job in view.queue.tolist():
        nodes = int(view.jobs.nodes[job])
        if nodes <= free:
            free -= nodes
            yield Start(job, nodes)


def fcfs(view: QueueView) -> Iterator[Start]:
    free = view.free
    for job in view.queue.tolist():
        nodes = int(view.jobs.nodes[job])
        if nodes > free:
            return
        free -= nodes
        yield Start(job, nodes)


CALLS = itertools.count()


def remembers(view: QueueView) -> list[Start]:
    return list(fcfs(view))[: 1 + next(CALLS) % 2]


class KeepsState:
    """A counter that `reset` forgets to set back."""

    calls = 0

    def reset(self, seed: int) -> None:
        assert seed == 0

    def decide(self, view: QueueView) -> list[Start]:
        self.calls += 1
        return list(fcfs(view))[: 1 + self.calls % 2]


def overcommits(view: QueueView) -> list[Start]:
    return [Start(job, int(view.jobs.nodes[job])) for job in view.queue.tolist()]


def starts_twice(view: QueueView) -> list[Start]:
    return [decision for decision in fcfs(view) for _ in range(2)]


def starts_what_runs(view: QueueView) -> list[Start]:
    return [Start(job, 1) for job in view.running.tolist()] or list(fcfs(view))


def wrong_size(view: QueueView) -> list[Start]:
    return [Start(decision.job, max(1, decision.nodes - 1)) for decision in fcfs(view)]


def clairvoyant(view: QueueView) -> list[Start]:
    return [decision for decision in fcfs(view) if int(view.jobs.runtime[decision.job])]


def no_decision(view: QueueView) -> Any:
    return [(decision.job, decision.nodes) for decision in fcfs(view)]


def nothing_at_all(_: QueueView) -> None:
    return None


def never_starts_wide_jobs(view: QueueView) -> list[Start]:
    return [decision for decision in first_fit(view) if decision.nodes < view.num_nodes]


def one_a_call(view: QueueView) -> list[Start]:
    return list(fcfs(view))[:1]


#: The policy, what it claims, the check that catches it, and words of the message.
BAD_POLICIES: tuple[tuple[Any, dict[str, Any], str, str], ...] = (
    (remembers, {}, "same_view_same_decisions", "then on the same view"),
    (KeepsState, {}, "same_view_same_decisions", r"after reset\(0\) decides otherwise"),
    (overcommits, {}, "decisions_are_legal", "but .* free"),
    (starts_twice, {}, "decisions_are_legal", "twice"),
    (starts_what_runs, {}, "decisions_are_legal", "not in the queue"),
    (wrong_size, {}, "decisions_are_legal", "cannot run on"),
    (clairvoyant, {}, "decisions_are_legal", "raises ValueError: cannot convert float NaN"),
    (no_decision, {}, "decisions_are_legal", "no decision"),
    (nothing_at_all, {}, "decisions_are_legal", "raises TypeError"),
    (never_starts_wide_jobs, {}, "decisions_are_legal", "is never started"),
    (
        one_a_call,
        {"starts_head": True},
        "no_idle_nodes_while_the_head_fits",
        "the head, needs .* nodes and does not start",
    ),
    (first_fit, {"reserves_head": True}, "head_is_not_delayed", "the head, starts after its shadow time"),
    (first_fit, {"starts_like": "easy"}, "named_counterexamples", "easy at"),
)
