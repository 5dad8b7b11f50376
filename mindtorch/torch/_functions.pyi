"""What the namespace has that its ``__init__.py`` does not say.

Made by `python -m mindtorch.tools.docs.stubs`.
"""

# mypy: disable-error-code="overload-cannot-match,overload-overlap"

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import overload as _overload

from mindtorch.engine.devices.device import Device as _Device
from mindtorch.engine.dtypes import DType as _DType
from mindtorch.engine.random.generator import Generator as _Generator
from mindtorch.torch import return_types as _return_types
from mindtorch.torch._tensor.size_and_formats import layout as _layout
from mindtorch.torch._tensor.size_and_formats import memory_format as _memory_format
from mindtorch.torch._tensor.tensor import Tensor as Tensor
from mindtorch.torch import _C as _C
from mindtorch.torch import __config__ as __config__
from mindtorch.torch import __future__ as __future__
from mindtorch.torch import _custom_ops as _custom_ops
from mindtorch.torch import _dynamo as _dynamo
from mindtorch.torch import _higher_order_ops as _higher_order_ops
from mindtorch.torch import _jit_internal as _jit_internal
from mindtorch.torch import _ops as _ops
from mindtorch.torch import _quantized as _quantized
from mindtorch.torch import _subclasses as _subclasses
from mindtorch.torch import _tensor as _tensor
from mindtorch.torch import _tensor_str as _tensor_str
from mindtorch.torch import _utils as _utils
from mindtorch.torch import accelerator as accelerator
from mindtorch.torch import amp as amp
from mindtorch.torch import ao as ao
from mindtorch.torch import backends as backends
from mindtorch.torch import classes as classes
from mindtorch.torch import compiler as compiler
from mindtorch.torch import cpu as cpu
from mindtorch.torch import distributed as distributed
from mindtorch.torch import distributions as distributions
from mindtorch.torch import export as export
from mindtorch.torch import fft as fft
from mindtorch.torch import func as func
from mindtorch.torch import functional as functional
from mindtorch.torch import functions as functions
from mindtorch.torch import futures as futures
from mindtorch.torch import fx as fx
from mindtorch.torch import hub as hub
from mindtorch.torch import jit as jit
from mindtorch.torch import library as library
from mindtorch.torch import masked as masked
from mindtorch.torch import mps as mps
from mindtorch.torch import mtia as mtia
from mindtorch.torch import multiprocessing as multiprocessing
from mindtorch.torch import nested as nested
from mindtorch.torch import nn as nn
from mindtorch.torch import onnx as onnx
from mindtorch.torch import ops as ops
from mindtorch.torch import optim as optim
from mindtorch.torch import overrides as overrides
from mindtorch.torch import package as package
from mindtorch.torch import profiler as profiler
from mindtorch.torch import quantization as quantization
from mindtorch.torch import quasirandom as quasirandom
from mindtorch.torch import serialization as serialization
from mindtorch.torch import settings as settings
from mindtorch.torch import signal as signal
from mindtorch.torch import sparse as sparse
from mindtorch.torch import storage as storage
from mindtorch.torch import testing as testing
from mindtorch.torch import torch_version as torch_version
from mindtorch.torch import types as types
from mindtorch.torch import utils as utils
from mindtorch.torch import xpu as xpu
from mindtorch.torch._C import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from mindtorch.torch._C import TensorType as TensorType
from mindtorch.torch._compat.deprecated_functions import binomial as binomial
from mindtorch.torch._compat.deprecated_functions import conv_tbc as conv_tbc
from mindtorch.torch._compat.deprecated_functions import convolution as convolution
from mindtorch.torch._compat.deprecated_functions import dsmm as dsmm
from mindtorch.torch._compat.deprecated_functions import embedding_bag as embedding_bag
from mindtorch.torch._compat.deprecated_functions import embedding_renorm_ as embedding_renorm_
from mindtorch.torch._compat.deprecated_functions import frobenius_norm as frobenius_norm
from mindtorch.torch._compat.deprecated_functions import from_file as from_file
from mindtorch.torch._compat.deprecated_functions import gru as gru
from mindtorch.torch._compat.deprecated_functions import hsmm as hsmm
from mindtorch.torch._compat.deprecated_functions import hspmm as hspmm
from mindtorch.torch._compat.deprecated_functions import init_num_threads as init_num_threads
from mindtorch.torch._compat.deprecated_functions import is_vulkan_available as is_vulkan_available
from mindtorch.torch._compat.deprecated_functions import lstm as lstm
from mindtorch.torch._compat.deprecated_functions import native_channel_shuffle as native_channel_shuffle
from mindtorch.torch._compat.deprecated_functions import nuclear_norm as nuclear_norm
from mindtorch.torch._compat.deprecated_functions import rnn_relu as rnn_relu
from mindtorch.torch._compat.deprecated_functions import rnn_tanh as rnn_tanh
from mindtorch.torch._compat.deprecated_functions import saddmm as saddmm
from mindtorch.torch._compat.deprecated_functions import smm as smm
from mindtorch.torch._compat.deprecated_functions import spmm as spmm
from mindtorch.torch._compat.deprecated_functions import sspaddmm as sspaddmm
from mindtorch.torch._compat.deprecated_functions import vander as vander
from mindtorch.torch._compat.mindspore_bridge import cast_to_adapter_tensor as cast_to_adapter_tensor
from mindtorch.torch._compat.mindspore_bridge import cast_to_ms_tensor as cast_to_ms_tensor
from mindtorch.torch._compat.mindtorch_log import critical as critical
from mindtorch.torch._compat.mindtorch_log import debug as debug
from mindtorch.torch._compat.mindtorch_log import error as error
from mindtorch.torch._compat.mindtorch_log import info as info
from mindtorch.torch._compat.mindtorch_log import warning as warning
from mindtorch.torch._compat.native_norms import native_batch_norm as native_batch_norm
from mindtorch.torch._compat.native_norms import native_dropout as native_dropout
from mindtorch.torch._compat.native_norms import native_group_norm as native_group_norm
from mindtorch.torch._compat.native_norms import native_layer_norm as native_layer_norm
from mindtorch.torch._compat.nn_function_aliases import adaptive_max_pool1d as adaptive_max_pool1d
from mindtorch.torch._compat.nn_function_aliases import affine_grid_generator as affine_grid_generator
from mindtorch.torch._compat.nn_function_aliases import alpha_dropout as alpha_dropout
from mindtorch.torch._compat.nn_function_aliases import alpha_dropout_ as alpha_dropout_
from mindtorch.torch._compat.nn_function_aliases import batch_norm as batch_norm
from mindtorch.torch._compat.nn_function_aliases import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from mindtorch.torch._compat.nn_function_aliases import constant_pad_nd as constant_pad_nd
from mindtorch.torch._compat.nn_function_aliases import cosine_embedding_loss as cosine_embedding_loss
from mindtorch.torch._compat.nn_function_aliases import ctc_loss as ctc_loss
from mindtorch.torch._compat.nn_function_aliases import dropout as dropout
from mindtorch.torch._compat.nn_function_aliases import dropout_ as dropout_
from mindtorch.torch._compat.nn_function_aliases import embedding as embedding
from mindtorch.torch._compat.nn_function_aliases import feature_alpha_dropout as feature_alpha_dropout
from mindtorch.torch._compat.nn_function_aliases import feature_alpha_dropout_ as feature_alpha_dropout_
from mindtorch.torch._compat.nn_function_aliases import feature_dropout as feature_dropout
from mindtorch.torch._compat.nn_function_aliases import feature_dropout_ as feature_dropout_
from mindtorch.torch._compat.nn_function_aliases import grid_sampler as grid_sampler
from mindtorch.torch._compat.nn_function_aliases import grid_sampler_2d as grid_sampler_2d
from mindtorch.torch._compat.nn_function_aliases import grid_sampler_3d as grid_sampler_3d
from mindtorch.torch._compat.nn_function_aliases import group_norm as group_norm
from mindtorch.torch._compat.nn_function_aliases import gru_cell as gru_cell
from mindtorch.torch._compat.nn_function_aliases import hinge_embedding_loss as hinge_embedding_loss
from mindtorch.torch._compat.nn_function_aliases import instance_norm as instance_norm
from mindtorch.torch._compat.nn_function_aliases import kl_div as kl_div
from mindtorch.torch._compat.nn_function_aliases import layer_norm as layer_norm
from mindtorch.torch._compat.nn_function_aliases import lstm_cell as lstm_cell
from mindtorch.torch._compat.nn_function_aliases import margin_ranking_loss as margin_ranking_loss
from mindtorch.torch._compat.nn_function_aliases import norm_except_dim as norm_except_dim
from mindtorch.torch._compat.nn_function_aliases import poisson_nll_loss as poisson_nll_loss
from mindtorch.torch._compat.nn_function_aliases import rms_norm as rms_norm
from mindtorch.torch._compat.nn_function_aliases import rnn_relu_cell as rnn_relu_cell
from mindtorch.torch._compat.nn_function_aliases import rnn_tanh_cell as rnn_tanh_cell
from mindtorch.torch._compat.nn_function_aliases import rrelu as rrelu
from mindtorch.torch._compat.nn_function_aliases import rrelu_ as rrelu_
from mindtorch.torch._compat.nn_function_aliases import triplet_margin_loss as triplet_margin_loss
from mindtorch.torch._compat.removed_functions import eig as eig
from mindtorch.torch._compat.removed_functions import lstsq as lstsq
from mindtorch.torch._compat.removed_functions import matrix_rank as matrix_rank
from mindtorch.torch._compat.removed_functions import solve as solve
from mindtorch.torch._compat.removed_functions import symeig as symeig
from mindtorch.torch._compat.runtime_checks import PyTorchFileReader as PyTorchFileReader
from mindtorch.torch._compat.runtime_checks import SymBool as SymBool
from mindtorch.torch._compat.runtime_checks import SymFloat as SymFloat
from mindtorch.torch._compat.runtime_checks import SymInt as SymInt
from mindtorch.torch._compat.runtime_checks import sym_constrain_range as sym_constrain_range
from mindtorch.torch._compat.runtime_checks import sym_constrain_range_for_size as sym_constrain_range_for_size
from mindtorch.torch._compat.runtime_checks import sym_float as sym_float
from mindtorch.torch._compat.runtime_checks import sym_int as sym_int
from mindtorch.torch._compat.runtime_checks import sym_ite as sym_ite
from mindtorch.torch._compat.runtime_checks import sym_max as sym_max
from mindtorch.torch._compat.runtime_checks import sym_min as sym_min
from mindtorch.torch._compat.runtime_checks import sym_not as sym_not
from mindtorch.torch._compat.runtime_checks import sym_sqrt as sym_sqrt
from mindtorch.torch._compat.runtime_checks import sym_sum as sym_sum
from mindtorch.torch._higher_order_ops.cond import cond as cond
from mindtorch.torch._higher_order_ops.while_loop import while_loop as while_loop
from mindtorch.torch._quantized._creation import quantize_per_channel as quantize_per_channel
from mindtorch.torch._quantized._creation import quantize_per_tensor as quantize_per_tensor
from mindtorch.torch._quantized._creation import quantize_per_tensor_dynamic as quantize_per_tensor_dynamic
from mindtorch.torch._streams import Event as Event
from mindtorch.torch._streams import Stream as Stream
from mindtorch.torch.amp import GradScaler as GradScaler
from mindtorch.torch.amp import autocast as autocast
from mindtorch.torch.amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting
from mindtorch.torch.amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting
from mindtorch.torch.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from mindtorch.torch.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from mindtorch.torch.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from mindtorch.torch.amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from mindtorch.torch.amp.autocast_mode import get_autocast_ipu_dtype as get_autocast_ipu_dtype
from mindtorch.torch.amp.autocast_mode import get_autocast_xla_dtype as get_autocast_xla_dtype
from mindtorch.torch.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from mindtorch.torch.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from mindtorch.torch.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from mindtorch.torch.amp.autocast_mode import is_autocast_ipu_enabled as is_autocast_ipu_enabled
from mindtorch.torch.amp.autocast_mode import is_autocast_xla_enabled as is_autocast_xla_enabled
from mindtorch.torch.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from mindtorch.torch.amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from mindtorch.torch.amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from mindtorch.torch.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from mindtorch.torch.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from mindtorch.torch.amp.autocast_mode import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from mindtorch.torch.amp.autocast_mode import set_autocast_ipu_dtype as set_autocast_ipu_dtype
from mindtorch.torch.amp.autocast_mode import set_autocast_ipu_enabled as set_autocast_ipu_enabled
from mindtorch.torch.amp.autocast_mode import set_autocast_xla_dtype as set_autocast_xla_dtype
from mindtorch.torch.amp.autocast_mode import set_autocast_xla_enabled as set_autocast_xla_enabled
from mindtorch.torch.compiler._compile import compile as compile
from mindtorch.torch.cuda import AcceleratorError as AcceleratorError
from mindtorch.torch.cuda import OutOfMemoryError as OutOfMemoryError
from mindtorch.torch.func import vmap as vmap
from mindtorch.torch.futures import Future as Future
from mindtorch.torch.jit import ScriptFunction as ScriptFunction
from mindtorch.torch.jit import ScriptModule as ScriptModule
from mindtorch.torch.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from mindtorch.torch.nn.functional import avg_pool1d as avg_pool1d
from mindtorch.torch.nn.functional import bilinear as bilinear
from mindtorch.torch.nn.functional import channel_shuffle as channel_shuffle
from mindtorch.torch.nn.functional import conv1d as conv1d
from mindtorch.torch.nn.functional import conv2d as conv2d
from mindtorch.torch.nn.functional import conv3d as conv3d
from mindtorch.torch.nn.functional import conv_transpose1d as conv_transpose1d
from mindtorch.torch.nn.functional import conv_transpose2d as conv_transpose2d
from mindtorch.torch.nn.functional import conv_transpose3d as conv_transpose3d
from mindtorch.torch.nn.functional import cosine_similarity as cosine_similarity
from mindtorch.torch.nn.functional import max_pool1d as max_pool1d
from mindtorch.torch.nn.functional import max_pool1d_with_indices as max_pool1d_with_indices
from mindtorch.torch.nn.functional import max_pool2d as max_pool2d
from mindtorch.torch.nn.functional import max_pool3d as max_pool3d
from mindtorch.torch.nn.functional import pairwise_distance as pairwise_distance
from mindtorch.torch.nn.functional import pdist as pdist
from mindtorch.torch.nn.functional import pixel_shuffle as pixel_shuffle
from mindtorch.torch.nn.functional import pixel_unshuffle as pixel_unshuffle
from mindtorch.torch.random import thread_safe_generator as thread_safe_generator
from mindtorch.torch.serialization import load as load
from mindtorch.torch.serialization import save as save
from mindtorch.torch.sparse._compressed_creation import sparse_bsc_tensor as sparse_bsc_tensor
from mindtorch.torch.sparse._compressed_creation import sparse_bsr_tensor as sparse_bsr_tensor
from mindtorch.torch.sparse._compressed_creation import sparse_compressed_tensor as sparse_compressed_tensor
from mindtorch.torch.sparse._compressed_creation import sparse_csc_tensor as sparse_csc_tensor
from mindtorch.torch.sparse._compressed_creation import sparse_csr_tensor as sparse_csr_tensor
from mindtorch.torch.sparse._creation import sparse_coo_tensor as sparse_coo_tensor
from mindtorch.torch.storage import TypedStorage as TypedStorage
from mindtorch.torch.storage import UntypedStorage as UntypedStorage
from mindtorch.torch.utils.dlpack import from_dlpack as from_dlpack
from mindtorch.torch.utils.dlpack import to_dlpack as to_dlpack

