"""The optimum of tiny problems of profiles, second by second: nothing shared with any solver."""

from __future__ import annotations

import itertools
import math
import operator
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from naive import longest, mean

from allocsolve.model import Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import EvolutionObjective, EvolutionProblem, Job, WorkloadProblem, WorkloadTerm

_Cost = TypeVar("_Cost", int, Fraction)

#: Where an application is: (step, seconds in it); (-1, 0) before it starts, (steps, 0) after it ended.
_Where: TypeAlias = tuple[int, int]


class _Life:
    """What an application or a job may do in the next second."""

    def __init__(self, steps: Sequence[tuple[int, int]], release: int, expand_limit: float) -> None:
        self.steps, self.release, self.expand_limit = steps, release, expand_limit
        self.done: _Where = (len(steps), 0)
        self.known: dict[tuple[_Where, bool], list[tuple[_Where, int, int]]] = {}

    def moves(self, where: _Where, time: int) -> list[tuple[_Where, int, int]]:
        """Return (where it then is, nodes it holds during the second, nodes it wastes during it)."""
        released = time >= self.release
        if (where, released) not in self.known:
            self.known[where, released] = self._moves(where, released=released)
        return self.known[where, released]

    def _moves(self, where: _Where, *, released: bool) -> list[tuple[_Where, int, int]]:
        step, spent = where
        if where == self.done:
            return [(where, 0, 0)]
        moves = []
        if step < 0:
            moves.append((where, 0, 0))
            if not released:
                return moves
        else:
            duration, nodes = self.steps[step]
            if spent < duration:
                return [((step, spent + 1), nodes, 0)]
            if math.isinf(self.expand_limit):
                moves.append((where, nodes, nodes))
            elif spent < longest(duration, self.expand_limit):
                moves.append(((step, spent + 1), nodes, nodes))
        if (step + 1, 0) == self.done:
            moves.append((self.done, 0, 0))
        else:
            moves.append(((step + 1, 1), self.steps[step + 1][1], 0))
        return moves


def optimum(problem: EvolutionProblem, objective: EvolutionObjective) -> tuple[float, ...]:
    """Return the least value of the objective over all schedules, one number per term.

    A second costs 1 of makespan if any application is not done, 1 of total completion for each of them, and
    the nodes that are held for nothing.
    """
    lives = [
        _Life(app.steps, release, problem.expand_limit)
        for app, release in zip(problem.applications, problem.releases, strict=True)
    ]

    def costs(_: int, unfinished: Sequence[bool], waste: int) -> tuple[int, ...]:
        second = {"makespan": int(any(unfinished)), "completion": sum(unfinished), "waste": waste}
        return tuple(second[term] for term in objective)

    best = _least(lives, problem.num_nodes, problem.horizon, costs)
    return tuple(
        mean(int(total), len(lives)) if term == "completion" else float(total)
        for term, total in zip(objective, best, strict=True)
    )


def profile_optimum(problem: WorkloadProblem, term: WorkloadTerm) -> Fraction:
    """Return the least value of a term: of jobs in whole seconds, rigid or with profiles.

    A second costs the weight of each job that is not done; of a slowdown, when it is above 1, the share of
    the weight that a second is of the run time.
    """
    weights = [Fraction(job.weight) for job in problem.jobs]
    per_second = list(weights)
    begins = [int(job.submit) for job in problem.jobs]
    least = Fraction(0)
    if term == "slowdown":
        floors = [max(10, int(job.runtime)) for job in problem.jobs]
        per_second = [weight / floor for weight, floor in zip(weights, floors, strict=True)]
        begins = list(map(operator.add, begins, floors))
        least = sum(weights, least)

    def costs(time: int, unfinished: Sequence[bool], _: int) -> tuple[Fraction, ...]:
        if term == "makespan":
            return (Fraction(any(unfinished)),)
        late = zip(per_second, begins, unfinished, strict=True)
        return (sum((cost for cost, begin, open_ in late if open_ and time >= begin), Fraction(0)),)

    (value,) = _least([_life(job) for job in problem.jobs], problem.num_nodes, int(problem.horizon), costs)
    total = Fraction(1) if term == "makespan" else sum(weights, Fraction(0))
    return (least + value) / total if total else Fraction(0)


def _life(job: Job) -> _Life:
    if isinstance(job.evolution, Profile):
        return _Life(job.evolution.steps, int(job.submit), job.evolution.expand_limit)
    return _Life([(int(job.runtime), job.nodes)], int(job.submit), 1)


def _least(
    lives: Sequence[_Life],
    num_nodes: int,
    horizon: int,
    costs_of: Callable[[int, Sequence[bool], int], tuple[_Cost, ...]],
) -> tuple[_Cost, ...]:
    """Return the least sum of what each second costs: for its time, who is not done, and nodes wasted.

    Second by second, for each situation that all can be in, the least cost so far. Costs only grow, so what
    is no better than a finished schedule is dropped.
    """
    done: tuple[_Where, ...] = tuple(life.done for life in lives)
    best: tuple[_Cost, ...] | None = None
    costs: dict[tuple[_Where, ...], tuple[_Cost, ...] | None] = {tuple((-1, 0) for _ in lives): None}
    for time in range(horizon + 1):
        after: dict[tuple[_Where, ...], tuple[_Cost, ...]] = {}
        for situation, cost in costs.items():
            choices = [life.moves(where, time) for life, where in zip(lives, situation, strict=True)]
            for moves in itertools.product(*choices):
                then, nodes, waste = zip(*moves, strict=True) if moves else ((), (), ())
                if sum(nodes) > num_nodes:
                    continue
                unfinished = [where != end for where, end in zip(then, done, strict=True)]
                second = costs_of(time, unfinished, sum(waste))
                total = second if cost is None else tuple(map(operator.add, cost, second))
                if best is not None and total >= best:
                    continue
                if then == done:
                    best = total
                elif then not in after or total < after[then]:
                    after[then] = total
        costs = {**after}
    assert best is not None
    return best
