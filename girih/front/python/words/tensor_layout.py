"""Tensor layouts and views (`girih.ops.tile.tensor_layout`); their methods are called with the value as `self`."""

from __future__ import annotations

from girih.front.python.calls import Calls as Translator
from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.operands import Operand, Runtime
from girih.front.python.words.support import chosen, described, flag, integer, is_absent, items, one, uses
from girih.front.python.words.table import lowers
from girih.ir.core import Index, Slice, Value
from girih.ir.types import I32, ClampMode, TensorLayoutType, TensorViewType
from girih.ops.tile.tensor_layout import MOST_DIMENSIONS
from girih.source import Span

_CLAMP_MODES = {mode.value: mode for mode in ClampMode}
_NUMBERS = {
    "TensorLayout.set_block_size": ("tensor_layout_set_block_size", "sizes"),
    "TensorLayout.set_dimension": ("tensor_layout_set_dimension", "sizes"),
    "TensorLayout.set_stride": ("tensor_layout_set_stride", "strides"),
    "TensorView.set_dimension": ("tensor_view_set_dimension", "sizes"),
    "TensorView.set_stride": ("tensor_view_set_stride", "strides"),
}
"""The methods that set a number for each dimension: the instruction, and the parameter that has the numbers."""


def _dimensions(call: Call) -> int:
    dim = integer(call, "dim", 1)
    if dim > MOST_DIMENSIONS:
        raise fault("arguments", f"`dim` is at most {MOST_DIMENSIONS}, found {dim}", call.span_of("dim"))
    return dim


@lowers("tensor_layout")
def tensor_layout(call: Call) -> Operand:
    """A new layout."""
    type = TensorLayoutType(_dimensions(call), chosen(call, "clamp_mode", _CLAMP_MODES))
    return one(call.translator.add("tensor_layout_create", type, span=call.span))


@lowers("tensor_view")
def tensor_view(call: Call) -> Operand:
    """A new view."""
    dim = _dimensions(call)
    permutation: tuple[int, ...] = ()
    if not is_absent(call["permutation"]):
        t, span = call.translator, call.span_of("permutation")
        given = [t.known(part, "`permutation` of `gl.tensor_view`", span) for part in items(call["permutation"])]
        permutation = tuple(int(str(n)) for n in given if type(n) is int and 0 <= n < dim)
        if sorted(permutation) != list(range(dim)) or len(given) != dim:
            message = f"`permutation` has each of 0 to {dim - 1} once, found {described(tuple(given))}"
            raise fault("arguments", message, span)
    made = TensorViewType(dim, flag(call, "has_dimensions"), permutation)
    return one(call.translator.add("tensor_view_create", made, span=call.span))


def _value(call: Call) -> Value:
    operand = call["self"]
    assert isinstance(operand, Runtime)
    return operand.value


def _target(mnemonic: str) -> str:
    """The field of an instruction that has the layout or view before."""
    return "layout" if mnemonic.startswith("tensor_layout") else "view"


@lowers(*_NUMBERS)
def numbers(call: Call) -> Operand:
    """A layout or view with other numbers."""
    t, before = call.translator, _value(call)
    mnemonic, parameter = _NUMBERS[call.name]
    span = call.span_of(parameter)
    entries = tuple(t.position(part, span) for part in items(call[parameter]))
    target = _target(mnemonic)
    places = {target: (call.span_of("self"),), "numbers": (span,) * len(entries)}
    return one(t.add(mnemonic, before.type, span=call.span, uses=places, numbers=entries, **{target: before}))


def signed(t: Translator, operand: Operand, span: Span) -> Index:
    """A number that may be negative; a literal stays one."""
    value = t.literal(operand)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return int(value.real) if whole and value is not None and value.real < 0 else t.position(operand, span)


def _slice(call: Call, operand: Operand, parameter: str) -> Slice:
    pair = items(operand)
    if len(pair) != 2:
        raise fault(
            "arguments", "a slice is a pair of offset and span", call.span_of(parameter), "write (offset, span)"
        )
    t, span = call.translator, call.span_of(parameter)
    return Slice(signed(t, pair[0], span), t.position(pair[1], span))


@lowers("TensorLayout.slice")
def sliced(call: Call) -> Operand:
    """A layout with another accessed region."""
    before, span = _value(call), call.span_of("slices")
    slices = tuple(_slice(call, part, "slices") for part in items(call["slices"]))
    places = {"layout": (call.span_of("self"),), "slices": (span,) * len(slices)}
    return one(call.translator.add("tensor_layout_slice", before.type, span=call.span, uses=places, layout=before,
                                   slices=slices))  # fmt: skip


@lowers("TensorView.set_clip")
def clipped(call: Call) -> Operand:
    """A view of fewer rows and columns."""
    before = _value(call)
    slices = (_slice(call, call["rows"], "rows"), _slice(call, call["columns"], "columns"))
    places = {"view": (call.span_of("self"),), "slices": (call.span_of("rows"), call.span_of("columns"))}
    return one(call.translator.add("tensor_view_set_clip", before.type, span=call.span, uses=places, view=before,
                                   slices=slices))  # fmt: skip


@lowers("TensorLayout.set_clamp_value")
def clamp_value(call: Call) -> Operand:
    """A layout with another value outside of the tensor."""
    before = _value(call)
    bits = call.translator.value(call["bits"], I32, call.span_of("bits"))
    places = uses(call, layout="self", value="bits")
    return one(call.translator.add("tensor_layout_set_clamp_value", before.type, span=call.span, uses=places,
                                   layout=before, value=bits))  # fmt: skip
