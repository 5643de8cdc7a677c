"""Values of options: functions from the text to the value, for argparse."""

from __future__ import annotations

import argparse
import math
import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from allocsolve.cli.parser import Parser
from allocsolve.errors import AllocsolveError, InvalidOption, UnknownName
from allocsolve.families import families, setting_fault
from allocsolve.instances import MACHINE_SOURCES
from allocsolve.instances.formats.logs.times import TIME_UNITS
from allocsolve.instances.formats.networks.hostlist import shown_text as _short
from allocsolve.model import MAX_INTEGER
from allocsolve.model.result import POLICY_SECONDS
from allocsolve.registry import canonical_name, check_solver_name, plugin_place, split_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_Value = TypeVar("_Value")

MACHINE_NAMES = tuple(MACHINE_SOURCES)

#: Ends of names of pictures that are no SVG.
_OTHER_PICTURES: Final = frozenset(
    {".bmp", ".eps", ".gif", ".jpeg", ".jpg", ".pdf", ".png", ".ps", ".tif", ".tiff", ".webp"}
)


class Options(Protocol):
    """A parser, or a group of its options."""

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:  # noqa: ANN401 - as argparse has it
        """Add an argument."""


def add_notes(parser: argparse.ArgumentParser, title: str, rows: Mapping[str, str]) -> None:
    """Add a table of two columns below the options of a page."""
    assert isinstance(parser, Parser)
    width = max(map(len, rows))
    parser.notes += [f"{title}:"]
    for name, text in rows.items():
        first, *others = textwrap.wrap(text, 76 - width) or [""]
        parser.notes += [f"  {name:{width}}  {first}", *(f"{'':{width + 4}}{line}" for line in others)]
    parser.notes += [""]


def add_force(options: Options) -> None:
    """Add the option of every command that writes files: without it, none that is there is replaced."""
    options.add_argument("--force", action="store_true", help="replace files that exist")


def add_objective(parser: argparse.ArgumentParser, options: Options) -> None:
    """Add what is minimised, with the terms of each family below the page."""
    help_text = "what to minimise; several terms are minimised lexicographically (default: the first below)"
    options.add_argument("--objective", type=objective, metavar="TERM,...", help=help_text)
    terms = {family.kind: ", ".join(family.term_names) for family in families()}
    add_notes(parser, "terms of --objective, by the kind of problem", terms)


def add_settings(options: Options, help_text: str) -> None:
    """Add an option for each field of a problem that commands may set."""
    for name, takes in _settings().items():
        option = f"--{name.replace('_', '-')}"
        text = f"{help_text} of {name}, {'; '.join(takes)}"
        options.add_argument(option, type=_setting(name), dest=f"set_{name}", metavar="V", help=text)


def settings_of(args: argparse.Namespace) -> dict[str, object]:
    """Return the fields of problems that a command is asked to set, by name."""
    values = {name: getattr(args, f"set_{name}") for name in _settings()}
    return {name: value for name, value in values.items() if value is not None}


def _settings() -> dict[str, list[str]]:
    """Return by field of any family what it takes."""
    takes: dict[str, list[str]] = {}
    for family in families():
        for name, setting in family.settings.items():
            takes.setdefault(name, []).append(f"{setting.values} ({family.kind} problems)")
    return takes


def _setting(name: str) -> Callable[[str], str]:
    """Return the reader of a value of a field; whether it fits a problem is for its family to say."""

    def read(text: str) -> str:
        if fault := setting_fault(name, text):
            raise argparse.ArgumentTypeError(fault.removeprefix(f"{name}: "))
        return text

    return read


def add_seed(options: Options) -> None:
    """Add the seed of solvers."""
    help_text = "seed of every random choice (default: %(default)s)"
    options.add_argument("--seed", type=integer(0, 2**31 - 1), default=0, metavar="S", help=help_text)


def add_tolerance(options: Options) -> None:
    """Add what times of a schedule may be off."""
    help_text = (
        "seconds by which times of a workload's schedule may be off, for schedules that were rounded: "
        "0.001 if they are given to the millisecond (default: 0)"
    )
    options.add_argument("--tolerance", type=tolerance, default=0.0, metavar="SECONDS", help=help_text)


