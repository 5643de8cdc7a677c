"""The options of the commands that solve, judge and compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli import options as opt, score, solve, solvers
from allocsolve.cli.figures import add_figures
from allocsolve.cli.parser import make_command
from allocsolve.cli.solvers import warm
from allocsolve.families import families

if TYPE_CHECKING:
    import argparse


def add_solve(parser: argparse.ArgumentParser) -> None:
    """Add the options of `solve`."""
    make_command(parser, solve.solve)
    parser.add_argument("file", metavar="FILE", help="a problem; - for stdin")
    search = parser.add_argument_group("search")
    help_text = "a solver of `allocsolve solvers`, or file.py:object; options follow: NAME(option=value)"
    search.add_argument("--solver", type=opt.solver, required=True, metavar="NAME", help=help_text)
    opt.add_objective(parser, search)
    opt.add_settings(search, "solve the problem with this tighter value")
    opt.add_budget(search, "time limit in seconds (default: %(default)s)", 60.0)
    opt.add_seed(search)
    help_text = "results of earlier runs to go on from: a solution, a certificate, or both"
    search.add_argument(
        "--start", type=opt.paths, action="extend", default=[], metavar="FILE,...", help=help_text
    )
    output = parser.add_argument_group("output")
    output.add_argument("--out", type=Path, metavar="SOLUTION", help="write the solution to this file")
    help_text = "write what proves the bound to this file (compressed if its name ends in .gz)"
    output.add_argument("--certificate", type=Path, metavar="FILE", help=help_text)
    help_text = "draw the solution into this file"
    output.add_argument("--plot", type=opt.picture, metavar="FILE.svg", help=help_text)
    opt.add_force(output)


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    make_command(parser, solve.check)
    parser.add_argument("file", metavar="FILE", help="a problem; - for stdin")
    help_text = "a solution of it, a CSV table of Batsim, evalys or ElastiSim, or a certificate of a bound"
    parser.add_argument("solution", metavar="SOLUTION", help=help_text)
    judged = parser.add_argument_group("what is judged")
    help_text = "claims about a schedule, of those below: print whether each holds, in place of the metrics"
    judged.add_argument("--claims", type=opt.claims, metavar="A,B,...", help=help_text)
    opt.add_settings(judged, "judge under this value")
    opt.add_tolerance(judged)
    proofs = parser.add_argument_group("proofs")
    help_text = "certificate of the bound; reports whether it proves SOLUTION optimal"
    proofs.add_argument("--certificate", type=Path, metavar="FILE", help=help_text)
    help_text = "confirm the bound by the verified checker, too; `make verify` builds it in a checkout"
    proofs.add_argument("--verified", action="store_true", help=help_text)
    help_text = "let an independent solver search SECONDS for a solution below the bound"
    proofs.add_argument("--cross-check", type=opt.seconds, metavar="SECONDS", help=help_text)
    output = parser.add_argument_group("output")
    help_text = "write problem and certificate as the text that the verified checker reads (docs/trust.md)"
    output.add_argument("--out", type=Path, metavar="FILE", help=help_text)
    help_text = "draw the solution into this file; with --claims its first breach, the job marked"
    output.add_argument("--plot", type=opt.picture, metavar="FILE.svg", help=help_text)
    opt.add_force(output)
    opt.add_notes(parser, "claims, as docs/easy.md defines them", opt.known_claims())


def add_solvers(parser: argparse.ArgumentParser) -> None:
    """Add the options of `solvers`."""
    make_command(parser, solvers.solvers)
    help_text = "show the options and short names of this solver, or list the solvers of this family"
    parser.add_argument("name", nargs="?", type=opt.solver_or_family, metavar="NAME|FAMILY", help=help_text)


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
