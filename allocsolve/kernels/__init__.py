"""What every compiled kernel needs: the compiler, and threads that stop cleanly."""

from __future__ import annotations

from allocsolve.kernels.cache import clear_kernels, kernel_folder
from allocsolve.kernels.compilations import Compilation, compilation, compilations, loaded_kernels
from allocsolve.kernels.jit import allocating_kernel, inner_kernel, kernel
from allocsolve.kernels.search import bisect_right, select
from allocsolve.kernels.threads import run_in_threads

__all__ = [
    "Compilation",
    "allocating_kernel",
    "bisect_right",
    "clear_kernels",
    "compilation",
    "compilations",
    "inner_kernel",
    "kernel",
    "kernel_folder",
    "loaded_kernels",
    "run_in_threads",
    "select",
]
