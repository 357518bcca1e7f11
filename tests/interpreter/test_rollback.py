"""A launch that does not succeed leaves every array as it was, and no launch touches memory beside the arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import girih
from tests.interpreter.launching import ONE_SUBGROUP, Array, findings, fortran, kernel, spmd, zeros

BREAKS = "%d = sub %c0, %c0 : index\nparallel {\n%quotient = div %c1, %d : index\n}"
"""Instructions that end a launch with a finding."""

STORES = "%i = group_id.x : index\nstore %one, %A[%i]\n"


def interrupt(done: int, total: int) -> None:
    if done >= 2:
        raise KeyboardInterrupt


def stop(done: int, total: int) -> None:
    if done >= 2:
        raise LookupError("enough")


class Stopper:
    """A progress that is no plain function."""

    def __call__(self, done: int, total: int) -> None:
        stop(done, total)


def test_a_finding_rolls_back() -> None:
    a = fortran(8)
    before = a.tobytes()
    findings(kernel("%A: memref<f32x?>", STORES + BREAKS), a, grid=8)
    assert a.tobytes() == before


def test_a_spent_budget_rolls_back() -> None:
    a = fortran(8)
    before = a.tobytes()
    (found,) = findings(kernel("%A: memref<f32x?>", STORES + "for %k=%c0,%c4 {\n}"), a, grid=8, max_steps=9)
    assert found.code == "run.budget"
    assert a.tobytes() == before


@pytest.mark.parametrize(
    ("progress", "error"), [(interrupt, KeyboardInterrupt), (stop, LookupError), (Stopper(), LookupError)]
)
def test_what_progress_raises_comes_out_as_it_is_and_rolls_back(
    progress: Callable[[int, int], None], error: type[BaseException]
) -> None:
    a = fortran(20_000)
    before = a.tobytes()
    with pytest.raises(error):
        kernel("%A: memref<f32x?>", STORES).options(progress=progress)[20_000](a)
    assert a.tobytes() == before


def test_a_refused_launch_changes_nothing() -> None:
    a, fixed = fortran(8), fortran(8)
    before = a.tobytes()
    fixed.flags.writeable = False
    body = "axpby %one, %A, %one, %B\naxpby %one, %B, %one, %A"
    with pytest.raises(girih.LaunchError) as caught:
        kernel("%A: memref<f32x?>, %B: memref<f32x?>", body)(a, fixed)
    assert [d.code for d in caught.value.diagnostics] == ["bind.read_only"]
    assert a.tobytes() == before


def test_members_of_a_group_roll_back() -> None:
    members = [fortran(4), fortran(6), fortran(5)]
    before = [m.tobytes() for m in members]
    body = "%i = group_id.x : index\n%m = load %G[%i] : memref<f32x?>\nstore %one, %m[%c0]\n"
    parameters = "%G: group<memref<f32x?>x?>"
    findings(kernel(parameters, body + BREAKS), members, grid=3)
    assert [m.tobytes() for m in members] == before
    kernel(parameters, body)[3](members)
    assert [m[0] for m in members] == [1.0, 1.0, 1.0]
    assert [m[1:].tobytes() for m in members] == [b[4:] for b in before]


def test_each_member_is_checked_though_others_are_like_it() -> None:
    """After a member that is right: one at an odd address, read-only, of another type, shape or strides, and None."""
    right, odd, fixed = fortran(4), np.zeros(17, np.uint8)[1:].view(np.float32), fortran(4)
    fixed.flags.writeable = False
    wrong = (odd, fixed, fortran(4).astype(np.float64), fortran(5), fortran(8)[::2])
    launched = kernel("%G: group<memref<f32x4>x?>", "%m = load %G[%c0] : memref<f32x4>\nstore %one, %m[%c0]\n")
    with pytest.raises(girih.LaunchError) as caught:
        launched([right, None, right, *wrong, right])
    found = [(d.code, d.message.partition(":")[0]) for d in caught.value.diagnostics]
    codes = ("bind.alignment", "bind.read_only", "bind.dtype", "bind.shape", "bind.stride")
    assert found == [(code, f"argument 1, %G[{number}]") for number, code in enumerate(codes, 3)]
    launched([right, None, fortran(4)])
    assert right[0] == 1


def test_overlapping_arrays_roll_back_and_share() -> None:
    room = fortran(12)
    before = room.tobytes()
    body = "store %one, %A[%c4]\n%x = load %B[%c0] : f32\nstore %x, %B[%c1]\n"
    parameters = "%A: memref<f32x?>, %B: memref<f32x?>"
    findings(kernel(parameters, body + BREAKS), room[:8], room[4:])
    assert room.tobytes() == before
    kernel(parameters, body)(room[:8], room[4:])
    assert room.tolist() == [0, 1, 2, 3, 1, 1, 6, 7, 8, 9, 10, 11]


def test_one_array_as_several_arguments() -> None:
    """Element by element, a result may be its own operand; else the launch ends, and nothing is overwritten."""
    a = fortran(4, 4)
    expected = 3 * a
    kernel("%A: memref<f32x4x4>, %B: memref<f32x4x4>, %two: f32", "axpby %one, %A, %two, %B")(a, a, 2.0)
    assert (a == expected).all()
    (found,) = findings(kernel("%A: memref<f32x4x4>, %B: memref<f32x4x4>", "axpby.t %one, %A, %one, %B"), a, a)
    assert found.code == "run.aliasing"
    assert (a == expected).all()

    a = fortran(3, 3)
    expected = a * a + a
    parameters = "%A: memref<f32x3x3>, %B: memref<f32x3x3>, %C: memref<f32x3x3>"
    kernel(parameters, "hadamard %one, %A, %B, %one, %C")(a, a, a)
    assert (a == expected).all()
    assert {f.code for f in findings(kernel(parameters, "gemm %one, %A, %B, %one, %C"), a, a, a)} == {"run.aliasing"}
    assert (a == expected).all()


# --- memory beside the arrays ----------------------------------------------------------------------


def guarded(room: Array) -> Array:
    """Every third row and second column from the middle of some memory."""
    return room[6:18:3, 2:8:2]


GUARD = np.float32(-77)


def fresh_room() -> Array:
    return np.full((24, 10), GUARD, np.float32, order="F")


WILD: dict[str, str] = {
    "stores everywhere": "%i = sub %item, %c4 : index\nfor %j=%i,%item {\nstore %one, %A[%i, %j]\n}",
    "tiles": "%m = constant 3.0 : coopmatrix<f32x8x8,matrix_acc>\n%i = sub %c0, %c2 : index\n"
    "cooperative_matrix_store %m, %A[%i, %i]\ncooperative_matrix_store.t.rows_checked %m, %A[%i, %i]",
    "tile atomics": "%m = constant 3.0 : coopmatrix<f32x8x8,matrix_acc>\n%i = sub %c0, %c2 : index\n"
    "%o = cooperative_matrix_atomic_add %m, %A[%i, %i] : coopmatrix<f32x8x8,matrix_acc>",
    "atomics": "%o = atomic_add %one, %A[%item, %lane] : f32\natomic_store %one, %A[%lane, %item]",
    "broken subviews": "%v = subview %A[%item:4, %lane:2] : memref<f32x4x2,strided<?,?>>\n"
    "store %one, %v[%c0, %c0]\n%w = subview %v[1:%item, 0] : memref<f32x?,strided<?>>\nstore %one, %w[%lane]",
    "broken expand": "%v = expand %A[1 -> %lane x 3] : memref<f32x?x?x3,strided<?,?,?>>\nstore %one, %v[%c0,%c1,%c2]",
    "broken fuse": "%v = fuse %A[0, 1] : memref<f32x?,strided<?>>\nstore %one, %v[%item]",
    "views made under masks": "%b = less_than %lane, %c2 : bool\nif %b {\n"
    "%v = subview %A[%lane:2, 0:3] : memref<f32x2x3,strided<?,?>>\nfor %i=%c0,%item {\nstore %one, %v[%i, %i]\n}\n}",
}


@pytest.mark.parametrize("name", sorted(WILD))
def test_wild_kernels_touch_nothing_beside_or_in_the_array(name: str) -> None:
    room = fresh_room()
    guarded(room)[...] = 5
    before = room.tobytes()
    found = findings(spmd("%A: memref<f32x?x?,strided<?,?>>", WILD[name]), guarded(room), grid=3)
    assert {f.code for f in found} - {"run.race"}
    assert room.tobytes() == before


def test_a_good_kernel_writes_its_elements_only() -> None:
    room = fresh_room()
    view = guarded(room)
    body = "%low = less_than %item, %c4 : bool\nif %low {\nfor %j=%c0,%c2 {\nstore %one, %A[%item, %j]\n}\n}"
    spmd("%A: memref<f32x?x?,strided<?,?>>", body)(view)
    expected = fresh_room()
    guarded(expected)[:, :2] = 1
    assert (room == expected).all()


def test_what_lies_between_the_elements_is_not_read() -> None:
    room = fresh_room()
    view = guarded(room)
    view[...] = 1
    out = zeros(4, 3)
    kernel("%A: memref<f32x4x3,strided<?,?>>, %B: memref<f32x4x3>", "axpby %one, %A, %zero, %B")(view, out)
    assert (out == 1).all()


@pytest.mark.parametrize("offset", [0, 1, 3, 7, 8])
def test_an_offset_does_not_lead_into_the_next_member(offset: int) -> None:
    members = [np.full(8, n, np.float32) for n in (1, 2, 3)]
    out = zeros(3, 8)
    body = (
        "%i = group_id.x : index\n%m = load %G[%i] : memref<f32x?>\nfor %k=%c0,%end {\n"
        "%x = load %m[%k] : f32\nstore %x, %B[%i, %k]\nstore %zero, %m[%k]\n}"
    )
    text = "%G: group<memref<f32x?>x?,offset:?>, %B: memref<f32x3x8>, %end: index"
    launched = kernel(text, body)
    group = girih.Group([*members], offset=offset)
    reachable = 8 - offset
    assert {f.code for f in findings(launched, group, out, reachable + 1, grid=3)} == {"run.out_of_bounds"}
    assert [m.tolist() for m in members] == [[1] * 8, [2] * 8, [3] * 8]
    launched[3](group, out, reachable)
    assert (out[:, :reachable] == [[1], [2], [3]]).all()
    assert all((m[offset:] == 0).all() for m in members)
    assert [m[:offset].tolist() for m in members] == [[n] * offset for n in (1, 2, 3)]


def test_tiles_of_a_member_with_an_offset() -> None:
    member, out = fortran(8, 8), zeros(16, 4)
    tile = "coopmatrix<f32x8x4,matrix_acc>"
    body = (
        "%m = load %G[%c0] : memref<f32x8x6>\n"
        f"%t = cooperative_matrix_load %m[%c0, %k] : {tile}\ncooperative_matrix_store %t, %B[%first_item, %c0]"
    )
    launched = spmd("%G: group<memref<f32x8x6>x1,offset:?>, %B: memref<f32x16x4>, %k: index", body)
    launched(girih.Group([member], offset=16), out, 2)
    assert (out == np.tile(member[:, 4:], (2, 1))).all()
    (found,) = findings(launched, girih.Group([member], offset=16), out, 3)
    assert (found.code, found.index, found.count) == ("run.out_of_bounds", (0, 6), 2)


def test_members_may_be_one_array_if_it_is_only_read() -> None:
    a = fortran(4)
    total = zeros(4)
    body = "%i = group_id.x : index\n%m = load %G[%i] : memref<f32x4>\naxpby.atomic %one, %m, %one, %B"
    kernel("%G: group<memref<f32x4>x?>, %B: memref<f32x4>", body)[3]([a, a, a], total)
    assert (total == 3 * a).all()


def test_null_members_are_skipped() -> None:
    out = zeros(3)
    body = (
        "%i = group_id.x : index\n%m = load %G[%i] : memref<f32x?>\n%there = associated %m : bool\n"
        "if %there {\n%x = load %m[%c0] : f32\nstore %x, %B[%i]\n} else {\n"
        "%n = size %m[0] : index\n%y = cast %n : i32\n%z = cast %y : f32\n%w = sub %z, %one : f32\n"
        "store %w, %B[%i]\n}"
    )
    kernel("%G: group<memref<f32x?>x?>, %B: memref<f32x?>", body)[3]([fortran(2) + 5, None, fortran(3) + 7], out)
    assert out.tolist() == [5, -1, 7]


def test_strided_memory_is_reached_where_the_strides_say() -> None:
    memory = np.arange(100, dtype=np.float32)
    view = as_strided(memory[3:], (4, 5), (8, 64))
    out = zeros(4, 5)
    body = "%t = cooperative_matrix_load %A[%c0, %c0] : coopmatrix<f32x4x5,matrix_acc>\n"
    tile = body + "cooperative_matrix_store %t, %B[%c0, %c0]"
    spmd("%A: memref<f32x?x?,strided<?,?>>, %B: memref<f32x4x5>", tile, ONE_SUBGROUP)(view, out)
    assert (out == view).all()


def test_bits_survive_the_way_through_private_memory() -> None:
    bits = np.array([0x7FC00001, 0xFFC12345, 0x80000000, 1], np.uint32)
    a: Any = bits.view(np.float32)
    kernel("%A: memref<f32x4>", "store %one, %A[%c1]")(a)
    assert bits.tolist() == [0x7FC00001, 0x3F800000, 0x80000000, 1]


def test_an_interrupt_while_results_are_written_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [zeros(4), zeros(4)]
    copy = np.copyto
    calls: list[Array] = []

    def interrupted(target: Array, source: Array) -> None:
        copy(target, source)
        calls.append(target)
        if len(calls) == 3:
            raise KeyboardInterrupt

    launched = kernel("%A: memref<f32x4>, %B: memref<f32x4>", "store %one, %A[%c0]\nstore %one, %B[%c1]")
    monkeypatch.setattr(np, "copyto", interrupted)
    with pytest.raises(KeyboardInterrupt):
        launched(*arrays)
    assert [a.tolist() for a in arrays] == [[1, 0, 0, 0], [0, 1, 0, 0]]
