"""The names of 002, SPV_ARM_cooperative_matrix_layouts (revision 1): matrices in interleaved blocks."""

from __future__ import annotations

from girih.specifications.name import SPIRV, row, section, specification

_LOAD = "cooperative_matrix_load_blocked_interleaved"
_STORE = "cooperative_matrix_store_blocked_interleaved"
_BOTH = f"{_LOAD} {_STORE}"

BLOCKED_LAYOUTS = specification(
    "002",
    "SPV_ARM_cooperative_matrix_layouts",
    section(
        "Name Strings, Contact, Notice, Status, Version, Issues, Revision History",
        "Who wrote the extension, and when; nothing that a program could use.",
    ),
    section(
        "Dependencies",
        "The SPIR-V version and the extension that it builds on.",
        row(
            "SPV_KHR_cooperative_matrix",
            "extension",
            "Cooperative matrices in SPIR-V: loads, stores and products, which the specifications 000 to 002 extend.",
            ops="cooperative_matrix_load cooperative_matrix_mul_add",
            spelling=SPIRV,
        ),
    ),
    section("Overview", "What the layouts are for."),
    section(
        "Extension Name",
        "How a module asks for the extension.",
        row(
            "SPV_ARM_cooperative_matrix_layouts",
            "extension",
            "Two memory layouts in which blocks of 64 bytes are interleaved.",
            ops=_BOTH,
            python="BlockedInterleaved",
            spelling=SPIRV,
        ),
        row(
            "OpExtension",
            "instruction",
            "The instruction with which a module names an extension that it uses.",
            spelling=SPIRV,
        ),
    ),
    section(
        "Validation Rules",
        "Which sizes and strides are legal (section 2.16.1 of SPIR-V); girih checks them.",
        row(
            "OpCooperativeMatrixLoadKHR",
            "instruction",
            "Loads a matrix from memory in a layout that an operand names.",
            ops=f"cooperative_matrix_load {_LOAD}",
            python="BlockedInterleaved",
            spelling=SPIRV,
        ),
        row(
            "OpCooperativeMatrixStoreKHR",
            "instruction",
            "Stores a matrix to memory in a layout that an operand names.",
            ops=f"cooperative_matrix_store {_STORE}",
            python="BlockedInterleaved",
            spelling=SPIRV,
        ),
        row(
            "MemoryLayout",
            "operand",
            "The operand of a load or store that names the layout.",
            ops=_BOTH,
            python="BlockedInterleaved.order",
        ),
        row(
            "Stride",
            "operand",
            "How many blocks are interleaved with each other: 1, 2 or 4.",
            ops=_BOTH,
            python="BlockedInterleaved.stride",
        ),
        row(
            "Rows",
            "operand",
            "The rows of the matrix, a multiple of 4, in column order of 4 times the stride.",
            ops=_BOTH,
            python="BlockedInterleaved.rows",
        ),
        row(
            "Columns",
            "operand",
            "The columns of the matrix, a multiple of 16 bytes, in row order of that times the stride.",
            ops=_BOTH,
            python="BlockedInterleaved.columns",
        ),
        row(
            "Component Type",
            "operand",
            "The type of a component, whose size decides how many columns a block has.",
            ops=_BOTH,
            python="BlockedInterleaved.component_size",
        ),
        row("Result Type", "operand", "The matrix type of a load.", ops=_LOAD),
        row("Object", "operand", "The matrix that is stored.", ops=_STORE),
    ),
    section(
        "3.31 Capabilities",
        "What a module declares.",
        row(
            "CooperativeMatrixLayoutsARM",
            "capability",
            "The capability (4201) that the two layouts need.",
            spelling=SPIRV,
        ),
        row(
            "CooperativeMatrixKHR",
            "capability",
            "The capability of cooperative matrices, which the other one implies.",
            spelling=SPIRV,
        ),
    ),
    section(
        "3.X Cooperative Matrix Layout",
        "The two layouts.",
        row(
            "RowBlockedInterleavedARM",
            "enumerant",
            "Layout 4202: blocks of 4 rows by 16 bytes, in row-major order.",
            ops=_BOTH,
            python="BlockedInterleaved",
            spelling="`.row_blocked_interleaved`",
        ),
        row(
            "ColumnBlockedInterleavedARM",
            "enumerant",
            "Layout 4203: blocks of 4 rows by 16 bytes, in column-major order.",
            ops=_BOTH,
            python="BlockedInterleaved",
            spelling="`.column_blocked_interleaved`",
        ),
    ),
)
"""Specification 002."""
