"""Where jobs of a queue run on nodes that are places; two ends, where the queue does not say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from allocsolve.registry.names import parse_name
from allocsolve.report.logs.nodes import ENDS, by_rule
from allocsolve.report.logs.words import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.instances import QueueListing
    from allocsolve.prediction import JobHistory
    from allocsolve.report.queues.machine import QueuePlaces
    from allocsolve.simulation.node_choice import NodeChoice
    from allocsolve.simulation.node_table import Seats


class End(NamedTuple):
    """What is assumed of the nodes of a queue."""

    title: str  #: empty if nothing is
    policy: str
    choice: NodeChoice  #: by which running jobs have started of which nobody says where they are
    seats: Seats | None  #: None if nodes are counted


def ends_of(policy: str, places: QueuePlaces | None, listing: QueueListing) -> list[End]:
    """Return what is assumed: nothing if the queue says where all jobs run, else both ends.

    A policy that names its choice is assumed to have placed the running jobs, too.
    """
    if places is None:
        return [End("", policy, "first", None)]
    first: Any = next(iter(RULES))
    seats = places.seats(listing.running, first)
    if not seats.assumed:
        return [End("", policy, first, seats)]
    named: Any = dict(parse_name(policy).options).get("choice")
    if named is not None:
        return [End(f"as {named}", policy, named, places.seats(listing.running, named))]
    names = by_rule(policy)
    policies = names if len(names) == len(RULES) else [policy] * len(RULES)
    rules: Any = zip(policies, RULES.items(), strict=True)
    return [End(title, name, rule, places.seats(listing.running, rule)) for name, (rule, title) in rules]


def node_remarks(ends: Sequence[End], listing: QueueListing, history: JobHistory | None) -> Iterator[str]:
    """Yield what is known and assumed of the nodes."""
    seats, running = ends[0].seats, len(listing.running)
    assumed = 0 if seats is None else seats.assumed
    left_out = running if seats is None else running - len(seats.jobs)
    if assumed:
        yield f"Of {assumed} of {running} running jobs the queue does not say on which nodes they are."
        yield ENDS if len(ends) > 1 else f"They are assumed to have started by the rule {ends[0].choice}."
    else:
        yield "Each node is looked at: running jobs are where the queue says."
    if left_out:
        yield f"{left_out} running jobs have no room beside others, and are left out: are the types right?"
    amounts = [job.amounts for job in listing.running] + [job.amounts for job in listing.queued]
    if all(told is None for told in amounts):
        yield "The queue tells processors only; squeue --json tells memory and GPUs, too."
    if history is not None and not any(history.places):
        yield "The log does not say on which nodes jobs ran: the past is asked with the same assumption."
