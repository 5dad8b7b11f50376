"""Functions of MindSpore's as MindIR files of real MindSpore 2.10, and what they are here.

    python tests/programs/mindir_operations.py write FOLDER         # where MindSpore is installed
    python tests/programs/mindir_operations.py read FOLDER --ours

A file is a group of functions of the same arguments; tests/golden/mindir holds them.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

# {group: (shapes of x, y, ...; whole numbers below a limit where that is an int; expressions)}
GROUPS: dict[str, tuple[list[Any], list[str]]] = {
    "volumes": ([(1, 2, 4, 6, 6), (3, 2, 3, 3, 3), (2, 3, 1, 1, 2)], [
        "ops.conv3d(x, y, pad_mode='pad', padding=1, stride=2)",
        "ops.conv3d(x, y, pad_mode='same')",
        "ops.Conv3DTranspose(2, 3, (1, 1, 2), stride=(1, 2, 2))(x, z)",
        "ops.avg_pool3d(x, 2, 2)",
        "ops.AvgPool3D((2, 3, 3), (1, 2, 2), 'pad', 1, True, False)(x)",
        "ops.MaxPool3D(3, 2, 'same')(x)",
        "ops.max_pool3d(x, 3, 2, 1)",
        "ops.adaptive_avg_pool3d(x, (2, None, 3))",
        "ops.interpolate(x, size=(5, 7, 8), mode='trilinear', align_corners=True)",
    ]),
    "windows": ([(2, 4, 6, 6), (2, 4, 9), (2, 5, 5, 2), (2, 2, 3), (2, 12, 4)], [
        "ops.max_pool2d(x, 3, 2, 1, return_indices=True)",
        "ops.max_pool2d(x, 3, 2, 1, ceil_mode=True)",
        "ops.avg_pool1d(y, 3, 2)",
        "ops.avg_pool2d(x, 3, 2, 1, True, False)",
        "ops.adaptive_avg_pool2d(x, (3, None))",
        "ops.adaptive_max_pool2d(x, (3, 2))",
        "ops.max_unpool2d(*ops.max_pool2d(x, 2, 2, return_indices=True), 2, 2)",
        "ops.interpolate(x, size=(9, 11), mode='bicubic', align_corners=True)",
        "ops.interpolate(y, size=13, mode='linear', align_corners=True)",
        "ops.grid_sample(x, z, align_corners=False)",
        "ops.grid_sample(x, z, mode='nearest', padding_mode='border', align_corners=True)",
        "ops.affine_grid(a, (2, 3, 4, 5), False)",
        "ops.unfold(x, 3, 1, 1, 1)",
        "ops.fold(b.reshape(2, 12, 4), Tensor([4, 4], ms.int32), [2, 2], [1, 1], [0, 0], [2, 2])",
        "ops.SpaceToBatchND([2, 3], [[0, 0], [1, 2]])(x)",
        "ops.BatchToSpaceND([1, 2], [[0, 0], [1, 0]])(x)",
        "ops.channel_shuffle(x, 2)",
    ]),
    "elements": ([(4, 6), (4, 6), 6, (6, 6)], [
        "ops.addcmul(x, y, y, 0.5)",
        "ops.addcdiv(x, y, y, Tensor(0.5, ms.float32))",
        "ops.fmod(x, y)",
        "ops.frac(x)",
        "ops.fmax(x, y)",
        "ops.logit(ops.clamp(x, 0.1, 0.9))",
        "ops.bitwise_left_shift(z, z % 3)",
        "ops.bitwise_right_shift(z, z % 3)",
        "ops.gather(x, z[:, :2], 1, 1)",
        "ops.scatter(x, 1, z[:, :2].astype(ms.int64), y[:, :2])",
        "ops.tensor_scatter_elements(x, z[:, :2], y[:, :2], 1, 'add')",
        "ops.index_fill(x, 1, Tensor([1, 3], ms.int32), Tensor(2.0))",
        "ops.searchsorted(ops.cumsum(ops.abs(x), 1), y)",
        "ops.bucketize(x, [-1.0, 0.0, 1.0])",
        "ops.diagonal(x)",
        "ops.diag_embed(x)",
        "ops.meshgrid(x[0], y[1])",
        "ops.meshgrid(x[0], y[1], indexing='ij')",
        "x @ ops.eye(6, 5, ms.float32)",
        "ops.EmbeddingLookup()(x, z, 2)",
        "ops.inverse(a + 9 * ops.eye(6, 6, ms.float32))",
        "ops.matrix_power(a, 2)",
    ]),
    "sums": ([(4, 6), (4, 6)], [
        "ops.cummax(x, 1)", "ops.cummin(x, 1)", "ops.logcumsumexp(x, 1)", "ops.median(x, 1)",
        "ops.prod(x, 1)", "ops.std(x, 1)", "ops.var_mean(x, 1)", "ops.norm(x, 3, (1,))",
        "ops.dist(x, y)", "ops.cosine_similarity(x, y)", "ops.cdist(x, y)",
        "ops.histc(x, 5, -1.0, 1.0)", "ops.smooth_l1_loss(x, y)",
        "ops.binary_cross_entropy_with_logits(x, ops.sigmoid(y), x * 0 + 2, x * 0 + 3)",
    ]),
    "mint": ([(4, 6), (2, 4, 6, 6), 6], [
        "mint.max(x, 1)", "mint.min(x, 1)", "mint.argmax(x, 1)", "mint.split(x, 2, 1)",
        "mint.split(x, [1, 2, 3], 1)", "mint.chunk(x, 3, 1)", "mint.transpose(x, 0, 1)",
        "mint.permute(y, (0, 2, 3, 1))", "mint.narrow(x, 1, 1, 2)", "mint.select(x, 1, 2)",
        "mint.unbind(x, 1)", "mint.unsqueeze(x, 1)", "mint.flatten(y, 1, 2)",
        "mint.broadcast_to(x, (3, 4, 6))", "mint.baddbmm(x[None], x[None], (x.T @ x)[None])",
        "mint.pow(mint.abs(x), 2.5)", "mint.div(x, 2.0, rounding_mode='floor')",
        "mint.bitwise_and(z, z + 3)", "mint.nn.functional.softplus(x)",
        "mint.nn.functional.log_softmax(x, 1)", "mint.nn.functional.one_hot(z, 6)",
        "mint.nn.functional.embedding(z % 4, x)", "mint.nn.functional.pad(x, (1, 2))",
        "mint.nn.functional.interpolate(y, size=(9, 9), mode='nearest')",
        "mint.nn.functional.pixel_shuffle(y, 2)",
    ]),
}  # fmt: skip
NAMES = "xyzab"


def arguments(group: str) -> list[np.ndarray]:
    numbers = np.random.default_rng(len(group))
    return [
        numbers.integers(0, shape, (4, 6)).astype(np.int32) if isinstance(shape, int)
        else numbers.normal(size=shape).astype(np.float32)
        for shape in GROUPS[group][0]
    ]  # fmt: skip


def flat(value: Any) -> list[Any]:
    """The tensors in what a network gives."""
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in flat(part)]
    return [value]


def write(folder: Path, chosen: list[str]) -> None:
    """Export each group, its arguments and results beside it; MindSpore reads a network's text."""
    mindspore: Any = importlib.import_module("mindspore")
    folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(folder))
    for group in chosen:
        names = ", ".join(NAMES[: len(GROUPS[group][0])])
        lines = ["import mindspore as ms", "from mindspore import Tensor, mint, nn, ops", "",
                 "class Net(nn.Cell):", f"    def construct(self, {names}):", "        return ("]
        lines += [f"            {each}," for each in GROUPS[group][1]] + ["        )", ""]
        (folder / f"{group}.py").write_text("\n".join(lines))
        net, given = importlib.import_module(group).Net(), arguments(group)
        tensors = [mindspore.Tensor(each) for each in given]
        made = flat(net(*tensors))
        mindspore.export(net, *tensors, file_name=str(folder / group), file_format="MINDIR")
        arrays: dict[str, Any] = {f"input{k}": each for k, each in enumerate(given)}
        arrays |= {f"output{k:03}": each.asnumpy() for k, each in enumerate(made)}
        np.savez_compressed(folder / f"{group}.npz", **arrays)
        (folder / f"{group}.py").unlink()


