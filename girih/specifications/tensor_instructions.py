"""The names of 003, the tensor language reference, from its collective instructions on."""

from __future__ import annotations

from girih.specifications.name import SPIRV, SpecificationName, grammar, row, section, word

_OPENCL = "OpenCL C is no front end of girih"
_OLD = "an example of 003 writes it so; its grammar does not"


def _op(mnemonic: str, says: str) -> SpecificationName:
    """The row of an instruction that girih writes as 003 does."""
    return row(mnemonic, "instruction", says, ops=mnemonic)


def _old(name: str, ops: str) -> SpecificationName:
    return row(name, "instruction", f"An older spelling of `{ops}`.", ops=ops, because=_OLD)


_ATOMIC = "atomic_load atomic_store atomic_add"
_CHECKED = "cooperative_matrix_load cooperative_matrix_store"

INSTRUCTIONS = (
    section("Collective instructions", "Instructions of the whole work-group; the sections up to Sum."),
    section(
        "Alloca",
        "Local memory.",
        _op("alloca", "Allocates local memory until the end of its block."),
    ),
    section(
        "Axpby",
        "B := alpha op(A) + beta B.",
        _op("axpby", "Adds two vectors or matrices with factors, the first perhaps transposed."),
        grammar("transpose", "Whether an operand is transposed.", ops="axpby gemm", spelling="`gemm.n.n`"),
        word(".t", "modifier", "The operand is transposed.", ops="gemm"),
        word(".n", "modifier", "The operand is taken as it is.", ops="gemm"),
        word(".atomic", "modifier", "The result is updated atomically.", ops="axpby gemm sum"),
    ),
    section(
        "Cumulative sum",
        "Sums along a mode.",
        _op("cumsum", "Adds up the elements along a mode, up to and with each."),
    ),
    section(
        "Foreach",
        "A loop without an order.",
        _op("foreach", "Spreads the iterations of a loop over the work-items."),
    ),
    section(
        "Foreach tile",
        "A loop over tiles.",
        _op("foreach_tile", "Spreads tiles of a loop's range over the subgroups."),
        grammar("integer-list", "The largest sizes of a tile.", ops="foreach_tile"),
        row("as", "keyword", "What comes before the names of a tile's sizes.", ops="foreach_tile", also="tile_shape"),
    ),
    section("GEMM", "C := alpha op(A) op(B) + beta C.", _op("gemm", "A product of matrices, added to a third.")),
    section(
        "GEMV", "c := alpha op(A) b + beta c.", _op("gemv", "A product of a matrix and a vector, added to a vector.")
    ),
    section("GER", "C := alpha a b^T + beta C.", _op("ger", "A product of a column and a row, added to a matrix.")),
    section(
        "Hadamard product",
        "Products element by element.",
        _op("hadamard", "Multiplies two vectors or matrices element by element, and adds the product."),
    ),
    section("Parallel", "An SPMD region.", _op("parallel", "Opens a region that each work-item executes for itself.")),
    section("Sum", "Sums of rows or of a vector.", _op("sum", "Adds up the rows of a matrix, or a vector.")),
    section(
        "Additional instructions",
        "One without a description in 003.",
        _op("lifetime_stop", "Says that an allocation is not used from here on."),
    ),
    section("Mixed instructions", "Instructions for both kinds of region; the sections up to Yield."),
    section(
        "Arithmetic (binary)",
        "Twelve operations on scalars and matrices.",
        grammar("arith-binary-type", "The mnemonic of one of them.", ops="add"),
        _op("add", "The sum."),
        _op("sub", "The difference."),
        _op("mul", "The product."),
        _op("div", "The quotient."),
        _op("rem", "The remainder."),
        _op("max", "The larger operand."),
        _op("min", "The smaller operand."),
        _op("shl", "The first operand shifted left."),
        _op("shr", "The first operand shifted right, with its sign."),
        _op("and", "Bitwise and."),
        _op("or", "Bitwise or."),
        _op("xor", "Bitwise exclusive or."),
    ),
    section(
        "Arithmetic (unary)",
        "Six operations on scalars and matrices.",
        grammar("arith-unary-type", "The mnemonic of one of them.", ops="neg"),
        _op("abs", "The absolute value."),
        _op("neg", "The negative."),
        _op("not", "Bitwise not."),
        _op("conj", "The complex conjugate."),
        _op("im", "The imaginary part."),
        _op("re", "The real part."),
    ),
    section("Associated", "Null pointers.", _op("associated", "Whether there is memory behind a memref or group.")),
    section(
        "Atomic load",
        "A load that no other access tears.",
        _op("atomic_load", "Loads an element atomically."),
        grammar(
            "scope memory_scope memory_semantics",
            "How far and how strongly an atomic access orders others.",
            ops=_ATOMIC,
        ),
        word(".cross_device", "scope", "All devices and the host.", ops=_ATOMIC),
        word(".device", "scope", "All work-items of the device.", ops=_ATOMIC),
        word(".work_group", "scope", "The work-items of the work-group; the default.", ops=_ATOMIC),
        word(".subgroup", "scope", "The work-items of the subgroup.", ops=_ATOMIC),
        word(".relaxed", "memory semantics", "The access is atomic and orders nothing else; the default.", ops=_ATOMIC),
        word(".acquire", "memory semantics", "Later accesses stay behind it.", ops=_ATOMIC),
        word(".release", "memory semantics", "Earlier accesses stay before it.", ops=_ATOMIC),
        word(".acquire_release", "memory semantics", "Both.", ops=_ATOMIC),
        word(".sequentially_consistent", "memory semantics", "Both, in one order for all such accesses.", ops=_ATOMIC),
    ),
    section(
        "Atomic store", "A store that no other access tears.", _op("atomic_store", "Stores an element atomically.")
    ),
    section(
        "Atomic update",
        "Reading, combining and storing in one step.",
        grammar("atomic-update-op atomic-update-scope", "The mnemonic of one of them.", ops="atomic_add"),
        _op("atomic_add", "Adds to an element atomically."),
        _op("atomic_min", "Lowers an element atomically."),
        _op("atomic_max", "Raises an element atomically."),
    ),
    section(
        "Barrier",
        "All work-items wait for each other.",
        _op("barrier", "Waits for all work-items of the work-group, and makes memory visible to them."),
        word(".global", "modifier", "Global memory becomes visible.", ops="barrier"),
        word(".local", "modifier", "Local memory becomes visible.", ops="barrier"),
    ),
    section(
        "Builtin (mixed)",
        "Where a work-group is.",
        grammar("mixed-builtin-type comp3", "The mnemonic of one of them, and its mode.", ops="group_id"),
        _op("group_id", "The place of the work-group in the grid."),
        _op("num_groups", "The number of work-groups."),
        _op("num_subgroups", "The number of subgroups of a work-group."),
        _op("subgroup_size", "The number of work-items of a subgroup."),
        word(".x", "modifier", "The first mode of a place.", ops="group_id"),
        word(".y", "modifier", "The second mode of a place.", ops="group_id"),
        word(".z", "modifier", "The third mode of a place.", ops="group_id"),
        row("get_group_id", "function", "OpenCL's name of group_id.", ops="group_id", because=_OPENCL),
        row("get_num_groups", "function", "OpenCL's name of num_groups.", ops="num_groups", because=_OPENCL),
        row(
            "get_max_sub_group_size",
            "function",
            "OpenCL's name of subgroup_size.",
            ops="subgroup_size",
            because=_OPENCL,
        ),
    ),
    section(
        "Cast",
        "Conversions of numbers and matrices, with the SPIR-V instruction of each.",
        _op("cast", "Converts a number or a matrix to another type, or an accumulator to another use."),
        row("OpSConvert", "instruction", "Integer to integer, with its sign.", ops="cast", spelling=SPIRV),
        row("OpFConvert", "instruction", "Floating-point number to floating-point number.", ops="cast", spelling=SPIRV),
        row("OpConvertSToF", "instruction", "Integer to floating-point number.", ops="cast", spelling=SPIRV),
        row("OpConvertFToS", "instruction", "Floating-point number to integer.", ops="cast", spelling=SPIRV),
    ),
    section(
        "Comparison",
        "Six relations of scalars.",
        grammar("comparison-type", "The mnemonic of one of them.", ops="equal"),
        _op("equal", "Whether operands are equal."),
        _op("not_equal", "Whether operands differ."),
        _op("greater_than", "Whether the first is greater."),
        row(
            "greater_than_equal",
            "instruction",
            "Whether the first is greater or equal.",
            ops="greater_than_equal",
            also="greather_than_equal",
        ),
        _op("less_than", "Whether the first is less."),
        _op("less_than_equal", "Whether the first is less or equal."),
        _old("cmp.lt", "less_than"),
        _old("cmp.le", "less_than_equal"),
    ),
    section(
        "Constant",
        "Values known in the text.",
        _op("constant", "Gives a constant, or a matrix filled with one."),
    ),
    section(
        "Expand",
        "A mode seen as several.",
        _op("expand", "Gives a view in which a mode is split."),
        grammar("expand-shape integer-constant-or-identifier", "The sizes that a mode is split into.", ops="expand"),
    ),
    section(
        "For",
        "A loop in order.",
        _op("for", "Runs its region for each number of a range, and carries values along."),
        grammar(
            "init-value-list init-value return-type-list return-type",
            "What a loop carries, and its types.",
            ops="for if",
        ),
        row("init", "keyword", "What comes before the values that a loop carries.", ops="for", spelling="`init(%`"),
        word("unroll", "attribute", "Whether, or how often, the loop is unrolled; a hint.", ops="for"),
    ),
    section("Fuse", "Several modes seen as one.", _op("fuse", "Gives a view in which neighbouring modes are one.")),
    section(
        "If",
        "A branch.",
        _op("if", "Runs one of two regions, and gives the values that it yields."),
        row("else", "keyword", "What comes before the second region.", ops="if", spelling="`else {`"),
    ),
    section(
        "Load", "An element, or a memref of a group.", _op("load", "Loads an element, or a memref out of a group.")
    ),
    section(
        "Math (unary)",
        "Functions of floating-point numbers.",
        grammar("math-unary-type", "The mnemonic of one of them.", ops="cos"),
        _op("cos", "The cosine."),
        _op("sin", "The sine."),
        _op("exp", "e to a power, of complex numbers too."),
        _op("exp2", "2 to a power, of complex numbers too."),
        _op("log", "The natural logarithm."),
        _op("log2", "The logarithm to base 2."),
        _op("native_cos", "The cosine with an error of the implementation's choice."),
        _op("native_sin", "The sine with an error of the implementation's choice."),
        _op("native_exp", "e to a power with an error of the implementation's choice."),
        _op("native_exp2", "2 to a power with an error of the implementation's choice."),
        _op("native_log", "The natural logarithm with an error of the implementation's choice."),
        _op("native_log2", "The logarithm to base 2 with an error of the implementation's choice."),
        _old("math.native_exp", "native_exp"),
    ),
    section("Size", "Sizes of modes.", _op("size", "The size of a mode, or of a group.")),
    section(
        "Subview",
        "A part of a memref.",
        _op("subview", "Gives a view of a part; single indices remove their modes."),
        grammar("index-or-slice-list index-or-slice", "What is taken of each mode.", ops="subview"),
    ),
    section("Store", "An element.", _op("store", "Stores an element.")),
    section("Yield", "The values of a region.", _op("yield", "Gives the values of a loop's or a branch's region.")),
    section("SPMD instructions", "Instructions of each work-item; the sections to the end."),
    section(
        "Builtin (SPMD)",
        "Where a work-item is.",
        grammar("spmd-builtin-type", "The mnemonic of one of them.", ops="subgroup_id"),
        _op("subgroup_id", "The place of the subgroup in the work-group."),
        _op("subgroup_linear_id", "The place of the subgroup as one number."),
        _op("subgroup_local_id", "The place of the work-item in its subgroup."),
        row(
            "get_sub_group_id",
            "function",
            "OpenCL's name of subgroup_linear_id.",
            ops="subgroup_linear_id",
            because=_OPENCL,
        ),
        row(
            "get_sub_group_local_id",
            "function",
            "OpenCL's name of subgroup_local_id.",
            ops="subgroup_local_id",
            because=_OPENCL,
        ),
    ),
    section(
        "Cooperative matrix apply",
        "A function of each component.",
        _op("cooperative_matrix_apply", "Computes each component from its row, its column and its value."),
    ),
    section(
        "Cooperative matrix atomic load",
        "Components loaded atomically.",
        _op("cooperative_matrix_atomic_load", "Loads a matrix, each component atomically."),
    ),
    section(
        "Cooperative matrix atomic store",
        "Components stored atomically.",
        _op("cooperative_matrix_atomic_store", "Stores a matrix, each component atomically."),
    ),
    section(
        "Cooperative matrix atomic update",
        "Components updated atomically.",
        grammar(
            "cooperative-matrix-atomic-update-op", "The mnemonic of one of them.", ops="cooperative_matrix_atomic_add"
        ),
        _op("cooperative_matrix_atomic_add", "Adds a matrix to memory, each component atomically."),
        _op("cooperative_matrix_atomic_max", "Raises memory to a matrix, each component atomically."),
        _op("cooperative_matrix_atomic_min", "Lowers memory to a matrix, each component atomically."),
    ),
    section(
        "Cooperative matrix construct",
        "A matrix of one number.",
        _op("cooperative_matrix_construct", "Fills a matrix with a number."),
    ),
    section(
        "Cooperative matrix extract",
        "A component of a work-item.",
        _op("cooperative_matrix_extract", "Gives a component that the work-item holds."),
        row(
            "Coopmatrix layout",
            "section",
            "A section to which 003 refers and which it does not have: which work-item holds "
            "which component. It is a choice of the implementation, the same in all of girih.",
            ops="cooperative_matrix_extract cooperative_matrix_insert",
        ),
    ),
    section(
        "Cooperative matrix insert",
        "A component of a work-item, changed.",
        _op("cooperative_matrix_insert", "Gives the matrix with a component of the work-item replaced."),
    ),
    section(
        "Cooperative matrix load",
        "A matrix from memory.",
        _op("cooperative_matrix_load", "Loads a part of a memref of order 2 as a matrix."),
        grammar("checked-flag", "What is checked against the size of the memory.", ops=_CHECKED),
        word(".rows_checked", "modifier", "Rows past the end of memory are zeros, or are not stored.", ops=_CHECKED),
        word(".cols_checked", "modifier", "Columns past the end of memory are zeros, or are not stored.", ops=_CHECKED),
        word(".both_checked", "modifier", "Both.", ops=_CHECKED),
    ),
    section(
        "Cooperative matrix mul add",
        "D := A B + C.",
        _op("cooperative_matrix_mul_add", "A product of matrices, added to a third."),
    ),
    section(
        "Cooperative matrix prefetch",
        "A hint to the cache.",
        _op("cooperative_matrix_prefetch", "Brings a part of memory into a cache."),
    ),
    section(
        "Cooperative matrix reduce",
        "Sums and extremes of rows or columns.",
        grammar(
            "coopmatrix-reduce-op reduce-mode",
            "The mnemonic of one of them, and its direction.",
            ops="cooperative_matrix_reduce_add",
        ),
        _op("cooperative_matrix_reduce_add", "Adds up rows or columns."),
        _op("cooperative_matrix_reduce_max", "The largest of each row or column."),
        _op("cooperative_matrix_reduce_min", "The smallest of each row or column."),
        word(".row", "modifier", "Over each row: a column remains.", ops="cooperative_matrix_reduce_add"),
        word(".column", "modifier", "Over each column: a row remains.", ops="cooperative_matrix_reduce_add"),
    ),
    section(
        "Cooperative matrix scale",
        "A matrix times a number.",
        _op("cooperative_matrix_scale", "Multiplies each component by a number."),
    ),
    section(
        "Cooperative matrix store",
        "A matrix to memory.",
        _op("cooperative_matrix_store", "Stores a matrix to a part of a memref of order 2."),
    ),
    section(
        "Subgroup broadcast",
        "One work-item's value for all.",
        _op("subgroup_broadcast", "Gives every work-item of the subgroup the value of one."),
    ),
    section(
        "Subgroup operation",
        "Scans and reductions over a subgroup.",
        grammar("subgroup-operation-type", "The mnemonic of one of them.", ops="subgroup_reduce_add"),
        row(
            "exclusive_scan",
            "operation",
            "The combination of the values of the work-items before.",
            ops="subgroup_exclusive_scan_add",
        ),
        row(
            "inclusive_scan",
            "operation",
            "The combination of the values up to and with the work-item's.",
            ops="subgroup_inclusive_scan_add",
        ),
        row("reduce", "operation", "The combination of the values of all work-items.", ops="subgroup_reduce_add"),
    ),
    section(
        "Add",
        "Sums; the identity is 0.",
        _op("subgroup_exclusive_scan_add", "The sum of the values before."),
        _op("subgroup_inclusive_scan_add", "The sum of the values up to here."),
        _op("subgroup_reduce_add", "The sum of all values."),
    ),
    section(
        "Max",
        "The largest; the identity is the smallest value of the type.",
        _op("subgroup_exclusive_scan_max", "The largest of the values before."),
        _op("subgroup_inclusive_scan_max", "The largest of the values up to here."),
        _op("subgroup_reduce_max", "The largest of all values."),
    ),
    section(
        "Min",
        "The smallest; the identity is the largest value of the type.",
        _op("subgroup_exclusive_scan_min", "The smallest of the values before."),
        _op("subgroup_inclusive_scan_min", "The smallest of the values up to here."),
        _op("subgroup_reduce_min", "The smallest of all values."),
    ),
)
"""The sections of 003 from its collective instructions on."""
