"""Learning agents: parts of a log to train and test on, what an agent observes, and an agent as a policy."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.model import Result, Status, WorkloadProblem
from allocsolve.model.checks import choice, natural, real, shown, whole
from allocsolve.simulation import EngineRules, Knowledge, Start, run_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from allocsolve.model import BoolArray, Budget, FloatArray, IntArray, WorkloadSchedule
    from allocsolve.simulation import QueueView, Simulation
    from allocsolve.simulation.node_choice import NodeChoice
    from allocsolve.simulation.node_table import NodeTable


def train_test_ranges(problem: WorkloadProblem, test_share: float = 0.25) -> tuple[range, range]:
    """Divide the jobs of a log, in the order of their submission, into those to train on and later ones.

    `test_share`, from 0 to 1, is the share of the jobs that agents are not to see in training.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> train_test_ranges(WorkloadProblem(1, [Job(t, 1, 5) for t in range(10)]), test_share=0.3)
    (range(0, 7), range(7, 10))
    """
    share = real("test_share", test_share, InvalidOption)
    if not 0 <= share <= 1:
        raise InvalidOption(f"test_share {shown(test_share)} is not in 0..1")
    count = len(problem.jobs)
    first = count - round(share * count)
    return range(first), range(first, count)


def window_of_log(problem: WorkloadProblem, offset: int, jobs: int) -> WorkloadProblem:
    """Return successive jobs of a log as a workload of its own: the first is submitted at time 0.

    There are so many jobs from `offset` on, counted from 0 in the order of submission. What ran before them
    is not there: the machine is empty at first. `InvalidOption` if the log has no such jobs.
    """
    first, count = natural("offset", offset), checked_count("jobs", jobs)
    if first + count > len(problem.jobs):
        msg = f"offset {first} and jobs {count} go beyond the end of a log of {len(problem.jobs)} jobs"
        raise InvalidOption(msg)
    chosen = np.argsort(problem.on_nodes.submit, kind="stable")[first : first + count].tolist()
    rows = [problem.jobs[idx] for idx in chosen]
    rows = [replace(row, submit=row.submit - rows[0].submit) for row in rows]
    name = f"{problem.name}-{first}-{first + count}"
    return WorkloadProblem(problem.num_nodes, rows, name, node_types=problem.node_types)


def checked_count(what: str, value: object) -> int:
    """Return an option that is a whole number of at least 1."""
    number = natural(what, value)
    if not number:
        raise InvalidOption(f"{what} 0 is not positive")
    return number


#: Shape (window, features), from 0 to 1: a row for each job at the front of the queue, see `FEATURES`.
Observation: TypeAlias = "NDArray[np.float32]"

#: The columns of an `Observation`. ``nodes``: share of all nodes that the job needs at least; ``log_nodes``:
#: the same in logarithms; ``estimate``, ``wait``: logarithms of seconds, 1 from thirty days on;
#: ``share_of_free``: nodes that it needs per free one, 1 if it does not fit; ``position``: in the window;
#: ``free``: share of all nodes that are free; ``valid``: 1 if there is a job. Other rows are 0.
#:
#: Where nodes are places, the nodes of a job are its largest share of what the machine has of anything, times
#: all nodes; ``share_of_free`` is how many chunks it has per chunk for which there is room; and ``free`` is
#: the least share of what the machine has that is free.
FEATURES: Final = (
    *("nodes", "log_nodes", "estimate", "wait"),
    *("share_of_free", "position", "free", "valid"),
)

_LOG_LONGEST: Final = math.log1p(30 * 86400)


class AgentTurn:
    """The decisions of an agent at one instant, one after the other.

    Action ``i`` starts the job in place ``i`` of the queue, whose later jobs then move up; action ``window``
    says that nothing more starts now. Rigid jobs start on their nodes, others on as many as are free within
    their limits. Where nodes are places, the rule of choice of the engine says where.

    Parameters
    ----------
    view
        What a policy sees at that instant.
    window
        How many jobs at the front of the queue the agent sees, >= 1.
    knowledge
        ``estimate``: the agent sees what users said of run times; ``actual``: the run times, which no
        scheduler knows (clairvoyance). The rules of the engine have to show them.
    """

    def __init__(self, view: QueueView, window: int, knowledge: Knowledge = "estimate") -> None:
        self.window = window
        #: What was decided so far.
        self.starts: list[Start] = []
        self._view = view
        self._table = None if view.places is None else view.places.table()
        self._seconds = view.jobs.runtime if knowledge == "actual" else view.jobs.estimate
        self._look(view.queue, view.free)

    def _look(self, queue: IntArray, free: int) -> None:
        """Look at the queue and the free nodes as they are now."""
        self._queue, self._free = queue, free
        self._front = queue[: self.window]
        #: Of each job that the agent sees: nodes that it needs, and its part of what it would need to fit.
        self._nodes: IntArray | FloatArray
        self._part: FloatArray
        if self._table is None:
            self._nodes = self._view.jobs.min_nodes[self._front]
            self._part = self._nodes / max(free, 1)
            fits = self._nodes <= free
        else:
            self._nodes, self._part, fits = _needs_on(self._table, self._front)
        #: Whether a job that the agent sees can start now: else there is nothing to decide.
        self.is_open = bool(fits.any())
        self._allowed = np.zeros(self.window + 1, dtype=bool)
        self._allowed[: len(fits)] = fits
        self._allowed[-1] = bool(len(self._view.running) or self.starts or not self.is_open)

    def mask(self) -> BoolArray:
        """Return which actions are allowed, shape (window + 1,).

        Jobs that fit may start. Only while something runs may nothing start: else some jobs might never.
        """
        return self._allowed.copy()

    def observation(self) -> Observation:
        """Return what the agent sees. O(window)."""
        view, front, nodes = self._view, self._front, self._nodes
        rows = np.zeros((self.window, len(FEATURES)), dtype=np.float32)
        seen = rows[: len(front)]
        seen[:, 0] = nodes / view.num_nodes
        seen[:, 1] = np.log1p(nodes) / math.log1p(view.num_nodes)
        seen[:, 2] = self._seconds[front]
        seen[:, 3] = view.now - view.jobs.submit[front]
        seen[:, 2:4] = np.minimum(np.log1p(seen[:, 2:4]) / _LOG_LONGEST, 1)
        seen[:, 4] = np.minimum(self._part, 1)
        seen[:, 5] = np.arange(len(front)) / self.window
        seen[:, 6] = self._free / view.num_nodes if self._table is None else _free_share(self._table)
        seen[:, 7] = 1
        return rows

    def take(self, action: object) -> Start | None:
        """Decide; return the start, or None if nothing more starts now.

        An action that the mask forbids counts as the last one, or, where that is forbidden, too, as the
        first one that is allowed: agents that know no masks cannot get stuck.
        """
        try:
            place = whole(action)
        except TypeError:
            place = -1
        if not 0 <= place <= self.window:
            raise InvalidOption(f"action {shown(action)} is not in 0..{self.window}")
        if not self._allowed[place]:
            place = self.window if self._allowed[-1] else int(np.argmax(self._allowed))
        if place == self.window:
            return None
        job = int(self._queue[place])
        if self._table is None:
            sizes = self._view.sizes(job)
            start = Start(job, sizes[bisect.bisect_right(sizes, self._free) - 1])
        else:
            places = self._table.start(job)
            start = Start(job, len(places), places=places)
        self.starts.append(start)
        self._look(np.delete(self._queue, place), self._free - start.nodes)
        return start


def _needs_on(table: NodeTable, jobs: IntArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return what jobs need of nodes that are places: nodes, chunks per chunk with room, whether they fit.

    O(nodes) for each shape of job.
    """
    given, nodes = table.given, len(table.occupants)
    totals = np.maximum(given.has[given.type_of_node].sum(axis=0), 1)
    kinds, kind = np.unique(given.shape[jobs], return_inverse=True)
    shares = (given.chunks[kinds, None] * given.each[kinds] / totals).max(axis=1, initial=0)
    needed = np.maximum(shares * nodes, given.exclusive[kinds] * given.least_nodes[kinds])
    one_of = [int(jobs[np.argmax(kind == at)]) for at in range(len(kinds))]
    room = np.array([table.room(job).sum() for job in one_of], dtype=np.float64)
    fits = np.array([table.fits(job) for job in one_of], dtype=np.bool_)
    part = np.where(fits, given.chunks[kinds] / np.maximum(room, 1), 1.0)
    return needed[kind], part[kind], fits[kind]


