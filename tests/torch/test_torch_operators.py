"""Kernels as operators of PyTorch on the CPU: eager, compiled, with gradients; and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import girih
from girih import kernels

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch")

import girih.torch as operators  # noqa: E402
from girih.torch.operators import DTYPES  # noqa: E402
from tests.operator_texts import AXPBY, FILL, GROUPS  # noqa: E402

BACKENDS = ("eager", "aot_eager", "inductor")
"""What `torch.compile` does with the graph; the last one makes code of it."""


def named(name: str) -> str:
    """A name that no other operator of this process has."""
    number = named.__dict__["count"] = named.__dict__.get("count", 0) + 1
    return f"girih_tests::{name}_{number}"


def axpby(**words: Any) -> Any:
    return operators.custom_op(girih.loads(AXPBY)["axpby"], named("axpby"), **words)


def gemm(order: Any = "F", **words: Any) -> Any:
    shape = (lambda A, B: (A.shape[0], B.shape[1])) if order == "F" else (lambda A, B: (B.shape[0], A.shape[1]))
    return operators.custom_op(kernels.gemm(order=order), named("gemm"), out={"C": shape}, **words)


def test_what_the_kernel_writes_is_changed_in_place() -> None:
    op = axpby()
    a, b = torch.arange(4.0), torch.ones(4)
    assert op(2.0, a, 10.0, b) is None
    assert b.tolist() == [10, 12, 14, 16]
    op(alpha=1.0, A=a, beta=0.0, B=b)
    assert b.tolist() == [0, 1, 2, 3]


def test_the_schema_names_and_types_every_argument() -> None:
    schema = str(axpby().definition._opoverload._schema)
    assert schema.endswith("(float alpha, Tensor? A, float beta, Tensor(a3!)? B) -> ()")
    assert str(gemm().definition._opoverload._schema).endswith(
        "(float alpha, Tensor? A, Tensor? B, float beta) -> Tensor"
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_operator_is_one_node_of_a_compiled_graph(backend: str) -> None:
    op = axpby()

    @torch.compile(backend=backend, fullgraph=True)
    def step(a: Any, b: Any) -> Any:
        op(2.0, a + 1, 10.0, b)
        return b * 2

    a, b = torch.arange(4.0), torch.ones(4)
    assert step(a, b).tolist() == [24, 28, 32, 36]
    assert b.tolist() == [12, 14, 16, 18]


@pytest.mark.parametrize("order", ["F", "C"])
def test_results_are_allocated_in_the_order_of_the_kernel(order: Any) -> None:
    torch.manual_seed(0)
    op = gemm(order)
    x, y = torch.randn(50, 70), torch.randn(70, 33)
    given = (y, x) if order == "C" else (x.T.contiguous().T, y.T.contiguous().T)
    made = op(1.0, *given, 0.0)
    assert made.stride() == ((33, 1) if order == "C" else (1, 50))
    torch.testing.assert_close(made, x @ y, rtol=1e-5, atol=1e-5)
    again = torch.compile(op, backend="aot_eager", fullgraph=True, dynamic=True)(1.0, *given, 0.0)
    assert again.stride() == made.stride()
    torch.testing.assert_close(again, made)


def test_torch_finds_schema_fake_kernel_and_mutation_right() -> None:
    a, b = torch.arange(4.0), torch.ones(4)
    torch.library.opcheck(axpby().definition, (2.0, a, 10.0, b))
    torch.library.opcheck(gemm("C").definition, (1.0, torch.ones(3, 4), torch.ones(5, 3), 0.0))


def test_several_results_and_tensors_of_the_callers_own() -> None:
    text = """func @split(%A: memref<f32x?>, %B: memref<f32x?>, %C: memref<f32x2>) {
      %zero = constant 0 : index
      %a = load %A[%zero] : f32
      store %a, %B[%zero]
      store %a, %C[%zero]
    }"""
    zeros = {"B": lambda A: A.new_zeros(A.shape), "C": None}
    op = operators.custom_op(girih.loads(text)["split"], named("split"), out=zeros)
    b, c = op(torch.full((3,), 7.0))
    assert b.tolist() == [7, 0, 0]
    assert (c[0], c.shape) == (7, (2,))


def test_groups_are_lists_of_tensors() -> None:
    program = girih.loads(GROUPS)
    totals = operators.custom_op(
        program["totals"], named("totals"), out={"totals": lambda G: (len(G),)}, grid=lambda G: len(G)
    )
    assert totals([torch.ones(3), torch.ones(5)]).tolist() == [3, 5]
    spread = operators.custom_op(program["spread"], named("spread"), grid=lambda G: len(G))

    def twice(x: Any, y: Any) -> Any:
        spread(torch.ones(3), [x, y])
        return x + y

    for run in (twice, torch.compile(twice, backend="aot_eager", fullgraph=True)):
        x, y = torch.zeros(3), torch.ones(3)
        assert run(x, y).tolist() == [3, 3, 3]
        assert (x.tolist(), y.tolist()) == ([1, 1, 1], [2, 2, 2])


@pytest.mark.parametrize("type", list(DTYPES))
def test_every_type_of_numbers(type: str) -> None:
    op = operators.custom_op(girih.loads(FILL.replace("TYPE", type))["fill"], named(type))
    tensor = torch.zeros(3, dtype=DTYPES[type])
    number = 2 if type.startswith("i") else 1.5 + 2j if type.startswith("c") else 1.5
    op(number, 2, False, tensor)
    assert not tensor.to(torch.complex128).any()
    op(number, 2, True, tensor)
    assert tensor.to(torch.complex128).tolist() == [number, number, 0]


def test_none_is_a_memref_without_memory() -> None:
    text = """func @first(%A: memref<f32x?>, %B: memref<f32x1>) {
      %zero = constant 0 : index
      %there = associated %A : bool
      if %there {
          %a = load %A[%zero] : f32
          store %a, %B[%zero]
      }
    }"""
    op = operators.custom_op(girih.loads(text)["first"], named("first"))
    b = torch.ones(1)
    op(None, b)
    assert b.item() == 1
    op(torch.zeros(1), b)
    assert b.item() == 0


def test_a_gradient_that_was_registered() -> None:
    op, backward = gemm("C"), []

    def gradients(ctx: Any, gradient: Any) -> Any:
        backward.append(gradient)
        x, y = ctx.saved_tensors
        return None, y.T @ gradient, gradient @ x.T, None

    op.register_autograd(gradients, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[1:3]))
    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(5, 3, requires_grad=True)
    op(1.0, x, y, 0.0).sum().backward()
    assert len(backward) == 1
    wanted = torch.autograd.grad((y @ x).sum(), (x, y))
    torch.testing.assert_close((x.grad, y.grad), wanted)


def test_a_gradient_that_would_be_lost_is_refused() -> None:
    op = axpby()
    a, b = torch.arange(4.0, requires_grad=True), torch.ones(4)
    for run in (op, torch.compile(op, backend="aot_eager")):
        with pytest.raises(
            girih.LaunchError, match=r"bind\.type.*a tensor requires a gradient(.|\n)*under torch\.no_grad"
        ):
            run(2.0, a, 1.0, b)
    with torch.no_grad():
        op(2.0, a, 1.0, b)
    assert b.tolist() == [1, 3, 5, 7]
    with pytest.raises(ValueError, match=r"changes its arguments \(B\) has no gradient: name them in `out`"):
        op.register_autograd(lambda ctx: None)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        gemm()(1.0, torch.ones(1, 1, requires_grad=True), torch.ones(1, 1), 0.0).sum().backward()


def test_wrong_arguments_are_told_as_those_of_a_launch() -> None:
    op = axpby()
    with pytest.raises(
        girih.LaunchError, match=r"bind\.dtype(.|\n)*%B: memref<f32x\?> takes elements of dtype float32"
    ):
        op(2.0, torch.ones(3), 1.0, torch.ones(3, dtype=torch.float64))
    with pytest.raises(girih.LaunchError, match=r"bind\.range"):
        op(1e300, torch.ones(3), 1.0, torch.ones(3))
    with pytest.raises(girih.KernelError, match="differ in shape"):
        op(2.0, torch.ones(3), 1.0, torch.ones(4))
    conjugated = operators.custom_op(girih.loads(FILL.replace("TYPE", "c32"))["fill"], named("fill"))
    with pytest.raises(girih.LaunchError, match=r"bind\.type.*elements of A are conjugated(.|\n)*resolve_conj"):
        conjugated(1j, 1, True, torch.ones(3, dtype=torch.complex64).conj())


def test_elements_that_are_conjugated_when_read_are_read_so() -> None:
    text = "func @copy(%A: memref<c32x?>, %B: memref<c32x?>) {\n%x = constant [1.0, 0.0] : c32\n"
    text += "%y = constant [0.0, 0.0] : c32\naxpby %x, %A, %y, %B\n}"
    op = operators.custom_op(girih.loads(text)["copy"], named("copy"))
    made = torch.zeros(1, dtype=torch.complex64)
    op(torch.tensor([1 + 2j], dtype=torch.complex64).conj(), made)
    assert made.item() == 1 - 2j


def test_the_interpreter_serves_tensors_of_the_cpu() -> None:
    op = operators.custom_op(girih.loads(AXPBY, target="interpreter")["axpby"], named("interpreted"))
    b = torch.ones(4)
    op(2.0, torch.arange(4.0), 10.0, b)
    assert b.tolist() == [10, 12, 14, 16]


@pytest.mark.parametrize("name", ["axpby", "a.b::c", "::c", 3])
def test_names_have_a_namespace(name: Any) -> None:
    with pytest.raises(ValueError, match="the name of an operator is NAMESPACE::NAME, such as 'mylib::axpby'; got"):
        operators.custom_op(girih.loads(AXPBY)["axpby"], name)


def test_shapes_that_do_not_suit_are_refused() -> None:
    kernel = kernels.gemm()
    op = operators.custom_op(kernel, named("gemm"), out={"C": lambda A: A.shape[0]})
    with pytest.raises(ValueError, match="the shape of %C has 2 sizes"):
        op(1.0, torch.ones(1, 1), torch.ones(1, 1), 0.0)
    text = "func @f(%C: memref<f32x2x2,strided<1,4>>) {\n%i = constant 0 : index\n%x = constant 1.0 : f32\n"
    strided = girih.loads(f"{text}store %x, %C[%i,%i]\n}}")["f"]
    op = operators.custom_op(strided, named("strided"), out="C")
    with pytest.raises(ValueError, match="no packed tensor has the strides of %C"):
        op()
    op = operators.custom_op(strided, named("strided"), out={"C": lambda: torch.zeros(2, 4).T[:2]})
    assert op().tolist() == [[1, 0], [0, 0]]


def test_what_an_operator_says_of_itself() -> None:
    op = operators.custom_op(girih.loads(AXPBY)["axpby"], "girih_tests::shown")
    assert repr(op) == f"<girih operator girih_tests::shown of PyTorch, {op.kernel.signature}>"


@pytest.fixture
def gpu() -> None:
    """PyTorch reaches a GPU."""
    if not torch.cuda.is_available():
        pytest.skip("PyTorch reaches no NVIDIA GPU")


@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # of inductor itself
def test_the_same_operator_takes_tensors_of_a_gpu() -> None:
    op, product = axpby(), gemm("C")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        a, b = torch.arange(4.0, device="cuda"), torch.ones(4, device="cuda")
        op(2.0, a, 10.0, b)
        x, y = torch.randn(50, 70, device="cuda"), torch.randn(70, 33, device="cuda")
        made = torch.compile(product, fullgraph=True)(1.0, y, x, 0.0)
    stream.synchronize()
    assert b.tolist() == [10, 12, 14, 16]
    torch.testing.assert_close(made, x @ y, rtol=1e-5, atol=1e-4)
    with pytest.raises(girih.LaunchError, match=r"bind\.device.*the tensors are on cpu and cuda:0"):
        op(2.0, a, 10.0, torch.ones(4))


@pytest.mark.cuda
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", ["torch_layer.py", "torch_sharded.py"])
def test_examples_on_a_gpu(name: str, repository: Path, run_command: Any) -> None:
    done = run_command(sys.executable, "-W", "ignore", str(repository / "examples" / name), "cuda")
    assert done.returncode == 0, done.stdout
