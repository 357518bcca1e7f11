"""What a processor is like beyond its instructions: caches, and how fast kinds of instructions are beside others.

Sizes of blocks, micro-kernels and the choice between instructions follow from a description, and from nothing else. The
table below has one for each processor that LLVM knows by name. On this machine, the runtime completes it by what the
system says (`girih.runtime.cpu.machine`).

Sources: Intel's optimization reference manual (248966), chapter 2; AMD's optimization guides for families 17h (55723),
19h (56665) and 1Ah (58455); Arm's software optimization guides for each core; Fujitsu's A64FX microarchitecture manual.
Rates of dot products are measured (`benchmarks/results`), or follow from those guides.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.lazy_dataclass import dataclass

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True)
class MachineDescription:
    """A processor's caches, as one core sees them, and its rates; sizes in bytes."""

    model: str
    """The row of the table."""
    l1_bytes: int
    """First data cache of a core."""
    l2_bytes: int
    """Second cache: of a core, or the share of one."""
    l3_bytes: int
    """The share of a core in the last cache; 0 without a third one."""
    multiply_adds: int = 2
    """Multiply-adds of full vectors that begin in a cycle."""
    dot_bf16: float = 0.0
    """Products of bf16 by dot products, as a multiple of those that are widened to f32; 0 if it is not known."""

    @property
    def identity(self) -> str:
        """A text of all that code may depend on."""
        sizes = f"{self.l1_bytes}:{self.l2_bytes}:{self.l3_bytes}"
        return f"{self.model}:{sizes}:{self.multiply_adds}:{self.dot_bf16:g}"

    def __str__(self) -> str:
        caches = f"caches {_size(self.l1_bytes)}, {_size(self.l2_bytes)}, {_size(self.l3_bytes)} a core"
        begun = "1 multiply-add" if self.multiply_adds == 1 else f"{self.multiply_adds} multiply-adds"
        found = [f"like {self.model}", caches, f"{begun} a cycle"]
        if self.dot_bf16:
            found.append(f"dot products of bf16 at {self.dot_bf16:.2g} of f32")
        return "; ".join(found)


def _size(bytes: int) -> str:
    """A size in words; of whole KiB below 1 MiB."""
    return f"{bytes / MIB:.4g} MiB" if bytes >= MIB else f"{bytes // KIB} KiB"


def _row(
    model: str, l1: int, l2: int, l3: int, multiply_adds: int = 2, dot_bf16: float = 0.0
) -> tuple[str, MachineDescription]:
    """A row of the table: caches in KiB."""
    return model, MachineDescription(model, l1 * KIB, l2 * KIB, l3 * KIB, multiply_adds, dot_bf16)


_TABLE: Mapping[str, MachineDescription] = dict(
    (
        _row("generic", 32, 512, 1024),
        # x86-64 of Intel: with vectors of 128, 256 and 512 bits.
        _row("nehalem", 32, 256, 2048, 1),
        _row("haswell", 32, 256, 2048),
        _row("icelake-client", 48, 512, 2048, 1),
        _row("tigerlake", 48, 1280, 3072, 1),
        _row("alderlake", 48, 1280, 3072),
        _row("lunarlake", 48, 2560, 3072),
        _row("gracemont", 32, 1024, 2048),
        _row("skylake-avx512", 32, 1024, 1408),
        _row("cooperlake", 32, 1024, 1408, 2, 1.0),
        _row("icelake-server", 48, 1280, 1536),
        _row("sapphirerapids", 48, 2048, 1920, 2, 0.54),
        _row("emeraldrapids", 48, 2048, 5120, 2, 0.54),
        _row("graniterapids", 48, 2048, 4096, 2, 0.54),
        # x86-64 of AMD.
        _row("barcelona", 64, 512, 1536, 1),
        _row("znver1", 32, 512, 2048, 1),
        _row("znver2", 32, 512, 4096),
        _row("znver4", 32, 1024, 4096, 1, 2.0),
        _row("znver5", 48, 1024, 4096, 2, 1.9),
        # AArch64.
        _row("cortex-a53", 32, 256, 0, 1),
        _row("cortex-a72", 32, 512, 0),
        _row("cortex-a76", 64, 512, 1024),
        _row("cortex-x1", 64, 1024, 1024, 4),
        _row("neoverse-n1", 64, 1024, 1024),
        _row("neoverse-v1", 64, 1024, 1024, 2),
        _row("neoverse-v2", 64, 1024, 1024, 4),
        _row("a64fx", 64, 680, 0),
        _row("apple-m1", 128, 3072, 1024, 4),
    )
)
"""By model. Of processors with vectors of 512 bits in two halves, a multiply-add of both counts as one."""

_LIKE = {
    "generic": "x86-64 x86-64-v2 core2 penryn k8 opteron athlon64",
    "nehalem": "corei7 westmere sandybridge corei7-avx ivybridge core-avx-i silvermont goldmont goldmont-plus tremont",
    "haswell": "x86-64-v3 core-avx2 broadwell skylake",
    "icelake-client": "rocketlake cannonlake",
    "alderlake": "raptorlake meteorlake arrowlake arrowlake-s",
    "lunarlake": "pantherlake",
    "gracemont": "sierraforest grandridge",
    "skylake-avx512": "skx cascadelake x86-64-v4",
    "graniterapids": "graniterapids-d",
    "barcelona": "amdfam10 btver1 btver2",
    "znver2": "znver3",
    "cortex-a53": "cortex-a55 cortex-a510 cortex-a520",
    "cortex-a72": "cortex-a57 cortex-a73 cortex-a75 thunderx2t99 tsv110 carmel",
    "cortex-a76": "cortex-a77 cortex-a78 cortex-a710 cortex-a715 cortex-a720 cortex-a725 neoverse-e1",
    "cortex-x1": "cortex-x2 cortex-x3 cortex-x4 cortex-x925",
    "neoverse-n1": "neoverse-n2 neoverse-n3 ampere1 ampere1a ampere1b cobalt-100",
    "neoverse-v1": "neoverse-512tvb",
    "neoverse-v2": "neoverse-v3 grace",
    "apple-m1": "apple-a12 apple-a13 apple-a14 apple-a15 apple-a16 apple-a17 apple-m2 apple-m3 apple-m4 oryon-1",
}
_MODELS = {name: model for model, names in _LIKE.items() for name in names.split()}

GENERIC = _TABLE["generic"]


def described(name: str) -> MachineDescription:
    """The description of a processor by LLVM's name; a cautious one for names that are not in the table."""
    return _TABLE.get(_MODELS.get(name, name), GENERIC)
