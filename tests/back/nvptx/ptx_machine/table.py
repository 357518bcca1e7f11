"""The instructions that the machine knows, by the first word of their opcode, and how they are made ready."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Step
from tests.back.nvptx.ptx_machine.errors import UnknownInstruction
from tests.back.nvptx.ptx_machine.instructions import (
    atomics,
    barriers,
    compare,
    control,
    convert,
    copies,
    floating,
    integers,
    loads,
    mbarriers,
    roles,
    warps,
)
from tests.back.nvptx.ptx_machine.layout import Layout
from tests.back.nvptx.ptx_machine.matrix import moves, products, warpgroups
from tests.back.nvptx.ptx_machine.syntax import Instruction, Negated

Builder = Callable[[Draft], Step]

_FLOATS = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2"}


def _by_type(of_integers: Builder, of_floats: Builder) -> Builder:
    """An opcode that integers and floats share: the last modifier says which it is."""
    return lambda draft: (of_floats if draft.modifiers and draft.modifiers[-1] in _FLOATS else of_integers)(draft)


TABLE: dict[str, Builder] = {
    "abs": _by_type(integers.simple(np.abs, 1, *integers.SIGNED_TYPES), floating.signs),
    "activemask": warps.active,
    "add": _by_type(integers.added, floating.arithmetic("add", 2)),
    "addc": integers.added,
    "and": compare.logical(np.bitwise_and),
    "atom": atomics.atomic,
    "bar": barriers.barrier,
    "barrier": barriers.barrier,
    "bfe": integers.extracted,
    "bfi": integers.inserted,
    "bfind": integers.highest,
    "bra": control.branch,
    "brev": integers.reversed_bits,
    "call": control.call,
    "clz": integers.counted,
    "cnot": compare.is_zero,
    "copysign": floating.signed_as,
    "cos": floating.approximation(np.cos),
    "cp": copies.copy,
    "cvt": convert.converted,
    "cvta": convert.address_space,
    "div": _by_type(integers.divided, floating.quotient),
    "dp4a": integers.dot_of_bytes,
    "elect": warps.elected,
    "ex2": floating.approximation(np.exp2),
    "exit": control.leave,
    "fence": control.fence,
    "fma": floating.arithmetic("fma", 3),
    "griddepcontrol": control.nothing,
    "isspacep": convert.is_space,
    "ld": loads.loaded,
    "ldmatrix": moves.loaded_matrix,
    "ldu": loads.loaded,
    "lg2": floating.approximation(np.log2),
    "lop3": integers.by_table,
    "mad": _by_type(integers.multiplied, floating.arithmetic("fma", 3)),
    "match": warps.match,
    "mapa": roles.mapped,
    "max": _by_type(integers.limited, floating.limits),
    "mbarrier": mbarriers.mbarrier,
    "membar": control.nothing,
    "min": _by_type(integers.limited, floating.limits),
    "mma": products.product,
    "mov": convert.moved,
    "movmatrix": moves.turned_matrix,
    "mul": _by_type(integers.multiplied, floating.arithmetic("mul", 2)),
    "nanosleep": control.nothing,
    "neg": _by_type(integers.simple(np.negative, 1, *integers.SIGNED_TYPES), floating.signs),
    "not": compare.logical(np.invert, np.invert),
    "or": compare.logical(np.bitwise_or),
    "popc": integers.counted,
    "prefetch": control.nothing,
    "prefetchu": control.nothing,
    "prmt": integers.permuted,
    "rcp": floating.reciprocal,
    "red": atomics.atomic,
    "redux": warps.reduction,
    "rem": integers.divided,
    "ret": control.back,
    "rsqrt": floating.approximation(floating.reciprocal_root),
    "selp": compare.selected,
    "set": compare.numbers_of_comparison,
    "setmaxnreg": roles.registers_moved,
    "setp": compare.predicates,
    "shf": integers.funnel,
    "shfl": warps.shuffle,
    "shl": integers.shifted,
    "shr": integers.shifted,
    "sin": floating.approximation(np.sin),
    "slct": compare.by_sign,
    "sqrt": floating.root,
    "st": loads.stored,
    "stmatrix": moves.stored_matrix,
    "sub": _by_type(integers.added, floating.arithmetic("sub", 2)),
    "subc": integers.added,
    "tanh": floating.approximation(np.tanh),
    "testp": floating.tested,
    "trap": control.trap,
    "vote": warps.vote,
    "wgmma": warpgroups.warpgroup,
    "xor": compare.logical(np.bitwise_xor),
}
"""How each instruction is made ready."""


def ready(instruction: Instruction, layout: Layout) -> Step:
    """An instruction ready to be executed. Raises `UnknownInstruction` for what the machine does not know."""
    draft = Draft.of(instruction, layout)
    build = TABLE.get(draft.name)
    if build is None:
        raise UnknownInstruction(f"{instruction.opcode}: the opcode is not known ({instruction.place})")
    step = build(draft)
    guard = instruction.guard
    if guard is not None:
        word = guard.of if isinstance(guard, Negated) else guard
        register = layout.register(instruction.scope, word.name)
        if register is None or register.type != "pred":
            raise draft.unknown(f"{word.name} is no predicate")
        step.guard, step.negated = register.slot, isinstance(guard, Negated)
    return step
