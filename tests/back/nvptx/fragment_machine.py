"""Fragments on the one-lane machine: all of `nvptx/matrix` is executed here, but for the instruction `mma` itself.

What `mma` computes is written here once more, from the tables of the PTX ISA (`fragment_tables`): each thread puts its
registers into memory, waits, and adds up the products of the components that it holds of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, bits, integer, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import KernelGeometry, geometry_of
from girih.back.llvm.numbers import casts
from girih.back.llvm.numbers.rounding import from_memory
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.instructions import MultiplyInstruction
from girih.back.llvm.nvptx.matrix.table import with_matrices
from girih.facts.remarks import Remarks
from girih.ir.core import Function
from girih.ir.limits import DEFAULT_LIMITS
from girih.ir.types import BF16, EIGHT_BIT_FLOATS, F8E4M3, F8E5M2, F16, F32, F64, I8, I32, Number
from tests.back.harness import HOST
from tests.back.nvptx.fragment_tables import FRAGMENT_TABLES
from tests.back.one_lane.launch import OneLaneKernel
from tests.back.one_lane.machine import BUT_MATRICES, CoroutineCode, Lowered, lower_as

WARP = 32
_TYPES = {"bf16": BF16, "f16": F16, "s8": I8, "e4m3": F8E4M3, "e5m2": F8E5M2, "f64": F64, "tf32": F32}
_ROOM = 64
"""More registers than the factors of an instruction have."""

CAPABILITY = (9, 0)


class FragmentMachineCode(CoroutineCode, FragmentCode):
    """The code of a thread whose `mma` is a routine."""

    __slots__ = ()

    @property
    def capability(self) -> tuple[int, int]:
        return CAPABILITY

    def here(self, a: Val) -> Val:
        return a

    def as_tf32(self, a: Val) -> Val:
        """Rounded to 10 bits of the fraction, halves away from zero (PTX ISA "cvt", `.rna`)."""
        w = self.w
        rounded = w.add(w.convert("bitcast", a, "i32"), integer(1 << 12, "i32"))
        return w.binary("and", rounded, integer(-1 << 13, "i32"))

    def multiplied(
        self, instruction: MultiplyInstruction, a: Sequence[Val], b: Sequence[Val], c: Sequence[Val]
    ) -> list[Val]:
        w = self.w
        base = self.shared("i64", _ROOM * WARP * self.geometry.subgroups)
        base = w.at(base, w.mul(self.subgroup, 8 * _ROOM * WARP))
        for number, register in enumerate((*a, *b)):
            place = w.add(w.convert("zext", self.lane, "i64"), number * WARP)
            w.store(register, w.at(base, w.mul(place, 8)), 8)
        self._wait(work_group=False)
        found = []
        for index, start in enumerate(c):
            name = f"{instruction.name}.{index}"
            if name not in self.module.helpers:
                self.module.helpers.add(name)
                _write_sum(self, name, instruction, index)
            found.append(w.effect(start.type, f'call {start.type} @"{name}"({base}, {self.lane}, {start})'))
        self._wait(work_group=False)
        return found


def _write_sum(code: CoroutineCode, name: str, instruction: MultiplyInstruction, index: int) -> None:
    """A function that adds to a sum of a thread the products of what all threads have put into memory."""
    type = instruction.sums
    base, lane, total = Val("%base", "ptr"), Val("%lane", "i32"), Val("%total", type)
    w = Writer(code.module, f'define internal {type} @"{name}"({base}, {lane}, {total}) noinline nounwind')
    table = FRAGMENT_TABLES[instruction.shape, instruction.types]
    types = [_TYPES[word] for word in instruction.types.split(".")[1:3]]
    begin = table.counts[0] // instruction.neighbours
    for k in range(table.depth):
        numbers = []
        for first, number_type, (thread, component) in (
            (0, types[0], table.holder_of_a(w, lane, index, k)),
            (begin, types[1], table.holder_of_b(w, lane, index, k)),
        ):
            register = first + component // instruction.neighbours
            place = w.add(w.convert("zext", thread, "i64"), register * WARP)
            held = w.load(instruction.factor, w.at(base, w.mul(place, 8)), 8)
            numbers.append(_number(w, code, held, number_type, component % instruction.neighbours))
        product = w.binary("mul" if type == "i32" else "fmul", *numbers)
        total = w.binary("add" if type == "i32" else "fadd", total, product)
    w.ret(total)
    w.finish()


def _number(w: Writer, code: CoroutineCode, register: Val, type: Number, number: int) -> Val:
    """A component of a factor as a number in the type of the sums."""
    width = 8 * type.size
    held = register
    if bits(register.type) > width:
        held = w.extract(w.convert("bitcast", register, wide(f"i{width}", bits(register.type) // width)), number)
    elif type == F32:
        held = w.convert("bitcast", register, "float")
    one = from_memory(w, code.features, type, held)
    target = I32 if type == I8 else F32
    return casts.cast(w, code.features, type, target, (one,))[0] if type in (I8, *EIGHT_BIT_FLOATS) else one


class OldMachineCode(FragmentMachineCode):
    """The code for devices that have the least."""

    __slots__ = ()

    @property
    def capability(self) -> tuple[int, int]:
        return (8, 0)


class FragmentKernel(OneLaneKernel):
    """A kernel whose matrices are fragments, ready to be called. `remarks` say which are not, and why.

    In a `widened` one subgroups have the size of a warp, whatever the kernel asks for.
    """

    def __init__(
        self, function: Function, *, widened: bool = False, code: type[FragmentMachineCode] = FragmentMachineCode
    ) -> None:
        self.widened, self.code, self.remarks = widened, code, Remarks("cuda")
        super().__init__(function)

    def _lowered(self) -> Lowered:
        function, geometry = self.function, geometry_of(self.function, DEFAULT_LIMITS)
        if self.widened:
            rows, columns = geometry.work_group_size
            geometry = KernelGeometry((rows * WARP // geometry.subgroup_size, columns), WARP)
        lowerings, own = with_matrices(function, geometry, BUT_MATRICES, self.remarks)
        return lower_as(
            self.code,
            lowerings,
            own,
            function,
            HOST.features,
            checks=self.checks,
            geometry=geometry,
            remarks=self.remarks,
        )
