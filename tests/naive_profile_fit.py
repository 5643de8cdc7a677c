"""A slow twin of profile-fit: a policy in Python that knows of profiles what its views show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.model.evolving import PROFILE
from allocsolve.simulation import Answer, Start, Wake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.heuristics import ProfileFit
    from allocsolve.model import WorkloadProblem
    from allocsolve.simulation import Decision, QueueView

#: Of a reservation: from when to when, in seconds, and nodes.
Piece = tuple[float, float, int]


class Row(NamedTuple):
    """Nodes that a job needs for some time, and for how long it may hold them."""

    seconds: float
    nodes: int
    longest: float


class NaiveProfileFit:
    """The policy; without limits of expansion other than 1 and none."""

    def __init__(self, problem: WorkloadProblem, options: ProfileFit) -> None:
        self.options, self.rules = options, options.rules
        self.num_nodes = problem.num_nodes
        limits = problem.jobs.evolving.expand_limit.tolist()
        self.patient = [min(limit, options.expand_limit) == math.inf for limit in limits]
        self.peaks = problem.packed.max_nodes.tolist()
        self.now = 0.0
        self.plan: dict[int, list[Piece]] = {}
        #: When a job starts, or its next step begins for which it waits.
        self.begins: dict[int, float] = {}
        #: Of running jobs: seconds that they have computed, and will have at the end of the present step.
        self.computed: dict[int, float] = {}
        self.step_ends: dict[int, float] = {}
        #: When later steps begin by a plan that does not change.
        self.later: dict[int, Iterator[float]] = {}
        #: The completion that was planned when a job was submitted.
        self.promised: dict[int, float] = {}
        self.waiting: set[int] = set()
        self.held: dict[int, int] = {}

    def __call__(self, view: QueueView) -> Iterator[Decision]:
        for job in self.computed.keys() - self.waiting:
            self.computed[job] += view.now - self.now
        self.now, self.view = view.now, view
        self.held = dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
        self.waiting = set(view.requests.tolist())
        present = sorted([*self.held, *view.queue.tolist()], key=lambda job: (view.jobs.submit[job], job))
        self.plan = {job: self.plan[job] for job in present if job in self.plan}
        self.replan(present)
        yield from self.decisions(view)
        for job in present:
            if self.begins[job] > view.now:
                yield Wake(self.begins[job])
            elif job in self.computed and job not in self.waiting:
                yield Wake(view.now + self.step_ends[job] - self.computed[job])

    def replan(self, present: list[int]) -> None:
        """Plan jobs of which more is known now, then all that are in the plan, then new ones."""
        going_on = [job for job in present if job in self.held and self.has_gone_on(job)]
        for job in going_on:
            self.put(job)
        old = [job for job in present if job in self.plan]
        for job in old if going_on else []:
            self.put(job)
        for job in present:
            if job not in self.plan:
                self.put(job)

    def decisions(self, view: QueueView) -> Iterator[Decision]:
        """Carry out the plan."""
        for job in view.requests.tolist():
            if self.options.knowledge == "none" or self.begins[job] == view.now:
                self.waiting.remove(job)
                yield Answer(job)
        for job in view.queue.tolist():
            if self.begins[job] == view.now:
                self.computed[job] = 0.0
                self.step_ends[job] = self.steps(job)[0][0]
                yield Start(job, int(view.jobs.nodes[job]))

    def is_shown(self, job: int) -> bool:
        return self.view.jobs.reading[job] == PROFILE and self.options.knowledge != "none"

    def steps(self, job: int) -> tuple[tuple[float, int], ...]:
        """Return what is known of the steps that are left, and the most nodes for the rest."""
        known: tuple[tuple[float, int], ...] = self.view.profile(job) if self.is_shown(job) else ()
        rest = self.view.jobs.runtime[job] - self.computed.get(job, 0.0)
        rest -= sum(seconds for seconds, _ in known)
        nodes = self.peaks[job] if self.view.jobs.reading[job] == PROFILE else self.view.jobs.nodes[job]
        return (*known, (float(rest), int(nodes))) if rest > 0 else known

    def has_gone_on(self, job: int) -> bool:
        """Return whether a step of a running job ends now that is not its last one."""
        if self.computed[job] < self.step_ends[job]:
            return False
        self.step_ends[job] += self.steps(job)[0][0]
        if self.options.knowledge == "all":
            self.begins[job] = next(self.later[job], self.now)
        return self.options.knowledge == "next"

    def put(self, job: int) -> None:
        """Plan what a job needs from now on, with all other jobs where they are."""
        self.plan.pop(job, None)
        others = [piece for pieces in self.plan.values() for piece in pieces]
        steps = self.steps(job)
        if job in self.waiting:
            steps = ((0.0, self.held[job]), *steps)
        if self.options.knowledge == "none" and self.view.jobs.reading[job] == PROFILE:
            assert len(steps) == 1
        rows = []
        for at, (seconds, nodes) in enumerate(steps):
            waits = self.patient[job] and at + 1 < len(steps) and steps[at + 1][1] > nodes
            if at == 0 and job not in self.held:
                waits = False
            rows.append(Row(seconds, nodes, math.inf if waits else seconds))
        starts = self.earliest(rows, others)
        end = starts[-1] + rows[-1].seconds
        assert end <= self.promised.setdefault(job, end)  # nobody gets later
        if job in self.held:
            assert starts[0] == self.now
        elif self.options.compacting:
            first = rows[0]
            if self.patient[job] and len(steps) > 1 and steps[1][1] > first.nodes:
                rows[0] = first._replace(longest=math.inf)
            starts = self.latest(rows, others, starts, end)
        self.later[job] = iter(starts[1:])
        if job in self.waiting:
            self.begins[job] = starts[1]
        elif job not in self.held:
            self.begins[job] = starts[0]
        self.plan[job] = [
            (begin, until, row.nodes)
            for begin, until, row in zip(starts, [*starts[1:], end], rows, strict=True)
            if until > begin
        ]

    def busy(self, others: list[Piece], begin: float, end: float) -> int:
        """Return the most nodes that others have at once between two times."""
        times = [begin, *(piece[0] for piece in others if begin < piece[0] < end)]
        return max(sum(nodes for start, until, nodes in others if start <= time < until) for time in times)

    def fits(self, others: list[Piece], begin: float, end: float, nodes: int) -> bool:
        return begin == end or self.busy(others, begin, end) + nodes <= self.num_nodes

    def earliest(self, rows: list[Row], others: list[Piece]) -> list[float]:
        """Return the earliest start of each row, by raising what cannot be until all can."""
        starts = [self.now] * len(rows)
        bounds = sorted({time for piece in others for time in piece[:2]})

        def bound_after(time: float) -> float:
            return next(bound for bound in bounds if bound > time)

        before: list[float] = []
        while before != starts:
            before = starts.copy()
            for i, row in enumerate(rows):
                if i and starts[i] < starts[i - 1] + rows[i - 1].seconds:
                    starts[i] = starts[i - 1] + rows[i - 1].seconds
                while not self.fits(others, starts[i], starts[i] + row.seconds, row.nodes):
                    starts[i] = bound_after(starts[i])
                if i and starts[i] - starts[i - 1] > rows[i - 1].longest:
                    starts[i - 1] = starts[i] - rows[i - 1].longest
                if i and not self.fits(others, starts[i - 1], starts[i], rows[i - 1].nodes):
                    starts[i - 1] = bound_after(starts[i - 1])
        return starts

    def latest(
        self, rows: list[Row], others: list[Piece], earliest: list[float], completion: float
    ) -> list[float]:
        """Return the latest start of each row with this completion, by lowering what cannot be."""
        starts = [math.inf] * len(rows)
        bounds = sorted({time for piece in others for time in piece[:2]}, reverse=True)
        before: list[float] = []
        while before != starts:
            before = starts.copy()
            for i in reversed(range(len(rows))):
                row, end = rows[i], completion if i + 1 == len(rows) else starts[i + 1]
                starts[i] = min(starts[i], end - row.seconds)
                if i + 1 == len(rows):
                    if starts[i] != end - row.seconds or not self.fits(others, starts[i], end, row.nodes):
                        return earliest
                elif end - starts[i] > row.longest:
                    starts[i + 1] = starts[i] + row.longest
                elif not self.fits(others, starts[i], end, row.nodes):
                    starts[i + 1] = next(bound for bound in bounds if bound < end)
        return starts
