"""Tables of what other languages and older texts write: names of instructions, types and attributes, and operators.

`hints` in this room makes hints of them.
"""

from __future__ import annotations

COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "gt": "greater_than", "ge": "greater_than_equal",
    "lt": "less_than", "le": "less_than_equal",
}  # fmt: skip

PREFIXES = ("arith", "math", "cmp", "builtin", "scf", "memref", "linalg", "vector", "gpu", "tl")
"""Families that mnemonics have in older texts, in MLIR and in Triton: `cmp.lt`, `arith.constant`, `tl.load`."""


def _each(*rows: tuple[str, str]) -> dict[str, str]:
    """A table by single words from rows that each begin with several words."""
    return {word: text for words, text in rows for word in words.split()}


FOREIGN_INSTRUCTIONS = {
    name + "NV": mnemonic for name, mnemonic in _each(
        ("createTensorLayout CreateTensorLayout", "tensor_layout_create"),
        ("setTensorLayoutBlockSize TensorLayoutSetBlockSize", "tensor_layout_set_block_size"),
        ("setTensorLayoutDimension TensorLayoutSetDimension", "tensor_layout_set_dimension"),
        ("setTensorLayoutStride TensorLayoutSetStride", "tensor_layout_set_stride"),
        ("sliceTensorLayout TensorLayoutSlice", "tensor_layout_slice"),
        ("setTensorLayoutClampValue TensorLayoutSetClampValue", "tensor_layout_set_clamp_value"),
        ("createTensorView CreateTensorView", "tensor_view_create"),
        ("setTensorViewDimensions TensorViewSetDimension", "tensor_view_set_dimension"),
        ("setTensorViewStride TensorViewSetStride", "tensor_view_set_stride"),
        ("setTensorViewClip TensorViewSetClip", "tensor_view_set_clip"),
        ("coopMatLoadTensor CooperativeMatrixLoadTensor", "cooperative_matrix_load_tensor"),
        ("coopMatStoreTensor CooperativeMatrixStoreTensor", "cooperative_matrix_store_tensor"),
        ("coopMatReduce CooperativeMatrixReduce", "cooperative_matrix_combine"),
        ("coopMatPerElement CooperativeMatrixPerElementOp", "cooperative_matrix_apply"),
        ("coopMatTranspose CooperativeMatrixTranspose", "cooperative_matrix_transpose"),
    ).items()
} | _each(
    ("plus addi addf", "add"), ("minus subtract subi subf", "sub"), ("multiply times muli mulf", "mul"),
    ("divide divf divsi", "div"), ("negate negf", "neg"),
    ("mod modulo fmod remainder srem remsi remf", "rem"), ("sll shli", "shl"), ("sra ashr shrsi", "shr"),
    ("andi", "and"), ("ori", "or"), ("xori", "xor"), ("fmax maximum", "max"),
    ("fmin minimum", "min"), ("ln", "log"), ("logical_not", "not"), ("not_eq neq", "not_equal"),
    ("sqrtf fsqrt", "sqrt"), ("inversesqrt InverseSqrt rsqrtf invsqrt", "rsqrt"),
    ("tanhf native_tanh", "tanh"), ("erff native_erf", "erf"),
    ("native_sqrt", "sqrt"), ("native_rsqrt", "rsqrt"), ("native_powr", "pow"),
    ("powf power fpowi", "pow"), ("fmaf mad madd muladd", "fma"), ("where ternary mux cond", "select"),
    ("less", "less_than"), ("greater", "greater_than"),
    ("const", "constant"), ("alloc malloc allocate shared", "alloca"), ("slice view", "subview"), ("len dim", "size"),
    ("shape", "size"), ("convert to astype sitofp fptosi sext trunci extf truncf", "cast"), ("reinterpret", "bitcast"),
    ("forall parallel_for pfor", "foreach"),
    ("matmul mm", "gemm"), ("mma", "cooperative_matrix_mul_add"),
    ("blockIdx block_id program_id get_group_id work_group_id workgroup_id", "group_id"),
    ("gridDim grid_dim num_programs num_workgroups", "num_groups"), ("warp_id", "subgroup_id"),
    ("lane_id laneid", "subgroup_local_id"), ("warpSize warp_size", "subgroup_size"),
    ("readlane", "subgroup_broadcast"), ("atomicAdd", "atomic_add"),
    ("cp tensor_load tma_load async_copy", "tensor_copy_load"), ("tensor_store tma_store", "tensor_copy_store"),
    ("tma_reduce", "tensor_copy_reduce"),
)  # fmt: skip
"""Names that instructions have in GLSL (001), in SPIR-V without `Op` (000), and in languages that many know."""

_NO_DECLARATION = "values are not declared: `%x = constant 1.0 : f32`, or the result of another instruction"
_STORED = "a kernel ends at its `}` and returns nothing: results are stored in memrefs, with `store`"
_ITEM = "points of `foreach` have numbers, which are shared out over work-items; in `parallel`, ask `subgroup_local_id`"

