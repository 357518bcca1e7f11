"""The memories of shader code for OpenCL: parameters of the kernel, and variables.

A buffer is a pointer to its elements, and of another type a pointer that is cast. Members are parameters by value, or
are loaded from the block that the pointer of their binding leads to. Conditions lie in memory as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val, bits
from girih.back.spirv.binary.assembly import Assembly, enumerant
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderCode
from girih.back.spirv.code.types import size_of
from girih.diagnostics import InternalError

STORAGE = {
    MemoryKind.BUFFER: "CrossWorkgroup",
    MemoryKind.SHARED: "Workgroup",
    MemoryKind.PRIVATE: "Function",
    MemoryKind.ADDRESS: "CrossWorkgroup",
    MemoryKind.TABLE: "UniformConstant",
}
"""The storage class of each kind of memory."""

_POINTER = "pointer "
"""What the words of the types of parameters begin with that are pointers to global memory."""


class OpenClMemory:
    """The parameters and variables of a kernel, which has a pointer for each of so many bindings.

    The last of them is the findings record where that has `record_words`. `left` is the variable that tells whether the
    work-item has left, 0 where there is none.
    """

    def __init__(self, a: Assembly, code: ShaderCode, bindings: int, record_words: int | None) -> None:
        self._a = a
        self._record_words = record_words
        self.left = 0
        self._variables: dict[ShaderMemory, int] = {}
        self._code = code
        buffers = {one.binding: one for one in code.memories if one.kind is MemoryKind.BUFFER}
        self._buffers = [_parameter(number, buffers.get(number)) for number in range(bindings)]
        self._members = {one.name: Val(f"%member.{one.name}", one.type) for one in code.members}
        self._offsets = {one.name: one.offset for one in code.members}
        self.locals: list[tuple[int, int]] = []
        """Variables of the function: pointer type and id."""
        self.names = {held.text: buffers[number].name for number, held in enumerate(self._buffers) if number in buffers}
        """The names of parameters, by the texts of their values."""
        if code.parameters_at is None:
            self.names.update({held.text: name for name, held in self._members.items()})

    @property
    def parameters(self) -> Sequence[Val]:
        """The parameters of the kernel."""
        by_value = self._members.values() if self._code.parameters_at is None else ()
        return (*self._buffers, *by_value)

    def type(self, word: str) -> int:
        """The id of a type, also of a parameter that is a pointer."""
        if word.startswith(_POINTER):
            return self._a.pointer_type("CrossWorkgroup", self.element_type(word.removeprefix(_POINTER)))
        return self._a.type(word)

    @property
    def has_record(self) -> bool:
        """Whether there is a findings record."""
        return self._record_words is not None

    def has_left(self) -> int:
        """The id of whether the work-item has left."""
        a = self._a
        mark = a.result("OpLoad", a.type("i8"), self.left, enumerant("MemoryAccess", "Aligned"), 1)
        return a.result("OpINotEqual", a.type("i1"), mark, a.integer(0, 8))

    # --- accesses ------------------------------------------------------------------------

    def element_type(self, type: str) -> int:
        """The type of an element in memory."""
        return self._a.type("i8" if type == "i1" else type)

    def operands(self, memory: ShaderMemory, type: str) -> tuple[int, ...]:
        """The memory operands of a load or store of one element."""
        return (enumerant("MemoryAccess", "Aligned"), size_of(type))

    def pointer(self, memory: ShaderMemory, type: str, element: Val) -> int:
        """The pointer to an element, or to what lies at an address."""
        a = self._a
        to = a.pointer_type(STORAGE[memory.kind], self.element_type(type))
        if memory.kind is MemoryKind.ADDRESS:
            return self._unless_left(to, a.result("OpConvertUToPtr", to, a.id_of(element)))
        if memory.kind is MemoryKind.BUFFER:
            base = self._begin(memory.binding, type)
            # Not in bounds: a work-item that has left may have any number here.
            chain = "OpPtrAccessChain" if self.left else "OpInBoundsPtrAccessChain"
            return self._unless_left(to, a.result(chain, to, base, a.id_of(element)))
        variable, number = self._variable(memory, type), a.id_of(element)
        if self.left and element.literal is None:
            # Whatever a work-item computes that has left, it stays within the array; what others read no longer counts.
            last = a.integer(self._count(memory, type) - 1, bits(element.type))
            number = a.extended("u_min", a.type(element.type), number, last)
        if self.element_type(_first(memory, type)) == self.element_type(type):
            return a.result("OpInBoundsAccessChain", to, variable, number)
        return a.result("OpInBoundsPtrAccessChain", to, a.result("OpBitcast", to, variable), number)

    def _begin(self, binding: int, type: str) -> int:
        """The pointer of a binding, to elements of a type."""
        a, held = self._a, self._buffers[binding]
        if self.element_type(held.type.removeprefix(_POINTER)) == self.element_type(type):
            return a.id_of(held)
        return a.result("OpBitcast", a.pointer_type("CrossWorkgroup", self.element_type(type)), a.id_of(held))

    def _unless_left(self, to: int, pointer: int) -> int:
        """The pointer, or one behind the findings record for a work-item that has left."""
        if not self.left:
            return pointer
        a = self._a
        assert self._record_words is not None
        words = a.pointer_type("CrossWorkgroup", a.type("i32"))
        number = a.integer(self._record_words, 64)
        behind = a.result("OpInBoundsPtrAccessChain", words, self._begin(len(self._buffers) - 1, "i32"), number)
        spare = behind if to == words else a.result("OpBitcast", to, behind)
        return a.result("OpSelect", to, self.has_left(), spare, pointer)

    def member(self, name: str) -> int:
        """The id of a member's value."""
        a, held = self._a, self._members[name]
        if self._code.parameters_at is None:
            return a.id_of(held)
        to = a.pointer_type("CrossWorkgroup", a.type(held.type))
        byte = a.pointer_type("CrossWorkgroup", a.type("i8"))
        begin = self._begin(self._code.parameters_at, "i8")
        place = a.result("OpInBoundsPtrAccessChain", byte, begin, a.integer(self._offsets[name], 64))
        aligned = (enumerant("MemoryAccess", "Aligned"), size_of(held.type))
        return a.result("OpLoad", a.type(held.type), a.result("OpBitcast", to, place), *aligned)

    # --- declarations --------------------------------------------------------------------

    def _count(self, memory: ShaderMemory, type: str) -> int:
        """The number of elements of a type in memory that is no buffer."""
        return len(memory.values) or -(-memory.size // size_of(type))

    def _variable(self, memory: ShaderMemory, type: str) -> int:
        """The variable of memory that is no buffer, an array of elements of the first type that it is seen as."""
        a = self._a
        known = self._variables.get(memory)
        if known is not None:
            return known
        element = _first(memory, type)
        if memory.kind is MemoryKind.PRIVATE and type != element:
            raise InternalError(f"private memory of {element} is seen as {type}")
        count = self._count(memory, element)
        storage = STORAGE[memory.kind]
        pointer = a.pointer_type(storage, a.declare("OpTypeArray", self.element_type(element), a.index(count)))
        if memory.kind is MemoryKind.TABLE:
            array = a.declare("OpTypeArray", a.type(element), a.index(count))
            values = a.declare_typed("OpConstantComposite", array, *(a.integer(one) for one in memory.values))
            made = a.declare_typed("OpVariable", pointer, enumerant("StorageClass", storage), values, new=True)
            a.decorate(made, "Constant")
        elif memory.kind is MemoryKind.PRIVATE:
            made = a.fresh()
            self.locals.append((pointer, made))
        else:
            made = a.declare_typed("OpVariable", pointer, enumerant("StorageClass", storage), new=True)
            a.decorate(made, "Alignment", max(memory.aligned, *map(size_of, memory.types)))
        a.name(made, memory.name)
        self._variables[memory] = made
        return made


def _first(memory: ShaderMemory, type: str) -> str:
    """The type of the elements of a variable."""
    return memory.element or next(iter(memory.types), type)


def _parameter(number: int, memory: ShaderMemory | None) -> Val:
    """The pointer of a binding; to bytes where the shader does not look at its memory."""
    element = "i8" if memory is None else next(iter(memory.types), "i8")
    return Val(f"%binding.{number}", f"{_POINTER}{element}")
