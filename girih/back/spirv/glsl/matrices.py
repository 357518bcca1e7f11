"""Matrices, tensor layouts and views in GLSL (GL_KHR_cooperative_matrix, and 001, GL_NV_cooperative_matrix2).

A matrix that is loaded, or that a function of each element gives, is a variable which that function fills. A layout is
a variable whose numbers are set one after the other; a slice of it stands where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.memory import MemoryKind
from girih.back.spirv.code.nodes import ShaderCode, ShaderNode, ShaderRoutine
from girih.back.spirv.code.types import LAYOUT, MATRIX, VIEW, matrix_words
from girih.back.spirv.glsl.expression import PRIMARY, PRODUCT, SUM, UNARY, Expression, called, composed
from girih.back.spirv.glsl.function import WrittenFunction
from girih.back.spirv.glsl.memory import accessed_type, index, memory_of, touches
from girih.back.spirv.glsl.module import GlslModule
from girih.back.spirv.glsl.nodes import Effect, Expressed
from girih.back.spirv.glsl.together import SCOPED, SCOPES
from girih.back.spirv.glsl.types import SIGNED, as_type, with_sign, word
from girih.back.spirv.glsl.uses import nodes_of
from girih.back.spirv.matrix.operations import BLOCK, layout_words, view_words
from girih.diagnostics import CompileError, Diagnostic, InternalError
from girih.facts.findings import NOT_ON_TARGET

MATRICES, SECOND = "GL_KHR_cooperative_matrix", "GL_NV_cooperative_matrix2"

_USES = {"matrix_a": "gl_MatrixUseA", "matrix_b": "gl_MatrixUseB", "matrix_acc": "gl_MatrixUseAccumulator"}
_LAYOUT = "gl_CooperativeMatrixLayout"
_ORDERS = {"row": f"{_LAYOUT}RowMajor", "column": f"{_LAYOUT}ColumnMajor"}
# SPV_ARM_cooperative_matrix_layouts has no extension of GLSL of its own: glslang 16 knows the words with KHR's.
_BLOCKED = {"row": f"{_LAYOUT}RowBlockedInterleavedARM", "column": f"{_LAYOUT}ColumnBlockedInterleavedARM"}
_MODES = ("Undefined", "Constant", "ClampToEdge", "Repeat", "MirrorRepeat")
"""The clamp modes by their numbers (001)."""


# --- types ---------------------------------------------------------------------------------------


def type_of(module: GlslModule, type: str) -> str:
    """The type of GLSL for a type of shader code, with a note of the extensions that it needs."""
    match type.partition(" ")[0]:
        case kind if kind == MATRIX:
            return _matrix(module, type)
        case kind if kind == LAYOUT:
            module.need(SECOND)
            words = layout_words(type)
            return f"tensorLayoutNV<{words.dim}{_mode(words.clamp_mode)}>"
        case kind if kind == VIEW:
            module.need(SECOND)
            view = view_words(type)
            listed = (str(view.dim), str(view.has_dimensions).lower(), *map(str, view.permutation))
            return f"tensorViewNV<{', '.join(listed)}>"
        case kind if kind == BLOCK:
            return module.memory.block(type)
        case _:
            return word(type)


def refuse_matrices(code: ShaderCode) -> None:
    """Raise `CompileError` for matrices whose components glslang takes for none."""
    for node in (node for block in code.blocks() for node in nodes_of(block)):
        for value in (*node.operands, *([] if node.result is None else [node.result])):
            if value.type.startswith((f"{MATRIX} i64 ", f"{MATRIX} double ")):
                message = f"GLSL has no cooperative matrices of {'i64' if 'i64' in value.type else 'f64'}"
                raise CompileError(
                    [Diagnostic(NOT_ON_TARGET, message, node.span, hint="`--as spirv` writes the module")]
                )


def _matrix(module: GlslModule, type: str) -> str:
    words = matrix_words(type)
    component = module.type(word(words.component))
    module.need(MATRICES, SCOPED, *([SECOND] if words.scope == "work_group" else []))
    return f"coopmat<{component}, {SCOPES[words.scope]}, {words.rows}, {words.columns}, {_USES[words.use]}>"


def _mode(number: int) -> str:
    """The clamp mode as a further argument; nothing for the one that is meant where none is said."""
    return f", gl_CooperativeMatrixClampMode{_MODES[number]}NV" if number else ""


def _result(node: ShaderNode) -> Val:
    if node.result is None:
        raise InternalError(f"the instruction `{node.op}` of shader code has no result")
    return node.result


def _result_type(function: WrittenFunction, node: ShaderNode) -> str:
    return type_of(function.module, _result(node).type)


def _variable(function: WrittenFunction, value: Val, first: Expression | None = None) -> str:
    """The name of a variable for a value, which has `first` at the beginning; a new one unless a branch gives it."""
    type, name = type_of(function.module, value.type), function.filled.get(value.text, "")
    if name:
        function.bind(value, name, type)
        if first is not None:
            function.line(f"{name} = {first.text};")
        return name
    name = function.name(value)
    function.line(f"{type} {name};" if first is None else f"{type} {name} = {first.text};")
    function.bind(value, name, type)
    return name


# --- components ----------------------------------------------------------------------------------


def _constructed(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    """A matrix of one number, or one with other components or another use."""
    type = _result_type(function, node)
    if node.op == "matrix_convert":
        if node.details[0] not in _BY_CONSTRUCTOR:
            raise InternalError(f"GLSL has no form for the conversion `{node.details[0]}` of matrices")
        source, target = matrix_words(node.operands[0].type), matrix_words(_result(node).type)
        function.module.need(*([SECOND] if source.use != target.use else []))
    return called(type, type, operands[0])


_BY_CONSTRUCTOR = frozenset({"trunc", "sext", "sitofp", "fptosi", "fptrunc", "fpext", "use"})
"""The conversions that a constructor makes: components of GLSL's matrices have a sign, as those of the language."""


