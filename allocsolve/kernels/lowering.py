"""How functions become code of LLVM: as numba does it, in half the instructions.

Each instruction costs time several times: it is made, written as text, read, simplified and mostly removed.
numba gives every variable a place in memory, reads and writes whole arrays and tuples of arrays there, and
asks each field of an array for references to count. Here a value that is assigned once is kept as it is, and
an entry of an array is found by the array's address and lengths. The machine code is the same in the end.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs
from numba.core.ir import Assign
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack
from numba.core.typing.context import Context
from numba.cpython.slicing import fix_index
from numba.np.arrayobj import load_item, store_item


class _TypingContext(Context):
    """A typing context of numba that remembers which signature a call of a function of numba has.

    numba tries all implementations of an operator again for each of its uses in a function.
    """

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:  # noqa: ANN401 - numba has no types
        """Return the signature of a call."""
        if not isinstance(func, types.Function):
            return super().resolve_function_type(func, args, kws)
        # an implementation is compiled by the flags of the function that calls it
        call = func, tuple(args), tuple(kws.items()), ConfigStack.top_or_none()
        signature = _SIGNATURES.get(call)
        if signature is None:
            signature = super().resolve_function_type(func, args, kws)
            if signature is not None:
                _SIGNATURES[call] = signature
        return signature


#: By function, types of arguments and flags.
_SIGNATURES: Final[dict[tuple[object, ...], object]] = {}


def remembering(context: Context) -> _TypingContext:
    """Return the same context, whose state it shares, with a memory."""
    made = object.__new__(_TypingContext)
    made.__dict__ = context.__dict__
    return made


class _References(NRTContext):
    """Counts references to the owners of arrays, and passes over what can have none."""

    def get_meminfos(self, builder: Any, ty: Any, val: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - numba has no types
        """Return the owners in a value, with their types."""
        if not _is_counted(self._context, ty):
            return []
        model = self._context.data_model_manager[ty]
        owners = [(ty, model.get_nrt_meminfo(builder, val))] if model.has_nrt_meminfo() else []
        for kind, part in model.traverse(builder):
            if _is_counted(self._context, kind):
                owners += self.get_meminfos(builder, kind, part(val))
        return owners


#: By type: whether its values hold references that are counted.
_COUNTED: Final[dict[Any, bool]] = {}


def _is_counted(context: Any, kind: Any) -> bool:  # noqa: ANN401 - numba has no types
    if kind not in _COUNTED:
        _COUNTED[kind] = context.data_model_manager[kind].contains_nrt_meminfo()
    return _COUNTED[kind]


class KernelLower(Lower):
    """Lowers values that are assigned once, entries of arrays, and operators, in fewer instructions."""

    # Values that are assigned once

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that need no place in memory: their only value is known wherever they are read.

        numba keeps those that are read in one block. An array that counts references stays in memory, where
        it is overwritten when it is released.
        """
        self._singly_assigned_vars: set[str] = set()
        self._blk_local_varmap: dict[str, Any] = {}
        if self.func_ir.func_id.is_generator:
            return
        uses = compute_use_defs(self.blocks)
        dominators = compute_cfg_from_blocks(self.blocks).dominators()
        assigned = {
            label: Counter(step.target.name for step in block.find_insts(Assign))
            for label, block in self.blocks.items()
        }
        defined: dict[str, list[int]] = {}
        for label, names in uses.defmap.items():
            for name in names:
                defined.setdefault(name, []).append(label)
        read: dict[str, list[int]] = {}
        for label, names in uses.usemap.items():
            for name in names:
                read.setdefault(name, []).append(label)
        for name, labels in defined.items():
            label, elsewhere = labels[0], read.get(name, ())
            if len(labels) > 1 or assigned[label][name] != 1:
                continue
            if elsewhere and self.context.enable_nrt and _is_counted(self.context, self.typeof(name)):
                continue
            # blocks are lowered by the order of their labels
            if all(label < other and label in dominators[other] for other in elsewhere):
                self._singly_assigned_vars.add(name)

    # References

    def incref(self, typ: Any, val: Any) -> None:  # noqa: ANN401 - numba has no types
        """Count a new reference, if the value holds any."""
        if self.context.enable_nrt:
            _References(self.context, enabled=True).incref(self.builder, typ, val)

    def decref(self, typ: Any, val: Any) -> None:  # noqa: ANN401 - numba has no types
        """Count a reference less, if the value holds any."""
        if self.context.enable_nrt:
            _References(self.context, enabled=True).decref(self.builder, typ, val)

    # Entries of arrays

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:  # noqa: ANN401 - numba has no types
        """Return an entry of an array, or whatever else has indices."""
        array, kind = signature.args
        address = self._address(value, index, array, kind)
        if address is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        entry = load_item(self.context, self.builder, array, address)
        return self.context.cast(self.builder, entry, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:  # noqa: ANN401 - numba has no types
        """Write an entry of an array, or whatever else has indices."""
        array, kind, given = signature.args
        address = None
        if not isinstance(given, types.Buffer):
            address = self._address(target_var, index_var, array, kind)
        if address is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.loadvar(value_var.name)
        for before, after in ((self.typeof(value_var.name), given), (given, array.dtype)):
            value = self.context.cast(self.builder, value, before, after)
        return store_item(self.context, self.builder, array, value, address)

    def _address(self, array_var: Any, index_var: Any, array: Any, index: Any) -> Any:  # noqa: ANN401 - numba has no types
        """Return the address of an entry; None if that is more than an address and lengths, or no entry."""
        kinds = index.types if isinstance(index, types.BaseTuple) else (index,)
        if (
            not isinstance(array, types.Array)
            or array.layout != "C"
            or array.ndim != len(kinds)
            or not isinstance(array.dtype, types.Number | types.Boolean | types.Record)
            or not all(isinstance(kind, types.Integer) for kind in kinds)
            or types.unliteral(self.typeof(array_var.name)) != array
            or self.context.enable_boundscheck
        ):
            return None
        builder, model = self.builder, self.context.data_model_manager[array]
        whole = self.loadvar(array_var.name)
        places = self.context.cast(builder, self.loadvar(index_var.name), self.typeof(index_var.name), index)
        if isinstance(index, types.BaseTuple):
            places = [builder.extract_value(places, axis) for axis in range(array.ndim)]
        else:
            places = [places]
        shape = model.get(builder, whole, "shape")
        offset = None
        for axis, (place, kind) in enumerate(zip(places, kinds, strict=True)):
            length = builder.extract_value(shape, axis)
            step = self._from_start(place, kind, length)
            offset = step if offset is None else builder.add(builder.mul(offset, length), step)
        return builder.gep(model.get(builder, whole, "data"), [offset])

    def _from_start(self, place: Any, kind: Any, length: Any) -> Any:  # noqa: ANN401 - numba has no types
        """Return an index that counts from the start."""
        if not kind.signed:
            return self.context.cast(self.builder, place, kind, types.uintp)
        place = self.context.cast(self.builder, place, kind, types.intp)
        if isinstance(place, ir.Constant) and place.constant >= 0:
            return place
        return fix_index(self.builder, place, length)

    # Operators

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:  # noqa: ANN401 - numba has no types
        """Return the value of an operator, by the signatures that typing has remembered.

        numba asks three times for each operator whether there is an implementation for constants; of those
        on numbers only powers have one.
        """
        if op in {operator.pow, operator.ipow}:
            return super().lower_binop(resty, expr, op)
        typing = remembering(self.context.typing_context)
        called, signature = typing.resolve_value_type(op), self.fndesc.calltypes[expr]
        operands = [
            self.context.cast(self.builder, self.loadvar(side.name), self.typeof(side.name), kind)
            for side, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        resolved = typing.resolve_function_type(called, signature.args, {})
        value = self.context.get_function(called, resolved)(self.builder, operands)
        return self.context.cast(self.builder, value, signature.return_type, resty)
