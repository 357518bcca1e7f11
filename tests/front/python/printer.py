"""From a function of the tensor language to a kernel in Python that is the same program.

Each value has a name of its own, each instruction a line of its own: nobody would write it so, but every instruction,
modifier and type gets its Python spelling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from girih.front.python.facts import (
    ArrayFacts,
    Facts,
    GroupFacts,
    KernelOptions,
    ScalarFacts,
    Specialisation,
    TensorMapFacts,
)
from girih.ir.core import Dictionary, Function, Op, Parameter, Region, Value
from girih.ir.types import Boolean, CoopMatrix, GroupType, MapMode, MemRef, TensorMapType, Type

INDENT = "    "


@dataclass(frozen=True)
class Kernel:
    """A kernel in Python: the text of a module with one function, and what it is to be specialised on."""

    name: str
    text: str
    specialisation: Specialisation


def python_of(function: Function) -> Kernel:
    """The kernel in Python that is the same program."""
    return _Printer(function).kernel()


Writer = Callable[["_Printer", Any], Iterable[str]]
WRITERS: dict[str, Writer] = {}


def writes(*mnemonics: str) -> Callable[[Writer], Writer]:
    """Enter a function as what writes the lines of some instructions."""

    def enter(writer: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(mnemonics, writer))
        return writer

    return enter


class _Printer:
    """The text of one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.names: dict[Value, str] = {}
        self.globals: list[str] = []
        self.made = 0
        self.yield_to: list[Sequence[str] | None] = [None]

    def kernel(self) -> Kernel:
        """The module's text, and the specialisation."""
        parameters = [f"{self.name(p.value)}: {_annotation(p.type)}" for p in self.function.parameters]
        facts = tuple((self.name(p.value), _facts(p)) for p in self.function.parameters)
        body = self.region(self.function.body)
        name = f"kernel_{self.function.name}"
        lines = [f"def {name}({', '.join(parameters)}) -> None:", *(INDENT + line for line in body)]
        head = ["import math", "from typing import Literal", "import girih.language as gl", *self.globals]
        return Kernel(name, "\n".join([*head, "", "", *lines, ""]), Specialisation(facts, _options(self.function)))

    def name(self, value: Value) -> str:
        """The Python name of a value, a new one where it has none."""
        if value not in self.names:
            self.names[value] = self.fresh("v")
        return self.names[value]

    def fresh(self, letter: str) -> str:
        """A name that is not taken; later ones come later in the alphabet."""
        self.made += 1
        return f"{letter}{self.made:05d}"

    def item(self, operand: Value | int) -> str:
        """An operand: a name or a literal."""
        return self.name(operand) if isinstance(operand, Value) else str(operand)

    def tuple(self, operands: Iterable[Value | int]) -> str:
        """A tuple of operands."""
        return _tuple(map(self.item, operands))

    def region(self, region: Region) -> list[str]:
        """The lines of a region."""
        return [line for op in region.ops for line in self.op(op)] or ["pass"]

    def op(self, op: Op) -> list[str]:
        """The lines of an instruction."""
        return list(WRITERS[op.spec.mnemonic](self, op))

    def literal(self, value: bool | int | float | complex) -> str:
        """A literal; one that Python cannot write is a global of the module."""
        if isinstance(value, float) and math.isfinite(value):
            return repr(value)
        if isinstance(value, bool | int):
            return repr(value)
        name = self.fresh("K")
        if isinstance(value, float):
            self.globals.append(f"{name} = {_float(value)}")
        else:
            self.globals.append(f"{name} = complex({_float(value.real)}, {_float(value.imag)})")
        return name

    def function_of(self, name: str, arguments: Iterable[str], region: Region) -> list[str]:
        """The lines of a function with the body of a region."""
        self.yield_to.append(())
        body = self.region(region)
        self.yield_to.pop()
        return [f"def {name}({', '.join(arguments)}):", *(INDENT + line for line in body)]


def _tuple(items: Iterable[str]) -> str:
    listed = list(items)
    return f"({listed[0]},)" if len(listed) == 1 else f"({', '.join(listed)})"


