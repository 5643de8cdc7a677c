"""What the package and its pages tell people to type exists: commands and options, ours or of others."""

from __future__ import annotations

import argparse
import ast
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.cli.parser import make_parser

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
OLD: Final = ROOT / "allocsolve" / "cli" / "old_names.py"
#: Options of other programs that we name, each with its program, which stands in the same file.
FOREIGN: Final = {
    "--allocsolve-update-gate": "pytest",  # of our fixture for it, `allocsolve.testing.gate`
    "--benchmark-json": "pytest",
    "--benchmark-only": "pytest",
    "--config": "openevolve-run",
    "--consolidate-segments": "Slurm",
    "--directory": "make",
    "--enable-dynamic-jobs": "Batsim",
    "--exclusive": "sbatch",
    "--force-reinstall": "pip",
    "--network": "podman",
    "--parsable2": "sacctmgr",
    "--rm": "podman",
    "--schemafile": "check-jsonschema",
    "--shell": "shtab",
    "--tag": "podman",
    "--volume": "podman",
}
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
#: A command with what follows it on its line, and what marks it as one rather than as prose about us.
_COMMAND: Final = re.compile(r"(`|\$ |&& )?\ballocsolve ([^`|;#>\n]*)")


class Text(NamedTuple):
    """What somebody may read, and where it is."""

    place: str
    text: str
    file: str  #: the whole text of its file
    own: frozenset[str]  #: options that its file defines


@functools.cache
def _texts() -> tuple[Text, ...]:
    return (*_read(),)


def _read() -> Iterator[Text]:
    """Yield the texts of the code, string by string, and the pages."""
    scripts: dict[str, set[str]] = {}
    for folder in ("allocsolve", "reproductions", "examples"):
        for path in sorted({*(ROOT / folder).rglob("*.py")} - {OLD}):
            file = path.read_text(encoding="utf-8")
            nodes = [*ast.walk(ast.parse(file))]
            calls = [node for node in nodes if isinstance(node, ast.Call)]
            own: set[str] = {
                word.value
                for call in calls
                if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
                for word in call.args
                if isinstance(word, ast.Constant) and isinstance(word.value, str)
            }
            for node in nodes:
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    place = f"{path.relative_to(ROOT)}:{node.lineno}"
                    is_script = folder == "examples"
                    yield Text(place, node.value, file, frozenset(own) if is_script else frozenset())
            if folder == "examples":
                scripts[path.name] = own
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").glob("*.md")),
    ):
        file = path.read_text(encoding="utf-8")
        options = frozenset[str]().union(*(own for name, own in scripts.items() if name in file))
        yield Text(str(path.relative_to(ROOT)), file.replace("\\\n", " "), file, options)


@functools.cache
def _options() -> set[str]:
    return _all_options(_parser())


@functools.cache
def _parser() -> argparse.ArgumentParser:
    return make_parser()


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands below a parser by name."""
    actions = parser._actions
    return {
        name: one
        for action in actions
        if isinstance(action, argparse._SubParsersAction)
        for name, one in action.choices.items()
    }


def _all_options(parser: argparse.ArgumentParser) -> set[str]:
    return {*parser._option_string_actions}.union(*map(_all_options, _below(parser).values()))


def faults(text: Text) -> Iterator[str]:
    """Yield what a text tells people to type that does not exist."""
    known = _options() | text.own
    for option in dict.fromkeys(_OPTION.findall(text.text)):
        if option not in known and FOREIGN.get(option, "\0") not in text.file:
            yield f"{text.place}: {option}"
    for mark, words in _COMMAND.findall(text.text):
        parser, names = _parser(), ["allocsolve"]
        todo = words.removeprefix("help ").split()
        while todo and todo[0] in _below(parser):
            parser = _below(parser)[todo[0]]
            names.append(todo.pop(0))
        wanted = _below(parser)
        if wanted and todo and todo[0].isalpha() and todo[0].islower():
            if mark:
                yield f"{text.place}: {' '.join(names)} has no {todo[0]}"
            continue
        allowed = _all_options(parser) if wanted else parser._option_string_actions
        for option in _OPTION.findall(" ".join(todo)):
            if option not in allowed and option not in text.own:
                yield f"{text.place}: {' '.join(names)} has no {option}"


def test_what_is_named_exists() -> None:
    offenders = [fault for text in _texts() for fault in faults(text)]
    assert not offenders, "\n".join(offenders)


def test_what_does_not_exist_is_found() -> None:
    def found(text: str) -> list[str]:
        return [*faults(Text("here", text, text, frozenset()))]

    assert found("try --no-such-option") == ["here: --no-such-option"]
    assert found("print it with --parsable2") == ["here: --parsable2"]
    assert found("print it with sacctmgr --parsable2") == []
    assert found("`allocsolve library list --seconds 5`") == [
        "here: allocsolve library list has no --seconds"
    ]
    assert found("`allocsolve library improve --solvers x`") == []
    assert found("$ allocsolve solve problem.json --window 3") == ["here: allocsolve solve has no --window"]
    assert found("`allocsolve frobnicate x`, as allocsolve is") == ["here: allocsolve has no frobnicate"]
    assert found("`allocsolve study papers x`") == ["here: allocsolve study has no papers"]
    assert found("`allocsolve import FILE --out P`, `allocsolve --version`") == []
    assert found("`allocsolve import FILE --solver P`") == ["here: allocsolve import has no --solver"]


def test_options_of_others_are_named_somewhere() -> None:
    named = {option for text in _texts() for option in _OPTION.findall(text.text)}
    assert {*FOREIGN} <= named
    assert not {*FOREIGN} & _options()
