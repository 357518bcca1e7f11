"""Rules about memory semantics: the order that an instruction asks for, and the memory that it orders (SPIR-V 3.32).

Rules of Vulkan's memory model hold in environments of Vulkan, and for modules that declare the model. A comparison and
exchange has two memory semantics, Equal and Unequal; a row is about each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault
from girih.spirv.rules.concurrency.scopes import has_scope, unfixed
from girih.spirv.rules.row import SpirvRow, rule
from girih.spirv.rules.terms import Faultless, Subject, Undetermined, instruction_of, is_32_bit_integer, words_of

ACQUIRE, RELEASE, ACQUIRE_RELEASE, SEQUENTIALLY_CONSISTENT = 0x2, 0x4, 0x8, 0x10
UNIFORM, WORK_GROUP, IMAGE, OUTPUT = 0x40, 0x100, 0x800, 0x1000
MAKE_AVAILABLE, MAKE_VISIBLE, VOLATILE = 0x2000, 0x4000, 0x8000
"""Bits of memory semantics (SPIR-V 3.32)."""

ORDERS = ACQUIRE | RELEASE | ACQUIRE_RELEASE | SEQUENTIALLY_CONSISTENT
STORAGE = UNIFORM | WORK_GROUP | IMAGE | OUTPUT
"""The storage classes that Vulkan's memory model orders."""

RELEASING = RELEASE | ACQUIRE_RELEASE
ACQUIRING = ACQUIRE | ACQUIRE_RELEASE

_OPERANDS = ("semantics", "equal", "unequal")
_SECTION = "SPIR-V 3.32"
_MEMORY_CLASSES = "UniformMemory, WorkgroupMemory, ImageMemory or OutputMemory"


def _each(subject: Subject[Facts]) -> Iterator[Operand]:
    """The memory semantics of an instruction."""
    return (one for one in instruction_of(subject).operands if one.name in _OPERANDS)


def _masks(subject: Subject[Facts]) -> Iterator[tuple[Operand, int]]:
    """The memory semantics whose bits are known, with these; another value may make right those of a default."""
    for one in _each(subject):
        id = subject.op.id(one.name)
        if subject.facts.rests_on_default(id):
            continue
        try:
            yield one, subject.facts.integer(id) & 0xFFFFFFFF
        except Undetermined:
            continue


def _names(mask: int) -> str:
    return grammar().kinds["MemorySemantics"].name_of(mask)


def _fault(one: Operand, mask: int) -> Fault:
    return Fault(f"{words_of(one.name)} is {_names(mask)}", (one,))


def _bits(words: str, test: Callable[[int], bool]) -> Faultless:
    """The predicate that memory semantics pass a test; the bits of the first that do not are what came."""

    def wrong(subject: Subject[Facts]) -> Fault | None:
        return next((_fault(one, mask) for one, mask in _masks(subject) if not test(mask)), None)

    return Faultless(f"memory semantics {words}", wrong)


def _in_vulkan_model(predicate: Faultless) -> Faultless:
    """The predicate where the rules of Vulkan's memory model hold."""

    def wrong(subject: Subject[Facts]) -> Fault | None:
        holds = subject.facts.is_vulkan or subject.facts.memory_model == "Vulkan"
        return predicate.search(subject) if holds else None

    return Faultless(f"in Vulkan, and with the memory model Vulkan: {predicate.words}", wrong)


def _vuid(number: int, part: str = "MemorySemantics") -> str:
    return f"VUID-StandaloneSpirv-{part}-{number}"


def _bit_needs(id: str, name: str, bit: int, capability: str) -> SpirvRow:
    """The row of the capability that a bit needs."""

    def without(subject: Subject[Facts]) -> Fault | None:
        if subject.facts.has(capability):
            return None
        return next((_fault(one, mask) for one, mask in _masks(subject) if mask & bit), None)

    return rule(f"semantics_{id}", "", Faultless(f"with {name}: the module has capability {capability}", without),
                f"capability {capability} for {name} in memory semantics", _SECTION)  # fmt: skip


