"""Kernels of one warpgroup that multiply what a copy brings into shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.back.nvptx.ptx_machine import LaunchRecord, PtxModule
from tests.back.nvptx.ptx_machine.layout import aligned
from tests.back.nvptx.snippets import HEAD

Array = NDArray[Any]
SPANS = {0: 0, 128: 1, 64: 2, 32: 3}
"""The numbers of swizzles in a descriptor, by their bytes."""


def descriptor_bits(leading: int = 0, stride: int = 0, span: int = 0, base: int = 0) -> int:
    """A matrix descriptor without the address (PTX ISA "Matrix Descriptor Format")."""
    return leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | SPANS[span] << 62


@dataclass(frozen=True)
class Image:
    """A factor as it lies in shared memory, its descriptor without the address, and where it begins in its bytes."""

    bytes: Array
    bits: int
    begin: int = 0


def product_text(
    opcode: str,
    registers: int,
    a: Image | int,
    b: Image,
    modifiers: str = "",
    *,
    adds: bool = True,
    float32: bool = True,
) -> str:
    """A kernel `f` that multiplies once: its parameters are images in a row, sums, registers of the left factor.

    `a` is an image, or how many registers of 32 bits each thread has of it. Sums are `registers` of each thread; they
    are read before, and written behind, the product.
    """
    first = 0 if isinstance(a, int) else len(a.bytes)
    kind = "f32" if float32 else "b32"
    sums = [f"%s{n}" for n in range(registers)]
    loads = [f"ld.global.{kind} {one}, [%d1+{4 * n}];" for n, one in enumerate(sums)]
    stores = [f"st.global.{kind} [%d1+{4 * n}], {one};" for n, one in enumerate(sums)]
    left = "%d4"
    if isinstance(a, int):
        left = "{" + ", ".join(f"%a{n}" for n in range(a)) + "}"
        loads += [f"ld.global.b32 %a{n}, [%d2+{4 * n}];" for n in range(a)]
    total = first + len(b.bytes)
    return f"""{HEAD}
.shared .align 1024 .b8 image[{total}];
.shared .align 8 .b64 counter;
.visible .entry f(.param .u64 given, .param .u64 sums, .param .u64 left)
{{
.reg .b64 %d<8>; .reg .b32 %r<8>; .reg .pred %q<4>; .reg .{kind} %s<{registers}>; .reg .b32 %a<4>;
ld.param.u64 %d0, [given]; ld.param.u64 %d1, [sums]; ld.param.u64 %d2, [left];
mov.u32 %r0, %tid.x; mov.u32 %r1, image; mov.u32 %r2, counter;
mad.wide.u32 %d1, %r0, {4 * registers}, %d1; mad.wide.u32 %d2, %r0, 16, %d2;
setp.ne.u32 %q0, %r0, 0;
@%q0 bra BEGUN;
mbarrier.init.shared::cta.b64 [%r2], 1;
fence.proxy.async.shared::cta;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {total};
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d0], {total}, [%r2];
BEGUN: bar.sync 0;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q1, [%r2], 0;
@!%q1 bra WAIT;
{chr(10).join(loads)}
{_address("%d4", 0 if isinstance(a, int) else a.begin, 0 if isinstance(a, int) else a.bits)}
{_address("%d5", first + b.begin, b.bits)}
setp.eq.u32 %q2, {int(adds)}, 1;
wgmma.fence.sync.aligned;
{opcode} {{{", ".join(sums)}}}, {left}, %d5, %q2{modifiers};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{chr(10).join(stores)}
ret;
}}
"""


def _address(to: str, offset: int, bits: int) -> str:
    return f"add.u32 %r3, %r1, {offset}; shr.u32 %r3, %r3, 4; cvt.u64.u32 {to}, %r3; or.b64 {to}, {to}, {bits:#x};"


def multiply(
    text: str, images: Sequence[Array], sums: Array, left: Array | None = None, **options: Any
) -> LaunchRecord:
    """Launch a kernel of `product_text`; `sums` are what registers hold, `[thread, register]`, before and behind it."""
    given = np.concatenate([one.view(np.uint8).reshape(-1) for one in images])
    held = aligned(len(given), 128)
    held[:] = given
    beside = np.zeros((128, 4), np.uint32) if left is None else left
    addresses = np.array([one.ctypes.data for one in (held, sums, beside)], np.uint64).view(np.uint8)
    return PtxModule.parse(text).launch("f", (1, 1, 1), 128, addresses, memory=[held, sums, beside], **options)
