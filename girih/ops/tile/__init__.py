"""The specification: every instruction of the tensor language, its text format and its restrictions.

Importing this package fills the registries `girih.ir.define.OPS` and `RULES`; nothing else imports it but the front
end, the checker's callers and the executors.
"""

from girih.ops.tile import (
    arith,
    builtin,
    control,
    coopmatrix,
    coopmatrix_regions,
    coopmatrix_tensor,
    function,
    linalg,
    math,
    memory,
    subgroup,
    tensor_known,
    tensor_layout,
)

__all__ = [
    "arith",
    "builtin",
    "control",
    "coopmatrix",
    "coopmatrix_regions",
    "coopmatrix_tensor",
    "function",
    "linalg",
    "math",
    "memory",
    "subgroup",
    "tensor_known",
    "tensor_layout",
]