def _bit_with(id: str, name: str, bit: int, orders: int, number: int) -> SpirvRow:
    """The row of the orders, one of which a bit goes with."""
    either = " or ".join(_names(order) for order in (ACQUIRE, RELEASE, ACQUIRE_RELEASE) if order & orders)
    return rule(f"semantics_{id}", "",
                _bits(f"with {name} have {either}", lambda mask: not mask & bit or bool(mask & orders)),
                f"{either} with {name} in memory semantics", _vuid(number))  # fmt: skip


def _other_type(subject: Subject[Facts]) -> Fault | None:
    for one in _each(subject):
        type = subject.facts.type_of(subject.op.id(one.name))
        if not is_32_bit_integer(type):
            return Fault(f"{words_of(one.name)} is {type.words}", (one,))
    return None


def _unfixed(subject: Subject[Facts]) -> Fault | None:
    if not subject.facts.has("Shader"):
        return None
    found = ((one, unfixed(subject, one.name)) for one in _each(subject))
    return next((Fault(came, (one,)) for one, came in found if came), None)


def _invocation(subject: Subject[Facts]) -> Fault | None:
    return _UNORDERED.search(subject) if has_scope("memory", "Invocation")(subject) else None


_UNORDERED = _bits("have no order", lambda mask: not mask & ORDERS)

SEMANTICS = (
    rule("semantics_type", "", Faultless("memory semantics are 32-bit integers", _other_type),
         "a 32-bit integer as memory semantics", _SECTION),
    rule("semantics_constant", "",
         Faultless("with capability Shader: memory semantics are constants, and no specialisation constants",
                   _unfixed),
         "a constant as memory semantics, which specialisation does not change", _SECTION),
    _bit_needs("uniform", "UniformMemory", UNIFORM, "Shader"),
    _bit_needs("output", "OutputMemory", OUTPUT, "VulkanMemoryModel"),
    rule("semantics_order", "",
         _bits("have at most one order", lambda mask: (mask & ORDERS).bit_count() <= 1),
         "at most one of Acquire, Release, AcquireRelease and SequentiallyConsistent", _vuid(10865)),
    rule("semantics_sequential", "",
         _in_vulkan_model(_bits("are not SequentiallyConsistent", lambda mask: not mask & SEQUENTIALLY_CONSISTENT)),
         "another order than SequentiallyConsistent, which Vulkan does not have", _vuid(10866)),
    rule("semantics_storage", "",
         _in_vulkan_model(_bits(f"with an order have {_MEMORY_CLASSES}",
                                lambda mask: not mask & ORDERS or bool(mask & STORAGE))),
         f"{_MEMORY_CLASSES} in memory semantics with an order", _vuid(10870)),
    rule("semantics_unordered", "",
         _in_vulkan_model(_bits(f"with {_MEMORY_CLASSES} have an order",
                                lambda mask: not mask & STORAGE or bool(mask & ORDERS))),
         "Acquire, Release or AcquireRelease in memory semantics with a storage class", _vuid(10871)),
    _bit_needs("make_available", "MakeAvailable", MAKE_AVAILABLE, "VulkanMemoryModel"),
    _bit_with("available", "MakeAvailable", MAKE_AVAILABLE, RELEASING, 10872),
    _bit_needs("make_visible", "MakeVisible", MAKE_VISIBLE, "VulkanMemoryModel"),
    _bit_with("visible", "MakeVisible", MAKE_VISIBLE, ACQUIRING, 10873),
    _bit_needs("volatile", "Volatile", VOLATILE, "VulkanMemoryModel"),
    rule("semantics_invocation", "",
         _in_vulkan_model(Faultless("where Memory is Invocation: memory semantics have no order", _invocation)),
         "no order among accesses that only their invocation sees", "VUID-StandaloneSpirv-None-04641"),
)  # fmt: skip
"""The rows of every instruction with memory semantics."""


def _without(id: str, operand: str, bits: int, source: str) -> SpirvRow:
    """The row that memory semantics have none of some orders."""
    neither = " nor ".join(_names(order) for order in (ACQUIRE, RELEASE, ACQUIRE_RELEASE) if order & bits)

    def wrong(subject: Subject[Facts]) -> Fault | None:
        found = ((one, mask) for one, mask in _masks(subject) if one.name == operand)
        return next((_fault(one, mask) for one, mask in found if mask & bits), None)

    return rule(id, "", Faultless(f"{words_of(operand)} is neither {neither}", wrong),
                f"neither {neither} in {words_of(operand)}", source)  # fmt: skip


