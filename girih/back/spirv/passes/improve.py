"""All passes in their order, and what the code needs in the end."""

from __future__ import annotations

from collections.abc import Mapping

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.memory import ShaderMemory
from girih.back.spirv.code.nodes import (
    BranchStatement,
    LoopStatement,
    RepeatStatement,
    ShaderCode,
    ShaderNode,
)
from girih.back.spirv.code.types import is_opaque
from girih.back.spirv.passes.accesses import with_direct_accesses
from girih.back.spirv.passes.dead import without_dead_code
from girih.back.spirv.passes.intervals import Interval
from girih.back.spirv.passes.narrow import narrowed
from girih.back.spirv.passes.rewriting import bodies, defined
from girih.back.spirv.passes.tidy import tidied


def improved(code: ShaderCode, members: Mapping[str, Interval], *, wide: bool) -> ShaderCode:
    """The code after all passes; `code` stays as it is.

    `members` has what is known of integer members, by their names: for narrow indices, sizes and strides are from 0 to
    2^28, arguments of type index from -2^28 to 2^28. Then grids are below 2^20 a mode, and buffers have less than 2^31
    bytes; for `wide` indices neither counts.
    """
    # Quotients that have no remainder go before the 64 bits that the numbers in them would need.
    code = without_dead_code(tidied(code, members, wide=wide))
    return without_dead_code(with_direct_accesses(narrowed(code, members, wide=wide)))


def scalar_types(code: ShaderCode) -> frozenset[str]:
    """The scalar types that code needs, such as `i64` and `half`: of values, members, accesses and memories.

    Components of matrices do not count, nor do places in memory (`ptr`).
    """
    found = {member.type for member in code.members} | {one.element for one in code.memories if one.element}
    for block, parameters, result in bodies(code):
        values: list[Val] = [*parameters, *(() if result is None else (result,))]
        for one in block.walk():
            values.extend(defined(one))
            match one:
                case ShaderNode():
                    values.extend(one.operands)
                    if one.details and isinstance(one.details[0], ShaderMemory):
                        found.add(str(one.details[1]))
                case BranchStatement() | RepeatStatement():
                    values.append(one.condition)
                case LoopStatement():
                    values += (one.start, one.stop, one.step)
        found.update(v.type for v in values)
    return frozenset(type for type in found if type != "ptr" and not is_opaque(type))
