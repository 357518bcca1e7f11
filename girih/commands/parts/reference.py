"""The reference of a language: every code with its meaning and source, every instruction with its operands.

`girih explain` and the generated documentation both show it, so that no fact is written twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files

from girih.front.python.codes import PYTHON_CODES
from girih.front.text.codes import FRONT_CODES, FRONT_WARNINGS
from girih.ir.check import CHECK_CODES
from girih.ir.define import (
    Annotation,
    Attributes,
    Binding,
    Body,
    Integer,
    Literal,
    Modifier,
    Operand,
    Result,
    Role,
    Slices,
    Spec,
    Text,
)
from girih.ir.language import Language
from girih.ir.syntax import syntax
from girih.lazy_dataclass import dataclass
from girih.rules.codes import Code, codes_of

PSEUDO = {
    "func": "Functions: what their attributes ask of a device.",
    "parameter": "Parameters of functions, and what their attributes promise.",
    "type": "Types, wherever they stand.",
}
"""What has rules without being an instruction."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an instruction: its kind, its meaning, and what happens to the memory behind it."""

    name: str
    kind: str
    doc: str
    access: str


def codes_of_rules(language: Language, mnemonic: str) -> list[Code]:
    """The codes of an instruction's rules, or of those of func, parameter or type."""
    return codes_of(mnemonic, language.rules[mnemonic])


def other_codes() -> dict[str, list[Code]]:
    """The codes that belong to no instruction, by the stage that reports them."""
    from girih.arguments.report import BIND_CODES
    from girih.facts.findings import RUN_CODES
    from girih.facts.remarks import CPU_REMARKS, CUDA_REMARKS, OPENCL_REMARKS, RUN_REMARKS, VULKAN_REMARKS
    from girih.runtime.cuda.report import CUDA_CODES
    from girih.runtime.opencl.report import OPENCL_CODES
    from girih.runtime.spirv.report import SHADER_BIND_CODES
    from girih.runtime.vulkan.report import VULKAN_CODES

    stages: dict[str, tuple[Mapping[str, str], str]] = {
        "Reading a text": (FRONT_CODES, "error"),
        "Reading a kernel in Python": (PYTHON_CODES, "error"),
        "Checking a program that was built": (CHECK_CODES, "error"),
        "Binding the arguments of a launch": (BIND_CODES, "error"),
        "Binding what a shader takes": (SHADER_BIND_CODES, "error"),
        "Launching on a GPU by NVIDIA's driver": (CUDA_CODES, "error"),
        "Launching on a Vulkan driver": (VULKAN_CODES, "error"),
        "Launching on an OpenCL driver": (OPENCL_CODES, "error"),
        "Running a kernel": (RUN_CODES, "finding"),
        "After a launch in the interpreter": (RUN_REMARKS, "remark"),
        "Compiling for the CPU": (CPU_REMARKS, "remark"),
        "Compiling for CUDA": (CUDA_REMARKS, "remark"),
        "Compiling for Vulkan": (VULKAN_REMARKS, "remark"),
        "Compiling for OpenCL": (OPENCL_REMARKS, "remark"),
    }
    return {
        stage: [Code(c, "warning" if c in FRONT_WARNINGS else severity, says) for c, says in table.items()]
        for stage, (table, severity) in stages.items()
    }


def all_codes(language: Language) -> dict[str, Code]:
    """All codes that girih can report for programs of a language, by code."""
    listed = [code for mnemonic in language.rules for code in codes_of_rules(language, mnemonic)]
    listed += [code for codes in other_codes().values() for code in codes]
    return {code.code: code for code in listed}


def group_of(language: Language, mnemonic: str) -> str:
    """The name of the file that declares an instruction, with others of its family."""
    return language.ops[mnemonic].__module__.rsplit(".", 1)[1]


def written_as(language: Language, mnemonic: str) -> tuple[str, ...]:
    """The ways in which a program writes an instruction; with its first modifier if others share the word."""
    spec = language.ops[mnemonic].spec
    if spec.word == mnemonic:
        return (mnemonic,)
    return tuple(f"{spec.word}.{choice}" for choice in spec.modifiers[0].choices)


def spelling_of(language: Language, mnemonic: str) -> str:
    """The regular expression for an instruction in a program, or for a name that is not an instruction."""
    spellings = written_as(language, mnemonic) if mnemonic in language.ops else (mnemonic,)
    return f"(?:{'|'.join(map(re.escape, spellings))})"


