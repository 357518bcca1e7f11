"""What tests know of arguments: facts for NumPy arrays, and kernels that are translated and run on them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import girih
from girih.front.python.facts import (
    ArrayFacts,
    ConstantFacts,
    Facts,
    GroupFacts,
    KernelOptions,
    ScalarFacts,
    Specialisation,
)
from girih.front.python.signature import Declared
from girih.front.python.translate import KernelDefinition, read, translate
from girih.ir.core import Module

NO_OPTIONS = KernelOptions()
ELEMENTS = {"float16": "f16", "float32": "f32", "float64": "f64", "int8": "i8", "int16": "i16", "int32": "i32",
            "int64": "i64", "complex64": "c32", "complex128": "c64"}  # fmt: skip


def array_facts(array: np.ndarray, element: str | None = None) -> ArrayFacts:
    """Facts of an array of which only the order of its axes, and its unit stride, are static."""
    order = tuple(sorted(range(array.ndim), key=lambda axis: (array.strides[axis], -axis)))
    strides = tuple(1 if order and axis == order[0] else None for axis in range(array.ndim))
    return ArrayFacts(element or ELEMENTS[array.dtype.name], (None,) * array.ndim, strides, order)


def facts_of(declared: Declared, argument: object) -> Facts:
    """Facts of an argument, by what its parameter is declared as."""
    element = declared.element if isinstance(declared.element, str) else None
    if declared.kind == "constant":
        return ConstantFacts(argument)
    if declared.kind == "group":
        assert isinstance(argument, list)
        return GroupFacts(array_facts(argument[0], element))
    if declared.kind == "scalar":
        return ScalarFacts(element or "f32")
    return array_facts(np.asarray(argument), element)


def specialised(kernel: KernelDefinition, *arguments: object, options: KernelOptions = NO_OPTIONS) -> Specialisation:
    """The specialisation for some arguments."""
    pairs = zip(kernel.parameters, arguments, strict=True)
    return Specialisation(tuple((p.name, facts_of(p, a)) for p, a in pairs), options)


def translated(function: Callable[..., object], *arguments: object, options: KernelOptions = NO_OPTIONS) -> Module:
    """The module of a function for some arguments."""
    kernel = read(function)
    return translate(kernel, specialised(kernel, *arguments, options=options))


def run(
    function: Callable[..., object],
    *arguments: object,
    grid: tuple[int, ...] = (1,),
    options: KernelOptions = NO_OPTIONS,
) -> None:
    """Run a function as a kernel, in the interpreter, on arrays in whatever order they are."""
    kernel = read(function)
    known = specialised(kernel, *arguments, options=options)
    module = translate(kernel, known)
    passed = [
        np.asarray(a).transpose(f.order) if isinstance(f, ArrayFacts) else a
        for (_, f), a in zip(known.parameters, arguments, strict=True)
        if not isinstance(f, ConstantFacts)
    ]
    girih.loads(str(module), target="interpreter")[function.__name__][grid](*passed)
