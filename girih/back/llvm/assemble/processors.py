"""The processors that can be compiled for by name, the systems, and the probes for what each processor has.

LLVM accepts unknown names without an error, and ends the process for processors without 64 bits and for systems whose
conventions girih's code does not follow; hence the tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from girih.lazy_dataclass import dataclass

Family = Literal["x86_64", "aarch64"]


@dataclass(frozen=True, slots=True)
class Triple:
    """An instruction set and a system, whose text is a target triple of LLVM.

    Systems are `linux-gnu`, `linux-musl`, and `darwin` or `macosx`, which may have a version behind them: all are
    little-endian, with pointers of 64 bits, and object files of ELF or Mach-O.
    """

    family: Family
    os: str

    ACCEPTED = (
        "x86_64 or aarch64 (or arm64), then -VENDOR-linux-gnu, -VENDOR-linux-musl, -apple-darwin or -apple-macosx"
    )
    """What `parsed` takes, in words."""

    @staticmethod
    def parsed(text: str) -> Triple:
        """The triple of a text; the vendor of Linux may be anything, or left out. Raises `ValueError`."""
        for pattern in _TRIPLES:
            found = re.fullmatch(pattern, text)
            if found:
                return Triple(_FAMILIES[found[1]], found[2])
        raise ValueError(f"girih does not compile for {text!r}; a triple is {Triple.ACCEPTED}")

    @property
    def system(self) -> str:
        """The operating system that code for the triple runs on."""
        return _SYSTEMS.get(self.os, "macOS")

    def __str__(self) -> str:
        vendor = "unknown" if self.os in _SYSTEMS else "apple"
        return f"{self.family}-{vendor}-{self.os}"


_FAMILIES: Mapping[str, Family] = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_SYSTEMS = {"linux-gnu": "Linux with glibc", "linux-musl": "Linux with musl"}
_TRIPLES = (
    rf"({'|'.join(_FAMILIES)})-(?:[a-z0-9_]+-)?({'|'.join(_SYSTEMS)})",
    rf"({'|'.join(_FAMILIES)})-apple-((?:darwin|macosx)(?:\d+(?:\.\d+){{0,2}})?)",
)

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
    """The text of a function that calls an intrinsic with its argument."""
    listed = ", ".join([f"{type} %a", *more])
    types = ", ".join([type, *(m.split()[0] for m in more)])
    body = f"%r = call {type} @{name}({listed}) ret {type} %r"
    return f"declare {type} @{name}({types})\ndefine {type} @{{name}}({type} %a) {{{{ {body} }}}}"


def _binary(operation: str, type: str) -> str:
    """The text of a function that combines its two arguments."""
    return f"define {type} @{{name}}({type} %a, {type} %b) {{{{ %r = {operation} {type} %a, %b ret {type} %r }}}}"


def _cast(operation: str, source: str, target: str) -> str:
    """The text of a function that converts its argument."""
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

_DOUBLED = (
    "define <2 x double> @{name}(ptr %a) "
    "{{ %v = load double, ptr %a %i = insertelement <2 x double> poison, double %v, i64 0 "
    "%r = shufflevector <2 x double> %i, <2 x double> poison, <2 x i32> zeroinitializer ret <2 x double> %r }}"
)
_GREATER = (
    "define <2 x i64> @{name}(<2 x i64> %a, <2 x i64> %b) "
    "{{ %c = icmp sgt <2 x i64> %a, %b %r = sext <2 x i1> %c to <2 x i64> ret <2 x i64> %r }}"
)
_EXCHANGED = (
    "define i1 @{name}(ptr %a, i128 %b, i128 %c) "
    "{{ %p = cmpxchg ptr %a, i128 %b, i128 %c monotonic monotonic, align 16 "
    "%r = extractvalue {{ i128, i1 }} %p, 1 ret i1 %r }}"
)


def _pairs(count: int) -> str:
    """The text of a function for sums of pairs of products, which are one instruction where quads of bytes are."""
    even, odd = (", ".join(f"i32 {2 * k + start}" for k in range(count)) for start in range(2))
    double = f"<{2 * count} x i32>"
    return (
        f"define <{count} x i32> @{{name}}(<{count} x i32> %c, <{2 * count} x i16> %a, <{2 * count} x i16> %b) {{{{ "
        f"%x = sext <{2 * count} x i16> %a to {double} %y = sext <{2 * count} x i16> %b to {double} "
        f"%p = mul {double} %x, %y %e = shufflevector {double} %p, {double} poison, <{count} x i32> <{even}> "
        f"%o = shufflevector {double} %p, {double} poison, <{count} x i32> <{odd}> "
        f"%s = add <{count} x i32> %e, %o %r = add <{count} x i32> %s, %c ret <{count} x i32> %r }}}}"
    )


_QUADS = (
    "declare <4 x i32> @llvm.vector.partial.reduce.add.v4i32.v16i32(<4 x i32>, <16 x i32>)\n"
    "define <4 x i32> @{name}(<4 x i32> %c, <16 x i8> %a, <16 x i8> %b) "
    "{{ %x = sext <16 x i8> %a to <16 x i32> %y = sext <16 x i8> %b to <16 x i32> %p = mul <16 x i32> %x, %y "
    "%r = call <4 x i32> @llvm.vector.partial.reduce.add.v4i32.v16i32(<4 x i32> %c, <16 x i32> %p) "
    "ret <4 x i32> %r }}"
)

PROBES: Mapping[Family, Mapping[str, tuple[str, str]]] = {
    "x86_64": {
        "sse3": (_DOUBLED, "movddup"),
        "ssse3": (_call("llvm.abs.v4i32", "<4 x i32>", "i1 false"), "pabsd"),
        "sse4.1": (_call("llvm.floor.v4f32", "<4 x float>"), "roundps"),
        "sse4.2": (_GREATER, "pcmpgtq"),
        "cx16": (_EXCHANGED, "cmpxchg16b"),
        "popcnt": (_call("llvm.ctpop.i32", "i32"), r"\bpopcnt"),
        "lzcnt": (_call("llvm.ctlz.i32", "i32", "i1 false"), "lzcnt"),
        "movbe": (_SWAPPED, "movbe"),
        "bmi": (_NOT_AND, "andn"),
        "bmi2": (_binary("shl", "i32"), "shlx"),
        "avx": (_binary("fadd", "<8 x float>"), "ymm"),
        "fma": (_FMA, "vfmadd"),
        "f16c": (_cast("fpext", "<4 x half>", "<4 x float>"), "vcvtph2ps"),
        "avx2": (_binary("add", "<8 x i32>"), "vpaddd.*ymm"),
        "avx512f": (_binary("fadd", "<16 x float>"), "zmm"),
        "avx512bw": (_binary("add", "<64 x i8>"), "vpaddb.*zmm"),
        "avx512cd": (_call("llvm.ctlz.v16i32", "<16 x i32>", "i1 false"), "vplzcntd"),
        "avx512dq": (_binary("mul", "<8 x i64>"), "vpmullq"),
        "avx512vl": (_binary("mul", "<4 x i64>"), "vpmullq.*ymm"),
        "avx512bf16": (_cast("fptrunc", "<16 x float>", "<16 x bfloat>"), "vcvtneps2bf16.*zmm"),
        "avxneconvert": (_cast("fptrunc", "<8 x float>", "<8 x bfloat>"), r"\{vex\}\s+vcvtneps2bf16"),
        "avx512vnni": (_pairs(16), "vpdpwssd.*zmm"),
        "avxvnni": (_pairs(8), r"\{vex\}\s+vpdpwssd"),
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
        "dotprod": (_QUADS, "sdot"),
        "lse": (
            "define i32 @{name}(ptr %a, i32 %b) {{ %r = atomicrmw add ptr %a, i32 %b monotonic ret i32 %r }}",
            r"\bldadd",
        ),
        "sve": (_binary("sdiv", "<4 x i32>"), r"sdiv\s+z"),
    },
}
"""By feature: a function in LLVM IR, and the instruction by which its assembly shows the feature."""

# No function can tell that these are there: one that multiplies tiles would end the process where they are missing, and
# code for SVE is the same for vectors of any size.
_AMX_PROCESSORS = frozenset(("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"))
STATED: Mapping[str, frozenset[str]] = {
    "amx-tile": _AMX_PROCESSORS,
    "amx-int8": _AMX_PROCESSORS,
    "amx-bf16": _AMX_PROCESSORS,
    "amx-fp16": frozenset(("graniterapids", "graniterapids-d")),
    "sve-256": frozenset(("neoverse-v1",)),
    "sve-512": frozenset(("a64fx",)),
}
"""Features that LLVM's code generator does not choose by itself, and the processors that have them.

