"""Launches on arrays of a GPU in machine code, where they are like earlier ones.

A launch by Python looks at everything; what it found is a plan: slots with sizes and strides, the types and shapes of
arrays, the device and its stream, where findings are. `QuickCalls.call(grid, *arguments)` compares the arguments of
later launches with the plans, in machine code (cuda_entry.ll), and returns

    None             the launch was asked for
    NotImplemented   no plan suits, or something was found on the stream, or the driver refused: Python decides

Arrays are those whose type has DLPack's table of functions (`__dlpack_c_exchange_api__`), as torch's tensors have. The
code is made after some launches, since that needs LLVM.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from string import Template
from threading import Lock
from typing import Any

import numpy as np

from girih.arguments.arrays import DTYPES, Accepted, ParameterSpec
from girih.arguments.claims import Claim
from girih.arguments.devices import CUDA, FOREIGN_ERRORS, in_capsule
from girih.back.llvm.assemble.assembler import Cpu, assemble, llvm_version
from girih.back.llvm.lower.launch.parameters import slot_count
from girih.back.llvm.lower.launch.slots import FIRST_PARAMETER
from girih.diagnostics import InternalError
from girih.ir.types import BF16, F16, F32, F64, INDEX, Boolean, MemRef, Number, Type
from girih.lazy_dataclass import dataclass
from girih.runtime.cache import Cache, digest
from girih.runtime.compiled.functions import DEFINITION_WORDS, python_functions
from girih.runtime.compiled.jit import Linked, keep_forever, link
from girih.runtime.compiled.narrow_floats import rounding_limits, rounding_text
from girih.runtime.cuda.device import LoadedKernel
from girih.runtime.cuda.driver import CudaFault, call
from girih.runtime.cuda.streams import LaunchStream
from girih.runtime.cuda.variant import MOST_X, MOST_YZ

LAUNCHES = 16
"""So many launches by Python make it worth to have the machine code, which takes tens of milliseconds."""
MOST_PLANS = 8

_SYMBOL = "girih_cuda_call"
_TABLE = "__dlpack_c_exchange_api__"
_CAPSULE = b"dlpack_exchange_api"
# dlpack.h 1.3, DLPackExchangeAPI: version, older table; then five functions, of which these two are used.
_TELL, _STREAM_OF, _MAJOR = 40, 48, 1

_KINDS = {name: k for k, name in enumerate(("K_BOOL", "K_INTEGER", "K_NARROW", "K_F32", "K_F64", "K_NULL", "K_ARRAY"))}
_PLAN = (
    "P_FUNCTION", "P_CONTEXT", "P_STREAM", "P_DEVICE", "P_WATCH", "P_THREADS", "P_PACKED", "P_SHARED", "P_SLOTS",
    "P_SLOT_BYTES", "P_POINTERS", "P_POINTER_LIST", "P_STREAM_OF", "P_LAUNCH", "P_GET_CURRENT", "P_GRADIENT",
    "P_NEGATED", "P_PARAMETERS", "P_BYTES",
)  # fmt: skip
_PARAMETER = ("Q_KIND", "Q_SLOT", "Q_BYTES")
_NUMBER = (*_PARAMETER, "Q_LEAST", "Q_MOST")
_ARRAY = (
    *_PARAMETER, "A_TYPE", "A_TELL", "A_DEVICE", "A_ELEMENT", "A_ALIGNMENT", "A_EXTENT", "A_WRITTEN", "A_MODES",
    "A_FIRST",
)  # fmt: skip
_FLOATING = {BF16: "K_NARROW", F16: "K_NARROW", F32: "K_F32", F64: "K_F64"}
NUMBERS = {
    **_KINDS,
    **{name: 8 * k for fields in (_PLAN, _NUMBER, _ARRAY) for k, name in enumerate(fields)},
    "D_FIRST": 8 * DEFINITION_WORDS,
    "RANGE_BYTES": 24,
    "CUDA": CUDA,
    "MOST_X": MOST_X,
    "MOST_YZ": MOST_YZ,
}
"""The numbers that cuda_entry.ll uses by name: offsets of 8-byte words in plans, and what a grid may have."""


@dataclass(frozen=True, slots=True)
class ExchangeTable:
    """The functions by which arrays of a type tell about themselves: where they are, and the current stream."""

    tell: int
    stream_of: int


def exchange_table(type: type) -> ExchangeTable | None:
    """DLPack's table of a type of arrays; None where it has none that is known here."""
    place = in_capsule(getattr(type, _TABLE, None), _CAPSULE)
    if place is None:
        return None
    if ctypes.c_uint32.from_address(place).value != _MAJOR:
        return None
    tell, stream_of = (ctypes.c_void_p.from_address(place + offset).value for offset in (_TELL, _STREAM_OF))
    return ExchangeTable(tell, stream_of) if tell and stream_of else None


