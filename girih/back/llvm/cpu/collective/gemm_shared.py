"""Products in functions of their own, one for all that are alike: for kernels with many products.

Alike are products of the same types whose sizes, strides and factors are the same constants; what is known only at run
time is a parameter.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from girih.back.llvm.cpu.collective import gemm
from girih.back.llvm.cpu.collective.gemm_product import Product
from girih.back.llvm.cpu.collective.panels import ATTRIBUTES
from girih.back.llvm.cpu.machine.capture import rewritten
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.text import Val
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import MemoryFrame
from girih.ir.core import Function
from girih.ops.tile.linalg import Gemm

_MANY = 8
"""Kernels with more products than these are not made longer by each of them."""


@lru_cache(maxsize=4)
def has_many(function: Function) -> bool:
    """Whether the products of a kernel are worth functions of their own."""
    return sum(isinstance(op, Gemm) for op in function.walk()) > _MANY


def multiply(code: CpuCode, product: Product) -> None:
    """Call the function of a product, written if it is not there."""
    parameters: dict[str, Val] = {}

    def parameter(held: Val) -> Val:
        if held.text[0] != "%":
            return held
        return parameters.setdefault(held.text, Val(f"%p{len(parameters)}", held.type))

    p = product
    values = (p.a, p.b, p.target, p.end.alpha, p.end.beta)
    a, b, target, alpha, beta = rewritten(values, parameter)
    names = [replace(view, name="") for view in (a, b, target)]
    alike = repr((*names, alpha, beta, p.end.overwrite, p.end.atomic, p.end.local, p.e.compute))
    known = code.products.get(alike)
    if known is None:
        name = f"girih.gemm.{len(code.products)}"
        listed = "".join(f", {held}" for held in parameters.values())
        w = Writer(code.module, f"define internal void @{name}(ptr noalias %workspace{listed}) {ATTRIBUTES}")
        e, frame = replace(p.e, w=w), MemoryFrame()
        end = replace(p.end, elements=e, alpha=alpha, beta=beta)
        gemm.multiply(Product(e, end, a, b, target, frame, Val("%workspace", "ptr")))
        w.ret()
        w.finish()
        known = code.products[alike] = (name, frame.most)
    name, bytes = known
    piece = code.take(bytes)
    code.w.run(name, piece, *(Val(text, held.type) for text, held in parameters.items()))
