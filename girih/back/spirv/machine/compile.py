"""From a kernel to a SPIR-V module or to GLSL, by way of shader code (docs/design/vulkan.md)."""

from __future__ import annotations

from dataclasses import replace

from girih.analysis.sizes import no_subgroup_size, possible_subgroup_sizes, preferred_subgroup_size
from girih.analysis.uniformity import constants_of, varying_values
from girih.back.llvm.emit.text import ModuleText, Val, bits, integer
from girih.back.llvm.lower.code import ExecutionPlace, KernelGeometry
from girih.back.llvm.lower.lowerings import refuse_unknown
from girih.back.llvm.lower.sites import Site
from girih.back.spirv.code.abilities import Abilities
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.code.nodes import ShaderBlock, ShaderCode, ShaderNode, Statement
from girih.back.spirv.code.recorder import Recorder
from girih.back.spirv.machine.code import RecordedSpans, VulkanCode
from girih.back.spirv.machine.emitted import EmittedBinding, EmittedKernel, EmittedMember
from girih.back.spirv.machine.parameters import EVEN, Interval, ParameterBinder, bound_values
from girih.back.spirv.machine.record import RECORD_WORDS
from girih.back.spirv.machine.table import lowerings_of
from girih.back.spirv.matrix.choice import MatrixSizes, choose_matrices
from girih.back.spirv.matrix.multiples import Multiples
from girih.back.spirv.passes.improve import improved
from girih.back.spirv.passes.operations import PURE
from girih.back.spirv.profiles.capabilities import FEATURE_OF_CAPABILITY
from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.profile import Profile
from girih.diagnostics import CompileError, Diagnostic, GirihError, InternalError
from girih.facts.findings import NOT_ON_TARGET
from girih.facts.remarks import Remarks
from girih.facts.remarks import sizes as open_sizes
from girih.ir.core import Function, Op
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.recursion import recursion_room
from girih.spirv.grammar import grammar
from girih.spirv.module import Module

SUBGROUPS = 4
"""How many subgroups a work-group has that the kernel leaves open, where subgroups share work."""


@dataclass(frozen=True, slots=True)
class RecordedKernel:
    """A kernel as shader code, after all passes."""

    function: Function
    code: ShaderCode
    profile: Profile
    wide: bool
    bindings: tuple[EmittedBinding, ...]
    members: tuple[EmittedMember, ...]
    sites: tuple[Site, ...]
    geometry: KernelGeometry
    remarks: tuple[Diagnostic, ...]


