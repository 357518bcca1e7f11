"""Write girih/data/spirv_examples.json: the accepted and rejected text of each rule of SPIR-V, for `girih explain`.

They are taken from tests/spirv/rules, where each chapter of rules has a file. `make generate` calls it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from girih.spirv.examples import Example, examples_in

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "tests" / "spirv" / "rules"
TARGET = ROOT / "girih" / "data" / "spirv_examples.json"


def generated() -> str:
    """The text of the file: an example a line."""
    found = [one for path in sorted(TEXTS.rglob("*.spvasm")) for one in examples_in(path.read_text(encoding="utf-8"))]
    return "[\n" + ",\n".join(json.dumps(row(one)) for one in sorted(found, key=lambda one: one.code)) + "\n]\n"


def row(one: Example) -> dict[str, object]:
    """An example without what is as usual."""
    usual = asdict(Example("", "", ""))
    return {name: value for name, value in asdict(one).items() if name != "line" and value != usual[name]}


if __name__ == "__main__":
    TARGET.write_text(generated(), encoding="utf-8")
