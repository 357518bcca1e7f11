"""The functions of LLVM that code for NVPTX may call: for any other, code generation could end the process.

Every one of them lowers for all architectures from sm_80 on, for the types that girih uses, or for those architectures
only on which it is used; tests/back/nvptx assembles them all.
"""

from __future__ import annotations

_NAMES = """
sqrt fabs floor ceil trunc rint nearbyint roundeven copysign minnum maxnum minimum maximum fma fmuladd
ctpop bswap bitreverse abs ctlz cttz smin smax umin umax sadd.sat ssub.sat uadd.sat usub.sat fshl fshr
sadd.with.overflow ssub.with.overflow smul.with.overflow uadd.with.overflow usub.with.overflow umul.with.overflow
fptosi.sat fptoui.sat memcpy memmove memset assume lifetime.start lifetime.end experimental.noalias.scope.decl
vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or vector.reduce.xor
vector.reduce.smin vector.reduce.smax vector.reduce.umin vector.reduce.umax scmp ucmp is.fpclass
nvvm.read.ptx.sreg nvvm.barrier.cta.sync.aligned nvvm.bar.warp.sync nvvm.shfl.sync nvvm.redux.sync
nvvm.ldmatrix.sync nvvm.cp.async nvvm.exit nvvm.ex2.approx.ftz nvvm.vote.all.sync
"""

GENERAL = frozenset(f"llvm.{name}" for name in _NAMES.split())
"""The name of a call may go on, as in `llvm.fma.f32`."""


def refusal(name: str) -> str:
    """The reason why code may not call a function that is declared only; empty if it may."""
    if not name.startswith("llvm."):
        return "which is not in the module: a GPU has no library of functions"
    parts = name.split(".")
    if any(".".join(parts[:count]) in GENERAL for count in range(2, len(parts) + 1)):
        return ""
    return "which is not in the table of intrinsics"
