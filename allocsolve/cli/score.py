"""The commands that compare: solvers with each other, two studies, and solvers with their own past.

The options of all steps of a study are here, too: one of them compares.
"""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve import bench, report
from allocsolve.bench.runs.given import given_answer
from allocsolve.bench.scores.catalogue import Catalogue
from allocsolve.cli import options as opt
from allocsolve.cli.files import check_outputs, check_writable, failure_fields, failure_lines, make_folder
from allocsolve.cli.options import settings_of
from allocsolve.cli.output import count_bar, remark, say, show_table, write_json
from allocsolve.cli.parser import add_command, commands_of, make_command
from allocsolve.cli.study import (
    Reused,
    add_figures,
    check_figures,
    export_study,
    figure_files,
    keys_again,
    merge_studies,
    report_study,
    run_study,
    selected,
    struck_out,
    verify_study,
    with_resume_hint,
)
from allocsolve.errors import FormatError, InvalidOption, UnknownName
from allocsolve.families import AnyFamily, families, family_of, with_settings
from allocsolve.model import Budget
from allocsolve.pictures.chart import counted, probability, short_number, time_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import TypeAlias

    from allocsolve.bench import Description, Gaps, GateChange, GateReport, Record, SolverScore
    from allocsolve.bench.runs.given import GivenAnswer
    from allocsolve.bench.scores.comparison import PairedStudies, SolverChange
    from allocsolve.bench.scores.statistics import Interval
    from allocsolve.families import Term
    from allocsolve.model import Problem

    #: The head of a column, and its cell of each solver.
    _Column: TypeAlias = tuple[str, Callable[[SolverScore], str]]


def score(args: argparse.Namespace) -> int:
    """Run solvers on problems, keep the records, and show how far each solver is from the best known."""
    from allocsolve.bench.library.design import with_library  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.runs.study import references_of  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.scores.gaps import consistent, stated_remark  # noqa: PLC0415 - when the command runs

    described = {solver.name: solver for solver in bench.describe(_named(args), [args.objective])}
    families = _families(args, described.values())
    problems = [
        (suite, with_settings(problem, settings_of(args), source, tighten=True))
        for name in args.files
        for suite, source, problem in _chosen(list(bench.problems_of(name)), families)
    ]
    family = bench.family_of_all([problem for _, problem in problems])
    answers = _answers(args, [problem for _, problem in problems])
    minimised = family.parse_objective(args.objective)
    args.objective = ",".join(minimised)
    args.baseline = args.baseline or family.baseline
    solvers = [*described.values(), *({args.baseline} - {*described})]
    budget = Budget(seconds=args.seconds, workers=args.workers, seed=args.seed)
    stated = Catalogue(references=references_of(args.files))
    given = bench.plan(problems, answers, objective=args.objective, budgets=[budget])
    tasks = [*bench.plan(problems, solvers, objective=args.objective, budgets=[budget]), *given]
    rows, table = _outputs(args)
    with bench.RecordStore(rows, tell=remark) as store:
        store.add_catalogue(stated)
        again = keys_again(args, tasks, store)
        reused = Reused(tasks, store, rows, again)
        if reused.line and not args.json:
            say(reused.line)
        with (
            with_resume_hint(store, rows),
            count_bar("starting") as progress,
            bench.open_executor("local", jobs=1) as cells,
        ):
            bench.run(given, store=store, again=again)  # in this process: no other can make them by a name
            again -= {task.key for task in given}
            records = bench.run(
                tasks,
                store=store,
                again=again,
                executor=cells,
                policy_seconds=args.policy_seconds,
                progress=progress,
                announce=progress.announce,
            )
        known = with_library(replace(stated, suites={task.key.digest: task.suites for task in tasks}))
        drawn = _written(args, table, records, known, store)
    tidy = bench.gap_rows(records, known) if args.json else ()
    counting, known, contradictions = consistent(records, known)
    scores, best_by_digest = bench.solver_scores(counting, known), bench.best(counting, known)
    counts = {
        "optima_proven": sum(on.proven for on in best_by_digest.values()),
        "bounds_certified": sum(on.certified for on in best_by_digest.values()),
        "bounds_verified": sum(on.verified for on in best_by_digest.values()),
        "bounds_stated": sum(bool(on.bound_stated_by) for on in best_by_digest.values()),
    }
    failed = [record for record in records if record.error]
    if args.json:
        write_json(
            {
                "objective_name": args.objective,
                "baseline": args.baseline,
                "tolerance_s": args.tolerance,
                "problems": len(best_by_digest),
                **counts,
                "unit": family.term(minimised[0]).unit,
                "scores": scores,
                "rows": tidy,
                "failures": failure_fields(failed),
                "contradictions": [str(contradiction) for contradiction in contradictions],
                "records": rows,
                "csv": table,
                "figures": drawn,
                "reused": reused.fields,
            }
        )
    else:
        total, (proven, certified, verified, bounds_stated) = len(best_by_digest), counts.values()
        terms = [family.term(name) for name in minimised]
        _show_scores(scores, terms, args.objective, total, proven, whole=args.verbose)
        cautions = filter(None, dict.fromkeys(family.view.caution(problem) for _, problem in problems))
        say("", *map(struck_out, contradictions), *_remarks(scores), *_rounded(answers), *cautions)
        say(*failure_lines(failed, rows, verbose=args.verbose))
        say(
            f"Baseline {args.baseline}: {proven} of {total} optima proven.",
            f"Bounds: {certified} of {total} recomputed (certified), "
            f"{f'{verified} of these verified, ' if verified else ''}the others as claimed by a solver"
            f"{' or stated by a suite' if bounds_stated else ''}.",
            *filter(None, [stated_remark(best_by_digest.values(), "these runs")]),
            f"Records: {rows}, CSV: {table}"
            if rows
            else "Records are not kept: --out DIR keeps them, and a table of them.",
            *([f"LaTeX: {args.latex}"] if args.latex else []),
            *([f"{counted(len(drawn), 'figure')}: {args.figures}"] if args.figures else []),
        )
    return 1 if failed or contradictions else 0


