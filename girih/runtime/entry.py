"""A kernel as a Python function in machine code: from arguments to slots without a detour through Python.

`Entry.call(grid, *arguments)` knows NumPy's own arrays, lists of them, and Python's own numbers. It returns

    None             the kernel has run
    bytes            its failure record
    NotImplemented   something about the arguments is unusual or wrong: nothing has run, `girih.runtime.arrays` decides
    False            there is no memory for the workspaces
    Ellipsis         the pool is to be started first

and raises what a signal handler raised, `KeyboardInterrupt` above all, after all running work-groups have ended.
`Entry.run(grid, address)` is the same for slots that are already filled. Both let go of Python's lock while the kernel
runs. `call` is None where objects do not lie in memory as they do in the usual builds of CPython.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm
from typing import Any

import ml_dtypes
import numpy as np

from girih.back.llvm.cpu.abi import FIRST_PARAMETER, RECORD_BYTES
from girih.ir.types import BF16, BOOL, C32, C64, F16, F32, F64, Group, MemRef, Number, Type
from girih.runtime.arrays import DTYPES, ParameterSpec

__all__ = ["NUMBERS", "Entry", "slot_count", "table_bytes"]

_KINDS = {
    name: number
    for number, name in enumerate(
        ("K_BOOL", "K_INTEGER", "K_NARROW", "K_F32", "K_F64", "K_C32", "K_C64", "K_MEMREF", "K_GROUP", "K_UNUSUAL")
    )
}
_DESCRIPTION = ("D_KERNEL", "D_POOL", "D_WORKSPACE_BYTES", "D_SERIAL_GROUPS", "D_PARAMETERS", "D_SLOT_BYTES", "D_BYTES")
_PARAMETER = ("P_KIND", "P_SLOT", "P_BYTES")
_SCALAR = (*_PARAMETER, "P_LEAST", "P_MOST", "P_SHIFT")
_MEMREF = (
    *_PARAMETER,
    "M_TYPE", "M_DTYPE", "M_SHIFT", "M_ALIGNMENT", "M_FLAGS", "M_ORDER", "M_DYNAMIC_SIZES", "M_MODES",
)  # fmt: skip
_GROUP = (*_PARAMETER, "G_SIZE", "G_RECORD_BYTES", "G_MEMREF")

# numpy/core/include/numpy/ndarraytypes.h, `struct tagPyArrayObject_fields`, the same in NumPy 1.26 and 2; the object
# itself begins with a count and its type. The flag is NPY_ARRAY_WRITEABLE.
_ARRAY = {"A_DATA": 16, "A_ORDER": 24, "A_SIZES": 32, "A_STRIDES": 40, "A_DTYPE": 56, "A_FLAGS": 64}
_WRITEABLE = 0x0400

NUMBERS = {
    **_KINDS,
    **{name: 8 * k for fields in (_DESCRIPTION, _SCALAR, _MEMREF, _GROUP) for k, name in enumerate(fields)},
    **_ARRAY,
    "MODE_BYTES": 32,
    "RECORD_BYTES": RECORD_BYTES,
}
"""What the texts in LLVM IR know by name: offsets of 8-byte fields in a description, and in an ndarray."""

_MOST_BYTES = 2**62

_FLOATING = {F32: "K_F32", F64: "K_F64", C32: "K_C32", C64: "K_C64"}
_MANTISSA_BITS = {F16: 10, BF16: 7}


def slot_count(type: Type) -> int:
    """How many slots a parameter takes."""
    if isinstance(type, MemRef):
        return 1 + _dynamic(type)
    if isinstance(type, Group):
        return 1 + (type.size is None)
    return 2 if type in (C32, C64) else 1


def table_bytes(type: MemRef) -> int:
    """The size of a record in the table of a group."""
    return 8 * (2 + _dynamic(type))


def _dynamic(type: MemRef) -> int:
    return type.shape.count(None) + type.strides.count(None)


class _MethodDef(ctypes.Structure):
    """`PyMethodDef` of CPython."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x0080


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """The functions that launch one kernel, and what they refer to, which must live as long as they do."""

    call: Callable[..., object] | None
    run: Callable[[tuple[int, int, int], int], object]
    held: tuple[object, ...]

    @staticmethod
    def make(
        name: str,
        parameters: Sequence[ParameterSpec],
        *,
        kernel: int,
        pool: int,
        workspace_bytes: int,
        serial_groups: int,
        addresses: Callable[[str], int],
    ) -> Entry:
        """The functions for a kernel at an address; `addresses` tells where the launcher's own functions are."""
        slots = FIRST_PARAMETER
        described: list[int] = []
        for spec in parameters:
            described += _parameter(spec, 8 * slots)
            slots += slot_count(spec.type)
        # More bytes than an address can count are as impossible to get as the largest number of them.
        workspace = min(workspace_bytes, _MOST_BYTES)
        words = [kernel, pool, workspace, max(serial_groups, 1), len(parameters), 8 * slots, *described]
        description = ctypes.create_string_buffer(struct.pack(f"={len(words)}q", *words), 8 * len(words))
        self = _capsule(description)
        run, run_definition = _function(name, addresses("girih_run"), self)
        if not known_layout():
            return Entry(None, run, (description, run_definition))
        call, call_definition = _function(name, addresses("girih_call"), self)
        return Entry(call, run, (description, run_definition, call_definition))


