"""The problems of `benchmarks/gpu/vulkan.py`: their arrays, what peers compute them, and how results are judged.

Arrays are made when they are first asked for, on the GPU where PyTorch has one, and forgotten by `forget`.
"""

from __future__ import annotations

import itertools
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import girih
from girih.kernels import dequantize, quantize

Array = NDArray[Any]
Call = Callable[[], object]

DTYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32)}
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23}


def cuda() -> Any | None:
    """PyTorch where it has a GPU, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def on_gpu(torch: Any, array: Array) -> Any:
    """An array on PyTorch's GPU, axes in reverse order: contiguous, where the array is in the order of the language."""
    turned = np.ascontiguousarray(array.T)
    if turned.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(turned.view(np.int16)).cuda().view(torch.bfloat16)
    return torch.from_numpy(turned).cuda()


def normal(type: str, *shape: int, seed: int) -> Array:
    """Random numbers of a normal distribution, in the order of the language: made on the GPU if there is one."""
    torch = cuda()
    if torch is None:
        numbers = np.random.default_rng(seed).standard_normal(shape[::-1], dtype=np.float32)
        return np.asarray(numbers.astype(DTYPES[type])).T
    source = torch.Generator(device="cuda").manual_seed(seed)
    made = torch.randn(shape[::-1], generator=source, device="cuda", dtype=torch.float32)
    if type == "bf16":
        return np.asarray(made.to(torch.bfloat16).view(torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)).T
    return np.asarray(made.to(getattr(torch, {"f16": "float16", "f32": "float32"}[type])).cpu().numpy()).T


def product_in_f32(a: Array, b: Array) -> Array:
    """A B in f32, by the GPU if there is one."""
    torch = cuda()
    if torch is None:
        return np.asarray(a.astype(np.float32) @ b.astype(np.float32))
    torch.backends.cuda.matmul.allow_tf32 = False
    return np.asarray((on_gpu(torch, b).float() @ on_gpu(torch, a).float()).cpu().numpy()).T


@dataclass(frozen=True)
class LlamaModule:
    """A shader of llama.cpp: its file, the values of its constants, and how it is launched."""

    file: Path
    constants: Mapping[int, int]
    grid: tuple[int, int, int]
    arrays: Mapping[int, Array]
    push: bytes
    result: Callable[[], Array]

    def kernel(self) -> girih.Kernel:
        """The shader on the driver. Raises `girih.Error` where it is refused."""
        return girih.load(self.file, "vulkan", dict(self.constants), checks="off")["main"]

    def launch(self, kernel: Any) -> None:
        """Launch it on its arrays."""
        bound = {(0, binding): array.reshape(-1) for binding, array in self.arrays.items()}
        kernel[self.grid](bound, push_constants=self.push)


class Problem(ABC):
    """What is measured: a kernel of girih with arguments, and others that compute the same.

    `operations` are the floating-point ones of its products; `error` is how far a result is from the reference, as a
    part of how far it may be.
    """

    name: str
    kernel: str
    operations: float

    @property
    @abstractmethod
    def definitions(self) -> dict[str, object]:
        """What the kernel is loaded with."""

    @property
    @abstractmethod
    def arguments(self) -> tuple[Any, ...]:
        """What the kernel is launched on."""

    @property
    @abstractmethod
    def result(self) -> Array:
        """The array that the kernel writes."""

    @abstractmethod
    def error(self, result: Array) -> float:
        """How far a result is from the reference, as a part of how far it may be."""

    def peers(self) -> dict[str, Call]:
        """The calls that compute the same on PyTorch's GPU, by name; none without one."""
        return {}

    def module(self, folder: Path) -> LlamaModule | None:
        """llama.cpp's shader for it, None where there is none."""
        return None

    @abstractmethod
    def variants(self) -> Iterator[dict[str, object]]:
        """Definitions of sizes that are worth trying, the most promising first."""

    @staticmethod
    def seconds(call: Call, warm: int, timed: int) -> float:
        """The median time of a call on PyTorch's GPU."""
        torch = cuda()
        assert torch is not None
        times = []
        for turn in range(warm + timed):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call()
            end.record()
            end.synchronize()
            if turn >= warm:
                times.append(begin.elapsed_time(end) * 1e-3)
        return float(median(times))

    def forget(self) -> None:
        """Free what was made."""
        for name in [key for key in vars(self) if isinstance(getattr(type(self), key, None), cached_property)]:
            del vars(self)[name]
        torch = cuda()
        if torch is not None:
            torch.cuda.empty_cache()


