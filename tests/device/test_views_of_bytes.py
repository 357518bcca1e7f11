"""Bytes seen as numbers, from which matrices are loaded and to which they are stored."""

from __future__ import annotations

import numpy as np
import pytest

from girih.ir.core import Value
from girih.ir.types import F16, F32, I32, INDEX, CoopMatrix, MemRef, Use
from tests.device.building import BUFFERS, BYTES, LANES, Body, Code, findings, kernel

MATRIX = CoopMatrix(F32, 4, 8, Use.ACC)
ACCUMULATOR = CoopMatrix(F32, 16, 16, Use.ACC)
ROWS = MemRef(F32, (None, None), (None, 1))
"""Rows at a distance that is known when the program runs."""
PARAMETERS = {"a": BYTES, "r": BYTES}


def moved(offset: int, stride: int, target: int = 0, *, rows: int = 4) -> Code:
    """Code that loads a matrix with rows `stride` numbers apart from a byte on, and stores it without gaps."""

    def code(body: Body, a: Value, r: Value) -> None:
        def view(memory: Value, place: int, step: int) -> Value:
            return body.one(
                "byte_view", ROWS, memory=memory, offset=body.constant(place),
                sizes=(body.constant(rows), body.constant(8)), strides=(body.constant(step),),
            )  # fmt: skip

        zero = body.constant(0)
        matrix = body.one("cooperative_matrix_load", MATRIX, memory=view(a, offset, stride), row=zero, column=zero)
        body.add("cooperative_matrix_store", matrix=matrix, memory=view(r, target, 8), row=zero, column=zero)

    return code


def arrays(size: int = 40) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(size, dtype=np.float32), np.zeros(40, np.float32)


def launched(code: Code, a: np.ndarray, r: np.ndarray) -> None:
    """Launch compiled code, then the interpreter, which leave the same."""
    compiled = r.copy()
    kernel(code, PARAMETERS, target="cpu")(a.view(np.int8), compiled.view(np.int8))
    kernel(code, PARAMETERS)(a.view(np.int8), r.view(np.int8))
    assert compiled.tobytes() == r.tobytes()


def wrong(code: Code, a: np.ndarray, r: np.ndarray) -> list[tuple[str, str | None, str]]:
    """What the interpreter finds; compiled code finds the first of it."""
    told = [
        [(f.code, f.argument, f.message) for f in findings(one, a.view(np.int8), r.copy().view(np.int8))]
        for one in (kernel(code, PARAMETERS), kernel(code, PARAMETERS, target="cpu"))
    ]
    assert told[1] == told[0][:1]
    return told[0]


