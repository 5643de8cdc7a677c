"""What a policy decides: data with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from allocsolve.errors import AllocsolveError

__all__ = [
    "AT_HEAD",
    "BACKFILLED",
    "PROMISED",
    "Answer",
    "Decision",
    "IllegalDecision",
    "Promise",
    "Reason",
    "Resize",
    "Start",
    "Wake",
]

#: Codes of reasons, for kernels; see `Reason`.
AT_HEAD: Final = 1
BACKFILLED: Final = 2
PROMISED: Final = 3


class Reason(IntEnum):
    """Why a job was started."""

    NOT_SAID = 0  #: the policy gave no reason
    AT_HEAD = AT_HEAD  #: it was first in the queue
    BACKFILLED = BACKFILLED  #: it was started before one that was blocked
    PROMISED = PROMISED  #: it had been promised nodes, which have become free


@dataclass(frozen=True, slots=True)
class Start:
    """Start a queued job now.

    One with a profile starts on `allocsolve.model.Job.nodes` nodes; if its first step needs none, it
    gives that one back at once.

    Parameters
    ----------
    job
        Its index in the problem.
    nodes
        On how many nodes.
    reason
        Why.
    blocked
        The job that was first in the queue and did not fit, if this one is backfilled.
    """

    job: int
    nodes: int
    reason: Reason = Reason.NOT_SAID
    blocked: int | None = None


@dataclass(frozen=True, slots=True)
class Resize:
    """Give a running malleable job another number of nodes, at the next point of its work.

    Without points that is now. Nodes that it is to get are taken from the free ones now and wait for it;
    nodes that it gives up are free from the point on, or promised. If no point is left, the change stays
    pending until the job ends. A job whose change is pending from an earlier call cannot have another one.

    Parameters
    ----------
    job
        Its index in the problem.
    nodes
        On how many nodes it is to run.
    for_job
        The queued job that the nodes are for that it gives up: a `Promise` for that job has to follow.
    """

    job: int
    nodes: int
    for_job: int | None = None


@dataclass(frozen=True, slots=True)
class Promise:
    """Promise nodes to a queued job, which starts as soon as they are there.

    They are those that other jobs give up for it (`Resize.for_job`, earlier in the same call), as far as
    these go, and free ones for the rest, which wait for it from now on. It leaves the queue. Jobs start in
    the order in which they were promised nodes: the first one that still has to wait holds up the others.

    Parameters
    ----------
    job
        Its index in the problem.
    nodes
        On how many nodes it will start.
    """

    job: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the open request of a running job for more nodes, see `QueueView.requests`.

    Granted, the job gets the nodes now, out of the free ones. Refused, the request is dropped: that is for
    jobs with `allocsolve.model.Requests` only; others ask until they get what they need or need it no more.

    Parameters
    ----------
    job
        Its index in the problem.
    granted
        Whether it gets the nodes.
    """

    job: int
    granted: bool = True


@dataclass(frozen=True, slots=True)
class Wake:
    """Call the policy again at a later instant, in seconds, whether anything happens then or not."""

    at: float


#: What a policy may decide.
Decision: TypeAlias = Start | Resize | Promise | Answer | Wake


class IllegalDecision(AllocsolveError, ValueError):  # noqa: N818 - the name says what is wrong
    """A decision that the rules do not allow; nothing has been changed.

    Parameters
    ----------
    job
        The index of the job that it is about; None if the decision is about no job.
    rule
        What was broken, with the values.
    """

    def __init__(self, job: int | None, rule: str) -> None:
        self.job = job
        self.rule = rule
        super().__init__(rule if job is None else f"job {job}: {rule}")
