"""The decisions of a policy as data: starts (with a reason), resizes, promises, answers and wake-ups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from allocsolve.errors import AllocsolveError
from allocsolve.model.checks import shown

#: Codes of reasons, for kernels; see `Reason`.
AT_HEAD: Final = 1
BACKFILLED: Final = 2
PROMISED: Final = 3


class Reason(IntEnum):
    """Why a job was started."""

    NOT_SAID = 0  #: the policy gave no reason
    AT_HEAD = AT_HEAD  #: it was first in the queue
    BACKFILLED = BACKFILLED  #: it was started before a job that was blocked
    PROMISED = PROMISED  #: it had been promised nodes, which have become free


@dataclass(frozen=True, slots=True)
class Start:
    """Start a queued job now.

    A job with a profile starts on `allocsolve.model.Job.nodes` nodes; if its first step needs no node, the
    job gives its node back at once.

    `blocked` is the job that was first in the queue and did not fit, if this one is backfilled.

    Where nodes are places, `places` are pairs of a node and how many chunks of the job it gets. Without it,
    the rule of choice of the engine says where the job goes, whatever `nodes` is.
    """

    job: int
    nodes: int
    reason: Reason = Reason.NOT_SAID
    blocked: int | None = None
    places: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Resize:
    """Give a running malleable job another number of nodes, at the next point of its work.

    A job without points changes now. The nodes of a growth are taken from the free ones now and wait for the
    job; nodes that it gives up become free at that point, unless they are promised. If no point is left, the
    change stays pending until the job ends. A job whose change is pending from an earlier call cannot be
    changed again.

    `for_job` is the queued job that gets the nodes that this job gives up: a `Promise` for it has to follow.
    """

    job: int
    nodes: int
    for_job: int | None = None


@dataclass(frozen=True, slots=True)
class Promise:
    """Promise nodes to a queued job, which starts as soon as all of them are available.

    The promise uses the nodes that other jobs give up for it (`Resize.for_job`, earlier in the same call),
    and free nodes for the rest, which wait for it from now on. The job leaves the queue. Jobs start in the
    order in which they were promised nodes: the first one that still has to wait holds up the others.
    """

    job: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the open request of a running job for more nodes, see `QueueView.requests`.

    If the request is granted, the job gets the nodes now, out of the free ones. If it is refused, it is
    dropped; only requests of jobs with `allocsolve.model.Requests` can be refused, since other jobs ask until
    they get the nodes or no longer need them.
    """

    job: int
    granted: bool = True


@dataclass(frozen=True, slots=True)
class Wake:
    """Call the policy again at a later instant, in seconds, even if no event happens then."""

    at: float


#: What a policy may decide.
Decision: TypeAlias = Start | Resize | Promise | Answer | Wake


class IllegalDecision(AllocsolveError, ValueError):  # noqa: N818 - the name says what is wrong
    """A decision that the rules do not allow; the state of the engine has not changed.

    `job` is the index of the job that it is about; None if it is about no job. `rule` says what was broken,
    with the values.
    """

    def __init__(self, job: int | None, rule: str) -> None:
        self.job = job
        self.rule = rule
        super().__init__(rule if job is None else f"job {job}: {rule}")


def checked_wake(wake: Wake, now: float) -> float:
    """Return when the policy is to be called again, if that is after now."""
    try:
        at = float(wake.at)
    except (TypeError, ValueError, OverflowError):
        raise IllegalDecision(None, f"wake-up at {shown(wake.at)} is at no time") from None
    if not now < at < math.inf:
        raise IllegalDecision(None, f"wake-up at {at} is not after now, {now:.15g}")
    return at
