"""The places deep inside of MindSpore from which scripts import public names.

``from mindspore.nn.optim.momentum import Momentum`` finds the cells where ``mindspore.nn`` has
them: each path below stands for a part of the facade, and holds its names only.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

from ._absent import absent

__all__ = ["offer"]

# part of the facade: paths that stand for it
_PATHS = {
    "": "common.api graph graph.api",
    "amp": "train.amp",
    "common.tensor": "common._stub_tensor",
    "communication": "communication.management",
    "nn": "nn.layer nn.layer.activation nn.layer.basic nn.layer.container nn.layer.conv "
    "nn.layer.embedding nn.layer.image nn.layer.math nn.layer.normalization nn.layer.padding "
    "nn.layer.pooling nn.layer.rnn_cells nn.layer.rnns nn.layer.transformer nn.loss.loss "
    "nn.optim.ada_grad nn.optim.adam nn.optim.adadelta nn.optim.adamax nn.optim.asgd "
    "nn.optim.ftrl nn.optim.lamb nn.optim.lars nn.optim.lazyadam nn.optim.momentum "
    "nn.optim.optimizer nn.optim.rmsprop nn.optim.rprop nn.optim.sgd nn.wrap.cell_wrapper "
    "nn.wrap.grad_reducer nn.wrap.loss_scale nn.layer.combined",
    "_metrics": "nn.metrics train.metrics train.metrics.metric",
    "ops": "ops.primitive ops.auto_generate ops.function.array_func ops.function.clip_func "
    "ops.function.debug_func ops.function.grad ops.function.linalg_func ops.function.math_func "
    "ops.function.nn_func ops.function.other_func ops.function.parameter_func "
    "ops.function.random_func ops.function.sparse_func ops.function.vmap_func "
    "ops.operations.array_ops ops.operations.comm_ops ops.operations.debug_ops "
    "ops.operations.image_ops ops.operations.inner_ops ops.operations.linalg_ops "
    "ops.operations.math_ops ops.operations.nn_ops ops.operations.other_ops "
    "ops.operations.random_ops ops.operations._inner_ops ops.composite.base "
    "ops.composite.clip_ops ops.composite.math_ops ops.composite.random_ops "
    "ops.composite.multitype_ops",
    "train": "train.callback._callback train.callback._checkpoint train.callback._early_stop "
    "train.callback._lambda_callback train.callback._landscape train.callback._loss_monitor "
    "train.callback._lr_scheduler_callback train.callback._reduce_lr_on_plateau "
    "train.callback._summary_collector train.callback._time_monitor train.dataset_helper "
    "train.summary.summary_record",
    "dataset": "dataset.engine.datasets dataset.engine.samplers dataset.core "
    "dataset.engine.datasets_standard_format dataset.engine.datasets_user_defined "
    "dataset.engine.datasets_vision dataset.engine.datasets_text dataset.samplers",
    "dataset.audio": "dataset.audio.transforms dataset.audio.utils",
    "dataset.text": "dataset.text.transforms dataset.text.utils",
    "dataset.transforms": "dataset.transforms.c_transforms dataset.transforms.py_transforms "
    "dataset.transforms.transforms dataset.core.py_util_helpers",
    "dataset.vision": "dataset.vision.c_transforms dataset.vision.py_transforms "
    "dataset.vision.transforms dataset.vision.utils dataset.transforms.vision",
}
# Files of the facade that hold a part of what MindSpore has there.
_FILLED = {
    "common": "", "ops.composite": "ops", "ops.function": "ops", "nn.optim": "nn",
    "nn.loss": "nn", "nn.wrap": "nn", "train.callback": "train",
    "train.serialization": "train",
}  # fmt: skip

_ROOT = __name__.rpartition(".")[0]


def _named(path: str) -> str:
    return f"{_ROOT}.{path}" if path else _ROOT


def offer(package: str) -> None:
    """Make the paths that begin with ``package`` importable, and attributes of their parents."""
    for path, source in _FILLED.items():
        if path.partition(".")[0] == package:
            part = importlib.import_module(_named(path))
            part.__dict__.setdefault("__getattr__", _names_of(path, source))
    for source, paths in _PATHS.items():
        for path in paths.split():
            if path.partition(".")[0] == package and _named(path) not in sys.modules:
                _stand_for(path, source)


def _names_of(path: str, source: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``: what is not in its file is what ``source`` has by that name."""

    def get(name: str) -> Any:
        value = None if name.startswith("_") else getattr(sys.modules[_named(source)], name, None)
        if value is None or isinstance(value, types.ModuleType):
            raise absent(_named(source).replace(_ROOT, "mindspore"), name)
        return value

    return get


def _stand_for(path: str, source: str) -> None:
    parent, _, name = _named(path).rpartition(".")
    module = importlib.import_module(_named(source))
    sys.modules[_named(path)] = module
    holder = sys.modules[parent]
    if not hasattr(holder, "__path__"):
        holder.__path__ = []
    holder.__dict__.setdefault(name, module)
