"""Files of earlier runs: an answer and a certificate to go on from, judged before they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allocsolve.cli.output import remark
from allocsolve.errors import FormatError, InvalidAnswer
from allocsolve.model import Result, Status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from allocsolve.model import Answer, Problem, Value

__all__ = ["certified", "earlier_of"]


def earlier_of(
    args: argparse.Namespace, stored: Problem, problem: Problem
) -> tuple[Answer | None, dict[str, Any] | None]:
    """Return the answer and the certificate of ``--start``; None for what is not there.

    Files are of the problem as it is stored; what is judged is the problem as it is set.

    Raises
    ------
    FormatError
        If a file cannot be read, holds an answer that is not feasible or a certificate that proves nothing,
        or is the second one of its kind.
    """
    from allocsolve.instances import read_outcome  # noqa: PLC0415 - when the command runs
    from allocsolve.judge import violations  # noqa: PLC0415 - when the command runs

    objective = tuple(args.objective.split(","))
    start: Answer | None = None
    certificate: dict[str, Any] | None = None
    for path in args.start:
        answer, proof = read_outcome(path, stored, tell=remark)
        if proof is not None:
            _check_first(path, "certificate", certificate)
            certified(path, problem, proof.certificate, objective)
            certificate = proof.certificate
            continue
        _check_first(path, "solution", start)
        if faults := violations(problem, answer):
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
    """Return the bound that the judge recomputes from a certificate.

    Raises
    ------
    FormatError
        If it is none of the problem and objective.
    """
    from allocsolve.judge import certify  # noqa: PLC0415 - when the command runs

    try:
        return certify(problem, Result(Status.UNKNOWN, certificate=certificate), objective)
    except InvalidAnswer as error:
        raise FormatError(str(path), [str(error)]) from error
