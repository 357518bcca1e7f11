"""One function for each kernel of the library: it returns the kernel, loaded for a type and for sizes.

All functions take their options by name, among them `target` and `order`, which are those of `girih.load`. They raise
`ValueError`, in words and with the choices, for an option that is not offered, and for a target or an order that does
not exist. A launch raises what `girih.Kernel` raises. Arrays are in the layout of the language: the first mode is
contiguous (`order="F"` in NumPy); with `order="C"` it is the last axis, and the page of each kernel says what that
means. Where a kernel has a `beta`, what it writes to is not read for `beta=0`.

Matrices that do not fit together are found when the kernel accesses an element that does not exist, with one exception:
cooperative matrices count elements outside as zero (003 "Cooperative matrix load").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.kernels.loading import (
    attention_of_work_groups,
    attention_tile_for,
    column_kernel,
    given,
    loaded_kernel,
    loaded_program,
    product_of_work_groups,
    rows_of_work_group,
    shared_kernel,
    shares,
    tile_for,
)
from girih.kernels.table import (
    ACTIVATIONS,
    BIASES,
    BLOCK_COLUMNS,
    ROWS_OF_A_WORK_ITEM,
    TRUTH,
    accumulator_of,
    checked,
    choices,
    layout_of,
    one_of,
)

if TYPE_CHECKING:
    from girih.api import Kernel
    from girih.ir.core import Order


def gemm(
    *,
    type: str = "f32",
    accumulator: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    rows: int | None = None,
    columns: int | None = None,
    depth: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C := alpha op(A) op(B) + beta C with cooperative matrices: `kernel(alpha, A, B, beta, C)`.

    op(A) is M x K, op(B) is K x N, C is M x N, of any size; op(X) is X or its transpose. A and B are of `type`, any
    number type; alpha, beta and C of `accumulator`, at least as wide (i32 for narrow integers and f32 for narrow
    floating types if left out). A work-group computes a tile of `rows` x `columns`, with `depth` summands at a time;
    sizes that are left out suit the target. Grid: ceil(M / rows) x ceil(N / columns); work-groups of a larger one find
    nothing to do. The sizes of A and B must fit C: missing elements count as zero. 003 "Cooperative matrix mul add".

    Where all three sizes are left out, a CPU takes no tiles, unless sums are wider than f32 for f16 and bf16 or than
    `type` for others: any number of work-groups share C, by the collective instruction. There, with checks, factors too
    small for C and depths that differ are found. Grid: by the work, up to two work-groups for each thread that the
    process has. 003 "GEMM". GPUs with tile programs take f16 and bf16 with sums in f32 by matrices of the work-group.
    """
    summed = accumulator_of("gemm", type, accumulator)
    if rows is columns is depth is None:
        shared = shares(target, type, summed)
        if shared is not None:
            return shared_kernel("gemm", target, order, shared | {"narrow": type != summed}, type=type,
                                 accumulator=summed, transpose_a=transpose_a, transpose_b=transpose_b)  # fmt: skip
        wide = product_of_work_groups("gemm", target, order, type, summed, transpose_a=transpose_a,
                                      transpose_b=transpose_b)  # fmt: skip
        if wide is not None:
            return wide
    return loaded_kernel("gemm", target, order, type=type, accumulator=summed, transpose_a=transpose_a,
                   transpose_b=transpose_b, **tile_for(target, type, summed, rows, columns, depth))  # fmt: skip


