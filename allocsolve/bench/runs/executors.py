"""Where tasks run: on this machine, on a Dask cluster, or on the ranks of an MPI program."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from allocsolve.bench.runs.cell import close_all
from allocsolve.errors import InvalidOption, SolverUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["open_executor"]


@contextmanager
def open_executor(where: str, jobs: int) -> Iterator[Executor]:
    """Open an executor for tasks that are run in cells, and close it at the end.

    Parameters
    ----------
    where
        ``local``; ``dask:ADDRESS`` of a running scheduler; ``mpi`` in a program that was started by
        ``mpiexec -n N python -m mpi4py.futures -m allocsolve ...``.
    jobs
        Tasks at a time, >= 1; the others have their own numbers of workers.

    Raises
    ------
    InvalidOption
        If there is no such place, nothing answers at the address, or the program was not started like that.
    SolverUnavailable
        If what it needs is not installed.
    """
    kind, _, address = where.partition(":")
    if where == "local":
        # Each thread only watches a process of its own.
        executor: Executor = ThreadPoolExecutor(jobs)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            close_all()
    elif kind == "dask" and address:
        with _dask(address) as executor:
            yield executor
    elif where == "mpi":
        with _mpi() as executor:
            yield executor
    else:
        msg = f"executor {where!r} is not local, dask:ADDRESS or mpi"
        raise InvalidOption(msg)


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client  # noqa: PLC0415 - an optional dependency
    except ImportError:
        msg = "--executor dask needs dask.distributed: pip install 'allocsolve[dask]'"
        raise SolverUnavailable(msg) from None
    try:
        client = Client(address, timeout=15)
    except (OSError, ValueError, TimeoutError) as error:
        msg = f"no Dask scheduler answers at {address}: {' '.join(str(error).split())}"
        raise InvalidOption(msg) from None
    with client:
        # Not pure: two tasks are never the same task to us, whatever their arguments hash to.
        executor: Executor = client.get_executor(pure=False)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)


@contextmanager
def _mpi() -> Iterator[Executor]:
    # Else it would start ranks by itself, which few systems allow, and wait for them for ever.
    if "mpi4py.futures" not in sys.orig_argv:
        msg = "--executor mpi goes with: mpiexec -n N python -m mpi4py.futures -m allocsolve ..."
        raise InvalidOption(msg)
    try:
        from mpi4py.futures import MPIPoolExecutor  # noqa: PLC0415 - an optional dependency
    except (ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        msg = f"--executor mpi needs mpi4py and an MPI: pip install 'allocsolve[mpi]' ({reason})"
        raise SolverUnavailable(msg) from None
    executor = MPIPoolExecutor()
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