def test_a_matrix_from_any_byte() -> None:
    for offset, stride in [(0, 8), (4, 8), (32, 8), (8, 9), (0, 0), (12, 1)]:
        a, r = arrays()
        launched(moved(offset, stride, 12), a, r)
        expected = [[offset // 4 + row * stride + column for column in range(8)] for row in range(4)]
        assert r[3:35].reshape(4, 8).tolist() == expected


def test_elements_outside_of_the_memory_are_found_where_they_are_accessed() -> None:
    a, r = arrays()
    assert wrong(moved(36, 8), a, r) == [
        (
            "run.out_of_bounds",
            "a",
            "`cooperative_matrix_load` outside its memory: bytes 160 to 163 of %a, which has 160",
        )
    ]
    assert wrong(moved(0, 8, 36), a, r) == [
        ("run.out_of_bounds", "r",
         "`cooperative_matrix_store` outside its memory: bytes 160 to 163 of %r, which has 160")
    ]  # fmt: skip
    launched(moved(64, -4), a, r)
    assert wrong(moved(32, -4), a, r)[0][2] == (
        "`cooperative_matrix_load` outside its memory: bytes -16 to -13 of %a, which has 160"
    )
    # Nothing is missing where the shape ends: what lies behind it is outside of the view.
    assert (
        wrong(moved(0, 8, rows=3), a, r)[0][2] == "`cooperative_matrix_load` outside %a: index (3, 0) of shape (3, 8)"
    )


def test_views_that_cannot_be() -> None:
    a, r = arrays()
    for offset in (-4, 164, 2**62):
        ((code, name, message),) = wrong(moved(offset, 8), a, r)
        assert (code, name) == ("run.out_of_bounds", "a")
        assert message == f"an access by matrices outside its memory: byte {offset} of %a, which has 160"
    assert wrong(moved(2, 8), a, r) == [
        (
            "run.misaligned",
            "a",
            "an access by matrices of %a is less aligned than it promises, to 4 bytes: byte 2 of 160",
        )
    ]


def test_a_view_without_sizes_reaches_as_far_as_the_memory() -> None:
    def code(body: Body, a: Value, r: Value) -> None:
        all = MemRef.packed(F16, (None,))
        columns = MemRef(F16, (4, None), (1, 8))
        for place, (type, offset, mode) in enumerate([(all, 6, 0), (columns, 0, 1), (columns, 10, 1), (all, 48, 0)]):
            view = body.one("byte_view", type, memory=a, offset=body.constant(offset))
            size = body.one("cast", I32, a=body.one("size", INDEX, tensor=view, mode=mode))
            mine = body.plus(body.times(body.lane(), 16), 4 * place)
            body.store(r, mine, size)

    r = np.zeros((LANES, 4), np.int32)
    # 49 bytes are 24 numbers of two bytes; columns of 4 of them begin every 16 bytes.
    for target in ("interpreter", "cpu"):
        r[:] = 0
        kernel(code, PARAMETERS, target=target)(np.zeros(49, np.int8), r.reshape(-1).view(np.int8))
        assert r.tolist() == [[21, 3, 2, 0]] * LANES


@pytest.mark.parametrize("stride", [8, 10])
def test_members_of_groups_lie_apart(stride: int) -> None:
    def code(body: Body, buffers: Value) -> None:
        zero = body.constant(0)
        for number in (0, 2):
            memory = body.one("load", BYTES, tensor=buffers, indices=(number,))
            view = body.one(
                "byte_view", ROWS, memory=memory, offset=zero, sizes=(body.constant(4), body.constant(8)),
                strides=(body.constant(stride),),
            )  # fmt: skip
            matrix = body.one("cooperative_matrix_load", MATRIX, memory=view, row=zero, column=zero)
            body.add("cooperative_matrix_store", matrix=matrix, memory=view, row=zero, column=zero)

    members = [np.zeros(size, np.int8) for size in (152, 3, 128)]
    run = kernel(code, {"buffers": BUFFERS})
    if stride == 8:
        run(members)
        return
    load, store = findings(run, members)
    assert load.message == (
        "`cooperative_matrix_load` outside its memory: bytes 128 to 131 of %buffers[2], which has 128"
    )
    assert (store.argument, store.index, store.shape) == ("buffers[2]", (128,), (128,))


def test_a_product_through_views_is_the_code_of_a_product_of_memrefs() -> None:
    columns, a, b = MemRef(F16, (16, None), (1, 16)), (16, 16, Use.A), (16, 16, Use.B)
    results = MemRef(F32, (16, None), (1, 16))

    def multiply(body: Body, memories: list[Value]) -> None:
        zero = body.constant(0)
        sum = body.one("cooperative_matrix_construct", ACCUMULATOR, a=body.constant(0.0, F32))
        factors = [
            body.one("cooperative_matrix_load", CoopMatrix(F16, *type), memory=memory, row=zero, column=zero)
            for memory, type in zip(memories, (a, b), strict=False)
        ]
        product = body.one("cooperative_matrix_mul_add", ACCUMULATOR, a=factors[0], b=factors[1], c=sum)
        body.add("cooperative_matrix_store", matrix=product, memory=memories[2], row=zero, column=zero)

    def plain(body: Body, x: Value, y: Value, r: Value) -> None:
        multiply(body, [x, y, r])

    def viewed(body: Body, x: Value, y: Value, r: Value) -> None:
        kinds = ((x, columns), (y, columns), (r, results))
        multiply(body, [body.one("byte_view", t, memory=m, offset=body.constant(64)) for m, t in kinds])

    direct = kernel(plain, {"x": columns, "y": columns, "r": results}, target="cpu")
    through = kernel(viewed, {"x": BYTES, "y": BYTES, "r": BYTES}, target="cpu")
    random = np.random.default_rng(7)
    x, y = (np.asfortranarray(random.integers(-4, 5, (16, 16)).astype(np.float16)) for _ in range(2))
    r = np.zeros((16, 16), np.float32, order="F")
    direct(x, y, r)
    spaced = [np.concatenate([np.zeros(64, np.int8), m.ravel(order="F").view(np.int8)]) for m in (x, y, 0 * r)]
    through(*spaced)
    assert (r == x.astype(np.float32) @ y.astype(np.float32)).all()
    assert spaced[2][64:].tobytes() == r.tobytes(order="F")

    def work(text: str) -> list[str]:
        """The accesses to vectors and the arithmetic, without names and alignments."""
        lines = (line.split("=")[-1].split() for line in text.splitlines())
        return [" ".join(words[:4]) for words in lines if words[:1] in (["load"], ["store"]) and "x" in words] + [
            words[0] for words in lines if words[:1] == ["fmul"]
        ]

    assert work(through.llvm_ir) == work(direct.llvm_ir) != []
