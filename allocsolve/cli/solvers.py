"""The commands on solvers: list them, compile what they need."""

from __future__ import annotations

import dataclasses
import inspect
import multiprocessing
import signal
import textwrap
import time
from contextlib import ExitStack, contextmanager
from os import cpu_count
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from allocsolve.cli import options as opt
from allocsolve.cli.output import count_bar, say, show_fields, show_table, terminal_width, write_json
from allocsolve.cli.parser import make_command
from allocsolve.cli.signatures import meanings
from allocsolve.errors import PluginError, SolverUnavailable
from allocsolve.families import families, unusable_families
from allocsolve.pictures.chart import counted, time_text
from allocsolve.registry import solver_options
from allocsolve.registry.names import value_text
from allocsolve.registry.table import canonical

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from allocsolve.families import Alias, AnyFamily


class Row(NamedTuple):
    """A solver as it is listed."""

    name: str
    kind: str
    method: str
    summary: str
    #: Of other distributions: which one, with its version.
    distribution: str = ""


class AliasRow(NamedTuple):
    """A short name as it is listed."""

    name: str
    kind: str
    stands_for: str


class OptionRow(NamedTuple):
    """An option as it is shown; values as names write them."""

    name: str
    takes: str
    default: str | None
    value: str
    meaning: str


class Page(NamedTuple):
    """All that is shown of one solver."""

    name: str
    kind: str
    method: str
    distribution: str
    #: The name of its class, with its options.
    stands_for: str
    summary: str
    options: list[OptionRow]
    aliases: list[AliasRow]


def solvers(args: argparse.Namespace) -> int:
    """List the registered solvers, then those of other distributions (which imports these), or show one."""
    if args.name is None or args.name in {family.kind for family in families()}:
        _list(args.name, as_json=args.json)
        return 0
    pages = list(_pages(args.name))
    if args.json:
        write_json({"solvers": pages})
        return 0
    for number, page in enumerate(pages):
        if number:
            say("")
        _show(page)
    return 0


def _list(kind: str | None, *, as_json: bool) -> None:
    from allocsolve.registry import solver_rows  # noqa: PLC0415 - loaded when the command runs

    listed = [family for family in families() if kind in (None, family.kind)]
    rows = [Row(row.name, family.kind, row.method, row.summary) for family, row in solver_rows()]
    rows += _plugin_rows()
    rows += [Row("-", kind, "family", f"unusable, {why}") for kind, why in unusable_families().items()]
    rows = [row for row in rows if kind in (None, row.kind)]
    if as_json:
        aliases = [
            AliasRow(name, family.kind, text)
            for family in listed
            for alias in family.aliases
            for name, text in alias.expanded()
        ]
        write_json({"solvers": rows, "aliases": aliases})
        return
    origins = (f"{row.distribution}: " if row.distribution else "" for row in rows)
    shown = [(*row[:3], origin + row.summary) for row, origin in zip(rows, origins, strict=True)]
    show_table(("solver", "kind", "method", "summary"), shown, texts=(0, 1, 2, 3))
    patterns = [(family, alias) for family in listed for alias in family.aliases]
    say("")
    if patterns:
        _show_aliases([_pattern(family, alias) for family, alias in patterns])
    words = {word.upper(): values for _, alias in patterns for word, values in alias.words.items()}
    say("", *(f"{word}: {', '.join(values)}" for word, values in words.items()))
    say("`allocsolve solvers NAME` shows the options of one, which names take in parentheses.")


def _pattern(family: AnyFamily, alias: Alias) -> AliasRow:
    """Return the one line of an alias, its words in capitals."""
    words = {word: word.upper() for word in alias.words}
    return AliasRow(alias.name.format_map(words), family.kind, alias.stands_for.format_map(words))


def _show_aliases(rows: list[AliasRow]) -> None:
    show_table(("alias", "stands for"), [(row.name, row.stands_for) for row in rows], texts=(0, 1))


