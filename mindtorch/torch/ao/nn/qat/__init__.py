"""torch.ao.nn.qat: modules whose weights are put on levels while they are trained."""

from __future__ import annotations

from typing import Any

from mindtorch.torch import nn
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch.ao.nn import intrinsic as nni

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]


def _source(cls: Any, mod: Any) -> Any:
    """The float module that a trained one is made of.

    Raises:
        AssertionError: another class, or there is no ``qconfig``.
    """
    kind = type(mod).__bases__[0] if "parametrizations" in mod._modules else type(mod)
    if kind not in (cls._FLOAT_MODULE, *cls._FUSED):
        raise AssertionError(
            f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}"
        )
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    if not mod.qconfig:
        raise AssertionError("Input float module must have a valid qconfig")
    if kind in cls._FUSED:
        mod[0].qconfig = mod.qconfig
        return mod[0]
    return mod


class _Trained(nn.Module):
    """Shared by the modules below."""

    _FLOAT_MODULE: Any = None
    _FUSED: tuple[Any, ...] = ()

    def _begin(self, qconfig: Any) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    @classmethod
    def _made(cls, source: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for one that is not trained so; it has the same parameters.

        Args:
            mod: of torch.nn, with a ``qconfig``.
        """
        source = _source(cls, mod)
        made = cls._made(source)
        made.weight = source.weight
        if getattr(source, "bias", None) is not None:
            made.bias = source.bias
        return made


class Linear(_Trained, nn.Linear):
    """A linear map whose weight is put on levels.

    Args:
        in_features, out_features, bias: as torch.nn.Linear has them.
        qconfig: has the class that puts weights on levels.
    """

    _FLOAT_MODULE = nn.Linear
    _FUSED = (nni.LinearReLU,)

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        nn.Linear.__init__(self, in_features, out_features, bias, device=device, dtype=dtype)
        self._begin(qconfig)

    def forward(self, input: Any) -> Any:  # noqa: A002
        return nn.functional.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def _made(cls, source: Any) -> Any:
        return cls(
            source.in_features, source.out_features, bias=source.bias is not None,
            qconfig=source.qconfig,
        )  # fmt: skip

    def to_float(self) -> Any:
        """The module of torch.nn with the same parameters."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight, made.bias = self.weight, self.bias
        return made.train(self.training)


class _Conv(_Trained):
    """Shared by the convolutions below."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", qconfig: Any = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._FLOAT_MODULE.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip
        self._begin(qconfig)

    def forward(self, input: Any) -> Any:  # noqa: A002
        given: Any = self
        return given._conv_forward(input, self.weight_fake_quant(given.weight), given.bias)

    @classmethod
    def _made(cls, source: Any) -> Any:
        return cls(
            source.in_channels, source.out_channels, source.kernel_size, stride=source.stride,
            padding=source.padding, dilation=source.dilation, groups=source.groups,
            bias=source.bias is not None, padding_mode=source.padding_mode,
            qconfig=source.qconfig,
        )  # fmt: skip

    def to_float(self) -> Any:
        """The module of torch.nn with the same parameters."""
        given: Any = self
        made = self._FLOAT_MODULE(
            given.in_channels, given.out_channels, given.kernel_size, given.stride, given.padding,
            given.dilation, given.groups, given.bias is not None, given.padding_mode,
        )  # fmt: skip
        made.weight, made.bias = given.weight, given.bias
        return made.train(self.training)


class Conv1d(_Conv, nn.Conv1d):
    """A convolution over one axis whose weight is put on levels."""

    _FLOAT_MODULE = nn.Conv1d
    _FUSED = (nni.ConvReLU1d,)


class Conv2d(_Conv, nn.Conv2d):
    """A convolution over two axes whose weight is put on levels."""

    _FLOAT_MODULE = nn.Conv2d
    _FUSED = (nni.ConvReLU2d,)


class Conv3d(_Conv, nn.Conv3d):
    """A convolution over three axes whose weight is put on levels."""

    _FLOAT_MODULE = nn.Conv3d
    _FUSED = (nni.ConvReLU3d,)


class Embedding(_Trained, nn.Embedding):
    """An embedding whose rows are put on levels.

    Args:
        num_embeddings, embedding_dim, padding_idx: as torch.nn.Embedding has them.
        max_norm, norm_type, scale_grad_by_freq, sparse: likewise.
        qconfig: has the class that puts weights on levels.
    """

    _FLOAT_MODULE = nn.Embedding

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Any = None, device: Any = None, dtype: Any = None,
        qconfig: Any = None,
    ) -> None:  # fmt: skip
        nn.Embedding.__init__(
            self, num_embeddings, embedding_dim, padding_idx, max_norm, norm_type,
            scale_grad_by_freq, sparse, _weight,
        )  # fmt: skip
        self._begin(qconfig)

    def forward(self, input: Any) -> Any:  # noqa: A002
        return nn.functional.embedding(
            input, self.weight_fake_quant(self.weight), self.padding_idx, self.max_norm,
            self.norm_type, self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    @classmethod
    def _made(cls, source: Any) -> Any:
        return cls(
            source.num_embeddings, source.embedding_dim, source.padding_idx, source.max_norm,
            source.norm_type, source.scale_grad_by_freq, source.sparse, qconfig=source.qconfig,
        )  # fmt: skip


class EmbeddingBag(_Trained, nn.EmbeddingBag):
    """An embedding of bags whose rows are put on levels.

    Args:
        num_embeddings, embedding_dim, max_norm, norm_type: as torch.nn.EmbeddingBag has them.
        scale_grad_by_freq, mode, sparse, include_last_offset, padding_idx: likewise.
        qconfig: has the class that puts weights on levels.
    """

    _FLOAT_MODULE = nn.EmbeddingBag

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, _weight: Any = None, include_last_offset: bool = False,
        padding_idx: int | None = None, qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        nn.EmbeddingBag.__init__(
            self, num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode,
            sparse, _weight, include_last_offset, padding_idx,
        )  # fmt: skip
        self._begin(qconfig)

    def forward(
        self, input: Any, offsets: Any = None, per_sample_weights: Any = None  # noqa: A002
    ) -> Any:
        return nn.functional.embedding_bag(
            input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights,
            self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def _made(cls, source: Any) -> Any:
        return cls(
            source.num_embeddings, source.embedding_dim, source.max_norm, source.norm_type,
            source.scale_grad_by_freq, source.mode, source.sparse,
            include_last_offset=source.include_last_offset, padding_idx=source.padding_idx,
            qconfig=source.qconfig,
        )  # fmt: skip


_own_names(globals())
