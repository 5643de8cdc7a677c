"""The commands about one problem: solve, check, solvers."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from allocsolve.cli.files import check_writable, tightened
from allocsolve.cli.output import (
    counted,
    describe,
    percent,
    plain,
    say,
    show_fields,
    show_table,
    time_text,
    write_json,
)
from allocsolve.cli.progress import time_bar
from allocsolve.errors import AllocsolveError, InvalidAnswer, SolverUnavailable
from allocsolve.model import Limit, terms

if TYPE_CHECKING:
    import argparse

    from allocsolve.judge import EvolutionMetrics
    from allocsolve.model import EvolutionProblem, Result, Value

__all__ = ["check", "solve", "solvers"]

#: How many violations are printed for people; the rest is counted. Machines get all.
VIOLATIONS_SHOWN = 20

_STOPPED = {
    Limit.TIME: "stopped by the time limit",
    Limit.ITERATIONS: "stopped by the iteration limit",
    Limit.SIZE: "the problem is too large for this solver",
    Limit.INTERRUPTED: "interrupted",
}
_UNITS = {"makespan": "s", "completion": "s", "waste": "node-s"}


def solve(args: argparse.Namespace) -> int:
    """Solve one problem, have the judge confirm the answer, show and write it."""
    from allocsolve.instances import (  # noqa: PLC0415 - when the command runs
        read_problem,
        solution_document,
        write_solution,
    )
    from allocsolve.judge import metrics  # noqa: PLC0415 - as above
    from allocsolve.registry import solve as solve_problem  # noqa: PLC0415 - as above

    stored = read_problem(args.file)
    problem = tightened(stored, args.expand_limit, args.file)
    if args.out is not None:
        check_writable(args.out)
    budget = {"seconds": args.seconds, "workers": args.workers, "seed": args.seed}
    try:
        with time_bar(f"{args.solver} on {args.file}", args.seconds):
            result = solve_problem(problem, args.solver, args.objective, **budget)
    except AllocsolveError:
        raise
    except Exception as error:  # whatever else a solver raises is its failure, as in `score`
        msg = f"{args.solver} failed: {type(error).__name__}: {error}"
        raise SolverUnavailable(msg) from error
    claims = _claims(args, result)
    answer = result.answer
    worth = None if answer is None else metrics(problem, answer)
    meta = plain({**claims, "expand_limit": problem.expand_limit, **budget})
    if args.out is not None and answer is not None:
        write_solution(args.out, stored, answer, meta)
    if args.json:
        solution = None if answer is None else solution_document(stored, answer, meta)
        write_json({**claims, "metrics": worth, "solution": solution})
    else:
        _show(args, problem, result, worth)
    if result.limit is Limit.INTERRUPTED:
        place = "above" if args.out is None else f"in {args.out}"
        kept = "there was no answer yet" if answer is None else f"the best answer so far is {place}"
        raise KeyboardInterrupt(kept)
    return 0


def _claims(args: argparse.Namespace, result: Result[Any]) -> dict[str, object]:
    return {
        "solver": args.solver,
        "objective_name": args.objective,
        "objective": result.objective,
        "bound": result.bound,
        "status": str(result.status),
        "limit": None if result.limit is None else str(result.limit),
        "runtime_s": result.runtime,
    }


def _show(
    args: argparse.Namespace, problem: EvolutionProblem, result: Result[Any], worth: EvolutionMetrics | None
) -> None:
    stopped = "" if result.limit is None else f", {_STOPPED[result.limit]}"
    show_fields(
        [
            ("problem", f"{args.file} ({describe(problem)})"),
            ("solver", args.solver),
            ("status", f"{result.status}{stopped}"),
            *_values(args.objective, result.objective, result.bound),
            ("time", time_text(result.runtime)),
        ]
    )
    if worth is not None:
        _show_metrics(worth)
    if args.out is not None:
        say("", f"solution written to {args.out}" if worth else f"no solution, so {args.out} was not written")


def _values(objective: str, value: Value | None, bound: Value) -> list[tuple[str, str]]:
    """Return value, bound and gap of each term of the objective."""
    names = objective.split(",")
    values = (None,) * len(names) if value is None else terms(value)
    bounds = terms(bound) + (-math.inf,) * len(names)
    rows = []
    for name, ours, least in zip(names, values, bounds, strict=False):
        parts = ["no answer" if ours is None else f"{_number(ours)} {_UNITS[name]}"]
        parts.append(f"bound {_number(least)} {_UNITS[name]}" if math.isfinite(least) else "no bound")
        if ours is not None and 0 < least < math.inf and least <= ours:
            parts.append(f"gap {percent(ours / least - 1)}")
        rows.append((name, ", ".join(parts)))
    return rows


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.1f}"


def check(args: argparse.Namespace) -> int:
    """Judge a solution; the exit status says whether it is feasible."""
    from allocsolve.instances import read_problem, read_solution  # noqa: PLC0415 - as above
    from allocsolve.judge import metrics, violations  # noqa: PLC0415 - as above

    problem = read_problem(args.file)
    answer = read_solution(args.solution, problem)
    if args.expand_limit is not None:
        problem = dataclasses.replace(problem, expand_limit=args.expand_limit)
    worth = None
    try:
        found = violations(problem, answer)
        worth = metrics(problem, answer)
    except InvalidAnswer as error:  # numbers too large to be added up
        found = (str(error),)
    if args.json:
        limit = problem.expand_limit
        write_json({"feasible": not found, "expand_limit": limit, "violations": found, "metrics": worth})
        return 1 if found else 0
    if found:
        say(f"not feasible, {counted(len(found), 'violation')}:")
        say(*(f"  {violation}" for violation in found[:VIOLATIONS_SHOWN]))
        if len(found) > VIOLATIONS_SHOWN:
            say(f"  and {len(found) - VIOLATIONS_SHOWN} more (all of them with --json)")
    else:
        say(f"feasible ({describe(problem)})")
    if worth is not None:
        _show_metrics(worth)
    return 1 if found else 0


def _show_metrics(worth: EvolutionMetrics) -> None:
    say("")
    show_fields(
        [
            ("makespan", f"{worth.makespan} s"),
            ("mean completion", f"{worth.mean_completion:.1f} s"),
            ("mean turnaround", f"{worth.mean_turnaround:.1f} s"),
            ("mean waiting", f"{worth.mean_waiting:.1f} s"),
            ("useful area", f"{worth.useful_area} node-s"),
            ("waste", f"{worth.total_waste} node-s, {percent(worth.waste)} of the useful area"),
            (
                "waste by application",
                f"mean {percent(worth.mean_application_waste)}, max {percent(worth.max_application_waste)}",
            ),
            (
                "utilisation",
                f"{percent(worth.utilisation)}, effective {percent(worth.effective_utilisation)}",
            ),
            ("expanded applications", percent(worth.expanded)),
            ("expansion", f"mean {percent(worth.mean_expansion)}, max {percent(worth.max_expansion)}"),
        ]
    )


def solvers(args: argparse.Namespace) -> int:
    """List the registered solvers."""
    from allocsolve.registry import entries  # noqa: PLC0415 - as above

    if args.json:
        listed = [{"name": e.name, "method": e.method, "summary": e.summary} for e in entries()]
        write_json({"solvers": listed})
    else:
        show_table(
            ("solver", "method", "summary"),
            ((e.name, e.method, e.summary) for e in entries()),
            texts=(0, 1, 2),
        )
    return 0
