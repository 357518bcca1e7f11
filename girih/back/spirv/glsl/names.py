"""Names in a shader: words for readers where there are some, else short ones; none that GLSL has, none twice."""

from __future__ import annotations

import re

_WORDS = """
    active all any asm atomic_uint attribute bool bvec2 bvec3 bvec4 break buffer bvec case cast centroid class coherent
    common const continue coopmat coopmatNV default demote devicecoherent discard dmat2 dmat3 dmat4 do double dvec2
    dvec3 dvec4 else enum extern external false filter fixed flat float for goto half highp hvec2 hvec3 hvec4 if image
    image1D image2D image3D in inline inout input int interface invariant isampler2D ivec2 ivec3 ivec4 layout long
    lowp main mat2 mat3 mat4 mediump namespace noinline nonprivate nontemporal noperspective out output packed
    partition patch precise precision private public queuefamilycoherent readonly resource restrict return sample
    sampler sampler1D sampler2D sampler3D shadercoherent shared short sizeof smooth static struct subgroupcoherent
    subpassInput subroutine superp switch template tensorLayoutNV tensorViewNV texture texture1D texture2D texture3D
    this true typedef uint uniform union unsigned using utexture2D uvec2 uvec3 uvec4 varying vec2 vec3 vec4 vector
    void volatile while workgroupcoherent writeonly fvec2 fvec3 fvec4 usampler2D
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t float16_t float32_t float64_t bfloat16_t
    floate4m3_t floate5m2_t
    abs acos acosh asin asinh atan atanh barrier bitCount bitfieldExtract bitfieldInsert bitfieldReverse ceil clamp
    controlBarrier cos cosh cross degrees determinant distance dot equal exp exp2 faceforward findLSB findMSB
    floatBitsToInt floatBitsToUint floor fma fract frexp greaterThan imulExtended intBitsToFloat inverse inversesqrt
    isinf isnan ldexp length lessThan log log2 matrixCompMult max memoryBarrier min mix mod modf noise1 normalize not
    notEqual outerProduct pow radians reflect refract round roundEven saturatedConvertEXT sign sin sinh smoothstep sqrt
    step tan tanh transpose trunc uaddCarry uintBitsToFloat umulExtended usubBorrow
"""
RESERVED = frozenset(_WORDS.split())
"""Keywords, words kept for later, and functions (GLSL 4.60, sections 3.6 and 8), with those of the extensions."""

_FUNCTIONS = re.compile("(subgroup|atomic|coopMat|texture|image|[a-z]*Tensor[A-Z]|[a-z]*BitsTo)[A-Z]")
"""The beginnings of more functions."""

_INDICES = ("i", "j", "k", "l", "m", "n")


class Names:
    """The names of a shader, or of one of its functions: each is given once.

    Functions may use the same names, but none that the shader has for what stands outside of them, also later.
    """

    def __init__(self, outer: Names | None = None) -> None:
        """No names yet but those of the shader, `outer`."""
        self._outer = outer
        self._taken: set[str] = set(RESERVED) if outer is None else set()
        self._inside: set[str] = set()
        self._next = 0

    def _is_free(self, name: str) -> bool:
        others = self._inside if self._outer is None else self._outer._taken
        return name not in self._taken and name not in others

    def _took(self, name: str) -> str:
        self._taken.add(name)
        if self._outer is not None:
            self._outer._inside.add(name)
        return name

    def take(self, wanted: str) -> str:
        """A name like a word that is wanted: itself where it is free and GLSL permits it."""
        legal = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_]", "_", wanted))
        if not legal.strip("_") or legal[0].isdigit() or legal.startswith("gl_"):
            legal = f"v_{legal}".replace("__", "_")
        if legal in RESERVED or _FUNCTIONS.match(legal):
            legal = f"{legal.rstrip('_')}_"
        name, number = legal, 1
        while not self._is_free(name):
            number += 1
            name = f"{legal}{'' if not legal[-1].isdigit() else '_'}{number}".replace("__", "_")
        return self._took(name)

    def fresh(self) -> str:
        """A short name for a value that no word is known for."""
        while True:
            self._next += 1
            name = f"v{self._next}"
            if self._is_free(name):
                return self._took(name)

    def index(self, depth: int) -> str:
        """A name for the index of a loop that has `depth` loops around it."""
        return self.take(_INDICES[min(depth, len(_INDICES) - 1)])

    def free(self, name: str) -> None:
        """Permit a name again, where what it named is out of sight."""
        self._taken.discard(name)
