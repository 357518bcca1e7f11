"""From a tile program to LLVM IR with inline PTX: the prologue, the two roles, and the order of work-groups.

docs/design/tile.md says what each step becomes. All threads read the parameters; thread 0 makes the mbarriers; then
the warpgroups part for good, so that the assembler gives each role its registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.analysis.uniformity import constants_of
from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.text import ModuleText, Val, integer
from girih.back.llvm.lower.code import ExecutionPlace, KernelGeometry
from girih.back.llvm.lower.launch.parameters import bind_parameters, slot
from girih.back.llvm.lower.launch.slots import RECORD_SLOT
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import uniform
from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.back.llvm.nvptx.machine.changing import changing_parameters
from girih.back.llvm.nvptx.machine.code import WARP
from girih.back.llvm.nvptx.machine.kernel import MAP_ALIGNMENT, MAP_BYTES, DeepProduct, PtxKernel, RecipePlace
from girih.back.llvm.nvptx.machine.names import entry_name
from girih.back.llvm.nvptx.machine.pointers import declared_pointer, pointer_slots, take_pointers
from girih.back.llvm.nvptx.machine.writer import NvptxWriter
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.consumer import Consumer
from girih.back.llvm.nvptx.tile.flow import Known, at_begin
from girih.back.llvm.nvptx.tile.matrices import ComponentsPlace, place_in_warp
from girih.back.llvm.nvptx.tile.producer import Producer
from girih.back.llvm.nvptx.tile.ptx import WARPGROUP, TilePtx, word
from girih.back.llvm.nvptx.tile.role import RingPlace, TileRole
from girih.facts.remarks import Remarks
from girih.ir.core import Function, Op
from girih.ir.types import INDEX
from girih.ops.tile.control import Parallel
from girih.tile import amounts
from girih.tile.budget import layout_of
from girih.tile.form import Await, Issue, Offer, Ring, Supply, TileKernel, WorkOrder, walk
from girih.tile.products import depth_loop, iterations_of
from girih.tile.program import NoTileProgram

_REGISTERS = 64 * 1024
"""The registers of a multiprocessor (CUDA programming guide, "Technical Specifications per Compute Capability")."""
_LENGTH = "<parameter bytes>"
"""What stands in the text for the number of the parameter's bytes until that is known."""


def lower_tile(
    kernel: TileKernel,
    architecture: NvidiaArchitecture,
    lowerings: Lowerings[TileCode],
    remarks: Remarks,
    *,
    checks: bool,
    parts: tuple[int, int] = (1, 1),
) -> tuple[PtxKernel, str]:
    """A tile program as LLVM IR, and what a launch must know of it but for the PTX.

    `lowerings` are those of scalars. Of each work-group that a launch asks for there are `parts` along x and y.
    """
    function, entry = kernel.function, entry_name(kernel.function)
    # nvJitLink has products wait for each other, and ignores `setmaxnreg`, in code with calls (C7504, C7509).
    module = ModuleText({}, calls=False)
    debug = DebugInfo(module, function.name, entry, function.span, directives=True)
    pointers, changing = pointer_slots(function), changing_parameters(function)
    listed = [declared_pointer(function.parameters[n], n, changing, disjoint=True) for n in pointers.values()]
    by_value = f'ptr byval([{_LENGTH} x i8]) align {MAP_ALIGNMENT} "nvvm.grid_constant" %arguments'
    header = (
        f"define ptx_kernel void @{entry}({', '.join([by_value, *listed])}) "
        f'nounwind "nvvm.reqntid"="{kernel.threads}" "nvvm.minctasm"="1"{debug.attached}'
    )
    w = NvptxWriter(module, header)
    w.location = debug.at(function.span)
    arguments, thread = Val("%arguments", "ptr"), w.intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", "i32")
    code = _code(kernel, architecture, lowerings, remarks, w, debug, arguments, thread, checks=checks)
    code.grid = w.mul(code.grid[0], integer(parts[0])), w.mul(code.grid[1], integer(parts[1])), code.grid[2]
    slots = bind_parameters(code, arguments, narrow=True)
    take_pointers(code, pointers.values(), changing)
    if kernel.parts is not None:
        code.sums, slots = slot(w, arguments, slots, "ptr"), slots + 1
    recipes = _recipes(kernel, slots)
    code.maps.update({one.recipe.name: w.at(arguments, one.offset) for one in recipes})
    module.globals["girih_local"] = "@girih_local = external addrspace(3) global [0 x i8], align 1024"
    _write(code, thread)
    w.end()
    bytes = max((one.offset + MAP_BYTES for one in recipes), default=8 * slots)
    made = PtxKernel(
        name=function.name,
        entry=entry,
        ptx="",
        architecture=architecture.name,
        threads=kernel.threads,
        packed=1,
        subgroup_size=function.subgroup_size or WARP,
        shared_bytes=code.places.bytes,
        parameter_bytes=bytes,
        pointers=tuple(pointers),
        maps=(),
        sites=tuple(code.sites),
        recipes=recipes,
        persistent=kernel.order.persistent,
        in_order=True,
        parts=parts,
        deep=_deep(kernel),
        remarks=remarks.diagnostics(),
    )
    return made, str(module).replace(_LENGTH, str(bytes), 1)


