"""How a list of samples becomes a batch."""

from mindtorch.torch.utils.data.collate import default_collate as default_collate
from mindtorch.torch.utils.data.collate import default_convert as default_convert
