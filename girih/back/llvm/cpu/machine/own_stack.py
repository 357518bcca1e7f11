"""A stack of its own for a kernel that may need much of it, since the stacks of calling threads may be small.

LLVM keeps in a function's frame all values that do not fit the registers, and does not tell how many bytes they take.
These are not more than all values of the function, and hardly more than those that are alive together. A kernel with a
function of very many runs on a piece at the end of its workspace.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from girih.back.llvm.cpu.machine.abi import WORKSPACE_ALIGNMENT
from girih.back.llvm.emit.text import ModuleText, Val, value_bytes
from girih.back.llvm.emit.writer import Writer

_ALL_BYTES = 32 << 10
"""A function whose values take no more than this has a small frame, whichever of them are alive together."""

_ALIVE_BYTES = 12 << 10
"""Values of so many bytes may be alive together in a function on the stack of its thread."""

_MARGIN = 64 << 10
"""What is called besides, such as the C library, and handlers of signals."""


def stack_bytes(module: ModuleText) -> int:
    """The bytes of a stack of its own for a complete kernel; 0 for one that needs none."""
    pairs = zip(module.functions, module.value_bytes, strict=True)
    if not any(bytes > _ALL_BYTES and _most_alive(text) > _ALIVE_BYTES for text, bytes in pairs):
        return 0
    # No function is called while it runs already. Values that LLVM adds are counted as once more the same.
    needed = 2 * sum(module.value_bytes) + _MARGIN
    return -(-needed // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT


def enter_on_own_stack(module: ModuleText, symbol: str, body: str, end: int) -> None:
    """Write the function `symbol`: it calls `body` on a stack that ends `end` bytes behind the workspace's start.

    The piece on its own stack, of a size that LLVM does not know, makes LLVM find its own frame by the frame pointer.
    """
    parameters = "ptr %arguments, ptr %workspace, i64 %first, i64 %last"
    w = Writer(module, f'define void @"{symbol}"({parameters}) nounwind noinline "frame-pointer"="all"')
    module.declare("llvm.stacksave.p0", "ptr", ())
    module.declare("llvm.stackrestore.p0", "void", ("ptr",))
    module.declare("llvm.prefetch.p0", "void", ("ptr", "i32", "i32", "i32"))
    workspace = Val("%workspace", "ptr")
    before = w.effect("ptr", "call ptr @llvm.stacksave.p0()")
    w.prefetch(w.effect("ptr", f"alloca i8, {w.opaque(w.value(16))}"))
    w.run("llvm.stackrestore.p0", w.at(workspace, end))
    w.run(f'"{body}"', Val("%arguments", "ptr"), workspace, Val("%first", "i64"), Val("%last", "i64"))
    w.run("llvm.stackrestore.p0", before)
    w.ret()
    w.finish()


# --- what is alive -----------------------------------------------------------------------------

_NAME = re.compile(r"%[\w.]+")
_VECTOR = re.compile(r"<\d+ x \w+>")


def _most_alive(text: str) -> int:
    """About the bytes of the values of a function that are alive at one of its lines, where that is the most.

    A value lives to its last use in the text, and where that is in a loop behind its definition, to the loop's end.
    """
    lines = text.splitlines()
    defined: dict[str, int] = {}
    last: dict[str, int] = {}
    heads: dict[str, int] = {}
    ends: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if line[:1] != " ":
            heads["%" + line.rstrip(":")] = number
            continue
        names = _NAME.findall(line)
        if line.startswith("  %"):
            defined[names[0]] = number
        elif line.startswith("  br label") and names[0] in heads:
            ends.append((heads[names[0]], number))
        for name in names:
            last[name] = number
    # Inner loops end first. Few values are used behind the head of a loop that they are defined before.
    begins = sorted(head for head, _ in ends)
    crossing = [
        name for name, number in defined.items() if bisect_right(begins, number) < bisect_right(begins, last[name])
    ]
    for head, end in ends:
        for name in crossing:
            if defined[name] < head < last[name] < end:
                last[name] = end
    change = [0] * (len(lines) + 1)
    for name, number in defined.items():
        found = _VECTOR.search(lines[number]) if "<" in lines[number] else None
        bytes = value_bytes(found[0]) if found is not None else 8
        change[number] += bytes
        change[max(last[name], number) + 1] -= bytes
    alive = most = 0
    for one in change:
        alive += one
        most = max(most, alive)
    return most
