"""Modules about matrices and tensors that break a rule which spirv-val does not know: girih tells which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from girih.spirv import Module, validate
from girih.spirv.frame import completed
from tests.cases import every_case
from tests.spirv import peer

TEXTS = Path(__file__).parent / "rules" / "beyond_spirv_val.txt"
WARNINGS = {
    "OpTensorLayoutSetBlockSizeNV.late",
    "OpTensorLayoutSetDimensionNV.mirror",
    "OpCooperativeMatrixReduceNV.integers",
    "OpCooperativeMatrixTransposeNV.component",
}
"""What is legal and likely wrong."""


@dataclass(frozen=True)
class Case:
    """A module that breaks these rules."""

    name: str
    codes: tuple[str, ...]
    text: str
    version: str
    definitions: dict[int | str, object]
    crashes: bool


def cases() -> Iterator[Case]:
    for block in re.split(r"\n(?=;; \w+: Op)", TEXTS.read_text(encoding="utf-8"))[1:]:
        told = dict(re.findall(r"^;; (\w+): (.*)$", block, re.MULTILINE))
        name, code = next(iter(told.items()))
        lines = [line for line in block.splitlines() if not line.startswith(";;")]
        pairs = [part.split("=") for part in told.get("definitions", "").split()]
        version = told.get("version", "1.6")
        text = completed("\n".join(lines), version=version)
        yield Case(
            name, tuple(code.split()), text, version, {int(id): int(value) for id, value in pairs}, "crashes" in told
        )


def test_each_is_judged_by_the_rule_that_it_breaks() -> None:
    seen = 0
    with every_case() as case:
        for one in cases():
            with case(one.name):
                module = Module.from_text(one.text, one.name)
                found = validate(module, "vulkan1.3", one.definitions or None)
                assert [item.code for item in found] == [f"spirv.{code}" for code in one.codes]
                assert found[0].severity == ("warning" if WARNINGS.issuperset(one.codes) else "error")
                if not one.crashes:
                    accepted, message = peer.validate(module.to_bytes(), "vulkan1.3", ["scalar-block-layout"])
                    assert accepted, message
                if one.definitions:
                    assert validate(module, "vulkan1.3") == []
                seen += 1
    assert seen == 41
