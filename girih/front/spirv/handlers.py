"""The table of translations: which function translates an opcode, or a function of an extended set.

    @translates("OpUDiv", "OpUMod")
    def unsigned_division(t: Translation, one: Instruction) -> None: ...

    @translates_function("GLSL.std.450", "UMin", "UMax")
    def extremes(t: Translation, one: Instruction) -> None: ...

What has no row is refused with its name before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from girih.spirv.instruction import Instruction

if TYPE_CHECKING:
    from girih.front.spirv.translation import Translation

Handler = Callable[["Translation", Instruction], None]
H = TypeVar("H", bound=Handler)

HANDLERS: dict[str, Handler] = {}
"""The translation of each opcode, by its first name in the grammar."""

FUNCTIONS: dict[tuple[str, str], Handler] = {}
"""The translation of each extended instruction, by the names of its set and of itself."""


def translates(*opcodes: str) -> Callable[[H], H]:
    """The decorator that enters the translation of some opcodes."""

    def enter(handler: H) -> H:
        for name in opcodes:
            if name in HANDLERS:
                raise ValueError(f"{name} has two translations")
            HANDLERS[name] = handler
        return handler

    return enter


def translates_function(set_name: str, *names: str) -> Callable[[H], H]:
    """The decorator that enters the translation of some functions of an extended set."""

    def enter(handler: H) -> H:
        for name in names:
            if (set_name, name) in FUNCTIONS:
                raise ValueError(f"{set_name} {name} has two translations")
            FUNCTIONS[set_name, name] = handler
        return handler

    return enter