@dataclass(frozen=True, slots=True, eq=False)
class PlannedLaunch:
    """A launch by Python on arrays of the device, as it was asked for."""

    stream: LaunchStream
    loaded: LoadedKernel
    words: np.ndarray[Any, np.dtype[np.int64]]
    accepted: Sequence[Accepted]
    given: Sequence[object]


class QuickCalls:
    """The plans of a kernel, and the function that follows them; it is None until launches were many enough."""

    def __init__(self, name: str, specs: Sequence[ParameterSpec]) -> None:
        self.call: Callable[..., object] | None = None
        self._name, self._specs = name, specs
        self._launches = 0
        self._table = (ctypes.c_int64 * (1 + MOST_PLANS))()
        self._held: list[object] = []
        self._known: set[tuple[object, ...]] = set()
        self._unsuited = any(not _is_simple(spec.type) for spec in specs)
        self._lock = Lock()

    def note(self, launch: PlannedLaunch) -> None:
        """Make a plan of a launch, if such launches are many, and have none yet."""
        if not self._unsuited:
            with self._lock:
                self._note(launch)

    def _note(self, launch: PlannedLaunch) -> None:
        self._launches += 1
        if self._launches < LAUNCHES or len(self._known) >= MOST_PLANS:
            return
        key = _key(launch)
        made = None if key in self._known else self._plan(launch)
        if made is None:
            return
        if self.call is None:
            code = _entry_code()
            if code is None:
                self._unsuited = True
                return
            words = [ctypes.addressof(self._table)]
            (self.call,) = python_functions(self._name.encode(), [code.addresses[_SYMBOL]], words, (code, self))
        self._known.add(key)
        self._held.append(made)
        count = self._table[0]
        self._table[1 + count] = made.address
        self._table[0] = count + 1

    def _plan(self, launch: PlannedLaunch) -> _Plan | None:
        kernel, stream = launch.loaded.kernel, launch.stream
        tables = [exchange_table(given.__class__) for given in launch.given if hasattr(given.__class__, _TABLE)]
        functions = [_address(name) or 0 for name in ("cuLaunchKernel", "cuCtxGetCurrent")]
        if not tables or None in tables or 0 in functions:
            return None
        pointers = (ctypes.c_int64 * len(kernel.pointers))(*(8 * number for number in kernel.pointers))
        words = launch.words.copy()
        (first, *_) = [table for table in tables if table is not None]
        is_torch = any(given.__class__.__module__.partition(".")[0] == "torch" for given in launch.given)
        names = ("requires_grad", "is_neg") if is_torch else (None, None)
        described = _parameters(self._specs, launch)
        if described is None:
            return None
        listed = [
            launch.loaded.handle, stream.device.context, stream.handle, stream.device.number, stream.watch_address,
            kernel.threads, kernel.packed, kernel.shared_bytes, int(words.ctypes.data), words.nbytes,
            len(pointers), ctypes.addressof(pointers), first.stream_of, *functions,
            *(0 if name is None else id(name) for name in names), len(self._specs), *described,
        ]  # fmt: skip
        content = (ctypes.c_int64 * len(listed))(*listed)
        types = [given.__class__ for given in launch.given]
        return _Plan(ctypes.addressof(content), (content, pointers, words, names, types, launch.loaded, stream))


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A plan by its address, and what must stay for it."""

    address: int
    held: tuple[object, ...]


def _is_simple(type: Type) -> bool:
    """Whether the machine code knows arguments of a type."""
    if isinstance(type, MemRef):
        return isinstance(type.element, Number) and type.element.family != "complex"
    return isinstance(type, Boolean) or (isinstance(type, Number) and (type.family == "integer" or type in _FLOATING))


def _key(launch: PlannedLaunch) -> tuple[object, ...]:
    """What tells launches apart that need plans of their own."""
    arrays = [
        (item.shape, item.strides, item.array is None) if isinstance(item, Claim) else None for item in launch.accepted
    ]
    return (launch.loaded, launch.stream, *arrays, *(given.__class__ for given in launch.given))


def _parameters(specs: Sequence[ParameterSpec], launch: PlannedLaunch) -> list[int] | None:
    """The words of all parameters; None where the machine code does not know one of them."""
    found: list[int] = []
    slot = FIRST_PARAMETER
    for spec, item, given in zip(specs, launch.accepted, launch.given, strict=True):
        words = _parameter(spec, item, given, launch)
        if words is None:
            return None
        kind, *fields = words
        found += [kind, 8 * slot, 8 * (len(_PARAMETER) + len(fields)), *fields]
        slot += slot_count(spec.type)
    return found


def _parameter(spec: ParameterSpec, item: Accepted, given: object, launch: PlannedLaunch) -> list[int] | None:
    """The kind of a parameter and its fields behind slot and size."""
    if isinstance(spec.type, Boolean):
        return [_KINDS["K_BOOL"]]
    if isinstance(spec.type, Number):
        if spec.type.family != "integer":
            limits = rounding_limits(spec.type)
            return [_KINDS[_FLOATING[spec.type]]] if limits is None else [_KINDS["K_NARROW"], *limits]
        bounds = np.iinfo(np.int32 if spec.type == INDEX else DTYPES[spec.type])
        return [_KINDS["K_INTEGER"], int(bounds.min), int(bounds.max)]
    assert isinstance(item, Claim)
    if item.array is None:
        return [_KINDS["K_NULL"]]
    table = exchange_table(given.__class__)
    if table is None or not item.extent or not item.on_device:
        return None
    told = _told(given, table)
    if told is None:
        return None
    modes = [word for size, stride in zip(*told[1], strict=True) for word in (size, stride if size > 1 else -1)]
    alignment = max(spec.alignment or 1, item.dtype.alignment)
    if alignment & (alignment - 1):
        return None
    kind, extent = told[0], item.extent * item.dtype.itemsize
    place = CUDA | launch.stream.device.number << 32
    return [
        _KINDS["K_ARRAY"], id(given.__class__), table.tell, place, kind, alignment - 1, extent, int(spec.written),
        len(modes) // 2, *modes,
    ]  # fmt: skip


def _told(given: object, table: ExchangeTable) -> tuple[int, tuple[list[int], list[int]]] | None:
    """What an array tells by its table: the word with its number of modes and element type, its sizes and strides."""
    room = (ctypes.c_int64 * 6)()
    tell = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(table.tell)
    try:
        if tell(given, ctypes.addressof(room)):
            return None
    except FOREIGN_ERRORS:
        return None
    modes = room[2] & 0xFFFFFFFF
    if not room[4] and modes:
        return None
    sizes, strides = ((ctypes.c_int64 * modes).from_address(room[k])[:] if modes else [] for k in (3, 4))
    return room[2], (list(sizes), list(strides))


@lru_cache(maxsize=8)
def _address(name: str) -> int | None:
    """The address of a function of the driver; None where it does not tell."""
    try:
        address, *_ = call("cuGetProcAddress", name.encode(), int(call("cuDriverGetVersion")), 0)
    except CudaFault:
        return None
    return int(address) or None


@lru_cache(maxsize=1)
def _entry_code() -> Linked | None:
    """The machine code, which stays until the process ends; None where the process lacks what it needs."""
    cpu = Cpu.host()
    text = entry_text()
    cache = Cache.standard()
    key = digest("cuda entry", text, cpu.identity, llvm_version())
    code = cache.get(key)
    if code is None:
        code = assemble(text, cpu)
        cache.put(key, code)
    try:
        made = link(code, [_SYMBOL])
    except InternalError:
        return None
    keep_forever(made)
    return made


def entry_text() -> str:
    """The machine code in LLVM IR."""
    text = (Path(__file__).parent / "cuda_entry.ll").read_text(encoding="utf-8")
    return Template(text).substitute(NUMBERS) + "\n" + rounding_text()
