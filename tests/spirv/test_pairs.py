"""Modules that break one rule, each beside a twin that differs where it is right: pairs/*.spvasm.

They were written from the specifications, not from the rows: the same rule by a specialisation constant, by a value
that is given, by folding, through chains of layouts, through calls. The texts are short ones (`girih.spirv.frame`);
lines with `-` are the wrong module's alone, with `+` its twin's; `@name` stands for the lines of `;; common name`.
A head `;; name: code` may have further lines: `;; definitions: 3=6` (given for the wrong module alone), `;; warning`,
`;; says: words of the message`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from girih.spirv import Module, validate
from girih.spirv.frame import completed
from tests.cases import every_case
from tests.spirv import peer

TEXTS = sorted((Path(__file__).parent / "pairs").glob("*.spvasm"))
ENVIRONMENT = "vulkan1.3"
NEWER = ("DecodeVectorFunc", "SPV_EXT_cooperative_matrix_maintenance1")
"""What the wheel's spirv-val does not know yet."""


@dataclass(frozen=True)
class Pair:
    """A wrong module and its twin, as short texts."""

    name: str
    told: dict[str, str]
    lines: tuple[str, ...]

    def text(self, sign: str) -> str:
        """The lines of one of the two: `-` for the wrong one, `+` for its twin."""
        return "\n".join(line.removeprefix(sign) for line in self.lines if line[0] not in "-+" or line[0] == sign)

    @property
    def definitions(self) -> dict[int | str, object]:
        """The values that the wrong module is given, by SpecId."""
        pairs = (part.split("=") for part in self.told.get("definitions", "").split())
        return {int(id): int(value) for id, value in pairs}


def pairs_in(text: str) -> Iterator[Pair]:
    common: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=;; (?:common \w+$|\w+: Op))", text, flags=re.MULTILINE)[1:]:
        head, *rest = block.strip().splitlines()
        lines = list(inserted(rest, common))
        if head.startswith(";; common "):
            common[head.removeprefix(";; common ")] = lines
        else:
            name, code = head.removeprefix(";; ").split(": ")
            told = dict(re.findall(r"^;; (\w+):? ?(.*)$", "\n".join(rest), re.MULTILINE))
            yield Pair(name, {"code": code, **told}, tuple(lines))


def inserted(lines: Iterable[str], common: dict[str, list[str]]) -> Iterator[str]:
    for line in lines:
        if line.startswith("@"):
            yield from common[line[1:]]
        elif line and not line.startswith(";;"):
            yield line


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_the_wrong_one_breaks_its_rule_and_its_twin_none(path: Path) -> None:
    with every_case() as case:
        for pair in pairs_in(path.read_text(encoding="utf-8")):
            with case(pair.name):
                wrong = Module.from_text(completed(pair.text("-")), pair.name)
                twin = Module.from_text(completed(pair.text("+")), pair.name)
                assert validate(twin, ENVIRONMENT) == []
                found = validate(wrong, ENVIRONMENT, pair.definitions or None)
                assert [one.code for one in found] == [f"spirv.{pair.told['code']}"]
                assert found[0].severity == ("warning" if "warning" in pair.told else "error")
                assert pair.told.get("says", "") in found[0].message
                if not any(word in pair.text("+") for word in NEWER):
                    accepted, message = peer.validate(twin.to_bytes(), ENVIRONMENT, ["scalar-block-layout"])
                    assert accepted, message


def test_there_are_as_many_as_were_chosen() -> None:
    assert sum(len(list(pairs_in(path.read_text(encoding="utf-8")))) for path in TEXTS) == 66
