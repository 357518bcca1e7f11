"""The names of 003, the tensor language reference, up to its instructions: terms, grammar, types, attributes."""

from __future__ import annotations

from girih.specifications.name import grammar, row, section, specification, word
from girih.specifications.tensor_instructions import INSTRUCTIONS

TENSOR_LANGUAGE = specification(
    "003",
    "Tensor language reference",
    section(
        "Execution model",
        "Kernels, work-groups, subgroups, work-items; collective, SPMD and mixed instructions.",
        word("func", "keyword", "A function that the host launches: a kernel.", spelling="`func`", ops="func"),
        row("collective instruction", "term", "One that the whole work-group executes together.", ops="gemm parallel"),
        row(
            "SPMD instruction", "term", "One that each work-item executes with its own values.", ops="subgroup_local_id"
        ),
        row("mixed instruction", "term", "One that stands in both kinds of region.", ops="load for"),
        row(
            "dynamically uniform",
            "term",
            "The same value in all work-items of a subgroup; girih checks it where 003 asks for it.",
            ops="cooperative_matrix_load subgroup_broadcast",
        ),
    ),
    section(
        "Core rules",
        "Blanks, and comments from a semicolon to the end of the line.",
        row("white space", "term", "Blanks and line ends, which only part tokens.", spelling="`func @`"),
        row("comment", "term", "Text from a semicolon to the end of its line.", spelling="`; `"),
    ),
    section(
        "Identifier",
        "Names of values and functions.",
        grammar(
            "identifier unnamed-identifier named-identifier", "A name: digits, or a letter with letters, digits and _."
        ),
        grammar("local-identifier", "The name of a value, after a percent sign.", spelling="`%a`"),
        grammar("global-identifier", "The name of a function, after an at sign.", spelling="`@f`"),
    ),
    section(
        "Constants",
        "Booleans, integers, floating-point and complex numbers.",
        grammar(
            "constant boolean-constant integer-constant floating-constant complex-constant sign",
            "A constant, of whichever kind.",
            ops="constant",
        ),
        grammar(
            "floating-constant-dec floating-constant-hex mantissa-dec mantissa-hex exponent",
            "A floating-point number, decimal or hexadecimal.",
            ops="constant",
            spelling="`0x1.8p3`",
        ),
        word("true", "constant", "The boolean that holds.", ops="constant"),
        word("false", "constant", "The boolean that does not hold.", ops="constant"),
        word("inf", "constant", "Infinity.", ops="constant"),
        word("nan", "constant", "A value that is not a number.", ops="constant"),
    ),
    section(
        "Attributes",
        "What is added to functions, parameters, loops and allocations.",
        grammar(
            "attribute array-attribute boolean-attribute dictionary-attribute integer-attribute string-attribute "
            "named-attribute attribute-name",
            "An attribute: a value of one of five kinds under a name.",
            spelling="`attributes`",
        ),
    ),
    section(
        "Functions",
        "Definitions, their attributes, and those of their parameters.",
        grammar(
            "function-definition argument-list argument",
            "A function with its parameters, attributes and region.",
            spelling="`func`",
        ),
        word("attributes", "keyword", "What comes before the attributes of a function or loop."),
        word(
            "subgroup_size",
            "attribute",
            "The subgroup size that the function asks for; as an instruction, the one that it got.",
            ops="func subgroup_size",
        ),
        word("work_group_size", "attribute", "The shape of the work-group in work-items, rows by columns.", ops="func"),
    ),
    section(
        "Parameter attributes",
        "What a parameter's memory promises.",
        word("alignment", "attribute", "The bytes of which the first address is a multiple.", ops="parameter alloca"),
        word("shape_gcd", "attribute", "Numbers that divide the sizes of the modes.", ops="parameter"),
        word("stride_gcd", "attribute", "Numbers that divide the strides of the modes.", ops="parameter"),
    ),
    section(
        "Regions",
        "Instructions in braces.",
        grammar("region", "Instructions in order, which see the values around them.", ops="parallel if for"),
    ),
    section(
        "Types",
        "What a value may be.",
        grammar("type void-type boolean-type", "A type, of whichever kind."),
        row(
            "void",
            "type",
            "No value; girih writes no type where there is no result.",
            because="no place in the grammar of 003 takes it",
        ),
    ),
    section(
        "Boolean type",
        "Two states.",
        word("bool", "type", "The type of conditions.", ops="if equal"),
    ),
    section(
        "Scalar types",
        "Numbers, their sizes, and which promote to which.",
        grammar("number-type integer-type floating-type complex-type", "A type of numbers."),
        word("i8", "type", "Integers of 8 bits, without a sign of their own."),
        word("i16", "type", "Integers of 16 bits."),
        word("i32", "type", "Integers of 32 bits."),
        word("i64", "type", "Integers of 64 bits."),
        word("index", "type", "Integers for sizes and indices; 64 bits in girih."),
        word("bf16", "type", "bfloat16 numbers: 8 bits of exponent, 7 of fraction."),
        word("f16", "type", "Floating-point numbers of 16 bits."),
        word("f32", "type", "Floating-point numbers of 32 bits."),
        word("f64", "type", "Floating-point numbers of 64 bits."),
        word("c32", "type", "Complex numbers of two f32."),
        word("c64", "type", "Complex numbers of two f64."),
        row(
            "size(alpha)",
            "function",
            "The bytes of a scalar type.",
            because="no program asks for it; a table of the types has them",
        ),
        row(
            "promote",
            "function",
            "The type to which two types promote, if one of them has every value of the other.",
            ops="gemm cooperative_matrix_mul_add",
            also="promotable ⪯",
        ),
    ),
    section(
        "Memref type",
        "References to memory with a shape.",
        grammar(
            "memref-type tensor-shape constant-or-dynamic address-space memory-layout scalar-or-memref-type",
            "The type of a reference to memory.",
            spelling="`memref<f32x4x?>`",
        ),
        word(
            "memref",
            "type",
            "A reference to memory: element type, shape, strides, address space.",
            ops="type load subview",
            spelling="`memref<f32x4>`",
        ),
        word("global", "address space", "Memory that all work-groups share.", ops="barrier", spelling="`.global`"),
        word(
            "local",
            "address space",
            "Memory of one work-group.",
            ops="alloca barrier",
            spelling="`memref<f32x4,local>`",
        ),
        row(
            "?",
            "syntax",
            "A size, stride or offset that is known only when the kernel runs.",
            spelling="`memref<f32x?>`",
        ),
    ),
    section(
        "Definitions",
        "Functions of types that the restrictions use; rules in girih print them.",
        row("order", "function", "How many modes a memref has.", ops="gemm subview"),
        row("shape", "function", "The sizes of the modes, or of a matrix.", ops="axpby cooperative_matrix_mul_add"),
        row("rows", "function", "The size of the first mode, or the rows of a matrix.", ops="gemm"),
        row(
            "columns", "function", "The size of the second mode, or the columns of a matrix.", ops="gemm", also="colums"
        ),
        row("element_type", "function", "The element type of a memref.", ops="load store"),
        row("component_type", "function", "The component type of a matrix.", ops="cooperative_matrix_load"),
        row("use", "function", "The use of a matrix.", ops="cooperative_matrix_mul_add"),
    ),
    section(
        "Memory layout",
        "Where the elements of a memref are.",
        grammar(
            "strided-layout constant-or-dynamic-list", "The strides of a memref's type.", spelling="`strided<1,?>`"
        ),
    ),
    section(
        "Strided layout",
        "A stride for each mode, in elements; the packed layout is the default.",
        row(
            "strided",
            "layout",
            "A stride for each mode, at least the extent of the mode before.",
            python="Strided",
            spelling="`strided<1,?>`",
            ops="type",
        ),
    ),
    section(
        "Alignment attribute",
        "What `alignment` promises, and what it must be a multiple of.",
        row(
            "alignment=X",
            "attribute",
            "The address of the first element is a multiple of X, and X one of the element's size.",
            ops="parameter alloca",
        ),
    ),
    section(
        "Greatest common divisor (GCD) attributes",
        "What `shape_gcd` and `stride_gcd` promise.",
        row("shape_gcd=[d_1,...,d_k]", "attribute", "Each size is a multiple of its number.", ops="parameter"),
        row("stride_gcd=[D_1,...,D_m]", "attribute", "Each stride is a multiple of its number.", ops="parameter"),
    ),
    section(
        "Group type",
        "Memrefs without an order in memory: an array of pointers.",
        grammar("group-type", "The type of a group.", ops="load", spelling="`group<memref<f32x4>x?>`"),
        word(
            "group",
            "type",
            "Memrefs of one type, perhaps with different sizes.",
            ops="type load",
            spelling="`group<memref<f32x4>x?>`",
        ),
        word(
            "offset",
            "attribute",
            "What every pointer of a group is moved by, in elements.",
            ops="load",
            spelling="`offset: ?`",
        ),
    ),
    section(
        "Cooperative matrix type",
        "Matrices that a subgroup holds together.",
        grammar("coopmatrix-type matrix-use", "The type of a matrix.", spelling="`coopmatrix<f32x8x8,matrix_acc>`"),
        word(
            "coopmatrix",
            "type",
            "A matrix whose components are spread over the work-items of a subgroup.",
            ops="type cooperative_matrix_load",
            spelling="`coopmatrix<f32x8x8,matrix_acc>`",
        ),
        word("matrix_a", "enumerant", "The use of a left factor.", ops="cooperative_matrix_mul_add"),
        word("matrix_b", "enumerant", "The use of a right factor.", ops="cooperative_matrix_mul_add"),
        word("matrix_acc", "enumerant", "The use of a sum.", ops="cooperative_matrix_mul_add"),
    ),
    section(
        "Instructions",
        "What an instruction looks like.",
        grammar(
            "instruction value-instruction multi-value-instruction value-instruction-assignment "
            "multi-value-instruction-assignment local-identifier-list",
            "An instruction with its results.",
        ),
    ),
    *INSTRUCTIONS,
)
"""Specification 003."""
