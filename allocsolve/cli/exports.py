"""Options that write an answer as a file of another program; families say which there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from allocsolve.cli import options as opt
from allocsolve.errors import InvalidOption
from allocsolve.families import families, family_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from allocsolve.model import Problem

__all__ = ["add_exports", "check_exports", "export_paths", "write_exports"]


def add_exports(parser: argparse.ArgumentParser) -> None:
    """Add an option for each export of any family, and that for a window of time."""
    offered = {name: export for family in families() for name, export in family.view.exports.items()}
    for name, export in offered.items():
        help_text = f"write the solution as {export.summary}"
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=help_text)
    parser.set_defaults(window=None, exports=tuple(offered))
    if offered:
        help_text = f"the window of {' and '.join(f'--{name}' for name in offered)} in seconds (default: all)"
        parser.add_argument("--window", type=opt.window, metavar="FROM:TO", help=help_text)


def export_paths(args: argparse.Namespace) -> dict[str, Path]:
    """Return the files that were asked for, by the names of their options."""
    paths = {name: getattr(args, name.replace("-", "_")) for name in args.exports}
    return {name: path for name, path in paths.items() if path is not None}


def check_exports(args: argparse.Namespace, problem: Problem) -> None:
    """Refuse what the family of a problem does not write.

    Raises
    ------
    InvalidOption
        If it has no such export, or there is a window of nothing.
    """
    family, paths = family_of(problem), export_paths(args)
    strange = next((name for name in paths if name not in family.view.exports), None)
    if strange is not None:
        msg = f"--{strange}: there is no such file of a problem of the kind {family.kind}"
        raise InvalidOption(msg)
    if args.window is not None and not paths:
        msg = f"--window is for {' and '.join(f'--{name}' for name in args.exports)}"
        raise InvalidOption(msg)


def write_exports(args: argparse.Namespace, problem: Problem, answer: Any) -> Iterable[tuple[str, Path]]:  # noqa: ANN401 - of the family
    """Write the files that were asked for; return their names and paths."""
    exports, paths = family_of(problem).view.exports, export_paths(args)
    for name, path in paths.items():
        path.write_text(exports[name].text(problem, answer, args.window), encoding="utf-8", errors="replace")
    return paths.items()
