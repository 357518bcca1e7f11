"""Debug information of a module: what its operands have to name, and the lines of the source texts that it holds.

NonSemantic.Shader.DebugInfo.100 and later, and OpenCL.DebugInfo.100, which has numbers where the former has constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, Operand
from girih.spirv.model.extended import is_extended, set_of
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList, words_of
from girih.spirv.types import Int, Void
from girih.spirv.values import ALL_CONSTANTS
from girih.spirv.vocabulary import VARIABLES

NON_SEMANTIC, OPEN_CL = "NonSemantic.Shader.DebugInfo.", "OpenCL.DebugInfo.100"

FIRST_OPERAND = 4
"""The word of the first operand of an extended instruction, after types, result, set and number."""

NONE = "DebugInfoNone"
UNTESTED = "DebugModuleINTEL"
"""An instruction of OpenCL.DebugInfo.100 whose operands go by other names."""

CLASS_TAGS = (0, 1)
"""Tags of a DebugTypeComposite: Class and Structure."""

SIGNED_OR_UNSIGNED, UNSIGNED = (4, 6), (6,)
"""Encodings of a DebugTypeBasic."""


class DebugInformation:
    """The debug instructions of a module: their names by result, and all in order.

    `newer` are those that the imported release of the set does not have.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.names: dict[int, str] = {}
        self.newer: list[tuple[str, Instruction]] = []
        self.instructions: list[tuple[str, Instruction]] = []
        for one in facts.instructions:
            if is_extended(one):
                self._take(one)

    def _take(self, one: Instruction) -> None:
        set_name = set_of(self.facts.module, one)
        if not set_name.startswith(NON_SEMANTIC) and set_name != OPEN_CL:
            return
        known = (grammar().extended(set_name) or {}).get(one.id("instruction"))
        newer = (grammar().extended(NON_SEMANTIC) or {}).get(one.id("instruction"))
        if known is not None:
            self.names[one.result] = known.name
            self.instructions.append((known.name, one))
        elif newer is not None and set_name.startswith(NON_SEMANTIC):
            self.newer.append((newer.name, one))

    def is_of_opencl(self, one: Instruction) -> bool:
        """Whether a debug instruction is one of OpenCL.DebugInfo.100."""
        return set_of(self.facts.module, one) == OPEN_CL

    def name(self, id: int) -> str:
        """The name of the debug instruction that makes an id; empty where it is none."""
        return self.names.get(id, "")

    def came(self, id: int) -> str:
        """What an id is, in words."""
        if id in self.names:
            tag = number_of(self.facts, self.facts.definition(id).operand("tag"))
            return f"a {self.names[id]}" + (f" with tag {tag}" if tag is not None else "")
        made = self.facts.definition(id).name
        if made in ALL_CONSTANTS:
            return f"an {made}, {self.facts.type_of(id).words}"
        return f"an {made}"


def debug_information(facts: Facts) -> DebugInformation:
    """The debug information of a module, found once."""
    return facts.once(DebugInformation)


# What operands name

Test = Callable[[DebugInformation, int], bool]


@dataclass(frozen=True, slots=True, eq=False)
class DebugRole:
    """What an operand of a debug instruction has to name: in words, and as a test of an id."""

    id: str
    words: str
    test: Test


def _named(*names: str) -> Test:
    return lambda known, id: known.name(id) in names


def _made(*opcodes: str) -> Test:
    return lambda known, id: known.facts.definition(id).name in opcodes


def _or(*tests: Test) -> Test:
    return lambda known, id: any(test(known, id) for test in tests)


def _is_integer(known: DebugInformation, id: int) -> bool:
    """Whether an id is an integer; an id without a type is none."""
    made = known.facts.definition(id)
    return bool(made.result_type) and isinstance(known.facts.type(made.result_type), Int)


def _is_number(known: DebugInformation, id: int) -> bool:
    return known.facts.definition(id).name == "OpConstant" and _is_word(known, id)


def _is_word(known: DebugInformation, id: int) -> bool:
    type = known.facts.type_of(id)
    return isinstance(type, Int) and type.width == 32 and not type.signed


def _is_size(known: DebugInformation, id: int) -> bool:
    return known.facts.definition(id).name in ALL_CONSTANTS and _is_word(known, id)


