"""What is wrong with the explicit layout of a module's types, and with layouts where there may be none.

Vulkan demands a layout of all memory that something outside of the shader sees, and forbids one elsewhere. Without
Vulkan a block that is bound to a resource still needs offsets, strides and matrix layouts, and its members must not
overlap (SPIR-V 2.16.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList
from girih.spirv.model.memory.layout import Alignment, Layouts, MatrixLayout, Member, alignment_of_storage, layouts
from girih.spirv.model.parts import element_of, member_type, unwrapped
from girih.spirv.types import Array, Matrix, Pointer, RuntimeArray, Struct, Type, Vector
from girih.spirv.vocabulary import BLOCK_DECORATIONS, LAID_OUT, RESOURCES, VARIABLES

DECORATIONS = frozenset({
    "Block", "BufferBlock", "Offset", "OffsetIdEXT", "ArrayStride", "ArrayStrideIdEXT", "MatrixStride", "RowMajor",
    "ColMajor",
})  # fmt: skip
"""Decorations that say how a type stands in memory."""

LARGEST_ALIGNMENT = 64
"""Offsets count modulo this: no alignment is larger."""


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Memory of a type: who says so, where it is, and which rules of alignment it has."""

    by: Instruction
    type: Type
    storage: str
    rules: Alignment
    descriptors: Type | None = None

    @property
    def words(self) -> str:
        """Where the type stands, in words."""
        return f"{self.storage}, {self.rules.value} alignment"