OF_LOAD = (_without("semantics_load", "semantics", RELEASING, _vuid(10868)),)
"""The row of an atomic load, which releases nothing."""

OF_STORE = (_without("semantics_store", "semantics", ACQUIRING, _vuid(10867)),)
"""The row of an atomic store, which acquires nothing."""

OF_BARRIER = (
    rule("semantics_barrier", "", _bits("are not Volatile", lambda mask: not mask & VOLATILE),
         "no Volatile in Semantics of a barrier, which accesses nothing", _vuid(13551)),
)  # fmt: skip
"""The row of every barrier."""

OF_MEMORY_BARRIER = (
    rule("semantics_relaxed", "", _in_vulkan_model(_bits("have an order", lambda mask: bool(mask & ORDERS))),
         "Acquire, Release or AcquireRelease in Semantics, without which a memory barrier does nothing",
         _vuid(10869)),
)  # fmt: skip

UNKNOWN_SPLIT = "spirv-val 2025.5 has no rules about split barriers; later ones have"

OF_ARRIVAL = (
    rule("semantics_arrive", "",
         _in_vulkan_model(_bits("have no order but Release", lambda mask: not mask & ACQUIRING)),
         "no order but Release in Semantics of an arrival", _vuid(13556), beyond=UNKNOWN_SPLIT),
)  # fmt: skip
"""The row of the first half of a split barrier."""

OF_WAIT = (
    rule("semantics_wait", "",
         _in_vulkan_model(_bits("have no order but Acquire", lambda mask: not mask & RELEASING)),
         "no order but Acquire in Semantics of a wait", _vuid(13557), beyond=UNKNOWN_SPLIT),
)  # fmt: skip
"""The row of the second half of a split barrier."""


def _compared(words: str, test: Callable[[int, int], bool]) -> Faultless:
    """The predicate that the semantics of an exchange, and those where nothing is exchanged, pass a test."""

    def wrong(subject: Subject[Facts]) -> Fault | None:
        masks = {one.name: (one, mask) for one, mask in _masks(subject)}
        if "unequal" not in masks:
            raise Undetermined
        operand, unequal = masks["unequal"]
        equal = masks["equal"][1] if "equal" in masks else 0
        if test(equal, unequal):
            return None
        return Fault(f"Unequal is {_names(unequal)}, Equal is {_names(equal)}", (operand,))

    return Faultless(words, wrong)


def _is_stronger(equal: int, unequal: int) -> bool:
    if unequal & SEQUENTIALLY_CONSISTENT:
        return not equal & SEQUENTIALLY_CONSISTENT
    return bool(unequal & ACQUIRE) and not equal & ORDERS


_UNEQUAL = "UnequalMemorySemantics"

OF_EXCHANGE = (
    _without("unequal_release", "unequal", RELEASING, _vuid(10875, _UNEQUAL)),
    rule("unequal_stronger", "",
         _compared("Unequal has no stronger order than Equal",
                   lambda equal, unequal: not _is_stronger(equal, unequal)),
         "no stronger order in Unequal than in Equal", _vuid(10876, _UNEQUAL)),
    rule("unequal_storage", "",
         _in_vulkan_model(_compared("Unequal has no storage class that Equal has not",
                                    lambda equal, unequal: not unequal & ~equal & STORAGE)),
         "no storage class of memory in Unequal that is not in Equal", _vuid(10877, _UNEQUAL)),
    rule("unequal_visible", "",
         _in_vulkan_model(_compared("Unequal has MakeVisible only where Equal has",
                                    lambda equal, unequal: not unequal & ~equal & MAKE_VISIBLE)),
         "no MakeVisible in Unequal without one in Equal", _vuid(10878, _UNEQUAL)),
    rule("unequal_volatile", "",
         _in_vulkan_model(_compared("Unequal has Volatile where Equal has",
                                    lambda equal, unequal: not (unequal ^ equal) & VOLATILE)),
         "Volatile in both of Equal and Unequal, or in none", _vuid(10879, _UNEQUAL)),
)  # fmt: skip
"""The rows of a comparison and exchange, which has memory semantics for either outcome."""
