"""`custom_op`: an operator of torch.library with its schema, its fake kernel, and kernels for kinds of devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from girih.api import Kernel
from girih.diagnostics import Diagnostic, LaunchError
from girih.ir.types import Boolean, Number
from girih.lazy_dataclass import dataclass
from girih.operators import DEVICES, Operator, OperatorParameter, Results, Rule, operator_of, packed

if TYPE_CHECKING:
    from torch.library import CustomOpDef

__all__ = ["TorchOperator", "custom_op"]

_SCALARS = {"boolean": "bool", "integer": "int", "floating": "float", "complex": "complex"}
"""The types of schemas by families of the language's scalar types."""
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*", re.ASCII)


def custom_op(
    kernel: Kernel | Mapping[str, Kernel], name: str, *, out: Results | None = None, grid: Rule | None = None
) -> TorchOperator:
    """A kernel as an operator of PyTorch, which `torch.compile` takes as one node of its graphs.

    `kernel` is launched on tensors of its own target: one of `cuda` on CUDA tensors, any other on tensors of the CPU.
    For those of the other device it is compiled from the same program when the first ones come; a mapping from "cpu"
    and "cuda" to kernels with the same signature says which to take instead. A kernel on a grid, `kernel[grid]`, is
    launched on it; `grid` is a function that gives the grid of each call. `name` is the operator's in
    `torch.ops`, as "mylib::axpby".

    The operator takes one argument for each parameter, by position or by name: numbers for scalars; tensors, or None,
    for memrefs; lists of tensors for groups. What the kernel writes is declared as mutated. Parameters that `out` names
    are no arguments: each call allocates them, uninitialized, and returns them, one as a tensor and several as a tuple.
    `out` is a name, several, or a mapping from names to shapes: sizes by axes, or a function of arguments, which it
    names as its own parameters, that gives sizes or a tensor: `out={"C": lambda A, B: (A.shape[0], B.shape[1])}`.
    A memref whose type has all sizes needs no shape.

    Raises `TypeError` and `ValueError` for what cannot be made an operator. A call raises `LaunchError` for wrong
    arguments and `KernelError` for what was found, as a launch of the kernel does.
    """
    operator = operator_of(kernel, out, grid)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        wanted = f"'mylib::{operator.kernel.name}'"
        raise ValueError(f"the name of an operator is NAMESPACE::NAME, such as {wanted}; got {name!r}")
    calls = _Calls(operator, operator.arguments)
    mutated = tuple(p.name for p in operator.arguments if p.spec.written)
    made = torch.library.custom_op(name, calls.run, mutates_args=mutated, schema=_schema(operator))
    made.register_fake(calls.pretend)
    names = tuple(p.name for p in operator.arguments)
    return TorchOperator(name, made, operator.kernel, names, mutated, _refusal(operator.kernel))


