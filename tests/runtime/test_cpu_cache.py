"""The cache on disk: what is believed, what is dropped, and that nothing about it stops a program."""

from __future__ import annotations

import errno
import os
import stat
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih.back.llvm.assemble.assembler import Cpu, llvm_version
from girih.back.llvm.cpu.machine.abi import CompiledKernel
from girih.front.text.parser import parse_text
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.ops.tile import TILE_LANGUAGE
from girih.runtime import cache
from girih.runtime.cache import Cache, CacheWarning, digest, kernel_key
from girih.runtime.cpu.executor import compiled, linked, lowered
from girih.runtime.cpu.launcher import launcher, launcher_text
from girih.source import Source
from tests.ir.tiny import TINY

KEY = digest("a key")
CODE = bytes(range(256)) * 10


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the process's cache; the launcher of kernels is not compiled into it."""
    launcher()
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    cache._warn_once.cache_clear()
    return Cache(tmp_path / "deep" / "girih")


def entry(store: Cache, key: str = KEY) -> Path:
    assert store.folder is not None
    return store.folder / f"{key}.code"


def test_what_was_kept_is_found(store: Cache) -> None:
    assert store.get(KEY) is None
    store.put(KEY, CODE)
    assert store.get(KEY) == CODE
    assert store.get(digest("another")) is None
    store.put(KEY, b"new")
    assert store.get(KEY) == b"new"


def test_only_we_may_read_and_write(store: Cache) -> None:
    store.put(KEY, CODE)
    assert store.folder is not None
    assert entry(store).stat().st_mode & 0o777 == 0o600
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in store.folder.iterdir()] == [entry(store).name]


def refused(store: Cache, says: str) -> None:
    """The entry is dropped with one warning and gone afterwards."""
    with pytest.warns(CacheWarning, match=says) as caught:
        assert store.get(KEY) is None
    (told,) = caught
    assert told.filename == __file__
    assert str(told.message).count(str(entry(store))) == 1
    assert not os.path.lexists(entry(store))
    assert store.get(KEY) is None


@pytest.mark.parametrize("place", [0, 5, 13, 20, 45, 500, -1])
def test_a_flipped_bit(store: Cache, place: int) -> None:
    store.put(KEY, CODE)
    data = bytearray(entry(store).read_bytes())
    data[place] ^= 4
    entry(store).write_bytes(data)
    refused(store, "was dropped: it is no entry|checksum does not agree")


@pytest.mark.parametrize("size", [0, 1, 13, 44, 45, 100, -1])
def test_a_truncated_entry(store: Cache, size: int) -> None:
    store.put(KEY, CODE)
    entry(store).write_bytes(entry(store).read_bytes()[:size])
    refused(store, "was dropped")


def test_the_entry_of_another_key(store: Cache) -> None:
    other = digest("another")
    store.put(other, CODE)
    entry(store, other).rename(entry(store))
    refused(store, "checksum does not agree")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_may_write(store: Cache, mode: int) -> None:
    store.put(KEY, CODE)
    entry(store).chmod(mode)
    refused(store, rf"others may write to it \(mode {mode:o}\)")


def test_a_link_is_not_followed(store: Cache, tmp_path: Path) -> None:
    store.put(KEY, CODE)
    target = tmp_path / "elsewhere"
    entry(store).rename(target)
    entry(store).symlink_to(target)
    refused(store, "was dropped")
    assert target.exists()


def test_no_plain_file(store: Cache) -> None:
    store.put(digest("another"), CODE)
    os.mkfifo(entry(store), 0o600)
    refused(store, "no plain file")


def test_a_folder_in_the_place_of_an_entry(store: Cache) -> None:
    store.put(digest("another"), CODE)
    entry(store).mkdir()
    refused(store, "was dropped: it is no plain file|was dropped: Is a directory")


def test_what_cannot_be_removed_is_said_once(store: Cache) -> None:
    store.put(digest("another"), CODE)
    entry(store).mkdir()
    (entry(store) / "full").write_text("")
    with pytest.warns(CacheWarning, match=r"is of no use: .*; it cannot be removed: Directory not empty") as caught:
        assert store.get(KEY) is None
        assert store.get(KEY) is None
    assert len(caught) == 1


def test_a_filled_cache_on_a_read_only_disk(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEY, CODE)

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("utime", "unlink", "rename"):
        monkeypatch.setattr(os, name, fail)
    monkeypatch.setattr(os, "supports_fd", {fail})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get(KEY) == CODE
    assert entry(store).exists()


