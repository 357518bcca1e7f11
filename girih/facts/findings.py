"""The words of every `run.*` finding, so that all executors report a mistake in the same words.

A function for each mistake gives the code and the message of its finding, and a template for its place; the executor
adds the argument, the index and the shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from girih.diagnostics import in_words, plural
from girih.ir.core import Op
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix_tensor import (
    CooperativeMatrixLoadBlockedInterleaved,
    CooperativeMatrixStoreBlockedInterleaved,
)
from girih.ops.tile.tensor_layout import NO_LAYOUT
from girih.ops.tile.tensor_map import TensorCopy, copy_text

RUN_CODES = {
    "run.out_of_bounds": "an access outside the shape of a memref, a group, an array or a subgroup",
    "run.uninitialized": "a read of memory that was never written",
    "run.undef": "an undefined value that decides a branch, an index or an address, or that is stored",
    "run.address": "an address at which no buffer has the bytes that are accessed",
    "run.null": "an access to a memref or group without memory (None)",
    "run.lifetime": "an access to local memory after its lifetime_stop",
    "run.not_uniform": "a value that must be the same for all work-items and is not",
    "run.divergent": "an instruction that all work-items must meet, met by some of them only",
    "run.tensor_layout": "numbers that a tensor layout or view cannot have",
    "run.undefined": "an access outside a tensor layout whose clamp mode is undefined",
    "run.decode": "two functions of a load that decode blocks and give different components",
    "run.misaligned": "an access that is less aligned than it promises, or a tensor whose base is off 16 bytes",
    "run.tensor_copy": "operands of a tensor copy that are an illegal instruction",
    "run.race": "two accesses to a byte that nothing orders, one of which writes",
    "run.aliasing": "a result that shares elements with another operand, or an element to which several are stored",
    "run.subview": "a slice that is negative, empty or outside the shape",
    "run.expand": "sizes whose product is not the size of the expanded mode",
    "run.fuse": "fused modes that do not lie without gaps in memory",
    "run.size": "shapes that do not fit each other at run time",
    "run.division_by_zero": "an integer divided by zero",
    "run.shift": "a shift by a negative amount or by the width of the type or more",
    "run.undefined_operation": "an operation that has no meaning for its operands",
    "run.step": "a loop step that is not positive",
    "run.budget": "more instructions executed than the launch allows",
    "run.emit": "the target has no such output",
    "run.target": "an instruction that the target cannot execute",
}
"""The codes of the findings that a run can end with, each with its meaning."""

TENSOR_ALIGNMENT = 16
"""The number of bytes of which the base of a tensor is a multiple (001 8.X, Issue (1))."""

BlockedAccess = CooperativeMatrixLoadBlockedInterleaved | CooperativeMatrixStoreBlockedInterleaved


@dataclass(frozen=True, slots=True)
class FindingWords:
    """The code and the message of a finding; `place` is a template that `diagnostics.in_words` fills."""

    code: str
    message: str
    place: str = "index ({}) of shape ({})"
    severity: Literal["error", "warning"] = "error"

    def at(self, index: Sequence[int], shape: Sequence[int]) -> str:
        """The message with the place of an index in a shape."""
        return f"{self.message}: {in_words(self.place, index, shape)}"


# Memory.


NOT_ON_TARGET = "run.target"
"""The code of what a target cannot do."""
AT_ADDRESS = "run.address"
"""The code of an access by an address to which nothing lies."""


def refused(op: Op, target: str, reason: str) -> FindingWords:
    """The words for an instruction that a target cannot execute."""
    return FindingWords(NOT_ON_TARGET, f"the target {target} cannot execute {op.spec.called}: {reason}")


def null(name: str) -> FindingWords:
    """The words for an access to a memref or group that is None."""
    return FindingWords("run.null", f"%{name} has no memory behind it")


def lifetime_ended(name: str) -> FindingWords:
    """The words for an access to local memory after its end."""
    return FindingWords("run.lifetime", f"the lifetime of %{name} has ended")


def unwritten(op: Op, name: str) -> FindingWords:
    """The words for a read of an element that was never written."""
    return _unwritten(op.spec.mnemonic, name)


def unwritten_blocks(op: BlockedAccess, name: str) -> FindingWords:
    """The words for a read of blocks of which some part was never written."""
    return _unwritten(_blocked(op), name)


def _unwritten(instruction: str, name: str) -> FindingWords:
    return FindingWords("run.uninitialized", f"`{instruction}` of %{name} before it is written")


def outside(op: Op, name: str) -> FindingWords:
    """The words for an index outside the shape of a memref or the size of a group."""
    return FindingWords("run.out_of_bounds", f"{op.spec.called} outside %{name}")


def outside_blocks(op: BlockedAccess, count: int, name: str) -> FindingWords:
    """The words for blocks of `count` elements in all that do not lie in a memref."""
    message = f"`{_blocked(op)}` of {count} elements outside %{name}"
    return FindingWords("run.out_of_bounds", message, "from element ({}) of ({})")


def _blocked(op: BlockedAccess) -> str:
    return f"{op.spec.word}.{op.order.value}"


# Views.


def wrong_slice(number: int, name: str) -> FindingWords:
    """The words for a slice of `subview` that is negative, empty or outside."""
    message = f"slice {number} of `subview` is not inside %{name}"
    return FindingWords("run.subview", message, "offset, size ({}) in a mode of size ({})")


def wrong_sizes(mode: int, name: str) -> FindingWords:
    """The words for sizes of `expand` whose product is not the size of the mode."""
    message = f"the sizes do not make mode {mode} of %{name}"
    return FindingWords("run.expand", message, "{product}, where the mode has {shape[0]}")


def gap(mode: int, name: str) -> FindingWords:
    """The words for modes of `fuse` with a gap between them."""
    return FindingWords("run.fuse", f"modes {mode} and {mode + 1} of %{name} do not lie without a gap")


# Numbers and control.


def division_by_zero() -> FindingWords:
    """The words for an integer divided by zero."""
    return FindingWords("run.division_by_zero", "an integer is divided by zero")


def shift(bits: int) -> FindingWords:
    """The words for a shift of an integer of `bits` bits by a negative amount or too far."""
    article = "an" if bits == 8 else "a"
    return FindingWords("run.shift", f"a shift of {article} {bits}-bit integer is not between 0 and {bits - 1}")


def undefined_quotient(op: Op) -> FindingWords:
    """The words for an integer divided by zero in the device language."""
    return _undefined(f"{op.spec.called} divides by zero")


def overflowing_quotient(op: Op) -> FindingWords:
    """The words for the smallest integer divided by -1 in the device language."""
    return _undefined(f"{op.spec.called} divides the smallest integer by -1")


def undefined_shift(op: Op, bits: int) -> FindingWords:
    """The words for a shift, in the device language, of an integer of `bits` bits that goes too far."""
    return _undefined(f"{op.spec.called} of a {bits}-bit integer is not by 0 to {bits - 1} bits")


def undefined_field(op: Op, bits: int) -> FindingWords:
    """The words for a field of bits that does not lie inside an integer of `bits` bits."""
    return _undefined(f"the field of {op.spec.called} ends beyond the {bits} bits of its base")


def undefined_integer(op: Op, type: object) -> FindingWords:
    """The words for a float that no integer of a type is, NaN included."""
    signed = "unsigned" if op.spec.mnemonic.endswith("unsigned") else "signed"
    return _undefined(f"{op.spec.called} of a number outside the range of {signed} {type}, or of NaN")


def _undefined(message: str) -> FindingWords:
    return FindingWords("run.undefined_operation", message)


def step() -> FindingWords:
    """The words for a loop whose step is not positive."""
    return FindingWords("run.step", "the step of a loop is not positive")


def not_uniform(op: Op, operand: str, *, work_group: bool) -> FindingWords:
    """The words for an operand that must be equal in a subgroup or work-group, and is not."""
    message = f"`{operand}` of {op.spec.called} differs between the work-items of a {_scope(work_group)}"
    return FindingWords("run.not_uniform", message)


def divergent(op: Op, *, work_group: bool) -> FindingWords:
    """The words for an instruction that not all work-items of a subgroup or work-group meet."""
    message = f"{op.spec.called} is met by some work-items of the {_scope(work_group)} only"
    return FindingWords("run.divergent", message)


def _scope(work_group: bool) -> str:
    return "work-group" if work_group else "subgroup"


def no_such_work_item() -> FindingWords:
    """The words for a broadcast from a lane that the subgroup does not have."""
    return FindingWords("run.out_of_bounds", "`subgroup_broadcast` from a work-item that does not exist")


def budget(kernel: str, steps: int) -> FindingWords:
    """The words for a launch that executes more instructions than it may; `kernel` is what the function is called."""
    message = f"{kernel} executed more than {steps} instructions; if it is meant to, launch it with a larger max_steps"
    return FindingWords("run.budget", message)


# Shapes of BLAS-like instructions.

A_AND_B = "a and b differ in shape"
A_AND_C = "a and c differ in shape"
TURNED_A_AND_B = "op(a) and b differ in shape"
ROWS_AND_B = "rows of op(a) and b differ"
COLUMNS_AND_ROWS = "columns of op1(a) and rows of op2(b) differ"
COLUMNS_AND_B = "columns of op1(a) and rows of b differ"
ROWS_AND_C = "rows of op1(a) and c differ"
PRODUCT_AND_C = "op1(a) op2(b) and c differ in shape"
OUTER_PRODUCT_AND_C = "a b^T and c differ in shape"


def shapes(op: Op, differ: str) -> FindingWords:
    """The words for two shapes that must be equal; `differ` is a text such as `A_AND_B`."""
    return FindingWords("run.size", f"{op.spec.called}: {differ}", "({}) and ({})")


def named_shapes(
    op: Op, differ: str, left: Sequence[int], right: Sequence[int], operands: Sequence[tuple[str, Sequence[int]]]
) -> FindingWords:
    """The words for two shapes that must be equal, with the names and shapes of all operands."""
    listed = ", ".join(f"%{name} is {_by(shape)}" for name, shape in operands)
    message = f"{op.spec.called}: {differ}, {_by(left)} and {_by(right)}; {listed}"
    return FindingWords("run.size", message)


def _by(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) if shape else "a scalar"


def operands_overlap(op: Op, operand: str, result: str) -> FindingWords:
    """The words for an operand of a collective instruction that shares elements with the result; both are fields."""
    mine, other = getattr(op, result).name, getattr(op, operand).name
    named = f", %{mine}," if mine else ""
    message = f"{op.spec.called}: its result `{result}`{named} shares elements with `{operand}`"
    message += f", %{other}" if other else ""
    return FindingWords("run.aliasing", message, f"first index ({{}}) of `{result}` of shape ({{}})")


# Tensors. `girih.addressing` says what is wrong with a layout or view of known numbers; the templates below are its
# words for numbers that are known only at run time.


def no_model(what: str, violations: Sequence[str]) -> FindingWords:
    """The words for an illegal layout or view (`NO_LAYOUT`, `NO_VIEW`), with the rules that it breaks."""
    return FindingWords("run.tensor_layout", f"{what}: {'; '.join(violations)}")


def number_outside(what: str, name: str, low: int, section: str) -> FindingWords:
    """The words for a number of a layout or view that is outside its range."""
    place = f"{name} = {{}} is outside {low} .. {{}}; choose {name} in that range [{section}]"
    return FindingWords("run.tensor_layout", what, place)


def stride_too_large(what: str, position: int, factors: int, fix: str, section: str) -> FindingWords:
    """The words for a stride of a dense array, a product of `factors` numbers, that exceeds 32 bits."""
    most = 2**32 - 1
    listed = " * ".join(f"{{index[{number}]}}" for number in range(factors))
    place = f"stride[{position}] would be {listed} = {{shape[0]}}, over 2^32-1 = {most}; {fix} [{section}]"
    return FindingWords("run.tensor_layout", what, place)


def stride_too_small(position: int, section: str) -> FindingWords:
    """The words for a stride that is less than what the next dimension takes."""
    following = f"stride[{position + 1}] * ceiling(dimension[{position + 1}] / block_size[{position + 1}])"
    numbers = "{index[1]} * ceiling({index[2]} / {index[3]}) = {shape[0]}"
    fix = f"make stride[{position}] at least {{shape[0]}}, or order dimensions by stride and permute in a view"
    place = f"stride[{position}] = {{index[0]}} is less than {following} = {numbers}; {fix} [{section}]"
    return FindingWords("run.tensor_layout", NO_LAYOUT, place)


def offset_too_large(position: int, section: str) -> FindingWords:
    """The words for offsets of slices whose sum is not a signed number of 32 bits."""
    place = (
        f"offset[{position}] = {{index[0]}} + {{index[1]}} = {{shape[0]}} is no signed 32-bit integer; "
        f"slice the tensor once, from its origin [{section}]"
    )
    return FindingWords("run.tensor_layout", NO_LAYOUT, place)


def element_too_large() -> FindingWords:
    """The words for an element whose index is not an unsigned number of 32 bits."""
    fix = "move the base (element_offset) near the region and make the layout smaller [001 8.X tensorCoordToLinear]"
    place = f"element [{{}}] has an index beyond 2^32-1 with strides ({{}}); {fix}"
    return FindingWords("run.tensor_layout", NO_LAYOUT, place)


def layout_without_dimensions(dimension: str) -> str:
    """The violation by a layout whose dimensions were never set; `dimension` lists them as a tuple."""
    fix = "call set_dimension, and slice after it [000 OpCreateTensorLayoutNV]"
    return f"the dimensions of the layout were never set: they are ({dimension}); {fix}"


def view_without_dimensions() -> str:
    """The violation by a view whose dimensions were never set."""
    return "the dimensions of the view were never set; call set_dimension [000 OpCreateTensorViewNV]"


def misaligned(op: Op, name: str) -> FindingWords:
    """The words for a tensor whose base is not aligned."""
    where = f"the base of {op.spec.called}, %{name} at the offset"
    return FindingWords("run.misaligned", f"{where}, is no multiple of {TENSOR_ALIGNMENT} bytes")


def undefined(op: Op) -> FindingWords:
    """The words for a component outside a layout whose clamp mode leaves it undefined."""
    message = f"{op.spec.called} outside the tensor layout, whose clamp mode is undefined"
    return FindingWords("run.undefined", message, "component ({}) of ({})")


def no_component(op: Op, name: str) -> FindingWords:
    """The words for the number of a component that work-items do not hold."""
    message = f"{op.spec.called} outside the components of %{name} that a work-item holds"
    return FindingWords("run.out_of_bounds", message, "component ({}) of ({})")


def decoded_apart(scalar: str, vector: str) -> FindingWords:
    """The words for a component that the vector decode function gives otherwise than the scalar one, bits as text."""
    words = f"DecodeVectorFunc gives {vector} where DecodeFunc gives {scalar}"
    return FindingWords("run.decode", words, "component ({}) of ({})")


def aliasing(op: Op, count: int, name: str, component: tuple[int, int], shape: tuple[int, int]) -> FindingWords:
    """The words for `count` elements of memory to which several components of a matrix are stored.

    `component` is the row and column of the first of these, in a matrix of `shape`.
    """
    what = f"stores {plural(count, 'element')} of %{name} more than once"
    return FindingWords("run.aliasing", f"{op.spec.called} {what}, first component {component} of {shape}")


# Tensor copies. The rules are those of `girih.addressing`, which says the same of numbers that are known.


def _illegal_copy(op: TensorCopy, name: str, rule: str, place: str) -> FindingWords:
    message = f"`{copy_text(op)}` through %{name} is an illegal instruction [tensor_map.{rule}]"
    return FindingWords("run.tensor_copy", message, place)


def coordinate_range(op: TensorCopy, name: str, position: int) -> FindingWords:
    """The words for a coordinate that is no number of 32 bits."""
    place = f"coordinates[{position}] = {{index[0]}} is outside {{shape[0]}} .. {{shape[1]}}"
    return _illegal_copy(op, name, "coordinate_range", place)


def offset_range(op: TensorCopy, name: str, position: int) -> FindingWords:
    """The words for an im2col offset that is negative or too large for the rank of the map."""
    place = f"offsets[{position}] = {{index[0]}} is outside 0 .. {{shape[0]}}"
    return _illegal_copy(op, name, "offset_range", place)


def coordinate_aligned(op: TensorCopy, name: str, *, padded: bool) -> FindingWords:
    """The words for a box that does not begin at 16 bytes of dimension 0, or at a row of a `padded` sub-byte type."""
    place = "coordinates[0] = {index[0]} is not a multiple of {shape[0]}"
    return _illegal_copy(op, name, "packed_coordinate" if padded else "coordinate_aligned", place)


def base_outside(op: TensorCopy, name: str, dimension: str) -> FindingWords:
    """The words for a filter base outside the pixel box in W, H or D."""
    place = f"the filter base has {dimension} = {{index[0]}}, the pixel box goes from {{shape[0]}} to {{shape[1]}}"
    return _illegal_copy(op, name, "base_in_box", place)


def negative_start(op: TensorCopy, name: str, position: int) -> FindingWords:
    """The words for a store or reduction that begins before the tensor."""
    place = f"coordinates[{position}] = {{index[0]}}, but what writes to a tensor begins at {{shape[0]}} or later"
    return _illegal_copy(op, name, "negative_start", place)
