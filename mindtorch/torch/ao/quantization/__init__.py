"""torch.ao.quantization: models on levels of 8 bits.

Observers follow the range of what passes (:mod:`.observer`), `prepare` puts them into a model and
`convert` puts quantised modules in the place of others (:mod:`.quantize`); `quantize_fx` does the
same to the graph of a model.
"""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._compat.missing_names import missing

from .fake_quantize import *  # noqa: F403
from .fuse_modules import *  # noqa: F403
from .fuser_method_mappings import *  # noqa: F403
from .observer import *  # noqa: F403
from .qconfig import *  # noqa: F403
from .qconfig_mapping import *  # noqa: F403
from .quant_type import *  # noqa: F403
from .quantization_mappings import *  # noqa: F403
from .quantize import *  # noqa: F403
from .quantize_fx import *  # noqa: F403
from .stubs import *  # noqa: F403

_own_names(globals())


def __getattr__(name: str) -> Any:
    raise missing("torch.ao.quantization", name)