def _outputs(args: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """Return the files of the records and of the table, if they are asked for; all files can be written."""
    check_outputs(args.latex, inputs=args.solution, force=args.force)
    check_figures(args, force=True)  # as the table, they are those of the last call
    if args.out is None:
        return None, None
    make_folder(args.out)
    check_writable(args.out / "scores.csv")
    return args.out / "records.sqlite", args.out / "scores.csv"


def _written(
    args: argparse.Namespace,
    table: Path | None,
    records: Sequence[Record],
    known: Catalogue,
    store: bench.RecordStore,
) -> list[Path]:
    """Write the tables and figures that are asked for, and return the files of the figures."""
    if table is not None:
        bench.export(records, table, known)
    if args.latex is not None:
        _write_latex(args.latex, records, known)
    if args.figures is None:
        return []
    return figure_files(args, report.examine(records, catalogue=known), store)


def _named(args: argparse.Namespace) -> list[str]:
    """Return the names of the solvers."""
    if not args.solvers and not args.solution:
        raise InvalidOption("nothing to compare: name --solvers, --solution or both")
    return [*args.solvers, *([args.baseline] if args.baseline else [])]


def _answers(args: argparse.Namespace, problems: Sequence[Problem]) -> list[GivenAnswer]:
    """Return the answers that stand in files.

    Raises `InvalidOption` if it is not clear which problem they answer, or there is nothing to tolerate.
    """
    if not args.solution:
        if args.tolerance:
            raise InvalidOption("--tolerance is for --solution: what solvers return is judged exactly")
        return []
    if len(problems) != 1:
        raise InvalidOption(f"--solution is for one problem, not for {len(problems)}")
    return [given_answer(path, problems[0], tolerance=args.tolerance, tell=remark) for path in args.solution]


def _families(args: argparse.Namespace, solvers: Collection[Description]) -> list[AnyFamily]:
    """Return the families that have all the solvers and the objective."""
    terms = set(args.objective.split(",")) if args.objective else set()
    return [
        family
        for family in families()
        if terms <= {*family.term_names} and all(family.kind in solver.kinds for solver in solvers)
    ]


def _chosen(
    read: list[tuple[str, str, Problem]], families: list[AnyFamily]
) -> list[tuple[str, str, Problem]]:
    """Return the problems of these families, of a suite that has several; all if there is none."""
    return [row for row in read if family_of(row[2]) in families] or read


def _write_latex(path: Path, records: Sequence[Record], known: Catalogue) -> None:
    """Write the tables of all problems together, whatever suites they are of."""
    named = {suites for row in records if (suites := known.suites.get(row.digest, (row.suite,)))}
    together = named.pop() if len(named) == 1 else ("",)
    in_one = replace(known, suites={row.digest: together[:1] for row in records})
    tables = report.latex(report.examine(records, catalogue=in_one))
    path.write_text("\n".join(tables.values()), encoding="utf-8", errors="replace")


def _show_scores(
    scores: Sequence[SolverScore],
    terms: Sequence[Term[Any]],
    objective: str,
    problems: int,
    optima: int,
    *,
    whole: bool,
) -> None:
    # Gaps to optima, where these are proven, need not be those to the best bounds.
    has_two = any(score.optimum_gap not in (None, score.gap) for score in scores)
    what = f"gap of {terms[0].name}" if terms[1:] else "gap"
    reference = "the proven optimum" if optima == problems else "the best bound"
    title = f"{objective} on {counted(problems, 'problem')}: {what} in % to {reference}"
    columns = [*_columns(problems, optima, terms[0].unit, has_two=has_two, whole=whole)]
    shown = ([cell(score) for _, cell in columns] for score in scores)
    show_table([head for head, _ in columns], shown, title=title + ", to proven optima" * has_two)


def _columns(problems: int, optima: int, unit: str, *, has_two: bool, whole: bool) -> Iterator[_Column]:
    """Yield head and cells of each column.

    Of one problem there is no mean and no median. Counts that few ask for belong to the `whole` table.
    """
    value, names = (
        f"value, {unit}" if unit else "value",
        ["mean", "median", "max"][-1 if problems == 1 else 0 :],
    )
    yield "\nsolver", lambda score: score.solver
    yield (
        value if problems == 1 else f"{value}\nmean",
        lambda score: "-" if score.mean_value is None else short_number(score.mean_value),
    )
    for name in names:
        yield _gap_column("bound" if has_two else "gap", name, lambda score: score.gap, problems)
    for name in names if has_two else ():
        yield _gap_column("opt.", name, lambda score: score.optimum_gap, problems)
    yield "optimal", lambda score: f"{score.optimal}/{optima}" if optima else "-"
    if whole:
        yield "on", lambda score: str(score.optimum_gap.count if score.optimum_gap else 0)
        yield "proven", lambda score: str(score.proven)
        yield "best", lambda score: str(score.best)
        yield "failed", lambda score: str(score.failed)
    yield "time", lambda score: time_text(score.mean_runtime_s)


def _gap_column(head: str, name: str, gaps: Callable[[SolverScore], Gaps | None], problems: int) -> _Column:
    shown = head if problems == 1 else f"{head}\n{name}"
    return shown, lambda score: _percent(getattr(gaps(score), name, None), digits=1)


def _remarks(scores: Sequence[SolverScore]) -> Iterator[str]:
    """Yield what the table does not show."""
    for score in scores:
        if score.unanswered:
            yield f"{score.solver}: no answer to {score.unanswered} of {score.instances}"
        if score.unbounded:
            yield f"{score.solver}: no bound is known for {score.unbounded} of its answers"


def _rounded(answers: Sequence[GivenAnswer]) -> Iterator[str]:
    """Yield which answers are none without the tolerance."""
    for answer in answers:
        if answer.tolerance:
            within = f"judged within {answer.tolerance:g} s"
            yield f"{answer.name}: {within}; it refutes no bound and is not the best known"


_CHANGE_HEADS = (
    *("\nsolver", "\nobjective", "\nproblems", "\nbetter", "\nequal", "\nworse"),
    *("newly\nsolved", "newly\nfailed", "proven\nbefore", "\nafter", "change of\nvalue, %", "p\n(Holm)"),
)
_GAP_HEADS = (
    *("\nsolver", "\nobjective", "mean gap, %\nbefore", "\nafter", "\nchange", "time\nafter / before"),
)


def compare_studies(args: argparse.Namespace) -> int:
    """Pair the runs of two studies and show what changed, solver by solver."""
    from allocsolve.bench.scores.comparison import pair_studies  # noqa: PLC0415 - when the command runs
    from allocsolve.bench.scores.gaps import consistent  # noqa: PLC0415 - when the command runs

    with (
        bench.RecordStore(args.before, read_only=True, tell=remark) as earlier,
        bench.RecordStore(args.after, read_only=True, tell=remark) as later,
    ):
        sides = [list(earlier), list(later)]
        catalogue = earlier.catalogue().merged(later.catalogue())
    chosen, catalogue = selected(args, [row for side in sides for row in side], catalogue)
    rows, catalogue, contradictions = consistent(chosen, catalogue)
    counting = {id(row) for row in rows}
    before, after = ([row for row in side if id(row) in counting] for side in sides)
    paired = pair_studies(before, after, catalogue)
    if args.json:
        fields = {field.name: getattr(paired, field.name) for field in dataclasses.fields(paired)}
        refuted = [str(contradiction) for contradiction in contradictions]
        write_json({"before": args.before, "after": args.after, **fields, "contradictions": refuted})
    else:
        say(*map(struck_out, contradictions))
        if paired.changes:
            title = f"{args.after} against {args.before}, {counted(paired.pairs, 'pair')} of runs"
            show_table(_CHANGE_HEADS, map(_change_row, paired.changes), title=title, texts=(0, 1))
            say("")
            show_table(_GAP_HEADS, map(_gap_row, paired.changes), texts=(0, 1))
            say("")
        say(*_change_remarks(paired))
    return 1 if contradictions else 0


def _change_row(change: SolverChange) -> tuple[str, ...]:
    return (
        *(change.entrant, change.objective),
        *map(str, (change.instances, change.better, change.equal, change.worse)),
        *map(str, (change.newly_solved, change.newly_failed, change.proven_before, change.proven_after)),
        _percent(change.difference, change.difference_interval, sign="+"),
        probability(change.p_holm),
    )


def _gap_row(change: SolverChange) -> tuple[str, ...]:
    return (
        *(change.entrant, change.objective, _percent(change.gap_before), _percent(change.gap_after)),
        _percent(change.gap_change, change.gap_change_interval, sign="+"),
        _ratio(change.time_ratio, change.time_ratio_interval),
    )


def _percent(fraction: float | None, interval: Interval = None, *, sign: str = "", digits: int = 2) -> str:
    if fraction is None:
        return "-"
    low, high = interval or (0.0, 0.0)
    ends = f" [{100 * low:{sign}.{digits}f}, {100 * high:{sign}.{digits}f}]" if interval else ""
    return f"{100 * fraction:{sign}.{digits}f}{ends}"


def _ratio(ratio: float | None, interval: Interval) -> str:
    if ratio is None:
        return "-"
    ends = f" [{interval[0]:.3g}, {interval[1]:.3g}]" if interval else ""
    return f"{ratio:.3g}{ends}"


def _change_remarks(paired: PairedStudies) -> Iterator[str]:
    """Yield what must be known to read the table."""
    if paired.pairs:
        yield "Below 0 is better. In brackets: 95 % intervals over the problems, by bootstrap. p: Wilcoxon."
    else:
        yield "No run has a counterpart: of the same problem, solver, objective, budget and seed."
    for name, (before, after) in paired.machine_differences.items():
        yield f"Times do not compare, {name} differs: {', '.join(before)} before, {', '.join(after)} after."
    if paired.stated:
        yield paired.stated
    if paired.same_code:
        yield f"The same code made both: {', '.join(paired.same_code)}."
    for side, counts in (("before", paired.unpaired_before), ("after", paired.unpaired_after)):
        if counts:
            listed = ", ".join(f"{solver} {count}" for solver, count in counts.items())
            yield f"Runs that only stand in the study {side}: {listed}."


#: Where the options of the command may stand, too, each by its name.
_PROJECT: Final = Path("pyproject.toml")
_TABLE: Final = "tool.allocsolve.gate"
_FIELDS: Final = ("baseline", "suite", "solvers")


def gate(args: argparse.Namespace) -> int:
    """Run a suite and compare it with the baseline, or write the baseline."""
    options = {"suite": None, "solvers": None, **_table()}
    options |= {name: given for name in _FIELDS if (given := getattr(args, name)) is not None}
    if "baseline" not in options:
        raise InvalidOption(f"there is neither --baseline nor a baseline in [{_TABLE}] of {_PROJECT}")
    if args.update:
        check_writable(Path(options["baseline"]))
    with count_bar("gate") as progress, bench.open_executor("local", jobs=1) as cells:
        report = bench.run_gate(
            **options, update=args.update, executor=cells, progress=progress, announce=progress.announce
        )
    if args.json:
        fields = {name: getattr(report, name) for name in report.__dataclass_fields__}
        write_json({"passed": report.passed, **fields})
    else:
        _show(report)
    return 0 if report.passed else 1


def _table() -> dict[str, Any]:
    """Return the table of the gate in the project file of the current folder; empty if there is none."""
    if not _PROJECT.is_file():
        return {}
    try:
        document = tomllib.loads(_PROJECT.read_bytes().decode())
    except (ValueError, RecursionError) as error:  # of the decoder, and of huge integers
        raise FormatError(str(_PROJECT), [str(error)]) from None
    table: Any = document
    for name in _TABLE.split("."):
        table = table.get(name, {})
        if not isinstance(table, dict):
            raise FormatError(str(_PROJECT), [f"{name}: {table!r} is not a table"])
    faults = []
    for name, value in table.items():
        if name not in _FIELDS:
            faults.append(f"{_TABLE}: {UnknownName('field', name, _FIELDS)}")
        elif name != "solvers" and not isinstance(value, str):
            faults.append(f"{_TABLE}.{name}: {value!r} is not a text")
        elif name == "solvers" and not (
            isinstance(value, list) and all(isinstance(item, str) for item in value)
        ):
            faults.append(f"{_TABLE}.{name}: {value!r} is not a list of names")
    if faults:
        raise FormatError(str(_PROJECT), faults)
    return dict(table)


def _show(report: GateReport) -> None:
    if report.changes:
        # Gaps are fractions, times in units of the walk, as in the file.
        heads = ("what", "kind", "solver", "problem", "baseline", "now", "change")
        show_table(heads, map(_gate_row, report.changes), texts=(0, 1, 2, 3))
        say("", *_errors(report))
    if report.faster and not report.updated:
        names = ", ".join(f"{change.solver} ({change.before} -> {change.now})" for change in report.faster)
        remark(f"faster than in {report.baseline}, and held to the old times until an --update: {names}")
    ran = (
        f"{report.suite}: {counted(report.problems, 'problem')}, {counted(report.solvers, 'solver')}, "
        f"{report.timed} of them timed"
    )
    count = counted(len(report.changes), "change")
    if report.updated:
        say(f"{ran}; {count}, written to {report.baseline}")
    elif report.passed:
        say(f"{ran}; as in {report.baseline}")
    else:
        say(f"{ran}; {count} from {report.baseline}", "Where they are meant, accept them with --update.")


def _gate_row(change: GateChange) -> tuple[str, ...]:
    # The reason of a failure is a sentence: below the table.
    values = ["" if value is None else str(value) for value in (change.before, change.now)]
    if _failed(change):
        values[1] = ""
    texts = (change.what, change.kind, change.solver, change.problem, *values, change.relative)
    return tuple(text or "-" for text in texts)


def _failed(change: GateChange) -> bool:
    return change.what in ("refuted", "failed")


def _errors(report: GateReport) -> Iterator[str]:
    for change in report.changes:
        if _failed(change):
            yield str(change)


def add_score(parser: argparse.ArgumentParser) -> None:
    """Add the options of `score`."""
    make_command(parser, score)
    help_text = "problems, directories of problems, or names of suites"
    parser.add_argument("files", nargs="+", metavar="FILE|SUITE", help=help_text)
    compared = parser.add_argument_group("what is compared")
    compared.add_argument(
        "--solvers", type=opt.solvers, default=[], metavar="A,B,...", help="the solvers to compare"
    )
    help_text = (
        "solutions of one problem to compare with the solvers: files of this program, or CSV tables "
        "(of schedules job,start,end,nodes, or those of Batsim, evalys, ElastiSim)"
    )
    compared.add_argument(
        "--solution", type=opt.paths, action="extend", default=[], metavar="FILE,...", help=help_text
    )
    opt.add_tolerance(compared)
    exact = ", ".join(f"{family.baseline} for {family.kind}" for family in families())
    help_text = f"the solver that gives bounds and optima, run as well (default: {exact})"
    compared.add_argument("--baseline", type=opt.solver, metavar="NAME", help=help_text)
    opt.add_objective(parser, compared)
    opt.add_settings(compared, "solve the problems with this tighter value")
    limits = parser.add_argument_group("limits")
    opt.add_budget(limits, "time limit per problem and solver in seconds (default: %(default)s)", 10.0)
    opt.add_policy_seconds(limits)
    opt.add_seed(limits)
    output = parser.add_argument_group("output")
    help_text = (
        "keep records.sqlite and scores.csv in this folder, and do not repeat the runs recorded there "
        "(default: nothing is kept)"
    )
    output.add_argument("--out", type=Path, metavar="DIR", help=help_text)
    help_text = "write the gaps and the pairs of solvers as LaTeX tables to this file"
    output.add_argument("--latex", type=Path, metavar="FILE.tex", help=help_text)
    add_figures(output)
    opt.add_force(output)
    opt.add_rerun(output)


def add_gate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gate`."""
    make_command(parser, gate)
    parser.epilog = (
        "Defaults can be set in [tool.allocsolve.gate] of pyproject.toml: baseline, suite, solvers."
    )
    help_text = "earlier results, which must not get worse: a file that --update has written"
    parser.add_argument("--baseline", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("--update", action="store_true", help="write the baseline, whatever has changed")
    help_text = (
        "the suite to run, or a directory of problems (default: that of the baseline; tiny for a new one)"
    )
    parser.add_argument("--suite", metavar="SUITE", help=help_text)
    help_text = (
        "the solvers (default: those of the baseline; all heuristics and exact baselines for a new one)"
    )
    parser.add_argument("--solvers", type=opt.solvers, metavar="A,B,...", help=help_text)


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add one command per thing to do with studies below `study`."""
    steps = commands_of(parser, "step")
    text = "run what has not been run yet; the same command goes on after any interruption"
    run = add_command(steps, "run", run_study, text)
    run.add_argument("file", metavar="STUDY.toml", help="suites, solvers, seeds and budgets")
    text = "the file of the records (default: STUDY.sqlite beside STUDY.toml)"
    run.add_argument("--out", type=Path, metavar="FILE", help=text)
    opt.add_executor(run)
    opt.add_rerun(run)
    export = add_command(steps, "export", export_study, "write the records as a table")
    export.add_argument("study", type=Path, metavar="STUDY.sqlite", help="the records")
    _add_selection(export)
    text = "the table: .csv, .json or .parquet"
    export.add_argument("--out", type=Path, required=True, metavar="FILE", help=text)
    opt.add_force(export)
    report = add_command(steps, "report", report_study, "write a report of the records")
    report.add_argument("study", type=Path, metavar="STUDY.sqlite", help="the records")
    _add_selection(report)
    output = report.add_argument_group("output")
    text = "the page, one file that needs nothing else; its tables as Markdown if the name ends in .md"
    opt.add_outputs(output, text, "FILE.html,FILE.md", required=True)
    text = "write the gaps and the pairs of solvers as LaTeX tables into this folder"
    output.add_argument("--latex", type=Path, metavar="DIR", help=text)
    add_figures(output)
    opt.add_force(output)
    text = "have the judge recompute every solution, value, metric and certified bound"
    verify = add_command(steps, "verify", verify_study, text)
    verify.add_argument("study", type=Path, metavar="STUDY.sqlite", help="the records")
    text = "confirm certified bounds by the verified checker first, and mark them in the records"
    verify.add_argument("--verified", action="store_true", help=text)
    merge = add_command(steps, "merge", merge_studies, "add the records of some files to another")
    text = "the file to add to; made if it does not exist"
    merge.add_argument("out", type=Path, metavar="OUT.sqlite", help=text)
    text = "the files whose records are added"
    merge.add_argument("studies", type=Path, nargs="+", metavar="IN.sqlite", help=text)
    text = "pair the runs of two studies: whether a new version helped"
    compare = add_command(steps, "compare", compare_studies, text)
    compare.add_argument("before", type=Path, metavar="BEFORE.sqlite", help="the records of a study")
    compare.add_argument("after", type=Path, metavar="AFTER.sqlite", help="the records of a later study")
    _add_selection(compare)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    selection = parser.add_argument_group("selection")
    text = "only the records of these solvers, as if there were no others"
    selection.add_argument("--solvers", type=opt.names, default=[], metavar="A,B,...", help=text)
    text = "all records but those of these solvers"
    selection.add_argument("--exclude", type=opt.names, default=[], metavar="A,B,...", help=text)
    text = "only the records of these suites; `files`: problems given as files"
    selection.add_argument("--suite", type=opt.names, default=[], dest="suites", metavar="A,B,...", help=text)
