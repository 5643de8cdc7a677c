"""The options of the commands that solve, judge and compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import library, options as opt, score, solve, solvers, study
from allocsolve.cli.convert import add_exports, convert, import_log
from allocsolve.cli.figures import add_figures
from allocsolve.cli.machine_options import add_machine_options
from allocsolve.cli.network import add_network_import
from allocsolve.cli.parser import add_command, commands_of, make_command
from allocsolve.cli.score import compare_studies, gate
from allocsolve.cli.solvers import conformance, warm
from allocsolve.cli.study import report_study
from allocsolve.families import families
from allocsolve.instances import PACKAGED
from allocsolve.instances.formats.logs.log import LIMITS, ORIGINS, SWF_UNITS
from allocsolve.instances.formats.logs.tables import LOG_TABLES
from allocsolve.instances.formats.simulators.conversion import CONVERSIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from allocsolve.cli.parser import Commands
    from allocsolve.instances.formats.logs.tables import LogTable


def add_solve(parser: argparse.ArgumentParser) -> None:
    """Add the options of `solve`."""
    make_command(parser, solve.solve)
    parser.add_argument("file", metavar="FILE", help="a problem; - for stdin")
    help_text = "as `allocsolve solvers` lists them, or file.py:object; name(option=value, ...)"
    parser.add_argument("--solver", type=opt.solver, required=True, metavar="NAME", help=help_text)
    _add_objective(parser)
    _add_set(parser, "solve the problem with a tighter value of a field")
    opt.add_budget(parser, "time limit in seconds (default: %(default)s)", 60.0)
    _add_seed(parser)
    help_text = "go on from earlier runs: a solution, a certificate, or both; for solvers that can"
    parser.add_argument(
        "--start", type=opt.paths, action="extend", default=[], metavar="FILE,...", help=help_text
    )
    parser.add_argument("--out", type=Path, metavar="SOLUTION", help="write the solution to this file")
    help_text = "write what proves the bound to this file (compressed if its name ends in .gz)"
    parser.add_argument("--certificate", type=Path, metavar="FILE", help=help_text)
    help_text = "draw the solution into this file"
    parser.add_argument("--plot", type=opt.picture, metavar="FILE.svg", help=help_text)
    add_exports(parser)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    make_command(parser, solve.check)
    parser.add_argument("file", metavar="FILE", help="a problem; - for stdin")
    parser.add_argument("solution", metavar="SOLUTION", help="a solution of it, or a certificate of a bound")
    help_text = "a certificate: do the two of them prove that the solution is optimal?"
    parser.add_argument("--proof", type=Path, metavar="FILE", help=help_text)
    help_text = "write problem and certificate as the text that the verified checker reads (docs/trust.md)"
    parser.add_argument("--export", type=Path, metavar="FILE", help=help_text)
    help_text = "have the verified checker confirm the bound, too; `make verify` builds it in a checkout"
    parser.add_argument("--verified", action="store_true", help=help_text)
    help_text = "have a solver of others search so long for what is below the bound (docs/trust.md)"
    parser.add_argument("--cross-check", type=opt.seconds, metavar="SECONDS", help=help_text)
    _add_set(parser, "judge under this value of a field instead of that of the file")
    _add_tolerance(parser)
    add_exports(parser)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def add_conformance(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conformance`."""
    make_command(parser, conformance)
    parser.add_argument("file", metavar="FILE", help="a workload; - for stdin")
    help_text = "a solution of it, or a CSV table of Batsim, evalys or ElastiSim"
    parser.add_argument("schedule", metavar="SCHEDULE", help=help_text)
    meanings = "; ".join(f"{claim}: {meaning}" for claim, meaning in opt.known_claims().items())
    help_text = f"what it claims, as docs/easy.md defines it ({meanings})"
    parser.add_argument("--claims", type=opt.claims, required=True, metavar="A,B,...", help=help_text)
    _add_tolerance(parser)
    help_text = "draw the first breach of all into this file: the schedule around the instant, the job marked"
    parser.add_argument("--picture", type=opt.picture, metavar="FILE.svg", help=help_text)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def _add_tolerance(parser: argparse.ArgumentParser) -> None:
    """Add what times of a schedule may be off."""
    help_text = (
        "by how many seconds times of a workload's schedule may be off, for one that was rounded: "
        ".001 if it is given to the millisecond (default: 0)"
    )
    parser.add_argument("--tolerance", type=opt.tolerance, default=0.0, metavar="SECONDS", help=help_text)


