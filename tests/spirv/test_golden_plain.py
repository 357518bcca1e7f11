"""The plain golden shaders give what was measured; what is undefined in them is found, what is invalid rejected."""

from __future__ import annotations

import pytest

from tests.cases import every_case, long
from tests.spirv.golden_plain import judged, rows

NOT_YET = {
    "interpreter": frozenset({"ub_unreachable_switch"}),
    "cpu": frozenset(
        {
            "cf_collatz",
            "cf_multi_return",
            "cf_nested_diverge",
            "cf_nested_break",
            "cf_switch_return",
            "cf_mandel_fixed",
            "fn_inout_sort",
            "fn_private_state",
            "fn_chain",
            "mem_func_array",
            "mem_struct_std430",
            "mem_vector_index",
            "mem_explicit_offset",
            "mem_16bit",
            "num_glsl_transcendental",
            "spec_workgroup_size",
            "spec_defaults",
            "push_struct",
            "sh_reduce",
            "sh_transpose",
            "sh_histogram",
            "sh_matmul",
            "at_exchange",
            "at_last_group",
            "sg_reduce",
            "sg_ballot",
            "sg_vote",
            "sg_float_ops",
            "sg_in_branch",
            "br_struct",
            "br_pointer_table",
            "q_block18",
            "q_int8_dot",
            "q_superblock",
            "cm_gemm_loop",
            "cm_shared_staging",
            "cm_elements",
            "cm_functions",
            "cm_shared_epilogue",
            "nv_gemm_clamped",
            "nv_gemm_decode18",
            "nv_per_element_store",
            "nv_attention",
            "nv_batched_3d",
            "nv_mask_convert_flow",
            "cf_collatz_O",
            "cf_multi_return_O",
            "cf_nested_diverge_O",
            "cf_nested_break_O",
            "cf_switch_return_O",
            "cf_mandel_fixed_O",
            "fn_inout_sort_O",
            "fn_private_state_O",
            "fn_chain_O",
            "mem_func_array_O",
            "br_pointer_table_O",
            "q_superblock_O",
            "cm_functions_O",
            "ub_shared_bounds",
            "ub_missing_return",
            "ub_clamp_undefined",
            "ub_unreachable_switch",
        }
    ),
}
"""The rows that do not pass, by target; `python -m tests.spirv.golden_plain TARGET` tells why."""

SLOW = frozenset(("at_last_group", "cf_collatz", "at_exchange"))
GROUPS = tuple(dict.fromkeys(row["group"] for row in rows().values()))
QUICK = ("mem_matrix", "num_divmod", "num_f16_round", "at_int64", "sg_clustered")
"""The rows of `make test` on the CPU."""


def hold(names: list[str], target: str) -> None:
    """Hold rows against what is known of them."""
    with every_case() as case:
        for name in names:
            with case(name):
                assert judged(rows()[name], target) == "ok"


def of(group: str, target: str) -> list[str]:
    """The rows of a group that pass on a target."""
    return [name for name, row in rows().items() if row["group"] == group and name not in NOT_YET[target]]


def is_quick(name: str) -> bool:
    """Whether `make test` has the row in the interpreter: it is no optimised module of another one."""
    return name not in SLOW and not name.endswith("_O")


@pytest.mark.parametrize("group", GROUPS)
def test_rows_in_the_interpreter(group: str) -> None:
    hold([name for name in of(group, "interpreter") if is_quick(name)], "interpreter")


@pytest.mark.parametrize("group", long(GROUPS))
def test_the_other_rows_in_the_interpreter(group: str) -> None:
    hold([name for name in of(group, "interpreter") if not is_quick(name)], "interpreter")


def test_some_rows_on_the_cpu() -> None:
    hold([name for name in QUICK if name not in NOT_YET["cpu"]], "cpu")


@pytest.mark.parametrize("group", long(GROUPS))
def test_rows_on_the_cpu(group: str) -> None:
    hold(of(group, "cpu"), "cpu")
