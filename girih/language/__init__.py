"""The words of kernels in Python: `import girih.language as gl`.

Types are annotations and conversions; functions are instructions. All of them mean something in kernels only: called
elsewhere they raise `OutsideKernelError`.

`from girih.language import *` leaves Python's own `max`, `min`, `pow`, `print`, `range` and `sum` as they are: the
words of these names are `gl.max` and so on.
"""

import sys
from typing import TYPE_CHECKING

from girih.language.arith import bitcast, cast, conj, div, full, imag, maximum, minimum, real, rem, where, zeros
from girih.language.builtin import (
    group_id,
    num_groups,
    num_subgroups,
    subgroup_id,
    subgroup_linear_id,
    subgroup_local_id,
    subgroup_size,
)
from girih.language.control import barrier, cdiv, foreach, foreach_tile, parallel, unroll
from girih.language.control import print as print
from girih.language.control import range as range
from girih.language.coopmatrix import (
    apply,
    combine,
    combine_2x2,
    dot,
    extract,
    insert,
    load,
    load_blocked_interleaved,
    prefetch,
    store,
    store_blocked_interleaved,
    transpose,
)
from girih.language.coopmatrix import max as max
from girih.language.coopmatrix import min as min
from girih.language.coopmatrix import sum as sum
from girih.language.linalg import axpby, cumsum, gemm, gemv, ger, hadamard
from girih.language.math import (
    cos,
    erf,
    exp,
    exp2,
    fma,
    log,
    log2,
    native_cos,
    native_exp,
    native_exp2,
    native_log,
    native_log2,
    native_sin,
    rsqrt,
    sin,
    sqrt,
    tanh,
)
from girih.language.math import pow as pow
from girih.language.memory import (
    associated,
    atomic_add,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_store,
    checked,
    expand,
    fuse,
    lifetime_stop,
    local,
    subview,
)
from girih.language.subgroup import (
    subgroup_broadcast,
    subgroup_exclusive_scan_add,
    subgroup_exclusive_scan_max,
    subgroup_exclusive_scan_min,
    subgroup_inclusive_scan_add,
    subgroup_inclusive_scan_max,
    subgroup_inclusive_scan_min,
    subgroup_reduce_add,
    subgroup_reduce_max,
    subgroup_reduce_min,
)
from girih.language.tensor_layout import TensorLayout, TensorView, load_tensor, store_tensor, tensor_layout, tensor_view
from girih.language.tensor_map import tensor_copy_load, tensor_copy_reduce, tensor_copy_store
from girih.language.types import (
    Array,
    Block,
    Group,
    Im2colMap,
    Matrix,
    Scalar,
    TensorMap,
    Vector,
    bf16,
    bool_,
    c32,
    c64,
    constant,
    f8e4m3,
    f8e5m2,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    index,
)
from girih.language.words import OutsideKernelError

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Raise `AttributeError` for a name that there is not, with what to write where that is known."""
        from girih.language.foreign import INSTEAD

        write = f"; write {INSTEAD[name]}" if name in INSTEAD else ""
        # Python looks for similar names itself in a module that is given.
        module = None if write else sys.modules[__name__]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{write}", name=name, obj=module)


NAMED_AS_BUILTINS = ("max", "min", "pow", "print", "range", "sum")
"""The words that have names of Python's own functions, which a star leaves as they are."""

__all__ = [
    "Array",
    "Block",
    "Group",
    "Im2colMap",
    "Matrix",
    "OutsideKernelError",
    "Scalar",
    "TensorLayout",
    "TensorMap",
    "TensorView",
    "Vector",
    "apply",
    "associated",
    "atomic_add",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_store",
    "axpby",
    "barrier",
    "bf16",
    "bitcast",
    "bool_",
    "c32",
    "c64",
    "cast",
    "cdiv",
    "checked",
    "combine",
    "combine_2x2",
    "conj",
    "constant",
    "cos",
    "cumsum",
    "div",
    "dot",
    "erf",
    "exp",
    "exp2",
    "expand",
    "extract",
    "f8e4m3",
    "f8e5m2",
    "f16",
    "f32",
    "f64",
    "fma",
    "foreach",
    "foreach_tile",
    "full",
    "fuse",
    "gemm",
    "gemv",
    "ger",
    "group_id",
    "hadamard",
    "i8",
    "i16",
    "i32",
    "i64",
    "imag",
    "index",
    "insert",
    "lifetime_stop",
    "load",
    "load_blocked_interleaved",
    "load_tensor",
    "local",
    "log",
    "log2",
    "maximum",
    "minimum",
    "native_cos",
    "native_exp",
    "native_exp2",
    "native_log",
    "native_log2",
    "native_sin",
    "num_groups",
    "num_subgroups",
    "parallel",
    "prefetch",
    "real",
    "rem",
    "rsqrt",
    "sin",
    "sqrt",
    "store",
    "store_blocked_interleaved",
    "store_tensor",
    "subgroup_broadcast",
    "subgroup_exclusive_scan_add",
    "subgroup_exclusive_scan_max",
    "subgroup_exclusive_scan_min",
    "subgroup_id",
    "subgroup_inclusive_scan_add",
    "subgroup_inclusive_scan_max",
    "subgroup_inclusive_scan_min",
    "subgroup_linear_id",
    "subgroup_local_id",
    "subgroup_reduce_add",
    "subgroup_reduce_max",
    "subgroup_reduce_min",
    "subgroup_size",
    "subview",
    "tanh",
    "tensor_copy_load",
    "tensor_copy_reduce",
    "tensor_copy_store",
    "tensor_layout",
    "tensor_view",
    "transpose",
    "unroll",
    "where",
    "zeros",
]
