"""LLVM behind its door: processors by name, intrinsics that lower everywhere, texts that are refused."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from girih.back.llvm.assemble import arm
from girih.back.llvm.assemble.assembler import Cpu, assemble, assembly, llvm_version
from girih.back.llvm.assemble.intrinsics import GENERAL, SPECIAL
from girih.back.llvm.assemble.processors import FEATURES, KNOWN
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.back.llvm.lower.sites import Site
from girih.diagnostics import InternalError
from girih.runtime.cpu.launcher import launcher_text
from tests.cases import crossed
from tests.conftest import Command

PROCESSORS = ["x86-64", "haswell", "znver4", "neoverse-v1", "cortex-a53"]
EMPTY = "define void @f() { ret void }"


def test_this_machine() -> None:
    host = Cpu.host()
    assert Cpu.named("native") == host
    assert host.known <= FEATURES
    assert host.vector_bits in (128, 256, 512)
    assert host.missing_on(host) == ()
    assert llvm_version().count(".") == 2


def test_what_processors_have() -> None:
    haswell, server, neoverse = (Cpu.named(name) for name in ("haswell", "cooperlake", "neoverse-v1"))
    assert (haswell.vector_bits, haswell.vector_registers, haswell.family) == (256, 16, "x86_64")
    assert haswell.has("fma") and haswell.has("f16c") and not haswell.has("avx512f")
    assert (server.vector_bits, server.vector_registers) == (512, 32)
    assert server.has("avx512vnni") and not Cpu.named("skylake-avx512").has("avx512vnni")
    assert Cpu.named("alderlake").has("avxvnni") and not Cpu.named("alderlake").has("avx512vnni")
    assert Cpu.named("neoverse-n1").has("dotprod") and not Cpu.named("cortex-a72").has("dotprod")
    assert server.has("avx512bf16") and not server.has("avx512fp16")
    assert (neoverse.vector_bits, neoverse.vector_registers, neoverse.family) == (256, 32, "aarch64")
    assert neoverse.has("bf16") and not neoverse.has("avx")
    assert Cpu.named("a64fx").vector_bits == 512 and Cpu.named("neoverse-n2").vector_bits == 128
    assert neoverse.missing_on(Cpu.named("neoverse-n2")) == ("sve", "sve-256")
    assert neoverse.missing_on(Cpu.named("a64fx")) == ("bf16", "dotprod", "sve-256")
    assert Cpu.named("x86-64").known == frozenset()
    assert server.missing_on(haswell) == ("avx512bf16", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl",
                                          "avx512vnni")  # fmt: skip
    assert neoverse.missing_on(haswell) == ("aarch64",)
    assert haswell.missing_on(server) == ()


def test_vectors_of_sve_are_used_at_their_size() -> None:
    text = """define void @f(ptr %p) nounwind {
      %a = load <16 x float>, ptr %p %b = fmul <16 x float> %a, %a store <16 x float> %b, ptr %p ret void }"""
    used = {name: assembly(text, Cpu.named(name)).count("fmul") for name in ("neoverse-n2", "neoverse-v1", "a64fx")}
    assert used == {"neoverse-n2": 4, "neoverse-v1": 2, "a64fx": 1}


class Linux:
    """The C library of a Linux on AArch64 that says what it is told."""

    def __init__(self, first: int, second: int, sve_bytes: int) -> None:
        self.getauxval = lambda type: {16: first, 26: second}[type]
        self.prctl = lambda option: 0x20000 | sve_bytes if option == 51 else -1


def test_what_linux_says_of_an_aarch64_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = [Linux(1 << 8 | 1 << 22, 1 << 14, 32), Linux(1 << 10, 0, 0), object()]
    told = []
    for library in libraries:
        monkeypatch.setattr(ctypes, "CDLL", lambda name, library=library: library)
        told.append(({name for name, has in arm.hardware_features().items() if has}, arm.sve_bits()))
    assert told == [({"lse", "sve", "bf16"}, 256), ({"fullfp16"}, 0), (set(), 0)]
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not arm.hardware_features()


def test_code_for_another_system_does_not_run_here() -> None:
    host = Cpu.named("x86_64-linux-gnu:haswell")
    assert Cpu.named("x86_64-apple-macosx:haswell").missing_on(host) == ("macOS",)
    assert Cpu.named("x86_64-linux-musl:haswell").missing_on(host) == ("Linux with musl",)
    assert Cpu.named("x86_64-alpine-linux-gnu:x86-64").missing_on(host) == ()


def test_features_that_look_like_others() -> None:
    assert not Cpu.named("x86_64-linux-gnu:sandybridge").has("avx2")
    lunar = Cpu.named("x86_64-linux-gnu:lunarlake")
    assert lunar.has("avxneconvert") and not lunar.has("avx512bf16")


def test_tiles_are_known_by_name() -> None:
    rapids, granite = (Cpu.named(f"x86_64-linux-gnu:{name}") for name in ("sapphirerapids", "graniterapids"))
    assert rapids.has("amx-bf16") and not rapids.has("amx-fp16") and granite.has("amx-fp16")
    assert not Cpu.named("x86_64-linux-gnu:znver5").has("amx-tile")
    assert "amx-tile" in rapids.missing_on(Cpu.named("x86_64-linux-gnu:icelake-server"))


OF_ITS_OWN = {
    "znver4": ("movnts", "define void @f(ptr %p, float %v) { "
                         "store float %v, ptr %p, align 4, !nontemporal !0 ret void }\n!0 = !{i32 1}"),
    "neoverse-n2": ("sdiv.*z", "define <4 x i32> @f(<4 x i32> %a, <4 x i32> %b) { "
                               "%r = sdiv <4 x i32> %a, %b ret <4 x i32> %r }"),
    "cortex-a78": ("ldapr", "define i32 @f(ptr %a) { %r = load atomic i32, ptr %a acquire, align 4 ret i32 %r }"),
    "apple-m1": ("eor3", "define <2 x i64> @f(<2 x i64> %a, <2 x i64> %b, <2 x i64> %c) { "
                         "%x = xor <2 x i64> %a, %b %r = xor <2 x i64> %x, %c ret <2 x i64> %r }"),
    "ampere1b": ("smax", "define i32 @f(i32 %a, i32 %b) { %c = icmp sgt i32 %a, %b "
                         "%r = select i1 %c, i32 %a, i32 %b ret i32 %r }"),
}  # fmt: skip
"""By processor: an instruction that no probe tells of, and a function for which LLVM would choose it."""


@pytest.mark.parametrize("name", sorted(OF_ITS_OWN))
def test_code_has_nothing_that_no_probe_tells_of(name: str) -> None:
    instruction, text = OF_ITS_OWN[name]
    cpu = Cpu.named(name)
    assert re.search(instruction, assembly(text, replace(cpu, features="")))
    assert not re.search(instruction, assembly(text, cpu))


def test_a_triple_may_be_given() -> None:
    mac = Cpu.named("arm64-apple-macosx14.0.0:apple-m1")
    assert (mac.name, mac.triple, mac.family) == ("apple-m1", "aarch64-apple-macosx14.0.0", "aarch64")
    assert Cpu.named("aarch64-linux-gnu:generic") == Cpu.named("aarch64-suse-linux-gnu:generic")
    assert mac.identity != Cpu.named("apple-m1").identity


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("haswel", "near it are: haswell"),
        ("pentium4", "there is no processor 'pentium4'"),
        ("", "for example there are: native"),
        ("x86_64-unknown-linux-gnu:apple-m1", "a processor of aarch64, not of x86_64-unknown-linux-gnu"),
        ("HASWELL", "near it are: haswell"),
        ("x86_64-linux-gnu:native", "native is this machine, which has its own triple"),
        *(
            (f"{triple}:haswell", "girih does not compile for '.*'; a triple is x86_64 or aarch64 .* -apple-macosx")
            for triple in (
                "riscv64-unknown-linux-gnu",
                "armv7",
                "x86_64-pc-windows-msvc",
                "x86_64-uefi",
                "x86_64-garbage",
                "x86_64-unknown-linux-gnux32",
                "x86_64-linux-gnu ",
                "x86_64-linux-gnu\n",
                "x86_64-apple-linux",
                "",
                "x86_64-unknown-freebsd",
                "x86_64-apple-ios",
                "x86_64h-apple-darwin",
                "x86_64-linux-gnu-macho",
            )
        ),
        *(
            (f"{triple}:neoverse-n1", "girih does not compile for")
            for triple in (
                "arm64ec-pc-windows-msvc",
                "aarch64-pc-windows-msvc",
                "aarch64_be-unknown-linux-gnu",
                "aarch64_32-apple-watchos",
                "arm64_32-apple-darwin",
                "arm64e-apple-darwin",
                "aarch64-linux-gnu_ilp32",
            )
        ),
    ],
)
def test_processors_that_are_not_there(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Cpu.named(name)


def test_a_feature_that_is_not_probed() -> None:
    with pytest.raises(ValueError, match="not known which processors have 'amx'"):
        Cpu.host().has("amx")


def test_all_names_are_known_to_llvm(run_command: Command) -> None:
    """LLVM would name a processor that it does not know on standard error, and go on."""
    names = [f"{family}-unknown-linux-gnu:{name}" for family, known in KNOWN.items() for name in sorted(known)]
    text = f"from girih.back.llvm.assemble.assembler import Cpu\nfor name in {names}: Cpu.named(name)"
    done = run_command(sys.executable, "-c", text)
    assert (done.stdout, done.returncode) == ("", 0)


# --- intrinsics ----------------------------------------------------------------------------

FLOATS = {"float": "f32", "double": "f64", "<16 x float>": "v16f32", "<3 x double>": "v3f64"}
INTEGERS = {"i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "<16 x i32>": "v16i32", "<8 x i64>": "v8i64"}
UNARY = "sqrt fabs floor ceil trunc rint nearbyint roundeven exp exp2 log log2 log10 sin cos"
BINARY = "copysign minnum maxnum minimum maximum pow"
INTEGER_BINARY = "smin smax umin umax sadd.sat ssub.sat uadd.sat usub.sat"
REDUCTIONS = "add mul and or xor smin smax umin umax"


def call(name: str, result: str, *arguments: str) -> str:
    """A declaration of an intrinsic and a function that calls it; constants stay as they are."""
    types = [argument.split(" =")[0] for argument in arguments]
    passed = [a.replace(" =", "") if "=" in a else f"{a} %a{k}" for k, a in enumerate(arguments)]
    taken = ", ".join(f"{a} %a{k}" for k, a in enumerate(arguments) if "=" not in a)
    body = f"call void @{name}({', '.join(passed)}) ret void" if result == "void" else (
        f"%r = call {result} @{name}({', '.join(passed)}) ret {result} %r")  # fmt: skip
    unique = f"{name}.{len(arguments)}".replace(".", "_")
    return f"declare {result} @{name}({', '.join(types)})\ndefine {result} @test_{unique}({taken}) {{ {body} }}"


def comparisons() -> Iterator[tuple[str, str]]:
    """Functions that compare, or ask for the class of a number, which LLVM's passes make of other code."""
    for name in ("scmp", "ucmp"):
        for result, type in (("i8", "i64"), ("i32", "i8"), ("i64", "i64")):
            yield f"llvm.{name}", call(f"llvm.{name}.{result}.{type}", result, type, type)
        yield f"llvm.{name}", call(f"llvm.{name}.v8i64.v8i64", "<8 x i64>", "<8 x i64>", "<8 x i64>")
    for type, bit, short in (("float", "i1", "f32"), ("<16 x float>", "<16 x i1>", "v16f32")):
        yield "llvm.is.fpclass", call(f"llvm.is.fpclass.{short}", bit, type, "i32 = 3")


