"""`TensorMap`: tensor copies of NVIDIA GPUs, byte for byte (004: tiled and im2col mode, gather4, scatter4, reductions).

A map is a frozen value and always legal: creating an illegal one raises one `AddressingError` with every broken rule.
Copies check every operand before they change a byte. Lists are innermost dimension first; parameters have the CUDA
driver's names. Loads, fills, swizzles and the im2col walk were measured on an NVIDIA H200; docstrings name what was
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import Access, Kind
from girih.addressing.display import Drawn
from girih.addressing.errors import AddressingError, RuleReport, Violation, rule, what_it_is
from girih.addressing.tensor_map import operands
from girih.addressing.tensor_map.bound import BoundTensorMap, bound
from girih.addressing.tensor_map.code import written
from girih.addressing.tensor_map.copies import (
    ADDRESS_LIMIT,
    Rows,
    gathered_rows,
    global_bytes,
    im2col_rows,
    inner_bytes,
    inner_extent,
    shared_bytes,
    tiled_rows,
)
from girih.addressing.tensor_map.element_type import ELEMENT_TYPES, FROM_NUMPY
from girih.addressing.tensor_map.parameters import MapParameters, Mode, as_tuple
from girih.addressing.tensor_map.reductions import reduce_bytes
from girih.addressing.tensor_map.rules import UNUSED, checked
from girih.addressing.tensor_map.rules import lints as map_lints
from girih.addressing.tensor_map.shared_image import OOB_NAN, UNTOUCHED, SharedImage, loaded
from girih.addressing.tensor_map.sub_byte import RowBytes, pack_six_bits

ARRAY_TYPE = rule("tensor_map.array_type", "the elements of an array are of a type that tensor maps know", "004 5.5.1")
ARRAY_INNER = rule("tensor_map.array_inner", "the last axis of an array is contiguous", "004 5.5.3.2")
PARAMETER = rule("tensor_map.parameter", "a map is given the parameters of its mode", "004 5.5.3, 004 5.5.4")
ELEMENT_INDEX = rule(
    "tensor_map.element_index", "rows start at whole elements, so that elements can be counted", "girih"
)


class MapOptions(TypedDict, total=False):
    """The parameters of both modes besides the tensor and the box; those left out have the values of `MapParameters`.

    - `element_strides`: the traversal strides, innermost first; all 1 where they are None or left out.
    - `interleave`: `none`, `16B` or `32B`; `swizzle`: a mode of `Swizzle`; `oob_fill`: `zero` or `nan`.
    - `global_address`: the address in bytes that the tensor will have on the device; only its alignment is checked.
    - `architecture`: the architecture whose limits are checked, such as `sm_90a`.
    """

    element_strides: Sequence[int] | None
    interleave: str
    swizzle: str
    oob_fill: str
    global_address: int
    architecture: str


@dataclass(frozen=True, kw_only=True)
class TensorMap(Drawn, MapParameters):
    """A tensor map (004 5.5), made by `tiled`, `im2col` or `of`; lists are innermost dimension first.

    Raises `AddressingError` with every rule that its parameters break.
    """

    def __post_init__(self) -> None:
        for name, value in checked(self).items():
            object.__setattr__(self, name, value)

    @classmethod
    def tiled(
        cls,
        *,
        dtype: str,
        global_dim: Sequence[int],
        global_strides: Sequence[int],
        box_dim: Sequence[int],
        **options: Unpack[MapOptions],
    ) -> TensorMap:
        """A map in tiled mode (004 5.5.3).

        `dtype` is the element type, such as `f16`. Lists are innermost dimension first: `global_dim` is the size of the
        tensor in elements, `global_strides` are bytes from dimension 1 on, `box_dim` is the size of the box in
        elements. `options` are those of `MapOptions`. Raises `AddressingError` with every rule that is broken.
        """
        return cls._of("tiled", dtype, global_dim, global_strides, options, box_dim=as_tuple(box_dim))

    @classmethod
    def im2col(
        cls,
        *,
        dtype: str,
        global_dim: Sequence[int],
        global_strides: Sequence[int],
        lower_corner: Sequence[int],
        upper_corner: Sequence[int],
        channels_per_pixel: int,
        pixels_per_column: int,
        **options: Unpack[MapOptions],
    ) -> TensorMap:
        """A map in im2col mode (004 5.5.4) of a tensor C, W, H, D, N (W, H, D, slices, N with interleave).

        The corners are in W, H, D order, in pixels: the lower counts from the first pixel, the upper from the last. A
        copy brings `channels_per_pixel` elements of each of `pixels_per_column` pixels. `dtype`, `global_dim`,
        `global_strides` and `options` are as in tiled mode. Raises `AddressingError` with every rule that is broken.
        """
        return cls._of(
            "im2col",
            dtype,
            global_dim,
            global_strides,
            options,
            lower_corner=as_tuple(lower_corner),
            upper_corner=as_tuple(upper_corner),
            channels_per_pixel=channels_per_pixel,
            pixels_per_column=pixels_per_column,
        )

    @classmethod
    def _of(
        cls,
        mode: Mode,
        dtype: str,
        global_dim: Sequence[int],
        global_strides: Sequence[int],
        options: MapOptions,
        **box: Any,
    ) -> TensorMap:
        """A map of either mode; traversal strides are 1 in every dimension where they are not given."""
        sizes, steps = as_tuple(global_dim), options.get("element_strides")
        rest: dict[str, Any] = {name: value for name, value in options.items() if name != "element_strides"}
        unknown = [_refused(mode, name) for name in rest if name not in MapOptions.__annotations__]
        known = {name: value for name, value in rest.items() if name in MapOptions.__annotations__}
        try:
            made = cls(
                mode=mode,
                dtype=dtype,
                global_dim=sizes,
                global_strides=as_tuple(global_strides),
                element_strides=(1,) * len(sizes) if steps is None else as_tuple(steps),
                **box,
                **known,
            )
        except AddressingError as error:
            raise AddressingError(error.what, (*unknown, *error.violations)) from None
        if unknown:
            raise AddressingError(f"TensorMap.{mode}", unknown)
        return made

    @classmethod
    def of(
        cls,
        array: NDArray[np.generic],
        box: Sequence[int],
        *,
        dtype: str | None = None,
        **options: Unpack[MapOptions],
    ) -> TensorMap:
        """A tiled map of a NumPy array: its last axis is dimension 0, its strides are the map's.

        `box` is in elements, innermost first, like every list here: `box=(64, 16)` has 16 rows of 64 elements. `dtype`
        chooses another type of the same size, `tf32` for float32 say; `options` are those of `MapOptions`. Raises
        `AddressingError` for an array that no map describes (004 5.5.1), and with every rule that is broken.
        """
        report = RuleReport("TensorMap.of")
        if not isinstance(array, np.ndarray) or array.dtype.name not in FROM_NUMPY or not array.dtype.isnative:
            what = f"of {array.dtype}" if isinstance(array, np.ndarray) else what_it_is(array)
            report.add(ARRAY_TYPE, f"the array is {what}", f"use one of {', '.join(FROM_NUMPY)} in native byte order")
        elif isinstance(dtype, str) and dtype in ELEMENT_TYPES and ELEMENT_TYPES[dtype].bits != array.itemsize * 8:
            message = f"dtype {dtype} has {ELEMENT_TYPES[dtype].bits} bits, the array is {array.dtype}"
            report.add(ARRAY_TYPE, message, "describe the tensor with TensorMap.tiled")
        elif array.size and array.ndim and array.shape[-1] > 1 and array.strides[-1] != array.itemsize:
            message = f"neighbours in the last axis are {array.strides[-1]} bytes apart, elements take {array.itemsize}"
            report.add(ARRAY_INNER, message, "transpose or copy the array")
        report.done()
        return cls._of(
            "tiled",
            FROM_NUMPY[array.dtype.name] if dtype is None else dtype,
            array.shape[::-1],
            array.strides[-2::-1] if array.ndim > 1 else (),
            options,
            box_dim=as_tuple(box),
        )

    def lints(
        self,
        coordinates: Sequence[int] | None = None,
        offsets: Sequence[int] | None = None,
        shared_address: int = 0,
        store: bool = False,
    ) -> tuple[Violation, ...]:
        """The violations of severity `lint`: what is legal and probably not meant in the map.

        With `coordinates`, those of a copy of that box to or from `shared_address` are among them: a load, or with
        `store` a store, a reduction, or a scatter4, whose coordinates are the column and a row. Raises
        `AddressingError` for operands that the copy refuses.
        """
        if coordinates is None:
            return map_lints(self)
        report = RuleReport("TensorMap.lints")
        start = operands.check_coordinates(self, coordinates, report)
        operands.check_offsets(self, offsets, report)
        if store:
            operands.check_store(self, start, report)
        else:
            operands.check_load(self, report)
        address = operands.check_shared_address(self, self.rows, shared_address, report)
        report.done()
        padding = operands.padding_lints(self, start[0]) if store else ()
        return (*map_lints(self), *operands.address_lints(self, address), *padding)

    def code(self, language: str, copy: str = "load", *, name: str = "tensor") -> str:
        """The map and one copy through it as code that is ready to use, in the language `c`, `ptx` or `python`.

        `copy` is `load`, `gather4`, `store`, `scatter4`, or a reduction such as `reduce.add`. The C and the Python text
        encode the map with the driver's call, and C starts the copy on the device; the PTX text is a kernel around the
        copy. All show the instruction with its operands in order (PTX ISA, cp.async.bulk.tensor), and the bytes that a
        load adds to its mbarrier. Functions and constants are called after `name`. Raises `AddressingError` for another
        language, and for a copy that the map does not have (004 5.5.3.4, 5.5.1.1.1, PTX ISA).
        """
        return written(self, language, copy, name)

    def bind(self, array: NDArray[Any]) -> BoundTensorMap:
        """The map with the array that holds its tensor, as the argument of a kernel with a `tensor_map` parameter.

        The first byte of `array` is at the address of the map. Its elements have the map's width, or are bytes; it has
        no gaps, or the shape and strides of the map, last axis first, as for `TensorMap.of`. Raises `AddressingError`
        for an array that does not hold every byte of the tensor (004 5.5), for one of the tensor's shape in another
        order, for one with a mask, and for one that is not aligned as the address of a map is.
        """
        return bound(self, array)

    def load(
        self,
        memory: NDArray[np.uint8],
        coordinates: Sequence[int],
        offsets: Sequence[int] | None = None,
        shared_address: int = 0,
    ) -> SharedImage:
        """Copy the box at `coordinates` to shared memory (cp.async.bulk.tensor, global to shared; 004 5.5.3, 5.5.4).

        `memory` holds the bytes from the map's address on. `coordinates` are in elements, innermost first, and may lie
        outside in tiled mode; `offsets` are W, H, D in im2col mode, None being zeros; `shared_address` is in bytes.
        Raises `AddressingError` for illegal operands.
        """
        report = RuleReport("TensorMap.load")
        start = operands.check_coordinates(self, coordinates, report)
        moved = operands.check_offsets(self, offsets, report)
        operands.check_load(self, report)
        address = operands.check_shared_address(self, self.rows, shared_address, report)
        operands.check_memory(memory, False, report)
        report.done()
        return self._load(memory, self._rows(start, moved), start[0], address, report)

    def gather4(
        self, memory: NDArray[np.uint8], column: int, rows: Sequence[int], shared_address: int = 0
    ) -> SharedImage:
        """Copy four rows of a matrix, from `column` on, one below the other (004 5.5.3.4, tile::gather4; not measured).

        `memory` holds the bytes from the map's address on; `column` is in elements, `rows` are four row numbers. Rows
        outside the matrix are filled. Raises `AddressingError` for illegal operands.
        """
        report = RuleReport("TensorMap.gather4")
        start, *chosen = operands.check_gather(self, column, rows, False, report)
        operands.check_load(self, report)
        address = operands.check_shared_address(self, 4, shared_address, report)
        operands.check_memory(memory, False, report)
        report.done()
        return self._load(memory, gathered_rows(self, chosen), start, address, report)

    def store(
        self,
        shared: NDArray[np.uint8],
        memory: NDArray[np.uint8],
        coordinates: Sequence[int],
        shared_address: int = 0,
    ) -> None:
        """Copy a box from shared memory to `coordinates` (cp.async.bulk.tensor, shared to global; 004 5.5.3, 5.5.4).

        `shared` holds the bytes from `shared_address` on, `memory` those from the map's address on; both are uint8.
        `coordinates` are in elements, innermost first. What lies outside is dropped, but dimension 0 is clipped at
        its extent rounded up to 16 bytes: row padding is overwritten (measured). The pixel box of an im2col store lies
        inside the tensor, and there are no offsets (PTX ISA). Where rows overlap, the last in the box wins.
        `lints(..., store=True)` lists what is doubtful. Raises `AddressingError` for illegal operands,
        before `memory` changes.
        """
        report = RuleReport("TensorMap.store")
        start, address = self._check_store(shared, memory, coordinates, shared_address, report)
        rows = self._rows(start, (0,) * (self.rank - 2))
        target, payload = self._stored(shared, memory, rows, start[0], address, report)
        here = target >= 0
        memory[target[here]] = payload[here]

    def scatter4(
        self,
        shared: NDArray[np.uint8],
        memory: NDArray[np.uint8],
        column: int,
        rows: Sequence[int],
        shared_address: int = 0,
    ) -> None:
        """Copy four rows from shared memory to four rows of a matrix (004 5.5.3.4, tile::scatter4; not measured).

        `shared` holds the bytes from `shared_address` on, `memory` those from the map's address on; `column` is in
        elements, `rows` are four row numbers. Rows past the end are dropped; of equal rows the last wins. Raises
        `AddressingError` for illegal operands, before `memory` changes.
        """
        report = RuleReport("TensorMap.scatter4")
        start, *chosen = operands.check_gather(self, column, rows, True, report)
        operands.check_store(self, (start, *chosen), report, operands.SCATTERED)
        address = operands.check_shared_address(self, 4, shared_address, report)
        operands.check_buffers(shared, memory, report)
        report.done()
        target, payload = self._stored(shared, memory, gathered_rows(self, chosen), start, address, report)
        here = target >= 0
        memory[target[here]] = payload[here]

    def reduce(
        self,
        operation: str,
        shared: NDArray[np.uint8],
        memory: NDArray[np.uint8],
        coordinates: Sequence[int],
        shared_address: int = 0,
    ) -> None:
        """Reduce global memory in place with a box from shared memory (PTX ISA, cp.reduce.async.bulk.tensor).

        `operation` is add, min, max, inc, dec, and, or, xor, as the element type allows. `shared` holds the bytes from
        `shared_address` on, `memory` those from the map's address on; `coordinates` are in elements, innermost first.
        Elements are clipped as by a store; sums round to nearest even, element by element. Raises `AddressingError` for
        illegal operands, before `memory` changes.
        """
        report = RuleReport("TensorMap.reduce")
        operands.check_reduction(self, operation, report)
        start, address = self._check_store(shared, memory, coordinates, shared_address, report)
        rows = self._rows(start, (0,) * (self.rank - 2))
        target, payload = self._stored(shared, memory, rows, start[0], address, report)
        size = self.element.bits // 8
        whole = target.reshape(-1, size)
        here = whole[:, 0] >= 0
        reduce_bytes(operation, self.element, memory, whole[here], payload.reshape(-1, size)[here])

    def access(self, coordinates: Sequence[int], offsets: Sequence[int] | None = None, store: bool = False) -> Access:
        """The element of global memory that each element of the box stands for, counted from the map's address.

        `coordinates` are innermost first; `offsets` are W, H, D in im2col mode. The tile is the box, outermost
        dimension first; `[pixels, channels]` in im2col mode; slices are the last axis with interleave. Outside the
        tensor a load fills, and with `store` a store discards (004 5.5.3, 5.5.4). Raises `AddressingError` for illegal
        operands, and where rows do not start at whole elements.
        """
        report = RuleReport("TensorMap.access")
        start = operands.check_coordinates(self, coordinates, report)
        moved = operands.check_offsets(self, offsets, report)
        if store:
            operands.check_store(self, start, report)
        else:
            operands.check_load(self, report)
        operands.check_image_size(self, self.rows, report)
        report.done()
        return self._access(self._rows(start, moved), start[0], self._outer_shape(), store, report)

    def gather4_access(self, column: int, rows: Sequence[int], store: bool = False) -> Access:
        """The elements that a `gather4` touches, or with `store` a `scatter4`: four rows, in the order of `rows`.

        They are counted from the map's address; the tile is `[4, elements of a row]` (004 5.5.3.4). Raises
        `AddressingError` for illegal operands, and where rows do not start at whole elements.
        """
        report = RuleReport("TensorMap.gather4_access")
        start, *chosen = operands.check_gather(self, column, rows, store, report)
        if store:
            operands.check_store(self, (start, *chosen), report, operands.SCATTERED)
        else:
            operands.check_load(self, report)
        report.done()
        return self._access(gathered_rows(self, chosen), start, (len(chosen),), store, report)

    def _access(self, rows: Rows, start: int, outer: Sequence[int], store: bool, report: RuleReport) -> Access:
        """The access of these rows as a tile `[*outer, inner]` whose inner axis begins at `start`."""
        bits = self.element.bits
        if bits == 6 and (rows.offset[rows.inside] % 3).any():
            report.add(
                ELEMENT_INDEX, "a row starts inside a 6-bit element", "choose strides that are multiples of 48 bytes"
            )
        if rows.reach >= ADDRESS_LIMIT:
            report.add(ELEMENT_INDEX, "offsets pass 2^59 bytes", "choose a smaller tensor")
        report.done()
        steps = np.arange(self.slice_bytes * 8 // bits if self.slice_bytes else self.inner_elements, dtype=np.int64)
        if not self.slice_bytes:
            steps += start
        inner = (steps >= 0) & (steps < inner_extent(self, store) * 8 // bits)
        element = np.where(rows.inside[:, None] & inner, rows.offset[:, None] * 8 // bits + steps, -1)
        kind = np.where(element >= 0, Kind.IN_BOUNDS, Kind.DISCARDED if store else Kind.FILLED).astype(np.uint8)
        shape = (*outer, len(steps))
        fill = int.from_bytes(bytes(OOB_NAN) * (bits // 16), "little") if self.oob_fill == "nan" else 0
        return Access(element.reshape(shape), kind.reshape(shape), fill)

    def _outer_shape(self) -> tuple[int, ...]:
        """The tile without its inner axis, outermost first."""
        if self.mode == "im2col":
            return (self.pixels_per_column,)
        return self.counts[::-1] if self.slice_bytes else self.counts[:0:-1]

    def _rows(self, start: Sequence[int], moved: Sequence[int]) -> Rows:
        return tiled_rows(self, start) if self.mode == "tiled" else im2col_rows(self, start, moved)

    def _load(self, memory: NDArray[np.uint8], rows: Rows, start: int, address: int, report: RuleReport) -> SharedImage:
        """The image of these rows; the operands are checked but for the size of `memory`."""
        inner = inner_bytes(self, start)
        source = self._touched(memory, rows, inner, False, report)
        payload = loaded(self, memory, source)
        values, written, sources = self._placed(payload, source, shared_bytes(self, len(rows), inner, address))
        return SharedImage(values, written, sources, source.size, address, operands.address_lints(self, address))

    def _placed(
        self, payload: NDArray[np.uint8], source: NDArray[np.int64], position: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int64]]:
        """The payload, the mask of what is written and the sources, in the order of shared memory."""
        if self.swizzle == "none" and not self.element.is_padded:
            return payload.reshape(-1), np.ones(payload.size, np.bool_), source.reshape(-1)
        size = max(len(position) * self.row_pitch, int(position.max()) + 1)
        values, written = np.zeros(size, np.uint8), np.zeros(size, np.bool_)
        sources = np.full(size, UNTOUCHED, np.int64)
        values[position], written[position], sources[position] = payload, True, source
        return values, written, sources

    def _touched(
        self, memory: NDArray[np.uint8], rows: Rows, inner: RowBytes, store: bool, report: RuleReport
    ) -> NDArray[np.int64]:
        """The bytes of `memory` that are touched, -1 for a fill. Raises `AddressingError` for bytes past its end."""
        if rows.reach >= ADDRESS_LIMIT:
            operands.check_reach(rows.reach, memory, report)
            report.done()
        touched = global_bytes(self, rows, inner, store)
        operands.check_reach(touched, memory, report)
        report.done()
        return touched

    def _check_store(
        self, shared: object, memory: object, coordinates: object, shared_address: object, report: RuleReport
    ) -> tuple[tuple[int, ...], int]:
        """The coordinates and the shared address of a store or reduction as integers.

        Raises `AddressingError` for illegal operands, the sizes of the buffers aside.
        """
        start = operands.check_coordinates(self, coordinates, report)
        operands.check_store(self, start, report)
        address = operands.check_shared_address(self, self.rows, shared_address, report)
        operands.check_buffers(shared, memory, report)
        report.done()
        return start, address

    def _stored(
        self,
        shared: NDArray[np.uint8],
        memory: NDArray[np.uint8],
        rows: Rows,
        start: int,
        address: int,
        report: RuleReport,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The byte of `memory` that each byte of the box goes to (-1: nowhere), and the bytes themselves.

        Raises `AddressingError` for buffers that are too small: the last checks before `memory` changes.
        """
        inner = inner_bytes(self, start)
        position = shared_bytes(self, len(rows), inner, address)
        operands.check_shared_size(int(position.max()) + 1, shared, report)
        target = self._touched(memory, rows, inner, True, report)
        payload = shared[position]
        return target, pack_six_bits(payload) if self.dtype == "b6p2x16" else payload


def _refused(mode: Mode, name: str) -> Violation:
    """The violation by a keyword argument that maps of this mode do not have."""
    if name in UNUSED[mode]:
        other = "im2col" if mode == "tiled" else "tiled"
        return PARAMETER.violation(f"{name} is no parameter of a map in {mode} mode", f"use TensorMap.{other}")
    return PARAMETER.violation(
        f"{name} is no parameter of a map", f"choose among {', '.join(MapOptions.__annotations__)}"
    )
