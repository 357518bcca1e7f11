"""Types of a module as values, and the table that finds the type of an id (SPIR-V 2.2.2, 3.42.6).

Types are compared by identity: a table makes one object for each id, and SPIR-V holds two ids of non-aggregate types
to be different types only where they are declared differently. What a constant tells, such as the length of an array,
is a number where the constant has a value, and None where it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from girih.diagnostics import plural
from girih.lazy_dataclass import dataclass
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction

Value = int | float | bool | tuple["Value | None", ...]
"""The value of a constant: composites are tuples; a component that is not known is None."""

ValueOf = Callable[[int], "Value | None"]


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """A type; `id` is that of its declaration."""

    id: int

    def __str__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        """The type in words."""
        return type(self).__name__.removesuffix("Type").lower()

    @property
    def brief(self) -> str:
        """The type in words, without what a type of types is composed of: its length does not grow with the nesting."""
        return self.words


class Void(Type):
    """OpTypeVoid."""


class Bool(Type):
    """OpTypeBool."""


@dataclass(frozen=True, slots=True, eq=False)
class Int(Type):
    """OpTypeInt: `width` in bits."""

    width: int
    signed: bool

    @property
    def words(self) -> str:
        return f"{self.width}-bit {'signed' if self.signed else 'unsigned'} integer"


@dataclass(frozen=True, slots=True, eq=False)
class Float(Type):
    """OpTypeFloat: `width` in bits; `encoding` is an FPEncoding, None for IEEE 754."""

    width: int
    encoding: int | None = None

    @property
    def words(self) -> str:
        named = "" if self.encoding is None else f" {grammar().kinds['FPEncoding'].name_of(self.encoding)}"
        return f"{self.width}-bit{named} float"


@dataclass(frozen=True, slots=True, eq=False)
class Vector(Type):
    """OpTypeVector, and a cooperative vector with its constant count; `count` is None where it is not known."""

    component: Type
    count: int | None
    cooperative: bool = False

    @property
    def brief(self) -> str:
        return self.words if isinstance(self.component, Int | Float | Bool) else "vector"

    @property
    def words(self) -> str:
        return f"vector of {number(self.count)} {self.component.brief}s"


@dataclass(frozen=True, slots=True, eq=False)
class Matrix(Type):
    """OpTypeMatrix."""

    column: Type
    count: int

    @property
    def brief(self) -> str:
        return self.words if isinstance(self.column, Vector) else "matrix"

    @property
    def words(self) -> str:
        return f"matrix of {self.count} columns, each a {self.column.brief}"


@dataclass(frozen=True, slots=True, eq=False)
class Array(Type):
    """OpTypeArray: `length_id` is the constant, `length` its value."""

    element: Type
    length_id: int
    length: int | None

    @property
    def brief(self) -> str:
        return "array"

    @property
    def words(self) -> str:
        return f"array of {number(self.length)} elements, each a {self.element.brief}"


@dataclass(frozen=True, slots=True, eq=False)
class RuntimeArray(Type):
    """OpTypeRuntimeArray."""

    element: Type

    @property
    def brief(self) -> str:
        return "runtime array"

    @property
    def words(self) -> str:
        return f"runtime array of elements, each a {self.element.brief}"


@dataclass(frozen=True, slots=True, eq=False)
class Struct(Type):
    """OpTypeStruct. A member that is not a type is None."""

    members: tuple[Type | None, ...]

    @property
    def brief(self) -> str:
        return "struct"

    @property
    def words(self) -> str:
        return f"struct of {plural(len(self.members), 'member')}"


@dataclass(frozen=True, slots=True, eq=False)
class Pointer(Type):
    """OpTypePointer: a StorageClass, and the id of the pointee, which may be declared later; 0 for an untyped one.

    `pointee` is its type where it is declared before the pointer.
    """

    storage: int
    pointee_id: int
    pointee: Type | None = None

    @property
    def storage_class(self) -> str:
        """The name of the storage class, such as `Workgroup`."""
        return grammar().kinds["StorageClass"].name_of(self.storage)

    @property
    def words(self) -> str:
        return self.brief if self.pointee is None else f"{self.brief} to {self.pointee.brief}"

    @property
    def brief(self) -> str:
        return f"{'pointer' if self.pointee_id else 'untyped pointer'} in {self.storage_class}"


@dataclass(frozen=True, slots=True, eq=False)
class FunctionType(Type):
    """OpTypeFunction."""

    returned: Type
    parameters: tuple[Type | None, ...]

    @property
    def words(self) -> str:
        return f"function of {plural(len(self.parameters), 'parameter')}"


@dataclass(frozen=True, slots=True, eq=False)
class CooperativeMatrix(Type):
    """OpTypeCooperativeMatrixKHR: scope, rows, columns and use are values of constants, None where not known.

    A matrix of SPV_NV_cooperative_matrix has no use: None, and 0 among the ids.
    """

    component: Type
    scope: int | None
    rows: int | None
    columns: int | None
    use: int | None
    ids: tuple[int, int, int, int]

    @property
    def words(self) -> str:
        use = "an unknown use" if self.use is None else grammar().kinds["CooperativeMatrixUse"].name_of(self.use)
        size = f"{number(self.rows)}x{number(self.columns)}"
        return f"cooperative matrix of {self.component.brief}s, {size}, {use}"


@dataclass(frozen=True, slots=True, eq=False)
class TensorLayout(Type):
    """OpTypeTensorLayoutNV (000): number of dimensions, and clamp mode."""

    dim: int | None
    clamp_mode: int | None
    ids: tuple[int, int]

    @property
    def words(self) -> str:
        mode = "?" if self.clamp_mode is None else grammar().kinds["TensorClampMode"].name_of(self.clamp_mode)
        return f"tensor layout of {number(self.dim)} dimensions, clamp mode {mode}"


@dataclass(frozen=True, slots=True, eq=False)
class TensorView(Type):
    """OpTypeTensorViewNV (000): number of dimensions, whether it has dimensions of its own, and the permutation."""

    dim: int | None
    has_dimensions: bool | None
    permutation: tuple[int | None, ...]
    ids: tuple[int, ...]

    @property
    def words(self) -> str:
        own = ", its own" if self.has_dimensions else ""
        return (
            f"tensor view of {number(self.dim)} dimensions{own}, in the order {' '.join(map(number, self.permutation))}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Type):
    """Any other type: images, samplers, events, ..., by the name of its instruction."""

    name: str
    instruction: Instruction

    @property
    def words(self) -> str:
        return self.name.removeprefix("OpType")


def number(value: int | None) -> str:
    """A number in words; `?` where it is not known."""
    return "?" if value is None else str(value)


class TypeTable:
    """The types of a module by id, made in the order of their declarations by `declare`.

    A type can only be composed of what is declared before it; a pointer has its pointee by id, since that may follow.
    """

    def __init__(self, value_of: ValueOf) -> None:
        self._value_of = value_of
        self._made: dict[int, Type] = {}

    def get(self, id: int) -> Type | None:
        """The type that an id declares; None where it declares none, or one that is composed of no types."""
        return self._made.get(id)

    def declare(self, instruction: Instruction) -> None:
        """Make the type that an instruction declares, if it declares one."""
        if instruction.malformed is None and instruction.result not in self._made:
            made = self._make(instruction)
            if made is not None:
                self._made[instruction.result] = made

    def _make(self, one: Instruction) -> Type | None:
        make = _MAKERS.get(one.name)
        if make is not None:
            return make(self, one)
        return Opaque(one.result, one.name, one) if one.name.startswith("OpType") and one.result else None

    def _integer(self, id: int) -> int | None:
        value = self._value_of(id)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _vector(self, one: Instruction) -> Type | None:
        component = self.get(one.id("component_type"))
        return component and Vector(one.result, component, one.id("component_count"))

    def _cooperative_vector(self, one: Instruction) -> Type | None:
        component = self.get(one.id("component_type"))
        return component and Vector(one.result, component, self._integer(one.id("component_count")), cooperative=True)

    def _matrix(self, one: Instruction) -> Type | None:
        column = self.get(one.id("column_type"))
        return column and Matrix(one.result, column, one.id("column_count"))

    def _array(self, one: Instruction) -> Type | None:
        element, length = self.get(one.id("element_type")), one.id("length")
        return element and Array(one.result, element, length, self._integer(length))

    def _runtime_array(self, one: Instruction) -> Type | None:
        element = self.get(one.id("element_type"))
        return element and RuntimeArray(one.result, element)

    def _struct(self, one: Instruction) -> Type | None:
        return Struct(one.result, tuple(self.get(id) for id in one.ids("members")))

    def _pointer(self, one: Instruction) -> Type | None:
        return Pointer(one.result, one.id("storage_class"), one.id("type"), self.get(one.id("type")))

    def _function(self, one: Instruction) -> Type | None:
        returned = self.get(one.id("return_type"))
        return returned and FunctionType(one.result, returned, tuple(self.get(id) for id in one.ids("parameters")))

    def _cooperative_matrix(self, one: Instruction) -> Type | None:
        component = self.get(one.id("component_type"))
        ids = (one.id("scope") or one.id("execution"), one.id("rows"), one.id("columns"), one.id("use"))
        scope, rows, columns, use = map(self._integer, ids)
        return component and CooperativeMatrix(one.result, component, scope, rows, columns, use, ids)

    def _tensor_layout(self, one: Instruction) -> Type | None:
        dim, clamp = one.id("dim"), one.id("clamp_mode")
        return TensorLayout(one.result, self._integer(dim), self._integer(clamp), (dim, clamp))

    def _tensor_view(self, one: Instruction) -> Type | None:
        dim, has, order = one.id("dim"), one.id("has_dimensions"), one.ids("p")
        own = self._value_of(has)
        return TensorView(
            one.result, self._integer(dim), own if isinstance(own, bool) else None,
            tuple(self._integer(id) for id in order), (dim, has, *order),
        )  # fmt: skip


_MAKERS: Mapping[str, Callable[[TypeTable, Instruction], Type | None]] = {
    "OpTypeVoid": lambda _, one: Void(one.result),
    "OpTypeBool": lambda _, one: Bool(one.result),
    "OpTypeInt": lambda _, one: Int(one.result, one.id("width"), bool(one.id("signedness"))),
    "OpTypeFloat": lambda _, one: Float(one.result, one.id("width"), _encoding(one)),
    "OpTypeVector": TypeTable._vector,
    "OpTypeCooperativeVectorNV": TypeTable._cooperative_vector,
    "OpTypeMatrix": TypeTable._matrix,
    "OpTypeArray": TypeTable._array,
    "OpTypeRuntimeArray": TypeTable._runtime_array,
    "OpTypeStruct": TypeTable._struct,
    "OpTypePointer": TypeTable._pointer,
    "OpTypeUntypedPointerKHR": TypeTable._pointer,
    "OpTypeFunction": TypeTable._function,
    "OpTypeCooperativeMatrixKHR": TypeTable._cooperative_matrix,
    "OpTypeCooperativeMatrixNV": TypeTable._cooperative_matrix,
    "OpTypeTensorLayoutNV": TypeTable._tensor_layout,
    "OpTypeTensorViewNV": TypeTable._tensor_view,
}


def _encoding(one: Instruction) -> int | None:
    value = one.get("floating_point_encoding")
    return value if isinstance(value, int) else None
