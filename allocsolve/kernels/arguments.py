"""How kernels hand arrays to inner kernels: as address and shape, not as the seven fields that numba has.

A kernel takes the arrays of a search or of an engine as named tuples, often more than forty arrays. At every
call numba takes them apart into owner, size, strides and so on, which is most of the code that LLVM gets.
Between kernels, the address and the lengths of the axes describe a contiguous array; all else follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import register_default
from numba.core.datamodel.models import DataModel
from numba.np.numpy_support import as_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The models in which numba describes how each type is laid out.
_ITEMS, _ITEM_SIZE, _DATA, _SHAPE, _STRIDES = range(2, 7)
_INT: Final = ir.IntType(64)


class ByAddress(types.Type):
    """A type whose arrays are passed by their addresses and shapes; otherwise it is like the type itself."""

    def __init__(self, kind: types.Type) -> None:
        self.kind = kind
        super().__init__(name=f"ByAddress({kind})")


def by_address(kinds: Iterable[types.Type]) -> tuple[types.Type, ...]:
    """Return types of arguments, with arrays (also those in tuples) by address."""
    return tuple(ByAddress(kind) if _holds_arrays(kind) else kind for kind in kinds)


def _is_plain_array(kind: types.Type) -> bool:
    return isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim > 0


def _holds_arrays(kind: types.Type) -> bool:
    parts = kind.types if isinstance(kind, types.BaseTuple) else ()
    return _is_plain_array(kind) or any(map(_holds_arrays, parts))


@register_default(ByAddress)
class _ByAddressModel(DataModel):
    """The model of such a type: inside a function it is that of numba; only arguments differ."""

    def __init__(self, models: Any, marked: ByAddress) -> None:  # noqa: ANN401 - numba's table of models
        super().__init__(models, marked)
        self._kind = marked.kind
        self._value_type = models.lookup(marked.kind).get_value_type()
        self._parts: Any = ()
        if isinstance(marked.kind, types.BaseTuple):
            self._parts = [models.lookup(part) for part in by_address(marked.kind.types)]

    def get_value_type(self) -> Any:  # noqa: ANN401 - llvmlite has no types
        return self._value_type

    def get_argument_type(self) -> Any:  # noqa: ANN401 - llvmlite has no types
        """Return the types of the address and the axes of an array, or those of each part of a tuple."""
        if self._parts:
            return tuple(part.get_argument_type() for part in self._parts)
        return self._value_type.elements[_DATA], *[_INT] * self._kind.ndim

    def as_argument(self, builder: Any, value: Any) -> Any:  # noqa: ANN401 - llvmlite has no types
        """Take apart a value that is passed on."""
        if self._parts:
            fields = (builder.extract_value(value, place) for place in range(len(self._parts)))
            return tuple(
                part.as_argument(builder, field) for part, field in zip(self._parts, fields, strict=True)
            )
        axes = (builder.extract_value(value, (_SHAPE, axis)) for axis in range(self._kind.ndim))
        return builder.extract_value(value, _DATA), *axes

    def from_argument(self, builder: Any, value: Any) -> Any:  # noqa: ANN401 - llvmlite has no types
        """Put together a passed value: an array without an owner, as the entry kernel keeps the owner."""
        if self._parts:
            made = ir.Constant(self._value_type, ir.Undefined)
            for place, (part, field) in enumerate(zip(self._parts, value, strict=True)):
                made = builder.insert_value(made, part.from_argument(builder, field), place)
            return made
        address, *axes = value
        size = _INT(as_dtype(self._kind.dtype).itemsize)
        constants = [ir.Constant(kind, None) for kind in self._value_type.elements]
        constants[_ITEM_SIZE] = size
        made = builder.insert_value(ir.Constant(self._value_type, constants), address, _DATA)
        stride = size
        for axis in reversed(range(len(axes))):
            made = builder.insert_value(made, axes[axis], (_SHAPE, axis))
            made = builder.insert_value(made, stride, (_STRIDES, axis))
            stride = builder.mul(stride, axes[axis]) if axis else stride
        items = axes[0]
        for axis in axes[1:]:
            items = builder.mul(items, axis)
        return builder.insert_value(made, items, _ITEMS)
