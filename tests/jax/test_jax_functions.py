"""Kernels as functions of JAX arrays, on the CPU and on a fake GPU; and what is refused."""

from __future__ import annotations

import ctypes
import sys
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih import kernels

jax: Any = pytest.importorskip("jax", reason="JAX is not installed: make test-jax")

import girih.jax as functions  # noqa: E402
from girih.jax.frame import XlaBuffer, XlaCall, xla_handler  # noqa: E402
from girih.jax.launches import Launches, device_array, in_words  # noqa: E402
from girih.operators import operator_of  # noqa: E402
from tests.jax.fake_xla import FakeXla  # noqa: E402
from tests.operator_texts import AXPBY, FILL, GROUPS  # noqa: E402
from tests.runtime.cuda.conftest import install  # noqa: E402
from tests.runtime.cuda.fake import FakeDriver, FakeGpu  # noqa: E402

jnp = jax.numpy


def axpby(**words: Any) -> Any:
    return functions.ffi_call(girih.loads(AXPBY, **words)["axpby"])


def gemm(order: Any = "F") -> Any:
    shape = (lambda A, B: (A.shape[0], B.shape[1])) if order == "F" else (lambda A, B: (B.shape[0], A.shape[1]))
    return functions.ffi_call(kernels.gemm(order=order), out={"C": shape})


def test_what_the_kernel_writes_comes_back() -> None:
    op = axpby()
    a, b = jnp.arange(4, dtype=jnp.float32), jnp.ones(4)
    assert op(2.0, a, 10.0, b).tolist() == [10, 12, 14, 16]
    assert b.tolist() == [1, 1, 1, 1]
    assert jax.jit(lambda a, b: op(alpha=2.0, A=a + 1, beta=10.0, B=b) * 2)(a, b).tolist() == [24, 28, 32, 36]
    assert op(np.float32(2), np.arange(4, dtype=np.float32), jnp.float32(10), B=b).tolist() == [10, 12, 14, 16]


@pytest.mark.parametrize("order", ["F", "C"])
def test_results_are_allocated(order: Any) -> None:
    op = gemm(order)
    x, y = (jax.random.normal(key, shape) for key, shape in zip(jax.random.split(jax.random.key(0)),
            ((50, 70), (70, 33)), strict=True))  # fmt: skip
    given = (y, x) if order == "C" else (x, y)
    wanted = np.asarray(x, np.float64) @ np.asarray(y, np.float64)
    np.testing.assert_allclose(op(1.0, *given, 0.0), wanted, atol=1e-4)
    many = jax.vmap(lambda factor: op(1.0, *given, 0.0) * factor)(jnp.arange(3.0))
    np.testing.assert_allclose(many[2], 2 * wanted, atol=1e-4)
    batch = jax.vmap(lambda x: op(1.0, *((y, x) if order == "C" else (x, y)), 0.0))(jnp.stack([x, 2 * x]))
    np.testing.assert_allclose(batch[1], 2 * wanted, atol=1e-4)


def test_groups_are_lists_of_arrays() -> None:
    program = girih.loads(GROUPS)
    totals = functions.ffi_call(program["totals"], out={"totals": lambda G: (len(G),)}, grid=lambda G: len(G))
    assert totals([jnp.ones(3), jnp.ones(5)]).tolist() == [3, 5]
    spread = functions.ffi_call(program["spread"], grid=lambda G: len(G))
    first, nothing, last = spread(jnp.ones(3), [jnp.zeros(3), None, jnp.ones(3)])
    assert (first.tolist(), nothing, last.tolist()) == ([1, 1, 1], None, [2, 2, 2])
    assert spread(jnp.ones(3), []) == []


TYPES = {
    "i8": "int8", "i16": "int16", "i32": "int32", "f16": "float16", "bf16": "bfloat16", "f32": "float32",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "c32": "complex64",
}  # fmt: skip


@pytest.mark.parametrize("type", list(TYPES))
def test_types_of_numbers(type: str) -> None:
    op = functions.ffi_call(girih.loads(FILL.replace("TYPE", type))["fill"])
    number = 2 if type.startswith("i") else 1.5 + 2j if type.startswith("c") else 1.5
    array = jnp.zeros(3, TYPES[type])
    assert not op(number, 2, False, array).any()
    made = op(number, 2, True, array)
    assert (made.dtype, made.astype("complex64").tolist()) == (array.dtype, [number, number, 0])


