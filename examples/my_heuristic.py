"""A heuristic of your own: checked, then scored against the published one and proven optima.

From inside this folder::

    python my_heuristic.py
    allocsolve score klein-5-inf --solvers noX,infX,my_heuristic:LongestFirst

Anywhere else it is named as Python would import it, ``examples.my_heuristic:LongestFirst`` one folder up.
"""

from __future__ import annotations

from dataclasses import dataclass

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, EvolutionSchedule, Result, Status
from allocsolve.bench import plan, run, solver_scores, suite
from allocsolve.heuristics import fit
from allocsolve.testing import check_solver


@dataclass(frozen=True, slots=True)
class LongestFirst:
    """Place the applications by decreasing duration, each where it completes first."""

    def __call__(self, problem: EvolutionProblem, budget: Budget) -> Result[EvolutionSchedule]:
        """Schedule all applications."""
        clock = budget.start()
        apps = problem.applications
        busy, starts, held = EvolutionProfile(), [0] * len(apps), list(apps)
        for app in sorted(range(len(apps)), key=lambda app: -apps[app].duration):
            placed = fit(
                apps[app], busy, problem.num_nodes, problem.expand_limit, earliest_start=problem.releases[app]
            )
            starts[app], held[app] = placed.start, placed.profile
            busy += placed.profile.delayed(placed.start)
        return Result(Status.FEASIBLE, EvolutionSchedule.of(starts, held), runtime=clock.elapsed)


def main() -> None:
    """Check the heuristic, then score it."""
    check_solver(LongestFirst())
    print("LongestFirst keeps the contract of solvers.")
    solvers = ["noX", "infX", "my_heuristic:LongestFirst", "cpsat"]  # cpsat proves the optima
    print("Makespan above the optimum, mean and worst:")
    problems = [("klein-5-inf", problem) for problem in suite("klein-5-inf")]
    for score in solver_scores(run(plan(problems, solvers, budgets=[Budget(seconds=10)]))):
        gap = score.optimum_gap
        if gap is not None:
            on = f"optimal on {score.optimal} of {gap.count}"
            print(f"{score.solver:26} {gap.mean:6.1%} {gap.max:6.1%}   {on}")


if __name__ == "__main__":
    main()
