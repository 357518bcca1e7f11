"""The words by which machine code takes the arguments of a launch (cuda_entry.ll): one list for each parameter.

A list begins with the kind, the offset in bytes of the parameter's first slot, and the bytes of the list.
"""

from __future__ import annotations

import ctypes
import types
import weakref
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from inspect import getattr_static
from typing import Any

import numpy as np

from girih.arguments.arrays import DTYPES, Accepted, GroupClaim, ParameterSpec
from girih.arguments.claims import Claim
from girih.arguments.devices import CUDA, LEGACY_STREAM, MANAGED
from girih.arguments.groups import Group
from girih.back.llvm.lower.launch.parameters import slot_count
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.ir.types import BF16, C32, C64, F16, F32, F64, INDEX, Boolean, GroupType, MemRef, Number, Type
from girih.lazy_dataclass import dataclass
from girih.runtime.compiled.narrow_floats import rounding_limits
from girih.runtime.cuda.plans.exchange import (
    EXPORT,
    TABLE,
    VERSION,
    WORDS,
    ExportedArray,
    ToldArray,
    exchange_table,
    exported,
    exporter_of_jax,
    told_by,
)

MOST_MEMBERS = 4096
"""The arrays of a list that machine code looks at one after another."""
GRADIENT, NEGATED, CONJUGATED = "requires_grad", "is_neg", "is_conj"
"""What torch's tensors are asked besides: an attribute, and one of two methods."""

_KINDS = (
    "K_BOOL", "K_INTEGER", "K_NARROW", "K_F32", "K_F64", "K_C32", "K_C64", "K_NULL", "K_ARRAY", "K_EXPORTED", "K_LIST",
    "K_GROUP",
)  # fmt: skip
_PARAMETER = ("Q_KIND", "Q_SLOT", "Q_BYTES")
_NUMBER = (*_PARAMETER, "Q_LEAST", "Q_MOST")
_ARRAY = (
    *_PARAMETER, "A_TYPE", "A_TELL", "A_GRADIENT", "A_GETTER", "A_CLOSURE", "A_TURNED", "A_DEVICE", "A_ELEMENT",
    "A_ALIGNMENT", "A_EXTENT", "A_WRITTEN", "A_STRIDED", "A_MODES", "A_FIRST",
)  # fmt: skip
_LIST = (*_PARAMETER, "L_TYPE", "L_COUNT", "L_FIRST")
_GROUP = (*_PARAMETER, "G_CELL")
_EXPORTER = (
    "E_METHOD", "E_STREAM", "E_VERSION", "E_WORDS", "E_CAPSULE", "E_TENSOR", "E_FLAGS", "E_FUNCTION",
    "E_ARRAY", "E_BEGIN", "E_ASKED", "E_CALLED", "E_ANSWER",
)  # fmt: skip
PARAMETER_NUMBERS: Mapping[str, int] = {
    **{name: number for number, name in enumerate(_KINDS)},
    **{name: 8 * k for fields in (_NUMBER, _ARRAY, _LIST, _GROUP, _EXPORTER) for k, name in enumerate(fields)},
}
"""The numbers that cuda_entry.ll uses by name: kinds, and offsets of 8-byte words in lists."""

_FLOATING = {
    BF16: "K_NARROW", F16: "K_NARROW", F32: "K_F32", F64: "K_F64", C32: "K_C32", C64: "K_C64",
}  # fmt: skip
_ANY_STRIDE = -1