def test_wide_types_need_them_in_jax() -> None:
    text = FILL.replace("TYPE", "f64")
    op = functions.ffi_call(girih.loads(text)["fill"])
    with pytest.raises(girih.LaunchError, match=r"bind\.dtype(.|\n)*float64; got float32"):
        op(1.5, 1, True, jnp.zeros(3))
    with jax.enable_x64(True):
        assert op(1.5, 1, True, jnp.zeros(3, "float64")).tolist() == [1.5, 0, 0]


def test_none_several_results_and_none_at_all() -> None:
    text = """func @both(%A: memref<f32x?>, %B: memref<f32x2>, %C: memref<f32x?>) {
      %zero = constant 0 : index
      %x = constant 3.0 : f32
      store %x, %B[%zero]
      %there = associated %C : bool
      if %there {
          store %x, %C[%zero]
      }
    }
    func @nothing(%A: memref<f32x?>) {
    }"""
    program = girih.loads(text)
    op = functions.ffi_call(program["both"], out="B")
    b, c = op(jnp.ones(1), None)
    assert (b[0], b.shape, c) == (3, (2,), None)
    b, c = op(None, jnp.zeros(2))
    assert c.tolist() == [3, 0]
    assert functions.ffi_call(program["nothing"])(jnp.ones(1)) == ()


def test_empty_arrays() -> None:
    assert axpby()(2.0, jnp.zeros(0), 1.0, jnp.zeros(0)).shape == (0,)


def test_wrong_arguments_are_refused_when_a_call_is_traced() -> None:
    op = axpby()
    a = jnp.ones(4)
    with pytest.raises(girih.LaunchError, match=r"bind\.dtype\]: argument 4, %B: .* float32; got float16"):
        jax.jit(lambda a: op(2.0, a, 1.0, a.astype("float16")))(a)
    with pytest.raises(girih.LaunchError, match=r"bind\.order\]: argument 2"):
        op(2.0, jnp.ones((2, 2)), 1.0, a)
    with pytest.raises(girih.LaunchError, match=r"bind\.type\]: %alpha is f32, a number of the launch(.|\n)*static"):
        jax.jit(op)(2.0, a, 1.0, a)
    assert jax.jit(op, static_argnums=(0, 2))(2.0, a, 1.0, a).tolist() == [3, 3, 3, 3]
    with pytest.raises(girih.LaunchError, match=r"bind\.type\]: argument 1, %alpha: f32 takes a real number; got str"):
        op("2", a, 1.0, a)
    wrong: list[tuple[Any, Any, str]] = [
        ((2.0, a, 1.0), {}, "B missing"),
        ((2.0, a, 1.0, a), {"A": a}, "A given twice"),
        ((2.0, a, 1.0, a, a), {}, "got 5"),
        ((2.0, a, 1.0), {"C": a}, "B missing; C unknown"),
    ]
    for given, named, says in wrong:
        with pytest.raises(girih.LaunchError, match=rf"bind\.arguments.*alpha, A, beta, B: {says}"):
            op(*given, **named)
    product = functions.ffi_call(kernels.gemm(), out={"C": lambda A: A.shape[0]})
    with pytest.raises(ValueError, match="the shape of %C has 2 sizes"):
        product(1.0, jnp.ones((1, 1)), jnp.ones((1, 1)), 0.0)


def test_findings_are_errors_of_jax_in_the_words_of_girih() -> None:
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"finding\[run\.size\]: `axpby`: op\(a\) and b differ in shape"
    ):
        axpby()(2.0, jnp.ones(4), 1.0, jnp.ones(5)).block_until_ready()


def test_equal_functions_share_a_target_and_others_do_not() -> None:
    first, again, strict = axpby(), axpby(), axpby(checks="off")
    assert first.target == again.target
    assert first.target != strict.target
    assert first.target.startswith("girih.axpby.")
    assert repr(first) == f"<girih function of JAX arrays {first.operator.kernel.signature}>"


