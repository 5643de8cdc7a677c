"""Solvers that do what no solver may, one each; `good` is what they should be."""
# ruff: noqa: ARG001 - all have the arguments of a solver

from __future__ import annotations

import os
import time

from allocsolve.heuristics import ListScheduling
from allocsolve.model import Budget, EvolutionProblem, EvolutionSchedule, Limit, Result, Status

Answer = Result[EvolutionSchedule]


def good(problem: EvolutionProblem, budget: Budget) -> Answer:
    return ListScheduling()(problem, budget)


def hangs(problem: EvolutionProblem, budget: Budget) -> Answer:
    if problem.name:  # not in the warm-up
        time.sleep(3600)
    return good(problem, budget)


def mutates_now_and_then(problem: EvolutionProblem, budget: Budget) -> Answer:
    if budget.seed == 1:
        object.__setattr__(problem, "num_nodes", 10 * problem.num_nodes)
    return good(problem, budget)


def dawdles(problem: EvolutionProblem, budget: Budget) -> Answer:
    time.sleep(0.02)
    return good(problem, budget)


def takes_its_time(problem: EvolutionProblem, budget: Budget) -> Answer:
    time.sleep(1.2)
    return good(problem, budget)


def tells_its_process(problem: EvolutionProblem, budget: Budget) -> Answer:
    msg = f"process {os.getpid()}"
    raise RuntimeError(msg)


def overlaps(problem: EvolutionProblem, budget: Budget) -> Answer:
    apps = problem.applications
    return Result(Status.FEASIBLE, EvolutionSchedule.of([0] * len(apps), apps))


def gives_up(problem: EvolutionProblem, budget: Budget) -> Answer:
    return Result(Status.UNKNOWN, limit=Limit.TIME)


#: Calls of `compiles` in this process.
_compiled: list[str] = []


def compiles(problem: EvolutionProblem, budget: Budget) -> Answer:
    """Take far longer than any time limit to compile, in several calls, and stop at the limit."""
    _compiled.append(problem.name)
    if len(_compiled) < 3:
        time.sleep(1.2 * budget.seconds)
        return Result(Status.UNKNOWN, limit=Limit.TIME)
    return good(problem, budget)
