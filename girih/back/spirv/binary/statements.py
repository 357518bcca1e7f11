"""The statements of a function as blocks of a module: structured control flow with the merges that SPIR-V asks for.

Values that come out of branches and around loops are phis; those of matrices, which drivers do not take there, are
variables of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from girih.back.llvm.emit.text import Val
from girih.back.spirv.binary.assembly import Assembly, enumerant
from girih.back.spirv.binary.memory import ModuleMemory
from girih.back.spirv.binary.operations import write_number
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderNode,
    ShaderRoutine,
    Statement,
)
from girih.back.spirv.code.types import is_opaque
from girih.diagnostics import InternalError
from girih.lazy_dataclass import dataclass
from girih.source import NOWHERE, Span

Rule = Callable[["StatementWriter", ShaderNode], None]
"""How a node is written."""

NONE = 0
"""The control mask of selections and loops: none."""


@dataclass(slots=True)
class _Around:
    """The variable or the phi of a value that goes around a loop."""

    one: CarriedValue
    variable: int = 0


class StatementWriter:
    """A function that is being written. `rules` has the operations that are more than numbers."""

    def __init__(
        self,
        a: Assembly,
        memory: ModuleMemory,
        rules: Mapping[str, Rule],
        types: Callable[[str], int],
        names: Mapping[str, str],
    ) -> None:
        self.a = a
        self.memory = memory
        self.type = types
        """The id of any type by its word."""
        self.routines: dict[ShaderRoutine, int] = {}
        self._rules = rules
        self._names = names
        self._label = 0
        self._open = True
        self._span: Span = NOWHERE
        self._variables: list[tuple[int, int]] = []
        self._inputs: dict[str, int] = {}

    # --- functions -----------------------------------------------------------------------

    def routine(self, routine: ShaderRoutine) -> int:
        """The id of a routine, which is written when it is first asked for."""
        known = self.routines.get(routine)
        if known is None:
            outer, self.a.function = self.a.function, []
            state = self._label, self._open, self._span, self._variables
            locals, self.memory.locals = self.memory.locals, []
            known = self.a.fresh()
            self.a.name(known, routine.name)
            result = self.type(routine.result.type) if routine.result is not None else self.type("void")
            self.function(known, result, routine.parameters, routine.body, routine.result)
            self.a.functions += self.a.function
            self.a.function = outer
            self._label, self._open, self._span, self._variables = state
            self.memory.locals = locals
            self.routines[routine] = known
        return known

    def function(
        self, id: int, result_type: int, parameters: Sequence[Val], body: ShaderBlock, result: Val | None = None
    ) -> None:
        """Write a function whole."""
        a = self.a
        types = [self.type(one.type) for one in parameters]
        function_type = a.declare("OpTypeFunction", result_type, *types)
        a.emit("OpFunction", result_type, id, NONE, function_type)
        for one, type in zip(parameters, types, strict=True):
            a.emit("OpFunctionParameter", type, a.id_of(one))
            self._name(one)
        self._variables, self._span = [], NOWHERE
        self._begin(a.fresh())
        head, a.function = a.function, []
        self.block(body)
        if self._open:
            if result is None:
                a.emit("OpReturn")
            else:
                a.emit("OpReturnValue", a.id_of(result))
        a.emit("OpFunctionEnd")
        inside, a.function = a.function, head
        storage = enumerant("StorageClass", "Function")
        for pointer, variable in (*self._variables, *self.memory.locals):
            a.emit("OpVariable", pointer, variable, storage)
        self.memory.locals = []
        a.function += inside

    def local(self, type: str) -> int:
        """A variable of the function."""
        variable = self.a.fresh()
        self._variables.append((self.a.pointer_type("Function", self.type(type)), variable))
        return variable

    def input(self, built_in: str, pointer: int) -> int:
        """The variable of a built-in."""
        known = self._inputs.get(built_in)
        if known is None:
            a = self.a
            known = a.declare_typed("OpVariable", pointer, enumerant("StorageClass", "Input"), new=True)
            a.name(known, built_in)
            a.decorate(known, "BuiltIn", enumerant("BuiltIn", built_in))
            a.interface.append(known)
            self._inputs[built_in] = known
        return known

    def goes_on(self, condition: int) -> int:
        """The condition on which a loop that has one goes on."""
        return condition

    # --- statements ----------------------------------------------------------------------

    def block(self, block: ShaderBlock) -> None:
        """Write the statements of a block."""
        for one in block.statements:
            if not self._open:
                break
            self.statement(one)

    def statement(self, one: Statement) -> None:
        """Write a statement."""
        if one.span is not self._span and one.span is not NOWHERE:
            self._span = one.span
            self.a.line(one.span)
        match one:
            case ShaderNode():
                self._node(one)
            case BranchStatement():
                self._branch(one)
            case LoopStatement():
                self._loop(one)
            case RepeatStatement():
                self._repeat(one)
            case LeaveStatement():
                self.a.emit("OpReturn")
                self._open = False

    def _node(self, node: ShaderNode) -> None:
        rule = self._rules.get(node.op)
        if rule is not None:
            rule(self, node)
        elif node.result is None or not write_number(self.a, node):
            raise InternalError(f"SPIR-V has no form for the operation {node.op}")
        if node.result is not None:
            self._name(node.result)

    def _name(self, value: Val) -> None:
        name = self._names.get(value.text)
        if name is not None:
            self.a.name(self.a.id_of(value), name)

    def _begin(self, label: int) -> None:
        self.a.emit("OpLabel", label)
        self._label, self._open = label, True

    def _jump(self, label: int) -> None:
        if self._open:
            self.a.emit("OpBranch", label)

    def _branch(self, one: BranchStatement) -> None:
        a = self.a
        carried = [(held, first, second, is_opaque(held.type)) for held, first, second in one.results]
        variables = {held.text: self.local(held.type) for held, _, _, opaque in carried if opaque}
        then, otherwise, merge = a.fresh(), a.fresh(), a.fresh()
        plain = not one.otherwise.statements and not carried
        condition = a.id_of(one.condition)
        a.emit("OpSelectionMerge", merge, NONE)
        a.emit("OpBranchConditional", condition, then, merge if plain else otherwise)
        arrivals: list[tuple[int, int]] = []

        def side(label: int, block: ShaderBlock, which: int) -> None:
            self._begin(label)
            self.block(block)
            if self._open:
                for held, first, second, opaque in carried:
                    if opaque:
                        a.emit("OpStore", variables[held.text], a.id_of((first, second)[which]))
                arrivals.append((which, self._label))
                self._jump(merge)

        side(then, one.then, 0)
        if not plain:
            side(otherwise, one.otherwise, 1)
        self._begin(merge)
        if not arrivals and not plain:
            a.emit("OpUnreachable")
            self._open = False
            return
        for held, first, second, opaque in carried:
            if not opaque:
                pairs = [word for which, label in arrivals for word in (a.id_of((first, second)[which]), label)]
                a.result("OpPhi", self.type(held.type), *pairs, into=held)
        for held, _, _, opaque in carried:
            if opaque:
                a.result("OpLoad", self.type(held.type), variables[held.text], into=held)
            self._name(held)

    def _around(self, carried: Sequence[CarriedValue]) -> list[_Around]:
        """The carried values, matrices in variables that have their initial value."""
        made = []
        for one in carried:
            around = _Around(one)
            if is_opaque(one.value.type):
                around.variable = self.local(one.value.type)
                self.a.emit("OpStore", around.variable, self.a.id_of(one.initial))
            made.append(around)
        return made

    def _phis(self, values: list[_Around], before: int, again: int) -> None:
        """Write the carried values at the head of a loop."""
        a = self.a
        for around in values:
            if not around.variable:
                one = around.one
                pairs = (a.id_of(one.initial), before, a.id_of(one.following), again)
                a.result("OpPhi", self.type(one.value.type), *pairs, into=one.value)
                self._name(one.value)

    def _loads(self, values: list[_Around]) -> None:
        for around in values:
            if around.variable:
                self.a.result("OpLoad", self.type(around.one.value.type), around.variable, into=around.one.value)

    def _stores(self, values: list[_Around]) -> None:
        for around in values:
            if around.variable:
                self.a.emit("OpStore", around.variable, self.a.id_of(around.one.following))

    def _loop(self, one: LoopStatement) -> None:
        a = self.a
        values = self._around(one.carried)
        header, test, body, again, merge = (a.fresh() for _ in range(5))
        type = self.type(one.index.type)
        start, stop, step = (a.id_of(held) for held in (one.start, one.stop, one.step))
        following = a.fresh()
        before = self._label
        self._jump(header)
        self._begin(header)
        a.result("OpPhi", type, start, before, following, again, into=one.index)
        self._name(one.index)
        self._phis(values, before, again)
        self._loads(values)
        a.emit("OpLoopMerge", merge, again, NONE)
        a.emit("OpBranch", test)
        self._begin(test)
        inside = a.result("OpSLessThan", self.type("i1"), a.id_of(one.index), stop)
        a.emit("OpBranchConditional", inside, body, merge)
        self._begin(body)
        self.block(one.body)
        if self._open:
            self._stores(values)
        self._jump(again)
        self._begin(again)
        if one.wraps:
            moved = a.result("OpIAdd", type, a.id_of(one.index), step)
            passed = a.result("OpSLessThan", self.type("i1"), moved, a.id_of(one.index))
            a.emit("OpSelect", type, following, passed, stop, moved)
        else:
            a.emit("OpIAdd", type, following, a.id_of(one.index), step)
        a.emit("OpBranch", header)
        self._begin(merge)

    def _repeat(self, one: RepeatStatement) -> None:
        a = self.a
        values = self._around(one.carried)
        header, test, body, again, merge = (a.fresh() for _ in range(5))
        before = self._label
        self._jump(header)
        self._begin(header)
        self._phis(values, before, again)
        self._loads(values)
        a.emit("OpLoopMerge", merge, again, NONE)
        a.emit("OpBranch", test)
        self._begin(test)
        self.block(one.head)
        a.emit("OpBranchConditional", self.goes_on(a.id_of(one.condition)), body, merge)
        self._begin(body)
        self.block(one.body)
        if self._open:
            self._stores(values)
        self._jump(again)
        self._begin(again)
        a.emit("OpBranch", header)
        self._begin(merge)
