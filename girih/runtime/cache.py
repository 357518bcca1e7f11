"""Compiled code on disk, so that the next process need not compile it again.

The folder is `$GIRIH_CACHE_DIR`, or `girih` in `$XDG_CACHE_HOME` or `~/.cache`. A process that writes to it brings it
down to `$GIRIH_CACHE_SIZE` bytes (256 MiB); the entries that were not used for longest go first, and 0 means no cache.
A single entry that exceeds the limit is neither written nor read nor counted; it stays for processes with a larger
limit. Any number of processes may use the folder.

Entries will be executed, so an entry is believed only if the user owns the folder and the file, nobody else may write
to them, and the checksum over everything agrees; other entries are removed with a `CacheWarning`, and so are entries
that turn out to be of no use later (`Cache.drop`). Nothing is kept in a folder that cannot be written, after one
warning. Systems without POSIX permissions have no cache.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from time import time

from girih.analysis.sources import places_of
from girih.back.llvm.assemble.assembler import llvm_version
from girih.diagnostics import warn_user
from girih.ir.core import Dictionary, Function
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.lazy_dataclass import dataclass

__all__ = ["Cache", "CacheWarning", "digest", "kernel_key"]

DEFAULT_BYTES = 256 * 1024 * 1024
_MOST_DIGITS = 30
_MAGIC = b"girih code 1\n"
_CHECKSUM_BYTES = 32
_START = len(_MAGIC) + _CHECKSUM_BYTES
"""The byte of an entry at which the code begins."""
_SUFFIX = ".code"
_TEMPORARY = ".new-"
_ABANDONED_SECONDS = 3600.0
_SUPPORTED = hasattr(os, "geteuid") and os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


class CacheWarning(UserWarning):
    """A fault of the cache of compiled code, without which programs run as well."""


class _EntryRefused(Exception):
    """An entry, or the folder, that must not be believed."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of compiled code by key, of a bounded number of bytes. No method raises for a faulty folder."""

    folder: Path | None
    limit: int = DEFAULT_BYTES

    @staticmethod
    def standard() -> Cache:
        """The cache that the environment asks for."""
        limit = _limit(os.environ.get("GIRIH_CACHE_SIZE", ""))
        return Cache(_folder() if _SUPPORTED and limit else None, limit)

    def get(self, key: str) -> bytes | None:
        """The code that was kept under a key; None where there is none that can be believed."""
        if self.folder is None:
            return None
        try:
            with _opened(self.folder) as folder:
                return self._read(folder, key)
        except FileNotFoundError:
            return None
        except (OSError, _EntryRefused) as error:
            _warn_once(f"compiled code is not cached in {self.folder}: {_words(error)}")
            return None

    def _read(self, folder: int, key: str) -> bytes | None:
        name = key + _SUFFIX
        try:
            return _verified(folder, name, key, self.limit)
        except FileNotFoundError:
            return None
        except MemoryError:
            place = self.folder and self.folder / name
            _warn_once(f"the cached code {place} is not used: there is not enough memory to read it")
            return None
        except (OSError, _EntryRefused) as error:
            self._drop(folder, name, _words(error))
            return None

    def drop(self, key: str, why: str) -> None:
        """Remove an entry that `get` has returned but that is of no use, with a warning that says why."""
        if self.folder is None:
            return
        try:
            with _opened(self.folder) as folder:
                self._drop(folder, key + _SUFFIX, why)
        except (OSError, _EntryRefused) as error:
            _warn_once(f"compiled code is not cached in {self.folder}: {_words(error)}")

    def _drop(self, folder: int, name: str, why: str) -> None:
        """Remove an entry, with a warning; with only one for an entry that cannot be removed."""
        place = self.folder and self.folder / name
        try:
            _remove(folder, name)
        except OSError as stays:
            _warn_once(f"the cached code {place} is of no use: {why}; it cannot be removed: {_words(stays)}")
            return
        _warn(f"the cached code {place} was dropped: {why}")

    def put(self, key: str, code: bytes) -> None:
        """Keep code under a key; processes that read meanwhile see the old entry, the new one or none."""
        if self.folder is None or _START + len(code) > self.limit:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _opened(self.folder) as folder:
                _write(folder, key, code)
                if _is_turn(key, len(code), self.limit):
                    _shrink(folder, self.limit)
        except (OSError, _EntryRefused) as error:
            _warn_once(f"compiled code is not cached in {self.folder}: {_words(error)}")


def digest(*parts: str | bytes) -> str:
    """The key of these parts together, each with its length."""
    whole = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()


def kernel_key(
    function: Function, checks: str, cpu: str, limits: DeviceLimits = DEFAULT_LIMITS, llvm: str | None = None
) -> str:
    """The key of a kernel compiled with a mode of checks for a processor (`Cpu.identity`) and the limits of a target.

    `llvm` tells the version of LLVM where that is not loaded, and is not to be for this.
    Languages share instructions, so a text alone does not say how its bodies are executed. How a kernel is called is
    no matter of its code.
    """
    function = replace(function, attributes=_of_code(function.attributes))
    source, language = function.span.source, function.language
    # Where instructions stand follows from a program's text, but not from that of a shader.
    places = places_of(function) if language.name == "device" else ()
    return digest(
        "kernel", source.name, source.text, function.name, str(function), checks, cpu,
        language.name, language.home, function.body.kind.value, repr(limits),
        llvm_version() if llvm is None else llvm, _compiler(), *places,
    )  # fmt: skip


