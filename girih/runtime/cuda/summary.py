"""The summary of how NVIDIA's GPUs execute the language: this machine's, or those of an architecture."""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.llvm.nvptx.machine.architecture import ARCHITECTURES, NvidiaArchitecture, architecture_of
from girih.diagnostics import LaunchError
from girih.ir.types import BF16, EIGHT_BIT_FLOATS, F16, PARTS, SCALARS, Boolean, MatrixScope, Number
from girih.runtime.cuda.architectures import DEFAULT, named
from girih.runtime.cuda.code.assembler import assemblers
from girih.runtime.cuda.device import CudaDevice, current_number, device_count, opened
from girih.runtime.cuda.driver import CudaFault, NoCudaError, call
from girih.runtime.device import ExecutionSummary

MATRICES = "arrays of each work-item, multiplied in loops"


def summary_of(name: str) -> ExecutionSummary:
    """The summary of an architecture by name, of a GPU by number, and for the empty name of what there is."""
    facts: dict[str, str] = {}
    taken: CudaDevice | None = None
    try:
        facts["driver"] = f"CUDA {_version(call('cuDriverGetVersion'))}"
        number = int(name) if name.isdecimal() else current_number()
        for device in _devices():
            taken = device if device.number == number else taken
            facts[f"cuda:{device.number}"] = _device(device, chosen=device.number == number)
    except (NoCudaError, CudaFault, LaunchError) as error:
        facts["driver"] = f"none: {error}"
    facts["assembler"] = (
        ", ".join(one.identity.split(":")[0] for one in assemblers(for_device=taken is not None)) or "none"
    )
    architecture = named(name) or (None if taken is None else architecture_of(taken.capability))
    shown = architecture or ARCHITECTURES[DEFAULT]
    if not name and architecture is None:
        facts["code here"] = f"for {shown.name}, as there is no GPU: to be read, or launched elsewhere"
    facts |= _sizes(shown)
    if not name:
        facts |= {f"cuda:{one.name}": _architecture(one) for one in ARCHITECTURES.values()}
    types = {word: _type(type) for word, type in SCALARS.items()}
    return ExecutionSummary(facts, types, {scope.value: MATRICES for scope in MatrixScope})


def _devices() -> Iterator[CudaDevice]:
    return (opened(number) for number in range(device_count()))


def _device(device: CudaDevice, *, chosen: bool) -> str:
    best = architecture_of(device.capability)
    what = f"{device.name}, compute capability {'.'.join(map(str, device.capability))}, "
    what += f"{device.attribute('MULTIPROCESSOR_COUNT')} multiprocessors, "
    what += "too old: code is for sm_80 and newer ones" if best is None else f"code for {best.name}"
    return f"{what}, taken" if chosen else what


def _version(number: int) -> str:
    """The driver's number for its version of CUDA in words: 13000 is 13.0."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _sizes(one: NvidiaArchitecture) -> dict[str, str]:
    return {
        "subgroups": "of 8, 16 or 32 work-items, 32 where nobody asks: a warp, or a part of one",
        "work-groups": f"of up to 1024 work-items; {one.work_groups} on a multiprocessor at a time, {one.warps} warps",
        "memory": f"{one.shared_bytes} bytes of local memory",
        "tensor copies": "by the copy engine" if one.copies else "computed",
    }


def _architecture(one: NvidiaArchitecture) -> str:
    who = "compute capability" if one.specific else "compute capability from"
    capability = ".".join(map(str, one.capability))
    return f"{who} {capability}, {one.shared_bytes} bytes of local memory, PTX {one.ptx // 10}.{one.ptx % 10}"


def _type(type: Number | Boolean) -> str:
    if isinstance(type, Boolean):
        return "one bit; one byte in memory"
    if type in (F16, BF16):
        return "in f32, rounded after every operation"
    if type in EIGHT_BIT_FLOATS:
        return "moved as bits; converted by integer instructions"
    return f"two {PARTS[type]}" if type in PARTS else "by the device"
