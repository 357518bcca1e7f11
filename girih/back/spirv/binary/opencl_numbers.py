"""The operations of shader code on numbers for OpenCL: a table from each to what it is, where Vulkan's is another.

Integers have no sign there, so nothing is cast between signs. Functions are those of OpenCL.std that are exact or
rounded right (OpenCL C 3.0, 7.4 "Relative Error as ULPs"); `fma` is always one.
"""

from __future__ import annotations

from girih.back.spirv.binary.operations import INSTRUCTIONS, OF_INTEGERS, OF_TRUTH, WRITTEN
from girih.back.spirv.binary.statements import Rule, StatementWriter
from girih.back.spirv.code.nodes import ShaderNode
from girih.back.spirv.code.types import is_float
from girih.diagnostics import InternalError

_INSTRUCTIONS = {
    **INSTRUCTIONS,
    "zext": "OpUConvert",
    "trunc": "OpUConvert",
    "fptoui": "OpConvertFToU",
    "udiv": "OpUDiv",
    "urem": "OpUMod",
    "srem": "OpSRem",
    "uno": "OpUnordered",
    "ord": "OpOrdered",
}
"""Operations that are one instruction with the same operands; `uno` and `ord` are instructions of kernels."""

_FUNCTIONS = {
    "fma": "fma",
    "exp": "exp",
    "exp2": "exp2",
    "sqrt": "sqrt",
    "fabs": "fabs",
    "floor": "floor",
    "truncate": "trunc",
    "rint": "rint",
    "copysign": "copysign",
    "fmax": "fmax",
    "fmin": "fmin",
    "umin": "u_min",
    "umax": "u_max",
    "smin": "s_min",
    "smax": "s_max",
    "umulh": "u_mul_hi",
    "ctlz": "clz",
    "cttz": "ctz",
}
"""Operations that OpenCL.std has."""

_OF_CONDITIONS = {"zext": "uitofp", "sext": "sext", "uitofp": "uitofp", "sitofp": "sitofp", "trunc": "trunc",
                  "xor": "xor"}  # fmt: skip
"""Operations from or to conditions, and Vulkan's form of them, which serves here too."""


class _Numbers:
    """The rules of one module, which remember products that may be rounded together with sums."""

    def __init__(self) -> None:
        self._products: dict[str, ShaderNode] = {}

    def __call__(self, s: StatementWriter, node: ShaderNode) -> None:
        """Write an operation on numbers."""
        a, result = s.a, node.result
        assert result is not None
        form = WRITTEN.get(_OF_CONDITIONS.get(node.op, ""))
        if "i1" in (result.type, node.operands[0].type) and form is not None and form(a, node):
            return
        if not node.exact and is_float(result.type):
            if node.op == "fmul":
                self._products[result.text] = node
            elif self._fused(s, node):
                return
        operands, type = [a.id_of(one) for one in node.operands], s.type(result.type)
        if node.op == "bitreverse":
            a.capability("BitInstructions")
            a.extension("SPV_KHR_bit_instructions")
        if node.op in _FUNCTIONS:
            a.extended(_FUNCTIONS[node.op], type, *operands, into=result)
            return
        known = OF_TRUTH if node.operands[0].type == "i1" else OF_INTEGERS
        name = known.get(node.op) or _INSTRUCTIONS.get(node.op)
        if name is None:
            raise InternalError(f"SPIR-V for OpenCL has no form for the operation {node.op}")
        a.result(name, type, *operands, into=result)

    def _fused(self, s: StatementWriter, node: ShaderNode) -> bool:
        """Write a sum or difference with a product as one `fma`, if the product may be rounded with it."""
        if node.op not in ("fadd", "fsub") or node.result is None:
            return False
        a, (x, y) = s.a, node.operands
        type = s.type(node.result.type)
        for product, other in ((x, y), (y, x)):
            made = self._products.get(product.text)
            if made is None:
                continue
            first, second = (a.id_of(one) for one in made.operands)
            third = a.id_of(other)
            if node.op == "fsub" and product is x:
                third = a.result("OpFNegate", type, third)
            elif node.op == "fsub":
                first = a.result("OpFNegate", type, first)
            a.extended("fma", type, first, second, third, into=node.result)
            return True
        return False


def number_rules() -> dict[str, Rule]:
    """The rules for all operations on numbers, for one module."""
    numbers = _Numbers()
    return dict.fromkeys((*_INSTRUCTIONS, *_FUNCTIONS, *OF_TRUTH, *OF_INTEGERS), numbers)
