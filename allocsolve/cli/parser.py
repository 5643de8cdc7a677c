"""The tree of commands; the options of each are in a module of its own, loaded when the command is named."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from allocsolve.cli.examples import examples_of
from allocsolve.errors import AllocsolveError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: The command that the help lists in a checkout only.
_REPRODUCE: Final = "reproduce"
#: The commands below a parser.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - it has no public name


def sentence(summary: str) -> str:
    """Return a summary as a sentence."""
    return f"{summary[0].upper()}{summary[1:]}."


def commands_of(parser: argparse.ArgumentParser, what: str) -> Commands:
    """Let commands stand behind a parser; where none does, its help is printed.

    `what` is what they are called, such as ``generator``.
    """

    def show_help(_: argparse.Namespace) -> int:
        sys.stdout.write(parser.format_help())
        return 0

    parser.set_defaults(run=show_help)
    return parser.add_subparsers(title=f"{what}s", metavar=what.upper(), dest=what)


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], summary: str
) -> argparse.ArgumentParser:
    """Add a command that can be run, with the options that all of them take.

    `run` returns the exit status; the summary says what it does, in a few words.
    """
    added = commands.add_parser(name, help=summary, description=sentence(summary))
    make_command(added, run)
    return added


#: The group of options that stands last on each page.
_COMMON: Final = "with every command"


def make_command(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    """Make a parser that of a command that can be run, with the options that all of them take."""
    parser.set_defaults(run=run)
    common = parser.add_argument_group(_COMMON)
    common.add_argument("--json", action="store_true", help="print one JSON object")
    help_text = "print details, such as the tracebacks of failed solvers"
    common.add_argument("-v", "--verbose", action="store_true", help=help_text)


class UsageError(AllocsolveError):
    """The command line itself is wrong."""


#: What shells complete by the names of files, as shtab reads it.
_FILES: Final = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


class Layout(argparse.HelpFormatter):
    """Help with more room for names, and with commands in groups."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)
        self._action_max_length = 14  # argparse forgets that the names of commands are indented

    def _format_action(self, action: argparse.Action) -> str:
        """Return the lines of an option, or of commands below the titles of their groups."""
        if action.dest != "command" or not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            return super()._format_action(action)
        shown = {command.dest: command for command in action._get_subactions()}  # noqa: SLF001 - as above
        text = ""
        for title, names in GROUPS.items():
            text += f"  {title}:\n"
            self._indent()
            text += "".join(super(Layout, self)._format_action(shown[name]) for name in names)
            self._dedent()
        return text


class Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong instead of printing its usage; see `notes`."""

    def __init__(self, **settings: object) -> None:
        super().__init__(allow_abbrev=False, formatter_class=Layout, **settings)  # type: ignore[arg-type]  # the keywords that argparse itself passes to subparsers
        #: What stands below the options, in lines as they are.
        self.notes: list[str] = []

    def format_help(self) -> str:
        """Return the page of the command: its options by group, its notes, its examples."""
        self._action_groups.sort(key=lambda group: group.title == _COMMON)
        shown = [f"  {line}" for line in examples_of(self.prog.split()[1:])]
        lines = [*self.notes, *(["examples:"] if shown else []), *shown]
        return super().format_help() + "".join(f"{line}\n" for line in ["", *lines] if lines)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401 - as argparse has it
        """Parse words; of an option that there is not, those are named which are near."""
        parsed, rest = super().parse_known_args(args, namespace)
        for word in rest or ():
            if word.startswith("--"):
                options = [name for name in self._option_string_actions if name.startswith("--")]
                raise UnknownName("option", word.partition("=")[0], options)
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the command line."""
        raise UsageError(message)