def compile_kernel(
    function: Function, profile: Profile, *, checks: bool = False, wide: bool = False, even: bool = False,
    limits: DeviceLimits = DEFAULT_LIMITS,
) -> EmittedKernel:  # fmt: skip
    """A checked kernel as a SPIR-V module for a profile.

    `wide` gives indices 64 bits, `even` takes sizes and strides that are `?` as multiples of `EVEN`
    (docs/design/vulkan.md, "The interface").

    Raises `CompileError` for what the profile's devices cannot do.
    """
    recorded = recorded_kernel(function, profile, checks=checks, wide=wide, even=even, limits=limits)
    module = written_module(recorded)
    # Members of which only the low bits are read have become narrow.
    types = {one.name: one.type for one in recorded.code.members}
    members = tuple(replace(one, type=types.get(one.name, one.type)) for one in recorded.members)
    end = max((one.offset + (8 if one.type in ("i64", "double") else 4) for one in members), default=0)
    shared = sum(one.size for one in recorded.code.memories if one.kind is MemoryKind.SHARED)
    return EmittedKernel(
        function=function,
        module=module,
        entry=recorded.code.name,
        local_size=recorded.code.local_size,
        subgroup_size=recorded.code.subgroup_size,
        shared_bytes=shared,
        wide=wide,
        bindings=recorded.bindings,
        members=members,
        member_bytes=-(-end // 4) * 4,
        members_in_buffer=recorded.code.parameters_at is not None,
        sites=recorded.sites,
        remarks=recorded.remarks,
    )


def written_module(recorded: RecordedKernel) -> Module:
    """The module for what the profile's devices take. Raises `CompileError` for what it needs and they have not."""
    if recorded.profile.environment == "opencl":
        from girih.back.spirv.binary.opencl import write_opencl_module

        checked = any(one.kind == "findings" for one in recorded.bindings)
        module = write_opencl_module(recorded.code, len(recorded.bindings), RECORD_WORDS if checked else None)
    else:
        from girih.back.spirv.binary.write import write_module

        module = write_module(recorded.code, recorded.profile)
    missing = [FEATURES[name] for name in _needs(recorded, module) if not recorded.profile.has(name)]
    if missing:
        words = ", ".join(f"{one.says} ({one.name})" for one in missing)
        message = f"@{recorded.function.name} needs {words}, which {recorded.profile.name} has not"
        raise CompileError([Diagnostic(NOT_ON_TARGET, message, recorded.function.span)])
    return module


def _needs(recorded: RecordedKernel, module: Module) -> list[str]:
    """The features that a module needs, in the order of the list of them."""
    # The words alone: to read all instructions takes longer than to write them.
    declares, known = grammar().codes["OpCapability"], grammar().kinds["Capability"]
    used = {words[0] for opcode, words in module.raw if opcode == declares}
    needs = {name for word, name in FEATURE_OF_CAPABILITY.items() if known.value(word) in used}
    atomic = [one for one in recorded.code.memories if one.atomic and one.kind is MemoryKind.SHARED]
    if any(bits(type) == 64 for one in atomic for type in one.types):
        needs.add("shared_int64_atomics")
    return [name for name in FEATURES if name in needs]


def recorded_kernel(
    function: Function, profile: Profile, *, checks: bool = False, wide: bool = False, even: bool = False,
    limits: DeviceLimits = DEFAULT_LIMITS,
) -> RecordedKernel:  # fmt: skip
    """A checked kernel as shader code. Raises `CompileError` as `compile_kernel`."""
    try:
        with recursion_room():
            return _recorded(function, profile, checks=checks, wide=wide, even=even, limits=limits)
    except (GirihError, MemoryError):
        raise
    except Exception as error:
        what = f"the code generator failed in @{function.name}: {type(error).__name__}: {error}"
        raise InternalError(what) from error


def _recorded(
    function: Function, profile: Profile, *, checks: bool, wide: bool, even: bool, limits: DeviceLimits
) -> RecordedKernel:
    remarks = Remarks(profile.environment)
    geometry, device_subgroup = sizes_of(function, profile, limits, remarks)
    items = geometry.subgroups * geometry.subgroup_size
    constants = constants_of(function)
    sizes = MatrixSizes(items, geometry.subgroup_size, device_subgroup)
    multiples = Multiples(function, EVEN if even else 1)
    choice = choose_matrices(function, profile, sizes, constants, multiples, checks=checks)
    lowerings = lowerings_of(choice, profile, remarks)
    refuse_unknown(function, lowerings, profile.environment)
    code = ShaderCode(_entry_name(function), items, device_subgroup)
    w = Recorder(code, abilities_of(profile))
    w.contract = "contract" in function.permissions
    debug = RecordedSpans(w)
    debug.at(function.span)
    binder = ParameterBinder(w, function, wide=wide, even=even, checks=checks)
    held = bound_values(function, binder)
    end = max((one.offset + 8 for one in binder.members), default=0)
    if end > profile.push_bytes:
        code.parameters_at = binder.buffer("parameters", "parameters", None).binding
    findings = binder.buffer("findings", "findings", None) if checks else None
    built = _BuiltIns(w, items, geometry.subgroup_size, device_subgroup)
    lowering = VulkanCode(
        w=w,
        recorder=w,
        addresses=binder.addresses,
        module=ModuleText({}),
        function=function,
        lowerings=lowerings,
        geometry=geometry,
        constants=constants,
        varying=varying_values(function, constants, geometry.subgroup_size),
        checks=checks,
        debug=debug,
        place=ExecutionPlace(lanes=1),
        group=built.triple("work_group_id", "group"),
        grid=built.triple("num_work_groups", "grid"),
        remarks=remarks,
        thread=built.thread,
        subgroup=built.subgroup,
        lane=built.lane,
        profile=profile,
        multiples=multiples,
        matrices=choice,
        device_subgroup=device_subgroup,
        device_lane=built.device_lane,
        findings=findings,
    )
    lowering.env.update(held)
    lowering.body()
    w.finish()
    drop_outer_barriers(code.body)
    code = passed(code, binder.intervals, wide=wide)
    _check_shared(function, code, profile)
    return RecordedKernel(
        function,
        code,
        profile,
        wide,
        tuple(binder.bindings),
        tuple(binder.members),
        tuple(lowering.sites),
        geometry,
        remarks.diagnostics(),
    )


def passed(code: ShaderCode, intervals: dict[str, Interval], *, wide: bool) -> ShaderCode:
    """The code after all passes."""
    return improved(code, intervals, wide=wide)


def drop_outer_barriers(body: ShaderBlock) -> None:
    """Take away the barriers before the first and after the last access to memory, which keep nothing apart."""
    statements = body.statements
    first = next((k for k, one in enumerate(statements) if not _is_idle(one)), len(statements))
    last = next((k for k in range(len(statements), first, -1) if not _is_idle(statements[k - 1])), first)
    inner = statements[first:last]
    outer = [[one for one in some if not _is_barrier(one)] for some in (statements[:first], statements[last:])]
    body.statements = [*outer[0], *inner, *outer[1]]


def _is_idle(one: Statement) -> bool:
    return isinstance(one, ShaderNode) and (one.op in PURE or _is_barrier(one))


def _is_barrier(one: Statement) -> bool:
    return isinstance(one, ShaderNode) and one.op == "barrier"


class _BuiltIns:
    """Where an invocation is: the ids are those of subgroups, whose order in the work-group is the device's choice."""

    def __init__(self, w: Recorder, items: int, subgroup_size: int, device_subgroup: int) -> None:
        self._w = w
        lane = w.computed("built_in", (), "i32", ("subgroup_local_id", 0))
        self.device_lane = w.named(lane, "lane")
        number: Val = integer(0, "i32")
        if items > device_subgroup:
            number = w.named(w.computed("built_in", (), "i32", ("subgroup_id", 0)), "subgroup")
        thread = w.add(w.mul(number, integer(device_subgroup, "i32")), self.device_lane)
        if number.literal is None:
            w.named(thread, "thread")
        self.thread = w.convert("zext", thread, "i64")
        self.lane = self.device_lane
        subgroup = number
        if subgroup_size != device_subgroup:
            self.lane = w.binary("and", self.device_lane, integer(subgroup_size - 1, "i32"))
            subgroup = w.binary("udiv", thread, integer(subgroup_size, "i32"))
        self.subgroup = w.convert("zext", subgroup, "i64")

    def triple(self, name: str, short: str) -> tuple[Val, Val, Val]:
        """A built-in of three numbers."""
        w = self._w
        x, y, z = (
            w.named(w.computed("built_in", (), "i32", (name, axis)), f"{short}_{'xyz'[axis]}") for axis in range(3)
        )
        return w.convert("zext", x, "i64"), w.convert("zext", y, "i64"), w.convert("zext", z, "i64")


def _entry_name(function: Function) -> str:
    return function.name if function.name[0].isalpha() else f"kernel{function.name}"


def abilities_of(profile: Profile) -> Abilities:
    """What a profile's devices compute exactly."""
    return Abilities(
        float64=profile.has("float64"),
        fused=profile.has("fused"),
        quotients=profile.has("exact_quotients"),
        roots=profile.has("exact_roots"),
        double_roots=profile.has("exact_double_roots"),
    )


# --- sizes -------------------------------------------------------------------------------------


def sizes_of(
    function: Function, profile: Profile, limits: DeviceLimits, remarks: Remarks
) -> tuple[KernelGeometry, int]:
    """The sizes that a kernel is compiled for, and the size of the device's subgroups (docs/design/vulkan.md, "Sizes").

    Raises `CompileError` where the device has no subgroups that suit.
    """
    possible = possible_subgroup_sizes(function, limits)
    if not possible:
        raise CompileError([no_subgroup_size(function, limits)])
    on_device = [size for size in possible if _device_subgroup(size, profile) is not None]
    if not on_device:
        raise CompileError([_no_device_subgroup(function, possible, profile)])
    size = profile.subgroup_size if profile.subgroup_size in on_device else preferred_subgroup_size(on_device)
    asked = function.work_group_size
    shape = asked or (size * (1 if _tells_subgroups(function) else SUBGROUPS), 1)
    items = shape[0] * shape[1]
    if items > profile.work_group_items:
        message = f"a work-group of {items} work-items; {profile.name} has at most {profile.work_group_items}"
        raise CompileError([Diagnostic(NOT_ON_TARGET, message, function.span)])
    if asked is None or function.subgroup_size is None:
        remarks.note(open_sizes(size, shape), function.span)
    device = _device_subgroup(size, profile)
    assert device is not None
    if items % device:
        # Fewer work-items than a subgroup of the device: nothing between subgroups of the kernel is left to tell.
        device = size if profile.least_subgroup_size <= size <= profile.most_subgroup_size else device
    return KernelGeometry(shape, size), device


def _device_subgroup(size: int, profile: Profile) -> int | None:
    """The size of the device's subgroups that stand for subgroups of a size: that size, or the next larger one."""
    if size > profile.most_subgroup_size:
        return None
    return max(size, profile.least_subgroup_size)


def _no_device_subgroup(function: Function, possible: list[int], profile: Profile) -> Diagnostic:
    there = f"{profile.least_subgroup_size} to {profile.most_subgroup_size}"
    if profile.least_subgroup_size == profile.most_subgroup_size:
        there = str(profile.least_subgroup_size)
    wanted = ", ".join(map(str, possible))
    message = f"subgroups of {wanted} work-items suit @{function.name}; those of {profile.name} have {there}"
    return Diagnostic(
        NOT_ON_TARGET, message, function.span, hint="a kernel that names no subgroup size takes the device's"
    )


def _tells_subgroups(function: Function) -> bool:
    """Whether a kernel can tell how many subgroups there are, or has matrices of subgroups."""
    return any(_is_about_subgroups(op) for op in function.walk())


def _is_about_subgroups(op: Op) -> bool:
    matrices = (one.type for one in (*op.operands, *op.results) if isinstance(one.type, CoopMatrix))
    return "subgroup" in op.spec.mnemonic or any(not one.of_work_group for one in matrices)


def _check_shared(function: Function, code: ShaderCode, profile: Profile) -> None:
    taken = [one for one in code.memories if one.kind is MemoryKind.SHARED]
    total = sum(_bytes(one) for one in taken)
    if total > profile.shared_bytes:
        message = f"@{function.name} takes {total} bytes of shared memory; {profile.name} has {profile.shared_bytes}"
        raise CompileError([Diagnostic(NOT_ON_TARGET, message, function.span)])


def _bytes(memory: ShaderMemory) -> int:
    return -(-memory.size // 4) * 4