def calls() -> list[tuple[str, str]]:
    """By name in the table: functions that call the intrinsics for the types that girih uses."""
    found: list[tuple[str, str]] = []

    def add(names: str, types: dict[str, str], *shape: str, more: tuple[str, ...] = ()) -> None:
        for name in names.split():
            for type, short in types.items():
                arguments = [type for _ in shape]
                found.append((f"llvm.{name}", call(f"llvm.{name}.{short}", type, *arguments, *more)))

    add(UNARY, FLOATS, "a")
    add(BINARY, FLOATS, "a", "b")
    add("fma fmuladd", FLOATS, "a", "b", "c")
    add("ctpop bitreverse", INTEGERS, "a")
    add("bswap", {k: v for k, v in INTEGERS.items() if k != "i8"}, "a")
    add("abs ctlz cttz", INTEGERS, "a", more=("i1 = true",))
    add(INTEGER_BINARY, INTEGERS, "a", "b")
    add("fshl fshr", INTEGERS, "a", "b", "c")
    found += comparisons()
    for name in ("sadd", "ssub", "smul", "uadd", "usub", "umul"):
        full = f"llvm.{name}.with.overflow"
        found += [(full, call(f"{full}.{t}", f"{{ {t}, i1 }}", t, t)) for t in ("i32", "i64")]
    for name in REDUCTIONS.split():
        full = f"llvm.vector.reduce.{name}"
        found += [
            (full, call(f"{full}.v16i32", "i32", "<16 x i32>")),
            (full, call(f"{full}.v8i64", "i64", "<8 x i64>")),
        ]
    for lanes in (4, 8, 16):
        full, narrow, products = "llvm.vector.partial.reduce.add", f"<{lanes} x i32>", f"<{4 * lanes} x i32>"
        found.append((full, call(f"{full}.v{lanes}i32.v{4 * lanes}i32", narrow, narrow, products)))
    for name in ("fmin", "fmax"):
        full = f"llvm.vector.reduce.{name}"
        found.append((full, call(f"{full}.v16f32", "float", "<16 x float>")))
    for name in ("fadd", "fmul"):
        full = f"llvm.vector.reduce.{name}"
        found.append((full, call(f"{full}.v16f32", "float", "float", "<16 x float>")))
    for count, element, short in ((16, "float", "f32"), (8, "double", "f64"), (16, "i32", "i32"), (32, "i8", "i8")):
        vector, mask = f"<{count} x {element}>", f"<{count} x i1>"
        type = f"v{count}{short}"
        pointers = f"<{count} x ptr>"
        found += [
            ("llvm.masked.load", call(f"llvm.masked.load.{type}.p0", vector, "ptr", mask, vector)),
            ("llvm.masked.store", call(f"llvm.masked.store.{type}.p0", "void", vector, "ptr", mask)),
            ("llvm.masked.gather", call(f"llvm.masked.gather.{type}.v{count}p0", vector, pointers, mask, vector)),
            ("llvm.masked.scatter", call(f"llvm.masked.scatter.{type}.v{count}p0", "void", vector, pointers, mask)),
        ]
    for integer in ("i8", "i32", "i64"):
        found.append(
            ("llvm.fptosi.sat", call(f"llvm.fptosi.sat.v8{integer}.v8f64", f"<8 x {integer}>", "<8 x double>"))
        )
    size = ("i64", "i1 = false")
    found += [
        ("llvm.memcpy", call("llvm.memcpy.p0.p0.i64", "void", "ptr", "ptr", *size)),
        ("llvm.memmove", call("llvm.memmove.p0.p0.i64", "void", "ptr", "ptr", *size)),
        ("llvm.memset", call("llvm.memset.p0.i64", "void", "ptr", "i8", *size)),
        ("llvm.prefetch", call("llvm.prefetch.p0", "void", "ptr", "i32 = 0", "i32 = 3", "i32 = 1")),
        ("llvm.assume", call("llvm.assume", "void", "i1")),
        ("llvm.trap", call("llvm.trap", "void")),
        ("llvm.stacksave", call("llvm.stacksave.p0", "ptr")),
        ("llvm.stackrestore", call("llvm.stackrestore.p0", "void", "ptr")),
    ]
    return found