def _code(
    kernel: TileKernel, architecture: NvidiaArchitecture, lowerings: Lowerings[TileCode], remarks: Remarks,
    w: NvptxWriter, debug: DebugInfo, arguments: Val, thread: Val, *, checks: bool,
) -> TileCode:  # fmt: skip
    """The code of a thread, before its roles part."""
    grid = slot(w, arguments, 0), slot(w, arguments, 1), slot(w, arguments, 2)
    nothing = word(0)
    return TileCode(
        w=w,
        writer=w,
        module=w.module,
        function=kernel.function,
        lowerings=lowerings,
        geometry=KernelGeometry((kernel.threads, 1), WARP),
        constants=constants_of(kernel.function),
        varying=set(),
        checks=checks,
        asked=checks,
        debug=debug,
        place=ExecutionPlace(lanes=1),
        group=grid,
        grid=grid,
        remarks=remarks,
        thread=w.convert("zext", thread, "i64"),
        subgroup=w.value(0),
        lane=w.binary("and", thread, word(WARP - 1)),
        arguments_apart=True,
        architecture=architecture,
        has_engine=True,
        record=slot(w, arguments, RECORD_SLOT, "ptr"),
        goes_on=True,
        kernel=kernel,
        places=layout_of(kernel),
        ptx=TilePtx(w),
        maps={},
        own=ComponentsPlace(nothing, nothing, nothing),
    )


def _deep(kernel: TileKernel) -> DeepProduct | None:
    """What a launch must know to share out the depth, or does know; None where the depth is not to be shared out."""
    if kernel.parts is not None:
        names = next(step.sums for step in kernel.consumers.body if isinstance(step, Offer))
        iterations, parts = amounts.number(0), kernel.parts.count
    else:
        try:
            names, found = depth_loop(kernel).sums, iterations_of(kernel)
        except NoTileProgram:
            return None
        if found is None:
            return None
        iterations, parts = found, 1
    sums = [kernel.held(name) for name in names]
    factor = next(product.right for step in walk(kernel.consumers.body) if isinstance(step, Issue)
                  for product in step.products)  # fmt: skip
    tile = kernel.ring(factor.ring).tile(factor.tile)
    bytes = tile.bytes // sums[0].columns
    rows = sum(one.rows for one in sums)
    return DeepProduct(iterations, bytes, rows, sums[0].columns, kernel.consumers.warpgroups, parts)


