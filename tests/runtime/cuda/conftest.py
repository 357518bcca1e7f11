"""Launches on a driver made of Python."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from girih.runtime.cuda import device, driver, quick, streams
from girih.runtime.cuda.code import kept
from girih.runtime.cuda.code.assembler import Assembled
from girih.runtime.cuda.copies import lines
from tests.runtime.cuda.fake import FakeDriver, FakeGpu


class PtxAsItIs:
    """An assembler whose machine code is the text of PTX, which the fake driver executes."""

    identity = "PTX as it is"

    def assemble(self, ptx: str, architecture: str) -> Assembled:
        entry = ptx.partition(".entry ")[2].partition("(")[0]
        log = f"ptxas info    : Compiling entry function '{entry}' for '{architecture}'\n"
        log += "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
        return Assembled(ptx.encode(), f"{log}ptxas info    : Used 40 registers")


def install(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """Let girih find a driver in place of NVIDIA's, with nothing opened yet."""
    for name in ("cuda", "cuda.bindings"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, driver.PACKAGE, fake)
    monkeypatch.setattr(driver, "_OPENED", {})
    monkeypatch.setattr(device, "_OPENED", {})
    monkeypatch.setattr(streams, "_STREAMS", {})
    monkeypatch.setattr(lines, "_POOLS", {})
    monkeypatch.setattr(lines, "_COPIERS", {})
    quick._address.cache_clear()
    monkeypatch.setattr(kept, "assemblers", lambda **_: iter([PtxAsItIs()]))
    return fake


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A driver with one GPU."""
    return install(FakeDriver(), monkeypatch)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A driver with two GPUs."""
    return install(FakeDriver(FakeGpu(), FakeGpu("another")), monkeypatch)
