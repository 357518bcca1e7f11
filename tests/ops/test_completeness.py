"""No instruction without a doc line, an accepted program, a run vector, a meaning, and a rejected line per rule."""

from __future__ import annotations

from importlib import import_module

import pytest

from girih.ops.tile import TILE_LANGUAGE
from tests.ops import corpus


def used(file: corpus.File, functions: set[str] | None = None) -> set[str]:
    """The mnemonics that a file uses, in some of its functions or all."""
    chosen = [f for f in file.module.functions if functions is None or f.name in functions]
    return {op.spec.mnemonic for function in chosen for op in function.walk()}


def test_every_folder_is_named_after_something() -> None:
    assert {folder.name for folder in corpus.folders()} <= set(TILE_LANGUAGE.rules)


@pytest.mark.parametrize("mnemonic", corpus.MNEMONICS)
def test_doc_line(mnemonic: str) -> None:
    doc = TILE_LANGUAGE.ops[mnemonic].spec.doc
    assert doc.splitlines()[0].endswith("."), doc
    specifications = ("000 ", "001 ", "002 ", "003 ", "004 ", "SPIR-V ")
    assert TILE_LANGUAGE.ops[mnemonic].spec.section.startswith(specifications), "the section names its specification"


@pytest.mark.parametrize("mnemonic", corpus.MNEMONICS)
def test_accepted_program(mnemonic: str) -> None:
    assert mnemonic in used(corpus.read(corpus.FOLDER / mnemonic / "ok.tl"))


@pytest.mark.parametrize("mnemonic", corpus.MNEMONICS)
def test_run_vector(mnemonic: str) -> None:
    file = corpus.read(corpus.FOLDER / mnemonic / "run.tl")
    assert file.vectors
    assert mnemonic in used(file, file.functions_run)


@pytest.mark.parametrize("mnemonic", corpus.PSEUDO_MNEMONICS)
def test_accepted_program_of_what_is_no_instruction(mnemonic: str) -> None:
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
