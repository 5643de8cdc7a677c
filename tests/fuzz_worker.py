"""Runs cases of `fuzz_cases` in this process, and tells as JSON what is wrong with how each ended.

::

    python tests/fuzz_worker.py 0 200     # cases 0 to 199, a line each
    python tests/fuzz_worker.py 17        # one case
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from cli_tools import without_compiling
from fuzz_cases import draw_case
from memory_tools import peak_mb

from allocsolve.cli import main
from allocsolve.instances.formats import files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzz_cases import Case

#: A case that takes more seconds hangs, however busy the machine: the process ends and shows its stacks.
HANGS_S = 120
LENGTH = 300


class _Captured(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="\n")

    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def run_case(case: Case) -> tuple[int | None, list[str]]:
    """Run a case in the current folder; return its exit status, and what is wrong."""
    for name, data in case.files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name in case.pipes:
        os.mkfifo(name)
    out, err = _Captured(), _Captured()
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(case.stdin))
    status: int | None = None
    faults = []
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(case.argv)
    except BaseException:  # noqa: BLE001 - whatever a command lets escape is what this is for
        faults.append(traceback.format_exc())
    finally:
        sys.stdin = stdin
    return status, [*faults, *_faults(status, out.text(), err.text())]


def _faults(status: int | None, out: str, err: str) -> Iterator[str]:
    lines = without_compiling(err).splitlines(keepends=True)
    errors = [line for line in lines if line.startswith("allocsolve: error: ")]
    if status not in (None, 0, 1, 2):
        yield f"exit status {status}"
    if status == 2 and (len(errors) != 1 or out):
        yield f"bad input: {len(errors)} errors on stderr, {len(out)} characters on stdout"
    if status == 0 and errors:
        yield f"an error, but exit status 0: {errors}"
    for line in lines:
        if not line.startswith("allocsolve: ") or not line.endswith("\n") or len(line) > LENGTH + 1:
            yield f"no line of at most {LENGTH} characters: {line[:400]!r}"
    for char in sorted({*out, *err} - {"\n"}):
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            yield f"{char!r} on the terminal"


def main_loop(first: int, end: int) -> None:
    """Run cases, each in a folder of its own, and write a line of JSON about each."""
    warnings.simplefilter("error")
    files._PATIENCE_S = 0.05  # type: ignore[misc]  # a constant elsewhere; here no pipe of a case has a writer
    home = Path.cwd()
    for number in range(first, end):
        case = draw_case(number)
        faulthandler.dump_traceback_later(HANGS_S, exit=True)
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                status, faults = run_case(case)
            finally:
                os.chdir(home)
        told = {
            "case": number,
            "kind": case.kind,
            "argv": [ascii(word[:200]) for word in case.argv],
            "status": status,
            "faults": faults,
            "seconds": time.perf_counter() - begin,
            "peak_mb": peak_mb(),
        }
        print(json.dumps(told), flush=True)  # noqa: T201 - for the test that started this process
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    first = int(sys.argv[1])
    main_loop(first, int(sys.argv[2]) if len(sys.argv) > 2 else first + 1)
