"""What a kernel is made of, as text: two kernels with the same text have the same machine code.

It is the byte code, the options and the constants of every function that a kernel reaches, and the value of
each global name that these read, which numba freezes. Comments, docstrings, and the places and times of files
do not count; nor does anything that no kernel reads.
"""

from __future__ import annotations

import dis
import functools
import hashlib
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    for name, value in sorted(_read(function, codes).items()):
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


def _read(function: FunctionType, codes: list[CodeType]) -> dict[str, Any]:
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
    msg = f"a kernel may not name {value!r}: nobody could tell whether it has changed"
    raise TypeError(msg)


def type_text(kind: Any) -> str:  # noqa: ANN401 - a type of numba, which has no types
    """Return a type of an argument as text, with the names of its fields, which its own name lacks."""
    inner = getattr(kind, "types", None) or ([kind.dtype] if hasattr(kind, "dtype") else [])
    fields = kind.fields if isinstance(getattr(kind, "fields", None), tuple) else ""
    return f"{kind}{fields}{[type_text(part) for part in inner]}"