def read(folder: Path, chosen: list[str]) -> int:
    """Load each group and print the largest difference by the largest element."""
    mindspore: Any = importlib.import_module("mindspore")
    wrong = 0
    for group in chosen:
        arrays = np.load(folder / f"{group}.npz")
        cell = mindspore.nn.GraphCell(mindspore.load(str(folder / f"{group}.mindir")))
        given = [mindspore.Tensor(arrays[k]) for k in arrays if k.startswith("input")]
        found = [each.asnumpy() for each in flat(cell(*given))]
        expected = [arrays[k] for k in arrays if k.startswith("output")]
        assert [y.shape for y in found] == [y.shape for y in expected]
        worst = max(float(np.abs(a.astype(float) - b).max() / max(np.abs(b).max(), 1e-9))
                    for a, b in zip(found, expected, strict=True))  # fmt: skip
        print(f"{group}: {len(found)} results, {worst:.1e}")
        wrong += worst > 1e-5
    return int(wrong > 0)


if __name__ == "__main__":
    if "--ours" in sys.argv:
        importlib.import_module("mindtorch.tools.mstorch_enable")
    what, place = sys.argv[1], Path(sys.argv[2])
    groups = [each for each in sys.argv[3:] if each != "--ours"] or list(GROUPS)
    if what == "read":
        sys.exit(read(place, groups))
    importlib.import_module("mindspore").set_context(mode=0)
    write(place, groups)
