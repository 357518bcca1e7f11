"""Groups with an offset and shapes, on every target: a member is the array from which the offset counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih

TARGETS = ("interpreter", "cpu")

Group: Any = girih.Group
"""Whatever it is given."""

COPY = """
func @copy(%G: group<memref<f32x{shape}{layout}>x?,offset:{offset}>, %B: memref<f32x{shape}>) {{
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    %i = group_id.x : index
    %A = load %G[%i] : memref<f32x{shape}{layout}>
    axpby %one, %A, %zero, %B
    axpby %one, %A, %one, %A
}}
"""
"""Copies the member to B and doubles it."""


@cache
def kernel(target: str, shape: str, offset: str = "?", layout: str = "") -> girih.Kernel:
    return girih.loads(COPY.format(shape=shape, offset=offset, layout=layout), target=target)["copy"]


def arange(*shape: int) -> NDArray[np.float32]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape, order="F")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("types", "member", "group", "expected"),
    [
        # One mode, to the end of the array.
        ("?", lambda: arange(9), lambda a: Group([a], 1), range(1, 9)),
        ("?", lambda: arange(9), lambda a: Group([a], 0), range(9)),
        ("?", lambda: arange(9), lambda a: Group([a], np.int64(8)), [8]),
        ("?", lambda: arange(9)[:8], lambda a: Group([a], 1), range(1, 8)),
        ("? 1", lambda: arange(9), lambda a: [a], range(1, 9)),
        # One mode of a size that the type or the shape says; what lies behind is not the memref's.
        ("4", lambda: arange(9), lambda a: Group([a], 2), range(2, 6)),
        ("?", lambda: arange(9), lambda a: Group([a], 2, [4]), range(2, 6)),
        ("?", lambda: arange(9), lambda a: Group([a], 2, [(4,)]), range(2, 6)),
        ("?", lambda: arange(9), lambda a: Group([a], 2, np.array([[4]])), range(2, 6)),
        ("?", lambda: arange(9), lambda a: Group([a], 2, [np.array([4])]), range(2, 6)),
        ("?", lambda: arange(9), lambda a: Group([a], 2, [np.array(4)]), range(2, 6)),
        ("?", lambda: arange(9), lambda a: Group([a], 2, range(4, 5)), range(2, 6)),
        ("?x?", lambda: arange(20), lambda a: Group([a], 5, [range(3, 1, -1)]), [[5, 8], [6, 9], [7, 10]]),
        ("?", lambda: arange(9), lambda a: Group([a], 0, [4]), range(4)),
        ("? 0", lambda: arange(9), lambda a: Group([a], shapes=[4]), range(4)),
        # With strides: the offset counts elements of the memory.
        ("? ? ,strided<?>", lambda: arange(9)[::2], lambda a: Group([a], 4), [4, 6, 8]),
        ("? ? ,strided<2>", lambda: arange(9)[::2], lambda a: Group([a], 4, [2]), [4, 6]),
        # In an array without gaps, the strides of the type.
        ("? 1 ,strided<2>", lambda: arange(9), lambda a: Group([a]), [1, 3, 5, 7]),
        ("? ? ,strided<2>", lambda: arange(10), lambda a: Group([a], 1), [1, 3, 5, 7, 9]),
        ("? ? ,strided<2>", lambda: arange(9), lambda a: Group([a], 3, [2]), [3, 5]),
        ("2x2 ? ,strided<1,3>", lambda: arange(9), lambda a: Group([a], 1), [[1, 4], [2, 5]]),
        # Two modes: the strides of the axes, or, of an array with one axis, packed ones.
        ("?x?", lambda: arange(4, 5), lambda a: Group([a], 5, [(3, 2)]), [[5, 9], [6, 10], [7, 11]]),
        ("?x?", lambda: arange(20), lambda a: Group([a], 5, [(3, 2)]), [[5, 8], [6, 9], [7, 10]]),
        ("2x3", lambda: arange(20), lambda a: Group([a], 5), [[5, 7, 9], [6, 8, 10]]),
        ("2x3", lambda: arange(2, 4), lambda a: Group([a], 1), [[1, 3, 5], [2, 4, 6]]),
        ("?x?", lambda: arange(6, 5)[:4], lambda a: Group([a], 7, [(3, 2)]), [[7, 13], [8, 14], [9, 15]]),
        ("?x? 0", lambda: arange(4, 5), lambda a: Group([a], shapes=[[2, 2]]), [[0, 4], [1, 5]]),
        # Nothing at all.
        ("?", lambda: arange(9), lambda a: Group([a], 9), []),
        ("?x?", lambda: arange(9), lambda a: Group([a], 9, [(0, 3)]), np.zeros((0, 3))),
        ("?", lambda: arange(0), lambda a: Group([a], 0), []),
    ],
)
def test_the_memref_begins_at_the_offset(
    target: str,
    types: str,
    member: Callable[[], NDArray[np.float32]],
    group: Callable[[NDArray[np.float32]], Any],
    expected: Any,
) -> None:
    array = member()
    wanted = np.array(expected, np.float32)
    doubled = np.where(np.isin(array, wanted), 2 * array, array)
    out = np.zeros(wanted.shape, np.float32, order="F")
    kernel(target, *types.split())[1](group(array), out)
    assert out.tolist() == wanted.tolist()
    assert array.tolist() == doubled.tolist()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("types", "group", "code", "says"),
    [
        ("?", lambda: Group([arange(8)], 9), "bind.group_memory",
         "%G[0]: the offset 9 lies behind the end of the array, which reaches over 8 elements"),
        ("8", lambda: Group([arange(9), arange(8)], 1), "bind.group_memory",
         "%G[1]: memref<f32x8> of shape (8,) reaches over 8 elements from the offset 1 on; got an array "
         "that reaches over 8"),
        ("?", lambda: Group([arange(8)], 1, [8]), "bind.group_memory", "got an array that reaches over 8"),
        ("?", lambda: Group([arange(8)], 0, [9]), "bind.group_memory", "got an array that reaches over 8"),
        ("?", lambda: Group([arange(8)], 2**62), "bind.group_memory", "the offset 4611686018427387904 lies behind"),
        ("?", lambda: Group([arange(8)], 9, [0]), "bind.group_memory", "reaches over 0 elements from the offset 9 on"),
        ("?x?", lambda: Group([arange(6, 5)[:4]], 7, [(4, 2)]), "bind.group_memory",
         "of shape (4, 2) has elements in gaps of the array, from the offset 7 on"),
        ("? ? ,strided<?>", lambda: Group([arange(9)[::2]], 1), "bind.group_memory", "has elements in gaps"),
        ("?x?", lambda: Group([arange(20)[::2]], 1, [(2, 2)]), "bind.group_memory", "has elements in gaps"),
        ("?x?", lambda: Group([arange(4, 5)], 1), "bind.group_shape",
         "%G[0]: with an offset, the shape of memref<f32x?x?> must be said"),
        ("?x?", lambda: Group([arange(4, 5)], 1, [None]), "bind.group_shape", "must be said"),
        ("?x?", lambda: Group([arange(4, 5)], 1, [(2,)]), "bind.group_shape",
         "%G[0]: (2,) is not a shape of memref<f32x?x?>"),
        ("?x?", lambda: Group([arange(4, 5)], 1, [2]), "bind.group_shape", ": 2 is not a shape of memref<f32x?x?>"),
        ("?", lambda: Group([arange(4)], 1, [-1]), "bind.group_shape", ": -1 is not a shape of memref<f32x?>"),
        ("?", lambda: Group([arange(4)], 1, [2.0]), "bind.group_shape", ": 2.0 is not a shape of memref<f32x?>"),
        ("?", lambda: Group([arange(4)], 1, [True]), "bind.group_shape", ": True is not a shape of memref<f32x?>"),
        ("4", lambda: Group([arange(9)], 1, [3]), "bind.group_shape", ": 3 is not a shape of memref<f32x4>"),
        ("?x?", lambda: Group([arange(4)], 1, [(0, 2**62)]), "bind.group_shape", "NumPy has no array of shape (0, 46"),
        ("?", lambda: Group([arange(4)], 1, [2, 2]), "bind.group_shape",
         "%G: there is one shape for each member, 1; got 2"),
        ("?", lambda: Group([arange(4)], 1, 2), "bind.group_shape", "%G: shapes is a list of shapes; got int"),
        ("?", lambda: Group([arange(4)], -1), "bind.group_offset", "a negative offset leaves the arrays; got -1"),
        ("2x3", lambda: Group([arange(2, 4).T], 1), "bind.stride", "got float32 array of shape (2, 3)"),
        ("2x3", lambda: Group([arange(2, 4, 1)], 1), "bind.order",
         "has 2 modes, so with an offset it takes an array with as many axes, or with one; got one of shape (2, 4, 1)"),
        ("?", lambda: Group([arange(4)[::-1]], 1), "bind.layout", "mode 0 runs backwards"),
        ("?", lambda: Group([np.zeros(4)], 1), "bind.dtype", "takes elements of dtype float32"),
        ("?", lambda: Group([np.broadcast_to(np.float32(0), 4)], 1), "bind.layout", "has stride 0"),
    ],
)  # fmt: skip
def test_what_is_refused(target: str, types: str, group: Callable[[], Any], code: str, says: str) -> None:
    shape, *more = types.split()
    out = np.zeros([1 if size == "?" else int(size) for size in shape.split("x")], np.float32, order="F")
    with pytest.raises(girih.LaunchError) as caught:
        kernel(target, shape, *more)[1](group(), out)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert says in found.message


@pytest.mark.parametrize(
    ("types", "member", "offset", "hint"),
    [
        ("? ? ,strided<2>", lambda: arange(9)[::2], 1,
         "pass the memory that this array is a view of as an array with one axis and without gaps"),
        ("? ? ,strided<?>", lambda: arange(9)[::2], 1, "let the offset be a multiple of the stride 2"),
        ("3x2", lambda: arange(6, 5)[:4], 3, "pass the array that this one is a view of"),
        ("2x3", lambda: arange(2, 4).T, 1, "allocate the member with one axis, np.empty(7, np.float32)"),
    ],
)  # fmt: skip
def test_hints_for_members(types: str, member: Callable[[], Any], offset: int, hint: str) -> None:
    shape, *more = types.split()
    out = np.zeros([1 if size == "?" else int(size) for size in shape.split("x")], np.float32, order="F")
    with pytest.raises(girih.LaunchError) as caught:
        kernel("interpreter", shape, *more)[1](Group([member()], offset), out)
    assert caught.value.diagnostics[0].hint == hint


@pytest.mark.parametrize("target", TARGETS)
def test_the_member_that_a_hint_allocates_is_taken(target: str) -> None:
    out = np.ones((2, 3), np.float32, order="F")
    kernel(target, "2x3")[1](Group([np.zeros(7, np.float32)], 1), out)
    assert not out.any()


@pytest.mark.parametrize("target", TARGETS)
def test_a_stride_that_leads_to_no_second_element(target: str) -> None:
    type = "memref<f32x?,strided<4611686018427387904>>"
    text = f"""
    func @one(%G: group<{type}x1>, %B: {type}) {{
        %A = load %G[0] : {type}
        %x = load %A[0] : f32
        store %x, %B[0]
    }}
    """
    out = np.zeros(1, np.float32)
    one = girih.loads(text, target=target)["one"]
    one([np.full(1, 3, np.float32)], out)
    one(Group([np.full(2, 3, np.float32)], shapes=[1]), out)
    assert out.tolist() == [3]


def read_only(array: NDArray[np.float32]) -> NDArray[np.float32]:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("target", TARGETS)
def test_members_of_different_sizes_and_none(target: str) -> None:
    a, b = arange(9), arange(6)
    out = np.zeros(6, np.float32)
    copy = kernel(target, "?")
    copy[1](Group([a, None, b], 2, [6, None, None]), out)
    assert out.tolist() == [2, 3, 4, 5, 6, 7]
    with pytest.raises(girih.LaunchError, match=r"bind\.read_only"):
        copy[1](Group([read_only(a)], 2), out)


@pytest.mark.parametrize("target", TARGETS)
def test_a_member_ends_where_its_memref_does(target: str) -> None:
    """An index in the array but outside the memref is a finding."""
    text = """
    func @one(%G: group<memref<f32x?>x1,offset:2>, %k: index, %B: memref<f32x1>) {
        %A = load %G[0] : memref<f32x?>
        %x = load %A[%k] : f32
        store %x, %B[0]
    }
    """
    one, out = girih.loads(text, target=target)["one"], np.zeros(1, np.float32)
    one[1](Group([arange(9)], shapes=[3]), 2, out)
    assert out[0] == 4
    with pytest.raises(girih.KernelError) as caught:
        one[1](Group([arange(9)], shapes=[3]), 3, out)
    (found,) = caught.value.findings
    assert (found.code, found.index, found.shape) == ("run.out_of_bounds", (3,), (3,))


@pytest.mark.interpreter
def test_uninitialized_counts_for_the_memref_alone() -> None:
    a = arange(9)
    with pytest.raises(girih.KernelError, match=r"run\.uninitialized"):
        kernel("interpreter", "?")[1](Group([girih.uninitialized(a)], 3), np.zeros(6, np.float32))
    assert a.tolist() == list(range(9))


# --- memory that is shared -------------------------------------------------------------------

ADD = """
func @add(%G: group<memref<f32x?,strided<?>>x?>, %H: group<memref<f32x?,strided<?>>x?>, %C: memref<f32x?,strided<?>>) {
    %one = constant 1.0 : f32
    %i = group_id.x : index
    %g = load %G[%i] : memref<f32x?,strided<?>>
    %h = load %H[%i] : memref<f32x?,strided<?>>
    axpby %one, %g, %one, %h
    axpby.atomic %one, %g, %one, %C
}
"""
"""Reads the members of G; writes those of H, and C."""

ROOM = 24
Rooms = Callable[[NDArray[np.float32]], tuple[list[Any], list[Any], Any]]


@cache
def add(target: str) -> girih.Kernel:
    return girih.loads(ADD, target=target)["add"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (lambda r: ([r[:4]], [r[4:8]], r[5:9]), "argument 2, %H[0]: it shares memory with %C"),
        (lambda r: ([r[:4]], [r[5:9]], r[4:8]), "argument 2, %H[0]: it shares memory with %C"),
        (lambda r: ([r[:4]], [r[4:8]], r[0:4]), "argument 1, %G[0]: it shares memory with %C"),
        (lambda r: ([r[1:5]], [r[8:12]], r[0:4]), "argument 1, %G[0]: it shares memory with %C"),
        (lambda r: ([r[:4]], [r[8:12]], r[1:5]), "argument 1, %G[0]: it shares memory with %C"),
        (lambda r: ([r[:4]], [r[:4]], r[8:12]), "%G[0]"),
        (lambda r: ([r[8:12], r[:4]], [r[4:8], r[3:7]], r[12:16]), "%H[1]: it shares memory with %G[1]"),
        (lambda r: ([r[:4], r[4:8]], [r[12:16], r[15:19]], r[20:24]), "%H[1]: it shares memory with %H[0]"),
        (lambda r: ([r[:4]], [r[4:8]], r[3:9:5]), "shares memory with %C"),
        # From the first to the last element their addresses overlap; some elements are the same.
        (lambda r: ([r[0:8:2]], [r[1:8:2]], r[6:12:3]), "argument 1, %G[0]: it shares memory with %C"),
        (lambda r: ([r[0:8:2], r[4:10:2]], [r[1:8:2], r[7:12:2]], r[20:24]), "%H[1]: it shares memory with %H[0]"),
        (lambda r: ([r[0:10:9], r[2:6]], [r[1:5], r[12:16]], r[16:20]), "%G[1]: it shares memory with %H[0]"),
    ],
)
def test_members_that_share_memory_which_is_written(target: str, arguments: Rooms, says: str) -> None:
    room = arange(ROOM)
    with pytest.raises(girih.LaunchError) as caught:
        add(target)[1](*arguments(room))
    (found,) = caught.value.diagnostics
    assert (found.code, says in found.message) == ("bind.overlap", True), found.message
    assert room.tolist() == list(range(ROOM))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "arguments",
    [
        lambda r: ([r[:4], r[4:8]], [r[8:12], r[12:16]], r[16:20]),
        lambda r: ([r[4:8], r[:4]], [r[20:24], r[12:16]], r[8:12]),
        lambda r: ([r[:4], r[:4]], [r[8:12], r[12:16]], r[16:20]),
        lambda r: ([r[:4], r[2:6]], [r[8:12], r[12:16]], r[16:20]),
        # Between each other's elements.
        lambda r: ([r[0:12:3], r[0:12:3]], [r[1:12:3], r[12:16]], r[2:12:3]),
        lambda r: ([r[0:24:6], r[1:24:6]], [r[2:24:6], r[3:24:6]], r[4:24:6]),
        lambda r: ([r[3:24:6], r[1:24:6]], [r[5:24:6], r[0:24:6]], r[4:24:6]),
    ],
)
def test_members_that_share_nothing_which_is_written(target: str, arguments: Rooms) -> None:
    room, expected = arange(ROOM), arange(ROOM)
    g, h, c = arguments(expected)
    for number in range(2):
        h[number] += g[number]
        c += g[number]
    add(target)[2](*arguments(room))
    assert room.tolist() == expected.tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_a_memref_that_is_read_and_a_member_that_is_written(target: str) -> None:
    text = """
    func @copy(%A: memref<f32x?>, %G: group<memref<f32x?>x?>) {
        %one = constant 1.0 : f32
        %zero = constant 0.0 : f32
        %g = load %G[0] : memref<f32x?>
        axpby %one, %A, %zero, %g
    }
    """
    copy, room = girih.loads(text, target=target)["copy"], arange(8)
    for first in (1, 2, 3):
        with pytest.raises(girih.LaunchError, match=r"%G\[0\]: it shares memory with %A"):
            copy(room[2:4], [room[first : first + 2]])
    assert room.tolist() == list(range(8))
    copy(room[2:4], [room[4:6]])
    copy(room[4:6], [room[:2]])
    assert room.tolist() == [2, 3, 2, 3, 2, 3, 6, 7]


@pytest.mark.parametrize("target", TARGETS)
def test_what_lies_in_front_of_memrefs_may_be_shared(target: str) -> None:
    text = ADD.replace("x?>,", "x?,offset:?>,")
    room, expected = arange(ROOM), arange(ROOM)
    expected[16:20] += expected[8:12]
    expected[20:24] += expected[8:12]
    moved = [Group([room], offset, [4]) for offset in (8, 16)]
    girih.loads(text, target=target)["add"][1](*moved, room[20:])
    assert room.tolist() == expected.tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_thousands_of_members(target: str) -> None:
    """In no order of their addresses."""
    count = 1000
    room = np.zeros((2 * count, 4), np.float32)
    rows = list(room)
    g, h = rows[::2], rows[1::2][::-1]
    room[::2] = 1
    c = np.zeros(4, np.float32)
    add(target)[count](g, h, c)
    assert (room == 1).all() and (c == count).all()
    with pytest.raises(girih.LaunchError, match=r"%H\[700\]: it shares memory with %G\[4\]"):
        add(target)[count](g, [*h[:700], g[4], *h[701:]], c)


def test_both_targets_refuse_the_same() -> None:
    """Random slices of one array: the same launches run, with the same results."""
    source = np.random.default_rng(7)

    def piece(room: NDArray[np.float32], start: int, step: int) -> NDArray[np.float32]:
        return room[start : start + 4 * step : step]

    ran = 0
    for _ in range(30):
        places = [(int(source.integers(0, 180)), int(source.integers(1, 4))) for _ in range(7)]
        outcomes = []
        for target in TARGETS:
            room = arange(200)
            *members, c = [piece(room, *place) for place in places]
            try:
                add(target)[3](members[:3], members[3:], c)
            except girih.LaunchError as error:
                outcomes.append((str(error), room.tolist()))
            else:
                outcomes.append(("", room.tolist()))
        assert outcomes[0] == outcomes[1]
        ran += not outcomes[0][0]
    assert 5 < ran < 25
