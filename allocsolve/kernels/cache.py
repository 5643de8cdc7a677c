"""Machine code on disk, named by the digest of all that it was made from: it cannot be stale.

A file holds the code of one entry kernel for one signature. Its name has the digest of what the kernel is
made of (`Source`), the types of its arguments, how kernels are compiled, versions, processor and settings.
There is no index, no time stamp and no path: a folder that CI restores, another checkout or a new
installation of the same sources is as good. Processes that need the same code at the same time wait for the
first of them.

Two kernels with the same source, which is a text, have the same machine code. The text is the byte code, the
options and the constants of every function that a kernel reaches, and the value of each global name that
these read, which numba freezes. Comments, docstrings, and the places and times of files do not count; nor
does anything that no kernel reads.

What this process has compiled, and what it has read from disk instead, is counted here, too.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numba
import numba.cpython.hashing  # tells the addresses that machine code of hashes needs
import numpy as np
from numba.core import config, event
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

try:
    import fcntl
except ImportError:  # Windows: processes that need the same code at the same time each compile it
    fcntl = None  # type: ignore[assignment]


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


@contextlib.contextmanager
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


_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, np.dtype)
#: Modules whose contents follow from their versions and that of Python.
_VERSIONED: Final = frozenset({"builtins", "cmath", "math", "numba", "numpy", "operator"})


class Source(NamedTuple):
    """The text that a kernel is made of."""

    text: str
    #: The number of functions that it reaches, itself included.
    functions: int

    @classmethod
    def of(cls, kernel: Dispatcher) -> Source:
        """Read what a kernel is made of. O(code that it reaches).

        `TypeError` if it names a value whose content is unknown, such as an object of a class.
        """
        numbers: dict[Any, int] = {kernel: 0}
        todo, parts = [kernel], []
        for reached in todo:
            text, calls = _function(reached)
            for called in calls:
                if called not in numbers:
                    numbers[called] = len(todo)
                    todo.append(called)
            parts.append(f"{text}\n{[numbers[called] for called in calls]}")
        return cls("\n".join(parts), len(todo))


@functools.cache
def _function(called: Any) -> tuple[str, tuple[Any, ...]]:  # noqa: ANN401 - a dispatcher of numba or a function
    """Return the text of a function by itself, and the functions that it calls, by the order of names."""
    function: FunctionType = getattr(called, "py_func", called)
    codes = list(_codes(function.__code__))
    text = [function.__module__, function.__qualname__]
    text += [repr(sorted(getattr(called, "targetoptions", {}).items())), _frozen(function.__defaults__)]
    for code in codes:
        constants = [value for value in code.co_consts if not isinstance(value, CodeType)]
        if code is function.__code__ and function.__doc__ is not None:
            constants.remove(function.__doc__)
            constants.insert(0, None)  # as if the function had no docstring
        text += [code.co_code.hex(), repr((code.co_names, code.co_varnames, code.co_freevars))]
        text.append(_frozen(tuple(constants)))
    calls = []
    for name, value in sorted(_globals_read(function, codes).items()):
        if isinstance(value, (Dispatcher, FunctionType)) and not value.__module__.startswith("numba."):
            calls.append(value)
            text.append(f"{name}()")
        else:
            text.append(f"{name}={_frozen(value)}")
    return "\n".join(text), tuple(calls)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those within it, such as those of comprehensions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals_read(function: FunctionType, codes: list[CodeType]) -> dict[str, Any]:
    """Return the global values that a function reads, by name, without built-in ones."""
    known = function.__globals__
    names = {
        step.argval for code in codes for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"
    }
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: known[name] for name in names if name in known} | {
        name: cell.cell_contents for name, cell in cells
    }


def _frozen(value: Any) -> str:  # noqa: ANN401 - any value that a kernel names
    """Return text that differs whenever the content that numba freezes of a value differs."""
    if isinstance(value, (tuple, frozenset)):
        parts = [_frozen(item) for item in value]
        return f"{type(value).__name__}{sorted(parts) if isinstance(value, frozenset) else parts}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, type) and hasattr(value, "_fields"):  # a named tuple
        defaults = getattr(value, "_field_defaults", {})
        return f"{value.__module__}.{value.__qualname__}{value._fields}{_frozen(tuple(defaults.items()))}"
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
    if module.partition(".")[0] in _VERSIONED:
        return f"{module}:{getattr(value, '__qualname__', '')}"
    raise TypeError(f"a kernel may not name {value!r}: nobody could tell whether it has changed")


def type_text(kind: Any) -> str:  # noqa: ANN401 - a type of numba, which has no types
    """Return a type of an argument as text, with what its own name lacks: fields, and where the class stands.

    Compiled code names the class of a named tuple by its module, where it is looked up again.
    """
    inner = getattr(kind, "types", None) or ([kind.dtype] if hasattr(kind, "dtype") else [])
    fields = kind.fields if isinstance(getattr(kind, "fields", None), tuple) else ""
    place = getattr(getattr(kind, "instance_class", None), "__module__", "")
    return f"{place}{kind}{fields}{[type_text(part) for part in inner]}"


#: Seconds without use after which code is removed.
_UNUSED_S: Final = 60 * 86400
#: The most files of a kernel; beyond them the least recently used ones are removed.
_VERSIONS: Final = 12


#: The digest of the modules that say how kernels are compiled: after an edit of them all kernels are compiled
#: again.
_COMPILER: Final = hashlib.sha256(
    b"".join(
        Path(__file__).with_name(f"{name}.py").read_bytes()
        for name in ("arguments", "jit", "linking", "lowering")
    )
).hexdigest()


def kernel_folder() -> Path:
    """Return the folder of compiled kernels: ``ALLOCSOLVE_KERNELS``, or one in the user's cache."""
    named = os.environ.get("ALLOCSOLVE_KERNELS")
    if named:
        return Path(named)
    caches = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "allocsolve" / "kernels"


