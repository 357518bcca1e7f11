"""The intrinsics of LLVM that code may call: for any other, code generation could end the process.

Every one of them lowers for x86-64 of any level and AArch64, to instructions or to functions of the C library, for the
types that girih uses; `tests/runtime/test_cpu_machine.py` assembles them all.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.back.llvm.assemble.processors import Family

COROUTINES = "llvm.coro."
"""The start of the names that only LLVM's optimiser takes away."""

_NAMES = """
sqrt fabs floor ceil trunc rint nearbyint roundeven exp exp2 log log2 log10 sin cos
copysign minnum maxnum minimum maximum pow fma fmuladd
ctpop bswap bitreverse abs ctlz cttz smin smax umin umax sadd.sat ssub.sat uadd.sat usub.sat fshl fshr
scmp ucmp is.fpclass
sadd.with.overflow ssub.with.overflow smul.with.overflow uadd.with.overflow usub.with.overflow umul.with.overflow
vector.reduce.add vector.reduce.mul vector.reduce.and vector.reduce.or vector.reduce.xor
vector.reduce.smin vector.reduce.smax vector.reduce.umin vector.reduce.umax
vector.reduce.fadd vector.reduce.fmul vector.reduce.fmin vector.reduce.fmax vector.partial.reduce.add
masked.load masked.store masked.gather masked.scatter fptosi.sat
memcpy memmove memset prefetch assume trap stacksave stackrestore
"""

GENERAL = frozenset(f"llvm.{name}" for name in _NAMES.split())
"""For every processor; the name may go on with the types, as in `llvm.fma.v16f32`."""

SPECIAL: Mapping[str, tuple[Family, str]] = {
    "llvm.x86.sse2.pause": ("x86_64", ""),
    "llvm.x86.avx512bf16.dpbf16ps.512": ("x86_64", "avx512bf16"),
    "llvm.x86.avx512bf16.dpbf16ps.256": ("x86_64", "avx512bf16"),
    "llvm.x86.avx512bf16.dpbf16ps.128": ("x86_64", "avx512bf16"),
    "llvm.x86.avx512bf16.cvtneps2bf16.512": ("x86_64", "avx512bf16"),
    "llvm.x86.avx512bf16.cvtneps2bf16.256": ("x86_64", "avx512bf16"),
    "llvm.x86.avx512bf16.cvtne2ps2bf16.512": ("x86_64", "avx512bf16"),
    "llvm.x86.avx512.pmaddw.d.512": ("x86_64", "avx512bw"),
    "llvm.x86.avx2.pmadd.wd": ("x86_64", "avx2"),
    "llvm.x86.sse2.pmadd.wd": ("x86_64", ""),
    "llvm.x86.avx512.vpdpbusd.512": ("x86_64", "avx512vnni"),
    "llvm.x86.avx512.vpdpbusd.256": ("x86_64", "avx512vnni avxvnni"),
    "llvm.x86.avx512.vpdpbusd.128": ("x86_64", "avx512vnni avxvnni"),
    "llvm.x86.vcvtps2ph.128": ("x86_64", "f16c"),
    "llvm.x86.vcvtps2ph.256": ("x86_64", "f16c"),
    "llvm.x86.ldtilecfg": ("x86_64", "amx-tile"),
    "llvm.x86.tilerelease": ("x86_64", "amx-tile"),
    "llvm.x86.tilezero": ("x86_64", "amx-tile"),
    "llvm.x86.tileloadd64": ("x86_64", "amx-tile"),
    "llvm.x86.tilestored64": ("x86_64", "amx-tile"),
    "llvm.x86.tdpbf16ps": ("x86_64", "amx-bf16"),
    "llvm.x86.tdpfp16ps": ("x86_64", "amx-fp16"),
    "llvm.x86.tdpbssd": ("x86_64", "amx-int8"),
    "llvm.aarch64.hint": ("aarch64", ""),
    "llvm.aarch64.neon.bfdot.v4f32.v8bf16": ("aarch64", "bf16"),
}
"""For one instruction set: the name as a whole, and the feature that it needs, or several of which it needs one."""


def refusal(name: str, family: Family, features: frozenset[str]) -> str:
    """The reason why code for a processor may not call an intrinsic; empty if it may."""
    special = SPECIAL.get(name)
    if special is not None:
        needed_family, needed = special
        if needed_family != family:
            return f"which is an instruction of {needed_family}"
        return f"which needs {needed.replace(' ', ' or ')}" if needed and features.isdisjoint(needed.split()) else ""
    parts = name.split(".")
    if any(".".join(parts[:count]) in GENERAL for count in range(2, len(parts) + 1)):
        return ""
    if name.startswith(COROUTINES):
        return "which only the optimiser takes away"
    return "which is not in the table of intrinsics"
