"""A language for tests of control flow and private arrays: the device language, and what looks into it.

Loads and stores of the tensor language stand for accesses to buffers, so that these tests need no bytes.
"""

from __future__ import annotations

from girih.front.text.parser import parse_text
from girih.ir.check import check_module
from girih.ir.core import Module
from girih.ir.language import LanguageBuilder
from girih.ops.device import DEVICE_LANGUAGE
from girih.ops.tile import TILE_LANGUAGE
from girih.source import Source

_BUILDER = LanguageBuilder("device", DEVICE_LANGUAGE.types)
_BUILDER.share(DEVICE_LANGUAGE, *DEVICE_LANGUAGE.ops.values(), "func", "parameter", "type")
_MORE = ["store", "barrier", "subgroup_id"]
_BUILDER.share(TILE_LANGUAGE, *(TILE_LANGUAGE.ops[name] for name in _MORE if name not in DEVICE_LANGUAGE.ops))
PROBE = _BUILDER.finish("tests.device.probe.PROBE")


def module(text: str) -> Module:
    """The module of a text, which must be right."""
    read, problems = parse_text(Source(text, "probe.tl"), PROBE)
    assert problems == []
    assert check_module(read) == []
    return read


def kernel(body: str, parameters: str = "%A: memref<i32x?>", attributes: str = "work_group_size=[8,1]") -> Module:
    """A module of one function @f, whose work-items execute a body."""
    head = f"func @f({parameters}) attributes{{{attributes},subgroup_size=8}} {{\nparallel {{\n"
    return module(f"{head}{body}\n}}\n}}\n")
