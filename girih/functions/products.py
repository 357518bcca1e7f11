"""`matmul`: products of matrices and of batches of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product as every
from math import prod
from typing import Any

from girih import kernels
from girih.functions.device import CupyArrays, TorchTensors
from girih.functions.host import DTYPE_OF, HOST, maker
from girih.functions.layouts import AxisView, Facing, facing, joined
from girih.functions.libraries import Library
from girih.functions.plans import ArrayFunction, CallPlan, FunctionCall, NewArray, Operand, QuickCall
from girih.functions.texts import array_kernel, is_cpu, library_kernel, settled
from girih.lazy_dataclass import dataclass

ELEMENTS = ("f16", "bf16", "f32", "f64", "i32", "i64", "c32", "c64")
HALVES = ("f16", "bf16")
ALONE = 2**23
"""The multiply-adds from which a product of a batch is launched by itself on a CPU, where all threads then share it."""
ALONE_ON_DEVICE = 2**21
"""The same on other targets."""

EVEN = 8
"""The elements of f16 or bf16 in 16 bytes."""

Viewer = Callable[[Any], Any]
Launch = Callable[[Any, Any, Any], None]
"""What computes c := a b, for arrays of some shapes and strides."""


def matmul(a: Any, b: Any, *, out: Any = None, target: str | None = None) -> Any:
    """The product of matrices, `a @ b`, as `np.matmul` defines it.

    `a` is ... x M x K and `b` is ... x K x N, of one type: f16, bf16, f32, f64, i32, i64, or complex; the result is ...
    x M x N of that type. Sizes in front are a batch: they are broadcast. An array with one axis is a row in front and a
    column behind, which the result then lacks. Sums of f16 and bf16 are in f32; an `out` of f32 gets them as they are.
    The error is at most (1 + K / 2) u |a| |b|; in bf16 numbers below the normal ones count as 0. Integers wrap around.
    Without `out` the result is in order C, or in order F where both factors are.

    Matrices are used as they are if their rows or their columns are contiguous; others are copied, with a
    `CopyWarning`. `out` may share memory with the factors.

    Raises `LaunchError`: `bind.dtype` for other types, or two of them; `bind.shape` for an array without axes, where K
    differs, where batches do not suit each other, and where `out` does not suit the result. 003 "GEMM".
    """
    return _MATMUL.compute((a, b), (), out, target)


def _build(problem: FunctionCall) -> CallPlan:
    a, b = problem.operand(0), problem.operand(1)
    left, right = _factors(problem, a, b)
    (rows, depth), (_, columns) = left.shape[-2:], right.shape[-2:]
    batch = _broadcast(problem, a, b, left.shape[:-2], right.shape[:-2])
    shape = (*batch, rows, columns)
    shown = (*batch, *[rows] * (len(a.shape) > 1), *[columns] * (len(b.shape) > 1))
    out = problem.outs[0]
    wide = out is not None and out.element == "f32" and a.element in HALVES
    element = "f32" if wide else a.element
    in_columns = _is_in_columns(a) and _is_in_columns(b) and len(shown) >= 2
    order = tuple(range(len(shown)))
    made = NewArray(element, shown, (*order[:-2], order[-1], order[-2]) if in_columns else order)
    (out,) = problem.results(made)
    fresh = Operand("out", element, shown, ()).packed(made.order)
    target = _unsqueezed(out if out is not None else fresh, a, b)
    direct = out is None or facing(target.shape, target.steps) is not None
    if not direct:
        target = _unsqueezed(fresh, a, b)
    if 0 in shape:
        return CallPlan((made,), lambda arrays, outs: None, (direct,))
    library = problem.library
    if depth == 0:
        return CallPlan((made,), lambda arrays, outs: _clear(library, made, outs[0]), (True,))
    copies = tuple(map(_copies, (problem, problem), (left, right)))
    left, right = (one.packed(range(len(one.shape))) if copy else one
                   for one, copy in zip((left, right), copies, strict=True))  # fmt: skip
    makers = tuple(map(_maker, (library,) * 3, (a, b, Operand("out", element, shown, ())), (left, right, target)))
    products = _Products(library, problem.target, element)
    compute = _batched(products, left, right, target)
    same_shapes = (left.shape, right.shape, target.shape) == (a.shape, b.shape, shown)
    if library is HOST and same_shapes and not any(copies):
        quick = products.quick(left, right, target, made)
        return CallPlan((made,), lambda arrays, outs: compute(arrays[0], arrays[1], outs[0]), (direct,), quick=quick)

    def launch(arrays: Sequence[Any], outs: Sequence[Any]) -> None:
        x, y = arrays
        if copies[0]:
            x = library.copied(x, range(len(a.shape)))
        if copies[1]:
            y = library.copied(y, range(len(b.shape)))
        compute(makers[0](x), makers[1](y), makers[2](outs[0]))

    return CallPlan((made,), launch, (direct,))


_MATMUL = ArrayFunction("matmul", ("a", "b"), _build)


def _factors(problem: FunctionCall, a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """The factors with at least two axes each. Raises `LaunchError` where they cannot be multiplied."""
    for operand in (a, b):
        problem.check_element(operand, ELEMENTS)
        if not operand.shape:
            problem.refuse("bind.shape", f"{operand.name} has no axes; it must have at least one",
                           "use * for the product with a number")  # fmt: skip
    problem.check_same(a, b)
    left, right = _matrix(a, front=True), _matrix(b, front=False)
    depth, b_depth = left.shape[-1], right.shape[-2]
    if depth != b_depth:
        last, first = len(a.shape) - 1, max(len(b.shape) - 2, 0)
        problem.refuse("bind.shape", f"a has shape {a.shape} and b has shape {b.shape}: axis {last} of a, {depth}, and "
                       f"axis {first} of b, {b_depth}, must be equal", _transposed(a, b))  # fmt: skip
    return left, right


def _matrix(operand: Operand, *, front: bool) -> Operand:
    """An operand with at least two axes: one with a single axis is a row in front, and a column behind."""
    if len(operand.shape) > 1:
        return operand
    (size,), (step,) = operand.shape, operand.steps
    shape, steps = ((1, size), (size, step)) if front else ((size, 1), (step, size))
    return Operand(operand.name, operand.element, shape, steps)


def _unsqueezed(out: Operand, a: Operand, b: Operand) -> Operand:
    """The result with the axes that it lacks where a factor has a single one."""
    shape, steps = list(out.shape), list(out.steps)
    if len(a.shape) == 1:
        place = len(shape) - (len(b.shape) > 1)
        shape.insert(place, 1)
        steps.insert(place, 1)
    if len(b.shape) == 1:
        shape.append(1)
        steps.append(1)
    return Operand(out.name, out.element, tuple(shape), tuple(steps))


def _is_in_columns(operand: Operand) -> bool:
    return len(operand.shape) > 1 and facing(operand.shape, operand.steps) == "columns"


def _transposed(a: Operand, b: Operand) -> str | None:
    if len(a.shape) > 1 and len(b.shape) > 1:
        if a.shape[-1] == b.shape[-1]:
            return "pass the transpose of b, " + ("b.T" if len(b.shape) == 2 else "b.swapaxes(-2, -1)")
        if a.shape[-2] == b.shape[-2]:
            return "pass the transpose of a, " + ("a.T" if len(a.shape) == 2 else "a.swapaxes(-2, -1)")
    return None


def _broadcast(
    problem: FunctionCall, a: Operand, b: Operand, first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[int, ...]:
    """The sizes of the batch."""
    count = max(len(first), len(second))
    padded = [(*[1] * (count - len(sizes)), *sizes) for sizes in (first, second)]
    for x, y in zip(*padded, strict=True):
        if x != y and 1 not in (x, y):
            problem.refuse("bind.shape", f"a has shape {a.shape} and b has shape {b.shape}: the sizes in front of the "
                           f"matrices, {first} and {second}, must be equal from the last one on, or 1")  # fmt: skip
    return tuple(y if x == 1 else x for x, y in zip(*padded, strict=True))


def _copies(problem: FunctionCall, operand: Operand) -> bool:
    """Whether a factor must be copied, which is told."""
    if facing(operand.shape, operand.steps) is not None:
        return False
    problem.tell_copy(operand, "neither the rows nor the columns of its matrices are contiguous")
    return True


def _clear(library: Library, made: NewArray, out: Any) -> None:
    library.assign(out, library.filled(made.shape, made.element, 0))


def _maker(library: Library, operand: Operand, matrix: Operand) -> Viewer:
    """What makes the array with at least two axes of the one that was given."""
    return library.viewer(AxisView(tuple(range(len(operand.shape))), matrix.shape), operand.shape)


# --- kernels -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Products:
    """The kernels of products: where arrays are, the target, and the type of the result."""

    library: Library
    target: str | None
    result: str

    def matrices(self, a: Operand, b: Operand, c: Operand) -> Launch:
        """What computes the product of two matrices.

        Of a result in rows, the transpose is computed in columns, by exchanged factors: the kernel in order C.
        """
        library, by_rows = self.library, facing(c.shape, c.steps) == "rows"
        want: Facing = "rows" if by_rows else "columns"
        turn_a, turn_b = facing(a.shape, a.steps) != want, facing(b.shape, b.steps) != want
        first, second = (turn_b, turn_a) if by_rows else (turn_a, turn_b)
        call = self._product(a.element, first, second, "C" if by_rows else "F")
        if self._pads(a):
            return self._padded(call, (a, b, c), (turn_a, turn_b), by_rows=by_rows)
        turned = library.turned
        if library is HOST and not (turn_a or turn_b):
            return (lambda x, y, z: call(y, x, z)) if by_rows else call

        def launch(x: Any, y: Any, z: Any) -> None:
            if turn_a:
                x = turned(x)
            if turn_b:
                y = turned(y)
            if by_rows:
                call(y, x, z)
            else:
                call(x, y, z)

        return launch

    def quick(self, a: Operand, b: Operand, c: Operand, made: NewArray) -> QuickCall | None:
        """What computes the product of two arrays of NumPy on a CPU; None where one must be turned."""
        faces = {facing(one.shape, one.steps) for one in (a, b, c)}
        if len(made.shape) != 2 or len(faces) != 1 or not is_cpu(self.target):
            return None
        by_rows, make = faces == {"rows"}, maker(made.shape, made.element, made.order)
        kernel = self._kernel(a.element, turn_a=False, turn_b=False, order="C" if by_rows else "F")
        call, settle, grid, (one, no) = kernel.executor.call, kernel.executor.settle, kernel.grid, self._factors

        def computed(arguments: tuple[Any, ...], out: Any) -> Any:
            nonlocal grid
            x, y = arguments
            if by_rows:
                x, y = y, x
            z = make() if out is None else out
            if grid is None:
                grid = kernel.grid_for(one, x, y, no, z)
            result = call(grid, one, x, y, no, z)
            if result is not None:
                settle(result, grid, (one, x, y, no, z))
            return z

        return computed

    def _pads(self, a: Operand) -> bool:
        """Whether rows must begin where tensor maps can load them."""
        on_device = isinstance(self.library, TorchTensors | CupyArrays)
        return on_device and a.element in HALVES and not is_cpu(self.target)

    def _padded(
        self, call: Launch, operands: tuple[Operand, Operand, Operand], turns: tuple[bool, bool], *, by_rows: bool
    ) -> Launch:
        """A product of matrices that are copied where their rows begin elsewhere than at multiples of 16 bytes.

        Without tensor maps the product of 1000 x 777 x 1000 took 50 times as long on an H200.
        """
        library: Any = self.library
        pads = [not _is_even(one) for one in operands]

        def padded(matrix: Any, pad: bool) -> Any:
            if not pad:
                return matrix
            made = library.padded(matrix, EVEN)
            library.assign(made, matrix)
            return made

        def launch(x: Any, y: Any, z: Any) -> None:
            x, y = padded(x, pads[0]), padded(y, pads[1])
            x, y = (library.turned(one) if turn else one for one, turn in zip((x, y), turns, strict=True))
            result = library.padded(z, EVEN) if pads[2] else z
            if by_rows:
                call(y, x, result)
            else:
                call(x, y, result)
            if pads[2]:
                library.assign(z, result)

        return launch

    def _product(self, element: str, turn_a: bool, turn_b: bool, order: str) -> Launch:
        options = {"type": element, "transpose_a": turn_a, "transpose_b": turn_b, "order": order}
        if element in HALVES and self.result == element and not is_cpu(self.target):
            # Sums are rounded once, where tiles are stored.
            kernel = settled(library_kernel(kernels.gemm_epilogue, self.target, **options), self.library)
            return lambda x, y, z: kernel(x, y, None, None, z)
        kernel = settled(self._kernel(element, turn_a=turn_a, turn_b=turn_b, order=order), self.library)
        one, no = self._factors
        return lambda x, y, z: kernel(one, x, y, no, z)

    def _kernel(self, element: str, *, turn_a: bool, turn_b: bool, order: str) -> Any:
        return library_kernel(kernels.gemm, self.target, type=element, accumulator=self.result, transpose_a=turn_a,
                              transpose_b=turn_b, order=order)  # fmt: skip

    @property
    def _factors(self) -> tuple[float, float]:
        """1 and 0 as the kernel takes them."""
        return (1, 0) if self.result.startswith("i") else (1.0, 0.0)

    def batch(self, a: Operand, b: Operand, c: Operand) -> Launch:
        """What computes a batch of products of matrices with two axes in front, which may be 1 in a factor."""
        by_rows = facing(c.shape, c.steps) == "rows"
        want: Facing = "rows" if by_rows else "columns"
        turn_a, turn_b = facing(a.shape, a.steps) != want, facing(b.shape, b.steps) != want
        first, second = (turn_b, turn_a) if by_rows else (turn_a, turn_b)
        kernel = settled(array_kernel("matmul", "matmul", self.target, type=a.element, result=self.result,
                                      transpose_a=first, transpose_b=second), self.library)  # fmt: skip
        swap = AxisView((0, 1, 3, 2), ())
        turners = [
            self.library.viewer(AxisView(swap.axes, tuple(one.shape[axis] for axis in swap.axes)), one.shape)
            for one in (a, b, c)
        ]
        moves = (turn_a if by_rows else not turn_a, turn_b if by_rows else not turn_b, not by_rows)

        def launch(x: Any, y: Any, z: Any) -> None:
            x, y, z = (turn(one) if moved else one for turn, one, moved in zip(turners, (x, y, z), moves, strict=True))
            if by_rows:
                kernel(y, x, z)
            else:
                kernel(x, y, z)

        return launch


def _is_even(matrix: Operand) -> bool:
    """Whether the rows of a matrix, or its columns, begin at multiples of 16 bytes from its beginning."""
    step = matrix.steps[-2 if facing(matrix.shape, matrix.steps) == "rows" else -1]
    lines = matrix.shape[-2 if facing(matrix.shape, matrix.steps) == "rows" else -1]
    return lines <= 1 or step * DTYPE_OF[matrix.element].itemsize % 16 == 0


def launch_of_products(library: Library, target: str | None, a: Operand, b: Operand, c: Operand) -> Launch:
    """What computes c := a b for matrices and batches of them, where the batch of a or b may be missing, or 1."""
    return _batched(_Products(library, target, c.element), a, b, c)


def _batched(products: _Products, a: Operand, b: Operand, c: Operand) -> Launch:
    """What computes all products of a batch."""
    batch = c.shape[:-2]
    if prod(batch) == 1:
        return _reshaped(products, products.matrices, a, b, c, 0)
    flat = _as_one(a, b, c)
    if flat is not None:
        views = [products.library.viewer(AxisView(tuple(range(len(one.shape))), to.shape), one.shape)
                 for one, to in zip((a, b, c), flat, strict=True)]  # fmt: skip
        launch = products.matrices(*flat)
        return lambda x, y, z: launch(views[0](x), views[1](y), views[2](z))
    work = c.shape[-2] * c.shape[-1] * a.shape[-1]
    if work < (ALONE if is_cpu(products.target) else ALONE_ON_DEVICE):
        modes = _modes(a, b, c)
        if modes is not None:
            return _reshaped(products, products.batch, a, b, c, modes)
    return _one_by_one(products, a, b, c)


def _reshaped(
    products: _Products, compute: Callable[[Operand, Operand, Operand], Launch], a: Operand, b: Operand, c: Operand,
    modes: Any,
) -> Launch:  # fmt: skip
    """What computes with operands whose batches have fewer axes: none for 0, else those of `modes`."""
    made, views = [], []
    for place, one in enumerate((a, b, c)):
        sizes = () if modes == 0 else tuple(mode[0][place] for mode in modes)
        steps = () if modes == 0 else tuple(mode[1][place] for mode in modes)
        new = Operand(one.name, one.element, (*sizes, *one.shape[-2:]), (*steps, *one.steps[-2:]))
        made.append(new)
        views.append(products.library.viewer(AxisView(tuple(range(len(one.shape))), new.shape), one.shape))
    launch = compute(*made)
    if products.library is HOST and all(new.shape == one.shape for new, one in zip(made, (a, b, c), strict=True)):
        return launch
    return lambda x, y, z: launch(views[0](x), views[1](y), views[2](z))


def _as_one(a: Operand, b: Operand, c: Operand) -> tuple[Operand, Operand, Operand] | None:
    """A batch that multiplies with one b, as a product of a taller a; None where it is none."""
    if prod(b.shape[:-2]) != 1 or facing(c.shape, c.steps) != "rows" or facing(a.shape, a.steps) != "rows":
        return None
    tall = []
    for one in (a, c):
        rows = joined(one.shape, one.steps, range(len(one.shape) - 1))
        if rows is None or rows[1] < one.shape[-1]:
            return None
        tall.append(Operand(one.name, one.element, (rows[0], one.shape[-1]), (rows[1], one.steps[-1])))
    if tall[0].shape[0] != tall[1].shape[0]:
        return None
    return tall[0], Operand(b.name, b.element, b.shape[-2:], b.steps[-2:]), tall[1]


_Mode = tuple[tuple[int, int, int], tuple[int, int, int]]
"""An axis of a batch: its sizes and strides in a, b and c."""


def _modes(a: Operand, b: Operand, c: Operand) -> tuple[_Mode, _Mode] | None:
    """The axes of a batch as two, the outer one first; None where they are more, or overlap with the matrices."""
    count = len(c.shape) - 2
    axes: list[_Mode] = []
    for axis in range(count):
        sizes, steps = [], []
        for one in (a, b, c):
            own = axis - (count - (len(one.shape) - 2))
            sizes.append(one.shape[own] if own >= 0 else 1)
            steps.append(one.steps[own] if own >= 0 and one.shape[own] != 1 else 0)
        if sizes[2] == 1:
            continue
        new: _Mode = ((sizes[0], sizes[1], sizes[2]), (steps[0], steps[1], steps[2]))
        if axes and all(
            (outer == inner == 1) or (outer != 1 and inner != 1 and step == below * inner)
            for outer, inner, step, below in zip(axes[-1][0], sizes, axes[-1][1], steps, strict=True)
        ):
            before = axes.pop()[0]
            new = ((before[0] * sizes[0], before[1] * sizes[1], before[2] * sizes[2]), new[1])
        axes.append(new)
    if len(axes) > 2:
        return None
    single: _Mode = ((1, 1, 1), (0, 0, 0))
    outer, inner = (*[single] * (2 - len(axes)), *axes)
    for place, one in enumerate((a, b, c)):
        extent = max((size - 1) * step for size, step in zip(one.shape[-2:], one.steps[-2:], strict=True)) + 1
        for mode in (inner, outer):
            if mode[0][place] > 1:
                if mode[1][place] < extent:
                    return None
                extent = mode[1][place] * mode[0][place]
    return outer, inner


def _one_by_one(products: _Products, a: Operand, b: Operand, c: Operand) -> Launch:
    """What computes the products of a batch one after another."""
    batch = c.shape[:-2]
    launch = products.matrices(*(Operand(one.name, one.element, one.shape[-2:], one.steps[-2:]) for one in (a, b, c)))
    sizes, part = [one.shape[:-2] for one in (a, b)], products.library.part

    def compute(x: Any, y: Any, z: Any) -> None:
        for index in every(*map(range, batch)):
            at = [tuple(0 if size == 1 else i for i, size in zip(index[len(index) - len(own):], own, strict=True))
                  for own in sizes]  # fmt: skip
            launch(part(x, at[0]), part(y, at[1]), part(z, index))

    return compute
