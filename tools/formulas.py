"""The results of instructions as formulas for the language reference, where a formula says more than a sentence.

The names are those of the operands. Indices count from 0 and sums run over the whole mode; op(a) is a, or its transpose
with `.t`; a_p is the value of work-item p of a subgroup of S; `...` stands for the indices of the other modes. Source:
the specification and section that each instruction names.
"""

from __future__ import annotations

_TILE = "result[i, j] = memory[row + i, column + j]; with .t: result[i, j] = memory[row + j, column + i]"
_OLD = "result[i, j] = memory[row + i, column + j]; memory[row + i, column + j] := {}"
_NATIVE = {"cos": "cos a", "exp": "e^a", "exp2": "2^a", "log": "ln a", "log2": "log₂ a", "sin": "sin a"}

_TENSOR = (
    "n(i, j) = (i - first row) width + (j - first column), with the clip of the view; "
    "with a view, n goes through its dimensions in the order of its permutation, and back by its strides; "
    "c[d] = offset[d] + the coordinate of n in the span, the last dimension innermost; "
    "at(i, j) = Σ_d stride[d] floor(c[d] / block_size[d])"
)
_BLOCKED = (
    "a block has 4 rows and w = 16 / bytes(component) columns; b is its number in the order of the blocks; "
    "p = 16 (i mod 4) + bytes(component) (j mod w), the byte inside it; "
    "byte(i, j) = 4 (16 stride floor(b / stride) + stride floor(p / 4) + b mod stride) + p mod 4"
)