def add_rerun(options: Options) -> None:
    """Add which runs are made again."""
    help_text = (
        "run these solvers again although there are records of them, or `failed`: whatever has failed; "
        "the newest records count"
    )
    options.add_argument(
        "--rerun", type=_rerun, action="extend", default=[], metavar="A,B,...", help=help_text
    )


#: What ``--rerun`` takes beside names of solvers.
FAILED: Final = "failed"


def _rerun(text: str) -> list[str]:
    named = [name for name in split_names(text) if name != FAILED]
    return [*(solvers(",".join(named)) if named else []), *([FAILED] if FAILED in split_names(text) else [])]


def add_timezone(options: Options, what: str = "times") -> None:
    """Add the time zone of what tells none."""
    help_text = f"time zone of {what} without one, such as Europe/Berlin (default: %(default)s)"
    options.add_argument("--timezone", default="UTC", metavar="ZONE", help=help_text)


def add_time_unit(options: Options) -> None:
    """Add the unit of points in time that a log writes as plain numbers."""
    help_text = "unit of times that are plain numbers; days are those of spreadsheets (default: s)"
    options.add_argument("--time-unit", choices=tuple(TIME_UNITS), help=help_text)


def add_outputs(options: Options, help_text: str, metavar: str, *, required: bool = False) -> None:
    """Add one option for files of several kinds, told apart by the ends of their names; see `outputs`."""
    options.add_argument(
        "--out",
        type=paths,
        action="extend",
        default=[],
        required=required,
        metavar=metavar,
        help=help_text,
    )


def outputs(files: Sequence[Path], other: str) -> tuple[Path | None, Path | None]:
    """Return the file of the main kind, and the one whose name has the other end; else None.

    Raises `InvalidOption` if there are two of a kind.
    """
    kinds = [path for path in files if path.suffix != other], [path for path in files if path.suffix == other]
    for kind in kinds:
        if len(kind) > 1:
            raise InvalidOption(f"--out: {kind[0]} and {kind[1]} are files of the same kind")
    main, beside = (kind[0] if kind else None for kind in kinds)
    return main, beside


def add_budget(options: Options, help_text: str, default: float) -> None:
    """Add what limits a search: its time, with a default in seconds, and its threads."""
    options.add_argument("--seconds", type=seconds, default=default, metavar="T", help=help_text)
    workers = min(2, os.cpu_count() or 1)
    help_text = "threads of an exact solver and of annealing (default: %(default)s)"
    options.add_argument("--workers", type=integer(1), default=workers, metavar="W", help=help_text)


def add_policy_seconds(options: Options) -> None:
    """Add the limit of solvers that do not search, which few need: a study states it as policy_seconds."""
    options.add_argument(
        "--policy-seconds", type=seconds, default=POLICY_SECONDS, metavar="T", help=argparse.SUPPRESS
    )


def add_executor(options: Options) -> None:
    """Add the options that say where tasks are run."""
    text = "where tasks are run: local (the default), dask:ADDRESS of a scheduler, mpi under mpiexec"
    options.add_argument("--executor", default="local", metavar="WHERE", help=text)
    text = "local tasks at a time (default: %(default)s; more make run times less comparable)"
    options.add_argument("-j", type=integer(1), default=1, dest="parallel", metavar="N", help=text)


