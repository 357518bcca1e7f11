"""A tensor map as code: the driver's call that encodes it, and a copy through it, in C, PTX or Python.

`TensorMap.code` is the way in. What is written here can be read back by `girih address tensor-map --paste`.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence

from girih.addressing.errors import RuleReport, rule
from girih.addressing.tensor_map.code_ptx import FOUR_ROWS, CopyInstruction, instruction_of, ptx
from girih.addressing.tensor_map.driver import CALL_OF, CALLS, ENUMERATIONS, LISTS, driver_name
from girih.addressing.tensor_map.parameters import MapParameters

LANGUAGE = rule("tensor_map.code_language", "code is written in c, ptx or python", "girih")
NAME = rule("tensor_map.code_name", "names in code begin with a letter, and have letters, digits and _", "girih")


def written(given: MapParameters, language: str, copy: str, name: str) -> str:
    """The code of a map and of a copy through it. Raises `AddressingError` for what cannot be written."""
    report = RuleReport("TensorMap.code")
    chosen = report.word("language", language, WRITERS, LANGUAGE)
    if not isinstance(name, str) or not _is_name(name):
        report.add(NAME, f"name = {name!r} is no name", "choose one such as tensor or a_tile")
    report.done()
    instruction = instruction_of(given, copy)
    return WRITERS[chosen](given, instruction, name, _about(given, instruction))


def _is_name(name: str) -> bool:
    """Whether C, PTX and Python take a name: a letter first, and no word of Python's own."""
    return name.isascii() and name[:1].isalpha() and name.isidentifier() and not keyword.iskeyword(name)


def _about(given: MapParameters, instruction: CopyInstruction) -> list[str]:
    """What the code does, in words: lines of a comment."""
    sizes = " x ".join(map(str, given.global_dim))
    box = " x ".join(map(str, given.box_dim))
    if given.mode == "im2col":
        box = f"{given.pixels_per_column} pixels of {given.channels_per_pixel} channels"
    if instruction.copy in FOUR_ROWS:
        box = f"four rows of {given.box_dim[0]}"
    extra = [f"{what} {word}" for what, word in (("swizzle", given.swizzle), ("interleave", given.interleave),
                                                 ("fill", given.oob_fill)) if word not in ("none", "zero")]  # fmt: skip
    lines = [
        f"Tensor map of {given.dtype} in {given.mode} mode: {sizes}, innermost dimension first.",
        f"A copy moves {', '.join([box, *extra])}.",
        "",
        instruction.opcode,
        "    " + instruction.written("box", "map", "mbarrier", instruction.coordinates, instruction.offsets)
        .removeprefix(instruction.opcode).strip(),
        "",
    ]  # fmt: skip
    if instruction.expected_bytes:
        lines.append(f"The mbarrier expects {instruction.expected_bytes} bytes.")
    room = f"The box takes {instruction.shared_bytes} bytes of shared memory"
    lines.append(f"{room}, from a multiple of {instruction.alignment} on.")
    if not instruction.is_measured:
        lines.append("Not measured: this form follows the PTX ISA, and did not run on a device.")
    return lines


def _sizes(instruction: CopyInstruction) -> dict[str, int]:
    """The constants that a program needs, by the ends of their names."""
    expected = {"expected_bytes": instruction.expected_bytes} if instruction.direction == "load" else {}
    return {**expected, "shared_bytes": instruction.shared_bytes}


def _arguments(given: MapParameters) -> tuple[str, tuple[str, ...]]:
    """The driver's call, and its parameters behind the map itself."""
    call = CALL_OF[given.mode]
    return f"cuTensorMapEncode{call}", CALLS[call][1:]


# --- C -----------------------------------------------------------------------------------------


