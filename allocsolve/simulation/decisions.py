"""What a policy decides: data with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from allocsolve.errors import AllocsolveError

__all__ = ["AT_HEAD", "BACKFILLED", "PROMISED", "Decision", "IllegalDecision", "Reason", "Start", "Wake"]

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
class Wake:
    """Call the policy again at a later instant, in seconds, whether anything happens then or not."""

    at: float


#: What a policy may decide.
Decision: TypeAlias = Start | Wake


class IllegalDecision(AllocsolveError, ValueError):  # noqa: N818 - the name says what is wrong
    """A decision that the rules do not allow; nothing has been changed.

    Parameters
    ----------
    job
        The index of the job that was to be started; None if the decision is about no job.
    rule
        What was broken, with the values.
    """

    def __init__(self, job: int | None, rule: str) -> None:
        self.job = job
        self.rule = rule
        super().__init__(rule if job is None else f"job {job}: {rule}")