def _float(value: float) -> str:
    if math.isnan(value):
        return "-math.nan" if math.copysign(1.0, value) < 0 else "math.nan"
    return repr(value) if math.isfinite(value) else ("math.inf" if value > 0 else "-math.inf")


def word(type: Type) -> str:
    """The word for a scalar type."""
    return "gl.bool_" if isinstance(type, Boolean) else f"gl.{type}"


# --- parameters -------------------------------------------------------------------------------


def _annotation(type: Type) -> str:
    match type:
        case MemRef():
            name = {0: "Scalar", 1: "Vector", 2: "Matrix"}.get(type.order)
            element = word(type.element)
            return f"gl.{name}[{element}]" if name else f"gl.Array[{element}, Literal[{type.order}]]"
        case GroupType():
            return f"gl.Group[{_annotation(type.memref)}]"
        case TensorMapType():
            name = "TensorMap" if type.mode is MapMode.TILED else "Im2colMap"
            return f"gl.{name}[{word(type.element)}, Literal[{type.rank}]]"
        case _:
            return word(type)


def _facts(parameter: Parameter) -> Facts:
    alignment = parameter.attributes.get("alignment")
    match parameter.type:
        case MemRef() as memref:
            return _array_facts(memref, alignment)
        case GroupType() as group:
            return GroupFacts(_array_facts(group.memref, alignment), group.size, group.offset)
        case TensorMapType() as map:
            return TensorMapFacts(map.element.name, map.rank, map.mode.value)
        case type:
            return ScalarFacts(str(type))


def _array_facts(type: MemRef, alignment: object) -> ArrayFacts:
    promised = alignment if isinstance(alignment, int) else None
    return ArrayFacts(type.element.name, type.shape, type.strides, tuple(range(type.order)), promised)


def _options(function: Function) -> KernelOptions:
    allow = function.attributes.get("allow")
    hints = tuple(
        (e.key, tuple((hint.key, hint.value) for hint in e.value.entries))
        for e in function.attributes.entries
        if isinstance(e.value, Dictionary)
    )
    return KernelOptions(
        subgroup_size=function.subgroup_size,
        work_group_size=function.work_group_size,
        allow=tuple(map(str, allow)) if isinstance(allow, tuple) else (),
        hints=hints,
    )


# --- arithmetic -------------------------------------------------------------------------------

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "shl": "<<", "shr": ">>", "and": "&", "or": "|", "xor": "^",
    "equal": "==", "not_equal": "!=", "greater_than": ">", "greater_than_equal": ">=", "less_than": "<",
    "less_than_equal": "<=",
}  # fmt: skip
_TWO = {"div": "gl.div", "rem": "gl.rem", "max": "gl.maximum", "min": "gl.minimum", "pow": "gl.pow"}
_MATH = (
    "cos", "sin", "exp", "exp2", "log", "log2", "native_cos", "native_sin", "native_exp", "native_exp2", "native_log",
    "native_log2", "sqrt", "rsqrt", "tanh", "erf",
)  # fmt: skip
_ONE = {"abs": "abs({})", "neg": "-{}", "not": "~{}", "conj": "gl.conj({})", "im": "gl.imag({})", "re": "gl.real({})"}


def _set(printer: _Printer, op: Any, text: str) -> list[str]:
    return [f"{printer.name(op.result)} = {text}"]


@writes(*_OPERATORS)
def _operator(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"{p.name(op.a)} {_OPERATORS[op.spec.mnemonic]} {p.name(op.b)}")


@writes(*_TWO)
def _of_two(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"{_TWO[op.spec.mnemonic]}({p.name(op.a)}, {p.name(op.b)})")


@writes(*_ONE)
def _of_one(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, _ONE[op.spec.mnemonic].format(p.name(op.a)))


