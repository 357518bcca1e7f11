"""The statements of a block in GLSL: instructions, loops and branches.

What goes from one iteration to the next, and what branches give, are variables that are assigned where a value is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.back.llvm.emit.text import Val
from girih.back.spirv.code.nodes import (
    BranchStatement,
    CarriedValue,
    LeaveStatement,
    LoopStatement,
    RepeatStatement,
    ShaderBlock,
    ShaderNode,
    Statement,
)
from girih.back.spirv.code.types import is_opaque
from girih.back.spirv.glsl.expression import SUM, Expression, negated
from girih.back.spirv.glsl.function import LONGEST, WrittenFunction
from girih.back.spirv.glsl.matrices import MATRIX_EFFECTS, MATRIX_EXPRESSIONS, type_of
from girih.back.spirv.glsl.nodes import EFFECTS, EXPRESSIONS
from girih.back.spirv.glsl.operations import chosen
from girih.back.spirv.glsl.types import as_type
from girih.diagnostics import InternalError

_COMPOUND = frozenset({"+", "-", "*", "/", "&", "|", "^", "<<", ">>"})
"""The operators that have a form with an assignment."""

_COMMUTATIVE = frozenset({"+", "*", "&", "|", "^"})


def write_block(function: WrittenFunction, block: ShaderBlock) -> None:
    """Write the statements of a block. Raises `InternalError` for operations that GLSL has no form for."""
    for one in block.statements:
        _statement(function, one)


def _statement(function: WrittenFunction, one: Statement) -> None:
    match one:
        case ShaderNode():
            _node(function, one)
        case BranchStatement():
            _branch(function, one)
        case LoopStatement():
            _loop(function, one)
        case RepeatStatement():
            _repeat(function, one)
        case LeaveStatement():
            function.line("return;")


def _node(function: WrittenFunction, node: ShaderNode) -> None:
    expressed = EXPRESSIONS.get(node.op) or MATRIX_EXPRESSIONS.get(node.op)
    effect = EFFECTS.get(node.op) or MATRIX_EFFECTS.get(node.op)
    if expressed is not None and node.result is not None:
        if function.uses.count(node.result):
            made = expressed(function, node, function.operands(node))
            function.give(node.result, replace(made, exact=made.exact or node.result.text in function.uses.combined))
    elif effect is not None:
        function.say(node.span)
        effect(function, node)
    else:
        raise InternalError(f"GLSL has no form for the operation `{node.op}` of shader code")


# --- branches --------------------------------------------------------------------------------------


def _branch(function: WrittenFunction, branch: BranchStatement) -> None:
    function.say(branch.span)
    condition = function.kept(branch.condition, function.value(branch.condition))
    function.settle_all()
    results = [one for one in branch.results if function.uses.count(one[0])]
    blocks: list[list[str]] = [[], []]
    given: list[list[Expression]] = []
    known = {value.text: function.name(value) for value, _, _ in results if is_opaque(value.type)}
    for value, *sources in results:
        if value.text in known:
            function.filled.update({one.text: known[value.text] for one in sources})
    for number, block in enumerate((branch.then, branch.otherwise)):
        with function.inside(blocks[number]):
            write_block(function, block)
            given.append([function.value(one[1 + number]) for one in results])
    if not blocks[0] and not blocks[1] and _given_at_once(function, condition, results, given):
        return
    names = []
    for value, _, _ in results:
        name = known.get(value.text) or function.name(value)
        type = function.module.type(type_of(function.module, value.type))
        function.line(f"{_precise(function, value)}{type} {name};")
        function.bind(value, name, type)
        names.append(name)
    for number in range(2):
        with function.inside(blocks[number]):
            for (value, *sources), name, one in zip(results, names, given[number], strict=True):
                made = one if value.text in function.uses.precise else function.kept(sources[number], one)
                if made.text != name:
                    function.line(f"{name} = {as_type(made, type_of(function.module, value.type)).text};")
    _write_branches(function, condition, *blocks)


def _given_at_once(
    function: WrittenFunction,
    condition: Expression,
    results: Sequence[tuple[Val, Val, Val]],
    given: Sequence[Sequence[Expression]],
) -> bool:
    """Whether a branch without statements is one expression, which is then given."""
    if not results:
        return True
    if len(results) > 1:
        return False
    value = results[0][0]
    (yes,), (no,) = given
    if type_of(function.module, value.type) not in ("bool", "int", "int64_t", "float", "double"):
        return False
    made = chosen(condition, yes, no)
    if len(made.text) > LONGEST:
        return False
    function.give(value, made)
    return True


def _write_branches(function: WrittenFunction, condition: Expression, then: list[str], otherwise: list[str]) -> None:
    if not then and not otherwise:
        return
    if not then:
        then, otherwise, condition = otherwise, [], negated(condition)
    function.line(f"if ({condition.text}) {{")
    function.lines += then
    alone = bool(otherwise) and _is_one_branch(otherwise)
    if alone:
        indent = len(otherwise[0]) - len(otherwise[0].lstrip())
        function.line("} else " + otherwise[0].lstrip())
        function.lines += [one[4:] for one in otherwise[1:]]
        assert indent >= 4
        return
    if otherwise:
        function.line("} else {")
        function.lines += otherwise
    function.line("}")


def _is_one_branch(lines: Sequence[str]) -> bool:
    """Whether lines are one branch and nothing else, which may follow an `else`."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    outer = [one.strip() for one in lines if len(one) - len(one.lstrip()) == indent]
    return (
        outer[0].startswith("if (")
        and outer[-1] == "}"
        and all(one.startswith("}") for one in outer[1:])
        and (outer.count("}") == 1)
    )


