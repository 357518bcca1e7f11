"""No instruction without a doc line, an accepted program, a run vector, a meaning, and a rejected line per rule."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from girih.ir.build import RegionBuilder
from girih.ir.core import Op, Value
from girih.ir.surroundings import Subject, Surroundings
from girih.ir.types import BOOL, C32, F32, I32, Type
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Comparison, Unary
from girih.ops.tile.math import Math
from tests.cases import every_case
from tests.ops import corpus

ROOT = Path(__file__).resolve().parent.parent.parent


def used(file: corpus.File, functions: set[str] | None = None) -> set[str]:
    """The mnemonics that a file uses, in some of its functions or all."""
    chosen = [f for f in file.module.functions if functions is None or f.name in functions]
    return {op.spec.mnemonic for function in chosen for op in function.walk()}


def test_every_folder_is_named_after_something() -> None:
    assert {folder.name for folder in corpus.folders()} <= set(TILE_LANGUAGE.rules)


def test_programs_with_any_instruction_can_be_pickled() -> None:
    assert all(pickle.loads(pickle.dumps(op)) is op for op in TILE_LANGUAGE.ops.values())


def test_doc_lines() -> None:
    specifications = ("000 ", "001 ", "002 ", "003 ", "004 ", "SPIR-V ")
    with every_case() as case:
        for mnemonic, op in TILE_LANGUAGE.ops.items():
            with case(mnemonic):
                assert op.spec.doc.splitlines()[0].endswith("."), op.spec.doc
                assert op.spec.section.startswith(specifications), "the section names its specification"


def test_accepted_programs() -> None:
    with every_case() as case:
        for mnemonic in corpus.MNEMONICS:
            with case(mnemonic):
                assert mnemonic in used(corpus.read(corpus.FOLDER / mnemonic / "ok.tl"))


def test_run_vectors() -> None:
    with every_case() as case:
        for mnemonic in corpus.MNEMONICS:
            with case(mnemonic):
                file = corpus.read(corpus.FOLDER / mnemonic / "run.tl")
                assert file.vectors
                assert mnemonic in used(file, corpus.functions_run(file.path))


def test_accepted_programs_of_what_is_no_instruction() -> None:
    with every_case() as case:
        for mnemonic in corpus.PSEUDO_MNEMONICS:
            with case(mnemonic):
                assert corpus.read(corpus.FOLDER / mnemonic / "ok.tl").module.functions


@pytest.mark.parametrize("mnemonic", TILE_LANGUAGE.rules)
def test_rejected_line_for_each_rule(mnemonic: str) -> None:
    wanted = {f"{mnemonic}.{row.id}" for row in TILE_LANGUAGE.rules[mnemonic]}
    missing = wanted - corpus.marked_codes(corpus.FOLDER / mnemonic)
    assert not missing, f"no line of {mnemonic}/bad.tl shows {', '.join(sorted(missing))}"


def test_meaning() -> None:
    import_module("girih.interpreter.run")  # this fills the registry
    from girih.interpreter.machine.machine import MEANINGS

    missing = [mnemonic for mnemonic, op in TILE_LANGUAGE.ops.items() if op not in MEANINGS]
    assert not missing, f"the interpreter has no meaning for {', '.join(missing)}"


def test_lowering_for_the_cpu() -> None:
    from girih.back.llvm.cpu.table import CPU

    missing = [mnemonic for mnemonic, op in TILE_LANGUAGE.ops.items() if op not in CPU]
    assert not missing, f"the CPU target has no lowering for {', '.join(missing)}"


# --- members of families ----------------------------------------------------------------------
#
# Executors enter some families as a whole, so that a new member has a meaning and a lowering at once: which operation
# it is stands in tables further down, by mnemonic and by the types of the operands.

TYPES = {"integer": I32, "floating": F32, "complex": C32, "bool": BOOL}


@dataclass(frozen=True, slots=True)
class Tables:
    """Where the operation of each member of a family stands, for operands of some kinds of types.

    One of the tables of a module has the member's mnemonic, without `prefix` where it has that.
    """

    family: type[Op]
    module: str
    names: tuple[str, ...]
    kinds: tuple[str, ...] = tuple(TYPES)
    prefix: str = ""

    def missing(self) -> list[str]:
        """What to enter, and where."""
        module = import_module(self.module)
        known = {mnemonic for name in self.names for mnemonic in getattr(module, name)}
        where = f"{' or '.join(self.names)} in {self.module.replace('.', '/')}.py"
        return [
            f"{where} has no `{mnemonic.removeprefix(self.prefix)}`, for {', '.join(kinds)} operands of `{mnemonic}`"
            for mnemonic in (member.spec.mnemonic for member in TILE_LANGUAGE.family(self.family))
            if (kinds := [kind for kind in self.kinds if takes(mnemonic, TYPES[kind])])
            and mnemonic.removeprefix(self.prefix) not in known
        ]


def takes(mnemonic: str, type: Type) -> bool:
    """Whether the rules of an instruction leave it operands of a type."""
    body = RegionBuilder(TILE_LANGUAGE)
    fields: dict[str, Any] = {name: Value(name, type) for name in TILE_LANGUAGE.ops[mnemonic].spec.operands}
    body.add(mnemonic, type, **fields)
    subject = Subject(body.ops[0], Surroundings(body.function("f", [])))
    about_operands = [row for row in TILE_LANGUAGE.rules[mnemonic] if "a" in row.blames.split()]
    alone = [row for row in about_operands if "result" not in row.blames.split()]
    return all(row.holds.holds(subject) for row in alone)


NUMBERS, FUNCTIONS, ARITH, INTEGERS, MATH = (
    "girih.interpreter.machine.numbers",
    "girih.interpreter.machine.functions",
    "girih.back.llvm.numbers.arith",
    "girih.back.llvm.numbers.integers",
    "girih.back.llvm.numbers.math",
)
INTERPRETER = [
    Tables(Binary, NUMBERS, ("BINARY",)),
    Tables(Unary, NUMBERS, ("UNARY",)),
    Tables(Comparison, NUMBERS, ("COMPARE",)),
    Tables(Math, FUNCTIONS, ("MATH",)),
]
CPU_TABLES = [
    Tables(Binary, INTEGERS, ("BINARY",), ("integer", "bool")),
    Tables(Binary, ARITH, ("_ROUNDING", "_EXACT"), ("floating",)),
    Tables(Binary, ARITH, ("_COMPLEX",), ("complex",)),
    Tables(Unary, INTEGERS, ("UNARY",), ("integer", "bool")),
    Tables(Unary, ARITH, ("_FLOAT_UNARY",), ("floating",)),
    Tables(Unary, ARITH, ("_COMPLEX_UNARY",), ("complex",)),
    Tables(Comparison, ARITH, ("_INTEGER_PREDICATES",), ("integer",)),
    Tables(Comparison, ARITH, ("_FLOAT_PREDICATES",), ("floating", "complex")),
    Tables(Math, MATH, ("_REAL",), ("floating",), "native_"),
    Tables(Math, MATH, ("_COMPLEX",), ("complex",), "native_"),
]


@pytest.mark.parametrize("tables", [INTERPRETER, CPU_TABLES], ids=["interpreter", "cpu"])
def test_every_member_of_a_family_has_its_operation(tables: list[Tables]) -> None:
    missing = [line for one in tables for line in one.missing()]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize(
    ("room", "tables"), [("interpreter", INTERPRETER), ("back/llvm", CPU_TABLES)], ids=["interpreter", "cpu"]
)
def test_the_tables_of_every_family_that_is_entered_as_a_whole_are_named(room: str, tables: list[Tables]) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "girih" / room).rglob("*.py")]
    entered = {name for text in texts for name in re.findall(r"TILE_LANGUAGE\.family\((\w+)\)", text)}
    assert entered == {one.family.__name__ for one in tables}


def test_which_types_a_member_takes_follows_from_its_rules() -> None:
    taken = {m: [kind for kind, type in TYPES.items() if takes(m, type)] for m in ("add", "shl", "equal", "exp", "log")}
    assert taken == {
        "add": ["integer", "floating", "complex"],
        "shl": ["integer"],
        "equal": ["integer", "floating", "complex"],
        "exp": ["floating", "complex"],
        "log": ["floating"],
    }


def test_a_member_without_its_operation_is_told_with_file_and_table() -> None:
    (line,) = Tables(Math, NUMBERS, ("COMPARE",), ("complex",)).missing()[:1]
    assert line == "COMPARE in girih/interpreter/machine/numbers.py has no `exp`, for complex operands of `exp`"
