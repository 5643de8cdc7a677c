"""Searches in threads that stop cleanly."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Seconds between two looks for Ctrl-C.
_TICK = 0.2


def run_in_threads(searches: Iterable[Callable[[], None]], stop: threading.Event) -> None:
    """Run each in a thread of its own, until all have returned.

    `stop`, which they must obey, is set when one of them fails and at Ctrl-C; the exception is raised when
    all have returned.
    """
    faults: list[BaseException] = []
    done = threading.Semaphore(0)

    def run(search: Callable[[], None]) -> None:
        try:
            search()
        except BaseException as fault:  # noqa: BLE001 - raised again in the caller's thread
            faults.append(fault)
            stop.set()
        finally:
            done.release()

    threads = [threading.Thread(target=run, args=(search,), daemon=True) for search in searches]
    for thread in threads:
        thread.start()
    left, interrupted = len(threads), False
    while left:
        try:
            left -= done.acquire(timeout=_TICK)
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
    if faults:
        raise faults[0]
    if interrupted:
        raise KeyboardInterrupt
