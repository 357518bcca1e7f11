"""The parameters of a kernel as values of shader code: buffers by binding, and members of the push constants."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.collective.apart import compared_parameters
from girih.back.llvm.numbers.values import GroupHeld, MapHeld, MemRefHeld, Scalar, index, uniform
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory, ShaderPlace
from girih.back.spirv.code.nodes import ShaderMember
from girih.back.spirv.code.recorder import Recorder
from girih.back.spirv.machine.emitted import BindingKind, EmittedBinding, EmittedMember, MemberKind
from girih.ir.core import Function, Parameter, Value
from girih.ir.types import EIGHT_BIT_FLOATS, INDEX, PARTS, Boolean, Extent, GroupType, MemRef, Number, TensorMapType
from girih.ops.tile.memory import Associated

MOST_INDEX = 2**28
"""Sizes, strides and indices of narrow modules lie within this and its negative."""

MOST_GRID = 2**20
"""The work-groups of a launch along an axis are fewer in narrow modules."""

EVEN = 8
"""What sizes and strides are multiples of in modules that are told so: 16 bytes of halves."""

Held = Scalar | MemRefHeld | GroupHeld | MapHeld
Interval = tuple[int, int]


class ParameterBinder:
    """The binding of all parameters: buffers and members in the order of the function's parameters.

    With `checks` each memref and group says whether it is there, so that what is read of one that is not is found.
    """

    def __init__(self, w: Recorder, function: Function, *, wide: bool, even: bool, checks: bool) -> None:
        self.bindings: list[EmittedBinding] = []
        self.members: list[EmittedMember] = []
        self.intervals: dict[str, Interval] = {}
        """What is known of members, by their names."""
        self.addresses: dict[str, Val] = {}
        """Where the caller's arrays are that checks compare, by the names of their memories."""
        self._w = w
        self._function = function
        self._wide = wide
        self._even = even
        asked = {op.tensor for op in function.walk() if isinstance(op, Associated)}
        self._told = {one.value for one in function.parameters if checks or one.value in asked}
        """The memrefs and groups with a member that says whether they are there."""
        self._compared = compared_parameters(function) if checks else set()
        self._names: set[str] = set()

    def bind(self, number: int, parameter: Parameter) -> Held:
        """What a parameter is in shader code."""
        match parameter.type:
            case MemRef() as type:
                return self._memref(number, parameter, type)
            case GroupType() as type:
                return self._group(number, parameter, type)
            case TensorMapType() as type:
                return MapHeld(type, Val("null", "ptr"), parameter.name)
            case Boolean():
                held = self._member(number, parameter, "value", "i32")
                return uniform(parameter.type, self._w.compare("ne", held, integer(0, "i32")))
            case Number() as type:
                return self._number(number, parameter, type)
            case _:
                raise TypeError(f"a parameter of type {parameter.type}")

    def buffer(self, name: str, kind: BindingKind, number: int | None) -> ShaderMemory:
        """The next storage buffer."""
        binding = len(self.bindings)
        made = ShaderMemory(MemoryKind.BUFFER, self._unused(name), binding=binding)
        self._w.code.memories.append(made)
        self.bindings.append(EmittedBinding(binding, kind, number))
        return made

    # --- each kind of parameter ----------------------------------------------------------

    def _memref(self, number: int, parameter: Parameter, type: MemRef) -> MemRefHeld:
        w = self._w
        memory = self.buffer(parameter.name, "memref", number)
        memory.aligned = max(4, _alignment(parameter, type))
        missing = self._missing(number, parameter)
        pointer = w.pointer(ShaderPlace(memory, integer(0), missing=missing))
        if parameter.value in self._compared:
            self.addresses[memory.name] = self._member(number, parameter, "address", "i64")
        shape = self._extents(number, parameter, "size", type.shape)
        strides = self._extents(number, parameter, "stride", type.strides)
        return MemRefHeld(type, pointer, index(0), shape, strides, parameter.name, memory.aligned, missing is not None)

    def _group(self, number: int, parameter: Parameter, type: GroupType) -> GroupHeld:
        w = self._w
        memory = self.buffer(parameter.name, "group", number)
        table = w.pointer(ShaderPlace(memory, integer(0), missing=self._missing(number, parameter)))
        size: int | Val = type.size if type.size is not None else self._index(number, parameter, "size", 0)
        fields = 1 + type.memref.shape.count(None) + type.memref.strides.count(None)
        alignment = _alignment(parameter, type.memref)
        return GroupHeld(type.memref, table, size, parameter.name, alignment, record_bytes=8 * fields)

    def _number(self, number: int, parameter: Parameter, type: Number) -> Scalar:
        w = self._w
        if type == INDEX:
            return index(self._index(number, parameter, "value", 0))
        if type.family == "integer" or type in EIGHT_BIT_FLOATS:
            word = self._member(number, parameter, "value", "i64" if type.size == 8 else "i32")
            return uniform(type, w.convert("trunc", word, f"i{8 * type.size}"))
        part = PARTS.get(type, type)
        register = "double" if part.size == 8 else "float"
        count = 2 if type in PARTS else 1
        return uniform(type, *(self._member(number, parameter, "value", register, k) for k in range(count)))

    def _missing(self, number: int, parameter: Parameter) -> Val | None:
        """Whether there is no memory; None where nobody asks."""
        if parameter.value not in self._told:
            return None
        return self._w.compare("eq", self._member(number, parameter, "associated", "i32"), integer(0, "i32"))

    def _extents(
        self, number: int, parameter: Parameter, what: MemberKind, extents: tuple[Extent, ...]
    ) -> tuple[int | Scalar, ...]:
        return tuple(
            index(self._multiple(self._index(number, parameter, what, mode), _promised(parameter, what, mode)))
            if extent is None
            else extent
            for mode, extent in enumerate(extents)
        )

    def _multiple(self, held: Val, divisor: int) -> Val:
        """A number that is promised to be a multiple, so that the device's compiler sees it."""
        even = max(divisor & -divisor, EVEN if self._even else 1)
        return self._w.binary("and", held, integer(-even)) if even > 1 else held

    def _index(self, number: int, parameter: Parameter, what: MemberKind, part: int) -> Val:
        """A number of index type, which narrow modules get in 32 bits."""
        held = self._member(number, parameter, what, "i64" if self._wide else "i32", part)
        name = self.members[-1].name
        positive = what in ("size", "stride")
        if not self._wide:
            self.intervals[name] = (0 if positive else -MOST_INDEX, MOST_INDEX)
        elif positive:
            self.intervals[name] = (0, 2**62)
        return self._w.convert("sext", held, "i64")

    def _member(self, number: int, parameter: Parameter, what: MemberKind, type: str, part: int = 0) -> Val:
        """The next member of the push constants."""
        name = self._unused(_member_name(parameter, what, part))
        size = 8 if type in ("i64", "double") else 4
        end = self.members[-1].offset + (8 if self.members[-1].type in ("i64", "double") else 4) if self.members else 0
        offset = -(-end // size) * size
        self.members.append(EmittedMember(name, type, offset, number, what, part))
        self._w.code.members.append(ShaderMember(name, type, offset))
        return self._w.named(self._w.computed("member", (), type, (name,)), name)

    def _unused(self, name: str) -> str:
        """A name that nothing has yet; those of parameters that are numbers begin with a letter."""
        word = name if name[0].isalpha() else f"p{name}"
        chosen = word
        while chosen in self._names:
            chosen += "_"
        self._names.add(chosen)
        return chosen


def _member_name(parameter: Parameter, what: MemberKind, part: int) -> str:
    if what == "value":
        imaginary = isinstance(parameter.type, Number) and parameter.type in PARTS
        return f"{parameter.name}_{('re', 'im')[part]}" if imaginary else parameter.name
    if what in ("associated", "address") or isinstance(parameter.type, GroupType):
        return f"{parameter.name}_{what}"
    return f"{parameter.name}_{what}{part}"


def _promised(parameter: Parameter, what: str, mode: int) -> int:
    """What a size or a stride is promised to be a multiple of (003 "Parameter attributes")."""
    promises = parameter.attributes.get({"size": "shape_gcd", "stride": "stride_gcd"}.get(what, ""))
    known = promises[mode] if isinstance(promises, tuple) and mode < len(promises) else 1
    return known if isinstance(known, int) and known > 0 else 1


def _alignment(parameter: Parameter, type: MemRef) -> int:
    """The alignment in bytes that a parameter promises, or that of its elements."""
    promised = parameter.attributes.get("alignment")
    return promised if isinstance(promised, int) else PARTS.get(type.element, type.element).size


def bound_values(function: Function, binder: ParameterBinder) -> dict[Value, Held]:
    """What each parameter of a function is."""
    return {one.value: binder.bind(number, one) for number, one in enumerate(function.parameters)}