def gemm_epilogue(
    *,
    type: str = "f32",
    transpose_a: bool = False,
    transpose_b: bool = False,
    bias: str | None = None,
    activation: str | None = None,
    residual: bool = False,
    rows: int | None = None,
    columns: int | None = None,
    depth: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C := f(op(A) op(B) + bias) + R with cooperative matrices: `kernel(A, B, bias, R, C)`.

    op(A) is M x K, op(B) is K x N, C and R are M x N, of a floating type; sums, bias and f are in f64 for f64, else in
    f32. `bias` is "rows" for a bias of M elements, "columns" for one of N. f, the `activation`, is "gelu", "gelu_tanh"
    (its usual approximation), "silu" or "relu". With `residual` R is added; it may be C. A bias or R that is not used
    may be None. `rows`, `columns` and `depth` are those of `gemm`. Grid: ceil(M / rows) x ceil(N / columns).
    003 "Cooperative matrix mul add", "Cooperative matrix apply".
    """
    chosen: dict[str, object] = {}
    if bias is not None:
        chosen[one_of("gemm_epilogue", "bias", bias, BIASES)] = True
    if activation is not None:
        chosen[one_of("gemm_epilogue", "activation", activation, ACTIVATIONS)] = True
    accumulator = accumulator_of("gemm_epilogue", type, None)
    if rows is columns is depth is None:
        wide = product_of_work_groups("gemm_epilogue", target, order, type, accumulator, transpose_a=transpose_a,
                                      transpose_b=transpose_b, residual=residual, **chosen)  # fmt: skip
        if wide is not None:
            return wide
    return loaded_kernel("gemm_epilogue", target, order, type=type, accumulator=accumulator, transpose_a=transpose_a,
                   transpose_b=transpose_b, residual=residual, **chosen,
                   **tile_for(target, type, accumulator, rows, columns, depth))  # fmt: skip


def gemm_mixed(
    *,
    type: str = "i8",
    accumulator: str | None = None,
    rows: int | None = None,
    columns: int | None = None,
    depth: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C := A B with narrow factors and wide sums: `kernel(A, B, C)`.

    A is M x K and B is K x N, of `type`: i8, i16, f16 or bf16; C is M x N, of `accumulator`: i32 or i64 for integers,
    f32 for the others. `rows`, `columns` and `depth` are those of `gemm`; where they are left out, f16 and bf16 take no
    tiles on a CPU, as there. Grid: ceil(M / rows) x ceil(N / columns). 003 "Cooperative matrix mul add".
    """
    summed = accumulator_of("gemm_mixed", type, accumulator)
    if rows is columns is depth is None:
        shared = shares(target, type, summed)
        if shared is not None:
            return shared_kernel("gemm_mixed", target, order, shared, type=type, accumulator=summed)
        wide = product_of_work_groups("gemm_mixed", target, order, type, summed)
        if wide is not None:
            return wide
    sizes = tile_for(target, type, summed, rows, columns, depth)
    return loaded_kernel("gemm_mixed", target, order, type=type, accumulator=summed, **sizes)


def gemm_collective(
    *,
    type: str = "f32",
    transpose_a: bool = False,
    transpose_b: bool = False,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C := alpha op(A) op(B) + beta C with the collective instruction: `kernel(alpha, A, B, beta, C)`.

    op(A) is M x K, op(B) is K x N, C is M x N, of any size and any number type; columns may lie apart. op(X) is X or
    its transpose. Grid: ceil(M / 128) x ceil(N / 128). 003 "GEMM".
    """
    return loaded_kernel("gemm_collective", target, order, type=type, transpose_a=transpose_a, transpose_b=transpose_b)


def gemm_batched(
    *,
    m: int,
    n: int,
    k: int,
    type: str = "f32",
    transpose_a: bool = False,
    transpose_b: bool = False,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C_b := alpha op(A_b) op(B_b) + beta C_b for all b: `kernel(alpha, A, B, beta, C)`.

    op(A_b) is m x k, op(B_b) is k x n, C_b is m x n, with sizes known to the compiler; b is the third mode of A, B and
    C, whose strides are free. Grid: the number of products. 003 "GEMM".
    """
    definitions: dict[str, object] = {"type": type, "M": m, "N": n, "K": k}
    transposed = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    for option, value in transposed.items():
        if not isinstance(value, bool):
            raise ValueError(f"gemm_batched: {option} is {value!r}; it must be {choices(TRUTH)}")
    letters = "".join("t" if transpose else "n" for transpose in transposed.values())
    return loaded_program("gemm_batched", target, order, definitions)[f"gemm_batched_{letters}"]


def gemm_batched_group(
    *,
    type: str = "f32",
    transpose_a: bool = False,
    transpose_b: bool = False,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """C_b := alpha op(A_b) op(B_b) + beta C_b for all b: `kernel(alpha, A, B, beta, C)`.

    A, B and C are lists of matrices, of any number type; each product has sizes of its own. Grid: the number of
    products. 003 "GEMM", "Group type".
    """
    return loaded_kernel(
        "gemm_batched_group", target, order, type=type, transpose_a=transpose_a, transpose_b=transpose_b
    )


def gemm_tall_skinny(*, n: int, k: int, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """C := alpha A B + beta C for a tall A: `kernel(alpha, A, B, beta, C)`.

    A is M x k, B is k x n, C is M x n, of any number type; M is free, n and k are small and known to the compiler.
    Grid: ceil(M / 128). 003 "GEMM".
    """
    return loaded_kernel("gemm_tall_skinny", target, order, type=type, N=n, K=k)


def axpby(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """y := alpha x + beta y: `kernel(alpha, x, beta, y)`.

    x and y are vectors of one length and of any number type; their elements may lie apart. Grid: ceil(length / 1024).
    003 "Axpby".
    """
    return loaded_kernel("axpby", target, order, type=type)


def hadamard(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """z := alpha x * y + beta z, element by element: `kernel(alpha, x, y, beta, z)`.

    x, y and z are vectors of one length and of any number type; their elements may lie apart. Grid:
    ceil(length / 1024). 003 "Hadamard product".
    """
    return loaded_kernel("hadamard", target, order, type=type)


def ger(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """C := alpha x y^T + beta C: `kernel(alpha, x, y, beta, C)`.

    x has M elements, y has N, C is M x N, of any number type. Grid: ceil(M / 64) x ceil(N / 64). 003 "GER".
    """
    return loaded_kernel("ger", target, order, type=type)


def gemv(
    *,
    type: str = "f32",
    transpose_a: bool = False,
    rows: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """y := alpha op(A) x + beta y: `kernel(alpha, A, x, beta, y)`.

    op(A) is M x K, x has K elements, y has M, of any number type; op(A) is A or its transpose. Grid: ceil(M / rows),
    rows being 512, on NVIDIA's GPUs 16, if left out; any other grid is right, too. 003 "GEMV".
    """
    sizes = rows_of_work_group(target) | given(rows=rows)
    return loaded_kernel("gemv", target, order, type=type, transpose_a=transpose_a, **sizes)


def softmax(*, type: str = "f32", length: int | None = None, order: Order = "F", target: str | None = None) -> Kernel:
    """B[:, j] = softmax(A[:, j]): `kernel(A, B)`.

    A and B are N x columns, of a floating type; sums are in f64 for f64, else in f32. Grid: columns. A column of -inf
    gives zeros. With `length`, the kernel is for columns of that length alone, which GPUs of NVIDIA then read once.
    """
    return column_kernel("softmax", target, order, type, length, loaded=1)


def layernorm(*, type: str = "f32", length: int | None = None, order: Order = "F", target: str | None = None) -> Kernel:
    """Y[:, j] = gamma (X[:, j] - mean) / sqrt(variance + epsilon) + beta: `kernel(X, gamma, beta, epsilon, Y)`.

    X and Y are N x columns, gamma and beta have N elements, of a floating type; epsilon and sums are f64 for f64, else
    f32. Grid: columns. With `length`, the kernel is for columns of that length alone, which GPUs of NVIDIA then read
    once.
    """
    return column_kernel("layernorm", target, order, type, length, loaded=3)


def rms_norm(*, type: str = "f32", length: int | None = None, order: Order = "F", target: str | None = None) -> Kernel:
    """Y[:, j] = gamma X[:, j] / sqrt(mean of squares + epsilon): `kernel(X, gamma, epsilon, Y)`.

    X and Y are N x columns, gamma has N elements, of a floating type; epsilon and sums are f64 for f64, else f32. Grid:
    columns. With `length`, the kernel is for columns of that length alone, which GPUs of NVIDIA then read once.
    """
    return column_kernel("rms_norm", target, order, type, length, loaded=2)


def argmax(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """I[j] = the first i with the largest A[i, j]: `kernel(A, I)`.

    A is N x columns, of an integer or floating type; I has `columns` elements of i64. Grid: columns. NaN is passed
    over; a column without a number gives -1.
    """
    return loaded_kernel("argmax", target, order, type=type)


def top_k(*, k: int, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """V[r, j] = A[I[r, j], j], the r-th largest element of A[:, j]: `kernel(A, V, I)`.

    A is N x columns, of an integer or floating type, V is k x columns of that type, and I k x columns of i64. Of equal
    elements the one with the lowest index comes first. NaN is passed over; where a column has fewer than k numbers, the
    rest of I is -1, and that of V -inf or the smallest integer. Grid: columns.
    """
    return loaded_kernel("top_k", target, order, type=type, k=k)


def cross_entropy(
    *, type: str = "f32", index: str = "i64", ignore_index: int = -100, order: Order = "F", target: str | None = None
) -> tuple[Kernel, Kernel]:
    """L[j] = log(sum of exp(A[:, j])) - A[T[j], j] and its gradient: `loss(A, T, L)`, `grad(A, T, S, G)`.

    A and G are classes x columns, of a floating type. T has the classes of the columns, of type `index`, L the losses,
    and S what the gradient of each is multiplied by; L and S are f64 for f64, else f32. A column whose class is
    `ignore_index` has a loss and a gradient of zero. G may be A. Grid: columns.
    """
    summed = accumulator_of("cross_entropy", type, None)
    definitions: dict[str, object] = {"accumulator": summed, "index": index, "ignore_index": ignore_index}
    program = loaded_program("cross_entropy", target, order, {"type": type, **definitions})
    return program["cross_entropy"], program["cross_entropy_gradient"]


def rotary(*, type: str = "f32", interleaved: bool = False, order: Order = "F", target: str | None = None) -> Kernel:
    """Y := X with pairs of elements turned by angles of their places: `kernel(X, C, S, Y)`.

    X and Y are size x places x heads, of a floating type, size being even; C and S are size / 2 x places, cosines and
    sines, f64 for f64, else f32. Pair i is (X[i], X[i + size / 2]), or (X[2 i], X[2 i + 1]) where `interleaved`. Y may
    be X. Grid: ceil(places / 16) x heads.
    """
    accumulator = accumulator_of("rotary", type, None)
    return loaded_kernel("rotary", target, order, type=type, accumulator=accumulator, interleaved=interleaved)


def inverse(*, n: int, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """B_m := A_m^-1 for all m, with partial pivoting: `kernel(A, B, I)`.

    A and B are n x n x matrices, of f32 or f64, n up to 64; B may be A. I has an i32 for each matrix: 0, or for a
    singular one the number, counted from 1, of the first column without a pivot. Grid: matrices.
    """
    return loaded_kernel("inverse", target, order, type=type, n=n)


def cholesky(
    *, n: int, type: str = "f32", upper: bool = False, order: Order = "F", target: str | None = None
) -> Kernel:
    """A_m = L_m L_m^T for all m: `kernel(A, L, I)`, which has a work-item for each row, or for each small matrix.

    A and L are n x n x matrices, of f32 or f64, n up to 64; L may be A. Of A the elements on and below the diagonal are
    read, and L has zeros above it; with `upper` it is the other way round, and L is U with A = U^T U. I has an i32 for
    each matrix: 0, or for one that is not positive definite the number, counted from 1, of the first pivot that is not
    positive; L has NaN from that column on. Grid: matrices.
    """
    program = loaded_program("cholesky", target, order, {"type": type, "n": n, "upper": upper})
    return program["cholesky" if n > ROWS_OF_A_WORK_ITEM else "cholesky_small"]


def lu(*, n: int, type: str = "f32", transpose: bool = False, order: Order = "F", target: str | None = None) -> Kernel:
    """P_m A_m = L_m U_m for all m, with partial pivoting: `kernel(A, F, P, I)`.

    A and F are n x n x matrices, of f32 or f64, n up to 64; F may be A. U is on and above the diagonal of F, L without
    its ones below it. P is n x matrices, of i32: step k swapped the rows k and P[k]. I has an i32 for each matrix: 0,
    or the number, counted from 1, of the first pivot that is zero. With `transpose`, the transposes of A are
    factorized, and F has the transposes of their factors. Grid: matrices.
    """
    return loaded_kernel("lu", target, order, type=type, n=n, transpose=transpose)


def attention(
    *,
    headdim: int,
    type: str = "f32",
    causal: bool = False,
    fast: bool = False,
    queries: int | None = None,
    keys: int | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """O = softmax(scale Q^T K) V for each head: `kernel(Q, K, V, O, scale)`.

    Q and O are headdim x queries x heads, K and V are headdim x keys x key heads, of f16, bf16 or f32; scale is f32.
    heads is a multiple of key heads. With `causal`, query i sees the keys 0..i. With `fast`, exponentials have a
    relative error of up to 2^-10. A work-group computes `queries` of one head, and sees so many `keys` at a time: 32,
    64, 128 or 256, or 16 keys; sizes that are left out suit the target. Grid: ceil(queries / `queries`) x heads;
    work-groups of a larger one find nothing to do.
    """
    if queries is keys is None:
        wide = attention_of_work_groups(target, order, type, headdim, causal=causal, fast=fast)
        if wide is not None:
            return wide
    return loaded_kernel("attention", target, order, type=type, headdim=headdim, causal=causal, fast=fast,
                         **attention_tile_for(target, type, queries, keys))  # fmt: skip


def ader_dg(*, convergence_order: int, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """I = sum of dt^(n+1) / (n+1)! D_n, D_0 = Q, D_(n+1) = sum of K_d D_n A_d: `kernel(dt, K, A, Q, I)`.

    With P = o (o + 1) (o + 2) / 6 basis functions, K is P x P x 3, A is 9 x 9 x 3 x elements, Q and I are
    P x 9 x elements, of f32 or f64; o, the `convergence_order`, is 2 to 7, n goes from 0 to o - 1 and d from 0 to 2.
    Grid: elements.
    003 "GEMM", "Alloca".
    """
    return loaded_kernel("ader_dg", target, order, type=type, convergence_order=convergence_order)


def stencil(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """The sum of second derivatives along three modes, of order 8: `kernel(W, U, V)`.

    W has 5 weights, U is (nx + 8) x (ny + 8) x (nz + 8), V is nx x ny x nz, of f32 or f64. Grid:
    ceil(nx / 32) x ceil(ny / 8) x ceil(nz / 16).
    """
    return loaded_kernel("stencil", target, order, type=type)


def histogram(*, bins: int = 256, type: str = "i32", order: Order = "F", target: str | None = None) -> Kernel:
    """H[b] := H[b] + number of elements of X that are b: `kernel(X, H)`.

    X is a vector of an integer type, H has `bins` elements of i32; what is not in 0..bins-1 is not counted. Grid:
    ceil(length / 4096). 003 "Atomic update".
    """
    return loaded_kernel("histogram", target, order, type=type, bins=bins)


def scan(*, type: str = "f32", order: Order = "F", target: str | None = None) -> tuple[Kernel, Kernel]:
    """Y[i] := X[0] + ... + X[i] in two kernels: `totals(X, T)`, then `scan(X, T, Y)`.

    X and Y are vectors of one length, T has ceil(length / 1024) elements, of an integer or floating type. Grid:
    ceil(length / 1024), that of the second kernel ceil(length / 8192) or more.
    """
    program = loaded_program("scan", target, order, {"type": type})
    return program["scan_totals"], program["scan"]


def transpose(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """B := A^T through local memory: `kernel(A, B)`.

    A is M x N, B is N x M, of any number type. Grid: ceil(M / 32) x ceil(N / 32).
    """
    return loaded_kernel("transpose", target, order, type=type)


def transposed_load(*, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """B := A^T through a view that swaps dimensions: `kernel(A, B)`.

    A is M x N, B is N x M, of any number type. Grid: ceil(M / 32) x ceil(N / 32). 000 "OpTypeTensorViewNV".
    """
    return loaded_kernel("transposed_load", target, order, type=type)


def space_to_depth(*, channels: int = 3, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """B[(2 dy + dx) C + c, x, y] = A[c, 2 x + dx, 2 y + dy] for C channels: `kernel(A, B)`.

    A is C x W x H with W and H even, B is 4 C x W / 2 x H / 2, of i8, i16 or a floating type; C is up to 256. Grid:
    H / 2. 000 "OpTypeTensorViewNV".
    """
    return loaded_kernel("space_to_depth", target, order, type=type, channels=channels)


def patches(
    *,
    channels: int = 3,
    size: int = 8,
    padding: str = "zero",
    type: str = "f32",
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """P[c, dx, dy, x + y ceil(W / S)] = A[c, S x + dx, S y + dy], S being the size: `kernel(A, P)`.

    A is channels x W x H, P is channels x S x S x ceil(W / S) ceil(H / S), of i8, i16 or a floating type; channels is
    up to 64, S up to 32. What is outside of A is as `padding` says: "zero", "edge" (the nearest pixel) or "mirror".
    Grid: ceil(H / S) x ceil(W / 32 S), of which the second may be less. 001 "Tensor Layout Types".
    """
    layout = layout_of("patches", 3, padding)
    return loaded_kernel("patches", target, order, type=type, size=size, channels=channels, layout=layout)


def convolution(
    *,
    stride: int = 1,
    dilation: int = 1,
    padding: str = "zero",
    depth: int = 16,
    type: str = "f32",
    accumulator: str | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """Y[k, q, p, n] = sum over c, s, r of F[k, c, s, r] X[c, q U + s D - pad, p U + r D - pad, n], with stride U and
    dilation D: `kernel(pad, X, F, Y)`.

    X is C x W x H x N, F is K x C x S x R, both of `type`: i8, i16 or a floating type; Y is K x Q x P x N, of
    `accumulator` (i32 for integers, f64 for f64, else f32 if left out), with Q = floor((W + 2 pad - D (S - 1) - 1) / U)
    + 1, and P likewise. What is outside of X is as `padding` says: "zero", "edge" (the nearest pixel) or "mirror".
    `depth` channels are taken at a time. Grid: ceil(K / 64) x ceil(Q / 28) x P N. 001 "Tensor Layout Types".
    """
    summed = accumulator_of("convolution", type, accumulator)
    layout = layout_of("convolution", 4, padding)
    return loaded_kernel("convolution", target, order, type=type, accumulator=summed, stride=stride, dilation=dilation,
                   layout=layout, depth=depth)  # fmt: skip


def convolution_im2col(
    *,
    stride: int = 1,
    dilation: int = 1,
    depth: int = 16,
    type: str = "f32",
    accumulator: str | None = None,
    order: Order = "F",
    target: str | None = None,
) -> Kernel:
    """Y[k, q, p, n] = sum over c, s, r of F[k, c, s, r] X[c, q U + s D - pad, p U + r D - pad, n], with stride U and
    dilation D: `kernel(pad, X, F, Y)`.

    X is the im2col map of an array C x W x H x N that `girih.addressing.plan_convolution` makes for padding, stride and
    dilation, with `depth` channels a pixel and 32 pixels a column, bound to the array. F is K x C x S x R, of `type`:
    f16, bf16 or f32; Y is K x Q x P x N, of `accumulator` (f32 if left out), with
    Q = floor((W + 2 pad - D (S - 1) - 1) / U) + 1, and P likewise. What is outside of X is zero. `depth` is 8, 16, 32,
    64 or 128. Grid: ceil(K / 64) x ceil(Q P N / 32). 004 5.5.4.
    """
    summed = accumulator_of("convolution_im2col", type, accumulator)
    return loaded_kernel(
        "convolution_im2col",
        target,
        order,
        type=type,
        accumulator=summed,
        stride=stride,
        dilation=dilation,
        depth=depth,
    )


def copy_boxes(
    *, columns: int = 32, rows: int = 64, type: str = "f32", order: Order = "F", target: str | None = None
) -> Kernel:
    """B := A, box by box through tensor maps: `kernel(A, B)`.

    A and B are bound maps of matrices of one size, of any type that maps have, with boxes of `columns` x `rows`
    elements and one swizzle; with a swizzle, `columns` elements fill its span. Grid: the number of boxes along
    dimension 0 x along dimension 1. 004 5.5.3, 5.5.5.
    """
    return loaded_kernel("copy_boxes", target, order, type=type, columns=columns, rows=rows)


def gather_rows(
    *, columns: int = 64, index: str = "i64", type: str = "f32", order: Order = "F", target: str | None = None
) -> Kernel:
    """Row i of B := row I[i] of A, as for embeddings: `kernel(A, I, B)`.

    A is the bound map of a table with boxes of one row of `columns` elements, I a vector of `index` numbers, i64 or
    i32, B the bound map of the result, which has as many rows, with boxes of `columns` x 32; `columns` is 32, 64, 128
    or 256. Numbers that A does not have, such as -1, give rows of zeros. Grid: ceil(columns of B / `columns`) x
    ceil(length of I / 32). 004 5.5.3.4.
    """
    return loaded_kernel("gather_rows", target, order, type=type, index=index, columns=columns)


def sum_layers(*, stride: int = 1, type: str = "f32", order: Order = "F", target: str | None = None) -> Kernel:
    """S[x, y] := S[x, y] + sum over z of A[x, stride y, z]: `kernel(A, S)`.

    A is the bound map of columns x rows x layers with boxes of 32 x 16 `stride` x 1 and element strides of 1, `stride`,
    1; S is that of columns x ceil(rows / `stride`) with boxes of 32 x 16, of i32, i64, f16, bf16 or f32. Maps for i64
    are of u64, since s64 has no sums. Layers are added in any order, each sum rounded to the type. Grid:
    ceil(columns / 32) x ceil(rows of S / 16) x layers. 004 5.5.3, PTX ISA "cp.reduce.async.bulk.tensor".
    """
    return loaded_kernel("sum_layers", target, order, type=type, stride=stride)


def unpack_4_bits(*, zero: int = 8, type: str = "i8", order: Order = "F", target: str | None = None) -> Kernel:
    """B[i, j] := A[i, j] - zero for numbers of 4 bits: `kernel(A, B)`.

    A is the bound map of K x N numbers from 0 to 15, two a byte, the lower half first, of element type b4x16_p64 with
    boxes of 128 x 16; B is K x N, of i8, i16, i32 or a floating type. Grid: ceil(K / 128) x ceil(N / 16). 004 5.5.1.1.
    """
    return loaded_kernel("unpack_4_bits", target, order, type=type, zero=zero)


def blocked_interleaved(
    *, blocks: str = "row", stride: int = 1, type: str = "f32", order: Order = "F", target: str | None = None
) -> tuple[Kernel, Kernel]:
    """A row-major matrix to interleaved blocks and back, two kernels: `pack(A, B)` and `unpack(B, A)`.

    A is N x M, M rows side by side, B has M N elements, of i8, i32 or a floating type. The blocks, of 4 rows of 16
    bytes, follow each other by `blocks`: "row" or "column"; `stride` of them, 1, 2 or 4, are interleaved. By rows M is
    a multiple of 4 and N of `stride` blocks, by columns M is a multiple of 4 `stride` and N of a block. Grid:
    ceil(M / 16).
    002 "Cooperative Matrix Layout".
    """
    checked("blocked_interleaved", {"type": type, "stride": stride})
    if blocks not in ("row", "column"):
        raise ValueError(f"blocked_interleaved: blocks is {blocks!r}; it must be one of row, column")
    program = loaded_program(
        "blocked_interleaved", target, order, {"type": type, "stride": stride, "block": BLOCK_COLUMNS[type]}
    )
    return program[f"pack_{blocks}s"], program[f"unpack_{blocks}s"]
