"""What all commands have in common: how they are added, and what is shown when none is named."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

__all__ = ["Commands", "add_command", "commands_of", "make_command", "sentence"]

#: The commands below a parser.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - it has no public name


def sentence(summary: str) -> str:
    """Return a summary as a sentence."""
    return f"{summary[0].upper()}{summary[1:]}."


def commands_of(parser: argparse.ArgumentParser, what: str) -> Commands:
    """Let commands stand behind a parser; where none does, its help is printed.

    Parameters
    ----------
    parser
        The parser.
    what
        What the commands are called, such as ``generator``.
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

    Parameters
    ----------
    commands
        See `commands_of`.
    name
        Of the command.
    run
        Runs it and returns its exit status.
    summary
        What it does, in a few words.
    """
    added = commands.add_parser(name, help=summary, description=sentence(summary))
    make_command(added, run)
    return added


def make_command(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> None:
    """Make a parser that of a command that can be run, with the options that all of them take.

    Parameters
    ----------
    parser
        Of the command.
    run
        Runs it and returns its exit status.
    """
    parser.set_defaults(run=run)
    common = parser.add_argument_group("with every command")
    common.add_argument("--json", action="store_true", help="print one JSON object")
    help_text = "say more: of a solver that raised, the traceback"
    common.add_argument("-v", "--verbose", action="store_true", help=help_text)