def test_every_intrinsic_of_the_table_lowers_everywhere(run_command: Command, tmp_path: object) -> None:
    """In a process of its own, which LLVM would end for one that does not."""
    assert {name for name, _ in calls()} == set(GENERAL)
    text = (
        "import sys\nfrom girih.back.llvm.assemble.assembler import Cpu, assemble\n"
        "from tests.runtime.test_cpu_machine import PROCESSORS, calls\n"
        "whole = '\\n'.join(text for _, text in calls())\n"
        "for name in PROCESSORS: assert len(assemble(whole, Cpu.named(name))) > 1000"
    )
    done = run_command(sys.executable, "-c", text)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("processor", "text", "says"),
    [
        ("haswell", call("llvm.x86.avx512bf16.cvtneps2bf16.512", "<16 x bfloat>", "<16 x float>"), "needs avx512bf16"),
        ("neoverse-v1", call("llvm.x86.sse2.pause", "void"), "is an instruction of x86_64"),
        ("haswell", call("llvm.aarch64.hint", "void", "i32 = 1"), "is an instruction of aarch64"),
        ("haswell", call("llvm.vscale.i64", "i64"), "is not in the table"),
        ("haswell", call("llvm.x86.avx512.vpdpbusd.256", "<8 x i32>", "<8 x i32>", "<32 x i8>", "<32 x i8>"),
         "needs avx512vnni or avxvnni"),
        ("haswell", call("llvm.coro.size.i64", "i64"), "only the optimiser takes away"),
        ("haswell", call("llvm.nvvm.barrier0", "void"), "is not in the table"),
    ],
)  # fmt: skip
def test_intrinsics_that_would_end_the_process(processor: str, text: str, says: str) -> None:
    with pytest.raises(InternalError, match=says):
        assemble(text, Cpu.named(processor))


