"""The three decorators that make kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, ParamSpec, TypeVar, cast

from numba.core import types
from numba.core.registry import CPUDispatcher

from allocsolve.kernels.cache import KernelCache, note_kernel
from allocsolve.kernels.linking import EntryCompiler, InnerCompiler

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numba.core.compiler import CompilerBase

P = ParamSpec("P")
R = TypeVar("R")

#: Inner kernels have no entry from Python either.
_INNER: Final = {"no_cpython_wrapper": True}


class _Kernel(CPUDispatcher):
    """What numba calls a dispatcher: a function with its machine code by types of arguments."""

    compiler: ClassVar[type[CompilerBase]]

    def __init__(
        self,
        py_func: Callable[..., object],
        locals: Mapping[str, object] | None = None,  # noqa: A002 - numba passes it by this name
        targetoptions: Mapping[str, object] | None = None,
    ) -> None:
        # no C code calls a kernel
        always = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True}
        options = {**always, **(targetoptions or {})}
        super().__init__(py_func, locals, options, self.compiler)


class _EntryKernel(_Kernel):
    """A kernel that Python calls; its machine code is on disk, named by what it was made of."""

    compiler = EntryCompiler

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as `_Kernel`
        super().__init__(*args, **options)
        self._cache = KernelCache(self)

    def compile(self, sig: Any) -> Any:  # noqa: ANN401 - numba has no types
        """Get machine code for types of arguments, from disk or by compiling."""
        with self._cache.lookup():
            return super().compile(sig)


class _InnerKernel(_Kernel):
    """A kernel that only kernels call: it becomes part of the machine code of each of them."""

    compiler = InnerCompiler

    def get_call_template(self, args: Sequence[types.Type], kws: Mapping[str, types.Type]) -> Any:  # noqa: ANN401 - numba has no types
        """Resolve a call: constants are of the type of their values, integers have 64 bits."""
        general = {name: _general(kind) for name, kind in kws.items()}
        return super().get_call_template([_general(kind) for kind in args], general)


def _general(kind: types.Type) -> types.Type:
    """Return the type for which an inner kernel is compiled, as any other type would compile it again."""
    general = types.unliteral(kind)
    narrow = isinstance(general, types.Integer) and general.signed and general.bitwidth < 64
    return types.int64 if narrow else general


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on bare arrays at its first call; the machine code is cached on disk.

    While it runs, other Python threads go on: it may not share writable arrays with them.
    """
    compiled = _EntryKernel(function, targetoptions={"nogil": True})
    note_kernel(compiled)
    return cast("Callable[P, R]", compiled)


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only kernels call.

    It counts no references to arrays, which it gets by address and shape. So it may neither allocate an array
    nor assign an array to a slice of another one, which would need a copy. If it returns arrays, only inner
    kernels of this sort may call it: any other kernel would release references that it does not hold.
    """
    return cast("Callable[P, R]", _InnerKernel(function, targetoptions={"_nrt": False, **_INNER}))


def allocating_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only kernels call and that allocates arrays."""
    return cast("Callable[P, R]", _InnerKernel(function, targetoptions={"_nrt": True, **_INNER}))
