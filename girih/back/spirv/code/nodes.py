"""Shader code: a tree of typed instructions with structured control flow, in which every value is written once.

A `ShaderBlock` is a list of statements: `ShaderNode`, an instruction; `BranchStatement`, `LoopStatement` and
`RepeatStatement`, which have blocks; `LeaveStatement`, the end of the shader for a work-item. Values are
`girih.back.llvm.emit.text.Val`: constants say themselves (`integer`, `floating`), others are named by their text, such
as `%v12`, which is defined once, in a block around every use.

The operations of nodes (with the meaning that LLVM gives to these names; operands are such that nothing is undefined):

    add sub mul sdiv udiv srem urem and or xor shl lshr ashr      integers; and, or, xor: i1 too
    fadd fsub fmul fdiv frem fneg                                 floats
    eq ne slt sle sgt sge ult ule ugt uge                         integers to i1; eq and ne of i1, too
    oeq one olt ole ogt oge une uno ord                           floats to i1
    select                                                        i1, two of a type
    trunc zext sext sitofp uitofp fptosi fptoui fptrunc fpext     conversions to the type of the result; zext, sext,
    bitcast                                                       sitofp, uitofp of i1, too
    fma sqrt fabs floor truncate rint                             functions of floats; fma is the device's own
    fmax fmin                                                     of two floats, a number before NaN
    exp exp2                                                      the device's own, of f32: within 3 + 2 |x| ulp
    umin umax smin smax ctpop ctlz cttz bitreverse umulh          functions of integers; umulh is the high word of an
                                                                  unsigned product
    call        details (ShaderRoutine,)
    load        details (ShaderMemory, type)      operands (element,), or (address,) of ADDRESS
    store       details (ShaderMemory, type)      operands (value, element or address)
    atomic      details (ShaderMemory, type, operation, scope, ordering); operands (element or address, values...)
                operations: load store add smin smax umin umax and or xor exchange compare_exchange (expected, new) fadd
                scopes: subgroup work_group device; orderings: "" acquire release acq_rel seq_cst
    member      details (name,)             a member of the push constants or of the parameter buffer
    built_in    details (name, axis)        i32: work_group_id, num_work_groups (axis 0 to 2), subgroup_id and
                                            subgroup_local_id (axis 0)
    barrier     details (scope,)            of execution and memory; scope work_group or subgroup
    fence       details (scope, ordering)
    shuffle     operands (value, lane)      the value that a lane of the subgroup has; all come
    broadcast   operands (value, lane)      the same, where the lane is one for all
    vote        details (any or all,)       operands (i1,)
    group       details (operation, kind)   operands (value,); operations add smin smax fadd fmin fmax, kinds reduce
                                            inclusive exclusive

Operations on matrices, layouts and views stand in `girih.back.spirv.matrix.operations`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.memory import ShaderMemory
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span


@dataclass(eq=False, slots=True)
class ShaderNode:
    """An instruction; `result` is None where it gives nothing. `exact` forbids to compute it together with others."""

    op: str
    operands: tuple[Val, ...]
    result: Val | None = None
    details: tuple[object, ...] = ()
    span: Span = NOWHERE
    exact: bool = True


@dataclass(eq=False, slots=True)
class ShaderBlock:
    """Statements in order."""

    statements: list[Statement] = field(default_factory=list)

    def walk(self) -> Iterator[Statement]:
        """All statements, outer before inner, in order."""
        for one in self.statements:
            yield one
            for inner in blocks_of(one):
                yield from inner.walk()


@dataclass(eq=False, slots=True)
class BranchStatement:
    """One of two blocks; each result is a value, what it is after `then`, and what after `otherwise`."""

    condition: Val
    then: ShaderBlock = field(default_factory=ShaderBlock)
    otherwise: ShaderBlock = field(default_factory=ShaderBlock)
    results: list[tuple[Val, Val, Val]] = field(default_factory=list)
    span: Span = NOWHERE


@dataclass(eq=False, slots=True)
class CarriedValue:
    """A value that goes from one iteration to the next; after the loop it is what the last iteration left."""

    value: Val
    initial: Val
    following: Val


@dataclass(eq=False, slots=True)
class LoopStatement:
    """Iterations for `index` = start, start + step, ... below stop (signed); the step is positive.

    If the sum may be more than the largest number, `wraps`, the loop ends there.
    """

    index: Val
    start: Val
    stop: Val
    step: Val
    carried: list[CarriedValue] = field(default_factory=list)
    body: ShaderBlock = field(default_factory=ShaderBlock)
    wraps: bool = True
    span: Span = NOWHERE


@dataclass(eq=False, slots=True)
class RepeatStatement:
    """Iterations while a condition holds, which the block `head` computes from the carried values."""

    carried: list[CarriedValue] = field(default_factory=list)
    head: ShaderBlock = field(default_factory=ShaderBlock)
    condition: Val = field(default_factory=lambda: Val("true", "i1"))
    body: ShaderBlock = field(default_factory=ShaderBlock)
    span: Span = NOWHERE


@dataclass(eq=False, slots=True)
class LeaveStatement:
    """The end of the shader for the work-item; the last statement of its block."""

    span: Span = NOWHERE


Statement = ShaderNode | BranchStatement | LoopStatement | RepeatStatement | LeaveStatement


def blocks_of(one: Statement) -> tuple[ShaderBlock, ...]:
    """The blocks of a statement, in the order in which they are executed."""
    match one:
        case BranchStatement():
            return one.then, one.otherwise
        case LoopStatement():
            return (one.body,)
        case RepeatStatement():
            return one.head, one.body
        case _:
            return ()


@dataclass(eq=False, slots=True)
class ShaderRoutine:
    """A function of its own: it sees its parameters and constants.

    Matrix instructions call those of decode and combine regions and the like; `call` the others. `result` is None where
    it returns nothing. What SPIR-V and GLSL ask of the parameters of such a function is the writers' matter.
    """

    name: str
    parameters: list[Val]
    body: ShaderBlock = field(default_factory=ShaderBlock)
    result: Val | None = None


@dataclass(eq=False, slots=True)
class ShaderMember:
    """A member of the push constants: its name and type, i32, i64, float or double."""

    name: str
    type: str
    offset: int


@dataclass(eq=False, slots=True)
class ShaderCode:
    """A shader: what it declares, its routines in the order of their making, and its body.

    `local_size` is the number of work-items of a work-group. `parameters_at` is the binding of the buffer that has the
    members, None where they are push constants. `names` are words for values, for readers: of `%v3` perhaps `alpha`.
    """

    name: str
    local_size: int
    subgroup_size: int
    memories: list[ShaderMemory] = field(default_factory=list)
    members: list[ShaderMember] = field(default_factory=list)
    parameters_at: int | None = None
    routines: list[ShaderRoutine] = field(default_factory=list)
    body: ShaderBlock = field(default_factory=ShaderBlock)
    names: dict[str, str] = field(default_factory=dict)

    def blocks(self) -> Iterator[ShaderBlock]:
        """The bodies of the routines in order, then the shader's own."""
        for one in self.routines:
            yield one.body
        yield self.body
