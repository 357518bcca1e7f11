"""The standard set and the kernels of the library: everything is listed, compiles, and computes what NumPy does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from girih.bench import child
from girih.bench.cases import columns, costs, functions, products
from girih.bench.cases.library import KERNELS
from girih.bench.choices import type_of, types_of
from girih.bench.events import MeasuringRequest
from girih.bench.measuring import peak, work
from girih.bench.measuring.context import MeasuringContext
from girih.bench.measuring.timing import Call, Clock, Effort, Samples
from girih.bench.report import TITLES
from girih.cli import BENCH_GROUPS
from girih.kernels.table import TABLE
from tests.cases import long, one_in

CONTEXT = MeasuringContext(quick=True, peers={"numpy": np})


def once(functions: Mapping[str, Call], _effort: Effort, _clock: Clock, _rest: float) -> Samples:
    """Instead of timing: every function runs once."""
    for call in functions.values():
        call()
    return Samples({name: [1.0] for name in functions})


@pytest.fixture(autouse=True)
def no_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "interleaved", once)
    monkeypatch.setattr(work, "bandwidth", lambda: peak.Meter(lambda: None, 1.0))
    monkeypatch.setattr(peak, "STEPS", 2)


def test_the_groups_are_those_of_the_command() -> None:
    assert set(child.groups()) == set(BENCH_GROUPS)
    assert set(BENCH_GROUPS) <= set(TITLES)


def test_a_request_chooses_cases() -> None:
    assert {case.group for case in child.cases_of(MeasuringRequest("standard", ("rows", "threads")))} == {"rows"}
    assert {case.group for case in child.cases_of(MeasuringRequest("standard", many=True))} == {"threads", "calls"}
    assert [case.name for case in child.cases_of(MeasuringRequest("library", name="ger", type="f32"))] == ["ger"]


def test_every_kernel_of_the_library_is_measured() -> None:
    assert set(KERNELS) == set(TABLE)


@pytest.mark.parametrize("name", one_in(3, sorted(TABLE)))
def test_a_kernel_of_the_library_computes_what_numpy_does(name: str) -> None:
    (row,) = KERNELS[name](CONTEXT, types_of(name)[0])
    assert name in row.name or row.group != "library"
    assert "numpy" in row.against or name in ("gemm_mixed", "attention_work_group")


@pytest.mark.parametrize("type", [*long(["f64"]), "bf16"])
def test_other_types_do_too(type: str) -> None:
    for name in ("softmax", "gemm_batched", "gemv"):
        assert type in types_of(name)
        assert len(KERNELS[name](CONTEXT, type)) == 1


def test_types_are_chosen_by_definitions() -> None:
    assert type_of("softmax", {}) == "f32"
    assert type_of("gemm_mixed", {}) == "bf16"
    assert type_of("histogram", {}) == "i32"
    with pytest.raises(ValueError, match="must be one of f32, f16, bf16, f64"):
        type_of("softmax", {"type": "i8"})
    with pytest.raises(ValueError, match=r"takes only -D type=.*give the kernel's file"):
        type_of("gemm", {"transpose_a": "true"})


def test_large_and_odd_products() -> None:
    for type in ("f32", "f64", "bf16"):
        (row,) = products.large(CONTEXT, type, 96)
        assert row.flops == 2 * 96**3
    (row,) = products.shapes(CONTEXT, "f32", 17, 1, 33)
    assert row.name == "gemm 17x1x33 f32"


def test_vectors() -> None:
    assert columns.axpby(CONTEXT, 1000)[0].flops == 3000
    for transpose in (False, True):
        assert columns.gemv(CONTEXT, 70, transpose)[0].flops == 2 * 70 * 70


def test_functions() -> None:
    for name in functions.EXACT:
        (row,) = functions.function(CONTEXT, name, "f64", 1000)
        assert ("numpy" in row.against) == (name != "erf")


def test_costs_say_their_parts() -> None:
    (row,) = costs.from_cache(CONTEXT)
    assert {"ms", "key_ms", "read_ms", "link_ms"} <= set(row.figures)
    compiling = [case for case in costs.cases() if case.group == "compile"]
    (row,) = compiling[0].run(CONTEXT)
    assert {"ms", "front_ms", "lower_ms"} <= set(row.figures)
