"""The protobuf messages of MindIR, those fields of them that are read or written.

A field that is not named here is kept by protobuf and passed over.
"""

from __future__ import annotations

from ._protobuf import message_classes

__all__ = ["AttributeType", "DataType", "GraphProto", "ModelProto", "NodeProto", "PrimType"]

# name of a message -> its fields, "type name number", a star behind the type for many of them
_MESSAGES = {
    "AttributeProto": (
        "string name 1, float f 2, int64 i 3, double d 4, bytes s 5, TensorProto t 6, "
        "GraphProto g 7, float* floats 8, double* doubles 9, int64* ints 10, bytes* strings 11, "
        "TensorProto* tensors 12, int32 type 16, AttributeProto* values 17"
    ),
    "ValueInfoProto": "string name 1, TensorProto* tensor 2, AttributeProto attr_info 5",
    "NodeProto": (
        "string* input 1, string* output 2, string name 3, string op_type 4, "
        "AttributeProto* attribute 5, string domain 7"
    ),
    "ModelProto": (
        "string ir_version 1, string producer_name 2, string producer_version 3, "
        "string model_version 5, GraphProto graph 7, GraphProto* functions 8, "
        "bool little_endian 10, PrimitiveProto* primitives 12, int64 mind_ir_version 13"
    ),
    "GraphProto": (
        "NodeProto* node 1, string name 2, TensorProto* parameter 3, ValueInfoProto* input 5, "
        "ValueInfoProto* output 6, AttributeProto* attribute 8, MapTensorProto* map_parameter 10"
    ),
    "MapTensorProto": "string name 1",
    "TensorProto": (
        "int64* dims 1, int32 data_type 2, float* float_data 3, int32* int32_data 4, "
        "int64* int64_data 6, string name 7, bytes raw_data 9, double* double_data 10, "
        "ExternalDataProto external_data 12, string ref_key 13, int32 compression_type 16"
    ),
    "ExternalDataProto": "string location 1, int64 offset 2, int64 length 3",
    "PrimitiveProto": (
        "string name 1, string op_type 2, AttributeProto* attribute 3, string instance_name 4, "
        "int32 prim_type 5"
    ),
}  # fmt: skip


class AttributeType:
    """What an attribute holds."""

    FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL = range(1, 10)
    FLOAT16, DOUBLE, UINT32, UINT64 = range(10, 14)
    TENSOR, GRAPH, TENSORS, TUPLE, LIST, DICT, UMONAD, IOMONAD, NONE = range(17, 26)
    TYPE_NULL, SCALAR = 36, 39


class DataType:
    """The element types of tensors."""

    FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL = range(1, 10)
    FLOAT16, DOUBLE, UINT32, UINT64, COMPLEX64, COMPLEX128, BFLOAT16, FLOAT64 = range(10, 18)


class PrimType:
    """Whether a primitive's settings are its attributes, or the last inputs of its nodes."""

    PRIMITIVE, PRIMITIVE_FUNCTION = 1, 2


_CLASSES = message_classes("mind_ir", _MESSAGES)
ModelProto, GraphProto, NodeProto = (
    _CLASSES[name] for name in ("ModelProto", "GraphProto", "NodeProto")
)
