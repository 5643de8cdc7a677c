"""What numba has made in this process: compiled, or read from the cache on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba.core import event

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

__all__ = ["compilations", "loaded_kernels", "note_kernel"]


class _Counter(event.Listener):
    """Counts compilations of whatever code; reading machine code from the cache is none."""

    def __init__(self) -> None:
        self.started = 0

    def on_start(self, _: Any) -> None:  # noqa: ANN401 - an event of numba, which has no types
        """Count: a compilation counts from its start."""
        self.started += 1

    def on_end(self, _: Any) -> None:  # noqa: ANN401 - an event of numba, which has no types
        """Do nothing: it was counted when it started."""


_COUNTER = _Counter()
event.register("numba:compile", _COUNTER)  # type: ignore[no-untyped-call]  # numba has no types

#: The kernels of this package that have been imported.
_kernels: list[Dispatcher] = []


def note_kernel(kernel: Dispatcher) -> None:
    """Have `loaded_kernels` count a kernel."""
    _kernels.append(kernel)


def compilations() -> int:
    """Return how many compilations, of this package or not, have started since it was imported."""
    return _COUNTER.started


def loaded_kernels() -> int:
    """Return how many kernels of this package have machine code, each counted by types of arguments."""
    return sum(len(kernel.overloads) for kernel in _kernels)
