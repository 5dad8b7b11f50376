"""torch.distributed.nn: collectives that gradients pass through."""

from .functional import all_gather as all_gather
from .functional import all_reduce as all_reduce
from .functional import broadcast as broadcast
from .functional import reduce as reduce
