"""Subgroups that wait for each other at barriers: each is a coroutine of its own, resumed in turn.

LLVM splits the coroutine; its frame is allocated when the region begins and freed when it ends. A barrier suspends.
"""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.machine.capture import Capture, rewritten
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.emit.text import Val, integer, lanes, scalar, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import ExecutionPlace, MemoryFrame
from girih.facts import remarks
from girih.ir.core import RegionKind
from girih.ir.uses import free_values
from girih.ops.tile.control import Parallel

_FRAME_ALIGNMENT = 64


def run_as_coroutines(code: CpuCode, op: Parallel) -> None:
    """Write a parallel region with barriers for a work-group of several subgroups."""
    code.remarks.note(remarks.coroutine(code.geometry.subgroups, code.geometry.subgroup_size))
    capture = Capture()
    name, bytes = _write_coroutine(code, op, capture)
    count = code.geometry.subgroups
    w = code.w
    memory = code.take(capture.size)
    capture.store(w, memory)
    handles = code.take(8 * count)
    workspace = code.take(count * bytes)
    with w.loop(0, count) as loop:
        piece = w.at(workspace, w.mul(loop.index, bytes))
        handle = w.effect("ptr", f"call ptr @{name}({memory}, {loop.index}, {piece})")
        w.store(handle, w.at(handles, w.mul(loop.index, 8)), 8)
    _resume_all(code, handles, count)
    failed = w.atomic_load("i32", code.record, 4)
    w.unlikely(w.compare("ne", failed, integer(0, "i32")), code.exit)


def _resume_all(code: CpuCode, handles: Val, count: int) -> None:
    """Resume the coroutines that have not finished, round after round; in the end free all of them."""
    w = code.w
    w.module.declare("llvm.coro.done", "i1", ("ptr",))
    w.module.declare("llvm.coro.resume", "void", ("ptr",))
    w.module.declare("llvm.coro.destroy", "void", ("ptr",))

    def round_(_: tuple[Val, ...]) -> list[Val]:
        with w.loop(0, count, 1, [integer(0, "i1")]) as loop:
            handle = w.load("ptr", w.at(handles, w.mul(loop.index, 8)), 8)
            done = w.effect("i1", f"call i1 @llvm.coro.done({handle})")

            def resume() -> list[Val]:
                w.run("llvm.coro.resume", handle)
                after = w.effect("i1", f"call i1 @llvm.coro.done({handle})")
                return [w.effect("i1", f"xor {after}, true")]

            (going,) = w.either(done, lambda: [integer(0, "i1")], resume)
            loop.following = [w.binary("or", loop.values[0], going)]
        # A subgroup that failed is through; the others must not wait for it.
        failed = w.atomic_load("i32", code.record, 4)
        fine = w.compare("eq", failed, integer(0, "i32"))
        return [w.binary("and", loop.results[0], fine)]

    w.repeat([integer(1, "i1")], lambda values: values[0], round_)
    with w.loop(0, count) as loop:
        handle = w.load("ptr", w.at(handles, w.mul(loop.index, 8)), 8)
        w.run("llvm.coro.destroy", handle)


