"""The command that keeps solvers from getting worse: gate."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from allocsolve.cli.files import check_writable
from allocsolve.cli.output import remark, say, show_table, write_json
from allocsolve.cli.progress import count_bar
from allocsolve.errors import FormatError, InvalidOption, UnknownName
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from allocsolve.bench import GateChange, GateReport

__all__ = ["gate"]

#: Where the options of the command may stand, too, each by its name.
_PROJECT: Final = Path("pyproject.toml")
_TABLE: Final = "tool.allocsolve.gate"
_FIELDS: Final = ("baseline", "suite", "solvers")


def gate(args: argparse.Namespace) -> int:
    """Run a suite and compare it with the baseline, or write the baseline."""
    from allocsolve.bench import open_executor, run_gate  # noqa: PLC0415 - when the command runs

    options = {"suite": None, "solvers": None, **_table()}
    options |= {name: given for name in _FIELDS if (given := getattr(args, name)) is not None}
    if "baseline" not in options:
        msg = f"there is neither --baseline nor a baseline in [{_TABLE}] of {_PROJECT}"
        raise InvalidOption(msg)
    if args.update:
        check_writable(Path(options["baseline"]))
    with count_bar("gate") as progress, open_executor("local", jobs=1) as cells:
        report = run_gate(
            **options,
            update=args.update,
            executor=cells,
            progress=progress,
            announce=remark,
        )
    if args.json:
        write_json({"passed": report.passed, **_fields(report)})
    else:
        _show(report)
    return 0 if report.passed else 1


def _table() -> dict[str, Any]:
    """Return the table of the gate in the project file of the current folder; empty if there is none."""
    if not _PROJECT.is_file():
        return {}
    try:
        document = tomllib.loads(_PROJECT.read_bytes().decode())
    except (ValueError, RecursionError) as error:  # of the decoder, and of huge integers
        raise FormatError(str(_PROJECT), [str(error)]) from None
    table: Any = document
    for name in _TABLE.split("."):
        table = table.get(name, {})
        if not isinstance(table, dict):
            raise FormatError(str(_PROJECT), [f"{name}: {table!r} is not a table"])
    faults = []
    for name, value in table.items():
        if name not in _FIELDS:
            faults.append(f"{_TABLE}: {UnknownName('field', name, _FIELDS)}")
        elif name != "solvers" and not isinstance(value, str):
            faults.append(f"{_TABLE}.{name}: {value!r} is not a text")
        elif name == "solvers" and not (
            isinstance(value, list) and all(isinstance(one, str) for one in value)
        ):
            faults.append(f"{_TABLE}.{name}: {value!r} is not a list of names")
    if faults:
        raise FormatError(str(_PROJECT), faults)
    return dict(table)


def _fields(report: GateReport) -> dict[str, object]:
    return {name: getattr(report, name) for name in report.__dataclass_fields__}


def _show(report: GateReport) -> None:
    if report.changes:
        # Gaps are fractions, times in units of the walk, as in the file.
        heads = ("what", "kind", "solver", "problem", "baseline", "now", "change")
        show_table(heads, map(_row, report.changes), texts=(0, 1, 2, 3))
        say("", *_errors(report))
    if report.faster and not report.updated:
        names = ", ".join(f"{change.solver} ({change.before} -> {change.now})" for change in report.faster)
        remark(f"faster than in {report.baseline}, and held to the old times until an --update: {names}")
    ran = (
        f"{report.suite}: {counted(report.problems, 'problem')}, {counted(report.solvers, 'solver')}, "
        f"{report.timed} of them timed"
    )
    count = counted(len(report.changes), "change")
    if report.updated:
        say(f"{ran}; {count}, written to {report.baseline}")
    elif report.passed:
        say(f"{ran}; as in {report.baseline}")
    else:
        say(f"{ran}; {count} from {report.baseline}", "Where they are meant, accept them with --update.")


def _row(change: GateChange) -> tuple[str, ...]:
    # The reason of a failure is a sentence: below the table.
    values = [change.before, None if _failed(change) else change.now]
    texts = (change.what, change.kind, change.solver, change.problem, *map(_text, values), change.relative)
    return tuple(text or "-" for text in texts)


def _text(value: float | str | None) -> str:
    return "" if value is None else str(value)


def _failed(change: GateChange) -> bool:
    return change.what in ("refuted", "failed")


def _errors(report: GateReport) -> Iterator[str]:
    for change in report.changes:
        if _failed(change):
            yield str(change)
