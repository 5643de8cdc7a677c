"""The commands around studies: run, export, report."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.cli.files import check_writable
from allocsolve.cli.output import remark, say, write_json
from allocsolve.cli.progress import count_bar
from allocsolve.cli.report import write_report
from allocsolve.errors import UnknownName
from allocsolve.pictures.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from allocsolve.bench import RecordStore

__all__ = ["export_study", "report_study", "run_study", "with_resume_hint"]


@contextmanager
def with_resume_hint(store: RecordStore, path: Path) -> Iterator[None]:
    """Have an interrupt say how many records are in the file."""
    try:
        yield
    except KeyboardInterrupt:
        standing = f"{counted(len(store), 'record')} in {path}, the same command goes on from there"
        raise KeyboardInterrupt(standing if len(store) else "nothing was recorded yet") from None


def run_study(args: argparse.Namespace) -> int:
    """Run what a study has not run yet."""
    from allocsolve.bench import RecordStore, open_executor, read_study, run_missing  # noqa: PLC0415 - when the command runs

    study = read_study(args.file)
    path: Path = args.out or Path(args.file).with_suffix(".sqlite")
    tasks = study.tasks()
    with RecordStore(path) as store:
        keys = {task.key for task in tasks}
        before = len(keys & store.keys())
        with (
            open_executor(args.executor, args.jobs) as executor,
            with_resume_hint(store, path),
            count_bar("starting") as progress,
        ):
            run_missing(
                tasks,
                store,
                executor=executor,
                memory_mb=study.memory_mb,
                progress=progress,
                announce=remark,
            )
        records = [record for record in store.unanswered() if record.key in keys]
    failed = [record for record in records if record.error]
    unanswered = len(records) - len(failed)
    if args.json:
        write_json(
            {
                "records": path,
                "tasks": len(tasks),
                "run": len(tasks) - before,
                "unanswered": unanswered,
                "failures": [{"solver": r.solver, "problem": r.instance, "error": r.error} for r in failed],
            }
        )
    else:
        for record in failed:
            say(f"{record.solver} failed on {record.instance}: {record.error}")
        say(
            f"{counted(len(tasks), 'task')}, {before} of them run before; "
            f"{len(failed)} failed, {unanswered} without an answer.",
            f"Records: {path}",
        )
    return 1 if failed else 0


def export_study(args: argparse.Namespace) -> int:
    """Write the records of a study as a table for other programs."""
    from allocsolve.bench import EXPORTS, RecordStore, export  # noqa: PLC0415 - when the command runs

    if args.out.suffix.lower() not in EXPORTS:
        raise UnknownName("format", args.out.suffix or str(args.out), EXPORTS)
    check_writable(args.out)
    with RecordStore(args.study, read_only=True) as store:
        export(store, args.out)
        count = len(store)
    if args.json:
        write_json({"table": args.out, "records": count})
    else:
        say(f"{args.out}: {counted(count, 'record')}")
    return 0


def report_study(args: argparse.Namespace) -> int:
    """Write the report of a study."""
    from allocsolve.bench import RecordStore  # noqa: PLC0415 - when the command runs

    with RecordStore(args.study, read_only=True) as store:
        write_report(store, args.study.stem, args.out, table=args.markdown, folder=args.figures)
    return 0
