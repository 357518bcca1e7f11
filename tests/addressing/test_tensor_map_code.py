"""`TensorMap.code`: what it writes is read back as the same map, assembled, compiled, and called.

ptxas, nvcc and cuda.h are taken where they are; without cuda.h the C text is checked against its declarations here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from girih.addressing import AddressingError, TensorMap
from girih.addressing.tensor_map.code_ptx import instruction_of
from girih.addressing.tensor_map.driver import CALLS, ENUMERATIONS, LISTS, SHARED_TYPES, driver_name
from girih.addressing.tensor_map.element_type import ELEMENT_TYPES, REDUCTIONS
from girih.addressing.tensor_map.rules import ARCHITECTURES
from girih.addressing.tensor_map.swizzle import MODES
from girih.commands.address.paste import read
from tests.cases import long

HOPPER, BLACKWELL = "sm_90a", "sm_100a"


def tiled(rank: int = 2, **changed: Any) -> TensorMap:
    sizes = (64, 6, 5, 4, 3)[:rank]
    strides = tuple(256 * number for number in (1, 8, 64, 512)[: rank - 1])
    base: dict[str, Any] = {"dtype": "f16", "global_dim": sizes, "global_strides": strides}
    return TensorMap.tiled(**base | {"box_dim": (32, 2, 2, 2, 2)[:rank]} | changed)


def im2col(rank: int = 4, **changed: Any) -> TensorMap:
    base: dict[str, Any] = {"dtype": "f16", "global_dim": (*(64, 6, 5, 4, 3)[: rank - 1], 2)}
    base |= {"global_strides": tuple(256 * number for number in (1, 8, 64, 512)[: rank - 1])}
    corners = (0,) * (rank - 2)
    base |= {"lower_corner": corners, "upper_corner": corners, "channels_per_pixel": 32, "pixels_per_column": 7}
    return TensorMap.im2col(**base | changed)


def packed(dtype: str, **changed: Any) -> TensorMap:
    base: dict[str, Any] = {"dtype": dtype, "global_dim": (256, 8), "global_strides": (192,), "box_dim": (128, 1)}
    return TensorMap.tiled(**base | {"architecture": BLACKWELL} | changed)


def forms(architecture: str) -> Iterator[tuple[TensorMap, str]]:
    """A map and a copy of every form of the instructions on an architecture."""
    new: dict[str, Any] = {"architecture": architecture}
    for rank in range(1, 6):
        yield from ((tiled(rank, **new), copy) for copy in ("load", "store"))
        yield tiled(rank, dtype="u32", global_dim=(64, *(4,) * (rank - 1)), **new), "reduce.inc"
    for rank in range(3, 6):
        yield from ((im2col(rank, **new), copy) for copy in ("load", "store", "reduce.add"))
    for operation, types in REDUCTIONS.items():
        yield from ((tiled(dtype=dtype, box_dim=(16, 2), **new), f"reduce.{operation}") for dtype in types)
    sliced = tiled(3, interleave="32B", swizzle="32B", **new)
    yield from ((sliced, copy) for copy in ("load", "store", "reduce.max"))
    yield im2col(4, interleave="16B", **new), "load"
    yield from ((tiled(swizzle=mode, box_dim=(16, 2), **new), "load") for mode in ("32B", "64B", "128B"))
    if ARCHITECTURES[architecture].gather:
        yield tiled(box_dim=(32, 1), **new), "gather4"
        yield packed("b6x16_p32", **new), "gather4"
    if ARCHITECTURES[architecture].scatter:
        yield tiled(box_dim=(32, 1), **new), "scatter4"
        yield packed("b6p2x16", **new), "scatter4"
    if ARCHITECTURES[architecture].capability >= 10:
        yield from ((packed(dtype, **new), "load") for dtype in ("b4x16", "b4x16_p64", "b6x16_p32"))
        yield from ((packed(dtype, **new), "store") for dtype in ("b4x16", "b6p2x16"))
        yield from ((tiled(swizzle=name, **new), "load") for name, mode in MODES.items() if mode.blackwell)


def every_map() -> list[TensorMap]:
    """A map of every type, mode, swizzle, fill and interleave, without repetition."""
    found = [given for architecture in (HOPPER, BLACKWELL) for given, _ in forms(architecture)]
    found += [tiled(dtype=name, box_dim=(16, 2)) for name, row in ELEMENT_TYPES.items() if row.family != "packed"]
    found += [tiled(oob_fill="nan", element_strides=(1, 3), global_dim=(2**32, 7)), im2col(lower_corner=(-3, 2))]
    return list(dict.fromkeys(found))


def copy_of(given: TensorMap) -> str:
    return "store" if given.element.direction == "store" else "load"


def test_what_is_written_is_read_back_as_the_same_map() -> None:
    for given in every_map():
        for language in ("c", "python"):
            found = read(given.code(language, copy_of(given)), {})
            assert found.problems == [], given
            expected = {one.name: getattr(given, one.name) for one in fields(given) if one.name in found.parameters}
            expected["dtype"] = SHARED_TYPES.get(given.dtype, given.dtype)
            assert found.parameters == expected, given
            assert set(found.parameters) >= {"dtype", "global_dim", "element_strides", "swizzle", "oob_fill"}


def test_coordinates_have_the_order_of_the_instruction() -> None:
    load = "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
    assert f"{load} [%box], [%map, {{%c, %w, %h, %n}}], [%barrier], {{%offset_w, %offset_h}};" in im2col().code("ptx")
    sliced = im2col(4, interleave="16B").code("ptx")
    assert "{%w, %h, %slice, %n}], [%barrier], {%offset_w, %offset_h};" in sliced
    four = tiled(box_dim=(32, 1), architecture=BLACKWELL)
    assert "A copy moves four rows of 32." in four.code("c", "scatter4")
    assert "[%map, {%column, %row0, %row1, %row2, %row3}], [%barrier];" in four.code("ptx", "gather4")
    assert "scatter4.bulk_group [%map, {%column, %row0, %row1, %row2, %row3}], [%box];" in four.code("ptx", "scatter4")
    added = tiled(3, dtype="f32", box_dim=(16, 2, 2)).code("ptx", "reduce.add")
    text = "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%map, {%c0, %c1, %c2}], [%box];"
    assert text in added
    assert "im2col_no_offs.bulk_group [%map, {%c, %w, %h, %n}], [%box];" in im2col().code("ptx", "store")


def test_a_load_expects_its_transaction_bytes_and_every_text_shows_them() -> None:
    for given, copy in (*forms(HOPPER), *forms(BLACKWELL)):
        instruction = instruction_of(given, copy)
        loads = copy in ("load", "gather4")
        expected = (4 * given.transaction_bytes if copy == "gather4" else given.transaction_bytes) if loads else 0
        assert (instruction.expected_bytes, instruction.alignment) == (expected, max(128, given.swizzling.repeat))
        assert instruction.shared_bytes == (4 if copy.endswith("4") else 1) * given.image_bytes
        for language in ("c", "python", "ptx"):
            text = given.code(language, copy)
            assert instruction.opcode in text
            assert (f"expects {expected} bytes" in text) == loads
        assert (f"[%barrier], {expected};" in given.code("ptx", copy)) == loads


def test_what_did_not_run_on_a_device_says_so() -> None:
    assert all(("Not measured" in given.code("ptx", copy)) for given, copy in forms(BLACKWELL))
    hopper = {(given.mode, copy): "Not measured" in given.code("c", copy) for given, copy in forms(HOPPER)}
    measured = {form for form, not_measured in hopper.items() if not not_measured}
    copies = {(mode, copy) for mode in ("tiled", "im2col") for copy in ("load", "store")}
    reductions = {("tiled", copy) for _, copy in hopper if copy.startswith("reduce.")}
    assert reductions and measured == copies | reductions


@pytest.mark.parametrize(
    ("call", "rules", "words"),
    [
        (lambda: tiled().code("rust"), ["code_language"], "use c, ptx or python"),
        (lambda: tiled().code("c", name="2x"), ["code_name"], "choose one such as tensor"),
        (lambda: tiled().code("c", name="class"), ["code_name"], "choose one such as tensor"),
        (lambda: tiled().code("ptx", name="_tile"), ["code_name"], "choose one such as tensor"),
        (lambda: tiled().code("c", "prefetch"), ["copy"], "use load, gather4, store, scatter4, reduce.add"),
        (lambda: tiled().code("c", "reduce"), ["copy"], "reduce.xor"),
        (lambda: tiled().code("ptx", "reduce.inc"), ["reduction_type"], "inc exists for u32"),
        (lambda: tiled().code("ptx", "gather4"), ["gather_box", "gather_architecture"], "use sm_100a or sm_110a"),
        (lambda: packed("b6x16_p32").code("c", "store"), ["store_type"], "store b6p2x16"),
        (lambda: packed("b6p2x16").code("c"), ["load_type"], "load b6x16_p32"),
        (lambda: im2col(lower_corner=(-1, 0)).code("c", "store"), ["store_box"], "use a lower corner of 0"),
        (lambda: tiled(dtype="f64", box_dim=(256, 256)).code("c"), ["image_size"], "copy a smaller box"),
    ],
)
def test_what_cannot_be_written_is_refused_in_words(call: Any, rules: Sequence[str], words: str) -> None:
    with pytest.raises(AddressingError) as caught:
        call()
    assert [one.rule for one in caught.value.violations] == [f"tensor_map.{rule}" for rule in rules]
    assert words in str(caught.value)


# --- assembled, compiled, called -----------------------------------------------------------------


def ptxas() -> str:
    found = shutil.which("ptxas")
    if found is None:
        wheels = (Path(folder) for folder in sys.path if folder.endswith("site-packages"))
        found = next((str(path) for wheel in wheels for path in wheel.glob("nvidia/*/bin/ptxas")), None)
    if found is None:
        pytest.skip("there is no ptxas: neither on PATH nor in a wheel of NVIDIA's")
    return found


def one_module(architecture: str) -> str:
    """All forms as kernels of one module."""
    texts = [given.code("ptx", copy, name=f"k{number}") for number, (given, copy) in enumerate(forms(architecture))]
    heads = {"\n".join(re.findall(r"^\.(?:version|target|address_size) .*$", text, re.M)) for text in texts}
    assert len(heads) == 1
    return "\n".join([*heads, *(text.partition(".address_size 64\n")[2] for text in texts)])


@pytest.mark.parametrize(
    "architecture", [HOPPER, BLACKWELL, *long(["sm_90", "sm_100", "sm_103a", "sm_110a", "sm_121f"])]
)
def test_every_form_is_assembled(architecture: str, tmp_path: Path) -> None:
    path = tmp_path / "forms.ptx"
    path.write_text(one_module(architecture), encoding="utf-8")
    command = [ptxas(), f"--gpu-name={architecture}", "--opt-level=0", str(path), "-o", str(tmp_path / "forms.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "is not defined for option 'gpu-name'" in done.stderr:
        pytest.skip(f"this ptxas does not know {architecture}")
    assert done.returncode == 0, done.stderr


def declarations() -> str:
    """The part of cuda.h that the C text needs."""
    lines = ["#pragma once", "typedef int CUresult;", "typedef struct { unsigned long long opaque[16]; } CUtensorMap;",
             "typedef unsigned long long cuuint64_t;", "typedef unsigned int cuuint32_t;"]  # fmt: skip
    for one in ENUMERATIONS.values():
        values = ", ".join(one.prefix + word for word in one.words)
        lines.append(f"typedef enum {{ {values} }} {one.name};")
    for call, names in CALLS.items():
        types = ["CUtensorMap *" if name == "tensor_map" else ENUMERATIONS[name].name if name in ENUMERATIONS
                 else f"const {LISTS[name]} *" if name in LISTS else "void *" if name == "global_address"
                 else "cuuint32_t" for name in names]  # fmt: skip
        lines.append(f"CUresult cuTensorMapEncode{call}({', '.join(types)});")
    return "\n".join(lines) + "\n"


def c_texts() -> str:
    """The C text of every map, and of every copy on both architectures, as one file."""
    maps = [(given, copy_of(given)) for given in every_map()]
    texts = [given.code("c", copy, name=f"k{number}")
             for number, (given, copy) in enumerate([*maps, *forms(HOPPER), *forms(BLACKWELL)])]  # fmt: skip
    uses = "\n".join(f"    (void)encode_k{number};" for number in range(len(texts)))
    return "\n".join([*texts, f"void use(void)\n{{\n{uses}\n}}\n"])


def test_c_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "cuda.h").write_text(declarations(), encoding="utf-8")
    command = [compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-std=c99", f"-I{tmp_path}", "-xc", "-"]
    done = subprocess.run(command, input=c_texts(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("architecture", [HOPPER, BLACKWELL])
def test_nvcc_compiles_the_functions_of_the_device(architecture: str, tmp_path: Path) -> None:
    compiler = shutil.which("nvcc")
    if compiler is None:
        pytest.skip("there is no nvcc")
    path = tmp_path / "forms.cu"
    texts, calls = [], []
    for number, (given, copy) in enumerate(forms(architecture)):
        text = given.code("c", copy, name=f"k{number}")
        texts.append(text)
        call = re.search(rf"__device__ void (k{number}_\w+)\(\n\s+(.*)\)", text)
        assert call
        numbers = ", ".join("1" for _ in call[2].split(",")[1:])
        calls.append(f"    {call[1]}(&tensor_map, {numbers});")
    kernel = "__global__ void all(const __grid_constant__ CUtensorMap tensor_map)\n{\n" + "\n".join(calls) + "\n}\n"
    path.write_text("\n".join([*texts, kernel]), encoding="utf-8")
    command = [compiler, f"-arch={architecture}", "-cubin", "-o", str(tmp_path / "forms.cubin"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Recorded(ModuleType):
    """`cuda.bindings.driver` as far as the Python text uses it: it keeps the call."""

    def __init__(self) -> None:
        super().__init__("cuda.bindings.driver")
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        for one in ENUMERATIONS.values():
            setattr(self, one.name, SimpleNamespace(**{one.prefix + word: one.prefix + word for word in one.words}))
        self.status: Any = 0
        self.CUresult = SimpleNamespace(CUDA_SUCCESS=0)
        self.cuuint32_t = self.cuuint64_t = int
        for call in CALLS:
            setattr(self, f"cuTensorMapEncode{call}", partial(self.encoded, call))

    def encoded(self, call: str, *values: Any) -> tuple[Any, str]:
        self.calls.append((call, values))
        return self.status, "the map"


def test_the_python_text_calls_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Recorded()
    package = ModuleType("cuda.bindings")
    vars(package)["driver"] = driver
    monkeypatch.setitem(sys.modules, "cuda.bindings", package)
    for given in every_map():
        names: dict[str, Any] = {}
        exec(given.code("python", copy_of(given), name="tile"), names)
        assert names["encode_tile"](4096) == "the map"
        call, values = driver.calls.pop()
        arguments = dict(zip(CALLS[call][1:], values, strict=True))
        assert arguments.pop("global_address") == 4096
        for name, value in arguments.items():
            # The driver refuses a null pointer, also where it reads nothing.
            word: Any = getattr(given, name, "none") or (0,)
            expected = ENUMERATIONS[name].value_of(word) if name in ENUMERATIONS else word
            assert (tuple(value) if name in LISTS else value) == expected, (given, driver_name(name))
    driver.status = SimpleNamespace(name="CUDA_ERROR_INVALID_VALUE")
    with pytest.raises(RuntimeError, match=r"cuTensorMapEncode\w+: CUDA_ERROR_INVALID_VALUE"):
        names["encode_tile"](8)
