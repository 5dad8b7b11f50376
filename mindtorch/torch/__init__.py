"""The torch-shaped namespace over mindtorch's own engine."""

from __future__ import annotations

from importlib import import_module as _import_module
from os import environ as _environ
from typing import TYPE_CHECKING, Any

from mindtorch.kernels.support.gc_pause import gc_paused as _gc_paused

with _gc_paused():
    from .functions import load as _load_functions

    _load_functions()

from mindtorch.engine import dtypes as _dtypes
from mindtorch.engine.devices.device import Device as _Device
from mindtorch.engine.dtypes import DType as _DType
from mindtorch.engine.dtypes import bfloat16 as bfloat16
from mindtorch.engine.dtypes import complex64 as complex64
from mindtorch.engine.dtypes import complex128 as complex128
from mindtorch.engine.dtypes import float16 as float16
from mindtorch.engine.dtypes import float32 as float32
from mindtorch.engine.dtypes import float64 as float64
from mindtorch.engine.dtypes import int8 as int8
from mindtorch.engine.dtypes import int16 as int16
from mindtorch.engine.dtypes import int32 as int32
from mindtorch.engine.dtypes import int64 as int64
from mindtorch.engine.dtypes import uint8 as uint8
from mindtorch.engine.dtypes import uint16 as uint16
from mindtorch.engine.dtypes import uint32 as uint32
from mindtorch.engine.dtypes import uint64 as uint64
from mindtorch.engine.switches import debug as _debug
from mindtorch.traceback_filtering import install as _fold_tracebacks

from . import version as version
from ._api.built_in import is_built_in as _is_built_in
from ._api.default_device import set_default_device as set_default_device
from ._api.public_names import belong_to as _belong_to
from ._api.public_names import is_public as _is_public
from ._api.public_names import own_names as _own_names
from ._api.publish import FUNCTIONS, METHODS
from ._api.publish import explained_where_known as _explained
from ._api.shared_docs import TEXTS as _TEXTS
from ._compat.inner_modules import find_inner_modules as _find_inner_modules
from ._compat.removed_functions import REMOVED as _REMOVED
from ._constants import e as e
from ._constants import inf as inf
from ._constants import nan as nan
from ._constants import newaxis as newaxis
from ._constants import pi as pi
from ._tensor.generator import Generator as Generator
from ._tensor.generator import default_generator as default_generator
from ._tensor.generator import fork_rng as fork_rng
from ._tensor.generator import get_rng_state as get_rng_state
from ._tensor.generator import initial_seed as initial_seed
from ._tensor.generator import manual_seed as manual_seed
from ._tensor.generator import seed as seed
from ._tensor.generator import set_rng_state as set_rng_state
from ._tensor.size_and_formats import Size as Size
from ._tensor.size_and_formats import _mkldnn as _mkldnn
from ._tensor.size_and_formats import channels_last as channels_last
from ._tensor.size_and_formats import channels_last_3d as channels_last_3d
from ._tensor.size_and_formats import contiguous_format as contiguous_format
from ._tensor.size_and_formats import finfo as finfo
from ._tensor.size_and_formats import iinfo as iinfo
from ._tensor.size_and_formats import jagged as jagged
from ._tensor.size_and_formats import layout as layout
from ._tensor.size_and_formats import memory_format as memory_format
from ._tensor.size_and_formats import per_channel_affine as per_channel_affine
from ._tensor.size_and_formats import (
    per_channel_affine_float_qparams as per_channel_affine_float_qparams,
)
from ._tensor.size_and_formats import per_channel_symmetric as per_channel_symmetric
from ._tensor.size_and_formats import per_tensor_affine as per_tensor_affine
from ._tensor.size_and_formats import per_tensor_symmetric as per_tensor_symmetric
from ._tensor.size_and_formats import preserve_format as preserve_format
from ._tensor.size_and_formats import qscheme as qscheme
from ._tensor.size_and_formats import sparse_bsc as sparse_bsc
from ._tensor.size_and_formats import sparse_bsr as sparse_bsr
from ._tensor.size_and_formats import sparse_coo as sparse_coo
from ._tensor.size_and_formats import sparse_csc as sparse_csc
from ._tensor.size_and_formats import sparse_csr as sparse_csr
from ._tensor.size_and_formats import strided as strided
from ._tensor.tensor import Tensor as Tensor
from ._tensor.tensor import attach_methods as _attach_methods
from ._tensor.tensor import explain_methods as _explain_methods
from ._tensor.tensor import guard_properties as _guard_properties
from ._tensor.tensor import name_methods as _name_methods
from ._tensor_str import set_printoptions as set_printoptions

