"""A few lines of SPIR-V completed to a module: examples of rules are written as what matters in them.

Lines are sorted into the sections of a module (SPIR-V 2.4) by their opcodes; what is left is the body of `%main`, a
compute shader of local size 1. Names that are used and not declared are declared by what they say: `%float`,
`%v4float`, `%_ptr_StorageBuffer_float`, `%uint_3`, `%float_0_5`, `%int_n7`, `%true`, `%glsl`; `%matrix_half_16x8_a`
(a cooperative matrix of a subgroup for use A; `_b`, `_c`, `_a_group`), `%layout_2_1` (a tensor layout of two dimensions
with clamp mode 1), `%view_2`, `%view_2_own` (with dimensions of its own), `%buffer_half` (a storage buffer of halves);
`%debug_source`, `%debug_float` and others of `%debug`, a set of debug information.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from girih.lazy_dataclass import dataclass
from girih.spirv.vocabulary import TERMINATORS, VARIABLES

_SECTIONS: Mapping[str, int] = {
    "OpCapability": 0, "OpExtension": 1, "OpExtInstImport": 2, "OpMemoryModel": 3, "OpEntryPoint": 4,
    "OpExecutionMode": 5, "OpExecutionModeId": 5, "OpString": 6, "OpSource": 6, "OpSourceExtension": 6,
    "OpSourceContinued": 6, "OpName": 7, "OpMemberName": 7, "OpModuleProcessed": 7, "OpDecorate": 8,
    "OpMemberDecorate": 8, "OpDecorateId": 8, "OpDecorateString": 8, "OpMemberDecorateString": 8,
    "OpGroupDecorate": 8, "OpGroupMemberDecorate": 8, "OpDecorationGroup": 8,
}  # fmt: skip
"""The sections of instructions that stand before the declarations, by the numbers of SPIR-V 2.4, from 0."""

DECLARATIONS, FUNCTIONS, GRAPHS = 9, 10, 11

_NUMBERS: Mapping[str, tuple[str, str | None]] = {
    "int": ("OpTypeInt 32 1", None), "uint": ("OpTypeInt 32 0", None),
    "long": ("OpTypeInt 64 1", "Int64"), "ulong": ("OpTypeInt 64 0", "Int64"),
    "short": ("OpTypeInt 16 1", "Int16"), "ushort": ("OpTypeInt 16 0", "Int16"),
    "char": ("OpTypeInt 8 1", "Int8"), "uchar": ("OpTypeInt 8 0", "Int8"),
    "half": ("OpTypeFloat 16", "Float16"), "float": ("OpTypeFloat 32", None), "double": ("OpTypeFloat 64", "Float64"),
}  # fmt: skip
"""The types of numbers by their names, with the capabilities that they need."""

_PLAIN = {
    "void": "OpTypeVoid", "bool": "OpTypeBool", "true": "OpConstantTrue %bool", "false": "OpConstantFalse %bool",
    "fn_void": "OpTypeFunction %void", "glsl": 'OpExtInstImport "GLSL.std.450"',
    "coop_v4half": "OpTypeCooperativeVectorNV %half %uint_4", "coop_v8half": "OpTypeCooperativeVectorNV %half %uint_8",
    "coop_v4float": "OpTypeCooperativeVectorNV %float %uint_4",
    "coop_v4char": "OpTypeCooperativeVectorNV %char %uint_4", "_heap": "OpTypeStruct %_runtimearr_half",
    "tensor_size": "OpConstantComposite %_arr_uint_uint_1 %uint_2",
    "tensor": "OpTypeTensorARM %float %uint_1 %tensor_size",
    "word_tensor": "OpTypeTensorARM %uint %uint_1 %tensor_size",
    "graph_type": "OpTypeGraphARM 1 %tensor %tensor",
    "ray_query": "OpTypeRayQueryKHR", "accel": "OpTypeAccelerationStructureKHR",
    "debug": 'OpExtInstImport "NonSemantic.Shader.DebugInfo.100"', "debug_cl": 'OpExtInstImport "OpenCL.DebugInfo.100"',
    "debug_101": 'OpExtInstImport "NonSemantic.Shader.DebugInfo.101"',
    "debug_name": 'OpString "main"', "debug_text": 'OpString "void main() {}"',
    "debug_none": "OpExtInst %void %debug DebugInfoNone",
    "debug_source": "OpExtInst %void %debug DebugSource %debug_name %debug_text",
    "debug_unit": "OpExtInst %void %debug DebugCompilationUnit %uint_100 %uint_5 %debug_source %uint_2",
    "debug_float": "OpExtInst %void %debug DebugTypeBasic %debug_name %uint_32 %uint_3 %uint_0",
    "debug_uint": "OpExtInst %void %debug DebugTypeBasic %debug_name %uint_32 %uint_6 %uint_0",
    "debug_vector": "OpExtInst %void %debug DebugTypeVector %debug_float %uint_4",
    "debug_struct": "OpExtInst %void %debug DebugTypeComposite %debug_name %uint_1 %debug_source %uint_1 %uint_1 "
                    "%debug_unit %debug_name %uint_32 %uint_0",
    "debug_union": "OpExtInst %void %debug DebugTypeComposite %debug_name %uint_2 %debug_source %uint_1 %uint_1 "
                   "%debug_unit %debug_name %uint_32 %uint_0",
    "debug_parameter": "OpExtInst %void %debug DebugTypeTemplateParameter %debug_name %debug_float %uint_1 "
                       "%debug_source %uint_1 %uint_1",
    "debug_type": "OpExtInst %void %debug DebugTypeFunction %uint_0 %void",
    "debug_function": "OpExtInst %void %debug DebugFunction %debug_name %debug_type %debug_source %uint_1 %uint_1 "
                      "%debug_unit %debug_name %uint_0 %uint_1",
    "debug_variable": "OpExtInst %void %debug DebugLocalVariable %debug_name %debug_float %debug_source %uint_1 "
                      "%uint_1 %debug_function %uint_0",
    "debug_expression": "OpExtInst %void %debug DebugExpression",
}  # fmt: skip
"""What names of types, constants, sets of instructions and debug information stand for."""

_IN_FUNCTIONS = "Scope|NoScope|Line|NoLine|Declare|Value|FunctionDefinition"
_DEBUG = re.compile(rf"OpExtInst %\w+ %debug\w* (?!Debug(?:{_IN_FUNCTIONS})\b)")
"""A debug instruction that stands among the declarations."""

_NEEDED: Mapping[str, str] = {
    "OpTypeCooperativeMatrixKHR": "CooperativeMatrixKHR VulkanMemoryModel SPV_KHR_cooperative_matrix",
    "OpTypeTensorLayoutNV": "TensorAddressingNV SPV_NV_tensor_addressing",
    "OpTypeTensorViewNV": "TensorAddressingNV SPV_NV_tensor_addressing",
    "OpCooperativeMatrixLoadTensorNV": "CooperativeMatrixTensorAddressingNV SPV_NV_cooperative_matrix2",
    "OpCooperativeMatrixStoreTensorNV": "CooperativeMatrixTensorAddressingNV SPV_NV_cooperative_matrix2",
    "OpCooperativeMatrixReduceNV": "CooperativeMatrixReductionsNV SPV_NV_cooperative_matrix2",
    "OpCooperativeMatrixConvertNV": "CooperativeMatrixConversionsNV SPV_NV_cooperative_matrix2",
    "OpCooperativeMatrixTransposeNV": "CooperativeMatrixConversionsNV SPV_NV_cooperative_matrix2",
    "OpCooperativeMatrixPerElementOpNV": "CooperativeMatrixPerElementOperationsNV SPV_NV_cooperative_matrix2",
    "OpTypeCooperativeVectorNV": "CooperativeVectorNV SPV_NV_cooperative_vector",
    "OpTypeGraphARM": "GraphARM SPV_ARM_graph",
    "OpTypeTensorARM": "TensorsARM SPV_ARM_tensors",
    "OpTypeRayQueryKHR": "RayQueryKHR SPV_KHR_ray_query",
    "DecodeFunc": "CooperativeMatrixBlockLoadsNV SPV_NV_cooperative_matrix2",
    "DecodeVectorFunc": "CooperativeMatrixDecodeVectorNV SPV_NV_cooperative_matrix_decode_vector",
}
"""Capabilities and extensions that words of matrices and tensors need."""

_GRAPHS = ("OpGraphEntryPointARM", "OpGraphARM", "OpGraphInputARM", "OpGraphSetOutputARM", "OpGraphEndARM")
"""Instructions with which the section of graphs begins."""

_NAME = re.compile(r"%([A-Za-z0-9_]+)")


def completed(text: str, *, version: str = "1.6") -> str:
    """The module that a short text stands for, as text."""
    frame = _Frame()
    inside = False
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith(";"):
            continue
        opcode = _opcode(line)
        inside = inside or opcode == "OpFunction"
        frame.in_graphs = (frame.in_graphs or opcode in _GRAPHS) and not inside
        frame.take(line, opcode, in_function=inside)
        inside = inside and opcode != "OpFunctionEnd"
    return frame.text(version)


def _opcode(line: str) -> str:
    head = line.split("=", 1)[-1] if re.match(r"%\w+\s*=", line) else line
    return head.split(None, 1)[0]


def _declares(line: str, opcode: str) -> bool:
    """Whether a line stands among the types, constants and variables of the module."""
    if opcode in VARIABLES:
        return not re.search(r"\bFunction\b", line)
    declared = opcode == "OpUndef" or opcode.startswith(("OpType", "OpConstant", "OpSpecConstant"))
    return declared or opcode == "OpGraphConstantARM" or bool(_DEBUG.search(line))


@dataclass
class _Frame:
    """The sections of a module that is being completed."""

    sections: list[list[str]] = field(default_factory=lambda: [[] for _ in range(GRAPHS + 1)])
    body: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    own: list[str] = field(default_factory=list)
    in_graphs: bool = False
    """Whether what is taken stands among graphs, which follow the functions."""

    def take(self, line: str, opcode: str, *, in_function: bool) -> None:
        """Put a line into its section."""
        if in_function:
            self.sections[FUNCTIONS].append(line)
        elif opcode in _SECTIONS:
            self.sections[_SECTIONS[opcode]].append(line)
        elif self.in_graphs:
            self.sections[GRAPHS].append(line)
        elif _declares(line, opcode):
            self.own.append(line)
        else:
            self.body.append(line)

    def text(self, version: str) -> str:
        """The whole module."""
        graphs, functions = self.sections[GRAPHS], self.sections[FUNCTIONS]
        self._move_undefined()
        if not any(re.match(r"%main\s*=", line) for line in functions):
            functions[:0] = self._main()
        self.declared |= {name for line in (*self.own, *functions, *graphs) for name in _defined(line)}
        others = [line for section in self.sections[:DECLARATIONS] for line in section]
        self.declared |= {name for line in others for name in _defined(line)}
        for line in self.own:
            self._declare_names(_NAME.findall(line))
            self.sections[DECLARATIONS].append(line)
        for line in (*others, *functions, *graphs):
            self._declare_names(_NAME.findall(line))
        self._need()
        self._surround()
        lines = [line for section in self.sections for line in section]
        width = max((len(line.split("=")[0]) for line in lines if re.match(r"%\w+\s*=", line)), default=0)
        return "\n".join(["; SPIR-V", f"; Version: {version}", *(_indented(line, width) for line in lines)]) + "\n"

    def _move_undefined(self) -> None:
        """Put undefined values that declarations use before these."""
        used = {name for line in self.own for name in _NAME.findall(line)}
        moved = [line for line in self.body if _opcode(line) == "OpUndef" and not used.isdisjoint(_defined(line))]
        self.body = [line for line in self.body if line not in moved]
        self.own[:0] = moved

    def _main(self) -> list[str]:
        body = list(self.body)
        if not body or _opcode(body[0]) != "OpLabel":
            body.insert(0, "%entry = OpLabel")
        if _opcode(body[-1]) not in TERMINATORS:
            body.append("OpReturn")
        return ["%main = OpFunction %void None %fn_void", *body, "OpFunctionEnd"]

    def _need(self) -> None:
        """Add the capabilities and extensions of matrices and tensors, where the text uses them."""
        words = {
            word for section in self.sections[DECLARATIONS:] for line in section for word in re.split(r"[\s|]+", line)
        }
        needed = dict.fromkeys(need for word in _NEEDED if word in words for need in _NEEDED[word].split())
        for name in needed:
            section, line = (1, f'OpExtension "{name}"') if name.startswith("SPV_") else (0, f"OpCapability {name}")
            if line not in self.sections[section]:
                self.sections[section].append(line)

    def _surround(self) -> None:
        """Add what every module has, where the text does not have it."""
        capabilities, model, entry, modes = self.sections[0], self.sections[3], self.sections[4], self.sections[5]
        stated = " ".join(capabilities)
        if "Shader" not in stated.split() and "Kernel" not in stated.split():
            capabilities.insert(0, "OpCapability Shader")
        if not model:
            vulkan = "VulkanMemoryModel" in stated or "CooperativeMatrixKHR" in stated
            physical = "PhysicalStorageBufferAddresses" in stated
            addressing = "PhysicalStorageBuffer64" if physical else "Logical"
            model.append(f"OpMemoryModel {addressing} {'Vulkan' if vulkan else 'GLSL450'}")
        if not entry:
            variables = [line for line in self.sections[DECLARATIONS] if _opcode(line) in VARIABLES]
            interface = "".join(f" %{name}" for line in variables for name in _defined(line))
            entry.append(f'OpEntryPoint GLCompute %main "main"{interface}')
            if not modes:
                modes.append("OpExecutionMode %main LocalSize 1 1 1")

    def _declare_names(self, names: Iterable[str]) -> None:
        """Declare names by what they say, what they are made of first."""
        for name in names:
            if name in self.declared:
                continue
            buffer = _BUFFER.fullmatch(name)
            if buffer:
                self._declare_buffer(name, buffer[1])
                continue
            made = _declaration(name)
            if made is None:
                continue
            self.declared.add(name)
            line, capability = made
            self._declare_names(_NAME.findall(line))
            if capability and f"OpCapability {capability}" not in self.sections[0]:
                self.sections[0].append(f"OpCapability {capability}")
            section = _SECTIONS.get(line.split()[0], DECLARATIONS)
            self.sections[section].append(f"%{name} = {line}")

    def _declare_buffer(self, name: str, element: str) -> None:
        """Declare a storage buffer with an array of a type, which has a memory layout and a binding."""
        array, block = f"{name}_array", f"{name}_block"
        self._declare_names([element])
        self.sections[8] += [
            f"OpDecorate %{array} ArrayStride {_BYTES[element]}", f"OpDecorate %{block} Block",
            f"OpMemberDecorate %{block} 0 Offset 0", f"OpDecorate %{name} DescriptorSet 0",
            f"OpDecorate %{name} Binding 0",
        ]  # fmt: skip
        self.sections[DECLARATIONS] += [
            f"%{array} = OpTypeRuntimeArray %{element}", f"%{block} = OpTypeStruct %{array}",
            f"%{name}_pointer = OpTypePointer StorageBuffer %{block}",
            f"%{name} = OpVariable %{name}_pointer StorageBuffer",
        ]  # fmt: skip
        storing = {1: "OpCapability StorageBuffer8BitAccess", 2: "OpCapability StorageBuffer16BitAccess"}
        needed = storing.get(_BYTES[element])
        if needed and needed not in self.sections[0]:
            self.sections[0].append(needed)
        self.declared |= {name, array, block, f"{name}_pointer"}


def _defined(line: str) -> list[str]:
    return re.findall(r"^%(\w+)\s*=", line)


def _indented(line: str, width: int) -> str:
    """A line with its result to the left of a common column, as spirv-dis writes."""
    result, equals, rest = line.partition("=") if re.match(r"%\w+\s*=", line) else ("", "", line)
    return f"{result.strip():>{width}} = {rest.strip()}" if equals else " " * (width + 3) + rest


def _declaration(name: str) -> tuple[str, str | None] | None:
    """The declaration that a name stands for, and the capability that it needs; None where it says nothing."""
    if name in _PLAIN:
        return _PLAIN[name], None
    if name in _NUMBERS:
        return _NUMBERS[name]
    for pattern, make in _PATTERNS:
        match = pattern.fullmatch(name)
        if match:
            return make(match), None
    return None


def _constant(match: re.Match[str]) -> str:
    type, sign, digits = match.groups()
    if type in ("half", "float", "double"):
        digits = digits.replace("_", ".")
    return f"OpConstant %{type} {'-' if sign else ''}{digits}"


def _matrix(match: re.Match[str]) -> str:
    component, rows, columns, use, group = match.groups()
    scope = "uint_2" if group else "uint_3"
    return f"OpTypeCooperativeMatrixKHR %{component} %{scope} %uint_{rows} %uint_{columns} %uint_{'abc'.index(use)}"


def _view(match: re.Match[str]) -> str:
    order = " ".join(f"%uint_{position}" for position in range(int(match[1])))
    return f"OpTypeTensorViewNV %uint_{match[1]} %{'true' if match[2] else 'false'} {order}"


_TYPES = "|".join(_NUMBERS)

_BYTES = {name: int(made.split()[1]) // 8 for name, (made, _) in _NUMBERS.items()}
"""The bytes of numbers, by the names of their types."""

_BUFFER = re.compile(rf"buffer_({_TYPES})")

_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(rf"v(\d+)({_TYPES}|bool)"), lambda m: f"OpTypeVector %{m[2]} {m[1]}"),
    (re.compile(rf"mat(\d)(v\d(?:{_TYPES}))"), lambda m: f"OpTypeMatrix %{m[2]} {m[1]}"),
    (re.compile(r"_ptr_([A-Za-z]+)_(\w+)"), lambda m: f"OpTypePointer {m[1]} %{m[2]}"),
    (re.compile(r"_arr_(\w+)_(u?int_\d+)"), lambda m: f"OpTypeArray %{m[1]} %{m[2]}"),
    (re.compile(r"_runtimearr_(\w+)"), lambda m: f"OpTypeRuntimeArray %{m[1]}"),
    (re.compile(rf"({_TYPES})_(n?)(\d+(?:_\d+)?)"), _constant),
    (re.compile(rf"matrix_({_TYPES})_(\d+)x(\d+)_([abc])(_group)?"), _matrix),
    (re.compile(r"layout_(\d)(?:_(\d))?"), lambda m: f"OpTypeTensorLayoutNV %uint_{m[1]} %uint_{m[2] or 0}"),
    (re.compile(r"view_(\d)(_own)?"), _view),
)
"""What names say beyond those of the plain types, in the spelling of friendly names."""
