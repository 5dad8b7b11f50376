"""LeNet on mindtorch behind LitServe, for ``serving.py --litserve``: FOLDER PORT BATCH."""

import sys

sys.path.insert(0, sys.argv[1])

from mindtorch.tools import mstorch_enable  # noqa: F401, I001 - `import torch` is mindtorch
import litserve
import numpy as np
import torch
from net import LeNet


class API(litserve.LitAPI):
    def setup(self, device):
        torch.set_num_threads(1)
        self.net = LeNet().eval()

    def decode_request(self, request):
        return np.asarray(request["x"], "float32")

    def batch(self, inputs):
        return np.stack(inputs)

    def predict(self, x):
        with torch.no_grad():
            return self.net(torch.from_numpy(x)).numpy()

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return {"y": output.tolist()}


if __name__ == "__main__":
    api = API(max_batch_size=int(sys.argv[3]), batch_timeout=0.001)
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=int(sys.argv[2]), generate_client_file=False,
               log_level="error")  # fmt: skip
