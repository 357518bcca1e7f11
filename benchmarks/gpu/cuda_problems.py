"""The problems of `benchmarks/gpu/cuda.py`: kernels on tensors of PyTorch's GPU, their peers and their goals.

Tensors are in the order of PyTorch, kernels loaded with `order="C"`. Of every problem there are as many sets of tensors
as are larger than the GPU's cache together, so that what is timed comes from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from girih.kernels import path
from girih.kernels.loading import gpu_text

Tensors = Sequence[Any]
Call = Callable[[int], object]
"""A launch on the set of tensors of a number."""

BEYOND_CACHE = 320 * 2**20
"""The bytes that the sets of a problem have together at least: five times the cache of an H200."""

COPY = 4260.0
"""The GB/s at which the H200 copied for which goals are stated; they are scaled by what is measured."""

GATHER = """
func @gather(%X: memref<f32x?>, %P: memref<i32x?>, %Y: memref<f32x?>) attributes {grid=[ceil(size(%Y, 0), 4096)]} {
    %block = constant 4096 : index
    %group = group_id.x : index
    %first = mul %group, %block : index
    %length = size %Y[0] : index
    %past = add %first, %block : index
    %end = min %past, %length : index
    foreach (%i) = (%first), (%end) {
        %place = load %P[%i] : i32
        %p = cast %place : index
        %x = load %X[%p] : f32
        store %x, %Y[%i]
    }
}
"""

STENCIL = r"""
extern "C" __global__ void stencil(const float* w, const float* u, float* v, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
    if (i >= nx || j >= ny) return;
    long sx = nx + 8, sy = (long)(ny + 8) * sx;
    const float* c = u + (k + 4) * sy + (j + 4) * sx + i + 4;
    float s = 3 * w[0] * c[0];
    for (int d = 1; d <= 4; ++d)
        s += w[d] * (c[-d] + c[d] + c[-d * sx] + c[d * sx] + c[-d * sy] + c[d * sy]);
    v[((long)k * ny + j) * nx + i] = s;
}
"""
"""The stencil as CUDA's programmers write it first, for CuPy."""


