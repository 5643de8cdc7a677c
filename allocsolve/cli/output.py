"""How things are shown: tables for people, JSON for machines, progress bars on stderr."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from allocsolve.pictures.chart import visible
from allocsolve.report.plain import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TextIO

    from rich.progress import Task

#: How many characters a message or a cell of a table has at most on the terminal.
LENGTH = 300
_GAP = " ... "
_STDOUT, _STDERR = 1, 2


def shortened(text: str) -> str:
    """Return a visible text of at most `LENGTH` characters: without its middle where it is longer.

    It begins with the place of a fault and ends with what to do about it.
    """
    # Escapes lengthen a text: what is cut away anyway need not be escaped.
    ends = text if len(text) <= 2 * LENGTH else text[:LENGTH] + text[-LENGTH:]
    shown = visible(ends)
    if len(shown) <= LENGTH and ends is text:
        return shown
    tail = LENGTH // 3
    return f"{shown[: LENGTH - len(_GAP) - tail]}{_GAP}{shown[-tail:]}"


def _render(thing: str | Text | Table, *, width: int | None = None, style: str | None = None) -> str:
    """Return a thing as `rich` shows it on this stdout, in whole lines, however long."""
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if width is not None:
        console.width = width
    with console.capture() as capture:
        console.print(thing, style=style, soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def say(*lines: str, style: str | None = None) -> None:
    """Print lines, however narrow the terminal is; see `shortened`."""
    for line in lines:
        sys.stdout.write(_render(shortened(line), style=style))


def remark(line: str) -> None:
    """Print a line to stderr, where it is in the way of no output; see `shortened`."""
    sys.stderr.write(f"{shortened(f'allocsolve: {line}')}\n")
    sys.stderr.flush()


def show_lines(lines: Iterable[Iterable[tuple[str, str]]]) -> None:
    """Print lines made of texts, each with the name of its style, in colours if stdout shows any."""
    for pieces in lines:
        sys.stdout.write(_render(Text.assemble(*((visible(text), style) for text, style in pieces))))


def terminal_width() -> int:
    """Return how many letters fit a line of stdout; 80 if it is no terminal."""
    return Console(file=sys.stdout).width


def show_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    texts: Sequence[int] = (0,),
) -> None:
    """Print a table whose cells are as long as they are, even where the terminal is narrower.

    No cell is longer than `LENGTH`; see `shortened`. Columns of `texts` are aligned to the left, the others
    to the right.
    """
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column, head in enumerate(heads):
        table.add_column(
            head, justify="left" if column in texts else "right", no_wrap=True, vertical="bottom"
        )
    for row in rows:
        table.add_row(*map(shortened, row))
    if title is not None:
        say(title, style="bold")
    _print_whole(table)


def show_fields(fields: Iterable[tuple[str, str]]) -> None:
    """Print names and values, one pair a line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(no_wrap=True)
    for field in fields:
        grid.add_row(*map(shortened, field))
    _print_whole(grid)


def _print_whole(table: Table) -> None:
    console = Console(file=sys.stdout)
    wide = console.options.update(max_width=10_000)
    width = Measurement.get(console, wide, table).maximum
    if width > console.width and table.box is not None:  # its lines still part the columns
        table.padding = (0, 0)
        width = Measurement.get(console, wide, table).maximum
    sys.stdout.write(_render(table, width=width))


#: Where JSON is written under `only_json`; None outside of it.
_document: ContextVar[TextIO | None] = ContextVar("_document", default=None)


@contextmanager
def only_json() -> Iterator[None]:
    """Keep stdout for JSON: whatever else is written there, by anybody, goes to stderr.

    Solvers are silent, but libraries in C write to descriptor 1 past Python, and so do processes that
    are started here.
    """
    with _without_descriptor(sys.stdout) as document, redirect_stdout(sys.stderr):
        before = _document.set(document)
        try:
            yield
        finally:
            _document.reset(before)


@contextmanager
def _without_descriptor(stdout: TextIO) -> Iterator[TextIO]:
    """Have descriptor 1 be stderr, and yield a file in place of `stdout` that writes where that was.

    It is `stdout` itself if that is another file than descriptor 1.
    """
    try:
        used = stdout.fileno() == _STDOUT
    except (AttributeError, OSError):  # it is no file, as in notebooks and tests
        used = False
    if not used:
        yield stdout
        return
    stdout.flush()
    # Without a stderr, its number is that of any file.
    others = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else os.dup(_STDERR)
    kept = os.dup(_STDOUT)
    os.dup2(others, _STDOUT)
    os.close(others)
    with open(kept, "w", encoding=stdout.encoding, errors=stdout.errors) as document:  # noqa: PTH123 - a descriptor has no path
        try:
            yield document
        finally:
            import ctypes  # noqa: PLC0415 - help and most commands do without

            with suppress(TypeError):  # what C has printed so far; Windows does not find its library so
                ctypes.CDLL(None).fflush(None)
            os.dup2(kept, _STDOUT)


def write_json(document: Mapping[str, object]) -> None:
    """Write one JSON object, on one line."""
    write_whole(json.dumps(plain(document), allow_nan=False))


def write_whole(text: str) -> None:
    """Write what machines read to stdout, however long it is."""
    stdout = _document.get()
    (sys.stdout if stdout is None else stdout).write(f"{text}\n")


#: What takes less is over before anybody wonders.
DELAY_S = 1.0
#: From one look at what is being compiled to the next.
_LOOK_S = 0.1


