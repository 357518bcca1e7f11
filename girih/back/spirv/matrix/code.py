"""What the lowerings of matrices ask of the code of a shader, and the words of matrix types.

A matrix of the device is one value of shader code; layouts and views are the numbers that `lower.tensor_layout` keeps,
and become values of shader code where something is accessed through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.spirv.code.nodes import ShaderRoutine
from girih.back.spirv.code.recorder import Recorder
from girih.back.spirv.code.types import MatrixWords
from girih.back.spirv.matrix.choice import NO_MATRICES, MatrixChoice
from girih.back.spirv.matrix.multiples import Multiples
from girih.back.spirv.profiles.profile import Profile
from girih.ir.core import Op, Value
from girih.ir.types import BF16, F8E4M3, F8E5M2, F16, F32, F64, CoopMatrix, Number
from girih.lazy_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class MatrixCode(OneLaneCode):
    """The code of a work-item on a device that may have matrices."""

    recorder: Recorder
    """The writer again, by its own type."""
    profile: Profile
    device_subgroup: int
    """The size of the device's subgroups, a multiple of the kernel's."""
    multiples: Multiples
    """What the numbers and places of the kernel are known to be multiples of."""
    matrices: MatrixChoice = NO_MATRICES
    """Which matrices of the kernel are the device's."""

    def node(self, op: str, operands: Sequence[Val], type: str, details: tuple[object, ...] = ()) -> Val:
        """The result, of a type, of an instruction of shader code that reads no memory."""
        return self.recorder.computed(op, operands, type, details)

    def routine(
        self, name: str, parameters: Sequence[tuple[str, str]], body: Callable[[tuple[Val, ...]], Val]
    ) -> ShaderRoutine:
        """A routine of its own; `parameters` are names and types, `body` records it and gives what it returns.

        What is recorded in it sees its parameters and constants only.
        """

        def named(*given: Val) -> Val:
            for value, (word, _) in zip(given, parameters, strict=True):
                self.recorder.named(value, word)
            return body(given)

        return self.recorder.function(name, [type for _, type in parameters], named)


_WORDS: dict[Number, str] = {
    F16: "half", BF16: "bfloat", F32: "float", F64: "double", F8E4M3: "f8e4m3", F8E5M2: "f8e5m2",
}  # fmt: skip


def component_word(type: Number) -> str:
    """The word of a component type."""
    return _WORDS.get(type) or f"i{8 * type.size}"


def matrix_word(type: CoopMatrix) -> str:
    """The word of a matrix type."""
    return str(MatrixWords(component_word(type.component), *type.shape, type.use.value, type.scope.value))


def matrix_type_of(value: Value) -> CoopMatrix:
    """The type of a matrix value. Raises `TypeError` for another one."""
    if not isinstance(value.type, CoopMatrix):
        raise TypeError(f"%{value.name} is no matrix")
    return value.type


def matrix_of(code: MatrixCode, value: Value) -> Val:
    """The value of shader code that a matrix is."""
    held: Val = code.env[value]
    return held


def together(code: MatrixCode, op: Op) -> None:
    """The beginning of every instruction on matrices: those who hold them meet it together."""
    types = (value.type for value in (*op.operands, *op.results))
    code.met_by_all(op, work_group=any(isinstance(type, CoopMatrix) and type.of_work_group for type in types))


def component_of(code: MatrixCode, type: Number, part: Val) -> Val:
    """A number from a register as a component, which it is exactly."""
    word = component_word(type)
    if word == part.type:
        return part
    if word in ("half", "bfloat") and not part.text.startswith("%"):
        return Val(part.text, word)
    return code.node("bitcast" if part.type.startswith("i") else "fptrunc", (part,), word)


def register_of(code: MatrixCode, type: Number, component: Val) -> Val:
    """A component as a number in a register; the inverse of `component_of`."""
    if type in (F16, BF16):
        return code.node("fpext", (component,), "float")
    return code.node("bitcast", (component,), "i8") if type in (F8E4M3, F8E5M2) else component


def bits_of(code: MatrixCode, component: Val, word: str) -> Val:
    """A component as it is in memory that is seen as elements of a type."""
    return component if component.type == word else code.node("bitcast", (component,), word)


def component_from(code: MatrixCode, type: Number, bits: Val) -> Val:
    """A component from what is in memory; the inverse of `bits_of`."""
    word = component_word(type)
    return bits if bits.type == word else code.node("bitcast", (bits,), word)


Call = Callable[[Val, Val, Val, tuple[Val, ...]], Val]
"""The body of a function of each element: row, column, the component, what comes with it; the new component."""


def per_element(code: MatrixCode, name: str, matrix: Val, more: Sequence[tuple[str, Val]], call: Call) -> Val:
    """A matrix whose components a routine computes; `more` are further operands with names, matrices or scalars."""
    component = matrix.type.split(" ")[1]
    types = [(word, component if value.type == matrix.type else value.type) for word, value in more]
    parameters = [("row", "i32"), ("column", "i32"), ("component", component), *types]
    routine = code.routine(name, parameters, lambda given: call(given[0], given[1], given[2], given[3:]))
    return code.node("matrix_per_element", (matrix, *(value for _, value in more)), matrix.type, (routine,))
