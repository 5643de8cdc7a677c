"""Files in and out, refused in one line before any long work."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

from allocsolve.cli.output import limit_text
from allocsolve.errors import FormatError, InvalidOption
from allocsolve.model import EvolutionProblem
from allocsolve.registry import family_of

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.model import Problem

__all__ = ["check_writable", "limited", "make_folder", "tightened"]


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, without touching it.

    Raises
    ------
    FormatError
        If its folder does not exist, it is a folder itself, or there is no permission.
    """
    fault = ""
    if path.is_dir():
        fault = "is a directory"
    elif not path.parent.is_dir():
        fault = f"there is no directory {path.parent}"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        fault = "permission denied"
    if fault:
        raise FormatError(str(path), [f"cannot be written: {fault}"])


def make_folder(path: Path) -> None:
    """Make a folder to write into, and those above it.

    Raises
    ------
    FormatError
        If that is not possible.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = "is not a directory" if path.exists() else error.strerror or str(error)
        raise FormatError(str(path), [fault]) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise FormatError(str(path), ["cannot be written: permission denied"])


def limited(problem: Problem, limit: float | None, file: str) -> Problem:
    """Return the problem with the expand limit of the command line, if there is one.

    Raises
    ------
    InvalidOption
        If nothing can be expanded in problems of this kind.
    """
    if limit is None:
        return problem
    if not isinstance(problem, EvolutionProblem):
        kind = family_of(problem).kind
        msg = f"--expand-limit {limit_text(limit)} does not go with {file}, a {kind} problem"
        raise InvalidOption(msg)
    return dataclasses.replace(problem, expand_limit=limit)


def tightened(problem: Problem, limit: float | None, file: str) -> Problem:
    """Return the problem with the expand limit of the command line, if there is one, as `limited`.

    Raises
    ------
    InvalidOption
        If it is looser than that of the problem: what keeps to it need not solve the problem.
    """
    if limit is not None and isinstance(problem, EvolutionProblem) and limit > problem.expand_limit:
        ours, theirs = limit_text(limit), limit_text(problem.expand_limit)
        msg = f"--expand-limit {ours} is looser than the limit {theirs} of {file}"
        raise InvalidOption(msg)
    return limited(problem, limit, file)