def _is_positive(known: DebugInformation, id: int) -> bool:
    is_constant = known.facts.definition(id).name == "OpConstant" and _is_integer(known, id)
    return is_constant and known.facts.integer(id) > 0


def _is_integer_constant(known: DebugInformation, id: int) -> bool:
    return known.facts.definition(id).name == "OpConstant" and _is_integer(known, id)


def _is_integer_variable(known: DebugInformation, id: int, encodings: tuple[int, ...]) -> bool:
    """Whether an id is a debug variable whose type is an integer of one of some encodings."""
    if known.name(id) not in DEBUG_VARIABLES:
        return False
    type = known.facts.definition(known.facts.definition(id).id("type"))
    if known.name(type.result) != "DebugTypeBasic":
        return False
    encoding = number_of(known.facts, type.operand("encoding"))
    return encoding is None or encoding in encodings


def _is_count(known: DebugInformation, id: int) -> bool:
    """Whether an id tells the elements of an array: a constant of 32 or 64 bits, or an unsigned debug variable."""
    facts = known.facts
    if facts.definition(id).name in ALL_CONSTANTS:
        type = facts.type_of(id)
        return isinstance(type, Int) and type.width in (32, 64)
    if not _is_integer_variable(known, id, UNSIGNED):
        return False
    type_id = facts.definition(id).id("type")
    return number_of(facts, facts.definition(type_id).operand("size")) in (32, 64, None)


def _is_class(known: DebugInformation, id: int) -> bool:
    if known.name(id) != "DebugTypeComposite":
        return False
    tag = number_of(known.facts, known.facts.definition(id).operand("tag"))
    return tag is None or tag in CLASS_TAGS


def _is_returned(known: DebugInformation, id: int) -> bool:
    return known.facts.definition(id).name == "OpTypeVoid" or known.name(id) in TEMPLATED_TYPES


DEBUG_VARIABLES = ("DebugLocalVariable", "DebugGlobalVariable")
SCOPES = ("DebugCompilationUnit", "DebugFunction", "DebugLexicalBlock", "DebugTypeComposite")
TYPES = (
    "DebugTypeBasic", "DebugTypePointer", "DebugTypeQualifier", "DebugTypeArray", "DebugTypeVector", "DebugTypedef",
    "DebugTypeFunction", "DebugTypeEnum", "DebugTypeComposite", "DebugTypeMember", "DebugTypeInheritance",
    "DebugTypePtrToMember", "DebugTypeTemplate", "DebugTypeMatrix", "DebugTypeVectorIdEXT",
    "DebugTypeCooperativeMatrixKHR", NONE,
)  # fmt: skip
PARAMETERS = ("DebugTypeTemplateParameter", "DebugTypeTemplateTemplateParameter")
TEMPLATED_TYPES = (*TYPES, *PARAMETERS)
MEMBERS = ("DebugTypeMember", "DebugFunction", "DebugTypeInheritance")
GLOBALS = (*sorted(VARIABLES), "OpConstantSampler", *sorted(ALL_CONSTANTS))

