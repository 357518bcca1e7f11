"""Functions that matrix instructions call for their elements: what these rules share (SPV_NV_cooperative_matrix2)."""

from __future__ import annotations

from girih.spirv.model.facts import Facts
from girih.spirv.model.matrices.tangled import is_tangled_by_matrix, reached_from, tangled_functions
from girih.spirv.rules.matrices.terms import NV, is_function
from girih.spirv.rules.row import SpirvRow, rule
from girih.spirv.rules.terms import Finds, Subject, Undetermined, instruction_of, present, words_of


def _recursion(name: str) -> Finds:
    """The predicate that a function does not reach the function that has it called."""

    def find(subject: Subject[Facts]) -> str | None:
        facts, called = subject.facts, present(subject, name)
        around = facts.function_of(instruction_of(subject))
        if around is None:
            raise Undetermined
        return "a function that calls the one it is called from" if around.id in reached_from(facts, called) else None

    return Finds(f"{words_of(name)} does not reach the function around this instruction", find)


def _tangled(name: str) -> Finds:
    """The predicate that a function reaches no tangled instruction."""

    def find(subject: Subject[Facts]) -> str | None:
        facts, called = subject.facts, present(subject, name)
        one = facts.once(tangled_functions).get(called)
        if one is None:
            return None
        home = facts.function_of(one)
        words = f"{one.name} of a cooperative matrix" if is_tangled_by_matrix(one) else one.name
        return words if home is None or home.id == called else f"{words} in a function that it calls"

    return Finds(f"{words_of(name)} reaches no tangled instruction", find)


def function_row(name: str, prefix: str, source: str, beyond: str | None = None) -> SpirvRow:
    """The row that an operand is a function."""
    return rule(f"{prefix}function", name, is_function(name), "a function", source, beyond=beyond)


def reach_rows(name: str, prefix: str) -> tuple[SpirvRow, ...]:
    """The rows about what a function that is called for elements must not reach."""
    return (
        rule(
            f"{prefix}recursion", name, _recursion(name), "a function that does not call back",
            "SPIR-V 2.16.1", beyond="spirv-val does not follow calls for elements",
        ),
        rule(
            f"{prefix}tangled", name, _tangled(name),
            "a function without tangled instructions (barriers, subgroup operations, matrices), also in what it calls",
            f"{NV} 2.16.1", beyond="spirv-val does not look into functions that are called for elements",
        ),
    )  # fmt: skip
