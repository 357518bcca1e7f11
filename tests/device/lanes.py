"""Kernels in which each work-item computes some results from its own inputs, for tests of what work-items do together.

They are in the device language with the typed stores and the `if` of the tensor language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.api import Kernel, compile_module
from girih.ir.build import RegionBuilder, parameter
from girih.ir.check import check_module
from girih.ir.core import Dictionary, Entry, Module, RegionKind, Value
from girih.ir.language import Language, LanguageBuilder
from girih.ir.types import BOOL, F16, F32, F64, I16, I32, I64, INDEX, Boolean, GroupType, MemRef, Number, Type
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.device.language import SUBGROUP_SIZES
from girih.ops.tile import TILE_LANGUAGE
from girih.source import Source, Span

Array = NDArray[Any]
TYPES: dict[Any, Number] = {
    np.int16: I16, np.int32: I32, np.int64: I64, np.float16: F16, np.float32: F32, np.float64: F64,
}  # fmt: skip


def _with_stores() -> Language:
    builder = LanguageBuilder("device", (Number, Boolean, MemRef, GroupType), subgroup_sizes=SUBGROUP_SIZES)
    parted = ("block", "loop", "branch", "leave", "private_", "tensor_", "cooperative_")
    own = [
        op for mnemonic, op in DEVICE_LANGUAGE.ops.items() if mnemonic != "yield" and not mnemonic.startswith(parted)
    ]
    builder.share(DEVICE_LANGUAGE, *own, "func", "parameter", "type")
    builder.share(TILE_LANGUAGE, *(TILE_LANGUAGE.ops[name] for name in ("store", "if", "for", "yield")))
    return builder.finish("tests.device.lanes.LANGUAGE")


LANGUAGE = _with_stores()


class Lane(RegionBuilder):
    """The code of each work-item."""

    def one(self, mnemonic: str, type: Type, **fields: Any) -> Value:
        """The result of a new instruction that has one."""
        (value,) = self.add(mnemonic, type, **fields)
        return value

    def add(self, mnemonic: str, *types: Type, **fields: Any) -> tuple[Value, ...]:
        """The results of a new instruction, whose place is a line of a text that is only its mnemonic."""
        fields.setdefault("span", Span(Source(mnemonic, "x.comp"), 0, len(mnemonic)))
        return super().add(mnemonic, *types, **fields)

    def constant(self, value: float, type: Number = I32) -> Value:
        return self.one("constant", type, value=value)

    def words(self, mnemonic: str, **fields: Any) -> tuple[Value, ...]:
        """The four words that an instruction gives."""
        return self.add(mnemonic, I32, I32, I32, I32, **fields)

    def when(self, condition: Value, code: Callable[[Lane], None]) -> None:
        """Execute code where a condition holds."""
        then = Lane(self.language, self.kind)
        code(then)
        self.add("if", condition=condition, then=then.region())


Code = Callable[..., Sequence[Value]]


def lane_kernel(
    code: Code,
    inputs: Sequence[Array],
    outputs: Sequence[Any],
    *,
    target: str,
    work_group: int,
    subgroup: int,
    masked: bool = False,
) -> Kernel:
    """A kernel that stores the results of `code(lane, *inputs)`, in arrays with an element for each work-item.

    If it is `masked`, only work-items whose first input is positive execute the code.
    """
    given = [parameter(f"a{k}", MemRef.packed(TYPES[a.dtype.type], (None,))) for k, a in enumerate(inputs)]
    taken = [parameter(f"r{k}", MemRef.packed(TYPES[type], (None,))) for k, type in enumerate(outputs)]
    body = Lane(LANGUAGE, RegionKind.SPMD)
    group = body.one("mul", INDEX, a=body.one("group_id", INDEX, axis=0), b=body.constant(work_group, INDEX))
    item = body.one("add", INDEX, a=group, b=body.one("cast", INDEX, a=body.one("local_index", I32)))
    values = [
        body.one("load", TYPES[a.dtype.type], tensor=p.value, indices=(item,))
        for p, a in zip(given, inputs, strict=True)
    ]

    def compute(lane: Lane) -> None:
        for result, value in zip(taken, code(lane, *values), strict=True):
            if value.type == BOOL:
                value = lane.one("select", I32, condition=value, a=lane.constant(1), b=lane.constant(0))
            lane.add("store", value=value, tensor=result.value, indices=(item,))

    if masked:
        body.when(body.one("greater_than", BOOL, a=values[0], b=body.constant(0)), compute)
    else:
        compute(body)
    outer = RegionBuilder(LANGUAGE, RegionKind.COLLECTIVE)
    outer.add("parallel", body=body.region())
    sizes = Dictionary((Entry("work_group_size", (work_group, 1)), Entry("subgroup_size", subgroup)))
    module = Module((outer.function("main", [*given, *taken], sizes),))
    assert [d.render() for d in check_module(module)] == []
    return compile_module(module, target)["main"]


def results(
    code: Code, inputs: Sequence[Array], outputs: Sequence[Any], *, groups: int = 2, **options: Any
) -> list[Array]:
    """What a launch of `lane_kernel` stores: an array for each output, 0 where nothing is stored."""
    given = [np.copy(a) for a in inputs]
    kernel = lane_kernel(code, given, outputs, **options)
    stored = [np.zeros(options["work_group"] * groups, type) for type in outputs]
    kernel[groups](*given, *stored)
    return stored