def _product(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    signed, saturating = node.details
    whole = word(matrix_words(node.operands[0].type).component) not in SIGNED.values()
    if not whole and signed != frozenset({"a", "b", "c", "result"}):
        raise InternalError("integers of matrices have a sign in GLSL")
    mode = [Expression("gl_MatrixOperandsSaturatingAccumulation", "int")] if saturating else []
    return called("coopMatMulAdd", _result_type(function, node), *operands, *mode)


_OPERATORS = {
    "add": ("+", SUM), "fadd": ("+", SUM), "sub": ("-", SUM), "fsub": ("-", SUM), "mul": ("*", PRODUCT),
    "fmul": ("*", PRODUCT), "sdiv": ("/", PRODUCT), "fdiv": ("/", PRODUCT),
}  # fmt: skip


def _arithmetic(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    """Arithmetic on two matrices, or on a matrix and a number."""
    operation = str(node.details[0])
    if operation not in _OPERATORS:
        raise InternalError(f"GLSL has no form for the operation `{operation}` on matrices")
    operator, precedence = _OPERATORS[operation]
    left, right = operands[0].within(precedence), operands[1].within(precedence - 1)
    made = composed(f"{left} {operator} {right}", _result_type(function, node), precedence, operands)
    return replace(made, sides=(left, operator, right))


def _negated(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    return composed(f"-{operands[0].within(PRIMARY)}", _result_type(function, node), UNARY, operands)


def _length(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    return composed(f"{_named(function, node.operands[0], operands[0])}.length()", "int", PRIMARY, operands)


def _component(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    text = f"{_named(function, node.operands[0], operands[0])}[{operands[1].text}]"
    return composed(text, word(_result(node).type), PRIMARY, operands)


def _named(function: WrittenFunction, value: Val, one: Expression) -> str:
    """The name of a matrix, which is a variable from here on."""
    return one.text if one.text.isidentifier() else function.declare(value, one).text


def _insert(function: WrittenFunction, node: ShaderNode) -> None:
    component, matrix, number = function.operands(node)
    name = _variable(function, _result(node), matrix)
    function.line(f"{name}[{number.text}] = {component.text};")


# --- memory --------------------------------------------------------------------------------------


def _place(function: WrittenFunction, node: ShaderNode, place: Expression) -> str:
    """The array and the number of the element that a matrix is accessed from, as arguments."""
    memory, type = memory_of(node), function.module.type(accessed_type(node))
    if memory is None:
        raise InternalError(f"the instruction `{node.op}` of shader code names no memory")
    if memory.kind is MemoryKind.ADDRESS:
        reference = function.module.memory.array_reference(type)
        return f"{reference}({as_type(place, 'uint64_t').text}).values, 0"
    return f"{function.module.memory.array(memory, type)}, {index(place).text}"


def _lines(node: ShaderNode, more: Sequence[Expression]) -> str:
    """The distance and the order of the lines of a matrix in memory, as arguments."""
    if node.op.endswith("_blocked"):
        return f"{node.details[3]}, {_BLOCKED[str(node.details[2])]}"
    return f"{more[0].text}, {_ORDERS[str(node.details[2])]}"


def _load(function: WrittenFunction, node: ShaderNode) -> None:
    place, *more = function.operands(node)
    if function.uses.count(_result(node)):
        where, lines = _place(function, node, place), _lines(node, more)
        function.line(f"coopMatLoad({_variable(function, _result(node))}, {where}, {lines});")


def _store(function: WrittenFunction, node: ShaderNode) -> None:
    matrix, place, *more = function.operands(node)
    matrix = function.kept(node.operands[0], matrix)
    where, lines = _place(function, node, place), _lines(node, more)
    _settle(function, node)
    function.line(f"coopMatStore({matrix.text}, {where}, {lines});")


def _settle(function: WrittenFunction, node: ShaderNode) -> None:
    memory = memory_of(node)
    function.settle(lambda other: memory is not None and touches(memory, other))


def _load_tensor(function: WrittenFunction, node: ShaderNode) -> None:
    needed, operands = function.uses.needed(node), function.operands(node)
    held = [function.kept(needed[0], operands.pop(0))] if len(needed) == len(node.operands) else [None]
    if not function.uses.count(_result(node)):
        return
    place, layout, *view = operands
    decoder = node.details[2]
    arguments = [_place(function, node, place), layout.text, *(one.text for one in view)]
    if isinstance(decoder, ShaderRoutine):
        arguments.append(function.module.routines[decoder])
    name = _variable(function, _result(node), *held)
    function.module.need(SECOND)
    function.line(f"coopMatLoadTensorNV({name}, {', '.join(arguments)});")


def _store_tensor(function: WrittenFunction, node: ShaderNode) -> None:
    matrix, place, layout, *view = function.operands(node)
    matrix = function.kept(node.operands[0], matrix)
    arguments = [matrix.text, _place(function, node, place), layout.text, *(one.text for one in view)]
    _settle(function, node)
    function.module.need(SECOND)
    function.line(f"coopMatStoreTensorNV({', '.join(arguments)});")


# --- functions of elements -----------------------------------------------------------------------

_ALONG = {"row": "Row", "column": "Column", "all": "RowAndColumn", "2x2": "2x2"}


def _reduce(function: WrittenFunction, node: ShaderNode) -> None:
    (matrix,) = _arguments(function, node)
    along, routine = str(node.details[0]), _routine(node, 1)
    name = _variable(function, _result(node))
    mask = f"gl_CooperativeMatrixReduce{_ALONG[along]}NV"
    function.line(f"coopMatReduceNV({name}, {matrix}, {mask}, {function.module.routines[routine]});")


def _per_element(function: WrittenFunction, node: ShaderNode) -> None:
    matrix, *more = _arguments(function, node)
    routine = _routine(node, 0)
    function.settle_all()
    name = _variable(function, _result(node))
    listed = ", ".join([name, matrix, function.module.routines[routine], *more])
    function.line(f"coopMatPerElementNV({listed});")


def _transpose(function: WrittenFunction, node: ShaderNode) -> None:
    (matrix,) = _arguments(function, node)
    function.line(f"coopMatTransposeNV({_variable(function, _result(node))}, {matrix});")


def _arguments(function: WrittenFunction, node: ShaderNode) -> list[str]:
    """The operands of a function of 001; integers have a sign."""
    function.module.need(SECOND)
    found = zip(node.operands, function.operands(node), strict=True)
    kept = [function.kept(value, one) for value, one in found]
    return [as_type(one, with_sign(one.type, "signed")).text for one in kept]


def _routine(node: ShaderNode, number: int) -> ShaderRoutine:
    routine = node.details[number]
    assert isinstance(routine, ShaderRoutine)
    return routine


# --- layouts and views ---------------------------------------------------------------------------


def _create(function: WrittenFunction, node: ShaderNode) -> None:
    """A layout or a view without numbers: it is written where it is used."""
    result = _result(node)
    type = type_of(function.module, result.type)
    if node.op == "layout_create":
        words = layout_words(result.type)
        arguments = f"{words.dim}{_mode(words.clamp_mode)}"
    else:
        arguments = type[type.index("<") + 1 : -1]
    name = "createTensorLayoutNV" if node.op == "layout_create" else "createTensorViewNV"
    function.stand_for(result, Expression(f"{name}({arguments})", type))


def _set(name: str) -> Effect:
    """A layout or a view with other numbers: the same variable, where nothing else asks for the old numbers."""

    def write(function: WrittenFunction, node: ShaderNode) -> None:
        result = _result(node)
        held, *numbers = (function.value(one) for one in node.operands)
        if not function.uses.count(result):
            return
        once = node.operands[0].text in function.uses.once
        if held.text.startswith("create"):
            changed = _variable(function, result, held)
        elif held.text.isidentifier() and once:
            changed = held.text
            function.bind(result, changed, held.type)
        else:
            function.give(result, called(name, held.type, held, *numbers))
            return
        listed = ", ".join([changed, *(one.text for one in numbers)])
        function.line(f"{changed} = {name}({listed});")

    return write


def _slice(function: WrittenFunction, node: ShaderNode, operands: Sequence[Expression]) -> Expression:
    return called("sliceTensorLayoutNV", operands[0].type, *operands)


# --- routines ------------------------------------------------------------------------------------


def parameters_of(function: WrittenFunction, routine: ShaderRoutine) -> list[str]:
    """The parameters of a function as its declaration lists them; the function knows their names from here on."""
    node = function.module.asked_by.get(routine)
    if node is not None and node.op == "matrix_load_tensor":
        return _decoded(function, routine, layout_words(node.operands[2].type).dim)
    listed = []
    for number, one in enumerate(routine.parameters):
        name, type = function.name(one), type_of(function.module, one.type)
        if node is not None and node.op == "matrix_per_element" and number < 2:
            type = "uint"
        function.bind(one, name, type)
        listed.append(f"{'const in ' if node is not None else ''}{function.module.type(type)} {name}")
    return listed


def _decoded(function: WrittenFunction, routine: ShaderRoutine, dim: int) -> list[str]:
    """The parameters of a function that decodes: the block, its number in each mode, the place in it in each mode."""
    block, *numbers = routine.parameters
    name, type = function.name(block), type_of(function.module, block.type)
    function.bind(block, name, type)
    listed = [f"const in {type} {name}"]
    for begin, wanted in ((0, "block_number"), (dim, "place_in_block")):
        array = function.names.take(wanted)
        listed.append(f"const in uint {array}[{dim}]")
        for position, one in enumerate(numbers[begin : begin + dim]):
            function.stand_for(one, Expression(f"{array}[{position}]", "uint"))
    return listed


MATRIX_EXPRESSIONS: Mapping[str, Expressed] = {
    "matrix_splat": _constructed,
    "matrix_convert": _constructed,
    "matrix_mul_add": _product,
    "matrix_negate": _negated,
    "matrix_binary": _arithmetic,
    "matrix_scale": _arithmetic,
    "matrix_length": _length,
    "matrix_extract": _component,
    "layout_slice": _slice,
}
"""The operations that are expressions."""

MATRIX_EFFECTS: Mapping[str, Effect] = {
    "matrix_load": _load,
    "matrix_load_blocked": _load,
    "matrix_store": _store,
    "matrix_store_blocked": _store,
    "matrix_load_tensor": _load_tensor,
    "matrix_store_tensor": _store_tensor,
    "matrix_insert": _insert,
    "matrix_reduce": _reduce,
    "matrix_per_element": _per_element,
    "matrix_transpose": _transpose,
    "layout_create": _create,
    "layout_set_block_size": _set("setTensorLayoutBlockSizeNV"),
    "layout_set_dimension": _set("setTensorLayoutDimensionNV"),
    "layout_set_stride": _set("setTensorLayoutStrideNV"),
    "layout_set_clamp_value": _set("setTensorLayoutClampValueNV"),
    "view_create": _create,
    "view_set_dimension": _set("setTensorViewDimensionsNV"),
    "view_set_stride": _set("setTensorViewStrideNV"),
    "view_set_clip": _set("setTensorViewClipNV"),
}
"""The operations that are statements."""
