"""Commands replayed: all that they say, their exit status, and that a refusal writes nothing.

A transcript has a title, files (`> name`, then its lines) and commands (`$`, then what they say; "..." is
anything). `PYTHONPATH=.:tests python tests/golden/test_transcripts_golden.py NAMES...` records what changed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Final

import pytest
from cli_tools import in_this_process, without_compiling
from console_tools import matches
from offenders import all_offenders

from allocsolve.cli import main

FOLDER: Final = Path(__file__).with_name("transcripts")
NAMES: Final = sorted(path.stem for path in FOLDER.glob("*.txt"))


def parsed(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the head of a transcript, whose files are written here, and commands with what they say."""
    head, *blocks = re.split(r"^\$ ", text, flags=re.MULTILINE)
    for file in re.split(r"^> ", head, flags=re.MULTILINE)[1:]:
        name, content = file.split("\n", 1)
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content.removesuffix("\n"), encoding="utf-8")
    return head, [(command, shown) for command, _, shown in (block.partition("\n") for block in blocks)]


def said(command: str) -> str:
    """Return what a command says; a refusal is a line, after notes on a file, and writes nothing."""
    program, *words = shlex.split(command)
    if program != "allocsolve":
        (name,) = words
        entries = sorted(path.name for path in Path(name).iterdir()) if program == "ls" else []
        return "\n".join(entries) or Path(name).read_text(encoding="utf-8")
    before, out, err = {*Path().rglob("*")}, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    told = without_compiling(err.getvalue())
    assert status == 2 if "allocsolve: error: " in told else status in (0, 1)
    if status == 2:
        *notes, refusal = told.splitlines()
        assert (out.getvalue(), {*Path().rglob("*")}) == ("", before)
        assert refusal.startswith("allocsolve: error: ")
        assert all(note.startswith(f"allocsolve: {words[-1]}: ") for note in notes)
    return out.getvalue() + told + ("[exit status 1]\n" if status == 1 else "")


def solved_too_early(*_: object) -> None:
    pytest.fail("it was solved before it was refused")


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("name", NAMES)
def test_commands_say_what_they_said(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    _, commands = parsed((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    with all_offenders() as offender:
        for command, shown in commands:
            with offender(command[:200]), monkeypatch.context() as patch:
                if "allocsolve: error: " in shown:
                    patch.setattr("allocsolve.registry.solve_and_assess", solved_too_early)
                printed = said(command)
                assert matches(shown, printed), f"now it says:\n{printed}"


def record(name: str) -> None:
    """Write a transcript with what its commands say now."""
    path = FOLDER / f"{name}.txt"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), in_this_process():
        head, commands = parsed(path.read_text(encoding="utf-8"))
        told = [(command, shown, said(command)) for command, shown in commands]
    blocks = [f"$ {command}\n{shown if matches(shown, now) else now}" for command, shown, now in told]
    path.write_text(head + "\n".join(map(str.rstrip, blocks)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as width:
        width.setenv("COLUMNS", "100")
        for each in sys.argv[1:] or NAMES:
            record(each)
