"""The calls of LLVM: from texts of LLVM IR to object files and assembly. Only this file knows llvmlite.

A text that LLVM would refuse, or that would end the process in code generation, raises `InternalError` before that.
One thread at a time uses LLVM, and a fork waits for it, so that LLVM's own locks are open in the child.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from girih.back.llvm.assemble.arm import hardware_features, sve_bits
from girih.back.llvm.assemble.intrinsics import COROUTINES, refusal
from girih.back.llvm.assemble.processors import (
    FEATURES,
    KNOWN,
    PROBES,
    STATED,
    SVE_BITS,
    Family,
    Triple,
    with_needed,
    without_unprobed,
)
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass

__all__ = ["LLVM", "Cpu", "assemble", "assembly", "llvm", "llvm_version"]

LLVM = RLock()
"""Held by the thread that uses LLVM."""

_DEFINITION = re.compile(r"^(define .*?)((?: !dbg !\d+)? \{)$", re.MULTILINE)
"""The first line of a function, in two parts, between which there is room for one more attribute."""

_OPTIMIZER_LEVEL = 1
_CODE_GENERATION_LEVEL = 1
"""Level 0 is slower code for no gain; above 1 compiling takes longer and the code is the same."""


@lru_cache(maxsize=1)
def llvm() -> ModuleType:
    """llvmlite's binding, with the code generator of this machine set up. Raises `ImportError` if it is missing."""
    try:
        binding = import_module("llvmlite.binding")
    except ImportError as error:
        raise ImportError(
            f"compiling for a CPU needs llvmlite 0.50 or newer, which cannot be imported ({error}); "
            "install it with `pip install llvmlite`, or load the program with target='interpreter'"
        ) from error
    if not hasattr(binding, "create_lljit_compiler"):
        raise ImportError("compiling for a CPU needs llvmlite 0.50 or newer; update it with `pip install -U llvmlite`")
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=LLVM.acquire, after_in_parent=LLVM.release, after_in_child=LLVM.release)
    with LLVM:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
    return binding


@lru_cache(maxsize=1)
def all_targets() -> None:
    """Set up the code generators of all targets, and not only of this machine."""
    llvm().initialize_all_targets()
    llvm().initialize_all_asmprinters()


