"""What every compiled kernel needs: the compiler, and threads that stop cleanly."""

from __future__ import annotations

from allocsolve.kernels.compilations import compilations, loaded_kernels
from allocsolve.kernels.jit import allocating_kernel, called_kernel, inner_kernel, kernel
from allocsolve.kernels.search import bisect_right, select
from allocsolve.kernels.threads import run_in_threads

__all__ = [
    "allocating_kernel",
    "bisect_right",
    "called_kernel",
    "compilations",
    "inner_kernel",
    "kernel",
    "loaded_kernels",
    "run_in_threads",
    "select",
]
