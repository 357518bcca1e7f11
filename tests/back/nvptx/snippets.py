"""Kernels of a few lines for the machine: each thread reads its elements of some arrays, computes, and writes some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.back.nvptx.ptx_machine import LaunchRecord, PtxModule
from tests.back.nvptx.ptx_machine.layout import parameter_places

Array = NDArray[Any]

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
_REGISTERS = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}


def kernel(body: str, parameters: int = 0, *, before: str = "", declared: str = "") -> str:
    """The text of a kernel `f` whose parameters are addresses, in `%p0` ...; `%r0`, `%d0`, `%h0`, `%q0` are free."""
    listed = ",\n".join(f".param .u64 f_param_{k}" for k in range(parameters))
    loads = "\n".join(f"ld.param.u64 %p{k}, [f_param_{k}];" for k in range(parameters))
    return f"""{HEAD}{before}
.visible .entry f({listed})
{{
.reg .b64 %p<{parameters + 1}>;
.reg .b32 %r<64>; .reg .b64 %d<64>; .reg .b16 %h<64>; .reg .pred %q<16>;
{declared}
{loads}
{body}
ret;
}}
"""


def launch(
    text: str, arrays: Sequence[Array] = (), threads: int = 32, *, shared: int = 0, blocks: int = 1, **options: Any
) -> LaunchRecord:
    """Launch the kernel `f` of a text with arrays as its parameters."""
    module = PtxModule.parse(text)
    addresses = np.array([one.ctypes.data for one in arrays], np.uint64).view(np.uint8)
    return module.launch("f", (blocks, 1, 1), threads, addresses, shared, memory=arrays, **options)


def computed(code: str, inputs: Sequence[Array], results: Sequence[type[np.generic]]) -> list[Array]:
    """What one thread for each element makes of `%x0`, `%x1` ..., in `%y0` ...; names are those of bits.

    The code is executed twice: by all threads at once, and by odd and even ones in turn, which must give the same.
    """
    threads = len(inputs[0])
    outputs = [np.zeros(threads, one) for one in results]
    arrays = [*(np.ascontiguousarray(one) for one in inputs), *outputs]
    declared, loads, stores = [], [], []
    for k, one in enumerate(arrays):
        name = f"%x{k}" if k < len(inputs) else f"%y{k - len(inputs)}"
        declared.append(f".reg .{_REGISTERS[one.itemsize]} {name};")
        bits = f"b{8 * one.itemsize}"
        place = f"mad.wide.u32 %d0, %r0, {one.itemsize}, %p{k};"
        if k < len(inputs):
            loads.append(f"{place} ld.global.{bits} {name}, [%d0];")
        else:
            stores.append(f"{place} st.global.{bits} [%d0], {name};")
    before = "mov.u32 %r0, %tid.x;\n" + "\n".join(loads)
    after = "\n".join(stores)
    together = kernel(f"{before}\n{code}\n{after}", len(arrays), declared="\n".join(declared))
    launch(together, arrays, threads)
    first = [one.copy() for one in outputs]
    parted = f"and.b32 %r1, %r0, 1; setp.eq.u32 %q15, %r1, 1; @%q15 bra ODD;\n{{ {code} }}\nbra END;\nODD:\n"
    parted += f"{{ {code} }}\nEND:"
    launch(kernel(f"{before}\n{parted}\n{after}", len(arrays), declared="\n".join(declared)), arrays, threads)
    for a, b in zip(first, outputs, strict=True):
        np.testing.assert_array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))
    return first


def packed(module: PtxModule, entry: str, values: Sequence[bytes]) -> Array:
    """The parameters of a kernel, each given by its bytes."""
    places = parameter_places(module.syntax.functions[entry])
    room = np.zeros(max(begin + one.bytes for one, begin in places), np.uint8)
    for (one, begin), value in zip(places, values, strict=True):
        assert len(value) == one.bytes
        room[begin : begin + one.bytes] = np.frombuffer(value, np.uint8)
    return room


def descriptor(number: int) -> bytes:
    """128 bytes that stand for a tensor map in a launch."""
    return b"tensor map".ljust(120, b".") + number.to_bytes(8, "little")
