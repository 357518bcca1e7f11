"""The memory of a shader in GLSL: the blocks and arrays that it declares, and the elements that expressions name.

A buffer is a block for each type that its elements are seen as; the first has the buffer's name. What the work-group
shares is a plain array, unless some of it is seen as several types: then all of it are blocks at their own offsets
(GL_EXT_shared_memory_block). An address is a reference to an element (GL_EXT_buffer_reference).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderCode, ShaderNode
from girih.back.spirv.glsl.expression import PRIMARY, Expression, composed
from girih.back.spirv.glsl.names import Names
from girih.back.spirv.glsl.types import as_type, size, stored, with_sign, word
from girih.back.spirv.glsl.uses import nodes_of
from girih.back.spirv.matrix.operations import block_words
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass

_UNSIGNED_ATOMICS = frozenset({"umin", "umax"})


def accessed_type(node: ShaderNode) -> str:
    """The type that a node sees the elements of a memory as, a word of GLSL: with the sign that the operation needs."""
    type = stored(str(node.details[1]))
    unsigned = node.op == "atomic" and node.details[2] in _UNSIGNED_ATOMICS
    return with_sign(type, "unsigned") if unsigned else type


def memory_of(node: ShaderNode) -> ShaderMemory | None:
    """The memory that a node of the operations `load`, `store` and `atomic`, or one of a matrix, reaches."""
    first = node.details[0] if node.details else None
    return first if isinstance(first, ShaderMemory) else None


@dataclass(slots=True)
class MemoryNames:
    """The names of the memories of a shader, and how their elements are written.

    `views` are the types of each memory, `arrays` the name for each of them; `references`, `array_references` and
    `blocks` name the types of what is reached by address: elements, arrays of them, and blocks that are decoded. What
    is stored that must be kept as it is computed makes an array `precise`. `ordered` says that the shader is in the
    memory model of Vulkan.
    """

    code: ShaderCode
    names: Names
    ordered: bool
    views: dict[ShaderMemory, list[str]] = field(default_factory=dict)
    arrays: dict[tuple[ShaderMemory, str], str] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    array_references: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[str, str]] = field(default_factory=dict)
    precise: set[str] = field(default_factory=set)
    extensions: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Find what is accessed, and give names to it."""
        for one in self.code.members:
            self.members[one.name] = self.names.take(one.name), word(one.type)
        for node in (node for body in self.code.blocks() for node in nodes_of(body)):
            memory = memory_of(node)
            if memory is not None and len(node.details) > 1:
                self._view(memory, accessed_type(node))
        for memory in self.views:
            if memory.kind in (MemoryKind.PRIVATE, MemoryKind.TABLE, MemoryKind.BLOCK) and memory.element:
                self.views[memory] = [word(memory.element)]
        for memory, types in self.views.items():
            if memory.kind in (MemoryKind.ADDRESS, MemoryKind.BLOCK):
                continue
            for number, type in enumerate(types):
                wanted = memory.name if number == 0 else f"{memory.name}_{type.removesuffix('_t')}"
                self.arrays[memory, type] = self.names.take(wanted)

    def _view(self, memory: ShaderMemory, type: str) -> None:
        types = self.views.setdefault(memory, [])
        if type not in types:
            types.append(type)

    @property
    def shared_blocks(self) -> bool:
        """Whether some shared memory is seen as several types."""
        return any(len(types) > 1 for memory, types in self.views.items() if memory.kind is MemoryKind.SHARED)

    # --- elements ------------------------------------------------------------------------

    def element(self, memory: ShaderMemory, type: str, place: Expression) -> Expression:
        """An element, to load or to store; `place` is its number, or its address in memory of kind ADDRESS."""
        if memory.kind is MemoryKind.ADDRESS:
            reference = self.reference(type)
            address = as_type(place, "uint64_t").text
            found = composed(f"{reference}({address}).value", type, PRIMARY, (place,))
        else:
            name = self.array(memory, type)
            found = composed(f"{name}[{index(place).text}]", type, PRIMARY, (place,))
        return replace(found, memories=found.memories | {memory})

    def keep(self, memory: ShaderMemory, type: str) -> None:
        """Let what is stored in a memory as elements of a type be computed as it is written."""
        is_address = memory.kind is MemoryKind.ADDRESS
        self.precise.add(self.reference(type) if is_address else self.array(memory, type))

    def array(self, memory: ShaderMemory, type: str) -> str:
        """The name of the array of a memory that has elements of a type. Raises `InternalError` where there is none."""
        name = self.arrays.get((memory, type))
        if name is None:
            raise InternalError(f"the memory `{memory.name}` is not seen as `{type}`")
        return name

    def reference(self, type: str) -> str:
        """The name of the type of references to an element."""
        return self._referred(self.references, type, f"{type.removesuffix('_t')}_at")

    def array_reference(self, type: str) -> str:
        """The name of the type of references to elements that lie side by side, as `values`."""
        return self._referred(self.array_references, type, f"{type.removesuffix('_t')}_array_at")

    def block(self, type: str) -> str:
        """The name of the type of references to a block that is decoded, whose array is `data`."""
        words = block_words(type)
        return self._referred(self.blocks, type, f"block_{words.element}_{words.count}")

    def _referred(self, known: dict[str, str], type: str, wanted: str) -> str:
        if type not in known:
            known[type] = self.names.take(wanted)
            self.extensions.add("GL_EXT_buffer_reference")
        return known[type]

    # --- declarations --------------------------------------------------------------------

    def declarations(self) -> Iterator[str]:
        """The declarations of all that stands outside of functions."""
        for type, name in self.references.items():
            precise = "precise " if name in self.precise else ""
            yield from self._reference(name, type, f"{precise}{type} value")
        for type, name in self.array_references.items():
            yield from self._reference(name, type, f"{type} values[]")
        for type, name in self.blocks.items():
            words = block_words(type)
            yield from self._reference(name, word(words.element), f"{word(words.element)} data[{words.count}]")
        for memory, types in sorted(self.views.items(), key=lambda pair: pair[0].binding):
            if memory.kind is MemoryKind.BUFFER:
                for type in types:
                    yield self._buffer(memory, type)
        yield from self._parameters()
        yield from self._shared()
        yield from self._tables()

    def _reference(self, name: str, type: str, member: str) -> Iterator[str]:
        private = "nonprivate " if self.ordered else ""
        yield f"layout(buffer_reference, std430, buffer_reference_align = {size(type)}) {private}buffer {name} {{"
        yield f"    {member};"
        yield "};"

    def _buffer(self, memory: ShaderMemory, type: str) -> str:
        name = self.arrays[memory, type]
        # What nobody writes need not be made visible.
        written = memory.written or memory.atomic
        words = ["readonly"] if not written else ["nonprivate"] if self.ordered else []
        block = self.names.take(f"{name}_block")
        precise = "precise " if name in self.precise else ""
        layout = f"layout(set = 0, binding = {memory.binding}, std430)"
        return f"{' '.join((layout, *words, 'buffer'))} {block} {{ {precise}{type} {name}[]; }};"

    def _parameters(self) -> Iterator[str]:
        if not self.code.members:
            return
        if self.code.parameters_at is None:
            yield f"layout(push_constant, std430) uniform {self.names.take('Parameters')} {{"
        else:
            layout = f"layout(set = 0, binding = {self.code.parameters_at}, std430)"
            yield f"{layout} readonly buffer {self.names.take('Parameters')} {{"
        end = 0
        for one in self.code.members:
            name, type = self.members[one.name]
            natural = (end + size(type) - 1) // size(type) * size(type)
            at = "" if one.offset == natural else f"layout(offset = {one.offset}) "
            end = one.offset + size(type)
            yield f"    {at}{type} {name};"
        yield "};"

    def _tables(self) -> Iterator[str]:
        for memory, types in self.views.items():
            if memory.kind is MemoryKind.TABLE:
                name, listed = self.arrays[memory, types[0]], ", ".join(map(str, memory.values))
                yield f"const int {name}[{len(memory.values)}] = int[]({listed});"

    def _shared(self) -> Iterator[str]:
        shared = [memory for memory in self.views if memory.kind is MemoryKind.SHARED]
        if not self.shared_blocks:
            for memory in shared:
                for type in self.views[memory]:
                    name = self.arrays[memory, type]
                    yield f"shared {self._array(memory, type, name)};"
            return
        self.extensions.add("GL_EXT_shared_memory_block")
        begin = 0
        for memory in shared:
            step = max(memory.aligned, 16)
            begin = (begin + step - 1) // step * step
            for type in self.views[memory]:
                name = self.arrays[memory, type]
                block = self.names.take(f"{name}_block")
                at = f"layout(offset = {begin}) " if begin else ""
                yield f"shared {block} {{ {at}{self._array(memory, type, name)}; }};"
            begin += memory.size

    def private(self, used: Iterable[ShaderMemory]) -> Iterator[str]:
        """The declarations of the arrays of each work-item that a function uses."""
        for memory in used:
            if memory.kind is MemoryKind.PRIVATE:
                (type,) = self.views[memory]
                yield f"{self._array(memory, type, self.arrays[memory, type])};"

    def _array(self, memory: ShaderMemory, type: str, name: str) -> str:
        precise = "precise " if name in self.precise else ""
        return f"{precise}{type} {name}[{(memory.size + size(type) - 1) // size(type)}]"


def index(place: Expression) -> Expression:
    """The number of an element: one of 32 bits, as an index is in GLSL."""
    if place.number is not None and 0 <= place.number < 2**31:
        return replace(place, text=str(place.number), type="int")
    if place.widened is not None:
        return place.widened
    if with_sign(place.type, "signed") == "int64_t":
        return composed(f"uint({place.text})", "uint", PRIMARY, (place,))
    return place


def touches(one: ShaderMemory, other: ShaderMemory) -> bool:
    """Whether what is written to one memory may be what is read from another: buffers and addresses may overlap."""
    outside = (MemoryKind.BUFFER, MemoryKind.ADDRESS)
    return one is other or (one.kind in outside and other.kind in outside)


def described(memory: ShaderMemory) -> str:
    """How a shader uses a buffer, in words."""
    if memory.atomic:
        return "read and written, atomically, too"
    return "written" if memory.written else "read"
