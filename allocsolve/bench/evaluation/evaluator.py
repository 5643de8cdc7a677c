"""The evaluator: hidden windows, sealed policies, and a score that only better schedules raise."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict, get_args

from allocsolve.bench.evaluation.loading import is_foreign, loaded
from allocsolve.bench.evaluation.sealed import Limits, PolicyFailed, PolicyUnusable, SealedPolicies
from allocsolve.bench.evaluation.windows import OBJECTIVE, bounded, bounds_folder, draw_windows, read_logs
from allocsolve.errors import InvalidAnswer, InvalidOption, SolverUnavailable
from allocsolve.judge import workload_value, workload_violations
from allocsolve.model import terms
from allocsolve.model.checks import choice, natural, real
from allocsolve.simulation import run_policy, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allocsolve.bench.evaluation.windows import Window
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

#: Which jobs of each log the windows are of: the first three quarters, or the last one.
Split: TypeAlias = Literal["train", "test"]

#: What a policy scores on a window that it does not bring to its end.
WORST: Final = 0.0


class Evaluation(TypedDict):
    """What a policy is worth, in the shape in which searches for programs take it."""

    #: From 0 to 1, higher is better: the mean over the windows of bound / value, see `PolicyEvaluator`.
    combined_score: float
    #: Numbers by name; `combined_score` is one of them.
    metrics: dict[str, float]
    #: Texts by name: why windows failed.
    artifacts: dict[str, str]


class PolicyEvaluator:
    """Evaluates policies on hidden windows of logs, each sealed in a process of its own.

    The **score of a window** is *bound / value*: a certified lower bound on the mean turnaround of all
    schedules of the window, over the mean turnaround that the judge finds for the schedule of the policy. It
    is 1 if the schedule is proven to be the best, never above, and 1 / (1 + gap) with the gap
    *value / bound - 1*. A policy that does not bring a window to its end, for whatever reason, scores 0
    there, which is below all that do: it raises, decides what the rules forbid, leaves a job out, dies, or
    takes more than its limits. The **combined score** is the mean over all windows.

    Parameters
    ----------
    logs
        Files and folders of logs (see `allocsolve.instances.LOG_FORMATS`) or of workloads.
    windows, jobs
        How many windows are drawn, in turns from the logs, and how many successive jobs each has.
    split
        ``train``: of the first three quarters of the jobs of each log, for a search; ``test``: of the last
        quarter, for what is published. No window has jobs of both.
    seed
        By which windows are drawn, moved and stretched in time. Whoever writes or searches policies need not
        know it.
    seconds, memory_mb
        What a policy may take on a window: time for all its decisions, and memory that it allocates.

    Raises
    ------
    FormatError, UnsupportedProblem
        If there is no log, or one that cannot be used.
    InvalidOption, UnknownName
        If an option is out of its range, or a log has not so many jobs.
    SolverUnavailable
        If this system cannot fork processes, as Windows.

    Notes
    -----
    The engine runs here and tells the process of the policy what a scheduler knows, view by view; decisions
    come back as plain numbers. So run times and later jobs are not in that process. On Linux it can besides
    read no file but code, write none, and has no network. This keeps searches honest that are honest or
    careless; hostile code belongs into a container. All policies run under
    `EngineRules()`: one that asks for other rules, such as actual run times, cannot be used. Registered
    policies run here, compiled; their schedules are the same.

    *Complexity*: for each window that of the policy and about 0.1 ms for each event. Bounds take about
    0.3 s for each window of 500 jobs, once: their certificates are kept by content.

    Examples
    --------
    >>> from allocsolve.instances import lublin1999, write_problem
    >>> folder = getfixture("tmp_path")
    >>> write_problem(lublin1999(7, num_jobs=400), folder / "log.json")
    >>> evaluator = PolicyEvaluator([folder], windows=2, jobs=100)
    >>> evaluator.evaluate("easy")["combined_score"] > evaluator.evaluate("fcfs")["combined_score"]
    True
    """

    def __init__(
        self,
        logs: Iterable[str | os.PathLike[str]],
        *,
        windows: int = 10,
        jobs: int = 500,
        split: Split = "train",
        seed: int = 0,
        seconds: float = 60.0,
        memory_mb: float = 500.0,
    ) -> None:
        if not hasattr(os, "fork"):
            msg = "policies are evaluated in processes that are forked, which this system does not have"
            raise SolverUnavailable(msg)
        choice("split", split, get_args(Split))
        counts = {"windows": natural("windows", windows), "jobs": natural("jobs", jobs)}
        limits = Limits(real("seconds", seconds, InvalidOption), real("memory_mb", memory_mb, InvalidOption))
        for name, value in {**counts, **limits._asdict()}.items():
            if not value > 0:
                raise InvalidOption(f"{name} {value} is not positive")
        read = read_logs([Path(place) for place in logs])
        drawn = draw_windows(read, **counts, split=split, seed=natural("seed", seed))
        #: The windows; whoever shows them to a policy's author has to draw others.
        self.windows = [*map(bounded, drawn)]
        self._sealed = SealedPolicies([*(path for path, _ in read), bounds_folder()], limits)
        self._lock = threading.Lock()

    @property
    def without_limit(self) -> float:
        """The share of jobs without a limit, of which a policy sees 1.25 times the run time."""
        jobs = [job for window in self.windows for job in window.problem.jobs]
        return sum(job.limit is None for job in jobs) / len(jobs)

    def evaluate(self, policy: str) -> Evaluation:
        """Return what a policy is worth; whatever it does wrong is told there, not raised.

        Parameters
        ----------
        policy
            ``package.module:object`` with options, looked for in this folder first; ``file.py`` or
            ``file.py:object`` (by default its ``policy``); or the name of a registered policy. The object is
            whatever `allocsolve.simulation.runnable` takes.

        Returns
        -------
        Evaluation
            Metrics: ``combined_score``; ``worst_window``, the lowest score of a window; ``finished``, the
            share of the windows that were brought to their end; ``window_1``, ... the scores. Artifacts:
            ``window_1``, ... why a window failed; ``policy`` why the policy cannot be used, then all of them
            failed; ``sealing``: what this system does not keep a policy from.

        Raises
        ------
        UnknownName, InvalidOption
            If it is neither foreign nor the name of a registered policy that takes these rules.
        """
        name = str(policy)
        run = self._sealed.run if is_foreign(name) else _registered(name)
        scores: list[float] = []
        artifacts: dict[str, str] = {}
        with self._lock:
            for window in self.windows:
                try:
                    scores.append(_score(window, run(window.problem, name)))
                except PolicyUnusable as error:
                    artifacts["policy"] = str(error)
                    scores = [WORST] * len(self.windows)
                    break
                except PolicyFailed as error:
                    scores.append(WORST)
                    artifacts[f"window_{len(scores)}"] = str(error)
        if is_foreign(name) and self._sealed.unheld:
            artifacts["sealing"] = f"a policy is not kept from {self._sealed.unheld} on this system"
        combined = sum(scores) / len(scores)
        metrics = {
            "combined_score": combined,
            "worst_window": min(scores),
            "finished": sum(score > WORST for score in scores) / len(scores),
            **{f"window_{idx}": score for idx, score in enumerate(scores, start=1)},
        }
        return {"combined_score": combined, "metrics": metrics, "artifacts": artifacts}


def _registered(name: str) -> Callable[[WorkloadProblem, str], WorkloadSchedule]:
    """Return what runs a registered policy, compiled where that is the same."""
    policy = loaded(name)
    plans = hasattr(policy.source, "online")

    def run(problem: WorkloadProblem, _: str) -> WorkloadSchedule:
        return run_policy(problem, policy).schedule if plans else simulate(problem, policy)

    return run


def _score(window: Window, schedule: WorkloadSchedule) -> float:
    """Return the score of a schedule of a window, by the judge."""
    try:
        faults = workload_violations(window.problem, schedule)
    except InvalidAnswer as error:
        raise PolicyFailed(str(error)) from None
    if faults:
        more = f" (and {len(faults) - 1} more)" if faults[1:] else ""
        raise PolicyFailed(f"the schedule is not feasible: {faults[0]}{more}")
    (value,) = terms(workload_value(window.problem, schedule, OBJECTIVE))
    return min(1.0, window.bound / value)
