"""PTX as machine code: the assemblers, what is kept on disk, what is shown of it, what the driver is asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import girih
from girih.back.llvm.nvptx.machine.architecture import ARCHITECTURES
from girih.diagnostics import InternalError
from girih.runtime.cuda.code import assembler, kept, nvjitlink, ptxas, sass
from girih.runtime.cuda.code.assembler import Assembled, AssemblyError, DriverAssembler, NvJitLink, Ptxas, assemble
from girih.runtime.cuda.code.resources import KernelResources
from tests.runtime.cuda import fake as fakes
from tests.runtime.cuda import fake_maps
from tests.runtime.cuda.conftest import PtxAsItIs, install
from tests.runtime.cuda.fake import CUresult, FakeDriver
from tests.runtime.cuda.test_cuda_launch import SCALE, kernel

PTX = girih.loads(SCALE, target="cuda:sm_90a")["scale"].ptx


def real() -> list[assembler.Assembler]:
    """The assemblers of this machine, of which there may be none."""
    return list(assembler.assemblers())


def for_device() -> list[assembler.Assembler]:
    """Those with which code for the current device is made."""
    return list(assembler.assemblers(for_device=True))


# --- assemblers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(2))
def test_an_assembler_makes_machine_code_and_says_what_it_takes(number: int) -> None:
    there = real()
    if number >= len(there):
        pytest.skip(f"this machine has {len(there)} assemblers")
    made = there[number].assemble(PTX, "sm_90a")
    assert made.cubin.startswith(b"\x7fELF") and b".text.scale" in made.cubin
    assert b".debug_line" in made.cubin, "profilers find the lines of the program"
    found = KernelResources.in_log(made.log, "scale")
    assert found is not None and 8 <= found.registers <= 64 and not found.spill_stores
    with pytest.raises(AssemblyError, match="bogus"):
        there[number].assemble(PTX.replace("ld.param", "bogus.param"), "sm_90a")


def test_the_driver_assembles_where_nothing_else_does(fake: FakeDriver) -> None:
    made = DriverAssembler(13000).assemble(PTX, "sm_90a")
    assert made.cubin == PTX.encode() and "Used 9 registers" in made.log
    with pytest.raises(AssemblyError, match="there is no kernel"):
        DriverAssembler(13000).assemble("// nothing", "sm_90a")
    assert fake.links == {}, "what is made is given back"
    assert not fake.stack, "the thread has no current device, as before"


def test_the_order_of_assemblers(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library, command = tmp_path / "libnvJitLink.so.13", tmp_path / "ptxas"
    library.write_bytes(b"no library")
    command.write_text("#!/bin/sh\necho 'ptxas fatal   : Value sm_90a is not defined' >&2\nexit 1\n")
    command.chmod(0o755)
    monkeypatch.setattr(nvjitlink, "library_file", lambda: library)
    monkeypatch.setattr("shutil.which", lambda name: str(command))
    found = for_device()
    assert [type(one) for one in found] == [NvJitLink, Ptxas, DriverAssembler]
    assert [type(one) for one in real()] == [NvJitLink, Ptxas], "the driver's is for its device alone"
    monkeypatch.setattr(ptxas, "in_wheels", lambda: (str(command),))
    whole = list(assembler.assemblers(for_device=True, whole=True))
    assert [type(one) for one in whole] == [Ptxas, Ptxas, DriverAssembler, NvJitLink], "what is linked is no whole"
    assert len({one.identity for one in found}) == 3
    # A library that does not load, and an assembler that is too old: the next one is asked.
    made = assemble(PTX, "sm_90a", iter(found))
    assert made is not None and made.cubin == PTX.encode()
    with pytest.raises(InternalError, match=r"(?s)no assembler takes the code for sm_90a.*loaded.*not defined"):
        assemble(PTX, "sm_90a", iter(found[:2]))
    assert assemble(PTX, "sm_90a", iter(())) is None


def test_ptxas_in_wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the newest toolkit first; what cannot be executed is none."""
    for name in ("cu12", "cu13", "cu14"):
        file = tmp_path / name / "bin" / "ptxas"
        file.parent.mkdir(parents=True)
        file.write_text("")
        file.chmod(0o644 if name == "cu14" else 0o755)
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(ptxas, "find_spec", lambda name: spec if name == "nvidia" else None)
    monkeypatch.setattr("shutil.which", lambda name: "/bin/ptxas")
    ptxas.in_wheels.cache_clear()
    try:
        there = [str(tmp_path / name / "bin" / "ptxas") for name in ("cu13", "cu12")]
        assert list(ptxas.commands(wheels=True)) == ["/bin/ptxas", *there]
        assert list(ptxas.commands(wheels=False)) == ["/bin/ptxas"]
    finally:
        ptxas.in_wheels.cache_clear()