def tiles(depths: tuple[int, ...] = (64, 32, 128)) -> Iterator[dict[str, object]]:
    """Sizes of tiles of products: as many accumulators as the registers of a work-group hold."""
    shapes = ((128, 256), (256, 128), (128, 128), (256, 256), (64, 256), (256, 64), (128, 64), (64, 128), (64, 64))
    for depth, (rows, columns), items in itertools.product(depths, shapes, (256, 128)):
        if rows * columns <= items * 256:
            yield {"rows": rows, "columns": columns, "depth": depth, "items": items}


class Product(Problem):
    """C := A B with `gemm_work_group`; A is M x K, B is K x N, all of one type."""

    kernel = "gemm_work_group"

    def __init__(self, type: str, m: int, n: int, k: int) -> None:
        self.type, self.m, self.n, self.k = type, m, n, k
        self.name = f"gemm {type} {m} x {n} x {k}"
        self.operations = 2.0 * m * n * k

    @cached_property
    def a(self) -> Array:
        """The left factor."""
        return normal(self.type, self.m, self.k, seed=1)

    @cached_property
    def b(self) -> Array:
        """The right factor."""
        return normal(self.type, self.k, self.n, seed=2)

    @cached_property
    def result(self) -> Array:
        """C."""
        return np.zeros((self.m, self.n), DTYPES[self.stored], order="F")

    @property
    def stored(self) -> str:
        """The type of C: Hopper lists no sums of bf16, of which alone a matrix can be stored as bf16."""
        return "f32" if self.type == "bf16" else self.type

    @cached_property
    def reference(self) -> Array:
        """C in f32."""
        return product_in_f32(self.a, self.b)

    @property
    def definitions(self) -> dict[str, object]:
        """The types."""
        return {"type": self.type, "result": self.stored}

    @property
    def arguments(self) -> tuple[Any, ...]:
        """A, B and C."""
        return self.a, self.b, self.result

    def error(self, result: Array) -> float:
        """The largest difference, against what sums in f32, which tensor cores cut off, may be off."""
        bound = 128 * np.sqrt(self.k) * 2.0**-20 + EPSILON[_name(result)] * abs(self.reference)
        return float((abs(result.astype(np.float32) - self.reference) / bound).max())

    def peers(self) -> dict[str, Call]:
        """cuBLAS by `torch.matmul`, on the same layout."""
        torch = cuda()
        if torch is None:
            return {}
        a, b = on_gpu(torch, self.a), on_gpu(torch, self.b)
        out = torch.empty((self.n, self.m), dtype=a.dtype, device="cuda")
        return {"cuBLAS": lambda: torch.matmul(b, a, out=out)}

    def module(self, folder: Path) -> LlamaModule | None:
        """llama.cpp's `mul_mm_cm2.comp`, whose A lies in rows, and whose B and C lie in columns."""
        return llama_product(self, folder / f"matmul_{self.type}_cm2.spv", np.ascontiguousarray(self.a))

    def variants(self) -> Iterator[dict[str, object]]:
        """Sizes of tiles."""
        return tiles()


