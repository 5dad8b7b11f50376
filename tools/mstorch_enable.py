"""`from mindtorch.tools import mstorch_enable`: from here on `import torch` gives mindtorch.

The import is the act, and happens once: importing the tool again changes nothing.
"""

from mindtorch.module_hooker import exchange_names_of_real_torch, torch_disable

torch_disable()
exchange_names_of_real_torch()
