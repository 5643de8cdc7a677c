"""What numba has made in this process: compiled, or read from the cache on disk."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from numba.core import event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numba.core.dispatcher import Dispatcher


class Compilation(NamedTuple):
    """An entry kernel that is being compiled."""

    kernel: str
    #: The functions of the kernel whose compilation has begun, and all its functions, without those of numba.
    begun: int
    functions: int


class _Counter(event.Listener):
    """Counts compilations of any code; reading machine code from the cache does not count."""

    def __init__(self) -> None:
        self.started = 0
        #: The started compilations of functions that are not numba's own.
        self.started_kernels = 0

    def on_start(self, compilation: Any) -> None:  # noqa: ANN401 - an event of numba, which has no types
        """Count a compilation, which counts from its start."""
        self.started += 1
        module = compilation.data["dispatcher"].py_func.__module__
        self.started_kernels += not module.startswith("numba.")

    def on_end(self, _: Any) -> None:  # noqa: ANN401 - an event of numba, which has no types
        """Do nothing: it was counted when it started."""


_COUNTER = _Counter()
event.register("numba:compile", _COUNTER)

#: The kernels of this package that have been imported.
_kernels: list[Dispatcher] = []


def note_kernel(kernel: Dispatcher) -> None:
    """Add a kernel to those that `loaded_kernels` counts."""
    _kernels.append(kernel)


#: The kernels being compiled, each within the one before: name, number of functions, and the number of
#: compilations begun before.
_compiling: list[tuple[str, int, int]] = []


@contextmanager
def compiling(kernel: str, functions: int) -> Iterator[None]:
    """Have `compilation` return a kernel, and its number of functions, while it is compiled."""
    _compiling.append((kernel, functions, _COUNTER.started_kernels))
    try:
        yield
    finally:
        _compiling.pop()


def compilation() -> Compilation | None:
    """Return what is being compiled in any thread of this process; None if nothing is."""
    for kernel, functions, before in _compiling[-1:]:
        return Compilation(kernel, min(functions, _COUNTER.started_kernels - before), functions)
    return None


def compilations() -> int:
    """Return the number of compilations of any code that have started since this package was imported."""
    return _COUNTER.started


def loaded_kernels() -> int:
    """Return the number of kernels of this package with machine code, counted by types of arguments."""
    return sum(len(kernel.overloads) for kernel in _kernels)