def _free_share(table: NodeTable) -> float:
    """Return the least share of what the machine has that is free; of nodes, if there is nothing on them."""
    has = table.given.has[table.given.type_of_node].sum(axis=0)
    shares = table.free.sum(axis=0)[has > 0] / has[has > 0]
    return float(shares.min(initial=1)) if len(shares) else float((table.occupants == 0).mean())


@dataclass(frozen=True, slots=True)
class AgentPolicy:
    """A trained agent as a queue policy: simulated, solved with and judged as all others.

    Parameters
    ----------
    predict
        From an `Observation` and the mask of allowed actions to an action; the same ones give the same
        action. As a frozen dataclass with ``__call__`` it has a ``repr`` that records can use for a name.
    window, knowledge, choice
        As the agent was trained; the choice is that of `allocsolve.simulation.EngineRules`.

    Notes
    -----
    *Guarantee*: feasible; all jobs start some day, whatever the agent answers.
    *Complexity*: for each decision O(window), and that of the agent.

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> from allocsolve.simulation import simulate
    >>> def widest(observation, mask):
    ...     return int((observation[:, 0] - 2 * ~mask[:-1]).argmax())
    >>> problem = WorkloadProblem(4, [Job(0, 1, 100), Job(0, 4, 10), Job(0, 3, 50)])
    >>> simulate(problem, AgentPolicy(widest, window=8)).first_starts.tolist()
    [10.0, 0.0, 10.0]
    """

    predict: Callable[[Observation, BoolArray], int]
    window: int = 128
    knowledge: Knowledge = "estimate"
    choice: NodeChoice = "first"

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", checked_count("window", self.window))
        choice("knowledge", self.knowledge, get_args(Knowledge))

    @property
    def rules(self) -> EngineRules:
        """The rules of a simulation that has this policy, if nobody says otherwise."""
        return EngineRules(knowledge=self.knowledge, choice=self.choice)

    def decide(self, view: QueueView) -> tuple[Start, ...]:
        """Return which jobs start now."""
        turn = AgentTurn(view, self.window, self.knowledge)
        while turn.is_open and turn.take(self.predict(turn.observation(), turn.mask())) is not None:
            pass
        return tuple(turn.starts)

    def simulated(self, problem: WorkloadProblem, rules: EngineRules | None = None) -> Simulation:
        """Run a workload to its end."""
        rules = rules or self.rules
        if (rules.knowledge, self.knowledge) == ("estimate", "actual"):
            raise InvalidOption("knowledge 'estimate' hides actual run times, which the agent observes")
        rules.check(problem, answers=False)
        return run_policy(problem, self.decide, rules)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Run the workload; the budget limits nothing."""
        clock = budget.start()
        return Result(Status.FEASIBLE, self.simulated(problem).schedule, runtime=clock.elapsed)
