"""What the engine and the process of a policy say to each other.

Views go in, pickled by the owner, who is trusted. What comes out is never unpickled: numbers in records of a
fixed width, or a text that says what went wrong.
"""

from __future__ import annotations

import pickle
import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.model.arrays import frozen, read_only_view
from allocsolve.model.checks import shown, whole
from allocsolve.simulation import QueueView, Start, Wake
from allocsolve.simulation.view import JobColumns

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What a message of the process is about: it has started, with its number and what it is not kept from; the
#: policy is loaded, or cannot be; decisions; it raised. Of its server: how it had ended, as
#: `os.waitstatus_to_exitcode` has it.
STARTED, LOADED, UNUSABLE, DECIDED, RAISED, ENDED = b"s", b"l", b"u", b"d", b"e", b"x"
#: Before each message of the process: its mark, and how many bytes follow.
HEAD: Final = struct.Struct("<cI")
#: Before each message to it: how many bytes follow; none ends it.
LENGTH: Final = struct.Struct("<Q")
#: What a text has at most, in bytes: little of a window can be told by one.
LONGEST: Final = 200
#: The number of a process, or how one had ended.
NUMBER: Final = struct.Struct("<q")

#: A decision: whether it is a start, its job and nodes, or else the instant of a wake-up.
_RECORD: Final = struct.Struct("<?qqd")
#: How many bytes of decisions come at once at most, for each job of the workload.
MOST_PER_JOB: Final = 8 * _RECORD.size
#: Columns that the engine fills when a job is submitted.
_AT_SUBMISSION: Final = ("submit", "nodes", "min_nodes", "max_nodes", "estimate", "weight", "user")
#: Fields of a view that are sent in parts.
_APART: Final = ("jobs", "profiles")


class Orders(NamedTuple):
    """What the process of a policy is told at first."""

    policy: str  #: ``package.module:object`` with options, or ``file.py:object``
    search: list[str]  #: folders in which modules are looked for
    #: See `allocsolve.bench.evaluation.fork_server.restrict`.
    readable: list[str]
    memory_mb: float


def framed(mark: bytes, data: bytes = b"") -> bytes:
    """Return a message of the process as it is sent."""
    return HEAD.pack(mark, len(data)) + data


class ViewSender:
    """Says of each view of a run what is new in it."""

    def __init__(self) -> None:
        self._began = False

    def message(self, view: QueueView) -> bytes:
        """Return a view as it is sent. O(columns) at first, then O(jobs that wait, run, come and go)."""
        fields = {name: getattr(view, name) for name in _WHOLE}
        jobs, seen = view.jobs, np.concatenate((view.completed, view.running))
        news: object = tuple(jobs)
        if self._began:
            news = [getattr(jobs, name)[view.submitted] for name in _AT_SUBMISSION], seen, jobs.start[seen]
        data = pickle.dumps((fields, self._began, news), pickle.HIGHEST_PROTOCOL)
        self._began = True
        return LENGTH.pack(len(data)) + data


_WHOLE: Final = tuple(name for name in QueueView.__dataclass_fields__ if name not in _APART)


class ViewReceiver:
    """Makes the views again, in the process of the policy: it knows of a job what has been sent."""

    def __init__(self) -> None:
        self._filled: dict[str, np.ndarray[Any, Any]] = {}
        self._seen: JobColumns

    def view(self, data: bytes) -> QueueView:
        """Return the view of a message."""
        fields, began, news = pickle.loads(data)  # noqa: S301 - from the owner
        for value in fields.values():
            if isinstance(value, np.ndarray):
                frozen(value)
        if began:
            rows, seen, starts = news
            for name, values in zip(_AT_SUBMISSION, rows, strict=True):
                self._filled[name][fields["submitted"]] = values
            self._filled["start"][seen] = starts
            self._filled["end"][fields["completed"]] = fields["now"]
        else:
            self._filled = dict(zip(JobColumns._fields, map(np.array, news), strict=True))
            self._seen = JobColumns(*map(read_only_view, self._filled.values()))
        return QueueView(**fields, jobs=self._seen, profiles=MappingProxyType({}))


def packed_decisions(decisions: Any) -> bytes:  # noqa: ANN401 - whatever a policy returns
    """Return decisions as they are sent, in the process of the policy; reasons of starts are left out.

    Raises `InvalidAnswer` if these are no decisions about rigid jobs.
    """
    if not hasattr(decisions, "__iter__"):
        raise InvalidAnswer(f"the policy returned {shown(decisions)}, no decisions")
    return b"".join(map(_packed, decisions))


def _packed(decision: object) -> bytes:
    try:
        if isinstance(decision, Start):
            return _RECORD.pack(True, whole(decision.job), whole(decision.nodes), 0.0)  # noqa: FBT003 - a field
        if isinstance(decision, Wake):
            return _RECORD.pack(False, 0, 0, float(decision.at))  # noqa: FBT003 - a field
    except (TypeError, ValueError, OverflowError, struct.error):
        raise InvalidAnswer(f"{shown(decision)} is malformed") from None
    raise InvalidAnswer(f"{shown(decision)} is no decision about rigid jobs")


def decisions_of(data: bytes) -> Iterator[Start | Wake]:
    """Yield the decisions of a message; whether they are allowed is for the engine to say.

    Raises `InvalidAnswer` if the message is not made of decisions.
    """
    if len(data) % _RECORD.size:
        raise InvalidAnswer(f"{len(data)} bytes are no decisions")
    for starts, job, nodes, at in _RECORD.iter_unpack(data):
        yield Start(job, nodes) if starts else Wake(at)
