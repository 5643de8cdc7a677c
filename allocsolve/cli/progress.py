"""Progress bars on stderr, for people only and only where something takes longer than a second."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING

from rich.console import Console
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
from rich.text import Text

from allocsolve.pictures.chart import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Task

__all__ = ["compile_bar", "count_bar", "time_bar"]

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
def count_bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show how many things are done, how fast, and the time that is left; yields the function to update it.

    That is a function of (done, total, what comes next or was just done). What was done before the bar is
    not counted into the rate.

    Nothing is shown if stderr is no terminal.
    """
    text = TextColumn("{task.description}", markup=False)
    left = TimeRemainingColumn(compact=True)
    bar = _progress(text, BarColumn(), MofNCompleteColumn(), _Rate(), TimeElapsedColumn(), left)
    task = bar.add_task(visible(what), total=None)
    started = False

    def update(done: int, total: int, what: str) -> None:
        nonlocal started
        if not started:  # rows of an earlier run took no time in this one
            bar.reset(task, completed=done, total=total)
            started = True
        bar.update(task, completed=done, total=total, description=visible(what))

    with _shown(bar):
        yield update


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
