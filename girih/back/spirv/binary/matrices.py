"""The operations of shader code on matrices, tensor layouts and views as instructions (KHR, 000, 001, 002).

What an instruction needs of capabilities and extensions is declared where it is written. Functions that 001 calls have
parameters of its own kind, unsigned and in arrays: each is a small function around the routine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val
from girih.back.spirv.binary.assembly import Assembly, enumerant
from girih.back.spirv.binary.statements import Rule, StatementWriter
from girih.back.spirv.code.memory import ShaderMemory
from girih.back.spirv.code.nodes import ShaderNode, ShaderRoutine
from girih.back.spirv.code.types import LAYOUT, MATRIX, VIEW, matrix_words, size_of
from girih.back.spirv.matrix.operations import BLOCK, block_words, layout_words, view_words

COOPERATIVE = "CooperativeMatrixKHR", "SPV_KHR_cooperative_matrix"
ADDRESSING = "TensorAddressingNV", "SPV_NV_tensor_addressing"
SECOND = "SPV_NV_cooperative_matrix2"
BLOCKED = "CooperativeMatrixLayoutsARM", "SPV_ARM_cooperative_matrix_layouts"
"""Capabilities and the extensions that have them."""

_USES = {"matrix_a": "MatrixAKHR", "matrix_b": "MatrixBKHR", "matrix_acc": "MatrixAccumulatorKHR"}
_SCOPES = {"subgroup": "Subgroup", "work_group": "Workgroup"}
_LAYOUTS = {"row": "RowMajorKHR", "column": "ColumnMajorKHR"}
_BLOCKED_LAYOUTS = {"row": "RowBlockedInterleavedARM", "column": "ColumnBlockedInterleavedARM"}
_COMPONENTS = {
    "bfloat": "BFloat16CooperativeMatrixKHR",
    "f8e4m3": "Float8CooperativeMatrixEXT",
    "f8e5m2": "Float8CooperativeMatrixEXT",
}
"""The capabilities that matrices of some components need."""


def _declare(a: Assembly, capability: str, extension: str) -> None:
    a.capability(capability)
    a.extension(extension)


class MatrixTypes:
    """Types by their words, those of matrices, layouts and views among them."""

    def __init__(self, a: Assembly) -> None:
        self._a = a

    def type(self, word: str) -> int:
        """The id of any type."""
        kind, _, more = word.partition(" ")
        if not more:
            return self._a.type(word)
        return {MATRIX: self._matrix, LAYOUT: self._layout, VIEW: self._view, BLOCK: self._block}[kind](word)

    def _matrix(self, word: str) -> int:
        a, type = self._a, matrix_words(word)
        _declare(a, *COOPERATIVE)
        if type.component in _COMPONENTS:
            a.capability(_COMPONENTS[type.component])
        if type.scope == "work_group":
            # Only 001 has matrices of a work-group.
            a.extension(SECOND)
        scope = a.index(enumerant("Scope", _SCOPES[type.scope]))
        use = a.index(enumerant("CooperativeMatrixUse", _USES[type.use]))
        numbers = scope, a.index(type.rows), a.index(type.columns), use
        return a.declare("OpTypeCooperativeMatrixKHR", a.type(type.component), *numbers)

    def _layout(self, word: str) -> int:
        a, type = self._a, layout_words(word)
        _declare(a, *ADDRESSING)
        return a.declare("OpTypeTensorLayoutNV", a.index(type.dim), a.index(type.clamp_mode))

    def _view(self, word: str) -> int:
        a, type = self._a, view_words(word)
        _declare(a, *ADDRESSING)
        has = a.declare_typed("OpConstantTrue" if type.has_dimensions else "OpConstantFalse", a.type("i1"))
        return a.declare("OpTypeTensorViewNV", a.index(type.dim), has, *map(a.index, type.permutation))

    def _block(self, word: str) -> int:
        """A pointer to a struct with one array: what a decode function gets is as large as that."""
        a, block = self._a, block_words(word)
        a.capability("PhysicalStorageBufferAddresses")
        # Narrow numbers that are only loaded take no arithmetic.
        width = 8 * size_of(block.element)
        element = a.declare("OpTypeInt", width, 1) if width < 32 else a.type(block.element)
        array = a.declare("OpTypeArray", element, a.index(block.count), key=(block, "array"))
        a.decorate(array, "ArrayStride", size_of(block.element))
        struct = a.declare("OpTypeStruct", array, key=(block, "block"))
        a.name(struct, f"block_{block.element}_{block.count}")
        a.name_member(struct, 0, "data")
        a.decorate(struct, "Block")
        a.decorate_member(struct, 0, "Offset", 0)
        return a.pointer_type("PhysicalStorageBuffer", struct)


# --- what the rules share ----------------------------------------------------------------------


def _result_type(s: StatementWriter, node: ShaderNode) -> int:
    assert node.result is not None
    return s.type(node.result.type)


def _ids(s: StatementWriter, values: Sequence[Val]) -> list[int]:
    return [s.a.id_of(one) for one in values]


def _memory_of(node: ShaderNode) -> tuple[ShaderMemory, str]:
    memory, type = node.details[0], node.details[1]
    assert isinstance(memory, ShaderMemory) and isinstance(type, str)
    return memory, type


def _routine(node: ShaderNode, number: int) -> ShaderRoutine:
    routine = node.details[number]
    assert isinstance(routine, ShaderRoutine)
    return routine


def _second(s: StatementWriter, capability: str) -> None:
    _declare(s.a, capability, SECOND)


# --- components --------------------------------------------------------------------------------


def splat(s: StatementWriter, node: ShaderNode) -> None:
    """A matrix of one number: a constant where the number is one."""
    (component,) = node.operands
    type = _result_type(s, node)
    if component.text.startswith("%"):
        s.a.result("OpCompositeConstruct", type, s.a.id_of(component), into=node.result)
        return
    assert node.result is not None
    s.a.stands_for(node.result, s.a.declare_typed("OpConstantComposite", type, s.a.id_of(component)))


def load(s: StatementWriter, node: ShaderNode) -> None:
    """A load of whole rows or columns."""
    memory, type = _memory_of(node)
    place, stride = node.operands
    pointer = s.memory.pointer(memory, type, place)
    layout = s.a.index(enumerant("CooperativeMatrixLayout", _LAYOUTS[str(node.details[2])]))
    words = pointer, layout, s.a.id_of(stride), *s.memory.operands(memory, type)
    s.a.result("OpCooperativeMatrixLoadKHR", _result_type(s, node), *words, into=node.result)


def store(s: StatementWriter, node: ShaderNode) -> None:
    """A store of whole rows or columns."""
    memory, type = _memory_of(node)
    matrix, place, stride = node.operands
    pointer = s.memory.pointer(memory, type, place)
    layout = s.a.index(enumerant("CooperativeMatrixLayout", _LAYOUTS[str(node.details[2])]))
    words = pointer, s.a.id_of(matrix), layout, s.a.id_of(stride), *s.memory.operands(memory, type)
    s.a.emit("OpCooperativeMatrixStoreKHR", *words)


def _interleaved(s: StatementWriter, node: ShaderNode) -> tuple[int, int]:
    """The layout of interleaved blocks, and the number of blocks that are interleaved."""
    _declare(s.a, *BLOCKED)
    order, blocks = node.details[2:4]
    assert isinstance(blocks, int)
    return s.a.index(enumerant("CooperativeMatrixLayout", _BLOCKED_LAYOUTS[str(order)])), s.a.index(blocks)


def load_blocked(s: StatementWriter, node: ShaderNode) -> None:
    """A load of interleaved blocks (002)."""
    memory, type = _memory_of(node)
    pointer = s.memory.pointer(memory, type, node.operands[0])
    words = pointer, *_interleaved(s, node), *s.memory.operands(memory, type)
    s.a.result("OpCooperativeMatrixLoadKHR", _result_type(s, node), *words, into=node.result)


def store_blocked(s: StatementWriter, node: ShaderNode) -> None:
    """A store of interleaved blocks (002)."""
    memory, type = _memory_of(node)
    matrix, place = node.operands
    pointer = s.memory.pointer(memory, type, place)
    words = pointer, s.a.id_of(matrix), *_interleaved(s, node), *s.memory.operands(memory, type)
    s.a.emit("OpCooperativeMatrixStoreKHR", *words)


_SIGNS = {
    "a": "MatrixASignedComponentsKHR",
    "b": "MatrixBSignedComponentsKHR",
    "c": "MatrixCSignedComponentsKHR",
    "result": "MatrixResultSignedComponentsKHR",
}


def mul_add(s: StatementWriter, node: ShaderNode) -> None:
    """A product and a sum."""
    signed, saturating = node.details
    assert isinstance(signed, frozenset)
    words = [word for name, word in _SIGNS.items() if name in signed]
    words += ["SaturatingAccumulationKHR"] * bool(saturating)
    mask = (enumerant("CooperativeMatrixOperands", "|".join(words)),) if words else ()
    operands = (*_ids(s, node.operands), *mask)
    s.a.result("OpCooperativeMatrixMulAddKHR", _result_type(s, node), *operands, into=node.result)


_ARITHMETIC = {
    "neg": "OpSNegate", "fneg": "OpFNegate", "add": "OpIAdd", "sub": "OpISub", "mul": "OpIMul", "sdiv": "OpSDiv",
    "udiv": "OpUDiv", "fadd": "OpFAdd", "fsub": "OpFSub", "fmul": "OpFMul", "fdiv": "OpFDiv",
}  # fmt: skip


def arithmetic(s: StatementWriter, node: ShaderNode) -> None:
    """Arithmetic of the components of one or two matrices."""
    operation = str(node.details[0])
    operands = _ids(s, node.operands)
    made = s.a.result(_ARITHMETIC[operation], _result_type(s, node), *operands, into=node.result)
    if node.exact and operation in ("fadd", "fsub", "fmul"):
        s.a.decorate(made, "NoContraction")


def scale(s: StatementWriter, node: ShaderNode) -> None:
    """A matrix times a component."""
    operands = _ids(s, node.operands)
    made = s.a.result("OpMatrixTimesScalar", _result_type(s, node), *operands, into=node.result)
    if node.exact and node.details[0] == "fmul":
        s.a.decorate(made, "NoContraction")


_CONVERSIONS = {
    "trunc": "OpSConvert", "zext": "OpUConvert", "sext": "OpSConvert", "sitofp": "OpConvertSToF",
    "uitofp": "OpConvertUToF", "fptosi": "OpConvertFToS", "fptoui": "OpConvertFToU", "fptrunc": "OpFConvert",
    "fpext": "OpFConvert", "bitcast": "OpBitcast", "use": "OpCooperativeMatrixConvertNV",
}  # fmt: skip


def convert(s: StatementWriter, node: ShaderNode) -> None:
    """A matrix with other components, or of another use."""
    (matrix,) = node.operands
    assert node.result is not None
    if matrix_words(matrix.type).use != matrix_words(node.result.type).use:
        _second(s, "CooperativeMatrixConversionsNV")
    name = _CONVERSIONS[str(node.details[0])]
    s.a.result(name, _result_type(s, node), s.a.id_of(matrix), into=node.result)


def length(s: StatementWriter, node: ShaderNode) -> None:
    """The number of components that the work-item holds."""
    unsigned = s.a.integer_type(32, signed=False)
    held = s.a.result("OpCooperativeMatrixLengthKHR", unsigned, s.type(node.operands[0].type))
    s.a.result("OpBitcast", s.a.type("i32"), held, into=node.result)


def _component_pointer(s: StatementWriter, variable: int, matrix: Val, number: Val) -> int:
    component = s.type(matrix_words(matrix.type).component)
    pointer = s.a.pointer_type("Function", component)
    return s.a.result("OpAccessChain", pointer, variable, s.a.id_of(number))


def extract(s: StatementWriter, node: ShaderNode) -> None:
    """A component that the work-item holds; of a number that is not known, through a variable."""
    matrix, number = node.operands
    type = _result_type(s, node)
    if number.literal is not None:
        s.a.result("OpCompositeExtract", type, s.a.id_of(matrix), number.literal, into=node.result)
        return
    variable = s.local(matrix.type)
    s.a.emit("OpStore", variable, s.a.id_of(matrix))
    s.a.result("OpLoad", type, _component_pointer(s, variable, matrix, number), into=node.result)


def insert(s: StatementWriter, node: ShaderNode) -> None:
    """A matrix with one of the components that the work-item holds replaced."""
    component, matrix, number = node.operands
    type = _result_type(s, node)
    if number.literal is not None:
        words = s.a.id_of(component), s.a.id_of(matrix), number.literal
        s.a.result("OpCompositeInsert", type, *words, into=node.result)
        return
    variable = s.local(matrix.type)
    s.a.emit("OpStore", variable, s.a.id_of(matrix))
    s.a.emit("OpStore", _component_pointer(s, variable, matrix, number), s.a.id_of(component))
    s.a.result("OpLoad", type, variable, into=node.result)


# --- 001 ---------------------------------------------------------------------------------------


def _addressed(s: StatementWriter, node: ShaderNode, more: Sequence[Val], decode: int | None) -> tuple[int, ...]:
    """The memory operands and the tensor addressing operands; `more` is a view, or nothing."""
    _second(s, "CooperativeMatrixTensorAddressingNV")
    _declare(s.a, *ADDRESSING)
    words = ["TensorView"] * bool(more) + ["DecodeFunc"] * (decode is not None)
    mask = enumerant("TensorAddressingOperands", "|".join(words) or "None")
    operands = s.memory.operands(*_memory_of(node)) or (0,)
    return (*operands, mask, *_ids(s, more), *(() if decode is None else (decode,)))


def load_tensor(s: StatementWriter, node: ShaderNode) -> None:
    """A load through a layout."""
    held, place, layout, *view = node.operands
    decode = None if node.details[2] is None else _decoder(s, node, layout)
    pointer = s.memory.pointer(*_memory_of(node), place)
    words = pointer, s.a.id_of(held), s.a.id_of(layout), *_addressed(s, node, view, decode)
    s.a.result("OpCooperativeMatrixLoadTensorNV", _result_type(s, node), *words, into=node.result)


def store_tensor(s: StatementWriter, node: ShaderNode) -> None:
    """A store through a layout."""
    matrix, place, layout, *view = node.operands
    pointer = s.memory.pointer(*_memory_of(node), place)
    words = pointer, s.a.id_of(matrix), s.a.id_of(layout), *_addressed(s, node, view, None)
    s.a.emit("OpCooperativeMatrixStoreTensorNV", *words)


_REDUCED = {"row": "Row", "column": "Column", "all": "Row|Column", "2x2": "2x2"}


def reduce(s: StatementWriter, node: ShaderNode) -> None:
    """A combination of components."""
    _second(s, "CooperativeMatrixReductionsNV")
    mask = enumerant("CooperativeMatrixReduce", _REDUCED[str(node.details[0])])
    words = s.a.id_of(node.operands[0]), mask, s.routine(_routine(node, 1))
    s.a.result("OpCooperativeMatrixReduceNV", _result_type(s, node), *words, into=node.result)


def per_element(s: StatementWriter, node: ShaderNode) -> None:
    """A function of each element."""
    _second(s, "CooperativeMatrixPerElementOperationsNV")
    matrix, *more = node.operands
    function = _around(s, _routine(node, 0), _placed)
    words = s.a.id_of(matrix), function, *_ids(s, more)
    s.a.result("OpCooperativeMatrixPerElementOpNV", _result_type(s, node), *words, into=node.result)


def transpose(s: StatementWriter, node: ShaderNode) -> None:
    """The transpose of an accumulator."""
    _second(s, "CooperativeMatrixConversionsNV")
    matrix = s.a.id_of(node.operands[0])
    s.a.result("OpCooperativeMatrixTransposeNV", _result_type(s, node), matrix, into=node.result)


# --- functions that 001 calls ------------------------------------------------------------------

_Parameters = Callable[[StatementWriter, ShaderRoutine], tuple[list[int], Callable[[list[int]], list[int]]]]
"""The types of a function's parameters, and from their ids those of the routine's, for which it may write code."""


def _around(s: StatementWriter, routine: ShaderRoutine, parameters: _Parameters) -> int:
    """A function with the parameters that 001 asks for, which calls a routine."""
    a = s.a
    called = s.routine(routine)
    assert routine.result is not None
    result = s.type(routine.result.type)
    types, arguments = parameters(s, routine)
    outer, a.function = a.function, []
    made = a.fresh()
    a.name(made, f"each_{routine.name}")
    a.emit("OpFunction", result, made, 0, a.declare("OpTypeFunction", result, *types))
    given = [a.result("OpFunctionParameter", type) for type in types]
    a.emit("OpLabel", a.fresh())
    held = a.result("OpFunctionCall", result, called, *arguments(given))
    a.emit("OpReturnValue", held)
    a.emit("OpFunctionEnd")
    a.functions += a.function
    a.function = outer
    return made


def _placed(s: StatementWriter, routine: ShaderRoutine) -> tuple[list[int], Callable[[list[int]], list[int]]]:
    """Row and column are unsigned, the rest is as in the routine."""
    unsigned, signed = s.a.integer_type(32, signed=False), s.a.type("i32")
    types = [unsigned, unsigned, *(s.type(one.type) for one in routine.parameters[2:])]

    def arguments(given: list[int]) -> list[int]:
        return [*(s.a.result("OpBitcast", signed, one) for one in given[:2]), *given[2:]]

    return types, arguments


def _decoder(s: StatementWriter, node: ShaderNode, layout: Val) -> int:
    """The decode function of a load: it gets a pointer to the block, and its coordinates as two arrays."""
    _second(s, "CooperativeMatrixBlockLoadsNV")
    dim = layout_words(layout.type).dim

    def parameters(s: StatementWriter, routine: ShaderRoutine) -> tuple[list[int], Callable[[list[int]], list[int]]]:
        a = s.a
        unsigned, signed = a.integer_type(32, signed=False), a.type("i32")
        array = a.declare("OpTypeArray", unsigned, a.index(dim))
        types = [s.type(routine.parameters[0].type), array, array]

        def arguments(given: list[int]) -> list[int]:
            found, arrays = given[:1], given[1:]
            for one in arrays:
                for position in range(dim):
                    number = a.result("OpCompositeExtract", unsigned, one, position)
                    found.append(a.result("OpBitcast", signed, number))
            return found

        return types, arguments

    return _around(s, _routine(node, 2), parameters)


# --- layouts and views -------------------------------------------------------------------------


def _tensor(name: str) -> Rule:
    """The rule of an instruction whose operands are those of the operation."""

    def write(s: StatementWriter, node: ShaderNode) -> None:
        _declare(s.a, *ADDRESSING)
        s.a.result(name, _result_type(s, node), *_ids(s, node.operands), into=node.result)

    return write


MATRIX_RULES: dict[str, Rule] = {
    "matrix_splat": splat,
    "matrix_load": load,
    "matrix_store": store,
    "matrix_load_blocked": load_blocked,
    "matrix_store_blocked": store_blocked,
    "matrix_mul_add": mul_add,
    "matrix_negate": arithmetic,
    "matrix_binary": arithmetic,
    "matrix_scale": scale,
    "matrix_convert": convert,
    "matrix_length": length,
    "matrix_extract": extract,
    "matrix_insert": insert,
    "matrix_load_tensor": load_tensor,
    "matrix_store_tensor": store_tensor,
    "matrix_reduce": reduce,
    "matrix_per_element": per_element,
    "matrix_transpose": transpose,
    "layout_create": _tensor("OpCreateTensorLayoutNV"),
    "layout_set_block_size": _tensor("OpTensorLayoutSetBlockSizeNV"),
    "layout_set_dimension": _tensor("OpTensorLayoutSetDimensionNV"),
    "layout_set_stride": _tensor("OpTensorLayoutSetStrideNV"),
    "layout_slice": _tensor("OpTensorLayoutSliceNV"),
    "layout_set_clamp_value": _tensor("OpTensorLayoutSetClampValueNV"),
    "view_create": _tensor("OpCreateTensorViewNV"),
    "view_set_dimension": _tensor("OpTensorViewSetDimensionNV"),
    "view_set_stride": _tensor("OpTensorViewSetStrideNV"),
    "view_set_clip": _tensor("OpTensorViewSetClipNV"),
}
"""How each operation of `girih.back.spirv.matrix.operations` is written."""
