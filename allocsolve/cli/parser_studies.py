"""The options of the commands around studies, the regression gate and the instance library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import library, options as opt, study
from allocsolve.cli.figures import add_figures
from allocsolve.cli.parser import add_command, commands_of, make_command
from allocsolve.cli.score import compare_studies, gate
from allocsolve.cli.study import report_study
from allocsolve.instances import PACKAGED

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


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
    run = add_command(steps, "run", study.run_study, text)
    run.add_argument("file", metavar="STUDY.toml", help="suites, solvers, seeds and budgets")
    text = "the file of the records (default: STUDY.sqlite beside STUDY.toml)"
    run.add_argument("--out", type=Path, metavar="FILE", help=text)
    opt.add_executor(run)
    opt.add_rerun(run)
    export = add_command(steps, "export", study.export_study, "write the records as a table")
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
    verify = add_command(steps, "verify", study.verify_study, text)
    verify.add_argument("study", type=Path, metavar="STUDY.sqlite", help="the records")
    text = "confirm certified bounds by the verified checker first, and mark them in the records"
    verify.add_argument("--verified", action="store_true", help=text)
    merge = add_command(steps, "merge", study.merge_studies, "add the records of some files to another")
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


def add_library(parser: argparse.ArgumentParser) -> None:
    """Add one command per thing to do with the instance library below `library`."""
    actions = commands_of(parser, "action")

    def action(name: str, run: Callable[[argparse.Namespace], int], summary: str) -> argparse.ArgumentParser:
        added = add_command(actions, name, run, summary)
        help_text = "the folder of the library (default: that of the package)"
        added.add_argument("--library", type=Path, default=PACKAGED, metavar="DIR", help=help_text)
        return added

    action("list", library.list_suites, "list the suites, and how many of their optima are proven")
    added = action("verify", library.verify, "have the judge recompute all that is known of suites")
    added.add_argument("suites", nargs="*", metavar="SUITE", help="names of suites (default: all)")
    added = action("improve", library.improve, "look for better solutions and bounds of open instances")
    added.add_argument("suites", nargs="+", metavar="SUITE", help="names of suites")
    help_text = "solvers to run besides the exact baseline of each kind of problems"
    added.add_argument("--solvers", type=opt.solvers, default=[], metavar="A,B,...", help=help_text)
    opt.add_objective(added, added)
    opt.add_budget(added, "time limit per problem and solver in seconds (default: %(default)s)", 10.0)
    action("build", library.build, "write the problems that the library is made of, where they are missing")
