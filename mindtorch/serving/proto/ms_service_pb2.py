"""The messages of the service `mindspore.serving.proto.MSService`, under the module's real name."""

from __future__ import annotations

from mindtorch.protobuf_messages import make_messages

_made = make_messages(
    "mindspore_serving/proto/ms_service.proto",
    "mindspore.serving.proto",
    {
        "ServableSpec": "1 name string; 2 method_name string; 3 version_number uint64",
        "TensorShape": "1 dims int64*",
        "ShmTensorData": """
            1 memory_key string; 2 bytes_size uint64; 3 data_offset uint64; 4 data_size uint64""",
        "Tensor": """
            1 shape TensorShape; 2 dtype DataType; 3 tensor_data.data bytes; 4 bytes_val bytes*;
            5 tensor_data.shm_data ShmTensorData""",
        "Instance": """
            1 items string->Tensor; 2 output_buffers string->ShmTensorData""",
        "ErrorMsg": "1 error_code int64; 2 error_msg bytes",
        "PredictRequest": "1 servable_spec ServableSpec; 2 instances Instance*",
        "PredictReply": """
            1 servable_spec ServableSpec; 3 instances Instance*; 4 error_msg ErrorMsg*""",
    },
    {
        "DataType": """
            MS_UNKNOWN MS_BOOL MS_INT8 MS_UINT8 MS_INT16 MS_UINT16 MS_INT32 MS_UINT32 MS_INT64
            MS_UINT64 MS_FLOAT16 MS_FLOAT32 MS_FLOAT64 MS_STRING MS_BYTES""",
    },
)
globals().update(_made)

# numpy's names of the types, in the order of their numbers
NUMPY_NAMES = ("", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
               "uint64", "float16", "float32", "float64", "str", "bytes")  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(NUMPY_NAMES) if name}

PredictRequest, PredictReply = _made["PredictRequest"], _made["PredictReply"]
Instance, Tensor, ErrorMsg = _made["Instance"], _made["Tensor"], _made["ErrorMsg"]
