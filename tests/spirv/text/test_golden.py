"""Texts of modules that compilers wrote: equal to spirv-dis', and read back as the same modules."""

from __future__ import annotations

import pytest

from girih.spirv import Module
from tests.cases import every_case, long
from tests.spirv import peer
from tests.spirv.text.archives import files

FORMS: tuple[tuple[dict[str, bool], tuple[str, ...]], ...] = (
    ({}, ("indent", "friendly-names")),
    ({"friendly_names": False}, ("indent",)),
    ({"indent": False, "header": False}, ("friendly-names", "no-header")),
    ({"friendly_names": False, "indent": False, "header": False}, ("no-header",)),
)
"""Options of `to_text`, and those of spirv-dis that say the same."""


SAMPLES = [("spirv_h200", 16), ("spirv_plain", 16), *long([("spirv_h200", 1), ("spirv_plain", 1)])]
"""Sets of modules, and one in how many of each is tried."""


@pytest.mark.parametrize(("folder", "every"), SAMPLES)
def test_the_text_is_that_of_spirv_dis_and_assembles_back(folder: str, every: int) -> None:
    with every_case() as case:
        for name, data in list(files(folder).items())[::every]:
            with case(name):
                module = Module.from_bytes(data, name)
                for options, peers in FORMS if every == 1 else FORMS[:2]:
                    assert module.to_text(**options) == peer.disassemble(data, peers)
                again = Module.from_text(module.to_text(friendly_names=False))
                assert again == module
                assert again.to_bytes() == data
                assert renumbered(Module.from_text(module.to_text())) == renumbered(module)


def renumbered(module: Module) -> list[tuple[object, ...]]:
    """The instructions of a module with ids numbered as they appear."""
    numbers: dict[object, int] = {}
    return [
        (
            instruction.opcode,
            *(
                numbers.setdefault(operand.value, len(numbers))
                if operand.is_id or "Result" in operand.kind
                else operand.value
                for operand in instruction.operands
            ),
        )
        for instruction in module.instructions
    ]


def test_texts_that_people_wrote_are_the_modules_that_spirv_as_makes() -> None:
    texts = files("spirv_plain", ".spvasm")
    assert len(texts) > 40
    with every_case() as case:
        for name, text in texts.items():
            with case(name):
                module = Module.from_text(text.decode(), name)
                assert renumbered(module) == renumbered(Module.from_bytes(files("spirv_plain")[name]))
