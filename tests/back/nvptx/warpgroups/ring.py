"""A product of matrices as warps with roles compute it: one that copies into a ring, others that multiply.

`C = A B'` in bf16, one CTA: `A` has 64 rows for each consumer, `B` has `columns` rows, both a depth of 64 `steps`. The
producer is one thread of the first warpgroup; a slot of the ring has an mbarrier that says that it is full, and one
that says that all consumers have done with it. Sums go out through shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from girih.addressing import BoundTensorMap, TensorMap
from tests.back.nvptx.ptx_machine import LaunchRecord, PtxModule
from tests.back.nvptx.ptx_machine.layout import aligned
from tests.back.nvptx.snippets import HEAD, descriptor, packed
from tests.back.nvptx.warpgroups.texts import descriptor_bits

Array = NDArray[Any]
BF16 = ml_dtypes.bfloat16
DEPTH, SPAN = 64, 128


@dataclass(frozen=True)
class Ring:
    """The sizes of a product."""

    columns: int = 64
    slots: int = 3
    consumers: int = 2
    producer_registers: int = 40
    consumer_registers: int = 232

    @property
    def threads(self) -> int:
        return 128 * (1 + self.consumers)

    @property
    def left_bytes(self) -> int:
        return self.consumers * 64 * SPAN

    @property
    def slot_bytes(self) -> int:
        return self.left_bytes + self.columns * SPAN

    @property
    def result(self) -> int:
        """Where the result of the first consumer lies, behind the ring."""
        return self.slots * self.slot_bytes

    @property
    def result_bytes(self) -> int:
        """The bytes of the result of each consumer."""
        return 64 * self.columns * 2

    @property
    def barriers(self) -> int:
        """Where the mbarriers lie: those that are full, then those that are free."""
        return self.result + self.consumers * self.result_bytes

    @property
    def shared_bytes(self) -> int:
        return self.barriers + 16 * self.slots

    def text(self) -> str:
        """The kernel `ring`: its parameters are the maps of `A`, `B` and `C`, and `steps`."""
        return f"""{HEAD}
.extern .shared .align 1024 .b8 memory[];
.visible .entry ring(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .align 64 .b8 c[128],
    .param .u32 steps) .maxntid {self.threads} .minnctapersm 1
{{
.reg .b64 %d<24>; .reg .b32 %r<48>; .reg .b32 %o<4>; .reg .pred %q<8>; .reg .f32 %s<{self.columns // 2}>;
mov.b64 %d0, a; cvta.param.u64 %d0, %d0; mov.b64 %d1, b; cvta.param.u64 %d1, %d1;
mov.b64 %d2, c; cvta.param.u64 %d2, %d2; ld.param.u32 %r1, [steps];
mov.u32 %r0, %tid.x; mov.u32 %r2, memory; add.u32 %r3, %r2, {self.barriers}; add.u32 %r4, %r3, {8 * self.slots};
setp.ne.u32 %q0, %r0, 0;
@%q0 bra BEGUN;
prefetch.tensormap [%d0]; prefetch.tensormap [%d1];
{self._inits()}
fence.mbarrier_init.release.cluster;
BEGUN: bar.sync 0;
mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;
setp.lt.u32 %q1, %r0, 128;
@%q1 bra PRODUCER;
{self._consumer()}
PRODUCER:
setmaxnreg.dec.sync.aligned.u32 {self.producer_registers};
setp.ge.u32 %q2, %r0, 32;
@%q2 bra END;
elect.sync _|%q2, -1;
@!%q2 bra END;
COPY: mad.lo.u32 %r8, %r6, 8, %r4; mad.lo.u32 %r9, %r6, 8, %r3; xor.b32 %r10, %r7, 1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 %q3, [%r8], %r10;
@!%q3 bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], {self.slot_bytes};
mad.lo.u32 %r11, %r6, {self.slot_bytes}, %r2; add.u32 %r12, %r11, {self.left_bytes}; shl.b32 %r13, %r5, 6;
mov.u32 %r14, 0;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%d0, {{%r13, %r14}}], [%r9];
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r12], [%d1, {{%r13, %r14}}], [%r9];
{self._next("%r5", "%r6", "%r7")}
setp.lt.u32 %q3, %r5, %r1; @%q3 bra COPY;
END: ret;
}}
"""

    def _inits(self) -> str:
        full = [f"mbarrier.init.shared::cta.b64 [%r3+{8 * k}], 1;" for k in range(self.slots)]
        free = [f"mbarrier.init.shared::cta.b64 [%r4+{8 * k}], {self.consumers};" for k in range(self.slots)]
        return "\n".join([*full, *free])

    def _next(self, step: str, slot: str, phase: str) -> str:
        """The next step, in the next slot."""
        return f"""add.u32 {step}, {step}, 1; add.u32 {slot}, {slot}, 1; setp.eq.u32 %q4, {slot}, {self.slots};
selp.u32 {slot}, 0, {slot}, %q4; xor.b32 %r15, {phase}, 1; selp.u32 {phase}, %r15, {phase}, %q4;"""

    def _consumer(self) -> str:
        sums = "{" + ", ".join(f"%s{n}" for n in range(self.columns // 2)) + "}"
        opcode = f"wgmma.mma_async.sync.aligned.m64n{self.columns}k16.f32.bf16.bf16"
        bits = descriptor_bits(0, 8 * SPAN, SPAN)
        products = []
        for k in range(DEPTH // 16):
            products.append(f"add.s64 %d5, %d3, {2 * k}; add.s64 %d6, %d4, {2 * k};")
            products.append(f"{opcode} {sums}, %d5, %d6, {'%q3' if not k else '%q7'}, 1, 1, 0, 0;")
        return f"""setmaxnreg.inc.sync.aligned.u32 {self.consumer_registers};