def _c(given: MapParameters, instruction: CopyInstruction, name: str, about: Sequence[str]) -> str:
    call, parameters = _arguments(given)
    arrays = [_c_array(parameter, _entries(given, parameter)) for parameter in parameters if parameter in LISTS]
    values = ["tensor_map", *(_c_value(given, parameter) for parameter in parameters)]
    lines = [
        "/*",
        *(f" * {line}".rstrip() for line in about),
        " */",
        "#include <cuda.h>",
        "",
        f"enum {{ {', '.join(f'{name}_{what} = {value}' for what, value in _sizes(instruction).items())} }};",
        "",
        "/* Encode the map of a tensor whose bytes begin at `address` on the device. */",
        f"static inline CUresult encode_{name}(CUtensorMap *tensor_map, void *address)",
        "{",
        *(f"    {line}" for line in arrays),
        f"    return {call}(",
        *(f"        {value}{',' if place + 1 < len(values) else ');'}" for place, value in enumerate(values)),
        "}",
        "",
        "#ifdef __CUDACC__",
        *_c_device(instruction, name),
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _entries(given: MapParameters, parameter: str) -> tuple[int, ...]:
    """The entries of an array: at least one, as the driver refuses a null pointer for the strides of one dimension."""
    values: tuple[int, ...] = getattr(given, parameter)
    return values or (0,)


def _c_array(parameter: str, values: Sequence[int]) -> str:
    entries = ", ".join(map(str, values))
    return f"const {LISTS[parameter]} {driver_name(parameter)}[{len(values)}] = {{{entries}}};"


def _c_value(given: MapParameters, parameter: str) -> str:
    if parameter in ENUMERATIONS:
        return ENUMERATIONS[parameter].value_of(getattr(given, parameter, "none"))
    if parameter in LISTS:
        return driver_name(parameter)
    return "address" if parameter == "global_address" else str(getattr(given, parameter))


def _c_device(instruction: CopyInstruction, name: str) -> list[str]:
    """A function of the device that starts the copy."""
    load = instruction.direction == "load"
    first = 3 if load else 2
    numbers = [f"%{first + place}" for place in range(len(instruction.coordinates) + len(instruction.offsets))]
    count = len(instruction.coordinates)
    parameters = ["const CUtensorMap *tensor_map", "unsigned box", *(["unsigned mbarrier"] if load else []),
                  *(f"int {one}" for one in instruction.coordinates),
                  *(f"unsigned short {one}" for one in instruction.offsets)]  # fmt: skip
    inputs = ['"r"(box)', '"l"(tensor_map)', *(['"r"(mbarrier)'] if load else []),
              *(f'"r"({one})' for one in instruction.coordinates),
              *(f'"h"({one})' for one in instruction.offsets)]  # fmt: skip
    text = instruction.written("%0", "%1", "%2", numbers[:count], numbers[count:])
    opcode, rest = text.split(" ", 1)
    expect = [
        '    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"',
        f'                 :: "r"(mbarrier), "r"({name}_expected_bytes) : "memory");',
    ]
    commit = '    asm volatile("cp.async.bulk.commit_group;" ::: "memory");'
    shared = "`box` and `mbarrier` are addresses" if load else "`box` is an address"
    return [
        f"/* For one thread; {shared} in shared memory{'' if load else ', whose bytes a fence.proxy.async covers'}. */",
        f"static inline __device__ void {name}_{instruction.copy.replace('.', '_')}(",
        f"    {', '.join(parameters)})",
        "{",
        *(expect if load else []),
        f'    asm volatile("{opcode} "',
        f'                 "{rest}"',
        f'                 :: {", ".join(inputs)} : "memory");',
        *([] if load else [commit]),
        "}",
    ]


# --- Python ------------------------------------------------------------------------------------


def _python(given: MapParameters, instruction: CopyInstruction, name: str, about: Sequence[str]) -> str:
    call, parameters = _arguments(given)
    lines = [
        *(f"# {line}".rstrip() for line in about),
        "from cuda.bindings import driver",
        "",
        *(f"{name}_{what} = {value}".upper() for what, value in _sizes(instruction).items()),
        "",
        "",
        f"def encode_{name}(address):",
        '    """The map of a tensor whose bytes begin at `address` on the device, an int."""',
        f"    error, tensor_map = driver.{call}(",
        *(f"        {_python_value(given, parameter)}," for parameter in parameters),
        "    )",
        "    if error != driver.CUresult.CUDA_SUCCESS:",
        f'        raise RuntimeError(f"{call}: {{error.name}}")',
        "    return tensor_map",
    ]
    return "\n".join(lines) + "\n"


def _python_value(given: MapParameters, parameter: str) -> str:
    if parameter in ENUMERATIONS:
        enumeration = ENUMERATIONS[parameter]
        return f"driver.{enumeration.name}.{enumeration.value_of(getattr(given, parameter, 'none'))}"
    if parameter in LISTS:
        values = _entries(given, parameter)
        if LISTS[parameter] == "int":
            return str(list(values))
        return f"[{', '.join(f'driver.{LISTS[parameter]}({value})' for value in values)}]"
    return "address" if parameter == "global_address" else str(getattr(given, parameter))


# --- PTX ---------------------------------------------------------------------------------------


def _ptx(given: MapParameters, instruction: CopyInstruction, name: str, about: Sequence[str]) -> str:
    kind = "read from" if instruction.direction != "load" else "written to"
    how = [
        "Launch one block with so many bytes of dynamic shared memory; the map is passed by value, as its 128 bytes.",
        f"The bytes of the box are {kind} `image`, global memory.",
    ]
    return ptx(given, instruction, name, [*about, *how])


Writer = Callable[[MapParameters, CopyInstruction, str, Sequence[str]], str]
WRITERS: dict[str, Writer] = {"c": _c, "ptx": _ptx, "python": _python}
"""What writes each language."""
