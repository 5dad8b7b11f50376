"""`from mindtorch.tools import pytorch_enable`: from here on `import torch` gives real PyTorch.

The import is the act, and happens once: importing the tool again changes nothing.
"""

from mindtorch.module_hooker import torch_enable

torch_enable()
