"""The CUDA driver's words for tensor maps: the calls that encode one, their parameters, their enumerations.

Everything here is transcribed from the CUDA driver API 13.0, cuda.h. What is written out of a map, and what is read
from a dump of one, uses this one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from girih.addressing.tensor_map.parameters import MapParameters, Mode

# In the order of their numbers.
TYPES = {
    "UINT8": "u8", "UINT16": "u16", "UINT32": "u32", "INT32": "s32", "UINT64": "u64", "INT64": "s64", "FLOAT16": "f16",
    "FLOAT32": "f32", "FLOAT64": "f64", "BFLOAT16": "bf16", "FLOAT32_FTZ": "f32_ftz", "TFLOAT32": "tf32",
    "TFLOAT32_FTZ": "tf32_ftz", "16U4_ALIGN8B": "b4x16", "16U4_ALIGN16B": "b4x16_p64", "16U6_ALIGN16B": "b6x16_p32",
}  # fmt: skip
"""The element types, `CU_TENSOR_MAP_DATA_TYPE_...`."""
SHARED_TYPES = {"b32": "u32", "b64": "u64", "b6p2x16": "b6x16_p32"}
"""Element types that are encoded as another one (004 5.5.1.1.1 for the last)."""
INTERLEAVES = {"NONE": "none", "16B": "16B", "32B": "32B"}
"""The interleave layouts, `CU_TENSOR_MAP_INTERLEAVE_...`."""
SWIZZLES = {"NONE": "none", "32B": "32B", "64B": "64B", "128B": "128B", "128B_ATOM_32B": "128B_atom_32B",
            "128B_ATOM_32B_FLIP_8B": "128B_atom_32B_flip_8B", "128B_ATOM_64B": "128B_atom_64B"}  # fmt: skip
"""The swizzles, `CU_TENSOR_MAP_SWIZZLE_...`."""
FILLS = {"NONE": "zero", "NAN_REQUEST_ZERO_FMA": "nan"}
"""The fills of elements outside the tensor, `CU_TENSOR_MAP_FLOAT_OOB_FILL_...`."""


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An enumeration of the driver: its name, the prefix of its values, and girih's name of each value."""

    name: str
    prefix: str
    words: Mapping[str, str]

    def value_of(self, word: str) -> str:
        """The driver's name of a value that girih calls `word`."""
        meant = SHARED_TYPES.get(word, word)
        return next(self.prefix + name for name, known in self.words.items() if known == meant)

    def number_of(self, word: str) -> int:
        """The driver's number of a value that girih calls `word`."""
        return list(self.words.values()).index(SHARED_TYPES.get(word, word))


ENUMERATIONS: dict[str, Enumeration] = {
    "dtype": Enumeration("CUtensorMapDataType", "CU_TENSOR_MAP_DATA_TYPE_", TYPES),
    "interleave": Enumeration("CUtensorMapInterleave", "CU_TENSOR_MAP_INTERLEAVE_", INTERLEAVES),
    "swizzle": Enumeration("CUtensorMapSwizzle", "CU_TENSOR_MAP_SWIZZLE_", SWIZZLES),
    "l2_promotion": Enumeration("CUtensorMapL2promotion", "CU_TENSOR_MAP_L2_PROMOTION_", {"NONE": "none"}),
    "oob_fill": Enumeration("CUtensorMapFloatOOBfill", "CU_TENSOR_MAP_FLOAT_OOB_FILL_", FILLS),
}
"""The enumeration of each parameter that has one. No byte depends on `l2_promotion`, and a map does not hold it."""

LISTS: dict[str, str] = {
    "global_dim": "cuuint64_t", "global_strides": "cuuint64_t", "box_dim": "cuuint32_t",
    "element_strides": "cuuint32_t", "lower_corner": "int", "upper_corner": "int",
}  # fmt: skip
"""The type of an entry of each parameter that is an array."""
NUMBERS = ("rank", "channels_per_pixel", "pixels_per_column")
"""The parameters that are one number."""

CALLS: dict[str, tuple[str, ...]] = {
    "Tiled": ("tensor_map", "dtype", "rank", "global_address", "global_dim", "global_strides", "box_dim",
              "element_strides", "interleave", "swizzle", "l2_promotion", "oob_fill"),
    "Im2col": ("tensor_map", "dtype", "rank", "global_address", "global_dim", "global_strides", "lower_corner",
               "upper_corner", "channels_per_pixel", "pixels_per_column", "element_strides", "interleave", "swizzle",
               "l2_promotion", "oob_fill"),
}  # fmt: skip
"""The parameters of `cuTensorMapEncode...` in order, under girih's names."""

CALL_OF: dict[Mode, str] = {"tiled": "Tiled", "im2col": "Im2col"}
"""The call that encodes a map of each mode."""

_DRIVER_NAMES = {
    "dtype": "tensorDataType", "rank": "tensorRank", "lower_corner": "pixelBoxLowerCorner",
    "upper_corner": "pixelBoxUpperCorner",
}  # fmt: skip


def driver_name(parameter: str) -> str:
    """The driver's name of a parameter, such as `globalDim`."""
    words = parameter.split("_")
    return _DRIVER_NAMES.get(parameter, words[0] + "".join(word.capitalize() for word in words[1:]))


def encode_arguments(given: MapParameters, address: int) -> dict[str, int | tuple[int, ...]]:
    """The arguments of `cuTensorMapEncode...` behind the place of the result, in order, for a tensor at an address.

    Enumerations are given by their numbers, lists as tuples, innermost dimension first.
    """
    values: dict[str, int | tuple[int, ...]] = {}
    for name in CALLS[CALL_OF[given.mode]][1:]:
        if name == "global_address":
            values[name] = address
        elif name in ENUMERATIONS:
            word = "none" if name == "l2_promotion" else getattr(given, name)
            values[name] = ENUMERATIONS[name].number_of(word)
        else:
            values[name] = getattr(given, name)
    return values
