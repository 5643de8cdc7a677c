"""Files in and out, refused in one line before any long work."""

from __future__ import annotations

import datetime as dt
import os
import shlex
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve import bench
from allocsolve.errors import FormatError
from allocsolve.instances import parse_problem, read_problem
from allocsolve.instances.formats.files import parse, read_stream

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allocsolve.bench import Record
    from allocsolve.model import Problem

#: What stands for stdin where a file is named.
_STDIN = "-"


def source_name(file: str) -> str:
    """Return what messages call a problem that is named on the command line."""
    return "stdin" if file == _STDIN else file


def problem_from(file: str) -> Problem:
    """Read a problem from a file, or from stdin for ``-``.

    Raises `FormatError` if it cannot be read or is no valid problem; a suite of the library is told to be
    one.
    """
    if file != _STDIN:
        if not Path(file).exists():
            refuse_suite(file)
        return read_problem(file)
    source = source_name(file)
    return parse_problem(parse(read_stream(sys.stdin.buffer, source), source), source)


def refuse_suite(name: str) -> None:
    """Say so where a suite of the library is named in place of a file."""
    if name in bench.SUITES and not Path(name).exists():
        what = (
            f"is a suite of the library, not a problem: allocsolve score {name} --solvers NAME,... runs "
            "solvers on it, allocsolve library list tells what is known of it"
        )
        raise FormatError(name, [what])


def check_outputs(*paths: Path | None, inputs: Iterable[str | Path] = (), force: bool) -> None:
    """Refuse files that could not be written, or that a command would overwrite unasked; touch none.

    Raises `FormatError` if a file cannot be written, is there, is an input, or is to be written twice. Paths
    are None for what the command was not asked for. What it reads is never to be written, not even by
    `force`, which lets files be replaced that exist; devices and pipes are no files.
    """
    given = [path for path in paths if path is not None]
    for path in given:
        check_writable(path)
    files = [path for path in given if path.is_file() or not path.exists()]
    for idx, path in enumerate(files):
        if any(_is_same(path, Path(name)) for name in inputs):
            raise FormatError(str(path), ["cannot be written: this command reads it"])
        if any(_is_same(path, other) for other in files[:idx]):
            raise FormatError(str(path), ["cannot be written: this command writes it twice"])
        check_absent(path, force=force)


def check_absent(path: Path, *, force: bool) -> None:
    """Refuse a file that is there, unless it may be replaced."""
    if not force and path.is_file():
        raise FormatError(str(path), ["exists; --force replaces it"])


def _is_same(path: Path, other: Path) -> bool:
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    return path.exists() and other.exists() and path.samefile(other)


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, without touching it.

    Raises `FormatError` if its folder does not exist, it is a folder itself, or there is no permission.
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
    """Make a folder to write into, and those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = "is not a directory" if path.exists() else error.strerror or str(error)
        raise FormatError(str(path), [fault]) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise FormatError(str(path), ["cannot be written: permission denied"])


def write_texts(texts: Mapping[str, str], folder: Path, ending: str) -> list[Path]:
    """Write texts by name into a folder, which is made if it does not exist, and return their files."""
    make_folder(folder)
    files = {folder / f"{name}{ending}": text for name, text in texts.items()}
    for path, text in files.items():
        path.write_text(text, encoding="utf-8", errors="replace")
    return list(files)


def made_by(args: argparse.Namespace) -> str:
    """Return what a page says of the command that has written it."""
    command = shlex.join(["allocsolve", *args.words])
    return f"Made on {dt.datetime.now(dt.UTC).date()} with allocsolve {version('allocsolve')}: {command}"


def failure_lines(failed: Sequence[Record], path: Path | None, *, verbose: bool) -> Iterator[str]:
    """Yield a line for each run, and where it was raised or how that is shown."""
    for record in failed:
        yield f"{record.solver} failed on {record.instance}: {record.error}"
        if verbose:
            yield from (f"  {line}" for line in record.traceback.splitlines())
    if not verbose and any(record.traceback for record in failed):
        yield f"Tracebacks are kept in {path}; -v shows them." if path else "-v shows the tracebacks."


def failure_fields(failed: Sequence[Record]) -> list[dict[str, str]]:
    """Return the same for JSON."""
    return [
        {"solver": r.solver, "problem": r.instance, "error": r.error, "traceback": r.traceback}
        for r in failed
    ]
