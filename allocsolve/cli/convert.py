"""The command that turns files of workloads into those of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.files import check_outputs
from allocsolve.cli.output import remark, say, write_json
from allocsolve.cli.progress import time_bar
from allocsolve.errors import FormatError, InvalidOption
from allocsolve.families import family_of
from allocsolve.instances.formats.workload_conversion import (
    CONVERSIONS,
    format_by_name,
    read_workload,
    write_workload,
)

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from allocsolve.model import Problem, WorkloadSchedule

__all__ = ["convert"]


def convert(args: argparse.Namespace) -> int:
    """Write a problem in another format, and say what that cannot hold."""
    name = args.format or format_by_name(args.to)
    inputs = [args.source, *([args.answer] if args.answer else [])]
    if CONVERSIONS[name].is_folder:
        _check_folder(args.to, args.source, force=args.force)
    else:
        check_outputs(args.to, inputs=inputs, force=args.force)
    with time_bar(f"reading {args.source}"):
        source, problem, not_read = read_workload(args.source, num_nodes=args.nodes)
        schedule = _schedule(args.answer, problem) if args.answer else None
        not_held = write_workload(problem, schedule, args.to, name)
    family = family_of(problem)
    if args.json:
        told: dict[str, object] = {"from": args.source, "from_format": source, "to": args.to, "format": name}
        write_json(
            {**told, **family.features(problem), "not_read": not_read.counts, "not_held": not_held.counts}
        )
        return 0
    say(f"{args.source}: {family.view.describe(problem)}")
    say(*(f"  {source}, not read: {line}" for line in not_read.lines()))
    say(f"{args.to}: {CONVERSIONS[name].summary}")
    say(*(f"  {name} cannot hold: {line}" for line in not_held.lines()))
    return 0


def _schedule(file: Path, problem: Problem) -> WorkloadSchedule:
    """Read the answer to a workload, of this program or another one."""
    from allocsolve.instances import read_solution  # noqa: PLC0415 - when the command runs
    from allocsolve.model import WorkloadSchedule  # noqa: PLC0415 - when the command runs

    answer = read_solution(file, problem, tell=remark)
    if not isinstance(answer, WorkloadSchedule):
        msg = f"--answer {file}: only schedules of workloads are converted"
        raise InvalidOption(msg)
    return answer


def _check_folder(folder: Path, source: Path, *, force: bool) -> None:
    """Refuse a folder in which files would be replaced unasked.

    Raises
    ------
    FormatError
        If it is a file, is not empty, or is read by this command.
    """
    if folder.exists() and not folder.is_dir():
        raise FormatError(str(folder), ["is not a directory"])
    if folder.is_dir():
        if folder.resolve() in (source.resolve(), source.resolve().parent) and source.is_dir():
            raise FormatError(str(folder), ["cannot be written: this command reads it"])
        if not force and any(folder.iterdir()):
            raise FormatError(str(folder), ["is not empty; --force replaces files of the same names"])
    elif not folder.parent.is_dir():
        raise FormatError(str(folder), [f"cannot be written: there is no directory {folder.parent}"])