@dataclass(frozen=True, eq=False)
class TorchOperator:
    """A kernel as an operator of PyTorch, made by `custom_op`.

    `name` is its name in `torch.ops`; `definition` is the `torch.library.CustomOpDef`, for what else torch offers, such
    as `register_vmap`.
    """

    name: str
    definition: CustomOpDef
    kernel: Kernel
    arguments: tuple[str, ...]
    mutated: tuple[str, ...]
    _refuse: Callable[[str, str], None]

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """The results that a call allocates. Raises `LaunchError` and `KernelError`."""
        if self.mutated:
            self._check_mutation(arguments, named)
        return self.definition(*arguments, **named)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., None] | None = None
    ) -> None:
        """Give the operator its gradient, as `torch.library.CustomOpDef.register_autograd` does.

        `setup_context(ctx, inputs, output)` keeps what `backward(ctx, gradient)` needs, which returns a gradient or
        None for each argument. Raises `ValueError` for an operator that changes its arguments.
        """
        if self.mutated:
            changed = ", ".join(self.mutated)
            raise ValueError(f"an operator that changes its arguments ({changed}) has no gradient: name them in `out`")
        self.definition.register_autograd(backward, setup_context=setup_context)

    def __repr__(self) -> str:
        return f"<girih operator {self.name} of PyTorch, {self.kernel.signature}>"

    def _check_mutation(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Raise `LaunchError` where what is written would be lost: to a gradient, or to elements that are computed."""
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in _tensors([*arguments, *named.values()])):
            message = "a tensor requires a gradient, which an operator that changes its arguments does not have"
            hint = (
                "call it under torch.no_grad() or with tensor.detach(); for a gradient, name what the kernel writes in "
                "`out`, and give the operator one with register_autograd"
            )
            self._refuse(message, hint)
        # The compiler cannot read these questions; torch itself refuses such a tensor there.
        if torch.compiler.is_compiling():
            return
        given = dict(zip(self.arguments, arguments, strict=False)) | dict(named)
        for name in self.mutated:
            if any(tensor.is_conj() or tensor.is_neg() for tensor in _tensors([given.get(name)])):
                message = f"elements of {name} are conjugated or negated when they are read, so it cannot be written"
                self._refuse(message, "pass tensor.resolve_conj(), or .resolve_neg()")


def _refusal(kernel: Kernel) -> Callable[[str, str], None]:
    """A function that raises `LaunchError`, and that torch's compiler calls instead of reading it."""

    def refuse(message: str, hint: str) -> None:
        raise LaunchError([Diagnostic("bind.type", f"@{kernel.name}: {message}", kernel.ir.span, hint=hint)])

    made: Callable[[str, str], None] = torch.compiler.disable(refuse)
    return made


def _schema(operator: Operator) -> str:
    """The schema of an operator without its name, in the words of torch.library."""
    shown = ", ".join(_shown(number, p) for number, p in enumerate(operator.arguments))
    tensors = ", ".join(["Tensor"] * len(operator.results))
    return f"({shown}) -> {tensors if len(operator.results) == 1 else f'({tensors})'}"


def _shown(number: int, parameter: OperatorParameter) -> str:
    type = parameter.spec.type
    if isinstance(type, Number | Boolean):
        family = type.family if isinstance(type, Number) else "boolean"
        return f"{_SCALARS[family]} {parameter.name}"
    written = f"(a{number}!)" if parameter.spec.written else ""
    return f"Tensor{written}{'?[]' if parameter.is_group else '?'} {parameter.name}"


@dataclass(frozen=True, slots=True, eq=False)
class _Calls:
    """What is behind an operator: its calls on tensors with elements, and on tensors that only have a shape."""

    operator: Operator
    arguments: tuple[OperatorParameter, ...]

    def run(self, *values: Any) -> Any:
        """Launch the kernel; the results that the call allocates."""
        operator = self.operator
        results = self._allocated(values)
        device = self._device([*values, *results])
        given = list(map(_memory, self.arguments, values))
        grid = None
        if results or operator.grid is not None:
            grid = operator.grid_of(operator.named(values))
            made = dict(zip((p.name for p in operator.results), map(_memory, operator.results, results), strict=True))
            given = operator.in_order(operator.named(given), made)
        operator.on(device, grid)(*given)
        return _returned(results)

    def pretend(self, *values: Any) -> Any:
        """The results of a call as to type, shape and strides, without elements."""
        return _returned(self._allocated(values))

    def _allocated(self, values: Sequence[Any]) -> tuple[Any, ...]:
        operator = self.operator
        if not operator.results:
            return ()
        arguments = operator.named(values)
        device = next((tensor.device for tensor in _tensors(values)), None)
        return tuple(_empty(p, operator.shape_of(p, arguments), device) for p in operator.results)

    def _device(self, values: Sequence[Any]) -> str:
        """The type of the device that all tensors are on. Raises `LaunchError`."""
        devices = {tensor.device for tensor in _tensors(values)}
        first = next(iter(devices), _CPU)
        if len(devices) > 1:
            shown = " and ".join(sorted(map(str, devices)))
            self._refuse(f"the tensors are on {shown}", "move them to one device: A.to(B.device)")
        if first.type not in DEVICES:
            self._refuse(f"the tensors are on {first}", "move them to the CPU or to a CUDA device")
        return str(first.type)

    def _refuse(self, message: str, hint: str) -> None:
        span = self.operator.kernel.ir.span
        raise LaunchError([Diagnostic("bind.device", f"@{self.operator.kernel.name}: {message}", span, hint=hint)])


_CPU = torch.device("cpu")


def _tensors(values: Sequence[Any]) -> list[Any]:
    """The tensors among values, and in lists among them."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += [one for one in value if one is not None]
    return found


def _returned(results: tuple[Any, ...]) -> Any:
    if not results:
        return None
    return results[0] if len(results) == 1 else results


def _memory(parameter: OperatorParameter, value: Any) -> Any:
    """An argument as a launch takes it: tensors of the CPU as arrays of NumPy, others without their gradient.

    Elements that are conjugated or negated when they are read were made so by torch before.
    """
    if isinstance(value, list | tuple):
        return [_memory(parameter, member) for member in value]
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    # Types that NumPy lacks, and layouts that it has no strides for, are left to the launch.
    plain = value.device.type == "cpu" and value.layout is torch.strided and value.dtype in _IN_NUMPY
    return value.numpy() if plain else value


def _empty(parameter: OperatorParameter, shape: Any, device: Any) -> Any:
    """A tensor for a result: packed in the order of its memref, without values; or the one that was given."""
    if isinstance(shape, torch.Tensor):
        return shape
    type = parameter.memref
    assert type is not None
    if not isinstance(shape, Sequence) or len(shape) != type.order:
        message = f"the shape of %{parameter.spec.name} has {type.order} sizes, as {type} has modes; got {shape!r}"
        raise ValueError(message)
    c = parameter.spec.order == "C"
    strides = packed(type, shape[::-1] if c else shape)
    if strides is None:
        raise ValueError(f"no packed tensor has the strides of %{parameter.spec.name}, {type}: let the function in "
                         "`out` give a tensor that has them")  # fmt: skip
    return torch.empty_strided(tuple(shape), strides[::-1] if c else strides, dtype=DTYPES[type.element.name],
                               device=device)  # fmt: skip


DTYPES = {
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "index": torch.int64,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "c32": torch.complex64,
    "c64": torch.complex128,
}
"""The types of torch by the language's names."""

_IN_NUMPY = frozenset(dtype for name, dtype in DTYPES.items() if not name.startswith(("f8", "bf")))
