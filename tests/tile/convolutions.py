"""Convolutions as products of pixels and filters, whose tiles of pixels are boxes of an image through a layout."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tests.tile.programs import filled

Array = NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)

_TEXT = """
func @convolution(%X: memref<bf16x?x?x?x?>, %F: memref<bf16x?x?x?x?>, %C: memref<f32x?x?x?x?>)
        attributes {subgroup_size=32, work_group_size=[128, 1]} {
    %zero = constant 0 : index
    %one = constant 1 : index
    %step = constant 64 : index
    %down = constant $down : index
    %across = constant $across : index
    %dilation = constant $dilation : index
    %stride = constant $stride : index
    %pad = constant $pad : index
    %channels = size %X[0] : index
    %width = size %X[1] : index
    %height = size %X[2] : index
    %images = size %X[3] : index
    %filters = size %F[1] : index
    %taps_across = size %F[2] : index
    %taps_down = size %F[3] : index
    %taps = mul %taps_across, %taps_down : index
    %q = size %C[1] : index
    %p = size %C[2] : index
    %last = sub %q, %one : index
    %before = div %last, %across : index
    %tiles_across = add %before, %one : index
    %i = group_id.x : index
    %image = group_id.y : index
    %ty = div %i, %tiles_across : index
    %tx = rem %i, %tiles_across : index
    %x0 = mul %tx, %across : index
    %y0 = mul %ty, %down : index
    %xs = mul %x0, %stride : index
    %ys = mul %y0, %stride : index
    %left = sub %xs, %pad : index
    %top = sub %ys, %pad : index
    %x_all = fuse %X[0, 3] : memref<bf16x?>
    %f_all = fuse %F[0, 3] : memref<bf16x?>
    %c_all = fuse %C[0, 3] : memref<f32x?>
    parallel {
        %no_pixel = constant 0.0 : coopmatrix<bf16 x $pixels, work_group>
        %no_filter = constant 0.0 : coopmatrix<bf16 x 64 x 64, $filters, work_group>
        %empty = constant 0.0 : coopmatrix<f32 x $result, matrix_acc, work_group>
        %turned = tensor_view_create : tensor_view<3,false,0,2,1>
        %channels_first = tensor_view_create : tensor_view<4,false,3,0,1,2>
        $every
        %l0 = tensor_layout_create : tensor_layout<4,constant>
        %l1 = tensor_layout_set_dimension %l0[%images, %height, %width, %channels] : tensor_layout<4,constant>
        %f0 = tensor_layout_create : tensor_layout<3,constant>
        %f1 = tensor_layout_set_dimension %f0[%taps, %filters, %channels] : tensor_layout<3,constant>
        %sum = for %tap = %zero, %taps, %one init (%a=%empty) -> (coopmatrix<f32 x $result, matrix_acc, work_group>) {
            %r = div %tap, %taps_across : index
            %s = rem %tap, %taps_across : index
            %ry = mul %r, %dilation : index
            %sx = mul %s, %dilation : index
            %y = add %top, %ry : index
            %x = add %left, %sx : index
            %part = for %c = %zero, %channels, %step init (%b=%a)
                    -> (coopmatrix<f32 x $result, matrix_acc, work_group>) {
                %l2 = tensor_layout_slice %l1[%image:1, %y:$span_down, %x:$span_across, %c:64]
                        : tensor_layout<4,constant>
                %pixels = cooperative_matrix_load_tensor %no_pixel, %x_all[%zero], %l2$pixel_view
                        : coopmatrix<bf16 x $pixels, work_group>
                %f2 = tensor_layout_slice %f1[%tap:1, %zero:64, %c:64] : tensor_layout<3,constant>
                %weights = cooperative_matrix_load_tensor %no_filter, %f_all[%zero], %f2$turned
                        : coopmatrix<bf16 x 64 x 64, $filters, work_group>
                %next = cooperative_matrix_mul_add $factors, %b : coopmatrix<f32 x $result, matrix_acc, work_group>
                yield (%next)
            }
            yield (%part)
        }
        %o0 = tensor_layout_create : tensor_layout<4,constant>
        %o1 = tensor_layout_set_dimension %o0[%images, %p, %q, %filters] : tensor_layout<4,constant>
        %o2 = tensor_layout_slice %o1[%image:1, %y0:$down, %x0:$across, %zero:64] : tensor_layout<4,constant>
        cooperative_matrix_store_tensor %sum, %c_all[%zero], %o2$view
    }
}
"""


def convolution(
    *, down: int = 8, across: int = 16, dilation: int = 1, pad: int = 1, pixels_left: bool = True, stride: int = 1
) -> str:
    """C[k, q, p, n]: X is channels x width x height x images, F is channels x filters x taps, 64 filters at most."""
    count = down * across
    view = "tensor_view<4,true,0,1,2,3>" if pixels_left else "tensor_view<4,true,3,0,1,2>"
    row = 64 * stride * across
    every = f"""%every0 = tensor_view_create : {view}
        %every1 = tensor_view_set_dimension %every0[1, {down}, {across}, 64] : {view}
        %every = tensor_view_set_stride %every1[{row * stride * down}, {row * stride}, {64 * stride}, 1] : {view}"""
    sides: dict[str, object] = {
        "pixels": f"{count} x 64, matrix_a", "filters": "matrix_b", "result": f"{count} x 64", "view": "",
        "turned": ", %turned", "factors": "%pixels, %weights",
    }  # fmt: skip
    if not pixels_left:
        sides = {
            "pixels": f"64 x {count}, matrix_b", "filters": "matrix_a", "result": f"64 x {count}",
            "view": ", %channels_first", "turned": "", "factors": "%weights, %pixels",
        }  # fmt: skip
    steps: dict[str, object] = {
        "span_down": stride * down, "span_across": stride * across, "stride": stride,
        "every": every if stride > 1 else "", "pixel_view": ", %every" if stride > 1 else sides["view"],
    }  # fmt: skip
    return filled(_TEXT, down=down, across=across, dilation=dilation, pad=pad, **sides, **steps)


def arguments(
    shape: tuple[int, int, int, int], taps: int, *, dilation: int = 1, pad: int = 1, stride: int = 1
) -> list[Array]:
    """Channels, width, height and images of small whole numbers, 64 filters, and an array for the result."""
    channels, width, height, images = shape
    random = np.random.default_rng(shape)
    x = np.asfortranarray(random.integers(-4, 5, shape).astype(BF16))
    f = np.asfortranarray(random.integers(-4, 5, (channels, 64, taps, taps)).astype(BF16))
    less = dilation * (taps - 1) - 2 * pad
    q, p = ((size - less - 1) // stride + 1 for size in (width, height))
    return [x, f, np.full((64, q, p, images), 77, np.float32, order="F")]


def convolved(x: Array, f: Array, sizes: tuple[int, int], *, dilation: int = 1, pad: int = 1, stride: int = 1) -> Array:
    """The same by NumPy."""
    wide = np.pad(x.astype(np.float32), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    q, p = sizes
    result = np.zeros((f.shape[1], q, p, x.shape[3]), np.float32)
    for s in range(f.shape[2]):
        for r in range(f.shape[3]):
            part = wide[:, s * dilation :, r * dilation :][:, ::stride, ::stride][:, :q, :p]
            result += np.einsum("ck,cqpn->kqpn", f[:, :, s, r].astype(np.float32), part)
    return result
