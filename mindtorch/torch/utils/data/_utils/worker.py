"""What runs in a worker of a DataLoader."""

from mindtorch.torch.utils.data._worker import WorkerInfo as WorkerInfo
from mindtorch.torch.utils.data._worker import get_worker_info as get_worker_info
