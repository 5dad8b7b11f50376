"""`mindspore_serving.client`: asking a server over gRPC."""

from .client import Client, SSLConfig

__all__ = ["Client", "SSLConfig"]
