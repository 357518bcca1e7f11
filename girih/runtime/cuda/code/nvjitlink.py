"""nvJitLink, NVIDIA's assembler as a library: the wheel `nvidia-nvjitlink`, or a library of the toolkit.

Its functions are named with the version of the toolkit that first had them, as nvJitLink.h names them.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

_NAME = re.compile(r"libnvJitLink\.so\.(\d+)")
_FOLDERS = ("cu*/lib", "nvjitlink/lib")
"""Where wheels put the library, in the folder of the package `nvidia`."""

# nvJitLink.h, enum nvJitLinkInputType
_INPUT_PTX = 2

_Handle = ctypes.c_void_p


class NvJitLinkError(Exception):
    """A function of the library failed; the message is its log."""


@lru_cache(maxsize=1)
def library_file() -> Path | None:
    """The file of the newest library of a wheel; None where there is no such wheel."""
    found = find_spec("nvidia")
    places = () if found is None else tuple(found.submodule_search_locations or ())
    files = [
        (int(match[1]), file)
        for place in places
        for folder in _FOLDERS
        for file in Path(place).glob(f"{folder}/libnvJitLink.so.*")
        if (match := _NAME.fullmatch(file.name))
    ]
    return max(files)[1] if files else None


def linked(library: Path, ptx: str, options: Sequence[str]) -> tuple[bytes, str]:
    """The machine code of a module and the log. Raises `NvJitLinkError`."""
    made = _Library(library)
    handle = _Handle()
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    made.call("Create", ctypes.byref(handle), ctypes.c_uint32(len(options)), words)
    try:
        data = ptx.encode()
        made.call("AddData", handle, _INPUT_PTX, data, ctypes.c_size_t(len(data)), b"kernel", log=handle)
        made.call("Complete", handle, log=handle)
        return made.content("LinkedCubin", handle), made.content("InfoLog", handle).decode(errors="replace")
    finally:
        made.call("Destroy", ctypes.byref(handle))


class _Library:
    def __init__(self, file: Path) -> None:
        match = _NAME.fullmatch(file.name)
        self._version = match[1] if match else ""
        try:
            self._functions = ctypes.CDLL(str(file))
        except OSError as error:
            raise NvJitLinkError(f"it cannot be loaded: {error}") from None

    def call(self, name: str, *arguments: object, log: _Handle | None = None) -> None:
        """Call a function. Raises `NvJitLinkError`, with the log of `log`."""
        full = f"__nvJitLink{name}_{self._version}_0"
        try:
            function = self._functions[full]
        except AttributeError:
            raise NvJitLinkError(f"it has no function {full}") from None
        result = function(*arguments)
        if result:
            says = "" if log is None else self.content("ErrorLog", log).decode(errors="replace").strip()
            raise NvJitLinkError(says or f"nvJitLink{name} gives {result}")

    def content(self, name: str, handle: _Handle) -> bytes:
        """What a pair of functions gives: one tells its size, the other writes it."""
        size = ctypes.c_size_t()
        self.call(f"Get{name}Size", handle, ctypes.byref(size))
        if not size.value:
            return b""
        room = ctypes.create_string_buffer(size.value)
        self.call(f"Get{name}", handle, room)
        return room.raw if name == "LinkedCubin" else room.value