def test_a_changed_assembler_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "ptxas"
    file.write_text("one")
    before = Ptxas(str(file)).identity
    file.write_text("another")
    assert Ptxas(str(file)).identity != before


def test_no_wheel_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvjitlink, "find_spec", lambda name: None)
    nvjitlink.library_file.cache_clear()
    try:
        assert nvjitlink.library_file() is None
    finally:
        nvjitlink.library_file.cache_clear()


def test_without_an_assembler(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "assemblers", lambda **_: iter(()))
    launch = kernel(SCALE)
    with pytest.raises(girih.LaunchError, match=r"bind\.cuda_assembler(.|\n)*pip install nvidia-nvjitlink"):
        launch(1.0, np.ones(2, np.float32))
    assert [one.code for one in launch.remarks] == ["cuda.sizes"] or launch.remarks == ()
    with pytest.raises(girih.CompileError, match=r"run\.emit.*no assembler is there"):
        _ = launch.sass


# --- what is kept ----------------------------------------------------------------------------------


class Counting(PtxAsItIs):
    """It counts what it is asked for."""

    def __init__(self, identity: str = "counting") -> None:
        self.identity = identity
        self.asked = 0

    def assemble(self, ptx: str, architecture: str) -> Assembled:
        self.asked += 1
        return PtxAsItIs.assemble(self, ptx, architecture)


