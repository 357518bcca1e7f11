"""The functions of GLSL.std.450, each by what the specification says of a few numbers."""

from __future__ import annotations

import math

import numpy as np

from tests.front.spirv.expressions import Lines, check, floats, integers

NAN, INF = math.nan, math.inf
STRUCTS = "%float_pair = OpTypeStruct %float %float\n%split = OpTypeStruct %float %int\n"


def glsl(call: str, *given: float, gives: float, ulps: int = 0) -> Lines:
    """A function of floats that gives one."""
    return floats(f"OpExtInst %float %glsl {call}", *given, gives=gives, ulps=ulps)


def test_functions_of_numbers() -> None:
    f1, f2, f3 = "%f0", "%f0 %f1", "%f0 %f1 %f2"
    single = {
        "Sin": math.sin, "Cos": math.cos, "Tan": math.tan, "Asin": math.asin, "Acos": math.acos, "Atan": math.atan,
        "Sinh": math.sinh, "Cosh": math.cosh, "Tanh": math.tanh, "Asinh": math.asinh, "Atanh": math.atanh,
        "Exp": math.exp, "Exp2": lambda x: 2.0**x, "Log": math.log, "Log2": math.log2, "Sqrt": math.sqrt,
    }  # fmt: skip
    x = float(np.float32(0.34375))
    check(
        [
            *(glsl(f"{name} {f1}", x, gives=function(x), ulps=2) for name, function in single.items()),
            glsl(f"Acosh {f1}", 2.0, gives=math.acosh(2)),
            glsl(f"InverseSqrt {f1}", 0.25, gives=2.0),
            glsl(f"Atan2 {f2}", 1.0, -1.0, gives=0.75 * math.pi),
            glsl(f"Pow {f2}", 3.0, 4.0, gives=81.0),
            glsl(f"Round {f1}", 2.75, gives=3.0),
            glsl(f"RoundEven {f1}", 2.5, gives=2.0),
            glsl(f"Trunc {f1}", -2.75, gives=-2.0),
            glsl(f"Floor {f1}", -2.25, gives=-3.0),
            glsl(f"Ceil {f1}", -2.75, gives=-2.0),
            glsl(f"Fract {f1}", -2.25, gives=0.75),
            glsl(f"FAbs {f1}", -2.25, gives=2.25),
            *(glsl(f"FSign {f1}", value, gives=sign) for value, sign in ((-3.0, -1.0), (0.0, 0.0), (0.5, 1.0))),
            glsl(f"Radians {f1}", 180.0, gives=math.pi),
            glsl(f"Degrees {f1}", 0.5, gives=28.64789),
            *(glsl(f"{name} {f2}", NAN, 2.0, gives=2.0) for name in ("FMin", "NMin", "FMax", "NMax")),
            glsl(f"FMin {f2}", -1.0, 2.0, gives=-1.0),
            glsl(f"FMax {f2}", -1.0, 2.0, gives=2.0),
            glsl(f"FClamp {f3}", 5.0, -1.0, 2.0, gives=2.0),
            glsl(f"NClamp {f3}", NAN, -1.0, 2.0, gives=-1.0),
            glsl(f"FMix {f3}", 1.0, 3.0, 0.25, gives=1.5),
            glsl(f"Step {f2}", 1.0, 1.0, gives=1.0),
            glsl(f"Step {f2}", 1.0, 0.5, gives=0.0),
            glsl(f"SmoothStep {f3}", 1.0, 3.0, 1.5, gives=0.15625),
            glsl(f"Fma {f3}", 1 + 2.0**-12, 1 + 2.0**-12, -1.0, gives=2.0**-11 + 2.0**-24),
            Lines("%o0 = OpExtInst %float %glsl Ldexp %f0 %u1", (0.75, -3), (0.09375,)),
            *(glsl(f"{name} {f1}", value, gives=NAN) for name, value in (("Sqrt", -1.0), ("Log", -1.0), ("Asin", 2.0))),
            glsl(f"Log {f1}", 0.0, gives=-INF),
            integers("OpExtInst %uint %glsl SAbs %u0", -5, gives=5),
            *(integers("OpExtInst %uint %glsl SSign %u0", v, gives=s) for v, s in ((-5, -1), (0, 0), (7, 1))),
            *(
                integers(f"OpExtInst %uint %glsl {name} %u0 %u1", -5, 3, gives=value)
                for name, value in (("SMin", -5), ("UMin", 3), ("SMax", 3), ("UMax", -5))
            ),
            integers("OpExtInst %uint %glsl SClamp %u0 %u1 %u2", -5, -2, 3, gives=-2),
            integers("OpExtInst %uint %glsl UClamp %u0 %u1 %u2", -5, 2, 3, gives=3),
        ]
    )


