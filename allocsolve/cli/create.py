"""The commands that make problems: generate, import-swf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.files import check_writable, make_folder
from allocsolve.cli.output import counted, describe, say
from allocsolve.cli.progress import count_bar, time_bar
from allocsolve.errors import InvalidOption

if TYPE_CHECKING:
    import argparse

__all__ = ["generate", "import_swf"]


def generate(args: argparse.Namespace) -> int:
    """Write problems of a generator, one file each."""
    from allocsolve.instances import klein2011, write_problem  # noqa: PLC0415 - when the command runs

    if args.nodes[1] > args.num_nodes:
        msg = f"--nodes {args.nodes[0]}-{args.nodes[1]} goes above --num-nodes {args.num_nodes}"
        raise InvalidOption(msg)
    ranges = {
        "num_apps": args.apps,
        "num_steps": args.steps,
        "duration": args.duration,
        "nodes": args.nodes,
        "num_nodes": args.num_nodes,
    }
    if args.expand_limit is not None:
        ranges["expand_limit"] = args.expand_limit
    make_folder(args.out)
    digits = max(4, len(str(args.count - 1)))
    names = [f"klein2011-s{args.seed}-{idx:0{digits}}.json" for idx in range(args.count)]
    written = 0
    try:
        with count_bar("generating") as progress:
            for idx, name in enumerate(names):
                progress(idx, args.count, name)
                write_problem(klein2011([args.seed, idx], **ranges), args.out / name)
                written = idx + 1
    except KeyboardInterrupt:
        msg = f"{written} of {args.count} problems are in {args.out}"
        raise KeyboardInterrupt(msg) from None
    span = names[0] if args.count == 1 else f"{names[0]} to {names[-1]}"
    say(f"{counted(args.count, 'problem')} in {args.out}: {span}")
    return 0


def import_swf(args: argparse.Namespace) -> int:
    """Write a window of a workload log as a problem, and say what was wrong with the log."""
    from allocsolve.instances import read_swf, swf_problem, write_problem  # noqa: PLC0415 - as above

    check_writable(args.out)
    with time_bar(f"reading {args.log}"):
        log = read_swf(args.log, num_nodes=args.num_nodes)
        problem = swf_problem(log, from_job=args.from_job, jobs=args.jobs, queued=args.queued)
        write_problem(problem, args.out)
    say(str(log.report), f"{args.out}: {describe(problem)}")
    return 0
