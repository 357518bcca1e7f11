"""The kernels of examples/python: the same programs as the library's texts, right on arrays of any order, and short."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import itertools
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.front.python.facts import ArrayFacts, ConstantFacts, Facts, ScalarFacts, Specialisation
from girih.front.python.translate import read, translate
from girih.ir.core import Function, Parameter
from girih.ir.grid import show_grid
from girih.ir.types import MemRef
from tests.cases import every_case, one_in
from tests.front.python.alike import alike

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def example(name: str) -> ModuleType:
    """A module of examples/python."""
    spec = importlib.util.spec_from_file_location(f"python_example_{name}", ROOT / "examples" / "python" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernel_of(name: str) -> girih.PythonKernel:
    """The kernel of a name such as `rows.softmax`."""
    module, _, kernel = name.partition(".")
    found = getattr(example(module), kernel)
    assert isinstance(found, girih.PythonKernel)
    return found


TEXTS = {
    "vectors.axpby": ("axpby", "F"),
    "vectors.scan_totals": ("scan", "F"),
    "vectors.scan": ("scan", "F"),
    "vectors.histogram": ("histogram", "F"),
    "rows.softmax": ("softmax", "C"),
    "rows.layernorm": ("layernorm", "C"),
    "rows.cross_entropy": ("cross_entropy", "C"),
    "matrices.transpose": ("transpose", "F"),
    "matrices.stencil": ("stencil", "F"),
    "matrices.gemm_collective": ("gemm_collective", "F"),
    "products.attention": ("attention", "C"),
    "products.gemm_work_group": ("gemm_work_group", "F"),
    "products.gemv_q8_0": ("gemv_q8_0", "C"),
}
"""The text of the library that each is, and the order of arrays in which its axes are the text's modes."""


def facts_of(parameter: Parameter, order: str) -> Facts:
    """What the type of a text's parameter says of an array in an order."""
    type = parameter.type
    if not isinstance(type, MemRef):
        return ScalarFacts(str(type))
    axes = tuple(range(type.order)) if order == "F" else tuple(reversed(range(type.order)))
    sizes, strides = (
        tuple(values[axes.index(axis)] for axis in range(type.order)) for values in (type.shape, type.strides)
    )
    alignment = parameter.attributes.get("alignment")
    return ArrayFacts(type.element.name, sizes, strides, axes, alignment if isinstance(alignment, int) else None)


def in_python(kernel: girih.PythonKernel, text: Function, order: str) -> Function:
    """The kernel translated for arrays of the types that a text's parameters have."""
    definition, types = kernel._definition, iter(text.parameters)
    facts = [
        ConstantFacts(p.default) if p.kind == "constant" else facts_of(next(types), order)
        for p in definition.parameters
    ]
    names = [p.name for p in definition.parameters]
    known = Specialisation(tuple(zip(names, facts, strict=True)), definition.options)
    return translate(read(kernel.function), known).functions[0]


def grid_of(function: Function) -> list[str]:
    """The grid with the parameters' numbers in place of their names."""
    numbers = {p.value: f"%{number}" for number, p in enumerate(function.parameters)}
    entries: Any = function.attributes.get("grid")
    return [show_grid(entry, numbers.__getitem__) for entry in entries]


def test_kernels_are_the_texts_of_the_library() -> None:
    with every_case() as case:
        for name, (path, order) in TEXTS.items():
            with case(name):
                kernel = kernel_of(name)
                source = (ROOT / "girih" / "kernels" / f"{path}.tl").read_text(encoding="utf-8")
                text = girih.parse(source).function(kernel.name)
                assert text is not None
                made = in_python(kernel, text, order)
                assert alike(made) == alike(text)
                assert grid_of(made) == grid_of(text)


Array = NDArray[Any]
Case = Callable[[Callable[[tuple[int, ...]], Array]], tuple[tuple[Any, ...], dict[int, Array]]]
"""From a source of random arrays to the arguments of a launch, and what it makes of those of some numbers."""


def _norm(x: Array) -> Array:
    normal: Array = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return normal


def _softmax(x: Array) -> Array:
    e: Array = np.exp(x - x.max(axis=-1, keepdims=True))
    e /= e.sum(axis=-1, keepdims=True)
    return e


def _add(draw: Any) -> Any:
    x, y = draw((1500,)), draw((1500,))
    return (x, y, np.zeros_like(x)), {2: x + y}


def _softmaxes(draw: Any) -> Any:
    a = draw((7, 100))
    return (a, np.zeros_like(a)), {1: _softmax(a)}


def _layernorms(draw: Any) -> Any:
    x, gamma, beta = draw((7, 100)), draw((100,)), draw((100,))
    return (x, gamma, beta, 1e-5, np.zeros_like(x)), {4: _norm(x) * gamma + beta}


def _entropies(draw: Any) -> Any:
    a, t = draw((7, 30)), np.array([3, -100, 29, 0, 1, 2, 4])
    kept = np.where(t == -100, 0, -np.log(_softmax(a)[range(7), t % 30]))
    return (a, t, np.zeros(7, np.float32)), {2: kept}


def _transposes(draw: Any) -> Any:
    a = draw((50, 35))
    return (a, np.zeros((35, 50), np.float32)), {1: a.T}


def _products(draw: Any) -> Any:
    a, b = draw((50, 41)), draw((41, 70))
    return (a, b, np.zeros((50, 70), np.float32)), {2: a @ b}


