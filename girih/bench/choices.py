"""The types that `girih bench NAME` offers for a kernel of the library. Imports no NumPy."""

from __future__ import annotations

from collections.abc import Mapping

from girih.kernels.table import FLOATING, TABLE


def types_of(name: str) -> tuple[str, ...]:
    """The types that a kernel is measured in, the usual one first; a kernel for integers has `i32` only."""
    offered = TABLE[name].definitions["type"]
    floating = tuple(type for type in ("f32", *FLOATING) if isinstance(offered, tuple) and type in offered)
    types = tuple(dict.fromkeys(floating)) or ("i32",)
    return ("bf16", *(type for type in types if type != "bf16")) if name == "gemm_mixed" else types


def type_of(name: str, definitions: Mapping[str, object]) -> str:
    """The type that definitions ask for. Raises `ValueError` for another definition, and for a type not offered."""
    other = sorted(set(definitions) - {"type"})
    if other:
        raise ValueError(f"girih bench {name} takes only -D type=...; for ${other[0]}, give the kernel's file: "
                         f"girih bench FILE {name} --grid ...")  # fmt: skip
    types = types_of(name)
    type = str(definitions.get("type", types[0]))
    if type not in types:
        raise ValueError(f"girih bench {name}: type is {type}; it must be one of {', '.join(types)}")
    return type