def _plugin_rows() -> Iterator[Row]:
    """Yield a row for each family that an entry point solves; one with the reason if it cannot be used."""
    from allocsolve.registry import load_plugin, plugins, provider  # noqa: PLC0415 - when the command runs

    for name, entries in plugins().items():
        source = " and ".join(provider(entry) for entry in entries)
        try:
            solver, solved = load_plugin(name)
        except PluginError as error:
            yield Row(name, "-", "plug-in", f"unusable, {error}", source)
            continue
        summary = _documentation(_written(solver)).splitlines()[0]
        yield from (Row(name, family.kind, "plug-in", summary, source) for family in solved)


def _written(solver: Any) -> Any:  # noqa: ANN401 - any solver
    """Return what the author of a plug-in has written: the policy of a solver that runs one."""
    from allocsolve.simulation.compiled import PolicySolver  # noqa: PLC0415 - imports numba

    return solver.policy if isinstance(solver, PolicySolver) else solver


def _documentation(solver: Any) -> str:  # noqa: ANN401 - any solver
    from allocsolve.registry import identity  # noqa: PLC0415 - loaded when the command runs

    return inspect.getdoc(solver) or identity(solver)


def _pages(name: str) -> Iterator[Page]:
    """Yield what is shown of a solver, for each family that has one of this name."""
    from allocsolve import registry  # noqa: PLC0415 - loaded when the command runs

    base = name.partition("(")[0]
    source = " and ".join(map(registry.provider, registry.plugins().get(base, ())))
    for family in registry.families_named(name):
        solver: Any = registry.make_solver(name, family.problem)
        row = registry.solver_row(name, family)
        default: Any
        if row is None:
            solver = _written(solver)
            default = solver if isinstance(solver, type) else type(solver)
            method, stands_for, aliases = "plug-in", name, []
        else:
            method, default, stands_for = row.method, row.load(), canonical(row, solver)
            named = (a for a in family.aliases if a.stands_for.partition("(")[0].strip() == row.name)
            aliases = [_pattern(family, alias) for alias in named]
        text = " ".join(_documentation(solver).split("\n\n")[0].split())
        options = list(_option_rows(solver, default))
        yield Page(name, family.kind, method, source, stands_for, text, options, aliases)


def _option_rows(solver: Any, default: Any) -> Iterator[OptionRow]:  # noqa: ANN401 - any solver, or its class
    """Yield the options of a solver, with the defaults of another one or of a class."""
    defaults = solver_options(default)
    for name, option in solver_options(solver).items():
        value = defaults[name].value
        text = None if value is dataclasses.MISSING else value_text(value)
        said = meanings(getattr(solver, option.part) if option.part else solver)
        yield OptionRow(name, option.takes, text, value_text(option.value), said.get(name, ""))


def _show(page: Page) -> None:
    fields = [
        ("solver", page.name),
        ("stands for", page.stands_for if page.stands_for != page.name else ""),
        ("kind", page.kind),
        ("method", page.method),
        ("from", page.distribution),
    ]
    show_fields((name, text) for name, text in fields if text)
    say("", *textwrap.wrap(page.summary, terminal_width()))
    for option in page.options:
        default = "" if option.value == option.default else f" (default: {option.default or 'none'})"
        say("", f"{option.name}={option.value}{default}", style="bold")
        for text in (option.meaning, f"Takes {option.takes}."):
            say(*textwrap.wrap(text, terminal_width(), initial_indent="  ", subsequent_indent="  "))
    if not page.options:
        say("", "It has no options.")
    if page.aliases:
        say("")
        _show_aliases(page.aliases)


