"""What schedules claim to be: the judgement of `check --claims`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli import options as opt
from allocsolve.cli.files import check_outputs, problem_from, source_name
from allocsolve.cli.output import remark, say, show_fields, write_json
from allocsolve.errors import InvalidOption
from allocsolve.families import families, family_of, with_settings
from allocsolve.instances import read_solution
from allocsolve.pictures.chart import counted
from allocsolve.report.plain import plain

if TYPE_CHECKING:
    import argparse


def check_claims(args: argparse.Namespace) -> int:
    """Name the first breach of each claim; the exit status says whether all hold."""
    for option in ("certificate", "verified", "cross_check", "out"):
        if getattr(args, option):
            raise InvalidOption(f"--{option.replace('_', '-')} is about bounds: it does not go with --claims")
    check_outputs(args.plot, inputs=[args.file, args.solution], force=args.force)
    problem = with_settings(problem_from(args.file), opt.settings_of(args), source_name(args.file))
    family = family_of(problem)
    claims = family.claims
    if claims is None:
        having = ", ".join(each.kind for each in families() if each.claims is not None)
        msg = f"only answers of the family {having} have claims, this is of the family {family.kind}"
        raise InvalidOption(f"{source_name(args.file)}: {msg}")
    answer = read_solution(args.solution, problem, tell=remark)
    fields, missing = claims.left_out(problem, answer)
    found = claims.breaches(problem, answer, args.claims, tolerance=args.tolerance)
    breaches = {breach.claim: breach for breach in found}
    first = min(breaches.values(), key=lambda breach: breach.at, default=None)
    drawn = args.plot is not None and first is not None
    if drawn:
        args.plot.write_text(str(claims.picture(problem, answer, first)), encoding="utf-8")
    if args.json:
        rows = {claim: plain(breaches.get(claim)) for claim in args.claims}
        document = {"holds": not breaches, "tolerance_s": args.tolerance, **fields, "breaches": rows}
        write_json(document)
        return 1 if breaches else 0
    within = f" within {args.tolerance:g} s" if args.tolerance else ""
    show_fields(
        (claim, f"broken: {breaches[claim].message}" if claim in breaches else "holds")
        for claim in args.claims
    )
    say("")
    if missing:
        say(missing)
    if breaches:
        verb = "does" if len(breaches) == 1 else "do"
        say(f"{len(breaches)} of {counted(len(args.claims), 'claim')} {verb} not hold{within}")
    else:
        say(f"all hold{within} ({family.view.describe(problem)})")
    if args.plot is not None:
        say(f"plot written to {args.plot}" if drawn else f"no breach, so {args.plot} was not written")
    return 1 if breaches else 0