@lru_cache(maxsize=1)
def llvm_files() -> str:
    """What tells the version of LLVM's library without loading it: where it is, its size and time of change."""
    found = find_spec("llvmlite")
    folders = () if found is None else tuple(found.submodule_search_locations or ())
    files = [file for folder in folders for file in sorted((Path(folder) / "binding").glob("*llvmlite.*"))]
    return " ".join(f"{file}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files)


def llvm_version() -> str:
    """The version of LLVM, such as `22.1.0`."""
    with LLVM:
        return ".".join(map(str, llvm().llvm_version_info))


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor to compile for: LLVM's name for it, features beyond those of the name, and the target triple.

    `known` has those features by which code is chosen, in LLVM's words: of those that are in `FEATURES`.
    """

    name: str
    features: str
    triple: str
    known: frozenset[str]

    @staticmethod
    def host() -> Cpu:
        """The processor of this machine."""
        return _host()

    @staticmethod
    def named(text: str) -> Cpu:
        """The processor of a name of LLVM's, such as `haswell`, or with a triple: `aarch64-apple-darwin:apple-m1`.

        `native` is this machine. Raises `ValueError` for an unknown name, with similar known ones, and for a triple
        that is not among `Triple.ACCEPTED`.
        """
        triple, colon, name = text.rpartition(":")
        if name == "native" and not colon:
            return _host()
        return _named(name, Triple.parsed(triple) if colon else None)

    def has(self, feature: str) -> bool:
        """Whether the processor has a feature, such as `avx512f`. Raises `ValueError` for one that is not probed."""
        if feature not in FEATURES:
            listed = ", ".join(sorted(FEATURES))
            raise ValueError(f"it is not known which processors have {feature!r}; known are: {listed}")
        return feature in self.known

    @property
    def family(self) -> Family:
        """The instruction set, by its name in triples."""
        return Triple.parsed(self.triple).family

    @property
    def vector_bits(self) -> int:
        """The size of a vector register in bits."""
        widths = {"avx512f": 512, "avx": 256, **SVE_BITS}
        return max((width for feature, width in widths.items() if feature in self.known), default=128)

    @property
    def sve_bits(self) -> int:
        """The size of vectors of SVE that code is made for; 0 where vectors are NEON's, or those of x86-64."""
        return max((SVE_BITS[feature] for feature in self.known & SVE_BITS.keys()), default=0)

    @property
    def vector_registers(self) -> int:
        """The number of vector registers."""
        return 32 if self.family == "aarch64" or "avx512f" in self.known else 16

    @property
    def identity(self) -> str:
        """A text of all that decides what code for this processor looks like."""
        return f"{self.triple}:{self.name}:{self.features}:{self.sve_bits}"

    def missing_on(self, other: Cpu) -> tuple[str, ...]:
        """The needs of this processor's code that another one lacks: the instruction set, the system, or features."""
        mine, its = Triple.parsed(self.triple), Triple.parsed(other.triple)
        if mine.family != its.family:
            return (mine.family,)
        if mine.system != its.system:
            return (mine.system,)
        return tuple(sorted(self.known - other.known))

    def __str__(self) -> str:
        return self.name


def _host() -> Cpu:
    with LLVM:
        return _detected()


@lru_cache(maxsize=1)
def _detected() -> Cpu:
    binding = llvm()
    try:
        triple = str(Triple.parsed(str(binding.get_default_triple())))
    except ValueError as error:
        raise ValueError(f"{error}; on this machine load programs with target='interpreter'") from None
    features = binding.get_host_cpu_features()
    host = Cpu(str(binding.get_host_cpu_name()), str(features.flatten()), triple, frozenset())
    if host.family == "aarch64":
        features.update(hardware_features())
        size = f"sve-{sve_bits()}"
        probed = _probed(host.name, str(features.flatten()), triple, stated=False)
        return replace(probed, known=probed.known.union({size} & SVE_BITS.keys()))
    # What LLVM says of this machine has the same names as the probes, and is at hand. A feature that is taken away
    # takes with it what builds on it, if it comes last.
    listed = sorted(host.features.split(","), key=lambda feature: feature.startswith("-"))
    known = frozenset(feature for feature in FEATURES if features.get(feature))
    return replace(host, features=",".join(listed), known=with_needed(known))


@lru_cache(maxsize=64)
def _named(name: str, triple: Triple | None) -> Cpu:
    families = [family for family, names in KNOWN.items() if name in names]
    if name == "native":
        raise ValueError("native is this machine, which has its own triple; give the name alone, as in cpu:native")
    if not families:
        raise ValueError(f"there is no processor {name!r}{_near(name)}")
    if triple is None:
        own = Triple.parsed(_host().triple)
        triple = own if own.family in families else Triple(families[0], "linux-gnu")
    if triple.family not in families:
        raise ValueError(f"{name} is a processor of {' and '.join(families)}, not of {triple}")
    return _probed(name, without_unprobed(triple.family, name), str(triple))


def _near(name: str) -> str:
    from difflib import get_close_matches

    names = sorted({name for names in KNOWN.values() for name in names})
    small = name.lower()
    near = (
        get_close_matches(small, names, n=5, cutoff=0.5) or [n for n in names if name and n.startswith(small[:3])][:5]
    )
    listed = ", ".join(near or ["native", "haswell", "x86-64-v3", "neoverse-v1"])
    return f"; {'near it are' if near else 'for example there are'}: {listed}"


def _probed(name: str, features: str, triple: str, *, stated: bool = True) -> Cpu:
    """The features that LLVM's code generator uses for a processor, found by one small function for each.

    With `stated`, and the features that no function can find, by the table.
    """
    blank = Cpu(name, features, triple, frozenset())
    probes = PROBES[blank.family]
    text = "\n".join(body.format(name=f"probe_{k}") for k, (body, _) in enumerate(probes.values()))
    parts = re.split(r"^_?probe_(\d+):", assembly(text, blank), flags=re.MULTILINE)
    code = {int(number): part for number, part in zip(parts[1::2], parts[2::2], strict=True)}
    known = frozenset(
        feature for k, (feature, (_, pattern)) in enumerate(probes.items()) if re.search(pattern, code.get(k, ""))
    )
    more = (feature for feature, names in STATED.items() if stated and name in names)
    return Cpu(name, features, triple, known.union(more))


def assemble(ir_text: str, cpu: Cpu, optimize: bool = False) -> bytes:
    """The object file of a module in LLVM IR.

    The middle optimiser runs only with `optimize`; a text with coroutines needs it. Raises `InternalError` if LLVM
    refuses the text.
    """
    return bytes(_generate(ir_text, cpu, optimize, lambda machine, module: machine.emit_object(module)))


def assembly(ir_text: str, cpu: Cpu, optimize: bool = False) -> str:
    """The assembly of a module in LLVM IR. Arguments and errors are those of `assemble`."""
    return str(_generate(ir_text, cpu, optimize, lambda machine, module: machine.emit_assembly(module)))


def _generate(ir_text: str, cpu: Cpu, optimize: bool, emit: Callable[[Any, Any], object]) -> Any:
    with LLVM:
        return _generated(ir_text, cpu, optimize, emit)


def _generated(ir_text: str, cpu: Cpu, optimize: bool, emit: Callable[[Any, Any], object]) -> Any:
    machine = _target_machine(cpu.name, cpu.features, cpu.triple)
    if cpu.sve_bits:
        ir_text = _DEFINITION.sub(rf"\1 vscale_range({cpu.sve_bits // 128},{cpu.sve_bits // 128})\2", ir_text)
    try:
        module = llvm().parse_assembly(ir_text, context=llvm().create_context())
        module.triple = cpu.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the code: {str(error).strip()}") from None
    _refuse_intrinsics(module, cpu, coroutines=optimize)
    if optimize:
        _run_passes(module, machine)
        _refuse_coroutines(module)
    try:
        return emit(machine, module)
    except RuntimeError as error:
        raise InternalError(f"LLVM cannot generate code for {cpu}: {str(error).strip()}") from None


@lru_cache(maxsize=64)
def _target_machine(name: str, features: str, triple: str) -> Any:
    binding = llvm()
    if not triple.startswith(str(binding.get_default_triple()).split("-")[0]):
        all_targets()
    try:
        target = binding.Target.from_triple(triple)
    except RuntimeError as error:
        raise ValueError(f"LLVM has no code generator for {triple!r}: {str(error).strip()}") from None
    return target.create_target_machine(
        cpu=name, features=features, opt=_CODE_GENERATION_LEVEL, reloc="pic", codemodel="small", jit=True
    )


def _run_passes(module: Any, machine: Any) -> None:
    """Run LLVM's own passes, without those that would unroll or vectorise code that was laid out on purpose."""
    options = llvm().create_pipeline_tuning_options(speed_level=_OPTIMIZER_LEVEL)
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_interleaving = options.loop_unrolling = False
    builder = llvm().create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _refuse_intrinsics(module: Any, cpu: Cpu, *, coroutines: bool) -> None:
    """Raise `InternalError` for an intrinsic outside the table: one unknown to the code generator ends the process."""
    for function in module.functions:
        name = str(function.name)
        if not name.startswith("llvm.") or (coroutines and name.startswith(COROUTINES)):
            continue
        problem = refusal(name, cpu.family, cpu.known)
        if problem:
            raise InternalError(f"the code for {cpu} calls {name}, {problem}")


def _refuse_coroutines(module: Any) -> None:
    """Raise `InternalError` if the optimiser has left a coroutine, which cannot be lowered."""
    for function in module.functions:
        if str(function.name).startswith(COROUTINES):
            raise InternalError(f"LLVM's optimiser has left a call of {function.name}")
