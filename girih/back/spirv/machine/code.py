"""The machine that a Vulkan device is for lowerings: each work-item is an invocation of a compute shader.

`girih.back.llvm.lower.machine` says what a machine is, `lower/one_lane` has what all do whose work-items are threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Operand, Val, bits, integer
from girih.back.llvm.lower.code import Held
from girih.back.llvm.numbers.values import MemRefHeld, Scalar
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory, ShaderPlace
from girih.back.spirv.code.nodes import ShaderRoutine
from girih.back.spirv.code.recorder import Recorder
from girih.back.spirv.machine import record
from girih.back.spirv.matrix.code import MatrixCode
from girih.ir.core import Op, RegionKind, Value
from girih.lazy_dataclass import dataclass
from girih.ops.tile.memory import Scope
from girih.source import Span

_SCOPES = {Scope.WORK_GROUP: "work_group", Scope.DEVICE: "device"}


class RecordedSpans(DebugInfo):
    """What tells the recorder the place of each instruction, as debug information tells LLVM."""

    def __init__(self, w: Recorder) -> None:
        self._recorder = w

    def at(self, span: Span) -> str:
        """Nothing; what is recorded from now on comes from the place."""
        self._recorder.span = span
        return ""


@dataclass(slots=True, kw_only=True)
class VulkanCode(MatrixCode):
    """The code of an invocation."""

    addresses: dict[str, Val]
    """Where the caller's arrays are that checks compare, by the names of their memories."""
    device_lane: Val
    """The number of the invocation in the device's subgroup, an i32."""
    findings: ShaderMemory | None = None
    """The buffer of the findings record; None without checks."""
    _exchange: Val | None = field(default=None)
    _reporters: dict[int, ShaderRoutine] = field(default_factory=dict)
    """The functions that report findings, by how many values they tell."""
    _arrays: dict[str, Val] = field(default_factory=dict)
    """The arrays that the work-group shares, by the type of their elements."""
    _unnamed: set[str] = field(default_factory=set)
    """The names of memory of the work-group that no value is known for yet."""

    @property
    def features(self) -> Features:
        return Features(
            f16=self.profile.has("float16"),
            fma=self.profile.has("fused"),
            narrows=not self.profile.has("folds_narrowing"),
        )

    def set(self, value: Value, held: Held) -> None:
        """Set what a value is in the code, which readers know by its name."""
        self.env[value] = held
        if value.name[:1].isdigit():
            return
        if isinstance(held, Val):
            self.recorder.named(held, value.name)
        elif isinstance(held, Scalar):
            parts = ("_re", "_im") if len(held.parts) == 2 else ("",)
            for part, ending in zip(held.parts, parts, strict=False):
                self.recorder.named(part, value.name + ending)
        elif isinstance(held, MemRefHeld):
            self._name_shared(held, value.name)

    def _name_shared(self, held: MemRefHeld, name: str) -> None:
        """Give memory of the work-group the name of the value that it was made for."""
        memory = self.recorder.place(held.pointer).memory
        taken = {one.name for one in self.recorder.code.memories}
        if memory.name in self._unnamed and name not in taken:
            self._unnamed.discard(memory.name)
            memory.name = name

    # --- together ------------------------------------------------------------------------

    def met_by_all(self, op: Op, *, work_group: bool = False) -> None:
        """Nothing: who does not come is not known on a device."""

    def barrier(self) -> None:
        self.recorder.node("barrier", (), None, ("work_group",))

    def subgroup_barrier(self) -> None:
        self.recorder.node("barrier", (), None, ("subgroup",))

    def exchanged(self, part: Val, source: Val, *, work_group: bool = False) -> Val:
        w = self.recorder
        if work_group:
            return self._through_memory(part, source, self.barrier)
        if not self.profile.has("shuffle"):
            begin = w.mul(self.subgroup, self.geometry.subgroup_size)
            return self._through_memory(part, w.add(begin, w.convert("sext", source, "i64")), self.subgroup_barrier)
        lane = source
        if self.device_subgroup != self.geometry.subgroup_size:
            first = w.binary("and", self.device_lane, integer(-self.geometry.subgroup_size, "i32"))
            lane = w.add(first, source)
        return self._shuffled(part, lane)

    def _shuffled(self, part: Val, lane: Val) -> Val:
        """The part that another invocation of the device's subgroup has, in words of 32 bits where it must be."""
        w, width = self.recorder, bits(part.type)
        if part.type == "i1" or (width < 32 and not self.profile.has("extended_subgroups")):
            held = w.convert("zext", part, "i32")
            return w.convert("trunc", w.node("shuffle", (held, lane), "i32"), part.type)
        if width == 64 and not self.profile.has("extended_subgroups"):
            word = w.convert("bitcast", part, "i64")
            halves = (w.convert("trunc", word, "i32"), w.convert("trunc", w.binary("lshr", word, integer(32)), "i32"))
            low, high = (w.convert("zext", w.node("shuffle", (half, lane), "i32"), "i64") for half in halves)
            return w.convert("bitcast", w.binary("or", w.binary("shl", high, integer(32)), low), part.type)
        return w.node("shuffle", (part, lane), part.type)

    def _through_memory(self, part: Val, source: Val, wait: Callable[[], None]) -> Val:
        """The part that a work-item of the work-group has, by an array of 64-bit words, or of two words of 32 bits.

        With `wait` all those wait for each other that exchange something.
        """
        w = self.recorder
        narrow = bits(part.type) <= 32
        threads = self.geometry.subgroups * self.geometry.subgroup_size
        if self._exchange is None:
            self._exchange = self._shared("exchange", 8 * threads, 8)
        word = part if part.type.startswith("i") else w.convert("bitcast", part, f"i{bits(part.type)}")
        words = [w.convert("zext", word, "i32")] if narrow else [
            w.convert("trunc", word, "i32"), w.convert("trunc", w.binary("lshr", word, integer(32)), "i32")
        ]  # fmt: skip
        for number, one in enumerate(words):
            w.store(one, w.at(self._exchange, w.add(w.mul(self.thread, 8), 4 * number)), 4)
        wait()
        begin = w.at(self._exchange, w.mul(w.convert("sext", source, "i64"), 8))
        found = [w.load("i32", w.at(begin, 4 * number), 4) for number in range(len(words))]
        wait()
        whole = found[0]
        if not narrow:
            low, high = (w.convert("zext", one, "i64") for one in found)
            whole = w.binary("or", w.binary("shl", high, integer(32)), low)
        kept = w.convert("trunc", whole, "i1" if part.type == "i1" else f"i{bits(part.type)}")
        return w.convert("bitcast", kept, part.type) if kept.type != part.type else kept

    # --- memory --------------------------------------------------------------------------

    def local(self, size: int, align: int) -> Val:
        number = sum(one.kind is MemoryKind.SHARED for one in self.recorder.code.memories)
        self._unnamed.add(f"local{number}")
        return self._shared(f"local{number}", size, align)

    def shared(self, type: str, count: int) -> Val:
        size = bits(type) // 8
        if type not in self._arrays:
            self._arrays[type] = self._shared(f"matrices_{type}", 0, size, type)
        memory = self.recorder.place(self._arrays[type]).memory
        memory.size = max(memory.size, count * size)
        return self._arrays[type]

    def _shared(self, name: str, size: int, align: int, element: str = "") -> Val:
        made = ShaderMemory(MemoryKind.SHARED, name, size=size, element=element, aligned=align)
        self.recorder.code.memories.append(made)
        return self.recorder.pointer(ShaderPlace(made, integer(0)))

    def aligned_offset(self, pointer: Val) -> Val:
        place = self.recorder.place(pointer)
        return place.offset if place.address is None else self.w.add(place.address, place.offset)

    def private(self, type: str, count: int) -> Val:
        number = sum(one.kind is MemoryKind.PRIVATE for one in self.recorder.code.memories)
        size = count * (1 if type == "i1" else bits(type) // 8)
        made = ShaderMemory(MemoryKind.PRIVATE, f"private{number}", size=size, element=type)
        self.recorder.code.memories.append(made)
        return self.recorder.pointer(ShaderPlace(made, integer(0)))

    def address(self, pointer: Val) -> Val | None:
        """The address of a member of a group, or of the caller's array behind a buffer, as far as it is told."""
        place = self.recorder.place(pointer)
        begin = self.addresses.get(place.memory.name) if place.address is None else place.address
        return None if begin is None else self.recorder.add(begin, place.offset)

    def atomic_scope(self, scope: Scope, *, local: bool) -> str | None:
        return "work_group" if local else _SCOPES.get(scope, "device")

    # --- leaving -------------------------------------------------------------------------

    def ask(self) -> None:
        """Nothing: nobody ends a launch from outside."""

    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        """Report a finding, unless another invocation has done so, and end the invocation."""
        w = self.recorder
        spmd = self.place.kind is RegionKind.SPMD
        nobody = integer(-1, "i32")
        who = (w.convert("trunc", self.subgroup, "i32"), self._lane_told(lane)) if spmd else (nobody, nobody)
        words = [integer(site, "i32"), *who]
        for value in values:
            words.append(w.convert("trunc", value, "i32"))
            words.append(w.convert("trunc", w.binary("ashr", value, integer(32)), "i32"))
        if self.profile.environment == "opencl":
            # Only the kernel itself sees its parameters, and so the record.
            self._report(*words)
        else:
            reporter = self._reporters.get(len(values))
            if reporter is None:
                reporter = self._reporters[len(values)] = w.function("report", ["i32"] * len(words), self._report)
            w.node("call", words, None, (reporter,))
        w.leave()

    def _report(self, site: Val, subgroup: Val, lane: Val, *words: Val) -> None:
        """Record the function that claims the findings record and fills it."""
        w = self.recorder
        assert self.findings is not None
        base = w.pointer(ShaderPlace(self.findings, integer(0)))

        def put(word: int, held: Val) -> None:
            w.store(held, w.at(base, 4 * word), 4)

        claimed = w.atomic("compare_exchange", w.at(base, 4 * record.STATE), "i32",
                           (integer(record.NOTHING, "i32"), integer(record.CLAIMED, "i32")), "device")  # fmt: skip
        with w.when(w.compare("eq", claimed, integer(record.NOTHING, "i32"))):
            put(record.SITE, site)
            for axis in range(3):
                put(record.GROUP + axis, w.computed("built_in", (), "i32", ("work_group_id", axis)))
            put(record.SUBGROUP, subgroup)
            put(record.LANE, lane)
            put(record.COUNT, integer(len(words) // 2, "i32"))
            for place, held in enumerate(words):
                put(record.FIRST_VALUE + place, held)
            w.atomic("store", base, "i32", (integer(record.WRITTEN, "i32"),), "device", "release")

    def _lane_told(self, lane: Operand) -> Val:
        """The lane of a finding, or the number of the component that is computed."""
        if self.place.element_number is not None and isinstance(lane, Val):
            return self.recorder.convert("trunc", lane, "i32")
        return self.lane
