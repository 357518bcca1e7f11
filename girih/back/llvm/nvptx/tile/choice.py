"""Which kernels are compiled as tile programs, and what is remarked about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from girih.facts import remarks as words
from girih.facts.remarks import Remarks
from girih.ir.core import Entry, Function, Op
from girih.ops.tile.control import For
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd
from girih.tile.budget import MOST_SHARED_BYTES
from girih.tile.form import Choose, Compute, LoopAdvice, Multiply, Repeat, Steps, Supply, TileKernel, walk
from girih.tile.products import depth_loop
from girih.tile.program import NoTileProgram, has_matrices
from girih.tile.program import walk as walk_ops
from girih.tile.recognise import tile_kernel

_KIB = 1024
_ONE_BY_ONE = "iterations follow one another"
_NO_TILE_PROGRAM = "the kernel is no tile program, whose copies run by themselves"


def chosen_tile_kernel(
    function: Function, architecture: NvidiaArchitecture, variant: CudaVariant, remarks: Remarks, *, checks: bool
) -> TileKernel | None:
    """The tile kernel that a kernel is compiled as; None where it is none, or the variant or architecture has none."""
    if not variant.tile or not architecture.wide_products or not has_matrices(function):
        return None
    if not any(isinstance(op, CooperativeMatrixMulAdd) for op in function.walk()):
        return None  # Matrices without products are flat, or the remark `cuda.matrix` says why they are not.
    try:
        kernel = tile_kernel(function, checks=checks, maps=variant.engine, sent=variant.sent, parts=variant.depth_parts)
    except NoTileProgram as reason:
        remarks.note(words.no_tile_program(reason.reason, reason.hint), reason.span)
        for stages in _stages_of_loops(function.walk()):
            remarks.note(words.hint_not_followed(f"stages={stages.value}", _ONE_BY_ONE, _NO_TILE_PROGRAM), stages.span)
        return None
    products = not any(isinstance(step, Multiply) for step in walk(kernel.consumers.body))
    remarks.note(words.tile_program(_described(kernel), products=products), function.span)
    for one in dict.fromkeys(kernel.slower):
        remarks.note(words.gathered_tile(one.reason, one.hint), one.span)
    for hint, taken, why in _not_followed(kernel):
        remarks.note(words.hint_not_followed(hint, taken, why), function.span)
    for advice, taken, why in _advice_not_followed(kernel):
        hint = "pipeline=false" if advice.stages is None else f"stages={advice.stages}"
        remarks.note(words.hint_not_followed(hint, taken, why), advice.span)
    return kernel


def _stages_of_loops(ops: Iterable[Op]) -> Iterator[Entry]:
    """The hints of loops that iterations be on their way, one entry each."""
    for op in ops:
        entry = op.hints.entry("stages") if isinstance(op, For) else None
        if entry is not None and entry.value != 1:
            yield entry


def _advice_not_followed(kernel: TileKernel) -> Iterator[tuple[LoopAdvice, str, str]]:
    """What loops ask for that a kernel does not follow, what is taken, and why."""
    rings: dict[LoopAdvice, set[str]] = {}
    for role in (kernel.producer, kernel.consumers):
        for step in walk(role.body):
            if isinstance(step, Repeat) and step.advice is not None:
                rings.setdefault(step.advice, set()).update(_filled(step.body))
            elif isinstance(step, Compute):  # Loops of scalars only.
                for stages in _stages_of_loops(walk_ops((step.op,))):
                    assert isinstance(stages.value, int)
                    rings.setdefault(LoopAdvice(stages.value, True, stages.span), set())
    for advice, names in rings.items():
        held = [kernel.ring(name) for name in names]
        slots, bytes = max((ring.slots for ring in held), default=0), sum(ring.slot_bytes for ring in held)
        if not held and advice.overlap:
            yield advice, _ONE_BY_ONE, "the loop itself loads no tile that a product takes"
        elif advice.stages is not None and advice.stages > 1 and not advice.overlap:
            yield advice, "one is taken", "`pipeline=false` says that iterations do not overlap"
        elif advice.slots is not None and held and slots < advice.slots:
            why = f"a stage takes {bytes} of {MOST_SHARED_BYTES} bytes of shared memory"
            yield advice, f"{slots} are taken", why
        elif advice.slots is not None and slots > advice.slots:
            yield advice, f"{slots} are taken", "another loop uses the same shared memory, and asks for more"


def _filled(steps: Steps) -> Iterator[str]:
    """The rings that iterations of a loop fill themselves, not in loops inside of them."""
    for step in steps:
        if isinstance(step, Supply):
            yield step.ring
        elif isinstance(step, Choose):
            yield from _filled((*step.then, *step.otherwise))


def _not_followed(kernel: TileKernel) -> Iterator[tuple[str, str, str]]:
    """The hints of a kernel that it does not follow, what is taken, and why."""
    hints, consumers = kernel.function.hints("hopper"), kernel.consumers.warpgroups
    of_loops = {
        name for step in walk(kernel.producer.body) if isinstance(step, Repeat) and step.advice is not None
        for name in _filled(step.body)
    }  # fmt: skip
    open = [ring for ring in kernel.rings if ring.slots > 1 and ring.name not in of_loops]
    stages, slots = hints.get("stages"), max((ring.slots for ring in open), default=1)
    if isinstance(stages, int) and slots > 1 and stages != slots:
        bytes = sum(ring.slot_bytes for ring in open)
        why = f"a stage takes {bytes} of {MOST_SHARED_BYTES} bytes of shared memory"
        why = why if stages > 1 else "one is computed with while the next comes"
        yield f"stages={stages}", f"{slots} are taken", why
    asked = hints.get("consumers")
    if isinstance(asked, int) and asked != consumers:
        why = f"rows of matrices are no multiples of {64 * asked}, or registers do not suffice"
        yield f"consumers={asked}", f"{consumers} are taken", why
    cluster = hints.get("cluster")
    if isinstance(cluster, tuple) and any(size != 1 for size in cluster):
        yield f"cluster={list(cluster)}", "each loads for itself", "work-groups do not share what they load"


def _of_depth(kernel: TileKernel) -> str:
    """Whether the depth may be shared out, and why not, in words."""
    try:
        depth_loop(kernel)
    except NoTileProgram as reason:
        return f"the depth stays whole: {reason.reason}" + (f"; {reason.hint}" if reason.hint else "")
    return "work-groups of the machine share out the depth where a launch has few work-groups"


def _described(kernel: TileKernel) -> str:
    """What a tile kernel consists of, in words."""
    consumers = kernel.consumers.warpgroups
    parts = [f"{consumers} {'group' if consumers == 1 else 'groups'} of 128 work-items compute"]
    for ring in kernel.rings:
        tiles = " and ".join(f"{tile.component} {tile.lines}x{tile.span}" for tile in ring.tiles)
        slots = "1 slot" if ring.slots == 1 else f"{ring.slots} slots"
        parts.append(f"{slots} of {-(-ring.slot_bytes // _KIB)} KiB for {tiles}")
    if kernel.parts is None:
        parts.append(_of_depth(kernel))
    else:
        parts.append(f"{kernel.parts.count} work-groups of the machine share out the depth")
    names = dict.fromkeys(f"%{kernel.function.parameters[one.parameter].name}" for one in kernel.maps)
    return "; ".join([*parts, f"maps of {', '.join(names)}" if names else "no maps"])
