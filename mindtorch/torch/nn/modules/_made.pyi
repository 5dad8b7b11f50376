"""Modules that are made in loops over the number of axes.

Made by `python -m mindtorch.tools.docs.stubs`.
"""

# mypy: disable-error-code="overload-cannot-match,overload-overlap"


from mindtorch.torch._tensor.tensor import Tensor as Tensor
from mindtorch.torch.nn.modules.padding import _CircularPadNd as _CircularPadNd
from mindtorch.torch.nn.modules.padding import _ConstantPadNd as _ConstantPadNd
from mindtorch.torch.nn.modules.padding import _ReflectionPadNd as _ReflectionPadNd
from mindtorch.torch.nn.modules.padding import _ReplicationPadNd as _ReplicationPadNd
from mindtorch.torch.nn.modules.padding import _ZeroPadNd as _ZeroPadNd
from mindtorch.torch.nn.modules.pooling import _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd
from mindtorch.torch.nn.modules.pooling import _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd
from mindtorch.torch.nn.modules.pooling import _AvgPoolNd as _AvgPoolNd
from mindtorch.torch.nn.modules.pooling import _LPPoolNd as _LPPoolNd
from mindtorch.torch.nn.modules.pooling import _MaxPoolNd as _MaxPoolNd
from mindtorch.torch.nn.modules.pooling import _MaxUnpoolNd as _MaxUnpoolNd

class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means over a given number of windows, over 1 spatial axes."""

class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means over a given number of windows, over 2 spatial axes."""

class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means over a given number of windows, over 3 spatial axes."""

class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Largest elements of a given number of windows, over 1 spatial axes."""

class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Largest elements of a given number of windows, over 2 spatial axes."""

class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Largest elements of a given number of windows, over 3 spatial axes."""

class AvgPool1d(_AvgPoolNd):
    """The mean of each window, over 1 spatial axes."""

class AvgPool2d(_AvgPoolNd):
    """The mean of each window, over 2 spatial axes."""

class AvgPool3d(_AvgPoolNd):
    """The mean of each window, over 3 spatial axes."""

class CircularPad1d(_CircularPadNd):
    """Padding (circular) of the last 1 axes."""

class CircularPad2d(_CircularPadNd):
    """Padding (circular) of the last 2 axes."""

class CircularPad3d(_CircularPadNd):
    """Padding (circular) of the last 3 axes."""

class ConstantPad1d(_ConstantPadNd):
    """Padding (constant) of the last 1 axes."""

class ConstantPad2d(_ConstantPadNd):
    """Padding (constant) of the last 2 axes."""

class ConstantPad3d(_ConstantPadNd):
    """Padding (constant) of the last 3 axes."""

class LPPool1d(_LPPoolNd):
    """The p-norm of each window, over 1 spatial axes."""

class LPPool2d(_LPPoolNd):
    """The p-norm of each window, over 2 spatial axes."""

class LPPool3d(_LPPoolNd):
    """The p-norm of each window, over 3 spatial axes."""

class MaxPool1d(_MaxPoolNd):
    """The largest element of each window, over 1 spatial axes."""

class MaxPool2d(_MaxPoolNd):
    """The largest element of each window, over 2 spatial axes."""

class MaxPool3d(_MaxPoolNd):
    """The largest element of each window, over 3 spatial axes."""

class MaxUnpool1d(_MaxUnpoolNd):
    """The inverse of max pooling, over 1 spatial axes."""

class MaxUnpool2d(_MaxUnpoolNd):
    """The inverse of max pooling, over 2 spatial axes."""

class MaxUnpool3d(_MaxUnpoolNd):
    """The inverse of max pooling, over 3 spatial axes."""

class ReflectionPad1d(_ReflectionPadNd):
    """Padding (reflect) of the last 1 axes."""

class ReflectionPad2d(_ReflectionPadNd):
    """Padding (reflect) of the last 2 axes."""

class ReflectionPad3d(_ReflectionPadNd):
    """Padding (reflect) of the last 3 axes."""

class ReplicationPad1d(_ReplicationPadNd):
    """Padding (replicate) of the last 1 axes."""

class ReplicationPad2d(_ReplicationPadNd):
    """Padding (replicate) of the last 2 axes."""

class ReplicationPad3d(_ReplicationPadNd):
    """Padding (replicate) of the last 3 axes."""

class ZeroPad1d(_ZeroPadNd):
    """Padding (constant) of the last 1 axes."""

class ZeroPad2d(_ZeroPadNd):
    """Padding (constant) of the last 2 axes."""

class ZeroPad3d(_ZeroPadNd):
    """Padding (constant) of the last 3 axes."""
