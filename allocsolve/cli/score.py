"""The command that compares solvers: score."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve import registry
from allocsolve.cli.files import make_folder, tightened
from allocsolve.cli.output import counted, say, show_table, time_text, write_json
from allocsolve.cli.progress import count_bar
from allocsolve.errors import FormatError, UnknownName

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from allocsolve.bench import Gaps, Record, SolverScore
    from allocsolve.model import Problem

__all__ = ["score"]

_HEADS = (
    *("\nsolver", "bound\nmean", "bound\nmedian", "bound\nmax"),
    *("opt.\nmean", "opt.\nmedian", "opt.\nmax", "\non"),
    *("\nproven", "\noptimal", "\nbest", "\nfailed", "\ntime"),
)


def score(args: argparse.Namespace) -> int:
    """Run solvers on problems, keep the records, and show how far each solver is from the best known."""
    from allocsolve.bench import RecordStore, best, family_of_all, run, scores, write_csv  # noqa: PLC0415 - when the command runs
    from allocsolve.model import Budget  # noqa: PLC0415 - as above

    problems = [tightened(problem, args.expand_limit, source) for source, problem in _problems(args.files)]
    family = family_of_all(problems)
    args.objective = ",".join(family.parse_objective(args.objective))
    args.baseline = args.baseline or family.baseline
    solvers = [*args.solvers, *({args.baseline} - {*args.solvers})]
    for name in solvers:
        registry.make_solver(name, family.problem)  # refused before a folder is made
    budget = Budget(seconds=args.seconds, workers=args.workers, seed=args.seed)
    make_folder(args.out)
    rows, table = args.out / "records.jsonl", args.out / "scores.csv"
    _check_files(rows, table)
    store = RecordStore(rows)
    try:
        with count_bar("scoring") as progress:
            records = run(
                problems, solvers, objective=args.objective, budget=budget, store=store, progress=progress
            )
    except KeyboardInterrupt:
        kept = f"{counted(len(store), 'record')} in {rows}, the same command goes on from there"
        raise KeyboardInterrupt(kept if len(store) else "nothing was recorded yet") from None
    write_csv(records, table)
    found, known = scores(records), best(records)
    proven = sum(on.proven for on in known.values())
    failed = [record for record in records if record.error]
    if args.json:
        write_json(
            {
                "objective_name": args.objective,
                "baseline": args.baseline,
                "problems": len(known),
                "optima_proven": proven,
                "scores": found,
                "failures": [{"solver": r.solver, "problem": r.instance, "error": r.error} for r in failed],
                "records": rows,
                "csv": table,
            }
        )
    else:
        count = counted(len(known), "problem")
        first, *others = args.objective.split(",")
        gaps = f"gap of {first}" if others else "gap"
        title = f"{args.objective} on {count}: {gaps} in % to the best bound, to proven optima"
        show_table(_HEADS, map(_row, found), title=title)
        say("", *_remarks(found, failed))
        say(
            f"Baseline {args.baseline}: {proven} of {len(known)} optima proven.",
            f"Records: {rows}, CSV: {table}",
        )
    return 1 if failed else 0


def _problems(names: Sequence[str]) -> Iterator[tuple[str, Problem]]:
    """Yield the problems of files, directories and suites, each with what it is called in messages."""
    from allocsolve.bench import SUITES, suite  # noqa: PLC0415 - as above
    from allocsolve.instances import read_problem  # noqa: PLC0415 - as above

    for name in names:
        path = Path(name)
        if path.is_dir():
            files = sorted(path.glob("*.json"))
            if not files:
                raise FormatError(name, ["there is no .json file in this directory"])
            yield from ((str(file), read_problem(file)) for file in files)
        elif path.exists() or path.suffix or len(path.parts) > 1:
            yield name, read_problem(path)
        elif name in SUITES:
            yield from ((problem.name, problem) for problem in suite(name))
        else:
            raise UnknownName("file, directory or suite", name, SUITES)


def _check_files(*paths: Path) -> None:
    for path in paths:
        if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
            raise FormatError(str(path), ["cannot be written"])


def _row(found: SolverScore) -> tuple[str, ...]:
    return (
        found.solver,
        *_gaps(found.gap),
        *_gaps(found.optimum_gap),
        str(found.optimum_gap.count if found.optimum_gap else 0),
        *(str(count) for count in (found.proven, found.optimal, found.best, found.failed)),
        time_text(found.mean_runtime_s),
    )


def _gaps(gaps: Gaps | None) -> tuple[str, ...]:
    if gaps is None:
        return ("-",) * 3
    return tuple(f"{100 * value:.1f}" for value in (gaps.mean, gaps.median, gaps.max))


def _remarks(found: Sequence[SolverScore], failed: Sequence[Record]) -> Iterator[str]:
    """Yield what the table does not show."""
    for one in found:
        if one.unanswered:
            yield f"{one.solver}: no answer to {one.unanswered} of {one.instances}"
        if one.unbounded:
            yield f"{one.solver}: no bound is known for {one.unbounded} of its answers"
    for record in failed:
        yield f"{record.solver} failed on {record.instance}: {record.error}"