def integer(low: int, high: int = MAX_INTEGER) -> Callable[[str], int]:
    """Return the reader of an integer in low..high."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{_short(text)} is not an integer") from None
        if value < low:
            raise argparse.ArgumentTypeError(f"{_short(text)} is below {low}")
        if value > high:
            msg = f"{_short(text)} is above {'2^53' if high == MAX_INTEGER else high}"
            raise argparse.ArgumentTypeError(msg)
        return value

    return read


def distinct(read: Callable[[str], _Value]) -> Callable[[str], tuple[_Value, ...]]:
    """Return the reader of values separated by commas, each once."""

    def read_all(text: str) -> tuple[_Value, ...]:
        values = tuple(read(part.strip()) for part in text.split(","))
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise argparse.ArgumentTypeError(f"{twice} is named twice")
        return values

    return read_all


def pair(read: Callable[[str], _Value]) -> Callable[[str], tuple[_Value, ...]]:
    """Return the reader of one value, or of two with a comma between; the first is 0 if left out."""

    def read_pair(text: str) -> tuple[_Value, ...]:
        first, comma, second = text.partition(",")
        return tuple(map(read, [first or "0", second] if comma else [first]))

    return read_pair


def one_of(what: str, known: Sequence[str]) -> Callable[[str], str]:
    """Return the reader of one of these names."""

    def read(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(str(UnknownName(what, text, known)))
        return text

    return read


def integers(low: int, high: int = MAX_INTEGER) -> Callable[[str], tuple[int, int]]:
    """Return the reader of a range such as 15-20, with both ends; a single number is a range of one."""
    read_end = integer(low, high)

    def read(text: str) -> tuple[int, int]:
        first, dash, last = text.partition("-")
        ends = read_end(first), read_end(last if dash else first)
        if ends[0] > ends[1]:
            raise argparse.ArgumentTypeError(f"the range {text} ends before it begins")
        return ends

    return read


def amounts(text: str) -> dict[str, int]:
    """Read how much there is of what, such as gpus=32,long=20."""
    read = integer(1)
    listed: dict[str, int] = {}
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.partition("="))
        if not (name and equals):
            raise argparse.ArgumentTypeError(f"{_short(part)} is not of the form NAME=N")
        if name in listed:
            raise argparse.ArgumentTypeError(f"{_short(name)} stands there twice")
        listed[name] = read(number)
    return listed


def priority_age(text: str) -> tuple[float, float]:
    """Read Slurm's PriorityWeightAge and PriorityMaxAge in days, such as 1000,7."""
    parts = text.split(",")
    if len(parts) != 2:
        raise argparse.ArgumentTypeError(f"{_short(text)} is not of the form WEIGHT,DAYS")
    weight, days = (number(part) for part in parts)
    if not (0 < weight < math.inf and 0 < days < math.inf):
        raise argparse.ArgumentTypeError(f"{_short(text)} is not two finite numbers above 0")
    return weight, days


def paths(text: str) -> list[Path]:
    """Read paths of files, separated by commas: at least one."""
    found = [Path(name.strip()) for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} names no file")
    return found


def objective(text: str) -> str:
    """Read an objective of any family, such as ``makespan,waste``; returned as the records have it."""
    faults = []
    for family in families():
        try:
            return ",".join(family.parse_objective(text))
        except AllocsolveError as error:
            faults.append(error)
    terms = dict.fromkeys(term for family in families() for term in family.term_names)
    names = [name.strip() for name in text.split(",")]
    unknown = next((name for name in names if name not in terms), None)
    if unknown is not None:
        raise argparse.ArgumentTypeError(str(UnknownName("objective", unknown, terms)))
    # All are terms of some family: a term stands twice, or no family has them all.
    repeated = next((fault for fault in faults if isinstance(fault, InvalidOption)), None)
    message = str(repeated) if repeated else f"no kind of problems has all of {', '.join(names)}"
    raise argparse.ArgumentTypeError(message)


def solver(text: str) -> str:
    """Read the name of a solver of any family, or of a plug-in, with options or without."""
    return solver_of("solver", text)


def solver_or_family(text: str) -> str:
    """Read the name of a solver, or of a family of problems."""
    return text if text in {family.kind for family in families()} else solver(text)


def solver_of(what: str, text: str, registered: Iterable[str] | None = None) -> str:
    """Read the name of one of these solvers (all, if None), or of a plug-in, with options or without."""
    try:
        check_solver_name(what, text, registered)
        # A plug-in is imported by the command that wants it, some by a process of its own.
        return text if plugin_place(text) else canonical_name(text)
    except AllocsolveError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def solvers(text: str) -> list[str]:
    """Read names of solvers, separated by commas; those inside parentheses part options."""
    return solvers_of("solver", text)