__all__ = [
    "AcceleratorError", "BFloat16Storage", "BFloat16Tensor", "BoolStorage", "BoolTensor",
    "ByteStorage", "ByteTensor", "CharStorage", "CharTensor", "ComplexDoubleStorage",
    "ComplexFloatStorage", "DisableTorchFunctionSubclass", "DoubleStorage", "DoubleTensor", "Event",
    "FloatStorage", "FloatTensor", "Future", "GradScaler", "HalfStorage", "HalfTensor",
    "IntStorage", "IntTensor", "LongStorage", "LongTensor", "OutOfMemoryError", "PyTorchFileReader",
    "QInt32Storage", "QInt8Storage", "QUInt8Storage", "ScriptFunction", "ScriptModule",
    "ShortStorage", "ShortTensor", "Stream", "SymBool", "SymFloat", "SymInt", "TensorType",
    "TypedStorage", "UntypedStorage", "_C", "__config__", "__future__",
    "_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo", "_custom_ops",
    "_dynamo", "_foreach_abs", "_foreach_abs_", "_foreach_acos", "_foreach_acos_", "_foreach_add",
    "_foreach_add_", "_foreach_addcdiv", "_foreach_addcdiv_", "_foreach_addcmul",
    "_foreach_addcmul_", "_foreach_asin", "_foreach_asin_", "_foreach_atan", "_foreach_atan_",
    "_foreach_ceil", "_foreach_ceil_", "_foreach_clamp_max", "_foreach_clamp_max_",
    "_foreach_clamp_min", "_foreach_clamp_min_", "_foreach_clone", "_foreach_copy_", "_foreach_cos",
    "_foreach_cos_", "_foreach_cosh", "_foreach_cosh_", "_foreach_div", "_foreach_div_",
    "_foreach_erf", "_foreach_erf_", "_foreach_erfc", "_foreach_erfc_", "_foreach_exp",
    "_foreach_exp_", "_foreach_expm1", "_foreach_expm1_", "_foreach_floor", "_foreach_floor_",
    "_foreach_frac", "_foreach_frac_", "_foreach_lerp", "_foreach_lerp_", "_foreach_lgamma",
    "_foreach_lgamma_", "_foreach_log", "_foreach_log10", "_foreach_log10_", "_foreach_log1p",
    "_foreach_log1p_", "_foreach_log2", "_foreach_log2_", "_foreach_log_", "_foreach_max",
    "_foreach_maximum", "_foreach_maximum_", "_foreach_minimum", "_foreach_minimum_", "_foreach_mm",
    "_foreach_mul", "_foreach_mul_", "_foreach_neg", "_foreach_neg_", "_foreach_norm",
    "_foreach_pow", "_foreach_pow_", "_foreach_powsum", "_foreach_reciprocal",
    "_foreach_reciprocal_", "_foreach_round", "_foreach_round_", "_foreach_rsqrt",
    "_foreach_rsqrt_", "_foreach_sigmoid", "_foreach_sigmoid_", "_foreach_sign", "_foreach_sign_",
    "_foreach_sin", "_foreach_sin_", "_foreach_sinh", "_foreach_sinh_", "_foreach_sqrt",
    "_foreach_sqrt_", "_foreach_sub", "_foreach_sub_", "_foreach_tan", "_foreach_tan_",
    "_foreach_tanh", "_foreach_tanh_", "_foreach_trunc", "_foreach_trunc_", "_foreach_zero_",
    "_higher_order_ops", "_int_mm", "_jit_internal", "_ops", "_quantized", "_segment_reduce",
    "_subclasses", "_tensor", "_tensor_str", "_utils", "abs", "abs_", "absolute", "absolute_",
    "accelerator", "acos", "acos_", "acosh", "acosh_", "adaptive_avg_pool1d", "adaptive_max_pool1d",
    "add", "addbmm", "addbmm_", "addcdiv", "addcmul", "addmm", "addmm_", "addmv", "addmv_", "addr",
    "addr_", "adjoint", "affine_grid_generator", "alias_copy", "all", "allclose", "alpha_dropout",
    "alpha_dropout_", "amax", "amin", "aminmax", "amp", "angle", "any", "ao", "arange", "arccos",
    "arccos_", "arccosh", "arccosh_", "arcsin", "arcsin_", "arcsinh", "arcsinh_", "arctan",
    "arctan2", "arctan2_", "arctan_", "arctanh", "arctanh_", "argmax", "argmin", "argsort",
    "argwhere", "as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter", "as_tensor",
    "asarray", "asin", "asin_", "asinh", "asinh_", "atan", "atan2", "atan2_", "atan_", "atanh",
    "atanh_", "atleast_1d", "atleast_2d", "atleast_3d", "autocast", "autocast_decrement_nesting",
    "autocast_increment_nesting", "avg_pool1d", "backends", "baddbmm", "baddbmm_",
    "bartlett_window", "batch_norm", "bernoulli", "bilinear", "binary_cross_entropy_with_logits",
    "bincount", "binomial", "bits16", "bits1x8", "bits2x4", "bits4x2", "bits8", "bitwise_and",
    "bitwise_and_", "bitwise_left_shift", "bitwise_left_shift_", "bitwise_not", "bitwise_not_",
    "bitwise_or", "bitwise_or_", "bitwise_right_shift", "bitwise_right_shift_", "bitwise_xor",
    "bitwise_xor_", "blackman_window", "block_diag", "bmm", "broadcast_shapes", "broadcast_tensors",
    "broadcast_to", "bucketize", "can_cast", "cartesian_prod", "cast_to_adapter_tensor",
    "cast_to_ms_tensor", "cat", "ccol_indices_copy", "cdist", "ceil", "ceil_", "celu", "celu_",
    "chain_matmul", "channel_shuffle", "cholesky", "cholesky_inverse", "cholesky_solve", "chunk",
    "clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min", "clamp_min_", "classes",
    "clear_autocast_cache", "clip", "clip_", "clone", "col_indices_copy", "column_stack",
    "combinations", "compile", "compiler", "complex", "complex32", "concat", "concatenate", "cond",
    "conj", "conj_physical", "conj_physical_", "constant_pad_nd", "conv1d", "conv2d", "conv3d",
    "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
    "copysign", "copysign_", "corrcoef", "cos", "cos_", "cosh", "cosh_", "cosine_embedding_loss",
    "cosine_similarity", "count_nonzero", "cov", "cpu", "critical", "cross", "crow_indices_copy",
    "ctc_loss", "cummax", "cummin", "cumprod", "cumprod_", "cumsum", "cumsum_",
    "cumulative_trapezoid", "debug", "deg2rad", "deg2rad_", "dequantize", "det", "detach",
    "detach_", "detach_copy", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy",
    "diagonal_scatter", "diff", "digamma", "digamma_", "dist", "distributed", "distributions",
    "div", "divide", "dot", "dropout", "dropout_", "dsmm", "dsplit", "dstack", "eig", "einsum",
    "embedding", "embedding_bag", "embedding_renorm_", "empty", "empty_like", "empty_permuted",
    "empty_strided", "eq", "eq_", "equal", "erf", "erf_", "erfc", "erfc_", "erfinv", "erfinv_",
    "error", "exp", "exp2", "exp2_", "exp_", "expand_copy", "expm1", "expm1_", "export", "eye",
    "fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine", "feature_alpha_dropout",
    "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "fft", "fill", "fill_", "fix",
    "fix_", "flatten", "flip", "fliplr", "flipud", "float4_e2m1fn_x2", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float_power",
    "float_power_", "floor", "floor_", "floor_divide", "floor_divide_", "fmax", "fmin", "fmod",
    "fmod_", "frac", "frac_", "frexp", "frobenius_norm", "from_dlpack", "from_file", "from_numpy",
    "frombuffer", "full", "full_like", "func", "functional", "functions",
    "fused_moving_avg_obs_fake_quant", "futures", "fx", "gather", "gcd", "gcd_", "ge", "ge_",
    "geqrf", "ger", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "get_autocast_ipu_dtype", "get_autocast_xla_dtype", "get_device", "gradient", "greater",
    "greater_", "greater_equal", "greater_equal_", "grid_sampler", "grid_sampler_2d",
    "grid_sampler_3d", "group_norm", "gru", "gru_cell", "gt", "gt_", "hamming_window",
    "hann_window", "hardshrink", "hash_tensor", "heaviside", "heaviside_", "hinge_embedding_loss",
    "histc", "histogram", "histogramdd", "hsmm", "hsplit", "hspmm", "hstack", "hub", "hypot",
    "hypot_", "i0", "i0_", "igamma", "igamma_", "igammac", "igammac_", "imag", "index_add",
    "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_", "index_put",
    "index_put_", "index_reduce", "index_reduce_", "index_select", "indices_copy", "info",
    "init_num_threads", "inner", "instance_norm", "int1", "int2", "int3", "int4", "int5", "int6",
    "int7", "int_repr", "inverse", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
    "is_autocast_enabled", "is_autocast_ipu_enabled", "is_autocast_xla_enabled", "is_complex",
    "is_conj", "is_distributed", "is_floating_point", "is_inference", "is_neg", "is_nonzero",
    "is_same_size", "is_signed", "is_storage", "is_tensor", "is_vulkan_available", "isclose",
    "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "istft", "jit",
    "kaiser_window", "kl_div", "kron", "kthvalue", "layer_norm", "lcm", "lcm_", "ldexp", "ldexp_",
    "le", "le_", "lerp", "less", "less_", "less_equal", "less_equal_", "lgamma", "lgamma_",
    "library", "linspace", "load", "lobpcg", "log", "log10", "log10_", "log1p", "log1p_", "log2",
    "log2_", "log_", "log_softmax", "logaddexp", "logaddexp2", "logcumsumexp", "logdet",
    "logical_and", "logical_and_", "logical_not", "logical_not_", "logical_or", "logical_or_",
    "logical_xor", "logical_xor_", "logit", "logit_", "logspace", "logsumexp", "lstm", "lstm_cell",
    "lstsq", "lt", "lt_", "lu", "lu_solve", "lu_unpack", "margin_ranking_loss", "masked",
    "masked_fill", "masked_fill_", "masked_scatter", "masked_scatter_", "masked_select", "matmul",
    "matrix_exp", "matrix_power", "matrix_rank", "max", "max_pool1d", "max_pool1d_with_indices",
    "max_pool2d", "max_pool3d", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mm",
    "mode", "moveaxis", "movedim", "mps", "msort", "mtia", "mul", "mul_", "multinomial", "multiply",
    "multiply_", "multiprocessing", "mv", "mvlgamma", "mvlgamma_", "nan_to_num", "nan_to_num_",
    "nanmean", "nanmedian", "nanquantile", "nansum", "narrow", "narrow_copy", "native_batch_norm",
    "native_channel_shuffle", "native_dropout", "native_group_norm", "native_layer_norm", "ne",
    "ne_", "neg", "neg_", "negative", "negative_", "nested", "nextafter", "nextafter_", "nn",
    "nonzero", "nonzero_static", "norm", "norm_except_dim", "normal", "not_equal", "not_equal_",
    "nuclear_norm", "numel", "ones", "ones_like", "onnx", "ops", "optim", "orgqr", "ormqr", "outer",
    "overrides", "package", "pairwise_distance", "pca_lowrank", "pdist", "permute", "permute_copy",
    "pinverse", "pixel_shuffle", "pixel_unshuffle", "poisson", "poisson_nll_loss", "polar",
    "polygamma", "polygamma_", "positive", "pow", "prelu", "prod", "profiler", "promote_types",
    "put", "put_", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
    "q_scale", "q_zero_point", "qint32", "qint8", "qr", "quantile", "quantization",
    "quantize_per_channel", "quantize_per_tensor", "quantize_per_tensor_dynamic", "quasirandom",
    "quint2x4", "quint4x2", "quint8", "rad2deg", "rad2deg_", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "randperm", "range", "ravel", "real", "reciprocal",
    "reciprocal_", "relu", "relu_", "remainder", "remainder_", "renorm", "renorm_",
    "repeat_interleave", "reshape", "resize_as_", "resolve_conj", "resolve_neg", "result_type",
    "rms_norm", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell", "roll", "rot90", "round",
    "round_", "row_indices_copy", "row_stack", "rrelu", "rrelu_", "rsqrt", "rsqrt_", "rsub",
    "saddmm", "save", "scalar_tensor", "scatter", "scatter_", "scatter_add", "scatter_add_",
    "scatter_reduce", "scatter_reduce_", "searchsorted", "segment_reduce", "select", "select_copy",
    "select_scatter", "selu", "selu_", "serialization", "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype",
    "set_autocast_enabled", "set_autocast_gpu_dtype", "set_autocast_ipu_dtype",
    "set_autocast_ipu_enabled", "set_autocast_xla_dtype", "set_autocast_xla_enabled", "settings",
    "sgn", "sgn_", "sigmoid", "sigmoid_", "sign", "sign_", "signal", "signbit", "sin", "sin_",
    "sinc", "sinc_", "sinh", "sinh_", "slice_copy", "slice_inverse", "slice_scatter", "slogdet",
    "smm", "softmax", "solve", "sort", "sparse", "sparse_bsc_tensor", "sparse_bsr_tensor",
    "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor",
    "split", "split_copy", "split_with_sizes", "split_with_sizes_copy", "spmm", "sqrt", "sqrt_",
    "square", "square_", "squeeze", "squeeze_copy", "sspaddmm", "stack", "std", "std_mean", "stft",
    "storage", "sub", "subtract", "sum", "svd", "svd_lowrank", "swapaxes", "swapdims",
    "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_int", "sym_ite",
    "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum", "symeig", "t", "t_copy", "take",
    "take_along_dim", "tan", "tan_", "tanh", "tanh_", "tensor", "tensor_split", "tensordot",
    "testing", "thread_safe_generator", "threshold", "threshold_", "tile", "to_dlpack", "topk",
    "torch_version", "trace", "transpose", "transpose_copy", "trapezoid", "trapz",
    "triangular_solve", "tril", "tril_", "tril_indices", "triplet_margin_loss", "triu", "triu_",
    "triu_indices", "true_divide", "true_divide_", "trunc", "trunc_", "types", "uint1", "uint2",
    "uint3", "uint4", "uint5", "uint6", "uint7", "unbind", "unbind_copy", "unflatten",
    "unfold_copy", "unique", "unique_consecutive", "unravel_index", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "unsqueeze", "unsqueeze_copy", "utils", "values_copy", "vander",
    "var", "var_mean", "vdot", "view_as_complex", "view_as_complex_copy", "view_as_real",
    "view_as_real_copy", "view_copy", "vmap", "vsplit", "vstack", "warning", "where", "while_loop",
    "xlogy", "xlogy_", "xpu", "zero_", "zeros", "zeros_like",
]