@dataclass
class _Check:
    """One pass over the memory of a module."""

    facts: Facts
    layouts: Layouts
    found: FaultList = field(default_factory=FaultList)
    seen: set[tuple[int, Alignment, bool, int, MatrixLayout | None]] = field(default_factory=set)
    plain: set[int] = field(default_factory=set)

    def run(self) -> FaultList:
        """All that is wrong."""
        for use in self._uses():
            if self._has_descriptor_stride(use):
                came = f"{use.descriptors.words} with ArrayStride" if use.descriptors else ""
                self.found.add("descriptor_stride", use.by.index, Fault(came, _type_operand(use.by)))
            try:
                if self._demands_layout(use):
                    self._type(use, use.type, 0, None)
                elif self.facts.is_vulkan and self._forbids_layout(use):
                    self._unlaid(use)
            except Undetermined:
                continue
        return self.found

    def _has_descriptor_stride(self, use: LaidOut) -> bool:
        """Whether an array of handles has a stride; arrays of blocks have a rule of their own."""
        if use.descriptors is None or self._is_block(use.type):
            return False
        return self.layouts.stride_decoration(use.descriptors) is not None

    # What is memory

    def _uses(self) -> Iterator[LaidOut]:
        checked: set[tuple[int, str]] = set()
        for one in self.facts.instructions:
            if one.malformed is not None:
                continue
            for use in self._uses_by(one):
                key = (use.type.id, use.storage)
                if one.name == "OpVariable" or key not in checked:
                    checked.add(key)
                    yield use

    def _uses_by(self, one: Instruction) -> Iterator[LaidOut]:
        types = self.facts.declarations.types
        result = types.get(one.result_type) if one.result_type else None
        if isinstance(result, Pointer) and result.pointee_id:
            physical = result.storage_class == "PhysicalStorageBuffer"
            if physical or one.name in ("OpVariable", "OpBufferPointerEXT"):
                yield from self._use(one, types.get(result.pointee_id), result.storage_class)
                return
        if self.facts.is_vulkan and self.facts.has("UntypedPointersKHR"):
            yield from self._untyped(one, result)

    def _untyped(self, one: Instruction, result: Type | None) -> Iterator[LaidOut]:
        """Memory that an instruction reads or writes through an untyped pointer, as the type that it names."""
        types, pointer, data = self.facts.declarations.types, result, 0
        if one.name == "OpUntypedVariableKHR":
            data = one.id("data_type")
        elif one.get("base_type") is not None:
            data = one.id("base_type")
        elif one.name in ("OpLoad", "OpStore", "OpUntypedArrayLengthKHR"):
            made = self.facts.module.definitions.get(one.id("pointer"))
            pointer = types.get(made.result_type) if made else None
            named = {"OpLoad": one.result_type, "OpUntypedArrayLengthKHR": one.id("structure")}
            stored = self.facts.module.definitions.get(one.id("object"))
            data = named.get(one.name) or (stored.result_type if stored else 0)
        if isinstance(pointer, Pointer) and not pointer.pointee_id and data:
            yield from self._use(one, types.get(data), pointer.storage_class)

    def _use(self, one: Instruction, type: Type | None, storage: str) -> Iterator[LaidOut]:
        if type is None:
            return
        inner = unwrapped(type)
        described = storage in RESOURCES and (one.name == "OpVariable" or self._is_block(inner))
        descriptors = type if described and inner is not type else None
        held = inner if descriptors is not None else type
        buffer_block = self.facts.annotations.has(held.id, "BufferBlock")
        rules = alignment_of_storage(storage, self.facts.block_layout, buffer_block=buffer_block)
        yield LaidOut(one, held, storage, rules, descriptors)

    def _is_block(self, type: Type) -> bool:
        return isinstance(type, Struct) and any(self.facts.annotations.has(type.id, name) for name in BLOCK_DECORATIONS)

    def _demands_layout(self, use: LaidOut) -> bool:
        if not self.facts.is_vulkan:
            bound = use.storage in ("PushConstant", "PhysicalStorageBuffer") or self._is_bound(use.by)
            return self.facts.has("Shader") and use.storage in LAID_OUT and self._is_block(use.type) and bound
        if use.storage == "Workgroup":
            untyped = use.by.name != "OpVariable"
            return untyped or (isinstance(use.type, Struct) and self.facts.annotations.has(use.type.id, "Block"))
        if use.storage == "UniformConstant":
            return self._is_heap(use.by)
        return use.storage in LAID_OUT or use.by.name not in VARIABLES

    def _is_bound(self, one: Instruction) -> bool:
        """Whether a variable stands for a resource outside of the shader."""
        return all(self.facts.annotations.has(one.result, name) for name in ("DescriptorSet", "Binding"))

    def _forbids_layout(self, use: LaidOut) -> bool:
        if use.storage in ("Function", "Private"):
            return self.facts.module.header.version > (1, 4)
        return use.storage == "Workgroup" or (use.storage == "UniformConstant" and not self._is_heap(use.by))

    def _is_heap(self, one: Instruction) -> bool:
        return one.name != "OpVariable" or self.facts.annotations.has(one.result, "BuiltIn")

    # Layouts that must be there

    def _type(self, use: LaidOut, type: Type, offset: int, matrix: MatrixLayout | None) -> None:
        key = (type.id, use.rules, use.storage == "Workgroup", offset % LARGEST_ALIGNMENT, matrix)
        if key in self.seen:
            return
        self.seen.add(key)
        match type:
            case Struct():
                self._struct(use, type, offset)
            case Array() | RuntimeArray():
                self._array(use, type, offset, matrix)
            case Matrix() if matrix is not None:
                self._matrix(use, type, matrix)

    def _struct(self, use: LaidOut, struct: Struct, start: int) -> None:
        members = self.layouts.members(struct)
        complete = True
        for member in members:
            complete &= self._is_complete(use, struct, member)
        if not complete:
            return
        ordered = sorted((m for m in members if m.offset is not None), key=lambda member: member.offset or 0)
        end, before = 0, None
        for place, member in enumerate(ordered):
            offset = member.offset or 0
            if isinstance(member.type, RuntimeArray) and place < len(ordered) - 1:
                self._at(use, "runtime_array_end", struct, member, f"member {member.number} and others after it")
            if offset < end and before is not None:
                came = f"member {member.number} at {offset}, and member {before.number} ends at {end}"
                self._at(use, "overlap", struct, member, came)
            self._placed(use, struct, member, start)
            end, before = max(end, self._end(use, member)), member
            self._type(use, member.type, start + offset, member.matrix)

    def _is_complete(self, use: LaidOut, struct: Struct, member: Member) -> bool:
        if not member.has_offset:
            self._at(use, "offset", struct, member, f"member {member.number} without Offset")
        if isinstance(_innermost(member.type), Matrix):
            if not member.has_order:
                came = f"member {member.number} with neither RowMajor nor ColMajor"
                self._at(use, "matrix_order", struct, member, came)
            elif member.matrix is None:
                self._at(use, "matrix_stride", struct, member, f"member {member.number} without MatrixStride")
        return member.has_offset

    def _end(self, use: LaidOut, member: Member) -> int:
        """The first byte after a member that another may have."""
        offset = member.offset or 0
        try:
            end = offset + self.layouts.size(member.type, member.matrix)
            if use.rules is Alignment.SCALAR or not isinstance(member.type, Array | Struct):
                return end
            alignment = self._alignment(use, member)
        except Undetermined:
            return offset
        return -(-end // alignment) * alignment

    def _alignment(self, use: LaidOut, member: Member) -> int:
        relaxed = self.facts.block_layout == "relaxed"
        return self.layouts.alignment(member.type, use.rules, member.matrix, relaxed=relaxed)

    def _placed(self, use: LaidOut, struct: Struct, member: Member, start: int) -> None:
        """A member stands where its type may stand."""
        if not self.facts.is_vulkan:
            return
        try:
            alignment, size = self._alignment(use, member), self.layouts.size(member.type, member.matrix)
        except Undetermined:
            return
        offset = member.offset or 0
        if offset % alignment or (start + offset) % alignment:
            inside = f" of a struct at {start}" if start and not offset % alignment else ""
            came = f"member {member.number} at {offset}{inside}, {member.type.brief} with alignment {alignment}"
            self._at(use, "alignment", struct, member, came)
        relaxed = self.facts.block_layout == "relaxed" and use.rules is not Alignment.SCALAR
        if relaxed and isinstance(member.type, Vector) and _straddles(start + offset, size):
            self._at(use, "straddle", struct, member, f"member {member.number}, {size} bytes at {start + offset}")

    def _array(self, use: LaidOut, array: Array | RuntimeArray, start: int, matrix: MatrixLayout | None) -> None:
        decoration = self.layouts.stride_decoration(array)
        if decoration is None:
            self._about(use, "array_stride", array, f"{array.words}, without one")
            return
        stride = self.layouts.stride(array)
        if stride is None:
            return
        if stride == 0:
            self._about(use, "array_stride_zero", array, "0")
            return
        self._array_stride(use, array, stride, matrix)
        count = array.length if isinstance(array, Array) and array.length is not None else 1
        for number in range(min(max(count, 1), LARGEST_ALIGNMENT)):
            self._type(use, array.element, start + number * stride, matrix)

    def _array_stride(
        self, use: LaidOut, array: Array | RuntimeArray, stride: int, matrix: MatrixLayout | None
    ) -> None:
        try:
            alignment = self.layouts.alignment(array, use.rules, matrix)
            if self.facts.is_vulkan and stride % alignment:
                self._about(use, "array_stride_alignment", array, f"{stride} of elements with alignment {alignment}")
            size = self.layouts.size(array.element, matrix)
        except Undetermined:
            return
        if stride < size:
            self._about(use, "array_stride_size", array, f"{stride} of elements of {size} bytes")

    def _matrix(self, use: LaidOut, type: Matrix, matrix: MatrixLayout) -> None:
        column = type.column
        if not isinstance(column, Vector) or column.count is None:
            return
        alignment = self.layouts.alignment(type, use.rules, matrix)
        if self.facts.is_vulkan and matrix.stride % alignment:
            self._about(use, "matrix_stride_alignment", type, f"{matrix.stride} with alignment {alignment}")
        along = type.count if matrix.row_major else column.count
        size = along * self.layouts.size(column.component)
        if matrix.stride < size:
            line = "rows" if matrix.row_major else "columns"
            self._about(use, "matrix_stride_size", type, f"{matrix.stride} of {line} of {size} bytes")

    # Layouts that must not be there

    def _unlaid(self, use: LaidOut) -> None:
        """Search for decorations of layout in a type that has none."""
        waiting, seen = [use.type], set[int]()
        while waiting:
            type = waiting.pop()
            if type.id in self.plain or type.id in seen or self._may_be_laid_out(type):
                continue
            seen.add(type.id)
            named = (one.name for one in self.facts.annotations.by_target.get(type.id, ()))
            wrong = next((name for name in named if name in DECORATIONS), None)
            if wrong is not None:
                came = f"{type.brief} with {wrong} in {use.storage}"
                self.found.add("no_layout", use.by.index, Fault(came, _type_operand(use.by)))
                return
            waiting += self._parts(type)
        self.plain |= seen

    def _may_be_laid_out(self, type: Type) -> bool:
        """Whether a type is a pointer that steps from element to element by a stride of its own."""
        if not isinstance(type, Pointer):
            return False
        old = self.facts.module.header.version <= (1, 4)
        never = ("UniformConstant",) if old else ("UniformConstant", "Function", "Private")
        return type.storage_class not in never

    def _parts(self, type: Type) -> list[Type]:
        element = element_of(type)
        if element is not None:
            return [element]
        if isinstance(type, Struct):
            return [member_type(self.facts, type, number) for number in range(len(type.members))]
        pointee = self.facts.declarations.types.get(type.pointee_id) if isinstance(type, Pointer) else None
        return [pointee] if pointee is not None else []

    # Faults

    def _at(self, use: LaidOut, rule: str, struct: Struct, member: Member, came: str) -> None:
        """A fault about a member of a struct."""
        declared = self.facts.definition(struct.id)
        operand = declared.operand("members", member.number)
        fault = Fault(f"{came} ({use.words})", (operand,) if operand else (), self._hint(use, rule))
        self.found.add(rule, declared.index, fault)

    def _about(self, use: LaidOut, rule: str, type: Type, came: str) -> None:
        """A fault about a type."""
        declared = self.facts.definition(type.id)
        self.found.add(rule, declared.index, Fault(f"{came} ({use.words})", (), self._hint(use, rule)))

    def _hint(self, use: LaidOut, rule: str) -> str | None:
        strict = use.rules is not Alignment.SCALAR and rule in ("alignment", "straddle", "array_stride_alignment",
                                                                "matrix_stride_alignment")  # fmt: skip
        return "devices with scalarBlockLayout accept it" if strict else None


def layout_faults(facts: Facts) -> FaultList:
    """What is wrong with the layout of the module's types."""
    return _Check(facts, facts.once(layouts)).run()


def _innermost(type: Type) -> Type:
    """The element type of arrays of arrays, else the type itself."""
    while isinstance(type, Array | RuntimeArray):
        type = type.element
    return type


def _straddles(offset: int, size: int) -> bool:
    """Whether a vector crosses a boundary of 16 bytes, or is larger and does not start at one."""
    if size > 16:
        return offset % 16 != 0
    return offset // 16 != (offset + size - 1) // 16


def _type_operand(one: Instruction) -> tuple[Operand, ...]:
    operand = one.operand("result_type")
    return (operand,) if operand else ()