INSTEAD = _each(
    ("cbrt", "the cube root of x > 0 is 2^(log2(x) / 3): `log2`, `div` by 3.0, `exp2`"),
    ("hypot", "the root of x^2 + y^2: `mul`, `add`, `sqrt`"),
    ("log10", "the logarithm to base 10 is log2(x) times 0.30103: `log2`, `mul`"),
    ("tan", "the tangent is sin(x) / cos(x): `sin`, `cos`, `div`"),
    ("sinh", "sinh(x) is (e^x - e^-x) / 2: `exp`, `neg`, `sub`, `mul`"),
    ("cosh", "cosh(x) is (e^x + e^-x) / 2: `exp`, `neg`, `add`, `mul`"),
    ("sigmoid", "the sigmoid of x is 1 / (1 + e^-x): `neg`, `exp`, `add`, `div`"),
    ("silu swish", "x / (1 + e^-x): `neg`, `exp`, `add`, `div`"),
    ("gelu", "x (1 + erf(x / sqrt(2))) / 2: `mul` by 0.70710678, `erf`, `add` 1.0, `mul` by x and by 0.5"),
    ("erfc", "1 - erf(x): `erf`, `sub`"),
    ("relu", "the larger of x and 0: `max`"),
    ("clamp", "the smaller of an upper bound and the larger of x and a lower one: `max`, then `min`"),
    ("sqr square", "multiply it by itself: `mul %x, %x : type`"),
    ("inv rcp reciprocal", "divide 1 by it: `div`"),
    ("floor ceil round trunc rint", "to an integer type and back: `cast` to one truncates towards zero"),
    ("cmp icmp fcmp cmpf cmpi compare", "compare with `equal`, `not_equal`, `less_than`, `greater_than` and the like"),
    ("dot", "a product of matrices is a `gemm`; that of vectors too, or a loop with `mul` and `add`"),
    ("reduce", "`sum` adds up the entries of a memref; `subgroup_reduce_add` those of a subgroup"),
    ("transpose", "instructions read a matrix transposed where they are told so, as in `gemm.t.n`; "
     "a cooperative matrix has `cooperative_matrix_transpose`"),
    ("copy memcpy", "to copy a memref, `axpby.n` with alpha 1.0 and beta 0.0; a single element, `load` and `store`"),
    ("sync syncthreads __syncthreads syncwarp __syncwarp",
     "a `barrier` waits for the work-group; `barrier.global.local` also makes what was written visible to it"),
    ("shuffle shfl __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync",
     "`subgroup_broadcast` hands out the value of one work-item, `subgroup_reduce_add` the sum of all; "
     "other exchanges go through local memory"),
    ("atomicrmw atomic_rmw", "each update is an instruction: `atomic_add`, `atomic_max`, `atomic_min`"),
    ("zeros ones fill memset", "write each element: `store` in a `foreach`"),
    ("threadIdx thread_id global_id local_id get_global_id get_local_id", _ITEM),
    ("blockDim", "sizes of work-groups are asked for with `subgroup_size` and `num_subgroups`"),
    ("printf println", "`print` writes a line: a text in quotation marks, and values without formats behind it"),
    ("assert", "a kernel asserts nothing; the interpreter checks every access"),
    ("return ret", _STORED),
    ("call", "functions do not call each other: write the instructions here"),
    ("def fn func function", "functions do not stand inside each other"),
    ("while do", "a loop runs over a range, `for %i=%from,%to { ... }`; put what is to be skipped into an `if`"),
    ("break continue goto", "a loop runs to its end: put what is to be skipped into an `if`"),
    ("elif elseif", "write `else { if %condition { ... } }`"),
    ("end endif endfor", "a region ends with `}`"),
    ("let var auto val local float double int uint unsigned half bool boolean", _NO_DECLARATION),
)  # fmt: skip
"""What to write for an instruction that is expected and does not exist."""

OPERATORS = _each(
    ("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "div"), ("%", "rem"), ("<<", "shl"), (">>", "shr"),
    ("& &&", "and"), ("| ||", "or"), ("^", "xor"), ("==", "equal"), ("!=", "not_equal"), ("<", "less_than"),
    ("<=", "less_than_equal"), (">", "greater_than"), (">=", "greater_than_equal"), ("**", "pow"), ("@", "matmul"),
)  # fmt: skip
"""Operators between values, as instructions or words of the tables above."""

OPERAND_FAMILIES = {
    mnemonic: families.split() for mnemonic, families in _each(
        ("add sub mul div neg equal not_equal", "integer floating complex"),
        ("rem less_than less_than_equal greater_than greater_than_equal", "integer floating"),
        ("shl shr", "integer"), ("and or xor not", "integer bool"), ("pow", "floating"),
    ).items()
}  # fmt: skip
"""The families of types that the instructions of operators take, as their rules say."""

FOREIGN_TYPES = {
    "half": "f16", "float": "f32", "double": "f64", "bfloat16": "bf16",
    "float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c32", "complex128": "c64",
    "char": "i8", "short": "i16", "int": "i32", "long": "i64", "size_t": "index", "boolean": "bool", "i1": "bool",
    **{f"{name}{bits}": f"i{bits}" for name in ("int", "uint", "u", "s") for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Names that number types have elsewhere."""

MEMORY_TYPES = ("array", "buffer", "list", "pointer", "ptr", "tensor", "vector")
"""What memory with a shape is called elsewhere."""

FUNCTION_WORDS = ("def", "fn", "function", "kernel", "proc", "void", "__global__", "__kernel", "__device__", "module")
"""What functions begin with elsewhere."""

FOREIGN_ATTRIBUTES = {
    "align": "alignment",
    "aligned": "alignment",
    "workgroup_size": "work_group_size",
    "local_size": "work_group_size",
    "sub_group_size": "subgroup_size",
    "warp_size": "subgroup_size",
    "allow_tf32": "allow",
    "fastmath": "allow",
    "fast_math": "allow",
    "permissions": "allow",
    "fp_contract": "allow",
    "cluster_dims": "cluster",
    "num_stages": "stages",
}
"""Names that attributes have in other texts."""