ROLES = (
    DebugRole("string", "an OpString", _made("OpString")),
    DebugRole("number", "a 32-bit unsigned OpConstant", _is_number),
    DebugRole("shape", "a 32-bit unsigned constant, which may be a specialisation constant", _is_size),
    DebugRole("constant", "an OpConstant", _made("OpConstant")),
    DebugRole("size", "an OpConstant or DebugInfoNone", _or(_made("OpConstant"), _named(NONE))),
    DebugRole("positive", "an integer OpConstant above 0", _is_positive),
    DebugRole("count", "an integer constant of 32 or 64 bits, or a debug variable of such an unsigned type",
              _is_count),
    DebugRole("index", "an integer", _is_integer),
    DebugRole("constant_index", "an integer OpConstant, or a debug variable with an integer type",
         _or(_is_integer_constant, lambda known, id: _is_integer_variable(known, id, SIGNED_OR_UNSIGNED))),
    DebugRole("source", "a DebugSource", _named("DebugSource")),
    DebugRole("unit", "a DebugCompilationUnit", _named("DebugCompilationUnit")),
    DebugRole("scope", f"a lexical scope: {', '.join(SCOPES[:-1])} or {SCOPES[-1]}", _named(*SCOPES)),
    DebugRole("inlined", "a DebugInlinedAt", _named("DebugInlinedAt")),
    DebugRole("type", "a debug type or DebugInfoNone", _named(*TYPES)),
    DebugRole("templated_type", "a debug type, DebugInfoNone, or a parameter of a template", _named(*TEMPLATED_TYPES)),
    DebugRole("returned_type", "OpTypeVoid, a debug type, DebugInfoNone, or a parameter of a template", _is_returned),
    DebugRole("basic_type", "a DebugTypeBasic", _named("DebugTypeBasic")),
    DebugRole("vector_type", "a DebugTypeVector", _named("DebugTypeVector")),
    DebugRole("function_type", "a DebugTypeFunction", _named("DebugTypeFunction")),
    DebugRole("class", "a DebugTypeComposite that is a class or a structure", _is_class),
    DebugRole("member", f"{', '.join(MEMBERS[:-1])} or {MEMBERS[-1]}", _named(*MEMBERS)),
    DebugRole("static_member", "a DebugTypeMember", _named("DebugTypeMember")),
    DebugRole("template", "a DebugTypeComposite or a DebugFunction", _named("DebugTypeComposite", "DebugFunction")),
    DebugRole("template_parameter", "a parameter of a template", _named(*PARAMETERS)),
    DebugRole("function", "a DebugFunction", _named("DebugFunction")),
    DebugRole("declaration", "a DebugFunctionDeclaration", _named("DebugFunctionDeclaration")),
    DebugRole("definition", "an OpFunction", _made("OpFunction")),
    DebugRole("body", "an OpFunction or DebugInfoNone", _or(_made("OpFunction"), _named(NONE))),
    DebugRole("global", "a variable, a constant or DebugInfoNone", _or(_made(*GLOBALS), _named(NONE))),
    DebugRole("variable", "a variable or a parameter of a function",
         _made(*VARIABLES, "OpFunctionParameter")),
    DebugRole("local_variable", "a DebugLocalVariable", _named("DebugLocalVariable")),
    DebugRole("expression", "a DebugExpression", _named("DebugExpression")),
    DebugRole("operation", "a DebugOperation", _named("DebugOperation")),
)  # fmt: skip
"""What operands may have to name (NonSemantic.Shader.DebugInfo 4)."""

OPERANDS = {
    "string": "name linkage_name file text path identifier compiler_signature command_line_arguments template_name",
    "number": "version dwarf_version language flags encoding fp_encoding storage_class type_qualifier tag line column "
              "scope_line arg_number line_start line_end column_start column_end op_code discriminator "
              "component_count vector_count",
    "constant": "size offset value",
    "source": "source",
    "scope": "parent scope",
    "type": "base_type type underlying_type actual_type member_type",
    "basic_type": "component_type",
    "inlined": "inlined_at inlined",
    "expression": "expression",
}  # fmt: skip
"""The roles of operands by their names, in every instruction that `OWN` does not have."""

OWN = {
    "DebugTypeVector.base_type": "basic_type",
    "DebugTypeMatrix.vector_type": "vector_type",
    "DebugTypeVectorIdEXT.component_count": "shape",
    "DebugTypeCooperativeMatrixKHR.scope": "shape",
    "DebugTypeCooperativeMatrixKHR.rows": "shape",
    "DebugTypeCooperativeMatrixKHR.columns": "shape",
    "DebugTypeCooperativeMatrixKHR.use": "shape",
    "DebugTypeArray.component_counts": "count",
    "DebugTypeFunction.return_type": "returned_type",
    "DebugTypeFunction.parameter_types": "templated_type",
    "DebugTypeMember.type": "templated_type",
    "DebugLocalVariable.type": "templated_type",
    "DebugFunction.type": "function_type",
    "DebugFunctionDeclaration.type": "function_type",
    "DebugTypeEnum.size": "positive",
    "DebugTypeComposite.size": "size",
    "DebugTypeComposite.members": "member",
    "DebugTypeInheritance.child": "class",
    "DebugTypeInheritance.parent": "class",
    "DebugTypeTemplate.target": "template",
    "DebugTypeTemplate.parameters": "template_parameter",
    "DebugTypeTemplateParameter.value": "size",
    "DebugTypeTemplateParameterPack.template_parameters": "template_parameter",
    "DebugGlobalVariable.variable": "global",
    "DebugGlobalVariable.static_member_declaration": "static_member",
    "DebugFunction.declaration": "declaration",
    "DebugFunction.function": "body",
    "DebugFunctionDefinition.function": "function",
    "DebugFunctionDefinition.definition": "definition",
    "DebugEntryPoint.entry_point": "function",
    "DebugEntryPoint.compilation_unit": "unit",
    "DebugDeclare.local_variable": "local_variable",
    "DebugDeclare.variable": "variable",
    "DebugDeclare.indexes": "index",
    "DebugValue.local_variable": "local_variable",
    "DebugValue.value": "",
    "DebugValue.indexes": "constant_index",
    "DebugMacroDef.value": "string",
    "DebugOperation.operands": "number",
    "DebugExpression.operands": "operation",
}
"""The roles of operands that have another one in an instruction, or one of their own."""

