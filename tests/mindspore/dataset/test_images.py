"""Images with boxes, learned lists of operations, batches that are mixed, files; joined ones."""

import io
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
import mindtorch.mindspore.dataset as ds
from mindtorch.mindspore.dataset import vision as V  # noqa: N812

IMAGE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)


def marked(*boxes: Any) -> tuple[Any, Any]:
    """An image that is 255 in its boxes, and these."""
    image = np.zeros((20, 30, 3), np.uint8)
    for x, y, w, h in boxes:
        image[y : y + h, x : x + w] = 255
    return image, np.array([[*box, 7] for box in boxes], np.float32)


@pytest.mark.parametrize(
    "operation",
    [V.ResizeWithBBox((40, 60)), V.RandomHorizontalFlipWithBBox(1.0),
     V.RandomCropWithBBox((12, 14)), V.RandomVerticalFlipWithBBox(1.0),
     V.RandomCropWithBBox((30, 40), (3, 2), True)],
)  # fmt: skip
def test_boxes_go_with_their_images(operation) -> None:
    """What is bright is what lies in the boxes."""
    ms.set_seed(3)
    image, boxes = operation(*marked((4, 6, 12, 8)))
    x, y, w, h = boxes[0, :4].astype(int)
    inner = image[y + 1 : y + h - 1, x + 1 : x + w - 1]
    assert inner.size and inner.min() == 255 and boxes[0, 4] == 7
    image[max(y - 1, 0) : y + h + 1, max(x - 1, 0) : x + w + 1] = 0
    assert image.max() == 0


def test_boxes_that_leave_an_image_are_told() -> None:
    """And those of which a part has nothing are one row of zeros."""
    image, boxes = marked((4, 6, 12, 8))
    with pytest.raises(RuntimeError, match="a box leaves the image"):
        V.RandomVerticalFlipWithBBox(1.0)(image, boxes + 20)
    part, kept = V.RandomResizedCropWithBBox((10, 10), (0.9, 1.0))(image, boxes)
    assert part.shape == (10, 10, 3) and kept.shape == (1, 5)
    changed, same = V.BoundingBoxAugment(V.Invert(), 1.0)(image, boxes)
    assert changed.max() == 0 and np.array_equal(same, boxes)


def test_learned_lists_of_operations() -> None:
    """Shapes stay, the seed decides, and every operation and magnitude can be applied."""
    made: list[Any] = [V.AutoAugment(policy, V.Inter.BILINEAR) for policy in V.AutoAugmentPolicy]
    made += [V.RandAugment(), V.TrivialAugmentWide(fill_value=(1, 2, 3))]
    for operation in made:
        runs = []
        for seed in (1, 1, 2):
            ms.set_seed(seed)
            runs.append(np.stack([operation(IMAGE) for _ in range(6)]))
        assert runs[0].shape == (6, 20, 30, 3) and runs[0].dtype == np.uint8
        assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])
    assert [len(V.AutoAugment(policy).pairs) for policy in V.AutoAugmentPolicy] == [25, 25, 25]
    for policy in V.AutoAugmentPolicy:
        augment = V.AutoAugment(policy)
        for words in augment.pairs:
            for name, _, number in (words[:3], words[3:]):
                level = None if number == "-" else int(number)
                assert augment.apply(IMAGE, name, level).shape == IMAGE.shape


def test_batches_are_mixed() -> None:
    """Labels say how much of each image there is."""
    images = np.stack([np.full((8, 6, 3), 30 * i, np.float32) for i in range(4)])
    labels = np.eye(4, dtype=np.float32)
    ms.set_seed(1)
    turned = images.transpose(0, 3, 1, 2)
    for operation, batch in ((V.MixUpBatch(1.0), images), (V.MixUp(4, 0.5), images),
                             (V.CutMixBatch(V.ImageBatchFormat.NHWC), images),
                             (V.CutMixBatch(V.ImageBatchFormat.NCHW), turned)):
        mixed, marks = operation(batch, labels)
        assert np.allclose(marks.sum(1), 1) and mixed.shape == batch.shape
        means = mixed.mean((1, 2, 3))
        assert np.allclose(means, marks @ (30.0 * np.arange(4)), atol=1e-3), operation
    rows = ds.NumpySlicesDataset((images, labels), ["image", "label"], shuffle=False).batch(4)
    made = rows.map(V.MixUpBatch(0.4), ["image", "label"], num_parallel_workers=2)
    (row,) = made.create_tuple_iterator(output_numpy=True)
    assert np.allclose(row[1].sum(1), 1)
    with pytest.raises(RuntimeError, match="labels in one-hot rows"):
        V.MixUpBatch()(images, np.arange(4))