@dataclass(frozen=True)
class CudaProblem:
    """A kernel, how its tensors are made, what peers compute the same, and the goals.

    `tensors` gives a set from a number; `launches` are the names of kernels and, of each, the arguments that a set
    gives. `result` is the tensor of a set that is compared with `expected`, within `bound` of the largest element.
    `bytes` is what a launch must move. `goals` are GB/s, first and world class, or ratios to the best peer where
    `of_peer`.
    """

    name: str
    text: Any
    definitions: dict[str, object]
    tensors: Callable[[Any, int], Tensors]
    launches: Sequence[tuple[str, Callable[[Tensors], tuple[Any, ...]]]]
    result: Callable[[Tensors], Any]
    expected: Callable[[Any, Tensors], Any]
    bound: float
    bytes: float
    goals: tuple[float, float]
    of_peer: bool
    peers: Callable[[Any, Sequence[Tensors]], dict[str, Call]]

    @property
    def sets(self) -> int:
        """How many sets of tensors there are."""
        return max(2, -(-BEYOND_CACHE // int(self.bytes)))


def uniform(torch: Any, seed: int, *shape: int, type: str = "float32") -> Any:
    """A tensor of numbers between -1 and 1."""
    source = torch.Generator(device="cuda").manual_seed(seed)
    made = torch.rand(shape, generator=source, device="cuda", dtype=torch.float32) * 2 - 1
    return made.to(getattr(torch, type))


def softmax(columns: int, length: int) -> CudaProblem:
    """The library's softmax in work-item code, of bf16."""
    return CudaProblem(
        f"softmax bf16 {columns} x {length}", path("softmax"), {"type": "bf16"},
        lambda torch, k: (uniform(torch, k, columns, length, type="bfloat16"),
                          torch.empty(columns, length, device="cuda", dtype=torch.bfloat16)),
        [("softmax", tuple)], lambda t: t[1], lambda torch, t: torch.softmax(t[0].float(), -1), 2.0**-7,
        4.0 * columns * length, (700, 1600), False,
        lambda torch, sets: {"torch": lambda k: torch.softmax(sets[k][0], -1)},
    )  # fmt: skip


def batched(type: str, m: int, n: int, k: int, goals: tuple[float, float]) -> CudaProblem:
    """Many small products, each one `gemm` of a work-group."""
    size = 2 if type == "bf16" else 4
    per = size * (m * k + k * n + m * n)
    count = max(1024, 2**28 // per)
    dtype = {"bf16": "bfloat16", "f32": "float32"}[type]

    def tensors(torch: Any, seed: int) -> Tensors:
        a, b = uniform(torch, seed, count, k, m, type=dtype), uniform(torch, -1 - seed, count, n, k, type=dtype)
        return a, b, torch.empty(count, n, m, device="cuda", dtype=getattr(torch, dtype))

    def peers(torch: Any, sets: Sequence[Tensors]) -> dict[str, Call]:
        torch.backends.cuda.matmul.allow_tf32 = False
        return {"cuBLAS": lambda at: torch.bmm(sets[at][1], sets[at][0], out=sets[at][2])}

    return CudaProblem(
        f"batched {type} {m} x {n} x {k}", path("gemm_batched"), {"type": type, "M": m, "N": n, "K": k}, tensors,
        [("gemm_batched_nn", lambda t: (1.0, t[0], t[1], 0.0, t[2]))], lambda t: t[2],
        lambda torch, t: torch.bmm(t[1].float(), t[0].float()), 2.0**-7 if type == "bf16" else 1e-5, float(per * count),
        goals, False, peers,
    )  # fmt: skip


def tile_product(n: int, goals: tuple[float, float] = (0.95, 1.05)) -> CudaProblem:
    """One large product as a tile program, against cuBLAS."""

    def tensors(torch: Any, seed: int) -> Tensors:
        a, b = (uniform(torch, one, n, n, type="bfloat16") for one in (seed, -1 - seed))
        return a, b, torch.empty_like(a), torch.empty_like(a)

    return CudaProblem(
        f"tile product bf16 {n}", path("gemm_work_group"),
        {"type": "bf16", "result": "bf16", "rows": 256, "columns": 128, "depth": 64, "items": 256}, tensors,
        [("gemm_work_group", lambda t: tuple(t[:3]))], lambda t: t[2], lambda torch, t: t[1].float() @ t[0].float(),
        2.0**-7, 6.0 * n * n, goals, True,
        lambda torch, sets: {"cuBLAS": lambda k: torch.mm(sets[k][1], sets[k][0], out=sets[k][3])},
    )  # fmt: skip


PRODUCTS: dict[str, tuple[dict[str, object], float, tuple[float, float]]] = {
    "f8e4m3": ({"sum": "f32", "result": "f32", "columns": 192, "depth": 128}, 2.0**-10, (0.85, 1.05)),
    "i8": ({"sum": "i32", "result": "i32", "depth": 128}, 0.0, (0.8, 1.0)),
    "f32": ({"sum": "f32", "result": "f32", "depth": 32}, 2.0**-9, (0.8, 1.0)),
}
"""Definitions of `product.tl` by the type of factors, how far the result may be off, and the goals; f32 is in tf32."""


def typed_product(type: str, n: int) -> CudaProblem:
    """One large product of eight bits or in tf32 as a tile program, against cuBLAS."""
    definitions, bound, goals = PRODUCTS[type]

    def tensors(torch: Any, seed: int) -> Tensors:
        a, b = (uniform(torch, one, n, n) for one in (seed, -1 - seed))
        if type == "i8":
            a, b = ((128 * one).to(torch.int8) for one in (a, b))
        elif type != "f32":
            a, b = (one.to(torch.float8_e4m3fn) for one in (a, b))
        return a, b, torch.empty(n, n, device="cuda", dtype=torch.int32 if type == "i8" else torch.float32)

    def peers(torch: Any, sets: Sequence[Tensors]) -> dict[str, Call]:
        torch.backends.cuda.matmul.allow_tf32 = True
        if type == "i8":
            return {"cuBLAS": lambda k: torch._int_mm(sets[k][0], sets[k][1].t())}
        if type == "f32":
            return {"cuBLAS": lambda k: torch.mm(sets[k][0], sets[k][1].t())}
        one = torch.ones((), device="cuda")

        def scaled(fast: bool) -> Call:
            return lambda k: torch._scaled_mm(
                sets[k][0], sets[k][1].t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=fast
            )

        return {"cuBLAS, sums promoted": scaled(False), "cuBLAS, sums fast": scaled(True)}

    def expected(torch: Any, t: Sequence[Any]) -> Any:
        if type == "i8":
            return torch._int_mm(t[0], t[1].t())
        torch.backends.cuda.matmul.allow_tf32 = False
        return t[0].float() @ t[1].float().t()

    width = 4 if type == "f32" else 1
    return CudaProblem(
        f"tile product {'tf32' if type == 'f32' else type} {n}", Path(__file__).with_name("product.tl"),
        {"type": type, **definitions}, tensors, [("product", lambda t: (t[1], t[0], t[2]))], lambda t: t[2], expected,
        bound, float((2 * width + 4) * n * n), goals, True, peers,
    )  # fmt: skip


def tile_attention(
    length: int, headdim: int, *, causal: bool = False, goals: tuple[float, float] = (0.9, 1.05)
) -> CudaProblem:
    """Attention of 16 heads as a tile program, against cuDNN."""
    heads = 16

    def tensors(torch: Any, seed: int) -> Tensors:
        q, k, v = (2 * uniform(torch, 3 * seed + one, heads, length, headdim, type="bfloat16") for one in range(3))
        return q, k, v, torch.empty_like(q)

    def attended(torch: Any, t: Sequence[Any]) -> Any:
        q, k, v = (one[None] for one in t[:3])
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)[0]

    def peer(torch: Any, t: Sequence[Any]) -> Any:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return attended(torch, t)

    return CudaProblem(
        f"tile attention bf16 {headdim} x {length}{' causal' if causal else ''}", gpu_text("attention"),
        {"type": "bf16", "headdim": headdim, "queries": 128, "keys": 128, "causal": causal, "fast": True},
        tensors,
        [("attention", lambda t: (*t, headdim**-0.5))], lambda t: t[3],
        lambda torch, t: attended(torch, [one.float() for one in t[:3]]), 2.0**-5, 8.0 * headdim * length * heads,
        goals, True, lambda torch, sets: {"cuDNN": lambda k: peer(torch, sets[k])},
    )  # fmt: skip


def axpby(length: int) -> CudaProblem:
    """B := alpha A + beta B."""

    def peers(torch: Any, sets: Sequence[Tensors]) -> dict[str, Call]:
        found: dict[str, Call] = {"torch": lambda k: sets[k][1].lerp_(sets[k][0], 0.5)}
        cupy = _cupy()
        if cupy is not None:
            kernel = cupy.ElementwiseKernel(
                "float32 a, float32 x, float32 b", "float32 y", "y = a * x + b * y", "axpby"
            )
            arrays = [[cupy.asarray(tensor) for tensor in each] for each in sets]
            found["cupy"] = lambda k: kernel(0.5, arrays[k][0], 0.5, arrays[k][1])
        return found

    return CudaProblem(
        f"axpby f32 {length}", path("axpby"), {},
        lambda torch, k: (uniform(torch, k, length), uniform(torch, -1 - k, length)),
        [("axpby", lambda t: (0.5, t[0], 0.5, t[1]))], lambda t: t[1],
        lambda torch, t: 0.5 * t[0] + 0.5 * t[1], 1e-6, 12.0 * length, (0.8, 1.0), True, peers,
    )  # fmt: skip


def transpose(rows: int, columns: int) -> CudaProblem:
    """A matrix transposed through local memory."""
    return CudaProblem(
        f"transpose f32 {rows} x {columns}", path("transpose"), {},
        lambda torch, k: (uniform(torch, k, rows, columns), torch.empty(columns, rows, device="cuda")),
        [("transpose", tuple)], lambda t: t[1], lambda torch, t: t[0].t(), 0.0, 8.0 * rows * columns, (0.8, 1.0), True,
        lambda torch, sets: {"torch": lambda k: sets[k][1].copy_(sets[k][0].t())},
    )  # fmt: skip


def stencil(n: int) -> CudaProblem:
    """A star of 25 elements in three dimensions."""
    weights = (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560)

    def tensors(torch: Any, seed: int) -> Tensors:
        w = torch.tensor(weights, device="cuda", dtype=torch.float32)
        return w, uniform(torch, seed, n + 8, n + 8, n + 8), torch.empty(n, n, n, device="cuda")

    def expected(torch: Any, t: Tensors) -> Any:
        w, u, _ = t
        inner = slice(4, n + 4)
        total = 3 * w[0] * u[inner, inner, inner]
        for d in range(1, 5):
            for shift in (-d, d):
                moved = slice(4 + shift, n + 4 + shift)
                total += w[d] * (u[moved, inner, inner] + u[inner, moved, inner] + u[inner, inner, moved])
        return total

    def peers(torch: Any, sets: Sequence[Tensors]) -> dict[str, Call]:
        cupy = _cupy()
        if cupy is None:
            return {"torch": lambda k: expected(torch, sets[k])}
        kernel, grid = cupy.RawKernel(STENCIL, "stencil"), (-(-n // 32), -(-n // 8), n)
        arrays = [[cupy.asarray(tensor) for tensor in each] for each in sets]
        sizes = tuple(map(cupy.int32, (n, n, n)))
        return {"cupy, by hand": lambda k: kernel(grid, (32, 8, 1), (*arrays[k], *sizes))}

    return CudaProblem(
        f"stencil f32 {n} x {n} x {n}", path("stencil"), {}, tensors, [("stencil", tuple)], lambda t: t[2], expected,
        1e-5, 4.0 * (n + 8) ** 3 + 4.0 * n**3, (0.8, 1.0), True, peers,
    )  # fmt: skip


def gather(length: int) -> CudaProblem:
    """Elements at places that are read from memory."""

    def tensors(torch: Any, seed: int) -> Tensors:
        source = torch.Generator(device="cuda").manual_seed(seed)
        places = torch.randint(0, length, (length,), generator=source, device="cuda", dtype=torch.int32)
        # Neighbours are near each other, as the rows of a sparse matrix are: all over memory nothing but it counts.
        places = (torch.arange(length, device="cuda", dtype=torch.int32) // 256 * 256 + places % 256).clamp(
            max=length - 1
        )
        return uniform(torch, seed, length), places, torch.empty(length, device="cuda")

    return CudaProblem(
        f"gather f32 {length}", GATHER, {}, tensors, [("gather", tuple)], lambda t: t[2],
        lambda torch, t: t[0][t[1].long()], 0.0, 12.0 * length, (0.8, 1.0), True,
        lambda torch, sets: {"torch": lambda k: torch.index_select(sets[k][0], 0, sets[k][1], out=sets[k][2])},
    )  # fmt: skip


def scan(length: int) -> CudaProblem:
    """Running sums, in two launches."""

    def peers(torch: Any, sets: Sequence[Tensors]) -> dict[str, Call]:
        return {"torch": lambda k: torch.cumsum(sets[k][0], 0, out=sets[k][2])}

    return CudaProblem(
        f"scan f32 {length}", path("scan"), {},
        lambda torch, k: (uniform(torch, k, length), torch.empty(-(-length // 1024), device="cuda"),
                          torch.empty(length, device="cuda")),
        [("scan_totals", lambda t: tuple(t[:2])), ("scan", tuple)], lambda t: t[2],
        lambda torch, t: torch.cumsum(t[0].double(), 0), 1e-4, 8.0 * length, (0.8, 1.0), True, peers,
    )  # fmt: skip


def histogram(length: int) -> CudaProblem:
    """Counts of 256 numbers, which are added to those of the launches before."""

    def tensors(torch: Any, seed: int) -> Tensors:
        source = torch.Generator(device="cuda").manual_seed(seed)
        numbers = torch.randint(0, 256, (length,), generator=source, device="cuda", dtype=torch.int32)
        return numbers, torch.zeros(256, device="cuda", dtype=torch.int32)

    def peers(torch: Any, sets: Sequence[Tensors]) -> dict[str, Call]:
        found: dict[str, Call] = {"torch": lambda k: torch.bincount(sets[k][0], minlength=256)}
        cupy = _cupy()
        if cupy is not None:
            arrays = [cupy.asarray(each[0]) for each in sets]
            found["cupy"] = lambda k: cupy.bincount(arrays[k], minlength=256)
        return found

    return CudaProblem(
        f"histogram i32 {length}", path("histogram"), {}, tensors, [("histogram", tuple)], lambda t: t[1],
        lambda torch, t: t[1] + torch.bincount(t[0], minlength=256), 0.0, 4.0 * length, (0.8, 1.0), True, peers,
    )  # fmt: skip


def weights(rows: int, depth: int, columns: int, goals: tuple[float, float], tile: dict[str, object]) -> CudaProblem:
    """A product with weights of 4 bits in blocks of 32, beside cuBLAS with the weights in bf16."""

    def tensors(torch: Any, seed: int) -> Tensors:
        source = torch.Generator(device="cuda").manual_seed(seed)
        shape = (rows, depth // 32, 18)
        blocks = torch.randint(-128, 128, shape, generator=source, device="cuda", dtype=torch.int8)
        scales = (1 + torch.rand(shape[:2], generator=source, device="cuda")) / 64
        blocks[..., :2] = scales.half()[..., None].view(torch.int8)
        pairs = blocks[..., 2:].view(torch.uint8)
        numbers = torch.cat([pairs & 15, pairs >> 4], -1).float() - 8
        wide = (numbers * scales.half().float()[..., None]).flatten(1).bfloat16()
        x = uniform(torch, -1 - seed, columns, depth, type="bfloat16")
        return blocks, x, torch.empty(columns, rows, device="cuda"), wide

    return CudaProblem(
        f"weights q4_0 x bf16 {rows} x {depth} x {columns}", path("gemm_q4_0_work_group"), {"type": "bf16", **tile},
        tensors, [("gemm_q4_0_work_group", lambda t: tuple(t[:3]))], lambda t: t[2],
        lambda torch, t: t[1].float() @ t[3].float().t(), 1e-3, rows * depth * 18 / 32, goals, True,
        lambda torch, sets: {"cuBLAS bf16": lambda k: sets[k][1] @ sets[k][3].t()},
    )  # fmt: skip


def convolution(images: int, side: int, channels: int, filters: int, definitions: dict[str, object]) -> CudaProblem:
    """A convolution of bf16 with filters of 3 x 3 and padding, as a product of windows of images, beside cuDNN."""

    def tensors(torch: Any, seed: int) -> Tensors:
        x = uniform(torch, seed, images, side, side, channels, type="bfloat16")
        f = uniform(torch, -1 - seed, 3, 3, filters, channels, type="bfloat16")
        return x, f, torch.empty(images, side, side, filters, device="cuda", dtype=torch.bfloat16)

    def apart(t: Tensors) -> tuple[Any, Any]:
        return t[0].permute(0, 3, 1, 2), t[1].permute(2, 3, 0, 1)

    def peers(torch: Any, sets: Sequence[Tensors]) -> dict[str, Call]:
        torch.backends.cudnn.benchmark = True
        kept = [(x, f.contiguous(memory_format=torch.channels_last)) for x, f in map(apart, sets)]
        return {"cuDNN": lambda k: torch.nn.functional.conv2d(*kept[k], padding=1)}

    bytes = 2.0 * (images * side * side * (channels + filters) + 9 * channels * filters)
    return CudaProblem(
        f"convolution 3 x 3 bf16 {images} x {side} x {side} x {channels}", Path(__file__).parent / "convolution.tl",
        dict(definitions), tensors, [("convolution", tuple)], lambda t: t[2],
        lambda torch, t: torch.nn.functional.conv2d(*(a.float() for a in apart(t)), padding=1).permute(0, 2, 3, 1),
        2.0**-7, bytes, (0.75, 1.0), True, peers,
    )  # fmt: skip


def _cupy() -> Any | None:
    try:
        import cupy
    except ImportError:
        return None
    return cupy


PROBLEMS: Sequence[CudaProblem] = (
    softmax(16384, 8192),
    batched("f32", 8, 8, 8, (3000, 3800)),
    batched("f32", 16, 16, 16, (3200, 3900)),
    batched("f32", 32, 32, 32, (3000, 3800)),
    batched("f32", 56, 9, 56, (2200, 3400)),
    batched("f32", 64, 64, 64, (2200, 2900)),
    batched("bf16", 8, 8, 8, (2000, 3600)),
    batched("bf16", 16, 16, 16, (2600, 3700)),
    batched("bf16", 32, 32, 32, (2800, 3800)),
    tile_product(2048, (0.85, 1.0)),
    *(tile_product(n) for n in (4096, 8192, 16384)),
    *(typed_product(type, 8192) for type in PRODUCTS),
    *(tile_attention(length, 128) for length in (4096, 8192)),
    tile_attention(4096, 64, goals=(0.8, 1.0)),
    *(tile_attention(length, 128, causal=True, goals=(0.85, 1.05)) for length in (4096, 8192)),
    axpby(2**26),
    transpose(8192, 8192),
    stencil(512),
    gather(2**26),
    scan(2**23),
    histogram(2**26),
    weights(28672, 8192, 1, (2.0, 3.4), {"rows": 64, "columns": 16, "depth": 256}),
    weights(28672, 8192, 16, (1.8, 3.0), {"rows": 64, "columns": 16, "depth": 256}),
    weights(28672, 8192, 64, (1.3, 2.0), {"rows": 64, "columns": 64, "depth": 256}),
    convolution(64, 56, 256, 256, {}),
    convolution(32, 28, 512, 512, {}),
    convolution(64, 56, 64, 64, {"filters": 64}),
)
QUICK: Sequence[CudaProblem] = (
    softmax(512, 1000),
    batched("f32", 8, 8, 8, (3000, 3800)),
    batched("bf16", 16, 16, 16, (2600, 3700)),
    tile_product(1032),
    *(typed_product(type, 1040) for type in PRODUCTS),
    tile_attention(1000, 64),
    axpby(2**20 + 3),
    transpose(1000, 520),
    stencil(72),
    gather(2**20 + 1),
    scan(2**18 + 5),
    histogram(2**20 + 7),
    weights(200, 320, 24, (2.0, 3.4), {"rows": 64, "columns": 16, "depth": 64}),
    convolution(2, 20, 72, 136, {}),
)