def fields_of(spec: Spec) -> list[Field]:
    """The fields of an instruction in the order of its declaration."""
    return [Field(_shown_name(role), _kind(role), role.doc, _access(role)) for role in spec.roles.values()]


def _shown_name(role: Role) -> str:
    if isinstance(role, Modifier):
        return " ".join("." + spelling for spelling in role.choices)
    return role.name


def _kind(role: Role) -> str:
    match role:
        case Operand(kind=kind, many=many, literal=literal, optional=optional):
            words = (kind.words if kind else "a value") + (", or an integer" if literal else "")
            return words + (" (a list)" if many else "") + (" (may be left out)" if optional else "")
        case Result(kind=kind, many=many):
            return "result: " + (kind.words if kind else "a value") + (" (a list)" if many else "")
        case Modifier(required=True):
            return "modifier, one of these"
        case Modifier():
            return "modifier" + _default(role)
        case Body(kind=kind, optional=optional):
            words = "region of the kind around it" if kind is None else f"{kind.value} region"
            return words + (" (may be left out)" if optional else "")
        case Binding(many=many, optional=optional):
            return "defined for the region" + (" (a list)" if many else "") + (" (may be left out)" if optional else "")
        case Integer(many=many):
            return "integer constants" if many else "an integer constant"
        case Attributes(known=known):
            return "attributes: " + ", ".join(f"{key} ({expect.words})" for key, expect in known.items())
        case _:
            return _WRITTEN.get(type(role), "")


_WRITTEN: dict[type[Role], str] = {
    Annotation: "a type (may be left out)", Slices: "offset : size (a list)", Literal: "a constant", Text: "a string",
}  # fmt: skip
"""What stands for a field whose role says all about it."""


def _default(role: Modifier) -> str:
    spelling = next((s for s, meaning in role.choices.items() if meaning == role.default), None)
    return f", .{spelling} if left out" if spelling else ""


def _access(role: Role) -> str:
    if not isinstance(role, Operand):
        return ""
    return "reads, writes" if role.reads and role.writes else "reads" * role.reads + "writes" * role.writes


# --- examples ------------------------------------------------------------------------------


def examples() -> Mapping[str, Mapping[str, str]]:
    """The example programs: `accepted` by mnemonic, `rejected`, `remarked` and `shader` by code.

    Those that are remarked on have two functions, of which one gets the remark; a shader is GLSL in which a run finds
    the code. tools/generate_examples.py writes them.
    """
    text = files("girih").joinpath("data", "examples.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


def describe_code(language: Language, code: Code) -> dict[str, object]:
    """The reference of a code, as plain values."""
    known = examples()
    return asdict(code) | {
        "accepted": known["accepted"].get(code.owner) if code.owner in language.rules else None,
        "rejected": known["rejected"].get(code.code),
        "remarked": known["remarked"].get(code.code),
        "shader": known["shader"].get(code.code),
    }


def describe_rules(language: Language, mnemonic: str) -> dict[str, object]:
    """The reference of an instruction, or of func, parameter or type, as plain values."""
    known = examples()
    rules = codes_of_rules(language, mnemonic)
    telling = (known["rejected"].get(rule.code) for rule in _telling(language, mnemonic, rules))
    rejected = next(filter(None, telling), None)
    common: dict[str, object] = {"accepted": known["accepted"].get(mnemonic), "rejected": rejected,
                                 "rules": [asdict(rule) for rule in rules]}  # fmt: skip
    if mnemonic in PSEUDO:
        return {"mnemonic": mnemonic, "doc": PSEUDO[mnemonic]} | common
    spec = language.ops[mnemonic].spec
    return {
        "mnemonic": mnemonic,
        "doc": spec.doc,
        "region": spec.where.value,
        "source": spec.section,
        "syntax": syntax(spec),
        "operands": [asdict(field) for field in fields_of(spec)],
    } | common


def _telling(language: Language, mnemonic: str, rules: Sequence[Code]) -> list[Code]:
    """The rules in the order of how much their examples tell: first those written for the instruction."""
    structural = {
        "region",
        "divergent",
        "not_uniform",
        *(language.ops[mnemonic].spec.roles if mnemonic in language.ops else ()),
    }
    return sorted(rules, key=lambda rule: rule.id in structural)