@dataclass(slots=True, eq=False)
class ParameterWords:
    """The words of all parameters of a launch, made one after another, for a device by its number and a stream.

    `library` is the one whose current stream that is. `fixed` are the numbers of parameters that must be the same
    again, `aligned` what arrays must be aligned to besides. `ranges` are the arrays that may be elsewhere next time,
    `staying` begin, end and use (1: written) of those that may not. `slots` has the first slot of each parameter, and
    `held` what must stay for the words. `cells` hold the addresses of groups, 0 when they are gone.
    """

    device: int
    stream: int
    library: str = "torch"
    fixed: Collection[int] = ()
    aligned: Mapping[int, int] = field(default_factory=dict)
    words: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    ranges: int = 0
    staying: list[int] = field(default_factory=list)
    held: list[object] = field(default_factory=list)
    cells: list[ctypes.Array[ctypes.c_int64]] = field(default_factory=list)

    def add_all(
        self, specs: Sequence[ParameterSpec], accepted: Sequence[Accepted], given: Sequence[object]
    ) -> ParameterWords | None:
        """These words, with those of all parameters added; None where machine code does not know one of them."""
        slot = FIRST_PARAMETER
        for number, (spec, item, value) in enumerate(zip(specs, accepted, given, strict=True)):
            found = self._parameter(number, spec, item, value, slot)
            if found is None:
                return None
            self.words += found
            self.slots.append(slot)
            slot += slot_count(spec.type)
        return self

    def _parameter(
        self, number: int, spec: ParameterSpec, item: Accepted, given: object, slot: int
    ) -> list[int] | None:
        if isinstance(item, Claim):
            return self._array(max(spec.alignment or 1, self.aligned.get(number, 1)), item, given, slot)
        if isinstance(item, GroupClaim):
            return self._group(spec.alignment or 1, item, given, slot)
        if isinstance(spec.type, Boolean):
            return _listed("K_BOOL", slot, [])
        assert isinstance(spec.type, Number)
        if number in self.fixed:
            assert isinstance(item, np.ndarray)
            return _listed("K_INTEGER", slot, [int(item[0, 0, 0])] * 2)
        if spec.type.family == "integer":
            bounds = np.iinfo(np.int32 if spec.type == INDEX else DTYPES[spec.type])
            return _listed("K_INTEGER", slot, [int(bounds.min), int(bounds.max)])
        return _listed(_FLOATING[spec.type], slot, rounding_limits(spec.type) or [])

    def _array(self, promised: int, item: Claim, given: object, slot: int) -> list[int] | None:
        if item.array is None:
            return _listed("K_NULL", slot, [])
        alignment = max(promised, item.dtype.alignment)
        if not item.extent or not item.on_device or alignment & (alignment - 1):
            return None
        found = self._tells(given)
        if found is None:
            return None
        kind, teller, told = found
        if told.device not in (CUDA | self.device << 32, MANAGED | self.device << 32):
            return None
        steps = told.strides or (_ANY_STRIDE,) * len(told.sizes)
        modes = [(size, step if size > 1 else _ANY_STRIDE) for size, step in zip(told.sizes, steps, strict=True)]
        self.ranges += 1
        asked = _asked(given, item.dtype, [step for _, step in modes])
        return _listed(kind, slot, [
            id(given.__class__), teller, *asked, told.device, told.kind, alignment - 1,
            item.extent * item.dtype.itemsize, int(item.written), int(told.strides is not None), len(modes),
            *(word for mode in modes for word in mode),
        ])  # fmt: skip

    def _tells(self, given: object) -> tuple[str, int, ToldArray] | None:
        """The kind of an array, by what it tells about itself, and what it told."""
        type = given.__class__
        if hasattr(type, TABLE):
            table = exchange_table(type)
            told = None if table is None else told_by(table, given)
            return None if table is None or told is None else ("K_ARRAY", table.tell, told)
        if is_of_torch(given) or not hasattr(type, EXPORT):
            return None
        stream = self.stream or LEGACY_STREAM
        found = exported(given, stream)
        if found is None:
            return None
        function = exporter_of_jax(given, stream, found)
        words = (EXPORT, stream, VERSION, WORDS if function is None else WORDS[:1], function)
        name = ctypes.create_string_buffer(found.name)
        listed = [
            *map(id, words[:4]),
            ctypes.addressof(name),
            found.tensor,
            found.flags,
            0 if function is None else id(function),
        ]
        content = (ctypes.c_int64 * len(_EXPORTER))(*listed)
        self.held += [words, name, content]
        self._know_again(given, found, content)
        return "K_EXPORTED", ctypes.addressof(content), found.told

    def _know_again(self, given: Any, found: ExportedArray, content: ctypes.Array[ctypes.c_int64]) -> None:
        """Let machine code know an array again that needs no capsule then, since its memory stays while it is there.

        JAX's arrays stay until they are deleted, and what computes them was waited for. CuPy's may get another shape;
        the launch is on their own stream, so that nobody has to wait.
        """
        library = given.__class__.__module__.partition(".")[0]
        if library in ("jax", "jaxlib"):
            asked, called, answer = "is_deleted", 1, False
        elif library == self.library == "cupy":
            asked, called, answer = "shape", 0, given.shape
        else:
            return
        place = _EXPORTER.index("E_ARRAY")
        with suppress(TypeError):
            self.held += [_emptied_with(given, content, place), asked, answer]
            content[place:] = [id(given), found.begin, id(asked), called, id(answer)]

    def _group(self, promised: int, item: GroupClaim, given: object, slot: int) -> list[int] | None:
        if item.null:
            return _listed("K_NULL", slot, []) if given is None else None
        before = self.ranges
        found = (
            self._same_group(item, given, slot) if isinstance(given, Group) else self._list(promised, item, given, slot)
        )
        self.ranges = before
        for one in item.members:
            if one.extent and one.array is not None:
                self.staying += [one.start, one.end, int(one.written)]
        return found

    def _same_group(self, item: GroupClaim, given: Group, slot: int) -> list[int] | None:
        """The words for a group that is known again by its address; its arrays stay where they are."""
        if self.library not in ("torch", "cupy") or any(one.extent and not one.on_device for one in item.members):
            return None
        cell = (ctypes.c_int64 * 1)(id(given))
        self.cells.append(cell)
        self.held.append(_emptied_with(given, cell, 0))
        return _listed("K_GROUP", slot, [ctypes.addressof(cell)])

    def _list(self, promised: int, item: GroupClaim, given: object, slot: int) -> list[int] | None:
        if not isinstance(given, list | tuple) or len(given) > MOST_MEMBERS or len(given) != len(item.members):
            return None
        found: list[int] = []
        for member, one in zip(item.members, given, strict=True):
            words = self._array(promised, member, one, 0)
            if words is None:
                return None
            found += [member.start, *words]
        return _listed("K_LIST", slot, [id(given.__class__), len(given), *found])