def _collectives(draw: Any) -> Any:
    a, b, c = draw((130, 41)), draw((41, 70)), draw((130, 70))
    return (2.0, a, b, 0.5, c), {4: 2 * (a @ b) + 0.5 * c}


def _attentions(draw: Any) -> Any:
    q, k, v = draw((4, 40, 64)), draw((2, 50, 64)), draw((2, 50, 64))
    weights = _softmax(q @ np.repeat(k, 2, axis=0).transpose(0, 2, 1) * 0.125)
    return (q, k, v, np.zeros_like(q), 0.125), {3: weights @ np.repeat(v, 2, axis=0)}


CASES: dict[str, Case] = {
    "vectors.add": _add,
    "rows.softmax": _softmaxes,
    "rows.layernorm": _layernorms,
    "rows.cross_entropy": _entropies,
    "matrices.transpose": _transposes,
    "matrices.gemm_collective": _collectives,
    "products.matmul": _products,
    "products.attention": _attentions,
}


def drawn(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
@pytest.mark.parametrize("orders", one_in(2, ["CCCCC", "FFFFF", "CFCCF", "FCFCC"]))
def test_kernels_give_what_numpy_gives(orders: str, target: str) -> None:
    with every_case() as case:
        for name, make in CASES.items():
            with case(name):
                arguments, expected = make(drawn)
                given = [
                    np.array(value, order="C" if order == "C" else "F") if isinstance(value, np.ndarray) else value
                    for value, order in zip(arguments, orders, strict=False)
                ]
                _on(kernel_of(name), target)(*given)
                for number, value in expected.items():
                    np.testing.assert_allclose(given[number], value, rtol=2e-4, atol=2e-4)


@cache
def _on(kernel: girih.PythonKernel, target: str) -> girih.PythonKernel:
    """The kernel for a target, whatever the environment names."""
    return kernel.on(target)


def test_scans_and_counts() -> None:
    x = np.arange(5000, dtype=np.float32) % 7
    totals, sums, counts = np.zeros(5, np.float32), np.zeros(5000, np.float32), np.zeros(256, np.int32)
    vectors = example("vectors")
    vectors.scan_totals(x, totals)
    vectors.scan(x, totals, sums)
    assert np.array_equal(sums, np.cumsum(x))
    vectors.histogram(x.astype(np.int32), counts)
    assert np.array_equal(counts, np.bincount(x.astype(int), minlength=256))
    with pytest.raises(girih.LaunchError, match="must be 256, not 255"):
        vectors.histogram(x.astype(np.int32), counts[:255])


def test_tensors_of_torch_are_arrays() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(7, 100)
    for given in (x, x.T.contiguous().T):
        y = kernel_of("rows.softmax").out(given)
        kernel_of("rows.softmax")(given, y)
        assert isinstance(y, torch.Tensor)
        assert torch.allclose(y, torch.softmax(x, 1), atol=1e-6)
        assert y.stride() == given.stride()


@pytest.mark.parametrize("name", one_in(3, CASES))
def test_kernels_are_emitted_without_a_device(name: str) -> None:
    variant = kernel_of(name).variant(*CASES[name](drawn)[0])
    assert f".entry {kernel_of(name).name}" in variant.ptx
    assert variant.spirv[:4] == b"\x03\x02\x23\x07"
    assert name.partition(".")[0] + ".py" in variant.ptx, "lines of the PTX are those of the Python file"


LINES_OF_TRITON = {
    "vectors.add": 17,
    "rows.softmax": 26,
    "products.matmul": 42,
    "rows.layernorm": 28,
    "products.attention": 64,
}
"""Lines of kernel and launcher in Triton's tutorials 01, 02, 03, 05 and 06.

Of 05 and 06 the forward pass counts, without what only the gradient needs, and of 06 without the launcher. Counted at
commits 0086dd44, 066e1eb8, 01093914, 0a99ae9a and 003da478 without blank lines, comments and docstrings, with one line
for each call and for each head of a function."""
LAUNCHER = 2
"""`Y = kernel.out(X)` and `kernel(X, Y)`."""


def lines_of(kernel: girih.PythonKernel) -> int:
    """Lines of a kernel with its decorator, without blank ones, comments and the docstring."""
    source = textwrap.dedent("".join(inspect.getsourcelines(kernel.function)[0]))
    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.FunctionDef)
    said = tree.body[0]
    docstring = range(said.lineno, (said.end_lineno or 0) + 1) if ast.get_docstring(tree) else range(0)
    lines = [line.strip() for number, line in enumerate(source.splitlines(), 1) if number not in docstring]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def test_kernels_are_no_longer_than_those_of_triton() -> None:
    lines = {name: lines_of(kernel_of(name)) + LAUNCHER for name in LINES_OF_TRITON}
    assert all(lines[name] <= most for name, most in LINES_OF_TRITON.items()), lines
    texts = {name: len(kernel_of(name).variant(*CASES[name](drawn)[0]).text.splitlines()) for name in lines}
    assert all(lines[name] < texts[name] for name in lines), (lines, texts)


def test_every_example_has_a_case() -> None:
    modules = [example(path.stem) for path in sorted((ROOT / "examples" / "python").glob("*.py"))]
    kernels = {
        f"{module.__name__.removeprefix('python_example_')}.{name}"
        for module, (name, value) in itertools.chain.from_iterable(
            ((module, item) for item in vars(module).items()) for module in modules
        )
        if isinstance(value, girih.PythonKernel)
    }
    assert kernels == set(TEXTS) | set(CASES)
