"""Names that torch has from its C++: types of TorchScript, other libraries' kernels, helpers.

Programs mention the types in checks and annotations. What can be done without C++ is done.
"""

from __future__ import annotations

import enum
from typing import Any

import mindtorch.torch as torch

from .._api.publish import explained_where_known
from .._api.torch_function_mode import DisableTorchFunctionSubclass
from .._C import DispatchKey as DispatchKey
from .._C import DispatchKeySet as DispatchKeySet
from .._C import _ExcludeDispatchKeyGuard
from .missing_names import reason_of
from .script_types import TYPES
from .script_types import unify_type_list as unify_type_list
from .unsupported_names import absent_class, absent_function
from .utils_helpers import classproperty as classproperty
from .utils_helpers import get_file_path as get_file_path

_CLASSES = (
    "Argument BenchmarkConfig BufferDict CallStack ClassType CompilationUnit "
    "ConcreteModuleTypeBuilder DeserializationStorageContext EnumType ErrorReport FileCheck "
    "FunctionSchema Graph InferredType InterfaceType LiteScriptModule LockingLogger ModuleDict "
    "NoopLogger ParameterDict PyTorchFileWriter ScriptDict ScriptList ScriptModuleSerializer "
    "ThroughputBenchmark"
)
# those whose objects torch makes in C++ alone
_MADE_IN_C = (
    "AliasDb ArgumentSpec BenchmarkExecutionStats Block Capsule Code CompleteArgumentSpec "
    "ConcreteModuleType DeepCopyMemoTable ExecutionPlan Gradient GraphExecutorState IODescriptor "
    "Node OperatorInfo ScriptClass ScriptClassFunction ScriptDictIterator ScriptDictKeyIterator "
    "ScriptListIterator ScriptMethod ScriptObject ScriptObjectProperty "
    "SerializationStorageContext StaticModule TracingState Use Value"
)
_FUNCTIONS = (
    "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt "
    "batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats "
    "batch_norm_update_stats choose_qparams_optimized cudnn_affine_grid_generator "
    "cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu "
    "cudnn_convolution_transpose cudnn_grid_sampler empty_quantized fbgemm_linear_fp16_weight "
    "fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight "
    "fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight "
    "fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix import_ir_module "
    "import_ir_module_from_buffer merge_type_from_type_comment miopen_batch_norm "
    "miopen_convolution miopen_convolution_add_relu miopen_convolution_relu "
    "miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn "
    "mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights "
    "mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer parse_ir parse_schema "
    "parse_type_comment quantized_batch_norm quantized_gru quantized_gru_cell quantized_lstm "
    "quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d "
    "quantized_rnn_relu_cell quantized_rnn_tanh_cell resize_as_sparse_"
)
_OWN = (
    "AVG AggregationType DisableTorchFunction DispatchKey DispatchKeySet "
    "ExcludeDispatchKeyGuard FatalError JITException SUM Tag classproperty cudnn_is_acceptable "
    "fork get_file_path native_norm sym_fresh_size unify_type_list wait"
)


def _absent() -> None:
    """Define the names of which there are none; the table of gaps says why."""
    names = globals()
    for make, listed, kind in (
        (absent_class, _CLASSES, "torch.ScriptMethod"),
        (absent_function, _FUNCTIONS, "torch.parse_ir"),
    ):
        for name in listed.split():
            why = reason_of(f"torch.{name}") or reason_of(kind)
            names[name] = make("torch", name, why or "")
    for name in _MADE_IN_C.split():
        names[name] = absent_class("torch", name, reason_of("torch.ScriptMethod") or "", True)
    names.update({name: kind for name, kind in TYPES.items() if name != "TensorType"})


_absent()
ExcludeDispatchKeyGuard = _ExcludeDispatchKeyGuard


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A block in which ``__torch_function__`` of classes and modes is not asked."""


class FatalError(Exception):
    """Of a state that a program cannot go on from; never raised here."""


class JITException(Exception):  # noqa: N818
    """What a script raises, where it is run by TorchScript's interpreter."""


_Enum: Any = enum.Enum
Tag = _Enum("Tag", [(name, i) for i, name in enumerate(
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated "
    "inplace inplace_view maybe_aliasing_or_mutating needs_contiguous_strides "
    "needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded "
    "out out_variant pointwise pt2_compliant_tag reduction view_copy".split()
)], module="mindtorch.torch")  # fmt: skip
"""What an operator says of itself."""


class AggregationType(enum.Enum):
    """How values of several processes are made one."""

    SUM = 0
    AVG = 1


SUM, AVG = AggregationType.SUM, AggregationType.AVG


def cudnn_is_acceptable(input: Any) -> bool:  # noqa: A002
    """False: cuDNN is no choice of the caller's here."""
    return False


def native_norm(input: Any, p: Any = 2) -> Any:  # noqa: A002
    """:func:`torch.norm` of all elements of a sparse tensor.

    Args:
        p: the order.
    """
    if not input.is_sparse:
        raise NotImplementedError(
            "Could not run 'aten::native_norm' with arguments from the 'CPU' backend."
        )
    return torch.norm(input.coalesce().values(), p)


cudnn_is_acceptable = explained_where_known("cudnn_is_acceptable", cudnn_is_acceptable)
native_norm = explained_where_known("native_norm", native_norm)


def sym_fresh_size(expr: Any) -> Any:
    """The size itself: one that a trace does not know is none of eager code."""
    return expr


def fork(*args: Any, **kwargs: Any) -> Any:
    """:func:`torch.jit.fork`."""
    return torch.jit.fork(*args, **kwargs)


def wait(future: Any) -> Any:
    """:func:`torch.jit.wait`."""
    return torch.jit.wait(future)


for _name in _OWN.split():  # torch shows them so, and pickles look there
    if getattr(globals()[_name], "__module__", "").startswith("mindtorch.torch._"):
        globals()[_name].__module__ = "mindtorch.torch"

for _kind in TYPES.values():
    _kind.__module__ = "mindtorch.torch"

OFFERED = frozenset((
    *_CLASSES.split(), *_MADE_IN_C.split(), *TYPES, *_FUNCTIONS.split(), *_OWN.split()
))  # fmt: skip