class _Version(argparse.Action):
    """Show the version: argparse's own action would have to know it for each command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - not for other commands

        sys.stdout.write(f"allocsolve {version('allocsolve')}\n")
        parser.exit()


#: Of each command: what it does, and the module whose function ``add_NAME`` adds its options. A module is one
#: of `allocsolve.cli`, unless its name is in full.
_COMMANDS: Final = {
    "whatif": ("how long jobs of a log waited, and would have waited otherwise", "whatif"),
    "when": ("when queued jobs will start, by the queue that squeue prints", "when"),
    "place": ("the best free nodes for a job on a network, beside what schedulers take", "network"),
    "score": ("compare solvers with each other and with proven optima", "score"),
    "study": ("compare many solvers on many problems: run, export, report, verify, merge", "score"),
    "gate": ("fail if a solver got worse or slower than in a baseline", "score"),
    "evaluate": ("score queue policies on hidden windows of logs, each in a sealed process", "evaluate"),
    "solve": ("solve one problem with one solver", "solve"),
    "check": ("judge a solution, the certificate of a bound, or what a schedule claims", "solve"),
    "generate": ("write random problems", "create"),
    "import": ("turn logs and networks of real machines into problems", "import_file"),
    "convert": ("write a workload or a solution in the format of another program", "import_file"),
    "library": ("suites of instances, and what is known of them", "library"),
    "schema": ("print the JSON Schema of a kind of file, or list the kinds", "schema"),
    "solvers": ("list the solvers, or show one with its options", "solvers"),
    "warm": ("compile what solvers need, so that their first call is fast", "solvers"),
    _REPRODUCE: ("redo the experiments of a paper", "reproductions.commands"),
}
#: The commands as the help lists them.
GROUPS: Final = {
    "operators": ("whatif", "when", "place"),
    "compare": ("score", "study", "gate", "evaluate"),
    "single problems": ("solve", "check"),
    "data": ("generate", "import", "convert", "library", "schema"),
    "set-up": ("solvers", "warm"),
}


def make_parser(words: Sequence[str] | None = None) -> Parser:
    """Return the parser of the command line; the chosen command is ``run`` in its namespace.

    Of the words that shall be parsed, the command that they begin with is the only one with its options. All
    have theirs by default.
    """
    parser = Parser(
        prog="allocsolve", description="Proven optima and fast heuristics for allocation problems."
    )
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="show the version and exit")
    commands = commands_of(parser, "command")
    parser.notes = ["`allocsolve COMMAND --help` (or `allocsolve help COMMAND`) shows the options of one."]
    if _is_checkout():
        parser.notes.append("`allocsolve reproduce`, in this checkout: the experiments of papers again.")
    parser.notes.append("")
    for name, (summary, module) in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=sentence(summary))
        if words is None or name in words[:1]:
            _adder(module, f"add_{name}")(command)
    if words is None:
        _complete_files(parser)
    return parser


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Have shells complete what is a file (see docs/start.md)."""
    for action in parser._actions:  # noqa: SLF001 - there is no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for below in action.choices.values():
                _complete_files(below)
        elif action.type is Path or str(action.metavar).startswith("FILE"):
            action.complete = _FILES  # type: ignore[attr-defined]  # read by shtab


def _is_checkout() -> bool:
    return importlib.util.find_spec("reproductions") is not None


def _adder(module: str, name: str) -> Callable[[argparse.ArgumentParser], None]:
    """Return the function that adds the options of a command."""
    if module.startswith("reproductions") and not _is_checkout():
        return _add_nothing
    full = module if "." in module else f"allocsolve.cli.{module}"
    function: Callable[[argparse.ArgumentParser], None] = getattr(importlib.import_module(full), name)
    return function


def _add_nothing(parser: argparse.ArgumentParser) -> None:
    """Take any words: the command needs what is not installed."""
    make_command(parser, _no_reproductions)
    parser.add_argument("paper", nargs=argparse.REMAINDER, help="needs a checkout of the repository")


def _no_reproductions(_: argparse.Namespace) -> int:
    raise UsageError(
        "reproductions are in the repository, not in the installed package: "
        "clone it and run pip install -e . there"
    )
