"""The command that holds a schedule to what it claims to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.files import check_outputs, problem_from, source_name
from allocsolve.cli.output import plain, remark, say, show_fields, write_json
from allocsolve.errors import InvalidOption
from allocsolve.families import family_of
from allocsolve.instances import read_solution
from allocsolve.judge import workload_breaches
from allocsolve.model import WorkloadProblem, WorkloadSchedule
from allocsolve.pictures.text import counted
from allocsolve.pictures.workload_breach import breach_picture

if TYPE_CHECKING:
    import argparse

__all__ = ["conformance"]


def conformance(args: argparse.Namespace) -> int:
    """Name the first breach of each claim; the exit status says whether all hold."""
    check_outputs(args.picture, inputs=[args.file, args.schedule], force=args.force)
    problem = problem_from(args.file)
    source = source_name(args.file)
    if not isinstance(problem, WorkloadProblem):
        kind = family_of(problem).kind
        msg = f"{source}: only schedules of workloads have claims, this is of the family {kind}"
        raise InvalidOption(msg)
    schedule = read_solution(args.schedule, problem, tell=remark)
    assert isinstance(schedule, WorkloadSchedule), "it answers a workload"
    breaches = {breach.claim: breach for breach in workload_breaches(problem, schedule, args.claims)}
    first = min(breaches.values(), key=lambda breach: breach.at, default=None)
    drawn = args.picture is not None and first is not None
    if args.picture is not None and first is not None:
        picture = str(breach_picture(problem, schedule, first))
        args.picture.write_text(picture, encoding="utf-8")
    if args.json:
        rows = {claim: plain(breaches.get(claim)) for claim in args.claims}
        write_json({"holds": not breaches, "breaches": rows})
        return 1 if breaches else 0
    show_fields(
        (claim, f"broken: {breaches[claim].message}" if claim in breaches else "holds")
        for claim in args.claims
    )
    say("")
    if breaches:
        verb = "does" if len(breaches) == 1 else "do"
        say(f"{len(breaches)} of {counted(len(args.claims), 'claim')} {verb} not hold")
    else:
        say(f"all hold ({family_of(problem).view.describe(problem)})")
    if args.picture is not None:
        say(
            f"picture written to {args.picture}" if drawn else f"no breach, so {args.picture} was not written"
        )
    return 1 if breaches else 0
