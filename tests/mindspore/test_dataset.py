"""Data pipelines: order of operations, shapes and types, shuffling, files of MNIST and others."""

import gzip
import pickle
from typing import Any

import numpy as np
import pytest
import torch as oracle

import mindtorch.mindspore as ms
import mindtorch.mindspore.dataset as ds
from mindtorch.mindspore import nn
from mindtorch.mindspore.dataset import transforms, vision

ROWS = np.arange(10)


def numbers(dataset):
    return [row[0].tolist() for row in dataset.create_tuple_iterator(output_numpy=True)]


def plain():
    return ds.NumpySlicesDataset(ROWS, ["n"], shuffle=False)


def test_operations_act_in_their_order():
    """batch, take, skip, repeat, map, filter: each acts on what stands before it."""
    assert numbers(plain().batch(4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert numbers(plain().batch(4, drop_remainder=True).skip(1)) == [[4, 5, 6, 7]]
    assert numbers(plain().take(2).repeat(2)) == [0, 1, 0, 1]
    assert numbers(plain().repeat(2).take(11).skip(9)) == [9, 0]
    assert numbers(plain().map([lambda x: x + 1, lambda x: x * 2]).filter(lambda n: n > 16)) == [
        18, 20
    ]  # fmt: skip
    assert numbers(plain().take(2) + plain().skip(9)) == [0, 1, 9]
    sizes = [plain().batch(4), plain().repeat(3).batch(4, True), plain().take(3), plain().skip(12)]
    assert [d.get_dataset_size() for d in sizes] == [3, 7, 3, 0]
    with pytest.raises(ValueError, match="batch_size"):
        plain().batch(0)


def test_columns_are_mapped_zipped_renamed_and_chosen():
    """A function of two columns, one that makes two, and the columns' places."""
    data = {"a": np.arange(3), "b": np.arange(3) * 10}
    source = ds.NumpySlicesDataset(data, shuffle=False)
    summed = source.map(lambda a, b: a + b, ["a", "b"], ["sum"])
    assert summed.get_col_names() == ["sum"] and numbers(summed) == [0, 11, 22]
    doubled = source.map(lambda b: (b, -b), "b", ["b", "c"])
    assert doubled.get_col_names() == ["a", "b", "c"]
    (row, *_) = doubled.project(["c", "a"]).skip(2).create_dict_iterator(output_numpy=True)
    assert {k: v.item() for k, v in row.items()} == {"c": -20, "a": 2}
    both = ds.zip((source, plain().rename("n", "m")))
    assert both.get_col_names() == ["a", "b", "m"] and both.get_dataset_size() == 3
    with pytest.raises(RuntimeError, match="doesn't exist in the dataset"):
        source.map(abs, ["missing"])
    with pytest.raises(ValueError, match="same name"):
        source.zip(source)


def test_shuffling_is_another_in_each_epoch_and_the_same_for_a_seed():
    """All rows once; the same orders again after the same seed; a small buffer stays near."""
    def epochs():
        ms.set_seed(5)
        iterator = plain().shuffle(10).create_tuple_iterator(output_numpy=True)
        return [[row[0].item() for row in iterator] for _ in range(2)]

    first, second = epochs()
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    assert epochs() == [first, second]
    near = numbers(plain().shuffle(2))
    assert sorted(near) == list(range(10)) and near[0] in (0, 1)
    assert sorted(numbers(ds.NumpySlicesDataset(ROWS))) == list(range(10))


def test_shards_have_equal_lengths():
    """Each process gets every third row; the beginning fills up."""
    parts = [
        numbers(ds.NumpySlicesDataset(ROWS, shuffle=False, num_shards=3, shard_id=i))
        for i in range(3)
    ]
    assert parts == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]


class Squares:
    def __getitem__(self, place):
        return np.float64(place**2), place

    def __len__(self):
        return 4


def test_a_users_source_is_a_function_an_iterable_or_an_object_with_numbers():
    """Rows become arrays, of the types asked for; a wrong number of columns is told."""
    by_number = ds.GeneratorDataset(Squares(), ["x", "i"], [ms.float32, None], shuffle=False)
    first = next(iter(by_number.create_tuple_iterator(output_numpy=True)))
    assert first[0].dtype == np.float32
    assert len(by_number) == 4 and sorted(numbers(by_number)) == [0, 1, 4, 9]

    def rows():
        for i in range(3):
            yield (np.array([i, i]),)

    made = ds.GeneratorDataset(rows, ["x"])
    assert numbers(made) == numbers(made) == [[0, 0], [1, 1], [2, 2]]
    with pytest.raises(RuntimeError, match="gave 1 columns"):
        numbers(ds.GeneratorDataset(rows, ["x", "y"]))
    ragged = ds.GeneratorDataset([np.zeros(1), np.zeros(2)], ["x"], shuffle=False).batch(2)
    with pytest.raises(RuntimeError, match="Inconsistent batch shapes"):
        numbers(ragged)


def test_an_iterator_gives_tensors():
    """Tensors of the arrays' types, or arrays; a number of epochs that is kept."""
    iterator = plain().batch(5).create_tuple_iterator(num_epochs=1)
    first = next(iter(iterator))[0]
    assert type(first) is ms.Tensor and first.dtype is ms.int64
    with pytest.raises(RuntimeError, match="number of epochs"):
        list(iterator)


def write_mnist(folder, count=60, compress=False):
    draw = np.random.default_rng(1)
    labels = draw.integers(0, 10, count).astype(np.uint8)
    images = np.zeros((count, 28, 28), np.uint8)
    for i, label in enumerate(labels):
        images[i, 2 + 2 * label : 4 + 2 * label] = 255 - draw.integers(0, 60, (2, 28))
    for prefix in ("train", "t10k"):
        parts = {
            f"{prefix}-images-idx3-ubyte": (b"\0\0\x08\x03", (count, 28, 28), images),
            f"{prefix}-labels-idx1-ubyte": (b"\0\0\x08\x01", (count,), labels),
        }
        for name, (magic, shape, array) in parts.items():
            content = magic + np.array(shape, ">u4").tobytes() + array.tobytes()
            if compress:
                (folder / f"{name}.gz").write_bytes(gzip.compress(content))
            else:
                (folder / name).write_bytes(content)
    return images, labels


@pytest.mark.parametrize("compress", [False, True])
def test_mnist_pipeline(tmp_path, compress):
    """The pipeline of the tutorials: rescaled, normalised, channels first, labels int32."""
    images, labels = write_mnist(tmp_path, compress=compress)
    dataset: Any = ds.MnistDataset(str(tmp_path), "train", shuffle=False)
    assert dataset.get_dataset_size() == 60 and len(ds.MnistDataset(tmp_path)) == 120
    assert [list(s) for s in dataset.output_shapes()] == [[28, 28, 1], []]
    operations = [
        vision.Rescale(1.0 / 255.0, 0), vision.Normalize(mean=(0.1307,), std=(0.3081,)),
        vision.HWC2CHW(),
    ]  # fmt: skip
    dataset = dataset.map(operations, "image").map(transforms.TypeCast(ms.int32), "label")
    image, label = next(iter(dataset.batch(32).create_tuple_iterator()))
    assert (image.shape, image.dtype, label.dtype) == ((32, 1, 28, 28), ms.float32, ms.int32)
    expected = (images[:32, None] / 255.0 - 0.1307) / 0.3081
    np.testing.assert_allclose(image.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert label.asnumpy().tolist() == labels[:32].tolist()
    with pytest.raises(ValueError, match="does not exist"):
        ds.MnistDataset(tmp_path / "nowhere")


def test_cifar_files_and_folders_of_images(tmp_path):
    """Binary and pickled CIFAR-10 hold the same; folders are classes in the order of names."""
    draw = np.random.default_rng(2)
    pixels, labels = draw.integers(0, 256, (7, 3072)).astype(np.uint8), np.arange(7, dtype=np.uint8)
    for name in ("binary", "pickled"):
        (tmp_path / name).mkdir()
    content = np.concatenate([labels[:, None], pixels], 1).tobytes()
    (tmp_path / "binary" / "data_batch_1.bin").write_bytes(content)
    held = pickle.dumps({b"data": pixels, b"labels": labels.tolist()})
    (tmp_path / "pickled" / "data_batch_1").write_bytes(held)
    both = [ds.Cifar10Dataset(tmp_path / n, "train", shuffle=False) for n in ("binary", "pickled")]
    rows = [list(d.create_tuple_iterator(output_numpy=True)) for d in both]
    for (a, i), (b, j) in zip(*rows, strict=True):
        assert a.shape == (32, 32, 3) and np.array_equal(a, b) and i == j
    assert rows[0][3][0][5, 6].tolist() == pixels[3].reshape(3, 32, 32)[:, 5, 6].tolist()
    (tmp_path / "pickled" / "data_batch_2").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(pickle.UnpicklingError, match=r"does not hold os\.system"):
        ds.Cifar10Dataset(tmp_path / "pickled", "train")
    folder = tmp_path / "images"
    for name in ("dog", "cat"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.png").write_bytes(name.encode())
    images = ds.ImageFolderDataset(folder, shuffle=False)
    assert images.get_class_indexing() == {"cat": 0, "dog": 1}
    (content, label), _ = images.create_tuple_iterator(output_numpy=True)
    assert content.tobytes() == b"cat" and label == 0


def test_images_are_resized_as_torch_does_cropped_and_flipped():
    """Bilinear values at the centres of pixels, those of bytes cut off in whole numbers; places of
    crops; a certain and an impossible flip."""
    image = np.random.default_rng(3).integers(0, 256, (6, 5, 3)).astype(np.uint8)
    resized = vision.Resize((9, 7))(image.astype(np.float32))
    given = oracle.from_numpy(image.transpose(2, 0, 1)[None]).float()
    expected = oracle.nn.functional.interpolate(given, (9, 7), mode="bilinear")[0].numpy()
    np.testing.assert_allclose(resized.transpose(2, 0, 1), expected, rtol=1e-6)
    assert np.abs(vision.Resize((9, 7))(image) - resized).max() < 1  # to a bit below the half
    assert vision.Resize(10)(image).shape == (12, 10, 3)
    assert np.array_equal(vision.CenterCrop(3)(image), image[1:4, 1:4])
    assert vision.CenterCrop((8, 3))(image)[0].tolist() == [[0, 0, 0]] * 3
    assert np.array_equal(vision.RandomHorizontalFlip(1.0)(image), image[:, ::-1])
    assert vision.RandomVerticalFlip(0.0)(image) is image
    ms.set_seed(1)
    places = {vision.RandomCrop(4, padding=2)(image).tobytes() for _ in range(200)}
    assert len(places) == 7 * 6
    with pytest.raises(RuntimeError, match="a part"):
        vision.RandomCrop(7)(image)
    assert vision.ToTensor()(image).max() <= 1 and vision.Pad((1, 2))(image).shape == (10, 7, 3)
    assert transforms.OneHot(4)(np.array(2)).tolist() == [0, 0, 1, 0]


class LeNet5(nn.Cell):
    """With MindSpore's pad mode and initialisers."""

    def __init__(self):
        super().__init__()
        normal = ms.common.initializer.Normal(0.1)
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.relu, self.pool = nn.ReLU(), nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(256, 120, weight_init=normal)
        self.fc2 = nn.Dense(120, 84, weight_init="he_uniform")
        self.fc3 = nn.Dense(84, 10)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


def test_model_trains_saves_and_evaluates(tmp_path, capsys):
    """LeNet-5 by Model learns the rows that it sees, and its checkpoint is the network."""
    write_mnist(tmp_path)
    ms.set_seed(7)

    def pipeline(part):
        dataset: Any = ds.MnistDataset(tmp_path, part)
        dataset = dataset.map([vision.Rescale(1 / 255, 0), vision.HWC2CHW()], "image")
        return dataset.map(transforms.TypeCast(ms.int32), "label").batch(20)

    net = LeNet5()
    model = ms.Model(
        net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
        nn.Momentum(net.trainable_params(), 0.02, 0.9), metrics={"acc": ms.train.Accuracy()},
        amp_level="O2",
        loss_scale_manager=ms.FixedLossScaleManager(128.0),
    )  # fmt: skip
    config = ms.train.CheckpointConfig(save_checkpoint_steps=3, keep_checkpoint_max=2)
    saver = ms.train.ModelCheckpoint("lenet", str(tmp_path / "kept"), config)
    callbacks = [ms.train.LossMonitor(3), ms.train.TimeMonitor(), saver]
    model.train(15, pipeline("train"), callbacks=callbacks)
    printed = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("Train epoch time: ") for line in printed) == 15
    losses = [float(line.rsplit(" ", 1)[1]) for line in printed if "loss is" in line]
    assert len(losses) == 15 and losses[-1] < 0.3 < losses[0], losses
    assert model.eval(pipeline("test"))["acc"] > 0.9
    kept = sorted(p.name for p in (tmp_path / "kept").iterdir())
    assert kept == ["lenet-14_3.ckpt", "lenet-15_3.ckpt"]
    again = LeNet5()
    loaded = ms.load_checkpoint(tmp_path / "kept" / kept[1])
    missing, beside = ms.load_param_into_net(again, loaded)
    assert missing == [] and "moments.fc1.weight" in beside  # the optimizer's states as well
    image = next(iter(pipeline("test").create_tuple_iterator()))[0]
    lower, single = model.predict(image).asnumpy(), again(image).asnumpy()
    np.testing.assert_allclose(lower, single, atol=0.1)
    assert not np.array_equal(lower, single)


def test_early_stopping_and_fit(tmp_path):
    """fit evaluates after each epoch, history is kept, and training ends when asked."""
    x = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
    data = ds.NumpySlicesDataset((x, x.sum(1, keepdims=True)), ["x", "y"], shuffle=False).batch(8)
    ms.set_seed(0)
    net = nn.Dense(4, 1)
    model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.05), metrics={"mse"})
    history = ms.train.History()
    stopper = ms.train.EarlyStopping("mse", patience=1, min_delta=1e9)
    model.fit(5, data, data, callbacks=[history, stopper])
    assert len(history.history["mse"]) == 2
    assert history.history["mse"][1] < history.history["mse"][0]


