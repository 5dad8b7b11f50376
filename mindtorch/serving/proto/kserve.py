"""The messages of KServe's service `inference.GRPCInferenceService` (open inference protocol 2)."""

from __future__ import annotations

from typing import Any

from mindtorch.protobuf_messages import make_messages

__all__ = ["MESSAGES"]

MESSAGES: dict[str, Any] = make_messages(
    "grpc_service.proto",
    "inference",
    {
        "ServerLiveRequest": "",
        "ServerLiveResponse": "1 live bool",
        "ServerReadyRequest": "",
        "ServerReadyResponse": "1 ready bool",
        "ModelReadyRequest": "1 name string; 2 version string",
        "ModelReadyResponse": "1 ready bool",
        "ServerMetadataRequest": "",
        "ServerMetadataResponse": "1 name string; 2 version string; 3 extensions string*",
        "ModelMetadataRequest": "1 name string; 2 version string",
        "TensorMetadata": "1 name string; 2 datatype string; 3 shape int64*",
        "ModelMetadataResponse": """
            1 name string; 2 versions string*; 3 platform string; 4 inputs TensorMetadata*;
            5 outputs TensorMetadata*""",
        "InferParameter": """
            1 parameter_choice.bool_param bool; 2 parameter_choice.int64_param int64;
            3 parameter_choice.string_param string; 4 parameter_choice.double_param double;
            5 parameter_choice.uint64_param uint64""",
        "InferTensorContents": """
            1 bool_contents bool*; 2 int_contents int32*; 3 int64_contents int64*;
            4 uint_contents uint32*; 5 uint64_contents uint64*; 6 fp32_contents float*;
            7 fp64_contents double*; 8 bytes_contents bytes*""",
        "InferInputTensor": """
            1 name string; 2 datatype string; 3 shape int64*; 4 parameters string->InferParameter;
            5 contents InferTensorContents""",
        "InferRequestedOutputTensor": "1 name string; 2 parameters string->InferParameter",
        "ModelInferRequest": """
            1 model_name string; 2 model_version string; 3 id string;
            4 parameters string->InferParameter; 5 inputs InferInputTensor*;
            6 outputs InferRequestedOutputTensor*; 7 raw_input_contents bytes*""",
        "InferOutputTensor": """
            1 name string; 2 datatype string; 3 shape int64*; 4 parameters string->InferParameter;
            5 contents InferTensorContents""",
        "ModelInferResponse": """
            1 model_name string; 2 model_version string; 3 id string;
            4 parameters string->InferParameter; 5 outputs InferOutputTensor*;
            6 raw_output_contents bytes*""",
    },
)
