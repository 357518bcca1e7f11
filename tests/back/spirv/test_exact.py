"""What shaders write out is as exact as the language asks, whatever a device does within Vulkan's promises.

The interpreter of shaders goes to the ends of what Vulkan permits for quotients and functions (`girih.Choices`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.spirv.profiles.table import PROFILES, profile_named
from tests.back.spirv.circle import CircleKernel
from tests.cases import every_case, long
from tests.exact import fused_multiply_add

Floats = NDArray[np.float32]

TEXT = """
func @f(%A: memref<f32x?>, %B: memref<f32x?>, %C: memref<f32x?>, %D: memref<f32x?>)
    attributes {{subgroup_size=8, work_group_size=[64,1]}} {{
    %n = size %A[0] : index
    %0 = constant 0 : index
    foreach (%i)=(%0),(%n) {{
        %a = load %A[%i] : f32
        %b = load %B[%i] : f32
        %c = load %C[%i] : f32
        %d = {} : f32
        store %d, %D[%i]
    }}
}}
"""

EDGES = [
    0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0**-149, 3 * 2.0**-140, 2.0**-126 - 2.0**-149, 2.0**-126,
    float(np.finfo(np.float32).max), 2.0**127, 1.5, 3.0, 2.0**24 - 1, 2.0**24, 0.1, 1 / 3, 1 - 2.0**-24, 1 + 2.0**-23,
    2.0**64, 2.0**-64, 2.0**63, 2.0**-75,
]  # fmt: skip
"""Numbers at the edges: of the subnormal ones, the large ones, of rounding."""


def pairs(seed: int, count: int) -> tuple[Floats, Floats]:
    """Pairs of floats: of edges, of random bits, and such whose quotient is subnormal."""
    source = np.random.default_rng(seed)
    edges = np.array([(a, b) for a in EDGES for b in EDGES], np.float32)

    def mantissas() -> Any:
        return source.integers(2**23, 2**24, count) / 2**23

    def bits() -> Floats:
        return source.integers(0, 2**32, count, np.uint64).astype(np.uint32).view(np.float32)

    exponents, shift = source.integers(-149, -20, count), source.integers(-152, -120, count)
    small = np.ldexp(mantissas(), exponents)
    divisors = np.ldexp(mantissas(), np.clip(exponents - shift, -149, 127))
    return (
        np.concatenate([edges[:, 0], bits(), small.astype(np.float32)]),
        np.concatenate([edges[:, 1], bits(), divisors.astype(np.float32)]),
    )


def computed(expression: str, profile: str, *arrays: Floats, choices: Mapping[str, Any], wide: bool = False) -> Floats:
    """What a shader of a profile computes of the elements of arrays."""
    function = girih.parse(TEXT.format(expression)).functions[0]
    options = {"races": False, "max_steps": 10**8, "choices": girih.Choices(subgroup_size=8, **choices)}
    given = [*arrays, *(np.zeros_like(arrays[0]) for _ in range(4 - len(arrays)))]
    CircleKernel(function, profile_named(profile), checks=False, wide=wide, options=options)((2, 1, 1), *given)
    return given[3]


def wrong(found: Floats, exact: Floats) -> Any:
    """The places where a result is another one, in the sign of a zero, too."""
    differs = (found != exact) | (np.signbit(found) != np.signbit(exact))
    return np.flatnonzero(differs & ~(np.isnan(found) & np.isnan(exact)))


@pytest.mark.parametrize(("profile", "seed", "count"), [("minimal", 1, 300), *long([("lavapipe", 2, 20_000)]),
                                                        *long([("minimal", 3, 20_000)])])  # fmt: skip
def test_quotients_roots_and_remainders_are_rounded_once(profile: str, seed: int, count: int) -> None:
    a, b = pairs(seed, count)
    with np.errstate(all="ignore"):
        exact = {
            "div %a, %b": (a.astype(np.float64) / b.astype(np.float64)).astype(np.float32),
            "sqrt %a": np.sqrt(a.astype(np.float64)).astype(np.float32),
            "rem %a, %b": np.fmod(a, b),
        }
    with every_case() as case:
        for expression, expected in exact.items():
            for ulps in ("low", "high"):
                with case(f"{expression}, {ulps}"):
                    found = computed(expression, profile, a, b, choices={"ulps": ulps})
                    places = wrong(found, expected)
                    told = [(a[k], b[k], found[k], expected[k]) for k in places[:5]]
                    assert not len(places), f"{len(places)} wrong: {told}"


@pytest.mark.parametrize("count", [100, *long([5000])])
def test_fused_multiplication_and_addition_is_rounded_once(count: int) -> None:
    a, b = pairs(4, count)
    source = np.random.default_rng(5)
    c = source.permutation(a)
    with np.errstate(all="ignore"):
        near = -a.astype(np.float64) * b.astype(np.float64) * (1 + source.integers(-3, 4, len(a)) * 2.0**-24)
        c[::2] = near.astype(np.float32)[::2]
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    a, b, c = a[finite], b[finite], c[finite]
    found = computed("fma %a, %b, %c", "lavapipe", a, b, c, choices={"contraction": "apart"})
    numbers = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    exact = np.array([fused_multiply_add(x, y, z, 24, 127) for x, y, z in numbers])
    assert not len(wrong(found, exact.astype(np.float32)))


FUNCTIONS: dict[str, tuple[Callable[[NDArray[np.float64]], NDArray[np.float64]], float, float]] = {
    "exp": (np.exp, -80, 80), "exp2": (np.exp2, -120, 120), "log": (np.log, 1e-30, 1e30),
    "log2": (np.log2, 1e-30, 1e30), "sin": (np.sin, -1e4, 1e4), "cos": (np.cos, -1e4, 1e4), "tanh": (np.tanh, -9, 9),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30),
}  # fmt: skip
"""Functions, what they are in higher precision, and where they are tried."""

WAYS: tuple[Mapping[str, Any], ...] = (
    {"ulps": "low", "contraction": "fused"},
    {"ulps": "high", "contraction": "apart", "denormals": "flush"},
)
"""How a device may differ: in all that it does not promise to round."""


@pytest.mark.parametrize(
    ("profile", "names"),
    [("minimal", ("exp", "sin")), *long((profile, tuple(FUNCTIONS)) for profile in PROFILES)],
)
def test_functions_are_within_their_bounds_however_a_device_computes(profile: str, names: tuple[str, ...]) -> None:
    """3 ulp, the widest bound of these functions (docs/targets.md)."""
    source = np.random.default_rng(6)
    with every_case() as case:
        for name in names:
            exact, least, most = FUNCTIONS[name]
            size = np.exp(source.uniform(math.log(1e-30), math.log(most), 400)) if least > 0 else None
            x = (size if size is not None else source.uniform(least, most, 400)).astype(np.float32)
            wanted = exact(x.astype(np.float64))
            for way in WAYS:
                with case(f"{name}, {dict(way)}"):
                    found = computed(f"{name} %a", profile, x, choices=way).astype(np.float64)
                    unit = np.spacing(np.abs(wanted).astype(np.float32)).astype(np.float64)
                    assert (np.abs(found - wanted) / unit).max() <= 3.0