BFloat16Storage: _Any

BFloat16Tensor: _Any

BoolStorage: _Any

BoolTensor: _Any

ByteStorage: _Any

ByteTensor: _Any

CharStorage: _Any

CharTensor: _Any

ComplexDoubleStorage: _Any

ComplexFloatStorage: _Any

DoubleStorage: _Any

DoubleTensor: _Any

FloatStorage: _Any

FloatTensor: _Any

HalfStorage: _Any

HalfTensor: _Any

IntStorage: _Any

IntTensor: _Any

LongStorage: _Any

LongTensor: _Any

QInt32Storage: _Any

QInt8Storage: _Any

QUInt8Storage: _Any

ShortStorage: _Any

ShortTensor: _Any

def _convert_indices_from_coo_to_csr(input: Tensor, size: _int, *, out_int32: _bool = False) -> _Any:
    """Where each row begins: of the rows of sorted places, ``size + 1`` numbers."""

def _convert_indices_from_csr_to_coo(crow_indices: _Any, col_indices: _Any, *, out_int32: _bool = False, transpose: _bool = False) -> _Any:
    """Rows and columns (2, n) of the places of a matrix by rows; columns first if transposed."""

def _foreach_abs(self: _Any) -> _Any:
    """:func:`torch.abs` of each tensor."""

def _foreach_abs_(self: _Any) -> _Any:
    """:func:`torch.abs` of each tensor."""

def _foreach_acos(self: _Any) -> _Any:
    """:func:`torch.acos` of each tensor."""

def _foreach_acos_(self: _Any) -> _Any:
    """:func:`torch.acos` of each tensor."""

