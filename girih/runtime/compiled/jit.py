"""Object files as code of this process.

Linked code stays as long as its `Linked` object. Linking resolves what the process exports: the C library and
CPython. Two variables of the environment help tools: with `GIRIH_PERF_MAP=1` the names of functions are written to
`/tmp/perf-PID.map`, where `perf` finds them; with `GIRIH_DEBUGGER=1` code is registered with the JIT interface of GDB
and LLDB, lines of the program included (linking is slower then).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import count
from typing import Any

from girih.back.llvm.assemble.assembler import LLVM, llvm
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass

__all__ = ["Linked", "for_debuggers", "is_exported", "keep_forever", "link"]

_KEPT: dict[int, Any] = {}
"""The trackers of code that is needed, by number. Kept here, none is ever part of a cycle of garbage, in which it would
unload its code by itself, in the middle of whatever the thread is doing."""

_GONE: list[Any] = []
"""Code that is no longer needed, until the next thread that may use LLVM unloads it."""

_NUMBERS = count()


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """Code in memory, and the addresses of its functions. It is unloaded when this object goes."""

    addresses: dict[str, int]
    number: int

    @staticmethod
    def of(names: Iterable[str], tracker: Any) -> Linked:
        """The code that a tracker of LLVM keeps, with some of its functions."""
        addresses, number = {name: int(tracker[name]) for name in names}, next(_NUMBERS)
        _KEPT[number] = tracker
        return Linked(addresses, number)

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # At the end of the process the globals of modules go before this object may.
        if finalizing():
            return
        # A thread that uses LLVM now may wait for this one, which must therefore not wait. It may also be this one,
        # where garbage is collected: then LLVM is in the middle of something. The types of locks lack the method.
        _GONE.append(_KEPT.pop(self.number))
        if not LLVM._is_owned() and LLVM.acquire(blocking=False):  # type: ignore[attr-defined]
            _unload()
            LLVM.release()


def _unload() -> None:
    while _GONE:
        _GONE.pop().close()


def for_debuggers() -> bool:
    """Whether code is for debuggers, too: it is shown to them, with lines."""
    return os.environ.get("GIRIH_DEBUGGER") == "1"


@lru_cache(maxsize=1)
def _linkers() -> _Linkers:
    made = _Linkers(debugger=for_debuggers())
    keep_forever(made)
    return made


_MOST_LIBRARIES = 16
"""The number of libraries that a linker gets. A new linker takes twice the time of a library, so several share one."""


@dataclass(slots=True, eq=False)
class _Linkers:
    """LLVM's linkers, one after the other.

    A linker keeps some KiB for each library that it ever linked, and frees them only when it goes itself. So another
    one takes over after `_MOST_LIBRARIES`; the old linker goes with the last of its libraries.
    """

    debugger: bool
    _current: Any = None
    _libraries: int = 0

    def link(self, builder: Any) -> Any:
        """The tracker of a library, which keeps the linker too. Raises `RuntimeError`."""
        if self._libraries % _MOST_LIBRARIES == 0:
            self._take_over()
        self._libraries += 1
        return builder.link(self._current, f"girih-{self._libraries}")

    def _take_over(self) -> None:
        # The linker behind `use_jit_link` copes with any distance between code and libraries, the other one knows GDB.
        made = llvm().create_lljit_compiler(use_jit_link=not self.debugger, suppress_errors=True)
        if self._current is not None:
            self._current.close()
        self._current = made


def link(object: bytes, symbols: Iterable[str]) -> Linked:
    """The code of an object file and the addresses of some of its functions.

    Raises `InternalError` for an object that needs functions which the process does not have.
    """
    with LLVM:
        _unload()
        return _linked(object, list(symbols))


def _linked(object: bytes, names: list[str]) -> Linked:
    builder = llvm().JITLibraryBuilder().add_object_img(object).add_current_process()
    for name in names:
        builder.export_symbol(name)
    try:
        tracker = _linkers().link(builder)
    except RuntimeError as error:
        reason = _missing(object) or str(error).strip()
        raise InternalError(f"machine code cannot be linked: {reason}") from None
    linked = Linked.of(names, tracker)
    if os.environ.get("GIRIH_PERF_MAP") == "1":
        _write_perf_map(object, linked)
    return linked


def is_exported(name: str) -> bool:
    """Whether this process offers a function or variable of this name to code that is linked into it."""
    return hasattr(_process(), name)


@lru_cache(maxsize=1)
def _process() -> ctypes.CDLL:
    """The libraries that this process has loaded, as one."""
    return ctypes.CDLL(None)


def keep_forever(value: object) -> None:
    """Keep an object until the process ends, also beyond the end of Python's interpreter."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _missing(object: bytes) -> str:
    """The functions that an object file needs and this process does not have, in words."""
    needed = [symbol.name for symbol in _symbols(object) if symbol.name and symbol.section == 0]
    missing = [name for name in needed if not is_exported(name)]
    return f"this process has no {', '.join(missing)}" if missing else ""


def _write_perf_map(object: bytes, linked: Linked) -> None:
    """Write one line per function, as `perf` reads them; a file that cannot be written is left out."""
    sizes = {symbol.name: symbol.size for symbol in _symbols(object)}
    lines = [f"{address:x} {sizes.get(name, 1):x} {name}\n" for name, address in linked.addresses.items()]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(f"/tmp/perf-{os.getpid()}.map", flags, 0o600)
    except OSError:
        return
    with os.fdopen(descriptor, "w") as file:
        file.writelines(lines)


@dataclass(frozen=True, slots=True)
class _Symbol:
    """An entry of a symbol table; its section is 0 for a symbol that another library must define."""

    name: str
    section: int
    size: int


def _symbols(object: bytes) -> list[_Symbol]:
    """The symbols of an object file of ELF; none for other formats."""
    if object[:6] != b"\x7fELF\x02\x01":
        return []
    start, entry_bytes, number = _number(object, 40, 8), _number(object, 58, 2), _number(object, 60, 2)
    headers = [object[start + k * entry_bytes :][:entry_bytes] for k in range(number)]
    symbols: list[_Symbol] = []
    for header in headers:
        if _number(header, 4, 4) != _SYMBOL_TABLE:
            continue
        names = _number(headers[_number(header, 40, 4)], 24, 8)
        at, size = _number(header, 24, 8), _number(header, 32, 8)
        for place in range(at, at + size, _SYMBOL_BYTES):
            begin = names + _number(object, place, 4)
            name = object[begin : object.index(0, begin)].decode()
            symbols.append(_Symbol(name, _number(object, place + 6, 2), _number(object, place + 16, 8)))
    return symbols


# ELF-64 Object File Format, version 1.5: tables 8 (section types) and figure 6 (symbol table entry).
_SYMBOL_TABLE = 2
_SYMBOL_BYTES = 24


def _number(data: bytes, offset: int, size: int) -> int:
    return int.from_bytes(data[offset : offset + size], "little")
