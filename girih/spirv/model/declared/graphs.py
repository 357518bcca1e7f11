"""Graphs of tensors in a module (SPV_ARM_graph): the order of their instructions, the inputs and outputs they name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from girih.spirv.instruction import Instruction
from girih.spirv.model.extended import is_non_semantic
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault, FaultList

BEGIN, INPUT, OUTPUT, END = "OpGraphARM", "OpGraphInputARM", "OpGraphSetOutputARM", "OpGraphEndARM"
ENTRY_POINT = "OpGraphEntryPointARM"

INDEX = {INPUT: "input_index", OUTPUT: "output_index"}
"""The operands that say which input or output is meant."""


class _Region(IntEnum):
    """The parts of a graph, in order."""

    OUTSIDE, BEGIN, INPUTS, BODY, OUTPUTS = range(5)


def graphs(facts: Facts) -> Mapping[int, Instruction]:
    """The graph in which an instruction stands, as its OpGraphARM, by the index of the instruction."""
    return facts.once(_Graphs).of


def graph_faults(facts: Facts) -> FaultList:
    """What is wrong with the order of the instructions of graphs, and with the inputs and outputs that they name."""
    return facts.once(_Graphs).found


class _Graphs:
    """One pass over the graphs of a module, which stand behind its functions."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.of: dict[int, Instruction] = {}
        self.found = FaultList()
        self._graph: Instruction | None = None
        self._region = _Region.OUTSIDE
        self._named: set[tuple[str, int, int | None]] = set()
        self._begun = False
        for one in facts.instructions:
            if self._begun and one.name == "OpFunction":
                break  # It stands behind its section, as another rule tells.
            self._take(one)
        if self._graph is not None:
            self.found.add("ends", self._graph.index, Fault("the end of the graphs"))

    def _take(self, one: Instruction) -> None:
        if self._graph is not None:
            self.of[one.index] = self._graph
        self._begun = self._begun or one.name in _HANDLERS
        handler = _HANDLERS.get(one.name)
        if handler is not None:
            handler(self, one)
        elif self._begun and one.name not in LINES and not is_non_semantic(self._facts.module, one):
            if self._region in (_Region.OUTSIDE, _Region.OUTPUTS):
                self._wrong("body", one, self._came())
            else:
                self._region = _Region.BODY

    def _entry_point(self, one: Instruction) -> None:
        if self._graph is not None:
            self._wrong("place", one, f"a place in graph {self._facts.called(self._graph.result)}")

    def _begin(self, one: Instruction) -> None:
        if self._graph is not None:
            self._wrong("nested", one, f"a place in graph {self._facts.called(self._graph.result)}")
        self._graph, self._region = one, _Region.BEGIN
        self._named = set()
        self.of[one.index] = one

    def _input(self, one: Instruction) -> None:
        if self._region not in (_Region.BEGIN, _Region.INPUTS):
            self._wrong("place", one, self._came())
        if self._region is _Region.BEGIN:
            self._region = _Region.INPUTS
        self._names(one)

    def _output(self, one: Instruction) -> None:
        if self._region is _Region.OUTSIDE:
            self._wrong("place", one, self._came())
        else:
            self._region = _Region.OUTPUTS
        self._names(one)

    def _end(self, one: Instruction) -> None:
        if self._region is not _Region.OUTPUTS:
            self._wrong("outputs", one, self._came())
        self._graph, self._region = None, _Region.OUTSIDE

    def _came(self) -> str:
        if self._region is _Region.OUTSIDE:
            return "a place in no graph"
        return {
            _Region.BEGIN: "a place at the beginning of a graph", _Region.INPUTS: "a place after inputs",
            _Region.BODY: "a place after other instructions", _Region.OUTPUTS: "a place after outputs",
        }[self._region]  # fmt: skip

    def _wrong(self, rule: str, one: Instruction, came: str) -> None:
        self.found.add(rule, one.index, Fault(came))

    def _names(self, one: Instruction) -> None:
        """Take down which input or output is named, and tell what was named before: whole, or the same element."""
        values = self._facts.declarations.values
        operand = one.operand(INDEX[one.name])
        index, elements = values.get(one.id(INDEX[one.name])), one.ids("element_index")
        element = values.get(elements[0]) if elements else None
        if operand is None or not isinstance(index, int) or (elements and not isinstance(element, int)):
            return
        key = one.name, index, element if isinstance(element, int) else None
        if key in self._named or (one.name, index, None) in self._named:
            what = f"{index}" + (f", element {element}" if elements else "")
            self.found.add("twice", one.index, Fault(f"{what}, which is named before", (operand,)))
        self._named.add(key)


_HANDLERS = {
    ENTRY_POINT: _Graphs._entry_point, BEGIN: _Graphs._begin, INPUT: _Graphs._input, OUTPUT: _Graphs._output,
    END: _Graphs._end,
}  # fmt: skip


LINES = ("OpLine", "OpNoLine")
"""Instructions that may stand anywhere, as those of non-semantic sets may."""
