"""The older name of what torch.hub does."""

from mindtorch.torch.hub import load_state_dict_from_url as load_url
from mindtorch.torch.hub import tqdm

__all__ = ["load_url", "tqdm"]
