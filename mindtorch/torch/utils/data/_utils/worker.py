"""What runs in a worker of a DataLoader."""

from mindtorch.torch.utils.data._worker_info import WorkerInfo as WorkerInfo
from mindtorch.torch.utils.data._worker_info import get_worker_info as get_worker_info
