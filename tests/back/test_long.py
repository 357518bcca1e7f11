"""Kernels of very many instructions: cut into functions, with a stack that is large enough."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import girih
from girih.back.llvm.cpu.compile import lower
from girih.back.llvm.cpu.machine import stretches
from tests.back.harness import TARGET, Compiled, Failed


def alive(count: int) -> str:
    """A kernel that reads so many columns before it writes them, in reverse."""
    lines = [f"%c{k} = constant {k} : index\n%v{k} = load %A[%i,%c{k}] : f64" for k in range(count)]
    lines += [f"store %v{count - 1 - k}, %B[%i,%c{k}]" for k in range(count)]
    head = "func @alive(%A: memref<f64x32x?>, %B: memref<f64x32x?>) attributes{subgroup_size=32,work_group_size=[32,1]}"
    lane = "%l = subgroup_local_id : i32\n%i = cast %l : index\n"
    return f"{head} {{\nparallel {{\n{lane}" + "\n".join(lines) + "\n}\n}"


def products(count: int) -> str:
    """A kernel of so many products in a row."""
    return (
        "func @products(%A: memref<f32x?x?>, %B: memref<f32x?x?>, %C: memref<f32x?x?>) {\n%one = constant 1.0 : f32\n"
        + "gemm.n.n %one, %A, %B, %one, %C\n" * count
        + "}"
    )


def functions(text: str) -> list[str]:
    """The functions of LLVM IR of a kernel."""
    written = lower(girih.parse(text).functions[0], TARGET).text
    return written.partition("\n!")[0].split("\ndefine ")


def test_functions_do_not_grow_with_the_kernel() -> None:
    shorter, longer = (functions(alive(count)) for count in (100, 200))
    assert max(map(len, longer)) < 1.1 * max(map(len, shorter))


def test_equal_products_are_written_once() -> None:
    few, many = (functions(products(count)) for count in (9, 18))
    assert len(few) == len(many)
    assert sum(map(len, many)) < 1.2 * sum(map(len, few))
    random = np.random.default_rng(1)
    a, b = (np.asfortranarray(random.integers(-4, 5, (5, 5)).astype(np.float32)) for _ in range(2))
    c = np.zeros((5, 5), np.float32, order="F")
    girih.loads(products(9))["products"](a, b, c)
    assert np.array_equal(c, 9 * (a @ b))


def test_loads_of_parameters_do_not_come_in_long_rows() -> None:
    """LLVM takes quadratic time for loads in a row."""
    count = 70
    listed = ", ".join(f"%A{k}: memref<i32x?>" for k in range(count))
    body = "\n".join(f"store %v, %A{k}[%i]\n" for k in range(count))
    text = f"func @fill(%v: i32, %i: index, {listed}) {{\n{body}}}"
    entry = functions(text)[-1].partition("br label")[0]
    assert entry.count("load") > 2 * count
    assert max(row.count("load") for row in entry.split("fence")) <= 64
    arrays = [np.zeros(2, np.int32) for _ in range(count)]
    girih.loads(text)["fill"](7, 1, *arrays)
    assert all(array.tolist() == [0, 7] for array in arrays)


def test_cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conditions, masks, matrices, local memory and barriers go from one function to another."""
    monkeypatch.setattr(stretches, "_LONG", 3)
    monkeypatch.setattr(stretches, "_FULL", 2)
    text = """
        func @f(%A: memref<i32x?>, %n: i32, %B: memref<i32x16>) attributes{subgroup_size=8,work_group_size=[16,1]} {
            %L = alloca : memref<i32x16,local>
            parallel {
                %x = subgroup_local_id : i32
                %g = subgroup_id.x : i32
                %eight = constant 8 : i32
                %base = mul %g, %eight : i32
                %at = add %base, %x : i32
                %i = cast %at : index
                %a = load %A[%i] : i32
                %small = less_than %a, %n : bool
                %b = if %small -> (i32) {
                    %two = constant 2 : i32
                    %c = mul %a, %two : i32
                    %d = add %c, %at : i32
                    yield (%d)
                } else {
                    %e = sub %a, %n : i32
                    %f = sub %e, %at : i32
                    yield (%f)
                }
                store %b, %L[%i]
                barrier.local
                %fifteen = constant 15 : i32
                %turned = sub %fifteen, %at : i32
                %j = cast %turned : index
                %r = load %L[%j] : i32
                %sum = add %r, %a : i32
                store %sum, %B[%i]
            }
        }
    """
    a = np.arange(16, dtype=np.int32) * 3 % 16
    results = [np.zeros(16, np.int32) for _ in range(2)]
    function = girih.parse(text).functions[0]
    Compiled(function)((1, 1, 1), a, 7, results[0])
    girih.loads(text, target="interpreter")["f"](a, 7, results[1])
    assert np.array_equal(results[0], results[1])
    with pytest.raises(Failed, match=r"outside %A"):
        Compiled(function)((1, 1, 1), a[:9], 7, results[0])


