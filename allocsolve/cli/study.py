"""The commands around studies: run, export, verify, merge, report; and the figures of reports as files."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve import bench, figures, report
from allocsolve.backends.checkers import find_checker
from allocsolve.bench.runs.tasks import again
from allocsolve.bench.runs.verify import mark_verified
from allocsolve.bench.scores.catalogue import Catalogue, select
from allocsolve.cli.files import (
    check_absent,
    check_outputs,
    failure_fields,
    failure_lines,
    made_by,
    make_folder,
    write_texts,
)
from allocsolve.cli.options import FAILED, outputs
from allocsolve.cli.output import count_bar, remark, say, write_json
from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.figures.style import FORMATS, style
from allocsolve.pictures.chart import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from allocsolve.bench import Record, RecordKey, RecordStore, Task
    from allocsolve.bench.scores.gaps import Contradiction
    from allocsolve.cli.options import Options
    from allocsolve.report import Findings, StudyRecords


def add_figures(options: Options) -> None:
    """Add the options that ask for figures."""
    text = "write the figures into this folder: as SVG, as in reports, or with --format for print"
    options.add_argument("--figures", type=Path, metavar="DIR", help=text)
    text = "draw figures for print, a column wide (needs pip install 'allocsolve[plots]')"
    options.add_argument("--format", choices=FORMATS, help=text)


def check_figures(args: argparse.Namespace, *, force: bool) -> None:
    """Refuse figures that could not be made, or that would replace files unasked."""
    if args.format is not None:
        if args.figures is None:
            raise InvalidOption("--format is that of --figures, which names their folder")
        with style():
            pass  # there is a matplotlib
    for figure in sorted(args.figures.glob(f"*.{args.format or 'svg'}")) if args.figures else ():
        check_absent(figure, force=force)


def figure_files(args: argparse.Namespace, findings: Findings, study: StudyRecords) -> list[Path]:
    """Write the figures that are asked for, in a folder that is made if it does not exist."""
    if args.figures is None:
        return []
    if args.format is None:
        return write_texts(report.figures(findings), args.figures, ".svg")
    make_folder(args.figures)
    return figures.write_figures(findings, args.figures, args.format, study=study)


@contextmanager
def with_resume_hint(store: RecordStore, path: Path | None) -> Iterator[None]:
    """Have an interrupt say how many records are in the file; None if they are in memory only."""
    try:
        yield
    except KeyboardInterrupt:
        if path is None:
            raise KeyboardInterrupt("nothing was kept: --out DIR keeps what is done") from None
        standing = f"{counted(len(store), 'record')} in {path}, the same command goes on from there"
        raise KeyboardInterrupt(standing if len(store) else "nothing was recorded yet") from None


class Reused:
    """The runs that a command does not make, since there are records of them.

    The store is asked before the first run; `again` are the keys of the runs that are made all the same.
    """

    def __init__(
        self, tasks: Sequence[Task], store: RecordStore, path: Path | None, again: Collection[RecordKey]
    ) -> None:
        self._path, self._total = path, len(tasks)
        keys = {task.key for task in tasks if task.key in store} - {*again}
        self.runs = len(keys)
        self._days = store.days(keys)

    @property
    def line(self) -> str:
        """What the command says of them; empty if there are none."""
        if not self.runs:
            return ""
        days = " to ".join(dict.fromkeys(self._days))
        return f"{self.runs} of {counted(self._total, 'run')} from {self._path}, {days}"

    @property
    def fields(self) -> dict[str, object]:
        """What the JSON of the command says of them."""
        return {"runs": self.runs, "of": self._total, "days": self._days}


def keys_again(args: argparse.Namespace, tasks: Sequence[Task], store: RecordStore) -> set[RecordKey]:
    """Return the keys of the runs that a command is asked to make again."""
    return again(
        tasks, store, solvers=[name for name in args.rerun if name != FAILED], failed=FAILED in args.rerun
    )


def run_study(args: argparse.Namespace) -> int:
    """Run what a study has not run yet."""
    study = bench.read_study(args.file)
    path: Path = args.out or Path(args.file).with_suffix(".sqlite")
    tasks = study.tasks()
    with bench.RecordStore(path, tell=remark) as store:
        store.add_catalogue(Catalogue(references=study.references))
        again = keys_again(args, tasks, store)
        reused = Reused(tasks, store, path, again)
        if reused.line and not args.json:
            say(reused.line)
        with (
            bench.open_executor(args.executor, args.parallel) as executor,
            with_resume_hint(store, path),
            count_bar("starting") as progress,
        ):
            bench.run_missing(
                tasks,
                store,
                again=again,
                executor=executor,
                memory_mb=study.memory_mb,
                policy_seconds=study.policy_seconds,
                progress=progress,
                announce=progress.announce,
            )
        keys = {task.key for task in tasks}
        records = [record for record in store if record.value is None and record.key in keys]
    failed = [record for record in records if record.error]
    unanswered = len(records) - len(failed)
    if args.json:
        write_json(
            {
                "records": path,
                "tasks": len(tasks),
                "run": len(tasks) - reused.runs,
                "reused": reused.fields,
                "unanswered": unanswered,
                "failures": failure_fields(failed),
            }
        )
    else:
        say(*failure_lines(failed, path, verbose=args.verbose))
        say(
            f"{counted(len(tasks), 'task')}, {reused.runs} of them run before; "
            f"{len(failed)} failed, {unanswered} without an answer.",
            f"Records: {path}",
        )
    return 1 if failed else 0


def export_study(args: argparse.Namespace) -> int:
    """Write the records of a study as a table for other programs."""
    from allocsolve.bench.scores.summary import EXPORTS  # noqa: PLC0415 - when the command runs

    if args.out.suffix.lower() not in EXPORTS:
        raise UnknownName("format", args.out.suffix or str(args.out), EXPORTS)
    check_outputs(args.out, inputs=[args.study], force=args.force)
    with bench.RecordStore(args.study, read_only=True, tell=remark) as store:
        records, catalogue = selected(args, store, store.catalogue())
    bench.export(records, args.out, catalogue)
    if args.json:
        write_json({"table": args.out, "records": len(records)})
    else:
        say(f"{args.out}: {counted(len(records), 'record')}")
    return 0


def selected(
    args: argparse.Namespace, records: Iterable[Record], catalogue: Catalogue
) -> tuple[list[Record], Catalogue]:
    """Return the records that a command is asked for, and what the catalogue says of them."""
    return select(records, catalogue, solvers=args.solvers, exclude=args.exclude, suites=args.suites)


def verify_study(args: argparse.Namespace) -> int:
    """Have the judge recompute the records of a study."""
    damaged: list[str] = []

    def tell(line: str) -> None:
        damaged.append(line)
        remark(line)

    marked = None
    if args.verified:
        bench.RecordStore(args.study, read_only=True, tell=remark).close()  # refuses a file that is not there
        with bench.RecordStore(args.study, tell=remark) as store, count_bar("asking the checker") as progress:
            marked = mark_verified(store, progress=progress)
    with bench.RecordStore(args.study, read_only=True, tell=tell) as store:
        with count_bar("verifying") as progress:
            faults = [*bench.verify_records(store, progress=progress)]
        count = len(store)
        verified = sum(bool(record.verified_bound) for record in store)
    if verified and not find_checker():
        remark(f"{counted(verified, 'verified bound')} not recomputed: there is no verified checker here")
    if args.json:
        asked = {} if marked is None else {"verified": marked, "verified_by": find_checker()}
        write_json({"records": count, "faults": faults, "left_out": damaged, **asked})
    else:
        if marked is not None:
            say(f"{marked.verified} of {counted(marked.certified, 'certified bound')} verified")
            say(f"  by {find_checker()}")
            say(*(f"  {number} not: {reason}" for reason, number in marked.reasons.items()))
        say(*faults)
        say(
            f"{args.study}: {counted(count, 'record')}, {counted(len(faults), 'fault')}"
            + (f", {counted(len(damaged), 'thing')} left out" if damaged else "")
        )
    return 1 if faults or damaged else 0


def merge_studies(args: argparse.Namespace) -> int:
    """Add the records of some files to another."""
    for path in args.studies:
        if path.resolve() == args.out.resolve():
            raise InvalidOption(f"{path} is merged into itself")
    with ExitStack() as opened:
        stores = [
            opened.enter_context(bench.RecordStore(path, read_only=True, tell=remark))
            for path in args.studies
        ]
        into = opened.enter_context(bench.RecordStore(args.out, tell=remark))
        with with_resume_hint(into, args.out), count_bar("merging") as progress:
            added = bench.merge_records(into, stores, progress=progress)
        count = len(into)
    if args.json:
        write_json({"records": args.out, "added": added, "in_all": count})
    else:
        say(f"{args.out}: {counted(added, 'record')} added, {count} in all")
    return 0


def report_study(args: argparse.Namespace) -> int:
    """Write the report of a study; the exit status says whether its records contradict each other."""
    page, markdown = outputs(args.out, ".md")
    check_outputs(page, markdown, inputs=[args.study], force=args.force)
    check_figures(args, force=args.force)
    for file in sorted(args.latex.glob("*.tex")) if args.latex is not None else ():
        check_absent(file, force=args.force)
    with bench.RecordStore(args.study, read_only=True, tell=remark) as store:
        records, catalogue = selected(args, store, store.catalogue())
        findings = report.examine(records, title=args.study.stem, catalogue=catalogue, made=made_by(args))
        write_report(store, findings, page, table=markdown)
        drawn = figure_files(args, findings, store)
    tables = [] if args.latex is None else write_texts(report.latex(findings), args.latex, ".tex")
    if args.json:
        write_json(
            {
                "report": page,
                "markdown": markdown,
                "figures": drawn,
                "latex": tables,
                "records": len(findings.records),
                "headlines": findings.headlines,
                "contradictions": [str(contradiction) for contradiction in findings.contradictions],
                "struck_out": len(
                    {id(row) for contradiction in findings.contradictions for row in contradiction.struck}
                ),
            }
        )
    else:
        say(*map(struck_out, findings.contradictions))
        say(*findings.headlines)
        made = [f"Report of {counted(len(findings.records), 'record')}: {page}"] if page else []
        say(*made, *([f"Tables: {markdown}"] if markdown else []))
        say(*([f"{counted(len(drawn), 'figure')}: {args.figures}"] if args.figures else []))
        say(*([f"{counted(len(tables), 'LaTeX table')}: {args.latex}"] if args.latex else []))
    return 1 if findings.contradictions else 0


def struck_out(contradiction: Contradiction) -> str:
    """Return the line on records that contradict each other."""
    return f"{contradiction}; {counted(len(contradiction.struck), 'record')} struck out"


def write_report(study: StudyRecords, findings: Findings, out: Path | None, *, table: Path | None) -> None:
    """Write a report as an HTML page, as Markdown, or both."""
    if out is not None:
        out.write_text(report.html(findings, study), encoding="utf-8", errors="replace")
    if table is not None:
        table.write_text(report.markdown(findings), encoding="utf-8", errors="replace")
