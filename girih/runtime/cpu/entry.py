"""A kernel as a Python function in machine code: from arguments to slots without a detour through Python.

`KernelEntry.call(grid, *arguments)` knows NumPy's own arrays, lists of them, Python's own numbers and the usual scalars
of NumPy. It returns

    None             the kernel has run
    bytes            its failure record
    NotImplemented   something about the arguments is unusual or wrong: nothing has run, `arguments.arrays` decides
    False            there is no memory for the workspaces
    True             a signal handler forked this process meanwhile: what other threads had begun is lost here
    Ellipsis         the pool is to be started first

and raises what a signal handler raised, `KeyboardInterrupt` above all, after all running work-groups have ended.
`KernelEntry.run(grid, address)` is the same for slots that are already filled. Both let go of Python's lock while the
kernel runs. `call` is None where objects do not lie in memory as they do in the usual builds of CPython. Each of the
two alone keeps alive all that it needs. How this works and why is on a page of its own: docs/design/launching.md.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import lcm
from typing import Any

import numpy as np

from girih.arguments.arrays import DTYPES, ParameterSpec
from girih.back.llvm.lower.launch.record import RECORD_BYTES
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.ir.types import (
    BOOL,
    C32,
    C64,
    EIGHT_BIT_FLOATS,
    F32,
    F64,
    GroupType,
    MemRef,
    Number,
    TensorMapType,
    Type,
)
from girih.lazy_dataclass import dataclass
from girih.runtime.compiled.functions import DEFINITION_WORDS, python_functions
from girih.runtime.compiled.narrow_floats import rounding_limits

__all__ = ["NUMBERS", "KernelEntry", "slot_count", "table_bytes"]

_KINDS = {
    name: number
    for number, name in enumerate(
        ("K_BOOL", "K_INTEGER", "K_NARROW", "K_F32", "K_F64", "K_C32", "K_C64", "K_MEMREF", "K_GROUP", "K_UNUSUAL")
    )
}

_INTEGERS = (np.int64, np.int32, np.uint8, np.int8, np.int16, np.uint16, np.uint32, np.uint64)
"""The integers of NumPy, in the order in which the machine code looks for them."""

_DESCRIPTION = (
    *(f"{of}_{k}" for of in ("RUN", "CALL") for k in range(DEFINITION_WORDS)),
    "D_KERNEL", "D_POOL", "D_WORKSPACE_BYTES", "D_SERIAL_GROUPS", "D_UNTIMED_GROUPS", "D_LEARNED", "D_WALL", "D_TURNS",
    "D_FLOAT32", "D_FLOAT64", "D_INTEGERS", *(f"D_INTEGER_{k}" for k in range(1, len(_INTEGERS))),
    "D_APART", "D_PARAMETERS", "D_SLOT_BYTES", "D_BYTES",
)  # fmt: skip
_PARAMETER = ("P_KIND", "P_SLOT", "P_BYTES")
_SCALAR = (*_PARAMETER, "P_LEAST", "P_MOST")
_MEMREF = (
    *_PARAMETER,
    "M_TYPE", "M_ELEMENT", "M_SHIFT", "M_ALIGNMENT", "M_FLAGS", "M_ORDER", "M_FIRST_AXIS", "M_AXIS_STEP",
    "M_DYNAMIC_SIZES", "M_MODES",
)  # fmt: skip
_GROUP = (*_PARAMETER, "G_SIZE", "G_RECORD_BYTES", "G_MEMREF")

# numpy/core/include/numpy/ndarraytypes.h, `struct tagPyArrayObject_fields`, the same in NumPy 1.26 and 2; the object
# itself begins with a count and its type. The flag is NPY_ARRAY_WRITEABLE.
_ARRAY = {"A_DATA": 16, "A_ORDER": 24, "A_SIZES": 32, "A_STRIDES": 40, "A_DTYPE": 56, "A_FLAGS": 64}
_WRITEABLE = 0x0400

# numpy/core/include/numpy/ndarraytypes.h, `struct _PyArray_Descr`, in NumPy 1.26 and 2: kind, character, byte order and
# flags, a byte each, and the number of the type in four; sizes, names and metadata are elsewhere.
_ELEMENT_WORD = 24

# numpy/core/include/numpy/arrayscalars.h: after the same two fields, the value of a scalar.
_SCALAR_VALUE = 16

NUMBERS = {
    **_KINDS,
    **{name: 8 * k for fields in (_DESCRIPTION, _SCALAR, _MEMREF, _GROUP) for k, name in enumerate(fields)},
    **_ARRAY,
    "WRITEABLE": _WRITEABLE,
    "E_WORD": _ELEMENT_WORD,
    "S_VALUE": _SCALAR_VALUE,
    "INTEGERS": len(_INTEGERS),
    "MODE_BYTES": 32,
    "RANGE_BYTES": 24,
    "RECORD_BYTES": RECORD_BYTES,
}
"""The numbers that the texts in LLVM IR use by name: offsets of 8-byte fields in a description, and in an ndarray."""

_MOST_BYTES = 2**62

_FLOATING = {F32: "K_F32", F64: "K_F64", C32: "K_C32", C64: "K_C64"}


def slot_count(type: Type) -> int:
    """The number of slots that a parameter takes."""
    if isinstance(type, MemRef):
        return 1 + _dynamic(type)
    if isinstance(type, GroupType):
        return 1 + (type.size is None)
    return 2 if type in (C32, C64) else 1


def table_bytes(type: MemRef) -> int:
    """The bytes of a record in the table of a group."""
    return 8 * (1 + _dynamic(type))


def _dynamic(type: MemRef) -> int:
    return type.shape.count(None) + type.strides.count(None)


@dataclass(frozen=True, slots=True, eq=False)
class KernelEntry:
    """The functions that launch one kernel."""

    call: Callable[..., object] | None
    run: Callable[[tuple[int, int, int], int], object]

    @staticmethod
    def make(
        name: str,
        parameters: Sequence[ParameterSpec],
        *,
        kernel: int,
        code: object,
        pool: int,
        workspace_bytes: int,
        serial_groups: int,
        untimed_groups: int,
        addresses: Callable[[str], int],
    ) -> KernelEntry:
        """The functions for a kernel at an address in `code`, which stays as long as one of them.

        `addresses` gives the address of a function of the launcher by its name.
        """
        slots = FIRST_PARAMETER
        described: list[int] = []
        for spec in parameters:
            described += _parameter(spec, 8 * slots)
            slots += slot_count(spec.type)
        # More bytes than an address can count are as impossible to get as the largest number of them.
        workspace = min(workspace_bytes, _MOST_BYTES)
        types = [id(type) for type in (np.float32, np.float64, *_INTEGERS)]
        words = [kernel, pool, workspace, max(serial_groups, 1), untimed_groups, 0, 0, 0, *types]
        words += [int(_members_must_lie_apart(parameters)), len(parameters), 8 * slots, *described]
        functions = [addresses("girih_run"), addresses("girih_call")]
        run, call = python_functions(name.encode(), functions, words, code)
        return KernelEntry(call if known_layout() else None, run)


def _members_must_lie_apart(parameters: Sequence[ParameterSpec]) -> bool:
    """Whether it matters which memory the members of groups share: `girih.arguments.sharing`."""
    groups = any(isinstance(spec.type, GroupType) for spec in parameters)
    return groups and any(spec.written for spec in parameters)


@lru_cache(maxsize=1)
def known_layout() -> bool:
    """Whether an ndarray lies in memory as the machine code expects it."""
    probe: np.ndarray[Any, Any] = np.zeros((3, 5), np.float32)[:, 1:].T
    address = id(probe)

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(address + offset).value

    if ctypes.sizeof(ctypes.c_void_p) != 8 or word(8) != id(np.ndarray):
        return False
    if word(_ARRAY["A_DATA"]) != probe.__array_interface__["data"][0] or word(_ARRAY["A_DTYPE"]) != id(probe.dtype):
        return False
    if ctypes.c_int32.from_address(address + _ARRAY["A_ORDER"]).value != 2:
        return False
    sizes = (ctypes.c_int64 * 2).from_address(word(_ARRAY["A_SIZES"]))
    strides = (ctypes.c_int64 * 2).from_address(word(_ARRAY["A_STRIDES"]))
    if tuple(sizes) != probe.shape or tuple(strides) != probe.strides:
        return False
    if not _known_scalars() or not _known_elements():
        return False
    before = ctypes.c_int32.from_address(address + _ARRAY["A_FLAGS"]).value
    probe.flags.writeable = False
    after = ctypes.c_int32.from_address(address + _ARRAY["A_FLAGS"]).value
    return before & _WRITEABLE == _WRITEABLE and after == before - _WRITEABLE


def _known_scalars() -> bool:
    """Whether the scalars of NumPy lie in memory as the machine code expects them."""
    probes = [type(77) for type in (np.float32, np.float64, *_INTEGERS)]
    return all(ctypes.string_at(id(one) + _SCALAR_VALUE, one.nbytes) == one.tobytes() for one in probes)


def _known_elements() -> bool:
    """Whether the element types of NumPy lie in memory as the machine code expects them."""
    for dtype in DTYPES.values():
        kind, character, order, _, number = struct.unpack("=cccci", struct.pack("=q", _element(dtype)))
        if (kind + character + order).decode("latin-1") != dtype.kind + dtype.char + dtype.byteorder:
            return False
        if number != dtype.num:
            return False
    return True


def _element(dtype: np.dtype[Any]) -> int:
    """The word that tells an element type from all others, in every dtype object that stands for it."""
    return ctypes.c_int64.from_address(id(dtype) + _ELEMENT_WORD).value


def _parameter(spec: ParameterSpec, slot: int) -> list[int]:
    """The description of a parameter."""
    type = spec.type
    if isinstance(type, MemRef):
        return _memref(spec, type, slot)
    if isinstance(type, GroupType):
        if type.offset != 0:
            # Where the pointers are moved, the slow path finds out which part of each member is the memref.
            return _sized("K_UNUSUAL", slot, [])
        fields = [_or_minus_one(type.size), table_bytes(type.memref)]
        return _sized("K_GROUP", slot, [*fields, *_memref(spec, type.memref, 0)])
    if isinstance(type, TensorMapType):
        # The slow way makes the descriptor.
        return _sized("K_UNUSUAL", slot, [])
    if type == BOOL:
        return _sized("K_BOOL", slot, [])
    if not isinstance(type, Number):
        raise TypeError(f"no parameter is of type {type}")
    if type.family == "integer":
        bounds = np.iinfo(DTYPES[type])
        return _sized("K_INTEGER", slot, [int(bounds.min), int(bounds.max)])
    if type in EIGHT_BIT_FLOATS:
        return _sized("K_UNUSUAL", slot, [])
    limits = rounding_limits(type)
    return _sized(_FLOATING[type], slot, []) if limits is None else _sized("K_NARROW", slot, limits)


def _memref(spec: ParameterSpec, type: MemRef, slot: int) -> list[int]:
    dtype = DTYPES[type.element]
    modes: list[int] = []
    for mode, (size, stride) in enumerate(zip(type.shape, type.strides, strict=True)):
        divisors = [gcd[mode] if mode < len(gcd) else 1 for gcd in (spec.shape_gcd, spec.stride_gcd)]
        modes += [_or_minus_one(size), _or_minus_one(stride), *divisors]
    fields = [
        id(np.ndarray),
        _element(dtype),
        dtype.itemsize.bit_length() - 1,
        lcm(dtype.alignment, spec.alignment or 1),
        _WRITEABLE if spec.written else 0,
        type.order,
        type.order - 1 if spec.order == "C" else 0,
        -1 if spec.order == "C" else 1,
        type.shape.count(None),
    ]
    return _sized("K_MEMREF", slot, [*fields, *modes])


def _sized(kind: str, slot: int, fields: list[int]) -> list[int]:
    return [_KINDS[kind], slot, 8 * (len(_PARAMETER) + len(fields)), *fields]


def _or_minus_one(extent: int | None) -> int:
    return -1 if extent is None else extent
