"""Launches on arrays of a GPU in machine code, where they are like earlier ones.

A launch by Python looks at everything; what it found is a plan: slots with sizes and strides, the types and shapes of
arrays, the device and its stream, where findings are. `QuickCalls.call(grid, *arguments)` compares the arguments of
later launches with the plans, in machine code (cuda_entry.ll), and returns

    None             the launch was asked for
    NotImplemented   no plan suits, or something was found on the stream, or the driver refused: Python decides

`QuickCalls.entry(grid, otherwise)` does so for one grid, and calls `otherwise` where Python decides: a kernel is called
without any code of Python in between.

Arrays are those whose type has DLPack's table of functions (`__dlpack_c_exchange_api__`), as torch's tensors have, and
those that export DLPack, as CuPy's and JAX's do. The code is made after some launches, since that needs LLVM.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import prod
from pathlib import Path
from string import Template
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from girih.arguments.arrays import Accepted, GroupClaim, ParameterSpec
from girih.arguments.claims import Claim
from girih.arguments.devices import CUDA
from girih.arguments.grid import grid_of_shapes
from girih.arguments.groups import Group
from girih.back.llvm.assemble.assembler import Cpu, assemble, llvm_version
from girih.diagnostics import InternalError, LaunchError
from girih.ir.core import Function
from girih.lazy_dataclass import dataclass
from girih.runtime.cache import Cache, digest
from girih.runtime.compiled.functions import DEFINITION_WORDS, METH_KEYWORDS, python_functions
from girih.runtime.compiled.jit import Linked, keep_forever, link
from girih.runtime.compiled.narrow_floats import rounding_text
from girih.runtime.cuda.device import LoadedKernel
from girih.runtime.cuda.driver import CudaFault, call
from girih.runtime.cuda.plans.exchange import EXPORT, TABLE, exchange_table
from girih.runtime.cuda.plans.parameters import PARAMETER_NUMBERS, ParameterWords, is_simple
from girih.runtime.cuda.streams import LaunchStream, stream_function, stream_library, stream_teller
from girih.runtime.cuda.variant import MOST_X, MOST_YZ, Grid, fits_cuda

if TYPE_CHECKING:
    from girih.runtime.cuda.tensor_maps import MadeMap

LAUNCHES = 16
"""So many launches by Python make it worth to have the machine code, which takes tens of milliseconds."""
MOST_PLANS = 8
MEMBERS = 64
"""So many arrays in groups cost Python as much as a launch without."""

_SYMBOL, _ENTRY = "girih_cuda_call", "girih_cuda_kernel"
_PLAN = (
    "P_FUNCTION", "P_CONTEXT", "P_STREAM", "P_DEVICE", "P_WATCH", "P_THREADS", "P_PACKED", "P_SHARED", "P_SLOTS",
    "P_SLOT_BYTES", "P_POINTERS", "P_POINTER_LIST", "P_STREAM_OF", "P_STREAM_NOW", "P_ASK_STREAM", "P_LAUNCH",
    "P_GET_CURRENT", "P_OWN_GRID", "P_OWN_GRID_Y", "P_OWN_GRID_Z", "P_RANGES", "P_STAYING", "P_STAYING_BYTES",
    "P_MOST_CTAS", "P_PARTS", "P_MOST_ALL", "P_IS_CAPTURING", "P_REPLACE", "P_MAPS", "P_MAP_LIST",
    "P_PARAMETERS", "P_BYTES",
)  # fmt: skip
NUMBERS = {
    **PARAMETER_NUMBERS,
    **{name: 8 * k for k, name in enumerate(_PLAN)},
    "D_FIRST": 8 * DEFINITION_WORDS,
    "RANGE_BYTES": 24,
    "CUDA": CUDA,
    "MOST_X": MOST_X,
    "MOST_YZ": MOST_YZ,
}
"""The numbers that cuda_entry.ll uses by name: offsets of 8-byte words in plans, and what a grid may have."""


@dataclass(frozen=True, slots=True, eq=False)
class PlannedLaunch:
    """A launch by Python on arrays of the device, as it was asked for."""

    stream: LaunchStream
    loaded: LoadedKernel
    shared_bytes: int
    words: np.ndarray[Any, np.dtype[np.int64]]
    accepted: Sequence[Accepted]
    given: Sequence[object]
    made: Sequence[MadeMap] = ()


class QuickCalls:
    """The plans of a kernel, and the function that follows them; it is None until launches were many enough."""

    def __init__(self, function: Function, specs: Sequence[ParameterSpec]) -> None:
        self.call: Callable[..., object] | None = None
        self._name, self._specs = function.name.encode(), specs
        self._function = function
        self._launches = 0
        self._table = (ctypes.c_int64 * (1 + MOST_PLANS))()
        self._plans: dict[tuple[object, ...], _Plan] = {}
        self._refused: set[tuple[object, ...]] = set()
        self._seen: WeakValueDictionary[int, Group] = WeakValueDictionary()
        # Another thread may still be comparing with a plan that goes, for as long as comparing takes.
        self._gone: deque[_Plan] = deque(maxlen=8 * MOST_PLANS)
        self._unsuited = any(not is_simple(spec.type) for spec in specs)
        self._lock = Lock()

    def note(self, launch: PlannedLaunch) -> None:
        """Make a plan of a launch, if such launches are many, and have none yet."""
        if not self._unsuited:
            with self._lock:
                self._note(launch)

    def _note(self, launch: PlannedLaunch) -> None:
        members = sum(len(item.members) for item in launch.accepted if isinstance(item, GroupClaim))
        self._launches += 1 + members // MEMBERS
        self._forget()
        come_again = self._come_again(launch.given)
        if not come_again or self._launches < LAUNCHES or len(self._plans) >= MOST_PLANS:
            return
        key = _key(launch)
        if key in self._plans or key in self._refused:
            return
        made = self._plan(launch)
        if made is None:
            if len(self._refused) < MOST_PLANS:
                self._refused.add(key)
            return
        if self.call is None:
            code = _entry_code()
            if code is None:
                self._unsuited = True
                return
            words = [ctypes.addressof(self._table)]
            (self.call,) = python_functions(self._name, [code.addresses[_SYMBOL]], words, (code, self))
        self._plans[key] = made
        self._list()

    def _list(self) -> None:
        """Tell machine code the plans, of which it may be comparing with one."""
        for number, plan in enumerate(self._plans.values(), 1):
            self._table[number] = plan.address
        self._table[0] = len(self._plans)

    def _forget(self) -> None:
        """Forget plans for groups that are gone."""
        gone = [key for key, plan in self._plans.items() if not all(cell[0] for cell in plan.cells)]
        for key in gone:
            plan = self._plans.pop(key)
            plan.stream.device.tables.let_go(plan.tables)
            self._gone.append(plan)
        if gone:
            self._list()

    def _come_again(self, given: Sequence[object]) -> bool:
        """Whether all groups among arguments came before: of one that comes once a plan would be of no use."""
        groups = [one for one in given if isinstance(one, Group)]
        new = [one for one in groups if self._seen.get(id(one)) is not one]
        self._seen.update((id(one), one) for one in new)
        return not new

    def entry(self, grid: Grid | None, otherwise: Callable[..., object]) -> Callable[..., object]:
        """What launches the kernel on a grid, the kernel's own for None, when the machine code is there.

        It takes the arguments of the kernel, and gives them to `otherwise` where Python has to decide.
        """
        code = _entry_code()
        assert code is not None, "there is machine code"
        words, held = [ctypes.addressof(self._table)], (code, self)
        (made,) = python_functions(
            self._name, [code.addresses[_ENTRY]], words, held, grid, otherwise, flags=METH_KEYWORDS
        )
        entry: Callable[..., object] = made
        return entry

    def _plan(self, launch: PlannedLaunch) -> _Plan | None:
        kernel, stream = launch.loaded.kernel, launch.stream
        functions = [_address(name) or 0 for name in ("cuLaunchKernel", "cuCtxGetCurrent")]
        replace_address = _address("cuTensorMapReplaceAddress") or 0
        if 0 in functions or (launch.made and not replace_address):
            return None
        shared = self._sharing(launch)
        told = self._told(launch)
        if told is None or shared is None:
            return None
        slots = told.slots
        moved = [word for one in launch.made for word in (one.offset, 8 * slots[one.parameter], one.begin)]
        maps = (ctypes.c_int64 * len(moved))(*moved)
        pointers = (ctypes.c_int64 * len(kernel.pointers))(*(8 * number for number in kernel.pointers))
        # Encoded maps are among the words, and may lie anywhere here.
        words = launch.words.copy()
        arrays = list(_arrays(launch.given))
        types = list({id(array.__class__): array.__class__ for array in arrays}.values())
        stream_of = _stream_of_tables(types, arrays)
        teller = stream_teller(stream.device.number, arrays)
        staying = (ctypes.c_int64 * len(told.staying))(*told.staying)
        tables = stream.device.tables.keep(set(map(int, words)))
        listed = [
            launch.loaded.handle, stream.device.context, stream.handle, stream.device.number, stream.watch_address,
            kernel.threads, kernel.packed, launch.shared_bytes, int(words.ctypes.data), words.nbytes,
            len(pointers), ctypes.addressof(pointers), stream_of, stream_function(stream.device.number, arrays),
            id(teller), *functions,
            *(self._grid_of_shapes(launch) or (0, 0, 0)), told.ranges, ctypes.addressof(staying),
            ctypes.sizeof(staying), self._most_ctas(launch), kernel.of_each, *shared, replace_address, len(launch.made),
            ctypes.addressof(maps), len(self._specs), *told.words,
        ]  # fmt: skip
        content = (ctypes.c_int64 * len(listed))(*listed)
        held = (content, pointers, maps, words, teller, types, staying, told.held, launch.loaded)
        return _Plan(ctypes.addressof(content), held, stream, tables, told.cells)

    def _grid_of_shapes(self, launch: PlannedLaunch) -> Grid | None:
        """The kernel's own grid for all launches by a plan; None where numbers decide it, or CUDA has no such grid."""
        try:
            found = grid_of_shapes(self._function, launch.accepted)
        except LaunchError:
            return None
        return found if found is not None and 0 not in found and fits_cuda(found) else None

    def _most_ctas(self, launch: PlannedLaunch) -> int:
        """The most CTAs, all along x; 0 where they are CUDA's grid as the work-groups are."""
        kernel = launch.loaded.kernel
        if not kernel.is_tile_program:
            return 0
        return launch.stream.device.multiprocessors if kernel.persistent else MOST_X

    def _sharing(self, launch: PlannedLaunch) -> tuple[int, int] | None:
        """The most that CTAs may execute, and what tells whether a stream is captured; None where nobody tells that.

        The memory of a stream is for as many parts of the depth as the launch has, and not for CUDA graphs.
        """
        kernel = launch.loaded.kernel
        if kernel.depth_parts == 1:
            return MOST_X, 0
        asked = _address("cuStreamIsCapturing")
        return None if asked is None else (prod(map(int, launch.words[:3])) * kernel.of_each, asked)

    def _told(self, launch: PlannedLaunch) -> ParameterWords | None:
        """The words of the parameters; those that the maps depend on are taken as they are in this launch."""
        library = stream_library(_arrays(launch.given))
        told = ParameterWords(launch.stream.device.number, launch.stream.handle, library)
        if launch.made:
            from girih.runtime.cuda.recipes import UNIT_BYTES, integers_of

            if any(one.begin % UNIT_BYTES for one in launch.made):
                return None
            told.fixed = integers_of(launch.loaded.kernel)
            told.aligned = {one.parameter: UNIT_BYTES for one in launch.made}
        return told.add_all(self._specs, launch.accepted, launch.given)


