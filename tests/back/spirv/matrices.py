"""Kernels with matrices of shapes that Hopper lists, for tests, and a device that has every shape."""

from __future__ import annotations

from dataclasses import replace

from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.hopper import HOPPER
from girih.back.spirv.profiles.profile import MatrixShape

_PRODUCTS = (
    ("f16", "f16"), ("f16", "f32"), ("bf16", "f32"), ("bf16", "bf16"), ("f32", "f32"), ("f64", "f64"), ("i8", "i32"),
    ("i8", "i8"), ("i16", "i16"), ("i16", "i32"), ("i32", "i32"), ("i64", "i64"), ("f8e4m3", "f32"), ("f8e5m2", "f32"),
)  # fmt: skip

EVERY_SHAPE = replace(
    HOPPER,
    name="every-shape",
    features=frozenset(FEATURES),
    least_subgroup_size=1,
    most_subgroup_size=64,
    matrices=tuple(
        MatrixShape(1, 1, 1, factor, factor, sums, sums, scope=scope, flexible=True)
        for factor, sums in _PRODUCTS
        for scope in ("subgroup", "work_group")
    ),
)
"""A device with matrices of every shape, as run vectors have them."""

SUBGROUP = "attributes{subgroup_size=32, work_group_size=[32,1]}"
WORK_GROUP = "attributes{subgroup_size=32, work_group_size=[128,1]}"

KERNELS = f"""
; A loop that carries sums; tiles at multiples of 16 bytes.
func @product(%a: memref<f16x64x64>, %b: memref<f16x64x64>, %c: memref<f32x64x64>) {SUBGROUP} {{
    parallel {{
        %zero = constant 0 : index
        %end = constant 64 : index
        %step = constant 16 : index
        %begin = constant 0.0 : coopmatrix<f32x32x16,matrix_acc>
        %sums = for %k=%zero,%end,%step init(%acc=%begin) -> (coopmatrix<f32x32x16,matrix_acc>) {{
            %x = cooperative_matrix_load %a[%zero,%k] : coopmatrix<f16x32x16,matrix_a>
            %y = cooperative_matrix_load %b[%k,%zero] : coopmatrix<f16x16x16,matrix_b>
            %new = cooperative_matrix_mul_add %x, %y, %acc : coopmatrix<f32x32x16,matrix_acc>
            yield (%new)
        }}
        cooperative_matrix_store %sums, %c[%zero,%zero]
    }}
}}

; Matrices of the work-group, sizes that only a launch knows, rows and columns outside left out; bf16.
func @edges(%a: memref<bf16x?x?>, %b: memref<bf16x?x?>, %c: memref<f32x?x?>, %row: index) {WORK_GROUP} {{
    parallel {{
        %zero = constant 0 : index
        %begin = constant 1.0 : coopmatrix<f32x32x16,matrix_acc,work_group>
        %x = cooperative_matrix_load.both_checked %a[%row,%zero] : coopmatrix<bf16x32x16,matrix_a,work_group>
        %y = cooperative_matrix_load.t.both_checked %b[%zero,%zero] : coopmatrix<bf16x16x16,matrix_b,work_group>
        %new = cooperative_matrix_mul_add %x, %y, %begin : coopmatrix<f32x32x16,matrix_acc,work_group>
        cooperative_matrix_store.both_checked %new, %c[%row,%zero]
    }}
}}

; A maximum of each row is taken away, the rest rounded, used as a factor, and turned.
func @rows(%a: memref<f32x32x16>, %b: memref<f16x16x16>, %c: memref<f32x32x16>, %by: f32) {SUBGROUP} {{
    parallel {{
        %zero = constant 0 : index
        %none = constant 0.0 : coopmatrix<f32x32x16,matrix_acc>
        %x = cooperative_matrix_load %a[%zero,%zero] : coopmatrix<f32x32x16,matrix_acc>
        %most = cooperative_matrix_combine.row (%l,%r)=%x -> coopmatrix<f32x32x16,matrix_acc> {{
            %m = max %l, %r : f32
            yield (%m)
        }}
        %less = cooperative_matrix_apply (%i,%j,%v,%m)=%x,%most -> coopmatrix<f32x32x16,matrix_acc> {{
            %d = sub %v, %m : f32
            %e = mul %d, %by : f32
            yield (%e)
        }}
        %half = cast %less : coopmatrix<f16x32x16,matrix_acc>
        %p = cast %half : coopmatrix<f16x32x16,matrix_a>
        %y = cooperative_matrix_load %b[%zero,%zero] : coopmatrix<f16x16x16,matrix_acc>
        %t = cooperative_matrix_transpose %y : coopmatrix<f16x16x16,matrix_b>
        %o = cooperative_matrix_mul_add %p, %t, %none : coopmatrix<f32x32x16,matrix_acc>
        cooperative_matrix_store %o, %c[%zero,%zero]
    }}
}}

; Sums of f16 are rounded after each product: what is carried on is computed with.
func @half(%a: memref<f16x32x32>, %b: memref<f16x32x16>, %c: memref<f16x?x?>) {SUBGROUP} {{
    parallel {{
        %zero = constant 0 : index
        %end = constant 32 : index
        %step = constant 16 : index
        %begin = constant 2048.0 : coopmatrix<f16x32x16,matrix_acc>
        %sums = for %k=%zero,%end,%step init(%acc=%begin) -> (coopmatrix<f16x32x16,matrix_acc>) {{
            %x = cooperative_matrix_load %a[%zero,%k] : coopmatrix<f16x32x16,matrix_a>
            %y = cooperative_matrix_load %b[%k,%zero] : coopmatrix<f16x16x16,matrix_b>
            %new = cooperative_matrix_mul_add %x, %y, %acc : coopmatrix<f16x32x16,matrix_acc>
            yield (%new)
        }}
        cooperative_matrix_store.both_checked %sums, %c[%zero,%zero]
    }}
}}

; Integers, through a layout that clamps and a view that turns.
func @clamped(%a: memref<i8x?>, %b: memref<i8x32x16>, %c: memref<i32x32x16>, %row: index) {SUBGROUP} {{
    parallel {{
        %zero = constant 0 : index
        %one = constant 1 : coopmatrix<i32x32x16,matrix_acc>
        %before = constant 0 : coopmatrix<i8x32x32,matrix_a>
        %seven = constant 7 : i32
        %l0 = tensor_layout_create : tensor_layout<2,constant>
        %l1 = tensor_layout_set_dimension %l0[20,32] : tensor_layout<2,constant>
        %l2 = tensor_layout_set_clamp_value %l1, %seven : tensor_layout<2,constant>
        %l3 = tensor_layout_slice %l2[%row:32,%zero:32] : tensor_layout<2,constant>
        %v = tensor_view_create : tensor_view<2,false,1,0>
        %x = cooperative_matrix_load_tensor %before, %a[%zero], %l3, %v : coopmatrix<i8x32x32,matrix_a>
        %y = cooperative_matrix_load %b[%zero,%zero] : coopmatrix<i8x32x16,matrix_b>
        %o = cooperative_matrix_mul_add %x, %y, %one : coopmatrix<i32x32x16,matrix_acc>
        cooperative_matrix_store %o, %c[%zero,%zero]
    }}
}}
"""
"""Kernels whose matrices are all the device's on Hopper, without checks."""