# --- loops -----------------------------------------------------------------------------------------


def _precise(function: WrittenFunction, value: Val) -> str:
    return "precise " if value.text in function.uses.precise else ""


def _start_carried(function: WrittenFunction, carried: Sequence[CarriedValue]) -> None:
    """Write the variables that go from one iteration to the next, with what they are in the first."""
    initials = [function.value(one.initial) for one in carried]
    function.settle_all()
    started = []
    for one, initial in zip(carried, initials, strict=True):
        precise = one.value.text in function.uses.precise
        first = initial if precise else function.kept(one.initial, initial)
        type = function.module.type(type_of(function.module, one.value.type))
        name = function.name(one.value)
        function.line(f"{_precise(function, one.value)}{type} {name} = {as_type(first, type).text};")
        started.append((one.value, name, type))
    for value, name, type in started:
        function.bind(value, name, type, changes=True)


def _continue_carried(function: WrittenFunction, carried: Sequence[CarriedValue]) -> None:
    """Assign what the next iteration has: all at once, so that each reads what the others were."""
    waiting: list[tuple[str, Expression]] = []
    for one in carried:
        variable, following = function.value(one.value), function.value(one.following)
        if one.value.text not in function.uses.precise:
            following = function.kept(one.following, following)
        if following.text != variable.text:
            waiting.append((variable.text, as_type(following, variable.type)))
    while waiting:
        free = next((name for name, _ in waiting if not _is_read(name, waiting)), None)
        if free is None:
            name, following = waiting[0]
            copy = function.names.fresh()
            function.line(f"{'precise ' if following.exact else ''}{following.type} {copy} = {following.text};")
            waiting[0] = name, Expression(copy, following.type)
            continue
        following = dict(waiting)[free]
        waiting = [pair for pair in waiting if pair[0] != free]
        function.line(_assignment(free, following))


def _is_read(name: str, waiting: Sequence[tuple[str, Expression]]) -> bool:
    """Whether a variable is read by what is to be assigned to another one."""
    return any(name in following.variables for other, following in waiting if other != name)


def _assignment(name: str, one: Expression) -> str:
    if one.sides is None or one.sides[1] not in _COMPOUND:
        return f"{name} = {one.text};"
    left, operator, right = one.sides
    if right == name and operator in _COMMUTATIVE:
        left, right = right, left
    if left != name:
        return f"{name} = {one.text};"
    if right.startswith("(") and _matches(right):
        right = right[1:-1]
    return f"{name} {operator}= {right};"


def _matches(text: str) -> bool:
    """Whether the first parenthesis of a text is closed by its last character."""
    depth = 0
    for number, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return number == len(text) - 1
    return False


def _bound(function: WrittenFunction, value: Val) -> Expression:
    """A number that a loop asks for again and again."""
    one = function.value(value)
    simple = not one.memories and not one.exact and len(one.text) < 32
    return one if simple else function.declare(value, one)


def _loop(function: WrittenFunction, loop: LoopStatement) -> None:
    function.say(loop.span)
    start = function.kept(loop.start, function.value(loop.start))
    stop, step = _bound(function, loop.stop), _bound(function, loop.step)
    type = function.module.type(type_of(function.module, loop.index.type))
    start, stop, step = (as_type(one, type) for one in (start, stop, step))
    _start_carried(function, loop.carried)
    wanted = function.module.code.names.get(loop.index.text)
    name = function.names.take(wanted) if wanted else function.names.index(function.loops)
    function.bind(loop.index, name, type)
    forward = _forward(name, type, stop, step, wraps=loop.wraps)
    function.line(f"for ({type} {name} = {start.text}; {name} < {stop.within(SUM)}; {forward}) {{")
    body: list[str] = []
    with function.inside(body):
        function.loops += 1
        write_block(function, loop.body)
        _continue_carried(function, loop.carried)
        function.loops -= 1
    function.lines += body
    function.line("}")
    function.names.free(name)


def _forward(name: str, type: str, stop: Expression, step: Expression, *, wraps: bool) -> str:
    if step.number == 1:
        # The sum is at most the end of the loop.
        return f"{name}++"
    largest = 2**63 - 1 if type == "int64_t" else 2**31 - 1
    inside = stop.number is not None and step.number is not None and stop.number + step.number <= largest
    if not wraps or inside:
        return f"{name} += {step.text}"
    unsigned = "uint64_t" if type == "int64_t" else "uint"
    left = f"{unsigned}({stop.within(SUM)} - {name})"
    return f"{name} += {type}(min({as_type(step, unsigned).text}, {left}))"


def _repeat(function: WrittenFunction, repeat: RepeatStatement) -> None:
    function.say(repeat.span)
    _start_carried(function, repeat.carried)
    head: list[str] = []
    body: list[str] = []
    with function.inside(head):
        function.loops += 1
        write_block(function, repeat.head)
        condition = function.kept(repeat.condition, function.value(repeat.condition))
        if head:
            function.line(f"if ({negated(condition).text}) {{")
            function.line("    break;")
            function.line("}")
    with function.inside(body):
        write_block(function, repeat.body)
        _continue_carried(function, repeat.carried)
        function.loops -= 1
    function.line(f"while ({'true' if head else condition.text}) {{")
    function.lines += head + body
    function.line("}")
