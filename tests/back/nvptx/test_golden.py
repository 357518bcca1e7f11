"""The PTX of thirty kernels, as text: a change of the code generator shows what it changes, on machines without a GPU.

`make bless` writes the files. What LLVM makes of the same kernel is another matter: with another version of LLVM than
the one that wrote them they are not compared.
"""

from __future__ import annotations

import re

import pytest

from girih.back.llvm.assemble.assembler import llvm_version
from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from tests.back.nvptx.features import feature, features, kernel_of, of_library
from tests.conftest import Golden

LLVM = "22.1"
"""The version of LLVM that wrote the files."""

CHECKED = ("found", "wide")
"""Those whose checks are to be seen."""

LIBRARY = (
    ("argmax", "argmax"),
    ("axpby", "axpby"),
    ("cross_entropy", "cross_entropy"),
    ("histogram", "histogram"),
    ("inverse", "inverse"),
    ("patches", "patches"),
    ("rms_norm", "rms_norm"),
    ("rotary", "rotary"),
    ("scan", "scan"),
    ("softmax", "softmax"),
    ("top_k", "top_k"),
    ("transpose", "transpose"),
)

as_written = pytest.mark.skipif(
    not llvm_version().startswith(f"{LLVM}."), reason=f"the files were written with LLVM {LLVM}, not {llvm_version()}"
)


def as_text(ptx: str) -> str:
    """PTX without its version, and without the numbers of calls, which LLVM counts through all modules of a process."""
    return re.sub(r"(// callseq|\.version) [\d.]+", r"\1", ptx)


def test_there_are_thirty() -> None:
    assert len(features().functions) + len(LIBRARY) >= 30
    assert set(CHECKED) <= {function.name for function in features().functions}


@as_written
@pytest.mark.parametrize("name", [function.name for function in features().functions])
def test_features(name: str, golden: Golden) -> None:
    kernel = kernel_of(feature(name), checks=name in CHECKED)
    golden(f"nvptx/{name}.ptx", as_text(kernel.ptx))


@as_written
def test_the_wide_variant(golden: Golden) -> None:
    kernel = kernel_of(feature("places"), variant=CudaVariant(narrow=False, disjoint=False))
    golden("nvptx/places_wide.ptx", as_text(kernel.ptx))


@as_written
@pytest.mark.parametrize(("name", "function"), LIBRARY)
def test_kernels_of_the_library(name: str, function: str, golden: Golden) -> None:
    golden(f"nvptx/library_{function}.ptx", as_text(kernel_of(of_library(name, function)).ptx))
