"""`ffi_call`: a kernel as a function of JAX arrays, which XLA calls on the memory of its own arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from girih.api import Kernel
from girih.arguments.arrays import accept
from girih.arguments.report import ArgumentPlace, ArgumentReport
from girih.arguments.scalars import DTYPES, bind_scalar
from girih.diagnostics import Diagnostic, LaunchError
from girih.ir.core import Order
from girih.ir.types import Boolean, Number
from girih.jax.launches import NULL, SCALAR_WORDS, registered
from girih.lazy_dataclass import dataclass
from girih.operators import Operator, OperatorParameter, Results, Rule, operator_of

__all__ = ["FfiFunction", "ffi_call"]

_FIRST_ADDRESS = 4096
"""The first address that stands for an array whose memory is not known yet."""


def ffi_call(
    kernel: Kernel | Mapping[str, Kernel], *, out: Results | None = None, grid: Rule | None = None
) -> FfiFunction:
    """A kernel as a function of JAX arrays, by `jax.ffi`: it can be called under `jax.jit`, and in `jax.shard_map`.

    `kernel` and `grid` mean what they mean to `girih.torch.custom_op`; the arrays' platform, `cpu` or CUDA, decides
    which kernel runs.

    The function takes one argument for each parameter, by position or by name: arrays, or None, for memrefs, and lists
    of arrays for groups; numbers for scalars, which are part of the compiled code, so that another number compiles
    again. Arrays of JAX do not change: what the kernel writes is returned, in the order of its parameters, one array as
    such and several as a tuple. A parameter that `out` names is no argument: its memory is allocated by XLA,
    uninitialized. `out` is a name, several, or a mapping from names to shapes: sizes by axes, or a function of
    arguments, which it names as its own parameters: `out={"C": lambda A, B: (A.shape[0], B.shape[1])}`. A memref whose
    type has all sizes needs no shape.

    Arrays of order F take a copy on the way in and out, since XLA's are in order C: load programs with `order="C"`.
    Raises `TypeError` and `ValueError` for what cannot be made such a function. A call raises `LaunchError` for wrong
    arguments, when it is traced; what is found when it runs is an error of JAX with the words of girih.
    """
    operator = operator_of(kernel, out, grid)
    return FfiFunction(operator, registered(operator))


@dataclass(frozen=True, eq=False)
class FfiFunction:
    """A kernel as a function of JAX arrays, made by `ffi_call`; `target` is its name in compiled programs of XLA."""

    operator: Operator
    target: str

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """The arrays that the kernel writes, from arguments by position or by name. Raises `LaunchError`."""
        values = self._in_order(arguments, named)
        given = {p.name: _number_argument(p, v) if p.memref is None else _arrays(v) for p, v in values.items()}
        shapes = self._shapes(given)
        self._check(given | shapes)
        scalars = [word for p in values if p.memref is None for word in _words(p, given[p.name])]
        arrays = [p for p in values if p.memref is not None]
        operands = [one for p in arrays for one in _members(given[p.name])]
        varying = frozenset[Any]().union(*(getattr(jax.typeof(one), "vma", ()) for one in operands))
        results = [_result(shape, varying) for p in self._returned for shape in _members(shapes[p.name])]
        call = jax.ffi.ffi_call(
            self.target,
            results,
            has_side_effect=not results,
            vmap_method="sequential",
            input_layouts=[self._layout(one) for one in operands],
            output_layouts=[self._layout(one) for one in results],
            input_output_aliases=self._aliases(given),
        )
        made = call(
            *operands,
            scalars=np.array(scalars, np.int64),
            counts=np.array([word for p in arrays for word in _counts(given[p.name])], np.int64),
            grid=np.array(self.operator.grid_of(given) or (), np.int64),
        )
        return self._grouped(made, given)

    def __repr__(self) -> str:
        return f"<girih function of JAX arrays {self.operator.kernel.signature}>"

    @property
    def _returned(self) -> tuple[OperatorParameter, ...]:
        return _returned(self.operator)

    def _in_order(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[OperatorParameter, Any]:
        """One value for each argument. Raises `LaunchError`."""
        wanted = self.operator.arguments
        names = [p.name for p in wanted]
        given = dict(zip(names, arguments, strict=False))
        twice, unknown = [n for n in named if n in given], [n for n in named if n not in names]
        given |= named
        missing = [name for name in names if name not in given]
        if twice or unknown or missing or len(arguments) > len(names):
            message = f"a call of @{self.operator.kernel.name} has the arguments {', '.join(names) or 'none'}"
            wrong = [f"{', '.join(some)} {what}" for some, what in ((missing, "missing"), (twice, "given twice"),
                     (unknown, "unknown")) if some] or [f"got {len(arguments)}"]  # fmt: skip
            raise LaunchError([Diagnostic("bind.arguments", f"{message}: {'; '.join(wrong)}",
                                          self.operator.kernel.ir.span)])  # fmt: skip
        return {p: given[p.name] for p in wanted}

    def _shapes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The shapes and types of what comes out, by name; those of a group as a list."""
        shapes = dict(given)
        for result in self.operator.results:
            shapes[result.name] = _shape(result, self.operator.shape_of(result, given))
        return shapes

    def _check(self, values: Mapping[str, Any]) -> None:
        """Hold numbers, and the shapes and types of arrays, against the parameters. Raises `LaunchError`."""
        places, parameters = _places(), self.operator.parameters
        accept([p.spec for p in parameters], [
            values[p.name] if p.memref is None else _stands_for(values[p.name], self._order, places) for p in parameters
        ])  # fmt: skip

    @property
    def _order(self) -> Order:
        return self.operator.kernel.ir.order

    def _layout(self, array: Any) -> tuple[int, ...]:
        """The axes of an array from the one with the largest stride to the one with the smallest."""
        axes = range(len(array.shape))
        return tuple(axes) if self._order == "C" else tuple(reversed(axes))

    def _aliases(self, given: Mapping[str, Any]) -> dict[int, int]:
        """The result that has the memory of an operand, by their numbers."""
        aliases: dict[int, int] = {}
        operand = result = 0
        for p in self.operator.parameters:
            count = len(_members(given[p.name])) if p.name in given and p.memref is not None else 0
            if p in self.operator.results:
                result += 1
            elif p.spec.written:
                aliases |= {operand + k: result + k for k in range(count)}
                result += count
            operand += count
        return aliases

    def _grouped(self, made: Sequence[Any], given: Mapping[str, Any]) -> Any:
        """What a call returns: arrays, and lists of them for groups."""
        arrays = iter(made)
        values: list[Any] = []
        for p in self._returned:
            value = given.get(p.name)
            if p.is_group and value is not None:
                values.append([None if one is None else next(arrays) for one in value])
            elif value is not None or p in self.operator.results:
                values.append(next(arrays))
            else:
                values.append(None)
        return tuple(values) if len(values) != 1 else values[0]


