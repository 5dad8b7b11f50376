"""The messages of Caffe's files, those fields of them that inference needs."""

from __future__ import annotations

from mindtorch.exporting.messages import message_classes

__all__ = ["NetParameter", "layer_type"]

# of layers as they were written until 2014
_OLD_TYPES = (
    "NONE", "ACCURACY", "BNLL", "CONCAT", "CONVOLUTION", "DATA", "DROPOUT", "EUCLIDEAN_LOSS",
    "FLATTEN", "HDF5_DATA", "HDF5_OUTPUT", "IM2COL", "IMAGE_DATA", "INFOGAIN_LOSS",
    "INNER_PRODUCT", "LRN", "MULTINOMIAL_LOGISTIC_LOSS", "POOLING", "RELU", "SIGMOID", "SOFTMAX",
    "SOFTMAX_LOSS", "SPLIT", "TANH", "WINDOW_DATA", "ELTWISE", "POWER",
    "SIGMOID_CROSS_ENTROPY_LOSS", "HINGE_LOSS", "MEMORY_DATA", "ARGMAX", "THRESHOLD",
    "DUMMY_DATA", "SLICE", "MVN", "ABSVAL", "SILENCE",
)  # fmt: skip
_NEW_NAMES = {
    "LRN": "LRN", "RELU": "ReLU", "TANH": "TanH", "INNER_PRODUCT": "InnerProduct",
    "SOFTMAX_LOSS": "SoftmaxWithLoss", "ABSVAL": "AbsVal",
}  # fmt: skip

_PARAMETERS = (
    "ConcatParameter concat_param {}, ConvolutionParameter convolution_param {}, "
    "EltwiseParameter eltwise_param {}, InnerProductParameter inner_product_param {}, "
    "LRNParameter lrn_param {}, PoolingParameter pooling_param {}, "
    "PowerParameter power_param {}, ReLUParameter relu_param {}, "
    "SoftmaxParameter softmax_param {}, SliceParameter slice_param {}"
)
_ENUMERATIONS = {
    "OldLayer.Type": _OLD_TYPES, "NetStateRule.Phase": ("TRAIN", "TEST"),
    "PoolingParameter.Method": ("MAX", "AVE", "STOCHASTIC"),
    "PoolingParameter.Rounding": ("CEIL", "FLOOR"),
    "EltwiseParameter.Operation": ("PROD", "SUM", "MAX"),
    "LRNParameter.Region": ("ACROSS_CHANNELS", "WITHIN_CHANNEL"),
}  # fmt: skip
_MESSAGES = {
    "BlobShape": "int64* dim 1",
    "BlobProto": (
        "int32 num 1, int32 channels 2, int32 height 3, int32 width 4, float* data 5, "
        "BlobShape shape 7, double* double_data 8"
    ),
    "NetParameter": (
        "string name 1, OldLayer* layers 2, string* input 3, int32* input_dim 4, "
        "BlobShape* input_shape 8, LayerParameter* layer 100"
    ),
    "NetStateRule": "NetStateRule.Phase phase 1",
    "OldLayer": (
        "NetStateRule* include 32, NetStateRule* exclude 33, string* bottom 2, string* top 3, "
        "string name 4, OldLayer.Type type 5, BlobProto* blobs 6, "
        + _PARAMETERS.format(9, 10, 24, 17, 18, 19, 21, 30, 39, 31)
    ),
    "LayerParameter": (
        "string name 1, string type 2, string* bottom 3, string* top 4, BlobProto* blobs 7, "
        "NetStateRule* include 8, NetStateRule* exclude 9, "
        + _PARAMETERS.format(104, 106, 110, 117, 118, 121, 122, 123, 125, 126)
        + ", FlattenParameter flatten_param 135, BatchNormParameter batch_norm_param 139, "
        "ELUParameter elu_param 140, BiasParameter bias_param 141, ScaleParameter scale_param 142, "
        "InputParameter input_param 143, ReshapeParameter reshape_param 133"
    ),
    "ConcatParameter": "uint32 concat_dim 1, int32 axis 2",
    "ConvolutionParameter": (
        "uint32 num_output 1, bool bias_term 2, uint32* pad 3, uint32* kernel_size 4, "
        "uint32 group 5, uint32* stride 6, uint32 pad_h 9, uint32 pad_w 10, uint32 kernel_h 11, "
        "uint32 kernel_w 12, uint32 stride_h 13, uint32 stride_w 14, int32 axis 16, "
        "uint32* dilation 18"
    ),
    "EltwiseParameter": "EltwiseParameter.Operation operation 1, float* coeff 2",
    "InnerProductParameter": (
        "uint32 num_output 1, bool bias_term 2, int32 axis 5, bool transpose 6"
    ),
    "LRNParameter": (
        "uint32 local_size 1, float alpha 2, float beta 3, LRNParameter.Region norm_region 4, "
        "float k 5"
    ),
    "PoolingParameter": (
        "PoolingParameter.Method pool 1, uint32 kernel_size 2, uint32 stride 3, uint32 pad 4, "
        "uint32 kernel_h 5, uint32 kernel_w 6, uint32 stride_h 7, uint32 stride_w 8, "
        "uint32 pad_h 9, uint32 pad_w 10, "
        "bool global_pooling 12, PoolingParameter.Rounding round_mode 13"
    ),
    "PowerParameter": "float power 1, float scale 2, float shift 3",
    "ReLUParameter": "float negative_slope 1",
    "SoftmaxParameter": "int32 axis 2",
    "SliceParameter": "uint32 slice_dim 1, uint32* slice_point 2, int32 axis 3",
    "FlattenParameter": "int32 axis 1, int32 end_axis 2",
    "BatchNormParameter": "float eps 3",
    "ELUParameter": "float alpha 1",
    "BiasParameter": "int32 axis 1",
    "ScaleParameter": "int32 axis 1, bool bias_term 4",
    "InputParameter": "BlobShape* shape 1",
    "ReshapeParameter": "BlobShape shape 1, int32 axis 2, int32 num_axes 3",
}  # fmt: skip

NetParameter = message_classes("caffe", _MESSAGES, _ENUMERATIONS)["NetParameter"]


def layer_type(layer: object) -> str:
    """A layer's type by its present name."""
    kind = getattr(layer, "type", "")
    if isinstance(kind, str):
        return kind
    old = _OLD_TYPES[kind] if 0 <= kind < len(_OLD_TYPES) else f"type {kind}"
    return _NEW_NAMES.get(old, old.title().replace("_", ""))