def test_numbers_of_workers_are_checked():
    """They are whole and positive."""
    data = ds.NumpySlicesDataset(np.arange(4), shuffle=False)
    with pytest.raises(ValueError, match="must be positive"):
        data.batch(2, num_parallel_workers=0)
    with pytest.raises(TypeError, match="must be an int"):
        data.filter(lambda x: True, num_parallel_workers=1.5)  # type: ignore[arg-type]


def test_samplers_choose_the_rows_that_they_say(tmp_path):
    """In order, some, with chances, by class, for one of several processes, of one another."""
    ms.set_seed(3)
    values, labels = np.arange(10), np.array([0, 1] * 5, np.int32)

    def read(sampler):
        data = ds.NumpySlicesDataset((values, labels), ["x", "label"], sampler=sampler)
        return [int(row[0]) for row in data.create_tuple_iterator(output_numpy=True, num_epochs=1)]

    assert read(ds.SequentialSampler(3, 4)) == [3, 4, 5, 6]
    assert read(ds.SubsetSampler([7, 2, 2])) == [7, 2, 2]
    assert sorted(read(ds.SubsetRandomSampler([7, 2, 5]))) == [2, 5, 7]
    assert sorted(read(ds.RandomSampler())) == list(range(10))
    assert len(read(ds.RandomSampler(True, 25))) == 25
    assert set(read(ds.WeightedRandomSampler([0, 1, 0, 0, 1], 30))) == {1, 4}
    assert read(ds.DistributedSampler(4, 1, shuffle=False)) == [1, 5, 9]
    parts = [read(ds.DistributedSampler(2, rank)) for rank in (0, 1)]
    assert sorted(parts[0] + parts[1]) == list(range(10))
    assert [v % 2 for v in read(ds.PKSampler(2))] == [0, 0, 1, 1]
    first = ds.SubsetSampler([1, 0])
    first.add_child(ds.SequentialSampler(4))
    assert read(first) == [5, 4]
    with pytest.raises(RuntimeError, match="out of bounds"):
        read(ds.SubsetSampler([10]))


