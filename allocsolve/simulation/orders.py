"""Changes of size for drivers in Python: the decisions of one call are checked, then carried out.

`Orders` checks decisions and turns them into rows for the kernel; `Changes` is the part of the engine that
advances, shows and carries out changes of size.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels.records import numbers
from allocsolve.model import MALLEABLE, REQUESTED, frozen
from allocsolve.model.checks import shown, whole
from allocsolve.simulation import _kernels_loop as kernels
from allocsolve.simulation.decisions import Answer, IllegalDecision, Promise, Resize, Start
from allocsolve.simulation.state import initial_resizing, roomier
from allocsolve.simulation.view import can_run_on

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from allocsolve.model import FloatArray, IntArray, PackedJobs, WorkloadProblem
    from allocsolve.simulation.decisions import Decision
    from allocsolve.simulation.state import Resizing, State


class Orders:
    """The decisions of one call, checked one after the other on a copy of what they change."""

    def __init__(self, state: State, resizing: Resizing, jobs: PackedJobs) -> None:
        self._state, self._resizing, self._jobs = state, resizing, jobs
        ledger = resizing.ledger
        self.free, self._pool = int(state.engine["free"]), int(ledger["pool"])
        promises = resizing.promises[ledger["first_promise"] : ledger["last_promise"]].tolist()
        self._open = deque((job, int(resizing.job[job]["promise"])) for job in promises)
        #: Targets of jobs that start or change in this call; jobs that leave the queue in it.
        self._targets: dict[int, int] = {}
        self._gone: set[int] = set()
        self._answered: set[int] = set()
        #: By job that is not yet promised nodes: the rows of the shrinks for it, with the nodes that they
        #: bring.
        self._given: dict[int, list[tuple[int, int]]] = {}
        self.rows: list[list[int]] = []

    def take(
        self, decision: Decision, checked: Callable[[Start | Promise], tuple[int, int, int, int]]
    ) -> None:
        """Check a decision that is no wake-up.

        `checked` returns job, nodes, code of the reason and blocked job, or -1, of who is to leave the queue.
        """
        if isinstance(decision, Start):
            self.start(*checked(decision))
        elif isinstance(decision, Promise):
            self.promise(*checked(decision)[:2])
        elif isinstance(decision, Resize):
            self.resize(decision)
        elif isinstance(decision, Answer):
            self.answer(decision)
        else:
            raise IllegalDecision(None, f"{shown(decision)} is no decision")

    def start(self, job: int, nodes: int, reason: int, blocked: int) -> None:
        """Start a job; the engine has checked all but whether it is in the queue and its nodes are free."""
        self._leave_queue(job)
        if nodes > self.free:
            raise IllegalDecision(job, f"starts on {nodes} nodes, but {self.free} are free")
        self.free -= nodes
        self._targets[job] = nodes
        self.rows.append([kernels.START, job, nodes, 0, reason, blocked])

    def resize(self, decision: Resize) -> None:
        """Change a running job."""
        try:
            job, nodes = whole(decision.job), whole(decision.nodes)
            other = None if decision.for_job is None else whole(decision.for_job)
        except TypeError:
            raise IllegalDecision(None, f"{shown(decision)} is malformed") from None
        target = self._target(job)
        if self._jobs.kind[job] != MALLEABLE:
            raise IllegalDecision(job, "cannot change its size: it is not malleable")
        if not can_run_on(self._jobs, job, nodes):
            raise IllegalDecision(job, f"cannot run on {nodes} nodes")
        if nodes == target:
            raise IllegalDecision(job, f"is resized to {nodes} nodes, which it has")
        self._check_pending(job, target, nodes)
        gain = nodes - target
        if gain > self.free:
            raise IllegalDecision(job, f"grows by {gain} nodes, but {self.free} are free")
        if other is not None:
            if gain > 0:
                raise IllegalDecision(job, f"grows, and so gives up nothing for job {other}")
            self._given.setdefault(other, []).append((len(self.rows), -gain))
        elif gain > 0 or self._gives_now(job, nodes):
            self.free -= gain
        self._targets[job] = nodes
        self.rows.append([kernels.RESIZE, job, nodes, 0, 0, -1])

    def _gives_now(self, job: int, nodes: int) -> bool:
        """Return whether a job that shrinks to `nodes` nodes gives nodes up at once, without a stall."""
        if self._jobs.points[job]:
            return False
        now, start = self._state.engine["clock"], self._state.job[job]["start"]
        elastic = self._resizing.job[job]
        if not elastic["holds_larger"] or np.isnan(start) or start == now:
            return True
        changed = elastic["changed"] == now
        before = elastic["before"] if changed else self._state.job[job]["size"]
        base = elastic["base"] if changed else max(now, elastic["since"])
        if before != nodes:
            cost = elastic["stall_fixed"] + elastic["stall_per_node"] * abs(nodes - before)
            base += cost + elastic["stall_shared"] / (before + nodes)
        return bool(base <= now)

    def answer(self, decision: Answer) -> None:
        """Answer the open request of a job."""
        try:
            job, granted = whole(decision.job), whole(decision.granted)
        except TypeError:
            raise IllegalDecision(None, f"{shown(decision)} is malformed") from None
        if (
            not (0 <= job < len(self._jobs.kind) and self._resizing.job[job]["request"])
            or job in self._answered
        ):
            raise IllegalDecision(job, "has no open request")
        if granted not in (0, 1):
            raise IllegalDecision(job, f"is granted {granted}, which is neither true nor false")
        if granted:
            gain = int(self._resizing.job[job]["request"] - self._state.job[job]["size"])
            if gain > self.free:
                raise IllegalDecision(job, f"is granted {gain} nodes, but {self.free} are free")
            self.free -= gain
        elif self._resizing.job[job]["reading"] != REQUESTED:
            raise IllegalDecision(job, "is refused nodes, but asks until it gets them or needs them no more")
        self._answered.add(job)
        self.rows.append([kernels.ANSWER, job, granted, 0, 0, -1])

    def _target(self, job: int) -> int:
        """Return what a running job holds after its pending change."""
        known = self._targets.get(job)
        if known is not None:
            return known
        if (
            not (0 <= job < len(self._jobs.kind))
            or job in self._gone
            or np.isnan(self._state.job[job]["start"])
        ):
            raise IllegalDecision(job, "does not run")
        place = self._state.end_places[job]
        if place >= self._state.engine["running"] or self._state.ends[place]["item"] != job:
            raise IllegalDecision(job, f"does not run: it ended at {self._state.job[job]['end']:.15g} s")
        return int(self._resizing.job[job]["target"])

    def _check_pending(self, job: int, target: int, nodes: int) -> None:
        """Refuse a change if one is pending, unless that was decided in this call in the same direction."""
        size = int(self._state.job[job]["size"])
        if self._gives_now(job, nodes) and self._gives_now(job, target):
            size = self._targets.get(job, size)
        pending = int(self._resizing.job[job]["target"])
        if np.isnan(self._state.job[job]["start"]):
            return
        if (
            pending != self._state.job[job]["size"]
            and self._resizing.job[job]["decided"] != self._resizing.ledger["calls"]
        ):
            raise IllegalDecision(job, f"has a change to {pending} nodes pending")
        if (nodes - target) * (target - size) < 0:
            raise IllegalDecision(job, f"is resized to {nodes} nodes after {target} in the same call")

    def promise(self, job: int, nodes: int) -> None:
        """Promise nodes to a job; the engine has checked that it waits and can run on them."""
        self._leave_queue(job)
        lack = nodes
        for row, given in self._given.pop(job, []):
            part = min(given, lack)
            lack -= part
            self.rows[row][3] = part
            if self._gives_now(*self.rows[row][1:3]):
                self._pool += part
                self.free += given - part
        if lack > self.free:
            given = nodes - lack
            raise IllegalDecision(
                job, f"is promised {nodes} nodes, but {given} are given up for it and {self.free} are free"
            )
        self.free -= lack
        self._pool += lack
        self.rows.append([kernels.PROMISE, job, nodes, lack, 0, -1])
        self._open.append((job, nodes))
        while self._open and self._open[0][1] <= self._pool:
            ready, size = self._open.popleft()
            self._pool -= size
            self._targets[ready] = size

    def _leave_queue(self, job: int) -> None:
        if job in self._gone or self._resizing.job[job]["promise"]:
            raise IllegalDecision(job, "is not in the queue: it was started or promised nodes")
        self._gone.add(job)

    def checked(self) -> list[list[int]]:
        """Return the rows for the kernel."""
        for job in self._given:
            raise IllegalDecision(job, "is not promised the nodes that others give up for it")
        return self.rows


class Changes:
    """The part of an engine that handles changes of size.

    `estimate` are the expected run times of jobs on their own numbers of nodes, in seconds.
    """

    def __init__(self, problem: WorkloadProblem, state: State, estimate: FloatArray) -> None:
        self._jobs, self._state = tuple(problem.packed), state
        self._arrays = tuple(state)
        self.resizing = initial_resizing(estimate, problem.jobs.evolving)
        self._changes = tuple(self.resizing)

    def advance(self, wake: float, coalesce: bool) -> bool:  # noqa: FBT001 - as the kernel takes it
        """Go on to the next instant; False if there is none."""
        running = int(self._state.engine["running"])
        needed = int(self.resizing.ledger["logged"]) + 2 * running + len(self.resizing.rows)
        if needed > len(self.resizing.log):
            self.resizing = roomier(self.resizing, running)
            self._changes = tuple(self.resizing)
        return kernels.to_next_resizing_event(self._jobs, self._arrays, self._changes, wake, coalesce)

    def columns(self, running: IntArray) -> dict[str, Any]:
        """Return the fields of a view about changes of size."""
        resizing, elastic = self.resizing, self.resizing.job
        ledger = numbers(resizing.ledger)
        promises = resizing.promises[ledger.first_promise : ledger.last_promise].copy()
        requests = resizing.requests[: ledger.requests].copy()
        return {
            "targets": frozen(elastic["target"][running]),
            "resized": frozen(resizing.resized[: ledger.resized].copy()),
            "pool": ledger.pool,
            "reserved": ledger.reserved,
            "promises": frozen(promises),
            "promised_nodes": frozen(elastic["promise"][promises]),
            "requests": frozen(requests),
            "requested_nodes": frozen(elastic["request"][requests]),
        }

    def present_step(self, job: int) -> tuple[int, float | None]:
        """Return the row of the present step of the profile of a job, and the seconds that are left of it.

        The seconds are None if the step has not begun, because the job waits.
        """
        elastic, now = self.resizing.job[job], float(self._state.engine["clock"])
        row = int(elastic["row"])
        if np.isnan(self._state.job[job]["start"]) or not elastic["rate"]:
            return row, None
        return row, float(elastic["left"] - (now - elastic["since"]))

    def carry_out(self, rows: list[list[int]]) -> None:
        """Carry out the decisions."""
        if rows:
            kernels.carry_out(self._jobs, self._arrays, self._changes, np.array(rows, dtype=np.int64))
