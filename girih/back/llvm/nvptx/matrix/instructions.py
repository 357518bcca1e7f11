"""The instructions `mma` (PTX ISA "mma"), written as inline assembly.

LLVM has intrinsics for most of them, but not for f64 with a depth of 16, and one that its code generator does not know
ends the process; what assembly says is judged by `ptxas`. An `mma` has no effects but must be executed by all threads
of the warp together: so it is `convergent`, and reads and writes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from girih.back.llvm.emit.text import Val
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import BF16, F8E4M3, F8E5M2, F16, F32, F64, I8, I32, Number
from girih.lazy_dataclass import dataclass

_REGISTERS = {"i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d"}
"""The kinds of registers in inline assembly (LLVM "Supported Constraint Code List", NVPTX)."""


def register_kind(type: str) -> str:
    """The kind of register for values of a type in inline assembly."""
    return _REGISTERS[type]


_NUMBERS = {"i32": I32, "float": F32, "double": F64}


@dataclass(frozen=True, slots=True)
class MultiplyInstruction:
    """An instruction that adds the product of two fragments, of `rows` and 8 columns, to sums.

    A thread has of each row, and of each column, `pieces` registers of `neighbours` components along the depth, four
    threads all of them; of the sums it has two columns in `rows / 8` rows.
    """

    shape: str
    types: str
    rows: int
    pieces: int
    neighbours: int
    factor: str
    """The LLVM type of a register of a factor."""
    sums: str
    """The LLVM type of a sum."""
    since: tuple[int, int] = (8, 0)
    """The compute capability from which on devices have it."""

    @property
    def name(self) -> str:
        """The name in PTX."""
        return f"mma.sync.aligned.{self.shape}.row.col.{self.types}"

    @property
    def halves(self) -> int:
        """The rows that a thread has: one of each eight."""
        return self.rows // 8

    @property
    def total(self) -> Number:
        """The type of the sums."""
        return _NUMBERS[self.sums]


_EIGHT_BITS = {F8E4M3: "e4m3", F8E5M2: "e5m2"}
_NAMES = {F16: "f16", BF16: "bf16"}


def instructions_for(a: Number, b: Number, total: Number, capability: tuple[int, int]) -> list[MultiplyInstruction]:
    """The instructions for factors and sums of some types on devices of a capability, the deepest first."""
    return [one for one in _instructions(a, b, total) if capability >= one.since]


def _instructions(a: Number, b: Number, total: Number) -> Iterator[MultiplyInstruction]:
    if a == b and a in _NAMES and total == F32:
        name = _NAMES[a]
        yield MultiplyInstruction("m16n8k16", f"f32.{name}.{name}.f32", 16, 2, 2, "i32", "float")
    elif a == b == I8 and total.family == "integer":
        yield MultiplyInstruction("m16n8k32", "s32.s8.s8.s32", 16, 2, 4, "i32", "i32")
    elif a in _EIGHT_BITS and b in _EIGHT_BITS and total == F32:
        types = f"f32.{_EIGHT_BITS[a]}.{_EIGHT_BITS[b]}.f32"
        yield MultiplyInstruction("m16n8k32", types, 16, 2, 4, "i32", "float", (8, 9))
    elif a == b == total == F64:
        for depth in (16, 8, 4):
            yield MultiplyInstruction(
                f"m16n8k{depth}", "f64.f64.f64.f64", 16, depth // 4, 1, "double", "double", (9, 0)
            )
        yield MultiplyInstruction("m8n8k4", "f64.f64.f64.f64", 8, 1, 1, "double", "double")


TF32 = MultiplyInstruction("m16n8k8", "f32.tf32.tf32.f32", 16, 2, 1, "i32", "float")
"""The instruction for factors of f32 where a kernel permits that they are rounded to tf32."""


def multiplied(
    w: Writer, instruction: MultiplyInstruction, a: Sequence[Val], b: Sequence[Val], c: Sequence[Val]
) -> list[Val]:
    """The sums, in registers in the order of PTX as all operands are."""
    factor, sums = _REGISTERS[instruction.factor], _REGISTERS[instruction.sums]
    numbers = iter(range(len(c) + len(a) + len(b) + len(c)))
    lists = ", ".join(f"{{{', '.join(f'${next(numbers)}' for _ in some)}}}" for some in (c, a, b, c))
    constraints = [*[f"={sums}"] * len(c), *[factor] * (len(a) + len(b)), *[sums] * len(c)]
    return assembled(w, f"{instruction.name} {lists};", constraints, [one.type for one in c], (*a, *b, *c))


def rounded_to_tf32(w: Writer, a: Val) -> Val:
    """A `float` rounded to tf32, to nearest (PTX ISA "cvt"), as an i32."""
    return assembled(w, "cvt.rna.tf32.f32 $0, $1;", ("=r", "f"), ("i32",), (a,))[0]


def assembled(
    w: Writer,
    text: str,
    constraints: Sequence[str],
    types: Sequence[str],
    operands: Sequence[Val],
    kind: str = "",
) -> list[Val]:
    """The results, of some types, of inline assembly without effects that the threads of a warp execute together.

    `kind` may be `sideeffect `: it stays at its place then.
    """
    result = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
    listed = ", ".join(map(str, operands))
    effects = "nounwind" if kind else "convergent nounwind memory(none)"
    call = f'call {result} asm {kind}"{text}", "{",".join(constraints)}"({listed}) {effects}'
    held = w.effect(result, call)
    if len(types) == 1:
        return [held]
    return [w.field(held, number, type) for number, type in enumerate(types)]
