from .cache import (
    Compilation as Compilation,
    clear_kernels as clear_kernels,
    compilation as compilation,
    compilations as compilations,
    kernel_folder as kernel_folder,
    loaded_kernels as loaded_kernels,
)
from .jit import allocating_kernel as allocating_kernel, inner_kernel as inner_kernel, kernel as kernel
from .search import bisect_right as bisect_right, select as select, sort_by_keys as sort_by_keys
from .threads import run_in_threads as run_in_threads
