"""torch.testing: comparisons with tolerances, and tensors to test with."""

from ._comparison import assert_allclose as assert_allclose
from ._comparison import assert_close as assert_close
from ._creation import make_tensor as make_tensor