def test_lines_and_separated_values_are_read(tmp_path):
    """Empty lines are left out; defaults give the types and fill what is empty."""
    (tmp_path / "a.txt").write_text("one\n\ntwo\n")
    (tmp_path / "b.txt").write_text("three")
    data = ds.TextFileDataset(str(tmp_path / "*.txt"), shuffle=False)
    assert [str(row["text"]) for row in data.create_dict_iterator(output_numpy=True)] == [
        "one", "two", "three"
    ]  # fmt: skip
    (tmp_path / "t.csv").write_text("a,b,c\n1,2.5,x\n,3,y\n")
    table = ds.CSVDataset(str(tmp_path / "t.csv"), column_defaults=[7, 0.0, ""], shuffle=False)
    rows = list(table.create_dict_iterator(output_numpy=True))
    assert [(int(r["a"]), float(r["b"]), str(r["c"])) for r in rows] == [(1, 2.5, "x"), (7, 3, "y")]
    assert rows[0]["a"].dtype == np.int32 and rows[0]["b"].dtype == np.float32
    with pytest.raises(ValueError, match="did not match"):
        ds.TextFileDataset(str(tmp_path / "none*"))


def test_cifar_100_has_two_labels(tmp_path):
    """Rows of a coarse label, a fine one and the pixels channel by channel."""
    rows = np.zeros((2, 3074), np.uint8)
    rows[:, 0], rows[:, 1], rows[1, 2] = [3, 4], [50, 60], 9
    (tmp_path / "train.bin").write_bytes(rows.tobytes())
    data = ds.Cifar100Dataset(str(tmp_path), "train", shuffle=False)
    row = list(data.create_dict_iterator(output_numpy=True))[1]
    assert (int(row["coarse_label"]), int(row["fine_label"])) == (4, 60)
    assert row["image"].shape == (32, 32, 3) and row["image"][0, 0].tolist() == [9, 0, 0]


