"""The way in: one command in, one exit status out, and one line for whatever went wrong."""

from __future__ import annotations

import argparse
import io
import os
import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING

from allocsolve.cli.old_names import conversions, translated
from allocsolve.cli.output import only_json, remark
from allocsolve.cli.parser import make_parser
from allocsolve.errors import AllocsolveError, InvalidAnswer, SolverUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv
        The arguments after the name of the program; those of this process by default.

    Returns
    -------
    int
        0 fine; 1 a check found violations, a solver failed, or memory ran out; 2 bad input; 130 interrupted;
        141 the reader of our output went away.
    """
    try:
        status = _run(argv)
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        detail = f"; {interrupt}" if interrupt.args else ""
        return _tell(f"interrupted{detail}", INTERRUPTED)
    except BrokenPipeError:
        return BROKEN_PIPE
    except (InvalidAnswer, SolverUnavailable) as error:
        return _fail(str(error), FAILED)
    except AllocsolveError as error:
        return _fail(str(error), BAD_INPUT)
    except MemoryError:
        return _fail("there is not enough memory for this", FAILED)
    except OSError as error:
        place = error.filename if error.filename is not None else "output"
        return _fail(f"{place}: {error.strerror}", BAD_INPUT)
    return status


def _run(argv: Sequence[str] | None) -> int:
    try:
        given = sys.argv[1:] if argv is None else argv
        if given[:1] == ["help"]:
            given = [*given[1:], "--help"]
        made = translated(given)
        for line in made.lines:
            remark(line)
        args = make_parser(made.words).parse_args(made.words, argparse.Namespace(words=made.words))
    except SystemExit as done:  # --help and --version; errors are raised as ours
        return int(done.code or 0)
    then = conversions(args, made)
    with only_json() if getattr(args, "json", False) else nullcontext():
        status: int = args.run(args)
    with redirect_stdout(io.StringIO()):
        return max(status, *map(_run, then), 0)


def _fail(message: str, status: int) -> int:
    return _tell(f"error: {message}", status)


def _tell(message: str, status: int) -> int:
    remark(" ".join(message.splitlines()))
    return status


def entry() -> None:
    """Run the command that this process was started with, and exit."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file may have a name that stdout cannot show
    status = main()
    try:
        sys.stdout.flush()
    except OSError:  # a full disk or no reader: whatever is left may not bother Python when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
