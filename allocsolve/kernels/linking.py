"""How kernels are compiled: inner kernels are typed and lowered once, then optimised where they are used.

numba optimises the module of *every* compiled function twice, with all that it calls linked in, and turns it
into machine code: a function at depth d of the call tree is optimised d times, and no call ever reaches the
machine code of a function that only kernels call. Here such an inner kernel stops after lowering. The entry
kernel links all inner kernels below it, each once, makes them local, so that LLVM may change how they are
called, and is optimised once.

``pipeline_class`` of a dispatcher and `numba.core.compiler_machinery` are numba's documented hooks. What is
overridden of its code libraries is internal, the same from numba 0.61 to 0.68; `tests/unit/test_kernels.py`
watches it.
"""

from __future__ import annotations

import gc
import hashlib
from typing import TYPE_CHECKING, Any

from numba.core import itanium_mangler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from allocsolve.kernels.arguments import by_address
from allocsolve.kernels.lowering import KernelLower, remembering

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Library(JITCodeLibrary):
    """Code of a kernel."""

    def _optimize_functions(self, _: object) -> None:
        """Leave functions as they are: they are optimised when all are linked."""


class _InnerLibrary(_Library):
    """Code of an inner kernel: neither optimised as a module nor turned into machine code by itself."""

    #: What `set_env` was given: the name and the constants that code in this library may need at run time.
    environment: tuple[str, object] | None = None

    def finalize(self) -> None:
        """Be ready to be linked."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> _InnerLibrary:
        """The library itself: its callers want `set_env`, and there is no machine code yet."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Remember constants for the entry kernel that links this library."""
        self.environment = name, environment

    def get_pointer_to_function(self, _: str) -> int:
        """Return 0: nothing here can be called."""
        self._ensure_finalized()
        return 0


class _EntryLibrary(_Library):
    """Code of an entry kernel, with all inner kernels below it."""

    def finalize(self) -> None:
        """Link callers before their callees, because LLVM leaves out functions that are not needed so far."""
        self._linking_libraries = list(_below(self))[::-1]
        super().finalize()
        for library in self._inner():
            if library.environment and self._codegen._engine.get_global_value_address(library.environment[0]):
                self._codegen.set_env(*library.environment)

    def _optimize_final_module(self) -> None:
        """Optimise once: numba's first round finds counts of references, and inner kernels have none."""
        local = {inner.name for library in self._inner() for inner in library.get_defined_functions()}
        for function in self.get_defined_functions():
            if function.name in local:
                function.linkage = "internal"
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _inner(self) -> Iterator[_InnerLibrary]:
        return (library for library in self._linking_libraries if isinstance(library, _InnerLibrary))


def _below(library: JITCodeLibrary, seen: set[JITCodeLibrary] | None = None) -> Iterator[JITCodeLibrary]:
    """Yield the libraries that a library needs, each once, after those that they need themselves."""
    seen = set() if seen is None else seen
    for below in library._linking_libraries:
        if below not in seen:
            seen.add(below)
            if isinstance(below, _InnerLibrary):
                yield from _below(below, seen)
            yield below


class _ListedFlags(Flags):
    """Flags that do not change any more: numba compares them whenever it looks for an implementation."""

    __slots__ = ("_hash", "_listed")

    def __init__(self, flags: Flags) -> None:
        super().__init__(flags)
        self._listed: dict[str, object] = super().values()
        self._hash = hash(tuple(sorted(self._listed)))

    def values(self) -> dict[str, object]:
        return self._listed

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or bool(super().__eq__(other))


class _Flags(Flags):
    """The flags of a function; numba compiles by a copy of them."""

    __slots__ = ()

    def copy(self) -> _ListedFlags:
        return _ListedFlags(self)


class _InnerLower(KernelLower):
    """Lowers a function that takes its arrays by address, under a short name.

    numba writes the types of all arguments into the name, for records with all their fields, and the name
    into every call.
    """

    def __init__(self, context: Any, library: Any, fndesc: Any, *args: Any, **options: Any) -> None:  # noqa: ANN401 - numba has no types
        fndesc.argtypes = by_address(fndesc.argtypes)
        digest = hashlib.sha256(fndesc.mangled_name.encode()).hexdigest()
        fndesc.mangled_name = itanium_mangler.mangle(f"{fndesc.qualname}.{digest}", ())
        super().__init__(context, library, fndesc, *args, **options)


@register_pass(mutates_CFG=True, analysis_only=False)
class _EntryLowering(NativeLowering):
    """Numba's lowering by `KernelLower`."""

    _name = "entry_kernel_lowering"

    @property
    def lowering_class(self) -> type[KernelLower]:
        return KernelLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):
    """Numba's lowering, with arrays passed by address; callers find the function by their own types."""

    _name = "inner_kernel_lowering"

    @property
    def lowering_class(self) -> type[KernelLower]:
        return _InnerLower

    def run_pass(self, state: Any) -> bool:  # noqa: ANN401 - numba has no types
        super().run_pass(state)
        versions = state.targetctx._defns[state.cr.cfunc].versions
        versions[-1] = tuple(state.args), versions[-1][1]
        return True


class EntryCompiler(Compiler):
    """For functions that Python calls."""

    _library_class: type[JITCodeLibrary] = _EntryLibrary

    def define_pipelines(self) -> Any:  # noqa: ANN401 - numba has no types
        """Make the code go into a library of this module."""
        state = self.state
        state.library = self._library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        managers = super().define_pipelines()
        lowering = self._lowering()
        for manager in managers:
            manager.passes = [
                (lowering if step is NativeLowering else step, text) for step, text in manager.passes
            ]
            manager.finalize()
        return managers

    def _lowering(self) -> type[NativeLowering]:
        return _EntryLowering

    def _compile_core(self) -> Any:  # noqa: ANN401 - numba has no types
        """Compile without garbage collection: there is no garbage before the end."""
        self.state.flags = _Flags(self.state.flags)
        self.state.typingctx = remembering(self.state.typingctx)
        collects = gc.isenabled()
        gc.disable()
        try:
            return super()._compile_core()
        finally:
            if collects:
                gc.enable()


class InnerCompiler(EntryCompiler):
    """For functions that only kernels call."""

    _library_class = _InnerLibrary

    def _lowering(self) -> type[NativeLowering]:
        """Pass arrays by address, unless the function counts references to them."""
        return _EntryLowering if self.state.flags.nrt else _InnerLowering