class _ClockBar(ProgressColumn):
    """A bar that fills as time passes; it pulses if nobody knows how long it will take."""

    def render(self, task: Task) -> ProgressBar:
        elapsed = task.elapsed or 0.0
        return ProgressBar(total=task.total, completed=elapsed, width=40, pulse=task.total is None)


class _Clock(ProgressColumn):
    def render(self, task: Task) -> Text:
        of = "" if task.total is None else f" of at most {task.total:g}"
        return Text(f"{task.elapsed or 0.0:.0f}{of} s")


class _Rate(ProgressColumn):
    """How many are done in a second, of late."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if not speed else f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each")


@contextmanager
def count_lines(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many things are done, also if stderr is no terminal: there in a line for each tenth of them.

    Yields the function to update it, of (done, total). What is over in a moment is not shown.
    """
    begun = time.monotonic()
    tenths = 0

    def tell(done: int, total: int) -> None:
        nonlocal tenths
        if 10 * done // total > tenths:
            tenths = 10 * done // total
            if time.monotonic() - begun > DELAY_S:
                sys.stderr.write(f"{visible(what)}: {done:,} of {total:,}\n")

    with count_bar(what) as update:
        is_shown = Console(stderr=True).is_interactive
        yield (lambda done, total: update(done, total, what)) if is_shown else tell


class _Left(TimeRemainingColumn):
    """The time that is left; nothing as soon as what is done now takes longer than what was done before."""

    def render(self, task: Task) -> Text:
        late = task.get_time() - task.fields["since"] > 1 + 2 / (task.speed or math.inf)
        return Text("") if late else super().render(task)


class _Announcement:
    """Says once that kernels are compiled; on a terminal, a bar follows how far they are."""

    def __init__(self, bar: CountBar) -> None:
        self.follow = bar.follow
        self._is_shown = bar.is_shown

    def __call__(self, line: str) -> None:
        if not self._is_shown:
            remark(line)


class CountBar:
    """Shows how many things are done, and below that which kernels are compiled meanwhile.

    It is called with (done, total, what comes next or was just done). What was done before the bar is not
    counted into the rate. As an argument `announce` of `allocsolve.bench.run` it shows kernels as a bar; or
    as one line, where stderr is no terminal.
    """

    def __init__(self, bar: Progress, what: str) -> None:
        self._bar = bar
        self.is_shown = not bar.disable
        self._task = bar.add_task(visible(what), total=None, since=0.0)
        self._kernels = bar.add_task("", total=None, since=0.0, visible=False)
        self._started = False

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show what is done."""
        if not self._started:  # rows of an earlier run took no time in this one
            self._bar.reset(self._task, completed=done, total=total)
            self._started = True
        since = self._bar.get_time()
        self._bar.update(self._task, completed=done, total=total, description=visible(what), since=since)

    @property
    def announce(self) -> _Announcement:
        """What is told of kernels that are compiled."""
        return _Announcement(self)

    def follow(self, line: str) -> None:
        """Show how far kernels are: a line of `allocsolve.registry.ready`, empty when they are done."""
        count = re.search(r"(\d+) of (\d+) functions", line)
        begun, functions = map(int, count.groups()) if count else (0, None)
        what = visible(line.partition(";")[0])
        bar, since = self._bar, self._bar.get_time()
        bar.update(self._kernels, completed=begun, total=functions, visible=bool(line), since=since)
        bar.update(self._kernels, description=what)


@contextmanager
def count_bar(what: str) -> Iterator[CountBar]:
    """Show how many things are done, how fast, and the time that is left; not if stderr is no terminal."""
    text = TextColumn("{task.description}", markup=False)
    bar = _progress(
        text, BarColumn(), MofNCompleteColumn(), _Rate(), TimeElapsedColumn(), _Left(compact=True)
    )
    counted = CountBar(bar, what)
    with _shown(bar):
        yield counted


@contextmanager
def time_bar(what: str, seconds: float | None = None) -> Iterator[None]:
    """Show the time that passes, of at most `seconds` if there is a limit; not if stderr is no terminal."""
    bar = _progress(TextColumn("{task.description}", markup=False), _ClockBar(), _Clock())
    bar.add_task(visible(what), total=seconds)
    with _shown(bar):
        yield


@contextmanager
def compile_bar() -> Iterator[None]:
    """Show which kernel is being compiled and how many of its functions were begun, if anything is."""
    bar = _progress(TextColumn("compiling {task.description}"), BarColumn(), MofNCompleteColumn())
    task = bar.add_task("kernels", total=None)
    over = Event()

    def follow() -> None:
        from allocsolve.kernels import compilation  # noqa: PLC0415 - imports numba

        while not over.wait(_LOOK_S):
            if (now := compilation()) is not None:
                bar.update(task, description=now.kernel, completed=now.begun, total=now.functions)

    follower = Thread(target=follow, daemon=True)
    if not bar.disable:
        follower.start()
    try:
        with _shown(bar, after_s=2 * DELAY_S):
            yield
    finally:
        over.set()
        if not bar.disable:
            follower.join()


def _progress(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_interactive,
    )


@contextmanager
def _shown(bar: Progress, after_s: float = DELAY_S) -> Iterator[None]:
    timer = Timer(after_s, bar.start)
    timer.daemon = True
    if not bar.disable:
        timer.start()
    try:
        yield
    finally:
        if not bar.disable:
            timer.cancel()
            timer.join()
            bar.stop()