def _write_coroutine(code: CpuCode, op: Parallel, capture: Capture) -> tuple[str, int]:
    """The name of the function of one subgroup, and the bytes of the workspace that it needs."""
    name = f"{code.debug.linkage_name}.parallel{len(code.module.functions)}"
    span = op.span
    debug = code.debug.of_part(name, span)
    header = (
        f"define internal ptr @{name}(ptr %context, i64 %subgroup, ptr %workspace) "
        f"presplitcoroutine noinline{debug.attached}"
    )
    w = Writer(code.module, header)
    w.location = debug.at(span)
    handle = begin(w)
    memory = Val("%context", "ptr")
    inner = replace(
        code,
        w=w,
        debug=debug,
        frame=MemoryFrame(),
        workspace=Val("%workspace", "ptr"),
        place=ExecutionPlace(
            kind=RegionKind.SPMD, lanes=code.geometry.subgroup_size, mask=None, subgroup=Val("%subgroup", "i64")
        ),
        suspend=lambda: suspend(w),
        common=lambda size: _pointer(capture.moved(code.take(size), w, memory)),
        exit=lambda: w.jump("final"),
        **{
            key: capture.moved(getattr(code, key), w, memory)
            for key in ("arguments", "record", "group", "grid", "linear_group", "prints", "print_step")
        },
    )
    inner.env = {}
    for value in free_values(op):
        inner.env[value] = _slice(inner, capture.moved(code.env[value], w, memory))
    inner.region(op.body)
    end(w, handle)
    w.finish()
    return name, -(-inner.frame.most // 128) * 128


def _pointer(held: object) -> Val:
    """A captured value, which is a pointer."""
    assert isinstance(held, Val)
    return held


def _slice(code: CpuCode, held: object) -> object:
    """The subgroup's part of a value that differs between all work-items of the work-group."""
    w = code.w
    total = code.geometry.subgroups

    def part(value: Val) -> Val:
        if lanes(value.type) != total * code.lanes:
            return value
        if value.text[0] != "%":
            return Val(value.text, wide(scalar(value.type), code.lanes), value.level)
        pieces = [w.part(value, k * code.lanes, code.lanes) for k in range(total)]
        chosen = pieces[0]
        for number in range(1, total):
            here = w.compare("eq", code.place.subgroup, integer(number))
            chosen = w.select(here, pieces[number], chosen)
        return chosen

    return rewritten(held, part)


def begin(w: Writer) -> Val:
    """The coroutine's identity, its frame, and its handle."""
    module = w.module
    module.declare("llvm.coro.id", "token", ("i32", "ptr", "ptr", "ptr"))
    module.declare("llvm.coro.size.i64", "i64", ())
    module.declare("llvm.coro.begin", "ptr", ("token", "ptr"))
    module.declare("llvm.coro.suspend", "i8", ("token", "i1"))
    module.declare("llvm.coro.free", "ptr", ("token", "ptr"))
    module.declare("llvm.coro.end", "void", ("ptr", "i1", "token"))
    module.declare("aligned_alloc", "ptr", ("i64", "i64"))
    module.declare("free", "void", ("ptr",))
    w.line(f"%id = call token @llvm.coro.id(i32 {_FRAME_ALIGNMENT}, ptr null, ptr null, ptr null)")
    size = w.effect("i64", "call i64 @llvm.coro.size.i64()")
    rounded = w.binary("and", w.add(size, _FRAME_ALIGNMENT - 1), -_FRAME_ALIGNMENT)
    frame = w.effect("ptr", f"call ptr @aligned_alloc(i64 {_FRAME_ALIGNMENT}, {rounded})")
    return w.effect("ptr", f"call ptr @llvm.coro.begin(token %id, {frame})")


def suspend(w: Writer) -> None:
    """Suspend the coroutine until it is resumed."""
    state = w.effect("i8", "call i8 @llvm.coro.suspend(token none, i1 false)")
    after = w.name("resumed")
    w.line(f"switch {state}, label %suspended [i8 0, label %{after} i8 1, label %cleanup]")
    w.label(after)


def end(w: Writer, handle: Val) -> None:
    """Write the final block, at which the coroutine has finished, and the function's return."""
    w.jump("final")
    w.label("final")
    state = w.effect("i8", "call i8 @llvm.coro.suspend(token none, i1 true)")
    w.line(f"switch {state}, label %suspended [i8 0, label %never i8 1, label %cleanup]")
    w.label("never")
    w.unreachable()
    w.label("cleanup")
    memory = w.effect("ptr", f"call ptr @llvm.coro.free(token %id, {handle})")
    w.run("free", memory)
    w.jump("suspended")
    w.label("suspended")
    w.line("call void @llvm.coro.end(ptr null, i1 false, token none)")
    w.ret(handle)