_ROLES: Mapping[str, DebugRole] = {role.id: role for role in ROLES}
_COMMON: Mapping[str, str] = {name: role for role, names in OPERANDS.items() for name in names.split()}
_ENUMERATORS = "value_name_value_name"
"""The operands of a DebugTypeEnum that are pairs of a constant and a string."""


def takers(role: str) -> tuple[str, ...]:
    """The operands that have a role, in words: `Name`, or `Type of DebugFunction`."""
    own = (key.split(".") for key, given in OWN.items() if given == role)
    return (*map(words_of, OPERANDS.get(role, "").split()), *(f"{words_of(name)} of {one}" for one, name in own))


def _roles(name: str, one: Instruction) -> Iterator[tuple[Operand, DebugRole]]:
    """The operands of a debug instruction that are ids with a role, in order."""
    pair = 0
    for operand in one.operands:
        if operand.word < FIRST_OPERAND or not operand.is_id:
            continue
        if operand.name == _ENUMERATORS:
            yield operand, _ROLES["string" if pair % 2 else "constant"]
            pair += 1
            continue
        role = OWN.get(f"{name}.{operand.name}", _COMMON.get(operand.name, ""))
        if role:
            yield operand, _ROLES[role]


def debug_faults(facts: Facts) -> FaultList:
    """What is wrong with the debug instructions of a module, by rule."""
    known, found = debug_information(facts), FaultList()
    for name, one in known.newer:
        found.add("release", one.index, Fault(f"{name} in {set_of(facts.module, one)}", one.operands[3:4]))
    for name, one in known.instructions:
        if name != UNTESTED and one.malformed is None:
            _misnamed(known, found, name, one)
            for check in (_result, _few, _fixed, _range, _places, _definition):
                try:
                    check(known, found, name, one)
                except Undetermined:
                    continue
    return found


def _misnamed(known: DebugInformation, found: FaultList, name: str, one: Instruction) -> None:
    for operand, role in _roles(name, one):
        assert isinstance(operand.value, int)
        try:
            if not role.test(known, operand.value):
                came = f"{words_of(operand.name)} of {name} is {known.came(operand.value)}"
                found.add(role.id, one.index, Fault(came, (operand,)))
        except Undetermined:
            continue


def _result(known: DebugInformation, found: FaultList, name: str, one: Instruction) -> None:
    type = known.facts.type(one.result_type)
    if not isinstance(type, Void):
        found.add("result", one.index, Fault(f"Result Type of {name} is {type.words}", one.operands[:1]))


# Numbers


def number_of(facts: Facts, operand: Operand | None) -> int | None:
    """The number that an operand is, or the value of the constant that it names; None where that is not known."""
    if operand is None or not isinstance(operand.value, int):
        return None
    if not operand.is_id:
        return operand.value
    try:
        return facts.integer(operand.value)
    except Undetermined:
        return None


COUNTS = {"DebugTypeVector": "component_count", "DebugTypeMatrix": "vector_count"}
LARGEST_VECTOR = 4


def _few(known: DebugInformation, found: FaultList, name: str, one: Instruction) -> None:
    operand = one.operand(COUNTS[name]) if name in COUNTS else None
    count = number_of(known.facts, operand)
    if operand is not None and count is not None and not 1 <= count <= LARGEST_VECTOR:
        found.add("components", one.index, Fault(f"{count} in {name}", (operand,)))


