"""The processors that can be compiled for by name, and how to tell what each of them has.

LLVM takes unknown names without a word to the caller and ends the process for those without 64 bits, hence the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Family = Literal["x86_64", "aarch64"]

# LLVM 22.1, `-mcpu=help`; without processors of 32 bits, spellings with `_`, and those whose own instructions (FMA4,
# XOP, the exponentials of Knights Landing) have no probe below.
_X86_64 = """
generic x86-64 x86-64-v2 x86-64-v3 x86-64-v4 core2 penryn nehalem corei7 westmere sandybridge corei7-avx ivybridge
core-avx-i haswell core-avx2 broadwell skylake skylake-avx512 skx cascadelake cooperlake cannonlake icelake-client
icelake-server tigerlake rocketlake alderlake raptorlake meteorlake arrowlake arrowlake-s lunarlake pantherlake
sapphirerapids emeraldrapids graniterapids graniterapids-d silvermont goldmont goldmont-plus tremont gracemont
sierraforest grandridge k8 opteron athlon64 amdfam10 barcelona btver1 btver2 znver1 znver2 znver3 znver4 znver5
"""
_AARCH64 = """
generic a64fx ampere1 ampere1a ampere1b apple-a12 apple-a13 apple-a14 apple-a15 apple-a16 apple-a17 apple-m1 apple-m2
apple-m3 apple-m4 carmel cobalt-100 cortex-a53 cortex-a55 cortex-a57 cortex-a72 cortex-a73 cortex-a75 cortex-a76
cortex-a77 cortex-a78 cortex-a510 cortex-a520 cortex-a710 cortex-a715 cortex-a720 cortex-a725 cortex-x1 cortex-x2
cortex-x3 cortex-x4 cortex-x925 grace neoverse-e1 neoverse-n1 neoverse-n2 neoverse-n3 neoverse-v1 neoverse-v2
neoverse-v3 neoverse-512tvb oryon-1 thunderx2t99 tsv110
"""

KNOWN: Mapping[Family, frozenset[str]] = {
    "x86_64": frozenset(_X86_64.split()),
    "aarch64": frozenset(_AARCH64.split()),
}
"""The names of processors by instruction set."""


def _call(name: str, type: str, *more: str) -> str:
    """A function of one argument that calls an intrinsic with it."""
    listed = ", ".join([f"{type} %a", *more])
    types = ", ".join([type, *(m.split()[0] for m in more)])
    body = f"%r = call {type} @{name}({listed}) ret {type} %r"
    return f"declare {type} @{name}({types})\ndefine {type} @{{name}}({type} %a) {{{{ {body} }}}}"


def _binary(operation: str, type: str) -> str:
    """A function of two arguments."""
    return f"define {type} @{{name}}({type} %a, {type} %b) {{{{ %r = {operation} {type} %a, %b ret {type} %r }}}}"


def _cast(operation: str, source: str, target: str) -> str:
    """A conversion."""
    return f"define {target} @{{name}}({source} %a) {{{{ %r = {operation} {source} %a to {target} ret {target} %r }}}}"


_BYTES = ", ".join(f"i32 {(k * 37 + 11) % 64}" for k in range(64))
_PERMUTE = (
    "define <64 x i8> @{name}(<64 x i8> %a) "
    f"{{{{ %r = shufflevector <64 x i8> %a, <64 x i8> poison, <64 x i32> <{_BYTES}> ret <64 x i8> %r }}}}"
)
_FUNNEL = (
    "declare <8 x i64> @llvm.fshl.v8i64(<8 x i64>, <8 x i64>, <8 x i64>)\n"
    "define <8 x i64> @{name}(<8 x i64> %a, <8 x i64> %b, <8 x i64> %c) "
    "{{ %r = call <8 x i64> @llvm.fshl.v8i64(<8 x i64> %a, <8 x i64> %b, <8 x i64> %c) ret <8 x i64> %r }}"
)
_SWAPPED = (
    "declare i32 @llvm.bswap.i32(i32)\n"
    "define i32 @{name}(ptr %a) {{ %v = load i32, ptr %a %r = call i32 @llvm.bswap.i32(i32 %v) ret i32 %r }}"
)
_NOT_AND = "define i32 @{name}(i32 %a, i32 %b) {{ %n = xor i32 %a, -1 %r = and i32 %n, %b ret i32 %r }}"
_FMA = (
    "declare float @llvm.fma.f32(float, float, float)\ndefine float @{name}(float %a) "
    "{{ %r = call float @llvm.fma.f32(float %a, float %a, float %a) ret float %r }}"
)

PROBES: Mapping[Family, Mapping[str, tuple[str, str]]] = {
    "x86_64": {
        "sse4.1": (_call("llvm.floor.v4f32", "<4 x float>"), "roundps"),
        "popcnt": (_call("llvm.ctpop.i32", "i32"), r"\bpopcnt"),
        "lzcnt": (_call("llvm.ctlz.i32", "i32", "i1 false"), "lzcnt"),
        "movbe": (_SWAPPED, "movbe"),
        "bmi": (_NOT_AND, "andn"),
        "bmi2": (_binary("shl", "i32"), "shlx"),
        "avx": (_binary("fadd", "<8 x float>"), "ymm"),
        "fma": (_FMA, "vfmadd"),
        "f16c": (_cast("fpext", "<4 x half>", "<4 x float>"), "vcvtph2ps"),
        "avx2": (_binary("add", "<8 x i32>"), "ymm"),
        "avx512f": (_binary("fadd", "<16 x float>"), "zmm"),
        "avx512bw": (_binary("add", "<64 x i8>"), "zmm"),
        "avx512dq": (_binary("mul", "<8 x i64>"), "vpmullq"),
        "avx512vl": (_binary("mul", "<4 x i64>"), "vpmullq.*ymm"),
        "avx512bf16": (_cast("fptrunc", "<16 x float>", "<16 x bfloat>"), "vcvtneps2bf16"),
        "avx512fp16": (_binary("fadd", "<8 x half>"), "vaddph"),
        "avx512vbmi": (_PERMUTE, "vpermb"),
        "avx512vbmi2": (_FUNNEL, "vpshldv"),
        "avx512vpopcntdq": (_call("llvm.ctpop.v16i32", "<16 x i32>"), "vpopcntd"),
        "avx512bitalg": (_call("llvm.ctpop.v64i8", "<64 x i8>"), "vpopcntb"),
        "gfni": (_call("llvm.bitreverse.v16i8", "<16 x i8>"), "gf2p8affineqb"),
    },
    "aarch64": {
        "fullfp16": (_binary("fadd", "half"), r"fadd\s+h"),
        "bf16": (_cast("fptrunc", "float", "bfloat"), "bfcvt"),
        "lse": (
            "define i32 @{name}(ptr %a, i32 %b) {{ %r = atomicrmw add ptr %a, i32 %b monotonic ret i32 %r }}",
            r"\bldadd",
        ),
    },
}
"""By feature: a function in LLVM IR, and the instruction by which its assembly shows the feature."""