def _of_code(attributes: Dictionary) -> Dictionary:
    """The attributes without those that say how a function is called."""
    return Dictionary(
        tuple(entry for entry in attributes.entries if entry.quoted or entry.key not in ("grid", "order"))
    )


_COMPILER = ("analysis", "back", "ir", "ops")
"""The parts of the package that decide how a checked function is compiled."""


@lru_cache(maxsize=1)
def _compiler() -> str:
    """The identity of this compiler: a change of one of its files makes stale all code that it compiled.

    A file counts as unchanged where girih's version and the path, size and time of change are equal: reading all files
    would take longer than loading a kernel. The version is in the first file of the package.
    """
    package = Path(__file__).parent.parent
    version = (package / "__init__.py").read_bytes()
    return digest(version, *(part for name in _COMPILER for part in _files(str(package / name))))


def _files(folder: str) -> Iterator[str]:
    """The path, size and time of change of each Python file in a folder, in a fixed order."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".py"):
            status = entry.stat()
            yield f"{entry.path}:{status.st_size}:{status.st_mtime_ns}"
        elif entry.is_dir():
            yield from _files(entry.path)


def _folder() -> Path | None:
    asked = os.environ.get("GIRIH_CACHE_DIR", "")
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        if asked:
            return Path(asked).expanduser().absolute()
        return Path(base) / "girih" if os.path.isabs(base) else Path.home() / ".cache" / "girih"
    except RuntimeError as error:
        if asked:
            _warn_once(f"GIRIH_CACHE_DIR is {asked!r}, which is no folder: {error}; compiled code is not cached")
        return None


def _limit(asked: str) -> int:
    if not asked.strip():
        return DEFAULT_BYTES
    # Python does not convert thousands of digits.
    if not asked.strip().isdecimal() or len(asked.strip()) > _MOST_DIGITS:
        _warn_once(f"GIRIH_CACHE_SIZE is a number of bytes, not {asked!r}; {DEFAULT_BYTES} is used")
        return DEFAULT_BYTES
    return int(asked)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """The descriptor of the verified folder, through which nothing can land in another folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _refuse_foreign(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_foreign(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise _EntryRefused(f"it belongs to user {status.st_uid}, not to us")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _EntryRefused(
            f"others may write to it (mode {stat.S_IMODE(status.st_mode):o}); `chmod go-w` would mend that"
        )


def _verified(folder: int, name: str, key: str, limit: int) -> bytes | None:
    """The code of an entry, whose time of use becomes now; None for an entry that exceeds the limit."""
    # Nothing but a plain file may be opened: a pipe would block.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(name, flags, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _EntryRefused("it is no plain file")
        _refuse_foreign(status)
        if status.st_size > limit:
            return None
        data = file.read(status.st_size)
        # An entry whose time of use cannot be noted is as good.
        with suppress(OSError):
            if os.utime in os.supports_fd:
                os.utime(descriptor)
    if len(data) < _START or not data.startswith(_MAGIC):
        raise _EntryRefused("it is no entry of this version")
    code = data[_START:]
    if data[len(_MAGIC) : _START] != _checksum(key, code):
        raise _EntryRefused("its checksum does not agree")
    return code


def _checksum(key: str, code: bytes) -> bytes:
    return sha256(_MAGIC + key.encode() + b"\n" + code).digest()


def _write(folder: int, key: str, code: bytes) -> None:
    """Write an entry under another name, then give it its own: it is there as a whole or not at all."""
    temporary = f"{_TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + _checksum(key, code) + code)
        os.rename(temporary, key + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


_TURNS = 64
"""How often the folder is looked through, in the mean, while as many bytes are written as it may hold."""


def _is_turn(key: str, size: int, limit: int) -> bool:
    """Whether the writer of an entry looks through the folder, which takes longer than writing the more it holds.

    The digits of the key decide, as dice that fall alike in every process.
    """
    return int(key[:8], 16) * limit < (size * _TURNS) << 32


def _shrink(folder: int, limit: int) -> None:
    """Remove the least recently used entries until nine tenths of the limit are left, and the remains of writers.

    Entries that exceed the limit by themselves are neither counted nor removed.
    """
    entries: list[tuple[float, int, str]] = []
    with os.scandir(folder) as found:
        for entry in found:
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(_SUFFIX) and status.st_size <= limit:
                    entries.append((status.st_mtime, status.st_size, entry.name))
                elif entry.name.startswith(_TEMPORARY) and status.st_mtime < time() - _ABANDONED_SECONDS:
                    os.unlink(entry.name, dir_fd=folder)
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, name in sorted(entries):
        if total <= limit - limit // 10:
            return
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        total -= size


def _remove(folder: int, name: str) -> None:
    """Remove a file, or an empty folder in its place."""
    try:
        os.unlink(name, dir_fd=folder)
    except (IsADirectoryError, PermissionError):
        os.rmdir(name, dir_fd=folder)


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@lru_cache(maxsize=64)
def _warn_once(message: str) -> None:
    _warn(message)


def _warn(message: str) -> None:
    warn_user(message, CacheWarning)
