"""The peer libxsmm, if a shared library of version 1.17 or 2 is found, called from a compiled loop as from C.

The library is the file that `GIRIH_LIBXSMM` names, or what the system finds as `libxsmm.so`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from girih.bench.peers.native import Native

ENVIRONMENT = "GIRIH_LIBXSMM"

# libxsmm 2.0.0, include/libxsmm_typedefs.h: libxsmm_datatype, libxsmm_gemm_flags, libxsmm_gemm_param (op has four
# pointers; a, b and c have six each, of which the first is the matrix).
_DATATYPES = {"f64": 0, "f32": 1}
_BETA_0 = 4
_PARAMETER_WORDS = 4 + 3 * 6
_PLACES = {"a": 8 * 4, "b": 8 * 10, "c": 8 * 16}

# A function of 1.17 takes three pointers, one of 2.0 the address of a record with them.
_LOOP = """
define void @batch(ptr %function, i64 %count, ptr %a, i64 %da, ptr %b, i64 %db, ptr %c, i64 %dc) {{
entry:
  %record = alloca [{words} x ptr], align 8
  call void @llvm.memset.p0.i64(ptr %record, i8 0, i64 {bytes}, i1 false)
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %oa = mul i64 %i, %da
  %ob = mul i64 %i, %db
  %oc = mul i64 %i, %dc
  %pa = getelementptr i8, ptr %a, i64 %oa
  %pb = getelementptr i8, ptr %b, i64 %ob
  %pc = getelementptr i8, ptr %c, i64 %oc
{call}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
_CALL_1 = "  call void %function(ptr %pa, ptr %pb, ptr %pc)"
_CALL_2 = (
    "\n".join(
        f"  %r{x} = getelementptr i8, ptr %record, i64 {place}\n  store ptr %p{x}, ptr %r{x}, align 8"
        for x, place in _PLACES.items()
    )
    + "\n  call void %function(ptr %record)"
)


class _Shape(ctypes.Structure):
    """`libxsmm_gemm_shape` of 2.0."""

    _fields_ = tuple(
        (name, ctypes.c_int)
        for name in ("m", "n", "k", "lda", "ldb", "ldc", "a_type", "b_type", "out_type", "computed_type")
    )


@dataclass(frozen=True, slots=True, eq=False)
class Libxsmm:
    """The loaded library libxsmm."""

    library: Any
    version: int
    path: str

    @property
    def name(self) -> str:
        """The interface that was found; the library does not say its version at run time."""
        return {1: "1.17 interface", 2: "2.0 interface"}[self.version]

    def batched(self, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Callable[[], None] | None:
        """A call for all C_i := A_i B_i along the third mode of packed arrays; None if libxsmm offers no kernel."""
        type = {"float32": "f32", "float64": "f64"}.get(str(a.dtype))
        if type is None:
            return None
        (m, k, count), n = a.shape, b.shape[1]
        function = self._one(type, m, n, k) if self.version == 1 else self._two(type, m, n, k)
        if not function:
            return None
        native = _loop(self.version)
        batch = native.function("batch", "pipipipi")

        def call(held: Native = native) -> None:
            batch(
                function, count, a.ctypes.data, a.strides[2], b.ctypes.data, b.strides[2], c.ctypes.data, c.strides[2]
            )

        return call

    def _one(self, type: str, m: int, n: int, k: int) -> int | None:
        """The kernel of `libxsmm_smmdispatch` or `libxsmm_dmmdispatch` of 1.17; None without one."""
        dispatch = getattr(self.library, f"libxsmm_{'s' if type == 'f32' else 'd'}mmdispatch")
        dispatch.restype = ctypes.c_void_p
        number = ctypes.c_float if type == "f32" else ctypes.c_double
        leading = [ctypes.byref(ctypes.c_int(size)) for size in (m, k, m)]
        scales = [ctypes.byref(number(value)) for value in (1.0, 0.0)]
        found: int | None = dispatch(m, n, k, *leading, *scales, None, None)
        return found

    def _two(self, type: str, m: int, n: int, k: int) -> int | None:
        """The kernel of `libxsmm_dispatch_gemm` of 2.0; None without one."""
        dispatch = self.library.libxsmm_dispatch_gemm
        dispatch.restype = ctypes.c_void_p
        dispatch.argtypes = (_Shape, ctypes.c_uint, ctypes.c_uint)
        shape = _Shape(m, n, k, m, k, m, *[_DATATYPES[type]] * 4)
        found: int | None = dispatch(shape, _BETA_0, 0)
        return found


@lru_cache(maxsize=2)
def _loop(version: int) -> Native:
    call = _CALL_1 if version == 1 else _CALL_2
    text = _LOOP.format(words=_PARAMETER_WORDS, bytes=8 * _PARAMETER_WORDS, call=call)
    return Native.of(text, "batch")


@lru_cache(maxsize=1)
def find() -> Libxsmm | None:
    """The library libxsmm; None if it is not installed."""
    path = os.environ.get(ENVIRONMENT) or ctypes.util.find_library("xsmm")
    if not path:
        return None
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for version, symbol in ((2, "libxsmm_dispatch_gemm"), (1, "libxsmm_smmdispatch")):
        if hasattr(library, symbol):
            library.libxsmm_init()
            return Libxsmm(library, version, path)
    return None