def add_solvers(parser: argparse.ArgumentParser) -> None:
    """Add the options of `solvers`."""
    make_command(parser, solvers.solvers)
    help_text = "show this one: what it does, its options and short names"
    parser.add_argument("name", nargs="?", type=opt.solver, metavar="NAME", help=help_text)


def add_warm(parser: argparse.ArgumentParser) -> None:
    """Add the options of `warm`."""
    make_command(parser, warm)
    help_text = "these solvers only (default: all but plug-ins)"
    parser.add_argument("solvers", nargs="?", type=opt.solvers, metavar="A,B,...", help=help_text)
    help_text = "remove all compiled kernels from disk first, and compile nothing unless solvers are named"
    parser.add_argument("--clear", action="store_true", help=help_text)


def add_score(parser: argparse.ArgumentParser) -> None:
    """Add the options of `score`."""
    make_command(parser, score.score)
    help_text = "problems, directories of problems, or names of suites (of mixed ones, what the solvers take)"
    parser.add_argument("files", nargs="+", metavar="FILE|SUITE", help=help_text)
    parser.add_argument(
        "--solvers", type=opt.solvers, default=[], metavar="A,B,...", help="the solvers to compare"
    )
    help_text = (
        "answers to compare with them, whoever made them: files of this program, CSV tables "
        "(of schedules job,start,end,nodes, or those of Batsim, evalys, ElastiSim); may be given again"
    )
    parser.add_argument(
        "--answers", type=opt.paths, action="extend", default=[], metavar="FILE,...", help=help_text
    )
    _add_tolerance(parser)
    exact = ", ".join(f"{family.baseline} for {family.kind}" for family in families())
    help_text = f"the solver that gives bounds and optima, run as well (default: {exact})"
    parser.add_argument("--baseline", type=opt.solver, metavar="NAME", help=help_text)
    _add_objective(parser)
    _add_set(parser, "solve the problems with a tighter value of a field")
    opt.add_budget(parser, "time limit per problem and solver in seconds (default: %(default)s)", 10.0)
    opt.add_policy_seconds(parser)
    _add_seed(parser)
    help_text = "where records.sqlite and scores.csv go; what is there is not run again (default: out)"
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help=help_text)
    help_text = "write gaps and pairs of solvers as LaTeX tables to this file, too"
    parser.add_argument("--latex", type=Path, metavar="FILE.tex", help=help_text)
    add_figures(parser)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)
    opt.add_again(parser)


