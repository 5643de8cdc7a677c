"""The past of a machine: which jobs waited and ran when, and what could have been asked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import frozen
from allocsolve.simulation import QueueSnapshot
from allocsolve.simulation.node_table import seated, spread_evenly

if TYPE_CHECKING:
    from allocsolve.instances import JobLog
    from allocsolve.model import FloatArray, IntArray, NodeType, Shape
    from allocsolve.simulation.node_choice import NodeChoice
    from allocsolve.simulation.node_table import NodeChunks

#: Over how many times as many jobs that waited questions are spread.
SPREAD: Final = 10

#: When a question is asked: at the submission of a job, or at any instant at which it waits.
Moment: TypeAlias = Literal["submission", "instant"]


class Questions(NamedTuple):
    """When will this job start? Asked at many instants of the past, in the order of time."""

    #: Shape (questions,): the job, an index of the history, and when it is asked, in seconds.
    jobs: IntArray
    times: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class JobHistory:
    """Jobs of the past, in the order of their submission; times in seconds.

    `InvalidProblem` if shapes differ, submissions fall, or a job ends before it starts or starts before its
    submission.

    Parameters
    ----------
    num_nodes
        Nodes of the machine.
    submits, starts, ends
        Shape (jobs,); infinite for a start or an end that has not happened, NaN for one that is not known.
        Of a job whose start is not known, nothing is told.
    nodes
        Shape (jobs,).
    limits
        Shape (jobs,); NaN for a job without one. Such a job counts as one with the longest limit or run time.
    node_types, shapes
        If there are any, nodes are places, and `shapes` is what each job holds on them.
    places
        Where each job ran: pairs of a node and how many chunks were there; None where that is not known.
        Those are assumed to have started by the rule `choice`.
    """

    num_nodes: int
    submits: FloatArray
    starts: FloatArray
    ends: FloatArray
    nodes: IntArray
    limits: FloatArray
    node_types: tuple[NodeType, ...] = ()
    shapes: tuple[Shape, ...] = ()
    places: tuple[NodeChunks | None, ...] = ()
    choice: NodeChoice = "best-fit"

    def __post_init__(self) -> None:
        for name in ("submits", "starts", "ends", "limits"):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=np.float64)))
        object.__setattr__(self, "nodes", frozen(np.array(self.nodes, dtype=np.int64)))
        shapes = {getattr(self, name).shape for name in ("submits", "starts", "ends", "nodes", "limits")}
        if len(shapes) > 1 or self.submits.ndim != 1:
            raise InvalidProblem(f"the columns of a history have the shapes {sorted(shapes)}")
        faults = (
            (np.diff(self.submits, prepend=-np.inf) >= 0, "is submitted before the one above it"),
            (~(self.starts < self.submits), "starts before its submission"),
            (~(self.ends < self.starts), "ends before it starts"),
            (~(self.limits <= 0), "has a limit that is not above 0"),
            (self.nodes >= 1, "has no nodes"),
        )
        for is_right, fault in faults:
            if not is_right.all():
                raise InvalidProblem(f"job {int(np.argmin(is_right))} of a history {fault}")
        known = np.flatnonzero(np.isfinite(self.ends) & np.isfinite(self.starts))
        spans = self.ends[known] - self.starts[known]
        longest = np.nanmax(np.concatenate([self.limits, spans, [1.0]]))
        object.__setattr__(self, "limits", frozen(np.where(np.isnan(self.limits), longest, self.limits)))

    @classmethod
    def of(cls, log: JobLog) -> JobHistory:
        """Return the history that a log records; a start before the submission counts as one at it."""
        starts, asked = np.maximum(log.starts, log.submits), log.asked
        told = zip(asked.node_ids, asked.shapes, strict=True)
        return cls(
            log.num_nodes,
            log.submits,
            starts,
            starts + log.runs,
            log.nodes,
            log.limits,
            log.options.fields.site.types,
            tuple(asked.shapes),
            tuple(spread_evenly(ids, shape.chunks) for ids, shape in told),
        )

    def shifted(self, seconds: float) -> JobHistory:
        """Return the same history with all times later by so many seconds."""
        return replace(
            self, submits=self.submits + seconds, starts=self.starts + seconds, ends=self.ends + seconds
        )

    @property
    def longest_limit(self) -> float:
        """The longest limit, in seconds, which also stands for none."""
        return float(self.limits.max(initial=1.0))

    def snapshot(self, now: float) -> tuple[QueueSnapshot, IntArray]:
        """Return the queue at an instant of the past, after all decisions of it, and the jobs in the queue.

        Where more nodes were held than the machine has, as some logs say, it has as many; where nodes are
        places, who has no room is left out. O(jobs).
        """
        last = int(np.searchsorted(self.submits, now, side="right"))
        starts, ends = self.starts[:last], self.ends[:last]
        running = np.flatnonzero((starts <= now) & ~(ends <= now))
        queued = np.flatnonzero(starts > now)
        if self.node_types:
            return self._on_places(now, running[np.argsort(starts[running], kind="stable")], queued), queued
        held = int(self.nodes[running].sum())
        needed = int(self.nodes[queued].max(initial=1))
        return QueueSnapshot(
            max(self.num_nodes, held, needed),
            now,
            self.nodes[running],
            starts[running],
            self.limits[running],
            self.nodes[queued],
            self.submits[queued],
            self.limits[queued],
            self.submits[queued],
        ), queued

    def _on_places(self, now: float, running: IntArray, queued: IntArray) -> QueueSnapshot:
        """Return the queue if nodes are places; running jobs are in the order of their starts."""
        shapes = [self.shapes[job] for job in running.tolist()]
        told = [self.places[job] for job in running.tolist()]
        seats = seated(self.node_types, shapes, told, self.choice)
        running, waiting = running[seats.jobs], [self.shapes[job] for job in queued.tolist()]
        shapes = [shapes[at] for at in seats.jobs.tolist()]
        return QueueSnapshot(
            self.num_nodes,
            now,
            np.array([shape.least_nodes for shape in shapes], dtype=np.int64),
            self.starts[running],
            self.limits[running],
            np.array([shape.least_nodes for shape in waiting], dtype=np.int64),
            self.submits[queued],
            self.limits[queued],
            self.submits[queued],
            node_types=self.node_types,
            running_shapes=tuple(shape.fields() for shape in shapes),
            shapes=tuple(shape.fields() for shape in waiting),
            running_places=seats.places,
        )

    def questions(self, count: int, moment: Moment, *, before: float = np.inf, seed: int = 0) -> Questions:
        """Return questions of the past, spread over the last `SPREAD` times as many jobs that waited.

        Jobs that are submitted one after the other wait for the same reasons: a burst of them is hardly more
        than one question, so that the same number tells more if it is spread over a longer time.

        There are at most `count`. The moment ``submission``: of jobs at even distances among those, when they
        were submitted; ``instant``: of one of those jobs, by chance (`seed`), at as many instants by chance,
        out of the time over which they waited. Only what was asked `before` this time, in seconds.
        """
        waits = np.flatnonzero((self.starts > self.submits) & (self.submits < before))
        waits = waits[len(waits) - min(SPREAD * count, len(waits)) :]
        if moment == "submission" or not len(waits):
            number = min(count, len(waits))
            last = waits[len(waits) - 1 - np.arange(number)[::-1] * len(waits) // max(number, 1)]
            return Questions(frozen(last), frozen(self.submits[last]))
        rng = np.random.default_rng(seed)
        times = np.concatenate([self.submits, self.starts, self.ends])
        before = min(before, float(times[np.isfinite(times)].max()))  # who still waits has waited until then
        last = waits[self.submits[waits] < before]
        if not len(last):
            return Questions(frozen(last), frozen(self.submits[last]))
        waited = np.minimum(self.starts[last], before) - self.submits[last]
        # Who waits twice as long is asked twice as often, as at an instant by chance.
        jobs = rng.choice(last, size=min(count, len(last)), p=waited / waited.sum())
        until = np.minimum(self.starts[jobs], before)
        asked = self.submits[jobs] + rng.random(len(jobs)) * (until - self.submits[jobs])
        asked = np.minimum(asked, np.nextafter(until, -np.inf))  # rounding may not reach the start
        order = np.argsort(asked, kind="stable")
        return Questions(frozen(jobs[order]), frozen(asked[order]))
