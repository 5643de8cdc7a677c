"""Machine code on disk, named by the digest of all that it was made from: it cannot be stale.

A file holds the code of one entry kernel for one signature. Its name has the digest of what the kernel is
made of (`allocsolve.kernels.sources`), the types of its arguments, how kernels are compiled, versions,
processor and settings. There is no index, no time stamp and no path: a folder that CI restores, another
checkout or a new installation of the same sources is as good. Processes that need the same code at the same
time wait for the first of them.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numba
import numba.cpython.hashing  # tells the addresses that machine code of hashes needs
import numpy as np
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from allocsolve.kernels.compilations import compiling
from allocsolve.kernels.sources import Source, type_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numba.core.dispatcher import Dispatcher

try:
    import fcntl
except ImportError:  # Windows: processes that need the same code at the same time each compile it
    fcntl = None  # type: ignore[assignment]

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