def test_an_entry_of_someone_else(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEY, CODE)
    real = os.fstat

    def foreign(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        fields = list(status)
        if stat.S_ISREG(status.st_mode):
            fields[4] += 1
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", foreign)
    refused(store, "belongs to user")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_may_write(store: Cache, mode: int) -> None:
    store.put(KEY, CODE)
    assert store.folder is not None
    store.folder.chmod(mode)
    with pytest.warns(CacheWarning, match="code is not cached in .*: others may write"):
        assert store.get(KEY) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.put(KEY, b"other")
        assert store.get(KEY) is None
    store.folder.chmod(0o700)
    assert store.get(KEY) == CODE


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    cache._warn_once.cache_clear()
    (tmp_path / "file").write_text("")
    blocked = Cache(tmp_path / "file" / "girih")
    with pytest.warns(CacheWarning, match="code is not cached") as caught:
        blocked.put(KEY, CODE)
        blocked.put(KEY, CODE)
        assert blocked.get(KEY) is None
    assert len(caught) == 1


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EDQUOT])
def test_a_read_only_or_full_disk(store: Cache, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    store.put(KEY, CODE)

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "rename", fail)
    other = digest("another")
    with pytest.warns(CacheWarning, match=os.strerror(number)) as caught:
        store.put(other, CODE)
        store.put(other, CODE)
    assert len(caught) == 1
    assert store.folder is not None
    assert [path.name for path in store.folder.iterdir()] == [entry(store).name]
    assert store.get(KEY) == CODE


def test_what_was_used_least_recently_goes_first(tmp_path: Path) -> None:
    store = Cache(tmp_path / "girih", limit=20 * 3000)
    keys = [digest(str(k)) for k in range(30)]
    for age, key in enumerate(keys[:18]):
        store.put(key, CODE)
        os.utime(entry(store, key), (1000 + age, 1000 + age))
    assert store.get(keys[0]) == CODE
    for key in keys[18:]:
        store.put(key, CODE)
    assert store.folder is not None
    assert sum(path.stat().st_size for path in store.folder.iterdir()) <= store.limit
    assert store.get(keys[0]) == CODE
    assert store.get(keys[1]) is None
    assert store.get(keys[-1]) == CODE


def test_what_is_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    store = Cache(tmp_path / "girih", limit=1000)
    store.put(KEY, CODE)
    assert store.get(KEY) is None