def test_special_intrinsics_name_features_that_are_probed() -> None:
    assert all(feature in FEATURES for _, features in SPECIAL.values() for feature in features.split())


@pytest.mark.parametrize(
    "text", ["nonsense", "define void @f() { ret i32 0 }", "define i32 @f() { %a = add i32 %b, 1 }"]
)
def test_texts_that_llvm_refuses(text: str) -> None:
    with pytest.raises(InternalError, match="LLVM refuses the code"):
        assemble(text, Cpu.host())


COROUTINE = """
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare void @llvm.coro.end(ptr, i1, token)
declare ptr @llvm.coro.free(token, ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @f(ptr %out) presplitcoroutine {
entry:
  %id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)
  %size = call i64 @llvm.coro.size.i64()
  %room = call ptr @malloc(i64 %size)
  %frame = call ptr @llvm.coro.begin(token %id, ptr %room)
  store i32 1, ptr %out
  %how = call i8 @llvm.coro.suspend(token none, i1 false)
  switch i8 %how, label %suspend [ i8 0, label %resume i8 1, label %cleanup ]
resume:
  store i32 2, ptr %out
  br label %cleanup
cleanup:
  %memory = call ptr @llvm.coro.free(token %id, ptr %frame)
  call void @free(ptr %memory)
  br label %suspend
suspend:
  call void @llvm.coro.end(ptr %frame, i1 false, token none)
  ret ptr %frame
}
"""


