"""What scripts written for MindSpore import from inside of it, and batches by functions."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import mindtorch.mindspore as ms
import mindtorch.mindspore.dataset as ds

ROOT = "mindtorch.mindspore"


@pytest.mark.parametrize(
    ("path", "name", "place"),
    [
        ("nn.optim.momentum", "Momentum", "nn"),
        ("nn.layer.rnns", "LSTM", "nn"),
        ("nn.optim", "FTRL", "nn"),
        ("communication.management", "get_rank", "communication"),
        ("ops.operations.nn_ops", "Conv2D", "ops"),
        ("ops.composite", "ones_like", "ops"),
        ("train.callback._callback", "Callback", "train"),
        ("common.api", "jit", ""),
        ("dataset.vision.c_transforms", "Resize", "dataset.vision"),
    ],
)
def test_a_path_inside_of_mindspore_gives_the_facades_own_object(path, name, place):
    """Libraries import from where MindSpore defines a name, not from where it is documented."""
    found = getattr(importlib.import_module(f"{ROOT}.{path}"), name)
    assert found is getattr(importlib.import_module(f"{ROOT}.{place}".rstrip(".")), name)


@pytest.mark.parametrize(
    ("part", "name", "why"),
    [
        ("", "export_split_mindir", "mindspore.export"),
        ("ops", "ApplyAdam", "optimizers of mindspore.nn"),
        ("ops", "Addcdiv", "use the function mindspore.ops.addcdiv"),
        ("ops.composite", "csr_mm", "to_dense"),
        ("nn", "thor", "nn.Lamb"),
        ("nn.optim", "thor", "nn.Lamb"),
        ("dataset", "OBSMindDataset", "GeneratorDataset"),
        ("dataset.audio", "Vad", "Python functions"),
        ("train", "whatever", "docs/gaps.md"),
    ],
)
def test_the_error_for_a_name_that_is_not_built_says_what_to_use(part, name, why):
    """Not an AttributeError without a reason."""
    with pytest.raises(AttributeError, match=f"no attribute '{name}'.*{why}"):
        getattr(importlib.import_module(f"{ROOT}.{part}".rstrip(".")), name)


def test_a_name_that_no_path_has_is_an_import_error():
    """A library that tries one version's place after another's needs the error."""
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        exec(f"from {ROOT}.nn.optim import Nothing")
    assert "any" not in vars(ms.ops.composite)  # the file goes on using Python's own


def test_one_process_is_rank_zero_of_one():
    """Scripts ask before, or without, starting the communication, as MindSpore allows."""
    assert (ms.communication.get_rank(), ms.communication.get_group_size()) == (0, 1)


def test_from_numpy_shares_memory_and_texts_follow_the_type():
    """MindSpore 2.10 writes float16 with four decimals and complex numbers short."""
    array = np.ones(2, np.float32)
    shared = ms.from_numpy(array)
    array[0] = 5
    assert shared.asnumpy().tolist() == [5, 1]
    half = ms.Tensor([1.5, -2.25], ms.float16)
    assert repr(half) == "Tensor(shape=[2], dtype=Float16, value= [ 1.5000e+00, -2.2500e+00])"
    assert repr(half.astype(ms.complex64)).endswith("value= [1.5+0j, -2.25+0j])")
    with pytest.raises(TypeError, match="Expected a NumPy array"):
        ms.from_numpy([1])  # type: ignore[arg-type]


def _rows(data):
    rows = data.create_dict_iterator(output_numpy=True, num_epochs=1)
    return [{name: value.tolist() for name, value in row.items()} for row in rows]


def test_a_function_gives_each_batchs_size_and_its_columns():
    """MindSpore's: sizes by ``batch_size(info)``, results that replace their columns, in front
    where they are more than what the function was given."""
    data = ds.NumpySlicesDataset({"a": np.arange(5), "b": np.arange(5) * 2}, shuffle=False)
    growing = data.batch(lambda info: info.get_batch_num() + 1, drop_remainder=True)
    assert [row["a"] for row in _rows(growing)] == [[0], [1, 2]]
    assert growing.get_dataset_size() == 2
    renamed = data.batch(5, per_batch_map=lambda b, _: ([x + 1 for x in b],),
                         input_columns="b", output_columns="c")  # fmt: skip
    assert _rows(renamed) == [{"a": [0, 1, 2, 3, 4], "c": [1, 3, 5, 7, 9]}]
    doubled = data.batch(5, per_batch_map=lambda b, _: (b, b), input_columns=["b"],
                         output_columns=["p", "q"])  # fmt: skip
    assert doubled.get_col_names() == ["p", "q", "a"]
    with pytest.raises(TypeError, match="int or a callable"):
        data.batch("x")