class QuantisedProduct(Product):
    """C := W X with `gemm_q4_0_work_group`; W is M x K in blocks of 4-bit weights."""

    kernel = "gemm_q4_0_work_group"

    def __init__(self, type: str, m: int, n: int, k: int) -> None:
        super().__init__(type, m, n, k)
        self.name = f"gemm q4_0 x {type} {m} x {n} x {k}"

    @cached_property
    def blocks(self) -> Array:
        """W."""
        return quantize(normal("f32", self.m, self.k, seed=1), "q4_0")

    @cached_property
    def a(self) -> Array:
        """The weights that the blocks stand for, in the type of X."""
        return np.asfortranarray(dequantize(self.blocks, "q4_0").astype(DTYPES[self.type]))

    @cached_property
    def result(self) -> Array:
        """C."""
        return np.zeros((self.m, self.n), np.float32, order="F")

    @property
    def definitions(self) -> dict[str, object]:
        """The type of X."""
        return {"type": self.type}

    @property
    def arguments(self) -> tuple[Any, ...]:
        """W, X and C."""
        return self.blocks, self.b, self.result

    def peers(self) -> dict[str, Call]:
        """cuBLAS on weights that were decoded before."""
        return {f"{name}, decoded": call for name, call in super().peers().items()}

    def module(self, folder: Path) -> LlamaModule | None:
        """llama.cpp's `mul_mm_cm2.comp` for blocks."""
        return llama_product(self, folder / "matmul_q4_0_f16_cm2.spv", np.ascontiguousarray(self.blocks.T))

    def variants(self) -> Iterator[dict[str, object]]:
        """Sizes of tiles."""
        return tiles()