FORMULAS: dict[str, str] = {
    "abs": "result = |a| = sqrt(re(a)² + im(a)²)",
    "add": "result = a + b, for integers modulo 2^bits",
    "and": "result = a ∧ b, bit by bit",
    "atomic_add": "result = tensor[indices]; tensor[indices] := result + value",
    "atomic_max": "result = tensor[indices]; tensor[indices] := max(result, value)",
    "atomic_min": "result = tensor[indices]; tensor[indices] := min(result, value)",
    "axpby": "b[...] := alpha op(a)[...] + beta b[...]",
    "conj": "result = re(a) - i im(a)",
    "cooperative_matrix_apply": "result[row, column] = body(row, column, matrices_1[row, column], ...); "
    "of one column or row matrices_k[row, 0] or matrices_k[0, column]",
    "cooperative_matrix_atomic_add": _OLD.format("result[i, j] + matrix[i, j]"),
    "cooperative_matrix_atomic_load": _TILE,
    "cooperative_matrix_atomic_max": _OLD.format("max(result[i, j], matrix[i, j])"),
    "cooperative_matrix_atomic_min": _OLD.format("min(result[i, j], matrix[i, j])"),
    "cooperative_matrix_combine": "with ⊕ for the region; "
                                  ".row: result[i, j] = a[i, 0] ⊕ a[i, 1] ⊕ ..., for any j; "
                                  ".column: result[i, j] = a[0, j] ⊕ a[1, j] ⊕ ..., for any i; "
                                  ".all: result[i, j] = a[0, 0] ⊕ a[0, 1] ⊕ ..., for any i, j; "
                                  ".2x2: result[i, j] = a[2i, 2j] ⊕ a[2i, 2j+1] ⊕ a[2i+1, 2j] ⊕ a[2i+1, 2j+1]",
    "cooperative_matrix_construct": "result[i, j] = a",
    "cooperative_matrix_load": _TILE,
    "cooperative_matrix_load_blocked_interleaved": _BLOCKED + "; result[i, j] is at byte(i, j)",
    "cooperative_matrix_load_tensor": _TENSOR + "; result[i, j] = memory[offset + at(i, j)], what is outside "
                                      "as the clamp mode says; with decode: result[i, j] = body(block, coordinates)",
    "cooperative_matrix_mul_add": "result[i, j] = Σ_k a[i, k] b[k, j] + c[i, j]",
    "cooperative_matrix_reduce_add": ".row: result[i, 0] = Σ_j a[i, j]; .column: result[0, j] = Σ_i a[i, j]",
    "cooperative_matrix_reduce_max": ".row: result[i, 0] = max_j a[i, j]; .column: result[0, j] = max_i a[i, j]",
    "cooperative_matrix_reduce_min": ".row: result[i, 0] = min_j a[i, j]; .column: result[0, j] = min_i a[i, j]",
    "cooperative_matrix_scale": "result[i, j] = a matrix[i, j]",
    "cooperative_matrix_store": "memory[row + i, column + j] := matrix[i, j]; "
                                "with .t: memory[row + j, column + i] := matrix[i, j]",
    "cooperative_matrix_store_blocked_interleaved": _BLOCKED + "; matrix[i, j] is stored at byte(i, j)",
    "cooperative_matrix_store_tensor": _TENSOR + "; memory[offset + at(i, j)] := matrix[i, j], but nothing outside",
    "cooperative_matrix_transpose": "result[i, j] = matrix[j, i]",
    "cumsum": "b[..., i, ...] := alpha Σ_{k ≤ i} a[..., k, ...] + beta b[..., i, ...]",
    "div": "result = a / b, for integers trunc(a / b)",
    "equal": "result = (a = b)",
    "erf": "result = 2 / √π ∫_0^a e^(-t²) dt",
    "exp": "result = e^a",
    "exp2": "result = 2^a",
    "expand": "result[..., i_1, i_2, ...] = tensor[..., i_1 + sizes_1 i_2, ...], and so on for more sizes",
    "fma": "result = a b + c, rounded once",
    "fuse": "result[..., i_1 + s_1 i_2, ...] = tensor[..., i_1, i_2, ...], s_1 the size of the first, and so on",
    "gemm": "c[i, j] := alpha Σ_k op1(a)[i, k] op2(b)[k, j] + beta c[i, j]",
    "gemv": "c[i] := alpha Σ_k op1(a)[i, k] b[k] + beta c[i]",
    "ger": "c[i, j] := alpha a[i] b[j] + beta c[i, j]",
    "greater_than": "result = (a > b)",
    "greater_than_equal": "result = (a ≥ b)",
    "hadamard": "c[...] := alpha a[...] b[...] + beta c[...]",
    "less_than": "result = (a < b)",
    "less_than_equal": "result = (a ≤ b)",
    "load": "result = tensor[indices]",
    "log": "result = ln a",
    "log2": "result = log₂ a",
    "max": "result = max(a, b)",
    "min": "result = min(a, b)",
    "mul": "result = a b, for integers modulo 2^bits",
    "neg": "result = -a",
    "not_equal": "result = (a ≠ b)",
    "pow": "result = a^b",
    "rem": "result = a - b trunc(a / b)",
    "rsqrt": "result = 1 / √a",
    "select": "result = a where the condition holds, b elsewhere",
    "shl": "result = a 2^b modulo 2^bits",
    "shr": "result = floor(a / 2^b)",
    "sqrt": "result = √a",
    "store": "tensor[indices] := value",
    "sub": "result = a - b, for integers modulo 2^bits",
    "subgroup_broadcast": "result_p = a_lane",
    "subgroup_exclusive_scan_add": "result_p = a_0 + ... + a_{p-1}",
    "subgroup_exclusive_scan_max": "result_p = max(a_0, ..., a_{p-1})",
    "subgroup_exclusive_scan_min": "result_p = min(a_0, ..., a_{p-1})",
    "subgroup_inclusive_scan_add": "result_p = a_0 + ... + a_p",
    "subgroup_inclusive_scan_max": "result_p = max(a_0, ..., a_p)",
    "subgroup_inclusive_scan_min": "result_p = min(a_0, ..., a_p)",
    "subgroup_reduce_add": "result_p = a_0 + ... + a_{S-1}",
    "subgroup_reduce_max": "result_p = max(a_0, ..., a_{S-1})",
    "subgroup_reduce_min": "result_p = min(a_0, ..., a_{S-1})",
    "subview": "result[i, ...] = tensor[offset + i, ...], 0 ≤ i < size",
    "sum": "b[i] := alpha Σ_k op(a)[i, k] + beta b[i]; of a vector: b := alpha Σ_k a[k] + beta b",
    "tanh": "result = (e^a - e^-a) / (e^a + e^-a)",
    "tensor_copy_load": "local[i, j, ...] := map[coordinates[0] + i, coordinates[1] + j s_1, ...], the fill outside; "
                        "with .gather4: local[i, k] := map[coordinates[0] + i, coordinates[1 + k]]",
    "tensor_copy_load_im2col": "local[i, p] := map[coordinates[0] + i, cursor_p + offsets], the fill outside",
    "tensor_copy_reduce": "map[coordinates + i] := reduction(map[coordinates + i], local[i])",
    "tensor_copy_store": "map[coordinates[0] + i, coordinates[1] + j s_1, ...] := local[i, j, ...]; "
                         "with .scatter4: map[coordinates[0] + i, coordinates[1 + k]] := local[i, k]",
    "tensor_layout_set_dimension": "dimension = span = numbers, offset = 0; "
                                   "stride[last] = 1, stride[d] = stride[d+1] ceil(numbers[d+1] / block_size[d+1])",
    "tensor_layout_slice": "offset[d] := offset[d] + slices[d].offset; span[d] := slices[d].size",
    "tensor_view_set_dimension": "dimension = numbers; stride[last] = 1, stride[d] = stride[d+1] numbers[d+1]",
    "xor": "result = a ⊕ b, bit by bit",
} | {
    f"native_{name}": f"result = {text} (1 + ε), |ε| ≤ 2^-10, in bf16 2^-8" for name, text in _NATIVE.items()
}  # fmt: skip
"""A formula by mnemonic; `; ` separates its lines."""