def _recipes(kernel: TileKernel, slots: int) -> tuple[RecipePlace, ...]:
    """The places of the maps behind so many slots."""
    first = -(-8 * slots // MAP_ALIGNMENT) * MAP_ALIGNMENT
    return tuple(RecipePlace(first + MAP_BYTES * number, one) for number, one in enumerate(kernel.maps))


# --- roles -------------------------------------------------------------------------------------


def _write(code: TileCode, thread: Val) -> None:
    """Write the prologue and the roles."""
    w, kernel, ptx = code.w, code.kernel, code.ptx
    warpgroup = ptx.same_in_warp(w.binary("lshr", thread, word(WARPGROUP.bit_length() - 1)))
    with w.when(w.compare("eq", thread, word(0))):
        for map in code.maps.values():
            ptx.prefetch_map(map)
        for ring in kernel.rings:
            _make_barriers(code, ring)
        ptx.show_barriers()
    code.writer.barrier()
    producers = kernel.producer.warpgroups
    collective = frozenset(_collective(kernel.function))
    parameters = dict(code.env)

    def producer() -> list[Val]:
        if _shares_out(kernel):
            ptx.give_registers(kernel.producer.registers, more=False)
        rings = frozenset(ring.name for ring in kernel.rings)
        by_one = rings - kernel.gathered_rings if kernel.block_rings or not kernel.gathers else frozenset[str]()
        if not by_one:
            _each_work_group(Producer(code, {}, collective, part=rings), kernel, Supply)
            return []

        def loader() -> list[Val]:
            with w.when(w.compare("eq", thread, word(0))):
                _each_work_group(Producer(code, {}, collective, part=by_one, alone=True), kernel, Supply)
            return []

        def decoders() -> list[Val]:
            code.env = dict(parameters)
            role = Producer(code, {}, collective, part=rings - by_one, checks=False, first=1)
            _each_work_group(role, kernel, Supply)
            return []

        if by_one == rings:
            return loader()
        return list(w.either(w.compare("eq", warpgroup, word(0)), loader, decoders))

    def consumer() -> list[Val]:
        if _shares_out(kernel):
            ptx.give_registers(kernel.consumers.registers, more=True)
        code.env = dict(parameters)
        code.own = _own(code, w.sub(warpgroup, word(producers)), thread)
        role = Consumer(code, {}, collective)
        role.prepare()
        _each_work_group(role, kernel, Await)
        role.finish()
        return []

    w.either(w.compare("slt", warpgroup, word(producers)), producer, consumer)


def _shares_out(kernel: TileKernel) -> bool:
    """Whether consumers need more registers than all threads begin with."""
    return kernel.consumers.registers > min(255, _REGISTERS // kernel.threads // 8 * 8)


def _make_barriers(code: TileCode, ring: Ring) -> None:
    arrivals, warps = 1 + (WARPGROUP // WARP if ring.name in code.kernel.gathered_rings else 0), WARPGROUP // WARP
    readers = code.consumers * (warps if code.multiplies else 1)
    readers = warps if ring.name in code.kernel.block_rings else readers
    for number in range(ring.slots):
        code.ptx.init_barrier(code.shared_address(code.places.full[ring.name] + 8 * number), arrivals)
        code.ptx.init_barrier(code.shared_address(code.places.empty[ring.name] + 8 * number), readers)


def _own(code: TileCode, consumer: Val, thread: Val) -> ComponentsPlace:
    """Where a consumer's thread has its first component."""
    w = code.w
    warp = w.binary("and", w.binary("lshr", thread, word(5)), word(3))
    down, along = place_in_warp(code.kernel.fragment, w, code.lane)
    return ComponentsPlace(consumer, w.add(w.mul(warp, word(16)), down), along)


def _collective(function: Function) -> Sequence[Op]:
    """The instructions outside of `parallel`."""
    return [op for op in function.body.ops if not isinstance(op, Parallel)]


# --- work-groups -------------------------------------------------------------------------------


def _each_work_group(role: TileRole, kernel: TileKernel, kind: type[Supply] | type[Await]) -> None:
    """Write what a role does in each work-group of its CTA; `kind` are its steps that go on in rings."""
    code, w = role.code, role.code.w
    body = (kernel.producer if kind is Supply else kernel.consumers).body
    names = sorted({step.ring for step in walk(body) if isinstance(step, kind)})
    first = w.intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", "i32")
    sizes = [w.convert("trunc", size, "i32") for size in code.grid]

    parts = kernel.parts

    def go(number: Val, values: Sequence[Val]) -> list[Val]:
        rest = iter(values)
        role.rings = {name: RingPlace(next(rest), next(rest), word(0)) for name in names}
        role.known = known
        role.registers = {}
        role.count, work_group = number, number
        if parts is not None:
            work_group = w.binary("udiv", number, word(parts.count))
            part = w.sub(number, w.mul(work_group, word(parts.count)))
            code.set(parts.number, uniform(INDEX, w.convert("zext", part, "i64")))
        code.group = _place_of(code, kernel.order, work_group, sizes)
        role.steps(body)
        return [value for place in role.rings.values() for value in (place.slot, place.parity)]

    begin = [word(0)] * (2 * len(names))
    known = Known(held=dict.fromkeys(names, 0))
    known = at_begin(body, known) if kernel.order.persistent else known
    if not kernel.order.persistent:
        go(first, begin)
        return
    count = w.mul(w.mul(sizes[0], sizes[1]), sizes[2])
    count = count if parts is None else w.mul(count, word(parts.count))
    step = w.intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", "i32")

    def inside(values: tuple[Val, ...]) -> Val:
        return w.compare("slt", values[0], count)

    w.repeat([first, *begin], inside, lambda values: [w.add(values[0], step), *go(values[0], values[1:])])


def _place_of(code: TileCode, order: WorkOrder, number: Val, sizes: Sequence[Val]) -> tuple[Val, Val, Val]:
    """The work-group of a number in the order, as i64s (docs/design/tile.md, "The interface of a kernel")."""
    w, (across, down, _) = code.w, sizes
    layer = w.mul(across, down)
    z = w.binary("udiv", number, layer)
    rest = w.sub(number, w.mul(z, layer))
    band = w.mul(word(order.group), down)
    before = w.binary("udiv", rest, band)
    begin = w.mul(before, word(order.group))
    width = w.smaller(w.sub(across, begin), word(order.group))
    within = w.sub(rest, w.mul(before, band))
    y = w.binary("udiv", within, width)
    x = w.add(begin, w.sub(within, w.mul(y, width)))
    if order.last_first:
        x = w.sub(w.sub(across, word(1)), x)
    return w.convert("zext", x, "i64"), w.convert("zext", y, "i64"), w.convert("zext", z, "i64")