def llama_product(problem: Product, file: Path, left: Array) -> LlamaModule | None:
    """llama.cpp's shader for a product, with its largest tiles; None where the file is not there."""
    if not file.is_file() or problem.k % 64:
        return None
    m, n, k = problem.m, problem.n, problem.k
    rows, columns = 128, 256
    right, out = np.ascontiguousarray(problem.b.T), np.zeros((n, m), np.float32)
    # M, N, K, strides, batch strides; one batch, no split, no broadcast; padded N.
    push = struct.pack("<17I", m, n, k, k, k, m, m * k, n * k, n * m, 0, 1, k, 1, 1, 1, 1, -(-n // columns) * columns)
    constants = {0: 256, 1: rows, 2: columns, 3: 64, 4: 0, 5: 1}
    grid = (-(-m // rows), -(-n // columns), 1)
    return LlamaModule(file, constants, grid, {0: left, 1: right, 2: out}, push, lambda: out.T)


class Attention(Problem):
    """O = softmax(scale Q^T K) V with `attention_work_group`, as many keys as queries."""

    kernel = "attention_work_group"

    def __init__(self, type: str, headdim: int, length: int, heads: int = 16, *, causal: bool = False) -> None:
        self.type, self.headdim, self.length, self.heads, self.causal = type, headdim, length, heads, causal
        self.name = f"attention {type} headdim {headdim}, {length} x {length}, {heads} heads{', causal' * causal}"
        self.operations = 4.0 * length * length * headdim * heads * (0.5 if causal else 1.0)
        self.scale = headdim**-0.5

    @cached_property
    def inputs(self) -> tuple[Array, Array, Array]:
        """Q, K and V."""
        q, k, v = (normal(self.type, self.headdim, self.length, self.heads, seed=seed) for seed in (1, 2, 3))
        return q, k, v

    @cached_property
    def result(self) -> Array:
        """O."""
        return np.zeros((self.headdim, self.length, self.heads), DTYPES[self.type], order="F")

    @cached_property
    def reference(self) -> Array:
        """Some queries of each head in f32: heads x queries x headdim."""
        q, k, v = (np.asarray(x.T).astype(np.float32) for x in self.inputs)
        scores = self.scale * q[:, self.shown] @ k.transpose(0, 2, 1)
        if self.causal:
            scores[:, np.arange(self.length)[None] > self.shown[:, None]] = -np.inf
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        return np.asarray((weights / weights.sum(axis=2, keepdims=True)) @ v)

    @cached_property
    def shown(self) -> NDArray[np.int64]:
        """The queries that are checked: both ends, and some in between."""
        return np.unique(np.linspace(0, self.length - 1, 64).astype(np.int64))

    @property
    def definitions(self) -> dict[str, object]:
        """The type, the head's dimension, the mask; exponentials are the device's own."""
        return {"type": self.type, "headdim": self.headdim, "causal": self.causal, "fast": True}

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Q, K, V, O and the scale."""
        return *self.inputs, self.result, self.scale

    def error(self, result: Array) -> float:
        """The largest difference, against what exponentials to 2^-10 and roundings to the type may be off."""
        found = np.asarray(result.T).astype(np.float32)[:, self.shown]
        largest = max(float(abs(self.inputs[2].astype(np.float32)).max()), 1.0)
        return float(abs(found - self.reference).max() / ((2 * 2.0**-10 + 2 * EPSILON[self.type]) * largest))

    def peers(self) -> dict[str, Call]:
        """cuDNN's and FlashAttention's kernels by `scaled_dot_product_attention`."""
        torch = cuda()
        if torch is None:
            return {}
        q, k, v = (on_gpu(torch, x)[None] for x in self.inputs)
        functional, attention = torch.nn.functional, torch.nn.attention
        backends = {"cuDNN": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}

        def call(name: str) -> object:
            with attention.sdpa_kernel([getattr(attention.SDPBackend, name)]):
                return functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale)

        return {name: partial(call, backend) for name, backend in backends.items()}

    def module(self, folder: Path) -> LlamaModule | None:
        """llama.cpp's `flash_attn_cm2.comp`, whose Q and O are of f32; causal, it wants the mask as an array."""
        file = folder / f"flash_attn_f32_{self.type}_cm2.spv"
        if self.causal or self.type != "f16" or not file.is_file():
            return None
        d, n, heads = self.headdim, self.length, self.heads
        q, k, v = (np.ascontiguousarray(x.T) for x in self.inputs)
        out, nothing = np.zeros((n, heads, d), np.float32), np.zeros(64, np.float32)
        rows, keys = 64, 64
        # Sizes of Q, K, V and the mask; strides of rows in elements, of heads and batches in bytes.
        sizes = [n, n, heads, n, 1, heads, 1, heads, 1, heads, 1, 1, 1, 1]
        wide, narrow = [d, 4 * d * n, 4 * d * n * heads], [d, 2 * d * n, 2 * d * n * heads]
        push = struct.pack("<23I", *sizes, *wide, *narrow, *narrow) + struct.pack(
            "<3fI2f3I", self.scale, 0.0, 0.0, heads, 1.0, 1.0, 1, n, 1
        )
        # Work-items, rows, columns, both dimensions of a head, clamping; splits, subgroups; the types are f16.
        constants = {0: 128, 1: rows, 2: keys, 3: d, 4: d, 5: int(n % keys != 0), 6: 1, 7: 1, 8: 32, 9: 0, 10: 0, 11: 0,
                     12: 1, 13: 1, 14: 2, 15: 2}  # fmt: skip
        arrays = {0: q.astype(np.float32), 1: k, 2: v, 3: nothing, 4: nothing.copy(), 5: out, 6: nothing.copy()}
        grid = (-(-n // rows), heads, 1)
        return LlamaModule(file, constants, grid, arrays, push, lambda: out.transpose(2, 0, 1))

    def variants(self) -> Iterator[dict[str, object]]:
        """Queries and keys at a time."""
        for queries, keys, items in itertools.product((64, 128, 32, 256), (64, 32, 128), (128, 256)):
            if queries * max(keys, self.headdim) <= items * 256:
                yield {"queries": queries, "keys": keys, "items": items}


def _name(result: Array) -> str:
    return next(name for name, dtype in DTYPES.items() if dtype == result.dtype)
