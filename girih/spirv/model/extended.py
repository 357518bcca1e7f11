"""Instructions of extended sets: those that compute, and those that mean nothing for what runs."""

from __future__ import annotations

from girih.spirv.instruction import Instruction
from girih.spirv.module import Module
from girih.spirv.vocabulary import DEBUG_SETS, NON_SEMANTIC


def is_extended(one: Instruction) -> bool:
    """Whether an instruction is one of an extended set."""
    return one.name in ("OpExtInst", "OpExtInstWithForwardRefsKHR")


def set_of(module: Module, one: Instruction) -> str:
    """The name of the set of an extended instruction; empty where no import says it."""
    return module.set_name(one.id("set")) or ""


def is_non_semantic(module: Module, one: Instruction) -> bool:
    """Whether an instruction is one of a set that has no meaning for what runs (SPV_KHR_non_semantic_info)."""
    return is_extended(one) and set_of(module, one).startswith(NON_SEMANTIC)


def is_note(module: Module, one: Instruction) -> bool:
    """Whether an extended instruction means nothing for what runs: debug information too."""
    return is_non_semantic(module, one) or (is_extended(one) and set_of(module, one) in DEBUG_SETS)