def warm(args: argparse.Namespace) -> int:
    """Have solvers compile their kernels into the cache on disk, and load their backends once."""
    from allocsolve.kernels import clear_kernels  # noqa: PLC0415 - when the command runs
    from allocsolve.registry import families_named, solver_names  # noqa: PLC0415 - when the command runs

    removed = clear_kernels() if args.clear else 0
    if args.solvers is not None:
        chosen = [(family.kind, name) for name in args.solvers for family in families_named(name)]
    elif args.clear:
        chosen = []
    else:
        chosen = [(family.kind, name) for family in families() for name in solver_names(family)]
    begin, ready, compiled = time.perf_counter(), 0, 0
    missing: dict[str, str] = {}
    with count_bar("starting") as progress, _side_by_side(chosen) as warmed:
        for done, (name, compilations, reason) in enumerate(warmed):
            progress(done, len(chosen), name)
            compiled += compilations
            ready += not reason
            if reason:
                missing[name] = reason
    seconds = time.perf_counter() - begin
    if args.json:
        document = {"ready": ready, "compiled": compiled, "seconds": seconds, "unavailable": missing}
        write_json({**document, "removed": removed} if args.clear else document)
        return 0
    say(*missing.values())
    if args.clear:
        say(f"{counted(removed, 'compiled kernel')} removed")
    if chosen:
        say(f"{counted(ready, 'solver')} ready: {counted(compiled, 'kernel')} compiled, {time_text(seconds)}")
    return 0


@contextmanager
def _side_by_side(chosen: Sequence[tuple[str, str]]) -> Iterator[Iterator[tuple[str, int, str]]]:
    """Make solvers ready, each family in a process of its own: most kernels are those of one family.

    Yields what `_made_ready` returns, as it comes. After that the processes are ended.
    """
    kinds = {kind for kind, _ in chosen}
    if len(kinds) < 2 or cpu_count() == 1:
        yield map(_made_ready, chosen)
        return
    context, made = multiprocessing.get_context("spawn"), SimpleQueue[Any]()
    with ExitStack() as stack:
        for kind in kinds:
            pool = stack.enter_context(context.Pool(1, signal.signal, (signal.SIGINT, signal.SIG_IGN)))
            for solver in chosen:
                if solver[0] == kind:
                    pool.apply_async(_made_ready, (solver,), callback=made.put, error_callback=made.put)
        yield (_result(made.get()) for _ in chosen)


def _result(made: Any) -> tuple[str, int, str]:  # noqa: ANN401 - as it came from another process
    if isinstance(made, BaseException):
        raise made
    name, compiled, reason = made
    return name, compiled, reason


def _made_ready(solver: tuple[str, str]) -> tuple[str, int, str]:
    """Make a solver ready; return its name, how much was compiled, and why it could not be done.

    What goes wrong comes back as text: not every error survives the way from another process.
    """
    from allocsolve.families import family_named  # noqa: PLC0415 - when the command runs
    from allocsolve.kernels import compilations  # noqa: PLC0415 - when the command runs

    kind, name = solver
    before = compilations()
    try:
        make_ready(family_named(kind), name)
    except SolverUnavailable as error:
        return name, compilations() - before, str(error)
    except Exception as error:  # noqa: BLE001 - the other solvers can be made ready
        return name, compilations() - before, f"{name}: {type(error).__name__}: {error}"
    return name, compilations() - before, ""


def make_ready(family: AnyFamily, name: str) -> None:
    """Make a solver ready for small and for large problems of a family, of all sorts."""
    from allocsolve.registry import make_solver, ready  # noqa: PLC0415 - when the command runs

    large = [make() for make in (family.large_example, *[*family.timing_problems.values()][-1:])]
    for problem in (*large, *family.examples()):
        ready(make_solver(name, problem), problem)


def add_solvers(parser: argparse.ArgumentParser) -> None:
    """Add the options of `solvers`."""
    make_command(parser, solvers)
    help_text = "show the options and short names of this solver, or list the solvers of this family"
    parser.add_argument("name", nargs="?", type=opt.solver_or_family, metavar="NAME|FAMILY", help=help_text)


def add_warm(parser: argparse.ArgumentParser) -> None:
    """Add the options of `warm`."""
    make_command(parser, warm)
    help_text = "these solvers only (default: all but plug-ins)"
    parser.add_argument("solvers", nargs="?", type=opt.solvers, metavar="A,B,...", help=help_text)
    help_text = "remove all compiled kernels from disk first, and compile nothing unless solvers are named"
    parser.add_argument("--clear", action="store_true", help=help_text)