def _emptied_with(one: object, cell: ctypes.Array[ctypes.c_int64], place: int) -> object:
    """What puts 0 for the address of an object into a cell when the object ends, before another may be there."""
    return weakref.ref(one, lambda _: cell.__setitem__(place, 0))


def is_simple(type: Type) -> bool:
    """Whether the machine code knows arguments of a type."""
    if isinstance(type, GroupType):
        type = type.memref
    if isinstance(type, MemRef):
        return isinstance(type.element, Number)
    return isinstance(type, Boolean) or (isinstance(type, Number) and (type.family == "integer" or type in _FLOATING))


def is_of_torch(given: object) -> bool:
    """Whether an array is one of torch's tensors."""
    return given.__class__.__module__.partition(".")[0] == "torch"


def _listed(kind: str, slot: int, fields: list[int]) -> list[int]:
    return [_KINDS.index(kind), 8 * slot, 8 * (len(_PARAMETER) + len(fields)), *fields]


def _asked(given: object, dtype: np.dtype[Any], steps: Sequence[int]) -> list[int]:
    """What machine code asks a tensor of torch besides: an attribute with its function and closure, and a method.

    Of real numbers it asks only where all strides are even: negated views that torch makes are of the imaginary parts
    of conjugated complex numbers.
    """
    if not is_of_torch(given):
        return [0, 0, 0, 0]
    real = dtype.kind != "c"
    plain = real and any(step % 2 for step in steps if step != _ANY_STRIDE)
    method = 0 if plain else id(NEGATED if real else CONJUGATED)
    return [id(GRADIENT), *_getter(given.__class__), method]


# CPython's PyDescr_COMMON behind the head of an object: type, name, qualified name; then the PyGetSetDef, which has
# name, function, another function, documentation, closure.
_DEFINITION = object.__basicsize__ + 24
_FUNCTION, _CLOSURE = 8, 32


def _getter(type: type) -> tuple[int, int]:
    """The C function that tells whether an array asks for a gradient, and its closure; zeros where it is none of C."""
    found = getattr_static(type, GRADIENT, None)
    if not isinstance(found, types.GetSetDescriptorType):
        return 0, 0
    definition = ctypes.c_void_p.from_address(id(found) + _DEFINITION).value or 0
    function, closure = (ctypes.c_void_p.from_address(definition + offset).value for offset in (_FUNCTION, _CLOSURE))
    return function or 0, closure or 0
