"""The library as a whole: its table, its functions and what they refuse, its pages and its command."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import girih
from girih import kernels
from girih.cli import main
from girih.kernels.table import EVERY, TABLE, checked
from girih.kernels.texts import defaults
from tests.cases import long, one_in

NEEDED: dict[str, dict[str, int]] = {
    "ader_dg": {"convergence_order": 3},
    "attention": {"headdim": 16},
    "attention_work_group": {"headdim": 16},
    "cholesky": {"n": 5},
    "gemm_batched": {"m": 3, "n": 4, "k": 5},
    "gemm_tall_skinny": {"n": 4, "k": 5},
    "inverse": {"n": 5},
    "lu": {"n": 5},
    "top_k": {"k": 3},
}
"""The options that have no default."""


FIRST_TYPES = [(name, TABLE[name].definitions["type"][0]) for name in TABLE]
OTHER_TYPES = [(name, type_) for name in TABLE for type_ in TABLE[name].definitions["type"][1:]]
"""What the kernels are offered for; the tests of each compute with all of them."""


def function(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(kernels, name)
    return found


def test_table_folder_and_functions_have_the_same_kernels(repository: Path) -> None:
    texts = [path.stem for path in (repository / "girih" / "kernels").glob("*.tl")]
    pages = [path.stem for path in (repository / "docs" / "kernels").glob("*.md") if path.stem != "index"]
    assert kernels.names() == sorted(texts) == sorted(pages) == sorted(TABLE)
    assert set(kernels.__all__) == {*TABLE, "names", "path", "grid_for", "quantize", "dequantize"}


@pytest.mark.parametrize("name", TABLE)
def test_the_table_agrees_with_the_text(name: str) -> None:
    entry = TABLE[name]
    program = girih.load(kernels.path(name))
    assert list(program) == list(entry.functions or (name,))
    text = kernels.path(name).read_text(encoding="utf-8")
    defined = re.findall(r"^\$(\w+) = (?!!calc)", text, re.M)
    assert sorted(defaults(name)) == sorted(defined) == sorted(entry.definitions)
    assert text.startswith("; ")
    for definition in defined:
        assert f"${definition}" in text.split("\n\n")[0], f"the header does not explain ${definition}"


@pytest.mark.parametrize("name", TABLE)
def test_defaults_are_among_the_choices(name: str) -> None:
    for key, value in defaults(name).items():
        read = int(value) if value.lstrip("-").isdigit() else {"false": False, "true": True}.get(value, value)
        assert checked(name, {key: read}) == {key: read}


@pytest.mark.parametrize(("name", "type_"), [*one_in(3, FIRST_TYPES), *long(OTHER_TYPES)])
def test_every_type_that_is_offered_loads(name: str, type_: str) -> None:
    loaded = function(name)(type=type_, **NEEDED.get(name, {}))
    row_major = function(name)(type=type_, order="C", **NEEDED.get(name, {}))
    for kernel in row_major if isinstance(row_major, tuple) else (row_major,):
        assert kernel.ir.order == "C"
    for kernel in loaded if isinstance(loaded, tuple) else (loaded,):
        assert isinstance(kernel, girih.Kernel)
        assert kernel.ir.order == "F"
        assert type_ in kernel.signature


@pytest.mark.parametrize("name", TABLE)
def test_what_is_not_offered_is_refused_with_the_choices(name: str) -> None:
    offered = TABLE[name].definitions["type"]
    with pytest.raises(ValueError, match=rf"^{name}: type is 'f8'; it must be one of {offered[0]}, "):
        function(name)(type="f8", **NEEDED.get(name, {}))
    for missing in set(EVERY) - set(offered):
        with pytest.raises(ValueError, match=f"{name}: type is '{missing}'"):
            function(name)(type=missing, **NEEDED.get(name, {}))
    with pytest.raises(ValueError, match="there is no target 'abacus'"):
        function(name)(target="abacus", **NEEDED.get(name, {}))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: kernels.ader_dg(convergence_order=8),
            "ader_dg: convergence_order is 8; it must be a whole number from 2 to 7",
        ),
        (lambda: kernels.attention(headdim=0), "attention: headdim is 0; it must be a whole number from 1 to 1024"),
        (lambda: kernels.gemm_batched(m=0, n=1, k=1), "gemm_batched: M is 0; it must be a whole number from 1"),
        (
            lambda: kernels.gemm_tall_skinny(n=1, k=True),
            "gemm_tall_skinny: K is True; it must be a whole number from 1",
        ),
        (lambda: kernels.histogram(bins=16385), "histogram: bins is 16385; it must be a whole number from 1 to 16384"),
        (
            lambda: kernels.blocked_interleaved(stride=3),
            "blocked_interleaved: stride is 3; it must be one of 1, 2, 4",
        ),
        (
            lambda: kernels.blocked_interleaved(blocks="rows"),
            "blocked_interleaved: blocks is 'rows'; it must be one of row, column",
        ),
        (
            lambda: kernels.convolution(padding="reflect"),
            "convolution: padding is 'reflect'; it must be one of zero, edge, mirror",
        ),
        (lambda: kernels.convolution(stride=0), "convolution: stride is 0; it must be a whole number from 1 to 64"),
        (
            lambda: kernels.convolution(type="f16", accumulator="f16"),
            "convolution: accumulator is 'f16'; for type 'f16' it must be one of f32",
        ),
        (lambda: kernels.patches(channels=65), "patches: channels is 65; it must be a whole number from 1 to 64"),
        (lambda: kernels.patches(padding="wrap"), "patches: padding is 'wrap'; it must be one of zero, edge, mirror"),
        (lambda: kernels.gemv_q4_0(type="f16"), "gemv_q4_0: type is 'f16'; it must be one of f32, bf16"),
        (
            lambda: kernels.gemm(type="i8", accumulator="f32"),
            "gemm: accumulator is 'f32'; for type 'i8' it must be one of i32, i64",
        ),
        (
            lambda: kernels.gemm_mixed(type="bf16", accumulator="bf16"),
            "gemm_mixed: accumulator is 'bf16'; for type 'bf16' it must be one of f32",
        ),
    ],
)
def test_words_of_refusals(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == words


@pytest.mark.parametrize("name", ["gemm", "gemm_collective", "gemm_batched_group", "gemv", "gemm_batched"])
def test_a_number_is_no_truth_value(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: transpose_a is 1; it must be one of false, true"):
        function(name)(transpose_a=1, **NEEDED.get(name, {}))


@pytest.mark.parametrize("name", TABLE)
def test_functions_say_how_the_kernel_is_launched(name: str) -> None:
    documented = inspect.getdoc(function(name)) or ""
    assert re.search(r"\bGrid:\s", documented)
    for called in TABLE[name].functions or (name,):
        kernel = girih.load(kernels.path(name))[called]
        parameters = ", ".join(p.name for p in kernel.ir.parameters)
        assert re.search(rf"`\w+\({re.escape(parameters)}\)`", documented)
        assert kernel.grid is None


def test_grids() -> None:
    assert kernels.grid_for("gemm", 33, 64) == (2, 2)
    assert kernels.grid_for("attention", 1, 5) == (1, 5)
    assert kernels.grid_for("stencil", 0, 8, 17) == (0, 1, 2)
    assert kernels.grid_for("scan", 1025) == (2,)


@pytest.mark.parametrize("sizes", [(), (1,), (1, 2, 3), (1, -1), (1.5, 2), (True, 2), (np.float64(3), 2)])
def test_grids_that_are_refused(sizes: tuple[Any, ...]) -> None:
    words = "takes 2 sizes, whole and not negative: rows of the result, columns of the result"
    with pytest.raises(ValueError, match=words):
        kernels.grid_for("gemm", *sizes)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    grid = kernels.grid_for("attention", np.int64(33), np.uint8(2))
    assert grid == (2, 2)
    assert [type(size) for size in grid] == [int, int]
    assert checked("attention", {"headdim": np.int32(8)}) == {"headdim": 8}
    assert type(checked("attention", {"headdim": np.int32(8)})["headdim"]) is int


def test_names_that_are_not_there() -> None:
    for call in (kernels.path, kernels.grid_for):
        with pytest.raises(KeyError, match="there is no kernel 'gem'; there are ader_dg, "):
            call("gem")


def test_the_command_lists_all_kernels() -> None:
    done = CliRunner().invoke(main, ["kernels"])
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.output.splitlines()] == kernels.names()
    listed = json.loads(CliRunner().invoke(main, ["kernels", "--format", "json"]).output)
    assert listed == [{"name": name, "says": TABLE[name].says} for name in kernels.names()]


@pytest.mark.parametrize("name", TABLE)
def test_the_command_prints_a_program(name: str) -> None:
    printed = CliRunner().invoke(main, ["kernels", name]).output
    assert printed.startswith(kernels.path(name).read_text(encoding="utf-8"))
    for key, value in defaults(name).items():
        assert re.search(rf"^;   {key}={value} +(one of|a whole number|a multiple)", printed, re.M)
    assert girih.check(printed) == []
    described = json.loads(CliRunner().invoke(main, ["kernels", name, "--format", "json"]).output)
    assert described["text"] == kernels.path(name).read_text(encoding="utf-8")
    assert [d["name"] for d in described["definitions"]] == list(defaults(name))


def test_the_command_knows_what_was_meant() -> None:
    done = CliRunner().invoke(main, ["kernels", "sofmax"])
    assert done.exit_code == 2
    assert "there is no kernel 'sofmax'; did you mean 'softmax'?" in done.output