def test_patches_and_a_matrix() -> None:
    """Parts row by row; with pixels beside them, or without the last ones."""
    image = IMAGE[:10, :7]
    padded = V.SlicePatches(3, 2)(image)
    assert len(padded) == 6 and {p.shape for p in padded} == {(4, 4, 3)}
    assert np.array_equal(padded[2][:4, :4], image[4:8, :4]) and (padded[5][2:] == 0).all()
    assert {p.shape for p in V.SlicePatches(3, 2, V.SliceMode.DROP)(image)} == {(3, 3, 3)}
    data = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    made = V.LinearTransformation(2 * np.eye(12), np.ones(12))(data)
    assert np.array_equal(made, 2 * (data - 1))
    with pytest.raises(ValueError, match="square matrix"):
        V.LinearTransformation(np.ones((2, 3)), np.ones(2))


def test_files_of_images(tmp_path) -> None:
    """PNG files have the same bytes again, JPEG files nearly; read in another kind."""
    pytest.importorskip("PIL")
    V.write_png(str(tmp_path / "a.png"), IMAGE)
    assert np.array_equal(V.read_image(str(tmp_path / "a.png")), IMAGE)
    assert V.read_image(str(tmp_path / "a.png"), V.ImageReadMode.GRAYSCALE).shape == (20, 30, 1)
    smooth = np.tile(np.arange(0, 240, 8, dtype=np.uint8)[None, :, None], (20, 1, 3))
    V.write_jpeg(str(tmp_path / "a.jpg"), smooth, 95)
    read = V.Decode()(V.read_file(str(tmp_path / "a.jpg")))
    assert np.abs(read.astype(int) - smooth).max() < 12
    with pytest.raises(ValueError, match=r"range of \[1, 100\]"):
        V.encode_jpeg(IMAGE, 0)


def test_jpeg_files_are_decoded_to_pillow_s_bytes() -> None:
    """Colours, greys, and a file that ends early, whose error is Pillow's."""
    image = pytest.importorskip("PIL.Image")
    for mode in ("RGB", "L", "CMYK"):
        file = io.BytesIO()
        image.fromarray(IMAGE).convert(mode).save(file, "jpeg")
        wanted = np.asarray(image.open(io.BytesIO(file.getvalue())).convert("RGB"))
        assert np.array_equal(V.Decode()(np.frombuffer(file.getvalue(), np.uint8)), wanted), mode
    with pytest.raises(OSError, match=r"(?i)truncated"):
        V.Decode()(np.frombuffer(file.getvalue()[:300], np.uint8))


def test_joined_operations_have_the_same_bits(monkeypatch) -> None:
    """With and without joining: pictures of all sizes, greys, floats."""
    lists: list[Any] = [
        [V.Resize(24), V.CenterCrop(16), V.Normalize([120, 110, 100], [50, 60, 70]), V.HWC2CHW()],
        [V.Resize((40, 36)), V.CenterCrop((40, 20)), V.Rescale(1 / 255, 0.1), V.HWC2CHW()],
        [V.Resize(10), V.CenterCrop(16), V.ToTensor()],
        [V.Rescale(1 / 255, 0), V.Normalize([0.4] * 3, [0.2] * 3)],
        [V.Resize(8), V.CenterCrop(6), V.HWC2CHW(), V.Normalize([9.0] * 3, [2.0] * 3, False)],
    ]  # fmt: skip
    for picture in (IMAGE, np.ascontiguousarray(IMAGE[:, :17]), IMAGE.astype(np.float32)):
        for operations in lists:
            data = ds.NumpySlicesDataset(picture[None], ["image"], shuffle=False)
            made = {}
            for value in ("0", "1"):
                monkeypatch.setenv("MINDTORCH_DATA_FUSION", value)
                mapped: Any = data.map(operations)
                assert (len(mapped.calls) < len(operations)) is (value == "1")
                (row,) = mapped.create_tuple_iterator(output_numpy=True)
                made[value] = row[0]
            assert made["0"].dtype == made["1"].dtype
            assert np.array_equal(made["0"], made["1"])
