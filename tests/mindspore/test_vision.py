"""Image operations, and mindspore.scipy, against values that real MindSpore 2.10 gave."""

import gzip
import io
import json
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
import mindtorch.mindspore.dataset.vision as V  # noqa: N812
import mindtorch.mindspore.scipy as sp
from mindtorch.mindspore import Tensor
from tests.support.paths import GOLDEN_FILES

GOLDEN = GOLDEN_FILES / "mindspore_vision.json.gz"


def _picture() -> Any:
    draw = np.random.RandomState(0)
    image = np.kron(draw.randint(0, 256, (3, 4, 3)), np.ones((4, 4, 1), int))
    return (image + draw.randint(-6, 6, image.shape)).clip(0, 255).astype(np.uint8)


def test_values_of_mindspore() -> None:
    """The bytes of images equal, others to 1e-5."""
    img = _picture()
    names = {
        "V": V, "sp": sp, "Tensor": Tensor, "np": np, "img": img, "grey": img[:, :, 0].copy(),
        "fl": (img / 255).astype(np.float32), "b": np.array([1.0, 2.0, 3.0], np.float32),
        "A": np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]], np.float32),
        "corners": [[0, 0], [15, 0], [15, 11], [0, 11]],
        "ends": [[2, 3], [14, 1], [13, 10], [1, 9]],
    }  # fmt: skip
    wrong = []
    for code, wanted in json.loads(gzip.decompress(GOLDEN.read_bytes())).items():
        found = eval(code, names)
        array = found.asnumpy() if isinstance(found, Tensor) else found
        values = np.array(wanted["v"], wanted["d"]).reshape(wanted["s"])
        near = array.shape == values.shape and array.dtype == values.dtype
        limit = 0 if wanted["d"] == "uint8" else 1e-5
        if not near or not np.allclose(array, values, limit, limit):
            wrong.append((code, array.dtype, array.shape))
    assert wrong == []


def test_random_operations_follow_the_seed() -> None:
    """Two runs with one seed agree; chances of 0 leave the image; shapes stay."""
    pytest.importorskip("PIL")
    from PIL import Image

    img = _picture()
    file = io.BytesIO()
    Image.fromarray(img).save(file, "png")
    data = np.frombuffer(file.getvalue(), np.uint8)
    chain: list[Any] = [
        V.RandomCropDecodeResize((10, 12)), V.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 10),
        V.RandomPerspective(0.4, 1.0), V.RandomRotation(40), V.RandomLighting(0.1),
        V.RandomAdjustSharpness(2.0, 0.5), V.RandomAutoContrast(prob=0.5), V.RandomResize((10, 12)),
        V.UniformAugment([V.RandomColor(), V.RandomPosterize(), V.RandomSolarize()], 2),
        V.RandomSelectSubpolicy([[(V.Invert(), 0.5), (V.Equalize(), 1.0)]]), V.HWC2CHW(),
        V.RandomErasing(1.0),
    ]  # fmt: skip
    runs = []
    for seed in (3, 3, 4):
        ms.set_seed(seed)
        image: Any = data
        for operation in chain:
            image = operation(image)
        runs.append(image)
    assert runs[0].shape == (3, 10, 12) and runs[0].dtype == np.uint8
    assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])
    for never in (V.RandomErasing(0.0), V.RandomPerspective(0.5, 0.0), V.RandomInvert(0.0)):
        assert never(img) is img


def test_crops_and_sizes() -> None:
    """Corners, the middle, and the mirrored ones."""
    img = _picture()
    five = V.FiveCrop((4, 6))(img)
    assert np.array_equal(five[3], img[-4:, -6:]) and np.array_equal(five[4], img[4:8, 5:11])
    assert np.array_equal(V.TenCrop((4, 6))(img)[5], img[:4, ::-1][:, :6])
    assert V.get_image_size(img) == [12, 16] and V.get_image_num_channels(img[..., 0]) == 1
    with pytest.raises(ValueError, match="prob should be"):
        V.RandomErasing(2.0)
    with pytest.raises(NotImplementedError, match="interpolation=3"):
        V.Rotate(3, V.Inter.BICUBIC)


def test_sparse_tensors() -> None:
    """To dense and back, with gradients of the values."""
    places = Tensor([[0, 1], [2, 0], [0, 1]], ms.int32)

    def dense(values: Any) -> Any:
        return ms.COOTensor(places, values, (3, 2)).to_dense()

    values = Tensor([1.0, 2.0, 4.0], ms.float32)
    assert dense(values).tolist() == [[0.0, 5.0], [0.0, 0.0], [2.0, 0.0]]
    weights = Tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], ms.float32)
    slope = ms.grad(lambda v: (dense(v) * weights).sum())(values)
    assert slope.tolist() == [10.0, 3.0, 10.0]
    rows = ms.COOTensor(places, values, (3, 2)).coalesce().to_csr()
    assert rows.indptr.tolist() == [0, 1, 1, 2]
    assert rows.to_dense().tolist() == dense(values).tolist()
    right = Tensor([[1.0, 2.0], [3.0, 4.0]], ms.float32)
    assert rows.mm(right).tolist() == [[15.0, 20.0], [0.0, 0.0], [2.0, 4.0]]
    assert ms.RowTensor(Tensor([1], ms.int32), right[:1], (4, 2)).dense_shape == (4, 2)
    with pytest.raises(TypeError, match="`indices` must be int16"):
        ms.RowTensor(values, right, (4, 2))


def test_gradient_accumulation_of_boost() -> None:
    """Two batches make one step along their mean; a number can be assigned to a parameter."""
    from mindtorch.mindspore.boost import GradientAccumulation

    p = ms.Parameter(Tensor([1.0, 2.0], ms.float32), name="p")
    cell = GradientAccumulation(2, ms.nn.SGD([p], 0.5))
    for expected in ([1.0, 2.0], [0.0, 1.0], [0.0, 1.0], [-1.0, 0.0]):
        cell(Tensor(0.0), (Tensor([2.0, 2.0], ms.float32),))
        assert p.tolist() == expected
    assert isinstance(cell._accumulation_step, ms.Parameter)


def test_a_users_optimizer_counts_its_steps() -> None:
    """A construct of its own sees rates that depend on the step, decays and flags."""

    class Own(ms.nn.Optimizer):
        def construct(self, gradients: Any) -> Any:
            rate = self.get_lr()
            for p, g in zip(self.parameters, self.scale_grad(gradients), strict=True):
                ms.ops.assign(p, p - rate * g)
            return True

    p = ms.Parameter(Tensor([8.0], ms.float32), name="p")
    own = Own([1.0, 0.5, 0.25], [p], weight_decay=0.1, loss_scale=2.0)
    for expected in (7.0, 6.5, 6.25, 6.0):
        own((Tensor([2.0], ms.float32),))
        assert p.tolist() == [expected]
    assert own.dynamic_lr and own.decay_flags == (True,)
    assert float(own.weight_decay) == pytest.approx(0.2)

def test_resized_bytes_are_opencvs() -> None:
    """Sums of what MindSpore 2.10 gave: linear values are cut off in whole numbers."""
    draw = np.random.RandomState(0)
    found = []
    for channels in (1, 3):
        for before, after in ((28, 32), (28, 14), (8, 32), (20, 33)):
            picture = draw.randint(0, 256, (before, before, channels)).astype(np.uint8)
            found.append(int(V.Resize(after)(picture).sum(dtype=np.int64)))
    assert found == [127130, 24664, 135660, 139500, 385242, 76355, 394749, 422006]
