"""What an AArch64 machine says of itself: its features, and the size of the vectors of SVE.

LLVM derives features from a processor's name. A hypervisor may hide some of them, an emulator may have others, and LLVM
does not know every name. Linux tells each process what it may use; macOS runs on processors that LLVM knows.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping

__all__ = ["hardware_features", "sve_bits"]

# Linux: include/uapi/linux/auxvec.h and arch/arm64/include/uapi/asm/hwcap.h, with LLVM's names of features. Those by
# which its code generator chooses instructions of its own accord.
_WORDS = {
    16: {
        "lse": 8, "fullfp16": 10, "rdm": 12, "complxnum": 14, "rcpc": 15, "sha3": 17, "dotprod": 20, "sve": 22,
        "fp16fml": 23, "lse2": 25, "rcpc-immo": 26, "flagm": 27,
    },
    26: {"sve2": 1, "altnzcv": 7, "fptoint": 8, "i8mm": 13, "bf16": 14, "cssc": 34, "mops": 43},
}  # fmt: skip
"""By type of entry of the auxiliary vector: the bits of features."""

# include/uapi/linux/prctl.h of Linux.
_PR_SVE_GET_VL = 51
_PR_SVE_VL_LEN_MASK = 0xFFFF


def hardware_features() -> Mapping[str, bool]:
    """The features that Linux says are there, or are not, in LLVM's words; none on another system."""
    if sys.platform != "linux":
        return {}
    try:
        ask = ctypes.CDLL(None).getauxval
    except (AttributeError, OSError):
        return {}
    ask.argtypes, ask.restype = [ctypes.c_ulong], ctypes.c_ulong
    words = {type: int(ask(type)) for type in _WORDS}
    return {feature: bool(words[type] >> bit & 1) for type, bits in _WORDS.items() for feature, bit in bits.items()}


def sve_bits() -> int:
    """The size of this process's vectors of SVE in bits; 0 where there is no SVE."""
    if not hardware_features().get("sve"):
        return 0
    answer = int(ctypes.CDLL(None).prctl(_PR_SVE_GET_VL))
    return 8 * (answer & _PR_SVE_VL_LEN_MASK) if answer > 0 else 0