def test_colours_are_adjusted_as_by_mindspore():
    """Sums over a picture that real MindSpore 2.10 gave; saturation differs by a unit in 3 of
    189 bytes."""
    picture = np.random.RandomState(0).randint(0, 256, (7, 9, 3)).astype(np.uint8)
    for operation, total in (
        (vision.Invert(), 25339), (vision.Solarize((100, 200)), 18981),
        (vision.Posterize(3), 20224), (vision.AdjustBrightness(1.7), 33280),
        (vision.AdjustBrightness(0.3), 6860), (vision.AdjustContrast(0.4), 22857),
        (vision.AdjustContrast(1.8), 23269), (vision.AdjustSaturation(0.2), 22862),
    ):  # fmt: skip
        result = operation(picture)
        assert result.dtype == np.uint8 and int(result.astype(np.int64).sum()) == total
    assert abs(int(vision.AdjustSaturation(2.1)(picture).astype(np.int64).sum()) - 23481) <= 3


def test_random_parts_and_holes_keep_what_they_say():
    """The size asked for; the whole picture for the whole area; squares of zeros; greys."""
    ms.set_seed(1)
    picture = np.full((8, 8, 3), 200, np.uint8)
    assert vision.RandomResizedCrop((5, 6))(picture).shape == (5, 6, 3)
    whole = vision.RandomResizedCrop(8, (1.0, 1.0), (1.0, 1.0))(picture)
    np.testing.assert_array_equal(whole, picture)
    holes = vision.CutOut(4)(picture)
    assert holes.max() == 200 and 0 < (holes == 0).all(-1).sum() <= 16 and picture.min() == 200
    assert vision.RandomGrayscale(1.0)(picture).shape == (8, 8, 3)
    changed = vision.RandomColorAdjust(0.5, (0.9, 1.1), 0)(picture)
    assert changed.shape == picture.shape and changed.dtype == np.uint8
    with pytest.raises(NotImplementedError, match="hue"):
        vision.RandomColorAdjust(hue=0.1)