def _fixed(known: DebugInformation, found: FaultList, name: str, one: Instruction) -> None:
    """Whether constants that tell the elements of an array of OpenCL.DebugInfo.100 are fixed, and not 0."""
    if name != "DebugTypeArray" or not known.is_of_opencl(one):
        return
    for operand in one.operands:
        if operand.name != "component_counts" or not isinstance(operand.value, int):
            continue
        made = known.facts.defined_by(operand.value)
        zero = made == "OpConstant" and number_of(known.facts, operand) == 0
        if zero or (made != "OpConstant" and made in ALL_CONSTANTS):
            found.add("fixed_count", one.index, Fault(f"{made} {known.facts.called(operand.value)}", (operand,)))


# Lines


def line_lengths(facts: Facts) -> Mapping[int, tuple[int, ...]]:
    """The bytes of each line of the source texts that a module holds, by the ids of the DebugSource instructions."""
    texts: dict[int, list[str]] = {}
    last = 0
    for name, one in debug_information(facts).instructions:
        if name == "DebugSource":
            last = one.result
        if name in ("DebugSource", "DebugSourceContinued") and one.id("text"):
            made = facts.module.definitions.get(one.id("text"))
            texts.setdefault(last, []).append(made.text("string") if made is not None else "")
    return {id: _lengths("".join(parts)) for id, parts in texts.items()}


def _lengths(text: str) -> tuple[int, ...]:
    lines = re.split(rb"\r\n|\r|\n", text.encode("utf-8", "surrogateescape"))
    return tuple(map(len, lines if lines[-1] else lines[:-1]))


def _range(known: DebugInformation, found: FaultList, name: str, one: Instruction) -> None:
    """Whether a DebugLine begins at a line, and does not end before it begins."""
    if name != "DebugLine":
        return
    operands = [one.operand(part) for part in ("line_start", "line_end", "column_start", "column_end")]
    first, last, left, right = (number_of(known.facts, operand) for operand in operands)
    if first == 0:
        found.add("line_range", one.index, Fault("line 0: lines count from 1", _present(operands[:1])))
    elif first is not None and last is not None and last < first:
        found.add("line_range", one.index, Fault(f"line {first} to line {last}", _present(operands[:2])))
    elif first == last and left is not None and right is not None and right < left:
        came = f"column {left} to column {right} of line {first}"
        found.add("line_range", one.index, Fault(came, _present(operands[2:])))


def _present(operands: list[Operand | None]) -> tuple[Operand, ...]:
    return tuple(operand for operand in operands if operand is not None)


_PLACES = {"DebugLine": (("line_start", "column_start"), ("line_end", "column_end"))}


def _places(known: DebugInformation, found: FaultList, name: str, one: Instruction) -> None:
    """Whether the lines and columns that an instruction names are in the text of its source."""
    lengths = known.facts.once(line_lengths).get(one.id("source"))
    if not lengths:
        return
    for line_name, column_name in _PLACES.get(name, (("line", "column"),)):
        operands = one.operand(line_name), one.operand(column_name)
        line, column = (number_of(known.facts, operand) for operand in operands)
        if line is None or line == 0:
            continue
        if line > len(lengths):
            fault = Fault(f"line {line} of {len(lengths)}", _present([operands[0]]))
        elif column is not None and column > lengths[line - 1] + 1:
            fault = Fault(f"column {column} of line {line}, which has {lengths[line - 1]}", _present([operands[1]]))
        else:
            continue
        found.add("in_text", one.index, fault)


def _definition(known: DebugInformation, found: FaultList, name: str, one: Instruction) -> None:
    """Whether a DebugFunctionDefinition stands in the first block of the function that it names."""
    if name != "DebugFunctionDefinition":
        return
    facts, definition = known.facts, one.operand("definition")
    function, block = facts.function_of(one), facts.block_of(one)
    if function is None or block is None or definition is None:
        raise Undetermined
    if block is not function.blocks[0]:
        found.add("entry_block", one.index, Fault(f"block {facts.called(block.id)}"))
    elif definition.value != function.id and facts.defined_by(one.id("definition")) == "OpFunction":
        came = f"{facts.called(one.id('definition'))} in {facts.called(function.id)}"
        found.add("own_function", one.index, Fault(came, (definition,)))
