"""Lina's three algorithms: running jobs shrink for requests and waiting jobs, and grow into free nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.heuristics.workload._kernels_lina import (
    LinaRule,
    initial_candidates,
    initial_growing,
    run_lina,
)
from allocsolve.model.evolving import PROFILE, REACTIVE
from allocsolve.model.options import Within
from allocsolve.simulation.compiled import ResizingSolver, run_to_end

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem
    from allocsolve.simulation import EngineRules
    from allocsolve.simulation.kernels import Resizing, State

#: When running jobs may be shrunk at all, see `Lina`.
ShrinkCandidates: TypeAlias = Literal["default", "application", "system-printed", "system-text"]

#: Which job is shrunk first, see `Lina`.
VictimOrder: TypeAlias = Literal["random", "gain", "shrinkable", "expansions", "cost", "remaining"]

#: The values of the options that are words, in the order of their codes in kernels.
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "candidates": get_args(ShrinkCandidates),
    "victims": get_args(VictimOrder),
}


@dataclass(frozen=True, slots=True)
class Lina(ResizingSolver):
    """Running malleable jobs shrink for requests and for waiting jobs, after Lina, Ghafoor & Hines.

    At every call:

    1. Each request of an evolving job, in the order made: it is granted if enough nodes are free. Else
       victims give all of them; if they cannot, it is refused, for good.
    2. Queued jobs that fit start on their own nodes (`Job.nodes`), in the order of the queue.
    3. For each job that still waits, in that order, victims give all the nodes that it needs: its fewest ones
       if it is malleable, else its own. It starts on them. If they cannot, the next job is tried.
    4. Running malleable jobs that were no victims in this call grow to their most nodes while nodes are free,
       the one with the longest time left first.

    Victims are running malleable jobs on more than their fewest nodes. Unless together they have enough to
    give, none is shrunk. Each gives what it can, the last one only the rest. Of equal ones the first by index
    comes first.

    `InvalidOption, UnknownName` if an option is not as said; when it runs, if a job has phases or a profile
    (`Phases`, `Profile`).

    Parameters
    ----------
    candidates
        Which algorithm. ``default``: all may be victims. ``application``: nobody is shrunk if some running
        job ends within `soon` seconds at its present size, and jobs with a share `done` of their work done
        are no victims. ``system-printed``: nobody is shrunk if more than `utilisation` of the nodes are not
        free and some job ends so soon. ``system-text``: nobody is if more than that are not free.
    victims
        Who is shrunk first. ``random``: by 64 random bits for each pair of jobs (SplitMix64). ``gain``: the
        most nodes gained in expansions, less those given up. ``shrinkable``: the most nodes above its fewest;
        of these the largest. ``expansions``: the most expansions. ``cost``: the shortest stall if it shrinks
        to its fewest nodes. ``remaining``: the first to end.
    seed
        Of ``victims="random"``, below 2^63.
    soon
        Seconds.
    utilisation
        A share of the nodes.
    done
        A share of the work of a job; infinite for no such limit. Of ``candidates="application"`` only.

    Notes
    -----
    With ``candidates="system-printed"`` the paper's listing is followed: a shrink is forbidden only if the
    cluster is loaded *and* a job ends soon. The text of the paper says what ``system-text`` does. Nothing in
    the paper says what a job that has a `done` share of its work is left for.

    Where nodes come free only later than they are given up, as victims hold them while they stall
    (`Stall.holds`) or change their sizes at points only (`Job.points`), the job for which they are has the
    promise of them: it starts when they are there, first come, first served. Requests are granted from free
    nodes only then. Moldable jobs start on their own nodes.

    *Complexity*: O(running jobs + queue) for each call, O(running jobs) for each victim.
    *Guarantee*: feasible; every job ends. Nodes for a job in the queue are never shared out in part.
    *Reference*: Lina, Ghafoor & Hines, "Scheduling of elastic message passing applications on HPC systems",
    JSSPP 2022, section 4.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, Overhead, WorkloadProblem
    >>> elastic = {"kind": "malleable", "min_nodes": 2, "max_nodes": 8, "speedup": Overhead(0)}
    >>> problem = WorkloadProblem(8, [Job(0, 4, 100, **elastic), Job(10, 6, 30)])
    >>> schedule = Lina()(problem, Budget()).answer
    >>> [schedule.pieces(job) for job in (0, 1)]
    [((0.0, 10.0, 8), (10.0, 40.0, 2), (40.0, 72.5, 8)), ((10.0, 40.0, 6),)]
    """

    candidates: ShrinkCandidates = "default"
    victims: VictimOrder = "gain"
    seed: Annotated[int, Within(0, 2**63 - 1)] = 0
    soon: Annotated[float, Within(0, infinite=True)] = 5.0
    utilisation: Annotated[float, Within(0, infinite=True)] = 0.8
    done: Annotated[float, Within(0, infinite=True)] = np.inf

    def run(self, problem: WorkloadProblem, rules: EngineRules) -> tuple[State, Resizing]:
        """Run a workload to its end; return the states of the engine."""
        plan = problem.jobs.evolving
        others = (plan.reading == REACTIVE) | (plan.reading == PROFILE)
        problem.jobs.refuse(others, "has phases or a profile: this policy answers jobs with requests only")
        count, rule = len(problem.jobs), self._rule(problem)
        candidates, growing = initial_candidates(count), initial_growing(count)
        return run_to_end(
            problem,
            lambda jobs, state, resizing: run_lina(
                jobs, state, resizing, candidates, rule, growing, rules.coalesce
            ),
            ordered=False,
        )

    def _rule(self, problem: WorkloadProblem) -> LinaRule:
        """Return the options for kernels."""
        later = problem.jobs.evolving.holds_larger.any() or problem.packed.points.any()
        return LinaRule(
            candidates=_CHOICES["candidates"].index(self.candidates),
            victims=_CHOICES["victims"].index(self.victims),
            seed=self.seed,
            soon=float(self.soon),
            utilisation=float(self.utilisation),
            done=float(self.done) if self.candidates == "application" else np.inf,
            num_nodes=problem.num_nodes,
            gives_later=bool(later),
        )