def _arrays(given: Iterable[object]) -> Iterator[object]:
    """The arrays among arguments, those in groups too."""
    for one in given:
        if isinstance(one, Group):
            yield from _arrays([one.arrays])
        elif isinstance(one, list | tuple):
            yield from _arrays(one)
        elif hasattr(one.__class__, TABLE) or hasattr(one.__class__, EXPORT):
            yield one


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A plan by its address, and what must stay for it: tables of groups, and cells that are 0 when a group is gone."""

    address: int
    held: tuple[object, ...]
    stream: LaunchStream
    tables: Sequence[bytes]
    cells: Sequence[ctypes.Array[ctypes.c_int64]]


def _stream_of_tables(types: Iterable[type], arrays: Iterable[object]) -> int:
    """The function of a table that tells the current stream of a launch with some arrays; 0 where Python has to.

    Where nobody else tells it, torch does, whose table says it without Python.
    """
    found = next((table.stream_of for table in map(exchange_table, types) if table is not None), 0)
    torch: Any = sys.modules.get("torch")
    if found or torch is None or stream_library(arrays) != "torch" or not torch.cuda.is_initialized():
        return found
    table = exchange_table(torch.Tensor)
    return 0 if table is None else table.stream_of


def _key(launch: PlannedLaunch) -> tuple[object, ...]:
    """What tells launches apart that need plans of their own."""
    alike = zip(launch.given, launch.accepted, strict=True)
    shapes = [("group", id(given)) if isinstance(given, Group) else _shape_of(item) for given, item in alike]
    classes = [array.__class__ for array in _arrays(one for one in launch.given if not isinstance(one, Group))]
    return (launch.loaded, launch.stream, *shapes, *classes)


def _shape_of(item: Accepted) -> object:
    """What tells arguments apart that need plans of their own."""
    if isinstance(item, GroupClaim):
        return (item.null, *((member.start, _shape_of(member)) for member in item.members))
    return (item.shape, item.strides, item.array is None) if isinstance(item, Claim) else None


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
        made = link(code, [_SYMBOL, _ENTRY])
    except InternalError:
        return None
    keep_forever(made)
    return made


def entry_text() -> str:
    """The machine code in LLVM IR."""
    text = (Path(__file__).parent / "plans" / "cuda_entry.ll").read_text(encoding="utf-8")
    return Template(text).substitute(NUMBERS) + "\n" + rounding_text()