def test_a_smaller_limit_passes_over_what_is_larger(tmp_path: Path) -> None:
    """Another process, with a larger limit, still finds it."""
    large = Cache(tmp_path / "girih")
    large.put(KEY, CODE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        size = entry(large).stat().st_size
        assert Cache(tmp_path / "girih", limit=size - 1).get(KEY) is None
        assert Cache(tmp_path / "girih", limit=size).get(KEY) == CODE
    assert large.get(KEY) == CODE


def test_a_smaller_limit_neither_counts_nor_removes_what_is_larger(tmp_path: Path) -> None:
    large, small = Cache(tmp_path / "girih"), Cache(tmp_path / "girih", limit=1000)
    others = [digest(str(k)) for k in range(9)]
    large.put(KEY, CODE)
    os.utime(entry(large), (1000, 1000))
    for key in others[:3]:
        small.put(key, b"little" * 40)
    assert all(small.get(key) for key in others[:3])
    for key in others[3:]:
        small.put(key, b"little" * 40)
    assert not all(small.get(key) for key in others)
    assert large.get(KEY) == CODE


@pytest.mark.parametrize("spare", [0, 44, 45, 46])
def test_what_is_written_is_there(tmp_path: Path, spare: int) -> None:
    """Whether an entry suits the limit is decided in one way, by its size with all that is in front of the code."""
    store = Cache(tmp_path / "girih", limit=len(CODE) + spare)
    store.put(KEY, CODE)
    assert entry(store).exists() == (spare >= 45)
    assert store.get(KEY) == (CODE if spare >= 45 else None)


def test_an_entry_that_no_memory_is_left_for(store: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEY, CODE)
    real = os.fstat

    def stretched(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        size = 2**62 if stat.S_ISREG(status.st_mode) else status.st_size
        return os.stat_result([*status[: stat.ST_SIZE], size, *status[stat.ST_SIZE + 1 :]])

    with monkeypatch.context() as patch, pytest.warns(CacheWarning, match="there is not enough memory to read it"):
        patch.setattr(os, "fstat", stretched)
        assert Cache(store.folder, limit=2**63).get(KEY) is None
    assert store.get(KEY) == CODE


def test_what_is_larger_than_the_limit_is_left_as_it_is(store: Cache) -> None:
    store.put(KEY, CODE)
    os.truncate(entry(store), 2**40)
    os.utime(entry(store), (1000, 1000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get(KEY) is None
    status = entry(store).stat()
    assert (status.st_size, status.st_mtime) == (2**40, 1000)
    store.put(KEY, CODE)
    assert store.get(KEY) == CODE


def test_what_writers_left_behind_goes(store: Cache) -> None:
    store.put(KEY, CODE)
    assert store.folder is not None
    old, new = store.folder / ".new-1-a", store.folder / ".new-2-b"
    old.write_text("")
    new.write_text("")
    os.utime(old, (1000, 1000))
    store.put("00000000" + KEY[8:], CODE)
    assert (old.exists(), new.exists()) == (False, True)


def test_the_folder_is_looked_through_by_bytes_written_not_by_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[int] = []
    monkeypatch.setattr(cache, "_shrink", lambda folder, limit: scans.append(limit))
    small, large = (Cache(tmp_path / "girih", limit=times * len(CODE)) for times in (10, 1000))
    for key in map(digest, map(str, range(200))):
        small.put(key, CODE)
        large.put(key, CODE)
    assert scans.count(small.limit) == 200
    assert 4 <= scans.count(large.limit) <= 30


def test_many_write_and_read_at_once(store: Cache) -> None:
    found: list[bytes | None] = []

    def work(number: int) -> None:
        for _ in range(50):
            store.put(KEY, bytes([number]) * 5000)
            found.append(store.get(KEY))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {len(data or b"") for data in found} == {5000}
    assert all(len(set(data or b"")) == 1 for data in found)


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"GIRIH_CACHE_DIR": "/somewhere", "XDG_CACHE_HOME": "/other"}, "/somewhere"),
        ({"XDG_CACHE_HOME": "/other"}, "/other/girih"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.cache/girih"),
        ({"HOME": "/home/me"}, "/home/me/.cache/girih"),
        ({"GIRIH_CACHE_DIR": "~/mine", "HOME": "/home/me"}, "/home/me/mine"),
        ({"GIRIH_CACHE_DIR": "/somewhere", "GIRIH_CACHE_SIZE": "0"}, None),
    ],
)
def test_where_it_is(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str | None) -> None:
    for name in ("GIRIH_CACHE_DIR", "GIRIH_CACHE_SIZE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Cache.standard().folder == (None if folder is None else Path(folder))


def test_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    cache._warn_once.cache_clear()
    monkeypatch.setenv("GIRIH_CACHE_SIZE", "12345")
    assert Cache.standard().limit == 12345
    for wrong in ("much", "9" * 5000):
        monkeypatch.setenv("GIRIH_CACHE_SIZE", wrong)
        with pytest.warns(CacheWarning, match=f"GIRIH_CACHE_SIZE is a number of bytes, not '{wrong}'"):
            assert Cache.standard().limit == cache.DEFAULT_BYTES
    monkeypatch.setenv("GIRIH_CACHE_SIZE", "0")
    off = Cache.standard()
    off.put(KEY, CODE)
    assert off.get(KEY) is None


def test_a_home_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    cache._warn_once.cache_clear()
    monkeypatch.setenv("GIRIH_CACHE_DIR", "~nobody-of-this-name/cache")
    with pytest.warns(CacheWarning, match="GIRIH_CACHE_DIR is '~nobody-of-this-name/cache', which is no folder"):
        assert Cache.standard().folder is None


@pytest.mark.parametrize("part", ["back/llvm/emit/text.py", "ir/limits.py", "analysis/sizes.py"])
def test_a_change_of_the_compiler_makes_code_stale(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = girih.parse("func @f() {}").functions[0]
    real = cache._files
    before = kernel_key(function, "bounds", "x:y")

    def changed(folder: str) -> Iterator[str]:
        for line in real(folder):
            path, size, time = line.rsplit(":", 2)
            yield f"{path}:{size}:{int(time) + path.endswith(part)}"

    monkeypatch.setattr(cache, "_files", changed)
    cache._compiler.cache_clear()
    after = kernel_key(function, "bounds", "x:y")
    cache._compiler.cache_clear()
    monkeypatch.undo()
    assert after != before == kernel_key(function, "bounds", "x:y")


def test_the_files_of_the_compiler_are_told_by_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for place in (tmp_path / "b.py", tmp_path / "inner" / "a.py", tmp_path / "notes.txt"):
        place.write_text("1")
    os.utime(tmp_path / "b.py", ns=(5, 7))
    first, second = cache._files(str(tmp_path))
    assert first == f"{tmp_path}/b.py:1:7"
    assert second.startswith(f"{tmp_path}/inner/a.py:1:")


def test_keys_differ_in_everything_that_matters() -> None:
    a = girih.parse("func @f(%n: i32) {}").functions[0]
    b = girih.parse("func @f(%n: i64) {}").functions[0]
    moved = girih.parse("\nfunc @f(%n: i32) {}").functions[0]
    keys = [
        kernel_key(a, "bounds", "x:y"),
        kernel_key(b, "bounds", "x:y"),
        kernel_key(moved, "bounds", "x:y"),
        kernel_key(a, "off", "x:y"),
        kernel_key(a, "bounds", "x:z"),
        digest("a", "bc"),
        digest("ab", "c"),
    ]
    assert len(set(keys)) == len(keys)
    assert kernel_key(a, "bounds", "x:y") == keys[0]


def test_code_has_lines_for_debuggers_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function = girih.parse("func @f(%A: memref<f32x2>, %a: f32) {\n  store %a, %A[0]\n}\n").functions[0]
    for wanted in ("", "1"):
        before = set(folder.glob("*.code"))
        monkeypatch.setenv("GIRIH_DEBUGGER", wanted)
        assert (b".debug_line" in compiled(function, Cpu.host(), "off", DEFAULT_LIMITS).object) == bool(wanted)
        linked(function, Cpu.host(), "off")
        assert len(set(folder.glob("*.code")) - before) == 1


def test_one_text_in_two_languages_is_two_kernels(folder: Path) -> None:
    source = Source("func @f(%A: memref<f32x2>, %a: f32) {\n  store %a, %A[0]\n}\n")
    functions = [parse_text(source, language)[0].functions[0] for language in (TILE_LANGUAGE, TINY)]
    own = [lowered(function, Cpu.host(), "bounds").text for function in functions]
    assert str(functions[0]) == str(functions[1]) and own[0] != own[1]
    for function in functions:
        linked(function, Cpu.host(), "bounds")
    assert len(list(folder.glob("*.code"))) == 2
    collective, by_each = functions
    bodies = replace(by_each, language=TILE_LANGUAGE)
    assert kernel_key(bodies, "bounds", "x:y") != kernel_key(collective, "bounds", "x:y")


def test_kernels_for_other_limits_have_other_keys() -> None:
    function = girih.parse("func @f() {}").functions[0]
    small = DeviceLimits(subgroup_sizes=(16,))
    assert kernel_key(function, "bounds", "x:y", small) != kernel_key(function, "bounds", "x:y")


# --- entries that are believed and of no use -------------------------------------------------


def other_symbol(kept: bytes) -> bytes:
    """A compiled kernel as bytes whose object defines another function."""
    compiled = CompiledKernel.from_bytes(kept)
    renamed = compiled.object.replace(compiled.symbol.encode(), b"x" * len(compiled.symbol))
    return replace(compiled, object=renamed).to_bytes()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (other_symbol, r"machine code cannot be linked: Symbols not found: \[ girih\.f \]$"),
        (lambda kept: kept[:-100], "machine code cannot be linked: "),
        (lambda kept: b"no kernel", "these bytes hold no compiled kernel: "),
    ],
)
def test_an_entry_that_cannot_be_loaded(changed: Callable[[bytes], bytes], says: str, folder: Path) -> None:
    function = girih.parse("func @f(%A: memref<f32x2>) {}").functions[0]
    linked(function, Cpu.host(), "bounds")
    store, (kept,) = Cache.standard(), folder.glob("*.code")
    whole = store.get(kept.stem)
    assert whole is not None
    store.put(kept.stem, changed(whole))
    with pytest.warns(CacheWarning, match=f"{kept.name} was dropped: {says}"):
        linked(function, Cpu.host(), "bounds").launch((1, 1, 1), [np.zeros(2, np.float32)])
    assert store.get(kept.stem) == whole


def test_a_launcher_that_cannot_be_loaded(folder: Path) -> None:
    text = launcher_text(Cpu.host())
    key = digest("launcher", text, Cpu.host().identity, llvm_version())
    Cache.standard().put(key, b"no object")
    with pytest.warns(CacheWarning, match=f"{key}.code was dropped: machine code cannot be linked: "):
        found = launcher.__wrapped__()
    assert found is not None and Cache.standard().get(key) != b"no object"


def test_dropping_where_there_is_no_cache(tmp_path: Path) -> None:
    cache._warn_once.cache_clear()
    Cache(None).drop(KEY, "of no use")
    with pytest.warns(CacheWarning, match="compiled code is not cached in .*: No such file or directory"):
        Cache(tmp_path / "nowhere").drop(KEY, "of no use")
