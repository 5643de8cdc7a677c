"""An environment of Gymnasium in which an agent learns to schedule the jobs of a log.

It needs the extra ``rl``. To import this module registers the environment; `gymnasium.make` does so if it is
given ``"allocsolve.adaptors.gymnasium:allocsolve/Workload-v0"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, SupportsInt, TypeAlias, get_args

import numpy as np

from allocsolve.adaptors.agents import (
    FEATURES,
    AgentTurn,
    Observation,
    checked_count,
    train_test_ranges,
    window_of_log,
)
from allocsolve.bounds.workload import job_costs, time_prices
from allocsolve.errors import InvalidOption
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model.checks import choice as one_of, natural, shown
from allocsolve.simulation import Engine, EngineRules, Knowledge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import BoolArray, WorkloadProblem, WorkloadSchedule, WorkloadTerm
    from allocsolve.simulation.node_choice import NodeChoice

try:
    import gymnasium
except ModuleNotFoundError as error:
    msg = "environments for agents need gymnasium: pip install 'allocsolve[rl]'"
    raise ModuleNotFoundError(msg, name=error.name) from None

ENV_ID: Final = "allocsolve/Workload-v0"

#: What the rewards of an episode add up to, with a minus sign: mean turnaround in seconds, mean bounded
#: slowdown (``bsld``), or the part by which mean turnaround is above its certified lower bound.
Reward: TypeAlias = Literal["turnaround", "slowdown", "gap"]

#: From which jobs of the log the windows are.
Split: TypeAlias = Literal["train", "test"]


class WorkloadEnv(gymnasium.Env[Observation, np.int64]):
    """Schedule windows of a log, one start at a time.

    `allocsolve.adaptors.AgentTurn` says what is observed and decided. When nothing more starts, time goes on
    to the next instant at which a job fits. An episode is terminated when all its jobs are done, and never
    truncated.

    Each job costs, in the first step, what it would without any waiting, and in every step for its waiting
    since the last one. So rewards add up to what the judge says of the schedule, with a minus sign.

    ``info`` has: ``action_mask`` (int8; `action_masks` has it as bool); ``bound``, a certified lower
    bound on mean turnaround (or slowdown, if that is the reward); ``offset`` of the window; the number of
    ``forbidden`` actions taken; at the end the judged ``value`` and its ``gap``, relative to the bound.

    `InvalidOption, UnknownName` if an option is not as said, a window is longer than its part of the log, or
    jobs evolve.

    Parameters
    ----------
    problem
        The log: rigid, moldable or malleable jobs, on nodes that are counted or places. Those with several
        sizes start on as many nodes as are free within their limits; running jobs keep their sizes.
    jobs
        How many jobs an episode has. `reset` takes other windows of the same part of the log by
        ``options={"offset": first, "jobs": count}``; without them, the offset is drawn.
    window, reward
        How many jobs of the queue an agent sees, and what it is paid: see `Reward`.
    split, test_share
        Whether windows are from the jobs to train on or from the later ones, of which there are as many as
        `allocsolve.adaptors.train_test_ranges` says. No window has jobs of both.
    knowledge
        ``actual`` lets the agent see run times (clairvoyance), ``estimate`` what users said of them.
    choice
        On which nodes jobs start where nodes are places, see `allocsolve.simulation.EngineRules`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as the class above has it

    def __init__(
        self,
        problem: WorkloadProblem,
        *,
        jobs: int = 256,
        window: int = 128,
        reward: Reward = "turnaround",
        split: Split = "train",
        test_share: float = 0.25,
        knowledge: Knowledge = "estimate",
        choice: NodeChoice = "first",
    ) -> None:
        self.problem, self.reward, self.knowledge = problem, reward, knowledge
        self.rules = EngineRules(knowledge=knowledge, choice=choice)
        self.rules.check(problem, answers=False)
        self.jobs, self.window = checked_count("jobs", jobs), checked_count("window", window)
        one_of("reward", reward, get_args(Reward))
        one_of("split", split, get_args(Split))
        self.split = split
        #: The jobs of windows, in the order of submission.
        self.range = train_test_ranges(problem, test_share)[split == "test"]
        self._last_offset(self.jobs)
        self.observation_space = gymnasium.spaces.Box(0, 1, (self.window, len(FEATURES)), np.float32)
        self.action_space = gymnasium.spaces.Discrete(self.window + 1)
        self._term: WorkloadTerm = "slowdown" if reward == "slowdown" else "turnaround"
        self._turn: AgentTurn | None = None
        self._bounds: dict[tuple[int, int], float] = {}

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin with another window of the log, see `WorkloadEnv`."""
        super().reset(seed=seed)
        given = dict(options or {})
        jobs = checked_count("jobs", given.pop("jobs", self.jobs))
        last = self._last_offset(jobs)
        drawn = int(self.np_random.integers(self.range.start, last + 1))
        offset = natural("offset", given.pop("offset", drawn))
        if given:
            raise InvalidOption(f"unknown options {shown(sorted(given))}; known: offset, jobs")
        if not self.range.start <= offset <= last:
            msg = f"offset {offset} of {jobs} jobs to {self.split} is not in {self.range.start}..{last}"
            raise InvalidOption(msg)
        #: The window of the log, as a problem.
        self.episode = window_of_log(self.problem, offset, jobs)
        self._engine = Engine(self.episode, self.rules)
        self._costs = job_costs(self.episode, self._term)
        self._starts, self._runs = np.full(jobs, np.inf), self.episode.on_nodes.runtime.copy()
        if (offset, jobs) not in self._bounds:  # which takes longer than the episode
            counted = self.episode.on_plain_machine()
            self._bounds[offset, jobs] = time_prices(counted, self._term).value
        self._bound = self._bounds[offset, jobs]
        self._paid, self._told = 0.0, {"bound": self._bound, "offset": offset, "forbidden": 0}
        self._advance()
        return self._seen(), self._info()

    def step(self, action: SupportsInt) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Start a job, or let time go on."""
        turn = self._turn
        if turn is None:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset")
        allowed = turn.mask()
        start = turn.take(action)
        self._told["forbidden"] += not allowed[int(action)]
        if start is not None:
            self._starts[start.job] = self.now
            if start.nodes != self.episode.on_nodes.nodes[start.job]:
                sizes, jobs = np.array([start.nodes]), np.array([start.job])
                self._runs[jobs] = self.episode.run_times(sizes, jobs)
        if start is None or not turn.is_open:
            self._engine.apply(turn.starts)
            self._advance()
        cost = self._cost()
        reward, self._paid = self._paid - cost, cost
        return self._seen(), reward, self._turn is None, False, self._info()

    def action_masks(self) -> BoolArray:
        """Return which actions are allowed, shape (window + 1,); none when the episode is over."""
        return np.zeros(self.window + 1, dtype=bool) if self._turn is None else self._turn.mask()

    @property
    def schedule(self) -> WorkloadSchedule:
        """The schedule so far of the present window."""
        return self._engine.result()

    def _last_offset(self, jobs: int) -> int:
        if jobs > len(self.range):
            msg = f"windows of {jobs} jobs: the part of the log to {self.split} has only {len(self.range)}"
            raise InvalidOption(msg)
        return self.range.stop - jobs

    def _advance(self) -> None:
        """Go on to the next instant at which there is something to decide."""
        while (view := self._engine.advance()) is not None:
            self.now, self._turn = view.now, AgentTurn(view, self.window, self.knowledge)
            if self._turn.is_open:
                return
        self._turn = None

    def _cost(self) -> float:
        """Return the mean over all jobs if those that wait, and those to come, started at once."""
        submit, costs = self.episode.on_nodes.submit, self._costs
        turnarounds = np.minimum(self._starts, np.maximum(self.now, submit)) + self._runs - submit
        mean = float(np.maximum(costs.floor, costs.slope * turnarounds).sum()) / costs.scale
        return self._gap(mean) if self.reward == "gap" else mean

    def _gap(self, value: float) -> float:
        return value / self._bound - 1 if self._bound else 0.0

    def _seen(self) -> Observation:
        if self._turn is None:
            return np.zeros((self.window, len(FEATURES)), dtype=np.float32)
        return self._turn.observation()

    def _info(self) -> dict[str, Any]:
        info = {"action_mask": self.action_masks().astype(np.int8), **self._told}
        if self._turn is None:
            value = float(getattr(workload_metrics(self.episode, self.schedule), self._term))
            info |= {"value": value, "gap": self._gap(value)}
        return info


gymnasium.register(ENV_ID, f"{__name__}:{WorkloadEnv.__name__}")
