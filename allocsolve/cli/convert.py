"""The command `convert`, and what `solve` and `check` read beside a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allocsolve import instances, judge
from allocsolve.cli.files import check_outputs, refuse_suite
from allocsolve.cli.output import remark, say, time_bar, write_json
from allocsolve.errors import FormatError, InvalidAnswer, InvalidOption
from allocsolve.families import families, family_of
from allocsolve.instances.formats.files import replace_file
from allocsolve.instances.formats.simulators.conversion import (
    CONVERSIONS,
    format_by_name,
    read_workload,
    write_workload,
)
from allocsolve.instances.formats.simulators.foreign import Unheld
from allocsolve.model import Result, Status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from allocsolve.families.contract import Export
    from allocsolve.model import Answer, Problem, Value


def convert(args: argparse.Namespace) -> int:
    """Write a problem in another format, and say what that cannot hold."""
    from allocsolve.instances import read_solution  # noqa: PLC0415 - when the command runs

    name = args.format or format_by_name(args.to)
    inputs = [args.source, *([args.solution] if args.solution else [])]
    conversion = CONVERSIONS.get(name)
    if conversion is not None and conversion.is_folder:
        _check_folder(args.to, args.source, force=args.force)
    else:
        check_outputs(args.to, inputs=inputs, force=args.force)
    refuse_suite(str(args.source))
    with time_bar(f"reading {args.source}"):
        source, problem, not_read = read_workload(
            args.source, num_nodes=args.nodes, limits=args.limits, time_unit=args.time_unit
        )
        answer = read_solution(args.solution, problem, tell=remark) if args.solution else None
        if conversion is None or args.window is not None:
            _export(args, problem, answer, name)
            not_held = Unheld()
        else:
            not_held = write_workload(problem, answer, args.to, name)
    family = family_of(problem)
    if args.json:
        document: dict[str, object] = {
            "from": args.source,
            "from_format": source,
            "to": args.to,
            "format": name,
        }
        write_json(
            {**document, **family.features(problem), "not_read": not_read.counts, "not_held": not_held.counts}
        )
        return 0
    say(f"{args.source}: {family.view.describe(problem)}")
    say(*(f"  {source}, not read: {line}" for line in not_read.lines()))
    say(f"{args.to}: {(conversion or known_exports()[name]).summary}")
    say(*(f"  {name} cannot hold: {line}" for line in not_held.lines()))
    return 0


def _check_folder(folder: Path, source: Path, *, force: bool) -> None:
    """Refuse a folder in which files would be replaced unasked."""
    if folder.exists() and not folder.is_dir():
        raise FormatError(str(folder), ["is not a directory"])
    if folder.is_dir():
        if folder.resolve() in (source.resolve(), source.resolve().parent) and source.is_dir():
            raise FormatError(str(folder), ["cannot be written: this command reads it"])
        if not force and any(folder.iterdir()):
            raise FormatError(str(folder), ["is not empty; --force replaces files of the same names"])
    elif not folder.parent.is_dir():
        raise FormatError(str(folder), [f"cannot be written: there is no directory {folder.parent}"])


def known_exports() -> dict[str, Export]:
    """Return the files for other programs that show solutions, of all families, by format."""
    return {name: export for family in families() for name, export in family.view.exports.items()}


def _export(args: argparse.Namespace, problem: Problem, answer: Answer | None, name: str) -> None:
    """Write a file of a family's own, or a window of one."""
    family = family_of(problem)
    export = family.view.exports.get(name)
    if export is None or (args.window is not None and not export.windowed):
        of = "a window" if name in CONVERSIONS or export is not None else "it"
        msg = f"--format {name}: {of} is not written for problems of the kind {family.kind}"
        raise InvalidOption(msg)
    if answer is None:
        raise InvalidOption(f"--format {name} shows a solution: --solution FILE names it")
    if more := export.cannot_hold(problem):
        raise InvalidOption(f"--format {name}: the problem has {more}, for which such a file has no place")
    replace_file(args.to, export.text(problem, answer, args.window).encode(errors="replace"))


def earlier_of(
    args: argparse.Namespace, stored: Problem, problem: Problem
) -> tuple[Answer | None, dict[str, Any] | None]:
    """Return the answer and the certificate of ``--start``; None for what is not there.

    Files are of the problem as it is stored; what is judged is the problem as it is set. Raises `FormatError`
    if a file cannot be read, holds an answer that is not feasible or a certificate that proves nothing, or is
    the second one of its kind.
    """
    start: Answer | None = None
    certificate: dict[str, Any] | None = None
    for path in args.start:
        answer, proof = instances.read_outcome(path, stored, tell=remark)
        if proof is not None:
            _check_first(path, "certificate", certificate)
            certified(path, problem, proof.certificate, args.objective)
            certificate = proof.certificate
            continue
        _check_first(path, "solution", start)
        if faults := judge.violations(problem, answer):
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise FormatError(str(path), [f"is not feasible: {faults[0]}{more}"])
        start = answer
    return start, certificate


def _check_first(path: Path, what: str, earlier: object) -> None:
    if earlier is not None:
        raise FormatError(str(path), [f"is the second {what} to start from"])


def certified(
    path: str | Path, problem: Problem, certificate: Mapping[str, Any], objective: tuple[str, ...]
) -> Value:
    """Return the bound that the judge recomputes from a certificate."""
    try:
        return judge.certify(problem, Result(Status.UNKNOWN, certificate=certificate), objective)
    except InvalidAnswer as error:
        raise FormatError(str(path), [str(error)]) from error
