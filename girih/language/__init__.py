"""The words of kernels in Python: `import girih.language as gl`.

Types are annotations and conversions; functions are instructions. All of them mean something in kernels only: called
elsewhere they raise `OutsideKernelError`.
"""

from girih.language.builtin import group_id
from girih.language.control import cdiv, foreach, parallel, unroll
from girih.language.linalg import axpby
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

__all__ = [
    "Array",
    "Block",
    "Group",
    "Im2colMap",
    "Matrix",
    "OutsideKernelError",
    "Scalar",
    "TensorMap",
    "Vector",
    "axpby",
    "bf16",
    "bool_",
    "c32",
    "c64",
    "cdiv",
    "constant",
    "f8e4m3",
    "f8e5m2",
    "f16",
    "f32",
    "f64",
    "foreach",
    "group_id",
    "i8",
    "i16",
    "i32",
    "i64",
    "index",
    "parallel",
    "unroll",
]