def test_calls_from_many_threads() -> None:
    op = axpby()
    step = jax.jit(lambda a, b: op(2.0, a, 10.0, b))
    found: list[Any] = []

    def work(number: int) -> None:
        made = [step(jnp.full(1000, float(number)), jnp.ones(1000)) for _ in range(20)]
        found.append(all(bool((one == 10 + 2 * number).all()) for one in made))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_the_version_is_that_of_the_library() -> None:
    handler = xla_handler(lambda call: None, in_words)
    assert FakeXla(minor=3).metadata(handler) == (0, 3)
    assert FakeXla(minor=1).metadata(handler) == (0, 1)


def test_what_goes_wrong_is_an_error_of_xla() -> None:
    xla = FakeXla()

    def broken(call: XlaCall) -> None:
        raise KeyboardInterrupt

    assert xla.call(xla_handler(broken, in_words), [], [], {}) == 4711
    assert xla.call(xla_handler(lambda call: None, in_words), [(0, (), np.dtype("uint8"))], [], {}) == 4711
    asks = xla_handler(lambda call: print(call.stream()), in_words)
    assert xla.call(asks, [], [], {}) == 4711
    xla.api.struct_size = 48
    assert xla.call(asks, [], [], {}) == 4711
    assert xla.errors == [
        (13, "KeyboardInterrupt"),
        (13, "the language has no elements of XLA's type 99"),
        (13, "stream_get of XLA's interface for foreign functions fails"),
        (13, "XLA's interface for foreign functions has no stream_get: install a newer jaxlib"),
    ]


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A driver made of Python, with two GPUs."""
    return install(FakeDriver(FakeGpu(), FakeGpu("another")), monkeypatch)


def test_a_call_on_a_gpu_is_on_the_device_and_the_stream_of_xla(two: FakeDriver) -> None:
    operator = operator_of(girih.loads(FILL.replace("TYPE", "bf16"), target="cuda")["fill"], None, None)
    handler = xla_handler(Launches(operator, "cuda"), in_words)
    content = np.zeros(3, ml_dtypes.bfloat16)
    address = two.allocate(content.nbytes, 1)
    ctypes.memset(address, 0, content.nbytes)
    buffer = (address, (3,), content.dtype)
    xla = FakeXla(stream=two.stream(), device=1)
    words = {"scalars": [0x3FC0, 0, 2, 0, 1, 0], "counts": [1], "grid": []}
    assert xla.call(handler, [buffer], [buffer], words) is None, xla.errors
    assert [stream for _, _, stream in two.launches] == [xla.stream]
    assert "cuStreamSynchronize" not in two.calls
    operator.kernel.synchronize()
    ctypes.memmove(content.ctypes.data, address, content.nbytes)
    assert content.tolist() == [1.5, 1.5, 0]


def test_orders_of_arrays_on_a_gpu() -> None:
    buffer = XlaBuffer(64, (2, 3, 4), np.dtype(np.float32))
    assert device_array(buffer, "C", 1, 2).strides == np.zeros((2, 3, 4), np.float32).strides
    made = device_array(buffer, "F", 1, 2)
    assert made.strides == np.zeros((2, 3, 4), np.float32, order="F").strides
    assert (made.device, made.stream) == (1, 2)


@pytest.fixture
def gpu() -> Any:
    """A GPU of JAX."""
    try:
        return jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(f"JAX reaches no NVIDIA GPU: {error}")


@pytest.mark.cuda
def test_the_same_function_takes_arrays_of_a_gpu(gpu: Any) -> None:
    a, b = (jax.device_put(x, gpu) for x in (jnp.arange(4, dtype=jnp.float32), jnp.ones(4)))
    op, product = axpby(), gemm()
    assert jax.jit(lambda a, b: op(2.0, a + 1, 10.0, b) * 2)(a, b).tolist() == [24, 28, 32, 36]
    x, y = (jax.device_put(np.random.default_rng(0).standard_normal(s, np.float32), gpu) for s in ((50, 70), (70, 33)))
    wanted = np.asarray(x, np.float64) @ np.asarray(y, np.float64)
    np.testing.assert_allclose(product(1.0, x, y, 0.0), wanted, atol=1e-4)


@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
def test_the_sharded_example_on_a_gpu(repository: Path, run_command: Any) -> None:
    done = run_command(sys.executable, str(repository / "examples" / "jax_sharded.py"), "cuda")
    assert done.returncode == 0, done.stdout