def _returned(operator: Operator) -> tuple[OperatorParameter, ...]:
    """The parameters whose arrays come out of a call."""
    return tuple(p for p in operator.parameters if p.memref is not None and p.spec.written)


def _arrays(value: Any) -> Any:
    """An argument as an array of JAX, or a list of them; None stays."""
    if isinstance(value, list | tuple):
        return [_arrays(one) for one in value]
    return None if value is None else jnp.asarray(value)


def _number_argument(parameter: OperatorParameter, value: Any) -> Any:
    """A number that is known when the call is traced. Raises `LaunchError`."""
    if isinstance(value, jax.core.Tracer):
        spec = parameter.spec
        message = f"%{spec.name} is {spec.type}, a number of the launch; got an array that is known only when it runs"
        hint = "make it static (static_argnums of jax.jit), or let the kernel take a memref without modes"
        raise LaunchError([Diagnostic("bind.type", message, spec.span, hint=hint)])
    return np.asarray(value) if isinstance(value, jax.Array) else value


def _members(value: Any) -> list[Any]:
    """The arrays of an argument: none, one, or those of a group that are not None."""
    if isinstance(value, list):
        return [one for one in value if one is not None]
    return [] if value is None else [value]


def _counts(value: Any) -> list[int]:
    """How many arrays an argument has; of a group also which of its members there are."""
    if isinstance(value, list):
        return [len(value), *(int(one is not None) for one in value)]
    return [NULL if value is None else 1]


def _words(parameter: OperatorParameter, value: Any) -> list[int]:
    """A number that suits its parameter as words of 8 bytes."""
    type = parameter.spec.type
    assert isinstance(type, Number | Boolean)
    bound = bind_scalar(type, value, ArgumentPlace(parameter.spec.name, 1, parameter.spec.span), ArgumentReport())
    assert bound is not None
    content = bound.tobytes().ljust(8 * SCALAR_WORDS, b"\0")
    return [int(word) for word in np.frombuffer(content, np.int64)]


def _shape(result: OperatorParameter, sizes: Any) -> jax.ShapeDtypeStruct:
    """The shape and type of a result. Raises `ValueError`."""
    type = result.memref
    assert type is not None
    if not isinstance(sizes, Sequence) or len(sizes) != type.order:
        raise ValueError(f"the shape of %{result.spec.name} has {type.order} sizes, as {type} has modes; got {sizes!r}")
    return jax.ShapeDtypeStruct(tuple(sizes), DTYPES[type.element])


def _result(like: Any, varying: frozenset[Any]) -> jax.ShapeDtypeStruct:
    """The shape and type of what comes out; in `shard_map` it varies over the axes over which any operand does."""
    return jax.ShapeDtypeStruct(like.shape, like.dtype, **({"vma": varying} if varying else {}))


class _Described:
    """What NumPy makes an array of, whose elements nobody reads."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def _places() -> Iterator[int]:
    """Addresses that stand for memory, far enough from each other for arrays of any size."""
    address = _FIRST_ADDRESS
    while True:
        yield address
        address += 2**40


def _stands_for(value: Any, order: Order, places: Iterator[int]) -> Any:
    """An array of NumPy with the type, the shape and the order of one of JAX, and without its elements."""
    if isinstance(value, list):
        return [_stands_for(one, order, places) for one in value]
    if value is None:
        return None
    dtype = np.dtype(value.dtype)
    plain = dtype if dtype.isbuiltin == 1 else np.dtype(f"i{dtype.itemsize}")
    shape = tuple(map(int, value.shape))
    interface = {"version": 3, "data": (next(places), False), "shape": shape[::-1] if order == "F" else shape,
                 "typestr": plain.str}  # fmt: skip
    array = np.asarray(_Described(interface)).view(dtype)
    return array.T if order == "F" else array