def _foreach_add(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.add` of each pair."""

def _foreach_add_(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.add` of each pair."""

def _foreach_addcdiv(self: _Any, tensor1: _Any, tensor2: _Any, value: _Any = 1) -> _Any:
    """:func:`torch.addcdiv` of each triple."""

def _foreach_addcdiv_(self: _Any, tensor1: _Any, tensor2: _Any, value: _Any = 1) -> _Any:
    """:func:`torch.addcdiv` of each triple."""

def _foreach_addcmul(self: _Any, tensor1: _Any, tensor2: _Any, value: _Any = 1) -> _Any:
    """:func:`torch.addcmul` of each triple."""

def _foreach_addcmul_(self: _Any, tensor1: _Any, tensor2: _Any, value: _Any = 1) -> _Any:
    """:func:`torch.addcmul` of each triple."""

def _foreach_asin(self: _Any) -> _Any:
    """:func:`torch.asin` of each tensor."""

def _foreach_asin_(self: _Any) -> _Any:
    """:func:`torch.asin` of each tensor."""

def _foreach_atan(self: _Any) -> _Any:
    """:func:`torch.atan` of each tensor."""

def _foreach_atan_(self: _Any) -> _Any:
    """:func:`torch.atan` of each tensor."""

def _foreach_ceil(self: _Any) -> _Any:
    """:func:`torch.ceil` of each tensor."""

def _foreach_ceil_(self: _Any) -> _Any:
    """:func:`torch.ceil` of each tensor."""

def _foreach_clamp_max(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.clamp_max` of each pair."""

def _foreach_clamp_max_(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.clamp_max` of each pair."""

def _foreach_clamp_min(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.clamp_min` of each pair."""

def _foreach_clamp_min_(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.clamp_min` of each pair."""

def _foreach_clone(self: _Any, *args: _Any, **kwargs: _Any) -> _Any:
    """A copy of each tensor."""

def _foreach_copy_(self: _Any, src: _Any, non_blocking: _bool = False) -> _Any:
    """Overwrite each tensor with another."""

def _foreach_cos(self: _Any) -> _Any:
    """:func:`torch.cos` of each tensor."""

def _foreach_cos_(self: _Any) -> _Any:
    """:func:`torch.cos` of each tensor."""

def _foreach_cosh(self: _Any) -> _Any:
    """:func:`torch.cosh` of each tensor."""

def _foreach_cosh_(self: _Any) -> _Any:
    """:func:`torch.cosh` of each tensor."""

def _foreach_div(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.div` of each pair."""

def _foreach_div_(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.div` of each pair."""

def _foreach_erf(self: _Any) -> _Any:
    """:func:`torch.erf` of each tensor."""

def _foreach_erf_(self: _Any) -> _Any:
    """:func:`torch.erf` of each tensor."""

def _foreach_erfc(self: _Any) -> _Any:
    """:func:`torch.erfc` of each tensor."""

def _foreach_erfc_(self: _Any) -> _Any:
    """:func:`torch.erfc` of each tensor."""

def _foreach_exp(self: _Any) -> _Any:
    """:func:`torch.exp` of each tensor."""

def _foreach_exp_(self: _Any) -> _Any:
    """:func:`torch.exp` of each tensor."""

def _foreach_expm1(self: _Any) -> _Any:
    """:func:`torch.expm1` of each tensor."""

def _foreach_expm1_(self: _Any) -> _Any:
    """:func:`torch.expm1` of each tensor."""

def _foreach_floor(self: _Any) -> _Any:
    """:func:`torch.floor` of each tensor."""

def _foreach_floor_(self: _Any) -> _Any:
    """:func:`torch.floor` of each tensor."""

def _foreach_frac(self: _Any) -> _Any:
    """:func:`torch.frac` of each tensor."""

def _foreach_frac_(self: _Any) -> _Any:
    """:func:`torch.frac` of each tensor."""

def _foreach_lerp(self: _Any, tensors1: _Any, weight: _Any) -> _Any:
    """:func:`torch.lerp` of each pair."""

def _foreach_lerp_(self: _Any, tensors1: _Any, weight: _Any) -> _Any:
    """:func:`torch.lerp` of each pair."""

def _foreach_lgamma(self: _Any) -> _Any:
    """:func:`torch.lgamma` of each tensor."""

def _foreach_lgamma_(self: _Any) -> _Any:
    """:func:`torch.lgamma` of each tensor."""

def _foreach_log(self: _Any) -> _Any:
    """:func:`torch.log` of each tensor."""

def _foreach_log10(self: _Any) -> _Any:
    """:func:`torch.log10` of each tensor."""

def _foreach_log10_(self: _Any) -> _Any:
    """:func:`torch.log10` of each tensor."""

def _foreach_log1p(self: _Any) -> _Any:
    """:func:`torch.log1p` of each tensor."""

def _foreach_log1p_(self: _Any) -> _Any:
    """:func:`torch.log1p` of each tensor."""

def _foreach_log2(self: _Any) -> _Any:
    """:func:`torch.log2` of each tensor."""

def _foreach_log2_(self: _Any) -> _Any:
    """:func:`torch.log2` of each tensor."""

def _foreach_log_(self: _Any) -> _Any:
    """:func:`torch.log` of each tensor."""

def _foreach_max(self: _Any, *args: _Any, **kwargs: _Any) -> _Any:
    """The largest element of each tensor."""

def _foreach_maximum(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.maximum` of each pair."""

def _foreach_maximum_(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.maximum` of each pair."""

def _foreach_minimum(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.minimum` of each pair."""

def _foreach_minimum_(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.minimum` of each pair."""

def _foreach_mm(self: _Any, mat2: _Any) -> _Any:
    """The product of each pair of matrices."""

def _foreach_mul(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.mul` of each pair."""

def _foreach_mul_(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.mul` of each pair."""

def _foreach_neg(self: _Any) -> _Any:
    """:func:`torch.neg` of each tensor."""

def _foreach_neg_(self: _Any) -> _Any:
    """:func:`torch.neg` of each tensor."""

def _foreach_norm(self: _Any, *args: _Any, **kwargs: _Any) -> _Any:
    """The ``ord``-norm of each tensor."""

def _foreach_pow(self: _Any, exponent: _Any) -> _Any:
    """:func:`torch.pow` of each pair."""

def _foreach_pow_(self: _Any, exponent: _Any) -> _Any:
    """:func:`torch.pow` of each pair."""

def _foreach_powsum(self: _Any, *args: _Any, **kwargs: _Any) -> _Any:
    """``sum |x|^ord`` of each tensor."""

def _foreach_reciprocal(self: _Any) -> _Any:
    """:func:`torch.reciprocal` of each tensor."""

def _foreach_reciprocal_(self: _Any) -> _Any:
    """:func:`torch.reciprocal` of each tensor."""

def _foreach_round(self: _Any) -> _Any:
    """:func:`torch.round` of each tensor."""

def _foreach_round_(self: _Any) -> _Any:
    """:func:`torch.round` of each tensor."""

def _foreach_rsqrt(self: _Any) -> _Any:
    """:func:`torch.rsqrt` of each tensor."""

def _foreach_rsqrt_(self: _Any) -> _Any:
    """:func:`torch.rsqrt` of each tensor."""

def _foreach_sigmoid(self: _Any) -> _Any:
    """:func:`torch.sigmoid` of each tensor."""

def _foreach_sigmoid_(self: _Any) -> _Any:
    """:func:`torch.sigmoid` of each tensor."""

def _foreach_sign(self: _Any) -> _Any:
    """:func:`torch.sign` of each tensor."""

def _foreach_sign_(self: _Any) -> _Any:
    """:func:`torch.sign` of each tensor."""

def _foreach_sin(self: _Any) -> _Any:
    """:func:`torch.sin` of each tensor."""

def _foreach_sin_(self: _Any) -> _Any:
    """:func:`torch.sin` of each tensor."""

def _foreach_sinh(self: _Any) -> _Any:
    """:func:`torch.sinh` of each tensor."""

def _foreach_sinh_(self: _Any) -> _Any:
    """:func:`torch.sinh` of each tensor."""

def _foreach_sqrt(self: _Any) -> _Any:
    """:func:`torch.sqrt` of each tensor."""

def _foreach_sqrt_(self: _Any) -> _Any:
    """:func:`torch.sqrt` of each tensor."""

def _foreach_sub(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.sub` of each pair."""

def _foreach_sub_(self: _Any, other: _Any, *, alpha: _Any = 1) -> _Any:
    """:func:`torch.sub` of each pair."""

def _foreach_tan(self: _Any) -> _Any:
    """:func:`torch.tan` of each tensor."""

def _foreach_tan_(self: _Any) -> _Any:
    """:func:`torch.tan` of each tensor."""

def _foreach_tanh(self: _Any) -> _Any:
    """:func:`torch.tanh` of each tensor."""

def _foreach_tanh_(self: _Any) -> _Any:
    """:func:`torch.tanh` of each tensor."""

def _foreach_trunc(self: _Any) -> _Any:
    """:func:`torch.trunc` of each tensor."""

def _foreach_trunc_(self: _Any) -> _Any:
    """:func:`torch.trunc` of each tensor."""

def _foreach_zero_(self: _Any) -> _Any:
    """Overwrite each tensor with zeros."""

def _int_mm(self: _Any, mat2: _Any, *, out: Tensor | None = None) -> _Any:
    """The int32 product of matrices of int8 (the first may be of uint8)."""

def _segment_reduce(data: _Any, reduce: _str, *, lengths: _Any = None, indices: _Any = None, offsets: _Any = None, axis: _int = 0, unsafe: _bool = False, initial: _Any = None, out: Tensor | None = None) -> _Any:
    """The ``reduce`` ("sum", "mean", "max", "min", "prod") of each segment along ``axis``."""

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: abs(x)."""

def abs_(input: Tensor) -> Tensor:
    """:func:`abs` of the tensor, written over it; its type stays."""

def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: abs(x)."""

def absolute_(input: Tensor) -> Tensor:
    """:func:`absolute` of the tensor, written over it; its type stays."""

def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the angle in [0, pi] whose cosine is x."""

def acos_(input: Tensor) -> Tensor:
    """:func:`acos` of the tensor, written over it; its type stays."""

def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: log(x + sqrt(x * x - 1))."""

def acosh_(input: Tensor) -> Tensor:
    """:func:`acosh` of the tensor, written over it; its type stays."""

def add(input: Tensor, other: Tensor | _float | _complex, *, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``."""

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha *`` the sum of the batch's products."""

def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
    """``beta * input + alpha *`` the sum of the batch's products."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 / tensor2``."""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 * tensor2``."""

@_overload
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * mat1 @ mat2``."""
@_overload
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: _DType | type, *, beta: _float | _complex = 1, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor: ...

@_overload
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
    """``beta * input + alpha * mat1 @ mat2``."""
@_overload
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: _DType | type, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor: ...

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * mat @ vec``."""

def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
    """``beta * input + alpha * mat @ vec``."""

def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""

def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""

def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two axes."""

def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A tensor of its own with the elements of ``input``."""

@_overload
def all(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether all of the elements along ``dim`` (of all by default) is not 0; bool."""
@_overload
def all(input: Tensor, dim: _Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def all(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: ...

def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = False) -> _bool:
    """Whether :func:`isclose` holds everywhere."""

def amax(input: Tensor, dim: _Sequence[_int] | _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The greatest element over ``dim``."""

def amin(input: Tensor, dim: _Sequence[_int] | _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The least element over ``dim``."""

def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.aminmax:
    """The least and the greatest element."""

def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The argument of a complex number."""

@_overload
def any(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether any of the elements along ``dim`` (of all by default) is not 0; bool."""
@_overload
def any(input: Tensor, dim: _Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def any(input: Tensor, dim: _int, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def arange(end: _float | _complex, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """start, start + step, ... below ``end``: ``start + i * step``, computed in float64."""
@_overload
def arange(start: _float | _complex, end: _float | _complex, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def arange(start: _float | _complex, end: _float | _complex, step: _float | _complex = 1, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the angle in [0, pi] whose cosine is x."""

def arccos_(input: Tensor) -> Tensor:
    """:func:`arccos` of the tensor, written over it; its type stays."""

def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: log(x + sqrt(x * x - 1))."""

def arccosh_(input: Tensor) -> Tensor:
    """:func:`arccosh` of the tensor, written over it; its type stays."""

def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the angle in [-pi / 2, pi / 2] whose sine is x."""

def arcsin_(input: Tensor) -> Tensor:
    """:func:`arcsin` of the tensor, written over it; its type stays."""

def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: log(x + sqrt(x * x + 1))."""

def arcsinh_(input: Tensor) -> Tensor:
    """:func:`arcsinh` of the tensor, written over it; its type stays."""

def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the angle in (-pi / 2, pi / 2) whose tangent is x."""

def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the angle in [-pi, pi] of the point with abscissa y and ordinate x."""

def arctan2_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`arctan2` of the tensor and ``other``, written over it; its type stays."""

def arctan_(input: Tensor) -> Tensor:
    """:func:`arctan` of the tensor, written over it; its type stays."""

def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: log((1 + x) / (1 - x)) / 2."""

def arctanh_(input: Tensor) -> Tensor:
    """:func:`arctanh` of the tensor, written over it; its type stays."""

def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The first place of the maximum along ``dim``, int64; a nan counts as it."""

def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The first place of the minimum along ``dim``, int64; a nan counts as it."""

@_overload
def argsort(input: Tensor, *, stable: _bool, dim: _int = -1, descending: _bool = False, out: Tensor | None = None) -> Tensor:
    """The places that sort ``input`` along ``dim``; ``stable`` as in :func:`sort`."""
@_overload
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False) -> Tensor: ...

def argwhere(input: Tensor) -> _Any:
    """The coordinates of the elements that are not 0, one row each."""

def as_strided(input: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """A view of the storage with the shape, strides and offset given."""

def as_strided_(input: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """Let ``input`` be what :func:`as_strided` gives of ``size, stride, storage_offset``."""

def as_strided_copy(input: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """What ``as_strided`` views, as a tensor of its own; arguments: size, stride, storage_offset."""

def as_strided_scatter(input: Tensor, src: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``src`` in the place of a view with these strides."""

def as_tensor(data: _Any, *, dtype: _DType | type | None = None, device: _Device | _str | _int | None = None) -> Tensor:
    """``data`` as a tensor, sharing memory where it can."""

def asarray(obj: _Any, *, dtype: _DType | type | None = None, device: _Device | _str | _int | None = None, copy: _bool | None = None, requires_grad: _bool = False) -> Tensor:
    """``obj`` as a tensor: over its memory, or a copy."""

def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the angle in [-pi / 2, pi / 2] whose sine is x."""

def asin_(input: Tensor) -> Tensor:
    """:func:`asin` of the tensor, written over it; its type stays."""

def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: log(x + sqrt(x * x + 1))."""

def asinh_(input: Tensor) -> Tensor:
    """:func:`asinh` of the tensor, written over it; its type stays."""

def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the angle in (-pi / 2, pi / 2) whose tangent is x."""

def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the angle in [-pi, pi] of the point with abscissa y and ordinate x."""

def atan2_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`atan2` of the tensor and ``other``, written over it; its type stays."""

def atan_(input: Tensor) -> Tensor:
    """:func:`atan` of the tensor, written over it; its type stays."""

def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: log((1 + x) / (1 - x)) / 2."""

def atanh_(input: Tensor) -> Tensor:
    """:func:`atanh` of the tensor, written over it; its type stays."""

def atleast_1d(*tensors: _Any) -> _Any:
    """Tensors with axes of length 1 added until they have 1; views."""

def atleast_2d(*tensors: _Any) -> _Any:
    """Tensors with axes of length 1 added until they have 2; views."""

def atleast_3d(*tensors: _Any) -> _Any:
    """Tensors with axes of length 1 added until they have 3; views."""

@_overload
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``."""
@_overload
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: _DType | type, *, beta: _float | _complex = 1, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor: ...

@_overload
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``."""
@_overload
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: _DType | type, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor: ...

@_overload
def bartlett_window(window_length: _int, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """The triangle ``1 - |2 n / (N - 1) - 1|``; ``periodic`` drops the last of N + 1."""
@_overload
def bartlett_window(window_length: _int, periodic: _bool, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def bernoulli(input: Tensor, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that each element of ``input`` (or ``p``) says, else 0."""
@_overload
def bernoulli(input: Tensor, p: _float, *, generator: _Generator | None = None) -> Tensor: ...

def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0, *, out: Tensor | None = None) -> _Any:
    """How often (with what total weight) each whole number occurs."""

bits16: _DType

bits1x8: _DType

bits2x4: _DType

bits4x2: _DType

bits8: _DType

@_overload
def bitwise_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x & y."""
@_overload
def bitwise_and(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_and(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def bitwise_and_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`bitwise_and` of the tensor and ``other``, written over it; its type stays."""
@_overload
def bitwise_and_(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_and_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def bitwise_left_shift(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x << y."""
@_overload
def bitwise_left_shift(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_left_shift(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def bitwise_left_shift_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`bitwise_left_shift` of the tensor and ``other``, written over it; its type stays."""
@_overload
def bitwise_left_shift_(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_left_shift_(input: Tensor, other: _float | _complex) -> Tensor: ...

def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: ~x."""

def bitwise_not_(input: Tensor) -> Tensor:
    """:func:`bitwise_not` of the tensor, written over it; its type stays."""

@_overload
def bitwise_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x | y."""
@_overload
def bitwise_or(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_or(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def bitwise_or_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`bitwise_or` of the tensor and ``other``, written over it; its type stays."""
@_overload
def bitwise_or_(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_or_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def bitwise_right_shift(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x >> y."""
@_overload
def bitwise_right_shift(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_right_shift(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def bitwise_right_shift_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`bitwise_right_shift` of the tensor and ``other``, written over it; its type stays."""
@_overload
def bitwise_right_shift_(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_right_shift_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def bitwise_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x ^ y."""
@_overload
def bitwise_xor(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_xor(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def bitwise_xor_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`bitwise_xor` of the tensor and ``other``, written over it; its type stays."""
@_overload
def bitwise_xor_(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def bitwise_xor_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def blackman_window(window_length: _int, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """``0.42 - 0.5 cos(2 t) + 0.08 cos(4 t)`` at ``t = pi n / (N - 1)``; ``periodic`` drops the"""
@_overload
def blackman_window(window_length: _int, periodic: _bool, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def block_diag(*tensors: _Any) -> _Any:
    """A matrix with the tensors as blocks on its diagonal."""

@_overload
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of matrices in two batches."""
@_overload
def bmm(input: Tensor, mat2: Tensor, out_dtype: _DType | type, *, out: Tensor | None = None) -> Tensor: ...

def broadcast_shapes(*shapes: _Any) -> _Any:
    """The shape to which tensors of these shapes broadcast."""

def broadcast_tensors(*tensors: _Any) -> _Any:
    """The tensors expanded to their common shape."""

def broadcast_to(input: Tensor, size: _Sequence[_int]) -> Tensor:
    """``input`` with axes of length 1, and new ones in front, repeated to ``size``; a view."""

@_overload
def bucketize(input: Tensor, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """The bin of each element between sorted ``boundaries``."""
@_overload
def bucketize(self: _float | _complex, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False) -> Tensor: ...

def can_cast(from_: _DType | type, to: _DType | type) -> _bool:
    """Whether a value of type ``from_`` may be stored as ``to`` without losing its kind."""

def cartesian_prod(*tensors: _Any) -> _Any:
    """All combinations of the elements of 1-d tensors, one a row."""

def cat(tensors: _Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after another along ``dim``."""

def ccol_indices_copy(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """What ``ccol_indices`` views, as a tensor of its own; arguments: none."""

def cdist(x1: _Any, x2: _Any, p: _float = ..., compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary') -> _Any:
    """The distance of order ``p`` between all pairs of rows of two (batches of) matrices."""

def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the least integer not below x."""

def ceil_(input: Tensor) -> Tensor:
    """:func:`ceil` of the tensor, written over it; its type stays."""

def celu(input: Tensor, alpha: _float | _complex = 1.0, *, out: Tensor | None = None) -> Tensor:
    """``x if x > 0 else alpha * (exp(x / alpha) - 1)``."""

def celu_(input: Tensor, alpha: _float | _complex = 1.0) -> Tensor:
    """:func:`celu`, which has the other arguments (alpha), written over ``input``; its type stays."""

def chain_matmul(*matrices: _Any, out: Tensor | None = None) -> _Any:
    """The product of several matrices in the cheapest order."""

def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor."""

def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> _Any:
    """The inverse of the matrix whose Cholesky factor is ``L``."""

def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``X`` with ``A X = input`` where ``L`` is the Cholesky factor of ``A``."""

def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` pieces of one size along ``dim``."""

@_overload
def clamp(input: Tensor, min: Tensor | None = None, max: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input`` not below ``min`` and not above ``max``."""
@_overload
def clamp(input: Tensor, min: _float | _complex | None = None, max: _float | _complex | None = None, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def clamp_(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """:func:`clamp` over ``self``."""
@_overload
def clamp_(input: Tensor, min: _float | _complex | None = None, max: _float | _complex | None = None) -> Tensor: ...

@_overload
def clamp_max(input: Tensor, max: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` not above ``max``."""
@_overload
def clamp_max(input: Tensor, max: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def clamp_max_(input: Tensor, max: Tensor) -> Tensor:
    """``input`` not above ``max``."""
@_overload
def clamp_max_(input: Tensor, max: _float | _complex) -> Tensor: ...

@_overload
def clamp_min(input: Tensor, min: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` not below ``min``."""
@_overload
def clamp_min(input: Tensor, min: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def clamp_min_(input: Tensor, min: Tensor) -> Tensor:
    """``input`` not below ``min``."""
@_overload
def clamp_min_(input: Tensor, min: _float | _complex) -> Tensor: ...

@_overload
def clip(input: Tensor, min: Tensor | None = None, max: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input`` not below ``min`` and not above ``max``."""
@_overload
def clip(input: Tensor, min: _float | _complex | None = None, max: _float | _complex | None = None, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def clip_(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
    """:func:`clamp` over ``self``."""
@_overload
def clip_(input: Tensor, min: _float | _complex | None = None, max: _float | _complex | None = None) -> Tensor: ...

def clone(input: Tensor, *, memory_format: _memory_format | None = None, out: Tensor | None = None) -> Tensor:
    """A differentiable copy."""

def col_indices_copy(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """What ``col_indices`` views, as a tensor of its own; arguments: none."""

def column_stack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along their second axis, vectors being columns."""

def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> _Any:
    """The rows of ``r`` elements that can be taken from a vector, in order."""

def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex tensor with these parts."""

complex32: _DType

def concat(tensors: _Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after another along ``dim``."""

def concatenate(tensors: _Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after another along ``dim``."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugate."""

def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate."""

def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate."""

@_overload
def copysign(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: abs(x) with the sign of y."""
@_overload
def copysign(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def copysign_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`copysign` of the tensor and ``other``, written over it; its type stays."""
@_overload
def copysign_(input: Tensor, other: _float | _complex) -> Tensor: ...

def corrcoef(input: Tensor) -> Tensor:
    """The covariances of the rows over the products of their standard deviations."""

def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: cos(x), x in radians."""

def cos_(input: Tensor) -> Tensor:
    """:func:`cos` of the tensor, written over it; its type stays."""

def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: (e ** x + e ** -x) / 2."""

def cosh_(input: Tensor) -> Tensor:
    """:func:`cosh` of the tensor, written over it; its type stays."""

@_overload
def count_nonzero(input: Tensor, dim: _int | None = None) -> Tensor:
    """How many elements are not 0."""
@_overload
def count_nonzero(input: Tensor, dim: _Sequence[_int]) -> Tensor: ...

def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of the rows of ``input``, whose columns are observations."""

def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The vector product along an axis of length 3 (the first such axis by default)."""

def crow_indices_copy(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """What ``crow_indices`` views, as a tensor of its own; arguments: none."""

def cummax(input: Tensor, dim: _int, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.cummax:
    """The running maximum along ``dim`` and its place."""

def cummin(input: Tensor, dim: _int, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.cummin:
    """The running minimum along ``dim`` and its place."""

def cumprod(input: Tensor, dim: _int, *, dtype: _DType | type | None = None, out: Tensor | None = None) -> Tensor:
    """The running product along ``dim``."""

def cumprod_(input: Tensor, dim: _int, *, dtype: _DType | type | None = None) -> Tensor:
    """The running product along ``dim``."""

def cumsum(input: Tensor, dim: _int, *, dtype: _DType | type | None = None, out: Tensor | None = None) -> Tensor:
    """The running sum along ``dim``."""

def cumsum_(input: Tensor, dim: _int, *, dtype: _DType | type | None = None) -> Tensor:
    """The running sum along ``dim``."""

@_overload
def cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: _int = -1) -> Tensor:
    """The integrals of ``y`` from the beginning up to every place along ``dim``."""
@_overload
def cumulative_trapezoid(y: Tensor, *, dx: _float | _complex = 1, dim: _int = -1) -> Tensor: ...

def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: x * pi / 180."""

def deg2rad_(input: Tensor) -> Tensor:
    """:func:`deg2rad` of the tensor, written over it; its type stays."""

@_overload
def dequantize(input: Tensor) -> _Any:
    """The numbers that levels stand for; of a tensor that is not quantised, float32 of it."""
@_overload
def dequantize(tensors: _Sequence[Tensor]) -> _Any: ...

def det(input: Tensor) -> Tensor:
    """The determinant."""

def detach(input: Tensor) -> Tensor:
    """``input.detach()``."""

def detach_(input: Tensor) -> Tensor:
    """``input.detach_()``."""

def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What ``detach`` views, as a tensor of its own; arguments: none."""

def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A vector on a diagonal of a matrix; a matrix' diagonal as a vector."""

def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """The last axis on a diagonal of two new axes, zeros elsewhere."""

def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """All elements, in one row, on a diagonal of a matrix."""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonal of the axes ``dim1``, ``dim2``, as the last axis; a view."""

def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """What ``diagonal`` views, as a tensor of its own; arguments: offset, dim1, dim2."""

def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``src`` in the place of a diagonal."""

def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The differences of neighbours along ``dim``, taken ``n`` times."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the derivative of lgamma at x."""

def digamma_(input: Tensor) -> Tensor:
    """:func:`digamma` of the tensor, written over it; its type stays."""

def dist(input: Tensor, other: Tensor, p: _float | _complex = 2) -> Tensor:
    """The norm of ``input - other``."""

@_overload
def div(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input / other``, rounded down ("floor") or towards zero ("trunc") on request."""
@_overload
def div(input: Tensor, other: Tensor, *, rounding_mode: _str | None, out: Tensor | None = None) -> Tensor: ...
@_overload
def div(input: Tensor, other: _float | _complex, *, rounding_mode: _str | None) -> Tensor: ...

@_overload
def divide(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input / other``, rounded down ("floor") or towards zero ("trunc") on request."""
@_overload
def divide(input: Tensor, other: Tensor, *, rounding_mode: _str | None, out: Tensor | None = None) -> Tensor: ...
@_overload
def divide(input: Tensor, other: _float | _complex) -> Tensor: ...
@_overload
def divide(input: Tensor, other: _float | _complex, *, rounding_mode: _str | None) -> Tensor: ...

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products of two vectors."""

@_overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """``input`` split along its third axis."""
@_overload
def dsplit(input: Tensor, indices: _Sequence[_int]) -> tuple[Tensor, ...]: ...

def dstack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along their third axis."""

def einsum(equation: _Any = None, *operands: _Any) -> _Any:
    """Sums of products of elements, described by letters for axes."""

@_overload
def empty(size: _Sequence[_int], *, memory_format: _memory_format | None = None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Uninitialised memory in the shape ``size``, of the default type unless given."""
@_overload
def empty(*size: _int, memory_format: _memory_format | None = None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def empty_like(input: Tensor, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = None, memory_format: _memory_format | None = None, requires_grad: _bool | None = False) -> Tensor:
    """Uninitialised memory in the shape, and unless given the type and layout, of ``input``."""

def empty_permuted(size: _Sequence[_int], physical_layout: _Sequence[_int], *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """An uninitialised tensor whose axes lie in memory in the order given, the last ones closest"""

def empty_strided(size: _Sequence[_int], stride: _Sequence[_int], *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """An uninitialised tensor with the shape and strides given."""

@_overload
def eq(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x == y."""
@_overload
def eq(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def eq_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`eq` of the tensor and ``other``, written over it; its type stays."""
@_overload
def eq_(input: Tensor, other: _float | _complex) -> Tensor: ...

def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether both have the same shape and the same elements."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: 2 / sqrt(pi) times the integral of e ** -t**2 from 0 to x."""

def erf_(input: Tensor) -> Tensor:
    """:func:`erf` of the tensor, written over it; its type stays."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: 1 - erf(x)."""

def erfc_(input: Tensor) -> Tensor:
    """:func:`erfc` of the tensor, written over it; its type stays."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: y with erf(y) = x."""

def erfinv_(input: Tensor) -> Tensor:
    """:func:`erfinv` of the tensor, written over it; its type stays."""

def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: e ** x."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: 2 ** x."""

def exp2_(input: Tensor) -> Tensor:
    """:func:`exp2` of the tensor, written over it; its type stays."""

def exp_(input: Tensor) -> Tensor:
    """:func:`exp` of the tensor, written over it; its type stays."""

def expand_copy(input: Tensor, size: _Sequence[_int], *, implicit: _bool = False, out: Tensor | None = None) -> Tensor:
    """What ``expand`` views, as a tensor of its own; arguments: size, implicit."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: e ** x - 1."""

def expm1_(input: Tensor) -> Tensor:
    """:func:`expm1` of the tensor, written over it; its type stays."""

@_overload
def eye(n: _int, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """The n x m matrix with ones on its diagonal."""
@_overload
def eye(n: _int, m: _int, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point for each index of ``axis``."""

@_overload
def fake_quantize_per_tensor_affine(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: _int, quant_max: _int) -> _Any:
    """``(clamp(round(x / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``."""
@_overload
def fake_quantize_per_tensor_affine(input: Tensor, scale: _float, zero_point: _int, quant_min: _int, quant_max: _int) -> _Any: ...

@_overload
def fill(input: Tensor, value: Tensor) -> Tensor:
    """A tensor like ``input`` whose every element is ``value``."""
@_overload
def fill(input: Tensor, value: _float | _complex) -> Tensor: ...

@_overload
def fill_(input: Tensor, value: Tensor) -> Tensor:
    """Write ``value`` over every element."""
@_overload
def fill_(input: Tensor, value: _float | _complex) -> Tensor: ...

def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: x without its fraction."""

def fix_(input: Tensor) -> Tensor:
    """:func:`fix` of the tensor, written over it; its type stays."""

def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Axes ``start_dim`` to ``end_dim`` made one."""

def flip(input: Tensor, dims: _Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """``input`` backwards along ``dims``."""

def fliplr(input: Tensor) -> Tensor:
    """``input`` with axis 1 reversed."""

def flipud(input: Tensor) -> Tensor:
    """``input`` with axis 0 reversed."""

float4_e2m1fn_x2: _DType

float8_e4m3fn: _DType

float8_e4m3fnuz: _DType

float8_e5m2: _DType

float8_e5m2fnuz: _DType

float8_e8m0fnu: _DType

@_overload
def float_power(input: Tensor, exponent: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent`` in double precision."""
@_overload
def float_power(self: _float | _complex, exponent: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def float_power(input: Tensor, exponent: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def float_power_(input: Tensor, exponent: Tensor) -> Tensor:
    """``input ** exponent`` in double precision."""
@_overload
def float_power_(self: _float | _complex, exponent: Tensor) -> Tensor: ...
@_overload
def float_power_(input: Tensor, exponent: _float | _complex) -> Tensor: ...

def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the greatest integer not above x."""

def floor_(input: Tensor) -> Tensor:
    """:func:`floor` of the tensor, written over it; its type stays."""

@_overload
def floor_divide(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: floor(x / y)."""
@_overload
def floor_divide(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def floor_divide_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`floor_divide` of the tensor and ``other``, written over it; its type stays."""
@_overload
def floor_divide_(input: Tensor, other: _float | _complex) -> Tensor: ...

def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the greater of both; nan only if both are."""

def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the lesser of both; nan only if both are."""

@_overload
def fmod(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x - trunc(x / y) * y: the remainder with the sign of x."""
@_overload
def fmod(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def fmod_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`fmod` of the tensor and ``other``, written over it; its type stays."""
@_overload
def fmod_(input: Tensor, other: _float | _complex) -> Tensor: ...

def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: x - trunc(x)."""

def frac_(input: Tensor) -> Tensor:
    """:func:`frac` of the tensor, written over it; its type stays."""

def frexp(input: Tensor, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.frexp:
    """``input`` as ``mantissa * 2 ** exponent`` with the mantissa's size in [1/2, 1)."""

def from_numpy(ndarray: _Any) -> Tensor:
    """A tensor that shares the array's memory."""

def frombuffer(buffer: _Any, *, dtype: _DType | type, count: _int = -1, offset: _int = 0, requires_grad: _bool = False) -> Tensor:
    """A 1-d tensor over the memory of a Python buffer."""

def full(size: _Sequence[_int], fill_value: _float | _complex, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """A tensor with every element ``fill_value``, which decides the type unless it is given."""

def full_like(input: Tensor, fill_value: _float | _complex, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = None, memory_format: _memory_format | None = None, requires_grad: _bool | None = False) -> Tensor:
    """``fill_value`` in the shape, and unless given the type, layout and device, of ``input``."""

def fused_moving_avg_obs_fake_quant(input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor, zero_point: Tensor, averaging_const: _float, quant_min: _int, quant_max: _int, ch_axis: _int, per_row_fake_quant: _bool = False, symmetric_quant: _bool = False) -> _Any:
    """Follow the range of a tensor, and put it on the levels that the range asks for."""

def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim`` 0."""

def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the greatest common divisor of integers."""

def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`gcd` of the tensor and ``other``, written over it; its type stays."""

@_overload
def ge(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x >= y."""
@_overload
def ge(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def ge_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`ge` of the tensor and ``other``, written over it; its type stays."""
@_overload
def ge_(input: Tensor, other: _float | _complex) -> Tensor: ...

def geqrf(input: Tensor, *, out: _Sequence[Tensor] | Tensor | None = None) -> _Any:
    """``R`` with the reflectors that make ``Q`` below its diagonal, and their factors."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of all pairs of elements of two vectors."""

def get_device(input: Tensor) -> _int:
    """``input.get_device()``."""

@_overload
def gradient(input: Tensor, *, dim: _Sequence[_int], edge_order: _int = 1) -> tuple[Tensor, ...]:
    """Derivatives of a sampled function along its axes, by differences of second order."""
@_overload
def gradient(input: Tensor, *, spacing: _float | _complex | None, dim: _Sequence[_int], edge_order: _int = 1) -> tuple[Tensor, ...]: ...
@_overload
def gradient(input: Tensor, *, spacing: _float | _complex | None = None, dim: _int | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]: ...
@_overload
def gradient(input: Tensor, *, spacing: _Sequence[_float | _complex], dim: _int | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]: ...
@_overload
def gradient(input: Tensor, *, spacing: _Sequence[_float | _complex], dim: _Sequence[_int], edge_order: _int = 1) -> tuple[Tensor, ...]: ...
@_overload
def gradient(input: Tensor, *, spacing: _Sequence[Tensor], dim: _int | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]: ...
@_overload
def gradient(input: Tensor, *, spacing: _Sequence[Tensor], dim: _Sequence[_int], edge_order: _int = 1) -> tuple[Tensor, ...]: ...

@_overload
def greater(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x > y."""
@_overload
def greater(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def greater_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`greater` of the tensor and ``other``, written over it; its type stays."""
@_overload
def greater_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def greater_equal(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x >= y."""
@_overload
def greater_equal(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def greater_equal_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`greater_equal` of the tensor and ``other``, written over it; its type stays."""
@_overload
def greater_equal_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def gt(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x > y."""
@_overload
def gt(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def gt_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`gt` of the tensor and ``other``, written over it; its type stays."""
@_overload
def gt_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def hamming_window(window_length: _int, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """``alpha - beta cos(2 pi n / (N - 1))``; ``periodic`` drops the last of N + 1."""
@_overload
def hamming_window(window_length: _int, periodic: _bool, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def hamming_window(window_length: _int, periodic: _bool, alpha: _float, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def hamming_window(window_length: _int, periodic: _bool, alpha: _float, beta: _float, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def hann_window(window_length: _int, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """``sin(pi n / (N - 1))**2``; ``periodic`` drops the last of N + 1."""
@_overload
def hann_window(window_length: _int, periodic: _bool, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def hardshrink(input: Tensor, lambd: _float | _complex = 0.5, *, out: Tensor | None = None) -> Tensor:
    """``x`` outside of ``[-lambd, lambd]``, else 0."""

def hash_tensor(input: Tensor, dim: _Sequence[_int] | _int | None = None, *, keepdim: _bool = False, mode: _int = 0, out: Tensor | None = None) -> Tensor:
    """The exclusive or of the elements' bits as float64 or int64, as uint64."""

def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below zero, 1 above, ``values`` at zero."""

def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """0 below zero, 1 above, ``values`` at zero."""

def histc(input: Tensor, bins: _int = 100, min: _float | _complex = 0, max: _float | _complex = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements fall into each of ``bins`` bins of equal width."""

@_overload
def histogram(input: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: _bool = False, out: _Sequence[Tensor] | None = None) -> _return_types.histogram:
    """How many elements (or what ``weight``) lie in each bin, and the edges of the bins."""
@_overload
def histogram(input: Tensor, bins: _int = 100, *, range: _Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False, out: _Sequence[Tensor] | None = None) -> _return_types.histogram: ...

@_overload
def histogramdd(input: Tensor, bins: _int, range: _Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _Any:
    """:func:`histogram` of points along the last axis; ``bins`` is a number, numbers or edges."""
@_overload
def histogramdd(input: Tensor, bins: _Sequence[_int], range: _Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _Any: ...
@_overload
def histogramdd(input: Tensor, bins: _Sequence[Tensor], range: _Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _Any: ...

@_overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """``input`` split along its second axis (its only one): into equal parts, or at places."""
@_overload
def hsplit(input: Tensor, indices: _Sequence[_int]) -> tuple[Tensor, ...]: ...

def hstack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along their second axis (the only one of vectors)."""

def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: sqrt(x * x + y * y)."""

def hypot_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`hypot` of the tensor and ``other``, written over it; its type stays."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the modified Bessel function of the first kind of order 0 at x."""

def i0_(input: Tensor) -> Tensor:
    """:func:`i0` of the tensor, written over it; its type stays."""

def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the regularised lower incomplete gamma function P(x, y)."""

def igamma_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`igamma` of the tensor and ``other``, written over it; its type stays."""

def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the regularised upper incomplete gamma function 1 - P(x, y)."""

def igammac_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`igammac` of the tensor and ``other``, written over it; its type stays."""

def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view."""

def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input`` with ``alpha * source`` added to the slices that ``index`` names."""

def index_add_(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _float | _complex = 1) -> Tensor:
    """``input`` with ``alpha * source`` added to the slices that ``index`` names."""

def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``source`` in place of the slices that ``index`` names."""

def index_copy_(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """``input`` with ``source`` in place of the slices that ``index`` names."""

@_overload
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor) -> Tensor:
    """``input`` with ``value`` in the slices that ``index`` names."""
@_overload
def index_fill(input: Tensor, dim: _int, index: Tensor, value: _float | _complex) -> Tensor: ...

@_overload
def index_fill_(input: Tensor, dim: _int, index: Tensor, value: Tensor) -> Tensor:
    """``input`` with ``value`` in the slices that ``index`` names."""
@_overload
def index_fill_(input: Tensor, dim: _int, index: Tensor, value: _float | _complex) -> Tensor: ...

def index_put(input: Tensor, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``values`` written (added) at ``indices``, a tuple of index tensors."""

def index_put_(input: Tensor, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> _Any:
    """``input`` with ``values`` written (added) at ``indices``, a tuple of index tensors."""

def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """``input`` with the slices of ``source`` that meet at a slice folded by ``reduce``."""

def index_reduce_(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
    """``input`` with the slices of ``source`` that meet at a slice folded by ``reduce``."""

def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of ``input`` that ``index`` names along ``dim``."""

def indices_copy(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """What ``indices`` views, as a tensor of its own; arguments: none."""

def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sums of products over the last axes."""

int1: _DType

int2: _DType

int3: _DType

int4: _DType

int5: _DType

int6: _DType

int7: _DType

def int_repr(input: Tensor) -> _Any:
    """The levels of a quantised tensor, as int8, uint8 or int32."""

def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices; LinAlgError where one is singular."""

def is_complex(input: Tensor) -> _bool:
    """``input.is_complex()``."""

def is_conj(input: Tensor) -> _bool:
    """``input.is_conj()``."""

def is_distributed(input: Tensor) -> _bool:
    """False: no tensor lies on several devices."""

def is_floating_point(input: Tensor) -> _bool:
    """``input.is_floating_point()``."""

def is_inference(input: Tensor) -> _bool:
    """``input.is_inference()``."""

def is_neg(input: Tensor) -> _bool:
    """``input.is_neg()``."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the only element is not 0."""

def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether the shapes are equal."""

def is_signed(input: Tensor) -> _bool:
    """``input.is_signed()``."""

def is_storage(obj: _Any) -> _bool:
    """Whether ``obj`` is a typed or untyped storage."""

def is_tensor(obj: _Any) -> _bool:
    """Whether ``obj`` is a tensor."""

def isclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = False) -> Tensor:
    """``abs(input - other) <= atol + rtol * abs(other)``, equal infinities included."""

def isfinite(input: Tensor) -> Tensor:
    """Of each element x: whether x is neither nan nor infinite."""

@_overload
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None) -> Tensor:
    """Where an element of ``elements`` is among ``test_elements``."""
@_overload
def isin(element: _float | _complex, test_elements: Tensor, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None) -> Tensor: ...
@_overload
def isin(elements: Tensor, test_element: _float | _complex, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None) -> Tensor: ...

def isinf(input: Tensor) -> Tensor:
    """Of each element x: whether x is inf or -inf."""

def isnan(input: Tensor) -> Tensor:
    """Of each element x: whether x is nan."""

def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is -inf."""

def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where ``input`` is +inf."""

def isreal(input: Tensor) -> Tensor:
    """Where the imaginary part is 0."""

def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> _Any:
    """The signal of ``length`` points whose :func:`stft` is nearest to ``input``: the inverse"""

@_overload
def kaiser_window(window_length: _int, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """``i0(beta sqrt(1 - (2 n / (N - 1) - 1)**2)) / i0(beta)``; ``periodic`` drops the last of"""
@_overload
def kaiser_window(window_length: _int, periodic: _bool, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def kaiser_window(window_length: _int, periodic: _bool, beta: _float, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product."""

def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.kthvalue:
    """The ``k``-th least element along ``dim`` and its place."""

def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the least common multiple of integers."""

def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`lcm` of the tensor and ``other``, written over it; its type stays."""

def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``."""

def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``."""

@_overload
def le(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x <= y."""
@_overload
def le(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def le_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`le` of the tensor and ``other``, written over it; its type stays."""
@_overload
def le_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def lerp(input: Tensor, end: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input + weight * (end - input)``."""
@_overload
def lerp(input: Tensor, end: Tensor, weight: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def less(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x < y."""
@_overload
def less(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def less_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`less` of the tensor and ``other``, written over it; its type stays."""
@_overload
def less_(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def less_equal(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x <= y."""
@_overload
def less_equal(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def less_equal_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`less_equal` of the tensor and ``other``, written over it; its type stays."""
@_overload
def less_equal_(input: Tensor, other: _float | _complex) -> Tensor: ...

def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: log(abs(gamma(x)))."""

def lgamma_(input: Tensor) -> Tensor:
    """:func:`lgamma` of the tensor, written over it; its type stays."""

@_overload
def linspace(start: Tensor, end: Tensor, steps: _int, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """``steps`` values from ``start`` to ``end`` with equal distances."""
@_overload
def linspace(start: _float | _complex, end: Tensor, steps: _int, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def linspace(start: Tensor, end: _float | _complex, steps: _int, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def linspace(start: _float | _complex, end: _float | _complex, steps: _int, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def lobpcg(A: _Any, k: _int | None = None, B: _Any = None, X: _Any = None, n: _int | None = None, iK: _Any = None, niter: _int | None = None, tol: _float | None = None, largest: _bool | None = None, method: _str | None = None, tracker: _Any = None, ortho_iparams: _Any = None, ortho_fparams: _Any = None, ortho_bparams: _Any = None) -> _Any:
    """(eigenvalues, eigenvectors): the ``k`` greatest or least of ``A x = lambda B x``."""

def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the logarithm of x to the base e."""

def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the logarithm of x to the base 10."""

def log10_(input: Tensor) -> Tensor:
    """:func:`log10` of the tensor, written over it; its type stays."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: log(1 + x)."""

def log1p_(input: Tensor) -> Tensor:
    """:func:`log1p` of the tensor, written over it; its type stays."""

def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: the logarithm of x to the base 2."""

def log2_(input: Tensor) -> Tensor:
    """:func:`log2` of the tensor, written over it; its type stays."""

def log_(input: Tensor) -> Tensor:
    """:func:`log` of the tensor, written over it; its type stays."""

def log_softmax(input: Tensor, dim: _int, dtype: _DType | type | None = None, *, out: Tensor | None = None) -> Tensor:
    """``x - log(sum(exp(x)))`` along ``dim``, of ``x`` cast to ``dtype``."""

def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: log(e ** x + e ** y)."""

def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: log2(2 ** x + 2 ** y)."""

def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the running sum of exponentials along ``dim``."""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where it is negative."""

def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: whether both are not 0."""

def logical_and_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`logical_and` of the tensor and ``other``, written over it; its type stays."""

def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: whether x is 0."""

def logical_not_(input: Tensor) -> Tensor:
    """:func:`logical_not` of the tensor, written over it; its type stays."""

def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: whether one is not 0."""

def logical_or_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`logical_or` of the tensor and ``other``, written over it; its type stays."""

def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: whether just one is not 0."""

def logical_xor_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`logical_xor` of the tensor and ``other``, written over it; its type stays."""

def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(x / (1 - x))`` of ``input``, kept within ``[eps, 1 - eps]`` when ``eps`` is given."""

def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """``log(x / (1 - x))`` of ``input``, kept within ``[eps, 1 - eps]`` when ``eps`` is given."""

@_overload
def logspace(start: Tensor, end: Tensor, steps: _int, base: _float = 10.0, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """``base`` to the powers of :func:`linspace`."""
@_overload
def logspace(start: _float | _complex, end: Tensor, steps: _int, base: _float = 10.0, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def logspace(start: Tensor, end: _float | _complex, steps: _int, base: _float = 10.0, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def logspace(start: _float | _complex, end: _float | _complex, steps: _int, base: _float = 10.0, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def logsumexp(input: Tensor, dim: _Sequence[_int] | _int, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``log(sum(exp(input)))``."""

@_overload
def lt(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x < y."""
@_overload
def lt(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def lt_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`lt` of the tensor and ``other``, written over it; its type stays."""
@_overload
def lt_(input: Tensor, other: _float | _complex) -> Tensor: ...

def lu(A: _Any, pivot: _bool = True, get_infos: _bool = False, out: Tensor | None = None) -> _Any:
    """``L`` and ``U`` in one matrix, the exchanged rows, and (``get_infos``) LAPACK's numbers."""

def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> _Any:
    """``X`` with ``A X = b`` from the factors of ``A``."""

def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.lu_unpack:
    """``P``, ``L`` and ``U`` from the factors in one matrix; empty what is not asked for."""

@_overload
def masked_fill(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """``value`` where ``mask``, else ``input``."""
@_overload
def masked_fill(input: Tensor, mask: Tensor, value: _float | _complex) -> Tensor: ...

@_overload
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """``value`` where ``mask``, else ``input``."""
@_overload
def masked_fill_(input: Tensor, mask: Tensor, value: _float | _complex) -> Tensor: ...

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` with the elements of ``source``, in order, where ``mask``."""

def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``input`` with the elements of ``source``, in order, where ``mask``."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> _Any:
    """The elements where ``mask``, in one row."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of matrices (the last two axes), vectors and batches of them."""

def matrix_exp(input: Tensor) -> Tensor:
    """The exponential, by scaling and squaring of a Taylor polynomial of degree 18."""

def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """``A`` multiplied by itself ``n`` times; its inverse for negative ``n``."""

@_overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The maximum of all elements; with ``dim`` also its place; of two tensors' elements."""
@_overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Sequence[Tensor] | None = None) -> _return_types.max: ...

def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the greater of both; nan if one is nan."""

@_overload
def mean(input: Tensor, *, dtype: _DType | type | None = None, out: Tensor | None = None) -> Tensor:
    """The mean over ``dim`` (all axes by default)."""
@_overload
def mean(input: Tensor, dim: _Sequence[_int] | _int | None, keepdim: _bool = False, *, dtype: _DType | type | None = None, out: Tensor | None = None) -> Tensor: ...

@_overload
def median(input: Tensor) -> Tensor:
    """The lower median of the elements: of all, or along ``dim`` with its place."""
@_overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Sequence[Tensor] | None = None) -> _return_types.median: ...

def meshgrid(*tensors: _Any, indexing: _str | None = None) -> _Any:
    """The coordinates of a grid, one tensor for each axis ("ij" or "xy" order)."""

@_overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The minimum of all elements; with ``dim`` also its place; of two tensors' elements."""
@_overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Sequence[Tensor] | None = None) -> _return_types.min: ...

def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the lesser of both; nan if one is nan."""

@_overload
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
@_overload
def mm(input: Tensor, mat2: Tensor, out_dtype: _DType | type, *, out: Tensor | None = None) -> Tensor: ...

def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.mode:
    """The commonest value along ``dim`` and its last place."""

@_overload
def moveaxis(input: Tensor, source: _int, destination: _int) -> Tensor:
    """Move axes ``source`` to the places ``destination``."""
@_overload
def moveaxis(input: Tensor, source: _Sequence[_int], destination: _Sequence[_int]) -> Tensor: ...

@_overload
def movedim(input: Tensor, source: _int, destination: _int) -> Tensor:
    """Move axes ``source`` to the places ``destination``."""
@_overload
def movedim(input: Tensor, source: _Sequence[_int], destination: _Sequence[_int]) -> Tensor: ...

def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` sorted along its first axis."""

def mul(input: Tensor, other: Tensor | _float | _complex, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x * y."""

def mul_(input: Tensor, other: Tensor | _float | _complex) -> Tensor:
    """:func:`mul` of the tensor and ``other``, written over it; its type stays."""

def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Indices drawn with the (unnormalised) probabilities in each row of ``input``."""

@_overload
def multiply(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x * y."""
@_overload
def multiply(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def multiply_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`multiply` of the tensor and ``other``, written over it; its type stays."""
@_overload
def multiply_(input: Tensor, other: _float | _complex) -> Tensor: ...

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""

def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""

def mvlgamma_(input: Tensor, p: _int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""

def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """nan, inf and -inf replaced: by 0 and the type's limits unless given."""

def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
    """nan, inf and -inf replaced: by 0 and the type's limits unless given."""

def nanmean(input: Tensor, dim: _Sequence[_int] | _int | None = None, keepdim: _bool = False, *, dtype: _DType | type | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of the elements that are numbers."""

@_overload
def nanmedian(input: Tensor) -> Tensor:
    """The lower median of the elements that are numbers: of all, or along ``dim`` with its place."""
@_overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Sequence[Tensor] | None = None) -> _return_types.nanmedian: ...

@_overload
def nanquantile(input: Tensor, q: Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = ..., out: Tensor | None = None) -> Tensor:
    """The ``q``-th quantile of the elements that are numbers."""
@_overload
def nanquantile(input: Tensor, q: _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = ..., out: Tensor | None = None) -> Tensor: ...

def nansum(input: Tensor, dim: _Sequence[_int] | _int | None = None, keepdim: _bool = False, *, dtype: _DType | type | None = None, out: Tensor | None = None) -> Tensor:
    """The sum, nan counted as 0."""

@_overload
def narrow(input: Tensor, dim: _int, start: Tensor, length: _int) -> Tensor:
    """``length`` places of axis ``dim`` from ``start``."""
@_overload
def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor: ...

def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
    """What ``narrow`` views, as a tensor of its own."""

@_overload
def ne(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x != y."""
@_overload
def ne(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def ne_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`ne` of the tensor and ``other``, written over it; its type stays."""
@_overload
def ne_(input: Tensor, other: _float | _complex) -> Tensor: ...

def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: -x."""

def neg_(input: Tensor) -> Tensor:
    """:func:`neg` of the tensor, written over it; its type stays."""

def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: -x."""

def negative_(input: Tensor) -> Tensor:
    """:func:`negative` of the tensor, written over it; its type stays."""

def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: the number next to x towards y."""

def nextafter_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`nextafter` of the tensor and ``other``, written over it; its type stays."""

def nonzero(input: Tensor, *, as_tuple: _bool = False, out: Tensor | None = None) -> _Any:
    """The coordinates of the elements that are not 0: one row each, or a tuple by axis."""

def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """The first ``size`` rows of ``nonzero``, filled up with ``fill_value``."""

def norm(input: Tensor, p: _Any = 'fro', dim: _Any = None, keepdim: _bool = False, dtype: _Any = None, *, out: Tensor | None = None) -> _Any:
    """The vector norm of order ``p`` over ``dim``; "nuc": the sum of singular values."""

@_overload
def normal(mean: Tensor, std: Tensor, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Normal numbers; ``mean`` and ``std`` may be tensors."""
@_overload
def normal(mean: Tensor, std: _float = 1, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor: ...
@_overload
def normal(mean: _float, std: Tensor, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor: ...
@_overload
def normal(mean: _float, std: _float, size: _Sequence[_int], *, generator: _Generator | None = None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def not_equal(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x != y."""
@_overload
def not_equal(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def not_equal_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`not_equal` of the tensor and ``other``, written over it; its type stays."""
@_overload
def not_equal_(input: Tensor, other: _float | _complex) -> Tensor: ...

def numel(input: Tensor) -> _int:
    """``input.numel()``."""

@_overload
def ones(size: _Sequence[_int], *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Ones in the shape ``size``, of the default type unless given."""
@_overload
def ones(*size: _int, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def ones_like(input: Tensor, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = None, memory_format: _memory_format | None = None, requires_grad: _bool | None = False) -> Tensor:
    """Ones in the shape, and unless given the type and layout, of ``input``."""

def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of ``H[0] H[1] ...`` with ``H[i] = 1 - tau[i] v[i] v[i]^H``, where"""

def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``Q other`` (``other Q``), or with the adjoint of the ``Q`` that :func:`geqrf` encodes."""

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of all pairs of elements of two vectors."""

def pca_lowrank(A: _Any, q: _int | None = None, center: _bool = True, niter: _int = 2) -> _Any:
    """The singular values and vectors of ``A``, of which (``center``) the columns' means are"""

def permute(input: Tensor, dims: _Sequence[_int]) -> Tensor:
    """``input`` with its axes in the order ``dims``."""

def permute_copy(input: Tensor, dims: _Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """What ``permute`` views, as a tensor of its own; arguments: dims."""

def pinverse(input: Tensor, rcond: _float = ...) -> Tensor:
    """The Moore-Penrose inverse; singular values up to ``max(atol, rtol * the greatest)`` count"""

def poisson(input: Tensor, generator: _Generator | None = None, *, out: Tensor | None = None) -> Tensor:
    """Poisson numbers with the rates in ``input``."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``abs * (cos(angle) + i sin(angle))``."""

def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The ``n``-th derivative of digamma."""

def polygamma_(n: _int, input: Tensor) -> _Any:
    """The ``n``-th derivative of digamma."""

def positive(input: Tensor) -> Tensor:
    """``+input``."""

@_overload
def pow(input: Tensor, exponent: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``."""
@_overload
def pow(self: _float | _complex, exponent: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def pow(input: Tensor, exponent: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where x > 0, else weight * x; one weight, or one for each channel (axis 1)."""

@_overload
def prod(input: Tensor, *, dtype: _DType | type | None = None) -> Tensor:
    """The product over one axis, or of all elements."""
@_overload
def prod(input: Tensor, dim: _int, keepdim: _bool = False, *, dtype: _DType | type | None = None, out: Tensor | None = None) -> Tensor: ...

def promote_types(type1: _DType | type, type2: _DType | type) -> _DType:
    """The smallest type that holds the values of both."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``input`` read as one row, with ``source`` written (added) at ``index``."""

def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """``input`` read as one row, with ``source`` written (added) at ``index``."""

def q_per_channel_axis(input: Tensor) -> _int:
    """The axis by which a tensor was quantised."""

def q_per_channel_scales(input: Tensor) -> _Any:
    """The scale for each index of the axis by which a tensor was quantised."""

def q_per_channel_zero_points(input: Tensor) -> _Any:
    """The level that stands for 0, for each index of the axis by which a tensor was quantised."""

def q_scale(input: Tensor) -> _float:
    """What lies between two levels of a tensor that was quantised with one scale."""

def q_zero_point(input: Tensor) -> _int:
    """The level that stands for 0 in a tensor that was quantised with one scale."""

qint32: _DType

qint8: _DType

def qr(input: Tensor, some: _bool = True, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.qr:
    """The QR factors."""

@_overload
def quantile(input: Tensor, q: Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = ..., out: Tensor | None = None) -> Tensor:
    """The ``q``-th quantile along ``dim``; nan where one is met."""
@_overload
def quantile(input: Tensor, q: _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = ..., out: Tensor | None = None) -> Tensor: ...

quint2x4: _DType

quint4x2: _DType

quint8: _DType

def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: x * 180 / pi."""

def rad2deg_(input: Tensor) -> Tensor:
    """:func:`rad2deg` of the tensor, written over it; its type stays."""

@_overload
def rand(size: _Sequence[_int], *, generator: _Generator | None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Numbers spread evenly over [0, 1), in the shape ``size``."""
@_overload
def rand(*size: _int, generator: _Generator | None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def rand(size: _Sequence[_int], *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def rand(*size: _int, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def rand_like(input: Tensor, *, generator: _Generator | None, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Numbers spread evenly over [0, 1), in the shape, and unless given the type and device, of ``input``."""
@_overload
def rand_like(input: Tensor, *, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def randint(high: _int, size: _Sequence[_int], *, generator: _Generator | None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Integers from ``low`` (0) up to but not including ``high``."""
@_overload
def randint(high: _int, size: _Sequence[_int], *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def randint(low: _int, high: _int, size: _Sequence[_int], *, generator: _Generator | None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def randint(low: _int, high: _int, size: _Sequence[_int], *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def randint_like(input: Tensor, low: _int, high: _int, *, generator: _Generator | None, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Integers from ``low`` (0) up to, not including, ``high``, in ``input``'s shape and type."""
@_overload
def randint_like(input: Tensor, low: _int, high: _int, *, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def randint_like(input: Tensor, high: Tensor, *, generator: _Generator | None, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def randint_like(input: Tensor, high: Tensor, *, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def randint_like(input: Tensor, high: _int, *, generator: _Generator | None, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def randint_like(input: Tensor, high: _int, *, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def randn(size: _Sequence[_int], *, generator: _Generator | None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Normal numbers, in the shape ``size``."""
@_overload
def randn(*size: _int, generator: _Generator | None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def randn(size: _Sequence[_int], *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...
@_overload
def randn(*size: _int, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def randn_like(input: Tensor, *, generator: _Generator | None, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Normal numbers, in the shape, and unless given the type and device, of ``input``."""
@_overload
def randn_like(input: Tensor, *, memory_format: _memory_format | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

@_overload
def randperm(n: _int, *, generator: _Generator | None, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """A random order of 0 .. n - 1, of int64 or of ``out``'s type."""
@_overload
def randperm(n: _int, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def range(start: _float | _complex, end: _float | _complex, step: _float | _complex = 1, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """``start``, ``start + step``, ... up to and with ``end``; torch.arange replaces it."""

def ravel(input: Tensor) -> Tensor:
    """The elements in C order along one axis, side by side; a view where they lie so."""

def real(input: Tensor) -> Tensor:
    """The real part: a view of a complex tensor, a real one itself."""

def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: 1 / x."""

def reciprocal_(input: Tensor) -> Tensor:
    """:func:`reciprocal` of the tensor, written over it; its type stays."""

def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: max(x, 0)."""

def relu_(input: Tensor) -> Tensor:
    """:func:`relu` of the tensor, written over it; its type stays."""

@_overload
def remainder(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x - floor(x / y) * y: the remainder with the sign of y."""
@_overload
def remainder(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def remainder(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def remainder_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`remainder` of the tensor and ``other``, written over it; its type stays."""
@_overload
def remainder_(self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def remainder_(input: Tensor, other: _float | _complex) -> Tensor: ...

def renorm(input: Tensor, p: _float | _complex, dim: _int, maxnorm: _float | _complex, *, out: Tensor | None = None) -> Tensor:
    """``input`` with the slices along ``dim`` whose norm exceeds ``maxnorm`` scaled to it."""

def renorm_(input: Tensor, p: _float | _complex, dim: _int, maxnorm: _float | _complex) -> Tensor:
    """``input`` with the slices along ``dim`` whose norm exceeds ``maxnorm`` scaled to it."""

@_overload
def repeat_interleave(input: Tensor, repeats: Tensor, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
    """Each slice along ``dim`` repeated; over the flat tensor without ``dim``."""
@_overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None = None) -> Tensor: ...
@_overload
def repeat_interleave(input: Tensor, repeats: _int, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor: ...

def reshape(input: Tensor, shape: _Sequence[_int]) -> Tensor:
    """The same elements with another shape; a view where the layout allows it."""

def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: _memory_format | None = None) -> Tensor:
    """Give ``input`` the shape of the template, its storage made larger where it must be."""

def resolve_conj(input: Tensor) -> Tensor:
    """``input``: conjugation is never put off here."""

def resolve_neg(input: Tensor) -> Tensor:
    """``input``: negation is never put off here."""

@_overload
def result_type(tensor: Tensor, other: Tensor) -> _DType:
    """The type of an arithmetic result of two tensors or numbers."""
@_overload
def result_type(scalar: _float | _complex, tensor: Tensor) -> _DType: ...
@_overload
def result_type(tensor: Tensor, other: _float | _complex) -> _DType: ...
@_overload
def result_type(scalar1: _float | _complex, scalar2: _float | _complex) -> _DType: ...

def roll(input: Tensor, shifts: _Sequence[_int] | _int, dims: _Sequence[_int] | _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """``input`` shifted along ``dims``, wrapping round; over the flat tensor without dims."""

def rot90(input: Tensor, k: _int = 1, dims: _Sequence[_int] = ..., *, out: Tensor | None = None) -> Tensor:
    """``input`` turned by 90 degrees ``k`` times in the plane of ``dims``."""

@_overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """To the nearest number with ``decimals`` places, halves to the even one."""
@_overload
def round(input: Tensor, *, decimals: _int, out: Tensor | None = None) -> Tensor: ...

@_overload
def round_(input: Tensor) -> Tensor:
    """:func:`round` over ``self``, to ``decimals`` places."""
@_overload
def round_(input: Tensor, *, decimals: _int) -> Tensor: ...

def row_indices_copy(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """What ``row_indices`` views, as a tensor of its own; arguments: none."""

def row_stack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along their first axis, vectors being rows."""

def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: 1 / sqrt(x)."""

def rsqrt_(input: Tensor) -> Tensor:
    """:func:`rsqrt` of the tensor, written over it; its type stays."""

@_overload
def rsub(input: Tensor, other: Tensor, *, alpha: _float | _complex = 1) -> Tensor:
    """``other - alpha * input``."""
@_overload
def rsub(input: Tensor, other: _float | _complex, alpha: _float | _complex = 1) -> Tensor: ...

def scalar_tensor(s: _float | _complex, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """A number as a tensor without axes, of the default type unless given."""

@_overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``src`` (or ``value``) written at ``index`` along ``dim``."""
@_overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: _str, out: Tensor | None = None) -> Tensor: ...
@_overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _float | _complex, *, reduce: _str, out: Tensor | None = None) -> Tensor: ...

@_overload
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """``input`` with ``src`` (or ``value``) written at ``index`` along ``dim``."""
@_overload
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Tensor: ...
@_overload
def scatter_(input: Tensor, dim: _int, index: Tensor, value: _float | _complex) -> Tensor: ...
@_overload
def scatter_(input: Tensor, dim: _int, index: Tensor, value: _float | _complex, *, reduce: _str) -> Tensor: ...

def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``src`` added at ``index`` along ``dim``."""

def scatter_add_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """``input`` with ``src`` added at ``index`` along ``dim``."""

def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """``input`` with the elements of ``src`` that meet at a place folded by ``reduce``."""

def scatter_reduce_(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
    """``input`` with the elements of ``src`` that meet at a place folded by ``reduce``."""

@_overload
def searchsorted(sorted_sequence: Tensor, input: Tensor, *, out_int32: _bool = False, right: _bool = False, side: _str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where each element would be inserted into the sorted last axis of ``sorted_sequence``."""
@_overload
def searchsorted(sorted_sequence: Tensor, self: _float | _complex, *, out_int32: _bool = False, right: _bool = False, side: _str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor: ...

def segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: _int = 0, unsafe: _bool = False, initial: _float | _complex | None = None, out: Tensor | None = None) -> _Any:
    """The ``reduce`` ("sum", "mean", "max", "min", "prod") of each segment along ``axis``."""

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """``input`` at ``index`` of axis ``dim``."""

def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """What ``select`` views, as a tensor of its own; arguments: dim, index."""

def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``src`` in the place of its slice ``index`` along ``dim``."""

def selu(input: Tensor) -> Tensor:
    """``scale * (x if x > 0 else alpha * (exp(x) - 1))`` with the constants of SELU."""

def selu_(input: Tensor) -> Tensor:
    """:func:`selu`, written over ``input``; its type stays."""

def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: x / abs(x), and 0 for 0."""

def sgn_(input: Tensor) -> Tensor:
    """:func:`sgn` of the tensor, written over it; its type stays."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: 1 / (1 + e ** -x)."""

def sigmoid_(input: Tensor) -> Tensor:
    """:func:`sigmoid` of the tensor, written over it; its type stays."""

def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: 1, 0 or -1: the sign of x."""

def sign_(input: Tensor) -> Tensor:
    """:func:`sign` of the tensor, written over it; its type stays."""

def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: whether the sign bit of x is set."""

def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: sin(x), x in radians."""

def sin_(input: Tensor) -> Tensor:
    """:func:`sin` of the tensor, written over it; its type stays."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: sin(pi x) / (pi x), and 1 for 0."""

def sinc_(input: Tensor) -> Tensor:
    """:func:`sinc` of the tensor, written over it; its type stays."""

def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: (e ** x - e ** -x) / 2."""

def sinh_(input: Tensor) -> Tensor:
    """:func:`sinh` of the tensor, written over it; its type stays."""

def slice_copy(input: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """``input[start:end:step]`` along ``dim``, as a tensor of its own."""

def slice_inverse(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
    """A view of ``input``'s memory with the shape, strides and offset of ``src``."""

def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``src`` in the place of ``input[start:end:step]`` along ``dim``."""

def slogdet(input: Tensor, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.slogdet:
    """The determinant's sign and the logarithm of its size."""

def softmax(input: Tensor, dim: _int, dtype: _DType | type | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``, of ``x`` cast to ``dtype``."""

@_overload
def sort(input: Tensor, *, stable: _bool | None, dim: _int = -1, descending: _bool = False, out: _Sequence[Tensor] | None = None) -> _return_types.sort:
    """Sorted values and their places along ``dim``."""
@_overload
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, *, out: _Sequence[Tensor] | None = None) -> _return_types.sort: ...

def split(tensor: _Any, split_size_or_sections: _Any, dim: _int = 0) -> _Any:
    """Pieces along ``dim`` of one size (the last may be smaller), or of the sizes given."""

def split_copy(input: Tensor, split_size: _int, dim: _int = 0, *, out: _Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """What ``split`` views, as a tensor of its own; arguments: split_size, dim."""

def split_with_sizes(input: Tensor, split_sizes: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Parts of these lengths along ``dim``; views."""

def split_with_sizes_copy(input: Tensor, split_sizes: _Sequence[_int], dim: _int = 0, *, out: _Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """What ``split_with_sizes`` views, as a tensor of its own; arguments: split_sizes, dim."""

def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: sqrt(x)."""

def sqrt_(input: Tensor) -> Tensor:
    """:func:`sqrt` of the tensor, written over it; its type stays."""

def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: x * x."""

def square_(input: Tensor) -> Tensor:
    """:func:`square` of the tensor, written over it; its type stays."""

@_overload
def squeeze(input: Tensor) -> Tensor:
    """``input`` without the axes that have length 1: all, or those named."""
@_overload
def squeeze(input: Tensor, dim: _int) -> Tensor: ...
@_overload
def squeeze(input: Tensor, dim: _Sequence[_int]) -> Tensor: ...

@_overload
def squeeze_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What ``squeeze`` views, as a tensor of its own; arguments: dim."""
@_overload
def squeeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def squeeze_copy(input: Tensor, dim: _Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...

def stack(tensors: _Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors, all of one shape, along a new axis ``dim``."""

@_overload
def std(input: Tensor, dim: _Sequence[_int] | _int | None, unbiased: _bool = True, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The std over ``dim``, divided by the count minus ``correction``."""
@_overload
def std(input: Tensor, dim: _Sequence[_int] | _int | None = None, *, correction: _float | _complex | None = None, keepdim: _bool = False, out: Tensor | None = None) -> Tensor: ...
@_overload
def std(input: Tensor, unbiased: _bool = True) -> Tensor: ...

@_overload
def std_mean(input: Tensor, dim: _Sequence[_int] | _int | None, unbiased: _bool = True, keepdim: _bool = False) -> tuple[Tensor, ...]:
    """(:func:`std`, :func:`mean`) over ``dim``, or all axes."""
@_overload
def std_mean(input: Tensor, dim: _Sequence[_int] | _int | None = None, *, correction: _float | _complex | None = None, keepdim: _bool = False) -> tuple[Tensor, ...]: ...
@_overload
def std_mean(input: Tensor, unbiased: _bool = True) -> tuple[Tensor, ...]: ...

def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: _Any = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> _Any:
    """The transforms of frames of ``n_fft`` points, ``hop_length`` apart, times ``window``."""

def sub(input: Tensor, other: Tensor | _float | _complex, *, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``."""

@_overload
def subtract(input: Tensor, other: Tensor, *, alpha: _float | _complex = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``."""
@_overload
def subtract(input: Tensor, other: _float | _complex, alpha: _float | _complex = 1) -> Tensor: ...

@_overload
def sum(input: Tensor, *, dtype: _DType | type | None = None) -> Tensor:
    """The sum over ``dim`` (all axes by default); integers are summed as int64."""
@_overload
def sum(input: Tensor, dim: _Sequence[_int] | _int | None, keepdim: _bool = False, *, dtype: _DType | type | None = None, out: Tensor | None = None) -> Tensor: ...

def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.svd:
    """The singular values and vectors; V, not its adjoint."""

def svd_lowrank(A: _Any, q: _int | None = 6, niter: _int | None = 2, M: _Any = None) -> _Any:
    """About the ``q`` greatest singular values of ``A - M``, with U and V: by random projection"""

def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """``input`` with two axes exchanged."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """``input`` with two axes exchanged."""

def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a vector or number as it is."""

def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What ``t`` views, as a tensor of its own; arguments: none."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` read as one row, at ``index``."""

def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """:func:`gather` with broadcasting of the other axes; with ``dim`` from the end, too."""

def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: tan(x), x in radians."""

def tan_(input: Tensor) -> Tensor:
    """:func:`tan` of the tensor, written over it; its type stays."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: sinh(x) / cosh(x)."""

def tanh_(input: Tensor) -> Tensor:
    """:func:`tanh` of the tensor, written over it; its type stays."""

def tensor(data: _Any, *, dtype: _Any = None, device: _Any = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """A new tensor holding a copy of numbers, nested lists or an array."""

@_overload
def tensor_split(input: Tensor, indices: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces along ``dim`` of sizes as equal as can be, or cut at the indices."""
@_overload
def tensor_split(input: Tensor, tensor_indices_or_sections: Tensor, dim: _int = 0) -> tuple[Tensor, ...]: ...
@_overload
def tensor_split(input: Tensor, sections: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...

def tensordot(a: _Any, b: _Any, dims: _Any = 2, *, out: Tensor | None = None) -> _Any:
    """The sums of products over pairs of axes: ``dims`` last and first ones, or two lists."""

def threshold(input: Tensor, threshold: _float | _complex, value: _float | _complex, *, out: Tensor | None = None) -> Tensor:
    """``x if x > threshold else value``."""

def threshold_(input: Tensor, threshold: _float | _complex, value: _float | _complex) -> Tensor:
    """:func:`threshold`, which has the other arguments (threshold, value), written over ``input``; its type stays."""

def tile(input: Tensor, dims: _Sequence[_int]) -> Tensor:
    """As :func:`repeat`, with missing counts taken as 1."""

def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.topk:
    """The ``k`` greatest (least) elements along ``dim`` and their places, in order."""

def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the main diagonal."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """``input`` with two axes exchanged."""

def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """What ``transpose`` views, as a tensor of its own; arguments: dim0, dim1."""

@_overload
def trapezoid(y: Tensor, x: Tensor, *, dim: _int = -1) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule."""
@_overload
def trapezoid(y: Tensor, *, dx: _float | _complex = 1, dim: _int = -1) -> Tensor: ...

@_overload
def trapz(y: Tensor, *, dx: _float = 1, dim: _int = -1) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule."""
@_overload
def trapz(y: Tensor, x: Tensor, *, dim: _int = -1) -> Tensor: ...

def triangular_solve(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: _Sequence[Tensor] | Tensor | None = None) -> _return_types.triangular_solve:
    """``(X, A)`` with ``A X = input``, ``A`` triangular."""

def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The elements on and below a diagonal, zeros above it."""

def tril_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above it."""

def tril_indices(row: _int, col: _int, offset: _int = 0, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """The coordinates of a triangle of a matrix, rows above columns."""

def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The elements on and above a diagonal, zeros below it."""

def triu_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below it."""

def triu_indices(row: _int, col: _int, offset: _int = 0, *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """The coordinates of a triangle of a matrix, rows above columns."""

@_overload
def true_divide(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input / other``."""
@_overload
def true_divide(input: Tensor, other: _float | _complex) -> Tensor: ...

@_overload
def true_divide_(input: Tensor, other: Tensor) -> Tensor:
    """``input / other``."""
@_overload
def true_divide_(input: Tensor, other: _float | _complex) -> Tensor: ...

def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of each element x: x without its fraction."""

def trunc_(input: Tensor) -> Tensor:
    """:func:`trunc` of the tensor, written over it; its type stays."""

uint1: _DType

uint2: _DType

uint3: _DType

uint4: _DType

uint5: _DType

uint6: _DType

uint7: _DType

def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """All slices along axis ``dim``, as a tuple."""

def unbind_copy(input: Tensor, dim: _int = 0, *, out: _Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """What ``unbind`` views, as a tensor of its own; arguments: dim."""

def unflatten(input: Tensor, dim: _int, sizes: _Sequence[_int]) -> Tensor:
    """Axis ``dim`` split into the lengths ``sizes`` (one may be -1)."""

def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = None) -> Tensor:
    """What ``unfold`` views, as a tensor of its own; arguments: dimension, size, step."""

def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> _Any:
    """The distinct elements (slices along ``dim``) in ascending order."""

def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> _Any:
    """Runs of equal elements (slices along ``dim``) made one."""

def unravel_index(indices: _Any, shape: _Any) -> _Any:
    """The coordinates, in a tensor of ``shape``, of places in it written as a line."""

def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """:func:`chunk`."""

def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0, *, out: _Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """:func:`split`."""

def unsafe_split_with_sizes(input: Tensor, split_sizes: _Sequence[_int], dim: _int = 0, *, out: _Sequence[Tensor] | None = None) -> tuple[Tensor, ...]:
    """:func:`split_with_sizes`."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """``input`` with an axis of length 1 put in at ``dim``."""

def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """What ``unsqueeze`` views, as a tensor of its own; arguments: dim."""

def values_copy(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """What ``values`` views, as a tensor of its own; arguments: none."""

@_overload
def var(input: Tensor, dim: _Sequence[_int] | _int | None, unbiased: _bool = True, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The var over ``dim``, divided by the count minus ``correction``."""
@_overload
def var(input: Tensor, dim: _Sequence[_int] | _int | None = None, *, correction: _float | _complex | None = None, keepdim: _bool = False, out: Tensor | None = None) -> Tensor: ...
@_overload
def var(input: Tensor, unbiased: _bool = True) -> Tensor: ...

@_overload
def var_mean(input: Tensor, dim: _Sequence[_int] | _int | None, unbiased: _bool = True, keepdim: _bool = False) -> tuple[Tensor, ...]:
    """(:func:`var`, :func:`mean`) over ``dim``, or all axes."""
@_overload
def var_mean(input: Tensor, dim: _Sequence[_int] | _int | None = None, *, correction: _float | _complex | None = None, keepdim: _bool = False) -> tuple[Tensor, ...]: ...
@_overload
def var_mean(input: Tensor, unbiased: _bool = True) -> tuple[Tensor, ...]: ...

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """:func:`dot` with the first vector conjugated."""

def view_as_complex(input: Tensor) -> Tensor:
    """The complex numbers whose parts lie along the last axis, of length 2."""

def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What ``view_as_complex`` views, as a tensor of its own; arguments: none."""

def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a last axis of length 2."""

def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What ``view_as_real`` views, as a tensor of its own; arguments: none."""

@_overload
def view_copy(input: Tensor, dtype: _DType | type, *, out: Tensor | None = None) -> Tensor:
    """What ``view`` views, as a tensor of its own; arguments: size or dtype."""
@_overload
def view_copy(input: Tensor, size: _Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...

@_overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """``input`` split along its first axis."""
@_overload
def vsplit(input: Tensor, indices: _Sequence[_int]) -> tuple[Tensor, ...]: ...

def vstack(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along their first axis, vectors being rows."""

@_overload
def where(condition: Tensor) -> Tensor:
    """``input`` where ``condition``, else ``other``; the places of ``condition`` if given alone."""
@_overload
def where(condition: Tensor, input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def where(condition: Tensor, self: _float | _complex, other: Tensor) -> Tensor: ...
@_overload
def where(condition: Tensor, input: Tensor, other: _float | _complex) -> Tensor: ...
@_overload
def where(condition: Tensor, self: _float | _complex, other: _float | _complex) -> Tensor: ...

@_overload
def xlogy(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Of elements x of ``input`` and y of ``other``: x * log(y), and 0 where x is 0 and y no nan."""
@_overload
def xlogy(self: _float | _complex, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def xlogy(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

@_overload
def xlogy_(input: Tensor, other: Tensor) -> Tensor:
    """:func:`xlogy` of the tensor and ``other``, written over it; its type stays."""
@_overload
def xlogy_(input: Tensor, other: _float | _complex) -> Tensor: ...

def zero_(input: Tensor) -> Tensor:
    """``input.zero_()``."""

@_overload
def zeros(size: _Sequence[_int], *, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
    """Zeros in the shape ``size``, of the default type unless given."""
@_overload
def zeros(*size: _int, out: Tensor | None = None, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

def zeros_like(input: Tensor, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = None, memory_format: _memory_format | None = None, requires_grad: _bool | None = False) -> Tensor:
    """Zeros in the shape, and unless given the type and layout, of ``input``."""
