"""The messages of MindSpore Serving's gRPC service and of KServe's."""
