"""The command that compares solvers: score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.files import check_writable, failure_fields, failure_lines, make_folder
from allocsolve.cli.output import remark, say, show_table, write_json
from allocsolve.cli.progress import count_bar
from allocsolve.cli.report import struck_out
from allocsolve.cli.study import Reused, keys_again, with_resume_hint
from allocsolve.errors import InvalidOption
from allocsolve.families import AnyFamily, families, family_of, with_settings
from allocsolve.pictures.chart import counted, time_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator, Sequence

    from allocsolve.bench import Description, Gaps, SolverScore
    from allocsolve.bench.runs.reply import GivenAnswer
    from allocsolve.model import Problem

__all__ = ["score"]

_HEADS = (
    *("\nsolver", "bound\nmean", "bound\nmedian", "bound\nmax"),
    *("opt.\nmean", "opt.\nmedian", "opt.\nmax", "\non"),
    *("\nproven", "\noptimal", "\nbest", "\nfailed", "\ntime"),
)


def score(args: argparse.Namespace) -> int:
    """Run solvers on problems, keep the records, and show how far each solver is from the best known."""
    from allocsolve.bench import (  # noqa: PLC0415 - when the command runs
        RecordStore,
        best,
        describe,
        export,
        family_of_all,
        open_executor,
        plan,
        problems_of,
        run,
        solver_scores,
    )
    from allocsolve.bench.runs.study import references_of  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.scores.catalogue import Catalogue  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.scores.contradictions import consistent  # noqa: PLC0415 - when the command runs
    from allocsolve.model import Budget  # noqa: PLC0415 - when the command runs

    described = {solver.name: solver for solver in describe(_named(args), [args.objective])}
    families = _families(args, described.values())
    problems = [
        (suite, with_settings(problem, dict(args.set), source, tighten=True))
        for name in args.files
        for suite, source, problem in _chosen(list(problems_of(name)), families)
    ]
    family = family_of_all([problem for _, problem in problems])
    answers = _answers(args, [problem for _, problem in problems])
    args.objective = ",".join(family.parse_objective(args.objective))
    args.baseline = args.baseline or family.baseline
    solvers = [*described.values(), *({args.baseline} - {*described})]
    budget = Budget(seconds=args.seconds, workers=args.workers, seed=args.seed)
    stated = Catalogue(references=references_of(args.files))
    given = plan(problems, answers, objective=args.objective, budgets=[budget])
    tasks = [*plan(problems, solvers, objective=args.objective, budgets=[budget]), *given]
    make_folder(args.out)
    rows, table = args.out / "records.sqlite", args.out / "scores.csv"
    check_writable(table)
    with RecordStore(rows, tell=remark) as store:
        store.add_catalogue(stated)
        again = keys_again(args, tasks, store)
        reused = Reused(tasks, store, rows, again)
        if reused.line and not args.json:
            say(reused.line)
        with (
            with_resume_hint(store, rows),
            count_bar("starting") as progress,
            open_executor("local", jobs=1) as cells,
        ):
            run(given, store=store, again=again)  # in this process: no other can make them by a name
            again -= {task.key for task in given}
            records = run(tasks, store=store, again=again, executor=cells, progress=progress, announce=remark)
    export(records, table)
    counting, stated, contradictions = consistent(records, stated)
    scores, best_by_digest = solver_scores(counting, stated), best(counting, stated)
    proven = sum(on.proven for on in best_by_digest.values())
    certified = sum(on.certified for on in best_by_digest.values())
    failed = [record for record in records if record.error]
    if args.json:
        write_json(
            {
                "objective_name": args.objective,
                "baseline": args.baseline,
                "problems": len(best_by_digest),
                "optima_proven": proven,
                "bounds_certified": certified,
                "scores": scores,
                "failures": failure_fields(failed),
                "contradictions": [str(one) for one in contradictions],
                "records": rows,
                "csv": table,
                "reused": reused.fields,
            }
        )
    else:
        total = len(best_by_digest)
        count = counted(total, "problem")
        first, *others = args.objective.split(",")
        gaps = f"gap of {first}" if others else "gap"
        title = f"{args.objective} on {count}: {gaps} in % to the best bound, to proven optima"
        show_table(_HEADS, map(_row, scores), title=title)
        say("", *map(struck_out, contradictions), *_remarks(scores))
        say(*failure_lines(failed, rows, verbose=args.verbose))
        say(
            f"Baseline {args.baseline}: {proven} of {total} optima proven.",
            f"Bounds: {certified} of {total} recomputed (certified), the others as claimed by a solver"
            f"{' or stated by a suite' if stated.references else ''}.",
            f"Records: {rows}, CSV: {table}",
        )
    return 1 if failed or contradictions else 0


def _named(args: argparse.Namespace) -> list[str]:
    """Return the names of the solvers.

    Raises
    ------
    InvalidOption
        If nothing is to be compared.
    """
    if not args.solvers and not args.answers:
        msg = "nothing to compare: name --solvers, --answers or both"
        raise InvalidOption(msg)
    return [*args.solvers, *([args.baseline] if args.baseline else [])]


def _answers(args: argparse.Namespace, problems: Sequence[Problem]) -> list[GivenAnswer]:
    """Return the answers that stand in files.

    Raises
    ------
    InvalidOption
        If it is not clear which problem they answer.
    FormatError
        If a file cannot be read.
    """
    from allocsolve.bench.runs.reply import given_answer  # noqa: PLC0415 - when the command runs

    if not args.answers:
        return []
    if len(problems) != 1:
        msg = f"--answers are of one problem, not of {len(problems)}"
        raise InvalidOption(msg)
    return [given_answer(path, problems[0], tell=remark) for path in args.answers]


def _families(args: argparse.Namespace, solvers: Collection[Description]) -> list[AnyFamily]:
    """Return the families that have all the solvers and the objective."""
    terms = set(args.objective.split(",")) if args.objective else set()
    return [
        family
        for family in families()
        if terms <= {*family.objectives} and all(family.kind in solver.kinds for solver in solvers)
    ]


def _chosen(
    read: list[tuple[str, str, Problem]], families: list[AnyFamily]
) -> list[tuple[str, str, Problem]]:
    """Return the problems of these families, of a suite that has several; all if there is none."""
    return [one for one in read if family_of(one[2]) in families] or read


def _row(score: SolverScore) -> tuple[str, ...]:
    return (
        score.solver,
        *_gaps(score.gap),
        *_gaps(score.optimum_gap),
        str(score.optimum_gap.count if score.optimum_gap else 0),
        *(str(count) for count in (score.proven, score.optimal, score.best, score.failed)),
        time_text(score.mean_runtime_s),
    )


def _gaps(gaps: Gaps | None) -> tuple[str, ...]:
    if gaps is None:
        return ("-",) * 3
    return tuple(f"{100 * value:.1f}" for value in (gaps.mean, gaps.median, gaps.max))


def _remarks(scores: Sequence[SolverScore]) -> Iterator[str]:
    """Yield what the table does not show."""
    for score in scores:
        if score.unanswered:
            yield f"{score.solver}: no answer to {score.unanswered} of {score.instances}"
        if score.unbounded:
            yield f"{score.solver}: no bound is known for {score.unbounded} of its answers"
