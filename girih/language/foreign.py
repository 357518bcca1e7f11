"""What to write for names that `girih.language` does not have: those of instructions, of NumPy, Triton, CUDA, Numba."""

from __future__ import annotations


def _each(*rows: tuple[str, str]) -> dict[str, str]:
    """A table by single names from rows that each begin with several names."""
    return {name: text for names, text in rows for name in names.split()}


INSTEAD = _each(
    # instructions that are operators, statements or other words
    ("add plus", "a + b"), ("sub subtract", "a - b"), ("mul multiply", "a * b"), ("true_divide divide", "a / b"),
    ("floor_divide", "a // b"), ("mod remainder fmod", "a % b, or gl.rem(a, b), which has the sign of a"),
    ("shl left_shift", "a << b"), ("shr right_shift", "a >> b"),
    ("and or xor not bitwise_and bitwise_or bitwise_xor invert logical_and logical_or logical_not",
     "& | ^ ~ of integers and bools, and `and or not`"),
    ("neg negative", "-x"), ("abs absolute fabs", "abs(x)"), ("im", "gl.imag(z)"), ("re", "gl.real(z)"),
    ("equal not_equal greater_than greater_than_equal less_than less_than_equal", "== != < <= > >="),
    ("greater less less_equal greater_equal", "== != < <= > >="),
    ("select", "gl.where(condition, a, b)"), ("constant_value const", "a literal, or gl.f32(1.0)"),
    ("alloca empty shared shared_array local_array allocate smem", "gl.local(shape, dtype)"),
    ("size len", "X.shape[0]"), ("view slice", "X[i : i + 32]"), ("reshape split", "gl.expand(X, axis, sizes)"),
    ("ravel flatten", "gl.fuse(X, first, last)"),
    ("cooperative_matrix_load", "gl.load(A[i : i + 16, k : k + 16], use)"),
    ("cooperative_matrix_store", "gl.store(m, C[i : i + 16, j : j + 16])"),
    ("cooperative_matrix_mul_add mul_add mma wmma matmul", "a @ b + c"),
    ("cooperative_matrix_scale scale", "alpha * m"),
    ("cooperative_matrix_construct constant_matrix splat", "gl.full(shape, value, dtype)"),
    ("broadcast_to broadcast", "gl.full(shape, value, dtype) of a number; operators broadcast rows and columns"),
    ("cooperative_matrix_reduce_add", "gl.sum(m, axis=1)"), ("cooperative_matrix_reduce_max", "gl.max(m, axis=1)"),
    ("cooperative_matrix_reduce_min", "gl.min(m, axis=1)"),
    ("cooperative_matrix_apply map", "gl.apply(function, m)"),
    ("cooperative_matrix_combine reduce", "gl.combine(function, m, axis=1)"),
    *((f"cooperative_matrix_{name}", f"gl.{name}") for name in (
        "extract", "insert", "prefetch", "transpose", "load_tensor", "store_tensor", "load_blocked_interleaved",
        "store_blocked_interleaved", "atomic_load", "atomic_store", "atomic_add", "atomic_max", "atomic_min")),
    ("tensor_layout_create", "gl.tensor_layout(dim, clamp_mode)"), ("tensor_view_create", "gl.tensor_view(dim)"),
    *((f"tensor_layout_{name}", f"t.{name}(...)") for name in (
        "set_block_size", "set_dimension", "set_stride", "slice", "set_clamp_value")),
    *((f"tensor_view_{name}", f"v.{name}(...)") for name in ("set_dimension", "set_stride", "set_clip")),
    ("tensor_copy_load_im2col", "gl.tensor_copy_load(map, coordinates, local, offsets=(w, h))"),
    ("for", "for i in range(n)"), ("if", "if condition:"), ("yield", "set the names, which are read behind it"),
    # the names of others
    ("program_id blockIdx block_id", "gl.group_id(axis)"), ("num_programs gridDim grid_dim", "gl.num_groups(axis)"),
    ("threadIdx thread_id lane_id local_id", "gl.subgroup_local_id(), or a point of gl.foreach"),
    ("warp_id", "gl.subgroup_linear_id()"), ("warpSize warp_size", "gl.subgroup_size()"),
    ("syncthreads debug_barrier thread_barrier sync", 'gl.barrier("local")'),
    ("arange", "the points of gl.foreach(n), or a view X[i : i + 32]"), ("ones", "gl.full(shape, 1, dtype)"),
    ("astype convert to", "gl.cast(x, dtype), or gl.f32(x)"), ("einsum inner", "gl.gemm(alpha, A, B, beta, C)"),
    ("fmax", "gl.maximum(a, b)"), ("fmin", "gl.minimum(a, b)"), ("clip clamp", "gl.minimum(gl.maximum(x, low), high)"),
    ("prange", "for i in gl.foreach(n)"), ("trunc fix", "gl.i32(x), which drops the fraction"),
    ("floor", "i = gl.i32(x), and gl.where(gl.f32(i) > x, i - 1, i)"),
    ("ceil", "i = gl.i32(x), and gl.where(gl.f32(i) < x, i + 1, i)"),
    ("round rint", "i = gl.i32(x + 0.5), and gl.where(gl.f32(i) > x + 0.5, i - 1, i)"),
    ("inf infinity", 'float("inf")'), ("nan", 'float("nan")'), ("pi", "math.pi"), ("isnan", "x != x"),
    ("isinf", 'abs(x) == float("inf")'), ("isfinite", 'abs(x) < float("inf")'),
    ("sign copysign", "gl.where(x < 0.0, -abs(y), abs(y)), which has the sign of x"),
    ("log1p", "gl.log(1.0 + x), which loses digits of small x"), ("log10", "gl.log(x) * 0.4342944819032518"),
    ("expm1", "gl.exp(x) - 1.0, which loses digits of small x"), ("tan", "gl.sin(x) / gl.cos(x)"),
    ("sort argsort topk", "comparisons with gl.minimum and gl.maximum; or sort outside"),
    ("rand randn randint random", "an array of random numbers, as a parameter"),
    ("cat concat concatenate join stack", "the parts of one array: X[0:16, :]"),
    ("argmax argmin", "gl.subgroup_reduce_max(x), and gl.subgroup_reduce_min of the indices where x is that"),
    ("softmax", "e = gl.exp(row - gl.max(row, axis=1)), and e / gl.sum(e, axis=1)"),
    ("atomic_cas atomic_xchg atomic_exch atomic_and atomic_or atomic_xor",
     "gl.atomic_load, gl.atomic_store, gl.atomic_add, gl.atomic_min or gl.atomic_max; there are no other atomics"),
    ("atomic_sub", "gl.atomic_add of -x"), ("popcount clz ctz", "`&` and shifts"), ("histogram", "gl.atomic_add"),
    ("subgroup_any subgroup_reduce_or any", "gl.subgroup_reduce_max(x) != 0, of an integer"),
    ("subgroup_all subgroup_reduce_and all", "gl.subgroup_reduce_min(x) != 0, of an integer"),
    ("multiple_of max_contiguous", "@girih.kernel(alignment=16), and sizes that are known"),
    ("expand_dims unsqueeze newaxis", "gl.expand(X, axis, (1, n))"),
    ("power", "a ** b"), ("square", "x * x"), ("sigmoid", "1 / (1 + gl.exp(-x))"), ("amax", "gl.max(m, axis=1)"),
    ("amin", "gl.min(m, axis=1)"), ("associative_scan", "gl.subgroup_inclusive_scan_add(x), or gl.cumsum in memory"),
    ("static_range", "gl.unroll(range(n))"), ("constexpr", "gl.constant"), ("static_print device_print", "gl.print"),
    ("shuffle shfl readlane subgroup_shuffle shuffle_xor shfl_xor subgroup_shuffle_xor shfl_up shfl_down",
     "gl.subgroup_broadcast(x, lane), of a lane that is the same for all; others write to gl.local"),
    ("make_block_ptr", "a view: X[i : i + 32, :]"),
    ("float32 float", "gl.f32"), ("float64 double", "gl.f64"), ("float16 half", "gl.f16"), ("bfloat16", "gl.bf16"),
    ("int8", "gl.i8"), ("int16", "gl.i16"), ("int32 int", "gl.i32"), ("int64", "gl.i64"), ("bool", "gl.bool_"),
    ("complex64", "gl.c32"), ("complex128", "gl.c64"), ("float8_e4m3fn float8e4nv", "gl.f8e4m3"),
    ("float8_e5m2 float8e5", "gl.f8e5m2"), ("uint16 uint32 uint64 u16 u32 u64", "an integer with a sign: gl.i32"),
    ("uint8 u8", "gl.i8, and pass X.view(np.int8); gl.i32(x) & 255 is the number without a sign"),
)  # fmt: skip
"""What to write, by name; each word that is named there exists."""

OPTIONS = _each(
    ("num_warps", "write @girih.kernel(subgroup_size=32, work_group_size=(128, 1)) for 4 of them"),
    ("num_stages", 'write @girih.kernel(hopper={"stages": 4}), a hint'),
    ("fastmath", 'write @girih.kernel(allow=("contract", "reassociate"))'),
    ("boundscheck", 'accesses are checked unless checks="off" is asked for'),
)
"""What to write for options of launches and decorators that others have."""
