"""The problems of `benchmarks/gpu/library.py`: every kernel of the library on tensors of PyTorch's GPU, and its peers.

Tensors are in the order of PyTorch, kernels loaded with `order="C"`. Left out are kernels whose parameters are tensor
maps: a map describes an array of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from types import MappingProxyType
from typing import Any

import girih
from benchmarks.gpu import cuda_problems
from benchmarks.gpu.cuda_problems import Call, CudaProblem, Tensors, uniform
from girih.api import resolved_target
from girih.ir.types import NUMBERS
from girih.kernels import path
from girih.kernels.loading import attention_tile_for, gpu_text, rows_of_work_group, tile_for

Peers = Callable[[Any, Sequence[Tensors]], dict[str, Call]]
Expected = Callable[[Any, Tensors], Any]

GOALS = (0.90, 0.97)
"""The rate with checks as a part of that without: first, and world class."""

HOPPER = resolved_target("cuda:sm_90a")
"""What says which text of the library is taken, with which tile."""

TORCH = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 1e-5, "f64": 1e-12}


def _problem(
    title: str, kernel: str, make: Callable[[Any, int], Tensors], expected: Expected, bound: float, bytes: float, *,
    function: str = "", arguments: Callable[[Tensors], tuple[Any, ...]] = tuple, result: int = -1,
    peer: Callable[[Any, Tensors], Any] | None = None, peer_name: str = "torch",
    definitions: Mapping[str, object] = MappingProxyType({}), text: Path | None = None,
    sizes: Mapping[str, int] | None = None,
) -> CudaProblem:  # fmt: skip
    """A launch of one function, whose result is one of its tensors, with one peer or none.

    It is that of `text` where one is given; with `sizes` it is the text with matrices of the work-group,
    which the library takes in the place of the plain one.
    """

    def peers(torch: Any, sets: Sequence[Tensors]) -> dict[str, Call]:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        return {} if peer is None else {peer_name: lambda k: peer(torch, sets[k])}

    return CudaProblem(
        f"{function or kernel} {title}", text or (path(kernel) if sizes is None else gpu_text(kernel)),
        {**definitions, **(sizes or {})}, make, [(function or kernel, arguments)],
        lambda t: t[result], expected, bound, float(bytes), GOALS, True, peers,
    )  # fmt: skip


def _product_sizes(type: str, sums: str) -> tuple[dict[str, int], dict[str, int] | None]:
    """The tile of a product in the plain text, and in that with matrices of the work-group where the library has it."""
    wide = HOPPER.work_group_tiling
    assert wide is not None
    found = wide.product_by_work_group(NUMBERS[type], NUMBERS[sums])
    return ({}, dict(found)) if found else (dict(tile_for(HOPPER.name, type, sums, None, None, None)), None)


def _attention_sizes(type: str, headdim: int) -> tuple[dict[str, int], dict[str, int] | None]:
    """The same of attention."""
    wide = HOPPER.work_group_tiling
    assert wide is not None
    found = wide.attention_by_work_group(NUMBERS[type], headdim)
    return ({}, dict(found)) if found else (dict(attention_tile_for(HOPPER.name, type, None, None)), None)


def _column_sizes(type: str, loaded: int, length: int) -> dict[str, int]:
    """How a work-group holds columns of a length, of which it loads so many."""
    wide = HOPPER.work_group_tiling
    found = None if wide is None else wide.column_by_work_group(NUMBERS[type], NUMBERS["f32"], loaded, length)
    assert found is not None, "columns of the problems are short enough"
    return dict(found)


def _empty(torch: Any, *shape: int, type: str = "float32") -> Any:
    return torch.empty(shape, device="cuda", dtype=getattr(torch, type))


# --- rows ------------------------------------------------------------------------------------


def _rows(type: str, columns: int, length: int) -> Iterator[CudaProblem]:
    """Norms, losses and choices in rows of tensors, which are columns of the language."""
    size, kind = {"f32": 4, "bf16": 2}[type], TORCH[type]
    typed: dict[str, object] = {"type": type}
    sizes = f"{type} {columns} x {length}"
    bytes = float(size * columns * length)

    def pair(torch: Any, k: int, *more: Any) -> Tensors:
        x = uniform(torch, k, columns, length, type=kind)
        return x, *more, torch.empty_like(x)

    def vector(torch: Any, seed: int) -> Any:
        return uniform(torch, seed, length, type=kind)

    if type == "f32":
        yield _problem(
            sizes, "argmax", lambda torch, k: (uniform(torch, k, columns, length),
                                                    _empty(torch, columns, type="int64")),
            lambda torch, t: t[0].argmax(-1), 0.0, bytes, peer=lambda torch, t: torch.argmax(t[0], -1),
        )  # fmt: skip
        yield _problem(
            sizes, "top_k",
            lambda torch, k: (uniform(torch, k, columns, length), _empty(torch, columns, 8),
                              _empty(torch, columns, 8, type="int64")),
            lambda torch, t: t[0].topk(8, -1).values, 0.0, bytes, result=1,
            peer=lambda torch, t: torch.topk(t[0], 8, -1), definitions={"k": 8},
        )  # fmt: skip
        yield _problem(
            sizes, "cross_entropy",
            lambda torch, k: (uniform(torch, k, columns, length), torch.arange(columns, device="cuda") * 7 % length,
                              _empty(torch, columns)),
            lambda torch, t: torch.nn.functional.cross_entropy(t[0], t[1], reduction="none"), 1e-5, bytes,
            peer=lambda torch, t: torch.nn.functional.cross_entropy(t[0], t[1], reduction="none"),
        )  # fmt: skip
        yield _problem(
            sizes, "cross_entropy",
            lambda torch, k: (uniform(torch, k, columns, length), torch.arange(columns, device="cuda") * 7 % length,
                              uniform(torch, -1 - k, columns), _empty(torch, columns, length)),
            lambda torch, t: t[2][:, None] * (torch.softmax(t[0], -1) - torch.nn.functional.one_hot(t[1], length)),
            1e-5, 2 * bytes, function="cross_entropy_gradient",
        )  # fmt: skip
    for title, is_known in ((sizes, False), (f"{sizes}, length known", True)):
        yield _problem(
            title, "layernorm", lambda torch, k: pair(torch, k, vector(torch, 1), vector(torch, 2)),
            lambda torch, t: torch.nn.functional.layer_norm(t[0].float(), (length,), t[1].float(), t[2].float(), 1e-5),
            2 * EPSILON[type], 2 * bytes, arguments=lambda t: (*t[:3], 1e-5, t[3]),
            peer=lambda torch, t: torch.nn.functional.layer_norm(t[0], (length,), t[1], t[2], 1e-5),
            definitions=typed, sizes=_column_sizes(type, 3, length) if is_known else None,
        )  # fmt: skip
        yield _problem(
            title, "rms_norm", lambda torch, k: pair(torch, k, vector(torch, 1)),
            lambda torch, t: torch.nn.functional.rms_norm(t[0].float(), (length,), t[1].float(), 1e-5),
            2 * EPSILON[type], 2 * bytes, arguments=lambda t: (*t[:2], 1e-5, t[2]),
            peer=lambda torch, t: torch.nn.functional.rms_norm(t[0], (length,), t[1], 1e-5),
            definitions=typed, sizes=_column_sizes(type, 2, length) if is_known else None,
        )  # fmt: skip
    yield _problem(
        f"{sizes}, length known", "softmax", pair, lambda torch, t: torch.softmax(t[0].float(), -1),
        2 * EPSILON[type], 2 * bytes, peer=lambda torch, t: torch.softmax(t[0], -1), definitions=typed,
        sizes=_column_sizes(type, 1, length),
    )  # fmt: skip


def _rotary(heads: int, places: int, size: int) -> CudaProblem:
    def make(torch: Any, k: int) -> Tensors:
        x = uniform(torch, k, heads, places, size)
        return x, uniform(torch, 1, places, size // 2), uniform(torch, 2, places, size // 2), torch.empty_like(x)

    def turned(torch: Any, t: Tensors) -> Any:
        a, b = t[0].chunk(2, -1)
        return torch.cat([t[1] * a - t[2] * b, t[2] * a + t[1] * b], -1)

    return _problem(f"f32 {heads} x {places} x {size}", "rotary", make, turned, 1e-6, 8.0 * heads * places * size,
                    peer=turned)  # fmt: skip


# --- vectors and matrices ----------------------------------------------------------------------


def _vectors(n: int, length: int) -> Iterator[CudaProblem]:
    yield _problem(
        f"f32 {n} x {n}", "gemv",
        lambda torch, k: (uniform(torch, k, n, n), uniform(torch, 1, n), _empty(torch, n)),
        lambda torch, t: t[0].double().t() @ t[1].double(), 1e-4, 4.0 * n * n,
        arguments=lambda t: (1.0, t[0], t[1], 0.0, t[2]), peer=lambda torch, t: torch.mv(t[0].t(), t[1], out=t[2]),
        definitions=rows_of_work_group(HOPPER.name),
    )  # fmt: skip
    yield _problem(
        f"f32 {n} x {n}", "ger",
        lambda torch, k: (uniform(torch, k, n), uniform(torch, 1, n), _empty(torch, n, n)),
        lambda torch, t: torch.outer(t[1], t[0]), 1e-6, 4.0 * n * n,
        arguments=lambda t: (1.0, t[0], t[1], 0.0, t[2]), peer=lambda torch, t: torch.outer(t[1], t[0], out=t[2]),
    )  # fmt: skip
    yield _problem(
        f"f32 {length}", "hadamard",
        lambda torch, k: (uniform(torch, k, length), uniform(torch, -1 - k, length), _empty(torch, length)),
        lambda torch, t: t[0] * t[1], 1e-6, 12.0 * length,
        arguments=lambda t: (1.0, t[0], t[1], 0.0, t[2]), peer=lambda torch, t: torch.mul(t[0], t[1], out=t[2]),
    )  # fmt: skip
    for function in ("pack_rows", "unpack_rows", "pack_columns", "unpack_columns"):
        yield _blocked(function, n // 2)
    yield _problem(
        f"f32 {n // 2} x {n // 2}", "transposed_load",
        lambda torch, k: (uniform(torch, k, n // 2, n // 2), _empty(torch, n // 2, n // 2)),
        lambda torch, t: t[0].t(), 0.0, 2.0 * n * n, peer=lambda torch, t: t[1].copy_(t[0].t()),
    )  # fmt: skip


def _blocked(function: str, n: int) -> CudaProblem:
    """A matrix in blocks of 4 x 4 elements, in rows or in columns of blocks."""

    def blocks(torch: Any, a: Any) -> Any:
        parted = a.reshape(n // 4, 4, n // 4, 4)
        return parted.permute((0, 2, 1, 3) if "rows" in function else (2, 0, 1, 3)).reshape(-1)

    def make(torch: Any, k: int) -> Tensors:
        a = uniform(torch, k, n, n)
        return (a, _empty(torch, n * n)) if function.startswith("pack") else (blocks(torch, a), _empty(torch, n, n), a)

    def expected(torch: Any, t: Tensors) -> Any:
        return blocks(torch, t[0]) if function.startswith("pack") else t[2]

    return _problem(f"f32 {n} x {n}", "blocked_interleaved", make, expected, 0.0, 8.0 * n * n, function=function,
                    arguments=lambda t: tuple(t[:2]), result=1)  # fmt: skip


def _pictures(size: int) -> Iterator[CudaProblem]:
    def squares(torch: Any, a: Any, side: int) -> Any:
        return a.reshape(size // side, side, size // side, side, 3).permute(0, 2, 1, 3, 4)

    half = size // 2
    yield _problem(
        f"f32 {size} x {size}", "patches",
        lambda torch, k: (uniform(torch, k, size, size, 3), _empty(torch, size * size // 64, 8, 8, 3)),
        lambda torch, t: squares(torch, t[0], 8).reshape(-1, 8, 8, 3), 0.0, 24.0 * size * size,
        peer=lambda torch, t: t[1].view(size // 8, size // 8, 8, 8, 3).copy_(squares(torch, t[0], 8)),
    )  # fmt: skip
    yield _problem(
        f"f32 {size} x {size}", "space_to_depth",
        lambda torch, k: (uniform(torch, k, size, size, 3), _empty(torch, half, half, 12)),
        lambda torch, t: squares(torch, t[0], 2).reshape(half, half, 12), 0.0, 24.0 * size * size,
        peer=lambda torch, t: t[1].view(half, half, 2, 2, 3).copy_(squares(torch, t[0], 2)),
    )  # fmt: skip


# --- small matrices ----------------------------------------------------------------------------


def _small(n: int, count: int) -> Iterator[CudaProblem]:
    """Factorizations of matrices whose diagonals are larger than the rest: no rows are swapped."""

    def matrices(torch: Any, k: int) -> Any:
        a = uniform(torch, k, count, n, n)
        return (a + a.transpose(1, 2)) / 2 + 2 * n * torch.eye(n, device="cuda")

    def with_numbers(torch: Any, k: int) -> Tensors:
        a = matrices(torch, k)
        return a, torch.empty_like(a), _empty(torch, count, type="int32")

    bytes, sizes = 8.0 * count * n * n, f"f32 {n} x {n}, {count} matrices"
    yield _problem(
        sizes, "cholesky", with_numbers, lambda torch, t: torch.linalg.cholesky(t[0]).transpose(1, 2), 1e-4, bytes,
        function="cholesky_small" if n <= 8 else "", result=1, peer=lambda torch, t: torch.linalg.cholesky(t[0]),
        definitions={"n": n},
    )  # fmt: skip
    yield _problem(
        sizes, "inverse", with_numbers, lambda torch, t: torch.linalg.inv(t[0]), 1e-4, bytes, result=1,
        peer=lambda torch, t: torch.linalg.inv(t[0]), definitions={"n": n},
    )  # fmt: skip

    def with_swaps(torch: Any, k: int) -> Tensors:
        a, f, info = with_numbers(torch, k)
        return a, f, _empty(torch, count, n, type="int32"), info

    yield _problem(
        sizes, "lu", with_swaps, lambda torch, t: torch.linalg.lu_factor(t[0].transpose(1, 2))[0].transpose(1, 2),
        1e-4, bytes, result=1, peer=lambda torch, t: torch.linalg.lu_factor(t[0]), definitions={"n": n},
    )  # fmt: skip


def _ader_dg(elements: int) -> CudaProblem:
    order, p, dt = 4, 20, 0.3

    def make(torch: Any, k: int) -> Tensors:
        degree = torch.tensor([0] + [1] * 3 + [2] * 6 + [3] * 10, device="cuda")
        matrices = uniform(torch, 1, 3, p, p) / p
        # Element [d, q, p] is that of row p: a derivative lowers the degree.
        matrices[:, degree[None, :] >= degree[:, None]] = 0
        q = uniform(torch, k, elements, 9, p)
        return matrices, uniform(torch, -1 - k, elements, 3, 9, 9), q, torch.empty_like(q)

    def predicted(torch: Any, t: Tensors) -> Any:
        found, total, factor = t[2], dt * t[2], dt
        for n in range(1, order):
            found = sum(t[1][:, d] @ (found @ t[0][d]) for d in range(3))
            factor *= dt / (n + 1)
            total = total + factor * found
        return total

    return _problem(
        f"order 4, {elements} elements", "ader_dg", make, predicted, 1e-4, 4.0 * elements * (2 * 9 * p + 3 * 81),
        arguments=lambda t: (dt, *t), peer=predicted,
    )  # fmt: skip


def _grouped(n: int, count: int) -> CudaProblem:
    def lists(t: Tensors) -> tuple[Any, ...]:
        a, b, c = (girih.Group(one.unbind(0)) for one in t)
        return 1.0, a, b, 0.0, c

    return _problem(
        f"f32 {n} x {n} x {n}, {count} products", "gemm_batched_group",
        lambda torch, k: (uniform(torch, k, count, n, n), uniform(torch, -1 - k, count, n, n),
                          _empty(torch, count, n, n)),
        lambda torch, t: torch.bmm(t[1], t[0]), 1e-5, 12.0 * count * n * n, arguments=lists,
        peer=lambda torch, t: torch.bmm(t[1], t[0], out=t[2]),
    )  # fmt: skip


# --- products ----------------------------------------------------------------------------------


def _products(n: int) -> Iterator[CudaProblem]:
    def make(type: str, result: str) -> Callable[[Any, int], Tensors]:
        return lambda torch, k: (uniform(torch, k, n, n, type=type), uniform(torch, -1 - k, n, n, type=type),
                                 _empty(torch, n, n, type=result))  # fmt: skip

    def product(torch: Any, t: Tensors) -> Any:
        wide = "float64" if t[0].dtype == torch.float64 else "float32"
        return t[1].to(getattr(torch, wide)) @ t[0].to(getattr(torch, wide))

    def bytes_of(type: str) -> float:
        return {"f16": 2.0, "bf16": 2.0, "f32": 4.0, "f64": 8.0}[type] * 3 * n * n

    for type in ("f16", "bf16", "f32", "f64"):
        summed = "f64" if type == "f64" else "f32"
        plain, wide = _product_sizes(type, summed)
        yield _problem(
            f"{type} {n} x {n} x {n}", "gemm", make(TORCH[type], TORCH[summed]), product, EPSILON[summed],
            bytes_of(type),
            arguments=lambda t: (1.0, t[0], t[1], 0.0, t[2]), peer=lambda torch, t: torch.mm(t[1], t[0]),
            definitions={"type": type, "accumulator": summed, **plain}, sizes=wide,
        )  # fmt: skip

    def bytes_and_sums(torch: Any, k: int) -> Tensors:
        a, b = ((128 * uniform(torch, seed, n, n)).to(torch.int8) for seed in (k, -1 - k))
        return a, b, _empty(torch, n, n, type="int32")

    plain, wide = _product_sizes("i8", "i32")
    yield _problem(
        f"i8 {n} x {n} x {n}", "gemm_mixed", bytes_and_sums,
        lambda torch, t: t[1].double() @ t[0].double(), 0.0, 6.0 * n * n,
        peer=lambda torch, t: torch._int_mm(t[1], t[0]), definitions=plain, sizes=wide,
    )  # fmt: skip
    plain, wide = _product_sizes("f16", "f32")
    yield _problem(
        f"f16 GELU {n} x {n} x {n}", "gemm_epilogue",
        lambda torch, k: (uniform(torch, k, n, n, type="float16") / sqrt(n),
                          uniform(torch, -1 - k, n, n, type="float16"), uniform(torch, 1, n),
                          _empty(torch, n, n, type="float16")),
        lambda torch, t: torch.nn.functional.gelu(product(torch, t) + t[2], approximate="tanh"), 2.0**-9,
        bytes_of("f16"),
        arguments=lambda t: (*t[:3], None, t[3]),
        peer=lambda torch, t: torch.nn.functional.gelu(torch.addmm(t[2].half(), t[1], t[0]), approximate="tanh"),
        definitions={"type": "f16", "bias_of_rows": True, "gelu_tanh": True, **plain},
        sizes=wide,
    )  # fmt: skip
    half = n // 2
    yield _problem(
        f"f32 {half} x {half} x {half}", "gemm_collective",
        lambda torch, k: (uniform(torch, k, half, half), uniform(torch, -1 - k, half, half), _empty(torch, half, half)),
        product, 1e-4, 3.0 * n * n, arguments=lambda t: (1.0, t[0], t[1], 0.0, t[2]),
        peer=lambda torch, t: torch.mm(t[1], t[0], out=t[2]),
    )  # fmt: skip
    rows = n * 512
    yield _problem(
        f"f32 {rows} x 16 x 16", "gemm_tall_skinny",
        lambda torch, k: (uniform(torch, k, 16, rows), uniform(torch, 1, 16, 16), _empty(torch, 16, rows)),
        product, 1e-5, 128.0 * rows, arguments=lambda t: (1.0, t[0], t[1], 0.0, t[2]),
        peer=lambda torch, t: torch.mm(t[1], t[0], out=t[2]), definitions={"N": 16, "K": 16},
    )  # fmt: skip


# --- quantised weights -------------------------------------------------------------------------

BLOCK = {"q4_0": 18, "q8_0": 34}
"""The bytes of a block of 32 weights."""


def _blocks(torch: Any, format: str, seed: int, rows: int, columns: int) -> Any:
    """Blocks of random bytes, with scales from 1/64 to 1/32."""
    source = torch.Generator(device="cuda").manual_seed(seed)
    shape = (rows, columns // 32, BLOCK[format])
    held = torch.randint(-128, 128, shape, generator=source, device="cuda", dtype=torch.int8)
    scales = (1 + torch.rand(shape[:2], generator=source, device="cuda")) / 64
    held[..., :2] = scales.half()[..., None].view(torch.int8)
    return held


def _decoded(torch: Any, blocks: Any, format: str) -> Any:
    scales = blocks[..., :2].contiguous().view(torch.float16).float()
    bytes = blocks[..., 2:]
    if format == "q4_0":
        pairs = bytes.view(torch.uint8)
        bytes = torch.cat([pairs & 15, pairs >> 4], -1).float() - 8
    return (bytes.float() * scales).flatten(1)


def _quantised(rows: int, columns: int, wide: int) -> Iterator[CudaProblem]:
    for format, size in BLOCK.items():
        weights = float(rows * columns // 32 * size)

        def vectors(torch: Any, k: int, format: str = format) -> Tensors:
            return _blocks(torch, format, k, rows, columns), uniform(torch, 1, columns), _empty(torch, rows)

        def of_vector(torch: Any, t: Tensors, format: str = format) -> Any:
            return _decoded(torch, t[0], format) @ t[1]

        sizes = f"f32 {rows} x {columns}"
        yield _problem(sizes, f"gemv_{format}", vectors, of_vector, 1e-4, weights,
                       text=gpu_text(f"gemv_{format}"))  # fmt: skip

        def both(torch: Any, k: int, format: str = format) -> Tensors:
            return (_blocks(torch, format, k, rows, columns), _blocks(torch, "q8_0", 1, 1, columns)[0],
                    _empty(torch, rows))  # fmt: skip

        def of_blocks(torch: Any, t: Tensors, format: str = format) -> Any:
            return _decoded(torch, t[0], format) @ _decoded(torch, t[1][None], "q8_0")[0]

        yield _problem(sizes, f"gemv_{format}_q8_0", both, of_blocks, 1e-4, weights,
                       text=gpu_text(f"gemv_{format}_q8_0"))  # fmt: skip
        for type in ("f32", "f16"):
            m, n, k = rows // 4, wide, columns // 2

            def matrices(
                torch: Any, seed: int, format: str = format, type: str = type, m: int = m, k: int = k
            ) -> Tensors:
                w = _blocks(torch, format, seed, m, k)
                x = uniform(torch, -1 - seed, wide, k, type=TORCH[type])
                return w, x, _empty(torch, wide, m), uniform(torch, seed, m, k, type="bfloat16"), x.bfloat16()

            def of_matrix(torch: Any, t: Tensors, format: str = format) -> Any:
                return t[1].float() @ _decoded(torch, t[0], format).t()

            yield _problem(
                f"{type} {m} x {n} x {k}", f"gemm_{format}", matrices, of_matrix, 1e-4, float(m * k // 32 * size),
                arguments=lambda t: tuple(t[:3]), result=2, peer=lambda torch, t: torch.mm(t[4], t[3].t()),
                peer_name="torch, bf16 weights", definitions={"type": type},
            )  # fmt: skip


# --- attention and convolution -----------------------------------------------------------------


def _attention(type: str, headdim: int, length: int, heads: int, causal: bool) -> CudaProblem:
    kind, scale = TORCH[type], headdim**-0.5
    plain, wide = _attention_sizes(type, headdim)

    def make(torch: Any, k: int) -> Tensors:
        q, keys, values = (2 * uniform(torch, 3 * k + n, heads, length, headdim, type=kind) for n in range(3))
        return q, keys, values, torch.empty_like(q)

    def peer(torch: Any, t: Tensors) -> Any:
        q, k, v = (one[None] for one in t[:3])
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def expected(torch: Any, t: Tensors) -> Any:
        return peer(torch, [one.float() for one in t[:3]])[0]

    return _problem(
        f"{type} {headdim} x {length} x {heads}{' causal' if causal else ''}", "attention", make, expected,
        4 * EPSILON[type], (2.0 if type != "f32" else 4.0) * 4 * headdim * length * heads,
        arguments=lambda t: (*t, scale), peer=peer,
        definitions={"type": type, "headdim": headdim, "causal": causal, **plain}, sizes=wide,
    )  # fmt: skip


def _convolution(type: str, images: int, size: int, channels: int) -> CudaProblem:
    kind = TORCH[type]

    def make(torch: Any, k: int) -> Tensors:
        x = uniform(torch, k, images, size, size, channels, type=kind)
        f = uniform(torch, 1, 3, 3, channels, channels, type=kind)
        return (
            x,
            f,
            _empty(torch, images, size, size, channels),
            f.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last),
        )

    def peer(torch: Any, t: Tensors) -> Any:
        return torch.nn.functional.conv2d(t[0].permute(0, 3, 1, 2), t[3], padding=1)

    def expected(torch: Any, t: Tensors) -> Any:
        return peer(torch, [t[0].float(), None, None, t[3].float()]).permute(0, 2, 3, 1)

    return _problem(
        f"{type} {images} x {size} x {size} x {channels}, 3 x 3", "convolution", make, expected, 1e-4,
        (6.0 if type != "f32" else 8.0) * images * size * size * channels, arguments=lambda t: (1, *t[:3]), result=2,
        peer=peer, definitions={"type": type, "accumulator": "f32", "depth": 32},
    )  # fmt: skip


def library() -> Iterator[CudaProblem]:
    """The problems, small enough that all together take less than a minute of an H200."""
    yield from (cuda_problems.softmax(16384, 8192), cuda_problems.axpby(2**26), cuda_problems.transpose(8192, 8192),
                cuda_problems.stencil(256), cuda_problems.scan(2**23), cuda_problems.histogram(2**26),
                cuda_problems.batched("f32", 16, 16, 16, GOALS),
                cuda_problems.batched("bf16", 16, 16, 16, GOALS))  # fmt: skip
    yield from _rows("f32", 16384, 4096)
    yield from _rows("bf16", 16384, 8192)
    yield _rotary(64, 4096, 128)
    yield from _vectors(8192, 2**26)
    yield from _pictures(4096)
    yield from _small(8, 2**18)
    yield from _small(16, 2**16)
    yield _ader_dg(2**15)
    yield _grouped(64, 1024)
    yield from _products(2048)
    yield from _quantised(16384, 8192, 256)
    for type in ("f16", "f32"):
        yield _attention(type, 64, 2048, 16, causal=False)
        yield _attention(type, 128, 2048, 8, causal=False)
    yield _attention("bf16", 64, 2048, 16, causal=True)
    yield _convolution("f16", 16, 56, 64)
    yield _convolution("f32", 16, 56, 64)