def add_gate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gate`."""
    make_command(parser, gate)
    parser.epilog = (
        "Defaults may stand in [tool.allocsolve.gate] of pyproject.toml: baseline, suite, solvers."
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
    text = "the file of the records (default: STUDY.sqlite)"
    run.add_argument("--out", type=Path, metavar="FILE", help=text)
    opt.add_executor(run)
    opt.add_again(run)
    export = add_command(steps, "export", study.export_study, "write the records as a table")
    export.add_argument("study", type=Path, metavar="STUDY.sqlite", help="the records")
    _add_selection(export)
    text = "the table: .csv, .json or .parquet"
    export.add_argument("--out", type=Path, required=True, metavar="FILE", help=text)
    export.add_argument("--force", action="store_true", help=opt.FORCE_HELP)
    report = add_command(steps, "report", report_study, "write a report of the records")
    report.add_argument("study", type=Path, metavar="STUDY.sqlite", help="the records")
    _add_selection(report)
    text = "the page: one file that needs nothing else"
    report.add_argument("--out", type=Path, required=True, metavar="FILE.html", help=text)
    report.add_argument("--markdown", type=Path, metavar="FILE.md", help="its tables as Markdown, too")
    text = "its gaps and pairs of solvers as LaTeX tables, too"
    report.add_argument("--latex", type=Path, metavar="DIR", help=text)
    add_figures(report)
    report.add_argument("--force", action="store_true", help=opt.FORCE_HELP)
    text = "have the judge recompute every answer, value, metric and certified bound"
    verify = add_command(steps, "verify", study.verify_study, text)
    verify.add_argument("study", type=Path, metavar="STUDY.sqlite", help="the records")
    text = "have the verified checker confirm certified bounds first, and mark them in the records"
    verify.add_argument("--verified", action="store_true", help=text)
    merge = add_command(steps, "merge", study.merge_studies, "add the records of some files to another")
    merge.add_argument("out", type=Path, metavar="OUT.sqlite", help="where they go; made if there is none")
    merge.add_argument("studies", type=Path, nargs="+", metavar="IN.sqlite", help="where they come from")
    text = "pair the runs of two studies: whether a new version helped"
    compare = add_command(steps, "compare", compare_studies, text)
    compare.add_argument("before", type=Path, metavar="BEFORE.sqlite", help="the records of a study")
    compare.add_argument("after", type=Path, metavar="AFTER.sqlite", help="those of a later one")
    _add_selection(compare)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    text = "only the records of these solvers, as if there were no others"
    parser.add_argument("--solvers", type=opt.names, default=[], metavar="A,B,...", help=text)
    text = "all records but those of these solvers"
    parser.add_argument("--exclude", type=opt.names, default=[], metavar="A,B,...", help=text)
    text = "only the records of these suites; `files` are problems of none"
    parser.add_argument("--suites", type=opt.names, default=[], metavar="A,B,...", help=text)


def _add_objective(parser: argparse.ArgumentParser) -> None:
    terms = "; ".join(f"{family.kind}: {', '.join(family.term_names)}" for family in families())
    help_text = f"what to minimise, or several, the first first ({terms}; default: the first)"
    parser.add_argument("--objective", type=opt.objective, metavar="NAME[,NAME]", help=help_text)


def _add_set(parser: argparse.ArgumentParser, help_text: str) -> None:
    fields = "; ".join(
        f"{family.kind}: {name}, {setting.values}"
        for family in families()
        for name, setting in family.settings.items()
    )
    parser.add_argument(
        "--set",
        type=opt.setting,
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help=f"{help_text} ({fields}); may be given again",
    )


def _add_seed(parser: argparse.ArgumentParser) -> None:
    help_text = "seed of every random choice (default: %(default)s)"
    parser.add_argument("--seed", type=opt.integer(0, 2**31 - 1), default=0, metavar="S", help=help_text)


def add_convert(parser: argparse.ArgumentParser) -> None:
    """Add the files and options of `convert`."""
    make_command(parser, convert)
    help_text = "a problem (.json, .csv), a log (see import), a workload of Batsim, jobs of ElastiSim"
    parser.add_argument("source", type=Path, metavar="FROM", help=help_text)
    parser.add_argument("to", type=Path, metavar="TO", help="the file to write; a folder for ElastiSim")
    help_text = "what to write (default: by the name of TO: .json, .csv, .swf, else a folder for elastisim)"
    parser.add_argument("--format", choices=tuple(CONVERSIONS), help=help_text)
    help_text = "a schedule, for formats that hold one: of this program, Batsim, evalys or ElastiSim"
    parser.add_argument("--answer", type=Path, metavar="FILE", help=help_text)
    help_text = "size of the machine, where FROM does not tell it"
    parser.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "jobs that outlive their limits: cut at them, or kept (default: cut if FROM is of Batsim)"
    parser.add_argument("--limits", choices=("cut", "keep"), help=help_text)
    opt.add_time_unit(parser)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)
    parser.epilog = "Logs of machines (windows, cleaning, recorded schedules): allocsolve import."


def add_import(parser: argparse.ArgumentParser) -> None:
    """Add one command per format of logs, and one for networks, below `import`."""
    parser.epilog = "Workloads of simulators (Batsim, ElastiSim) are no logs: allocsolve convert reads them."
    formats = commands_of(parser, "format")
    swf = add_command(formats, "swf", import_log, "a log in the standard workload format, .swf or .swf.gz")
    _add_files(swf)
    help_text = "size of the machine (default: that of the header)"
    swf.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "what sizes count (default: nodes if all are whole nodes by MaxNodes and MaxProcs)"
    swf.add_argument("--unit", choices=SWF_UNITS, help=help_text)
    _add_origin(swf)
    _add_window(swf)
    swf.add_argument(
        "--timezone", default="UTC", metavar="ZONE", help="of --closed and --events (default: %(default)s)"
    )
    swf.set_defaults(time_unit=None)  # they are seconds
    add_machine_options(swf, {"partition"})
    for table in LOG_TABLES.values():
        _add_table(formats, table)
    add_network_import(formats)


def _add_table(formats: Commands, table: LogTable) -> None:
    parser = add_command(formats, table.name, import_log, table.summary)
    _add_files(parser)
    known = f"default: the {table.num_nodes} {table.units[0]} of {table.machine}"
    if not table.num_nodes:
        known = "default: what the log says" if "machine" in table.columns else "which the log does not tell"
    help_text = f"size of the machine, in the unit ({known})"
    parser.add_argument("--nodes", type=opt.integer(1), metavar="N", help=help_text)
    help_text = "what sizes count (default: the first of these that the log tells)"
    parser.add_argument("--unit", choices=table.units, help=help_text)
    help_text = "of times without one, such as Europe/Berlin (default: %(default)s)"
    parser.add_argument("--timezone", default="UTC", metavar="ZONE", help=help_text)
    opt.add_time_unit(parser)
    if table.is_relative:
        _add_origin(parser)
    else:
        parser.set_defaults(origin="first")  # second 0 of such a log is that of Unix
    _add_window(parser)
    add_machine_options(parser, table.columns)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="FILE", help="the log; text may be gzipped, as FILE.gz")
    parser.add_argument("--out", type=Path, required=True, metavar="PROBLEM", help="the problem to write")
    help_text = "write the schedule that the log records to this file, as an answer to the problem"
    parser.add_argument("--recorded", type=Path, metavar="ANSWER", help=help_text)
    help_text = "write what was read, dropped, changed and unusual to this JSON file"
    parser.add_argument("--report", type=Path, metavar="FILE.json", help=help_text)
    parser.add_argument("--force", action="store_true", help=opt.FORCE_HELP)


def _add_origin(parser: argparse.ArgumentParser) -> None:
    help_text = "second 0: submission of the first job, or as in the log (default: %(default)s)"
    parser.add_argument("--origin", choices=ORIGINS, default="first", help=help_text)


def _add_window(parser: argparse.ArgumentParser) -> None:
    help_text = (
        "limits below the run time: raised to it, kept, or the job is cut there (default: %(default)s)"
    )
    parser.add_argument("--limits", choices=LIMITS, default=LIMITS[0], help=help_text)
    help_text = "the first job: its place, from 1, in order of submission (default: 1)"
    parser.add_argument("--from-job", type=opt.integer(1), default=1, metavar="I", help=help_text)
    parser.add_argument("--jobs", type=opt.integer(1), metavar="N", help="how many jobs (default: all)")
    help_text = "jobs of the first S seconds get weight 0: they run, but do not count"
    parser.add_argument("--warm-up", type=opt.seconds, default=0.0, metavar="S", help=help_text)
    help_text = "so do jobs submitted less than S seconds before the last"
    parser.add_argument("--cool-down", type=opt.seconds, default=0.0, metavar="S", help=help_text)


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
    help_text = "a solver besides the exact baseline of each kind of problems; may be given several times"
    added.add_argument(
        "--solver",
        type=opt.solver,
        action="append",
        default=[],
        dest="solvers",
        metavar="NAME",
        help=help_text,
    )
    help_text = "what to minimise, one term (default: the first of each kind)"
    added.add_argument("--objective", type=opt.objective, metavar="NAME", help=help_text)
    opt.add_budget(added, "time limit per problem and solver in seconds (default: %(default)s)", 10.0)
    action("build", library.build, "write the problems that the library is made of, where they are missing")