`sve-256` and `sve-512` are vectors of SVE of that many bits, for which code is made; LLVM knows `sve`, of any size.
"""

SVE_BITS = {"sve-256": 256, "sve-512": 512}
"""Sizes of vectors of SVE that girih makes code for. Those of 128 bits are no larger than NEON's."""

FEATURES = frozenset((*STATED, *(feature for probes in PROBES.values() for feature in probes)))
"""All features by which code is chosen."""

# Features of LLVM 22.1 by which its code generator chooses instructions of its own accord, and that have no probe.
_UNPROBED: Mapping[Family, str] = {
    "x86_64": "sse4a tbm avx512ifma avxifma avxvnniint8 avxvnniint16 cmpccxadd raoint",
    "aarch64": "sve2 i8mm fp16fml rcpc cssc mops sha3 altnzcv",
}


_NEEDED = (
    ("avx512f", "avx512"), ("avx2", "avx512f"), ("fma", "avx512f"), ("f16c", "avx512f"), ("avx", "avx2"),
    ("avx", "fma"), ("avx", "f16c"), ("avx2", "avxneconvert"), ("amx-tile", "amx-"),
)  # fmt: skip
"""A feature of x86-64, and the feature, or the start of features, that LLVM takes to be there only with it."""


def with_needed(known: frozenset[str]) -> frozenset[str]:
    """The features whose needs are among them too: a virtual machine may hide a feature and show what builds on it."""
    while True:
        lacking = {one for need, start in _NEEDED if need not in known for one in known if one.startswith(start)}
        if not lacking:
            return known
        known -= lacking


def without_unprobed(family: Family, name: str) -> str:
    """The features to take from a processor that is given by name, so that its code uses probed features only."""
    unprobed = _UNPROBED[family].split()
    if family == "aarch64" and not any(name in STATED[size] for size in SVE_BITS):
        unprobed.append("sve")
    return ",".join(f"-{feature}" for feature in unprobed)