def _capsule(buffer: Any) -> object:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    made: object = new(ctypes.addressof(buffer), None, None)
    return made


def _function(name: str, address: int, self: object) -> tuple[Any, _MethodDef]:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    definition = _MethodDef(name.encode(), address, _METH_FASTCALL, None)
    return new(ctypes.addressof(definition), self, None), definition


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
    before = ctypes.c_int32.from_address(address + _ARRAY["A_FLAGS"]).value
    probe.flags.writeable = False
    after = ctypes.c_int32.from_address(address + _ARRAY["A_FLAGS"]).value
    return before & _WRITEABLE == _WRITEABLE and after == before - _WRITEABLE


def _parameter(spec: ParameterSpec, slot: int) -> list[int]:
    """The description of a parameter."""
    type = spec.type
    if isinstance(type, MemRef):
        return _memref(spec, type, slot)
    if isinstance(type, Group):
        if type.offset != 0:
            # Where the pointers are moved, the slow path finds out where each member ends.
            return _sized("K_UNUSUAL", slot, [])
        fields = [_or_minus_one(type.size), table_bytes(type.memref)]
        return _sized("K_GROUP", slot, [*fields, *_memref(spec, type.memref, 0)])
    if type == BOOL:
        return _sized("K_BOOL", slot, [])
    if not isinstance(type, Number):
        raise TypeError(f"no parameter is of type {type}")
    if type.family == "integer":
        bounds = np.iinfo(DTYPES[type])
        return _sized("K_INTEGER", slot, [int(bounds.min), int(bounds.max)])
    bits = _MANTISSA_BITS.get(type)
    if bits is None:
        return _sized(_FLOATING[type], slot, [])
    finfo: Any = ml_dtypes.finfo
    limits = finfo(DTYPES[type])
    ends = [_double_bits(float(limits.smallest_normal)), _double_bits(float(limits.max))]
    return _sized("K_NARROW", slot, [*ends, 52 - bits])


def _memref(spec: ParameterSpec, type: MemRef, slot: int) -> list[int]:
    dtype = DTYPES[type.element]
    modes: list[int] = []
    for mode, (size, stride) in enumerate(zip(type.shape, type.strides, strict=True)):
        divisors = [gcd[mode] if mode < len(gcd) else 1 for gcd in (spec.shape_gcd, spec.stride_gcd)]
        modes += [_or_minus_one(size), _or_minus_one(stride), *divisors]
    fields = [
        id(np.ndarray),
        id(dtype),
        dtype.itemsize.bit_length() - 1,
        lcm(dtype.alignment, spec.alignment or 1),
        _WRITEABLE if spec.written else 0,
        type.order,
        type.shape.count(None),
    ]
    return _sized("K_MEMREF", slot, [*fields, *modes])


def _sized(kind: str, slot: int, fields: list[int]) -> list[int]:
    return [_KINDS[kind], slot, 8 * (len(_PARAMETER) + len(fields)), *fields]


def _or_minus_one(extent: int | None) -> int:
    return -1 if extent is None else extent


def _double_bits(value: float) -> int:
    return int(struct.unpack("=q", struct.pack("=d", value))[0])