@writes(*_MATH)
def _math(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.{op.spec.mnemonic}({p.name(op.a)})")


@writes("fma")
def _fma(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.fma({p.name(op.a)}, {p.name(op.b)}, {p.name(op.c)})")


@writes("cast")
def _cast(p: _Printer, op: Any) -> list[str]:
    type = op.result.type
    if isinstance(type, CoopMatrix):
        return _set(p, op, f'gl.cast({p.name(op.a)}, {word(type.component)}, use="{type.use.value}")')
    return _set(p, op, f"gl.cast({p.name(op.a)}, {word(type)})")


@writes("bitcast")
def _bitcast(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.bitcast({p.name(op.a)}, {word(op.result.type)})")


@writes("select")
def _select(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.where({p.name(op.condition)}, {p.name(op.a)}, {p.name(op.b)})")


def _like(type: CoopMatrix) -> str:
    return f'use="{type.use.value}", scope="{type.scope.value}"'


@writes("constant")
def _constant(p: _Printer, op: Any) -> list[str]:
    type, literal = op.result.type, p.literal(op.value)
    if isinstance(type, CoopMatrix):
        return _set(p, op, f"gl.full({type.shape}, {literal}, {word(type.component)}, {_like(type)})")
    return _set(p, op, f"{word(type)}({literal})")


@writes("cooperative_matrix_construct")
def _construct(p: _Printer, op: Any) -> list[str]:
    type = op.result.type
    return _set(p, op, f"gl.full({type.shape}, {p.name(op.a)}, {word(type.component)}, {_like(type)})")


@writes("group_id", "num_groups", "num_subgroups", "subgroup_id")
def _along_an_axis(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.{op.spec.mnemonic}({op.axis})")


@writes("subgroup_size", "subgroup_linear_id", "subgroup_local_id")
def _of_the_subgroup(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.{op.spec.mnemonic}()")


@writes("subgroup_broadcast")
def _broadcast(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.subgroup_broadcast({p.name(op.a)}, {p.name(op.lane)})")


@writes(*(f"subgroup_{how}_{what}" for how in ("exclusive_scan", "inclusive_scan", "reduce")
          for what in ("add", "max", "min")))  # fmt: skip
def _subgroup(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.{op.spec.mnemonic}({p.name(op.a)})")


# --- loops and branches -----------------------------------------------------------------------


def _indented(lines: Iterable[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _bounds(p: _Printer, op: Any) -> str:
    return ", ".join(f"({p.name(a)}, {p.name(b)})" for a, b in zip(op.start, op.stop, strict=True))


@writes("foreach")
def _foreach(p: _Printer, op: Any) -> list[str]:
    names = ", ".join(map(p.name, op.variables))
    return [f"for {names} in gl.foreach({_bounds(p, op)}):", *_indented(p.region(op.body))]


@writes("foreach_tile")
def _foreach_tile(p: _Printer, op: Any) -> list[str]:
    if len(op.variables) == 1:
        target = f"{p.name(op.variables[0])}, {p.name(op.sizes[0])}"
    else:
        target = f"({', '.join(map(p.name, op.variables))}), ({', '.join(map(p.name, op.sizes))})"
    head = f"for {target} in gl.foreach_tile({_bounds(p, op)}, tile={_tuple(map(str, op.tile_shape))}):"
    return [head, *_indented(p.region(op.body))]


@writes("parallel")
def _parallel(p: _Printer, op: Any) -> list[str]:
    return ["with gl.parallel():", *_indented(p.region(op.body))]


@writes("for")
def _for(p: _Printer, op: Any) -> Iterable[str]:
    names = [p.fresh("r") for _ in op.results]
    for name, value in zip(names, op.initial, strict=True):
        yield f"{name} = {p.name(value)}"
    bounds = [p.name(op.start), p.name(op.stop), *([p.name(op.step)] if op.step is not None else [])]
    hints = [f"{entry.key}={entry.value!r}" for entry in op.hints.entries if not entry.quoted]
    what = "gl.range" if hints else "range"
    yield f"for {p.name(op.variable)} in {what}({', '.join([*bounds, *hints])}):"
    for name, value in zip(names, op.carried, strict=True):
        yield f"{INDENT}{p.name(value)} = {name}"
    p.yield_to.append(names)
    yield from _indented(p.region(op.body))
    p.yield_to.pop()
    for name, value in zip(names, op.results, strict=True):
        yield f"{p.name(value)} = {name}"


@writes("if")
def _if(p: _Printer, op: Any) -> Iterable[str]:
    names = [p.fresh("r") for _ in op.results]
    p.yield_to.append(names)
    yield f"if {p.name(op.condition)}:"
    yield from _indented(p.region(op.then))
    if op.otherwise is not None:
        yield "else:"
        yield from _indented(p.region(op.otherwise))
    p.yield_to.pop()
    for name, value in zip(names, op.results, strict=True):
        yield f"{p.name(value)} = {name}"


@writes("yield")
def _yield(p: _Printer, op: Any) -> Iterable[str]:
    names = p.yield_to[-1]
    if names == ():
        yield f"return {p.name(op.values[0])}"
    elif names:
        yield f"{', '.join(names)} = {', '.join(map(p.name, op.values))}"


@writes("barrier")
def _barrier(p: _Printer, op: Any) -> list[str]:
    fences = [name for name, fence in (("global", op.global_fence), ("local", op.local_fence)) if fence]
    return [f"gl.barrier({', '.join(map(repr, fences))})"]


@writes("print")
def _print(p: _Printer, op: Any) -> list[str]:
    return [f"print({', '.join([repr(op.text), *map(p.name, op.values)])})"]


# --- memory -----------------------------------------------------------------------------------


@writes("alloca")
def _alloca(p: _Printer, op: Any) -> list[str]:
    type = op.result.type
    arguments = [_tuple(map(str, type.shape)), word(type.element), 'order="F"']
    if type.strides != MemRef.packed(type.element, type.shape).strides:
        arguments.append(f"strides={_tuple(map(str, type.strides))}")
    alignment = op.attributes.get("alignment")
    if alignment is not None:
        arguments.append(f"alignment={alignment}")
    return _set(p, op, f"gl.local({', '.join(arguments)})")


@writes("lifetime_stop")
def _lifetime_stop(p: _Printer, op: Any) -> list[str]:
    return [f"gl.lifetime_stop({p.name(op.memory)})"]


def _place(p: _Printer, indices: Sequence[Value | int]) -> str:
    return ", ".join(map(p.item, indices)) or "()"


@writes("load")
def _load(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"{p.name(op.tensor)}[{_place(p, op.indices)}]")


@writes("store")
def _store(p: _Printer, op: Any) -> list[str]:
    return [f"{p.name(op.tensor)}[{_place(p, op.indices)}] = {p.name(op.value)}"]


def _order(op: Any) -> list[str]:
    return [f'scope="{op.scope.value}"', f'semantics="{op.semantics.value}"']


@writes("atomic_load")
def _atomic_load(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.atomic_load({', '.join([p.name(op.tensor), p.tuple(op.indices), *_order(op)])})")


@writes("atomic_store")
def _atomic_store(p: _Printer, op: Any) -> list[str]:
    return [f"gl.atomic_store({', '.join([p.name(op.tensor), p.tuple(op.indices), p.name(op.value), *_order(op)])})"]


@writes("atomic_add", "atomic_max", "atomic_min")
def _atomic_update(p: _Printer, op: Any) -> list[str]:
    arguments = [p.name(op.tensor), p.tuple(op.indices), p.name(op.value), *_order(op)]
    return _set(p, op, f"gl.{op.spec.mnemonic}({', '.join(arguments)})")


@writes("associated")
def _associated(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.associated({p.name(op.tensor)})")


@writes("size")
def _size(p: _Printer, op: Any) -> list[str]:
    if isinstance(op.tensor.type, GroupType):
        return _set(p, op, f"len({p.name(op.tensor)})")
    size = op.tensor.type.shape[op.mode]
    text = f"{p.name(op.tensor)}.shape[{op.mode}]"
    return _set(p, op, text if size is None else f"gl.index({text})")


@writes("subview")
def _subview(p: _Printer, op: Any) -> list[str]:
    offsets = p.tuple(part.offset for part in op.slices)
    sizes = _tuple("None" if part.drops_mode else p.item(part.size) for part in op.slices)
    return _set(p, op, f"gl.subview({p.name(op.tensor)}, {offsets}, {sizes})")


@writes("expand")
def _expand(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f'gl.expand({p.name(op.tensor)}, {op.mode}, {p.tuple(op.sizes)}, order="F")')


@writes("fuse")
def _fuse(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f'gl.fuse({p.name(op.tensor)}, {op.first}, {op.last}, order="F")')


# --- matrices ---------------------------------------------------------------------------------


def _tile(p: _Printer, op: Any, rows: int, columns: int) -> str:
    """The slice of memory that an access to a tile goes to."""
    row, column, memory = p.name(op.row), p.name(op.column), p.name(op.memory)
    if getattr(op, "transpose", False):
        return f"{memory}.T[{column} : {column} + {rows}, {row} : {row} + {columns}]"
    return f"{memory}[{row} : {row} + {rows}, {column} : {column} + {columns}]"


_CHECKED = {"none": None, "rows_checked": "rows", "cols_checked": "columns", "both_checked": "both"}


def _checks(op: Any) -> list[str]:
    checked = _CHECKED[op.checked.value]
    return [f'checked="{checked}"'] if checked else []


@writes("cooperative_matrix_load")
def _matrix_load(p: _Printer, op: Any) -> list[str]:
    type = op.result.type
    return _set(p, op, f"gl.load({', '.join([_tile(p, op, *type.shape), _like(type), *_checks(op)])})")


@writes("cooperative_matrix_store")
def _matrix_store(p: _Printer, op: Any) -> list[str]:
    tile = _tile(p, op, *op.matrix.type.shape)
    return [f"gl.store({', '.join([p.name(op.matrix), tile, *_checks(op)])})"]


def _turned(p: _Printer, op: Any) -> list[str]:
    """The memory and place of an atomic access to a tile."""
    if op.transpose:
        return [f"{p.name(op.memory)}.T", p.tuple((op.column, op.row))]
    return [p.name(op.memory), p.tuple((op.row, op.column))]


@writes("cooperative_matrix_atomic_load")
def _matrix_atomic_load(p: _Printer, op: Any) -> list[str]:
    type = op.result.type
    arguments = [*_turned(p, op), *_order(op), f"shape={type.shape}", f'use="{type.use.value}"', *_checks(op)]
    return _set(p, op, f"gl.atomic_load({', '.join(arguments)})")


@writes("cooperative_matrix_atomic_store")
def _matrix_atomic_store(p: _Printer, op: Any) -> list[str]:
    return [f"gl.atomic_store({', '.join([*_turned(p, op), p.name(op.matrix), *_order(op), *_checks(op)])})"]


@writes("cooperative_matrix_atomic_add", "cooperative_matrix_atomic_max", "cooperative_matrix_atomic_min")
def _matrix_atomic_update(p: _Printer, op: Any) -> list[str]:
    arguments = [*_turned(p, op), p.name(op.matrix), *_order(op), *_checks(op)]
    return _set(p, op, f"gl.{op.spec.mnemonic.removeprefix('cooperative_matrix_')}({', '.join(arguments)})")


@writes("cooperative_matrix_prefetch")
def _prefetch(p: _Printer, op: Any) -> list[str]:
    return [f"gl.prefetch({_tile(p, op, op.rows, op.columns)}, {op.level})"]


@writes("cooperative_matrix_extract")
def _extract(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.extract({p.name(op.matrix)}, {op.index})")


@writes("cooperative_matrix_insert")
def _insert(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.insert({p.name(op.a)}, {p.name(op.matrix)}, {op.index})")


@writes("cooperative_matrix_mul_add")
def _mul_add(p: _Printer, op: Any) -> list[str]:
    if op.result.type == op.c.type:
        return _set(p, op, f"{p.name(op.c)} + {p.name(op.a)} @ {p.name(op.b)}")
    dtype = word(op.result.type.component)
    return _set(p, op, f"gl.dot({p.name(op.a)}, {p.name(op.b)}, {p.name(op.c)}, dtype={dtype})")


@writes("cooperative_matrix_scale")
def _scale(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"{p.name(op.a)} * {p.name(op.matrix)}")


_REDUCED = {"add": "sum", "max": "max", "min": "min"}


@writes("cooperative_matrix_reduce_add", "cooperative_matrix_reduce_max", "cooperative_matrix_reduce_min")
def _reduce(p: _Printer, op: Any) -> list[str]:
    what = _REDUCED[op.spec.mnemonic.rpartition("_")[2]]
    return _set(p, op, f"gl.{what}({p.name(op.a)}, axis={int(op.along_row)})")


@writes("cooperative_matrix_transpose")
def _transpose(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"gl.transpose({p.name(op.matrix)}, {word(op.result.type.component)})")


@writes("cooperative_matrix_apply")
def _apply(p: _Printer, op: Any) -> list[str]:
    name = p.fresh("f")
    arguments = map(p.name, (op.row, op.column, *op.elements))
    made = p.function_of(name, arguments, op.body)
    return [*made, *_set(p, op, f"gl.apply({', '.join([name, *map(p.name, op.matrices)])}, index=True)")]


@writes("cooperative_matrix_combine")
def _combine(p: _Printer, op: Any) -> list[str]:
    name, along = p.fresh("f"), op.along.value
    made = p.function_of(name, map(p.name, (op.left, op.right)), op.body)
    if along == "2x2":
        return [*made, *_set(p, op, f"gl.combine_2x2({name}, {p.name(op.matrix)})")]
    axis = {"row": 1, "column": 0, "all": None}[along]
    text = f"gl.combine({name}, {p.name(op.matrix)}, axis={axis}, shape={op.result.type.shape})"
    return [*made, *_set(p, op, text)]


@writes("cooperative_matrix_load_tensor")
def _load_tensor(p: _Printer, op: Any) -> list[str]:
    made: list[str] = []
    arguments = [p.name(op.init), p.name(op.memory), p.name(op.layout)]
    arguments += [p.name(op.view)] if op.view is not None else []
    arguments.append(f"offset={p.name(op.offset)}")
    if op.body is not None:
        name = p.fresh("f")
        made = p.function_of(name, map(p.name, (op.block, *op.coordinates)), op.body)
        shape = _tuple(map(str, op.block_type.shape))
        arguments += [f"decode={name}", f"block_dtype={word(op.block_type.element)}", f"block_shape={shape}"]
    return [*made, *_set(p, op, f"gl.load_tensor({', '.join(arguments)})")]


@writes("cooperative_matrix_store_tensor")
def _store_tensor(p: _Printer, op: Any) -> list[str]:
    arguments = [p.name(op.matrix), p.name(op.memory), p.name(op.layout)]
    arguments += [p.name(op.view)] if op.view is not None else []
    return [f"gl.store_tensor({', '.join([*arguments, f'offset={p.name(op.offset)}'])})"]


def _block_order(op: Any) -> str:
    return f'order="{op.order.value.partition("_")[0]}"'


@writes("cooperative_matrix_load_blocked_interleaved")
def _load_blocked(p: _Printer, op: Any) -> list[str]:
    type = op.result.type
    arguments = [p.name(op.memory), str(op.stride), str(type.shape), _block_order(op), f"offset={p.name(op.offset)}"]
    return _set(p, op, f"gl.load_blocked_interleaved({', '.join(arguments)}, {_like(type)})")


@writes("cooperative_matrix_store_blocked_interleaved")
def _store_blocked(p: _Printer, op: Any) -> list[str]:
    arguments = [p.name(op.matrix), p.name(op.memory), str(op.stride), _block_order(op), f"offset={p.name(op.offset)}"]
    return [f"gl.store_blocked_interleaved({', '.join(arguments)})"]


# --- tensor layouts, views and maps -----------------------------------------------------------


@writes("tensor_layout_create")
def _layout(p: _Printer, op: Any) -> list[str]:
    type = op.result.type
    return _set(p, op, f'gl.tensor_layout({type.dim}, "{type.clamp_mode.value}")')


@writes("tensor_view_create")
def _view(p: _Printer, op: Any) -> list[str]:
    type = op.result.type
    return _set(p, op, f"gl.tensor_view({type.dim}, {type.has_dimensions}, {_tuple(map(str, type.permutation))})")


_SETTERS = ("tensor_layout_set_block_size", "tensor_layout_set_dimension", "tensor_layout_set_stride",
            "tensor_view_set_dimension", "tensor_view_set_stride")  # fmt: skip


@writes(*_SETTERS)
def _numbers(p: _Printer, op: Any) -> list[str]:
    target = getattr(op, "layout", None) or op.view
    method = op.spec.mnemonic.partition("_set_")[2]
    return _set(p, op, f"{p.name(target)}.set_{method}({', '.join(map(p.item, op.numbers))})")


@writes("tensor_layout_slice", "tensor_view_set_clip")
def _slices(p: _Printer, op: Any) -> list[str]:
    slices = ", ".join(p.tuple((part.offset, part.size)) for part in op.slices)
    if op.spec.mnemonic == "tensor_layout_slice":
        return _set(p, op, f"{p.name(op.layout)}.slice({slices})")
    return _set(p, op, f"{p.name(op.view)}.set_clip({slices})")


@writes("tensor_layout_set_clamp_value")
def _clamp_value(p: _Printer, op: Any) -> list[str]:
    return _set(p, op, f"{p.name(op.layout)}.set_clamp_value({p.name(op.value)})")


def _mode(op: Any) -> str:
    return f'mode="{op.mode.value}"'


@writes("tensor_copy_load")
def _copy_load(p: _Printer, op: Any) -> list[str]:
    return [f"gl.tensor_copy_load({p.name(op.map)}, {p.tuple(op.coordinates)}, {p.name(op.local)}, {_mode(op)})"]


@writes("tensor_copy_load_im2col")
def _copy_load_im2col(p: _Printer, op: Any) -> list[str]:
    arguments = [p.name(op.map), p.tuple(op.coordinates), p.name(op.local), f"offsets={p.tuple(op.offsets)}"]
    return [f"gl.tensor_copy_load({', '.join(arguments)})"]


@writes("tensor_copy_store")
def _copy_store(p: _Printer, op: Any) -> list[str]:
    return [f"gl.tensor_copy_store({p.name(op.local)}, {p.name(op.map)}, {p.tuple(op.coordinates)}, {_mode(op)})"]


@writes("tensor_copy_reduce")
def _copy_reduce(p: _Printer, op: Any) -> list[str]:
    arguments = [f'"{op.reduction.value}"', p.name(op.local), p.name(op.map), p.tuple(op.coordinates), _mode(op)]
    return [f"gl.tensor_copy_reduce({', '.join(arguments)})"]


# --- collective linear algebra ----------------------------------------------------------------


def _transposed(p: _Printer, value: Value, is_transposed: bool) -> str:
    turned = is_transposed and isinstance(value.type, MemRef) and value.type.order == 2
    return p.name(value) + (".T" if turned else "")


@writes("axpby", "sum", "cumsum", "gemm", "gemv", "ger", "hadamard")
def _collective(p: _Printer, op: Any) -> list[str]:
    arguments = [p.name(op.alpha)]
    arguments.append(_transposed(p, op.a, getattr(op, "transpose", getattr(op, "transpose_a", False))))
    if op.spec.mnemonic == "cumsum":
        arguments += [str(op.mode), p.name(op.beta), p.name(op.b)]
    elif op.spec.mnemonic in ("axpby", "sum"):
        arguments += [p.name(op.beta), p.name(op.b)]
    else:
        arguments.append(_transposed(p, op.b, getattr(op, "transpose_b", False)))
        arguments += [p.name(op.beta), p.name(op.c)]
    atomic = [f"atomic={op.atomic}"] if op.atomic else []
    return [f"gl.{op.spec.mnemonic}({', '.join([*arguments, *atomic])})"]