__version__ = version.__version__
device = _Device
dtype = _DType
bool = _dtypes.bool_  # noqa: A001

globals().update({each.name: each for each in (*_dtypes.STORED, *_dtypes.NAMES_ONLY)})
chalf = _dtypes.by_name("complex32")
half = float16
float = float32  # noqa: A001
double = float64
short = int16
int = int32  # noqa: A001
long = int64
cfloat = complex64
cdouble = complex128
legacy_contiguous_format = contiguous_format
bit = uint1  # noqa: F821

_attach_methods(METHODS | _REMOVED)
_explain_methods()
_TEXTS.add_to({*FUNCTIONS.values(), *METHODS.values()})
for _part in Tensor.__mro__:
    _TEXTS.add_to(vars(_part).values())
_guard_properties()
_name_methods()
globals().update({name: entry for name, entry in FUNCTIONS.items() if name not in globals()})

from . import autograd as autograd  # noqa: E402
from . import cuda as cuda  # noqa: E402
from . import linalg as linalg  # noqa: E402
from . import random as random  # noqa: E402
from . import return_types as return_types  # noqa: E402
from . import special as special  # noqa: E402
from ._compat import legacy_tensor_types  # noqa: E402
from .autograd.anomaly_mode import (  # noqa: E402
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
)
from .autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled  # noqa: E402
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled  # noqa: E402
from .autograd.grad_mode import enable_grad as enable_grad  # noqa: E402
from .autograd.grad_mode import inference_mode as inference_mode  # noqa: E402
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled  # noqa: E402
from .autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled  # noqa: E402
from .autograd.grad_mode import no_grad as no_grad  # noqa: E402
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled  # noqa: E402
from .settings import *  # noqa: E402, F403

globals().update(legacy_tensor_types.TYPES)
_own_names(globals())
for _kind, _name in ((_Device, "device"), (_DType, "dtype")):
    _kind.__name__ = _kind.__qualname__ = _name
    _belong_to(__name__, (_kind,))


def get_default_dtype() -> dtype:
    """The type of new floating-point tensors."""
    return _dtypes.default


