"""Starts the server; Ctrl+C ends it."""

from mindtorch.tools import mstorch_enable

import os

from mindspore_serving import server

folder = os.path.dirname(os.path.abspath(__file__))
config = server.ServableStartConfig(folder, "digits", num_parallel_workers=1)
server.start_servables(config)
server.start_grpc_server("127.0.0.1:5500")
server.start_restful_server("127.0.0.1:1500")
print("the server is ready", flush=True)
