"""torch.testing: comparisons with tolerances, and tensors to test with."""

from mindtorch.torch._api.public_names import own_names as _own_names

from ._comparison import assert_allclose as assert_allclose
from ._comparison import assert_close as assert_close
from ._creation import make_tensor as make_tensor

_own_names(globals())