def in_a_small_thread(kernel: girih.Kernel, *arguments: object) -> None:
    """Call a kernel in a thread with a stack of 64 KB."""
    before = threading.stack_size(64 << 10)
    try:
        thread = threading.Thread(target=kernel, args=arguments)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()


def test_values_of_a_long_kernel_take_no_stack() -> None:
    """The values take 72 KB: a frame with all of them would end the process."""
    kernel = girih.loads(alive(280))["alive"]
    a = np.asfortranarray(np.random.default_rng(1).random((32, 280)))
    b = np.zeros_like(a)
    in_a_small_thread(kernel, a, b)
    assert np.array_equal(b, a[:, ::-1])


def test_a_kernel_that_cannot_be_cut_has_a_stack_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_LONG", 10**9)
    function = girih.parse(alive(100)).functions[0]
    lowered = lower(function, TARGET)
    assert '@"girih.alive.body"(ptr %arguments' in lowered.text
    assert lowered.kernel.workspace_bytes > 2 * 100 * 32 * 8
    compiled = Compiled(function)
    a = np.asfortranarray(np.random.default_rng(1).random((32, 100)))
    b = np.zeros_like(a)
    compiled((3, 1, 1), a, b)
    assert np.array_equal(b, a[:, ::-1])
    # The stack lies at the end, and its frame held nearly all values.
    assert np.count_nonzero(compiled.workspace[-(32 << 10) :]) > 16 << 10
    with pytest.raises(Failed, match=r"outside %A"):
        compiled((3, 1, 1), np.asfortranarray(a[:, :40]), b)
    monkeypatch.undo()
    assert ".body" not in lower(girih.parse(alive(20)).functions[0], TARGET).text


def test_what_a_function_is_given_is_not_written_over_by_its_first_instructions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second region of a stretch needs arrays of which the first, that fills a tile, knows nothing."""
    monkeypatch.setattr(stretches, "_LONG", 12)
    monkeypatch.setattr(stretches, "_FULL", 10**6)
    tile = "coopmatrix<f32x64x64,matrix_acc>"
    text = f"""
        func @f(%A: memref<f32x64x64>, %B: memref<f32x?x?>, %C: memref<f32x?x?>, %n: index)
                attributes{{subgroup_size=8,work_group_size=[8,1]}} {{
            %z = constant 0 : index
            parallel {{
                %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x64x64,matrix_a>
                %b = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x64x64,matrix_b>
                %c = constant 0.0 : {tile}
                %d = cooperative_matrix_mul_add %a, %b, %c : {tile}
                cooperative_matrix_store %d, %A[%z,%z]
            }}
            foreach (%i)=(%z),(%n) {{
                %x = constant 2.5 : f32
                store %x, %B[%i,%z]
                store %x, %C[%i,%z]
            }}
            {"barrier " * 12}
        }}"""
    a, b, c = (np.zeros((64, columns), np.float32, order="F") for columns in (64, 2, 2))
    # Sizes of zero would be found.
    Compiled(girih.parse(text).functions[0])((1, 1, 1), a, b, c, 64)
    assert np.array_equal(b, c)
    assert (b == [2.5, 0]).all()