def test_numbers_taken_apart() -> None:
    two = "%o0 = OpCompositeExtract %float %r 0\n"
    check(
        [
            Lines(f"%r = OpExtInst %float_pair %glsl ModfStruct %f0\n{two}%o1 = OpCompositeExtract %float %r 1",
                  (-2.75,), (-0.75, -2.0)),
            Lines(f"%r = OpExtInst %float_pair %glsl ModfStruct %f0\n{two}%o1 = OpCompositeExtract %float %r 1",
                  (-INF,), (-0.0, -INF)),
            Lines(f"%r = OpExtInst %split %glsl FrexpStruct %f0\n{two}%e = OpCompositeExtract %int %r 1\n"
                  "%o1 = OpBitcast %uint %e", (-24.0,), (-0.75, 5)),
            Lines("%o0 = OpExtInst %float %glsl Modf %f0 %whole\n%o1 = OpLoad %float %whole", (3.25,), (0.25, 3.0)),
            Lines("%o0 = OpExtInst %float %glsl Frexp %f0 %power\n%e = OpLoad %int %power\n%o1 = OpBitcast %uint %e",
                  (3.0,), (0.75, 2)),
        ],
        f"{STRUCTS}%whole = OpVariable %_ptr_Function_float Function\n%power = OpVariable %_ptr_Function_int Function",
    )  # fmt: skip


def test_packed_numbers() -> None:
    four = "%v = OpCompositeConstruct %v4float %f0 %f1 %f2 %f3\n"
    two = "%v = OpCompositeConstruct %v2float %f0 %f1\n"
    given = (1.5, -1.0, 0.25, -0.5)

    def unpacked(name: str, word: int, *expected: float) -> Lines:
        parts = "\n".join(f"%o{k} = OpCompositeExtract %float %r {k}" for k in range(len(expected)))
        return Lines(f"%r = OpExtInst %v{len(expected)}float %glsl {name} %u0\n{parts}", (word,), expected)

    check(
        [
            Lines(f"{four}%o0 = OpExtInst %uint %glsl PackSnorm4x8 %v", given, (0xC020817F,)),
            Lines(f"{four}%o0 = OpExtInst %uint %glsl PackUnorm4x8 %v", given, (0x004000FF,)),
            Lines(f"{two}%o0 = OpExtInst %uint %glsl PackSnorm2x16 %v", given[:2], (0x80017FFF,)),
            Lines(f"{two}%o0 = OpExtInst %uint %glsl PackUnorm2x16 %v", (NAN, 2.0), (0xFFFF0000,)),
            Lines(f"{two}%o0 = OpExtInst %uint %glsl PackHalf2x16 %v", (1.0, -2.0), (0xC0003C00,)),
            unpacked("UnpackSnorm4x8", 0x7F80817E, float(np.float32(126 / 127)), -1.0, -1.0, 1.0),
            unpacked("UnpackUnorm4x8", 0x00FF0133, 0.2, 1 / 255, 1.0, 0.0),
            unpacked("UnpackSnorm2x16", 0x80007FFF, 1.0, -1.0),
            unpacked("UnpackUnorm2x16", 0x0000FFFF, 1.0, 0.0),
            unpacked("UnpackHalf2x16", 0xC0003C00, 1.0, -2.0),
            Lines("%v = OpCompositeConstruct %v2uint %u0 %u1\n%d = OpExtInst %double %glsl PackDouble2x32 %v\n"
                  "%b = OpExtInst %v2uint %glsl UnpackDouble2x32 %d\n%o0 = OpFConvert %float %d\n"
                  "%o1 = OpCompositeExtract %uint %b 1", (0, 0x40080000), (3.0, 0x40080000)),
        ]
    )  # fmt: skip


def test_points_and_directions() -> None:
    a = "%a = OpCompositeConstruct %v3float %f0 %f1 %f2\n"
    both = f"{a}%b = OpCompositeConstruct %v3float %f3 %f4 %f5\n"
    parts = "".join(f"%o{k} = OpCompositeExtract %float %r {k}\n" for k in range(3))
    axis = (0.0, 1.0, 0.0)
    ray = (0.6, -0.8, 0.0)
    x, y = (float(np.float32(v)) for v in ray[:2])
    eta = 0.5
    depth = np.sqrt(1 - eta * eta * (1 - y * y))
    check(
        [
            Lines(f"{a}%o0 = OpExtInst %float %glsl Length %a", (2.0, 3.0, 6.0), (7.0,)),
            glsl("Length %f0", -3.0, gives=3.0),
            Lines(f"{both}%o0 = OpExtInst %float %glsl Distance %a %b", (3.0, 3.0, 6.0, 1.0, 0.0, 0.0), (7.0,)),
            Lines(f"{a}%r = OpExtInst %v3float %glsl Normalize %a\n{parts}", (0.0, -4.0, 3.0), (0.0, -0.8, 0.6)),
            Lines(f"{both}%r = OpExtInst %v3float %glsl Cross %a %b\n{parts}", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
                  (-3.0, 6.0, -3.0)),
            Lines(f"{both}%r = OpExtInst %v3float %glsl FaceForward %a %b %a\n{parts}", (*axis, *ray), axis),
            Lines(f"{both}%r = OpExtInst %v3float %glsl FaceForward %a %b %b\n{parts}", (*axis, *ray),
                  (-0.0, -1.0, -0.0)),
            Lines(f"{both}%r = OpExtInst %v3float %glsl Reflect %b %a\n{parts}", (*axis, *ray), (x, -y, 0.0)),
            Lines(f"{both}%r = OpExtInst %v3float %glsl Refract %b %a %f6\n{parts}", (*axis, *ray, eta),
                  (0.3, -float(np.float32(depth)), 0.0)),
            Lines(f"{both}%r = OpExtInst %v3float %glsl Refract %b %a %f6\n{parts}", (*axis, *ray, 4.0),
                  (0.0, 0.0, 0.0)),
        ]
    )  # fmt: skip
