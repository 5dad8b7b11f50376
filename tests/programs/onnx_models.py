"""Models that real torch exports to ONNX, run by mindtorch.onnx, exported again and run again.

    python -m tests.programs.onnx_models [NAME ...] [--folder FOLDER] [--dynamo]

Without names: 30 of torchvision's classification models, with weights as they are initialized.
"timm/NAME" is one of timm's models, "transformers/KIND" a small one of transformers' (bert,
distilbert, roberta, gpt2, vit, t5), where these libraries are installed. With --dynamo torch's
newer exporter writes the files, which needs onnxscript. In FOLDER the files stay, NAME.onnx of
torch's and NAME.again.onnx of ours, and NAME.npz with the input and torch's output, for another
program to run them.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

import mindtorch.onnx
import mindtorch.torch
from mindtorch.tools.compare.torchvision_shim import declare_before_import

declare_before_import()
torchvision = importlib.import_module("torchvision")

NAMES = (
    "alexnet vgg11 vgg11_bn squeezenet1_0 squeezenet1_1 resnet18 resnet34 resnet50 "
    "resnext50_32x4d wide_resnet50_2 densenet121 googlenet inception_v3 mobilenet_v2 "
    "mobilenet_v3_small mobilenet_v3_large mnasnet0_5 mnasnet1_0 shufflenet_v2_x0_5 "
    "shufflenet_v2_x1_0 efficientnet_b0 efficientnet_v2_s regnet_x_400mf regnet_y_400mf "
    "convnext_tiny vit_b_32 swin_t swin_v2_t maxvit_t resnet101"
).split()
# of images; torch exports no pooling to windows of several sizes
SIZES = {"alexnet": 224, "vgg11": 224, "vgg11_bn": 224, "inception_v3": 299, "maxvit_t": 224,
         "vit_b_32": 224}  # fmt: skip


def distance(found: Any, expected: np.ndarray) -> float:
    """The largest difference, by the largest element."""
    array = np.asarray(found.detach().numpy(), np.float64)
    return float(np.abs(array - expected).max() / np.abs(expected).max())


def _of_transformers(kind: str) -> tuple[Any, tuple[Any, ...]]:
    """A small model of transformers' whose output is a tensor, and its arguments."""
    library = importlib.import_module("transformers")
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99,
             "intermediate_size": 48}  # fmt: skip
    names = {"bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta", "gpt2": "GPT2",
             "vit": "ViT", "t5": "T5"}  # fmt: skip
    others = {
        "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "vocab_size": 99},
        "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "use_cache": False},
        "vit": {**small, "image_size": 32, "patch_size": 8},
        "t5": {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
               "vocab_size": 99},
    }  # fmt: skip
    config = getattr(library, f"{names[kind]}Config")(**others.get(kind, small))
    config._attn_implementation = "eager"
    suffix = "EncoderModel" if kind == "t5" else "Model"
    model = getattr(library, f"{names[kind]}{suffix}")(config)

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            return self.model(x).last_hidden_state

    image = torch.randn(1, 3, 32, 32)
    return Hidden(), (image if kind == "vit" else torch.randint(3, 99, (2, 9)),)


def made(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A model of real torch's and its arguments."""
    library, _, kind = name.rpartition("/")
    if library == "transformers":
        return _of_transformers(kind)
    if library == "timm":
        create = importlib.import_module("timm").create_model
        model = create(kind, pretrained=False, exportable=True)
        return model, (torch.randn(1, *model.default_cfg["input_size"]),)
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    size = SIZES.get(name, 64)
    return getattr(torchvision.models, name)(weights=None, **options), (
        torch.randn(1, 3, size, size),
    )


def there_and_back(name: str, folder: Path, dynamo: bool = False) -> tuple[float, float]:
    """The distances from torch's output: of what torch exported, and of what we exported again."""
    torch.manual_seed(0)
    model, (x,) = made(name)
    model.eval()
    for parameter in model.parameters():
        if not parameter.any():  # a last layer of zeros says nothing
            torch.nn.init.normal_(parameter, std=0.02)
    with torch.no_grad():
        expected = model(x).numpy()
    name = name.replace("/", "_")
    file, again = folder / f"{name}.onnx", folder / f"{name}.again.onnx"
    how = {"dynamo": True} if dynamo else {"dynamo": False, "opset_version": 17}
    torch.onnx.export(model, (x,), str(file), **how)
    np.savez(folder / f"{name}.npz", x=x.numpy(), y=expected)
    given = mindtorch.torch.from_numpy(x.numpy())
    loaded = mindtorch.onnx.load(file)
    with mindtorch.torch.no_grad():
        first = distance(loaded(given), expected)
        mindtorch.torch.onnx.export(loaded, (given,), str(again), dynamo=False, opset_version=18)
        second = distance(mindtorch.onnx.load(again)(given), expected)
    return first, second


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--dynamo", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or NAMES:
            began = time.perf_counter()
            try:
                first, second = there_and_back(name, folder, options.dynamo)
            except Exception as error:
                text = str(error).strip().partition("\n")[0]
                print(f"{name:20} {type(error).__name__}: {text}", flush=True)
                failed.append(name)
                continue
            good = max(first, second) < 1e-4
            failed += [] if good else [name]
            print(f"{name:20} {first:.1e} {second:.1e} {time.perf_counter() - began:6.1f} s",
                  flush=True)  # fmt: skip
    print(f"{len(options.names or NAMES) - len(failed)} of {len(options.names or NAMES)}", *failed)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