def test_what_is_kept_needs_neither_compiler_nor_assembler(
    fake: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    asked = Counting()
    monkeypatch.setattr(kept, "assemblers", lambda **_: iter([asked]))
    data = np.ones(2, np.float32)
    kernel(SCALE)(2.0, data)
    assert asked.asked == 1 and len(list(tmp_path.glob("*.code"))) == 2
    monkeypatch.setitem(sys.modules, "girih.back.llvm.nvptx.compile", None)
    kernel(SCALE)(2.0, data)
    assert asked.asked == 1 and data.tolist() == [4, 4]
    # Another assembler makes its own, from the PTX that is kept.
    other = Counting("another")
    monkeypatch.setattr(kept, "assemblers", lambda **_: iter([other]))
    kernel(SCALE)(2.0, data)
    assert other.asked == 1


def test_another_driver_gets_its_own_code(fake: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    asked = Counting()
    monkeypatch.setattr(kept, "assemblers", lambda **_: iter([asked]))
    kernel(SCALE)(2.0, np.ones(2, np.float32))
    monkeypatch.setattr(FakeDriver, "cuDriverGetVersion", lambda self: 13010)
    kernel(SCALE)(2.0, np.ones(2, np.float32))
    assert asked.asked == 2


def test_entries_that_are_of_no_use_are_dropped(
    fake: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from girih.runtime.cache import Cache, CacheWarning

    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    data = np.ones(2, np.float32)
    kernel(SCALE)(2.0, data)
    for entry in tmp_path.glob("*.code"):
        Cache.standard().put(entry.stem, b"\x09\0\0\0\0\0\0\0nonsense")
    with pytest.warns(CacheWarning, match="was dropped: these bytes hold no"):
        kernel(SCALE)(2.0, data)
    assert data.tolist() == [4, 4]


def test_loading_what_is_kept_does_not_load_llvm(tmp_path: Path) -> None:
    """From cached code to a kernel that can be called, LLVM's library is not even imported."""
    script = tmp_path / "load.py"
    script.write_text(
        "import sys, girih\n"
        f"girih.loads({SCALE!r}, target='cuda:sm_90a')\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'llvmlite', 'cuda'}))\n",
        encoding="utf-8",
    )
    said = [subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
            for _ in range(2)]  # fmt: skip
    assert said[1] == "[]\n", said


# --- what is shown ---------------------------------------------------------------------------------


def test_remarks_say_what_a_kernel_takes(fake: FakeDriver) -> None:
    found = [one for one in kernel(SCALE).remarks if one.code == "cuda.resources"]
    assert [one.message for one in found] == [
        "a thread takes 40 registers, spills of 4 bytes stored and 12 loaded, a work-group 0 bytes of local memory: "
        "32 work-groups, 32 of 64 warps, are on a multiprocessor of sm_90a at a time"
    ]
    assert found[0].severity == "remark"


@pytest.mark.parametrize(
    ("registers", "threads", "shared", "name", "groups"),
    [
        (32, 128, 0, "sm_90a", 16),  # warps: 64 / 4
        (168, 384, 0, "sm_90a", 1),  # registers: 65536 / (12 warps of 5376)
        (40, 32, 0, "sm_90a", 32),  # work-groups
        (40, 32, 0, "sm_86", 16),
        (32, 128, 100 * 1024, "sm_90a", 2),  # shared memory: 228 KiB / (100 + 1) KiB
        (33, 256, 0, "sm_80", 6),  # registers of a warp are multiples of 256: 40 each
    ],
)
def test_how_many_work_groups_fit(registers: int, threads: int, shared: int, name: str, groups: int) -> None:
    assert KernelResources(registers).work_groups(ARCHITECTURES[name], threads, shared) == groups


def test_logs_without_the_kernel_say_nothing() -> None:
    assert KernelResources.in_log("", "f") is None
    assert (
        KernelResources.in_log("ptxas info : Compiling entry function 'g' for 'sm_90a'\nUsed 4 registers", "f") is None
    )
    assert KernelResources.in_log("Compiling entry function 'f' for 'sm_80'\nUsed 4 registers", "f") == KernelResources(
        4
    )


def test_products_that_wait_are_remarked() -> None:
    """What assemblers say of asynchronous products, before the kernel's own lines or behind them."""
    says = "ptxas info    : (C7509) Potential Performance Loss: wgmma instructions are serialized due to calls"
    found = KernelResources.in_log(f"{says}\nCompiling entry function 'f' for 'sm_90a'\nUsed 168 registers", "f")
    assert found == KernelResources(168, loss="C7509: wgmma instructions are serialized due to calls")
    words = found.remark(ARCHITECTURES["sm_90a"], 384, 1024)
    assert "loses speed (C7509: wgmma" in words.message and "ptxas" in words.hint
    assert "loses speed" not in KernelResources(168).remark(ARCHITECTURES["sm_90a"], 384, 1024).message


def test_machine_code_is_shown(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shower = tmp_path / "nvdisasm"
    shower.write_text('#!/bin/sh\nfor last; do :; done\necho "shown with $1"; head -c 10 "$last"\n')
    shower.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(shower) if name == "nvdisasm" else None)
    assert kernel(SCALE).sass.startswith("shown with --print-code\n//")
    shower.write_text("#!/bin/sh\necho 'no such architecture' >&2\nexit 3\n")
    with pytest.raises(girih.CompileError, match=r"run\.emit.*does not show the code: no such architecture"):
        _ = kernel(SCALE).sass
    monkeypatch.setattr(sass, "_disassemblers", lambda: iter(()))
    with pytest.raises(girih.CompileError, match=r"run\.emit.*no disassembler is there(.|\n)*nvidia-cuda-nvdisasm"):
        _ = kernel(SCALE).sass


@pytest.mark.skipif(not sass.can_show(), reason="no assembler or disassembler is there")
def test_machine_code_of_this_machines_assembler() -> None:
    shown = girih.loads(SCALE, target="cuda:sm_90a")["scale"].sass
    assert re.search(r"\bFMUL\b", shown) and ".text.scale" in shown


# --- cuda-bindings ---------------------------------------------------------------------------------


def test_the_fake_is_like_the_real_bindings() -> None:
    """Functions, with their numbers of parameters, and numbers of attributes, as cuda-bindings has them."""
    bindings = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    if isinstance(bindings, FakeDriver):
        pytest.skip("it is replaced")
    for name in (name for name in vars(FakeDriver) if re.match(r"cu[A-Z]", name)):
        mine = getattr(fakes.FakeDriver, name).__code__.co_argcount - 1
        said = getattr(bindings, name).__doc__.splitlines()[0]
        listed = re.sub(r"\[[^\]]*(\[[^\]]*\][^\]]*)*\]", "", said.partition("(")[2].rpartition(")")[0])
        assert len([one for one in listed.split(",") if one.strip()]) == mine, said
    for kind in (fakes.CUresult, fakes.CUdevice_attribute, fakes.CUfunction_attribute, fakes.CUpointer_attribute,
                 fakes.CUstreamCaptureMode, fakes.CUjit_option, fakes.CUjitInputType):  # fmt: skip
        theirs = getattr(bindings, kind.__name__)
        assert {one.name: int(one) for one in kind} == {one.name: int(getattr(theirs, one.name)) for one in kind}


def test_girih_calls_what_the_fake_has(repository: Path) -> None:
    used: set[str] = set()
    for path in (*(repository / "girih/runtime/cuda").glob("*.py"), repository / "girih/bench/measuring/gpu.py"):
        used |= set(re.findall(r'"(cu[A-Z]\w+)"', path.read_text(encoding="utf-8")))
    known = {*vars(FakeDriver), *fake_maps.functions({}, "sm_90a", [])}
    assert used <= known, used - known


# --- what girih targets shows ------------------------------------------------------------------------


def test_the_summary_names_what_is_there(two: FakeDriver) -> None:
    from girih.runtime.cuda.summary import summary_of

    facts = summary_of("").facts
    assert facts["driver"] == "CUDA 13.0"
    assert facts["cuda:0"].endswith("compute capability 9.0, 132 multiprocessors, code for sm_90a, taken")
    assert facts["cuda:1"].startswith("another") and "taken" not in facts["cuda:1"]
    assert "taken" in summary_of("1").facts["cuda:1"]
    assert summary_of("sm_80").facts["tensor copies"] == "computed"


def test_the_summary_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from girih.runtime.cuda.summary import summary_of

    fake = install(FakeDriver(), monkeypatch)
    fake.failing["cuInit"] = CUresult.CUDA_ERROR_NO_DEVICE
    facts = summary_of("").facts
    assert facts["driver"].startswith("none: NVIDIA's driver finds no GPU") and "sm_90a" in facts["code here"]


def test_a_driver_alone_is_enough(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without nvJitLink and ptxas, launches have the driver's assembler; remarks and `sass` have none."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(nvjitlink, "library_file", lambda: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(kept, "assemblers", assembler.assemblers)
    launch, data = kernel(SCALE), np.ones(4, np.float32)
    launch(2.0, data)
    assert data.tolist() == [2, 2, 2, 2]
    assert not [one for one in launch.remarks if one.code == "cuda.resources"]
    with pytest.raises(girih.CompileError, match=r"run\.emit"):
        _ = launch.sass
