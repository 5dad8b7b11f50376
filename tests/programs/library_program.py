"""Uses a library that is built on torch, and keeps what came out.

`library_program.py NAME FILE`; most programs are in `library_trainings.py` and
`library_equations.py`.

With SIDE=ours in the environment `torch` is mindtorch; the lines after the first are a user's.
"""

import importlib
import os
import pickle
import sys
from typing import Any

if os.environ["SIDE"] == "ours":
    from mindtorch.tools import mstorch_enable  # noqa: F401
else:
    from mindtorch.tools.compare.torchvision_shim import declare_before_import

    declare_before_import()

import torch

library_trainings: Any = importlib.import_module("library_trainings")
library_equations: Any = importlib.import_module("library_equations")
trained = library_trainings.trained


def einops() -> dict[str, Any]:
    from einops import einsum, rearrange, reduce, repeat
    from einops.layers.torch import Rearrange

    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)
    pooled = reduce(x, "b c (h 2) (w 2) -> b c h w", "max") + reduce(x, "b c h w -> c 1 1", "mean")
    larger = repeat(pooled, "b c h w -> b c (h 2) w r", r=3)
    products = einsum(patches, patches, "b i c, b j c -> b i j")
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), Rearrange("b c h w -> b (c h w)"))
    (larger.sin().sum() + products.tanh().sum() + layers(x).sum()).backward()
    return {"patches": patches, "larger": larger, "products": products, "gradient": x.grad}


def safetensors() -> dict[str, Any]:
    from safetensors.torch import load, save

    tensors = {"a": torch.randn(3, 2).half(), "b": torch.arange(4), "c": torch.ones(2) > 0}
    data = save(tensors)
    back = load(data)
    return {"bytes": list(data), "back": {key: back[key] for key in sorted(back)}}


def torchmetrics() -> dict[str, Any]:
    import torchmetrics as tm

    scores, labels = torch.randn(64, 5).softmax(-1), torch.randint(5, (64,))
    result: dict[str, Any] = {}
    for name in ("Accuracy", "AUROC", "F1Score", "ConfusionMatrix", "CalibrationError"):
        metric = getattr(tm, name)("multiclass", num_classes=5)
        metric.update(scores[:32], labels[:32])
        metric.update(scores[32:], labels[32:])
        result[name] = metric.compute()
    for name in ("MeanSquaredError", "R2Score", "SpearmanCorrCoef", "PearsonCorrCoef"):
        result[name] = getattr(tm, name)()(scores[:, 0], scores[:, 1])
    images = torch.rand(2, 2, 1, 32, 32)
    result["ssim"] = tm.image.StructuralSimilarityIndexMeasure(data_range=1.0)(*images)
    return result


def timm(name: str) -> dict[str, Any]:
    import timm

    size = {"img_size": 64} if name.startswith(("vit", "deit")) else {}
    model = timm.create_model(name, num_classes=10, drop_path_rate=0.1, **size)
    images, labels = torch.randn(2, 3, 64, 64), torch.tensor([1, 7])
    # Before training: AdamW's first step moves every parameter by its gradient's sign, also where
    # the gradient is rounding alone.
    with torch.no_grad():
        output = model.eval()(images)
    result = trained(
        model.train(), lambda: torch.nn.functional.cross_entropy(model(images), labels), steps=1
    )
    return result | {"output": output}


def transformers(name: str) -> dict[str, Any]:
    import transformers as T

    sizes: dict[str, Any] = {
        "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 37,
    }  # fmt: skip
    ends: dict[str, Any] = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    words = torch.randint(3, 90, (2, 12))
    inputs: dict[str, Any] = {"input_ids": words, "attention_mask": torch.ones_like(words)}
    inputs["attention_mask"][0, 9:] = 0
    inputs["labels"] = words
    if name == "bert":
        model = T.BertForMaskedLM(T.BertConfig(**sizes))
    elif name == "gpt2":
        config = T.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, **ends)
        model = T.GPT2LMHeadModel(config)
    else:
        model = T.LlamaForCausalLM(T.LlamaConfig(num_key_value_heads=2, **sizes, **ends))
    result = trained(model.train(), lambda: model(**inputs).loss)
    model.eval()
    if name != "bert":
        start = {key: inputs[key][:, :5] for key in ("input_ids", "attention_mask")}
        for key, how in {"greedy": {}, "sampled": {"do_sample": True, "top_k": 20}}.items():
            torch.manual_seed(5)
            result[key] = model.generate(**start, max_new_tokens=8, **{"do_sample": False, **how})
    return result


def as_arrays(value: Any) -> Any:
    """Tensors in nested containers as numpy arrays, which need no torch to be read."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    if isinstance(value, dict):
        return {key: as_arrays(each) for key, each in value.items()}
    return [as_arrays(each) for each in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    library, _, argument = sys.argv[1].partition(":")
    torch.manual_seed(0)
    places = (sys.modules[__name__], library_trainings, library_equations)
    program = next(getattr(place, library) for place in places if hasattr(place, library))
    kept = program(*filter(None, [argument]))
    with open(sys.argv[2], "wb") as file:
        pickle.dump(as_arrays(kept), file)