def set_default_dtype(d: dtype, /) -> None:
    """Make ``d`` the type of new floating-point tensors."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the "
                        "default type")
    _dtypes.set_default(d)


globals().update(
    (_name, _explained(_name, _value)) for _name, _value in tuple(globals().items())
    if _is_built_in(_name)
)  # fmt: skip

_LAZY = (
    "_C", "__config__", "__future__", "_custom_ops", "_dynamo", "_higher_order_ops",
    "_jit_internal", "_ops", "_quantized",
    "_subclasses", "_tensor", "_tensor_str", "_utils", "accelerator", "amp", "ao", "backends",
    "classes", "compiler", "cpu", "distributed", "distributions", "export", "fft", "func",
    "functional", "futures", "fx", "hub", "jit", "library", "linalg", "masked", "mps", "mtia",
    "multiprocessing", "nested", "nn", "onnx", "ops", "optim", "overrides", "package", "profiler",
    "quantization", "quasirandom", "serialization", "signal", "sparse", "special", "storage",
    "testing", "torch_version", "types", "utils", "xpu",
)  # fmt: skip
_LAZY_NAMES = {
    "save": "serialization", "load": "serialization", "compile": "compiler._compile",
    "cond": "_higher_order_ops.cond", "while_loop": "_higher_order_ops.while_loop",
    "UntypedStorage": "storage", "TypedStorage": "storage", "autocast": "amp",
    "vmap": "func", "GradScaler": "amp", "Stream": "_streams",
    "Event": "_streams", "from_dlpack": "utils.dlpack", "to_dlpack": "utils.dlpack",
    "Future": "futures", "OutOfMemoryError": "cuda", "AcceleratorError": "cuda",
    "DisableTorchFunctionSubclass": "_C", "ScriptModule": "jit", "ScriptFunction": "jit",
    "_sample_dirichlet": "distributions._sampling",
    "_standard_gamma": "distributions._sampling",
}  # fmt: skip
_LAZY_NAMES["sparse_coo_tensor"] = "sparse._creation"
_LAZY_NAMES |= dict.fromkeys((
    "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor",
), "sparse._compressed_creation")  # fmt: skip
_LAZY_NAMES |= dict.fromkeys((
    "_empty_affine_quantized", "_empty_per_channel_affine_quantized",
    "_make_per_channel_quantized_tensor", "_make_per_tensor_quantized_tensor",
    "quantize_per_channel", "quantize_per_tensor", "quantize_per_tensor_dynamic",
), "_quantized._creation")  # fmt: skip
_LAZY_NAMES |= dict.fromkeys((
    "PyTorchFileReader", "SymBool", "SymFloat", "SymInt", "_assert", "_assert_async", "_check",
    "_check_index",
    "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with",
    "_check_type", "_check_value", "_check_with", "sym_constrain_range",
    "sym_constrain_range_for_size", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min",
    "sym_not", "sym_sqrt", "sym_sum",
), "_compat.runtime_checks")  # fmt: skip
_LAZY_NAMES |= {"TensorType": "_C", "thread_safe_generator": "random"}
_LAZY_NAMES |= dict.fromkeys(
    ("cast_to_adapter_tensor", "cast_to_ms_tensor"), "_compat.mindspore_bridge"
)
_LAZY_NAMES |= dict.fromkeys(
    ("critical", "debug", "error", "info", "warning"), "_compat.mindtorch_log"
)
_LAZY_NAMES |= dict.fromkeys((
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "get_autocast_ipu_dtype", "get_autocast_xla_dtype", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
    "is_autocast_ipu_enabled", "is_autocast_xla_enabled", "set_autocast_ipu_dtype",
    "set_autocast_ipu_enabled", "set_autocast_xla_dtype", "set_autocast_xla_enabled",
), "amp.autocast_mode")  # fmt: skip
_LAZY_NAMES |= dict.fromkeys((
    "adaptive_avg_pool1d", "avg_pool1d", "bilinear", "channel_shuffle", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity",
    "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "pairwise_distance",
    "pdist", "pixel_shuffle", "pixel_unshuffle",
), "nn.functional")  # fmt: skip
_LAZY_NAMES |= dict.fromkeys((
    "adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout", "alpha_dropout_",
    "batch_norm", "binary_cross_entropy_with_logits", "constant_pad_nd", "cosine_embedding_loss",
    "dropout", "dropout_", "embedding", "feature_alpha_dropout", "feature_alpha_dropout_",
    "feature_dropout", "feature_dropout_", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d",
    "group_norm", "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm",
    "margin_ranking_loss", "poisson_nll_loss", "rms_norm", "rrelu", "rrelu_",
    "ctc_loss", "gru_cell", "lstm_cell",
    "norm_except_dim", "rnn_relu_cell", "rnn_tanh_cell", "triplet_margin_loss",
), "_compat.nn_function_aliases")  # fmt: skip
_LAZY_NAMES |= dict.fromkeys((
    "_convolution", "binomial", "conv_tbc", "convolution", "dsmm", "embedding_bag",
    "embedding_renorm_",
    "frobenius_norm", "from_file", "gru", "hsmm", "hspmm", "init_num_threads",
    "is_vulkan_available", "lstm", "native_channel_shuffle", "nuclear_norm", "rnn_relu",
    "rnn_tanh", "saddmm", "smm", "spmm", "sspaddmm", "vander",
), "_compat.deprecated_functions")  # fmt: skip
_LAZY_NAMES |= dict.fromkeys(
    ("eig", "lstsq", "matrix_rank", "solve", "symeig"), "_compat.removed_functions"
)
_LAZY_NAMES |= dict.fromkeys((
    "native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm",
), "_compat.native_norms")  # fmt: skip
_LAZY_NAMES |= dict.fromkeys((
    "_chunk_cat", "_native_batch_norm_legit", "_softmax_backward_data", "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
), "_compat.aten_private")  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES})


# what scripts do not expect from a star import: modules, torch's own names for constants, logs
_UNSTARRED = {
    "Any", "BFloat16Tensor", "FUNCTIONS", "HalfTensor", "METHODS", "TYPE_CHECKING", "annotations",
    "cast_to_adapter_tensor", "cast_to_ms_tensor", "channels_last", "channels_last_3d",
    "compiled_with_cxx11_abi", "contiguous_format", "critical", "debug", "eig", "error",
    "fork_rng", "from_dlpack", "info", "jagged", "legacy_contiguous_format", "lstsq",
    "matrix_rank", "preserve_format", "set_default_dtype", "solve", "symeig", "to_dlpack",
    "warning",
}  # fmt: skip


def _star_names() -> list[str]:
    """``__all__``: functions, classes and types, those that are imported later among them."""
    known = globals()
    kinds = ("Bool", "Byte", "Char", "Double", "Float", "Int", "Long", "Short")
    later = {*_LAZY_NAMES, *(f"{kind}Storage" for kind in kinds)}
    return ["export"] + sorted(
        name for name in {*known, *later}
        if name[0] != "_" and name not in _UNSTARRED and name not in _LAZY
        and type(known.get(name)).__name__ not in ("module", "layout", "qscheme")
    )  # fmt: skip


def _found_later(name: str) -> Any:
    """Sub-packages and what lives in them are imported when first used."""
    import importlib

    if name == "__all__":
        return _star_names()

    if name in _LAZY:
        try:
            return importlib.import_module(f"{__package__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__package__}.{name}":
                raise
    elif name in _LAZY_NAMES:
        module = importlib.import_module(f"{__package__}.{_LAZY_NAMES[name]}")
        value = getattr(module, name)
        _TEXTS.add_to([value])
        globals()[name] = value = _explained(name, value)
        if not _is_public(getattr(value, "__module__", None) or ""):
            _belong_to(__name__, (value,))
        return value
    elif name == "torch":  # PyTorch's namespace holds itself, and annotations name it so
        return importlib.import_module(__package__)
    elif name.endswith("Storage"):
        module = importlib.import_module(f"{__package__}.storage")
        if name == "Storage":
            return module.FloatStorage
        if hasattr(module, name):
            return getattr(module, name)
    if name[0] != "_":
        compiled = importlib.import_module(f"{__package__}._compat.compiled_names")
        if name in compiled.OFFERED:
            return getattr(compiled, name)
    errors = importlib.import_module(f"{__package__}._compat.missing_names")
    raise errors.missing("torch", name)


if TYPE_CHECKING:  # what is made or found at run time, for editors and mypy
    from . import _quantized as _quantized
    from ._functions import *  # noqa: F403
else:
    __getattr__ = _found_later


if "MSA_LOG" in _environ:  # refuses a level of messages that there is not
    _import_module(f"{__package__}._compat.mindtorch_log").first_level()
if _environ.get("MINDTORCH_GRAPH", "") not in ("", "0"):
    _import_module("mindtorch.engine.compile.lazy.script_mode").begin()
_fold_tracebacks()
_find_inner_modules()
if _debug.level:
    _import_module("mindtorch.engine.debug_report").begin()
