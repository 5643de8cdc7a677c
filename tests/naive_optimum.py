"""The optimum of tiny evolution problems, second by second: plain Python, nothing shared with any solver."""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, TypeAlias

from naive import longest, mean

if TYPE_CHECKING:
    from allocsolve.model import EvolutionObjective, EvolutionProblem, EvolutionProfile

__all__ = ["optimum"]

#: Where an application is: (step, seconds in it); (-1, 0) before it starts, (steps, 0) after it ended.
_Where: TypeAlias = tuple[int, int]


class _Life:
    """What an application may do in the next second."""

    def __init__(self, app: EvolutionProfile, release: int, expand_limit: float) -> None:
        self.steps, self.release, self.expand_limit = app.steps, release, expand_limit
        self.done: _Where = (len(app.steps), 0)
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

    Second by second, for each situation that the applications can be in, the least cost so far: a second
    costs 1 of makespan if any application is not done, 1 of total completion for each of them, and the nodes
    that are held for nothing. Costs only grow, so what is no better than a finished schedule is dropped.
    """
    lives = [
        _Life(app, release, problem.expand_limit)
        for app, release in zip(problem.applications, problem.releases, strict=True)
    ]
    done = tuple(life.done for life in lives)
    best: tuple[int, ...] | None = None
    costs = {tuple((-1, 0) for _ in lives): (0,) * len(objective)}
    for time in range(problem.horizon + 1):
        after: dict[tuple[_Where, ...], tuple[int, ...]] = {}
        for situation, cost in costs.items():
            choices = [life.moves(where, time) for life, where in zip(lives, situation, strict=True)]
            for moves in itertools.product(*choices):
                then, nodes, waste = zip(*moves, strict=True) if moves else ((), (), ())
                if sum(nodes) > problem.num_nodes:
                    continue
                unfinished = sum(map(operator.ne, then, done))
                second = {"makespan": int(unfinished > 0), "completion": unfinished, "waste": sum(waste)}
                total = tuple([c + second[term] for c, term in zip(cost, objective, strict=True)])
                if best is not None and total >= best:
                    continue
                if then == done:
                    best = total
                elif then not in after or total < after[then]:
                    after[then] = total
        costs = after
    assert best is not None
    return tuple(
        mean(total, len(lives)) if term == "completion" else float(total)
        for term, total in zip(objective, best, strict=True)
    )
