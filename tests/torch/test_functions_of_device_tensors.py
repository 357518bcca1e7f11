"""What functions do with tensors of a device, tried on tensors of the host: kernels take these as they are, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih import functions
from girih.functions import device, libraries
from girih.functions.libraries import Taken, same
from girih.lazy_dataclass import dataclass

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch")
F: Any = torch.nn.functional


@dataclass(frozen=True, slots=True)
class TensorsHere(device.TorchTensors):
    """Tensors of torch on the host, taken as those of a device are."""

    @property
    def target(self) -> str:
        return "cpu"


@pytest.fixture(autouse=True)
def tensors_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(function: str, name: str, value: object) -> Taken:
        return Taken(TensorsHere(0), value, same)

    from girih.functions import plans

    monkeypatch.setattr(plans, "taken", taken)
    assert libraries.taken is not taken


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::girih.functions.CopyWarning")
def test_functions() -> None:
    x = torch.randn(4, 6, 40, generator=torch.Generator().manual_seed(0))
    for one in (x, x.permute(2, 1, 0).contiguous().permute(2, 1, 0), x.flip(0).transpose(0, 1).transpose(0, 1)):
        for axis in range(3):
            close(functions.softmax(one, axis), torch.softmax(one, axis))
            close(functions.scan(one, axis), torch.cumsum(one, axis))
            close(functions.topk(one, 2, axis)[0], torch.topk(one, 2, axis)[0])
        close(functions.layernorm(one, one[0, 0], one[1, 0]), F.layer_norm(one, (40,), one[0, 0], one[1, 0]))
        close(functions.rms_norm(one), F.rms_norm(one, (40,)))
        close(functions.gelu(one), F.gelu(one))
        close(functions.matmul(one, one.mT), one @ one.mT)
        close(functions.matmul(one, one[0].mT), one @ one[0].mT)
        close(functions.matmul(one[0], one[1].mT), one[0] @ one[1].mT)
        close(functions.attention(one, one, one), F.scaled_dot_product_attention(one, one, one))
        images, weight = one[None], one.reshape(10, 4, 4, 6)
        close(
            functions.conv2d(images, weight, one[0, 0, :10], padding=3),
            F.conv2d(images, weight, one[0, 0, :10], padding=3),
        )
        classes = one.argmin(-1)
        close(functions.cross_entropy(one, classes), F.cross_entropy(one.reshape(24, 40), classes.reshape(24)))


def test_results() -> None:
    x = torch.randn(6, 40)
    out = torch.empty(40, 6).T
    assert functions.softmax(x, out=out) is out
    close(out, torch.softmax(x, -1))
    wanted = torch.softmax(x, 0)
    assert functions.softmax(x, 0, out=x) is x
    close(x, wanted)
    wanted = F.gelu(x[1:])
    close(functions.gelu(x[1:], out=x[:-1]), wanted)
    assert functions.softmax(x.T).stride() == x.T.stride()
    many = torch.randn(3, 5, 7, 16)
    close(
        functions.matmul(many.transpose(1, 2), many.transpose(1, 2).mT), many.transpose(1, 2) @ many.transpose(1, 2).mT
    )
    assert functions.matmul(torch.zeros(3, 0), torch.zeros(0, 2)).tolist() == [[0, 0]] * 3


def test_arrays_of_cupy_by_the_same_methods() -> None:
    class Here(device.CupyArrays):
        """CuPy's arrays, with NumPy in its place."""

        @property
        def target(self) -> str:
            return "cpu"

        @property
        def _cupy(self) -> Any:
            return np

    library: Any = Here(0)
    x = np.arange(24.0).reshape(2, 3, 4)
    order = (2, 0, 1)
    assert library.copied(x, order).strides == (3 * 8, 8, 2 * 3 * 8)
    np.testing.assert_array_equal(library.copied(x, order), x)
    assert library.empty((2, 3, 4), "f64", order).strides == (3 * 8, 8, 2 * 3 * 8)
    assert library.steps(x) == (12, 4, 1)
    assert library.element(x) == "f64"
    assert library.filled((2,), "f32", 3).tolist() == [3, 3]
    assert library.is_same(x, x)
    assert library.shares(x, x[1:])
    assert not library.shares(x, x + 1)
    library.add_along(x, np.ones(3), 1)
    assert x[0, 0, 0] == 1
    assert library.place == "on cpu, as an array of CuPy"


def test_what_is_turned_and_padded_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from girih.functions import columns, products

    for module in (columns, products):
        monkeypatch.setattr(module, "is_cpu", lambda target: False)
    x = torch.randn(300, 7, generator=torch.Generator().manual_seed(1))
    close(functions.softmax(x, 0), torch.softmax(x, 0))
    wanted = torch.softmax(x, 0)
    assert functions.softmax(x, 0, out=x) is x
    close(x, wanted)
    halves = x.to(torch.bfloat16)
    for a, b in ((halves.T, halves), (halves.T.contiguous(), halves), (halves[:8], halves[:7].T), (halves, halves[:7])):
        torch.testing.assert_close(functions.matmul(a, b), a @ b, rtol=2e-2, atol=2e-2)
        wide = torch.zeros(b.shape[1], a.shape[0]).T
        torch.testing.assert_close(functions.matmul(a, b, out=wide), a.float() @ b.float(), rtol=1e-3, atol=1e-3)