def solvers_of(what: str, text: str, registered: Iterable[str] | None = None) -> list[str]:
    """Read names of these solvers (all, if None), or of plug-ins, separated by commas, each once."""
    names = [solver_of(what, name, registered) for name in split_names(text)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise argparse.ArgumentTypeError(f"{twice} is named twice")
    return names


def names(text: str) -> list[str]:
    """Read names as records have them, separated by commas; those inside parentheses part options."""
    return split_names(text)


def known_claims() -> dict[str, str]:
    """Return the claims about answers of all families, with what they mean."""
    known = (family.claims.meanings for family in families() if family.claims is not None)
    return {name: meaning for meanings in known for name, meaning in meanings.items()}


def claims(text: str) -> list[str]:
    """Read claims about answers, separated by commas, each once."""
    known = known_claims()
    named = [name.strip() for name in text.split(",") if name.strip()]
    if not named:
        raise argparse.ArgumentTypeError(f"{_short(text)} names no claim")
    for name in named:
        if name not in known:
            raise argparse.ArgumentTypeError(str(UnknownName("claim", name, known)))
        if named.count(name) > 1:
            raise argparse.ArgumentTypeError(f"{name} is named twice")
    return named


def percentages(text: str) -> tuple[float, ...]:
    """Read shares in per cent, separated by commas."""
    read = _numbers(lambda value: 0 <= value <= 100, "{} is not in 0..100 per cent")
    return tuple(read(part) / 100 for part in text.split(","))


def picture(text: str) -> Path:
    """Read the file of a picture; a name that promises another format is refused."""
    path = Path(text)
    if path.suffix.lower() in _OTHER_PICTURES:
        msg = f"{_short(text)}: pictures are written as SVG, in a file whose name ends in .svg"
        raise argparse.ArgumentTypeError(msg)
    return path


def shape(text: str) -> tuple[int, ...]:
    """Read the sides of a machine such as 16x8."""
    return tuple(integer(1)(side) for side in text.lower().split("x"))


def window(text: str) -> tuple[float, float]:
    """Read a window of time such as 0:86400, in seconds."""
    first, colon, last = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{_short(text)} is not of the form FROM:TO")
    ends = number(first), number(last)
    if not -math.inf < ends[0] < ends[1] < math.inf:
        raise argparse.ArgumentTypeError(f"the window {_short(text)} does not end after it begins")
    return ends


def axes(text: str) -> tuple[bool, ...]:
    """Read which axes are meant: 0 or 1 by axis, such as 1,1,0."""
    digits = text.split(",")
    strange = next((digit for digit in digits if digit not in ("0", "1")), None)
    if strange is not None:
        raise argparse.ArgumentTypeError(f"{_short(text)} is not 0 or 1 for each axis, separated by commas")
    return tuple(digit == "1" for digit in digits)


def machine_or_shape(text: str) -> str | tuple[int, ...]:
    """Read the name of a machine, or the sides of a mesh such as 16x8."""
    return shape(text) if text[:1].isdecimal() else machine(text)


def axes_or_all(text: str) -> str | tuple[bool, ...]:
    """Read which axes are meant, see `axes`, or `all`."""
    return text if text == "all" else axes(text)


def number(text: str) -> float:
    """Read a number; NaN is none."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"{_short(text)} is not a number")
    return value


def _numbers(allowed: Callable[[float], bool], fault: str) -> Callable[[str], float]:
    """Return the reader of such numbers; the fault has a place for the text."""

    def read(text: str) -> float:
        value = number(text)
        if not allowed(value):
            raise argparse.ArgumentTypeError(fault.format(text))
        return value

    return read


#: A time limit; by how many seconds times may be off; a share; the name of a machine.
seconds = _numbers(lambda value: 0 < value < math.inf, "{} is not a finite number of seconds above 0")
tolerance = _numbers(lambda value: 0 <= value < math.inf, "{} is not a finite number of seconds, 0 or more")
share = _numbers(lambda value: 0 <= value <= 1, "the share {} is not in 0..1")
machine = one_of("machine", MACHINE_NAMES)
