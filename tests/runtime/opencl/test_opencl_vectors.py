"""Run vectors of the corpus on a device of OpenCL: kernels that are compiled for it give what is expected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from girih.diagnostics import CompileError, Finding, KernelError, errors
from girih.ir.core import Function
from girih.ir.limits import DEFAULT_LIMITS
from girih.runtime.opencl.devices import OpenClDevice
from girih.runtime.opencl.executor import ENVIRONMENT, OpenClExecutor, compiled
from girih.spirv.judge.validate import validate
from tests.cases import every_case, long
from tests.ops import corpus, vectors

PARTS = 24
"""Into how many tests the functions of the corpus are divided, of which `make test` has one."""

REFUSED = ("cooperative_matrix_", "tensor_", "print", "atomic_")
"""What may be refused: matrices in part, copies of tensors, output, atomic accesses to elements of 8 and 16 bits."""

UNCHECKED = frozenset(("run.uninitialized", "run.lifetime", "run.budget", "run.aliasing", "run.divergent"))
"""What compiled code does not find, or no device tells."""

NOWHERE = frozenset(("run.null", "run.out_of_bounds"))
"""A memref that is nowhere is one without elements where the kernel does not ask whether it is there."""


def functions(part: int) -> Iterator[tuple[Path, Function, list[tuple[int, str]]]]:
    """The functions of a part, with their vectors and the lines of these."""
    count = 0
    for path in corpus.files("run.tl"):
        file = corpus.read(path)
        by_name: dict[str, list[tuple[int, str]]] = {}
        for line, text in file.vectors:
            by_name.setdefault(vectors.parse_vector(text).function, []).append((line, text))
        for name, told in by_name.items():
            function = file.module.function(name)
            count += 1
            if function is not None and count % PARTS == part:
                yield path, function, told


@pytest.mark.parametrize("part", [0, *long(range(1, PARTS))])
def test_run_vectors(device: OpenClDevice, part: int) -> None:
    """With checks all findings; without, results, and what is emitted keeps all rules."""
    with every_case() as case:
        for path, function, told in functions(part):
            with case(f"{path.parent.name} @{function.name}"):
                try:
                    kernel = OpenClExecutor(function, "", "bounds", DEFAULT_LIMITS)
                    plain = OpenClExecutor(function, "", "off", DEFAULT_LIMITS)
                except CompileError as error:
                    assert {one.code for one in error.diagnostics} == {"run.target"}
                    assert any(op.spec.mnemonic.startswith(REFUSED) for op in function.walk()), error
                    continue
                module = compiled(function, "", DEFAULT_LIMITS, checks=False).module
                assert errors(validate(module, ENVIRONMENT)) == []
                for line, text in told:
                    launch = vectors.parse_vector(text)
                    with case(f"line {line}"):
                        run(kernel, function, launch)
                    if not launch.expected.findings:
                        with case(f"line {line} without checks"):
                            run(plain, function, launch)


def run(kernel: OpenClExecutor, function: Function, launch: vectors.Launch) -> None:
    """Launch, and compare with what is expected."""
    marked = vectors.bind(function, launch.arguments)
    x, y, z = (*launch.grid, 1, 1)[:3]
    wrong = launch.expected.findings - UNCHECKED
    found: list[Finding] = []
    try:
        kernel.call((x, y, z), *marked)
    except KernelError as error:
        found = list(error.findings)
    codes = {one.code for one in found} - UNCHECKED
    assert codes == wrong or (codes and codes | wrong <= NOWHERE), f"found {codes}, expected {wrong}"
    if wrong or found:
        return
    vectors.assert_results(function, marked, launch)
