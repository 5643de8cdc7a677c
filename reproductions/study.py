"""The course of every reproduction: run what is not recorded yet, measure it, write it, show it."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from dataclasses import fields
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from allocsolve import bench
from allocsolve.bench import RecordStore
from allocsolve.bench.runs.runner import check_executor
from allocsolve.cli.files import check_outputs, make_folder
from allocsolve.cli.output import count_bar, remark, say, write_json
from allocsolve.cli.study import keys_again, with_resume_hint
from reproductions.runs import LabelT, PlannedRun, tasks_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allocsolve.bench import Record
    from allocsolve.bench.runs.records import RecordKey
    from allocsolve.bench.runs.runner import Progress
    from allocsolve.pictures.chart import Drawing

MeasuredT = TypeVar("MeasuredT")


class Part(NamedTuple, Generic[LabelT]):
    """Runs that are planned, run and measured together; a progress bar shows the title."""

    title: str
    runs: Sequence[PlannedRun[LabelT]]


class Recorded(NamedTuple, Generic[LabelT]):
    """The runs of a part when they are recorded."""

    runs: Sequence[PlannedRun[LabelT]]
    records: Mapping[RecordKey, Record]  #: one of each task
    store: RecordStore  #: has the answers
    progress: Progress  #: may be called while the runs are measured


class Study(ABC, Generic[LabelT, MeasuredT]):
    """A reproduction: what is run, what the records say, and how that is shown.

    The options of the command are at least those of `reproductions.commands.add_records`.
    """

    #: Where records go.
    STORE: ClassVar[type[RecordStore]] = RecordStore
    #: The named tuple of a measured run, a row of runs.csv; no file is written if it is None.
    RUN: ClassVar[Any] = None

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args

    @abstractmethod
    def parts(self) -> Iterable[Part[LabelT]]:
        """Yield the parts, at least one; the first is planned before anything is written."""

    @abstractmethod
    def measured(self, recorded: Recorded[LabelT]) -> MeasuredT:
        """Return what the records of a part say."""

    @abstractmethod
    def document(self, measured: MeasuredT) -> dict[str, Any]:
        """Return the JSON of the command, without the name of the paper, failures and files."""

    @abstractmethod
    def show(self, measured: MeasuredT) -> None:
        """Show the tables."""

    def remarks(self) -> Iterable[str]:
        """Yield lines for the end: how the figures were obtained."""
        return ()

    def picture(self, measured: MeasuredT) -> Drawing:
        """Return the picture of the option --plot, for papers that have the option."""
        raise NotImplementedError

    def rows(self, measured: Any) -> Iterator[Sequence[object]]:  # noqa: ANN401 - has a field `runs`
        """Yield the head and the rows of runs.csv."""
        yield self.RUN._fields
        yield from measured.runs

    @classmethod
    def command(cls, args: argparse.Namespace) -> int:
        """Reproduce the paper with the options of the command; see `reproduce`."""
        return cls(args).reproduce()

    def reproduce(self) -> int:
        """Run what is not recorded yet; write runs.csv and the picture; show tables or one JSON object.

        The exit status is 1 if runs have failed, else 0.
        """
        args = self.args
        plot = getattr(args, "plot", None)
        check_outputs(plot, force=bool(getattr(args, "force", False)))
        check_executor(args.executor)
        parts = iter(self.parts())
        first = next(parts)
        files = {}
        if args.out is not None:
            make_folder(args.out)
            files["records"] = args.out / "records.sqlite"
        pieces, records = [], []
        with (
            self.STORE(files.get("records"), tell=remark) as store,
            with_resume_hint(store, files.get("records")),
            bench.open_executor(args.executor, args.parallel) as executor,
        ):
            # One part after the other: the problems of all of them together may take much memory.
            for title, runs in chain((first,), parts):
                tasks = tasks_of(runs)
                again = keys_again(args, tasks, store)
                with count_bar(title) as progress:
                    part = bench.run(
                        tasks,
                        store=store,
                        again=again,
                        executor=executor,
                        progress=progress,
                        announce=progress.announce,
                    )
                records += part
                with count_bar("measuring") as progress:
                    by_key = {record.key: record for record in part}
                    pieces.append(self.measured(Recorded(runs, by_key, store, progress)))
        measured = joined(pieces)
        if self.RUN is not None and args.out is not None:
            files["runs"] = args.out / "runs.csv"
            with files["runs"].open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(self.rows(measured))
        if plot is not None:
            plot.write_text(str(self.picture(measured)), encoding="utf-8")
        failed = [record for record in records if record.error]
        if args.json:
            failures = [{"solver": r.solver, "problem": r.instance, "error": r.error} for r in failed]
            write_json({"paper": args.paper, **self.document(measured), "failures": failures, **files})
            return 1 if failed else 0
        self.show(measured)
        for record in failed:
            say(f"{record.solver} failed on {record.instance}: {record.error}")
        table = f"; runs one by one: {files['runs']}" if "runs" in files else ""
        say(
            *self.remarks(),
            f"Records: {files['records']}{table}" if files else "Nothing was kept: see --out.",
        )
        say(*([f"Plot: {plot}"] if plot else []))
        return 1 if failed else 0


def joined(parts: Sequence[MeasuredT]) -> MeasuredT:
    """Return what was measured in several parts as one: dataclasses of tuples, each one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    names = [field.name for field in fields(first)]  # type: ignore[arg-type]
    return type(first)(*(tuple(chain(*(getattr(part, name) for part in parts))) for name in names))