sub.u32 %r16, %r0, 128; shr.u32 %r17, %r16, 7; and.b32 %r18, %r16, 127; setp.eq.u32 %q2, %r18, 0;
setp.eq.u32 %q7, %r2, %r2;
STEP: mad.lo.u32 %r8, %r6, 8, %r3;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %q3, [%r8], %r7;
@!%q3 bra FULL;
mad.lo.u32 %r11, %r6, {self.slot_bytes}, %r2; add.u32 %r12, %r11, {self.left_bytes};
mad.lo.u32 %r11, %r17, {64 * SPAN}, %r11;
shr.u32 %r11, %r11, 4; cvt.u64.u32 %d3, %r11; or.b64 %d3, %d3, {bits:#x};
shr.u32 %r12, %r12, 4; cvt.u64.u32 %d4, %r12; or.b64 %d4, %d4, {bits:#x};
setp.ne.u32 %q3, %r5, 0;
wgmma.fence.sync.aligned;
{chr(10).join(products)}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 1;
and.pred %q5, %q3, %q2;
@!%q5 bra KEPT;
mad.lo.u32 %r19, %r20, 8, %r4;
mbarrier.arrive.shared::cta.b64 _, [%r19];
KEPT: mov.u32 %r20, %r6;
{self._next("%r5", "%r6", "%r7")}
setp.lt.u32 %q3, %r5, %r1; @%q3 bra STEP;
wgmma.wait_group.sync.aligned 0;
{self._result()}
ret;"""

    def _result(self) -> str:
        lines = [
            f"""and.b32 %r21, %r18, 7; shr.u32 %r22, %r18, 3; and.b32 %r23, %r22, 1; shr.u32 %r24, %r18, 5;
shl.b32 %r24, %r24, 4; mad.lo.u32 %r24, %r23, 8, %r24; add.u32 %r24, %r24, %r21; shr.u32 %r22, %r22, 1;
and.b32 %r22, %r22, 1;
mad.lo.u32 %r25, %r17, {self.result_bytes}, %r2; add.u32 %r25, %r25, {self.result};
mad.lo.u32 %r26, %r24, {SPAN}, %r25; add.u32 %r27, %r17, 1;"""
        ]
        for pair in range(self.columns // 16):
            for k in range(4):
                low = 8 * pair + 2 * k
                lines.append(f"cvt.rn.bf16x2.f32 %o{k}, %s{low + 1}, %s{low};")
            block, inside = divmod(pair, 4)
            lines.append(f"""add.u32 %r28, %r22, {2 * inside}; xor.b32 %r28, %r28, %r21;
mad.lo.u32 %r28, %r28, 16, %r26;
stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r28+{block * 64 * SPAN}], {{%o0, %o1, %o2, %o3}};""")
        lines.append("""fence.proxy.async.shared::cta;
bar.sync %r27, 128;
@!%q2 bra WRITTEN;
shl.b32 %r29, %r17, 6;""")
        for block in range(self.columns // 64):
            lines.append(f"add.u32 %r30, %r25, {block * 64 * SPAN}; mov.u32 %r31, {64 * block};")
            lines.append("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d2, {%r31, %r29}], [%r30];")
        lines += ["cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", "WRITTEN:"]
        return "\n".join(lines)

    def given(self, steps: int) -> tuple[list[BoundTensorMap], Array, Array]:
        """The maps of factors and result, the result, and what it shall be: of small integers, so that it is exact."""
        random = np.random.default_rng(steps)
        rows, depth = 64 * self.consumers, DEPTH * steps
        a, b, c = (_array(shape) for shape in ((rows, depth), (self.columns, depth), (rows, self.columns)))
        for one in (a, b):
            one[:] = random.integers(-3, 4, one.shape).astype(BF16)
        boxes = ([DEPTH, rows], [DEPTH, self.columns], [64, 64])
        maps = [_map(one, box) for one, box in zip((a, b, c), boxes, strict=True)]
        return maps, c, (a.astype(np.float32) @ b.astype(np.float32).T).astype(BF16)

    def launch(self, text: str, steps: int, **options: Any) -> tuple[Array, Array, LaunchRecord]:
        """What the kernel computes on the machine, and NumPy."""
        held, found, wanted = self.given(steps)
        maps = {descriptor(k): one for k, one in enumerate(held)}
        module = PtxModule.parse(text)
        given = packed(module, "ring", [*maps, np.int32(steps).tobytes()])
        memory = [one.array for one in held]
        record = module.launch(
            "ring", (1, 1, 1), self.threads, given, self.shared_bytes, memory=memory, maps=maps, **options
        )
        return found, wanted, record


def _array(shape: tuple[int, int]) -> Array:
    found: Array = aligned(2 * shape[0] * shape[1], 128).view(BF16).reshape(shape)
    return found


def _map(array: Array, box: list[int]) -> BoundTensorMap:
    rows, columns = array.shape
    given = TensorMap.tiled(
        dtype="bf16", global_dim=[columns, rows], global_strides=[2 * columns], box_dim=box, swizzle=f"{SPAN}B"
    )
    return given.bind(array)