def test_coroutines_need_the_optimiser() -> None:
    with pytest.raises(InternalError, match="only the optimiser takes away"):
        assemble(COROUTINE, Cpu.host())
    for processor in PROCESSORS:
        assert "f.resume" in assembly(COROUTINE, Cpu.named(processor), optimize=True)


@pytest.mark.parametrize(("processor", "platform"), crossed(PROCESSORS, ["linux", "darwin", "win32"]))
def test_the_launcher_can_be_compiled_for_others(processor: str, platform: str) -> None:
    cpu = Cpu.named(processor)
    assert len(assemble(launcher_text(cpu, platform), cpu, optimize=True)) > 1000


def test_a_compiled_kernel_as_bytes() -> None:
    site = Site("run.null", "nothing at \N{SNOWMAN}", (3, 4), "A", 2, 1, "offset {} in {}", False)
    kernel = CompiledKernel("f", "girih.f", b"\0\1\2", 12, (site, Site("a.b", "c", (0, 0))), 16, (16, 2), 7)
    assert CompiledKernel.from_bytes(kernel.to_bytes()) == kernel
    whole = kernel.to_bytes()
    for wrong in (b"", b"\0" * 8, whole[:20], b"\xff" * 40, len(b"[]").to_bytes(8, "little") + b"[]"):
        with pytest.raises(ValueError, match="no compiled kernel"):
            CompiledKernel.from_bytes(wrong)