def test_batches_are_padded_to_one_shape():
    """To what pad_info says, and cut there; to the longest of each batch where it says nothing."""
    rows = [np.arange(n, dtype=np.int32) + 1 for n in (1, 2, 4)]

    def batches(**options):
        source = ds.GeneratorDataset(lambda: ((row,) for row in rows), ["x"])
        return [b[0].asnumpy().tolist() for b in source.padded_batch(2, **options)]

    assert batches() == [[[1, 0], [1, 2]], [[1, 2, 3, 4]]]
    assert batches(pad_info={"x": ([3], 9)}) == [[[1, 9, 9], [1, 2, 9]], [[1, 2, 3]]]
    assert batches(pad_info={"x": ([None], 7)})[0] == [[1, 7], [1, 2]]
    with pytest.raises(RuntimeError, match="rows have 1 axes"):
        batches(pad_info={"x": ([3, 3], 9)})


def test_rows_of_about_one_length_are_batched_together():
    """What MindSpore 2.10 gave: buckets in the order in which they fill, remainders at the end."""

    def batches(**options):
        rows = ((np.arange(1, n + 1, dtype=np.int32), n) for n in (3, 1, 4, 1, 5, 2, 6))
        source = ds.GeneratorDataset(lambda: rows, ["s", "n"], shuffle=False)
        options = {"pad_info": {"s": ([None], 0)}, **options}
        made = source.bucket_batch_by_length(["s"], [2, 4], [2, 2, 2], **options)
        return [(s.tolist(), n.tolist()) for s, n in made.create_tuple_iterator(output_numpy=True)]

    assert batches() == [
        ([[1], [1]], [1, 1]), ([[1, 2, 3, 4, 0], [1, 2, 3, 4, 5]], [4, 5]),
        ([[1, 2, 3], [1, 2, 0]], [3, 2]), ([[1, 2, 3, 4, 5, 6]], [6]),
    ]  # fmt: skip
    assert len(batches(drop_remainder=True)) == 3
    with pytest.raises(RuntimeError, match="last bound"):
        batches(pad_to_bucket_boundary=True)
    source = ds.GeneratorDataset(lambda: [(1,)], ["s"])
    with pytest.raises(ValueError, match="one element more"):
        source.bucket_batch_by_length(["s"], [2], [1])


def test_slices_and_masks_of_columns():
    """``Slice`` and ``Mask`` as MindSpore 2.10 gives them."""
    row = np.array([[1, 2, 3], [4, 5, 6]])
    assert transforms.Slice(None, slice(0, 2))(row).tolist() == [[1, 2], [4, 5]]
    assert transforms.Slice(1, [0, 2])(row).tolist() == [[4, 6]]
    assert transforms.Mask(transforms.Relational.GE, 3)(row).tolist() == (row >= 3).tolist()