def clear_kernels() -> int:
    """Remove all compiled kernels from disk, and return their number."""
    removed = 0
    for file in _files(kernel_folder(), "*"):
        with contextlib.suppress(OSError):
            file.unlink()
            removed += 1
    return removed


def _files(folder: Path, name: str) -> list[Path]:
    """Return files of kernels, the last used first."""
    used: list[tuple[float, Path]] = []
    for file in folder.glob(f"{name}-*.kernel"):
        with contextlib.suppress(OSError):  # another process has just removed it
            used.append((file.stat().st_mtime, file))
    return [file for _, file in sorted(used, reverse=True)]


class KernelCache(NullCache):
    """The cache of one entry kernel: numba asks it for code before it compiles, and gives it new code."""

    def __init__(self, kernel: Dispatcher) -> None:
        self._kernel = kernel
        self._name = f"{kernel.py_func.__module__}.{kernel.py_func.__name__}"
        self._held = contextlib.ExitStack()

    @property
    def cache_path(self) -> str:
        """The folder of the code."""
        return str(kernel_folder())

    @functools.cached_property
    def _source(self) -> Source:
        """The source of the kernel, read at the first call, when all modules have been imported."""
        return Source.of(self._kernel)

    def _file(self, arguments: Sequence[Any], processor: object) -> Path:
        versions = numba.__version__, np.__version__, sys.implementation.cache_tag
        settings = config.OPT, config.BOUNDSCHECK, config.LOOP_VECTORIZE, config.SLP_VECTORIZE
        about = repr((versions, settings, processor, _COMPILER))
        text = "\n".join([about, *map(type_text, arguments), self._source.text])
        return kernel_folder() / f"{self._name}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.kernel"

    @contextlib.contextmanager
    def lookup(self) -> Iterator[None]:
        """Surround what numba does to get code, so that its locks are released in any case."""
        with self._held:
            yield

    def load_overload(self, signature: Any, target: Any) -> Any:  # noqa: ANN401 - numba has no types
        """Return code from disk; or None, after which numba compiles it and gives it to `save_overload`.

        Machine code needs the runtime that counts references. Numba loads all that it can compile only when
        it compiles, which takes a third of a second in each process.
        """
        rtsys.initialize(target)
        file = self._file(getattr(signature, "args", signature), target.codegen().magic_tuple())
        code = _read(file)
        if code is None:
            self._held.enter_context(_alone(file))
            code = _read(file)  # another process may have made it meanwhile
        if code is None:
            self._held.enter_context(compiling(self._kernel.py_func.__name__, self._source.functions))
            return None
        # The folder is the user's own, and the hooks are those of numba's own cache.
        return CompileResult._rebuild(target, *pickle.loads(code))  # noqa: S301, SLF001

    def save_overload(self, signature: Any, result: Any) -> None:  # noqa: ANN401 - numba has no types
        """Write compiled code; where nothing can be written, it is compiled again next time."""
        if result.library.has_dynamic_globals:  # it has addresses of this process
            return
        file = self._file(getattr(signature, "args", signature), result.library.codegen.magic_tuple())
        with contextlib.suppress(OSError):
            _write(file, dumps(result._reduce()))  # noqa: SLF001 - a hook of numba's own cache
            for number, old in enumerate(_files(file.parent, self._name)):
                if number >= _VERSIONS or old.stat().st_mtime < time.time() - _UNUSED_S:
                    old.unlink(missing_ok=True)


def _read(file: Path) -> bytes | None:
    """Return the code in a file if the file exists and is whole, and note its use."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.utime(file)
    digest, code = content[:32], content[32:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(file: Path, code: bytes) -> None:
    """Write a file under another name, then move it, so that no process sees half of it."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".part", delete=False) as part:
        part.write(hashlib.sha256(code).digest() + code)
    Path(part.name).replace(file)


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Wait until no other process makes the same file; where files cannot be locked, continue at once."""
    path = file.with_suffix(".lock")
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                fcntl.flock(stack.enter_context(path.open("w")), fcntl.LOCK_EX)
                stack.callback(path.unlink, missing_ok=True)
        yield
